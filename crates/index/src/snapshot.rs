//! The state that readers see: notes, keyword index, vectors and graph of one generation.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use weft_model::NoteId;

use crate::embedder::{Calibration, Embedder};
use crate::keyword::KeywordReader;
use crate::note_rows::NoteRows;
use crate::notes::NoteTable;
use crate::truncated_maps::TruncatedFile;
use crate::vector::{RowId, VectorError, VectorIndex, VectorParams, VectorWriter};

/// Everything a request needs, of one point in time. Immutable; stays valid however long it is held.
#[derive(Clone)]
pub struct Snapshot {
    /// Number of the published state; equal numbers mean equal results.
    pub generation: u64,
    /// Notes, names, links and graph.
    pub notes: NoteTable,
    /// Keyword index.
    pub keyword: KeywordReader,
    /// Vectors and the notes they belong to; `None` without a model.
    pub vectors: Option<Vectors>,
}

/// The vectors of a snapshot.
#[derive(Clone)]
pub struct Vectors {
    /// The vector index.
    pub index: VectorIndex,
    /// Rows of each note.
    pub rows: NoteRows,
    /// Number of chunks whose vector is pending.
    pub n_waiting: usize,
    /// The stored vectors while they are loading; `None` afterwards.
    pub loading: Option<Arc<LoadingVectors>>,
    /// The model that made the vectors and embeds queries to compare with them.
    pub embedder: Arc<dyn Embedder>,
    /// Scale of the model's cosines.
    pub calibration: Calibration,
}

impl Vectors {
    /// Returns empty vectors that stand in for stored ones while those are loading, and the guard of the loading thread. Once loaded, notes will have these `rows`.
    pub fn loading(
        embedder: Arc<dyn Embedder>,
        params: VectorParams,
        (rows, n_waiting): (NoteRows, usize),
    ) -> Result<(Self, VectorLoadGuard), VectorError> {
        let loading = Arc::new(LoadingVectors {
            rows,
            loaded: OnceLock::new(),
            is_finished: Mutex::default(),
            finished: Condvar::new(),
        });
        let guard = VectorLoadGuard(Arc::clone(&loading));
        let empty = Self::with_rows((NoteRows::default(), n_waiting), embedder, params)?;
        Ok((Self { loading: Some(loading), ..empty }, guard))
    }

    /// Returns vectors without rows: every chunk of `notes` is pending.
    pub fn empty(
        notes: &NoteTable,
        embedder: Arc<dyn Embedder>,
        params: VectorParams,
    ) -> Result<Self, VectorError> {
        Self::with_rows(Self::unembedded_rows(notes), embedder, params)
    }

    /// Returns the rows of `notes` without any vectors, and the number of pending chunks.
    #[must_use]
    pub fn unembedded_rows(notes: &NoteTable) -> (NoteRows, usize) {
        let none = notes
            .summaries()
            .map(|(id, summary)| (id, summary.chunk_hashes().map(|_| None).collect()));
        (none.collect(), notes.total().n_chunks)
    }

    fn with_rows(
        (rows, n_waiting): (NoteRows, usize),
        embedder: Arc<dyn Embedder>,
        params: VectorParams,
    ) -> Result<Self, VectorError> {
        let index = VectorWriter::in_memory(embedder.identity().dimension, params)?.publish();
        let calibration = embedder.calibration().unwrap_or_default();
        Ok(Self { index, rows, n_waiting, loading: None, embedder, calibration })
    }

    /// Waits until the vectors are loaded, or until `deadline`, and returns them.
    ///
    /// Returns the empty stand-in if they cannot be loaded, or not in time.
    #[must_use]
    pub fn wait_loaded(&self, deadline: Option<Instant>) -> &Self {
        self.loading.as_ref().and_then(|loading| loading.wait(deadline)).unwrap_or(self)
    }

    /// True if the vectors are loading, so that a search for them waits.
    #[must_use]
    pub fn is_loading(&self) -> bool {
        self.loading.as_ref().is_some_and(|loading| !*loading.is_finished())
    }

    fn check_truncation(&self) -> Result<(), TruncatedFile> {
        let loaded = self.loading.as_ref().and_then(|loading| loading.loaded.get());
        loaded.unwrap_or(self).index.check_truncation()
    }

