//! The chunks nearest to a query, every row scanned.
#![forbid(unsafe_code)]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput};
use weft_benches::{SIZES, note, run, vectors};
use weft_index::vector::{RowId, VectorParams, VectorSearch as _, VectorWriter};
use weft_model::{NoteId, NoteSet};
use weft_testkit::Random;

/// Floats of a vector, as the bundled model makes them.
const DIMENSION: usize = 384;

/// Chunks asked for.
const K: usize = 10;

fn main() {
    run(exact);
}

fn exact(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("vector");
    for n_notes in SIZES {
        let mut random = Random::new(11);
        let rows = vectors(&mut random, n_notes + 1, DIMENSION);
        let (query, rows) = rows.split_last().expect("there is one row more than notes");
        let mut writer = VectorWriter::in_memory(DIMENSION, VectorParams::default())
            .expect("the dimension is in range");
        let owned: Vec<(NoteId, &[f32])> =
            rows.iter().enumerate().map(|(at, row)| (note(at), row.as_slice())).collect();
        writer.append(&owned).expect("rows have length one");
        let index = writer.publish();

        let found = index.nearest(query, K, &NoteSet::All).expect("the query has length one");
        let found: Vec<RowId> = found.iter().map(|hit| hit.row).collect();
        assert_eq!(found, nearest(query, rows), "the scan is exact");
        group.throughput(Throughput::Elements(n_notes as u64));
        group.bench_function(BenchmarkId::new("exact", n_notes), |bencher| {
            bencher.iter(|| index.nearest(black_box(query), K, &NoteSet::All));
        });
    }
    group.finish();
}

/// The `K` nearest rows by plain arithmetic.
fn nearest(query: &[f32], rows: &[Vec<f32>]) -> Vec<RowId> {
    let score = |row: &Vec<f32>| -> f64 {
        row.iter().zip(query).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    let mut scored: Vec<(f64, u32)> = rows.iter().map(score).zip(0..).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.iter().take(K).map(|&(_, row)| RowId::new(row)).collect()
}
