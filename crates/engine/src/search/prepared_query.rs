//! A search request resolved against one snapshot, and its candidates with exact keyword and vector scores.

use weft_gars::bridge;
use weft_index::embedder::Calibration;
use weft_index::keyword::{KeywordQuery, Mention, Mentions, SectionMention};
use weft_index::notes::VaultStats;
use weft_index::vector::{ChunkHit, VectorSearch as _};
use weft_index::{Snapshot, Vectors};
use weft_model::{NoteBits, NoteId, NoteMap, NoteSet, Span, Stop};

use super::Origin;
use super::passage_evidence::{BestPassage, NoteEvidence};
use crate::EngineError;
use crate::best_first::best_first;

/// Factor of the chunks requested beyond one per note, for the mean number of additional chunks per note: the chunks of a note are close together.
const MORE_CHUNKS: usize = 4;

/// A search request resolved against one snapshot.
pub(super) struct PreparedQuery<'s> {
    pub(super) snapshot: &'s Snapshot,
    /// The query without operators and excluded terms.
    pub(super) text: String,
    pub(super) words: KeywordQuery,
    /// The vectors to search; `None` in a keyword search.
    pub(super) vectors: Option<&'s Vectors>,
    /// The embedded query.
    pub(super) vector: Option<Vec<f32>>,
    /// Share of the vector score in a similarity; the keyword score has the rest.
    pub(super) share: f64,
    /// Scale of the model's cosines.
    pub(super) calibration: Calibration,
    /// Share of the query that the model can read.
    pub(super) readable: f64,
    /// Factor of the share of the keyword score.
    pub(super) keyword_weight: f64,
    /// Notes that match the filter, contain every required term and no excluded one.
    pub(super) passing: NoteSet,
    /// Notes and sections named in the query.
    pub(super) mentions: Mentions,
    /// Maximum number of notes whose passages are scored at once.
    pub(super) n_passage_notes: usize,
}

/// Scores of a candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct CandidateScores {
    /// Cosine of its best chunk; `None` without a vector.
    pub(super) vector: Option<f32>,
    /// Keyword score as a share of the maximum for the query.
    pub(super) keyword: f64,
    /// Share of the query that is the name of the note, or of the section of its best passage.
    pub(super) mention: f64,
    pub(super) similarity: f64,
    pub(super) by_vector: bool,
    pub(super) by_keyword: bool,
}

impl CandidateScores {
    pub(super) const fn origin(&self) -> Origin {
        match (self.by_vector, self.by_keyword) {
            (true, true) => Origin::Both,
            (true, false) => Origin::Vector,
            (false, true) => Origin::Keyword,
            (false, false) => Origin::Expanded,
        }
    }
}

