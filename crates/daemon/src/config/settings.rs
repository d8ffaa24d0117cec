//! The settings by section, and their valid values.

use std::collections::BTreeMap;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use tracing_subscriber::EnvFilter;
use weft_engine::context::ContextSettings;
use weft_engine::{EngineSettings, Estimators, RelatedSettings, RerankSettings, WalkSettings};
use weft_index::keyword::KeywordSettings;
use weft_index::vector::VectorParams;
use weft_indexer::chunk::ChunkLimits;
use weft_indexer::embed::{
    self, EmbeddingSettings, RerankEndpoint, RerankRunner, RerankerSettings,
};
use weft_indexer::parse::ParseOptions;
use weft_indexer::scan::{ScanOptions, check_globs};
use weft_indexer::{DeletionGuardOptions, IndexSettings, PdfSettings, WatchOptions};
use weft_model::NoteKind;
use weft_model::settings::Problems;
use weft_model::text::nfc;
use weft_model::tokens::CHARACTERS_PER_TOKEN;

use super::open_settings::OpenSettings;
use super::permission::{CertificatePermission, Permission};
use super::problem::Problem;

/// All settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Sockets and limits.
    pub server: ServerSettings,
    /// Access control.
    pub access: AccessSettings,
    /// Certificates.
    pub tls: TlsSettings,
    /// Location of the index.
    pub store: StoreSettings,
    /// Folders of notes to serve.
    pub vaults: Vec<Vault>,
    /// The collection to serve instead of folders.
    pub cluster: ClusterSettings,
    /// How changed files are detected.
    pub watch: WatchOptions,
    /// When missing notes are kept.
    pub deletion_guard: DeletionGuardOptions,
    /// Which files are read.
    pub scan: ScanOptions,
    /// Which Markdown dialects are parsed.
    pub parse: ParseOptions,
    /// Limits of the extraction of text from PDF files.
    pub pdf: PdfSettings,
    /// How notes are split into chunks.
    pub chunks: ChunkLimits,
    /// Keyword index.
    pub keyword: KeywordSettings,
    /// Vector index.
    pub vector: VectorParams,
    /// Embedding model.
    pub embedding: EmbeddingSettings,
    /// Search.
    pub search: EngineSettings,
    /// Reranking of the best hits.
    pub rerank: RerankSection,
    /// Related notes.
    pub related: RelatedSettings,
    /// Limits of graph walks.
    pub walk: WalkSettings,
    /// Context assembly.
    pub context: ContextSettings,
    /// Token estimation.
    pub tokens: TokenSettings,
    /// How notes are opened for editing.
    pub open: OpenSettings,
    /// Logging.
    pub log: LogSettings,
    /// Trace export.
    pub trace: TraceSettings,
}

/// Sockets and limits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerSettings {
    /// Host and port; port 0 selects a free one.
    pub address: String,
    /// Path of a Unix socket, `auto` for one in the user's runtime folder, or `none`.
    pub socket: String,
    /// Number of requests computed at the same time; one per core by default.
    pub workers: Option<NonZeroUsize>,
    /// Maximum number of requests that wait for a worker; more are refused.
    pub max_queued_requests: usize,
    /// Maximum number of streams that follow the index, running backups, and requests that wait for a generation; more are refused.
    pub max_streams: usize,
    /// Timeout of a request in milliseconds, if the client sets no earlier deadline.
    pub timeout_ms: u64,
    /// Maximum size of a request in bytes.
    pub max_request_bytes: usize,
    /// Maximum size of a response message in bytes, as sent: compressed if the client accepts that.
    pub max_response_bytes: usize,
    /// Maximum number of open connections over TCP, and as many again over the Unix socket.
    pub max_connections: usize,
    /// Maximum number of open connections over TCP from one IPv4 address or IPv6 network of 64 bits.
    pub max_connections_per_address: usize,
    /// Milliseconds within which a connection over TCP must send its first admitted request.
    pub first_request_ms: u64,
    /// Milliseconds after its last request until a connection over TCP is closed; 0 for never.
    pub idle_ms: u64,
    /// Maximum number of concurrent requests on one connection; more wait.
    pub max_calls_per_connection: NonZeroU32,
    /// Milliseconds of silence after which a connection is probed; 0 for never.
    pub keepalive_ms: u64,
    /// Milliseconds for which running requests may continue after a signal to stop.
    pub shutdown_ms: u64,
}

