//! Bounded, deterministic walks: trees, paths, neighbors, subgraphs, cycles, orphans, unresolved links.
//!
//! All walks use the order of [`Step`]s, the *neighbor order*: edge type, uri of the other end, outgoing before incoming, typed before inline.
//! An edge may be reached from either end and is reported once, as stored.
//! Walks skip placeholders; links to them are listed separately.
//!
//! ```
//! use weft_graph::walk::{TreeRequest, tree};
//! use weft_graph::{NodeSpec, NoteGraph};
//! use weft_model::{LinkSource, NoteId};
//!
//! let [fern, moss] = [0, 1].map(NoteId::new);
//! let graph = NoteGraph::build([
//!     (fern, NodeSpec { links: vec![(moss, "related".into(), LinkSource::Inline)], ..NodeSpec::note("fern") }),
//!     (moss, NodeSpec::note("moss")),
//! ]);
//! let tree = tree(&graph, &TreeRequest::from_roots([moss]))?;
//! assert_eq!(tree.nodes.iter().map(|visit| (visit.note, visit.hop)).collect::<Vec<_>>(), [(moss, 0), (fern, 1)]);
//! assert!(!tree.truncated());
//! # Ok::<(), weft_graph::walk::WalkError>(())
//! ```

mod bfs_frontier;
mod breadcrumb;
mod cheapest_path;
mod components;
mod cycles;
pub mod export;
mod inverse_names;
mod neighbors;
mod orphans;
pub mod outline;
pub mod records;
mod shortest_path;
mod step;
mod subgraph;
mod traversal;
mod tree;

pub use breadcrumb::breadcrumb;
pub use cheapest_path::{EdgeCosts, cheapest_path};
pub use cycles::{Cycle, CycleLimits, Cycles, cycles};
pub use inverse_names::InverseNames;
pub use neighbors::{NeighborNode, Neighborhood, neighbors};
pub use orphans::{UnresolvedTarget, orphans, unresolved};
pub use shortest_path::{DEFAULT_PATH_HOPS, LinkPath, PathRequest, shortest_path};
pub use step::{Direction, EdgeLabel, EdgeRef, HIERARCHY_TYPE, Side, Step};
pub use subgraph::{Subgraph, subgraph};
pub use traversal::{EdgeFilter, WalkOptions};
pub use tree::{
    Ceiling, DEFAULT_TREE_HOPS, LimitKind, Reference, Tree, TreeEdge, TreeLimits, TreeRequest,
    UnresolvedLink, Visit, tree,
};

use weft_model::{NoteId, Stopped, Uri};

use crate::NoteGraph;

/// Error of a request for a walk.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WalkError {
    /// The slot is empty or holds a placeholder. A walk cannot start at or lead to a placeholder.
    #[error("slot {} holds no note to walk from or to", note.get())]
    UnknownNote {
        /// The requested slot.
        note: NoteId,
    },
    /// The request names no root.
    #[error("a walk needs at least one root")]
    NoRoot,
    /// The request allows no node, but a root is one.
    #[error("`max_nodes` is 0, but a root is a node")]
    NoNodes,
    /// The two filters together exclude every edge.
    #[error("`typed_only` and `inline_only` exclude each other")]
    TypedAndInline,
    /// [`WalkOptions::stop`] ended the walk.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

fn known(graph: &NoteGraph, note: NoteId) -> Result<NoteId, WalkError> {
    if graph.contains(note) && !graph.is_placeholder(note) {
        Ok(note)
    } else {
        Err(WalkError::UnknownNote { note })
    }
}

/// Returns `ids` sorted by uri; duplicates stay and are adjacent.
fn by_uri(graph: &NoteGraph, ids: impl Iterator<Item = NoteId>) -> Vec<NoteId> {
    let mut keyed: Vec<(&Uri, NoteId)> = ids.map(|id| (graph.uri(id), id)).collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, id)| id).collect()
}
