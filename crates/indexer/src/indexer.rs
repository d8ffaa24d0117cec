//! The handle on a running index.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Sender, bounded, unbounded};
use weft_index::embedder::{EmbedError, Embedder};
use weft_index::keyword::{KeywordChange, KeywordError, KeywordSettings, KeywordWriter};
use weft_index::notes::{Issue, NoteTable, VaultId};
use weft_index::vector::VectorParams;
use weft_index::{Checkpoint, Publisher, Reader, Shelf, Snapshot, Store, StoreError};
use weft_model::{Diagnostic, NoteId, Severity};

use crate::chunk::ChunkLimits;
use crate::parse::ParseOptions;
use crate::scan::ScanOptions;
use crate::status::{FileCoverage, FileState, IndexStatus};
use crate::watch::Watch;
use crate::writer::{Board, Event, Parts, Writer, document, hash_of, vault_infos};

/// A folder of notes to serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VaultSettings {
    /// Its name: the prefix of its uris where several vaults are served.
    pub name: String,
    /// Its folder.
    pub root: PathBuf,
}

/// What to index and how.
#[derive(Clone, Debug)]
pub struct IndexSettings {
    /// The store's folder; made if need be.
    pub store: PathBuf,
    /// The vaults, at least one.
    pub vaults: Vec<VaultSettings>,
    /// Which files are read.
    pub scan: ScanOptions,
    /// Which dialects are read.
    pub parse: ParseOptions,
    /// How notes are cut for the model.
    pub chunks: ChunkLimits,
    /// How words are indexed.
    pub keyword: KeywordSettings,
    /// How vectors are searched.
    pub vector: VectorParams,
    /// Whether changed files are noticed by themselves.
    pub watch: bool,
    /// How long a burst of changes must be over before it is read, in milliseconds.
    pub debounce_ms: u64,
    /// Generations kept on disk, at least 1.
    pub keep_generations: usize,
}

impl Default for IndexSettings {
    fn default() -> Self {
        Self {
            store: PathBuf::new(),
            vaults: Vec::new(),
            scan: ScanOptions::default(),
            parse: ParseOptions::default(),
            chunks: ChunkLimits::default(),
            keyword: KeywordSettings::default(),
            vector: VectorParams::default(),
            watch: true,
            debounce_ms: 150,
            keep_generations: 2,
        }
    }
}

/// How thoroughly to look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rescan {
    /// Reads every file again, also those that seem unchanged.
    pub full: bool,
    /// Afterwards takes what was deleted off the disk.
    pub compact: bool,
}

/// Why there is no index, or none newer.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The word index cannot be used.
    #[error(transparent)]
    Keyword(#[from] KeywordError),
    /// The model gave no vectors.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// A vault cannot be read at all.
    #[error("cannot read the vault {}: {reason}", root.display())]
    Vault {
        /// Its folder.
        root: PathBuf,
        /// Why not.
        reason: String,
    },
    /// The writer is gone.
    #[error("the indexer has stopped")]
    Stopped,
}

/// A running index: one writer thread behind a handle. Dropping it stops the writer.
pub struct Indexer {
    events: Sender<Event>,
    reader: Reader,
    board: Arc<Mutex<Board>>,
    writer: Option<JoinHandle<()>>,
    _watch: Option<Watch>,
}

impl Indexer {
    /// Opens or creates the store, which is locked meanwhile, and starts the writer, which looks at every file at once.
    ///
    /// What the store holds can be asked as soon as this returns.
    /// `address` tells processes that find the store locked where to ask.
    pub fn open(
        settings: IndexSettings,
        embedder: Option<Arc<dyn Embedder>>,
        address: Option<&str>,
    ) -> Result<Self, IndexError> {
        for vault in &settings.vaults {
            let facts = std::fs::metadata(&vault.root);
            let reason = match facts {
                Ok(facts) if facts.is_dir() => continue,
                Ok(_) => "it is no folder".to_owned(),
                Err(error) => error.to_string(),
            };
            return Err(IndexError::Vault { root: vault.root.clone(), reason });
        }
        let store = Store::open(&settings.store, address)?;
        let mut board = Board::default();
        board.status.store = settings.store.clone();
        board.status.embedder = embedder.as_ref().map(|embedder| embedder.identity().clone());
        let recipe = recipe(&settings, embedder.as_deref());
        let (generation, notes, written) = match restore(&store, &settings, recipe, &mut board)? {
            Some(checkpoint) => {
                let generation = store.resume(checkpoint.generation);
                (generation, checkpoint.notes, checkpoint.generation)
            }
            None => (store.resume(0), NoteTable::new(vault_infos(&settings)), 0),
        };
        let shelf = match &embedder {
            Some(embedder) => {
                let identity = embedder.identity().clone();
                let (shelf, report) =
                    Shelf::open(&settings.store, identity, &notes, settings.vector)?;
                if report.n_damaged > 0 {
                    board
                        .status
                        .notices
                        .push(format!("{} damaged vectors are made again.", report.n_damaged));
                }
                Some(shelf)
            }
            None => None,
        };
        let mut keyword = open_words(&store, &settings, &mut board)?;
        let reader = reconcile(&mut keyword, &notes, generation)?;
        board.status.store_bytes = store.n_bytes();
        board.status.generation = generation;
        board.status.n_notes = notes.n_notes();
        let vectors = shelf.as_ref().map(Shelf::publish);
        let publisher = Publisher::new(Snapshot { generation, notes, keyword: reader, vectors });

        let reader = publisher.reader();
        let board = Arc::new(Mutex::new(board));
        let (events, received) = unbounded();
        let watch = start_watch(&settings, &events, &board);
        let parts = Parts {
            store: Some(store),
            keyword,
            shelf,
            embedder,
            publisher,
            board: Arc::clone(&board),
            recipe,
            written,
        };
        let sender = events.clone();
        let writer = std::thread::Builder::new()
            .name("weft-writer".into())
            .spawn(move || Writer::new(settings, parts, sender).run(&received))
            .map_err(|source| StoreError::Io {
                action: "start",
                path: "the writer thread".into(),
                source,
            })?;
        Ok(Self { events, reader, board, writer: Some(writer), _watch: watch })
    }

