//! The one writer: from changed files to the next snapshot.
//!
//! One thread owns everything that changes.
//! It takes one [`Event`] at a time, so every cause of work is seen in one place; embedding runs on a thread of its own and comes back as an event.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use weft_index::embedder::{EmbedError, Embedder, Role};
use weft_index::keyword::{KeywordChange, KeywordDocument, KeywordError, KeywordWriter};
use weft_index::notes::{Change, Delta, FileFacts, NoteEntry, NoteTable, VaultId, VaultInfo};
use weft_index::vector::FrozenGraph;
use weft_index::{Checkpoint, Publisher, Shelf, Snapshot, Store};
use weft_model::{Chunk, Note, NoteId, NotePath, TextHash};

use crate::chunk::{chunks, text_of};
use crate::offsets::Offsets;
use crate::parse::{is_excluded, parse};
use crate::scan::{self, Found, Scan};
use crate::status::{FileState, IndexStatus, Phase, VaultStatus};
use crate::{IndexError, IndexSettings, Rescan};

/// Why the writer wakes.
pub(crate) enum Event {
    /// Files changed, or may have.
    Touched,
    /// Somebody wants every file looked at.
    Rescan(Rescan, Sender<Result<u64, IndexError>>),
    /// Somebody wants all earlier changes indexed and written down.
    Flush(Sender<Result<u64, IndexError>>),
    /// A batch came back from the model.
    Embedded(Vec<TextHash>, Result<Vec<Vec<f32>>, EmbedError>),
    /// A graph over the vectors was built in the background.
    GraphBuilt(FrozenGraph),
    /// The end: write down what is held.
    Stop,
}

/// A file that is known and not in the index.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Absent {
    pub(crate) state: FileState,
    pub(crate) reason: String,
    pub(crate) facts: FileFacts,
}

/// What the handle and the writer share besides snapshots.
#[derive(Default)]
pub(crate) struct Board {
    pub(crate) status: IndexStatus,
    pub(crate) absent: BTreeMap<(VaultId, String), Absent>,
}

/// Texts handed to the model at a time: enough to keep its threads busy, few enough to publish often.
const EMBED_BATCH: usize = 32;

/// Texts made ready for the model at a time, so that a long body is gone through once for many of its chunks.
const READY_TEXTS: usize = 1024;

/// Files read and parsed before their notes are published.
const FILES_PER_BATCH: usize = 4096;

/// How long new vectors may wait to be published while more are coming.
const PUBLISH_EVERY: Duration = Duration::from_millis(250);

/// How long the writer must be idle before it writes a checkpoint, and how long it may put one off.
const CHECKPOINT_IDLE: Duration = Duration::from_secs(2);
const CHECKPOINT_AT_LEAST: Duration = Duration::from_secs(30);

/// How long a model that cannot be reached, or a disk that is full, is left alone.
const RETRY: Duration = Duration::from_secs(5);

/// A change younger than this may share its time with the next one, so its bytes are compared.
const RACY_NS: i64 = 2_000_000_000;

pub(crate) struct Writer {
    settings: IndexSettings,
    store: Option<Store>,
    keyword: KeywordWriter,
    shelf: Option<Shelf>,
    embedder: Option<Arc<dyn Embedder>>,
    publisher: Publisher,
    board: Arc<Mutex<Board>>,
    recipe: u64,
    /// Texts on their way to the model, and who waits for them.
    backlog: VecDeque<TextHash>,
    waiting: HashMap<TextHash, Vec<(NoteId, usize)>>,
    n_waiting: usize,
    ready: VecDeque<(TextHash, String)>,
    to_model: Option<Sender<Vec<(TextHash, String)>>>,
    in_flight: usize,
    model_rests_until: Option<Instant>,
    n_embedded: usize,
    embedding_since: Option<Instant>,
    /// Facts of files that were touched and say what they said.
    reread: HashMap<(VaultId, NotePath), FileFacts>,
    /// When to look at the files again, after it failed.
    rescan_at: Option<Instant>,
    /// Vectors that came since the last publication.
    unpublished: bool,
    /// Whether a graph over the vectors is being built.
    building_graph: bool,
    events: Sender<Event>,
    last_published: Instant,
    /// Generation of the last checkpoint, and since when there is something newer.
    written: u64,
    dirty_since: Option<Instant>,
    last_change: Instant,
}

