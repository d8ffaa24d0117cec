//! The tree of first discoveries around some roots.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashSet};

use weft_model::{NoteBits, NoteId, NoteMap, Stopped};

use super::follow::{Follow, Rules};
use super::outline::Branch;
use super::step::{Direction, EdgeRef, Label, Side, Step};
use super::{WalkError, known};
use crate::NoteGraph;

/// Hops of a tree where the caller names no number.
///
/// Source: graph traversal text, "Depth and size limits".
pub const DEFAULT_TREE_HOPS: u32 = 3;

/// A bound of a tree. The order is that of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// Hops from the nearest root.
    MaxHops,
    /// Notes in the answer, roots included.
    MaxNodes,
    /// Edges in the answer, references included.
    MaxEdges,
    /// Edges looked at per expanded note.
    MaxFanout,
}

impl Limit {
    /// The name that requests and answers use, such as `max_hops`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::MaxHops => "max_hops",
            Self::MaxNodes => "max_nodes",
            Self::MaxEdges => "max_edges",
            Self::MaxFanout => "max_fanout",
        }
    }
}

/// How far a tree may grow. Zero is a value; nothing means no such limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Hops from the nearest root; 0 gives the roots alone.
    pub max_hops: Option<u32>,
    /// Notes, roots included; at least 1. Once full, edges among admitted notes still appear.
    pub max_nodes: Option<usize>,
    /// Edges, references included; the walk ends at the first one refused.
    pub max_edges: Option<usize>,
    /// Eligible, not yet reported edges of an expanded note that are looked at.
    pub max_fanout: Option<usize>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_hops: Some(DEFAULT_TREE_HOPS),
            max_nodes: None,
            max_edges: None,
            max_fanout: None,
        }
    }
}

impl Limits {
    /// No limit at all.
    pub const NONE: Self =
        Self { max_hops: None, max_nodes: None, max_edges: None, max_fanout: None };
}

/// Bounds that the server sets: they act as if the caller had sent them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ceiling {
    /// At most so many notes.
    pub max_nodes: usize,
    /// At most so many edges, and as many unresolved links.
    pub max_edges: usize,
}

impl Default for Ceiling {
    /// Source: graph traversal design, "Tree".
    fn default() -> Self {
        Self { max_nodes: 10_000, max_edges: 50_000 }
    }
}

/// What tree is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeRequest {
    /// Where to start, all at hop 0, in this order; repeats are dropped.
    pub roots: Vec<NoteId>,
    /// What is followed.
    pub follow: Follow,
    /// How far.
    pub limits: Limits,
    /// How far at most, whatever the limits say.
    pub ceiling: Ceiling,
}

impl TreeRequest {
    /// The tree from `roots` with all defaults: both directions, three hops, all edges.
    pub fn from_roots(roots: impl IntoIterator<Item = NoteId>) -> Self {
        Self { roots: roots.into_iter().collect(), ..Self::default() }
    }
}

/// A note of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    /// The note.
    pub note: NoteId,
    /// Hops from the nearest root.
    pub hop: u32,
}

/// An edge by which a note was first reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeEdge {
    /// The note that was expanded.
    pub from: NoteId,
    /// The note that was reached.
    pub to: NoteId,
    /// The hop of `to`.
    pub hop: u32,
    /// Position of the edge in [`Tree::edges`].
    pub edge: usize,
}

/// An edge to a note that was already there: shown as `(seen)`, not expanded again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The note that was expanded.
    pub at: NoteId,
    /// The note that was already there; `at` itself for a self loop.
    pub to: NoteId,
    /// Position of the edge in [`Tree::edges`].
    pub edge: usize,
}

/// A link that nothing answers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnresolvedLink {
    /// The note that links.
    pub from: NoteId,
    /// The placeholder it links to.
    pub target: NoteId,
}

/// A breadth-first walk, written down.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// Notes in discovery order, roots first.
    pub nodes: Vec<Visit>,
    /// Edges in the order met, each once, as stored.
    pub edges: Vec<EdgeRef>,
    /// How each note but the roots was first reached, in discovery order.
    pub spanning_tree: Vec<TreeEdge>,
    /// The other edges, in the order met.
    pub references: Vec<Reference>,
    /// The limits that kept something back, in the order of [`Limit`].
    ///
    /// All that held an edge are named, so raising the named ones gives another answer, and raising any other changes nothing.
    pub truncated_by: Vec<Limit>,
    /// Unresolved links of the notes above that the filters let pass, by note, then in neighbour order; none where only inbound edges are followed.
    pub unresolved: Vec<UnresolvedLink>,
    /// Whether the ceiling kept back some of `unresolved`.
    pub more_unresolved: bool,
}

