//! A folder of files to an index on disk, and the same text given to tantivy alone: cut into lower-case words, and stemmed as ours is.
//!
//! The files are the example vault over and over, so that words, headings and links are those of prose; or, with `WEFT_BENCH_VAULT=DIR` in the environment, the notes of that folder.
#![expect(clippy::print_stdout, reason = "criterion does not measure processor time")]

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput};
use tantivy::collector::Count;
use tantivy::query::QueryParser;
use tantivy::schema::{IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions};
use tantivy::{Index, doc};
use tempfile::TempDir;
use weft_benches::clock::{median, process_cpu};
use weft_benches::is_measured;
use weft_index::embedder::{Embedder, Role};
use weft_index::keyword::QueryOptions;
use weft_indexer::chunk::embedded_texts;
use weft_indexer::embed::{EmbeddingSettings, open};
use weft_indexer::{IndexSettings, Indexer, VaultSettings, WatchOptions};
use weft_model::{Note, NoteSet, TextHash};

/// Files of the folder; fewer where nothing is measured.
const N_FILES: usize = 5_000;

/// Files of the folder whose texts a model reads as well, which takes a thousand times as long.
const N_EMBEDDED: usize = 100;

/// Bytes that a file made of the example has, at least: 4 kB in the mean.
const FILE_BYTES: usize = 3_300;

/// The vault of which the folder is made.
const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/timekeeping");

/// For so long after a change a file may change again unnoticed, and so is read at every look.
const REST: Duration = Duration::from_secs(3);

/// Bytes that tantivy's writer may hold for each of its threads.
const HEAP: usize = 50_000_000;

/// Rounds in which each is measured once, so that all meet the same machine; fewer with a model.
const ROUNDS: usize = 9;
const ROUNDS_EMBEDDING: usize = 3;

pub(crate) fn bench(criterion: &mut Criterion) {
    folder(criterion, if is_measured() { N_FILES } else { 50 });
    if is_measured() {
        embedding();
    }
}

/// A folder of `n_files`, and how many bytes they are.
///
/// Each is a note of the vault; one of the example is followed by the texts of those after it until it is long enough.
/// What a copy of the vault links lies in the same copy.
fn written(n_files: usize) -> (TempDir, usize) {
    let (root, least) = source().map_or((PathBuf::from(EXAMPLE), FILE_BYTES), |root| (root, 0));
    let (paths, texts): (Vec<PathBuf>, Vec<String>) = files(&root)
        .into_iter()
        .filter_map(|path| Some((fs::read_to_string(&path).ok()?, path)))
        .filter(|(text, _)| !text.contains("\nindexed: false\n"))
        .map(|(text, path)| (path, text))
        .unzip();
    assert!(!paths.is_empty(), "{} holds no notes", root.display());
    let vault = tempfile::tempdir().expect("there is room");
    let mut n_bytes = 0;
    for at in 0..n_files {
        let (copy, at) = (at / paths.len(), at % paths.len());
        let mut text = texts[at].clone();
        for more in texts.iter().cycle().skip(at + 1) {
            if text.len() >= least {
                break;
            }
            text += more.split_once("\n---\n").map_or(more.as_str(), |(_, body)| body);
        }
        let text = linked_within(&text, copy);
        n_bytes += text.len();
        let path = paths[at].strip_prefix(&root).expect("it lies in the vault");
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let path = vault.path().join(copy.to_string()).join(path);
        let path = path.with_file_name(format!("{name} {copy}.md"));
        fs::create_dir_all(path.parent().expect("it lies in the vault")).expect("there is room");
        fs::write(path, text).expect("there is room");
    }
    (vault, n_bytes)
}

/// The folder of notes that is asked for, in place of the example.
#[expect(clippy::disallowed_methods, reason = "criterion takes the arguments for itself")]
fn source() -> Option<PathBuf> {
    std::env::var_os("WEFT_BENCH_VAULT").map(PathBuf::from)
}

/// The Markdown files in `folder` and below it, by path.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.expect("it can be listed").path()).collect();
    paths.sort();
    paths.retain(|path| path.file_name().is_none_or(|name| name.as_encoded_bytes()[0] != b'.'));
    let below = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    let mut files: Vec<PathBuf> = paths.into_iter().flat_map(below).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    files
}

