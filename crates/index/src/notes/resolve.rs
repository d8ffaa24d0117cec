//! Resolves link targets to notes.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use weft_model::id::{folder_of, is_uuid};
use weft_model::text::folds_to;
use weft_model::{NoteId, Target, TargetSyntax, fold};

use super::link_names::{key, local_name, shortened_name, split_vault};
use super::path_segments::{
    is_relative, last_segment, last_segments, relative_path, resolve_segments,
};
use super::{NoteEntry, NoteSummary, NoteTable, VaultId};

/// Result of resolving a target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolution {
    /// The note, if one matches.
    pub note: Option<NoteId>,
    /// All notes that match equally well in the deciding step, the chosen one first, the rest by path.
    pub candidates: Vec<NoteId>,
    /// The rule that decided: `uri` (or `id`), `path`, `relative`, `name`, `alias`, `folder`, `block`, or `title` (never for links).
    pub rule: Option<&'static str>,
}

impl Resolution {
    /// Returns a resolution to one note, found by `rule`.
    pub(super) fn of(note: NoteId, rule: &'static str) -> Self {
        Self { note: Some(note), candidates: vec![note], rule: Some(rule) }
    }

    /// True if more than one note matches equally well.
    #[must_use]
    pub fn is_ambiguous(&self) -> bool {
        self.candidates.len() > 1
    }
}

/// Place of a link: the vault and folder of the linking file.
#[derive(Clone, Copy, Debug)]
pub struct LinkContext<'a> {
    /// The vault.
    pub vault: VaultId,
    /// Path of the folder in the vault; empty for the root.
    pub folder: &'a str,
}

impl NoteEntry {
    /// Returns the place of the note's links.
    #[must_use]
    pub fn link_context(&self) -> LinkContext<'_> {
        LinkContext { vault: self.vault, folder: self.note.path.folder() }
    }
}

/// Maximum number of results, each of a name in one step, that a [`Resolver`] caches: some megabytes.
const MAX_CACHED_NAMES: usize = 1 << 15;

/// One way in which a target may name a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ResolutionStep {
    Uri,
    Path,
    Relative,
    Name,
    Alias,
    /// The folder note of the folder at a path.
    Folder,
    /// The folder note of a folder whose path ends with the name.
    FolderName,
    /// The note that contains the block with this UUID.
    Block,
}

impl ResolutionStep {
    /// Returns the steps for `name`, in order. A name with `./` or `../` is only relative, and one that begins with `/` starts at the vault's root.
    fn order(name: &str, syntax: TargetSyntax) -> &'static [Self] {
        use ResolutionStep::{Alias, Block, Folder, FolderName, Name, Path, Relative, Uri};
        match (is_relative(name), syntax.is_markdown()) {
            (false, false) if is_uuid(name) => &[Uri, Path, Relative, Name, Alias, Block],
            (true, _) => &[Relative, Folder],
            (false, _) if name.starts_with('/') => &[Uri, Path, Alias, Folder],
            (false, true) => &[Relative, Uri, Path, Name, Alias, Folder],
            (false, false) => &[Uri, Path, Relative, Name, Alias, Folder, FolderName],
        }
    }

    const fn rule(self) -> &'static str {
        match self {
            Self::Uri => "uri",
            Self::Path => "path",
            Self::Relative => "relative",
            Self::Name => "name",
            Self::Alias => "alias",
            Self::Folder | Self::FolderName => "folder",
            Self::Block => "block",
        }
    }
}

/// How well a name matches; the least is the best. In every step an exact spelling wins; a uri wins over an `id`, which several notes may share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MatchQuality {
    Exact,
    ExactId,
    Folded,
    FoldedId,
}

/// A name in the forms in which it is compared.
pub(super) struct NameMatcher<'a> {
    written: &'a str,
    folded: String,
}

impl<'a> NameMatcher<'a> {
    pub(super) fn new(written: &'a str) -> Self {
        Self { written, folded: fold(written) }
    }

    pub(super) fn quality(&self, text: &str) -> Option<MatchQuality> {
        if text == self.written {
            Some(MatchQuality::Exact)
        } else {
            folds_to(text, &self.folded).then_some(MatchQuality::Folded)
        }
    }

    fn id_quality(&self, text: &str) -> Option<MatchQuality> {
        self.quality(text).map(|quality| {
            if quality == MatchQuality::Exact {
                MatchQuality::ExactId
            } else {
                MatchQuality::FoldedId
            }
        })
    }
}

/// A note that matches a name as well as any in its vault.
#[derive(Clone, Copy, Debug)]
struct TargetMatch<'t> {
    quality: MatchQuality,
    note: NoteId,
    vault: VaultId,
    path: &'t str,
    folder: &'t str,
}

