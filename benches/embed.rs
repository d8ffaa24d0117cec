//! Texts to vectors by the bundled model, on one thread.
#![forbid(unsafe_code)]

use std::hint::black_box;
use std::num::NonZeroUsize;

use criterion::{BenchmarkId, Criterion, Throughput};
use weft_benches::{run, text};
use weft_index::embedder::Role;
use weft_indexer::embed::{EmbeddingSettings, open};
use weft_testkit::Random;

/// Tokens of a text: half of the model's window, and all of it.
const TOKENS: [usize; 2] = [128, 254];

/// Texts of a batch.
const TEXTS: usize = 8;

fn main() {
    run(bundled);
}

fn bundled(criterion: &mut Criterion) {
    let settings =
        EmbeddingSettings { threads: NonZeroUsize::new(1), ..EmbeddingSettings::default() };
    let embedder = open(&settings).expect("the bundled model opens").embedder;
    let embedder = embedder.expect("the bundled model is a model");
    let mut random = Random::new(37);
    let mut group = criterion.benchmark_group("embed");
    group.sample_size(10);
    group.throughput(Throughput::Elements(TEXTS as u64));
    for n_tokens in TOKENS {
        let texts: Vec<String> = (0..TEXTS)
            .map(|_| {
                let mut cut = text(&mut random, n_tokens);
                while embedder.n_tokens(&cut) > n_tokens {
                    let end = cut.rfind(' ').expect("there are words");
                    cut.truncate(end);
                }
                cut
            })
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let ask = || embedder.embed(black_box(&texts), Role::Document).expect("the model is ours");
        let vectors = ask();
        assert!(vectors.len() == TEXTS && vectors == ask(), "the same texts, the same vectors");
        group.bench_function(BenchmarkId::new("bundled", n_tokens), |bencher| bencher.iter(ask));
    }
    group.finish();
}
