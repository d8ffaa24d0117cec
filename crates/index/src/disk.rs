//! File operations of the store, all in one place.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

/// A kind of file operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DiskOperation {
    /// A file or folder is created.
    Create,
    /// Bytes are written into a file.
    Write,
    /// The length of a file is changed.
    Resize,
    /// Written bytes are made durable.
    Sync,
    /// A file or folder is renamed.
    Rename,
    /// A file or folder is removed.
    Remove,
}

impl DiskOperation {
    /// True if a full disk refuses the operation.
    #[must_use]
    pub const fn needs_space(self) -> bool {
        match self {
            Self::Create | Self::Write | Self::Resize => true,
            Self::Sync | Self::Rename | Self::Remove => false,
        }
    }
}

/// Fails chosen file operations in tests.
pub trait FaultInjector: Send + Sync {
    /// Allows the operation on `path`, or returns the error that the file system is to report.
    fn check(&self, operation: DiskOperation, path: &Path) -> io::Result<()>;
}

/// The disk: all changes to the store's files pass through it. Cloning shares the fault injector.
///
/// Operations fail on their own only, unless a test adds a [`FaultInjector`].
#[derive(Clone, Default)]
pub struct Disk(Option<Arc<dyn FaultInjector>>);

impl fmt::Debug for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.has_faults() { "Disk with injected faults" } else { "Disk" })
    }
}

impl Disk {
    /// Creates a disk whose operations `injector` may fail.
    #[must_use]
    pub fn with_faults(injector: Arc<dyn FaultInjector>) -> Self {
        Self(Some(injector))
    }

    /// True if a fault injector is set.
    pub(crate) const fn has_faults(&self) -> bool {
        self.0.is_some()
    }

    /// Checks an operation that is performed elsewhere.
    pub(crate) fn check_fault(&self, operation: DiskOperation, path: &Path) -> io::Result<()> {
        self.0.as_ref().map_or(Ok(()), |injector| injector.check(operation, path))
    }

