//! A search asked of the engine, of the service in the process, and over a connection.
//!
//! By words alone: a model would take a hundred times as long as the wire, and as much in both.
//! `weft bench --vault … --wire` measures the same on notes of one's own.
#![expect(clippy::print_stdout, reason = "criterion measures no processor time")]

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput};
use tokio::runtime::Runtime;
use tonic::body::Body;
use tonic::client::GrpcService;
use tonic::codegen::StdError;
use tonic::transport::Channel;
use weft_benches::clock::{Percentiles, ROUNDS, median, process_cpu};
use weft_benches::vault::file;
use weft_benches::{SIZES, is_measured, sizes, word};
use weft_engine::{self as engine, Engine, EngineSettings};
use weft_indexer::{IndexSettings, Indexer, VaultSettings, WatchOptions};
use weft_proto::noteweft::v1::search_service_client::SearchServiceClient;
use weft_proto::noteweft::v1::{SearchMode, SearchRequest, SearchResponse};
use weft_testkit::Random;
use weft_tests::{Running, served};

/// Notes of the vault where nothing is measured.
const FEW: usize = 50;

/// Clients that ask at the same time.
const CLIENTS: usize = 8;

/// Different questions.
const QUESTIONS: usize = 100;

/// Calls in a round: one after the other, and then of all clients together.
const CALLS: usize = 250;

/// What carries questions: a channel, or the services themselves.
trait Transport:
    GrpcService<Body, ResponseBody = Body, Future: Send, Error: Into<StdError>> + Clone + Send + 'static
{
}

impl<T> Transport for T where
    T: GrpcService<Body, ResponseBody = Body, Future: Send, Error: Into<StdError>>
        + Clone
        + Send
        + 'static
{
}

pub(crate) fn bench(criterion: &mut Criterion) {
    if is_measured() {
        sizes(&SIZES).into_iter().for_each(|n_notes| wire(criterion, n_notes));
    } else {
        wire(criterion, FEW);
    }
}

fn wire(criterion: &mut Criterion, n_notes: usize) {
    let (vault, store) = (tempfile::tempdir(), tempfile::tempdir());
    let (vault, store) = (vault.expect("there is room"), store.expect("there is room"));
    let mut random = Random::new(41);
    for at in 0..n_notes {
        let (path, text) = file(&mut random, at, n_notes);
        let path = vault.path().join(path.as_str());
        fs::create_dir_all(path.parent().expect("it lies in the vault")).expect("there is room");
        fs::write(path, text).expect("there is room");
    }
    let runtime = Runtime::new().expect("there are threads");
    let settings = [("embedding.model", "none")];
    let daemon = runtime.block_on(Running::start(vault.path(), &settings)).expect("a free port");
    // Each client has a connection of its own.
    let tcp: Vec<Channel> =
        (0..CLIENTS).map(|_| runtime.block_on(daemon.channel()).expect("it listens")).collect();
    runtime.block_on(served(&tcp[0])).expect("it serves");
    let socket: Vec<Channel> = (0..CLIENTS)
        .map(|_| runtime.block_on(daemon.socket_channel()).expect("it listens"))
        .collect();
    let here: Vec<_> = (0..CLIENTS).map(|_| daemon.services().routes()).collect();
    let indexer = open(vault.path(), store.path());
    let engine = Engine::new(indexer.reader(), EngineSettings::default());
    for at in 0..QUESTIONS {
        let answer = runtime.block_on(ask(here[0].clone(), at));
        assert_eq!(answer.hits.len(), 10);
        assert_eq!(answer, runtime.block_on(ask(tcp[0].clone(), at)), "the same over TCP");
        assert_eq!(answer, runtime.block_on(ask(socket[0].clone(), at)), "and a Unix socket");
        let own = engine.search(&question(at)).expect("memory can be read");
        let uris = |uris: &mut dyn Iterator<Item = String>| uris.collect::<Vec<_>>();
        let said = uris(&mut answer.hits.iter().map(|hit| hit.uri.clone()));
        assert_eq!(said, uris(&mut own.hits.iter().map(|hit| hit.uri.to_string())), "the engine");
    }

    let mut group = criterion.benchmark_group("grpc");
    group.throughput(Throughput::Elements(1));
    group.bench_function(BenchmarkId::new("engine", n_notes), |bencher| {
        let mut at = 0;
        bencher.iter(|| {
            at += 1;
            engine.search(&question(at)).expect("memory can be read")
        });
    });
    measure(&mut group, &runtime, "in_process", n_notes, &here[0]);
    measure(&mut group, &runtime, "tcp", n_notes, &tcp[0]);
    measure(&mut group, &runtime, "unix_socket", n_notes, &socket[0]);
    group.finish();
    if is_measured() {
        told(&runtime, n_notes, &engine, (&here, &tcp, &socket));
    }
    indexer.stop();
    runtime.block_on(daemon.stop()).expect("it ends");
}

