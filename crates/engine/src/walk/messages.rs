//! Requests and answers of walks.

use std::collections::BTreeMap;

use weft_graph::Degrees;
use weft_graph::walk::{Direction, EdgeFilter, EdgeLabel, LimitKind, TreeLimits};
use weft_model::{LinkSource, Uri};

#[cfg(doc)]
use super::WalkSettings;
use super::{FollowOptions, PathCosts};
use crate::notes::NoteRef;
use crate::{Filter, Warning};

/// Optional parts of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ViewOptions {
    /// Include inverse names of edge types.
    pub inverse_names: bool,
    /// Include a summary of each note.
    pub summaries: bool,
}

/// Requests a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeWalkRequest {
    /// Names of the roots, at least one.
    pub roots: Vec<String>,
    /// Edges to follow.
    pub follow: FollowOptions,
    /// Limits of the walk, bounded by [`WalkSettings`].
    pub limits: TreeLimits,
    /// Optional parts of the answer.
    pub view: ViewOptions,
}

/// A breadth-first walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeAnswer {
    /// The included roots, without repeats.
    pub roots: Vec<Uri>,
    /// Direction of the followed edges.
    pub direction: Direction,
    /// Maximum number of hops.
    pub max_hops: Option<u32>,
    /// Limits that cut the answer; empty for a complete answer.
    pub truncated_by: Vec<LimitKind>,
    /// Notes in the order of discovery, roots first.
    pub nodes: Vec<WalkNode>,
    /// Edges in the order of discovery, as stored.
    pub edges: Vec<WalkEdge>,
    /// The edges by which notes were first reached, from parent to child.
    pub spanning_tree: Vec<TreeStep>,
    /// Unresolved links of `nodes`.
    pub unresolved: Vec<UnresolvedEdge>,
    /// True if there are more unresolved links than the limit.
    pub unresolved_truncated: bool,
    /// Inverse names of the types of `edges`; empty unless requested.
    pub inverse_names: BTreeMap<String, String>,
    /// Ambiguous names, filter conditions that no note matches and link types that no link has.
    pub warnings: Vec<Warning>,
    /// Generation of the snapshot.
    pub generation: u64,
}

/// A note of a walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalkNode {
    /// Uri of the note.
    pub id: Uri,
    /// Title of the note.
    pub title: String,
    /// Type of the note.
    pub note_type: Option<String>,
    /// Tags of the note.
    pub tags: Vec<String>,
    /// Path of the note.
    pub path: String,
    /// Hops from the nearest root; `None` outside of a walk.
    pub hop: Option<u32>,
    /// Summary of the note; `None` unless requested.
    pub summary: Option<String>,
}

/// An edge as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalkEdge {
    /// The linking note; for an edge of the hierarchy, the child.
    pub from: Uri,
    /// The linked note.
    pub to: Uri,
    /// Type of the edge.
    pub kind: String,
    /// Source of the edge.
    pub source: EdgeSource,
}

/// Source of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeSource {
    /// A link in the frontmatter.
    Typed,
    /// A link in the body.
    Inline,
    /// The relation of a note to its parent.
    Hierarchy,
}

impl From<EdgeLabel> for EdgeSource {
    fn from(label: EdgeLabel) -> Self {
        match label {
            EdgeLabel::Link { kind: _, source: LinkSource::Typed } => Self::Typed,
            EdgeLabel::Link { kind: _, source: LinkSource::Inline } => Self::Inline,
            EdgeLabel::Hierarchy => Self::Hierarchy,
        }
    }
}

/// The edge by which a note was first reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeStep {
    /// The expanded note.
    pub from: Uri,
    /// The reached note.
    pub to: Uri,
    /// Hops of the reached note from the nearest root.
    pub hop: u32,
}

/// An unresolved link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnresolvedEdge {
    /// The linking note.
    pub from: Uri,
    /// The name that no note has.
    pub target: Uri,
}

/// Requests a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathWalkRequest {
    /// Name of the start note.
    pub from: String,
    /// Name of the end note.
    pub to: String,
    /// Edges to follow. Both ends are exempt from the filter.
    pub follow: FollowOptions,
    /// Maximum length in hops; `None` for no limit.
    pub max_hops: Option<u32>,
    /// Costs of steps for a cheapest path; `None` for a shortest path.
    pub costs: Option<PathCosts>,
    /// Optional parts of the answer.
    pub view: ViewOptions,
}

