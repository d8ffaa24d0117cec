//! Notes whose files are gone: moved, left out, deleted, or kept because they are too many.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use weft_index::notes::{Change, NoteTable, VaultId, VaultInfo};
use weft_model::{NotePath, TextHash};

use super::Writer;
use super::look::How;
use crate::board::Absent;
use crate::scan::{Area, Found, Skipped};
use crate::{Confirmed, IndexError};

/// Notes without a readable file where it was.
pub(super) struct Gone {
    /// Those without a file, by content, so that a move is recognised; of equal ones the lowest path last.
    lost: HashMap<TextHash, Vec<NotePath>>,
    /// Those whose file is there and kept out by a rule.
    left_out: Vec<NotePath>,
    /// Those whose file cannot be read.
    unreadable: BTreeMap<NotePath, Absent>,
}

/// What becomes of them.
pub(super) struct Verdict {
    /// They stay as they were.
    pub(super) kept: BTreeSet<NotePath>,
    /// They leave the index, with what is to be said of their file, if there is one.
    pub(super) dropped: Vec<(NotePath, Option<Absent>)>,
}

impl Gone {
    /// Sorts out what was `skipped` on purpose.
    pub(super) fn new(gone: BTreeMap<NotePath, TextHash>, skipped: &[Skipped]) -> Self {
        let kept_out: BTreeSet<&str> =
            skipped.iter().filter(|file| !file.failed).map(|file| file.path.as_str()).collect();
        let is_left_out = |path: &str| {
            let above = path.match_indices('/').map(|(end, _)| &path[..=end]);
            !kept_out.is_empty() && above.chain([path]).any(|path| kept_out.contains(path))
        };
        let mut sorted =
            Self { lost: HashMap::new(), left_out: Vec::new(), unreadable: BTreeMap::new() };
        for (path, content) in gone.into_iter().rev() {
            if is_left_out(path.as_str()) {
                sorted.left_out.push(path);
            } else {
                sorted.lost.entry(content).or_default().push(path);
            }
        }
        sorted
    }

    /// Where the note lay that a new file with this content is.
    pub(super) fn take_moved(&mut self, content: TextHash) -> Option<NotePath> {
        self.lost.get_mut(&content)?.pop()
    }

    /// A known note's file cannot be read.
    pub(super) fn unreadable(&mut self, path: NotePath, file: Absent) {
        self.unreadable.insert(path, file);
    }

    /// Decides, once all moves are known; `holds` tells of a number of missing notes whether they are too many to go.
    ///
    /// Those at or below the paths `said` go, however many.
    pub(super) fn judge(self, said: &[String], holds: impl Fn(usize) -> bool) -> Verdict {
        let Self { lost, left_out, mut unreadable } = self;
        let mut missing: BTreeSet<NotePath> = lost.into_values().flatten().collect();
        missing.extend(unreadable.keys().cloned());
        let (mut gone, unsaid): (BTreeSet<_>, BTreeSet<_>) =
            missing.into_iter().partition(|path| is_said(path, said));
        let kept = if holds(unsaid.len()) {
            unsaid
        } else {
            gone.extend(unsaid);
            BTreeSet::new()
        };
        let dropped = gone.into_iter().chain(left_out).map(|path| {
            let file = unreadable.remove(&path);
            (path, file)
        });
        Verdict { dropped: dropped.collect(), kept }
    }
}

