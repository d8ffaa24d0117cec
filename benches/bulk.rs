//! Bulk indexing of a folder of files to disk, compared with tantivy alone on the same text: once split into lower-case words, and once stemmed as in our index.
//!
//! The files are repeated copies of the example vault, so that words, headings and links are those of prose. `WEFT_BENCH_VAULT=DIR` selects another folder of notes.
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

/// Number of files in the folder; fewer if nothing is measured.
const N_FILES: usize = 5_000;

/// Number of files in the folder that is also embedded, which takes a thousand times as long.
const N_EMBEDDED: usize = 100;

/// Minimum size of a file made of the example, in bytes: 4 kB on average.
const FILE_BYTES: usize = 3_300;

/// Example vault that the folder is made of.
const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/timekeeping");

/// Age below which a file may have changed again unnoticed and is read at every scan.
const REST: Duration = Duration::from_secs(3);

/// Memory budget of tantivy's writer per thread, in bytes.
const HEAP: usize = 50_000_000;

/// Number of rounds. Each round measures every variant once, so that all run under the same conditions; fewer with a model.
const ROUNDS: usize = 9;
const ROUNDS_EMBEDDING: usize = 3;

pub(crate) fn bench(criterion: &mut Criterion) {
    folder(criterion, if is_measured() { N_FILES } else { 50 });
    if is_measured() {
        embedding();
    }
}

/// Creates a folder of `n_files` and returns it with its size in bytes.
///
/// Each file is a note of the vault; a note of the example is followed by the texts of the next notes until it is long enough.
/// Links of a copy lead to notes of the same copy.
fn make_folder(n_files: usize) -> (TempDir, usize) {
    let (root, least) = source().map_or((PathBuf::from(EXAMPLE), FILE_BYTES), |root| (root, 0));
    let (paths, texts): (Vec<PathBuf>, Vec<String>) = files(&root)
        .into_iter()
        .filter_map(|path| Some((fs::read_to_string(&path).ok()?, path)))
        .filter(|(text, _)| !text.contains("\nindexed: false\n"))
        .map(|(text, path)| (path, text))
        .unzip();
    assert!(!paths.is_empty(), "{} contains no notes", root.display());
    let vault = tempfile::tempdir().expect("the disk has space");
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
        let path = paths[at].strip_prefix(&root).expect("the path is in the vault");
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let path = vault.path().join(copy.to_string()).join(path);
        let path = path.with_file_name(format!("{name} {copy}.md"));
        fs::create_dir_all(path.parent().expect("the path is in the vault"))
            .expect("the disk has space");
        fs::write(path, text).expect("the disk has space");
    }
    (vault, n_bytes)
}

/// Returns the folder of notes that replaces the example, if one is set.
#[expect(clippy::disallowed_methods, reason = "criterion uses the arguments")]
fn source() -> Option<PathBuf> {
    std::env::var_os("WEFT_BENCH_VAULT").map(PathBuf::from)
}

/// Returns the Markdown files in `folder` and below it, by path.
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

