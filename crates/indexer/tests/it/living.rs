//! Edits, renames, restarts.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use weft_engine::{Engine, EngineSettings, SearchMode};
use weft_index::StoreError;
use weft_indexer::{
    Content, Expected, FileState, IndexError, Indexer, Rescan, VaultSettings, WatchMode,
    WatchOptions, WatchState, Write,
};

use crate::fake::{FakeEmbedder, Place, search, settle, uris};

const FILES: &[(&str, &[u8])] = &[
    ("fern.md", b"# Fern\nsee [[moss]] and [[liverwort]]\n"),
    ("moss.md", b"# Moss\nsoft and green, grows in the shade\n"),
    ("stone.md", b"---\naliases: [rock]\n---\n# Stone\nhard and grey\n"),
];

#[test]
fn a_reopened_store_answers_the_same_bytes_and_embeds_nothing() {
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
    assert_eq!(answers(&indexer), before, "as soon as the store is open");
    settle(&indexer);
    assert_eq!(answers(&indexer), before, "and after the files were looked at");
    assert_eq!(embedder.n_documents.load(Ordering::SeqCst), 3);
}

/// Texts of a length cost the bundled model less than texts in any order.
#[test]
fn the_model_gets_texts_by_length() {
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
fn edits_renames_and_deletions_are_followed() {
    let place = Place::new(FILES);
    let embedder = FakeEmbedder::new();
    let indexer = place.open(&embedder);
    let first = settle(&indexer);
    assert_eq!(settle(&indexer), first, "a scan that finds no change publishes nothing");

    place.write("liverwort.md", b"# Liverwort\nflat and wet\n");
    let second = settle(&indexer);
    assert!(second > first);
    assert_eq!(uris(&search(&indexer, "flat wet", SearchMode::Keyword)), ["liverwort"]);
    assert_eq!(indexer.status().n_unresolved, 0, "the waiting link found its note");
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
    assert_eq!(indexer.status().n_unresolved, 1, "`[[moss]]` names nothing now");

    std::fs::remove_file(place.vault().join("stone.md")).expect("a deletion");
    settle(&indexer);
    for mode in [SearchMode::Keyword, SearchMode::Vector, SearchMode::Hybrid] {
        assert!(!uris(&search(&indexer, "hard grey stone", mode)).contains(&"stone"));
    }
    assert_eq!(indexer.status().n_notes, 3);
}

#[test]
fn a_saved_file_is_noticed_by_itself() {
    let place = Place::new(FILES);
    let mut settings = place.settings();
    settings.watch = WatchOptions { debounce_ms: 20, ..WatchOptions::default() };
    let indexer = Indexer::open(settings, None, None).expect("an index");
    indexer.flush().expect("a generation");
    place.write("lichen.md", b"# Lichen\ncrusty\n");
    let given_up = Instant::now() + Duration::from_secs(30);
    while indexer.status().n_notes < 4 {
        assert!(Instant::now() < given_up, "the new file was not noticed");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_second_writer_is_refused_and_told_whom_to_ask() {
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
    Indexer::open(place.settings(), None, None).expect("the lock went with its holder");
}

#[test]
fn a_store_that_was_deleted_under_its_writer_has_one_writer_again() {
    let place = Place::new(FILES);
    let open = |address| Indexer::open(place.settings(), None, Some(address));
    let first = open("first").expect("an index");
    first.flush().expect("a generation");
    let holder = |outcome: Result<u64, IndexError>| match outcome {
        Err(IndexError::Store(StoreError::Locked { holder, .. })) => holder.unwrap_or_default(),
        other => panic!("{other:?}"),
    };
    // What is being written down may come in between.
    let remove = || while std::fs::remove_dir_all(place.store()).is_err() {};
    // Whoever comes first has it: the one that was there, with its next edit.
    remove();
    place.write("lichen.md", b"# Lichen\ncrusty\n");
    first.rescan(Rescan::default()).expect("a generation");
    assert_eq!(holder(open("second").map(|_| 0)), "first");
    // Until all is written down it may come back by itself.
    first.flush().expect("a checkpoint");
    // Or another: then the first writes no more, and says why.
    remove();
    let second = open("second").expect("an index");
    second.flush().expect("a generation");
    place.write("moss.md", b"# Moss\nwet\n");
    assert_eq!(holder(first.rescan(Rescan::default())), "second");
    assert_eq!(uris(&search(&second, "crusty", SearchMode::Keyword)), ["lichen"]);
    second.stop();
    first.rescan(Rescan::default()).expect("the lock went with its holder");
    assert_eq!(uris(&search(&first, "wet", SearchMode::Keyword)), ["moss"]);
}

#[test]
fn damage_to_any_file_of_the_store_is_healed_from_the_vault() {
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
        for damage in ["flip", "one", "cut", "gone"] {
            // A healed store names its files anew.
            let Ok(mut bytes) = std::fs::read(&file) else { continue };
            match damage {
                "flip" => bytes.iter_mut().skip(16).step_by(31).for_each(|byte| *byte ^= 0x55),
                "one" => bytes.iter_mut().skip(2).take(1).for_each(|byte| *byte ^= 1),
                "cut" => bytes.truncate(bytes.len() / 2),
                _ => {}
            }
            if damage == "gone" {
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
fn without_a_model_words_and_links_answer() {
    let place = Place::new(FILES);
    let indexer = Indexer::open(place.settings(), None, None).expect("an index");
    indexer.rescan(Rescan::default()).expect("a generation");
    let engine = Engine::new(indexer.reader(), EngineSettings::default());
    let request =
        weft_engine::SearchRequest { query: "rock".into(), limit: 5, ..Default::default() };
    let answer = engine.search(&request).expect("an answer");
    assert_eq!(uris(&answer), ["stone"], "an alias is a name");
    assert!(answer.degraded.is_empty(), "nothing was asked that is missing");
    assert!(indexer.coverage().iter().all(|file| file.state == FileState::Indexed));
}

/// Waits until `holds`, or panics with `what` after half a minute.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let given_up = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < given_up, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_watched_vault_follows_files_and_folders_without_looking_at_the_rest() {
    let place = Place::new(FILES);
    let mut settings = place.settings();
    settings.watch = WatchOptions { debounce_ms: 20, ..WatchOptions::default() };
    let embedder = FakeEmbedder::new();
    let open = Arc::clone(&embedder) as Arc<dyn weft_index::embedder::Embedder>;
    let indexer = Indexer::open(settings, Some(open), None).expect("an index");
    settle(&indexer);
    assert_eq!(indexer.status().vaults[0].watching, WatchState::Announced);
    let found = |word: &str| -> Vec<String> {
        let answer = search(&indexer, word, SearchMode::Keyword);
        uris(&answer).into_iter().map(str::to_owned).collect()
    };
    let vault = place.vault();

    // A folder that arrives with files in it, and one below it.
    let arriving = place.outside().join("arriving");
    std::fs::create_dir_all(arriving.join("deep")).expect("a folder");
    std::fs::write(arriving.join("newt.md"), "a newt, see [[toad]]").expect("a file");
    std::fs::write(arriving.join("deep/toad.md"), "a toad").expect("a file");
    std::fs::rename(&arriving, vault.join("ponds")).expect("a move");
    until("a folder that arrived", || found("toad").len() == 2 && found("newt").len() == 1);
    let n_embedded = || embedder.n_documents.load(Ordering::SeqCst);
    until("their vectors", || n_embedded() == 5);

    // It is renamed as a whole: no other vectors, and nothing is found at both places at any moment.
    std::fs::rename(vault.join("ponds"), vault.join("pools")).expect("a rename");
    until("a folder that was renamed", || {
        let found = found("newt");
        assert_eq!(found.len(), 1, "one step: {found:?}");
        found == ["pools/newt"]
    });
    assert_eq!(n_embedded(), 5);

    // Rules that come and go.
    place.write(".weftignore", b"pools/deep\n");
    until("rules that came", || found("toad") == ["pools/newt"]);
    std::fs::remove_file(vault.join(".weftignore")).expect("removed");
    until("rules that went", || found("toad").len() == 2);

    // Saved as editors do, beside and renamed over.
    std::fs::write(vault.join(".fern.md.tmp"), "now about horsetails").expect("a file");
    std::fs::rename(vault.join(".fern.md.tmp"), vault.join("fern.md")).expect("a rename");
    until("a file that was replaced", || found("horsetails") == ["fern"]);

    std::fs::remove_dir_all(vault.join("pools")).expect("removed");
    until("a folder that went", || found("newt").is_empty() && indexer.status().n_notes == 3);
    assert_eq!(indexer.status().n_files_total, 0, "the last look was at the folder alone");

    // One file under two names: a change of one shows under the other.
    std::fs::hard_link(vault.join("stone.md"), vault.join("pebble.md")).expect("a link");
    until("a second name", || found("hard") == ["pebble", "stone"]);
    std::fs::write(vault.join("pebble.md"), "smooth as glass").expect("a file");
    until("a change under the other name", || found("glass") == ["pebble", "stone"]);
    assert_eq!(indexer.status().last_error, None);
    let digest = indexer.status().digest;
    settle(&indexer);
    assert_eq!(indexer.status().digest, digest, "a look at everything finds nothing new");
}

/// A vault that is followed by looking, whose files lay unchanged for long enough that their times tell.
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

/// As rsync and some editors save: size, time and inode were those of the file before.
#[cfg(unix)]
#[test]
fn a_file_that_was_saved_under_its_old_time_is_read_again() {
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
    indexer.flush().expect("a look");
    assert_eq!(found(&indexer, "brown"), ["moss"]);
}

#[test]
fn a_file_that_was_saved_unchanged_has_its_new_time() {
    let place = Place::new(FILES);
    let indexer = at_rest(&place);
    let generation = indexer.status().generation;
    let text = std::fs::read(place.vault().join("moss.md")).expect("a file");
    place.write("moss.md", &text);
    indexer.flush().expect("a look");
    let modified = std::fs::metadata(place.vault().join("moss.md")).and_then(|it| it.modified());
    let modified = modified.expect("a time").duration_since(std::time::UNIX_EPOCH);
    let moss = indexer.coverage().into_iter().find(|file| file.path == "moss.md");
    let told = u128::try_from(moss.expect("a line").modified_ns).ok();
    assert_eq!(told, modified.ok().map(|time| time.as_nanos()));
    assert_eq!(indexer.status().generation, generation, "nothing else is new");
}

/// A vault whose folder is a link keeps to the link, not to where it led.
#[cfg(unix)]
#[test]
fn a_link_that_is_turned_is_followed() {
    let place = Place::new(FILES);
    let (old, new) = (place.outside().join("old"), place.outside().join("new"));
    std::fs::rename(place.vault(), &old).expect("a move");
    std::fs::create_dir(&new).expect("a folder");
    std::fs::write(new.join("stone.md"), "polished").expect("a file");
    let turn = |to: &Path| {
        let beside = place.outside().join("link");
        std::os::unix::fs::symlink(to, &beside).expect("a link");
        std::fs::rename(beside, place.vault()).expect("turned");
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
        let look = || enabled || indexer.flush().is_ok();
        until("the other folder", || look() && found(&indexer, "polished") == ["stone"]);
        assert_eq!(found(&indexer, "shade"), [""; 0]);
        // It is watched where it lies now, and written there.
        std::fs::write(new.join("pebble.md"), "smooth").expect("a file");
        until("a new file there", || look() && found(&indexer, "smooth") == ["pebble"]);
        turn(&old);
        let (content, expected) = (Content::Whole("flat".into()), Expected::Nothing);
        let put = Write::Put { vault: None, path: "slate.md".into(), content, expected };
        indexer.write(put).expect("written");
        assert_eq!(found(&indexer, "flat"), ["slate"]);
        assert_eq!(found(&indexer, "shade"), ["moss"], "all of it is there again");
        assert!(old.join("slate.md").exists() && !new.join("slate.md").exists());
        for path in [old.join("slate.md"), new.join("pebble.md")] {
            std::fs::remove_file(path).expect("removed");
        }
        indexer.flush().expect("a generation");
        // A link that leads nowhere is a folder that is gone.
        std::fs::remove_file(place.vault()).expect("removed");
        assert!(matches!(indexer.flush(), Err(IndexError::Vault { .. })));
        assert_eq!(indexer.status().vaults[0].n_missing, 3);
        turn(&old);
        indexer.flush().expect("it is back");
        assert_eq!((indexer.status().n_notes, indexer.status().last_error), (3, None));
    }
}

/// One that may not be listed took the announcements from all the others.
#[cfg(unix)]
#[test]
fn a_closed_folder_is_left_out_and_the_rest_is_followed() {
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
        // Nothing is closed to who runs this.
        return set(0o700);
    }
    let mut settings = place.settings();
    settings.watch = WatchOptions { debounce_ms: 20, ..WatchOptions::default() };
    let indexer = Indexer::open(settings, None, None).expect("an index");
    indexer.flush().expect("a generation");
    let status = indexer.status();
    assert_eq!((status.n_notes, status.vaults[0].watching), (5, WatchState::Announced));
    assert!(
        status.notices[0].starts_with("The folder `closed/` of `vault` is left out"),
        "{:?}",
        status.notices
    );
    place.write("open/deep/lichen.md", b"flaky");
    place.write("zone/new/mud.md", b"muddy");
    until("files beside it", || found(&indexer, "flaky") == ["open/deep/lichen"]);
    until("a new folder", || found(&indexer, "muddy") == ["zone/new/mud"]);
    set(0o700);
    until("what was opened", || found(&indexer, "secret") == ["closed/secret"]);
    place.write("closed/secret.md", b"hidden");
    until("what changes there", || found(&indexer, "hidden") == ["closed/secret"]);
    assert_eq!(indexer.status().notices, [""; 0]);
}

#[test]
fn where_nothing_is_announced_files_are_looked_at() {
    let place = Place::new(FILES);
    let mut settings = place.settings();
    settings.watch =
        WatchOptions { mode: WatchMode::Poll, poll_ms: 100, ..WatchOptions::default() };
    let indexer = Indexer::open(settings, None, None).expect("an index");
    indexer.flush().expect("a generation");
    assert_eq!(indexer.status().vaults[0].watching, WatchState::Polled);
    place.write("lichen.md", b"# Lichen\ncrusty\n");
    until("the new file was not noticed", || indexer.status().n_notes == 4);
    place.write("lichen.md", b"# Lichen\ncrispy\n");
    let engine = Engine::new(indexer.reader(), EngineSettings::default());
    let request =
        weft_engine::SearchRequest { query: "crispy".into(), limit: 5, ..Default::default() };
    until("a change of the same length", || {
        uris(&engine.search(&request).expect("an answer")) == ["lichen"]
    });
}

#[test]
fn vaults_come_and_go_while_the_index_runs() {
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

    // The vaults of the next run are those of its settings; one that was renamed and moved is known by its files.
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
fn what_nobody_announces_is_noticed_by_a_sweep() {
    let place = Place::new(&[("fern.md", b"# Fern\n")]);
    std::fs::create_dir(place.vault().join(".store")).expect("a folder");
    std::fs::write(place.vault().join(".store/moss.md"), "soft").expect("written");
    std::os::unix::fs::symlink(".store/moss.md", place.vault().join("moss.md")).expect("a link");
    let mut settings = place.settings();
    settings.watch =
        WatchOptions { enabled: true, debounce_ms: 20, sweep_ms: 100, ..WatchOptions::default() };
    let indexer = Indexer::open(settings, None, None).expect("an index");
    settle(&indexer);
    std::fs::write(place.vault().join(".store/moss.md"), "springy").expect("written");
    until("what the link shows", || found(&indexer, "springy") == ["moss"]);
}
