//! The stored form of a table.
//!
//! The stored form is the searched form: sorted names, and the columns of the slots.
//! So opening a table only validates the shape of its columns, and loads notes on demand.

use std::io::{self, Write};
use std::sync::Arc;

use bytes::Bytes;
use imbl::Vector;
use weft_graph::NoteGraph;
use weft_model::{NoteBits, NoteId};

use super::backing_file::BackingFile;
use super::link_names::LinkNames;
use super::name_index::NameIndex;
use super::path_index::PathIndex;
use super::slots::{SlotColumn, Slots, StoredSlots};
use super::{NoteTable, VaultInfo, VaultStats};
use crate::byte_columns::{self, ColumnsWriter};
use crate::disk::FileStamp;
use crate::store::StoreError;
use crate::truncated_maps::TruncatedFile;

/// Name indexes of a table.
const N_NAME_INDEXES: usize = 9;

/// Columns of a table: one for the header, one for each column of the slots, and two for each name index.
const N_COLUMNS: usize = 1 + SlotColumn::ALL.len() + 2 * N_NAME_INDEXES;

/// Reason why bytes are not a valid table.
#[derive(Debug, thiserror::Error)]
#[error("the stored notes are inconsistent: {reason}")]
pub struct TableFormatError {
    reason: &'static str,
}

impl NoteTable {
    /// Writes this table without its graph, which has [columns](NoteGraph::columns) of its own.
    ///
    /// Notes that are not in memory are copied as stored, without checks; see [`check`](Self::check).
    pub fn write(&self, out: impl Write) -> io::Result<()> {
        let mut out = ColumnsWriter::new(out);
        let vaults: Vec<Option<&VaultInfo>> = self.vaults.iter().map(Option::as_deref).collect();
        let vault_stats: Vec<&VaultStats> = self.vault_stats.iter().collect();
        out.push(&rmp_serde::to_vec(&(vaults, vault_stats)).map_err(io::Error::other)?)?;
        out.end_column()?;
        let mut room = Vec::new();
        for part in SlotColumn::ALL {
            for at in 0..self.slots.len() {
                out.push(self.slots.part(at, part, &mut room)?)?;
            }
            out.end_column()?;
        }
        let mut folded = self.clone();
        for index in folded.name_indexes() {
            for column in index.columns() {
                column.iter().try_for_each(|item| out.push(item))?;
                out.end_column()?;
            }
        }
        out.finish()
    }

    /// Reads a stored table with its graph: same slots, links already resolved, notes loaded on demand.
    ///
    /// Without a graph, rebuilds it from the notes, which loads each of them.
    /// Validates only the shape of `bytes`; the store verifies the checksum. `O(slots)`, and fast.
    pub fn read(bytes: &Bytes, graph: Option<NoteGraph>) -> Result<Self, TableFormatError> {
        let format_error = |reason| TableFormatError { reason };
        let columns =
            byte_columns::read::<N_COLUMNS>(bytes).ok_or(format_error("a column is truncated"))?;
        let mut columns = columns.into_iter();
        let head = columns.next().unwrap_or_default();
        let head: (Vec<Option<VaultInfo>>, Vec<VaultStats>) = rmp_serde::from_slice(head.get(0))
            .map_err(|_| format_error("the header cannot be decoded"))?;
        let (vaults, vault_stats) = head;
        let parts = std::array::from_fn(|_| columns.next().unwrap_or_default());
        let slots = StoredSlots::new(parts).ok_or(format_error("columns differ in length"))?;
        let slots = Slots::of(slots);
        let (mut known, mut free) = (NoteBits::default(), Vector::new());
        for (at, id) in (0..slots.len()).zip((0..).map(NoteId::new)) {
            let is_free = slots.is_free(at);
            if graph.as_ref().is_some_and(|graph| graph.contains(id) == is_free) {
                return Err(format_error("notes and graph use different slots"));
            }
            if is_free {
                free.push_back(id);
            } else {
                known.insert(id);
            }
        }
        let mut table = Self {
            vaults: vaults.into_iter().map(|vault| vault.map(Arc::new)).collect(),
            vault_stats: vault_stats.into_iter().collect(),
            free,
            slots,
            ..Self::default()
        };
        for index in table.name_indexes() {
            let [names, notes] = std::array::from_fn(|_| columns.next().unwrap_or_default());
            *index = NameIndex::from_columns(names, notes, &known)
                .ok_or(format_error("a name refers to a free slot"))?;
        }
        table.graph = graph.unwrap_or_else(|| NoteGraph::build(table.graph_of_all()));
        Ok(table)
    }

    /// Sets the file that backs this table.
    pub(crate) fn backed_by(self, backing_file: BackingFile) -> Self {
        Self { backing_file, ..self }
    }

    /// Fails if a missing part of the truncated file that backs this table was read: what was read since must not be used. Costs no system call.
    pub fn check_truncation(&self) -> Result<(), TruncatedFile> {
        self.backing_file.truncation.check()
    }

    /// Fails with [`StoreError::Changed`] if another program changed the file that backs this table since it was opened: the table must not be used then.
    ///
    /// Reads the whole file.
    pub fn check(&self) -> Result<(), StoreError> {
        self.check_truncation()?;
        let BackingFile { path, stamp, bytes, crc32, truncation: _ } = &self.backing_file;
        if !FileStamp::is_cut(*stamp, FileStamp::of(path)) && crc32fast::hash(bytes) == *crc32 {
            return Ok(());
        }
        Err(StoreError::Changed { path: path.clone() })
    }

    /// Checks the file only if its stamp changed, and returns a table with the new stamp, so that each change is checked once. Otherwise costs one system call.
    pub fn check_touched(&self) -> Result<Option<Self>, StoreError> {
        let now = FileStamp::of(&self.backing_file.path);
        if self.backing_file.stamp == now {
            self.check_truncation()?;
            return Ok(None);
        }
        self.check()?;
        let backing_file = BackingFile { stamp: now, ..self.backing_file.clone() };
        Ok(Some(Self { backing_file, ..self.clone() }))
    }

    /// Returns an empty table over the same vaults.
    #[must_use]
    pub fn without_notes(&self) -> Self {
        Self { vaults: self.vaults.clone(), ..Self::default() }
    }

    /// Returns the name indexes, in file order.
    pub(super) const fn name_indexes(&mut self) -> [&mut NameIndex; N_NAME_INDEXES] {
        let Self {
            vaults: _,
            slots: _,
            free: _,
            by_path,
            path_index: PathIndex(path_index),
            by_uri,
            claims,
            placeholders,
            spellings,
            names: LinkNames { named, lookups, cross_vault_lookups },
            graph: _,
            vault_stats: _,
            backing_file: _,
        } = self;
        [
            by_path,
            path_index,
            by_uri,
            claims,
            placeholders,
            spellings,
            named,
            lookups,
            cross_vault_lookups,
        ]
    }
}
