//! A bounded set of workers that share out the parts of a batch.

use std::any::Any;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

/// Texts of a batch for each worker: the last of so many keeps the others waiting for a thirtieth of the time.
const TEXTS_PER_WORKER: usize = 16;

/// At most `limit` workers, made when first needed and lent for one part at a time.
///
/// Callers are served in the order they come, so a query waits for about one part of a running batch, never for the batch.
pub(crate) struct Workers<W> {
    limit: NonZeroUsize,
    state: Mutex<State<W>>,
    freed: Condvar,
}

struct State<W> {
    idle: Vec<W>,
    n_lent: usize,
    next_ticket: u64,
    now_serving: u64,
}

/// The right to use one worker; given back when dropped, with the worker if there still is one.
struct Slot<'w, W> {
    workers: &'w Workers<W>,
    worker: Option<W>,
}

impl<W: Send> Workers<W> {
    pub(crate) fn new(limit: NonZeroUsize) -> Self {
        let state = State { idle: Vec::new(), n_lent: 0, next_ticket: 0, now_serving: 0 };
        Self { limit, state: Mutex::new(state), freed: Condvar::new() }
    }

    /// At most so many.
    pub(crate) const fn limit(&self) -> NonZeroUsize {
        self.limit
    }

    /// Texts that are best given at once: some for each worker, so that few wait while the last one works.
    pub(crate) const fn batch(&self) -> usize {
        TEXTS_PER_WORKER * self.limit.get()
    }

    /// The result of `work` for each part, in order; the error of the first part that failed, if any did.
    ///
    /// Parts are begun in order: with large ones first, the last worker to finish holds a small one.
    /// A panic in `make` or `work` is an error too, and its worker is not used again.
    pub(crate) fn map<P: Sync, T: Send + Sync>(
        &self,
        parts: &[P],
        make: &(impl Fn() -> Result<W, String> + Sync),
        work: &(impl Fn(&mut W, &P) -> Result<T, String> + Sync),
    ) -> Result<Vec<T>, String> {
        let results: Vec<OnceLock<Result<T, String>>> =
            parts.iter().map(|_| OnceLock::new()).collect();
        let next = AtomicUsize::new(0);
        let drain = || {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(part) = parts.get(at) else { break };
                let result = self.one(part, make, work);
                if result.is_err() {
                    next.store(parts.len(), Ordering::Relaxed);
                }
                let _ = results[at].set(result);
            }
        };
        thread::scope(|scope| {
            for _ in 1..self.limit.get().min(parts.len()) {
                // Where the system gives no thread, this one does the work alone.
                let _ = thread::Builder::new().name("embed".to_owned()).spawn_scoped(scope, drain);
            }
            drain();
        });
        let (done, failed): (Vec<_>, Vec<_>) =
            results.into_iter().filter_map(OnceLock::into_inner).partition(Result::is_ok);
        match failed.into_iter().find_map(Result::err) {
            Some(reason) => Err(reason),
            None => done.into_iter().collect(),
        }
    }

    fn one<P, T>(
        &self,
        part: &P,
        make: &impl Fn() -> Result<W, String>,
        work: &impl Fn(&mut W, &P) -> Result<T, String>,
    ) -> Result<T, String> {
        let mut slot = self.take();
        // A worker that panicked may be broken, and is dropped on the way out: only whole ones go back.
        catch_unwind(AssertUnwindSafe(|| {
            let mut worker = slot.worker.take().map_or_else(make, Ok)?;
            let result = work(&mut worker, part);
            slot.worker = Some(worker);
            result
        }))
        .unwrap_or_else(|panic| Err(format!("it panicked: {}", panic_message(&*panic))))
    }

    fn take(&self) -> Slot<'_, W> {
        let mut state = self.lock();
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        let mut state = self
            .freed
            .wait_while(state, |state| {
                state.now_serving != ticket || state.n_lent == self.limit.get()
            })
            .unwrap_or_else(PoisonError::into_inner);
        state.now_serving += 1;
        state.n_lent += 1;
        let worker = state.idle.pop();
        drop(state);
        self.freed.notify_all();
        Slot { workers: self, worker }
    }
}

impl<W> Workers<W> {
    fn lock(&self) -> MutexGuard<'_, State<W>> {
        // Nothing under the lock can panic halfway, so a poisoned state is a whole one.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W> Drop for Slot<'_, W> {
    fn drop(&mut self) {
        let mut state = self.workers.lock();
        state.n_lent -= 1;
        state.idle.extend(self.worker.take());
        drop(state);
        self.workers.freed.notify_all();
    }
}

/// What a panic said, where it said anything.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workers(limit: usize) -> Workers<usize> {
        Workers::new(NonZeroUsize::new(limit).unwrap())
    }

    #[test]
    fn results_come_in_order_and_no_more_workers_than_allowed() {
        let made = AtomicUsize::new(0);
        let make = || Ok(made.fetch_add(1, Ordering::Relaxed));
        let texts: Vec<String> = (0..100).map(|n| "x".repeat(n % 17)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let workers = workers(3);
        let lengths = workers.map(&texts, &make, &|_, text| Ok(text.len())).unwrap();
        assert_eq!(lengths, texts.iter().map(|text| text.len()).collect::<Vec<_>>());
        assert!((1..=3).contains(&made.load(Ordering::Relaxed)));
        assert!(workers.map(&[""; 0], &make, &|_, text| Ok(text.len())).unwrap().is_empty());
    }

    #[test]
    fn a_panic_in_a_worker_is_an_error_and_the_next_batch_works() {
        let made = AtomicUsize::new(0);
        let make = || Ok(made.fetch_add(1, Ordering::Relaxed));
        let work = |_: &mut usize, text: &&str| {
            assert!(*text != "bad", "no word for {text}");
            Ok(text.len())
        };
        let workers = workers(1);
        assert_eq!(workers.map(&["good"], &make, &work), Ok(vec![4]));
        assert_eq!(
            workers.map(&["good", "bad"], &make, &work),
            Err("it panicked: no word for bad".to_owned())
        );
        assert_eq!(workers.map(&["good"], &make, &work), Ok(vec![4]));
        assert_eq!(made.load(Ordering::Relaxed), 2, "the worker that panicked is replaced");
    }

    #[test]
    fn a_worker_that_cannot_be_made_is_an_error_each_time() {
        let workers = workers(2);
        for _ in 0..3 {
            let failed =
                workers.map(&["a", "b", "c"], &|| Err("no memory".to_owned()), &|_, _| Ok(()));
            assert_eq!(failed, Err("no memory".to_owned()));
        }
    }

    #[test]
    fn a_late_caller_overtakes_the_rest_of_a_batch() {
        let workers = workers(1);
        let log = Mutex::new(Vec::new());
        let work = |_: &mut usize, text: &&str| {
            log.lock().unwrap().push((*text).to_owned());
            thread::sleep(std::time::Duration::from_millis(5));
            Ok(())
        };
        thread::scope(|scope| {
            scope.spawn(|| workers.map(&["batch"; 40], &|| Ok(0), &work));
            while log.lock().unwrap().is_empty() {
                thread::yield_now();
            }
            workers.map(&["query"], &|| Ok(0), &work).unwrap();
            assert!(log.lock().unwrap().len() < 20, "the query waited for the batch");
        });
    }
}
