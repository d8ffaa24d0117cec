//! Model migration: the next model embeds all notes in the background while the present one serves.

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use weft_index::embedder::{EmbedError, Embedder};
use weft_index::notes::{Change, NoteEntry, NoteTable};
use weft_index::{EmbeddingStore, Reader, Snapshot, StoreError};
use weft_model::{Chunk, Note, NoteId, NoteMap, TextHash};

use crate::IndexSettings;
use crate::chunk::{ChunkLimits, chunks, embedded_texts};
use crate::embed::{Model, ModelOpener};
use crate::index_status::NextModel;
use crate::retry_delay::RETRY;
use crate::shared_status::SharedStatus;
use crate::writer::{ChunkRef, EmbeddedBatch, embed};

/// Interval at which a waiting thread checks for cancellation.
const CANCEL_POLL: Duration = Duration::from_millis(50);

/// Error shown after the migration thread panicked.
const PANICKED: &str = "the migration stopped because of a bug; the present model continues to serve, and the next start tries again";

/// The next model with its vectors, ready for the switch.
pub(crate) struct MigratedModel {
    pub(crate) model: Model,
    pub(crate) embeddings: EmbeddingStore,
    /// The embedded notes.
    pub(crate) covered: NoteMap<MigratedNote>,
}

/// The state of a note when the next model embedded it.
pub(crate) struct MigratedNote {
    version: u64,
    /// Its chunks, if the next model needs other chunks than the present one.
    other_chunks: Option<Vec<Chunk>>,
}

impl MigratedModel {
    /// Returns changes for the notes that must be split into other chunks for the model.
    pub(crate) fn rechunk(&mut self, notes: &NoteTable, limits: &ChunkLimits) -> Vec<Change> {
        let embedder = &*self.model.embedder;
        let changed = notes.by_path().filter_map(|(id, entry)| {
            let covered = self.covered.remove(&id);
            let chunks = match covered.filter(|covered| covered.version == entry.version) {
                Some(covered) => covered.other_chunks?,
                // The note changed since.
                None => other_chunks(entry, chunk_for(entry, embedder, limits).0)?,
            };
            Some(Change::Upsert(Arc::new(NoteEntry { chunks, ..(**entry).clone() })))
        });
        changed.collect()
    }
}

/// Returns `chunks` if they differ from those of the entry.
fn other_chunks(entry: &NoteEntry, chunks: Vec<Chunk>) -> Option<Vec<Chunk>> {
    (chunks != entry.chunks).then_some(chunks)
}

/// The background thread of a migration. Dropping it cancels the migration.
pub(crate) struct ModelMigration {
    cancelled: Arc<CancelFlag>,
}

/// Set to cancel the thread, which changes the store only while it holds the lock, so that nothing changes after the cancellation.
#[derive(Default)]
struct CancelFlag(Mutex<bool>);

impl CancelFlag {
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ModelMigration {
    /// Opens the next model as soon as it is available, embeds all notes, and passes the result to `finished`.
    ///
    /// If the present index has no vectors, the writer gets the model at once.
    pub(crate) fn start(
        open: ModelOpener,
        reader: Reader,
        settings: IndexSettings,
        shared: SharedStatus,
        finished: impl FnOnce(Box<MigratedModel>) + Send + 'static,
    ) -> Result<Self, StoreError> {
        let cancelled = Arc::new(CancelFlag::default());
        let task = MigrationTask { reader, settings, shared, cancelled: Arc::clone(&cancelled) };
        let run = move || {
            let outcome = catch_unwind(AssertUnwindSafe(|| task.run(open)));
            match outcome {
                Ok(Some(migrated)) => finished(Box::new(migrated)),
                Ok(None) => {}
                Err(_) => task.set_status(None, Some(PANICKED.to_owned())),
            }
        };
        let thread = std::thread::Builder::new().name("weft-migration".into()).spawn(run);
        thread.map_err(|source| StoreError::Io {
            action: "start",
            path: "the migration thread".into(),
            source,
        })?;
        Ok(Self { cancelled })
    }
}

impl Drop for ModelMigration {
    fn drop(&mut self) {
        // A thread that waits for an endpoint notices it later; the drop does not wait for it.
        *self.cancelled.lock() = true;
    }
}

/// The work of the migration thread.
struct MigrationTask {
    reader: Reader,
    settings: IndexSettings,
    shared: SharedStatus,
    cancelled: Arc<CancelFlag>,
}

impl MigrationTask {
    /// Returns the model with all vectors; `None` if cancelled.
    fn run(&self, mut open: ModelOpener) -> Option<MigratedModel> {
        let model = loop {
            match open() {
                Ok(model) => break model,
                Err(reason) => self.set_status(None, Some(reason)),
            }
            self.sleep(RETRY)?;
        };
        self.set_status(Some(&*model.embedder), None);
        let mut embeddings = loop {
            let cancelled = self.cancelled.lock();
            if *cancelled {
                return None;
            }
            let opened = self.open_store(&model);
            drop(cancelled);
            match opened {
                Ok(embeddings) => break embeddings,
                Err(error) => self.set_status(Some(&*model.embedder), Some(error.to_string())),
            }
            self.sleep(RETRY)?;
        };
        let mut covered = NoteMap::default();
        while has_vectors(&self.reader.snapshot())
            && self.embed_missing(&model, &mut embeddings, &mut covered)?
        {}
        Some(MigratedModel { model, embeddings, covered })
    }