    /// Gives out snapshots.
    #[must_use]
    pub fn reader(&self) -> Reader {
        self.reader.clone()
    }

    /// Where the index stands.
    #[must_use]
    pub fn status(&self) -> IndexStatus {
        self.board().status.clone()
    }

    /// Looks at every file and waits until words and links are in; returns the generation that holds them.
    pub fn rescan(&self, options: Rescan) -> Result<u64, IndexError> {
        self.ask(|reply| Event::Rescan(options, reply))
    }

    /// Waits until all earlier changes are indexed by word and link and written down; returns the generation that holds them.
    pub fn flush(&self) -> Result<u64, IndexError> {
        self.ask(Event::Flush)
    }

    /// Waits until no chunk waits for its vector, or `stop` is set, and says how it goes; returns the newest generation.
    pub fn wait_vectors(
        &self,
        stop: &AtomicBool,
        on_progress: &mut dyn FnMut(&IndexStatus),
    ) -> Result<u64, IndexError> {
        // First everything that is known by now must have entered the backlog.
        self.rescan(Rescan::default())?;
        loop {
            let status = self.status();
            on_progress(&status);
            if status.n_vectors_pending == 0 || stop.load(Ordering::Relaxed) {
                break;
            }
            if self.writer.as_ref().is_none_or(JoinHandle::is_finished) {
                return Err(IndexError::Stopped);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        self.flush()
    }

    /// One line per file, by vault and path.
    #[must_use]
    pub fn coverage(&self) -> Vec<FileCoverage> {
        let snapshot = self.reader.snapshot();
        let vault_name = |id: VaultId| {
            snapshot
                .notes
                .vaults()
                .nth(usize::from(id.0))
                .map_or_else(String::new, |(_, info)| info.name.clone())
        };
        let mut lines: Vec<FileCoverage> =
            snapshot.notes.by_path().map(|(id, _)| covered(&snapshot, id, vault_name)).collect();
        lines.extend(self.board().absent.iter().map(|((vault, path), file)| FileCoverage {
            vault: vault_name(*vault),
            path: path.clone(),
            state: file.state,
            reason: Some(file.reason.clone()),
            uri: None,
            hash: Some(file.facts.hash).filter(|hash| hash.0 != 0),
            modified_ns: file.facts.modified_ns,
            n_chunks: 0,
            n_links: 0,
            unresolved: Vec::new(),
            diagnostics: Vec::new(),
        }));
        lines.sort_by(|a, b| (&a.vault, &a.path).cmp(&(&b.vault, &b.path)));
        lines
    }

    /// Lets the writer publish and write down what it holds, and waits for it.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let _ = self.events.send(Event::Stop);
        if let Some(writer) = self.writer.take()
            && writer.join().is_err()
        {
            tracing::error!("the writer ended in a panic");
        }
    }

    fn ask(
        &self,
        event: impl FnOnce(Sender<Result<u64, IndexError>>) -> Event,
    ) -> Result<u64, IndexError> {
        let (reply, answer) = bounded(1);
        self.events.send(event(reply)).map_err(|_| IndexError::Stopped)?;
        answer.recv().map_err(|_| IndexError::Stopped)?
    }

    fn board(&self) -> std::sync::MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Drop for Indexer {
    fn drop(&mut self) {
        if self.writer.is_some() {
            self.end();
        }
    }
}

fn covered(
    snapshot: &Snapshot,
    id: NoteId,
    vault_name: impl Fn(VaultId) -> String,
) -> FileCoverage {
    let notes = &snapshot.notes;
    let entry = notes.entry(id).expect("a path leads to a note");
    let mut diagnostics = entry.diagnostics.clone();
    let mut unresolved = Vec::new();
    for issue in notes.issues(id) {
        let (code, message) = match issue {
            Issue::UnresolvedLink { target } => {
                unresolved.push(target);
                continue;
            }
            Issue::DuplicateUri { claimed, winner } => (
                "duplicate-uri",
                format!(
                    "`{claimed}` is the uri of `{winner}`; this note is `{}`.",
                    notes.graph().uri(id)
                ),
            ),
            Issue::AmbiguousLink { target, candidates } => {
                let paths: Vec<String> =
                    candidates.iter().map(|path| format!("`{path}`")).collect();
                (
                    "ambiguous-link",
                    format!("`{target}` could mean {}; the first was taken.", paths.join(", ")),
                )
            }
        };
        diagnostics.push(Diagnostic {
            severity: Severity::Notice,
            code: code.into(),
            message,
            line: None,
        });
    }
    FileCoverage {
        vault: vault_name(entry.vault),
        path: entry.note.path.as_str().to_owned(),
        state: if snapshot.is_fresh(id) { FileState::Indexed } else { FileState::Pending },
        reason: (!snapshot.is_fresh(id)).then(|| "its vectors are on their way".to_owned()),
        uri: Some(notes.graph().uri(id).to_string()),
        hash: Some(entry.file.hash),
        modified_ns: entry.file.modified_ns,
        n_chunks: entry.chunks.len(),
        n_links: entry.note.links.len(),
        unresolved,
        diagnostics,
    }
}

/// What entries are made with: another recipe means that files must be read again.
fn recipe(settings: &IndexSettings, embedder: Option<&dyn Embedder>) -> u64 {
    let IndexSettings { parse, chunks, vaults, .. } = settings;
    let model = embedder.map(|embedder| (embedder.identity(), embedder.window()));
    let text =
        format!("{}\0{parse:?}\0{chunks:?}\0{vaults:?}\0{model:?}", env!("CARGO_PKG_VERSION"));
    u64::from_le_bytes(hash_of(text.as_bytes()).to_le_bytes()[..8].try_into().expect("eight bytes"))
}

/// The last checkpoint, if it can be read and was made with the same recipe.
fn restore(
    store: &Store,
    settings: &IndexSettings,
    recipe: u64,
    board: &mut Board,
) -> Result<Option<Checkpoint>, IndexError> {
    match store.checkpoint() {
        Ok(Some(checkpoint)) if checkpoint.recipe == recipe => Ok(Some(checkpoint)),
        Ok(Some(checkpoint)) => {
            board
                .status
                .notices
                .push("The settings changed; every file is read again, vectors are kept.".into());
            let notes = NoteTable::new(vault_infos(settings));
            Ok(Some(Checkpoint { notes, ..checkpoint }))
        }
        Ok(None) => Ok(None),
        Err(error @ StoreError::Damaged { .. }) => {
            tracing::warn!(%error, "the index is built anew");
            board.status.notices.push(format!(
                "{error}; the index was built anew from the files, vectors are kept."
            ));
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

fn open_words(
    store: &Store,
    settings: &IndexSettings,
    board: &mut Board,
) -> Result<KeywordWriter, IndexError> {
    let folder: &Path = &store.keyword_folder();
    match KeywordWriter::open_or_create(folder, settings.keyword) {
        Ok((writer, _)) => Ok(writer),
        Err(error @ (KeywordError::Corrupt { .. } | KeywordError::Incompatible { .. })) => {
            tracing::warn!(%error, "the word index is built anew");
            board.status.notices.push(format!("{error}; the word index was built anew."));
            Ok(KeywordWriter::recreate(folder, settings.keyword)?.0)
        }
        Err(error) => Err(error.into()),
    }
}

/// Makes the word index hold exactly the notes of the table; touches only what differs.
fn reconcile(
    keyword: &mut KeywordWriter,
    notes: &NoteTable,
    generation: u64,
) -> Result<weft_index::keyword::KeywordReader, KeywordError> {
    let reader = keyword.reader().clone();
    let mut held = std::collections::HashMap::new();
    let mut changes = Vec::new();
    for (id, version) in reader.versions()? {
        if notes.entry(id).is_some_and(|entry| entry.version == version) {
            held.insert(id, version);
        } else {
            changes.push(KeywordChange::Delete(id));
        }
    }
    let missing = notes.by_path().filter(|(id, _)| !held.contains_key(id));
    changes.extend(missing.map(|(id, entry)| KeywordChange::Upsert(document(id, entry))));
    if changes.is_empty() {
        return Ok(reader);
    }
    keyword.apply(&changes)?;
    keyword.commit(generation)
}

fn start_watch(
    settings: &IndexSettings,
    events: &Sender<Event>,
    board: &Arc<Mutex<Board>>,
) -> Option<Watch> {
    if !settings.watch {
        return None;
    }
    let roots: Vec<PathBuf> = settings.vaults.iter().map(|vault| vault.root.clone()).collect();
    let sender = events.clone();
    let touched = move || {
        let _ = sender.send(Event::Touched);
    };
    match Watch::start(&roots, Duration::from_millis(settings.debounce_ms), touched) {
        Ok(watch) => Some(watch),
        Err(error) => {
            tracing::warn!(%error, "changes are not noticed by themselves");
            let line = format!(
                "The folder cannot be watched ({error}); run `weft reindex` after changes."
            );
            board
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .status
                .notices
                .push(line);
            None
        }
    }
}
