//! Cheapest path between two notes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use weft_model::{LinkSource, NoteId, NoteMap, Stopped};

use super::bfs_frontier::BfsFrontier;
use super::shortest_path::{LinkPath, PathRequest};
use super::step::{Direction, EdgeLabel, EdgeRef, Step};
use super::traversal::Traversal;
use super::{WalkError, known};
use crate::NoteGraph;

/// Costs of an edge by its source. Integers, so that sums are exact in any order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeCosts {
    /// Cost of a typed edge.
    pub typed: u32,
    /// Cost of an inline edge.
    pub inline: u32,
    /// Cost of an edge of the hierarchy.
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
    /// Returns the cost of an edge with this label.
    #[must_use]
    pub const fn of(&self, label: EdgeLabel) -> u32 {
        match label {
            EdgeLabel::Link { source: LinkSource::Typed, .. } => self.typed,
            EdgeLabel::Link { source: LinkSource::Inline, .. } => self.inline,
            EdgeLabel::Hierarchy => self.hierarchy,
        }
    }
}

/// Length of a path: its cost, then its hops, which break ties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Distance {
    cost: u64,
    hops: u32,
}

impl Distance {
    /// Longer than any path.
    const INFINITE: Self = Self { cost: u64::MAX, hops: u32::MAX };

    /// Returns this distance extended by one hop of cost `cost`.
    const fn hop(self, cost: u32) -> Self {
        Self { cost: self.cost + cost as u64, hops: self.hops + 1 }
    }

    const fn plus(self, other: Self) -> Self {
        Self { cost: self.cost + other.cost, hops: self.hops + other.hops }
    }

    /// Returns the difference to `part`; `None` if `part` is larger.
    fn less(self, part: Self) -> Option<Self> {
        Some(Self {
            cost: self.cost.checked_sub(part.cost)?,
            hops: self.hops.checked_sub(part.hops)?,
        })
    }
}

/// Returns the cheapest path; among equally cheap paths the one with the fewest hops, then the least sequence of steps.
///
/// `cost` returns the cost of an edge and of the note it enters, so it can charge for edges, notes, or both. It must be pure.
/// `O(edges · log edges)` of the notes around both ends whose distances add up to the path's cost. If that path has too many hops, of the notes on any path of `max_hops`, once per useful number of hops. If there is no path, of the notes reachable from one end.
///
/// # Errors
///
/// The same as those of [`shortest_path`](super::shortest_path()).
pub fn cheapest_path(
    graph: &NoteGraph,
    request: &PathRequest,
    cost: impl Fn(EdgeRef, NoteId) -> u32,
) -> Result<LinkPath, WalkError> {
    let PathRequest { from, to, follow, max_hops } = request;
    let ends = [known(graph, *from)?, known(graph, *to)?];
    let search = CheapestPathSearch {
        traversal: Traversal::new(graph, follow, &ends)?,
        from: *from,
        to: *to,
        cost,
    };
    let Some((total, forward, backward)) = search.search()? else { return Ok(LinkPath::default()) };
    let Some(limit) = max_hops.filter(|limit| total.hops > *limit) else {
        return Ok(search.join(total, &forward, backward)?);
    };
    let path = search.search_within(limit)?.unwrap_or_default();
    Ok(LinkPath { truncated: true, ..path })
}

/// A request compiled for one graph.
struct CheapestPathSearch<'g, C> {
    traversal: Traversal<'g>,
    from: NoteId,
    to: NoteId,
    cost: C,
}

