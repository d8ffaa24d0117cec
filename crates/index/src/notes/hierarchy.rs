//! The place of a note: its folder's note, its parent, its object.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use weft_model::id::FOLDER_NOTES;
use weft_model::{LinkSource, NoteId, NotePath, fold};

use super::directory::within;
use super::{NoteTable, VaultId};

/// Finds the notes that stand for folders, and remembers them: the notes of a folder lie below the same.
pub(super) struct FolderNotes<'t> {
    table: &'t NoteTable,
    /// By vault and folded folder.
    known: HashMap<Vec<u8>, Option<NoteId>, RandomState>,
}

impl<'t> FolderNotes<'t> {
    /// One that has found nothing yet.
    pub(super) fn of(table: &'t NoteTable) -> Self {
        Self { table, known: HashMap::default() }
    }

    /// The note that stands for `folder`, which is folded.
    fn at(&mut self, vault: VaultId, folder: &str) -> Option<NoteId> {
        let find = || self.table.folder_note(vault, folder);
        *self.known.entry(within(vault, folder)).or_insert_with(find)
    }

    /// The nearest folder note above `note`, itself excepted; none at the root.
    fn above(&mut self, note: NoteId, vault: VaultId, path: &NotePath) -> Option<NoteId> {
        let folded = fold(path.folder());
        let mut folder = folded.as_str();
        loop {
            match self.at(vault, folder) {
                Some(found) if found != note => return Some(found),
                _ if folder.is_empty() => return None,
                _ => folder = folder.rsplit_once('/').map_or("", |(above, _)| above),
            }
        }
    }
}

impl NoteTable {
    /// The note that stands for `folder`, which is folded: the first that exists of `index`, `README`, `_index`, `__index`, `<folder>` inside it, `<folder>` beside it.
    ///
    /// Names are compared with case folded; of several spellings the lowest path wins.
    /// The root is named by no folder name, so a vault may be moved without changing its hierarchy.
    pub(super) fn folder_note(&self, vault: VaultId, folder: &str) -> Option<NoteId> {
        let at = |path: String| {
            self.places.at(vault, &path).into_iter().min_by_key(|id| self.path_of(*id))
        };
        let inside = FOLDER_NOTES.iter().find_map(|name| at(below(folder, name)));
        inside.or_else(|| {
            let own = own_name(folder)?;
            at(below(folder, own)).or_else(|| at(folder.to_owned()))
        })
    }

    /// Parent and object of `note`, from its written links and its folder.
    ///
    /// Names of properties are compared with case folded.
    /// A link whose target does not exist gives no place; it does as soon as the note appears.
    /// Nor does a link to the note itself.
    pub(super) fn place(
        &self,
        note: NoteId,
        targets: &[Option<NoteId>],
        folders: &mut FolderNotes<'_>,
    ) -> (Option<NoteId>, Option<NoteId>) {
        let Some(entry) = self.entry(note) else { return (None, None) };
        let written = |names: &[&str]| {
            names.iter().find_map(|name| {
                let mut links = entry.note.links.iter().zip(targets);
                links.find_map(|(link, target)| {
                    let typed =
                        link.source == LinkSource::Typed && link.kind.eq_ignore_ascii_case(name);
                    target.filter(|id| typed && *id != note && self.is_note(*id))
                })
            })
        };
        let object = written(&["object", "target"]);
        let subject = object.and_then(|_| written(&["source"]));
        let parent = subject
            .or_else(|| written(&["parent", "up"]))
            .or_else(|| folders.above(note, entry.vault, &entry.note.path));
        (parent, object)
    }

    /// The folders, folded, that a note at `path` may stand for, so that its coming or going moves those below.
    pub(super) fn stands_for(path: &NotePath) -> Vec<String> {
        let (folder, stem) = (fold(path.folder()), fold(path.stem()));
        let mut folders = vec![fold(path.without_extension())];
        let is_inside =
            FOLDER_NOTES.contains(&stem.as_str()) || own_name(&folder) == Some(stem.as_str());
        if is_inside {
            folders.push(folder);
        }
        folders
    }

    /// The name of the folder that a note at `path` stands for by its file's name; blank for the root.
    pub(super) fn folder_named_by(path: &NotePath) -> Option<&str> {
        let is_inside = FOLDER_NOTES.contains(&fold(path.stem()).as_str());
        is_inside.then(|| own_name(path.folder()).unwrap_or_default())
    }

    /// The name under which a note stands among its siblings: its file's, or its folder's where it stands for one.
    pub(super) fn sibling_name(path: &NotePath) -> &str {
        Self::folder_named_by(path).filter(|name| !name.is_empty()).unwrap_or(path.stem())
    }
}

/// The path of `name` in `folder`.
fn below(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// The last segment of a folder's path; nothing for the root.
fn own_name(folder: &str) -> Option<&str> {
    folder.rsplit('/').next().filter(|own| !own.is_empty())
}
