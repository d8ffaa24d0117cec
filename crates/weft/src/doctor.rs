//! `weft doctor`: checks the setup and suggests fixes.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error as _;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;
use tonic::Code;
use weft_daemon::config::{Config, Settings};
use weft_daemon::embed::{self, NONE, RerankRunner, Runner};
use weft_daemon::{
    LatestCheckpoint, OpenVaultsError, Paths, Role, ScanOptions, StoreError, Vaults, inspect,
};
use weft_model::NoteKind;
use weft_proto::noteweft::v1::{FileCoverage, FileState, ModelChoice, ServerStatus, StatusRequest};

use crate::cli::{Format, Global};
use crate::client::{Client, Purpose, config};
use crate::commands::{json, write, write_plain};
use crate::connection::{ClientCredentials, default_address, is_listening, is_own, root_cause};
use crate::failure::Failure;
use crate::hint::Hint;
use crate::print;

/// Outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CheckOutcome {
    /// No problem.
    Good,
    /// Works with limitations.
    Notice,
    /// Does not work.
    Bad,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Check {
    /// Subject of the check.
    pub(crate) name: &'static str,
    /// Outcome.
    pub(crate) outcome: CheckOutcome,
    /// Finding, as a sentence for people.
    pub(crate) message: String,
    /// Suggested fix.
    pub(crate) advice: Option<String>,
}

impl Check {
    fn new(name: &'static str, outcome: CheckOutcome, message: impl Into<String>) -> Self {
        Self { name, outcome, message: message.into(), advice: None }
    }

    fn advise(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }
}

/// Timeout for the daemon's status.
const STATUS_TIMEOUT: Duration = Duration::from_secs(5);

/// Timeout for the reranker, which may have to load its model first.
const RERANK_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum number of files that are named in one check.
const MAX_NAMED_FILES: usize = 3;

/// Lag of the clock that is tolerated.
const CLOCK_SLACK: Duration = Duration::from_secs(24 * 60 * 60);

/// Runs all checks and prints the findings. Fails if one of them fails.
pub(crate) async fn run(global: &Global) -> Result<(), Failure> {
    let (config, paths) = match config(global, &global.vault, &[]) {
        Ok(read) => read,
        // Nothing can be checked with invalid settings.
        Err(Failure { message, hints, .. }) => {
            // Each invalid setting is on a separate line; a TOML syntax error spans several lines.
            let mut checks = if message.lines().all(|line| line.starts_with('`')) {
                each_line("settings", &message)
            } else {
                vec![Check::new("settings", CheckOutcome::Bad, message)]
            };
            if let Some(last) = checks.last_mut() {
                last.advice = hints.into_iter().next();
            }
            return report(global, &checks);
        }
    };
    let mut checks = vec![Check::new("settings", CheckOutcome::Good, "all settings are valid")];
    checks.extend(check_clock(now(), program_written()));
    let blocking = {
        let (config, paths) = (config.clone(), paths.clone());
        move || {
            let mut checks = check_model(&config.embedding(&paths));
            checks.extend(check_reranker(&config.reranker()));
            checks.push(check_pdf(&config.settings));
            checks.extend(check_store(&config, &paths));
            checks
        }
    };
    let checked = tokio::task::spawn_blocking(blocking).await;
    checks.extend(checked.map_err(|_| unexpected_end())?);
    let credentials = ClientCredentials::read(global)?;
    let address =
        global.addr.clone().unwrap_or_else(|| default_address(&config, &paths, &credentials));
    // Settings of this machine do not apply to a daemon elsewhere.
    if is_own(&address, &config, &paths) {
        checks.extend(check_access(&config));
    }
    let purpose = Purpose::OneShot { wait: false };
    match Client::connect(&address, &credentials, purpose, Hint::daemon(None)).await {
        Ok(client) => checks.extend(check_daemon(&client, &address).await),
        Err(failure) => {
            // A daemon reports the files that it cannot read.
            checks.extend(check_vaults(config.settings.clone()).await?);
            if config.settings.vaults.is_empty() {
                let check = Check::new("vault", CheckOutcome::Notice, "no vault is configured");
                checks.push(
                    check.advise("pass one with --vault DIR, or set `vaults` in the configuration"),
                );
            }
            checks.push(check_unreached(&address, failure).await);
        }
    }
    report(global, &checks)
}

