//! The effect of a move on links: which change their target, and how to write them instead.

use std::collections::BTreeMap;
use std::path::PathBuf;

use weft_index::notes::{LinkContext, NoteTable, VaultId};
use weft_model::id::{folder_of, segments, split_query, without_markdown_extension};
use weft_model::text::folds_to;
use weft_model::{Link, NoteId, NoteKind, NotePath, Target, TargetSyntax, fold};

use crate::link_rewrite::LinkUpdate;
use crate::parse::logseq;
use crate::write_request::RewrittenLinks;

/// The note table before and after the move of one note.
pub(super) struct MovePreview {
    pub(super) before: NoteTable,
    pub(super) after: NoteTable,
    pub(super) moved: NoteId,
    /// Links of the moved note to files that are not notes.
    pub(super) files: Vec<Link>,
    pub(super) vault: VaultId,
    pub(super) root: PathBuf,
    pub(super) to: NotePath,
    /// True if page names follow Logseq's rules.
    pub(super) logseq: bool,
}

/// How a link refers to its note, from the loosest way to the strictest.
///
/// Other Markdown readers can follow a link to a file path, but not a link to a note name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LinkStrength {
    /// By a name, or in any other way that only this index resolves.
    Name,
    /// By the path from the vault's root.
    Root,
    /// By the path from the linking note.
    Relative,
}

impl LinkStrength {
    /// Returns how a link at `place` refers to `note`; `None` if its target is another note, or none.
    fn of(
        notes: &NoteTable,
        place: LinkContext<'_>,
        target: &Target,
        note: NoteId,
    ) -> Option<Self> {
        let found = notes.target_in(target, place);
        if found.note != Some(note) {
            return None;
        }
        let is_path = || {
            let path = notes.summary(note).map(|summary| without_markdown_extension(summary.path));
            path.is_some_and(|path| folds_to(path, &fold(&target.name)))
        };
        Some(match found.rule.filter(|_| target.syntax.is_markdown()) {
            Some("relative") => Self::Relative,
            Some("path") => Self::Root,
            Some("uri") if is_path() => Self::Root,
            Some(_) | None => Self::Name,
        })
    }
}

/// Place of a link before and after the move.
#[derive(Clone, Copy, Debug)]
struct LinkPlace<'a> {
    before: LinkContext<'a>,
    after: LinkContext<'a>,
}

impl MovePreview {
    /// Returns how strictly a link refers to its present `target` if it will lose it, or refer to it less strictly, in case the link stays as it is. A link that then differs from the path of its note in case is less strict, because many programs distinguish case.
    fn lost(&self, place: LinkPlace<'_>, target: NoteId, link: &Link) -> Option<LinkStrength> {
        let before = LinkStrength::of(&self.before, place.before, &link.target, target)?;
        let after = LinkStrength::of(&self.after, place.after, &link.target, target);
        let paths = [&self.before, &self.after].map(|notes| notes.summary(target));
        let differs_in_case = || {
            let [Some(old), Some(new)] = paths.map(|note| note.map(|note| note.path)) else {
                return false;
            };
            is_spelled_as(&link.target.name, old)
                && !is_spelled_as(&link.target.name, new)
                && is_spelled_as(&fold(&link.target.name), &fold(new))
        };
        (after < Some(before) || differs_in_case()).then_some(before)
    }

    /// Returns the update of a link; `at` is its position among all links of the note, with those to files that are not notes last.
    pub(super) fn link_update(&self, id: NoteId, at: usize, link: &Link) -> LinkUpdate {
        let contexts = [&self.before, &self.after].map(|notes| notes.entry(id));
        let target = self.before.resolved(id).and_then(|it| it.targets.get(at).copied().flatten());
        let update = match (contexts, target) {
            ([Some(before), Some(after)], Some(target)) => {
                let (before, after) = (before.link_context(), after.link_context());
                self.update_at(LinkPlace { before, after }, target, link)
            }
            _ => LinkUpdate::Keep,
        };
        match update {
            LinkUpdate::Keep => {
                self.file_path(id, at, link).map_or(LinkUpdate::Keep, LinkUpdate::Rename)
            }
            update @ (LinkUpdate::Rename(_) | LinkUpdate::Impossible) => update,
        }
    }

