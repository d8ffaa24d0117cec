//! Prometheus metrics, served at `/metrics`: request counts and durations, the request queue, the index and the process.
//!
//! Every name begins with `weft_`; units are seconds and bytes.

use std::collections::HashSet;
use std::fmt::Debug;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prometheus_client::encoding::{EncodeGaugeValue, EncodeLabelSet, prometheus_text};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use prost::Message as _;
use prost_types::FileDescriptorSet;
use tonic::Code;
use weft_cluster::{Agreement, LogLag, NodeState};
use weft_indexer::{IndexStatus, Phase, VaultStatus};

use crate::cluster_node::NodeHealth;
use crate::grpc_code::code_name;
use crate::net::ConnectionTable;

/// Media type of the exposition.
pub(crate) const MEDIA_TYPE: &str = prometheus_text::CONTENT_TYPE;

/// Upper bounds of the duration buckets, in seconds: from the floor of a request over loopback, 50 µs, to the default timeout, 30 s.
const DURATION_BUCKETS: [f64; 16] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    10.0, 30.0,
];

/// Label of requests to any path that is not in [`CALLS`].
const OTHER_CALL: &str = "other";

/// RPCs with a series of their own: those of the contract, of health and of reflection, and the MCP endpoint.
///
/// All other paths share the label `other`, so that clients cannot create series.
static CALLS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let sets = [
        weft_proto::FILE_DESCRIPTOR_SET,
        tonic_health::pb::FILE_DESCRIPTOR_SET,
        tonic_reflection::pb::v1::FILE_DESCRIPTOR_SET,
        tonic_reflection::pb::v1alpha::FILE_DESCRIPTOR_SET,
    ];
    // These are constants of this program; the calls of one that does not decode are counted under `other`.
    let files =
        sets.iter().flat_map(|set| FileDescriptorSet::decode(*set).unwrap_or_default().file);
    let mut calls = HashSet::from(
        [weft_mcp::PATH, weft_mcp::WRITE_PATH].map(|path| path.trim_start_matches('/').to_owned()),
    );
    for file in files {
        for service in &file.service {
            let name = format!("{}.{}", file.package(), service.name());
            calls.extend(service.method.iter().map(|call| format!("{name}/{}", call.name())));
        }
    }
    calls
});

/// Labels of a request counter.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    call: &'static str,
    code: &'static str,
}

/// Labels of a duration histogram.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    call: &'static str,
}

/// Labels of a gauge of a vault.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct VaultLabels {
    vault: String,
}

/// Labels of the gauge of files that are not indexed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct NotIndexedLabels {
    vault: String,
    reason: &'static str,
}

/// Number of requests at each stage of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueueLoad {
    /// Number of requests being computed.
    pub(crate) n_running: usize,
    /// Number of requests that wait for a worker.
    pub(crate) n_queued: usize,
    /// Maximum number of requests computed at the same time.
    pub(crate) n_workers: usize,
}

/// Figures of the sockets and of the credentials that they require.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerCounts {
    /// Number of open connections.
    pub(crate) n_open: usize,
    /// Maximum number of open connections.
    pub(crate) n_max: usize,
    /// Number of connections closed to make room for others.
    pub(crate) n_evicted: u64,
    /// Number of connections refused because all others were busy.
    pub(crate) n_refused: u64,
    /// Number of credentials that could not be loaded.
    pub(crate) n_credential_errors: usize,
}

impl ServerCounts {
    /// Returns the sums over `tables`.
    pub(crate) fn of(tables: &[Arc<ConnectionTable>], n_credential_errors: usize) -> Self {
        let credentials = Self { n_credential_errors, ..Self::default() };
        tables.iter().fold(credentials, |sum, table| Self {
            n_open: sum.n_open + table.n_open(),
            n_max: sum.n_max + table.limits().total,
            n_evicted: sum.n_evicted + table.n_evicted(),
            n_refused: sum.n_refused + table.n_refused(),
            ..sum
        })
    }
}

/// Counters and durations of requests.
///
/// Counting is atomic. It waits only for another request of the same call that is adding its duration, and while a label is seen for the first time.
#[derive(Debug)]
pub(crate) struct Metrics {
    started: u64,
    in_flight: Gauge,
    requests: Family<RequestLabels, Counter>,
    durations: Family<CallLabels, Histogram>,
}

impl Default for Metrics {
    fn default() -> Self {
        let histogram: fn() -> Histogram = || Histogram::new(DURATION_BUCKETS);
        let durations = Family::new_with_constructor(histogram);
        Self { started: now(), in_flight: Gauge::default(), requests: Family::default(), durations }
    }
}

impl Metrics {
    /// Counts a request as in flight.
    pub(crate) fn request_started(&self) {
        self.in_flight.inc();
    }

