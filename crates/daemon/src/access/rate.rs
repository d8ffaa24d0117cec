//! How often one caller may ask.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Callers that are remembered; beyond them those who have rested are forgotten.
const MANY_CALLERS: usize = 4096;

/// Lets each caller make so many requests a second, and as many at once after a rest.
#[derive(Debug)]
pub(crate) struct Rate {
    per_second: Option<NonZeroU32>,
    callers: Mutex<HashMap<String, Allowance>>,
}

/// What a caller has left, at a time.
#[derive(Clone, Copy, Debug)]
struct Allowance {
    left: f64,
    at: Instant,
}

impl Allowance {
    fn refilled(self, per_second: f64, now: Instant) -> f64 {
        let rested = now.saturating_duration_since(self.at).as_secs_f64();
        (self.left + rested * per_second).min(per_second)
    }
}

impl Rate {
    pub(crate) fn new(per_second: Option<NonZeroU32>) -> Self {
        Self { per_second, callers: Mutex::default() }
    }

    /// Counts a request of `caller`; where it is one too many, says how long to wait for the next.
    pub(crate) fn take(&self, caller: &str, now: Instant) -> Result<(), Duration> {
        let Some(per_second) = self.per_second.map(|n| f64::from(n.get())) else { return Ok(()) };
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        if callers.len() >= MANY_CALLERS {
            callers.retain(|_, allowance| allowance.refilled(per_second, now) < per_second);
        }
        let known = callers.get(caller).map(|allowance| allowance.refilled(per_second, now));
        let left = known.unwrap_or(per_second);
        let is_one_too_many = left < 1.0;
        let left = if is_one_too_many { left } else { left - 1.0 };
        callers.insert(caller.to_owned(), Allowance { left, at: now });
        if is_one_too_many {
            return Err(Duration::from_secs_f64((1.0 - left) / per_second));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_caller_has_its_own_allowance() {
        let start = Instant::now();
        let rate = Rate::new(NonZeroU32::new(2));
        for (name, caller, ms, expected) in [
            ("the first", "a", 0, Ok(())),
            ("the second", "a", 0, Ok(())),
            ("one too many", "a", 0, Err(Duration::from_millis(500))),
            ("somebody else", "b", 0, Ok(())),
            ("after the wait", "a", 500, Ok(())),
            ("too soon again", "a", 750, Err(Duration::from_millis(250))),
            ("after a rest", "a", 60_000, Ok(())),
            ("no more than two are saved up", "a", 60_000, Ok(())),
            ("and not three", "a", 60_000, Err(Duration::from_millis(500))),
        ] {
            assert_eq!(rate.take(caller, start + Duration::from_millis(ms)), expected, "{name}");
        }
        let free = Rate::new(None);
        assert!((0..1000).all(|_| free.take("a", start).is_ok()));
    }

    #[test]
    fn callers_who_rest_are_forgotten() {
        let start = Instant::now();
        let rate = Rate::new(NonZeroU32::new(1));
        for n in 0..MANY_CALLERS * 2 {
            let now = start + Duration::from_millis(n as u64);
            assert_eq!(rate.take(&n.to_string(), now), Ok(()));
        }
        assert!(rate.callers.lock().unwrap().len() <= MANY_CALLERS);
    }
}
