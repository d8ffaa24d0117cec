//! The embedder: the trait that turns text into vectors.

use std::time::Instant;

use serde::{Deserialize, Serialize};

pub use crate::calibration::Calibration;

/// Purpose of an embedding. Models that distinguish queries from documents use a different prefix for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Text of a query.
    Query,
    /// Text of a chunk.
    Document,
}

/// Everything besides the text that determines a vector. Vectors of different identities are never mixed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ModelIdentity {
    /// Name of the model, with a digest of its weights if they are a file.
    pub model: String,
    /// Floats per vector.
    pub dimension: usize,
    /// Runtime of the model: `rten`, `onnxruntime`, …; runtimes differ in the last digits.
    pub runner: String,
    /// Pooling of token vectors into one: `mean`, `cls`, ….
    pub pooling: String,
}

/// Texts that a model understands. The vector of any other text carries little meaning, whatever it is similar to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadableText {
    /// Text in English.
    English,
    /// Text in any language that people write on the web.
    EveryLanguage,
    /// Not known: the vocabulary of the model tells.
    Unknown,
}

/// Turns texts into unit vectors.
///
/// Deterministic: the same text in the same role gives the same bits, independent of batch and number of threads; a remote endpoint may be less deterministic.
/// Synchronous and CPU-bound (or blocking on a socket): callers provide dedicated threads.
pub trait Embedder: Send + Sync {
    /// Returns the identity of the model.
    fn identity(&self) -> &ModelIdentity;

    /// Returns the maximum number of tokens of one text, without the model's special tokens; longer texts are truncated.
    fn window(&self) -> usize;

    /// Returns the number of the model's tokens in `text`, without special tokens. Pure and cheap.
    fn n_tokens(&self, text: &str) -> usize;

    /// Returns how to read the model's cosines; `None` if that must be measured on the vectors of a vault.
    fn calibration(&self) -> Option<Calibration> {
        None
    }

    /// Returns the texts that the model understands.
    fn readable_text(&self) -> ReadableText {
        ReadableText::Unknown
    }

    /// Returns the share of `text` that the model's vocabulary covers, in `0.0..=1.0`; 1 if unknown.
    ///
    /// It tells whether a model of [`ReadableText::Unknown`] can read a query. Pure and cheap.
    fn vocabulary_coverage(&self, _text: &str) -> f64 {
        1.0
    }

    /// Returns one unit vector per text, in order, each of the identity's dimension.
    ///
    /// An empty batch gives no vectors; an empty text is valid.
    fn embed(&self, texts: &[&str], role: Role) -> Result<Vec<Vec<f32>>, EmbedError>;

    /// Returns the unit vector of one query. If it is not available by `until`, this may fail with [`Unavailable`](EmbedError::Unavailable).
    fn embed_query(&self, text: &str, until: Option<Instant>) -> Result<Vec<f32>, EmbedError> {
        let _ = until;
        let vector = self.embed(&[text], Role::Query)?.into_iter().next();
        vector.ok_or_else(|| EmbedError::Failed {
            model: self.identity().model.clone(),
            reason: "it returned no vector".to_owned(),
        })
    }

    /// Returns the best number of documents per call: enough to keep the model busy, few enough to publish results often.
    fn batch(&self) -> usize {
        32
    }
}

/// Reason why a text could not be embedded.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The model failed on these texts; a retry gives the same result.
    #[error("the model `{model}` failed: {reason}")]
    Failed {
        /// Name of the model.
        model: String,
        /// Error of the model.
        reason: String,
    },
    /// The model cannot be reached now; a retry may help.
    #[error("the model `{model}` cannot be reached: {reason}")]
    Unavailable {
        /// Name of the model.
        model: String,
        /// Reason of the failure.
        reason: String,
    },
}
