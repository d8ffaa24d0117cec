//! Checkpoints: backups of the index of a node, from which a new node starts instead of reading the whole log.
//!
//! ```text
//! <place>/<collection>/<generation>/       a backup, complete once it has this name
//! <place>/<collection>/.partial-<epoch>/   one that is being written
//! ```

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use weft_index::{BackupSummary, restore};
use weft_indexer::scan::ScanError;

use crate::transfer::failed;
use crate::{Collection, CommitError, Lease, TransferError};

/// Role of the lease of the process that writes a checkpoint.
const ROLE: &str = "checkpoint";

/// Time for which a checkpoint may be written before another process may write one, in seconds.
const LEASE_SECONDS: u32 = 900;

/// Number of checkpoints that are kept: a node may be reading the one before the newest.
const KEPT: usize = 2;

/// Begins the name of a checkpoint that is being written.
const PARTIAL: &str = ".partial-";

/// A checkpoint that is being written. Dropping it before [`end`](Self::end) removes it.
#[derive(Debug)]
pub struct CheckpointWriter {
    collection: Collection,
    lease: Lease,
    /// Folder of the checkpoints of the collection.
    base: PathBuf,
    partial: PathBuf,
}

impl CheckpointWriter {
    /// Begins a checkpoint below `place`; fails if another process writes one. `holder` names this process.
    pub fn begin(
        collection: &Collection,
        place: &Path,
        holder: &str,
    ) -> Result<Self, TransferError> {
        let lease = collection.take_lease(ROLE, holder, LEASE_SECONDS)?;
        let lease = lease.map_err(|holder| TransferError::CheckpointBusy { holder })?;
        let base = place.join(collection.uid());
        let partial = base.join(format!("{PARTIAL}{}", lease.epoch));
        let writer = Self { collection: collection.clone(), lease, base, partial };
        fs::create_dir_all(&writer.base).map_err(failed(&writer.base))?;
        // No other process writes, so interrupted ones left these.
        for name in names(&writer.base)?.iter().filter(|name| name.starts_with(PARTIAL)) {
            let path = writer.base.join(name);
            fs::remove_dir_all(&path).map_err(failed(&path))?;
        }
        Ok(writer)
    }

    /// Folder to write the backup into; it does not exist yet.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.partial
    }

    /// Makes the backup the checkpoint of `generation`, removes all but the newest ones, and returns its folder.
    ///
    /// Fails if another process took the lease because writing took too long.
    pub fn end(self, generation: u64) -> Result<PathBuf, TransferError> {
        if !self.collection.renew_lease(&self.lease, LEASE_SECONDS)? {
            return Err(CommitError::Fenced { role: self.lease.role.clone() }.into());
        }
        let folder = self.base.join(generation.to_string());
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(failed(&folder))?;
        }
        fs::rename(&self.partial, &folder).map_err(failed(&folder))?;
        for old in stored(&self.base)?.into_iter().skip(KEPT) {
            let path = self.base.join(old.to_string());
            fs::remove_dir_all(&path).map_err(failed(&path))?;
        }
        Ok(folder)
    }
}

impl Drop for CheckpointWriter {
    fn drop(&mut self) {
        // A folder that remains is removed by the next writer, and the lease ends by its time.
        let _ = fs::remove_dir_all(&self.partial);
        let _ = self.collection.release_lease(&self.lease);
    }
}

impl Collection {
    /// Restores the newest intact checkpoint below `place` that belongs to the log of this collection to `store`, which must be empty or missing.
    ///
    /// Returns `None` if there is no such checkpoint. Damaged ones are reported in the log of the process.
    pub fn restore_checkpoint(
        &self,
        place: &Path,
        store: &Path,
    ) -> Result<Option<BackupSummary>, TransferError> {
        let base = place.join(self.uid());
        let head = self.head()?;
        if let Some(parent) = store.parent() {
            fs::create_dir_all(parent).map_err(failed(parent))?;
        }
        // One after the head was written before the database was restored to an earlier state.
        for generation in stored(&base)?.into_iter().filter(|generation| *generation <= head) {
            match restore(&base.join(generation.to_string()), store) {
                Ok(restored) => return Ok(Some(restored)),
                Err(error) => tracing::warn!(%error, generation, "a checkpoint cannot be used"),
            }
        }
        Ok(None)
    }
}

/// Returns the generations of the complete checkpoints in a folder, newest first; none if it does not exist.
fn stored(base: &Path) -> Result<Vec<u64>, TransferError> {
    let mut stored: Vec<u64> = names(base)?.iter().filter_map(|name| name.parse().ok()).collect();
    stored.sort_unstable_by(|a, b| b.cmp(a));
    Ok(stored)
}

/// Returns the names in a folder; none if it does not exist.
fn names(base: &Path) -> Result<Vec<String>, TransferError> {
    let read = |source| ScanError::Read { path: base.to_owned(), source };
    match fs::read_dir(base) {
        Ok(entries) => {
            let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
            Ok(names.collect::<std::io::Result<_>>().map_err(read)?)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(read(error).into()),
    }
}
