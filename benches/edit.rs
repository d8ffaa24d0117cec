//! From a saved note to a hit: the cost of an edit by the size of the vault.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, channel};

use criterion::{BenchmarkId, Criterion};
use tempfile::TempDir;
use weft_benches::vault::TextHashEmbedder;
use weft_benches::{SIZES, sizes, text, word};
use weft_index::embedder::Embedder;
use weft_index::keyword::QueryOptions;
use weft_index::vector::{GraphParams, VectorParams};
use weft_indexer::{
    IndexSettings, Indexer, Precondition, VaultSettings, WatchOptions, WriteContent, WriteRequest,
};
use weft_model::NoteSet;
use weft_testkit::Random;

/// Number of words of a note.
const WORDS_PER_NOTE: usize = 200;

/// Number of notes of a folder.
const NOTES_PER_FOLDER: usize = 100;

/// An edit must not cost more in a larger vault.
pub(crate) fn bench(criterion: &mut Criterion) {
    sizes(&SIZES).into_iter().for_each(|n_notes| edit(criterion, n_notes));
}

fn path(n: usize) -> String {
    format!("{}/note{n}.md", n / NOTES_PER_FOLDER)
}

/// A vault on disk and an index that watches it.
struct WatchedVault {
    indexer: Indexer,
    /// Generations as they are published.
    generations: Receiver<u64>,
    folder: TempDir,
}

impl WatchedVault {
    fn new(n_notes: usize, embedder: Option<Arc<dyn Embedder>>) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (root, mut random) = (folder.path().join("vault"), Random::new(7));
        for n in 0..n_notes {
            let links = [n / 2, random.below(n_notes)].map(|to| format!("[[note{to}]]"));
            let body =
                format!("# Note {n}\n{}\n{}\n", links.join(" "), text(&mut random, WORDS_PER_NOTE));
            let file = root.join(path(n));
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            std::fs::write(file, body).expect("a file");
        }
        let settings = IndexSettings {
            store: folder.path().join("store"),
            vaults: vec![VaultSettings { name: "vault".into(), root }],
            // Without delays, the time is that of the index itself; a daemon waits 100 ms for the end of a burst.
            watch: WatchOptions { debounce_ms: 0, ..WatchOptions::default() },
            vector: VectorParams {
                // All cores, so that the index is ready sooner.
                graph: GraphParams { parallel: true, ..GraphParams::default() },
                ..VectorParams::default()
            },
            ..IndexSettings::default()
        };
        let indexer = Indexer::open(settings, embedder, None).expect("an index");
        indexer.wait_vectors(&AtomicBool::new(false), &mut |_| ()).expect("a generation");
        assert_eq!(indexer.status().n_notes, n_notes);
        let (sender, generations) = channel();
        indexer.listen(move |generation| {
            let _ = sender.send(generation);
        });
        let vault = Self { indexer, generations, folder };
        // Building a graph over the vectors is not part of the measurement.
        while vault.lacks_a_graph() {
            vault.generations.recv().expect("a generation");
        }
        vault
    }

    fn lacks_a_graph(&self) -> bool {
        let vectors = self.indexer.reader().snapshot().vectors.clone();
        vectors.is_some_and(|vectors| vectors.index.needs_rebuild())
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file as any program would.
    fn save(&self, path: &str, body: &str) {
        std::fs::write(self.root().join("vault").join(path), body).expect("a file");
    }

    /// Waits until a note with `word` is found, with its vectors if `with_vectors`.
    fn wait(&self, word: &str, with_vectors: bool) {
        while !self.finds(word, with_vectors) {
            self.generations.recv().expect("a generation");
        }
    }

    /// Checks that a word is found only after a file with it was saved, and no longer after another edit removed it.
    fn check(&self, edits: &mut Edits, with_vectors: bool) {
        let (path, body, planted) = edits.next();
        assert!(!self.finds(&planted, false));
        self.save(&path, &body);
        self.wait(&planted, with_vectors);
        let (_, other, instead) = edits.next();
        self.save(&path, &other);
        self.wait(&instead, with_vectors);
        assert!(!self.finds(&planted, false));
    }

    fn finds(&self, word: &str, with_vectors: bool) -> bool {
        let snapshot = self.indexer.reader().snapshot();
        let query = snapshot.keyword.parse(word, &QueryOptions::default()).expect("a query");
        let hits = snapshot.keyword.search(&query, 1, &NoteSet::All).expect("hits");
        hits.first().is_some_and(|hit| !with_vectors || snapshot.is_embedding_current(hit.note))
    }
}

/// Edits of a vault, each with a unique word.
struct Edits {
    n_notes: usize,
    n: usize,
    random: Random,
}

impl Edits {
    const fn new(n_notes: usize) -> Self {
        Self { n_notes, n: 0, random: Random::new(11) }
    }

    /// Returns the path of a note, its new text, and the word that no other note contains.
    fn next(&mut self) -> (String, String, String) {
        self.n += 1;
        let (n_notes, random) = (self.n_notes, &mut self.random);
        let planted = format!("planted{}x", self.n);
        let links = [0, 1].map(|_| format!("[[note{}]]", random.below(n_notes)));
        let title = word(3);
        let words = text(random, WORDS_PER_NOTE);
        let body = format!("# {title}\n{planted} {}\n{words}\n", links.join(" "));
        (path(random.below(n_notes)), body, planted)
    }
}

fn edit(criterion: &mut Criterion, n_notes: usize) {
    let mut group = criterion.benchmark_group("edit");
    group.sample_size(20);
    let (vault, mut edits) = (WatchedVault::new(n_notes, None), Edits::new(n_notes));
    vault.check(&mut edits, false);
    group.bench_function(BenchmarkId::new("save", n_notes), |bencher| {
        bencher.iter(|| {
            let (path, body, planted) = edits.next();
            vault.save(&path, &body);
            vault.wait(&planted, false);
        });
    });
    group.bench_function(BenchmarkId::new("put", n_notes), |bencher| {
        bencher.iter(|| {
            let (path, body, planted) = edits.next();
            let (content, expected) = (WriteContent::Whole(body), Precondition::Anything);
            let write = WriteRequest::Put { vault: None, path, content, expected };
            vault.indexer.write(write).expect("written");
            assert!(vault.finds(&planted, false));
        });
    });
    // One index at a time: an index persists its edits while the next is measured.
    drop(vault);
    // `embed` measures the model; this embedder takes no time.
    let embedder: Arc<dyn Embedder> = Arc::new(TextHashEmbedder::default());
    let (vault, mut edits) = (WatchedVault::new(n_notes, Some(embedder)), Edits::new(n_notes));
    vault.check(&mut edits, true);
    group.bench_function(BenchmarkId::new("meaning", n_notes), |bencher| {
        bencher.iter(|| {
            let (path, body, planted) = edits.next();
            vault.save(&path, &body);
            vault.wait(&planted, true);
        });
    });
    group.finish();
}
