//! A generation as it is written down.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, Builder};

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use weft_graph::{GraphColumns, NoteGraph};

use super::{CURRENT, FORMAT_VERSION, Held, StoreError, number};
use crate::disk::{self, Disk, Facts, FileSum, Outlet};
use crate::map::{Map, MapPart};
use crate::notes::NoteTable;

/// What a generation folder holds.
#[derive(Debug)]
pub struct Checkpoint {
    /// The generation.
    pub generation: u64,
    /// Notes, names, links and graph.
    pub notes: NoteTable,
    /// What the entries were made with; another digest means that files must be read again.
    pub recipe: u64,
}

/// A checkpoint to go on from.
#[derive(Debug)]
pub struct Newest {
    /// It.
    pub checkpoint: Checkpoint,
    /// Why its graph could not be read and was made again of its notes; nothing where it could.
    pub graph: Option<StoreError>,
    /// Newer ones that cannot be read, by generation, and why.
    pub damaged: Vec<(u64, StoreError)>,
}

/// Writes checkpoints into a store. Valid as long as the store is open.
#[derive(Clone, Debug)]
pub struct Checkpoints {
    root: PathBuf,
    disk: Disk,
}

impl Checkpoints {
    pub(super) const fn new(root: PathBuf, disk: Disk) -> Self {
        Self { root, disk }
    }

    /// Writes `checkpoint` down durably and makes it the one to open; older ones go, `keep` of them in all stay.
    ///
    /// Fails with [`StoreError::Changed`] where another program changed the file that its notes are copied from.
    pub fn write(&self, checkpoint: &Checkpoint, keep: usize) -> Result<(), StoreError> {
        let Self { root, disk } = self;
        checkpoint.notes.check()?;
        let staged = root.join(STAGED_FOLDER);
        // A disk that is full needs the room of what could not be finished.
        self.put(checkpoint, &staged).inspect_err(|_| drop(disk.remove_folder(&staged)))?;
        number::write(disk, &root.join(CURRENT), checkpoint.generation)?;
        // What cannot be removed now is removed by a later checkpoint.
        let _ = self.keep(checkpoint.generation, keep);
        Ok(())
    }

    /// Writes `checkpoint` into the folder `staged`, and puts that in its place.
    fn put(&self, checkpoint: &Checkpoint, staged: &Path) -> Result<(), StoreError> {
        let Self { root, disk } = self;
        let Checkpoint { generation, notes, recipe } = checkpoint;
        disk.remove_folder(staged).map_err(StoreError::io("remove", staged))?;
        disk.create_folder(staged).map_err(StoreError::io("create", staged))?;
        let put = |name: &str, write: &(dyn Fn(&mut Outlet<'_>) -> io::Result<()> + Sync)| {
            let path = staged.join(name);
            let written = disk.outlet(&path).and_then(|mut outlet| {
                write(&mut outlet)?;
                outlet.finish()
            });
            written.map_err(StoreError::io("write", &path))
        };
        let graph = |outlet: &mut Outlet<'_>| {
            let columns = notes.graph().columns();
            rmp_serde::encode::write(outlet, &columns).map_err(io::Error::other)
        };
        // Which of two that the disk refuses comes first is open; the error is that of the notes.
        let (notes, graph) =
            both(|| put(NOTES, &|outlet| notes.write(outlet)), || put(GRAPH, &graph));
        let (generation, recipe) = (*generation, *recipe);
        let manifest = Manifest { generation, recipe, notes: notes?, graph: graph? };
        let format = encoded(staged, &FORMAT_VERSION)?;
        let manifest = disk::sealed(&[format, encoded(staged, &manifest)?].concat());
        put(MANIFEST, &|outlet| outlet.write_all(&manifest))?;
        disk.sync_folder(staged).map_err(StoreError::io("sync", staged))?;
        let folder = folder(root, generation);
        disk.remove_folder(&folder).map_err(StoreError::io("remove", &folder))?;
        disk.rename(staged, &folder).map_err(StoreError::io("rename", &folder))?;
        disk.sync_folder(root).map_err(StoreError::io("sync", root))
    }

