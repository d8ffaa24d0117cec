//! Another model takes over, and endpoints come and go.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use weft_engine::SearchMode;
use weft_index::embedder::Embedder;
use weft_indexer::embed::{self, EmbeddingSettings, Models, RemoteSettings, Runner};
use weft_indexer::{IndexSettings, IndexStatus, Indexer, Model};
use weft_testkit::FailingDisk;
use weft_testkit::endpoint::{Answer, Asked, Endpoint};

use crate::fake::{FakeEmbedder, Place, search, settle, uris};

const FILES: &[(&str, &[u8])] = &[
    ("moss.md", b"# Moss\nsoft green shade"),
    ("stone.md", b"# Stone\nhard grey cold"),
    ("fern.md", b"# Fern\ntall green leaves"),
];

fn model(embedder: &Arc<FakeEmbedder>) -> Model {
    Model { embedder: Arc::clone(embedder) as Arc<dyn Embedder>, settings: None }
}

/// `old` serves, and what `open` gives is to take its place.
fn changing(
    old: &Arc<FakeEmbedder>,
    open: impl FnMut() -> Result<Model, String> + Send + 'static,
) -> Models {
    let old = Arc::clone(old) as Arc<dyn Embedder>;
    Models { next: Some(Box::new(open)), ..Models::from(Some(old)) }
}

/// Whether the next model serves.
fn is_new(status: &IndexStatus) -> bool {
    status.next.is_none() && status.embedder.as_ref().is_some_and(|model| model.model == "new")
}

