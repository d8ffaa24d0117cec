//! Top-k search: BM25 over exact lengths. Searching and scoring given notes share one code path.
//!
//! A note's score is `Σ weight · f / (f + k1·(1 − b + b·length / mean length))` over the matchers of the query,
//! where `f` counts occurrences in the text, and occurrences in boosted fields with their extra weight.
//! Sums are taken heaviest matcher first, so equal notes score equally in any segment.
//!
//! A search reads the posting lists in that order and stops when the remaining matchers cannot lift an unseen note into the top k.
//! It then seeks the remaining lists, which are the lightest and mostly the longest, for the candidates only.
//! Source: Turtle and Flood, "Query evaluation: strategies and optimizations", 1995 (max-score, over terms).

use std::cmp::Ordering;

use tantivy::DocId;
use weft_model::{NoteId, NoteSet};

use super::document_matcher::{DocumentMatcher, WeightedMatcher, total_weight};
use super::keyword_error::KeywordError;
use super::keyword_query::KeywordQuery;
use super::keyword_reader::KeywordReader;
use super::score_buffers::ScoreBuffers;

/// Maximum size of a filter whose notes are scored one by one: seeking is then cheaper than reading every list.
const MAX_SEEKING_FILTER: usize = 1000;

/// Cost of seeking a note in a list, in postings read sequentially: about 25 ns compared with 3 ns.
const SEEK_IN_POSTINGS: usize = 8;

/// Upper bound of the relative rounding error of a sum.
const ROUNDING: f64 = 1e-9;

/// Hit of a keyword search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeywordHit {
    /// Note.
    pub note: NoteId,
    /// Score: positive and below the query's [`max_score`](KeywordQuery::max_score).
    pub score: f64,
}

impl KeywordReader {
    /// Returns the `k` best notes among those that pass `filter`, best first, ties by the lower id.
    ///
    /// Exact: notes that are not scored cannot be in the result. Cost: about 3 ns for each posting read.
    pub fn search(
        &self,
        query: &KeywordQuery,
        k: usize,
        filter: &NoteSet,
    ) -> Result<Vec<KeywordHit>, KeywordError> {
        self.search_by(query, k, filter, &NoteId::cmp)
    }

    /// Like [`search`](Self::search), with ties ordered by `first`, so that the choice among equal notes need not depend on their ids.
    pub fn search_by(
        &self,
        query: &KeywordQuery,
        k: usize,
        filter: &NoteSet,
        first: &dyn Fn(&NoteId, &NoteId) -> Ordering,
    ) -> Result<Vec<KeywordHit>, KeywordError> {
        self.read(|| {
            self.check(query)?;
            let mut best = TopHits::new(k, first);
            if k == 0 || query.matchers.is_empty() {
                return Ok(Vec::new());
            }
            if let NoteSet::Only(bits) = filter
                && bits.len() <= MAX_SEEKING_FILTER
            {
                let notes: Vec<NoteId> = bits.iter().collect();
                for (note, score) in notes.iter().zip(self.scores(query, &notes)?) {
                    if score > 0.0 {
                        best.offer(KeywordHit { note: *note, score });
                    }
                }
                return Ok(best.into_sorted());
            }
            let mut buffers = self
                .0
                .score_buffers
                .lock()
                .ok()
                .and_then(|mut pool| pool.pop())
                .unwrap_or_default();
            for segment_idx in 0..self.0.segments.len() {
                // After an error the buffers are dirty and are not returned to the pool.
                self.search_segment(query, segment_idx, filter, &mut buffers, &mut best)?;
                best.cut();
            }
            if let Ok(mut pool) = self.0.score_buffers.lock() {
                pool.push(buffers);
            }
            Ok(best.into_sorted())
        })
    }

