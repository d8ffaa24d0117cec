//! Why a note is not a hit: the stage that excluded it, the margin, and the rank it would have had.

use weft_gars::{ScoreWeights, Weights};
use weft_index::Snapshot;
use weft_model::NoteId;

use super::prepared_query::{CandidatePool, CandidateScores, PreparedQuery};
use super::rerank::RerankOutcome;
use super::topics::Topics;
use super::{Hit, Lifts, Ranked, SearchRequest, Stages};
use crate::{Engine, EngineError, NoteRef, Profile, Warning, note_by_name};

/// Asks why a note is not a hit.
#[derive(Clone, Debug, Default)]
pub struct WhyNotRequest {
    /// Any name that a link could use, or a title.
    pub note: String,
    /// The search that does not find the note.
    pub search: SearchRequest,
}

/// Stage of a search that excluded a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissReason {
    /// None: the note is a hit.
    None,
    /// Links name the note, but no file has this name.
    NotIndexed,
    /// The filter excludes it.
    Filter,
    /// The query excludes a word that it contains, or requires one that it lacks.
    Excluded,
    /// Its vector is pending, and the keyword retriever does not find it.
    VectorPending,
    /// Each retriever found enough better notes.
    CandidateLimit,
    /// The hits it is connected with are below the expansion floor.
    ExpansionFloor,
    /// A hit or topic it is linked with has more links than the fan-out limit.
    FanoutLimit,
    /// Neither its words, its vector nor its connections match.
    NoMatch,
    /// It ranks below the requested number of hits.
    Limit,
    /// The hits it is connected with are not among the seeds, whose connections are followed.
    SeedLimit,
    /// It is a candidate, but its matching signals have no weight.
    ZeroWeight,
}

/// Why a note is not a hit.
#[derive(Clone, Debug, PartialEq)]
pub struct WhyNotAnswer {
    /// The note.
    pub note: NoteRef,
    /// The stage that excluded it.
    pub miss_reason: MissReason,
    /// Names of the filter fields whose conditions it fails.
    pub failed_filters: Vec<&'static str>,
    /// How far it missed in the score that decided; `None` if no score did.
    pub margin: Option<f64>,
    /// Its rank, from 1, or the rank it would have had if that stage had kept it and nothing else had changed; `None` if it would not be a hit at all.
    pub rank: Option<usize>,
    /// The note as a hit, under the same condition.
    pub hit: Option<Hit>,
    /// Weight of each part of a score.
    pub weights: ScoreWeights,
    /// Conditions that make the answer incomplete.
    pub warnings: Vec<Warning>,
    /// Generation of the snapshot.
    pub generation: u64,
}

/// A ranking that includes the note in question.
struct ForcedRanking<'s> {
    query: PreparedQuery<'s>,
    pool: CandidatePool,
    lifts: Lifts,
    ranked: Vec<Ranked>,
    weights: ScoreWeights,
    warnings: Vec<Warning>,
    /// True if the query excludes it.
    is_excluded: bool,
    /// True if a retriever or a connection found it.
    was_in: bool,
}

impl Engine {
    /// Finds the stage of a search that excluded a note.
    ///
    /// Fails as [`search`](Self::search) does, and on an unknown note.
    pub fn why_not(&self, request: &WhyNotRequest) -> Result<WhyNotAnswer, EngineError> {
        let WhyNotRequest { note, search } = request;
        let (profile, weights) = self.ranking_of(search)?;
        let snapshot = self.snapshot();
        let graph = snapshot.notes.graph();
        let id = note_by_name(&snapshot, note).or_else(|error| {
            let mut placeholders = graph.ids().filter(|id| graph.is_placeholder(*id));
            placeholders.find(|id| graph.uri(*id).as_str() == note).ok_or(error)
        })?;
        let mut answer = WhyNotAnswer {
            note: NoteRef {
                uri: graph.uri(id).clone(),
                title: snapshot.notes.title(id).to_owned(),
            },
            miss_reason: MissReason::NotIndexed,
            failed_filters: search.filter.failed(&snapshot, id, &self.stop)?,
            margin: None,
            rank: None,
            hit: None,
            weights: weights.beside(0.0),
            warnings: Vec::new(),
            generation: snapshot.generation,
        };
        if graph.is_placeholder(id) {
            return Ok(answer);
        }
        let admitted = self.forced_ranking(&snapshot, search, (profile, weights), id)?;
        (answer.miss_reason, answer.margin) = if answer.failed_filters.is_empty() {
            self.miss_reason(&admitted, search, profile, id)
        } else {
            (MissReason::Filter, None)
        };
        let ForcedRanking { query, lifts, ranked, weights, warnings, .. } = admitted;
        (answer.weights, answer.warnings) = (weights, warnings);
        answer.rank = ranked.iter().position(|ranked| ranked.id == id).map(|at| at + 1);
        let own = ranked.into_iter().find(|ranked| ranked.id == id);
        answer.hit = self.hits(&query, &lifts, own.into_iter().collect(), search)?.pop();
        Ok(answer)
    }

