//! `weft doctor`: what would stand in the way, and what to do about it.

use std::error::Error as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use tonic::Code;
use weft_daemon::config::{Config, Settings};
use weft_daemon::embed::{self, BUNDLED, NONE, Runner};
use weft_daemon::{Newest, OpenError, Paths, Role, StoreError, Vaults, inspect};
use weft_proto::noteweft::v1::StatusRequest;

use crate::asker::{Asker, Purpose, config};
use crate::cli::{Format, Global};
use crate::commands::{json, write, write_plain};
use crate::failure::Failure;
use crate::hint::Hint;
use crate::print;
use crate::reach::{Credentials, is_heard, is_own, root, usual};

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Outcome {
    /// As it should be.
    Good,
    /// Works, with less than there could be.
    Notice,
    /// Does not work.
    Bad,
}

/// One thing looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Check {
    /// What was looked at.
    pub(crate) name: &'static str,
    /// How it ended.
    pub(crate) outcome: Outcome,
    /// What was found, in a sentence for a person.
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) advice: Option<String>,
}

impl Check {
    fn new(name: &'static str, outcome: Outcome, message: impl Into<String>) -> Self {
        Self { name, outcome, message: message.into(), advice: None }
    }

    fn advise(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }
}

/// How long a daemon may take to say how it is.
const PATIENCE: Duration = Duration::from_secs(5);

/// How far a clock may be behind without being wrong.
const CLOCK_SLACK: Duration = Duration::from_secs(24 * 60 * 60);

/// Looks at everything and prints what it found. Fails where something does not work.
pub(crate) async fn run(global: &Global) -> Result<(), Failure> {
    let (config, paths) = match config(global, &global.vault, &[]) {
        Ok(read) => read,
        // Nothing can be looked at under settings that cannot be used.
        Err(Failure { message, hints, .. }) => {
            // Each wrong setting has a line of its own; what is no TOML has a picture.
            let mut checks = if message.lines().all(|line| line.starts_with('`')) {
                each_line("settings", &message)
            } else {
                vec![Check::new("settings", Outcome::Bad, message)]
            };
            if let Some(last) = checks.last_mut() {
                last.advice = hints.into_iter().next();
            }
            return tell(global, &checks);
        }
    };
    let mut checks = vec![Check::new("settings", Outcome::Good, "every setting can be used")];
    checks.extend(check_clock(now(), program_written()));
    let blocking = {
        let (config, paths) = (config.clone(), paths.clone());
        move || {
            let mut checks = check_model(&config.embedding(&paths));
            checks.extend(check_store(&config, &paths));
            checks
        }
    };
    let checked = tokio::task::spawn_blocking(blocking).await;
    checks.extend(checked.map_err(|_| Failure::other("a check came to a sudden end"))?);
    checks.extend(config.settings.vaults.iter().map(|vault| check_vault(&vault.root)));
    let credentials = Credentials::read(global)?;
    let address = global.addr.clone().unwrap_or_else(|| usual(&config, &paths, &credentials));
    // Settings of this machine say nothing of a daemon elsewhere.
    if is_own(&address, &config, &paths) {
        checks.extend(check_access(&config));
    }
    let purpose = Purpose::Question { wait: false };
    match Asker::connect(&address, &credentials, purpose, Hint::daemon(None)).await {
        Ok(asker) => checks.extend(check_daemon(&asker, &address).await),
        Err(failure) => {
            if config.settings.vaults.is_empty() {
                let check = Check::new("vault", Outcome::Notice, "none is named");
                checks.push(
                    check.advise(
                        "name one with --vault DIR, or put `vaults` into the configuration",
                    ),
                );
            }
            checks.push(check_unreached(&address, failure).await);
        }
    }
    tell(global, &checks)
}

/// Prints `checks`. Fails where one of them does not work.
fn tell(global: &Global, checks: &[Check]) -> Result<(), Failure> {
    match global.format {
        Format::Human => write(&print::checks(checks))?,
        Format::Json | Format::Records | Format::Graphml | Format::Dot => {
            write_plain(&json(&serde_json::json!({ "checks": checks }))?)?
        }
    }
    match checks.iter().filter(|check| check.outcome == Outcome::Bad).count() {
        0 => Ok(()),
        1 => Err(Failure::other("one check failed")),
        n => Err(Failure::other(format!("{n} checks failed"))),
    }
}

/// A failed check for each line of `message`.
fn each_line(name: &'static str, message: &str) -> Vec<Check> {
    message.lines().map(|line| Check::new(name, Outcome::Bad, line)).collect()
}

