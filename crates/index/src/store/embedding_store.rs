//! The embedding store: vectors by the hash of their text, kept across restarts, renames and edits.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weft_model::{NoteId, TextHash};

use super::embedding_files::{
    CALIBRATION_FILE, ENTRY_BYTES, EmbeddingFiles, FOLDER, GRAPH_BUILD_FILE, GRAPH_FILE, LOG_FILE,
    LogEntry, LoggedRows, MODEL_FILE, ROWS_FILE, calibration_at, checksum, describe, digest,
    entries, entries_at, in_folder, keep_number, newest, numbers, recoverable, rewrite,
    rows_with_room, to_u32, validate_rows,
};
use super::shared_graph::{SharedGraph, SharedGraphSource};
use super::{StoreError, calibration_sample};
use crate::calibration::Calibration;
use crate::disk::{self, Disk};
use crate::embedder::{Embedder, ModelIdentity};
use crate::note_rows::NoteRows;
use crate::notes::NoteTable;
use crate::open_file::OpenFile;
use crate::snapshot::Vectors;
use crate::vector::{
    FrozenGraph, RowId, VectorError, VectorFile, VectorIndex, VectorParams, VectorWriter,
};

/// Returns the number of chunks without a row.
fn n_missing(rows: &[Option<RowId>]) -> usize {
    rows.iter().filter(|row| row.is_none()).count()
}

/// The vectors of one model, and the chunks they belong to.
///
/// Every chunk of every note has its own row, so deleting a note deletes its rows.
/// A text is embedded only once, for any note: later uses copy its vector.
pub struct EmbeddingStore {
    writer: VectorWriter,
    /// `None` in memory.
    files: Option<EmbeddingFiles>,
    rows: NoteRows,
    /// Number of chunks without a row.
    n_waiting: usize,
    /// Text hash of every row.
    texts: Vec<TextHash>,
    /// Checksum of every row, computed when the row was created and kept when it is copied.
    checksums: Vec<u32>,
    /// A row with the vector of each text; includes rows of deleted notes until compaction.
    by_text: HashMap<TextHash, RowId>,
    /// Number of durable rows.
    n_logged: usize,
    embedder: Arc<dyn Embedder>,
    /// Scale of the model's cosines; `None` until it is measured.
    calibration: Option<Calibration>,
}

/// Result of opening an embedding store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EmbeddingStoreReport {
    /// Rows loaded.
    pub n_rows: usize,
    /// Damaged rows, which must be embedded again.
    pub n_damaged: usize,
    /// True if another program added bytes behind the rows; they are removed.
    pub has_stray_bytes: bool,
}

impl EmbeddingStore {
    /// Returns the model whose vectors are stored.
    #[must_use]
    pub const fn embedder(&self) -> &Arc<dyn Embedder> {
        &self.embedder
    }

    /// Returns the number of chunks without a vector.
    #[must_use]
    pub const fn n_waiting(&self) -> usize {
        self.n_waiting
    }

    /// Returns true if a vector of this text is stored, whether a chunk uses it or not.
    #[must_use]
    pub fn has_vector(&self, text: TextHash) -> bool {
        self.by_text.contains_key(&text)
    }

    /// Creates an empty store in memory.
    pub fn in_memory(
        embedder: Arc<dyn Embedder>,
        params: VectorParams,
    ) -> Result<Self, StoreError> {
        let writer = VectorWriter::in_memory(embedder.identity().dimension, params)?;
        Ok(Self::over(writer, None, embedder))
    }

