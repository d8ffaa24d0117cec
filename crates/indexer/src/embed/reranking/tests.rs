use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weft_index::reranker::{RerankError, RerankerIdentity};
use weft_testkit::http_stub::{HttpStub, RecordedRequest, StubResponse};
use weft_testkit::write_cross_encoder;

use super::*;
use crate::embed::http_endpoint::Secret;

/// Creates a folder with a cross-encoder that counts shared words.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write_cross_encoder(folder.path(), &["fern", "moss", "shade", "stone"]).unwrap();
    folder
}

fn settings(model: &Path) -> RerankerSettings {
    RerankerSettings {
        model: model.to_str().unwrap().to_owned(),
        runner: RerankRunner::Rten,
        threads: NonZeroUsize::new(2),
        library: Some(PathBuf::from("/nowhere/libonnxruntime.so")),
        ..RerankerSettings::default()
    }
}

fn reranker(settings: &RerankerSettings) -> Arc<dyn Reranker> {
    open_reranker(settings).unwrap().reranker.unwrap()
}

fn refusal(settings: &RerankerSettings) -> String {
    open_reranker(settings).err().unwrap().to_string()
}

fn bits(relevances: &[f64]) -> Vec<u64> {
    relevances.iter().map(|relevance| relevance.to_bits()).collect()
}

/// Checks that `reranker` counts shared words, and judges each text alone.
fn check_judgments(reranker: &dyn Reranker) {
    let judge = |query: &str, texts: &[&str]| reranker.relevances(query, texts, None).unwrap();
    let texts = ["Stone", "fern and moss", "A fern in the shade", "moss", "", "fern moss shade"];
    let together = judge("moss, fern?", &texts);
    let logistic = |n_shared: f64| 1.0 / (1.0 + (1.5 - n_shared).exp());
    for (relevance, n_shared) in together.iter().zip([0.0, 2.0, 1.0, 1.0, 0.0, 2.0]) {
        assert!((relevance - logistic(n_shared)).abs() < 1e-6, "{together:?}");
    }
    let alone: Vec<f64> = texts.iter().flat_map(|text| judge("moss, fern?", &[text])).collect();
    assert_eq!(bits(&together), bits(&alone));
    assert!(judge("moss", &[]).is_empty());
    let long = format!("{} fern", "stone ".repeat(20_000));
    assert_eq!(bits(&judge("fern", &[&long])), bits(&judge("fern", &["stone"])), "cut");
    assert_eq!(bits(&judge(&long, &["fern"])), bits(&judge("stone", &["fern"])), "cut");
    assert!(judge(&"stone ".repeat(20_000), &["fern moss stone"])[0] > 0.9, "both are read");
}

#[test]
fn cross_encoder_judges_each_text_alone() {
    let folder = folder();
    for n_threads in [1, 3] {
        let settings =
            RerankerSettings { threads: NonZeroUsize::new(n_threads), ..settings(folder.path()) };
        let reranker = reranker(&settings);
        check_judgments(&*reranker);
        let RerankerIdentity { model, runner } = reranker.identity();
        assert_eq!(runner, "rten");
        let name = folder.path().file_name().unwrap().to_str().unwrap();
        assert!(model.starts_with(&format!("{name}@")), "{model}");
    }
}

#[test]
fn cross_encoder_that_is_late_fails() {
    let folder = folder();
    let reranker = reranker(&settings(folder.path()));
    let error = reranker.relevances("fern", &["fern", "moss"], Some(Instant::now())).unwrap_err();
    assert!(matches!(error, RerankError::Late { n_done: 0, n_texts: 2, .. }), "{error}");
    assert!(error.to_string().contains("rerank.top_n"), "{error}");
    let later = Instant::now() + Duration::from_secs(3600);
    assert_eq!(reranker.relevances("fern", &["fern"], Some(later)).unwrap().len(), 1);
}

#[test]
fn missing_library_falls_back_to_rten_with_a_note() {
    let folder = folder();
    let settings = RerankerSettings { runner: RerankRunner::Auto, ..settings(folder.path()) };
    let opened = open_reranker(&settings).unwrap();
    assert_eq!(opened.reranker.unwrap().identity().runner, "rten");
    let [note] = &opened.notes[..] else { panic!("{:?}", opened.notes) };
    assert!(note.contains("/nowhere/libonnxruntime.so") && note.contains("rten"), "{note}");
}

/// Checks a cross-encoder in ONNX Runtime, for the only test that loads the library.
#[cfg(feature = "onnx-dynamic")]
pub(in crate::embed) fn check_in_onnx_runtime(library: &Path) {
    let folder = folder();
    let settings = RerankerSettings {
        runner: RerankRunner::Onnx,
        library: Some(library.to_owned()),
        ..settings(folder.path())
    };
    let opened = open_reranker(&settings).unwrap();
    assert!(opened.notes.is_empty(), "{:?}", opened.notes);
    let reranker = opened.reranker.unwrap();
    assert_eq!(reranker.identity().runner, "onnxruntime");
    check_judgments(&*reranker);
}

