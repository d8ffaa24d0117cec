//! Properties of every embedder: order, bit-identical results, unit length, and clear errors.

use std::path::Path;

use serde::Deserialize;
use weft_index::embedder::Role;

use super::*;

/// One text with its vector from the full-precision model.
#[derive(Deserialize)]
struct Reference {
    text: String,
    n_tokens: usize,
    vector: Vec<f32>,
}

fn references() -> Vec<Reference> {
    let lines = include_str!("../../models/reference.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn threads(n: usize) -> NonZeroUsize {
    NonZeroUsize::new(n).unwrap()
}

fn cosine(left: &[f32], right: &[f32]) -> f64 {
    assert_eq!(left.len(), right.len());
    left.iter().zip(right).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
}

fn bits(vectors: &[Vec<f32>]) -> Vec<Vec<u32>> {
    vectors.iter().map(|vector| vector.iter().map(|value| value.to_bits()).collect()).collect()
}

fn embed(embedder: &dyn Embedder, texts: &[&str]) -> Vec<Vec<f32>> {
    embedder.embed(texts, Role::Document).unwrap()
}

/// Creates a model folder with the bundled files and `extra` ones.
fn folder(extra: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let bundled = BundledModel::English.files(usize::MAX);
    let (graph, _) = bundled.weights.read().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    };
    write("onnx/model.onnx", &graph);
    write("tokenizer.json", &bundled.tokenizer);
    write("config.json", include_bytes!("../../models/config.json"));
    write("sentence_bert_config.json", br#"{"max_seq_length": 256}"#);
    for (name, text) in extra {
        write(name, text.as_bytes());
    }
    folder
}

fn settings(model: &Path, runner: Runner) -> EmbeddingSettings {
    let library = Some(PathBuf::from("/nowhere/libonnxruntime.so"));
    EmbeddingSettings {
        model: model.to_str().unwrap().to_owned(),
        runner,
        threads: Some(threads(2)),
        library,
        ..EmbeddingSettings::default()
    }
}

fn refusal(settings: &EmbeddingSettings) -> String {
    open(settings).err().unwrap().to_string()
}

#[test]
fn bundled_model_agrees_with_full_precision_model() {
    let references = references();
    let embedder = RtenEmbedder::english(threads(2));
    let texts: Vec<&str> = references.iter().map(|reference| reference.text.as_str()).collect();
    let vectors = embed(&embedder, &texts);
    let cosines: Vec<f64> = vectors
        .iter()
        .zip(&references)
        .map(|(vector, reference)| cosine(vector, &reference.vector))
        .collect();
    let mean = cosines.iter().sum::<f64>() / cosines.len() as f64;
    assert!(mean >= 0.99, "mean cosine {mean}");
    for (reference, cosine) in references.iter().zip(&cosines) {
        assert!(*cosine >= 0.98, "{cosine}: {}", reference.text);
        let n_tokens = embedder.n_tokens(&reference.text).min(embedder.window());
        assert_eq!(n_tokens + 2, reference.n_tokens, "{}", reference.text);
    }
}

#[test]
fn vectors_are_bit_identical_in_any_batch() {
    let texts: Vec<String> = references()
        .into_iter()
        .map(|reference| reference.text)
        .filter(|text| text.len() < 200)
        .collect();
    let of_some_length = |n| texts.windows(n).step_by(2).map(|texts| texts.join(" "));
    let texts: Vec<String> =
        [1, 2, 3, 4, 6, 7, 8, 20].into_iter().flat_map(of_some_length).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let alone: Vec<Vec<f32>> = {
        let embedder = RtenEmbedder::english(threads(1));
        texts.iter().map(|text| embed(&embedder, &[text]).concat()).collect()
    };
    let reversed: Vec<&str> = texts.iter().rev().copied().collect();
    for n in [1, 2, 4] {
        let embedder = RtenEmbedder::english(threads(n));
        assert_eq!(bits(&embed(&embedder, &texts)), bits(&alone), "{n} threads");
        let mut back = embed(&embedder, &reversed);
        back.reverse();
        assert_eq!(bits(&back), bits(&alone), "{n} threads, reversed");
    }
}

/// One text with its vectors from the multilingual model.
#[cfg(feature = "multilingual")]
#[derive(Deserialize)]
struct MultilingualReference {
    text: String,
    role: String,
    n_tokens: usize,
    /// By the published 4-bit weights, computed in full precision with the full vocabulary.
    vector: Vec<f32>,
    /// By the bundled file in ONNX Runtime.
    same_file: Vec<f32>,
}

#[cfg(feature = "multilingual")]
fn multilingual_references() -> Vec<MultilingualReference> {
    let lines = include_str!("../../models/multilingual/reference.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[cfg(feature = "multilingual")]
#[test]
fn multilingual_model_agrees_with_other_runner_and_full_precision() {
    let references = multilingual_references();
    let embedder = RtenEmbedder::multilingual(threads(2));
    assert_eq!(embedder.identity().dimension, 384);
    let (mut same, mut full) = (Vec::new(), Vec::new());
    for (name, role) in [("query", Role::Query), ("passage", Role::Document)] {
        let of_role: Vec<&MultilingualReference> =
            references.iter().filter(|reference| reference.role == name).collect();
        let texts: Vec<&str> = of_role.iter().map(|reference| &*reference.text).collect();
        for (vector, reference) in embedder.vectors(&texts, role).unwrap().iter().zip(of_role) {
            same.push(cosine(vector, &reference.same_file));
            full.push(cosine(vector, &reference.vector));
            let prefixed = embedder.n_tokens(&format!("{name}: {}", reference.text));
            assert_eq!((prefixed + 2).min(256), reference.n_tokens, "{}", reference.text);
        }
    }
    let mean = |cosines: &[f64]| cosines.iter().sum::<f64>() / cosines.len() as f64;
    let least = |cosines: &[f64]| cosines.iter().copied().fold(1.0, f64::min);
    assert!(mean(&same) >= 0.995 && least(&same) >= 0.98, "{} {}", mean(&same), least(&same));
    assert!(mean(&full) >= 0.985 && least(&full) >= 0.93, "{} {}", mean(&full), least(&full));
}

#[cfg(feature = "multilingual")]
#[test]
fn only_queries_lose_the_directions_of_languages() {
    let embedder = RtenEmbedder::multilingual(threads(1));
    let text = ["Wo wachsen Farne?"];
    let own = |role| embedder.vectors(&text, role).unwrap().concat();
    let embedded = |role| embedder.embed(&text, role).unwrap().concat();
    assert_eq!(embedded(Role::Document), own(Role::Document));
    assert_eq!(
        embedded(Role::Query),
        bundled_model::LANGUAGE_DIRECTIONS.removed(&own(Role::Query))
    );
    assert!(cosine(&embedded(Role::Query), &own(Role::Query)) < 0.995);
}

#[cfg(feature = "multilingual")]
#[test]
fn multilingual_vectors_are_bit_identical_in_any_batch() {
    let references = multilingual_references();
    let texts: Vec<&str> = references
        .iter()
        .map(|reference| &*reference.text)
        .filter(|text| text.len() < 250)
        .step_by(2)
        .collect();
    let one = RtenEmbedder::multilingual(threads(1));
    let alone: Vec<Vec<f32>> = texts.iter().map(|text| embed(&one, &[text]).concat()).collect();
    assert_eq!(bits(&embed(&one, &texts)), bits(&alone), "one thread");
    let several = RtenEmbedder::multilingual(threads(3));
    let reversed: Vec<&str> = texts.iter().rev().copied().collect();
    let mut back = embed(&several, &reversed);
    back.reverse();
    assert_eq!(bits(&back), bits(&alone), "three threads, reversed");
    let query = several.embed(&["Wo wachsen Farne?"], Role::Query).unwrap();
    assert_ne!(query, embed(&several, &["Wo wachsen Farne?"]), "roles have prefixes");
}

#[test]
fn odd_texts_have_unit_vectors() {
    let embedder = RtenEmbedder::english(threads(2));
    let long = "Sourdough rises because wild yeast and bacteria ferment the dough. ".repeat(15_000);
    let first = "Sourdough rises because wild yeast and bacteria ferment the dough. ".repeat(40);
    let spaces = " ".repeat(1_000_000);
    let texts = [
        "",
        " \n\t",
        &spaces,
        &long,
        &first,
        "🦀🌱👩‍👩‍👧",
        "機械学習は人工知能の一分野である。",
        "\u{0}\u{fffd}\u{200b}",
    ];
    let vectors = embed(&embedder, &texts);
    assert_eq!(vectors.len(), texts.len());
    for vector in &vectors {
        assert_eq!(vector.len(), embedder.identity().dimension);
        assert!((cosine(vector, vector) - 1.0).abs() < 1e-6);
    }
    let bits = bits(&vectors);
    assert_eq!(bits[0], bits[2], "white space is no text");
    assert_eq!(bits[3], bits[4], "text beyond the window is ignored");
    assert!(embed(&embedder, &[]).is_empty());
}

#[test]
fn none_disables_embeddings_and_english_is_the_default() {
    let none = EmbeddingSettings { model: NONE.to_owned(), ..EmbeddingSettings::default() };
    let opened = open(&none).unwrap();
    assert!(opened.embedder.is_none() && opened.notes.is_empty());

    let opened = open(&EmbeddingSettings::default()).unwrap();
    let embedder = opened.embedder.unwrap();
    assert!(opened.notes.is_empty());
    let identity = embedder.identity();
    assert!(identity.model.starts_with("all-MiniLM-L6-v2-q8@"), "{identity:?}");
    assert_eq!(
        (identity.dimension, identity.runner.as_str(), identity.pooling.as_str()),
        (384, "rten", "mean")
    );
    assert_eq!(embedder.window(), 254);
    assert_eq!(embed(&*embedder, &["a"]).concat().len(), identity.dimension);
}

#[test]
fn missing_library_falls_back_to_rten_with_a_note() {
    let model = folder(&[]);
    for (model, runner) in [(Path::new(ENGLISH), Runner::Onnx), (model.path(), Runner::Auto)] {
        let opened = open(&settings(model, runner)).unwrap();
        assert_eq!(opened.embedder.unwrap().identity().runner, "rten");
        let [note] = &opened.notes[..] else { panic!("{:?}", opened.notes) };
        assert!(note.contains("/nowhere/libonnxruntime.so") && note.contains("rten"), "{note}");
    }
}

#[test]
fn unusable_model_leaves_search_without_embeddings() {
    let model = folder(&[("onnx/model.onnx", "no graph")]);
    let opened = open(&settings(model.path(), Runner::Onnx)).unwrap();
    assert!(opened.embedder.is_none());
    let [note] = &opened.notes[..] else { panic!("{:?}", opened.notes) };
    assert!(note.contains("keywords and the graph only"), "{note}");
    let refused = refusal(&settings(model.path(), Runner::Rten));
    assert!(refused.contains("does not run in rten"), "{refused}");
}

#[test]
fn invalid_models_are_rejected_with_a_reason() {
    let empty = tempfile::tempdir().unwrap();
    let no_tokenizer = folder(&[]);
    std::fs::remove_file(no_tokenizer.path().join("tokenizer.json")).unwrap();
    let broken_json = folder(&[("1_Pooling/config.json", "{")]);
    let last_token = folder(&[("1_Pooling/config.json", r#"{"pooling_mode_lasttoken": true}"#)]);
    let dense = folder(&[("modules.json", r#"[{"type": "sentence_transformers.models.Dense"}]"#)]);
    for (model, expected) in [
        (empty.path(), "has no model.onnx or onnx/model.onnx"),
        (no_tokenizer.path(), "has no tokenizer.json"),
        (broken_json.path(), "cannot parse"),
        (last_token.path(), "pools by lasttoken"),
        (dense.path(), "has a `Dense`"),
        (Path::new("/no/such/bge-folder"), "did you mean BGE"),
        (Path::new("zzz"), "neither an existing folder nor a known model"),
    ] {
        let refused = refusal(&settings(model, Runner::Auto));
        assert!(refused.contains(expected), "{refused}");
    }
}

#[cfg(not(feature = "hub"))]
#[test]
fn model_that_cannot_be_downloaded_names_the_remedy() {
    let cache = tempfile::tempdir().unwrap();
    let mut settings = settings(Path::new("Xenova/bge-small-en-v1.5"), Runner::Auto);
    settings.cache_dir = cache.path().to_owned();
    let refused = refusal(&settings);
    assert!(refused.contains("`hub`") && refused.contains("to their folder"), "{refused}");
}

#[test]
fn named_model_needs_a_folder_of_the_user() {
    let mut settings = settings(Path::new("Xenova/bge-small-en-v1.5"), Runner::Auto);
    settings.cache_dir = "models".into();
    let refused = refusal(&settings);
    assert!(refused.contains("set embedding.cache_dir to an absolute path"), "{refused}");
}

#[test]
fn pooling_and_prefixes_come_from_model_folder() {
    let pooling = ("1_Pooling/config.json", r#"{"pooling_mode_cls_token": true}"#);
    let prompts = ("config_sentence_transformers.json", r#"{"prompts": {"query": "find: "}}"#);
    let plain = folder(&[]);
    let special = folder(&[pooling, prompts]);
    let open = |model: &Path, prefixes: Option<Prefixes>| {
        let settings = EmbeddingSettings { prefixes, ..settings(model, Runner::Rten) };
        open(&settings).unwrap().embedder.unwrap()
    };
    let (plain, special, bare) = (
        open(plain.path(), None),
        open(special.path(), None),
        open(special.path(), Some(Prefixes::default())),
    );
    let bundled = RtenEmbedder::english(threads(1));
    let several = ["snow", "a loaf of bread", "", "snow and ice"];
    assert_eq!(bits(&embed(&*plain, &several)), bits(&embed(&bundled, &several)));

    assert_eq!((special.identity().pooling.as_str(), special.window()), ("cls", 252));
    assert_ne!(embed(&*special, &["snow"]), embed(&*plain, &["snow"]));
    let query = special.embed(&["snow"], Role::Query).unwrap();
    assert_eq!(bits(&query), bits(&embed(&*special, &["find: snow"])));
    assert_eq!(
        bits(&bare.embed(&["snow"], Role::Query).unwrap()),
        bits(&embed(&*special, &["snow"]))
    );
    assert_ne!(bare.identity(), special.identity(), "vectors depend on prefixes");
}

/// A single test, because a process has one ONNX Runtime and cannot unload it; the order matters.
#[cfg(feature = "onnx-dynamic")]
#[test]
fn onnx_runtime_is_rejected_then_loaded_and_agrees_with_rten() {
    let scratch = tempfile::tempdir().unwrap();
    let text = scratch.path().join("libonnxruntime.so");
    std::fs::write(&text, "not a library").unwrap();
    let empty = scratch.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    for (path, expected) in [
        (&text, "cannot be loaded"),
        (&empty, "no library found in"),
        (&scratch.path().join("no"), "does not exist"),
    ] {
        let refused = onnx_runtime::load(Some(path)).err().unwrap().to_string();
        assert!(
            refused.contains(expected) && refused.contains(&*path.to_string_lossy()),
            "{refused}"
        );
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "only the environment knows whether this machine has the library"
    )]
    let Some(library) = std::env::var_os("WEFT_TEST_ORT_DYLIB") else {
        println!("skipped: WEFT_TEST_ORT_DYLIB names no ONNX Runtime library");
        return;
    };
    let open = |model: &Path, runner: Runner| {
        let library = Some(PathBuf::from(&library));
        let opened = open(&EmbeddingSettings { library, ..settings(model, runner) }).unwrap();
        assert!(opened.notes.is_empty(), "{:?}", opened.notes);
        opened.embedder.unwrap()
    };
    let references = references();
    let texts: Vec<&str> = references.iter().map(|reference| reference.text.as_str()).collect();
    let plain = folder(&[]);
    let cls = folder(&[("1_Pooling/config.json", r#"{"pooling_mode_cls_token": true}"#)]);
    for model in [Path::new(ENGLISH), plain.path(), cls.path()] {
        let (onnx, rten) = (open(model, Runner::Onnx), open(model, Runner::Rten));
        assert_eq!((onnx.identity().runner.as_str(), onnx.window()), ("onnxruntime", 254));
        assert_eq!(onnx.identity().model, rten.identity().model);
        let vectors = embed(&*onnx, &texts);
        let least = vectors
            .iter()
            .zip(embed(&*rten, &texts))
            .map(|(a, b)| cosine(a, &b))
            .fold(1.0, f64::min);
        assert!(least >= 0.995, "{}: least cosine {least}", model.display());
        let alone: Vec<Vec<f32>> =
            texts.iter().map(|text| embed(&*onnx, &[text]).concat()).collect();
        assert_eq!(bits(&vectors), bits(&alone), "{}", model.display());
    }
    assert_eq!(open(plain.path(), Runner::Auto).identity().runner, "onnxruntime");

    let long = texts[2].repeat(15_000);
    let vectors = embed(&*open(Path::new(ENGLISH), Runner::Onnx), &[&long, &long[..20_000], ""]);
    assert_eq!(bits(&vectors)[0], bits(&vectors)[1]);

    let onnx = open(plain.path(), Runner::Onnx);
    std::fs::write(plain.path().join("onnx/model.onnx"), "something else").unwrap();
    embed(&*onnx, &["the first session has its weights"]);
    let broken = super::open(&EmbeddingSettings {
        library: Some(PathBuf::from(&library)),
        ..settings(plain.path(), Runner::Onnx)
    });
    assert!(broken.err().unwrap().to_string().contains("does not run in onnxruntime"));

    reranking::tests::check_in_onnx_runtime(Path::new(&library));
}