    /// Returns the update of a link in a file of the vault that is not a note.
    pub(super) fn link_update_in(&self, file: &NotePath, link: &Link) -> LinkUpdate {
        let here = LinkContext { vault: self.vault, folder: file.folder() };
        let target = self.before.target_in(&link.target, here).note;
        let place = LinkPlace { before: here, after: here };
        target.map_or(LinkUpdate::Keep, |target| self.update_at(place, target, link))
    }

    /// Returns the update that keeps the `target` of a link.
    fn update_at(&self, place: LinkPlace<'_>, target: NoteId, link: &Link) -> LinkUpdate {
        let Some(strength) = self.lost(place, target, link) else { return LinkUpdate::Keep };
        let old = OldName {
            target: &link.target,
            preferred: self
                .page_name(target, &link.target.name)
                .or_else(|| self.folder_name(place, target, &link.target)),
            tail: self.url_tail(target, &link.target),
        };
        spelling(&self.after, place.after, target, &old, strength)
            .map_or(LinkUpdate::Impossible, LinkUpdate::Rename)
    }

    /// Returns the Logseq name of the moved page, in the style of the name that the link used.
    fn page_name(&self, target: NoteId, name: &str) -> Option<String> {
        let summary =
            self.before.summary(target).filter(|_| self.logseq && target == self.moved)?;
        let old = logseq::names(&NotePath::new(summary.path));
        let style = old.iter().position(|old| folds_to(old, &fold(name)))?;
        let mut new = logseq::names(&self.to);
        Some(new.swap_remove(if style < new.len() { style } else { 0 }))
    }

    /// Returns the new folder of the moved note if the link named its folder, as the link would write it.
    fn folder_name(&self, place: LinkPlace<'_>, target: NoteId, old: &Target) -> Option<String> {
        let found = self.before.target_in(old, place.before);
        let is_folder = target == self.moved && found.rule == Some("folder");
        let folder = Some(self.to.folder()).filter(|folder| is_folder && !folder.is_empty())?;
        Some(if old.syntax.is_markdown() {
            relative(place.after.folder, folder)
        } else {
            NotePath::new(folder).file_name().to_owned()
        })
    }

