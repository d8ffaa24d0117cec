//! Mirrors: a vault of a collection that one process keeps equal to a folder.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use weft_index::notes::FileMetadata;
use weft_indexer::scan::{ScanArea, ScanOptions, ScanResult, ScannedFile};
use weft_indexer::{DeletionDecision, DeletionGuardOptions, FollowedFolder, MissingNotes};
use weft_model::{NotePath, TextHash};

use crate::{
    ClusterError, Collection, Commit, CommitError, Expected, FileChange, FolderId, Lease,
    NewContent, TransferError,
};

/// Limits of one commit of a push: a follower holds the changes of a commit in memory.
const MAX_CHANGES: usize = 500;
const MAX_BYTES: usize = 16 << 20;

/// Time for which a push holds its lease, in seconds.
pub(crate) const LEASE_SECONDS: u32 = 60;

/// Interval at which a push renews its lease.
const RENEW: Duration = Duration::from_secs(15);

/// Options of a push.
#[derive(Clone, Debug)]
pub struct PushOptions {
    /// Which files to send.
    pub scan: ScanOptions,
    /// When a push that would remove many notes is refused, or while watching, keeps them.
    pub deletion_guard: DeletionGuardOptions,
    /// True if notes are removed whatever their number; while watching, only those that are missing at the start.
    pub removes_any: bool,
    /// Name of the process that holds the lease meanwhile.
    pub holder: String,
    /// Name of this machine, the same in each push. With the path of the folder, it tells the folder from copies of it.
    pub machine: String,
}

/// Result of a push, or of one pass while the folder is watched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PushReport {
    /// Newest number of the log that contains the changes.
    pub generation: u64,
    /// Number of new and changed notes.
    pub n_put: usize,
    /// Number of notes that have another path, with the same content.
    pub n_moved: usize,
    /// Number of removed notes.
    pub n_removed: usize,
    /// Number of notes that were equal already.
    pub n_unchanged: usize,
    /// Files that could not be read, each with the reason; their notes stay as they are.
    pub unreadable: Vec<String>,
}

/// How a pass treats many missing notes.
#[derive(Clone, Copy)]
pub(crate) struct Guard {
    pub(crate) options: DeletionGuardOptions,
    pub(crate) removes_any: bool,
    /// True if the pass fails instead of keeping the notes.
    pub(crate) refuses: bool,
}

impl Guard {
    pub(crate) const fn refusing(options: &PushOptions) -> Self {
        let PushOptions { deletion_guard, removes_any, .. } = *options;
        Self { options: deletion_guard, removes_any, refuses: true }
    }
}

/// A vault that is made equal to a folder, by the holder of its lease.
pub(crate) struct Mirror<'c> {
    pub(crate) collection: &'c Collection,
    pub(crate) vault: &'c str,
    pub(crate) options: &'c PushOptions,
    lease: Lease,
    renewed: Instant,
    /// Number of the last commit; that of the listing before the first one.
    generation: u64,
    /// Identity of the folder.
    pub(crate) folder_id: FolderId,
    /// Number of the newest commit whose changes were received, apart from those in `behind`; `None` without a common state to merge by.
    pub(crate) seen: Option<u64>,
    /// Notes whose newest state the folder cannot have; `stored` keeps the state before.
    pub(crate) behind: BTreeSet<String>,
    /// Notes of the vault: the hash of each, and the metadata of its file when it was read.
    pub(crate) stored: BTreeMap<String, FileMetadata>,
    /// Notes that the mass-deletion guard keeps although their files are missing.
    pub(crate) kept: BTreeSet<NotePath>,
}

/// A change, and the metadata of the file that the note then has; default ones for a removal.
type MirroredChange = (FileChange, FileMetadata);

impl<'c> Mirror<'c> {
    /// Lists the vault as it is now: the folder replaces what other writers changed.
    pub(crate) fn new(
        collection: &'c Collection,
        vault: &'c str,
        options: &'c PushOptions,
        (lease, folder_id): (Lease, FolderId),
    ) -> Result<Self, ClusterError> {
        let head = collection.head()?;
        let mut mirror = Self::without_base(collection, vault, options, (lease, folder_id));
        mirror.list(head)?;
        Ok(mirror)
    }

    /// Lists the vault as the folder had it when its last mirror ended, so that [`receive`](Self::receive) brings into the folder what other writers changed since.
    ///
    /// If the log does not have that state any more, both sides are merged without it. A folder that was neither pushed nor pulled replaces the vault as it is now.
    pub(crate) fn resume(
        collection: &'c Collection,
        vault: &'c str,
        options: &'c PushOptions,
        (lease, folder_id): (Lease, FolderId),
    ) -> Result<Self, ClusterError> {
        let Some(seen) = collection.seen(vault, &folder_id)? else {
            return Self::new(collection, vault, options, (lease, folder_id));
        };
        let mut mirror = Self::without_base(collection, vault, options, (lease, folder_id));
        mirror.list(seen)?;
        // The floor is read last, since it may rise meanwhile. The log may also have been set back.
        if collection.floor()? > seen || collection.head()? < seen {
            (mirror.seen, mirror.stored) = (None, BTreeMap::new());
        }
        Ok(mirror)
    }

