//! Checkpoints: persisted generations.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, Builder};

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use weft_graph::{GraphColumns, NoteGraph};

use super::{CURRENT, FORMAT_VERSION, StoreError, number_file};
use crate::disk::{self, ChecksumWriter, Disk, FileChecksum, FileStamp};
use crate::mapped_file::{FileMap, MappedBytes};
use crate::notes::{BackingFile, NoteTable};
use crate::open_file::OpenFile;
use crate::truncated_maps::TruncationFlag;

/// A persisted generation.
#[derive(Debug)]
pub struct Checkpoint {
    /// Number of the generation.
    pub generation: u64,
    /// Notes, names, links and graph.
    pub notes: NoteTable,
    /// Digest of the settings that shaped the entries; a different one means that files must be read again.
    pub recipe: u64,
}

/// The newest usable checkpoint.
#[derive(Debug)]
pub struct LatestCheckpoint {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// Error because of which its graph was rebuilt from its notes, if any.
    pub graph: Option<StoreError>,
    /// Newer checkpoints that cannot be read, by generation, with the error of each.
    pub damaged: Vec<(u64, StoreError)>,
}

/// Reads and writes the checkpoints of a store. Valid while the store is open.
#[derive(Clone, Debug)]
pub struct Checkpoints {
    root: PathBuf,
    disk: Disk,
}

impl Checkpoints {
    pub(super) const fn new(root: PathBuf, disk: Disk) -> Self {
        Self { root, disk }
    }

    /// Persists `checkpoint` durably and makes it the current one; keeps `keep` checkpoints in total and removes older ones.
    ///
    /// Fails with [`StoreError::Changed`] if another program changed the file that its notes are copied from.
    pub fn write(&self, checkpoint: &Checkpoint, keep: usize) -> Result<(), StoreError> {
        let Self { root, disk } = self;
        checkpoint.notes.check()?;
        let staged = root.join(STAGED_FOLDER);
        // A full disk needs the space of the unfinished checkpoint.
        self.write_folder(checkpoint, &staged)
            .inspect_err(|_| drop(disk.remove_folder(&staged)))?;
        number_file::write(disk, &root.join(CURRENT), checkpoint.generation)?;
        // A checkpoint that cannot be removed now is removed by a later write.
        let _ = self.keep(checkpoint.generation, keep);
        Ok(())
    }

    /// Writes `checkpoint` into the folder `staged`, and renames that to its final name.
    fn write_folder(&self, checkpoint: &Checkpoint, staged: &Path) -> Result<(), StoreError> {
        let Self { root, disk } = self;
        let Checkpoint { generation, notes, recipe } = checkpoint;
        disk.remove_folder(staged).map_err(StoreError::io("remove", staged))?;
        disk.create_folder(staged).map_err(StoreError::io("create", staged))?;
        let write_folder =
            |name: &str, write: &(dyn Fn(&mut ChecksumWriter<'_>) -> io::Result<()> + Sync)| {
                let path = staged.join(name);
                let written = disk.checksum_writer(&path).and_then(|mut outlet| {
                    write(&mut outlet)?;
                    outlet.finish()
                });
                written.map_err(StoreError::io("write", &path))
            };
        let graph = |outlet: &mut ChecksumWriter<'_>| {
            let columns = notes.graph().columns();
            rmp_serde::encode::write(outlet, &columns).map_err(io::Error::other)
        };
        // If both fail, their order is undefined; the error of the notes is returned.
        let (notes, graph) = join(
            || write_folder(NOTES, &|outlet| notes.write(outlet)),
            || write_folder(GRAPH, &graph),
        );
        let (generation, recipe) = (*generation, *recipe);
        let manifest = Manifest { generation, recipe, notes: notes?, graph: graph? };
        // What was copied from a truncated file is not persisted.
        checkpoint.notes.check_truncation()?;
        let format = encoded(staged, &FORMAT_VERSION)?;
        let manifest = disk::sealed(&[format, encoded(staged, &manifest)?].concat());
        write_folder(MANIFEST, &|outlet| outlet.write_all(&manifest))?;
        disk.sync_folder(staged).map_err(StoreError::io("sync", staged))?;
        let folder = folder(root, generation);
        disk.remove_folder(&folder).map_err(StoreError::io("remove", &folder))?;
        disk.rename(staged, &folder).map_err(StoreError::io("rename", &folder))?;
        disk.sync_folder(root).map_err(StoreError::io("sync", root))
    }

    /// Removes all checkpoints except that of `generation` and the newest others, `keep` in total; unreadable ones do not count.
    pub fn keep(&self, generation: u64, keep: usize) -> Result<(), StoreError> {
        let others = self.stored()?.into_iter().rev().filter(|other| *other != generation);
        let is_unreadable = |other: &u64| {
            let unreadable = manifest(&self.root, *other).err();
            unreadable.is_some_and(|error| error.needs_rebuild())
        };
        let (unreadable, readable): (Vec<u64>, Vec<u64>) = others.partition(is_unreadable);
        let dropped = readable.into_iter().skip(keep.saturating_sub(1)).chain(unreadable);
        dropped.into_iter().try_for_each(|other| self.discard(other))
    }

