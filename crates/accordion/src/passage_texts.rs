//! The passages of a candidate in its body, and their shingles, each read at most once however often a choice is reconsidered.

use std::cell::OnceCell;
use std::ops::Range;

use weft_model::Span;
use weft_model::shingles::shingles;

use crate::grapheme_cut::byte_ranges;
use crate::{CandidatePassage, Document};

/// The passages of a candidate; read when they are first needed.
#[derive(Debug)]
pub(crate) struct PassageTexts {
    /// Length of the best passage with text, in characters.
    pub(crate) best_chars: u64,
    bytes: OnceCell<Vec<Range<usize>>>,
    /// Shingles of each passage.
    shingles: Vec<OnceCell<Vec<u64>>>,
}

impl PassageTexts {
    pub(crate) fn new(passages: &[CandidatePassage]) -> Self {
        let with_text = passages.iter().filter(|passage| !passage.is_bare);
        let best =
            with_text.reduce(|best, next| if next.evidence > best.evidence { next } else { best });
        Self {
            best_chars: best.map_or(0, |best| u64::from(best.span.len())),
            bytes: OnceCell::new(),
            shingles: vec![OnceCell::new(); passages.len()],
        }
    }

    /// Returns the byte ranges of the passages of `document` in its body.
    pub(crate) fn bytes(&self, document: &impl Document) -> &[Range<usize>] {
        self.bytes.get_or_init(|| {
            let spans: Vec<Span> = document.passages().iter().map(|passage| passage.span).collect();
            byte_ranges(&document.body(), &spans)
        })
    }

    /// Returns the shingles of a passage of `document`.
    pub(crate) fn shingles(&self, document: &impl Document, passage: usize) -> &[u64] {
        self.shingles[passage].get_or_init(|| {
            let bytes = self.bytes(document)[passage].clone();
            shingles(&document.body()[bytes])
        })
    }
}
