//! Bounded search for cycles of links.

use std::collections::HashSet;

use weft_model::{NoteId, Stopped};

use super::components::strongly_connected_components;
use super::step::{Direction, EdgeRef};
use super::traversal::{Traversal, WalkOptions};
use super::{WalkError, by_uri};
use crate::NoteGraph;

/// Limits of the search for cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CycleLimits {
    /// Maximum number of edges in a cycle. It is part of the request: longer cycles do not count as truncation.
    pub max_length: u32,
    /// Maximum number of cycles.
    pub max_cycles: usize,
    /// Maximum number of edges examined, so that a dense graph cannot block a caller.
    pub max_steps: u64,
}

impl Default for CycleLimits {
    fn default() -> Self {
        Self { max_length: 6, max_cycles: 100, max_steps: 5_000_000 }
    }
}

/// A simple cycle of links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// Notes in link order, starting with the lowest uri.
    pub nodes: Vec<NoteId>,
    /// The least edge from each note to the next; the last edge returns to the first note.
    pub edges: Vec<EdgeRef>,
}

/// Cycles found in a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cycles {
    /// Cycles by the uri of their first note, then by steps in neighbor order.
    pub cycles: Vec<Cycle>,
    /// True if `max_cycles` omitted a cycle or `max_steps` ended the search.
    pub truncated: bool,
}

/// Returns the cycles of the links that `options` allow, each once. The direction in `options` is ignored. A self loop is a cycle of length 1.
///
/// Starts a depth-first search at every note on a cycle, lowest uri first, among notes with higher uris only, and prunes notes that cannot return to the start within the remaining length.
///
/// # Errors
///
/// Contradicting filters, or a stop.
pub fn cycles(
    graph: &NoteGraph,
    options: &WalkOptions,
    limits: &CycleLimits,
) -> Result<Cycles, WalkError> {
    let options = WalkOptions { direction: Direction::Out, ..options.clone() };
    let traversal = Traversal::new(graph, &options, &[])?;
    let starts = cyclic_notes(&traversal, options.hierarchy);
    let mut rank = vec![UNKNOWN; graph.n_slots()];
    for (id, at) in starts.iter().zip(0..) {
        rank[id.index()] = at;
    }
    let mut search = CycleSearch {
        traversal: &traversal,
        limits,
        rank,
        hops_back: vec![UNKNOWN; graph.n_slots()],
        n_steps: 0,
        stopped: None,
        answer: Cycles::default(),
    };
    for start in starts {
        traversal.check()?;
        if !search.find_cycles_from(start) {
            break;
        }
    }
    match search.stopped {
        Some(stopped) => Err(stopped.into()),
        None => Ok(search.answer),
    }
}

/// Returns the notes that may be on a cycle, by uri.
fn cyclic_notes(traversal: &Traversal<'_>, hierarchy: bool) -> Vec<NoteId> {
    let graph = traversal.graph;
    let is_loop = |id: NoteId| graph.outgoing(id).iter().any(|half| half.other == id);
    // The components cover links only; edges of the hierarchy could close a cycle anywhere.
    let notes: Vec<NoteId> = if hierarchy {
        graph.ids().collect()
    } else {
        strongly_connected_components(graph)
            .into_iter()
            .filter(|component| component.len() > 1 || component.iter().any(|id| is_loop(*id)))
            .flatten()
            .collect()
    };
    by_uri(graph, notes.into_iter().filter(|id| traversal.admits_note(*id)))
}

/// Marks a note without rank or number of hops.
const UNKNOWN: u32 = u32::MAX;

struct CycleSearch<'r> {
    traversal: &'r Traversal<'r>,
    limits: &'r CycleLimits,
    /// By slot, the rank by uri of each note that may be on a cycle.
    rank: Vec<u32>,
    /// By slot, the hops along links back to the current start, for the start and higher notes from which a cycle can close.
    hops_back: Vec<u32>,
    n_steps: u64,
    /// Set if the caller stopped the search.
    stopped: Option<Stopped>,
    answer: Cycles,
}

