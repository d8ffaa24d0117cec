//! A store whose files another program changes while the index runs.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use weft_engine::SearchMode;
use weft_indexer::{Indexer, Rescan};

use crate::durable::files;
use crate::fake::{FakeEmbedder, Place, search, settle, uris};

const FILES: &[(&str, &[u8])] = &[
    ("fern.md", b"# Fern\nA [[moss]] of the shade.\n"),
    ("moss.md", b"# Moss\nGreen and soft, by the [[stone]].\n"),
    ("stone.md", b"# Stone\nHard and grey.\n"),
];

const FULL: Rescan = Rescan { full: true, compact: false };
const COMPACT: Rescan = Rescan { full: false, compact: true };

/// The files of the store that end like this.
fn ending(place: &Place, end: &str) -> Vec<PathBuf> {
    let is_meant = |path: &PathBuf| path.to_string_lossy().ends_with(end);
    files(&place.store()).into_iter().filter(is_meant).collect()
}

/// Changes a byte of a file where it lies, as another program would.
fn flip(path: &Path, at: usize) {
    use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
    let mut file = std::fs::File::options().read(true).write(true).open(path).expect("a file");
    let mut byte = [0];
    file.seek(SeekFrom::Start(at as u64)).expect("a place");
    file.read_exact(&mut byte).expect("a byte");
    file.seek(SeekFrom::Start(at as u64)).expect("a place");
    file.write_all(&[byte[0] ^ 1]).expect("written");
}

/// What is found by word and by meaning.
fn found(indexer: &Indexer) -> Vec<Vec<String>> {
    let asked = ["shade", "soft", "grey", "hard moss"];
    let modes = [SearchMode::Keyword, SearchMode::Vector];
    let queries = asked.into_iter().flat_map(|query| modes.map(|mode| (query, mode)));
    let uris_of = |(query, mode)| {
        let answer = search(indexer, query, mode);
        uris(&answer).into_iter().map(str::to_owned).collect()
    };
    queries.map(uris_of).collect()
}

#[test]
fn vectors_that_another_program_changed_are_made_again_and_told_of_once() {
    for (name, rescan) in [("compaction", COMPACT), ("a full look", FULL)] {
        let place = Place::new(FILES);
        let embedder = FakeEmbedder::new();
        let indexer = place.open(&embedder);
        settle(&indexer);
        let (answers, n_embedded) = (found(&indexer), embedder.n_documents.load(Ordering::SeqCst));
        for path in ending(&place, "vec.f32") {
            // In the first row.
            flip(&path, 64 + 40);
        }
        indexer.rescan(rescan).expect(name);
        settle(&indexer);
        assert_eq!(embedder.n_documents.load(Ordering::SeqCst), n_embedded + 1, "{name}");
        assert_eq!(found(&indexer), answers, "{name}");
        let notices = indexer.status().notices;
        assert!(notices.len() == 1 && notices[0].contains("damaged"), "{name}: {notices:?}");
        indexer.stop();
        let indexer = place.open(&embedder);
        settle(&indexer);
        assert_eq!(found(&indexer), answers, "{name}");
        assert_eq!(embedder.n_documents.load(Ordering::SeqCst), n_embedded + 1, "{name}");
        assert_eq!(indexer.status().notices, [""; 0], "{name}");
    }
}

#[test]
fn a_vector_that_another_program_changed_is_not_copied() {
    let place = Place::new(FILES);
    let embedder = FakeEmbedder::new();
    let indexer = place.open(&embedder);
    settle(&indexer);
    let n_embedded = embedder.n_documents.load(Ordering::SeqCst);
    place.write("again/stone.md", FILES[2].1);
    settle(&indexer);
    assert_eq!(embedder.n_documents.load(Ordering::SeqCst), n_embedded, "it is copied");
    for path in ending(&place, "vec.f32") {
        (0..4).for_each(|row| flip(&path, 64 + row * 128 + 40));
    }
    place.write("once more/stone.md", FILES[2].1);
    settle(&indexer);
    assert_eq!(embedder.n_documents.load(Ordering::SeqCst), n_embedded + 1, "it is made");
}
