//! Limits requests to an endpoint to rates per minute.

use std::time::{Duration, Instant};

/// Rate limits per minute; a request that exceeds them waits.
#[derive(Debug)]
pub(super) struct RequestLimiter {
    requests: Option<TokenBucket>,
    tokens: Option<TokenBucket>,
}

/// Refills evenly, up to the limit per minute.
#[derive(Debug)]
struct TokenBucket {
    per_minute: f64,
    level: f64,
    at: Instant,
}

impl RequestLimiter {
    pub(super) fn new(requests: Option<u32>, tokens: Option<u32>, now: Instant) -> Self {
        let bucket = |per_minute: u32| {
            let per_minute = f64::from(per_minute.max(1));
            TokenBucket { per_minute, level: per_minute, at: now }
        };
        Self { requests: requests.map(bucket), tokens: tokens.map(bucket) }
    }

    /// Accounts for a request of `n_tokens` and returns how long it must wait.
    pub(super) fn take(&mut self, n_tokens: usize, now: Instant) -> Duration {
        let Self { requests, tokens } = self;
        #[expect(clippy::cast_precision_loss, reason = "tokens of a request are far below 2^52")]
        let n_tokens = n_tokens as f64;
        let requests = requests.as_mut().map(|bucket| bucket.take(1.0, now));
        let tokens = tokens.as_mut().map(|bucket| bucket.take(n_tokens, now));
        requests.max(tokens).unwrap_or_default()
    }
}

impl TokenBucket {
    fn take(&mut self, amount: f64, now: Instant) -> Duration {
        let per_second = self.per_minute / 60.0;
        let filled = now.saturating_duration_since(self.at).as_secs_f64() * per_second;
        self.level = (self.level + filled).min(self.per_minute) - amount;
        self.at = now;
        Duration::try_from_secs_f64(-self.level / per_second).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_limits_hold_over_any_minute() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut rate_limiter = RequestLimiter::new(Some(2), Some(600), start);
        for (name, n_tokens, now, expected) in [
            ("the first", 100, 0, 0),
            ("the second", 100, 0, 0),
            ("one too many", 100, 0, 30),
            ("after the wait", 100, 30, 30),
            ("after idling", 600, 600, 0),
            ("too many tokens", 300, 600, 30),
        ] {
            let waited = rate_limiter.take(n_tokens, at(now));
            let expected = Duration::from_secs(expected);
            assert!(waited.abs_diff(expected) < Duration::from_millis(1), "{name}: {waited:?}");
        }
        assert_eq!(RequestLimiter::new(None, None, start).take(1 << 30, start), Duration::ZERO);
    }
}
