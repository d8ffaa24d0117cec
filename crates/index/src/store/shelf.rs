//! The shelf: vectors by the hash of their text, kept across restarts, renames and edits.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{ErrorKind, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weft_model::{NoteId, TextHash};

use super::{Held, StoreError};
use crate::disk::{self, Disk, Facts};
use crate::embedder::{Embedder, ModelIdentity};
use crate::notes::NoteTable;
use crate::rows::NoteRows;
use crate::snapshot::Vectors;
use crate::vector::{
    FrozenGraph, RowId, RowMap, VectorError, VectorFile, VectorIndex, VectorParams, VectorWriter,
};

/// The folder of the store that holds a folder of rows for each model.
pub(super) const FOLDER: &str = "vectors";

/// The file of the rows.
const ROWS_FILE: &str = "vec.f32";

/// The file that says whose text each row is; a folder of rows counts when it is there.
const LOG_FILE: &str = "rows.log";

/// The file of the graph over the rows.
const GRAPH_FILE: &str = "hnsw.u32";

/// The file that tells people which model a folder belongs to.
const MODEL_FILE: &str = "model.rmp";

/// Bytes of one entry of the row log: hash, crc32 of the row.
const ENTRY_BYTES: usize = 20;

/// How many chunks have no row.
fn n_without(rows: &[Option<RowId>]) -> usize {
    rows.iter().filter(|row| row.is_none()).count()
}

/// The vectors of one model and whose they are.
///
/// Every chunk of every note has its own row, so a note's rows go with it.
/// A text that was embedded before, for any note, is never embedded again: its vector is copied.
pub struct Shelf {
    writer: VectorWriter,
    /// Nothing in memory.
    home: Option<Home>,
    rows: NoteRows,
    /// Chunks without a row.
    n_waiting: usize,
    /// The text of every row.
    texts: Vec<TextHash>,
    /// The checksum of every row, as it was when the row was made: it goes wherever the row is copied to.
    sums: Vec<u32>,
    /// A row that holds the vector of a text; rows of deleted notes too, until compaction.
    by_text: HashMap<TextHash, RowId>,
    /// Rows that are durable.
    n_logged: usize,
    embedder: Arc<dyn Embedder>,
}

/// Where the rows of a shelf lie.
struct Home {
    disk: Disk,
    /// The model's folder.
    folder: PathBuf,
    /// Which of the folders in it holds the rows.
    number: u64,
    log: File,
    /// What the file system said of the rows' file when it was last written to.
    facts: Option<Facts>,
    /// Whether somebody else touched it before it was written to.
    is_touched: bool,
}

impl Home {
    fn path(&self, file: &str) -> PathBuf {
        self.folder.join(self.number.to_string()).join(file)
    }

    /// Whether somebody else touched the rows' file, or took it or its log away.
    fn is_touched(&self) -> bool {
        self.is_touched || self.is_gone() || self.facts != Facts::of(&self.path(ROWS_FILE))
    }

    /// Whether the rows' file, or the log without which nobody reads it, was taken away.
    fn is_gone(&self) -> bool {
        [ROWS_FILE, LOG_FILE].iter().any(|file| !self.path(file).exists())
    }

    /// Whether the rows' file has lost bytes.
    fn is_cut(&self) -> bool {
        Facts::is_cut(self.facts, Facts::of(&self.path(ROWS_FILE)))
    }

    /// Takes it that the rows' file is as it is meant to be.
    fn settle(&mut self) {
        (self.facts, self.is_touched) = (Facts::of(&self.path(ROWS_FILE)), false);
    }

    /// Adds to the log, behind its first `n_logged` entries, whatever an attempt that failed has left there.
    fn log(
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

/// What opening a shelf found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShelfReport {
    /// Rows read back.
    pub n_rows: usize,
    /// Rows that were not as they had been written, and that will be made again.
    pub n_damaged: usize,
}

impl Shelf {
    /// An empty shelf in memory.
    pub fn in_memory(
        embedder: Arc<dyn Embedder>,
        params: VectorParams,
    ) -> Result<Self, StoreError> {
        let writer = VectorWriter::in_memory(embedder.identity().dimension, params)?;
        Ok(Self::over(writer, None, embedder))
    }

