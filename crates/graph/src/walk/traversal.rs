//! Options of walks, and the edges of one note under them.

use std::collections::HashSet;

use weft_model::{LinkSource, NoteBits, NoteId, NoteSet, Stop, Stopped, fold};

use super::WalkError;
use super::step::{Direction, EdgeLabel, HIERARCHY_TYPE, Side, Step};
use crate::{HalfEdge, KindId, NoteGraph};

/// Types of written links that make the target the parent. If such a link exists, the hierarchy adds no edge.
///
/// Source: vault design, "A note".
const WRITTEN_PARENT_TYPES: [&str; 2] = [HIERARCHY_TYPE, "up"];

/// Type that makes the target the parent if the note has an object.
const SUBJECT_TYPE: &str = "source";

/// Filter of edges. Type names are compared with case folded; exclusion overrides inclusion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EdgeFilter {
    /// Included types; empty for all.
    pub types: Vec<String>,
    /// Excluded types.
    pub exclude_types: Vec<String>,
    /// True to exclude inline edges.
    pub typed_only: bool,
    /// True to exclude typed edges and edges of the hierarchy.
    pub inline_only: bool,
}

/// Options of a walk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WalkOptions {
    /// Direction of the edges to follow.
    pub direction: Direction,
    /// Filter of edges.
    pub edges: EdgeFilter,
    /// Notes that edges may lead to. Notes named in the request are exempt.
    pub notes: NoteSet,
    /// True to follow the hierarchy as edges if no written link states them.
    pub hierarchy: bool,
    /// Checked for each note that is expanded.
    pub stop: Stop,
}

/// An [`EdgeFilter`] with its type names resolved.
pub(super) struct EdgeMatcher {
    /// By type, true if admitted; `None` for all.
    kinds: Option<Vec<bool>>,
    typed: bool,
    inline: bool,
    hierarchy: bool,
}

impl EdgeMatcher {
    pub(super) fn new(
        graph: &NoteGraph,
        filter: &EdgeFilter,
        hierarchy: bool,
    ) -> Result<Self, WalkError> {
        let EdgeFilter { types, exclude_types, typed_only, inline_only } = filter;
        if *typed_only && *inline_only {
            return Err(WalkError::TypedAndInline);
        }
        let folded =
            |names: &[String]| names.iter().map(|name| fold(name)).collect::<HashSet<String>>();
        let (include, exclude) = (folded(types), folded(exclude_types));
        let passes = |name: &str| {
            let name = fold(name);
            (include.is_empty() || include.contains(&name)) && !exclude.contains(&name)
        };
        let restricts = !(include.is_empty() && exclude.is_empty());
        Ok(Self {
            kinds: restricts.then(|| graph.kinds().map(|(_, name)| passes(name)).collect()),
            typed: !inline_only,
            inline: !typed_only,
            hierarchy: hierarchy && !inline_only && passes(HIERARCHY_TYPE),
        })
    }

    pub(super) fn pass(&self, label: EdgeLabel) -> bool {
        let (kind, source) = match label {
            EdgeLabel::Link { kind, source } => (kind, source),
            EdgeLabel::Hierarchy => return self.hierarchy,
        };
        let by_source = match source {
            LinkSource::Typed => self.typed,
            LinkSource::Inline => self.inline,
        };
        by_source && self.kinds.as_ref().is_none_or(|kinds| kinds[kind.0 as usize])
    }
}

/// [`WalkOptions`] compiled for one graph and one request.
pub(super) struct Traversal<'g> {
    pub(super) graph: &'g NoteGraph,
    pub(super) direction: Direction,
    labels: EdgeMatcher,
    notes: &'g NoteSet,
    stop: &'g Stop,
    /// Notes named in the request.
    named: NoteBits,
    written_parents: Vec<KindId>,
    subjects: Vec<KindId>,
}

impl<'g> Traversal<'g> {
    pub(super) fn new(
        graph: &'g NoteGraph,
        follow: &'g WalkOptions,
        named: &[NoteId],
    ) -> Result<Self, WalkError> {
        let WalkOptions { direction, edges, notes, hierarchy, stop } = follow;
        stop.check()?;
        let kinds = |wanted: &[&str]| -> Vec<KindId> {
            let found = graph.kinds().filter(|(_, name)| wanted.contains(&&*fold(name)));
            found.map(|(kind, _)| kind).collect()
        };
        Ok(Self {
            graph,
            direction: *direction,
            labels: EdgeMatcher::new(graph, edges, *hierarchy)?,
            notes,
            stop,
            named: named.iter().copied().collect(),
            written_parents: kinds(&WRITTEN_PARENT_TYPES),
            subjects: kinds(&[SUBJECT_TYPE]),
        })
    }

    /// Fails if the caller has stopped the walk.
    pub(super) fn check(&self) -> Result<(), Stopped> {
        self.stop.check()
    }

    /// Returns true if the filters admit an edge with this label.
    pub(super) fn admits_label(&self, label: EdgeLabel) -> bool {
        self.labels.pass(label)
    }

    /// Returns true if an edge may lead to `note`.
    pub(super) fn admits_note(&self, note: NoteId) -> bool {
        (self.notes.contains(note) || self.named.contains(note)) && !self.graph.is_placeholder(note)
    }

