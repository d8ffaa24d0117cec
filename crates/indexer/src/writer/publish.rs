//! Publishing: a batch of changes becomes the next generation of keywords, vectors and notes.

use std::sync::Arc;
use std::time::Instant;

use weft_index::keyword::EncodedNote;
use weft_index::notes::{Change, TableEdit};
use weft_index::{EmbeddingStore, EmbeddingStoreReport, Snapshot};

use super::Writer;
use super::change_batch::ChangeBatch;
use super::vector_pipeline::{STRAY_BYTES_NOTICE, damaged_vectors_notice};
use crate::{IndexError, IndexSettings};

impl Writer {
    /// Adds a change to a batch, which the first change begins; an added or changed note comes with its encoded keywords.
    ///
    /// Nothing else may publish until the batch is published. After an error the batch must be dropped.
    pub(super) fn add_change(
        &mut self,
        batch: &mut ChangeBatch,
        change: &Change,
        encoded: Option<EncodedNote>,
    ) -> Result<(), IndexError> {
        if batch.n_changes == 0 {
            self.begin_batch(batch)?;
        }
        batch.n_changes += 1;
        let note = batch.edit.apply(change);
        // During a rebuild the keywords follow once every file was scanned.
        let indexes = !self.publication.is_rebuilding() && batch.failed.is_none();
        if let (Some(note), Some(encoded), true) = (note, encoded, indexes) {
            batch.failed = self.keyword.upsert(note, encoded).err();
        }
        Ok(())
    }

    /// Begins a batch on the current notes, after checking that these and the keyword index are intact.
    fn begin_batch(&mut self, batch: &mut ChangeBatch) -> Result<(), IndexError> {
        self.check_notes(false)?;
        batch.edit = TableEdit::of(&self.publication.notes());
        if !self.publication.is_rebuilding() {
            let generation = self.next_generation();
            self.persistence.issue(generation)?;
            self.keyword.settle(batch.edit.before(), generation)?;
        }
        Ok(())
    }

    /// Publishes `changes`, which contain no keywords, as the next generation; does nothing if `changes` is empty.
    pub(super) fn publish(&mut self, changes: &[Change]) -> Result<(), IndexError> {
        let mut batch = ChangeBatch::default();
        changes.iter().try_for_each(|change| self.add_change(&mut batch, change, None))?;
        self.publish_batch(batch)
    }

    /// Applies a batch to every part of the index and publishes the next generation; does nothing if there are no changes.
    pub(super) fn publish_batch(&mut self, mut batch: ChangeBatch) -> Result<(), IndexError> {
        if batch.n_changes == 0 {
            if self.publication.is_rebuilding() || !self.keyword.is_suspect() {
                return Ok(());
            }
            self.begin_batch(&mut batch)?;
        }
        if self.publication.is_rebuilding() {
            // Keywords and vectors follow once every file was scanned.
            self.publication.rebuild(batch.edit.finish().0);
            return Ok(());
        }
        if let Err(error) = batch.edit.before().check_truncation() {
            return self.rebuild_notes(&error.into());
        }
        let generation = self.next_generation();
        let ChangeBatch { edit, n_changes: _, failed } = batch;
        let (committed, (notes, delta)) = self.keyword.commit(edit, failed, generation);
        let keyword = match committed {
            Ok(keyword) => keyword,
            Err(error) => self.keyword.recover(error, &notes, generation)?,
        };
        self.index_vectors(&notes, &delta)?;
        self.adopt_vectors()?;
        let vectors = self.vectors.current(&notes);
        self.publish_snapshot(Snapshot { generation, notes, keyword, vectors });
        Ok(())
    }

    /// Rebuilds the keyword index if its files changed; reads those that were touched, or all of them if `always` is set.
    pub(super) fn check_keywords(&mut self, always: bool) -> Result<(), IndexError> {
        if self.keyword.is_intact(always) {
            return Ok(());
        }
        self.publish(&[]).inspect_err(|_| self.scans.retry_all())
    }

    /// Rebuilds the keyword index from the notes, whatever its files contain; answers do not change.
    pub(super) fn rebuild_keywords(&mut self) -> Result<(), IndexError> {
        let before = self.publication.newest();
        let keyword = self.keyword.rebuild(&before.notes, before.generation)?;
        self.publication.replace(Snapshot { keyword, ..Snapshot::clone(&before) });
        Ok(())
    }

