//! The cheapest path between two notes: a strategy that has to be asked for.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use weft_model::{LinkSource, NoteId};

use super::follow::Rules;
use super::path::{Path, PathRequest};
use super::step::{EdgeRef, Label};
use super::{WalkError, known};
use crate::NoteGraph;

/// What an edge costs by its source. Whole numbers, so that sums are exact in any order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeCosts {
    /// A typed edge.
    pub typed: u32,
    /// An inline edge.
    pub inline: u32,
    /// An edge of the hierarchy.
    pub hierarchy: u32,
}

impl Default for EdgeCosts {
    /// Inverse to the edge weights 1.5 (typed) and 1.0 (inline); the hierarchy counts as typed.
    ///
    /// Source: search design, "Graph signals".
    fn default() -> Self {
        Self { typed: 2, inline: 3, hierarchy: 2 }
    }
}

impl EdgeCosts {
    /// What an edge with this label costs.
    #[must_use]
    pub const fn of(&self, label: Label) -> u32 {
        match label {
            Label::Link { source: LinkSource::Typed, .. } => self.typed,
            Label::Link { source: LinkSource::Inline, .. } => self.inline,
            Label::Hierarchy => self.hierarchy,
        }
    }
}

/// What is left to go: cost, then hops.
type ToGo = (u64, u32);

/// The cheapest path; among equally cheap ones the shortest, then the least sequence of steps.
///
/// `cost` is that of following an edge to the note it is followed to, so it can charge for edges, for notes, or both; it must be pure.
/// `O(edges · log edges)` for each distinct number of hops that pays off.
///
/// # Errors
///
/// As [`path`](super::path()).
pub fn cheapest_path(
    graph: &NoteGraph,
    request: &PathRequest,
    cost: impl Fn(EdgeRef, NoteId) -> u32,
) -> Result<Path, WalkError> {
    let PathRequest { from, to, follow, max_hops } = request;
    let ends = [known(graph, *from)?, known(graph, *to)?];
    let rules = Rules::new(graph, follow, &ends)?;
    let backwards = follow.direction.reversed();

    // From the end backwards: per note every pair of cost and hops that no other pair beats in both.
    let mut settled: Vec<Vec<ToGo>> = vec![Vec::new(); graph.n_slots()];
    let is_beaten =
        |unbeaten: &[ToGo], hops| unbeaten.last().is_some_and(|(_, fewest)| *fewest <= hops);
    let mut queue = BinaryHeap::from([Reverse(((0, 0), *to))]);
    let (mut start, mut truncated) = (None, false);
    while let Some(Reverse(((to_go, hops), note))) = queue.pop() {
        rules.check()?;
        if is_beaten(&settled[note.index()], hops) {
            continue;
        }
        settled[note.index()].push((to_go, hops));
        if note == *from {
            if max_hops.is_none_or(|limit| hops <= limit) {
                start = Some((to_go, hops));
                break;
            }
            truncated = true;
        }
        // Once it is known that a cheaper path is too long, only what fits is of interest.
        if truncated && max_hops.is_some_and(|limit| hops >= limit) {
            continue;
        }
        for step in rules.steps_unordered(note, backwards).filter(|step| rules.note(step.other)) {
            if !is_beaten(&settled[step.other.index()], hops + 1) {
                let further = (to_go + u64::from(cost(step.edge(), note)), hops + 1);
                queue.push(Reverse((further, step.other)));
            }
        }
    }
    let Some(mut left) = start else { return Ok(Path { truncated, ..Path::default() }) };

    let mut path = Path { nodes: vec![*from], edges: Vec::new(), truncated };
    let mut at = *from;
    while left.1 > 0 {
        // A pair on an unbeaten path is unbeaten itself, so the exact remainder is among the settled ones.
        let rest = |edge, other: NoteId| {
            let to_go = left.0.checked_sub(u64::from(cost(edge, other)))?;
            let rest = (to_go, left.1 - 1);
            settled[other.index()].contains(&rest).then_some(rest)
        };
        let least = rules
            .steps(at)
            .next(|step| rules.label(step.label) && rest(step.edge(), step.other).is_some())
            .expect("each settled pair came over an eligible edge");
        left = rest(least.edge(), least.other).expect("the step was kept for it");
        path.edges.push(least.edge());
        path.nodes.push(least.other);
        at = least.other;
    }
    Ok(path)
}
