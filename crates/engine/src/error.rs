//! Why a question has no answer.

use weft_index::embedder::EmbedError;
use weft_index::keyword::KeywordError;
use weft_index::vector::VectorError;
use weft_model::{Stopped, Uri};

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// No note answers to the name.
    #[error("no note is named `{name}`{}", suggestion(near))]
    UnknownNote {
        /// The name asked for.
        name: String,
        /// Uris that resemble it, the most alike first.
        near: Vec<Uri>,
    },
    /// The question itself is wrong.
    #[error("`{field}`: {reason}")]
    InvalidArgument {
        /// The field of the request.
        field: &'static str,
        /// What is wrong and what would be right.
        reason: String,
    },
    /// The word index failed.
    #[error(transparent)]
    Keyword(#[from] KeywordError),
    /// The vector index failed.
    #[error(transparent)]
    Vector(#[from] VectorError),
    /// The query could not be embedded, and nothing but vectors was asked for.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// Vectors were asked for and there are none.
    #[error(
        "this index has no vectors: the embedding model is `none`; use the keyword or hybrid mode"
    )]
    NoVectors,
    /// A resume token belongs to a generation that is gone.
    #[error(
        "generation {asked}, to which the token belongs, is no longer held, the newest is {newest}: ask again without the token"
    )]
    Stale {
        /// The generation of the token.
        asked: u64,
        /// The newest generation.
        newest: u64,
    },
    /// The caller's time ran out.
    #[error("the deadline passed before the answer was complete")]
    DeadlineExceeded,
    /// Nobody waits for the answer any more.
    #[error("the caller went away before the answer was complete")]
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

fn suggestion(near: &[Uri]) -> String {
    match near {
        [] => String::new(),
        near => {
            let names: Vec<String> = near.iter().map(|uri| format!("`{uri}`")).collect();
            format!("; near it are {}", names.join(", "))
        }
    }
}
