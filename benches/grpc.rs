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
use weft_benches::clock::{Percentiles, process_cpu};
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

/// Questions of each of them.
const CALLS: u32 = 1_000;

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
            let transport = transport.clone();
            let asked = runtime.spawn(async move {
                let start = Instant::now();
                for _ in 0..n {
                    black_box(ask(transport.clone()).await);
                }
                start.elapsed()
            });
            runtime.block_on(asked).expect("no call fails")
        });
    });
    if is_measured() {
        let asked = transport.clone();
        let asked = Percentiles::of_waits(move || ask(asked.clone()));
        let Percentiles { p50, p99 } =
            runtime.block_on(runtime.spawn(asked)).expect("no call fails");
        let before = process_cpu();
        runtime.block_on(together(transport));
        let n_calls = CALLS * u32::try_from(CLIENTS).expect("a literal");
        let each: Duration = (process_cpu() - before) / n_calls;
        println!(
            "grpc/{name}/{n_notes}: p50 {p50:.1?}, p99 {p99:.1?}; {CLIENTS} clients: {each:.1?} of processor time a call"
        );
    }
}

/// Asks with all clients, each as soon as it has its answer.
async fn together(transport: &impl Transport) {
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let transport = transport.clone();
            tokio::spawn(async move {
                for _ in 0..CALLS {
                    ask(transport.clone()).await;
                }
            })
        })
        .collect();
    for client in clients {
        client.await.expect("no call fails");
    }
}