impl<'t> TargetMatch<'t> {
    /// Returns the sort key among matches of the same name in `step`: the path, and before it the path's length if only file names count.
    fn order(&self, step: ResolutionStep) -> (usize, &'t str, VaultId) {
        let is_part = matches!(step, ResolutionStep::Name | ResolutionStep::FolderName);
        let n_chars = if is_part { self.path.chars().count() } else { 0 };
        (n_chars, self.path, self.vault)
    }
}

/// Resolves targets and caches the results by name, since many notes link to the same targets.
///
/// Except for relative paths, a result does not depend on the folder of the linking note.
pub(super) struct Resolver<'t, 'n> {
    table: &'t NoteTable,
    cache: HashMap<(ResolutionStep, VaultId, &'n str), Vec<TargetMatch<'t>>, RandomState>,
}

impl<'t, 'n> Resolver<'t, 'n> {
    /// Creates a resolver with an empty cache.
    pub(super) fn new(table: &'t NoteTable) -> Self {
        Self { table, cache: HashMap::default() }
    }

    /// Resolves `target` as a link at each of `from`, which must be in different vaults, and keeps the best matches.
    ///
    /// `vault:name` first resolves `name` from the root of that vault; `dendron://vault/name` resolves there only if the vault is served, and otherwise resolves `name` here.
    /// In every step an exact spelling wins over the case-folded form.
    /// Steps: uri or `id`, vault path, path relative to the linking note (for Markdown links first), suffix or file name (own folder, then shortest path, then lowest), alias (lowest path).
    /// The name may finally be that of a folder, whose folder note is meant; except for Markdown links, the end of the folder's path is enough.
    /// If nothing matches a name that ends with `#` or begins with a timestamp to the minute, or a Markdown link with a query (`?x`), its shorter form is looked up.
    /// `./x` and `../x` are only relative, and `/x` is only a path from the root, an alias, or a folder.
    /// Cost: the notes that share the target's last segment, once per name.
    pub(super) fn resolution(
        &mut self,
        target: &'n Target,
        from: &[LinkContext<'_>],
    ) -> Resolution {
        if self.cache.len() > MAX_CACHED_NAMES {
            self.cache.clear();
        }
        let cross_vault = self.table.cross_vault_target(&target.name);
        let mut named = |name: &'n str, from: &[LinkContext<'_>]| {
            let steps = ResolutionStep::order(name, target.syntax).iter();
            steps
                .map(|step| self.resolve_step(*step, name, from))
                .find(|found| found.note.is_some())
        };
        let in_other_vault =
            cross_vault.and_then(|(vault, name)| named(name, &[LinkContext { vault, folder: "" }]));
        let only_in_other_vault =
            cross_vault.is_some() && target.syntax == TargetSyntax::WikilinkInVault;
        let in_own_vault = || {
            let name = Some(local_name(target)).filter(|_| !only_in_other_vault)?;
            named(name, from).or_else(|| named(shortened_name(name, target.syntax)?, from))
        };
        in_other_vault.or_else(in_own_vault).unwrap_or_default()
    }

    fn resolve_step(
        &mut self,
        step: ResolutionStep,
        name: &'n str,
        from: &[LinkContext<'_>],
    ) -> Resolution {
        let Self { table, cache } = self;
        let mut found: Vec<TargetMatch<'_>> = Vec::new();
        for from in from {
            if matches!(step, ResolutionStep::Relative | ResolutionStep::Folder) {
                found.extend(table.matches(step, name, *from));
            } else {
                let matches = || table.matches(step, name, *from);
                found.extend(cache.entry((step, from.vault, name)).or_insert_with(matches).iter());
            }
        }
        let best = found.iter().map(|target_match| target_match.quality).min();
        found.retain(|target_match| Some(target_match.quality) == best);
        if from.len() > 1 {
            found.sort_by_cached_key(|target_match| target_match.order(step));
        }
        let is_own = |target_match: &TargetMatch<'_>| {
            from.iter()
                .any(|from| (target_match.vault, target_match.folder) == (from.vault, from.folder))
        };
        if step == ResolutionStep::Name && found.iter().any(is_own) {
            found.retain(is_own);
        }
        let candidates: Vec<NoteId> = found.iter().map(|target_match| target_match.note).collect();
        let note = candidates.first().copied();
        Resolution { note, rule: note.map(|_| step.rule()), candidates }
    }
}

impl NoteTable {
    /// Resolves one target, see [`Resolver::resolution`].
    pub(super) fn resolution(&self, target: &Target, from: &[LinkContext<'_>]) -> Resolution {
        Resolver::new(self).resolution(target, from)
    }

    /// Splits `vault:name` if such a vault is served.
    #[must_use]
    pub fn cross_vault_target<'a>(&self, target: &'a str) -> Option<(VaultId, &'a str)> {
        let (vault, name) = split_vault(target)?;
        let (vault, _) = self.vaults().find(|(_, info)| info.name == vault)?;
        Some((vault, name))
    }

