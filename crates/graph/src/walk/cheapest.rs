//! The cheapest path between two notes: a strategy that has to be asked for.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use weft_model::{LinkSource, NoteId, NoteMap, Stopped};

use super::follow::Rules;
use super::path::{Path, PathRequest};
use super::step::{Direction, EdgeRef, Label, Step};
use super::wave::Wave;
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

/// What a way takes: what is charged for it, then its hops. Ways of the same cost differ by these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Toll {
    cost: u64,
    hops: u32,
}

impl Toll {
    /// More than any way takes.
    const MOST: Self = Self { cost: u64::MAX, hops: u32::MAX };

    /// The toll of this way with one hop more, which costs `cost`.
    const fn and(self, cost: u32) -> Self {
        Self { cost: self.cost + cost as u64, hops: self.hops + 1 }
    }

    const fn plus(self, other: Self) -> Self {
        Self { cost: self.cost + other.cost, hops: self.hops + other.hops }
    }

    /// What is left of this toll when `part` is paid; nothing when that is more.
    fn less(self, part: Self) -> Option<Self> {
        Some(Self {
            cost: self.cost.checked_sub(part.cost)?,
            hops: self.hops.checked_sub(part.hops)?,
        })
    }
}

/// The cheapest path; among equally cheap ones the shortest, then the least sequence of steps.
///
/// `cost` is that of following an edge to the note it is followed to, so it can charge for edges, for notes, or both; it must be pure.
/// `O(edges · log edges)` of the notes around both ends whose distances from them add up to the path's cost; where that path is too long, of the notes that a path of `max_hops` may lead over, for each number of hops that pays off; where there is none, of what one end reaches.
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
    let search = Search { rules: Rules::new(graph, follow, &ends)?, from: *from, to: *to, cost };
    let Some((whole, forth, back)) = search.met()? else { return Ok(Path::default()) };
    let Some(limit) = max_hops.filter(|limit| whole.hops > *limit) else {
        return Ok(search.joined(whole, &forth, back)?);
    };
    let path = search.within(limit)?.unwrap_or_default();
    Ok(Path { truncated: true, ..path })
}

/// A request made ready.
struct Search<'g, C> {
    rules: Rules<'g>,
    from: NoteId,
    to: NoteId,
    cost: C,
}

impl<C: Fn(EdgeRef, NoteId) -> u32> Search<'_, C> {
    /// The toll of the cheapest path of any length, and how far the search came for it from the start and from the end; nothing when there is none.
    ///
    /// Dijkstra's search from both ends, each time from the one that has looked at fewer links.
    fn met(&self) -> Result<Option<(Toll, Front, Front)>, Stopped> {
        let direction = self.rules.direction;
        let mut forth = Front::new(self.from, direction);
        let mut back = Front::new(self.to, direction.reversed());
        let mut whole = (self.from == self.to).then(Toll::default);
        // At the end a note on a cheapest path is nearer to one of the ends than what is next there, or is itself next from both, and its toll known.
        while let (Some(near), Some(far)) = (forth.nearest(), back.nearest())
            && whole.is_none_or(|whole| near.plus(far) < whole)
        {
            self.rules.check()?;
            let met = if forth.n_edges <= back.n_edges {
                forth.advance(self, &back, |step| step.other)
            } else {
                back.advance(self, &forth, |step| step.at)
            };
            whole = whole.into_iter().chain(met).min();
        }
        Ok(whole.map(|whole| (whole, forth, back)))
    }

    /// The path that takes `whole`, where both searches met.
    fn joined(&self, whole: Toll, forth: &Front, back: Front) -> Result<Path, Stopped> {
        // What is left to go is known of the notes to which the search came from the end, or it is the toll of some way, with which no path comes below the whole.
        // A note to which it came only from the start leads to one of them: the farthest first.
        let mut to_go = back.best;
        for note in forth.settled.iter().rev() {
            self.rules.check()?;
            let Some(left) = whole.less(forth.best[note]) else { continue };
            let mut steps = self.rules.steps_unordered(*note, forth.direction);
            let leads = |step: Step| {
                to_go
                    .get(&step.other)
                    .is_some_and(|rest| self.paid(*rest, step, step.other) == left)
            };
            if to_go.get(note) != Some(&left) && steps.any(leads) {
                to_go.insert(*note, left);
            }
        }
        Ok(self.least(whole, |note, rest| to_go.get(&note) == Some(&rest)))
    }

    /// The cheapest path of at most `limit` hops; nothing when there is none.
    fn within(&self, limit: u32) -> Result<Option<Path>, Stopped> {
        let backwards = self.rules.direction.reversed();
        let reach = self.reach(limit / 2)?;
        // By note every toll from there that no other beats in both cost and hops.
        let mut to_go: NoteMap<Vec<Toll>> = NoteMap::default();
        let is_beaten = |to_go: &NoteMap<Vec<Toll>>, note: NoteId, hops: u32| {
            let fewest = to_go.get(&note).and_then(|ways| ways.last());
            fewest.is_some_and(|way| way.hops <= hops)
        };
        let mut queue = BinaryHeap::from([Reverse((Toll::default(), self.to))]);
        while let Some(Reverse((toll, note))) = queue.pop() {
            self.rules.check()?;
            if is_beaten(&to_go, note, toll.hops) {
                continue;
            }
            to_go.entry(note).or_default().push(toll);
            if note == self.from {
                let leads = |note, rest| to_go.get(&note).is_some_and(|ways| ways.contains(&rest));
                return Ok(Some(self.least(toll, leads)));
            }
            let steps = self.rules.steps_unordered(note, backwards);
            for step in steps.filter(|step| self.rules.note(step.other)) {
                let hops = toll.hops + 1;
                let fits = reach.hops_to(step.other).is_some_and(|before| before + hops <= limit);
                if fits && !is_beaten(&to_go, step.other, hops) {
                    queue.push(Reverse((self.paid(toll, step, note), step.other)));
                }
            }
        }
        Ok(None)
    }

    /// The notes within so many hops of the start.
    fn reach(&self, n_hops: u32) -> Result<Reach, Stopped> {
        let mut wave = Wave::new(&self.rules, self.from, self.rules.direction);
        let mut goes_on = true;
        for _ in 0..n_hops {
            goes_on = wave.advance()?;
            if !goes_on {
                break;
            }
        }
        let levels = wave.levels.iter().zip(0..);
        let hops = levels.flat_map(|(level, hops)| level.iter().map(move |note| (*note, hops)));
        Ok(Reach { hops: hops.collect(), beyond: goes_on.then_some(n_hops + 1) })
    }

    /// The least sequence of steps that takes `whole`; `leads` tells whether from a note some way to the end takes so much.
    fn least(&self, whole: Toll, leads: impl Fn(NoteId, Toll) -> bool) -> Path {
        let mut path = Path { nodes: vec![self.from], ..Path::default() };
        let (mut at, mut left) = (self.from, whole);
        while left.hops > 0 {
            let rest = |step: &Step| {
                let rest = left.less(self.paid(Toll::default(), *step, step.other))?;
                leads(step.other, rest).then_some(rest)
            };
            let least = self
                .rules
                .steps(at)
                .next(|step| self.rules.label(step.label) && rest(step).is_some())
                .expect("what is left to go is the toll of a way");
            left = rest(&least).expect("the step was kept for it");
            path.edges.push(least.edge());
            path.nodes.push(least.other);
            at = least.other;
        }
        path
    }

    /// `toll` and what it takes to follow the edge of `step` to `entered`, one of its ends.
    fn paid(&self, toll: Toll, step: Step, entered: NoteId) -> Toll {
        toll.and((self.cost)(step.edge(), entered))
    }
}

