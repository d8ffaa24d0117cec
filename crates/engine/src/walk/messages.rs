//! What is asked of walks, and what they answer.

use std::collections::BTreeMap;

use weft_graph::Degrees;
use weft_graph::walk::{Direction, EdgeCosts, EdgeFilter, Label, Limit, Limits};
use weft_model::{LinkSource, Uri};

use super::Follow;
#[cfg(doc)]
use super::{MOST_WORTH, WalkSettings};
use crate::Filter;
use crate::notes::NoteRef;

/// What an answer says besides the walk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// How edge types read backwards.
    pub inverse_names: bool,
    /// What each note is about.
    pub summaries: bool,
}

/// Asks for a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeRequest {
    /// Names of the notes to start from, at least one.
    pub roots: Vec<String>,
    /// What is followed.
    pub follow: Follow,
    /// How far, at most as far as [`WalkSettings`] let it.
    pub limits: Limits,
    /// What is told.
    pub view: View,
}

/// A breadth-first walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeAnswer {
    /// The roots that found room, without repeats.
    pub roots: Vec<Uri>,
    /// Which edges were followed.
    pub direction: Direction,
    /// The hops allowed.
    pub max_hops: Option<u32>,
    /// The limits that kept something back; none for a whole answer.
    pub truncated_by: Vec<Limit>,
    /// In the order of discovery, roots first.
    pub nodes: Vec<WalkNode>,
    /// In the order met, as stored.
    pub edges: Vec<WalkEdge>,
    /// The edges by which notes were first reached, from parent to child.
    pub spanning_tree: Vec<TreeEdge>,
    /// Links of `nodes` that no note answers to.
    pub unresolved: Vec<UnresolvedLink>,
    /// Whether there are more of those than an answer takes.
    pub more_unresolved: bool,
    /// How types of `edges` read from their targets; empty unless asked for.
    pub inverse_names: BTreeMap<String, String>,
    /// Names that several notes answer to; parts of the filter that no note has, and types of links that no link has: slips of the hand rather than questions.
    pub degraded: Vec<String>,
    /// The snapshot's generation.
    pub generation: u64,
}

/// A note of a walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalkNode {
    /// Its uri.
    pub id: Uri,
    /// Its title.
    pub title: String,
    /// Its type.
    pub note_type: Option<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its path.
    pub path: String,
    /// Hops from the nearest root; nothing where no walk led to it.
    pub hop: Option<u32>,
    /// What it is about; nothing unless asked for.
    pub summary: Option<String>,
}

/// An edge as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalkEdge {
    /// The note that links; the child, for an edge of the hierarchy.
    pub from: Uri,
    /// The note linked to.
    pub to: Uri,
    /// Its type.
    pub kind: String,
    /// Where it comes from.
    pub source: EdgeSource,
}

/// Where an edge comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeSource {
    /// A link of the frontmatter.
    Typed,
    /// A link of the body.
    Inline,
    /// The note's place below its parent.
    Hierarchy,
}

impl From<Label> for EdgeSource {
    fn from(label: Label) -> Self {
        match label {
            Label::Link { kind: _, source: LinkSource::Typed } => Self::Typed,
            Label::Link { kind: _, source: LinkSource::Inline } => Self::Inline,
            Label::Hierarchy => Self::Hierarchy,
        }
    }
}

/// How a note was first reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEdge {
    /// The note that was expanded.
    pub from: Uri,
    /// The note that was reached.
    pub to: Uri,
    /// Its hops from the nearest root.
    pub hop: u32,
}

/// A link that no note answers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnresolvedLink {
    /// The note that links.
    pub from: Uri,
    /// The name it asks for.
    pub target: Uri,
}

/// Asks for a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathRequest {
    /// The name of the note to start from.
    pub from: String,
    /// The name of the note to reach.
    pub to: String,
    /// What is followed. Both ends are exempt from its filter.
    pub follow: Follow,
    /// The greatest length; nothing means no limit.
    pub max_hops: Option<u32>,
    /// What steps cost, if a cheapest path is wanted instead of a shortest one.
    pub costs: Option<PathCosts>,
    /// What is told.
    pub view: View,
}

/// What the steps of a path cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathCosts {
    /// Following an edge.
    pub edges: EdgeCosts,
    /// The property that says what a note is worth, 0 to [`MOST_WORTH`]; entering one costs what it lacks of that.
    pub value_property: Option<String>,
}

