//! Checkpoints: persisting the published note table, in the background or on request.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use weft_index::notes::NoteTable;
use weft_index::{Backup, Checkpoint, Checkpoints, Snapshot, Store, StoreError};

use super::vector_pipeline::VectorPipeline;
use super::{Event, Writer};
use crate::IndexError;
use crate::shared_status::SharedStatus;

/// Time that the writer must be idle before it writes a checkpoint.
const CHECKPOINT_IDLE: Duration = Duration::from_secs(2);

/// Minimum interval between two automatic checkpoints, for the smallest and for the largest.
///
/// A checkpoint writes the whole note table; changes that a crash loses are read again from the few files that changed since.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(60);
const CHECKPOINT_EVERY_LARGE: Duration = Duration::from_secs(3600);

/// Average bytes of checkpoints per second, which limits disk wear if notes are edited all day: 22 GB a day.
const CHECKPOINT_BYTES_PER_SECOND: u64 = 256 << 10;

/// Number of minimum intervals after which a checkpoint is written even if the writer is not idle.
const MAX_DEFERRED_INTERVALS: u32 = 5;

/// The store and what it has persisted.
pub(super) struct Persistence {
    store: Option<Store>,
    /// True if the last error came from the store or the keyword index.
    pub(super) store_failed: bool,
    /// Hash of the settings that entries are made with.
    pub(super) recipe: u64,
    pub(super) checkpoint: CheckpointState,
    /// Earlier generations that an earlier run stored and this one has not verified yet.
    unverified: Vec<u64>,
}

impl Persistence {
    pub(super) fn new(store: Option<Store>, recipe: u64, checkpointed: u64, newest: u64) -> Self {
        let checkpoint = CheckpointState::new(checkpointed, newest);
        let stored = store.as_ref().and_then(|store| store.checkpoints().stored().ok());
        let mut unverified = stored.unwrap_or_default();
        // The current one was verified when it was opened.
        unverified.retain(|generation| *generation != checkpointed);
        Self { store, store_failed: false, recipe, checkpoint, unverified }
    }

    /// Verifies the next earlier generation, and returns it with its damage, if any.
    pub(super) fn verify_earlier(&mut self) -> Option<(u64, StoreError)> {
        let store = self.store.as_ref()?;
        let generation = self.unverified.pop()?;
        let is_stored = store.checkpoints().stored().is_ok_and(|all| all.contains(&generation));
        let error = store.checkpoints().read(generation).err();
        let error =
            error.filter(|error| is_stored && matches!(error, StoreError::Damaged { .. }))?;
        Some((generation, error))
    }

    pub(super) const fn store(&self) -> Option<&Store> {
        self.store.as_ref()
    }

    /// Reserves a generation number, so that no later run publishes another state under it.
    pub(super) fn issue(&mut self, generation: u64) -> Result<(), StoreError> {
        self.store.as_mut().map_or(Ok(()), |store| store.reserve_generation(generation))
    }

    /// Renews the lock on the store; fails if another process took it.
    pub(super) fn hold(&mut self) -> Result<(), StoreError> {
        self.store.as_mut().map_or(Ok(()), Store::ensure_locked)
    }

