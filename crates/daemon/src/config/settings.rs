//! The settings by section, and what values they may have.

use std::collections::BTreeMap;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tracing_subscriber::EnvFilter;
use weft_engine::context::ContextSettings;
use weft_engine::{EngineSettings, Estimators, MAX_SNIPPETS, RelatedSettings, WalkSettings};
use weft_index::keyword::KeywordSettings;
use weft_index::vector::VectorParams;
use weft_indexer::chunk::ChunkLimits;
use weft_indexer::embed::{EmbeddingSettings, RemoteSettings};
use weft_indexer::parse::ParseOptions;
use weft_indexer::scan::{ScanOptions, check_globs};
use weft_indexer::{FuseOptions, IndexSettings, WatchOptions};
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

/// Why an address that others reach is not served to everyone.
pub(crate) fn refusal_to_open(address: SocketAddr) -> String {
    format!(
        "refusing to listen on {address} without credentials: everyone who reaches it could read the notes; set access.tokens, or tls.client_ca, or use a loopback address such as 127.0.0.1:9338"
    )
}

/// Whether `text` names a host to be asked over HTTP.
fn is_url(text: &str) -> bool {
    let url = text.parse::<http::Uri>().ok();
    url.is_some_and(|url| {
        matches!(url.scheme_str(), Some("http" | "https")) && url.host().is_some()
    })
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
            watch: WatchOptions { enabled: _, mode: _, debounce_ms, poll_ms, sweep_ms },
            fuse: FuseOptions { max_share, min_notes: _ },
            scan: ScanOptions { include, exclude, max_file_bytes: _ },
            parse: _,
            chunks,
            keyword,
            vector,
            embedding,
            search,
            related,
            walk: WalkSettings { max_nodes, max_edges: _, max_cycle_steps: _, inverse_names: _ },
            context,
            tokens,
            log: LogSettings { filter, format: _, audit: _ },
            trace: TraceSettings { endpoint, share },
        } = self;
        let mut problems = Vec::new();
        let mut check = |holds: bool, key: &str, reason: &str| {
            if !holds {
                problems.push(Problem { key: key.to_owned(), reason: reason.to_owned() });
            }
        };
        match server.addresses() {
            Err(reason) => check(false, "server.address", &reason),
            Ok(addresses) => {
                let open = addresses.into_iter().find(|address| !address.ip().is_loopback());
                if let Some(open) = open.filter(|_| !self.asks_for_credentials()) {
                    check(false, "server.address", &refusal_to_open(open));
                }
            }
        }
        for token in &access.tokens {
            let AccessToken { name, right: _, file, env } = token;
            let named = !name.is_empty() && name.chars().all(|c| c.is_ascii_graphic());
            check(named, "access.tokens", "each needs a `name` of visible ASCII characters");
            check(
                file.is_some() != env.is_some(),
                "access.tokens",
                &format!("the token `{name}` needs either `file` or `env`"),
            );
        }
        let TlsSettings { certificate, key, client_ca, client_right } = tls;
        let opens = *client_right != CertificateRight::None || !access.tokens.is_empty();
        check(
            client_ca.is_none() || opens,
            "tls.client_right",
            "`none` asks for a token as well, and there is none: set access.tokens, or let certificates \"read\" or \"write\"",
        );
        let both = certificate.is_some() == key.is_some();
        check(both, "tls.key", "certificate and key go together: set both or none");
        if let Err(error) = EnvFilter::try_new(filter) {
            let reason = format!("`{filter}` holds a directive that is none: {error}");
            check(false, "log.filter", &reason);
        }
        for (key, url, such) in [
            ("trace.endpoint", endpoint, "http://localhost:4317"),
            ("embedding.remote.url", &embedding.remote.url, "http://localhost:8080/v1"),
        ] {
            let wrong = url.as_ref().filter(|url| !is_url(url));
            let reason = |url: &String| format!("`{url}` is no address such as {such}");
            check(wrong.is_none(), key, &wrong.map_or_else(String::new, reason));
        }
        check((0.0..=1.0).contains(share), "trace.share", "must be 0 to 1");
        let encrypted = client_ca.is_none() || certificate.is_some();
        check(
            encrypted,
            "tls.client_ca",
            "clients show certificates over TLS alone: set tls.certificate and tls.key",
        );
        let hour = 1..=3_600_000;
        check(hour.contains(&server.timeout_ms), "server.timeout_ms", "must be 1 to 3600000");
        check(server.max_connections >= 1, "server.max_connections", "must be at least 1");
        let keepalive =
            server.keepalive_ms == 0 || (1000..=3_600_000).contains(&server.keepalive_ms);
        check(keepalive, "server.keepalive_ms", "must be 0, or 1000 to 3600000");
        check(server.shutdown_ms <= 600_000, "server.shutdown_ms", "must be 0 to 600000");
        let bytes = 1024..=1 << 30;
        for (key, value) in [
            ("server.max_request_bytes", server.max_request_bytes),
            ("server.max_answer_bytes", server.max_answer_bytes),
        ] {
            check(bytes.contains(&value), key, "must be 1024 to 1073741824");
        }
        check(store.keep_generations >= 1, "store.keep_generations", "must be at least 1");
        let poll = 100..=3_600_000;
        check(poll.contains(poll_ms), "watch.poll_ms", "must be 100 to 3600000");
        let sweep = 1_000..=86_400_000;
        let reason = "must be 0, for never, or 1000 to 86400000";
        check(*sweep_ms == 0 || sweep.contains(sweep_ms), "watch.sweep_ms", reason);
        check(*debounce_ms <= 60_000, "watch.debounce_ms", "must be 0 to 60000");
        for (key, globs) in [("scan.include", include), ("scan.exclude", exclude)] {
            let wrong = check_globs(globs).err().map(|error| error.to_string());
            check(wrong.is_none(), key, &wrong.unwrap_or_default());
        }
        check((0.0..=1.0).contains(max_share), "fuse.max_share", "must be 0 to 1");
        let mut names: Vec<String> = vaults.iter().map(Vault::name).collect();
        names.sort_unstable();
        for pair in names.windows(2).filter(|pair| pair[0] == pair[1]) {
            let reason = format!(
                "two vaults are named `{}`; give one another `name` under [[vaults]] in the settings",
                pair[0]
            );
            check(false, "vaults", &reason);
        }
        for name in names.iter().filter(|name| name.contains(':') || name.is_empty()) {
            check(false, "vaults", &format!("`{name}` is no name: it is empty or holds a colon"));
        }
        check(chunks.max_tokens >= 16, "chunks.max_tokens", "must be at least 16");
        check(
            chunks.overlap_tokens < chunks.max_tokens,
            "chunks.overlap_tokens",
            "must be less than chunks.max_tokens",
        );
        check((1..=8).contains(&keyword.threads), "keyword.threads", "must be 1 to 8");
        check(
            (15_000_000..=4_000_000_000).contains(&keyword.heap_bytes_per_thread),
            "keyword.heap_bytes_per_thread",
            "must be 15000000 to 4000000000",
        );
        check(keyword.merge_factor >= 2, "keyword.merge_factor", "must be at least 2");
        check(
            keyword.max_deleted_share > 0.0 && keyword.max_deleted_share <= 1.0,
            "keyword.max_deleted_share",
            "must be above 0 and at most 1",
        );
        let scoring = &keyword.scoring;
        check((0.0..=1.0).contains(&scoring.b), "keyword.scoring.b", "must be 0 to 1");
        for (key, value) in [
            ("k1", scoring.k1),
            ("title", scoring.title),
            ("aliases", scoring.aliases),
            ("headings", scoring.headings),
            ("tags", scoring.tags),
        ] {
            let key = format!("keyword.scoring.{key}");
            check(value.is_finite() && value >= 0.0, &key, "must not be negative");
        }
        let RemoteSettings { timeout_ms, query_timeout_ms, dimension, shorten, .. } =
            &embedding.remote;
        check(hour.contains(timeout_ms), "embedding.remote.timeout_ms", "must be 1 to 3600000");
        check(
            (1..=60_000).contains(query_timeout_ms),
            "embedding.remote.query_timeout_ms",
            "must be 1 to 60000",
        );
        check(
            dimension.is_some() || !shorten,
            "embedding.remote.shorten",
            "say to what: set embedding.remote.dimension",
        );
        check(vector.ef >= 1, "vector.ef", "must be at least 1");
        check((4..=128).contains(&vector.graph.m), "vector.graph.m", "must be 4 to 128");
        let degree = 8..=512;
        check(degree.contains(&vector.graph.degree), "vector.graph.degree", "must be 8 to 512");
        check(
            (1..=10_000).contains(&vector.graph.ef_construction),
            "vector.graph.ef_construction",
            "must be 1 to 10000",
        );
        let leg = 1..=10_000;
        check(
            leg.contains(&search.candidates_per_leg),
            "search.candidates_per_leg",
            "must be 1 to 10000",
        );
        let share = search.vector_share;
        check((0.0..=1.0).contains(&share), "search.vector_share", "must be 0 to 1");
        check(search.fanout >= 1, "search.fanout", "must be at least 1");
        for (key, weights) in [
            ("search.bridge.weights", search.bridge.weights),
            ("search.classic.weights", search.classic.weights),
        ] {
            if let Err(error) = weights.shares() {
                check(false, key, &error.to_string());
            }
        }
        for (key, share) in [
            ("search.classic.activation_floor", search.classic.activation_floor),
            ("search.classic.expansion_floor", search.classic.expansion_floor),
            ("search.topics.sibling_score", search.topics.sibling_score),
        ] {
            check((0.0..=1.0).contains(&share), key, "must be 0 to 1");
        }
        check(
            search.snippets <= MAX_SNIPPETS,
            "search.snippets",
            &format!("must be 0 to {MAX_SNIPPETS}"),
        );
        check(
            (1..=100_000).contains(&search.snippet_chars),
            "search.snippet_chars",
            "must be 1 to 100000",
        );
        check(related.held_generations <= 64, "related.held_generations", "must be 0 to 64");
        check(*max_nodes >= 1, "walk.max_nodes", "must be at least 1");
        for (key, reason) in context.problems() {
            check(false, &format!("context.{key}"), &reason);
        }
        let per_token = tokens.characters_per_token;
        check(
            per_token.is_finite() && per_token > 0.0,
            "tokens.characters_per_token",
            "must be above 0",
        );
        problems
    }
}
