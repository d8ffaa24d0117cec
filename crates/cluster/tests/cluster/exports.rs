//! Exports of whole collections, their import, and the import of vectors from the store of an index.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use weft_cluster::{Collection, CollectionHome, Commit, FileChange, PushOptions, TransferError};
use weft_index::embedder::Embedder;
use weft_indexer::{IndexSettings, Indexer, VaultHome, VaultSettings};
use weft_model::TextHash;

use crate::followers::{Words, answers};
use crate::transfers::{files, options};
use crate::{collection, connect_as, model};

fn change(vault: &str, path: &str, bytes: &[u8], modified_ns: i64) -> FileChange {
    let put = FileChange::put(vault, path, bytes.to_vec());
    FileChange { modified_ns: Some(modified_ns), ..put }
}

fn bytes(folder: &Path) -> Vec<(String, Vec<u8>, std::time::SystemTime)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
            let modified = fs::metadata(&path).unwrap().modified().unwrap();
            found.push((name, fs::read(&path).unwrap(), modified));
        }
    }
    found.sort();
    found
}

#[test]
fn import_of_an_export_is_equal() {
    let Some((server, notes)) = collection() else { return };
    let home = tempfile::tempdir().unwrap();
    let (first, second) = (home.path().join("first"), home.path().join("second"));
    let changes = vec![
        change("notes", "fern.md", b"# Fern\n", 1_000_000_000),
        change("notes", "wood/moss.md", b"# Moss\n", 2_000_000_000),
        change("notes", "gone.md", b"# Gone\n", 3_000_000_000),
        change("work", "plan.org", b"* Plan\n", 4_000_000_000),
        change("work", "empty.md", b"", 5_000_000_000),
    ];
    notes.commit(&Commit::of(changes)).unwrap();
    let gone = FileChange::put("notes", "gone.md", Vec::new());
    let gone = FileChange { content: weft_cluster::NewContent::Removed, ..gone };
    notes.commit(&Commit::of(vec![gone])).unwrap();
    Collection::create(&connect_as(&server, "postgres"), "team", &["nothing"]).unwrap();
    let vectors: Vec<(TextHash, Vec<f32>)> =
        (0..2500).map(|n| (TextHash(n), vec![n as f32, -0.5])).collect();
    notes.store_vectors(&model("a"), &vectors).unwrap();
    notes.store_vectors(&model("b"), &[(TextHash(1), Vec::new())]).unwrap();

    let exported = notes.export(&first).unwrap();
    assert_eq!((exported.n_vaults, exported.n_notes, exported.n_vectors), (3, 4, 2501));
    assert_eq!(exported.generation, notes.head().unwrap());
    let refused = notes.export(&first);
    assert!(matches!(refused, Err(TransferError::NotEmpty { .. })), "{refused:?}");
    assert_eq!(files(&first.join("notes/notes")).len(), 2, "push and people can read it");

    let copy = Collection::create(&connect_as(&server, "postgres"), "copy", &[]).unwrap();
    let imported = copy.import(&first, &options()).unwrap();
    assert_eq!((imported.n_changed, imported.n_vectors), (4, 2501));
    assert_eq!((imported.n_new_vectors, imported.n_damaged), (2501, 0));
    copy.export(&second).unwrap();
    let [mut first_files, mut second_files] = [&first, &second].map(|it| bytes(it));
    for files in [&mut first_files, &mut second_files] {
        // The description names the collection and its generation, and vectors have the time of the export.
        files.retain(|(path, ..)| path != "collection.json");
        for (path, _, modified) in files.iter_mut() {
            if path.starts_with("vectors/") {
                *modified = std::time::SystemTime::UNIX_EPOCH;
            }
        }
    }
    assert_eq!(first_files.len(), 6);
    assert!(first_files == second_files);
    assert_eq!(copy.vaults(copy.head().unwrap()).unwrap(), ["notes", "nothing", "work"]);
    assert!(copy.verify().unwrap().is_empty());

    // A repetition changes nothing, and another state of the collection is brought back.
    let again = copy.import(&first, &options()).unwrap();
    assert_eq!((again.n_changed, again.n_new_vectors), (0, 0));
    copy.commit(&Commit::of(vec![change("notes", "new.md", b"# New\n", 1)])).unwrap();
    assert_eq!(copy.import(&first, &options()).unwrap().n_changed, 1);
}

