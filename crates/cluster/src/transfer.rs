//! Transfers between folders and collections: push sends the notes of a folder, pull writes those of a vault.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use weft_indexer::scan::{self, ScanArea, ScanError, ScanOptions};
use weft_indexer::{DeletionGuardOptions, hash_of};
use weft_model::{NoteKind, TextHash};

use crate::{
    ClusterError, Collection, Commit, CommitError, Expected, FileChange, LoggedFile, NewContent,
};

/// Limits of one commit of a push: a follower holds the changes of a commit in memory.
const MAX_CHANGES: usize = 500;
const MAX_BYTES: usize = 16 << 20;

/// Number of texts that a pull reads at a time.
const TEXTS_AT_ONCE: usize = 200;

/// Time for which a push holds its lease, in seconds; each commit renews it.
const LEASE_SECONDS: u32 = 120;

/// Options of a push.
#[derive(Clone, Debug)]
pub struct PushOptions {
    /// Which files to send.
    pub scan: ScanOptions,
    /// When a push that would remove many notes is refused.
    pub deletion_guard: DeletionGuardOptions,
    /// True if notes are removed whatever their number.
    pub removes_any: bool,
    /// Name of the process that holds the lease meanwhile.
    pub holder: String,
}

/// Result of a push.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PushReport {
    /// Newest number of the log that contains the changes.
    pub generation: u64,
    /// Number of new and changed notes.
    pub n_put: usize,
    /// Number of removed notes.
    pub n_removed: usize,
    /// Number of notes that were equal already.
    pub n_unchanged: usize,
    /// Files that could not be read, each with the reason; their notes stay as they are.
    pub unreadable: Vec<String>,
}

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
    /// The collection has no vault of this name.
    #[error("the collection has no vault `{vault}`; name one with --name: {}", known.join(", "))]
    UnknownVault {
        /// The name.
        vault: String,
        /// The existing names, ascending.
        known: Vec<String>,
    },
    /// The target of a pull is not empty.
    #[error("{} is not empty; pull into a new folder", path.display())]
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
    /// The changes were refused.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The database failed.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
}

impl Collection {
    /// Makes a vault equal to the notes of a folder; creates the vault if it does not exist.
    ///
    /// Sends only what differs. Each commit holds many changes, so an interrupted push leaves a prefix of them, and the next one sends the rest.
    /// A note that another writer changes meanwhile is not overwritten: the push ends with a conflict.
    pub fn push(
        &self,
        folder: &Path,
        vault: &str,
        options: &PushOptions,
    ) -> Result<PushReport, TransferError> {
        let role = format!("push:{vault}");
        let lease = self.take_lease(&role, &options.holder, LEASE_SECONDS)?;
        let lease =
            lease.map_err(|holder| TransferError::Busy { vault: vault.to_owned(), holder })?;
        let mut push = Push::new(self, lease.clone());
        let outcome = push.run(folder, vault, options);
        let released = self.release_lease(&lease);
        let report = outcome?;
        released?;
        Ok(report)
    }

    /// Writes the notes of a vault at the newest number of the log into a new or empty folder.
    pub fn pull(&self, vault: &str, folder: &Path) -> Result<PullReport, TransferError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| TransferError::Write { path, source }
        };
        let generation = self.head()?;
        let known = self.vaults(generation)?;
        if !known.iter().any(|name| name == vault) {
            return Err(TransferError::UnknownVault { vault: vault.to_owned(), known });
        }
        std::fs::create_dir_all(folder).map_err(failed(folder))?;
        if std::fs::read_dir(folder).map_err(failed(folder))?.next().is_some() {
            return Err(TransferError::NotEmpty { path: folder.to_owned() });
        }
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
                    let reason = format!("the text of `{path}` is missing");
                    let place = self.database.place().to_owned();
                    return Err(ClusterError::Damaged { place, reason }.into());
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

/// Gives a file its modification time, by which notes can be filtered.
fn set_modified(path: &Path, modified_ns: i64) -> std::io::Result<()> {
    let Ok(since) = u64::try_from(modified_ns) else { return Ok(()) };
    let time = UNIX_EPOCH + std::time::Duration::from_nanos(since);
    std::fs::File::options().write(true).open(path)?.set_modified(time)
}

