//! The store: a folder that persists an index between runs.
//!
//! ```text
//! lock                        locked by the single writing process; contains the address it serves
//! model.json                  the model whose vectors are served, and the settings to load it; no API key
//! model-choice.json           the bundled model that `auto` chose, and the share of text that decided
//! CURRENT                     number of the current generation folder, replaced atomically
//! ISSUED                      a generation not yet published; the next run continues there after an unclean shutdown
//! INTENDED                    a file move in progress; removed when it is complete
//! gen-<g>/manifest.rmp        format version, generation, length and crc32 of each file beside it
//! gen-<g>/notes.col           names, notes and bodies, mapped      gen-<g>/graph.rmp   the graph as columns
//! vectors/<model>/<n>/vec.f32     one row per chunk, append-only; the highest n with a log is current, compaction creates the next
//! vectors/<model>/<n>/rows.log    text hash and crc32 of each row, append-only, written after its row is durable
//! vectors/<model>/<n>/hnsw.u32    the frozen graph over the rows, if any
//! vectors/<model>/calibration.rmp    how to read the model's cosines, if that was measured on the vectors
//! keyword/                    the keyword index
//! ```
//!
//! The notes' files are the source of truth, so state lost in a crash is read from them again; vectors, the costly part, are durable as soon as their row is logged.

mod backup;
mod calibration_sample;
mod checkpoint;
mod embedding_files;
mod embedding_store;
mod number_file;
mod shared_graph;

use std::fs::{File, TryLockError};
use std::io::{Seek as _, Write as _};
use std::path::{Path, PathBuf};

pub use backup::{Backup, BackupPart, BackupSummary, BackupWriter, restore};
pub use checkpoint::{Checkpoint, Checkpoints, LatestCheckpoint};
pub use embedding_store::{EmbeddingStore, EmbeddingStoreReport};
pub use shared_graph::{SharedGraph, SharedGraphSource};

use crate::disk::{self, Disk, STAGED_EXTENSION};
use crate::embedder::ModelIdentity;
use crate::file_lock::FileLock;
use crate::keyword::KeywordWriter;
use crate::notes::Spill;
use crate::truncated_maps::TruncatedFile;

/// Format of the store's files that this release reads and writes.
pub(crate) const FORMAT_VERSION: u32 = 6;

/// Generations that may be published before [`Store::reserve_generation`] writes again.
const RESERVE_AHEAD: u64 = 1024;

/// Generations to skip if it is unknown which were published: more than any run publishes between two checkpoints.
const UNKNOWN_AHEAD: u64 = 1 << 20;

/// Starting point of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResumePoint {
    /// Generation to start from: that of the previous run after a clean shutdown, else one never published.
    pub generation: u64,
    /// True if the previous run persisted everything it published.
    pub clean_shutdown: bool,
}

/// File locked by the writing process.
const LOCK: &str = "lock";

/// File with a generation not yet published.
const ISSUED: &str = "ISSUED";

/// File that records an operation outside of the store before it starts.
const INTENDED: &str = "INTENDED";

/// File with the number of the current generation.
const CURRENT: &str = "CURRENT";

/// File with the settings of the model whose vectors are served.
pub const MODEL_SETTINGS_FILE: &str = "model.json";

/// File with the bundled model that was chosen for the vaults.
pub const MODEL_CHOICE_FILE: &str = "model-choice.json";

/// An open store. No other process can open the same folder while this value exists.
#[derive(Debug)]
pub struct Store {
    root: PathBuf,
    disk: Disk,
    lock: FileLock,
    /// Address that this process serves; empty if it serves none.
    address: String,
    /// Generations below this one may have been published; `None` if unknown.
    issued: Option<u64>,
}

