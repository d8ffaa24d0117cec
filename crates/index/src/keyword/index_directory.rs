//! Index directory: the folder of the keyword index, with all changes made through a [`Disk`] and checksums on its file lists.
//!
//! Tantivy adds checksums to its segments, but not to the two small files that list the segments and the files.
//!
//! A commit writes many small files. They are synced together just before the list that names them, so that the file system can journal them in one batch.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, Directory, DirectoryLock, FileHandle, Lock, MmapDirectory, TerminatingWrite,
    WatchCallback, WatchHandle, WritePtr,
};

use super::keyword_error::{IndexLocation, KeywordError};
use crate::disk::{Disk, DiskOperation, sealed, unsealed};

/// File that lists the files of the index.
pub(super) const MANAGED_FILE: &str = ".managed.json";

/// Write buffer of a segment file in bytes.
const WRITE_BUFFER_BYTES: usize = 64 << 10;

/// Folder of an index.
#[derive(Clone, Debug)]
pub(super) struct IndexDirectory {
    files: MmapDirectory,
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
        let (disk, location, pending) = (disk.clone(), location.clone(), Arc::default());
        Ok(Self { files, disk, location, pending })
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

    /// Drops the cache entries of files that are no longer mapped.
    ///
    /// Tantivy keeps an entry for every file it ever mapped until its cache info is requested: over a kilobyte per commit.
    fn forget_unmapped(&self) {
        drop(self.files.get_cache_info());
    }
}

impl Directory for IndexDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.files.get_file_handle(path)
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
        self.files.acquire_lock(lock)
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
        self.folder.push(self.path.clone());
        Ok(())
    }
}
