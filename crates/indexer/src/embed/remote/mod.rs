//! Vectors from an endpoint elsewhere: whatever speaks OpenAI's way of asking, and Ollama.

mod api;
mod pace;
mod settings;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ureq::Agent;
use weft_index::embedder::{EmbedError, Embedder, ModelIdentity, Role};

use self::api::{Api, Outcome, Reply, authorization};
use self::pace::{Pace, pause};
pub use self::settings::{RemoteSettings, Secret};
use super::families::{self, Prefixes};
use super::pooling::unit;
use super::tokens::TextTokenizer;
use super::{BUNDLED, EmbeddingSettings, OpenError, Runner, bundled};

/// How long queries leave an endpoint alone that did not answer one: they are answered by words and links at once.
const REST: Duration = Duration::from_secs(5);

/// Bytes of an answer per number of a vector at most, and for everything around them.
const BYTES_PER_NUMBER: u64 = 32;
const BYTES_AROUND: u64 = 1 << 20;

/// The most numbers of a vector that is believed where none are agreed on.
const MAX_DIMENSION: usize = 1 << 16;

/// Asks an endpoint for vectors.
///
/// Vectors come back as unit vectors; otherwise they are as deterministic as the endpoint.
/// Documents are asked for again after growing pauses; a query is asked for once, within its time.
pub struct RemoteEmbedder {
    identity: ModelIdentity,
    endpoint: Endpoint,
    prefixes: Prefixes,
    window: usize,
    tokenizer: Arc<TextTokenizer>,
    pace: Mutex<Pace>,
    /// Until when queries do not ask, and why.
    resting: Mutex<Option<(Instant, String)>>,
}

/// Where vectors are asked for.
struct Endpoint {
    api: Api,
    agent: Agent,
    address: String,
    model: String,
    settings: RemoteSettings,
    key: Option<Secret>,
}

/// Why no vector came.
enum Trouble {
    /// Not now.
    Now(String),
    /// Not for these texts.
    Texts(String),
}

