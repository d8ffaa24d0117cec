//! Rate limiting per client.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Maximum number of clients tracked; beyond it, clients with a full allowance are dropped.
const MAX_TRACKED_CLIENTS: usize = 4096;

/// Token bucket per client: a number of requests per second, and as many at once after a pause.
#[derive(Debug)]
pub(crate) struct RateLimiter {
    per_second: Option<NonZeroU32>,
    clients: Mutex<HashMap<String, Allowance>>,
}

/// Remaining requests of a client, at a time.
#[derive(Clone, Copy, Debug)]
struct Allowance {
    left: f64,
    at: Instant,
}

impl Allowance {
    fn refilled(self, per_second: f64, now: Instant) -> f64 {
        let idle = now.saturating_duration_since(self.at).as_secs_f64();
        (self.left + idle * per_second).min(per_second)
    }
}

impl RateLimiter {
    pub(crate) fn new(per_second: Option<NonZeroU32>) -> Self {
        Self { per_second, clients: Mutex::default() }
    }

    /// Counts a request of `caller`; if it exceeds the rate, fails with the time to wait.
    pub(crate) fn take(&self, client: &str, now: Instant) -> Result<(), Duration> {
        let Some(per_second) = self.per_second.map(|n| f64::from(n.get())) else { return Ok(()) };
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if clients.len() >= MAX_TRACKED_CLIENTS {
            clients.retain(|_, allowance| allowance.refilled(per_second, now) < per_second);
        }
        let known = clients.get(client).map(|allowance| allowance.refilled(per_second, now));
        let left = known.unwrap_or(per_second);
        let exceeds = left < 1.0;
        let left = if exceeds { left } else { left - 1.0 };
        clients.insert(client.to_owned(), Allowance { left, at: now });
        if exceeds {
            return Err(Duration::from_secs_f64((1.0 - left) / per_second));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_has_its_own_allowance() {
        let start = Instant::now();
        let rate = RateLimiter::new(NonZeroU32::new(2));
        for (name, client, ms, expected) in [
            ("the first", "a", 0, Ok(())),
            ("the second", "a", 0, Ok(())),
            ("one too many", "a", 0, Err(Duration::from_millis(500))),
            ("another client", "b", 0, Ok(())),
            ("after the wait", "a", 500, Ok(())),
            ("too soon again", "a", 750, Err(Duration::from_millis(250))),
            ("after a rest", "a", 60_000, Ok(())),
            ("no more than two are saved up", "a", 60_000, Ok(())),
            ("and not three", "a", 60_000, Err(Duration::from_millis(500))),
        ] {
            assert_eq!(rate.take(client, start + Duration::from_millis(ms)), expected, "{name}");
        }
        let free = RateLimiter::new(None);
        assert!((0..1000).all(|_| free.take("a", start).is_ok()));
    }

    #[test]
    fn idle_clients_are_dropped() {
        let start = Instant::now();
        let rate = RateLimiter::new(NonZeroU32::new(1));
        for n in 0..MAX_TRACKED_CLIENTS * 2 {
            let now = start + Duration::from_millis(n as u64);
            assert_eq!(rate.take(&n.to_string(), now), Ok(()));
        }
        assert!(rate.clients.lock().unwrap().len() <= MAX_TRACKED_CLIENTS);
    }
}
