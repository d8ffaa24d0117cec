//! The part of a note that is included, before it is rendered.

use weft_model::{Chars, Span};

use crate::Mode;

/// The part of a note that is included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Content<'b> {
    pub(crate) mode: Mode,
    pub(crate) excerpts: Vec<Excerpt<'b>>,
    pub(crate) truncated: bool,
    pub(crate) heading_path: Vec<String>,
}

/// A run of text, with its range in the body if it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Excerpt<'b> {
    pub(crate) span: Option<Span>,
    pub(crate) text: &'b str,
}

impl<'b> Content<'b> {
    /// Returns a content of `mode` without text: no real content of that mode renders shorter.
    pub(crate) fn without_text(mode: Mode, is_empty: bool) -> Self {
        let excerpt = Excerpt { span: Some(Span::default()), text: "" };
        let excerpts = if is_empty { vec![] } else { vec![excerpt] };
        Self { mode, excerpts, truncated: false, heading_path: vec![] }
    }

    /// Returns the whole text: heading lines separated by line breaks, blocks one after the other.
    pub(crate) fn text(&self) -> String {
        let texts: Vec<&'b str> = self.excerpts.iter().map(|excerpt| excerpt.text).collect();
        match self.mode {
            Mode::Full | Mode::Snippet => texts.concat(),
            Mode::Structural => texts.join("\n"),
        }
    }

    /// True if the wrapper marks the note as cut. Snippets are not marked, because they are parts by nature.
    pub(crate) const fn shows_cut(&self) -> bool {
        match self.mode {
            Mode::Full | Mode::Structural => self.truncated,
            Mode::Snippet => false,
        }
    }

    /// Returns the ranges of the text in the body.
    pub(crate) fn spans(&self) -> Vec<Span> {
        self.excerpts.iter().filter_map(|excerpt| excerpt.span).collect()
    }
}

/// Returns the length of `n_lines` lines with `n_chars` characters in total, line breaks included.
pub(crate) fn lines_length(n_lines: usize, n_chars: u64) -> Chars {
    Chars(n_chars + (n_lines as u64).saturating_sub(1))
}
