//! Edits, renames, restarts.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use weft_engine::{Engine, EngineSettings, SearchMode};
use weft_index::StoreError;
use weft_indexer::{
    FileState, IndexError, Indexer, Rescan, VaultSettings, WatchMode, WatchOptions, WatchState,
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

fn collect(folder: &std::path::Path, files: &mut Vec<PathBuf>) {
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
