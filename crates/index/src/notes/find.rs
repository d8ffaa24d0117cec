//! Finds notes by the name that a person gives, exact or approximate.

use std::path::Path;

use weft_model::id::without_markdown_extension;
use weft_model::text::nfc;
use weft_model::{NoteId, NotePath, Target, TargetSyntax, Uri, fold, similar_names};

use super::path_segments::last_segment;
use super::resolve::{LinkContext, MatchQuality, NameMatcher, Resolution};
use super::{NoteTable, VaultId, VaultInfo};

/// Similarity of two names of which one contains the other.
const SUBSTRING_SIMILARITY: f64 = 0.9;

/// Minimum characters of a name that counts as a part of a longer one.
const MIN_SUBSTRING_CHARS: usize = 4;

/// Maximum number of places at which a name is split from a fragment.
const MAX_SPLITS: usize = 8;

/// Maximum bytes of a case-folded name that is compared for similarity: a longer one is not a misspelling.
const MAX_SIMILAR_BYTES: usize = 512;

impl NoteTable {
    /// Returns the note that a person means by `text`: the result of [`find_linked`](Self::find_linked), else the note with this title.
    ///
    /// If several notes have the title, the first by vault and path is chosen and the others are candidates. `O(notes)` if only a title can match.
    #[must_use]
    pub fn find(&self, text: &str) -> Resolution {
        self.find_part(text).0
    }

    /// Returns the note that a person means by `text`, as [`find`](Self::find) does, and the fragment that names a part of it.
    #[must_use]
    pub fn find_part(&self, text: &str) -> (Resolution, Option<String>) {
        let linked = self.find_linked_part(text);
        if linked.0.note.is_some() {
            return linked;
        }
        let text = nfc(text.trim());
        let mut titled = names_with_fragments(&text)
            .map(|(title, fragment)| (self.find_by_title(title), fragment.map(str::to_owned)));
        titled.find(|(found, _)| found.note.is_some()).unwrap_or_default()
    }

    /// Returns the notes with this title. An exact spelling wins.
    fn find_by_title(&self, title: &str) -> Resolution {
        if title.is_empty() {
            return Resolution::default();
        }
        let matcher = NameMatcher::new(title);
        let matches = self
            .summaries()
            .filter_map(|(id, summary)| Some((matcher.quality(summary.title)?, id)));
        let matches: Vec<(MatchQuality, NoteId)> = matches.collect();
        let best = matches.iter().map(|(quality, _)| *quality).min();
        let best = matches.iter().filter(|(quality, _)| Some(*quality) == best);
        let candidates: Vec<NoteId> = best.map(|(_, id)| *id).collect();
        let note = candidates.first().copied();
        Resolution { note, rule: note.map(|_| "title"), candidates }
    }

    /// Returns the note named by `text`: a uri, a `vault:uri`, a path in a vault or from the root of the file system, or any name that a link resolves.
    ///
    /// If several vaults have such a note, the first is chosen and the others are candidates.
    #[must_use]
    pub fn find_linked(&self, text: &str) -> Resolution {
        self.find_linked_part(text).0
    }

    fn find_linked_part(&self, text: &str) -> (Resolution, Option<String>) {
        if let Some(exact) = self.find_exact(text) {
            return (exact, None);
        }
        let roots: Vec<LinkContext<'_>> =
            self.vaults().map(|(vault, _)| LinkContext { vault, folder: "" }).collect();
        self.named(&nfc(text.trim()), &roots)
    }

    /// Returns the note whose uri or path, with its extension, is exactly `text`: the first step of [`find`](Self::find).
    ///
    /// Reads no note, regardless of other notes with this name.
    #[must_use]
    pub fn find_exact(&self, text: &str) -> Option<Resolution> {
        let exact = |text: &str| {
            let by_uri = self.by_uri.first(text.as_bytes());
            let by_path = || {
                let candidates = self.at_path_in_any_vault(text);
                let note = candidates.first().copied();
                note.map(|_| Resolution { note, candidates, rule: Some("path") })
            };
            by_uri.map(|id| Resolution::of(id, "uri")).or_else(by_path)
        };
        // A file name may begin or end with a space.
        let text = nfc(text);
        exact(&text).or_else(|| exact(text.trim()))
    }

    /// Returns the target of the link `[[text]]` in the note `from`.
    #[must_use]
    pub fn find_from(&self, text: &str, from: NoteId) -> Resolution {
        match self.entry(from) {
            Some(entry) => self.named(&nfc(text.trim()), &[entry.link_context()]).0,
            None => self.find(text),
        }
    }

    /// Resolves `target` as a link in the note `from`.
    #[must_use]
    pub fn target_from(&self, target: &Target, from: NoteId) -> Resolution {
        self.entry(from)
            .map_or_else(Resolution::default, |entry| self.target_in(target, entry.link_context()))
    }

    /// Resolves `target` as a link at `place`.
    #[must_use]
    pub fn target_in(&self, target: &Target, place: LinkContext<'_>) -> Resolution {
        self.resolution(target, &[place])
    }

