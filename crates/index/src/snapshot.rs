//! The state that readers see: notes, words, vectors and graph of one generation.

use std::sync::Arc;

use arc_swap::ArcSwap;
use weft_model::NoteId;

use crate::embedder::Embedder;
use crate::keyword::KeywordReader;
use crate::notes::NoteTable;
use crate::rows::NoteRows;
use crate::vector::VectorIndex;

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
    /// What made them, and makes the vector of a query to compare with them.
    pub embedder: Arc<dyn Embedder>,
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
    /// True for every note where there is no model: nothing is pending then.
    #[must_use]
    pub fn is_fresh(&self, note: NoteId) -> bool {
        self.vectors
            .as_ref()
            .is_none_or(|vectors| vectors.rows.of(note).iter().all(Option::is_some))
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
