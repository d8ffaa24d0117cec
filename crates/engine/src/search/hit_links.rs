//! The links of a hit, at a cost that does not grow with the degree of a hub.

use weft_graph::topics::edge_weight;
use weft_graph::{HalfEdge, NoteGraph};
use weft_model::{NoteId, NoteMap};

use super::prepared_query::{CandidatePool, PreparedQuery};

/// How a hit and a note are linked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct HitLink {
    /// True if the hit links to the note; otherwise only the note links to the hit.
    pub(super) forward: bool,
    /// Weight of the strongest edge in either direction.
    pub(super) weight: f64,
}

/// Links examined per followed link: few neighbors of a hub may match a filter.
const EXAMINED_PER_FOLLOWED_LINK: usize = 64;

/// The notes linked with a hit.
#[derive(Clone, Debug, Default)]
pub(super) struct LinkedNotes {
    /// Notes that may be hits, without repeats.
    pub(super) notes: Vec<(NoteId, HitLink)>,
    /// True if only the first of its links were followed.
    pub(super) is_cut: bool,
}

/// Returns the notes linked with `hit`: every member of the pool, and the other notes on the first `fanout` links to possible hits, outgoing links before inbound ones.
pub(super) fn around(
    query: &PreparedQuery<'_>,
    pool: &CandidatePool,
    hit: NoteId,
    fanout: usize,
) -> LinkedNotes {
    let graph = query.snapshot.notes.graph();
    let (mut links, is_cut) = first_links(query, hit, fanout);
    if is_cut {
        for (id, _) in pool.iter() {
            links.add_all(graph, hit, id);
        }
    }
    let mut notes: Vec<(NoteId, HitLink)> =
        links.0.into_iter().filter(|(id, _)| *id != hit && query.passes(*id)).collect();
    notes.sort_unstable_by_key(|(id, _)| *id);
    LinkedNotes { notes, is_cut }
}

/// Returns the possible hits on the first `fanout` links of `hit` to such notes, and whether there are more.
pub(super) fn followed(
    query: &PreparedQuery<'_>,
    hit: NoteId,
    fanout: usize,
) -> (Vec<NoteId>, bool) {
    let (links, is_cut) = first_links(query, hit, fanout);
    (links.0.into_keys().collect(), is_cut)
}

/// Returns the members of the pool that each of `hits` is linked with, in the order of `hits`.
///
/// A link is read from the end with fewer links, so the cost is bounded by hits, members and fan-out, whatever the degree of either end.
pub(super) fn among(
    graph: &NoteGraph,
    pool: &CandidatePool,
    hits: &[NoteId],
    fanout: usize,
) -> Vec<Vec<(NoteId, HitLink)>> {
    let is_hub = |id: NoteId| graph.outgoing(id).len() + graph.inbound(id).len() > fanout;
    let mut among: Vec<LinkMap> = hits.iter().map(|_| LinkMap::default()).collect();
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
            // An outgoing link of the note is an inbound link of the hub, and vice versa.
            let outgoing = graph.outgoing(id).iter().map(|half| (false, half));
            for (forward, half) in outgoing.chain(graph.inbound(id).iter().map(|half| (true, half)))
            {
                if let Some(at) = hubs.get(&half.other) {
                    among[*at].add(forward, half, id);
                }
            }
        }
    }
    let members = |(hit, links): (&NoteId, LinkMap)| {
        links.0.into_iter().filter(|(id, _)| id != hit && pool.get(*id).is_some()).collect()
    };
    hits.iter().zip(among).map(members).collect()
}

/// Returns the first `fanout` links of `hit` to possible hits, and whether there are more.
fn first_links(query: &PreparedQuery<'_>, hit: NoteId, fanout: usize) -> (LinkMap, bool) {
    let mut links = LinkMap::default();
    let all = links_of(query.snapshot.notes.graph(), hit);
    let (first, is_cut) =
        first_that(all, fanout, |(_, half)| half.other != hit && query.passes(half.other));
    for (forward, half) in first {
        links.add(forward, half, half.other);
    }
    (links, is_cut)
}

/// Returns the links of a note, outgoing ones before inbound ones, each with whether it is outgoing.
fn links_of(graph: &NoteGraph, id: NoteId) -> impl Iterator<Item = (bool, &HalfEdge)> {
    let forward = graph.outgoing(id).iter().map(|half| (true, half));
    forward.chain(graph.inbound(id).iter().map(|half| (false, half)))
}

/// Returns the first `n` passing `links`, and whether there may be more: if too many do not pass, the rest is not examined.
pub(super) fn first_that<T>(
    links: impl Iterator<Item = T>,
    n: usize,
    passes: impl Fn(&T) -> bool,
) -> (Vec<T>, bool) {
    let mut first = Vec::new();
    for (link, n_looked_at) in links.zip(0..) {
        if n_looked_at == n.saturating_mul(EXAMINED_PER_FOLLOWED_LINK) {
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
struct LinkMap(NoteMap<HitLink>);

impl LinkMap {
    fn add(&mut self, forward: bool, half: &HalfEdge, other: NoteId) {
        let link = self.0.entry(other).or_insert(HitLink { forward, weight: 0.0 });
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
