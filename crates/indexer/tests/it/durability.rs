//! The files on disk: deletions reach them, and damage to them does not reach answers.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use weft_engine::SearchMode;
use weft_index::embedder::{Embedder, Role};
use weft_index::{BackupWriter, StoreError, inspect, restore};
use weft_indexer::{
    IndexError, IndexSettings, Indexer, Precondition, Rescan, WriteContent, WriteRequest,
};

use crate::fixtures::{FakeEmbedder, Place, read_back, search, settle, uris};

const FILES: &[(&str, &[u8])] = &[
    ("fern.md", b"# Fern\nA [[moss]] of the shade.\n"),
    ("moss.md", b"# Moss\nGreen and soft, by the [[stone]].\n"),
    ("secret.md", b"# Secret\nThe word is zanzibarquartz, see [[fern]].\n"),
];

/// Returns the files below a folder that contain `bytes`.
fn holding(folder: &Path, bytes: &[u8]) -> Vec<PathBuf> {
    files(folder)
        .into_iter()
        .filter(|path| {
            // A file that is no longer needed may disappear meanwhile.
            let bytes_read = std::fs::read(path).unwrap_or_default();
            bytes_read.windows(bytes.len()).any(|window| window == bytes)
        })
        .collect()
}

/// Returns all files below a folder, by path.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path());
    let below = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    let mut files: Vec<PathBuf> = entries.flat_map(below).collect();
    files.sort();
    files
}

fn compact(indexer: &Indexer) -> u64 {
    indexer
        .rescan(Rescan { full: false, compact: true, choose_model: false })
        .expect("a compaction")
}

#[test]
fn compaction_removes_deleted_content_from_disk() {
    let place = Place::new(FILES);
    let embedder = FakeEmbedder::new();
    let indexer = place.open(&embedder);
    settle(&indexer);
    let word = b"nzibarquartz";
    let vectors = std::fs::read(find(&place.store(), "vec.f32")).expect("vectors");
    let row = |at: usize| vectors[64 + at * 128..64 + (at + 1) * 128].to_vec();
    let vector = (0..3).map(row).find(|row| {
        let floats: Vec<f32> =
            row.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)).collect();
        let secret = &embedder.embed(&["zanzibarquartz"], Role::Query).expect("a vector")[0];
        dot(&floats, secret) > 0.25
    });
    let vector = vector.expect("the vector of the secret");
    let found = |bytes: &[u8]| -> Vec<String> {
        let name = |path: &PathBuf| path.extension().map(|end| end.to_string_lossy().into_owned());
        holding(&place.store(), bytes).iter().filter_map(name).collect()
    };
    let before = found(word);
    assert_eq!(before, ["col", "store"], "the note and its stored keywords");
    assert_eq!(found(&vector), ["f32"]);

    std::fs::remove_file(place.vault().join("secret.md")).expect("removed");
    let generation = indexer.flush().expect("a generation");
    assert!(!found(word).is_empty() && !found(&vector).is_empty(), "present until compaction");
    assert_eq!(compact(&indexer), generation, "the generation is unchanged");
    assert_eq!((found(word), found(&vector)), (vec![], vec![]));
    let status = indexer.status();
    assert_eq!((status.stored_generations, status.last_error), (vec![generation], None));

    // The remaining notes are found as before, now and after a restart, and nothing is embedded again.
    let n_embedded = embedder.n_documents.load(Ordering::SeqCst);
    let answers = |indexer: &Indexer| {
        let one = |query| {
            [SearchMode::Keyword, SearchMode::Vector].map(|mode| {
                let answer = search(indexer, query, mode);
                uris(&answer).into_iter().map(str::to_owned).collect::<Vec<_>>()
            })
        };
        [one("shade"), one("green soft"), one("zanzibarquartz")]
    };
    let after = answers(&indexer);
    assert_eq!(after[0], [vec!["fern"], vec!["fern", "moss"]]);
    place.write("lichen.md", b"# Lichen\ncrusty\n");
    settle(&indexer);
    compact(&indexer);
    std::fs::remove_file(place.vault().join("lichen.md")).expect("removed");
    let generation = settle(&indexer);
    indexer.stop();
    let indexer = place.open(&embedder);
    assert_eq!(indexer.status().generation, generation);
    assert_eq!(answers(&indexer), after);
    settle(&indexer);
    assert_eq!(embedder.n_documents.load(Ordering::SeqCst), n_embedded + 1, "lichen alone");
    assert_eq!(indexer.status().notices, [""; 0]);
}