    /// Creates a folder and its missing parents, and makes their names durable: nothing in a folder is durable without its name.
    pub fn create_folder(&self, path: &Path) -> io::Result<()> {
        if path.is_dir() {
            return Ok(());
        }
        self.check_fault(DiskOperation::Create, path)?;
        let parents = || path.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty());
        let n_created = parents().take_while(|parent| !parent.is_dir()).count();
        fs::create_dir_all(path)?;
        parents().take(n_created + 1).try_for_each(|parent| self.sync_folder(parent))
    }

    /// Creates a folder like [`create_folder`](Self::create_folder), but accessible to its owner only and not durable.
    pub(crate) fn create_private_folder(&self, path: &Path) -> io::Result<()> {
        if path.is_dir() {
            return Ok(());
        }
        self.check_fault(DiskOperation::Create, path)?;
        create_private_folder(path)
    }

    /// Creates an empty file for reading and writing; fails if `path` exists.
    pub fn create_new(&self, path: &Path) -> io::Result<File> {
        self.check_fault(DiskOperation::Create, path)?;
        File::options().read(true).write(true).create_new(true).open(path)
    }

    /// Creates an empty file without a name in `folder`, for reading and writing; it is deleted when it is no longer open or mapped.
    pub(crate) fn create_unnamed(&self, folder: &Path) -> io::Result<File> {
        self.check_fault(DiskOperation::Create, folder)?;
        // A crash before its name is removed leaves it with the extension of an unfinished file.
        let named =
            tempfile::Builder::new().suffix(&format!(".{STAGED_EXTENSION}")).tempfile_in(folder)?;
        Ok(named.into_file())
    }

    /// Writes `bytes` at the current position of `file`, whose path is `path`.
    ///
    /// A write that fails by injection has written half of the bytes.
    pub fn write_all(&self, file: &mut File, path: &Path, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = self.check_fault(DiskOperation::Write, path) {
            file.write_all(&bytes[..bytes.len() / 2])?;
            return Err(error);
        }
        file.write_all(bytes)
    }

    /// Sets the length of `file`, whose path is `path`.
    pub fn set_len(&self, file: &File, path: &Path, n_bytes: u64) -> io::Result<()> {
        self.check_fault(DiskOperation::Resize, path)?;
        file.set_len(n_bytes)
    }

    /// Makes the bytes written to `file`, whose path is `path`, durable.
    pub fn sync(&self, file: &File, path: &Path) -> io::Result<()> {
        self.check_fault(DiskOperation::Sync, path)?;
        file.sync_data()
    }

    /// Makes the names in a folder durable; a no-op on systems where folders cannot be opened.
    pub fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.check_fault(DiskOperation::Sync, folder)?;
        if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
    }

    /// Renames a file or folder, replacing a file of that name.
    pub fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.check_fault(DiskOperation::Rename, to)?;
        fs::rename(from, to)
    }

    /// Removes a file; a missing file is not an error.
    pub fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.check_fault(DiskOperation::Remove, path)?;
        ignore_not_found(fs::remove_file(path))
    }

    /// Removes a folder with its content; a missing folder is not an error.
    pub fn remove_folder(&self, path: &Path) -> io::Result<()> {
        self.check_fault(DiskOperation::Remove, path)?;
        ignore_not_found(fs::remove_dir_all(path))
    }

    /// Writes `bytes` to the file at `path`, durably. Concurrent readers may see part of them.
    pub fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.check_fault(DiskOperation::Create, path)?;
        let mut file = File::create(path)?;
        self.write_all(&mut file, path, bytes)?;
        self.sync(&file, path)
    }

    /// Creates or truncates the file at `path` for a checksummed write. Concurrent readers may see part of it.
    pub(crate) fn checksum_writer<'d>(&'d self, path: &'d Path) -> io::Result<ChecksumWriter<'d>> {
        self.check_fault(DiskOperation::Create, path)?;
        let file = File::create(path)?;
        let sum = FileChecksum { n_bytes: 0, crc32: 0 };
        let (buffer, hasher) = (Vec::with_capacity(BUFFER_BYTES), crc32fast::Hasher::new());
        Ok(ChecksumWriter { disk: self, path, file, buffer, hasher, sum })
    }

    /// Atomically replaces the file at `path`: readers see either the old bytes or the new ones.
    ///
    /// The bytes are durable; the replacement is durable after [`sync_folder`](Self::sync_folder).
    pub fn swap(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.swap_with(path, |staging| self.write(staging, bytes))
    }

    /// Replaces the file at `path` like [`swap`](Self::swap), but does not make the bytes durable.
    pub(crate) fn swap_unsynced(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.swap_with(path, |staging| {
            self.check_fault(DiskOperation::Create, staging)?;
            self.write_all(&mut File::create(staging)?, staging, bytes)
        })
    }

    /// Moves the file that `write` creates beside `path` into its place, or deletes it after an error, since a full disk needs the space.
    fn swap_with(
        &self,
        path: &Path,
        write: impl FnOnce(&Path) -> io::Result<()>,
    ) -> io::Result<()> {
        let staging = staging_path(path);
        let swapped = write(&staging).and_then(|()| self.rename(&staging, path));
        // If it cannot be deleted either, the next start deletes it.
        swapped.inspect_err(|_| drop(self.remove_file(&staging)))
    }

    /// Replaces the file at `path` like [`swap`](Self::swap), and makes the replacement durable.
    pub fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.swap(path, bytes)?;
        self.sync_folder(path.parent().unwrap_or(Path::new(".")))
    }
}

/// Creates a folder, with those above it, accessible to its owner only; one that exists stays as it is.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

/// Bytes per write.
const BUFFER_BYTES: usize = 1 << 20;

/// A buffered file writer that computes a checksum.
#[derive(Debug)]
pub(crate) struct ChecksumWriter<'d> {
    disk: &'d Disk,
    path: &'d Path,
    file: File,
    buffer: Vec<u8>,
    hasher: crc32fast::Hasher,
    sum: FileChecksum,
}

/// Length and checksum of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileChecksum {
    pub(crate) n_bytes: u64,
    pub(crate) crc32: u32,
}