/// Maximum number of permits of one kind: those of the workers and those of the queue share one semaphore.
const MAX_PLACES: usize = Semaphore::MAX_PERMITS / 2;

/// Maximum number of open connections that can be set: far more than one process can open.
const MAX_CONNECTIONS: usize = 1 << 24;

/// Maximum idle time of a connection that can be set, in milliseconds: one week.
const MAX_IDLE_MS: u64 = 7 * 24 * 3_600_000;

/// Minimum that gRPC servers are advised to allow.
const MAX_CALLS: NonZeroU32 = NonZeroU32::new(200).expect("a literal that is not zero");

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            address: "127.0.0.1:9338".to_owned(),
            socket: "auto".to_owned(),
            workers: None,
            max_queued_requests: 256,
            max_streams: 128,
            timeout_ms: 30_000,
            max_request_bytes: 4 << 20,
            max_response_bytes: 64 << 20,
            max_connections: 1024,
            max_connections_per_address: 256,
            first_request_ms: 10_000,
            idle_ms: 600_000,
            max_calls_per_connection: MAX_CALLS,
            keepalive_ms: 20_000,
            shutdown_ms: 5_000,
        }
    }
}

impl ServerSettings {
    /// Returns the invalid values.
    fn problems(&self) -> Problems {
        let Self {
            address: _,
            socket: _,
            workers,
            max_queued_requests,
            max_streams,
            timeout_ms,
            max_request_bytes,
            max_response_bytes,
            max_connections,
            max_connections_per_address,
            first_request_ms,
            idle_ms,
            max_calls_per_connection: _,
            keepalive_ms,
            shutdown_ms,
        } = self;
        let mut problems = Problems::default();
        problems.read("address", self.addresses());
        problems.within("workers", workers.map_or(1, usize::from), 1..=MAX_PLACES);
        problems.within("max_queued_requests", *max_queued_requests, 0..=MAX_PLACES);
        problems.within("max_streams", *max_streams, 0..=MAX_PLACES);
        problems.within("timeout_ms", *timeout_ms, 1..=3_600_000);
        problems.within("max_request_bytes", *max_request_bytes, 1024..=1 << 30);
        problems.within("max_response_bytes", *max_response_bytes, 1024..=1 << 30);
        problems.within("max_connections", *max_connections, 1..=MAX_CONNECTIONS);
        let per_address = *max_connections_per_address;
        problems.within("max_connections_per_address", per_address, 1..=MAX_CONNECTIONS);
        problems.within("first_request_ms", *first_request_ms, 100..=3_600_000);
        let idle = *idle_ms == 0 || (1000..=MAX_IDLE_MS).contains(idle_ms);
        problems.check(idle, "idle_ms", format!("must be 0, or 1000 to {MAX_IDLE_MS}"));
        let keepalive = *keepalive_ms == 0 || (1000..=3_600_000).contains(keepalive_ms);
        problems.check(keepalive, "keepalive_ms", "must be 0, or 1000 to 3600000");
        problems.within("shutdown_ms", *shutdown_ms, 0..=600_000);
        problems
    }

    /// Resolves `address`; fails with the reason if that is impossible.
    pub fn addresses(&self) -> Result<Vec<SocketAddr>, String> {
        let address = &self.address;
        let found: Vec<SocketAddr> = address
            .to_socket_addrs()
            .map_err(|error| {
                format!("`{address}` is not a host and port such as 127.0.0.1:9338: {error}")
            })?
            .collect();
        if found.is_empty() {
            return Err(format!("`{address}` resolves to no address"));
        }
        Ok(found)
    }
}

