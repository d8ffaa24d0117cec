//! Request for a run.

use std::num::NonZeroUsize;

use weft_model::{NoteId, NoteSet, Tokens};

use super::surroundings::{FolderSiblings, Relations};

/// Request for the notes around a focus note.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// Focus note.
    pub focus: NoteId,
    /// Budget for related notes.
    pub budget: Budget,
    /// Notes outside the filter count as absent: they are not delivered, not listed, and not sources. The focus note, its parent, object and path are exempt.
    pub filter: &'a NoteSet,
    /// Relations by which notes are found, the same for every page.
    pub relations: Relations<'a>,
    /// Options of the run, the same for every page.
    pub options: Options,
    /// State after the previous page; `None` for the first page.
    pub resume: Option<&'a Resume>,
    /// Called before each note is considered; the run ends with an error once it returns true.
    pub stop: &'a dyn Fn() -> bool,
}

impl Request<'_> {
    /// Returns true if relations beyond those of the design text are read.
    #[must_use]
    pub const fn is_auto(&self) -> bool {
        matches!(self.relations, Relations::Auto(_))
    }

    /// Returns true if the parent of the focus note is only assumed.
    pub(super) fn has_assumed_parent(&self) -> bool {
        match self.relations {
            Relations::Structure => false,
            Relations::Auto(surroundings) => surroundings.has_assumed_parent(),
        }
    }

    /// Returns the siblings by folder, which replace those of the graph.
    pub(super) fn folder_siblings(&self) -> Option<FolderSiblings<'_>> {
        match self.relations {
            Relations::Structure => None,
            Relations::Auto(surroundings) => surroundings.folder_siblings(),
        }
    }
}

/// Token budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// Budget for related notes, not counting the focus note.
    Related(Tokens),
    /// Budget for the whole response: related notes share what the focus note leaves.
    Total(Tokens),
}

/// Options of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Maximum number of newly skipped notes per page.
    ///
    /// Source: design of related notes, "The rounds".
    pub max_skips: NonZeroUsize,
    /// True if notes whose bodies link to the focus note are referring notes too, after the reifications.
    pub body_links: bool,
    /// True if other notes with the same object are related.
    pub sibling_of_target: bool,
}

impl Default for Options {
    fn default() -> Self {
        const MAX_SKIPS: NonZeroUsize = NonZeroUsize::new(256).expect("not zero");
        Self { max_skips: MAX_SKIPS, body_links: false, sibling_of_target: false }
    }
}

/// State of a run after some pages: their budgets.
///
/// The next page replays them, so the state is valid only for the same graph, texts, estimator, filter and options. The caller must bind it to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resume {
    budgets: Vec<Tokens>,
}

impl Resume {
    /// Maximum number of pages that can be replayed.
    ///
    /// Keeps the cost of a forged value within a fraction of a second.
    pub const MAX_PAGES: usize = 1000;

    /// Returns the budgets of the pages so far, the first one first.
    #[must_use]
    pub fn budgets(&self) -> &[Tokens] {
        &self.budgets
    }
}

impl FromIterator<Tokens> for Resume {
    fn from_iter<I: IntoIterator<Item = Tokens>>(budgets: I) -> Self {
        Self { budgets: budgets.into_iter().collect() }
    }
}

/// Error of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DoughnutError {
    /// The slot is empty or holds a placeholder.
    #[error("slot {} holds no note", focus.get())]
    UnknownFocus {
        /// The requested slot.
        focus: NoteId,
    },
    /// The run has too many pages.
    #[error(
        "a run of {n_pages} pages cannot be continued, the limit is {}: ask again with a larger budget",
        Resume::MAX_PAGES
    )]
    TooManyPages {
        /// Number of pages to replay.
        n_pages: usize,
    },
    /// [`Request::stop`] ended the run.
    #[error("the run was stopped before it was complete")]
    Stopped,
}