impl PreparedQuery<'_> {
    /// Returns the score of a cosine, on the scale on which keyword scores are; 0 without a vector.
    pub(super) fn vector_score(&self, cosine: Option<f32>) -> f64 {
        cosine.map_or(0.0, |cosine| self.calibration.score(cosine))
    }

    /// Returns the similarity without names: the shares of the vector score and of the keyword score.
    pub(super) fn base(&self, cosine: Option<f32>, keyword: f64) -> f64 {
        self.share * self.vector_score(cosine) + (1.0 - self.share) * keyword
    }

    /// True if a note may be a hit.
    pub(super) fn passes(&self, id: NoteId) -> bool {
        self.passing.contains(id) && !self.snapshot.notes.graph().is_placeholder(id)
    }

    /// Returns the number of notes named in the query that may be hits.
    pub(super) fn n_named(&self) -> usize {
        self.named().count()
    }

    fn named(&self) -> impl Iterator<Item = &Mention> {
        self.mentions.notes.iter().filter(|mention| self.passes(mention.note))
    }

    /// Returns the share of the query that is a note's name.
    pub(super) fn mention(&self, id: NoteId) -> f64 {
        let notes = &self.mentions.notes;
        let at = notes.binary_search_by_key(&id, |mention| mention.note);
        at.map_or(0.0, |at| notes[at].share)
    }

    /// Returns the sections of a note that the query names.
    pub(super) fn named_sections(&self, id: NoteId) -> &[SectionMention] {
        let sections = &self.mentions.sections;
        let start = sections.partition_point(|section| section.note < id);
        let n_sections = sections[start..].partition_point(|section| section.note == id);
        &sections[start..start + n_sections]
    }

    /// Returns at most `k` of the notes named in the query: those with the largest share of the query, then the best keyword score, ties by uri.
    fn best_named(&self, k: usize) -> Result<Vec<NoteId>, EngineError> {
        let mut named: Vec<(f64, NoteId)> =
            self.named().map(|mention| (mention.share, mention.note)).collect();
        if named.len() > k {
            let graph = self.snapshot.notes.graph();
            let ids: Vec<NoteId> = named.iter().map(|(_, id)| *id).collect();
            let scores = self.snapshot.keyword.scores(&self.words, &ids)?;
            let mut scored: Vec<_> = named.into_iter().zip(scores).collect();
            scored.select_nth_unstable_by(k, |(left, by_word), (right, other)| {
                let by_share = right.0.total_cmp(&left.0).then(other.total_cmp(by_word));
                by_share.then_with(|| graph.uri(left.1).cmp(graph.uri(right.1)))
            });
            scored.truncate(k);
            named = scored.into_iter().map(|(named, _)| named).collect();
        }
        Ok(named.into_iter().map(|(_, id)| id).collect())
    }

    /// Returns the notes that each retriever finds and the notes named in the query, at most `k` of each.
    pub(super) fn pool(
        &self,
        k: usize,
        use_keywords: bool,
        stop: &Stop,
    ) -> Result<CandidatePool, EngineError> {
        stop.check()?;
        let mut found: NoteMap<CandidateScores> = NoteMap::default();
        if use_keywords {
            let graph = self.snapshot.notes.graph();
            // Ids depend on the history of the index, so ties must not be decided by id.
            let by_uri = |a: &NoteId, b: &NoteId| graph.uri(*a).cmp(graph.uri(*b));
            let hits = self.snapshot.keyword.search_by(&self.words, k, &self.passing, &by_uri)?;
            // Leaves room for the vector hits.
            found.reserve(2 * hits.len());
            let attainable = self.words.max_score();
            for hit in hits {
                let keyword = word_share(hit.score, attainable);
                found.insert(
                    hit.note,
                    CandidateScores { keyword, by_keyword: true, ..CandidateScores::default() },
                );
            }
        }
        stop.check()?;
        if let (Some(vector), Some(vectors)) = (&self.vector, self.vectors) {
            for (note, score) in self.nearest(vector, vectors, k, stop)? {
                let candidate = found.entry(note).or_default();
                candidate.by_vector = true;
                candidate.vector = score;
            }
        }
        for id in self.best_named(k)? {
            found.entry(id).or_default().by_keyword = true;
        }
        stop.check()?;
        let mut pool = CandidatePool::default();
        self.admit(&mut pool, found)?;
        Ok(pool)
    }

    /// Returns the `k` notes whose best chunks are most similar to `vector`, each with the score of its best chunk if that is certain.
    ///
    /// If a few long notes own the nearest chunks, these notes are excluded and the search is repeated with twice as many chunks.
    fn nearest(
        &self,
        vector: &[f32],
        vectors: &Vectors,
        k: usize,
        stop: &Stop,
    ) -> Result<NoteMap<Option<f32>>, EngineError> {
        let mut found = NoteMap::default();
        let mut passing = self.passing.clone();
        let mut n_chunks = self.n_chunks_for(k);
        let is_exact = vectors.index.is_exact();
        let graph = self.snapshot.notes.graph();
        // Copies of a text have equal scores, and neither ids nor rows may decide between them.
        let by_uri = |a: NoteId, b: NoteId| graph.uri(a).cmp(graph.uri(b));
        loop {
            stop.check()?;
            let chunks = vectors.index.nearest_by(vector, n_chunks, &passing, &by_uri)?;
            let is_all = chunks.len() < n_chunks;
            found.reserve(chunks.len().min(k));
            for ChunkHit { row, note, score } in chunks {
                if found.len() < k {
                    // With several chunks, an approximate search may have missed the best one.
                    let is_best = || {
                        let rows = vectors.rows.of(note);
                        rows.contains(&Some(row)) && (is_exact || rows.len() == 1)
                    };
                    found.entry(note).or_insert_with(|| is_best().then_some(score));
                }
            }
            if is_all || found.len() >= k {
                return Ok(found);
            }
            let is_left = |id: &NoteId| self.passing.contains(*id) && !found.contains_key(id);
            passing = NoteSet::Only(graph.ids().filter(is_left).collect::<NoteBits>());
            n_chunks *= 2;
        }
    }

    /// Returns the number of chunks to request first for `k` notes: `k` if notes have one chunk each, up to `2·k` if they have more.
    fn n_chunks_for(&self, k: usize) -> usize {
        let VaultStats { n_notes, n_chunks, .. } = self.snapshot.notes.total();
        let n_more = n_chunks.saturating_sub(n_notes);
        k + (k.saturating_mul(MORE_CHUNKS * n_more) / n_notes.max(1)).min(k)
    }

    /// Replaces the scores of long notes by those of their best passages, for the most similar of them.
    ///
    /// In a note of many subjects, the words of one are diluted by those of all others, and words and meaning of the query may meet different ones.
    fn score_passages(
        &self,
        pool: &mut CandidatePool,
        found: &mut NoteMap<CandidateScores>,
    ) -> Result<(), EngineError> {
        let attainable = self.words.max_score();
        if attainable <= 0.0 || self.n_passage_notes == 0 {
            return Ok(());
        }
        let keyword = &self.snapshot.keyword;
        let long =
            found.iter().filter(|(id, known)| known.keyword > 0.0 && keyword.n_passages(**id) > 1);
        let likely = |(id, known): (&NoteId, &CandidateScores)| {
            let sections = self.named_sections(*id).iter().map(|section| section.share);
            let named = sections.fold(self.mention(*id), f64::max);
            (bridge::similarity(self.base(known.vector, known.keyword), named), *id, ())
        };
        let graph = self.snapshot.notes.graph();
        let best = best_first(graph, long.map(likely).collect(), self.n_passage_notes);
        let ids: Vec<NoteId> = best.into_iter().map(|(_, id, ())| id).collect();
        self.read_best_passages(pool, &ids)?;
        for id in ids {
            if let (Some(best), Some(candidate)) = (pool.best_passage(id), found.get_mut(&id)) {
                candidate.keyword = best.keyword;
                candidate.vector = candidate.vector.and(best.vector);
                candidate.mention = best.mention;
            }
        }
        Ok(())
    }

    /// Reads the best passages of those of `notes` for which the pool has none.
    pub(super) fn read_best_passages(
        &self,
        pool: &mut CandidatePool,
        notes: &[NoteId],
    ) -> Result<(), EngineError> {
        let is_unknown = |id: &NoteId| !pool.best_passages.contains_key(id);
        let keyword = &self.snapshot.keyword;
        let long = notes.iter().copied().filter(|id| keyword.n_passages(*id) > 1);
        let mut unknown: Vec<NoteId> = long.filter(is_unknown).collect();
        unknown.sort_unstable();
        pool.add_best_passages(&self.own_evidence(&unknown)?);
        Ok(())
    }

    /// Adds notes that no retriever found to the pool; existing members stay as they are.
    pub(super) fn expand(
        &self,
        pool: &mut CandidatePool,
        ids: impl Iterator<Item = NoteId>,
    ) -> Result<(), EngineError> {
        let new = ids.filter(|id| !pool.members.contains_key(id));
        let new = new.map(|id| (id, CandidateScores::default())).collect();
        self.admit(pool, new)
    }

    /// Computes the exact scores of the candidates in `found` and adds them to the pool.
    fn admit(
        &self,
        pool: &mut CandidatePool,
        mut found: NoteMap<CandidateScores>,
    ) -> Result<(), EngineError> {
        let mut ids: Vec<NoteId> = found.keys().copied().collect();
        ids.sort_unstable();
        self.score_vectors(&ids, &mut found)?;
        // Keyword hits already have their scores.
        ids.retain(|id| found.get(id).is_some_and(|known| known.keyword <= 0.0));
        let attainable = self.words.max_score();
        if attainable > 0.0 {
            let scores = self.snapshot.keyword.scores(&self.words, &ids)?;
            for (id, score) in ids.iter().zip(scores) {
                if let Some(candidate) = found.get_mut(id) {
                    candidate.keyword = word_share(score, attainable);
                }
            }
        }
        self.score_passages(pool, &mut found)?;
        for (id, candidate) in &mut found {
            candidate.mention = candidate.mention.max(self.mention(*id));
            let base = self.base(candidate.vector, candidate.keyword);
            candidate.similarity = bridge::similarity(base, candidate.mention).clamp(0.0, 1.0);
        }
        if pool.members.is_empty() {
            pool.members = found;
        } else {
            pool.members.extend(found);
        }
        Ok(())
    }

    /// Computes the vector score of the notes in `ids` that have none.
    fn score_vectors(
        &self,
        ids: &[NoteId],
        found: &mut NoteMap<CandidateScores>,
    ) -> Result<(), EngineError> {
        let (Some(vector), Some(vectors)) = (&self.vector, self.vectors) else {
            return Ok(());
        };
        let is_scored = |id: &NoteId| found.get(id).is_some_and(|known| known.vector.is_some());
        let (mut owners, mut rows) = (Vec::new(), Vec::new());
        for id in ids.iter().filter(|id| !is_scored(id)) {
            for row in vectors.rows.of(*id).iter().flatten() {
                owners.push(*id);
                rows.push(*row);
            }
        }
        for (id, score) in owners.into_iter().zip(vectors.index.similarities(vector, &rows)?) {
            if let Some(candidate) = found.get_mut(&id) {
                candidate.vector = Some(candidate.vector.map_or(score, |known| known.max(score)));
            }
        }
        Ok(())
    }

    /// Returns the chunk of each of `ids` that is most similar to the query, the first of equal ones; `None` without vectors.
    pub(super) fn best_chunks(&self, ids: &[NoteId]) -> Result<Vec<Option<Span>>, EngineError> {
        let scores = self.chunk_scores(ids)?;
        let best = ids.iter().zip(scores).map(|(id, scores)| {
            let known = scores.into_iter().enumerate().filter_map(|(at, score)| Some((at, score?)));
            let (at, _) = known.rev().max_by(|a, b| a.1.total_cmp(&b.1))?;
            Some(self.snapshot.notes.entry(*id)?.chunks.get(at)?.span)
        });
        Ok(best.collect())
    }
}

