//! Why a note is no hit: the stage at which it was lost, by how much, and the rank it would have had.

use weft_gars::Weights;
use weft_index::Snapshot;
use weft_model::NoteId;

use super::question::{Candidate, Pool, Question};
use super::topics::Topics;
use super::{Hit, Lifts, Ranked, SearchRequest, Stages};
use crate::{Engine, EngineError, NoteRef, Profile, note_named};

/// A question for a missing note.
#[derive(Clone, Debug, Default)]
pub struct WhyNotRequest {
    /// The note, by any name a link could use, or a title.
    pub note: String,
    /// The search in which it is missing.
    pub search: SearchRequest,
}

/// The stage at which a note was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// At none: it is a hit.
    None,
    /// Links name it, but no file answers to it.
    NotIndexed,
    /// The filter keeps it out.
    Filter,
    /// The query excludes a word of it, or asks for one that it lacks.
    Excluded,
    /// Its vector is not there yet, and its words alone do not bring it in.
    VectorPending,
    /// Each leg found enough better notes.
    Candidates,
    /// The hits it is connected with are below the floor of expansion.
    Floor,
    /// A hit or topic it is linked with has too many links to follow them all.
    Fanout,
    /// Nothing about it answers.
    NoAnswer,
    /// It is ranked, below the last hit that was asked for.
    Limit,
    /// The hits it is connected with are not among the best, around which connections are followed.
    Seeds,
    /// It is a candidate, and what answers of it counts nothing.
    Weights,
}

/// Why a note is no hit.
#[derive(Clone, Debug, PartialEq)]
pub struct WhyNotAnswer {
    /// The note.
    pub note: NoteRef,
    /// Where it was lost.
    pub loss: Loss,
    /// The parts of the filter that it fails, by the names of their fields.
    pub failed: Vec<&'static str>,
    /// By how much it missed, in the score that decided there; nothing where no number did.
    pub margin: Option<f64>,
    /// The rank it has, or would have had if that stage had let it through and nothing else had changed, from 1; nothing where it would be no hit at all.
    pub rank: Option<usize>,
    /// What is known of it as a hit, under the same condition.
    pub hit: Option<Hit>,
    /// What each signal counted; they sum to 1.
    pub weights: Weights,
    /// Stages that were left out, and why.
    pub degraded: Vec<String>,
    /// The snapshot's generation.
    pub generation: u64,
}

/// A note that was ranked although it was lost.
struct Admitted<'s> {
    question: Question<'s>,
    pool: Pool,
    lifts: Lifts,
    ranked: Vec<Ranked>,
    degraded: Vec<String>,
    /// Whether the query excludes it.
    is_excluded: bool,
    /// Whether the legs or a connection brought the note.
    was_in: bool,
}

impl Engine {
    /// Says at which stage of a search a note was lost.
    ///
    /// Fails as [`search`](Self::search) does, and on an unknown note.
    pub fn why_not(&self, request: &WhyNotRequest) -> Result<WhyNotAnswer, EngineError> {
        let WhyNotRequest { note, search } = request;
        let (profile, weights) = self.ranking_of(search)?;
        let snapshot = self.snapshot();
        let graph = snapshot.notes.graph();
        let id = note_named(&snapshot, note).or_else(|error| {
            let mut placeholders = graph.ids().filter(|id| graph.is_placeholder(*id));
            placeholders.find(|id| graph.uri(*id).as_str() == note).ok_or(error)
        })?;
        let mut answer = WhyNotAnswer {
            note: NoteRef {
                uri: graph.uri(id).clone(),
                title: snapshot.notes.title(id).to_owned(),
            },
            loss: Loss::NotIndexed,
            failed: search.filter.failed(&snapshot, id, &self.stop)?,
            margin: None,
            rank: None,
            hit: None,
            weights,
            degraded: Vec::new(),
            generation: snapshot.generation,
        };
        if graph.is_placeholder(id) {
            return Ok(answer);
        }
        let admitted = self.admitted(&snapshot, search, (profile, weights), id)?;
        (answer.loss, answer.margin) = if answer.failed.is_empty() {
            self.lost(&admitted, search, profile, id)
        } else {
            (Loss::Filter, None)
        };
        let Admitted { question, pool: _, lifts, ranked, degraded, is_excluded: _, was_in: _ } =
            admitted;
        answer.degraded = degraded;
        answer.rank = ranked.iter().position(|ranked| ranked.id == id).map(|at| at + 1);
        let own = ranked.into_iter().find(|ranked| ranked.id == id);
        let cutter = self.cutter(&question, search);
        let hit = own.map(|own| Self::hit(&question, &lifts, own, &cutter));
        answer.hit = hit.transpose()?.flatten();
        Ok(answer)
    }