pub(crate) struct Parts {
    pub(crate) store: Option<Store>,
    pub(crate) keyword: KeywordWriter,
    pub(crate) shelf: Option<Shelf>,
    pub(crate) embedder: Option<Arc<dyn Embedder>>,
    pub(crate) publisher: Publisher,
    pub(crate) board: Arc<Mutex<Board>>,
    pub(crate) recipe: u64,
    pub(crate) written: u64,
}

impl Writer {
    pub(crate) fn new(settings: IndexSettings, parts: Parts, events: Sender<Event>) -> Self {
        let Parts { store, keyword, shelf, embedder, publisher, board, recipe, written } = parts;
        let to_model =
            embedder.as_ref().map(|embedder| spawn_model(Arc::clone(embedder), events.clone()));
        let now = Instant::now();
        Self {
            settings,
            store,
            keyword,
            shelf,
            embedder,
            publisher,
            board,
            recipe,
            backlog: VecDeque::new(),
            waiting: HashMap::new(),
            n_waiting: 0,
            ready: VecDeque::new(),
            to_model,
            in_flight: 0,
            model_rests_until: None,
            n_embedded: 0,
            embedding_since: None,
            reread: HashMap::new(),
            rescan_at: None,
            unpublished: false,
            building_graph: false,
            events,
            last_published: now,
            written,
            dirty_since: None,
            last_change: now,
        }
    }

