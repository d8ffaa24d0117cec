//! A move that is half done: written down before it begins, and finished, waited for or given up.

use std::collections::BTreeMap;
use std::io::ErrorKind;

use weft_index::{Store, StoreError};

use super::Writer;
use crate::moving::{Finished, Moving};
use crate::write::WriteError;
use crate::{IndexError, Rescan};

/// What a disk says that may have room again.
pub(super) const NO_ROOM: [ErrorKind; 2] = [ErrorKind::StorageFull, ErrorKind::QuotaExceeded];

/// Why neither file of a move is there, as far as that can be told.
const NOWHERE: &str = "neither file is there";

impl Writer {
    /// Writes down what is about to be done, or that it is done.
    pub(super) fn intend(&self, moving: Option<&Moving>) -> Result<(), IndexError> {
        let Some(store) = &self.store else { return Ok(()) };
        let bytes = moving.map(serde_json::to_vec).transpose().map_err(|error| {
            let (path, reason) = (self.settings.store.clone(), error.to_string());
            StoreError::Damaged { path, reason }
        })?;
        Ok(store.intend(bytes.as_deref())?)
    }

    /// Finishes the move that the last run, or an error, left half done, and says whether files may have changed.
    ///
    /// It waits while its vault is not served, or was not looked at and may be away, and fails while its vault cannot be read, or the disk has no room.
    /// One that cannot be finished is given up, for it would stand before every later one; nothing is lost by that, and a person is told what to look at.
    /// So is one that waits, where another begins.
    pub(super) fn finish_move(&mut self, another_begins: bool) -> Result<bool, IndexError> {
        let intended = self.store.as_ref().map(Store::intended).transpose()?.flatten();
        let moving = intended.and_then(|bytes| serde_json::from_slice::<Moving>(&bytes).ok());
        let mut changed = false;
        if let Some(moving) = moving {
            let at = self.vaults.iter().position(|vault| vault.settings.name == moving.vault);
            let finished = at.map(|at| self.finish_in(at, &moving)).transpose();
            self.half_moved = match &finished {
                Ok(Some(Finished::Nowhere)) => {
                    Some(format!("the move of `{}` is half done, and {NOWHERE}", moving.from))
                }
                Ok(_) => None,
                Err(error) => Some(error.to_string()),
            };
            let is_seen = at.is_some_and(|at| self.vaults[at].is_looked_at());
            match finished? {
                None if !another_begins => return Ok(false),
                Some(Finished::Nowhere) if !another_begins && !is_seen => return Ok(false),
                None => self.give_up(&moving, "its vault is not served"),
                Some(Finished::Nowhere) => self.give_up(&moving, NOWHERE),
                Some(Finished::NotBegun) => {}
                Some(Finished::Done) => changed = true,
            }
        }
        self.intend(None)?;
        self.half_moved = None;
        Ok(changed)
    }

    /// Tries to finish a move that was left half done, and tells what keeps it; says whether files may have changed.
    pub(super) fn resume_move(&mut self) -> bool {
        let before = self.half_moved.clone();
        match self.finish_move(false) {
            Ok(changed) => {
                self.forget_error(before);
                changed
            }
            Err(error) => {
                self.report(&error);
                false
            }
        }
    }

    /// Does so again where one is known to be half done.
    pub(super) fn tend_move(&mut self) {
        if self.half_moved.is_some() && self.resume_move() {
            // What fails is reported, and tried again.
            let _ = self.rescan(Rescan::default());
        }
    }

    /// Finishes a move in the vault at `at`, or gives it up.
    fn finish_in(&self, at: usize, moving: &Moving) -> Result<Finished, IndexError> {
        self.is_there(at)?;
        let mut places = BTreeMap::new();
        for path in moving.paths() {
            let file = match self.spot(at, "path", path) {
                Ok(spot) => Some(spot.file),
                Err(WriteError::Index(away)) => return Err(away),
                Err(_) => None,
            };
            places.insert(path, file);
        }
        let place = |path: &str| places.get(path).cloned().flatten();
        match moving.finish(&self.files, place) {
            Ok(finished) => {
                if finished == Finished::Done {
                    let Moving { from, to, .. } = moving;
                    tracing::info!(from, to, "a move that was left half done is finished");
                }
                Ok(finished)
            }
            Err(source) if NO_ROOM.contains(&source.kind()) => {
                let (action, path) = ("finish a move in", self.vaults[at].root.clone());
                Err(StoreError::Io { action, path, source }.into())
            }
            Err(error) => {
                self.give_up(moving, &error.to_string());
                Ok(Finished::Done)
            }
        }
    }

    /// Tells a person of a move that stays half done.
    fn give_up(&self, moving: &Moving, reason: &str) {
        let Moving { vault, from, to, .. } = moving;
        tracing::warn!(vault, from, to, reason, "a move that was left half done is given up");
        self.board.notice(format!(
            "the move of `{from}` to `{to}` in the vault `{vault}` was left half done and cannot be finished ({reason}): see under which name the note is, and which links still lead to the other"
        ));
    }
}
