//! Settings of a reranker: the model, its runtime, and its endpoint.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::super::NONE;
use super::super::http_endpoint::Secret;

/// Which model reranks, and how it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct RerankerSettings {
    /// [`NONE`], or the path of a folder with a cross-encoder as ONNX model; for an endpoint, the endpoint's name for the model.
    pub model: String,
    /// Runtime that executes the model.
    pub runner: RerankRunner,
    /// Number of texts judged in parallel, each on one thread; defaults to one per core.
    ///
    /// In ONNX Runtime, each holds a copy of the model's weights.
    pub threads: Option<NonZeroUsize>,
    /// Maximum number of tokens of a query with a text that the model reads, including special tokens; capped to the model's own limit.
    pub max_tokens: NonZeroUsize,
    /// The ONNX Runtime library, or a folder that contains it; by default the usual places are searched.
    pub library: Option<PathBuf>,
    /// The endpoint, if the runner is one.
    pub endpoint: RerankEndpoint,
}

impl Default for RerankerSettings {
    fn default() -> Self {
        const MAX_TOKENS: NonZeroUsize =
            NonZeroUsize::new(512).expect("a literal that is not zero");
        Self {
            model: NONE.to_owned(),
            runner: RerankRunner::default(),
            threads: None,
            max_tokens: MAX_TOKENS,
            library: None,
            endpoint: RerankEndpoint::default(),
        }
    }
}

/// Runtime that executes a reranker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RerankRunner {
    /// ONNX Runtime, or rten if its library is missing.
    #[default]
    Auto,
    /// rten: pure Rust, nothing to install.
    Rten,
    /// ONNX Runtime through fastembed, or rten if its library is missing.
    Onnx,
    /// An endpoint with the API that Cohere, Jina and vLLM share.
    Endpoint,
}

/// Settings of an endpoint that reranks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RerankEndpoint {
    /// Base address, to which `/rerank` is appended.
    pub url: Option<String>,
    /// Environment variable that holds the API key.
    pub key_env: Option<String>,
    /// File that holds the API key, read again for each request.
    pub key_file: Option<PathBuf>,
    /// Number of attempts of a request while time is left.
    pub attempts: NonZeroU32,
    /// True if the scores of the endpoint are logits instead of numbers from 0 to 1.
    pub logits: bool,
    /// The API key, which is in no settings file: the caller that reads the environment sets it.
    #[serde(skip)]
    pub key: Option<Secret>,
}

impl Default for RerankEndpoint {
    fn default() -> Self {
        const ATTEMPTS: NonZeroU32 = NonZeroU32::new(2).expect("a literal that is not zero");
        Self {
            url: None,
            key_env: None,
            key_file: None,
            attempts: ATTEMPTS,
            logits: false,
            key: None,
        }
    }
}
