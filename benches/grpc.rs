//! A search through the engine, the service in the process, and a connection.
//!
//! Keyword search only: a model would take a hundred times as long as the transport, in each variant.
//! Before each timed call, an idle call is made over a separate connection: after any call over a socket the same search takes up to half as long again on the same thread, whatever its transport, because the processor's caches are cold.
//! The time of the engine without idle calls is reported too, and processor time is measured without them.
//! `weft bench --vault … --wire` compares the two on real notes, without idle calls.
#![expect(clippy::print_stdout, reason = "criterion measures no processor time")]

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput};
use tokio::runtime::Runtime;
use tonic::body::Body;
use tonic::client::GrpcService;
use tonic::codegen::StdError;
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
use weft_tests::{TestChannel, TestDaemon, served};

/// Number of notes of the vault if nothing is measured.
const FEW: usize = 50;

/// Number of concurrent clients.
const CLIENTS: usize = 8;

/// Number of distinct queries.
const QUESTIONS: usize = 100;

/// Number of calls in a round, first one after the other, then by all clients together.
const CALLS: usize = 250;

/// A transport of requests: a channel, or the services themselves.
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
    let (vault, store) = (vault.expect("the disk has space"), store.expect("the disk has space"));
    let mut random = Random::new(41);
    for at in 0..n_notes {
        let (path, text) = file(&mut random, at, n_notes);
        let path = vault.path().join(path.as_str());
        fs::create_dir_all(path.parent().expect("the path is in the vault"))
            .expect("the disk has space");
        fs::write(path, text).expect("the disk has space");
    }
    let runtime = weft_daemon::runtime().expect("there are threads");
    let settings = [("embedding.model", "none")];
    let daemon = runtime.block_on(TestDaemon::start(vault.path(), &settings)).expect("a free port");
    // Each client has its own connection.
    let tcp: Vec<TestChannel> =
        (0..CLIENTS).map(|_| runtime.block_on(daemon.channel()).expect("it listens")).collect();
    runtime.block_on(served(&tcp[0])).expect("it serves");
    let socket: Vec<TestChannel> = (0..CLIENTS)
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
        let own = engine.search(&request(at)).expect("memory can be read");
        let uris = |uris: &mut dyn Iterator<Item = String>| uris.collect::<Vec<_>>();
        let uris_found = uris(&mut answer.hits.iter().map(|hit| hit.uri.clone()));
        assert_eq!(
            uris_found,
            uris(&mut own.hits.iter().map(|hit| hit.uri.to_string())),
            "the engine"
        );
    }

    let engines = vec![engine; CLIENTS];
    let quiet = runtime.block_on(daemon.channel()).expect("it listens");
    assert_eq!(runtime.block_on(idle_call(quiet.clone(), 0)), ServingStatus::Serving);
    let wire = WireSetup { runtime: &runtime, quiet: Some(quiet) };
    let warm = WireSetup { quiet: None, ..wire.clone() };
    let ways = [
        warm.way("engine_alone", &engines, search),
        wire.way("engine", &engines, search),
        wire.way("in_process", &here, ask),
        wire.way("tcp", &tcp, ask),
        wire.way("unix_socket", &socket, ask),
        wire.way("nothing_tcp", &tcp, idle_call),
        wire.way("nothing_unix_socket", &socket, idle_call),
    ];
    let mut group = criterion.benchmark_group("grpc");
    group.throughput(Throughput::Elements(1));
    for way in &ways {
        group.bench_function(BenchmarkId::new(way.name, n_notes), |bencher| {
            bencher.iter_custom(|n| (way.one)(usize::try_from(n).expect("they fit")).iter().sum());
        });
    }
    group.finish();
    if is_measured() {
        compare(n_notes, &ways);
    }
    indexer.stop();
    runtime.block_on(daemon.stop()).expect("it ends");
}

/// Opens the index of an engine without a service.
fn open(vault: &Path, store: &Path) -> Indexer {
    let settings = IndexSettings {
        store: store.to_owned(),
        vaults: vec![VaultSettings { name: "vault".into(), root: vault.to_owned() }],
        watch: WatchOptions { enabled: false, ..WatchOptions::default() },
        ..IndexSettings::default()
    };
    let indexer = Indexer::open(settings, None, None).expect("the store is new");
    indexer.flush().expect("the disk has space");
    indexer
}

/// Returns the words of the `at`-th query: a frequent one and a rarer one.
fn words(at: usize) -> String {
    let at = at % QUESTIONS;
    format!("{} {}", word(10 + at), word(200 + 10 * at))
}

/// Returns the `at`-th query for the engine.
fn request(at: usize) -> engine::SearchRequest {
    engine::SearchRequest {
        query: words(at),
        mode: engine::SearchMode::Keyword,
        limit: 10,
        ..engine::SearchRequest::default()
    }
}