    /// Counts the end of a request to `path` with its outcome and duration.
    pub(crate) fn request_ended(&self, path: &str, code: Code, elapsed: Duration) {
        self.in_flight.dec();
        let call = CALLS.get(path.strip_prefix('/').unwrap_or(path));
        let call = call.map_or(OTHER_CALL, String::as_str);
        self.requests.get_or_create(&RequestLabels { call, code: code_name(code) }).inc();
        self.durations.get_or_create(&CallLabels { call }).observe(elapsed.as_secs_f64());
    }

    /// Renders all metrics in the Prometheus text format; those of the index only if it is open.
    pub(crate) fn render(
        &self,
        load: &QueueLoad,
        server: ServerCounts,
        index: Option<&IndexStatus>,
        node: Option<&NodeHealth>,
    ) -> String {
        let mut gauges = Gauges(Registry::with_prefix("weft"));
        let registry = &mut gauges.0;
        let version = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "Version of the program", version);
        let Self { started, in_flight, requests, durations } = self;
        registry.register("requests_in_flight", "Requests in flight", in_flight.clone());
        registry.register("requests", "Requests by call and status code", requests.clone());
        registry.register(
            "request_duration_seconds",
            "Time from the head of a request to the end of its response",
            durations.clone(),
        );
        let QueueLoad { n_running, n_queued, n_workers } = *load;
        let ServerCounts { n_open, n_max, n_evicted, n_refused, n_credential_errors } = server;
        gauges.add("connections_open", "Open connections", n_open);
        gauges.add("connections_max", "Maximum number of open connections", n_max);
        for (name, help, n) in [
            ("connections_evicted", "Connections closed to make room for others", n_evicted),
            ("connections_refused", "Connections refused because all others were busy", n_refused),
        ] {
            gauges.0.register(name, help, ConstCounter::new(n));
        }
        let help = "Credentials that could not be loaded";
        gauges.add("credential_errors", help, n_credential_errors);
        gauges.add("requests_running", "Requests being computed", n_running);
        gauges.add("requests_queued", "Requests that wait for a worker", n_queued);
        gauges.add("workers", "Maximum number of requests computed at the same time", n_workers);
        let help = "1 if the index is open and requests are served";
        let is_up = index.is_some() && node.is_none_or(|node| node.is_current);
        gauges.add("up", help, usize::from(is_up));
        if let Some(index) = index {
            gauges.add_index(index);
        }
        if let Some(node) = node {
            gauges.add_node(node);
        }
        gauges.add(
            "process_start_time_seconds",
            "Start time of the daemon, in seconds since 1970",
            *started,
        );
        gauges.add_process();
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = prometheus_text::encode(&mut text, &gauges.0);
        text
    }
}

/// Registry of one scrape.
struct Gauges(Registry);

impl Gauges {
    fn add<N>(&mut self, name: &str, help: &str, value: N)
    where
        N: EncodeGaugeValue + Debug + Send + Sync + 'static,
    {
        self.0.register(name, help, ConstGauge::new(value));
    }

