//! The notes that match a filter, computed once for each generation.

use std::sync::{Arc, OnceLock};

use weft_index::Snapshot;
use weft_model::{NoteSet, Stop};

use super::Filter;
use crate::generation_cache::GenerationCache;
use crate::{Engine, EngineError, Warning};

/// Number of cached filters: enough for a few services that repeat their filters. An entry takes one bit per note.
const CACHE_CAPACITY: usize = 32;

/// Maximum size of a cached filter, in bytes of its `Debug` text, so that large filters cannot fill the memory.
const MAX_CACHED_BYTES: usize = 4096;

/// Cached matches by filter.
pub(crate) type FilterCache = GenerationCache<Filter, FilterMatches>;

/// Creates an empty cache of filters.
pub(crate) const fn filter_cache() -> FilterCache {
    GenerationCache::new(CACHE_CAPACITY)
}

/// The notes that match a filter.
#[derive(Debug, Default)]
pub(crate) struct FilterMatches {
    /// The matching notes.
    pub(crate) notes: NoteSet,
    filter: Filter,
    warnings: OnceLock<Vec<Warning>>,
}

impl FilterMatches {
    /// Returns the warnings of [`Filter::warnings`]. `snapshot` must be the snapshot that the notes belong to.
    pub(crate) fn warnings(
        &self,
        snapshot: &Snapshot,
        stop: &Stop,
    ) -> Result<&[Warning], EngineError> {
        if let Some(warnings) = self.warnings.get() {
            return Ok(warnings);
        }
        let warnings = self.filter.warnings(&self.notes, snapshot, stop)?;
        Ok(self.warnings.get_or_init(|| warnings))
    }
}

impl Engine {
    /// Returns the notes of `snapshot` that match `filter`. `O(notes)`, or nearly free if cached.
    ///
    /// Fails as [`Filter::notes`] does.
    pub(crate) fn filter_matches(
        &self,
        snapshot: &Snapshot,
        filter: &Filter,
    ) -> Result<Arc<FilterMatches>, EngineError> {
        self.stop.check()?;
        if filter.is_empty() {
            return Ok(Arc::default());
        }
        if let Some(matches) = self.filter_cache.get(snapshot.generation, filter) {
            return Ok(matches);
        }
        let notes = filter.notes(snapshot, &self.stop)?;
        let matches =
            Arc::new(FilterMatches { notes, filter: filter.clone(), ..FilterMatches::default() });
        if format!("{filter:?}").len() <= MAX_CACHED_BYTES {
            let cached = Arc::clone(&matches);
            self.filter_cache.insert(snapshot.generation, filter.clone(), cached);
        }
        Ok(matches)
    }
}
