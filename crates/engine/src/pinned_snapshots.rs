//! Snapshots pinned for answers that span several pages.

use std::sync::Arc;

use weft_index::Snapshot;

use crate::generation_cache::GenerationCache;

/// The snapshots whose answers can be continued.
pub(crate) struct PinnedSnapshots(GenerationCache<(), Snapshot>);

impl PinnedSnapshots {
    /// Creates an empty set of at most `capacity` snapshots.
    pub(crate) const fn new(capacity: usize) -> Self {
        Self(GenerationCache::new(capacity))
    }

    /// Pins `snapshot`, and unpins the least recently used one if there are too many.
    ///
    /// Drops its vectors, which take most of its memory: a walk over links needs none.
    /// Replaces a snapshot of the same generation, because that one may contain changes that were never persisted.
    pub(crate) fn pin(&self, snapshot: &Arc<Snapshot>) {
        let without_vectors = Snapshot { vectors: None, ..(**snapshot).clone() };
        self.0.insert(snapshot.generation, (), Arc::new(without_vectors));
    }

    /// Returns the snapshot of `generation`, if it is pinned.
    pub(crate) fn get(&self, generation: u64) -> Option<Arc<Snapshot>> {
        self.0.get(generation, &())
    }
}