#[test]
fn compaction_without_a_model_removes_vectors() {
    let place = Place::new(FILES);
    settle(&place.open(&FakeEmbedder::new()));
    assert!(place.store().join("vectors").read_dir().expect("a folder").next().is_some());
    let indexer = Indexer::open(place.settings(), None, None).expect("an index");
    compact(&indexer);
    assert!(place.store().join("vectors").read_dir().expect("a folder").next().is_none());
}

#[test]
fn damage_is_reported_once() {
    let place = Place::new(FILES);
    let embedder = FakeEmbedder::new();
    settle(&place.open(&embedder));
    for (file, n_notices, n_embedded) in [
        ("vec.f32", 1, 4),
        ("rows.log", 1, 5),
        ("notes.col", 1, 5),
        ("graph.rmp", 1, 5),
        ("CURRENT", 0, 5),
    ] {
        let path = find(&place.store(), file);
        let mut bytes = std::fs::read(&path).expect("a file");
        // In the middle of the first row, of the row log, or of any other file.
        let at = if file == "vec.f32" { 64 + 40 } else { bytes.len() / 2 };
        bytes[at] ^= 1;
        std::fs::write(&path, bytes).expect("a file");
        let indexer = place.open(&embedder);
        read_back(&indexer);
        assert_eq!(
            indexer.status().notices.len(),
            n_notices,
            "{file}: {:?}",
            indexer.status().notices
        );
        settle(&indexer);
        assert_eq!(embedder.n_documents.load(Ordering::SeqCst), n_embedded, "{file}");
        assert_eq!(uris(&search(&indexer, "soft", SearchMode::Keyword)), ["moss"]);
        indexer.stop();
        let indexer = place.open(&embedder);
        read_back(&indexer);
        assert_eq!(indexer.status().notices, [""; 0], "{file}");
        assert_eq!(indexer.status().n_vectors_pending, 0, "{file}");
    }
}