/// Access control.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AccessSettings {
    /// Tokens, one of which a client over TCP must present; several may share a name for rotation.
    pub tokens: Vec<AccessToken>,
    /// True if health checks need no token, as probes require.
    pub unauthenticated_health: bool,
    /// True if agents may write notes over HTTP, at `/mcp/write`.
    pub mcp_write: bool,
    /// Maximum number of requests per second from one client; unlimited if unset.
    pub requests_per_second: Option<NonZeroU32>,
}

impl AccessSettings {
    /// Returns the invalid values.
    fn problems(&self) -> Problems {
        let mut problems = Problems::default();
        for AccessToken { name, permission: _, collections, file, env } in &self.tokens {
            let named = !name.is_empty() && name.chars().all(|c| c.is_ascii_graphic());
            problems.check(named, "tokens", "each needs a `name` of visible ASCII characters");
            let reason = format!("the token `{name}` needs either `file` or `env`");
            problems.check(file.is_some() != env.is_some(), "tokens", reason);
            let names_some = collections.as_ref().is_none_or(|names| !names.is_empty());
            let reason = format!(
                "the token `{name}` is bound to no collection: name one in `collections`, or leave it out to allow all"
            );
            problems.check(names_some, "tokens", reason);
        }
        problems
    }
}

/// Location and permission of a token. The token itself is never in the settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessToken {
    /// Name of the client in logs.
    pub name: String,
    /// Permission that the token grants.
    pub permission: Permission,
    /// Collections that the token gives access to; if unset, whatever the daemon serves.
    #[serde(default)]
    pub collections: Option<Vec<String>>,
    /// File with the token, one per line.
    #[serde(default)]
    pub file: Option<PathBuf>,
    /// Variable with the token.
    #[serde(default)]
    pub env: Option<String>,
}

/// TLS certificates, all as PEM files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TlsSettings {
    /// Certificate chain of the server; if set, the port accepts only TLS.
    pub certificate: Option<PathBuf>,
    /// Private key of the server.
    pub key: Option<PathBuf>,
    /// Authorities, one of which must have signed a client's certificate; without it clients present none.
    pub client_ca: Option<PathBuf>,
    /// Permission of a client certificate without a token.
    pub client_permission: CertificatePermission,
}

impl TlsSettings {
    /// Returns the invalid values.
    pub(crate) fn problems(&self) -> Problems {
        let Self { certificate, key, client_ca, client_permission: _ } = self;
        let mut problems = Problems::default();
        let both = certificate.is_some() == key.is_some();
        problems.check(both, "key", "tls.certificate and tls.key must be set together");
        problems.check(
            client_ca.is_none() || certificate.is_some(),
            "client_ca",
            "client certificates require TLS: set tls.certificate and tls.key",
        );
        problems
    }
}

/// Location of the index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StoreSettings {
    /// Folder of the store; by default one in the user's data folder, named after the canonical paths of the vaults.
    pub path: Option<PathBuf>,
    /// Number of generations kept on disk.
    pub keep_generations: usize,
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self { path: None, keep_generations: IndexSettings::default().keep_generations }
    }
}

impl StoreSettings {
    /// Returns the invalid values.
    fn problems(&self) -> Problems {
        let Self { path: _, keep_generations } = self;
        let mut problems = Problems::default();
        problems.at_least("keep_generations", *keep_generations, 1);
        problems
    }
}

/// The collection that a daemon serves instead of folders, as one of its nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClusterSettings {
    /// Name of the collection; unset to serve folders.
    pub collection: Option<String>,
    /// File with the connection string of PostgreSQL.
    pub postgres: Option<PathBuf>,
    /// Id of this node; by default a random one that is kept beside its index.
    pub node: Option<String>,
    /// Interval in milliseconds at which the node asks for new commits.
    pub poll_ms: u64,
    /// Folder of checkpoints, from which a node without an index starts; unset to read the whole log.
    pub bootstrap: Option<PathBuf>,
    /// Age in milliseconds of the served state above which answers carry a warning, and above which a node that knows newer commits reports NOT_SERVING.
    pub max_lag_ms: u64,
    /// Time in hours for which versions of notes are kept after the commit that replaces them.
    pub keep_versions_hours: u64,
}