impl RemoteEmbedder {
    /// The embedder that `settings` name; the dimension is `known`, or that of the settings, or what the endpoint answers.
    ///
    /// Asks the endpoint only where the dimension is not known.
    /// Fails on an address or a key that cannot be used; with [`OpenError::Unreachable`] where the endpoint does not answer.
    pub fn open(settings: &EmbeddingSettings, known: Option<usize>) -> Result<Self, OpenError> {
        let endpoint = Endpoint::new(settings)?;
        let (by_family, _) = families::known(&endpoint.model);
        let prefixes = settings.prefixes.clone().unwrap_or(by_family);
        let stated = settings.remote.dimension.map(usize::from);
        let dimension = match stated.or(known) {
            Some(dimension) => dimension,
            None => endpoint.dimension()?,
        };
        let tokenizer = bundled::tokenizer();
        let longer = [&prefixes.query, &prefixes.document].map(|prefix| tokenizer.n_tokens(prefix));
        let taken = longer.into_iter().max().unwrap_or_default();
        let RemoteSettings { requests_per_minute, tokens_per_minute, .. } = settings.remote;
        let per_minute = |limit: Option<std::num::NonZeroU32>| limit.map(u32::from);
        let pace = Pace::new(
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
            pace: Mutex::new(pace),
            resting: Mutex::new(None),
        })
    }

    /// A line for a person where others can read what travels.
    pub(super) fn note(&self) -> Option<String> {
        let address: http::Uri = self.endpoint.address.parse().ok()?;
        let is_local = |host: &str| {
            let ip: Option<std::net::IpAddr> = host.trim_matches(['[', ']']).parse().ok();
            host == "localhost" || ip.is_some_and(|ip| ip.is_loopback())
        };
        let open = address.scheme_str() == Some("http") && !address.host().is_some_and(is_local);
        open.then(|| {
            format!("Texts of notes travel unencrypted to {}; use https.", self.endpoint.address)
        })
    }

    /// Asks for texts until they come or there is no sense in it.
    fn documents(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, Trouble> {
        let RemoteSettings { timeout_ms, attempts, .. } = self.endpoint.settings;
        let n_tokens = texts.iter().map(|text| self.tokenizer.n_tokens(text)).sum();
        let mut n_failed = 0;
        loop {
            std::thread::sleep(lock(&self.pace).take(n_tokens, Instant::now()));
            match self.ask(texts, Duration::from_millis(timeout_ms)) {
                Outcome::Vectors(vectors) => {
                    *lock(&self.resting) = None;
                    return units(&vectors);
                }
                Outcome::Texts { reason } => return Err(Trouble::Texts(reason)),
                Outcome::Refused { reason } => return Err(Trouble::Now(reason)),
                Outcome::Later { reason, after } => {
                    n_failed += 1;
                    if n_failed >= attempts.get() {
                        return Err(Trouble::Now(reason));
                    }
                    std::thread::sleep(pause(n_failed, after));
                }
            }
        }
    }

    /// Asks once, within `patience`; an endpoint that did not answer is left alone for a while.
    fn query(&self, text: String, patience: Duration) -> Result<Vec<Vec<f32>>, Trouble> {
        if let Some((until, reason)) = lock(&self.resting).as_ref()
            && Instant::now() < *until
        {
            return Err(Trouble::Now(reason.clone()));
        }
        lock(&self.pace).take(self.tokenizer.n_tokens(&text), Instant::now());
        let outcome = self.ask(&[text], patience);
        let (reason, rest) = match outcome {
            Outcome::Vectors(vectors) => return units(&vectors),
            Outcome::Texts { reason } => return Err(Trouble::Texts(reason)),
            Outcome::Refused { reason } => (reason, REST),
            Outcome::Later { reason, after } => {
                (reason, after.map_or(REST, |after| pause(1, Some(after))))
            }
        };
        *lock(&self.resting) = Some((Instant::now() + rest, reason.clone()));
        Err(Trouble::Now(reason))
    }

    fn ask(&self, texts: &[String], patience: Duration) -> Outcome {
        let dimension = self.identity.dimension;
        let vectors = match self.endpoint.ask(texts, dimension, patience) {
            Outcome::Vectors(vectors) => vectors,
            other @ (Outcome::Later { .. } | Outcome::Refused { .. } | Outcome::Texts { .. }) => {
                return other;
            }
        };
        if let Some(other) = vectors.iter().map(Vec::len).find(|length| *length != dimension) {
            let reason = format!(
                "the endpoint gives vectors of {other} numbers where {dimension} are agreed on; set embedding.remote.dimension to {other}, or name the model that was meant"
            );
            return Outcome::Refused { reason };
        }
        Outcome::Vectors(vectors)
    }

    fn error(&self, trouble: Trouble) -> EmbedError {
        let model = self.endpoint.model.clone();
        match trouble {
            Trouble::Now(reason) => EmbedError::Unavailable {
                model,
                reason: format!("{reason} ({})", self.endpoint.address),
            },
            Trouble::Texts(reason) => EmbedError::Failed { model, reason },
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

    /// An estimate: the tokens of the bundled model.
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
            vectors.extend(self.documents(&texts).map_err(|trouble| self.error(trouble))?);
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
        let vectors = asked.map_err(|trouble| self.error(trouble))?;
        vectors
            .into_iter()
            .next()
            .ok_or_else(|| self.error(Trouble::Now("the endpoint gave no vector".to_owned())))
    }
}

impl Endpoint {
    fn new(settings: &EmbeddingSettings) -> Result<Self, OpenError> {
        let EmbeddingSettings { model, runner, remote, .. } = settings;
        let unusable = |reason: String| OpenError::Endpoint { model: model.clone(), reason };
        let api = match runner {
            Runner::Ollama => Api::Ollama,
            Runner::Auto | Runner::Rten | Runner::Onnx | Runner::OpenAi => Api::OpenAi,
        };
        let url = remote.url.as_deref().unwrap_or(api.usual_url());
        let parsed: http::Uri =
            url.parse().map_err(|error| unusable(format!("embedding.remote.url: {error}")))?;
        if !matches!(parsed.scheme_str(), Some("http" | "https")) || parsed.host().is_none() {
            let reason =
                format!("embedding.remote.url: `{url}` is no address such as {}", api.usual_url());
            return Err(unusable(reason));
        }
        if model == BUNDLED {
            return Err(unusable("embedding.model: name a model of the endpoint".to_owned()));
        }
        if let (Some(variable), None) = (&remote.key_env, &remote.key) {
            let reason = format!("embedding.remote.key_env names {variable}, which is not set");
            return Err(unusable(reason));
        }
        // Proxies of the environment are left out: what is asked, and where, stands in the settings alone.
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .user_agent(concat!("noteweft/", env!("CARGO_PKG_VERSION")))
            .build();
        Ok(Self {
            api,
            agent: agent.into(),
            address: api.address(url),
            model: model.clone(),
            settings: remote.clone(),
            key: remote.key.clone(),
        })
    }

    /// What its vectors depend on. The address is left out: the same model may move.
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

    /// The length of its vectors, asked with one text.
    fn dimension(&self) -> Result<usize, OpenError> {
        let patience = Duration::from_millis(self.settings.query_timeout_ms);
        let reason = match self.ask(&["dimension".to_owned()], MAX_DIMENSION, patience) {
            Outcome::Vectors(vectors) => match vectors.first().map(Vec::len) {
                Some(length) if (1..=MAX_DIMENSION).contains(&length) => return Ok(length),
                Some(_) | None => "its vectors are empty".to_owned(),
            },
            Outcome::Later { reason, .. }
            | Outcome::Refused { reason }
            | Outcome::Texts { reason } => reason,
        };
        let address = self.address.clone();
        Err(OpenError::Unreachable { model: self.model.clone(), address, reason })
    }

    /// Asks once; an answer that is longer than so many vectors of `dimension` numbers can be is none.
    fn ask(&self, texts: &[String], dimension: usize, patience: Duration) -> Outcome {
        let shorter = self.settings.dimension.filter(|_| self.settings.shorten).map(usize::from);
        let body = self.api.body(&self.model, texts, shorter);
        let n_numbers = texts.len().saturating_mul(dimension) as u64;
        let most = BYTES_AROUND.saturating_add(n_numbers.saturating_mul(BYTES_PER_NUMBER));
        let key = match self.settings.key_file.as_deref().map(Secret::read).transpose() {
            Ok(key) => key.or_else(|| self.key.clone()),
            Err(reason) => return Outcome::Refused { reason },
        };
        match self.send(&body, key.as_ref(), most, patience) {
            Ok(reply) => self.api.read(&reply, texts.len()),
            Err(error) => Outcome::Later { reason: told(&error), after: None },
        }
    }

    fn send(
        &self,
        body: &[u8],
        key: Option<&Secret>,
        most: u64,
        patience: Duration,
    ) -> Result<Reply, ureq::Error> {
        let request = self.agent.post(&self.address).content_type("application/json");
        let request = match key {
            Some(key) => request.header("authorization", authorization(key)),
            None => request,
        };
        let request = request.config().timeout_global(Some(patience)).build();
        let mut answer = request.send(body)?;
        let retry_after = answer.headers().get("retry-after");
        let seconds = retry_after.and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let status = answer.status().as_u16();
        let body = answer.body_mut().with_config().limit(most).read_to_vec()?;
        Ok(Reply { status, retry_after: seconds.map(Duration::from_secs), body })
    }
}

/// What went wrong on the way, without anything that was sent.
fn told(error: &ureq::Error) -> String {
    if matches!(error, ureq::Error::Timeout(_)) {
        "the endpoint takes too long".to_owned()
    } else if matches!(error, ureq::Error::BodyExceedsLimit(_)) {
        "the endpoint's answer is far too long".to_owned()
    } else if let ureq::Error::Io(source) = error {
        source.to_string()
    } else {
        error.to_string()
    }
}

fn units(vectors: &[Vec<f64>]) -> Result<Vec<Vec<f32>>, Trouble> {
    let units: Option<Vec<Vec<f32>>> = vectors.iter().map(|vector| unit(vector)).collect();
    units.ok_or_else(|| Trouble::Texts("a vector has no direction".to_owned()))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing under these locks can panic halfway.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