fn unexpected_end() -> Failure {
    Failure::other("a check ended unexpectedly")
}

/// Prints `checks`. Fails if one of them failed.
fn report(global: &Global, checks: &[Check]) -> Result<(), Failure> {
    match global.format {
        Format::Human => write(&print::checks(checks))?,
        Format::Json | Format::Records | Format::Graphml | Format::Dot => {
            write_plain(&json(&serde_json::json!({ "checks": checks }))?)?
        }
    }
    match checks.iter().filter(|check| check.outcome == CheckOutcome::Bad).count() {
        0 => Ok(()),
        1 => Err(Failure::other("one check failed")),
        n => Err(Failure::other(format!("{n} checks failed"))),
    }
}

/// Returns a failed check for each line of `message`.
fn each_line(name: &'static str, message: &str) -> Vec<Check> {
    message.lines().map(|line| Check::new(name, CheckOutcome::Bad, line)).collect()
}

#[expect(clippy::disallowed_methods, reason = "the check is about the clock")]
fn now() -> SystemTime {
    SystemTime::now()
}

/// Returns the modification time of the running program.
fn program_written() -> Option<SystemTime> {
    std::fs::metadata(std::env::current_exe().ok()?).ok()?.modified().ok()
}

/// Reports a clock that is earlier than the program's modification time.
fn check_clock(now: SystemTime, written: Option<SystemTime>) -> Option<Check> {
    let behind = written?.duration_since(now).ok().filter(|behind| *behind > CLOCK_SLACK)?;
    let days = behind.as_secs() / CLOCK_SLACK.as_secs();
    let text = format!("the clock is {days} days behind the modification time of this program");
    let advice = "set the clock; the validity of certificates and the detection of file changes depend on it";
    Some(Check::new("clock", CheckOutcome::Bad, text).advise(advice))
}

/// Checks that the store is usable, and reports its content.
fn check_store(config: &Config, paths: &Paths) -> Vec<Check> {
    let check = |outcome, text: String| Check::new("store", outcome, text);
    let store = match Vaults::store(config, paths) {
        Ok(store) => store,
        // Without vaults there is no store to check; the daemon knows its own.
        Err(OpenVaultsError::NoVault) => return Vec::new(),
        Err(error) => return vec![check(CheckOutcome::Bad, error.to_string())],
    };
    let at = store.display();
    let elsewhere =
        "free disk space, fix the permissions of the folder, or choose another with --store DIR";
    match inspect(&store) {
        Ok(Some(LatestCheckpoint { checkpoint, graph, damaged })) => {
            let notes = print::counted(checkpoint.notes.n_notes() as u64, "note", "notes");
            let text = format!("{at} contains {notes} in generation {}", checkpoint.generation);
            let damaged = damaged.into_iter().map(|(_, error)| {
                check(CheckOutcome::Notice, error.to_string())
                    .advise("the next start falls back to an earlier generation and the files")
            });
            let graph = graph.map(|error| {
                check(CheckOutcome::Notice, error.to_string())
                    .advise("the next start rebuilds it from the notes")
            });
            std::iter::once(check(CheckOutcome::Good, text)).chain(damaged).chain(graph).collect()
        }
        // The folder is created when first needed, so its nearest existing ancestor is checked.
        Ok(None) => match store.ancestors().find(|folder| folder.exists()).map(test_write) {
            Some(Ok(())) => {
                vec![check(CheckOutcome::Good, format!("the index will be created in {at}"))]
            }
            Some(Err(error)) => {
                let text = format!("{at} cannot be written: {error}");
                vec![check(CheckOutcome::Bad, text).advise(elsewhere)]
            }
            None => vec![check(CheckOutcome::Bad, format!("no parent folder of {at} exists"))],
        },
        Err(StoreError::Locked { holder: Some(address), .. }) => {
            vec![check(CheckOutcome::Good, format!("{at}, in use by the daemon at {address}"))]
        }
        Err(error @ StoreError::Locked { holder: None, .. }) => {
            vec![
                check(CheckOutcome::Notice, error.to_string()).advise("wait until it has finished"),
            ]
        }
        Err(error @ (StoreError::Damaged { .. } | StoreError::PastVersion { .. })) => {
            let check = check(CheckOutcome::Notice, error.to_string());
            vec![check.advise("the next start rebuilds the index from the files")]
        }
        Err(error @ StoreError::Io { .. }) => {
            vec![check(CheckOutcome::Bad, error.to_string()).advise(elsewhere)]
        }
        // These messages contain their own advice.
        Err(
            error @ (StoreError::FutureVersion { .. }
            | StoreError::Changed { .. }
            | StoreError::NotEmpty { .. }
            | StoreError::NotAStore { .. }
            | StoreError::NotABackup { .. }
            | StoreError::Vector(_)),
        ) => vec![check(CheckOutcome::Bad, error.to_string())],
    }
}