impl Tree {
    /// Whether a limit kept anything back: exactly when a walk without limits would answer differently.
    #[must_use]
    pub const fn truncated(&self) -> bool {
        !self.truncated_by.is_empty()
    }

    /// The tree edges and references in the order met, by position of their notes in `nodes`.
    #[must_use]
    pub fn branches(&self) -> Vec<Branch> {
        let position: NoteMap<usize> = self.nodes.iter().map(|visit| visit.note).zip(0..).collect();
        let grown = self.spanning_tree.iter().map(|tree| Branch {
            at: position[&tree.from],
            to: position[&tree.to],
            edge: tree.edge,
            seen: false,
        });
        let seen = self.references.iter().map(|reference| Branch {
            at: position[&reference.at],
            to: position[&reference.to],
            edge: reference.edge,
            seen: true,
        });
        let mut branches: Vec<Branch> = grown.chain(seen).collect();
        branches.sort_unstable_by_key(|branch| branch.edge);
        branches
    }
}

/// The tree of first discoveries, breadth-first in neighbour order.
///
/// Costs what is visited: a hub's list is read as far as limits let it be, and past a full `max_nodes` each entry costs a look.
///
/// # Errors
///
/// A root that is no note, no root at all, `max_nodes` of 0, or filters that exclude each other.
pub fn tree(graph: &NoteGraph, request: &TreeRequest) -> Result<Tree, WalkError> {
    let TreeRequest { roots, follow, limits, ceiling } = request;
    if roots.is_empty() {
        return Err(WalkError::NoRoot);
    }
    if limits.max_nodes == Some(0) {
        return Err(WalkError::NoNodes);
    }
    for root in roots {
        known(graph, *root)?;
    }
    let rules = Rules::new(graph, follow, roots)?;
    let mut growth = Growth {
        limits: Limits {
            max_nodes: limits.max_nodes.into_iter().chain([ceiling.max_nodes]).min(),
            max_edges: limits.max_edges.into_iter().chain([ceiling.max_edges]).min(),
            ..*limits
        },
        rules: &rules,
        tree: Tree::default(),
        visited: NoteBits::default(),
        expanded: NoteBits::default(),
        cuts: NoteMap::default(),
        truncated_by: BTreeSet::new(),
    };
    for root in roots {
        growth.plant(*root);
    }
    growth.grow()?;
    let mut tree = growth.tree;
    tree.truncated_by = growth.truncated_by.into_iter().collect();
    list_unresolved(&rules, &mut tree, ceiling.max_edges);
    Ok(tree)
}

/// A tree while it grows.
struct Growth<'r> {
    rules: &'r Rules<'r>,
    limits: Limits,
    tree: Tree,
    visited: NoteBits,
    /// Notes whose edges were met, all or up to their cut.
    expanded: NoteBits,
    /// The first edge that `max_fanout` kept back, by expanded note.
    cuts: NoteMap<Step>,
    truncated_by: BTreeSet<Limit>,
}

