//! What is taken of one note, before it is dressed.

use weft_model::{Chars, Span};

use crate::Mode;

/// The text taken of one note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Content<'b> {
    pub(crate) mode: Mode,
    pub(crate) pieces: Vec<Piece<'b>>,
    pub(crate) truncated: bool,
    pub(crate) heading_path: Vec<String>,
}

/// A run of text, with its place in the body if it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece<'b> {
    pub(crate) span: Option<Span>,
    pub(crate) text: &'b str,
}

impl<'b> Content<'b> {
    /// The shape of `mode` without text: rendered, no real content of the mode is shorter.
    pub(crate) fn hollow(mode: Mode, is_empty: bool) -> Self {
        let piece = Piece { span: Some(Span::default()), text: "" };
        let pieces = if is_empty { vec![] } else { vec![piece] };
        Self { mode, pieces, truncated: false, heading_path: vec![] }
    }

    /// The text in one: heading lines one below the other, blocks one after the other.
    pub(crate) fn text(&self) -> String {
        let texts: Vec<&'b str> = self.pieces.iter().map(|piece| piece.text).collect();
        match self.mode {
            Mode::Full | Mode::Snippet => texts.concat(),
            Mode::Structural => texts.join("\n"),
        }
    }

    /// Whether the wrapper says that something was cut off; a snippet is a part by nature.
    pub(crate) const fn shows_cut(&self) -> bool {
        match self.mode {
            Mode::Full | Mode::Structural => self.truncated,
            Mode::Snippet => false,
        }
    }

    /// The places the text has in the body.
    pub(crate) fn spans(&self) -> Vec<Span> {
        self.pieces.iter().filter_map(|piece| piece.span).collect()
    }
}

/// The length of `n_lines` lines of `n_chars` characters in all, with the newlines between them.
pub(crate) fn lines_length(n_lines: usize, n_chars: u64) -> Chars {
    Chars(n_chars + (n_lines as u64).saturating_sub(1))
}