/// The index of an engine that no service stands before.
fn open(vault: &Path, store: &Path) -> Indexer {
    let settings = IndexSettings {
        store: store.to_owned(),
        vaults: vec![VaultSettings { name: "vault".into(), root: vault.to_owned() }],
        watch: WatchOptions { enabled: false, ..WatchOptions::default() },
        ..IndexSettings::default()
    };
    let indexer = Indexer::open(settings, None, None).expect("the store is new");
    indexer.flush().expect("there is room");
    indexer
}

/// The words of the `at`-th question: a frequent one and a rarer one.
fn words(at: usize) -> String {
    let at = at % QUESTIONS;
    format!("{} {}", word(10 + at), word(200 + 10 * at))
}

/// The `at`-th question, to the engine.
fn question(at: usize) -> engine::SearchRequest {
    engine::SearchRequest {
        query: words(at),
        mode: engine::SearchMode::Keyword,
        limit: 10,
        ..engine::SearchRequest::default()
    }
}

/// The answer to the `at`-th question.
async fn ask(transport: impl Transport, at: usize) -> SearchResponse {
    let request = SearchRequest {
        query: words(at),
        mode: SearchMode::Keyword.into(),
        ..SearchRequest::default()
    };
    let answer = SearchServiceClient::new(transport).search(request).await;
    answer.expect("it serves").into_inner()
}

fn measure(
    group: &mut BenchmarkGroup<'_, WallTime>,
    runtime: &Runtime,
    name: &str,
    n_notes: usize,
    transport: &impl Transport,
) {
    // Asked by a task of the runtime, as services ask: from outside, each answer would wake one thread more.
    group.bench_function(BenchmarkId::new(name, n_notes), |bencher| {
        bencher.iter_custom(|n| {
            let n_calls = usize::try_from(n).expect("they fit");
            let asked = runtime.spawn(asked(transport.clone(), n_calls));
            runtime.block_on(asked).expect("no call fails").iter().sum()
        });
    });
}

/// What calls took in one round.
struct Round {
    /// Each of those asked one after the other.
    times: Vec<Duration>,
    /// Processor time of a call where all clients ask.
    processor: Duration,
}

impl Round {
    async fn of(clients: &[impl Transport]) -> Self {
        let one = clients[0].clone();
        let times = tokio::spawn(asked(one, CALLS)).await.expect("no call fails");
        let before = process_cpu();
        let together: Vec<_> = clients
            .iter()
            .map(|client| tokio::spawn(asked(client.clone(), CALLS / CLIENTS)))
            .collect();
        for client in together {
            client.await.expect("no call fails");
        }
        let n_calls = u32::try_from(clients.len() * (CALLS / CLIENTS)).expect("literals");
        Self { times, processor: (process_cpu() - before) / n_calls }
    }

    /// Of the engine alone, asked by this thread.
    fn of_engine(engine: &Engine) -> Self {
        let before = process_cpu();
        let times: Vec<Duration> = (0..CALLS)
            .map(|at| {
                let start = Instant::now();
                black_box(engine.search(&question(at)).expect("memory can be read"));
                start.elapsed()
            })
            .collect();
        let n_calls = u32::try_from(CALLS).expect("a literal");
        Self { times, processor: (process_cpu() - before) / n_calls }
    }

    fn p50(&self) -> Duration {
        Percentiles::among(self.times.clone()).p50
    }
}

/// Says what each way takes, and what it adds to the engine and to the service in the process: the medians of what it adds in each of some rounds, in which all take turns.
fn told(
    runtime: &Runtime,
    n_notes: usize,
    engine: &Engine,
    (here, tcp, socket): (&[impl Transport], &[impl Transport], &[impl Transport]),
) {
    let mut ways = ["engine", "in_process", "tcp", "unix_socket"].map(|name| (name, Vec::new()));
    for _ in 0..ROUNDS {
        ways[0].1.push(Round::of_engine(engine));
        ways[1].1.push(runtime.block_on(Round::of(here)));
        ways[2].1.push(runtime.block_on(Round::of(tcp)));
        ways[3].1.push(runtime.block_on(Round::of(socket)));
    }
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    for (name, rounds) in &ways {
        let times = rounds.iter().flat_map(|round| round.times.iter().copied());
        let Percentiles { p50, p99 } = Percentiles::among(times.collect());
        let more = |other: usize, of: fn(&Round) -> Duration| {
            let in_turn = rounds.iter().zip(&ways[other].1);
            median(in_turn.map(|(own, other)| micros(of(own)) - micros(of(other))))
        };
        println!(
            "grpc/{name}/{n_notes}: p50 {p50:.1?}, p99 {p99:.1?}, {:.0} µs more than the engine, {:.0} than in the process; {CLIENTS} clients: {:.0} µs of processor time a call, {:.0} more than in the process",
            more(0, Round::p50),
            more(1, Round::p50),
            median(rounds.iter().map(|round| micros(round.processor))),
            more(1, |round| round.processor),
        );
    }
}

/// Asks so often, each time as soon as the answer is there; what each took.
async fn asked(transport: impl Transport, n_calls: usize) -> Vec<Duration> {
    let mut times = Vec::with_capacity(n_calls);
    for at in 0..n_calls {
        let start = Instant::now();
        black_box(ask(transport.clone(), at).await);
        times.push(start.elapsed());
    }
    times
}
