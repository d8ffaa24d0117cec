//! The mass-deletion guard: files that go missing in large numbers.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use weft_engine::SearchMode;
use weft_index::embedder::Embedder;
use weft_indexer::{
    ConfirmedDeletions, DeletionGuardOptions, IndexError, IndexSettings, Indexer, Precondition,
    Rescan, VaultSettings, WriteContent, WriteRequest,
};

use crate::fixtures::{FakeEmbedder, Place, search, settle, uris};

const N_NOTES: usize = 30;

/// A vault with as many notes as the guard is made for, in two folders.
fn garden() -> Place {
    let place = Place::new(&[]);
    for n in 0..N_NOTES {
        let folder = if n % 3 == 0 { "bed" } else { "bog" };
        let text = format!("# Plant {n}\nit is number{n}, see [[plant{}]]\n", (n + 1) % N_NOTES);
        place.write(&format!("{folder}/plant{n}.md"), text.as_bytes());
    }
    place
}

fn open(settings: IndexSettings, embedder: &Arc<FakeEmbedder>) -> Indexer {
    let embedder = Arc::clone(embedder) as Arc<dyn Embedder>;
    Indexer::open(settings, Some(embedder), None).expect("an index")
}

/// The number of notes in the index, and how many of them are missing.
fn counts(indexer: &Indexer) -> (usize, usize) {
    let status = indexer.status();
    (status.n_notes, status.vaults.iter().map(|vault| vault.n_missing).sum())
}

fn rename(from: &Path, to: &Path) {
    std::fs::rename(from, to).expect("a rename");
}

fn scan(indexer: &Indexer) -> u64 {
    indexer.rescan(Rescan::default()).expect("a rescan")
}

#[test]
fn notes_of_emptied_folder_stay_until_files_return() {
    let (place, embedder) = (garden(), FakeEmbedder::new());
    let indexer = place.open(&embedder);
    settle(&indexer);
    let first = indexer.status();
    let (disk, away) = (place.vault(), place.outside().join("away"));
    rename(&disk, &away);
    std::fs::create_dir(&disk).expect("an empty folder");

    let generation = scan(&indexer);
    assert_eq!(scan(&indexer), generation, "reported once");
    assert_eq!(counts(&indexer), (N_NOTES, N_NOTES));
    let status = indexer.status();
    assert_eq!((status.digest, status.last_error), (first.digest, None));
    let (path, content) = ("new.md".to_owned(), WriteContent::Whole("# New\n".to_owned()));
    let (name, expected) = ("plant7".to_owned(), Precondition::Anything);
    for write in [
        WriteRequest::Put { vault: None, path, content, expected },
        WriteRequest::Delete { name: name.clone(), expected },
        WriteRequest::Move { name, to: "bog/plant77.md".to_owned(), expected, rewrite_links: true },
    ] {
        let error =
            indexer.write(write).expect_err("the folder may be an unmounted disk").to_string();
        assert!(error.contains("the files of all 30 notes are missing"), "{error}");
    }
    assert_eq!(std::fs::read_dir(&disk).expect("a folder").count(), 0);
    assert!(status.notices[0].contains("`weft confirm-deletions vault`"), "{:?}", status.notices);
    let answer = search(&indexer, "number7", SearchMode::Keyword);
    assert_eq!(uris(&answer), ["bog/plant7"]);
    assert!(
        answer.warnings[0].message.starts_with("30 notes of vault `vault`"),
        "{:?}",
        answer.warnings
    );
    let coverage = indexer.coverage();
    assert_eq!(coverage.len(), N_NOTES);
    assert!(coverage.iter().all(|file| file.diagnostics[0].code == "missing-file"));

    // Indexing continues: new notes are added, and a missing one can be edited by writing it.
    place.write("new.md", b"# New\nfresh soil\n");
    place.write("bog/plant7.md", b"# Plant 7\nreplanted\n");
    scan(&indexer);
    assert_eq!(counts(&indexer), (N_NOTES + 1, N_NOTES - 1));
    assert_eq!(uris(&search(&indexer, "replanted", SearchMode::Keyword)), ["bog/plant7"]);
    std::fs::remove_file(disk.join("new.md")).expect("removed");
    std::fs::remove_dir_all(disk.join("bog")).expect("removed");
    settle(&indexer);

    // A run that starts with the folder still empty deletes nothing.
    indexer.stop();
    let indexer = place.open(&embedder);
    assert_eq!(counts(&indexer), (N_NOTES + 1, N_NOTES + 1), "right after opening");
    scan(&indexer);
    assert_eq!(counts(&indexer), (N_NOTES + 1, N_NOTES + 1), "and after the scan");

    std::fs::remove_dir_all(&disk).expect("removed");
    rename(&away, &disk);
    settle(&indexer);
    assert_eq!(counts(&indexer), (N_NOTES, 0));
    let status = indexer.status();
    assert_eq!((status.digest, status.notices.len()), (first.digest, first.notices.len()));
    let n_embedded = embedder.n_documents.load(Ordering::SeqCst);
    assert_eq!(n_embedded, N_NOTES + 2, "returned notes are not embedded again");
}

