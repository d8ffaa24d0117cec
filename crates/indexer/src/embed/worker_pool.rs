//! A bounded pool of workers that share the parts of a batch.

use std::any::Any;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

/// Texts of a batch per worker: at this size, waiting for the last worker takes about a thirtieth of the time.
const TEXTS_PER_WORKER: usize = 16;

/// A pool of at most `limit` workers, created on demand and leased for one part at a time.
///
/// Callers are served in order of arrival, so a query waits for about one part of a running batch, not for the whole batch.
pub(crate) struct WorkerPool<W> {
    limit: NonZeroUsize,
    state: Mutex<PoolState<W>>,
    freed: Condvar,
}

struct PoolState<W> {
    idle: Vec<W>,
    n_lent: usize,
    next_ticket: u64,
    now_serving: u64,
}

/// The right to use one worker. Dropping it returns the worker, unless the worker was lost.
struct WorkerLease<'w, W> {
    workers: &'w WorkerPool<W>,
    worker: Option<W>,
}

impl<W: Send> WorkerPool<W> {
    pub(crate) fn new(limit: NonZeroUsize) -> Self {
        let state = PoolState { idle: Vec::new(), n_lent: 0, next_ticket: 0, now_serving: 0 };
        Self { limit, state: Mutex::new(state), freed: Condvar::new() }
    }

    /// Returns the maximum number of workers.
    pub(crate) const fn limit(&self) -> NonZeroUsize {
        self.limit
    }

    /// Returns the recommended number of texts per batch: several per worker, so that few idle while the last one works.
    pub(crate) const fn batch(&self) -> usize {
        TEXTS_PER_WORKER * self.limit.get()
    }

    /// Returns the result of `work` for each part, in order, or the error of the first part that failed.
    ///
    /// Parts start in order; if large ones come first, the last worker to finish has a small one.
    /// A panic in `make` or `work` is also an error; its worker is dropped.
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
                // If the system cannot start a thread, the calling thread does the work alone.
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
        let mut lease = self.take();
        // A worker that panicked may be corrupt and is dropped; only intact ones return to the pool.
        catch_unwind(AssertUnwindSafe(|| {
            let mut worker = lease.worker.take().map_or_else(make, Ok)?;
            let result = work(&mut worker, part);
            lease.worker = Some(worker);
            result
        }))
        .unwrap_or_else(|panic| Err(format!("it panicked: {}", panic_message(&*panic))))
    }

    fn take(&self) -> WorkerLease<'_, W> {
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
        WorkerLease { workers: self, worker }
    }
}

impl<W> WorkerPool<W> {
    fn lock(&self) -> MutexGuard<'_, PoolState<W>> {
        // Nothing panics while the lock is held, so a poisoned state is still consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W> Drop for WorkerLease<'_, W> {
    fn drop(&mut self) {
        let mut state = self.workers.lock();
        state.n_lent -= 1;
        state.idle.extend(self.worker.take());
        drop(state);
        self.workers.freed.notify_all();
    }
}

/// Returns the message of a panic, if it has one.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workers(limit: usize) -> WorkerPool<usize> {
        WorkerPool::new(NonZeroUsize::new(limit).unwrap())
    }

    #[test]
    fn results_are_ordered_and_worker_limit_holds() {
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
    fn worker_panic_is_an_error_and_next_batch_works() {
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
    fn failure_to_create_worker_is_an_error_each_time() {
        let workers = workers(2);
        for _ in 0..3 {
            let failed =
                workers.map(&["a", "b", "c"], &|| Err("no memory".to_owned()), &|_, _| Ok(()));
            assert_eq!(failed, Err("no memory".to_owned()));
        }
    }

    #[test]
    fn late_caller_overtakes_rest_of_batch() {
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
