//! The handle to a running index.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Sender, bounded, unbounded};
use weft_index::{Backup, Reader, Snapshot, StoreError};

use crate::embed::ModelSelection;
use crate::index_status::{FileCoverage, IndexStatus, NextModel, Phase, VaultStatus};
use crate::log_watcher::watch_log;
use crate::past_snapshots::PastSnapshots;
use crate::shared_status::SharedStatus;
use crate::vault_languages::LanguageShare;
use crate::write_request::{WriteError, WriteOutcome, WriteRequest};
use crate::writer::{Event, GenerationReply, Writer};
use crate::{
    ConfirmedDeletions, IndexError, IndexSettings, Rescan, VaultSettings, coverage_report, startup,
};

/// Maximum interval between two checks of embedding progress.
const MAX_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A running index: one writer thread behind a handle. Dropping it stops the writer.
pub struct Indexer {
    events: Sender<Event>,
    reader: Reader,
    shared: SharedStatus,
    past: PastSnapshots,
    /// Time before the first scan.
    opened: Instant,
    /// Set to abort running scans.
    interrupted: Arc<AtomicBool>,
    writer: Mutex<Option<JoinHandle<()>>>,
    /// Number of notes and share of text that was not English, when that was last sampled.
    sampled: Mutex<Option<(usize, f64)>>,
    /// Ends the thread that watches the log of the home when it is dropped.
    _alive: Arc<()>,
}

impl Indexer {
    /// Opens or creates the store, locks it, and starts the writer, which scans every file at once.
    ///
    /// The stored state can be queried as soon as this returns; semantic searches wait until its vectors are loaded.
    /// `address` is shown to processes that find the store locked, so that they can connect to this one.
    pub fn open(
        settings: IndexSettings,
        models: impl Into<ModelSelection>,
        address: Option<&str>,
    ) -> Result<Self, IndexError> {
        let ModelSelection { serving, next, configured: _, auto } = models.into();
        let choice = auto.as_ref().and_then(|auto| auto.choice.clone());
        let settings = settings.completed();
        let parts = startup::open_parts(&settings, (serving, choice), next.is_some(), address)?;
        let reader = parts.publisher.reader();
        let (shared, past) = (parts.shared.clone(), parts.past.clone());
        let (events, received) = unbounded();
        let (sender, interrupted) = (events.clone(), Arc::new(AtomicBool::new(false)));
        let (abort, opened) = (Arc::clone(&interrupted), Instant::now());
        let alive = Arc::new(());
        if let Some(home) = settings.home.clone().filter(|home| home.log().is_some()) {
            let (events, alive) = (events.clone(), Arc::downgrade(&alive));
            start("weft-log", "the thread that watches the log", move || {
                watch_log(&*home, &events, &alive);
            })?;
        }
        let writer = start("weft-writer", "the writer thread", move || {
            Writer::new(settings, parts, (next, auto), (sender, abort)).run(&received);
        })?;
        let (writer, sampled) = (Mutex::new(Some(writer)), Mutex::default());
        Ok(Self {
            events,
            reader,
            shared,
            past,
            opened,
            interrupted,
            writer,
            sampled,
            _alive: alive,
        })
    }

    /// Time of opening; pass it to [`flush_since`](Self::flush_since) to wait for all files that existed by then.
    #[must_use]
    pub const fn opened(&self) -> Instant {
        self.opened
    }

    /// Returns a reader of published snapshots.
    #[must_use]
    pub fn reader(&self) -> Reader {
        self.reader.clone()
    }

    /// Returns the snapshot of a stored generation, including the newest.
    ///
    /// A past snapshot has keywords and vectors only while it is in memory, which applies to a few generations that this run persisted.
    /// Fails with [`IndexError::UnknownGeneration`] if it is not stored. The first read is `O(notes)`.
    pub fn at(&self, generation: u64) -> Result<Arc<Snapshot>, IndexError> {
        let newest = self.reader.snapshot();
        if newest.generation == generation { Ok(newest) } else { self.past.at(generation) }
    }

    /// Calls `listener` for each generation published from now on, on the writer's thread, so it must be fast.
    pub fn listen(&self, listener: impl Fn(u64) + Send + 'static) {
        self.shared.listen(Box::new(listener));
    }

    /// Returns true if the newest snapshot certainly contains all changes of `generation`; after an unclean shutdown only once the files were scanned again.
    ///
    /// Listeners are notified when that changes.
    #[must_use]
    pub fn holds(&self, generation: u64) -> bool {
        let recovering = self.shared.lock().status.recovering;
        generation <= self.reader.snapshot().generation
            && recovering.is_none_or(|first| generation >= first)
    }

    /// Returns true until the first scan after an unclean shutdown, or after the store was replaced: answers may be older than those of the previous run.
    #[must_use]
    pub fn is_recovering(&self) -> bool {
        self.shared.lock().status.recovering.is_some()
    }