impl<C: Fn(EdgeRef, NoteId) -> u32> CheapestPathSearch<'_, C> {
    /// Returns the distance of the cheapest path of any length and the frontiers of both ends; `None` if there is no path.
    ///
    /// Bidirectional Dijkstra search: each step advances the end that has examined fewer links.
    fn search(&self) -> Result<Option<(Distance, Frontier, Frontier)>, Stopped> {
        let direction = self.traversal.direction;
        let mut forward = Frontier::new(self.from, direction);
        let mut backward = Frontier::new(self.to, direction.reversed());
        let mut total = (self.from == self.to).then(Distance::default);
        // At the end, every note on a cheapest path either is nearer to one end than the head of that end's queue, or is the head of both queues with its distance known.
        while let (Some(near), Some(far)) = (forward.nearest(), backward.nearest())
            && total.is_none_or(|total| near.plus(far) < total)
        {
            self.traversal.check()?;
            let met = if forward.n_edges <= backward.n_edges {
                forward.advance(self, &backward, |step| step.other)
            } else {
                backward.advance(self, &forward, |step| step.at)
            };
            total = total.into_iter().chain(met).min();
        }
        Ok(total.map(|total| (total, forward, backward)))
    }

    /// Returns the path of length `total` on which the two searches met.
    fn join(
        &self,
        total: Distance,
        forward: &Frontier,
        backward: Frontier,
    ) -> Result<LinkPath, Stopped> {
        // The backward search knows the remaining distance of the notes it reached; for notes not settled it is the distance of some path, so no path is shorter than the total.
        // Notes reached only by the forward search lead to one of these, the farthest first.
        let mut remaining = backward.distances;
        for note in forward.settled.iter().rev() {
            self.traversal.check()?;
            let Some(left) = total.less(forward.distances[note]) else { continue };
            let mut steps = self.traversal.steps_unordered(*note, forward.direction);
            let leads = |step: Step| {
                remaining
                    .get(&step.other)
                    .is_some_and(|rest| self.extended(*rest, step, step.other) == left)
            };
            if remaining.get(note) != Some(&left) && steps.any(leads) {
                remaining.insert(*note, left);
            }
        }
        Ok(self.least_path(total, |note, rest| remaining.get(&note) == Some(&rest)))
    }

    /// Returns the cheapest path of at most `limit` hops; `None` if no such path exists.
    fn search_within(&self, limit: u32) -> Result<Option<LinkPath>, Stopped> {
        let backwards = self.traversal.direction.reversed();
        let reach = self.reach(limit / 2)?;
        // By note, the Pareto front of distances to the end: those that no other beats in both cost and hops.
        let mut remaining: NoteMap<Vec<Distance>> = NoteMap::default();
        let is_beaten = |remaining: &NoteMap<Vec<Distance>>, note: NoteId, hops: u32| {
            let fewest = remaining.get(&note).and_then(|ways| ways.last());
            fewest.is_some_and(|way| way.hops <= hops)
        };
        let mut queue = BinaryHeap::from([Reverse((Distance::default(), self.to))]);
        while let Some(Reverse((distance, note))) = queue.pop() {
            self.traversal.check()?;
            if is_beaten(&remaining, note, distance.hops) {
                continue;
            }
            remaining.entry(note).or_default().push(distance);
            if note == self.from {
                let leads =
                    |note, rest| remaining.get(&note).is_some_and(|ways| ways.contains(&rest));
                return Ok(Some(self.least_path(distance, leads)));
            }
            let steps = self.traversal.steps_unordered(note, backwards);
            for step in steps.filter(|step| self.traversal.admits_note(step.other)) {
                let hops = distance.hops + 1;
                let fits = reach.hops_to(step.other).is_some_and(|before| before + hops <= limit);
                if fits && !is_beaten(&remaining, step.other, hops) {
                    queue.push(Reverse((self.extended(distance, step, note), step.other)));
                }
            }
        }
        Ok(None)
    }

    /// Returns lower bounds of the hops from the start, exact up to `n_hops`.
    fn reach(&self, n_hops: u32) -> Result<HopBounds, Stopped> {
        let mut frontier = BfsFrontier::new(&self.traversal, self.from, self.traversal.direction);
        let mut goes_on = true;
        for _ in 0..n_hops {
            goes_on = frontier.advance()?;
            if !goes_on {
                break;
            }
        }
        let levels = frontier.levels.iter().zip(0..);
        let hops = levels.flat_map(|(level, hops)| level.iter().map(move |note| (*note, hops)));
        Ok(HopBounds { hops: hops.collect(), beyond: goes_on.then_some(n_hops + 1) })
    }

    /// Returns the least sequence of steps of length `total`. `leads` returns true if a path of the given length runs from a note to the end.
    fn least_path(&self, total: Distance, leads: impl Fn(NoteId, Distance) -> bool) -> LinkPath {
        let mut path = LinkPath { nodes: vec![self.from], ..LinkPath::default() };
        let (mut at, mut left) = (self.from, total);
        while left.hops > 0 {
            let rest = |step: &Step| {
                let rest = left.less(self.extended(Distance::default(), *step, step.other))?;
                leads(step.other, rest).then_some(rest)
            };
            let least = self
                .traversal
                .steps(at)
                .next(|step| self.traversal.admits_label(step.label) && rest(step).is_some())
                .expect("the remaining distance is that of a path");
            left = rest(&least).expect("the step was selected for it");
            path.edges.push(least.edge());
            path.nodes.push(least.other);
            at = least.other;
        }
        path
    }

    /// Returns `distance` extended by the edge of `step`, which enters `entered`, one of its ends.
    fn extended(&self, distance: Distance, step: Step, entered: NoteId) -> Distance {
        distance.hop((self.cost)(step.edge(), entered))
    }
}