#[test]
fn notes_of_vanished_folder_stay_even_if_few() {
    let (place, embedder) = (Place::new(&[("fern.md", b"a fern")]), FakeEmbedder::new());
    let indexer = place.open(&embedder);
    settle(&indexer);
    let away = place.outside().join("away");
    rename(&place.vault(), &away);
    assert!(matches!(indexer.rescan(Rescan::default()), Err(IndexError::Vault { .. })));
    assert_eq!(counts(&indexer), (1, 1));
    indexer.stop();

    let indexer = place.open(&embedder);
    let _ = indexer.rescan(Rescan::default());
    assert_eq!(counts(&indexer), (1, 1));
    let confirmed = indexer.confirm_deletions(None).expect("confirmed").0;
    assert_eq!(confirmed, [ConfirmedDeletions { vault: "vault".into(), n_removed: 1 }]);
    assert_eq!(counts(&indexer), (0, 0));
    rename(&away, &place.vault());
    settle(&indexer);
    assert_eq!(counts(&indexer), (1, 0));
    assert_eq!(indexer.status().last_error, None);
}

#[test]
fn confirmation_deletes_missing_notes() {
    let (place, embedder) = (garden(), FakeEmbedder::new());
    let other = Place::new(&[("moss.md", b"another vault")]);
    let mut settings = place.settings();
    settings.vaults.push(VaultSettings { name: "other".into(), root: other.vault() });
    let indexer = open(settings, &embedder);
    settle(&indexer);
    let (confirmed, generation) = indexer.confirm_deletions(None).expect("nothing waits");
    assert_eq!((confirmed, generation), (Vec::new(), indexer.status().generation));

    std::fs::remove_dir_all(place.vault().join("bog")).expect("removed");
    std::fs::remove_file(place.vault().join("bed/plant0.md")).expect("removed");
    std::fs::remove_file(other.vault().join("moss.md")).expect("removed");
    scan(&indexer);
    assert_eq!(counts(&indexer), (N_NOTES, 21), "the other vault is indexed");
    match indexer.confirm_deletions(Some("vualt")) {
        Err(IndexError::UnknownVault { known, .. }) => assert_eq!(known, ["other", "vault"]),
        other => panic!("{other:?}"),
    }
    assert_eq!(indexer.confirm_deletions(Some("other")).expect("none").0, []);
    // A single vault can be confirmed by name, even if its folder is missing as well.
    let delete =
        WriteRequest::Delete { name: "bog/plant1".into(), expected: Precondition::Anything };
    assert_eq!(indexer.write(delete).expect("deleted").uri, None);
    assert_eq!(counts(&indexer), (N_NOTES - 1, 20));
    let (confirmed, generation) = indexer.confirm_deletions(Some("vault")).expect("confirmed");
    assert_eq!(confirmed, [ConfirmedDeletions { vault: "vault".into(), n_removed: 20 }]);
    assert_eq!(indexer.status().generation, generation);
    assert_eq!(counts(&indexer), (9, 0));
    scan(&indexer);
    assert_eq!(counts(&indexer), (9, 0));
}

