//! Rescans that fail or find no change, and what callers wait for.

use std::sync::atomic::Ordering;

use weft_engine::SearchMode;
use weft_indexer::{IndexError, Rescan, VaultSettings};

use crate::fixtures::{FakeEmbedder, Place, search, settle, uris};

#[test]
fn full_rescan_of_unchanged_files_publishes_nothing() {
    let place = Place::new(&[("fern.md", b"# Fern\n[[moss]]"), ("moss.md", b"shade")]);
    let indexer = place.open(&FakeEmbedder::new());
    let before = settle(&indexer);
    let full = Rescan { full: true, ..Rescan::default() };
    assert_eq!(indexer.rescan(full).expect("a rescan"), before);
    place.write("moss.md", b"light");
    assert!(indexer.rescan(full).expect("a rescan") > before);
}

#[test]
fn missing_vault_does_not_stop_the_others() {
    let (missing, other) = (Place::new(&[("fern.md", b"fern")]), Place::new(&[("yew.md", b"yew")]));
    let embedder = FakeEmbedder::new();
    let indexer = missing.open(&embedder);
    let vault =
        |name: &str, place: &Place| VaultSettings { name: name.into(), root: place.vault() };
    indexer.set_vaults(vec![vault("vault", &missing), vault("other", &other)]).expect("both");
    settle(&indexer);
    std::fs::rename(missing.vault(), missing.outside().join("away")).expect("a move");
    other.write("oak.md", b"oak");

    assert!(matches!(indexer.flush(), Err(IndexError::Vault { .. })));
    let found = |word: &str| {
        let answer = search(&indexer, word, SearchMode::Keyword);
        uris(&answer).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(found("oak"), ["other:oak"]);
    assert_eq!(found("fern"), ["vault:fern"], "the vault may come back");
    assert!(indexer.status().last_error.is_some());

    std::fs::rename(missing.outside().join("away"), missing.vault()).expect("a move");
    indexer.flush().expect("all vaults are present");
    assert_eq!(indexer.status().last_error, None);
}

#[test]
fn answers_warn_about_pending_vectors() {
    let place = Place::new(&[("fern.md", b"# Fern\nshade")]);
    let embedder = FakeEmbedder::new();
    let indexer = place.open(&embedder);
    settle(&indexer);
    assert!(search(&indexer, "shade", SearchMode::Hybrid).warnings.is_empty());
    embedder.is_down.store(true, Ordering::SeqCst);
    place.write("moss.md", b"# Moss\nshade too");
    indexer.flush().expect("words and links");
    let warnings = |mode| search(&indexer, "shade", mode).warnings;
    let [pending] = &warnings(SearchMode::Hybrid)[..] else { panic!("one warning is expected") };
    assert_eq!(pending.message, "1 chunk has no vector yet");
    assert!(warnings(SearchMode::Keyword).is_empty());
    std::fs::remove_file(place.vault().join("moss.md")).expect("removed");
    indexer.flush().expect("a deletion");
    assert!(warnings(SearchMode::Hybrid).is_empty(), "nothing is pending");
}

/// A wait ended with the error of an earlier attempt while the next one was running.
#[test]
fn wait_for_vectors_includes_the_next_attempt_of_a_failed_model() {
    let (place, embedder) = (Place::new(&[("fern.md", b"# Fern\nshade")]), FakeEmbedder::new());
    embedder.is_down.store(true, Ordering::SeqCst);
    let indexer = place.open(&embedder);
    settle(&indexer);
    assert_eq!(indexer.status().n_vectors_pending, 1, "the model is down");
    embedder.is_down.store(false, Ordering::SeqCst);
    settle(&indexer);
    assert_eq!(uris(&search(&indexer, "shade", SearchMode::Vector)), ["fern"]);
}

#[test]
fn waiting_for_earlier_changes_reuses_the_first_scan() {
    let (place, embedder) = (Place::new(&[("fern.md", b"# Fern\n")]), FakeEmbedder::new());
    let indexer = place.open(&embedder);
    let n_notes = || indexer.reader().snapshot().notes.n_notes();
    let opened = indexer.opened();
    indexer.flush_since(opened).expect("a generation");
    place.write("moss.md", b"# Moss\n");
    indexer.flush_since(opened).expect("a generation");
    indexer.wait_vectors_since(opened, &false.into(), &mut |_| {}).expect("vectors");
    assert_eq!(n_notes(), 1, "the files at opening");
    indexer.flush().expect("a generation");
    assert_eq!(n_notes(), 2, "the present files");

    let other = place.outside().join("other");
    std::fs::create_dir(&other).expect("a folder");
    std::fs::write(other.join("stone.md"), "# Stone\n").expect("a file");
    let other = VaultSettings { name: "other".into(), root: other };
    indexer.set_vaults([place.settings().vaults, vec![other]].concat()).expect("two vaults");
    indexer.flush_since(opened).expect("a generation");
    assert_eq!(n_notes(), 3, "the other vault was not scanned before");

    // A scan that failed must be repeated.
    let away = place.outside().join("away");
    std::fs::rename(place.vault(), &away).expect("a move");
    indexer.flush().expect_err("the vault is unavailable");
    indexer.flush_since(opened).expect_err("the vault is still unavailable");
    std::fs::rename(&away, place.vault()).expect("a move");
    indexer.flush_since(opened).expect("a generation");
}
