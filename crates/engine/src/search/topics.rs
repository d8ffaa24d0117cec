//! Topics of the best hits and the notes that share them, at a cost that does not grow with the degree of a topic.

use std::collections::HashSet;

use weft_graph::NoteGraph;
use weft_graph::topics::{is_hub, sibling_score};
use weft_index::Snapshot;
use weft_model::{NoteId, NoteMap, NoteSet, fold};

use super::hit_links::first_that;
use super::prepared_query::PreparedQuery;
use crate::EngineSettings;
use crate::filter::is_below;
use crate::settings::TopicSettings;

/// The topics of some hits, without repeats.
pub(super) struct Topics<'s> {
    graph: &'s NoteGraph,
    hits: Vec<HitNeighbors>,
    /// Highest score first, ties by uri.
    topics: Vec<Topic>,
    by_note: NoteMap<usize>,
    fanout: usize,
}

/// A hit and its neighbors.
struct HitNeighbors {
    hit: NoteId,
    /// The other ends of its first links.
    neighbors: HashSet<NoteId>,
    /// True if it has more links than that.
    is_cut: bool,
}

/// A topic linked with some hits.
struct Topic {
    note: NoteId,
    /// Score of the notes that share it.
    score: f64,
    /// Positions of the hits, ascending.
    hits: Vec<usize>,
}

/// The notes reached through the topics of one hit.
#[derive(Default)]
pub(super) struct TopicNotes {
    /// Each note once, with the score of the best topic it shares with the hit.
    pub(super) notes: NoteMap<f64>,
    /// Topics whose links were followed only in part.
    pub(super) fanout_limited: Vec<NoteId>,
}

impl<'s> Topics<'s> {
    /// Finds the topics of `hits` among the first links of each, up to the fan-out limit.
    pub(super) fn around(
        snapshot: &'s Snapshot,
        hits: &[NoteId],
        settings: &EngineSettings,
    ) -> Self {
        let TopicSettings {
            ontology_path,
            hub_min_degree,
            sibling_score: base,
            siblings_activate: _,
        } = &settings.topics;
        let (graph, fanout) = (snapshot.notes.graph(), settings.fanout);
        let mut found: NoteMap<Vec<usize>> = NoteMap::default();
        let mut hit_neighbors = Vec::with_capacity(hits.len());
        for (at, hit) in hits.iter().enumerate() {
            let mut links = neighbors(snapshot, *hit);
            let first = links.by_ref().take(fanout);
            let neighbors: HashSet<NoteId> = first.filter(|id| id != hit).collect();
            let topics = neighbors.iter().copied().filter(|id| {
                is_hub(graph, *id, *hub_min_degree) || is_in(snapshot, *id, ontology_path)
            });
            for topic in topics {
                found.entry(topic).or_default().push(at);
            }
            let is_cut = links.next().is_some();
            hit_neighbors.push(HitNeighbors { hit: *hit, neighbors, is_cut });
        }
        let score = |note: NoteId| sibling_score(graph, note, *base);
        let mut topics: Vec<Topic> = found
            .into_iter()
            .map(|(note, hits)| Topic { note, score: score(note), hits })
            .collect();
        topics.sort_unstable_by(|a, b| {
            b.score.total_cmp(&a.score).then_with(|| graph.uri(a.note).cmp(graph.uri(b.note)))
        });
        let by_note = topics.iter().map(|topic| topic.note).zip(0..).collect();
        Self { graph, hits: hit_neighbors, topics, by_note, fanout }
    }

    /// Returns the notes reached through the topics of the hit at position `at`, topics with the highest score first. All topics of the hit together follow as many links to possible hits as one hit does.
    pub(super) fn siblings(&self, at: usize, query: &PreparedQuery<'_>) -> TopicNotes {
        let own = &self.hits[at];
        let mut siblings = TopicNotes::default();
        let mut room = self.fanout;
        for topic in self.topics.iter().filter(|topic| topic.hits.contains(&at)) {
            let inbound = self.graph.inbound(topic.note).iter().map(|half| half.other);
            let (first, is_cut) =
                first_that(inbound, room, |id| *id != topic.note && query.passes(*id));
            if is_cut {
                siblings.fanout_limited.push(topic.note);
            }
            room -= first.len();
            for id in first.into_iter().filter(|id| self.are_unlinked(own, *id)) {
                siblings.notes.entry(id).or_insert(topic.score);
            }
        }
        siblings
    }

    /// Returns the positions of the hits that share a topic but no link with `note`, each with the score of the best shared topic.
    ///
    /// Cost: bounded by the number of topics and hits, whatever the degree of the note and of the topics.
    pub(super) fn shared_with(&self, note: NoteId) -> Vec<(usize, f64)> {
        let mut scores = vec![0.0; self.hits.len()];
        let mut share = |topic: &Topic| {
            for at in topic.hits.iter().filter(|_| topic.note != note) {
                scores[*at] = topic.score.max(scores[*at]);
            }
        };
        let outgoing = self.graph.outgoing(note);
        if outgoing.len() <= self.fanout {
            let topics = outgoing.iter().filter_map(|half| self.by_note.get(&half.other));
            topics.for_each(|at| share(&self.topics[*at]));
        } else {
            let shared =
                self.topics.iter().filter(|topic| !self.graph.edges(note, topic.note).is_empty());
            shared.for_each(share);
        }
        let scores = scores.into_iter().enumerate();
        scores
            .filter(|(at, score)| *score > 0.0 && self.are_unlinked(&self.hits[*at], note))
            .collect()
    }

    /// True if the hit and the note are not linked. A topic adds nothing to linked notes.
    fn are_unlinked(&self, own: &HitNeighbors, note: NoteId) -> bool {
        let HitNeighbors { hit, neighbors, is_cut } = own;
        note != *hit
            && !neighbors.contains(&note)
            && (!is_cut || !self.graph.are_linked(*hit, note))
    }
}

/// Returns the other ends of a note's links, outgoing links first.
fn neighbors(snapshot: &Snapshot, id: NoteId) -> impl Iterator<Item = NoteId> {
    let graph = snapshot.notes.graph();
    graph.outgoing(id).iter().chain(graph.inbound(id)).map(|half| half.other)
}

/// Returns the neighbors of `id` below the ontology path, by whole segments; none if the path is empty.
pub(crate) fn ontology_around(snapshot: &Snapshot, id: NoteId, ontology_path: &str) -> NoteSet {
    neighbors(snapshot, id).filter(|id| is_in(snapshot, *id, ontology_path)).collect()
}

/// True if a note is below the ontology path, ignoring case.
fn is_in(snapshot: &Snapshot, id: NoteId, ontology_path: &str) -> bool {
    let folder = ontology_path.trim_matches('/');
    let path = match snapshot.notes.summary(id) {
        Some(summary) => summary.path,
        // The name of a placeholder is its path.
        None => snapshot.notes.graph().uri(id).as_str(),
    };
    // Fast path for ASCII, which covers nearly all paths.
    let is_plainly = || {
        let (above, rest) = path.split_at_checked(folder.len())?;
        above.eq_ignore_ascii_case(folder).then(|| rest.is_empty() || rest.starts_with('/'))
    };
    let is_below =
        || is_plainly().unwrap_or_else(|| !path.is_ascii() && is_below(&fold(path), &fold(folder)));
    !folder.is_empty() && is_below()
}
