//! Notes whose files are missing: which of them were moved, and which are deleted.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use weft_model::{NotePath, TextHash};

use crate::scan::{ScanOptions, SkippedEntry};

/// Notes without a readable file at their path. `F` is the state of a file that cannot be read.
#[derive(Debug)]
pub struct MissingNotes<F> {
    /// Notes without a file, by content hash, so that a move is recognized; among equal ones the lowest path is last.
    lost: HashMap<TextHash, Vec<NotePath>>,
    /// Notes whose file exists and is excluded by a rule.
    excluded: Vec<NotePath>,
    /// Notes whose file cannot be read.
    unreadable: BTreeMap<NotePath, F>,
}

/// The decision on missing notes.
#[derive(Debug)]
pub struct DeletionDecision<F> {
    /// Notes that stay, although their files are missing.
    pub kept: BTreeSet<NotePath>,
    /// Notes to delete, with the state of their file, if there is one.
    pub dropped: Vec<(NotePath, Option<F>)>,
}

impl<F> MissingNotes<F> {
    /// Separates notes whose files were `skipped` by a rule, or are of a kind that is not read any more, from the other missing ones.
    #[must_use]
    pub fn new(
        missing: BTreeMap<NotePath, TextHash>,
        skipped: &[SkippedEntry],
        options: &ScanOptions,
    ) -> Self {
        let by_rule: BTreeSet<&str> =
            skipped.iter().filter(|file| !file.failed).map(|file| file.path.as_str()).collect();
        let is_excluded = |path: &str| {
            let above = path.match_indices('/').map(|(end, _)| &path[..=end]);
            !by_rule.is_empty() && above.chain([path]).any(|path| by_rule.contains(path))
        };
        let mut notes =
            Self { lost: HashMap::new(), excluded: Vec::new(), unreadable: BTreeMap::new() };
        for (path, content) in missing.into_iter().rev() {
            if is_excluded(path.as_str()) || !options.reads(path.kind()) {
                notes.excluded.push(path);
            } else {
                notes.lost.entry(content).or_default().push(path);
            }
        }
        notes
    }

    /// Removes and returns the old path of a note that a new file with this content continues.
    pub fn take_moved(&mut self, content: TextHash) -> Option<NotePath> {
        self.lost.get_mut(&content)?.pop()
    }

    /// Adds a note whose file cannot be read.
    pub fn unreadable(&mut self, path: NotePath, file: F) {
        self.unreadable.insert(path, file);
    }

    /// Decides which missing notes to delete, once all moves are known.
    ///
    /// Notes at or below the `deleted` paths are deleted; the others are kept if `guard` holds for their number.
    pub fn decide(self, deleted: &[String], guard: impl Fn(usize) -> bool) -> DeletionDecision<F> {
        let Self { lost, excluded, mut unreadable } = self;
        let mut missing: BTreeSet<NotePath> = lost.into_values().flatten().collect();
        missing.extend(unreadable.keys().cloned());
        let (mut dropped, unconfirmed): (BTreeSet<_>, BTreeSet<_>) =
            missing.into_iter().partition(|path| is_at_or_below(path, deleted));
        let kept = if guard(unconfirmed.len()) {
            unconfirmed
        } else {
            dropped.extend(unconfirmed);
            BTreeSet::new()
        };
        let dropped = dropped.into_iter().chain(excluded).map(|path| {
            let file = unreadable.remove(&path);
            (path, file)
        });
        DeletionDecision { dropped: dropped.collect(), kept }
    }
}

/// Returns true if a note is at or below one of `areas`; the empty path is the whole vault.
pub(crate) fn is_at_or_below(path: &NotePath, areas: &[String]) -> bool {
    areas.iter().any(|area| {
        let rest = path.as_str().strip_prefix(area.as_str());
        area.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}