    /// Works until it is told to stop, then writes down what it holds.
    pub(crate) fn run(mut self, events: &Receiver<Event>) {
        if let Err(error) = self.arrange_all() {
            self.report(&error);
        }
        self.look_again();
        loop {
            self.feed_model();
            self.show_phase();
            match events.recv_timeout(self.patience()) {
                Ok(Event::Touched) => self.look_again(),
                Ok(Event::Rescan(options, reply)) => {
                    let result = self.rescan(options).map(|()| self.generation());
                    self.show_phase();
                    let _ = reply.send(result);
                }
                Ok(Event::Flush(reply)) => {
                    let result = self
                        .rescan(Rescan::default())
                        .and_then(|()| self.checkpoint())
                        .map(|()| self.generation());
                    self.show_phase();
                    let _ = reply.send(result);
                }
                Ok(Event::Embedded(texts, result)) => self.embedded(&texts, result),
                Ok(Event::GraphBuilt(graph)) => self.attach(graph),
                Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.tend();
        }
        if let Err(error) = self.publish_vectors().and_then(|()| self.checkpoint()) {
            self.report(&error);
        }
        let generation = self.generation();
        if let Some(store) = &mut self.store
            && self.written == generation
            && let Err(error) = store.settle(generation)
        {
            tracing::warn!(%error, "the store was not settled");
        }
    }

    /// Looks at every file; where that fails, tries again later.
    fn look_again(&mut self) {
        self.rescan_at = None;
        if let Err(error) = self.rescan(Rescan::default()) {
            self.report(&error);
            self.rescan_at = Some(Instant::now() + RETRY);
        }
    }

    fn generation(&self) -> u64 {
        self.publisher.newest().generation
    }

    fn report(&self, error: &IndexError) {
        tracing::error!(%error, "indexing met an error and goes on");
        self.board().status.last_error = Some(error.to_string());
    }

    fn board(&self) -> std::sync::MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// How long to wait for the next event before something else is due.
    fn patience(&self) -> Duration {
        if self.unpublished {
            return PUBLISH_EVERY;
        }
        if self.dirty_since.is_some()
            || self.model_rests_until.is_some()
            || self.rescan_at.is_some()
        {
            return CHECKPOINT_IDLE;
        }
        Duration::from_secs(3600)
    }

    /// Does what is due by time: publishing vectors, writing checkpoints.
    fn tend(&mut self) {
        let due = self.last_published.elapsed() >= PUBLISH_EVERY || self.waiting.is_empty();
        if self.unpublished
            && due
            && let Err(error) = self.publish_vectors()
        {
            self.report(&error);
        }
        if self.rescan_at.is_some_and(|at| Instant::now() >= at) {
            self.look_again();
        }
        self.build_graph();
        let idle = self.last_change.elapsed() >= CHECKPOINT_IDLE && self.in_flight == 0;
        let overdue = self.dirty_since.is_some_and(|since| since.elapsed() >= CHECKPOINT_AT_LEAST);
        if self.dirty_since.is_some()
            && (idle || overdue)
            && let Err(error) = self.checkpoint()
        {
            self.report(&error);
            // A full disk is not asked again at every turn.
            self.dirty_since = Some(Instant::now());
            self.last_change = Instant::now();
        }
    }

    /// Looks at every file of every vault and publishes what changed, if anything did.
    fn rescan(&mut self, options: Rescan) -> Result<(), IndexError> {
        {
            let mut board = self.board();
            board.status.phase = Phase::Scanning;
            (board.status.n_files_done, board.status.n_files_total) = (0, 0);
        }
        let vaults: Vec<(VaultId, PathBuf)> = (0..)
            .map(VaultId)
            .zip(self.settings.vaults.iter().map(|vault| vault.root.clone()))
            .collect();
        for (vault, root) in vaults {
            self.rescan_vault(vault, &root, options)?;
        }
        if options.compact {
            self.compact()?;
        }
        self.board().status.last_error = None;
        Ok(())
    }

    fn rescan_vault(
        &mut self,
        vault: VaultId,
        root: &std::path::Path,
        options: Rescan,
    ) -> Result<(), IndexError> {
        let Scan { found, skipped } = scan::scan(root, &self.settings.scan).map_err(|source| {
            IndexError::Vault { root: root.to_owned(), reason: source.to_string() }
        })?;
        let notes = self.publisher.newest().notes.clone();
        let mut absent: BTreeMap<(VaultId, String), Absent> = skipped
            .into_iter()
            .map(|file| {
                let state = if file.failed { FileState::Failed } else { FileState::Skipped };
                (
                    (vault, file.path),
                    Absent { state, reason: file.reason, facts: FileFacts::default() },
                )
            })
            .collect();
        let known_absent = self.board().absent.clone();
        let settled_ns = wall_clock_ns().saturating_sub(RACY_NS);

        let there: HashSet<&NotePath> = found.iter().map(|file| &file.path).collect();
        let gone: Vec<(NoteId, Arc<NoteEntry>)> = notes
            .by_path()
            .filter(|(_, entry)| entry.vault == vault && !there.contains(&entry.note.path))
            .map(|(id, entry)| (id, Arc::clone(entry)))
            .collect();
        let mut changed: Vec<&Found> = Vec::new();
        for file in &found {
            let place = (vault, file.path.clone());
            let same = |facts: &FileFacts| {
                let seen = |facts: &FileFacts| {
                    (facts.size, facts.modified_ns, facts.inode) == seen_now(file)
                };
                let known = seen(facts) || self.reread.get(&place).is_some_and(seen);
                known && file.facts.modified_ns < settled_ns
            };
            let entry = notes.at(vault, &file.path).and_then(|id| notes.entry(id));
            let key = (vault, file.path.as_str().to_owned());
            match (entry, known_absent.get(&key)) {
                (Some(entry), _) if !options.full && same(&entry.file) => {}
                (None, Some(before)) if !options.full && same(&before.facts) => {
                    absent.insert(key, before.clone());
                }
                _ => changed.push(file),
            }
        }
        let (n_found, n_unchanged) = (found.len(), found.len() - changed.len());
        {
            let mut board = self.board();
            board.status.phase = if changed.is_empty() { Phase::Scanning } else { Phase::Indexing };
            board.status.n_files_total += n_found;
            board.status.n_files_done += n_unchanged;
        }

        // Files that are gone leave with the first batch, so that a rename is one step.
        let mut gone: HashMap<TextHash, Vec<Arc<NoteEntry>>> =
            gone.into_iter().fold(HashMap::new(), |mut by_hash, (_, entry)| {
                by_hash.entry(entry.file.hash).or_default().push(entry);
                by_hash
            });
        let mut batches = changed.chunks(FILES_PER_BATCH).peekable();
        let mut first = true;
        while first || batches.peek().is_some() {
            let batch = batches.next().unwrap_or_default();
            let mut changes: Vec<Change> = Vec::new();
            for read in self.read_all(vault, root, batch, &notes, options) {
                match read {
                    Read::Note(entry) => {
                        let is_new = notes.at(vault, &entry.note.path).is_none();
                        let moved =
                            gone.get_mut(&entry.file.hash).filter(|_| is_new).and_then(Vec::pop);
                        changes.push(match moved {
                            Some(old) => Change::Move(old.note.path.clone(), entry),
                            None => Change::Upsert(entry),
                        });
                    }
                    Read::Same(path, facts) => {
                        self.reread.insert((vault, path), facts);
                    }
                    Read::Absent(path, file) => {
                        if notes.at(vault, &path).is_some() {
                            changes.push(Change::Remove(vault, path.clone()));
                        }
                        absent.insert((vault, path.as_str().to_owned()), file);
                    }
                }
                self.board().status.n_files_done += 1;
            }
            if batches.peek().is_none() {
                let left = gone.drain().flat_map(|(_, entries)| entries);
                changes.extend(left.map(|entry| Change::Remove(vault, entry.note.path.clone())));
            }
            first = false;
            self.publish(&changes)?;
        }
        let mut board = self.board();
        board.absent.retain(|(other, _), _| *other != vault);
        board.absent.extend(absent);
        drop(board);
        self.count();
        Ok(())
    }

    /// Reads and parses files on all cores; results come in the files' order.
    fn read_all(
        &self,
        vault: VaultId,
        root: &std::path::Path,
        files: &[&Found],
        notes: &NoteTable,
        options: Rescan,
    ) -> Vec<Read> {
        let n_threads = std::thread::available_parallelism()
            .map_or(1, usize::from)
            .min(files.len().div_ceil(8))
            .max(1);
        let share = files.len().div_ceil(n_threads).max(1);
        let read = |file: &&Found| {
            let old = notes
                .at(vault, &file.path)
                .and_then(|id| notes.entry(id))
                .filter(|_| !options.full);
            read_file(vault, root, file, old, &self.settings, self.embedder.as_deref())
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = files
                .chunks(share)
                .map(|part| scope.spawn(move || part.iter().map(read).collect::<Vec<_>>()))
                .collect();
            workers
                .into_iter()
                .zip(files.chunks(share))
                .flat_map(|(worker, part)| {
                    worker.join().unwrap_or_else(|_| {
                        let failed = |file: &&Found| {
                            Read::absent(
                                file,
                                FileState::Failed,
                                "reading it stopped the reader; this is a defect".into(),
                            )
                        };
                        part.iter().map(failed).collect()
                    })
                })
                .collect()
        })
    }

