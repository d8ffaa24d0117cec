//! Live updates: edits, renames, restarts, and the ways in which changes are detected.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use weft_engine::{Engine, EngineSettings, SearchMode};
use weft_index::StoreError;
use weft_indexer::{
    FileState, IndexError, Indexer, Precondition, Rescan, VaultSettings, WatchMode, WatchOptions,
    WatchState, WriteContent, WriteRequest,
};

use crate::fixtures::{FakeEmbedder, Place, search, settle, uris};

const FILES: &[(&str, &[u8])] = &[
    ("fern.md", b"# Fern\nsee [[moss]] and [[liverwort]]\n"),
    ("moss.md", b"# Moss\nsoft and green, grows in the shade\n"),
    ("stone.md", b"---\naliases: [rock]\n---\n# Stone\nhard and grey\n"),
];

#[test]
fn reopened_store_gives_identical_answers_and_embeds_nothing() {
    let place = Place::new(FILES);
    let embedder = FakeEmbedder::new();
    let questions = ["green shade", "hard rock", "fern"];
    let answers = |indexer: &Indexer| {
        let all = questions.iter().flat_map(|question| {
            [SearchMode::Hybrid, SearchMode::Vector, SearchMode::Keyword]
                .map(|mode| format!("{:?}", search(indexer, question, mode)))
        });
        all.collect::<Vec<_>>()
    };
    let indexer = place.open(&embedder);
    settle(&indexer);
    let before = answers(&indexer);
    assert_eq!(embedder.n_documents.load(Ordering::SeqCst), 3);
    indexer.stop();

    let indexer = place.open(&embedder);
    assert_eq!(answers(&indexer), before, "right after opening");
    settle(&indexer);
    assert_eq!(answers(&indexer), before, "and after the scan");
    assert_eq!(embedder.n_documents.load(Ordering::SeqCst), 3);
}

