//! The accordion: packs ranked notes into a context that never exceeds its budget.
//!
//! The share of the top score decides how much of a note is included: its body, blocks around the query's matches, or its headings.
//! Each note may use a tenth of the budget, plus what earlier notes left unused.
//! Wrapper text counts against the budget. The result is a ledger that contains every candidate exactly once, with its cost or with the reason why it was omitted.
//!
//! Pure: no IO, no clock; equal requests give equal ledgers.
//! Offsets and lengths are Unicode scalar values of the body. Cuts never split a grapheme cluster.
//!
//! ```
//! use weft_accordion::{Candidate, CandidateState, ContextBudget, ContextLimits, EvidenceSettings, Meter, Order, PackRequest, PackingProfile, Rendering, pack};
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
//!     searched_texts: vec![],
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
//!     state: CandidateState::Found(&note),
//! };
//! let ledger = pack(PackRequest {
//!     focus: None,
//!     candidates: vec![fern],
//!     query: Some("shade"),
//!     budget: ContextBudget::Characters(Chars(1000)),
//!     meter: Meter::default(),
//!     limits: &ContextLimits::default(),
//!     profile: PackingProfile::Evidence,
//!     evidence: &EvidenceSettings::default(),
//!     explain: false,
//!     rendering: Rendering::Markdown,
//!     order: Order::BestFirst,
//!     stop: &Stop::default(),
//! })?;
//! let expected = "## [Fern](fern)\n```\nFerns like shade.\n```\n";
//! assert_eq!(ledger.summary.rendered.as_deref(), Some(expected));
//! assert_eq!((ledger.summary.used, ledger.summary.remaining), (42, 958));
//! # Ok::<(), weft_accordion::PackError>(())
//! ```
#![forbid(unsafe_code)]

mod budget;
mod budget_plan;
mod classic;
mod default_scores;
mod evidence;
mod evidence_settings;
mod grapheme_cut;
mod ledger;
mod limits;
mod note_content;
mod offer;
mod outline;
mod pack;
mod pack_request;
mod passage_texts;
mod query_matches;
mod render;
mod sentences;
mod shown_ranges;
mod snippet;

use weft_model::{Stopped, Uri};

pub use budget::{BudgetUnit, ContextBudget, Meter};
pub use budget_plan::Plan;
pub use default_scores::DefaultScores;
pub use evidence_settings::{Citations, EvidenceSettings, PackingProfile};
pub use ledger::{
    Decision, Item, Ledger, OmissionReason, OmittedNote, PassageOutcome, PassageReport,
    ShownPassage, Summary,
};
pub use limits::{Bands, ContextLimits, Mode, STOP_WORDS};
pub use pack::{Packing, pack};
pub use pack_request::{Candidate, CandidatePassage, CandidateState, Document, PackRequest};
pub use render::{Order, Rendering};

/// Reason why packing failed: an invalid request, or a cancelled one.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PackError {
    /// The score of a candidate is not finite.
    #[error("the score of `{uri}` is {score}, which is not finite")]
    Score {
        /// Uri of the candidate.
        uri: Uri,
        /// The score.
        score: f64,
    },
    /// A setting is outside its range.
    #[error("the setting `{setting}` is {value}, expected {expected}")]
    Setting {
        /// Name of the setting.
        setting: &'static str,
        /// Value of the setting.
        value: f64,
        /// Valid range.
        expected: &'static str,
    },
    /// The request was cancelled or its deadline passed.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}