    /// Brings every part of the index in line with `changes` and publishes the next generation; nothing when nothing changed.
    fn publish(&mut self, changes: &[Change]) -> Result<(), IndexError> {
        if changes.is_empty() {
            return Ok(());
        }
        let before = self.publisher.newest();
        let generation = before.generation + 1;
        let (notes, delta) = before.notes.edited(changes);
        if let Some(store) = &mut self.store {
            store.issue(generation)?;
        }
        self.index_words(&notes, &delta)?;
        let keyword = self.keyword.commit(generation)?;
        self.arrange(&notes, &delta)?;
        let vectors = self.shelf.as_ref().map(Shelf::publish);
        self.publisher.publish(Snapshot { generation, notes, keyword, vectors });
        self.published();
        Ok(())
    }

    fn published(&mut self) {
        self.last_published = Instant::now();
        self.last_change = self.last_published;
        self.dirty_since.get_or_insert(self.last_published);
        self.count();
    }

    fn index_words(&mut self, notes: &NoteTable, delta: &Delta) -> Result<(), KeywordError> {
        let entries: Vec<(NoteId, &Arc<NoteEntry>)> =
            delta.upserted.iter().filter_map(|id| Some((*id, notes.entry(*id)?))).collect();
        let upserts = entries.iter().map(|(id, entry)| KeywordChange::Upsert(document(*id, entry)));
        let changes: Vec<KeywordChange<'_>> =
            delta.removed.iter().map(|id| KeywordChange::Delete(*id)).chain(upserts).collect();
        self.keyword.apply(&changes)
    }

