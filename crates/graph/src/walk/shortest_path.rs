//! Shortest path between two notes.

use weft_model::{NoteBits, NoteId, Stopped};

use super::bfs_frontier::BfsFrontier;
use super::step::EdgeRef;
use super::traversal::{Traversal, WalkOptions};
use super::{WalkError, known};
use crate::NoteGraph;

/// Default maximum number of hops of a path.
///
/// Source: graph traversal design, "Path".
pub const DEFAULT_PATH_HOPS: u32 = 10;

/// Request for a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathRequest {
    /// Start of the path.
    pub from: NoteId,
    /// End of the path.
    pub to: NoteId,
    /// Edges and notes to follow. Both ends are exempt from the note filter.
    pub follow: WalkOptions,
    /// Maximum number of hops; `None` for no limit.
    pub max_hops: Option<u32>,
}

impl PathRequest {
    /// Returns a request for a path between two notes with all defaults: both directions, ten hops, all edges.
    #[must_use]
    pub fn between(from: NoteId, to: NoteId) -> Self {
        Self { from, to, follow: WalkOptions::default(), max_hops: Some(DEFAULT_PATH_HOPS) }
    }
}

/// A path, empty if none was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkPath {
    /// Notes from start to end; empty if none was found.
    pub nodes: Vec<NoteId>,
    /// Edges between them, as stored.
    pub edges: Vec<EdgeRef>,
    /// True if `max_hops` excluded a path: a longer path exists (for a cheapest path: a cheaper one).
    pub truncated: bool,
}

impl LinkPath {
    /// Returns true if a path within the limits exists.
    #[must_use]
    pub const fn found(&self) -> bool {
        !self.nodes.is_empty()
    }

    /// Returns the number of hops; also 0 if no path was found.
    #[must_use]
    pub const fn length(&self) -> usize {
        self.edges.len()
    }
}

/// Returns the shortest path that a breadth-first search in neighbor order finds first: the least sequence of steps among all shortest paths.
///
/// A bidirectional breadth-first search finds the length and the notes on shortest paths; then each hop takes the least step among those.
/// This is exact because the uri in the key of a step determines the note it leads to: two different paths differ in the key of the step at which they part.
///
/// # Errors
///
/// An end that is not a note, contradicting filters, or a stop.
pub fn shortest_path(graph: &NoteGraph, request: &PathRequest) -> Result<LinkPath, WalkError> {
    let PathRequest { from, to, follow, max_hops } = request;
    let ends = [known(graph, *from)?, known(graph, *to)?];
    let traversal = Traversal::new(graph, follow, &ends)?;
    let Some(stages) = stages(&traversal, *from, *to)? else { return Ok(LinkPath::default()) };
    if max_hops.is_some_and(|limit| stages.len() - 1 > limit as usize) {
        return Ok(LinkPath { truncated: true, ..LinkPath::default() });
    }
    let mut path = LinkPath { nodes: vec![*from], ..LinkPath::default() };
    let mut at = *from;
    for stage in &stages[1..] {
        let stage: NoteBits = stage.iter().copied().collect();
        let least = traversal
            .steps(at)
            .next(|step| stage.contains(step.other) && traversal.admits_label(step.label))
            .expect("each stage is one eligible edge from the previous one");
        path.edges.push(least.edge());
        path.nodes.push(least.other);
        at = least.other;
    }
    Ok(path)
}

/// Returns, by hops from the start, the notes from which the end is exactly the remaining hops away; `None` if there is no path.
///
/// Notes of a stage that the start does not reach are harmless: no step leads to them.
fn stages(
    traversal: &Traversal<'_>,
    from: NoteId,
    to: NoteId,
) -> Result<Option<Vec<Vec<NoteId>>>, Stopped> {
    let mut forward = BfsFrontier::new(traversal, from, traversal.direction);
    let mut backward = BfsFrontier::new(traversal, to, traversal.direction.reversed());
    let mut met: Vec<NoteId> = if from == to { vec![from] } else { Vec::new() };
    while met.is_empty() {
        let (near, far) = if forward.cost() <= backward.cost() {
            (&mut forward, &backward)
        } else {
            (&mut backward, &forward)
        };
        if !near.advance()? {
            return Ok(None);
        }
        // If one of these were in an earlier level of the other search, the searches would have met before.
        met = near.frontier().iter().copied().filter(|note| far.seen.contains(*note)).collect();
    }
    backward.levels.pop();
    backward.levels.reverse();
    forward.levels.pop();

    let mut stages = vec![met];
    for level in forward.levels.iter().rev() {
        let nearer: NoteBits = stages.last().into_iter().flatten().copied().collect();
        let mut stage = Vec::new();
        for note in level {
            traversal.check()?;
            let mut steps = traversal.steps_unordered(*note, traversal.direction);
            if steps.any(|step| nearer.contains(step.other)) {
                stage.push(*note);
            }
        }
        stages.push(stage);
    }
    stages.reverse();
    stages.extend(backward.levels);
    Ok(Some(stages))
}
