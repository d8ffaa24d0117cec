//! The request to pack a context: candidates, their texts, and the limits.

use std::borrow::Cow;
use std::cmp::Ordering;

use weft_model::text::CharCounter;
use weft_model::{Chars, Heading, Note, Span, Stop, Uri, passages};

use crate::{
    ContextBudget, ContextLimits, EvidenceSettings, Meter, Order, PackError, PackingProfile,
    Rendering,
};

/// A passage of a note.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CandidatePassage {
    /// Place in the body.
    pub span: Span,
    /// How well it answers the query, 0 to 1.
    pub evidence: f64,
    /// True if it has no text besides a heading; it is shown with the passage below it.
    pub is_bare: bool,
}

/// The text of a note, read only if it is included.
///
/// Length and headings must agree with the body. They are read for every candidate, the body only for those that fit.
pub trait Document {
    /// Returns the length of the body.
    fn length(&self) -> Chars;

    /// Returns the whole body.
    fn body(&self) -> Cow<'_, str>;

    /// Returns the headings, in text order.
    fn headings(&self) -> Cow<'_, [Heading]>;

    /// Returns the passages of the body, in text order. Profile `classic` does not read them.
    fn passages(&self) -> Cow<'_, [CandidatePassage]> {
        let body = self.body();
        let mut counter = CharCounter::new(&body);
        let found = passages(&body, &self.headings()).into_iter().map(|found| CandidatePassage {
            span: counter.span(found.bytes.clone()),
            evidence: 0.0,
            is_bare: found.is_bare(&body),
        });
        Cow::Owned(found.collect())
    }

    /// Returns the part of the body that matches the query best, if known.
    fn best_chunk(&self) -> Option<Span> {
        None
    }

    /// True if the text equals that of `other`, so that including both is useless.
    fn copies(&self, other: &Self) -> bool {
        let _ = other;
        false
    }
}

/// A parsed note. Its length is counted on each call.
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

    fn passages(&self) -> Cow<'_, [CandidatePassage]> {
        (**self).passages()
    }

    fn best_chunk(&self) -> Option<Span> {
        (**self).best_chunk()
    }

    fn copies(&self, other: &Self) -> bool {
        (**self).copies(*other)
    }
}

/// True if a candidate can be included, and its note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CandidateState<D> {
    /// The note can be included.
    Found(D),
    /// No note has the name.
    Missing,
    /// The filter excludes the note.
    Filtered(D),
}

impl<D> CandidateState<D> {
    /// Marks the note as excluded by the filter; a missing note stays missing.
    #[must_use]
    pub fn filtered(self) -> Self {
        match self {
            Self::Found(document) | Self::Filtered(document) => Self::Filtered(document),
            Self::Missing => Self::Missing,
        }
    }

    /// Returns the note, if there is one.
    #[must_use]
    pub const fn document(&self) -> Option<&D> {
        match self {
            Self::Found(document) | Self::Filtered(document) => Some(document),
            Self::Missing => None,
        }
    }
}

/// A note that may be included.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate<D> {
    /// Uri of the note.
    pub uri: Uri,
    /// Title of the note.
    pub title: String,
    /// Score of the note, which must be finite.
    pub score: f64,
    /// Relation through which the note was found.
    pub relation: Option<String>,
    /// Note or path through which the note was found.
    pub via: Option<String>,
    /// True if the note can be included.
    pub state: CandidateState<D>,
}

/// The candidates of a request in the order of rank.
pub(crate) struct RankedCandidates<D> {
    /// The focus note, then best first, ties by uri.
    pub(crate) ranked: Vec<Candidate<D>>,
    pub(crate) has_focus: bool,
    /// The highest score, that of the focus note included; 0 without candidates.
    pub(crate) top: f64,
}

impl<D> RankedCandidates<D> {
    /// Ranks candidates. Fails on a score that is not finite.
    pub(crate) fn new(
        focus: Option<Candidate<D>>,
        mut candidates: Vec<Candidate<D>>,
    ) -> Result<Self, PackError> {
        if let Some(odd) = focus.iter().chain(&candidates).find(|odd| !odd.score.is_finite()) {
            return Err(PackError::Score { uri: odd.uri.clone(), score: odd.score });
        }
        // Finite scores are comparable, and −0 equals 0.
        let best_first = |a: f64, b: f64| b.partial_cmp(&a).unwrap_or(Ordering::Equal);
        candidates.sort_by(|a, b| best_first(a.score, b.score).then_with(|| a.uri.cmp(&b.uri)));
        let best = candidates.first().into_iter().chain(&focus).map(|best| best.score);
        let top = best.reduce(f64::max).unwrap_or(0.0);
        let has_focus = focus.is_some();
        Ok(Self { ranked: focus.into_iter().chain(candidates).collect(), has_focus, top })
    }
}

/// Request to pack a context.
#[derive(Clone)]
pub struct PackRequest<'a, D> {
    /// A note that comes first, in full, with the whole budget as its allowance. Its score counts for the top score only.
    pub focus: Option<Candidate<D>>,
    /// Candidates in any order.
    pub candidates: Vec<Candidate<D>>,
    /// Query words without operators, which select the snippets.
    pub query: Option<&'a str>,
    /// Budget of the context, wrapper text included.
    pub budget: ContextBudget,
    /// Method of counting tokens.
    pub meter: Meter<'a>,
    /// Limits of the context. Profile `evidence` uses the bands, the share of each note, and those of outlines.
    pub limits: &'a ContextLimits,
    /// Method of packing.
    pub profile: PackingProfile,
    /// Settings of profile `evidence`.
    pub evidence: &'a EvidenceSettings,
    /// True to report every passage that was considered.
    pub explain: bool,
    /// Format of the rendered text.
    pub rendering: Rendering,
    /// Order of the notes in the rendered text.
    pub order: Order,
    /// Checked before each candidate that is decided in advance. Callers that iterate check it themselves.
    pub stop: &'a Stop,
}
