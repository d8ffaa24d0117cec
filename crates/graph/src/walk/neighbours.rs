//! One hop around a note, with degrees.

use weft_model::{NoteBits, NoteId, NoteMap};

use super::follow::{Follow, Rules};
use super::step::EdgeRef;
use super::{WalkError, known};
use crate::{Degrees, NoteGraph};

/// A note one hop away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// The note.
    pub note: NoteId,
    /// How many notes it is linked with itself, placeholders included.
    pub degrees: Degrees,
    /// The eligible edges to it, as stored, in neighbour order; at least one.
    pub edges: Vec<EdgeRef>,
}

/// One hop around a note.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbours {
    /// How many notes it is linked with in all, whatever was asked for.
    pub degrees: Degrees,
    /// Its neighbours in neighbour order of their first edges. A self loop makes none.
    pub neighbours: Vec<Neighbour>,
    /// Whether `max_nodes` kept a neighbour back.
    pub truncated: bool,
}

/// The neighbours of `note`, at most `max_nodes` of them.
///
/// # Errors
///
/// A note that is none, or filters that exclude each other.
pub fn neighbours(
    graph: &NoteGraph,
    note: NoteId,
    follow: &Follow,
    max_nodes: Option<usize>,
) -> Result<Neighbours, WalkError> {
    let rules = Rules::new(graph, follow, &[known(graph, note)?])?;
    let mut answer = Neighbours { degrees: graph.degrees(note), ..Neighbours::default() };
    let mut admitted = NoteBits::default();
    let mut position: NoteMap<usize> = NoteMap::default();
    let mut steps = rules.steps(note);
    // Once one neighbour was refused, only further edges to admitted ones are of interest.
    while let Some(step) = steps.next(|step| {
        step.other != note
            && (admitted.contains(step.other) || (!answer.truncated && rules.note(step.other)))
            && rules.label(step.label)
    }) {
        let is_full = max_nodes.is_some_and(|limit| answer.neighbours.len() >= limit);
        match position.get(&step.other) {
            Some(at) => answer.neighbours[*at].edges.push(step.edge()),
            None if is_full => answer.truncated = true,
            None => {
                admitted.insert(step.other);
                position.insert(step.other, answer.neighbours.len());
                answer.neighbours.push(Neighbour {
                    note: step.other,
                    degrees: graph.degrees(step.other),
                    edges: vec![step.edge()],
                });
            }
        }
    }
    Ok(answer)
}
