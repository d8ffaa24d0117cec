//! Neighbors of a note, with degrees.

use weft_model::{NoteBits, NoteId, NoteMap};

use super::step::EdgeRef;
use super::traversal::{Traversal, WalkOptions};
use super::{WalkError, known};
use crate::{Degrees, NoteGraph};

/// A note one hop away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeighborNode {
    /// The note.
    pub note: NoteId,
    /// Degrees of the neighbor, placeholders included.
    pub degrees: Degrees,
    /// Eligible edges to it, as stored, in neighbor order; at least one.
    pub edges: Vec<EdgeRef>,
}

/// Neighbors of a note.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighborhood {
    /// Degrees of the note itself, independent of the filters.
    pub degrees: Degrees,
    /// Neighbors in the order of their first edges. A self loop does not make a note its own neighbor.
    pub neighbors: Vec<NeighborNode>,
    /// True if `max_nodes` omitted a neighbor.
    pub truncated: bool,
}

/// Returns the neighbors of `note`, at most `max_nodes` of them.
///
/// # Errors
///
/// An unknown note, or contradicting filters.
pub fn neighbors(
    graph: &NoteGraph,
    note: NoteId,
    options: &WalkOptions,
    max_nodes: Option<usize>,
) -> Result<Neighborhood, WalkError> {
    let traversal = Traversal::new(graph, options, &[known(graph, note)?])?;
    let mut answer = Neighborhood { degrees: graph.degrees(note), ..Neighborhood::default() };
    let mut admitted = NoteBits::default();
    let mut position: NoteMap<usize> = NoteMap::default();
    let mut steps = traversal.steps(note);
    // Once one neighbor was refused, only further edges to admitted neighbors matter.
    while let Some(step) = steps.next(|step| {
        step.other != note
            && (admitted.contains(step.other)
                || (!answer.truncated && traversal.admits_note(step.other)))
            && traversal.admits_label(step.label)
    }) {
        let is_full = max_nodes.is_some_and(|limit| answer.neighbors.len() >= limit);
        match position.get(&step.other) {
            Some(at) => answer.neighbors[*at].edges.push(step.edge()),
            None if is_full => answer.truncated = true,
            None => {
                admitted.insert(step.other);
                position.insert(step.other, answer.neighbors.len());
                answer.neighbors.push(NeighborNode {
                    note: step.other,
                    degrees: graph.degrees(step.other),
                    edges: vec![step.edge()],
                });
            }
        }
    }
    Ok(answer)
}
