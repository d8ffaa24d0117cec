//! A generation as it is written down.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{FORMAT_VERSION, StoreError, files};
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

/// Writes checkpoints into a store. Valid as long as the store is open.
#[derive(Clone, Debug)]
pub struct Checkpoints {
    pub(super) root: PathBuf,
}

impl Checkpoints {
    /// Writes `checkpoint` down durably and makes it the one to open; older ones go, `keep` of them in all stay.
    pub fn write(&self, checkpoint: &Checkpoint, keep: usize) -> Result<(), StoreError> {
        write(&self.root, checkpoint, keep)
    }

    /// The checkpoint to go on from, and what keeps newer ones from being it; nothing in a new store.
    ///
    /// It is the newest whole one. Fails when the newest was written by a later release, or none can be read.
    pub fn newest(&self) -> Result<Option<(Checkpoint, Option<StoreError>)>, StoreError> {
        let stored = self.stored()?;
        let named = files::read_number(&self.root.join("CURRENT"))?;
        let Some(current) = named.or_else(|| stored.last().copied()) else { return Ok(None) };
        let damage = match read(&self.root, current) {
            Ok(checkpoint) => return Ok(Some((checkpoint, None))),
            Err(error @ StoreError::Damaged { .. }) => error,
            Err(error) => return Err(error),
        };
        let others = stored.into_iter().rev().filter(|generation| *generation != current);
        let whole = others.filter_map(|generation| read(&self.root, generation).ok()).next();
        match whole {
            Some(checkpoint) => Ok(Some((checkpoint, Some(damage)))),
            None => Err(damage),
        }
    }

    /// The checkpoint of a stored generation.
    ///
    /// Fails with [`StoreError::Damaged`] where it is not stored or not whole.
    pub fn read(&self, generation: u64) -> Result<Checkpoint, StoreError> {
        read(&self.root, generation)
    }

    /// The stored generations, ascending.
    pub fn stored(&self) -> Result<Vec<u64>, StoreError> {
        let mut stored: Vec<u64> = std::fs::read_dir(&self.root)
            .map_err(StoreError::io("read", &self.root))?
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.strip_prefix("gen-")?.parse().ok())
            .collect();
        stored.sort_unstable();
        Ok(stored)
    }

    /// Bytes of all files of the store. `O(files)`.
    #[must_use]
    pub fn store_bytes(&self) -> u64 {
        files::n_bytes(&self.root)
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    format: u32,
    generation: u64,
    recipe: u64,
    n_notes: usize,
    files: Vec<FileSum>,
}

#[derive(Debug, Serialize, Deserialize)]
struct FileSum {
    name: String,
    n_bytes: usize,
    crc32: u32,
}

const NOTES: &str = "notes.rmp";
const GRAPH: &str = "graph.rmp";
const MANIFEST: &str = "manifest.rmp";

fn folder(root: &Path, generation: u64) -> PathBuf {
    root.join(format!("gen-{generation}"))
}

/// The checkpoint of `generation`.
fn read(root: &Path, generation: u64) -> Result<Checkpoint, StoreError> {
    let folder = folder(root, generation);
    let path = folder.join(MANIFEST);
    let damaged = |path: &Path, reason: &str| StoreError::Damaged {
        path: path.to_owned(),
        reason: reason.to_owned(),
    };
    let bytes = files::read(&path)?.ok_or_else(|| damaged(&path, "it is missing"))?;
    // The format stands first, so that it can be read whatever follows.
    let format = rmp_serde::from_slice::<(u32,)>(&bytes).map(|(format,)| format);
    let manifest: Manifest = match rmp_serde::from_slice(&bytes) {
        Ok(Manifest { format, .. }) if format > FORMAT_VERSION => {
            return Err(StoreError::FutureVersion { store: root.to_owned(), found: format });
        }
        Ok(manifest) => manifest,
        Err(_) if format.as_ref().is_ok_and(|format| *format > FORMAT_VERSION) => {
            return Err(StoreError::FutureVersion {
                store: root.to_owned(),
                found: format.unwrap_or(0),
            });
        }
        Err(error) => return Err(damaged(&path, &error.to_string())),
    };
    if manifest.generation != generation {
        return Err(damaged(&path, "it belongs to another generation"));
    }
    let part = |name: &str| {
        let path = folder.join(name);
        let bytes = files::read(&path)?.ok_or_else(|| damaged(&path, "it is missing"))?;
        let sum = manifest.files.iter().find(|sum| sum.name == name);
        match sum {
            Some(sum) if sum.n_bytes == bytes.len() && sum.crc32 == crc32fast::hash(&bytes) => {
                Ok((path, bytes))
            }
            Some(_) => Err(damaged(&path, "its checksum differs")),
            None => Err(damaged(&path, "the manifest does not list it")),
        }
    };
    let (path, bytes) = part(NOTES)?;
    let notes = decoded(&path, &bytes)?;
    let (path, bytes) = part(GRAPH)?;
    let notes = NoteTable::restored(notes, decoded(&path, &bytes)?)
        .map_err(|error| damaged(&path, &error.to_string()))?;
    Ok(Checkpoint { generation, notes, recipe: manifest.recipe })
}

fn decoded<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T, StoreError> {
    rmp_serde::from_slice(bytes)
        .map_err(|error| StoreError::Damaged { path: path.to_owned(), reason: error.to_string() })
}

fn write(root: &Path, checkpoint: &Checkpoint, keep: usize) -> Result<(), StoreError> {
    let Checkpoint { generation, notes, recipe } = checkpoint;
    let temporary = root.join("gen-new");
    let _ = std::fs::remove_dir_all(&temporary);
    std::fs::create_dir_all(&temporary).map_err(StoreError::io("create", &temporary))?;
    let mut manifest = Manifest {
        format: FORMAT_VERSION,
        generation: *generation,
        recipe: *recipe,
        n_notes: notes.n_notes(),
        files: Vec::new(),
    };
    let (stored, graph) = notes.stored();
    for (name, bytes) in
        [(NOTES, encoded(&temporary, &stored)?), (GRAPH, encoded(&temporary, &graph)?)]
    {
        files::write_durably(&temporary.join(name), &bytes)?;
        let sum =
            FileSum { name: name.to_owned(), n_bytes: bytes.len(), crc32: crc32fast::hash(&bytes) };
        manifest.files.push(sum);
    }
    files::write_durably(&temporary.join(MANIFEST), &encoded(&temporary, &manifest)?)?;
    files::sync_folder(&temporary)?;
    let folder = folder(root, *generation);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(StoreError::io("remove", &folder))?;
    }
    std::fs::rename(&temporary, &folder).map_err(StoreError::io("rename", &folder))?;
    files::sync_folder(root)?;
    files::replace(&root.join("CURRENT"), generation.to_string().as_bytes())?;

    let mut older = Checkpoints { root: root.to_owned() }.stored()?;
    older.retain(|other| other != generation);
    older.reverse();
    for old in older.into_iter().skip(keep.saturating_sub(1)) {
        // What cannot be removed now is removed by a later checkpoint.
        let _ = std::fs::remove_dir_all(self::folder(root, old));
    }
    Ok(())
}

fn encoded<T: Serialize>(path: &Path, value: &T) -> Result<Vec<u8>, StoreError> {
    rmp_serde::to_vec(value)
        .map_err(|error| StoreError::Damaged { path: path.to_owned(), reason: error.to_string() })
}
