//! A change of model: the next one makes all vectors in the background, while those of the present one serve.

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use weft_index::embedder::{EmbedError, Embedder};
use weft_index::notes::{Change, NoteEntry, NoteTable};
use weft_index::{Reader, Shelf, Snapshot, StoreError};
use weft_model::{Chunk, Note, NoteId, NoteMap, TextHash};

use crate::IndexSettings;
use crate::board::Board;
use crate::chunk::{ChunkLimits, chunks, embedded_texts};
use crate::embed::{EmbeddingSettings, Models, Opener};
use crate::status::NextModel;
use crate::writer::{Embedded, Event, Place, RETRY, embed};

/// How often a thread that waits looks whether it is to end.
const LOOK: Duration = Duration::from_millis(50);

/// What is told where the thread was ended by a defect.
const DEFECT: &str = "making its vectors ended by a defect; the present model serves on, and the next start tries again";

/// A model with its settings, where they are known.
#[derive(Clone)]
pub struct Model {
    /// Makes the vectors.
    pub embedder: Arc<dyn Embedder>,
    /// What opens it again; nothing for one that need not be remembered.
    pub settings: Option<EmbeddingSettings>,
}

impl From<Option<Arc<dyn Embedder>>> for Models {
    fn from(embedder: Option<Arc<dyn Embedder>>) -> Self {
        let wanted = embedder.clone();
        Self {
            now: embedder.map(|embedder| Model { embedder, settings: None }),
            next: None,
            wanted,
        }
    }
}

/// A model whose vectors are there, for the writer to take over.
pub(crate) struct Successor {
    pub(crate) model: Model,
    pub(crate) shelf: Shelf,
    /// The notes that the vectors are of.
    pub(crate) covered: NoteMap<Covered>,
}

/// A note as the vectors of the next model are of it.
pub(crate) struct Covered {
    version: u64,
    /// Its chunks, where the next model wants others than the present one.
    other_chunks: Option<Vec<Chunk>>,
}

impl Successor {
    /// The notes that the model wants cut otherwise than they are, with its chunks.
    pub(crate) fn recut(&mut self, notes: &NoteTable, limits: &ChunkLimits) -> Vec<Change> {
        let embedder = &*self.model.embedder;
        let recut = notes.by_path().filter_map(|(id, entry)| {
            let covered = self.covered.remove(&id);
            let chunks = match covered.filter(|covered| covered.version == entry.version) {
                Some(covered) => covered.other_chunks?,
                // It changed since.
                None => other_chunks(entry, cut_anew(entry, embedder, limits).0)?,
            };
            Some(Change::Upsert(Arc::new(NoteEntry { chunks, ..(**entry).clone() })))
        });
        recut.collect()
    }
}

/// The chunks, where they are others than those of the entry.
fn other_chunks(entry: &NoteEntry, chunks: Vec<Chunk>) -> Option<Vec<Chunk>> {
    (chunks != entry.chunks).then_some(chunks)
}

/// The thread that makes the vectors of the next model. Dropping it ends it.
pub(crate) struct Succession {
    is_over: Arc<Over>,
}

/// Whether the thread is to end. It changes the store only while it holds this, so that nothing is changed after the end.
#[derive(Default)]
struct Over(Mutex<bool>);

