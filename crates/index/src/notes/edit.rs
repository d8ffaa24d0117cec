//! The one operation on a table: applying a batch of changes.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use foldhash::fast::RandomState;
use weft_graph::NoteGraph;
use weft_model::{NoteId, NotePath, Target, Uri};

use super::directory::{Directory, within};
use super::hierarchy::FolderNotes;
use super::meanings::Meaning;
use super::names::{Key, asked, key, own_keys, same_names};
use super::slots::Slot;
use super::uris::{claim, unmarked, wanted_uri};
use super::{NoteEntry, NoteTable, Resolved, VaultId, VaultInfo};

/// One change of a batch.
#[derive(Clone, Debug)]
pub enum Change {
    /// The file at the entry's path now says this.
    Upsert(Arc<NoteEntry>),
    /// The note moved from this path and says this; it keeps its slot.
    Move(NotePath, Arc<NoteEntry>),
    /// There is no note at this path any more.
    Remove(VaultId, NotePath),
    /// The vault is called so and lies there; nothing takes it out with all its notes.
    ///
    /// Where this changes what stands before uris, every note of the vaults concerned gets its uri anew: `O(notes)`.
    Vault(VaultId, Option<VaultInfo>),
}

/// What a batch did to the slots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// Notes whose entry is new or changed, by slot.
    pub upserted: Vec<NoteId>,
    /// Slots that no longer hold the note they held.
    pub removed: Vec<NoteId>,
}

impl Delta {
    /// Whether the batch changed nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.upserted.is_empty() && self.removed.is_empty()
    }
}

impl NoteTable {
    /// This table after `changes`, applied in order, and what they did to the slots.
    ///
    /// Cost: the changed notes, the notes that asked for a name that changed, and the lists of the graph they touch.
    #[must_use]
    pub fn edited(&self, changes: &[Change]) -> (Self, Delta) {
        let mut edit = Edit::of(self);
        for change in changes {
            edit.apply(change);
        }
        edit.finish()
    }
}

/// A batch of changes on its way through.
///
/// Each may come as soon as it is known; links and uris are brought in line at the end, all at once.
#[derive(Debug, Default)]
pub struct Edit {
    before: NoteTable,
    /// The table so far.
    table: NoteTable,
    upserted: BTreeSet<NoteId>,
    removed: BTreeSet<NoteId>,
    /// Names that came, went or changed their meaning.
    keys: HashSet<Key, RandomState>,
    /// Uris, within their vaults, that may be due to another note than before.
    claims: HashSet<Key, RandomState>,
    /// Notes that are to be given a uri.
    unnamed: BTreeSet<NoteId>,
    /// Names of vaults that mean another vault than before, or none.
    vault_names: BTreeSet<String>,
    /// Beginnings of folded paths of notes above which another may stand than before.
    heads: HashSet<(VaultId, String), RandomState>,
    /// Nodes of the graph that may have changed.
    nodes: BTreeSet<NoteId>,
}

impl Edit {
    /// A batch that changes nothing yet.
    #[must_use]
    pub fn of(notes: &NoteTable) -> Self {
        Self { before: notes.clone(), table: notes.clone(), ..Self::default() }
    }

    /// The table before the batch.
    #[must_use]
    pub const fn before(&self) -> &NoteTable {
        &self.before
    }

    /// Whether notes came, changed or went so far.
    #[must_use]
    pub fn changes_notes(&self) -> bool {
        !self.upserted.is_empty() || !self.removed.is_empty()
    }

    /// Slots that no longer hold the note they held, so far.
    pub fn removed(&self) -> impl Iterator<Item = NoteId> {
        self.removed.iter().copied()
    }

