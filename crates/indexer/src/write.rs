//! What can be asked to be written, and what came of it.

use weft_model::{TextHash, Uri};

use crate::IndexError;

/// Something to be written into a vault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// A note's file is to say this.
    Put {
        /// The vault's name; not needed where there is one only.
        vault: Option<String>,
        /// The path in the vault, with a Markdown extension.
        path: String,
        /// What it is to say.
        content: Content,
        /// What must be there now.
        expected: Expected,
    },
    /// A note's file is to go.
    Delete {
        /// A uri, a path, anything a link would resolve to, or a title.
        name: String,
        /// What must be there now.
        expected: Expected,
    },
    /// A note's file is to lie elsewhere in its vault.
    Move {
        /// A uri, a path, anything a link would resolve to, or a title.
        name: String,
        /// The new path in the vault, with a Markdown extension; nothing may be there.
        to: String,
        /// What must be there now.
        expected: Expected,
        /// Whether links that would lose their note, or mean the moved one instead, are pointed at it anew, its own among them; so are its links to other files by a relative path.
        rewrite_links: bool,
    },
}

/// What a file is to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// This, from its first byte to its last.
    Whole(String),
    /// This below its frontmatter, which stays as it is.
    Body(String),
}

/// What must be at a path for a write to happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expected {
    /// Whatever is there.
    #[default]
    Anything,
    /// Nothing.
    Nothing,
    /// A file whose bytes have this hash.
    Hash(TextHash),
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrote {
    /// A generation that holds it.
    pub generation: u64,
    /// The vault's name.
    pub vault: String,
    /// The note's path, after a move the new one.
    pub path: String,
    /// The note's uri; nothing where no note is there now.
    pub uri: Option<Uri>,
    /// Hash of the file's bytes; nothing where no file is there now.
    pub hash: Option<TextHash>,
    /// Whether there was no file before.
    pub created: bool,
    /// Why the file that was written is not in the index.
    pub not_indexed: Option<String>,
    /// Files whose links were pointed at a moved note anew, or were not, by path.
    pub links: Vec<RewrittenLinks>,
}

/// What became of the links of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RewrittenLinks {
    /// The file; with its vault before it, where that is another than the note's.
    pub path: String,
    /// Links that were rewritten.
    pub n_links: usize,
    /// Links that should have been and were not: nobody asked for it, or it could not be done.
    pub n_left: usize,
}

/// Why something was not written. Nothing was changed, but for [`WriteError::NotIndexed`] and [`WriteError::HalfMoved`].
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// A field of the request cannot be used.
    #[error("`{field}`: {reason}")]
    Invalid {
        /// Which.
        field: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// No note answers to the name.
    #[error("no note is named `{name}`")]
    UnknownNote {
        /// The name.
        name: String,
        /// Uris that resemble it, the most alike first.
        near: Vec<Uri>,
    },
    /// The file is not what the caller takes it to be.
    #[error("`{path}` is not what was expected: {}", describe(actual.as_ref()))]
    Conflict {
        /// The file.
        path: String,
        /// The hash it has now; nothing where there is no file.
        actual: Option<TextHash>,
    },
    /// A file is where one is to be made.
    #[error("`{path}` is taken")]
    Taken {
        /// The path.
        path: String,
    },
    /// The file system refused.
    #[error("cannot change `{path}`: {source}")]
    Io {
        /// The file, by its path in the vault.
        path: String,
        /// Why not.
        source: std::io::Error,
    },
    /// A note has moved, and links to it could not be changed yet. They are before the next move begins or at the next start, and as soon as there is room where the disk had none.
    #[error(
        "`{from}` is `{to}` now, but the links in `{path}` could not be changed: {source}; that is done before the next move begins or at the next start, and as soon as there is room where the disk had none"
    )]
    HalfMoved {
        /// Where the note was.
        from: String,
        /// Where it is.
        to: String,
        /// The file with the links, by its path in the vault.
        path: String,
        /// Why not.
        source: std::io::Error,
    },
    /// The vault, or the index, cannot be used.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The file was written, and is not in the index yet; it will be at the next look.
    #[error("`{path}` was changed, but not indexed yet: {source}")]
    NotIndexed {
        /// The file.
        path: String,
        /// What came between.
        source: IndexError,
    },
}

fn describe(actual: Option<&TextHash>) -> String {
    match actual {
        Some(hash) => format!("its content has the hash {hash:?}"),
        None => "there is no such file".to_owned(),
    }
}
