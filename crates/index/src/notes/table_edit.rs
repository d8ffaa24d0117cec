//! Applies a batch of changes to a table.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use foldhash::fast::RandomState;
use weft_graph::NoteGraph;
use weft_model::{NoteId, NotePath, Target, Uri};

use super::hierarchy::FolderNotes;
use super::link_names::{Key, key, keys_of, lookups_of, same_names};
use super::link_targets::LinkTarget;
use super::name_index::{NameIndex, vault_key};
use super::slots::TableSlot;
use super::uris::{claim_key, preferred_uri, without_path_marks};
use super::{NoteEntry, NoteTable, ResolvedNote, VaultId, VaultInfo, VaultStats};

/// One change of a batch.
#[derive(Clone, Debug)]
pub enum Change {
    /// The file at the entry's path has this content.
    Upsert(Arc<NoteEntry>),
    /// The note moved from this path and has this content; it keeps its slot.
    Move(NotePath, Arc<NoteEntry>),
    /// The note at this path is removed.
    Remove(VaultId, NotePath),
    /// Sets name and folder of the vault; `None` removes it with all its notes.
    ///
    /// If this changes the prefix of uris, every note of the affected vaults gets a new uri: `O(notes)`.
    Vault(VaultId, Option<VaultInfo>),
}

/// Slots changed by a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// Slots of new or changed notes.
    pub upserted: Vec<NoteId>,
    /// Slots that no longer hold their previous note.
    pub removed: Vec<NoteId>,
}

impl Delta {
    /// True if the batch changed nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.upserted.is_empty() && self.removed.is_empty()
    }
}

impl NoteTable {
    /// Returns this table after `changes`, applied in order, and the changed slots.
    ///
    /// Cost: the changed notes, the notes whose links look up a changed name, and the adjacency lists of both.
    #[must_use]
    pub fn edited(&self, changes: &[Change]) -> (Self, Delta) {
        let mut edit = TableEdit::of(self);
        for change in changes {
            edit.apply(change);
        }
        edit.finish()
    }
}

/// A batch of changes in progress.
///
/// Changes may be applied as they arrive; links and uris are updated together at the end.
#[derive(Debug, Default)]
pub struct TableEdit {
    before: NoteTable,
    /// The table with the changes so far.
    table: NoteTable,
    upserted: BTreeSet<NoteId>,
    removed: BTreeSet<NoteId>,
    /// Names that were added, removed or now resolve differently.
    keys: HashSet<Key, RandomState>,
    /// Uris, within their vaults, whose owner may have changed.
    claims: HashSet<Key, RandomState>,
    /// Notes that need a uri.
    without_uri: BTreeSet<NoteId>,
    /// Vault names that now refer to another vault, or to none.
    vault_names: BTreeSet<String>,
    /// Prefixes of the folded paths of notes whose parent may have changed.
    path_prefixes: HashSet<(VaultId, String), RandomState>,
    /// Nodes of the graph that may have changed.
    nodes: BTreeSet<NoteId>,
}

impl TableEdit {
    /// Creates an empty batch.
    #[must_use]
    pub fn of(notes: &NoteTable) -> Self {
        Self { before: notes.clone(), table: notes.clone(), ..Self::default() }
    }

    /// Returns the table before the batch.
    #[must_use]
    pub const fn before(&self) -> &NoteTable {
        &self.before
    }

    /// True if any notes were added, changed or removed so far.
    #[must_use]
    pub fn changes_notes(&self) -> bool {
        !self.upserted.is_empty() || !self.removed.is_empty()
    }

    /// Returns the slots that no longer hold their previous note, so far.
    pub fn removed(&self) -> impl Iterator<Item = NoteId> {
        self.removed.iter().copied()
    }

    /// Applies a change and returns the slot of an upserted or moved note.
    pub fn apply(&mut self, change: &Change) -> Option<NoteId> {
        match change {
            Change::Upsert(entry) => {
                let slot = self.table.at(entry.vault, &entry.note.path);
                return Some(self.upsert(slot, entry));
            }
            Change::Move(from, entry) => {
                if let Some(other) = self.table.at(entry.vault, &entry.note.path) {
                    self.remove(other);
                }
                let slot = self.table.at(entry.vault, from);
                return Some(self.upsert(slot, entry));
            }
            Change::Remove(vault, path) => {
                if let Some(id) = self.table.at(*vault, path) {
                    self.remove(id);
                }
            }
            Change::Vault(vault, info) => self.set_vault(*vault, info.as_ref()),
        }
        None
    }

