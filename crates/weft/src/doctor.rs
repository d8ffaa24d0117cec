//! `weft doctor`: what would stand in the way, and what to do about it.

use std::path::Path;

use serde::Serialize;
use weft_daemon::config::{Config, Settings};
use weft_daemon::embed::{self, BUNDLED, NONE, Runner};
use weft_daemon::{OpenError, Paths, Role, Vaults};
use weft_proto::noteweft::v1::StatusRequest;

use crate::asker::{Asker, Purpose, config};
use crate::cli::{Format, Global};
use crate::commands::{json, write, write_plain};
use crate::failure::Failure;
use crate::hint::Hint;
use crate::print;
use crate::reach::{Credentials, usual};

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

/// Looks at everything and prints what it found. Fails where something does not work.
pub(crate) async fn run(global: &Global) -> Result<(), Failure> {
    let (config, paths) = config(global, &global.vault, &[])?;
    let mut checks = vec![Check::new("settings", Outcome::Good, "every setting can be used")];
    let settings = config.embedding(&paths);
    let model = tokio::task::spawn_blocking(move || check_model(&settings)).await;
    checks.extend(model.map_err(|_| Failure::other("the model came to a sudden end"))?);
    checks.extend(check_store(&config, &paths));
    checks.extend(config.settings.vaults.iter().map(|vault| check_vault(&vault.root)));
    checks.extend(check_access(&config));
    let credentials = Credentials::read(global)?;
    let address = global.addr.clone().unwrap_or_else(|| usual(&config, &paths, &credentials));
    let purpose = Purpose::Question { wait: false };
    match Asker::connect(&address, &credentials, purpose, Hint::daemon(None)).await {
        Ok(asker) => checks.extend(check_daemon(&asker, &address).await),
        Err(failure) => checks.push(
            Check::new("daemon", Outcome::Notice, failure.message)
                .advise("start one with `weft serve DIR`, or name another with --addr"),
        ),
    }
    match global.format {
        Format::Human => write(&print::checks(&checks))?,
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

/// Whether the index can be kept where it should lie.
fn check_store(config: &Config, paths: &Paths) -> Vec<Check> {
    let store = match Vaults::store(config, paths) {
        Ok(store) => store,
        Err(OpenError::NoVault) => {
            let check = Check::new("store", Outcome::Notice, "no vault is named, so there is none");
            return vec![
                check.advise("name one with --vault DIR, or put `vaults` into the configuration"),
            ];
        }
        Err(error) => return vec![Check::new("store", Outcome::Bad, error.to_string())],
    };
    // The folder itself is made when it is first needed: what counts is the nearest that is there.
    let there = store.ancestors().find(|folder| folder.exists());
    let probe = there.map(try_writing);
    vec![match probe {
        Some(Ok(())) => {
            Check::new("store", Outcome::Good, format!("the index lies in {}", store.display()))
        }
        Some(Err(error)) => Check::new(
            "store",
            Outcome::Bad,
            format!("{} cannot be written: {error}", store.display()),
        )
        .advise("free the disk or the folder's rights, or choose another with --store DIR"),
        None => Check::new("store", Outcome::Bad, format!("{} lies nowhere", store.display())),
    }]
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
    let mut checks = Vec::new();
    let open = server.addresses().is_ok_and(|all| all.iter().any(|at| !at.ip().is_loopback()));
    if open && tls.certificate.is_none() {
        let text = format!("tokens and notes travel unencrypted to {}", server.address);
        checks.push(Check::new("access", Outcome::Notice, text).advise(
            "set tls.certificate and tls.key, or let only a proxy with TLS reach this address",
        ));
    }
    let files = access.tokens.iter().filter_map(|token| token.file.as_ref());
    for path in files.chain(&tls.key) {
        checks.extend(check_secret(path));
    }
    if checks.is_empty() {
        let text = match (open, config.settings.asks_for_credentials()) {
            (_, true) => "callers prove who they are",
            (true, false) => "the address is open to everyone",
            (false, false) => "only this machine reaches the daemon, and no token is asked for",
        };
        checks.push(Check::new("access", Outcome::Good, text));
    }
    checks
}

/// What is wrong with a file that holds a secret. Whether others may read it can be told on Unix alone.
fn check_secret(path: &Path) -> Option<Check> {
    let facts = match std::fs::metadata(path) {
        Ok(facts) => facts,
        Err(error) => {
            let text = format!("{} cannot be looked at: {error}", path.display());
            return Some(Check::new("access", Outcome::Notice, text));
        }
    };
    #[cfg(unix)]
    if std::os::unix::fs::PermissionsExt::mode(&facts.permissions()) & 0o007 != 0 {
        let text = format!("every user of this machine may read {}", path.display());
        let advice = format!("chmod 640 {}", path.display());
        return Some(Check::new("access", Outcome::Notice, text).advise(advice));
    }
    let _ = facts;
    None
}

/// How the daemon is, by its own account.
async fn check_daemon(asker: &Asker, address: &str) -> Vec<Check> {
    let status = match asker.admin().status(StatusRequest {}).await {
        Ok(status) => status.into_inner(),
        Err(status) => {
            let failure = Failure::from(status);
            let check =
                Check::new("daemon", Outcome::Bad, format!("{address}: {}", failure.message));
            return vec![Check { advice: failure.hints.into_iter().next(), ..check }];
        }
    };
    let text = format!("weft {} serves {} notes at {address}", status.version, status.n_notes);
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