#[expect(clippy::disallowed_methods, reason = "whether the clock is right is the question")]
fn now() -> SystemTime {
    SystemTime::now()
}

/// When the running program was put where it is.
fn program_written() -> Option<SystemTime> {
    std::fs::metadata(std::env::current_exe().ok()?).ok()?.modified().ok()
}

/// Whether it is earlier than this program can know.
fn check_clock(now: SystemTime, written: Option<SystemTime>) -> Option<Check> {
    let behind = written?.duration_since(now).ok().filter(|behind| *behind > CLOCK_SLACK)?;
    let days = behind.as_secs() / CLOCK_SLACK.as_secs();
    let text = format!("the clock is {days} days behind: this program was written later than now");
    let advice =
        "set it; certificates are judged by it, and changes of files are noticed by their times";
    Some(Check::new("clock", Outcome::Bad, text).advise(advice))
}

/// Whether the index can be kept where it should lie, and what is there of it.
fn check_store(config: &Config, paths: &Paths) -> Vec<Check> {
    let check = |outcome, text: String| Check::new("store", outcome, text);
    let store = match Vaults::store(config, paths) {
        Ok(store) => store,
        // A daemon knows its own.
        Err(OpenError::NoVault) => return Vec::new(),
        Err(error) => return vec![check(Outcome::Bad, error.to_string())],
    };
    let at = store.display();
    let elsewhere = "free the disk or the folder's rights, or choose another with --store DIR";
    match inspect(&store) {
        Ok(Some(Newest { checkpoint, graph, damaged })) => {
            let notes = print::counted(checkpoint.notes.n_notes() as u64, "note", "notes");
            let text = format!("{at} holds {notes} in generation {}", checkpoint.generation);
            let damaged = damaged.into_iter().map(|(_, error)| {
                check(Outcome::Notice, error.to_string())
                    .advise("an earlier generation and the files take its place at the next start")
            });
            let graph = graph.map(|error| {
                check(Outcome::Notice, error.to_string())
                    .advise("the next start makes it again from the notes")
            });
            std::iter::once(check(Outcome::Good, text)).chain(damaged).chain(graph).collect()
        }
        // The folder itself is made when it is first needed: what counts is the nearest that is there.
        Ok(None) => match store.ancestors().find(|folder| folder.exists()).map(try_writing) {
            Some(Ok(())) => vec![check(Outcome::Good, format!("the index will lie in {at}"))],
            Some(Err(error)) => {
                let text = format!("{at} cannot be written: {error}");
                vec![check(Outcome::Bad, text).advise(elsewhere)]
            }
            None => vec![check(Outcome::Bad, format!("{at} lies nowhere"))],
        },
        Err(StoreError::Locked { holder: Some(address), .. }) => {
            vec![check(Outcome::Good, format!("{at}, in the hands of the daemon at {address}"))]
        }
        Err(error @ StoreError::Locked { holder: None, .. }) => {
            vec![check(Outcome::Notice, error.to_string()).advise("wait until it is done")]
        }
        Err(error @ (StoreError::Damaged { .. } | StoreError::PastVersion { .. })) => {
            let check = check(Outcome::Notice, error.to_string());
            vec![check.advise("the next start builds the index anew from the files")]
        }
        Err(error @ StoreError::Io { .. }) => {
            vec![check(Outcome::Bad, error.to_string()).advise(elsewhere)]
        }
        // These say themselves what to do.
        Err(
            error @ (StoreError::FutureVersion { .. }
            | StoreError::Changed { .. }
            | StoreError::NotEmpty { .. }
            | StoreError::NoStore { .. }
            | StoreError::NoBackup { .. }
            | StoreError::Vector(_)),
        ) => vec![check(Outcome::Bad, error.to_string())],
    }
}

/// Writes into `folder` and takes it back.
fn try_writing(folder: &Path) -> std::io::Result<()> {
    let path = folder.join(format!(".weft-doctor-{}", std::process::id()));
    let written = std::fs::write(&path, b"whether it can be written");
    let removed = std::fs::remove_file(&path);
    written.and(removed)
}

fn check_vault(root: &Path) -> Check {
    match std::fs::read_dir(root) {
        Ok(_) => Check::new("vault", Outcome::Good, format!("{} can be read", root.display())),
        Err(error) => {
            Check::new("vault", Outcome::Bad, format!("{} cannot be read: {error}", root.display()))
                .advise("give its real path, and leave to read it to the user who runs the daemon")
        }
    }
}

