//! A table as it is written down and read back.
//!
//! What is written is what is searched: names in order, and the parts of notes by slot.
//! So reading back is a look at the shape of the columns, and costs memory only for what is asked for.

use std::fmt;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use imbl::Vector;
use weft_graph::NoteGraph;
use weft_model::{NoteBits, NoteId};

use super::directory::Directory;
use super::names::Names;
use super::places::Places;
use super::slots::{Part, Slots, Written};
use super::{NoteTable, Tally, VaultInfo};
use crate::columns::{self, ColumnsWriter};
use crate::disk::Facts;
use crate::store::StoreError;

/// Directories of a table.
const N_DIRECTORIES: usize = 9;

/// Columns of a table: one for what it holds once, one for each part of a slot, and two for each directory.
const N_COLUMNS: usize = 1 + Part::ALL.len() + 2 * N_DIRECTORIES;

/// The file that a table rests on, with its checksum; of a table in memory, nothing.
#[derive(Clone, Default)]
pub(super) struct Source {
    path: PathBuf,
    /// What the file system said of it before it was last read.
    facts: Option<Facts>,
    bytes: Bytes,
    crc32: u32,
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Source({}, {} bytes)", self.path.display(), self.bytes.len())
    }
}

/// Why bytes are no table.
#[derive(Debug, thiserror::Error)]
#[error("the stored notes do not fit together: {what}")]
pub struct Unfit {
    what: &'static str,
}

impl NoteTable {
    /// Writes this table down, all but its graph, which has [columns](NoteGraph::columns) of its own.
    ///
    /// Of what is not in memory nothing comes into it; notes that were written down before are copied as they are, see [`check`](Self::check).
    pub fn write(&self, out: impl Write) -> io::Result<()> {
        let mut out = ColumnsWriter::new(out);
        let vaults: Vec<Option<&VaultInfo>> = self.vaults.iter().map(Option::as_deref).collect();
        let tallies: Vec<&Tally> = self.tallies.iter().collect();
        out.push(&rmp_serde::to_vec(&(vaults, tallies)).map_err(io::Error::other)?)?;
        out.end_column()?;
        let mut room = Vec::new();
        for part in Part::ALL {
            for at in 0..self.slots.len() {
                out.push(self.slots.part(at, part, &mut room)?)?;
            }
            out.end_column()?;
        }
        let mut folded = self.clone();
        for directory in folded.directories() {
            for column in directory.columns() {
                column.iter().try_for_each(|item| out.push(item))?;
                out.end_column()?;
            }
        }
        out.finish()
    }

    /// The table that was written down, with its graph: the same slots, no link resolved again, and no note read before it is asked for.
    ///
    /// Without a graph it is made again of what the notes say, for which each of them is read.
    /// Looks at the shape of `bytes`; the content is trusted, checksums are the store's matter. `O(slots)`, and small.
    pub fn read(bytes: &Bytes, graph: Option<NoteGraph>) -> Result<Self, Unfit> {
        let unfit = |what| Unfit { what };
        let columns = columns::read::<N_COLUMNS>(bytes).ok_or(unfit("a column is cut"))?;
        let mut columns = columns.into_iter();
        let head = columns.next().unwrap_or_default();
        let head: (Vec<Option<VaultInfo>>, Vec<Tally>) =
            rmp_serde::from_slice(head.get(0)).map_err(|_| unfit("its head cannot be read"))?;
        let (vaults, tallies) = head;
        let parts = std::array::from_fn(|_| columns.next().unwrap_or_default());
        let slots = Written::new(parts).ok_or(unfit("columns differ in length"))?;
        let slots = Slots::of(slots);
        let (mut known, mut free) = (NoteBits::default(), Vector::new());
        for (at, id) in (0..slots.len()).zip((0..).map(NoteId::new)) {
            let is_free = slots.is_free(at);
            if graph.as_ref().is_some_and(|graph| graph.contains(id) == is_free) {
                return Err(unfit("notes and graph do not name the same slots"));
            }
            if is_free {
                free.push_back(id);
            } else {
                known.insert(id);
            }
        }
        let mut table = Self {
            vaults: vaults.into_iter().map(|vault| vault.map(Arc::new)).collect(),
            tallies: tallies.into_iter().collect(),
            free,
            slots,
            ..Self::default()
        };
        for directory in table.directories() {
            let [names, notes] = std::array::from_fn(|_| columns.next().unwrap_or_default());
            *directory =
                Directory::of(names, notes, &known).ok_or(unfit("a name leads nowhere"))?;
        }
        table.graph = graph.unwrap_or_else(|| NoteGraph::build(table.graph_of_all()));
        Ok(table)
    }

    /// This table, which rests on the file at `path`, of these bytes and this checksum.
    pub(crate) fn resting_on(
        self,
        path: PathBuf,
        facts: Option<Facts>,
        bytes: Bytes,
        crc32: u32,
    ) -> Self {
        Self { source: Source { path, facts, bytes, crc32 }, ..self }
    }

    /// Fails with [`StoreError::Changed`] where another program changed the file that this table rests on since it was opened: nothing of it is to be trusted then.
    ///
    /// Reads the file, at the speed of reading.
    pub fn check(&self) -> Result<(), StoreError> {
        let Source { path, facts, bytes, crc32 } = &self.source;
        if !Facts::is_cut(*facts, Facts::of(path)) && crc32fast::hash(bytes) == *crc32 {
            return Ok(());
        }
        Err(StoreError::Changed { path: path.clone() })
    }

    /// The same where somebody touched that file, and gives the table that knows of it, so that one touch is looked into once; otherwise costs a question to the file system.
    pub fn check_touched(&self) -> Result<Option<Self>, StoreError> {
        let now = Facts::of(&self.source.path);
        if self.source.facts == now {
            return Ok(None);
        }
        self.check()?;
        let source = Source { facts: now, ..self.source.clone() };
        Ok(Some(Self { source, ..self.clone() }))
    }

    /// An empty table over the same vaults.
    #[must_use]
    pub fn emptied(&self) -> Self {
        Self { vaults: self.vaults.clone(), ..Self::default() }
    }

    /// The directories, in the order in which they are written down.
    pub(super) const fn directories(&mut self) -> [&mut Directory; N_DIRECTORIES] {
        let Self {
            vaults: _,
            slots: _,
            free: _,
            by_path,
            places: Places(places),
            by_uri,
            claims,
            placeholders,
            spellings,
            names: Names { answers, asked, asked_abroad },
            graph: _,
            tallies: _,
            source: _,
        } = self;
        [by_path, places, by_uri, claims, placeholders, spellings, answers, asked, asked_abroad]
    }
}
