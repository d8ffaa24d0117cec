//! Notes whose files are missing: which they are, and the deletion of those that the mass-deletion guard keeps.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use weft_index::notes::{Change, NoteTable, VaultId, VaultInfo};
use weft_model::{NotePath, TextHash};

use super::Writer;
use super::vault_scans::ScanMode;
use crate::deletion_decision::is_at_or_below;
use crate::scan::{ScanArea, ScannedFile};
use crate::{ConfirmedDeletions, IndexError};

impl Writer {
    /// Returns the notes at or below `paths` that are not in `found`, with the content hash of each.
    ///
    /// Includes notes that are missing elsewhere in the vault, whose files may have been moved to these paths.
    pub(super) fn missing_from(
        &self,
        vault: VaultId,
        notes: &NoteTable,
        paths: &[String],
        found: &[ScannedFile],
    ) -> BTreeMap<NotePath, TextHash> {
        let found: HashSet<&str> = found.iter().map(|file| file.path.as_str()).collect();
        let shared = self.shared.lock();
        let elsewhere = shared.missing.get(&vault).into_iter().flatten();
        let elsewhere = elsewhere.filter_map(|path| notes.summary(notes.at(vault, path)?));
        let here = paths.iter().flat_map(|path| notes.at_or_below(vault, path));
        let all = here.map(|(_, summary)| summary).chain(elsewhere);
        let missing = all.filter(|summary| !found.contains(summary.path));
        missing.map(|summary| (NotePath::new(summary.path), summary.file.hash)).collect()
    }

    /// Returns the change that records the number of missing notes of a vault; `None` if it is the same as before.
    pub(super) fn missing_count_change(&self, vault: VaultId, n_missing: usize) -> Option<Change> {
        let notes = self.publication.notes();
        let info = notes.vault(vault).filter(|info| info.n_missing != n_missing)?;
        if info.n_missing == 0 {
            tracing::warn!(
                vault = info.name,
                n_missing,
                "the mass-deletion guard keeps the notes of missing files until the deletion is confirmed"
            );
        } else if n_missing == 0 {
            tracing::info!(vault = info.name, "no files are missing any more");
        }
        Some(Change::Vault(vault, Some(VaultInfo { n_missing, ..VaultInfo::clone(info) })))
    }

    /// Records which notes are kept without their files.
    pub(super) fn set_missing(&self, vault: VaultId, missing: BTreeSet<NotePath>) {
        let by_vault = &mut self.shared.lock().missing;
        if missing.is_empty() {
            by_vault.remove(&vault);
        } else {
            by_vault.insert(vault, missing);
        }
    }

    /// Records that the folder of a vault is missing: keeps all its notes, however few, except those at or below the `deleted` paths.
    pub(super) fn all_missing(&mut self, at: usize, deleted: &[String]) -> Result<(), IndexError> {
        let vault = self.scans.vaults[at].id;
        let notes = self.publication.notes();
        let all = notes.at_or_below(vault, "").map(|(_, summary)| NotePath::new(summary.path));
        let (dropped, kept): (BTreeSet<_>, BTreeSet<_>) =
            all.partition(|path| is_at_or_below(path, deleted));
        let dropped = dropped.into_iter().map(|path| Change::Remove(vault, path));
        let changes: Vec<Change> =
            dropped.chain(self.missing_count_change(vault, kept.len())).collect();
        self.publish(&changes)?;
        self.set_missing(vault, kept);
        Ok(())
    }

    /// Deletes the notes of missing files in one vault, or in all.
    pub(super) fn confirm_deletions(
        &mut self,
        name: Option<&str>,
    ) -> Result<Vec<ConfirmedDeletions>, IndexError> {
        let is_requested = |vault: &str| name.is_none_or(|name| name == vault);
        let known: BTreeSet<&str> =
            self.scans.vaults.iter().map(|vault| vault.settings.name.as_str()).collect();
        if let Some(name) = name.filter(|name| !known.contains(name)) {
            let known = known.into_iter().map(str::to_owned).collect();
            return Err(IndexError::UnknownVault { name: name.to_owned(), known });
        }
        let mut confirmed = Vec::new();
        for at in 0..self.scans.vaults.len() {
            let id = self.scans.vaults[at].id;
            let vault = self.scans.vaults[at].settings.name.clone();
            let missing = self.shared.lock().missing.get(&id).cloned().unwrap_or_default();
            if !is_requested(&vault) || missing.is_empty() {
                continue;
            }
            // If the vault's folder is missing, the scan fails after the notes were deleted.
            let mode = ScanMode { deletes: true, ..ScanMode::default() };
            if let Err(error) = self.scan_area(at, ScanArea::WHOLE, mode) {
                self.report_error(&error);
                self.scans.vaults[at].retry();
            }
            let notes = self.publication.newest().notes.clone();
            let n_removed = missing.iter().filter(|path| notes.at(id, path).is_none()).count();
            confirmed.push(ConfirmedDeletions { vault, n_removed });
        }
        confirmed.sort_by(|a, b| a.vault.cmp(&b.vault));
        Ok(confirmed)
    }
}
