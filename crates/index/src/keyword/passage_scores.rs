//! Passage scores: BM25 of each passage of given notes, from the positions of the query's terms.
//!
//! The formula is that of a whole note, with the passage's own length. Occurrences in titles, aliases and tags count for every passage; those in headings for the passages below them.
//! A note of one passage therefore has the score of that passage.

use smallvec::SmallVec;
use tantivy::postings::{Postings as _, SegmentPostings};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet as _, TERMINATED};
use weft_model::{NoteId, Span};

use super::index_schema::LINK_LISTS;
use super::keyword_error::KeywordError;
use super::keyword_query::KeywordQuery;
use super::keyword_reader::KeywordReader;
use super::passage_list::{PassageList, StoredPassage};
use super::segment_reader::{PostingList, Segment};

/// Index of the boosted field of headings, which, like that of lists of links, counts by passage instead of by note.
const HEADINGS: usize = 2;

/// The passages of one note, in text order, scored for a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NotePassages {
    /// The passages.
    pub passages: Vec<ScoredPassage>,
}

/// A passage with its keyword score.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredPassage {
    /// Place in the body.
    pub span: Span,
    /// Index of the passage that begins with the nearest heading above this one.
    pub above: Option<usize>,
    /// True if the passage has no text besides a heading.
    pub is_bare: bool,
    /// True if the passage contains words, unlike encoded data and rules.
    pub has_words: bool,
    /// True if the passage itself, rather than the name, the tags or a heading above it, contains a word of the query.
    pub has_query_words: bool,
    /// Score, on the scale of a note's: below the query's [`max_score`](KeywordQuery::max_score).
    pub score: f64,
    /// Saturation of each term of the query in the passage, in the order of [`KeywordQuery::terms`].
    pub saturations: Saturations,
}

/// Saturations of the terms of a query; few enough for most queries to be kept in place.
pub type Saturations = SmallVec<[f64; 6]>;

/// A passage with the words of a query that it contains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PassageWords {
    /// Place in the body.
    pub span: Span,
    /// Summed IDF of the distinct words of the query in the passage; 0 if it contains none.
    pub weight: f64,
}

/// Frequencies of the query's terms in the passages of one document.
struct PassageFrequencies {
    list: PassageList,
    /// One row of the query's terms for each passage.
    frequencies: Vec<f64>,
    /// True for each passage that itself contains one of the terms.
    has_own: Vec<bool>,
}

impl KeywordReader {
    /// Returns the number of passages of a note; 0 for an unknown note. `O(1)`.
    #[must_use]
    pub fn n_passages(&self, note: NoteId) -> usize {
        self.0.document_of(note).map_or(0, |(segment, doc)| segment.n_passages(doc))
    }

    /// Returns the passages of each of `notes` with their scores; none for unknown notes.
    ///
    /// Cost: a seek per term and note, and about 10 ns per occurrence.
    pub fn passages(
        &self,
        query: &KeywordQuery,
        notes: &[NoteId],
    ) -> Result<Vec<NotePassages>, KeywordError> {
        self.read(|| {
            self.check(query)?;
            let mut found = vec![NotePassages::default(); notes.len()];
            let weights: Vec<f64> = query.terms().iter().map(|term| term.weight()).collect();
            let normalization = self.0.length_normalization();
            for (segment_idx, docs, note_idxs) in self.0.by_segment(notes) {
                let segment = &*self.0.segments[segment_idx];
                let counted = self.counted(segment, query.postings(segment_idx), &docs)?;
                // The places of exact forms are not stored, so they count for every passage of their note.
                let mut exact = Vec::with_capacity(query.exact_forms().len());
                for form in query.exact_forms() {
                    let mut frequencies = vec![0.0; docs.len()];
                    for list in &form.postings[segment_idx] {
                        segment.add_frequencies(list, &docs, &mut frequencies)?;
                    }
                    exact.push((form.weight, frequencies));
                }
                let docs_with_notes = docs.iter().zip(&note_idxs).zip(&counted).enumerate();
                for (doc_idx, ((doc, note_idx), counted)) in docs_with_notes {
                    let PassageFrequencies { list, frequencies, has_own } = counted;
                    let n_outside = list.n_words_outside(segment.lengths[*doc as usize]);
                    let mut rows = frequencies.chunks(weights.len().max(1));
                    let scored = list.passages.iter().enumerate().map(|(at, stored)| {
                        let length = stored.n_words.saturating_add(n_outside);
                        let row = rows.next().unwrap_or_default();
                        let saturations: Saturations = row
                            .iter()
                            .map(|frequency| normalization.saturation(*frequency, length))
                            .collect();
                        let gains = weights.iter().zip(&saturations);
                        let by_term: f64 = gains.map(|(weight, gain)| weight * gain).sum();
                        let by_form = exact.iter().map(|(weight, frequencies)| {
                            weight * normalization.saturation(frequencies[doc_idx], length)
                        });
                        ScoredPassage {
                            span: stored.span,
                            above: stored.above,
                            is_bare: stored.is_bare,
                            has_words: list.has_words(at),
                            has_query_words: has_own[at],
                            score: by_term + by_form.sum::<f64>(),
                            saturations,
                        }
                    });
                    found[*note_idx].passages = scored.collect();
                }
            }
            Ok(found)
        })
    }

