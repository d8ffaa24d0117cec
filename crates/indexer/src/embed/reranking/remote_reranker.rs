//! Reranks at a remote endpoint, with the API that Cohere, Jina and vLLM share.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weft_index::reranker::{RerankError, Reranker, RerankerIdentity};

use super::super::http_endpoint::{
    ApiOutcome, Cooldown, HttpEndpoint, KeySource, QUERY_COOLDOWN, RESPONSE_OVERHEAD_BYTES,
};
use super::super::model_error::ModelError;
use super::super::request_backoff::retry_delay;
use super::cross_encoder::relevance;
use super::{RerankEndpoint, RerankerSettings};

/// The name of this runner in a reranker's identity.
const RUNNER: &str = "endpoint";

/// Example of an address.
const SUCH: &str = "http://127.0.0.1:8000/v1";

/// Maximum time for a request without a time limit.
const MAX_TIME: Duration = Duration::from_secs(60);

/// Factor of the size of a request that its response may have: endpoints may repeat the texts, with escapes.
const MAX_REPETITION: u64 = 6;

/// Rounding errors of scores in single precision that are accepted.
const ROUNDING: f64 = 1e-6;

/// Reranks at an endpoint: `POST /rerank` with query, texts and model.
///
/// Sends a request again while time is left, and leaves an endpoint alone for a while after it failed.
pub(super) struct RemoteReranker {
    identity: RerankerIdentity,
    http: HttpEndpoint,
    settings: RerankEndpoint,
    cooldown: Cooldown,
}

impl RemoteReranker {
    /// Opens the reranker that `settings` name, without contacting the endpoint. Fails on an invalid address or key.
    pub(super) fn open(settings: &RerankerSettings) -> Result<Self, ModelError> {
        let RerankerSettings { model, endpoint, .. } = settings;
        let invalid = |reason: String| ModelError::Endpoint { model: model.clone(), reason };
        let url = endpoint.url.as_deref().ok_or_else(|| {
            invalid(format!("rerank.endpoint.url: set it to an address such as {SUCH}"))
        })?;
        let key = KeySource {
            variable: endpoint.key_env.clone(),
            key: endpoint.key.clone(),
            file: endpoint.key_file.clone(),
        };
        let method = |url: &str| format!("{}/rerank", url.trim_end_matches('/'));
        let http = HttpEndpoint::new("rerank.endpoint", url, SUCH, key, method).map_err(invalid)?;
        let identity = RerankerIdentity { model: model.clone(), runner: RUNNER.to_owned() };
        Ok(Self { identity, http, settings: endpoint.clone(), cooldown: Cooldown::default() })
    }

    /// Returns a warning for the user if queries and passages are sent unencrypted.
    pub(super) fn note(&self) -> Option<String> {
        self.http.unencrypted_note("Queries and passages")
    }

    fn body(&self, query: &str, texts: &[&str]) -> Vec<u8> {
        let model = &self.identity.model;
        let n = texts.len();
        json!({ "model": model, "query": query, "documents": texts, "top_n": n })
            .to_string()
            .into_bytes()
    }

    /// Parses the relevance of each of `n_texts` texts.
    fn read(&self, body: &[u8], n_texts: usize) -> Result<Vec<f64>, String> {
        let malformed = || {
            "the endpoint's response is not a list of results with `index` and `relevance_score`; check rerank.endpoint.url".to_owned()
        };
        let answer: Value = serde_json::from_slice(body).map_err(|_| malformed())?;
        let results = answer["results"].as_array().ok_or_else(malformed)?;
        let mut ordered = vec![None; n_texts];
        for result in results {
            let index = result["index"].as_u64().and_then(|index| usize::try_from(index).ok());
            let score = result["relevance_score"].as_f64().ok_or_else(malformed)?;
            let place = index.and_then(|index| ordered.get_mut(index)).ok_or_else(malformed)?;
            *place = Some(self.relevance(score)?);
        }
        let n_judged = ordered.iter().flatten().count();
        let complete: Option<Vec<f64>> = ordered.into_iter().collect();
        complete.filter(|_| results.len() == n_texts).ok_or_else(|| {
            format!("the endpoint returned scores for {n_judged} of {n_texts} texts")
        })
    }

    fn relevance(&self, score: f64) -> Result<f64, String> {
        if self.settings.logits {
            return relevance(score).ok_or_else(|| "the endpoint returned no number".to_owned());
        }
        if (-ROUNDING..=1.0 + ROUNDING).contains(&score) {
            return Ok(score.clamp(0.0, 1.0));
        }
        Err(format!(
            "the endpoint returned the score {score}, which is not from 0 to 1; if its scores are logits, set rerank.endpoint.logits = true"
        ))
    }

    fn unavailable(&self, reason: &str) -> RerankError {
        RerankError::Unavailable {
            model: self.identity.model.clone(),
            reason: format!("{reason} ({})", self.http.shown_address),
        }
    }
}

impl Reranker for RemoteReranker {
    fn identity(&self) -> &RerankerIdentity {
        &self.identity
    }

    fn relevances(
        &self,
        query: &str,
        texts: &[&str],
        until: Option<Instant>,
    ) -> Result<Vec<f64>, RerankError> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        if let Some(reason) = self.cooldown.reason() {
            return Err(self.unavailable(&reason));
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            let (model, n_texts) = (self.identity.model.clone(), texts.len());
            return Err(RerankError::Late { model, n_done: 0, n_texts });
        }
        let body = self.body(query, texts);
        let most = RESPONSE_OVERHEAD_BYTES
            .saturating_add(MAX_REPETITION.saturating_mul(body.len() as u64));
        let left =
            || until.map_or(MAX_TIME, |until| until.saturating_duration_since(Instant::now()));
        let mut n_failed = 0;
        loop {
            let asked = self.http.ask(&body, most, left(), |body| self.read(body, texts.len()));
            let (reason, pause) = match asked {
                ApiOutcome::Results(relevances) => {
                    self.cooldown.end();
                    return Ok(relevances);
                }
                ApiOutcome::InvalidTexts { reason } => {
                    let model = self.identity.model.clone();
                    return Err(RerankError::Failed { model, reason });
                }
                ApiOutcome::Rejected { reason } => (reason, None),
                ApiOutcome::RetryLater { reason, after } => {
                    n_failed += 1;
                    let is_last = n_failed >= self.settings.attempts.get();
                    (reason, (!is_last).then(|| retry_delay(n_failed, after)))
                }
            };
            match pause.filter(|pause| *pause < left()) {
                Some(pause) => std::thread::sleep(pause),
                None => {
                    self.cooldown.begin(QUERY_COOLDOWN, reason.clone());
                    return Err(self.unavailable(&reason));
                }
            }
        }
    }
}
