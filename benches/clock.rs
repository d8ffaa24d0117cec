//! Clocks that a machine with other work does not disturb, and how a bench says what it measured by them.

use std::time::{Duration, Instant};

/// Times a bench says it measured: enough that a hundredth of them is more than a handful.
const SAMPLES: usize = 2_000;

/// Rounds of a rate, of which the median is told.
const ROUNDS: usize = 9;

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
    let mut rates: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let before = thread_cpu();
            (0..n).for_each(|_| ask());
            n as f64 / (thread_cpu() - before).as_secs_f64()
        })
        .collect();
    rates.sort_unstable_by(f64::total_cmp);
    rates[ROUNDS / 2]
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

    /// The same, of calls that are waited for.
    pub async fn of_waits<F: Future>(mut ask: impl FnMut() -> F) -> Self {
        let mut times = Vec::with_capacity(SAMPLES);
        for _ in 0..SAMPLES {
            let start = Instant::now();
            ask().await;
            times.push(start.elapsed());
        }
        Self::among(times)
    }

    fn among(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self { p50: times[SAMPLES / 2], p99: times[SAMPLES * 99 / 100] }
    }
}