impl ChecksumWriter<'_> {
    /// Makes the file durable and returns its checksum.
    pub(crate) fn finish(mut self) -> io::Result<FileChecksum> {
        self.flush()?;
        self.disk.sync(&self.file, self.path)?;
        Ok(FileChecksum { crc32: self.hasher.finalize(), ..self.sum })
    }
}

impl io::Write for ChecksumWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.len() + bytes.len() > BUFFER_BYTES {
            self.flush()?;
        }
        self.buffer.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.disk.write_all(&mut self.file, self.path, &self.buffer)?;
        self.hasher.update(&self.buffer);
        self.sum.n_bytes += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}

/// Returns the free bytes on the disk of `folder`; the maximum if the system does not report it.
pub(crate) fn free_bytes(folder: &Path) -> io::Result<u64> {
    #[cfg(unix)]
    {
        let stats = rustix::fs::statvfs(folder)?;
        Ok(stats.f_bavail.saturating_mul(stats.f_frsize))
    }
    #[cfg(not(unix))]
    {
        let _ = folder;
        Ok(u64::MAX)
    }
}

/// Extension of files that are not yet in their final place.
pub(crate) const STAGED_EXTENSION: &str = "new";

/// Returns a unique name beside `path`, since two threads may replace the same file one after the other.
fn staging_path(path: &Path) -> PathBuf {
    let n = N_STAGED.fetch_add(1, Ordering::Relaxed);
    path.with_extension(format!("{n}.{STAGED_EXTENSION}"))
}

/// Number of staging names given out by this process.
static N_STAGED: AtomicU64 = AtomicU64::new(0);

pub(crate) fn ignore_not_found(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Returns the file's bytes; `None` if there is no such file.
pub(crate) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Length and modification time of a file. They reveal a change by another program unless it restores the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileStamp {
    n_bytes: u64,
    modified: Option<SystemTime>,
}

impl FileStamp {
    /// Returns the stamp of a file; `None` if there is no such file.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        Some(Self { n_bytes: metadata.len(), modified: metadata.modified().ok() })
    }

    /// True if a file became shorter: reading the missing bytes of a mapping yields zeros, or ends the process on systems other than Linux.
    pub(crate) fn is_cut(before: Option<Self>, now: Option<Self>) -> bool {
        before.zip(now).is_some_and(|(before, now)| now.n_bytes < before.n_bytes)
    }
}

/// True if a folder is in the place of a file, or a file in that of a folder.
pub(crate) fn is_misplaced(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::IsADirectory | io::ErrorKind::NotADirectory)
}

/// Returns `bytes` followed by their checksum.
pub(crate) fn sealed(bytes: &[u8]) -> Vec<u8> {
    [bytes, &crc32fast::hash(bytes).to_le_bytes()].concat()
}

/// Returns the bytes without their checksum; `None` if it does not match.
pub(crate) fn unsealed(bytes: &[u8]) -> Option<&[u8]> {
    let (bytes, sum) = bytes.split_last_chunk()?;
    (crc32fast::hash(bytes) == u32::from_le_bytes(*sum)).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A full disk: files can be created but not written.
    struct Full;

    impl FaultInjector for Full {
        fn check(&self, operation: DiskOperation, _: &Path) -> io::Result<()> {
            if operation == DiskOperation::Write {
                Err(io::ErrorKind::StorageFull.into())
            } else {
                Ok(())
            }
        }
    }

    #[test]
    fn failed_write_leaves_no_file_behind() {
        let folder = tempfile::tempdir().unwrap();
        let (path, disk) = (folder.path().join("file"), Disk::with_faults(Arc::new(Full)));
        fs::write(&path, "old").unwrap();
        for put in [Disk::swap, Disk::swap_unsynced, Disk::replace] {
            let error = put(&disk, &path, b"new and longer").unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
            assert_eq!(fs::read(&path).unwrap(), b"old");
        }
    }

    #[cfg(unix)]
    #[test]
    fn private_folder_is_open_to_its_user_only() {
        use std::os::unix::fs::PermissionsExt as _;
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("state/weft");
        create_private_folder(&folder).unwrap();
        create_private_folder(&folder).unwrap();
        let mode = fs::metadata(&folder).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}
