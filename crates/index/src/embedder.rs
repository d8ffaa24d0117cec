//! The embedder: the one trait between texts and vectors.

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
/// Deterministic: the same text in the same role gives the same bits, whatever else is in the batch and on however many threads.
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
