//! Files that go missing in large numbers.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use weft_engine::SearchMode;
use weft_index::embedder::Embedder;
use weft_indexer::{
    Confirmed, Content, Expected, FuseOptions, IndexError, IndexSettings, Indexer, Rescan,
    VaultSettings, Write,
};

use crate::fake::{FakeEmbedder, Place, search, settle, uris};

const N_NOTES: usize = 30;

/// A vault of as many notes as the fuse is made for, in two folders.
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

/// Notes in the index, and how many of them are missing.
fn counts(indexer: &Indexer) -> (usize, usize) {
    let status = indexer.status();
    (status.n_notes, status.vaults.iter().map(|vault| vault.n_missing).sum())
}

fn rename(from: &Path, to: &Path) {
    std::fs::rename(from, to).expect("a rename");
}

fn look(indexer: &Indexer) -> u64 {
    indexer.rescan(Rescan::default()).expect("a look")
}

#[test]
fn an_emptied_folder_is_served_until_its_files_are_back() {
    let (place, embedder) = (garden(), FakeEmbedder::new());
    let indexer = place.open(&embedder);
    settle(&indexer);
    let first = indexer.status();
    let (disk, away) = (place.vault(), place.outside().join("away"));
    rename(&disk, &away);
    std::fs::create_dir(&disk).expect("an empty folder");

    let held = look(&indexer);
    assert_eq!(look(&indexer), held, "said once");
    assert_eq!(counts(&indexer), (N_NOTES, N_NOTES));
    let status = indexer.status();
    assert_eq!((status.digest, status.last_error), (first.digest, None));
    let (path, content) = ("new.md".to_owned(), Content::Whole("# New\n".to_owned()));
    let (name, expected) = ("plant7".to_owned(), Expected::Anything);
    for write in [
        Write::Put { vault: None, path, content, expected },
        Write::Delete { name: name.clone(), expected },
        Write::Move { name, to: "bog/plant77.md".to_owned(), expected, rewrite_links: true },
    ] {
        let error = indexer.write(write).expect_err("what is written there is lost").to_string();
        assert!(error.contains("none of its 30 notes has a file"), "{error}");
    }
    assert_eq!(std::fs::read_dir(&disk).expect("a folder").count(), 0);
    assert!(status.notices[0].contains("`weft confirm vault`"), "{:?}", status.notices);
    let answer = search(&indexer, "number7", SearchMode::Keyword);
    assert_eq!(uris(&answer), ["bog/plant7"]);
    assert!(answer.degraded[0].starts_with("files: 30 notes of `vault`"), "{:?}", answer.degraded);
    let coverage = indexer.coverage();
    assert_eq!(coverage.len(), N_NOTES);
    assert!(coverage.iter().all(|file| file.diagnostics[0].code == "missing-file"));

    // The rest goes on: new notes come in, and one that is missing can be edited by writing it.
    place.write("new.md", b"# New\nfresh soil\n");
    place.write("bog/plant7.md", b"# Plant 7\nreplanted\n");
    look(&indexer);
    assert_eq!(counts(&indexer), (N_NOTES + 1, N_NOTES - 1));
    assert_eq!(uris(&search(&indexer, "replanted", SearchMode::Keyword)), ["bog/plant7"]);
    std::fs::remove_file(disk.join("new.md")).expect("removed");
    std::fs::remove_dir_all(disk.join("bog")).expect("removed");
    settle(&indexer);

    // A run that begins with the folder still empty drops nothing.
    indexer.stop();
    let indexer = place.open(&embedder);
    assert_eq!(counts(&indexer), (N_NOTES + 1, N_NOTES + 1), "as soon as the store is open");
    look(&indexer);
    assert_eq!(counts(&indexer), (N_NOTES + 1, N_NOTES + 1), "and after the files were looked at");

    std::fs::remove_dir_all(&disk).expect("removed");
    rename(&away, &disk);
    settle(&indexer);
    assert_eq!(counts(&indexer), (N_NOTES, 0));
    let status = indexer.status();
    assert_eq!((status.digest, status.notices.len()), (first.digest, first.notices.len()));
    let n_embedded = embedder.n_documents.load(Ordering::SeqCst);
    assert_eq!(n_embedded, N_NOTES + 2, "what came back is embedded no second time");
}

#[test]
fn a_vanished_folder_is_served_however_small_it_is() {
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
    let confirmed = indexer.confirm(None).expect("confirmed").0;
    assert_eq!(confirmed, [Confirmed { vault: "vault".into(), n_removed: 1 }]);
    assert_eq!(counts(&indexer), (0, 0));
    rename(&away, &place.vault());
    settle(&indexer);
    assert_eq!(counts(&indexer), (1, 0));
    assert_eq!(indexer.status().last_error, None);
}

