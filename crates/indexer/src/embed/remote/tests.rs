use std::num::{NonZeroU32, NonZeroUsize};

use serde_json::{Value, json};
use weft_testkit::http_stub::{HttpStub, RecordedRequest, StubResponse};

use super::*;
use crate::embed::http_endpoint::Secret;

fn settings(endpoint: &HttpStub, runner: Runner) -> EmbeddingSettings {
    EmbeddingSettings {
        model: "fake".into(),
        runner,
        remote: RemoteSettings {
            url: Some(endpoint.url()),
            batch: NonZeroUsize::new(2).unwrap(),
            attempts: NonZeroU32::new(2).unwrap(),
            timeout_ms: 500,
            query_timeout_ms: 500,
            key: Some(Secret::new("top-secret".into())),
            ..RemoteSettings::default()
        },
        ..EmbeddingSettings::default()
    }
}

fn inputs(asked: &RecordedRequest) -> Vec<String> {
    let body: Value = serde_json::from_str(&asked.body).unwrap();
    body["input"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// Responds with vectors that point in the direction given by the length of each text.
fn respond(asked: &RecordedRequest) -> StubResponse {
    let vectors: Vec<Value> =
        inputs(asked).iter().map(|text| json!([text.len(), 2.0, 0.0])).collect();
    let body = if asked.path.ends_with("/api/embed") {
        json!({ "embeddings": vectors })
    } else {
        json!({ "data": vectors.iter().map(|v| json!({ "embedding": v })).collect::<Vec<_>>() })
    };
    StubResponse::new(200, body.to_string())
}

fn open(endpoint: &HttpStub, runner: Runner) -> RemoteEmbedder {
    RemoteEmbedder::open(&settings(endpoint, runner), None).unwrap()
}

#[test]
fn texts_are_sent_in_batches_and_returned_as_unit_vectors() {
    for (runner, path) in [(Runner::OpenAi, "/embeddings"), (Runner::Ollama, "/api/embed")] {
        let endpoint = HttpStub::start(respond);
        let embedder = open(&endpoint, runner);
        assert_eq!(embedder.identity().dimension, 3);
        let vectors = embedder.embed(&["a", "bb", "ccc"], Role::Document).unwrap();
        for (n, vector) in (1_u8..).zip(&vectors) {
            let length = f32::from(n).hypot(2.0);
            let expected = [f32::from(n) / length, 2.0 / length, 0.0];
            assert!(vector.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{vector:?}");
        }
        let asked = endpoint.requests();
        let batches: Vec<usize> = asked[1..].iter().map(|asked| inputs(asked).len()).collect();
        assert_eq!((asked[1].path.as_str(), batches), (path, vec![2, 1]));
        let has_key = |line: &String| line.eq_ignore_ascii_case("authorization: Bearer top-secret");
        assert!(asked.iter().all(|asked| asked.headers.iter().any(has_key)));
    }
}

#[test]
fn prefixes_are_prepended() {
    let endpoint = HttpStub::start(respond);
    let prefixes = Prefixes { query: "q: ".into(), document: "d: ".into() };
    let with = |prefixes| EmbeddingSettings { prefixes, ..settings(&endpoint, Runner::OpenAi) };
    let embedder = RemoteEmbedder::open(&with(Some(prefixes.clone())), Some(3)).unwrap();
    embedder.embed(&["x"], Role::Document).unwrap();
    embedder.embed_query("x", None).unwrap();
    let texts: Vec<String> = endpoint.requests().iter().flat_map(inputs).collect();
    assert_eq!(texts, ["d: x", "q: x"]);
    let identity =
        |prefixes| RemoteEmbedder::open(&with(prefixes), Some(3)).unwrap().identity().clone();
    let of_query = Prefixes { document: String::new(), ..prefixes.clone() };
    assert_eq!(identity(Some(of_query)), identity(None), "vectors of notes are the same");
    assert_ne!(identity(Some(prefixes)), identity(None));
}

#[test]
fn failures_are_classified_and_reveal_no_secret() {
    #[derive(Debug, PartialEq)]
    enum Kind {
        Later,
        Never,
    }
    let slow = |_: &RecordedRequest| StubResponse {
        delay: Duration::from_secs(2),
        ..StubResponse::new(200, "{}")
    };
    let wrong = |_: &RecordedRequest| {
        StubResponse::new(200, json!({ "data": [{ "embedding": [1.0, 2.0] }] }).to_string())
    };
    let says = |status: u16| {
        move |_: &RecordedRequest| {
            StubResponse::new(status, r#"{"error": {"message": "top-secret text"}}"#)
        }
    };
    type Handler = Box<dyn Fn(&RecordedRequest) -> StubResponse + Send + Sync>;
    let cases: Vec<(&str, Handler, Kind, usize, &str)> = vec![
        ("broken", Box::new(|_| StubResponse::new(500, "")), Kind::Later, 2, "500"),
        (
            "garbage",
            Box::new(|_| StubResponse::new(200, "<html>")),
            Kind::Later,
            2,
            "not a list of embeddings",
        ),
        ("slow", Box::new(slow), Kind::Later, 2, "in time"),
        ("another dimension", Box::new(wrong), Kind::Later, 1, "2 dimensions instead of 3"),
        ("the key", Box::new(says(401)), Kind::Later, 1, "the API key"),
        ("the text", Box::new(says(400)), Kind::Never, 1, "the texts"),
    ];
    for (name, handler, kind, n_asked, part) in cases {
        let endpoint = HttpStub::start(respond);
        let embedder = open(&endpoint, Runner::OpenAi);
        endpoint.set_handler(handler);
        let error = embedder.embed(&["text"], Role::Document).unwrap_err();
        let is = match &error {
            EmbedError::Unavailable { .. } => Kind::Later,
            EmbedError::Failed { .. } => Kind::Never,
        };
        let message = error.to_string();
        assert!(message.contains(part) && !message.contains("secret"), "{name}: {message}");
        assert_eq!((is, endpoint.requests().len() - 1), (kind, n_asked), "{name}");
    }
    assert!(
        !format!("{:?}", settings(&HttpStub::start(respond), Runner::OpenAi)).contains("secret")
    );
}

#[test]
fn retry_after_header_delays_retry() {
    let endpoint = HttpStub::start(respond);
    let embedder = open(&endpoint, Runner::Ollama);
    let n = Mutex::new(0);
    endpoint.set_handler(move |asked| {
        *lock(&n) += 1;
        let wait =
            StubResponse { headers: vec!["Retry-After: 1".into()], ..StubResponse::new(429, "") };
        if *lock(&n) == 1 { wait } else { respond(asked) }
    });
    let before = Instant::now();
    assert_eq!(embedder.embed(&["a", "b"], Role::Document).unwrap().len(), 2);
    assert!(before.elapsed() >= Duration::from_secs(1));
}

#[test]
fn query_honors_timeout_and_skips_failed_endpoint() {
    let endpoint = HttpStub::start(respond);
    let embedder = open(&endpoint, Runner::OpenAi);
    endpoint.set_handler(|_| StubResponse {
        delay: Duration::from_secs(5),
        ..StubResponse::new(200, "{}")
    });
    let before = Instant::now();
    let until = Some(before + Duration::from_millis(100));
    for _ in 0..3 {
        let error = embedder.embed_query("x", until).unwrap_err();
        assert!(matches!(error, EmbedError::Unavailable { .. }), "{error}");
    }
    assert!(before.elapsed() < Duration::from_secs(1));
    assert_eq!(endpoint.requests().len(), 2, "asked for the dimension and for one query");
    // Requests for documents detect that the endpoint is back.
    endpoint.set_handler(respond);
    embedder.embed(&["x"], Role::Document).unwrap();
    embedder.embed_query("x", None).unwrap();
}

#[test]
fn invalid_settings_are_named() {
    let endpoint = HttpStub::start(respond);
    let with = |change: fn(&mut EmbeddingSettings)| {
        let mut settings = settings(&endpoint, Runner::OpenAi);
        change(&mut settings);
        RemoteEmbedder::open(&settings, None).err().unwrap().to_string()
    };
    for (name, message, part) in [
        (
            "no address",
            with(|s| s.remote.url = Some("localhost:8080".into())),
            "embedding.remote.url",
        ),
        ("no model", with(|s| s.model = AUTO.into()), "embedding.model"),
        (
            "no variable",
            with(|s| (s.remote.key_env, s.remote.key) = (Some("MISSING".into()), None)),
            "MISSING, which is not set",
        ),
        ("no file", with(|s| s.remote.key_file = Some("/no/such/key".into())), "/no/such/key"),
        ("no end", with(|s| s.remote.key_file = Some("/dev/zero".into())), "not a regular file"),
        (
            "nobody there",
            with(|s| s.remote.url = Some("http://127.0.0.1:9".into())),
            "cannot be reached",
        ),
    ] {
        assert!(message.contains(part), "{name}: {message}");
    }
}

#[test]
fn key_is_sent_to_no_address_that_a_response_names() {
    let other = HttpStub::start(respond);
    let location = format!("location: {}/embeddings", other.url());
    for status in [301, 302, 303, 307, 308] {
        let location = location.clone();
        let endpoint = HttpStub::start(move |_| StubResponse {
            headers: vec![location.clone()],
            ..StubResponse::new(status, "")
        });
        let failed = RemoteEmbedder::open(&settings(&endpoint, Runner::OpenAi), None);
        let message = failed.err().unwrap().to_string();
        assert!(message.contains(&status.to_string()), "{message}");
        assert!(!endpoint.requests().is_empty());
    }
    assert!(other.requests().is_empty());
}

#[test]
fn secrets_of_the_address_are_in_no_message() {
    let settings = |url: &str| {
        let remote = RemoteSettings {
            url: Some(url.to_owned()),
            attempts: NonZeroU32::MIN,
            query_timeout_ms: 500,
            ..RemoteSettings::default()
        };
        EmbeddingSettings { model: "fake".into(), remote, ..EmbeddingSettings::default() }
    };
    for url in [
        "http://me:hush@127.0.0.1:9/v1",
        "http://hush@127.0.0.1:9/v1",
        "http://127.0.0.1:9/v1?key=hush",
        "http://me:hu/sh@127.0.0.1:9",
        "me:hush@127.0.0.1:9",
        "ftp://me:hush@127.0.0.1:9",
    ] {
        let message = RemoteEmbedder::open(&settings(url), None).err().unwrap().to_string();
        assert!(!message.contains("hu"), "{url}: {message}");
    }
    let reached = RemoteEmbedder::open(&settings("http://me:hush@127.0.0.1:9"), Some(3)).unwrap();
    let failed = reached.embed_query("moss", None).unwrap_err().to_string();
    assert!(failed.contains("http://***@127.0.0.1:9") && !failed.contains("hush"), "{failed}");
    let open = RemoteEmbedder::open(&settings("http://me:hush@192.0.2.1"), Some(3)).unwrap();
    let note = open.note().unwrap();
    assert!(note.contains("http://***@192.0.2.1") && !note.contains("hush"), "{note}");
}