impl Default for ClusterSettings {
    fn default() -> Self {
        Self {
            collection: None,
            postgres: None,
            node: None,
            poll_ms: 50,
            bootstrap: None,
            max_lag_ms: 10_000,
            keep_versions_hours: 7 * 24,
        }
    }
}

impl ClusterSettings {
    /// Returns the invalid values.
    fn problems(&self) -> Problems {
        let Self {
            collection,
            postgres,
            node,
            poll_ms,
            bootstrap,
            max_lag_ms,
            keep_versions_hours,
        } = self;
        let mut problems = Problems::default();
        let has_database = collection.is_none() || postgres.is_some();
        let reason = "cluster.collection requires a file with the connection string of PostgreSQL";
        problems.check(has_database, "postgres", reason);
        let is_named = node.as_ref().is_none_or(|node| !node.trim().is_empty());
        problems.check(is_named, "node", "must not be empty");
        problems.within("poll_ms", *poll_ms, 5..=10_000);
        let is_folder = bootstrap.as_ref().is_none_or(|it| !it.to_string_lossy().contains("://"));
        let reason = "must be a folder; mount a bucket of an object store as one";
        problems.check(is_folder, "bootstrap", reason);
        problems.within("max_lag_ms", *max_lag_ms, 100..=3_600_000);
        problems.within("keep_versions_hours", *keep_versions_hours, 1..=1_000_000);
        problems
    }
}

/// A folder of notes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a folder, or a table with its `root`")]
pub struct Vault {
    /// Name in answers and filters; the folder's name by default.
    #[serde(default)]
    pub name: Option<String>,
    /// The folder.
    pub root: PathBuf,
}

impl Vault {
    /// Returns the name: as set, or the folder's name as written, so that a vault keeps its name while its disk is unmounted or its symbolic link changes. For `.` and `..` returns the canonical folder's name.
    #[must_use]
    pub fn name(&self) -> String {
        let of = |folder: &Path| Some(folder.file_name()?.to_str()?.to_owned());
        let real = || of(&self.root.canonicalize().ok()?);
        let name = self.name.clone().or_else(|| of(&self.root)).or_else(real);
        // Normalized like links and paths.
        name.map_or_else(|| "vault".to_owned(), |name| nfc(&name))
    }
}

/// Reranking: the model, and how searches use it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RerankSection {
    /// [`NONE`](embed::NONE), the path of a folder with a cross-encoder as ONNX model, or an endpoint's name for a model.
    pub model: String,
    /// Runtime that executes the model.
    pub runner: RerankRunner,
    /// Number of texts judged in parallel, each on one thread; one per core by default.
    pub threads: Option<NonZeroUsize>,
    /// Maximum number of tokens of a query with a text, special tokens included.
    pub max_tokens: NonZeroUsize,
    /// Number of candidates that are reranked.
    pub top_n: usize,
    /// Weight of the relevance in the score, 0 to 0.95.
    pub weight: f64,
    /// Maximum number of passages of a note that the reranker reads.
    pub passages: usize,
    /// Maximum number of characters of these passages together.
    pub text_chars: usize,
    /// Milliseconds that a search waits for the reranker.
    pub timeout_ms: u64,
    /// The endpoint, if the runner is one.
    pub endpoint: RerankEndpoint,
}

impl Default for RerankSection {
    fn default() -> Self {
        let RerankerSettings { model, runner, threads, max_tokens, library: _, endpoint } =
            RerankerSettings::default();
        let RerankSettings { top_n, weight, passages, text_chars, timeout_ms } =
            RerankSettings::default();
        Self {
            model,
            runner,
            threads,
            max_tokens,
            top_n,
            weight,
            passages,
            text_chars,
            timeout_ms,
            endpoint,
        }
    }
}