#[test]
fn vectors_count_as_pending_until_a_search_uses_them() {
    let (place, embedder) = (Place::new(FILES), FakeEmbedder::new());
    let indexer = place.open(&embedder);
    settle(&indexer);
    for n in 0..3 {
        place.write(&format!("pool-{n}.md"), format!("# Pool {n}\ndeep water\n").as_bytes());
        indexer.rescan(Rescan::default()).expect("scanned");
        let end = Instant::now() + Duration::from_secs(20);
        loop {
            let status = indexer.status();
            if status.n_vectors_awaited() == 0 {
                break;
            }
            assert!(Instant::now() < end, "{status:?}");
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(search(&indexer, "deep", SearchMode::Hybrid).warnings, [], "note {n}");
    }
}

/// The bundled model embeds texts of similar length faster than texts in arbitrary order.
#[test]
fn texts_are_embedded_in_order_of_length() {
    let place = Place::new(&[]);
    for n in 0..80 {
        let body = format!("# Note {n:02}\n{}\n", "word ".repeat(n * 37 % 41));
        place.write(&format!("{n}.md"), body.as_bytes());
    }
    let embedder = FakeEmbedder::new();
    let indexer = place.open(&embedder);
    settle(&indexer);
    let lengths = embedder.lengths.lock().unwrap();
    assert_eq!(lengths.len(), 80);
    assert!(lengths.is_sorted_by(|longer, next| longer >= next), "{lengths:?}");
}

#[test]
fn edits_renames_and_deletions_are_indexed() {
    let place = Place::new(FILES);
    let embedder = FakeEmbedder::new();
    let indexer = place.open(&embedder);
    let first = settle(&indexer);
    assert_eq!(settle(&indexer), first, "a scan that finds no change publishes nothing");

    place.write("liverwort.md", b"# Liverwort\nflat and wet\n");
    let second = settle(&indexer);
    assert!(second > first);
    assert_eq!(uris(&search(&indexer, "flat wet", SearchMode::Keyword)), ["liverwort"]);
    assert_eq!(indexer.status().n_unresolved, 0, "the link resolves to the new note");
    assert_eq!(embedder.n_documents.load(Ordering::SeqCst), 4);

    std::fs::rename(place.vault().join("moss.md"), place.vault().join("bryophyte.md"))
        .expect("a rename");
    settle(&indexer);
    assert_eq!(embedder.n_documents.load(Ordering::SeqCst), 4, "a rename embeds nothing");
    assert_eq!(uris(&search(&indexer, "shade", SearchMode::Keyword)), ["bryophyte"]);
    assert_eq!(
        uris(&search(&indexer, "soft green shade moss", SearchMode::Vector))[0],
        "bryophyte"
    );
    assert_eq!(indexer.status().n_unresolved, 1, "`[[moss]]` has no target now");

    std::fs::remove_file(place.vault().join("stone.md")).expect("a deletion");
    settle(&indexer);
    for mode in [SearchMode::Keyword, SearchMode::Vector, SearchMode::Hybrid] {
        assert!(!uris(&search(&indexer, "hard grey stone", mode)).contains(&"stone"));
    }
    assert_eq!(indexer.status().n_notes, 3);
}

#[test]
fn saved_file_is_detected_by_the_watcher() {
    let place = Place::new(FILES);
    let mut settings = place.settings();
    settings.watch = WatchOptions { debounce_ms: 20, ..WatchOptions::default() };
    let indexer = Indexer::open(settings, None, None).expect("an index");
    indexer.flush().expect("a generation");
    place.write("lichen.md", b"# Lichen\ncrusty\n");
    let deadline = Instant::now() + Duration::from_secs(30);
    while indexer.status().n_notes < 4 {
        assert!(Instant::now() < deadline, "the new file was not detected");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn second_writer_is_refused_with_address_of_the_first() {
    let place = Place::new(FILES);
    let first = Indexer::open(place.settings(), None, Some("127.0.0.1:9338")).expect("an index");
    match Indexer::open(place.settings(), None, None) {
        Err(IndexError::Store(StoreError::Locked { holder, .. })) => {
            assert_eq!(holder.as_deref(), Some("127.0.0.1:9338"));
        }
        Err(other) => panic!("another error: {other}"),
        Ok(_) => panic!("two writers"),
    }
    first.stop();
    Indexer::open(place.settings(), None, None).expect("the lock is released with its holder");
}

#[test]
fn deleted_store_gets_one_writer_again() {
    let place = Place::new(FILES);
    let open = |address| Indexer::open(place.settings(), None, Some(address));
    let first = open("first").expect("an index");
    first.flush().expect("a generation");
    let holder = |outcome: Result<u64, IndexError>| match outcome {
        Err(IndexError::Store(StoreError::Locked { holder, .. })) => holder.unwrap_or_default(),
        other => panic!("{other:?}"),
    };
    // A running checkpoint may interfere.
    let remove = || while std::fs::remove_dir_all(place.store()).is_err() {};
    // The first process to write gets the new store: here the present writer, with its next edit.
    remove();
    place.write("lichen.md", b"# Lichen\ncrusty\n");
    first.rescan(Rescan::default()).expect("a generation");
    assert_eq!(holder(open("second").map(|_| 0)), "first");
    // Until all is persisted, the store may reappear by itself.
    first.flush().expect("a checkpoint");
    // If another process gets it, the first one stops writing and reports why.
    remove();
    let second = open("second").expect("an index");
    second.flush().expect("a generation");
    place.write("moss.md", b"# Moss\nwet\n");
    assert_eq!(holder(first.rescan(Rescan::default())), "second");
    assert_eq!(uris(&search(&second, "crusty", SearchMode::Keyword)), ["lichen"]);
    second.stop();
    first.rescan(Rescan::default()).expect("the lock is released with its holder");
    assert_eq!(uris(&search(&first, "wet", SearchMode::Keyword)), ["moss"]);
}

#[test]
fn damage_to_any_store_file_is_repaired_from_the_vault() {
    let place = Place::new(FILES);
    let embedder = FakeEmbedder::new();
    let indexer = place.open(&embedder);
    settle(&indexer);
    let wanted = format!("{:?}", search(&indexer, "green shade", SearchMode::Hybrid).hits);
    indexer.stop();
    let mut files = Vec::new();
    collect(&place.store(), &mut files);
    let names: Vec<_> = files.iter().filter(|file| !file.ends_with("lock")).cloned().collect();
    assert!(names.len() > 6, "{names:?}");
    for file in names {
        for damage in ["flip", "one", "cut", "removed"] {
            // A repaired store has new file names.
            let Ok(mut bytes) = std::fs::read(&file) else { continue };
            match damage {
                "flip" => bytes.iter_mut().skip(16).step_by(31).for_each(|byte| *byte ^= 0x55),
                "one" => bytes.iter_mut().skip(2).take(1).for_each(|byte| *byte ^= 1),
                "cut" => bytes.truncate(bytes.len() / 2),
                _ => {}
            }
            if damage == "removed" {
                std::fs::remove_file(&file).expect("removed");
            } else {
                std::fs::write(&file, bytes).expect("damaged");
            }
            let indexer = place.open(&embedder);
            settle(&indexer);
            let hits = search(&indexer, "green shade", SearchMode::Hybrid).hits;
            assert_eq!(format!("{hits:?}"), wanted, "{damage} {}", file.display());
            indexer.stop();
        }
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        if entry.path().is_dir() {
            collect(&entry.path(), files);
        } else {
            files.push(entry.path());
        }
    }
}

#[test]
fn words_and_links_work_without_a_model() {
    let place = Place::new(FILES);
    let indexer = Indexer::open(place.settings(), None, None).expect("an index");
    indexer.rescan(Rescan::default()).expect("a generation");
    let engine = Engine::new(indexer.reader(), EngineSettings::default());
    let request =
        weft_engine::SearchRequest { query: "rock".into(), limit: 5, ..Default::default() };
    let answer = engine.search(&request).expect("an answer");
    assert_eq!(uris(&answer), ["stone"], "an alias is a name");
    assert!(answer.warnings.is_empty(), "nothing requested is missing");
    assert!(indexer.coverage().iter().all(|file| file.state == FileState::Indexed));
}

/// Waits until `holds`; panics with `what` after half a minute.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn watched_vault_scans_only_changed_files_and_folders() {
    let place = Place::new(FILES);
    let mut settings = place.settings();
    settings.watch = WatchOptions { debounce_ms: 20, ..WatchOptions::default() };
    let embedder = FakeEmbedder::new();
    let open = Arc::clone(&embedder) as Arc<dyn weft_index::embedder::Embedder>;
    let indexer = Indexer::open(settings, Some(open), None).expect("an index");
    settle(&indexer);
    assert_eq!(indexer.status().vaults[0].watch_state, WatchState::Native);
    let found = |word: &str| -> Vec<String> {
        let answer = search(&indexer, word, SearchMode::Keyword);
        uris(&answer).into_iter().map(str::to_owned).collect()
    };
    let vault = place.vault();

    // A folder that appears with files in it, and a subfolder.
    let arriving = place.outside().join("arriving");
    std::fs::create_dir_all(arriving.join("deep")).expect("a folder");
    std::fs::write(arriving.join("newt.md"), "a newt, see [[toad]]").expect("a file");
    std::fs::write(arriving.join("deep/toad.md"), "a toad").expect("a file");
    std::fs::rename(&arriving, vault.join("ponds")).expect("a move");
    until("a new folder", || found("toad").len() == 2 && found("newt").len() == 1);
    let n_embedded = || embedder.n_documents.load(Ordering::SeqCst);
    until("their vectors", || n_embedded() == 5);

    // The folder is renamed: no text is embedded again, and at no time does a search find both locations.
    std::fs::rename(vault.join("ponds"), vault.join("pools")).expect("a rename");
    until("a renamed folder", || {
        let found = found("newt");
        assert_eq!(found.len(), 1, "one step: {found:?}");
        found == ["pools/newt"]
    });
    assert_eq!(n_embedded(), 5);

    // Rule files are added and removed.
    place.write(".weftignore", b"pools/deep\n");
    until("added rules", || found("toad") == ["pools/newt"]);
    std::fs::remove_file(vault.join(".weftignore")).expect("removed");
    until("removed rules", || found("toad").len() == 2);

    // Saved as editors do: a temporary file is renamed over the old one.
    std::fs::write(vault.join(".fern.md.tmp"), "now about horsetails").expect("a file");
    std::fs::rename(vault.join(".fern.md.tmp"), vault.join("fern.md")).expect("a rename");
    until("a replaced file", || found("horsetails") == ["fern"]);

    std::fs::remove_dir_all(vault.join("pools")).expect("removed");
    until("a removed folder", || found("newt").is_empty() && indexer.status().n_notes == 3);
    assert_eq!(indexer.status().n_files_total, 0, "the last scan covered the folder only");

    // One file with two names: a change under one name appears under the other.
    std::fs::hard_link(vault.join("stone.md"), vault.join("pebble.md")).expect("a link");
    until("a second name", || found("hard") == ["pebble", "stone"]);
    std::fs::write(vault.join("pebble.md"), "smooth as glass").expect("a file");
    until("a change under the other name", || found("glass") == ["pebble", "stone"]);
    assert_eq!(indexer.status().last_error, None);
    let digest = indexer.status().digest;
    settle(&indexer);
    assert_eq!(indexer.status().digest, digest, "a full scan finds no change");
}

/// Opens a polled vault whose files are old enough that their times detect any change.
fn at_rest(place: &Place) -> Indexer {
    std::thread::sleep(Duration::from_millis(2_100));
    let indexer = Indexer::open(place.settings(), None, None).expect("an index");
    indexer.flush().expect("a generation");
    indexer
}

fn found(indexer: &Indexer, word: &str) -> Vec<String> {
    let answer = search(indexer, word, SearchMode::Keyword);
    uris(&answer).into_iter().map(str::to_owned).collect()
}

/// As rsync and some editors save: with the old size, time and inode.
#[cfg(unix)]
#[test]
fn file_saved_with_its_old_time_is_read_again() {
    let place = Place::new(FILES);
    let indexer = at_rest(&place);
    let path = place.vault().join("moss.md");
    let before = std::fs::metadata(&path).expect("a file");
    let text = std::fs::read_to_string(&path).expect("a file").replace("green", "brown");
    std::fs::write(&path, text).expect("a file");
    let file = std::fs::File::options().write(true).open(&path).expect("a file");
    file.set_modified(before.modified().expect("a time")).expect("a time");
    let after = std::fs::metadata(&path).expect("a file");
    assert_eq!((before.len(), before.modified().ok()), (after.len(), after.modified().ok()));
    indexer.flush().expect("a rescan");
    assert_eq!(found(&indexer, "brown"), ["moss"]);
}

#[test]
fn unchanged_save_updates_the_modification_time() {
    let place = Place::new(FILES);
    let indexer = at_rest(&place);
    let generation = indexer.status().generation;
    let text = std::fs::read(place.vault().join("moss.md")).expect("a file");
    place.write("moss.md", &text);
    indexer.flush().expect("a rescan");
    let modified = std::fs::metadata(place.vault().join("moss.md")).and_then(|it| it.modified());
    let modified = modified.expect("a time").duration_since(std::time::UNIX_EPOCH);
    let moss = indexer.coverage().into_iter().find(|file| file.path == "moss.md");
    let reported = u128::try_from(moss.expect("a line").modified_ns).ok();
    assert_eq!(reported, modified.ok().map(|time| time.as_nanos()));
    assert_eq!(indexer.status().generation, generation, "nothing else changed");
}

/// A vault whose folder is a symbolic link follows the link, not its first target.
#[cfg(unix)]
#[test]
fn changed_symbolic_link_of_a_vault_is_followed() {
    let place = Place::new(FILES);
    let (old, new) = (place.outside().join("old"), place.outside().join("new"));
    std::fs::rename(place.vault(), &old).expect("a move");
    std::fs::create_dir(&new).expect("a folder");
    std::fs::write(new.join("stone.md"), "polished").expect("a file");
    let turn = |to: &Path| {
        let new_link = place.outside().join("link");
        std::os::unix::fs::symlink(to, &new_link).expect("a link");
        std::fs::rename(new_link, place.vault()).expect("replaced");
    };
    turn(&old);
    for enabled in [true, false] {
        let mut settings = place.settings();
        settings.watch =
            WatchOptions { enabled, debounce_ms: 20, poll_ms: 100, ..WatchOptions::default() };
        let indexer = Indexer::open(settings, None, None).expect("an index");
        indexer.flush().expect("a generation");
        assert_eq!(found(&indexer, "shade"), ["moss"]);
        turn(&new);
        let rescan = || enabled || indexer.flush().is_ok();
        until("the other folder", || rescan() && found(&indexer, "polished") == ["stone"]);
        assert_eq!(found(&indexer, "shade"), [""; 0]);
        // The vault is watched and written at its new location.
        std::fs::write(new.join("pebble.md"), "smooth").expect("a file");
        until("a new file there", || rescan() && found(&indexer, "smooth") == ["pebble"]);
        turn(&old);
        let (content, expected) = (WriteContent::Whole("flat".into()), Precondition::Nothing);
        let put = WriteRequest::Put { vault: None, path: "slate.md".into(), content, expected };
        indexer.write(put).expect("written");
        assert_eq!(found(&indexer, "flat"), ["slate"]);
        assert_eq!(found(&indexer, "shade"), ["moss"], "all notes are back");
        assert!(old.join("slate.md").exists() && !new.join("slate.md").exists());
        for path in [old.join("slate.md"), new.join("pebble.md")] {
            std::fs::remove_file(path).expect("removed");
        }
        indexer.flush().expect("a generation");
        // A broken link counts as a missing folder.
        std::fs::remove_file(place.vault()).expect("removed");
        assert!(matches!(indexer.flush(), Err(IndexError::Vault { .. })));
        assert_eq!(indexer.status().vaults[0].n_missing, 3);
        turn(&old);
        indexer.flush().expect("the folder is back");
        assert_eq!((indexer.status().n_notes, indexer.status().last_error), (3, None));
    }
}

/// An unreadable folder once disabled the events of all others.
#[cfg(unix)]
#[test]
fn unreadable_folder_is_skipped_and_the_rest_is_watched() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new(FILES);
    place.write("closed/secret.md", b"secret");
    place.write("open/deep/lichen.md", b"crusty");
    place.write("zone/peat.md", b"peaty");
    let closed = place.vault().join("closed");
    let set = |mode| {
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(mode)).expect("a mode");
    };
    set(0o000);
    if std::fs::read_dir(&closed).is_ok() {
        // Root can read every folder.
        return set(0o700);
    }
    let mut settings = place.settings();
    settings.watch = WatchOptions { debounce_ms: 20, ..WatchOptions::default() };
    let indexer = Indexer::open(settings, None, None).expect("an index");
    indexer.flush().expect("a generation");
    let status = indexer.status();
    assert_eq!((status.n_notes, status.vaults[0].watch_state), (5, WatchState::Native));
    assert!(
        status.notices[0].starts_with("The folder `closed/` of `vault` is not indexed"),
        "{:?}",
        status.notices
    );
    place.write("open/deep/lichen.md", b"flaky");
    place.write("zone/new/mud.md", b"muddy");
    until("files next to it", || found(&indexer, "flaky") == ["open/deep/lichen"]);
    until("a new folder", || found(&indexer, "muddy") == ["zone/new/mud"]);
    set(0o700);
    until("the folder, readable again", || found(&indexer, "secret") == ["closed/secret"]);
    place.write("closed/secret.md", b"hidden");
    until("a change in it", || found(&indexer, "hidden") == ["closed/secret"]);
    assert_eq!(indexer.status().notices, [""; 0]);
}

