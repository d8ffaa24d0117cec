//! Registry of relations, one row each.

use weft_model::{LinkSource, NoteId, link::INLINE_TYPE};

use super::relation::{
    Priority::{self, P1, P2, P3, P4},
    Relation,
};
use super::request::Options;
use crate::NoteGraph;

/// Notes found from one source, best first.
///
/// Lazy: a hub costs only the entries that are read.
pub type Members<'g> = Box<dyn Iterator<Item = NoteId> + 'g>;

/// A list of the focus note that fetched notes are added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FocusList {
    /// Children.
    Children,
    /// Notes about it.
    Referrings,
    /// Siblings before it; the nearest is found first and listed last.
    PriorSiblings,
    /// Siblings after it.
    YoungerSiblings,
}

/// One row: the name of a relation, its level, its sources, and how it finds notes.
#[derive(Clone, Copy, Debug)]
pub struct Strategy {
    /// Relation of the notes it finds. Rows of the same relation share one cursor: a later row is a further source.
    pub relation: Relation,
    /// Level whose turns it takes.
    pub priority: Priority,
    /// Relation whose fetched notes are its sources; [`Relation::Focus`] is the start.
    pub grows_from: Relation,
    /// List of the focus note that its notes are added to.
    pub fills: Option<FocusList>,
    /// Returns true if the options enable it.
    pub wanted: fn(&Options) -> bool,
    /// Returns the notes it finds from one source.
    pub related: for<'g> fn(&'g NoteGraph, NoteId) -> Members<'g>,
    /// Identifies the list that a source finds, apart from the source itself, if several sources find the same list.
    pub list: SharedListKey,
}

/// Returns the note that identifies the list of a source; `None` if no other source finds the same list.
type SharedListKey = fn(&NoteGraph, NoteId) -> Option<NoteId>;

/// The registry. The order of rows within a level is the order of its ring.
///
/// Source: Graph RAG design, "Priorities" and "Links Between Relationship Types".
pub const STRATEGIES: &[Strategy] = &[
    row(Relation::Parent, P1, Relation::Focus, parent),
    row(Relation::Object, P1, Relation::Focus, object),
    row(Relation::Child, P2, Relation::Focus, children).fills(FocusList::Children),
    row(Relation::PriorSibling, P2, Relation::Focus, prior_siblings)
        .fills(FocusList::PriorSiblings),
    row(Relation::YoungerSibling, P2, Relation::Focus, younger_siblings)
        .fills(FocusList::YoungerSiblings),
    row(Relation::ReferringNote, P2, Relation::Focus, referrings).fills(FocusList::Referrings),
    row(Relation::ReferringNote, P2, Relation::Focus, linking)
        .fills(FocusList::Referrings)
        .wanted(|options| options.body_links),
    row(Relation::NoteInContextualPath, P2, Relation::Focus, ancestors),
    row(Relation::NoteInObjectContextualPath, P2, Relation::Focus, object_ancestors),
    row(Relation::ReifiedChildObject, P3, Relation::Child, object),
    row(Relation::ParentSibling, P3, Relation::Focus, parent_siblings),
    row(Relation::ObjectParentSibling, P3, Relation::Focus, object_parent_siblings),
    row(Relation::ReferringSubject, P3, Relation::ReferringNote, parent),
    row(Relation::SiblingOfTarget, P3, Relation::Focus, siblings_of_target)
        .wanted(|options| options.sibling_of_target),
    row(Relation::ParentSiblingChild, P4, Relation::ParentSibling, children),
    row(Relation::ObjectParentSiblingChild, P4, Relation::ObjectParentSibling, children),
    row(Relation::NoteInReferringContextualPath, P4, Relation::ReferringNote, ancestors),
    row(Relation::ReferringCousin, P4, Relation::ReferringNote, other_siblings).shared(parent_of),
];

const fn row(
    relation: Relation,
    priority: Priority,
    grows_from: Relation,
    related: for<'g> fn(&'g NoteGraph, NoteId) -> Members<'g>,
) -> Strategy {
    Strategy {
        relation,
        priority,
        grows_from,
        fills: None,
        wanted: |_| true,
        related,
        list: |_, _| None,
    }
}

impl Relation {
    /// Returns the level of the relation; `None` for the focus note itself.
    #[must_use]
    pub fn priority(self) -> Option<Priority> {
        STRATEGIES.iter().find(|row| row.relation == self).map(|row| row.priority)
    }
}

