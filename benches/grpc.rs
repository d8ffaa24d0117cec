//! A search asked of the engine, of the service in the process, and over a connection.
//!
//! By words alone: a model would take a hundred times as long as the wire, and as much in both.
//! Before each call whose time counts, one that does nothing is made over a connection of its own: after any call over a socket the same search takes longer on the same thread, up to half as long again, whatever it is asked over, since the processor has forgotten it meanwhile.
//! What the engine takes without that is told beside, and processor time is of calls without it.
//! `weft bench --vault … --wire` compares the two on notes of one's own, without such calls.
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
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
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

    let engines = vec![engine; CLIENTS];
    let quiet = runtime.block_on(daemon.channel()).expect("it listens");
    assert_eq!(runtime.block_on(nothing(quiet.clone(), 0)), ServingStatus::Serving);
    let wire = Wire { runtime: &runtime, quiet: Some(quiet), n_notes };
    let warm = Wire { quiet: None, ..wire.clone() };
    let mut group = criterion.benchmark_group("grpc");
    group.throughput(Throughput::Elements(1));
    warm.measure(&mut group, "engine_alone", &engines[0], search);
    wire.measure(&mut group, "engine", &engines[0], search);
    wire.measure(&mut group, "in_process", &here[0], ask);
    wire.measure(&mut group, "tcp", &tcp[0], ask);
    wire.measure(&mut group, "unix_socket", &socket[0], ask);
    wire.measure(&mut group, "nothing_tcp", &tcp[0], nothing);
    wire.measure(&mut group, "nothing_unix_socket", &socket[0], nothing);
    group.finish();
    if is_measured() {
        let mut ways: [Vec<Round>; WAYS.len()] = Default::default();
        for _ in 0..ROUNDS {
            let [alone, of_engine, of_process, of_tcp, of_socket, tcp_alone, socket_alone] =
                &mut ways;
            alone.push(warm.round(&engines, search));
            of_engine.push(wire.round(&engines, search));
            of_process.push(wire.round(&here, ask));
            of_tcp.push(wire.round(&tcp, ask));
            of_socket.push(wire.round(&socket, ask));
            tcp_alone.push(wire.round(&tcp, nothing));
            socket_alone.push(wire.round(&socket, nothing));
        }
        told(n_notes, &ways);
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

/// What the engine answers to the `at`-th question.
async fn search(engine: Engine, at: usize) -> engine::SearchAnswer {
    engine.search(&question(at)).expect("memory can be read")
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

/// A call for which nothing is done: what the daemon knows of itself.
async fn nothing(channel: Channel, _at: usize) -> ServingStatus {
    let answer = HealthClient::new(channel).check(HealthCheckRequest::default()).await;
    answer.expect("it listens").into_inner().status()
}

/// Asks so often, each time as soon as the answer is there and after a call over `quiet` that does nothing; what each took.
async fn asked<C: Clone, A: Future>(
    client: C,
    n_calls: usize,
    quiet: Option<Channel>,
    call: impl Fn(C, usize) -> A,
) -> Vec<Duration> {
    let mut times = Vec::with_capacity(n_calls);
    for at in 0..n_calls {
        if let Some(quiet) = &quiet {
            black_box(nothing(quiet.clone(), at).await);
        }
        let start = Instant::now();
        black_box(call(client.clone(), at).await);
        times.push(start.elapsed());
    }
    times
}

/// What calls took in one round.
struct Round {
    /// The median of those asked one after the other.
    p50: Duration,
    /// The slowest hundredth of them.
    p99: Duration,
    /// Processor time of a call where all clients ask, with nothing asked in between.
    processor: Duration,
}

/// How each way is asked.
#[derive(Clone)]
struct Wire<'r> {
    runtime: &'r Runtime,
    /// What is asked for nothing before each call whose time counts.
    quiet: Option<Channel>,
    n_notes: usize,
}

impl Wire<'_> {
    fn measure<C, A>(
        &self,
        group: &mut BenchmarkGroup<'_, WallTime>,
        name: &str,
        client: &C,
        call: impl Fn(C, usize) -> A + Copy + Send + 'static,
    ) where
        C: Clone + Send + 'static,
        A: Future<Output: Send> + Send + 'static,
    {
        group.bench_function(BenchmarkId::new(name, self.n_notes), |bencher| {
            bencher.iter_custom(|n| {
                let n_calls = usize::try_from(n).expect("they fit");
                self.one(client, n_calls, call).iter().sum()
            });
        });
    }

    /// What calls of one client took, asked by a task of the runtime, as services ask: from outside, each answer would wake one thread more.
    fn one<C, A>(
        &self,
        client: &C,
        n_calls: usize,
        call: impl Fn(C, usize) -> A + Send + 'static,
    ) -> Vec<Duration>
    where
        C: Clone + Send + 'static,
        A: Future<Output: Send> + Send + 'static,
    {
        let asked = asked(client.clone(), n_calls, self.quiet.clone(), call);
        self.runtime.block_on(self.runtime.spawn(asked)).expect("no call fails")
    }

    fn round<C, A>(
        &self,
        clients: &[C],
        call: impl Fn(C, usize) -> A + Copy + Send + 'static,
    ) -> Round
    where
        C: Clone + Send + 'static,
        A: Future<Output: Send> + Send + 'static,
    {
        let Percentiles { p50, p99 } = Percentiles::among(self.one(&clients[0], CALLS, call));
        let before = process_cpu();
        let together = clients
            .iter()
            .map(|client| self.runtime.spawn(asked(client.clone(), CALLS / CLIENTS, None, call)));
        let together: Vec<_> = together.collect();
        for client in together {
            self.runtime.block_on(client).expect("no call fails");
        }
        let n_calls = u32::try_from(clients.len() * (CALLS / CLIENTS)).expect("literals");
        Round { p50, p99, processor: (process_cpu() - before) / n_calls }
    }
}

/// The ways, in the order in which they take turns.
const WAYS: [&str; 7] = [
    "engine_alone",
    "engine",
    "in_process",
    "tcp",
    "unix_socket",
    "nothing_tcp",
    "nothing_unix_socket",
];

/// Says what each way takes, and what a search by it adds to the engine and to the service in the process: medians of the rounds, in which all took turns.
fn told(n_notes: usize, ways: &[Vec<Round>; WAYS.len()]) {
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    let [_, engine, in_process, ..] = ways;
    for (name, rounds) in WAYS.iter().zip(ways) {
        let each =
            |of: fn(&Round) -> Duration| median(rounds.iter().map(|round| micros(of(round))));
        let more = |others: &[Round], of: fn(&Round) -> Duration| {
            let in_turn = rounds.iter().zip(others);
            median(in_turn.map(|(own, other)| micros(of(own)) - micros(of(other))))
        };
        let mut line = format!(
            "grpc/{name}/{n_notes}: p50 {:.0} µs, p99 {:.0} µs; {CLIENTS} clients: {:.0} µs of processor time a call",
            each(|round| round.p50),
            each(|round| round.p99),
            each(|round| round.processor),
        );
        if !name.starts_with("nothing") {
            line += &format!(
                "; {:.0} µs more than the engine, {:.0} more than in the process, {:.0} of processor time",
                more(engine, |round| round.p50),
                more(in_process, |round| round.p50),
                more(in_process, |round| round.processor),
            );
        }
        println!("{line}");
    }
}
