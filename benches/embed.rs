//! Embedding texts with the bundled models on one thread.
//!
//! Writes the texts to `target/tmp` for `compare/embed.py`, which embeds them with another program; if that script put a library of ONNX Runtime there, it is measured too.
#![expect(clippy::print_stdout, reason = "criterion does not measure processor time")]

use std::fs;
use std::hint::black_box;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput};
use weft_benches::clock::process_cpu;
use weft_benches::{is_measured, text};
use weft_index::embedder::{Embedder, Role};
use weft_indexer::embed::{ENGLISH, EmbeddingSettings, MULTILINGUAL, Runner, open};
use weft_testkit::Random;

/// Tokens of a text, the two special ones included: a line, half of the model's window, and the whole window.
const TOKENS: [usize; 3] = [32, 128, 256];

/// Number of special tokens.
const SPECIAL: usize = 2;

/// Number of texts of a batch.
const TEXTS: usize = 8;

/// Number of batches, of which the median is reported.
const ROUNDS: usize = 9;

/// Folder of the files exchanged with the other program.
const LEFT: &str = env!("CARGO_TARGET_TMPDIR");

pub(crate) fn bench(criterion: &mut Criterion) {
    let named = |model: &str| EmbeddingSettings {
        model: model.to_owned(),
        threads: NonZeroUsize::new(1),
        ..Default::default()
    };
    measure(criterion, "bundled-multilingual", &named(MULTILINGUAL));
    let bundled = named(ENGLISH);
    measure(criterion, "bundled-english", &bundled);
    let library = Path::new(LEFT).join("libonnxruntime.so");
    if library.exists() {
        let onnx = EmbeddingSettings { runner: Runner::Onnx, library: Some(library), ..bundled };
        measure(criterion, "fastembed", &onnx);
    }
}

fn measure(criterion: &mut Criterion, name: &str, settings: &EmbeddingSettings) {
    let opened = open(settings).expect("the bundled model opens");
    assert!(opened.notes.is_empty(), "{:?}", opened.notes);
    let embedder = opened.embedder.expect("the bundled model is an embedder");
    let sentences =
        ["How is bread baked?", "A recipe for a loaf from one's own oven", "The treaty ends"];
    let sentences = embedder.embed(&sentences, Role::Document).expect("the model is ours");
    let alike =
        |other: usize| sentences[0].iter().zip(&sentences[other]).map(|(a, b)| a * b).sum::<f32>();
    assert!(
        alike(0) > 0.999 && alike(1) > alike(2) + 0.02,
        "vectors of similar sentences are similar"
    );
    let mut random = Random::new(37);
    let mut group = criterion.benchmark_group("embed");
    group.sample_size(10);
    group.throughput(Throughput::Elements(TEXTS as u64));
    for n_tokens in TOKENS {
        let texts: Vec<String> =
            (0..TEXTS).map(|_| sized(&mut random, &*embedder, n_tokens)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let ask = || embedder.embed(black_box(&texts), Role::Document).expect("the model is ours");
        let vectors = ask();
        assert!(vectors.len() == TEXTS && vectors == ask(), "the same texts have the same vectors");
        group.bench_function(BenchmarkId::new(name, n_tokens), |bencher| bencher.iter(ask));
        if is_measured() {
            let words: Vec<String> = texts.iter().map(|text| format!("\"{text}\"")).collect();
            let path = Path::new(LEFT).join(format!("texts-{n_tokens}.json"));
            fs::write(path, format!("[{}]", words.join(","))).expect("there is room");
            let mut times: Vec<Duration> = (0..ROUNDS)
                .map(|_| {
                    let before = process_cpu();
                    ask();
                    process_cpu() - before
                })
                .collect();
            times.sort_unstable();
            let rate = TEXTS as f64 / times[ROUNDS / 2].as_secs_f64();
            println!("embed/{name}/{n_tokens}: {rate:.1} texts per CPU-second");
        }
    }
    group.finish();
}

/// Returns a text of `n_tokens`, special ones included.
fn sized(random: &mut Random, embedder: &dyn Embedder, n_tokens: usize) -> String {
    let mut cut = text(random, n_tokens);
    while embedder.n_tokens(&cut) + SPECIAL > n_tokens {
        let end = cut.rfind(' ').expect("there are words");
        cut.truncate(end);
    }
    cut
}
