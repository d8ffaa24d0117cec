//! Place of a note in the hierarchy: parent and object, from links, folder notes and dotted names.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;
use weft_graph::NodeSpec;
use weft_model::id::{FOLDER_NOTES, folder_of};
use weft_model::{LinkSource, NoteId, NotePath, fold};

use super::name_index::vault_key;
use super::path_segments::{folder_name, folder_named_by, last_segment};
use super::slots::TableSlot;
use super::{NoteEntry, NoteTable, VaultId};

/// Case-folded stem of the top note of a folder with dotted names.
const DOTTED_ROOT: &str = "root";

/// Finds folder notes and caches them, since all notes of a folder share theirs.
pub(super) struct FolderNotes<'t> {
    table: &'t NoteTable,
    /// By vault and case-folded folder.
    cache: HashMap<Vec<u8>, Option<NoteId>, RandomState>,
}

impl<'t> FolderNotes<'t> {
    /// Creates an empty cache.
    pub(super) fn of(table: &'t NoteTable) -> Self {
        Self { table, cache: HashMap::default() }
    }

    /// Returns the folder note of `folder`, which must be folded.
    fn at(&mut self, vault: VaultId, folder: &str) -> Option<NoteId> {
        let find = || self.table.folder_note(vault, folder);
        *self.cache.entry(vault_key(vault, folder)).or_insert_with(find)
    }

    /// Returns the nearest ancestor of `note` by its dotted name, else the nearest folder note above it, other than itself; `None` at the root.
    ///
    /// A folder note that is below `note` by its dotted name is skipped.
    pub(super) fn ancestor(&mut self, note: NoteId, entry: &NoteEntry) -> Option<NoteId> {
        let vault = entry.vault;
        let path = fold(entry.note.path.without_extension());
        let is_dotted = entry.note.dendron;
        let above = self.dotted_ancestor(entry, &path);
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

impl FolderNotes<'_> {
    /// Returns the nearest ancestor by its dotted name of the note at `path`, which must be folded.
    fn dotted_ancestor(&self, entry: &NoteEntry, path: &str) -> Option<NoteId> {
        entry.note.dendron.then(|| self.table.ancestor_by_name(entry.vault, path)).flatten()
    }

    /// Returns true if a dotted name gives a note its place.
    pub(super) fn has_dotted_place(&self, entry: &NoteEntry) -> bool {
        let path = fold(entry.note.path.without_extension());
        self.dotted_ancestor(entry, &path).is_some()
    }
}

impl NoteTable {
    /// Returns the graph node of every occupied slot.
    pub(super) fn graph_of_all(&self) -> impl Iterator<Item = (NoteId, NodeSpec)> {
        let mut folders = FolderNotes::of(self);
        let ids = (0..).map(NoteId::new).take(self.slots.len());
        ids.filter_map(move |id| Some((id, self.spec(id, &mut folders)?)))
    }

    /// Returns the graph node of a slot; `None` for a free one.
    pub(super) fn spec(&self, id: NoteId, folders: &mut FolderNotes<'_>) -> Option<NodeSpec> {
        match self.slots.get(id.index())? {
            TableSlot::Free => None,
            TableSlot::Placeholder(vault) => {
                Some(NodeSpec::placeholder(self.placeholder_uri(id, *vault).as_str()))
            }
            TableSlot::Note(entry, resolved) => {
                let (parent, object) = self.place(id, &resolved.targets, folders);
                let mut kinds: BTreeMap<&str, Arc<str>> = BTreeMap::new();
                let links =
                    entry.note.links.iter().zip(&resolved.targets).filter_map(|(link, target)| {
                        let kind = kinds
                            .entry(&link.kind)
                            .or_insert_with(|| Arc::from(link.kind.as_str()));
                        Some(((*target)?, Arc::clone(kind), link.source))
                    });
                Some(NodeSpec {
                    uri: resolved.uri.clone(),
                    placeholder: false,
                    parent,
                    object,
                    order: entry.note.order,
                    name: Self::sibling_name(&entry.note.path).to_owned(),
                    links: links.collect(),
                })
            }
        }
    }

    /// Returns the folder note of `folder`, which must be folded: the first that exists of `index`, `README`, `_index`, `__index` and `<folder>` inside it, and `<folder>` beside it.
    ///
    /// Names are compared case-insensitively; among several spellings the lowest path wins.
    /// The root's folder name is ignored, so moving a vault does not change its hierarchy.
    pub(super) fn folder_note(&self, vault: VaultId, folder: &str) -> Option<NoteId> {
        let at = |path: String| {
            self.path_index.at(vault, &path).into_iter().min_by_key(|id| self.path_of(*id))
        };
        let inside = FOLDER_NOTES.iter().find_map(|name| at(below(folder, name)));
        inside.or_else(|| {
            let own = folder_name(folder)?;
            at(below(folder, own)).or_else(|| at(folder.to_owned()))
        })
    }

    /// Returns the nearest ancestor by dotted name of the note at `path`, which must be folded: for `x/a.b.c`, the first that exists of `x/a.b`, `x/a` and `x/root`.
    fn ancestor_by_name(&self, vault: VaultId, path: &str) -> Option<NoteId> {
        let (folder, name) = (folder_of(path), last_segment(path));
        let shorter = name.rmatch_indices('.').map(|(dot, _)| &name[..dot]);
        let root = (!is_dotted_root(path)).then_some(DOTTED_ROOT);
        shorter.filter(|name| !name.is_empty()).chain(root).find_map(|name| {
            let notes = self.path_index.at(vault, &below(folder, name)).into_iter();
            let notes = notes.filter(|id| self.entry(*id).is_some_and(|entry| entry.note.dendron));
            notes.min_by_key(|id| self.path_of(*id))
        })
    }

    /// Returns parent and object of `note`, from its typed links, its dotted name and its folder.
    ///
    /// Property names are compared case-insensitively.
    /// A link to a missing note has no effect until the note exists.
    /// A link to the note itself has no effect.
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
            .or_else(|| folders.ancestor(note, entry));
        (parent, object)
    }

    /// Returns the prefixes of the folded paths of notes below `entry`, whose parent may change when it is added or removed: those in a folder, and those with a longer dotted name.
    pub(super) fn prefixes_below(entry: &NoteEntry) -> impl Iterator<Item = String> {
        let path = fold(entry.note.path.without_extension());
        let (folder, stem) = (folder_of(&path), last_segment(&path));
        let is_dotted = entry.note.dendron;
        let is_inside = FOLDER_NOTES.contains(&stem)
            || folder_name(folder) == Some(stem)
            || (is_dotted && is_dotted_root(&path));
        let inside = is_inside.then(|| below(folder, ""));
        let longer = is_dotted.then(|| format!("{path}."));
        [Some(format!("{path}/")), inside, longer].into_iter().flatten()
    }

    /// Returns the name by which a note is sorted among its siblings: its file name, or the folder's name for a folder note.
    pub(super) fn sibling_name(path: &NotePath) -> &str {
        folder_named_by(path).filter(|name| !name.is_empty()).unwrap_or(path.stem())
    }
}

/// True if the note at `path`, which must be folded, is the top note of a folder with dotted names.
fn is_dotted_root(path: &str) -> bool {
    last_segment(path) == DOTTED_ROOT
}

/// Returns the path of `name` in `folder`.
pub(super) fn below(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}
