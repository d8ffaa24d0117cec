//! Clocks that a machine with other work does not disturb, and how a bench says what it measured by them.

use std::time::{Duration, Instant};

/// Times a bench says it measured: enough that a hundredth of them is more than a handful.
const SAMPLES: usize = 2_000;

/// Rounds of a measurement, of which the median is told.
pub const ROUNDS: usize = 9;

/// Processor time that this thread has taken so far.
#[cfg(unix)]
#[must_use]
pub fn thread_cpu() -> Duration {
    since_start(rustix::time::ClockId::ThreadCPUTime)
}

/// Processor time that all threads of this process have taken so far.
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

/// Time that went by, where the system does not tell what the processor did in it.
#[cfg(not(unix))]
#[must_use]
pub fn thread_cpu() -> Duration {
    static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    START.elapsed()
}

/// The same, of the whole process.
#[cfg(not(unix))]
#[must_use]
pub fn process_cpu() -> Duration {
    thread_cpu()
}

/// Calls of `ask` per second of this thread's processor time, the median of a few rounds of `n` calls.
pub fn per_cpu_second(n: usize, mut ask: impl FnMut()) -> f64 {
    median((0..ROUNDS).map(|_| {
        let before = thread_cpu();
        (0..n).for_each(|_| ask());
        n as f64 / (thread_cpu() - before).as_secs_f64()
    }))
}

/// The middle one of some numbers, of which there is an odd one at least.
pub fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_unstable_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

/// The median and the slowest hundredth of some times.
#[derive(Clone, Copy, Debug)]
pub struct Percentiles {
    /// Half of them are shorter.
    pub p50: Duration,
    /// All but a hundredth are shorter.
    pub p99: Duration,
}

impl Percentiles {
    /// Of many calls of `ask`, one after the other, by the clock on the wall.
    pub fn of(mut ask: impl FnMut()) -> Self {
        let times = (0..SAMPLES).map(|_| {
            let start = Instant::now();
            ask();
            start.elapsed()
        });
        Self::among(times.collect())
    }

    /// Of times measured elsewhere, at least one.
    #[must_use]
    pub fn among(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self { p50: times[times.len() / 2], p99: times[times.len() * 99 / 100] }
    }
}