impl Over {
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Succession {
    /// Opens the next model as soon as it can be had, makes the vectors of all notes, and hands them to the writer as [`Event::Succeeded`].
    ///
    /// Where no vector serves there is nothing to wait for, and the writer gets the model at once.
    pub(crate) fn start(
        open: Opener,
        reader: Reader,
        settings: IndexSettings,
        board: Board,
        events: Sender<Event>,
    ) -> Result<Self, StoreError> {
        let is_over = Arc::new(Over::default());
        let work = Work { reader, settings, board, is_over: Arc::clone(&is_over) };
        let run = move || {
            let made = catch_unwind(AssertUnwindSafe(|| work.run(open)));
            match made {
                // A writer that has stopped needs no model.
                Ok(Some(successor)) => drop(events.send(Event::Succeeded(Box::new(successor)))),
                Ok(None) => {}
                Err(_) => work.say(None, Some(DEFECT.to_owned())),
            }
        };
        let thread = std::thread::Builder::new().name("weft-succession".into()).spawn(run);
        thread.map_err(|source| StoreError::Io {
            action: "start",
            path: "the thread of the next model".into(),
            source,
        })?;
        Ok(Self { is_over })
    }
}

impl Drop for Succession {
    fn drop(&mut self) {
        // A thread that waits for an endpoint sees it later, and is not waited for.
        *self.is_over.lock() = true;
    }
}

struct Work {
    reader: Reader,
    settings: IndexSettings,
    board: Board,
    is_over: Arc<Over>,
}

impl Work {
    /// The model with all vectors; nothing when it is over before.
    fn run(&self, mut open: Opener) -> Option<Successor> {
        let model = loop {
            match open() {
                Ok(model) => break model,
                Err(reason) => self.say(None, Some(reason)),
            }
            self.rest(RETRY)?;
        };
        self.say(Some(&*model.embedder), None);
        let mut shelf = loop {
            let is_over = self.is_over.lock();
            if *is_over {
                return None;
            }
            let opened = self.shelf(&model);
            drop(is_over);
            match opened {
                Ok(shelf) => break shelf,
                Err(error) => self.say(Some(&*model.embedder), Some(error.to_string())),
            }
            self.rest(RETRY)?;
        };
        let mut covered = NoteMap::default();
        while serves(&self.reader.snapshot()) && self.cover(&model, &mut shelf, &mut covered)? {}
        Some(Successor { model, shelf, covered })
    }

    fn shelf(&self, model: &Model) -> Result<Shelf, StoreError> {
        let IndexSettings { disk, store, vector, .. } = &self.settings;
        let notes = &self.reader.snapshot().notes;
        Shelf::open(disk, store, Arc::clone(&model.embedder), notes, *vector)
            .map(|(shelf, _)| shelf)
    }

    /// Makes the vectors of notes that are not `covered`; false when there are none. Nothing when it is over.
    fn cover(
        &self,
        model: &Model,
        shelf: &mut Shelf,
        covered: &mut NoteMap<Covered>,
    ) -> Option<bool> {
        let snapshot = self.reader.snapshot();
        let embedder = &*model.embedder;
        let gone: HashSet<NoteId> =
            covered.keys().copied().filter(|id| !snapshot.notes.is_note(*id)).collect();
        for id in gone {
            covered.remove(&id);
            self.keep(embedder, |shelf| shelf.arrange(id, &[]).1, shelf)?;
        }
        let todo: Vec<(NoteId, &Arc<NoteEntry>)> = snapshot
            .notes
            .by_path()
            .filter(|(id, entry)| {
                covered.get(id).is_none_or(|covered| covered.version != entry.version)
            })
            .collect();
        let mut n_left: usize = todo.iter().map(|(_, entry)| entry.chunks.len()).sum();
        let (mut batch, mut waiting) = (Vec::new(), HashMap::<TextHash, Vec<Place>>::new());
        let most = embedder.batch().max(1);
        for (id, entry) in &todo {
            self.count(embedder, n_left + batch.len());
            n_left -= entry.chunks.len();
            let (chunks, texts) = cut_anew(entry, embedder, &self.settings.chunks);
            let hashes: Vec<TextHash> = chunks.iter().map(|chunk| chunk.hash).collect();
            let mut at = Vec::new();
            self.keep(
                embedder,
                |shelf| {
                    let (positions, outcome) = shelf.arrange(*id, &hashes);
                    at = positions;
                    outcome
                },
                shelf,
            )?;
            for at in at {
                let places = waiting.entry(hashes[at]).or_default();
                if places.is_empty() {
                    batch.push((hashes[at], texts[at].clone()));
                }
                places.push((*id, at));
            }
            while batch.len() >= most {
                let first = batch.drain(..most).collect();
                self.embed(embedder, first, &mut waiting, shelf)?;
            }
            let other_chunks = other_chunks(entry, chunks);
            covered.insert(*id, Covered { version: entry.version, other_chunks });
        }
        self.embed(embedder, batch, &mut waiting, shelf)?;
        self.keep(embedder, Shelf::sync, shelf)?;
        self.count(embedder, 0);
        Some(!todo.is_empty())
    }