/// A path, or that there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathAnswer {
    /// The start.
    pub from: Uri,
    /// The end.
    pub to: Uri,
    /// Which edges were followed.
    pub direction: Direction,
    /// The length allowed.
    pub max_hops: Option<u32>,
    /// Whether there is one; its length is that of `edges`.
    pub found: bool,
    /// What it costs, where a cheapest one was asked for and found.
    pub cost: Option<u64>,
    /// From start to end.
    pub nodes: Vec<WalkNode>,
    /// Between them, as stored.
    pub edges: Vec<WalkEdge>,
    /// Whether `max_hops` kept a path back; of cheapest ones, a cheaper path.
    pub truncated: bool,
    /// How types of `edges` read from their targets; empty unless asked for.
    pub inverse_names: BTreeMap<String, String>,
    /// Names that several notes answer to; parts of the filter that no note has, and types of links that no link has: slips of the hand rather than questions.
    pub degraded: Vec<String>,
    /// The snapshot's generation.
    pub generation: u64,
}

/// Asks for the notes one hop away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NeighborsRequest {
    /// The name of the note in the middle.
    pub note: String,
    /// What counts as a neighbour.
    pub follow: Follow,
    /// Neighbours at most.
    pub max_nodes: Option<usize>,
    /// What is told; summaries are not.
    pub view: View,
}

/// One hop around a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeighborsAnswer {
    /// The note in the middle.
    pub root: NoteRef,
    /// Which edges counted.
    pub direction: Direction,
    /// With how many notes it is linked, whatever was asked for.
    pub degrees: Degrees,
    /// Its neighbours, in the order of their first edges.
    pub nodes: Vec<Neighbor>,
    /// Whether there are more.
    pub truncated: bool,
    /// How types of the edges read from their targets; empty unless asked for.
    pub inverse_names: BTreeMap<String, String>,
    /// Names that several notes answer to; parts of the filter that no note has, and types of links that no link has: slips of the hand rather than questions.
    pub degraded: Vec<String>,
    /// The snapshot's generation.
    pub generation: u64,
}

/// A note one hop away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbor {
    /// The note.
    pub note: WalkNode,
    /// With how many notes it is linked itself.
    pub degrees: Degrees,
    /// The eligible edges between the two, as stored.
    pub edges: Vec<WalkEdge>,
}

/// Asks for the edges among notes: those named, and those that pass a filter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubgraphRequest {
    /// Names of notes.
    pub notes: Vec<String>,
    /// Which notes come besides; none where it is empty.
    pub filter: Filter,
    /// Which edges are wanted.
    pub edges: EdgeFilter,
    /// Whether a note's place below its parent is an edge where no link says so.
    pub hierarchy: bool,
    /// Notes at most.
    pub max_nodes: Option<usize>,
    /// Edges at most.
    pub max_edges: Option<usize>,
}

/// Notes and every edge among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubgraphAnswer {
    /// Those named, in the order asked for, then the others by uri.
    pub nodes: Vec<WalkNode>,
    /// By origin in the order of `nodes`, as stored.
    pub edges: Vec<WalkEdge>,
    /// The limits that kept something back.
    pub truncated_by: Vec<Limit>,
    /// Names that several notes answer to; parts of the filter that no note has, and types of links that no link has: slips of the hand rather than questions.
    pub degraded: Vec<String>,
    /// The snapshot's generation.
    pub generation: u64,
}

/// Asks for closed walks along links; the direction of `follow` does not count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CyclesRequest {
    /// What is followed.
    pub follow: Follow,
    /// The greatest number of edges in one, 1 to 100; 6 without.
    pub max_length: Option<u32>,
    /// Cycles at most, 0 to 1,000; 100 without.
    pub max_cycles: Option<usize>,
}

/// Closed walks along links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CyclesAnswer {
    /// By the uri of their first note, then in the order of walks.
    pub cycles: Vec<Cycle>,
    /// Whether there are or may be more.
    pub truncated: bool,
    /// Names that several notes answer to; parts of the filter that no note has, and types of links that no link has: slips of the hand rather than questions.
    pub degraded: Vec<String>,
    /// The snapshot's generation.
    pub generation: u64,
}

/// A closed walk, no note twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// From the least uri on, along the links.
    pub nodes: Vec<NoteRef>,
    /// From each note to the next, the last one back to the first.
    pub edges: Vec<WalkEdge>,
}
