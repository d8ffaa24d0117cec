//! Profile `classic`: hits activate the notes they are linked with, as the Shadow graph guide has it.

use std::collections::{HashMap, HashSet};

use weft_gars::classic::{NoisyOr, hit_share};
use weft_graph::topics::TYPED_WEIGHT;
use weft_model::{NoteId, Stop};

use super::links::around;
use super::question::{Pool, Question};
use super::topics::siblings_of;
use super::{Connection, Lift, Lifts, Seed, Without};
use crate::settings::{Activation, ClassicSettings};
use crate::{EngineError, EngineSettings};

/// What activates a note so far.
#[derive(Default)]
struct Active {
    doubt: NoisyOr,
    n_hits: u32,
    /// The hit that does most: what it does, which it is, how they are joined.
    most: Option<(f64, NoteId, Connection, f64)>,
}

/// The activation of every note. Neighbours and topic siblings of the best hits enter the pool first.
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
    let snapshot = question.snapshot;
    let mut expanding = pool.hits(snapshot, |hit| hit.similarity >= expansion_floor);
    let n_left_out = expanding.len().saturating_sub(expansion_seeds);
    expanding.truncate(expansion_seeds);
    let mut seeds = Vec::with_capacity(expanding.len());
    let mut reached = Vec::new();
    for hit in &expanding {
        stop.check()?;
        let around = around(question, pool, *hit, settings.fanout);
        let siblings = siblings_of(snapshot, *hit, &question.passing, settings);
        let mut own: HashSet<NoteId> = around.notes.iter().map(|(id, _)| *id).collect();
        own.extend(siblings.shared.iter().map(|(id, _)| *id));
        let mut seed = Seed::new(snapshot, pool, *hit);
        seed.is_cut = around.is_cut || !siblings.capped.is_empty();
        seed.n_reached = own.len();
        seeds.push(seed);
        reached.extend(own);
    }
    question.expand(pool, reached.into_iter())?;

    let mut active: HashMap<NoteId, Active> = HashMap::new();
    for hit in pool.hits(snapshot, |_| true) {
        stop.check()?;
        let similarity = pool.similarity(hit);
        let is_strong = similarity >= activation_floor;
        if !is_strong && activation == Activation::NoisyOr {
            // Hits come the most similar first.
            break;
        }
        let mut linked = HashSet::new();
        for (id, link) in around(question, pool, hit, settings.fanout).notes {
            let Some(_) = pool.get(id) else { continue };
            linked.insert(id);
            let kind = if link.forward { Connection::Link } else { Connection::Backlink };
            active.entry(id).or_default().add(hit, similarity, link.weight / TYPED_WEIGHT, kind);
        }
        if settings.topics.siblings_activate {
            for (id, score) in siblings_of(snapshot, hit, &question.passing, settings).shared {
                if pool.get(id).is_some() && !linked.contains(&id) {
                    active.entry(id).or_default().add(hit, similarity, score, Connection::Topic);
                }
            }
        }
    }
    let graph = snapshot.notes.graph();
    let by_note = active.into_iter().filter_map(|(id, active)| {
        let (_, from, kind, strength) = active.most?;
        let activation = match activation {
            Activation::NoisyOr => active.doubt.value(),
            Activation::HitShare => hit_share(active.n_hits, graph.degrees(id).both),
        };
        Some((id, Lift { activation, from, kind, strength, remainder: 0.0 }))
    });
    let floors = (activation_floor, expansion_floor);
    Ok(Lifts { by_note: by_note.collect(), seeds, n_left_out, floors })
}

impl Active {
    fn add(&mut self, hit: NoteId, similarity: f64, strength: f64, kind: Connection) {
        self.doubt.add(strength, similarity);
        self.n_hits += 1;
        let worth = strength * similarity;
        if self.most.is_none_or(|(most, ..)| worth > most) {
            self.most = Some((worth, hit, kind, strength));
        }
    }
}
