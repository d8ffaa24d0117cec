//! Buffers of a search, reused from search to search.

use tantivy::DocId;

/// Scores and frequencies by document.
#[derive(Debug, Default)]
pub(super) struct ScoreBuffers {
    /// Score of each document; all zero between uses, like the frequencies.
    pub(super) scores: Vec<f64>,
    pub(super) frequencies: Vec<f64>,
    /// Documents with a score.
    pub(super) touched: Vec<DocId>,
    /// Documents with a frequency.
    pub(super) listed: Vec<DocId>,
}

impl ScoreBuffers {
    /// Resets the scores of all touched documents.
    pub(super) fn clear(&mut self) {
        for doc in self.touched.drain(..) {
            self.scores[doc as usize] = 0.0;
        }
    }
}
