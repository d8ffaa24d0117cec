//! The published snapshot and the past ones kept in memory.

use std::sync::Arc;
use std::time::{Duration, Instant};

use weft_index::notes::NoteTable;
use weft_index::{Publisher, Reader, Snapshot};

use super::vector_state::VectorState;
use crate::past_snapshots::PastSnapshots;
use crate::shared_status::SharedStatus;

/// Maximum time that new vectors wait for publication while more arrive.
pub(super) const PUBLISH_EVERY: Duration = Duration::from_millis(250);

/// The published snapshot, and the note table that is being rebuilt to replace its own.
pub(super) struct Publication {
    publisher: Publisher,
    past: PastSnapshots,
    shared: SharedStatus,
    /// Notes being rebuilt in place of the published ones; while set, changes apply to them.
    rebuilding: Option<NoteTable>,
    last_published: Instant,
}

impl Publication {
    pub(super) fn new(publisher: Publisher, past: PastSnapshots, shared: SharedStatus) -> Self {
        Self { publisher, past, shared, rebuilding: None, last_published: Instant::now() }
    }

    pub(super) fn newest(&self) -> Arc<Snapshot> {
        self.publisher.newest()
    }

    pub(super) fn generation(&self) -> u64 {
        self.publisher.newest().generation
    }

    pub(super) fn reader(&self) -> Reader {
        self.publisher.reader()
    }

    pub(super) const fn last_published(&self) -> Instant {
        self.last_published
    }

    /// Delays the next publication of vectors.
    pub(super) fn postpone(&mut self, delay: Duration) {
        self.last_published = Instant::now() + delay;
    }

    /// Returns the notes that changes apply to: those being rebuilt, else those of the newest snapshot.
    pub(super) fn notes(&self) -> NoteTable {
        self.rebuilding.clone().unwrap_or_else(|| self.publisher.newest().notes.clone())
    }

    pub(super) const fn is_rebuilding(&self) -> bool {
        self.rebuilding.is_some()
    }

    /// Sets the notes that are being rebuilt.
    pub(super) fn rebuild(&mut self, notes: NoteTable) {
        self.rebuilding = Some(notes);
    }

    /// Ends the rebuild and returns its notes.
    pub(super) const fn take_rebuilt(&mut self) -> Option<NoteTable> {
        self.rebuilding.take()
    }

    /// Replaces the newest snapshot by one of the same generation that gives the same answers.
    pub(super) fn replace(&self, snapshot: Snapshot) {
        self.publisher.publish(snapshot);
    }

    /// Publishes `snapshot` together with its counts: a client that saw a result of the new state must not read counts of the old one.
    pub(super) fn publish_counted(&self, snapshot: Snapshot, vectors: &VectorState) {
        let mut shared = self.shared.lock();
        self.publisher.publish(snapshot);
        let newest = self.publisher.newest();
        shared.count(&newest);
        vectors.count_backlog(&newest, &mut shared.status);
    }

    /// Publishes a new generation with its counts and notifies the listeners.
    pub(super) fn publish(&mut self, snapshot: Snapshot, vectors: &VectorState) {
        let generation = snapshot.generation;
        tracing::debug!(generation, digest = %format_args!("{:032x}", snapshot.notes.total().digest), "published");
        self.publish_counted(snapshot, vectors);
        self.last_published = Instant::now();
        self.shared.published(generation);
    }

    /// Keeps a checkpointed snapshot for requests on past generations.
    ///
    /// `notes` are its notes backed by the checkpoint file.
    /// If the snapshot is still the newest, they also replace its notes in memory, which are freed with the last request that reads them.
    pub(super) fn keep_checkpointed(&self, snapshot: &Snapshot, notes: NoteTable) {
        let newest = self.publisher.newest();
        if snapshot.generation == newest.generation {
            self.publisher.publish(Snapshot { notes, ..Snapshot::clone(&newest) });
            self.past.keep(self.publisher.newest());
        } else {
            self.past.keep(Arc::new(Snapshot { notes, ..snapshot.clone() }));
        }
    }

    /// Drops the past snapshots from memory, if a file they read is discarded.
    pub(super) fn forget_past(&self) {
        self.past.forget();
    }
}