/// Whether a note lies at or below one of the paths that somebody spoke of; the empty one is everything.
fn is_said(path: &NotePath, said: &[String]) -> bool {
    said.iter().any(|area| {
        let rest = path.as_str().strip_prefix(area.as_str());
        area.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

impl Writer {
    /// The notes of some paths that are not `found`, and those that are missing elsewhere, whose files may have come to lie here; each with what its file said.
    pub(super) fn gone(
        &self,
        vault: VaultId,
        notes: &NoteTable,
        paths: &[String],
        found: &[Found],
    ) -> BTreeMap<NotePath, TextHash> {
        let found: HashSet<&str> = found.iter().map(|file| file.path.as_str()).collect();
        let board = self.board.lock();
        let missing = board.missing.get(&vault).into_iter().flatten();
        let missing = missing.filter_map(|path| notes.card(notes.at(vault, path)?));
        let here = paths.iter().flat_map(|path| notes.at_or_below(vault, path));
        let all = here.map(|(_, card)| card).chain(missing);
        let gone = all.filter(|card| !found.contains(card.path));
        gone.map(|card| (NotePath::new(card.path), card.file.hash)).collect()
    }

    /// The change that says how many notes of a vault are missing, where that is news.
    pub(super) fn missing_now(&self, vault: VaultId, n_missing: usize) -> Option<Change> {
        let notes = self.notes();
        let info = notes.vault(vault).filter(|info| info.n_missing != n_missing)?;
        if info.n_missing == 0 {
            tracing::warn!(
                vault = info.name,
                n_missing,
                "too many files are gone at once; their notes are kept until that is confirmed"
            );
        } else if n_missing == 0 {
            tracing::info!(vault = info.name, "no note is without its file any more");
        }
        Some(Change::Vault(vault, Some(VaultInfo { n_missing, ..VaultInfo::clone(info) })))
    }

    /// Remembers which notes are kept without their files.
    pub(super) fn show_missing(&self, vault: VaultId, missing: BTreeSet<NotePath>) {
        let board = &mut self.board.lock().missing;
        if missing.is_empty() {
            board.remove(&vault);
        } else {
            board.insert(vault, missing);
        }
    }

    /// The folder of a vault is gone: every note is missing, and kept however few there are, but for those at or below the paths `said`.
    pub(super) fn miss_all(&mut self, at: usize, said: &[String]) -> Result<(), IndexError> {
        let vault = self.vaults[at].id;
        let notes = self.notes();
        let all = notes.at_or_below(vault, "").map(|(_, card)| NotePath::new(card.path));
        let (dropped, kept): (BTreeSet<_>, BTreeSet<_>) = all.partition(|path| is_said(path, said));
        let dropped = dropped.into_iter().map(|path| Change::Remove(vault, path));
        let changes: Vec<Change> = dropped.chain(self.missing_now(vault, kept.len())).collect();
        self.publish(&changes)?;
        self.show_missing(vault, kept);
        Ok(())
    }

    /// Lets the missing notes of a vault, or of all, go.
    pub(super) fn confirm(&mut self, name: Option<&str>) -> Result<Vec<Confirmed>, IndexError> {
        let is_meant = |vault: &str| name.is_none_or(|name| name == vault);
        let known: BTreeSet<&str> =
            self.vaults.iter().map(|vault| vault.settings.name.as_str()).collect();
        if let Some(name) = name.filter(|name| !known.contains(name)) {
            let known = known.into_iter().map(str::to_owned).collect();
            return Err(IndexError::UnknownVault { name: name.to_owned(), known });
        }
        let mut confirmed = Vec::new();
        for at in 0..self.vaults.len() {
            let (id, vault) = (self.vaults[at].id, self.vaults[at].settings.name.clone());
            let missing = self.board.lock().missing.get(&id).cloned().unwrap_or_default();
            if !is_meant(&vault) || missing.is_empty() {
                continue;
            }
            // Where the folder itself is gone the look fails, after the notes have left.
            if let Err(error) = self.look(at, Area::WHOLE, How { lets_go: true, ..How::default() })
            {
                self.report(&error);
                self.vaults[at].retry();
            }
            let notes = self.publisher.newest().notes.clone();
            let n_removed = missing.iter().filter(|path| notes.at(id, path).is_none()).count();
            confirmed.push(Confirmed { vault, n_removed });
        }
        confirmed.sort_by(|a, b| a.vault.cmp(&b.vault));
        Ok(confirmed)
    }
}
