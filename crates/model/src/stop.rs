//! Cancellation: ends a computation early if its deadline passes or its client disconnects.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// One part in this many of the time is reserved for work that cannot be left out.
const RESERVED_SHARE: u32 = 5;

/// Cancellation token. A request passes it to every stage of its work, which checks it at bounded intervals. Cloning shares it.
#[derive(Clone, Debug, Default)]
pub struct Stop(Option<Arc<StopState>>);

#[derive(Debug)]
struct StopState {
    /// Time after which optional work is left out.
    soft_deadline: Option<Instant>,
    deadline: Option<Instant>,
    is_cancelled: AtomicBool,
    /// Number of checks after which it is cancelled.
    max_checks: u64,
    n_checks: AtomicU64,
}

/// Reason why a computation ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    /// The deadline passed.
    #[error("the deadline passed before the answer was complete")]
    Deadline,
    /// The client no longer waits.
    #[error("the client disconnected before the answer was complete")]
    Cancelled,
}

impl Stop {
    /// Creates a token that can be cancelled but has no deadline.
    #[must_use]
    pub fn cancellable() -> Self {
        Self::new(None, None, u64::MAX)
    }

    /// Creates a token that ends the work at `deadline`, and asks for optional work to be left out once a fifth of the time is left.
    #[must_use]
    pub fn at(deadline: Instant) -> Self {
        let left = deadline.saturating_duration_since(Instant::now());
        let soft_deadline = deadline.checked_sub(left / RESERVED_SHARE);
        Self::new(soft_deadline, Some(deadline), u64::MAX)
    }

    /// Creates a token that is cancelled after `max_checks` checks: work is counted by checks, not by time.
    #[must_use]
    pub fn after_checks(max_checks: u64) -> Self {
        Self::new(None, None, max_checks)
    }

    fn new(soft_deadline: Option<Instant>, deadline: Option<Instant>, max_checks: u64) -> Self {
        let (is_cancelled, n_checks) = (AtomicBool::new(false), AtomicU64::new(0));
        Self(Some(Arc::new(StopState {
            soft_deadline,
            deadline,
            is_cancelled,
            max_checks,
            n_checks,
        })))
    }

    /// Ends the work at its next check. Has no effect on the default token, which never stops.
    pub fn cancel(&self) {
        if let Some(inner) = &self.0 {
            inner.is_cancelled.store(true, Ordering::Relaxed);
        }
    }

    /// Fails if the work must end.
    pub fn check(&self) -> Result<(), Stopped> {
        let Some(inner) = &self.0 else { return Ok(()) };
        let n_checks = inner.n_checks.fetch_add(1, Ordering::Relaxed);
        if inner.is_cancelled.load(Ordering::Relaxed) || n_checks >= inner.max_checks {
            return Err(Stopped::Cancelled);
        }
        if inner.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(Stopped::Deadline);
        }
        Ok(())
    }

    /// Returns the number of checks so far.
    #[must_use]
    pub fn n_checks(&self) -> u64 {
        self.0.as_ref().map_or(0, |inner| inner.n_checks.load(Ordering::Relaxed))
    }

    /// True if optional work should be left out, so that the result is in time.
    #[must_use]
    pub fn is_past_soft_deadline(&self) -> bool {
        self.soft_deadline().is_some_and(|soft_deadline| Instant::now() >= soft_deadline)
    }

    /// Returns the time from which [`is_past_soft_deadline`](Self::is_past_soft_deadline) is true.
    #[must_use]
    pub fn soft_deadline(&self) -> Option<Instant> {
        self.0.as_ref()?.soft_deadline
    }

    /// Returns the time left until the deadline, if there is one.
    #[must_use]
    pub fn time_left(&self) -> Option<Duration> {
        let deadline = self.0.as_ref()?.deadline?;
        Some(deadline.saturating_duration_since(Instant::now()))
    }
}

/// Two tokens are equal if they are clones of each other.
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
    fn work_stops_at_deadline_on_cancel_and_after_max_checks() {
        let now = Instant::now();
        let hour = Duration::from_secs(3600);
        let cancelled = Stop::cancellable();
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
    fn soft_deadline_reserves_a_fifth_of_the_time() {
        let stop = Stop::at(Instant::now() + Duration::from_secs(100));
        let soft_deadline = stop.soft_deadline().unwrap().saturating_duration_since(Instant::now());
        assert!((79..=80).contains(&soft_deadline.as_secs()), "{soft_deadline:?}");
        assert!(!stop.is_past_soft_deadline() && Stop::at(Instant::now()).is_past_soft_deadline());
    }
}