    fn open_store(&self, model: &Model) -> Result<EmbeddingStore, StoreError> {
        let IndexSettings { disk, store, vector, .. } = &self.settings;
        let notes = &self.reader.snapshot().notes;
        EmbeddingStore::open(disk, store, Arc::clone(&model.embedder), notes, *vector)
            .map(|(embeddings, _)| embeddings)
    }

    /// Embeds notes that are not `covered`; returns false if there were none, `None` if cancelled.
    fn embed_missing(
        &self,
        model: &Model,
        embeddings: &mut EmbeddingStore,
        covered: &mut NoteMap<MigratedNote>,
    ) -> Option<bool> {
        let snapshot = self.reader.snapshot();
        let embedder = &*model.embedder;
        let removed: HashSet<NoteId> =
            covered.keys().copied().filter(|id| !snapshot.notes.is_note(*id)).collect();
        for id in removed {
            covered.remove(&id);
            self.update_store(
                embedder,
                |embeddings| embeddings.assign_rows(id, &[]).1,
                embeddings,
            )?;
        }
        let todo: Vec<(NoteId, &Arc<NoteEntry>)> = snapshot
            .notes
            .by_path()
            .filter(|(id, entry)| {
                covered.get(id).is_none_or(|covered| covered.version != entry.version)
            })
            .collect();
        let mut n_left: usize = todo.iter().map(|(_, entry)| entry.chunks.len()).sum();
        let (mut batch, mut waiting) = (Vec::new(), HashMap::<TextHash, Vec<ChunkRef>>::new());
        let batch_size = embedder.batch().max(1);
        for (id, entry) in &todo {
            self.count(embedder, n_left + batch.len());
            n_left -= entry.chunks.len();
            let (chunks, texts) = chunk_for(entry, embedder, &self.settings.chunks);
            let hashes: Vec<TextHash> = chunks.iter().map(|chunk| chunk.hash).collect();
            let mut at = Vec::new();
            self.update_store(
                embedder,
                |embeddings| {
                    let (positions, outcome) = embeddings.assign_rows(*id, &hashes);
                    at = positions;
                    outcome
                },
                embeddings,
            )?;
            for at in at {
                let chunks = waiting.entry(hashes[at]).or_default();
                if chunks.is_empty() {
                    batch.push((hashes[at], texts[at].clone()));
                }
                chunks.push((*id, at));
            }
            while batch.len() >= batch_size {
                let first = batch.drain(..batch_size).collect();
                self.embed(embedder, first, &mut waiting, embeddings)?;
            }
            let other_chunks = other_chunks(entry, chunks);
            covered.insert(*id, MigratedNote { version: entry.version, other_chunks });
        }
        self.embed(embedder, batch, &mut waiting, embeddings)?;
        self.update_store(embedder, EmbeddingStore::sync, embeddings)?;
        self.count(embedder, 0);
        Some(!todo.is_empty())
    }

