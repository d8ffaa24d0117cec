//! Registry of relations, one row each.

use std::collections::VecDeque;

use weft_model::{LinkSource, NoteId, link::INLINE_TYPE};

use super::relation::{
    Priority::{self, P1, P2, P3, P4, P5, P6},
    Relation,
};
use super::request::Request;
use super::surroundings::{
    FolderSiblings,
    LeftOut::{self, Far, LessThanSimilar, Unconnected},
    Reason, Surroundings,
};
use crate::NoteGraph;

/// Notes found from one source, best first.
///
/// Lazy: a hub costs only the entries that are read.
pub type Members<'g> = Box<dyn Iterator<Item = NoteId> + 'g>;

/// Notes found around the focus note, best first, each with the reason if the relation alone does not say it.
pub type ReasonedMembers<'s> = Box<dyn Iterator<Item = (NoteId, Option<Reason>)> + 's>;

/// How a relation finds notes.
#[derive(Clone, Copy, Debug)]
pub enum Finder {
    /// In the graph, from any source.
    Graph(for<'g> fn(&'g NoteGraph, NoteId) -> Members<'g>),
    /// In the surroundings of the focus note, its only source.
    Surroundings(for<'s> fn(&'s dyn Surroundings) -> ReasonedMembers<'s>),
}

impl Finder {
    /// Returns the notes found from `source`; none without the surroundings that the relation needs.
    fn members<'g>(
        self,
        graph: &'g NoteGraph,
        surroundings: Option<&'g dyn Surroundings>,
        source: NoteId,
    ) -> ReasonedMembers<'g> {
        match (self, surroundings) {
            (Self::Graph(related), _) => Box::new(related(graph, source).map(|note| (note, None))),
            (Self::Surroundings(related), Some(surroundings)) => related(surroundings),
            (Self::Surroundings(_), None) => Box::new(std::iter::empty()),
        }
    }
}

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
    /// Returns true if the request enables it.
    pub wanted: fn(&Request<'_>) -> bool,
    /// Finds its notes from one source.
    pub related: Finder,
    /// True if notes with almost no text come after the others. Not for a relation that fills a list, which keeps its order.
    pub stubs_last: bool,
    /// Notes that are left out with [`Relations::Auto`](super::Relations::Auto).
    pub left_out: LeftOut,
    /// Identifies the list that a source finds, apart from the source itself, if several sources find the same list.
    pub list: SharedListKey,
}

/// Returns the note that identifies the list of a source; `None` if no other source finds the same list.
type SharedListKey = fn(&NoteGraph, NoteId) -> Option<NoteId>;

