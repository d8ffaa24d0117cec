//! The vector index: finds the chunks nearest to a query.
//!
//! Rows are chunks, numbered in the order they were added, each owned by a note.
//! The vectors are in one row-major, memory-mapped file; searches read two quantized copies in memory: codes of one byte per component, and half-codes of four bits.
//! A small index is scanned in full and its result is exact: half-codes, then codes, give a score with an error bound, and every row that may be among the best is scored again with its float vector.
//! A large index is searched by walking a graph of nearest neighbors, built in the background; rows added since are scanned.
//!
//! One [`VectorWriter`] appends, deletes and publishes; a [`VectorIndex`] is immutable and shares unchanged data with earlier ones.

mod file_header;
mod frozen_graph;
mod graph_build;
mod graph_params;
mod graph_search;
mod row_block;
mod shortlist;
mod simd;
mod vector_file;
mod vector_index;
mod vector_writer;

#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use weft_model::{NoteId, NoteSet};

pub use frozen_graph::FrozenGraph;
pub use graph_params::GraphParams;
pub use vector_file::VectorFile;
pub use vector_index::{RowChecksum, VectorIndex, VectorParams};
pub use vector_writer::{RowMap, VectorWriter};

/// Maximum dimension: sums of products of codes stay below 2³¹.
pub const MAX_DIMENSION: usize = 65_536;

/// Maximum number of rows: a row number and a flag share 32 bits during a graph walk.
pub const MAX_ROWS: usize = 1 << 31;

/// Maximum length of a vector, with a tolerance for rounding; shorter ones, zero included, are valid.
pub const MAX_NORM: f32 = 1.01;

/// Number of a row: one chunk of one note.
///
/// Rows are numbered from 0 in insertion order and keep their number until the index is compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RowId(u32);

impl RowId {
    /// Returns the id of row `index`.
    #[must_use]
    pub const fn new(index: u32) -> Self {
        Self(index)
    }

    /// Returns the row as a number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Returns the row as an index into a table.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A chunk found by a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChunkHit {
    /// Row of the chunk.
    pub row: RowId,
    /// Note that owns the chunk.
    pub note: NoteId,
    /// Dot product with the query, in floats: the cosine, since both have length one.
    pub score: f32,
}

/// Nearest-neighbor search over chunks: the interface behind which vectors may later be stored elsewhere.
///
/// One call per stage of a query, never one per item.
pub trait VectorSearch: Send + Sync {
    /// Returns up to `k` chunks of notes that pass `filter`, best first, ties by the lower row.
    ///
    /// `query` must have length one. Fails if it has the wrong dimension or is not finite.
    fn nearest(
        &self,
        query: &[f32],
        k: usize,
        filter: &NoteSet,
    ) -> Result<Vec<ChunkHit>, VectorError> {
        self.nearest_by(query, k, filter, &|_, _| Ordering::Equal)
    }

    /// Like [`nearest`](Self::nearest), with ties between notes decided by `tie`.
    ///
    /// Row numbers depend on the history of the index, so that they decide nothing about notes if `tie` orders all of them.
    fn nearest_by(
        &self,
        query: &[f32],
        k: usize,
        filter: &NoteSet,
        tie: &dyn Fn(NoteId, NoteId) -> Ordering,
    ) -> Result<Vec<ChunkHit>, VectorError>;

    /// Returns the exact score of each of `rows`, in their order, deleted ones included.
    ///
    /// Fails as `nearest` does, and if a row does not exist.
    fn similarities(&self, query: &[f32], rows: &[RowId]) -> Result<Vec<f32>, VectorError>;
}

/// Reason why vectors could not be stored or compared.
#[derive(Debug, thiserror::Error)]
pub enum VectorError {
    /// The dimension of a vector differs from that of the index.
    #[error("a vector has {got} dimensions; the index has {expected}")]
    Dimension {
        /// Dimension of the index.
        expected: usize,
        /// Dimension of the vector.
        got: usize,
    },
    /// The dimension is out of range.
    #[error("unsupported dimension {dimension}; the range is 1 to {MAX_DIMENSION}")]
    UnsupportedDimension {
        /// The requested dimension.
        dimension: usize,
    },
    /// A component or the length of the query is not finite.
    #[error("the query vector is not finite")]
    QueryNotFinite,
    /// A new vector is not finite or longer than [`MAX_NORM`].
    #[error("vector {at} of the batch, of note {note:?}, is not finite or is longer than one")]
    InvalidNorm {
        /// Position in the batch, from 0.
        at: usize,
        /// Note of the vector.
        note: NoteId,
    },
    /// The row does not exist.
    #[error("row {row} does not exist; the index has {n_rows} rows")]
    UnknownRow {
        /// The requested row.
        row: u32,
        /// Number of rows.
        n_rows: usize,
    },
    /// The index would have more rows than [`MAX_ROWS`].
    #[error("an index can hold at most {MAX_ROWS} vectors")]
    TooManyRows,
    /// The number of owners differs from the number of rows.
    #[error("{got} owners were given for {expected} rows")]
    OwnerCount {
        /// Number of rows.
        expected: usize,
        /// Number of owners; one more than the rows stands for any larger number.
        got: usize,
    },
    /// The graph was built from other vectors.
    #[error("the graph was built from other vectors than those of the index")]
    GraphMismatch,
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Error of the file system.
        source: std::io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// Error of the file system.
        source: std::io::Error,
    },
    /// A file has another format.
    #[error("{} is not a {kind}", path.display())]
    WrongFormat {
        /// Path of the file.
        path: PathBuf,
        /// Expected format.
        kind: &'static str,
    },
    /// A file was written by a later release.
    #[error("{} has format version {found}; this release reads up to {supported}", path.display())]
    Version {
        /// Path of the file.
        path: PathBuf,
        /// Version of the file.
        found: u32,
        /// Newest supported version.
        supported: u32,
    },
    /// A file is truncated.
    #[error("{} is {got} bytes long, at least {expected} are needed", path.display())]
    Truncated {
        /// Path of the file.
        path: PathBuf,
        /// Minimum length in bytes.
        expected: u64,
        /// Length in bytes.
        got: u64,
    },
    /// The content of a file is inconsistent or does not match its checksum.
    #[error("{} is damaged: {part}", path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Damaged part.
        part: &'static str,
    },
    /// A stored row is not finite or longer than [`MAX_NORM`], after a crash or a disk error.
    #[error("row {row} of {} is damaged", path.display())]
    DamagedRow {
        /// Path of the file.
        path: PathBuf,
        /// Number of the row.
        row: u32,
    },
}