    /// Embeds a batch, retrying while the model is unavailable, and stores the vectors; texts that the model rejects get none.
    fn embed(
        &self,
        embedder: &dyn Embedder,
        mut batch: Vec<(TextHash, String)>,
        waiting: &mut HashMap<TextHash, Vec<ChunkRef>>,
        embeddings: &mut EmbeddingStore,
    ) -> Option<()> {
        while !batch.is_empty() {
            if *self.cancelled.lock() {
                return None;
            }
            let (mut results, mut later, mut unavailable) = (Vec::new(), HashSet::new(), None);
            embed(embedder, &batch, &mut results);
            for EmbeddedBatch { texts, result } in results {
                match result {
                    Ok(vectors) => {
                        for (text, vector) in texts.iter().zip(&vectors) {
                            let chunks = waiting.remove(text).unwrap_or_default();
                            self.update_store(
                                embedder,
                                |embeddings| embeddings.insert_vector(*text, vector, &chunks),
                                embeddings,
                            )?;
                        }
                    }
                    Err(error @ EmbedError::Failed { .. }) => {
                        tracing::warn!(%error, "the model rejected a passage, which gets no vector");
                        waiting.retain(|text, _| !texts.contains(text));
                    }
                    Err(error @ EmbedError::Unavailable { .. }) => {
                        later.extend(texts);
                        unavailable = Some(error.to_string());
                    }
                }
            }
            self.update_store(embedder, EmbeddingStore::sync, embeddings)?;
            batch.retain(|(text, _)| later.contains(text));
            if unavailable.is_some() {
                self.set_status(Some(embedder), unavailable);
                self.sleep(RETRY)?;
            }
        }
        Some(())
    }

    /// Changes the embedding store, retrying after errors such as a full disk; returns `None` if cancelled.
    fn update_store(
        &self,
        embedder: &dyn Embedder,
        mut change: impl FnMut(&mut EmbeddingStore) -> Result<(), StoreError>,
        embeddings: &mut EmbeddingStore,
    ) -> Option<()> {
        loop {
            let cancelled = self.cancelled.lock();
            if *cancelled {
                return None;
            }
            let outcome = change(embeddings);
            drop(cancelled);
            let Err(error) = outcome else { return Some(()) };
            self.set_status(Some(embedder), Some(error.to_string()));
            self.sleep(RETRY)?;
        }
    }

    /// Sleeps; returns `None` if cancelled.
    fn sleep(&self, time: Duration) -> Option<()> {
        let until = Instant::now() + time;
        while Instant::now() < until {
            if *self.cancelled.lock() {
                return None;
            }
            std::thread::sleep(CANCEL_POLL);
        }
        Some(())
    }

    fn set_status(&self, embedder: Option<&dyn Embedder>, error: Option<String>) {
        if let Some(reason) = &error {
            tracing::warn!(%reason, "the model migration is blocked");
        }
        let next = &mut self.shared.lock().status.next;
        let n_pending = next.as_ref().map_or(0, |next| next.n_pending);
        let identity = embedder.map(|embedder| embedder.identity().clone());
        *next = Some(NextModel { identity, n_pending, error });
    }

    fn count(&self, embedder: &dyn Embedder, n_pending: usize) {
        let identity = Some(embedder.identity().clone());
        self.shared.lock().status.next = Some(NextModel { identity, n_pending, error: None });
    }
}

/// Returns true if a note of the snapshot has a vector, or may have one that is still being loaded.
fn has_vectors(snapshot: &Snapshot) -> bool {
    snapshot
        .vectors
        .as_ref()
        .is_some_and(|vectors| vectors.loading.is_some() || vectors.rows.rows().next().is_some())
}

/// Splits a note into chunks for `embedder`; returns the chunks and the text of each.
fn chunk_for(
    entry: &NoteEntry,
    embedder: &dyn Embedder,
    limits: &ChunkLimits,
) -> (Vec<Chunk>, Vec<String>) {
    let note = Note { body: entry.body.to_string(), ..entry.note.clone() };
    let limits = limits.for_model(embedder);
    let chunks = chunks(&note, &|text| embedder.n_tokens(text), &limits);
    let texts = embedded_texts(&note, &chunks).collect();
    (chunks, texts)
}
