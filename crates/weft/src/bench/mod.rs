//! `weft bench`: what a daemon bears, and how long its answers take meanwhile.

pub(crate) mod call;
pub(crate) mod edits;
pub(crate) mod load;
pub(crate) mod memory;
mod seen;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use weft_daemon::Daemon;
use weft_eval::read_queries;
use weft_proto::noteweft::v1::{ListNotesRequest, SearchMode};

use crate::asker::{Asker, Purpose, config};
use crate::cli::{Global, Mode};
use crate::commands::render;
use crate::failure::Failure;
use crate::hint::Hint;
use crate::print;
use crate::progress::Progress;
use crate::reach::Credentials;
use crate::serve::until_ready;

use call::{Caller, Material, Mix};
use edits::Edits;
pub(crate) use edits::EditsReport;
pub(crate) use load::{CallReport, DeadlineReport, LoadReport, Phase};
use load::{Callers, Load, Pace, Run, Stretch, WARM_UP};
use memory::Memory;
pub(crate) use memory::{Growth, MemoryReport};

/// Notes whose titles are asked for, and that are walked and read, at most.
const NOTES: u32 = 1_000;

/// Stretches of each load at most, where two are compared, which take turns: so both meet the same machine, whatever else it does.
const ROUNDS: u32 = 9;

/// Calls of a turn, at least, at a steady rate; so there are fewer turns where few calls are made.
const CALLS: f64 = 20.0;

/// What does not count of a stretch but the first: the processor knows what the other load needed.
const TURN: Duration = Duration::from_millis(50);

/// The lowest rate of calls a second.
const SLOWEST: f64 = 0.01;

/// What to ask, how often, and for how long.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Questions to ask, one JSON object a line with `id` and `text`; without them the titles of notes.
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,
    /// What is called, and how often compared with the others: search, context, related, tree, get.
    #[arg(long, value_name = "CALL=N,…", default_value = "search=6,context=1,related=1,tree=1,get=1", value_parser = Mix::read)]
    mix: Mix,
    /// How searches look.
    #[arg(long, value_enum, default_value_t)]
    mode: Mode,
    /// Connections, or callers where the process answers itself.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1000))]
    clients: u32,
    /// Send this many calls a second, whether answers come or not; without it each client calls again as soon as it has its answer.
    #[arg(long, value_name = "PER_SECOND", value_parser = rate)]
    rate: Option<f64>,
    /// How long to measure, after a second that does not count.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    seconds: u32,
    /// The deadline of each call.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    deadline_ms: Option<u32>,
    /// With --vault: measure the same also over a socket, in turns, to see what the wire costs.
    #[arg(long, requires = "vault")]
    wire: bool,
    /// Measure twice, the second time with so many edits a second beside the calls, and see whether a reader meets half an edit. It writes some notes into the folder for this, and removes them at the end.
    ///
    /// 32 notes are written beside those of the first vault and removed at the end; they are named `weft-bench-…`.
    /// Without --rate the calls come at half the rate that the daemon bears, which is measured first.
    #[arg(long, value_name = "PER_SECOND", value_parser = rate, conflicts_with = "wire")]
    edits: Option<f64>,
}

/// What was measured.
#[derive(Debug, Serialize)]
pub(crate) struct BenchReport {
    /// Where calls went to, in the order measured: one place, or this process and then its socket.
    pub(crate) loads: Vec<LoadReport>,
    /// What the socket adds, where both were measured.
    pub(crate) wire: Option<WireReport>,
    /// What became of edits, where there were some beside the last load.
    pub(crate) edits: Option<EditsReport>,
    /// The daemon's memory during the last load, where it tells.
    pub(crate) memory: Option<MemoryReport>,
}