    /// Opens or creates the embedding store for the model of `embedder` in the store at `root`, and assigns its rows to the chunks of `notes`.
    ///
    /// A row is valid if it and its log entry are intact; everything else is removed and rebuilt.
    pub fn open(
        disk: &Disk,
        root: &Path,
        embedder: Arc<dyn Embedder>,
        notes: &NoteTable,
        params: VectorParams,
    ) -> Result<(Self, EmbeddingStoreReport), StoreError> {
        let model = embedder.identity();
        let folder = root.join(FOLDER).join(digest(model));
        if folder.is_file() {
            disk.remove_file(&folder).map_err(StoreError::io("remove", &folder))?;
        }
        disk.create_folder(&folder).map_err(StoreError::io("create", &folder))?;
        let numbers = numbers(&folder)?;
        let newest = newest(&folder, &numbers);
        let next = numbers.into_iter().max().map_or(0, |number| number + 1);
        let (intact, n_damaged) = match newest {
            Some(number) => validate_rows(disk, &folder, number, model)?,
            None => (None, 0),
        };
        let rows_file = newest.map(|number| in_folder(&folder, number, ROWS_FILE));
        let has_stray_bytes =
            rows_file.is_some_and(|path| VectorFile::has_stray_bytes(&path, model.dimension));
        let number = match (newest, intact) {
            (Some(number), Some(_)) if n_damaged == 0 && !has_stray_bytes => number,
            (newest, intact) => {
                let (writer, entries) = match newest.zip(intact) {
                    Some((number, LoggedRows { owners, entries })) => {
                        let path = in_folder(&folder, number, ROWS_FILE);
                        let (dimension, n_rows) = (model.dimension, entries.len());
                        let rows =
                            VectorWriter::open(disk, &path, dimension, n_rows, owners, params);
                        (rows?, entries)
                    }
                    None => (VectorWriter::in_memory(model.dimension, params)?, Vec::new()),
                };
                let live = writer.live_rows();
                let kept: Vec<LogEntry> = live.iter().map(|row| entries[row.index()]).collect();
                rewrite(disk, &folder, next, (&writer, &live), kept)?;
                next
            }
        };
        describe(disk, &folder, model)?;
        let mut store = Self::reopen(disk, &folder, number, embedder, notes, params)?;
        store.load_graph();
        keep_number(disk, &folder, number);
        let n_rows = store.texts.len();
        Ok((store, EmbeddingStoreReport { n_rows, n_damaged, has_stray_bytes }))
    }

    /// Predicts the result of [`open`](Self::open) for intact files: the rows of each note, and the number of pending chunks. Reads no vectors and changes nothing.
    ///
    /// Fails if opening is expected to fail: the vectors were written by a later release, or cannot be read now.
    pub fn peek(
        root: &Path,
        model: &ModelIdentity,
        notes: &NoteTable,
    ) -> Result<(NoteRows, usize), StoreError> {
        let folder = root.join(FOLDER).join(digest(model));
        let newest = if folder.is_dir() { newest(&folder, &numbers(&folder)?) } else { None };
        let entries = newest.map(|number| rows_with_room(&folder, number, model)).transpose()?;
        let entries = entries.and_then(|(entries, _)| entries).unwrap_or_default();
        let texts: Vec<TextHash> = entries.into_iter().map(|(text, _)| text).collect();
        let RowAssignment { rows, owners: _, n_waiting } = RowAssignment::new(&texts, notes);
        Ok((rows, n_waiting))
    }

    /// Returns true if the store at `root` has vectors of any model.
    #[must_use]
    pub fn exists(root: &Path) -> bool {
        root.join(FOLDER).is_dir()
    }

    /// Passes the intact vectors of all models in the store at `root` to `take` until that fails, each text once; returns the number of damaged rows.
    ///
    /// The caller holds the lock of the store. Changes nothing.
    pub fn read_all<E: From<StoreError>>(
        root: &Path,
        mut take: impl FnMut(&ModelIdentity, TextHash, &[f32]) -> Result<(), E>,
    ) -> Result<usize, E> {
        let vectors = root.join(FOLDER);
        let entries = std::fs::read_dir(&vectors).map_err(StoreError::io("read", &vectors))?;
        let folders = entries.flatten().map(|entry| entry.path());
        let mut folders: Vec<PathBuf> = folders.filter(|folder| folder.is_dir()).collect();
        folders.sort();
        let mut n_damaged = 0;
        for folder in folders {
            let path = folder.join(MODEL_FILE);
            // Without a description, and without a log, the rows are not valid.
            let described = disk::read(&path).map_err(StoreError::io("read", &path))?;
            let Some(described) = described else { continue };
            let damaged = |error: rmp_serde::decode::Error| StoreError::Damaged {
                path: path.clone(),
                reason: error.to_string(),
            };
            let model: ModelIdentity = rmp_serde::from_slice(&described).map_err(damaged)?;
            let Some(number) = newest(&folder, &numbers(&folder)?) else { continue };
            let (entries, n_entries) = rows_with_room(&folder, number, &model)?;
            let entries = entries.unwrap_or_default();
            n_damaged += n_entries - entries.len();
            let path = in_folder(&folder, number, ROWS_FILE);
            let file = VectorFile::open(&Disk::default(), &path, model.dimension, entries.len());
            let Some(file) = recoverable(file, &folder, &path)? else {
                n_damaged += entries.len();
                continue;
            };
            let mut taken = HashSet::with_capacity(entries.len());
            for (row, (text, sum)) in entries.into_iter().enumerate() {
                if checksum(text, file.row(row)) != sum {
                    n_damaged += 1;
                } else if taken.insert(text) {
                    take(&model, text, file.row(row))?;
                }
            }
        }
        Ok(n_damaged)
    }

