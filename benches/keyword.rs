//! Notes to a word index, and words to notes.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput};
use weft_benches::{SIZES, note, sizes, text, word};
use weft_index::keyword::{
    KeywordDocument, KeywordReader, KeywordSettings, KeywordWriter, QueryOptions,
};
use weft_model::NoteSet;
use weft_testkit::Random;

/// Words of a note.
const WORDS_PER_NOTE: usize = 200;

/// Notes asked for.
const K: usize = 10;

pub(crate) fn bench(criterion: &mut Criterion) {
    build(criterion);
    search(criterion);
}

fn bodies(n_notes: usize) -> Vec<String> {
    let mut random = Random::new(5);
    (0..n_notes).map(|_| text(&mut random, WORDS_PER_NOTE)).collect()
}

fn indexed(bodies: &[String]) -> KeywordReader {
    let (mut writer, _) =
        KeywordWriter::in_memory(KeywordSettings::default()).expect("the settings are sound");
    for (at, body) in bodies.iter().enumerate() {
        let document = KeywordDocument {
            version: 1,
            title: "",
            aliases: Vec::new(),
            headings: Vec::new(),
            tags: Vec::new(),
            body,
        };
        writer.upsert(note(at), &document).expect("memory takes everything");
    }
    writer.commit(1).expect("memory takes everything")
}

fn build(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("keyword");
    group.sample_size(10);
    for n_notes in sizes(&SIZES[..2]) {
        let bodies = bodies(n_notes);
        assert_eq!(indexed(&bodies).n_notes(), n_notes);
        group.throughput(Throughput::Elements(n_notes as u64));
        group.bench_function(BenchmarkId::new("build", n_notes), |bencher| {
            bencher.iter(|| indexed(black_box(&bodies)));
        });
    }
    group.finish();
}

/// A frequent and three rarer words, each an alternative to the others.
fn search(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("keyword");
    group.throughput(Throughput::Elements(1));
    let words = [word(3), word(700), word(5_000), word(15_000)];
    for n_notes in sizes(&SIZES) {
        let bodies = bodies(n_notes);
        let reader = indexed(&bodies);
        let options = QueryOptions::default();
        let ask = |text: &str| {
            let query = reader.parse(text, &options).expect("memory can be read");
            reader.search(&query, K, &NoteSet::All).expect("memory can be read")
        };
        let query = words.join(" ");
        let found = ask(&query);
        assert_eq!(found.len(), K);
        let body = &bodies[found[0].note.index()];
        let n_held = words.iter().filter(|word| body.split(' ').any(|held| held == *word)).count();
        assert!(n_held >= 2, "the best note holds {n_held} of the words");
        group.bench_function(BenchmarkId::new("four_words", n_notes), |bencher| {
            bencher.iter(|| ask(black_box(&query)));
        });
    }
    group.finish();
}