    /// Returns the best matches of `name` in one step, in order.
    fn matches(
        &self,
        step: ResolutionStep,
        name: &str,
        from: LinkContext<'_>,
    ) -> Vec<TargetMatch<'_>> {
        let mut found = Vec::new();
        self.collect_matches(step, name, from, &mut found);
        let best = found.iter().map(|(quality, _)| *quality).min();
        found.retain(|(quality, _)| Some(*quality) == best);
        let target_match = |(quality, note)| {
            let NoteSummary { vault, path, .. } = self.summary(note)?;
            Some(TargetMatch { quality, note, vault, path, folder: folder_of(path) })
        };
        let mut matches: Vec<TargetMatch<'_>> =
            found.into_iter().filter_map(target_match).collect();
        matches.sort_by_cached_key(|target_match| target_match.order(step));
        matches
    }

    /// Collects the notes that match `name` in one step, with the quality of each match.
    fn collect_matches(
        &self,
        step: ResolutionStep,
        name: &str,
        from: LinkContext<'_>,
        found: &mut Vec<(MatchQuality, NoteId)>,
    ) {
        let whole = name.trim_start_matches('/');
        match step {
            ResolutionStep::Uri => {
                let matcher = NameMatcher::new(name);
                let quality = |id| {
                    let uri = self.local_uri(id).and_then(|uri| matcher.quality(uri));
                    let id = || matcher.id_quality(self.entry(id)?.frontmatter_id()?);
                    uri.into_iter().chain(id()).min()
                };
                found.extend(self.notes_named(from.vault, name, quality));
            }
            ResolutionStep::Path => self.at_path(from.vault, whole, found),
            ResolutionStep::Relative if name.starts_with('/') => {}
            ResolutionStep::Relative => {
                if let Some(path) = relative_path(from.folder, name) {
                    self.at_path(from.vault, &path, found);
                }
            }
            ResolutionStep::Name => {
                let n_segments = whole.split('/').count();
                let matcher = NameMatcher::new(whole);
                let quality = |id| matcher.quality(last_segments(self.bare_path(id)?, n_segments)?);
                found.extend(self.notes_named(from.vault, last_segment(whole), quality));
            }
            ResolutionStep::Alias => {
                // An alias may begin with `/`, and a link to any alias may do so too.
                let (written, bare) = (NameMatcher::new(name), NameMatcher::new(whole));
                let quality = |id| {
                    let aliases = self.entry(id)?.note.aliases.iter();
                    aliases
                        .filter_map(|alias| written.quality(alias).or_else(|| bare.quality(alias)))
                        .min()
                };
                found.extend(self.notes_named(from.vault, name, quality));
            }
            ResolutionStep::Folder => {
                let folder = if name.starts_with('/') { "" } else { from.folder };
                let folder = resolve_segments(folder, name).map(|parts| fold(&parts.join("/")));
                let note = folder.and_then(|folder| self.folder_note(from.vault, &folder));
                found.extend(note.map(|note| (MatchQuality::Exact, note)));
            }
            ResolutionStep::Block => {
                let matcher = NameMatcher::new(name);
                let quality = |id| {
                    let blocks = self.entry(id)?.note.blocks.iter();
                    blocks.filter_map(|block| matcher.quality(&block.id)).min()
                };
                found.extend(self.notes_named(from.vault, name, quality));
            }
            ResolutionStep::FolderName => {
                let n_segments = whole.split('/').count();
                let matcher = NameMatcher::new(whole);
                let quality = |id| {
                    let folder = folder_of(self.bare_path(id)?);
                    let quality = matcher.quality(last_segments(folder, n_segments)?)?;
                    let note = self.folder_note(from.vault, &fold(folder));
                    (note == Some(id)).then_some(quality)
                };
                found.extend(self.notes_named(from.vault, last_segment(whole), quality));
            }
        }
    }

    /// Returns the notes named `name` that match, with the `quality` of each match.
    fn notes_named(
        &self,
        vault: VaultId,
        name: &str,
        quality: impl Fn(NoteId) -> Option<MatchQuality>,
    ) -> impl Iterator<Item = (MatchQuality, NoteId)> {
        let notes = self.names.notes_named(&key(vault, name)).into_iter();
        notes.filter_map(move |id| Some((quality(id)?, id)))
    }

    /// Collects the notes at `path`, which has no extension.
    fn at_path(&self, vault: VaultId, path: &str, found: &mut Vec<(MatchQuality, NoteId)>) {
        let matcher = NameMatcher::new(path);
        let notes = self.path_index.at(vault, &matcher.folded).into_iter();
        found.extend(notes.filter_map(|id| Some((matcher.quality(self.bare_path(id)?)?, id))));
    }
}
