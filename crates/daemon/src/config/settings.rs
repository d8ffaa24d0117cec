//! The settings by section, and what values they may have.

use std::collections::BTreeMap;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use tracing_subscriber::EnvFilter;
use weft_engine::context::ContextSettings;
use weft_engine::{EngineSettings, Estimators, RelatedSettings, WalkSettings};
use weft_index::keyword::KeywordSettings;
use weft_index::vector::VectorParams;
use weft_indexer::chunk::ChunkLimits;
use weft_indexer::embed::{self, EmbeddingSettings};
use weft_indexer::parse::ParseOptions;
use weft_indexer::scan::{ScanOptions, check_globs};
use weft_indexer::{FuseOptions, IndexSettings, WatchOptions};
use weft_model::settings::Problems;
use weft_model::text::nfc;
use weft_model::tokens::CHARACTERS_PER_TOKEN;

use super::Problem;
use crate::access::{CertificateRight, Right};

/// Everything that can be set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The sockets and the bounds on work.
    pub server: ServerSettings,
    /// Who may ask.
    pub access: AccessSettings,
    /// Certificates.
    pub tls: TlsSettings,
    /// Where the index lies.
    pub store: StoreSettings,
    /// The folders of notes to serve.
    pub vaults: Vec<Vault>,
    /// How changed files are noticed.
    pub watch: WatchOptions,
    /// When missing notes are kept.
    pub fuse: FuseOptions,
    /// Which files are read.
    pub scan: ScanOptions,
    /// Which dialects are read.
    pub parse: ParseOptions,
    /// How notes are cut for the model.
    pub chunks: ChunkLimits,
    /// How words are indexed.
    pub keyword: KeywordSettings,
    /// How vectors are searched.
    pub vector: VectorParams,
    /// Which model makes the vectors.
    pub embedding: EmbeddingSettings,
    /// How questions are answered.
    pub search: EngineSettings,
    /// How related notes are found.
    pub related: RelatedSettings,
    /// How far walks over links go.
    pub walk: WalkSettings,
    /// How contexts are made.
    pub context: ContextSettings,
    /// How tokens are counted.
    pub tokens: TokenSettings,
    /// What is written to standard error.
    pub log: LogSettings,
    /// Where traces are sent.
    pub trace: TraceSettings,
}

/// The sockets and the bounds on work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerSettings {
    /// Host and port; port 0 takes a free one.
    pub address: String,
    /// The path of a Unix socket, `auto` for one in the user's runtime folder, `none` for none.
    pub socket: String,
    /// Questions computed at the same time; without it one for each core.
    pub workers: Option<NonZeroUsize>,
    /// Questions that wait for a worker at most; more are refused.
    pub max_waiting: usize,
    /// Streams that follow the index, backups on their way, and questions that wait for a generation, at most; more are refused.
    pub max_streams: usize,
    /// How long a question may take, in milliseconds, where the caller sets no deadline of its own or a later one.
    pub timeout_ms: u64,
    /// Bytes of one request at most.
    pub max_request_bytes: usize,
    /// Bytes of one answer message at most, as it is sent: compressed where the caller takes that.
    pub max_answer_bytes: usize,
    /// Connections that may be open at the same time over TCP, and as many again over the socket.
    pub max_connections: usize,
    /// Calls that may be open at the same time on one connection; more wait.
    pub max_calls_per_connection: NonZeroU32,
    /// Milliseconds of silence after which the other end of a connection is asked whether it is there; 0 for never.
    pub keepalive_ms: u64,
    /// How long running questions may go on after a signal to stop, in milliseconds.
    pub shutdown_ms: u64,
}

/// Places of one kind at most: those of the workers and those of who waits for them fit into one semaphore.
const MAX_PLACES: usize = Semaphore::MAX_PERMITS / 2;

/// What gRPC's own servers are advised to allow at least.
const MAX_CALLS: NonZeroU32 = NonZeroU32::new(200).expect("a literal that is not zero");

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            address: "127.0.0.1:9338".to_owned(),
            socket: "auto".to_owned(),
            workers: None,
            max_waiting: 256,
            max_streams: 128,
            timeout_ms: 30_000,
            max_request_bytes: 4 << 20,
            max_answer_bytes: 64 << 20,
            max_connections: 1024,
            max_calls_per_connection: MAX_CALLS,
            keepalive_ms: 20_000,
            shutdown_ms: 5_000,
        }
    }
}

