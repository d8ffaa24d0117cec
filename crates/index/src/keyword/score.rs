//! Scoring: BM25 over exact lengths, one code path for searching and for scoring given notes.
//!
//! A note's score is `Σ weight · f / (f + k1·(1 − b + b·length / mean length))` over the parts of the query,
//! where `f` counts occurrences in the text, those in prominent places for more.
//! Sums are taken heaviest part first, so equal notes score equally in whatever segment they lie.
//!
//! A search reads the lists in that order, and stops where what is left of the query cannot lift a note that is not yet seen among the best:
//! then the lists that are left, the lightest and mostly the longest, are asked for the notes that may be among them.
//! Source: Turtle and Flood, "Query evaluation: strategies and optimizations", 1995 (max-score, over terms).

use std::cmp::Ordering;

use tantivy::DocId;
use weft_model::{NoteId, NoteSet};

use super::error::KeywordError;
use super::query::{KeywordQuery, Matcher, Scored};
use super::reader::KeywordReader;
use super::segment::Segment;

/// Filters of at most this many notes are scored note by note: seeking is then less work than reading every list.
const MAX_SEEKING_FILTER: usize = 1000;

/// What looking a note up in a list costs, in documents of a list that is read: some 25 ns beside 3.
const SEEK_IN_DOCUMENTS: usize = 8;

/// More than sums may be off by rounding.
const ROUNDING: f64 = 1e-9;

/// A note found by words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeywordHit {
    /// The note.
    pub note: NoteId,
    /// Positive and below the query's [`attainable`](KeywordQuery::attainable) score.
    pub score: f64,
}

/// Room to work in.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// A slot per document, all zero between uses, as in the next.
    scores: Vec<f64>,
    frequencies: Vec<f64>,
    touched: Vec<DocId>,
    listed: Vec<DocId>,
}

impl KeywordReader {
    /// The `k` best notes among those that pass `filter`, best first, ties by the lower id.
    ///
    /// Exact: whatever is not scored cannot be among them. Cost: about 3 ns for each document of the lists that are read.
    pub fn search(
        &self,
        query: &KeywordQuery,
        k: usize,
        filter: &NoteSet,
    ) -> Result<Vec<KeywordHit>, KeywordError> {
        self.search_by(query, k, filter, &NoteId::cmp)
    }