    /// Removes all checkpoints but that of `generation` and the newest others, `keep` in all; one that cannot be read takes no place.
    pub fn keep(&self, generation: u64, keep: usize) -> Result<(), StoreError> {
        let others = self.stored()?.into_iter().rev().filter(|other| *other != generation);
        let is_lost = |other: &u64| {
            let lost = manifest(&self.root, *other).err();
            lost.is_some_and(|error| error.is_lost())
        };
        let (lost, whole): (Vec<u64>, Vec<u64>) = others.partition(is_lost);
        let dropped = whole.into_iter().skip(keep.saturating_sub(1)).chain(lost);
        dropped.into_iter().try_for_each(|other| self.discard(other))
    }

    /// Removes the checkpoint of a generation, or whatever lies in its place.
    pub fn discard(&self, generation: u64) -> Result<(), StoreError> {
        let path = folder(&self.root, generation);
        let remove = if path.is_file() { Disk::remove_file } else { Disk::remove_folder };
        remove(&self.disk, &path).map_err(StoreError::io("remove", &path))
    }

    /// The checkpoint to go on from; nothing in a new store.
    ///
    /// It is the newest whole one. Fails when the newest was written by a later release, or none can be read.
    pub fn newest(&self) -> Result<Option<Newest>, StoreError> {
        let stored = self.stored()?;
        let named = match number::read(&self.root.join(CURRENT)) {
            Ok(named) => named,
            Err(StoreError::Damaged { .. }) => None,
            Err(error) => return Err(error),
        };
        let others = stored.into_iter().rev().filter(|generation| Some(*generation) != named);
        let mut damaged = Vec::new();
        // One that is named and not there was taken away.
        for generation in named.into_iter().chain(others) {
            match read(&self.root, generation) {
                Ok((checkpoint, graph)) => return Ok(Some(Newest { checkpoint, graph, damaged })),
                Err(error) if error.is_lost() => damaged.push((generation, error)),
                Err(error) => return Err(error),
            }
        }
        damaged.into_iter().next().map_or(Ok(None), |(_, error)| Err(error))
    }

    /// The checkpoint of a stored generation.
    ///
    /// Fails with [`StoreError::Damaged`] where it is not stored or not whole.
    pub fn read(&self, generation: u64) -> Result<Checkpoint, StoreError> {
        read(&self.root, generation).map(|(checkpoint, _)| checkpoint)
    }

    /// The files of a stored generation, held open.
    pub(super) fn held(&self, generation: u64) -> Result<Vec<Held>, StoreError> {
        let folder = folder(&self.root, generation);
        let held = |name: &&str| {
            let path = folder.join(name);
            Held::open(path.clone(), None).map_err(StoreError::io("read", &path))
        };
        [MANIFEST, NOTES, GRAPH].iter().map(held).collect()
    }

    /// The stored generations, ascending.
    pub fn stored(&self) -> Result<Vec<u64>, StoreError> {
        let mut stored: Vec<u64> = std::fs::read_dir(&self.root)
            .map_err(StoreError::io("read", &self.root))?
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.strip_prefix("gen-")?.parse().ok())
            .filter(|generation| *generation <= number::GREATEST)
            .collect();
        stored.sort_unstable();
        Ok(stored)
    }

    /// Whether the files of `generation` are there. A question to the file system for each.
    #[must_use]
    pub fn is_there(&self, generation: u64) -> bool {
        let folder = folder(&self.root, generation);
        [MANIFEST, GRAPH, NOTES].iter().all(|file| folder.join(file).exists())
    }

    /// Bytes of one checkpoint's files.
    #[must_use]
    pub fn bytes_of(&self, generation: u64) -> u64 {
        n_bytes(&folder(&self.root, generation))
    }

    /// Bytes of all files of the store. `O(files)`.
    #[must_use]
    pub fn store_bytes(&self) -> u64 {
        n_bytes(&self.root)
    }
}

