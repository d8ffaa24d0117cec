//! The state that readers see: notes, words, vectors and graph of one generation.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use weft_model::NoteId;

use crate::embedder::Embedder;
use crate::keyword::KeywordReader;
use crate::notes::NoteTable;
use crate::rows::NoteRows;
use crate::vector::{RowId, VectorError, VectorIndex, VectorParams, VectorWriter};

/// Everything a request needs, of one moment. Never changes; stays whole however long it is held.
#[derive(Clone)]
pub struct Snapshot {
    /// Counts the states ever published; equal numbers mean equal answers.
    pub generation: u64,
    /// Notes, names, links and graph.
    pub notes: NoteTable,
    /// Words.
    pub keyword: KeywordReader,
    /// Vectors, and whose they are; nothing without a model.
    pub vectors: Option<Vectors>,
}

/// The vectors of a snapshot.
#[derive(Clone)]
pub struct Vectors {
    /// The rows.
    pub index: VectorIndex,
    /// Which of them are whose.
    pub rows: NoteRows,
    /// Chunks that wait for their vector.
    pub n_waiting: usize,
    /// Those that are stored, while they are read back; nothing once they are.
    pub awaited: Option<Arc<Awaited>>,
    /// What made them, and makes the vector of a query to compare with them.
    pub embedder: Arc<dyn Embedder>,
}

impl Vectors {
    /// What stands for vectors while they are read back, whose notes will have these `rows`, and whoever reads them.
    pub fn awaited(
        embedder: Arc<dyn Embedder>,
        params: VectorParams,
        (rows, n_waiting): (NoteRows, usize),
    ) -> Result<(Self, Reading), VectorError> {
        let awaited = Arc::new(Awaited {
            rows,
            read: OnceLock::new(),
            is_over: Mutex::default(),
            over: Condvar::new(),
        });
        let reading = Reading(Arc::clone(&awaited));
        let none = Self::without((NoteRows::default(), n_waiting), embedder, params)?;
        Ok((Self { awaited: Some(awaited), ..none }, reading))
    }

    /// Vectors of none of `notes`: every chunk waits.
    pub fn none(
        notes: &NoteTable,
        embedder: Arc<dyn Embedder>,
        params: VectorParams,
    ) -> Result<Self, VectorError> {
        Self::without(Self::no_rows(notes), embedder, params)
    }

    /// The rows of `notes` that have none, and how many chunks wait for one.
    #[must_use]
    pub fn no_rows(notes: &NoteTable) -> (NoteRows, usize) {
        let none = notes.cards().map(|(id, card)| (id, card.texts().map(|_| None).collect()));
        (none.collect(), notes.total().n_chunks)
    }

    fn without(
        (rows, n_waiting): (NoteRows, usize),
        embedder: Arc<dyn Embedder>,
        params: VectorParams,
    ) -> Result<Self, VectorError> {
        let index = VectorWriter::in_memory(embedder.identity().dimension, params)?.publish();
        Ok(Self { index, rows, n_waiting, awaited: None, embedder })
    }

    /// The vectors, once they are read back: waits for that, at most until `near`.
    ///
    /// Where they cannot be read, or not in time, what stands for them: it holds none.
    #[must_use]
    pub fn read_back(&self, near: Option<Instant>) -> &Self {
        self.awaited.as_ref().and_then(|awaited| awaited.wait(near)).unwrap_or(self)
    }

    /// Whether they are being read back, so that who asks for them waits.
    #[must_use]
    pub fn is_being_read(&self) -> bool {
        self.awaited.as_ref().is_some_and(|awaited| !*awaited.is_over())
    }

    /// The rows of a note's chunks; those that it will have, while they are read back.
    fn rows_of(&self, note: NoteId) -> &[Option<RowId>] {
        self.awaited.as_ref().map_or(&self.rows, |awaited| &awaited.rows).of(note)
    }
}

/// Vectors that are being read back.
pub struct Awaited {
    /// The rows that notes have if they are whole.
    rows: NoteRows,
    read: OnceLock<Vectors>,
    is_over: Mutex<bool>,
    over: Condvar,
}

impl Awaited {
    fn is_over(&self) -> MutexGuard<'_, bool> {
        self.is_over.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, near: Option<Instant>) -> Option<&Vectors> {
        let mut is_over = self.is_over();
        while !*is_over {
            is_over = match near.map(|near| near.saturating_duration_since(Instant::now())) {
                None => self.over.wait(is_over).unwrap_or_else(PoisonError::into_inner),
                Some(Duration::ZERO) => break,
                Some(left) => {
                    let woken = self.over.wait_timeout(is_over, left);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        self.read.get()
    }
}

/// Whoever reads vectors back. Those who wait for them go on when it is dropped.
pub struct Reading(Arc<Awaited>);

impl Reading {
    /// Tells what was read.
    pub fn done(self, vectors: Vectors) {
        let _ = self.0.read.set(vectors);
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        *self.0.is_over() = true;
        self.0.over.notify_all();
    }
}

impl Snapshot {
    /// The notes and links of an earlier generation, whose words and vectors are not held any more.
    ///
    /// Asking it for words fails with [`KeywordError::Past`](crate::keyword::KeywordError::Past).
    #[must_use]
    pub fn past(generation: u64, notes: NoteTable) -> Self {
        Self { generation, notes, keyword: KeywordReader::past(generation), vectors: None }
    }

    /// Whether every chunk of `note` has its vector.
    ///
    /// True for every note where there is no model: nothing is pending then. The same before vectors are read back and after, unless they are damaged.
    #[must_use]
    pub fn is_fresh(&self, note: NoteId) -> bool {
        self.vectors
            .as_ref()
            .is_none_or(|vectors| vectors.rows_of(note).iter().all(Option::is_some))
    }
}

/// Gives out the newest snapshot. Cheap to clone.
#[derive(Clone)]
pub struct Reader(Arc<ArcSwap<Snapshot>>);

impl Reader {
    /// A reader that gives out `snapshot` for ever.
    #[must_use]
    pub fn of(snapshot: Arc<Snapshot>) -> Self {
        Self(Arc::new(ArcSwap::new(snapshot)))
    }

    /// The newest published snapshot. Never blocks; stays whole however long it is held.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.0.load_full()
    }
}

/// Publishes snapshots. Only the writer owns it.
pub struct Publisher(Arc<ArcSwap<Snapshot>>);

impl Publisher {
    /// Starts with `first`.
    #[must_use]
    pub fn new(first: Snapshot) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(first)))
    }

    /// Makes `next` the newest snapshot.
    pub fn publish(&self, next: Snapshot) {
        self.0.store(Arc::new(next));
    }

    /// The newest published snapshot.
    #[must_use]
    pub fn newest(&self) -> Arc<Snapshot> {
        self.0.load_full()
    }

    /// A reader of what is published here.
    #[must_use]
    pub fn reader(&self) -> Reader {
        Reader(Arc::clone(&self.0))
    }
}
