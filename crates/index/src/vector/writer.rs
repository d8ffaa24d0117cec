//! The one writer of an index: appends, deletes, publishes, compacts.

use std::path::Path;
use std::sync::Arc;

use weft_model::NoteId;

use super::block::{BLOCK_ROWS, Block, Floats, is_set, is_sound, positions};
use super::file::{VectorFile, to_u32};
use super::graph::FrozenGraph;
use super::index::{VectorIndex, VectorParams};
use super::simd::Kernel;
use super::{MAX_DIMENSION, MAX_ROWS, RowId, VectorError};
use crate::disk::Disk;

/// Where the rows of an index went when it was compacted, by old row; nothing for deleted rows.
pub type RowMap = Vec<Option<RowId>>;

/// Changes an index and publishes its states.
///
/// Changes show in the next [`publish`](Self::publish) and never in states published before.
#[derive(Debug)]
pub struct VectorWriter {
    /// Nothing when vectors live in memory only.
    file: Option<VectorFile>,
    dimension: usize,
    n_rows: usize,
    n_live: usize,
    blocks: Vec<Block>,
    graph: Option<Arc<FrozenGraph>>,
    params: VectorParams,
    kernel: Kernel,
}

impl VectorWriter {
    /// An empty index that keeps its vectors in memory.
    pub fn in_memory(dimension: usize, params: VectorParams) -> Result<Self, VectorError> {
        if !(1..=MAX_DIMENSION).contains(&dimension) {
            return Err(VectorError::UnsupportedDimension { dimension });
        }
        Ok(Self::empty(None, dimension, params))
    }

    /// An empty index with a new file at `path`, where nothing may lie yet.
    pub fn create(
        disk: &Disk,
        path: &Path,
        dimension: usize,
        params: VectorParams,
    ) -> Result<Self, VectorError> {
        Ok(Self::empty(Some(VectorFile::create(disk, path, dimension)?), dimension, params))
    }

    /// Opens the first `n_rows` rows of the file at `path`; `owners` says whose each is, nothing for a deleted row.
    ///
    /// Reads every vector once, to code it.
    /// A graph is attached afterwards, see [`attach`](Self::attach).
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
            let mut block = Block::new(dimension, Floats::Mapped(vectors.clone()));
            for (at, row) in (first..n_rows).take(BLOCK_ROWS).enumerate() {
                let owner =
                    owners.next().ok_or(VectorError::Owners { expected: n_rows, got: row })?;
                // Deleted rows are coded too, since graphs lead through them; what became of their vectors is no matter.
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
            return Err(VectorError::Owners { expected: n_rows, got: n_rows + 1 });
        }
        Ok(Self { file: Some(file), n_rows, ..writer })
    }

    /// Adds rows, in order, and returns their numbers. `O(new rows)`, and one block copied if it is shared.
    ///
    /// Checks all of them before it changes anything; after an error nothing is added.
    /// Durable after [`sync`](Self::sync).
    pub fn append(&mut self, rows: &[(NoteId, &[f32])]) -> Result<Vec<RowId>, VectorError> {
        for (at, &(note, vector)) in rows.iter().enumerate() {
            if vector.len() != self.dimension {
                return Err(VectorError::Dimension { expected: self.dimension, got: vector.len() });
            }
            if !is_sound(self.kernel.dot_f32(vector, vector).sqrt()) {
                return Err(VectorError::NotUnit { at, note });
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
                    Some(file) => Floats::Mapped(file.block(block)),
                    None => Floats::Memory(Arc::default()),
                };
                self.blocks.push(Block::new(self.dimension, floats));
            }
            let block = &mut self.blocks[block];
            if let Floats::Memory(values) = &mut block.floats {
                Arc::make_mut(values).extend_from_slice(vector);
            }
            block.set(self.kernel, at, Some(note), vector);
            self.n_rows += 1;
        }
        self.n_live += rows.len();
        Ok((first..self.n_rows).map(|row| RowId::new(to_u32(row))).collect())
    }

    /// Deletes rows and returns how many lived until now. `O(rows)`; copies no block.
    ///
    /// Fails, and deletes nothing, when there is no such row.
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

    /// The state of now. `O(blocks)`: 5 µs for 100,000 rows.
    #[must_use]
    pub fn publish(&self) -> VectorIndex {
        VectorIndex {
            dimension: self.dimension,
            n_rows: self.n_rows,
            n_live: self.n_live,
            blocks: self.blocks.as_slice().into(),
            graph: self.graph.clone(),
            params: self.params,
            kernel: self.kernel,
        }
    }

    /// Makes searches of later states walk `graph`, which was built from a state of this index or loaded for it.
    pub fn attach(&mut self, graph: Arc<FrozenGraph>) -> Result<(), VectorError> {
        self.publish().check_graph(&graph)?;
        self.graph = Some(graph);
        Ok(())
    }

    /// Floats per vector.
    #[must_use]
    pub const fn dimension(&self) -> usize {
        self.dimension
    }

    /// Makes every appended row durable. Nothing to do in memory.
    pub fn sync(&self) -> Result<(), VectorError> {
        self.file.as_ref().map_or(Ok(()), VectorFile::sync)
    }

    /// Copies the living rows, in order, to a new file, durably, or to memory without one.
    ///
    /// This index stays as it is. The new one has no graph: rows have other numbers, which the map tells.
    pub fn compact(&self, file: Option<(&Disk, &Path)>) -> Result<(Self, RowMap), VectorError> {
        let mut compacted = match file {
            Some((disk, path)) => Self::create(disk, path, self.dimension, self.params)?,
            None => Self::in_memory(self.dimension, self.params)?,
        };
        let mut map = vec![None; self.n_rows];
        for (block, first) in self.blocks.iter().zip((0..).step_by(BLOCK_ROWS)) {
            let rows: Vec<(NoteId, &[f32])> = positions(&block.live)
                .map(|at| (block.codes.owners[at], block.floats.row(at, self.dimension)))
                .collect();
            let new = compacted.append(&rows)?;
            for (at, row) in positions(&block.live).zip(new) {
                map[first + at] = Some(row);
            }
        }
        compacted.sync()?;
        Ok((compacted, map))
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
            params,
            kernel,
        }
    }
}
