//! From a target as written to the note it means.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use weft_model::id::{folder_of, segments};
use weft_model::text::folds_to;
use weft_model::{NoteId, Target, TargetSyntax, fold};

use super::names::{key, last_segment, less, name_here, split_vault};
use super::{Card, NoteTable, VaultId};

/// What a target means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolution {
    /// The note, if one answers.
    pub note: Option<NoteId>,
    /// Every note that answered equally well at the deciding step, the chosen one first, the rest by path.
    pub candidates: Vec<NoteId>,
    /// The rule that decided: `uri` (or `id`), `path`, `relative`, `name`, `alias`, `folder` or, for no link, `title`.
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

/// Names, each at one step, whose meaning a [`Resolver`] remembers at most: some megabytes.
const MAX_KNOWN: usize = 1 << 15;

/// One way in which a target may name a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    Uri,
    Path,
    Relative,
    Name,
    Alias,
    /// The note that stands for the folder at a path.
    Folder,
}

impl Step {
    /// The steps for `name`, in their order. What says `./` or `../` is relative only, and a path alone may be a folder's.
    fn order(name: &str, syntax: TargetSyntax) -> &'static [Self] {
        use Step::{Alias, Folder, Name, Path, Relative, Uri};
        match (is_relative(name), syntax.is_markdown()) {
            (true, true) => &[Relative, Folder],
            (true, false) => &[Relative],
            (false, true) => &[Relative, Uri, Path, Name, Alias, Folder],
            (false, false) => &[Uri, Path, Relative, Name, Alias],
        }
    }

    const fn rule(self) -> &'static str {
        match self {
            Self::Uri => "uri",
            Self::Path => "path",
            Self::Relative => "relative",
            Self::Name => "name",
            Self::Alias => "alias",
            Self::Folder => "folder",
        }
    }
}

/// How well a name answers; the least is the best. At every step an exact spelling wins, and a uri is its note's alone where an `id` may be written twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    Exact,
    ExactId,
    Folded,
    FoldedId,
}

/// A name as it is compared.
pub(super) struct Wanted<'a> {
    written: &'a str,
    folded: String,
}

impl<'a> Wanted<'a> {
    pub(super) fn new(written: &'a str) -> Self {
        Self { written, folded: fold(written) }
    }

    pub(super) fn fit(&self, text: &str) -> Option<Fit> {
        if text == self.written {
            Some(Fit::Exact)
        } else {
            folds_to(text, &self.folded).then_some(Fit::Folded)
        }
    }

    fn fit_of_id(&self, text: &str) -> Option<Fit> {
        self.fit(text).map(|fit| if fit == Fit::Exact { Fit::ExactId } else { Fit::FoldedId })
    }
}

/// A note that answers to a name as well as any in its vault.
#[derive(Clone, Copy, Debug)]
struct Answer<'t> {
    fit: Fit,
    note: NoteId,
    vault: VaultId,
    path: &'t str,
    folder: &'t str,
}

impl<'t> Answer<'t> {
    /// What puts it before another that answers to the same name at `step`: there the lowest path, and where only file names count the shortest before it.
    fn order(&self, step: Step) -> (usize, &'t str, VaultId) {
        let n_chars = if step == Step::Name { self.path.chars().count() } else { 0 };
        (n_chars, self.path, self.vault)
    }
}

/// Resolves targets, and remembers what names mean: many notes link to the same.
///
/// What they mean does not depend on where they stand, but for relative paths.
pub(super) struct Resolver<'t, 'n> {
    table: &'t NoteTable,
    known: HashMap<(Step, VaultId, &'n str), Vec<Answer<'t>>, RandomState>,
}

impl<'t, 'n> Resolver<'t, 'n> {
    /// One that has resolved nothing yet.
    pub(super) fn new(table: &'t NoteTable) -> Self {
        Self { table, known: HashMap::default() }
    }