    /// Returns the current status of the index.
    #[must_use]
    pub fn status(&self) -> IndexStatus {
        let snapshot = self.reader.snapshot();
        let mut status = {
            let shared = self.shared.lock();
            let mut status = shared.status.clone();
            status.notices.extend(shared.notices(&snapshot));
            status
        };
        if self.has_ended() && !self.interrupted.load(Ordering::Relaxed) {
            let line =
                "the writer stopped because of a bug; nothing new is indexed until the next start";
            status.last_error = Some(line.to_owned());
        }
        status.notices.extend(status.next.as_ref().map(NextModel::line));
        status.notices.extend(self.outgrown_line(&status, &snapshot));
        let missing: Vec<String> =
            status.vaults.iter().filter_map(VaultStatus::missing_notice).collect();
        status.notices.splice(0..0, missing);
        status
    }

    /// Returns what to do if the notes have outgrown the bundled model that was chosen for them.
    ///
    /// Their languages are sampled when the index is complete, and again only after their number changed by a tenth.
    fn outgrown_line(&self, status: &IndexStatus, snapshot: &Snapshot) -> Option<String> {
        let choice = status.model_choice.as_ref().filter(|_| status.phase == Phase::Ready)?;
        let mut sampled = self.sampled.lock().unwrap_or_else(PoisonError::into_inner);
        let is_current =
            |(n_notes, _): &(usize, _)| n_notes.abs_diff(status.n_notes) * 10 < *n_notes;
        let measure = || {
            (status.n_notes, LanguageShare::of_snapshot(snapshot).not_english().unwrap_or_default())
        };
        let known = sampled.filter(is_current).unwrap_or_else(measure);
        *sampled = Some(known);
        choice.outgrown_line(known.1)
    }

    /// Scans every file and waits until words and links are indexed; returns the generation that contains them.
    pub fn rescan(&self, options: Rescan) -> Result<u64, IndexError> {
        self.request(|reply| Event::Rescan(options, reply))
    }

    /// Waits until words and links of all earlier changes are indexed and persisted; returns the generation that contains them.
    pub fn flush(&self) -> Result<u64, IndexError> {
        self.flush_since(Instant::now())
    }

    /// Like [`flush`](Self::flush) for changes before `moment`; does not scan again if all files were scanned since then.
    pub fn flush_since(&self, moment: Instant) -> Result<u64, IndexError> {
        self.request(|reply| Event::Flush(moment, reply))
    }

    /// Replaces the served vaults and removes the notes of all others; returns the generation with the new vaults.
    ///
    /// The files of new vaults are scanned next: [`flush`](Self::flush) waits for them, and an unreadable vault does not stop the others.
    /// Vaults are identified by name; a new vault whose folder has the files of a removed one continues it under the new name.
    /// Fails, and changes nothing, if a new vault is not a folder.
    pub fn set_vaults(&self, vaults: Vec<VaultSettings>) -> Result<u64, IndexError> {
        self.request(|reply| Event::SetVaults(vaults, reply))
    }

    /// Confirms that the missing files of `vault`, or of every vault, were deleted, and deletes their notes.
    ///
    /// Returns the result for each vault for which the mass-deletion guard held, ordered by name, and the generation without the notes.
    /// Fails if the vault is unknown.
    pub fn confirm_deletions(
        &self,
        vault: Option<&str>,
    ) -> Result<(Vec<ConfirmedDeletions>, u64), IndexError> {
        let (reply, answer) = bounded(1);
        let event = Event::ConfirmDeletions(vault.map(str::to_owned), reply);
        self.events.send(event).map_err(|_| IndexError::Stopped)?;
        answer.recv().map_err(|_| IndexError::Stopped)?
    }

    /// Writes to a vault and waits until the words and links of the change are indexed.
    ///
    /// Files are replaced atomically, inside their vault; files that the request does not name are not overwritten.
    /// Another program may save the file between the check of `expected` and the replacement; this window is short but cannot be closed.
    pub fn write(&self, write: WriteRequest) -> Result<WriteOutcome, WriteError> {
        let (reply, answer) = bounded(1);
        self.events.send(Event::Write(write, reply)).map_err(|_| IndexError::Stopped)?;
        answer.recv().map_err(|_| IndexError::Stopped)?
    }

    /// Persists the newest generation and returns its files, which stay unchanged while the index continues.
    pub fn backup(&self) -> Result<Backup, IndexError> {
        let (reply, answer) = bounded(1);
        self.events.send(Event::Backup(reply)).map_err(|_| IndexError::Stopped)?;
        answer.recv().map_err(|_| IndexError::Stopped)?
    }