impl RerankSection {
    /// Returns how searches use the reranker.
    #[must_use]
    pub const fn stage(&self) -> RerankSettings {
        let Self { top_n, weight, passages, text_chars, timeout_ms, .. } = *self;
        RerankSettings { top_n, weight, passages, text_chars, timeout_ms }
    }

    /// Returns the settings of the model; `library` is ONNX Runtime.
    pub(super) fn model(&self, library: Option<PathBuf>) -> RerankerSettings {
        let Self { model, runner, threads, max_tokens, endpoint, .. } = self.clone();
        RerankerSettings { model, runner, threads, max_tokens, library, endpoint }
    }

    /// Returns the invalid values.
    fn problems(&self) -> Problems {
        let mut problems = self.stage().problems();
        problems.at_least("max_tokens", self.max_tokens.get(), 16);
        let url = address(self.endpoint.url.as_ref(), "http://127.0.0.1:8000/v1");
        problems.read("endpoint.url", url);
        problems
    }
}

/// Token estimation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TokenSettings {
    /// Name of the default estimator.
    pub estimator: String,
    /// Characters (`chars`) or bytes (`bytes`) per token.
    pub characters_per_token: f64,
    /// Further estimators by name: the path of a `tokenizer.json`, or of the folder that contains it.
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
    /// Returns the invalid values, given the embedding model.
    fn problems(&self, model: &str) -> Problems {
        let Self { estimator, characters_per_token, tokenizers } = self;
        let mut problems = Problems::default();
        let is_above = characters_per_token.is_finite() && *characters_per_token > 0.0;
        problems.check(is_above, "characters_per_token", "must be above 0");
        let by_length = Estimators::default();
        let bundled: &[&str] = if cfg!(feature = "multilingual") {
            &[embed::ENGLISH, embed::MULTILINGUAL]
        } else {
            &[embed::ENGLISH]
        };
        let model = Some(model).filter(|model| *model != embed::NONE && !bundled.contains(model));
        let files = tokenizers.keys().map(String::as_str).chain(model);
        let known: Vec<&str> =
            by_length.names().chain(bundled.iter().copied()).chain(files).collect();
        let reason =
            format!("unknown estimator `{estimator}`; known estimators: {}", known.join(", "));
        problems.check(known.contains(&&**estimator), "estimator", reason);
        problems
    }
}

/// Logging to standard error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogSettings {
    /// Directives of tracing's `EnvFilter`, such as `warn,weft_indexer=debug`. Libraries log at `info` and above only: below it they repeat texts.
    pub filter: String,
    /// Format of a line.
    pub format: LogFormat,
    /// Audit file; without it the audit goes to the log.
    pub audit: Option<PathBuf>,
}

/// Trace export.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TraceSettings {
    /// OTLP collector over gRPC; without it no traces are sent.
    pub endpoint: Option<String>,
    /// Fraction of the traces begun here that is sent, 0 to 1.
    pub sample_ratio: f64,
}

impl Default for TraceSettings {
    fn default() -> Self {
        Self { endpoint: None, sample_ratio: 1.0 }
    }
}

impl TraceSettings {
    /// Returns the invalid values.
    fn problems(&self) -> Problems {
        let Self { endpoint, sample_ratio } = self;
        let mut problems = Problems::default();
        problems.read("endpoint", address(endpoint.as_ref(), "http://localhost:4317"));
        problems.within("sample_ratio", *sample_ratio, 0.0..=1.0);
        problems
    }
}

/// Format of a log line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object per line, for log collectors.
    Json,
}

impl Default for LogSettings {
    fn default() -> Self {
        Self { filter: "warn".to_owned(), format: LogFormat::default(), audit: None }
    }
}