    /// Returns the end of a Markdown link's target that does not name the note: its query, and what precedes the query.
    fn url_tail<'a>(&self, target: NoteId, old: &'a Target) -> &'a str {
        let (path, query) = split_query(&old.name);
        let name = NotePath::new(&*old.name);
        let is_name = self
            .before
            .summary(target)
            .is_some_and(|note| folds_to(NotePath::new(note.path).stem(), &fold(name.stem())));
        if query.is_empty() || !old.syntax.is_markdown() || is_name {
            return "";
        }
        &old.name[without_markdown_extension(path).trim_end_matches('/').len()..]
    }

    /// Returns the new path in a link of the moved note to a file that is not a note, if the path changes with the move.
    fn file_path(&self, id: NoteId, at: usize, link: &Link) -> Option<String> {
        let Target { name, syntax } = &link.target;
        let folders = [self.before.summary(id)?.path, self.to.as_str()].map(folder_of);
        let target_note = self.before.resolved(id)?.targets.get(at).copied().flatten();
        let is_path = match syntax {
            TargetSyntax::Markdown | TargetSyntax::MarkdownToFile => !name.starts_with('/'),
            // Other targets are resolved independently of the linking note.
            TargetSyntax::Wikilink | TargetSyntax::WikilinkToFile => is_dotted(name),
            TargetSyntax::Listed | TargetSyntax::Tentative | TargetSyntax::WikilinkInVault => false,
        };
        if id != self.moved || !is_path || target_note.is_some_and(|note| self.before.is_note(note))
        {
            return None;
        }
        let located = |name: &str| segments(folders[0], name).join("/");
        // Some programs write a path from the root, or a bare name, in the same way.
        let is_file = |path: &str| {
            let markdown = NoteKind::Markdown.extensions().iter().copied();
            let extensions = [""].into_iter().chain(markdown);
            let mut files = extensions.map(|extension| {
                let dot = if extension.is_empty() { "" } else { "." };
                self.root.join(format!("{path}{dot}{extension}"))
            });
            files.any(|file| file.exists())
        };
        let (name, query) = match split_query(name) {
            parts if syntax.is_markdown() && !is_file(&located(name)) => parts,
            _ => (name.as_str(), ""),
        };
        let target = located(name);
        let exists = is_dotted(name) || is_file(&target);
        let path = relative(folders[1], &target);
        // A link without a target must not get a note of that name as its target.
        let resolves_to_note = || {
            let target = Target { name: format!("{path}{query}"), syntax: *syntax };
            self.after.target_from(&target, id).note.is_some_and(|note| self.after.is_note(note))
        };
        let path = if name.starts_with("./") || resolves_to_note() { dotted(path) } else { path };
        (exists && !target.is_empty() && segments(folders[1], name).join("/") != target)
            .then(|| path + query)
    }

    /// Returns the number of links of a note whose target changes if nothing is rewritten; `None` if no link changes.
    pub(super) fn broken_links(&self, id: NoteId) -> Option<RewrittenLinks> {
        let entry = self.before.entry(id)?;
        let files = self.files.iter().filter(|_| id == self.moved);
        let links = entry.note.links.iter().chain(files).enumerate();
        let broken = links.filter(|(at, link)| self.link_update(id, *at, link) != LinkUpdate::Keep);
        let n_not_rewritten = broken.count();
        (n_not_rewritten > 0).then(|| RewrittenLinks {
            path: self.path_of(id),
            n_rewritten: 0,
            n_not_rewritten,
        })
    }

    /// Returns the number of links of each note whose target changes if nothing is rewritten.
    pub(super) fn all_broken_links(&self) -> Vec<RewrittenLinks> {
        self.affected_notes().into_iter().filter_map(|id| self.broken_links(id)).collect()
    }

    /// Returns the paths of the [affected notes](Self::affected_notes) in the vault of the move.
    pub(super) fn affected_paths(&self) -> impl Iterator<Item = &str> {
        let summaries = self.affected_notes().into_iter().filter_map(|id| self.before.summary(id));
        summaries.filter(|summary| summary.vault == self.vault).map(|summary| summary.path)
    }

    /// Returns the notes whose links may change their target, by vault and path: the moved note, and those that link to it before or after the move.
    pub(super) fn affected_notes(&self) -> Vec<NoteId> {
        let inbound = |notes: &NoteTable| notes.graph().inbound(self.moved).to_vec();
        let others = [inbound(&self.before), inbound(&self.after)].concat();
        let ids = others.iter().map(|link| link.other).chain([self.moved]);
        let key =
            |id: NoteId| self.before.summary(id).map(|summary| ((summary.vault, summary.path), id));
        let by_path: BTreeMap<_, NoteId> = ids.filter_map(key).collect();
        by_path.into_values().collect()
    }

    /// Returns true if a note is in the vault of the move.
    pub(super) fn is_in_vault(&self, id: NoteId) -> bool {
        self.before.summary(id).is_some_and(|summary| summary.vault == self.vault)
    }

    /// Returns the path of a note's file after the move, prefixed with its vault if that is another one.
    pub(super) fn path_of(&self, id: NoteId) -> String {
        if id == self.moved {
            return self.to.to_string();
        }
        qualified_path(&self.before, id, !self.is_in_vault(id)).unwrap_or_default()
    }
}

/// Returns the path of a note's file, prefixed with its vault on request.
pub(super) fn qualified_path(notes: &NoteTable, id: NoteId, with_vault: bool) -> Option<String> {
    let summary = notes.summary(id)?;
    Some(match notes.vault(summary.vault).filter(|_| with_vault) {
        Some(vault) => format!("{}:{}", vault.name, summary.path),
        None => summary.path.to_owned(),
    })
}

