//! `weft doctor`: what would stand in the way, and what to do about it.

use serde::Serialize;
use weft_daemon::embed::{self, BUNDLED, NONE};
use weft_daemon::{OpenError, Role, Vaults};
use weft_proto::noteweft::v1::StatusRequest;

use crate::asker::{Asker, config};
use crate::cli::{Format, Global};
use crate::commands::{json, write};
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
}

impl Check {
    fn new(name: &'static str, outcome: Outcome, message: impl Into<String>) -> Self {
        Self { name, outcome, message: message.into() }
    }
}

/// Looks at everything and prints what it found. Fails where something does not work.
pub(crate) async fn run(global: &Global) -> Result<(), Failure> {
    let (config, paths) = config(global, &global.vault, &[])?;
    let mut checks = vec![Check::new("settings", Outcome::Good, "every setting can be used")];
    let settings = config.settings.embedding.clone();
    let cache_dir = paths.cached(&settings.cache_dir);
    let settings = embed::EmbeddingSettings { cache_dir, ..settings };
    let model = tokio::task::spawn_blocking(move || check_model(&settings)).await;
    checks.extend(model.map_err(|_| Failure::other("the model came to a sudden end"))?);
    match Vaults::store(&config, &paths) {
        Ok(store) => {
            checks.push(Check::new(
                "store",
                Outcome::Good,
                format!("the index lies in {}", store.display()),
            ));
        }
        Err(OpenError::NoVault) => checks.push(Check::new(
            "store",
            Outcome::Notice,
            "no vault is configured; name one with --vault DIR",
        )),
        Err(error) => checks.push(Check::new("store", Outcome::Bad, error.to_string())),
    }
    for vault in &config.settings.vaults {
        let readable = std::fs::read_dir(&vault.root);
        checks.push(match readable {
            Ok(_) => {
                Check::new("vault", Outcome::Good, format!("{} can be read", vault.root.display()))
            }
            Err(error) => {
                Check::new("vault", Outcome::Bad, format!("{}: {error}", vault.root.display()))
            }
        });
    }
    let credentials = Credentials::read(global)?;
    let address = global.addr.clone().unwrap_or_else(|| usual(&config, &paths, &credentials));
    checks.push(match Asker::connect(&address, &credentials, Hint::daemon(None)).await {
        Ok(asker) => check_daemon(&asker, &address).await,
        Err(_) => Check::new(
            "daemon",
            Outcome::Notice,
            format!("none answers at {address}; `weft serve DIR` starts one"),
        ),
    });
    match global.format {
        Format::Human => write(&print::checks(&checks))?,
        Format::Json | Format::Records | Format::Graphml | Format::Dot => {
            write(&json(&serde_json::json!({ "checks": checks }))?)?
        }
    }
    match checks.iter().filter(|check| check.outcome == Outcome::Bad).count() {
        0 => Ok(()),
        1 => Err(Failure::other("one check failed")),
        n => Err(Failure::other(format!("{n} checks failed"))),
    }
}

async fn check_daemon(asker: &Asker, address: &str) -> Check {
    match asker.admin().status(StatusRequest {}).await {
        Ok(status) => {
            let status = status.into_inner();
            let text =
                format!("weft {} serves {} notes at {address}", status.version, status.n_notes);
            match status.last_error {
                None => Check::new("daemon", Outcome::Good, text),
                Some(error) => {
                    Check::new("daemon", Outcome::Notice, format!("{text}; last error: {error}"))
                }
            }
        }
        Err(status) => {
            Check::new("daemon", Outcome::Bad, format!("{address}: {}", status.message()))
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
        Err(error) => return vec![Check::new("model", Outcome::Bad, error.to_string())],
    };
    let mut checks: Vec<Check> =
        opened.notes.into_iter().map(|note| Check::new("model", Outcome::Notice, note)).collect();
    if let Some(embedder) = opened.embedder {
        let identity = embedder.identity();
        let name = if settings.model == BUNDLED { "the bundled model" } else { &settings.model };
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
