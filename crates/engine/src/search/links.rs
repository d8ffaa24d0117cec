//! The links around a hit, at a cost that does not grow with a hub's degree.

use std::collections::HashMap;

use weft_graph::topics::edge_weight;
use weft_graph::{Half, NoteGraph};
use weft_model::NoteId;

use super::question::{Pool, Question};

/// How a hit and a note are linked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Link {
    /// Whether the hit links to the note; otherwise only the note links to the hit.
    pub(super) forward: bool,
    /// The weight of the strongest edge in either direction.
    pub(super) weight: f64,
}

/// What a hit is linked with.
#[derive(Clone, Debug, Default)]
pub(super) struct Around {
    /// Notes that may be hits, each once.
    pub(super) notes: Vec<(NoteId, Link)>,
    /// Whether only the first of its links were followed.
    pub(super) is_cut: bool,
}

/// Notes linked with `hit`: every member of the pool, and of others those of the first `fanout` links, outgoing ones before inbound ones.
pub(super) fn around(question: &Question<'_>, pool: &Pool, hit: NoteId, fanout: usize) -> Around {
    let graph = question.snapshot.notes.graph();
    let mut links = Links::default();
    let forward = graph.outgoing(hit).iter().map(|half| (true, half));
    let backward = graph.inbound(hit).iter().map(|half| (false, half));
    let mut all = forward.chain(backward);
    for (forward, half) in all.by_ref().take(fanout) {
        links.add(forward, half, half.other);
    }
    let is_cut = all.next().is_some();
    if is_cut {
        for (id, _) in pool.iter() {
            links.add_all(graph, hit, id);
        }
    }
    let mut notes: Vec<(NoteId, Link)> =
        links.0.into_iter().filter(|(id, _)| *id != hit && question.passes(*id)).collect();
    notes.sort_unstable_by_key(|(id, _)| *id);
    Around { notes, is_cut }
}

#[derive(Default)]
struct Links(HashMap<NoteId, Link>);

impl Links {
    fn add(&mut self, forward: bool, half: &Half, other: NoteId) {
        let link = self.0.entry(other).or_insert(Link { forward, weight: 0.0 });
        link.forward |= forward;
        link.weight = link.weight.max(edge_weight(half));
    }

    fn add_all(&mut self, graph: &NoteGraph, hit: NoteId, other: NoteId) {
        for half in graph.edges(hit, other) {
            self.add(true, &half, other);
        }
        for half in graph.edges(other, hit) {
            self.add(false, &half, other);
        }
    }
}
