//! The vector index: which chunks lie nearest to a query.
//!
//! Rows are chunks, numbered in the order they were added, each owned by a note.
//! The vectors lie in one row-major file, mapped; two copies in codes lie in memory and are what searches read: one byte per component, and half a byte.
//! Few rows are scanned, all of them, and the answer is exact: codes give a score and a bound of its error, half-codes first, and every row that could be among the best is scored again with its floats.
//! Many rows are searched by walking a graph of near neighbours, built in the background; rows added since are scanned.
//!
//! One [`VectorWriter`] appends, deletes and publishes; a [`VectorIndex`] never changes and shares what did not change with those before it.

mod block;
mod build;
mod file;
mod graph;
mod header;
mod index;
mod shortlist;
mod simd;
mod walk;
mod writer;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use weft_model::{NoteId, NoteSet};

pub use build::GraphParams;
pub use file::VectorFile;
pub use graph::FrozenGraph;
pub use index::{RowChecksum, VectorIndex, VectorParams};
pub use writer::{RowMap, VectorWriter};

/// The greatest dimension: sums of products of codes stay below 2³¹.
pub const MAX_DIMENSION: usize = 65_536;

/// The most rows of an index: a row and a mark share 32 bits while walking.
pub const MAX_ROWS: usize = 1 << 31;

/// How long a vector may be, rounding allowed for; shorter ones, zero included, are legal.
pub const MAX_NORM: f32 = 1.01;

/// The number of a row: one chunk of one note.
///
/// Rows are numbered from 0 in the order they were added and keep their number until the index is compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RowId(u32);

impl RowId {
    /// The id of row `index`.
    #[must_use]
    pub const fn new(index: u32) -> Self {
        Self(index)
    }

    /// The row as a number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The row as an index into a table.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// One chunk that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChunkHit {
    /// Which chunk.
    pub row: RowId,
    /// The note that owns it.
    pub note: NoteId,
    /// Its dot product with the query, in floats: the cosine, since both have length one.
    pub score: f32,
}

/// Nearest chunks to a query vector: the seam behind which vectors may one day live elsewhere.
///
/// One call per stage of a query, never one per item.
pub trait VectorSearch: Send + Sync {
    /// At most `k` chunks of notes that pass `filter`, best first, ties by the lower row.
    ///
    /// `query` has length one. Fails when it has the wrong dimension or is not finite.
    fn nearest(
        &self,
        query: &[f32],
        k: usize,
        filter: &NoteSet,
    ) -> Result<Vec<ChunkHit>, VectorError>;

    /// The exact score of each of `rows`, in their order, deleted ones included.
    ///
    /// Fails as `nearest` does, and when there is no such row.
    fn similarities(&self, query: &[f32], rows: &[RowId]) -> Result<Vec<f32>, VectorError>;
}

/// Why vectors could not be kept or compared.
#[derive(Debug, thiserror::Error)]
pub enum VectorError {
    /// A vector of another dimension than the index.
    #[error("a vector has {got} dimensions, the index holds {expected}")]
    Dimension {
        /// What the index holds.
        expected: usize,
        /// What came.
        got: usize,
    },
    /// A dimension no index can have.
    #[error("vectors have 1 to {MAX_DIMENSION} dimensions, not {dimension}")]
    UnsupportedDimension {
        /// What was asked for.
        dimension: usize,
    },
    /// A query with a component, or a length, that is no finite number.
    #[error("the query vector is not finite")]
    QueryNotFinite,
    /// A new vector that is not finite or longer than [`MAX_NORM`].
    #[error("vector {at} of the batch, of note {note:?}, is not finite or longer than one")]
    NotUnit {
        /// Its place in the batch, from 0.
        at: usize,
        /// Its note.
        note: NoteId,
    },
    /// A row the index does not have.
    #[error("there is no row {row}, the index has {n_rows}")]
    UnknownRow {
        /// What was asked for.
        row: u32,
        /// Rows there are.
        n_rows: usize,
    },
    /// More rows than [`MAX_ROWS`].
    #[error("an index holds at most {MAX_ROWS} vectors")]
    TooManyRows,
    /// Another number of owners than rows.
    #[error("{got} owners were given for {expected} rows")]
    Owners {
        /// Rows there are.
        expected: usize,
        /// Owners that came; one too many stands for all that followed.
        got: usize,
    },
    /// A graph that was built from other vectors.
    #[error("the graph was built from other vectors than the index holds")]
    ForeignGraph,
    /// A file that cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file that cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file that is something else.
    #[error("{} is no {kind}", path.display())]
    Magic {
        /// Which.
        path: PathBuf,
        /// What it should be.
        kind: &'static str,
    },
    /// A file written by a later release.
    #[error("{} has format version {found}, this release reads up to {supported}", path.display())]
    Version {
        /// Which.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest that can be read.
        supported: u32,
    },
    /// A file that lost its end.
    #[error("{} is {got} bytes long, at least {expected} are needed", path.display())]
    Short {
        /// Which.
        path: PathBuf,
        /// Bytes it must have.
        expected: u64,
        /// Bytes it has.
        got: u64,
    },
    /// A file whose content contradicts itself or its checksum.
    #[error("{} is damaged: {part}", path.display())]
    Damaged {
        /// Which.
        path: PathBuf,
        /// Where.
        part: &'static str,
    },
    /// A row that a crash or a disk spoiled: not finite or longer than [`MAX_NORM`].
    #[error("row {row} of {} is damaged", path.display())]
    DamagedRow {
        /// Which file.
        path: PathBuf,
        /// Which row.
        row: u32,
    },
}
