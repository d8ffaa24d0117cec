//! Closed walks along links, bounded.

use std::collections::HashSet;

use petgraph::algo::kosaraju_scc;
use weft_model::{NoteId, Stopped};

use super::follow::{Follow, Rules};
use super::step::{Direction, EdgeRef};
use super::{WalkError, by_uri};
use crate::NoteGraph;

/// How far the search for cycles goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CycleLimits {
    /// The greatest number of edges in a cycle: part of the question, so longer ones do not count as kept back.
    pub max_length: u32,
    /// At most so many cycles.
    pub max_cycles: usize,
    /// At most so many edges looked at, so that a dense graph cannot hold a caller up.
    pub max_steps: u64,
}

impl Default for CycleLimits {
    fn default() -> Self {
        Self { max_length: 6, max_cycles: 100, max_steps: 5_000_000 }
    }
}

/// A closed walk along links, no note twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// Its notes from the one with the least uri on, along the links.
    pub nodes: Vec<NoteId>,
    /// The least edge from each note to the next, the last one back to the first.
    pub edges: Vec<EdgeRef>,
}

/// Cycles, and whether there may be more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cycles {
    /// By the uri of their first note, then by steps in neighbour order.
    pub cycles: Vec<Cycle>,
    /// Whether `max_cycles` kept a cycle back, or `max_steps` ended the search.
    pub truncated: bool,
}

/// The cycles along links that `follow` allows, each once; its direction does not count. A self loop is a cycle of length 1.
///
/// From every note that lies on some cycle, least uri first, a depth-first search among greater notes that only goes where it can still come back in time.
///
/// # Errors
///
/// Filters that exclude each other, or a stop.
pub fn cycles(
    graph: &NoteGraph,
    follow: &Follow,
    limits: &CycleLimits,
) -> Result<Cycles, WalkError> {
    let follow = Follow { direction: Direction::Out, ..follow.clone() };
    let rules = Rules::new(graph, &follow, &[])?;
    let starts = cyclic_notes(&rules, follow.hierarchy);
    let mut rank = vec![UNKNOWN; graph.n_slots()];
    for (id, at) in starts.iter().zip(0..) {
        rank[id.index()] = at;
    }
    let mut search = Search {
        rules: &rules,
        limits,
        rank,
        home: vec![UNKNOWN; graph.n_slots()],
        n_steps: 0,
        stopped: None,
        answer: Cycles::default(),
    };
    for start in starts {
        rules.check()?;
        if !search.find_through(start) {
            break;
        }
    }
    match search.stopped {
        Some(stopped) => Err(stopped.into()),
        None => Ok(search.answer),
    }
}

/// The notes that may lie on a cycle, by uri.
fn cyclic_notes(rules: &Rules<'_>, hierarchy: bool) -> Vec<NoteId> {
    let graph = rules.graph;
    let is_loop = |id: NoteId| graph.outgoing(id).iter().any(|half| half.other == id);
    // The components know links only; edges of the hierarchy could close a cycle anywhere.
    let notes: Vec<NoteId> = if hierarchy {
        graph.ids().collect()
    } else {
        kosaraju_scc(graph)
            .into_iter()
            .filter(|component| component.len() > 1 || component.iter().any(|id| is_loop(*id)))
            .flatten()
            .collect()
    };
    by_uri(graph, notes.into_iter().filter(|id| rules.note(*id)))
}

/// Stands for a rank or a number of hops that a note does not have.
const UNKNOWN: u32 = u32::MAX;

struct Search<'r> {
    rules: &'r Rules<'r>,
    limits: &'r CycleLimits,
    /// By slot, the place by uri of each note that may lie on a cycle.
    rank: Vec<u32>,
    /// By slot, the hops along links back to the start under way, for it and the notes after it that can close in time.
    home: Vec<u32>,
    n_steps: u64,
    /// Whether somebody ended the search.
    stopped: Option<Stopped>,
    answer: Cycles,
}

