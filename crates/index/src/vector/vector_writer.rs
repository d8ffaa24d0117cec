//! The single writer of an index: appends, deletes, publishes, compacts.

use std::path::Path;
use std::sync::Arc;

use imbl::OrdSet;
use weft_model::NoteId;

use super::frozen_graph::FrozenGraph;
use super::row_block::{BlockVectors, RowBits, RowBlock, has_valid_norm, is_set, positions};
use super::simd::Kernel;
use super::vector_file::{BLOCK_ROWS, VectorFile, to_u32};
use super::vector_index::{VectorIndex, VectorParams};
use super::{MAX_DIMENSION, MAX_ROWS, RowId, VectorError};
use crate::disk::Disk;

/// New number of each old row after compaction; `None` for deleted rows.
pub type RowMap = Vec<Option<RowId>>;

/// Changes an index and publishes its states.
///
/// Changes are visible after the next [`publish`](Self::publish) and never in states published before.
#[derive(Debug)]
pub struct VectorWriter {
    /// `None` if vectors are only in memory.
    file: Option<VectorFile>,
    dimension: usize,
    n_rows: usize,
    n_live: usize,
    blocks: Vec<RowBlock>,
    graph: Option<Arc<FrozenGraph>>,
    copies: OrdSet<(u32, u32)>,
    params: VectorParams,
    kernel: Kernel,
}

impl VectorWriter {
    /// Creates an empty index with its vectors in memory.
    pub fn in_memory(dimension: usize, params: VectorParams) -> Result<Self, VectorError> {
        if !(1..=MAX_DIMENSION).contains(&dimension) {
            return Err(VectorError::UnsupportedDimension { dimension });
        }
        Ok(Self::empty(None, dimension, params))
    }

    /// Creates an empty index with a new file at `path`, which must not exist.
    pub fn create(
        disk: &Disk,
        path: &Path,
        dimension: usize,
        params: VectorParams,
    ) -> Result<Self, VectorError> {
        Ok(Self::empty(Some(VectorFile::create(disk, path, dimension)?), dimension, params))
    }

    /// Opens the first `n_rows` rows of the file at `path`; `owners` has the owner of each, `None` for a deleted row.
    ///
    /// Reads every vector once to quantize it.
    /// The graph is attached separately, see [`attach`](Self::attach).
    pub fn open(
        disk: &Disk,
        path: &Path,
        dimension: usize,
        n_rows: usize,
        owners: impl IntoIterator<Item = Option<NoteId>>,
        params: VectorParams,
    ) -> Result<Self, VectorError> {
        let file = VectorFile::open(disk, path, dimension, n_rows)?;
        let mut writer = Self::empty(None, dimension, params);
        let mut owners = owners.into_iter();
        for first in (0..n_rows).step_by(BLOCK_ROWS) {
            let vectors = file.block(first / BLOCK_ROWS);
            let mut block = RowBlock::new(dimension, BlockVectors::Mapped(vectors.clone()));
            for (at, row) in (first..n_rows).take(BLOCK_ROWS).enumerate() {
                let owner =
                    owners.next().ok_or(VectorError::OwnerCount { expected: n_rows, got: row })?;
                // Deleted rows are quantized too, since graphs link through them; damage to their vectors is ignored.
                let sound = block.set(writer.kernel, at, owner, vectors.row(at, dimension));
                if owner.is_some() && !sound {
                    return Err(VectorError::DamagedRow {
                        path: path.to_owned(),
                        row: to_u32(row),
                    });
                }
                writer.n_live += usize::from(owner.is_some());
            }
            writer.blocks.push(block);
        }
        if owners.next().is_some() {
            return Err(VectorError::OwnerCount { expected: n_rows, got: n_rows + 1 });
        }
        Ok(Self { file: Some(file), n_rows, ..writer })
    }

    /// Appends rows and returns their numbers. `O(new rows)`, plus the copy of one block if it is shared.
    ///
    /// Validates all rows first; after an error, none was added.
    /// Durable after [`sync`](Self::sync).
    pub fn append(&mut self, rows: &[(NoteId, &[f32])]) -> Result<Vec<RowId>, VectorError> {
        for (at, &(note, vector)) in rows.iter().enumerate() {
            if vector.len() != self.dimension {
                return Err(VectorError::Dimension { expected: self.dimension, got: vector.len() });
            }
            if !has_valid_norm(self.kernel.dot_f32(vector, vector).sqrt()) {
                return Err(VectorError::InvalidNorm { at, note });
            }
        }
        if rows.len() > MAX_ROWS - self.n_rows {
            return Err(VectorError::TooManyRows);
        }
        if let Some(file) = &mut self.file {
            file.append(rows.iter().map(|&(_, vector)| vector))?;
        }
        let first = self.n_rows;
        for &(note, vector) in rows {
            let (block, at) = (self.n_rows / BLOCK_ROWS, self.n_rows % BLOCK_ROWS);
            if block == self.blocks.len() {
                let floats = match &self.file {
                    Some(file) => BlockVectors::Mapped(file.block(block)),
                    None => BlockVectors::Memory(Arc::default()),
                };
                self.blocks.push(RowBlock::new(self.dimension, floats));
            }
            let block = &mut self.blocks[block];
            if let BlockVectors::Memory(values) = &mut block.floats {
                Arc::make_mut(values).extend_from_slice(vector);
            }
            block.set(self.kernel, at, Some(note), vector);
            self.n_rows += 1;
        }
        self.n_live += rows.len();
        Ok((first..self.n_rows).map(|row| RowId::new(to_u32(row))).collect())
    }

