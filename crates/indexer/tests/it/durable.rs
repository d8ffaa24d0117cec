//! What is on disk: that deletions reach it, and that damage and trouble do not reach answers.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use weft_engine::SearchMode;
use weft_index::embedder::{Embedder, Role};
use weft_index::{BackupWriter, StoreError, inspect, restore};
use weft_indexer::{Content, Expected, IndexError, IndexSettings, Indexer, Rescan, Write};

use crate::fake::{FakeEmbedder, Place, read_back, search, settle, uris};

const FILES: &[(&str, &[u8])] = &[
    ("fern.md", b"# Fern\nA [[moss]] of the shade.\n"),
    ("moss.md", b"# Moss\nGreen and soft, by the [[stone]].\n"),
    ("secret.md", b"# Secret\nThe word is zanzibarquartz, see [[fern]].\n"),
];

/// The files below a folder that hold `bytes`.
fn holding(folder: &Path, bytes: &[u8]) -> Vec<PathBuf> {
    files(folder)
        .into_iter()
        .filter(|path| {
            // One that is not needed any more may go while they are looked at.
            let held = std::fs::read(path).unwrap_or_default();
            held.windows(bytes.len()).any(|window| window == bytes)
        })
        .collect()
}

/// All files below a folder, by path.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path());
    let below = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    let mut files: Vec<PathBuf> = entries.flat_map(below).collect();
    files.sort();
    files
}

fn compact(indexer: &Indexer) -> u64 {
    indexer.rescan(Rescan { full: false, compact: true }).expect("a compaction")
}

