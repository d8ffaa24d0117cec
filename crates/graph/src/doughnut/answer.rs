//! What is answered, in ids.

use weft_model::{NoteId, Tokens};

use super::relation::Relation;
use super::request::Resume;

/// A focus note and the notes most worth reading around it, within a budget, with an account of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doughnut {
    /// The note in the middle with its lists.
    pub focus_note: FocusNote,
    /// The notes of this page in the order of delivery, which is that of relevance.
    pub related_notes: Vec<RelatedNote>,
    /// What related notes of this page could cost.
    pub budget: Tokens,
    /// What they cost.
    pub used: Tokens,
    /// What is left: `budget − used`.
    pub remaining: Tokens,
    /// What the focus note costs, with the list entries of earlier pages; not part of the budget.
    pub focus_tokens: Tokens,
    /// Notes met on this page or an earlier one and too large for what was left, in the order met.
    pub skipped: Vec<SkippedNote>,
    /// Whether the page ended because it had skipped as many notes as it may, and more would follow.
    pub skipped_more: bool,
    /// How to go on, when more could be delivered; nothing also when a page got nowhere with its budget.
    pub resume: Option<Resume>,
}

/// The state of the focus note.
///
/// Parent, object and path are facts; the lists hold what was fetched so far, earlier pages included, in true order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FocusNote {
    /// The note.
    pub note: NoteId,
    /// The note above it.
    pub parent: Option<NoteId>,
    /// The note it is a reification about.
    pub object: Option<NoteId>,
    /// From the root to the parent.
    pub contextual_path: Vec<NoteId>,
    /// Notes below it, in sibling order.
    pub children: Vec<NoteId>,
    /// Notes about it, by uri; where links in bodies count too, those follow, by uri.
    pub referrings: Vec<NoteId>,
    /// Notes before it, in sibling order.
    pub prior_siblings: Vec<NoteId>,
    /// Notes after it, in sibling order.
    pub younger_siblings: Vec<NoteId>,
}

/// A delivered note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelatedNote {
    /// The note.
    pub note: NoteId,
    /// The relation by which it was delivered.
    pub relation: Relation,
    /// Relations by which it was met later, in that order.
    pub also_relations: Vec<Relation>,
    /// What it cost.
    pub tokens: Tokens,
    /// Whether its details are cut.
    pub truncated: bool,
}

/// A note that did not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkippedNote {
    /// The note.
    pub note: NoteId,
    /// The relation by which it was first met.
    pub relation: Relation,
    /// What it would have cost.
    pub tokens: Tokens,
}
