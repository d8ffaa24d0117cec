//! Centrality, prepared once for each generation.

use std::sync::{Arc, Mutex, PoisonError};

use weft_graph::centrality::{Centrality, Measure};
use weft_index::Snapshot;

/// Keeps the centrality of the generation that was asked for last.
#[derive(Default)]
pub(crate) struct Central(Mutex<Option<(u64, Arc<Centrality>)>>);

impl Central {
    /// The centrality of the snapshot's notes by `measure`, which is the same in every call.
    pub(crate) fn of(&self, snapshot: &Snapshot, measure: Measure) -> Arc<Centrality> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*kept {
            Some((generation, centrality)) if *generation == snapshot.generation => {
                Arc::clone(centrality)
            }
            Some(_) | None => {
                let centrality = Arc::new(Centrality::new(snapshot.notes.graph(), measure));
                *kept = Some((snapshot.generation, Arc::clone(&centrality)));
                centrality
            }
        }
    }
}
