//! Settings of a remote endpoint: its address, its limits and its key.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use weft_model::settings::Problems;

use super::super::http_endpoint::Secret;

/// Settings of a remote endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RemoteSettings {
    /// Base address; by default that of the API.
    pub url: Option<String>,
    /// Environment variable that holds the API key.
    pub key_env: Option<String>,
    /// File that holds the API key, read again for each request.
    pub key_file: Option<PathBuf>,
    /// Dimension of the vectors; by default determined with one request.
    pub dimension: Option<NonZeroUsize>,
    /// True to request vectors truncated to `dimension`, which must be set.
    pub truncate_dimensions: bool,
    /// Maximum number of texts per request.
    pub batch: NonZeroUsize,
    /// Timeout of a request for note texts, in milliseconds, 1 to 3,600,000.
    pub timeout_ms: u64,
    /// Timeout of a request for a query's vector, in milliseconds, 1 to 60,000.
    pub query_timeout_ms: u64,
    /// Number of attempts before the endpoint is left alone for a while.
    pub attempts: NonZeroU32,
    /// Maximum number of requests per minute.
    pub requests_per_minute: Option<NonZeroU32>,
    /// Maximum number of tokens per minute, as the bundled model counts them.
    pub tokens_per_minute: Option<NonZeroU32>,
    /// The API key, which is in no settings file: the caller that reads the environment sets it.
    #[serde(skip)]
    pub key: Option<Secret>,
}

impl Default for RemoteSettings {
    fn default() -> Self {
        const BATCH: NonZeroUsize = NonZeroUsize::new(64).expect("a literal that is not zero");
        const ATTEMPTS: NonZeroU32 = NonZeroU32::new(4).expect("a literal that is not zero");
        Self {
            url: None,
            key_env: None,
            key_file: None,
            dimension: None,
            truncate_dimensions: false,
            batch: BATCH,
            timeout_ms: 60_000,
            query_timeout_ms: 2_000,
            attempts: ATTEMPTS,
            requests_per_minute: None,
            tokens_per_minute: None,
            key: None,
        }
    }
}

impl RemoteSettings {
    /// Returns the invalid settings, except for the address.
    #[must_use]
    pub fn problems(&self) -> Problems {
        let Self { timeout_ms, query_timeout_ms, dimension, truncate_dimensions, .. } = self;
        let mut problems = Problems::default();
        problems.within("timeout_ms", *timeout_ms, 1..=3_600_000);
        problems.within("query_timeout_ms", *query_timeout_ms, 1..=60_000);
        let knows_length = dimension.is_some() || !truncate_dimensions;
        problems.check(knows_length, "truncate_dimensions", "requires embedding.remote.dimension");
        problems
    }
}
