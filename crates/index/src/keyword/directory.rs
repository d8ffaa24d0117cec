//! Where the word index lies: a folder whose changes pass a [`Disk`], and whose lists of files carry a checksum.
//!
//! The library gives its segments checksums, but not the two small files that say which segments count.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, Directory, DirectoryLock, FileHandle, Lock, MmapDirectory, TerminatingWrite,
    WatchCallback, WatchHandle, WritePtr,
};

use super::error::{KeywordError, Place};
use crate::disk::{Disk, Step, sealed, unsealed};

/// The folder of an index.
#[derive(Clone, Debug)]
pub(super) struct IndexFolder {
    files: MmapDirectory,
    folder: PathBuf,
    disk: Disk,
}

impl IndexFolder {
    /// Opens the folder, which must be there.
    pub(super) fn open(disk: &Disk, folder: &Path, place: &Place) -> Result<Self, KeywordError> {
        let files = MmapDirectory::open(folder).map_err(|error| place.directory(error))?;
        Ok(Self { files, folder: folder.to_owned(), disk: disk.clone() })
    }

    fn pass(&self, step: Step, path: &Path) -> io::Result<()> {
        self.disk.pass(step, &self.folder.join(path))
    }
}

impl Directory for IndexFolder {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.files.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.pass(Step::Remove, path).map_err(|error| DeleteError::IoError {
            io_error: Arc::new(error),
            filepath: path.to_owned(),
        })?;
        self.files.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.files.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        self.pass(Step::Create, path).map_err(|error| OpenWriteError::IoError {
            io_error: Arc::new(error),
            filepath: path.to_owned(),
        })?;
        let file = self.files.open_write(path)?;
        if !self.disk.is_gated() {
            return Ok(file);
        }
        let path = self.folder.join(path);
        Ok(BufWriter::new(Box::new(Gated { file, path, disk: self.disk.clone() })))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        let bytes = self.files.atomic_read(path)?;
        unsealed(&bytes).map(<[u8]>::to_vec).ok_or_else(|| OpenReadError::IoError {
            io_error: Arc::new(io::Error::new(io::ErrorKind::InvalidData, "its checksum differs")),
            filepath: path.to_owned(),
        })
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        self.disk.swap(&self.folder.join(path), &sealed(data))
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.pass(Step::Sync, Path::new(""))?;
        self.files.sync_directory()
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        self.files.acquire_lock(lock)
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.files.watch(callback)
    }
}

/// A file whose writes a gate may refuse.
struct Gated {
    file: WritePtr,
    path: PathBuf,
    disk: Disk,
}

impl Write for Gated {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.disk.pass(Step::Write, &self.path)?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl TerminatingWrite for Gated {
    fn terminate_ref(&mut self, token: AntiCallToken) -> io::Result<()> {
        self.disk.pass(Step::Sync, &self.path)?;
        self.file.terminate_ref(token)
    }
}
