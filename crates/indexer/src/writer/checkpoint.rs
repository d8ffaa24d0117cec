//! Checkpoints: persisting the published note table, in the background or on request.

use std::sync::Arc;
use std::time::Instant;

use weft_index::notes::NoteTable;
use weft_index::{Backup, Snapshot, StoreError};

use super::Writer;
use super::persistence::{CheckpointJob, NotifyOnDrop, RunningCheckpoint};
use super::vector_pipeline::VectorPipeline;
use crate::IndexError;

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
        // A commit that cannot be stored fails until it is followed.
        if self.persistence.store_failed && !self.following.has_unpublished_vectors {
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
        if self.following.has_unpublished_vectors {
            self.follow(false)?;
        }
        // A published generation must not change.
        self.publish_new_vectors()?;
        // This may find that the notes must be rebuilt, and publish the rebuilt ones.
        self.finish_checkpoint();
        let before = self.publication.newest();
        let keyword = self.keyword.compact(&before.notes, before.generation)?;
        let checked = self.check_vectors(true);
        let shared = self.vectors.shared_graph();
        let outcome = self.vectors.compact();
        if self.vectors.shared_graph() != shared {
            // A row of it was damaged.
            self.following.look_up_again();
        }
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
