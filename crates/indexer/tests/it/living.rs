//! Edits, renames, restarts.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use weft_engine::{Engine, EngineSettings, SearchMode};
use weft_index::StoreError;
use weft_indexer::{FileState, IndexError, Indexer, Rescan};

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
                .map(|mode| format!("{:?}", search(indexer, &embedder, question, mode)))
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
    assert_eq!(uris(&search(&indexer, &embedder, "flat wet", SearchMode::Keyword)), ["liverwort"]);
    assert_eq!(indexer.status().n_unresolved, 0, "the waiting link found its note");
    assert_eq!(embedder.n_documents.load(Ordering::SeqCst), 4);

    std::fs::rename(place.vault().join("moss.md"), place.vault().join("bryophyte.md"))
        .expect("a rename");
    settle(&indexer);
    assert_eq!(embedder.n_documents.load(Ordering::SeqCst), 4, "a rename embeds nothing");
    assert_eq!(uris(&search(&indexer, &embedder, "shade", SearchMode::Keyword)), ["bryophyte"]);
    assert_eq!(
        uris(&search(&indexer, &embedder, "soft green shade moss", SearchMode::Vector))[0],
        "bryophyte"
    );
    assert_eq!(indexer.status().n_unresolved, 1, "`[[moss]]` names nothing now");

    std::fs::remove_file(place.vault().join("stone.md")).expect("a deletion");
    settle(&indexer);
    for mode in [SearchMode::Keyword, SearchMode::Vector, SearchMode::Hybrid] {
        assert!(!uris(&search(&indexer, &embedder, "hard grey stone", mode)).contains(&"stone"));
    }
    assert_eq!(indexer.status().n_notes, 3);
}

#[test]
fn a_saved_file_is_noticed_by_itself() {
    let place = Place::new(FILES);
    let mut settings = place.settings();
    settings.watch = true;
    settings.debounce_ms = 20;
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
    let wanted =
        format!("{:?}", search(&indexer, &embedder, "green shade", SearchMode::Hybrid).hits);
    indexer.stop();
    let mut files = Vec::new();
    collect(&place.store(), &mut files);
    let names: Vec<_> = files.iter().filter(|file| !file.ends_with("lock")).cloned().collect();
    assert!(names.len() > 6, "{names:?}");
    for file in names {
        for damage in ["flip", "cut", "gone"] {
            // A healed store names its files anew.
            let Ok(mut bytes) = std::fs::read(&file) else { continue };
            match damage {
                "flip" => bytes.iter_mut().skip(16).step_by(31).for_each(|byte| *byte ^= 0x55),
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
            let hits = search(&indexer, &embedder, "green shade", SearchMode::Hybrid).hits;
            assert_eq!(format!("{hits:?}"), wanted, "{damage} {}", file.display());
            indexer.stop();
        }
    }
}

fn collect(folder: &std::path::Path, files: &mut Vec<std::path::PathBuf>) {
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
    let engine = Engine::new(indexer.reader(), None, EngineSettings::default());
    let request =
        weft_engine::SearchRequest { query: "rock".into(), limit: 5, ..Default::default() };
    let answer = engine.search(&request).expect("an answer");
    assert_eq!(uris(&answer), ["stone"], "an alias is a name");
    assert!(answer.degraded.is_empty(), "nothing was asked that is missing");
    assert!(indexer.coverage().iter().all(|file| file.state == FileState::Indexed));
}