    fn search_segment(
        &self,
        query: &KeywordQuery,
        segment_idx: usize,
        filter: &NoteSet,
        buffers: &mut ScoreBuffers,
        best: &mut TopHits<'_>,
    ) -> Result<(), KeywordError> {
        let segment = &*self.0.segments[segment_idx];
        let n_docs = segment.n_docs().max(buffers.scores.len());
        buffers.scores.resize(n_docs, 0.0);
        buffers.frequencies.resize(n_docs, 0.0);
        let as_hit = |doc: DocId, score| KeywordHit { note: segment.notes[doc as usize], score };
        let may_be_hit = |doc: DocId| {
            let note = segment.notes[doc as usize];
            segment.is_live(doc) && filter.contains(note) && query.admitted.contains(note)
        };
        let (mut n_read, mut n_examined) = (0, 0);
        for (matcher_idx, weighted) in query.matchers.iter().enumerate() {
            let (read, rest) = query.matchers.split_at(matcher_idx);
            let n_next = weighted.matcher.n_postings(segment_idx);
            // Examining the touched documents costs as much as reading as many postings: all examinations together must not cost more than the reading.
            let n_touched = buffers.touched.len();
            if buffers.may_end(read, rest, best) && n_examined + n_touched <= n_read + n_next {
                n_examined += n_touched;
                let candidates = buffers.candidates(rest, segment_idx, best, as_hit, may_be_hit);
                if let Some(candidates) = candidates {
                    let mut sums: Vec<f64> =
                        candidates.iter().map(|doc| buffers.scores[*doc as usize]).collect();
                    self.seek_postings(rest, segment_idx, &candidates, &mut sums)?;
                    buffers.clear();
                    for (doc, score) in candidates.into_iter().zip(sums) {
                        best.offer(as_hit(doc, score));
                    }
                    return Ok(());
                }
            }
            self.read_postings(weighted, segment_idx, buffers)?;
            n_read += n_next;
        }
        let ScoreBuffers { scores, touched, .. } = buffers;
        for doc in touched.drain(..) {
            let score = std::mem::take(&mut scores[doc as usize]);
            if best.is_in_reach(score) && may_be_hit(doc) {
                best.offer(as_hit(doc, score));
            }
        }
        Ok(())
    }

    /// Adds the contribution of one matcher to every document in its posting lists.
    fn read_postings(
        &self,
        weighted: &WeightedMatcher,
        segment_idx: usize,
        buffers: &mut ScoreBuffers,
    ) -> Result<(), KeywordError> {
        let segment = &*self.0.segments[segment_idx];
        let ScoreBuffers { scores, frequencies, touched, listed } = buffers;
        let normalization = self.0.length_normalization();
        let lengths = &*segment.lengths;
        let mut add = |doc: DocId, frequency: f64| {
            let at = doc as usize;
            let gain = weighted.weight * normalization.saturation(frequency, lengths[at]);
            if gain > 0.0 {
                if scores[at] == 0.0 {
                    touched.push(doc);
                }
                scores[at] += gain;
            }
        };
        match &weighted.matcher {
            DocumentMatcher::Hits(hits) => {
                hits[segment_idx]
                    .iter()
                    .for_each(|(doc, frequency)| add(*doc, f64::from(*frequency)));
            }
            DocumentMatcher::Postings(lists) => match &*lists[segment_idx] {
                [] => {}
                [list] => segment
                    .each(list, |doc, frequency| add(doc, list.weight * f64::from(frequency)))?,
                lists => {
                    for list in lists {
                        segment.each(list, |doc, frequency| {
                            if frequencies[doc as usize] == 0.0 {
                                listed.push(doc);
                            }
                            frequencies[doc as usize] += list.weight * f64::from(frequency);
                        })?;
                    }
                    for doc in listed.drain(..) {
                        // A document may be listed twice if its frequency returned to zero in between.
                        add(doc, std::mem::take(&mut frequencies[doc as usize]));
                    }
                }
            },
        }
        Ok(())
    }