    /// Opens validated rows and assigns them to chunks.
    fn reopen(
        disk: &Disk,
        folder: &Path,
        number: u64,
        embedder: Arc<dyn Embedder>,
        notes: &NoteTable,
        params: VectorParams,
    ) -> Result<Self, StoreError> {
        let dimension = embedder.identity().dimension;
        let log_path = in_folder(folder, number, LOG_FILE);
        let (texts, checksums): (Vec<TextHash>, Vec<u32>) =
            entries_at(&log_path)?.into_iter().unzip();
        let RowAssignment { rows, owners, n_waiting } = RowAssignment::new(&texts, notes);
        let mut by_text: HashMap<TextHash, RowId> = HashMap::with_capacity(texts.len());
        for (text, row) in texts.iter().zip((0..).map(RowId::new)) {
            by_text.entry(*text).or_insert(row);
        }
        let path = in_folder(folder, number, ROWS_FILE);
        let writer = VectorWriter::open(disk, &path, dimension, texts.len(), owners, params)?;
        let log = File::options().read(true).write(true).open(&log_path);
        let log = log.map_err(StoreError::io("open", &log_path))?;
        let n_logged = texts.len();
        let (disk, folder) = (disk.clone(), folder.to_owned());
        let mut files =
            EmbeddingFiles { disk, folder, number, log, stamp: None, is_touched: false };
        files.accept_current();
        let stored = calibration_at(&files.folder);
        let mut store = Self::over(writer, Some(files), embedder);
        store.calibration = store.calibration.or(stored);
        Ok(Self { rows, n_waiting, texts, checksums, by_text, n_logged, ..store })
    }

    /// Loads the stored graph for searches if it fits; otherwise it is rebuilt later when needed.
    fn load_graph(&mut self) {
        let Some(path) = self.files.as_ref().map(|files| files.path(GRAPH_FILE)) else { return };
        if path.exists() {
            let loaded =
                FrozenGraph::load(&path).and_then(|graph| self.writer.attach(Arc::new(graph)));
            match loaded {
                Ok(()) => self.link_copies(),
                Err(error) => {
                    tracing::warn!(%error, "cannot use the stored vector graph; it will be rebuilt");
                }
            }
        }
    }

    /// Returns the number of the commit that shares the attached graph; `None` without a shared graph.
    #[must_use]
    pub fn shared_graph(&self) -> Option<u64> {
        self.writer.graph().and_then(|graph| graph.commit())
    }

    /// Returns the row of a text in the attached graph, if that is shared and contains it.
    fn shared_row(&self, text: TextHash) -> Option<RowId> {
        let graph = self.writer.graph().filter(|graph| graph.commit().is_some())?;
        self.by_text.get(&text).copied().filter(|row| row.index() < graph.n_rows())
    }

    /// Makes walks through a shared graph find all rows of its texts, so that an answer depends on texts and not on the order of rows.
    fn link_copies(&mut self) {
        let graph = self.writer.graph().filter(|graph| graph.commit().is_some());
        let Some(n_walked) = graph.map(|graph| graph.n_rows()) else { return };
        for (row, text) in self.texts.iter().enumerate().skip(n_walked) {
            if let Some(of) = self.by_text.get(text).filter(|of| of.index() < n_walked) {
                self.writer.add_copy(*of, RowId::new(to_u32(row)));
            }
        }
    }

    /// Stops using the shared graph, if any; searches compare the vectors exactly from the next state on.
    pub fn drop_shared_graph(&mut self) {
        if self.shared_graph().is_none() {
            return;
        }
        self.writer.detach();
        if let Some(files) = &self.files {
            // A file that cannot be removed is replaced by the next graph.
            let _ = files.disk.remove_file(&files.path(GRAPH_FILE));
        }
    }

