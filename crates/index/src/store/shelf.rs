//! The shelf: vectors by the hash of their text, kept across restarts, renames and edits.

use std::collections::HashMap;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weft_model::{NoteId, TextHash};

use super::{StoreError, files};
use crate::embedder::ModelIdentity;
use crate::notes::NoteTable;
use crate::snapshot::Vectors;
use crate::vector::{FrozenGraph, RowId, VectorError, VectorParams, VectorWriter};

/// The file of the graph over the rows.
const GRAPH_FILE: &str = "hnsw.u32";

/// Bytes of one entry of the row log: hash, crc32 of the row.
const ENTRY_BYTES: usize = 20;

/// The vectors of one model and whose they are.
///
/// Every chunk of every note has its own row, so a note's rows go with it.
/// A text that was embedded before, for any note, is never embedded again: its vector is copied.
pub struct Shelf {
    writer: VectorWriter,
    log: Option<(PathBuf, std::fs::File)>,
    rows: imbl::HashMap<NoteId, imbl::Vector<Option<RowId>>>,
    /// Chunks without a row.
    n_waiting: usize,
    /// The text of every row.
    texts: Vec<TextHash>,
    /// A row that holds the vector of a text; rows of deleted notes too, until compaction.
    by_text: HashMap<TextHash, RowId>,
    /// Rows that are durable.
    n_logged: usize,
    /// Text and checksum of the rows that are not.
    unlogged: Vec<(TextHash, u32)>,
    model: Arc<ModelIdentity>,
}

/// What opening a shelf found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShelfReport {
    /// Rows read back.
    pub n_rows: usize,
    /// Rows whose checksum differed and that will be made again.
    pub n_damaged: usize,
}

impl Shelf {
    /// An empty shelf in memory.
    pub fn in_memory(model: ModelIdentity, params: VectorParams) -> Result<Self, StoreError> {
        let writer = VectorWriter::in_memory(model.dimension, params)?;
        Ok(Self::over(writer, None, model))
    }

    /// Opens or creates the shelf of `model` below the store's folder and gives its rows to the chunks of `notes`.
    ///
    /// A row counts when it and its log entry are whole; whatever else lies there is made again.
    pub fn open(
        root: &Path,
        model: ModelIdentity,
        notes: &NoteTable,
        params: VectorParams,
    ) -> Result<(Self, ShelfReport), StoreError> {
        let folder = root.join("vectors").join(digest(&model));
        std::fs::create_dir_all(&folder).map_err(StoreError::io("create", &folder))?;
        let (rows_path, log_path) = (folder.join("vec.f32"), folder.join("rows.log"));
        let entries = entries(files::read(&log_path)?.unwrap_or_default());
        let opened = Self::reopen(&rows_path, &entries, &model, notes, params);
        let (mut shelf, report) = match opened {
            Ok(opened) => opened,
            Err(VectorError::Version { found, .. }) => {
                return Err(StoreError::FutureVersion { store: root.to_owned(), found });
            }
            Err(error) => {
                if !entries.is_empty() {
                    tracing::warn!(%error, "the vectors cannot be read back and will be made again");
                }
                for path in [&rows_path, &log_path] {
                    if path.exists() {
                        std::fs::remove_file(path).map_err(StoreError::io("remove", path))?;
                    }
                }
                let writer = VectorWriter::create(&rows_path, model.dimension, params)?;
                let described = rmp_serde::to_vec(&model).map_err(|error| StoreError::Damaged {
                    path: folder.clone(),
                    reason: error.to_string(),
                })?;
                files::replace(&folder.join("model.rmp"), &described)?;
                (Self::over(writer, None, model), ShelfReport::default())
            }
        };
        let mut options = std::fs::File::options();
        let log = options
            .create(true)
            .read(true)
            .write(true)
            .truncate(false)
            .open(&log_path)
            .map_err(StoreError::io("open", &log_path))?;
        // An entry that was cut in the middle goes, so that later ones stand where they belong.
        shelf.n_logged = shelf.texts.len();
        log.set_len((shelf.n_logged * ENTRY_BYTES) as u64)
            .map_err(StoreError::io("write", &log_path))?;
        let graph_path = folder.join(GRAPH_FILE);
        if graph_path.exists() {
            // A graph that does not fit is built again when it is worth it.
            let loaded = FrozenGraph::load(&graph_path)
                .and_then(|graph| shelf.writer.attach(Arc::new(graph)));
            if let Err(error) = loaded {
                tracing::warn!(%error, "the graph over the vectors is built again");
            }
        }
        shelf.log = Some((log_path, log));
        Ok((shelf, report))
    }

