//! Past snapshots: the stored generations, as long as they are retained.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weft_index::{Checkpoints, Snapshot};

use crate::IndexError;

/// Past snapshots that can still be queried. Clones share the cache.
#[derive(Clone)]
pub(crate) struct PastSnapshots {
    checkpoints: Checkpoints,
    kept: Arc<Mutex<VecDeque<Arc<Snapshot>>>>,
    /// Maximum number of snapshots cached in memory.
    capacity: usize,
}

impl PastSnapshots {
    pub(crate) fn new(checkpoints: Checkpoints, capacity: usize) -> Self {
        Self { checkpoints, kept: Arc::default(), capacity }
    }

    /// Caches a persisted snapshot, evicting the oldest beyond the limit.
    pub(crate) fn keep(&self, snapshot: Arc<Snapshot>) {
        let mut kept = self.kept();
        kept.retain(|other| other.generation != snapshot.generation);
        let at = kept.partition_point(|other| other.generation < snapshot.generation);
        kept.insert(at, snapshot);
        let n_over = kept.len().saturating_sub(self.capacity);
        kept.drain(..n_over);
    }

    /// Evicts all cached snapshots.
    pub(crate) fn forget(&self) {
        self.kept().clear();
    }

    /// Returns the snapshot of a stored generation: complete if this process persisted it, else with notes and links only.
    pub(crate) fn at(&self, generation: u64) -> Result<Arc<Snapshot>, IndexError> {
        if let Some(kept) = self.cached(generation) {
            return Ok(kept);
        }
        let stored = self.checkpoints.stored()?;
        if !stored.contains(&generation) {
            return Err(IndexError::UnknownGeneration { generation, stored });
        }
        let checkpoint = self.checkpoints.read(generation)?;
        let snapshot = Arc::new(Snapshot::past(checkpoint.generation, checkpoint.notes));
        self.keep(Arc::clone(&snapshot));
        Ok(snapshot)
    }

    /// Returns the cached snapshot of a generation if its file is unchanged; otherwise the file must be read again, which reports what is wrong with it.
    fn cached(&self, generation: u64) -> Option<Arc<Snapshot>> {
        let mut all = self.kept();
        let at = all.iter().position(|kept| kept.generation == generation)?;
        match all[at].notes.check_touched() {
            Ok(None) => {}
            Ok(Some(notes)) => all[at] = Arc::new(Snapshot { notes, ..Snapshot::clone(&all[at]) }),
            Err(_) => {
                all.remove(at);
                return None;
            }
        }
        Some(Arc::clone(&all[at]))
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<Arc<Snapshot>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