    /// Opens or creates the shelf of what `embedder` makes below the store's folder and gives its rows to the chunks of `notes`.
    ///
    /// A row counts when it and its log entry are whole; whatever else lies there is taken away and made again.
    pub fn open(
        disk: &Disk,
        root: &Path,
        embedder: Arc<dyn Embedder>,
        notes: &NoteTable,
        params: VectorParams,
    ) -> Result<(Self, ShelfReport), StoreError> {
        let model = embedder.identity();
        let folder = root.join(FOLDER).join(digest(model));
        if folder.is_file() {
            disk.remove_file(&folder).map_err(StoreError::io("remove", &folder))?;
        }
        disk.create_folder(&folder).map_err(StoreError::io("create", &folder))?;
        let numbers = numbers(&folder)?;
        let newest = newest(&folder, &numbers);
        let next = numbers.into_iter().max().map_or(0, |number| number + 1);
        let (whole, n_damaged) = match newest {
            Some(number) => readable(disk, &folder, number, model)?,
            None => (None, 0),
        };
        let number = match (newest, whole) {
            (Some(number), Some(_)) if n_damaged == 0 => number,
            (newest, whole) => {
                let (writer, entries) = match newest.zip(whole) {
                    Some((number, Rows { owners, entries })) => {
                        let path = in_folder(&folder, number, ROWS_FILE);
                        let (dimension, n_rows) = (model.dimension, entries.len());
                        let rows =
                            VectorWriter::open(disk, &path, dimension, n_rows, owners, params);
                        (rows?, entries)
                    }
                    None => (VectorWriter::in_memory(model.dimension, params)?, Vec::new()),
                };
                rewrite(disk, &folder, next, &writer, entries)?;
                next
            }
        };
        describe(disk, &folder, model)?;
        let mut shelf = Self::reopen(disk, &folder, number, embedder, notes, params)?;
        shelf.load_graph();
        keep_number(disk, &folder, number);
        let n_rows = shelf.texts.len();
        Ok((shelf, ShelfReport { n_rows, n_damaged }))
    }

    /// What a shelf will hold once it is [opened](Self::open), if it is whole: the rows of each note, and how many chunks wait. Reads no vectors and changes nothing.
    ///
    /// Fails where opening it will fail, as far as that can be told: the vectors were written by a later release, or cannot be read now.
    pub fn glance(
        root: &Path,
        model: &ModelIdentity,
        notes: &NoteTable,
    ) -> Result<(NoteRows, usize), StoreError> {
        let folder = root.join(FOLDER).join(digest(model));
        let newest = if folder.is_dir() { newest(&folder, &numbers(&folder)?) } else { None };
        let entries = newest.map(|number| rows_with_room(&folder, number, model)).transpose()?;
        let entries = entries.and_then(|(entries, _)| entries).unwrap_or_default();
        let texts: Vec<TextHash> = entries.into_iter().map(|(text, _)| text).collect();
        let Placed { rows, owners: _, n_waiting } = Placed::new(&texts, notes);
        Ok((rows, n_waiting))
    }

    /// Opens rows that are known to be whole, and finds each its owner.
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
        let (texts, sums): (Vec<TextHash>, Vec<u32>) = entries_at(&log_path)?.into_iter().unzip();
        let Placed { rows, owners, n_waiting } = Placed::new(&texts, notes);
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
        let mut home = Home { disk, folder, number, log, facts: None, is_touched: false };
        home.settle();
        let shelf = Self::over(writer, Some(home), embedder);
        Ok(Self { rows, n_waiting, texts, sums, by_text, n_logged, ..shelf })
    }

    /// Makes searches walk the graph that was kept, if it fits; one that does not is built again when it is worth it.
    fn load_graph(&mut self) {
        let Some(path) = self.home.as_ref().map(|home| home.path(GRAPH_FILE)) else { return };
        if path.exists() {
            let loaded =
                FrozenGraph::load(&path).and_then(|graph| self.writer.attach(Arc::new(graph)));
            if let Err(error) = loaded {
                tracing::warn!(%error, "the graph over the vectors is built again");
            }
        }
    }

