//! The files of an embedding store: one folder of rows per model, with a log of the text and checksum of each row.

use std::fs::File;
use std::io::{ErrorKind, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use weft_model::{NoteId, TextHash};

use super::StoreError;
use crate::calibration::Calibration;
use crate::disk::{self, Disk, FileStamp};
use crate::embedder::ModelIdentity;
use crate::vector::{RowId, RowMap, VectorError, VectorFile, VectorWriter};

/// Folder in the store that holds one folder of rows per model.
pub(super) const FOLDER: &str = "vectors";

/// File of the rows.
pub(super) const ROWS_FILE: &str = "vec.f32";

/// Log of the text of each row; a folder of rows is valid only with it.
pub(super) const LOG_FILE: &str = "rows.log";

/// File of the graph over the rows.
pub(super) const GRAPH_FILE: &str = "hnsw.u32";

/// File of the vectors while a shared graph is built.
pub(super) const GRAPH_BUILD_FILE: &str = "graph-build.f32";

/// File that describes the model of a folder.
pub(super) const MODEL_FILE: &str = "model.rmp";

/// File with the scale of the model's cosines, if it was measured.
pub(super) const CALIBRATION_FILE: &str = "calibration.rmp";

/// Bytes of one entry of the row log: text hash and crc32 of the row.
pub(super) const ENTRY_BYTES: usize = 20;

/// Files of the rows of an embedding store.
pub(super) struct EmbeddingFiles {
    pub(super) disk: Disk,
    /// Folder of the model.
    pub(super) folder: PathBuf,
    /// Number of the folder with the current rows.
    pub(super) number: u64,
    pub(super) log: File,
    /// Stamp of the rows' file after our last write.
    pub(super) stamp: Option<FileStamp>,
    /// True if another program changed the file before our last write.
    pub(super) is_touched: bool,
}

impl EmbeddingFiles {
    pub(super) fn path(&self, file: &str) -> PathBuf {
        self.folder.join(self.number.to_string()).join(file)
    }

    /// True if another program changed or removed the rows' file, or removed its log.
    pub(super) fn is_touched(&self) -> bool {
        self.is_touched || self.is_gone() || self.stamp != FileStamp::of(&self.path(ROWS_FILE))
    }

    /// True if the rows' file, or the log that makes it valid, was removed.
    pub(super) fn is_gone(&self) -> bool {
        [ROWS_FILE, LOG_FILE].iter().any(|file| !self.path(file).exists())
    }

    /// True if the rows' file became shorter.
    pub(super) fn is_cut(&self) -> bool {
        FileStamp::is_cut(self.stamp, FileStamp::of(&self.path(ROWS_FILE)))
    }

    /// Accepts the current state of the rows' file as intact.
    pub(super) fn accept_current(&mut self) {
        (self.stamp, self.is_touched) = (FileStamp::of(&self.path(ROWS_FILE)), false);
    }

    /// Appends to the log after its first `n_logged` entries, overwriting the remains of a failed attempt.
    pub(super) fn log(
        &mut self,
        n_logged: usize,
        entries: impl Iterator<Item = LogEntry>,
    ) -> Result<(), StoreError> {
        let bytes = bytes_of(entries);
        let path = self.path(LOG_FILE);
        let mut write = || {
            self.log.seek(SeekFrom::Start((n_logged * ENTRY_BYTES) as u64))?;
            self.disk.write_all(&mut self.log, &path, &bytes)?;
            self.disk.sync(&self.log, &path)
        };
        write().map_err(StoreError::io("write", &path))
    }
}

/// Returns the stored calibration; `None` if it cannot be read, so that it is measured again.
pub(super) fn calibration_at(folder: &Path) -> Option<Calibration> {
    let stored = std::fs::read(folder.join(CALIBRATION_FILE)).ok()?;
    rmp_serde::from_slice(&stored).ok().filter(Calibration::is_valid)
}

pub(super) fn digest(model: &ModelIdentity) -> String {
    let ModelIdentity { model, dimension, runner, pooling } = model;
    let text = format!("{model}\0{dimension}\0{runner}\0{pooling}");
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}

/// Returns the folders that contain vectors, of all models.
pub(super) fn folders(root: &Path) -> Vec<PathBuf> {
    let below = |folder: PathBuf| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.is_dir())
    };
    let models: Vec<PathBuf> = below(root.join(FOLDER)).collect();
    models.iter().cloned().flat_map(below).chain(models.clone()).collect()
}

