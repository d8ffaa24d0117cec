//! Profile `classic`: hits activate the notes they are linked with, as the Shadow graph guide has it.

use weft_gars::classic::{NoisyOr, hit_share};
use weft_graph::topics::TYPED_WEIGHT;
use weft_model::{NoteId, NoteMap, Stop};

use super::links::{among, followed};
use super::question::{Pool, Question};
use super::topics::Topics;
use super::{Connection, Lift, Lifts, Origin, Seed, Without};
use crate::settings::{Activation, ClassicSettings};
use crate::{EngineError, EngineSettings};

/// What activates a note so far, or brought it in.
#[derive(Default)]
struct Active {
    doubt: NoisyOr,
    n_hits: u32,
    /// The hit that does most: what it does, which it is, how they are joined.
    most: Option<(f64, NoteId, Connection, f64)>,
}

/// The activation of every note. Neighbours and topic siblings of the best hits enter the pool first.
///
/// Cost: bounded by the candidates, the seeds and the fan-out, whatever the size of the vault and the degree of its hubs and topics.
pub(super) fn lifts(
    question: &Question<'_>,
    pool: &mut Pool,
    settings: &EngineSettings,
    without: &Without,
    stop: &Stop,
) -> Result<Lifts, EngineError> {
    let ClassicSettings {
        weights: _,
        activation,
        activation_floor,
        expansion_floor,
        expansion_seeds,
    } = settings.classic;
    if without.links {
        return Ok(Lifts::default());
    }
    let (snapshot, fanout) = (question.snapshot, settings.fanout);
    let graph = snapshot.notes.graph();
    let mut expanding = pool.hits(snapshot, |hit| hit.similarity >= expansion_floor, usize::MAX);
    let n_left_out = expanding.len().saturating_sub(expansion_seeds);
    expanding.truncate(expansion_seeds);
    let topics = Topics::around(snapshot, &expanding, settings);
    let (mut seeds, mut capped) = (Vec::with_capacity(expanding.len()), Vec::new());
    let mut reached = Vec::new();
    for (at, hit) in expanding.iter().enumerate() {
        stop.check()?;
        let (linked, is_cut) = followed(question, *hit, fanout);
        let siblings = topics.siblings(at, question);
        capped.extend(is_cut.then_some(*hit).into_iter().chain(siblings.capped));
        let mut seed = Seed::new(snapshot, pool, *hit);
        (seed.is_cut, seed.n_reached) = (is_cut, linked.len() + siblings.notes.len());
        seeds.push(seed);
        reached.extend(linked.into_iter().chain(siblings.notes.into_keys()));
    }
    question.expand(pool, reached.into_iter())?;

    let activation_floor = match activation {
        Activation::NoisyOr => activation_floor,
        Activation::HitShare => 0.0,
    };
    let least = activation_floor.min(expansion_floor);
    let hits = pool.hits(snapshot, |hit| hit.similarity >= least, usize::MAX);
    let mut active: NoteMap<Active> = NoteMap::default();
    for (hit, linked) in hits.iter().zip(among(graph, pool, &hits, fanout)) {
        stop.check()?;
        let similarity = pool.similarity(*hit);
        for (id, link) in linked {
            let kind = if link.forward { Connection::Link } else { Connection::Backlink };
            let strength = link.weight / TYPED_WEIGHT;
            let activates = similarity >= activation_floor;
            if activates || is_expanded(pool, id) {
                active.entry(id).or_default().add(*hit, similarity, strength, kind, activates);
            }
        }
    }
    // Who is no neighbour is in no share of them.
    let siblings_activate = settings.topics.siblings_activate && activation == Activation::NoisyOr;
    let is_brought = |id| is_expanded(pool, id) && !active.contains_key(&id);
    let siblings = pool.iter().map(|(id, _)| id).filter(|id| siblings_activate || is_brought(*id));
    for id in siblings.collect::<Vec<NoteId>>() {
        for (at, score) in topics.shared_with(id) {
            let (hit, similarity) = (expanding[at], pool.similarity(expanding[at]));
            let activates = siblings_activate && similarity >= activation_floor;
            if activates || is_expanded(pool, id) {
                active.entry(id).or_default().add(
                    hit,
                    similarity,
                    score,
                    Connection::Topic,
                    activates,
                );
            }
        }
    }
    let by_note = active.into_iter().filter_map(|(id, active)| {
        let (_, from, kind, strength) = active.most?;
        let activation = match activation {
            Activation::NoisyOr => active.doubt.value(),
            Activation::HitShare => hit_share(active.n_hits, graph.degrees(id).both),
        };
        Some((id, Lift { activation, from, kind, strength, remainder: 0.0 }))
    });
    let floors = (activation_floor, expansion_floor);
    Ok(Lifts { by_note: by_note.collect(), seeds, capped, n_left_out, floors })
}

/// Whether a connection alone brought the note in.
fn is_expanded(pool: &Pool, id: NoteId) -> bool {
    pool.get(id).is_some_and(|found| found.origin() == Origin::Expanded)
}

impl Active {
    /// A connection with a hit, which is all that brought the note in where it does not activate it.
    fn add(
        &mut self,
        hit: NoteId,
        similarity: f64,
        strength: f64,
        kind: Connection,
        activates: bool,
    ) {
        let worth = strength * similarity;
        let is_most = self.most.is_none_or(|(most, ..)| worth > most);
        // What activates says more of a note than what brought it.
        let is_first = activates && self.n_hits == 0;
        if activates {
            self.doubt.add(strength, similarity);
            self.n_hits += 1;
        }
        if is_first || is_most && (activates || self.n_hits == 0) {
            self.most = Some((worth, hit, kind, strength));
        }
    }
}
