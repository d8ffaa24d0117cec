//! Term frequencies: how often the terms of a query occur in given notes.

use weft_model::NoteId;

use super::index_schema::LINK_LISTS;
use super::keyword_error::KeywordError;
use super::keyword_query::KeywordQuery;
use super::keyword_reader::KeywordReader;
use super::segment_reader::PostingList;

/// Frequencies of the terms of a query in given notes.
#[derive(Clone, Debug, PartialEq)]
pub struct TermFrequencies {
    n_terms: usize,
    counts: Vec<f64>,
}

impl TermFrequencies {
    /// Returns the frequencies in the note at `note_idx` of the request, in the order of [`KeywordQuery::terms`].
    #[must_use]
    pub fn of(&self, note_idx: usize) -> &[f64] {
        &self.counts[note_idx * self.n_terms..][..self.n_terms]
    }
}

impl KeywordReader {
    /// Returns the frequency of each term of `query` in the text of each of `notes`; 0 for unknown notes. Occurrences in lists of links count with their weight.
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
            let mut counts = vec![0.0; notes.len() * n_terms];
            for (segment_idx, docs, note_idxs) in self.0.by_segment(notes) {
                let mut frequencies = vec![0.0; docs.len()];
                let is_of_text = |list: &&PostingList| {
                    list.repeated_idx.is_none_or(|field_idx| field_idx == LINK_LISTS)
                };
                for (term_idx, lists) in query.postings(segment_idx).enumerate() {
                    frequencies.fill(0.0);
                    for list in lists.iter().filter(is_of_text) {
                        self.0.segments[segment_idx].add_frequencies(
                            list,
                            &docs,
                            &mut frequencies,
                        )?;
                    }
                    for (note_idx, frequency) in note_idxs.iter().zip(&frequencies) {
                        counts[note_idx * n_terms + term_idx] = *frequency;
                    }
                }
            }
            Ok(TermFrequencies { n_terms, counts })
        })
    }
}
