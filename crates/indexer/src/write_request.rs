//! Write requests and their outcomes.

use weft_model::{TextHash, Uri};

use crate::IndexError;

/// A change of one note's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteRequest {
    /// Creates a note's file or replaces its content.
    Put {
        /// Name of the vault; optional if there is only one.
        vault: Option<String>,
        /// Path in the vault, with a Markdown extension.
        path: String,
        /// New content.
        content: WriteContent,
        /// Required state before the write.
        expected: Precondition,
    },
    /// Deletes a note's file.
    Delete {
        /// Uri, path, title, or anything that a link would resolve.
        name: String,
        /// Required state before the write.
        expected: Precondition,
    },
    /// Moves a note's file within its vault.
    Move {
        /// Uri, path, title, or anything that a link would resolve.
        name: String,
        /// New path in the vault, with a Markdown extension; must not exist.
        to: String,
        /// Required state before the write.
        expected: Precondition,
        /// True if links whose target would change are rewritten, including those in the moved note and its relative links to other files.
        rewrite_links: bool,
    },
}

/// New content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteContent {
    /// The whole file.
    Whole(String),
    /// The text below the frontmatter, which stays the same.
    Body(String),
}

/// Required state of a path before a write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precondition {
    /// Any state.
    #[default]
    Anything,
    /// No file.
    Nothing,
    /// A file whose bytes have this hash.
    Hash(TextHash),
}

/// The outcome of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteOutcome {
    /// Generation that contains the write, published or not; `None` if the number of a pending write is not known.
    pub generation: Option<u64>,
    /// Name of the vault.
    pub vault: String,
    /// Path of the note, after a move the new one.
    pub path: String,
    /// Uri of the note; `None` if there is no note now.
    pub uri: Option<Uri>,
    /// Hash of the file's bytes; `None` if there is no file now.
    pub hash: Option<TextHash>,
    /// True if the file did not exist before.
    pub created: bool,
    /// Why the written file is not indexed.
    pub not_indexed: Option<String>,
    /// Why the change of the file is not indexed yet; the next scan that succeeds indexes it.
    pub index_pending: Option<String>,
    /// Files whose links were rewritten, or had to be and were not, ordered by path.
    pub links: Vec<RewrittenLinks>,
}

/// The result of rewriting the links of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RewrittenLinks {
    /// Path of the file, prefixed with its vault if that differs from the vault of the note.
    pub path: String,
    /// Number of rewritten links.
    pub n_rewritten: usize,
    /// Number of links whose target changes because rewriting was not requested or not possible.
    pub n_not_rewritten: usize,
}

/// The reason why a write failed. No file was changed, except with [`WriteError::MoveUnfinished`].
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// A field of the request is invalid.
    #[error("`{field}`: {reason}")]
    Invalid {
        /// Name of the field.
        field: &'static str,
        /// Reason why it is invalid.
        reason: String,
    },
    /// No note has the name.
    #[error("no note is named `{name}`")]
    UnknownNote {
        /// The requested name.
        name: String,
        /// Similar uris, best match first.
        suggestions: Vec<Uri>,
    },
    /// The file does not match the expected hash.
    #[error("`{path}` changed: {}; read it again", describe(actual.as_ref()))]
    Conflict {
        /// The file.
        path: String,
        /// Current hash; `None` if there is no file.
        actual: Option<TextHash>,
    },
    /// The path exists already.
    #[error("`{path}` exists already; choose another path")]
    AlreadyExists {
        /// The path.
        path: String,
    },
    /// The file system returned an error.
    #[error("cannot change `{path}`: {source}")]
    Io {
        /// Path of the file in the vault.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// A note was moved, but some links to it could not be rewritten yet. The move is finished before the next move or at the next start, or, after a full disk, as soon as there is space.
    #[error(
        "`{from}` was moved to `{to}`, but the links in `{path}` could not be rewritten: {source}; this is retried before the next move and at the next start, and, after a full disk, as soon as there is space"
    )]
    MoveUnfinished {
        /// Old path of the note.
        from: String,
        /// New path of the note.
        to: String,
        /// Path in the vault of the file with the links.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// The vault or the index failed.
    #[error(transparent)]
    Index(#[from] IndexError),
}

fn describe(actual: Option<&TextHash>) -> String {
    match actual {
        Some(hash) => format!("its content now has the hash {hash:?}"),
        None => "the file does not exist any more".to_owned(),
    }
}
