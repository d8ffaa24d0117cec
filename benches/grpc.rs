//! A search asked in the process, and the same over a connection.
//!
//! By words alone: a model would take a hundred times as long as the wire, and as much in both.
//! `weft bench --vault … --wire` measures the same on notes of one's own.
#![expect(clippy::print_stdout, reason = "criterion measures no processor time")]

use std::fs;
use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput};
use tokio::runtime::Runtime;
use tonic::body::Body;
use tonic::client::GrpcService;
use tonic::codegen::StdError;
use weft_benches::clock::{Percentiles, ROUNDS, median, process_cpu};
use weft_benches::vault::file;
use weft_benches::{SIZES, is_measured, sizes, word};
use weft_proto::noteweft::v1::search_service_client::SearchServiceClient;
use weft_proto::noteweft::v1::{SearchMode, SearchRequest, SearchResponse};
use weft_testkit::Random;
use weft_tests::{Running, served};

/// Notes of the vault where nothing is measured.
const FEW: usize = 50;

/// Clients that ask at the same time.
const CLIENTS: usize = 8;

/// Questions in a round: one after the other, and then of all clients together.
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
    let vault = tempfile::tempdir().expect("there is room");
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
    let tcp = runtime.block_on(daemon.channel()).expect("it listens");
    runtime.block_on(served(&tcp)).expect("it serves");
    let socket = runtime.block_on(daemon.socket_channel()).expect("it listens");
    let here = daemon.services().routes();
    let answer = runtime.block_on(ask(here.clone()));
    assert_eq!(answer.hits.len(), 10);
    assert_eq!(answer, runtime.block_on(ask(tcp.clone())), "the same over TCP");
    assert_eq!(answer, runtime.block_on(ask(socket.clone())), "the same over a Unix socket");

    let mut group = criterion.benchmark_group("grpc");
    group.throughput(Throughput::Elements(1));
    measure(&mut group, &runtime, "in_process", n_notes, &here);
    measure(&mut group, &runtime, "tcp", n_notes, &tcp);
    measure(&mut group, &runtime, "unix_socket", n_notes, &socket);
    group.finish();
    if is_measured() {
        runtime.block_on(told(n_notes, &here, &tcp, &socket));
    }
    runtime.block_on(daemon.stop()).expect("it ends");
}

async fn ask(transport: impl Transport) -> SearchResponse {
    let request = SearchRequest {
        query: format!("{} {}", word(20), word(300)),
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
    async fn of(transport: &impl Transport) -> Self {
        let one = transport.clone();
        let times = tokio::spawn(asked(one, CALLS)).await.expect("no call fails");
        let before = process_cpu();
        let clients: Vec<_> =
            (0..CLIENTS).map(|_| tokio::spawn(asked(transport.clone(), CALLS / CLIENTS))).collect();
        let mut n_calls = 0;
        for client in clients {
            n_calls +=
                u32::try_from(client.await.expect("no call fails").len()).unwrap_or(u32::MAX);
        }
        Self { times, processor: (process_cpu() - before) / n_calls }
    }

    fn p50(&self) -> Duration {
        Percentiles::among(self.times.clone()).p50
    }
}

/// Says what each way takes, and what the wire adds: the median of what it adds in each of some rounds, in which all take turns.
async fn told(
    n_notes: usize,
    here: &impl Transport,
    tcp: &impl Transport,
    socket: &impl Transport,
) {
    let mut ways = [("in_process", vec![]), ("tcp", vec![]), ("unix_socket", vec![])];
    for _ in 0..ROUNDS {
        ways[0].1.push(Round::of(here).await);
        ways[1].1.push(Round::of(tcp).await);
        ways[2].1.push(Round::of(socket).await);
    }
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    for (name, rounds) in &ways {
        let times = rounds.iter().flat_map(|round| round.times.iter().copied());
        let Percentiles { p50, p99 } = Percentiles::among(times.collect());
        let processor = median(rounds.iter().map(|round| micros(round.processor)));
        let in_turn = || rounds.iter().zip(&ways[0].1);
        let waits = median(in_turn().map(|(way, here)| micros(way.p50()) - micros(here.p50())));
        let works =
            median(in_turn().map(|(way, here)| micros(way.processor) - micros(here.processor)));
        println!(
            "grpc/{name}/{n_notes}: p50 {p50:.1?}, p99 {p99:.1?}, {waits:.0} µs more than in the process; {CLIENTS} clients: {processor:.0} µs of processor time a call, {works:.0} more"
        );
    }
}

/// Asks so often, each time as soon as the answer is there; what each took.
async fn asked(transport: impl Transport, n_calls: usize) -> Vec<Duration> {
    let mut times = Vec::with_capacity(n_calls);
    for _ in 0..n_calls {
        let start = Instant::now();
        black_box(ask(transport.clone()).await);
        times.push(start.elapsed());
    }
    times
}
