//! Topics of the best hits, and the notes that share them, at a cost that does not grow with a topic's degree.

use std::collections::HashSet;

use weft_graph::NoteGraph;
use weft_graph::topics::{is_hub, sibling_score};
use weft_index::Snapshot;
use weft_model::{NoteId, NoteMap, NoteSet, fold};

use super::links::first_that;
use super::question::Question;
use crate::EngineSettings;
use crate::filter::is_below;
use crate::settings::TopicSettings;

/// The topics of some hits. Each topic is known once, however many hits share it.
pub(super) struct Topics<'s> {
    graph: &'s NoteGraph,
    hits: Vec<Surroundings>,
    /// Those that give most first, ties by uri.
    topics: Vec<Topic>,
    by_note: NoteMap<usize>,
    fanout: usize,
}

/// A hit among its links.
struct Surroundings {
    hit: NoteId,
    /// The other ends of its first links.
    neighbours: HashSet<NoteId>,
    /// Whether it has more links than that.
    is_cut: bool,
}

/// A topic that hits are linked with.
struct Topic {
    note: NoteId,
    /// What it gives notes that share it.
    score: f64,
    /// The hits, by position, ascending.
    hits: Vec<usize>,
}

/// The notes to which the topics of one hit lead.
#[derive(Default)]
pub(super) struct Siblings {
    /// Each once, with the score of the best topic it shares with the hit.
    pub(super) notes: NoteMap<f64>,
    /// Topics of which only some links were followed.
    pub(super) capped: Vec<NoteId>,
}

impl<'s> Topics<'s> {
    /// The topics of `hits`, which are looked for among the first links of each, as many as are followed.
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
        let mut surroundings = Vec::with_capacity(hits.len());
        for (at, hit) in hits.iter().enumerate() {
            let mut links = neighbours(snapshot, *hit);
            let first = links.by_ref().take(fanout);
            let neighbours: HashSet<NoteId> = first.filter(|id| id != hit).collect();
            let topics = neighbours.iter().copied().filter(|id| {
                is_hub(graph, *id, *hub_min_degree) || is_in(snapshot, *id, ontology_path)
            });
            for topic in topics {
                found.entry(topic).or_default().push(at);
            }
            let is_cut = links.next().is_some();
            surroundings.push(Surroundings { hit: *hit, neighbours, is_cut });
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
        Self { graph, hits: surroundings, topics, by_note, fanout }
    }

    /// The notes to which the topics of the hit at this position lead, those those that give most first: over as many of all their links to notes that may be hits as are followed from one hit.
    pub(super) fn siblings(&self, at: usize, question: &Question<'_>) -> Siblings {
        let own = &self.hits[at];
        let mut siblings = Siblings::default();
        let mut room = self.fanout;
        for topic in self.topics.iter().filter(|topic| topic.hits.contains(&at)) {
            let inbound = self.graph.inbound(topic.note).iter().map(|half| half.other);
            let (first, is_cut) =
                first_that(inbound, room, |id| *id != topic.note && question.passes(*id));
            if is_cut {
                siblings.capped.push(topic.note);
            }
            room -= first.len();
            for id in first.into_iter().filter(|id| self.are_strangers(own, *id)) {
                siblings.notes.entry(id).or_insert(topic.score);
            }
        }
        siblings
    }

    /// The hits with which `note` shares a topic and no link, by position, each with the score of the best topic they share.
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
            .filter(|(at, score)| *score > 0.0 && self.are_strangers(&self.hits[*at], note))
            .collect()
    }

    /// Whether no link joins them. What a link joins already, a topic need not.
    fn are_strangers(&self, own: &Surroundings, note: NoteId) -> bool {
        let Surroundings { hit, neighbours, is_cut } = own;
        note != *hit
            && !neighbours.contains(&note)
            && (!is_cut || !self.graph.are_linked(*hit, note))
    }
}

/// The other ends of a note's links, outgoing ones first.
fn neighbours(snapshot: &Snapshot, id: NoteId) -> impl Iterator<Item = NoteId> {
    let graph = snapshot.notes.graph();
    graph.outgoing(id).iter().chain(graph.inbound(id)).map(|half| half.other)
}

/// The neighbours of `id` that lie under the ontology's path, by whole segments; none where the path is empty.
pub(crate) fn ontology_around(snapshot: &Snapshot, id: NoteId, ontology_path: &str) -> NoteSet {
    neighbours(snapshot, id).filter(|id| is_in(snapshot, *id, ontology_path)).collect()
}

/// Whether a note lies under the ontology's path, in any case.
fn is_in(snapshot: &Snapshot, id: NoteId, ontology_path: &str) -> bool {
    let folder = ontology_path.trim_matches('/');
    let path = match snapshot.notes.card(id) {
        Some(card) => card.path,
        // A placeholder lies where its name says.
        None => snapshot.notes.graph().uri(id).as_str(),
    };
    // Nearly all paths are ASCII, for which nothing need be folded.
    let is_plainly = || {
        let (above, rest) = path.split_at_checked(folder.len())?;
        above.eq_ignore_ascii_case(folder).then(|| rest.is_empty() || rest.starts_with('/'))
    };
    let is_below =
        || is_plainly().unwrap_or_else(|| !path.is_ascii() && is_below(&fold(path), &fold(folder)));
    !folder.is_empty() && is_below()
}
