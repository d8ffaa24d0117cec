//! Work on many items at once, whose results come one after the other.

use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::sync_channel;
use std::thread::{self, Builder};

use crate::priority::stand_back;

/// Items that a thread works on before it hands over what came of them: fewer where all are few, and of large ones.
const ITEMS_PER_ROUND: RangeInclusive<usize> = 8..=128;
const BYTES_PER_ROUND: u64 = 512 << 10;

/// Rounds that each thread should have before it pays to have another.
const ROUNDS_PER_THREAD: usize = 8;

/// Rounds that all threads may be ahead of whoever takes the results; each may be one ahead, however many there are.
const ROUNDS_AHEAD: usize = 8;

/// How far the threads stand back behind whoever takes the results, and those who work for that one: so little is left to be taken in when the last item is made. Of two threads on one core the one in front has three fifths.
const STEPS: i32 = 2;

/// Gives each item, and what `work` makes of it, to `take`, in order and as soon as it is there; stops at the first error.
///
/// Each of the `tools` is used by a thread of its own, as far as the system has threads to give; where it has none, for a single tool, and for few items, the caller does the work.
/// Threads run ahead of `take` by a few rounds, and `weigh` says what bytes a round has: what is in memory does not grow with the items, but with the threads and the largest items.
/// An item at which `work` panicked comes with nothing; what its tool knows then must still be of use.
pub(crate) fn in_order<'i, Item: Sync, Tool: Send, Made: Send, Error>(
    items: &'i [Item],
    tools: &mut [Tool],
    weigh: impl Fn(&Item) -> u64,
    work: impl Fn(&mut Tool, &Item) -> Made + Sync,
    mut take: impl FnMut(&'i Item, Option<Made>) -> Result<(), Error>,
) -> Result<(), Error> {
    // Whatever a defect leaves behind in a tool costs time at most.
    let work =
        |tool: &mut Tool, item: &Item| catch_unwind(AssertUnwindSafe(|| work(tool, item))).ok();
    let share = items.len() / (tools.len().max(1) * ROUNDS_PER_THREAD);
    let rounds = rounds(items, share, weigh);
    let n_threads = tools.len().min(rounds.len());
    if n_threads > 1 {
        let thread = || Builder::new().name("weft-read".into());
        let done = on_threads(&rounds, &mut tools[..n_threads], thread, work, &mut take);
        if let Some(outcome) = done {
            return outcome;
        }
    }
    let Some(tool) = tools.first_mut() else { return Ok(()) };
    items.iter().try_for_each(|item| take(item, work(tool, item)))
}