    /// Waits until every chunk has its vector, the model is unavailable, or `stop` is set; returns the newest generation.
    ///
    /// Calls `on_progress` with each status.
    /// If a model migration runs, waits for the vectors of the next model as well, unless the migration failed.
    pub fn wait_vectors(
        &self,
        stop: &AtomicBool,
        on_progress: &mut dyn FnMut(&IndexStatus),
    ) -> Result<u64, IndexError> {
        self.wait_vectors_since(Instant::now(), stop, on_progress)
    }

    /// Like [`wait_vectors`](Self::wait_vectors) for files as they were at `moment`; see [`flush_since`](Self::flush_since).
    pub fn wait_vectors_since(
        &self,
        moment: Instant,
        stop: &AtomicBool,
        on_progress: &mut dyn FnMut(&IndexStatus),
    ) -> Result<u64, IndexError> {
        // All files that existed by then must be in the backlog first.
        self.request(|reply| Event::IndexSince(moment, reply))?;
        let mut pause = Duration::from_millis(1);
        loop {
            // A model that failed before may be at work again.
            let is_embedding = self.shared.lock().is_embedding;
            let status = self.status();
            on_progress(&status);
            let is_blocked = status.unavailable.is_some() && !is_embedding;
            // A failed migration does not keep the present model from finishing.
            let next_ended = status.next.as_ref().is_none_or(|next| next.error.is_some());
            let is_complete = status.n_vectors_pending == 0 && next_ended;
            if is_complete || is_blocked || stop.load(Ordering::Relaxed) {
                break;
            }
            if self.has_ended() {
                return Err(IndexError::Stopped);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(MAX_POLL_INTERVAL);
        }
        self.flush_since(moment)
    }

    /// Returns one line per file, ordered by vault and path.
    #[must_use]
    pub fn coverage(&self) -> Vec<FileCoverage> {
        let snapshot = self.reader.snapshot();
        let ids = snapshot.notes.summaries().map(|(id, _)| id);
        let (missing, refreshed) = {
            let shared = self.shared.lock();
            (shared.missing.clone(), shared.refreshed_facts.clone())
        };
        let mut lines: Vec<FileCoverage> = ids
            .filter_map(|id| coverage_report::of_note(&snapshot, id, &missing, &refreshed))
            .collect();
        for (vault, files) in &self.shared.lock().unindexed {
            let files = files.iter();
            lines.extend(
                files.map(|(path, file)| {
                    coverage_report::of_unindexed(&snapshot, *vault, path, file)
                }),
            );
        }
        lines.sort_by(|a, b| (&a.vault, &a.path).cmp(&(&b.vault, &b.path)));
        lines
    }

    /// Returns the line of a file that exists and is not indexed.
    ///
    /// `name` is its path or file name, with or without extension and vault, or any path in an excluded folder.
    #[must_use]
    pub fn unindexed_file(&self, name: &str) -> Option<FileCoverage> {
        let snapshot = self.reader.snapshot();
        let shared = self.shared.lock();
        let files = shared.unindexed.iter().flat_map(|(vault, files)| {
            files
                .iter()
                .map(|(path, file)| coverage_report::of_unindexed(&snapshot, *vault, path, file))
        });
        let by_path = |file: &FileCoverage| coverage_report::is_at(file, name);
        files
            .clone()
            .find(by_path)
            .or_else(|| files.clone().find(|file| coverage_report::is_called(file, name)))
    }

    /// Stops the writer after it published and persisted its state, and waits for it.
    ///
    /// Scans that are running or requested finish first; see [`interrupt`](Self::interrupt).
    pub fn stop(self) {
        self.end();
    }

    /// Stops the writer without finishing its scans: files that were read stay indexed, and the next start reads the rest.
    ///
    /// Pending requests fail with [`IndexError::Stopped`], or return the state so far.
    pub fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Relaxed);
        self.end();
    }

    fn end(&self) {
        let _ = self.events.send(Event::Stop);
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if writer.is_some_and(|writer| writer.join().is_err()) {
            tracing::error!("the writer panicked");
        }
    }

    /// Returns true if the writer thread ended.
    fn has_ended(&self) -> bool {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        writer.as_ref().is_none_or(JoinHandle::is_finished)
    }

    fn request(&self, event: impl FnOnce(GenerationReply) -> Event) -> Result<u64, IndexError> {
        let (reply, answer) = bounded(1);
        self.events.send(event(reply)).map_err(|_| IndexError::Stopped)?;
        answer.recv().map_err(|_| IndexError::Stopped)?
    }
}

/// Starts a thread.
fn start(
    name: &str,
    what: &str,
    work: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, StoreError> {
    let thread = std::thread::Builder::new().name(name.into()).spawn(work);
    thread.map_err(|source| StoreError::Io { action: "start", path: what.into(), source })
}

impl Drop for Indexer {
    fn drop(&mut self) {
        self.end();
    }
}
