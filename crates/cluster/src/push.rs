//! Push: a vault of a collection is made equal to the notes of a folder, once or for as long as the folder is watched.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, TryRecvError};
use weft_index::notes::FileMetadata;
use weft_indexer::scan::{ScanArea, ScanError, ScanOptions, ScanResult, ScannedFile};
use weft_indexer::{
    DeletionDecision, DeletionGuardOptions, FollowedFolder, MissingNotes, WatchOptions,
};
use weft_model::{NotePath, TextHash};

use crate::{
    ClusterError, Collection, Commit, CommitError, Expected, FileChange, Lease, NewContent,
    TransferError,
};

/// Limits of one commit of a push: a follower holds the changes of a commit in memory.
const MAX_CHANGES: usize = 500;
const MAX_BYTES: usize = 16 << 20;

/// Time for which a push holds its lease, in seconds.
const LEASE_SECONDS: u32 = 60;

/// Interval at which a push renews its lease.
const RENEW: Duration = Duration::from_secs(15);

/// Pause before a failed pass, or the attempt to take the lease, is repeated.
const RETRY: Duration = Duration::from_secs(5);

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

/// An event while a folder is watched.
#[derive(Debug)]
pub enum PushEvent {
    /// Another process pushes the vault; this one takes over when that ends.
    Waiting {
        /// Name of the other process.
        holder: String,
    },
    /// The vault has the notes of the folder. Reported for the first time, and after each change.
    Pushed(PushReport),
    /// The mass-deletion guard keeps notes of missing files, or no longer does.
    Kept {
        /// Number of these notes; 0 if no file is missing any more.
        n_missing: usize,
        /// Number of notes in the vault.
        n_notes: usize,
    },
    /// A pass failed, and is repeated. The same error is reported once.
    Failed(TransferError),
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
        let watch = WatchOptions { enabled: false, ..WatchOptions::default() };
        let mut folder = FollowedFolder::new(folder, watch, options.scan.clone());
        let lease = self.take_lease(&role(vault), &options.holder, LEASE_SECONDS)?;
        let lease =
            lease.map_err(|holder| TransferError::Busy { vault: vault.to_owned(), holder })?;
        let mirror = Mirror::new(self, vault, options, lease.clone());
        let outcome = mirror.map_err(TransferError::from).and_then(|mut mirror| {
            mirror.pass(&mut folder, ScanArea::WHOLE, Guard::refusing(options))
        });
        let released = self.release_lease(&lease);
        let report = outcome?;
        released?;
        Ok(report)
    }

    /// Keeps a vault equal to the notes of a folder until the sender of `stopped` is dropped, and passes what happens to `report`.
    ///
    /// Changes are detected as the daemon detects those of its vaults. Only one process pushes a vault at a time, and a second one waits.
    /// After a failure, such as the loss of the database, the whole folder is compared again, so no change is lost.
    /// A note that another writer changed is replaced by the folder's after a conflict is reported: at the next change of the note, or with the next scan of all files.
    ///
    /// Fails if a repetition would fail as well: the folder is missing at the start, a setting is invalid, or the collection was erased.
    pub fn push_watched(
        &self,
        folder: &Path,
        vault: &str,
        (options, watch): (&PushOptions, &WatchOptions),
        stopped: &Receiver<()>,
        report: impl FnMut(PushEvent),
    ) -> Result<(), TransferError> {
        let read = |source| ScanError::Read { path: folder.to_owned(), source };
        std::fs::read_dir(folder).map_err(read)?;
        let folder = FollowedFolder::new(folder, watch.clone(), options.scan.clone());
        let mut watched = WatchedPush {
            collection: self,
            vault,
            options,
            folder,
            lease: None,
            mirror: None,
            confirms: options.removes_any,
            last_problem: None,
            report,
        };
        let outcome = watched.run(stopped);
        let released = watched.lease.map_or(Ok(()), |lease| self.release_lease(&lease));
        outcome?;
        // Without the database, the lease ends by its time.
        if let Err(error) = released {
            tracing::debug!(%error, "the lease of the push was not released");
        }
        Ok(())
    }
}

