//! Notes without links, and links without a target.

use weft_model::{NoteId, NoteSet};

use super::by_uri;
use super::step::{Direction, Side};
use crate::{HalfEdge, NoteGraph};

/// A placeholder and the notes that link to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnresolvedTarget {
    /// The placeholder.
    pub target: NoteId,
    /// Notes that link to it, by uri, each once.
    pub from: Vec<NoteId>,
}

/// Returns the notes of `notes` that have no link from or to another note in `direction`, by uri.
///
/// Links to placeholders and to the note itself do not count. `O(nodes)`, plus the edges of notes that link to placeholders only.
#[must_use]
pub fn orphans(graph: &NoteGraph, direction: Direction, notes: &NoteSet) -> Vec<NoteId> {
    let is_alone = |id: NoteId| {
        let connects = |half: &HalfEdge| half.other != id && !graph.is_placeholder(half.other);
        let touched =
            |side, list: &[HalfEdge]| direction.follows(side) && list.iter().any(connects);
        !touched(Side::Outgoing, graph.outgoing(id)) && !touched(Side::Incoming, graph.inbound(id))
    };
    let is_orphan =
        |id: &NoteId| notes.contains(*id) && !graph.is_placeholder(*id) && is_alone(*id);
    by_uri(graph, graph.ids().filter(is_orphan))
}

/// Returns the placeholders that a note of `notes` links to, by uri. `O(nodes + edges to placeholders)`.
#[must_use]
pub fn unresolved(graph: &NoteGraph, notes: &NoteSet) -> Vec<UnresolvedTarget> {
    let targets = by_uri(graph, graph.ids().filter(|id| graph.is_placeholder(*id)));
    targets
        .into_iter()
        .map(|target| {
            let asking = graph.inbound(target).iter().map(|half| half.other);
            let mut from = by_uri(graph, asking.filter(|id| notes.contains(*id)));
            from.dedup();
            UnresolvedTarget { target, from }
        })
        .filter(|unanswered| !unanswered.from.is_empty())
        .collect()
}
