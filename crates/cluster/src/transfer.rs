//! Transfers from collections to folders, and the reasons why transfers in either direction end.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use weft_index::StoreError;
use weft_indexer::scan::{self, ScanError};
use weft_model::{NoteKind, TextHash};

use crate::{ClusterError, Collection, CommitError, FolderId};

/// Number of texts that a pull reads at a time.
const TEXTS_AT_ONCE: usize = 200;

/// Result of a pull.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PullReport {
    /// Number of the log whose state was written.
    pub generation: u64,
    /// Number of written notes.
    pub n_notes: usize,
    /// Size of the written notes, in bytes.
    pub n_bytes: u64,
}

/// Reason why a transfer ended.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// The folder cannot be read.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// Another push of this vault runs.
    #[error("`{holder}` pushes the vault `{vault}` at present; try again when it is done")]
    Busy {
        /// Name of the vault.
        vault: String,
        /// Name of the other process.
        holder: String,
    },
    /// Another process writes a checkpoint.
    #[error("`{holder}` writes a checkpoint at present; try again when it is done")]
    CheckpointBusy {
        /// Name of the other process.
        holder: String,
    },
    /// The push would remove too many notes.
    #[error(
        "{n_missing} of the {n_notes} notes of the vault `{vault}` are not in the folder; if they were deleted on purpose, push with --delete-missing"
    )]
    ManyMissing {
        /// Name of the vault.
        vault: String,
        /// Number of notes that would be removed.
        n_missing: usize,
        /// Number of notes in the vault.
        n_notes: usize,
    },
    /// A folder without any of its notes would receive changes of other writers.
    #[error(
        "the folder has none of the {n_notes} notes of the vault `{vault}`; mount its disk again, or push with --watch --delete-missing if they were deleted on purpose"
    )]
    EmptyFolder {
        /// Name of the vault.
        vault: String,
        /// Number of notes in the vault.
        n_notes: usize,
    },
    /// The collection has no vault of this name.
    #[error("the collection has no vault `{vault}`; name one with --name: {}", known.join(", "))]
    UnknownVault {
        /// The name.
        vault: String,
        /// The existing names, ascending.
        known: Vec<String>,
    },
    /// The target of a pull or an export is not empty.
    #[error("{} is not empty; name a new folder", path.display())]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// A path in the collection cannot be a file of a folder.
    #[error("the collection has a file at an invalid path: {reason}")]
    Path {
        /// Reason why it is invalid.
        reason: String,
    },
    /// A file or folder cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The folder is not a complete export.
    #[error("{} is not a complete export of a collection: {reason}", path.display())]
    NotAnExport {
        /// The folder.
        path: PathBuf,
        /// Reason why it is not.
        reason: String,
    },
    /// The folder is not the store of an index.
    #[error("{} is not the store of an index: {reason}; `weft status` prints its folder", path.display())]
    NotAStore {
        /// The folder.
        path: PathBuf,
        /// Reason why it is not.
        reason: String,
    },
    /// The store of an index cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The changes were refused.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The database failed.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
}

impl Collection {
    /// Writes the notes of a vault at the newest number of the log into a new or empty folder on the machine that `machine` names.
    ///
    /// A push that watches the folder later receives what other writers changed since.
    pub fn pull(
        &self,
        vault: &str,
        folder: &Path,
        machine: &str,
    ) -> Result<PullReport, TransferError> {
        let generation = self.head()?;
        let known = self.vaults(generation)?;
        if !known.iter().any(|name| name == vault) {
            return Err(TransferError::UnknownVault { vault: vault.to_owned(), known });
        }
        create_empty(folder)?;
        let report = self.write_vault(vault, generation, folder)?;
        self.mark_seen(vault, &FolderId::new(machine, folder), generation)?;
        Ok(report)
    }

    /// Writes the notes of a vault at a number of the log into an empty folder.
    pub(crate) fn write_vault(
        &self,
        vault: &str,
        generation: u64,
        folder: &Path,
    ) -> Result<PullReport, TransferError> {
        let mut report = PullReport { generation, ..PullReport::default() };
        let files = self.files(vault, generation, None)?;
        for files in files.chunks(TEXTS_AT_ONCE) {
            let hashes: Vec<TextHash> = files.iter().map(|file| file.hash).collect();
            let texts: HashMap<TextHash, Vec<u8>> = self.blobs(&hashes)?.into_iter().collect();
            for file in files {
                // A path that leads out of the folder is not written.
                let kind = NoteKind::of(&file.path).unwrap_or_default();
                let path = scan::path_of_kind(&file.path, kind)
                    .map_err(|reason| TransferError::Path { reason })?;
                let Some(bytes) = texts.get(&file.hash) else {
                    return Err(self.missing_text(path.as_str()).into());
                };
                let target = folder.join(path.as_str());
                if let Some(parent) = target.parent() {
                    std::fs::create_dir_all(parent).map_err(failed(parent))?;
                }
                std::fs::write(&target, bytes).map_err(failed(&target))?;
                set_modified(&target, file.modified_ns).map_err(failed(&target))?;
                report.n_notes += 1;
                report.n_bytes += file.size;
            }
        }
        Ok(report)
    }
}

/// Creates a folder; fails if it has content.
pub(crate) fn create_empty(folder: &Path) -> Result<(), TransferError> {
    std::fs::create_dir_all(folder).map_err(failed(folder))?;
    match std::fs::read_dir(folder).map_err(failed(folder))?.next() {
        Some(_) => Err(TransferError::NotEmpty { path: folder.to_owned() }),
        None => Ok(()),
    }
}

/// Returns the error of a file or folder that cannot be written.
pub(crate) fn failed(path: &Path) -> impl FnOnce(std::io::Error) -> TransferError {
    let path = path.to_owned();
    move |source| TransferError::Write { path, source }
}

/// Gives a file its modification time, by which notes can be filtered.
fn set_modified(path: &Path, modified_ns: i64) -> std::io::Result<()> {
    let Ok(since) = u64::try_from(modified_ns) else { return Ok(()) };
    let time = UNIX_EPOCH + std::time::Duration::from_nanos(since);
    std::fs::File::options().write(true).open(path)?.set_modified(time)
}