/// What a socket adds to the answers of the process, on both of its sides: the median of what it adds in each round.
#[derive(Debug, Serialize)]
pub(crate) struct WireReport {
    /// Milliseconds that the median of all calls is longer.
    pub(crate) p50_ms: f64,
    /// Microseconds of processor time more that a call takes; nothing where the system does not tell.
    pub(crate) cpu_us_per_call: Option<f64>,
}

/// Measures, and gives the table as text.
pub(crate) async fn run(global: &Global, args: BenchArgs) -> Result<String, Failure> {
    let reports = if args.wire { both(global, args).await? } else { one(global, args).await? };
    render(global.format, &reports, print::bench)
}

/// Measures where the flags say.
async fn one(global: &Global, args: BenchArgs) -> Result<BenchReport, Failure> {
    let first = Asker::open(global).await?;
    let mut others = Vec::new();
    let measured = async {
        // Questions to this process need no connections.
        while first.channel().is_some() && others.len() + 1 < args.clients as usize {
            others.push(Asker::open(global).await?);
        }
        let askers: Vec<&Asker> = std::iter::once(&first).chain(&others).collect();
        let bench = Bench { args: &args, askers: &askers, place: place(&first) };
        match args.edits {
            None => bench.alone().await,
            Some(rate) => bench.with_edits(rate).await,
        }
    };
    let measured = measured.await;
    for asker in others {
        asker.close().await;
    }
    first.close().await;
    measured
}

fn place(asker: &Asker) -> &'static str {
    match asker.channel() {
        Some(_) => "over gRPC",
        None => "in process",
    }
}

/// Who is asked, and how.
struct Bench<'a> {
    args: &'a BenchArgs,
    askers: &'a [&'a Asker],
    place: &'static str,
}

impl Bench<'_> {
    /// One load.
    async fn alone(&self) -> Result<BenchReport, Failure> {
        let (material, _) = material(self.args, self.askers[0]).await?;
        let load = Load::new(material, self.args.mix.cycle());
        let memory = Memory::watch(self.askers[0], self.time());
        let (run, memory) = tokio::join!(self.run(&load, self.args.pace()), memory);
        Ok(BenchReport { loads: vec![run.report], wire: None, edits: None, memory })
    }

    /// A load, and then the same beside `rate` edits a second.
    async fn with_edits(&self, rate: f64) -> Result<BenchReport, Failure> {
        let (material, vault) = material(self.args, self.askers[0]).await?;
        let mut edits = Edits::begin(self.askers[0], vault, &material.queries).await?;
        let material = Material { edited: Some(edits.questions()), ..material };
        let load = Load::new(material, self.args.mix.cycle());
        let measured = tokio::select! {
            measured = self.compare(&load, &mut edits, rate) => Ok(measured),
            _ = tokio::signal::ctrl_c() => Err(Failure::interrupted()),
        };
        edits.end().await;
        measured
    }

    async fn compare(&self, load: &Load, edits: &mut Edits, rate: f64) -> BenchReport {
        let mut loads = Vec::new();
        let of_phase = |run: &mut Run, phase| run.report.phase = Some(phase);
        let pace = match self.args.pace() {
            Pace::PerSecond(rate) => Pace::PerSecond(rate),
            Pace::BackToBack => {
                let mut run = self.run(load, Pace::BackToBack).await;
                of_phase(&mut run, Phase::Capacity);
                let half = run.report.all.per_second / 2.0;
                loads.push(run.report);
                Pace::PerSecond(half.max(SLOWEST))
            }
        };
        let mut quiet = self.run(load, pace).await;
        of_phase(&mut quiet, Phase::Quiet);
        let (mut beside, edited, memory) = tokio::join!(
            self.run(load, pace),
            edits.run(rate, self.time(), &load.material),
            Memory::watch(self.askers[0], self.time()),
        );
        of_phase(&mut beside, Phase::Edits);
        let report = edits.report(edited, &quiet, &beside);
        loads.extend([quiet.report, beside.report]);
        BenchReport { loads, wire: None, edits: Some(report), memory }
    }

    /// How long a load takes, with what does not count.
    fn time(&self) -> Duration {
        WARM_UP + Duration::from_secs(self.args.seconds.into())
    }

    async fn run(&self, load: &Load, pace: Pace) -> Run {
        load.run(&self.callers(pace), Duration::from_secs(self.args.seconds.into())).await
    }

    fn callers(&self, pace: Pace) -> Callers {
        let Self { args, askers, place } = self;
        let deadline = args.deadline_ms.map(|ms| Duration::from_millis(ms.into()));
        let each = (0..args.clients as usize)
            .map(|client| Caller::new(askers[client % askers.len()], deadline))
            .collect();
        Callers { each, pace, place }
    }
}

