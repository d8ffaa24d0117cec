//! The state of following the log of a home.

use std::collections::HashSet;
use std::time::Instant;

use weft_index::SharedGraph;
use weft_model::TextHash;

use super::change_batch::ChangeBatch;
use crate::change_log::TextVectors;

/// The state of following; it stays as it is for a home without a log.
#[derive(Default)]
pub(super) struct Following {
    /// The commit that is being applied.
    pub(super) run: Option<FollowRun>,
    /// True once the vectors of all texts that waited when the stored vectors were loaded have been looked up.
    pub(super) has_vectors: bool,
    /// True while the vectors contain changes of a run that is not published, so that no state may be published with them.
    pub(super) has_unpublished_vectors: bool,
    /// Commit whose vector graph belongs to the published state, `Some(None)` if none does; `None` until that is known.
    pub(super) graph: Option<Option<u64>>,
    /// Commit whose vector graph this index cannot use.
    pub(super) unusable_graph: Option<u64>,
    /// When to try again after a failure.
    pub(super) retry_at: Option<Instant>,
}

/// The next generation of a follower, while its changes are collected.
pub(super) struct FollowRun {
    pub(super) generation: u64,
    pub(super) batch: ChangeBatch,
    /// Texts of new and changed notes.
    pub(super) texts: HashSet<TextHash>,
    pub(super) vectors: TextVectors,
    /// `None` if the vector graph stays the same.
    pub(super) graph: Option<GraphChange>,
}

/// The vector graph that belongs to a state of the log.
pub(super) struct GraphState {
    /// Commit that shares it; `None` if none is used.
    pub(super) commit: Option<u64>,
    /// `None` if the index has it.
    pub(super) change: Option<GraphChange>,
}

/// A change of the vector graph by a commit.
pub(super) enum GraphChange {
    /// The graph of a commit is used from now on.
    Adopt {
        commit: u64,
        graph: SharedGraph,
        /// Vectors of its texts that the index does not have.
        vectors: TextVectors,
    },
    /// No graph is used any more.
    Drop,
}

impl Following {
    /// Returns true while the changes of a generation are collected, so that none is published alone.
    pub(super) const fn is_running(&self) -> bool {
        self.run.is_some()
    }

    /// Looks up the vectors of all texts that wait, and the vector graph, in the log again.
    pub(super) fn look_up_again(&mut self) {
        (self.has_vectors, self.graph, self.retry_at) = (false, None, Some(Instant::now()));
    }

    /// Ends the run without publishing.
    pub(super) fn end(&mut self) {
        self.run = None;
    }

    /// Returns the collected changes, to be continued; an empty batch outside of a run.
    pub(super) fn take_batch(&mut self) -> ChangeBatch {
        self.run.as_mut().map(|run| std::mem::take(&mut run.batch)).unwrap_or_default()
    }

    /// Keeps the collected changes; returns them outside of a run.
    pub(super) fn keep_batch(&mut self, batch: ChangeBatch) -> Option<ChangeBatch> {
        match &mut self.run {
            Some(run) => {
                run.batch = batch;
                None
            }
            None => Some(batch),
        }
    }

    /// Records texts of new and changed notes.
    pub(super) fn add_texts(&mut self, texts: impl Iterator<Item = TextHash>) {
        if let Some(run) = &mut self.run {
            run.texts.extend(texts);
        }
    }
}
