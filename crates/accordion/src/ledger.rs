//! The answer: what went in, what stayed out and why, and what it cost.

use serde::Serialize;
use weft_model::{Chars, Span, Tokens, Uri};

use crate::{Mode, Unit};

/// One note of a context.
///
/// `allowance`, `cost` and the carries are in the unit of the arithmetic: characters, or the estimator's tokens where a budget of tokens is spent with one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Item {
    /// The note.
    pub uri: Uri,
    /// Its title.
    pub title: String,
    /// The score it was ranked by.
    pub score: f64,
    /// How much of it was taken.
    pub mode: Mode,
    /// What was taken: the body or its head, the blocks one after the other, or heading lines.
    pub text: String,
    /// The length of `text`.
    pub chars: Chars,
    /// What text and wrapper cost, rounded up.
    pub tokens: Tokens,
    /// What the text might cost: `min(soft + carry, budget − used) − wrapper`.
    pub allowance: u64,
    /// What text and wrapper cost; stays inside, since answers state it as `tokens`.
    #[serde(skip)]
    pub cost: u64,
    /// What earlier notes left to this one.
    pub carry_in: u64,
    /// What this one leaves: `max(0, soft + carry_in − cost)`.
    pub carry_out: u64,
    /// Whether the allowance left out part of what the mode would give.
    pub truncated: bool,
    /// Where the text stands in the body, in text order; nothing for a title that stands for headings.
    pub blocks: Vec<Span>,
    /// The headings above the first match in a snippet's first block, without one above its start; outermost first.
    pub heading_path: Vec<String>,
    /// The relation by which the note came.
    pub relation: Option<String>,
    /// The note or path through which it came.
    pub via: Option<String>,
}

/// Why a candidate was left out. The first that applies, in this order, is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// No note answers to the name.
    Missing,
    /// The score is below every band.
    BelowThreshold,
    /// Not even its beginning fitted.
    Budget,
    /// Enough notes are given by their headings already.
    StructuralCap,
    /// The filter excludes it.
    Filter,
    /// The same note, or one with the same text, is in the context already.
    Duplicate,
}

impl Reason {
    /// The name that answers use, such as `below_threshold`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::BelowThreshold => "below_threshold",
            Self::Budget => "budget",
            Self::StructuralCap => "structural_cap",
            Self::Filter => "filter",
            Self::Duplicate => "duplicate",
        }
    }
}

/// One candidate that stayed out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeftOut {
    /// The note.
    pub uri: Uri,
    /// The score it was ranked by.
    pub score: f64,
    /// What it would have cost, uncut, in the mode its score earns, below every band by its headings; 0 for a missing note.
    ///
    /// From its length, for the text of a note left out is not read: of a snippet it is what one block would have cost, the least.
    pub tokens: Tokens,
    /// Why it stayed out.
    pub reason: Reason,
}

/// What became of one candidate.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// It is in the context.
    Taken(Box<Item>),
    /// It is not.
    LeftOut(LeftOut),
}

/// What can be said when every candidate was decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// The context as one string; nothing where none was asked for, empty where no note was taken.
    pub rendered: Option<String>,
    /// The budget given.
    pub budget: u64,
    /// What was spent of it, wrapper included.
    pub used: u64,
    /// What was not: `used + remaining = budget`.
    pub remaining: u64,
    /// What the three numbers count.
    pub unit: Unit,
    /// What allowances, costs and carries of items count.
    pub ledger_unit: Unit,
}

/// A packed context that accounts for itself.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ledger {
    /// The notes taken, in the order they were decided: focus note, then best first.
    pub items: Vec<Item>,
    /// The candidates left out, in the same order.
    pub left_out: Vec<LeftOut>,
    /// Rendering and totals.
    #[serde(flatten)]
    pub summary: Summary,
}
