//! From a target as written to the note it means.

use weft_model::id::folder_of;
use weft_model::{NoteId, Target, TargetSyntax, fold};

use super::names::{key, last_segment, split_vault};
use super::{NoteTable, VaultId};

/// What a target means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolution {
    /// The note, if one answers.
    pub note: Option<NoteId>,
    /// Every note that answered equally well at the deciding step, the chosen one first, the rest by path.
    pub candidates: Vec<NoteId>,
    /// The rule that decided: `uri` (or `id`), `path`, `relative`, `name` or `alias`.
    pub rule: Option<&'static str>,
}

impl Resolution {
    /// One note, found by `rule`.
    pub(super) fn of(note: NoteId, rule: &'static str) -> Self {
        Self { note: Some(note), candidates: vec![note], rule: Some(rule) }
    }

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

/// One way in which a target may name a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Uri,
    Path,
    Relative,
    Name,
    Alias,
}

impl Step {
    /// The steps for `name`, in their order. What says `./` or `../` is relative only.
    fn order(name: &str, syntax: TargetSyntax) -> &'static [Self] {
        use Step::{Alias, Name, Path, Relative, Uri};
        if is_relative(name) {
            return &[Relative];
        }
        match syntax {
            TargetSyntax::Markdown => &[Relative, Uri, Path, Name, Alias],
            TargetSyntax::Wikilink | TargetSyntax::Listed | TargetSyntax::Tentative => {
                &[Uri, Path, Relative, Name, Alias]
            }
        }
    }

    const fn rule(self) -> &'static str {
        match self {
            Self::Uri => "uri",
            Self::Path => "path",
            Self::Relative => "relative",
            Self::Name => "name",
            Self::Alias => "alias",
        }
    }
}

/// How well a name answers; the least is the best. At every step an exact spelling wins, and a uri is its note's alone where an `id` may be written twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Exact,
    ExactId,
    Folded,
    FoldedId,
}

/// A name as it is compared.
struct Wanted<'a> {
    written: &'a str,
    folded: String,
}

impl<'a> Wanted<'a> {
    fn new(written: &'a str) -> Self {
        Self { written, folded: fold(written) }
    }

    fn fit(&self, text: &str) -> Option<Fit> {
        if text == self.written {
            Some(Fit::Exact)
        } else {
            (fold(text) == self.folded).then_some(Fit::Folded)
        }
    }

    fn fit_of_id(&self, text: &str) -> Option<Fit> {
        self.fit(text).map(|fit| if fit == Fit::Exact { Fit::ExactId } else { Fit::FoldedId })
    }
}

impl NoteTable {
    /// Resolves `target` as a link that stands at each of `from`; they lie in different vaults, and the best of their answers count.
    ///
    /// `vault:name` first means what `name` does at the root of that vault.
    /// At every step an exact spelling wins, only then the case-folded form.
    /// Steps: uri or `id`, vault path, path relative to the linking note (for Markdown links first), suffix or file name (own folder, then shortest path, then lowest), alias (lowest path).
    /// `./x` and `../x` are relative only.
    /// Cost: the notes that share the target's last segment.
    pub(super) fn resolution(&self, target: &Target, from: &[From<'_>]) -> Resolution {
        let named = |name: &str, from: &[From<'_>]| {
            let steps = Step::order(name, target.syntax).iter();
            steps.map(|step| self.by_step(*step, name, from)).find(|found| found.note.is_some())
        };
        let abroad = self.abroad(&target.name);
        abroad
            .and_then(|(vault, name)| named(name, &[From { vault, folder: "" }]))
            .or_else(|| named(&target.name, from))
            .unwrap_or_default()
    }

    /// `vault:name` where such a vault is served.
    pub(super) fn abroad<'a>(&self, target: &'a str) -> Option<(VaultId, &'a str)> {
        let (vault, name) = split_vault(target)?;
        let (vault, _) = self.vaults().find(|(_, info)| info.name == vault)?;
        Some((vault, name))
    }

