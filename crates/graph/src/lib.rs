//! Pure walks over the note graph: build, centrality, activation, topics, walk, Doughnut.
//!
//! A [`NoteGraph`] is an immutable value: nodes with their uris and places in the hierarchy, and typed edges in both directions, sorted as answers are.
//! An edit gives a new graph that shares all it did not touch, so readers keep the one they hold.
//! The graph never sees a path or a text.
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
mod columns;
pub mod doughnut;
mod note_graph;
mod order;
pub mod topics;
pub mod visit;
pub mod walk;

pub use adjacency::{Half, KindId};
pub use columns::{ColumnsError, GraphColumns};
pub use note_graph::{Degrees, NodeSpec, NoteGraph};
pub use order::natural_cmp;