#[test]
fn missing_notes_leave_when_that_is_confirmed() {
    let (place, embedder) = (garden(), FakeEmbedder::new());
    let other = Place::new(&[("moss.md", b"another vault")]);
    let mut settings = place.settings();
    settings.vaults.push(VaultSettings { name: "other".into(), root: other.vault() });
    let indexer = open(settings, &embedder);
    settle(&indexer);
    let (confirmed, generation) = indexer.confirm(None).expect("nothing waits");
    assert_eq!((confirmed, generation), (Vec::new(), indexer.status().generation));

    std::fs::remove_dir_all(place.vault().join("bog")).expect("removed");
    std::fs::remove_file(place.vault().join("bed/plant0.md")).expect("removed");
    std::fs::remove_file(other.vault().join("moss.md")).expect("removed");
    look(&indexer);
    assert_eq!(counts(&indexer), (N_NOTES, 21), "the other vault goes on");
    match indexer.confirm(Some("vualt")) {
        Err(IndexError::UnknownVault { known, .. }) => assert_eq!(known, ["other", "vault"]),
        other => panic!("{other:?}"),
    }
    assert_eq!(indexer.confirm(Some("other")).expect("none").0, []);
    // One alone can be let go by its name, although its folder is gone, too.
    let delete = Write::Delete { name: "bog/plant1".into(), expected: Expected::Anything };
    assert_eq!(indexer.write(delete).expect("let go").uri, None);
    assert_eq!(counts(&indexer), (N_NOTES - 1, 20));
    let (confirmed, generation) = indexer.confirm(Some("vault")).expect("confirmed");
    assert_eq!(confirmed, [Confirmed { vault: "vault".into(), n_removed: 20 }]);
    assert_eq!(indexer.status().generation, generation);
    assert_eq!(counts(&indexer), (9, 0));
    look(&indexer);
    assert_eq!(counts(&indexer), (9, 0));
}

#[test]
fn a_moved_vault_is_not_a_deleted_one() {
    let (place, embedder) = (garden(), FakeEmbedder::new());
    let indexer = place.open(&embedder);
    settle(&indexer);

    // Everything moves into a folder of the vault.
    let away = place.outside().join("away");
    rename(&place.vault(), &away);
    std::fs::create_dir(place.vault()).expect("a folder");
    rename(&away, &place.vault().join("old"));
    settle(&indexer);
    assert_eq!(counts(&indexer), (N_NOTES, 0));
    assert_eq!(uris(&search(&indexer, "number7", SearchMode::Keyword)), ["old/bog/plant7"]);

    // The same, noticed in two steps: files that are missing are recognised where they turn up.
    rename(&place.vault().join("old"), &away);
    look(&indexer);
    assert_eq!(counts(&indexer), (N_NOTES, N_NOTES));
    rename(&away, &place.vault().join("new"));
    settle(&indexer);
    assert_eq!(counts(&indexer), (N_NOTES, 0));
    indexer.stop();

    // The folder itself is elsewhere in the next run, under the same name, and its notes lie a folder deeper.
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
fn what_was_asked_for_needs_no_confirmation() {
    let (place, embedder) = (garden(), FakeEmbedder::new());
    let mut settings = place.settings();
    settings.fuse = FuseOptions { max_share: 0.0, min_notes: 1 };
    let indexer = open(settings, &embedder);
    settle(&indexer);
    for n in 0..N_NOTES / 2 {
        let (name, expected) = (format!("plant{n}"), Expected::Anything);
        indexer.write(Write::Delete { name, expected }).expect("deleted");
    }
    assert_eq!(counts(&indexer), (N_NOTES / 2, 0));

    // Rules that keep files out are written by people; the files are there.
    place.write(".weftignore", b"bog\n");
    place.write("bed/plant21.md", b"---\nindexed: false\n---\n");
    look(&indexer);
    assert_eq!(counts(&indexer), (4, 0));

    // One that vanished by itself is missing, and stays so while another is deleted by request.
    std::fs::remove_file(place.vault().join("bed/plant24.md")).expect("removed");
    look(&indexer);
    assert_eq!(counts(&indexer), (4, 1));
    let delete = |name: &str| {
        let (name, expected) = (name.to_owned(), Expected::Anything);
        indexer.write(Write::Delete { name, expected }).expect("deleted");
        counts(&indexer)
    };
    assert_eq!(delete("plant27"), (3, 1));
    assert_eq!(delete("plant24"), (2, 0), "also one that is missing");
}

#[cfg(unix)]
#[test]
fn who_writes_one_note_speaks_for_no_other() {
    let (place, embedder) = (garden(), FakeEmbedder::new());
    // Where a change under one path may show under another, every look is at all files.
    std::os::unix::fs::symlink("bed/plant0.md", place.vault().join("alias.md")).expect("a link");
    let indexer = place.open(&embedder);
    settle(&indexer);
    let all = indexer.status().n_notes;
    std::fs::remove_dir_all(place.vault().join("bog")).expect("removed");
    look(&indexer);
    let (n_notes, n_missing) = counts(&indexer);
    assert_eq!((n_notes, n_missing), (all, 20));

    let (path, content) = ("new.md".to_owned(), Content::Whole("# New\n".to_owned()));
    let expected = Expected::Nothing;
    indexer.write(Write::Put { vault: None, path, content, expected }).expect("put");
    assert_eq!(counts(&indexer), (all + 1, n_missing));
    let (name, expected) = ("new".to_owned(), Expected::Anything);
    indexer.write(Write::Delete { name, expected }).expect("deleted");
    assert_eq!(counts(&indexer), (all, n_missing));

    // Nor where the folder itself is gone.
    let (away, writing) = (place.outside().join("away"), "bed/plant0.md".to_owned());
    rename(&place.vault(), &away);
    let (content, expected) = (Content::Whole("# New\n".to_owned()), Expected::Anything);
    let _ = indexer.write(Write::Put { vault: None, path: writing, content, expected });
    assert_eq!(counts(&indexer).0, all);
    rename(&away, &place.vault());
    let confirmed = indexer.confirm(None).expect("confirmed").0;
    assert_eq!(confirmed.iter().map(|vault| vault.n_removed).sum::<usize>(), n_missing);
}
