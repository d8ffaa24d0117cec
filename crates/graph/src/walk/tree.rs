//! Breadth-first tree around one or more roots.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashSet};

use weft_model::{NoteBits, NoteId, NoteMap, Stopped};

use super::outline::Branch;
use super::step::{Direction, EdgeLabel, EdgeRef, Side, Step};
use super::traversal::{Traversal, WalkOptions};
use super::{WalkError, known};
use crate::NoteGraph;

/// Default maximum number of hops of a tree.
///
/// Source: graph traversal text, "Depth and size limits".
pub const DEFAULT_TREE_HOPS: u32 = 3;

/// Kind of a limit of a tree. The order is that of responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LimitKind {
    /// Hops from the nearest root.
    MaxHops,
    /// Notes in the response, roots included.
    MaxNodes,
    /// Edges in the response, references included.
    MaxEdges,
    /// Edges examined per expanded note.
    MaxFanout,
}

impl LimitKind {
    /// Returns the name used in requests and responses, such as `max_hops`.
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

/// Limits of a tree. `None` means no limit; zero is a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeLimits {
    /// Maximum number of hops from the nearest root; 0 returns the roots alone.
    pub max_hops: Option<u32>,
    /// Maximum number of notes, roots included; at least 1. Once it is reached, edges among admitted notes still appear.
    pub max_nodes: Option<usize>,
    /// Maximum number of edges, references included. The walk ends at the first refused edge.
    pub max_edges: Option<usize>,
    /// Maximum number of eligible, not yet reported edges examined per expanded note.
    pub max_fanout: Option<usize>,
}

impl Default for TreeLimits {
    fn default() -> Self {
        Self {
            max_hops: Some(DEFAULT_TREE_HOPS),
            max_nodes: None,
            max_edges: None,
            max_fanout: None,
        }
    }
}

impl TreeLimits {
    /// No limits.
    pub const NONE: Self =
        Self { max_hops: None, max_nodes: None, max_edges: None, max_fanout: None };
}

/// Limits set by the server, which apply as if the client had sent them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ceiling {
    /// Maximum number of notes.
    pub max_nodes: usize,
    /// Maximum number of edges, and of unresolved links.
    pub max_edges: usize,
}

impl Default for Ceiling {
    /// Source: graph traversal design, "Tree".
    fn default() -> Self {
        Self { max_nodes: 10_000, max_edges: 50_000 }
    }
}

/// Request for a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeRequest {
    /// Roots, all at hop 0, in this order; duplicates are dropped.
    pub roots: Vec<NoteId>,
    /// Edges and notes to follow.
    pub follow: WalkOptions,
    /// Limits set by the client.
    pub limits: TreeLimits,
    /// Limits set by the server.
    pub ceiling: Ceiling,
}

impl TreeRequest {
    /// Returns a request for the tree from `roots` with all defaults: both directions, three hops, all edges.
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

/// Edge by which a note was first reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeEdge {
    /// Note that was expanded.
    pub from: NoteId,
    /// Note that was reached.
    pub to: NoteId,
    /// Hop of `to`.
    pub hop: u32,
    /// Position of the edge in [`Tree::edges`].
    pub edge: usize,
}

/// Edge to a note already in the tree: displayed as `(seen)` and not expanded again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Note that was expanded.
    pub at: NoteId,
    /// Note that was already in the tree; `at` itself for a self loop.
    pub to: NoteId,
    /// Position of the edge in [`Tree::edges`].
    pub edge: usize,
}

/// A link to a placeholder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnresolvedLink {
    /// Note that links.
    pub from: NoteId,
    /// Placeholder that it links to.
    pub target: NoteId,
}

/// Result of a breadth-first walk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// Notes in discovery order, roots first.
    pub nodes: Vec<Visit>,
    /// Edges in discovery order, each once, as stored.
    pub edges: Vec<EdgeRef>,
    /// First edge to each note except the roots, in discovery order.
    pub spanning_tree: Vec<TreeEdge>,
    /// All other edges, in discovery order.
    pub references: Vec<Reference>,
    /// Limits that omitted something, in the order of [`LimitKind`].
    ///
    /// Every limit that refused an edge is listed: raising all listed limits changes the result, raising any other does not.
    pub truncated_by: Vec<LimitKind>,
    /// Unresolved links of the notes above that the filters admit, by note, then in neighbor order; empty if only inbound edges are followed.
    pub unresolved: Vec<UnresolvedLink>,
    /// True if the server limit omitted some of `unresolved`.
    pub unresolved_truncated: bool,
}

