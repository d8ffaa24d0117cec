//! The vectors of the index: loaded from the store, then maintained by a [`VectorPipeline`].

use std::sync::Arc;
use std::time::Instant;

use crossbeam_channel::Sender;
use weft_index::embedder::Embedder;
use weft_index::notes::{Delta, NoteTable};
use weft_index::vector::VectorParams;
use weft_index::{EmbeddingStore, Snapshot, StoreError, VectorLoadGuard, Vectors};
use weft_model::TextHash;

use super::embed_batch::EmbeddedBatch;
use super::embedding_backlog::Backlog;
use super::following::GraphChange;
use super::vector_pipeline::VectorPipeline;
use super::{Event, RETRY};
use crate::IndexError;
use crate::index_status::IndexStatus;
use crate::vault_home::VaultHome;

/// The embedding model and the vectors made by it.
pub(super) struct VectorState {
    embedder: Option<Arc<dyn Embedder>>,
    /// `None` without a model, and until the stored vectors are loaded.
    pipeline: Option<VectorPipeline>,
    /// When to load the stored vectors; `None` once they are loaded.
    load_at: Option<Instant>,
    /// Wakes requests that wait for the first load.
    reading: Option<VectorLoadGuard>,
    params: VectorParams,
    events: Sender<Event>,
}

impl VectorState {
    pub(super) fn new(
        embedder: Option<Arc<dyn Embedder>>,
        reading: Option<VectorLoadGuard>,
        params: VectorParams,
        events: Sender<Event>,
    ) -> Self {
        let load_at = embedder.is_some().then(Instant::now);
        Self { embedder, pipeline: None, load_at, reading, params, events }
    }

    pub(super) const fn embedder(&self) -> Option<&Arc<dyn Embedder>> {
        self.embedder.as_ref()
    }

    pub(super) const fn pipeline(&self) -> Option<&VectorPipeline> {
        self.pipeline.as_ref()
    }

    /// Returns the pipeline, if it is still the one with this number.
    pub(super) fn pipeline_numbered(&mut self, number: u64) -> Option<&mut VectorPipeline> {
        self.pipeline.as_mut().filter(|pipeline| pipeline.number() == number)
    }

    /// When to load the stored vectors; `None` once they are loaded.
    pub(super) const fn load_at(&self) -> Option<Instant> {
        self.load_at
    }

    /// Returns true if no stored vectors are left to load.
    pub(super) const fn is_loaded(&self) -> bool {
        self.load_at.is_none()
    }

    /// Schedules an outstanding load at once.
    pub(super) fn load_now(&mut self) {
        self.load_at = self.load_at.map(|_| Instant::now());
    }

    /// Schedules another attempt to load the stored vectors.
    pub(super) fn retry_load(&mut self) {
        self.load_at = Some(Instant::now() + RETRY);
    }

    /// Removes and returns what wakes the requests that wait for the first load.
    pub(super) const fn take_reading(&mut self) -> Option<VectorLoadGuard> {
        self.reading.take()
    }

    /// Replaces the pipeline by one over `embeddings`, whose vectors `embedder` made, and indexes all notes with it.
    ///
    /// After an error, which is usually a full disk, the missing vectors are retried later.
    pub(super) fn start(
        &mut self,
        embeddings: EmbeddingStore,
        embedder: Arc<dyn Embedder>,
        notes: &NoteTable,
    ) -> Result<(), StoreError> {
        let number = self.pipeline.as_ref().map_or(0, |pipeline| pipeline.number() + 1);
        let events = self.events.clone();
        let mut pipeline = VectorPipeline::start(number, embeddings, Arc::clone(&embedder), events);
        let indexed = pipeline.index_all(notes);
        if indexed.is_err() {
            pipeline.backlog_mut().postpone(&[]);
        }
        (self.embedder, self.pipeline, self.load_at) = (Some(embedder), Some(pipeline), None);
        indexed
    }

    /// Returns the current vectors, which count as published; `None` without a model.
    ///
    /// If the stored vectors could not be loaded, no note of `notes` has one.
    pub(super) fn current(&mut self, notes: &NoteTable) -> Option<Vectors> {
        if let Some(pipeline) = &mut self.pipeline {
            return Some(pipeline.publish());
        }
        let embedder = self.embedder.clone()?;
        Vectors::empty(notes, embedder, self.params).ok()
    }

    /// Returns true if vectors or a graph arrived that no snapshot contains.
    pub(super) fn has_unpublished(&self) -> bool {
        self.pipeline.as_ref().is_some_and(VectorPipeline::is_unpublished)
    }

    /// Makes all vectors so far durable.
    pub(super) fn sync(&mut self) -> Result<(), StoreError> {
        self.pipeline.as_mut().map_or(Ok(()), VectorPipeline::sync)
    }

    /// Removes vectors that no note uses from disk.
    pub(super) fn compact(&mut self) -> Result<(), StoreError> {
        self.pipeline.as_mut().map_or(Ok(()), VectorPipeline::compact)
    }

    /// Updates the vectors of changed notes. Missing ones are retried later after an error.
    pub(super) fn index(&mut self, notes: &NoteTable, delta: &Delta) -> Result<(), StoreError> {
        let Some(pipeline) = &mut self.pipeline else { return Ok(()) };
        // Words and links do not wait for disk space that vectors need.
        pipeline.index(notes, delta).inspect_err(|_| pipeline.backlog_mut().postpone(&[]))
    }

