//! Scoring: BM25 over exact lengths, one code path for searching and for scoring given notes.
//!
//! A note's score is `Σ weight · f / (f + k1·(1 − b + b·length / mean length))` over the parts of the query,
//! where `f` counts occurrences in the text, those in prominent places for more.
//! Sums are taken in the order of the query, so equal notes score equally in whatever segment they lie.

use tantivy::DocId;
use weft_model::{NoteId, NoteSet};

use super::error::KeywordError;
use super::query::{KeywordQuery, Matcher};
use super::reader::KeywordReader;
use super::segment::Segment;

/// Filters of at most this many notes are scored note by note: seeking is then less work than reading every list.
const MAX_SEEKING_FILTER: usize = 1000;

/// A note found by words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeywordHit {
    /// The note.
    pub note: NoteId,
    /// Positive and below the query's [`attainable`](KeywordQuery::attainable) score.
    pub score: f64,
}

/// Room to work in: a slot per document, all zero between uses.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    scores: Vec<f64>,
    frequencies: Vec<f64>,
    touched: Vec<DocId>,
    listed: Vec<DocId>,
}

impl KeywordReader {
    /// The `k` best notes among those that pass `filter`, best first, ties by the lower id.
    ///
    /// Exact: every document of every list is scored. Cost: about 3 ns for each.
    pub fn search(
        &self,
        query: &KeywordQuery,
        k: usize,
        filter: &NoteSet,
    ) -> Result<Vec<KeywordHit>, KeywordError> {
        self.read(|| {
            self.check(query)?;
            let mut best = Best::new(k);
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
        best: &mut Best,
    ) -> Result<(), KeywordError> {
        let segment = &*self.0.segments[segment_idx];
        let n_docs = segment.n_docs().max(scratch.scores.len());
        scratch.scores.resize(n_docs, 0.0);
        scratch.frequencies.resize(n_docs, 0.0);
        let Scratch { scores, frequencies, touched, listed } = scratch;
        let discount = self.0.discount();
        let lengths = &*segment.lengths;
        for scored in &query.scored {
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
        }
        for doc in touched.drain(..) {
            let score = std::mem::take(&mut scores[doc as usize]);
            let hit = KeywordHit { note: segment.notes[doc as usize], score };
            if best.would_take(&hit)
                && segment.is_live(doc)
                && filter.contains(hit.note)
                && query.admitted.contains(hit.note)
            {
                best.offer(hit);
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
            let discount = self.0.discount();
            for (segment_idx, docs, note_idxs) in self.0.by_segment(notes) {
                let segment = &*self.0.segments[segment_idx];
                let mut sums = vec![0.0; docs.len()];
                let mut frequencies = vec![0.0; docs.len()];
                for scored in &query.scored {
                    frequencies.fill(0.0);
                    scored.matcher.add_frequencies(
                        segment,
                        segment_idx,
                        &docs,
                        &mut frequencies,
                    )?;
                    for (at, frequency) in frequencies.iter().enumerate() {
                        let gain = scored.weight
                            * discount.saturation(*frequency, segment.lengths[docs[at] as usize]);
                        if gain > 0.0 {
                            sums[at] += gain;
                        }
                    }
                }
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

impl Matcher {
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
struct Best {
    k: usize,
    hits: Vec<KeywordHit>,
    /// The worst hit that still counts, once there are `k`.
    floor: Option<KeywordHit>,
}

fn is_better(left: &KeywordHit, right: &KeywordHit) -> std::cmp::Ordering {
    right.score.total_cmp(&left.score).then(left.note.cmp(&right.note))
}

impl Best {
    const fn new(k: usize) -> Self {
        Self { k, hits: Vec::new(), floor: None }
    }

    fn would_take(&self, hit: &KeywordHit) -> bool {
        self.floor.as_ref().is_none_or(|floor| is_better(hit, floor).is_lt())
    }

    fn offer(&mut self, hit: KeywordHit) {
        if !self.would_take(&hit) {
            return;
        }
        self.hits.push(hit);
        // Twice as many are let in before the worse half is cut, so that each costs a constant on average.
        if self.hits.len() >= self.k.saturating_mul(2) {
            let (_, floor, _) = self.hits.select_nth_unstable_by(self.k - 1, is_better);
            self.floor = Some(*floor);
            self.hits.truncate(self.k);
        }
    }

    fn into_sorted(mut self) -> Vec<KeywordHit> {
        self.hits.sort_unstable_by(is_better);
        self.hits.truncate(self.k);
        self.hits
    }
}
