//! Topic siblings: notes that share a topic without a link between them.

use std::cmp::Ordering;
use std::collections::HashSet;

use weft_model::{LinkSource, NoteId, NoteMap, NoteSet};

use crate::walk::{Direction, Side};
use crate::{Half, NoteGraph};

/// The in-degree that a hub has to exceed to be a topic.
///
/// Source: Shadow graph guide, "Ontology traversal".
pub const HUB_MIN_DEGREE: u32 = 5;

/// The score of a sibling before the penalty for hubs.
///
/// Source: search design, "Topic siblings".
pub const SIBLING_SCORE: f64 = 0.25;

/// The weight of a typed edge, the greatest there is. Source: search design, "Graph signals".
pub const TYPED_WEIGHT: f64 = 1.5;

/// The weight of an inline edge. Source: search design, "Graph signals".
pub const INLINE_WEIGHT: f64 = 1.0;

/// Neighbours taken per list where the caller names no number.
pub const DEFAULT_SIBLING_FANOUT: usize = 1000;

/// How siblings are found.
#[derive(Clone, Debug, PartialEq)]
pub struct SiblingRequest<'a> {
    /// Around which note.
    pub seed: NoteId,
    /// Which of its links lead to neighbours.
    pub direction: Direction,
    /// Notes that are topics by their place, whatever their degree.
    pub ontology: &'a NoteSet,
    /// A neighbour whose in-degree exceeds this is a topic too.
    pub hub_min_degree: u32,
    /// The score of a sibling before the penalty, in `0.0..=1.0`.
    pub sibling_score: f64,
    /// Which notes may be results. Topics join their siblings either way.
    pub notes: &'a NoteSet,
    /// At most so many direct neighbours, so many topics, and so many siblings through each topic.
    pub max_fanout: usize,
}

impl<'a> SiblingRequest<'a> {
    /// The siblings of `seed` with all defaults: both directions, every note a possible result.
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

/// How a note is near the seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Nearness {
    /// A link joins them.
    Direct,
    /// A topic joins them.
    Sibling,
}

impl Nearness {
    /// The name that answers use: `direct` or `sibling`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Sibling => "sibling",
        }
    }
}

/// A note near the seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sibling {
    /// The note.
    pub note: NoteId,
    /// In `0.0..=1.0`.
    pub score: f64,
    /// How it is near.
    pub kind: Nearness,
    /// The topic through which it was found, which may be a placeholder; nothing for a direct neighbour.
    pub via: Option<NoteId>,
}

/// The notes near a seed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Siblings {
    /// By score, best first, then by uri; each note once, by its best score.
    pub siblings: Vec<Sibling>,
    /// Whose neighbours the fan-out cap kept back, by uri: the seed, topics, or both.
    pub capped: Vec<NoteId>,
}

/// The direct neighbours of a note, and the notes that link to the same topics.
///
/// A topic is a neighbour in the ontology or with an in-degree above the bound; a placeholder can be one, and is no result itself.
/// Strong neighbours come first under the cap, then low uris; of a topic's list the first notes in neighbour order are read.
#[must_use]
pub fn siblings(graph: &NoteGraph, request: &SiblingRequest<'_>) -> Siblings {
    let SiblingRequest { seed, direction, max_fanout, .. } = request;
    let lists = [(Side::Outgoing, graph.outgoing(*seed)), (Side::Incoming, graph.inbound(*seed))];
    let halves = lists.into_iter().filter(|(side, _)| direction.follows(*side));
    let mut weights: NoteMap<f64> = NoteMap::default();
    let mut neighbours = Vec::new();
    for half in halves.flat_map(|(_, list)| list).filter(|half| half.other != *seed) {
        let weight = weights.entry(half.other).or_insert_with(|| {
            neighbours.push(half.other);
            0.0
        });
        *weight = weight.max(edge_weight(half));
    }
    let by_uri = |a: &NoteId, b: &NoteId| graph.uri(*a).cmp(graph.uri(*b));
    neighbours
        .sort_unstable_by(|a, b| weights[b].total_cmp(&weights[a]).then_with(|| by_uri(a, b)));
    let mut near = Near::new(graph, request);
    let mut results = neighbours.iter().filter(|id| request.is_result(graph, **id));
    for note in results.by_ref().take(*max_fanout) {
        let score = weights[note] / TYPED_WEIGHT;
        near.keep(Sibling { note: *note, score, kind: Nearness::Direct, via: None });
    }
    let is_cut = results.next().is_some();
    near.through_topics(neighbours.into_iter(), is_cut);
    near.sorted()
}