/// Removes the vectors of all models except these.
pub(super) fn keep(disk: &Disk, root: &Path, models: &[&ModelIdentity]) -> Result<(), StoreError> {
    let folder = root.join(FOLDER);
    let own: Vec<String> = models.iter().map(|model| digest(model)).collect();
    for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
        if !own.iter().any(|own| entry.file_name() == own.as_str()) {
            let path = entry.path();
            disk.remove_folder(&path).map_err(StoreError::io("remove", &path))?;
        }
    }
    Ok(())
}

/// Writes the description of a model's folder.
pub(super) fn describe(
    disk: &Disk,
    folder: &Path,
    model: &ModelIdentity,
) -> Result<(), StoreError> {
    let path = folder.join(MODEL_FILE);
    let described = rmp_serde::to_vec(model)
        .map_err(|error| StoreError::Damaged { path: path.clone(), reason: error.to_string() })?;
    if disk::read(&path).ok().flatten().as_ref() == Some(&described) {
        return Ok(());
    }
    let write = || {
        disk.create_folder(folder)?;
        // Nothing in the folder is durable without its name.
        folder.ancestors().skip(1).take(2).try_for_each(|above| disk.sync_folder(above))?;
        disk.replace(&path, &described)
    };
    write().map_err(StoreError::io("write", &path))
}

pub(super) fn in_folder(folder: &Path, number: u64, file: &str) -> PathBuf {
    folder.join(number.to_string()).join(file)
}