    /// Gives the chunks of changed notes their vectors, or a place in the backlog.
    fn arrange(&mut self, notes: &NoteTable, delta: &Delta) -> Result<(), IndexError> {
        let Some(shelf) = &mut self.shelf else { return Ok(()) };
        for id in &delta.removed {
            shelf.arrange(*id, &[])?;
        }
        for id in &delta.upserted {
            let Some(entry) = notes.entry(*id) else { continue };
            let texts: Vec<TextHash> = entry.chunks.iter().map(|chunk| chunk.hash).collect();
            for at in shelf.arrange(*id, &texts)? {
                let waiting = self.waiting.entry(texts[at]).or_default();
                if waiting.is_empty() {
                    self.backlog.push_back(texts[at]);
                }
                waiting.push((*id, at));
                self.n_waiting += 1;
            }
        }
        Ok(())
    }

    /// Brings word index and shelf in line with the notes that were read back from the store.
    fn arrange_all(&mut self) -> Result<(), IndexError> {
        let snapshot = self.publisher.newest();
        let ids: Vec<NoteId> = snapshot.notes.by_path().map(|(id, _)| id).collect();
        self.arrange(&snapshot.notes, &Delta { upserted: ids, removed: Vec::new() })?;
        self.count();
        Ok(())
    }

    /// Hands the next texts to the model when it has nothing to do.
    fn feed_model(&mut self) {
        if self.in_flight > 0 || self.model_rests_until.is_some_and(|until| Instant::now() < until)
        {
            return;
        }
        self.model_rests_until = None;
        let Some(to_model) = self.to_model.clone() else { return };
        if self.ready.is_empty() {
            self.make_ready();
        }
        let n = self.ready.len().min(EMBED_BATCH);
        let batch: Vec<(TextHash, String)> = self.ready.drain(..n).collect();
        if batch.is_empty() {
            self.embedding_since = None;
            return;
        }
        self.embedding_since.get_or_insert_with(|| {
            self.n_embedded = 0;
            Instant::now()
        });
        self.in_flight = batch.len();
        if to_model.send(batch).is_err() {
            self.in_flight = 0;
            self.to_model = None;
            self.board().status.last_error =
                Some("the embedding thread ended; searching by words and links only".into());
        }
    }

    /// Makes the next texts of the backlog; those that nobody waits for any more are dropped.
    fn make_ready(&mut self) {
        let notes = &self.publisher.newest().notes;
        let mut last: Option<(NoteId, Arc<NoteEntry>)> = None;
        let mut pending: Vec<(TextHash, usize)> = Vec::new();
        while self.ready.len() + pending.len() < READY_TEXTS
            && let Some(text) = self.backlog.pop_front()
        {
            let place = self.waiting.get(&text).and_then(|waiting| place_of(notes, waiting, text));
            let Some((id, at)) = place else {
                self.n_waiting -= self.waiting.remove(&text).map_or(0, |waiting| waiting.len());
                continue;
            };
            if last.as_ref().is_some_and(|(note, _)| *note != id) {
                self.ready.extend(last.iter().flat_map(|(_, entry)| texts_of(entry, &pending)));
                pending.clear();
            }
            last = notes.entry(id).map(|entry| (id, Arc::clone(entry)));
            pending.push((text, at));
        }
        self.ready.extend(last.iter().flat_map(|(_, entry)| texts_of(entry, &pending)));
    }