    /// Ranks as the search does, with the note let in, whatever filter and query say of it.
    fn admitted<'s>(
        &self,
        snapshot: &'s Snapshot,
        search: &SearchRequest,
        (profile, weights): (Profile, Weights),
        id: NoteId,
    ) -> Result<Admitted<'s>, EngineError> {
        let mut degraded = Vec::new();
        let mut question = self.question(snapshot, search, profile, &mut degraded)?;
        let is_excluded = !question.words.admitted().contains(id);
        question.passing.insert(id);
        question.words.admit(id);
        let mut stages = Stages::start();
        let mut rankable = |guest, degraded: &mut Vec<String>| {
            self.rankable(&question, search, profile, guest, degraded, &mut stages)
        };
        let (mut pool, mut lifts) = rankable(None, &mut degraded)?;
        let was_in = pool.get(id).is_some();
        if !was_in {
            // What is left out then was left out before.
            (pool, lifts) = rankable(Some(id), &mut Vec::new())?;
        }
        let (ranked, _) = self.ranked(snapshot, &pool, &lifts, &weights, usize::MAX);
        Ok(Admitted { question, pool, lifts, ranked, degraded, is_excluded, was_in })
    }

    /// The stage at which a note that passes the filter was lost, and by how much.
    fn lost(
        &self,
        admitted: &Admitted<'_>,
        search: &SearchRequest,
        profile: Profile,
        id: NoteId,
    ) -> (Loss, Option<f64>) {
        let Admitted { question, pool, lifts, ranked, was_in, .. } = admitted;
        let place = ranked.iter().position(|ranked| ranked.id == id);
        let own = pool.get(id).copied().unwrap_or_default();
        if admitted.is_excluded {
            return (Loss::Excluded, None);
        }
        if *was_in && let Some(place) = place {
            if place < search.limit {
                return (Loss::None, None);
            }
            let last = ranked[search.limit - 1].gars.score;
            return (Loss::Limit, Some(last - ranked[place].gars.score));
        }
        if *was_in && (own.similarity > 0.0 || lifts.by_note.contains_key(&id)) {
            return (Loss::Weights, None);
        }
        let is_pending = question.vector.is_some() && !question.snapshot.is_fresh(id);
        if is_pending {
            return (Loss::VectorPending, None);
        }
        if !was_in && let Some(lost) = self.kept_back(admitted, search, profile, id) {
            return lost;
        }
        if own.similarity > 0.0 {
            return (Loss::Candidates, margin(pool, id, &own));
        }
        (Loss::NoAnswer, None)
    }

    /// Whether a connection would have brought the note in, had the fan-out, the floor or the bound on seeds not kept it back.
    fn kept_back(
        &self,
        admitted: &Admitted<'_>,
        search: &SearchRequest,
        profile: Profile,
        id: NoteId,
    ) -> Option<(Loss, Option<f64>)> {
        let Admitted { question, pool, lifts, .. } = admitted;
        if search.without.graph || search.without.links {
            return None;
        }
        let (snapshot, settings) = (question.snapshot, &self.settings);
        let graph = snapshot.notes.graph();
        if lifts.capped.iter().any(|capped| graph.are_linked(*capped, id)) {
            return Some((Loss::Fanout, None));
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
            return Some((Loss::Floor, Some(floor - nearest)));
        }
        // Without a seed nothing was followed at all.
        let last = pool.similarity(*seeds.last()?);
        Some((Loss::Seeds, Some(last - nearest)))
    }
}

/// How far the note's better leg is behind the last note which that leg brought.
fn margin(pool: &Pool, id: NoteId, own: &Candidate) -> Option<f64> {
    let last = |score: fn(&Candidate) -> f64, by: fn(&Candidate) -> bool| {
        let brought = pool.iter().filter(|(other, found)| *other != id && by(found));
        brought.map(|(_, found)| score(found)).min_by(f64::total_cmp)
    };
    let by_word = last(|found| found.keyword, |found| found.by_keyword);
    let by_vector = last(|found| found.vector.unwrap_or(0.0), |found| found.by_vector);
    let behind = [
        by_word.map(|last| last - own.keyword),
        by_vector.map(|last| last - own.vector.unwrap_or(0.0)),
    ];
    behind.into_iter().flatten().min_by(f64::total_cmp).map(|behind| behind.max(0.0))
}
