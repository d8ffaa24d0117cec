//! The home of vaults: where their files are listed, watched, read and changed.

use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weft_model::{NotePath, TextHash};

use crate::WatchOptions;
use crate::change_log::ChangeLog;
use crate::file_watcher::{FileWatcher, Touched, folder_identity};
use crate::scan::{self, PathProblem, ScanArea, ScanError, ScanOptions, ScanResult, WritablePath};
use crate::vault_files::{self, VaultFiles};

/// Receives the changes that a home reports.
pub type OnChange = Box<dyn Fn(Touched) + Send>;

/// Present location of a vault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VaultLocation {
    /// Path that listed files begin with.
    pub root: PathBuf,
    /// Identity of what is there, which another folder at the same path does not have; `None` if nothing is there.
    pub identity: Option<(u64, u64)>,
}

/// The home of the vaults of one index.
///
/// The writer lists, reads and changes the files of a vault only through this trait, so the notes are indexed in the same way wherever they are.
/// `root` is the place that the settings give for a vault, or the present one of [`locate`](Self::locate).
/// One thread lists and changes files; several read them.
pub trait VaultHome: Debug + Send + Sync {
    /// Returns where the vault that the settings place at `root` is now.
    fn locate(&self, root: &Path) -> VaultLocation;

    /// Lists the notes in an area of the vault, with their metadata, and reports what is skipped.
    ///
    /// Deterministic and ordered by path; the result for an area equals the full result restricted to that area.
    fn list(
        &self,
        root: &Path,
        options: &ScanOptions,
        area: &ScanArea,
    ) -> Result<ScanResult, ScanError>;

    /// Reads a listed file; fails if it is larger than `max_bytes`.
    fn read(&self, root: &Path, file: &Path, max_bytes: u64) -> Result<Vec<u8>, ScanError>;

    /// Reports changes from now on until the watcher is dropped, and returns a notice for users if that is not possible as the options ask.
    ///
    /// By default nothing is reported: changes of a home with a [log](ChangeLog) arrive by it.
    fn watch(
        &self,
        root: &Path,
        options: &WatchOptions,
        on_change: OnChange,
    ) -> (FileWatcher, Option<String>) {
        let _ = (root, options, on_change);
        (FileWatcher::default(), None)
    }

    /// Returns the file for `path`, existing or not, if a listing would contain it; the inner error states why it would not.
    ///
    /// By default every path is writable and no file has a second one.
    fn writable(
        &self,
        root: &Path,
        options: &ScanOptions,
        path: &NotePath,
    ) -> Result<Result<WritablePath, PathProblem>, ScanError> {
        let _ = options;
        let named = root.join(path.as_str());
        Ok(Ok(WritablePath { real: named.clone(), named }))
    }

    /// Returns the present bytes of a writable file; `None` if it does not exist.
    fn content(&self, file: &Path) -> io::Result<Option<Vec<u8>>>;

    /// Replaces the content `old` of a file, or creates the file if `old` is `None`. Nothing changes on failure.
    fn put(&self, file: &Path, old: Option<TextHash>, bytes: &[u8]) -> Result<(), ChangeError>;

    /// Removes a file; a missing one is not an error.
    fn remove(&self, file: &Path, old: Option<TextHash>) -> Result<(), ChangeError>;

    /// Returns true if a path is a symbolic link.
    fn is_link(&self, _file: &Path) -> bool {
        false
    }

    /// Returns the log of the home; `None` if its states have no numbers, as those of folders.
    fn log(&self) -> Option<&dyn ChangeLog> {
        None
    }

    /// Moves a file and edits others in one transaction. Nothing changes on failure.
    ///
    /// `None` if the home has no transactions: the writer then moves and edits file by file, and finishes what a crash interrupts.
    fn commit_move(&self, _moved: &FileMove<'_>) -> Option<Result<(), ChangeError>> {
        None
    }
}

/// A file to move, and the edits that belong to it.
#[derive(Debug)]
pub struct FileMove<'a> {
    /// The file.
    pub from: &'a Path,
    /// Its new path, where no file is.
    pub to: &'a Path,
    /// Hash of its bytes.
    pub hash: TextHash,
    /// Files to edit, by their paths after the move, with the hash of their bytes and the new text.
    pub edits: Vec<(&'a Path, TextHash, &'a str)>,
}

/// Reason why a file was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// Another writer changed the file.
    #[error("another writer changed it")]
    Changed {
        /// Hash of its present bytes; `None` if it does not exist.
        actual: Option<TextHash>,
    },
    /// The home failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Vaults that are folders.
#[derive(Debug)]
pub(crate) struct Folders {
    files: Arc<VaultFiles>,
}

impl Folders {
    pub(crate) const fn new(files: Arc<VaultFiles>) -> Self {
        Self { files }
    }
}

impl VaultHome for Folders {
    fn locate(&self, root: &Path) -> VaultLocation {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let identity = folder_identity(&root);
        VaultLocation { root, identity }
    }

    fn list(
        &self,
        root: &Path,
        options: &ScanOptions,
        area: &ScanArea,
    ) -> Result<ScanResult, ScanError> {
        scan::scan(root, options, area)
    }

    fn read(&self, root: &Path, file: &Path, max_bytes: u64) -> Result<Vec<u8>, ScanError> {
        scan::read(root, file, max_bytes)
    }

    fn watch(
        &self,
        root: &Path,
        options: &WatchOptions,
        on_change: OnChange,
    ) -> (FileWatcher, Option<String>) {
        FileWatcher::start(root, options, on_change)
    }

    fn writable(
        &self,
        root: &Path,
        options: &ScanOptions,
        path: &NotePath,
    ) -> Result<Result<WritablePath, PathProblem>, ScanError> {
        scan::writable_path(root, options, path)
    }

    fn content(&self, file: &Path) -> io::Result<Option<Vec<u8>>> {
        vault_files::read(file)
    }

    fn put(&self, file: &Path, old: Option<TextHash>, bytes: &[u8]) -> Result<(), ChangeError> {
        match old {
            Some(_) => self.files.replace(file, bytes)?,
            None => self.files.create(file, bytes)?,
        }
        Ok(())
    }

    fn remove(&self, file: &Path, _old: Option<TextHash>) -> Result<(), ChangeError> {
        Ok(self.files.remove(file)?)
    }

    fn is_link(&self, file: &Path) -> bool {
        file.is_symlink()
    }
}
