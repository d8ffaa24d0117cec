//! The one operation on a table: applying a batch of changes.

use std::collections::{BTreeSet, HashMap as StdMap};
use std::sync::Arc;

use weft_graph::NoteGraph;
use weft_model::{NoteId, NotePath, Target, TargetSyntax, Uri, fold};

use super::names::{Key, last_segment};
use super::resolve::From;
use super::table::{Slot, link_keys, own_keys, same_names, wanted_uri};
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
        let mut edit = Edit { table: self.clone(), ..Edit::default() };
        for change in changes {
            edit.apply(change);
        }
        edit.finish(self)
    }
}

/// A batch on its way through: the table so far and what is still to be brought in line.
#[derive(Default)]
struct Edit {
    table: NoteTable,
    upserted: BTreeSet<NoteId>,
    removed: BTreeSet<NoteId>,
    /// Names that came, went or changed their meaning.
    keys: BTreeSet<Key>,
    /// Uris that notes would have, to be given out again.
    claims: BTreeSet<Key>,
    /// Folders whose note may have changed.
    folders: BTreeSet<(VaultId, String)>,
    /// Nodes of the graph that may have changed.
    nodes: BTreeSet<NoteId>,
}

impl Edit {
    fn apply(&mut self, change: &Change) {
        match change {
            Change::Upsert(entry) => {
                let slot = self.table.at(entry.vault, &entry.note.path);
                self.put(slot, entry);
            }
            Change::Move(from, entry) => {
                if let Some(other) = self.table.at(entry.vault, &entry.note.path) {
                    self.remove(other);
                }
                let slot = self.table.at(entry.vault, from);
                self.put(slot, entry);
            }
            Change::Remove(vault, path) => {
                if let Some(id) = self.table.at(*vault, path) {
                    self.remove(id);
                }
            }
            Change::Vault(vault, info) => self.set_vault(*vault, info.as_ref()),
        }
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
        self.table.vaults = next.vaults;
    }

    /// Leaves the notes of a vault without uris, to be given out when the batch ends.
    fn take_uris_back(&mut self, vault: VaultId) {
        let notes: Vec<(NoteId, Arc<NoteEntry>)> =
            self.table.at_or_below(vault, "").map(|(id, entry)| (id, Arc::clone(entry))).collect();
        for (id, entry) in notes {
            let Some(resolved) = self.table.resolved(id).cloned() else { continue };
            self.release_uri(id, &entry, &resolved.uri);
            self.claims.insert((vault, wanted_uri(&entry).to_owned()));
            let resolved = Resolved { uri: Uri::new(""), ..resolved };
            self.table.slots.set(id.index(), Slot::Note(entry, Arc::new(resolved)));
        }
        let placeholders = self.table.placeholders.iter().filter(|((of, _), _)| *of == vault);
        self.nodes.extend(placeholders.map(|(_, id)| *id));
    }

