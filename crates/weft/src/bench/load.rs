//! Calls made at a pace, and what became of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tonic::Code;

use super::call::{Answer, Call, Caller, Material, Outcome};
use super::seen::{Seen, Sighting};
use crate::percentile::percentile_ms;

/// What does not count: connections open, caches fill.
pub(super) const WARM_UP: Duration = Duration::from_secs(1);

/// How long the clock of a steady load sleeps at most before it sees whether it is still wanted.
const LONGEST_SLEEP: Duration = Duration::from_millis(50);

/// Calls on their way at most; more are held back and counted.
const IN_FLIGHT: usize = 10_000;

/// When calls are made.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pace {
    /// Each caller makes its next call when it has the answer to its last.
    BackToBack,
    /// So many a second, evenly, whether answers come or not. So a slow answer does not keep others from being late.
    PerSecond(f64),
}

/// What is called, in which order.
pub(super) struct Load {
    pub(super) material: Arc<Material>,
    pub(super) calls: Vec<Call>,
}

/// One call.
pub(super) struct Sample {
    client: usize,
    call: Call,
    /// When it was due, where it was due at a time, or else sent.
    begun: Instant,
    sent: Instant,
    /// From when it was begun to its end.
    took: Duration,
    outcome: Outcome,
    seen: Seen,
}

impl Sample {
    /// Makes the `at`-th call of `client`, and tells what became of it.
    async fn take(
        (client, caller): (usize, Caller),
        call: Call,
        (at, due): (usize, Option<Instant>),
        material: Arc<Material>,
    ) -> Self {
        let sent = Instant::now();
        let begun = due.unwrap_or(sent);
        let Answer { outcome, seen } = caller.call(call, at, material).await;
        Self { client, call, begun, sent, took: begun.elapsed(), outcome, seen }
    }

    /// What it showed.
    pub(super) fn sighting(&self) -> Sighting<'_> {
        let Self { client, begun, sent, took, seen, call: _, outcome: _ } = self;
        let ended = (*begun + *took).into_std();
        Sighting { client: *client, sent: sent.into_std(), ended, seen }
    }
}

/// What a load gave.
#[derive(Debug, Serialize)]
pub(crate) struct LoadReport {
    /// Where the calls went to.
    pub(crate) place: String,
    /// What else was going on, where several loads are compared.
    pub(crate) phase: Option<Phase>,
    pub(crate) clients: usize,
    /// Calls a second that were to be sent; nothing where callers waited for their answers.
    pub(crate) rate: Option<f64>,
    pub(crate) seconds: f64,
    /// Each kind of call that was made.
    pub(crate) calls: Vec<CallReport>,
    /// All of them together.
    pub(crate) all: CallReport,
    /// What became of their deadline, where they had one.
    pub(crate) deadline: Option<DeadlineReport>,
    /// Calls that were not made, since too many were on their way.
    pub(crate) n_held_back: usize,
    /// Milliseconds by which the slowest hundredth of the calls left later than planned, which their latencies hold: this process had no time for them.
    pub(crate) late_ms_p99: Option<f64>,
    /// Microseconds of processor time of this process for each call: that of the answer too, where this process gives it.
    pub(crate) cpu_us_per_call: Option<f64>,
}

/// A part of a comparison of readers alone and beside edits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Phase {
    /// As fast as clients go, to know what the daemon bears.
    Capacity,
    /// Nothing is edited.
    Quiet,
    /// Notes are edited.
    Edits,
}

/// How calls with a deadline ended.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct DeadlineReport {
    /// Milliseconds that each call had.
    pub(crate) ms: f64,
    /// Whole answers.
    pub(crate) n_whole: usize,
    /// Answers that went without a part.
    pub(crate) n_degraded: usize,
    /// Calls that were told that their time is over.
    pub(crate) n_exceeded: usize,
    /// Calls that failed for another reason.
    pub(crate) n_failed: usize,
    /// Calls that were over only after twice the time, however they ended.
    pub(crate) n_after_twice: usize,
}