/// Returns the numbers of the row folders in a model's folder.
pub(super) fn numbers(folder: &Path) -> Result<Vec<u64>, StoreError> {
    let entries = std::fs::read_dir(folder).map_err(StoreError::io("read", folder))?.flatten();
    Ok(entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

/// Removes everything from a model's folder except its description and the current rows. A file that cannot be removed is removed at the next start.
pub(super) fn keep_number(disk: &Disk, folder: &Path, number: u64) {
    let own = number.to_string();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        let kept = [own.as_str(), MODEL_FILE, CALIBRATION_FILE];
        if name.to_str().is_some_and(|name| kept.contains(&name)) {
            continue;
        }
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let _ = if is_folder { disk.remove_folder(&path) } else { disk.remove_file(&path) };
    }
}

/// Copies some rows in an order, with their log `entries`, to the folder `number`, which becomes the current one.
///
/// Checksums are copied unchanged, so that damage done by another program stays detectable.
pub(super) fn rewrite(
    disk: &Disk,
    folder: &Path,
    number: u64,
    (rows, order): (&VectorWriter, &[RowId]),
    entries: impl IntoIterator<Item = LogEntry>,
) -> Result<(VectorWriter, RowMap, File), StoreError> {
    let files = folder.join(number.to_string());
    let write = || {
        disk.remove_folder(&files).map_err(StoreError::io("remove", &files))?;
        disk.create_folder(&files).map_err(StoreError::io("create", &files))?;
        let (written, map) = rows.reorder(order, Some((disk, &files.join(ROWS_FILE))))?;
        let log = files.join(LOG_FILE);
        disk.sync_folder(folder).map_err(StoreError::io("sync", folder))?;
        disk.replace(&log, &bytes_of(entries.into_iter()))
            .map_err(StoreError::io("write", &log))?;
        let file = File::options().read(true).write(true).open(&log);
        Ok((written, map, file.map_err(StoreError::io("open", &log))?))
    };
    // A log that may not be durable must not become valid, since rows continue to be added elsewhere.
    write().inspect_err(|_| drop(disk.remove_folder(&files)))
}

/// Returns the newest valid row folder.
pub(super) fn newest(folder: &Path, numbers: &[u64]) -> Option<u64> {
    let is_logged = |number: &u64| in_folder(folder, *number, LOG_FILE).is_file();
    numbers.iter().copied().filter(is_logged).max()
}

/// Log entries of all rows, and an owner for each intact row.
pub(super) struct LoggedRows {
    pub(super) owners: Vec<Option<NoteId>>,
    pub(super) entries: Vec<LogEntry>,
}

/// Returns the rows of the folder `number` and the number of damaged ones; no rows if none can be read.
///
/// Fails if they were written by a later release or cannot be read now.
pub(super) fn validate_rows(
    disk: &Disk,
    folder: &Path,
    number: u64,
    model: &ModelIdentity,
) -> Result<(Option<LoggedRows>, usize), StoreError> {
    let (entries, n_entries) = rows_with_room(folder, number, model)?;
    let Some(entries) = entries else { return Ok((None, n_entries)) };
    let path = in_folder(folder, number, ROWS_FILE);
    let file = VectorFile::open(disk, &path, model.dimension, entries.len());
    let Some(file) = recoverable(file, folder, &path)? else { return Ok((None, n_entries)) };
    let is_intact = |((text, sum), row): (&LogEntry, usize)| checksum(*text, file.row(row)) == *sum;
    let owners: Vec<Option<NoteId>> =
        entries.iter().zip(0..).map(|row| is_intact(row).then_some(NoteId::new(0))).collect();
    let n_whole = owners.iter().flatten().count();
    Ok((Some(LoggedRows { owners, entries }), n_entries - n_whole))
}

/// Returns the log of the folder `number`, truncated to the rows that fit in their file, and its full number of entries; no log if the file does not match the model.
pub(super) fn rows_with_room(
    folder: &Path,
    number: u64,
    model: &ModelIdentity,
) -> Result<(Option<Vec<LogEntry>>, usize), StoreError> {
    let mut entries = entries_at(&in_folder(folder, number, LOG_FILE))?;
    let (n_entries, path) = (entries.len(), in_folder(folder, number, ROWS_FILE));
    let n_rows = recoverable(VectorFile::row_capacity(&path, model.dimension), folder, &path)?;
    let entries = n_rows.map(|n_rows| {
        entries.truncate(n_rows);
        entries
    });
    Ok((entries, n_entries))
}

/// Returns the result of reading a file of rows: `None` if it can be rebuilt, an error if it may only be temporarily unavailable.
pub(super) fn recoverable<T>(
    outcome: Result<T, VectorError>,
    folder: &Path,
    path: &Path,
) -> Result<Option<T>, StoreError> {
    match outcome {
        Ok(read) => Ok(Some(read)),
        Err(VectorError::Version { found, .. }) => {
            Err(StoreError::FutureVersion { store: folder.to_owned(), found })
        }
        Err(VectorError::Read { source, .. })
            if source.kind() != ErrorKind::NotFound && !disk::is_misplaced(&source) =>
        {
            Err(StoreError::Io { action: "read", path: path.to_owned(), source })
        }
        Err(error) => {
            tracing::warn!(%error, "cannot read the stored vectors; they will be rebuilt");
            Ok(None)
        }
    }
}

/// Entry of the row log: text hash of a row, and checksum of hash and vector.
pub(super) type LogEntry = (TextHash, u32);

/// Numbers hashed per call: a call for each number would dominate the time to open a store.
pub(super) const CHECKSUM_VALUES: usize = 64;

pub(super) fn checksum(text: TextHash, vector: &[f32]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&text.0.to_le_bytes());
    for values in vector.chunks(CHECKSUM_VALUES) {
        let mut bytes = [0; CHECKSUM_VALUES * size_of::<f32>()];
        for (four, value) in bytes.as_chunks_mut().0.iter_mut().zip(values) {
            *four = value.to_le_bytes();
        }
        hasher.update(&bytes[..size_of_val(values)]);
    }
    hasher.finalize()
}

/// Returns a number of rows, as a row number.
pub(super) fn to_u32(row: usize) -> u32 {
    u32::try_from(row).expect("an index has at most 2³¹ rows")
}

/// Returns the log entries for these texts and checksums.
pub(super) fn entries(texts: &[TextHash], checksums: &[u32]) -> impl Iterator<Item = LogEntry> {
    texts.iter().copied().zip(checksums.iter().copied())
}

pub(super) fn bytes_of(entries: impl Iterator<Item = LogEntry>) -> Vec<u8> {
    let entry = |(text, sum): LogEntry| text.0.to_le_bytes().into_iter().chain(sum.to_le_bytes());
    entries.flat_map(entry).collect()
}

/// Returns the entries of a log, without a truncated last one.
pub(super) fn entries_at(path: &Path) -> Result<Vec<LogEntry>, StoreError> {
    let bytes = disk::read(path).map_err(StoreError::io("read", path))?.unwrap_or_default();
    let (entries, _) = bytes.as_chunks::<ENTRY_BYTES>();
    let entry = |entry: &[u8; ENTRY_BYTES]| {
        let (text, sum) = entry.split_at(16);
        let text = u128::from_le_bytes(text.try_into().expect("sixteen bytes"));
        (TextHash(text), u32::from_le_bytes(sum.try_into().expect("four bytes")))
    };
    Ok(entries.iter().map(entry).collect())
}