    /// Removes the checkpoint of a generation, or any file in its place.
    pub fn discard(&self, generation: u64) -> Result<(), StoreError> {
        let path = folder(&self.root, generation);
        let remove = if path.is_file() { Disk::remove_file } else { Disk::remove_folder };
        remove(&self.disk, &path).map_err(StoreError::io("remove", &path))
    }

    /// Returns the newest usable checkpoint; `None` in a new store.
    ///
    /// Fails if the newest was written by a later release, or if none can be read.
    pub fn newest(&self) -> Result<Option<LatestCheckpoint>, StoreError> {
        let stored = self.stored()?;
        let named = match number_file::read(&self.root.join(CURRENT)) {
            Ok(named) => named,
            Err(StoreError::Damaged { .. }) => None,
            Err(error) => return Err(error),
        };
        let others = stored.into_iter().rev().filter(|generation| Some(*generation) != named);
        let mut damaged = Vec::new();
        // A current checkpoint whose folder is missing counts as damaged.
        for generation in named.into_iter().chain(others) {
            match read(&self.root, generation) {
                Ok((checkpoint, graph)) => {
                    return Ok(Some(LatestCheckpoint { checkpoint, graph, damaged }));
                }
                Err(error) if error.needs_rebuild() => damaged.push((generation, error)),
                Err(error) => return Err(error),
            }
        }
        damaged.into_iter().next().map_or(Ok(None), |(_, error)| Err(error))
    }

    /// Reads the checkpoint of a stored generation.
    ///
    /// Fails with [`StoreError::Damaged`] if it is missing or damaged.
    pub fn read(&self, generation: u64) -> Result<Checkpoint, StoreError> {
        read(&self.root, generation).map(|(checkpoint, _)| checkpoint)
    }

    /// Verifies the files of a stored generation. Returns the damage of its graph, which is built from its notes instead.
    ///
    /// Fails with [`StoreError::Damaged`] if other files are missing or damaged.
    pub fn verify(&self, generation: u64) -> Result<Option<StoreError>, StoreError> {
        read(&self.root, generation).map(|(_, graph)| graph)
    }

    /// Opens the files of a stored generation for a backup.
    pub(super) fn open_files(&self, generation: u64) -> Result<Vec<OpenFile>, StoreError> {
        let folder = folder(&self.root, generation);
        let open = |name: &&str| {
            let path = folder.join(name);
            OpenFile::open(path.clone(), None).map_err(StoreError::io("read", &path))
        };
        [MANIFEST, NOTES, GRAPH].iter().map(open).collect()
    }

    /// Returns the stored generations, ascending.
    pub fn stored(&self) -> Result<Vec<u64>, StoreError> {
        let mut stored: Vec<u64> = std::fs::read_dir(&self.root)
            .map_err(StoreError::io("read", &self.root))?
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.strip_prefix("gen-")?.parse().ok())
            .filter(|generation| *generation <= number_file::MAX_NUMBER)
            .collect();
        stored.sort_unstable();
        Ok(stored)
    }

    /// True if the files of `generation` exist. Costs one system call per file.
    #[must_use]
    pub fn is_there(&self, generation: u64) -> bool {
        let folder = folder(&self.root, generation);
        [MANIFEST, GRAPH, NOTES].iter().all(|file| folder.join(file).exists())
    }

    /// Returns the bytes of one checkpoint's files.
    #[must_use]
    pub fn bytes_of(&self, generation: u64) -> u64 {
        n_bytes(&folder(&self.root, generation))
    }

    /// Returns the bytes of all files of the store. `O(files)`.
    #[must_use]
    pub fn store_bytes(&self) -> u64 {
        n_bytes(&self.root)
    }
}

/// Returns the results of two functions, run in parallel if a thread can be started.
fn join<A, B: Send>(first: impl FnOnce() -> A, second: impl Fn() -> B + Sync) -> (A, B) {
    let second = &second;
    thread::scope(|scope| {
        let thread = Builder::new().name("weft-graph".into()).spawn_scoped(scope, second);
        let first = first();
        let second = match thread.map(|thread| thread.join()) {
            Ok(Ok(done)) => done,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(_) => second(),
        };
        (first, second)
    })
}

fn n_bytes(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => n_bytes(&entry.path()),
            Ok(metadata) => on_disk(&metadata),
            Err(_) => 0,
        })
        .sum()
}

/// Returns the bytes that a file occupies on disk: a mapped file may be longer than its written part.
fn on_disk(metadata: &std::fs::Metadata) -> u64 {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        // Unit of `st_blocks`, independent of the disk's block size.
        const BLOCK: u64 = 512;
        metadata.blocks() * BLOCK
    }
    #[cfg(not(unix))]
    {
        metadata.len()
    }
}

