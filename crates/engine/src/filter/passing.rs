//! What passes a filter, found once for each generation.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use weft_index::Snapshot;
use weft_model::NoteSet;

use super::Filter;
use crate::{Engine, EngineError};

/// Filters that are remembered: those of a few services, each of which asks with the same again and again. One takes a bit a note.
const REMEMBERED: usize = 32;

/// Bytes of the longest filter that is remembered, so that none can fill the memory.
const LONGEST: usize = 4096;

/// The notes that pass a filter.
#[derive(Debug, Default)]
pub(crate) struct Passing {
    /// The notes.
    pub(crate) notes: NoteSet,
    unmet: OnceLock<Vec<String>>,
}

impl Passing {
    /// What [`Filter::unmet`] says of the filter, which is that of these notes.
    pub(crate) fn unmet(
        &self,
        filter: &Filter,
        snapshot: &Snapshot,
    ) -> Result<&[String], EngineError> {
        if let Some(unmet) = self.unmet.get() {
            return Ok(unmet);
        }
        let unmet = filter.unmet(snapshot)?;
        Ok(self.unmet.get_or_init(|| unmet))
    }
}

/// A filter over the notes of a generation, and what passes it.
struct Remembered {
    generation: u64,
    /// What `Debug` writes of the filter.
    filter: String,
    passing: Arc<Passing>,
}

/// What passed the filters that were asked with last, the one used longest ago first.
#[derive(Default)]
pub(crate) struct Passings(Mutex<VecDeque<Remembered>>);

impl Passings {
    fn at(&self, generation: u64, filter: &str) -> Option<Arc<Passing>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |one: &Remembered| one.generation == generation && one.filter == filter;
        let at = all.iter().position(is_it)?;
        let found = all.remove(at)?;
        let passing = Arc::clone(&found.passing);
        all.push_back(found);
        Some(passing)
    }

    fn remember(&self, one: Remembered) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Two that ask at once find the same.
        all.retain(|other| (other.generation, &other.filter) != (one.generation, &one.filter));
        all.push_back(one);
        let n_over = all.len().saturating_sub(REMEMBERED);
        all.drain(..n_over);
    }
}

impl Engine {
    /// The notes of `snapshot` that pass `filter`. `O(notes)`, and next to nothing when it was asked of the same generation not long ago.
    ///
    /// Fails as [`Filter::notes`] does.
    pub(crate) fn passing(
        &self,
        snapshot: &Snapshot,
        filter: &Filter,
    ) -> Result<Arc<Passing>, EngineError> {
        self.stop.check()?;
        let generation = snapshot.generation;
        let written = if filter.is_empty() { String::new() } else { format!("{filter:?}") };
        if let Some(passing) = self.passings.at(generation, &written) {
            return Ok(passing);
        }
        let notes = filter.notes(snapshot, &self.stop)?;
        let passing = Arc::new(Passing { notes, unmet: OnceLock::new() });
        if (1..=LONGEST).contains(&written.len()) {
            let passing = Arc::clone(&passing);
            self.passings.remember(Remembered { generation, filter: written, passing });
        }
        Ok(passing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remember(all: &Passings, generation: u64, filter: &str) -> Arc<Passing> {
        let passing = Arc::new(Passing::default());
        let (filter, own) = (filter.to_owned(), Arc::clone(&passing));
        all.remember(Remembered { generation, filter, passing: own });
        passing
    }

    #[test]
    fn a_filter_is_remembered_for_its_generation_while_it_is_used() {
        let all = Passings::default();
        let kept = remember(&all, 1, "kept");
        remember(&all, 1, "left");
        for at in 1..REMEMBERED {
            remember(&all, 2, &at.to_string());
            let found = all.at(1, "kept").expect("it was just used");
            assert!(Arc::ptr_eq(&found, &kept));
        }
        assert!(all.at(2, "kept").is_none());
        assert!(all.at(1, "left").is_none(), "it was used longest ago");
        assert!(all.at(2, "1").is_some());
    }

    #[test]
    fn two_that_find_the_same_at_once_leave_one() {
        let all = Passings::default();
        remember(&all, 1, "same");
        let last = remember(&all, 1, "same");
        assert!(Arc::ptr_eq(&all.at(1, "same").expect("it was just found"), &last));
        assert_eq!(all.0.lock().unwrap().len(), 1);
    }
}
