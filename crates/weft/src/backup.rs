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
    fn new(folder: PathBuf, copied: BackupSummary) -> Self {
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
    let mut writer = BackupWriter::create(&folder)?;
    let mut parts = client.admin().backup(BackupRequest {}).await?.into_inner();
    while let Some(next) = parts.message().await? {
        let BackupResponse { path, bytes, crc32, total_bytes: _, done, generation } = next;
        if done {
            let report = BackupReport::new(folder, writer.finish(generation)?);
            return render(global.format, &report, print::backup);
        }
        writer.take(BackupPart { path, bytes, crc32 })?;
    }
    Err(Failure::other(
        "the daemon stopped before the backup was complete; the incomplete backup was removed",
    ))
}

/// Restores the backup in `folder` into the store that the flags name, and renders the result.
pub(crate) fn restore_into_store(folder: &Path, global: &Global) -> Result<String, Failure> {
    let (config, paths) = config(global, &global.vault, &[])?;
    let store = match &config.settings.store.path {
        Some(path) => path.clone(),
        None => Vaults::store(&config, &paths).map_err(|error| {
            let needs_vault = matches!(error, OpenVaultsError::NoVault);
            let failure = Failure::from(error);
            if needs_vault {
                failure.hint("name the vault of the index: weft restore FOLDER --vault ~/notes")
            } else {
                failure
            }
        })?,
    };
    let copied = restore(folder, &store)?;
    render(global.format, &BackupReport::new(store, copied), print::restored)
}
