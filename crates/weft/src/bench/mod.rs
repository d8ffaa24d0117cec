//! `weft bench`: measures the load a daemon sustains, and its latency.

pub(crate) mod call;
mod consistency;
pub(crate) mod edits;
pub(crate) mod load;
pub(crate) mod memory;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use weft_daemon::Daemon;
use weft_eval::read_queries;
use weft_proto::noteweft::v1::{ListNotesRequest, SearchMode};

use crate::cli::{Global, SearchModeArg};
use crate::client::{Client, Purpose, config};
use crate::commands::render;
use crate::connection::ClientCredentials;
use crate::failure::Failure;
use crate::hint::Hint;
use crate::print;
use crate::progress::Progress;
use crate::serve::until_ready;

use call::{CallInputs, CallMix, Caller};
use edits::EditSession;
pub(crate) use edits::{EditsReport, LinksReport};
pub(crate) use load::{CallReport, DeadlineReport, LoadPhase, LoadReport};
use load::{Callers, Load, LoadRun, Measurement, Pace, WARM_UP};
use memory::sample_memory;
pub(crate) use memory::{MemoryReport, MemoryTrend};

/// Maximum number of notes whose titles are used as queries, and that are walked and read.
const NOTES: u32 = 1_000;

/// Maximum number of rounds when two loads are compared; they alternate, so that both see the same state of the machine.
const ROUNDS: u32 = 9;

/// Minimum number of calls per round at a fixed rate; fewer calls mean fewer rounds.
const CALLS: f64 = 20.0;

/// Warm-up of each round after the first, which is not counted: the caches still hold the data of the other load.
const TURN: Duration = Duration::from_millis(50);

/// Minimum rate, in calls per second.
const SLOWEST: f64 = 0.01;

/// Load to generate.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Queries, one JSON object per line with `id` and `text` [default: titles of notes].
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,
    /// Calls to make, with their relative frequencies: search, facets, context, related, tree, get, locate, duplicates, suggest-links, stale, broken. Reranking and the relations of `related` are those of the settings.
    #[arg(long, value_name = "CALL=N,…", default_value = "search=6,context=1,related=1,tree=1,get=1", value_parser = CallMix::parse)]
    mix: CallMix,
    /// Retrievers of searches.
    #[arg(long, value_enum, default_value_t)]
    mode: SearchModeArg,
    /// Number of connections, or of concurrent callers with --vault.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1000))]
    clients: u32,
    /// Send this many calls per second, whether or not answers arrive; without it, each client waits for its answer before it sends the next call.
    #[arg(long, value_name = "PER_SECOND", value_parser = rate)]
    rate: Option<f64>,
    /// Seconds to measure, after one second of warm-up.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    seconds: u32,
    /// Deadline of each call.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    deadline_ms: Option<u32>,
    /// With --vault: also measure over a socket, alternating, to show the cost of the wire.
    #[arg(long, requires = "vault")]
    wire: bool,
    /// Measure a second time with this many edits per second, and check that no reader sees half an edit. Writes 32 notes into the vault and removes them at the end.
    ///
    /// The notes are written to the first vault and are named `weft-bench-…`.
    /// Without --rate, calls are sent at half the maximum rate, which is measured first.
    #[arg(long, value_name = "PER_SECOND", value_parser = rate, conflicts_with = "wire")]
    edits: Option<f64>,
    /// After each edit, turn a mention in the note into a link, as suggest-links --write does, and measure that as well.
    #[arg(long, requires = "edits")]
    link: bool,
}

/// Result of a benchmark.
#[derive(Debug, Serialize)]
pub(crate) struct BenchReport {
    /// Results in the order measured: one place, or this process and then its socket.
    pub(crate) loads: Vec<LoadReport>,
    /// Cost of the socket, if both were measured.
    pub(crate) wire: Option<WireReport>,
    /// Result of the edits, if there were any.
    pub(crate) edits: Option<EditsReport>,
    /// Memory of the daemon during the last load, if it reports it.
    pub(crate) memory: Option<MemoryReport>,
}

/// Cost of the socket on both sides: the median over all rounds of the difference within a round.
#[derive(Debug, Serialize)]
pub(crate) struct WireReport {
    /// Difference of the median latencies, in milliseconds.
    pub(crate) p50_ms: f64,
    /// Difference in processor time per call, in microseconds; `None` if the system does not report it.
    pub(crate) cpu_us_per_call: Option<f64>,
}

/// Runs the benchmark and renders the table.
pub(crate) async fn run(global: &Global, args: BenchArgs) -> Result<String, Failure> {
    let reports = if args.wire { both(global, args).await? } else { one(global, args).await? };
    render(global.format, &reports, print::bench)
}