/// Whether the door is as closed as it should be.
fn check_access(config: &Config) -> Vec<Check> {
    let Settings { server, access, tls, .. } = &config.settings;
    let mut checks = match weft_daemon::check(config) {
        Ok(_) => Vec::new(),
        Err(error) => each_line("access", &error.to_string()),
    };
    let open = server.addresses().is_ok_and(|all| all.iter().any(|at| !at.ip().is_loopback()));
    if open && tls.certificate.is_none() {
        let text = format!("tokens and notes travel unencrypted to {}", server.address);
        checks.push(Check::new("access", Outcome::Notice, text).advise(
            "set tls.certificate and tls.key, or let only a proxy with TLS reach this address",
        ));
    }
    let files = access.tokens.iter().filter_map(|token| token.file.as_ref());
    checks.extend(files.chain(&tls.key).filter_map(|path| check_secret(path)));
    if checks.is_empty() {
        let text = match (open, config.settings.asks_for_credentials()) {
            (_, true) => "by these settings callers prove who they are",
            (true, false) => "by these settings the address is open to everyone",
            (false, false) => {
                "by these settings only this machine reaches the daemon, and no token is asked for"
            }
        };
        checks.push(Check::new("access", Outcome::Good, text));
    }
    checks
}

/// Whether others may read a file that holds a secret, which can be told on Unix alone.
#[cfg(unix)]
fn check_secret(path: &Path) -> Option<Check> {
    // One that is not there is told of by whoever needs it.
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(path).ok()?);
    let text = format!("every user of this machine may read {}", path.display());
    let check = Check::new("access", Outcome::Notice, text);
    (mode & 0o004 != 0).then(|| check.advise(format!("chmod 640 {}", path.display())))
}

#[cfg(not(unix))]
fn check_secret(_path: &Path) -> Option<Check> {
    None
}

/// Why no daemon could be asked at `address`: there is none, or the two did not agree on how.
async fn check_unreached(address: &str, failure: Failure) -> Check {
    let Failure { message, hints, .. } = failure;
    let socket = address.strip_prefix("unix:").map(Path::new);
    if socket.is_none() && is_heard(address).await {
        let reason = message.rsplit_once(&format!("{address}: ")).map_or(&*message, |(_, it)| it);
        let text = format!("something listens at {address}, and cannot be asked: {reason}");
        let check = Check::new("daemon", Outcome::Bad, text);
        return Check { advice: hints.into_iter().next(), ..check };
    }
    let advice = if socket.is_some_and(Path::exists) {
        "a daemon that was killed left its socket; the next `weft serve` takes its place"
    } else {
        "start one with `weft serve DIR`, or name another with --addr"
    };
    Check::new("daemon", Outcome::Notice, message).advise(advice)
}

/// How the daemon is, by its own account.
async fn check_daemon(asker: &Asker, address: &str) -> Vec<Check> {
    let mut admin = asker.admin();
    let asked = tokio::time::timeout(PATIENCE, admin.status(StatusRequest {})).await;
    let status = match asked {
        Ok(Ok(status)) => status.into_inner(),
        // A status with a cause was made on this side: what answers does not speak as a daemon does.
        Ok(Err(status)) if status.source().is_some() => {
            return vec![check_stranger(address, &root(&status))];
        }
        Err(_) => return vec![check_stranger(address, "it says nothing")],
        Ok(Err(status)) => {
            // One that opens its index is on its way, and one that tells how it is to others alone is well.
            let is_there = [Code::Unavailable, Code::PermissionDenied].contains(&status.code());
            let outcome = if is_there { Outcome::Notice } else { Outcome::Bad };
            let failure = Failure::from(status);
            let check = Check::new("daemon", outcome, format!("{address}: {}", failure.message));
            return vec![Check { advice: failure.hints.into_iter().next(), ..check }];
        }
    };
    let notes = print::counted(status.n_notes, "note", "notes");
    let text = format!("weft {} serves {notes} at {address}", status.version);
    let mut checks = vec![Check::new("daemon", Outcome::Good, text)];
    let own = env!("CARGO_PKG_VERSION");
    if status.version != own {
        let text = format!("this is weft {own}, the daemon is weft {}", status.version);
        let check = Check::new("daemon", Outcome::Notice, text);
        checks.push(check.advise("restart the daemon with the newer of the two"));
    }
    for notice in status.notices {
        checks.push(Check::new("index", Outcome::Notice, notice));
    }
    if let Some(error) = status.last_error {
        let check = Check::new("index", Outcome::Bad, error);
        checks.push(check.advise("it is tried again; `weft reindex` tries at once"));
    }
    if status.n_vectors_pending > 0 {
        let text = match status.seconds_left {
            Some(seconds) => format!(
                "{} passages wait for their vector, {seconds:.0} s left",
                status.n_vectors_pending
            ),
            None => format!("{} passages wait for their vector", status.n_vectors_pending),
        };
        checks.push(Check::new("index", Outcome::Notice, text));
    }
    let failed: u64 = status.vaults.iter().map(|vault| vault.n_failed).sum();
    if failed > 0 {
        let check = Check::new("files", Outcome::Notice, format!("{failed} could not be read"));
        checks.push(check.advise("`weft coverage` says which, and why"));
    }
    if checks.len() == 1 {
        checks.push(Check::new("index", Outcome::Good, "everything is in"));
    }
    checks
}