    fn set_vault(&mut self, vault: VaultId, info: Option<&VaultInfo>) {
        if info.is_none() {
            let removed: Vec<NoteId> =
                self.table.at_or_below(vault, "").map(|(id, _)| id).collect();
            removed.into_iter().for_each(|id| self.remove(id));
        }
        let mut next = self.table.clone();
        while next.vaults.len() <= usize::from(vault.0) {
            next.vaults.push_back(None);
        }
        next.vaults.set(usize::from(vault.0), info.map(|info| Arc::new(info.clone())));
        let renamed: Vec<VaultId> = next
            .vaults()
            .map(|(id, _)| id)
            .filter(|id| self.table.prefix(*id) != next.prefix(*id))
            .collect();
        for vault in renamed {
            self.clear_uris(vault);
        }
        let name = |table: &NoteTable| table.vault(vault).map(|info| info.name.clone());
        let (old, new) = (name(&self.table), name(&next));
        if old != new {
            self.vault_names.extend(old.into_iter().chain(new));
        }
        self.table.vaults = next.vaults;
    }

    /// Clears the uris of a vault's notes; new ones are assigned at the end of the batch.
    fn clear_uris(&mut self, vault: VaultId) {
        let notes: Vec<NoteId> = self.table.at_or_below(vault, "").map(|(id, _)| id).collect();
        for id in notes {
            let Some(TableSlot::Note(entry, resolved)) = self.table.slots.get(id.index()).cloned()
            else {
                continue;
            };
            self.release_uri(id, &entry, &resolved.uri);
            self.without_uri.insert(id);
            let resolved = ResolvedNote { uri: Uri::new(""), ..ResolvedNote::clone(&resolved) };
            self.table.slots.set(id.index(), TableSlot::Note(entry, Arc::new(resolved)));
        }
        let placeholders = self.table.placeholders.with_prefix(&vault_key(vault, ""));
        self.nodes.extend(placeholders.map(|(_, id)| id));
    }

    fn upsert(&mut self, slot: Option<NoteId>, entry: &Arc<NoteEntry>) -> NoteId {
        let old = slot.and_then(|id| self.table.slots.get(id.index()).cloned());
        let id = match (slot, old) {
            // An edit that keeps the note's names does not affect other notes.
            (Some(id), Some(TableSlot::Note(old, resolved))) if same_names(&old, entry) => {
                self.remove_lookups(id, &old, &resolved);
                let resolved = ResolvedNote {
                    targets: Vec::new(),
                    ambiguous: Vec::new(),
                    ..ResolvedNote::clone(&resolved)
                };
                self.table
                    .slots
                    .set(id.index(), TableSlot::Note(Arc::clone(entry), Arc::new(resolved)));
                id
            }
            (slot, _) => {
                slot.into_iter().for_each(|id| self.remove_names(id));
                let id = slot.unwrap_or_else(|| self.table.allocate());
                let resolved =
                    ResolvedNote { uri: Uri::new(""), targets: Vec::new(), ambiguous: Vec::new() };
                self.table
                    .slots
                    .set(id.index(), TableSlot::Note(Arc::clone(entry), Arc::new(resolved)));
                self.add_names(id, entry);
                self.without_uri.insert(id);
                id
            }
        };
        for target in targets(entry) {
            for lookup in lookups_of(entry, target) {
                self.table.names.add_lookup(&lookup, id);
            }
        }
        self.upserted.insert(id);
        self.removed.remove(&id);
        self.nodes.insert(id);
        id
    }

    /// Adds the names of a note; its uri follows when all claims are known.
    fn add_names(&mut self, id: NoteId, entry: &NoteEntry) {
        let path = &entry.note.path;
        self.table.by_path.insert(&vault_key(entry.vault, path.as_str()), id);
        self.table.path_index.insert(entry.vault, path, id);
        for key in keys_of(entry) {
            self.table.names.add_name(&key, id);
            self.keys.insert(key);
        }
        self.table.claims.stage(claim_key(entry), id, true);
        self.mark_place_changed(entry);
    }

    /// Marks everything that depends on a note's path and preferred uri.
    fn mark_place_changed(&mut self, entry: &NoteEntry) {
        let path = &entry.note.path;
        self.claims.insert((entry.vault, preferred_uri(entry).to_owned()));
        self.claims.insert((entry.vault, path.without_extension().to_owned()));
        self.path_prefixes
            .extend(NoteTable::prefixes_below(entry).map(|prefix| (entry.vault, prefix)));
    }

    fn remove(&mut self, id: NoteId) {
        self.remove_names(id);
        self.table.slots.set(id.index(), TableSlot::Free);
        self.upserted.remove(&id);
        self.without_uri.remove(&id);
        self.removed.insert(id);
        self.nodes.insert(id);
    }