impl BenchArgs {
    fn pace(&self) -> Pace {
        self.rate.map_or(Pace::BackToBack, Pace::PerSecond)
    }
}

/// Measures a daemon in this process without and with a socket.
async fn both(global: &Global, args: BenchArgs) -> Result<BenchReport, Failure> {
    let more = [
        ("server.address", "127.0.0.1:0".to_owned(), "--wire"),
        ("server.socket", "none".to_owned(), "--wire"),
    ];
    let (config, paths) = config(global, &global.vault, &more)?;
    let daemon = Daemon::bind(config, paths).await?;
    let address = daemon.address().to_string();
    let here = Asker::beside(&daemon, Hint::daemon(None));
    let mut serving = daemon.serving();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(daemon.run(async {
        // A sender that is gone means the end as well.
        drop(stopped.await);
    }));
    tokio::pin!(running);
    let measured = async {
        // A daemon that ends before it serves is noticed below.
        let _ = serving.wait_for(|serving| *serving).await;
        let mut progress = Progress::new();
        until_ready(&here, &mut progress).await?;
        progress.end();
        let (material, _) = material(&args, &here).await?;
        let load = Load::new(material, args.mix.cycle());
        let credentials = Credentials::read(global)?;
        let mut over = Vec::new();
        for _ in 0..args.clients {
            let purpose = Purpose::Question { wait: true };
            over.push(Asker::connect(&address, &credentials, purpose, Hint::daemon(None)).await?);
        }
        let over: Vec<&Asker> = over.iter().collect();
        let ways = [&[&here][..], &over].map(|askers| {
            Bench { args: &args, askers, place: place(askers[0]) }.callers(args.pace())
        });
        let (loads, wire) = in_turn(&load, &ways, Duration::from_secs(args.seconds.into())).await;
        let (loads, wire) = (loads.into(), Some(wire));
        Ok(BenchReport { loads, wire, edits: None, memory: None })
    };
    let outcome = tokio::select! {
        ended = &mut running => return Err(ended.map_or_else(
            |_| Failure::other("the daemon came to a sudden end"),
            |ended| ended.map_or_else(Failure::from, |()| Failure::other("the daemon ended")),
        )),
        measured = measured => measured,
    };
    let _ = stop.send(());
    drop(running.await);
    outcome
}

/// Puts the load on each of two places for `time`, in turns; what each gave, and what the second adds.
async fn in_turn(
    load: &Load,
    ways: &[Callers; 2],
    time: Duration,
) -> ([LoadReport; 2], WireReport) {
    let [inside, outside] = ways;
    let n_rounds = n_rounds(inside.pace, time);
    let (mut before, mut rounds) = (WARM_UP, Vec::new());
    // Both begin a round with the same call, and the next where the quicker one ended.
    let mut call = 0;
    for _ in 0..n_rounds {
        let first = load.put(inside, call, before, time / n_rounds).await;
        let second = load.put(outside, call, before, time / n_rounds).await;
        call += first.n_calls().max(second.n_calls());
        rounds.push([first, second]);
        before = TURN;
    }
    let each = rounds.iter().map(|[first, second]| {
        [LoadReport::of(inside, &[first]), LoadReport::of(outside, &[second])]
    });
    // At a low rate some may have seen no call.
    let each = each.filter(|loads| loads.iter().all(|load| load.all.n > 0));
    let wire = WireReport::among(&each.collect::<Vec<_>>());
    let (first, second): (Vec<&Stretch>, Vec<&Stretch>) =
        rounds.iter().map(|[first, second]| (first, second)).unzip();
    ([LoadReport::of(inside, &first), LoadReport::of(outside, &second)], wire)
}