/// `text` with its links leading to the notes of a copy.
fn linked_within(text: &str, copy: usize) -> String {
    let mut parts = text.split("[[");
    let mut linked = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(['|', '#', ']']).unwrap_or(part.len());
        linked += &format!("[[{} {copy}{}", &part[..end], &part[end..]);
    }
    linked
}

fn folder(criterion: &mut Criterion, n_files: usize) {
    let (vault, n_bytes) = written(n_files);
    if is_measured() {
        println!(
            "bulk/files/{n_files}: {:.2} kB in the mean",
            n_bytes as f64 / n_files as f64 / 1e3
        );
        std::thread::sleep(REST);
    }
    let word = long_word(vault.path());
    let ways: [(&str, &dyn Fn() -> Duration); 3] = [
        ("indexer", &|| indexed(vault.path(), n_files, &word)),
        ("tantivy_default", &|| tantivy_alone(vault.path(), n_files, "default", &word)),
        ("tantivy_en_stem", &|| tantivy_alone(vault.path(), n_files, "en_stem", &word)),
    ];
    // Once before anything is measured: each finds the word, or fails.
    for (_, index) in ways {
        index();
    }
    if is_measured() {
        in_turn(ways, n_files);
    }
    let mut group = criterion.benchmark_group("bulk");
    group.sample_size(10);
    group.throughput(Throughput::Bytes(n_bytes as u64));
    for (name, index) in ways {
        group.bench_function(BenchmarkId::new(name, n_files), |bencher| {
            bencher.iter_custom(|n| (0..n).map(|_| index()).sum());
        });
    }
    group.finish();
}

/// Measures each way once a round; tells how long it took, of the clock and of the processor, and what rate the first has beside it.
fn in_turn<const N: usize>(ways: [(&str, &dyn Fn() -> Duration); N], n_files: usize) {
    let mut taken: [Vec<[f64; 2]>; N] = std::array::from_fn(|_| Vec::new());
    for _ in 0..ROUNDS {
        for ((_, index), taken) in ways.iter().zip(&mut taken) {
            let before = process_cpu();
            let took = index();
            taken.push([took, process_cpu() - before].map(|time| time.as_secs_f64()));
        }
    }
    for ((name, _), times) in ways.iter().zip(&taken) {
        let of = |clock: usize| median(times.iter().map(|times| times[clock]));
        let rate = |clock: usize| {
            median(times.iter().zip(&taken[0]).map(|(times, first)| times[clock] / first[clock]))
        };
        println!(
            "bulk/{name}/{n_files}: {:.2} s, {:.2} s of the processor; {} has {:.2} of its rate, {:.2} by the processor",
            of(0),
            of(1),
            ways[0].0,
            rate(0),
            rate(1),
        );
    }
}

/// An index over `vault` in a new store.
fn settings(vault: &Path, store: &Path) -> IndexSettings {
    IndexSettings {
        store: store.to_owned(),
        vaults: vec![VaultSettings { name: "corpus".into(), root: vault.to_owned() }],
        watch: WatchOptions { enabled: false, ..WatchOptions::default() },
        ..IndexSettings::default()
    }
}

