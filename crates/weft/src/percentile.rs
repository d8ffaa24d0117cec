//! Percentiles of durations.

use std::time::Duration;

/// Returns the given percentile of ascending durations, in milliseconds; 0 without any.
pub(crate) fn percentile_ms(sorted: &[Duration], percent: usize) -> f64 {
    let at = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(at).map_or(0.0, |took| took.as_secs_f64() * 1e3)
}
