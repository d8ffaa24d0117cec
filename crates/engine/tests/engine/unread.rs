//! Questions asked while the stored vectors are still read back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use weft_engine::{SearchMode, SearchRequest};
use weft_index::vector::VectorParams;
use weft_index::{Reading, Vectors};

use crate::vault::{Vault, request, uris, vault};

const FILES: [(&str, &str); 3] = [
    ("moss.md", "# Moss\nsoft and green, by the [[stone]]\n"),
    ("stone.md", "# Stone\nhard and grey\n"),
    ("fern.md", "# Fern\ngreen in the shade\n"),
];

/// A request whose answer tells no times.
fn asked(mode: SearchMode) -> SearchRequest {
    SearchRequest { mode, explain: false, ..request("green stone") }
}

/// The vault while its vectors are read back, the last chunk of which has none, these, and who reads them.
fn unread() -> (Vault, Vectors, Reading) {
    let mut vault = incomplete();
    let vectors = vault.snapshot.vectors.take().expect("there is a model");
    let rows = (vectors.rows.clone(), vectors.n_waiting);
    let awaited = Vectors::awaited(Arc::clone(&vectors.embedder), VectorParams::default(), rows);
    let (instead, reading) = awaited.expect("the dimension is in range");
    vault.snapshot.vectors = Some(instead);
    (vault, vectors, reading)
}

/// The vault, one of whose notes waits for its vector.
fn incomplete() -> Vault {
    let mut vault = vault(&FILES);
    let id = vault.snapshot.notes.find("fern").note.expect("a note");
    let vectors = vault.snapshot.vectors.as_mut().expect("there is a model");
    vectors.rows.set(id, &[None]);
    vectors.n_waiting = 1;
    vault
}

#[test]
fn words_answer_at_once_and_meaning_once_vectors_are_there() {
    let whole = incomplete();
    let (vault, vectors, reading) = unread();
    let by_word = vault.ask(&asked(SearchMode::Keyword));
    assert_eq!(by_word, whole.ask(&asked(SearchMode::Keyword)), "nobody reads them yet");
    assert!(by_word.hits.iter().any(|hit| hit.fresh) && by_word.hits.iter().any(|hit| !hit.fresh));
    let nothing = SearchRequest { query: "-stone".into(), ..asked(SearchMode::Hybrid) };
    assert_eq!(vault.ask(&nothing), whole.ask(&nothing), "nothing is compared");
    std::thread::scope(|scope| {
        let waiting = [SearchMode::Hybrid, SearchMode::Vector].map(|mode| {
            let engine = vault.engine();
            scope.spawn(move || engine.search(&asked(mode)).expect("an answer"))
        });
        std::thread::sleep(Duration::from_millis(20));
        assert!(waiting.iter().all(|waiting| !waiting.is_finished()), "they are not read yet");
        reading.done(vectors);
        for (waiting, mode) in waiting.into_iter().zip([SearchMode::Hybrid, SearchMode::Vector]) {
            assert_eq!(waiting.join().expect("an answer"), whole.ask(&asked(mode)), "{mode:?}");
        }
    });
}

#[test]
fn who_has_no_time_or_no_vectors_to_wait_for_is_told() {
    let (vault, vectors, reading) = unread();
    let instead = vault.snapshot.vectors.as_ref().expect("there is a model");
    assert_eq!(instead.read_back(Some(Instant::now())).index.n_rows(), 0);
    assert!(instead.is_being_read() && vectors.index.n_rows() > 0);
    // Whoever read them met an error.
    drop(reading);
    assert!(!instead.is_being_read());
    let by_word = vault.ask(&asked(SearchMode::Hybrid));
    assert_eq!(by_word.degraded, ["vector: 3 passages have no vector yet"]);
    assert!(uris(&by_word).contains(&"moss"), "{:?}", uris(&by_word));
    assert_eq!(vault.ask(&asked(SearchMode::Vector)).hits, []);
}