    /// Returns what a shared graph of the current state is built from.
    #[must_use]
    pub fn shared_graph_source(&self) -> SharedGraphSource {
        let row = |row: RowId| (self.texts[row.index()], row, self.checksums[row.index()]);
        let file = self
            .files
            .as_ref()
            .map(|files| (files.disk.clone(), files.folder.join(GRAPH_BUILD_FILE)));
        let (index, rows) = (self.writer.publish(), self.rows.rows().map(row).collect());
        SharedGraphSource { index, rows, file }
    }

    /// Returns those of `texts` without an intact vector.
    #[must_use]
    pub fn without_vector(&self, texts: &[TextHash]) -> Vec<TextHash> {
        let index = self.writer.publish();
        let is_missing = |text: &TextHash| {
            self.by_text.get(text).is_none_or(|row| self.intact_vector(&index, *row).is_none())
        };
        texts.iter().copied().filter(is_missing).collect()
    }

    /// Uses the graph that a commit shares, and stores it for the next run; `vectors` must contain the [missing](Self::without_vector) ones of its texts.
    ///
    /// The rows are written again, those of the graph first. After an error, the rows are as before or without a graph.
    pub fn adopt(
        &mut self,
        shared: SharedGraph,
        commit: u64,
        vectors: &[(TextHash, Vec<f32>)],
    ) -> Result<(), StoreError> {
        let texts: Vec<TextHash> = vectors.iter().map(|(text, _)| *text).collect();
        let missing: HashSet<TextHash> = self.without_vector(&texts).into_iter().collect();
        // Walks pass texts that no chunk has any more.
        for (text, vector) in vectors.iter().filter(|(text, _)| missing.contains(text)) {
            let note = NoteId::new(0);
            let row = self.append(note, *text, vector)?;
            self.writer.delete(&[row])?;
            self.by_text.insert(*text, row);
        }
        let index = self.writer.publish();
        let mut rows: HashMap<TextHash, RowId> = HashMap::with_capacity(shared.texts.len());
        for row in self.writer.live_rows() {
            if self.intact_vector(&index, row).is_some() {
                rows.entry(self.texts[row.index()]).or_insert(row);
            }
        }
        let row = |text: &TextHash| rows.get(text).or_else(|| self.by_text.get(text)).copied();
        let mut order: Vec<RowId> = shared.texts.iter().filter_map(row).collect();
        if order.len() < shared.texts.len() {
            return Err(VectorError::GraphMismatch.into());
        }
        let walked: HashSet<RowId> = order.iter().copied().collect();
        order.extend(self.writer.live_rows().into_iter().filter(|row| !walked.contains(row)));
        self.reorder(&order)?;
        self.use_graph(Arc::new(shared.graph.shared_by(commit)))
    }

    fn over(
        writer: VectorWriter,
        files: Option<EmbeddingFiles>,
        embedder: Arc<dyn Embedder>,
    ) -> Self {
        Self {
            calibration: embedder.calibration(),
            writer,
            files,
            rows: NoteRows::default(),
            n_waiting: 0,
            texts: Vec::new(),
            checksums: Vec::new(),
            by_text: HashMap::new(),
            n_logged: 0,
            embedder,
        }
    }

    /// Assigns rows to the chunks of `note`: known texts get their vectors at once, the positions of the others are returned.
    ///
    /// Without chunks, removes the note's rows.
    /// Chunks whose rows could not be written are among the returned positions, together with the error.
    pub fn assign_rows(
        &mut self,
        note: NoteId,
        texts: &[TextHash],
    ) -> (Vec<usize>, Result<(), StoreError>) {
        if self.holds(note, texts) {
            return (Vec::new(), Ok(()));
        }
        self.n_waiting -= n_missing(self.rows.of(note));
        let mut old: HashMap<TextHash, Vec<RowId>> = HashMap::new();
        for row in self.rows.of(note).iter().flatten() {
            old.entry(self.texts[row.index()]).or_default().push(*row);
        }
        // A chunk with an unchanged text keeps its row; other known texts get a copy of an existing vector.
        let mut rows: Vec<Option<RowId>> =
            texts.iter().map(|text| old.get_mut(text).and_then(Vec::pop)).collect();
        let gone: Vec<RowId> = old.into_values().flatten().collect();
        let mut outcome = self.writer.delete(&gone).map(|_| ()).map_err(StoreError::from);
        if rows.contains(&None) {
            let index = self.writer.publish();
            for (row, text) in rows.iter_mut().zip(texts).filter(|(row, _)| row.is_none()) {
                let Some(known) = self.by_text.get(text).copied() else { continue };
                let Some(vector) = self.intact_vector(&index, known) else {
                    self.forget_text(*text);
                    continue;
                };
                match self.add(note, *text, vector) {
                    Ok(added) => *row = Some(added),
                    Err(error) => outcome = Err(error),
                }
            }
        }
        let waiting: Vec<usize> =
            rows.iter().enumerate().filter(|(_, row)| row.is_none()).map(|(at, _)| at).collect();
        self.n_waiting += waiting.len();
        self.rows.set(note, &rows);
        (waiting, outcome)
    }

