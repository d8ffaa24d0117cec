//! The persisted state: the store, its checkpoints, and when the next one is due.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use weft_index::notes::NoteTable;
use weft_index::{Checkpoint, Checkpoints, Snapshot, Store, StoreError};

use super::Event;
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

/// Damage of a generation before the newest one.
pub(super) struct EarlierDamage {
    pub(super) generation: u64,
    pub(super) error: StoreError,
    /// True if the generation can be queried in spite of it.
    pub(super) is_readable: bool,
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

    /// Verifies the next earlier generation, and returns its damage, if any.
    pub(super) fn verify_earlier(&mut self) -> Option<EarlierDamage> {
        let store = self.store.as_ref()?;
        let generation = self.unverified.pop()?;
        let is_stored = store.checkpoints().stored().is_ok_and(|all| all.contains(&generation));
        let (error, is_readable) = match store.checkpoints().verify(generation) {
            Ok(graph) => (graph?, true),
            Err(error) => (error, false),
        };
        (is_stored && matches!(error, StoreError::Damaged { .. })).then_some(EarlierDamage {
            generation,
            error,
            is_readable,
        })
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
    pub(super) generation: u64,
    at: Option<Instant>,
    /// Minimum interval between the last checkpoint and the next.
    interval: Duration,
    pub(super) dirty_since: Option<Instant>,
    last_change: Instant,
    /// Error of the last attempt; `None` once one succeeded.
    pub(super) error: Option<String>,
    /// The checkpoint that is being written.
    pub(super) running: Option<RunningCheckpoint>,
}

/// A checkpoint that a background thread is writing.
pub(super) struct RunningCheckpoint {
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) thread: JoinHandle<Result<NoteTable, StoreError>>,
}

/// Sends an event when the checkpoint thread ends, even by a panic.
pub(super) struct NotifyOnDrop(pub(super) Sender<Event>);

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        // A stopped writer joins the thread itself.
        let _ = self.0.send(Event::CheckpointDone);
    }
}

/// The work of one checkpoint; independent of the writer.
pub(super) struct CheckpointJob {
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) recipe: u64,
    pub(super) checkpoints: Checkpoints,
    pub(super) keep: usize,
    pub(super) shared: SharedStatus,
}

impl CheckpointJob {
    /// Writes the checkpoint; the notes stay in memory.
    pub(super) fn write(&self) -> Result<(), StoreError> {
        let (generation, notes) = (self.snapshot.generation, self.snapshot.notes.clone());
        self.checkpoints.write(&Checkpoint { generation, notes, recipe: self.recipe }, self.keep)
    }

    /// Writes the checkpoint and returns its notes backed by the written file, most of them outside memory.
    pub(super) fn run(&self) -> Result<NoteTable, StoreError> {
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
    pub(super) fn due_at(&self, is_idle: bool) -> Option<Instant> {
        let dirty_since = self.dirty_since.filter(|_| self.running.is_none())?;
        let latest = dirty_since + self.interval * MAX_DEFERRED_INTERVALS;
        let rested = self.last_change + CHECKPOINT_IDLE;
        let rested = self.at.map_or(rested, |at| rested.max(at + self.interval));
        Some(if is_idle { rested.min(latest) } else { latest })
    }

    /// Records a finished checkpoint of `n_bytes`.
    pub(super) fn written(&mut self, generation: u64, n_bytes: u64) {
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
    pub(super) fn back_off(&mut self) {
        self.at = Some(Instant::now());
        self.dirty_since = Some(Instant::now());
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
