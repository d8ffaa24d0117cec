//! The note graph and pure algorithms over it: centrality, topic siblings, walks and Doughnut.
//!
//! A [`NoteGraph`] is an immutable value: nodes with their uris and positions in the hierarchy, and typed edges in both directions, sorted in response order.
//! An edit returns a new graph that shares everything unchanged, so readers keep the graph they hold.
//! The graph contains neither paths nor texts.
//!
//! ```
//! use weft_graph::{NodeSpec, NoteGraph};
//! use weft_model::{LinkSource, NoteId};
//!
//! let [fern, moss] = [0, 1].map(NoteId::new);
//! let graph = NoteGraph::build([
//!     (fern, NodeSpec { links: vec![(moss, "related".into(), LinkSource::Inline)], ..NodeSpec::note("fern") }),
//!     (moss, NodeSpec::note("moss")),
//! ]);
//! assert_eq!(graph.degrees(moss).inbound, 1);
//! assert_eq!(graph.outgoing(fern).iter().map(|half| half.other).collect::<Vec<_>>(), [moss]);
//! ```
#![forbid(unsafe_code)]

mod adjacency;
pub mod centrality;
pub mod doughnut;
mod graph_columns;
mod natural_order;
mod note_graph;
pub mod topics;
pub mod walk;

pub use adjacency::{HalfEdge, KindId};
pub use graph_columns::{GraphColumns, GraphColumnsError};
pub use natural_order::natural_cmp;
pub use note_graph::{Degrees, NodeSpec, NoteGraph};
