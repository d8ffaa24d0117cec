//! The embedder: the one trait between texts and vectors.

use std::time::Instant;

use serde::{Deserialize, Serialize};

/// What a text is embedded for. Models that tell queries from documents put different prefixes before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Something asked.
    Query,
    /// Something found.
    Document,
}

/// Everything on which a vector depends besides its text. Vectors of different identities are never mixed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ModelIdentity {
    /// The model's name, with a digest of its weights where they are a file.
    pub model: String,
    /// Floats per vector.
    pub dimension: usize,
    /// What runs it: `rten`, `onnxruntime`, …; runners differ in the last digits.
    pub runner: String,
    /// How token vectors become one: `mean`, `cls`, ….
    pub pooling: String,
}

/// Turns texts into unit vectors.
///
/// Deterministic: the same text in the same role gives the same bits, whatever else is in the batch and on however many threads; an endpoint elsewhere is as deterministic as it is.
/// Synchronous and CPU-bound (or blocking on a socket): callers give it threads of their own.
pub trait Embedder: Send + Sync {
    /// What its vectors depend on.
    fn identity(&self) -> &ModelIdentity;

    /// The most tokens of one text that the model sees, its own special tokens taken off; more is cut.
    fn window(&self) -> usize;

    /// How many of the model's tokens `text` takes, special tokens not counted. Pure and cheap.
    fn n_tokens(&self, text: &str) -> usize;

    /// How much of `text` the model's vocabulary can express, in `0.0..=1.0`; 1 where that is not known.
    ///
    /// A vector of what it cannot express says little, whatever it resembles. Pure and cheap.
    fn expressed(&self, _text: &str) -> f64 {
        1.0
    }

    /// One unit vector per text, in order, each of the identity's dimension.
    ///
    /// An empty batch gives no vectors; an empty text is legal.
    fn embed(&self, texts: &[&str], role: Role) -> Result<Vec<Vec<f32>>, EmbedError>;

    /// The unit vector of one query; one that is not had by `until` may be [`Unavailable`](EmbedError::Unavailable).
    fn embed_query(&self, text: &str, until: Option<Instant>) -> Result<Vec<f32>, EmbedError> {
        let _ = until;
        let vector = self.embed(&[text], Role::Query)?.into_iter().next();
        vector.ok_or_else(|| EmbedError::Failed {
            model: self.identity().model.clone(),
            reason: "it gave no vector".to_owned(),
        })
    }

    /// Documents that are best given at once: enough to keep what runs the model busy, few enough to show them often.
    fn batch(&self) -> usize {
        32
    }
}

/// Why no vector came.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The model failed on these texts; trying again gives the same.
    #[error("the model `{model}` failed: {reason}")]
    Failed {
        /// Which model.
        model: String,
        /// What it said.
        reason: String,
    },
    /// The model cannot be reached now; trying again may help.
    #[error("the model `{model}` cannot be reached: {reason}")]
    Unavailable {
        /// Which model.
        model: String,
        /// What stood in the way.
        reason: String,
    },
}