/// Writes a file into `folder` and removes it.
fn test_write(folder: &Path) -> std::io::Result<()> {
    let path = folder.join(format!(".weft-doctor-{}", std::process::id()));
    let written = std::fs::write(&path, b"write test");
    let removed = std::fs::remove_file(&path);
    written.and(removed)
}

async fn check_vaults(settings: Settings) -> Result<Vec<Check>, Failure> {
    let Settings { vaults, scan, .. } = settings;
    let check = move || vaults.iter().map(|vault| check_vault(&vault.root, &scan)).collect();
    tokio::task::spawn_blocking(check).await.map_err(|_| unexpected_end())
}

/// Checks that this user can read the notes of a vault.
fn check_vault(root: &Path, options: &ScanOptions) -> Check {
    let shown = root.display();
    let scanned = match weft_daemon::scan_readable(root, options) {
        Ok(scanned) => scanned,
        Err(error) => {
            let check = Check::new("vault", CheckOutcome::Bad, error.to_string());
            return check
                .advise("check the path, and give the daemon's user permission to read it");
        }
    };
    let n_found = scanned.found.len() as u64;
    let failed = scanned.skipped.iter().filter(|entry| entry.failed);
    let failed: Vec<String> =
        failed.map(|entry| format!("{} ({})", entry.path, entry.reason)).collect();
    if failed.is_empty() && n_found == 0 {
        let check = Check::new("vault", CheckOutcome::Notice, format!("{shown} contains no notes"));
        return check.advise("check the path, scan.include and scan.exclude");
    }
    let readable = format!("{shown}: {} to read", print::counted(n_found, "file", "files"));
    if failed.is_empty() {
        return Check::new("vault", CheckOutcome::Good, readable);
    }
    let text = format!("{readable}; errors{}", named_files(&failed));
    let check = Check::new("vault", CheckOutcome::Notice, text);
    check.advise("correct each file as its reason states, or exclude it with scan.exclude; `weft coverage` lists all")
}

/// Names the first of some files, after a colon; nothing for an empty list.
fn named_files(files: &[String]) -> String {
    if files.is_empty() {
        return String::new();
    }
    let first = files[..files.len().min(MAX_NAMED_FILES)].join(", ");
    let more = files.len().saturating_sub(MAX_NAMED_FILES);
    let others = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!(": {first}{others}")
}

/// Checks the access settings.
fn check_access(config: &Config) -> Vec<Check> {
    let Settings { server, access, tls, .. } = &config.settings;
    let mut checks = match weft_daemon::check(config) {
        Ok(_) => Vec::new(),
        Err(error) => each_line("access", &error.to_string()),
    };
    let open = server.addresses().is_ok_and(|all| all.iter().any(|at| !at.ip().is_loopback()));
    if open && tls.certificate.is_none() {
        let text = format!("tokens and notes are sent unencrypted to {}", server.address);
        checks.push(Check::new("access", CheckOutcome::Notice, text).advise(
            "set tls.certificate and tls.key, or restrict this address to a proxy with TLS",
        ));
    }
    let files = access.tokens.iter().filter_map(|token| token.file.as_ref());
    checks.extend(files.chain(&tls.key).filter_map(|path| check_secret(path)));
    if checks.is_empty() {
        let text = match (open, config.settings.asks_for_credentials()) {
            (_, true) => "these settings require clients to authenticate",
            (true, false) => "these settings allow unauthenticated access from other machines",
            (false, false) => "these settings allow unauthenticated access from this machine only",
        };
        checks.push(Check::new("access", CheckOutcome::Good, text));
    }
    checks
}

