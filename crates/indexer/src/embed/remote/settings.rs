//! Where an endpoint is, how it is asked, and the key that it wants.

use std::fmt;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use weft_model::settings::Problems;

/// Where an endpoint is, and how it is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RemoteSettings {
    /// The address below which it answers; without it the usual one of its kind.
    pub url: Option<String>,
    /// The variable that holds the key.
    pub key_env: Option<String>,
    /// The file that holds the key, read anew for each request.
    pub key_file: Option<PathBuf>,
    /// Numbers of a vector; without it the endpoint is asked once.
    pub dimension: Option<NonZeroUsize>,
    /// Whether the endpoint is asked for vectors of that dimension, which must be set, shorter than its own.
    pub shorten: bool,
    /// Texts of one request at most.
    pub batch: NonZeroUsize,
    /// How long a request with texts of notes may take, in milliseconds, 1 to 3,600,000.
    pub timeout_ms: u64,
    /// How long a query waits for its vector, in milliseconds, 1 to 60,000.
    pub query_timeout_ms: u64,
    /// Times that a request is made before the endpoint is left alone for a while.
    pub attempts: NonZeroU32,
    /// Requests per minute at most.
    pub requests_per_minute: Option<NonZeroU32>,
    /// Tokens per minute at most, as the bundled model counts them.
    pub tokens_per_minute: Option<NonZeroU32>,
    /// The key itself, which stands in no file of settings: whoever reads the environment puts it in.
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
            shorten: false,
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
    /// What of it cannot be used, but for its address.
    #[must_use]
    pub fn problems(&self) -> Problems {
        let Self { timeout_ms, query_timeout_ms, dimension, shorten, .. } = self;
        let mut problems = Problems::default();
        problems.within("timeout_ms", *timeout_ms, 1..=3_600_000);
        problems.within("query_timeout_ms", *query_timeout_ms, 1..=60_000);
        let knows_length = dimension.is_some() || !shorten;
        problems.check(knows_length, "shorten", "say to what: set embedding.remote.dimension");
        problems
    }
}

/// A key. It is shown to the endpoint, and to nobody else.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps a key.
    #[must_use]
    pub const fn new(key: String) -> Self {
        Self(key)
    }

    pub(super) fn reveal(&self) -> &str {
        &self.0
    }

    /// The first line of a file, without the space around it.
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("the key cannot be read from {}: {error}", path.display()))?;
        let key = text.lines().next().unwrap_or_default().trim();
        if key.is_empty() {
            return Err(format!("there is no key in {}", path.display()));
        }
        Ok(Self(key.to_owned()))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
