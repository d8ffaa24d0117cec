//! The place of a note: its folder's note, its parent, its object.

use weft_model::{LinkSource, NoteId, NotePath, fold};

use super::{NoteTable, VaultId};

/// File names, without extension and folded, that stand for their folder, the first wins.
const FOLDER_NOTES: [&str; 4] = ["index", "readme", "_index", "__index"];

impl NoteTable {
    /// The note that stands for `folder`: the first that exists of `index`, `README`, `_index`, `__index`, `<folder>` inside it, `<folder>` beside it.
    ///
    /// Names are compared with case folded.
    /// The root is named by no folder name, so a vault may be moved without changing its hierarchy.
    pub(super) fn folder_note(&self, vault: VaultId, folder: &str) -> Option<NoteId> {
        let at = |folder: &str, name: &str| {
            let path = if folder.is_empty() {
                name.to_owned()
            } else {
                format!("{}/{name}", fold(folder))
            };
            let answering = self.names.answering(&(vault, name.to_owned())).iter().copied();
            answering
                .filter(|id| self.bare_path(*id).is_some_and(|bare| fold(bare) == path))
                .min_by(|a, b| self.path_of(*a).cmp(self.path_of(*b)))
        };
        let inside = FOLDER_NOTES.iter().find_map(|name| at(folder, name));
        inside.or_else(|| {
            let (above, own) = folder.rsplit_once('/').unwrap_or(("", folder));
            if own.is_empty() {
                return None;
            }
            at(folder, &fold(own)).or_else(|| at(above, &fold(own)))
        })
    }

    /// The nearest folder note above `note`, itself excepted; none at the root.
    pub(super) fn folder_parent(
        &self,
        note: NoteId,
        vault: VaultId,
        path: &NotePath,
    ) -> Option<NoteId> {
        let mut folder = path.folder();
        loop {
            match self.folder_note(vault, folder) {
                Some(found) if found != note => return Some(found),
                _ if folder.is_empty() => return None,
                _ => folder = folder.rsplit_once('/').map_or("", |(above, _)| above),
            }
        }
    }

    /// Parent and object of `note`, from its written links and its folder.
    ///
    /// A link whose target does not exist gives no place; it does as soon as the note appears.
    pub(super) fn place(
        &self,
        note: NoteId,
        targets: &[Option<NoteId>],
    ) -> (Option<NoteId>, Option<NoteId>) {
        let Some(entry) = self.entry(note) else { return (None, None) };
        let written = |names: &[&str]| {
            names.iter().find_map(|name| {
                let mut links = entry.note.links.iter().zip(targets);
                links.find_map(|(link, target)| {
                    let typed = link.source == LinkSource::Typed && link.kind == *name;
                    target.filter(|id| typed && self.entry(*id).is_some())
                })
            })
        };
        let object = written(&["object", "target"]);
        let subject = object.and_then(|_| written(&["source"]));
        let parent = subject
            .or_else(|| written(&["parent", "up"]))
            .or_else(|| self.folder_parent(note, entry.vault, &entry.note.path));
        (parent, object)
    }

    /// The folder that a note at `path` may stand for, so that its coming or going moves those below.
    pub(super) fn stands_for(path: &NotePath) -> Vec<String> {
        let (folder, stem) = (path.folder(), fold(path.stem()));
        let beside = if folder.is_empty() {
            path.stem().to_owned()
        } else {
            format!("{folder}/{}", path.stem())
        };
        let mut folders = vec![beside];
        let own = fold(folder.rsplit_once('/').map_or(folder, |(_, own)| own));
        if FOLDER_NOTES.contains(&stem.as_str()) || (stem == own && !own.is_empty()) {
            folders.push(folder.to_owned());
        }
        folders
    }

    /// The name under which a note stands among its siblings: its file's, or its folder's where it stands for one.
    pub(super) fn sibling_name(path: &NotePath) -> &str {
        let folder = path.folder();
        let own = folder.rsplit_once('/').map_or(folder, |(_, own)| own);
        if FOLDER_NOTES.contains(&fold(path.stem()).as_str()) && !own.is_empty() {
            own
        } else {
            path.stem()
        }
    }
}
