//! Edges among given notes.

use weft_model::{NoteBits, NoteId};

use super::step::{Direction, EdgeRef};
use super::traversal::{Traversal, WalkOptions};
use super::{WalkError, known};
use crate::NoteGraph;

/// Given notes and every edge among them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subgraph {
    /// Notes in the requested order, without duplicates.
    pub nodes: Vec<NoteId>,
    /// Edges with both ends in `nodes`, by origin, then in neighbor order.
    pub edges: Vec<EdgeRef>,
    /// True if `max_edges` omitted an edge.
    pub truncated: bool,
}

/// Returns the subgraph that `notes` induce, with at most `max_edges` edges.
///
/// Only the edge filter and `hierarchy` of `options` apply: the notes are named explicitly, and every edge among them counts in either direction.
///
/// # Errors
///
/// An unknown note, or contradicting filters.
pub fn subgraph(
    graph: &NoteGraph,
    notes: &[NoteId],
    options: &WalkOptions,
    max_edges: Option<usize>,
) -> Result<Subgraph, WalkError> {
    let options = WalkOptions { direction: Direction::Out, ..options.clone() };
    let traversal = Traversal::new(graph, &options, notes)?;
    let mut inside = NoteBits::default();
    let mut answer = Subgraph::default();
    for note in notes {
        if inside.insert(known(graph, *note)?) {
            answer.nodes.push(*note);
        }
    }
    for note in &answer.nodes {
        traversal.check()?;
        let mut steps = traversal.steps(*note);
        while let Some(step) =
            steps.next(|step| inside.contains(step.other) && traversal.admits_label(step.label))
        {
            if max_edges.is_some_and(|limit| answer.edges.len() >= limit) {
                answer.truncated = true;
                return Ok(answer);
            }
            answer.edges.push(step.edge());
        }
    }
    Ok(answer)
}
