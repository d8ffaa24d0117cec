//! Term frequencies: how often the terms of a query occur in given notes.

use weft_model::NoteId;

use super::keyword_error::KeywordError;
use super::keyword_query::KeywordQuery;
use super::keyword_reader::KeywordReader;

/// Frequencies of the terms of a query in given notes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TermFrequencies {
    n_terms: usize,
    counts: Vec<u32>,
}

impl TermFrequencies {
    /// Returns the frequencies in the note at `note_idx` of the request, in the order of [`KeywordQuery::terms`].
    #[must_use]
    pub fn of(&self, note_idx: usize) -> &[u32] {
        &self.counts[note_idx * self.n_terms..][..self.n_terms]
    }
}

impl KeywordReader {
    /// Returns the frequency of each term of `query` in each of `notes`; 0 for unknown notes.
    ///
    /// Cost: a seek per term and note, less for notes with nearby ids.
    pub fn term_frequencies(
        &self,
        query: &KeywordQuery,
        notes: &[NoteId],
    ) -> Result<TermFrequencies, KeywordError> {
        self.read(|| {
            self.check(query)?;
            let n_terms = query.terms().len();
            let mut counts = vec![0; notes.len() * n_terms];
            for (segment_idx, docs, note_idxs) in self.0.by_segment(notes) {
                let mut frequencies = vec![0.0; docs.len()];
                for (term_idx, lists) in query.postings(segment_idx).enumerate() {
                    frequencies.fill(0.0);
                    for list in lists.iter().filter(|list| list.repeated_idx.is_none()) {
                        self.0.segments[segment_idx].add_frequencies(
                            list,
                            &docs,
                            &mut frequencies,
                        )?;
                    }
                    for (note_idx, frequency) in note_idxs.iter().zip(&frequencies) {
                        counts[note_idx * n_terms + term_idx] = as_count(*frequency);
                    }
                }
            }
            Ok(TermFrequencies { n_terms, counts })
        })
    }
}

/// Converts a sum of frequencies back to the whole number it is.
#[expect(
    clippy::cast_possible_truncation,
    reason = "sums of u32 counted in f64 are whole; the cast saturates"
)]
#[expect(clippy::cast_sign_loss, reason = "sums of counts are not negative")]
fn as_count(frequency: f64) -> u32 {
    frequency as u32
}
