//! The accordion: packs ranked notes into a context that never exceeds its budget.
//!
//! Each note gets a mode by its share of the top score: its body, blocks around the query's matches, or its headings.
//! Each may take a tenth of the budget and whatever the notes before it left over.
//! Wrapper text is paid for like any other, and the answer is a ledger: every candidate is in it exactly once, with its cost, or with the reason why it stayed out.
//!
//! Pure: no IO, no clock, equal requests give equal ledgers.
//! Offsets and lengths are Unicode scalar values of the body; cuts never split a grapheme cluster.
//!
//! ```
//! use weft_accordion::{Budget, Candidate, Limits, Meter, Order, Rendering, Request, State, pack};
//! use weft_model::{Chars, Note, NotePath, Stop, Uri};
//!
//! let note = Note {
//!     path: NotePath::new("fern.md"),
//!     claimed_uri: None,
//!     title: "Fern".into(),
//!     aliases: vec![],
//!     tags: vec![],
//!     note_type: None,
//!     properties: Default::default(),
//!     order: None,
//!     headings: vec![],
//!     blocks: vec![],
//!     dendron: false,
//!     links: vec![],
//!     body: "Ferns like shade.".into(),
//! };
//! let fern = Candidate {
//!     uri: Uri::new("fern"),
//!     title: note.title.clone(),
//!     score: 0.8,
//!     relation: None,
//!     via: None,
//!     state: State::Found(&note),
//! };
//! let ledger = pack(Request {
//!     focus: None,
//!     candidates: vec![fern],
//!     query: Some("shade"),
//!     budget: Budget::Characters(Chars(1000)),
//!     meter: Meter::default(),
//!     limits: &Limits::default(),
//!     rendering: Rendering::Markdown,
//!     order: Order::BestFirst,
//!     stop: &Stop::default(),
//! })?;
//! let expected = "## [Fern](fern)\nwhole note\n```\nFerns like shade.\n```\n";
//! assert_eq!(ledger.summary.rendered.as_deref(), Some(expected));
//! assert_eq!((ledger.summary.used, ledger.summary.remaining), (53, 947));
//! # Ok::<(), weft_accordion::PackError>(())
//! ```
#![forbid(unsafe_code)]

mod budget;
mod content;
mod cut;
mod ledger;
mod limits;
mod matches;
mod outline;
mod pack;
mod plan;
mod render;
mod request;
mod scores;
mod snippet;

use weft_model::{Stopped, Uri};

pub use budget::{Budget, Meter, Unit};
pub use ledger::{Decision, Item, Ledger, LeftOut, Reason, Summary};
pub use limits::{Bands, Limits, Mode, STOP_WORDS};
pub use pack::{Packing, pack};
pub use plan::Plan;
pub use render::{Order, Rendering};
pub use request::{Candidate, Document, Request, State};
pub use scores::StandIns;

/// Why nothing was packed: the request itself is wrong, or nobody waits for the answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PackError {
    /// A candidate cannot be ranked.
    #[error("the score of `{uri}` is {score}, which is no finite number")]
    Score {
        /// The candidate.
        uri: Uri,
        /// Its score.
        score: f64,
    },
    /// A setting is outside its range.
    #[error("the setting `{setting}` is {value}, expected {expected}")]
    Setting {
        /// Its name.
        setting: &'static str,
        /// Its value.
        value: f64,
        /// Its range.
        expected: &'static str,
    },
    /// The work was to end before all was decided.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}
