//! Errors of the engine.

use weft_index::TruncatedFile;
use weft_index::embedder::EmbedError;
use weft_index::keyword::KeywordError;
use weft_index::vector::VectorError;
use weft_model::{Stopped, TextHash, Uri, fragment};

/// Reason why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// No note has the name.
    #[error("no note is named `{name}`{}", suggestion(suggestions))]
    UnknownNote {
        /// The requested name.
        name: String,
        /// Similar uris, most similar first.
        suggestions: Vec<Uri>,
    },
    /// A note has no heading or block of this name.
    #[error("`{uri}` has no heading or block `{fragment}`{}", parts_advice(fragment, parts))]
    UnknownFragment {
        /// Uri of the note.
        uri: Uri,
        /// The requested heading or block.
        fragment: String,
        /// The first headings of the note, or the ids of its first blocks if a block was requested.
        parts: Vec<String>,
    },
    /// The request is invalid.
    #[error("`{field}`: {reason}")]
    InvalidArgument {
        /// The invalid field of the request.
        field: &'static str,
        /// The problem, and what is valid.
        reason: String,
    },
    /// The keyword index failed.
    #[error(transparent)]
    Keyword(#[from] KeywordError),
    /// Another program truncated a file of the store, and the request read a missing part of it.
    #[error(transparent)]
    Truncated(#[from] TruncatedFile),
    /// The vector index failed.
    #[error(transparent)]
    Vector(#[from] VectorError),
    /// The query could not be embedded, and the request uses vectors only.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// The request needs vectors, and the index has none.
    #[error(
        "this index has no vectors: the embedding model is `none`; use the keyword or hybrid mode"
    )]
    NoVectors,
    /// The generation of a resume token is not available, or no longer, or has other vectors by now.
    #[error(
        "the token belongs to generation {requested}, which is not available here, or not with the vectors of the first page (newest: {newest}); start again without a token, with `min_generation` {} or later",
        requested.max(newest)
    )]
    Stale {
        /// Generation of the token.
        requested: u64,
        /// Newest generation.
        newest: u64,
    },
    /// The content of a note is not the expected one.
    #[error("`{path}` changed: its hash is {actual:?}; read it again")]
    Changed {
        /// Path of the note.
        path: String,
        /// Hash of its content.
        actual: TextHash,
    },
    /// The deadline passed.
    #[error("the deadline passed before the answer was complete")]
    DeadlineExceeded,
    /// The client no longer waits for the answer.
    #[error("the client disconnected before the answer was complete")]
    Cancelled,
}

impl From<Stopped> for EngineError {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Deadline => Self::DeadlineExceeded,
            Stopped::Cancelled => Self::Cancelled,
        }
    }
}

fn parts_advice(fragment: &str, parts: &[String]) -> String {
    let kind = if fragment::names_block(fragment) { "blocks" } else { "headings" };
    match parts {
        [] => format!("; it has no {kind}"),
        parts => {
            let texts: Vec<String> = parts.iter().map(|text| format!("`{text}`")).collect();
            format!("; its {kind} include {}", texts.join(", "))
        }
    }
}

fn suggestion(similar: &[Uri]) -> String {
    match similar {
        [] => String::new(),
        similar => {
            let names: Vec<String> = similar.iter().map(|uri| format!("`{uri}`")).collect();
            format!("; similar names: {}", names.join(", "))
        }
    }
}