    fn reopen(
        path: &Path,
        entries: &[(TextHash, u32)],
        model: &ModelIdentity,
        notes: &NoteTable,
        params: VectorParams,
    ) -> Result<(Self, ShelfReport), VectorError> {
        // First as rows of nobody, to see which are whole; then with their owners.
        let unowned =
            |n_rows| VectorWriter::open(path, model.dimension, n_rows, vec![None; n_rows], params);
        let index = unowned(entries.len())?.publish();
        let mut by_text: HashMap<TextHash, Vec<RowId>> = HashMap::new();
        let mut n_damaged = 0;
        for ((hash, crc), row) in entries.iter().zip(0..) {
            let row = RowId::new(row);
            if index.vector(row).is_some_and(|vector| checksum(vector) == *crc) {
                by_text.entry(*hash).or_default().push(row);
            } else {
                n_damaged += 1;
            }
        }
        let mut owners = vec![None; entries.len()];
        let mut rows = imbl::HashMap::new();
        let mut spare = by_text.clone();
        for (id, entry) in notes.by_path() {
            let own: imbl::Vector<Option<RowId>> = entry
                .chunks
                .iter()
                .map(|chunk| {
                    let row = spare.get_mut(&chunk.hash)?.pop()?;
                    owners[row.index()] = Some(id);
                    Some(row)
                })
                .collect();
            rows.insert(id, own);
        }
        let writer = VectorWriter::open(path, model.dimension, entries.len(), owners, params)?;
        let by_text =
            by_text.into_iter().filter_map(|(hash, rows)| Some((hash, *rows.first()?))).collect();
        let report = ShelfReport { n_rows: entries.len(), n_damaged };
        let texts = entries.iter().map(|(hash, _)| *hash).collect();
        let n_waiting = rows.values().flatten().filter(|row| row.is_none()).count();
        let shelf = Self::over(writer, None, model.clone());
        Ok((Self { rows, n_waiting, texts, by_text, ..shelf }, report))
    }

    fn over(
        writer: VectorWriter,
        log: Option<(PathBuf, std::fs::File)>,
        model: ModelIdentity,
    ) -> Self {
        Self {
            writer,
            log,
            rows: imbl::HashMap::new(),
            n_waiting: 0,
            texts: Vec::new(),
            by_text: HashMap::new(),
            n_logged: 0,
            unlogged: Vec::new(),
            model: Arc::new(model),
        }
    }

    /// Brings the rows of `note` in line with its chunks: texts known are served at once, the rest is returned by position.
    ///
    /// Without chunks the note's rows go.
    /// What cannot be written is among the rest, and the error beside it.
    pub fn arrange(
        &mut self,
        note: NoteId,
        texts: &[TextHash],
    ) -> (Vec<usize>, Result<(), StoreError>) {
        let before = self.rows.get(&note).into_iter().flatten();
        self.n_waiting -= before.filter(|row| row.is_none()).count();
        let mut old: HashMap<TextHash, Vec<RowId>> = HashMap::new();
        for row in self.rows.get(&note).into_iter().flatten().flatten() {
            old.entry(self.texts[row.index()]).or_default().push(*row);
        }
        // The note's own row stays where the text stays; otherwise the vector is copied from whoever has it.
        let mut rows: Vec<Option<RowId>> =
            texts.iter().map(|text| old.get_mut(text).and_then(Vec::pop)).collect();
        let gone: Vec<RowId> = old.into_values().flatten().collect();
        let mut outcome = self.writer.delete(&gone).map(|_| ()).map_err(StoreError::from);
        if rows.contains(&None) {
            let index = self.writer.publish();
            for (row, text) in rows.iter_mut().zip(texts).filter(|(row, _)| row.is_none()) {
                let known = self.by_text.get(text).and_then(|known| index.vector(*known));
                if let Some(vector) = known {
                    match self.add(note, *text, vector) {
                        Ok(added) => *row = Some(added),
                        Err(error) => outcome = Err(error),
                    }
                }
            }
        }
        let waiting: Vec<usize> =
            rows.iter().enumerate().filter(|(_, row)| row.is_none()).map(|(at, _)| at).collect();
        self.n_waiting += waiting.len();
        if rows.is_empty() {
            self.rows.remove(&note);
        } else {
            self.rows.insert(note, rows.into_iter().collect());
        }
        (waiting, outcome)
    }