/// What indexing with the bundled model takes, of the clock and of the processor, beside the model alone with the same texts, each once.
fn embedding() {
    let (vault, _) = written(N_EMBEDDED);
    let embedder = open(&EmbeddingSettings::default()).expect("the bundled model opens").embedder;
    let embedder: Arc<dyn Embedder> = embedder.expect("the bundled model is a model");
    let ask = |texts: &[&str]| embedder.embed(texts, Role::Document).expect("the model is ours");
    // Loads the model.
    ask(&["first"]);

    let mut ratios = Vec::new();
    for _ in 0..ROUNDS_EMBEDDING {
        let store = tempfile::tempdir().expect("there is room");
        let (start, before) = (Instant::now(), process_cpu());
        let settings = settings(vault.path(), store.path());
        let indexer = Indexer::open(settings, Some(Arc::clone(&embedder)), None);
        let indexer = indexer.expect("the store is new");
        indexer.wait_vectors(&false.into(), &mut |_| {}).expect("there is room");
        let reader = indexer.reader();
        // What it holds is written down last.
        indexer.stop();
        let whole = [start.elapsed(), process_cpu() - before];

        // Copies of the example have passages in common, which are embedded once.
        let snapshot = reader.snapshot();
        let mut texts: HashMap<TextHash, String> = HashMap::new();
        for (_, entry) in snapshot.notes.by_path() {
            let note = Note { body: entry.body.to_string(), ..entry.note.clone() };
            let hashes = entry.chunks.iter().map(|chunk| chunk.hash);
            texts.extend(hashes.zip(embedded_texts(&note, &entry.chunks)));
        }
        assert!(snapshot.vectors.as_ref().is_some_and(|vectors| vectors.n_waiting == 0));
        let mut texts: Vec<&str> = texts.values().map(String::as_str).collect();
        // Texts of a length fill a batch: so the model takes least, and so the index gives them, a thousand at a time.
        texts.sort_unstable_by_key(|text| Reverse(text.len()));
        let (start, before) = (Instant::now(), process_cpu());
        for batch in texts.chunks(embedder.batch()) {
            ask(batch);
        }
        let alone = [start.elapsed(), process_cpu() - before];
        let ratio = |clock: usize| whole[clock].as_secs_f64() / alone[clock].as_secs_f64();
        ratios.push((texts.len(), ratio(0), ratio(1)));
    }
    println!(
        "bulk/with_model/{N_EMBEDDED}: {} texts; {:.3} of the time of the model alone, {:.3} of its processor time",
        ratios[0].0,
        median(ratios.iter().map(|(_, clock, _)| *clock)),
        median(ratios.iter().map(|(_, _, processor)| *processor)),
    );
}

/// The longest word of the first file, which each index must find.
fn long_word(vault: &Path) -> String {
    let first = fs::read_to_string(&files(vault)[0]).expect("it is text");
    let words = first.split(|character: char| !character.is_ascii_alphabetic());
    words.max_by_key(|word| word.len()).unwrap_or_default().to_lowercase()
}

/// Until words and links are in and written down, without a model.
fn indexed(vault: &Path, n_files: usize, word: &str) -> Duration {
    let store = tempfile::tempdir().expect("there is room");
    let settings = settings(vault, store.path());
    let start = Instant::now();
    let indexer = Indexer::open(settings, None, None).expect("the store is new");
    let reader = indexer.reader();
    // It looks at every file first, and writes down what it holds last.
    indexer.stop();
    let took = start.elapsed();
    let snapshot = reader.snapshot();
    assert_eq!(snapshot.notes.n_notes(), n_files);
    let query = snapshot.keyword.parse(word, &QueryOptions::default()).expect("a query");
    let hits = snapshot.keyword.search(&query, 1, &NoteSet::All).expect("hits");
    assert!(!hits.is_empty(), "no note holds {word}");
    took
}

/// The same files, read and the words of their whole text indexed with positions, and committed.
fn tantivy_alone(vault: &Path, n_files: usize, tokenizer: &str, word: &str) -> Duration {
    let store: TempDir = tempfile::tempdir().expect("there is room");
    let mut schema = Schema::builder();
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(tokenizer)
        .set_index_option(IndexRecordOption::WithFreqsAndPositions);
    let body = schema.add_text_field("body", TextOptions::default().set_indexing_options(indexing));
    let path = schema.add_text_field("path", STRING | STORED);
    let start = Instant::now();
    let index = Index::create_in_dir(store.path(), schema.build()).expect("the folder is empty");
    let n_threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut writer =
        index.writer_with_num_threads(n_threads, HEAP * n_threads).expect("the folder is ours");
    let files = files(vault);
    for file in &files {
        let text = fs::read_to_string(file).expect("it is text");
        writer
            .add_document(doc!(body => text, path => file.to_string_lossy().into_owned()))
            .expect("the writer lives");
    }
    writer.commit().expect("there is room");
    let took = start.elapsed();
    assert_eq!(files.len(), n_files);
    let query = QueryParser::for_index(&index, vec![body]).parse_query(word).expect("a query");
    let searcher = index.reader().expect("it was committed").searcher();
    assert!(searcher.search(&query, &Count).expect("a count") > 0, "no file holds {word}");
    took
}
