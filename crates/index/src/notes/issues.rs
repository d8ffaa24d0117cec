//! Issues with the names and links of a note.

use weft_model::{NoteId, NotePath};

use super::NoteTable;
use super::resolve::LinkContext;
use super::slots::TableSlot;
use super::uris::preferred_uri;

/// An issue with the names of a vault, for its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Issue {
    /// The note claims a uri, by its frontmatter or by its path, that belongs to another note.
    DuplicateUri {
        /// The claimed uri.
        claimed: String,
        /// Path of the note that has the uri.
        winner: NotePath,
    },
    /// A link matches several notes.
    AmbiguousLink {
        /// The target as written.
        target: String,
        /// Paths of the matching notes, the chosen one first.
        candidates: Vec<NotePath>,
    },
    /// A link matches no note.
    UnresolvedLink {
        /// The target as written.
        target: String,
    },
}

impl NoteTable {
    /// Returns the issues with the names and links of a note.
    #[must_use]
    pub fn issues(&self, id: NoteId) -> Vec<Issue> {
        let Some(TableSlot::Note(entry, resolved)) = self.slots.get(id.index()) else {
            return Vec::new();
        };
        let mut issues = Vec::new();
        let preferred = preferred_uri(entry);
        if let Some(winner) = self.winner(entry.vault, preferred).filter(|winner| *winner != id) {
            let winner = NotePath::new(self.path_of(winner).unwrap_or_default());
            issues.push(Issue::DuplicateUri { claimed: preferred.to_owned(), winner });
        }
        let from = LinkContext { vault: entry.vault, folder: entry.note.path.folder() };
        for (link, (target, at)) in entry.note.links.iter().zip(resolved.targets.iter().zip(0..)) {
            if target.is_some_and(|target| !self.is_note(target)) {
                issues.push(Issue::UnresolvedLink { target: link.target.name.clone() });
            } else if resolved.ambiguous.contains(&at) {
                let candidates = self.resolution(&link.target, &[from]).candidates;
                let candidates = candidates.into_iter().filter_map(|id| self.path_of(id));
                let candidates = candidates.map(NotePath::new).collect();
                issues.push(Issue::AmbiguousLink { target: link.target.name.clone(), candidates });
            }
        }
        issues
    }
}
