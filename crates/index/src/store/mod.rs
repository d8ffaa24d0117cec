//! The store: a folder that holds an index between runs.
//!
//! ```text
//! lock                        held by the one process that writes; names the address it serves
//! model.json                  the model whose vectors serve, and the settings that open it; no key
//! CURRENT                     the generation folder to open, replaced atomically
//! ISSUED                      a generation never yet published; a run that did not end well goes on from there
//! INTENDED                    a move of a file that is under way; gone when it is done
//! gen-<g>/manifest.rmp        format version, generation, length and crc32 of each file beside it
//! gen-<g>/notes.col           names, notes and bodies, mapped      gen-<g>/graph.rmp   the graph as columns
//! vectors/<model>/<n>/vec.f32     one row per chunk, append-only; the highest n with a log counts, compaction begins another
//! vectors/<model>/<n>/rows.log    text hash and crc32 of each row, append-only, written after its row is durable
//! vectors/<model>/<n>/hnsw.u32    the frozen graph over the rows, where there is one
//! keyword/                    the word index
//! ```
//!
//! Files are the truth, so what a crash takes from the newest state is read again from them; vectors, the costly part, are durable as soon as their row is logged.

mod backup;
mod checkpoint;
mod number;
mod shelf;

use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

pub(crate) use backup::Held;
pub use backup::{Backup, BackupWriter, Copied, Piece, restore};
pub use checkpoint::{Checkpoint, Checkpoints, Newest};
pub use shelf::{Shelf, ShelfReport};

use crate::disk::{self, Disk, STAGED};
use crate::embedder::ModelIdentity;
use crate::keyword::KeywordWriter;
use crate::notes::Spill;

/// The format of the store's files that this release writes and reads.
pub(crate) const FORMAT_VERSION: u32 = 3;

/// Generations that may be published before [`Store::issue`] writes again.
const ISSUE_AHEAD: u64 = 1024;

/// Generations that are passed over where it is not known which were published: more than any run publishes between two checkpoints.
const UNKNOWN_AHEAD: u64 = 1 << 20;

/// Where a run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resumed {
    /// The generation to start from: that of the run before where it ended well, else one that nobody has seen.
    pub generation: u64,
    /// Whether all that the run before published was written down.
    pub ended_well: bool,
}

/// The file that the process which writes holds locked.
const LOCK: &str = "lock";

/// The file that names a generation never yet published.
const ISSUED: &str = "ISSUED";

/// The file that says what is about to be done outside of the store.
const INTENDED: &str = "INTENDED";

/// The file that names the generation to open.
const CURRENT: &str = "CURRENT";

/// The file that says whose vectors serve.
pub const MODEL: &str = "model.json";

/// An open store. While it lives no other process can open the same folder.
#[derive(Debug)]
pub struct Store {
    root: PathBuf,
    disk: Disk,
    lock: std::fs::File,
    /// Where this process can be asked; empty where it cannot.
    address: String,
    /// Generations below this one may have been published; nothing where that cannot be told.
    issued: Option<u64>,
}

