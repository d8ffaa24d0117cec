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
        // One that came before under the same number may rest on what is not written down.
        snapshots.retain(|held| held.generation != snapshot.generation);
        snapshots.push_back(Arc::new(Snapshot { vectors: None, ..(**snapshot).clone() }));
        let n_over = snapshots.len().saturating_sub(self.most);
        snapshots.drain(..n_over);
    }

    /// The snapshot of `generation`, if it is kept.
    pub(crate) fn at(&self, generation: u64) -> Option<Arc<Snapshot>> {
        let snapshots = self.snapshots.lock().unwrap_or_else(PoisonError::into_inner);
        snapshots.iter().find(|held| held.generation == generation).map(Arc::clone)
    }
}
