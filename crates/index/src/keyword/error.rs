//! What can go wrong with the word index.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tantivy::TantivyError;
use tantivy::directory::error::{LockError, OpenDirectoryError, OpenReadError, OpenWriteError};

use crate::disk::is_misplaced;

/// Why the word index could not be opened, written or read.
#[derive(Debug, thiserror::Error)]
pub enum KeywordError {
    /// Another process writes there.
    #[error("the word index in {} is in use by another process", folder.display())]
    Locked {
        /// Where the index lies.
        folder: PathBuf,
    },
    /// What is there cannot be understood; building it anew helps.
    #[error("the word index in {} is damaged: {detail}", folder.display())]
    Corrupt {
        /// Where the index lies.
        folder: PathBuf,
        /// What was found, with the files concerned.
        detail: String,
    },
    /// It was built in another format or with other settings; building it anew helps.
    #[error("the word index in {} was built as `{found}`, this program reads `{expected}`", folder.display())]
    Incompatible {
        /// Where the index lies.
        folder: PathBuf,
        /// What the index says of itself.
        found: String,
        /// What is read now.
        expected: String,
    },
    /// The system refused to read or write.
    #[error("cannot read or write the word index in {}: {source}", folder.display())]
    Io {
        /// Where the index lies.
        folder: PathBuf,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// The indexing library failed in a way that is neither the files' nor the system's fault.
    #[error("the word index in {} failed: {detail}", folder.display())]
    Failed {
        /// Where the index lies.
        folder: PathBuf,
        /// What it said.
        detail: String,
    },
    /// The words of this generation are not held any more; its notes and links may be.
    #[error(
        "the words of generation {generation} are not in memory any more; ask the newest one, or for its notes and links"
    )]
    Past {
        /// The generation that was asked.
        generation: u64,
    },
    /// The query was read against another commit than the one that is asked.
    #[error("the query belongs to generation {query}, the word index to generation {index}")]
    ForeignQuery {
        /// The generation of the query.
        query: u64,
        /// The generation of the reader.
        index: u64,
    },
}

impl KeywordError {
    /// Whether building the index anew helps: what lies there cannot be used as it is.
    #[must_use]
    pub const fn needs_rebuild(&self) -> bool {
        match self {
            Self::Corrupt { .. } | Self::Incompatible { .. } => true,
            Self::Locked { .. }
            | Self::Io { .. }
            | Self::Failed { .. }
            | Self::Past { .. }
            | Self::ForeignQuery { .. } => false,
        }
    }
}

/// Where errors happen: turns what libraries report into what callers can act on. Cloning shares everything.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    folder: Arc<PathBuf>,
    /// What the system refused since the last commit, for where the library tells only that a thread of it ended.
    refused: Arc<Mutex<Option<Arc<io::Error>>>>,
}

impl Place {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: Arc::new(folder.to_path_buf()), ..Self::default() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.folder
    }

    fn folder(&self) -> PathBuf {
        self.folder.as_ref().clone()
    }

    /// Notes what the system refused to write.
    pub(super) fn refuse(&self, error: &io::Error) {
        let again = match error.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code),
            None => io::Error::new(error.kind(), error.to_string()),
        };
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(again));
    }

    /// Forgets what the system refused.
    pub(super) fn commit(&self) {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    pub(super) fn corrupt(&self, detail: impl Into<String>) -> KeywordError {
        KeywordError::Corrupt { folder: self.folder(), detail: detail.into() }
    }

    pub(super) fn incompatible(
        &self,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> KeywordError {
        KeywordError::Incompatible {
            folder: self.folder(),
            found: found.into(),
            expected: expected.into(),
        }
    }

    pub(super) fn io(&self, source: impl Into<Arc<io::Error>>) -> KeywordError {
        let source = source.into();
        if is_damage(&source) {
            return self.corrupt(source.to_string());
        }
        KeywordError::Io { folder: self.folder(), source }
    }

    pub(super) fn lock(&self, error: LockError) -> KeywordError {
        match error {
            LockError::LockBusy => KeywordError::Locked { folder: self.folder() },
            LockError::IoError(source) => self.io(source),
        }
    }

    pub(super) fn directory(&self, error: OpenDirectoryError) -> KeywordError {
        match error {
            OpenDirectoryError::IoError { io_error: source, .. }
            | OpenDirectoryError::FailedToCreateTempDir(source) => self.io(source),
            OpenDirectoryError::DoesNotExist(_) => {
                self.io(io::Error::from(io::ErrorKind::NotFound))
            }
            OpenDirectoryError::NotADirectory(_) => {
                self.io(io::Error::from(io::ErrorKind::NotADirectory))
            }
        }
    }

    pub(super) fn read(&self, error: OpenReadError) -> KeywordError {
        match error {
            OpenReadError::FileDoesNotExist(file) => {
                self.corrupt(format!("{} is missing", file.display()))
            }
            OpenReadError::IoError { io_error, filepath } if is_damage(&io_error) => {
                self.corrupt(format!("{}: {io_error}", filepath.display()))
            }
            OpenReadError::IoError { io_error, .. } => self.io(io_error),
            OpenReadError::IncompatibleIndex(what) => {
                self.incompatible(format!("{what:?}"), "tantivy 0.27")
            }
        }
    }

    pub(super) fn tantivy(&self, error: TantivyError) -> KeywordError {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match error {
            TantivyError::LockFailure(error, _) => self.lock(error),
            TantivyError::OpenDirectoryError(error) => self.directory(error),
            TantivyError::OpenReadError(error) => self.read(error),
            TantivyError::IoError(source) => self.io(source),
            TantivyError::OpenWriteError(OpenWriteError::IoError { io_error, .. }) => {
                self.io(io_error)
            }
            TantivyError::DataCorruption(what) => self.corrupt(format!("{what:?}")),
            TantivyError::DeserializeError(what) => self.corrupt(what.to_string()),
            TantivyError::IncompatibleIndex(what) => {
                self.incompatible(format!("{what:?}"), "tantivy 0.27")
            }
            TantivyError::SchemaError(what) | TantivyError::FieldNotFound(what) => {
                self.incompatible(what, "the schema of this program")
            }
            error @ (TantivyError::OpenWriteError(OpenWriteError::FileAlreadyExists(_))
            | TantivyError::AggregationError(_)
            | TantivyError::IndexAlreadyExists
            | TantivyError::Poisoned
            | TantivyError::InvalidArgument(_)
            | TantivyError::ErrorInThread(_)
            | TantivyError::IndexBuilderMissingArgument(_)
            | TantivyError::SystemError(_)
            | TantivyError::InternalError(_)
            | TantivyError::MissingPlugin(_)
            | TantivyError::ConflictingPlugins(_)
            | TantivyError::UnexpectedPlugin(_)) => match refused {
                Some(source) => self.io(source),
                None => KeywordError::Failed { folder: self.folder(), detail: error.to_string() },
            },
        }
    }
}

/// Whether an error tells of the files rather than the system.
///
/// What the library cannot decode it reports as one of these kinds.
fn is_damage(error: &io::Error) -> bool {
    use io::ErrorKind;
    matches!(
        error.kind(),
        ErrorKind::InvalidData | ErrorKind::UnexpectedEof | ErrorKind::InvalidInput
    ) || is_misplaced(error)
}
