//! A fake embedder, and a vault in a temporary folder.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use weft_engine::{
    DisabledSignals, Engine, EngineSettings, SearchAnswer, SearchMode, SearchRequest,
};
use weft_index::embedder::{Calibration, EmbedError, Embedder, ModelIdentity, Role};
use weft_indexer::{IndexSettings, Indexer, VaultSettings, WatchOptions};

/// Floats per vector.
const DIMENSION: usize = 32;

/// Maps each word to a direction, so texts that share words are close; counts the texts it embeds.
pub(crate) struct FakeEmbedder {
    identity: ModelIdentity,
    window: usize,
    pub(crate) n_documents: AtomicUsize,
    /// Length of each document in bytes, in the order received.
    pub(crate) lengths: Mutex<Vec<usize>>,
    /// Makes embedding of documents fail.
    pub(crate) is_down: AtomicBool,
}

impl FakeEmbedder {
    pub(crate) fn new() -> Arc<Self> {
        Self::called("fake")
    }

    /// Creates a model with another identity.
    pub(crate) fn called(name: &str) -> Arc<Self> {
        Self::with_window(name, 64)
    }

    /// Creates a model with a window of so many words.
    pub(crate) fn with_window(name: &str, window: usize) -> Arc<Self> {
        let identity = ModelIdentity {
            model: name.into(),
            dimension: DIMENSION,
            runner: "test".into(),
            pooling: "sum".into(),
        };
        let (n_documents, is_down) = (AtomicUsize::new(0), AtomicBool::new(false));
        Arc::new(Self { identity, window, n_documents, lengths: Mutex::default(), is_down })
    }
}

impl Embedder for FakeEmbedder {
    fn calibration(&self) -> Option<Calibration> {
        Some(Calibration::REFERENCE)
    }

    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn window(&self) -> usize {
        self.window
    }

    fn n_tokens(&self, text: &str) -> usize {
        text.split_whitespace().count()
    }

    fn embed(&self, texts: &[&str], role: Role) -> Result<Vec<Vec<f32>>, EmbedError> {
        if role == Role::Document && self.is_down.load(Ordering::SeqCst) {
            let (model, reason) = ("fake".into(), "it is down".into());
            return Err(EmbedError::Unavailable { model, reason });
        }
        if role == Role::Document {
            self.n_documents.fetch_add(texts.len(), Ordering::SeqCst);
            let mut lengths = self.lengths.lock().expect("nobody panicked");
            lengths.extend(texts.iter().map(|text| text.len()));
        }
        Ok(texts.iter().map(|text| vector(text)).collect())
    }
}

fn vector(text: &str) -> Vec<f32> {
    let mut sum = [1e-3_f32; DIMENSION];
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let hash = word
            .to_lowercase()
            .bytes()
            .fold(7_usize, |hash, byte| hash.wrapping_mul(31) + usize::from(byte));
        sum[hash % DIMENSION] += 1.0;
    }
    let norm = sum.iter().map(|value| value * value).sum::<f32>().sqrt();
    sum.iter().map(|value| value / norm).collect()
}

/// A vault and a store that are deleted with the test.
pub(crate) struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new(files: &[(&str, &[u8])]) -> Self {
        let place = Self { folder: tempfile::tempdir().expect("a temporary folder") };
        std::fs::create_dir_all(place.vault()).expect("a vault");
        for (path, bytes) in files {
            place.write(path, bytes);
        }
        place
    }

    pub(crate) fn vault(&self) -> PathBuf {
        self.folder.path().join("vault")
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    pub(crate) fn outside(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.vault().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, bytes).expect("a file");
    }

    pub(crate) fn settings(&self) -> IndexSettings {
        IndexSettings {
            store: self.store(),
            vaults: vec![VaultSettings { name: "vault".into(), root: self.vault() }],
            watch: WatchOptions { enabled: false, ..WatchOptions::default() },
            ..IndexSettings::default()
        }
    }

    pub(crate) fn open(&self, embedder: &Arc<FakeEmbedder>) -> Indexer {
        let embedder = Arc::clone(embedder) as Arc<dyn Embedder>;
        Indexer::open(self.settings(), Some(embedder), None).expect("an index")
    }
}

/// Waits until the vectors are loaded and the result has been reported.
pub(crate) fn read_back(indexer: &Indexer) {
    let snapshot = indexer.reader().snapshot();
    let vectors = snapshot.vectors.as_ref().map(|vectors| vectors.wait_loaded(None));
    assert!(vectors.is_none_or(|vectors| vectors.loading.is_none()), "they were read");
}

pub(crate) fn settle(indexer: &Indexer) -> u64 {
    indexer.wait_vectors(&AtomicBool::new(false), &mut |_| {}).expect("vectors")
}

/// Searches without graph signals.
pub(crate) fn search(indexer: &Indexer, query: &str, mode: SearchMode) -> SearchAnswer {
    let engine = Engine::new(indexer.reader(), EngineSettings::default());
    engine
        .search(&SearchRequest {
            query: query.into(),
            limit: 10,
            mode,
            disabled_signals: DisabledSignals { graph: true, ..DisabledSignals::default() },
            ..SearchRequest::default()
        })
        .expect("an answer")
}

pub(crate) fn uris(answer: &SearchAnswer) -> Vec<&str> {
    answer.hits.iter().map(|hit| hit.uri.as_str()).collect()
}
