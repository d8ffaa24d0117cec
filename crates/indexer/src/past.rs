//! Earlier states: the stored generations, as long as they are kept.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weft_index::{Checkpoints, Snapshot};

use crate::IndexError;

/// The earlier states that can still be asked. Cloning shares them.
#[derive(Clone)]
pub(crate) struct Past {
    checkpoints: Checkpoints,
    kept: Arc<Mutex<VecDeque<Arc<Snapshot>>>>,
    /// States kept in memory at most.
    most: usize,
}

impl Past {
    pub(crate) fn new(checkpoints: Checkpoints, most: usize) -> Self {
        Self { checkpoints, kept: Arc::default(), most }
    }

    /// Keeps a state that was written down in memory, in place of the oldest where there are too many.
    pub(crate) fn keep(&self, snapshot: Arc<Snapshot>) {
        let mut kept = self.kept();
        kept.retain(|other| other.generation != snapshot.generation);
        let at = kept.partition_point(|other| other.generation < snapshot.generation);
        kept.insert(at, snapshot);
        let n_over = kept.len().saturating_sub(self.most);
        kept.drain(..n_over);
    }

    /// Lets all states in memory go.
    pub(crate) fn forget(&self) {
        self.kept().clear();
    }

    /// The state of a stored generation: whole where this run wrote it down, else its notes and links.
    pub(crate) fn at(&self, generation: u64) -> Result<Arc<Snapshot>, IndexError> {
        if let Some(kept) = self.whole(generation) {
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

    /// The state in memory of a generation, if there is one and its file is what it was; else that is to be read again, which tells what is wrong with it.
    fn whole(&self, generation: u64) -> Option<Arc<Snapshot>> {
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
