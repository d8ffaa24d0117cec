//! Snapshots kept for answers that come in several pages.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use weft_index::Snapshot;

/// The snapshots whose answers may be continued, the one used longest ago first.
pub(crate) struct Held {
    most: usize,
    snapshots: Mutex<VecDeque<Arc<Snapshot>>>,
}

impl Held {
    /// Holds `most` snapshots at most.
    pub(crate) const fn new(most: usize) -> Self {
        Self { most, snapshots: Mutex::new(VecDeque::new()) }
    }

    /// Keeps `snapshot`, in place of the one used longest ago where there are too many.
    ///
    /// Its vectors, the most of its memory, are let go: a run over links needs none.
    pub(crate) fn keep(&self, snapshot: &Arc<Snapshot>) {
        let mut snapshots = self.snapshots.lock().unwrap_or_else(PoisonError::into_inner);
        let known = snapshots.iter().position(|held| held.generation == snapshot.generation);
        let kept = known.and_then(|at| snapshots.remove(at));
        let without_vectors = || Arc::new(Snapshot { vectors: None, ..(**snapshot).clone() });
        snapshots.push_back(kept.unwrap_or_else(without_vectors));
        let n_over = snapshots.len().saturating_sub(self.most);
        snapshots.drain(..n_over);
    }

    /// The snapshot of `generation`, if it is kept.
    pub(crate) fn at(&self, generation: u64) -> Option<Arc<Snapshot>> {
        let snapshots = self.snapshots.lock().unwrap_or_else(PoisonError::into_inner);
        snapshots.iter().find(|held| held.generation == generation).map(Arc::clone)
    }
}
