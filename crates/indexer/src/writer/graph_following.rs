//! Following the vector graph of a log: all nodes use the same one from the same commit on.

use weft_index::vector::VectorError;
use weft_index::{SharedGraph, StoreError};

use super::Writer;
use super::follower::VECTORS_AT_ONCE;
use super::following::{GraphChange, GraphState};
use crate::IndexError;
use crate::change_log::{ChangeLog, LoggedGraph, TextVectors};

impl Writer {
    /// Returns the vector graph that belongs to the state at `head`; `None` if the graph had to be withdrawn, or another one was committed by now.
    ///
    /// A node that cannot read a graph never answers without it under a number where others use it: the withdrawal is a commit, from which on every node compares exactly.
    pub(super) fn graph_at(
        &mut self,
        log: &dyn ChangeLog,
        head: u64,
    ) -> Result<Option<GraphState>, IndexError> {
        let Some(pipeline) = self.vectors.pipeline() else {
            return Ok(Some(GraphState { commit: None, change: None }));
        };
        let model = &pipeline.embeddings().embedder().identity().clone();
        let is_usable = |commit: &u64| self.following.unusable_graph != Some(*commit);
        let wanted = log.graph(model, head)?.filter(is_usable);
        let present = pipeline.embeddings().shared_graph();
        let commit = match wanted {
            wanted if wanted == present => {
                return Ok(Some(GraphState { commit: present, change: None }));
            }
            None => {
                return Ok(Some(GraphState { commit: None, change: Some(GraphChange::Drop) }));
            }
            Some(commit) => commit,
        };
        let bytes = match log.read_graph(model, commit)? {
            LoggedGraph::Bytes(bytes) => bytes,
            LoggedGraph::Foreign => {
                tracing::error!(
                    commit,
                    "a later release built the vector graph of the collection, so this node compares vectors exactly and its answers can differ from those of other nodes; upgrade it"
                );
                self.following.unusable_graph = Some(commit);
                let change = present.map(|_| GraphChange::Drop);
                return Ok(Some(GraphState { commit: None, change }));
            }
            LoggedGraph::Unusable => return self.withdraw_graph(log, commit),
        };
        let Some(graph) = SharedGraph::from_bytes(&bytes) else {
            return self.withdraw_graph(log, commit);
        };
        let missing = pipeline.embeddings().without_vector(graph.texts());
        let mut vectors: TextVectors = Vec::with_capacity(missing.len());
        for texts in missing.chunks(VECTORS_AT_ONCE) {
            self.scans.check_interrupted()?;
            vectors.extend(log.vectors(model, texts, head)?);
        }
        vectors.retain(|(_, vector)| vector.len() == model.dimension);
        if vectors.len() < missing.len() {
            return self.withdraw_graph(log, commit);
        }
        let change = Some(GraphChange::Adopt { commit, graph, vectors });
        Ok(Some(GraphState { commit: Some(commit), change }))
    }

    fn withdraw_graph(
        &self,
        log: &dyn ChangeLog,
        commit: u64,
    ) -> Result<Option<GraphState>, IndexError> {
        let model = self.vectors.embedder().map(|embedder| embedder.identity());
        if model.map_or(Ok(false), |model| log.withdraw_graph(model, commit))? {
            tracing::error!(
                commit,
                "the vector graph of the collection was damaged, of an earlier release, or without some of its vectors; all nodes compare vectors exactly until it is built again"
            );
        }
        Ok(None)
    }

    /// Changes the vector graph. A graph of other vectors than those of this node is reported and not used.
    pub(super) fn change_graph(&mut self, change: GraphChange) -> Result<(), IndexError> {
        let commit = match &change {
            GraphChange::Adopt { commit, .. } => Some(*commit),
            GraphChange::Drop => None,
        };
        match self.vectors.change_graph(change) {
            Err(StoreError::Vector(VectorError::GraphMismatch)) => {
                self.following.unusable_graph = commit;
                tracing::error!(
                    commit,
                    "the vector graph of the collection belongs to other vectors than those of this node, so this node compares vectors exactly and its answers can differ from those of other nodes; delete its index and restart it"
                );
                Ok(())
            }
            outcome => Ok(outcome?),
        }
    }
}
