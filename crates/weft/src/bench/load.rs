//! Loads: calls at a given pace, and their reports.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tonic::Code;

use super::call::{Call, CallInputs, CallOutcome, CallResult, Caller};
use super::consistency::{Observation, TimedObservation};
use crate::percentile::percentile_ms;

/// Warm-up that is not counted, in which connections open and caches fill.
pub(super) const WARM_UP: Duration = Duration::from_secs(1);

/// Maximum sleep of the clock thread before it checks whether the load has ended.
const MAX_SLEEP: Duration = Duration::from_millis(50);

/// Maximum number of calls in flight; further calls are not sent, but counted.
const MAX_IN_FLIGHT: usize = 10_000;

/// Pace of the calls.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pace {
    /// Each client makes its next call when it has the answer to the previous one.
    BackToBack,
    /// Calls per second, evenly spaced, whether or not answers arrive. A slow answer therefore does not delay later calls.
    PerSecond(f64),
}

/// Calls to make, in order.
pub(super) struct Load {
    pub(super) inputs: Arc<CallInputs>,
    pub(super) calls: Vec<Call>,
}

/// One measured call.
pub(super) struct Sample {
    client: usize,
    call: Call,
    /// Time at which the call was due, or was sent if it had no due time.
    begun: Instant,
    sent: Instant,
    /// Duration from `begun` to the end.
    took: Duration,
    outcome: CallOutcome,
    observation: Observation,
}

impl Sample {
    /// Makes the `at`-th call of `client` and records its outcome.
    async fn take(
        (client, caller): (usize, Caller),
        call: Call,
        (at, due): (usize, Option<Instant>),
        inputs: Arc<CallInputs>,
    ) -> Self {
        let sent = Instant::now();
        let begun = due.unwrap_or(sent);
        let CallResult { outcome, observation } = caller.call(call, at, inputs).await;
        Self { client, call, begun, sent, took: begun.elapsed(), outcome, observation }
    }

    /// Returns what the answer showed, with its times.
    pub(super) fn observation(&self) -> TimedObservation<'_> {
        let Self { client, begun, sent, took, observation, call: _, outcome: _ } = self;
        let ended = (*begun + *took).into_std();
        TimedObservation { client: *client, sent: sent.into_std(), ended, observation }
    }
}

/// Results of a load.
#[derive(Debug, Serialize)]
pub(crate) struct LoadReport {
    /// Target of the calls.
    pub(crate) place: String,
    /// Phase of the comparison; `None` for a single load.
    pub(crate) phase: Option<LoadPhase>,
    pub(crate) clients: usize,
    /// Planned calls per second; `None` if clients waited for their answers.
    pub(crate) rate: Option<f64>,
    pub(crate) seconds: f64,
    /// Results by kind of call.
    pub(crate) calls: Vec<CallReport>,
    /// Results of all calls.
    pub(crate) all: CallReport,
    /// Results with respect to the deadline, if there was one.
    pub(crate) deadline: Option<DeadlineReport>,
    /// Number of calls that were not sent because too many were in flight.
    pub(crate) n_not_sent: usize,
    /// 99th percentile of the delay between due time and sending, in milliseconds, which the latencies include: this process was too busy.
    pub(crate) late_ms_p99: Option<f64>,
    /// Processor time of this process per call, in microseconds, including that of the answer if this process computes it.
    pub(crate) cpu_us_per_call: Option<f64>,
}

/// Phase of a comparison of reads with and without edits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LoadPhase {
    /// Maximum throughput.
    Capacity,
    /// Reads without edits.
    Quiet,
    /// Reads with concurrent edits.
    Edits,
}

/// Results with respect to the deadline.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct DeadlineReport {
    /// Deadline in milliseconds.
    pub(crate) ms: f64,
    /// Number of complete answers.
    pub(crate) n_complete: usize,
    /// Number of answers with warnings.
    pub(crate) n_with_warnings: usize,
    /// Number of calls that failed with `DEADLINE_EXCEEDED`.
    pub(crate) n_exceeded: usize,
    /// Number of calls that failed for another reason.
    pub(crate) n_failed: usize,
    /// Number of calls that took longer than twice the deadline, whatever their outcome.
    pub(crate) n_late: usize,
}

/// Results of calls.
#[derive(Debug, Serialize)]
pub(crate) struct CallReport {
    /// Kind of call; `None` for all calls.
    pub(crate) call: Option<Call>,
    pub(crate) n: usize,
    pub(crate) per_second: f64,
    /// Number of answers with warnings.
    pub(crate) n_with_warnings: usize,
    /// Number of failed calls by status.
    pub(crate) errors: BTreeMap<String, usize>,
    /// Latencies of all calls, failed ones included.
    pub(crate) latency_ms: Latencies,
}

