//! Bounded, deterministic walks: tree, path, neighbours, subgraph, cycles, orphans, unresolved links.
//!
//! One order rules them all, that of [`Step`]s: edge type, uri of the other end, outgoing before incoming, typed before inline.
//! An edge is met from either end and reported once, as it is stored.
//! Placeholders are no part of a walk; links to them are listed apart.
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

mod cheapest;
mod cycles;
pub mod export;
mod follow;
mod inverse;
mod lists;
mod neighbours;
pub mod outline;
mod path;
pub mod records;
mod step;
mod subgraph;
mod tree;
mod wave;
mod way;

pub use cheapest::{EdgeCosts, cheapest_path};
pub use cycles::{Cycle, CycleLimits, Cycles, cycles};
pub use follow::{EdgeFilter, Follow};
pub use inverse::InverseNames;
pub use lists::{Unanswered, orphans, unresolved};
pub use neighbours::{Neighbour, Neighbours, neighbours};
pub use path::{DEFAULT_PATH_HOPS, Path, PathRequest, path};
pub use step::{Direction, EdgeRef, HIERARCHY_TYPE, Label, Side, Step};
pub use subgraph::{Subgraph, subgraph};
pub use tree::{
    Ceiling, DEFAULT_TREE_HOPS, Limit, Limits, Reference, Tree, TreeEdge, TreeRequest,
    UnresolvedLink, Visit, tree,
};
pub use way::way;

use weft_model::{NoteId, Stopped, Uri};

use crate::NoteGraph;

/// Why a walk cannot begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WalkError {
    /// The slot is empty, or a placeholder: links never make a start exist.
    #[error("slot {} holds no note to walk from or to", note.get())]
    UnknownNote {
        /// The slot asked for.
        note: NoteId,
    },
    /// A walk needs a place to start.
    #[error("a walk needs at least one root")]
    NoRoot,
    /// Roots count as nodes, so not even one would fit.
    #[error("`max_nodes` is 0, but a root is a node")]
    NoNodes,
    /// The two filters exclude every edge together.
    #[error("`typed_only` and `inline_only` exclude each other")]
    TypedAndInline,
    /// [`Follow::stop`] said so.
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

/// Ids in the order of their uris, repeats kept side by side.
fn by_uri(graph: &NoteGraph, ids: impl Iterator<Item = NoteId>) -> Vec<NoteId> {
    let mut keyed: Vec<(&Uri, NoteId)> = ids.map(|id| (graph.uri(id), id)).collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, id)| id).collect()
}
