//! A file to a note with its links, and to chunks.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput};
use weft_benches::vault::file;
use weft_indexer::chunk::{ChunkLimits, chunks};
use weft_indexer::parse::{ParseOptions, parse};
use weft_testkit::Random;

/// Files of a corpus; what one costs does not depend on it.
const N_FILES: usize = 1_000;

pub(crate) fn bench(criterion: &mut Criterion) {
    let mut random = Random::new(23);
    let files: Vec<_> = (0..N_FILES).map(|at| file(&mut random, at, N_FILES)).collect();
    let options = ParseOptions::default();
    let words = |text: &str| text.split_whitespace().count();
    let (note, diagnostics) = parse(&files[0].0, files[0].1.as_bytes(), &options);
    // Six in the text and one in a property.
    assert_eq!((note.links.len(), note.headings.len(), diagnostics.len()), (7, 2, 0));

    let mut group = criterion.benchmark_group("parse");
    let n_bytes: usize = files.iter().map(|(_, text)| text.len()).sum();
    group.throughput(Throughput::Bytes(n_bytes as u64));
    group.bench_function(BenchmarkId::new("notes", N_FILES), |bencher| {
        bencher.iter(|| {
            for (path, text) in &files {
                black_box(parse(path, black_box(text).as_bytes(), &options));
            }
        });
    });
    let notes: Vec<_> =
        files.iter().map(|(path, text)| parse(path, text.as_bytes(), &options).0).collect();
    group.bench_function(BenchmarkId::new("chunks", N_FILES), |bencher| {
        bencher.iter(|| {
            for note in &notes {
                black_box(chunks(black_box(note), &words, &ChunkLimits::default()));
            }
        });
    });
    group.finish();
}
