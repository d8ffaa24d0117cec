//! The reranker: the trait that judges how well texts answer a query.

use std::time::Instant;

/// A model and its runtime, as shown to users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RerankerIdentity {
    /// Name of the model, with a digest of its weights if they are a file.
    pub model: String,
    /// Runtime of the model: `rten`, `onnxruntime` or `endpoint`.
    pub runner: String,
}

/// Judges how well texts answer a query.
///
/// Deterministic: a text has the same relevance whatever other texts are judged with it; a remote endpoint may be less deterministic.
/// Synchronous and CPU-bound (or blocking on a socket): callers provide dedicated threads.
pub trait Reranker: Send + Sync {
    /// Returns the model and its runtime.
    fn identity(&self) -> &RerankerIdentity;

    /// Returns the relevance of each of `texts`, in order, each in `0.0..=1.0`; longer texts are truncated to what the model reads.
    ///
    /// Fails with [`Late`](RerankError::Late) if it cannot finish by `until`.
    fn relevances(
        &self,
        query: &str,
        texts: &[&str],
        until: Option<Instant>,
    ) -> Result<Vec<f64>, RerankError>;
}

/// Reason why texts could not be judged.
#[derive(Debug, thiserror::Error)]
pub enum RerankError {
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
    /// The time was too short.
    #[error(
        "the model `{model}` judged {n_done} of {n_texts} texts in the time left; lower rerank.top_n or rerank.text_chars, or raise rerank.timeout_ms"
    )]
    Late {
        /// Name of the model.
        model: String,
        /// Number of judged texts.
        n_done: usize,
        /// Number of all texts.
        n_texts: usize,
    },
}
