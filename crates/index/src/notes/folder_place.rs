//! Place of a note in a folder without a note of its own: the notes around it there.

use weft_model::id::{FOLDER_NOTES, folder_of};
use weft_model::{NoteId, first_n, fold};

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
    /// The folder holds more notes; [`NoteTable::nearest_in_folder`] returns some of them.
    Crowded,
}

/// Maximum number of entries read to find the nearest notes of a folder.
const MAX_COMPARED: usize = 10_000;

/// A folder without a note of its own that determines the place of a note.
struct OwnFolder<'t> {
    vault: VaultId,
    /// Folded path.
    path: String,
    /// Folded name of the note in it, or of the folder that the note represents.
    name: String,
    /// Parent of its notes, if they have no other place.
    parent: Option<NoteId>,
    notes: &'t NoteTable,
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
    /// A subfolder is represented by its note. A folder of more than `max_siblings` other notes and folders is crowded.
    /// Reads about as many entries as it returns, whatever the size of the vault.
    #[must_use]
    pub fn folder_place(&self, note: NoteId, max_siblings: usize) -> Option<FolderPlace> {
        let folder = self.own_folder(note)?;
        let Some(mut siblings) = folder.members(max_siblings + 1) else {
            return Some(FolderPlace::Crowded);
        };
        // A note with a parent of its own has its place there.
        siblings.retain(|other| *other == note || self.graph.parent(*other) == folder.parent);
        siblings.sort_unstable_by(|a, b| self.graph.sibling_cmp(*a, *b));
        siblings.dedup();
        let at = siblings.iter().position(|other| *other == note)?;
        let after = siblings.split_off(at + 1);
        siblings.pop();
        Some(FolderPlace::Siblings { before: siblings, after })
    }

    /// Returns up to `n` notes nearest to `note` in its folder in sibling order: the next one, the one before, the next but one, and so on; if one side ends, the other continues.
    ///
    /// Empty where [`folder_place`](Self::folder_place) is `None`. The order is compared among at most 10,000 entries: of a larger folder, those that follow by path, then the first ones.
    #[must_use]
    pub fn nearest_in_folder(&self, note: NoteId, n: usize) -> Vec<NoteId> {
        let Some(folder) = self.own_folder(note) else { return Vec::new() };
        let entries = folder.entries(&folder.name).chain(folder.entries(""));
        let mut others: Vec<NoteId> = entries
            .take(MAX_COMPARED)
            .filter_map(|entry| match entry {
                FolderMember::Note(other) => (other != note).then_some(other),
                FolderMember::Folder(_) => None,
            })
            .collect();
        others.sort_unstable();
        others.dedup();
        let order = |a: &NoteId, b: &NoteId| self.graph.sibling_cmp(*a, *b);
        let (before, after): (Vec<NoteId>, Vec<NoteId>) =
            others.into_iter().partition(|other| order(other, &note).is_lt());
        let mut after = first_n(after, n, order).into_iter();
        let mut before = first_n(before, n, |a, b| order(b, a)).into_iter();
        let pairs = std::iter::from_fn(|| match [after.next(), before.next()] {
            [None, None] => None,
            pair => Some(pair.into_iter().flatten()),
        });
        pairs.flatten().take(n).collect()
    }

    /// Returns the folder that determines the place of `note`; `None` if a link, a dotted name or a folder note does.
    fn own_folder(&self, note: NoteId) -> Option<OwnFolder<'_>> {
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
        let name = last_segment(if represents { own } else { &path }).to_owned();
        Some(OwnFolder { vault, path: folder.to_owned(), name, parent, notes: self })
    }
}

impl<'t> OwnFolder<'t> {
    /// Returns the notes of the folder and the folder notes of its folders, in no particular order; `None` if the folder has more than `max` entries.
    fn members(&self, max: usize) -> Option<Vec<NoteId>> {
        let mut members = Vec::new();
        for (entry, n_before) in self.entries("").zip(0..) {
            if n_before >= max {
                return None;
            }
            match entry {
                FolderMember::Note(note) => members.push(note),
                FolderMember::Folder(name) => {
                    let name = std::str::from_utf8(name).ok()?;
                    members.extend(self.notes.folder_note(self.vault, &below(&self.path, name)));
                }
            }
        }
        Some(members)
    }

    /// Returns the entries of the folder by path, from the name `from` on. The notes below its folders are skipped, not read.
    fn entries(&self, from: &str) -> impl Iterator<Item = FolderMember<'t>> + use<'t> {
        let notes = self.notes;
        let head = vault_key(self.vault, &below(&self.path, ""));
        let mut rest = notes.path_index.0.iter_from(&[&head, from.as_bytes()].concat());
        std::iter::from_fn(move || {
            let (key, note) = rest.next()?;
            let name = key.strip_prefix(head.as_slice())?;
            let Some(slash) = name.iter().position(|byte| *byte == b'/') else {
                return Some(FolderMember::Note(note));
            };
            let name = &name[..slash];
            // The byte after `/`: the first key behind everything below the folder.
            rest = notes.path_index.0.iter_from(&[&head, name, &[b'/' + 1]].concat());
            Some(FolderMember::Folder(name))
        })
    }
}
