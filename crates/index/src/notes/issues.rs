//! What is odd about the names and links of a note.

use weft_model::{NoteId, NotePath};

use super::NoteTable;
use super::resolve::From;
use super::slots::Slot;
use super::uris::wanted_uri;

/// Something about the names of a vault that its owner may want to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Issue {
    /// The note wants a uri, by its frontmatter or by its path, that belongs to another.
    DuplicateUri {
        /// The wanted uri.
        claimed: String,
        /// The note that has it.
        winner: NotePath,
    },
    /// A link could mean several notes.
    AmbiguousLink {
        /// The target as written.
        target: String,
        /// The paths it could mean, the chosen one first.
        candidates: Vec<NotePath>,
    },
    /// A link means no note.
    UnresolvedLink {
        /// The target as written.
        target: String,
    },
}

impl NoteTable {
    /// What is odd about the names and links of a note.
    #[must_use]
    pub fn issues(&self, id: NoteId) -> Vec<Issue> {
        let Some(Slot::Note(entry, resolved)) = self.slots.get(id.index()) else {
            return Vec::new();
        };
        let mut issues = Vec::new();
        let wanted = wanted_uri(entry);
        if let Some(winner) = self.winner(entry.vault, wanted).filter(|winner| *winner != id) {
            let winner = NotePath::new(self.path_of(winner).unwrap_or_default());
            issues.push(Issue::DuplicateUri { claimed: wanted.to_owned(), winner });
        }
        let from = From { vault: entry.vault, folder: entry.note.path.folder() };
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