fn until(indexer: &Indexer, wanted: impl Fn(&IndexStatus) -> bool) -> IndexStatus {
    let start = Instant::now();
    loop {
        let status = indexer.status();
        if wanted(&status) {
            return status;
        }
        assert!(start.elapsed() < Duration::from_secs(30), "{status:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn the_next_model_takes_over_when_all_its_vectors_are_there() {
    let place = Place::new(FILES);
    let (old, new) = (FakeEmbedder::called("old"), FakeEmbedder::called("new"));
    let indexer = place.open(&old);
    settle(&indexer);
    indexer.stop();

    new.is_down.store(true, Ordering::SeqCst);
    let next = model(&new);
    let open = move || Ok(next.clone());
    let models = changing(&old, open);
    let indexer = Indexer::open(place.settings(), models, None).unwrap();
    let status =
        until(&indexer, |status| status.next.as_ref().is_some_and(|next| next.trouble.is_some()));
    assert_eq!(status.embedder.unwrap().model, "old");
    assert!(status.notices.iter().any(|line| line.contains("of new are being made, 3 ")));
    // Queries are embedded by the model whose vectors serve.
    let served = indexer.reader().snapshot().vectors.clone().unwrap();
    assert_eq!(served.embedder.identity().model, "old");
    let answer = search(&indexer, "soft green shade", SearchMode::Vector);
    assert!(answer.degraded.is_empty() && uris(&answer)[0] == "moss", "{answer:?}");
    // What changes meanwhile is found by the old vectors at once, and by the new ones later.
    place.write("lichen.md", b"# Lichen\ncrust on bark");
    indexer.flush().unwrap();
    until(&indexer, |status| status.n_notes == 4 && status.n_vectors_pending == 0);

    new.is_down.store(false, Ordering::SeqCst);
    let status = until(&indexer, |status| status.next.is_none());
    assert_eq!((status.embedder.unwrap().model.as_str(), status.n_vectors_pending), ("new", 0));
    assert_eq!(new.n_documents.load(Ordering::SeqCst), 4);
    let answer = search(&indexer, "crust bark", SearchMode::Vector);
    assert!(answer.degraded.is_empty() && uris(&answer)[0] == "lichen", "{answer:?}");
    indexer.stop();

    // It stays so, and nothing is embedded again.
    let indexer = place.open(&new);
    settle(&indexer);
    assert_eq!(new.n_documents.load(Ordering::SeqCst), 4);
}

#[test]
fn a_change_of_model_that_was_interrupted_goes_on() {
    let place = Place::new(FILES);
    let (old, new) = (FakeEmbedder::called("old"), FakeEmbedder::called("new"));
    let indexer = place.open(&old);
    settle(&indexer);
    indexer.stop();
    let models = || {
        let next = model(&new);
        changing(&old, move || Ok(next.clone()))
    };
    let indexer = Indexer::open(place.settings(), models(), None).unwrap();
    until(&indexer, |_| new.n_documents.load(Ordering::SeqCst) > 0);
    indexer.stop();
    let indexer = Indexer::open(place.settings(), models(), None).unwrap();
    until(&indexer, is_new);
    assert_eq!(old.n_documents.load(Ordering::SeqCst), 3, "nothing of the old one is made again");
    let notes = indexer.reader().snapshot().vectors.clone().expect("a request as it was agreed on");
    assert_eq!((notes.embedder.identity().model.as_str(), notes.n_waiting), ("new", 0));
}

#[test]
fn the_next_model_waits_where_there_is_no_room_to_publish_it() {
    let place = Place::new(FILES);
    let (old, new) = (FakeEmbedder::called("old"), FakeEmbedder::called("new"));
    let indexer = place.open(&old);
    settle(&indexer);
    indexer.stop();

    let disk = FailingDisk::sound();
    let (next, fills) = (model(&new), Arc::clone(&disk));
    let open = move || {
        // No generation can be given out.
        fills.set_full_at("ISSUED");
        Ok(next.clone())
    };
    let models = changing(&old, open);
    let settings = IndexSettings { disk: disk.disk(), ..place.settings() };
    let indexer = Indexer::open(settings, models, None).unwrap();
    let status =
        until(&indexer, |status| status.next.as_ref().is_some_and(|next| next.trouble.is_some()));
    let trouble = status.next.unwrap().trouble.unwrap();
    assert!(trouble.contains("ISSUED"), "{trouble}");
    assert_eq!(status.embedder.unwrap().model, "old");
    assert_eq!(uris(&search(&indexer, "soft green shade", SearchMode::Vector))[0], "moss");

    disk.set_full(false);
    let status = until(&indexer, |status| status.next.is_none());
    assert_eq!((status.embedder.unwrap().model.as_str(), status.last_error), ("new", None));
    assert_eq!(new.n_documents.load(Ordering::SeqCst), 3, "nothing is made twice");
    assert_eq!(uris(&search(&indexer, "soft green shade", SearchMode::Vector))[0], "moss");
}

#[test]
fn a_defect_of_the_next_model_is_told_and_the_present_one_serves_on() {
    let place = Place::new(FILES);
    let old = FakeEmbedder::called("old");
    let open = || panic!("a defect");
    let models = changing(&old, open);
    let indexer = Indexer::open(place.settings(), models, None).unwrap();
    let status =
        until(&indexer, |status| status.next.as_ref().is_some_and(|next| next.trouble.is_some()));
    let trouble = status.next.unwrap().trouble.unwrap();
    assert!(trouble.contains("the present model serves on"), "{trouble}");
    settle(&indexer);
    assert_eq!(uris(&search(&indexer, "soft green shade", SearchMode::Vector))[0], "moss");
}

#[test]
fn the_next_model_gets_the_notes_cut_as_it_wants_them() {
    let words: Vec<String> = (0..48).map(|n| format!("word{n}")).collect();
    let long = format!(
        "# Long
{}",
        words.join(" ")
    );
    let place = Place::new(FILES);
    place.write("long.md", long.as_bytes());
    let (old, new) = (FakeEmbedder::called("old"), FakeEmbedder::with_window("new", 16));
    let indexer = place.open(&old);
    settle(&indexer);
    let n_before = indexer.status().n_chunks;
    indexer.stop();
    let next = model(&new);
    let open = move || Ok(next.clone());
    let models = changing(&old, open);
    let indexer = Indexer::open(place.settings(), models, None).unwrap();
    let status = until(&indexer, |status| is_new(status) && status.n_vectors_pending == 0);
    assert_eq!(n_before, 4);
    assert!(status.n_chunks > n_before, "{status:?}");
    let n_made = new.n_documents.load(Ordering::SeqCst);
    assert_eq!(n_made, status.n_chunks, "each passage once");

    // As if it had been the model from the start.
    let afresh = Place::new(FILES);
    afresh.write("long.md", long.as_bytes());
    let other = afresh.open(&new);
    settle(&other);
    assert_eq!(other.status().n_chunks, status.n_chunks);
    let answers = [&indexer, &other].map(|indexer| {
        let hits = search(indexer, "word40 word41", SearchMode::Vector).hits;
        hits.into_iter()
            .map(|hit| (hit.uri.clone(), format!("{:?}", hit.signals)))
            .collect::<Vec<_>>()
    });
    assert_eq!(answers[0], answers[1]);
}

/// Vectors that point where the first letters of a text say.
fn well(asked: &Asked) -> Answer {
    let body: serde_json::Value =
        serde_json::from_str(&asked.body).expect("a request as it was agreed on");
    let vectors: Vec<Vec<u8>> = body["input"]
        .as_array()
        .expect("a request as it was agreed on")
        .iter()
        .map(|text| {
            let mut counts = vec![1; 26];
            let letters = text
                .as_str()
                .expect("a request as it was agreed on")
                .bytes()
                .filter(u8::is_ascii_alphabetic);
            for letter in letters {
                let count = &mut counts[usize::from(letter.to_ascii_lowercase() - b'a')];
                *count = u8::saturating_add(*count, 5);
            }
            counts
        })
        .collect();
    // In the words of both kinds of endpoint.
    let data: Vec<_> =
        vectors.iter().map(|vector| serde_json::json!({ "embedding": vector })).collect();
    Answer::new(200, serde_json::json!({ "embeddings": vectors, "data": data }).to_string())
}

/// Settings for `endpoint`, which is given up after one try.
fn remote(endpoint: &Endpoint, runner: Runner, batch: usize) -> EmbeddingSettings {
    EmbeddingSettings {
        model: "fake".into(),
        runner,
        remote: RemoteSettings {
            url: Some(endpoint.url()),
            attempts: std::num::NonZeroU32::MIN,
            batch: batch.try_into().expect("some texts"),
            timeout_ms: 2000,
            query_timeout_ms: 2000,
            ..RemoteSettings::default()
        },
        ..EmbeddingSettings::default()
    }
}

#[test]
fn an_endpoint_may_go_in_the_middle_of_indexing() {
    const N_NOTES: usize = 12;
    const N_BEFORE: usize = 5;
    for runner in [Runner::Ollama, Runner::OpenAi] {
        let place = Place::new(&[]);
        for n in 0..N_NOTES {
            place.write(&format!("moss{n}.md"), format!("# Moss {n}\nsoft {n}").as_bytes());
        }
        let n_left = AtomicUsize::new(N_BEFORE);
        let endpoint = Endpoint::start(move |asked| {
            let take = |n: usize| n.checked_sub(1);
            match n_left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take) {
                Ok(_) => well(asked),
                Err(_) => Answer::new(503, ""),
            }
        });
        let models =
            embed::models(&place.store(), &remote(&endpoint, runner, 1), |earlier| earlier);
        let indexer = Indexer::open(place.settings(), models.unwrap().0, None).unwrap();
        let status = until(&indexer, |status| status.unavailable.is_some());
        assert!(status.n_vectors_pending > 0, "{runner:?}: {status:?}");
        // What was made before it went is kept, and the rest is found by its words.
        assert_eq!(search(&indexer, "soft", SearchMode::Keyword).hits.len(), 10, "{runner:?}");
        let degraded = search(&indexer, "soft", SearchMode::Hybrid).degraded;
        assert!(!degraded.is_empty(), "{runner:?}");

        let n_asked = endpoint.asked().len();
        endpoint.behave(well);
        let status =
            until(&indexer, |status| status.n_vectors_pending == 0 && status.unavailable.is_none());
        assert_eq!(status.last_error, None, "{runner:?}");
        // Queries leave an endpoint alone for a while that did not answer one.
        until(&indexer, |_| search(&indexer, "soft", SearchMode::Hybrid).degraded.is_empty());
        let texts = endpoint.asked().split_off(n_asked);
        let again = texts.iter().filter(|asked| asked.body.contains("Moss")).count();
        assert!(again <= N_NOTES - N_BEFORE + 1, "{runner:?}: {again} texts were asked for again");
    }
}

#[test]
fn an_endpoint_may_be_away_at_the_start_in_the_middle_and_at_a_query() {
    for runner in [Runner::Ollama, Runner::OpenAi] {
        away_at_the_start_in_the_middle_and_at_a_query(runner);
    }
}

fn away_at_the_start_in_the_middle_and_at_a_query(runner: Runner) {
    let place = Place::new(FILES);
    let endpoint = Endpoint::start(well);
    let address = endpoint.address();
    let settings = remote(&endpoint, runner, 16);
    drop(endpoint);

    // At the start: words and links, and the answer says so.
    let opened = || embed::models(&place.store(), &settings, |earlier| earlier).expect("models").0;
    let indexer = Indexer::open(place.settings(), opened(), None).expect("an index");
    settle(&indexer);
    let answer = search(&indexer, "soft green shade", SearchMode::Hybrid);
    assert_eq!(uris(&answer)[0], "moss");
    assert!(answer.degraded.iter().any(|line| line.contains("did not answer")), "{answer:?}");
    let endpoint = Endpoint::start_at(address, well);
    let hybrid = || search(&indexer, "soft green shade", SearchMode::Hybrid);
    until(&indexer, |_| hybrid().degraded.is_empty());
    assert_eq!(uris(&search(&indexer, "soft green shade", SearchMode::Vector))[0], "moss");

    // In the middle, and at a query.
    drop(endpoint);
    place.write("lichen.md", b"# Lichen\ncrust on bark");
    indexer.flush().expect("a generation");
    until(&indexer, |status| status.unavailable.is_some());
    let degraded = hybrid().degraded;
    assert!(degraded.iter().any(|line| line.contains("1 passage has no vector")), "{degraded:?}");
    assert!(degraded.iter().any(|line| line.contains("cannot be reached")), "{degraded:?}");
    let endpoint = Endpoint::start_at(address, well);
    let status = until(&indexer, |_| hybrid().degraded.is_empty());
    assert_eq!((status.next, status.unavailable, status.last_error), (None, None, None));
    indexer.stop();

    // At the next start: the store knows how long the vectors are.
    drop(endpoint);
    let indexer = Indexer::open(place.settings(), opened(), None).expect("an index");
    assert_eq!(indexer.status().embedder.expect("a model").dimension, 26);
    assert_eq!(settle(&indexer), indexer.status().generation);
}