    fn embedded(&mut self, texts: &[TextHash], result: Result<Vec<Vec<f32>>, EmbedError>) {
        self.in_flight = 0;
        match result {
            Ok(vectors) => {
                self.n_embedded += texts.len();
                for (text, vector) in texts.iter().zip(vectors) {
                    let waiting = self.waiting.remove(text).unwrap_or_default();
                    self.n_waiting -= waiting.len();
                    if let Some(shelf) = &mut self.shelf
                        && let Err(error) = shelf.fill(*text, &vector, &waiting)
                    {
                        self.report(&error.into());
                    }
                }
                self.unpublished = true;
            }
            Err(error @ EmbedError::Unavailable { .. }) => {
                self.report(&IndexError::Embed(error));
                self.backlog.extend(texts);
                self.model_rests_until = Some(Instant::now() + RETRY);
            }
            Err(error @ EmbedError::Failed { .. }) => {
                // Trying again gives the same; the notes stay found by word and link.
                self.report(&IndexError::Embed(error));
                for text in texts {
                    self.n_waiting -= self.waiting.remove(text).map_or(0, |waiting| waiting.len());
                }
            }
        }
        self.show_backlog();
    }

    fn show_backlog(&self) {
        let rate =
            self.embedding_since.map_or(0.0, |since| per_second(self.n_embedded, since.elapsed()));
        let status = &mut self.board().status;
        status.n_vectors_pending = self.n_waiting;
        status.vectors_per_second = rate;
        status.seconds_left = seconds_left(self.n_waiting, rate);
    }

    fn publish_vectors(&mut self) -> Result<(), IndexError> {
        let Some(shelf) = self.shelf.as_mut().filter(|_| self.unpublished) else { return Ok(()) };
        shelf.sync()?;
        let before = self.publisher.newest();
        let generation = before.generation + 1;
        if let Some(store) = &mut self.store {
            store.issue(generation)?;
        }
        let vectors = Some(shelf.publish());
        self.publisher.publish(Snapshot { generation, vectors, ..Snapshot::clone(&before) });
        self.unpublished = false;
        self.published();
        Ok(())
    }

    /// Starts building a graph over the vectors where one would make searches faster.
    fn build_graph(&mut self) {
        let Some(index) = self.shelf.as_ref().map(|shelf| shelf.publish().index) else { return };
        if self.building_graph || !self.waiting.is_empty() || !index.needs_rebuild() {
            return;
        }
        let events = self.events.clone();
        let work = move || {
            // A writer that has stopped needs no graph.
            let _ = events.send(Event::GraphBuilt(index.build_graph()));
        };
        self.building_graph =
            std::thread::Builder::new().name("weft-graph".into()).spawn(work).is_ok();
    }

    fn attach(&mut self, graph: FrozenGraph) {
        self.building_graph = false;
        if let Some(shelf) = &mut self.shelf {
            match shelf.attach(graph) {
                Ok(()) => self.unpublished = true,
                Err(error) => self.report(&error.into()),
            }
        }
    }

    fn checkpoint(&mut self) -> Result<(), IndexError> {
        if let Some(shelf) = &mut self.shelf {
            shelf.sync()?;
        }
        let snapshot = self.publisher.newest();
        if let Some(store) = &self.store
            && self.written != snapshot.generation
        {
            let checkpoint = Checkpoint {
                generation: snapshot.generation,
                notes: snapshot.notes.clone(),
                recipe: self.recipe,
            };
            store.write(&checkpoint, self.settings.keep_generations)?;
            let n_bytes = store.n_bytes();
            self.board().status.store_bytes = n_bytes;
        }
        self.written = snapshot.generation;
        self.dirty_since = None;
        Ok(())
    }

    fn compact(&mut self) -> Result<(), IndexError> {
        let keyword = self.keyword.compact(self.generation())?;
        let before = self.publisher.newest();
        self.publisher.publish(Snapshot { keyword, ..Snapshot::clone(&before) });
        Ok(())
    }

    fn show_phase(&self) {
        let mut board = self.board();
        board.status.phase = if self.waiting.is_empty() { Phase::Ready } else { Phase::Embedding };
    }