    /// Returns the notes at the path `text`, with its extension: one of each vault that has such a path.
    fn at_path_in_any_vault(&self, text: &str) -> Vec<NoteId> {
        let at = |vault: VaultId, path: &str| self.at(vault, &NotePath::new(path));
        // Shells and editors complete the absolute path of a file.
        let below = |root: &str| Path::new(text).strip_prefix(root).ok().and_then(Path::to_str);
        let find_at = |path: &str| {
            if let Some(cross_vault) =
                self.cross_vault_target(path).and_then(|(vault, path)| at(vault, path))
            {
                return vec![cross_vault];
            }
            let mut found: Vec<NoteId> =
                self.vaults().filter_map(|(vault, _)| at(vault, path)).collect();
            if found.is_empty() {
                let whole = |(vault, info): (VaultId, &VaultInfo)| at(vault, below(&info.root)?);
                found.extend(self.vaults().find_map(whole));
            }
            found
        };
        let found = find_at(text);
        if found.is_empty() { find_at(&text.replace('\\', "/")) } else { found }
    }

    /// Returns the note named `text`, or named by the part of it before a fragment or a display text, and the fragment.
    fn named(&self, text: &str, from: &[LinkContext<'_>]) -> (Resolution, Option<String>) {
        let mut found = names_with_fragments(text).map(|(name, fragment)| {
            let name = name.replace('\\', "/");
            let name = without_markdown_extension(&name).to_owned();
            let target = Target { name, syntax: TargetSyntax::Wikilink };
            (self.resolution(&target, from), fragment.map(str::to_owned))
        });
        found.find(|(found, _)| found.note.is_some()).unwrap_or_default()
    }

    /// Returns uris of notes whose uri, title or alias is similar to `text`, the most similar first; empty if `text` is blank or too long for a name. If `text` begins with the name of a vault and a colon, only notes of that vault.
    #[must_use]
    pub fn near_matches(&self, text: &str) -> Vec<Uri> {
        let named = self.cross_vault_target(text);
        let (vault, text) = named.map_or((None, text), |(vault, name)| (Some(vault), name));
        let matcher = fold(text);
        if matcher.trim().is_empty() || matcher.len() > MAX_SIMILAR_BYTES {
            return Vec::new();
        }
        let similarity = |name: &str| {
            let name = fold(name);
            if name.len() > MAX_SIMILAR_BYTES {
                return 0.0;
            }
            let is_substring = name.contains(&matcher)
                || matcher.contains(&name) && name.chars().count() >= MIN_SUBSTRING_CHARS;
            similar_names::similarity(&name, &matcher).max(if is_substring {
                SUBSTRING_SIMILARITY
            } else {
                0.0
            })
        };
        let mut best = vec![0.0_f64; self.slots.len()];
        let mut update = |id: NoteId, name: &str| {
            let similarity = similarity(name);
            let is_in_vault = || {
                vault.is_none_or(|vault| self.summary(id).is_some_and(|note| note.vault == vault))
            };
            let best = best.get_mut(id.index()).filter(|best| **best < similarity);
            if let Some(best) = best.filter(|_| is_in_vault()) {
                *best = similarity;
            }
        };
        for (id, summary) in self.summaries() {
            update(id, summary.title);
            update(id, last_segment(self.graph.uri(id).as_str()));
        }
        self.names.all().for_each(|(name, id)| update(id, name));
        let scored = self.by_uri_after(None).map(|(uri, id)| (best[id.index()], uri));
        similar_names::suggestions(scored).into_iter().cloned().collect()
    }
}

/// Returns the ways to read `text` as a name and a fragment, the longest name first.
///
/// File names may contain `#` and `|`; within `[[` and `]]` the first of each always ends the name.
fn names_with_fragments(text: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    fn split_at(text: &str, at: usize) -> (&str, Option<&str>) {
        let fragment = text[at..].trim_start_matches('#').trim();
        (text[..at].trim(), Some(fragment).filter(|fragment| !fragment.is_empty()))
    }
    let linked = text.strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]"));
    let inner = linked.unwrap_or(text);
    let unlabelled = inner.split('|').next().unwrap_or(inner);
    let whole = linked.is_none().then_some((inner, None));
    let bare = (unlabelled.len() < inner.len() && !unlabelled.contains('#'))
        .then_some((unlabelled.trim(), None));
    let hashes = unlabelled.rmatch_indices('#').take(MAX_SPLITS).map(|(at, _)| at);
    let first = unlabelled.find('#');
    let splits = hashes.chain(first).filter(move |at| linked.is_none() || Some(*at) == first);
    let linked = linked.is_some().then_some((unlabelled.trim(), None));
    whole
        .into_iter()
        .chain(bare)
        .chain(splits.map(move |at| split_at(unlabelled, at)))
        .chain(linked)
        .filter(|(name, _)| !name.is_empty())
}
