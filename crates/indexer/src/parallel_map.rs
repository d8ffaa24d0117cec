//! A parallel map whose results are consumed in order.

use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::sync_channel;
use std::thread::{self, Builder};

use crate::thread_priority::lower_priority;

/// Number of items in a chunk of work: fewer if there are few items or large ones.
const ITEMS_PER_CHUNK: RangeInclusive<usize> = 8..=128;
/// Maximum bytes of a chunk with several items.
const MAX_BYTES_PER_CHUNK: u64 = 512 << 10;

/// Number of chunks per thread that amortizes the start of another thread.
const CHUNKS_PER_THREAD: usize = 8;

/// Maximum number of finished chunks, over all threads, that wait for the consumer; each thread may have at least one.
const MAX_CHUNKS_AHEAD: usize = 8;

/// `nice` steps by which the threads lower their priority below the consumer and its helpers, so that little is left to consume after the last item. Of two threads on one core the preferred one gets three fifths of the time.
const PRIORITY_STEPS: i32 = 2;

/// Passes each item and the result of `work` to `consume`, in order and as soon as it is available; stops at the first error.
///
/// One thread per element of `states` runs `work` with that state. The caller runs it if there is a single state, if there are few items, or if the system starts no threads.
/// Threads run ahead of `consume` by a few chunks, whose size in bytes is limited by `n_bytes`: memory grows with the number of threads and the largest items, not with the number of items.
/// If `work` panics on an item, `consume` gets `None` for it; the state must remain usable after that.
pub(crate) fn parallel_map<'i, Item: Sync, State: Send, Output: Send, Error>(
    items: &'i [Item],
    states: &mut [State],
    n_bytes: impl Fn(&Item) -> u64,
    work: impl Fn(&mut State, &Item) -> Output + Sync,
    mut consume: impl FnMut(&'i Item, Option<Output>) -> Result<(), Error>,
) -> Result<(), Error> {
    // A state that a panic left inconsistent costs at most time.
    let work =
        |state: &mut State, item: &Item| catch_unwind(AssertUnwindSafe(|| work(state, item))).ok();
    let chunk_len = items.len() / (states.len().max(1) * CHUNKS_PER_THREAD);
    let chunks = chunks(items, chunk_len, n_bytes);
    let n_threads = states.len().min(chunks.len());
    if n_threads > 1 {
        let thread = || Builder::new().name("weft-read".into());
        let done = on_threads(&chunks, &mut states[..n_threads], thread, work, &mut consume);
        if let Some(outcome) = done {
            return outcome;
        }
    }
    let Some(state) = states.first_mut() else { return Ok(()) };
    items.iter().try_for_each(|item| consume(item, work(state, item)))
}

/// Maps the chunks on threads built by `thread`, assigned round robin; returns `None`, without work, if no thread could be started.
fn on_threads<'i, Item: Sync, State: Send, Output: Send, Error>(
    chunks: &[&'i [Item]],
    states: &mut [State],
    thread: impl Fn() -> Builder,
    work: impl Fn(&mut State, &Item) -> Option<Output> + Sync,
    mut consume: impl FnMut(&'i Item, Option<Output>) -> Result<(), Error>,
) -> Option<Result<(), Error>> {
    let (work, n_ahead) = (&work, (MAX_CHUNKS_AHEAD / states.len().max(1)).max(1));
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for state in states {
            let (assign, assigned) = sync_channel(1);
            let (sender, results) = sync_channel(n_ahead);
            let thread = thread().spawn_scoped(scope, move || {
                lower_priority(PRIORITY_STEPS);
                // The assignment depends on how many threads could be started.
                let Ok((first, n_threads)) = assigned.recv() else { return };
                for chunk in chunks.iter().skip(first).step_by(n_threads) {
                    let results: Vec<_> = chunk.iter().map(|item| work(state, item)).collect();
                    if sender.send(results).is_err() {
                        break;
                    }
                }
            });
            // The system may not start as many threads as requested.
            if thread.is_err() {
                break;
            }
            threads.push((assign, results));
        }
        for (at, (assign, _)) in threads.iter().enumerate() {
            let _ = assign.send((at, threads.len()));
        }
        // The channels are dropped after the last result, or the first error, so that no thread blocks on a full one.
        (!threads.is_empty()).then(|| {
            chunks.iter().zip(threads.iter().cycle()).try_for_each(|(chunk, (_, results))| {
                let mut results = results.recv().unwrap_or_default().into_iter();
                chunk.iter().try_for_each(|item| consume(item, results.next().flatten()))
            })
        })
    })
}