#[test]
fn removed_or_replaced_files_are_rebuilt_and_reported_once() {
    type Damage = fn(&Path);
    let remove: Damage = |at| match at.is_dir() {
        true => std::fs::remove_dir_all(at).expect("removed"),
        false => std::fs::remove_file(at).expect("removed"),
    };
    let turn: Damage = |at| {
        if at.is_dir() {
            std::fs::remove_dir_all(at).expect("removed");
            std::fs::write(at, "a file").expect("written");
        } else {
            std::fs::remove_file(at).expect("removed");
            std::fs::create_dir_all(at.join("folder")).expect("made");
        }
    };
    let remove_all: Damage = |at| {
        let store = at.parent().expect("the store");
        let folders = std::fs::read_dir(store).expect("a folder").flatten();
        let folders = folders.filter(|entry| entry.file_name().to_string_lossy().contains("gen-"));
        folders.for_each(|entry| std::fs::remove_dir_all(entry.path()).expect("removed"));
    };
    // The damaged file, the kind of damage, and the only notice about it.
    let cases: [(&str, Damage, Option<&str>); 18] = [
        ("keyword", remove, Some("the keyword index is missing")),
        ("keyword", turn, Some("expected a folder, found a file")),
        ("keyword/meta.json", remove, Some("the keyword index is missing")),
        ("keyword/meta.json", turn, Some("the keyword index was rebuilt")),
        ("gen", remove, Some("it is missing")),
        ("gen", turn, Some("the index was restored from generation")),
        ("gen", remove_all, Some("the index was rebuilt from the files")),
        ("gen/graph.rmp", remove, Some("it was rebuilt from the notes")),
        ("gen/graph.rmp", turn, Some("it was rebuilt from the notes")),
        ("gen/notes.col", turn, Some("the index was restored from generation")),
        ("gen/manifest.rmp", remove, Some("the index was restored from generation")),
        ("CURRENT", turn, None),
        ("ISSUED", turn, None),
        ("INTENDED", turn, None),
        ("model.json", turn, None),
        ("vectors", turn, None),
        ("rows.log", turn, None),
        ("vec.f32", turn, Some("vectors were damaged")),
    ];
    let place = Place::new(FILES);
    let embedder = FakeEmbedder::new();
    let indexer = place.open(&embedder);
    settle(&indexer);
    // Creates an earlier generation.
    place.write("fern.md", b"# Fern\nA [[moss]] of the shade, again.\n");
    settle(&indexer);
    let newest = indexer.status().generation;
    let state_of = |indexer: &Indexer| {
        let graph = indexer.reader().snapshot().notes.graph().columns();
        let hits = uris(&search(indexer, "soft shade", SearchMode::Hybrid)).join(" ");
        (indexer.status().digest, indexer.status().n_unresolved, format!("{graph:?}"), hits)
    };
    let whole = state_of(&indexer);
    indexer.stop();
    let kept = place.outside().join("kept");
    copy(&place.store(), &kept);
    for (what, damage, line) in cases {
        std::fs::remove_dir_all(place.store()).expect("removed");
        copy(&kept, &place.store());
        let path = match what.strip_prefix("gen") {
            Some(file) => place.store().join(format!("gen-{newest}{file}")),
            None if what.starts_with("keyword") || what == "vectors" => place.store().join(what),
            None if what.contains('.') && what != "model.json" => find(&place.store(), what),
            None => place.store().join(what),
        };
        if !path.exists() {
            std::fs::write(&path, "").expect("written");
        }
        damage(&path);
        let indexer = place.open(&embedder);
        read_back(&indexer);
        let notices = indexer.status().notices;
        let is_told = |line: &str| notices.len() == 1 && notices[0].contains(line);
        assert!(line.map_or(notices.is_empty(), is_told), "{what}: {notices:?}");
        settle(&indexer);
        assert_eq!(state_of(&indexer), whole, "{what}");
        assert_eq!(indexer.status().last_error, None, "{what}");
        indexer.stop();
        let indexer = place.open(&embedder);
        read_back(&indexer);
        assert_eq!(indexer.status().notices, [""; 0], "{what}");
        assert_eq!(state_of(&indexer), whole, "{what}");
    }
}

/// Copies a folder recursively; repeats while segments are being merged in it.
fn copy(from: &Path, to: &Path) {
    let copied = |path: &PathBuf| {
        let to = to.join(path.strip_prefix(from).expect("below it"));
        std::fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
        std::fs::copy(path, to).is_ok()
    };
    loop {
        let listed = files(from);
        if listed.iter().all(copied) && files(from) == listed {
            return;
        }
        std::fs::remove_dir_all(to).expect("removed");
    }
}

#[test]
fn graph_is_rebuilt_from_stored_notes_without_files() {
    let place = Place::new(FILES);
    let embedder = FakeEmbedder::new();
    let indexer = place.open(&embedder);
    settle(&indexer);
    let graph = indexer.reader().snapshot().notes.graph().columns();
    let status = indexer.status();
    indexer.stop();
    std::fs::remove_file(find(&place.store(), "graph.rmp")).expect("removed");
    std::fs::rename(place.vault(), place.outside().join("away")).expect("a move");
    let indexer = place.open(&embedder);
    assert_eq!(indexer.reader().snapshot().notes.graph().columns(), graph);
    assert_eq!(indexer.status().digest, status.digest);
    assert!(indexer.status().generation > status.generation, "persisted again");
}