/// A push that runs.
struct Push<'c> {
    collection: &'c Collection,
    lease: crate::Lease,
    changes: Vec<FileChange>,
    n_bytes: usize,
    report: PushReport,
}

impl<'c> Push<'c> {
    fn new(collection: &'c Collection, lease: crate::Lease) -> Self {
        let (changes, report) = (Vec::new(), PushReport::default());
        Self { collection, lease, changes, n_bytes: 0, report }
    }

    fn run(
        &mut self,
        folder: &Path,
        vault: &str,
        options: &PushOptions,
    ) -> Result<PushReport, TransferError> {
        let head = self.collection.head()?;
        self.report.generation = head;
        let stored = self.collection.files(vault, head, None)?;
        let mut stored: BTreeMap<String, LoggedFile> =
            stored.into_iter().map(|file| (file.path.clone(), file)).collect();
        let n_notes = stored.len();
        let root = folder
            .canonicalize()
            .map_err(|source| ScanError::Read { path: folder.to_owned(), source })?;
        let scanned = scan::scan(&root, &options.scan, &ScanArea::WHOLE)?;
        let mut puts = Vec::new();
        for file in &scanned.found {
            let old = stored.remove(file.path.as_str());
            match scan::read(&root, &file.file, options.scan.max_file_bytes) {
                Ok(bytes) if old.as_ref().is_some_and(|old| old.hash == hash_of(&bytes)) => {
                    self.report.n_unchanged += 1;
                }
                // Its bytes are read again when they are sent, so that the folder is not held in memory.
                Ok(_) => puts.push((file, old.map(|old| old.hash))),
                Err(error) => self.report.unreadable.push(error.to_string()),
            }
        }
        for skipped in scanned.skipped.iter().filter(|skipped| skipped.failed) {
            self.report.unreadable.push(format!("{}: {}", skipped.path, skipped.reason));
            stored.retain(|path, _| {
                let rest = path.strip_prefix(skipped.path.trim_end_matches('/'));
                !rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            });
        }
        if !options.removes_any && options.deletion_guard.holds(stored.len(), n_notes) {
            let (vault, n_missing) = (vault.to_owned(), stored.len());
            return Err(TransferError::ManyMissing { vault, n_missing, n_notes });
        }
        // Removals come with the first puts, so that a renamed note is moved by one commit.
        for (path, file) in &stored {
            let expected = Expected::Content(Some(file.hash));
            self.add(FileChange::new(vault, path, expected, NewContent::Removed), 0)?;
            self.report.n_removed += 1;
        }
        for (file, old) in puts {
            let bytes = match scan::read(&root, &file.file, options.scan.max_file_bytes) {
                Ok(bytes) => bytes,
                Err(error) => {
                    self.report.unreadable.push(error.to_string());
                    continue;
                }
            };
            let n_bytes = bytes.len();
            let (path, expected) = (file.path.as_str(), Expected::Content(old));
            let modified_ns = Some(file.facts.modified_ns);
            let change = FileChange::new(vault, path, expected, NewContent::Bytes(bytes));
            self.add(FileChange { modified_ns, ..change }, n_bytes)?;
            self.report.n_put += 1;
        }
        self.send()?;
        Ok(std::mem::take(&mut self.report))
    }

    /// Adds a change, and sends the collected ones first if the next commit would be too large.
    fn add(&mut self, change: FileChange, n_bytes: usize) -> Result<(), TransferError> {
        if self.changes.len() >= MAX_CHANGES || self.n_bytes + n_bytes > MAX_BYTES {
            self.send()?;
        }
        self.n_bytes += n_bytes;
        self.changes.push(change);
        Ok(())
    }

    fn send(&mut self) -> Result<(), TransferError> {
        if self.changes.is_empty() {
            return Ok(());
        }
        let changes = std::mem::take(&mut self.changes);
        self.n_bytes = 0;
        let lease = Some(self.lease.clone());
        let commit = Commit { lease, ..Commit::of(changes) };
        self.report.generation = self.collection.commit(&commit)?;
        if !self.collection.renew_lease(&self.lease, LEASE_SECONDS)? {
            return Err(CommitError::Fenced { role: self.lease.role.clone() }.into());
        }
        Ok(())
    }
}