    fn over(writer: VectorWriter, home: Option<Home>, embedder: Arc<dyn Embedder>) -> Self {
        Self {
            writer,
            home,
            rows: NoteRows::default(),
            n_waiting: 0,
            texts: Vec::new(),
            sums: Vec::new(),
            by_text: HashMap::new(),
            n_logged: 0,
            embedder,
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
        if self.holds(note, texts) {
            return (Vec::new(), Ok(()));
        }
        self.n_waiting -= n_without(self.rows.of(note));
        let mut old: HashMap<TextHash, Vec<RowId>> = HashMap::new();
        for row in self.rows.of(note).iter().flatten() {
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
                let Some(known) = self.by_text.get(text).copied() else { continue };
                let Some(vector) = self.whole(&index, known) else {
                    self.by_text.remove(text);
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

    /// Whether the rows of `note` are those of these texts, and none is missing.
    fn holds(&self, note: NoteId, texts: &[TextHash]) -> bool {
        let rows = self.rows.of(note);
        let is_of = |(row, text): (&Option<RowId>, &TextHash)| {
            row.is_some_and(|row| self.texts[row.index()] == *text)
        };
        rows.len() == texts.len() && !rows.is_empty() && rows.iter().zip(texts).all(is_of)
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
        let is_touched = self.home.as_ref().is_some_and(Home::is_touched);
        let added = self.writer.append(&[(note, vector)]);
        if let Some(home) = &mut self.home {
            home.settle();
            home.is_touched = is_touched;
        }
        let row = added?[0];
        self.texts.push(text);
        self.sums.push(checksum(text, vector));
        self.by_text.entry(text).or_insert(row);
        Ok(row)
    }

    /// The vector of a row, if it is as it was made.
    fn whole<'i>(&self, index: &'i VectorIndex, row: RowId) -> Option<&'i [f32]> {
        let (text, sum) = (*self.texts.get(row.index())?, *self.sums.get(row.index())?);
        index.vector(row).filter(|vector| checksum(text, vector) == sum)
    }

    /// Whether somebody else touched the file of the rows, or took it away. Costs a question to the file system.
    #[must_use]
    pub fn is_touched(&self) -> bool {
        self.home.as_ref().is_some_and(Home::is_touched)
    }

    /// Whether somebody took the file of the rows away, which are still held.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.home.as_ref().is_some_and(Home::is_gone)
    }

    /// Lets the rows go that another program changed since they were made, and tells how many; their chunks wait for a vector.
    ///
    /// Reads every row that somebody owns; of a file that was cut none, which would end the process.
    pub fn drop_damaged(&mut self) -> Result<usize, StoreError> {
        let is_cut = self.home.as_ref().is_some_and(Home::is_cut);
        if is_cut {
            self.by_text.clear();
        }
        if let Some(home) = &mut self.home {
            home.settle();
        }
        let index = self.writer.publish();
        let damaged: HashSet<RowId> =
            self.rows.rows().filter(|row| is_cut || self.whole(&index, *row).is_none()).collect();
        if damaged.is_empty() {
            return Ok(0);
        }
        self.writer.delete(&damaged.iter().copied().collect::<Vec<_>>())?;
        self.by_text.retain(|_, row| !damaged.contains(row));
        self.rows.change(|row| Some(row).filter(|row| !damaged.contains(row)));
        self.n_waiting += damaged.len();
        Ok(damaged.len())
    }

    /// Makes every row so far durable.
    pub fn sync(&mut self) -> Result<(), StoreError> {
        let n_rows = self.texts.len();
        let Some(home) = self.home.as_mut().filter(|_| self.n_logged < n_rows) else {
            return Ok(());
        };
        self.writer.sync()?;
        let unlogged = entries(&self.texts[self.n_logged..], &self.sums[self.n_logged..]);
        home.log(self.n_logged, unlogged)?;
        self.n_logged = n_rows;
        Ok(())
    }

    /// Takes rows that nobody owns off the disk; those that stay get other numbers, and no graph.
    ///
    /// A row that another program changed stays known as such: it keeps the checksum of what was made.
    /// After an error everything is as it was.
    pub fn compact(&mut self) -> Result<(), StoreError> {
        let map = match &mut self.home {
            Some(home) => {
                let number = home.number + 1;
                let (disk, folder) = (&home.disk, &home.folder);
                // Another program may have taken the whole folder away.
                describe(disk, folder, self.embedder.identity())?;
                let entries = entries(&self.texts, &self.sums);
                let (writer, map, log) = rewrite(disk, folder, number, &self.writer, entries)?;
                (self.writer, home.number, home.log) = (writer, number, log);
                keep_number(disk, folder, number);
                home.settle();
                map
            }
            None => {
                let (writer, map) = self.writer.compact(None)?;
                self.writer = writer;
                map
            }
        };
        let (texts, sums) = (std::mem::take(&mut self.texts), std::mem::take(&mut self.sums));
        self.by_text.clear();
        for ((text, sum), to) in texts.into_iter().zip(sums).zip(&map) {
            let Some(row) = *to else { continue };
            self.texts.push(text);
            self.sums.push(sum);
            self.by_text.entry(text).or_insert(row);
        }
        self.rows.change(|row| map[row.index()]);
        self.n_logged = self.texts.len();
        Ok(())
    }

    /// The files of the rows that are durable, held open.
    pub(super) fn held(&self) -> Result<Vec<Held>, StoreError> {
        let Some(home) = &self.home else { return Ok(Vec::new()) };
        let (rows, log) = (home.path(ROWS_FILE), home.path(LOG_FILE));
        let n_bytes = VectorFile::n_bytes(self.writer.dimension(), self.n_logged);
        let mut files = vec![
            (rows, Some(n_bytes)),
            (log, Some((self.n_logged * ENTRY_BYTES) as u64)),
            (home.folder.join(MODEL_FILE), None),
        ];
        let graph = home.path(GRAPH_FILE);
        if graph.exists() {
            files.push((graph, None));
        }
        let held = |(path, n_bytes): (PathBuf, Option<u64>)| {
            Held::open(path.clone(), n_bytes).map_err(StoreError::io("read", &path))
        };
        files.into_iter().map(held).collect()
    }

    /// The state of now.
    #[must_use]
    pub fn publish(&self) -> Vectors {
        Vectors {
            index: self.writer.publish(),
            rows: self.rows.clone(),
            n_waiting: self.n_waiting,
            awaited: None,
            embedder: Arc::clone(&self.embedder),
        }
    }

    /// Makes searches walk `graph`, and keeps it for the next run.
    pub fn attach(&mut self, graph: FrozenGraph) -> Result<(), StoreError> {
        let graph = Arc::new(graph);
        self.writer.attach(Arc::clone(&graph))?;
        if let Some(home) = &self.home {
            graph.save(&home.disk, &home.path(GRAPH_FILE))?;
        }
        Ok(())
    }
}

fn digest(model: &ModelIdentity) -> String {
    let ModelIdentity { model, dimension, runner, pooling } = model;
    let text = format!("{model}\0{dimension}\0{runner}\0{pooling}");
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}

/// The folders in which vectors lie, of whatever model.
pub(super) fn folders(root: &Path) -> Vec<PathBuf> {
    let below = |folder: PathBuf| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.is_dir())
    };
    let models: Vec<PathBuf> = below(root.join(FOLDER)).collect();
    models.iter().cloned().flat_map(below).chain(models.clone()).collect()
}