#[test]
fn impossible_generation_numbers_are_ignored() {
    let place = Place::new(FILES);
    let embedder = FakeEmbedder::new();
    let before = settle(&place.open(&embedder));
    let number = u64::MAX;
    // With a valid checksum.
    let sealed = format!("{number} 2144df1c\n");
    std::fs::write(place.store().join("ISSUED"), sealed).expect("written");
    for name in [format!("gen-{number}"), format!("gen-{}", before + 999)] {
        std::fs::create_dir(place.store().join(&name)).expect("a folder");
        std::fs::write(place.store().join(name).join("manifest.rmp"), "none").expect("written");
    }
    let indexer = place.open(&embedder);
    let generation = settle(&indexer);
    assert!((before + 999..before + (1 << 21)).contains(&generation), "{generation}");
    place.write("fern.md", b"# Fern\nalone\n");
    let next = settle(&indexer);
    assert!(next > generation);
    assert_eq!(indexer.status().stored_generations, [generation, next], "two are kept");
    let earlier = indexer.at(generation).expect("an earlier generation");
    assert_eq!(earlier.generation, generation);
}

#[test]
fn backup_of_running_index_is_one_generation() {
    let place = Place::new(FILES);
    let embedder = FakeEmbedder::new();
    let indexer = place.open(&embedder);
    let generation = settle(&indexer);
    let digest = indexer.status().digest;
    let backup = indexer.backup().expect("a backup");
    assert_eq!(backup.generation(), generation);

    // The index continues, and is even compacted, before the copy is read.
    std::fs::remove_file(place.vault().join("secret.md")).expect("removed");
    place.write("lichen.md", b"# Lichen\ncrusty, not zanzibar\n");
    settle(&indexer);
    compact(&indexer);
    let folder = place.outside().join("backup");
    let mut writer = BackupWriter::create(&folder).expect("a folder");
    backup.read(|piece| writer.take(piece)).expect("all files");
    let copied = writer.finish(generation).expect("a backup");
    indexer.stop();

    let store = place.outside().join("another");
    assert_eq!(restore(&folder, &store).expect("a store"), copied);
    std::fs::remove_file(place.vault().join("lichen.md")).expect("removed");
    place.write("secret.md", FILES[2].1);
    let n_embedded = embedder.n_documents.load(Ordering::SeqCst);
    let settings = IndexSettings { store, ..place.settings() };
    let embedder_too = Arc::clone(&embedder) as Arc<dyn Embedder>;
    let restored = Indexer::open(settings, Some(embedder_too), None).expect("an index");
    assert_eq!((restored.status().digest, restored.status().notices), (digest, vec![]));
    assert!(restored.status().generation > generation + 1000, "never published before");
    assert_eq!(uris(&search(&restored, "zanzibarquartz", SearchMode::Keyword)), ["secret"]);
    settle(&restored);
    assert_eq!(restored.status().digest, digest);
    assert_eq!(embedder.n_documents.load(Ordering::SeqCst), n_embedded);
}

