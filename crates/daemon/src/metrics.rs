//! What Prometheus reads at `/metrics`: counts and times of requests, the work at hand, the state of the index.
//!
//! The text format, version 0.0.4. Every name begins with `weft_`; units are seconds and bytes.

use std::collections::HashMap;
use std::fmt::{Display, Write as _};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prost::Message as _;
use prost_types::FileDescriptorSet;
use tonic::Code;
use weft_indexer::{IndexStatus, Phase, VaultStatus};

use crate::services::Load;

/// The media type of the text.
pub(crate) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Upper bounds of the buckets of times, in seconds: a floor of 50 µs on the wire, a default timeout of 30 s.
const BOUNDS: [f64; 16] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    10.0, 30.0,
];

/// Codes of gRPC, in the order of their numbers.
const CODES: [Code; 17] = [
    Code::Ok,
    Code::Cancelled,
    Code::Unknown,
    Code::InvalidArgument,
    Code::DeadlineExceeded,
    Code::NotFound,
    Code::AlreadyExists,
    Code::PermissionDenied,
    Code::ResourceExhausted,
    Code::FailedPrecondition,
    Code::Aborted,
    Code::OutOfRange,
    Code::Unimplemented,
    Code::Internal,
    Code::Unavailable,
    Code::DataLoss,
    Code::Unauthenticated,
];

/// The calls that are counted apart: those of the contract, of health and of reflection, and of agents. The rest is `other`, so that nobody makes up rows.
static CALLS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let sets = [
        weft_proto::FILE_DESCRIPTOR_SET,
        tonic_health::pb::FILE_DESCRIPTOR_SET,
        tonic_reflection::pb::v1::FILE_DESCRIPTOR_SET,
        tonic_reflection::pb::v1alpha::FILE_DESCRIPTOR_SET,
    ];
    let files = sets.iter().flat_map(|set| {
        // They are our own constants; one that cannot be read is counted under `other`.
        FileDescriptorSet::decode(*set).unwrap_or_default().file
    });
    let mut calls: Vec<String> = files
        .flat_map(|file| {
            let package = file.package().to_owned();
            let services = file.service.into_iter();
            let calls = services.flat_map(move |service| {
                let service_name = format!("{package}.{}", service.name());
                let calls = service.method.into_iter();
                calls.map(move |call| format!("{service_name}/{}", call.name())).collect::<Vec<_>>()
            });
            calls.collect::<Vec<_>>()
        })
        .collect();
    calls.sort_unstable();
    calls.dedup();
    calls.extend([weft_mcp::PATH.trim_start_matches('/'), "other"].map(str::to_owned));
    calls
});

/// Where each call stands among them.
static PLACES: LazyLock<HashMap<&'static str, usize>> =
    LazyLock::new(|| CALLS.iter().enumerate().map(|(at, call)| (call.as_str(), at)).collect());

/// Counts and times of requests. Fixed in size; counting takes no lock.
#[derive(Debug)]
pub(crate) struct Metrics {
    calls: Vec<Series>,
    in_flight: AtomicI64,
}

#[derive(Debug, Default)]
struct Series {
    codes: [AtomicU64; CODES.len()],
    buckets: [AtomicU64; BOUNDS.len()],
    nanoseconds: AtomicU64,
}

impl Default for Metrics {
    fn default() -> Self {
        let calls = CALLS.iter().map(|_| Series::default()).collect();
        Self { calls, in_flight: AtomicI64::new(0) }
    }
}

impl Metrics {
    /// A request began.
    pub(crate) fn begun(&self) {
        self.in_flight.fetch_add(1, Relaxed);
    }