impl Tree {
    /// Returns true if a limit omitted anything: exactly if a walk without limits would give another result.
    #[must_use]
    pub const fn truncated(&self) -> bool {
        !self.truncated_by.is_empty()
    }

    /// Returns the tree edges and references in discovery order, by position of their notes in `nodes`.
    #[must_use]
    pub fn branches(&self) -> Vec<Branch> {
        let position: NoteMap<usize> = self.nodes.iter().map(|visit| visit.note).zip(0..).collect();
        let tree_edges = self.spanning_tree.iter().map(|tree| Branch {
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
        let mut branches: Vec<Branch> = tree_edges.chain(seen).collect();
        branches.sort_unstable_by_key(|branch| branch.edge);
        branches
    }
}

/// Returns the breadth-first tree in neighbor order.
///
/// Cost: the notes and edges visited. A hub's list is read only as far as limits allow; once `max_nodes` is reached, each further entry costs one test.
///
/// # Errors
///
/// A root that is not a note, no root, `max_nodes` of 0, or contradicting filters.
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
    let traversal = Traversal::new(graph, follow, roots)?;
    let mut builder = TreeBuilder {
        limits: TreeLimits {
            max_nodes: limits.max_nodes.into_iter().chain([ceiling.max_nodes]).min(),
            max_edges: limits.max_edges.into_iter().chain([ceiling.max_edges]).min(),
            ..*limits
        },
        traversal: &traversal,
        tree: Tree::default(),
        visited: NoteBits::default(),
        expanded: NoteBits::default(),
        fanout_cuts: NoteMap::default(),
        truncated_by: BTreeSet::new(),
    };
    for root in roots {
        builder.add_root(*root);
    }
    builder.build()?;
    let mut tree = builder.tree;
    tree.truncated_by = builder.truncated_by.into_iter().collect();
    list_unresolved(&traversal, &mut tree, ceiling.max_edges);
    Ok(tree)
}

/// State of a tree under construction.
struct TreeBuilder<'r> {
    traversal: &'r Traversal<'r>,
    limits: TreeLimits,
    tree: Tree,
    visited: NoteBits,
    /// Notes whose edges were examined, all or up to their fan-out cut.
    expanded: NoteBits,
    /// By expanded note, the first edge that `max_fanout` omitted.
    fanout_cuts: NoteMap<Step>,
    truncated_by: BTreeSet<LimitKind>,
}