/// Returns the file with this name in the store; the last one if there are several.
fn find(store: &Path, name: &str) -> PathBuf {
    let mut all = files(store).into_iter().filter(|path| path.ends_with(name));
    all.next_back().unwrap_or_else(|| panic!("no {name} in {}", store.display()))
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[test]
fn interrupted_scan_keeps_files_already_read() {
    let place = Place::new(&[]);
    let n_files = 3000;
    for n in 0..n_files {
        place.write(&format!("{n}.md"), format!("# Note {n}\nby the [[{}]]\n", n / 2).as_bytes());
    }
    let open = || Indexer::open(place.settings(), None, None).expect("an index");
    let n_notes = |indexer: &Indexer| indexer.reader().snapshot().notes.n_notes();
    let indexer = open();
    while indexer.status().n_files_done == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    indexer.interrupt();
    let n_kept = n_notes(&indexer);
    assert!((1..=n_files).contains(&n_kept), "{n_kept}");
    assert!(matches!(indexer.flush(), Err(IndexError::Stopped)));
    assert_eq!(indexer.status().last_error, None, "not an error");
    drop(indexer);
    let stored = inspect(&place.store()).expect("a store").expect("a checkpoint");
    assert_eq!(stored.checkpoint.notes.n_notes(), n_kept, "persisted");
    let indexer = open();
    indexer.flush().expect("the rest");
    assert_eq!(n_notes(&indexer), n_files);
}

/// An index removes foreign files from its own folder: once it removed notes, because its folder was configured to be theirs.
#[test]
fn folder_with_foreign_files_is_not_a_store() {
    let place = Place::new(&[("fern.md", b"# Fern\n")]);
    let open = |store: &Path| {
        let settings = IndexSettings { store: store.to_owned(), ..place.settings() };
        Indexer::open(settings, None, None)
    };
    let other = place.outside().join("other");
    std::fs::create_dir_all(other.join("vectors")).expect("a folder");
    std::fs::write(other.join("vectors/basis.md"), "# Basis\n").expect("a file");
    for (store, is_among_notes) in
        [(&*other, false), (&*place.vault(), true), (place.outside(), true)]
    {
        let refused = open(store).err();
        let is_named = match &refused {
            Some(IndexError::Vault { .. }) => is_among_notes,
            Some(IndexError::Store(StoreError::NotAStore { .. })) => !is_among_notes,
            Some(_) | None => false,
        };
        assert!(is_named, "{}: {:?}", store.display(), refused.map(|error| error.to_string()));
    }
    assert_eq!(
        files(&other).len() + files(&place.vault()).len(),
        2,
        "nothing was created or removed"
    );

    // The root of a mounted disk counts as empty, too.
    let disk = place.outside().join("disk");
    std::fs::create_dir_all(disk.join("lost+found")).expect("a folder");
    open(&disk).expect("an index").stop();
    open(&disk).expect("the same index");
    let new = place.outside().join("above/new");
    open(&new).expect("an index").stop();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(&new).expect("a folder").permissions().mode();
        assert_eq!(mode & 0o077, 0, "as private as the notes");
    }
}

#[test]
fn generation_is_held_after_unclean_shutdown_once_files_are_scanned() {
    let (place, embedder) = (Place::new(FILES), FakeEmbedder::new());
    let indexer = place.open(&embedder);
    settle(&indexer);
    indexer.flush().expect("a generation");
    let (path, content) = ("moss.md".to_owned(), WriteContent::Whole("# Moss\nwarm\n".to_owned()));
    let put = WriteRequest::Put { vault: None, path, content, expected: Precondition::Anything };
    let written = indexer.write(put).expect("a write").generation.expect("indexed");
    assert!(indexer.holds(written) && !indexer.holds(written + 1));
    // The state after a power failure, while the vault is unavailable.
    let left = place.outside().join("left");
    copy(&place.store(), &left);
    indexer.stop();
    let away = place.outside().join("away");
    std::fs::rename(place.vault(), &away).expect("moved");

    let open = || {
        let settings = IndexSettings { store: left.clone(), ..place.settings() };
        let embedder = Arc::clone(&embedder) as Arc<dyn Embedder>;
        Indexer::open(settings, Some(embedder), None).expect("an index")
    };
    let indexer = open();
    indexer.flush().expect_err("the vault is unavailable");
    let newest = indexer.status().generation;
    assert!(newest > written && indexer.holds(newest) && !indexer.holds(written));
    assert!(indexer.is_recovering());
    assert!(uris(&search(&indexer, "warm", SearchMode::Keyword)).is_empty());

    std::fs::rename(&away, place.vault()).expect("moved");
    indexer.flush().expect("a generation");
    assert!(indexer.holds(written) && !indexer.is_recovering());
    assert_eq!(uris(&search(&indexer, "warm", SearchMode::Keyword)), ["moss"]);
    indexer.stop();
    assert!(!open().is_recovering(), "that shutdown was clean");
}
