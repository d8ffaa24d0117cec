//! Settings of the keyword index.

use serde::{Deserialize, Serialize};
use weft_model::settings::Problems;

use super::bm25::Scoring;
use super::language_detection::LanguageChoice;

/// Settings of the keyword index.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KeywordSettings {
    /// Choice of the language of a note. An index built with another choice is rejected.
    pub language: LanguageChoice,
    /// BM25 parameters and field boosts.
    pub scoring: Scoring,
    /// Threads that write postings, 1 to 8.
    pub threads: usize,
    /// Bytes of postings that a writing thread buffers before it flushes a segment; 15 MB to 4 GB.
    ///
    /// Source: measured by the authors of tantivy; indexing slows down below 15 MB.
    pub heap_bytes_per_thread: usize,
    /// Number of segments of similar size that are merged into one, at least 2. A lower value means faster queries and more frequent merges.
    pub merge_factor: usize,
    /// Share of deleted notes above which a segment is rewritten, above 0 and at most 1.
    pub max_deleted_share: f32,
}

impl Default for KeywordSettings {
    fn default() -> Self {
        Self {
            language: LanguageChoice::default(),
            scoring: Scoring::default(),
            threads: 1,
            heap_bytes_per_thread: 64 << 20,
            merge_factor: 4,
            max_deleted_share: 0.25,
        }
    }
}

impl KeywordSettings {
    /// Reports values that are out of range.
    #[must_use]
    pub fn problems(&self) -> Problems {
        let Self {
            language: _,
            scoring,
            threads,
            heap_bytes_per_thread,
            merge_factor,
            max_deleted_share,
        } = *self;
        let mut problems = Problems::default();
        problems.section("scoring", scoring.problems());
        problems.within("threads", threads, 1..=8);
        let heap = 15_000_000..=4_000_000_000;
        problems.within("heap_bytes_per_thread", heap_bytes_per_thread, heap);
        problems.at_least("merge_factor", merge_factor, 2);
        let is_share = max_deleted_share > 0.0 && max_deleted_share <= 1.0;
        problems.check(is_share, "max_deleted_share", "must be above 0 and at most 1");
        problems
    }
}