/// Why a store cannot be opened or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process holds it.
    #[error("the store {} is in use{}", store.display(), holder.as_ref().map(|at| format!(" by the daemon at {at}")).unwrap_or_default())]
    Locked {
        /// Which folder.
        store: PathBuf,
        /// Where the other process can be asked, if it serves.
        holder: Option<String>,
    },
    /// It was written by a later release.
    #[error("the store {} has format {found}; this release reads up to {FORMAT_VERSION}: upgrade, or delete the folder to build the index anew", store.display())]
    FutureVersion {
        /// Which folder.
        store: PathBuf,
        /// The format found.
        found: u32,
    },
    /// It was written by an earlier release, in a way that this one does not read.
    #[error("the store {} has format {found}, of an earlier release, and this one reads format {FORMAT_VERSION}", store.display())]
    PastVersion {
        /// Which folder.
        store: PathBuf,
        /// The format found.
        found: u32,
    },
    /// The file system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried: `read`, `write`, ….
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A file is not what was written.
    #[error("{} is damaged: {reason}", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// How it shows.
        reason: String,
    },
    /// A file that is in use is not what was written any more.
    #[error("{} was changed by another program", path.display())]
    Changed {
        /// Which file.
        path: PathBuf,
    },
    /// A folder where something is to be written holds something.
    #[error("{} is not empty, and nothing in it is overwritten", folder.display())]
    NotEmpty {
        /// Which folder.
        folder: PathBuf,
    },
    /// A folder that is to be a store holds other things.
    #[error("{} holds files and no index; an index needs a folder of its own: name one that is empty or not there yet", folder.display())]
    NoStore {
        /// Which folder.
        folder: PathBuf,
    },
    /// A folder is no backup.
    #[error("{} holds no backup, or one that was not finished", folder.display())]
    NoBackup {
        /// Which folder.
        folder: PathBuf,
    },
    /// Vectors cannot be kept.
    #[error(transparent)]
    Vector(#[from] crate::vector::VectorError),
}

impl StoreError {
    pub(crate) fn io(
        action: &'static str,
        path: &Path,
    ) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }

    /// Whether something that was written down cannot be used any more, and is to be made again: it is damaged, or of an earlier release.
    #[must_use]
    pub const fn is_lost(&self) -> bool {
        match self {
            Self::Damaged { .. } | Self::PastVersion { .. } => true,
            Self::Locked { .. }
            | Self::FutureVersion { .. }
            | Self::Io { .. }
            | Self::Changed { .. }
            | Self::NotEmpty { .. }
            | Self::NoStore { .. }
            | Self::NoBackup { .. }
            | Self::Vector(_) => false,
        }
    }

    /// Why a file of the store cannot be read: damage where a folder lies in its place, or a file in that of its folder.
    fn unread(path: &Path) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| match disk::is_misplaced(&source) {
            true => Self::Damaged { path, reason: source.to_string() },
            false => Self::Io { action: "read", path, source },
        }
    }
}

/// What the store at `root` would be opened with; nothing where there is none, or none that holds a generation.
///
/// Reads all of it, and leaves what it holds as it is. Fails as opening it would.
pub fn inspect(root: &Path) -> Result<Option<Newest>, StoreError> {
    if !root.join(LOCK).exists() {
        return Ok(None);
    }
    Store::open(&Disk::default(), root, None)?.checkpoints().newest()
}

/// Whether `root` may hold a store: one lies there, or nothing that anybody has put there.
fn may_hold_store(root: &Path) -> bool {
    let is_put = |entry: std::fs::DirEntry| {
        let name = entry.file_name();
        !name.as_encoded_bytes().starts_with(b".") && name != "lost+found"
    };
    let checkpoints = Checkpoints::new(root.to_owned(), Disk::default());
    [LOCK, CURRENT, ISSUED].iter().any(|file| root.join(file).exists())
        || checkpoints.stored().is_ok_and(|stored| !stored.is_empty())
        || !std::fs::read_dir(root).into_iter().flatten().flatten().any(is_put)
}

/// Takes away what lies where a file, or a folder, of another kind belongs.
fn clear(disk: &Disk, root: &Path) -> Result<(), StoreError> {
    let files = [CURRENT, ISSUED, INTENDED, MODEL].map(|file| root.join(file));
    for path in files.iter().filter(|path| path.is_dir()) {
        disk.remove_folder(path).map_err(StoreError::io("remove", path))?;
    }
    let vectors = root.join(shelf::FOLDER);
    if vectors.is_file() {
        disk.remove_file(&vectors).map_err(StoreError::io("remove", &vectors))?;
    }
    Ok(())
}

