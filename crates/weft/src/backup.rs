//! Backups of the index, and stores restored from them.

use std::path::{Path, PathBuf};

use serde::Serialize;
use weft_daemon::{BackupPart, BackupSummary, BackupWriter, OpenVaultsError, Vaults, restore};
use weft_proto::noteweft::v1::{BackupRequest, BackupResponse};

use crate::cli::Global;
use crate::client::{Client, config};
use crate::commands::render;
use crate::failure::Failure;
use crate::print;

/// Result of a backup or a restore.
#[derive(Serialize)]
pub(crate) struct BackupReport {
    pub(crate) folder: PathBuf,
    pub(crate) generation: u64,
    pub(crate) n_files: usize,
    pub(crate) n_bytes: u64,
}

impl BackupReport {
    pub(crate) fn new(folder: PathBuf, copied: BackupSummary) -> Self {
        let BackupSummary { generation, n_files, n_bytes } = copied;
        Self { folder, generation, n_files, n_bytes }
    }
}

/// Writes the newest generation into `folder` and renders the result.
pub(crate) async fn run(
    client: &Client,
    folder: &Path,
    global: &Global,
) -> Result<String, Failure> {
    let folder = std::path::absolute(folder)
        .map_err(|error| Failure::usage(format!("{}: {error}", folder.display())))?;
    let copied = receive(client, &folder).await?;
    render(global.format, &BackupReport::new(folder, copied), print::backup)
}

/// Writes the newest generation of a daemon into the new or empty `folder`.
pub(crate) async fn receive(client: &Client, folder: &Path) -> Result<BackupSummary, Failure> {
    let mut writer = BackupWriter::create(folder)?;
    let mut parts = client.admin().backup(BackupRequest {}).await?.into_inner();
    while let Some(next) = parts.message().await? {
        let BackupResponse { path, bytes, crc32, total_bytes: _, done, generation } = next;
        if done {
            return Ok(writer.finish(generation)?);
        }
        writer.take(BackupPart { path, bytes, crc32 })?;
    }
    Err(Failure::other(
        "the daemon stopped before the backup was complete; the incomplete backup was removed",
    ))
}

/// Returns the store that the flags name; if they name none, the failure has the `hint`.
pub(crate) fn store(global: &Global, hint: &str) -> Result<PathBuf, Failure> {
    let (config, paths) = config(global, &global.vault, &[])?;
    match &config.settings.store.path {
        Some(path) => Ok(path.clone()),
        None => Vaults::store(&config, &paths).map_err(|error| {
            let needs_vault = matches!(error, OpenVaultsError::NoVault);
            let failure = Failure::from(error);
            if needs_vault { failure.hint(hint) } else { failure }
        }),
    }
}

/// Restores the backup in `folder` into the store that the flags name, and renders the result.
pub(crate) fn restore_into_store(folder: &Path, global: &Global) -> Result<String, Failure> {
    let hint = "name the vault of the index: weft restore FOLDER --vault ~/notes";
    let store = store(global, hint)?;
    let copied = restore(folder, &store)?;
    render(global.format, &BackupReport::new(store, copied), print::restored)
}
