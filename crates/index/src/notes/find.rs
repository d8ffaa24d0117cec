//! The notes that a person means: by any name, or by one that is nearly right.

use std::path::Path;

use weft_model::id::without_markdown_extension;
use weft_model::text::nfc;
use weft_model::{NoteId, NotePath, Target, TargetSyntax, Uri, fold, near};

use super::names::last_segment;
use super::resolve::{Fit, From, Resolution, Wanted};
use super::{NoteTable, VaultId, VaultInfo};

/// How alike two names are of which one holds the other.
const ALIKE_BY_PART: f64 = 0.9;

/// Characters that a name must have before another is taken for a longer form of it.
const LEAST_PART: usize = 4;

/// Bytes of the longest name, case folded, that is looked at for what resembles it: more is no slip of the hand.
const MAX_ALIKE_BYTES: usize = 512;

impl NoteTable {
    /// The note that a person means by `text`: what [`find_linked`](Self::find_linked) finds, else the note with this title.
    ///
    /// Of several, the first by vault and path has it and the others are candidates too. `O(notes)` where only a title could be meant.
    #[must_use]
    pub fn find(&self, text: &str) -> Resolution {
        let found = self.find_linked(text);
        if found.note.is_some() { found } else { self.titled(&nfc(text.trim())) }
    }

    /// The notes of this title. An exact spelling wins.
    fn titled(&self, title: &str) -> Resolution {
        if title.is_empty() {
            return Resolution::default();
        }
        let wanted = Wanted::new(title);
        let fits = self.cards().filter_map(|(id, card)| Some((wanted.fit(card.title)?, id)));
        let fits: Vec<(Fit, NoteId)> = fits.collect();
        let best = fits.iter().map(|(fit, _)| *fit).min();
        let best = fits.iter().filter(|(fit, _)| Some(*fit) == best);
        let candidates: Vec<NoteId> = best.map(|(_, id)| *id).collect();
        let note = candidates.first().copied();
        Resolution { note, rule: note.map(|_| "title"), candidates }
    }

    /// The note named by `text`: a uri, a `vault:uri`, a path in a vault or from the root of the file system, or anything a link would resolve to.
    ///
    /// Where several vaults have such a note, the first has it and the others are candidates too.
    #[must_use]
    pub fn find_linked(&self, text: &str) -> Resolution {
        self.find_exact(text).unwrap_or_else(|| {
            let roots: Vec<From<'_>> =
                self.vaults().map(|(vault, _)| From { vault, folder: "" }).collect();
            self.named(&nfc(text.trim()), &roots)
        })
    }

    /// The note whose uri or path, its extension included, is `text`, as it stands: [`find`](Self::find) looks for one first.
    ///
    /// Reads no note, whatever else answers to the name.
    #[must_use]
    pub fn find_exact(&self, text: &str) -> Option<Resolution> {
        let exact = |text: &str| {
            let by_uri = self.by_uri.first(text.as_bytes());
            let by_path = || {
                let candidates = self.at_path_of_any_vault(text);
                let note = candidates.first().copied();
                note.map(|_| Resolution { note, candidates, rule: Some("path") })
            };
            by_uri.map(|id| Resolution::of(id, "uri")).or_else(by_path)
        };
        // A file's name may begin or end with a space.
        let text = nfc(text);
        exact(&text).or_else(|| exact(text.trim()))
    }

    /// The note that `text`, as between `[[` and `]]`, would mean in the note `from`.
    #[must_use]
    pub fn find_from(&self, text: &str, from: NoteId) -> Resolution {
        match self.entry(from) {
            Some(entry) => {
                let from = From { vault: entry.vault, folder: entry.note.path.folder() };
                self.named(&nfc(text.trim()), &[from])
            }
            None => self.find(text),
        }
    }

    /// What a link with this target, standing in the note `from`, means.
    #[must_use]
    pub fn target_from(&self, target: &Target, from: NoteId) -> Resolution {
        let Some(entry) = self.entry(from) else { return Resolution::default() };
        let from = From { vault: entry.vault, folder: entry.note.path.folder() };
        self.resolution(target, &[from])
    }

    /// The notes at `text`, its extension included: one of each vault that has such a path.
    fn at_path_of_any_vault(&self, text: &str) -> Vec<NoteId> {
        let at = |vault: VaultId, path: &str| self.at(vault, &NotePath::new(path));
        // What the shell or an editor completes is the file's whole path.
        let below = |root: &str| Path::new(text).strip_prefix(root).ok().and_then(Path::to_str);
        let anywhere = |path: &str| {
            if let Some(abroad) = self.abroad(path).and_then(|(vault, path)| at(vault, path)) {
                return vec![abroad];
            }
            let mut found: Vec<NoteId> =
                self.vaults().filter_map(|(vault, _)| at(vault, path)).collect();
            if found.is_empty() {
                let whole = |(vault, info): (VaultId, &VaultInfo)| at(vault, below(&info.root)?);
                found.extend(self.vaults().find_map(whole));
            }
            found
        };
        let found = anywhere(text);
        if found.is_empty() { anywhere(&text.replace('\\', "/")) } else { found }
    }

    /// The note that `text` names as it stands, or up to a fragment or a text to show.
    ///
    /// File names may hold `#` and `|`; within `[[` and `]]` both always end the name.
    fn named(&self, text: &str, from: &[From<'_>]) -> Resolution {
        let linked = text.strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]"));
        let inner = linked.unwrap_or(text);
        let whole = linked.is_none().then_some(inner);
        let cut = inner.split(['#', '|']).next();
        let mut found = whole.into_iter().chain(cut).map(|name| {
            let name = name.trim().replace('\\', "/");
            let name = without_markdown_extension(&name).to_owned();
            self.resolution(&Target { name, syntax: TargetSyntax::Wikilink }, from)
        });
        found.find(|found| found.note.is_some()).unwrap_or_default()
    }

    /// Uris of some notes whose uri, title or alias resembles `text`, the most alike first; nothing resembles a blank one, or one far longer than names are.
    #[must_use]
    pub fn near_matches(&self, text: &str) -> Vec<Uri> {
        let wanted = fold(text);
        if wanted.trim().is_empty() || wanted.len() > MAX_ALIKE_BYTES {
            return Vec::new();
        }
        let alike = |name: &str| {
            let name = fold(name);
            if name.len() > MAX_ALIKE_BYTES {
                return 0.0;
            }
            let is_part = name.contains(&wanted)
                || wanted.contains(&name) && name.chars().count() >= LEAST_PART;
            near::alike(&name, &wanted).max(if is_part { ALIKE_BY_PART } else { 0.0 })
        };
        let mut best = vec![0.0_f64; self.slots.len()];
        let mut meet = |id: NoteId, name: &str| {
            let alike = alike(name);
            if let Some(best) = best.get_mut(id.index()).filter(|best| **best < alike) {
                *best = alike;
            }
        };
        for (id, card) in self.cards() {
            meet(id, card.title);
            meet(id, last_segment(self.graph.uri(id).as_str()));
        }
        self.names.all().for_each(|(name, id)| meet(id, name));
        let scored = self.by_uri_after(None).map(|(uri, id)| (best[id.index()], uri));
        near::offered(scored).into_iter().cloned().collect()
    }
}
