//! Spills bodies of notes to disk until they are stored.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use bytestring::ByteString;

use super::Body;
use crate::disk::{self, Disk};
use crate::mapped_file::{FileMap, MappedBytes};
use crate::truncated_maps::TruncationFlag;

/// Bytes of bodies that stay in memory: enough for an edit or a small vault.
const MAX_BYTES_IN_MEMORY: usize = 32 << 20;

/// Minimum bytes of a spill file: large enough to stay far below the kernel's limit of mappings, small enough to release disk space in portions.
const MIN_FILE_BYTES: usize = 64 << 20;

/// Free space required, as a multiple of the spilled bytes: for the spill itself, and for the keyword index and the generation that are written while it exists.
const FREE_SPACE_FACTOR: u64 = 3;

/// Moves bodies out of memory until they are stored, since the texts of a vault may exceed it.
///
/// The first bodies stay in memory.
/// The others go to unnamed files in the store's folder: the system pages them in on access, and frees a file with the last body in it, even if this process crashes.
/// If the disk has less than three times the space free, bodies stay in memory, so that spilling never prevents persisting.
#[derive(Debug)]
pub struct Spill {
    disk: Disk,
    folder: PathBuf,
    in_memory: usize,
    file_bytes: usize,
    /// Returns the free bytes on a folder's disk.
    free_bytes: fn(&Path) -> io::Result<u64>,
    state: Mutex<SpillState>,
}

#[derive(Debug, Default)]
struct SpillState {
    /// Bytes kept in memory so far.
    n_in_memory: usize,
    /// Total bytes of all files so far.
    n_spilled: u64,
    last: Option<SpillFile>,
    /// True if spilling stopped after a disk error.
    is_disabled: bool,
}

/// A spill file; `n_free` bytes at its end are not written yet.
#[derive(Debug)]
struct SpillFile {
    file: File,
    map: Arc<FileMap>,
    n_free: usize,
}

impl Spill {
    /// Creates a spill for the store in `folder`; creates no file before one is needed.
    pub(crate) fn new(disk: Disk, folder: PathBuf) -> Self {
        let (free_bytes, state) = (disk::free_bytes, Mutex::default());
        Self {
            disk,
            folder,
            in_memory: MAX_BYTES_IN_MEMORY,
            file_bytes: MIN_FILE_BYTES,
            free_bytes,
            state,
        }
    }

    /// Returns the same body, spilled if the memory limit is reached.
    #[must_use]
    pub fn keep(&self, body: Body) -> Body {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.n_in_memory += body.len();
        if state.n_in_memory <= self.in_memory || state.is_disabled || body.is_empty() {
            return body;
        }
        match self.write(&mut state, &body) {
            Ok(written) => {
                state.n_in_memory -= body.len();
                written
            }
            Err(error) => {
                // Written data stays valid; the write position is unknown after the error.
                (state.is_disabled, state.last) = (true, None);
                let folder = self.folder.display();
                tracing::warn!(%error, %folder, "cannot spill to disk; new notes stay in memory until they are stored");
                body
            }
        }
    }

    fn write(&self, state: &mut SpillState, text: &str) -> io::Result<Body> {
        let last = match state.last.take() {
            Some(last) if last.n_free >= text.len() => last,
            // The rest of the previous file stays unused.
            _ => self.create_file(&mut state.n_spilled, text.len())?,
        };
        let SpillFile { file, map, n_free } = state.last.insert(last);
        self.disk.write_all(file, &self.folder, text.as_bytes())?;
        let part = MappedBytes::new(Arc::clone(map), map.len() - *n_free, text.len());
        *n_free -= text.len();
        let written = ByteString::try_from(Bytes::from_owner(part)).map_err(io::Error::other)?;
        Ok(Body::new(written))
    }