/// Returns the role of the lease of those who push a vault.
fn role(vault: &str) -> String {
    format!("watch:{vault}")
}

/// How a pass treats many missing notes.
#[derive(Clone, Copy)]
struct Guard {
    options: DeletionGuardOptions,
    removes_any: bool,
    /// True if the pass fails instead of keeping the notes.
    refuses: bool,
}

impl Guard {
    const fn refusing(options: &PushOptions) -> Self {
        let PushOptions { deletion_guard, removes_any, .. } = *options;
        Self { options: deletion_guard, removes_any, refuses: true }
    }
}

/// A push that watches its folder.
struct WatchedPush<'c, F> {
    collection: &'c Collection,
    vault: &'c str,
    options: &'c PushOptions,
    folder: FollowedFolder,
    lease: Option<Lease>,
    /// `None` until the vault is listed, and after a failure, when its state is not known.
    mirror: Option<Mirror<'c>>,
    /// True until the first pass, if that removes notes whatever their number.
    confirms: bool,
    /// The last error, or the process that was waited for, so that each is reported once.
    last_problem: Option<String>,
    report: F,
}

impl<F: FnMut(PushEvent)> WatchedPush<'_, F> {
    fn run(&mut self, stopped: &Receiver<()>) -> Result<(), TransferError> {
        while stopped.try_recv() != Err(TryRecvError::Disconnected) {
            let event = match self.turn(stopped) {
                Ok(None) => continue,
                Ok(Some(holder)) => PushEvent::Waiting { holder },
                Err(error) if is_lasting(&error) => return Err(error),
                Err(error) => {
                    if matches!(error, TransferError::Commit(CommitError::Fenced { .. })) {
                        self.lease = None;
                    }
                    self.mirror = None;
                    PushEvent::Failed(error)
                }
            };
            let problem = Some(format!("{event:?}"));
            if self.last_problem != problem {
                (self.report)(event);
                self.last_problem = problem;
            }
            if stopped.recv_timeout(RETRY) == Err(RecvTimeoutError::Disconnected) {
                break;
            }
        }
        Ok(())
    }

    /// Sends the next changes, or waits for some; returns the holder of the lease if that is another process.
    fn turn(&mut self, stopped: &Receiver<()>) -> Result<Option<String>, TransferError> {
        let Self { collection, vault, options, .. } = *self;
        let lease = match &self.lease {
            Some(lease) => lease.clone(),
            None => match collection.take_lease(&role(vault), &options.holder, LEASE_SECONDS)? {
                Ok(lease) => self.lease.insert(lease).clone(),
                Err(holder) => return Ok(Some(holder)),
            },
        };
        let is_first = self.mirror.is_none();
        let mirror = match &mut self.mirror {
            Some(mirror) => mirror,
            None => {
                let mut mirror = Mirror::new(collection, vault, options, lease)?;
                mirror.renew()?;
                self.folder.scan_now();
                self.mirror.insert(mirror)
            }
        };
        let area = self.folder.wait(stopped, RENEW);
        mirror.renew_if_due()?;
        if area.is_nothing() {
            return Ok(None);
        }
        let n_before = mirror.kept.len();
        let removes_any = self.confirms;
        let guard = Guard { options: options.deletion_guard, removes_any, refuses: false };
        let pushed = mirror.pass(&mut self.folder, area, guard)?;
        (self.confirms, self.last_problem) = (false, None);
        let (n_missing, n_notes) = (mirror.kept.len(), mirror.stored.len());
        let PushReport { n_put, n_moved, n_removed, .. } = pushed;
        if is_first || n_put + n_moved + n_removed > 0 || !pushed.unreadable.is_empty() {
            (self.report)(PushEvent::Pushed(pushed));
        }
        if n_missing != n_before {
            (self.report)(PushEvent::Kept { n_missing, n_notes });
        }
        Ok(None)
    }
}

