//! A folder of files to an index on disk, and the same text given to tantivy alone.
#![forbid(unsafe_code)]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput};
use tantivy::schema::{IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions};
use tantivy::{Index, doc};
use tempfile::TempDir;
use weft_benches::run;
use weft_benches::vault::file;
use weft_indexer::{IndexSettings, Indexer, VaultSettings, WatchOptions};
use weft_testkit::Random;

/// Files of the folder, about 4 kB each; fewer where nothing is measured.
const N_FILES: usize = 5_000;

/// The corpus's notes that make a file.
const NOTES_PER_FILE: usize = 3;

/// Bytes that tantivy's writer may hold for each of its threads, and how many it has: as many as the indexer's word index.
const HEAP: usize = 50_000_000;
const THREADS: usize = 2;

fn main() {
    let is_measured = std::env::args().any(|argument| argument == "--bench");
    run(|criterion| folder(criterion, if is_measured { N_FILES } else { 50 }));
}

fn folder(criterion: &mut Criterion, n_files: usize) {
    let vault = tempfile::tempdir().expect("there is room");
    let mut random = Random::new(29);
    let mut n_bytes = 0;
    for at in 0..n_files {
        let (path, mut text) = file(&mut random, at, n_files);
        for _ in 1..NOTES_PER_FILE {
            let (_, more) = file(&mut random, at, n_files);
            text += more.split_once("\n---\n").map_or("", |(_, body)| body);
        }
        n_bytes += text.len();
        let path = vault.path().join(path.as_str());
        fs::create_dir_all(path.parent().expect("it lies in the vault")).expect("there is room");
        fs::write(path, text).expect("there is room");
    }

    let mut group = criterion.benchmark_group("bulk");
    group.sample_size(10);
    group.throughput(Throughput::Bytes(n_bytes as u64));
    group.bench_function(BenchmarkId::new("indexer", n_files), |bencher| {
        bencher.iter_custom(|n| (0..n).map(|_| indexed(vault.path(), n_files)).sum());
    });
    group.bench_function(BenchmarkId::new("tantivy", n_files), |bencher| {
        bencher.iter_custom(|n| (0..n).map(|_| tantivy_alone(vault.path(), n_files)).sum());
    });
    group.finish();
}

/// Until words and links are in and written down, without a model.
fn indexed(vault: &Path, n_files: usize) -> Duration {
    let store = tempfile::tempdir().expect("there is room");
    let settings = IndexSettings {
        store: store.path().to_owned(),
        vaults: vec![VaultSettings { name: "corpus".into(), root: vault.to_owned() }],
        watch: WatchOptions { enabled: false, ..WatchOptions::default() },
        ..IndexSettings::default()
    };
    let start = Instant::now();
    let indexer = Indexer::open(settings, None, None).expect("the store is new");
    indexer.flush().expect("there is room");
    let took = start.elapsed();
    assert_eq!(indexer.reader().snapshot().notes.n_notes(), n_files);
    indexer.stop();
    took
}

/// The same files, read and their whole text indexed in lower case with positions, and committed.
fn tantivy_alone(vault: &Path, n_files: usize) -> Duration {
    let store: TempDir = tempfile::tempdir().expect("there is room");
    let mut schema = Schema::builder();
    let indexing = TextFieldIndexing::default()
        .set_tokenizer("default")
        .set_index_option(IndexRecordOption::WithFreqsAndPositions);
    let body = schema.add_text_field("body", TextOptions::default().set_indexing_options(indexing));
    let path = schema.add_text_field("path", STRING | STORED);
    let start = Instant::now();
    let index = Index::create_in_dir(store.path(), schema.build()).expect("the folder is empty");
    let mut writer =
        index.writer_with_num_threads(THREADS, HEAP * THREADS).expect("the folder is ours");
    let mut n_added = 0;
    for folder in fs::read_dir(vault).expect("the vault is there") {
        for file in fs::read_dir(folder.expect("it can be listed").path()).expect("a folder") {
            let file = file.expect("it can be listed").path();
            let text = fs::read_to_string(&file).expect("it is text");
            writer
                .add_document(doc!(body => text, path => file.to_string_lossy().into_owned()))
                .expect("the writer lives");
            n_added += 1;
        }
    }
    writer.commit().expect("there is room");
    let took = start.elapsed();
    assert_eq!(n_added, n_files);
    took
}
