//! Parsing a file to a note with its links and chunks.

use std::hint::black_box;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput};
use weft_benches::vault::file;
use weft_benches::{SIZES, sizes};
use weft_indexer::chunk::{ChunkLimits, chunks};
use weft_indexer::parse::{ParseOptions, parse};
use weft_testkit::Random;

pub(crate) fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("parse");
    group.sample_size(10);
    sizes(&SIZES).into_iter().for_each(|n_files| parsed(&mut group, n_files));
    group.finish();
}

fn parsed(group: &mut BenchmarkGroup<'_, WallTime>, n_files: usize) {
    let mut random = Random::new(23);
    let files: Vec<_> = (0..n_files).map(|at| file(&mut random, at, n_files)).collect();
    let options = ParseOptions::default();
    let words = |text: &str| text.split_whitespace().count();
    let notes: Vec<_> = files
        .iter()
        .map(|(path, text)| {
            let (note, diagnostics) = parse(path, text.as_bytes(), &options);
            // Six in the text and one in a property.
            assert_eq!((note.links.len(), note.headings.len(), diagnostics.len()), (7, 2, 0));
            let chunks = chunks(&note, &words, &ChunkLimits::default());
            // One for each section.
            assert!(chunks.len() <= 2, "a note of 200 words has few chunks");
            note
        })
        .collect();

    let n_bytes: usize = files.iter().map(|(_, text)| text.len()).sum();
    group.throughput(Throughput::Bytes(n_bytes as u64));
    group.bench_function(BenchmarkId::new("notes", n_files), |bencher| {
        bencher.iter(|| {
            for (path, text) in &files {
                black_box(parse(path, black_box(text).as_bytes(), &options));
            }
        });
    });
    group.bench_function(BenchmarkId::new("chunks", n_files), |bencher| {
        bencher.iter(|| {
            for note in &notes {
                black_box(chunks(black_box(note), &words, &ChunkLimits::default()));
            }
        });
    });
}
