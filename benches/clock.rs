//! Clocks that other work on the machine does not disturb, and figures measured by them.

use std::time::{Duration, Instant};

/// Number of samples of a latency distribution, so that its slowest percent is more than a handful.
const SAMPLES: usize = 2_000;

/// Number of rounds of a measurement, of which the median is reported.
pub const ROUNDS: usize = 9;

/// Returns the processor time that this thread has used so far.
#[cfg(unix)]
#[must_use]
pub fn thread_cpu() -> Duration {
    since_start(rustix::time::ClockId::ThreadCPUTime)
}

/// Returns the processor time that all threads of this process have used so far.
#[cfg(unix)]
#[must_use]
pub fn process_cpu() -> Duration {
    since_start(rustix::time::ClockId::ProcessCPUTime)
}

#[cfg(unix)]
fn since_start(clock: rustix::time::ClockId) -> Duration {
    let time = rustix::time::clock_gettime(clock);
    let seconds = time.tv_sec.try_into().unwrap_or_default();
    Duration::new(seconds, time.tv_nsec.try_into().unwrap_or_default())
}

/// Returns the elapsed time on systems without a clock for processor time.
#[cfg(not(unix))]
#[must_use]
pub fn thread_cpu() -> Duration {
    static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    START.elapsed()
}

/// Returns the elapsed time on systems without a clock for processor time.
#[cfg(not(unix))]
#[must_use]
pub fn process_cpu() -> Duration {
    thread_cpu()
}

/// Returns the calls of `ask` per second of this thread's processor time, the median of some rounds of `n` calls.
pub fn per_cpu_second(n: usize, mut ask: impl FnMut()) -> f64 {
    median((0..ROUNDS).map(|_| {
        let before = thread_cpu();
        (0..n).for_each(|_| ask());
        n as f64 / (thread_cpu() - before).as_secs_f64()
    }))
}

/// Returns the median of an odd number of numbers.
pub fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_unstable_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

/// Median and 99th percentile of some times.
#[derive(Clone, Copy, Debug)]
pub struct Percentiles {
    /// Median.
    pub p50: Duration,
    /// 99th percentile.
    pub p99: Duration,
}

impl Percentiles {
    /// Measures many successive calls of `ask` in wall-clock time.
    pub fn of(mut ask: impl FnMut()) -> Self {
        let times = (0..SAMPLES).map(|_| {
            let start = Instant::now();
            ask();
            start.elapsed()
        });
        Self::among(times.collect())
    }

    /// Returns the percentiles of `times`, which must not be empty.
    #[must_use]
    pub fn among(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self { p50: times[times.len() / 2], p99: times[times.len() * 99 / 100] }
    }
}
