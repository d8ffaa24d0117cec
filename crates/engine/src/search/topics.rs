//! Topic siblings of a hit.

use std::collections::HashSet;

use weft_graph::topics::{SiblingRequest, topic_siblings};
use weft_index::Snapshot;
use weft_model::{NoteId, NoteSet};

use crate::EngineSettings;
use crate::filter::is_below;
use crate::settings::TopicSettings;

/// Notes that share a topic with a hit.
pub(super) struct Shared {
    /// Each with its sibling score, best first.
    pub(super) shared: Vec<(NoteId, f64)>,
    /// Whose neighbours the fan-out kept back.
    pub(super) capped: Vec<NoteId>,
}

/// The notes that share a topic with `hit` and may be hits. Topics are looked for among its first links, as many as are followed.
pub(super) fn siblings_of(
    snapshot: &Snapshot,
    hit: NoteId,
    passing: &NoteSet,
    settings: &EngineSettings,
) -> Shared {
    let TopicSettings { ontology_path, hub_min_degree, sibling_score, siblings_activate: _ } =
        &settings.topics;
    let mut met = HashSet::from([hit]);
    let mut first: Vec<NoteId> = neighbours(snapshot, hit).take(settings.fanout).collect();
    first.retain(|id| met.insert(*id));
    let ontology = in_ontology(snapshot, first.iter().copied(), ontology_path);
    let request = SiblingRequest {
        hub_min_degree: *hub_min_degree,
        sibling_score: *sibling_score,
        notes: passing,
        max_fanout: settings.fanout,
        ..SiblingRequest::of(hit, &ontology)
    };
    let found = topic_siblings(snapshot.notes.graph(), &request, first.into_iter());
    // What a link joins already, a topic need not.
    let shared = found.siblings.iter().filter(|near| !met.contains(&near.note));
    Shared { shared: shared.map(|near| (near.note, near.score)).collect(), capped: found.capped }
}

/// The other ends of a note's links, outgoing ones first.
fn neighbours(snapshot: &Snapshot, id: NoteId) -> impl Iterator<Item = NoteId> {
    let graph = snapshot.notes.graph();
    graph.outgoing(id).iter().chain(graph.inbound(id)).map(|half| half.other)
}

/// The neighbours of `id` that lie under the ontology's path, by whole segments; none where the path is empty.
pub(crate) fn ontology_around(snapshot: &Snapshot, id: NoteId, ontology_path: &str) -> NoteSet {
    in_ontology(snapshot, neighbours(snapshot, id), ontology_path)
}

fn in_ontology(
    snapshot: &Snapshot,
    ids: impl Iterator<Item = NoteId>,
    ontology_path: &str,
) -> NoteSet {
    let folder = ontology_path.trim_matches('/');
    let graph = snapshot.notes.graph();
    let is_topic = |id: &NoteId| {
        let path = match snapshot.notes.entry(*id) {
            Some(entry) => entry.note.path.as_str(),
            // A placeholder lies where its name says.
            None => graph.uri(*id).as_str(),
        };
        !folder.is_empty() && is_below(path, folder)
    };
    ids.filter(is_topic).collect()
}
