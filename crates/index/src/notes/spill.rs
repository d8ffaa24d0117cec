//! Bodies of notes that are read and not written down yet, out of memory.

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use bytestring::ByteString;

use super::Body;
use crate::disk::Disk;
use crate::map::Map;

/// Bytes of bodies that stay in memory: those of an edit, or of a small vault.
const IN_MEMORY: usize = 32 << 20;

/// Bytes of the file that are mapped at once, at least; few enough that no disk lacks them, and many enough that a kernel's limit of mappings is far.
const WINDOW: usize = 64 << 20;

/// Takes bodies out of memory until they are written down, since the texts of a vault may be larger than that.
///
/// The first stay where they are.
/// The others go to a file in the store's folder that has no name: the system reads them back where they are looked at, and takes their room back with the last of them, whatever becomes of this process.
/// What the disk has no room for stays in memory.
#[derive(Debug)]
pub struct Spill {
    disk: Disk,
    folder: PathBuf,
    in_memory: usize,
    window: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Bytes that stay in memory so far.
    n_in_memory: usize,
    window: Option<Window>,
    /// Whether the disk refused.
    is_closed: bool,
}

/// The part of the file that is written to, mapped.
#[derive(Debug)]
struct Window {
    file: File,
    map: Arc<Map>,
    /// Where it ends in the file.
    end: u64,
    /// Its bytes that nothing is written to yet, at the end.
    room: usize,
}

impl Spill {
    /// A spill beside the store in `folder`; makes no file before it needs one.
    pub(crate) fn new(disk: Disk, folder: PathBuf) -> Self {
        let state = Mutex::default();
        Self { disk, folder, in_memory: IN_MEMORY, window: WINDOW, state }
    }

    /// The same body, out of memory if need be.
    #[must_use]
    pub fn keep(&self, body: Body) -> Body {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.n_in_memory += body.len();
        if state.n_in_memory <= self.in_memory || state.is_closed || body.is_empty() {
            return body;
        }
        match self.write(&mut state.window, &body) {
            Ok(written) => {
                state.n_in_memory -= body.len();
                written
            }
            Err(error) => {
                // What was written stays good; where the next would go is not known.
                state.is_closed = true;
                tracing::warn!(%error, "notes that are read stay in memory until they are written down");
                body
            }
        }
    }

    fn write(&self, window: &mut Option<Window>, text: &str) -> io::Result<Body> {
        let Window { file, map, room, .. } = match window.take() {
            Some(current) if current.room >= text.len() => window.insert(current),
            // What is left of the last one stays empty.
            before => window.insert(self.next_window(before, text.len())?),
        };
        self.disk.write_all(file, &self.folder, text.as_bytes())?;
        let piece = Piece { map: Arc::clone(map), at: map.len() - *room, n_bytes: text.len() };
        *room -= text.len();
        let written = ByteString::try_from(Bytes::from_owner(piece)).map_err(io::Error::other)?;
        Ok(Body::new(written))
    }

    /// The window behind another, for texts of which the first is `n_bytes` long.
    fn next_window(&self, before: Option<Window>, n_bytes: usize) -> io::Result<Window> {
        let (mut file, start) = match before {
            Some(Window { file, end, .. }) => (file, end),
            None => (self.disk.create_nameless(&self.folder)?, 0),
        };
        let room = self.window.max(n_bytes);
        let end = start + room as u64;
        self.disk.set_len(&file, &self.folder, end)?;
        file.seek(SeekFrom::Start(start))?;
        let map = Arc::new(Map::new(&file, start, room)?);
        Ok(Window { file, map, end, room })
    }
}

/// A text in the file.
struct Piece {
    map: Arc<Map>,
    at: usize,
    n_bytes: usize,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        self.map.bytes(self.at, self.n_bytes)
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
            if is_it { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
        }
    }

    fn spill(disk: Disk, folder: &Path) -> Spill {
        Spill { in_memory: 100, window: 1000, ..Spill::new(disk, folder.to_owned()) }
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
        assert!(state.window.as_ref().is_some_and(|window| window.end > 100_000));
        drop(state);
        drop(spill);
        assert_eq!(folder.path().read_dir().unwrap().count(), 0, "it has no name");
        for (at, body) in of_one.iter().chain(&of_other) {
            assert_eq!(**body, *text(*at), "{at}");
        }
    }

    #[test]
    fn what_the_disk_refuses_stays_in_memory() {
        for n in 0..8 {
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