/// What became of calls.
#[derive(Debug, Serialize)]
pub(crate) struct CallReport {
    /// The call; nothing for all of them together.
    pub(crate) call: Option<Call>,
    pub(crate) n: usize,
    pub(crate) per_second: f64,
    /// Answers that went without a part.
    pub(crate) n_degraded: usize,
    /// Calls without an answer, by status.
    pub(crate) errors: BTreeMap<String, usize>,
    /// Of calls with an answer and without.
    pub(crate) latency_ms: Latencies,
}

/// Milliseconds from when a call was due, or else sent, to its end.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Latencies {
    pub(crate) p50: f64,
    pub(crate) p95: f64,
    pub(crate) p99: f64,
    pub(crate) max: f64,
}

/// A load that was put, call by call.
pub(super) struct Run {
    /// All calls, the first ones included.
    pub(super) samples: Vec<Sample>,
    pub(super) report: LoadReport,
}

/// Who makes the calls of a load, and where they go to.
#[derive(Clone)]
pub(super) struct Callers {
    pub(super) each: Vec<Caller>,
    pub(super) pace: Pace,
    pub(super) place: &'static str,
}

/// Calls made without a pause.
pub(super) struct Stretch {
    /// All of them, the first ones included.
    samples: Vec<Sample>,
    /// From when they count.
    start: Instant,
    seconds: f64,
    n_held_back: usize,
    cpu: Option<Duration>,
}

impl Stretch {
    /// How many calls were made, the first ones included.
    pub(super) fn n_calls(&self) -> usize {
        self.samples.len()
    }

    fn counted(&self) -> impl Iterator<Item = &Sample> {
        self.samples.iter().filter(|sample| sample.begun >= self.start)
    }
}

impl LoadReport {
    /// What `callers` did in some stretches, taken together.
    pub(super) fn of(callers: &Callers, stretches: &[&Stretch]) -> Self {
        let Callers { each, pace, place } = callers;
        let counted: Vec<&Sample> =
            stretches.iter().flat_map(|stretch| stretch.counted()).collect();
        let seconds = stretches.iter().map(|stretch| stretch.seconds).sum();
        let cpu = stretches.iter().map(|stretch| stretch.cpu).sum::<Option<Duration>>();
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
            n_held_back: stretches.iter().map(|stretch| stretch.n_held_back).sum(),
            late_ms_p99: late,
            cpu_us_per_call: cpu.map(|cpu| cpu.as_secs_f64() * 1e6 / counted.len().max(1) as f64),
        }
    }
}

impl Load {
    /// A load of `calls` in this order, with a question about notes that are edited once in each round where there are some.
    pub(super) fn new(material: Material, mut calls: Vec<Call>) -> Self {
        calls.extend(material.edited.is_some().then_some(Call::Edited));
        Self { material: Arc::new(material), calls }
    }

    /// Makes the calls for `time`, after a while that does not count.
    pub(super) async fn run(&self, callers: &Callers, time: Duration) -> Run {
        let stretch = self.put(callers, 0, WARM_UP, time).await;
        let report = LoadReport::of(callers, &[&stretch]);
        Run { samples: stretch.samples, report }
    }