    /// Adds the contributions of `matchers` to each of the ascending `docs` of a segment to `sums`.
    fn seek_postings(
        &self,
        matchers: &[WeightedMatcher],
        segment_idx: usize,
        docs: &[DocId],
        sums: &mut [f64],
    ) -> Result<(), KeywordError> {
        let segment = &*self.0.segments[segment_idx];
        let normalization = self.0.length_normalization();
        let mut frequencies = vec![0.0; docs.len()];
        for weighted in matchers {
            frequencies.fill(0.0);
            weighted.matcher.add_frequencies(segment, segment_idx, docs, &mut frequencies)?;
            for ((doc, sum), frequency) in docs.iter().zip(&mut *sums).zip(&frequencies) {
                let length = segment.lengths[*doc as usize];
                let gain = weighted.weight * normalization.saturation(*frequency, length);
                if gain > 0.0 {
                    *sum += gain;
                }
            }
        }
        Ok(())
    }

    /// Returns the score of each of `notes`, bit for bit that of a search; 0 for notes that do not match.
    ///
    /// Cost: a seek per term and note, less for notes with nearby ids.
    pub fn scores(&self, query: &KeywordQuery, notes: &[NoteId]) -> Result<Vec<f64>, KeywordError> {
        self.read(|| {
            self.check(query)?;
            let mut scores = vec![0.0; notes.len()];
            for (segment_idx, docs, note_idxs) in self.0.by_segment(notes) {
                let mut sums = vec![0.0; docs.len()];
                self.seek_postings(&query.matchers, segment_idx, &docs, &mut sums)?;
                for (note_idx, sum) in note_idxs.iter().zip(sums) {
                    if query.admitted.contains(notes[*note_idx]) {
                        scores[*note_idx] = sum;
                    }
                }
            }
            Ok(scores)
        })
    }
}

impl ScoreBuffers {
    /// Reports whether, after reading the matchers of `read`, those of `rest` may be too light to add an unseen note to the top k. `O(matchers)`.
    fn may_end(
        &self,
        read: &[WeightedMatcher],
        rest: &[WeightedMatcher],
        best: &TopHits<'_>,
    ) -> bool {
        let left = total_weight(rest);
        let is_settled = best.floor.is_some_and(|floor| floor.score > left);
        is_settled || self.touched.len() + best.hits.len() >= best.k && total_weight(read) > left
    }

    /// Returns the documents that may still reach the top k, ascending, if seeking them in the lists of `rest` is cheaper than reading these lists.
    fn candidates(
        &self,
        rest: &[WeightedMatcher],
        segment_idx: usize,
        best: &TopHits<'_>,
        as_hit: impl Fn(DocId, f64) -> KeywordHit,
        may_be_hit: impl Fn(DocId) -> bool,
    ) -> Option<Vec<DocId>> {
        let Self { scores, touched, .. } = self;
        let score = |doc: DocId| scores[doc as usize];
        let mut reached = best.clone();
        for doc in touched {
            let score = score(*doc);
            if reached.is_in_reach(score) && may_be_hit(*doc) {
                reached.offer(as_hit(*doc, score));
            }
        }
        reached.cut();
        let floor = reached.floor?.score;
        // A saturation is at most 1.
        let left = total_weight(rest);
        if floor * (1.0 - ROUNDING) <= left {
            return None;
        }
        let may_reach = |doc: &&DocId| (score(**doc) + left) * (1.0 + ROUNDING) >= floor;
        let mut candidates: Vec<DocId> =
            touched.iter().filter(may_reach).filter(|doc| may_be_hit(**doc)).copied().collect();
        let sum = |count: fn(&DocumentMatcher, usize) -> usize| -> usize {
            rest.iter().map(|weighted| count(&weighted.matcher, segment_idx)).sum()
        };
        let n_seeks = candidates.len() * sum(DocumentMatcher::n_lists);
        (n_seeks * SEEK_IN_POSTINGS < sum(DocumentMatcher::n_postings)).then(|| {
            candidates.sort_unstable();
            candidates
        })
    }
}