/// Latencies in milliseconds from due time, or from sending without a due time, to the end.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Latencies {
    pub(crate) p50: f64,
    pub(crate) p95: f64,
    pub(crate) p99: f64,
    pub(crate) max: f64,
}

/// A finished load.
pub(super) struct LoadRun {
    /// All calls, including those of the warm-up.
    pub(super) samples: Vec<Sample>,
    pub(super) report: LoadReport,
}

/// Clients of a load, their pace and their target.
#[derive(Clone)]
pub(super) struct Callers {
    pub(super) each: Vec<Caller>,
    pub(super) pace: Pace,
    pub(super) place: &'static str,
}

/// A load without interruption.
pub(super) struct Measurement {
    /// All calls, including those of the warm-up.
    samples: Vec<Sample>,
    /// End of the warm-up.
    start: Instant,
    seconds: f64,
    n_not_sent: usize,
    cpu: Option<Duration>,
}

impl Measurement {
    /// Returns the number of calls, including those of the warm-up.
    pub(super) fn n_calls(&self) -> usize {
        self.samples.len()
    }

    fn counted(&self) -> impl Iterator<Item = &Sample> {
        self.samples.iter().filter(|sample| sample.begun >= self.start)
    }
}

impl LoadReport {
    /// Combines several measurements of `callers` into one report.
    pub(super) fn of(callers: &Callers, measurements: &[&Measurement]) -> Self {
        let Callers { each, pace, place } = callers;
        let counted: Vec<&Sample> =
            measurements.iter().flat_map(|measurement| measurement.counted()).collect();
        let seconds = measurements.iter().map(|measurement| measurement.seconds).sum();
        let cpu = measurements.iter().map(|measurement| measurement.cpu).sum::<Option<Duration>>();
        let (rate, late) = match pace {
            Pace::BackToBack => (None, None),
            Pace::PerSecond(rate) => {
                let late = counted.iter().map(|sample| sample.sent - sample.begun).collect();
                (Some(*rate), Some(Latencies::of(late).p99).filter(|_| !counted.is_empty()))
            }
        };
        let mut kinds: Vec<Call> = counted.iter().map(|sample| sample.call).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let calls = kinds.into_iter().map(|kind| {
            let of_kind = counted.iter().copied().filter(|sample| sample.call == kind);
            CallReport::of(Some(kind), of_kind, seconds)
        });
        let deadline = each.iter().find_map(Caller::deadline);
        Self {
            place: (*place).to_owned(),
            phase: None,
            clients: each.len(),
            rate,
            seconds,
            calls: calls.collect(),
            all: CallReport::of(None, counted.iter().copied(), seconds),
            deadline: deadline.map(|deadline| DeadlineReport::of(deadline, &counted)),
            n_not_sent: measurements.iter().map(|measurement| measurement.n_not_sent).sum(),
            late_ms_p99: late,
            cpu_us_per_call: cpu.map(|cpu| cpu.as_secs_f64() * 1e6 / counted.len().max(1) as f64),
        }
    }
}

impl Load {
    /// Builds a load of `calls` in this order; if notes are edited, each cycle ends with one request for an edited note.
    pub(super) fn new(inputs: CallInputs, mut calls: Vec<Call>) -> Self {
        calls.extend(inputs.edited.is_some().then_some(Call::Edited));
        Self { inputs: Arc::new(inputs), calls }
    }

    /// Makes the calls for `time`, after the warm-up.
    pub(super) async fn run(&self, callers: &Callers, time: Duration) -> LoadRun {
        let measurement = self.measure(callers, 0, WARM_UP, time).await;
        let report = LoadReport::of(callers, &[&measurement]);
        LoadRun { samples: measurement.samples, report }
    }

    /// Makes the calls from number `first` on for `time`, after a warm-up of `before`.
    pub(super) async fn measure(
        &self,
        callers: &Callers,
        first: usize,
        before: Duration,
        time: Duration,
    ) -> Measurement {
        let start = Instant::now() + before;
        let end = start + time;
        let (done, mut ended) = mpsc::unbounded_channel();
        let cpu_before = tokio::spawn(async move {
            sleep_until(start).await;
            cpu()
        });
        let n_not_sent = match callers.pace {
            Pace::BackToBack => {
                self.back_to_back(callers.each.clone(), first, end, done).await;
                0
            }
            Pace::PerSecond(rate) => self.per_second(&callers.each, rate, first, end, done).await,
        };
        let cpu = cpu_before.await.ok().flatten().zip(cpu()).map(|(before, after)| after - before);
        let seconds = (Instant::now() - start).as_secs_f64();
        let mut samples = Vec::new();
        while let Some(sample) = ended.recv().await {
            samples.push(sample);
        }
        Measurement { samples, start, seconds, n_not_sent, cpu }
    }

