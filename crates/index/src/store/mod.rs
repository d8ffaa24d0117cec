//! The store: a folder that holds an index between runs.
//!
//! ```text
//! lock                        held by the one process that writes; names the address it serves
//! CURRENT                     the generation folder to open, replaced atomically
//! ISSUED                      a generation never yet published; a run that did not end well goes on from there
//! gen-<g>/manifest.rmp        format version, generation, length and crc32 of each file beside it
//! gen-<g>/notes.rmp           note table with bodies      gen-<g>/graph.rmp   the graph as columns
//! vectors/<model>/vec.f32     one row per chunk, append-only
//! vectors/<model>/rows.log    text hash and crc32 of each row, append-only, written after its row is durable
//! keyword/                    the word index
//! ```
//!
//! Files are the truth, so what a crash takes from the newest state is read again from them; vectors, the costly part, are durable as soon as their row is logged.

mod checkpoint;
mod files;
mod shelf;

use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

pub use checkpoint::{Checkpoint, Checkpoints};
pub use shelf::{Shelf, ShelfReport};

/// The newest format of the store's files that this release writes and reads.
pub(crate) const FORMAT_VERSION: u32 = 1;

/// Generations that may be published before [`Store::issue`] writes again.
const ISSUE_AHEAD: u64 = 1024;

/// An open store. While it lives no other process can open the same folder.
#[derive(Debug)]
pub struct Store {
    root: PathBuf,
    _lock: std::fs::File,
    issued: u64,
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
}

impl Store {
    /// Opens or creates the folder `root` and locks it; `address` tells others where this process can be asked.
    pub fn open(root: &Path, address: Option<&str>) -> Result<Self, StoreError> {
        std::fs::create_dir_all(root).map_err(StoreError::io("create", root))?;
        let path = root.join("lock");
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
            lock.write_all(address.unwrap_or_default().as_bytes())
        };
        write(&mut lock).map_err(StoreError::io("write", &path))?;
        let issued = files::read_number(&root.join("ISSUED"))?.unwrap_or(0);
        Ok(Self { root: root.to_owned(), _lock: lock, issued })
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
        Checkpoints { root: self.root.clone() }
    }

    /// Makes sure that `generation` was never published by an earlier run and will not be by a later one.
    pub fn issue(&mut self, generation: u64) -> Result<(), StoreError> {
        if generation < self.issued {
            return Ok(());
        }
        self.issued = generation + ISSUE_AHEAD;
        files::replace(&self.root.join("ISSUED"), self.issued.to_string().as_bytes())
    }

    /// The generation to start from after `newest` was read back: itself after a run that ended well, else one that nobody has seen.
    #[must_use]
    pub fn resume(&self, newest: u64) -> u64 {
        if self.issued == newest || self.issued == 0 { newest } else { self.issued + 1 }
    }

    /// Notes that the run ends with `generation` written down, so that the next may go on from it.
    pub fn settle(&mut self, generation: u64) -> Result<(), StoreError> {
        if self.issued != generation {
            self.issued = generation;
            files::replace(&self.root.join("ISSUED"), generation.to_string().as_bytes())?;
        }
        Ok(())
    }
}