/// Somebody listens where the daemon should, and is none, or is asked in another way than it expects.
fn check_stranger(address: &str, reason: &str) -> Check {
    let text = format!("something listens at {address} and does not answer as a daemon: {reason}");
    Check::new("daemon", Outcome::Bad, text).advise(
        "where it is another program, give the daemon another port in server.address; where it is a daemon with TLS, ask https://…, with --tls-ca for an authority of your own, and with --tls-cert and --tls-key where it asks for a certificate",
    )
}

/// What to do about a model that cannot be opened.
fn advice(error: &embed::OpenError) -> &'static str {
    match error {
        embed::OpenError::Unreachable { .. } => {
            "start the endpoint, or correct embedding.remote.url; meanwhile notes are found by words and links"
        }
        embed::OpenError::Endpoint { .. } => "correct the settings of embedding.remote",
        embed::OpenError::UnknownModel { .. }
        | embed::OpenError::NoModelFolder { .. }
        | embed::OpenError::Read { .. }
        | embed::OpenError::Malformed { .. }
        | embed::OpenError::Unsupported { .. }
        | embed::OpenError::Model { .. }
        | embed::OpenError::NotFetched { .. }
        | embed::OpenError::Library { .. } => {
            "choose another in embedding.model; \"bundled\" always runs"
        }
    }
}

/// Opens the model and embeds one text twice.
fn check_model(settings: &embed::EmbeddingSettings) -> Vec<Check> {
    if settings.model == NONE {
        return vec![Check::new(
            "model",
            Outcome::Notice,
            "none: notes are found by words and links alone",
        )];
    }
    let opened = match embed::open(settings) {
        Ok(opened) => opened,
        Err(error) => {
            let check = Check::new("model", Outcome::Bad, error.to_string());
            return vec![check.advise(advice(&error))];
        }
    };
    let mut checks: Vec<Check> =
        opened.notes.into_iter().map(|note| Check::new("model", Outcome::Notice, note)).collect();
    if let Some(embedder) = opened.embedder {
        let identity = embedder.identity();
        let name = if settings.model == BUNDLED { "the bundled model" } else { &settings.model };
        let is_remote = matches!(settings.runner, Runner::OpenAi | Runner::Ollama);
        let one = || embedder.embed(&["a fern in the shade"], Role::Query);
        checks.push(match (one(), one()) {
            (Ok(first), Ok(second)) if first == second => Check::new(
                "model",
                Outcome::Good,
                format!(
                    "{name} runs in {} and gives {} numbers a passage",
                    identity.runner, identity.dimension
                ),
            ),
            (Ok(_), Ok(_)) if is_remote => Check::new(
                "model",
                Outcome::Notice,
                format!("{name} answers, with vectors that differ in their last digits"),
            ),
            (Ok(_), Ok(_)) => {
                Check::new("model", Outcome::Bad, format!("{name} gives two vectors for one text"))
            }
            (Err(error), _) | (_, Err(error)) => {
                Check::new("model", Outcome::Bad, error.to_string())
            }
        });
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_behind_is_told_of() {
        const DAY: Duration = CLOCK_SLACK;
        let written = SystemTime::UNIX_EPOCH + DAY * 20_000;
        for (name, now, known, days) in [
            ("right", written + DAY * 30, Some(written), None),
            ("of another zone", written - DAY / 2, Some(written), None),
            ("never set", SystemTime::UNIX_EPOCH, Some(written), Some("20000 days behind")),
            ("nobody knows", SystemTime::UNIX_EPOCH, None, None),
        ] {
            let check = check_clock(now, known);
            let told = check.as_ref().map(|check| check.message.as_str());
            assert_eq!(told.is_some(), days.is_some(), "{name}");
            assert!(days.is_none_or(|days| told.unwrap_or_default().contains(days)), "{name}");
        }
    }
}
