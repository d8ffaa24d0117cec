//! Where notes lie, with case folded.

use weft_model::{NoteId, NotePath, fold};

use super::VaultId;
use super::directory::{Directory, Notes, within};

/// The notes by their folded paths without extension, so that those at a path and those below a folder stand together however they are spelled.
///
/// What is put there, or taken, counts once the directory is settled.
#[derive(Clone, Debug, Default)]
pub(super) struct Places(pub(super) Directory);

impl Places {
    pub(super) fn put(&mut self, vault: VaultId, path: &NotePath, note: NoteId) {
        self.0.stage(within(vault, &fold(path.without_extension())), note, true);
    }

    pub(super) fn take(&mut self, vault: VaultId, path: &NotePath, note: NoteId) {
        self.0.stage(within(vault, &fold(path.without_extension())), note, false);
    }

    /// The notes whose path without extension reads `folded`, in no order.
    pub(super) fn at(&self, vault: VaultId, folded: &str) -> Notes {
        self.0.at(&within(vault, folded))
    }

    /// The notes whose path begins with `head`, which is folded; all of the vault's where it is empty. In no order.
    pub(super) fn beginning(&self, vault: VaultId, head: &str) -> impl Iterator<Item = NoteId> {
        self.0.below(&within(vault, head)).map(|(_, note)| note)
    }
}