#[test]
fn files_are_polled_if_no_events_are_available() {
    let place = Place::new(FILES);
    let mut settings = place.settings();
    settings.watch =
        WatchOptions { mode: WatchMode::Poll, poll_ms: 100, ..WatchOptions::default() };
    let indexer = Indexer::open(settings, None, None).expect("an index");
    indexer.flush().expect("a generation");
    assert_eq!(indexer.status().vaults[0].watch_state, WatchState::Polling);
    place.write("lichen.md", b"# Lichen\ncrusty\n");
    until("the new file was not detected", || indexer.status().n_notes == 4);
    place.write("lichen.md", b"# Lichen\ncrispy\n");
    let engine = Engine::new(indexer.reader(), EngineSettings::default());
    let request =
        weft_engine::SearchRequest { query: "crispy".into(), limit: 5, ..Default::default() };
    until("a change of the same length", || {
        uris(&engine.search(&request).expect("an answer")) == ["lichen"]
    });
}

#[test]
fn vaults_are_added_and_removed_at_runtime() {
    let (place, other) = (Place::new(FILES), Place::new(&[("fern.md", b"another fern, [[moss]]")]));
    let embedder = FakeEmbedder::new();
    let indexer = place.open(&embedder);
    settle(&indexer);
    let first = indexer.status();
    let vault = |name: &str, root: PathBuf| VaultSettings { name: name.into(), root };
    let one = vault("vault", place.vault());
    let both = vec![one.clone(), vault("other", other.vault())];

    indexer.set_vaults(both.clone()).expect("a second vault");
    settle(&indexer);
    assert_eq!(uris(&search(&indexer, "fern", SearchMode::Keyword)), ["other:fern", "vault:fern"]);
    assert_eq!(indexer.status().n_unresolved, 2, "links stay in their vault");
    indexer.set_vaults(vec![one.clone()]).expect("one vault");
    settle(&indexer);
    assert_eq!(uris(&search(&indexer, "fern", SearchMode::Keyword)), ["fern"]);
    assert_eq!(indexer.status().digest, first.digest);
    let missing = vec![one, vault("nowhere", place.outside().join("nowhere"))];
    assert!(matches!(indexer.set_vaults(missing), Err(IndexError::Vault { .. })));
    assert_eq!(indexer.status().digest, first.digest, "nothing changed");

    // The next run has the vaults of its settings; a renamed and moved vault is recognized by its files.
    settle(&indexer);
    let n_embedded = embedder.n_documents.load(Ordering::SeqCst);
    indexer.stop();
    let moved = place.outside().join("moved");
    std::fs::rename(place.vault(), &moved).expect("a move");
    let mut settings = place.settings();
    settings.vaults = vec![vault("moved", moved)];
    let embedder_too = Arc::clone(&embedder) as Arc<dyn weft_index::embedder::Embedder>;
    let indexer = Indexer::open(settings, Some(embedder_too), None).expect("an index");
    assert_eq!(uris(&search(&indexer, "shade", SearchMode::Keyword)), ["moss"]);
    settle(&indexer);
    assert_eq!(indexer.status().digest, first.digest);
    assert_eq!(embedder.n_documents.load(Ordering::SeqCst), n_embedded);
}

#[cfg(unix)]
#[test]
fn unreported_changes_are_found_by_the_full_rescan() {
    let place = Place::new(&[("fern.md", b"# Fern\n")]);
    std::fs::create_dir(place.vault().join(".store")).expect("a folder");
    std::fs::write(place.vault().join(".store/moss.md"), "soft").expect("written");
    std::os::unix::fs::symlink(".store/moss.md", place.vault().join("moss.md")).expect("a link");
    let mut settings = place.settings();
    settings.watch = WatchOptions {
        enabled: true,
        debounce_ms: 20,
        full_rescan_ms: 100,
        ..WatchOptions::default()
    };
    let indexer = Indexer::open(settings, None, None).expect("an index");
    settle(&indexer);
    std::fs::write(place.vault().join(".store/moss.md"), "springy").expect("written");
    until("a change behind the link", || found(&indexer, "springy") == ["moss"]);
}