    /// Ranks as the search does, but with the note included whatever the filter and the query say.
    fn forced_ranking<'s>(
        &self,
        snapshot: &'s Snapshot,
        search: &SearchRequest,
        (profile, weights): (Profile, Weights),
        id: NoteId,
    ) -> Result<ForcedRanking<'s>, EngineError> {
        let mut warnings = Vec::new();
        let mut query = self.prepare(snapshot, search, profile, &mut warnings)?;
        let is_excluded = !query.words.admitted().contains(id);
        query.passing.insert(id);
        query.words.admit(id);
        let mut stages = Stages::start();
        let mut candidates = |guest, warnings: &mut Vec<Warning>| {
            self.candidates(&query, search, profile, guest, warnings, &mut stages)
        };
        let (mut pool, mut lifts) = candidates(None, &mut warnings)?;
        let was_in = pool.get(id).is_some();
        if !was_in {
            // The warnings are the same as before.
            (pool, lifts) = candidates(Some(id), &mut Vec::new())?;
        }
        let (mut ranked, _) = self.ranked(snapshot, &pool, &lifts, &weights, usize::MAX);
        let mut reranked = RerankOutcome::none(weights);
        if let Some(stage) = self.rerank_stage(search, &mut warnings) {
            let found = (&pool, &lifts);
            reranked = stage.rerank(&query, found, weights, &mut ranked, &mut warnings)?;
        }
        let weights = reranked.weights;
        Ok(ForcedRanking { query, pool, lifts, ranked, weights, warnings, is_excluded, was_in })
    }

    /// Returns the stage that excluded a note matching the filter, and the margin.
    fn miss_reason(
        &self,
        admitted: &ForcedRanking<'_>,
        search: &SearchRequest,
        profile: Profile,
        id: NoteId,
    ) -> (MissReason, Option<f64>) {
        let ForcedRanking { query, pool, lifts, ranked, was_in, .. } = admitted;
        let place = ranked.iter().position(|ranked| ranked.id == id);
        let own = pool.get(id).copied().unwrap_or_default();
        if admitted.is_excluded {
            return (MissReason::Excluded, None);
        }
        if *was_in && let Some(place) = place {
            if place < search.limit {
                return (MissReason::None, None);
            }
            let last = ranked[search.limit - 1].gars.score;
            return (MissReason::Limit, Some(last - ranked[place].gars.score));
        }
        if *was_in && (own.similarity > 0.0 || lifts.by_note.contains_key(&id)) {
            return (MissReason::ZeroWeight, None);
        }
        let is_pending = query.vector.is_some() && !query.snapshot.is_embedding_current(id);
        if is_pending {
            return (MissReason::VectorPending, None);
        }
        if !was_in && let Some(lost) = self.limited_by(admitted, search, profile, id) {
            return lost;
        }
        if own.similarity > 0.0 {
            return (MissReason::CandidateLimit, margin(pool, id, &own));
        }
        (MissReason::NoMatch, None)
    }

    /// Returns the fan-out limit, the floor or the seed limit if it prevented a connection from adding the note.
    fn limited_by(
        &self,
        admitted: &ForcedRanking<'_>,
        search: &SearchRequest,
        profile: Profile,
        id: NoteId,
    ) -> Option<(MissReason, Option<f64>)> {
        let ForcedRanking { query, pool, lifts, .. } = admitted;
        if search.disabled_signals.graph || search.disabled_signals.links {
            return None;
        }
        let (snapshot, settings) = (query.snapshot, &self.settings);
        let graph = snapshot.notes.graph();
        if lifts.fanout_limited.iter().any(|fanout_limited| graph.are_linked(*fanout_limited, id)) {
            return Some((MissReason::FanoutLimit, None));
        }
        let (floor, with_topics) = match profile {
            Profile::Classic => (settings.classic.expansion_floor, true),
            Profile::Bridge => (0.0, settings.topics.siblings_activate),
        };
        let seeds: Vec<NoteId> = lifts.seeds.iter().map(|seed| seed.note).collect();
        let mut hits = pool.hits(snapshot, |hit| hit.similarity > 0.0, usize::MAX);
        hits.retain(|hit| !seeds.contains(hit));
        let shared = Topics::around(snapshot, if with_topics { &hits } else { &[] }, settings)
            .shared_with(id)
            .into_iter()
            .map(|(at, _)| hits[at]);
        let linked = hits.iter().copied().filter(|hit| graph.are_linked(*hit, id));
        let nearest =
            linked.chain(shared).map(|hit| pool.similarity(hit)).max_by(f64::total_cmp)?;
        if nearest < floor {
            return Some((MissReason::ExpansionFloor, Some(floor - nearest)));
        }
        // Without a seed, no connection was followed.
        let last = pool.similarity(*seeds.last()?);
        Some((MissReason::SeedLimit, Some(last - nearest)))
    }
}

/// Returns how far the better score of the note is behind the last note found by that retriever.
fn margin(pool: &CandidatePool, id: NoteId, own: &CandidateScores) -> Option<f64> {
    let last = |score: fn(&CandidateScores) -> f64, by: fn(&CandidateScores) -> bool| {
        let brought = pool.iter().filter(|(other, found)| *other != id && by(found));
        brought.map(|(_, found)| score(found)).min_by(f64::total_cmp)
    };
    let by_word = last(|found| found.keyword, |found| found.by_keyword);
    let cosine = |found: &CandidateScores| found.vector.map_or(0.0, f64::from);
    let by_vector = last(cosine, |found| found.by_vector);
    let behind = [by_word.map(|last| last - own.keyword), by_vector.map(|last| last - cosine(own))];
    behind.into_iter().flatten().min_by(f64::total_cmp).map(|behind| behind.max(0.0))
}