    /// The request to `path` that began ended so, after `elapsed`.
    pub(crate) fn ended(&self, path: &str, code: Code, elapsed: Duration) {
        self.in_flight.fetch_sub(1, Relaxed);
        let call = path.strip_prefix('/').unwrap_or(path);
        let at = PLACES.get(call).copied().unwrap_or(CALLS.len() - 1);
        let Series { codes, buckets, nanoseconds } = &self.calls[at];
        if let Some(count) = CODES.iter().position(|known| *known == code).map(|at| &codes[at]) {
            count.fetch_add(1, Relaxed);
        }
        let seconds = elapsed.as_secs_f64();
        if let Some(at) = BOUNDS.iter().position(|bound| seconds <= *bound) {
            buckets[at].fetch_add(1, Relaxed);
        }
        nanoseconds.fetch_add(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX), Relaxed);
    }

    /// All of it as text, with the work at hand, and the index where it is open.
    pub(crate) fn text(
        &self,
        load: &Load,
        n_connections: usize,
        index: Option<&IndexStatus>,
    ) -> String {
        let mut page = Page::default();
        page.head("weft_build_info", "gauge", "The version of the program.");
        page.row("weft_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
        self.requests(&mut page);
        let Load { n_running, n_waiting, n_workers } = *load;
        page.plain("weft_connections_open", "gauge", "Connections that are open.", n_connections);
        page.plain("weft_questions_running", "gauge", "Questions being computed.", n_running);
        page.plain(
            "weft_questions_waiting",
            "gauge",
            "Questions that wait for a worker.",
            n_waiting,
        );
        page.plain(
            "weft_workers",
            "gauge",
            "Questions that can be computed at the same time.",
            n_workers,
        );
        page.plain(
            "weft_up",
            "gauge",
            "1 where the index is open and questions are answered.",
            usize::from(index.is_some()),
        );
        if let Some(index) = index {
            of_index(index, &mut page);
        }
        process(&mut page);
        page.0
    }

    fn requests(&self, page: &mut Page) {
        let in_flight = self.in_flight.load(Relaxed).max(0);
        page.plain("weft_requests_in_flight", "gauge", "Requests on their way.", in_flight);
        let used = || {
            let calls = CALLS.iter().zip(&self.calls);
            calls.filter(|(_, series)| series.count() > 0)
        };
        page.head("weft_requests_total", "counter", "Requests by call and by how they ended.");
        for (call, series) in used() {
            for (code, count) in CODES.iter().zip(&series.codes) {
                let count = count.load(Relaxed);
                if count > 0 {
                    let labels =
                        [("call", call.as_str()), ("code", crate::front::code_name(*code))];
                    page.row("weft_requests_total", &labels, count);
                }
            }
        }
        page.head(
            "weft_request_seconds",
            "histogram",
            "How long requests took, from their head to the end of the answer.",
        );
        for (call, series) in used() {
            let total = series.count();
            let mut below = 0;
            for (bound, count) in BOUNDS.iter().zip(&series.buckets) {
                below += count.load(Relaxed);
                let bound = bound.to_string();
                // Counters move while they are read; a bucket never holds more than all.
                page.row(
                    "weft_request_seconds_bucket",
                    &[("call", call), ("le", &bound)],
                    below.min(total),
                );
            }
            page.row("weft_request_seconds_bucket", &[("call", call), ("le", "+Inf")], total);
            let sum = Duration::from_nanos(series.nanoseconds.load(Relaxed)).as_secs_f64();
            page.row("weft_request_seconds_sum", &[("call", call)], sum);
            page.row("weft_request_seconds_count", &[("call", call)], total);
        }
    }
}

impl Series {
    fn count(&self) -> u64 {
        self.codes.iter().map(|count| count.load(Relaxed)).sum()
    }
}