/// Rewrites the links of `text` to the notes of a copy.
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
    let (vault, n_bytes) = make_folder(n_files);
    if is_measured() {
        println!(
            "bulk/files/{n_files}: {:.2} kB on average",
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
    // One run before measuring: each variant must find the word.
    for (_, index) in ways {
        index();
    }
    if is_measured() {
        compare(ways, n_files);
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

/// Measures each variant once per round; prints wall-clock and processor time, and the rate of the first variant relative to the others.
fn compare<const N: usize>(ways: [(&str, &dyn Fn() -> Duration); N], n_files: usize) {
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

/// Returns the settings of an index over `vault` in a new store.
fn settings(vault: &Path, store: &Path) -> IndexSettings {
    IndexSettings {
        store: store.to_owned(),
        vaults: vec![VaultSettings { name: "corpus".into(), root: vault.to_owned() }],
        watch: WatchOptions { enabled: false, ..WatchOptions::default() },
        ..IndexSettings::default()
    }
}

/// Prints the wall-clock and processor time of indexing with the bundled model, relative to the model alone on the same texts, each measured once.
fn embedding() {
    let (vault, _) = make_folder(N_EMBEDDED);
    let embedder = open(&EmbeddingSettings::default()).expect("the bundled model opens").embedder;
    let embedder: Arc<dyn Embedder> = embedder.expect("the bundled model is a model");
    let ask = |texts: &[&str]| embedder.embed(texts, Role::Document).expect("the model is ours");
    // Loads the model.
    ask(&["first"]);

    let mut ratios = Vec::new();
    for _ in 0..ROUNDS_EMBEDDING {
        let store = tempfile::tempdir().expect("the disk has space");
        let (start, before) = (Instant::now(), process_cpu());
        let settings = settings(vault.path(), store.path());
        let indexer = Indexer::open(settings, Some(Arc::clone(&embedder)), None);
        let indexer = indexer.expect("the store is new");
        indexer.wait_vectors(&false.into(), &mut |_| {}).expect("the disk has space");
        let reader = indexer.reader();
        // The last changes are persisted when the index is closed.
        indexer.stop();
        let whole = [start.elapsed(), process_cpu() - before];

        // Copies of the example share passages, which are embedded once.
        let snapshot = reader.snapshot();
        let mut texts: HashMap<TextHash, String> = HashMap::new();
        for (_, entry) in snapshot.notes.by_path() {
            let note = Note { body: entry.body.to_string(), ..entry.note.clone() };
            let hashes = entry.chunks.iter().map(|chunk| chunk.hash);
            texts.extend(hashes.zip(embedded_texts(&note, &entry.chunks)));
        }
        assert!(snapshot.vectors.as_ref().is_some_and(|vectors| vectors.n_waiting == 0));
        let mut texts: Vec<&str> = texts.values().map(String::as_str).collect();
        // The model is fastest on batches of texts of equal length, which is how the index passes them, a thousand at a time.
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

/// Returns the longest word of the first file, which each index must find.
fn long_word(vault: &Path) -> String {
    let first = fs::read_to_string(&files(vault)[0]).expect("it is text");
    let words = first.split(|character: char| !character.is_ascii_alphabetic());
    words.max_by_key(|word| word.len()).unwrap_or_default().to_lowercase()
}

/// Indexes words and links and persists them, without a model; returns the time.
fn indexed(vault: &Path, n_files: usize, word: &str) -> Duration {
    let store = tempfile::tempdir().expect("the disk has space");
    let settings = settings(vault, store.path());
    let start = Instant::now();
    let indexer = Indexer::open(settings, None, None).expect("the store is new");
    let reader = indexer.reader();
    // Opening scans every file; dropping persists the index.
    indexer.stop();
    let took = start.elapsed();
    let snapshot = reader.snapshot();
    assert_eq!(snapshot.notes.n_notes(), n_files);
    let query = snapshot.keyword.parse(word, &QueryOptions::default()).expect("a query");
    let hits = snapshot.keyword.search(&query, 1, &NoteSet::All).expect("hits");
    assert!(!hits.is_empty(), "no note contains {word}");
    took
}

/// Reads the same files, indexes the words of their whole text with positions, and commits.
fn tantivy_alone(vault: &Path, n_files: usize, tokenizer: &str, word: &str) -> Duration {
    let store: TempDir = tempfile::tempdir().expect("the disk has space");
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
    writer.commit().expect("the disk has space");
    let took = start.elapsed();
    assert_eq!(files.len(), n_files);
    let query = QueryParser::for_index(&index, vec![body]).parse_query(word).expect("a query");
    let searcher = index.reader().expect("it was committed").searcher();
    assert!(searcher.search(&query, &Count).expect("a count") > 0, "no file contains {word}");
    took
}
