//! Bodies of notes that are read and not written down yet, out of memory.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use bytestring::ByteString;

use super::Body;
use crate::disk::{self, Disk};
use crate::map::{Map, MapPart};

/// Bytes of bodies that stay in memory: those of an edit, or of a small vault.
const IN_MEMORY: usize = 32 << 20;

/// Bytes of a file, at least: many enough that a kernel's limit of mappings is far, and few enough that room comes back in pieces.
const FILE_BYTES: usize = 64 << 20;

/// How much room a disk must have for all that is spilled: for itself, and for the words and the generation that are written of it while it is there.
const ROOM_TIMES: u64 = 3;

/// Takes bodies out of memory until they are written down, since the texts of a vault may be larger than that.
///
/// The first stay where they are.
/// The others go to files without a name in the store's folder: the system reads them back where they are looked at, and takes a file's room back with the last body in it, whatever becomes of this process.
/// Where the disk has not three times the room they stay in memory, so that spilling keeps nothing from being written down.
#[derive(Debug)]
pub struct Spill {
    disk: Disk,
    folder: PathBuf,
    in_memory: usize,
    file_bytes: usize,
    /// How much room a folder's disk has.
    room: fn(&Path) -> io::Result<u64>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Bytes that stay in memory so far.
    n_in_memory: usize,
    /// Bytes of all files so far.
    n_spilled: u64,
    last: Option<SpillFile>,
    /// Whether the disk refused.
    is_closed: bool,
}

/// A file, of which `room` bytes at the end are not written yet.
#[derive(Debug)]
struct SpillFile {
    file: File,
    map: Arc<Map>,
    room: usize,
}

impl Spill {
    /// A spill beside the store in `folder`; makes no file before it needs one.
    pub(crate) fn new(disk: Disk, folder: PathBuf) -> Self {
        let (room, state) = (disk::room, Mutex::default());
        Self { disk, folder, in_memory: IN_MEMORY, file_bytes: FILE_BYTES, room, state }
    }

    /// The same body, out of memory if need be.
    #[must_use]
    pub fn keep(&self, body: Body) -> Body {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.n_in_memory += body.len();
        if state.n_in_memory <= self.in_memory || state.is_closed || body.is_empty() {
            return body;
        }
        match self.write(&mut state, &body) {
            Ok(written) => {
                state.n_in_memory -= body.len();
                written
            }
            Err(error) => {
                // What was written stays good; where the next would go is not known.
                (state.is_closed, state.last) = (true, None);
                let folder = self.folder.display();
                tracing::warn!(%error, %folder, "notes that are read stay in memory until they are written down");
                body
            }
        }
    }

    fn write(&self, state: &mut State, text: &str) -> io::Result<Body> {
        let last = match state.last.take() {
            Some(last) if last.room >= text.len() => last,
            // What is left of it stays empty.
            _ => self.next_file(&mut state.n_spilled, text.len())?,
        };
        let SpillFile { file, map, room } = state.last.insert(last);
        self.disk.write_all(file, &self.folder, text.as_bytes())?;
        let part = MapPart::new(Arc::clone(map), map.len() - *room, text.len());
        *room -= text.len();
        let written = ByteString::try_from(Bytes::from_owner(part)).map_err(io::Error::other)?;
        Ok(Body::new(written))
    }

    /// Another file, for texts of which the first is `n_bytes` long.
    fn next_file(&self, n_spilled: &mut u64, n_bytes: usize) -> io::Result<SpillFile> {
        let n_bytes = self.file_bytes.max(n_bytes);
        let n_more = n_bytes as u64;
        if (self.room)(&self.folder)? < ROOM_TIMES * n_more + (ROOM_TIMES - 1) * *n_spilled {
            return Err(ErrorKind::StorageFull.into());
        }
        let file = self.disk.create_nameless(&self.folder)?;
        self.disk.set_len(&file, &self.folder, n_more)?;
        let map = Arc::new(Map::new(&file, 0, n_bytes)?);
        *n_spilled += n_more;
        Ok(SpillFile { file, map, room: n_bytes })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;
    use crate::disk::{Gate, Step};

    /// Refuses the change of this number, and lets all others come about.
    struct Refuses(usize, AtomicUsize);

    impl Gate for Refuses {
        fn pass(&self, _: Step, _: &Path) -> io::Result<()> {
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
    fn bodies_are_what_they_were_wherever_they_lie() {
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
        assert!(state.n_in_memory <= 100 && !state.is_closed);
        assert!(state.n_spilled > 100_000);
        drop(state);
        drop(spill);
        assert_eq!(folder.path().read_dir().unwrap().count(), 0, "it has no name");
        for (at, body) in of_one.iter().chain(&of_other) {
            assert_eq!(**body, *text(*at), "{at}");
        }
    }

    #[test]
    fn what_must_be_written_down_has_room_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let spill = Spill { room: |_| Ok(5_999), ..spill(Disk::default(), folder.path()) };
        let long = |at: usize| format!("{at} {}", "ø".repeat(400));
        let bodies: Vec<Body> = (0..9).map(|at| spill.keep(Body::new(long(at)))).collect();
        let state = spill.state.lock().unwrap();
        // A first file needs three thousand bytes, a second one two thousand more.
        assert!(state.is_closed);
        assert_eq!((state.n_spilled, state.n_in_memory), (2_000, 7 * long(0).len()));
        for (at, body) in bodies.iter().enumerate() {
            assert_eq!(**body, *long(at), "{at}");
        }
    }

    #[test]
    fn what_the_disk_refuses_stays_in_memory() {
        for n in 0..12 {
            let folder = tempfile::tempdir().unwrap();
            let spill =
                spill(Disk::behind(Arc::new(Refuses(n, AtomicUsize::new(0)))), folder.path());
            let bodies: Vec<Body> = (0..40).map(|at| spill.keep(Body::new(text(at)))).collect();
            assert!(spill.state.lock().unwrap().is_closed, "{n}");
            for (at, body) in bodies.iter().enumerate() {
                assert_eq!(**body, *text(at), "{n} {at}");
            }
        }
    }
}