    fn without_base(
        collection: &'c Collection,
        vault: &'c str,
        options: &'c PushOptions,
        (lease, folder_id): (Lease, FolderId),
    ) -> Self {
        Self {
            collection,
            vault,
            options,
            lease,
            renewed: Instant::now(),
            generation: 0,
            folder_id,
            seen: None,
            behind: BTreeSet::new(),
            stored: BTreeMap::new(),
            kept: BTreeSet::new(),
        }
    }

    fn list(&mut self, generation: u64) -> Result<(), ClusterError> {
        let stored = self.collection.files(self.vault, generation, None)?;
        let unread = |hash| FileMetadata { hash, ..FileMetadata::default() };
        self.stored = stored.into_iter().map(|file| (file.path, unread(file.hash))).collect();
        (self.generation, self.seen) = (generation, Some(generation));
        Ok(())
    }

    /// Extends the lease; fails if another process took it.
    pub(crate) fn renew(&mut self) -> Result<(), TransferError> {
        if !self.collection.renew_lease(&self.lease, LEASE_SECONDS)? {
            return Err(CommitError::Fenced { role: self.lease.role.clone() }.into());
        }
        self.mark_seen()?;
        self.renewed = Instant::now();
        Ok(())
    }

    /// Stores up to which number the folder has the changes of other writers, unless it is behind with some.
    pub(crate) fn mark_seen(&self) -> Result<(), ClusterError> {
        match self.seen {
            Some(seen) if self.behind.is_empty() => {
                self.collection.mark_seen(self.vault, &self.folder_id, seen)
            }
            Some(_) | None => Ok(()),
        }
    }

    pub(crate) fn renew_if_due(&mut self) -> Result<(), TransferError> {
        if self.renewed.elapsed() >= RENEW { self.renew() } else { Ok(()) }
    }

    /// Makes the notes in `area` equal to those of the folder.
    pub(crate) fn pass(
        &mut self,
        folder: &mut FollowedFolder,
        area: ScanArea,
        guard: Guard,
    ) -> Result<PushReport, TransferError> {
        let (area, scanned) = folder.scan(area)?;
        let mut report = PushReport::default();
        let n_notes = self.stored.len();
        let mut missing = self.missing(&area, &scanned, &mut report);
        let (mut puts, mut moves) = (Vec::new(), Vec::new());
        for file in &scanned.found {
            let path = file.path.as_str();
            let known = self.stored.get(path).copied();
            // A smaller area was reported as changed.
            if area.is_whole() && known.is_some_and(|known| known.is_unchanged(&file.facts)) {
                report.n_unchanged += 1;
                continue;
            }
            self.renew_if_due()?;
            let facts = match folder.read(file) {
                Ok((_, facts)) => facts,
                Err(error) => {
                    report.unreadable.push(error.to_string());
                    continue;
                }
            };
            match known {
                Some(known) if known.hash == facts.hash => {
                    report.n_unchanged += 1;
                    self.stored.insert(path.to_owned(), facts);
                }
                // Its bytes are read again when they are sent, so that the folder is not held in memory.
                Some(known) => puts.push((file, Some(known.hash))),
                None => match missing.take_moved(facts.hash) {
                    Some(from) => moves.push((from, file, facts)),
                    None => puts.push((file, None)),
                },
            }
        }
        let holds = |n_missing| !guard.removes_any && guard.options.holds(n_missing, n_notes);
        let DeletionDecision { kept, dropped } = missing.decide(&[], holds);
        if guard.refuses && !kept.is_empty() {
            let (vault, n_missing) = (self.vault.to_owned(), kept.len());
            return Err(TransferError::ManyMissing { vault, n_missing, n_notes });
        }
        self.kept = kept;
        (report.n_moved, report.n_removed) = (moves.len(), dropped.len());
        let mut commits = Commits::default();
        for (from, file, facts) in moves {
            let moved = self.moved(&from, file, facts);
            commits.add(self, moved)?;
        }
        for (path, _) in dropped {
            let hash = self.stored.get(path.as_str()).map(|known| known.hash);
            let removed = self.change(&path, hash, NewContent::Removed);
            commits.add(self, vec![(removed, FileMetadata::default())])?;
        }
        for (file, hash) in puts {
            match folder.read(file) {
                Ok((bytes, facts)) => {
                    report.n_put += 1;
                    let put = self.change(&file.path, hash, NewContent::Bytes(bytes));
                    let modified_ns = Some(facts.modified_ns);
                    commits.add(self, vec![(FileChange { modified_ns, ..put }, facts)])?;
                }
                Err(error) => report.unreadable.push(error.to_string()),
            }
        }
        commits.send(self)?;
        report.generation = self.generation;
        Ok(report)
    }

