//! What a walk follows, and the edges of one note under it.

use std::collections::HashSet;

use weft_model::{LinkSource, NoteBits, NoteId, NoteSet, Stop, Stopped, fold};

use super::WalkError;
use super::step::{Direction, HIERARCHY_TYPE, Label, Side, Step};
use crate::{Half, KindId, NoteGraph};

/// Types of written links that make the target the parent: where one stands, the hierarchy adds no edge.
///
/// Source: vault design, "A note".
const WRITTEN_PARENT_TYPES: [&str; 2] = [HIERARCHY_TYPE, "up"];

/// The type that makes the target the parent where the note has an object.
const SUBJECT_TYPE: &str = "source";

/// Which edges are eligible. Type names are compared with case folded; excluding beats including.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EdgeFilter {
    /// These types only; empty for all.
    pub types: Vec<String>,
    /// None of these types.
    pub exclude_types: Vec<String>,
    /// No inline edges.
    pub typed_only: bool,
    /// No typed edges, and none of the hierarchy.
    pub inline_only: bool,
}

/// What a walk follows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Follow {
    /// Which edges of a note.
    pub direction: Direction,
    /// Which of them are eligible.
    pub edges: EdgeFilter,
    /// Which notes edges may lead to. Notes that the request names are exempt.
    pub notes: NoteSet,
    /// Whether a note's place below its parent is an edge where no written link says so.
    pub hierarchy: bool,
    /// Asked for each note that is walked from.
    pub stop: Stop,
}

/// An [`EdgeFilter`] with its names looked up once.
pub(super) struct Labels {
    /// By type; nothing for all.
    kinds: Option<Vec<bool>>,
    typed: bool,
    inline: bool,
    hierarchy: bool,
}

impl Labels {
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

    pub(super) fn pass(&self, label: Label) -> bool {
        let (kind, source) = match label {
            Label::Link { kind, source } => (kind, source),
            Label::Hierarchy => return self.hierarchy,
        };
        let by_source = match source {
            LinkSource::Typed => self.typed,
            LinkSource::Inline => self.inline,
        };
        by_source && self.kinds.as_ref().is_none_or(|kinds| kinds[kind.0 as usize])
    }
}

/// A [`Follow`] made ready for one graph and one request.
pub(super) struct Rules<'g> {
    pub(super) graph: &'g NoteGraph,
    pub(super) direction: Direction,
    labels: Labels,
    notes: &'g NoteSet,
    stop: &'g Stop,
    /// The notes that the request names.
    named: NoteBits,
    written_parents: Vec<KindId>,
    subjects: Vec<KindId>,
}

impl<'g> Rules<'g> {
    pub(super) fn new(
        graph: &'g NoteGraph,
        follow: &'g Follow,
        named: &[NoteId],
    ) -> Result<Self, WalkError> {
        let Follow { direction, edges, notes, hierarchy, stop } = follow;
        stop.check()?;
        let kinds = |wanted: &[&str]| -> Vec<KindId> {
            let found = graph.kinds().filter(|(_, name)| wanted.contains(&&*fold(name)));
            found.map(|(kind, _)| kind).collect()
        };
        Ok(Self {
            graph,
            direction: *direction,
            labels: Labels::new(graph, edges, *hierarchy)?,
            notes,
            stop,
            named: named.iter().copied().collect(),
            written_parents: kinds(&WRITTEN_PARENT_TYPES),
            subjects: kinds(&[SUBJECT_TYPE]),
        })
    }

    /// Fails when the walk is to end.
    pub(super) fn check(&self) -> Result<(), Stopped> {
        self.stop.check()
    }

    /// Whether the filters let an edge with this label pass.
    pub(super) fn label(&self, label: Label) -> bool {
        self.labels.pass(label)
    }

    /// Whether an edge may lead to `note`.
    pub(super) fn note(&self, note: NoteId) -> bool {
        (self.notes.contains(note) || self.named.contains(note)) && !self.graph.is_placeholder(note)
    }

