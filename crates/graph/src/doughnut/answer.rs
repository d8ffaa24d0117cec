//! Result of a run, in ids.

use weft_model::{NoteId, Tokens};

use super::relation::{Priority, Relation};
use super::request::Resume;
use super::surroundings::Reason;

/// A focus note and the most relevant notes around it within a budget, with an account of the budget.
#[derive(Clone, Debug, PartialEq)]
pub struct Doughnut {
    /// Focus note with its lists.
    pub focus_note: FocusNote,
    /// Notes of this page in delivery order, most relevant first.
    pub related_notes: Vec<RelatedNote>,
    /// Budget for the related notes of this page.
    pub budget: Tokens,
    /// Tokens used by them.
    pub used: Tokens,
    /// Tokens left: `budget − used`.
    pub remaining: Tokens,
    /// Tokens of the focus note, with the list entries of earlier pages; not part of the budget.
    pub focus_tokens: Tokens,
    /// Notes found on this page or an earlier one that did not fit into the budget, in discovery order.
    pub skipped: Vec<SkippedNote>,
    /// True if the page ended at the maximum number of skipped notes and more would follow.
    pub skipped_truncated: bool,
    /// State for the next page, if more notes could be delivered; `None` also if the budget of this page was too small for any note.
    pub resume: Option<Resume>,
}

/// State of the focus note.
///
/// Parent, object and path are complete. The lists hold the notes fetched so far, earlier pages included, in their true order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FocusNote {
    /// The note.
    pub note: NoteId,
    /// Parent.
    pub parent: Option<NoteId>,
    /// Object: the note that a reification is about.
    pub object: Option<NoteId>,
    /// Ancestors from the root to the parent.
    pub contextual_path: Vec<NoteId>,
    /// Children, in sibling order.
    pub children: Vec<NoteId>,
    /// Notes about it, by uri; then, if links in bodies count, the notes that link to it, by uri.
    pub referrings: Vec<NoteId>,
    /// Siblings before it, in sibling order.
    pub prior_siblings: Vec<NoteId>,
    /// Siblings after it, in sibling order.
    pub younger_siblings: Vec<NoteId>,
}

/// A delivered note.
#[derive(Clone, Debug, PartialEq)]
pub struct RelatedNote {
    /// The note.
    pub note: NoteId,
    /// Relation by which it was delivered.
    pub relation: Relation,
    /// Level in whose turn it was delivered.
    pub level: Priority,
    /// Relations by which it was found later, in that order.
    pub also_relations: Vec<Relation>,
    /// Reason of the relation by which it was delivered, as far as its name does not say it.
    pub reason: Option<Reason>,
    /// Topic that it shares with the focus note, if [`Relation::TopicSibling`] is one of the later relations.
    pub also_topic: Option<NoteId>,
    /// Cost in tokens.
    pub tokens: Tokens,
    /// Maximum number of characters of its details; the rest is cut.
    pub max_chars: usize,
    /// True if its details are truncated.
    pub truncated: bool,
}

/// A note that did not fit into the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkippedNote {
    /// The note.
    pub note: NoteId,
    /// Relation by which it was first found.
    pub relation: Relation,
    /// Cost in tokens if it had been delivered.
    pub tokens: Tokens,
}