/// The same with threads made by `thread`, to which the rounds are dealt in turn; nothing is done where the system gives none.
fn on_threads<'i, Item: Sync, Tool: Send, Made: Send, Error>(
    rounds: &[&'i [Item]],
    tools: &mut [Tool],
    thread: impl Fn() -> Builder,
    work: impl Fn(&mut Tool, &Item) -> Option<Made> + Sync,
    mut take: impl FnMut(&'i Item, Option<Made>) -> Result<(), Error>,
) -> Option<Result<(), Error>> {
    let (work, n_ahead) = (&work, (ROUNDS_AHEAD / tools.len().max(1)).max(1));
    thread::scope(|scope| {
        let mut lanes = Vec::new();
        for tool in tools {
            let (begin, begins) = sync_channel(1);
            let (made, comes) = sync_channel(n_ahead);
            let thread = thread().spawn_scoped(scope, move || {
                stand_back(STEPS);
                // Which rounds are its own is known once the threads are there.
                let Ok((lane, n_lanes)) = begins.recv() else { return };
                for round in rounds.iter().skip(lane).step_by(n_lanes) {
                    let results: Vec<_> = round.iter().map(|item| work(tool, item)).collect();
                    if made.send(results).is_err() {
                        break;
                    }
                }
            });
            // The system may have fewer threads to give.
            if thread.is_err() {
                break;
            }
            lanes.push((begin, comes));
        }
        for (lane, (begin, _)) in lanes.iter().enumerate() {
            let _ = begin.send((lane, lanes.len()));
        }
        // The lanes go with the last result, or the first error, so that no thread waits for room then.
        (!lanes.is_empty()).then(|| {
            rounds.iter().zip(lanes.iter().cycle()).try_for_each(|(round, (_, comes))| {
                let mut results = comes.recv().unwrap_or_default().into_iter();
                round.iter().try_for_each(|item| take(item, results.next().flatten()))
            })
        })
    })
}

/// Cuts items into rounds of `share` items, if it is within bounds, and of no more bytes than a round may have or one item has.
fn rounds<Item>(items: &[Item], share: usize, weigh: impl Fn(&Item) -> u64) -> Vec<&[Item]> {
    let most = share.clamp(*ITEMS_PER_ROUND.start(), *ITEMS_PER_ROUND.end());
    let (mut rounds, mut rest) = (Vec::new(), items);
    while !rest.is_empty() {
        let mut n_bytes = 0_u64;
        let mut fits = |item: &Item| {
            n_bytes = n_bytes.saturating_add(weigh(item));
            n_bytes <= BYTES_PER_ROUND
        };
        let n_items = rest.iter().take(most).map_while(|item| fits(item).then_some(())).count();
        let (round, after) = rest.split_at(n_items.max(1));
        rounds.push(round);
        rest = after;
    }
    rounds
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::convert::Infallible;

    use super::*;

    #[test]
    fn results_come_in_order_with_what_the_tools_know() {
        for n_items in [0, 1, 7, 8, 9, 100, 1000] {
            for n_tools in [1, 2, 3, 8] {
                let items: Vec<usize> = (0..n_items).collect();
                let mut tools = vec![0_usize; n_tools];
                let mut taken = Vec::new();
                let work = |tool: &mut usize, item: &usize| {
                    *tool += 1;
                    item * 2
                };
                let outcome = in_order(
                    &items,
                    &mut tools,
                    |_| 1,
                    work,
                    |item, made| {
                        taken.push((*item, made));
                        Ok::<(), Infallible>(())
                    },
                );
                assert_eq!(outcome, Ok(()));
                let expected: Vec<_> = items.iter().map(|item| (*item, Some(item * 2))).collect();
                assert_eq!(taken, expected, "{n_items} items, {n_tools} tools");
                assert_eq!(tools.iter().sum::<usize>(), n_items);
            }
        }
    }

    #[test]
    fn where_the_system_gives_few_threads_those_do_the_work() {
        let items: Vec<usize> = (0..100).collect();
        let rounds: Vec<&[usize]> = items.chunks(8).collect();
        for n_given in 0..=3 {
            let n_asked = Cell::new(0);
            let thread = || {
                n_asked.set(n_asked.get() + 1);
                // No system has room for such a stack.
                let stack = if n_asked.get() > n_given { isize::MAX as usize } else { 1 << 20 };
                Builder::new().stack_size(stack)
            };
            let mut tools = [0; 3];
            let work = |tool: &mut usize, item: &usize| {
                *tool += 1;
                Some(item * 2)
            };
            let mut taken = Vec::new();
            let done = on_threads(&rounds, &mut tools, thread, work, |item, made| {
                taken.push((*item, made));
                Ok::<(), Infallible>(())
            });
            assert_eq!(done, (n_given > 0).then_some(Ok(())));
            let expected = items.iter().map(|item| (*item, Some(item * 2)));
            let expected: Vec<_> = expected.filter(|_| n_given > 0).collect();
            assert_eq!(taken, expected, "{n_given} threads");
            let n_busy = tools.iter().filter(|n_items| **n_items > 0).count();
            assert_eq!(n_busy, n_given);
        }
    }

    #[test]
    fn an_error_ends_the_work_and_a_panic_costs_one_item() {
        let items: Vec<usize> = (0..1000).collect();
        let mut n_taken = 0;
        let outcome = in_order(
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

        for n_tools in [1, 2] {
            let work = |(): &mut (), item: &usize| {
                assert_ne!(*item, 20, "a defect");
                *item
            };
            let mut lost = Vec::new();
            let outcome = in_order(
                &items,
                &mut vec![(); n_tools],
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
    fn rounds_are_bounded_by_number_and_bytes() {
        let lengths = |bytes: &[u64], share| -> Vec<usize> {
            rounds(bytes, share, |bytes| *bytes).into_iter().map(<[u64]>::len).collect()
        };
        assert_eq!(lengths(&[0; 20], 0), [8, 8, 4]);
        assert_eq!(lengths(&[0; 300], 1000), [128, 128, 44]);
        let most = BYTES_PER_ROUND;
        assert_eq!(lengths(&[most / 2, most / 2, 1, most + 1, 1, most], 9), [2, 1, 1, 1, 1]);
        assert_eq!(lengths(&[], 9), [0; 0]);
    }
}
