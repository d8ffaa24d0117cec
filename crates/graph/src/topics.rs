//! Topic siblings: notes that share a topic but have no link between them.

use std::cmp::Ordering;
use std::collections::HashSet;

use weft_model::{LinkSource, NoteId, NoteMap, NoteSet};

use crate::walk::{Direction, Side};
use crate::{HalfEdge, NoteGraph};

/// In-degree that a hub must exceed to be a topic.
///
/// Source: Shadow graph guide, "Ontology traversal".
pub const HUB_MIN_DEGREE: u32 = 5;

/// Score of a sibling before the hub penalty.
///
/// Source: search design, "Topic siblings".
pub const SIBLING_SCORE: f64 = 0.25;

/// Weight of a typed edge, the highest weight. Source: search design, "Graph signals".
pub const TYPED_WEIGHT: f64 = 1.5;

/// Weight of an inline edge. Source: search design, "Graph signals".
pub const INLINE_WEIGHT: f64 = 1.0;

/// Default fan-out limit per list.
pub const DEFAULT_SIBLING_FANOUT: usize = 1000;

/// Request for the siblings of a note.
#[derive(Clone, Debug, PartialEq)]
pub struct SiblingRequest<'a> {
    /// Note whose siblings are requested.
    pub seed: NoteId,
    /// Direction of the links to neighbors.
    pub direction: Direction,
    /// Notes that are topics by their path, whatever their degree.
    pub ontology: &'a NoteSet,
    /// A neighbor whose in-degree exceeds this is also a topic.
    pub hub_min_degree: u32,
    /// Score of a sibling before the penalty, in `0.0..=1.0`.
    pub sibling_score: f64,
    /// Notes that may be results. Topics connect siblings even if they are excluded.
    pub notes: &'a NoteSet,
    /// Maximum number of direct neighbors, of topics, and of siblings per topic.
    pub max_fanout: usize,
}

impl<'a> SiblingRequest<'a> {
    /// Returns a request for the siblings of `seed` with all defaults: both directions, all notes.
    #[must_use]
    pub const fn of(seed: NoteId, ontology: &'a NoteSet) -> Self {
        Self {
            seed,
            direction: Direction::Both,
            ontology,
            hub_min_degree: HUB_MIN_DEGREE,
            sibling_score: SIBLING_SCORE,
            notes: &NoteSet::All,
            max_fanout: DEFAULT_SIBLING_FANOUT,
        }
    }
}

/// Connection between a note and the seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SiblingKind {
    /// A link between them.
    Direct,
    /// A shared topic.
    Sibling,
}

impl SiblingKind {
    /// Returns the name used in responses: `direct` or `sibling`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Sibling => "sibling",
        }
    }
}

/// A note connected with the seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sibling {
    /// The note.
    pub note: NoteId,
    /// Score in `0.0..=1.0`.
    pub score: f64,
    /// Connection with the seed.
    pub kind: SiblingKind,
    /// Topic through which it was found, possibly a placeholder; `None` for a direct neighbor.
    pub via: Option<NoteId>,
}

/// Notes connected with a seed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Siblings {
    /// Siblings by score, best first, then by uri; each note once, with its best score.
    pub siblings: Vec<Sibling>,
    /// Notes whose neighbors were cut by the fan-out limit, by uri: the seed, topics, or both.
    pub fanout_limited: Vec<NoteId>,
}