    fn by_step(&self, step: Step, name: &str, from: &[From<'_>]) -> Resolution {
        let mut found: Vec<(Fit, NoteId)> = Vec::new();
        for from in from {
            self.answers(step, name, *from, &mut found);
        }
        let Some(best) = found.iter().map(|(fit, _)| *fit).min() else {
            return Resolution::default();
        };
        let fitting = found.into_iter().filter(|(fit, _)| *fit == best);
        let mut candidates: Vec<NoteId> = fitting.map(|(_, id)| id).collect();
        let place = |id: &NoteId| self.card(*id).map(|card| (card.path, card.vault));
        if step == Step::Name && candidates.len() > 1 {
            let own = |id: &NoteId| {
                place(id).is_some_and(|(path, vault)| {
                    from.iter().any(|from| from.vault == vault && from.folder == folder_of(path))
                })
            };
            if candidates.iter().any(own) {
                candidates.retain(own);
            }
            candidates.sort_by_cached_key(|id| {
                place(id).map(|(path, vault)| (path.chars().count(), path, vault))
            });
        } else {
            candidates.sort_by(|a, b| place(a).cmp(&place(b)));
        }
        let note = candidates.first().copied();
        Resolution { note, rule: note.map(|_| step.rule()), candidates }
    }

    /// The notes that answer to `name` at one step, and how well.
    fn answers(&self, step: Step, name: &str, from: From<'_>, found: &mut Vec<(Fit, NoteId)>) {
        let whole = name.trim_start_matches('/');
        match step {
            Step::Uri => {
                let wanted = Wanted::new(name);
                let fit = |id| {
                    let uri = self.local_uri(id).and_then(|uri| wanted.fit(uri));
                    let id = || wanted.fit_of_id(self.entry(id)?.written_id()?);
                    uri.into_iter().chain(id()).min()
                };
                found.extend(self.answering(from.vault, name, fit));
            }
            Step::Path => self.at_path(from.vault, whole, found),
            Step::Relative if name.starts_with('/') => {}
            Step::Relative => {
                if let Some(path) = joined(from.folder, name) {
                    self.at_path(from.vault, &path, found);
                }
            }
            Step::Name => {
                let n_segments = whole.split('/').count();
                let wanted = Wanted::new(whole);
                let fit = |id| wanted.fit(last_segments(self.bare_path(id)?, n_segments)?);
                found.extend(self.answering(from.vault, last_segment(whole), fit));
            }
            Step::Alias => {
                // An alias may begin with `/`, and so may a link to any other.
                let (written, bare) = (Wanted::new(name), Wanted::new(whole));
                let fit = |id| {
                    let aliases = self.entry(id)?.note.aliases.iter();
                    aliases.filter_map(|alias| written.fit(alias).or_else(|| bare.fit(alias))).min()
                };
                found.extend(self.answering(from.vault, name, fit));
            }
        }
    }

    /// The notes that answer to `name` and fit.
    fn answering(
        &self,
        vault: VaultId,
        name: &str,
        fit: impl Fn(NoteId) -> Option<Fit>,
    ) -> impl Iterator<Item = (Fit, NoteId)> {
        let notes = self.names.answering(&key(vault, name)).into_iter();
        notes.filter_map(move |id| Some((fit(id)?, id)))
    }

    /// The notes at `path`, which has no extension.
    fn at_path(&self, vault: VaultId, path: &str, found: &mut Vec<(Fit, NoteId)>) {
        let wanted = Wanted::new(path);
        let notes = self.places.at(vault, &wanted.folded).into_iter();
        found.extend(notes.filter_map(|id| Some((wanted.fit(self.bare_path(id)?)?, id))));
    }
}

/// Whether a target says that it is relative to the linking note.
pub(super) fn is_relative(name: &str) -> bool {
    name == "." || name == ".." || name.starts_with("./") || name.starts_with("../")
}

/// `name` seen from `folder`, without `.` and `..`; nothing where it leaves the vault or names a folder.
pub(super) fn joined(folder: &str, name: &str) -> Option<String> {
    let parts = segments(folder, name);
    (!parts.is_empty() && parts[0] != "..").then(|| parts.join("/"))
}

/// The segments of `name` seen from `folder`, without `.`; `..` only at the front, where it leaves the vault.
pub(super) fn segments<'a>(folder: &'a str, name: &'a str) -> Vec<&'a str> {
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(name.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|above| *above != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts
}

/// The last `n` segments of `path`; nothing when it has fewer.
fn last_segments(path: &str, n: usize) -> Option<&str> {
    let above = path.split('/').count().checked_sub(n)?;
    let start: usize = path.split('/').take(above).map(|segment| segment.len() + 1).sum();
    Some(&path[start..])
}
