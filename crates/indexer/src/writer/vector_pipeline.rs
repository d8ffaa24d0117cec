//! The vector pipeline of one model: stored vectors, the backlog of texts to embed, and a graph for fast search.

use std::sync::Arc;
use std::time::Instant;

use crossbeam_channel::Sender;
use weft_index::embedder::{EmbedError, Embedder};
use weft_index::notes::{Delta, NoteTable};
use weft_index::vector::FrozenGraph;
use weft_index::{EmbeddingStore, StoreError, Vectors};
use weft_model::{NoteId, TextHash};

use super::embed_batch::EmbeddedBatch;
use super::embedding_backlog::Backlog;
use super::following::GraphChange;
use super::{Event, RETRY};
use crate::IndexError;
use crate::vault_home::VaultHome;

/// The embedding store of one model, and the texts on their way to it.
pub(super) struct VectorPipeline {
    /// Distinguishes the pipeline from those of other models.
    number: u64,
    embeddings: EmbeddingStore,
    backlog: Backlog,
    /// True if vectors or a graph arrived since the last publication.
    unpublished: bool,
    graph_build: GraphBuild,
    /// When to try again to share a graph; `None` if there is nothing to wait for.
    shares_at: Option<Instant>,
    events: Sender<Event>,
}

/// The state of the background build of a vector graph.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GraphBuild {
    Idle,
    /// A graph over the current rows is being built.
    Running,
    /// A graph over rows that were renumbered since is being built.
    Outdated,
}

impl VectorPipeline {
    pub(super) fn start(
        number: u64,
        embeddings: EmbeddingStore,
        embedder: Arc<dyn Embedder>,
        events: Sender<Event>,
    ) -> Self {
        let backlog = Backlog::new(embedder, events.clone());
        let graph_build = GraphBuild::Idle;
        let (unpublished, shares_at) = (false, None);
        Self { number, embeddings, backlog, unpublished, graph_build, shares_at, events }
    }

    /// Number that distinguishes the pipeline from those of other models.
    pub(super) const fn number(&self) -> u64 {
        self.number
    }

    pub(super) const fn embeddings(&self) -> &EmbeddingStore {
        &self.embeddings
    }

    pub(super) const fn backlog(&self) -> &Backlog {
        &self.backlog
    }

    pub(super) const fn backlog_mut(&mut self) -> &mut Backlog {
        &mut self.backlog
    }

    /// Returns the number of chunks whose text the model rejected, so that they have no vector and wait for none.
    pub(super) const fn n_failed(&self) -> usize {
        self.embeddings.n_waiting().saturating_sub(self.backlog.n_waiting())
    }

    /// Returns the number of chunks whose vector is computed, of `n_waiting` that waited when the last snapshot was published.
    pub(super) const fn n_unpublished(&self, n_waiting: usize) -> usize {
        n_waiting.saturating_sub(self.embeddings.n_waiting())
    }

    /// Returns true if vectors or a graph arrived that no snapshot contains.
    pub(super) const fn is_unpublished(&self) -> bool {
        self.unpublished
    }

    /// Returns the current vectors, which count as published.
    pub(super) fn publish(&mut self) -> Vectors {
        self.unpublished = false;
        if self.backlog.is_idle()
            && let Err(error) = self.embeddings.calibrate()
        {
            tracing::warn!(%error, "the scale of the model's cosines cannot be stored");
        }
        self.embeddings.publish()
    }

    /// Makes all vectors so far durable.
    pub(super) fn sync(&mut self) -> Result<(), StoreError> {
        self.embeddings.sync()
    }

    /// Assigns stored vectors to the chunks of changed notes, and queues the texts that have none.
    ///
    /// This holds for every chunk even after an error.
    pub(super) fn index(&mut self, notes: &NoteTable, delta: &Delta) -> Result<(), StoreError> {
        let mut outcome = Ok(());
        for id in &delta.removed {
            outcome = self.index_note(*id, &[]).and(outcome);
        }
        for id in &delta.upserted {
            let Some(summary) = notes.summary(*id) else { continue };
            let texts: Vec<TextHash> = summary.chunk_hashes().collect();
            outcome = self.index_note(*id, &texts).and(outcome);
        }
        outcome
    }

    /// Indexes all `notes` and removes all others, whatever the embedding store contained before.
    pub(super) fn index_all(&mut self, notes: &NoteTable) -> Result<(), StoreError> {
        let upserted = notes.summaries().map(|(id, _)| id).collect();
        let known = self.embeddings.publish().rows;
        let removed = known.iter().map(|(id, _)| id).filter(|id| !notes.is_note(*id)).collect();
        self.index(notes, &Delta { upserted, removed })
    }

    fn index_note(&mut self, id: NoteId, texts: &[TextHash]) -> Result<(), StoreError> {
        self.backlog.forget(id);
        let (waiting, outcome) = self.embeddings.assign_rows(id, texts);
        for at in waiting {
            self.backlog.enqueue(texts[at], (id, at));
        }
        outcome
    }

    /// Stores a batch that the model finished.
    ///
    /// Texts stay in the backlog if the model is unavailable or the disk is full, but not if the model rejects them.
    pub(super) fn store(&mut self, batch: EmbeddedBatch) -> Result<(), IndexError> {
        let EmbeddedBatch { texts, result } = batch;
        match result {
            Ok(vectors) => {
                for ((text, vector), at) in texts.iter().zip(vectors).zip(0..) {
                    let chunks = self.backlog.take(*text);
                    if let Err(error) = self.embeddings.insert_vector(*text, &vector, &chunks) {
                        for chunk in chunks {
                            self.backlog.enqueue(*text, chunk);
                        }
                        self.backlog.postpone(&texts[at + 1..]);
                        return Err(error.into());
                    }
                    self.backlog.count_embedded(chunks.len());
                    self.unpublished = true;
                }
                Ok(())
            }
            Err(error @ EmbedError::Unavailable { .. }) => {
                self.backlog.postpone(&texts);
                Err(error.into())
            }
            Err(error @ EmbedError::Failed { .. }) => {
                // A retry would fail again; keyword and link search still find the notes.
                for text in texts {
                    self.backlog.take(text);
                }
                Err(error.into())
            }
        }
    }

