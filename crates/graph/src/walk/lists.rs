//! Notes that no link touches, and names that no note answers to.

use weft_model::{NoteId, NoteSet};

use super::by_uri;
use super::step::{Direction, Side};
use crate::{Half, NoteGraph};

/// A placeholder and who asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// The placeholder.
    pub target: NoteId,
    /// The notes that link to it, by uri, each once.
    pub from: Vec<NoteId>,
}

/// The notes of `notes` without a link from or to another note in `direction`, by uri.
///
/// A link to a placeholder or to the note itself connects it with nothing. `O(nodes)`, and the edges of notes that link to placeholders only.
#[must_use]
pub fn orphans(graph: &NoteGraph, direction: Direction, notes: &NoteSet) -> Vec<NoteId> {
    let is_alone = |id: NoteId| {
        let connects = |half: &Half| half.other != id && !graph.is_placeholder(half.other);
        let touched = |side, list: &[Half]| direction.follows(side) && list.iter().any(connects);
        !touched(Side::Outgoing, graph.outgoing(id)) && !touched(Side::Incoming, graph.inbound(id))
    };
    let is_orphan =
        |id: &NoteId| notes.contains(*id) && !graph.is_placeholder(*id) && is_alone(*id);
    by_uri(graph, graph.ids().filter(is_orphan))
}

/// The placeholders that a note of `notes` links to, by uri. `O(nodes + edges to placeholders)`.
#[must_use]
pub fn unresolved(graph: &NoteGraph, notes: &NoteSet) -> Vec<Unanswered> {
    let targets = by_uri(graph, graph.ids().filter(|id| graph.is_placeholder(*id)));
    targets
        .into_iter()
        .map(|target| {
            let asking = graph.inbound(target).iter().map(|half| half.other);
            let mut from = by_uri(graph, asking.filter(|id| notes.contains(*id)));
            from.dedup();
            Unanswered { target, from }
        })
        .filter(|unanswered| !unanswered.from.is_empty())
        .collect()
}
