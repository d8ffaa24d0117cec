//! Embeds texts at a remote endpoint: any OpenAI-compatible one, or Ollama.

mod rate_limiter;
mod remote_api;
mod remote_settings;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use weft_index::embedder::{EmbedError, Embedder, ModelIdentity, Role};

use self::rate_limiter::RequestLimiter;
use self::remote_api::Api;
pub use self::remote_settings::RemoteSettings;
use super::http_endpoint::{
    ApiOutcome, Cooldown, HttpEndpoint, KeySource, QUERY_COOLDOWN, RESPONSE_OVERHEAD_BYTES,
};
use super::model_families::{self, Prefixes};
use super::pooling::unit;
use super::request_backoff::retry_delay;
use super::text_tokenizer::TextTokenizer;
use super::{AUTO, ENGLISH, EmbeddingSettings, MULTILINGUAL, ModelError, Runner, bundled_model};

/// Maximum bytes of a response per number of a vector.
const BYTES_PER_NUMBER: u64 = 32;

/// Maximum dimension accepted from an endpoint if none is configured.
const MAX_DIMENSION: usize = 1 << 16;

/// Embeds texts at a remote endpoint.
///
/// Returns unit vectors; otherwise they are as deterministic as the endpoint.
/// Requests for documents are retried with exponential backoff; a query is sent once, within its time limit.
pub struct RemoteEmbedder {
    identity: ModelIdentity,
    endpoint: Endpoint,
    prefixes: Prefixes,
    window: usize,
    tokenizer: Arc<TextTokenizer>,
    rate_limiter: Mutex<RequestLimiter>,
    /// While queries skip the endpoint; they use keywords and links only.
    cooldown: Cooldown,
}

/// The endpoint and its settings.
struct Endpoint {
    api: Api,
    http: HttpEndpoint,
    model: String,
    settings: RemoteSettings,
}

/// Why a request returned no vector.
enum RequestFailure {
    /// The endpoint is unavailable at present.
    Unavailable(String),
    /// The endpoint rejects these texts.
    InvalidTexts(String),
}

impl RemoteEmbedder {
    /// Opens the embedder that `settings` name. The dimension is taken from the settings, else from `known`, else from a response of the endpoint.
    ///
    /// Contacts the endpoint only if the dimension is not known.
    /// Fails on an invalid address or key, and with [`ModelError::Unreachable`] if the endpoint does not respond.
    pub fn open(settings: &EmbeddingSettings, known: Option<usize>) -> Result<Self, ModelError> {
        let endpoint = Endpoint::new(settings)?;
        let (by_family, _) = model_families::lookup(&endpoint.model);
        let prefixes = settings.prefixes.clone().unwrap_or(by_family);
        let stated = settings.remote.dimension.map(usize::from);
        let dimension = match stated.or(known) {
            Some(dimension) => dimension,
            None => endpoint.dimension()?,
        };
        let tokenizer = bundled_model::english_tokenizer();
        let longer = [&prefixes.query, &prefixes.document].map(|prefix| tokenizer.n_tokens(prefix));
        let taken = longer.into_iter().max().unwrap_or_default();
        let RemoteSettings { requests_per_minute, tokens_per_minute, .. } = settings.remote;
        let per_minute = |limit: Option<std::num::NonZeroU32>| limit.map(u32::from);
        let rate_limiter = RequestLimiter::new(
            per_minute(requests_per_minute),
            per_minute(tokens_per_minute),
            Instant::now(),
        );
        Ok(Self {
            identity: endpoint.identity(&prefixes, dimension),
            endpoint,
            window: settings.max_tokens.get().saturating_sub(taken).max(1),
            prefixes,
            tokenizer,
            rate_limiter: Mutex::new(rate_limiter),
            cooldown: Cooldown::default(),
        })
    }

    /// Returns a warning for the user if note texts are sent unencrypted.
    pub(super) fn note(&self) -> Option<String> {
        self.endpoint.http.unencrypted_note("Note texts")
    }

