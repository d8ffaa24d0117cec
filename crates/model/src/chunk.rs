//! Chunks: the unit of the vector index.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Span;

/// Hash of an embedded text. Equal texts share one vector, across renames and restarts.
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

/// A section of a body, small enough for the model's context window.
///
/// The embedded text is not stored: it consists of the context line (title, heading path) and the span's text, so it can be rebuilt from the note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// Part of the body that the chunk covers.
    pub span: Span,
    /// Headings above the chunk, outermost first.
    pub heading_path: Vec<String>,
    /// Hash of the text that is embedded for the chunk.
    pub hash: TextHash,
}
