//! Where the word index lies: a folder whose changes pass a [`Disk`], and whose lists of files carry a checksum.
//!
//! The library gives its segments checksums, but not the two small files that say which segments count.
//!
//! A commit writes many small files. They are made durable one after the other just before the list that names them: a journal takes them all at once then, instead of each on its own.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, Directory, DirectoryLock, FileHandle, Lock, MmapDirectory, TerminatingWrite,
    WatchCallback, WatchHandle, WritePtr,
};

use super::error::{KeywordError, Place};
use super::writer::MANAGED_FILE;
use crate::disk::{Disk, Step, sealed, unsealed};

/// Bytes of a segment's file that are written at once.
const PIECE_BYTES: usize = 64 << 10;

/// The folder of an index.
#[derive(Clone, Debug)]
pub(super) struct IndexFolder {
    files: MmapDirectory,
    disk: Disk,
    place: Place,
    /// Files that are written and not durable yet.
    pending: Arc<Mutex<Vec<PathBuf>>>,
}

impl IndexFolder {
    /// Opens the folder, which must be there.
    pub(super) fn open(disk: &Disk, place: &Place) -> Result<Self, KeywordError> {
        let files = MmapDirectory::open(place.path()).map_err(|error| place.directory(error))?;
        let (disk, place, pending) = (disk.clone(), place.clone(), Arc::default());
        Ok(Self { files, disk, place, pending })
    }

    /// A file is to be made durable.
    fn push(&self, path: PathBuf) {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        if !pending.contains(&path) {
            pending.push(path);
        }
    }

    /// Makes durable what was written, in the order in which it was.
    fn sync_files(&self) -> io::Result<()> {
        // Whoever comes second waits until the first is done: what it wrote may be in the first one's hands.
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let mut n_done = 0;
        let outcome = pending.iter().try_for_each(|path| {
            match File::options().write(true).open(path) {
                Ok(file) => self.disk.sync(&file, path)?,
                // It was merged away.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            n_done += 1;
            Ok(())
        });
        pending.drain(..n_done);
        outcome
    }

    fn pass(&self, step: Step, path: &Path) -> io::Result<()> {
        self.disk.pass(step, &self.place.path().join(path))
    }

    /// Forgets files that nobody reads any more.
    ///
    /// The library remembers every file that it ever mapped until it is asked which ones are: over a kilobyte with each commit.
    fn forget_unmapped(&self) {
        drop(self.files.get_cache_info());
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
        let full = self.place.path().join(path);
        let file = self.disk.create_new(&full).inspect_err(|error| self.place.refuse(error));
        let file = file.map_err(|error| {
            if error.kind() == io::ErrorKind::AlreadyExists {
                OpenWriteError::FileAlreadyExists(path.to_owned())
            } else {
                OpenWriteError::IoError { io_error: Arc::new(error), filepath: path.to_owned() }
            }
        })?;
        Ok(BufWriter::with_capacity(
            PIECE_BYTES,
            Box::new(Written { file, path: full, folder: self.clone() }),
        ))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        let bytes = self.files.atomic_read(path)?;
        unsealed(&bytes).map(<[u8]>::to_vec).ok_or_else(|| OpenReadError::IoError {
            io_error: Arc::new(io::Error::new(io::ErrorKind::InvalidData, "its checksum differs")),
            filepath: path.to_owned(),
        })
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        let full = self.place.path().join(path);
        if path != Path::new(MANAGED_FILE) {
            let swapped = self.disk.swap(&full, &sealed(data));
            return swapped.inspect_err(|error| self.place.refuse(error));
        }
        // Written anew for each file that is made: durable with them.
        let swapped = self.disk.swap_for_now(&full, &sealed(data));
        swapped.inspect_err(|error| self.place.refuse(error))?;
        self.push(full);
        Ok(())
    }

    fn sync_directory(&self) -> io::Result<()> {
        // Files came or went: this is called once for each commit and each removal.
        self.forget_unmapped();
        self.sync_files()?;
        self.disk.sync_folder(self.place.path())
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        self.files.acquire_lock(lock)
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.files.watch(callback)
    }
}

/// A file that is being written.
struct Written {
    file: File,
    path: PathBuf,
    folder: IndexFolder,
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Self { file, path, folder } = self;
        let written = folder.disk.pass(Step::Write, path).and_then(|()| file.write(bytes));
        written.inspect_err(|error| folder.place.refuse(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl TerminatingWrite for Written {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        self.folder.push(self.path.clone());
        Ok(())
    }
}
