//! When a computation ends before it is done: its caller's time is over, or nobody waits any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The share of the time that is kept for what cannot be left out: one part of this many.
const KEPT_BACK: u32 = 5;

/// Handed down from a call to every stage of its work, and asked there at bounded intervals. Cloning shares it.
#[derive(Clone, Debug, Default)]
pub struct Stop(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    /// When what can be left out is.
    near: Option<Instant>,
    deadline: Option<Instant>,
    is_cancelled: AtomicBool,
    /// Checks after which it is cancelled.
    patience: u64,
    n_checks: AtomicU64,
}

/// Why a computation ended before it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    /// Its time is over.
    #[error("the deadline passed before the answer was complete")]
    Deadline,
    /// Nobody waits any more.
    #[error("the caller went away before the answer was complete")]
    Cancelled,
}

impl Stop {
    /// One that ends nothing by itself, and can be cancelled.
    #[must_use]
    pub fn by_hand() -> Self {
        Self::new(None, None, u64::MAX)
    }

    /// One that ends the work at `deadline`, and asks for less of it when a fifth of the time is left.
    #[must_use]
    pub fn at(deadline: Instant) -> Self {
        let left = deadline.saturating_duration_since(Instant::now());
        let near = deadline.checked_sub(left / KEPT_BACK);
        Self::new(near, Some(deadline), u64::MAX)
    }

    /// One that lets so many checks pass and is cancelled then: work counts by its checks, not by time.
    #[must_use]
    pub fn after_checks(patience: u64) -> Self {
        Self::new(None, None, patience)
    }

    fn new(near: Option<Instant>, deadline: Option<Instant>, patience: u64) -> Self {
        let (is_cancelled, n_checks) = (AtomicBool::new(false), AtomicU64::new(0));
        Self(Some(Arc::new(Inner { near, deadline, is_cancelled, patience, n_checks })))
    }

    /// Ends the work at its next check: nobody waits for it. Does nothing to the default, which nothing ends.
    pub fn cancel(&self) {
        if let Some(inner) = &self.0 {
            inner.is_cancelled.store(true, Ordering::Relaxed);
        }
    }

    /// Fails when the work is to end.
    pub fn check(&self) -> Result<(), Stopped> {
        let Some(inner) = &self.0 else { return Ok(()) };
        let n_checks = inner.n_checks.fetch_add(1, Ordering::Relaxed);
        if inner.is_cancelled.load(Ordering::Relaxed) || n_checks >= inner.patience {
            return Err(Stopped::Cancelled);
        }
        if inner.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(Stopped::Deadline);
        }
        Ok(())
    }

    /// How often it was checked.
    #[must_use]
    pub fn n_checks(&self) -> u64 {
        self.0.as_ref().map_or(0, |inner| inner.n_checks.load(Ordering::Relaxed))
    }

    /// Whether what can be left out should be, for an answer that is in time.
    #[must_use]
    pub fn is_near(&self) -> bool {
        self.near().is_some_and(|near| Instant::now() >= near)
    }

    /// When it begins to be [near](Self::is_near).
    #[must_use]
    pub fn near(&self) -> Option<Instant> {
        self.0.as_ref()?.near
    }

    /// How much time is left until the deadline, where there is one.
    #[must_use]
    pub fn left(&self) -> Option<Duration> {
        let deadline = self.0.as_ref()?.deadline?;
        Some(deadline.saturating_duration_since(Instant::now()))
    }
}

/// Equal when both are the same one: what ends together.
impl PartialEq for Stop {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            (own, other) => own.is_none() && other.is_none(),
        }
    }
}

impl Eq for Stop {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_ends_by_time_by_hand_and_by_count() {
        let now = Instant::now();
        let hour = Duration::from_secs(3600);
        let cancelled = Stop::by_hand();
        cancelled.clone().cancel();
        for (name, stop, expected) in [
            ("never", Stop::default(), Ok(())),
            ("not yet", Stop::at(now + hour), Ok(())),
            ("by time", Stop::at(now), Err(Stopped::Deadline)),
            ("by hand", cancelled, Err(Stopped::Cancelled)),
            ("by count", Stop::after_checks(0), Err(Stopped::Cancelled)),
        ] {
            assert_eq!(stop.check(), expected, "{name}");
        }
        let thrice = Stop::after_checks(3);
        let passed = (0..9).filter(|_| thrice.check().is_ok()).count();
        assert_eq!((passed, thrice.n_checks()), (3, 9));
    }

    #[test]
    fn a_fifth_of_the_time_is_kept_for_what_must_be_done() {
        let stop = Stop::at(Instant::now() + Duration::from_secs(100));
        let near = stop.near().unwrap().saturating_duration_since(Instant::now());
        assert!((79..=80).contains(&near.as_secs()), "{near:?}");
        assert!(!stop.is_near() && Stop::at(Instant::now()).is_near());
    }
}