impl Growth<'_> {
    fn plant(&mut self, root: NoteId) {
        if self.visited.contains(root) {
            return;
        }
        if self.is_full() {
            self.truncated_by.insert(Limit::MaxNodes);
        } else {
            self.visited.insert(root);
            self.tree.nodes.push(Visit { note: root, hop: 0 });
        }
    }

    fn grow(&mut self) -> Result<(), Stopped> {
        let mut next = 0;
        while let Some(visit) = self.tree.nodes.get(next).copied() {
            self.rules.check()?;
            if !self.expand(visit) {
                break;
            }
            next += 1;
        }
        Ok(())
    }

    /// Meets the edges of one note; false when the walk ends with it.
    fn expand(&mut self, Visit { note, hop }: Visit) -> bool {
        let mut steps = self.rules.steps(note);
        let mut n_met = 0;
        loop {
            let closed = self.is_closed(hop);
            let Some(step) = steps.next(|step| self.is_open(step, closed)) else { break };
            let holds = self.holds(&step, hop, n_met);
            self.truncated_by.extend(&holds);
            // Every note still queued is as far away, and no further edge would fit.
            if holds.contains(&Limit::MaxHops) || holds.contains(&Limit::MaxEdges) {
                return false;
            }
            if holds.contains(&Limit::MaxFanout) {
                self.cuts.insert(note, step);
                break;
            }
            if holds.is_empty() {
                self.report(step, hop + 1);
                if closed && !self.is_closed(hop) {
                    // What was passed over beyond this edge counts again.
                    steps = self.rules.steps(note).after(&step);
                }
            }
            n_met += 1;
        }
        self.expanded.insert(note);
        true
    }

    /// Whether the edge is eligible and not yet reported.
    fn is_open(&self, step: &Step, closed: bool) -> bool {
        // The cheapest question comes first: of a long list closed to new notes, little more is asked.
        let is_known = self.visited.contains(step.other);
        (is_known || !closed)
            && self.rules.label(step.label)
            && if is_known { !self.is_reported(step) } else { self.rules.note(step.other) }
    }

    /// Whether the other end was expanded before and met this edge ahead of its cut.
    fn is_reported(&self, step: &Step) -> bool {
        self.rules.direction == Direction::Both
            && self.expanded.contains(step.other)
            && self
                .cuts
                .get(&step.other)
                .is_none_or(|cut| step.turned().order(cut, self.rules.graph) == Ordering::Less)
    }

    /// The limits that keep this edge back, each for itself.
    fn holds(&self, step: &Step, hop: u32, n_met: usize) -> Vec<Limit> {
        let reached = |limit: Option<usize>, count| limit.is_some_and(|limit| count >= limit);
        let Limits { max_hops, max_nodes: _, max_edges, max_fanout } = self.limits;
        let is_new = !self.visited.contains(step.other);
        [
            (Limit::MaxHops, max_hops.is_some_and(|limit| hop >= limit)),
            (Limit::MaxNodes, is_new && self.is_full()),
            (Limit::MaxEdges, reached(max_edges, self.tree.edges.len())),
            (Limit::MaxFanout, reached(max_fanout, n_met)),
        ]
        .into_iter()
        .filter_map(|(limit, holds)| holds.then_some(limit))
        .collect()
    }

    fn is_full(&self) -> bool {
        self.limits.max_nodes.is_some_and(|limit| self.tree.nodes.len() >= limit)
    }

    /// Whether edges to further notes can be passed over unseen: `max_nodes` alone would keep them back, and that is known.
    fn is_closed(&self, hop: u32) -> bool {
        let Limits { max_hops, max_nodes: _, max_edges, max_fanout } = self.limits;
        self.is_full()
            && self.truncated_by.contains(&Limit::MaxNodes)
            && max_fanout.is_none()
            && max_hops.is_none_or(|limit| hop < limit)
            && max_edges.is_none_or(|limit| self.tree.edges.len() < limit)
    }

    fn report(&mut self, step: Step, hop: u32) {
        let Step { at, other, .. } = step;
        let edge = self.tree.edges.len();
        self.tree.edges.push(step.edge());
        // Marked when first reached, so that a second edge to it in the same breath is a reference.
        if self.visited.insert(other) {
            self.tree.nodes.push(Visit { note: other, hop });
            self.tree.spanning_tree.push(TreeEdge { from: at, to: other, hop, edge });
        } else {
            self.tree.references.push(Reference { at, to: other, edge });
        }
    }
}

fn list_unresolved(rules: &Rules<'_>, tree: &mut Tree, at_most: usize) {
    if !rules.direction.follows(Side::Outgoing) {
        return;
    }
    let mut listed = HashSet::new();
    for Visit { note, .. } in &tree.nodes {
        for half in rules.graph.outgoing(*note) {
            let label = Label::Link { kind: half.kind, source: half.source };
            if rules.graph.is_placeholder(half.other)
                && rules.label(label)
                && listed.insert((*note, half.other))
            {
                if tree.unresolved.len() == at_most {
                    tree.more_unresolved = true;
                    return;
                }
                tree.unresolved.push(UnresolvedLink { from: *note, target: half.other });
            }
        }
    }
}
