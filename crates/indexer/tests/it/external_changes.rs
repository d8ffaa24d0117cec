//! Another program changes the files of a store while the index runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use weft_engine::{Engine, EngineSettings, SearchMode, SearchRequest};
use weft_index::embedder::Embedder;
use weft_indexer::{IndexError, IndexSettings, IndexStatus, Indexer, Rescan, WatchOptions};

use crate::durability::files;
use crate::fixtures::{FakeEmbedder, Place, search, settle, uris};

const FILES: &[(&str, &[u8])] = &[
    ("fern.md", b"# Fern\nA [[moss]] of the shade.\n"),
    ("moss.md", b"# Moss\nGreen and soft, by the [[stone]].\n"),
    ("stone.md", b"# Stone\nHard and grey.\n"),
];

const FULL: Rescan = Rescan { full: true, compact: false, choose_model: false };
const COMPACT: Rescan = Rescan { full: false, compact: true, choose_model: false };

/// Returns the files of the store whose names end with `end`.
fn ending(place: &Place, end: &str) -> Vec<PathBuf> {
    let is_meant = |path: &PathBuf| path.to_string_lossy().ends_with(end);
    files(&place.store()).into_iter().filter(is_meant).collect()
}

/// Returns the results of keyword and vector searches.
fn found(indexer: &Indexer) -> Vec<Vec<String>> {
    let texts = ["shade", "soft", "grey", "hard moss"];
    let modes = [SearchMode::Keyword, SearchMode::Vector];
    let queries = texts.into_iter().flat_map(|query| modes.map(|mode| (query, mode)));
    let uris_of = |(query, mode)| {
        let answer = search(indexer, query, mode);
        uris(&answer).into_iter().map(str::to_owned).collect()
    };
    queries.map(uris_of).collect()
}