#[test]
fn unusable_models_are_rejected_with_a_reason() {
    let none = RerankerSettings::default();
    assert!(open_reranker(&none).unwrap().reranker.is_none(), "off by default");
    let missing = refusal(&settings(Path::new("/no/such/folder")));
    assert!(missing.contains("/no/such/folder is not a model folder"), "{missing}");
    let broken = folder();
    std::fs::write(broken.path().join("model.onnx"), "no graph").unwrap();
    let refused = refusal(&settings(broken.path()));
    assert!(refused.contains("does not run in rten"), "{refused}");
    let embedder = tempfile::tempdir().unwrap();
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("models");
    for (from, to) in [("minilm-q8row.onnx", "model.onnx"), ("tokenizer.json", "tokenizer.json")] {
        std::fs::copy(models.join(from), embedder.path().join(to)).unwrap();
    }
    let refused = refusal(&settings(embedder.path()));
    assert!(refused.contains("a cross-encoder returns one number"), "{refused}");
}

fn remote(endpoint: &HttpStub) -> RerankerSettings {
    RerankerSettings {
        model: "judge".into(),
        runner: RerankRunner::Endpoint,
        endpoint: RerankEndpoint {
            url: Some(format!("{}/v1/", endpoint.url())),
            key: Some(Secret::new("top-secret".into())),
            ..RerankEndpoint::default()
        },
        ..RerankerSettings::default()
    }
}

/// Returns results in the reverse order of the texts, each with its length in tenths as the score.
fn respond(asked: &RecordedRequest) -> StubResponse {
    let body: Value = serde_json::from_str(&asked.body).unwrap();
    let texts = body["documents"].as_array().unwrap();
    let length = |text: &Value| u32::try_from(text.as_str().unwrap().len()).unwrap();
    let result = |(index, text): (usize, &Value)| {
        let score = f64::from(length(text)) / 10.0;
        json!({ "index": index, "relevance_score": score, "document": { "text": text } })
    };
    let results: Vec<Value> = texts.iter().enumerate().rev().map(result).collect();
    StubResponse::new(200, json!({ "id": "1", "results": results }).to_string())
}

#[test]
fn endpoint_is_asked_once_for_all_texts() {
    let endpoint = HttpStub::start(respond);
    let reranker = reranker(&remote(&endpoint));
    assert!(endpoint.requests().is_empty(), "opening does not contact it");
    let relevances = reranker.relevances("why?", &["a", "bbb", "cc"], None).unwrap();
    assert_eq!(bits(&relevances), bits(&[0.1, 0.3, 0.2]));
    let [asked] = &endpoint.requests()[..] else { panic!("one request") };
    let body: Value = serde_json::from_str(&asked.body).unwrap();
    let expected =
        json!({"model": "judge", "query": "why?", "documents": ["a", "bbb", "cc"], "top_n": 3});
    assert_eq!((asked.path.as_str(), body), ("/v1/rerank", expected));
    let has_key = |line: &String| line.eq_ignore_ascii_case("authorization: Bearer top-secret");
    assert!(asked.headers.iter().any(has_key), "{:?}", asked.headers);
    assert!(reranker.relevances("why?", &[], None).unwrap().is_empty());
    assert_eq!(endpoint.requests().len(), 1);
}

#[test]
fn logits_of_an_endpoint_become_numbers_from_0_to_1() {
    let scores = |_: &RecordedRequest| {
        let score = |index, score| json!({ "index": index, "relevance_score": score });
        let results = json!([score(0, -4.0), score(1, 0.0), score(2, 6.5)]);
        StubResponse::new(200, json!({ "results": results }).to_string())
    };
    let endpoint = HttpStub::start(scores);
    let mut settings = remote(&endpoint);
    let ask =
        |settings: &RerankerSettings| reranker(settings).relevances("why?", &["a", "b", "c"], None);
    let refused = ask(&settings).unwrap_err().to_string();
    assert!(refused.contains("rerank.endpoint.logits"), "{refused}");
    settings.endpoint.logits = true;
    let relevances = ask(&settings).unwrap();
    assert!((relevances[1] - 0.5).abs() < 1e-12 && relevances.is_sorted(), "{relevances:?}");
}