/// The result of a path search, with or without a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathAnswer {
    /// Start of the path.
    pub from: Uri,
    /// End of the path.
    pub to: Uri,
    /// Direction of the followed edges.
    pub direction: Direction,
    /// Maximum length in hops.
    pub max_hops: Option<u32>,
    /// True if there is a path. Its length is the number of `edges`.
    pub found: bool,
    /// Cost of a cheapest path, if requested and found.
    pub cost: Option<u64>,
    /// Notes from start to end.
    pub nodes: Vec<WalkNode>,
    /// Edges between them, as stored.
    pub edges: Vec<WalkEdge>,
    /// True if `max_hops` excluded a path, or a cheaper one.
    pub truncated: bool,
    /// Inverse names of the types of `edges`; empty unless requested.
    pub inverse_names: BTreeMap<String, String>,
    /// Ambiguous names, filter conditions that no note matches and link types that no link has.
    pub warnings: Vec<Warning>,
    /// Generation of the snapshot.
    pub generation: u64,
}

/// Requests the notes one hop away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NeighborsRequest {
    /// Name of the note.
    pub note: String,
    /// Edges to neighbors.
    pub follow: FollowOptions,
    /// Maximum number of neighbors.
    pub max_nodes: Option<usize>,
    /// Optional parts of the answer. Summaries are never included.
    pub view: ViewOptions,
}

/// The neighbors of a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeighborsAnswer {
    /// The note.
    pub root: NoteRef,
    /// Direction of the edges.
    pub direction: Direction,
    /// Number of notes it is linked with, regardless of the request.
    pub degrees: Degrees,
    /// Its neighbors, in the order of their first edges.
    pub nodes: Vec<Neighbor>,
    /// True if there are more.
    pub truncated: bool,
    /// Inverse names of the edge types; empty unless requested.
    pub inverse_names: BTreeMap<String, String>,
    /// Ambiguous names, filter conditions that no note matches and link types that no link has.
    pub warnings: Vec<Warning>,
    /// Generation of the snapshot.
    pub generation: u64,
}

/// A note one hop away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbor {
    /// The note.
    pub note: WalkNode,
    /// Number of notes the neighbor is linked with.
    pub degrees: Degrees,
    /// The matching edges between both notes, as stored.
    pub edges: Vec<WalkEdge>,
}

/// Requests the edges among some notes: those named, and those that match a filter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubgraphRequest {
    /// Names of notes.
    pub notes: Vec<String>,
    /// Adds the notes that match; an empty filter adds none.
    pub filter: Filter,
    /// Restricts the edges.
    pub edges: EdgeFilter,
    /// True if the relation of a note to its parent is an edge, if no link expresses it.
    pub hierarchy: bool,
    /// Maximum number of notes.
    pub max_nodes: Option<usize>,
    /// Maximum number of edges.
    pub max_edges: Option<usize>,
}

/// Notes and all edges among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubgraphAnswer {
    /// The named notes in the requested order, then the others by uri.
    pub nodes: Vec<WalkNode>,
    /// By origin in the order of `nodes`, as stored.
    pub edges: Vec<WalkEdge>,
    /// Limits that cut the answer.
    pub truncated_by: Vec<LimitKind>,
    /// Ambiguous names, filter conditions that no note matches and link types that no link has.
    pub warnings: Vec<Warning>,
    /// Generation of the snapshot.
    pub generation: u64,
}

/// Requests cycles of links. The direction of `follow` is ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CyclesRequest {
    /// Edges to follow.
    pub follow: FollowOptions,
    /// Maximum number of edges per cycle, 1 to 100; 6 by default.
    pub max_length: Option<u32>,
    /// Maximum number of cycles, 0 to 1,000; 100 by default.
    pub max_cycles: Option<usize>,
}

/// Cycles of links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CyclesAnswer {
    /// By the uri of their first note, then in the order of the search.
    pub cycles: Vec<LinkCycle>,
    /// True if there are or may be more.
    pub truncated: bool,
    /// Ambiguous names, filter conditions that no note matches and link types that no link has.
    pub warnings: Vec<Warning>,
    /// Generation of the snapshot.
    pub generation: u64,
}

/// A cycle that visits each note once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkCycle {
    /// Notes along the links, starting at the lowest uri.
    pub nodes: Vec<NoteRef>,
    /// Edges from each note to the next, the last one back to the first.
    pub edges: Vec<WalkEdge>,
}
