//! Issues with the names and links of a note.

use weft_model::fragment::NamedPart;
use weft_model::{Link, NoteId, NotePath, Target};

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
    /// A link from the vault's root matches no note, but a note elsewhere has this name.
    NothingAtRoot {
        /// The target as written.
        target: String,
        /// Path of the note elsewhere.
        other: NotePath,
    },
    /// A link names a heading or block that its note does not have.
    UnknownFragment {
        /// The target as written.
        target: String,
        /// The fragment as written.
        fragment: String,
    },
    /// A link names a heading that its note has several times.
    AmbiguousFragment {
        /// The target as written.
        target: String,
        /// The fragment as written.
        fragment: String,
        /// Fragments that name the other headings.
        others: Vec<String>,
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
        let from = entry.link_context();
        for (link, (target, at)) in entry.note.links.iter().zip(resolved.targets.iter().zip(0..)) {
            if target.is_some_and(|target| !self.is_note(target)) {
                issues.push(Issue::UnresolvedLink { target: link.target.name.clone() });
                issues.extend(self.nothing_at_root(&link.target, from));
            } else if resolved.ambiguous.contains(&at) {
                let candidates = self.resolution(&link.target, &[from]).candidates;
                let candidates = candidates.into_iter().filter_map(|id| self.path_of(id));
                let candidates = candidates.map(NotePath::new).collect();
                issues.push(Issue::AmbiguousLink { target: link.target.name.clone(), candidates });
            }
            issues.extend(self.fragment_issue(link, *target));
        }
        issues
    }

    /// Returns the issue with an unresolved target that begins with `/` if it resolves without it.
    fn nothing_at_root(&self, target: &Target, from: LinkContext<'_>) -> Option<Issue> {
        let name = target.name.strip_prefix('/')?.to_owned();
        let found = self.resolution(&Target { name, syntax: target.syntax }, &[from]);
        let other = NotePath::new(self.path_of(found.note?)?);
        Some(Issue::NothingAtRoot { target: target.name.clone(), other })
    }

    /// Returns the issue with the fragment of a link to `target`.
    fn fragment_issue(&self, link: &Link, target: Option<NoteId>) -> Option<Issue> {
        let fragment = link.fragment.clone()?;
        let section = self.entry(target?)?.section(&fragment);
        let target = link.target.name.clone();
        match section {
            None => Some(Issue::UnknownFragment { target, fragment }),
            Some(NamedPart { others, .. }) if others.is_empty() => None,
            Some(NamedPart { others, .. }) => {
                Some(Issue::AmbiguousFragment { target, fragment, others })
            }
        }
    }
}