    fn put(&mut self, slot: Option<NoteId>, entry: &Arc<NoteEntry>) {
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
                id
            }
        };
        for link in &entry.note.links {
            for key in link_keys(entry, &link.target) {
                self.table.names.ask(key, id);
            }
        }
        self.upserted.insert(id);
        self.removed.remove(&id);
        self.nodes.insert(id);
    }

    /// Tells the table the names under which a note is to be found; its uri follows when all claims are known.
    fn announce(&mut self, id: NoteId, entry: &NoteEntry) {
        let path = &entry.note.path;
        self.table.by_path.insert((entry.vault, path.clone()), id);
        for key in own_keys(entry) {
            self.table.names.answer(key.clone(), id);
            self.keys.insert(key);
        }
        let claim = (entry.vault, wanted_uri(entry).to_owned());
        self.table.claims.entry(claim).or_default().insert(path.clone(), id);
        self.touch_place(entry);
    }

    /// Marks what depends on where a note lies and what uri it wants.
    fn touch_place(&mut self, entry: &NoteEntry) {
        let path = &entry.note.path;
        self.claims.insert((entry.vault, wanted_uri(entry).to_owned()));
        self.claims.insert((entry.vault, path.without_extension().to_owned()));
        self.folders
            .extend(NoteTable::stands_for(path).into_iter().map(|folder| (entry.vault, folder)));
    }

    fn remove(&mut self, id: NoteId) {
        self.withdraw(id);
        self.table.slots.set(id.index(), Slot::Free);
        self.upserted.remove(&id);
        self.removed.insert(id);
        self.nodes.insert(id);
    }

    /// Takes back everything that the note in a slot told the table.
    fn withdraw(&mut self, id: NoteId) {
        let Some(Slot::Note(entry, resolved)) = self.table.slots.get(id.index()).cloned() else {
            return;
        };
        let path = entry.note.path.clone();
        self.table.by_path.remove(&(entry.vault, path.clone()));
        self.release_uri(id, &entry, &resolved.uri);
        for key in own_keys(&entry) {
            self.table.names.silence(&key, id);
            self.keys.insert(key);
        }
        let claim = (entry.vault, wanted_uri(&entry).to_owned());
        if let Some(group) = self.table.claims.get_mut(&claim) {
            group.remove(&path);
            if group.is_empty() {
                self.table.claims.remove(&claim);
            }
        }
        self.touch_place(&entry);
        self.unlink(id, &entry, &resolved);
    }

    /// Takes back the links of a note.
    fn unlink(&mut self, id: NoteId, entry: &NoteEntry, resolved: &Resolved) {
        for link in &entry.note.links {
            for key in link_keys(entry, &link.target) {
                self.table.names.unask(&key, id);
            }
        }
        self.forget_targets(id, &entry.note.path, resolved);
    }

    fn release_uri(&mut self, id: NoteId, entry: &NoteEntry, uri: &Uri) {
        if self.table.by_uri.get(uri) == Some(&id) {
            self.table.by_uri.remove(uri);
        }
        if let Some(local) = self.table.local_uri(id).map(fold) {
            let key = (entry.vault, local);
            self.table.names.silence(&key, id);
            self.keys.insert(key);
        }
        // A uri may read like another of the note's own names.
        for key in own_keys(entry) {
            self.table.names.answer(key, id);
        }
    }

    /// Takes the note's spelling off the placeholders it links to; those nobody spells any more go.
    fn forget_targets(&mut self, id: NoteId, path: &NotePath, resolved: &Resolved) {
        for target in resolved.targets.iter().flatten() {
            let Some(Slot::Placeholder(placeholder)) =
                self.table.slots.get(target.index()).cloned()
            else {
                continue;
            };
            let mut placeholder = Arc::unwrap_or_clone(placeholder);
            placeholder.spellings.remove(path);
            self.nodes.insert(*target);
            if placeholder.spellings.is_empty() {
                self.table.placeholders.remove(&placeholder.key);
                self.table.slots.set(target.index(), Slot::Free);
            } else {
                self.table.slots.set(target.index(), Slot::Placeholder(Arc::new(placeholder)));
            }
        }
        self.nodes.insert(id);
    }

    fn finish(mut self, before: &NoteTable) -> (NoteTable, Delta) {
        self.give_out_uris();
        let mut to_resolve = self.upserted.clone();
        for key in &self.keys {
            to_resolve.extend(self.table.names.askers(key));
        }
        for id in to_resolve {
            self.resolve(id);
        }
        self.place_below_folders();
        self.reclaim();
        for id in &self.nodes {
            self.table.count(*id, Some(before));
        }
        self.table.graph = self.graph(before);
        let delta = Delta {
            upserted: self.upserted.into_iter().collect(),
            removed: self.removed.into_iter().collect(),
        };
        (self.table, delta)
    }

    fn graph(&self, before: &NoteTable) -> NoteGraph {
        // A graph of which much changes is built at once, which costs far less than editing every list.
        if self.nodes.len() > before.graph.n_nodes() / 2 {
            return NoteGraph::build(self.table.graph_of_all());
        }
        before.graph.edited(self.nodes.iter().map(|id| (*id, self.table.spec(*id))))
    }

    /// Gives every note around the touched claims its uri: the lowest path has the uri it wants, others fall back to their path.
    fn give_out_uris(&mut self) {
        let mut touched: BTreeSet<NoteId> = self.upserted.clone();
        for key in &self.claims {
            touched.extend(
                self.table.claims.get(key).into_iter().flat_map(|group| group.values().copied()),
            );
            // A note that lost its claim may stand on its path, which another may now want.
            let bare = weft_model::id::without_markdown_extension(&key.1);
            let at_path =
                self.table.names.answering(&(key.0, fold(last_segment(bare)))).iter().copied();
            touched.extend(at_path.filter(|id| {
                self.table.bare_path(*id) == Some(key.1.as_str())
                    || self.table.path_of(*id).as_str() == key.1
            }));
        }
        for id in touched {
            let Some(Slot::Note(entry, resolved)) = self.table.slots.get(id.index()).cloned()
            else {
                continue;
            };
            let local = self.table.due_uri(id, &entry);
            let uri =
                Uri::new(format!("{}{local}", self.table.prefix(entry.vault).unwrap_or_default()));
            if uri != resolved.uri {
                if !resolved.uri.as_str().is_empty() {
                    self.release_uri(id, &entry, &resolved.uri);
                }
                let key = (entry.vault, fold(&local));
                self.table.names.answer(key.clone(), id);
                self.keys.insert(key);
                let resolved = Resolved { uri: uri.clone(), ..Arc::unwrap_or_clone(resolved) };
                self.table.slots.set(id.index(), Slot::Note(entry, Arc::new(resolved)));
            }
            self.table.by_uri.insert(uri, id);
            self.nodes.insert(id);
        }
    }

    fn resolve(&mut self, id: NoteId) {
        let Some(Slot::Note(entry, resolved)) = self.table.slots.get(id.index()).cloned() else {
            return;
        };
        self.forget_targets(id, &entry.note.path, &resolved);
        let from = From { vault: entry.vault, folder: entry.note.path.folder() };
        // A note often links to the same target many times.
        let mut known: StdMap<&Target, (Option<NoteId>, bool)> = StdMap::new();
        let mut targets = Vec::with_capacity(entry.note.links.len());
        let mut ambiguous = Vec::new();
        for (link, at) in entry.note.links.iter().zip(0..) {
            let (target, several) = *known.entry(&link.target).or_insert_with(|| {
                let found = self.table.resolution(&link.target, from);
                let several = found.is_ambiguous();
                let target = found.note.or_else(|| match link.target.syntax {
                    TargetSyntax::Tentative => None,
                    TargetSyntax::Wikilink | TargetSyntax::Markdown | TargetSyntax::Listed => {
                        let place = self.table.placeholder(&entry, &link.target);
                        self.nodes.insert(place);
                        Some(place)
                    }
                });
                (target, several)
            });
            targets.push(target);
            if several {
                ambiguous.push(at);
            }
        }
        let resolved = Resolved { uri: resolved.uri.clone(), targets, ambiguous };
        self.table.slots.set(id.index(), Slot::Note(Arc::clone(&entry), Arc::new(resolved)));
        self.nodes.insert(id);
    }

    /// A folder's note that came or went moves the notes below it.
    fn place_below_folders(&mut self) {
        for (vault, folder) in &self.folders {
            let start = if folder.is_empty() { String::new() } else { format!("{folder}/") };
            let from = (*vault, NotePath::new(start.as_str()));
            let below = self
                .table
                .by_path
                .range(from..)
                .take_while(|((v, path), _)| v == vault && path.as_str().starts_with(&start));
            self.nodes.extend(below.map(|(_, id)| *id));
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
