//! What passes a filter, found once for each generation.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use weft_index::Snapshot;
use weft_model::{NoteSet, Stop};

use super::Filter;
use crate::{Engine, EngineError};

/// Filters that are remembered: those of a few services, each of which asks with the same again and again. One takes a bit a note.
const REMEMBERED: usize = 32;

/// Bytes of the longest filter that is remembered, as `Debug` writes it, so that none can fill the memory.
const LONGEST: usize = 4096;

/// The notes that pass a filter.
#[derive(Debug, Default)]
pub(crate) struct Passing {
    /// The notes.
    pub(crate) notes: NoteSet,
    filter: Filter,
    unmet: OnceLock<Vec<String>>,
}

impl Passing {
    /// What [`Filter::unmet`] says of the filter. `snapshot` is the one whose notes these are.
    pub(crate) fn unmet(&self, snapshot: &Snapshot, stop: &Stop) -> Result<&[String], EngineError> {
        if let Some(unmet) = self.unmet.get() {
            return Ok(unmet);
        }
        let unmet = self.filter.unmet(&self.notes, snapshot, stop)?;
        Ok(self.unmet.get_or_init(|| unmet))
    }
}

/// What passed the filters that were asked with last, each with its generation, the one used longest ago first.
#[derive(Default)]
pub(crate) struct Passings(Mutex<VecDeque<(u64, Arc<Passing>)>>);

impl Passings {
    fn at(&self, generation: u64, filter: &Filter) -> Option<Arc<Passing>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = all.iter().position(|(of, one)| *of == generation && one.filter == *filter)?;
        let found = all.remove(at)?;
        let passing = Arc::clone(&found.1);
        all.push_back(found);
        Some(passing)
    }

    fn remember(&self, generation: u64, passing: Arc<Passing>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Two that ask at once find the same.
        all.retain(|(of, one)| *of != generation || one.filter != passing.filter);
        all.push_back((generation, passing));
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
        if filter.is_empty() {
            return Ok(Arc::default());
        }
        if let Some(passing) = self.passings.at(snapshot.generation, filter) {
            return Ok(passing);
        }
        let notes = filter.notes(snapshot, &self.stop)?;
        let passing = Arc::new(Passing { notes, filter: filter.clone(), ..Passing::default() });
        if format!("{filter:?}").len() <= LONGEST {
            self.passings.remember(snapshot.generation, Arc::clone(&passing));
        }
        Ok(passing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remember(all: &Passings, generation: u64, filter: &str) -> Arc<Passing> {
        let passing = Arc::new(Passing { filter: by(filter), ..Passing::default() });
        all.remember(generation, Arc::clone(&passing));
        passing
    }

    fn by(tag: &str) -> Filter {
        Filter { tags: vec![tag.to_owned()], ..Filter::default() }
    }

    #[test]
    fn a_filter_is_remembered_for_its_generation_while_it_is_used() {
        let all = Passings::default();
        let kept = remember(&all, 1, "kept");
        remember(&all, 1, "left");
        for at in 1..REMEMBERED {
            remember(&all, 2, &at.to_string());
            let found = all.at(1, &by("kept")).expect("it was just used");
            assert!(Arc::ptr_eq(&found, &kept));
        }
        assert!(all.at(2, &by("kept")).is_none());
        assert!(all.at(1, &by("left")).is_none(), "it was used longest ago");
        assert!(all.at(2, &by("1")).is_some());
    }

    #[test]
    fn two_that_find_the_same_at_once_leave_one() {
        let all = Passings::default();
        remember(&all, 1, "same");
        let last = remember(&all, 1, "same");
        assert!(Arc::ptr_eq(&all.at(1, &by("same")).expect("it was just found"), &last));
        assert_eq!(all.0.lock().unwrap().len(), 1);
    }
}