/// What two works give, done at the same time where the system has a thread to give.
fn both<A, B: Send>(here: impl FnOnce() -> A, beside: impl Fn() -> B + Sync) -> (A, B) {
    let beside = &beside;
    thread::scope(|scope| {
        let thread = Builder::new().name("weft-graph".into()).spawn_scoped(scope, beside);
        let here = here();
        let beside = match thread.map(|thread| thread.join()) {
            Ok(Ok(done)) => done,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(_) => beside(),
        };
        (here, beside)
    })
}

fn n_bytes(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(facts) if facts.is_dir() => n_bytes(&entry.path()),
            Ok(facts) => on_disk(&facts),
            Err(_) => 0,
        })
        .sum()
}

/// The bytes that a file takes on the disk: one that is mapped is longer than what was written to it.
fn on_disk(facts: &std::fs::Metadata) -> u64 {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        // The system counts in these, whatever the disk does.
        const BLOCK: u64 = 512;
        facts.blocks() * BLOCK
    }
    #[cfg(not(unix))]
    {
        facts.len()
    }
}

/// What a generation folder holds. The format stands before it and a checksum of both behind it, in every format.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    generation: u64,
    recipe: u64,
    notes: FileSum,
    graph: FileSum,
}

const NOTES: &str = "notes.col";
const GRAPH: &str = "graph.rmp";
const MANIFEST: &str = "manifest.rmp";

/// The folder of a generation that is being written.
pub(super) const STAGED_FOLDER: &str = "gen-new";

fn folder(root: &Path, generation: u64) -> PathBuf {
    root.join(format!("gen-{generation}"))
}

fn damaged(path: &Path, reason: &str) -> StoreError {
    StoreError::Damaged { path: path.to_owned(), reason: reason.to_owned() }
}

/// What the folder of `generation` is to hold.
fn manifest(root: &Path, generation: u64) -> Result<Manifest, StoreError> {
    let path = folder(root, generation).join(MANIFEST);
    let bytes = bytes_of(&path)?;
    let bytes = disk::unsealed(&bytes).ok_or_else(|| damaged(&path, "its checksum differs"))?;
    // The format stands first, so that it can be read whatever follows.
    let mut bytes = bytes;
    let found: u32 =
        rmp_serde::from_read(&mut bytes).map_err(|error| damaged(&path, &error.to_string()))?;
    if found > FORMAT_VERSION {
        return Err(StoreError::FutureVersion { store: root.to_owned(), found });
    }
    if found < FORMAT_VERSION {
        return Err(StoreError::PastVersion { store: root.to_owned(), found });
    }
    let manifest: Manifest = decoded(&path, bytes)?;
    if manifest.generation != generation {
        return Err(damaged(&path, "it belongs to another generation"));
    }
    Ok(manifest)
}

/// The checkpoint of `generation`, and why its graph had to be made again of its notes, where it had.
fn read(root: &Path, generation: u64) -> Result<(Checkpoint, Option<StoreError>), StoreError> {
    let Manifest { generation, recipe, notes, graph } = manifest(root, generation)?;
    let folder = folder(root, generation);
    let (graph, lost) = match read_graph(&folder.join(GRAPH), graph) {
        Ok(graph) => (Some(graph), None),
        Err(error) if error.is_lost() => (None, Some(error)),
        Err(error) => return Err(error),
    };
    let path = folder.join(NOTES);
    // Asked before it is read, so that what is changed meanwhile counts as touched.
    let facts = Facts::of(&path);
    let (bytes, crc32) = (mapped(&path, notes)?, notes.crc32);
    let notes =
        NoteTable::read(&bytes, graph).map_err(|error| damaged(&path, &error.to_string()))?;
    let notes = notes.resting_on(path, facts, bytes, crc32);
    Ok((Checkpoint { generation, notes, recipe }, lost))
}

fn read_graph(path: &Path, sum: FileSum) -> Result<NoteGraph, StoreError> {
    let columns: GraphColumns = decoded(path, &mapped(path, sum)?)?;
    NoteGraph::from_columns(columns).map_err(|error| damaged(path, &error.to_string()))
}