    /// Keeps the vector of a text and gives it to the chunks that wait for it.
    ///
    /// `waiting` names the notes and positions; one that does not wait there any more is passed over.
    pub fn fill(
        &mut self,
        text: TextHash,
        vector: &[f32],
        waiting: &[(NoteId, usize)],
    ) -> Result<(), StoreError> {
        for (note, at) in waiting {
            if self.rows.get(note).and_then(|rows| rows.get(*at)) == Some(&None) {
                let row = self.add(*note, text, vector)?;
                if let Some(place) = self.rows.get_mut(note).and_then(|rows| rows.get_mut(*at)) {
                    *place = Some(row);
                    self.n_waiting -= 1;
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, note: NoteId, text: TextHash, vector: &[f32]) -> Result<RowId, StoreError> {
        let row = self.writer.append(&[(note, vector)])?[0];
        self.texts.push(text);
        self.by_text.entry(text).or_insert(row);
        self.unlogged.push((text, checksum(vector)));
        Ok(row)
    }

    /// Makes every row so far durable.
    pub fn sync(&mut self) -> Result<(), StoreError> {
        let Some((path, log)) = self.log.as_mut().filter(|_| !self.unlogged.is_empty()) else {
            return Ok(());
        };
        self.writer.sync()?;
        let bytes: Vec<u8> = self
            .unlogged
            .iter()
            .flat_map(|(hash, crc)| hash.0.to_le_bytes().into_iter().chain(crc.to_le_bytes()))
            .collect();
        // Written where it belongs, whatever an attempt that failed has left there.
        let mut write = || {
            log.seek(SeekFrom::Start((self.n_logged * ENTRY_BYTES) as u64))?;
            log.write_all(&bytes)?;
            log.sync_data()
        };
        write().map_err(StoreError::io("write", path))?;
        self.n_logged += self.unlogged.len();
        self.unlogged.clear();
        Ok(())
    }

    /// The state of now.
    #[must_use]
    pub fn publish(&self) -> Vectors {
        Vectors {
            index: self.writer.publish(),
            rows: self.rows.clone(),
            n_waiting: self.n_waiting,
            model: Arc::clone(&self.model),
        }
    }

    /// Makes searches walk `graph`, and keeps it for the next run.
    pub fn attach(&mut self, graph: FrozenGraph) -> Result<(), StoreError> {
        let graph = Arc::new(graph);
        self.writer.attach(Arc::clone(&graph))?;
        if let Some((log, _)) = &self.log {
            graph.save(&log.with_file_name(GRAPH_FILE))?;
        }
        Ok(())
    }
}

fn digest(model: &ModelIdentity) -> String {
    let ModelIdentity { model, dimension, runner, pooling } = model;
    let text = format!("{model}\0{dimension}\0{runner}\0{pooling}");
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}

fn checksum(vector: &[f32]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for value in vector {
        hasher.update(&value.to_le_bytes());
    }
    hasher.finalize()
}

fn entries(bytes: Vec<u8>) -> Vec<(TextHash, u32)> {
    let (whole, _) = bytes.as_chunks::<ENTRY_BYTES>();
    whole
        .iter()
        .map(|entry| {
            let (hash, crc) = entry.split_at(16);
            let hash = u128::from_le_bytes(hash.try_into().expect("sixteen bytes"));
            (TextHash(hash), u32::from_le_bytes(crc.try_into().expect("four bytes")))
        })
        .collect()
}
