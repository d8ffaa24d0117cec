//! Searches while stored vectors are still being loaded.

use std::sync::Arc;
use std::time::{Duration, Instant};

use weft_engine::{SearchMode, SearchRequest};
use weft_index::vector::VectorParams;
use weft_index::{VectorLoadGuard, Vectors};

use crate::vault::{Vault, messages, request, uris, vault};

const FILES: [(&str, &str); 3] = [
    ("moss.md", "# Moss\nsoft and green, by the [[stone]]\n"),
    ("stone.md", "# Stone\nhard and grey\n"),
    ("fern.md", "# Fern\ngreen in the shade\n"),
];

/// A request whose answer contains no times.
fn asked(mode: SearchMode) -> SearchRequest {
    SearchRequest { mode, explain: false, ..request("green stone") }
}

/// Returns the vault while its vectors are loaded (its last chunk has none), the vectors, and the guard of the loader.
fn unread() -> (Vault, Vectors, VectorLoadGuard) {
    let mut vault = incomplete();
    let vectors = vault.snapshot.vectors.take().expect("there is a model");
    let rows = (vectors.rows.clone(), vectors.n_waiting);
    let awaited = Vectors::loading(Arc::clone(&vectors.embedder), VectorParams::default(), rows);
    let (instead, reading) = awaited.expect("the dimension is in range");
    vault.snapshot.vectors = Some(instead);
    (vault, vectors, reading)
}

/// Returns the vault with one note whose vector is pending.
fn incomplete() -> Vault {
    let mut vault = vault(&FILES);
    let id = vault.snapshot.notes.find("fern").note.expect("a note");
    let vectors = vault.snapshot.vectors.as_mut().expect("there is a model");
    vectors.rows.set(id, &[None]);
    vectors.n_waiting = 1;
    vault
}

#[test]
fn keyword_search_does_not_wait_and_vector_search_does() {
    let whole = incomplete();
    let (vault, vectors, reading) = unread();
    let by_word = vault.ask(&asked(SearchMode::Keyword));
    assert_eq!(by_word, whole.ask(&asked(SearchMode::Keyword)), "keyword search does not wait");
    assert!(
        by_word.hits.iter().any(|hit| hit.embedding_current)
            && by_word.hits.iter().any(|hit| !hit.embedding_current)
    );
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
fn missing_vectors_are_reported_without_time_or_loader() {
    let (vault, vectors, reading) = unread();
    let instead = vault.snapshot.vectors.as_ref().expect("there is a model");
    assert_eq!(instead.wait_loaded(Some(Instant::now())).index.n_rows(), 0);
    assert!(instead.is_loading() && vectors.index.n_rows() > 0);
    // The loader failed.
    drop(reading);
    assert!(!instead.is_loading());
    let by_word = vault.ask(&asked(SearchMode::Hybrid));
    assert_eq!(messages(&by_word.warnings), ["3 chunks have no vector yet"]);
    assert!(uris(&by_word).contains(&"moss"), "{:?}", uris(&by_word));
    assert_eq!(vault.ask(&asked(SearchMode::Vector)).hits, []);
}
