//! A file that stays open, so that its content is kept while the store changes.

use std::fs::File;
use std::io;
use std::path::PathBuf;

/// A file of the store, opened for a backup.
#[derive(Debug)]
pub(crate) struct OpenFile {
    pub(crate) path: PathBuf,
    pub(crate) file: File,
    pub(crate) n_bytes: u64,
}

impl OpenFile {
    /// Opens the file at `path` for its first `n_bytes`, or its current length.
    pub(crate) fn open(path: PathBuf, n_bytes: Option<u64>) -> io::Result<Self> {
        let file = File::open(&path)?;
        let n_bytes = n_bytes.map_or_else(|| Ok(file.metadata()?.len()), Ok::<_, io::Error>)?;
        Ok(Self { path, file, n_bytes })
    }
}