    /// Adds a family with one gauge for each of `values`.
    fn add_family<L>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (L, usize)>,
    ) where
        L: EncodeLabelSet + Clone + Debug + Eq + std::hash::Hash + Send + Sync + 'static,
    {
        let family = Family::<L, Gauge>::default();
        for (labels, value) in values {
            family.get_or_create(&labels).set(i64::try_from(value).unwrap_or(i64::MAX));
        }
        self.0.register(name, help, family);
    }

    fn add_index(&mut self, status: &IndexStatus) {
        let IndexStatus {
            generation,
            phase,
            vaults,
            n_notes,
            n_placeholders,
            n_links,
            n_unresolved,
            n_chunks,
            n_vectors_pending: _,
            n_vectors_unpublished: _,
            n_vectors_failed,
            vectors_per_second,
            seconds_left: _,
            n_files_done,
            n_files_total,
            embedder,
            unavailable,
            next,
            model_choice: _,
            notices,
            last_error,
            store: _,
            store_bytes,
            digest: _,
            stored_generations,
            recovering,
        } = status;
        self.add("generation", "Newest published generation of the index", *generation);
        let phases =
            [Phase::Opening, Phase::Scanning, Phase::Indexing, Phase::Embedding, Phase::Ready];
        let phases = phases.map(|known| ([("phase", known.name())], usize::from(known == *phase)));
        self.add_family("phase", "1 for the current phase of the writer, 0 for all others", phases);
        for (name, help, value) in [
            ("notes", "Notes in the index", *n_notes),
            ("placeholders", "Link targets that no note resolves", *n_placeholders),
            ("links", "Links of all notes", *n_links),
            ("links_unresolved", "Links whose target does not exist", *n_unresolved),
            ("chunks", "Chunks of all notes", *n_chunks),
            (
                "stored_generations",
                "Generations on disk that can be queried",
                stored_generations.len(),
            ),
            (
                "vectors_pending",
                "Chunks that wait for their vector, or for its publication",
                status.n_vectors_awaited(),
            ),
            ("vectors_failed", "Chunks whose text the model rejected", *n_vectors_failed),
            ("files_processed", "Files processed by the current or last scan", *n_files_done),
            ("files", "Files of the current or last scan", *n_files_total),
            ("notices", "Notices listed by `weft status`", notices.len()),
            (
                "index_failing",
                "1 if the last background work failed",
                usize::from(last_error.is_some()),
            ),
            (
                "recovering",
                "1 while responses may be older than those of the last run, which ended abnormally",
                usize::from(recovering.is_some()),
            ),
            ("model", "1 if an embedding model is in use", usize::from(embedder.is_some())),
            (
                "model_unavailable",
                "1 while the embedding model is unreachable",
                usize::from(unavailable.is_some()),
            ),
            (
                "migration_vectors_pending",
                "Chunks without a vector of the next model, during a model migration",
                next.as_ref().map_or(0, |next| next.n_pending),
            ),
        ] {
            self.add(name, help, value);
        }
        self.add("vectors_per_second", "Current rate of embedding", *vectors_per_second);
        self.add("store_bytes", "Size of the store on disk", *store_bytes);
        let labels = |vault: &VaultStatus| VaultLabels { vault: vault.name.clone() };
        let notes = vaults.iter().map(|vault| (labels(vault), vault.n_notes));
        self.add_family("vault_notes", "Notes of a vault", notes);
        let missing = vaults.iter().map(|vault| (labels(vault), vault.n_missing));
        let help = "Notes of a vault that are kept although their files are missing";
        self.add_family("vault_notes_missing", help, missing);
        let not_indexed =
            vaults.iter().flat_map(|VaultStatus { name, n_skipped, n_failed, .. }| {
                [("skipped", *n_skipped), ("failed", *n_failed)]
                    .map(|(reason, n)| (NotIndexedLabels { vault: name.clone(), reason }, n))
            });
        let help = "Files of a vault that are not in the index, by reason";
        self.add_family("vault_files_not_indexed", help, not_indexed);
    }

    fn add_node(&mut self, node: &NodeHealth) {
        let NodeHealth { lag, max_lag: _, is_current: _, state } = node;
        let LogLag { log_seq, n_commits, age, lost_commits: _ } = lag;
        let NodeState { n_jobs, agreement } = state;
        self.add("cluster_log_seq", "Newest commit of the collection that is known", *log_seq);
        self.add("cluster_lag_commits", "Known commits that are not applied", *n_commits);
        let help = "Time since the served state was certainly the newest one";
        self.add("cluster_lag_seconds", help, age.as_secs_f64());
        self.add("cluster_jobs_pending", "Texts of the collection without a vector", *n_jobs);
        let help = "1 if another node has other notes under the same number, or this one differs from the log";
        self.add("cluster_digest_mismatch", help, usize::from(*agreement != Agreement::Agrees));
        let help = "1 if this node reports SERVING";
        self.add("cluster_serving", help, usize::from(node.is_serving()));
    }

    /// Adds resource usage of this process, as far as the kernel reports it in `/proc`.
    fn add_process(&mut self) {
        let read =
            |name: &str| std::fs::read_to_string(format!("/proc/self/{name}")).unwrap_or_default();
        if let Some(seconds) = cpu_seconds(&read("stat")) {
            let help = "Processor time used";
            self.0.register("process_cpu_seconds", help, ConstCounter::new(seconds));
        }
        let status = read("status");
        for (name, line, help) in [
            ("process_resident_bytes", "VmRSS:", "Resident memory, mapped files included"),
            ("process_anonymous_bytes", "RssAnon:", "Resident memory, mapped files excluded"),
        ] {
            if let Some(bytes) = bytes_of(&status, line) {
                self.add(name, help, bytes);
            }
        }
        if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
            self.add("process_open_files", "Open files and sockets", open.count());
        }
    }
}

/// Returns the user and system time in `/proc/self/stat`, in seconds. Source: proc_pid_stat(5).
fn cpu_seconds(stat: &str) -> Option<f64> {
    /// Linux reports times to programs in hundredths of a second, whatever its own clock rate.
    const MS_PER_TICK: u64 = 10;
    // The program's name is in parentheses and may contain spaces.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Duration::from_millis((ticks(11)? + ticks(12)?) * MS_PER_TICK).as_secs_f64())
}

