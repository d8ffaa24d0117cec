//! The table itself: what it holds and what can be asked of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use imbl::Vector;
use serde::{Deserialize, Serialize};
use weft_graph::{NodeSpec, NoteGraph};
use weft_model::id::without_markdown_extension;
use weft_model::{NoteId, NotePath, Uri};

use super::directory::{Directory, within};
use super::hierarchy::FolderNotes;
use super::names::Names;
use super::places::Places;
use super::slots::{Slot, Slots};
use super::stored::Source;
use super::tally::Tally;
use super::{Card, Facets, NoteEntry, VaultId, VaultInfo};

/// What the rest of the vault makes of a note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolved {
    /// Its uri on the wire.
    pub uri: Uri,
    /// Per link of the note: the note or placeholder it means; nothing for a plain string that means no note.
    pub targets: Vec<Option<NoteId>>,
    /// Which of its links, by index, could equally well mean another note.
    pub ambiguous: Vec<u32>,
}

/// Every note and placeholder of a snapshot. Cloning is cheap and shares everything.
#[derive(Clone, Debug, Default)]
pub struct NoteTable {
    /// By [`VaultId`]; nothing where a vault was taken out.
    pub(super) vaults: Vector<Option<Arc<VaultInfo>>>,
    pub(super) slots: Slots,
    pub(super) free: Vector<NoteId>,
    pub(super) by_path: Directory,
    pub(super) places: Places,
    pub(super) by_uri: Directory,
    /// By the uri a note would have if no other claimed it, and its path.
    pub(super) claims: Directory,
    /// By their folded names.
    pub(super) placeholders: Directory,
    /// By placeholder, path of the note that links to it, and how that spells its name.
    pub(super) spellings: Directory,
    pub(super) names: Names,
    pub(super) graph: NoteGraph,
    /// By [`VaultId`].
    pub(super) tallies: Vector<Tally>,
    pub(super) source: Source,
}

impl NoteTable {
    /// An empty table over these vaults.
    #[must_use]
    pub fn new(vaults: impl IntoIterator<Item = VaultInfo>) -> Self {
        let vaults = vaults.into_iter().map(|info| Some(Arc::new(info)));
        Self { vaults: vaults.collect(), ..Self::default() }
    }

    /// The vaults, by [`VaultId`].
    pub fn vaults(&self) -> impl Iterator<Item = (VaultId, &VaultInfo)> {
        let vaults = self.vaults.iter().zip(0..);
        vaults.filter_map(|(vault, id)| Some((VaultId(id), &**vault.as_ref()?)))
    }

    /// A vault; nothing where it was taken out or never was.
    #[must_use]
    pub fn vault(&self, id: VaultId) -> Option<&VaultInfo> {
        self.vaults.get(usize::from(id.0))?.as_deref()
    }

    /// The graph of notes and placeholders.
    #[must_use]
    pub const fn graph(&self) -> &NoteGraph {
        &self.graph
    }

    /// The number of notes, placeholders not counted.
    #[must_use]
    pub fn n_notes(&self) -> usize {
        self.by_path.len()
    }

    /// Whether a slot holds a note.
    #[must_use]
    pub fn is_note(&self, id: NoteId) -> bool {
        self.slots.card(id.index()).is_some()
    }

