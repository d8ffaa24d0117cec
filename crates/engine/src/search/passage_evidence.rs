//! The passages of a note with their evidence for a query, and the best of them.

use weft_gars::bridge;
use weft_index::keyword::{Saturations, ScoredPassage};
use weft_model::Span;

/// The passage of a note that answers the query best.
#[derive(Clone, Debug)]
pub(super) struct BestPassage {
    pub(super) span: Span,
    /// Cosine of the chunk around it; `None` without a vector.
    pub(super) vector: Option<f32>,
    /// Keyword score as a share of the maximum.
    pub(super) keyword: f64,
    /// Share of the query that is the name of its section or note.
    pub(super) mention: f64,
    /// How far it covers each word of the query.
    pub(super) covers: Saturations,
}

/// Words of a part of a note's body, without stop words and parts of compounds.
#[derive(Clone, Debug, Default)]
pub(super) struct PartWords {
    /// The terms under which the words are indexed, in text order.
    pub(super) terms: Vec<String>,
    /// The form of each word in which names are compared.
    pub(super) names: Vec<String>,
}

/// The passages of a note, with the evidence of their text alone.
pub(super) struct NoteEvidence {
    pub(super) passages: Vec<ScoredPassage>,
    pub(super) own: Vec<f64>,
    /// The parts of each evidence.
    pub(super) parts: Vec<EvidenceParts>,
}

/// Parts of the evidence of a passage's text.
#[derive(Clone, Copy)]
pub(super) struct EvidenceParts {
    /// Cosine of the chunk around the passage.
    pub(super) vector: Option<f32>,
    /// Keyword score as a share of the maximum.
    pub(super) keyword: f64,
    /// Share of the query that is the name of its section or note.
    pub(super) mention: f64,
}

impl NoteEvidence {
    /// Returns the passage with the most evidence, the first of equals; `None` for a note without text.
    ///
    /// A heading without text counts only if no other passage has a word of the query.
    pub(super) fn best(&self) -> Option<BestPassage> {
        let has_words = |at: &usize| self.parts[*at].keyword > 0.0 || self.parts[*at].mention > 0.0;
        let better =
            |best: usize, next: usize| if self.own[next] > self.own[best] { next } else { best };
        let (bare, with_text): (Vec<usize>, Vec<usize>) =
            (0..self.passages.len()).partition(|at| self.passages[*at].is_bare);
        let best = with_text.into_iter().reduce(better);
        let heading = || bare.into_iter().filter(has_words).reduce(better);
        let best = best.filter(has_words).or_else(heading).or(best)?;
        let passage = &self.passages[best];
        let EvidenceParts { vector, keyword, mention } = self.parts[best];
        Some(BestPassage { span: passage.span, vector, keyword, mention, covers: covers(passage) })
    }
}

/// Returns how far a passage covers each word of the query.
pub(super) fn covers(passage: &ScoredPassage) -> Saturations {
    passage.saturations.iter().map(|saturation| bridge::coverage(*saturation)).collect()
}