/// Checks that other users cannot read a file with a secret; on Unix only.
#[cfg(unix)]
fn check_secret(path: &Path) -> Option<Check> {
    // A missing file is reported where it is needed.
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(path).ok()?);
    let text = format!("every user of this machine can read {}", path.display());
    let check = Check::new("access", CheckOutcome::Notice, text);
    (mode & 0o004 != 0).then(|| check.advise(format!("chmod 640 {}", path.display())))
}

#[cfg(not(unix))]
fn check_secret(_path: &Path) -> Option<Check> {
    None
}

/// Reports why no daemon could be reached at `address`: none runs, or the connection was refused.
async fn check_unreached(address: &str, failure: Failure) -> Check {
    let Failure { message, hints, .. } = failure;
    let socket = address.strip_prefix("unix:").map(Path::new);
    if socket.is_none() && is_listening(address).await {
        let reason = message.rsplit_once(&format!("{address}: ")).map_or(&*message, |(_, it)| it);
        let text = format!("something listens at {address}, but cannot be queried: {reason}");
        let check = Check::new("daemon", CheckOutcome::Bad, text);
        return Check { advice: hints.into_iter().next(), ..check };
    }
    let advice = if socket.is_some_and(Path::exists) {
        "the socket is left over from a killed daemon; the next `weft serve` replaces it"
    } else {
        "start one with `weft serve DIR`, or name another with --addr"
    };
    Check::new("daemon", CheckOutcome::Notice, message).advise(advice)
}

/// Checks the daemon's status.
async fn check_daemon(client: &Client, address: &str) -> Vec<Check> {
    let mut admin = client.admin();
    let response = tokio::time::timeout(STATUS_TIMEOUT, admin.status(StatusRequest {})).await;
    let status = match response {
        Ok(Ok(status)) => status.into_inner(),
        // A status with a cause was created by the client: the server does not speak the daemon's protocol.
        Ok(Err(status)) if status.source().is_some() => {
            return vec![unknown_server(address, &root_cause(&status))];
        }
        Err(_) => return vec![unknown_server(address, "no response")],
        Ok(Err(status)) => {
            // A daemon that is opening its index is starting; one that denies its status is running.
            let is_there = [Code::Unavailable, Code::PermissionDenied].contains(&status.code());
            let outcome = if is_there { CheckOutcome::Notice } else { CheckOutcome::Bad };
            let failure = Failure::from(status);
            let check = Check::new("daemon", outcome, format!("{address}: {}", failure.message));
            return vec![Check { advice: failure.hints.into_iter().next(), ..check }];
        }
    };
    let notes = print::counted(status.note_count, "note", "notes");
    let text = format!("weft {} serves {notes} at {address}", status.version);
    let mut checks = vec![Check::new("daemon", CheckOutcome::Good, text)];
    let own = env!("CARGO_PKG_VERSION");
    if status.version != own {
        let text = format!("this is weft {own}, but the daemon is weft {}", status.version);
        let check = Check::new("daemon", CheckOutcome::Notice, text);
        checks.push(check.advise("restart the daemon with the newer of the two"));
    }
    checks.extend(status.server.iter().flat_map(check_server));
    // The choice of a model needs no action.
    let choice = status
        .model_choice
        .map(|ModelChoice { model, not_english }| embed::ModelChoice { model, not_english }.line());
    let (choices, notices): (Vec<String>, Vec<String>) =
        status.notices.into_iter().partition(|notice| choice.as_ref() == Some(notice));
    checks.extend(choices.into_iter().map(|it| Check::new("model", CheckOutcome::Good, it)));
    let n_checks = checks.len();
    for notice in notices {
        checks.push(Check::new("index", CheckOutcome::Notice, notice));
    }
    if let Some(error) = status.last_error {
        let check = Check::new("index", CheckOutcome::Bad, error);
        checks.push(check.advise("it is retried; `weft reindex` retries at once"));
    }
    if status.pending_vector_count > 0 {
        let text = match status.estimated_seconds_left {
            Some(seconds) => {
                format!("{} pending vectors, {seconds:.0} s left", status.pending_vector_count)
            }
            None => format!("{} pending vectors", status.pending_vector_count),
        };
        checks.push(Check::new("index", CheckOutcome::Notice, text));
    }
    if status.failed_vector_count > 0 {
        let chunks = print::counted(status.failed_vector_count, "chunk has", "chunks have");
        let text =
            format!("{chunks} no vector: the model rejected the text or returned no usable vector");
        let check = Check::new("index", CheckOutcome::Notice, text);
        checks.push(check.advise("check the model or its endpoint; a restart tries again"));
    }
    let coverage = tokio::time::timeout(STATUS_TIMEOUT, client.coverage()).await;
    // Without permission to read the notes, their files are only counted.
    let files = coverage.ok().and_then(Result::ok).map(|coverage| coverage.files);
    let failed: u64 = status.vaults.iter().map(|vault| vault.failed_count).sum();
    if failed > 0 {
        let is_failed = |file: &&FileCoverage| file.state() == FileState::Failed;
        let named = files.iter().flatten().filter(is_failed).map(|file| file.path.clone());
        let named = named_files(&named.collect::<Vec<String>>());
        let text = format!("{failed} could not be read{named}");
        let check = Check::new("files", CheckOutcome::Notice, text);
        checks.push(check.advise("`weft coverage` lists them with the reasons"));
    }
    if checks.len() == n_checks {
        checks.push(Check::new("index", CheckOutcome::Good, "complete"));
    }
    checks.extend(files.and_then(|files| check_pdf_files(&files)));
    checks
}