/// The least hops from the start to notes.
struct Reach {
    hops: NoteMap<u32>,
    /// To all others, at least; nothing where the start does not lead to them.
    beyond: Option<u32>,
}

impl Reach {
    /// Hops to `note`, or fewer; nothing when it cannot be reached.
    fn hops_to(&self, note: NoteId) -> Option<u32> {
        self.hops.get(&note).copied().or(self.beyond)
    }
}

/// How far the search has come from one end.
struct Front {
    direction: Direction,
    /// The least toll found so far of a way between the end and a note.
    best: NoteMap<Toll>,
    /// Notes whose toll is final, nearest first.
    settled: Vec<NoteId>,
    /// What may be settled next, and what was found to be nearer since.
    queue: BinaryHeap<Reverse<(Toll, NoteId)>>,
    /// Links looked at.
    n_edges: usize,
}

impl Front {
    fn new(end: NoteId, direction: Direction) -> Self {
        Self {
            direction,
            best: [(end, Toll::default())].into_iter().collect(),
            settled: Vec::new(),
            queue: BinaryHeap::from([Reverse((Toll::default(), end))]),
            n_edges: 0,
        }
    }

    /// No note that is not settled is nearer; nothing when all are settled.
    fn nearest(&self) -> Option<Toll> {
        self.queue.peek().map(|Reverse((toll, _))| *toll)
    }

    /// Settles the nearest note; returns the least toll of a way through one of its edges to the other end.
    ///
    /// `entered` tells the end of an edge to which it is followed.
    fn advance(
        &mut self,
        search: &Search<'_, impl Fn(EdgeRef, NoteId) -> u32>,
        far: &Self,
        entered: impl Fn(Step) -> NoteId,
    ) -> Option<Toll> {
        let Reverse((toll, note)) = self.queue.pop()?;
        if self.best[&note] < toll {
            return None;
        }
        self.settled.push(note);
        let mut met: Option<Toll> = None;
        let steps = search.rules.steps_unordered(note, self.direction);
        self.n_edges += search.rules.n_edges(note, self.direction);
        for step in steps.filter(|step| search.rules.note(step.other)) {
            let further = search.paid(toll, step, entered(step));
            let best = self.best.entry(step.other).or_insert(Toll::MOST);
            if further < *best {
                *best = further;
                self.queue.push(Reverse((further, step.other)));
                let whole = far.best.get(&step.other).map(|rest| rest.plus(further));
                met = met.into_iter().chain(whole).min();
            }
        }
        met
    }
}
