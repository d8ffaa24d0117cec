//! Repair of the store under a running index, above all of notes whose file another program changed.

use weft_index::notes::{NoteTable, VaultId};
use weft_index::{LatestCheckpoint, Snapshot, StoreError};

use super::Writer;
use super::persistence::EarlierDamage;
use super::vault_scans::ScanMode;
use crate::IndexError;
use crate::scan::ScanArea;

/// Intact notes to continue from, and whether their files must be read again even if they seem unchanged.
type IntactNotes = (NoteTable, bool);

impl Writer {
    /// Rebuilds the notes if the file that backs them changed; reads the file if it was touched, or if `always` is set.
    pub(super) fn check_notes(&mut self, always: bool) -> Result<(), IndexError> {
        if self.publication.is_rebuilding() {
            return Ok(());
        }
        let notes = &self.publication.newest().notes;
        match if always { notes.check().map(|()| None) } else { notes.check_touched() } {
            // The path may lead to another file by now, or to none.
            Ok(Some(notes)) => {
                self.persistence.checkpoint.invalidate();
                let newest = self.publication.newest();
                self.publication.replace(Snapshot { notes, ..Snapshot::clone(&newest) });
            }
            Ok(None) => {}
            Err(error @ StoreError::Changed { .. }) => return self.rebuild_notes(&error),
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Checks whether another program touched the files that answers are read from, and rebuilds what is damaged.
    pub(super) fn check_store(&mut self) {
        if let Err(error) = self.persistence.hold() {
            // Another process writes to the store now.
            return self.report_error(&error.into());
        }
        self.persistence.check_present();
        if let Some(EarlierDamage { generation, error, is_readable }) =
            self.persistence.verify_earlier()
        {
            tracing::warn!(%error, generation, "an earlier generation is damaged");
            let effect = if is_readable {
                "can still be queried, with a graph built from its notes"
            } else {
                "cannot be queried"
            };
            self.shared.notice(format!(
                "{error}; generation {generation} {effect}, and the newest one is not affected."
            ));
        }
        let notes = self.check_notes(false);
        let keywords = self.check_keywords(false);
        let vectors = self.check_vectors(false);
        self.report_outcome(notes.and(keywords).and(vectors));
    }

    /// Rebuilds the notes from the last intact generation and the files, and publishes them; the present ones serve requests until then.
    ///
    /// After an error, for example an unreadable vault, they continue to serve.
    pub(super) fn rebuild_notes(&mut self, damage: &StoreError) -> Result<(), IndexError> {
        tracing::warn!(error = %damage, "rebuilding the notes");
        let before = self.publication.newest();
        let (notes, full) = self.intact_notes(&before.notes)?;
        // These facts describe files of the damaged notes.
        self.shared.lock().refreshed_facts.clear();
        self.publication.rebuild(notes);
        // The state that is published is rebuilt, and the log is followed afterwards.
        self.following.end();
        if let Some(log) = self.files.home.log() {
            log.pin(before.generation);
        }
        let mut outcome = Ok(());
        for at in 0..self.scans.vaults.len() {
            let mode = ScanMode { full, deletes: self.follows(), ..ScanMode::default() };
            match self.scan_area_now(at, ScanArea::WHOLE, mode) {
                // Its notes come from the intact generation, so other vaults need not wait for it.
                Err(error @ IndexError::Vault { .. }) if !full => {
                    self.report_error(&error);
                    self.scans.vaults[at].retry();
                }
                scanned => outcome = outcome.and(scanned),
            }
        }
        let Some(notes) = self.publication.take_rebuilt() else { return outcome };
        outcome?;
        let generation = self.next_generation();
        self.persistence.issue(generation)?;
        self.keyword.mark_suspect();
        self.keyword.settle(&notes, generation)?;
        let indexed = self.vectors.index_all(&notes);
        let vectors = self.vectors.current(&notes);
        // Past snapshots may be backed by the same file.
        self.publication.forget_past();
        self.shared.notice(format!(
            "{damage}; the index was rebuilt from an earlier generation and the files."
        ));
        let keyword = self.keyword.reader().clone();
        self.publish_snapshot(Snapshot { generation, notes, keyword, vectors });
        // All stored checkpoints may be damaged.
        self.persistence.checkpoint.invalidate();
        Ok(indexed?)
    }

    /// Returns the notes of the last intact generation if it has the same vaults as `before`, else an empty table.
    fn intact_notes(&self, before: &NoteTable) -> Result<IntactNotes, StoreError> {
        let Some(store) = self.persistence.store() else {
            return Ok((before.without_notes(), true));
        };
        let checkpoints = store.checkpoints();
        let checkpoint = match checkpoints.newest() {
            Ok(Some(LatestCheckpoint { checkpoint, graph: _, damaged })) => {
                for (damaged, _) in damaged {
                    // A checkpoint that cannot be removed now is handled at the next start.
                    let _ = checkpoints.discard(damaged);
                }
                checkpoint
            }
            Ok(None) => return Ok((before.without_notes(), true)),
            Err(error) if error.needs_rebuild() => return Ok((before.without_notes(), true)),
            Err(error) => return Err(error),
        };
        if vault_roots(&checkpoint.notes).eq(vault_roots(before)) {
            Ok((checkpoint.notes, checkpoint.recipe != self.persistence.recipe))
        } else {
            Ok((before.without_notes(), true))
        }
    }
}

/// The vaults with their names and folders.
fn vault_roots(notes: &NoteTable) -> impl Iterator<Item = (VaultId, &str, &str)> {
    notes.vaults().map(|(id, info)| (id, info.name.as_str(), info.root.as_str()))
}