    /// Resolves `target` as a link that stands at each of `from`; they lie in different vaults, and the best of their answers count.
    ///
    /// `vault:name` first means what `name` does at the root of that vault; `dendron://vault/name` means that alone where the vault is served, and elsewhere what `name` does here.
    /// At every step an exact spelling wins, only then the case-folded form.
    /// Steps: uri or `id`, vault path, path relative to the linking note (for Markdown links first), suffix or file name (own folder, then shortest path, then lowest), alias (lowest path).
    /// A Markdown link may mean a folder last: the note that stands for it.
    /// Where nothing answers to a name that ends with `#`, or begins with a time to the minute, and is no path of a Markdown link, it is looked up without what is more.
    /// `./x` and `../x` are relative only.
    /// Cost: the notes that share the target's last segment; looking at them comes once for each name.
    pub(super) fn resolution(&mut self, target: &'n Target, from: &[From<'_>]) -> Resolution {
        if self.known.len() > MAX_KNOWN {
            self.known.clear();
        }
        let abroad = self.table.abroad(&target.name);
        let mut named = |name: &'n str, from: &[From<'_>]| {
            let steps = Step::order(name, target.syntax).iter();
            steps.map(|step| self.by_step(*step, name, from)).find(|found| found.note.is_some())
        };
        let there = abroad.and_then(|(vault, name)| named(name, &[From { vault, folder: "" }]));
        let only_there = abroad.is_some() && target.syntax == TargetSyntax::WikilinkInVault;
        let here = || {
            let name = Some(name_here(target)).filter(|_| !only_there)?;
            named(name, from).or_else(|| named(less(name, target.syntax)?, from))
        };
        there.or_else(here).unwrap_or_default()
    }

    fn by_step(&mut self, step: Step, name: &'n str, from: &[From<'_>]) -> Resolution {
        let Self { table, known } = self;
        let mut found: Vec<Answer<'_>> = Vec::new();
        for from in from {
            if matches!(step, Step::Relative | Step::Folder) {
                found.extend(table.answers(step, name, *from));
            } else {
                let answers = || table.answers(step, name, *from);
                found.extend(known.entry((step, from.vault, name)).or_insert_with(answers).iter());
            }
        }
        let best = found.iter().map(|answer| answer.fit).min();
        found.retain(|answer| Some(answer.fit) == best);
        if from.len() > 1 {
            found.sort_by_cached_key(|answer| answer.order(step));
        }
        let is_own = |answer: &Answer<'_>| {
            from.iter().any(|from| (answer.vault, answer.folder) == (from.vault, from.folder))
        };
        if step == Step::Name && found.iter().any(is_own) {
            found.retain(is_own);
        }
        let candidates: Vec<NoteId> = found.iter().map(|answer| answer.note).collect();
        let note = candidates.first().copied();
        Resolution { note, rule: note.map(|_| step.rule()), candidates }
    }
}

impl NoteTable {
    /// Resolves one target, see [`Resolver::resolution`].
    pub(super) fn resolution(&self, target: &Target, from: &[From<'_>]) -> Resolution {
        Resolver::new(self).resolution(target, from)
    }

    /// `vault:name` where such a vault is served.
    #[must_use]
    pub fn abroad<'a>(&self, target: &'a str) -> Option<(VaultId, &'a str)> {
        let (vault, name) = split_vault(target)?;
        let (vault, _) = self.vaults().find(|(_, info)| info.name == vault)?;
        Some((vault, name))
    }

    /// The notes that answer best to `name` at one step, in order.
    fn answers(&self, step: Step, name: &str, from: From<'_>) -> Vec<Answer<'_>> {
        let mut found = Vec::new();
        self.fitting(step, name, from, &mut found);
        let best = found.iter().map(|(fit, _)| *fit).min();
        found.retain(|(fit, _)| Some(*fit) == best);
        let answer = |(fit, note)| {
            let Card { vault, path, .. } = self.card(note)?;
            Some(Answer { fit, note, vault, path, folder: folder_of(path) })
        };
        let mut answers: Vec<Answer<'_>> = found.into_iter().filter_map(answer).collect();
        answers.sort_by_cached_key(|answer| answer.order(step));
        answers
    }

    /// The notes that answer to `name` at one step, and how well.
    fn fitting(&self, step: Step, name: &str, from: From<'_>, found: &mut Vec<(Fit, NoteId)>) {
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
            Step::Folder => {
                let folder = if name.starts_with('/') { "" } else { from.folder };
                let folder = below(folder, name).map(|parts| fold(&parts.join("/")));
                let note = folder.and_then(|folder| self.folder_note(from.vault, &folder));
                found.extend(note.map(|note| (Fit::Exact, note)));
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

/// `name` seen from `folder`, without `.` and `..`; nothing where it leaves the vault or is its root.
pub(super) fn joined(folder: &str, name: &str) -> Option<String> {
    below(folder, name).filter(|parts| !parts.is_empty()).map(|parts| parts.join("/"))
}

/// The segments of `name` seen from `folder`, without `.` and `..`; nothing where it leaves the vault.
pub(super) fn below<'a>(folder: &'a str, name: &'a str) -> Option<Vec<&'a str>> {
    Some(segments(folder, name)).filter(|parts| parts.first() != Some(&".."))
}

/// The last `n` segments of `path`; nothing when it has fewer.
fn last_segments(path: &str, n: usize) -> Option<&str> {
    let above = path.split('/').count().checked_sub(n)?;
    let start: usize = path.split('/').take(above).map(|segment| segment.len() + 1).sum();
    Some(&path[start..])
}