    /// Takes a change in, and gives the slot of the note that it puts somewhere.
    pub fn apply(&mut self, change: &Change) -> Option<NoteId> {
        match change {
            Change::Upsert(entry) => {
                let slot = self.table.at(entry.vault, &entry.note.path);
                return Some(self.put(slot, entry));
            }
            Change::Move(from, entry) => {
                if let Some(other) = self.table.at(entry.vault, &entry.note.path) {
                    self.remove(other);
                }
                let slot = self.table.at(entry.vault, from);
                return Some(self.put(slot, entry));
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
            let gone: Vec<NoteId> = self.table.at_or_below(vault, "").map(|(id, _)| id).collect();
            gone.into_iter().for_each(|id| self.remove(id));
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
            self.take_uris_back(vault);
        }
        let name = |table: &NoteTable| table.vault(vault).map(|info| info.name.clone());
        let (old, new) = (name(&self.table), name(&next));
        if old != new {
            self.vault_names.extend(old.into_iter().chain(new));
        }
        self.table.vaults = next.vaults;
    }

    /// Leaves the notes of a vault without uris, to be given out when the batch ends.
    fn take_uris_back(&mut self, vault: VaultId) {
        let notes: Vec<NoteId> = self.table.at_or_below(vault, "").map(|(id, _)| id).collect();
        for id in notes {
            let Some(Slot::Note(entry, resolved)) = self.table.slots.get(id.index()).cloned()
            else {
                continue;
            };
            self.release_uri(id, &entry, &resolved.uri);
            self.unnamed.insert(id);
            let resolved = Resolved { uri: Uri::new(""), ..Resolved::clone(&resolved) };
            self.table.slots.set(id.index(), Slot::Note(entry, Arc::new(resolved)));
        }
        let placeholders = self.table.placeholders.below(&within(vault, ""));
        self.nodes.extend(placeholders.map(|(_, id)| id));
    }

    fn put(&mut self, slot: Option<NoteId>, entry: &Arc<NoteEntry>) -> NoteId {
        let old = slot.and_then(|id| self.table.slots.get(id.index()).cloned());
        let id = match (slot, old) {
            // Nobody else can notice an edit that leaves the note's names alone.
            (Some(id), Some(Slot::Note(old, resolved))) if same_names(&old, entry) => {
                self.unlink(id, &old, &resolved);
                let resolved = Resolved {
                    targets: Vec::new(),
                    ambiguous: Vec::new(),
                    ..Resolved::clone(&resolved)
                };
                self.table.slots.set(id.index(), Slot::Note(Arc::clone(entry), Arc::new(resolved)));
                id
            }
            (slot, _) => {
                slot.into_iter().for_each(|id| self.withdraw(id));
                let id = slot.unwrap_or_else(|| self.table.allocate());
                let resolved =
                    Resolved { uri: Uri::new(""), targets: Vec::new(), ambiguous: Vec::new() };
                self.table.slots.set(id.index(), Slot::Note(Arc::clone(entry), Arc::new(resolved)));
                self.announce(id, entry);
                self.unnamed.insert(id);
                id
            }
        };
        for target in targets(entry) {
            for asked in asked(entry, target) {
                self.table.names.ask(&asked, id);
            }
        }
        self.upserted.insert(id);
        self.removed.remove(&id);
        self.nodes.insert(id);
        id
    }

    /// Tells the table the names under which a note is to be found; its uri follows when all claims are known.
    fn announce(&mut self, id: NoteId, entry: &NoteEntry) {
        let path = &entry.note.path;
        self.table.by_path.insert(&within(entry.vault, path.as_str()), id);
        self.table.places.put(entry.vault, path, id);
        for key in own_keys(entry) {
            self.table.names.answer(&key, id);
            self.keys.insert(key);
        }
        self.table.claims.stage(claim(entry), id, true);
        self.touch_place(entry);
    }

    /// Marks what depends on where a note lies and what uri it wants.
    fn touch_place(&mut self, entry: &NoteEntry) {
        let path = &entry.note.path;
        self.claims.insert((entry.vault, wanted_uri(entry).to_owned()));
        self.claims.insert((entry.vault, path.without_extension().to_owned()));
        self.heads.extend(NoteTable::heads_below(entry).map(|head| (entry.vault, head)));
    }

    fn remove(&mut self, id: NoteId) {
        self.withdraw(id);
        self.table.slots.set(id.index(), Slot::Free);
        self.upserted.remove(&id);
        self.unnamed.remove(&id);
        self.removed.insert(id);
        self.nodes.insert(id);
    }

    /// Takes back everything that the note in a slot told the table.
    fn withdraw(&mut self, id: NoteId) {
        let Some(Slot::Note(entry, resolved)) = self.table.slots.get(id.index()).cloned() else {
            return;
        };
        let path = &entry.note.path;
        self.table.by_path.remove(&within(entry.vault, path.as_str()), id);
        self.table.places.take(entry.vault, path, id);
        self.release_uri(id, &entry, &resolved.uri);
        for key in own_keys(&entry) {
            self.table.names.silence(&key, id);
            self.keys.insert(key);
        }
        self.table.claims.stage(claim(&entry), id, false);
        self.touch_place(&entry);
        self.unlink(id, &entry, &resolved);
    }

    /// Takes back the links of a note.
    fn unlink(&mut self, id: NoteId, entry: &NoteEntry, resolved: &Resolved) {
        for target in targets(entry) {
            for asked in asked(entry, target) {
                self.table.names.unask(&asked, id);
            }
        }
        self.forget_targets(id, entry, resolved);
    }

    fn release_uri(&mut self, id: NoteId, entry: &NoteEntry, uri: &Uri) {
        self.table.by_uri.stage(uri.as_str().into(), id, false);
        if let Some(key) = self.table.local_uri(id).map(|local| key(entry.vault, local)) {
            self.table.names.silence(&key, id);
            self.keys.insert(key);
        }
        // A uri may read like another of the note's own names.
        for key in own_keys(entry) {
            self.table.names.answer(&key, id);
        }
    }

    /// Takes the note's spelling off the placeholders it links to; those nobody spells any more go.
    fn forget_targets(&mut self, id: NoteId, entry: &NoteEntry, resolved: &Resolved) {
        for target in resolved.targets.iter().flatten() {
            if self.table.unspell(*target, entry.vault, &entry.note.path) {
                self.nodes.insert(*target);
            }
        }
        self.nodes.insert(id);
    }

    /// The table after the batch, and what that did to the slots.
    #[must_use]
    pub fn finish(mut self) -> (NoteTable, Delta) {
        self.settle();
        self.give_out_uris();
        self.settle();
        let mut to_resolve = self.upserted.clone();
        if !self.is_of_all(&to_resolve) {
            for key in &self.keys {
                let vault = self.table.vault(key.0).map(|info| info.name.as_str());
                to_resolve.extend(self.table.names.askers(key, vault));
            }
            for name in &self.vault_names {
                to_resolve.extend(self.table.names.askers_of_vault(name));
            }
        }
        let to_resolve: Vec<NoteId> = to_resolve.into_iter().collect();
        let meanings = self.table.meanings_of_all(&to_resolve);
        for (id, meanings) in to_resolve.into_iter().zip(meanings) {
            self.resolve(id, meanings);
        }
        self.name_placeholders();
        self.place_below();
        self.place_what_was_left();
        self.reclaim();
        for id in &self.nodes {
            self.table.count(*id, Some(&self.before));
        }
        self.table.graph = self.graph();
        self.table.directories().into_iter().for_each(Directory::fold);
        let delta = Delta {
            upserted: self.upserted.into_iter().collect(),
            removed: self.removed.into_iter().collect(),
        };
        (self.table, delta)
    }

    /// Whether `notes`, which the table has, are all that it has, so that nobody else is to be looked for.
    fn is_of_all(&self, notes: &BTreeSet<NoteId>) -> bool {
        debug_assert!(notes.iter().all(|id| self.table.is_note(*id)));
        notes.len() == self.table.n_notes()
    }

    /// Lets every name count that came or went.
    fn settle(&mut self) {
        self.table.directories().into_iter().for_each(Directory::settle);
    }

    fn graph(&self) -> NoteGraph {
        let graph = &self.before.graph;
        // A graph of which much changes is built at once, which costs far less than editing every list.
        if self.nodes.len() > graph.n_nodes() / 2 {
            return NoteGraph::build(self.table.graph_of_all());
        }
        let mut folders = FolderNotes::of(&self.table);
        graph.edited(self.nodes.iter().map(|id| (*id, self.table.spec(*id, &mut folders))))
    }

    /// Gives every note around the touched claims its uri: the lowest path has the uri it wants, others fall back to their path.
    fn give_out_uris(&mut self) {
        let mut touched = std::mem::take(&mut self.unnamed);
        if !self.is_of_all(&touched) {
            for (vault, local) in &self.claims {
                touched.extend(self.table.concerned_by(*vault, local));
            }
        }
        for id in touched {
            let Some(Slot::Note(entry, resolved)) = self.table.slots.get(id.index()).cloned()
            else {
                continue;
            };
            let local = self.table.due_uri(id, &entry);
            let uri = self.table.wire_uri(entry.vault, &local);
            if uri != resolved.uri {
                if !resolved.uri.as_str().is_empty() {
                    self.release_uri(id, &entry, &resolved.uri);
                }
                let key = key(entry.vault, &local);
                self.table.names.answer(&key, id);
                self.keys.insert(key);
                let resolved = Resolved { uri: uri.clone(), ..Arc::unwrap_or_clone(resolved) };
                self.table.slots.set(id.index(), Slot::Note(entry, Arc::new(resolved)));
            }
            self.table.by_uri.stage(uri.as_str().into(), id, true);
            self.nodes.insert(id);
        }
    }

    /// Gives the links of a note their targets: what they mean, or placeholders.
    fn resolve(&mut self, id: NoteId, meanings: Vec<Meaning>) {
        let Some(Slot::Note(entry, resolved)) = self.table.slots.get(id.index()).cloned() else {
            return;
        };
        self.forget_targets(id, &entry, &resolved);
        let mut places: HashMap<&Target, NoteId, RandomState> = HashMap::default();
        let mut targets = Vec::with_capacity(meanings.len());
        let mut ambiguous = Vec::new();
        for ((link, meaning), at) in entry.note.links.iter().zip(meanings).zip(0..) {
            let target = meaning.note.or_else(|| {
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
            if meaning.is_ambiguous {
                ambiguous.push(at);
            }
        }
        let resolved = Resolved { uri: resolved.uri.clone(), targets, ambiguous };
        self.table.slots.set(id.index(), Slot::Note(Arc::clone(&entry), Arc::new(resolved)));
        self.nodes.insert(id);
    }

    /// A uri that came or went may be, or have been, in the way of a placeholder.
    fn name_placeholders(&mut self) {
        for (vault, name) in &self.keys {
            self.nodes.extend(self.table.placeholders.first(&within(*vault, unmarked(name))));
        }
    }

    /// A folder's note, or one with a shorter dotted name, that came or went moves the notes below it.
    fn place_below(&mut self) {
        if self.is_of_all(&self.upserted) {
            return;
        }
        for (vault, head) in &self.heads {
            self.nodes.extend(self.table.places.beginning(*vault, head));
        }
    }

    /// A note that went leaves nobody below it or about it: its slot will hold another.
    fn place_what_was_left(&mut self) {
        let graph = &self.before.graph;
        for id in &self.removed {
            self.nodes.extend(graph.children(*id));
            self.nodes.extend(graph.referrings(*id));
        }
    }

    /// Touched slots that hold nothing any more can be given out again, from the next batch on.
    fn reclaim(&mut self) {
        for id in &self.nodes {
            if matches!(self.table.slots.get(id.index()), Some(Slot::Free)) {
                self.table.free.push_back(*id);
            }
        }
    }
}

/// What the links of a note lead to, each once: a note often links to the same target many times.
fn targets(entry: &NoteEntry) -> impl Iterator<Item = &Target> {
    let mut known: HashSet<&Target, RandomState> = HashSet::default();
    let targets = entry.note.links.iter().map(|link| &link.target);
    targets.filter(move |target| known.insert(target))
}
