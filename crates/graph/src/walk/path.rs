//! The least of all shortest paths between two notes.

use weft_model::{NoteBits, NoteId, Stopped};

use super::follow::{Follow, Rules};
use super::step::EdgeRef;
use super::wave::Wave;
use super::{WalkError, known};
use crate::NoteGraph;

/// Hops of a path where the caller names no number.
///
/// Source: graph traversal design, "Path".
pub const DEFAULT_PATH_HOPS: u32 = 10;

/// What path is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathRequest {
    /// Where it starts.
    pub from: NoteId,
    /// Where it ends.
    pub to: NoteId,
    /// What is followed. Both ends are exempt from the note filter.
    pub follow: Follow,
    /// Its greatest length; nothing means no limit.
    pub max_hops: Option<u32>,
}

impl PathRequest {
    /// The path between two notes with all defaults: both directions, ten hops, all edges.
    #[must_use]
    pub fn between(from: NoteId, to: NoteId) -> Self {
        Self { from, to, follow: Follow::default(), max_hops: Some(DEFAULT_PATH_HOPS) }
    }
}

/// A path, or that there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// The notes from start to end; empty when none was found.
    pub nodes: Vec<NoteId>,
    /// The edges between them, as stored.
    pub edges: Vec<EdgeRef>,
    /// Whether `max_hops` kept a path back: without it there is one (for a cheapest path: a cheaper one).
    pub truncated: bool,
}

impl Path {
    /// Whether there is a path within the limits.
    #[must_use]
    pub const fn found(&self) -> bool {
        !self.nodes.is_empty()
    }

    /// The number of hops; 0 also when none was found.
    #[must_use]
    pub const fn length(&self) -> usize {
        self.edges.len()
    }
}

/// The shortest path that a breadth-first search in neighbour order finds first: the least sequence of steps among all shortest ones.
///
/// Two waves, one from each end, find the length and the notes that lie on shortest paths; then the least step among those is taken at each hop.
/// That is exact because the uri in a step's key settles the note it leads to: two different paths differ in the key of the step where they part.
///
/// # Errors
///
/// An end that is no note, filters that exclude each other, or a stop.
pub fn path(graph: &NoteGraph, request: &PathRequest) -> Result<Path, WalkError> {
    let PathRequest { from, to, follow, max_hops } = request;
    let ends = [known(graph, *from)?, known(graph, *to)?];
    let rules = Rules::new(graph, follow, &ends)?;
    let Some(stages) = stages(&rules, *from, *to)? else { return Ok(Path::default()) };
    if max_hops.is_some_and(|limit| stages.len() - 1 > limit as usize) {
        return Ok(Path { truncated: true, ..Path::default() });
    }
    let mut path = Path { nodes: vec![*from], ..Path::default() };
    let mut at = *from;
    for stage in &stages[1..] {
        let stage: NoteBits = stage.iter().copied().collect();
        let least = rules
            .steps(at)
            .next(|step| stage.contains(step.other) && rules.label(step.label))
            .expect("each stage is one eligible edge from the one before");
        path.edges.push(least.edge());
        path.nodes.push(least.other);
        at = least.other;
    }
    Ok(path)
}

/// By hops from the start, the notes from which the end is exactly the remaining hops away; nothing when there is no path.
///
/// Notes of a stage that the start does not reach are harmless: no step leads to them.
fn stages(
    rules: &Rules<'_>,
    from: NoteId,
    to: NoteId,
) -> Result<Option<Vec<Vec<NoteId>>>, Stopped> {
    let mut forth = Wave::new(rules, from, rules.direction);
    let mut back = Wave::new(rules, to, rules.direction.reversed());
    let mut met: Vec<NoteId> = if from == to { vec![from] } else { Vec::new() };
    while met.is_empty() {
        let (near, far) =
            if forth.cost() <= back.cost() { (&mut forth, &back) } else { (&mut back, &forth) };
        if !near.advance()? {
            return Ok(None);
        }
        // Had one of these been in an earlier level of the other wave, the waves would have met before.
        met = near.front().iter().copied().filter(|note| far.seen.contains(*note)).collect();
    }
    back.levels.pop();
    back.levels.reverse();
    forth.levels.pop();

    let mut stages = vec![met];
    for level in forth.levels.iter().rev() {
        let nearer: NoteBits = stages.last().into_iter().flatten().copied().collect();
        let mut stage = Vec::new();
        for note in level {
            rules.check()?;
            let mut steps = rules.steps_unordered(*note, rules.direction);
            if steps.any(|step| nearer.contains(step.other)) {
                stage.push(*note);
            }
        }
        stages.push(stage);
    }
    stages.reverse();
    stages.extend(back.levels);
    Ok(Some(stages))
}