impl ServerSettings {
    /// What of it cannot be used.
    fn problems(&self) -> Problems {
        let Self {
            address: _,
            socket: _,
            workers,
            max_waiting,
            max_streams,
            timeout_ms,
            max_request_bytes,
            max_answer_bytes,
            max_connections,
            max_calls_per_connection: _,
            keepalive_ms,
            shutdown_ms,
        } = self;
        let mut problems = Problems::default();
        problems.read("address", self.addresses());
        problems.within("workers", workers.map_or(1, usize::from), 1..=MAX_PLACES);
        problems.within("max_waiting", *max_waiting, 0..=MAX_PLACES);
        problems.within("max_streams", *max_streams, 0..=MAX_PLACES);
        problems.within("timeout_ms", *timeout_ms, 1..=3_600_000);
        problems.within("max_request_bytes", *max_request_bytes, 1024..=1 << 30);
        problems.within("max_answer_bytes", *max_answer_bytes, 1024..=1 << 30);
        problems.within("max_connections", *max_connections, 1..=MAX_PLACES);
        let keepalive = *keepalive_ms == 0 || (1000..=3_600_000).contains(keepalive_ms);
        problems.check(keepalive, "keepalive_ms", "must be 0, or 1000 to 3600000");
        problems.within("shutdown_ms", *shutdown_ms, 0..=600_000);
        problems
    }

    /// The addresses that `address` stands for, or what is wrong with it.
    pub fn addresses(&self) -> Result<Vec<SocketAddr>, String> {
        let address = &self.address;
        let found: Vec<SocketAddr> = address
            .to_socket_addrs()
            .map_err(|error| {
                format!("`{address}` is no host and port such as 127.0.0.1:9338: {error}")
            })?
            .collect();
        if found.is_empty() {
            return Err(format!("`{address}` stands for no address"));
        }
        Ok(found)
    }
}

/// Who may ask.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AccessSettings {
    /// The tokens of which a caller over TCP must show one; several of one name for rotation.
    pub tokens: Vec<AccessToken>,
    /// Whether health is told to callers without a token, as probes need it.
    pub open_health: bool,
    /// Requests that one caller may make in a second; without it as many as it likes.
    pub requests_per_second: Option<NonZeroU32>,
}

impl AccessSettings {
    /// What of it cannot be used.
    fn problems(&self) -> Problems {
        let mut problems = Problems::default();
        for AccessToken { name, right: _, file, env } in &self.tokens {
            let named = !name.is_empty() && name.chars().all(|c| c.is_ascii_graphic());
            problems.check(named, "tokens", "each needs a `name` of visible ASCII characters");
            let reason = format!("the token `{name}` needs either `file` or `env`");
            problems.check(file.is_some() != env.is_some(), "tokens", reason);
        }
        problems
    }
}

/// Where a token lies, and what it opens. The token itself never stands in the settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessToken {
    /// How logs name whoever shows it.
    pub name: String,
    /// What it opens.
    pub right: Right,
    /// The file that holds it, one a line.
    #[serde(default)]
    pub file: Option<PathBuf>,
    /// The variable that holds it.
    #[serde(default)]
    pub env: Option<String>,
}

/// Certificates. All of them are PEM files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TlsSettings {
    /// The server's certificate with its chain; with it the port speaks TLS alone.
    pub certificate: Option<PathBuf>,
    /// Its private key.
    pub key: Option<PathBuf>,
    /// Authorities one of which must have signed a client's certificate; without it clients show none.
    pub client_ca: Option<PathBuf>,
    /// What a client's certificate alone allows.
    pub client_right: CertificateRight,
}

impl TlsSettings {
    /// What of it cannot be used.
    fn problems(&self) -> Problems {
        let Self { certificate, key, client_ca, client_right: _ } = self;
        let mut problems = Problems::default();
        let both = certificate.is_some() == key.is_some();
        problems.check(both, "key", "certificate and key go together: set both or none");
        problems.check(
            client_ca.is_none() || certificate.is_some(),
            "client_ca",
            "clients show certificates over TLS alone: set tls.certificate and tls.key",
        );
        problems
    }
}

