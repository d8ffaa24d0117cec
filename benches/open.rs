//! A store on disk to its first answer by word.
#![forbid(unsafe_code)]

use std::fs;
use std::path::Path;

use criterion::{BenchmarkId, Criterion};
use weft_benches::vault::file;
use weft_benches::{run, sizes};
use weft_engine::{Engine, EngineSettings, SearchMode, SearchRequest};
use weft_indexer::{IndexSettings, Indexer, VaultSettings, WatchOptions};
use weft_testkit::Random;

fn main() {
    run(|criterion| {
        for &n_notes in sizes() {
            reopened(criterion, n_notes);
        }
    });
}

/// The files stay where they are, so that the writer's look at them goes on beside the first answer as in a daemon.
fn reopened(criterion: &mut Criterion, n_notes: usize) {
    let (vault, store) =
        (tempfile::tempdir().expect("there is room"), tempfile::tempdir().expect("there is room"));
    let mut random = Random::new(31);
    for at in 0..n_notes {
        let (path, text) = file(&mut random, at, n_notes);
        let path = vault.path().join(path.as_str());
        fs::create_dir_all(path.parent().expect("it lies in the vault")).expect("there is room");
        fs::write(path, text).expect("there is room");
    }
    let first = open(vault.path(), store.path());
    first.flush().expect("there is room");
    let expected = ask(&first);
    assert_eq!(expected.len(), 10);
    first.stop();

    let mut group = criterion.benchmark_group("open");
    group.sample_size(10);
    group.bench_function(BenchmarkId::new("first_answer", n_notes), |bencher| {
        bencher.iter_with_large_drop(|| {
            let indexer = open(vault.path(), store.path());
            assert_eq!(ask(&indexer), expected);
            indexer
        });
    });
    group.finish();
}

fn open(vault: &Path, store: &Path) -> Indexer {
    let settings = IndexSettings {
        store: store.to_owned(),
        vaults: vec![VaultSettings { name: "corpus".into(), root: vault.to_owned() }],
        watch: WatchOptions { enabled: false, ..WatchOptions::default() },
        ..IndexSettings::default()
    };
    Indexer::open(settings, None, None).expect("the store is ours")
}

/// The uris of the best notes for two words.
fn ask(indexer: &Indexer) -> Vec<String> {
    let engine = Engine::new(indexer.reader(), EngineSettings::default());
    let request = SearchRequest {
        query: format!("{} {}", weft_benches::word(20), weft_benches::word(300)),
        limit: 10,
        mode: SearchMode::Keyword,
        ..SearchRequest::default()
    };
    let answer = engine.search(&request).expect("the store can be read");
    answer.hits.iter().map(|hit| hit.uri.to_string()).collect()
}