    /// Brings the numbers of the board up to date. `O(links)`.
    fn count(&self) {
        let snapshot = self.publisher.newest();
        let notes = &snapshot.notes;
        let mut vaults: Vec<VaultStatus> = notes
            .vaults()
            .map(|(_, info)| VaultStatus {
                name: info.name.clone(),
                root: info.root.clone(),
                ..VaultStatus::default()
            })
            .collect();
        let mut n_chunks = 0;
        for (id, entry) in notes.by_path() {
            let Some(resolved) = notes.resolved(id) else { continue };
            n_chunks += entry.chunks.len();
            let vault = &mut vaults[usize::from(entry.vault.0)];
            vault.n_notes += 1;
            vault.n_ambiguous += resolved.ambiguous.len();
            for target in resolved.targets.iter().flatten() {
                vault.n_links += 1;
                vault.n_resolved += usize::from(notes.entry(*target).is_some());
            }
        }
        self.show_backlog();
        let mut board = self.board();
        for ((vault, _), file) in &board.absent {
            let vault = &mut vaults[usize::from(vault.0)];
            match file.state {
                FileState::Skipped => vault.n_skipped += 1,
                FileState::Failed => vault.n_failed += 1,
                FileState::Indexed | FileState::Pending => {}
            }
        }
        let status = &mut board.status;
        status.generation = snapshot.generation;
        status.n_notes = notes.n_notes();
        status.n_placeholders = notes.graph().n_nodes() - notes.n_notes();
        status.n_links = vaults.iter().map(|vault| vault.n_links).sum();
        status.n_unresolved = vaults.iter().map(|vault| vault.n_links - vault.n_resolved).sum();
        status.n_chunks = n_chunks;
        status.vaults = vaults;
    }
}

fn seen_now(file: &Found) -> (u64, i64, u64) {
    (file.facts.size, file.facts.modified_ns, file.facts.inode)
}

#[expect(
    clippy::disallowed_methods,
    reason = "compared with the times of files, never part of an answer"
)]
fn wall_clock_ns() -> i64 {
    let since =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// What became of a file that was looked at.
enum Read {
    Note(Arc<NoteEntry>),
    /// Its bytes are those of the entry, though the file system says something else.
    Same(NotePath, FileFacts),
    Absent(NotePath, Absent),
}

impl Read {
    fn absent(file: &Found, state: FileState, reason: String) -> Self {
        Self::Absent(file.path.clone(), Absent { state, reason, facts: file.facts })
    }
}

fn read_file(
    vault: VaultId,
    root: &std::path::Path,
    file: &Found,
    old: Option<&Arc<NoteEntry>>,
    settings: &IndexSettings,
    embedder: Option<&dyn Embedder>,
) -> Read {
    let bytes = match scan::read(root, file) {
        Ok(bytes) => bytes,
        Err(error) => return Read::absent(file, FileState::Failed, error.to_string()),
    };
    let hash = TextHash(hash_of(&bytes));
    if old.is_some_and(|old| old.file.hash == hash) {
        return Read::Same(file.path.clone(), file.facts);
    }
    let (note, diagnostics) = parse(&file.path, &bytes, &settings.parse);
    if is_excluded(&note) {
        return Read::absent(
            file,
            FileState::Skipped,
            "its frontmatter says `indexed: false`".into(),
        );
    }
    let chunks = cut(&note, settings, embedder);
    let facts = FileFacts { hash, ..file.facts };
    let version = version(vault, &file.path, hash);
    let entry = NoteEntry { diagnostics, ..NoteEntry::new(vault, note, chunks, facts, version) };
    Read::Note(Arc::new(entry))
}

fn cut(note: &Note, settings: &IndexSettings, embedder: Option<&dyn Embedder>) -> Vec<Chunk> {
    // Without a model nothing is embedded, and chunks only say where in a note one is.
    const BYTES_PER_TOKEN: usize = 4;
    match embedder {
        Some(embedder) => {
            let max_tokens = settings.chunks.max_tokens.min(embedder.window());
            let limits = crate::chunk::ChunkLimits { max_tokens, ..settings.chunks };
            chunks(note, &|text| embedder.n_tokens(text), &limits)
        }
        None => chunks(note, &|text| text.len().div_ceil(BYTES_PER_TOKEN), &settings.chunks),
    }
}

/// Tells one text of one note from every other, so that the word index can be compared with the notes.
fn version(vault: VaultId, path: &NotePath, hash: TextHash) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&vault.0.to_le_bytes());
    hasher.update(path.as_str().as_bytes());
    hasher.update(&hash.0.to_le_bytes());
    let digest = hasher.finalize();
    u64::from_le_bytes(digest.as_bytes()[..8].try_into().expect("eight bytes"))
}