/// Manifest of a generation folder. In every format, the format version precedes it and a checksum of both follows.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    generation: u64,
    recipe: u64,
    notes: FileChecksum,
    graph: FileChecksum,
}

const NOTES: &str = "notes.col";
const GRAPH: &str = "graph.rmp";
const MANIFEST: &str = "manifest.rmp";

/// Folder of a generation that is being written.
pub(super) const STAGED_FOLDER: &str = "gen-new";

fn folder(root: &Path, generation: u64) -> PathBuf {
    root.join(format!("gen-{generation}"))
}

fn damaged(path: &Path, reason: &str) -> StoreError {
    StoreError::Damaged { path: path.to_owned(), reason: reason.to_owned() }
}

/// Reads the manifest of `generation`.
fn manifest(root: &Path, generation: u64) -> Result<Manifest, StoreError> {
    let path = folder(root, generation).join(MANIFEST);
    let bytes = bytes_of(&path)?;
    let bytes = disk::unsealed(&bytes).ok_or_else(|| damaged(&path, "its checksum differs"))?;
    // The format version comes first, so that it can be read in every format.
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

/// Reads the checkpoint of `generation`; if its graph had to be rebuilt from its notes, also returns the error.
fn read(root: &Path, generation: u64) -> Result<(Checkpoint, Option<StoreError>), StoreError> {
    let Manifest { generation, recipe, notes, graph } = manifest(root, generation)?;
    let folder = folder(root, generation);
    let (graph, unreadable) = match read_graph(&folder.join(GRAPH), graph) {
        Ok(graph) => (Some(graph), None),
        Err(error) if error.needs_rebuild() => (None, Some(error)),
        Err(error) => return Err(error),
    };
    let path = folder.join(NOTES);
    // Taken before the file is read, so that a concurrent change is noticed later.
    let stamp = FileStamp::of(&path);
    let truncation = TruncationFlag::of(&path);
    let (bytes, crc32) = (mapped(&path, notes, &truncation)?, notes.crc32);
    let notes =
        NoteTable::read(&bytes, graph).map_err(|error| damaged(&path, &error.to_string()))?;
    let notes = notes.backed_by(BackingFile { path, stamp, bytes, crc32, truncation });
    Ok((Checkpoint { generation, notes, recipe }, unreadable))
}

fn read_graph(path: &Path, sum: FileChecksum) -> Result<NoteGraph, StoreError> {
    let flag = TruncationFlag::default();
    let columns: GraphColumns = decoded(path, &mapped(path, sum, &flag)?)?;
    if flag.is_raised() {
        return Err(damaged(path, "it was truncated while it was read"));
    }
    NoteGraph::from_columns(columns).map_err(|error| damaged(path, &error.to_string()))
}

/// Maps the file at `path` and verifies length and checksum; its pages are loaded on access, and `flag` is raised if some are missing then.
fn mapped(path: &Path, sum: FileChecksum, flag: &TruncationFlag) -> Result<Bytes, StoreError> {
    let read = |error: io::Error| {
        let is_missing = error.kind() == io::ErrorKind::NotFound;
        if is_missing {
            damaged(path, "it is missing")
        } else {
            StoreError::read_error(path)(error)
        }
    };
    let file = File::open(path).map_err(read)?;
    let n_bytes = file.metadata().map_err(read)?.len();
    let length = usize::try_from(n_bytes).ok().filter(|n| *n > 0 && n_bytes == sum.n_bytes);
    let length = length.ok_or_else(|| damaged(path, "its length differs"))?;
    let map = Arc::new(FileMap::new(&file, 0, length, flag).map_err(read)?);
    let bytes = Bytes::from_owner(MappedBytes::new(map, 0, length));
    if crc32fast::hash(&bytes) == sum.crc32 {
        Ok(bytes)
    } else {
        Err(damaged(path, "its checksum differs"))
    }
}

fn bytes_of(path: &Path) -> Result<Vec<u8>, StoreError> {
    let bytes = disk::read(path).map_err(StoreError::read_error(path))?;
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
    fn damage_is_not_mistaken_for_another_version() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::new(folder.path().to_owned(), Disk::default());
        let notes = NoteTable::default();
        checkpoints.write(&Checkpoint { generation: 7, notes, recipe: 3 }, 1).unwrap();
        let path = folder.path().join("gen-7").join(MANIFEST);
        let good = std::fs::read(&path).unwrap();
        let format = u8::try_from(FORMAT_VERSION).unwrap();
        assert_eq!(good[0], format, "the format version comes first");
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
        assert!(checkpoints.newest().is_err(), "an older release does not discard it");
        for at in 0..good.len() {
            let mut flipped = good.clone();
            flipped[at] ^= 1 << (at % 8);
            std::fs::write(&path, flipped).unwrap();
            let error = checkpoints.read(7).unwrap_err();
            assert!(matches!(error, StoreError::Damaged { .. }), "byte {at}: {error}");
        }
    }

    #[test]
    fn externally_changed_notes_are_not_persisted_again() {
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