impl SiblingRequest<'_> {
    fn is_result(&self, graph: &NoteGraph, id: NoteId) -> bool {
        id != self.seed && self.notes.contains(id) && !graph.is_placeholder(id)
    }
}

/// Notes near the seed so far, each by its best score.
struct Near<'g, 'r> {
    graph: &'g NoteGraph,
    request: &'r SiblingRequest<'r>,
    best: NoteMap<Sibling>,
    capped: Vec<NoteId>,
}

impl<'g, 'r> Near<'g, 'r> {
    fn new(graph: &'g NoteGraph, request: &'r SiblingRequest<'r>) -> Self {
        Self { graph, request, best: NoteMap::default(), capped: Vec::new() }
    }

    fn keep(&mut self, found: Sibling) {
        let known = self.best.entry(found.note).or_insert(found);
        if better(self.graph, &found, known) == Ordering::Less {
            *known = found;
        }
    }

    /// Takes in those that link to the topics among `neighbours`; `is_cut` says that the seed's own list was cut before.
    fn through_topics(&mut self, neighbours: impl Iterator<Item = NoteId>, is_cut: bool) {
        let (graph, request) = (self.graph, self.request);
        let max_fanout = request.max_fanout;
        let mut topics = neighbours.filter(|id| is_topic(graph, *id, request));
        for topic in topics.by_ref().take(max_fanout) {
            let mut met = HashSet::new();
            let mut inbound = graph
                .inbound(topic)
                .iter()
                .map(|half| half.other)
                .filter(|id| *id != topic && request.is_result(graph, *id) && met.insert(*id));
            let score = sibling_score(graph, topic, request.sibling_score);
            for note in inbound.by_ref().take(max_fanout) {
                self.keep(Sibling { note, score, kind: Nearness::Sibling, via: Some(topic) });
            }
            if inbound.next().is_some() {
                self.capped.push(topic);
            }
        }
        if is_cut || topics.next().is_some() {
            self.capped.push(request.seed);
        }
    }

    fn sorted(self) -> Siblings {
        let Self { graph, best, mut capped, request: _ } = self;
        let by_uri = |a: &NoteId, b: &NoteId| graph.uri(*a).cmp(graph.uri(*b));
        let mut siblings: Vec<Sibling> = best.into_values().collect();
        siblings.sort_unstable_by(|a, b| {
            b.score.total_cmp(&a.score).then_with(|| by_uri(&a.note, &b.note))
        });
        capped.sort_unstable_by(by_uri);
        Siblings { siblings, capped }
    }
}

/// The weight of an edge by its source.
#[must_use]
pub const fn edge_weight(half: &Half) -> f64 {
    match half.source {
        LinkSource::Typed => TYPED_WEIGHT,
        LinkSource::Inline => INLINE_WEIGHT,
    }
}

fn is_topic(graph: &NoteGraph, id: NoteId, request: &SiblingRequest<'_>) -> bool {
    request.ontology.contains(id) || is_hub(graph, id, request.hub_min_degree)
}

/// Whether so many notes link to a note that it is a topic wherever it lies: its in-degree exceeds `min_degree`.
#[must_use]
pub fn is_hub(graph: &NoteGraph, id: NoteId, min_degree: u32) -> bool {
    graph.degrees(id).inbound > min_degree
}

/// What a topic gives the notes that share it: `base / max(1, ln(in-degree + 1))`: the larger the hub, the less it says.
///
/// Source: search design, "Topic siblings".
#[must_use]
pub fn sibling_score(graph: &NoteGraph, topic: NoteId, base: f64) -> f64 {
    base / f64::from(graph.degrees(topic).inbound).ln_1p().max(1.0)
}

/// Of two findings of one note: higher score, then direct, then the lower uri of the topic.
fn better(graph: &NoteGraph, a: &Sibling, b: &Sibling) -> Ordering {
    let topic = |found: &Sibling| found.via.map(|topic| graph.uri(topic).clone());
    b.score
        .total_cmp(&a.score)
        .then_with(|| a.kind.cmp(&b.kind))
        .then_with(|| topic(a).cmp(&topic(b)))
}
