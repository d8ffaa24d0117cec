//! Chunks: the unit of the vector index.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Span;

/// The hash of an embedded text: equal texts share one vector, across renames and restarts.
///
/// 128 bits of BLAKE3 over the UTF-8 text handed to the model.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TextHash(pub u128);

impl fmt::Debug for TextHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// One piece of a body, small enough for the model's window.
///
/// The text that is embedded is not kept: it is the context line (title, heading path) and the span's text, and can be made again from the note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// The part of the body it covers.
    pub span: Span,
    /// The headings above it, outermost first.
    pub heading_path: Vec<String>,
    /// The hash of the text that is embedded for it.
    pub hash: TextHash,
}