/// Locks the store at `root`, and writes into the lock where its holder can be asked.
fn locked(root: &Path, address: &str) -> Result<std::fs::File, StoreError> {
    let path = root.join(LOCK);
    let mut options = std::fs::File::options();
    let mut lock = options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(StoreError::io("open", &path))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(std::fs::TryLockError::WouldBlock) => {
            let mut holder = String::new();
            let _ = lock.read_to_string(&mut holder);
            let holder = Some(holder.trim().to_owned()).filter(|holder| !holder.is_empty());
            return Err(StoreError::Locked { store: root.to_owned(), holder });
        }
        Err(std::fs::TryLockError::Error(source)) => {
            return Err(StoreError::Io { action: "lock", path, source });
        }
    }
    let write = |lock: &mut std::fs::File| {
        lock.set_len(0)?;
        lock.rewind()?;
        lock.write_all(address.as_bytes())
    };
    write(&mut lock).map_err(StoreError::io("write", &path))?;
    Ok(lock)
}

/// Whether the lock in its place is this one: nobody took the store away, or put another there.
fn is_in_place(lock: &std::fs::File, root: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let number = |facts: std::fs::Metadata| (facts.dev(), facts.ino());
        let placed = std::fs::metadata(root.join(LOCK)).map(number);
        placed.is_ok_and(|placed| lock.metadata().is_ok_and(|own| number(own) == placed))
    }
    #[cfg(not(unix))]
    {
        let _ = lock;
        root.join(LOCK).exists()
    }
}

impl Store {
    /// Opens or creates the folder `root` on `disk` and locks it; `address` tells others where this process can be asked.
    ///
    /// What an interrupted run has left unfinished is removed; a new folder is open to its owner alone, as what it holds is as secret as the notes.
    /// Fails where the folder holds other things: a store removes what is none of its own.
    pub fn open(disk: &Disk, root: &Path, address: Option<&str>) -> Result<Self, StoreError> {
        if !may_hold_store(root) {
            return Err(StoreError::NoStore { folder: root.to_owned() });
        }
        disk.create_private_folder(root).map_err(StoreError::io("create", root))?;
        let address = address.unwrap_or_default().to_owned();
        let lock = locked(root, &address)?;
        clear(disk, root)?;
        let issued = match number::read(&root.join(ISSUED)) {
            Ok(issued) => issued,
            Err(StoreError::Damaged { .. }) => None,
            Err(error) => return Err(error),
        };
        let store = Self { root: root.to_owned(), disk: disk.clone(), lock, address, issued };
        // What cannot be removed takes room and does no harm.
        let folders = [root.to_owned(), store.keyword_folder()].into_iter();
        let _ = store.sweep(folders.chain(shelf::folders(root)));
        Ok(store)
    }

    /// Removes from `folders` what was never finished.
    fn sweep(&self, folders: impl IntoIterator<Item = PathBuf>) -> Result<(), StoreError> {
        let staged = self.root.join(checkpoint::STAGED_FOLDER);
        self.disk.remove_folder(&staged).map_err(StoreError::io("remove", &staged))?;
        for folder in folders {
            let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
            let staged = entries.map(|entry| entry.path()).filter(|path| {
                path.extension().is_some_and(|extension| extension == STAGED) && path.is_file()
            });
            for path in staged {
                self.disk.remove_file(&path).map_err(StoreError::io("remove", &path))?;
            }
        }
        Ok(())
    }

    /// Takes off the disk what the checkpoint of `generation` and the vectors of `models` do not need: other generations, other models' vectors, what was never finished.
    pub fn compact(&self, generation: u64, models: &[&ModelIdentity]) -> Result<(), StoreError> {
        self.checkpoints().keep(generation, 1)?;
        shelf::keep(&self.disk, &self.root, models)?;
        // Not the words: segments may be merged in the background, and that is about to be finished.
        self.sweep([self.root.clone()])
    }

    /// Keeps what is about to be done outside of the store, for the next run to find, until it is said to be done.
    pub fn intend(&self, what: Option<&[u8]>) -> Result<(), StoreError> {
        let path = self.root.join(INTENDED);
        match what {
            Some(bytes) => self.disk.replace(&path, &disk::sealed(bytes)),
            None if !path.exists() => Ok(()),
            None => self.disk.remove_file(&path),
        }
        .map_err(StoreError::io("write", &path))
    }

