//! What is asked.

use std::num::NonZeroUsize;

use weft_model::{NoteId, NoteSet, Tokens};

/// A question about one focus note.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The note in the middle.
    pub focus: NoteId,
    /// What related notes may cost.
    pub budget: Budget,
    /// Notes outside count as absent: not delivered, not listed, not grown from. The focus note, its parent, object and path stay.
    pub filter: &'a NoteSet,
    /// How the run goes; the same on every page.
    pub options: Options,
    /// Where an earlier page left off; nothing for the first.
    pub resume: Option<&'a Resume>,
    /// Asked before each note is looked at; once it says true the run ends without an answer.
    pub stop: &'a dyn Fn() -> bool,
}

/// A number of tokens to spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// For related notes; the focus note comes on top.
    Related(Tokens),
    /// For the whole answer: related notes get what the focus note leaves.
    Window(Tokens),
}

/// How a run goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// A page ends after as many notes newly found too large for what was left.
    ///
    /// Source: design of related notes, "The rounds".
    pub max_skips: NonZeroUsize,
    /// Whether notes whose bodies link to the focus note are referring notes too, after the reifications.
    pub body_links: bool,
    /// Whether other notes with the same object are related.
    pub sibling_of_target: bool,
}

impl Default for Options {
    fn default() -> Self {
        const MAX_SKIPS: NonZeroUsize = NonZeroUsize::new(256).expect("not zero");
        Self { max_skips: MAX_SKIPS, body_links: false, sibling_of_target: false }
    }
}

/// Where a run stands after some pages: their budgets.
///
/// The next page replays them and goes on, so it holds on the same graph, texts, estimator, filter and options only; whoever hands it out binds it to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resume {
    budgets: Vec<Tokens>,
}

impl Resume {
    /// Pages that can be replayed.
    ///
    /// Keeps what a forged value can ask for within a fraction of a second.
    pub const MAX_PAGES: usize = 1000;

    /// The budgets of the pages so far, the first one first.
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

/// Why a question has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DoughnutError {
    /// The graph holds no such note, or only links know of it.
    #[error("slot {} holds no note", focus.get())]
    UnknownFocus {
        /// The slot asked for.
        focus: NoteId,
    },
    /// The run was cut into too many pages.
    #[error(
        "a run of {n_pages} pages cannot be continued, the limit is {}: ask again with a larger budget",
        Resume::MAX_PAGES
    )]
    TooManyPages {
        /// Pages asked to replay.
        n_pages: usize,
    },
    /// [`Request::stop`] said so.
    #[error("the run was stopped before it was complete")]
    Stopped,
}
