//! The links around a hit, at a cost that does not grow with a hub's degree.

use weft_graph::topics::edge_weight;
use weft_graph::{Half, NoteGraph};
use weft_model::{NoteId, NoteMap};

use super::question::{Pool, Question};

/// How a hit and a note are linked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Link {
    /// Whether the hit links to the note; otherwise only the note links to the hit.
    pub(super) forward: bool,
    /// The weight of the strongest edge in either direction.
    pub(super) weight: f64,
}

/// Links looked at for each that may be followed: of a hub's neighbours few may pass a filter.
const LOOKED_AT: usize = 64;

/// What a hit is linked with.
#[derive(Clone, Debug, Default)]
pub(super) struct Around {
    /// Notes that may be hits, each once.
    pub(super) notes: Vec<(NoteId, Link)>,
    /// Whether only the first of its links were followed.
    pub(super) is_cut: bool,
}

/// Notes linked with `hit`: every member of the pool, and of others those of the first `fanout` links to notes that may be hits, outgoing ones before inbound ones.
pub(super) fn around(question: &Question<'_>, pool: &Pool, hit: NoteId, fanout: usize) -> Around {
    let graph = question.snapshot.notes.graph();
    let (mut links, is_cut) = first_links(question, hit, fanout);
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

/// The notes that may be hits and that the first `fanout` links of `hit` to such join with it, and whether it has more.
pub(super) fn followed(question: &Question<'_>, hit: NoteId, fanout: usize) -> (Vec<NoteId>, bool) {
    let (links, is_cut) = first_links(question, hit, fanout);
    (links.0.into_keys().collect(), is_cut)
}

/// The members of the pool that each of `hits` is linked with, by hit in the order given.
///
/// A link is met from the end that has few; the cost is bounded by hits, members and fan-out, whatever the degree of either end.
pub(super) fn among(
    graph: &NoteGraph,
    pool: &Pool,
    hits: &[NoteId],
    fanout: usize,
) -> Vec<Vec<(NoteId, Link)>> {
    let is_hub = |id: NoteId| graph.outgoing(id).len() + graph.inbound(id).len() > fanout;
    let mut among: Vec<Links> = hits.iter().map(|_| Links::default()).collect();
    let mut hubs: NoteMap<usize> = NoteMap::default();
    for (at, hit) in hits.iter().enumerate() {
        if is_hub(*hit) {
            hubs.insert(*hit, at);
        } else {
            links_of(graph, *hit)
                .for_each(|(forward, half)| among[at].add(forward, half, half.other));
        }
    }
    for (id, _) in pool.iter().filter(|_| !hubs.is_empty()) {
        if is_hub(id) {
            for (hub, at) in &hubs {
                among[*at].add_all(graph, *hub, id);
            }
        } else {
            // What leads to the hub from here is a link of the note, and the other way round.
            let outgoing = graph.outgoing(id).iter().map(|half| (false, half));
            for (forward, half) in outgoing.chain(graph.inbound(id).iter().map(|half| (true, half)))
            {
                if let Some(at) = hubs.get(&half.other) {
                    among[*at].add(forward, half, id);
                }
            }
        }
    }
    let members = |(hit, links): (&NoteId, Links)| {
        links.0.into_iter().filter(|(id, _)| id != hit && pool.get(*id).is_some()).collect()
    };
    hits.iter().zip(among).map(members).collect()
}

/// The first `fanout` links of `hit` to notes that may be hits, and whether it has more.
fn first_links(question: &Question<'_>, hit: NoteId, fanout: usize) -> (Links, bool) {
    let mut links = Links::default();
    let all = links_of(question.snapshot.notes.graph(), hit);
    let (first, is_cut) =
        first_that(all, fanout, |(_, half)| half.other != hit && question.passes(half.other));
    for (forward, half) in first {
        links.add(forward, half, half.other);
    }
    (links, is_cut)
}

/// The links of a note, outgoing ones before inbound ones, and whether each is outgoing.
fn links_of(graph: &NoteGraph, id: NoteId) -> impl Iterator<Item = (bool, &Half)> {
    let forward = graph.outgoing(id).iter().map(|half| (true, half));
    forward.chain(graph.inbound(id).iter().map(|half| (false, half)))
}

/// The first `n` of `links` that pass, and whether there may be more: of very many that do not pass the rest is not looked at.
pub(super) fn first_that<T>(
    links: impl Iterator<Item = T>,
    n: usize,
    passes: impl Fn(&T) -> bool,
) -> (Vec<T>, bool) {
    let mut first = Vec::new();
    for (link, n_looked_at) in links.zip(0..) {
        if n_looked_at == n.saturating_mul(LOOKED_AT) {
            return (first, true);
        }
        if passes(&link) {
            if first.len() == n {
                return (first, true);
            }
            first.push(link);
        }
    }
    (first, false)
}

#[derive(Default)]
struct Links(NoteMap<Link>);

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