/// Returns the direct neighbors of a note and the notes that link to the same topics.
///
/// A topic is a neighbor in the ontology or with an in-degree above the threshold. A placeholder can be a topic but not a result.
/// Under the fan-out limit, strong neighbors come first, then low uris; the notes of a topic are read in neighbor order.
#[must_use]
pub fn siblings(graph: &NoteGraph, request: &SiblingRequest<'_>) -> Siblings {
    let SiblingRequest { seed, direction, max_fanout, .. } = request;
    let lists = [(Side::Outgoing, graph.outgoing(*seed)), (Side::Incoming, graph.inbound(*seed))];
    let halves = lists.into_iter().filter(|(side, _)| direction.follows(*side));
    let mut weights: NoteMap<f64> = NoteMap::default();
    let mut neighbors = Vec::new();
    for half in halves.flat_map(|(_, list)| list).filter(|half| half.other != *seed) {
        let weight = weights.entry(half.other).or_insert_with(|| {
            neighbors.push(half.other);
            0.0
        });
        *weight = weight.max(edge_weight(half));
    }
    let by_uri = |a: &NoteId, b: &NoteId| graph.uri(*a).cmp(graph.uri(*b));
    neighbors.sort_unstable_by(|a, b| weights[b].total_cmp(&weights[a]).then_with(|| by_uri(a, b)));
    let mut found_set = SiblingSet::new(graph, request);
    let mut results = neighbors.iter().filter(|id| request.is_result(graph, **id));
    for note in results.by_ref().take(*max_fanout) {
        let score = weights[note] / TYPED_WEIGHT;
        found_set.keep(Sibling { note: *note, score, kind: SiblingKind::Direct, via: None });
    }
    let is_cut = results.next().is_some();
    found_set.add_topic_siblings(neighbors.into_iter(), is_cut);
    found_set.sorted()
}

impl SiblingRequest<'_> {
    fn is_result(&self, graph: &NoteGraph, id: NoteId) -> bool {
        id != self.seed && self.notes.contains(id) && !graph.is_placeholder(id)
    }
}

/// Notes connected with the seed so far, each with its best score.
struct SiblingSet<'g, 'r> {
    graph: &'g NoteGraph,
    request: &'r SiblingRequest<'r>,
    best: NoteMap<Sibling>,
    fanout_limited: Vec<NoteId>,
}

impl<'g, 'r> SiblingSet<'g, 'r> {
    fn new(graph: &'g NoteGraph, request: &'r SiblingRequest<'r>) -> Self {
        Self { graph, request, best: NoteMap::default(), fanout_limited: Vec::new() }
    }

    fn keep(&mut self, found: Sibling) {
        let known = self.best.entry(found.note).or_insert(found);
        if compare(self.graph, &found, known) == Ordering::Less {
            *known = found;
        }
    }

    /// Adds the notes that link to the topics among `neighbors`. `is_cut` is true if the fan-out limit already cut the neighbors of the seed.
    fn add_topic_siblings(&mut self, neighbors: impl Iterator<Item = NoteId>, is_cut: bool) {
        let (graph, request) = (self.graph, self.request);
        let max_fanout = request.max_fanout;
        let mut topics = neighbors.filter(|id| is_topic(graph, *id, request));
        for topic in topics.by_ref().take(max_fanout) {
            let mut seen = HashSet::new();
            let mut inbound = graph
                .inbound(topic)
                .iter()
                .map(|half| half.other)
                .filter(|id| *id != topic && request.is_result(graph, *id) && seen.insert(*id));
            let score = sibling_score(graph, topic, request.sibling_score);
            for note in inbound.by_ref().take(max_fanout) {
                self.keep(Sibling { note, score, kind: SiblingKind::Sibling, via: Some(topic) });
            }
            if inbound.next().is_some() {
                self.fanout_limited.push(topic);
            }
        }
        if is_cut || topics.next().is_some() {
            self.fanout_limited.push(request.seed);
        }
    }

    fn sorted(self) -> Siblings {
        let Self { graph, best, mut fanout_limited, request: _ } = self;
        let by_uri = |a: &NoteId, b: &NoteId| graph.uri(*a).cmp(graph.uri(*b));
        let mut siblings: Vec<Sibling> = best.into_values().collect();
        siblings.sort_unstable_by(|a, b| {
            b.score.total_cmp(&a.score).then_with(|| by_uri(&a.note, &b.note))
        });
        fanout_limited.sort_unstable_by(by_uri);
        Siblings { siblings, fanout_limited }
    }
}