    /// Returns the passages of each of `notes` with the words of the query in their text, in text order; none for unknown notes.
    ///
    /// Words in addresses and comments are in no passage. Cost: as of [`passages`](Self::passages).
    pub fn passage_words(
        &self,
        query: &KeywordQuery,
        notes: &[NoteId],
    ) -> Result<Vec<Vec<PassageWords>>, KeywordError> {
        self.read(|| {
            self.check(query)?;
            let mut found = vec![Vec::new(); notes.len()];
            let mut positions: Vec<u32> = Vec::new();
            for (segment_idx, docs, note_idxs) in self.0.by_segment(notes) {
                let segment = &*self.0.segments[segment_idx];
                let lists: Result<Vec<PassageList>, _> =
                    docs.iter().map(|doc| segment.passages(*doc)).collect();
                let lists = lists?;
                let mut held: Vec<Vec<bool>> = Vec::with_capacity(docs.len());
                for (list, note_idx) in lists.iter().zip(&note_idxs) {
                    let words =
                        |passage: &StoredPassage| PassageWords { span: passage.span, weight: 0.0 };
                    found[*note_idx] = list.passages.iter().map(words).collect();
                    held.push(vec![false; list.passages.len()]);
                }
                for (term, postings) in query.terms().iter().zip(query.postings(segment_idx)) {
                    held.iter_mut().for_each(|held| held.fill(false));
                    for postings in postings.iter().filter(|list| list.repeated_idx.is_none()) {
                        each_with_term(segment, postings, &docs, |doc_idx, cursor| {
                            cursor.positions(&mut positions);
                            for position in &positions {
                                if let Some(at) = lists[doc_idx].passage_at(*position) {
                                    held[doc_idx][at] = true;
                                }
                            }
                        })?;
                    }
                    for (held, note_idx) in held.iter().zip(&note_idxs) {
                        let with_held = found[*note_idx].iter_mut().zip(held);
                        with_held
                            .filter(|(_, held)| **held)
                            .for_each(|(it, _)| it.weight += term.idf);
                    }
                }
            }
            Ok(found)
        })
    }

    /// Returns the place of each passage of a note that contains words, and whether it consists of a heading only; none for an unknown note.
    pub fn places(&self, note: NoteId) -> Result<Vec<(Span, bool)>, KeywordError> {
        self.read(|| {
            let Some((segment, doc)) = self.0.document_of(note) else { return Ok(Vec::new()) };
            let list = segment.passages(doc)?;
            let with_words = list.passages.iter().enumerate().filter(|(at, _)| list.has_words(*at));
            Ok(with_words.map(|(_, passage)| (passage.span, passage.is_bare)).collect())
        })
    }

    /// Returns the saturation of each of `terms`, as indexed, in each passage of each of `notes`: a row of terms per passage, passages in text order; none for unknown notes.
    pub fn passage_saturations(
        &self,
        terms: &[&str],
        notes: &[NoteId],
    ) -> Result<Vec<Vec<f64>>, KeywordError> {
        self.read(|| {
            self.check_loaded()?;
            let mut found = vec![Vec::new(); notes.len()];
            let normalization = self.0.length_normalization();
            for (segment_idx, docs, note_idxs) in self.0.by_segment(notes) {
                let segment = &*self.0.segments[segment_idx];
                let mut postings = Vec::with_capacity(terms.len());
                for term in terms {
                    let info = segment.lookup(term)?;
                    let list = |info| PostingList { repeated_idx: None, weight: 1.0, info };
                    postings.push(Vec::from_iter(info.map(list)));
                }
                let counted = self.counted(segment, postings.iter().map(|it| &**it), &docs)?;
                for ((doc, note_idx), counted) in docs.iter().zip(note_idxs).zip(counted) {
                    let PassageFrequencies { list, frequencies, .. } = counted;
                    let n_outside = list.n_words_outside(segment.lengths[*doc as usize]);
                    let rows = frequencies.chunks(terms.len().max(1)).zip(&list.passages);
                    found[note_idx] = rows
                        .flat_map(|(row, passage)| {
                            let length = passage.n_words.saturating_add(n_outside);
                            row.iter().map(move |it| normalization.saturation(*it, length))
                        })
                        .collect();
                }
            }
            Ok(found)
        })
    }