    /// What is at hand of the note in a slot. Costs no reading, so this is what to ask of every note of a large vault.
    #[must_use]
    pub fn card(&self, id: NoteId) -> Option<Card<'_>> {
        self.slots.card(id.index())
    }

    /// The tags, type and properties of the note in a slot. They are read for the caller, and not kept.
    #[must_use]
    pub fn facets(&self, id: NoteId) -> Option<Facets<'_>> {
        self.slots.facets(id.index())
    }

    /// The cards of all notes, by vault and path.
    pub fn cards(&self) -> impl Iterator<Item = (NoteId, Card<'_>)> {
        self.by_path.from(&[]).filter_map(|(_, id)| Some((id, self.card(id)?)))
    }

    /// The note in a slot. One that was written down is read when it is first asked for, and kept.
    #[must_use]
    pub fn entry(&self, id: NoteId) -> Option<&Arc<NoteEntry>> {
        self.slots.get(id.index())?.entry()
    }

    /// The same, if it is in memory; nothing where it would have to be read.
    #[must_use]
    pub fn at_hand(&self, id: NoteId) -> Option<&Arc<NoteEntry>> {
        self.slots.at_hand(id.index())?.entry()
    }

    /// What the vault makes of the note in a slot.
    #[must_use]
    pub fn resolved(&self, id: NoteId) -> Option<&Resolved> {
        match self.slots.get(id.index()) {
            Some(Slot::Note(_, resolved)) => Some(resolved),
            Some(Slot::Free | Slot::Placeholder(_)) | None => None,
        }
    }

    /// The note at a path.
    #[must_use]
    pub fn at(&self, vault: VaultId, path: &NotePath) -> Option<NoteId> {
        self.by_path.first(&within(vault, path.as_str()))
    }

    /// All notes by vault and path. Reads each of them, and keeps it; see [`cards`](Self::cards).
    pub fn by_path(&self) -> impl Iterator<Item = (NoteId, &Arc<NoteEntry>)> {
        self.by_path.from(&[]).filter_map(|(_, id)| Some((id, self.entry(id)?)))
    }

    /// The cards of the note at `path`, and of those in the folder `path`, by path; of all notes of the vault where it is empty.
    pub fn at_or_below(
        &self,
        vault: VaultId,
        path: &str,
    ) -> impl Iterator<Item = (NoteId, Card<'_>)> {
        let itself = self.by_path.first(&within(vault, path));
        let folder = if path.is_empty() { String::new() } else { format!("{path}/") };
        let below = self.by_path.below(&within(vault, &folder)).map(|(_, id)| id);
        itself.into_iter().chain(below).filter_map(|id| Some((id, self.card(id)?)))
    }

    /// All notes by uri, from the first that is greater than `after`.
    pub fn by_uri_after(&self, after: Option<&Uri>) -> impl Iterator<Item = (&Uri, NoteId)> {
        let after = after.map_or("", Uri::as_str).as_bytes();
        let from = self.by_uri.from(after).skip_while(move |(uri, _)| *uri == after);
        from.map(|(_, id)| (self.graph.uri(id), id))
    }

    /// The title of a note; a placeholder's is its name.
    #[must_use]
    pub fn title(&self, id: NoteId) -> &str {
        self.card(id).map_or_else(|| self.graph.uri(id).as_str(), |card| card.title)
    }

    /// The path of the note in a slot.
    pub(super) fn path_of(&self, id: NoteId) -> Option<&str> {
        self.card(id).map(|card| card.path)
    }

    pub(super) fn bare_path(&self, id: NoteId) -> Option<&str> {
        self.path_of(id).map(without_markdown_extension)
    }

    pub(super) fn allocate(&mut self) -> NoteId {
        if let Some(id) = self.free.pop_front() {
            return id;
        }
        NoteId::new(
            u32::try_from(self.slots.push(Slot::Free))
                .expect("a snapshot holds fewer than 2^32 slots"),
        )
    }

    /// What the graph is told of every slot that holds something.
    pub(super) fn graph_of_all(&self) -> impl Iterator<Item = (NoteId, NodeSpec)> {
        let mut folders = FolderNotes::of(self);
        let ids = (0..).map(NoteId::new).take(self.slots.len());
        ids.filter_map(move |id| Some((id, self.spec(id, &mut folders)?)))
    }

    /// What the graph is told of a slot; nothing for a free one.
    pub(super) fn spec(&self, id: NoteId, folders: &mut FolderNotes<'_>) -> Option<NodeSpec> {
        match self.slots.get(id.index())? {
            Slot::Free => None,
            Slot::Placeholder(vault) => {
                Some(NodeSpec::placeholder(self.placeholder_uri(id, *vault).as_str()))
            }
            Slot::Note(entry, resolved) => {
                let (parent, object) = self.place(id, &resolved.targets, folders);
                let mut kinds: BTreeMap<&str, Arc<str>> = BTreeMap::new();
                let links =
                    entry.note.links.iter().zip(&resolved.targets).filter_map(|(link, target)| {
                        let kind = kinds
                            .entry(&link.kind)
                            .or_insert_with(|| Arc::from(link.kind.as_str()));
                        Some(((*target)?, Arc::clone(kind), link.source))
                    });
                Some(NodeSpec {
                    uri: resolved.uri.clone(),
                    placeholder: false,
                    parent,
                    object,
                    order: entry.note.order,
                    name: Self::sibling_name(&entry.note.path).to_owned(),
                    links: links.collect(),
                })
            }
        }
    }
}