/// A note that shares topics with another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TopicNote {
    /// The note.
    pub note: NoteId,
    /// The shared topic with the highest score, possibly a placeholder.
    pub topic: NoteId,
    /// Sum of the scores of all shared topics: small topics count more.
    pub score: f64,
}

/// Returns the notes that share topics with a note without a link to it, those that share most first, ties by uri.
///
/// In contrast to [`siblings`], the scores of several shared topics add up, and only topics for which `is_specific` returns true relate notes. The same fan-out limits apply.
#[must_use]
pub fn topic_notes(
    graph: &NoteGraph,
    request: &SiblingRequest<'_>,
    is_specific: impl Fn(NoteId) -> bool,
) -> Vec<TopicNote> {
    let lists = [
        (Side::Outgoing, graph.outgoing(request.seed)),
        (Side::Incoming, graph.inbound(request.seed)),
    ];
    let halves = lists.into_iter().filter(|(side, _)| request.direction.follows(*side));
    let by_uri = |a: &NoteId, b: &NoteId| graph.uri(*a).cmp(graph.uri(*b));
    let mut neighbors: Vec<NoteId> =
        halves.flat_map(|(_, list)| list).map(|half| half.other).collect();
    neighbors.sort_unstable_by(by_uri);
    neighbors.dedup();
    let is_direct: HashSet<NoteId> = neighbors.iter().copied().collect();
    let mut topics: Vec<(f64, NoteId)> = neighbors
        .into_iter()
        .filter(|id| *id != request.seed && is_topic(graph, *id, request) && is_specific(*id))
        .map(|topic| (sibling_score(graph, topic, request.sibling_score), topic))
        .collect();
    // The first topic of a note is its best one.
    topics.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    topics.truncate(request.max_fanout);
    let mut found: NoteMap<TopicNote> = NoteMap::default();
    for (score, topic) in topics {
        let mut seen = HashSet::new();
        let sharing = graph.inbound(topic).iter().map(|half| half.other).filter(|id| {
            !is_direct.contains(id) && request.is_result(graph, *id) && seen.insert(*id)
        });
        for note in sharing.take(request.max_fanout) {
            found.entry(note).or_insert(TopicNote { note, topic, score: 0.0 }).score += score;
        }
    }
    let mut notes: Vec<TopicNote> = found.into_values().collect();
    notes.sort_unstable_by(|a, b| {
        b.score.total_cmp(&a.score).then_with(|| by_uri(&a.note, &b.note))
    });
    notes
}

/// Returns the weight of an edge by its source.
#[must_use]
pub const fn edge_weight(half: &HalfEdge) -> f64 {
    match half.source {
        LinkSource::Typed => TYPED_WEIGHT,
        LinkSource::Inline => INLINE_WEIGHT,
    }
}

fn is_topic(graph: &NoteGraph, id: NoteId, request: &SiblingRequest<'_>) -> bool {
    request.ontology.contains(id) || is_hub(graph, id, request.hub_min_degree)
}

/// Returns true if the in-degree of a note exceeds `min_degree`, which makes it a topic whatever its path.
#[must_use]
pub fn is_hub(graph: &NoteGraph, id: NoteId, min_degree: u32) -> bool {
    graph.degrees(id).inbound > min_degree
}

/// Returns the score of a note that shares `topic`: `base / max(1, ln(in-degree + 1))`. Large hubs score low.
///
/// Source: search design, "Topic siblings".
#[must_use]
pub fn sibling_score(graph: &NoteGraph, topic: NoteId, base: f64) -> f64 {
    base / f64::from(graph.degrees(topic).inbound).ln_1p().max(1.0)
}

/// Compares two siblings for the same note: higher score first, then direct, then the lower uri of the topic.
fn compare(graph: &NoteGraph, a: &Sibling, b: &Sibling) -> Ordering {
    let topic = |found: &Sibling| found.via.map(|topic| graph.uri(topic).clone());
    b.score
        .total_cmp(&a.score)
        .then_with(|| a.kind.cmp(&b.kind))
        .then_with(|| topic(a).cmp(&topic(b)))
}