/// Where the index lies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StoreSettings {
    /// Its folder; without it one in the user's data folder, named after the vaults' real paths.
    pub path: Option<PathBuf>,
    /// Generations kept on disk.
    pub keep_generations: usize,
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self { path: None, keep_generations: IndexSettings::default().keep_generations }
    }
}

impl StoreSettings {
    /// What of it cannot be used.
    fn problems(&self) -> Problems {
        let Self { path: _, keep_generations } = self;
        let mut problems = Problems::default();
        problems.at_least("keep_generations", *keep_generations, 1);
        problems
    }
}

/// A folder of notes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vault {
    /// Its name in answers and filters; without it the folder's name.
    #[serde(default)]
    pub name: Option<String>,
    /// The folder.
    pub root: PathBuf,
}

impl Vault {
    /// The name given, or the folder's as it is written, so that a vault keeps its name while its disk is out, or a link to it is turned; of `.` and `..`, the real one's.
    #[must_use]
    pub fn name(&self) -> String {
        let of = |folder: &Path| Some(folder.file_name()?.to_str()?.to_owned());
        let real = || of(&self.root.canonicalize().ok()?);
        let name = self.name.clone().or_else(|| of(&self.root)).or_else(real);
        // As links and paths are compared.
        name.map_or_else(|| "vault".to_owned(), |name| nfc(&name))
    }
}

/// How tokens are counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TokenSettings {
    /// The name of the estimator where the caller names none.
    pub estimator: String,
    /// Characters that `chars`, and bytes that `bytes`, take for a token.
    pub characters_per_token: f64,
    /// Further estimators by name: the `tokenizer.json` of each, or the folder that holds it.
    pub tokenizers: BTreeMap<String, PathBuf>,
}

impl Default for TokenSettings {
    fn default() -> Self {
        Self {
            estimator: Estimators::CHARS.to_owned(),
            characters_per_token: CHARACTERS_PER_TOKEN,
            tokenizers: BTreeMap::new(),
        }
    }
}

impl TokenSettings {
    /// What of it cannot be used where `model` makes the vectors.
    fn problems(&self, model: &str) -> Problems {
        let Self { estimator, characters_per_token, tokenizers } = self;
        let mut problems = Problems::default();
        let is_above = characters_per_token.is_finite() && *characters_per_token > 0.0;
        problems.check(is_above, "characters_per_token", "must be above 0");
        let by_length = Estimators::default();
        let model = Some(model).filter(|model| ![embed::BUNDLED, embed::NONE].contains(model));
        let files = tokenizers.keys().map(String::as_str).chain(model);
        let known: Vec<&str> = by_length.names().chain([embed::BUNDLED]).chain(files).collect();
        let reason = format!("`{estimator}` is no estimator; there are {}", known.join(", "));
        problems.check(known.contains(&&**estimator), "estimator", reason);
        problems
    }
}

/// What is written to standard error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogSettings {
    /// Directives of tracing's `EnvFilter`, such as `warn,weft_indexer=debug`. Libraries are heard down to `info` alone: below it they repeat texts.
    pub filter: String,
    /// How a line is written.
    pub format: LogFormat,
    /// The file of the audit; without it its lines go to the log.
    pub audit: Option<PathBuf>,
}

/// Where traces are sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TraceSettings {
    /// A collector that speaks OTLP over gRPC; without it nothing is sent.
    pub endpoint: Option<String>,
    /// The share of traces that begin here and are sent, 0 to 1.
    pub share: f64,
}

impl Default for TraceSettings {
    fn default() -> Self {
        Self { endpoint: None, share: 1.0 }
    }
}

impl TraceSettings {
    /// What of it cannot be used.
    fn problems(&self) -> Problems {
        let Self { endpoint, share } = self;
        let mut problems = Problems::default();
        problems.read("endpoint", address(endpoint.as_ref(), "http://localhost:4317"));
        problems.within("share", *share, 0.0..=1.0);
        problems
    }
}

/// How a line of the log is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line, for collectors.
    Json,
}

impl Default for LogSettings {
    fn default() -> Self {
        Self { filter: "warn".to_owned(), format: LogFormat::default(), audit: None }
    }
}