impl TreeBuilder<'_> {
    fn add_root(&mut self, root: NoteId) {
        if self.visited.contains(root) {
            return;
        }
        if self.is_full() {
            self.truncated_by.insert(LimitKind::MaxNodes);
        } else {
            self.visited.insert(root);
            self.tree.nodes.push(Visit { note: root, hop: 0 });
        }
    }

    fn build(&mut self) -> Result<(), Stopped> {
        let mut next = 0;
        while let Some(visit) = self.tree.nodes.get(next).copied() {
            self.traversal.check()?;
            if !self.expand(visit) {
                break;
            }
            next += 1;
        }
        Ok(())
    }

    /// Examines the edges of one note; returns false if the walk ends with it.
    fn expand(&mut self, Visit { note, hop }: Visit) -> bool {
        let mut steps = self.traversal.steps(note);
        let mut n_met = 0;
        loop {
            let closed = self.skips_new_notes(hop);
            let Some(step) = steps.next(|step| self.is_candidate(step, closed)) else { break };
            let refused_by = self.refusing_limits(&step, hop, n_met);
            self.truncated_by.extend(&refused_by);
            // Every queued note is as far away, and no further edge would fit.
            if refused_by.contains(&LimitKind::MaxHops) || refused_by.contains(&LimitKind::MaxEdges)
            {
                return false;
            }
            if refused_by.contains(&LimitKind::MaxFanout) {
                self.fanout_cuts.insert(note, step);
                break;
            }
            if refused_by.is_empty() {
                self.report(step, hop + 1);
                if closed && !self.skips_new_notes(hop) {
                    // Skipped edges after this one count again.
                    steps = self.traversal.steps(note).after(&step);
                }
            }
            n_met += 1;
        }
        self.expanded.insert(note);
        true
    }

    /// Returns true if the edge is eligible and not yet reported.
    fn is_candidate(&self, step: &Step, closed: bool) -> bool {
        // The cheapest test comes first: most entries of a long list fail it once new notes are refused.
        let is_known = self.visited.contains(step.other);
        (is_known || !closed)
            && self.traversal.admits_label(step.label)
            && if is_known {
                !self.is_reported(step)
            } else {
                self.traversal.admits_note(step.other)
            }
    }

    /// Returns true if the other end was expanded before and reported this edge before its fan-out cut.
    fn is_reported(&self, step: &Step) -> bool {
        self.traversal.direction == Direction::Both
            && self.expanded.contains(step.other)
            && self
                .fanout_cuts
                .get(&step.other)
                .is_none_or(|cut| step.turned().order(cut, self.traversal.graph) == Ordering::Less)
    }

    /// Returns every limit that refuses this edge.
    fn refusing_limits(&self, step: &Step, hop: u32, n_met: usize) -> Vec<LimitKind> {
        let reached = |limit: Option<usize>, count| limit.is_some_and(|limit| count >= limit);
        let TreeLimits { max_hops, max_nodes: _, max_edges, max_fanout } = self.limits;
        let is_new = !self.visited.contains(step.other);
        [
            (LimitKind::MaxHops, max_hops.is_some_and(|limit| hop >= limit)),
            (LimitKind::MaxNodes, is_new && self.is_full()),
            (LimitKind::MaxEdges, reached(max_edges, self.tree.edges.len())),
            (LimitKind::MaxFanout, reached(max_fanout, n_met)),
        ]
        .into_iter()
        .filter_map(|(limit, refuses)| refuses.then_some(limit))
        .collect()
    }

    fn is_full(&self) -> bool {
        self.limits.max_nodes.is_some_and(|limit| self.tree.nodes.len() >= limit)
    }

    /// Returns true if edges to new notes can be skipped: only `max_nodes` would refuse them, and it is already listed.
    fn skips_new_notes(&self, hop: u32) -> bool {
        let TreeLimits { max_hops, max_nodes: _, max_edges, max_fanout } = self.limits;
        self.is_full()
            && self.truncated_by.contains(&LimitKind::MaxNodes)
            && max_fanout.is_none()
            && max_hops.is_none_or(|limit| hop < limit)
            && max_edges.is_none_or(|limit| self.tree.edges.len() < limit)
    }

    fn report(&mut self, step: Step, hop: u32) {
        let Step { at, other, .. } = step;
        let edge = self.tree.edges.len();
        self.tree.edges.push(step.edge());
        // The note is marked when first reached, so that a second edge to it from the same note is a reference.
        if self.visited.insert(other) {
            self.tree.nodes.push(Visit { note: other, hop });
            self.tree.spanning_tree.push(TreeEdge { from: at, to: other, hop, edge });
        } else {
            self.tree.references.push(Reference { at, to: other, edge });
        }
    }
}

fn list_unresolved(traversal: &Traversal<'_>, tree: &mut Tree, upper_bound: usize) {
    if !traversal.direction.follows(Side::Outgoing) {
        return;
    }
    let mut listed = HashSet::new();
    for Visit { note, .. } in &tree.nodes {
        for half in traversal.graph.outgoing(*note) {
            let label = EdgeLabel::Link { kind: half.kind, source: half.source };
            if traversal.graph.is_placeholder(half.other)
                && traversal.admits_label(label)
                && listed.insert((*note, half.other))
            {
                if tree.unresolved.len() == upper_bound {
                    tree.unresolved_truncated = true;
                    return;
                }
                tree.unresolved.push(UnresolvedLink { from: *note, target: half.other });
            }
        }
    }
}