/// Runs the benchmark.
async fn one(global: &Global, args: BenchArgs) -> Result<BenchReport, Failure> {
    let first = Client::open(global).await?;
    let mut others = Vec::new();
    let measured = async {
        // Requests within the process need no connections.
        while first.channel().is_some() && others.len() + 1 < args.clients as usize {
            others.push(Client::open(global).await?);
        }
        let clients: Vec<&Client> = std::iter::once(&first).chain(&others).collect();
        let bench = Bench { args: &args, clients: &clients, place: place(&first) };
        match args.edits {
            None => bench.alone().await,
            Some(rate) => bench.with_edits(rate).await,
        }
    };
    let measured = measured.await;
    for client in others {
        client.close().await;
    }
    first.close().await;
    measured
}

fn place(client: &Client) -> &'static str {
    match client.channel() {
        Some(_) => "over gRPC",
        None => "in process",
    }
}

/// A target and its load.
struct Bench<'a> {
    args: &'a BenchArgs,
    clients: &'a [&'a Client],
    place: &'static str,
}

impl Bench<'_> {
    /// Runs one load.
    async fn alone(&self) -> Result<BenchReport, Failure> {
        let (inputs, _) = inputs(self.args, self.clients[0]).await?;
        let load = Load::new(inputs, self.args.mix.cycle());
        let memory = sample_memory(self.clients[0], self.time());
        let (run, memory) = tokio::join!(self.run(&load, self.args.pace()), memory);
        Ok(BenchReport { loads: vec![run.report], wire: None, edits: None, memory })
    }

    /// Runs one load, and then the same load with `rate` edits per second.
    async fn with_edits(&self, rate: f64) -> Result<BenchReport, Failure> {
        let (inputs, vault) = inputs(self.args, self.clients[0]).await?;
        let place = (vault, self.args.link);
        let mut edits = EditSession::begin(self.clients[0], place, &inputs.queries).await?;
        let inputs = CallInputs { edited: Some(edits.edited_notes()), ..inputs };
        let load = Load::new(inputs, self.args.mix.cycle());
        let measured = tokio::select! {
            measured = self.compare(&load, &mut edits, rate) => Ok(measured),
            _ = tokio::signal::ctrl_c() => Err(Failure::interrupted()),
        };
        edits.end().await;
        measured
    }

    async fn compare(&self, load: &Load, edits: &mut EditSession, rate: f64) -> BenchReport {
        let mut loads = Vec::new();
        let of_phase = |run: &mut LoadRun, phase| run.report.phase = Some(phase);
        let pace = match self.args.pace() {
            Pace::PerSecond(rate) => Pace::PerSecond(rate),
            Pace::BackToBack => {
                let mut run = self.run(load, Pace::BackToBack).await;
                of_phase(&mut run, LoadPhase::Capacity);
                let half = run.report.all.per_second / 2.0;
                loads.push(run.report);
                Pace::PerSecond(half.max(SLOWEST))
            }
        };
        let mut quiet = self.run(load, pace).await;
        of_phase(&mut quiet, LoadPhase::Quiet);
        let (mut beside, edited, memory) = tokio::join!(
            self.run(load, pace),
            edits.run(rate, self.time(), &load.inputs),
            sample_memory(self.clients[0], self.time()),
        );
        of_phase(&mut beside, LoadPhase::Edits);
        let report = edits.report(edited, &quiet, &beside);
        loads.extend([quiet.report, beside.report]);
        BenchReport { loads, wire: None, edits: Some(report), memory }
    }

    /// Returns the duration of a load, warm-up included.
    fn time(&self) -> Duration {
        WARM_UP + Duration::from_secs(self.args.seconds.into())
    }

    async fn run(&self, load: &Load, pace: Pace) -> LoadRun {
        load.run(&self.callers(pace), Duration::from_secs(self.args.seconds.into())).await
    }

    fn callers(&self, pace: Pace) -> Callers {
        let Self { args, clients, place } = self;
        let deadline = args.deadline_ms.map(|ms| Duration::from_millis(ms.into()));
        let each = (0..args.clients as usize)
            .map(|client| Caller::new(clients[client % clients.len()], deadline))
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
    let daemon = Daemon::bind(config, paths)?;
    let address = daemon.address().to_string();
    let here = Client::in_daemon(&daemon, Hint::daemon(None));
    let mut serving = daemon.serving();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(daemon.run(async {
        // A dropped sender ends it as well.
        drop(stopped.await);
    }));
    tokio::pin!(running);
    let measured = async {
        // A daemon that ends before it serves is detected below.
        let _ = serving.wait_for(|serving| *serving).await;
        let mut progress = Progress::new();
        until_ready(&here, &mut progress).await?;
        progress.end();
        let (inputs, _) = inputs(&args, &here).await?;
        let load = Load::new(inputs, args.mix.cycle());
        let credentials = ClientCredentials::read(global)?;
        let mut over = Vec::new();
        for _ in 0..args.clients {
            let purpose = Purpose::OneShot { wait: true };
            over.push(Client::connect(&address, &credentials, purpose, Hint::daemon(None)).await?);
        }
        let over: Vec<&Client> = over.iter().collect();
        let ways = [&[&here][..], &over].map(|clients| {
            Bench { args: &args, clients, place: place(clients[0]) }.callers(args.pace())
        });
        let (loads, wire) = in_turn(&load, &ways, Duration::from_secs(args.seconds.into())).await;
        let (loads, wire) = (loads.into(), Some(wire));
        Ok(BenchReport { loads, wire, edits: None, memory: None })
    };
    let outcome = tokio::select! {
        ended = &mut running => return Err(ended.map_or_else(
            |_| Failure::other("the daemon ended unexpectedly"),
            |ended| ended.map_or_else(Failure::from, |()| Failure::other("the daemon ended")),
        )),
        measured = measured => measured,
    };
    let _ = stop.send(());
    drop(running.await);
    outcome
}

