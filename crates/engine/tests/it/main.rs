//! Requests over real indexes of small vaults.
#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

mod assembly;
mod context;
mod everyday;
mod filters;
mod fragments;
mod hygiene;
mod related;
mod related_auto;
mod search;
mod stop;
mod walk;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tempfile::TempDir;
use weft_engine::{Engine, EngineSettings, Warning};
use weft_index::embedder::{Calibration, EmbedError, Embedder, ModelIdentity, Role};
use weft_indexer::{
    IndexSettings, Indexer, Precondition, VaultSettings, WatchOptions, WriteContent, WriteRequest,
};

/// Returns the messages of `warnings`.
pub(crate) fn messages(warnings: &[Warning]) -> Vec<&str> {
    warnings.iter().map(|warning| &*warning.message).collect()
}

/// An indexed vault built from one string; `=== path` starts a file.
pub(crate) struct Vault {
    pub(crate) folder: TempDir,
    indexer: Indexer,
    pub(crate) engine: Engine,
}

impl Vault {
    /// Creates a vault without vectors.
    pub(crate) fn new(files: &str) -> Self {
        Self::several(&[("vault", files)])
    }

    /// Creates a vault with vectors of letter frequencies.
    pub(crate) fn with_vectors(files: &str) -> Self {
        Self::open(&[("vault", files)], Some(Arc::new(Letters::new())))
    }

    /// Creates vaults with these names and files, without vectors.
    pub(crate) fn several(vaults: &[(&str, &str)]) -> Self {
        Self::open(vaults, None)
    }

    fn open(vaults: &[(&str, &str)], embedder: Option<Arc<dyn Embedder>>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, files) in vaults {
            for file in files.split("=== ").skip(1) {
                let (path, text) = file.split_once('\n').unwrap();
                let path = folder.path().join(name).join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
        }
        let settings =
            |name: &str| VaultSettings { name: name.into(), root: folder.path().join(name) };
        let settings = IndexSettings {
            store: folder.path().join("store"),
            vaults: vaults.iter().map(|(name, _)| settings(name)).collect(),
            watch: WatchOptions { enabled: false, ..WatchOptions::default() },
            ..IndexSettings::default()
        };
        let indexer = Indexer::open(settings, embedder, None).unwrap();
        indexer.wait_vectors(&AtomicBool::new(false), &mut |_| {}).unwrap();
        let engine = Engine::new(indexer.reader(), EngineSettings::default());
        Self { folder, indexer, engine }
    }

    /// Writes the file of a note.
    pub(crate) fn put(&self, path: &str, text: &str) {
        let content = WriteContent::Whole(text.to_owned());
        let (vault, path, expected) = (None, path.to_owned(), Precondition::Anything);
        self.indexer.write(WriteRequest::Put { vault, path, content, expected }).unwrap();
    }

    /// Returns an engine with empty caches.
    pub(crate) fn new_engine(&self) -> Engine {
        Engine::new(self.indexer.reader(), EngineSettings::default())
    }
}

/// Embeds texts by their letters.
struct Letters(ModelIdentity);

impl Letters {
    fn new() -> Self {
        Self(ModelIdentity {
            model: "letters".into(),
            dimension: 26,
            runner: "test".into(),
            pooling: "sum".into(),
        })
    }
}

impl Embedder for Letters {
    fn calibration(&self) -> Option<Calibration> {
        Some(Calibration::REFERENCE)
    }

    fn identity(&self) -> &ModelIdentity {
        &self.0
    }

    fn window(&self) -> usize {
        40
    }

    fn n_tokens(&self, text: &str) -> usize {
        text.split_whitespace().count()
    }

    fn embed(&self, texts: &[&str], _: Role) -> Result<Vec<Vec<f32>>, EmbedError> {
        let vector = |text: &&str| {
            let mut counts = [1e-3_f32; 26];
            for letter in text.bytes().filter(u8::is_ascii_alphabetic) {
                counts[usize::from(letter.to_ascii_lowercase() - b'a')] += 1.0;
            }
            let norm = counts.iter().map(|count| count * count).sum::<f32>().sqrt();
            counts.iter().map(|count| count / norm).collect()
        };
        Ok(texts.iter().map(vector).collect())
    }
}
