//! Model migrations, and endpoints that become unavailable and return.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use weft_engine::SearchMode;
use weft_index::embedder::Embedder;
use weft_indexer::embed::{self, EmbeddingSettings, ModelSelection, RemoteSettings, Runner};
use weft_indexer::{IndexSettings, IndexStatus, Indexer, Model};
use weft_testkit::FailingDisk;
use weft_testkit::http_stub::{HttpStub, RecordedRequest, StubResponse};

use crate::fixtures::{FakeEmbedder, Place, search, settle, uris};

const FILES: &[(&str, &[u8])] = &[
    ("moss.md", b"# Moss\nsoft green shade"),
    ("stone.md", b"# Stone\nhard grey cold"),
    ("fern.md", b"# Fern\ntall green leaves"),
];

fn model(embedder: &Arc<FakeEmbedder>) -> Model {
    Model { embedder: Arc::clone(embedder) as Arc<dyn Embedder>, settings: None }
}

/// Models where `old` serves, and the model returned by `open` replaces it.
fn changing(
    old: &Arc<FakeEmbedder>,
    open: impl FnMut() -> Result<Model, String> + Send + 'static,
) -> ModelSelection {
    let old = Arc::clone(old) as Arc<dyn Embedder>;
    ModelSelection { next: Some(Box::new(open)), ..ModelSelection::from(Some(old)) }
}

/// Returns true if the next model serves.
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
fn next_model_serves_once_all_its_vectors_are_computed() {
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
        until(&indexer, |status| status.next.as_ref().is_some_and(|next| next.error.is_some()));
    assert_eq!(status.embedder.unwrap().model, "old");
    assert!(
        status.notices.iter().any(|line| line.contains("model new is embedding all notes, 3 "))
    );
    // Queries are embedded by the model whose vectors serve.
    let served = indexer.reader().snapshot().vectors.clone().unwrap();
    assert_eq!(served.embedder.identity().model, "old");
    let answer = search(&indexer, "soft green shade", SearchMode::Vector);
    assert!(answer.warnings.is_empty() && uris(&answer)[0] == "moss", "{answer:?}");
    // Changes during the migration are found with the old model at once, and with the new one later.
    place.write("lichen.md", b"# Lichen\ncrust on bark");
    indexer.flush().unwrap();
    until(&indexer, |status| status.n_notes == 4 && status.n_vectors_pending == 0);

    new.is_down.store(false, Ordering::SeqCst);
    let status = until(&indexer, |status| status.next.is_none());
    assert_eq!((status.embedder.unwrap().model.as_str(), status.n_vectors_pending), ("new", 0));
    assert_eq!(new.n_documents.load(Ordering::SeqCst), 4);
    let answer = search(&indexer, "crust bark", SearchMode::Vector);
    assert!(answer.warnings.is_empty() && uris(&answer)[0] == "lichen", "{answer:?}");
    indexer.stop();

    // The new model keeps serving, and nothing is embedded again.
    let indexer = place.open(&new);
    settle(&indexer);
    assert_eq!(new.n_documents.load(Ordering::SeqCst), 4);
}

#[test]
fn interrupted_model_migration_resumes() {
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
    assert_eq!(old.n_documents.load(Ordering::SeqCst), 3, "the old model embeds nothing again");
    let notes = indexer.reader().snapshot().vectors.clone().expect("vectors");
    assert_eq!((notes.embedder.identity().model.as_str(), notes.n_waiting), ("new", 0));
}

#[test]
fn full_disk_delays_publication_of_next_model() {
    let place = Place::new(FILES);
    let (old, new) = (FakeEmbedder::called("old"), FakeEmbedder::called("new"));
    let indexer = place.open(&old);
    settle(&indexer);
    indexer.stop();

    let disk = FailingDisk::sound();
    let (next, fills) = (model(&new), Arc::clone(&disk));
    let open = move || {
        // No generation number can be issued.
        fills.set_full_at("ISSUED");
        Ok(next.clone())
    };
    let models = changing(&old, open);
    let settings = IndexSettings { disk: disk.disk(), ..place.settings() };
    let indexer = Indexer::open(settings, models, None).unwrap();
    let status =
        until(&indexer, |status| status.next.as_ref().is_some_and(|next| next.error.is_some()));
    let error = status.next.unwrap().error.unwrap();
    assert!(error.contains("ISSUED"), "{error}");
    assert_eq!(status.embedder.unwrap().model, "old");
    assert_eq!(uris(&search(&indexer, "soft green shade", SearchMode::Vector))[0], "moss");

    disk.set_full(false);
    let status = until(&indexer, |status| status.next.is_none());
    assert_eq!((status.embedder.unwrap().model.as_str(), status.last_error), ("new", None));
    assert_eq!(new.n_documents.load(Ordering::SeqCst), 3, "nothing is embedded twice");
    assert_eq!(uris(&search(&indexer, "soft green shade", SearchMode::Vector))[0], "moss");
}

