//! File lock: an exclusive lock on a file that ends when it is dropped, even if a forked process has a copy of the handle.

use std::fs::{File, TryLockError};
use std::path::Path;

/// An exclusive lock on a file, released on drop.
///
/// The lock is released explicitly: a process that this one has just forked holds copies of its handles until it executes its program, and would keep a lock that only closes its handle.
#[derive(Debug)]
pub(crate) struct FileLock(File);

impl FileLock {
    /// Locks the file at `path`, creating it if needed.
    ///
    /// Fails with [`TryLockError::WouldBlock`] while another handle holds the lock.
    pub(crate) fn try_new(path: &Path) -> Result<Self, TryLockError> {
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        let file = options.open(path).map_err(TryLockError::Error)?;
        file.try_lock()?;
        Ok(Self(file))
    }

    /// Returns the locked file.
    pub(crate) const fn file(&self) -> &File {
        &self.0
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Closing the handle releases the lock as well, unless there is a copy of it.
        let _ = self.0.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_lock_is_free_although_a_copy_of_its_handle_is_open() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let lock = FileLock::try_new(&path).unwrap();
        assert!(matches!(FileLock::try_new(&path), Err(TryLockError::WouldBlock)));
        // A forked process holds such a copy.
        let copy = lock.file().try_clone().unwrap();
        drop(lock);
        FileLock::try_new(&path).unwrap();
        drop(copy);
    }
}