    /// Updates the vectors of all notes.
    pub(super) fn index_all(&mut self, notes: &NoteTable) -> Result<(), StoreError> {
        self.pipeline.as_mut().map_or(Ok(()), |pipeline| pipeline.index_all(notes))
    }

    /// Drops damaged vectors; see [`VectorPipeline::drop_damaged`].
    pub(super) fn drop_damaged(
        &mut self,
        notes: &NoteTable,
        always: bool,
    ) -> Result<Option<String>, StoreError> {
        let pipeline = self.pipeline.as_mut();
        pipeline.map_or(Ok(None), |pipeline| pipeline.drop_damaged(notes, always))
    }

    /// Starts building a vector graph if one is needed.
    pub(super) fn build_graph(&mut self) {
        if let Some(pipeline) = &mut self.pipeline {
            pipeline.build_graph();
        }
    }

    /// Starts building a vector graph for all nodes if one is needed and no other node builds it.
    pub(super) fn share_graph(&mut self, home: &Arc<dyn VaultHome>, generation: u64) {
        if let Some(pipeline) = &mut self.pipeline {
            pipeline.share_graph(home, generation);
        }
    }

    /// Returns when to try again to share a vector graph.
    pub(super) fn shares_graph_at(&self) -> Option<Instant> {
        self.pipeline.as_ref().and_then(VectorPipeline::shares_graph_at)
    }

    /// Changes the vector graph as a commit of the log says.
    pub(super) fn change_graph(&mut self, change: GraphChange) -> Result<(), StoreError> {
        self.pipeline.as_mut().map_or(Ok(()), |pipeline| pipeline.change_graph(change))
    }

    /// Returns the commit that shares the present vector graph.
    pub(super) fn shared_graph(&self) -> Option<u64> {
        self.pipeline.as_ref().and_then(|pipeline| pipeline.embeddings().shared_graph())
    }

    fn backlog(&self) -> Option<&Backlog> {
        self.pipeline.as_ref().map(VectorPipeline::backlog)
    }

    fn backlog_mut(&mut self) -> Option<&mut Backlog> {
        self.pipeline.as_mut().map(VectorPipeline::backlog_mut)
    }

    /// Returns true if no chunk waits for its vector.
    pub(super) fn is_idle(&self) -> bool {
        self.backlog().is_none_or(Backlog::is_idle)
    }

    /// Returns true if the vectors are loaded and no chunk waits for its vector.
    pub(super) fn is_complete(&self) -> bool {
        self.backlog().is_some_and(Backlog::is_idle)
    }

    /// Returns true while the model has texts to embed.
    pub(super) fn is_embedding(&self) -> bool {
        self.backlog().is_some_and(Backlog::is_embedding)
    }

    /// Returns when a paused model is tried again.
    pub(super) fn wakes_at(&self) -> Option<Instant> {
        self.backlog().and_then(Backlog::wakes_at)
    }

    /// Removes and returns some of the texts that wait and were not taken yet, which another node embeds.
    pub(super) fn take_texts(&mut self, notes: &NoteTable) -> Vec<(TextHash, String)> {
        self.backlog_mut().map(|backlog| backlog.take_texts(notes)).unwrap_or_default()
    }

    /// Makes texts be taken again, as far as chunks wait for them.
    pub(super) fn requeue(&mut self, texts: &[TextHash]) {
        if let Some(backlog) = self.backlog_mut() {
            backlog.requeue(texts);
        }
    }

    /// Retries a paused model at once.
    pub(super) fn wake(&mut self) {
        if let Some(backlog) = self.backlog_mut() {
            backlog.wake();
        }
    }

    /// Returns what the model finished; `None` if there is nothing new.
    pub(super) fn receive(&mut self) -> Option<Vec<EmbeddedBatch>> {
        self.backlog_mut()?.receive()
    }

    /// Stores a batch that the model finished; `None` without a pipeline.
    pub(super) fn store(&mut self, batch: EmbeddedBatch) -> Option<Result<(), IndexError>> {
        Some(self.pipeline.as_mut()?.store(batch))
    }

    /// Sends the next texts to the model. Returns false if its thread ended.
    pub(super) fn feed(&mut self, notes: &NoteTable) -> bool {
        self.backlog_mut().is_none_or(|backlog| backlog.feed(notes))
    }

    /// Writes the size and the rate of the backlog into `status`.
    pub(super) fn count_backlog(&self, newest: &Snapshot, status: &mut IndexStatus) {
        let n_waiting = newest.vectors.as_ref().map_or(0, |own| own.n_waiting);
        let unpublished = self.pipeline.as_ref().map(|pipeline| pipeline.n_unpublished(n_waiting));
        status.n_vectors_unpublished = unpublished.unwrap_or(0);
        let Some(backlog) = self.backlog() else {
            status.n_vectors_pending = n_waiting;
            return;
        };
        let (rate, seconds_left) = backlog.rate();
        status.n_vectors_pending = backlog.n_waiting();
        status.n_vectors_failed = self.pipeline.as_ref().map_or(0, VectorPipeline::n_failed);
        status.vectors_per_second = rate;
        status.seconds_left = seconds_left;
    }
}