/// Reports the PDF files that have no text or only a part of it, by reason.
fn check_pdf_files(files: &[FileCoverage]) -> Option<Check> {
    let is_pdf = |file: &&FileCoverage| NoteKind::of(&file.path) == Some(NoteKind::Pdf);
    let is_read = |file: &&FileCoverage| file.state() != FileState::Skipped;
    let (mut n_files, mut n_affected) = (0, 0);
    let mut by_reason: BTreeMap<&str, (u64, &str)> = BTreeMap::new();
    for file in files.iter().filter(is_pdf).filter(is_read) {
        n_files += 1;
        let codes = file.diagnostics.iter().map(|it| &*it.code).filter(|it| it.starts_with("pdf-"));
        let failed = (file.state() == FileState::Failed).then_some("not extracted");
        let reasons: BTreeSet<&str> = codes.chain(failed).collect();
        n_affected += u64::from(!reasons.is_empty());
        for reason in reasons {
            by_reason.entry(reason).or_insert((0, file.path.as_str())).0 += 1;
        }
    }
    if n_files == 0 {
        return None;
    }
    let all = print::counted(n_files, "PDF file", "PDF files");
    if n_affected == 0 {
        return Some(Check::new("pdf", CheckOutcome::Good, format!("the text of {all} was read")));
    }
    let reasons: Vec<String> = by_reason
        .iter()
        .map(|(reason, (n, path))| format!("{n} {reason} (such as {path})"))
        .collect();
    let text =
        format!("{n_affected} of {all} have no text or a part of it: {}", reasons.join(", "));
    let advice = "`weft coverage` says for each what to do";
    Some(Check::new("pdf", CheckOutcome::Notice, text).advise(advice))
}

/// Extracts the text of a small PDF file, if PDF files are notes.
fn check_pdf(settings: &Settings) -> Check {
    if !settings.scan.reads(NoteKind::Pdf) {
        let text = "PDF files are not read; \"pdf\" in scan.other_files makes them notes";
        return Check::new("pdf", CheckOutcome::Good, text);
    }
    match weft_daemon::check_extraction(&settings.pdf) {
        Ok(()) => Check::new("pdf", CheckOutcome::Good, "PDF files are read, and text is extracted"),
        Err(reason) => Check::new("pdf", CheckOutcome::Bad, reason).advise(
            "raise the limits of section [pdf], and let the system start further processes of this program; until then PDF files are retried",
        ),
    }
}

/// Checks that a daemon has loaded its credentials, and has room for more connections and open files.
fn check_server(server: &ServerStatus) -> Vec<Check> {
    let text = print::of_server(server);
    let is_near = |n: u64, most: u64| n.saturating_mul(10) >= most.saturating_mul(9);
    let files = server.open_file_count.zip(server.max_open_file_count);
    let room = if files.is_some_and(|(n, most)| is_near(n, most)) {
        Check::new("server", CheckOutcome::Notice, text)
            .advise("raise the daemon's limit of open files, for example by LimitNOFILE of systemd")
    } else if is_near(server.connection_count, server.max_connection_count) {
        Check::new("server", CheckOutcome::Notice, text)
            .advise("close connections, or raise server.max_connections")
    } else {
        Check::new("server", CheckOutcome::Good, text)
    };
    let errors = server.credential_errors.iter().map(|error| {
        Check::new("access", CheckOutcome::Bad, error)
            .advise("restore the file, or remove it from the settings, and send SIGHUP")
    });
    std::iter::once(room).chain(errors).collect()
}