    /// Returns the edges of `note` in neighbor order, unfiltered.
    pub(super) fn steps(&self, note: NoteId) -> Steps<'g> {
        let list =
            |side, list: &'g [HalfEdge]| if self.direction.follows(side) { list } else { &[] };
        let mut implied = self.implied(note, self.direction);
        implied.sort_unstable_by(|a, b| a.order(b, self.graph));
        Steps {
            graph: self.graph,
            note,
            outgoing: list(Side::Outgoing, self.graph.outgoing(note)),
            inbound: list(Side::Incoming, self.graph.inbound(note)),
            implied,
            n_implied_taken: 0,
            loops_twice: self.direction == Direction::Both,
        }
    }

    /// Returns the edges of `note` in `direction` that the edge filter admits, unordered. A self loop appears once per side.
    pub(super) fn steps_unordered(
        &self,
        note: NoteId,
        direction: Direction,
    ) -> impl Iterator<Item = Step> + '_ {
        let list = |side, list: &'g [HalfEdge]| {
            let list = if direction.follows(side) { list } else { &[] };
            list.iter().map(move |half| step(note, side, half))
        };
        list(Side::Outgoing, self.graph.outgoing(note))
            .chain(list(Side::Incoming, self.graph.inbound(note)))
            .filter(|step| self.admits_label(step.label))
            .chain(self.implied(note, direction))
    }

    /// Returns the maximum number of edges of `note` in `direction`, unfiltered. `O(1)`.
    pub(super) fn n_edges(&self, note: NoteId, direction: Direction) -> usize {
        let count = |side, list: &[HalfEdge]| if direction.follows(side) { list.len() } else { 0 };
        count(Side::Outgoing, self.graph.outgoing(note))
            + count(Side::Incoming, self.graph.inbound(note))
    }

    /// Returns the edges of the hierarchy at `note` that no written link states, unordered.
    fn implied(&self, note: NoteId, direction: Direction) -> Vec<Step> {
        if !self.labels.hierarchy {
            return Vec::new();
        }
        let step = |other, side| Step { at: note, other, side, label: EdgeLabel::Hierarchy };
        let above = self
            .graph
            .parent(note)
            .filter(|parent| direction.follows(Side::Outgoing) && self.is_implied(note, *parent))
            .map(|parent| step(parent, Side::Outgoing));
        let children: &[NoteId] =
            if direction.follows(Side::Incoming) { self.graph.children(note) } else { &[] };
        let below = children
            .iter()
            .filter(|child| self.is_implied(**child, note))
            .map(|child| step(*child, Side::Incoming));
        above.into_iter().chain(below).collect()
    }

    fn is_implied(&self, child: NoteId, parent: NoteId) -> bool {
        let has_object = self.graph.object(child).is_some();
        let is_written = |half: &HalfEdge| {
            half.other == parent
                && (self.written_parents.contains(&half.kind)
                    || has_object && self.subjects.contains(&half.kind))
        };
        child != parent && !self.graph.outgoing(child).iter().any(is_written)
    }
}

/// Edges of one note, merged lazily from lists in neighbor order.
pub(super) struct Steps<'g> {
    graph: &'g NoteGraph,
    note: NoteId,
    outgoing: &'g [HalfEdge],
    inbound: &'g [HalfEdge],
    implied: Vec<Step>,
    n_implied_taken: usize,
    /// True if a self loop is in both lists; it is then returned as outgoing only.
    loops_twice: bool,
}

impl Steps<'_> {
    /// Skips all edges up to and including `last`. `O(log edges)`.
    pub(super) fn after(mut self, last: &Step) -> Self {
        let comes = |step: Step| step.order(last, self.graph).is_le();
        let past = |side, list: &[HalfEdge]| {
            list.partition_point(|half| comes(step(self.note, side, half)))
        };
        self.outgoing = &self.outgoing[past(Side::Outgoing, self.outgoing)..];
        self.inbound = &self.inbound[past(Side::Incoming, self.inbound)..];
        self.n_implied_taken = self.implied.partition_point(|step| comes(*step));
        self
    }

    /// Returns the next edge that `keep` selects. Only selected edges are compared, so an unselected entry costs one test.
    pub(super) fn next(&mut self, keep: impl Fn(&Step) -> bool) -> Option<Step> {
        let Self { graph, note, loops_twice, .. } = *self;
        let out = first(&mut self.outgoing, |half| {
            Some(step(note, Side::Outgoing, half)).filter(|step| keep(step))
        });
        let inbound = first(&mut self.inbound, |half| {
            Some(step(note, Side::Incoming, half))
                .filter(|step| !(loops_twice && step.other == note) && keep(step))
        });
        let mut implied = &self.implied[self.n_implied_taken..];
        let above_or_below = first(&mut implied, |step| Some(*step).filter(|step| keep(step)));
        self.n_implied_taken = self.implied.len() - implied.len();

        let nearest = [out, inbound, above_or_below]
            .into_iter()
            .flatten()
            .min_by(|left, right| left.order(right, graph))?;
        match (nearest.label, nearest.side) {
            (EdgeLabel::Hierarchy, Side::Outgoing | Side::Incoming) => self.n_implied_taken += 1,
            (EdgeLabel::Link { .. }, Side::Outgoing) => self.outgoing = &self.outgoing[1..],
            (EdgeLabel::Link { .. }, Side::Incoming) => self.inbound = &self.inbound[1..],
        }
        Some(nearest)
    }
}

fn step(at: NoteId, side: Side, half: &HalfEdge) -> Step {
    let HalfEdge { other, kind, source } = *half;
    Step { at, other, side, label: EdgeLabel::Link { kind, source } }
}

/// Returns the first item that `select` accepts and advances `list` to it.
fn first<T>(list: &mut &[T], wanted: impl Fn(&T) -> Option<Step>) -> Option<Step> {
    while let [item, rest @ ..] = *list {
        if let Some(step) = wanted(item) {
            return Some(step);
        }
        *list = rest;
    }
    None
}