/// One note of the walk under way, and its steps not yet tried, last first.
struct Turn {
    note: NoteId,
    left: Vec<(NoteId, EdgeRef)>,
}

impl Search<'_> {
    /// Finds the cycles whose least note is `start`; false when the search ends with it.
    fn find_through(&mut self, start: NoteId) -> bool {
        let (near, fits) = self.measure_hops_home(start);
        let goes_on = fits && self.close_cycles(start);
        for note in near {
            self.home[note.index()] = UNKNOWN;
        }
        goes_on
    }

    /// Fills `home` for `start`; the notes it has filled in, and whether the search may go on.
    fn measure_hops_home(&mut self, start: NoteId) -> (Vec<NoteId>, bool) {
        let least = self.rank[start.index()];
        let mut near = vec![start];
        self.home[start.index()] = 0;
        let mut next = 0;
        while let Some(note) = near.get(next).copied() {
            let hops = self.home[note.index()] + 1;
            if hops >= self.limits.max_length {
                break;
            }
            for step in self.rules.steps_unordered(note, Direction::In) {
                let at = step.other.index();
                if self.rank[at] != UNKNOWN && self.rank[at] > least && self.home[at] == UNKNOWN {
                    self.home[at] = hops;
                    near.push(step.other);
                }
            }
            if !self.spend(note, Direction::In) {
                return (near, false);
            }
            next += 1;
        }
        (near, true)
    }

    /// Goes along links from `start` where `home` says that it can still come back; false when the search has to end.
    fn close_cycles(&mut self, start: NoteId) -> bool {
        let mut on_walk = HashSet::from([start]);
        let mut edges: Vec<EdgeRef> = Vec::new();
        let Some(left) = self.steps(start, 1) else { return false };
        let mut turns = vec![Turn { note: start, left }];
        while let Some(turn) = turns.last_mut() {
            let Some((next, edge)) = turn.left.pop() else {
                on_walk.remove(&turn.note);
                turns.pop();
                edges.pop();
                continue;
            };
            if next == start {
                if self.answer.cycles.len() >= self.limits.max_cycles {
                    self.answer.truncated = true;
                    return false;
                }
                let nodes = turns.iter().map(|turn| turn.note).collect();
                let edges = edges.iter().copied().chain([edge]).collect();
                self.answer.cycles.push(Cycle { nodes, edges });
            } else if on_walk.insert(next) {
                let nth = u32::try_from(turns.len() + 1).unwrap_or(UNKNOWN);
                let Some(left) = self.steps(next, nth) else { return false };
                turns.push(Turn { note: next, left });
                edges.push(edge);
            }
        }
        true
    }

    /// The least step to each note from which the start can be reached when this is the `nth` edge; nothing when the search has to end.
    fn steps(&mut self, note: NoteId, nth: u32) -> Option<Vec<(NoteId, EdgeRef)>> {
        let closes = |note: NoteId| {
            let hops = self.home[note.index()];
            hops != UNKNOWN && nth.saturating_add(hops) <= self.limits.max_length
        };
        let mut met = HashSet::new();
        let mut found = Vec::new();
        let mut steps = self.rules.steps(note);
        while let Some(step) = steps.next(|step| self.rules.label(step.label) && closes(step.other))
        {
            if met.insert(step.other) {
                found.push((step.other, step.edge()));
            }
        }
        found.reverse();
        self.spend(note, Direction::Out).then_some(found)
    }

    /// Counts the edges of `note` as looked at; false when that was too many.
    fn spend(&mut self, note: NoteId, direction: Direction) -> bool {
        self.n_steps += self.rules.n_edges(note, direction) as u64;
        let fits = self.n_steps <= self.limits.max_steps;
        self.answer.truncated |= !fits;
        self.stopped = self.rules.check().err();
        fits && self.stopped.is_none()
    }
}