/// Returns the failed check for a server that is not a daemon, or that expects another protocol.
fn unknown_server(address: &str, reason: &str) -> Check {
    let text = format!("something listens at {address}, but does not answer as a daemon: {reason}");
    Check::new("daemon", CheckOutcome::Bad, text).advise(
        "if it is another program, give the daemon another port in server.address; if it is a daemon with TLS, use https://…, with --tls-ca for your own certificate authority, and with --tls-cert and --tls-key if it requires a client certificate",
    )
}

/// Returns the advice for a model that cannot be opened.
fn advice(error: &embed::ModelError) -> &'static str {
    match error {
        embed::ModelError::Unreachable { .. } => {
            "start the endpoint, or correct embedding.remote.url; until then search uses keywords and links only"
        }
        embed::ModelError::Endpoint { .. } => "correct the settings of embedding.remote",
        embed::ModelError::NoCache { .. } => {
            "set one of them, or choose a bundled model: \"bundled-english\" always works"
        }
        embed::ModelError::UnknownModel { .. }
        | embed::ModelError::NotBuiltIn { .. }
        | embed::ModelError::NoModelFolder { .. }
        | embed::ModelError::Read { .. }
        | embed::ModelError::Malformed { .. }
        | embed::ModelError::Unsupported { .. }
        | embed::ModelError::Model { .. }
        | embed::ModelError::NotFetched { .. }
        | embed::ModelError::Library { .. } => {
            "choose another in embedding.model; \"bundled-english\" always works"
        }
    }
}

/// Opens the model and embeds one text twice.
fn check_model(settings: &embed::EmbeddingSettings) -> Vec<Check> {
    if settings.model == NONE {
        return vec![Check::new(
            "model",
            CheckOutcome::Notice,
            "none: search uses keywords and links only",
        )];
    }
    let opened = match embed::open(settings) {
        Ok(opened) => opened,
        Err(error) => {
            let check = Check::new("model", CheckOutcome::Bad, error.to_string());
            return vec![check.advise(advice(&error))];
        }
    };
    let mut checks: Vec<Check> = opened
        .notes
        .into_iter()
        .map(|note| Check::new("model", CheckOutcome::Notice, note))
        .collect();
    if let Some(embedder) = opened.embedder {
        let identity = embedder.identity();
        let name = &settings.model;
        let is_remote = matches!(settings.runner, Runner::OpenAi | Runner::Ollama);
        let one = || embedder.embed(&["a fern in the shade"], Role::Query);
        checks.push(match (one(), one()) {
            (Ok(first), Ok(second)) if first == second => Check::new(
                "model",
                CheckOutcome::Good,
                format!(
                    "{name} runs in {} with {} dimensions",
                    identity.runner, identity.dimension
                ),
            ),
            (Ok(_), Ok(_)) if is_remote => Check::new(
                "model",
                CheckOutcome::Notice,
                format!("{name} answers, but vectors of the same text differ in their last digits"),
            ),
            (Ok(_), Ok(_)) => Check::new(
                "model",
                CheckOutcome::Bad,
                format!("{name} returns different vectors for the same text"),
            ),
            (Err(error), _) | (_, Err(error)) => {
                Check::new("model", CheckOutcome::Bad, error.to_string())
            }
        });
    }
    checks
}

