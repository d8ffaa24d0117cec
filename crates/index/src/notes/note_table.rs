//! The note table and its queries.

use std::sync::Arc;

use imbl::Vector;
use weft_graph::NoteGraph;
use weft_model::id::without_markdown_extension;
use weft_model::{NoteId, NotePath, Uri};

use super::backing_file::BackingFile;
use super::link_names::LinkNames;
use super::name_index::{NameIndex, vault_key};
use super::path_index::PathIndex;
use super::slots::{Slots, TableSlot};
use super::vault_stats::VaultStats;
use super::{Facets, NoteEntry, NoteSummary, ResolvedNote, VaultId, VaultInfo};

/// Every note and placeholder of a snapshot. Cloning is cheap and shares everything.
#[derive(Clone, Debug, Default)]
pub struct NoteTable {
    /// By [`VaultId`]; `None` for a removed vault.
    pub(super) vaults: Vector<Option<Arc<VaultInfo>>>,
    pub(super) slots: Slots,
    pub(super) free: Vector<NoteId>,
    pub(super) by_path: NameIndex,
    pub(super) path_index: PathIndex,
    pub(super) by_uri: NameIndex,
    /// By the uri that a note prefers, and its path.
    pub(super) claims: NameIndex,
    /// By case-folded name.
    pub(super) placeholders: NameIndex,
    /// By placeholder, path of the linking note, and its spelling of the name.
    pub(super) spellings: NameIndex,
    pub(super) names: LinkNames,
    pub(super) graph: NoteGraph,
    /// By [`VaultId`].
    pub(super) vault_stats: Vector<VaultStats>,
    pub(super) backing_file: BackingFile,
}

impl NoteTable {
    /// Creates an empty table over these vaults.
    #[must_use]
    pub fn new(vaults: impl IntoIterator<Item = VaultInfo>) -> Self {
        let vaults = vaults.into_iter().map(|info| Some(Arc::new(info)));
        Self { vaults: vaults.collect(), ..Self::default() }
    }

    /// Returns the vaults, by [`VaultId`].
    pub fn vaults(&self) -> impl Iterator<Item = (VaultId, &VaultInfo)> {
        let vaults = self.vaults.iter().zip(0..);
        vaults.filter_map(|(vault, id)| Some((VaultId(id), &**vault.as_ref()?)))
    }

    /// Returns a vault; `None` if it was removed or never existed.
    #[must_use]
    pub fn vault(&self, id: VaultId) -> Option<&VaultInfo> {
        self.vaults.get(usize::from(id.0))?.as_deref()
    }

    /// Returns the graph of notes and placeholders.
    #[must_use]
    pub const fn graph(&self) -> &NoteGraph {
        &self.graph
    }

    /// Returns the statistics of a vault. `O(1)`.
    #[must_use]
    pub fn vault_stats(&self, vault: VaultId) -> VaultStats {
        self.vault_stats.get(usize::from(vault.0)).copied().unwrap_or_default()
    }

    /// Returns the statistics of all vaults. `O(vaults)`.
    #[must_use]
    pub fn total(&self) -> VaultStats {
        let mut total = VaultStats::default();
        self.vault_stats.iter().for_each(|tally| total.add(tally));
        total
    }

    /// Returns the number of notes, without placeholders.
    #[must_use]
    pub fn n_notes(&self) -> usize {
        self.by_path.len()
    }

    /// True if a slot holds a note.
    #[must_use]
    pub fn is_note(&self, id: NoteId) -> bool {
        self.slots.summary(id.index()).is_some()
    }