    /// What the last run was about to do and is not known to have done; nothing where it cannot be told any more.
    pub fn intended(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.root.join(INTENDED);
        let bytes = disk::read(&path).map_err(StoreError::unread(&path))?;
        Ok(bytes.and_then(|bytes| Some(disk::unsealed(&bytes)?.to_vec())))
    }

    /// The files of `generation`, which must be written down, with `words` and `vectors`, held open.
    pub fn backup(
        &self,
        generation: u64,
        words: &KeywordWriter,
        vectors: Option<&Shelf>,
    ) -> Result<Backup, StoreError> {
        let mut files = self.checkpoints().held(generation)?;
        let folder = self.keyword_folder();
        files.extend(words.held(&folder).map_err(StoreError::io("read", &folder))?);
        if let Some(shelf) = vectors {
            files.extend(shelf.held()?);
        }
        Ok(Backup::new(generation, self.root.clone(), files))
    }

    /// What its files are changed through.
    #[must_use]
    pub const fn disk(&self) -> &Disk {
        &self.disk
    }

    /// Its folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of the word index.
    #[must_use]
    pub fn keyword_folder(&self) -> PathBuf {
        self.root.join("keyword")
    }

    /// Where checkpoints are written: a handle that another thread may have.
    #[must_use]
    pub fn checkpoints(&self) -> Checkpoints {
        Checkpoints::new(self.root.clone(), self.disk.clone())
    }

    /// Where bodies wait, out of memory, until a checkpoint holds them.
    #[must_use]
    pub fn spill(&self) -> Spill {
        Spill::new(self.disk.clone(), self.root.clone())
    }

    /// Makes sure that the folder is still this process's own: locks it again where it was deleted.
    ///
    /// Fails with [`StoreError::Locked`] where another process has taken the place meanwhile; nothing may be written then.
    pub fn hold(&mut self) -> Result<(), StoreError> {
        if !is_in_place(&self.lock, &self.root) {
            let root = &self.root;
            self.disk.create_private_folder(root).map_err(StoreError::io("create", root))?;
            self.lock = locked(root, &self.address)?;
            // What it said of earlier generations went as well.
            self.issued = None;
        }
        Ok(())
    }

    /// Makes sure that `generation` was never published by an earlier run and will not be by a later one.
    ///
    /// Fails where another process [holds](Self::hold) the folder.
    pub fn issue(&mut self, generation: u64) -> Result<(), StoreError> {
        self.hold()?;
        if self.issued.is_some_and(|issued| generation < issued) {
            return Ok(());
        }
        self.set_issued(generation + ISSUE_AHEAD)
    }

    /// Where to go on after `newest` was read back, or 0 where there was none.
    pub fn resume(&self, newest: u64) -> Result<Resumed, StoreError> {
        let known = newest.max(self.checkpoints().stored()?.last().copied().unwrap_or(0));
        let well = |generation| Resumed { generation, ended_well: true };
        let suddenly = |generation| Resumed { generation, ended_well: false };
        Ok(match self.issued {
            Some(issued) if issued == newest => well(newest),
            Some(issued) => suddenly(issued.max(known) + 1),
            None if known == 0 && !self.root.join(ISSUED).exists() => well(0),
            None => suddenly(known + UNKNOWN_AHEAD),
        })
    }

    /// Notes that the run ends with `generation` written down, so that the next may go on from it.
    pub fn settle(&mut self, generation: u64) -> Result<(), StoreError> {
        if self.issued == Some(generation) { Ok(()) } else { self.set_issued(generation) }
    }

    fn set_issued(&mut self, issued: u64) -> Result<(), StoreError> {
        number::write(&self.disk, &self.root.join(ISSUED), issued)?;
        self.issued = Some(issued);
        Ok(())
    }
}