/// One note of the current path and its untried steps, the next one last.
struct Frame {
    note: NoteId,
    untried: Vec<(NoteId, EdgeRef)>,
}

impl CycleSearch<'_> {
    /// Finds the cycles whose lowest note is `start`; returns false if the search must end.
    fn find_cycles_from(&mut self, start: NoteId) -> bool {
        let (near, fits) = self.measure_hops_back(start);
        let goes_on = fits && self.close_cycles(start);
        for note in near {
            self.hops_back[note.index()] = UNKNOWN;
        }
        goes_on
    }

    /// Fills `hops_back` for `start`; returns the notes it filled in, and false if the search must end.
    fn measure_hops_back(&mut self, start: NoteId) -> (Vec<NoteId>, bool) {
        let least = self.rank[start.index()];
        let mut near = vec![start];
        self.hops_back[start.index()] = 0;
        let mut next = 0;
        while let Some(note) = near.get(next).copied() {
            let hops = self.hops_back[note.index()] + 1;
            if hops >= self.limits.max_length {
                break;
            }
            for step in self.traversal.steps_unordered(note, Direction::In) {
                let at = step.other.index();
                if self.rank[at] != UNKNOWN
                    && self.rank[at] > least
                    && self.hops_back[at] == UNKNOWN
                {
                    self.hops_back[at] = hops;
                    near.push(step.other);
                }
            }
            if !self.count_steps(note, Direction::In) {
                return (near, false);
            }
            next += 1;
        }
        (near, true)
    }

    /// Follows links from `start` along notes that can return to it; returns false if the search must end.
    fn close_cycles(&mut self, start: NoteId) -> bool {
        let mut on_walk = HashSet::from([start]);
        let mut edges: Vec<EdgeRef> = Vec::new();
        let Some(untried) = self.steps(start, 1) else { return false };
        let mut stack = vec![Frame { note: start, untried }];
        while let Some(frame) = stack.last_mut() {
            let Some((next, edge)) = frame.untried.pop() else {
                on_walk.remove(&frame.note);
                stack.pop();
                edges.pop();
                continue;
            };
            if next == start {
                if self.answer.cycles.len() >= self.limits.max_cycles {
                    self.answer.truncated = true;
                    return false;
                }
                let nodes = stack.iter().map(|frame| frame.note).collect();
                let edges = edges.iter().copied().chain([edge]).collect();
                self.answer.cycles.push(Cycle { nodes, edges });
            } else if on_walk.insert(next) {
                let nth = u32::try_from(stack.len() + 1).unwrap_or(UNKNOWN);
                let Some(untried) = self.steps(next, nth) else { return false };
                stack.push(Frame { note: next, untried });
                edges.push(edge);
            }
        }
        true
    }

    /// Returns the least step to each note that can return to the start if the step is the `nth` edge; `None` if the search must end.
    fn steps(&mut self, note: NoteId, nth: u32) -> Option<Vec<(NoteId, EdgeRef)>> {
        let closes = |note: NoteId| {
            let hops = self.hops_back[note.index()];
            hops != UNKNOWN && nth.saturating_add(hops) <= self.limits.max_length
        };
        let mut met = HashSet::new();
        let mut found = Vec::new();
        let mut steps = self.traversal.steps(note);
        while let Some(step) =
            steps.next(|step| self.traversal.admits_label(step.label) && closes(step.other))
        {
            if met.insert(step.other) {
                found.push((step.other, step.edge()));
            }
        }
        found.reverse();
        self.count_steps(note, Direction::Out).then_some(found)
    }

    /// Counts the edges of `note` as examined; returns false if a limit is exceeded.
    fn count_steps(&mut self, note: NoteId, direction: Direction) -> bool {
        self.n_steps += self.traversal.n_edges(note, direction) as u64;
        let fits = self.n_steps <= self.limits.max_steps;
        self.answer.truncated |= !fits;
        self.stopped = self.traversal.check().err();
        fits && self.stopped.is_none()
    }
}