    /// Returns the summary of the note in a slot. It loads nothing, so it suits passes over all notes of a large vault.
    #[must_use]
    pub fn summary(&self, id: NoteId) -> Option<NoteSummary<'_>> {
        self.slots.summary(id.index())
    }

    /// Returns the tags, type and properties of the note in a slot. They are decoded for the caller and not cached.
    #[must_use]
    pub fn facets(&self, id: NoteId) -> Option<Facets<'_>> {
        self.slots.facets(id.index())
    }

    /// Returns the body of the note in a slot. It loads nothing, so it suits passes over all notes of a large vault.
    #[must_use]
    pub fn body(&self, id: NoteId) -> Option<&str> {
        self.slots.body(id.index())
    }

    /// Returns the names by which links find notes, case-folded and in order, with their notes.
    pub fn link_names(&self) -> impl Iterator<Item = (&str, NoteId)> {
        self.names.all()
    }

    /// Returns the summaries of all notes, by vault and path.
    pub fn summaries(&self) -> impl Iterator<Item = (NoteId, NoteSummary<'_>)> {
        self.by_path.iter_from(&[]).filter_map(|(_, id)| Some((id, self.summary(id)?)))
    }

    /// Returns the note in a slot. A stored note is loaded on first use and kept in memory.
    #[must_use]
    pub fn entry(&self, id: NoteId) -> Option<&Arc<NoteEntry>> {
        self.slots.get(id.index())?.entry()
    }

    /// Returns the note in a slot if it is in memory; `None` if it would have to be loaded.
    #[must_use]
    pub fn loaded_entry(&self, id: NoteId) -> Option<&Arc<NoteEntry>> {
        self.slots.get_loaded(id.index())?.entry()
    }

    /// Returns the uri and resolved links of the note in a slot.
    #[must_use]
    pub fn resolved(&self, id: NoteId) -> Option<&ResolvedNote> {
        match self.slots.get(id.index()) {
            Some(TableSlot::Note(_, resolved)) => Some(resolved),
            Some(TableSlot::Free | TableSlot::Placeholder(_)) | None => None,
        }
    }

    /// Returns the note at a path.
    #[must_use]
    pub fn at(&self, vault: VaultId, path: &NotePath) -> Option<NoteId> {
        self.by_path.first(&vault_key(vault, path.as_str()))
    }

    /// Returns all notes by vault and path. Loads each of them into memory; see [`summaries`](Self::summaries).
    pub fn by_path(&self) -> impl Iterator<Item = (NoteId, &Arc<NoteEntry>)> {
        self.by_path.iter_from(&[]).filter_map(|(_, id)| Some((id, self.entry(id)?)))
    }

    /// Returns the summaries of the note at `path` and of those in the folder `path`, by path; those of all notes of the vault if `path` is empty.
    pub fn at_or_below(
        &self,
        vault: VaultId,
        path: &str,
    ) -> impl Iterator<Item = (NoteId, NoteSummary<'_>)> {
        let itself = self.by_path.first(&vault_key(vault, path));
        let folder = if path.is_empty() { String::new() } else { format!("{path}/") };
        let below = self.by_path.with_prefix(&vault_key(vault, &folder)).map(|(_, id)| id);
        itself.into_iter().chain(below).filter_map(|id| Some((id, self.summary(id)?)))
    }

    /// Returns all notes by uri, from the first that is greater than `after`.
    pub fn by_uri_after(&self, after: Option<&Uri>) -> impl Iterator<Item = (&Uri, NoteId)> {
        let after = after.map_or("", Uri::as_str).as_bytes();
        let from = self.by_uri.iter_from(after).skip_while(move |(uri, _)| *uri == after);
        from.map(|(_, id)| (self.graph.uri(id), id))
    }

    /// Returns the title of a note; the name of a placeholder.
    #[must_use]
    pub fn title(&self, id: NoteId) -> &str {
        self.summary(id).map_or_else(|| self.graph.uri(id).as_str(), |summary| summary.title)
    }

    /// Returns the path of the note in a slot.
    pub(super) fn path_of(&self, id: NoteId) -> Option<&str> {
        self.summary(id).map(|summary| summary.path)
    }

    pub(super) fn bare_path(&self, id: NoteId) -> Option<&str> {
        self.path_of(id).map(without_markdown_extension)
    }

    pub(super) fn allocate(&mut self) -> NoteId {
        if let Some(id) = self.free.pop_front() {
            return id;
        }
        NoteId::new(
            u32::try_from(self.slots.push(TableSlot::Free))
                .expect("a snapshot holds fewer than 2^32 slots"),
        )
    }
}