    /// Returns the kind of the `at`-th call.
    fn call_at(&self, at: usize) -> Call {
        self.calls[at % self.calls.len()]
    }

    async fn back_to_back(
        &self,
        callers: Vec<Caller>,
        first: usize,
        end: Instant,
        done: mpsc::UnboundedSender<Sample>,
    ) {
        let inputs = Arc::clone(&self.inputs);
        let n = callers.len();
        let mut tasks = JoinSet::new();
        for (client, caller) in callers.into_iter().enumerate() {
            let (calls, inputs, done) = (self.calls.clone(), Arc::clone(&inputs), done.clone());
            tasks.spawn(async move {
                for at in (first + client..).step_by(n) {
                    if Instant::now() >= end {
                        break;
                    }
                    let call = calls[at % calls.len()];
                    let caller = (client, caller.clone());
                    // The receiver outlives the senders.
                    let _ = done
                        .send(Sample::take(caller, call, (at, None), Arc::clone(&inputs)).await);
                }
            });
        }
        while tasks.join_next().await.is_some() {}
    }

    /// Makes calls at a fixed rate and returns the number of calls that were not sent.
    async fn per_second(
        &self,
        callers: &[Caller],
        rate: f64,
        first: usize,
        end: Instant,
        done: mpsc::UnboundedSender<Sample>,
    ) -> usize {
        let places = Arc::new(Semaphore::new(MAX_IN_FLIGHT));
        let mut n_not_sent = 0;
        let mut tasks = JoinSet::new();
        at_fixed_rate(rate, end, |nth, due| {
            let at = first + nth;
            while tasks.try_join_next().is_some() {}
            let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
                n_not_sent += 1;
                return;
            };
            let client = at % callers.len();
            let caller = (client, callers[client].clone());
            let (call, inputs, done) = (self.call_at(at), Arc::clone(&self.inputs), done.clone());
            tasks.spawn(async move {
                let _ = done.send(Sample::take(caller, call, (at, Some(due)), inputs).await);
                drop(place);
            });
        })
        .await;
        // The last call may have been due long before the end.
        sleep_until(end).await;
        while tasks.join_next().await.is_some() {}
        n_not_sent
    }
}

/// Calls `act` at `rate` times per second until `end`, evenly spaced, with the index and the due time of each call.
pub(super) async fn at_fixed_rate(rate: f64, end: Instant, mut act: impl FnMut(usize, Instant)) {
    let begin = Instant::now();
    let (sender, mut ticks) = mpsc::unbounded_channel();
    // Timers of the runtime have a resolution of one millisecond.
    tokio::task::spawn_blocking(move || {
        for at in 0.. {
            let due = begin + Duration::from_secs_f64(at as f64 / rate);
            while let Some(wait) = due.checked_duration_since(Instant::now()) {
                if due >= end || sender.is_closed() {
                    return;
                }
                std::thread::sleep(wait.min(MAX_SLEEP));
            }
            if due >= end || sender.send((at, due)).is_err() {
                return;
            }
        }
    });
    while let Some((at, due)) = ticks.recv().await {
        act(at, due);
    }
}

impl CallReport {
    fn of<'a>(call: Option<Call>, samples: impl Iterator<Item = &'a Sample>, seconds: f64) -> Self {
        let (mut took, mut errors, mut n_with_warnings) = (Vec::new(), BTreeMap::new(), 0);
        for sample in samples {
            took.push(sample.took);
            match sample.outcome {
                CallOutcome::Complete => {}
                CallOutcome::WithWarnings => n_with_warnings += 1,
                CallOutcome::Failed(code) => *errors.entry(format!("{code:?}")).or_default() += 1,
            }
        }
        let n = took.len();
        let per_second = n as f64 / seconds;
        Self { call, n, per_second, n_with_warnings, errors, latency_ms: Latencies::of(took) }
    }
}

impl DeadlineReport {
    fn of(deadline: Duration, samples: &[&Sample]) -> Self {
        let n = |is: &dyn Fn(&CallOutcome) -> bool| {
            samples.iter().filter(|sample| is(&sample.outcome)).count()
        };
        let exceeded = CallOutcome::Failed(Code::DeadlineExceeded);
        let n_exceeded = n(&|outcome| *outcome == exceeded);
        Self {
            ms: deadline.as_secs_f64() * 1_000.0,
            n_complete: n(&|outcome| *outcome == CallOutcome::Complete),
            n_with_warnings: n(&|outcome| *outcome == CallOutcome::WithWarnings),
            n_exceeded,
            n_failed: n(&|outcome| matches!(outcome, CallOutcome::Failed(_))) - n_exceeded,
            n_late: samples.iter().filter(|sample| sample.took > deadline * 2).count(),
        }
    }
}

