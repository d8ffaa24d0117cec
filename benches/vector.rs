//! Nearest chunks to a query: scan of every row, or walk over a graph of near rows.
//!
//! Writes the rows to `target/tmp` for `compare/vectors.py`, which measures another index on them.
#![expect(clippy::print_stdout, reason = "recall is printed beside the rate")]

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput};
use weft_benches::clock::{per_cpu_second, process_cpu};
use weft_benches::vault::DIMENSION;
use weft_benches::{is_measured, note, sizes, vectors};
use weft_index::vector::{RowId, VectorIndex, VectorParams, VectorSearch as _, VectorWriter};
use weft_model::{NoteId, NoteSet};
use weft_testkit::Random;

/// Numbers of rows of the indexes. All except the last are scanned; the one before the last is the largest that is scanned.
const SIZES: [usize; 4] = [1_000, 10_000, 50_000, WALKED];

/// Number of rows of the index that is walked.
const WALKED: usize = 100_000;

/// Numbers of candidates a walk keeps (`ef`): fewer are faster and find less.
const EFS: [usize; 6] = [16, 32, 64, 128, 256, 512];

/// Number of chunks requested.
const K: usize = 10;

/// Number of queries that run in turn, over which recall is averaged.
const QUERIES: usize = 400;

/// Minimum recall of the walk at the default `ef`, in clusters that are wider than those of texts and whose rows are harder to distinguish; .997 is reached.
const LEAST_RECALL: f64 = 0.995;

/// Percentage of rows added after the graph was built; not enough to rebuild it.
const TAIL_PERCENT: usize = 4;

/// One row in `DELETED` is deleted after the graph was built.
const DELETED: usize = 10;

pub(crate) fn bench(criterion: &mut Criterion) {
    let sizes = sizes(&SIZES);
    for &n_rows in sizes.iter().filter(|n_rows| **n_rows != WALKED) {
        exact(criterion, n_rows);
    }
    if !is_measured() {
        walk(criterion, SIZES[0]);
    } else if sizes.contains(&WALKED) {
        walk(criterion, WALKED);
    }
}

/// Vectors around a few dozen centers.
struct Corpus {
    rows: Vec<Vec<f32>>,
    queries: Vec<Vec<f32>>,
    /// Rows added later.
    tail: Vec<Vec<f32>>,
}

impl Corpus {
    fn new(n_rows: usize) -> Self {
        let n_tail = n_rows * TAIL_PERCENT / 100;
        let mut rows = vectors(&mut Random::new(11), n_rows + QUERIES + n_tail, DIMENSION);
        let tail = rows.split_off(n_rows + QUERIES);
        let queries = rows.split_off(n_rows);
        Self { rows, queries, tail }
    }

    /// Returns a writer with one note per row.
    fn writer(&self, params: VectorParams) -> VectorWriter {
        let writer = VectorWriter::in_memory(DIMENSION, params);
        let mut writer = writer.expect("the dimension is in range");
        append(&mut writer, &self.rows);
        writer
    }
}

/// Appends `rows`, each as the next note.
fn append(writer: &mut VectorWriter, rows: &[Vec<f32>]) {
    let first = writer.publish().n_rows();
    let owned: Vec<(NoteId, &[f32])> =
        (first..).map(note).zip(rows.iter().map(Vec::as_slice)).collect();
    writer.append(&owned).expect("rows have length one");
}

/// Returns the ids of the first `n` rows.
fn row_ids(n: usize) -> impl Iterator<Item = RowId> {
    (0..n).filter_map(|row| Some(RowId::new(u32::try_from(row).ok()?)))
}

/// Writes `rows` as little-endian floats without separators.
fn write_vectors(name: &str, rows: &[Vec<f32>]) {
    let bytes: Vec<u8> = rows.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name).with_extension("f32");
    fs::write(path, bytes).expect("there is room");
}

fn exact(criterion: &mut Criterion, n_rows: usize) {
    let corpus = Corpus::new(n_rows);
    let index = corpus.writer(VectorParams::default()).publish();
    let queries = QuerySet::new(&corpus, QUERIES, &index, NoteSet::All);
    for (query, truth) in queries.queries.iter().zip(&queries.truth) {
        assert_eq!(queries.hits(&index, query), *truth, "the scan is exact");
    }
    let mut group = criterion.benchmark_group("vector");
    queries.measure(&mut group, "exact", &index);
    group.finish();
}