    /// Asks until the vectors of a batch are there, and gives them to the chunks that wait for them; a text that the model refuses goes without.
    fn embed(
        &self,
        embedder: &dyn Embedder,
        mut batch: Vec<(TextHash, String)>,
        waiting: &mut HashMap<TextHash, Vec<Place>>,
        shelf: &mut Shelf,
    ) -> Option<()> {
        while !batch.is_empty() {
            if *self.is_over.lock() {
                return None;
            }
            let (mut parts, mut later, mut trouble) = (Vec::new(), HashSet::new(), None);
            embed(embedder, &batch, &mut parts);
            for Embedded { texts, result } in parts {
                match result {
                    Ok(vectors) => {
                        for (text, vector) in texts.iter().zip(&vectors) {
                            let places = waiting.remove(text).unwrap_or_default();
                            self.keep(embedder, |shelf| shelf.fill(*text, vector, &places), shelf)?;
                        }
                    }
                    Err(error @ EmbedError::Failed { .. }) => {
                        tracing::warn!(%error, "a passage goes without a vector");
                        waiting.retain(|text, _| !texts.contains(text));
                    }
                    Err(error @ EmbedError::Unavailable { .. }) => {
                        later.extend(texts);
                        trouble = Some(error.to_string());
                    }
                }
            }
            self.keep(embedder, Shelf::sync, shelf)?;
            batch.retain(|(text, _)| later.contains(text));
            if trouble.is_some() {
                self.say(Some(embedder), trouble);
                self.rest(RETRY)?;
            }
        }
        Some(())
    }

    /// Changes the shelf, again and again where the disk has no room.
    fn keep(
        &self,
        embedder: &dyn Embedder,
        mut change: impl FnMut(&mut Shelf) -> Result<(), StoreError>,
        shelf: &mut Shelf,
    ) -> Option<()> {
        loop {
            let is_over = self.is_over.lock();
            if *is_over {
                return None;
            }
            let outcome = change(shelf);
            drop(is_over);
            let Err(error) = outcome else { return Some(()) };
            self.say(Some(embedder), Some(error.to_string()));
            self.rest(RETRY)?;
        }
    }

    /// Sleeps, unless it is over.
    fn rest(&self, time: Duration) -> Option<()> {
        let until = Instant::now() + time;
        while Instant::now() < until {
            if *self.is_over.lock() {
                return None;
            }
            std::thread::sleep(LOOK);
        }
        Some(())
    }

    fn say(&self, embedder: Option<&dyn Embedder>, trouble: Option<String>) {
        if let Some(reason) = &trouble {
            tracing::warn!(%reason, "the next model waits");
        }
        let next = &mut self.board.lock().status.next;
        let n_pending = next.as_ref().map_or(0, |next| next.n_pending);
        let identity = embedder.map(|embedder| embedder.identity().clone());
        *next = Some(NextModel { identity, n_pending, trouble });
    }

    fn count(&self, embedder: &dyn Embedder, n_pending: usize) {
        let identity = Some(embedder.identity().clone());
        self.board.lock().status.next = Some(NextModel { identity, n_pending, trouble: None });
    }
}

/// Whether a note of the snapshot has a vector, or may have one that is still read back.
fn serves(snapshot: &Snapshot) -> bool {
    snapshot
        .vectors
        .as_ref()
        .is_some_and(|vectors| vectors.awaited.is_some() || vectors.rows.rows().next().is_some())
}

/// The chunks of a note as `embedder` wants them, and the text of each.
fn cut_anew(
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