#[test]
fn failures_of_an_endpoint_are_classified_and_reveal_no_secret() {
    let slow =
        |asked: &RecordedRequest| StubResponse { delay: Duration::from_secs(5), ..respond(asked) };
    let says = |status: u16| {
        move |_: &RecordedRequest| StubResponse::new(status, r#"{"message": "top-secret text"}"#)
    };
    let results = |results: Value| {
        move |_: &RecordedRequest| StubResponse::new(200, json!({ "results": results }).to_string())
    };
    let one = |index: i32| json!({ "index": index, "relevance_score": 0.5 });
    type Handler = Box<dyn Fn(&RecordedRequest) -> StubResponse + Send + Sync>;
    let cases: Vec<(&str, Handler, usize, &str)> = vec![
        ("garbage", Box::new(|_| StubResponse::new(200, "<html>")), 2, "not a list of results"),
        ("another shape", Box::new(|_| StubResponse::new(200, "[]")), 2, "not a list of results"),
        ("no scores", Box::new(results(json!([{"index": 0}]))), 2, "not a list of results"),
        ("one text of two", Box::new(results(json!([one(0)]))), 2, "1 of 2 texts"),
        ("one text twice", Box::new(results(json!([one(1), one(1)]))), 2, "1 of 2 texts"),
        ("an unknown text", Box::new(results(json!([one(0), one(2)]))), 2, "not a list of results"),
        ("broken", Box::new(|_| StubResponse::new(500, "")), 2, "500"),
        ("moved", Box::new(|_| StubResponse::new(302, "")), 1, "302"),
        ("the key", Box::new(says(401)), 1, "rerank.endpoint.key_env"),
        ("the texts", Box::new(says(422)), 1, "the texts"),
        ("slow", Box::new(slow), 1, "in time"),
    ];
    for (name, handler, n_asked, part) in cases {
        let is_slow = name == "slow";
        let endpoint = HttpStub::start(handler);
        let reranker = reranker(&remote(&endpoint));
        let time = if is_slow { Duration::from_millis(100) } else { Duration::from_secs(60) };
        let until = Some(Instant::now() + time);
        let error = reranker.relevances("why?", &["a", "b"], until).unwrap_err();
        let message = error.to_string();
        assert!(message.contains(part) && !message.contains("secret"), "{name}: {message}");
        assert_eq!(endpoint.requests().len(), n_asked, "{name}");
    }
}

#[test]
fn endpoint_that_failed_is_left_alone() {
    let endpoint = HttpStub::start(|_| StubResponse::new(503, ""));
    let mut settings = remote(&endpoint);
    settings.endpoint.attempts = NonZeroU32::MIN;
    let reranker = reranker(&settings);
    for _ in 0..3 {
        let error = reranker.relevances("why?", &["a"], None).unwrap_err();
        assert!(matches!(error, RerankError::Unavailable { .. }), "{error}");
    }
    assert_eq!(endpoint.requests().len(), 1);
}

#[test]
fn request_is_repeated_while_time_is_left() {
    let n = std::sync::atomic::AtomicUsize::new(0);
    let endpoint = HttpStub::start(move |asked| {
        if n.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0 {
            StubResponse::new(503, "")
        } else {
            respond(asked)
        }
    });
    let relevances = reranker(&remote(&endpoint)).relevances("why?", &["a"], None).unwrap();
    assert_eq!(bits(&relevances), bits(&[0.1]));
    assert_eq!(endpoint.requests().len(), 2);
}

#[test]
fn invalid_settings_of_an_endpoint_are_named() {
    let endpoint = HttpStub::start(respond);
    let with = |change: fn(&mut RerankEndpoint)| {
        let mut settings = remote(&endpoint);
        change(&mut settings.endpoint);
        refusal(&settings)
    };
    for (name, message, part) in [
        ("no address", with(|it| it.url = None), "rerank.endpoint.url"),
        (
            "a password without a scheme",
            with(|it| it.url = Some("me:hush@localhost".into())),
            "rerank.endpoint.url",
        ),
        (
            "no variable",
            with(|it| (it.key_env, it.key) = (Some("MISSING".into()), None)),
            "MISSING, which is not set",
        ),
    ] {
        assert!(message.contains(part) && !message.contains("hush"), "{name}: {message}");
    }
    let mut open = remote(&endpoint);
    open.endpoint.url = Some("http://me:hush@192.0.2.1/v1".into());
    let notes = open_reranker(&open).unwrap().notes.join("\n");
    let shown = "Queries and passages are sent unencrypted to http://***@192.0.2.1/v1/rerank";
    assert!(notes.contains(shown) && !notes.contains("hush"), "{notes}");
    open.endpoint.url = Some("http://me:hush@127.0.0.1:9/v1".into());
    let failed = reranker(&open).relevances("why?", &["a"], None).unwrap_err().to_string();
    assert!(failed.contains("http://***@127.0.0.1:9") && !failed.contains("hush"), "{failed}");
    let mut missing = remote(&endpoint);
    missing.endpoint.key_file = Some("/no/such/key".into());
    let failed = reranker(&missing).relevances("why?", &["a"], None).unwrap_err().to_string();
    assert!(failed.contains("/no/such/key"), "{failed}");
    assert!(!format!("{missing:?}").contains("top-secret"));
}