fn walk(criterion: &mut Criterion, n_rows: usize) {
    let params = VectorParams { exact_below: 0, ..VectorParams::default() };
    let corpus = Corpus::new(n_rows);
    if n_rows == WALKED {
        write_vectors("vectors", &corpus.rows);
        write_vectors("queries", &corpus.queries);
    }
    let mut writer = corpus.writer(params);
    let before = process_cpu();
    let graph = Arc::new(writer.publish().build_graph());
    let built: Duration = process_cpu() - before;
    println!("vector/build/{n_rows}: {built:.1?} of processor time, {} bytes", graph.n_bytes());
    writer.attach(graph).expect("it is its own graph");

    let mut group = criterion.benchmark_group("vector");
    let index = writer.publish();
    let queries = QuerySet::new(&corpus, QUERIES, &index, NoteSet::All);
    for ef in EFS {
        let index = index.with_params(VectorParams { ef, ..params });
        let recall = queries.report(&format!("walk_ef{ef}"), &index);
        assert!(ef < VectorParams::default().ef || recall >= LEAST_RECALL, "{recall} at {ef}");
        queries.measure(&mut group, &format!("walk_ef{ef}"), &index);
    }

    let one_of = |step: usize| (0..n_rows).step_by(step).map(note).collect::<NoteSet>();
    let mut ask = |name: &str, index: &VectorIndex, filter: NoteSet, least: f64| {
        let queries = QuerySet::new(&corpus, QUERIES / 4, index, filter);
        let recall = queries.report(name, index);
        assert!(recall >= least, "{name}: {recall}");
        queries.measure(&mut group, name, index);
    };
    ask("half_of_the_notes", &index, one_of(2), LEAST_RECALL);
    ask("fifth_of_the_notes", &index, one_of(5), LEAST_RECALL);
    // So few that they are scanned.
    ask("tenth_of_the_notes", &index, one_of(10), 1.0);
    append(&mut writer, &corpus.tail);
    let deleted: Vec<RowId> = row_ids(n_rows).step_by(DELETED).collect();
    writer.delete(&deleted).expect("the rows exist");
    ask("tail_and_deletions", &writer.publish(), NoteSet::All, LEAST_RECALL);
    group.finish();
}

/// Queries with their nearest rows by plain arithmetic, best first.
struct QuerySet<'c> {
    queries: &'c [Vec<f32>],
    filter: NoteSet,
    truth: Vec<Vec<RowId>>,
    /// Number of rows of the corpus, which names the measurement.
    n_rows: usize,
}

impl<'c> QuerySet<'c> {
    fn new(corpus: &'c Corpus, n_queries: usize, index: &VectorIndex, filter: NoteSet) -> Self {
        let queries = &corpus.queries[..n_queries];
        let truth = queries.iter().map(|query| nearest(index, query, &filter)).collect();
        Self { queries, filter, truth, n_rows: corpus.rows.len() }
    }

    fn hits(&self, index: &VectorIndex, query: &[f32]) -> Vec<RowId> {
        let hits = index.nearest(query, K, &self.filter).expect("the query has length one");
        hits.iter().map(|hit| hit.row).collect()
    }

    /// Returns the share of the nearest rows that `index` finds.
    fn recall(&self, index: &VectorIndex) -> f64 {
        let found = self.queries.iter().zip(&self.truth).map(|(query, truth)| {
            self.hits(index, query).iter().filter(|row| truth.contains(row)).count()
        });
        found.sum::<usize>() as f64 / (K * self.queries.len()) as f64
    }

    /// Prints the recall, and the rate if it is measured; returns the recall.
    fn report(&self, name: &str, index: &VectorIndex) -> f64 {
        let recall = self.recall(index);
        if is_measured() {
            let mut turn = self.queries.iter().cycle();
            let rate = per_cpu_second(QUERIES, || {
                let query = turn.next().expect("there are queries");
                drop(index.nearest(black_box(query), K, &self.filter));
            });
            println!(
                "vector/{name}/{}: recall@{K} {recall:.4}, {rate:.0} queries per CPU-second",
                self.n_rows
            );
        }
        recall
    }

    fn measure(&self, group: &mut BenchmarkGroup<'_, WallTime>, name: &str, index: &VectorIndex) {
        group.throughput(Throughput::Elements(1));
        let mut turn = self.queries.iter().cycle();
        group.bench_function(BenchmarkId::new(name, self.n_rows), |bencher| {
            bencher.iter(|| {
                let query = turn.next().expect("there are queries");
                index.nearest(black_box(query), K, &self.filter)
            });
        });
    }
}

/// Returns the `K` nearest of the live rows whose notes pass `filter`, by plain arithmetic.
fn nearest(index: &VectorIndex, query: &[f32], filter: &NoteSet) -> Vec<RowId> {
    let mut scored: Vec<(f64, RowId)> = row_ids(index.n_rows())
        .filter(|row| index.owner(*row).is_some_and(|note| filter.contains(note)))
        .filter_map(|row| {
            let vector = index.vector(row)?;
            let score = vector.iter().zip(query).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
            Some((score, row))
        })
        .collect();
    let better = |a: &(f64, RowId), b: &(f64, RowId)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    scored.select_nth_unstable_by(K, better);
    scored.truncate(K);
    scored.sort_by(better);
    scored.into_iter().map(|(_, row)| row).collect()
}
