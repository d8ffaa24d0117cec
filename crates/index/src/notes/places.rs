//! Where notes lie, with case folded.

use imbl::OrdMap;
use smallvec::SmallVec;
use weft_model::{NoteId, NotePath, fold};

use super::VaultId;
use super::names::Key;

/// The notes by their folded paths without extension, so that those at a path and those below a folder stand together however they are spelled.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    notes: OrdMap<Key, SmallVec<[NoteId; 1]>>,
}

impl Places {
    pub(super) fn put(&mut self, vault: VaultId, path: &NotePath, note: NoteId) {
        let list = self.notes.entry((vault, fold(path.without_extension()))).or_default();
        if !list.contains(&note) {
            list.push(note);
        }
    }

    pub(super) fn take(&mut self, vault: VaultId, path: &NotePath, note: NoteId) {
        let key = (vault, fold(path.without_extension()));
        if let Some(list) = self.notes.get_mut(&key) {
            list.retain(|other| *other != note);
            if list.is_empty() {
                self.notes.remove(&key);
            }
        }
    }

    /// The notes whose path without extension reads `folded`, in no order.
    pub(super) fn at(&self, vault: VaultId, folded: &str) -> &[NoteId] {
        self.notes.get(&(vault, folded.to_owned())).map_or(&[], |list| list)
    }

    /// The notes below `folder`, which is folded; all of the vault's where it is empty. In no order.
    pub(super) fn below(&self, vault: VaultId, folder: &str) -> impl Iterator<Item = NoteId> + '_ {
        let start = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let from = self.notes.range((vault, start.clone())..);
        let below =
            from.take_while(move |((other, path), _)| *other == vault && path.starts_with(&start));
        below.flat_map(|(_, list)| list.iter().copied())
    }
}
