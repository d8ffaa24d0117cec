//! An embedder whose calibration is set by the user.

use std::sync::Arc;
use std::time::Instant;

use weft_index::embedder::{Calibration, EmbedError, Embedder, ModelIdentity, ReadableText, Role};

/// An embedder with another calibration; its vectors are the same.
pub(crate) struct CalibratedEmbedder {
    inner: Arc<dyn Embedder>,
    calibration: Calibration,
}

impl CalibratedEmbedder {
    pub(crate) const fn new(inner: Arc<dyn Embedder>, calibration: Calibration) -> Self {
        Self { inner, calibration }
    }
}

impl Embedder for CalibratedEmbedder {
    fn identity(&self) -> &ModelIdentity {
        self.inner.identity()
    }

    fn window(&self) -> usize {
        self.inner.window()
    }

    fn n_tokens(&self, text: &str) -> usize {
        self.inner.n_tokens(text)
    }

    fn calibration(&self) -> Option<Calibration> {
        Some(self.calibration)
    }

    fn readable_text(&self) -> ReadableText {
        self.inner.readable_text()
    }

    fn vocabulary_coverage(&self, text: &str) -> f64 {
        self.inner.vocabulary_coverage(text)
    }

    fn embed(&self, texts: &[&str], role: Role) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.inner.embed(texts, role)
    }

    fn embed_query(&self, text: &str, until: Option<Instant>) -> Result<Vec<f32>, EmbedError> {
        self.inner.embed_query(text, until)
    }

    fn batch(&self) -> usize {
        self.inner.batch()
    }
}