/// Returns true if a repetition would fail as well.
const fn is_lasting(error: &TransferError) -> bool {
    match error {
        TransferError::Cluster(error) | TransferError::Commit(CommitError::Cluster(error)) => {
            matches!(error, ClusterError::UnknownCollection { .. } | ClusterError::Name { .. })
        }
        TransferError::Scan(error) => matches!(error, ScanError::Glob { .. }),
        TransferError::Commit(CommitError::Conflict { .. } | CommitError::Fenced { .. })
        | TransferError::Busy { .. }
        | TransferError::CheckpointBusy { .. }
        | TransferError::ManyMissing { .. }
        | TransferError::UnknownVault { .. }
        | TransferError::NotEmpty { .. }
        | TransferError::NotAnExport { .. }
        | TransferError::NotAStore { .. }
        | TransferError::Store(_)
        | TransferError::Path { .. }
        | TransferError::Write { .. } => false,
    }
}

/// A vault that is made equal to a folder, by the holder of its lease.
struct Mirror<'c> {
    collection: &'c Collection,
    vault: &'c str,
    options: &'c PushOptions,
    lease: Lease,
    renewed: Instant,
    /// Number of the last commit; that of the listing before the first one.
    generation: u64,
    /// Number up to which no other writer changed the vault.
    checked: u64,
    /// Notes of the vault: the hash of each, and the metadata of its file when it was read.
    stored: BTreeMap<String, FileMetadata>,
    /// Notes that the mass-deletion guard keeps although their files are missing.
    kept: BTreeSet<NotePath>,
}

/// A change, and the metadata of the file that the note then has; default ones for a removal.
type MirroredChange = (FileChange, FileMetadata);

impl<'c> Mirror<'c> {
    /// Lists the vault as it is now.
    fn new(
        collection: &'c Collection,
        vault: &'c str,
        options: &'c PushOptions,
        lease: Lease,
    ) -> Result<Self, ClusterError> {
        let generation = collection.head()?;
        let stored = collection.files(vault, generation, None)?;
        let unread = |hash| FileMetadata { hash, ..FileMetadata::default() };
        let stored = stored.into_iter().map(|file| (file.path, unread(file.hash))).collect();
        Ok(Self {
            collection,
            vault,
            options,
            lease,
            renewed: Instant::now(),
            generation,
            checked: generation,
            stored,
            kept: BTreeSet::new(),
        })
    }

    /// Extends the lease; fails if another process took it.
    fn renew(&mut self) -> Result<(), TransferError> {
        if !self.collection.renew_lease(&self.lease, LEASE_SECONDS)? {
            return Err(CommitError::Fenced { role: self.lease.role.clone() }.into());
        }
        self.renewed = Instant::now();
        Ok(())
    }

    fn renew_if_due(&mut self) -> Result<(), TransferError> {
        if self.renewed.elapsed() >= RENEW { self.renew() } else { Ok(()) }
    }

    /// Fails with a conflict if another writer changed the vault.
    fn require_own(&mut self) -> Result<(), TransferError> {
        let head = self.collection.head()?;
        let mut changes = self.collection.changes(self.checked, head)?;
        let paths = changes.remove(self.vault).unwrap_or_default();
        let files = self.collection.files(self.vault, head, Some(&paths))?;
        let hashes: BTreeMap<&str, TextHash> =
            files.iter().map(|file| (&*file.path, file.hash)).collect();
        for path in &paths {
            let actual = hashes.get(&**path).copied();
            if actual != self.stored.get(path).map(|known| known.hash) {
                let (vault, path) = (self.vault.to_owned(), path.clone());
                return Err(CommitError::Conflict { vault, path, actual }.into());
            }
        }
        self.checked = head;
        Ok(())
    }

    /// Makes the notes in `area` equal to those of the folder.
    fn pass(
        &mut self,
        folder: &mut FollowedFolder,
        area: ScanArea,
        guard: Guard,
    ) -> Result<PushReport, TransferError> {
        let (area, scanned) = folder.scan(area)?;
        if area.is_whole() {
            self.require_own()?;
        }
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
        let commit = Commit { lease: Some(self.lease.clone()), ..Commit::of(changes) };
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
