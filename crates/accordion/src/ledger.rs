//! Results: the included notes, the omitted notes with reasons, and the costs.

use serde::Serialize;
use weft_model::{Chars, Span, Tokens, Uri};

use crate::{BudgetUnit, Mode};

/// An included note.
///
/// `allowance`, `cost` and the carries are in the unit of the arithmetic: characters, or the estimator's tokens if a budget of tokens is spent with an estimator.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Item {
    /// Uri of the note.
    pub uri: Uri,
    /// Title of the note.
    pub title: String,
    /// Score of the note.
    pub score: f64,
    /// How much of the note is included.
    pub mode: Mode,
    /// The included text: the body or its beginning, the blocks one after the other, or heading lines.
    pub text: String,
    /// Length of `text`.
    pub chars: Chars,
    /// Cost of text and wrapper in tokens, rounded up.
    pub tokens: Tokens,
    /// Maximum cost of the text: `min(soft + carry, budget − used) − wrapper`.
    pub allowance: u64,
    /// Cost of text and wrapper. Not serialized, because answers report `tokens`.
    #[serde(skip)]
    pub cost: u64,
    /// Unused budget of earlier notes that this note could use.
    pub carry_in: u64,
    /// Unused budget passed on to the next note: `max(0, soft + carry_in − cost)`.
    pub carry_out: u64,
    /// True if the allowance cut the text of the mode.
    pub truncated: bool,
    /// Ranges of the text in the body, in text order; empty for a title in place of headings.
    pub blocks: Vec<Span>,
    /// Headings above the first match in a snippet's first block, or above the start of the block without a match; outermost first.
    pub heading_path: Vec<String>,
    /// The shown parts of the body with their places and evidence; empty for headings, and in profile `classic`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub passages: Vec<ShownPassage>,
    /// Relation through which the note was found.
    pub relation: Option<String>,
    /// Note or path through which the note was found.
    pub via: Option<String>,
}

/// Reason why a candidate was omitted. The first one that applies, in this order, is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OmissionReason {
    /// No note has the name.
    Missing,
    /// The score is below every band.
    BelowThreshold,
    /// Not even the beginning of its text fits.
    Budget,
    /// Enough notes are included by their headings already.
    StructuralCap,
    /// The filter excludes the note.
    Filter,
    /// The context already contains the note, or one with the same text.
    Duplicate,
}

impl OmissionReason {
    /// Returns the name used in answers, such as `below_threshold`.
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

/// An omitted candidate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OmittedNote {
    /// Uri of the note.
    pub uri: Uri,
    /// Score of the note.
    pub score: f64,
    /// Cost of the uncut note in the mode of its score, or of its headings if it is below every band; 0 for a missing note.
    ///
    /// Estimated from the length, because the text of an omitted note is not read. For a snippet, the cost of one block, which is the minimum.
    pub tokens: Tokens,
    /// Reason of the omission.
    pub reason: OmissionReason,
}

/// The decision about one candidate.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// The note is in the context.
    Taken(Box<Item>),
    /// The note is omitted.
    Omitted(OmittedNote),
}

/// Rendered text and totals, known when every candidate is decided.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The context as one text; `None` unless requested, empty without notes.
    pub rendered: Option<String>,
    /// The given budget.
    pub budget: u64,
    /// The used part, wrapper text included.
    pub used: u64,
    /// The unused part: `used + remaining = budget`.
    pub remaining: u64,
    /// Unit of the three numbers.
    pub unit: BudgetUnit,
    /// Unit of the allowances, costs and carries of items.
    pub ledger_unit: BudgetUnit,
    /// Every passage that was considered, with its evidence and price; empty unless requested, and in profile `classic`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub passages: Vec<PassageReport>,
}

/// A passage that was considered for a context.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PassageReport {
    /// Uri of its note.
    pub uri: Uri,
    /// Place in the body.
    pub span: Span,
    /// Headings above it, outermost first.
    pub heading_path: Vec<String>,
    /// How well it answers the query, 0 to 1.
    pub evidence: f64,
    /// Value as the first passage of its note: the note's score, reduced by how far the evidence is below that of the best passage of all notes.
    pub value: f64,
    /// Length in tokens, without a frame.
    pub tokens: Tokens,
    /// The decision about it.
    pub outcome: PassageOutcome,
}

/// The decision about a passage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PassageOutcome {
    /// In the context.
    Included,
    /// In the context in part.
    Cut,
    /// Omitted: it does not fit beside passages of more value.
    Budget,
    /// Omitted: its text is in the context already.
    Duplicate,
}

/// A part of a body that is shown in a context.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShownPassage {
    /// Place in the body.
    pub span: Span,
    /// First line in the body; 1 is the first.
    pub first_line: u32,
    /// Last line in the body, inclusive.
    pub last_line: u32,
    /// Headings above its start, outermost first.
    pub heading_path: Vec<String>,
    /// Evidence of the best passage in it, 0 to 1.
    pub evidence: f64,
}

/// A packed context with all decisions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ledger {
    /// Included notes in the order of decision: focus note, then best first.
    pub items: Vec<Item>,
    /// Omitted candidates in the same order.
    pub omitted: Vec<OmittedNote>,
    /// Rendered text and totals.
    #[serde(flatten)]
    pub summary: Summary,
}