    /// Marks the store as shut down cleanly, if its last checkpoint has this generation.
    pub(super) fn settle(&mut self, generation: u64) -> Result<(), StoreError> {
        match &mut self.store {
            Some(store) if self.checkpoint.generation == generation => {
                store.record_clean_shutdown(generation)
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Schedules a new checkpoint if another program removed the last one, whose content is still in memory.
    pub(super) fn check_present(&mut self) {
        let generation = self.checkpoint.generation;
        let store = self.store.as_ref().filter(|_| generation > 0);
        if store.is_some_and(|store| !store.checkpoints().is_there(generation)) {
            self.checkpoint.invalidate();
        }
    }
}

/// The last checkpoint, and since when the published state is newer.
pub(super) struct CheckpointState {
    /// Generation of the last checkpoint.
    generation: u64,
    at: Option<Instant>,
    /// Minimum interval between the last checkpoint and the next.
    interval: Duration,
    dirty_since: Option<Instant>,
    last_change: Instant,
    /// Error of the last attempt; `None` once one succeeded.
    error: Option<String>,
    /// The checkpoint that is being written.
    running: Option<RunningCheckpoint>,
}

/// A checkpoint that a background thread is writing.
struct RunningCheckpoint {
    snapshot: Arc<Snapshot>,
    thread: JoinHandle<Result<NoteTable, StoreError>>,
}

/// Sends an event when the checkpoint thread ends, even by a panic.
struct NotifyOnDrop(Sender<Event>);

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        // A stopped writer joins the thread itself.
        let _ = self.0.send(Event::CheckpointDone);
    }
}

/// The work of one checkpoint; independent of the writer.
struct CheckpointJob {
    snapshot: Arc<Snapshot>,
    recipe: u64,
    checkpoints: Checkpoints,
    keep: usize,
    shared: SharedStatus,
}

impl CheckpointJob {
    /// Writes the checkpoint; the notes stay in memory.
    fn write(&self) -> Result<(), StoreError> {
        let (generation, notes) = (self.snapshot.generation, self.snapshot.notes.clone());
        self.checkpoints.write(&Checkpoint { generation, notes, recipe: self.recipe }, self.keep)
    }

    /// Writes the checkpoint and returns its notes backed by the written file, most of them outside memory.
    fn run(&self) -> Result<NoteTable, StoreError> {
        self.write()?;
        let checkpoints = &self.checkpoints;
        let (stored, n_bytes) = (checkpoints.stored()?, checkpoints.store_bytes());
        let status = &mut self.shared.lock().status;
        (status.stored_generations, status.store_bytes) = (stored, n_bytes);
        Ok(checkpoints.read(self.snapshot.generation)?.notes)
    }
}

impl CheckpointState {
    /// Creates the state after opening: `newest` is the published generation, `generation` the persisted one.
    fn new(generation: u64, newest: u64) -> Self {
        let now = Instant::now();
        Self {
            generation,
            at: None,
            interval: CHECKPOINT_EVERY,
            dirty_since: (generation != newest).then_some(now),
            last_change: now,
            error: None,
            running: None,
        }
    }

    /// Error of the last attempt; `None` once one succeeded.
    pub(super) const fn error(&self) -> Option<&String> {
        self.error.as_ref()
    }

    /// Returns when a checkpoint is due if nothing else happens; sooner if the writer `is_idle`.
    fn due_at(&self, is_idle: bool) -> Option<Instant> {
        let dirty_since = self.dirty_since.filter(|_| self.running.is_none())?;
        let latest = dirty_since + self.interval * MAX_DEFERRED_INTERVALS;
        let rested = self.last_change + CHECKPOINT_IDLE;
        let rested = self.at.map_or(rested, |at| rested.max(at + self.interval));
        Some(if is_idle { rested.min(latest) } else { latest })
    }

    /// Records a finished checkpoint of `n_bytes`.
    fn written(&mut self, generation: u64, n_bytes: u64) {
        let interval = Duration::from_secs(n_bytes / CHECKPOINT_BYTES_PER_SECOND);
        self.interval = interval.clamp(CHECKPOINT_EVERY, CHECKPOINT_EVERY_LARGE);
        (self.generation, self.at, self.error) = (generation, Some(Instant::now()), None);
    }

    /// Records that the stored checkpoints may be gone or damaged.
    pub(super) fn invalidate(&mut self) {
        if self.generation != 0 {
            (self.generation, self.at) = (0, None);
            self.changed();
        }
    }

    /// Records a new published state.
    pub(super) fn changed(&mut self) {
        self.last_change = Instant::now();
        self.dirty_since.get_or_insert(self.last_change);
    }

    /// Delays the next automatic checkpoint after a failure, so that a full disk is not retried in every turn of the loop.
    fn back_off(&mut self) {
        self.at = Some(Instant::now());
        self.dirty_since = Some(Instant::now());
    }
}

impl Writer {
    /// Returns when the next automatic checkpoint is due.
    pub(super) fn checkpoint_due_at(&self) -> Option<Instant> {
        self.persistence.checkpoint.due_at(self.vectors.is_idle())
    }