    /// Forgets the damaged vector of a text; a shared graph that leads to it is adopted again.
    fn forget_text(&mut self, text: TextHash) {
        if self.shared_row(text).is_some() {
            self.drop_shared_graph();
        }
        self.by_text.remove(&text);
    }

    /// True if `note` has exactly the rows of these texts, with none missing.
    fn holds(&self, note: NoteId, texts: &[TextHash]) -> bool {
        let rows = self.rows.of(note);
        let is_of = |(row, text): (&Option<RowId>, &TextHash)| {
            row.is_some_and(|row| self.texts[row.index()] == *text)
        };
        rows.len() == texts.len() && !rows.is_empty() && rows.iter().zip(texts).all(is_of)
    }

    /// Stores the vector of a text for the chunks that wait for it.
    ///
    /// `waiting` lists notes and positions; chunks that no longer wait are skipped.
    pub fn insert_vector(
        &mut self,
        text: TextHash,
        vector: &[f32],
        waiting: &[(NoteId, usize)],
    ) -> Result<(), StoreError> {
        for (note, at) in waiting {
            let mut rows = self.rows.of(*note).to_vec();
            if let Some(place @ None) = rows.get_mut(*at) {
                *place = Some(self.add(*note, text, vector)?);
                self.rows.set(*note, &rows);
                self.n_waiting -= 1;
            }
        }
        Ok(())
    }

    fn add(&mut self, note: NoteId, text: TextHash, vector: &[f32]) -> Result<RowId, StoreError> {
        let row = self.append(note, text, vector)?;
        if let Some(of) = self.shared_row(text) {
            self.writer.add_copy(of, row);
        }
        self.by_text.entry(text).or_insert(row);
        Ok(row)
    }

    /// Appends a row, whose text is not known by it yet.
    fn append(
        &mut self,
        note: NoteId,
        text: TextHash,
        vector: &[f32],
    ) -> Result<RowId, StoreError> {
        let is_touched = self.files.as_ref().is_some_and(EmbeddingFiles::is_touched);
        let added = self.writer.append(&[(note, vector)]);
        if let Some(files) = &mut self.files {
            files.accept_current();
            files.is_touched = is_touched;
        }
        let row = added?[0];
        self.texts.push(text);
        self.checksums.push(checksum(text, vector));
        Ok(row)
    }