#[test]
fn externally_changed_vectors_are_embedded_again_and_reported_once() {
    for (name, rescan) in [("compaction", COMPACT), ("a full rescan", FULL)] {
        let place = Place::new(FILES);
        let embedder = FakeEmbedder::new();
        let indexer = place.open(&embedder);
        settle(&indexer);
        let (answers, n_embedded) = (found(&indexer), embedder.n_documents.load(Ordering::SeqCst));
        for path in ending(&place, "vec.f32") {
            // In the first row.
            spoil(&path, 64 + 40..64 + 41, false);
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
fn stray_bytes_behind_vectors_are_reported_once() {
    for is_running in [true, false] {
        let place = Place::new(FILES);
        let embedder = FakeEmbedder::new();
        let indexer = place.open(&embedder);
        settle(&indexer);
        let (answers, n_embedded) = (found(&indexer), embedder.n_documents.load(Ordering::SeqCst));
        let running = Some(indexer).filter(|_| is_running);
        for path in ending(&place, "vec.f32") {
            let file = std::fs::File::options().append(true).open(&path).expect("a file");
            std::io::Write::write_all(&mut &file, b"stray").expect("written");
        }
        let indexer = running.unwrap_or_else(|| place.open(&embedder));
        indexer.rescan(FULL).expect("scanned");
        settle(&indexer);
        let notices = indexer.status().notices;
        assert!(
            notices.len() == 1 && notices[0].contains("added bytes"),
            "running: {is_running}: {notices:?}"
        );
        assert_eq!(found(&indexer), answers, "running: {is_running}");
        assert_eq!(embedder.n_documents.load(Ordering::SeqCst), n_embedded, "nothing is embedded");
        indexer.stop();
        let indexer = place.open(&embedder);
        settle(&indexer);
        assert_eq!(indexer.status().notices, [""; 0], "running: {is_running}");
        assert_eq!(found(&indexer), answers, "running: {is_running}");
    }
}

#[test]
fn externally_changed_vector_is_not_reused() {
    let place = Place::new(FILES);
    let embedder = FakeEmbedder::new();
    let indexer = place.open(&embedder);
    settle(&indexer);
    let n_embedded = embedder.n_documents.load(Ordering::SeqCst);
    place.write("again/stone.md", FILES[2].1);
    settle(&indexer);
    assert_eq!(embedder.n_documents.load(Ordering::SeqCst), n_embedded, "reused");
    for path in ending(&place, "vec.f32") {
        spoil(&path, (0..4).map(|row| 64 + row * 128 + 40), false);
    }
    place.write("once more/stone.md", FILES[2].1);
    settle(&indexer);
    assert_eq!(embedder.n_documents.load(Ordering::SeqCst), n_embedded + 1, "embedded");
}

/// Waits until the index is idle and shows no error.
fn assert_repaired(indexer: &Indexer, name: &str) {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        settle(indexer);
        let status = indexer.status();
        if status.last_error.is_none() && status.notices.len() == 1 {
            return;
        }
        assert!(Instant::now() < end, "{name}: {:?}, {:?}", status.last_error, status.notices);
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn externally_changed_keyword_index_is_rebuilt() {
    type Occasion = fn(&Place, &Indexer);
    let edit: Occasion = |place, indexer| {
        place.write("fern.md", b"# Fern\nA [[moss]] of the shade, again.\n");
        indexer.flush().expect("repaired first");
    };
    let ask: Occasion = |_, indexer| {
        let engine = Engine::new(indexer.reader(), EngineSettings::default());
        let request = |query: &str| SearchRequest {
            query: query.into(),
            limit: 10,
            mode: SearchMode::Keyword,
            ..SearchRequest::default()
        };
        let texts = ["soft", "grey", "hard moss", "\"by the stone\""];
        let broken =
            texts.map(|query| engine.search(&request(query))).into_iter().find_map(Result::err);
        let error = broken.expect("damage shows").to_string();
        assert!(error.contains("damaged"), "{error}");
    };
    let compact: Occasion = |_, indexer| {
        indexer.rescan(COMPACT).expect("repaired first");
    };
    let scan: Occasion = |_, indexer| {
        indexer.rescan(FULL).expect("rebuilt");
    };
    let cases = [
        ("an edit", edit, 1, ".term"),
        ("an edit, damaged lengths", edit, 1, ".fieldnorm"),
        ("an edit, damaged columns", edit, 1, ".fast"),
        ("a question", ask, 1, ".term"),
        ("compaction", compact, 1, ".store"),
        ("a full rescan", scan, 0, ".store"),
    ];
    for (name, occasion, n_notices, kind) in cases {
        let place = Place::new(FILES);
        let embedder = FakeEmbedder::new();
        let indexer = place.open(&embedder);
        settle(&indexer);
        let (answers, n_embedded) = (found(&indexer), embedder.n_documents.load(Ordering::SeqCst));
        for path in ending(&place, kind) {
            let bytes = std::fs::read(&path).expect("a file");
            let end = bytes.windows(10).position(|part| part == b"{\"version\"").expect("its end");
            spoil(&path, 0..end, false);
        }
        occasion(&place, &indexer);
        if n_notices == 1 {
            assert_repaired(&indexer, name);
            assert!(indexer.status().notices[0].contains("rebuilt"), "{name}");
        }
        assert_eq!(indexer.status().notices.len(), n_notices, "{name}");
        assert_eq!(found(&indexer), answers, "{name}");
        place.write("fern.md", FILES[0].1);
        settle(&indexer);
        let n_more = embedder.n_documents.load(Ordering::SeqCst) - n_embedded;
        assert!(n_more <= 1, "{name}: {n_more} texts embedded");
        indexer.stop();
        let indexer = place.open(&embedder);
        assert_eq!(indexer.status().notices, [""; 0], "{name}");
        assert_eq!(found(&indexer), answers, "{name}");
    }
}

#[test]
fn externally_removed_keyword_index_is_rebuilt() {
    type Damage = fn(&Path);
    let cases: [(&str, Damage); 3] = [
        ("the folder", |at| std::fs::remove_dir_all(at).expect("removed")),
        ("its list", |at| std::fs::remove_file(at.join("meta.json")).expect("removed")),
        ("replaced by a file", |at| {
            std::fs::remove_dir_all(at).expect("removed");
            std::fs::write(at, "no folder").expect("written");
        }),
    ];
    for (name, damage) in cases {
        let place = Place::new(FILES);
        let embedder = FakeEmbedder::new();
        let indexer = place.open(&embedder);
        settle(&indexer);
        let answers = found(&indexer);
        damage(&place.store().join("keyword"));
        assert_eq!(found(&indexer), answers, "{name}: still in memory");
        place.write("fern.md", b"# Fern\nA [[moss]] of the shade, again.\n");
        indexer.flush().expect(name);
        assert_repaired(&indexer, name);
        assert_eq!(found(&indexer), answers, "{name}");
        indexer.stop();
        assert_eq!(place.open(&embedder).status().notices, [""; 0], "{name}");
    }
}

/// Changes bytes of a file in place; if `is_hidden`, restores its metadata so that the file system shows no change.
fn spoil(path: &Path, places: impl Iterator<Item = usize>, is_hidden: bool) {
    let modified = std::fs::metadata(path).and_then(|facts| facts.modified()).expect("facts");
    let mut bytes = std::fs::read(path).expect("a file");
    places.for_each(|at| bytes[at] ^= 1);
    let file = std::fs::File::options().write(true).open(path).expect("a file");
    std::io::Write::write_all(&mut &file, &bytes).expect("written");
    let time = if is_hidden { modified } else { modified + Duration::from_secs(1) };
    file.set_modified(time).expect("a time");
}

#[test]
fn externally_changed_notes_are_rebuilt() {
    type Occasion = fn(&Indexer) -> Result<u64, IndexError>;
    let flush: Occasion = Indexer::flush;
    let scan: Occasion = |indexer| indexer.rescan(Rescan::default());
    let full: Occasion = |indexer| indexer.rescan(FULL);
    let compact: Occasion = |indexer| indexer.rescan(COMPACT);
    // The occasion, whether the file system shows the change, whether an earlier generation is intact, and whether a note is edited before.
    let cases: [(&str, Occasion, bool, bool, bool); 7] = [
        ("an edit", flush, false, true, true),
        ("an edit, from the files alone", flush, false, false, true),
        ("a rescan", scan, false, true, false),
        ("a full rescan, hidden change", full, true, true, false),
        ("an edit, hidden change", flush, true, true, true),
        ("an edit, hidden change, from the files alone", flush, true, false, true),
        ("compaction after an edit, hidden change", compact, true, true, true),
    ];
    for (name, occasion, is_hidden, has_intact_generation, is_edited) in cases {
        let place = Place::new(FILES);
        let embedder = FakeEmbedder::new();
        let indexer = place.open(&embedder);
        settle(&indexer);
        place.write("lichen.md", b"# Lichen\nCrusty, on a [[stone]].\n");
        settle(&indexer);
        let mut stored = ending(&place, "notes.col");
        assert_eq!(stored.len(), 2, "{name}");
        if has_intact_generation {
            stored.remove(0);
        }
        if is_edited {
            place.write("fern.md", b"# Fern\nA [[moss]] of the shade, again.\n");
        }
        for path in stored {
            let bytes = std::fs::read(&path).expect("a file");
            // A hidden change affects only the content of a note, which is read before the file is compared.
            let body = bytes.windows(4).position(|part| part == b"Hard").expect("a note");
            let places = if is_hidden { body..body + 1 } else { 0..bytes.len() };
            spoil(&path, places, is_hidden);
        }
        occasion(&indexer).expect(name);
        assert_repaired(&indexer, name);
        assert!(indexer.status().notices[0].contains("changed by another program"), "{name}");
        let fresh = Place::new(FILES);
        for path in ["fern.md", "lichen.md"] {
            fresh.write(path, &std::fs::read(place.vault().join(path)).expect("a file"));
        }
        let fresh = fresh.open(&FakeEmbedder::new());
        settle(&fresh);
        let state_of = |indexer: &Indexer| {
            let IndexStatus { digest, n_links, n_unresolved, n_chunks, .. } = indexer.status();
            let body = |uri: &str| {
                let snapshot = indexer.reader().snapshot();
                let id = snapshot.notes.find(uri).note.expect("a note");
                snapshot.notes.entry(id).expect("a note").body.to_string()
            };
            (digest, n_links, n_unresolved, n_chunks, found(indexer), body("stone"))
        };
        assert_eq!(state_of(&indexer), state_of(&fresh), "{name}");
        let n_embedded = embedder.n_documents.load(Ordering::SeqCst);
        // A text that is being embedded at this moment may be sent twice.
        let n_more = n_embedded - 4;
        assert!(n_more <= 2 * usize::from(is_edited), "{name}: {n_more} texts embedded");
        let generation = indexer.status().generation;
        indexer.stop();
        let indexer = place.open(&embedder);
        assert_eq!((indexer.status().generation, indexer.status().notices), (generation, vec![]));
        assert_eq!(state_of(&indexer), state_of(&fresh), "{name}");
    }
}

#[test]
fn externally_changed_past_generation_is_detected() {
    let (place, embedder) = (Place::new(FILES), FakeEmbedder::new());
    let indexer = place.open(&embedder);
    let first = settle(&indexer);
    place.write("lichen.md", b"# Lichen\nCrusty, on a [[stone]].\n");
    let newest = settle(&indexer);
    // One run persists both generations and caches them; another one reads the first.
    indexer.stop();
    let indexer = place.open(&embedder);
    assert_eq!(indexer.at(first).expect("stored").notes.n_notes(), FILES.len());
    let path = place.store().join(format!("gen-{first}/notes.col"));
    let n_bytes = std::fs::metadata(&path).expect("a file").len();
    spoil(&path, 0..usize::try_from(n_bytes).expect("it fits"), false);
    for _ in 0..2 {
        let error = indexer.at(first).err().expect("damaged").to_string();
        assert!(error.contains("notes.col") && error.contains("checksum"), "{error}");
    }
    assert_eq!(indexer.at(newest).expect("the newest").notes.n_notes(), FILES.len() + 1);
}

#[test]
fn damaged_earlier_generation_is_reported_after_a_start() {
    for (file, effect) in [
        ("notes.col", "cannot be queried"),
        ("manifest.rmp", "cannot be queried"),
        ("graph.rmp", "can still be queried, with a graph built from its notes"),
    ] {
        let (place, embedder) = (Place::new(FILES), FakeEmbedder::new());
        let indexer = place.open(&embedder);
        let first = settle(&indexer);
        place.write("lichen.md", b"# Lichen\nCrusty, on a [[stone]].\n");
        settle(&indexer);
        indexer.stop();
        let path = place.store().join(format!("gen-{first}/{file}"));
        // Stray bytes count as damage.
        let mut bytes = std::fs::read(&path).expect("a file");
        bytes.extend_from_slice(b"stray");
        std::fs::write(&path, bytes).expect("written");
        let watch = WatchOptions { poll_ms: 20, ..WatchOptions::default() };
        let settings = IndexSettings { watch, ..place.settings() };
        let model = Arc::clone(&embedder) as Arc<dyn Embedder>;
        let indexer = Indexer::open(settings, Some(model), None).expect("an index");
        let end = Instant::now() + Duration::from_secs(20);
        while indexer.status().notices.is_empty() {
            assert!(Instant::now() < end, "{file}");
            std::thread::sleep(Duration::from_millis(5));
        }
        let notices = indexer.status().notices;
        let [notice] = notices.as_slice() else { panic!("{file}: {notices:?}") };
        assert!(notice.contains(file) && notice.contains("is damaged"), "{file}: {notice}");
        assert!(notice.contains(&format!("generation {first} {effect}")), "{notice}");
        settle(&indexer);
        assert_eq!(indexer.status().n_notes, FILES.len() + 1, "{file}");
    }
}

#[test]
fn compaction_persists_rebuilt_notes() {
    let place = Place::new(FILES);
    let embedder = FakeEmbedder::new();
    let indexer = place.open(&embedder);
    settle(&indexer);
    place.write("fern.md", b"# Fern\nA [[moss]] of the shade, again.\n");
    for path in ending(&place, "notes.col") {
        let bytes = std::fs::read(&path).expect("a file");
        let body = bytes.windows(4).position(|part| part == b"Hard").expect("a note");
        spoil(&path, body..body + 1, true);
    }
    indexer.rescan(COMPACT).expect("compacted");
    assert!(indexer.status().notices[0].contains("changed by another program"));
    // The vector of the edited note is published on its own.
    settle(&indexer);
    let generation = indexer.status().generation;
    indexer.stop();
    let indexer = place.open(&embedder);
    assert_eq!((indexer.status().generation, indexer.status().notices), (generation, vec![]));
}

#[test]
fn external_changes_are_detected_without_requests_or_edits() {
    type Damage = fn(&Path);
    let spoil_all: Damage = |at| {
        let bytes = std::fs::read(at).expect("a file");
        // A vector may be damaged anywhere in its row.
        let start = if at.ends_with("vec.f32") { 64 } else { 0 };
        spoil(at, (start..bytes.len()).step_by(40), false);
    };
    // All files in one step, since files that are rebuilt meanwhile would be removed as well.
    let remove: Damage = |at| {
        let store = at.ancestors().find(|folder| folder.ends_with("store")).expect("the store");
        let folder = at.parent().expect("a folder");
        std::fs::rename(folder, store.with_file_name("away")).expect("taken away");
    };
    // Reading a truncated mapped file ends the process.
    let cut: Damage = |at| {
        let file = std::fs::File::options().write(true).open(at).expect("a file");
        file.set_len(0).expect("cut");
    };
    // The notice; `None` if all content is still in memory and the file is only written again.
    let remove_one: Damage = |at| std::fs::remove_file(at).expect("taken away");
    let cases: [(&str, Damage, Option<&str>); 11] = [
        ("graph.rmp", remove_one, None),
        ("manifest.rmp", remove_one, None),
        ("rows.log", remove_one, None),
        (".idx", spoil_all, Some("the keyword index was rebuilt")),
        (".idx", remove, Some("the keyword index was rebuilt")),
        ("notes.col", spoil_all, Some("changed by another program")),
        ("notes.col", cut, Some("changed by another program")),
        ("notes.col", remove, None),
        ("vec.f32", spoil_all, Some("vectors were damaged")),
        ("vec.f32", cut, Some("vectors were damaged")),
        ("vec.f32", remove, None),
    ];
    for (what, damage, line) in cases {
        let place = Place::new(FILES);
        let watch = WatchOptions { poll_ms: 20, ..WatchOptions::default() };
        let settings = IndexSettings { watch, ..place.settings() };
        let embedder = FakeEmbedder::new();
        let maker = Arc::clone(&embedder) as Arc<dyn Embedder>;
        let indexer = Indexer::open(settings, Some(maker), None).expect("an index");
        settle(&indexer);
        let answers = found(&indexer);
        let path = ending(&place, what).pop().expect("a file");
        damage(&path);
        let end = Instant::now() + Duration::from_secs(120);
        let is_repaired = || {
            let notices = indexer.status().notices;
            match line {
                Some(line) => notices.iter().any(|notice| notice.contains(line)),
                None => !ending(&place, what).is_empty(),
            }
        };
        while !is_repaired() {
            assert!(Instant::now() < end, "{what}: {:?}", indexer.status());
            std::thread::sleep(Duration::from_millis(5));
        }
        settle(&indexer);
        assert_eq!(found(&indexer), answers, "{what}");
        assert_eq!(indexer.status().notices.len(), usize::from(line.is_some()), "{what}");
        indexer.backup().expect("files of everything");
        let n_embedded = embedder.n_documents.load(Ordering::SeqCst);
        indexer.stop();
        let indexer = place.open(&embedder);
        settle(&indexer);
        assert_eq!((found(&indexer), indexer.status().notices), (answers, vec![]), "{what}");
        assert_eq!(embedder.n_documents.load(Ordering::SeqCst), n_embedded, "{what}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn truncated_files_are_read_without_harm_and_rebuilt() {
    let kinds: [&[&str]; 6] = [
        &["notes.col"],
        &[".term"],
        &[".idx", ".pos"],
        &[".fast", ".store"],
        &["vec.f32"],
        &["notes.col", ".term", ".idx", ".pos", ".fast", ".store", "vec.f32"],
    ];
    for kinds in kinds {
        let place = Place::new(FILES);
        let embedder = FakeEmbedder::new();
        let first = place.open(&embedder);
        settle(&first);
        first.stop();
        // What is read from now on is mapped.
        let indexer = place.open(&embedder);
        settle(&indexer);
        let answers = found(&indexer);
        let truncated: Vec<PathBuf> = kinds.iter().flat_map(|kind| ending(&place, kind)).collect();
        assert!(!truncated.is_empty(), "{kinds:?}");
        for path in &truncated {
            let file = std::fs::File::options().write(true).open(path).expect("a file");
            file.set_len(0).expect("truncated");
        }
        let engine = Engine::new(indexer.reader(), EngineSettings::default());
        for mode in [SearchMode::Keyword, SearchMode::Vector, SearchMode::Hybrid] {
            for query in ["shade", "\"by the stone\"", "gre*"] {
                let snapshot = indexer.reader().snapshot();
                let (query, limit) = (query.to_owned(), 10);
                let request = SearchRequest { query, limit, mode, ..SearchRequest::default() };
                let answer = engine.over(Arc::clone(&snapshot)).search(&request);
                if snapshot.check_truncation().is_ok() {
                    let hits = answer.map(|answer| answer.hits.len());
                    assert!(hits.is_ok_and(|n_hits| n_hits > 0), "{kinds:?}: {}", request.query);
                }
            }
        }
        place.write("fern.md", b"# Fern\nA [[moss]] of the shade, again.\n");
        indexer.rescan(FULL).expect("rebuilt");
        let end = Instant::now() + Duration::from_secs(20);
        while indexer.reader().snapshot().check_truncation().is_err()
            || indexer.status().last_error.is_some()
        {
            assert!(Instant::now() < end, "{kinds:?}: {:?}", indexer.status().last_error);
            settle(&indexer);
            indexer.rescan(FULL).expect("rebuilt");
        }
        settle(&indexer);
        assert_eq!(found(&indexer), answers, "{kinds:?}");
        assert!(!indexer.status().notices.is_empty(), "{kinds:?}");
        indexer.stop();
        let indexer = place.open(&embedder);
        settle(&indexer);
        assert_eq!(found(&indexer), answers, "{kinds:?}");
        assert_eq!(indexer.status().notices, [""; 0], "{kinds:?}");
    }
}
