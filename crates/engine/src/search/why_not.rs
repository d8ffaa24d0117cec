//! Why a note is no hit: the stage at which it was lost, by how much, and the rank it would have had.

use weft_gars::Weights;
use weft_index::Snapshot;
use weft_model::{NoteId, NoteSet};

use super::question::{Candidate, Pool, Question};
use super::{Hit, Lifts, Ranked, SearchRequest, Stages};
use crate::{Engine, EngineError, NoteRef, Profile, note_named};

/// A question for a missing note.
#[derive(Clone, Debug, Default)]
pub struct WhyNotRequest {
    /// The note, by any name a link could use.
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
    /// A hit it is linked with has too many links to follow them all.
    Fanout,
    /// Nothing about it answers.
    NoAnswer,
    /// It is ranked, below the last hit that was asked for.
    Limit,
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
    /// The rank it has, or would have had if that stage had let it through, from 1; nothing where it would be no hit at all.
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
    /// Whether the legs or a connection brought the note.
    was_in: bool,
}

impl Engine {
    /// Says at which stage of a search a note was lost.
    ///
    /// Fails as [`search`](Self::search) does, and on an unknown note.
    pub fn why_not(&self, request: &WhyNotRequest) -> Result<WhyNotAnswer, EngineError> {
        let WhyNotRequest { note, search } = request;
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
            failed: search.filter.failed(&snapshot, id)?,
            margin: None,
            rank: None,
            hit: None,
            weights: self.ranking_of(search)?.1,
            degraded: Vec::new(),
            generation: snapshot.generation,
        };
        if graph.is_placeholder(id) {
            return Ok(answer);
        }
        let admitted = self.admitted(&snapshot, search, id, !answer.failed.is_empty())?;
        (answer.loss, answer.margin) = self.lost(&admitted, search, id, !answer.failed.is_empty());
        let Admitted { question, pool: _, lifts, ranked, degraded, was_in: _ } = admitted;
        answer.degraded = degraded;
        answer.rank = ranked.iter().position(|ranked| ranked.id == id).map(|at| at + 1);
        let own = ranked.into_iter().find(|ranked| ranked.id == id);
        answer.hit = own.and_then(|own| self.hit(&question, &lifts, own));
        Ok(answer)
    }

    /// Ranks as the search does, with the note let in, and with every note passing where the filter is what kept it out.
    fn admitted<'s>(
        &self,
        snapshot: &'s Snapshot,
        search: &SearchRequest,
        id: NoteId,
        is_filtered: bool,
    ) -> Result<Admitted<'s>, EngineError> {
        let mut degraded = Vec::new();
        let (profile, weights) = self.ranking_of(search)?;
        let mut question = self.question(snapshot, search, profile, &mut degraded)?;
        if is_filtered {
            question.passing = NoteSet::All;
        }
        let mut stages = Stages::start();
        let (mut pool, lifts) =
            self.rankable(&question, search, profile, &mut degraded, &mut stages)?;
        let was_in = pool.get(id).is_some();
        question.expand(&mut pool, std::iter::once(id))?;
        let ranked = self.ranked(snapshot, &pool, &lifts, &weights);
        Ok(Admitted { question, pool, lifts, ranked, degraded, was_in })
    }

    /// The stage at which the note was lost, and by how much.
    fn lost(
        &self,
        admitted: &Admitted<'_>,
        search: &SearchRequest,
        id: NoteId,
        is_filtered: bool,
    ) -> (Loss, Option<f64>) {
        let Admitted { question, pool, ranked, was_in, .. } = admitted;
        let place = ranked.iter().position(|ranked| ranked.id == id);
        let own = pool.get(id).copied().unwrap_or_default();
        if is_filtered {
            return (Loss::Filter, None);
        }
        if *was_in && let Some(place) = place {
            if place < search.limit {
                return (Loss::None, None);
            }
            let last = ranked[search.limit - 1].gars.score;
            return (Loss::Limit, Some(last - ranked[place].gars.score));
        }
        let is_pending = question.vector.is_some() && !question.snapshot.is_fresh(id);
        if is_pending {
            return (Loss::VectorPending, None);
        }
        if !was_in && let Some(lost) = self.kept_back(admitted, search, id) {
            return lost;
        }
        if own.similarity > 0.0 {
            return (Loss::Candidates, margin(pool, id, &own));
        }
        let has_words = question.snapshot.keyword.holds_any(&question.words, id).unwrap_or(false);
        (if has_words { Loss::Excluded } else { Loss::NoAnswer }, None)
    }

    /// Whether a connection would have brought the note in, had the floor or the fan-out not kept it back.
    fn kept_back(
        &self,
        admitted: &Admitted<'_>,
        search: &SearchRequest,
        id: NoteId,
    ) -> Option<(Loss, Option<f64>)> {
        let Admitted { question, pool, lifts, .. } = admitted;
        if search.without.graph || search.without.links {
            return None;
        }
        let graph = question.snapshot.notes.graph();
        let is_linked =
            |hit: NoteId| !graph.edges(hit, id).is_empty() || !graph.edges(id, hit).is_empty();
        if lifts.seeds.iter().any(|seed| seed.is_cut && is_linked(seed.note)) {
            return Some((Loss::Fanout, None));
        }
        let floor = match self.ranking_of(search).ok()?.0 {
            Profile::Classic => self.settings.classic.expansion_floor,
            Profile::Bridge => return None,
        };
        let hits = pool.hits(question.snapshot, |hit| hit.similarity < floor);
        let best = hits.into_iter().find(|hit| is_linked(*hit))?;
        Some((Loss::Floor, Some(floor - pool.similarity(best))))
    }
}

/// How far the note's better leg is behind the last note which that leg brought.
fn margin(pool: &Pool, id: NoteId, own: &Candidate) -> Option<f64> {
    let last = |score: fn(&Candidate) -> f64, by: fn(&Candidate) -> bool| {
        let brought = pool.iter().filter(|(other, found)| *other != id && by(found));
        brought.map(|(_, found)| score(found)).min_by(f64::total_cmp)
    };
    let by_word = last(|found| found.keyword, |found| found.by_keyword);
    let by_vector = last(|found| found.vector, |found| found.by_vector);
    let behind = [by_word.map(|last| last - own.keyword), by_vector.map(|last| last - own.vector)];
    behind.into_iter().flatten().min_by(f64::total_cmp).map(|behind| behind.max(0.0))
}