/// Returns the bytes on the line `name` of `/proc/self/status`, which counts in kibibytes.
fn bytes_of(status: &str, name: &str) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix(name))?;
    Some(value.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

#[expect(clippy::disallowed_methods, reason = "the daemon reads the clock")]
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOAD: QueueLoad = QueueLoad { n_running: 1, n_queued: 2, n_workers: 3 };
    const SERVER: ServerCounts =
        ServerCounts { n_open: 4, n_max: 9, n_evicted: 5, n_refused: 6, n_credential_errors: 7 };

    #[test]
    fn requests_are_counted_by_call_and_code_and_duration() {
        let metrics = Metrics::default();
        let path = "/noteweft.v1.SearchService/Search";
        for (path, code, elapsed) in [
            (path, Code::Ok, Duration::from_micros(300)),
            (path, Code::Ok, Duration::from_millis(30)),
            (path, Code::NotFound, Duration::from_secs(60)),
            ("/made.Up/Call", Code::Unimplemented, Duration::ZERO),
        ] {
            metrics.request_started();
            metrics.request_ended(path, code, elapsed);
        }
        metrics.request_started();
        let text = metrics.render(&LOAD, SERVER, None, None);
        let call = "call=\"noteweft.v1.SearchService/Search\"";
        for line in [
            format!("weft_requests_total{{{call},code=\"OK\"}} 2"),
            format!("weft_requests_total{{{call},code=\"NOT_FOUND\"}} 1"),
            "weft_requests_total{call=\"other\",code=\"UNIMPLEMENTED\"} 1".to_owned(),
            format!("weft_request_duration_seconds_bucket{{{call},le=\"0.0005\"}} 1"),
            format!("weft_request_duration_seconds_bucket{{{call},le=\"30\"}} 2"),
            format!("weft_request_duration_seconds_bucket{{{call},le=\"+Inf\"}} 3"),
            format!("weft_request_duration_seconds_sum{{{call}}} 60.0303"),
            format!("weft_request_duration_seconds_count{{{call}}} 3"),
            "weft_requests_in_flight 1".to_owned(),
            "weft_requests_queued 2".to_owned(),
            "weft_connections_open 4".to_owned(),
            "weft_connections_max 9".to_owned(),
            "weft_connections_evicted_total 5".to_owned(),
            "weft_connections_refused_total 6".to_owned(),
            "weft_credential_errors 7".to_owned(),
            "weft_up 0".to_owned(),
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }

    #[test]
    fn every_row_belongs_to_the_family_above_it() {
        let vault = VaultStatus { name: "a \"b\"\nc\\".into(), ..VaultStatus::default() };
        let index = IndexStatus { vaults: vec![vault], ..IndexStatus::default() };
        let metrics = Metrics::default();
        metrics.request_started();
        metrics.request_ended("/", Code::Ok, Duration::ZERO);
        let node = NodeHealth {
            lag: LogLag {
                log_seq: 9,
                n_commits: 2,
                age: Duration::from_millis(1500),
                lost_commits: false,
            },
            max_lag: Duration::from_secs(1),
            is_current: true,
            state: NodeState { n_jobs: 4, agreement: Agreement::Agrees },
        };
        let text = metrics.render(&LOAD, SERVER, Some(&index), Some(&node));
        for line in [
            "weft_up 1",
            "weft_cluster_log_seq 9",
            "weft_cluster_lag_commits 2",
            "weft_cluster_lag_seconds 1.5",
            "weft_cluster_jobs_pending 4",
            "weft_cluster_digest_mismatch 0",
            "weft_cluster_serving 0",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert!(text.contains(r#"weft_vault_notes{vault="a \"b\"\nc\\"} 0"#), "{text}");
        let mut family = "";
        let mut seen = Vec::new();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                family = rest.split(' ').next().unwrap();
                assert!(!seen.contains(&family), "{family} occurs twice");
                seen.push(family);
            } else if !line.starts_with('#') {
                assert!(line.starts_with(family) && family.starts_with("weft_"), "{line}");
                let value = line.rsplit(' ').next().unwrap();
                assert!(value.parse::<f64>().is_ok(), "{line}");
            }
        }
        assert!(seen.len() > 20);
    }

    #[test]
    fn proc_files_are_parsed() {
        let stat = "7 (a (b) c) S 1 7 7 0 -1 4194560 1 0 0 0 150 50 0 0 20 0 9 0";
        assert_eq!(cpu_seconds(stat), Some(2.0));
        assert_eq!(cpu_seconds(""), None);
        assert_eq!(bytes_of("VmRSS:\t    12 kB\nRssAnon:\t 3 kB\n", "RssAnon:"), Some(3072));
        assert_eq!(bytes_of("", "VmRSS:"), None);
    }
}