impl Latencies {
    pub(super) fn of(mut took: Vec<Duration>) -> Self {
        took.sort_unstable();
        let at = |percent| percentile_ms(&took, percent);
        Self { p50: at(50), p95: at(95), p99: at(99), max: at(100) }
    }
}

/// Returns the processor time used by this process so far.
#[cfg(unix)]
fn cpu() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Some(Duration::new(time.tv_sec.try_into().ok()?, time.tv_nsec.try_into().ok()?))
}

#[cfg(not(unix))]
const fn cpu() -> Option<Duration> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_are_percentiles_of_sorted_calls() {
        let took = (1..=1_000).rev().map(Duration::from_millis).collect();
        let Latencies { p50, p95, p99, max } = Latencies::of(took);
        let ms = [p50, p95, p99, max].map(|ms| format!("{ms:.0}"));
        assert_eq!(ms, ["501", "951", "991", "1000"]);
        assert!(Latencies::of(Vec::new()).max <= 0.0);
    }

    #[tokio::test]
    async fn fixed_rate_catches_up_after_a_stall() {
        let begin = Instant::now();
        let mut dues = Vec::new();
        at_fixed_rate(100.0, begin + Duration::from_millis(95), |at, due| {
            assert_eq!(at, dues.len());
            if at == 2 {
                std::thread::sleep(Duration::from_millis(30));
            }
            dues.push(due);
        })
        .await;
        assert!(matches!(dues.len(), 9 | 10), "{}", dues.len());
        assert!(dues.windows(2).all(|pair| pair[1] - pair[0] == Duration::from_millis(10)));
    }

    #[tokio::test]
    async fn latency_includes_time_before_sending() {
        let due = Instant::now() - Duration::from_secs(2);
        let sample = Sample { begun: due, ..sample(CallOutcome::Complete, 2_001) };
        let observation = sample.observation();
        assert_eq!(observation.ended, due.into_std() + Duration::from_millis(2_001));
        assert!(observation.sent > observation.ended - Duration::from_secs(1));
    }

    fn sample(outcome: CallOutcome, ms: u64) -> Sample {
        Sample {
            client: 0,
            call: Call::Get,
            begun: Instant::now(),
            sent: Instant::now(),
            took: Duration::from_millis(ms),
            outcome,
            observation: Observation::default(),
        }
    }

    #[tokio::test]
    async fn measurements_are_combined_without_warm_up() {
        let start = Instant::now();
        let measurement = |ms: &[u64]| {
            let counted = ms.iter().map(|ms| sample(CallOutcome::Complete, *ms));
            let early = Sample { begun: start - WARM_UP, ..sample(CallOutcome::Complete, 999) };
            Measurement {
                samples: counted.chain([early]).collect(),
                start,
                seconds: 0.5,
                n_not_sent: 1,
                cpu: Some(Duration::from_micros(300)),
            }
        };
        let measurements = [measurement(&[1, 2, 3]), measurement(&[4, 5])];
        let [first, second] = &measurements;
        let callers = Callers { each: Vec::new(), pace: Pace::PerSecond(5.0), place: "here" };
        let report = LoadReport::of(&callers, &[first, second]);
        assert_eq!((report.all.n, report.n_not_sent, report.calls.len()), (5, 2, 1));
        let LoadReport { all, seconds, cpu_us_per_call, .. } = report;
        assert_eq!(format!("{seconds} {}", all.per_second), "1 5");
        assert_eq!(format!("{:.0} {:.0}", all.latency_ms.p50, all.latency_ms.max), "3 5");
        assert_eq!(format!("{:.0}", cpu_us_per_call.unwrap()), "120");
        let without_cpu = Measurement { cpu: None, ..measurement(&[1]) };
        assert_eq!(LoadReport::of(&callers, &[first, &without_cpu]).cpu_us_per_call, None);
    }

    #[test]
    fn failed_calls_are_counted_by_status() {
        let samples = [
            sample(CallOutcome::Complete, 2),
            sample(CallOutcome::WithWarnings, 2),
            sample(CallOutcome::Failed(Code::DeadlineExceeded), 5),
            sample(CallOutcome::Failed(Code::DeadlineExceeded), 11),
        ];
        let report = CallReport::of(Some(Call::Get), samples.iter(), 2.0);
        assert_eq!((report.n, report.n_with_warnings), (4, 1));
        assert_eq!(report.errors, [("DeadlineExceeded".to_owned(), 2)].into());
        assert!((report.per_second - 2.0).abs() < 1e-9);
        let all: Vec<&Sample> = samples.iter().collect();
        let deadline = DeadlineReport::of(Duration::from_millis(5), &all);
        let DeadlineReport { ms: _, n_complete, n_with_warnings, n_exceeded, n_failed, n_late } =
            deadline;
        assert_eq!((n_complete, n_with_warnings, n_exceeded, n_failed, n_late), (1, 1, 2, 0, 1));
    }
}