    /// Deletes rows and returns how many were live. `O(rows)`; copies no block.
    ///
    /// If a row does not exist, fails and deletes nothing.
    pub fn delete(&mut self, rows: &[RowId]) -> Result<usize, VectorError> {
        if let Some(row) = rows.iter().find(|row| row.index() >= self.n_rows) {
            return Err(VectorError::UnknownRow { row: row.get(), n_rows: self.n_rows });
        }
        let before = self.n_live;
        for row in rows {
            let (block, at) = (row.index() / BLOCK_ROWS, row.index() % BLOCK_ROWS);
            let live = &mut self.blocks[block].live;
            self.n_live -= usize::from(is_set(live, at));
            live[at / 64] &= !(1 << (at % 64));
        }
        Ok(before - self.n_live)
    }

    /// Returns the current state. `O(blocks)`: 5 µs for 100,000 rows.
    #[must_use]
    pub fn publish(&self) -> VectorIndex {
        VectorIndex {
            dimension: self.dimension,
            n_rows: self.n_rows,
            n_live: self.n_live,
            blocks: self.blocks.as_slice().into(),
            graph: self.graph.clone(),
            copies: self.copies.clone(),
            params: self.params,
            kernel: self.kernel,
            truncation: self.file.as_ref().map(VectorFile::truncation).unwrap_or_default(),
        }
    }

    /// True if a missing part of the truncated file was read.
    pub(crate) fn is_truncated(&self) -> bool {
        self.file.as_ref().is_some_and(|file| file.truncation().is_raised())
    }

    /// Uses `graph` for searches in later states; it must have been built from a state of this index or loaded for it.
    pub fn attach(&mut self, graph: Arc<FrozenGraph>) -> Result<(), VectorError> {
        self.publish().check_graph(&graph)?;
        self.detach();
        self.graph = Some(graph);
        Ok(())
    }

    /// Removes the graph from later states.
    pub fn detach(&mut self) {
        (self.graph, self.copies) = (None, OrdSet::new());
        self.blocks.iter_mut().for_each(|block| block.copies = RowBits::default());
    }

    /// Returns the attached graph.
    #[must_use]
    pub const fn graph(&self) -> Option<&Arc<FrozenGraph>> {
        self.graph.as_ref()
    }

    /// Makes a walk that finds the row `of`, which the graph must have, find the later row `copy` too, so that it is not scanned.
    ///
    /// The rows must have the same vector.
    pub fn add_copy(&mut self, of: RowId, copy: RowId) {
        let (block, at) = (copy.index() / BLOCK_ROWS, copy.index() % BLOCK_ROWS);
        self.blocks[block].copies[at / 64] |= 1 << (at % 64);
        self.copies.insert((of.get(), copy.get()));
    }

    /// Returns the number of floats per vector.
    #[must_use]
    pub const fn dimension(&self) -> usize {
        self.dimension
    }

    /// Makes every appended row durable. A no-op in memory.
    pub fn sync(&self) -> Result<(), VectorError> {
        self.file.as_ref().map_or(Ok(()), VectorFile::sync)
    }

    /// Returns the live rows, ascending.
    #[must_use]
    pub fn live_rows(&self) -> Vec<RowId> {
        let blocks = self.blocks.iter().zip((0..).step_by(BLOCK_ROWS));
        let rows = blocks.flat_map(|(block, first)| {
            positions(&block.live).map(move |at| RowId::new(to_u32(first + at)))
        });
        rows.collect()
    }

    /// Copies `rows`, which must exist and differ, in this order to a new file, durably, or to memory if `file` is `None`. Deleted ones stay deleted.
    ///
    /// This index does not change. The new one has no graph, since rows get new numbers, as returned in the map.
    pub fn reorder(
        &self,
        rows: &[RowId],
        file: Option<(&Disk, &Path)>,
    ) -> Result<(Self, RowMap), VectorError> {
        let mut reordered = match file {
            Some((disk, path)) => Self::create(disk, path, self.dimension, self.params)?,
            None => Self::in_memory(self.dimension, self.params)?,
        };
        let mut map = vec![None; self.n_rows];
        for rows in rows.chunks(BLOCK_ROWS) {
            let place = |row: &RowId| (row.index() / BLOCK_ROWS, row.index() % BLOCK_ROWS);
            let copied: Vec<(NoteId, &[f32])> = rows
                .iter()
                .map(|row| {
                    let (block, at) = place(row);
                    let block = &self.blocks[block];
                    (block.codes.owners[at], block.floats.row(at, self.dimension))
                })
                .collect();
            let new = reordered.append(&copied)?;
            let is_dead = |row: &RowId| {
                let (block, at) = place(row);
                !is_set(&self.blocks[block].live, at)
            };
            let dead: Vec<RowId> = rows
                .iter()
                .zip(&new)
                .filter(|(row, _)| is_dead(row))
                .map(|(_, new)| *new)
                .collect();
            reordered.delete(&dead)?;
            for (row, new) in rows.iter().zip(new) {
                map[row.index()] = Some(new);
            }
        }
        reordered.sync()?;
        Ok((reordered, map))
    }

    fn empty(file: Option<VectorFile>, dimension: usize, params: VectorParams) -> Self {
        let kernel = Kernel::detect();
        Self {
            file,
            dimension,
            n_rows: 0,
            n_live: 0,
            blocks: Vec::new(),
            graph: None,
            copies: OrdSet::new(),
            params,
            kernel,
        }
    }
}
