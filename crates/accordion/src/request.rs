//! What is asked of the accordion: candidates, their texts, and the conditions.

use std::borrow::Cow;

use weft_model::{Chars, Heading, Note, Span, Stop, Uri};

use crate::{Budget, Limits, Meter, Order, Rendering};

/// The text of a note, read only where it is taken.
///
/// Length and headings must agree with the body; they are asked of every candidate, the body of those that fit.
pub trait Document {
    /// The length of the body.
    fn length(&self) -> Chars;

    /// The body, whole.
    fn body(&self) -> Cow<'_, str>;

    /// The headings, in text order.
    fn headings(&self) -> Cow<'_, [Heading]>;

    /// The part of the body that suits the query best, where one is known.
    fn best_chunk(&self) -> Option<Span> {
        None
    }

    /// Whether its text is that of `other`, so that it tells nothing where `other` is in the context.
    fn copies(&self, other: &Self) -> bool {
        let _ = other;
        false
    }
}

/// A parsed note at hand. Its length is counted on each call.
impl Document for Note {
    fn length(&self) -> Chars {
        Chars::of(&self.body)
    }

    fn body(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.body)
    }

    fn headings(&self) -> Cow<'_, [Heading]> {
        Cow::Borrowed(&self.headings)
    }
}

impl<D: Document + ?Sized> Document for &D {
    fn length(&self) -> Chars {
        (**self).length()
    }

    fn body(&self) -> Cow<'_, str> {
        (**self).body()
    }

    fn headings(&self) -> Cow<'_, [Heading]> {
        (**self).headings()
    }

    fn best_chunk(&self) -> Option<Span> {
        (**self).best_chunk()
    }

    fn copies(&self, other: &Self) -> bool {
        (**self).copies(*other)
    }
}

/// Whether a candidate may be taken, and the note if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State<D> {
    /// It may.
    Found(D),
    /// No note answers to the name.
    Missing,
    /// The filter excludes it.
    Filtered(D),
}

impl<D> State<D> {
    /// The state of a note that the filter excludes; a missing note stays missing.
    #[must_use]
    pub fn filtered(self) -> Self {
        match self {
            Self::Found(document) | Self::Filtered(document) => Self::Filtered(document),
            Self::Missing => Self::Missing,
        }
    }

    /// The note, if there is one.
    #[must_use]
    pub const fn document(&self) -> Option<&D> {
        match self {
            Self::Found(document) | Self::Filtered(document) => Some(document),
            Self::Missing => None,
        }
    }
}

/// A note that may go into the context.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate<D> {
    /// Its name.
    pub uri: Uri,
    /// Its title.
    pub title: String,
    /// What it is ranked by; finite.
    pub score: f64,
    /// The relation by which it came.
    pub relation: Option<String>,
    /// The note or path through which it came.
    pub via: Option<String>,
    /// Whether it may be taken.
    pub state: State<D>,
}

/// What to pack, and how.
#[derive(Clone)]
pub struct Request<'a, D> {
    /// A note that comes first, in full, with the whole budget as its allowance. Its score earns it nothing, and counts for the top.
    pub focus: Option<Candidate<D>>,
    /// The notes to choose from, in any order.
    pub candidates: Vec<Candidate<D>>,
    /// The words asked for, without operators; they steer the snippets.
    pub query: Option<&'a str>,
    /// What the context may cost, wrapper included.
    pub budget: Budget,
    /// How tokens are counted.
    pub meter: Meter<'a>,
    /// The constants.
    pub limits: &'a Limits,
    /// How the context is written down.
    pub rendering: Rendering,
    /// In which order it is shown.
    pub order: Order,
    /// Asked before each candidate that is decided ahead; candidates that are asked for one by one are for the caller to stop at.
    pub stop: &'a Stop,
}
