//! Place of a note in a folder without a note of its own: the notes around it there.

use weft_model::id::{FOLDER_NOTES, folder_of};
use weft_model::{NoteId, fold};

use super::hierarchy::{FolderNotes, below};
use super::name_index::vault_key;
use super::path_segments::{folder_name, last_segment};
use super::{NoteTable, VaultId};

/// The notes around a note in its folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FolderPlace {
    /// The folder is small enough to be read as a parent.
    Siblings {
        /// Notes before it, in sibling order.
        before: Vec<NoteId>,
        /// Notes after it, in sibling order.
        after: Vec<NoteId>,
    },
    /// The folder holds more notes.
    Crowded {
        /// The notes that follow it by path; after the last one, the first ones follow.
        following: Vec<NoteId>,
    },
}

/// Entries of a folder: its own notes, and its folders.
enum FolderMember<'t> {
    Note(NoteId),
    /// Case-folded name.
    Folder(&'t [u8]),
}

impl NoteTable {
    /// Returns the notes around `note` in its folder, or, for a folder note, around its folder; `None` if its place is given by a link, a dotted name or a folder note.
    ///
    /// A subfolder is represented by its note. A folder of more than `max_siblings` other notes and folders is crowded; its `n_following` next notes are returned instead.
    /// Reads about as many entries as it returns, whatever the size of the vault.
    #[must_use]
    pub fn folder_place(
        &self,
        note: NoteId,
        max_siblings: usize,
        n_following: usize,
    ) -> Option<FolderPlace> {
        let entry = self.entry(note)?;
        let vault = entry.vault;
        let path = fold(entry.note.path.without_extension());
        let own = folder_of(&path);
        let stem = last_segment(&path);
        let is_inside = FOLDER_NOTES.contains(&stem) || folder_name(own) == Some(stem);
        let represents = is_inside && self.folder_note(vault, own) == Some(note);
        let folder = match (represents, own) {
            (true, "") => return None,
            (true, own) => folder_of(own),
            (false, own) => own,
        };
        if self.folder_note(vault, folder).is_some() {
            return None;
        }
        let mut folders = FolderNotes::of(self);
        let parent = self.graph.parent(note);
        if folders.has_dotted_place(entry) || parent != folders.ancestor(note, entry) {
            return None;
        }
        let siblings = self.folder_members(vault, folder, max_siblings + 1);
        let Some(mut siblings) = siblings else {
            let start = if represents { own } else { &path };
            let following = self.following(vault, folder, start, note, n_following);
            return Some(FolderPlace::Crowded { following });
        };
        // A note with a parent of its own has its place there.
        siblings.retain(|other| *other == note || self.graph.parent(*other) == parent);
        siblings.sort_unstable_by(|a, b| self.graph.sibling_cmp(*a, *b));
        siblings.dedup();
        let at = siblings.iter().position(|other| *other == note)?;
        let after = siblings.split_off(at + 1);
        siblings.pop();
        Some(FolderPlace::Siblings { before: siblings, after })
    }

    /// Returns the notes of a folder and the folder notes of its folders, in no particular order; `None` if the folder has more than `max` entries.
    fn folder_members(&self, vault: VaultId, folder: &str, max: usize) -> Option<Vec<NoteId>> {
        let mut members = Vec::new();
        for (entry, n_before) in self.folder_entries(vault, folder, "").zip(0..) {
            if n_before >= max {
                return None;
            }
            match entry {
                FolderMember::Note(note) => members.push(note),
                FolderMember::Folder(name) => {
                    let name = std::str::from_utf8(name).ok()?;
                    members.extend(self.folder_note(vault, &below(folder, name)));
                }
            }
        }
        Some(members)
    }

    /// Returns up to `n` notes of a folder by path, from the entry `start` on, then from the first one.
    fn following(
        &self,
        vault: VaultId,
        folder: &str,
        start: &str,
        note: NoteId,
        n: usize,
    ) -> Vec<NoteId> {
        let name = last_segment(start);
        let notes = |from| {
            self.folder_entries(vault, folder, from).filter_map(|entry| match entry {
                FolderMember::Note(note) => Some(note),
                FolderMember::Folder(_) => None,
            })
        };
        let mut found: Vec<NoteId> = Vec::new();
        for other in notes(name).take(n + 1).chain(notes("").take(n + 1)) {
            if found.len() < n && other != note && !found.contains(&other) {
                found.push(other);
            }
        }
        found
    }

    /// Returns the entries of a folder by path, from the name `from` on. The notes below its folders are skipped, not read.
    fn folder_entries<'t>(
        &'t self,
        vault: VaultId,
        folder: &str,
        from: &str,
    ) -> impl Iterator<Item = FolderMember<'t>> + use<'t> {
        let head = vault_key(vault, &below(folder, ""));
        let mut rest = self.path_index.0.iter_from(&[&head, from.as_bytes()].concat());
        std::iter::from_fn(move || {
            let (key, note) = rest.next()?;
            let name = key.strip_prefix(head.as_slice())?;
            let Some(slash) = name.iter().position(|byte| *byte == b'/') else {
                return Some(FolderMember::Note(note));
            };
            let name = &name[..slash];
            // The byte after `/`: the first key behind everything below the folder.
            rest = self.path_index.0.iter_from(&[&head, name, &[b'/' + 1]].concat());
            Some(FolderMember::Folder(name))
        })
    }
}
