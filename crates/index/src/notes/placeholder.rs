//! Targets of links that no note answers to yet.

use weft_model::id::segments;
use weft_model::{NoteId, NotePath, Target, fold};

use super::directory::{joined, last_part, within};
use super::names::{Key, name_here};
use super::resolve::is_relative;
use super::slots::Slot;
use super::{NoteEntry, NoteTable, VaultId};

/// The name under which it is kept how the note at `path` spells a placeholder: spellings of one stand together, the lowest path's first.
fn spelled_by(id: NoteId, vault: VaultId, path: &NotePath) -> Vec<u8> {
    [&spellings_of(id)[..], &within(vault, path.as_str())].concat()
}

fn spellings_of(id: NoteId) -> [u8; 4] {
    id.get().to_be_bytes()
}

impl NoteTable {
    /// A placeholder's name, as the lowest linking note spells it. It never begins with `/` or `./`.
    pub(super) fn spelling(&self, id: NoteId) -> Option<&str> {
        self.spellings.below(&spellings_of(id)).next().map(|(name, _)| last_part(name))
    }

    /// The placeholder for an unresolved target of `entry`, spelled by it too.
    pub(super) fn placeholder(
        &mut self,
        entry: &NoteEntry,
        note: NoteId,
        target: &Target,
    ) -> NoteId {
        let ((vault, folded), name) = self.spelled(entry, target);
        let key = within(vault, &folded);
        let id = match self.placeholders.first(&key) {
            Some(id) => id,
            None => {
                let id = self.allocate();
                self.placeholders.insert(&key, id);
                self.slots.set(id.index(), Slot::Placeholder(vault));
                id
            }
        };
        // A note's first spelling counts.
        let own = joined(spelled_by(id, entry.vault, &entry.note.path), "");
        if self.spellings.below(&own).next().is_none() {
            let own = joined(spelled_by(id, entry.vault, &entry.note.path), &name);
            self.spellings.insert(&own, note);
        }
        id
    }

    /// Takes a note's spelling off a placeholder; one that nobody spells any more goes. Whether `id` is one.
    pub(super) fn unspell(&mut self, id: NoteId, vault: VaultId, path: &NotePath) -> bool {
        let Some(Slot::Placeholder(place)) = self.slots.get(id.index()) else { return false };
        let place = *place;
        let name = self.spelling(id).unwrap_or_default().to_owned();
        let own = joined(spelled_by(id, vault, path), "");
        let own = self.spellings.below(&own).next();
        if let Some((own, note)) = own.map(|(own, note)| (own.to_vec(), note)) {
            self.spellings.remove(&own, note);
        }
        if self.spelling(id).is_none() {
            self.placeholders.remove(&within(place, &fold(&name)), id);
            self.slots.set(id.index(), Slot::Free);
        }
        true
    }

    /// Where a placeholder for a target of `entry` is kept, and its name: as written, or seen from the vault's root where it is relative.
    fn spelled(&self, entry: &NoteEntry, target: &Target) -> (Key, String) {
        let here = (entry.vault, entry.note.path.folder(), name_here(target));
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