    /// Makes the calls from the `first` one on for `time`, after `before` that does not count.
    pub(super) async fn put(
        &self,
        callers: &Callers,
        first: usize,
        before: Duration,
        time: Duration,
    ) -> Stretch {
        let start = Instant::now() + before;
        let end = start + time;
        let (done, mut ended) = mpsc::unbounded_channel();
        let cpu_before = tokio::spawn(async move {
            sleep_until(start).await;
            cpu()
        });
        let n_held_back = match callers.pace {
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
        Stretch { samples, start, seconds, n_held_back, cpu }
    }

    /// The kind of the `at`-th call.
    fn kind(&self, at: usize) -> Call {
        self.calls[at % self.calls.len()]
    }

    async fn back_to_back(
        &self,
        callers: Vec<Caller>,
        first: usize,
        end: Instant,
        done: mpsc::UnboundedSender<Sample>,
    ) {
        let material = Arc::clone(&self.material);
        let n = callers.len();
        let mut tasks = JoinSet::new();
        for (client, caller) in callers.into_iter().enumerate() {
            let (calls, material, done) = (self.calls.clone(), Arc::clone(&material), done.clone());
            tasks.spawn(async move {
                for at in (first + client..).step_by(n) {
                    if Instant::now() >= end {
                        break;
                    }
                    let call = calls[at % calls.len()];
                    let caller = (client, caller.clone());
                    // The receiver outlives the callers.
                    let _ = done
                        .send(Sample::take(caller, call, (at, None), Arc::clone(&material)).await);
                }
            });
        }
        while tasks.join_next().await.is_some() {}
    }

    /// Gives the number of calls that were not made.
    async fn per_second(
        &self,
        callers: &[Caller],
        rate: f64,
        first: usize,
        end: Instant,
        done: mpsc::UnboundedSender<Sample>,
    ) -> usize {
        let places = Arc::new(Semaphore::new(IN_FLIGHT));
        let mut n_held_back = 0;
        let mut tasks = JoinSet::new();
        steadily(rate, end, |nth, due| {
            let at = first + nth;
            while tasks.try_join_next().is_some() {}
            let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
                n_held_back += 1;
                return;
            };
            let client = at % callers.len();
            let caller = (client, callers[client].clone());
            let (call, material, done) = (self.kind(at), Arc::clone(&self.material), done.clone());
            tasks.spawn(async move {
                let _ = done.send(Sample::take(caller, call, (at, Some(due)), material).await);
                drop(place);
            });
        })
        .await;
        // The last call may have been due long before.
        sleep_until(end).await;
        while tasks.join_next().await.is_some() {}
        n_held_back
    }
}