/// Reason why a store cannot be opened or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process has locked the store.
    #[error("the store {} is in use{}", store.display(), holder.as_ref().map(|at| format!(" by the daemon at {at}")).unwrap_or_default())]
    Locked {
        /// Folder of the store.
        store: PathBuf,
        /// Address of the other process, if it serves one.
        holder: Option<String>,
    },
    /// The store was written by a later release.
    #[error("the store {} has format {found}; this release reads up to {FORMAT_VERSION}: upgrade, or delete the folder to rebuild the index", store.display())]
    FutureVersion {
        /// Folder of the store.
        store: PathBuf,
        /// Format of the store.
        found: u32,
    },
    /// The store was written by an earlier release, in a format that this one does not support.
    #[error("the store {} has format {found} of an earlier release; this release reads format {FORMAT_VERSION}", store.display())]
    PastVersion {
        /// Folder of the store.
        store: PathBuf,
        /// Format of the store.
        found: u32,
    },
    /// A file operation failed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// Operation: `read`, `write`, ….
        action: &'static str,
        /// Path of the file or folder.
        path: PathBuf,
        /// Error of the file system.
        source: std::io::Error,
    },
    /// A file is corrupt.
    #[error("{} is damaged: {reason}", path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Kind of damage.
        reason: String,
    },
    /// An open file was changed by another program.
    #[error("{} was changed by another program", path.display())]
    Changed {
        /// Path of the file.
        path: PathBuf,
    },
    /// A target folder is not empty.
    #[error("{} is not empty; choose an empty or new folder", folder.display())]
    NotEmpty {
        /// The folder.
        folder: PathBuf,
    },
    /// A folder contains files that are not a store.
    #[error("{} contains files that are not an index; choose an empty or new folder for the index", folder.display())]
    NotAStore {
        /// The folder.
        folder: PathBuf,
    },
    /// A folder is not a backup.
    #[error("{} is not a complete backup", folder.display())]
    NotABackup {
        /// The folder.
        folder: PathBuf,
    },
    /// Vectors cannot be stored.
    #[error(transparent)]
    Vector(#[from] crate::vector::VectorError),
}

impl From<TruncatedFile> for StoreError {
    fn from(TruncatedFile { path }: TruncatedFile) -> Self {
        Self::Changed { path }
    }
}

impl StoreError {
    pub(crate) fn io(
        action: &'static str,
        path: &Path,
    ) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }

    /// True if stored data is unusable and must be rebuilt: it is damaged, or of an earlier release.
    #[must_use]
    pub const fn needs_rebuild(&self) -> bool {
        match self {
            Self::Damaged { .. } | Self::PastVersion { .. } => true,
            Self::Locked { .. }
            | Self::FutureVersion { .. }
            | Self::Io { .. }
            | Self::Changed { .. }
            | Self::NotEmpty { .. }
            | Self::NotAStore { .. }
            | Self::NotABackup { .. }
            | Self::Vector(_) => false,
        }
    }

    /// Converts a read error: a folder in the place of a file, or the reverse, is damage.
    fn read_error(path: &Path) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| match disk::is_misplaced(&source) {
            true => Self::Damaged { path, reason: source.to_string() },
            false => Self::Io { action: "read", path, source },
        }
    }
}

/// Returns the checkpoint that opening the store at `root` would use; `None` if there is no store, or no generation in it.
///
/// Reads the whole checkpoint and changes nothing. Fails as opening it would.
pub fn inspect(root: &Path) -> Result<Option<LatestCheckpoint>, StoreError> {
    if !root.join(LOCK).exists() {
        return Ok(None);
    }
    Store::open(&Disk::default(), root, None)?.checkpoints().newest()
}

/// True if `root` contains a store, or nothing created by a user.
fn is_store_or_empty(root: &Path) -> bool {
    let is_user_file = |entry: std::fs::DirEntry| {
        let name = entry.file_name();
        !name.as_encoded_bytes().starts_with(b".") && name != "lost+found"
    };
    let has_files = std::fs::read_dir(root).into_iter().flatten().flatten().any(is_user_file);
    let checkpoints = Checkpoints::new(root.to_owned(), Disk::default());
    // In this order: a process that creates a store writes its lock before its other files.
    !has_files
        || [LOCK, CURRENT, ISSUED].iter().any(|file| root.join(file).exists())
        || checkpoints.stored().is_ok_and(|stored| !stored.is_empty())
}

/// Removes files and folders in the place of one of the other kind.
fn remove_misplaced(disk: &Disk, root: &Path) -> Result<(), StoreError> {
    let files = [CURRENT, ISSUED, INTENDED, MODEL_SETTINGS_FILE, MODEL_CHOICE_FILE];
    let files = files.map(|file| root.join(file));
    for path in files.iter().filter(|path| path.is_dir()) {
        disk.remove_folder(path).map_err(StoreError::io("remove", path))?;
    }
    let vectors = root.join(embedding_files::FOLDER);
    if vectors.is_file() {
        disk.remove_file(&vectors).map_err(StoreError::io("remove", &vectors))?;
    }
    Ok(())
}