/// Searches with the `at`-th query in the engine.
async fn search(engine: Engine, at: usize) -> engine::SearchAnswer {
    engine.search(&request(at)).expect("memory can be read")
}

/// Searches with the `at`-th query through a client.
async fn ask(transport: impl Transport, at: usize) -> SearchResponse {
    let request = SearchRequest {
        query: words(at),
        mode: SearchMode::Keyword.into(),
        ..SearchRequest::default()
    };
    let answer = SearchServiceClient::new(transport).search(request).await;
    answer.expect("it serves").into_inner()
}

/// Makes an idle call: the status of the daemon.
async fn idle_call(channel: TestChannel, _at: usize) -> ServingStatus {
    let answer = HealthClient::new(channel).check(HealthCheckRequest::default()).await;
    answer.expect("it listens").into_inner().status()
}

/// Makes the given number of calls, each after the response to the last one and after an idle call over `quiet`; returns the time of each.
async fn timed_calls<C: Clone, A: Future>(
    client: C,
    n_calls: usize,
    quiet: Option<TestChannel>,
    call: impl Fn(C, usize) -> A,
) -> Vec<Duration> {
    let mut times = Vec::with_capacity(n_calls);
    for at in 0..n_calls {
        if let Some(quiet) = &quiet {
            black_box(idle_call(quiet.clone(), at).await);
        }
        let start = Instant::now();
        black_box(call(client.clone(), at).await);
        times.push(start.elapsed());
    }
    times
}

/// Measurements of one round.
struct Round {
    /// Median of successive calls.
    p50: Duration,
    /// 99th percentile of successive calls.
    p99: Duration,
    /// Processor time per call with all clients, without idle calls.
    processor: Duration,
}

/// One way to make calls.
struct CallPath<'r> {
    name: &'static str,
    /// Makes the given number of successive calls; returns the time of each.
    one: Box<dyn Fn(usize) -> Vec<Duration> + 'r>,
    /// Makes calls from all clients; returns the processor time per call.
    together: Box<dyn Fn() -> Duration + 'r>,
}

impl CallPath<'_> {
    fn round(&self) -> Round {
        let Percentiles { p50, p99 } = Percentiles::among((self.one)(CALLS));
        Round { p50, p99, processor: (self.together)() }
    }
}

/// Setup that all ways share.
#[derive(Clone)]
struct WireSetup<'r> {
    runtime: &'r Runtime,
    /// Client of the idle calls.
    quiet: Option<TestChannel>,
}

impl<'r> WireSetup<'r> {
    /// Returns a way to call `clients` from tasks of the runtime, as services do: calls from outside would wake one more thread per response.
    fn way<C, A>(
        &self,
        name: &'static str,
        clients: &'r [C],
        call: impl Fn(C, usize) -> A + Copy + Send + 'static,
    ) -> CallPath<'r>
    where
        C: Clone + Send + 'static,
        A: Future<Output: Send> + Send + 'static,
    {
        let (runtime, quiet) = (self.runtime, self.quiet.clone());
        let one = move |n_calls: usize| {
            let calls = timed_calls(clients[0].clone(), n_calls, quiet.clone(), call);
            runtime.block_on(runtime.spawn(calls)).expect("no call fails")
        };
        let together = move || {
            let before = process_cpu();
            let ask = |client: &C| {
                runtime.spawn(timed_calls(client.clone(), CALLS / CLIENTS, None, call))
            };
            let asking: Vec<_> = clients.iter().map(ask).collect();
            for client in asking {
                runtime.block_on(client).expect("no call fails");
            }
            let n_calls = u32::try_from(clients.len() * (CALLS / CLIENTS)).expect("literals");
            (process_cpu() - before) / n_calls
        };
        CallPath { name, one: Box::new(one), together: Box::new(together) }
    }
}

/// Prints the time of each way, and its overhead over the engine and over the service in the process: medians of rounds in which all take turns.
fn compare(n_notes: usize, ways: &[CallPath<'_>]) {
    let mut rounds: Vec<Vec<Round>> = ways.iter().map(|_| Vec::new()).collect();
    for _ in 0..ROUNDS {
        for (way, rounds) in ways.iter().zip(&mut rounds) {
            rounds.push(way.round());
        }
    }
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    let named = |name: &str| ways.iter().position(|way| way.name == name).expect("it is a way");
    let (engine, in_process) = (&rounds[named("engine")], &rounds[named("in_process")]);
    for (name, rounds) in ways.iter().map(|way| way.name).zip(&rounds) {
        let each =
            |of: fn(&Round) -> Duration| median(rounds.iter().map(|round| micros(of(round))));
        let more = |others: &[Round], of: fn(&Round) -> Duration| {
            let differences = rounds.iter().zip(others);
            median(differences.map(|(own, other)| micros(of(own)) - micros(of(other))))
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