/// Splits items into chunks of about `len` items, limited by the bounds on items and bytes; a chunk has at least one item.
fn chunks<Item>(items: &[Item], len: usize, n_bytes: impl Fn(&Item) -> u64) -> Vec<&[Item]> {
    let max_items = len.clamp(*ITEMS_PER_CHUNK.start(), *ITEMS_PER_CHUNK.end());
    let (mut chunks, mut rest) = (Vec::new(), items);
    while !rest.is_empty() {
        let mut total = 0_u64;
        let mut fits = |item: &Item| {
            total = total.saturating_add(n_bytes(item));
            total <= MAX_BYTES_PER_CHUNK
        };
        let n_items =
            rest.iter().take(max_items).map_while(|item| fits(item).then_some(())).count();
        let (chunk, after) = rest.split_at(n_items.max(1));
        chunks.push(chunk);
        rest = after;
    }
    chunks
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::convert::Infallible;

    use super::*;

    #[test]
    fn results_are_consumed_in_order_with_their_states() {
        for n_items in [0, 1, 7, 8, 9, 100, 1000] {
            for n_states in [1, 2, 3, 8] {
                let items: Vec<usize> = (0..n_items).collect();
                let mut states = vec![0_usize; n_states];
                let mut taken = Vec::new();
                let work = |state: &mut usize, item: &usize| {
                    *state += 1;
                    item * 2
                };
                let outcome = parallel_map(
                    &items,
                    &mut states,
                    |_| 1,
                    work,
                    |item, made| {
                        taken.push((*item, made));
                        Ok::<(), Infallible>(())
                    },
                );
                assert_eq!(outcome, Ok(()));
                let expected: Vec<_> = items.iter().map(|item| (*item, Some(item * 2))).collect();
                assert_eq!(taken, expected, "{n_items} items, {n_states} states");
                assert_eq!(states.iter().sum::<usize>(), n_items);
            }
        }
    }

    #[test]
    fn few_available_threads_do_all_the_work() {
        let items: Vec<usize> = (0..100).collect();
        let chunks: Vec<&[usize]> = items.chunks(8).collect();
        for n_available in 0..=3 {
            let n_requested = Cell::new(0);
            let thread = || {
                n_requested.set(n_requested.get() + 1);
                // No system can allocate such a stack.
                let stack =
                    if n_requested.get() > n_available { isize::MAX as usize } else { 1 << 20 };
                Builder::new().stack_size(stack)
            };
            let mut states = [0; 3];
            let work = |state: &mut usize, item: &usize| {
                *state += 1;
                Some(item * 2)
            };
            let mut taken = Vec::new();
            let done = on_threads(&chunks, &mut states, thread, work, |item, made| {
                taken.push((*item, made));
                Ok::<(), Infallible>(())
            });
            assert_eq!(done, (n_available > 0).then_some(Ok(())));
            let expected = items.iter().map(|item| (*item, Some(item * 2)));
            let expected: Vec<_> = expected.filter(|_| n_available > 0).collect();
            assert_eq!(taken, expected, "{n_available} threads");
            let n_busy = states.iter().filter(|n_items| **n_items > 0).count();
            assert_eq!(n_busy, n_available);
        }
    }

    #[test]
    fn error_stops_the_work_and_panic_costs_one_item() {
        let items: Vec<usize> = (0..1000).collect();
        let mut n_taken = 0;
        let outcome = parallel_map(
            &items,
            &mut [(), ()],
            |_| 1,
            |(), item| *item,
            |item, _| {
                n_taken += 1;
                if *item == 100 { Err(*item) } else { Ok(()) }
            },
        );
        assert_eq!((outcome, n_taken), (Err(100), 101));

        for n_states in [1, 2] {
            let work = |(): &mut (), item: &usize| {
                assert_ne!(*item, 20, "a panic");
                *item
            };
            let mut lost = Vec::new();
            let outcome = parallel_map(
                &items,
                &mut vec![(); n_states],
                |_| 1,
                work,
                |item, made| {
                    if made != Some(*item) {
                        lost.push(*item);
                    }
                    Ok::<(), Infallible>(())
                },
            );
            assert_eq!((outcome, lost), (Ok(()), vec![20]));
        }
    }

    #[test]
    fn chunks_are_bounded_by_items_and_bytes() {
        let lengths = |bytes: &[u64], len| -> Vec<usize> {
            chunks(bytes, len, |bytes| *bytes).into_iter().map(<[u64]>::len).collect()
        };
        assert_eq!(lengths(&[0; 20], 0), [8, 8, 4]);
        assert_eq!(lengths(&[0; 300], 1000), [128, 128, 44]);
        let max = MAX_BYTES_PER_CHUNK;
        assert_eq!(lengths(&[max / 2, max / 2, 1, max + 1, 1, max], 9), [2, 1, 1, 1, 1]);
        assert_eq!(lengths(&[], 9), [0; 0]);
    }
}