/// Locks the store at `root` and writes the holder's address into the lock file.
fn lock_store(root: &Path, address: &str) -> Result<FileLock, StoreError> {
    let path = root.join(LOCK);
    let lock = FileLock::try_new(&path).map_err(|error| match error {
        TryLockError::WouldBlock => {
            let holder = std::fs::read_to_string(&path).unwrap_or_default();
            let holder = Some(holder.trim().to_owned()).filter(|holder| !holder.is_empty());
            StoreError::Locked { store: root.to_owned(), holder }
        }
        TryLockError::Error(source) => {
            StoreError::Io { action: "lock", path: path.clone(), source }
        }
    })?;
    let write = |mut file: &File| {
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(address.as_bytes())
    };
    write(lock.file()).map_err(StoreError::io("write", &path))?;
    Ok(lock)
}

/// True if the lock file at its path is the locked one: the store was neither removed nor replaced.
fn is_lock_current(lock: &File, root: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let number = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
        let current = std::fs::metadata(root.join(LOCK)).map(number);
        current.is_ok_and(|current| lock.metadata().is_ok_and(|own| number(own) == current))
    }
    #[cfg(not(unix))]
    {
        let _ = lock;
        root.join(LOCK).exists()
    }
}

impl Store {
    /// Opens or creates the folder `root` on `disk` and locks it; other processes find this one at `address`.
    ///
    /// Removes unfinished files of an interrupted run. A new folder is accessible to its owner only, since the index is as confidential as the notes.
    /// Fails if the folder contains other files, since a store removes files that are not its own.
    pub fn open(disk: &Disk, root: &Path, address: Option<&str>) -> Result<Self, StoreError> {
        if !is_store_or_empty(root) {
            return Err(StoreError::NotAStore { folder: root.to_owned() });
        }
        disk.create_private_folder(root).map_err(StoreError::io("create", root))?;
        let address = address.unwrap_or_default().to_owned();
        let lock = lock_store(root, &address)?;
        remove_misplaced(disk, root)?;
        let issued = match number_file::read(&root.join(ISSUED)) {
            Ok(issued) => issued,
            Err(StoreError::Damaged { .. }) => None,
            Err(error) => return Err(error),
        };
        let store = Self { root: root.to_owned(), disk: disk.clone(), lock, address, issued };
        // A file that cannot be removed takes space but does no harm.
        let folders = [root.to_owned(), store.keyword_folder()].into_iter();
        let _ = store.remove_unfinished(folders.chain(embedding_files::folders(root)));
        Ok(store)
    }

    /// Removes unfinished files from `folders`.
    fn remove_unfinished(
        &self,
        folders: impl IntoIterator<Item = PathBuf>,
    ) -> Result<(), StoreError> {
        let staged = self.root.join(checkpoint::STAGED_FOLDER);
        self.disk.remove_folder(&staged).map_err(StoreError::io("remove", &staged))?;
        for folder in folders {
            let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
            let staged = entries.map(|entry| entry.path()).filter(|path| {
                path.extension().is_some_and(|extension| extension == STAGED_EXTENSION)
                    && path.is_file()
            });
            for path in staged {
                self.disk.remove_file(&path).map_err(StoreError::io("remove", &path))?;
            }
        }
        Ok(())
    }

    /// Removes everything from disk that the checkpoint of `generation` and the vectors of `models` do not need: other generations, other models' vectors, unfinished files.
    pub fn compact(&self, generation: u64, models: &[&ModelIdentity]) -> Result<(), StoreError> {
        self.checkpoints().keep(generation, 1)?;
        embedding_files::keep(&self.disk, &self.root, models)?;
        // Excludes the keyword index: background merges there may still finish their files.
        self.remove_unfinished([self.root.clone()])
    }

