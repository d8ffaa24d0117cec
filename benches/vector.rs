//! The chunks nearest to a query: every row scanned, or a graph of near rows walked.
//!
//! What is walked is left in `target/tmp` for `compare/vectors.py`, which gives another index the same.
#![expect(clippy::print_stdout, reason = "what is found stands beside how fast")]

use std::collections::HashSet;
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
use weft_index::vector::{
    GraphParams, RowId, VectorIndex, VectorParams, VectorSearch as _, VectorWriter,
};
use weft_model::{NoteId, NoteSet};
use weft_testkit::Random;

/// Rows of the indexes. All but the last are scanned, of which the most are the most that are.
const SIZES: [usize; 4] = [1_000, 10_000, 50_000, WALKED];

/// Rows that are walked.
const WALKED: usize = 100_000;

/// Rows a walk keeps in sight: less is faster and finds less.
const EFS: [usize; 6] = [16, 32, 64, 128, 256, 512];

/// Chunks asked for.
const K: usize = 10;

/// Queries that are asked in turn, and that recall is the mean of.
const QUERIES: usize = 400;

/// What the walk must find of the nearest rows at the default `ef`, in clusters that are wider than those of texts and whose rows are harder to tell apart; .997 are found.
const LEAST_RECALL: f64 = 0.995;

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

/// An index of `n_rows` around a few dozen centres, and queries around the same.
fn index(n_rows: usize, params: VectorParams) -> (VectorIndex, Vec<Vec<f32>>) {
    let mut rows = vectors(&mut Random::new(11), n_rows + QUERIES, DIMENSION);
    let queries = rows.split_off(n_rows);
    if n_rows == WALKED {
        leave("vectors", &rows);
        leave("queries", &queries);
    }
    let mut writer = VectorWriter::in_memory(DIMENSION, params).expect("the dimension is in range");
    let owned: Vec<(NoteId, &[f32])> =
        rows.iter().enumerate().map(|(at, row)| (note(at), row.as_slice())).collect();
    writer.append(&owned).expect("rows have length one");
    (writer.publish(), queries)
}

/// Writes `rows` as floats, little-endian and without anything between them.
fn leave(name: &str, rows: &[Vec<f32>]) {
    let bytes: Vec<u8> = rows.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name).with_extension("f32");
    fs::write(path, bytes).expect("there is room");
}

fn exact(criterion: &mut Criterion, n_rows: usize) {
    let (index, queries) = index(n_rows, VectorParams::default());
    for query in &queries {
        assert_eq!(found(&index, query), nearest(&index, query), "the scan is exact");
    }
    let mut group = criterion.benchmark_group("vector");
    measure(&mut group, "exact", &index, &queries);
    group.finish();
}

fn walk(criterion: &mut Criterion, n_rows: usize) {
    let params = VectorParams {
        exact_below: 0,
        // All cores: what is measured is the walk, not that two builds are equal.
        graph: GraphParams { parallel: true, ..GraphParams::default() },
        ..VectorParams::default()
    };
    let (index, queries) = index(n_rows, params);
    let before = process_cpu();
    let graph = Arc::new(index.build_graph());
    let built: Duration = process_cpu() - before;
    println!("vector/build/{n_rows}: {built:.1?} of processor time, {} bytes", graph.n_bytes());
    let index = index.with_graph(graph).expect("it is its own graph");
    let truth: Vec<HashSet<RowId>> =
        queries.iter().map(|query| nearest(&index, query).into_iter().collect()).collect();
    let mut group = criterion.benchmark_group("vector");
    for ef in EFS {
        let index = index.with_params(VectorParams { ef, ..params });
        let hits = queries.iter().zip(&truth).map(|(query, truth)| {
            found(&index, query).iter().filter(|row| truth.contains(row)).count()
        });
        let recall = hits.sum::<usize>() as f64 / (K * queries.len()) as f64;
        if is_measured() {
            let mut turn = queries.iter().cycle();
            let rate = per_cpu_second(queries.len(), || {
                let query = turn.next().expect("there are queries");
                drop(index.nearest(black_box(query), K, &NoteSet::All));
            });
            println!(
                "vector/walk_ef{ef}/{n_rows}: recall@{K} {recall:.4}, {rate:.0} queries per CPU-second"
            );
        }
        assert!(ef < VectorParams::default().ef || recall >= LEAST_RECALL, "{recall} at {ef}");
        measure(&mut group, &format!("walk_ef{ef}"), &index, &queries);
    }
    group.finish();
}

fn measure(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    index: &VectorIndex,
    queries: &[Vec<f32>],
) {
    group.throughput(Throughput::Elements(1));
    let mut turn = queries.iter().cycle();
    group.bench_function(BenchmarkId::new(name, index.n_rows()), |bencher| {
        bencher.iter(|| {
            let query = turn.next().expect("there are queries");
            index.nearest(black_box(query), K, &NoteSet::All)
        });
    });
}

fn found(index: &VectorIndex, query: &[f32]) -> Vec<RowId> {
    let hits = index.nearest(query, K, &NoteSet::All).expect("the query has length one");
    hits.iter().map(|hit| hit.row).collect()
}

/// The `K` nearest rows by plain arithmetic.
fn nearest(index: &VectorIndex, query: &[f32]) -> Vec<RowId> {
    let rows = (0..index.n_rows()).filter_map(|row| Some(RowId::new(u32::try_from(row).ok()?)));
    let mut scored: Vec<(f64, RowId)> = rows
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