/// Best hits so far.
#[derive(Clone)]
struct TopHits<'f> {
    k: usize,
    /// Order of hits with equal scores.
    first: &'f dyn Fn(&NoteId, &NoteId) -> Ordering,
    hits: Vec<KeywordHit>,
    /// Worst hit of the top k, once there are `k` hits.
    floor: Option<KeywordHit>,
}

impl<'f> TopHits<'f> {
    const fn new(k: usize, first: &'f dyn Fn(&NoteId, &NoteId) -> Ordering) -> Self {
        Self { k, first, hits: Vec::new(), floor: None }
    }

    /// Returns the order of hits, best first.
    fn order(&self) -> impl Fn(&KeywordHit, &KeywordHit) -> Ordering + use<'f> {
        let first = self.first;
        move |left, right| {
            right.score.total_cmp(&left.score).then_with(|| first(&left.note, &right.note))
        }
    }

    /// Reports whether a hit with this score may reach the top k.
    fn is_in_reach(&self, score: f64) -> bool {
        self.floor.is_none_or(|floor| score >= floor.score)
    }

    fn offer(&mut self, hit: KeywordHit) {
        if self.floor.is_some_and(|floor| self.order()(&hit, &floor).is_ge()) {
            return;
        }
        self.hits.push(hit);
        // Up to twice as many hits are kept before the worse half is dropped, so that each costs a constant on average.
        if self.hits.len() >= self.k.saturating_mul(2) {
            self.cut();
        }
    }

    /// Drops all but the best `k` hits and records the worst of them, once there are `k`.
    fn cut(&mut self) {
        if self.hits.len() >= self.k {
            let order = self.order();
            let (_, floor, _) = self.hits.select_nth_unstable_by(self.k - 1, order);
            self.floor = Some(*floor);
            self.hits.truncate(self.k);
        }
    }

    fn into_sorted(mut self) -> Vec<KeywordHit> {
        let order = self.order();
        self.hits.sort_unstable_by(order);
        self.hits.truncate(self.k);
        self.hits
    }
}

#[cfg(test)]
mod tests {
    use weft_model::passages;

    use super::super::keyword_encoder::KeywordDocument;
    use super::super::keyword_query::QueryOptions;
    use super::super::keyword_settings::KeywordSettings;
    use super::super::keyword_writer::KeywordWriter;
    use super::*;

    #[test]
    fn long_posting_list_of_a_light_term_is_not_read() {
        let (mut writer, _) = KeywordWriter::in_memory(KeywordSettings::default()).unwrap();
        for note in 0..3000 {
            let body = if note % 100 == 0 { "heath fern" } else { "fern" };
            let passages = passages(body, &[]);
            let document =
                KeywordDocument { version: 1, body, passages, ..KeywordDocument::default() };
            writer.upsert(NoteId::new(note), writer.encoder().encode(&document)).unwrap();
        }
        let reader = writer.compact(1).unwrap();
        let query = reader.parse("fern heath", &QueryOptions::default()).unwrap();
        let (read, rest) = query.matchers.split_at(1);
        let mut buffers = ScoreBuffers {
            scores: vec![0.0; 3000],
            frequencies: vec![0.0; 3000],
            ..ScoreBuffers::default()
        };
        for (k, expected) in [(10, Some(30)), (30, Some(30)), (31, None)] {
            buffers.clear();
            reader.read_postings(&read[0], 0, &mut buffers).unwrap();
            let best = TopHits::new(k, &NoteId::cmp);
            assert_eq!(buffers.may_end(read, rest, &best), expected.is_some(), "{k}");
            let as_hit = |doc, score| KeywordHit { note: NoteId::new(doc), score };
            let candidates = buffers.candidates(rest, 0, &best, as_hit, |_| true);
            assert_eq!(candidates.map(|docs| docs.len()), expected, "{k}");
        }
        assert_eq!(reader.search(&query, 31, &NoteSet::All).unwrap().len(), 31);
    }
}