    /// The same with ties as `first` orders them, so that which of many equals are found need not depend on their ids.
    pub fn search_by(
        &self,
        query: &KeywordQuery,
        k: usize,
        filter: &NoteSet,
        first: &dyn Fn(&NoteId, &NoteId) -> Ordering,
    ) -> Result<Vec<KeywordHit>, KeywordError> {
        self.read(|| {
            self.check(query)?;
            let mut best = Best::new(k, first);
            if k == 0 || query.scored.is_empty() {
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
            let mut scratch =
                self.0.scratch.lock().ok().and_then(|mut pool| pool.pop()).unwrap_or_default();
            for segment_idx in 0..self.0.segments.len() {
                // After an error the room is not clean and is not given back.
                self.search_segment(query, segment_idx, filter, &mut scratch, &mut best)?;
                best.cut();
            }
            if let Ok(mut pool) = self.0.scratch.lock() {
                pool.push(scratch);
            }
            Ok(best.into_sorted())
        })
    }

    fn search_segment(
        &self,
        query: &KeywordQuery,
        segment_idx: usize,
        filter: &NoteSet,
        scratch: &mut Scratch,
        best: &mut Best<'_>,
    ) -> Result<(), KeywordError> {
        let segment = &*self.0.segments[segment_idx];
        let n_docs = segment.n_docs().max(scratch.scores.len());
        scratch.scores.resize(n_docs, 0.0);
        scratch.frequencies.resize(n_docs, 0.0);
        let as_hit = |doc: DocId, score| KeywordHit { note: segment.notes[doc as usize], score };
        let may_be_hit = |doc: DocId| {
            let note = segment.notes[doc as usize];
            segment.is_live(doc) && filter.contains(note) && query.admitted.contains(note)
        };
        let (mut n_read, mut n_looked) = (0, 0);
        for (part_idx, scored) in query.scored.iter().enumerate() {
            let (read, rest) = query.scored.split_at(part_idx);
            let n_next = scored.matcher.n_listed(segment_idx);
            // To look over the touched ones takes as long as to read as many: all looks together shall cost no more than the reading.
            let n_touched = scratch.touched.len();
            if scratch.may_end(read, rest, best) && n_looked + n_touched <= n_read + n_next {
                n_looked += n_touched;
                let contenders = scratch.contenders(rest, segment_idx, best, as_hit, may_be_hit);
                if let Some(contenders) = contenders {
                    let mut sums: Vec<f64> =
                        contenders.iter().map(|doc| scratch.scores[*doc as usize]).collect();
                    self.add_parts(rest, segment_idx, &contenders, &mut sums)?;
                    scratch.clear();
                    for (doc, score) in contenders.into_iter().zip(sums) {
                        best.offer(as_hit(doc, score));
                    }
                    return Ok(());
                }
            }
            self.read_part(scored, segment_idx, scratch)?;
            n_read += n_next;
        }
        let Scratch { scores, touched, .. } = scratch;
        for doc in touched.drain(..) {
            let score = std::mem::take(&mut scores[doc as usize]);
            if best.is_in_reach(score) && may_be_hit(doc) {
                best.offer(as_hit(doc, score));
            }
        }
        Ok(())
    }

    /// Adds what one part gives every document of its lists.
    fn read_part(
        &self,
        scored: &Scored,
        segment_idx: usize,
        scratch: &mut Scratch,
    ) -> Result<(), KeywordError> {
        let segment = &*self.0.segments[segment_idx];
        let Scratch { scores, frequencies, touched, listed } = scratch;
        let discount = self.0.discount();
        let lengths = &*segment.lengths;
        let mut add = |doc: DocId, frequency: f64| {
            let at = doc as usize;
            let gain = scored.weight * discount.saturation(frequency, lengths[at]);
            if gain > 0.0 {
                if scores[at] == 0.0 {
                    touched.push(doc);
                }
                scores[at] += gain;
            }
        };
        match &scored.matcher {
            Matcher::Found(hits) => {
                hits[segment_idx]
                    .iter()
                    .for_each(|(doc, frequency)| add(*doc, f64::from(*frequency)));
            }
            Matcher::Term(sources) => match &*sources[segment_idx] {
                [] => {}
                [source] => segment.each(source, |doc, frequency| {
                    add(doc, source.weight * f64::from(frequency))
                })?,
                sources => {
                    for source in sources {
                        segment.each(source, |doc, frequency| {
                            if frequencies[doc as usize] == 0.0 {
                                listed.push(doc);
                            }
                            frequencies[doc as usize] += source.weight * f64::from(frequency);
                        })?;
                    }
                    for doc in listed.drain(..) {
                        // A document may be listed twice when its frequency returned to zero on the way.
                        add(doc, std::mem::take(&mut frequencies[doc as usize]));
                    }
                }
            },
        }
        Ok(())
    }

    /// Adds what `parts` give each of the ascending `docs` of a segment to `sums`.
    fn add_parts(
        &self,
        parts: &[Scored],
        segment_idx: usize,
        docs: &[DocId],
        sums: &mut [f64],
    ) -> Result<(), KeywordError> {
        let segment = &*self.0.segments[segment_idx];
        let discount = self.0.discount();
        let mut frequencies = vec![0.0; docs.len()];
        for scored in parts {
            frequencies.fill(0.0);
            scored.matcher.add_frequencies(segment, segment_idx, docs, &mut frequencies)?;
            for ((doc, sum), frequency) in docs.iter().zip(&mut *sums).zip(&frequencies) {
                let length = segment.lengths[*doc as usize];
                let gain = scored.weight * discount.saturation(*frequency, length);
                if gain > 0.0 {
                    *sum += gain;
                }
            }
        }
        Ok(())
    }

    /// The score of each of `notes`, bit for bit what a search gives them; 0 for those the query does not find.
    ///
    /// Cost: a seek per term and note, for notes near each other less.
    pub fn scores(&self, query: &KeywordQuery, notes: &[NoteId]) -> Result<Vec<f64>, KeywordError> {
        self.read(|| {
            self.check(query)?;
            let mut scores = vec![0.0; notes.len()];
            for (segment_idx, docs, note_idxs) in self.0.by_segment(notes) {
                let mut sums = vec![0.0; docs.len()];
                self.add_parts(&query.scored, segment_idx, &docs, &mut sums)?;
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

impl Scratch {
    /// Whether, after the parts of `read`, those of `rest` might be too light to bring in an unseen note. `O(parts)`.
    fn may_end(&self, read: &[Scored], rest: &[Scored], best: &Best<'_>) -> bool {
        let left = weight(rest);
        let is_known = best.floor.is_some_and(|floor| floor.score > left);
        is_known || self.touched.len() + best.hits.len() >= best.k && weight(read) > left
    }

    /// The documents that may still be among the best, ascending, where asking the lists of `rest` for each of them is less work than reading these.
    fn contenders(
        &self,
        rest: &[Scored],
        segment_idx: usize,
        best: &Best<'_>,
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
        let left = weight(rest);
        if floor * (1.0 - ROUNDING) <= left {
            return None;
        }
        let may_reach = |doc: &&DocId| (score(**doc) + left) * (1.0 + ROUNDING) >= floor;
        let mut contenders: Vec<DocId> =
            touched.iter().filter(may_reach).filter(|doc| may_be_hit(**doc)).copied().collect();
        let sum = |count: fn(&Matcher, usize) -> usize| -> usize {
            rest.iter().map(|part| count(&part.matcher, segment_idx)).sum()
        };
        let n_seeks = contenders.len() * sum(Matcher::n_lists);
        (n_seeks * SEEK_IN_DOCUMENTS < sum(Matcher::n_listed)).then(|| {
            contenders.sort_unstable();
            contenders
        })
    }

    fn clear(&mut self) {
        for doc in self.touched.drain(..) {
            self.scores[doc as usize] = 0.0;
        }
    }
}

/// What these parts add to a score at most.
fn weight(parts: &[Scored]) -> f64 {
    parts.iter().map(|part| part.weight).sum()
}

impl Matcher {
    /// Its lists in a segment.
    fn n_lists(&self, segment_idx: usize) -> usize {
        match self {
            Self::Term(sources) => sources[segment_idx].len(),
            Self::Found(_) => 1,
        }
    }

    /// Documents of its lists, one that several lists hold several times.
    fn n_listed(&self, segment_idx: usize) -> usize {
        match self {
            Self::Term(sources) => {
                sources[segment_idx].iter().map(|source| source.info.doc_freq as usize).sum()
            }
            Self::Found(hits) => hits[segment_idx].len(),
        }
    }

    /// Adds the frequency in each of the ascending `docs` of a segment to `frequencies`.
    fn add_frequencies(
        &self,
        segment: &Segment,
        segment_idx: usize,
        docs: &[DocId],
        frequencies: &mut [f64],
    ) -> Result<(), KeywordError> {
        match self {
            Self::Term(sources) => sources[segment_idx]
                .iter()
                .try_for_each(|source| segment.add_frequencies(source, docs, frequencies)),
            Self::Found(hits) => {
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

/// The best hits so far.
#[derive(Clone)]
struct Best<'f> {
    k: usize,
    /// Which of two equals comes first.
    first: &'f dyn Fn(&NoteId, &NoteId) -> Ordering,
    hits: Vec<KeywordHit>,
    /// The worst hit that still counts, once there are `k`.
    floor: Option<KeywordHit>,
}

impl<'f> Best<'f> {
    const fn new(k: usize, first: &'f dyn Fn(&NoteId, &NoteId) -> Ordering) -> Self {
        Self { k, first, hits: Vec::new(), floor: None }
    }

    /// Better hits first.
    fn order(&self) -> impl Fn(&KeywordHit, &KeywordHit) -> Ordering + use<'f> {
        let first = self.first;
        move |left, right| {
            right.score.total_cmp(&left.score).then_with(|| first(&left.note, &right.note))
        }
    }

    /// Whether a hit of this score might still count.
    fn is_in_reach(&self, score: f64) -> bool {
        self.floor.is_none_or(|floor| score >= floor.score)
    }

    fn offer(&mut self, hit: KeywordHit) {
        if self.floor.is_some_and(|floor| self.order()(&hit, &floor).is_ge()) {
            return;
        }
        self.hits.push(hit);
        // Twice as many are let in before the worse half is cut, so that each costs a constant on average.
        if self.hits.len() >= self.k.saturating_mul(2) {
            self.cut();
        }
    }

    /// Forgets all but the best `k`, and knows the worst of them, once there are as many.
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
    use super::super::{KeywordDocument, KeywordSettings, KeywordWriter, QueryOptions};
    use super::*;

    #[test]
    fn a_light_word_of_most_notes_is_looked_up_and_not_read() {
        let (mut writer, _) = KeywordWriter::in_memory(KeywordSettings::default()).unwrap();
        for note in 0..3000 {
            let body = if note % 100 == 0 { "heath fern" } else { "fern" };
            let (aliases, headings, tags) = (Vec::new(), Vec::new(), Vec::new());
            let document = KeywordDocument { version: 1, title: "", aliases, headings, tags, body };
            writer.upsert(NoteId::new(note), writer.encoder().encode(&document)).unwrap();
        }
        let reader = writer.compact(1).unwrap();
        let query = reader.parse("fern heath", &QueryOptions::default()).unwrap();
        let (read, rest) = query.scored.split_at(1);
        let mut scratch =
            Scratch { scores: vec![0.0; 3000], frequencies: vec![0.0; 3000], ..Scratch::default() };
        for (k, expected) in [(10, Some(30)), (30, Some(30)), (31, None)] {
            scratch.clear();
            reader.read_part(&read[0], 0, &mut scratch).unwrap();
            let best = Best::new(k, &NoteId::cmp);
            assert_eq!(scratch.may_end(read, rest, &best), expected.is_some(), "{k}");
            let as_hit = |doc, score| KeywordHit { note: NoteId::new(doc), score };
            let contenders = scratch.contenders(rest, 0, &best, as_hit, |_| true);
            assert_eq!(contenders.map(|docs| docs.len()), expected, "{k}");
        }
        assert_eq!(reader.search(&query, 31, &NoteSet::All).unwrap().len(), 31);
    }
}