impl LogSettings {
    /// What of it cannot be used.
    fn problems(&self) -> Problems {
        let Self { filter, format: _, audit: _ } = self;
        let mut problems = Problems::default();
        let reason = |error| format!("`{filter}` holds a directive that is none: {error}");
        problems.read("filter", EnvFilter::try_new(filter).map_err(reason));
        problems
    }
}

/// Why an address that others reach is not served to everyone.
pub(crate) fn refusal_to_open(address: SocketAddr) -> String {
    format!(
        "refusing to listen on {address} without credentials: everyone who reaches it could read the notes; set access.tokens, or tls.client_ca, or use a loopback address such as 127.0.0.1:9338"
    )
}

/// Whether `text`, if there is any, names a host to be asked over HTTP; else what is wrong with it.
fn address(text: Option<&String>, such: &str) -> Result<(), String> {
    let is_url = |text: &String| {
        let url = text.parse::<http::Uri>().ok();
        url.is_some_and(|url| {
            matches!(url.scheme_str(), Some("http" | "https")) && url.host().is_some()
        })
    };
    let wrong = text.filter(|text| !is_url(text));
    wrong.map_or(Ok(()), |text| Err(format!("`{text}` is no address such as {such}")))
}

impl Settings {
    /// Whether callers over TCP must prove who they are.
    #[must_use]
    pub fn asks_for_credentials(&self) -> bool {
        self.tls.client_ca.is_some() || !self.access.tokens.is_empty()
    }

    /// Everything that is out of range, each with its key.
    pub(super) fn problems(&self) -> Vec<Problem> {
        let Self {
            server,
            access,
            tls,
            store,
            vaults,
            watch,
            fuse,
            scan: ScanOptions { include, exclude, max_file_bytes: _ },
            parse: _,
            chunks,
            keyword,
            vector,
            embedding,
            search,
            related,
            walk,
            context,
            tokens,
            log,
            trace,
        } = self;
        let mut problems = Problems::default();
        for (key, section) in [
            ("server", server.problems()),
            ("access", access.problems()),
            ("tls", tls.problems()),
            ("store", store.problems()),
            ("watch", watch.problems()),
            ("fuse", fuse.problems()),
            ("keyword", keyword.problems()),
            ("vector", vector.problems()),
            ("embedding.remote", embedding.remote.problems()),
            ("search", search.problems()),
            ("related", related.problems()),
            ("walk", walk.problems()),
            ("context", context.problems()),
            ("tokens", tokens.problems(&embedding.model)),
            ("log", log.problems()),
            ("trace", trace.problems()),
        ] {
            problems.section(key, section);
        }
        let addresses = server.addresses().into_iter().flatten();
        let open = addresses.filter(|_| !self.asks_for_credentials());
        if let Some(open) = open.into_iter().find(|address| !address.ip().is_loopback()) {
            problems.check(false, "server.address", refusal_to_open(open));
        }
        let opens = tls.client_right != CertificateRight::None || !access.tokens.is_empty();
        problems.check(
            tls.client_ca.is_none() || opens,
            "tls.client_right",
            "`none` asks for a token as well, and there is none: set access.tokens, or let certificates \"read\" or \"write\"",
        );
        let url = embedding.remote.url.as_ref();
        problems.read("embedding.remote.url", address(url, "http://localhost:8080/v1"));
        problems.read("scan.include", check_globs(include));
        problems.read("scan.exclude", check_globs(exclude));
        let mut names: Vec<String> = vaults.iter().map(Vault::name).collect();
        names.sort_unstable();
        for pair in names.windows(2).filter(|pair| pair[0] == pair[1]) {
            let reason = format!(
                "two vaults are named `{}`; give one another `name` under [[vaults]] in the settings",
                pair[0]
            );
            problems.check(false, "vaults", reason);
        }
        for name in names.iter().filter(|name| name.contains(':') || name.is_empty()) {
            let reason = format!("`{name}` is no name: it is empty or holds a colon");
            problems.check(false, "vaults", reason);
        }
        problems.at_least("chunks.max_tokens", chunks.max_tokens, 16);
        problems.check(
            chunks.overlap_tokens < chunks.max_tokens,
            "chunks.overlap_tokens",
            "must be less than chunks.max_tokens",
        );
        problems.into_iter().map(|(key, reason)| Problem { key, reason }).collect()
    }
}