#[test]
fn what_was_deleted_is_gone_from_disk_after_compaction() {
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
    assert_eq!(before, ["col", "store"], "the note, and what the word index keeps of it");
    assert_eq!(found(&vector), ["f32"]);

    std::fs::remove_file(place.vault().join("secret.md")).expect("removed");
    let generation = indexer.flush().expect("a generation");
    assert!(!found(word).is_empty() && !found(&vector).is_empty(), "they wait for compaction");
    assert_eq!(compact(&indexer), generation, "the state is the same");
    assert_eq!((found(word), found(&vector)), (vec![], vec![]));
    let status = indexer.status();
    assert_eq!((status.stored_generations, status.last_error), (vec![generation], None));

    // What stays is found as before, now and after a restart, and nothing is embedded again.
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
fn an_index_without_a_model_keeps_no_vectors_when_it_is_compacted() {
    let place = Place::new(FILES);
    settle(&place.open(&FakeEmbedder::new()));
    assert!(place.store().join("vectors").read_dir().expect("a folder").next().is_some());
    let indexer = Indexer::open(place.settings(), None, None).expect("an index");
    compact(&indexer);
    assert!(place.store().join("vectors").read_dir().expect("a folder").next().is_none());
}

#[test]
fn damage_is_told_of_once() {
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
        // In the middle of the first row, of the file that says whose it is, or of whatever the others hold.
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
fn what_is_taken_away_or_misplaced_is_made_again_and_told_of_once() {
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
    // What is damaged, how, and the one thing that is told of it.
    let cases: [(&str, Damage, Option<&str>); 18] = [
        ("keyword", remove, Some("the word index is missing")),
        ("keyword", turn, Some("a file lies in its place")),
        ("keyword/meta.json", remove, Some("the word index is missing")),
        ("keyword/meta.json", turn, Some("the word index was built anew")),
        ("gen", remove, Some("it is missing")),
        ("gen", turn, Some("the index goes on from generation")),
        ("gen", remove_all, Some("the index was built anew from the files")),
        ("gen/graph.rmp", remove, Some("it was made again from the notes")),
        ("gen/graph.rmp", turn, Some("it was made again from the notes")),
        ("gen/notes.col", turn, Some("the index goes on from generation")),
        ("gen/manifest.rmp", remove, Some("the index goes on from generation")),
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
    // So that there is an earlier state.
    place.write("fern.md", b"# Fern\nA [[moss]] of the shade, again.\n");
    settle(&indexer);
    let newest = indexer.status().generation;
    let said = |indexer: &Indexer| {
        let graph = indexer.reader().snapshot().notes.graph().columns();
        let hits = uris(&search(indexer, "soft shade", SearchMode::Hybrid)).join(" ");
        (indexer.status().digest, indexer.status().n_unresolved, format!("{graph:?}"), hits)
    };
    let whole = said(&indexer);
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
        assert_eq!(said(&indexer), whole, "{what}");
        assert_eq!(indexer.status().last_error, None, "{what}");
        indexer.stop();
        let indexer = place.open(&embedder);
        read_back(&indexer);
        assert_eq!(indexer.status().notices, [""; 0], "{what}");
        assert_eq!(said(&indexer), whole, "{what}");
    }
}

/// Copies a folder with all it holds; where words are being merged in it, again, until that is over.
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
fn a_graph_is_made_again_from_the_notes_without_their_files() {
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
    assert!(indexer.status().generation > status.generation, "it is written down anew");
}

#[test]
fn numbers_that_no_run_can_have_written_count_for_nothing() {
    let place = Place::new(FILES);
    let embedder = FakeEmbedder::new();
    let before = settle(&place.open(&embedder));
    let number = u64::MAX;
    // With the checksum that belongs to it.
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
    let earlier = indexer.at(generation).expect("an earlier state");
    assert_eq!(earlier.generation, generation);
}

#[test]
fn a_backup_of_a_living_index_is_one_generation_of_it() {
    let place = Place::new(FILES);
    let embedder = FakeEmbedder::new();
    let indexer = place.open(&embedder);
    let generation = settle(&indexer);
    let digest = indexer.status().digest;
    let backup = indexer.backup().expect("a backup");
    assert_eq!(backup.generation(), generation);

    // The index goes on, and is even compacted, before the copy is read.
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
    assert!(restored.status().generation > generation + 1000, "no run has published it");
    assert_eq!(uris(&search(&restored, "zanzibarquartz", SearchMode::Keyword)), ["secret"]);
    settle(&restored);
    assert_eq!(restored.status().digest, digest);
    assert_eq!(embedder.n_documents.load(Ordering::SeqCst), n_embedded);
}

/// The one file of this name in the store, of those there are the last.
fn find(store: &Path, name: &str) -> PathBuf {
    let mut all = files(store).into_iter().filter(|path| path.ends_with(name));
    all.next_back().unwrap_or_else(|| panic!("no {name} in {}", store.display()))
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[test]
fn a_look_that_is_broken_off_keeps_what_it_read() {
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
    assert_eq!(indexer.status().last_error, None, "it is no trouble");
    drop(indexer);
    let stored = inspect(&place.store()).expect("a store").expect("a checkpoint");
    assert_eq!(stored.checkpoint.notes.n_notes(), n_kept, "it is written down");
    let indexer = open();
    indexer.flush().expect("the rest");
    assert_eq!(n_notes(&indexer), n_files);
}

/// An index removes what is none of its own: once notes, where its folder was named for theirs.
#[test]
fn a_folder_of_other_things_is_no_store() {
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
            Some(IndexError::Store(StoreError::NoStore { .. })) => !is_among_notes,
            Some(_) | None => false,
        };
        assert!(is_named, "{}: {:?}", store.display(), refused.map(|error| error.to_string()));
    }
    assert_eq!(files(&other).len() + files(&place.vault()).len(), 2, "nothing came or went");

    // A disk of its own is empty, too.
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
        assert_eq!(mode & 0o077, 0, "it is as secret as the notes");
    }
}

#[test]
fn after_a_sudden_end_a_generation_is_held_once_the_files_were_looked_at() {
    let (place, embedder) = (Place::new(FILES), FakeEmbedder::new());
    let indexer = place.open(&embedder);
    settle(&indexer);
    indexer.flush().expect("a generation");
    let (path, content) = ("moss.md".to_owned(), Content::Whole("# Moss\nwarm\n".to_owned()));
    let put = Write::Put { vault: None, path, content, expected: Expected::Anything };
    let written = indexer.write(put).expect("a write").generation;
    assert!(indexer.holds(written) && !indexer.holds(written + 1));
    // What a power cut leaves, while the vault is away.
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
    indexer.flush().expect_err("the vault is away");
    let newest = indexer.status().generation;
    assert!(newest > written && indexer.holds(newest) && !indexer.holds(written));
    assert!(indexer.is_recovering());
    assert!(uris(&search(&indexer, "warm", SearchMode::Keyword)).is_empty());

    std::fs::rename(&away, place.vault()).expect("moved");
    indexer.flush().expect("a generation");
    assert!(indexer.holds(written) && !indexer.is_recovering());
    assert_eq!(uris(&search(&indexer, "warm", SearchMode::Keyword)), ["moss"]);
    indexer.stop();
    assert!(!open().is_recovering(), "that run ended well");
}