/// Runs the load on both targets in turns of `time`; returns both reports and the cost of the second.
async fn in_turn(
    load: &Load,
    ways: &[Callers; 2],
    time: Duration,
) -> ([LoadReport; 2], WireReport) {
    let [inside, outside] = ways;
    let n_rounds = n_rounds(inside.pace, time);
    let (mut before, mut rounds) = (WARM_UP, Vec::new());
    // Both start a round with the same call, and the next round where the faster one ended.
    let mut call = 0;
    for _ in 0..n_rounds {
        let first = load.measure(inside, call, before, time / n_rounds).await;
        let second = load.measure(outside, call, before, time / n_rounds).await;
        call += first.n_calls().max(second.n_calls());
        rounds.push([first, second]);
        before = TURN;
    }
    let each = rounds.iter().map(|[first, second]| {
        [LoadReport::of(inside, &[first]), LoadReport::of(outside, &[second])]
    });
    // At a low rate, some rounds may contain no call.
    let each = each.filter(|loads| loads.iter().all(|load| load.all.n > 0));
    let wire = WireReport::among(&each.collect::<Vec<_>>());
    let (first, second): (Vec<&Measurement>, Vec<&Measurement>) =
        rounds.iter().map(|[first, second]| (first, second)).unzip();
    ([LoadReport::of(inside, &first), LoadReport::of(outside, &second)], wire)
}

/// Returns the number of rounds of two loads that fit into `time`.
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
    /// Computes what the second of two loads adds to the first in the median round.
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

/// Returns the median; the greater of two numbers, and 0 for none.
fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or_default()
}

/// Returns the queries, from the file or from the notes, and the name of their first vault.
async fn inputs(args: &BenchArgs, client: &Client) -> Result<(CallInputs, String), Failure> {
    let request = ListNotesRequest { page_size: Some(NOTES), ..ListNotesRequest::default() };
    let notes = client.notes().list_notes(request).await?.into_inner().notes;
    let Some(first) = notes.first() else {
        return Err(Failure::other("there are no notes to use as queries"));
    };
    let vault = first.vault.clone();
    let queries = match &args.queries {
        None => notes.iter().map(|note| note.title.clone()).collect(),
        Some(path) => texts(path)?,
    };
    let inputs = CallInputs {
        queries,
        notes: notes.into_iter().map(|note| note.uri).collect(),
        mode: SearchMode::from(args.mode),
        edited: None,
    };
    Ok((inputs, vault))
}

fn texts(path: &Path) -> Result<Vec<String>, Failure> {
    let wrong = |reason: String| Failure::usage(format!("{}: {reason}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let queries = read_queries(&text).map_err(|error| wrong(error.to_string()))?;
    if queries.is_empty() {
        return Err(wrong("it contains no query".to_owned()));
    }
    Ok(queries.into_iter().map(|query| query.text).collect())
}

fn rate(text: &str) -> Result<f64, String> {
    let rate: f64 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    if !(SLOWEST..=1e6).contains(&rate) {
        return Err("must be 0.01 to 1,000,000 calls per second".to_owned());
    }
    Ok(rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_calls_make_few_rounds() {
        let at = |rate| n_rounds(Pace::PerSecond(rate), Duration::from_secs(10));
        assert_eq!([0.01, 2.0, 7.0, 18.0, 1e6].map(at), [1, 1, 3, 9, 9]);
        assert_eq!(n_rounds(Pace::BackToBack, Duration::from_secs(1)), 9);
    }

    #[test]
    fn disturbed_round_does_not_count() {
        assert!((median([0.1, 9.0, 0.2].into_iter()) - 0.2).abs() < 1e-9);
        assert!(median(std::iter::empty()).abs() < 1e-9);
    }
}