    /// Removes the names and links of the note in a slot.
    fn remove_names(&mut self, id: NoteId) {
        let Some(TableSlot::Note(entry, resolved)) = self.table.slots.get(id.index()).cloned()
        else {
            return;
        };
        let path = &entry.note.path;
        self.table.by_path.remove(&vault_key(entry.vault, path.as_str()), id);
        self.table.path_index.remove(entry.vault, path, id);
        self.release_uri(id, &entry, &resolved.uri);
        for key in keys_of(&entry) {
            self.table.names.remove_name(&key, id);
            self.keys.insert(key);
        }
        self.table.claims.stage(claim_key(&entry), id, false);
        self.mark_place_changed(&entry);
        self.remove_lookups(id, &entry, &resolved);
    }

    /// Removes the lookups and targets of a note's links.
    fn remove_lookups(&mut self, id: NoteId, entry: &NoteEntry, resolved: &ResolvedNote) {
        for target in targets(entry) {
            for lookup in lookups_of(entry, target) {
                self.table.names.remove_lookup(&lookup, id);
            }
        }
        self.release_targets(id, entry, resolved);
    }

    fn release_uri(&mut self, id: NoteId, entry: &NoteEntry, uri: &Uri) {
        self.table.by_uri.stage(uri.as_str().into(), id, false);
        if let Some(key) = self.table.local_uri(id).map(|local| key(entry.vault, local)) {
            self.table.names.remove_name(&key, id);
            self.keys.insert(key);
        }
        // The uri may equal another of the note's own names.
        for key in keys_of(entry) {
            self.table.names.add_name(&key, id);
        }
    }

    /// Removes the note's spelling from the placeholders it links to, and those without spellings left.
    fn release_targets(&mut self, id: NoteId, entry: &NoteEntry, resolved: &ResolvedNote) {
        for target in resolved.targets.iter().flatten() {
            if self.table.remove_spelling(*target, entry.vault, &entry.note.path) {
                self.nodes.insert(*target);
            }
        }
        self.nodes.insert(id);
    }

    /// Returns the table after the batch, and the changed slots.
    #[must_use]
    pub fn finish(mut self) -> (NoteTable, Delta) {
        self.apply_staged();
        self.assign_uris();
        self.apply_staged();
        let mut to_resolve = self.upserted.clone();
        if !self.covers_all_notes(&to_resolve) {
            for key in &self.keys {
                let vault = self.table.vault(key.0).map(|info| info.name.as_str());
                to_resolve.extend(self.table.names.notes_looking_up(key, vault));
            }
            for name in &self.vault_names {
                to_resolve.extend(self.table.names.notes_linking_to_vault(name));
            }
        }
        let to_resolve: Vec<NoteId> = to_resolve.into_iter().collect();
        let link_targets = self.table.link_targets_of_all(&to_resolve);
        for (id, link_targets) in to_resolve.into_iter().zip(link_targets) {
            self.resolve(id, link_targets);
        }
        self.mark_placeholders();
        self.mark_notes_below();
        self.mark_former_dependents();
        self.free_slots();
        for id in &self.nodes {
            self.table.count(*id, Some(&self.before));
        }
        self.table.graph = self.graph();
        self.table.name_indexes().into_iter().for_each(NameIndex::merge_if_large);
        let delta = Delta {
            upserted: self.upserted.into_iter().collect(),
            removed: self.removed.into_iter().collect(),
        };
        (self.table, delta)
    }

    /// True if `notes`, which must be in the table, are all its notes, so that other notes need no search.
    fn covers_all_notes(&self, notes: &BTreeSet<NoteId>) -> bool {
        debug_assert!(notes.iter().all(|id| self.table.is_note(*id)));
        notes.len() == self.table.n_notes()
    }

    /// Applies the staged changes of all name indexes.
    fn apply_staged(&mut self) {
        self.table.name_indexes().into_iter().for_each(NameIndex::apply_staged);
    }

    fn graph(&self) -> NoteGraph {
        let graph = &self.before.graph;
        // If more than half of the nodes change, rebuilding the graph costs far less than editing every list.
        if self.nodes.len() > graph.n_nodes() / 2 {
            return NoteGraph::build(self.table.graph_of_all());
        }
        let mut folders = FolderNotes::of(&self.table);
        graph.edited(self.nodes.iter().map(|id| (*id, self.table.spec(*id, &mut folders))))
    }

