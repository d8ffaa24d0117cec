//! Index directory: the folder of the keyword index, with all changes made through a [`Disk`] and checksums on its file lists.
//!
//! Tantivy adds checksums to its segments, but not to the two small files that list the segments and the files.
//!
//! A commit writes many small files. They are synced together just before the list that names them, so that the file system can journal them in one batch.

use std::collections::HashMap;
use std::fmt;
use std::fs::{File, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, Directory, DirectoryLock, FileHandle, Lock, MmapDirectory, OwnedBytes,
    TerminatingWrite, WatchCallback, WatchHandle, WritePtr,
};

use super::keyword_error::{IndexLocation, KeywordError};
use crate::disk::{Disk, DiskOperation, sealed, unsealed};
use crate::file_lock::FileLock;
use crate::mapped_file::{FileMap, MappedBytes};

/// File that lists the files of the index.
pub(super) const MANAGED_FILE: &str = ".managed.json";

/// Write buffer of a segment file in bytes.
const WRITE_BUFFER_BYTES: usize = 64 << 10;

/// Folder of an index.
#[derive(Clone)]
pub(super) struct IndexDirectory {
    /// Everything except reading and writing files.
    files: MmapDirectory,
    /// Mapped files.
    maps: Arc<Mutex<HashMap<PathBuf, Weak<FileMap>>>>,
    disk: Disk,
    location: IndexLocation,
    /// Files that are written but not synced yet.
    pending: Arc<Mutex<Vec<PathBuf>>>,
}

impl IndexDirectory {
    /// Opens the folder, which must exist.
    pub(super) fn open(disk: &Disk, location: &IndexLocation) -> Result<Self, KeywordError> {
        let files =
            MmapDirectory::open(location.path()).map_err(|error| location.directory(error))?;
        let (disk, location) = (disk.clone(), location.clone());
        let (maps, pending) = (Arc::default(), Arc::default());
        Ok(Self { files, maps, disk, location, pending })
    }

    /// Maps a file, or returns its present mapping; `None` for an empty file.
    fn map(&self, path: &Path) -> io::Result<Option<Arc<FileMap>>> {
        let mut maps = self.maps.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(map) = maps.get(path).and_then(Weak::upgrade) {
            return Ok(Some(map));
        }
        let file = File::open(self.location.path().join(path))?;
        let n_bytes = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        if n_bytes == 0 {
            return Ok(None);
        }
        let map = Arc::new(FileMap::new(&file, 0, n_bytes, self.location.truncation())?);
        maps.insert(path.to_owned(), Arc::downgrade(&map));
        Ok(Some(map))
    }

    /// Queues a file for the next sync.
    fn push(&self, path: PathBuf) {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        if !pending.contains(&path) {
            pending.push(path);
        }
    }

    /// Syncs the queued files in the order in which they were written.
    fn sync_files(&self) -> io::Result<()> {
        // A concurrent call waits here, because the first one may be syncing its files.
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let mut n_synced = 0;
        let outcome = pending.iter().try_for_each(|path| {
            match File::options().write(true).open(path) {
                Ok(file) => self.disk.sync(&file, path)?,
                // A merge deleted it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            n_synced += 1;
            Ok(())
        });
        pending.drain(..n_synced);
        outcome
    }

    fn check_fault(&self, operation: DiskOperation, path: &Path) -> io::Result<()> {
        self.disk.check_fault(operation, &self.location.path().join(path))
    }

    /// Drops the entries of files that are no longer mapped.
    fn forget_unmapped(&self) {
        let mut maps = self.maps.lock().unwrap_or_else(PoisonError::into_inner);
        maps.retain(|_, map| map.strong_count() > 0);
    }

    /// Fails if a missing part of a truncated file was read, so that what is written from it is not used.
    fn check_truncation(&self) -> io::Result<()> {
        self.location.truncation().check().map_err(|error| {
            let error = io::Error::new(io::ErrorKind::InvalidData, error.to_string());
            self.location.record_write_error(&error);
            error
        })
    }
}

impl fmt::Debug for IndexDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("IndexDirectory").field(&self.location.path()).finish()
    }
}

impl Directory for IndexDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        let map = self.map(path).map_err(|error| {
            if error.kind() == io::ErrorKind::NotFound {
                OpenReadError::FileDoesNotExist(path.to_owned())
            } else {
                OpenReadError::wrap_io_error(error, path.to_owned())
            }
        })?;
        let bytes = map.map_or_else(OwnedBytes::empty, |map| {
            let n_bytes = map.len();
            OwnedBytes::new(MappedBytes::new(map, 0, n_bytes))
        });
        Ok(Arc::new(bytes))
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.check_fault(DiskOperation::Remove, path).map_err(|error| DeleteError::IoError {
            io_error: Arc::new(error),
            filepath: path.to_owned(),
        })?;
        self.files.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.files.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let full = self.location.path().join(path);
        let file = self
            .disk
            .create_new(&full)
            .inspect_err(|error| self.location.record_write_error(error));
        let file = file.map_err(|error| {
            if error.kind() == io::ErrorKind::AlreadyExists {
                OpenWriteError::FileAlreadyExists(path.to_owned())
            } else {
                OpenWriteError::IoError { io_error: Arc::new(error), filepath: path.to_owned() }
            }
        })?;
        Ok(BufWriter::with_capacity(
            WRITE_BUFFER_BYTES,
            Box::new(IndexFileWriter { file, path: full, folder: self.clone() }),
        ))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        let bytes = self.files.atomic_read(path)?;
        unsealed(&bytes).map(<[u8]>::to_vec).ok_or_else(|| OpenReadError::IoError {
            io_error: Arc::new(io::Error::new(io::ErrorKind::InvalidData, "checksum mismatch")),
            filepath: path.to_owned(),
        })
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        self.check_truncation()?;
        let full = self.location.path().join(path);
        if path != Path::new(MANAGED_FILE) {
            let swapped = self.disk.swap(&full, &sealed(data));
            return swapped.inspect_err(|error| self.location.record_write_error(error));
        }
        // Rewritten for each new file, so it is synced together with them.
        let swapped = self.disk.swap_unsynced(&full, &sealed(data));
        swapped.inspect_err(|error| self.location.record_write_error(error))?;
        self.push(full);
        Ok(())
    }

    fn sync_directory(&self) -> io::Result<()> {
        // Files were created or deleted: this is called once for each commit and each deletion.
        self.forget_unmapped();
        self.sync_files()?;
        self.disk.sync_folder(self.location.path())
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        if lock.is_blocking {
            return self.files.acquire_lock(lock);
        }
        match FileLock::try_new(&self.location.path().join(&lock.filepath)) {
            Ok(lock) => Ok(DirectoryLock::from(Box::new(lock))),
            Err(TryLockError::WouldBlock) => Err(LockError::LockBusy),
            Err(TryLockError::Error(error)) => Err(LockError::wrap_io_error(error)),
        }
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.files.watch(callback)
    }
}

/// Writer of a file of the index.
struct IndexFileWriter {
    file: File,
    path: PathBuf,
    folder: IndexDirectory,
}

impl Write for IndexFileWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Self { file, path, folder } = self;
        let written =
            folder.disk.check_fault(DiskOperation::Write, path).and_then(|()| file.write(bytes));
        written.inspect_err(|error| folder.location.record_write_error(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl TerminatingWrite for IndexFileWriter {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        self.folder.check_truncation()?;
        self.folder.push(self.path.clone());
        Ok(())
    }
}
