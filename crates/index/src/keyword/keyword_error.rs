//! Errors of the keyword index.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tantivy::TantivyError;
use tantivy::directory::error::{LockError, OpenDirectoryError, OpenReadError, OpenWriteError};

use crate::disk::is_misplaced;
use crate::truncated_maps::TruncationFlag;

/// Error of opening, writing or reading the keyword index.
#[derive(Debug, thiserror::Error)]
pub enum KeywordError {
    /// Another process has the index open for writing.
    #[error("the keyword index in {} is in use by another process", folder.display())]
    Locked {
        /// Folder of the index.
        folder: PathBuf,
    },
    /// The index is damaged and must be rebuilt.
    #[error("the keyword index in {} is damaged: {detail}", folder.display())]
    Corrupt {
        /// Folder of the index.
        folder: PathBuf,
        /// Finding, with the affected files.
        detail: String,
    },
    /// The index was built in another format or with other settings and must be rebuilt.
    #[error("the keyword index in {} was built as `{found}`; this program expects `{expected}`", folder.display())]
    Incompatible {
        /// Folder of the index.
        folder: PathBuf,
        /// Format of the index.
        found: String,
        /// Format that this program reads.
        expected: String,
    },
    /// The operating system failed to read or write.
    #[error("cannot read or write the keyword index in {}: {source}", folder.display())]
    Io {
        /// Folder of the index.
        folder: PathBuf,
        /// System error.
        source: Arc<io::Error>,
    },
    /// Tantivy failed for a reason other than the files or the operating system.
    #[error("the keyword index in {} failed: {detail}", folder.display())]
    Failed {
        /// Folder of the index.
        folder: PathBuf,
        /// Error message of tantivy.
        detail: String,
    },
    /// The keyword index of this generation is no longer in memory; its notes and links may be.
    #[error(
        "the keyword index of generation {generation} is no longer in memory; query the newest generation, or only the notes and links of this one"
    )]
    Unloaded {
        /// Requested generation.
        generation: u64,
    },
    /// The query was parsed against another commit than the one it is run on.
    #[error(
        "the query was parsed for generation {query}, but the keyword index is at generation {index}"
    )]
    ForeignQuery {
        /// Generation of the query.
        query: u64,
        /// Generation of the reader.
        index: u64,
    },
}

impl KeywordError {
    /// Reports whether the index is unusable until it is rebuilt.
    #[must_use]
    pub const fn needs_rebuild(&self) -> bool {
        match self {
            Self::Corrupt { .. } | Self::Incompatible { .. } => true,
            Self::Locked { .. }
            | Self::Io { .. }
            | Self::Failed { .. }
            | Self::Unloaded { .. }
            | Self::ForeignQuery { .. } => false,
        }
    }
}

/// Folder of an index. Converts the errors of tantivy and the operating system into [`KeywordError`]s. Clones share all data.
#[derive(Clone, Debug, Default)]
pub(super) struct IndexLocation {
    folder: Arc<PathBuf>,
    /// Last write error since the last commit. Tantivy itself only reports that one of its threads ended.
    write_error: Arc<Mutex<Option<Arc<io::Error>>>>,
    /// Raised once a missing part of a truncated file is read.
    truncation: TruncationFlag,
}

impl IndexLocation {
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            folder: Arc::new(folder.to_path_buf()),
            write_error: Arc::default(),
            truncation: TruncationFlag::of(folder),
        }
    }

    /// Returns the same folder for an index whose files are opened again.
    pub(super) fn reopened(&self) -> Self {
        Self { truncation: TruncationFlag::of(&self.folder), ..self.clone() }
    }

    /// Returns the flag that is raised once a missing part of a truncated file is read.
    pub(super) const fn truncation(&self) -> &TruncationFlag {
        &self.truncation
    }

    pub(super) fn path(&self) -> &Path {
        &self.folder
    }

    fn folder(&self) -> PathBuf {
        self.folder.as_ref().clone()
    }

    /// Records a write error of the operating system.
    pub(super) fn record_write_error(&self, error: &io::Error) {
        let copy = match error.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code),
            None => io::Error::new(error.kind(), error.to_string()),
        };
        *self.write_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(copy));
    }

    /// Clears the recorded write error.
    pub(super) fn clear_write_error(&self) {
        *self.write_error.lock().unwrap_or_else(PoisonError::into_inner) = None;
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
        let write_error = self.write_error.lock().unwrap_or_else(PoisonError::into_inner).clone();
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
            | TantivyError::UnexpectedPlugin(_)) => match write_error {
                Some(source) => self.io(source),
                None => KeywordError::Failed { folder: self.folder(), detail: error.to_string() },
            },
        }
    }
}

/// Reports whether an error is caused by damaged files rather than by the operating system.
///
/// Tantivy reports files it cannot decode as one of these kinds.
fn is_damage(error: &io::Error) -> bool {
    use io::ErrorKind;
    matches!(
        error.kind(),
        ErrorKind::InvalidData | ErrorKind::UnexpectedEof | ErrorKind::InvalidInput
    ) || is_misplaced(error)
}