impl Strategy {
    const fn fills(self, list: FocusList) -> Self {
        Self { fills: Some(list), ..self }
    }

    const fn wanted(self, wanted: fn(&Options) -> bool) -> Self {
        Self { wanted, ..self }
    }

    const fn shared(self, list: SharedListKey) -> Self {
        Self { list, ..self }
    }
}

fn parent(graph: &NoteGraph, note: NoteId) -> Members<'_> {
    Box::new(graph.parent(note).into_iter())
}

fn object(graph: &NoteGraph, note: NoteId) -> Members<'_> {
    Box::new(graph.object(note).into_iter())
}

fn children(graph: &NoteGraph, note: NoteId) -> Members<'_> {
    Box::new(graph.children(note).iter().copied())
}

fn parent_of(graph: &NoteGraph, note: NoteId) -> Option<NoteId> {
    graph.parent(note)
}

/// Returns the siblings before `note`, nearest first.
fn prior_siblings(graph: &NoteGraph, note: NoteId) -> Members<'_> {
    let (before, _) = around(graph, note);
    Box::new(before.iter().rev().copied())
}

/// Returns the siblings after `note`, nearest first.
fn younger_siblings(graph: &NoteGraph, note: NoteId) -> Members<'_> {
    let (_, after) = around(graph, note);
    Box::new(after.iter().copied())
}

/// Returns the siblings of `note` in sibling order.
fn other_siblings(graph: &NoteGraph, note: NoteId) -> Members<'_> {
    let (before, after) = around(graph, note);
    Box::new(before.iter().chain(after).copied())
}

/// Returns the reifications about `note`, by uri.
fn referrings(graph: &NoteGraph, note: NoteId) -> Members<'_> {
    Box::new(graph.referrings(note).iter().copied())
}

/// Returns the notes whose bodies link to `note`, by uri.
fn linking(graph: &NoteGraph, note: NoteId) -> Members<'_> {
    let halves = graph.inbound(note);
    let start = halves.partition_point(|half| graph.kind(half.kind) < INLINE_TYPE);
    let of_type = move |half: &&crate::HalfEdge| graph.kind(half.kind) == INLINE_TYPE;
    Box::new(
        halves[start..]
            .iter()
            .take_while(of_type)
            .filter(|half| half.source == LinkSource::Inline)
            .map(|half| half.other),
    )
}

fn ancestors(graph: &NoteGraph, note: NoteId) -> Members<'_> {
    Box::new(graph.ancestors(note))
}

fn object_ancestors(graph: &NoteGraph, note: NoteId) -> Members<'_> {
    Box::new(graph.object(note).into_iter().flat_map(|object| graph.ancestors(object)))
}

fn parent_siblings(graph: &NoteGraph, note: NoteId) -> Members<'_> {
    Box::new(graph.parent(note).into_iter().flat_map(|parent| spiral(graph, parent)))
}

fn object_parent_siblings(graph: &NoteGraph, note: NoteId) -> Members<'_> {
    Box::new(graph.object(note).into_iter().flat_map(|object| parent_siblings(graph, object)))
}

/// Returns the other reifications about the object of `note`, by uri.
fn siblings_of_target(graph: &NoteGraph, note: NoteId) -> Members<'_> {
    let about = graph.object(note).map_or(&[][..], |object| graph.referrings(object));
    Box::new(about.iter().copied().filter(move |other| *other != note))
}

/// Returns the siblings of `note` from the nearest outwards: −1, +1, −2, +2 and so on; if one side ends, the other continues.
fn spiral(graph: &NoteGraph, note: NoteId) -> impl Iterator<Item = NoteId> + '_ {
    let (before, after) = around(graph, note);
    let (mut before, mut after) = (before.iter().rev().copied(), after.iter().copied());
    let mut prior_next = false;
    std::iter::from_fn(move || {
        prior_next = !prior_next;
        if prior_next {
            before.next().or_else(|| after.next())
        } else {
            after.next().or_else(|| before.next())
        }
    })
}

/// Returns the siblings before and after `note`; empty for a root.
fn around(graph: &NoteGraph, note: NoteId) -> (&[NoteId], &[NoteId]) {
    graph.siblings(note).map_or((&[], &[]), |(all, at)| (&all[..at], &all[at + 1..]))
}
