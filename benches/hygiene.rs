//! Questions about the condition of a vault: each is the first of its kind on a generation.
//!
//! An engine of its own answers each request, because passes over all texts are cached per generation.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput};
use weft_benches::vault::{entry, file, words};
use weft_benches::{SIZES, sizes};
use weft_engine::hygiene::{
    BrokenLinksRequest, DuplicatesRequest, StaleNotesRequest, SuggestedLinksRequest,
};
use weft_engine::{Engine, EngineSettings};
use weft_index::notes::{Change, NoteTable, VaultInfo};
use weft_index::{Publisher, Reader, Snapshot};
use weft_testkit::Random;

/// One in this many notes repeats the text of an earlier note.
const COPY_EVERY: usize = 50;

/// One in this many notes has a misspelled link.
const MISSPELLED_EVERY: usize = 20;

/// Modification time of all files, nanoseconds since 1970: the end of 2019.
const READ_NS: i64 = 1_577_836_800_000_000_000;

/// Sizes that are measured: of the largest corpus, the duplicates are sampled.
const MEASURED: &[usize] = SIZES.split_at(3).0;

pub(crate) fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("hygiene");
    for n_notes in sizes(MEASURED) {
        let reader = vault(n_notes);
        let engine = || Engine::new(reader.clone(), EngineSettings::default());
        group.throughput(Throughput::Elements(n_notes as u64));

        let request = DuplicatesRequest::default();
        let found = engine().duplicates(&request).expect("the request is valid");
        assert!(found.total >= n_notes / COPY_EVERY - 1 && found.sampling == 1, "{}", found.total);
        group.bench_function(BenchmarkId::new("duplicates", n_notes), |bencher| {
            let ask = |engine: Engine| engine.duplicates(black_box(&request));
            bencher.iter_batched(engine, ask, BatchSize::PerIteration);
        });

        let request = SuggestedLinksRequest::default();
        let found = engine().suggested_links(&request).expect("the request is valid");
        assert!(found.total > n_notes / 2, "most notes are mentioned: {}", found.total);
        group.bench_function(BenchmarkId::new("suggested_links", n_notes), |bencher| {
            let ask = |engine: Engine| engine.suggested_links(black_box(&request));
            bencher.iter_batched(engine, ask, BatchSize::PerIteration);
        });

        let request = StaleNotesRequest::default();
        let found = engine().stale_notes(&request).expect("the request is valid");
        assert!(found.total > 0 && found.total < n_notes, "{}", found.total);
        group.bench_function(BenchmarkId::new("stale_notes", n_notes), |bencher| {
            let ask = |engine: Engine| engine.stale_notes(black_box(&request));
            bencher.iter_batched(engine, ask, BatchSize::PerIteration);
        });

        let request = BrokenLinksRequest::default();
        let found = engine().broken_links(&request).expect("the request is valid");
        assert_eq!(found.total, n_notes.div_ceil(MISSPELLED_EVERY));
        assert!(found.links.iter().all(|link| !link.fixes.is_empty()), "{:?}", found.links);
        group.bench_function(BenchmarkId::new("broken_links", n_notes), |bencher| {
            let ask = |engine: Engine| engine.broken_links(black_box(&request));
            bencher.iter_batched(engine, ask, BatchSize::PerIteration);
        });
    }
    group.finish();
}

/// Builds a vault in which each note has a day of its last change and mentions another by its title and its file name, without links.
fn vault(n_notes: usize) -> Reader {
    let mut random = Random::new(29);
    let files: Vec<(_, String)> = (0..n_notes).map(|at| file(&mut random, at, n_notes)).collect();
    let title = |at: usize| files[at].1.lines().find_map(|line| line.strip_prefix("# "));
    let changes = files.iter().enumerate().map(|(at, (path, text))| {
        // A copy is of an original, which is not a copy itself.
        let text = if at % COPY_EVERY == COPY_EVERY - 1 { &files[at - 1].1 } else { text };
        let [named, titled] = [random.below(n_notes), random.below(n_notes)];
        let (year, month) = (2000 + at % 20, 1 + at % 12);
        let mut text = text.replacen("---\n", &format!("---\nupdated: {year}-{month:02}-01\n"), 1);
        text += &format!(
            "\nAs note-{named:06} says, {} is another.\n",
            title(titled).expect("each note has a heading")
        );
        if at % MISSPELLED_EVERY == 0 {
            text += &format!("See [[notte-{at:06}]].\n");
        }
        let mut entry = entry((path.clone(), text), 1);
        Arc::make_mut(&mut entry).file.modified_ns = READ_NS;
        Change::Upsert(entry)
    });
    let changes: Vec<Change> = changes.collect();
    let (notes, _) = NoteTable::new([VaultInfo::new("corpus", "/corpus")]).edited(&changes);
    let keyword = words(&notes).reader().clone();
    Publisher::new(Snapshot { generation: 1, notes, keyword, vectors: None }).reader()
}