/// The name that a link had before the move.
struct OldName<'l> {
    target: &'l Target,
    /// New name to try first.
    preferred: Option<String>,
    /// End of the target that does not name the note and is kept.
    tail: &'l str,
}

/// Returns a name by which a link at `place` refers to `target`; `None` if no name does.
///
/// Prefers the strictness and the style of the `old` link.
fn spelling(
    notes: &NoteTable,
    place: LinkContext<'_>,
    target: NoteId,
    OldName { target: old, preferred, tail }: &OldName<'_>,
    strength: LinkStrength,
) -> Option<String> {
    let path = &notes.entry(target)?.note.path;
    let bare = path.without_extension();
    let in_vault = old.syntax == TargetSyntax::WikilinkInVault;
    let (vault, name) = old.name.split_once(':').filter(|_| in_vault).unzip();
    let name = name.unwrap_or(&old.name);
    let relative = relative(place.folder, bare);
    let rooted = format!("/{bare}");
    let spellings = if is_dotted(name) {
        [dotted(relative), rooted, bare.to_owned()]
    } else if name.starts_with('/') {
        [rooted, bare.to_owned(), relative]
    } else if old.syntax.is_markdown() && strength == LinkStrength::Root {
        [bare.to_owned(), relative, rooted]
    } else if old.syntax.is_markdown() {
        [relative, rooted, bare.to_owned()]
    } else if name.contains('/') {
        [bare.to_owned(), rooted, relative]
    } else {
        [path.stem().to_owned(), bare.to_owned(), rooted]
    };
    let with_strength = |name: String| {
        let name = match vault {
            Some(vault) => format!("{vault}:{name}{tail}"),
            None => name + tail,
        };
        let named = Target { name, syntax: old.syntax };
        Some((LinkStrength::of(notes, place, &named, target)?.min(strength), named.name))
    };
    // `max_by_key` returns the last of equal elements, so the order is reversed to prefer the first.
    let names = preferred.clone().into_iter().chain(spellings).rev().filter_map(with_strength);
    names.max_by_key(|(strength, _)| *strength).map(|(_, name)| name)
}

/// Returns true if the last segments of `path` are those of `name`, a target that may go up first and end with a query.
fn is_spelled_as(name: &str, path: &str) -> bool {
    let path = segments("", without_markdown_extension(path));
    [name, split_query(name).0].iter().any(|name| {
        let names = segments("", without_markdown_extension(name));
        let n_up = names.iter().take_while(|name| **name == "..").count();
        path.ends_with(&names[n_up..])
    })
}

/// Returns true if a name is explicitly a path from the linking note.
fn is_dotted(name: &str) -> bool {
    name.starts_with("./") || name.starts_with("../")
}

/// Makes a path from the linking note explicit.
fn dotted(relative: String) -> String {
    if is_dotted(&relative) { relative } else { format!("./{relative}") }
}

/// Returns `path` relative to `folder`; both start at the vault's root.
fn relative(folder: &str, path: &str) -> String {
    let folder: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    let path: Vec<&str> = path.split('/').collect();
    let n_same = folder
        .iter()
        .zip(&path[..path.len().saturating_sub(1)])
        .take_while(|(a, b)| a == b)
        .count();
    let up = std::iter::repeat_n("..", folder.len() - n_same);
    up.chain(path[n_same..].iter().copied()).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::relative;

    #[test]
    fn path_relative_to_any_folder() {
        for (folder, path, expected) in [
            ("", "a/b", "a/b"),
            ("a", "a/b", "b"),
            ("a/c", "a/b", "../b"),
            ("a/c/d", "b", "../../../b"),
            ("a", "a", "../a"),
            ("a/b", "a/b/c/d", "c/d"),
        ] {
            assert_eq!(relative(folder, path), expected, "{folder} {path}");
        }
    }
}
