//! Profile `classic`: hits activate the notes they are linked with, as the Shadow graph guide describes.

use weft_gars::classic::{NoisyOr, hit_share};
use weft_graph::topics::TYPED_WEIGHT;
use weft_model::{NoteId, NoteMap, Stop};

use super::hit_links::{among, followed};
use super::prepared_query::{CandidatePool, PreparedQuery};
use super::topics::Topics;
use super::{Connection, DisabledSignals, Lift, Lifts, Origin, Seed};
use crate::settings::{Activation, ClassicSettings};
use crate::{EngineError, EngineSettings};

/// Activation of a note so far, or the connection that added it.
#[derive(Default)]
struct Active {
    doubt: NoisyOr,
    n_hits: u32,
    /// The hit that contributes most: its contribution, the hit, the connection and its strength.
    most: Option<(f64, NoteId, Connection, f64)>,
}

/// Computes the activation of every note. Neighbors and topic siblings of the best hits enter the pool first.
///
/// Cost: bounded by the candidates, the seeds and the fan-out limit, whatever the size of the vault and the degree of its hubs and topics.
pub(super) fn lifts(
    query: &PreparedQuery<'_>,
    pool: &mut CandidatePool,
    settings: &EngineSettings,
    disabled_signals: &DisabledSignals,
    stop: &Stop,
) -> Result<Lifts, EngineError> {
    let ClassicSettings {
        weights: _,
        activation,
        activation_floor,
        expansion_floor,
        expansion_seeds,
    } = settings.classic;
    if disabled_signals.links {
        return Ok(Lifts::default());
    }
    let (snapshot, fanout) = (query.snapshot, settings.fanout);
    let graph = snapshot.notes.graph();
    let mut expanding = pool.hits(snapshot, |hit| hit.similarity >= expansion_floor, usize::MAX);
    let n_omitted = expanding.len().saturating_sub(expansion_seeds);
    expanding.truncate(expansion_seeds);
    let topics = Topics::around(snapshot, &expanding, settings);
    let (mut seeds, mut fanout_limited) = (Vec::with_capacity(expanding.len()), Vec::new());
    let mut reached = Vec::new();
    for (at, hit) in expanding.iter().enumerate() {
        stop.check()?;
        let (linked, is_cut) = followed(query, *hit, fanout);
        let siblings = topics.siblings(at, query);
        fanout_limited.extend(is_cut.then_some(*hit).into_iter().chain(siblings.fanout_limited));
        let mut seed = Seed::new(snapshot, pool, *hit);
        (seed.is_cut, seed.n_reached) = (is_cut, linked.len() + siblings.notes.len());
        seeds.push(seed);
        reached.extend(linked.into_iter().chain(siblings.notes.into_keys()));
    }
    query.expand(pool, reached.into_iter())?;

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
    // A share of neighbors counts neighbors only, not topic siblings.
    let siblings_activate = settings.topics.siblings_activate && activation == Activation::NoisyOr;
    let needs_connection = |id| is_expanded(pool, id) && !active.contains_key(&id);
    let siblings =
        pool.iter().map(|(id, _)| id).filter(|id| siblings_activate || needs_connection(*id));
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
        let (_, from, connection, strength) = active.most?;
        let activation = match activation {
            Activation::NoisyOr => active.doubt.value(),
            Activation::HitShare => hit_share(active.n_hits, graph.degrees(id).both),
        };
        let (remainder, passages) = (0.0, Vec::new());
        Some((id, Lift { activation, from, connection, strength, remainder, passages }))
    });
    let floors = (activation_floor, expansion_floor);
    let by_note = by_note.collect();
    Ok(Lifts { by_note, seeds, fanout_limited, n_omitted, weight: None, floors })
}

/// True if only a connection added the note.
fn is_expanded(pool: &CandidatePool, id: NoteId) -> bool {
    pool.get(id).is_some_and(|found| found.origin() == Origin::Expanded)
}

impl Active {
    /// Adds a connection with a hit. If it does not activate the note, it is only the reason why the note was added.
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
        // An activating connection describes a note better than the one that added it.
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