fn of_index(status: &IndexStatus, page: &mut Page) {
    let IndexStatus {
        generation,
        phase,
        vaults,
        n_notes,
        n_placeholders,
        n_links,
        n_unresolved,
        n_chunks,
        n_vectors_pending,
        vectors_per_second,
        seconds_left: _,
        n_files_done,
        n_files_total,
        embedder,
        unavailable,
        next,
        notices,
        last_error,
        store: _,
        store_bytes,
        digest: _,
        stored_generations,
        recovering,
    } = status;
    page.plain(
        "weft_generation",
        "gauge",
        "The newest published generation of the index.",
        generation,
    );
    page.head("weft_phase", "gauge", "1 for what the writer is doing, 0 for the rest.");
    for known in [Phase::Opening, Phase::Scanning, Phase::Indexing, Phase::Embedding, Phase::Ready]
    {
        page.row("weft_phase", &[("phase", known.name())], u8::from(known == *phase));
    }
    for (name, help, value) in [
        ("weft_notes", "Notes in the index.", n_notes),
        ("weft_placeholders", "Names that links use and no note answers to.", n_placeholders),
        ("weft_links", "Links of all notes.", n_links),
        ("weft_links_unresolved", "Links whose target does not exist.", n_unresolved),
        ("weft_chunks", "Pieces of text that have, or will have, a vector.", n_chunks),
        (
            "weft_stored_generations",
            "Generations that lie on disk and can be asked.",
            &stored_generations.len(),
        ),
        ("weft_vectors_pending", "Pieces of text without a vector.", n_vectors_pending),
        ("weft_files_done", "Files handled in the present phase.", n_files_done),
        ("weft_files", "Files to handle in the present phase.", n_files_total),
        (
            "weft_notices",
            "Things that a person should know; `weft status` says them.",
            &notices.len(),
        ),
        (
            "weft_index_failing",
            "1 where the last work in the background went wrong.",
            &usize::from(last_error.is_some()),
        ),
        (
            "weft_recovering",
            "1 while answers may be older than those of the run before, which ended suddenly.",
            &usize::from(recovering.is_some()),
        ),
        ("weft_model", "1 where a model makes vectors.", &usize::from(embedder.is_some())),
        (
            "weft_model_unavailable",
            "1 while the model cannot be reached.",
            &usize::from(unavailable.is_some()),
        ),
        (
            "weft_vectors_pending_next",
            "Pieces of text without a vector of the model that is to take the present one's place.",
            &next.as_ref().map_or(0, |next| next.n_pending),
        ),
    ] {
        page.plain(name, "gauge", help, value);
    }
    page.plain(
        "weft_vectors_per_second",
        "gauge",
        "Vectors made per second, lately.",
        vectors_per_second,
    );
    page.plain("weft_store_bytes", "gauge", "Bytes of the store on disk.", store_bytes);
    page.head("weft_vault_notes", "gauge", "Notes of a vault.");
    for VaultStatus { name, n_notes, .. } in vaults {
        page.row("weft_vault_notes", &[("vault", name)], n_notes);
    }
    page.head(
        "weft_vault_notes_missing",
        "gauge",
        "Notes of a vault that are kept although their files are missing.",
    );
    for VaultStatus { name, n_missing, .. } in vaults {
        page.row("weft_vault_notes_missing", &[("vault", name)], n_missing);
    }
    page.head(
        "weft_vault_files_left_out",
        "gauge",
        "Files of a vault that are not in the index, by why.",
    );
    for VaultStatus { name, n_skipped, n_failed, .. } in vaults {
        page.row("weft_vault_files_left_out", &[("vault", name), ("why", "skipped")], n_skipped);
        page.row("weft_vault_files_left_out", &[("vault", name), ("why", "failed")], n_failed);
    }
}

/// The process as the kernel sees it, where it says so.
fn process(page: &mut Page) {
    page.plain(
        "weft_process_start_time_seconds",
        "gauge",
        "When the process began, in seconds since 1970.",
        *STARTED,
    );
    let read =
        |name: &str| std::fs::read_to_string(format!("/proc/self/{name}")).unwrap_or_default();
    if let Some(seconds) = cpu_seconds(&read("stat")) {
        let help = "Time of processors used, in seconds.";
        page.plain("weft_process_cpu_seconds_total", "counter", help, seconds);
    }
    let status = read("status");
    for (name, line, help) in [
        ("weft_process_resident_bytes", "VmRSS:", "Memory in use, mapped files included."),
        ("weft_process_anonymous_bytes", "RssAnon:", "Memory in use, mapped files left out."),
    ] {
        if let Some(bytes) = bytes_of(&status, line) {
            page.plain(name, "gauge", help, bytes);
        }
    }
    if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
        let help = "Files and sockets that are open.";
        page.plain("weft_process_open_files", "gauge", help, open.count());
    }
}

