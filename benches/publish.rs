//! Publishing one edited note as the next generation, in memory: table, names, links, graph, words, snapshot.
//!
//! This is the cost of an edit without reading its file and waiting for the disk, which `edit` includes.

use criterion::{BenchmarkId, Criterion};
use weft_benches::vault::{entry, file, notes, words};
use weft_benches::{SIZES, sizes, word};
use weft_index::keyword::{KeywordDocument, KeywordEncoder, KeywordWriter, QueryOptions};
use weft_index::notes::Change;
use weft_index::{Publisher, Snapshot};
use weft_model::NoteSet;
use weft_testkit::Random;

pub(crate) fn bench(criterion: &mut Criterion) {
    sizes(&SIZES).into_iter().for_each(|n_notes| edit(criterion, n_notes));
}

/// A published vault and its writer.
struct PublishedVault {
    keyword: KeywordWriter,
    encoder: KeywordEncoder,
    publisher: Publisher,
    random: Random,
    n_notes: usize,
}

impl PublishedVault {
    fn new(n_notes: usize) -> Self {
        let mut random = Random::new(43);
        let notes = notes(&mut random, n_notes);
        let keyword = words(&notes);
        let first =
            Snapshot { generation: 1, notes, keyword: keyword.reader().clone(), vectors: None };
        let encoder = keyword.encoder();
        Self { keyword, encoder, publisher: Publisher::new(first), random, n_notes }
    }

    /// Replaces a note by one with other words and links, `planted` included, and publishes it.
    fn edit(&mut self, planted: &str) {
        let before = self.publisher.newest();
        let generation = before.generation + 1;
        let at = self.random.below(self.n_notes);
        let (path, text) = file(&mut self.random, at, self.n_notes);
        let change = Change::Upsert(entry((path, text + planted), generation));
        let (notes, delta) = before.notes.edited(&[change]);
        for note in delta.upserted {
            let entry = notes.entry(note).expect("it was put there");
            let words = self.encoder.encode(&KeywordDocument::of(entry));
            self.keyword.upsert(note, words).expect("memory takes everything");
        }
        let keyword = self.keyword.commit(generation).expect("memory takes everything");
        self.publisher.publish(Snapshot { generation, notes, keyword, vectors: None });
    }

    fn finds(&self, word: &str) -> bool {
        let keyword = &self.publisher.newest().keyword;
        let query = keyword.parse(word, &QueryOptions::default()).expect("memory can be read");
        !keyword.search(&query, 1, &NoteSet::All).expect("memory can be read").is_empty()
    }
}

fn edit(criterion: &mut Criterion, n_notes: usize) {
    let mut vault = PublishedVault::new(n_notes);
    assert!(!vault.finds("planted"));
    vault.edit("planted");
    assert!(vault.finds("planted") && vault.finds(&word(3)));
    let mut group = criterion.benchmark_group("publish");
    group.sample_size(50);
    group.bench_function(BenchmarkId::new("edit", n_notes), |bencher| {
        bencher.iter(|| vault.edit(""));
    });
    group.finish();
    assert_eq!(vault.publisher.newest().notes.n_notes(), n_notes);
}
