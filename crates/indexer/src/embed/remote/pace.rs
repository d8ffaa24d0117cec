//! How fast an endpoint is asked: its limits per minute, and growing pauses after failures.

use std::hash::{BuildHasher as _, RandomState};
use std::time::{Duration, Instant};

/// The pause after a first failure, and the longest that is made, also where the endpoint asks for more.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Limits per minute. What is used in advance is waited for.
#[derive(Debug)]
pub(super) struct Pace {
    requests: Option<Bucket>,
    tokens: Option<Bucket>,
}

/// Fills evenly, up to what a minute allows.
#[derive(Debug)]
struct Bucket {
    per_minute: f64,
    level: f64,
    at: Instant,
}

impl Pace {
    pub(super) fn new(requests: Option<u32>, tokens: Option<u32>, now: Instant) -> Self {
        let bucket = |per_minute: u32| {
            let per_minute = f64::from(per_minute.max(1));
            Bucket { per_minute, level: per_minute, at: now }
        };
        Self { requests: requests.map(bucket), tokens: tokens.map(bucket) }
    }

    /// Takes a request of `n_tokens` into account, and says how long it has to wait.
    pub(super) fn take(&mut self, n_tokens: usize, now: Instant) -> Duration {
        let Self { requests, tokens } = self;
        #[expect(clippy::cast_precision_loss, reason = "tokens of a request are far below 2^52")]
        let n_tokens = n_tokens as f64;
        let requests = requests.as_mut().map(|bucket| bucket.take(1.0, now));
        let tokens = tokens.as_mut().map(|bucket| bucket.take(n_tokens, now));
        requests.max(tokens).unwrap_or_default()
    }
}

impl Bucket {
    fn take(&mut self, amount: f64, now: Instant) -> Duration {
        let per_second = self.per_minute / 60.0;
        let filled = now.saturating_duration_since(self.at).as_secs_f64() * per_second;
        self.level = (self.level + filled).min(self.per_minute) - amount;
        self.at = now;
        Duration::try_from_secs_f64(-self.level / per_second).unwrap_or_default()
    }
}

/// The pause before attempt `n_failed + 1`: what the endpoint asks for, or twice the last one with up to half of it left to chance, so that many do not come back at once.
pub(super) fn pause(n_failed: u32, asked: Option<Duration>) -> Duration {
    let doubled = FIRST_PAUSE.saturating_mul(1 << n_failed.saturating_sub(1).min(16));
    let pause = asked.unwrap_or_else(|| doubled.min(LONGEST_PAUSE).mul_f64(1.0 - chance() / 2.0));
    pause.min(LONGEST_PAUSE)
}

/// A number from 0 to 1 that differs from call to call.
fn chance() -> f64 {
    let [a, b, c, d, ..] = RandomState::new().hash_one(()).to_le_bytes();
    f64::from(u32::from_le_bytes([a, b, c, d])) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_kept_over_any_minute() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut pace = Pace::new(Some(2), Some(600), start);
        for (name, n_tokens, now, expected) in [
            ("the first", 100, 0, 0),
            ("the second", 100, 0, 0),
            ("one too many", 100, 0, 30),
            ("after that was waited for", 100, 30, 30),
            ("after a rest", 600, 600, 0),
            ("too many tokens", 300, 600, 30),
        ] {
            let waited = pace.take(n_tokens, at(now));
            let expected = Duration::from_secs(expected);
            assert!(waited.abs_diff(expected) < Duration::from_millis(1), "{name}: {waited:?}");
        }
        assert_eq!(Pace::new(None, None, start).take(1 << 30, start), Duration::ZERO);
    }

    #[test]
    fn pauses_double_within_bounds() {
        for (n_failed, asked, least, most) in [
            (1, None, 250, 500),
            (2, None, 500, 1000),
            (5, None, 4000, 8000),
            (99, None, 30_000, 60_000),
            (1, Some(7), 7000, 7000),
            (1, Some(9999), 60_000, 60_000),
        ] {
            let pause = pause(n_failed, asked.map(Duration::from_secs)).as_millis();
            assert!((least..=most).contains(&pause), "{n_failed} {asked:?}: {pause}");
        }
    }
}