    /// Returns the vector of a row if its checksum matches.
    fn intact_vector<'i>(&self, index: &'i VectorIndex, row: RowId) -> Option<&'i [f32]> {
        let (text, sum) = (*self.texts.get(row.index())?, *self.checksums.get(row.index())?);
        index.vector(row).filter(|vector| checksum(text, vector) == sum)
    }

    /// True if another program changed or removed the file of the rows. Costs a system call.
    #[must_use]
    pub fn is_touched(&self) -> bool {
        self.files.as_ref().is_some_and(EmbeddingFiles::is_touched)
    }

    /// True if the file of the rows was removed; they are still mapped.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.files.as_ref().is_some_and(EmbeddingFiles::is_gone)
    }

    /// True if another program added bytes behind the rows. Costs a system call.
    #[must_use]
    pub fn has_stray_bytes(&self) -> bool {
        let files = self.files.as_ref();
        files.is_some_and(|files| {
            VectorFile::has_stray_bytes(&files.path(ROWS_FILE), self.writer.dimension())
        })
    }

    /// True if a missing part of the truncated file of the rows was read: their memory no longer shows the file.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.writer.is_truncated()
    }

    /// Deletes rows that another program changed, and returns their number; their chunks are pending again.
    ///
    /// Reads every live row, but none of a truncated file.
    pub fn drop_damaged(&mut self) -> Result<usize, StoreError> {
        let is_cut = self.files.as_ref().is_some_and(EmbeddingFiles::is_cut);
        if is_cut {
            self.by_text.clear();
        }
        if let Some(files) = &mut self.files {
            files.accept_current();
        }
        let index = self.writer.publish();
        let damaged: HashSet<RowId> = self
            .rows
            .rows()
            .filter(|row| is_cut || self.intact_vector(&index, *row).is_none())
            .collect();
        if damaged.is_empty() {
            return Ok(0);
        }
        self.writer.delete(&damaged.iter().copied().collect::<Vec<_>>())?;
        // Its texts must be known by their rows in it, so it is adopted again.
        self.drop_shared_graph();
        self.by_text.retain(|_, row| !damaged.contains(row));
        self.rows.change(|row| Some(row).filter(|row| !damaged.contains(row)));
        self.n_waiting += damaged.len();
        Ok(damaged.len())
    }

    /// Makes all rows durable.
    pub fn sync(&mut self) -> Result<(), StoreError> {
        let n_rows = self.texts.len();
        let Some(files) = self.files.as_mut().filter(|_| self.n_logged < n_rows) else {
            return Ok(());
        };
        self.writer.sync()?;
        let unlogged = entries(&self.texts[self.n_logged..], &self.checksums[self.n_logged..]);
        files.log(self.n_logged, unlogged)?;
        self.n_logged = n_rows;
        Ok(())
    }

    /// Removes deleted rows from disk, except those of a shared graph. The others get new numbers, and a graph of this index is dropped.
    ///
    /// Rows changed by another program stay detectable, since they keep their original checksums.
    /// After an error, nothing has changed.
    pub fn compact(&mut self) -> Result<(), StoreError> {
        let live = self.writer.live_rows();
        let graph = self.writer.graph().filter(|graph| graph.commit().is_some()).cloned();
        let Some(graph) = graph else { return self.reorder(&live) };
        let index = self.writer.publish();
        let is_live = live.iter().copied().collect::<HashSet<RowId>>();
        let walked = (0..to_u32(graph.n_rows())).map(RowId::new);
        // Damage to a deleted row would not be noticed, so such a graph is adopted again.
        let is_sound =
            |row: RowId| is_live.contains(&row) || self.intact_vector(&index, row).is_some();
        if !walked.clone().all(is_sound) {
            return self.reorder(&live);
        }
        let later = live.into_iter().filter(|row| row.index() >= graph.n_rows());
        let order: Vec<RowId> = walked.chain(later).collect();
        self.reorder(&order)?;
        self.use_graph(graph)
    }

    /// Writes `rows`, which must contain all live ones, again in this order; they get new numbers, and the graph is dropped.
    ///
    /// After an error, nothing has changed.
    fn reorder(&mut self, rows: &[RowId]) -> Result<(), StoreError> {
        let map = match &mut self.files {
            Some(files) => {
                let number = files.number + 1;
                let (disk, folder) = (&files.disk, &files.folder);
                // Another program may have removed the whole folder.
                describe(disk, folder, self.embedder.identity())?;
                let entry = |row: &RowId| (self.texts[row.index()], self.checksums[row.index()]);
                let entries = rows.iter().map(entry);
                let (writer, map, log) =
                    rewrite(disk, folder, number, (&self.writer, rows), entries)?;
                (self.writer, files.number, files.log) = (writer, number, log);
                keep_number(disk, folder, number);
                files.accept_current();
                map
            }
            None => {
                let (writer, map) = self.writer.reorder(rows, None)?;
                self.writer = writer;
                map
            }
        };
        let (texts, checksums) =
            (std::mem::take(&mut self.texts), std::mem::take(&mut self.checksums));
        self.by_text.clear();
        for (row, new) in rows.iter().zip((0..).map(RowId::new)) {
            let text = texts[row.index()];
            self.texts.push(text);
            self.checksums.push(checksums[row.index()]);
            self.by_text.entry(text).or_insert(new);
        }
        self.rows.change(|row| map[row.index()]);
        self.n_logged = self.texts.len();
        Ok(())
    }

    /// Opens the files of the durable rows for a backup.
    pub(super) fn open_files(&self) -> Result<Vec<OpenFile>, StoreError> {
        let Some(files) = &self.files else { return Ok(Vec::new()) };
        let (rows, log) = (files.path(ROWS_FILE), files.path(LOG_FILE));
        let n_bytes = VectorFile::n_bytes(self.writer.dimension(), self.n_logged);
        let mut paths = vec![
            (rows, Some(n_bytes)),
            (log, Some((self.n_logged * ENTRY_BYTES) as u64)),
            (files.folder.join(MODEL_FILE), None),
        ];
        let graph = files.path(GRAPH_FILE);
        if graph.exists() {
            paths.push((graph, None));
        }
        let open = |(path, n_bytes): (PathBuf, Option<u64>)| {
            OpenFile::open(path.clone(), n_bytes).map_err(StoreError::io("read", &path))
        };
        paths.into_iter().map(open).collect()
    }

    /// Returns the current state.
    #[must_use]
    pub fn publish(&self) -> Vectors {
        Vectors {
            index: self.writer.publish(),
            rows: self.rows.clone(),
            n_waiting: self.n_waiting,
            loading: None,
            embedder: Arc::clone(&self.embedder),
            calibration: self.calibration.unwrap_or_default(),
        }
    }

    /// Measures the scale of the model's cosines on the current vectors and stores it, unless it is known; returns true if it changed.
    ///
    /// It is measured once per model, as soon as there are enough vectors, so that scores do not drift with every edit.
    pub fn calibrate(&mut self) -> Result<bool, StoreError> {
        if self.calibration.is_some() || self.texts.len() < calibration_sample::MIN_CHUNKS {
            return Ok(false);
        }
        let measured = calibration_sample::measure(&self.writer.publish(), &self.texts);
        let Some(calibration) = measured else { return Ok(false) };
        if let Some(files) = &self.files {
            let path = files.folder.join(CALIBRATION_FILE);
            let bytes = rmp_serde::to_vec(&calibration).map_err(|error| StoreError::Damaged {
                path: path.clone(),
                reason: error.to_string(),
            })?;
            files.disk.replace(&path, &bytes).map_err(StoreError::io("write", &path))?;
        }
        self.calibration = Some(calibration);
        Ok(true)
    }

    /// Uses `graph` for searches and stores it for the next run.
    pub fn attach(&mut self, graph: FrozenGraph) -> Result<(), StoreError> {
        self.use_graph(Arc::new(graph))
    }

    fn use_graph(&mut self, graph: Arc<FrozenGraph>) -> Result<(), StoreError> {
        self.writer.attach(Arc::clone(&graph))?;
        self.link_copies();
        if let Some(files) = &self.files {
            graph.save(&files.disk, &files.path(GRAPH_FILE))?;
        }
        Ok(())
    }
}