    /// Assigns uris to all notes affected by the changed claims: the lowest path gets its preferred uri, others fall back to their path.
    fn assign_uris(&mut self) {
        let mut touched = std::mem::take(&mut self.without_uri);
        if !self.covers_all_notes(&touched) {
            for (vault, local) in &self.claims {
                touched.extend(self.table.notes_affected_by(*vault, local));
            }
        }
        for id in touched {
            let Some(TableSlot::Note(entry, resolved)) = self.table.slots.get(id.index()).cloned()
            else {
                continue;
            };
            let local = self.table.assigned_uri(id, &entry);
            let uri = self.table.wire_uri(entry.vault, &local);
            if uri != resolved.uri {
                if !resolved.uri.as_str().is_empty() {
                    self.release_uri(id, &entry, &resolved.uri);
                }
                let key = key(entry.vault, &local);
                self.table.names.add_name(&key, id);
                self.keys.insert(key);
                let resolved = ResolvedNote { uri: uri.clone(), ..Arc::unwrap_or_clone(resolved) };
                self.table.slots.set(id.index(), TableSlot::Note(entry, Arc::new(resolved)));
            }
            self.table.by_uri.stage(uri.as_str().into(), id, true);
            self.nodes.insert(id);
        }
    }

    /// Sets the targets of a note's links: the resolved notes, or placeholders.
    fn resolve(&mut self, id: NoteId, link_targets: Vec<LinkTarget>) {
        let Some(TableSlot::Note(entry, resolved)) = self.table.slots.get(id.index()).cloned()
        else {
            return;
        };
        self.release_targets(id, &entry, &resolved);
        let mut places: HashMap<&Target, NoteId, RandomState> = HashMap::default();
        let mut targets = Vec::with_capacity(link_targets.len());
        let mut ambiguous = Vec::new();
        for ((link, link_target), at) in entry.note.links.iter().zip(link_targets).zip(0..) {
            let target = link_target.note.or_else(|| {
                let is_link = !link.target.syntax.is_tentative();
                is_link.then(|| {
                    *places.entry(&link.target).or_insert_with(|| {
                        let place = self.table.placeholder(&entry, id, &link.target);
                        self.nodes.insert(place);
                        place
                    })
                })
            });
            targets.push(target);
            if link_target.is_ambiguous {
                ambiguous.push(at);
            }
        }
        let resolved = ResolvedNote { uri: resolved.uri.clone(), targets, ambiguous };
        self.table.slots.set(id.index(), TableSlot::Note(Arc::clone(&entry), Arc::new(resolved)));
        self.nodes.insert(id);
    }

    /// Marks placeholders whose name collides, or collided, with an added or removed uri.
    fn mark_placeholders(&mut self) {
        for (vault, name) in &self.keys {
            self.nodes.extend(
                self.table.placeholders.first(&vault_key(*vault, without_path_marks(name))),
            );
        }
    }

    /// Marks notes below an added or removed folder note or a note with a shorter dotted name.
    fn mark_notes_below(&mut self) {
        if self.covers_all_notes(&self.upserted) {
            return;
        }
        for (vault, prefix) in &self.path_prefixes {
            self.nodes.extend(self.table.path_index.with_prefix(*vault, prefix));
        }
    }

    /// Marks children and reifications of removed notes, since their slots will be reused.
    fn mark_former_dependents(&mut self) {
        let graph = &self.before.graph;
        for id in &self.removed {
            self.nodes.extend(graph.children(*id));
            self.nodes.extend(graph.referrings(*id));
        }
    }

    /// Frees the empty slots for reuse, from the next batch on.
    fn free_slots(&mut self) {
        for id in &self.nodes {
            if matches!(self.table.slots.get(id.index()), Some(TableSlot::Free)) {
                self.table.free.push_back(*id);
            }
        }
    }
}

impl NoteTable {
    /// Updates the statistics for the note in a slot, from its state in `before` to its current one.
    pub(super) fn count(&mut self, id: NoteId, before: Option<&Self>) {
        if let Some((vault, old)) = before.and_then(|before| before.share(id)) {
            self.vault_stats_mut(vault).take(&old);
        }
        if let Some((vault, new)) = self.share(id) {
            self.vault_stats_mut(vault).add(&new);
        }
    }

    /// Returns the contribution of one note to its vault's statistics.
    fn share(&self, id: NoteId) -> Option<(VaultId, VaultStats)> {
        match self.slots.get(id.index())? {
            TableSlot::Note(entry, resolved) => {
                let is_note = |target: NoteId| self.is_note(target);
                Some((entry.vault, VaultStats::of(entry, resolved, is_note)))
            }
            TableSlot::Free | TableSlot::Placeholder(_) => None,
        }
    }

    fn vault_stats_mut(&mut self, vault: VaultId) -> &mut VaultStats {
        let at = usize::from(vault.0);
        while self.vault_stats.len() <= at {
            self.vault_stats.push_back(VaultStats::default());
        }
        &mut self.vault_stats[at]
    }
}

/// Returns the distinct targets of a note's links: a note often links to the same target many times.
fn targets(entry: &NoteEntry) -> impl Iterator<Item = &Target> {
    let mut seen: HashSet<&Target, RandomState> = HashSet::default();
    let targets = entry.note.links.iter().map(|link| &link.target);
    targets.filter(move |target| seen.insert(target))
}