    /// Returns the frequencies of terms with these posting lists in the passages of each of the ascending `docs`.
    fn counted<'l>(
        &self,
        segment: &Segment,
        postings: impl ExactSizeIterator<Item = &'l [PostingList]>,
        docs: &[DocId],
    ) -> Result<Vec<PassageFrequencies>, KeywordError> {
        let n_terms = postings.len();
        let mut counted = Vec::with_capacity(docs.len());
        for doc in docs {
            let list = segment.passages(*doc)?;
            let frequencies = vec![0.0; list.passages.len() * n_terms];
            let has_own = vec![false; list.passages.len()];
            counted.push(PassageFrequencies { list, frequencies, has_own });
        }
        for (term_idx, lists) in postings.enumerate() {
            self.count(segment, lists, (term_idx, n_terms), docs, &mut counted)?;
        }
        Ok(counted)
    }

    /// Adds the frequencies of one term, whose posting lists are `lists`, to those of each of the ascending `docs`.
    fn count(
        &self,
        segment: &Segment,
        lists: &[PostingList],
        (term_idx, n_terms): (usize, usize),
        docs: &[DocId],
        counted: &mut [PassageFrequencies],
    ) -> Result<(), KeywordError> {
        let (heading_weight, list_weight) = (self.0.scoring.headings, self.0.scoring.link_lists);
        let mut positions: Vec<u32> = Vec::new();
        let is_by_passage =
            |list: &&PostingList| matches!(list.repeated_idx, Some(HEADINGS | LINK_LISTS));
        for list in lists.iter().filter(|list| !is_by_passage(list)) {
            each_with_term(segment, list, docs, |doc_idx, cursor| {
                let PassageFrequencies { list: passages, frequencies, has_own } =
                    &mut counted[doc_idx];
                let mut everywhere = 0.0;
                if list.repeated_idx.is_some() {
                    everywhere = list.weight * f64::from(cursor.term_freq());
                } else {
                    cursor.positions(&mut positions);
                    for position in &positions {
                        if *position < passages.body.start || *position >= passages.tags {
                            everywhere += 1.0;
                        } else if let Some(at) = passages.passage_at(*position) {
                            let stored = &passages.passages[at];
                            let is_heading = *position < stored.heading_end;
                            let own = match (is_heading, stored.is_link_list) {
                                (true, _) => heading_weight,
                                (false, true) => list_weight,
                                (false, false) => 1.0,
                            };
                            frequencies[at * n_terms + term_idx] += own;
                            has_own[at] = true;
                            if is_heading {
                                let mut add = |below: usize| {
                                    frequencies[below * n_terms + term_idx] += heading_weight;
                                };
                                passages_below(&passages.passages, at).for_each(&mut add);
                            }
                        }
                    }
                }
                if everywhere != 0.0 {
                    let own = frequencies.iter_mut().skip(term_idx).step_by(n_terms);
                    own.for_each(|frequency| *frequency += everywhere);
                }
            })?;
        }
        Ok(())
    }
}

/// Passes each of the ascending `docs` that contain a term with this posting list to `sink`: its index, and the postings at it.
fn each_with_term(
    segment: &Segment,
    list: &PostingList,
    docs: &[DocId],
    mut sink: impl FnMut(usize, &mut SegmentPostings),
) -> Result<(), KeywordError> {
    let option = match list.repeated_idx {
        None => IndexRecordOption::WithFreqsAndPositions,
        Some(_) => IndexRecordOption::WithFreqs,
    };
    let mut cursor = segment.cursor(list, option)?;
    for (doc_idx, doc) in docs.iter().enumerate() {
        let found = if cursor.doc() < *doc { cursor.seek(*doc) } else { cursor.doc() };
        if found == TERMINATED {
            break;
        }
        if found == *doc {
            sink(doc_idx, &mut cursor);
        }
    }
    Ok(())
}

/// Returns the passages below the heading at the start of passage `at`.
fn passages_below(passages: &[StoredPassage], at: usize) -> impl Iterator<Item = usize> + '_ {
    let is_below = move |passage: usize| {
        let mut above = passages[passage].above;
        while let Some(next) = above.filter(|next| *next > at) {
            above = passages[next].above;
        }
        above == Some(at)
    };
    (at + 1..passages.len()).take_while(move |passage| is_below(*passage))
}
