//! The edges among given notes.

use weft_model::{NoteBits, NoteId};

use super::follow::{Follow, Rules};
use super::step::{Direction, EdgeRef};
use super::{WalkError, known};
use crate::NoteGraph;

/// Given notes and every edge among them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subgraph {
    /// The notes in the order asked for, without repeats.
    pub nodes: Vec<NoteId>,
    /// Edges with both ends in `nodes`, by origin, then in neighbour order.
    pub edges: Vec<EdgeRef>,
    /// Whether `max_edges` kept an edge back.
    pub truncated: bool,
}

/// The subgraph that `notes` induce, at most `max_edges` edges of it.
///
/// Of `follow` only the edge filter and `hierarchy` count: the notes are named, and an edge among them has no direction to miss.
///
/// # Errors
///
/// A note that is none, or filters that exclude each other.
pub fn subgraph(
    graph: &NoteGraph,
    notes: &[NoteId],
    follow: &Follow,
    max_edges: Option<usize>,
) -> Result<Subgraph, WalkError> {
    let follow = Follow { direction: Direction::Out, ..follow.clone() };
    let rules = Rules::new(graph, &follow, notes)?;
    let mut inside = NoteBits::default();
    let mut answer = Subgraph::default();
    for note in notes {
        if inside.insert(known(graph, *note)?) {
            answer.nodes.push(*note);
        }
    }
    for note in &answer.nodes {
        rules.check()?;
        let mut steps = rules.steps(*note);
        while let Some(step) =
            steps.next(|step| inside.contains(step.other) && rules.label(step.label))
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
