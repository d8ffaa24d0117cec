//! Case-insensitive index of note paths.

use weft_model::{NoteId, NotePath, fold};

use super::VaultId;
use super::name_index::{NameIndex, NoteIds, vault_key};

/// Notes by case-folded path without extension, so that the notes at a path and those below a folder are contiguous in any spelling.
///
/// Changes take effect once the name index has [applied them](NameIndex::apply_staged).
#[derive(Clone, Debug, Default)]
pub(super) struct PathIndex(pub(super) NameIndex);

impl PathIndex {
    pub(super) fn insert(&mut self, vault: VaultId, path: &NotePath, note: NoteId) {
        self.0.stage(vault_key(vault, &fold(path.without_extension())), note, true);
    }

    pub(super) fn remove(&mut self, vault: VaultId, path: &NotePath, note: NoteId) {
        self.0.stage(vault_key(vault, &fold(path.without_extension())), note, false);
    }

    /// Returns the notes whose folded path without extension is `folded`, in no particular order.
    pub(super) fn at(&self, vault: VaultId, folded: &str) -> NoteIds {
        self.0.at(&vault_key(vault, folded))
    }

    /// Returns the notes whose path starts with `head`, which must be folded; all notes of the vault if it is empty. In no particular order.
    pub(super) fn with_prefix(&self, vault: VaultId, head: &str) -> impl Iterator<Item = NoteId> {
        self.0.with_prefix(&vault_key(vault, head)).map(|(_, note)| note)
    }
}