/// The registry. The order of rows within a level is the order of its ring.
///
/// Source: Graph RAG design, "Priorities" and "Links Between Relationship Types"; the rows of `found_around` are additions, in every level after the relations of the design text.
pub const STRATEGIES: &[Strategy] = &[
    row(Relation::Parent, P1, Relation::Focus, parent)
        .wanted(|request| !request.has_assumed_parent()),
    row(Relation::Object, P1, Relation::Focus, object),
    found_around(Relation::Linked, P1, linked).stubs_last(),
    row(Relation::Child, P2, Relation::Focus, children).fills(FocusList::Children),
    row(Relation::PriorSibling, P2, Relation::Focus, prior_siblings)
        .fills(FocusList::PriorSiblings)
        .without(Far)
        .wanted(|request| request.folder_siblings().is_none()),
    found_around(Relation::PriorSibling, P2, before_in_folder)
        .fills(FocusList::PriorSiblings)
        .without(Far),
    row(Relation::YoungerSibling, P2, Relation::Focus, younger_siblings)
        .fills(FocusList::YoungerSiblings)
        .without(Far)
        .wanted(|request| request.folder_siblings().is_none()),
    found_around(Relation::YoungerSibling, P2, after_in_folder)
        .fills(FocusList::YoungerSiblings)
        .without(Far),
    row(Relation::ReferringNote, P2, Relation::Focus, referrings).fills(FocusList::Referrings),
    row(Relation::ReferringNote, P2, Relation::Focus, linking)
        .fills(FocusList::Referrings)
        .wanted(|request| request.options.body_links),
    row(Relation::NoteInContextualPath, P2, Relation::Focus, ancestors)
        .wanted(|request| !request.has_assumed_parent()),
    row(Relation::NoteInObjectContextualPath, P2, Relation::Focus, object_ancestors),
    row(Relation::LinkedFrom, P2, Relation::Focus, linked_from)
        .stubs_last()
        .wanted(|request| request.is_auto()),
    row(Relation::ReifiedChildObject, P3, Relation::Child, object),
    row(Relation::ParentSibling, P3, Relation::Focus, parent_siblings)
        .without(Unconnected)
        .wanted(|request| !request.has_assumed_parent()),
    row(Relation::ObjectParentSibling, P3, Relation::Focus, object_parent_siblings),
    row(Relation::ReferringSubject, P3, Relation::ReferringNote, parent),
    row(Relation::SiblingOfTarget, P3, Relation::Focus, siblings_of_target)
        .wanted(|request| request.options.sibling_of_target),
    found_around(Relation::TopicSibling, P3, topic_siblings).without(Far).stubs_last(),
    row(Relation::ParentSiblingChild, P4, Relation::ParentSibling, children),
    row(Relation::ObjectParentSiblingChild, P4, Relation::ObjectParentSibling, children),
    row(Relation::NoteInReferringContextualPath, P4, Relation::ReferringNote, ancestors),
    row(Relation::ReferringCousin, P4, Relation::ReferringNote, other_siblings).shared(parent_of),
    found_around(Relation::Similar, P5, similar).stubs_last(),
    found_around(Relation::SameFolder, P6, same_folder).without(LessThanSimilar).stubs_last(),
    found_around(Relation::Linked, P6, linked_hubs).stubs_last(),
    row(Relation::Parent, P6, Relation::Focus, parent)
        .wanted(|request| request.has_assumed_parent()),
    row(Relation::NoteInContextualPath, P6, Relation::Focus, ancestors)
        .wanted(|request| request.has_assumed_parent()),
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
        related: Finder::Graph(related),
        stubs_last: false,
        left_out: LeftOut::Nothing,
        list: |_, _| None,
    }
}

/// Returns a row of [`Relations::Auto`](super::Relations::Auto): it finds notes in the surroundings of the focus note.
const fn found_around(
    relation: Relation,
    priority: Priority,
    related: for<'s> fn(&'s dyn Surroundings) -> ReasonedMembers<'s>,
) -> Strategy {
    Strategy {
        relation,
        priority,
        grows_from: Relation::Focus,
        fills: None,
        wanted: |request| request.is_auto(),
        related: Finder::Surroundings(related),
        stubs_last: false,
        left_out: LeftOut::Nothing,
        list: |_, _| None,
    }
}

impl Strategy {
    /// Returns the notes found from `source`, best first.
    pub(super) fn members<'g>(
        &self,
        graph: &'g NoteGraph,
        surroundings: Option<&'g dyn Surroundings>,
        source: NoteId,
    ) -> ReasonedMembers<'g> {
        let mut members = self.related.members(graph, surroundings, source);
        let Some(surroundings) = surroundings else { return members };
        if self.left_out != LeftOut::Nothing {
            let beside =
                if self.relation == Relation::ParentSibling { graph.parent(source) } else { None };
            let peer = beside.unwrap_or(source);
            members = without(members, self.left_out, peer, surroundings);
        }
        if self.stubs_last { stubs_last(members, surroundings) } else { members }
    }

    const fn stubs_last(self) -> Self {
        Self { stubs_last: true, ..self }
    }

    const fn without(self, left_out: LeftOut) -> Self {
        Self { left_out, ..self }
    }

    const fn fills(self, list: FocusList) -> Self {
        Self { fills: Some(list), ..self }
    }

    const fn wanted(self, wanted: fn(&Request<'_>) -> bool) -> Self {
        Self { wanted, ..self }
    }

    const fn shared(self, list: SharedListKey) -> Self {
        Self { list, ..self }
    }
}