#[test]
fn panic_in_next_model_is_reported_and_current_model_keeps_serving() {
    let place = Place::new(FILES);
    let old = FakeEmbedder::called("old");
    let open = || panic!("a defect");
    let models = changing(&old, open);
    let indexer = Indexer::open(place.settings(), models, None).unwrap();
    let status =
        until(&indexer, |status| status.next.as_ref().is_some_and(|next| next.error.is_some()));
    let error = status.next.unwrap().error.unwrap();
    assert!(error.contains("the present model continues to serve"), "{error}");
    // A wait ends when the present model is done, and not at once because the migration failed.
    for at in 0..100 {
        place.write(&format!("lichen-{at}.md"), format!("# Lichen {at}\ncrust").as_bytes());
    }
    settle(&indexer);
    let status = indexer.status();
    assert_eq!((status.n_notes, status.n_vectors_pending), (103, 0));
    assert_eq!(uris(&search(&indexer, "soft green shade", SearchMode::Vector))[0], "moss");
}

#[test]
fn notes_are_rechunked_for_next_model() {
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
    assert_eq!(n_made, status.n_chunks, "each chunk once");

    // The result equals an index that used the new model from the start.
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

/// Responds with vectors that point in a direction given by the letters of each text.
fn well(asked: &RecordedRequest) -> StubResponse {
    let body: serde_json::Value = serde_json::from_str(&asked.body).expect("a valid request");
    let vectors: Vec<Vec<u8>> = body["input"]
        .as_array()
        .expect("a valid request")
        .iter()
        .map(|text| {
            let mut counts = vec![1; 26];
            let letters =
                text.as_str().expect("a valid request").bytes().filter(u8::is_ascii_alphabetic);
            for letter in letters {
                let count = &mut counts[usize::from(letter.to_ascii_lowercase() - b'a')];
                *count = u8::saturating_add(*count, 5);
            }
            counts
        })
        .collect();
    // In the response formats of both APIs.
    let data: Vec<_> =
        vectors.iter().map(|vector| serde_json::json!({ "embedding": vector })).collect();
    StubResponse::new(200, serde_json::json!({ "embeddings": vectors, "data": data }).to_string())
}

/// Settings for `endpoint` with a single attempt.
fn remote(endpoint: &HttpStub, runner: Runner, batch: usize) -> EmbeddingSettings {
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
fn endpoint_failure_during_indexing_is_recovered() {
    const N_NOTES: usize = 12;
    const N_BEFORE: usize = 5;
    for runner in [Runner::Ollama, Runner::OpenAi] {
        let place = Place::new(&[]);
        for n in 0..N_NOTES {
            place.write(&format!("moss{n}.md"), format!("# Moss {n}\nsoft {n}").as_bytes());
        }
        let n_left = AtomicUsize::new(N_BEFORE);
        let endpoint = HttpStub::start(move |asked| {
            let take = |n: usize| n.checked_sub(1);
            match n_left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take) {
                Ok(_) => well(asked),
                Err(_) => StubResponse::new(503, ""),
            }
        });
        let models =
            embed::select_models(&place.settings(), &remote(&endpoint, runner, 1), |earlier| {
                earlier
            });
        let indexer = Indexer::open(place.settings(), models.unwrap().0, None).unwrap();
        let status = until(&indexer, |status| status.unavailable.is_some());
        assert!(status.n_vectors_pending > 0, "{runner:?}: {status:?}");
        // Vectors computed before the failure are kept, and the other notes are found by keyword.
        assert_eq!(search(&indexer, "soft", SearchMode::Keyword).hits.len(), 10, "{runner:?}");
        let warnings = search(&indexer, "soft", SearchMode::Hybrid).warnings;
        assert!(!warnings.is_empty(), "{runner:?}");

        let n_asked = endpoint.requests().len();
        endpoint.set_handler(well);
        let status =
            until(&indexer, |status| status.n_vectors_pending == 0 && status.unavailable.is_none());
        assert_eq!(status.last_error, None, "{runner:?}");
        // Queries skip an endpoint for a while after it failed.
        until(&indexer, |_| search(&indexer, "soft", SearchMode::Hybrid).warnings.is_empty());
        let texts = endpoint.requests().split_off(n_asked);
        let again = texts.iter().filter(|asked| asked.body.contains("Moss")).count();
        assert!(again <= N_NOTES - N_BEFORE + 1, "{runner:?}: {again} texts were requested again");
    }
}

#[test]
fn texts_without_a_usable_vector_are_counted_as_failed() {
    let place = Place::new(FILES);
    let endpoint = HttpStub::start(|asked| {
        if asked.body.contains("Stone") {
            let zero = serde_json::json!({ "data": [{ "embedding": vec![0; 26] }] });
            return StubResponse::new(200, zero.to_string());
        }
        well(asked)
    });
    let settings = remote(&endpoint, Runner::OpenAi, 1);
    let models = embed::select_models(&place.settings(), &settings, |earlier| earlier);
    let indexer = Indexer::open(place.settings(), models.unwrap().0, None).unwrap();
    settle(&indexer);
    let status = until(&indexer, |status| status.n_vectors_pending == 0);
    assert_eq!((status.n_chunks, status.n_vectors_failed), (3, 1), "{status:?}");
    assert!(status.last_error.is_some_and(|error| error.contains("zero")));
    place.write("stone.md", b"# Rock\nhard grey cold");
    settle(&indexer);
    let status = until(&indexer, |status| status.n_vectors_pending == 0);
    assert_eq!((status.n_chunks, status.n_vectors_failed), (3, 0), "{status:?}");
}

#[test]
fn endpoint_may_be_unavailable_at_startup_during_indexing_and_at_a_query() {
    for runner in [Runner::Ollama, Runner::OpenAi] {
        unavailable_at_startup_during_indexing_and_at_a_query(runner);
    }
}

fn unavailable_at_startup_during_indexing_and_at_a_query(runner: Runner) {
    let place = Place::new(FILES);
    let endpoint = HttpStub::start(well);
    let address = endpoint.address();
    let settings = remote(&endpoint, runner, 16);
    drop(endpoint);

    // At startup: search uses keywords and links, and the answer has a warning.
    let opened =
        || embed::select_models(&place.settings(), &settings, |earlier| earlier).expect("models").0;
    let indexer = Indexer::open(place.settings(), opened(), None).expect("an index");
    settle(&indexer);
    let answer = search(&indexer, "soft green shade", SearchMode::Hybrid);
    assert_eq!(uris(&answer)[0], "moss");
    assert!(
        answer.warnings.iter().any(|it| it.message.contains("has not responded")),
        "{answer:?}"
    );
    let endpoint = HttpStub::start_at(address, well);
    let hybrid = || search(&indexer, "soft green shade", SearchMode::Hybrid);
    until(&indexer, |_| hybrid().warnings.is_empty());
    assert_eq!(uris(&search(&indexer, "soft green shade", SearchMode::Vector))[0], "moss");

    // During indexing, and at a query.
    drop(endpoint);
    place.write("lichen.md", b"# Lichen\ncrust on bark");
    indexer.flush().expect("a generation");
    until(&indexer, |status| status.unavailable.is_some());
    let warnings = hybrid().warnings;
    assert!(warnings.iter().any(|it| it.message == "1 chunk has no vector yet"), "{warnings:?}");
    assert!(warnings.iter().any(|it| it.message.contains("cannot be reached")), "{warnings:?}");
    let endpoint = HttpStub::start_at(address, well);
    let status = until(&indexer, |_| hybrid().warnings.is_empty());
    assert_eq!((status.next, status.unavailable, status.last_error), (None, None, None));
    indexer.stop();

    // At the next startup: the store knows the dimension.
    drop(endpoint);
    let indexer = Indexer::open(place.settings(), opened(), None).expect("an index");
    assert_eq!(indexer.status().embedder.expect("a model").dimension, 26);
    assert_eq!(settle(&indexer), indexer.status().generation);
}
