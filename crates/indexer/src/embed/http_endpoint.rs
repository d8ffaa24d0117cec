//! HTTP endpoints of models: their address, their key, requests to them and the kinds of their failures.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use ureq::Agent;
use weft_model::redact_urls;

use crate::read_secret_file;

/// How long queries skip an endpoint after it failed.
pub(super) const QUERY_COOLDOWN: Duration = Duration::from_secs(5);

/// Bytes of a response that are accepted besides its results.
pub(super) const RESPONSE_OVERHEAD_BYTES: u64 = 1 << 20;

/// Maximum number of characters of an endpoint's error message that are reported.
const MAX_REASON: usize = 160;

/// An API key. Shown only to the endpoint.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a key.
    #[must_use]
    pub const fn new(key: String) -> Self {
        Self(key)
    }

    /// Reads the first line of a file, trimmed.
    fn read(path: &Path) -> Result<Self, String> {
        let text = read_secret_file(path)
            .map_err(|error| format!("cannot read the API key from {}: {error}", path.display()))?;
        let key = text.lines().next().unwrap_or_default().trim();
        if key.is_empty() {
            return Err(format!("{} contains no API key on its first line", path.display()));
        }
        Ok(Self(key.to_owned()))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Location of an API key.
#[derive(Clone, Debug, Default)]
pub(super) struct KeySource {
    /// Variable that was to hold the key.
    pub(super) variable: Option<String>,
    /// The value of the variable.
    pub(super) key: Option<Secret>,
    /// File that holds the key, read again for each request.
    pub(super) file: Option<PathBuf>,
}

/// The outcome of one request.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ApiOutcome<T> {
    /// The results, as returned by the endpoint.
    Results(T),
    /// A retry may succeed, after the given delay if the endpoint states one.
    RetryLater { reason: String, after: Option<Duration> },
    /// A retry succeeds only after the user changes the key, the model or the endpoint.
    Rejected { reason: String },
    /// The endpoint rejects these texts.
    InvalidTexts { reason: String },
}

/// An HTTP response.
#[derive(Clone, Debug, Default)]
pub(super) struct HttpReply {
    pub(super) status: u16,
    /// The `retry-after` header, if it is a number of seconds.
    pub(super) retry_after: Option<Duration>,
    pub(super) body: Vec<u8>,
}

/// An endpoint.
pub(super) struct HttpEndpoint {
    agent: Agent,
    /// Address of requests, which may contain a password or a key.
    address: String,
    /// The address without them, for messages.
    pub(super) shown_address: String,
    key: KeySource,
    /// Section of its settings, such as `embedding.remote`.
    section: &'static str,
}

impl HttpEndpoint {
    /// Creates an endpoint at `url`, with requests to the address that `method` makes of it.
    ///
    /// Fails with the setting to change. `such` is an example of an address.
    pub(super) fn new(
        section: &'static str,
        url: &str,
        such: &str,
        key: KeySource,
        method: impl FnOnce(&str) -> String,
    ) -> Result<Self, String> {
        let parsed: http::Uri = url.parse().map_err(|error| format!("{section}.url: {error}"))?;
        if !matches!(parsed.scheme_str(), Some("http" | "https")) || parsed.host().is_none() {
            // The text may contain a password, and only a valid address shows where.
            return Err(format!(
                "{section}.url: the value is not an http or https address such as {such}"
            ));
        }
        if let (Some(variable), None) = (&key.variable, &key.key) {
            return Err(format!(
                "{section}.key_env names the environment variable {variable}, which is not set"
            ));
        }
        // Proxies from the environment are ignored: only the settings determine where requests go.
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .user_agent(concat!("noteweft/", env!("CARGO_PKG_VERSION")))
            .build();
        let address = method(url);
        Ok(Self {
            agent: agent.into(),
            shown_address: redact_urls(&address).into_owned(),
            address,
            key,
            section,
        })
    }

    /// Returns a warning for the user if `texts`, such as "Note texts", are sent unencrypted.
    pub(super) fn unencrypted_note(&self, texts: &str) -> Option<String> {
        let address: http::Uri = self.address.parse().ok()?;
        let is_local = |host: &str| {
            let ip: Option<std::net::IpAddr> = host.trim_matches(['[', ']']).parse().ok();
            host == "localhost" || ip.is_some_and(|ip| ip.is_loopback())
        };
        let open = address.scheme_str() == Some("http") && !address.host().is_some_and(is_local);
        open.then(|| format!("{texts} are sent unencrypted to {}; use https.", self.shown_address))
    }