/// User and system time of `/proc/self/stat`, in seconds. Source: proc_pid_stat(5).
fn cpu_seconds(stat: &str) -> Option<f64> {
    /// Linux tells programs times in hundredths of a second, whatever its own clock does.
    const MS_PER_TICK: u64 = 10;
    // The program's name stands in parentheses and may hold spaces.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Duration::from_millis((ticks(11)? + ticks(12)?) * MS_PER_TICK).as_secs_f64())
}

/// The value of a line of `/proc/self/status`, which counts in kibibytes.
fn bytes_of(status: &str, name: &str) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix(name))?;
    Some(value.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

/// When the process began, as far as this module saw it.
static STARTED: LazyLock<u64> = LazyLock::new(now);

#[expect(clippy::disallowed_methods, reason = "the daemon reads the clock")]
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// The text as it grows.
#[derive(Default)]
struct Page(String);

impl Page {
    /// Begins a family.
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn row(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.0.push_str(name);
        let mut before = '{';
        for (label, text) in labels {
            let text = text.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
            let _ = write!(self.0, "{before}{label}=\"{text}\"");
            before = ',';
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{end} {value}");
    }

    /// A family of one row without labels.
    fn plain(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.head(name, kind, help);
        self.row(name, &[], value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOAD: Load = Load { n_running: 1, n_waiting: 2, n_workers: 3 };

    #[test]
    fn requests_are_counted_by_call_and_code_and_time() {
        let metrics = Metrics::default();
        let path = "/noteweft.v1.SearchService/Search";
        for (path, code, elapsed) in [
            (path, Code::Ok, Duration::from_micros(300)),
            (path, Code::Ok, Duration::from_millis(30)),
            (path, Code::NotFound, Duration::from_secs(60)),
            ("/made.Up/Call", Code::Unimplemented, Duration::ZERO),
        ] {
            metrics.begun();
            metrics.ended(path, code, elapsed);
        }
        metrics.begun();
        let text = metrics.text(&LOAD, 4, None);
        let call = "call=\"noteweft.v1.SearchService/Search\"";
        for line in [
            format!("weft_requests_total{{{call},code=\"OK\"}} 2"),
            format!("weft_requests_total{{{call},code=\"NOT_FOUND\"}} 1"),
            "weft_requests_total{call=\"other\",code=\"UNIMPLEMENTED\"} 1".to_owned(),
            format!("weft_request_seconds_bucket{{{call},le=\"0.0005\"}} 1"),
            format!("weft_request_seconds_bucket{{{call},le=\"30\"}} 2"),
            format!("weft_request_seconds_bucket{{{call},le=\"+Inf\"}} 3"),
            format!("weft_request_seconds_sum{{{call}}} 60.0303"),
            format!("weft_request_seconds_count{{{call}}} 3"),
            "weft_requests_in_flight 1".to_owned(),
            "weft_questions_waiting 2".to_owned(),
            "weft_connections_open 4".to_owned(),
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
        metrics.begun();
        metrics.ended("/", Code::Ok, Duration::ZERO);
        let text = metrics.text(&LOAD, 0, Some(&index));
        assert!(text.contains(r#"weft_vault_notes{vault="a \"b\"\nc\\"} 0"#), "{text}");
        let mut family = "";
        let mut seen = Vec::new();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                family = rest.split(' ').next().unwrap();
                assert!(!seen.contains(&family), "{family} stands twice");
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
    fn the_kernel_is_understood() {
        let stat = "7 (a (b) c) S 1 7 7 0 -1 4194560 1 0 0 0 150 50 0 0 20 0 9 0";
        assert_eq!(cpu_seconds(stat), Some(2.0));
        assert_eq!(cpu_seconds(""), None);
        assert_eq!(bytes_of("VmRSS:\t    12 kB\nRssAnon:\t 3 kB\n", "RssAnon:"), Some(3072));
        assert_eq!(bytes_of("", "VmRSS:"), None);
    }
}