    /// The edges of `note` in neighbour order, filters not yet applied.
    pub(super) fn steps(&self, note: NoteId) -> Steps<'g> {
        let list = |side, list: &'g [Half]| if self.direction.follows(side) { list } else { &[] };
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

    /// The edges of `note` in `direction` that the edge filter lets pass, in no order; a self loop comes from both sides.
    pub(super) fn steps_unordered(
        &self,
        note: NoteId,
        direction: Direction,
    ) -> impl Iterator<Item = Step> + '_ {
        let list = |side, list: &'g [Half]| {
            let list = if direction.follows(side) { list } else { &[] };
            list.iter().map(move |half| step(note, side, half))
        };
        list(Side::Outgoing, self.graph.outgoing(note))
            .chain(list(Side::Incoming, self.graph.inbound(note)))
            .filter(|step| self.label(step.label))
            .chain(self.implied(note, direction))
    }

    /// How many edges `note` has in `direction` at most, filters not applied. `O(1)`.
    pub(super) fn n_edges(&self, note: NoteId, direction: Direction) -> usize {
        let count = |side, list: &[Half]| if direction.follows(side) { list.len() } else { 0 };
        count(Side::Outgoing, self.graph.outgoing(note))
            + count(Side::Incoming, self.graph.inbound(note))
    }

    /// The edges of the hierarchy at `note` that no written link says, in no order.
    fn implied(&self, note: NoteId, direction: Direction) -> Vec<Step> {
        if !self.labels.hierarchy {
            return Vec::new();
        }
        let step = |other, side| Step { at: note, other, side, label: Label::Hierarchy };
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
        let is_written = |half: &Half| {
            half.other == parent
                && (self.written_parents.contains(&half.kind)
                    || has_object && self.subjects.contains(&half.kind))
        };
        child != parent && !self.graph.outgoing(child).iter().any(is_written)
    }
}

/// The edges of one note, merged lazily from lists that each stand in neighbour order.
pub(super) struct Steps<'g> {
    graph: &'g NoteGraph,
    note: NoteId,
    outgoing: &'g [Half],
    inbound: &'g [Half],
    implied: Vec<Step>,
    n_implied_taken: usize,
    /// Whether a self loop stands in both lists; it is then met as outgoing only.
    loops_twice: bool,
}

impl Steps<'_> {
    /// Only the edges that come after `last`, whatever was taken before. `O(log edges)`.
    pub(super) fn after(mut self, last: &Step) -> Self {
        let comes = |step: Step| step.order(last, self.graph).is_le();
        let past =
            |side, list: &[Half]| list.partition_point(|half| comes(step(self.note, side, half)));
        self.outgoing = &self.outgoing[past(Side::Outgoing, self.outgoing)..];
        self.inbound = &self.inbound[past(Side::Incoming, self.inbound)..];
        self.n_implied_taken = self.implied.partition_point(|step| comes(*step));
        self
    }

    /// The next edge that `keep` wants. Only wanted edges are compared, so a long list costs a look at each entry.
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
            (Label::Hierarchy, Side::Outgoing | Side::Incoming) => self.n_implied_taken += 1,
            (Label::Link { .. }, Side::Outgoing) => self.outgoing = &self.outgoing[1..],
            (Label::Link { .. }, Side::Incoming) => self.inbound = &self.inbound[1..],
        }
        Some(nearest)
    }
}

fn step(at: NoteId, side: Side, half: &Half) -> Step {
    let Half { other, kind, source } = *half;
    Step { at, other, side, label: Label::Link { kind, source } }
}

/// The first wanted item of `list`, which is left standing at it.
fn first<T>(list: &mut &[T], wanted: impl Fn(&T) -> Option<Step>) -> Option<Step> {
    while let [item, rest @ ..] = *list {
        if let Some(step) = wanted(item) {
            return Some(step);
        }
        *list = rest;
    }
    None
}