    /// Records an operation outside of the store for the next run to find; `None` clears it.
    pub fn record_intent(&self, operation: Option<&[u8]>) -> Result<(), StoreError> {
        let path = self.root.join(INTENDED);
        match operation {
            Some(bytes) => self.disk.replace(&path, &disk::sealed(bytes)),
            None if !path.exists() => Ok(()),
            None => self.disk.remove_file(&path),
        }
        .map_err(StoreError::io("write", &path))
    }

    /// Returns the operation that the last run recorded and may not have completed; `None` if nothing is recorded or the record is unreadable.
    pub fn pending_intent(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.root.join(INTENDED);
        let bytes = disk::read(&path).map_err(StoreError::read_error(&path))?;
        Ok(bytes.and_then(|bytes| Some(disk::unsealed(&bytes)?.to_vec())))
    }

    /// Opens the files of the stored `generation`, with `keyword` and `vectors`, for a backup.
    pub fn backup(
        &self,
        generation: u64,
        keyword: &KeywordWriter,
        vectors: Option<&EmbeddingStore>,
    ) -> Result<Backup, StoreError> {
        let mut files = self.checkpoints().open_files(generation)?;
        let folder = self.keyword_folder();
        files.extend(keyword.open_files(&folder).map_err(StoreError::io("read", &folder))?);
        if let Some(embeddings) = vectors {
            files.extend(embeddings.open_files()?);
        }
        Ok(Backup::new(generation, self.root.clone(), files))
    }

    /// Returns the disk through which the store changes its files.
    #[must_use]
    pub const fn disk(&self) -> &Disk {
        &self.disk
    }

    /// Returns the folder of the store.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the folder of the keyword index.
    #[must_use]
    pub fn keyword_folder(&self) -> PathBuf {
        self.root.join("keyword")
    }

    /// Returns a handle for checkpoints, which another thread may use.
    #[must_use]
    pub fn checkpoints(&self) -> Checkpoints {
        Checkpoints::new(self.root.clone(), self.disk.clone())
    }

    /// Returns a spill for bodies until a checkpoint stores them.
    #[must_use]
    pub fn spill(&self) -> Spill {
        Spill::new(self.disk.clone(), self.root.clone())
    }

    /// Ensures that this process still holds the folder: locks it again if it was deleted.
    ///
    /// Fails with [`StoreError::Locked`] if another process has taken it meanwhile; the store must not be written then.
    pub fn ensure_locked(&mut self) -> Result<(), StoreError> {
        if !is_lock_current(self.lock.file(), &self.root) {
            let root = &self.root;
            self.disk.create_private_folder(root).map_err(StoreError::io("create", root))?;
            self.lock = lock_store(root, &self.address)?;
            // The record of published generations was deleted too.
            self.issued = None;
        }
        Ok(())
    }

    /// Ensures that `generation` was never published by an earlier run and will not be by a later one.
    ///
    /// Fails if another process [has locked](Self::ensure_locked) the folder.
    pub fn reserve_generation(&mut self, generation: u64) -> Result<(), StoreError> {
        self.ensure_locked()?;
        if self.issued.is_some_and(|issued| generation < issued) {
            return Ok(());
        }
        self.set_issued(generation + RESERVE_AHEAD)
    }

    /// Returns the starting point after loading the generation `newest`; `newest` is 0 if no generation is stored.
    pub fn resume(&self, newest: u64) -> Result<ResumePoint, StoreError> {
        let known = newest.max(self.checkpoints().stored()?.last().copied().unwrap_or(0));
        let clean = |generation| ResumePoint { generation, clean_shutdown: true };
        let unclean = |generation| ResumePoint { generation, clean_shutdown: false };
        Ok(match self.issued {
            Some(issued) if issued == newest => clean(newest),
            Some(issued) => unclean(issued.max(known) + 1),
            None if known == 0 && !self.root.join(ISSUED).exists() => clean(0),
            None => unclean(known + UNKNOWN_AHEAD),
        })
    }

    /// Records a clean shutdown with `generation` persisted, so that the next run continues from it.
    pub fn record_clean_shutdown(&mut self, generation: u64) -> Result<(), StoreError> {
        if self.issued == Some(generation) { Ok(()) } else { self.set_issued(generation) }
    }

    fn set_issued(&mut self, issued: u64) -> Result<(), StoreError> {
        number_file::write(&self.disk, &self.root.join(ISSUED), issued)?;
        self.issued = Some(issued);
        Ok(())
    }
}
