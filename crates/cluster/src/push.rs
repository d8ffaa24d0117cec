//! Push: a vault of a collection is made equal to the notes of a folder, once or for as long as the folder is watched.

use std::path::Path;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, TryRecvError};
use weft_indexer::scan::{ScanArea, ScanError};
use weft_indexer::{FollowedFolder, WatchOptions};

use crate::mirror::{Guard, LEASE_SECONDS, Mirror, PushOptions, PushReport};
use crate::received_changes::ReceivedReport;
use crate::{ClusterError, Collection, CommitError, FolderId, Lease, TransferError};

/// Pause before a failed pass, or the attempt to take the lease, is repeated.
const RETRY: Duration = Duration::from_secs(5);

/// Interval at which a push asks for changes of other writers.
const POLL: Duration = Duration::from_millis(500);

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
    /// The folder has what other writers changed in the vault.
    Received(ReceivedReport),
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
        path: &Path,
        vault: &str,
        options: &PushOptions,
    ) -> Result<PushReport, TransferError> {
        let watch = WatchOptions { enabled: false, ..WatchOptions::default() };
        let mut folder = FollowedFolder::new(path, watch, options.scan.clone());
        let lease = self.take_lease(&role(vault), &options.holder, LEASE_SECONDS)?;
        let lease =
            lease.map_err(|holder| TransferError::Busy { vault: vault.to_owned(), holder })?;
        let id = FolderId::new(&options.machine, path);
        let mirror = Mirror::new(self, vault, options, (lease.clone(), id));
        let outcome = mirror.map_err(TransferError::from).and_then(|mut mirror| {
            let report = mirror.pass(&mut folder, ScanArea::WHOLE, Guard::refusing(options))?;
            mirror.mark_seen()?;
            Ok(report)
        });
        let released = self.release_lease(&lease);
        let report = outcome?;
        released?;
        Ok(report)
    }

    /// Keeps a vault and the notes of a folder equal until the sender of `stopped` is dropped, and passes what happens to `report`.
    ///
    /// Changes of the folder are detected as the daemon detects those of its vaults. Only one process pushes a vault at a time, and a second one waits.
    /// After a failure, such as the loss of the database, the whole folder is compared again, so no change is lost.
    ///
    /// The first push of a folder makes the vault equal to it. From then on, and after a pull into the folder, it receives what other writers change in the vault, also while no process pushed it.
    /// If both sides changed a note, the folder keeps its text, and a conflict copy beside it gets the other one. If one side removed the note, the changed text wins.
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
        let id = FolderId::new(&options.machine, folder);
        let folder = FollowedFolder::new(folder, watch.clone(), options.scan.clone());
        let mut watched = WatchedPush {
            collection: self,
            vault,
            options,
            folder,
            id,
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

/// A push that watches its folder.
struct WatchedPush<'c, F> {
    collection: &'c Collection,
    vault: &'c str,
    options: &'c PushOptions,
    folder: FollowedFolder,
    id: FolderId,
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
                Err(TransferError::Commit(CommitError::Conflict { .. })) => {
                    // Another writer was faster; its change is received first.
                    if self.mirror.as_ref().is_some_and(|mirror| !mirror.behind.is_empty()) {
                        self.mirror = None;
                    }
                    self.folder.scan_now();
                    let _ = stopped.recv_timeout(POLL);
                    continue;
                }
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
                let place = (lease, self.id.clone());
                let mut mirror = Mirror::resume(collection, vault, options, place)?;
                mirror.renew()?;
                self.folder.scan_now();
                self.mirror.insert(mirror)
            }
        };
        let area = self.folder.wait(stopped, POLL);
        mirror.renew_if_due()?;
        let removes_any = self.confirms;
        let guard = Guard { options: options.deletion_guard, removes_any, refuses: false };
        let Some(received) = mirror.receive(&self.folder, guard)? else {
            self.mirror = None;
            return Ok(None);
        };
        if !received.is_empty() {
            self.last_problem = None;
            (self.report)(PushEvent::Received(received));
        }
        if area.is_nothing() {
            return Ok(None);
        }
        let n_before = mirror.kept.len();
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
        | TransferError::EmptyFolder { .. }
        | TransferError::UnknownVault { .. }
        | TransferError::NotEmpty { .. }
        | TransferError::NotAnExport { .. }
        | TransferError::NotAStore { .. }
        | TransferError::Store(_)
        | TransferError::Path { .. }
        | TransferError::Write { .. } => false,
    }
}