#[test]
fn moved_vault_keeps_its_notes() {
    let (place, embedder) = (garden(), FakeEmbedder::new());
    let indexer = place.open(&embedder);
    settle(&indexer);

    // All files move into a folder of the vault.
    let away = place.outside().join("away");
    rename(&place.vault(), &away);
    std::fs::create_dir(place.vault()).expect("a folder");
    rename(&away, &place.vault().join("old"));
    settle(&indexer);
    assert_eq!(counts(&indexer), (N_NOTES, 0));
    assert_eq!(uris(&search(&indexer, "number7", SearchMode::Keyword)), ["old/bog/plant7"]);

    // The same move in two steps: missing files are recognized at their new paths.
    rename(&place.vault().join("old"), &away);
    scan(&indexer);
    assert_eq!(counts(&indexer), (N_NOTES, N_NOTES));
    rename(&away, &place.vault().join("new"));
    settle(&indexer);
    assert_eq!(counts(&indexer), (N_NOTES, 0));
    indexer.stop();

    // In the next run the vault's folder is at another path under the same name, and its notes are a folder deeper.
    let moved = place.outside().join("moved");
    std::fs::create_dir(&moved).expect("a folder");
    rename(&place.vault(), &moved.join("deeper"));
    let mut settings = place.settings();
    settings.vaults[0].root = moved;
    let indexer = open(settings, &embedder);
    settle(&indexer);
    assert_eq!(counts(&indexer), (N_NOTES, 0));
    assert_eq!(uris(&search(&indexer, "number7", SearchMode::Keyword)), ["deeper/new/bog/plant7"]);
    assert_eq!(embedder.n_documents.load(Ordering::SeqCst), N_NOTES, "nothing is embedded again");
}

#[test]
fn requested_deletions_need_no_confirmation() {
    let (place, embedder) = (garden(), FakeEmbedder::new());
    let mut settings = place.settings();
    settings.deletion_guard = DeletionGuardOptions { max_share: 0.0, min_notes: 1 };
    let indexer = open(settings, &embedder);
    settle(&indexer);
    for n in 0..N_NOTES / 2 {
        let (name, expected) = (format!("plant{n}"), Precondition::Anything);
        indexer.write(WriteRequest::Delete { name, expected }).expect("deleted");
    }
    assert_eq!(counts(&indexer), (N_NOTES / 2, 0));

    // Users write the rules that exclude files; the files exist.
    place.write(".weftignore", b"bog\n");
    place.write("bed/plant21.md", b"---\nindexed: false\n---\n");
    scan(&indexer);
    assert_eq!(counts(&indexer), (4, 0));

    // A file that vanished is missing, and its note stays when another one is deleted by request.
    std::fs::remove_file(place.vault().join("bed/plant24.md")).expect("removed");
    scan(&indexer);
    assert_eq!(counts(&indexer), (4, 1));
    let delete = |name: &str| {
        let (name, expected) = (name.to_owned(), Precondition::Anything);
        indexer.write(WriteRequest::Delete { name, expected }).expect("deleted");
        counts(&indexer)
    };
    assert_eq!(delete("plant27"), (3, 1));
    assert_eq!(delete("plant24"), (2, 0), "even a missing one");
}

#[cfg(unix)]
#[test]
fn write_of_one_note_deletes_no_other() {
    let (place, embedder) = (garden(), FakeEmbedder::new());
    // If a change under one path may appear under another, every scan covers all files.
    std::os::unix::fs::symlink("bed/plant0.md", place.vault().join("alias.md")).expect("a link");
    let indexer = place.open(&embedder);
    settle(&indexer);
    let all = indexer.status().n_notes;
    std::fs::remove_dir_all(place.vault().join("bog")).expect("removed");
    scan(&indexer);
    let (n_notes, n_missing) = counts(&indexer);
    assert_eq!((n_notes, n_missing), (all, 20));

    let (path, content) = ("new.md".to_owned(), WriteContent::Whole("# New\n".to_owned()));
    let expected = Precondition::Nothing;
    indexer.write(WriteRequest::Put { vault: None, path, content, expected }).expect("put");
    assert_eq!(counts(&indexer), (all + 1, n_missing));
    let (name, expected) = ("new".to_owned(), Precondition::Anything);
    indexer.write(WriteRequest::Delete { name, expected }).expect("deleted");
    assert_eq!(counts(&indexer), (all, n_missing));

    // The same holds if the folder itself is missing.
    let (away, writing) = (place.outside().join("away"), "bed/plant0.md".to_owned());
    rename(&place.vault(), &away);
    let (content, expected) = (WriteContent::Whole("# New\n".to_owned()), Precondition::Anything);
    let _ = indexer.write(WriteRequest::Put { vault: None, path: writing, content, expected });
    assert_eq!(counts(&indexer).0, all);
    rename(&away, &place.vault());
    let confirmed = indexer.confirm_deletions(None).expect("confirmed").0;
    assert_eq!(confirmed.iter().map(|vault| vault.n_removed).sum::<usize>(), n_missing);
}