    /// Starts building a graph over the vectors if it would make searches faster.
    pub(super) fn build_graph(&mut self) {
        if self.graph_build != GraphBuild::Idle || !self.backlog.is_idle() {
            return;
        }
        let index = self.embeddings.publish().index;
        if !index.needs_rebuild() {
            return;
        }
        let (number, events) = (self.number, self.events.clone());
        let work = move || {
            // A stopped writer needs no graph.
            let _ = events.send(Event::GraphBuilt(number, index.build_graph()));
        };
        if std::thread::Builder::new().name("weft-graph".into()).spawn(work).is_ok() {
            self.graph_build = GraphBuild::Running;
        }
    }

    /// Uses a graph that was built in the background.
    pub(super) fn attach(&mut self, graph: FrozenGraph) -> Result<(), StoreError> {
        let build = std::mem::replace(&mut self.graph_build, GraphBuild::Idle);
        if build == GraphBuild::Running {
            // The graph is used even if it cannot be stored for the next start.
            self.unpublished = true;
            self.embeddings.attach(graph)?;
        }
        Ok(())
    }

    /// Starts building a graph for all nodes that follow the log of `home`, if it would make searches faster and no other node builds one.
    ///
    /// The graph is not used before its commit is applied, as on every other node.
    pub(super) fn share_graph(&mut self, home: &Arc<dyn VaultHome>, generation: u64) {
        if self.shares_at.is_some_and(|at| at > Instant::now()) {
            return;
        }
        self.shares_at = None;
        let is_busy = self.graph_build != GraphBuild::Idle || !self.backlog.is_idle();
        if is_busy || !self.embeddings.publish().index.needs_rebuild() {
            return;
        }
        let (home, events, number) = (Arc::clone(home), self.events.clone(), self.number);
        let model = self.embeddings.embedder().identity().clone();
        let present = self.embeddings.shared_graph();
        let mut source = Some(self.embeddings.shared_graph_source());
        let work = move || {
            let mut build = || {
                let source = source.take().ok_or_else(|| std::io::Error::other("built twice"))?;
                source.build().map_err(std::io::Error::other)
            };
            let shared = match home.log() {
                Some(log) => log.share_graph(&model, generation, present, &mut build),
                None => Ok(false),
            };
            if let Err(error) = shared {
                tracing::warn!(%error, "no vector graph was built for the collection; this is tried again");
            }
            // A stopped writer needs no answer.
            let _ = events.send(Event::SharingEnded(number));
        };
        if std::thread::Builder::new().name("weft-graph".into()).spawn(work).is_ok() {
            self.graph_build = GraphBuild::Running;
        }
    }

    /// Ends an attempt to share a graph; the next one waits until this one's commit is applied, or another node had time to build.
    pub(super) fn end_sharing(&mut self) {
        (self.graph_build, self.shares_at) = (GraphBuild::Idle, Some(Instant::now() + RETRY));
    }

    /// Returns when to try again to share a graph.
    pub(super) const fn shares_graph_at(&self) -> Option<Instant> {
        self.shares_at
    }

    /// Changes the graph as a commit of the log says.
    pub(super) fn change_graph(&mut self, change: GraphChange) -> Result<(), StoreError> {
        match change {
            GraphChange::Adopt { commit, graph, vectors } => {
                self.embeddings.adopt(graph, commit, &vectors)
            }
            GraphChange::Drop => {
                self.embeddings.drop_shared_graph();
                Ok(())
            }
        }
    }

    /// Drops vectors that another program changed, so that the model embeds their texts again.
    ///
    /// Verifies the file if it was touched, or if `always` is set, and returns a notice for users if vectors were damaged.
    pub(super) fn drop_damaged(
        &mut self,
        notes: &NoteTable,
        always: bool,
    ) -> Result<Option<String>, StoreError> {
        if !always && !self.embeddings.is_touched() {
            return Ok(None);
        }
        let n_damaged = self.embeddings.drop_damaged()?;
        if n_damaged == 0 {
            let has_stray_bytes = self.embeddings.has_stray_bytes();
            if has_stray_bytes || self.embeddings.is_gone() || self.embeddings.is_truncated() {
                // The vectors are still in memory, so the file is written again.
                self.compact()?;
                self.unpublished = true;
            }
            return Ok(has_stray_bytes.then(|| STRAY_BYTES_NOTICE.to_owned()));
        }
        self.unpublished = true;
        self.index_all(notes)?;
        // Removes the damaged vectors from the file, so that they are not reported again.
        self.compact()?;
        Ok(Some(damaged_vectors_notice(n_damaged)))
    }

    /// Removes vectors that no note uses from disk. After an error nothing is changed.
    pub(super) fn compact(&mut self) -> Result<(), StoreError> {
        self.embeddings.sync()?;
        self.embeddings.compact()?;
        if self.graph_build == GraphBuild::Running {
            self.graph_build = GraphBuild::Outdated;
        }
        Ok(())
    }
}

/// Notice for users about bytes behind the vectors.
pub(super) const STRAY_BYTES_NOTICE: &str = "another program had added bytes to the file of the vectors; the file was written again, and no vector is affected.";

/// Returns the notice for users about damaged vectors.
pub(super) fn damaged_vectors_notice(n: usize) -> String {
    format!("{n} vectors were damaged; the ones still in use were embedded again.")
}
