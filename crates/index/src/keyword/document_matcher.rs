//! Document matchers: parts of a query resolved to documents, per segment.

use tantivy::DocId;

use super::keyword_error::KeywordError;
use super::segment_reader::{PostingList, Segment};

/// Part of a query that contributes to the score.
#[derive(Clone, Debug)]
pub(super) struct WeightedMatcher {
    pub(super) matcher: DocumentMatcher,
    pub(super) weight: f64,
}

/// Matches documents. Both variants are indexed by segment.
#[derive(Clone, Debug)]
pub(super) enum DocumentMatcher {
    /// Documents in any of these posting lists.
    Postings(Vec<Vec<PostingList>>),
    /// Documents already found, ascending, with their frequencies.
    Hits(Vec<Vec<(DocId, u32)>>),
}

impl DocumentMatcher {
    /// Returns the number of posting lists in a segment.
    pub(super) fn n_lists(&self, segment_idx: usize) -> usize {
        match self {
            Self::Postings(lists) => lists[segment_idx].len(),
            Self::Hits(_) => 1,
        }
    }

    /// Returns the number of postings in a segment. A document in several lists counts once for each.
    pub(super) fn n_postings(&self, segment_idx: usize) -> usize {
        match self {
            Self::Postings(lists) => {
                lists[segment_idx].iter().map(|list| list.info.doc_freq as usize).sum()
            }
            Self::Hits(hits) => hits[segment_idx].len(),
        }
    }

    /// Passes every matching document to `sink`, possibly more than once.
    pub(super) fn each(
        &self,
        segment: &Segment,
        segment_idx: usize,
        mut sink: impl FnMut(DocId),
    ) -> Result<(), KeywordError> {
        match self {
            Self::Postings(lists) => lists[segment_idx]
                .iter()
                .try_for_each(|list| segment.each(list, |doc, _| sink(doc))),
            Self::Hits(hits) => {
                hits[segment_idx].iter().for_each(|(doc, _)| sink(*doc));
                Ok(())
            }
        }
    }

    /// Adds the frequency in each of the ascending `docs` of a segment to `frequencies`.
    pub(super) fn add_frequencies(
        &self,
        segment: &Segment,
        segment_idx: usize,
        docs: &[DocId],
        frequencies: &mut [f64],
    ) -> Result<(), KeywordError> {
        match self {
            Self::Postings(lists) => lists[segment_idx]
                .iter()
                .try_for_each(|list| segment.add_frequencies(list, docs, frequencies)),
            Self::Hits(hits) => {
                let hits = &hits[segment_idx];
                for (doc, frequency) in docs.iter().zip(frequencies) {
                    if let Ok(at) = hits.binary_search_by_key(doc, |(doc, _)| *doc) {
                        *frequency += f64::from(hits[at].1);
                    }
                }
                Ok(())
            }
        }
    }
}

/// Returns an upper bound of what these matchers add to a score.
pub(super) fn total_weight(matchers: &[WeightedMatcher]) -> f64 {
    matchers.iter().map(|weighted| weighted.weight).sum()
}