/// Calls `act` so many times a second until `end`, evenly, with the number of the time and when it was due.
pub(super) async fn steadily(rate: f64, end: Instant, mut act: impl FnMut(usize, Instant)) {
    let begin = Instant::now();
    let (sender, mut ticks) = mpsc::unbounded_channel();
    // The runtime's own clock goes in milliseconds.
    tokio::task::spawn_blocking(move || {
        for at in 0.. {
            let due = begin + Duration::from_secs_f64(at as f64 / rate);
            while let Some(wait) = due.checked_duration_since(Instant::now()) {
                if due >= end || sender.is_closed() {
                    return;
                }
                std::thread::sleep(wait.min(LONGEST_SLEEP));
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
        let (mut took, mut errors, mut n_degraded) = (Vec::new(), BTreeMap::new(), 0);
        for sample in samples {
            took.push(sample.took);
            match sample.outcome {
                Outcome::Whole => {}
                Outcome::Degraded => n_degraded += 1,
                Outcome::Failed(code) => *errors.entry(format!("{code:?}")).or_default() += 1,
            }
        }
        let n = took.len();
        let per_second = n as f64 / seconds;
        Self { call, n, per_second, n_degraded, errors, latency_ms: Latencies::of(took) }
    }
}

impl DeadlineReport {
    fn of(deadline: Duration, samples: &[&Sample]) -> Self {
        let n = |is: &dyn Fn(&Outcome) -> bool| {
            samples.iter().filter(|sample| is(&sample.outcome)).count()
        };
        let exceeded = Outcome::Failed(Code::DeadlineExceeded);
        let n_exceeded = n(&|outcome| *outcome == exceeded);
        Self {
            ms: deadline.as_secs_f64() * 1_000.0,
            n_whole: n(&|outcome| *outcome == Outcome::Whole),
            n_degraded: n(&|outcome| *outcome == Outcome::Degraded),
            n_exceeded,
            n_failed: n(&|outcome| matches!(outcome, Outcome::Failed(_))) - n_exceeded,
            n_after_twice: samples.iter().filter(|sample| sample.took > deadline * 2).count(),
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

/// Processor time that this process has taken so far.
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
    fn latencies_are_read_off_the_sorted_calls() {
        let took = (1..=1_000).rev().map(Duration::from_millis).collect();
        let Latencies { p50, p95, p99, max } = Latencies::of(took);
        let ms = [p50, p95, p99, max].map(|ms| format!("{ms:.0}"));
        assert_eq!(ms, ["501", "951", "991", "1000"]);
        assert!(Latencies::of(Vec::new()).max <= 0.0);
    }

    #[tokio::test]
    async fn a_steady_load_keeps_its_pace_though_it_is_held_up() {
        let begin = Instant::now();
        let mut dues = Vec::new();
        steadily(100.0, begin + Duration::from_millis(95), |at, due| {
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
    async fn who_waits_to_be_sent_waits() {
        let due = Instant::now() - Duration::from_secs(2);
        let sample = Sample { begun: due, ..sample(Outcome::Whole, 2_001) };
        let sighting = sample.sighting();
        assert_eq!(sighting.ended, due.into_std() + Duration::from_millis(2_001));
        assert!(sighting.sent > sighting.ended - Duration::from_secs(1));
    }

    fn sample(outcome: Outcome, ms: u64) -> Sample {
        Sample {
            client: 0,
            call: Call::Get,
            begun: Instant::now(),
            sent: Instant::now(),
            took: Duration::from_millis(ms),
            outcome,
            seen: Seen::default(),
        }
    }

    #[tokio::test]
    async fn stretches_are_told_together_without_what_does_not_count() {
        let start = Instant::now();
        let stretch = |ms: &[u64]| {
            let counted = ms.iter().map(|ms| sample(Outcome::Whole, *ms));
            let early = Sample { begun: start - WARM_UP, ..sample(Outcome::Whole, 999) };
            Stretch {
                samples: counted.chain([early]).collect(),
                start,
                seconds: 0.5,
                n_held_back: 1,
                cpu: Some(Duration::from_micros(300)),
            }
        };
        let stretches = [stretch(&[1, 2, 3]), stretch(&[4, 5])];
        let [first, second] = &stretches;
        let callers = Callers { each: Vec::new(), pace: Pace::PerSecond(5.0), place: "here" };
        let report = LoadReport::of(&callers, &[first, second]);
        assert_eq!((report.all.n, report.n_held_back, report.calls.len()), (5, 2, 1));
        let LoadReport { all, seconds, cpu_us_per_call, .. } = report;
        assert_eq!(format!("{seconds} {}", all.per_second), "1 5");
        assert_eq!(format!("{:.0} {:.0}", all.latency_ms.p50, all.latency_ms.max), "3 5");
        assert_eq!(format!("{:.0}", cpu_us_per_call.unwrap()), "120");
        let untold = Stretch { cpu: None, ..stretch(&[1]) };
        assert_eq!(LoadReport::of(&callers, &[first, &untold]).cpu_us_per_call, None);
    }

    #[test]
    fn what_failed_is_counted_by_status() {
        let samples = [
            sample(Outcome::Whole, 2),
            sample(Outcome::Degraded, 2),
            sample(Outcome::Failed(Code::DeadlineExceeded), 5),
            sample(Outcome::Failed(Code::DeadlineExceeded), 11),
        ];
        let report = CallReport::of(Some(Call::Get), samples.iter(), 2.0);
        assert_eq!((report.n, report.n_degraded), (4, 1));
        assert_eq!(report.errors, [("DeadlineExceeded".to_owned(), 2)].into());
        assert!((report.per_second - 2.0).abs() < 1e-9);
        let all: Vec<&Sample> = samples.iter().collect();
        let deadline = DeadlineReport::of(Duration::from_millis(5), &all);
        let DeadlineReport { ms: _, n_whole, n_degraded, n_exceeded, n_failed, n_after_twice } =
            deadline;
        assert_eq!((n_whole, n_degraded, n_exceeded, n_failed, n_after_twice), (1, 1, 2, 0, 1));
    }
}
