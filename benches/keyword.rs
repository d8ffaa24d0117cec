//! Indexing notes in the keyword index, and searching it.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput};
use weft_benches::{SIZES, note, sizes, text, word};
use weft_index::keyword::{
    KeywordDocument, KeywordReader, KeywordSettings, KeywordWriter, QueryOptions,
};
use weft_model::NoteSet;
use weft_testkit::Random;

/// Number of words of a note.
const WORDS_PER_NOTE: usize = 200;

/// Number of words of a paragraph used as a query, none of them frequent or rare.
const PARAGRAPH: usize = 32;

/// Number of hits requested.
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
    let mut encoder = writer.encoder();
    for (at, body) in bodies.iter().enumerate() {
        let passages = weft_model::passages(body, &[]);
        let document = KeywordDocument { version: 1, body, passages, ..KeywordDocument::default() };
        writer.upsert(note(at), encoder.encode(&document)).expect("memory takes everything");
    }
    writer.commit(1).expect("memory takes everything")
}

fn build(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("keyword");
    group.sample_size(10);
    for n_notes in sizes(&SIZES) {
        let bodies = bodies(n_notes);
        assert_eq!(indexed(&bodies).n_notes(), n_notes);
        group.throughput(Throughput::Elements(n_notes as u64));
        group.bench_function(BenchmarkId::new("build", n_notes), |bencher| {
            bencher.iter(|| indexed(black_box(&bodies)));
        });
    }
    group.finish();
}

/// Searches for a word that most notes contain, one that few contain, four words and a paragraph as alternatives, and a phrase of two words.
fn search(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("keyword");
    group.throughput(Throughput::Elements(1));
    let words = [word(3), word(700), word(5_000), word(15_000)];
    let paragraph: Vec<String> = (0..PARAGRAPH).map(|at| word(300 + 80 * at)).collect();
    for n_notes in sizes(&SIZES) {
        let bodies = bodies(n_notes);
        let reader = indexed(&bodies);
        let options = QueryOptions::default();
        let ask = |text: &str| {
            let query = reader.parse(text, &options).expect("memory can be read");
            reader.search(&query, K, &NoteSet::All).expect("memory can be read")
        };
        let phrase = bodies[n_notes / 2].split(' ').take(2).collect::<Vec<_>>().join(" ");
        let queries = [
            ("frequent_word", word(3), vec![word(3)]),
            ("rare_word", word(5_000), vec![word(5_000)]),
            ("four_words", words.join(" "), words.to_vec()),
            ("paragraph", paragraph.join(" "), paragraph.clone()),
            ("phrase", format!("\"{phrase}\""), vec![phrase]),
        ];
        for (name, query, held) in queries {
            let found = ask(&query);
            let n_least = if name == "rare_word" || name == "phrase" { 1 } else { K };
            assert!(found.len() >= n_least, "{query}: {}", found.len());
            for hit in found {
                let body = format!(" {} ", bodies[hit.note.index()]);
                let n_held = held.iter().filter(|held| body.contains(&format!(" {held} "))).count();
                assert!(n_held > 0, "{query}: a hit contains none of the words");
            }
            group.bench_function(BenchmarkId::new(name, n_notes), |bencher| {
                bencher.iter(|| ask(black_box(&query)));
            });
        }
    }
    group.finish();
}