impl LogSettings {
    /// Returns the invalid values.
    fn problems(&self) -> Problems {
        let Self { filter, format: _, audit: _ } = self;
        let mut problems = Problems::default();
        let reason = |error| format!("`{filter}` contains an invalid directive: {error}");
        problems.read("filter", EnvFilter::try_new(filter).map_err(reason));
        problems
    }
}

/// Explains why an address that other machines reach is not served without credentials.
pub(crate) fn refusal_to_open(address: SocketAddr) -> String {
    format!(
        "refusing to listen on {address} without credentials: anyone who can reach it could read the notes; set access.tokens, or tls.client_ca, or use a loopback address such as 127.0.0.1:9338"
    )
}

/// Checks that `text`, if any, is an HTTP URL with a host; fails with a reason that does not repeat it, since it may contain a password.
fn address(text: Option<&String>, such: &str) -> Result<(), String> {
    let is_url = |text: &String| {
        let url = text.parse::<http::Uri>().ok();
        url.is_some_and(|url| {
            matches!(url.scheme_str(), Some("http" | "https")) && url.host().is_some()
        })
    };
    let wrong = text.filter(|text| !is_url(text));
    wrong.map_or(Ok(()), |_| Err(format!("the value is not an address such as {such}")))
}

impl Settings {
    /// Returns whether clients over TCP must authenticate.
    #[must_use]
    pub fn asks_for_credentials(&self) -> bool {
        self.tls.client_ca.is_some() || !self.access.tokens.is_empty()
    }

    /// Returns every invalid value with its key.
    pub(super) fn problems(&self) -> Vec<Problem> {
        let Self {
            server,
            access,
            tls,
            store,
            vaults,
            cluster,
            watch,
            deletion_guard,
            scan: ScanOptions { include, exclude, max_file_bytes: _, other_files },
            parse: _,
            pdf,
            chunks,
            keyword,
            vector,
            embedding,
            search,
            rerank,
            related,
            walk,
            context,
            tokens,
            open,
            log,
            trace,
        } = self;
        let mut problems = Problems::default();
        for (key, section) in [
            ("server", server.problems()),
            ("access", access.problems()),
            ("tls", tls.problems()),
            ("store", store.problems()),
            ("cluster", cluster.problems()),
            ("watch", watch.problems()),
            ("deletion_guard", deletion_guard.problems()),
            ("pdf", pdf.problems()),
            ("keyword", keyword.problems()),
            ("vector", vector.problems()),
            ("embedding.remote", embedding.remote.problems()),
            ("search", search.problems()),
            ("rerank", rerank.problems()),
            ("related", related.problems()),
            ("walk", walk.problems()),
            ("context", context.problems()),
            ("tokens", tokens.problems(&embedding.model)),
            ("open", open.problems()),
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
        let opens =
            tls.client_permission != CertificatePermission::None || !access.tokens.is_empty();
        problems.check(
            tls.client_ca.is_none() || opens,
            "tls.client_permission",
            "`none` requires a token as well, but access.tokens is empty: set it, or use \"read\" or \"write\"",
        );
        let url = embedding.remote.url.as_ref();
        problems.read("embedding.remote.url", address(url, "http://localhost:8080/v1"));
        problems.read("scan.include", check_globs(include));
        problems.read("scan.exclude", check_globs(exclude));
        problems.check(
            !other_files.contains(&NoteKind::Markdown),
            "scan.other_files",
            "Markdown files are always read; name other kinds: \"text\", \"org\", \"pdf\"",
        );
        let mut names: Vec<String> = vaults.iter().map(Vault::name).collect();
        names.sort_unstable();
        for pair in names.windows(2).filter(|pair| pair[0] == pair[1]) {
            let reason = format!(
                "two vaults are named `{}`; set a different `name` for one under [[vaults]]",
                pair[0]
            );
            problems.check(false, "vaults", reason);
        }
        for name in names.iter().filter(|name| name.contains(':') || name.is_empty()) {
            let reason =
                format!("`{name}` is not a valid name: names must not be empty or contain a colon");
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
