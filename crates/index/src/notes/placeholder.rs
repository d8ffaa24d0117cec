//! Targets of links that no note answers to yet.

use std::sync::Arc;

use imbl::OrdMap;
use weft_model::{NoteId, NotePath, Target, fold};

use super::names::Key;
use super::resolve::{is_relative, segments};
use super::table::Slot;
use super::{NoteEntry, NoteTable, VaultId};

/// A name that links use and no note answers to.
#[derive(Clone, Debug)]
pub(super) struct Placeholder {
    pub(super) key: Key,
    /// How each linking note spells the name; the lowest path's spelling is the id.
    spellings: OrdMap<(VaultId, NotePath), String>,
}

impl Placeholder {
    fn new(key: Key) -> Self {
        Self { key, spellings: OrdMap::new() }
    }

    /// The vault in which links look for it.
    pub(super) const fn vault(&self) -> VaultId {
        self.key.0
    }

    /// The name as the lowest linking note spells it. It never begins with `/` or `./`.
    pub(super) fn name(&self) -> &str {
        self.spellings.get_min().map_or("", |(_, name)| name)
    }

    fn spell(&mut self, entry: &NoteEntry, name: String) {
        self.spellings.entry((entry.vault, entry.note.path.clone())).or_insert(name);
    }
}

impl NoteTable {
    /// The placeholder for an unresolved target of `entry`, spelled by it too.
    pub(super) fn placeholder(&mut self, entry: &NoteEntry, target: &Target) -> NoteId {
        let (key, name) = self.spelled(entry, target);
        let id = match self.placeholders.get(&key) {
            Some(id) => *id,
            None => {
                let id = self.allocate();
                self.placeholders.insert(key.clone(), id);
                self.slots.set(id.index(), Slot::Placeholder(Arc::new(Placeholder::new(key))));
                id
            }
        };
        if let Some(Slot::Placeholder(placeholder)) = self.slots.get_mut(id.index()) {
            Arc::make_mut(placeholder).spell(entry, name);
        }
        id
    }

    /// Gives the placeholder of an unresolved target of `entry` the slot it had when it was written down.
    pub(super) fn restore_placeholder(&mut self, id: NoteId, entry: &NoteEntry, target: &Target) {
        let (key, name) = self.spelled(entry, target);
        self.placeholders.insert(key.clone(), id);
        let mut placeholder = match self.slots.get(id.index()) {
            Some(Slot::Placeholder(placeholder)) => Placeholder::clone(placeholder),
            Some(Slot::Free | Slot::Note(..)) | None => Placeholder::new(key),
        };
        placeholder.spell(entry, name);
        self.slots.set(id.index(), Slot::Placeholder(Arc::new(placeholder)));
    }

    /// Takes a note's spelling off a placeholder; one that nobody spells any more goes. Whether `id` is one.
    pub(super) fn unspell(&mut self, id: NoteId, vault: VaultId, path: &NotePath) -> bool {
        let Some(Slot::Placeholder(placeholder)) = self.slots.get(id.index()).cloned() else {
            return false;
        };
        let mut placeholder = Arc::unwrap_or_clone(placeholder);
        placeholder.spellings.remove(&(vault, path.clone()));
        let slot = if placeholder.spellings.is_empty() {
            self.placeholders.remove(&placeholder.key);
            Slot::Free
        } else {
            Slot::Placeholder(Arc::new(placeholder))
        };
        self.slots.set(id.index(), slot);
        true
    }

    /// Where a placeholder for a target of `entry` is kept, and its name: as written, or seen from the vault's root where it is relative.
    fn spelled(&self, entry: &NoteEntry, target: &Target) -> (Key, String) {
        let here = (entry.vault, entry.note.path.folder(), target.name.as_str());
        let abroad = self.abroad(&target.name).map(|(vault, name)| (vault, "", name));
        let (vault, folder, name) = abroad.unwrap_or(here);
        let bare = name.trim_start_matches('/');
        let name = match (is_relative(name), is_relative(bare) || bare.is_empty()) {
            (true, _) => from_root(folder, name),
            (false, true) => from_root("", bare),
            (false, false) => bare.to_owned(),
        };
        ((vault, fold(&name)), name)
    }
}

fn from_root(folder: &str, name: &str) -> String {
    let parts = segments(folder, name);
    if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
}
