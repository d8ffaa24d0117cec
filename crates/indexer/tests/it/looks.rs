//! Looks at files that meet with trouble, or find nothing new.

use weft_engine::SearchMode;
use weft_indexer::{IndexError, Rescan, VaultSettings};

use crate::fake::{FakeEmbedder, Place, search, settle, uris};

#[test]
fn a_full_look_at_unchanged_files_publishes_nothing() {
    let place = Place::new(&[("fern.md", b"# Fern\n[[moss]]"), ("moss.md", b"shade")]);
    let indexer = place.open(&FakeEmbedder::new());
    let before = settle(&indexer);
    let full = Rescan { full: true, ..Rescan::default() };
    assert_eq!(indexer.rescan(full).expect("a look"), before);
    place.write("moss.md", b"light");
    assert!(indexer.rescan(full).expect("a look") > before);
}

#[test]
fn a_vault_that_is_gone_keeps_no_other_from_being_followed() {
    let (gone, other) = (Place::new(&[("fern.md", b"fern")]), Place::new(&[("yew.md", b"yew")]));
    let embedder = FakeEmbedder::new();
    let indexer = gone.open(&embedder);
    let vault =
        |name: &str, place: &Place| VaultSettings { name: name.into(), root: place.vault() };
    indexer.set_vaults(vec![vault("vault", &gone), vault("other", &other)]).expect("both");
    settle(&indexer);
    std::fs::rename(gone.vault(), gone.outside().join("away")).expect("a move");
    other.write("oak.md", b"oak");

    assert!(matches!(indexer.flush(), Err(IndexError::Vault { .. })));
    let found = |word: &str| {
        let answer = search(&indexer, word, SearchMode::Keyword);
        uris(&answer).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(found("oak"), ["other:oak"]);
    assert_eq!(found("fern"), ["vault:fern"], "it may be back tomorrow");
    assert!(indexer.status().last_error.is_some());

    std::fs::rename(gone.outside().join("away"), gone.vault()).expect("a move");
    indexer.flush().expect("all are there");
    assert_eq!(indexer.status().last_error, None);
}

#[test]
fn an_answer_says_that_vectors_are_missing_until_they_are_there() {
    let place = Place::new(&[("fern.md", b"# Fern\nshade")]);
    let embedder = FakeEmbedder::new();
    let indexer = place.open(&embedder);
    settle(&indexer);
    assert!(search(&indexer, "shade", SearchMode::Hybrid).degraded.is_empty());
    embedder.is_down.store(true, std::sync::atomic::Ordering::SeqCst);
    place.write("moss.md", b"# Moss\nshade too");
    indexer.flush().expect("words and links");
    let degraded = |mode| search(&indexer, "shade", mode).degraded;
    assert_eq!(degraded(SearchMode::Hybrid), ["vector: 1 passage has no vector yet"]);
    assert!(degraded(SearchMode::Keyword).is_empty());
    std::fs::remove_file(place.vault().join("moss.md")).expect("removed");
    indexer.flush().expect("a deletion");
    assert!(degraded(SearchMode::Hybrid).is_empty(), "nothing waits any more");
}

#[test]
fn who_opens_waits_for_the_first_look_and_no_other() {
    let (place, embedder) = (Place::new(&[("fern.md", b"# Fern\n")]), FakeEmbedder::new());
    let indexer = place.open(&embedder);
    let n_notes = || indexer.reader().snapshot().notes.n_notes();
    let opened = indexer.opened();
    indexer.flush_since(opened).expect("a generation");
    place.write("moss.md", b"# Moss\n");
    indexer.flush_since(opened).expect("a generation");
    indexer.wait_vectors_since(opened, &false.into(), &mut |_| {}).expect("vectors");
    assert_eq!(n_notes(), 1, "the files of then");
    indexer.flush().expect("a generation");
    assert_eq!(n_notes(), 2, "the files of now");

    let other = place.outside().join("other");
    std::fs::create_dir(&other).expect("a folder");
    std::fs::write(other.join("stone.md"), "# Stone\n").expect("a file");
    let other = VaultSettings { name: "other".into(), root: other };
    indexer.set_vaults([place.settings().vaults, vec![other]].concat()).expect("two vaults");
    indexer.flush_since(opened).expect("a generation");
    assert_eq!(n_notes(), 3, "nobody had looked at the other");

    // What could not be looked at is not passed over.
    let away = place.outside().join("away");
    std::fs::rename(place.vault(), &away).expect("a move");
    indexer.flush().expect_err("the vault is away");
    indexer.flush_since(opened).expect_err("it still is");
    std::fs::rename(&away, place.vault()).expect("a move");
    indexer.flush_since(opened).expect("a generation");
}
