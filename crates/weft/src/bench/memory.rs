//! Memory of the daemon under load, read from its metrics.

use std::future::poll_fn;
use std::pin::pin;
use std::time::Duration;

use serde::Serialize;
use tokio::time::{Instant, interval};
use tonic::body::Body;
use tonic::codegen::{Body as _, Bytes, Service as _, http};

use crate::client::Client;

/// Name of the metric: resident memory without mapped files.
const METRIC: &str = "weft_process_anonymous_bytes ";

/// Approximate number of samples per load, at an interval of at least [`MIN_INTERVAL`].
const SAMPLES: u32 = 90;
const MIN_INTERVAL: Duration = Duration::from_millis(250);

/// Minimum number of samples for a trend.
const MIN_SAMPLES: usize = 8;

/// Memory of a daemon during a load, without mapped files.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct MemoryReport {
    pub(crate) n_samples: usize,
    /// Bytes at the first sample.
    pub(crate) first_bytes: u64,
    /// Bytes at the last sample.
    pub(crate) last_bytes: u64,
    /// Maximum of all samples.
    pub(crate) max_bytes: u64,
    /// Trend of the second half of the samples; `None` if there are too few.
    pub(crate) trend: Option<MemoryTrend>,
}

/// A least-squares line through samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct MemoryTrend {
    /// Kilobytes per minute; negative if memory shrinks.
    pub(crate) kb_per_minute: f64,
    /// Half width of the 95 % confidence interval, for independent samples.
    pub(crate) plus_minus: f64,
}

/// Samples the memory for `time`; `None` if it is not available: in the same process, or without permission to read metrics.
pub(super) async fn sample_memory(client: &Client, time: Duration) -> Option<MemoryReport> {
    let begin = Instant::now();
    let mut ticks = interval((time / SAMPLES).max(MIN_INTERVAL));
    let mut samples = Vec::new();
    while begin.elapsed() < time {
        ticks.tick().await;
        samples.push((begin.elapsed(), read(client).await?));
    }
    MemoryReport::of(&samples)
}

async fn read(client: &Client) -> Option<u64> {
    client.channel()?;
    let request = http::Request::get("/metrics").body(Body::empty()).ok()?;
    let mut transport = client.transport();
    poll_fn(|context| transport.poll_ready(context)).await.ok()?;
    let mut body = pin!(transport.call(request).await.ok()?.into_body());
    let mut text = Vec::new();
    while let Some(frame) = poll_fn(|context| body.as_mut().poll_frame(context)).await {
        let bytes: Bytes = frame.ok()?.into_data().unwrap_or_default();
        text.extend_from_slice(&bytes);
    }
    value(std::str::from_utf8(&text).ok()?)
}

/// Finds the value of the metric.
fn value(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(METRIC))?.trim().parse().ok()
}

impl MemoryReport {
    fn of(samples: &[(Duration, u64)]) -> Option<Self> {
        let (first, last) = (samples.first()?.1, samples.last()?.1);
        Some(Self {
            n_samples: samples.len(),
            first_bytes: first,
            last_bytes: last,
            max_bytes: samples.iter().map(|(_, bytes)| *bytes).max()?,
            trend: MemoryTrend::of(&samples[samples.len() / 2..]),
        })
    }
}

impl MemoryTrend {
    fn of(samples: &[(Duration, u64)]) -> Option<Self> {
        if samples.len() < MIN_SAMPLES {
            return None;
        }
        let n = samples.len() as f64;
        let points =
            || samples.iter().map(|(at, bytes)| (at.as_secs_f64() / 60.0, *bytes as f64 / 1_000.0));
        let mean_x = points().map(|(x, _)| x).sum::<f64>() / n;
        let mean_y = points().map(|(_, y)| y).sum::<f64>() / n;
        let spread: f64 = points().map(|(x, _)| (x - mean_x).powi(2)).sum();
        let slope = points().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum::<f64>() / spread;
        let off: f64 = points().map(|(x, y)| (y - mean_y - slope * (x - mean_x)).powi(2)).sum();
        // Two standard errors: the quantile of Student's t for eight samples is 2.4, for sixty 2.0.
        let plus_minus = 2.0 * (off / (n - 2.0) / spread).sqrt();
        Some(Self { kb_per_minute: slope, plus_minus })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metric_is_found_among_others() {
        let text = "# TYPE weft_process_anonymous_bytes gauge\nweft_x 1\nweft_process_anonymous_bytes 1234\n";
        assert_eq!(value(text), Some(1234));
        assert_eq!(value("weft_x 1\n"), None);
    }

    #[test]
    fn trend_covers_the_second_half() {
        // Memory rises at the beginning; then by 6 kB per minute, ± 1 kB.
        let sample = |at: u64| {
            let bytes = if at < 50 { at * 100_000 } else { 5_000_000 + at * 100 + at % 2 * 1_000 };
            (Duration::from_secs(at), bytes)
        };
        let samples: Vec<_> = (0..100).map(sample).collect();
        let report = MemoryReport::of(&samples).unwrap();
        assert_eq!((report.n_samples, report.first_bytes, report.max_bytes), (100, 0, 5_010_900));
        let MemoryTrend { kb_per_minute, plus_minus } = report.trend.unwrap();
        assert!((kb_per_minute - 6.0).abs() < plus_minus, "{kb_per_minute} ± {plus_minus}");
        assert!((0.1..1.0).contains(&plus_minus), "{plus_minus}");
        assert_eq!(MemoryReport::of(&samples[..10]).unwrap().trend, None);
        assert_eq!(MemoryReport::of(&[]), None);
    }
}