pub(crate) fn hash_of(bytes: &[u8]) -> u128 {
    u128::from_le_bytes(blake3::hash(bytes).as_bytes()[..16].try_into().expect("sixteen bytes"))
}

pub(crate) fn document(note: NoteId, entry: &NoteEntry) -> KeywordDocument<'_> {
    KeywordDocument {
        note,
        version: entry.version,
        title: &entry.note.title,
        aliases: entry.note.aliases.iter().map(String::as_str).collect(),
        headings: entry.note.headings.iter().map(|heading| heading.text.as_str()).collect(),
        tags: entry.note.tags.iter().map(String::as_str).collect(),
        body: &entry.body,
    }
}

/// A chunk that still waits under `text`.
fn place_of(
    notes: &NoteTable,
    waiting: &[(NoteId, usize)],
    text: TextHash,
) -> Option<(NoteId, usize)> {
    let waits = |(id, at): &(NoteId, usize)| {
        notes
            .entry(*id)
            .and_then(|entry| entry.chunks.get(*at))
            .is_some_and(|chunk| chunk.hash == text)
    };
    waiting.iter().copied().find(waits)
}

/// The texts that the model sees for some chunks of a note. `O(body)`.
fn texts_of(entry: &NoteEntry, chunks: &[(TextHash, usize)]) -> Vec<(TextHash, String)> {
    let offsets = Offsets::new(&entry.body);
    let text = |(hash, at): &(TextHash, usize)| {
        let chunk = &entry.chunks[*at];
        (
            *hash,
            text_of(&entry.note.title, &chunk.heading_path, &entry.body[offsets.bytes(chunk.span)]),
        )
    };
    chunks.iter().map(text).collect()
}

fn spawn_model(
    embedder: Arc<dyn Embedder>,
    events: Sender<Event>,
) -> Sender<Vec<(TextHash, String)>> {
    let (sender, receiver) = crossbeam_channel::bounded::<Vec<(TextHash, String)>>(1);
    let work = move || {
        for batch in receiver {
            let texts: Vec<&str> = batch.iter().map(|(_, text)| text.as_str()).collect();
            let result = embedder.embed(&texts, Role::Document);
            let hashes = batch.iter().map(|(hash, _)| *hash).collect();
            if events.send(Event::Embedded(hashes, result)).is_err() {
                break;
            }
        }
    };
    let spawned = std::thread::Builder::new().name("weft-embed".into()).spawn(work);
    if let Err(error) = spawned {
        tracing::error!(%error, "no thread for embedding");
    }
    sender
}

#[expect(clippy::cast_precision_loss, reason = "counts of texts are far below 2^52")]
fn per_second(n: usize, elapsed: Duration) -> f64 {
    let seconds = elapsed.as_secs_f64();
    if seconds > 0.0 { n as f64 / seconds } else { 0.0 }
}

#[expect(clippy::cast_precision_loss, reason = "counts of texts are far below 2^52")]
fn seconds_left(n_pending: usize, rate: f64) -> Option<f64> {
    (n_pending > 0 && rate > 0.0).then(|| n_pending as f64 / rate)
}

/// The vaults as the note table names them.
pub(crate) fn vault_infos(settings: &IndexSettings) -> Vec<VaultInfo> {
    settings
        .vaults
        .iter()
        .map(|vault| VaultInfo { name: vault.name.clone(), root: vault.root.display().to_string() })
        .collect()
}
