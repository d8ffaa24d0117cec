//! From a store on disk to the first result of a keyword and a vector search, and the memory of the process.
#![expect(clippy::print_stdout, reason = "criterion measures no memory")]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion};
use weft_benches::vault::{TextHashEmbedder, file};
use weft_benches::{SIZES, is_measured, sizes};
use weft_engine::{Engine, EngineSettings, SearchMode, SearchRequest};
use weft_index::embedder::Embedder;
use weft_index::vector::{GraphParams, VectorParams};
use weft_indexer::{IndexSettings, Indexer, VaultSettings, WatchOptions};
use weft_testkit::Random;

/// Argument that makes this program print its memory instead of measuring.
pub(crate) const MEMORY: &str = "--memory";

/// Interval of polling for the graph over the vectors, which is built in the background.
const PAUSE: Duration = Duration::from_millis(200);

pub(crate) fn bench(criterion: &mut Criterion) {
    for n_notes in sizes(&SIZES) {
        reopened(criterion, n_notes);
    }
}

/// Reopens a store over an unchanged vault, so that the writer's scan runs concurrently with the first search as in a daemon.
fn reopened(criterion: &mut Criterion, n_notes: usize) {
    let (vault, store) = (
        tempfile::tempdir().expect("the disk has space"),
        tempfile::tempdir().expect("the disk has space"),
    );
    let mut random = Random::new(31);
    for at in 0..n_notes {
        let (path, text) = file(&mut random, at, n_notes);
        let path = vault.path().join(path.as_str());
        fs::create_dir_all(path.parent().expect("the path is in the vault"))
            .expect("the disk has space");
        fs::write(path, text).expect("the disk has space");
    }
    let first = open(vault.path(), store.path());
    first.wait_vectors(&false.into(), &mut |_| {}).expect("the disk has space");
    let vectors = || first.reader().snapshot().vectors.clone().expect("there is a model").index;
    while vectors().needs_rebuild() {
        std::thread::sleep(PAUSE);
    }
    assert!(vectors().n_live() >= n_notes, "each note has a chunk or more");
    let ways =
        [("first_answer", SearchMode::Keyword), ("first_answer_by_meaning", SearchMode::Hybrid)]
            .map(|(name, mode)| (name, mode, ask(&first, mode)));
    first.stop();

    let mut group = criterion.benchmark_group("open");
    group.sample_size(10);
    for (name, mode, expected) in ways {
        assert_eq!(expected.len(), 10);
        let once = || {
            let start = Instant::now();
            let indexer = open(vault.path(), store.path());
            assert_eq!(ask(&indexer, mode), expected);
            let took = start.elapsed();
            // A store has one owner at a time.
            indexer.stop();
            took
        };
        group.bench_function(BenchmarkId::new(name, n_notes), |bencher| {
            bencher.iter_custom(|n| (0..n).map(|_| once()).sum());
        });
    }
    group.finish();
    if is_measured() {
        let program = std::env::current_exe().expect("this program is a file");
        let arguments: [&Path; 3] = [MEMORY.as_ref(), vault.path(), store.path()];
        let status = Command::new(program).args(arguments).status();
        assert!(status.expect("this program runs").success());
    }
}

fn open(vault: &Path, store: &Path) -> Indexer {
    let settings = IndexSettings {
        store: store.to_owned(),
        vaults: vec![VaultSettings { name: "corpus".into(), root: vault.to_owned() }],
        watch: WatchOptions { enabled: false, ..WatchOptions::default() },
        vector: VectorParams {
            // All cores: building the graph is not part of the measurement.
            graph: GraphParams { parallel: true, ..GraphParams::default() },
            ..VectorParams::default()
        },
        ..IndexSettings::default()
    };
    let embedder: Arc<dyn Embedder> = Arc::new(TextHashEmbedder::default());
    Indexer::open(settings, Some(embedder), None).expect("the store is ours")
}

/// Returns the uris of the best notes for two words.
fn ask(indexer: &Indexer, mode: SearchMode) -> Vec<String> {
    let engine = Engine::new(indexer.reader(), EngineSettings::default());
    let request = SearchRequest {
        query: format!("{} {}", weft_benches::word(20), weft_benches::word(300)),
        limit: 10,
        mode,
        ..SearchRequest::default()
    };
    let answer = engine.search(&request).expect("the store can be read");
    answer.hits.iter().map(|hit| hit.uri.to_string()).collect()
}

/// Opens `store` and prints the memory of this process after a scan of every file and a search by keywords and vectors.
pub(crate) fn memory(vault: &Path, store: &Path) {
    let indexer = open(vault, store);
    indexer.flush().expect("the disk has space");
    assert_eq!(ask(&indexer, SearchMode::Hybrid).len(), 10);
    let n_notes = indexer.status().n_notes;
    // Other systems have no such file, and nothing is printed.
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    for (key, name) in [("RssAnon:", "anonymous"), ("RssFile:", "mapped")] {
        let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
        let kb = line.split_whitespace().next().and_then(|kb| kb.parse::<f64>().ok());
        if let Some(kb) = kb {
            let per_note = kb / n_notes as f64;
            println!("open/{name}/{n_notes}: {:.0} MB, {per_note:.2} kB a note", kb / 1e3);
        }
    }
    indexer.stop();
}