    /// Embeds documents, retrying until it succeeds or a retry is pointless.
    fn documents(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, RequestFailure> {
        let RemoteSettings { timeout_ms, attempts, .. } = self.endpoint.settings;
        let n_tokens = texts.iter().map(|text| self.tokenizer.n_tokens(text)).sum();
        let mut n_failed = 0;
        loop {
            std::thread::sleep(lock(&self.rate_limiter).take(n_tokens, Instant::now()));
            match self.ask(texts, Duration::from_millis(timeout_ms)) {
                ApiOutcome::Results(vectors) => {
                    self.cooldown.end();
                    return units(&vectors);
                }
                ApiOutcome::InvalidTexts { reason } => {
                    return Err(RequestFailure::InvalidTexts(reason));
                }
                ApiOutcome::Rejected { reason } => return Err(RequestFailure::Unavailable(reason)),
                ApiOutcome::RetryLater { reason, after } => {
                    n_failed += 1;
                    if n_failed >= attempts.get() {
                        return Err(RequestFailure::Unavailable(reason));
                    }
                    std::thread::sleep(retry_delay(n_failed, after));
                }
            }
        }
    }

    /// Embeds a query once, within `timeout`; skips an endpoint that failed recently.
    fn query(&self, text: String, timeout: Duration) -> Result<Vec<Vec<f32>>, RequestFailure> {
        if let Some(reason) = self.cooldown.reason() {
            return Err(RequestFailure::Unavailable(reason));
        }
        lock(&self.rate_limiter).take(self.tokenizer.n_tokens(&text), Instant::now());
        let outcome = self.ask(&[text], timeout);
        let (reason, cooldown) = match outcome {
            ApiOutcome::Results(vectors) => return units(&vectors),
            ApiOutcome::InvalidTexts { reason } => {
                return Err(RequestFailure::InvalidTexts(reason));
            }
            ApiOutcome::Rejected { reason } => (reason, QUERY_COOLDOWN),
            ApiOutcome::RetryLater { reason, after } => {
                (reason, after.map_or(QUERY_COOLDOWN, |after| retry_delay(1, Some(after))))
            }
        };
        self.cooldown.begin(cooldown, reason.clone());
        Err(RequestFailure::Unavailable(reason))
    }

    fn ask(&self, texts: &[String], timeout: Duration) -> ApiOutcome<Vec<Vec<f64>>> {
        let dimension = self.identity.dimension;
        let vectors = match self.endpoint.ask(texts, dimension, timeout) {
            ApiOutcome::Results(vectors) => vectors,
            other @ (ApiOutcome::RetryLater { .. }
            | ApiOutcome::Rejected { .. }
            | ApiOutcome::InvalidTexts { .. }) => {
                return other;
            }
        };
        if let Some(other) = vectors.iter().map(Vec::len).find(|length| *length != dimension) {
            let reason = format!(
                "the endpoint returned vectors with {other} dimensions instead of {dimension}; set embedding.remote.dimension to {other}, or correct embedding.model"
            );
            return ApiOutcome::Rejected { reason };
        }
        ApiOutcome::Results(vectors)
    }

    fn error(&self, failure: RequestFailure) -> EmbedError {
        let model = self.endpoint.model.clone();
        match failure {
            RequestFailure::Unavailable(reason) => EmbedError::Unavailable {
                model,
                reason: format!("{reason} ({})", self.endpoint.http.shown_address),
            },
            RequestFailure::InvalidTexts(reason) => EmbedError::Failed { model, reason },
        }
    }
}

impl Embedder for RemoteEmbedder {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn window(&self) -> usize {
        self.window
    }

    /// Estimates with the tokens of the bundled model.
    fn n_tokens(&self, text: &str) -> usize {
        self.tokenizer.n_tokens(text)
    }

    fn batch(&self) -> usize {
        self.endpoint.settings.batch.get()
    }

    fn embed(&self, texts: &[&str], role: Role) -> Result<Vec<Vec<f32>>, EmbedError> {
        if role == Role::Query {
            return texts.iter().map(|text| self.embed_query(text, None)).collect();
        }
        let mut vectors = Vec::with_capacity(texts.len());
        for part in texts.chunks(self.batch()) {
            let texts: Vec<String> =
                part.iter().map(|text| self.prefixes.apply(text, role)).collect();
            vectors.extend(self.documents(&texts).map_err(|failure| self.error(failure))?);
        }
        Ok(vectors)
    }

