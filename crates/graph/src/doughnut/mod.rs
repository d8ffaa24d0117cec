//! Doughnut: related notes around a focus note within a token budget, after the Graph RAG design.
//!
//! [`doughnut`] returns ids; [`View`] adds the texts, for responses and for [`render`]ing to a language model.
//! The relations are rows of [`STRATEGIES`]; the driver alone owns turns, quotas, budget and lists.
//! The design's relations need only the graph; those of [`Relations::Auto`] need [`Surroundings`] too.
//!
//! ```
//! use std::borrow::Cow;
//! use weft_graph::{NodeSpec, NoteGraph, doughnut::{Budget, Options, Relation, Relations, Request, Texts, doughnut}};
//! use weft_model::{NoteId, NoteSet, Tokens, tokens::Unit};
//!
//! struct Untitled;
//! impl Texts for Untitled {
//!     fn title(&self, _: NoteId) -> Cow<'_, str> { "".into() }
//!     fn details(&self, _: NoteId) -> Cow<'_, str> { "".into() }
//! }
//!
//! let [forest, fern, moss] = [0, 1, 2].map(NoteId::new);
//! let below = |uri| NodeSpec { parent: Some(forest), ..NodeSpec::note(uri) };
//! let graph = NoteGraph::build([
//!     (forest, NodeSpec::note("forest")),
//!     (fern, below("fern")),
//!     (moss, below("moss")),
//! ]);
//! let request = Request {
//!     focus: moss,
//!     budget: Budget::Related(Tokens::new(2)),
//!     filter: &NoteSet::All,
//!     relations: Relations::Structure,
//!     options: Options::default(),
//!     resume: None,
//!     stop: &|| false,
//! };
//! let answer = doughnut(&graph, &Untitled, &Unit, &request)?;
//! let found: Vec<_> = answer.related_notes.iter().map(|note| (note.note, note.relation)).collect();
//! assert_eq!(found, [(forest, Relation::Parent), (fern, Relation::PriorSibling)]);
//! assert_eq!(answer.focus_note.prior_siblings, [fern]);
//! # Ok::<(), weft_graph::doughnut::DoughnutError>(())
//! ```

mod answer;
mod cost;
mod relation;
pub mod render;
mod request;
mod rings;
mod run;
mod strategies;
mod surroundings;
mod view;

pub use answer::{Doughnut, FocusNote, RelatedNote, SkippedNote};
pub use cost::{ELLIPSIS, TRUNCATE_LENGTH, Texts, delivered_details};
pub use relation::{Priority, Relation};
pub use request::{Budget, DoughnutError, Options, Request, Resume};
pub use run::doughnut;
pub use strategies::{Finder, FocusList, Members, ReasonedMembers, STRATEGIES, Strategy};
pub use surroundings::{FolderSiblings, LeftOut, Reason, Relations, Surroundings};
pub use view::{FocusView, LinkView, NoteView, SkippedView, View};