/// Returns a keyword score as a share of the maximum for the query, which is above 0.
pub(super) fn word_share(score: f64, attainable: f64) -> f64 {
    (score / attainable).clamp(0.0, 1.0)
}

/// The candidates of a search.
#[derive(Clone, Debug, Default)]
pub(super) struct CandidatePool {
    members: NoteMap<CandidateScores>,
    /// Best passages of long notes, as far as they were read.
    best_passages: NoteMap<BestPassage>,
}

impl CandidatePool {
    pub(super) fn get(&self, id: NoteId) -> Option<&CandidateScores> {
        self.members.get(&id)
    }

    /// Remembers the best passages of notes whose passages were read.
    pub(super) fn add_best_passages(&mut self, read: &NoteMap<NoteEvidence>) {
        self.best_passages.extend(read.iter().filter_map(|(id, read)| Some((*id, read.best()?))));
    }

    /// Returns the best passage of a long note; `None` for another note, and if it was not read.
    pub(super) fn best_passage(&self, id: NoteId) -> Option<&BestPassage> {
        self.best_passages.get(&id)
    }

    /// Returns the similarity of a member; 0 for any other note.
    pub(super) fn similarity(&self, id: NoteId) -> f64 {
        self.get(id).map_or(0.0, |candidate| candidate.similarity)
    }

    /// Returns the number of members.
    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    /// Returns all members, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (NoteId, &CandidateScores)> {
        self.members.iter().map(|(id, candidate)| (*id, candidate))
    }

    /// Returns the first `n` members that a retriever found and that pass `predicate`, most similar first, ties by uri.
    pub(super) fn hits(
        &self,
        snapshot: &Snapshot,
        predicate: impl Fn(&CandidateScores) -> bool,
        n: usize,
    ) -> Vec<NoteId> {
        let found = self.iter().filter(|(_, candidate)| candidate.origin() != Origin::Expanded);
        let hits = found.filter(|(_, candidate)| predicate(candidate));
        let hits = hits.map(|(id, candidate)| (candidate.similarity, id, ())).collect();
        let best = best_first(snapshot.notes.graph(), hits, n);
        best.into_iter().map(|(_, id, ())| id).collect()
    }
}