/// The bytes of the file at `path`, which are as they were written: they stay in it, and are read where they are looked at.
fn mapped(path: &Path, sum: FileSum) -> Result<Bytes, StoreError> {
    let read = |error: io::Error| {
        let is_missing = error.kind() == io::ErrorKind::NotFound;
        if is_missing { damaged(path, "it is missing") } else { StoreError::unread(path)(error) }
    };
    let file = File::open(path).map_err(read)?;
    let n_bytes = file.metadata().map_err(read)?.len();
    let length = usize::try_from(n_bytes).ok().filter(|n| *n > 0 && n_bytes == sum.n_bytes);
    let length = length.ok_or_else(|| damaged(path, "its length differs"))?;
    let map = Arc::new(Map::new(&file, 0, length).map_err(read)?);
    let bytes = Bytes::from_owner(MapPart::new(map, 0, length));
    if crc32fast::hash(&bytes) == sum.crc32 {
        Ok(bytes)
    } else {
        Err(damaged(path, "its checksum differs"))
    }
}

fn bytes_of(path: &Path) -> Result<Vec<u8>, StoreError> {
    let bytes = disk::read(path).map_err(StoreError::unread(path))?;
    bytes.ok_or_else(|| damaged(path, "it is missing"))
}

fn decoded<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T, StoreError> {
    rmp_serde::from_slice(bytes)
        .map_err(|error| StoreError::Damaged { path: path.to_owned(), reason: error.to_string() })
}

fn encoded<T: Serialize>(path: &Path, value: &T) -> Result<Vec<u8>, StoreError> {
    rmp_serde::to_vec(value)
        .map_err(|error| StoreError::Damaged { path: path.to_owned(), reason: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notes::VaultInfo;

    #[test]
    fn damage_is_no_other_version() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::new(folder.path().to_owned(), Disk::default());
        let notes = NoteTable::default();
        checkpoints.write(&Checkpoint { generation: 7, notes, recipe: 3 }, 1).unwrap();
        let path = folder.path().join("gen-7").join(MANIFEST);
        let good = std::fs::read(&path).unwrap();
        let format = u8::try_from(FORMAT_VERSION).unwrap();
        assert_eq!(good[0], format, "the format stands first");
        let mut other = good[..good.len() - 4].to_vec();
        other[0] = format - 1;
        std::fs::write(&path, disk::sealed(&other)).unwrap();
        let error = checkpoints.newest().unwrap_err();
        assert!(
            matches!(error, StoreError::PastVersion { found, .. } if found == FORMAT_VERSION - 1),
            "{error}"
        );
        other[0] = format + 1;
        std::fs::write(&path, disk::sealed(&other)).unwrap();
        let error = checkpoints.read(7).unwrap_err();
        assert!(
            matches!(error, StoreError::FutureVersion { found, .. } if found == FORMAT_VERSION + 1),
            "{error}"
        );
        assert!(checkpoints.newest().is_err(), "an older release does not throw it away");
        for at in 0..good.len() {
            let mut flipped = good.clone();
            flipped[at] ^= 1 << (at % 8);
            std::fs::write(&path, flipped).unwrap();
            let error = checkpoints.read(7).unwrap_err();
            assert!(matches!(error, StoreError::Damaged { .. }), "byte {at}: {error}");
        }
    }

    #[test]
    fn what_another_program_changed_is_not_written_down_anew() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::new(folder.path().to_owned(), Disk::default());
        let write =
            |generation, notes| checkpoints.write(&Checkpoint { generation, notes, recipe: 3 }, 2);
        write(1, NoteTable::new([VaultInfo::new("vault", "/vault")])).unwrap();
        let notes = checkpoints.read(1).unwrap().notes;
        write(2, notes.clone()).unwrap();
        let path = folder.path().join("gen-1").join(NOTES);
        let mut file = File::options().write(true).open(path).unwrap();
        file.write_all(b"!").unwrap();
        let error = write(3, notes).unwrap_err().to_string();
        assert!(error.contains("another program"), "{error}");
        assert_eq!(checkpoints.stored().unwrap(), [1, 2]);
        assert_eq!(checkpoints.newest().unwrap().unwrap().checkpoint.generation, 2);
    }
}
