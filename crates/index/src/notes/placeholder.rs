//! Placeholders: link targets that match no note yet.

use weft_model::id::segments;
use weft_model::{NoteId, NotePath, Target, fold};

use super::link_names::{Key, local_name};
use super::name_index::{compound_key, last_part, vault_key};
use super::path_segments::is_relative;
use super::slots::TableSlot;
use super::{NoteEntry, NoteTable, VaultId};

/// Returns the key of the spelling of a placeholder by the note at `path`: the spellings of a placeholder are contiguous, ordered by path.
fn spelling_key(id: NoteId, vault: VaultId, path: &NotePath) -> Vec<u8> {
    [&spelling_prefix(id)[..], &vault_key(vault, path.as_str())].concat()
}

fn spelling_prefix(id: NoteId) -> [u8; 4] {
    id.get().to_be_bytes()
}

impl NoteTable {
    /// Returns a placeholder's name as spelled by the linking note with the lowest path. It never starts with `/` or `./`.
    pub(super) fn spelling(&self, id: NoteId) -> Option<&str> {
        self.spellings.with_prefix(&spelling_prefix(id)).next().map(|(name, _)| last_part(name))
    }

    /// Returns the placeholder for an unresolved target of `entry`, and records the note's spelling.
    pub(super) fn placeholder(
        &mut self,
        entry: &NoteEntry,
        note: NoteId,
        target: &Target,
    ) -> NoteId {
        let ((vault, folded), name) = self.placeholder_key(entry, target);
        let key = vault_key(vault, &folded);
        let id = match self.placeholders.first(&key) {
            Some(id) => id,
            None => {
                let id = self.allocate();
                self.placeholders.insert(&key, id);
                self.slots.set(id.index(), TableSlot::Placeholder(vault));
                id
            }
        };
        // A note's first spelling counts.
        let key = compound_key(spelling_key(id, entry.vault, &entry.note.path), "");
        if self.spellings.with_prefix(&key).next().is_none() {
            let key = compound_key(spelling_key(id, entry.vault, &entry.note.path), &name);
            self.spellings.insert(&key, note);
        }
        id
    }

    /// Returns true if `id` is a placeholder for a path that leads out of its vault, such as `../LICENSE` from the root.
    #[must_use]
    pub fn leads_out_of_vault(&self, id: NoteId) -> bool {
        let name = self.spelling(id).unwrap_or_default();
        name == ".." || name.starts_with("../")
    }

    /// Removes a note's spelling from a placeholder, and the placeholder with its last spelling. Returns whether `id` is a placeholder.
    pub(super) fn remove_spelling(&mut self, id: NoteId, vault: VaultId, path: &NotePath) -> bool {
        let Some(TableSlot::Placeholder(place)) = self.slots.get(id.index()) else { return false };
        let place = *place;
        let name = self.spelling(id).unwrap_or_default().to_owned();
        let key = compound_key(spelling_key(id, vault, path), "");
        let key = self.spellings.with_prefix(&key).next();
        if let Some((key, note)) = key.map(|(key, note)| (key.to_vec(), note)) {
            self.spellings.remove(&key, note);
        }
        if self.spelling(id).is_none() {
            self.placeholders.remove(&vault_key(place, &fold(&name)), id);
            self.slots.set(id.index(), TableSlot::Free);
        }
        true
    }

    /// Returns the key and the name of the placeholder for a target of `entry`: the name as written, or from the vault's root if it is relative.
    fn placeholder_key(&self, entry: &NoteEntry, target: &Target) -> (Key, String) {
        let here = (entry.vault, entry.note.path.folder(), local_name(target));
        let cross_vault =
            self.cross_vault_target(&target.name).map(|(vault, name)| (vault, "", name));
        let (vault, folder, name) = cross_vault.unwrap_or(here);
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