    /// Starts writing a checkpoint in the background if one is due.
    pub(super) fn start_due_checkpoint(&mut self) {
        if self.checkpoint_due_at().is_none_or(|due| due > Instant::now()) {
            return;
        }
        let started = self.prepare_checkpoint().and_then(|job| {
            let Some(job) = job else { return Ok(()) };
            let (snapshot, events) = (Arc::clone(&job.snapshot), self.events.clone());
            let run = move || {
                let _notify = NotifyOnDrop(events);
                job.run()
            };
            let thread = std::thread::Builder::new().name("weft-checkpoint".into()).spawn(run);
            let thread = thread.map_err(|source| StoreError::Io {
                action: "start",
                path: "the thread that writes checkpoints".into(),
                source,
            })?;
            self.persistence.checkpoint.running = Some(RunningCheckpoint { snapshot, thread });
            Ok(())
        });
        self.report_checkpoint(started);
    }

    /// Joins the background checkpoint, if one runs, and records its outcome.
    pub(super) fn finish_checkpoint(&mut self) {
        let running = self.persistence.checkpoint.running.take();
        let Some(RunningCheckpoint { snapshot, thread }) = running else { return };
        let outcome = thread.join().unwrap_or_else(|_| {
            Err(StoreError::Damaged {
                path: self.settings.store.clone(),
                reason: "the checkpoint thread panicked; this is a bug".into(),
            })
        });
        let outcome = match outcome {
            Ok(notes) => {
                self.checkpoint_written(&snapshot, notes);
                Ok(())
            }
            Err(error @ StoreError::Changed { .. }) => self.rebuild_notes(&error),
            Err(error) => Err(error.into()),
        };
        self.report_checkpoint(outcome);
    }

    /// Persists the published state, unless it is persisted already, and waits for it.
    pub(super) fn checkpoint(&mut self) -> Result<(), IndexError> {
        let outcome = match self.try_checkpoint() {
            Err(IndexError::Store(error @ StoreError::Changed { .. })) => {
                self.rebuild_notes(&error).and_then(|()| self.try_checkpoint())
            }
            outcome => outcome,
        };
        outcome.inspect_err(|error| self.checkpoint_failed(error))
    }

    /// Persists the published state; fails if another program changed the file that backs the notes.
    fn try_checkpoint(&mut self) -> Result<(), IndexError> {
        self.finish_checkpoint();
        if let Some(job) = self.prepare_checkpoint()? {
            let notes = job.run()?;
            self.checkpoint_written(&job.snapshot, notes);
        }
        Ok(())
    }

    /// Persists the published state at shutdown, unless it is persisted already.
    ///
    /// The written notes are not read back, since no request reads them any more.
    /// Notes that another program changed are rebuilt at the next start at the latest.
    pub(super) fn write_last_checkpoint(&mut self) -> Result<(), IndexError> {
        self.finish_checkpoint();
        if let Some(job) = self.prepare_checkpoint()? {
            job.write()?;
            self.persistence.checkpoint.generation = job.snapshot.generation;
        }
        Ok(())
    }

    /// Returns the work of persisting the newest snapshot; `None` if it is persisted or there is no store.
    fn prepare_checkpoint(&mut self) -> Result<Option<CheckpointJob>, IndexError> {
        self.vectors.sync()?;
        let snapshot = self.publication.newest();
        let is_new = self.persistence.checkpoint.generation != snapshot.generation;
        let Some(store) = self.persistence.store().filter(|_| is_new) else {
            self.persistence.checkpoint.dirty_since = None;
            return Ok(None);
        };
        Ok(Some(CheckpointJob {
            snapshot,
            // While some entries were made with other settings, no recipe fits the whole table.
            recipe: if self.scans.any_outdated() { 0 } else { self.persistence.recipe },
            checkpoints: store.checkpoints(),
            keep: self.settings.keep_generations,
            shared: self.shared.clone(),
        }))
    }

