//! Delays between attempts of a request to an endpoint.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

/// The delay after the first failure, and the maximum delay, even if the endpoint asks for more.
const FIRST_RETRY_DELAY: Duration = Duration::from_millis(500);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(60);

/// Returns the delay before attempt `n_failed + 1`: what the endpoint asks for, or exponential backoff with up to half of it random, so that clients do not return all at once.
pub(super) fn retry_delay(n_failed: u32, asked: Option<Duration>) -> Duration {
    let doubled = FIRST_RETRY_DELAY.saturating_mul(1 << n_failed.saturating_sub(1).min(16));
    let pause = asked.unwrap_or_else(|| doubled.min(MAX_RETRY_DELAY).mul_f64(1.0 - chance() / 2.0));
    pause.min(MAX_RETRY_DELAY)
}

/// Returns a random number from 0 to 1.
fn chance() -> f64 {
    let [a, b, c, d, ..] = RandomState::new().hash_one(()).to_le_bytes();
    f64::from(u32::from_le_bytes([a, b, c, d])) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_delays_double_within_bounds() {
        for (n_failed, asked, least, most) in [
            (1, None, 250, 500),
            (2, None, 500, 1000),
            (5, None, 4000, 8000),
            (99, None, 30_000, 60_000),
            (1, Some(7), 7000, 7000),
            (1, Some(9999), 60_000, 60_000),
        ] {
            let pause = retry_delay(n_failed, asked.map(Duration::from_secs)).as_millis();
            assert!((least..=most).contains(&pause), "{n_failed} {asked:?}: {pause}");
        }
    }
}