/// How many turns each of two loads takes in `time`.
fn n_rounds(pace: Pace, time: Duration) -> u32 {
    match pace {
        Pace::BackToBack => ROUNDS,
        Pace::PerSecond(rate) => {
            let n_calls = rate * time.as_secs_f64();
            (1..=ROUNDS).rev().find(|n| n_calls >= CALLS * f64::from(*n)).unwrap_or(1)
        }
    }
}

impl WireReport {
    /// What the second of two loads adds to the first in the median round.
    fn among(rounds: &[[LoadReport; 2]]) -> Self {
        let p50 = |load: &LoadReport| load.all.latency_ms.p50;
        let cpu = rounds.iter().map(|[inside, outside]| {
            outside.cpu_us_per_call.zip(inside.cpu_us_per_call).map(|(out, within)| out - within)
        });
        Self {
            p50_ms: median(rounds.iter().map(|[inside, outside]| p50(outside) - p50(inside))),
            cpu_us_per_call: cpu.collect::<Option<Vec<f64>>>().map(|cpu| median(cpu.into_iter())),
        }
    }
}

/// The middle one of some numbers; the greater of two, and 0 of none.
fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or_default()
}

/// What is asked, from the file or from the notes themselves, and the name of their first vault.
async fn material(args: &BenchArgs, asker: &Asker) -> Result<(Material, String), Failure> {
    let request = ListNotesRequest { page_size: Some(NOTES), ..ListNotesRequest::default() };
    let notes = asker.notes().list_notes(request).await?.into_inner().notes;
    let Some(first) = notes.first() else {
        return Err(Failure::other("there are no notes to ask about"));
    };
    let vault = first.vault.clone();
    let queries = match &args.queries {
        None => notes.iter().map(|note| note.title.clone()).collect(),
        Some(path) => texts(path)?,
    };
    let material = Material {
        queries,
        notes: notes.into_iter().map(|note| note.uri).collect(),
        mode: SearchMode::from(args.mode),
        edited: None,
    };
    Ok((material, vault))
}

fn texts(path: &Path) -> Result<Vec<String>, Failure> {
    let wrong = |reason: String| Failure::usage(format!("{}: {reason}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let queries = read_queries(&text).map_err(|error| wrong(error.to_string()))?;
    if queries.is_empty() {
        return Err(wrong("it holds no question".to_owned()));
    }
    Ok(queries.into_iter().map(|query| query.text).collect())
}

fn rate(text: &str) -> Result<f64, String> {
    let rate: f64 = text.parse().map_err(|_| format!("`{text}` is no number"))?;
    if !(SLOWEST..=1e6).contains(&rate) {
        return Err("it is 0.01 to 1,000,000 calls a second".to_owned());
    }
    Ok(rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_calls_make_few_turns() {
        let at = |rate| n_rounds(Pace::PerSecond(rate), Duration::from_secs(10));
        assert_eq!([0.01, 2.0, 7.0, 18.0, 1e6].map(at), [1, 1, 3, 9, 9]);
        assert_eq!(n_rounds(Pace::BackToBack, Duration::from_secs(1)), 9);
    }

    #[test]
    fn a_round_that_something_disturbed_does_not_count() {
        assert!((median([0.1, 9.0, 0.2].into_iter()) - 0.2).abs() < 1e-9);
        assert!(median(std::iter::empty()).abs() < 1e-9);
    }
}
