//! From a target as written to the note it means.

use weft_model::{NoteId, Target, TargetSyntax, fold};

use super::names::last_segment;
use super::{NoteTable, VaultId};

/// What a target means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// The note, if one answers.
    pub note: Option<NoteId>,
    /// Every note that answered equally well at the deciding step, the chosen one first, the rest by path.
    pub candidates: Vec<NoteId>,
    /// The rule that decided: `uri`, `path`, `relative`, `name` or `alias`.
    pub rule: Option<&'static str>,
}

impl Resolution {
    const NONE: Self = Self { note: None, candidates: Vec::new(), rule: None };

    /// Whether more than one note answered equally well.
    #[must_use]
    pub fn is_ambiguous(&self) -> bool {
        self.candidates.len() > 1
    }
}

/// Where a target is looked up from.
#[derive(Clone, Copy, Debug)]
pub(super) struct From<'a> {
    pub(super) vault: VaultId,
    pub(super) folder: &'a str,
}

impl NoteTable {
    /// Resolves `target` as a link of a note in `folder` of `vault`.
    ///
    /// At every step an exact spelling wins, only then the case-folded form.
    /// Steps: uri, vault path, path relative to the linking note (for Markdown links first), suffix or file name (own folder, then shortest path, then lowest), alias (lowest path).
    /// `./x` and `../x` are relative only.
    /// Cost: the notes that share the target's last segment.
    pub(super) fn resolution(&self, target: &Target, from: From<'_>) -> Resolution {
        let name = target.name.as_str();
        if is_relative(name) {
            return joined(from.folder, name)
                .map_or(Resolution::NONE, |path| self.at_path(from.vault, &path, "relative"));
        }
        let whole = name.trim_start_matches('/');
        let relative = || match joined(from.folder, whole) {
            Some(path) if !name.starts_with('/') => self.at_path(from.vault, &path, "relative"),
            _ => Resolution::NONE,
        };
        let steps: [&dyn Fn() -> Resolution; 5] = match target.syntax {
            TargetSyntax::Markdown => [
                &relative,
                &|| self.by_uri(from.vault, name),
                &|| self.at_path(from.vault, whole, "path"),
                &|| self.by_suffix(from, whole),
                &|| self.by_alias(from.vault, whole),
            ],
            TargetSyntax::Wikilink | TargetSyntax::Listed | TargetSyntax::Tentative => [
                &|| self.by_uri(from.vault, name),
                &|| self.at_path(from.vault, whole, "path"),
                &relative,
                &|| self.by_suffix(from, whole),
                &|| self.by_alias(from.vault, whole),
            ],
        };
        steps
            .iter()
            .map(|step| step())
            .find(|found| found.note.is_some())
            .unwrap_or(Resolution::NONE)
    }

    fn by_uri(&self, vault: VaultId, name: &str) -> Resolution {
        self.spelled(vault, name, name, "uri", |id| self.local_uri(id))
    }

    fn at_path(&self, vault: VaultId, path: &str, rule: &'static str) -> Resolution {
        self.spelled(vault, last_segment(path), path, rule, |id| self.bare_path(id))
    }

    fn by_suffix(&self, from: From<'_>, name: &str) -> Resolution {
        let n_segments = name.split('/').count();
        let suffix = |id| last_segments(self.bare_path(id)?, n_segments);
        let mut found = self.spelled(from.vault, last_segment(name), name, "name", suffix);
        let own = |id: &NoteId| self.path_of(*id).folder() == from.folder;
        found.candidates.sort_by_key(|id| {
            let path = self.path_of(*id);
            (!own(id), path.as_str().chars().count(), path.clone())
        });
        if found.candidates.first().is_some_and(own) {
            found.candidates.retain(own);
        }
        found.note = found.candidates.first().copied();
        found
    }

    fn by_alias(&self, vault: VaultId, name: &str) -> Resolution {
        let has = |id: NoteId, exact: bool| {
            self.entry(id).is_some_and(|entry| {
                entry
                    .note
                    .aliases
                    .iter()
                    .any(|alias| if exact { alias == name } else { fold(alias) == fold(name) })
            })
        };
        self.chosen(vault, name, "alias", |id| has(id, true), |id| has(id, false))
    }

    /// The notes answering to `key` whose `text` reads `wanted`: exactly if any does, else with case folded.
    fn spelled<'s>(
        &'s self,
        vault: VaultId,
        key: &str,
        wanted: &str,
        rule: &'static str,
        text: impl Fn(NoteId) -> Option<&'s str>,
    ) -> Resolution {
        let folded = fold(wanted);
        self.chosen(
            vault,
            key,
            rule,
            |id| text(id) == Some(wanted),
            |id| text(id).is_some_and(|text| fold(text) == folded),
        )
    }

    fn chosen(
        &self,
        vault: VaultId,
        key: &str,
        rule: &'static str,
        exact: impl Fn(NoteId) -> bool,
        folded: impl Fn(NoteId) -> bool,
    ) -> Resolution {
        let answering = self.names.answering(&(vault, fold(key)));
        let mut candidates: Vec<NoteId> =
            answering.iter().copied().filter(|id| exact(*id)).collect();
        if candidates.is_empty() {
            candidates = answering.iter().copied().filter(|id| folded(*id)).collect();
        }
        candidates.sort_by(|a, b| self.path_of(*a).cmp(self.path_of(*b)));
        let note = candidates.first().copied();
        Resolution { note, rule: note.map(|_| rule), candidates }
    }
}

/// Whether a target says that it is relative to the linking note.
pub(super) fn is_relative(name: &str) -> bool {
    name == "." || name == ".." || name.starts_with("./") || name.starts_with("../")
}

/// `name` seen from `folder`, without `.` and `..`; nothing where it leaves the vault or names a folder.
pub(super) fn joined(folder: &str, name: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// The last `n` segments of `path`; nothing when it has fewer.
fn last_segments(path: &str, n: usize) -> Option<&str> {
    let above = path.split('/').count().checked_sub(n)?;
    let start: usize = path.split('/').take(above).map(|segment| segment.len() + 1).sum();
    Some(&path[start..])
}