    fn embed_query(&self, text: &str, until: Option<Instant>) -> Result<Vec<f32>, EmbedError> {
        let most = Duration::from_millis(self.endpoint.settings.query_timeout_ms);
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let text = self.tokenizer.cut(text, self.window).unwrap_or(text);
        let asked = self.query(
            self.prefixes.apply(text, Role::Query),
            left.map_or(most, |left| left.min(most)),
        );
        let vectors = asked.map_err(|failure| self.error(failure))?;
        vectors.into_iter().next().ok_or_else(|| {
            self.error(RequestFailure::Unavailable("the endpoint returned no vector".to_owned()))
        })
    }
}

impl Endpoint {
    fn new(settings: &EmbeddingSettings) -> Result<Self, ModelError> {
        let EmbeddingSettings { model, runner, remote, .. } = settings;
        let unusable = |reason: String| ModelError::Endpoint { model: model.clone(), reason };
        let api = match runner {
            Runner::Ollama => Api::Ollama,
            Runner::Auto | Runner::Rten | Runner::Onnx | Runner::OpenAi => Api::OpenAi,
        };
        let url = remote.url.as_deref().unwrap_or(api.default_url());
        if [AUTO, ENGLISH, MULTILINGUAL].contains(&model.as_str()) {
            return Err(unusable("embedding.model: set it to a model of the endpoint".to_owned()));
        }
        let key = KeySource {
            variable: remote.key_env.clone(),
            key: remote.key.clone(),
            file: remote.key_file.clone(),
        };
        let such = api.default_url();
        let http = HttpEndpoint::new("embedding.remote", url, such, key, |url| api.address(url));
        let http = http.map_err(unusable)?;
        Ok(Self { api, http, model: model.clone(), settings: remote.clone() })
    }

    /// Returns the identity that vectors depend on. The address is left out: the same model may move.
    fn identity(&self, prefixes: &Prefixes, dimension: usize) -> ModelIdentity {
        let Prefixes { query: _, document } = prefixes;
        let mut recipe = blake3::Hasher::new();
        for part in [&self.model, document] {
            recipe.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        }
        ModelIdentity {
            model: format!("{}@{}", self.model, &recipe.finalize().to_hex()[..16]),
            dimension,
            runner: self.api.name().to_owned(),
            pooling: "endpoint".to_owned(),
        }
    }

    /// Determines the dimension by embedding one text.
    fn dimension(&self) -> Result<usize, ModelError> {
        let timeout = Duration::from_millis(self.settings.query_timeout_ms);
        let reason = match self.ask(&["dimension".to_owned()], MAX_DIMENSION, timeout) {
            ApiOutcome::Results(vectors) => match vectors.first().map(Vec::len) {
                Some(length) if (1..=MAX_DIMENSION).contains(&length) => return Ok(length),
                Some(_) | None => "it returned an empty vector".to_owned(),
            },
            ApiOutcome::RetryLater { reason, .. }
            | ApiOutcome::Rejected { reason }
            | ApiOutcome::InvalidTexts { reason } => reason,
        };
        let address = self.http.shown_address.clone();
        Err(ModelError::Unreachable { model: self.model.clone(), address, reason })
    }

    /// Sends one request; limits the response to the size that vectors of `dimension` numbers can take.
    fn ask(
        &self,
        texts: &[String],
        dimension: usize,
        timeout: Duration,
    ) -> ApiOutcome<Vec<Vec<f64>>> {
        let shorter =
            self.settings.dimension.filter(|_| self.settings.truncate_dimensions).map(usize::from);
        let body = self.api.body(&self.model, texts, shorter);
        let n_numbers = texts.len().saturating_mul(dimension) as u64;
        let most =
            RESPONSE_OVERHEAD_BYTES.saturating_add(n_numbers.saturating_mul(BYTES_PER_NUMBER));
        self.http.ask(&body, most, timeout, |body| self.api.vectors(body, texts.len()))
    }
}

fn units(vectors: &[Vec<f64>]) -> Result<Vec<Vec<f32>>, RequestFailure> {
    let units: Option<Vec<Vec<f32>>> = vectors.iter().map(|vector| unit(vector)).collect();
    units.ok_or_else(|| {
        RequestFailure::InvalidTexts(
            "the endpoint returned a vector that is zero or not finite".to_owned(),
        )
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while these locks are held.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