    /// Sends one request, and reads the results of a successful response of at most `most` bytes with `read`.
    pub(super) fn ask<T>(
        &self,
        body: &[u8],
        most: u64,
        timeout: Duration,
        read: impl FnOnce(&[u8]) -> Result<T, String>,
    ) -> ApiOutcome<T> {
        let KeySource { variable: _, key, file } = &self.key;
        let key = match file.as_deref().map(Secret::read).transpose() {
            Ok(from_file) => from_file.or_else(|| key.clone()),
            Err(reason) => return ApiOutcome::Rejected { reason },
        };
        match self.send(body, key.as_ref(), most, timeout) {
            Ok(reply) => outcome(&reply, self.section, read),
            Err(error) => ApiOutcome::RetryLater { reason: describe(&error), after: None },
        }
    }

    fn send(
        &self,
        body: &[u8],
        key: Option<&Secret>,
        most: u64,
        timeout: Duration,
    ) -> Result<HttpReply, ureq::Error> {
        let request = self.agent.post(&self.address).content_type("application/json");
        let request = match key {
            Some(Secret(key)) => request.header("authorization", format!("Bearer {key}")),
            None => request,
        };
        let request = request.config().timeout_global(Some(timeout)).build();
        let mut answer = request.send(body)?;
        let retry_after = answer.headers().get("retry-after");
        let seconds = retry_after.and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let status = answer.status().as_u16();
        let body = answer.body_mut().with_config().limit(most).read_to_vec()?;
        Ok(HttpReply { status, retry_after: seconds.map(Duration::from_secs), body })
    }
}

/// Reads a response: its results with `read`, or the kind of its failure. `section` names the settings of the endpoint.
pub(super) fn outcome<T>(
    reply: &HttpReply,
    section: &str,
    read: impl FnOnce(&[u8]) -> Result<T, String>,
) -> ApiOutcome<T> {
    let HttpReply { status, retry_after, body } = reply;
    let message = || reason(body).map_or_else(String::new, |reason| format!(": {reason}"));
    match status {
        200..=299 => match read(body) {
            Ok(results) => ApiOutcome::Results(results),
            Err(reason) => ApiOutcome::RetryLater { reason, after: *retry_after },
        },
        // A message about a key may contain part of it.
        401 | 403 => ApiOutcome::Rejected {
            reason: format!(
                "the endpoint rejected the API key ({status}); check {section}.key_env or {section}.key_file"
            ),
        },
        408 | 425 | 429 | 500..=599 => ApiOutcome::RetryLater {
            reason: format!("the endpoint returned status {status}{}", message()),
            after: *retry_after,
        },
        // A message about a text may contain part of it.
        400 | 413 | 422 => ApiOutcome::InvalidTexts {
            reason: format!("the endpoint rejected the texts ({status})"),
        },
        _ => ApiOutcome::Rejected {
            reason: format!("the endpoint returned status {status}{}", message()),
        },
    }
}

/// Returns the error message of a response: `error.message`, `error`, `message` or `detail`.
fn reason(body: &[u8]) -> Option<String> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    let fields =
        [&answer["error"]["message"], &answer["error"], &answer["message"], &answer["detail"]];
    let message = fields.into_iter().find_map(Value::as_str);
    let line = message?.lines().next().unwrap_or_default();
    let line: String = line.chars().filter(|c| !c.is_control()).take(MAX_REASON).collect();
    Some(line).filter(|line| !line.is_empty())
}

/// Describes a transport error without anything that was sent.
fn describe(error: &ureq::Error) -> String {
    if matches!(error, ureq::Error::Timeout(_)) {
        "the endpoint did not respond in time".to_owned()
    } else if matches!(error, ureq::Error::BodyExceedsLimit(_)) {
        "the endpoint's response is too large".to_owned()
    } else if let ureq::Error::Io(source) = error {
        source.to_string()
    } else {
        redact_urls(&error.to_string()).into_owned()
    }
}

/// The time after a failure during which an endpoint is not asked.
#[derive(Debug, Default)]
pub(super) struct Cooldown(Mutex<Option<(Instant, String)>>);

impl Cooldown {
    /// Returns the reason of the failure while the endpoint must not be asked.
    pub(super) fn reason(&self) -> Option<String> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.as_ref().filter(|(until, _)| Instant::now() < *until).map(|(_, why)| why.clone())
    }

    /// Begins a cooldown after a failure for the given reason.
    pub(super) fn begin(&self, duration: Duration, reason: String) {
        let until = Instant::now() + duration;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((until, reason));
    }

    /// Ends a cooldown: the endpoint works.
    pub(super) fn end(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