    /// Creates a file for texts of which the first is `n_bytes` long.
    fn create_file(&self, n_spilled: &mut u64, n_bytes: usize) -> io::Result<SpillFile> {
        let n_bytes = self.file_bytes.max(n_bytes);
        let n_more = n_bytes as u64;
        if (self.free_bytes)(&self.folder)?
            < FREE_SPACE_FACTOR * n_more + (FREE_SPACE_FACTOR - 1) * *n_spilled
        {
            return Err(ErrorKind::StorageFull.into());
        }
        let file = self.disk.create_unnamed(&self.folder)?;
        self.disk.set_len(&file, &self.folder, n_more)?;
        // Other programs cannot truncate a file without a name.
        let map = Arc::new(FileMap::new(&file, 0, n_bytes, &TruncationFlag::default())?);
        *n_spilled += n_more;
        Ok(SpillFile { file, map, n_free: n_bytes })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;
    use crate::disk::{DiskOperation, FaultInjector};

    /// Fails the operation of this number only.
    struct FailsAt(usize, AtomicUsize);

    impl FaultInjector for FailsAt {
        fn check(&self, _: DiskOperation, _: &Path) -> io::Result<()> {
            let is_it = self.1.fetch_add(1, Ordering::Relaxed) == self.0;
            if is_it { Err(ErrorKind::StorageFull.into()) } else { Ok(()) }
        }
    }

    fn spill(disk: Disk, folder: &Path) -> Spill {
        Spill { in_memory: 100, file_bytes: 1000, ..Spill::new(disk, folder.to_owned()) }
    }

    fn text(at: usize) -> String {
        let n_letters = [0, 1, 7, 300, 999, 1000, 1001, 5000][at % 8];
        format!("{at} ø ").chars().cycle().take(n_letters).collect()
    }

    #[test]
    fn spilled_bodies_are_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let spill = spill(Disk::default(), folder.path());
        let (of_one, of_other) = thread::scope(|scope| {
            let keep = |from: usize| {
                let spill = &spill;
                let each = move |at| (at, spill.keep(Body::new(text(at))));
                scope.spawn(move || (from..400).step_by(2).map(each).collect::<Vec<_>>())
            };
            let (one, other) = (keep(0), keep(1));
            (one.join().unwrap(), other.join().unwrap())
        });
        let state = spill.state.lock().unwrap();
        assert!(state.n_in_memory <= 100 && !state.is_disabled);
        assert!(state.n_spilled > 100_000);
        drop(state);
        drop(spill);
        assert_eq!(folder.path().read_dir().unwrap().count(), 0, "spill files have no name");
        for (at, body) in of_one.iter().chain(&of_other) {
            assert_eq!(**body, *text(*at), "{at}");
        }
    }

    #[test]
    fn spill_leaves_space_for_persisting() {
        let folder = tempfile::tempdir().unwrap();
        let spill = Spill { free_bytes: |_| Ok(5_999), ..spill(Disk::default(), folder.path()) };
        let long = |at: usize| format!("{at} {}", "ø".repeat(400));
        let bodies: Vec<Body> = (0..9).map(|at| spill.keep(Body::new(long(at)))).collect();
        let state = spill.state.lock().unwrap();
        // The first file requires 3,000 free bytes, the second one 2,000 more.
        assert!(state.is_disabled);
        assert_eq!((state.n_spilled, state.n_in_memory), (2_000, 7 * long(0).len()));
        for (at, body) in bodies.iter().enumerate() {
            assert_eq!(**body, *long(at), "{at}");
        }
    }

    #[test]
    fn bodies_stay_in_memory_after_disk_errors() {
        for n in 0..12 {
            let folder = tempfile::tempdir().unwrap();
            let spill =
                spill(Disk::with_faults(Arc::new(FailsAt(n, AtomicUsize::new(0)))), folder.path());
            let bodies: Vec<Body> = (0..40).map(|at| spill.keep(Body::new(text(at)))).collect();
            assert!(spill.state.lock().unwrap().is_disabled, "{n}");
            for (at, body) in bodies.iter().enumerate() {
                assert_eq!(**body, *text(at), "{n} {at}");
            }
        }
    }
}