/// Maximum number of consecutive notes that are left out before the rest of a list is, so that a hub costs what is read of it.
const MAX_LEFT_OUT: usize = 1000;

/// Leaves notes out of `members`.
fn without<'s>(
    mut members: ReasonedMembers<'s>,
    left_out: LeftOut,
    peer: NoteId,
    surroundings: &'s dyn Surroundings,
) -> ReasonedMembers<'s> {
    Box::new(std::iter::from_fn(move || {
        let mut next = members.by_ref().take(MAX_LEFT_OUT);
        next.find(|(note, _)| !left_out.contains(*note, peer, surroundings))
    }))
}

/// Maximum number of stubs that wait for other notes, so that a hub of stubs costs what is read of it.
const MAX_WAITING_STUBS: usize = 1000;

/// Moves the notes with almost no text behind the others; both keep their order.
fn stubs_last<'s>(
    mut members: ReasonedMembers<'s>,
    surroundings: &'s dyn Surroundings,
) -> ReasonedMembers<'s> {
    let mut stubs = VecDeque::new();
    Box::new(std::iter::from_fn(move || {
        while stubs.len() < MAX_WAITING_STUBS
            && let Some(found) = members.next()
        {
            if !surroundings.is_stub(found.0) {
                return Some(found);
            }
            stubs.push_back(found);
        }
        stubs.pop_front()
    }))
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

/// Maximum number of linking notes that are sorted by their number of links. More are read by type and uri, so that a hub costs what is read of it.
const MAX_SORTED_LINKING: usize = 1000;

/// Returns the notes that link to `note` in any way: those with few links first, since they are more about it, then by uri.
fn linked_from(graph: &NoteGraph, note: NoteId) -> Members<'_> {
    let halves = graph.inbound(note);
    let linking = halves.iter().map(|half| half.other).filter(move |other| *other != note);
    if halves.len() > MAX_SORTED_LINKING {
        return Box::new(linking);
    }
    let mut sorted: Vec<NoteId> = linking.collect();
    sorted.sort_unstable_by(|a, b| {
        let n_links = |id: &NoteId| graph.degrees(*id).outgoing;
        n_links(a).cmp(&n_links(b)).then_with(|| graph.uri(*a).cmp(graph.uri(*b)))
    });
    sorted.dedup();
    Box::new(sorted.into_iter())
}

/// Returns the notes that the focus note links to, except hubs.
fn linked(surroundings: &dyn Surroundings) -> ReasonedMembers<'_> {
    Box::new(surroundings.linked().iter().map(|note| (*note, None)))
}

/// Returns the hubs that the focus note links to.
fn linked_hubs(surroundings: &dyn Surroundings) -> ReasonedMembers<'_> {
    Box::new(surroundings.linked_hubs().iter().map(|note| (*note, None)))
}

fn before_in_folder(surroundings: &dyn Surroundings) -> ReasonedMembers<'_> {
    let before =
        surroundings.folder_siblings().map_or(&[][..], |FolderSiblings { before, .. }| before);
    Box::new(before.iter().rev().map(|note| (*note, Some(Reason::Folder))))
}

fn after_in_folder(surroundings: &dyn Surroundings) -> ReasonedMembers<'_> {
    let after =
        surroundings.folder_siblings().map_or(&[][..], |FolderSiblings { after, .. }| after);
    Box::new(after.iter().map(|note| (*note, Some(Reason::Folder))))
}

fn topic_siblings(surroundings: &dyn Surroundings) -> ReasonedMembers<'_> {
    let siblings = surroundings.topic_siblings().iter();
    Box::new(siblings.map(|(note, topic)| (*note, Some(Reason::Topic(*topic)))))
}

fn similar(surroundings: &dyn Surroundings) -> ReasonedMembers<'_> {
    let similar = surroundings.similar().iter();
    Box::new(similar.map(|(note, similarity)| (*note, Some(Reason::Similarity(*similarity)))))
}

/// Returns the notes nearest in the folder.
fn same_folder(surroundings: &dyn Surroundings) -> ReasonedMembers<'_> {
    let near = surroundings.same_folder().iter();
    Box::new(near.map(|note| (*note, Some(Reason::Folder))))
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
