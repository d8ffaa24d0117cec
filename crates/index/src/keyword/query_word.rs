//! Words of a query before they are looked up.

use super::analyzer::TokenKind;

/// Analyzed word of a query: its terms in each language, and its position.
#[derive(Clone, Debug)]
pub(super) struct QueryWord {
    pub(super) surface: String,
    pub(super) alternatives: Vec<String>,
    pub(super) position: u32,
    pub(super) kind: TokenKind,
    /// True if it stands for all terms that begin with it.
    pub(super) is_prefix: bool,
    /// Languages of the notes in which the word is a stop word: one bit for each, by its index.
    pub(super) stop_in: u32,
}

impl QueryWord {
    /// Sets the kind to that of the word in a query in the language at this index.
    pub(super) fn read_in(&mut self, language_idx: usize) {
        if matches!(self.kind, TokenKind::Word | TokenKind::Stop) {
            let is_stop = self.stop_in & 1 << language_idx != 0;
            self.kind = if is_stop { TokenKind::Stop } else { TokenKind::Word };
        }
    }
}