    /// Persists the newest generation and returns its files, held open.
    pub(super) fn backup(&mut self) -> Result<Backup, IndexError> {
        // A backup without the stored vectors would look complete.
        self.load_vectors_now()?;
        self.publish_new_vectors()?;
        self.checkpoint()?;
        let embeddings = self.vectors.pipeline().map(VectorPipeline::embeddings);
        let store = self.persistence.store().ok_or(IndexError::Stopped)?;
        let generation = self.persistence.checkpoint.generation;
        Ok(store.backup(generation, self.keyword.writer(), embeddings)?)
    }

    /// Records the checkpoint of `snapshot`; `notes` are its notes backed by the written file.
    fn checkpoint_written(&mut self, snapshot: &Snapshot, notes: NoteTable) {
        let store = self.persistence.store();
        let n_bytes = store.map_or(0, |store| store.checkpoints().bytes_of(snapshot.generation));
        let is_newest = snapshot.generation == self.publication.generation();
        let state = &mut self.persistence.checkpoint;
        state.written(snapshot.generation, n_bytes);
        state.dirty_since = (!is_newest).then(Instant::now);
        self.publication.keep_checkpointed(snapshot, notes);
        if self.persistence.store_failed {
            self.clear_error(self.last_error());
        }
    }

    fn report_checkpoint(&mut self, outcome: Result<(), IndexError>) {
        if let Err(error) = outcome {
            self.checkpoint_failed(&error);
            self.persistence.checkpoint.back_off();
        }
    }

    /// Reports the error until a checkpoint succeeds, whatever else succeeds in the meantime.
    fn checkpoint_failed(&mut self, error: &IndexError) {
        self.persistence.checkpoint.error = Some(error.to_string());
        self.report_error(error);
    }

    /// Removes deleted entries from disk; answers do not change.
    ///
    /// On systems that keep a removed file while it is open, its bytes are freed with the last request that reads it.
    pub(super) fn compact(&mut self) -> Result<(), IndexError> {
        // A published generation must not change.
        self.publish_new_vectors()?;
        // This may find that the notes must be rebuilt, and publish the rebuilt ones.
        self.finish_checkpoint();
        let before = self.publication.newest();
        let keyword = self.keyword.compact(&before.notes, before.generation)?;
        let checked = self.check_vectors(true);
        let outcome = self.vectors.compact();
        // The keyword index changed even if the vectors failed.
        let vectors = self.vectors.current(&before.notes);
        self.publication.replace(Snapshot { keyword, vectors, ..Snapshot::clone(&before) });
        checked?;
        outcome?;
        self.checkpoint()?;
        if let Some(store) = self.persistence.store() {
            let own = self.vectors.embedder().map(|embedder| embedder.identity().clone());
            let next = self.shared.lock().status.next.clone().and_then(|next| next.identity);
            let models: Vec<_> = own.iter().chain(&next).collect();
            store.compact(self.persistence.checkpoint.generation, &models)?;
            let checkpoints = store.checkpoints();
            let (stored, n_bytes) = (checkpoints.stored()?, checkpoints.store_bytes());
            let status = &mut self.shared.lock().status;
            (status.stored_generations, status.store_bytes) = (stored, n_bytes);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_checkpoints_are_written_less_often() {
        let second = Duration::from_secs(1);
        for (name, n_bytes, interval) in [
            ("a small vault", 4 << 20, 60),
            ("20,000 notes of 4 kB", 80 << 20, 320),
            ("the maximum", u64::MAX, 3600),
        ] {
            let mut state = CheckpointState::new(1, 1);
            assert_eq!(state.due_at(true), None, "{name}: nothing changed");
            state.written(2, n_bytes);
            state.changed();
            let (at, changed) = (state.at.unwrap_or_else(Instant::now), state.last_change);
            assert_eq!(state.due_at(true), Some(at + interval * second), "{name}: idle");
            assert_eq!(state.due_at(false), Some(changed + 5 * interval * second), "{name}");
            // Continuous edits do not defer it forever.
            state.last_change = changed + 10 * interval * second;
            assert_eq!(state.due_at(true), Some(changed + 5 * interval * second), "{name}");
        }
    }
}