    /// Loads the stored vectors if that is due, verifies and publishes them; schedules a retry on failure.
    ///
    /// Semantic searches wait for the first attempt; keyword and link queries are answered at once. The generation and its answers stay the same.
    /// If the vectors cannot be read, a generation without them is published, and one with them as soon as they can be read.
    pub(super) fn load_vectors(&mut self) -> Result<(), IndexError> {
        if self.vectors.load_at().is_none_or(|due| due > Instant::now()) {
            return Ok(());
        }
        let Some(embedder) = self.vectors.embedder().cloned() else { return Ok(()) };
        let (reading, newest) = (self.vectors.take_reading(), self.publication.newest());
        // Once no request waits any more, they are published as a generation of their own.
        let issued =
            if reading.is_some() { Ok(()) } else { self.persistence.issue(self.next_generation()) };
        let IndexSettings { disk, store, vector, .. } = &self.settings;
        let opened = issued.and_then(|()| {
            EmbeddingStore::open(disk, store, Arc::clone(&embedder), &newest.notes, *vector)
        });
        let error = opened.as_ref().err().map(ToString::to_string);
        let outcome = match opened {
            Ok((
                mut embeddings,
                EmbeddingStoreReport { n_rows: _, n_damaged, has_stray_bytes },
            )) => {
                if embeddings.shared_graph().is_some_and(|commit| commit > newest.generation) {
                    // The run that adopted it ended before it stored the notes of that state.
                    embeddings.drop_shared_graph();
                }
                if n_damaged > 0 {
                    self.shared.notice(damaged_vectors_notice(n_damaged));
                } else if has_stray_bytes {
                    self.shared.notice(STRAY_BYTES_NOTICE.to_owned());
                }
                if let Err(error) = self.vectors.start(embeddings, embedder, &newest.notes) {
                    self.report_error(&error.into());
                }
                match (reading, self.vectors.current(&newest.notes)) {
                    (Some(reading), Some(vectors)) => {
                        let own = Some(vectors.clone());
                        let snapshot = Snapshot { vectors: own, ..Snapshot::clone(&newest) };
                        self.publication.publish_counted(snapshot, &self.vectors);
                        reading.done(vectors);
                    }
                    _ => {
                        let published = self.publish_current_vectors();
                        self.report_outcome(published);
                    }
                }
                Ok(())
            }
            Err(error) => {
                self.vectors.retry_load();
                if reading.is_some() {
                    let published = self.publish_current_vectors();
                    if published.is_err() {
                        // No generation number could be issued, but a snapshot without vectors must say so.
                        let vectors = self.vectors.current(&newest.notes);
                        let snapshot = Snapshot { vectors, ..Snapshot::clone(&newest) };
                        self.publication.publish_counted(snapshot, &self.vectors);
                    }
                    self.report_outcome(published);
                    // Requests do not wait for another attempt.
                    drop(reading);
                }
                Err(error.into())
            }
        };
        self.show_unavailable(error.clone());
        self.shared.lock().vectors_unreadable = error;
        // Listeners check the vectors again.
        self.shared.published(self.publication.generation());
        outcome
    }

    /// Loads the stored vectors at once if they are not loaded yet: a caller does not wait for the scheduled retry.
    pub(super) fn load_vectors_now(&mut self) -> Result<(), IndexError> {
        self.vectors.load_now();
        self.load_vectors()
    }

    /// Publishes the current vectors as the next generation.
    pub(super) fn publish_current_vectors(&mut self) -> Result<(), IndexError> {
        let before = self.publication.newest();
        let generation = self.next_generation();
        self.persistence.issue(generation)?;
        let vectors = self.vectors.current(&before.notes);
        self.publish_snapshot(Snapshot { generation, vectors, ..Snapshot::clone(&before) });
        Ok(())
    }

    /// Returns true if vectors or a graph arrived that no snapshot contains, and that belong to the published state.
    pub(super) fn has_publishable_vectors(&self) -> bool {
        self.vectors.has_unpublished() && !self.following.has_unpublished_vectors
    }

    /// Publishes vectors that arrived since the last publication.
    pub(super) fn publish_new_vectors(&mut self) -> Result<(), IndexError> {
        if !self.has_publishable_vectors() {
            return Ok(());
        }
        self.vectors.sync()?;
        self.publish_current_vectors()
    }

    /// Drops vectors that another program changed, reports them and embeds their texts again; reads the file if it was touched, or if `always` is set.
    pub(super) fn check_vectors(&mut self, always: bool) -> Result<(), IndexError> {
        let notes = self.publication.newest().notes.clone();
        if let Some(line) = self.vectors.drop_damaged(&notes, always)? {
            self.shared.notice(line);
            self.refresh_counts();
            if self.follows() {
                // The log has the vectors, and the graph over them.
                self.following.look_up_again();
            }
        }
        Ok(())
    }

    /// Publishes a new generation and schedules a checkpoint of it.
    pub(super) fn publish_snapshot(&mut self, snapshot: Snapshot) {
        self.persistence.checkpoint.changed();
        self.publication.publish(snapshot, &self.vectors);
    }

    /// Updates the counts of the shared status.
    pub(super) fn refresh_counts(&self) {
        let newest = self.publication.newest();
        let mut shared = self.shared.lock();
        shared.count(&newest);
        self.vectors.count_backlog(&newest, &mut shared.status);
    }
}