    /// Returns the notes at or below `area` whose files the scan did not find, and those that are missing elsewhere.
    fn missing(
        &self,
        area: &ScanArea,
        scanned: &ScanResult,
        report: &mut PushReport,
    ) -> MissingNotes<()> {
        let found: BTreeSet<&str> = scanned.found.iter().map(|file| file.path.as_str()).collect();
        let mut missing: BTreeMap<NotePath, TextHash> = BTreeMap::new();
        let elsewhere = self.kept.iter().map(NotePath::as_str);
        let elsewhere = elsewhere.filter_map(|path| self.stored.get_key_value(path));
        let here = area.paths();
        let here = here.iter().flat_map(|path| at_or_below(&self.stored, path));
        for (path, known) in
            here.chain(elsewhere).filter(|(path, _)| !found.contains(path.as_str()))
        {
            missing.insert(NotePath::new(path.as_str()), known.hash);
        }
        for skipped in scanned.skipped.iter().filter(|skipped| skipped.failed) {
            report.unreadable.push(format!("{}: {}", skipped.path, skipped.reason));
            let unreadable = skipped.path.trim_end_matches('/');
            let below = at_or_below(&self.stored, unreadable);
            below.for_each(|(path, _)| {
                missing.remove(&NotePath::new(path.as_str()));
            });
        }
        MissingNotes::new(missing, &scanned.skipped, &self.options.scan)
    }

    fn change(
        &self,
        path: &NotePath,
        expected: Option<TextHash>,
        content: NewContent,
    ) -> FileChange {
        FileChange::new(self.vault, path.as_str(), Expected::Content(expected), content)
    }

    /// Returns the changes that move a note to the path of `file`, which has its content. They belong into one commit, and no text is sent.
    fn moved(
        &self,
        from: &NotePath,
        file: &ScannedFile,
        facts: FileMetadata,
    ) -> Vec<MirroredChange> {
        let removed = self.change(from, Some(facts.hash), NewContent::Removed);
        let put = self.change(&file.path, None, NewContent::Stored(facts.hash));
        let put = FileChange { modified_ns: Some(facts.modified_ns), ..put };
        vec![(removed, FileMetadata::default()), (put, facts)]
    }

    fn commit(&mut self, changes: Vec<MirroredChange>) -> Result<(), TransferError> {
        let (changes, facts): (Vec<FileChange>, Vec<FileMetadata>) = changes.into_iter().unzip();
        let (lease, folder) = (Some(self.lease.clone()), Some(self.folder_id.clone()));
        let commit = Commit { lease, folder, ..Commit::of(changes) };
        self.generation = self.collection.commit(&commit)?;
        for (FileChange { path, content, .. }, facts) in commit.changes.into_iter().zip(facts) {
            match content {
                NewContent::Removed => {
                    self.stored.remove(&path);
                }
                NewContent::Bytes(_) | NewContent::Stored(_) => {
                    self.stored.insert(path, facts);
                }
            }
        }
        self.renew_if_due()
    }
}

/// Returns the notes at `path` and below it; all notes for the empty path.
fn at_or_below<'s>(
    notes: &'s BTreeMap<String, FileMetadata>,
    path: &str,
) -> impl Iterator<Item = (&'s String, &'s FileMetadata)> + use<'s> {
    let below = if path.is_empty() { String::new() } else { format!("{path}/") };
    let at = notes.get_key_value(path);
    let below = notes.range(below.clone()..).take_while(move |(path, _)| path.starts_with(&below));
    at.into_iter().chain(below)
}

/// Changes that are collected into commits of a limited size.
#[derive(Default)]
struct Commits {
    changes: Vec<MirroredChange>,
    n_bytes: usize,
}

impl Commits {
    /// Adds changes that belong into one commit, and sends the collected ones first if the next commit would be too large.
    fn add(
        &mut self,
        mirror: &mut Mirror<'_>,
        changes: Vec<MirroredChange>,
    ) -> Result<(), TransferError> {
        let n_bytes: usize = changes.iter().map(|(change, _)| n_bytes(change)).sum();
        let n_changes = self.changes.len() + changes.len();
        if n_changes > MAX_CHANGES || self.n_bytes + n_bytes > MAX_BYTES {
            self.send(mirror)?;
        }
        self.n_bytes += n_bytes;
        self.changes.extend(changes);
        Ok(())
    }

    fn send(&mut self, mirror: &mut Mirror<'_>) -> Result<(), TransferError> {
        self.n_bytes = 0;
        match std::mem::take(&mut self.changes) {
            changes if changes.is_empty() => Ok(()),
            changes => mirror.commit(changes),
        }
    }
}

/// Returns the number of bytes that a change sends.
const fn n_bytes(change: &FileChange) -> usize {
    match &change.content {
        NewContent::Bytes(bytes) => bytes.len(),
        NewContent::Removed | NewContent::Stored(_) => 0,
    }
}
