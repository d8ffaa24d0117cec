//! The place of a note: its folder's note, those that its dotted name says are above it, its parent, its object.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use weft_model::id::{FOLDER_NOTES, folder_of};
use weft_model::{LinkSource, NoteId, NotePath, fold};

use super::directory::within;
use super::names::last_segment;
use super::{NoteEntry, NoteTable, VaultId};

/// The stem, folded, of the note above all others of its folder where names are dotted.
const DOTTED_ROOT: &str = "root";

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

    /// The nearest note above `note` by its dotted name, else the nearest folder note above it, itself excepted; none at the root.
    ///
    /// What its dotted name puts below it is not above it, though it stand for their folder.
    fn above(&mut self, note: NoteId, entry: &NoteEntry) -> Option<NoteId> {
        let vault = entry.vault;
        let path = fold(entry.note.path.without_extension());
        let is_dotted = entry.note.dendron;
        let above = is_dotted.then(|| self.table.above_by_name(vault, &path)).flatten();
        if above.is_some() {
            return above;
        }
        let own = folder_of(&path);
        let is_below = |found: NoteId| {
            let other = || self.table.bare_path(found).map(fold).unwrap_or_default();
            is_dotted_root(&path) || other().starts_with(&format!("{path}."))
        };
        let mut folder = own;
        loop {
            match self.at(vault, folder) {
                Some(found)
                    if found != note && !(is_dotted && folder == own && is_below(found)) =>
                {
                    return Some(found);
                }
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

    /// The nearest note above the one at `path`, which is folded, by the dots in its name: of `x/a.b.c` the first that exists of `x/a.b`, `x/a` and `x/root`.
    fn above_by_name(&self, vault: VaultId, path: &str) -> Option<NoteId> {
        let (folder, name) = (folder_of(path), last_segment(path));
        let shorter = name.rmatch_indices('.').map(|(dot, _)| &name[..dot]);
        let root = (!is_dotted_root(path)).then_some(DOTTED_ROOT);
        shorter.filter(|name| !name.is_empty()).chain(root).find_map(|name| {
            let notes = self.places.at(vault, &below(folder, name)).into_iter();
            let notes = notes.filter(|id| self.entry(*id).is_some_and(|entry| entry.note.dendron));
            notes.min_by_key(|id| self.path_of(*id))
        })
    }

    /// Parent and object of `note`, from its written links, its dotted name and its folder.
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
        let parent =
            subject.or_else(|| written(&["parent", "up"])).or_else(|| folders.above(note, entry));
        (parent, object)
    }

    /// How the folded paths begin of notes above which `entry` may stand, so that its coming or going moves them: those in a folder, and those with a longer dotted name.
    pub(super) fn heads_below(entry: &NoteEntry) -> impl Iterator<Item = String> {
        let path = fold(entry.note.path.without_extension());
        let (folder, stem) = (folder_of(&path), last_segment(&path));
        let is_dotted = entry.note.dendron;
        let is_inside = FOLDER_NOTES.contains(&stem)
            || own_name(folder) == Some(stem)
            || (is_dotted && is_dotted_root(&path));
        let inside = is_inside.then(|| below(folder, ""));
        let longer = is_dotted.then(|| format!("{path}."));
        [Some(format!("{path}/")), inside, longer].into_iter().flatten()
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

/// Whether the note at `path`, which is folded, is the root of its folder where names are dotted.
fn is_dotted_root(path: &str) -> bool {
    last_segment(path) == DOTTED_ROOT
}

/// The path of `name` in `folder`.
fn below(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// The last segment of a folder's path; nothing for the root.
fn own_name(folder: &str) -> Option<&str> {
    folder.rsplit('/').next().filter(|own| !own.is_empty())
}