/// Lower bounds of the hops from the start.
struct HopBounds {
    hops: NoteMap<u32>,
    /// Lower bound for all other notes; `None` if the start does not reach them.
    beyond: Option<u32>,
}

impl HopBounds {
    /// Returns a lower bound of the hops to `note`; `None` if it cannot be reached.
    fn hops_to(&self, note: NoteId) -> Option<u32> {
        self.hops.get(&note).copied().or(self.beyond)
    }
}

/// State of the search from one end.
struct Frontier {
    direction: Direction,
    /// Shortest distance found so far between the end and each note.
    distances: NoteMap<Distance>,
    /// Notes with final distances, nearest first.
    settled: Vec<NoteId>,
    /// Notes to settle next; may contain outdated entries.
    queue: BinaryHeap<Reverse<(Distance, NoteId)>>,
    /// Number of links examined.
    n_edges: usize,
}

impl Frontier {
    fn new(end: NoteId, direction: Direction) -> Self {
        Self {
            direction,
            distances: [(end, Distance::default())].into_iter().collect(),
            settled: Vec::new(),
            queue: BinaryHeap::from([Reverse((Distance::default(), end))]),
            n_edges: 0,
        }
    }

    /// Returns a lower bound of the distance of every unsettled note; `None` if all are settled.
    fn nearest(&self) -> Option<Distance> {
        self.queue.peek().map(|Reverse((distance, _))| *distance)
    }

    /// Settles the nearest note; returns the length of the shortest path through one of its edges to the other end.
    ///
    /// `entered` returns the end that an edge enters.
    fn advance(
        &mut self,
        search: &CheapestPathSearch<'_, impl Fn(EdgeRef, NoteId) -> u32>,
        far: &Self,
        entered: impl Fn(Step) -> NoteId,
    ) -> Option<Distance> {
        let Reverse((distance, note)) = self.queue.pop()?;
        if self.distances[&note] < distance {
            return None;
        }
        self.settled.push(note);
        let mut met: Option<Distance> = None;
        let steps = search.traversal.steps_unordered(note, self.direction);
        self.n_edges += search.traversal.n_edges(note, self.direction);
        for step in steps.filter(|step| search.traversal.admits_note(step.other)) {
            let further = search.extended(distance, step, entered(step));
            let distances = self.distances.entry(step.other).or_insert(Distance::INFINITE);
            if further < *distances {
                *distances = further;
                self.queue.push(Reverse((further, step.other)));
                let total = far.distances.get(&step.other).map(|rest| rest.plus(further));
                met = met.into_iter().chain(total).min();
            }
        }
        met
    }
}