/// Opens the reranker, if one is configured, and judges two texts.
fn check_reranker(settings: &embed::RerankerSettings) -> Vec<Check> {
    let opened = match embed::open_reranker(settings) {
        Ok(opened) => opened,
        Err(error) => {
            let advice = if settings.runner == RerankRunner::Endpoint {
                "correct the settings of rerank.endpoint"
            } else {
                "set rerank.model to a folder with a cross-encoder, or to \"none\""
            };
            let check = Check::new("reranker", CheckOutcome::Bad, error.to_string());
            return vec![check.advise(advice)];
        }
    };
    let notice = |note| Check::new("reranker", CheckOutcome::Notice, note);
    let mut checks: Vec<Check> = opened.notes.into_iter().map(notice).collect();
    let Some(reranker) = opened.reranker else { return checks };
    let texts = ["Ferns\nA fern grows in the shade.", "Clocks\nA pendulum keeps the time."];
    let until = Instant::now().checked_add(RERANK_TIMEOUT);
    let name = &settings.model;
    checks.push(match reranker.relevances("Where do ferns grow?", &texts, until) {
        Ok(relevances) if relevances.is_sorted_by(|first, second| first > second) => Check::new(
            "reranker",
            CheckOutcome::Good,
            format!("{name} runs in {}", reranker.identity().runner),
        ),
        Ok(_) => Check::new(
            "reranker",
            CheckOutcome::Notice,
            format!("{name} does not prefer the answer of a simple question"),
        )
        .advise("check that it is a cross-encoder for reranking, and that its tokenizer.json belongs to it"),
        Err(error) => Check::new("reranker", CheckOutcome::Bad, error.to_string())
            .advise("until then the hits keep their order"),
    });
    checks
}

#[cfg(test)]
mod tests {
    use weft_proto::noteweft::v1::Diagnostic;

    use super::*;

    fn file(path: &str, state: FileState, codes: &[&str]) -> FileCoverage {
        let diagnostic = |code: &&str| Diagnostic { code: (*code).into(), ..Diagnostic::default() };
        FileCoverage {
            path: path.into(),
            state: state.into(),
            diagnostics: codes.iter().map(diagnostic).collect(),
            ..FileCoverage::default()
        }
    }

    #[test]
    fn first_files_are_named() {
        let files = |n: usize| -> Vec<String> { (0..n).map(|at| format!("{at}.md")).collect() };
        for (n, expected) in [
            (0, ""),
            (1, ": 0.md"),
            (3, ": 0.md, 1.md, 2.md"),
            (5, ": 0.md, 1.md, 2.md and 2 more"),
        ] {
            assert_eq!(named_files(&files(n)), expected);
        }
    }

    #[test]
    fn pdf_files_without_text_are_counted_by_reason() {
        let note = file("a.md", FileState::Indexed, &["link-empty"]);
        assert_eq!(check_pdf_files(std::slice::from_ref(&note)), None);
        let good = file("a.pdf", FileState::Indexed, &[]);
        let check = check_pdf_files(&[note.clone(), good.clone()]).unwrap();
        assert_eq!(
            (check.outcome, &*check.message),
            (CheckOutcome::Good, "the text of 1 PDF file was read")
        );
        let files = [
            note,
            good,
            file("b.pdf", FileState::Indexed, &["pdf-broken"]),
            file("c.PDF", FileState::Indexed, &["pdf-pages", "pdf-pages", "pdf-truncated"]),
            file("d.pdf", FileState::Indexed, &["pdf-broken"]),
            file("e.pdf", FileState::Failed, &[]),
            file("f.pdf", FileState::Skipped, &[]),
        ];
        let check = check_pdf_files(&files).unwrap();
        assert_eq!(check.outcome, CheckOutcome::Notice);
        assert_eq!(
            check.message,
            "4 of 5 PDF files have no text or a part of it: 1 not extracted (such as e.pdf), 2 pdf-broken (such as b.pdf), 1 pdf-pages (such as c.PDF), 1 pdf-truncated (such as c.PDF)"
        );
    }

    #[test]
    fn clock_behind_program_is_reported() {
        const DAY: Duration = CLOCK_SLACK;
        let written = SystemTime::UNIX_EPOCH + DAY * 20_000;
        for (name, now, known, days) in [
            ("correct", written + DAY * 30, Some(written), None),
            ("other time zone", written - DAY / 2, Some(written), None),
            ("never set", SystemTime::UNIX_EPOCH, Some(written), Some("20000 days behind")),
            ("unknown modification time", SystemTime::UNIX_EPOCH, None, None),
        ] {
            let check = check_clock(now, known);
            let message = check.as_ref().map(|check| check.message.as_str());
            assert_eq!(message.is_some(), days.is_some(), "{name}");
            assert!(days.is_none_or(|days| message.unwrap_or_default().contains(days)), "{name}");
        }
    }
}