#[test]
fn incomplete_export_changes_nothing() {
    let Some((server, notes)) = collection() else { return };
    let home = tempfile::tempdir().unwrap();
    notes.commit(&Commit::of(vec![change("notes", "fern.md", b"# Fern\n", 1)])).unwrap();
    notes.store_vectors(&model("a"), &[(TextHash(1), vec![0.5, 0.5])]).unwrap();
    let vectors_file = |folder: &Path| {
        fs::read_dir(folder.join("vectors")).unwrap().next().unwrap().unwrap().path()
    };
    type Damage<'d> = Box<dyn Fn(&Path) + 'd>;
    let cases: [(&str, Damage<'_>); 5] = [
        ("no description", Box::new(|at| fs::remove_file(at.join("collection.json")).unwrap())),
        ("a lost note", Box::new(|at| fs::remove_file(at.join("notes/notes/fern.md")).unwrap())),
        ("a lost vault", Box::new(|at| fs::remove_dir_all(at.join("notes/notes")).unwrap())),
        ("lost vectors", Box::new(|at| fs::remove_file(vectors_file(at)).unwrap())),
        ("cut vectors", Box::new(|at| fs::write(vectors_file(at), b"short").unwrap())),
    ];
    for (at, (name, damage)) in cases.iter().enumerate() {
        let folder = home.path().join(at.to_string());
        notes.export(&folder).unwrap();
        damage(&folder);
        let copy = Collection::create(&connect_as(&server, "postgres"), &format!("copy{at}"), &[])
            .unwrap();
        let refused = copy.import(&folder, &options());
        assert!(refused.is_err(), "{name}: {refused:?}");
        assert_eq!(copy.head().unwrap(), 0, "{name}");
    }
    let folder = home.path().join("flipped");
    notes.export(&folder).unwrap();
    let path = vectors_file(&folder);
    let mut flipped = fs::read(&path).unwrap();
    *flipped.last_mut().unwrap() ^= 1;
    fs::write(&path, flipped).unwrap();
    let copy = Collection::create(&connect_as(&server, "postgres"), "copy", &[]).unwrap();
    let imported = copy.import(&folder, &options()).unwrap();
    assert_eq!((imported.n_vectors, imported.n_damaged), (0, 1), "it is embedded again");
}

#[test]
fn vectors_of_a_store_are_not_computed_again() {
    let Some((_server, notes)) = collection() else { return };
    let home = tempfile::tempdir().unwrap();
    let (folder, store) = (home.path().join("folder"), home.path().join("store"));
    fs::create_dir(&folder).unwrap();
    for n in 0..30 {
        fs::write(folder.join(format!("{n}.md")), format!("# Fern {n}\nmoss grows {n}\n")).unwrap();
    }
    let n_texts = Arc::new(AtomicUsize::new(0));
    let open = |settings: IndexSettings| {
        let embedder = Words::new(&n_texts) as Arc<dyn Embedder>;
        let indexer = Indexer::open(settings, Some(embedder), None).unwrap();
        indexer.flush().unwrap();
        indexer
    };
    let vaults = vec![VaultSettings { name: "notes".into(), root: folder.clone() }];
    let settings = IndexSettings { store: store.clone(), vaults, ..IndexSettings::default() };
    let local = open(settings);
    local.wait_vectors(&AtomicBool::new(false), &mut |_| {}).unwrap();
    let (expected, n_embedded) = (answers(local.reader()), n_texts.load(Ordering::SeqCst));
    assert!(n_embedded >= 30);
    let busy = notes.import_store(&store);
    assert!(matches!(busy, Err(TransferError::Store(_))), "{busy:?}");
    drop(local);

    let missing = notes.import_store(&home.path().join("missing"));
    assert!(matches!(missing, Err(TransferError::NotAStore { .. })), "{missing:?}");
    assert!(!home.path().join("missing").exists());
    let imported = notes.import_store(&store).unwrap();
    assert_eq!((imported.n_new_vectors, imported.n_damaged), (n_embedded, 0));
    assert_eq!(notes.import_store(&store).unwrap().n_new_vectors, 0);
    let options = PushOptions { removes_any: true, ..options() };
    notes.push(&folder, "notes", &options).unwrap();
    let collection = CollectionHome::new(notes.clone(), Duration::from_millis(5));
    let follower = open(IndexSettings {
        store: home.path().join("follower"),
        home: Some(Arc::new(collection) as Arc<dyn VaultHome>),
        ..IndexSettings::default()
    });
    assert_eq!(answers(follower.reader()), expected);
    assert_eq!(notes.status().unwrap().n_jobs, 0, "no text waits for a vector");
    assert_eq!(n_texts.load(Ordering::SeqCst), n_embedded);
}
