//! Interrupted moves: an intent is persisted before a move begins, then completed, postponed or abandoned.

use std::collections::BTreeMap;
use std::io::ErrorKind;

use weft_index::{Store, StoreError};

use super::Writer;
use crate::move_intent::{MoveIntent, MoveOutcome};
use crate::scan;
use crate::write_request::WriteError;
use crate::{IndexError, Rescan};

/// Errors of a disk that may have space again later.
pub(super) const NO_SPACE: [ErrorKind; 2] = [ErrorKind::StorageFull, ErrorKind::QuotaExceeded];

/// The reason for abandoning a move that has neither a source nor a target file.
const FILES_MISSING: &str = "neither file exists";

impl Writer {
    /// Persists the intent of a move, or clears it once the move is done.
    pub(super) fn record_intent(&self, intent: Option<&MoveIntent>) -> Result<(), IndexError> {
        let Some(store) = self.persistence.store() else { return Ok(()) };
        let bytes = intent.map(serde_json::to_vec).transpose().map_err(|error| {
            let (path, reason) = (self.settings.store.clone(), error.to_string());
            StoreError::Damaged { path, reason }
        })?;
        Ok(store.record_intent(bytes.as_deref())?)
    }

    /// Finishes the move that the last run, or an error, interrupted; returns true if files may have changed.
    ///
    /// Waits while the vault of the move is not served, or is not scanned yet and may be unmounted; fails if the vault cannot be read or the disk is full.
    /// A move that cannot be finished is abandoned, since it would block every later one; no data is lost, and a notice names the files to check.
    /// If `another_begins`, a waiting move is abandoned as well.
    pub(super) fn finish_move(&mut self, another_begins: bool) -> Result<bool, IndexError> {
        let store = self.persistence.store();
        let pending = store.map(Store::pending_intent).transpose()?.flatten();
        let intent = pending.and_then(|bytes| serde_json::from_slice::<MoveIntent>(&bytes).ok());
        let mut changed = false;
        if let Some(intent) = intent {
            let at = self.scans.position(&intent.vault);
            let finished = at.map(|at| self.finish_move_in(at, &intent)).transpose();
            self.files.unfinished_move = match &finished {
                Ok(Some(MoveOutcome::FilesMissing)) => Some(format!(
                    "the move of `{}` is not finished, and {FILES_MISSING}",
                    intent.from
                )),
                Ok(_) => None,
                Err(error) => Some(error.to_string()),
            };
            let is_scanned = at.is_some_and(|at| self.scans.vaults[at].is_scanned());
            match finished? {
                None if !another_begins => return Ok(false),
                Some(MoveOutcome::FilesMissing) if !another_begins && !is_scanned => {
                    return Ok(false);
                }
                None => self.abandon_move(&intent, "its vault is not served"),
                Some(MoveOutcome::FilesMissing) => self.abandon_move(&intent, FILES_MISSING),
                Some(MoveOutcome::NotBegun) => {}
                Some(MoveOutcome::Done) => changed = true,
            }
        }
        self.record_intent(None)?;
        self.files.unfinished_move = None;
        Ok(changed)
    }

    /// Tries to finish an interrupted move and reports what prevents it; returns true if files may have changed.
    pub(super) fn resume_move(&mut self) -> bool {
        let before = self.files.unfinished_move.clone();
        match self.finish_move(false) {
            Ok(changed) => {
                self.clear_error(before);
                changed
            }
            Err(error) => {
                self.report_error(&error);
                false
            }
        }
    }

    /// Retries a move that is known to be interrupted, and rescans if it changed files.
    pub(super) fn retry_move(&mut self) {
        if self.files.unfinished_move.is_some() && self.resume_move() {
            // Errors are reported, and the scan is retried.
            let _ = self.rescan(Rescan::default());
        }
    }

    /// Finishes a move in the vault at `at`, or abandons it.
    fn finish_move_in(&self, at: usize, intent: &MoveIntent) -> Result<MoveOutcome, IndexError> {
        self.check_vault_present(at)?;
        let mut files = BTreeMap::new();
        for path in intent.paths() {
            let target = scan::vault_path(path)
                .map_err(|reason| WriteError::Invalid { field: "path", reason })
                .and_then(|path| self.located(at, "path", path));
            let file = match target {
                Ok(target) => Some(target.file),
                Err(WriteError::Index(error)) => return Err(error),
                Err(_) => None,
            };
            files.insert(path, file);
        }
        let locate = |path: &str| files.get(path).cloned().flatten();
        match intent.finish(&self.files.vaults, locate) {
            Ok(outcome) => {
                if outcome == MoveOutcome::Done {
                    let MoveIntent { from, to, .. } = intent;
                    tracing::info!(from, to, "finished an interrupted move");
                }
                Ok(outcome)
            }
            Err(source) if NO_SPACE.contains(&source.kind()) => {
                let path = self.scans.vaults[at].root.clone();
                Err(StoreError::Io { action: "finish a move in", path, source }.into())
            }
            Err(error) => {
                self.abandon_move(intent, &error.to_string());
                Ok(MoveOutcome::Done)
            }
        }
    }

    /// Reports to users that a move stays unfinished.
    fn abandon_move(&self, intent: &MoveIntent, reason: &str) {
        let MoveIntent { vault, from, to, .. } = intent;
        tracing::warn!(vault, from, to, reason, "abandoned an interrupted move");
        self.shared.notice(format!(
            "the move of `{from}` to `{to}` in the vault `{vault}` was interrupted and cannot be finished ({reason}): check at which of the two paths the note is, and correct links that still name the other"
        ));
    }
}
