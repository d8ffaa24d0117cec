//! `weft bench`: what a daemon bears, and how long its answers take meanwhile.

pub(crate) mod call;
pub(crate) mod load;

use std::path::{Path, PathBuf};
use std::sync::Arc;
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
pub(crate) use load::{CallReport, LoadReport};
use load::{Load, Pace};

/// Notes whose titles are asked for, and that are walked and read, at most.
const NOTES: u32 = 1_000;

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
    /// With --vault: measure the same also over a socket, to see what the wire costs.
    #[arg(long, requires = "vault")]
    wire: bool,
}

/// What was measured.
#[derive(Debug, Serialize)]
pub(crate) struct BenchReport {
    /// Where calls went to, in the order measured: one place, or this process and then its socket.
    pub(crate) loads: Vec<LoadReport>,
    /// What the socket adds, where both were measured.
    pub(crate) wire: Option<WireReport>,
}

/// What a socket adds to the answers of the process, on both of its sides.
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
        let place = match first.channel() {
            Some(_) => "over gRPC",
            None => "in process",
        };
        let load = load(&args, &first).await?;
        Ok(vec![measure(&args, &load, &askers, place).await])
    };
    let measured = measured.await;
    for asker in others {
        asker.close().await;
    }
    first.close().await;
    measured.map(|loads| BenchReport { loads, wire: None })
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
        let load = load(&args, &here).await?;
        let credentials = Credentials::read(global)?;
        let mut over = Vec::new();
        for _ in 0..args.clients {
            let purpose = Purpose::Question { wait: true };
            over.push(Asker::connect(&address, &credentials, purpose, Hint::daemon(None)).await?);
        }
        let over: Vec<&Asker> = over.iter().collect();
        let inside = measure(&args, &load, &[&here], "in process").await;
        let outside = measure(&args, &load, &over, "over gRPC").await;
        Ok(BenchReport {
            wire: Some(WireReport::between(&inside, &outside)),
            loads: vec![inside, outside],
        })
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

impl WireReport {
    fn between(inside: &LoadReport, outside: &LoadReport) -> Self {
        let cpu = outside.cpu_us_per_call.zip(inside.cpu_us_per_call);
        Self {
            p50_ms: outside.all.latency_ms.p50 - inside.all.latency_ms.p50,
            cpu_us_per_call: cpu.map(|(outside, inside)| outside - inside),
        }
    }
}

/// What is asked, from the file or from the notes themselves.
async fn load(args: &BenchArgs, asker: &Asker) -> Result<Load, Failure> {
    let request = ListNotesRequest { page_size: Some(NOTES), ..ListNotesRequest::default() };
    let notes = asker.notes().list_notes(request).await?.into_inner().notes;
    if notes.is_empty() {
        return Err(Failure::other("there are no notes to ask about"));
    }
    let queries = match &args.queries {
        None => notes.iter().map(|note| note.title.clone()).collect(),
        Some(path) => texts(path)?,
    };
    let material = Material {
        queries,
        notes: notes.into_iter().map(|note| note.uri).collect(),
        mode: SearchMode::from(args.mode),
    };
    Ok(Load { material: Arc::new(material), calls: args.mix.cycle() })
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

async fn measure(args: &BenchArgs, load: &Load, askers: &[&Asker], place: &str) -> LoadReport {
    let deadline = args.deadline_ms.map(|ms| Duration::from_millis(ms.into()));
    let callers: Vec<Caller> = (0..args.clients as usize)
        .map(|client| Caller::new(askers[client % askers.len()], deadline))
        .collect();
    let pace = args.rate.map_or(Pace::BackToBack, Pace::PerSecond);
    load.run(callers, pace, Duration::from_secs(args.seconds.into()), place).await
}

fn rate(text: &str) -> Result<f64, String> {
    let rate: f64 = text.parse().map_err(|_| format!("`{text}` is no number"))?;
    if !(0.01..=1e6).contains(&rate) {
        return Err("it is 0.01 to 1,000,000 calls a second".to_owned());
    }
    Ok(rate)
}