    /// Returns the rows of a note's chunks; while loading, those it will have.
    fn rows_of(&self, note: NoteId) -> &[Option<RowId>] {
        self.loading.as_ref().map_or(&self.rows, |loading| &loading.rows).of(note)
    }
}

/// Stored vectors that are being loaded.
pub struct LoadingVectors {
    /// Rows of the notes if all vectors are intact.
    rows: NoteRows,
    loaded: OnceLock<Vectors>,
    is_finished: Mutex<bool>,
    finished: Condvar,
}

impl LoadingVectors {
    fn is_finished(&self) -> MutexGuard<'_, bool> {
        self.is_finished.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, deadline: Option<Instant>) -> Option<&Vectors> {
        let mut is_finished = self.is_finished();
        while !*is_finished {
            is_finished =
                match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                    None => self.finished.wait(is_finished).unwrap_or_else(PoisonError::into_inner),
                    Some(Duration::ZERO) => break,
                    Some(left) => {
                        let woken = self.finished.wait_timeout(is_finished, left);
                        woken.unwrap_or_else(PoisonError::into_inner).0
                    }
                };
        }
        self.loaded.get()
    }
}

/// Guard of the thread that loads vectors. Waiting searches resume when it is dropped.
pub struct VectorLoadGuard(Arc<LoadingVectors>);

impl VectorLoadGuard {
    /// Publishes the loaded vectors to waiting searches.
    pub fn done(self, vectors: Vectors) {
        let _ = self.0.loaded.set(vectors);
    }
}

impl Drop for VectorLoadGuard {
    fn drop(&mut self) {
        *self.0.is_finished() = true;
        self.0.finished.notify_all();
    }
}

impl Snapshot {
    /// Returns a snapshot of an earlier generation with its notes and links only.
    ///
    /// Its keyword index fails with [`KeywordError::Unloaded`](crate::keyword::KeywordError::Unloaded).
    #[must_use]
    pub fn past(generation: u64, notes: NoteTable) -> Self {
        Self { generation, notes, keyword: KeywordReader::unloaded(generation), vectors: None }
    }

    /// Fails if another program truncated a file of this snapshot, and a missing part of it was read: what was read since must not be used.
    ///
    /// Costs no system call. The writer notices the truncation by itself and publishes a snapshot without the file.
    pub fn check_truncation(&self) -> Result<(), TruncatedFile> {
        self.notes.check_truncation()?;
        self.keyword.check_truncation()?;
        self.vectors.as_ref().map_or(Ok(()), Vectors::check_truncation)
    }

    /// True if every chunk of `note` has a current vector.
    ///
    /// True for every note without a model, since nothing is pending. Loading does not change the result, unless vectors are damaged.
    #[must_use]
    pub fn is_embedding_current(&self, note: NoteId) -> bool {
        self.vectors
            .as_ref()
            .is_none_or(|vectors| vectors.rows_of(note).iter().all(Option::is_some))
    }
}

/// Returns the newest snapshot. Cheap to clone.
#[derive(Clone)]
pub struct Reader(Arc<ArcSwap<Snapshot>>);

impl Reader {
    /// Creates a reader that always returns `snapshot`.
    #[must_use]
    pub fn of(snapshot: Arc<Snapshot>) -> Self {
        Self(Arc::new(ArcSwap::new(snapshot)))
    }

    /// Returns the newest published snapshot. Never blocks; the snapshot stays valid however long it is held.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.0.load_full()
    }
}

/// Publishes snapshots. Only the writer owns it.
pub struct Publisher(Arc<ArcSwap<Snapshot>>);

impl Publisher {
    /// Creates a publisher with a first snapshot.
    #[must_use]
    pub fn new(first: Snapshot) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(first)))
    }

    /// Makes `next` the newest snapshot.
    pub fn publish(&self, next: Snapshot) {
        self.0.store(Arc::new(next));
    }

    /// Returns the newest published snapshot.
    #[must_use]
    pub fn newest(&self) -> Arc<Snapshot> {
        self.0.load_full()
    }

    /// Returns a reader of this publisher.
    #[must_use]
    pub fn reader(&self) -> Reader {
        Reader(Arc::clone(&self.0))
    }
}