/// Removes the vectors of all models but these.
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

/// Says in a model's folder whose it is.
fn describe(disk: &Disk, folder: &Path, model: &ModelIdentity) -> Result<(), StoreError> {
    let path = folder.join(MODEL_FILE);
    let described = rmp_serde::to_vec(model)
        .map_err(|error| StoreError::Damaged { path: path.clone(), reason: error.to_string() })?;
    if disk::read(&path).ok().flatten().as_ref() == Some(&described) {
        return Ok(());
    }
    let write = || {
        disk.create_folder(folder)?;
        // Without the name of its folder nothing in it is durable.
        folder.ancestors().skip(1).take(2).try_for_each(|above| disk.sync_folder(above))?;
        disk.replace(&path, &described)
    };
    write().map_err(StoreError::io("write", &path))
}

fn in_folder(folder: &Path, number: u64, file: &str) -> PathBuf {
    folder.join(number.to_string()).join(file)
}

/// The folders of rows in a model's folder.
fn numbers(folder: &Path) -> Result<Vec<u64>, StoreError> {
    let entries = std::fs::read_dir(folder).map_err(StoreError::io("read", folder))?.flatten();
    Ok(entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

/// Removes everything in a model's folder but its description and the rows that count. What cannot be removed is removed at the next start.
fn keep_number(disk: &Disk, folder: &Path, number: u64) {
    let own = number.to_string();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        if name.to_str() == Some(&own) || name.to_str() == Some(MODEL_FILE) {
            continue;
        }
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let _ = if is_folder { disk.remove_folder(&path) } else { disk.remove_file(&path) };
    }
}

/// Writes the living rows of `rows`, which were logged as `entries`, into the folder `number`, which counts from then on.
///
/// Their checksums are those they had: what another program changed is not taken for whole because it was copied.
fn rewrite(
    disk: &Disk,
    folder: &Path,
    number: u64,
    rows: &VectorWriter,
    entries: impl IntoIterator<Item = LogEntry>,
) -> Result<(VectorWriter, RowMap, File), StoreError> {
    let home = folder.join(number.to_string());
    let write = || {
        disk.remove_folder(&home).map_err(StoreError::io("remove", &home))?;
        disk.create_folder(&home).map_err(StoreError::io("create", &home))?;
        let (written, map) = rows.compact(Some((disk, &home.join(ROWS_FILE))))?;
        let kept = entries.into_iter().zip(&map).filter_map(|(entry, to)| to.map(|_| entry));
        let log = home.join(LOG_FILE);
        disk.sync_folder(folder).map_err(StoreError::io("sync", folder))?;
        disk.replace(&log, &bytes_of(kept)).map_err(StoreError::io("write", &log))?;
        let file = File::options().read(true).write(true).open(&log);
        Ok((written, map, file.map_err(StoreError::io("open", &log))?))
    };
    // A log that is in place and not known to be durable may not count: rows go on to be added elsewhere.
    write().inspect_err(|_| drop(disk.remove_folder(&home)))
}

/// The newest folder of rows that counts.
fn newest(folder: &Path, numbers: &[u64]) -> Option<u64> {
    let is_logged = |number: &u64| in_folder(folder, *number, LOG_FILE).is_file();
    numbers.iter().copied().filter(is_logged).max()
}

/// Rows given to the chunks of notes that have their texts.
struct Placed {
    rows: NoteRows,
    /// Whose each row is.
    owners: Vec<Option<NoteId>>,
    /// Chunks without a row.
    n_waiting: usize,
}

impl Placed {
    /// Gives each chunk a row of its own, of those that hold `texts`.
    fn new(texts: &[TextHash], notes: &NoteTable) -> Self {
        // A chain of the rows of each text from the last on, to be given out one after the other.
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
            .cards()
            .map(|(id, card)| {
                let rows: Vec<_> = card.texts().map(|text| own(id, text)).collect();
                n_waiting += n_without(&rows);
                (id, rows)
            })
            .collect();
        Self { rows, owners, n_waiting }
    }
}

/// What the log says of each row, and an owner for those that are as they were written.
struct Rows {
    owners: Vec<Option<NoteId>>,
    entries: Vec<LogEntry>,
}

/// The rows of the folder `number`, and how many are not as they were written; no rows where none can be told.
///
/// Fails where they were written by a later release or cannot be read now.
fn readable(
    disk: &Disk,
    folder: &Path,
    number: u64,
    model: &ModelIdentity,
) -> Result<(Option<Rows>, usize), StoreError> {
    let (entries, n_entries) = rows_with_room(folder, number, model)?;
    let Some(entries) = entries else { return Ok((None, n_entries)) };
    let path = in_folder(folder, number, ROWS_FILE);
    let file = VectorFile::open(disk, &path, model.dimension, entries.len());
    let Some(file) = if_whole(file, folder, &path)? else { return Ok((None, n_entries)) };
    let is_whole = |((text, sum), row): (&LogEntry, usize)| checksum(*text, file.row(row)) == *sum;
    let owners: Vec<Option<NoteId>> =
        entries.iter().zip(0..).map(|row| is_whole(row).then_some(NoteId::new(0))).collect();
    let n_whole = owners.iter().flatten().count();
    Ok((Some(Rows { owners, entries }), n_entries - n_whole))
}

/// The log of the folder `number` as far as the file of the rows has room for them, and how many entries it has in all; none where that file is another than the log tells of.
fn rows_with_room(
    folder: &Path,
    number: u64,
    model: &ModelIdentity,
) -> Result<(Option<Vec<LogEntry>>, usize), StoreError> {
    let mut entries = entries_at(&in_folder(folder, number, LOG_FILE))?;
    let (n_entries, path) = (entries.len(), in_folder(folder, number, ROWS_FILE));
    let n_rows = if_whole(VectorFile::room(&path, model.dimension), folder, &path)?;
    let entries = n_rows.map(|n_rows| {
        entries.truncate(n_rows);
        entries
    });
    Ok((entries, n_entries))
}

/// What a file of rows gave; nothing where it can be made again, and an error where it may only be out of reach.
fn if_whole<T>(
    outcome: Result<T, VectorError>,
    folder: &Path,
    path: &Path,
) -> Result<Option<T>, StoreError> {
    match outcome {
        Ok(whole) => Ok(Some(whole)),
        Err(VectorError::Version { found, .. }) => {
            Err(StoreError::FutureVersion { store: folder.to_owned(), found })
        }
        Err(VectorError::Read { source, .. })
            if source.kind() != ErrorKind::NotFound && !disk::is_misplaced(&source) =>
        {
            Err(StoreError::Io { action: "read", path: path.to_owned(), source })
        }
        Err(error) => {
            tracing::warn!(%error, "the vectors cannot be read back and will be made again");
            Ok(None)
        }
    }
}

/// An entry of the row log: the text of a row, and the checksum of both.
type LogEntry = (TextHash, u32);

/// Numbers that are summed at once: a call for each of them would cost more than all else of opening a shelf.
const SUMMED: usize = 64;

fn checksum(text: TextHash, vector: &[f32]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&text.0.to_le_bytes());
    for values in vector.chunks(SUMMED) {
        let mut bytes = [0; SUMMED * size_of::<f32>()];
        for (four, value) in bytes.as_chunks_mut().0.iter_mut().zip(values) {
            *four = value.to_le_bytes();
        }
        hasher.update(&bytes[..size_of_val(values)]);
    }
    hasher.finalize()
}

/// What the log says of rows of these texts and checksums.
fn entries(texts: &[TextHash], sums: &[u32]) -> impl Iterator<Item = LogEntry> {
    texts.iter().copied().zip(sums.iter().copied())
}

fn bytes_of(entries: impl Iterator<Item = LogEntry>) -> Vec<u8> {
    let entry = |(text, sum): LogEntry| text.0.to_le_bytes().into_iter().chain(sum.to_le_bytes());
    entries.flat_map(entry).collect()
}

/// The entries of a log; one that was cut in the middle is none.
fn entries_at(path: &Path) -> Result<Vec<LogEntry>, StoreError> {
    let bytes = disk::read(path).map_err(StoreError::io("read", path))?.unwrap_or_default();
    let (whole, _) = bytes.as_chunks::<ENTRY_BYTES>();
    let entry = |entry: &[u8; ENTRY_BYTES]| {
        let (text, sum) = entry.split_at(16);
        let text = u128::from_le_bytes(text.try_into().expect("sixteen bytes"));
        (TextHash(text), u32::from_le_bytes(sum.try_into().expect("four bytes")))
    };
    Ok(whole.iter().map(entry).collect())
}