/// Assignment of rows to the chunks with their texts.
struct RowAssignment {
    rows: NoteRows,
    /// Owner of each row.
    owners: Vec<Option<NoteId>>,
    /// Number of chunks without a row.
    n_waiting: usize,
}

impl RowAssignment {
    /// Assigns to each chunk its own row among those of `texts`.
    fn new(texts: &[TextHash], notes: &NoteTable) -> Self {
        // For each text, a linked list of its rows from the last one, from which rows are taken in turn.
        let mut spare: HashMap<TextHash, RowId> = HashMap::with_capacity(texts.len());
        let mut before: Vec<Option<RowId>> = Vec::with_capacity(texts.len());
        for (text, row) in texts.iter().zip((0..).map(RowId::new)) {
            before.push(spare.insert(*text, row));
        }
        let mut owners = vec![None; texts.len()];
        let mut own = |id, text| {
            let row = match spare.entry(text) {
                Entry::Vacant(_) => return None,
                Entry::Occupied(mut last) => match before[last.get().index()] {
                    Some(next) => last.insert(next),
                    None => last.remove(),
                },
            };
            owners[row.index()] = Some(id);
            Some(row)
        };
        let mut n_waiting = 0;
        let rows: NoteRows = notes
            .summaries()
            .map(|(id, summary)| {
                let rows: Vec<_> = summary.chunk_hashes().map(|text| own(id, text)).collect();
                n_waiting += n_missing(&rows);
                (id, rows)
            })
            .collect();
        Self { rows, owners, n_waiting }
    }
}
