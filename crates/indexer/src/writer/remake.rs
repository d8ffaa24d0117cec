//! The store made whole under a running index: what another program changed, above all the notes.

use weft_index::notes::{NoteTable, VaultId};
use weft_index::{Newest, Snapshot, StoreError};

use super::Writer;
use super::look::How;
use crate::IndexError;
use crate::scan::Area;

/// Notes to go on from, and whether their files must be read again though they seem unchanged.
type Whole = (NoteTable, bool);

impl Writer {
    /// The notes that changes are made to: those of the newest snapshot, or those that are being made anew.
    pub(super) fn notes(&self) -> NoteTable {
        self.anew.clone().unwrap_or_else(|| self.publisher.newest().notes.clone())
    }

    /// Makes the notes anew where the file that they rest on is not what it was; reads it where it was touched, or `always`.
    pub(super) fn check_notes(&mut self, always: bool) -> Result<(), IndexError> {
        if self.anew.is_some() {
            return Ok(());
        }
        let notes = &self.publisher.newest().notes;
        match if always { notes.check().map(|()| None) } else { notes.check_touched() } {
            // There may be another file in its place by now, or none.
            Ok(Some(notes)) => {
                self.written.lose();
                let newest = self.publisher.newest();
                self.publisher.publish(Snapshot { notes, ..Snapshot::clone(&newest) });
            }
            Ok(None) => {}
            Err(error @ StoreError::Changed { .. }) => return self.remake_notes(&error),
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Sees whether another program touched the files that answers are read from, and makes anew what is damaged.
    pub(super) fn tend_store(&mut self) {
        let held = self.store.as_mut().map_or(Ok(()), |store| store.hold());
        if let Err(error) = held {
            // Another process writes there now.
            return self.note(Err(error.into()));
        }
        let generation = self.written.generation;
        let store = self.store.as_ref().filter(|_| generation > 0);
        if store.is_some_and(|store| !store.checkpoints().is_there(generation)) {
            // All that it said is still known.
            self.written.lose();
        }
        let notes = self.check_notes(false);
        let words = self.check_words(false);
        let vectors = self.check_vectors(false);
        self.note(notes.and(words).and(vectors));
    }

    /// Makes the notes anew from the last whole generation and the files, and publishes them; until then the present ones answer.
    ///
    /// After an error, as where a vault cannot be read, they go on to.
    pub(super) fn remake_notes(&mut self, damage: &StoreError) -> Result<(), IndexError> {
        tracing::warn!(error = %damage, "the notes are made again");
        let before = self.publisher.newest();
        let (notes, full) = self.whole_notes(&before.notes)?;
        // What was known of files besides was known of other notes.
        self.board.lock().reread.clear();
        self.anew = Some(notes);
        let mut outcome = Ok(());
        for at in 0..self.vaults.len() {
            match self.look(at, Area::WHOLE, How { full, ..How::default() }) {
                // Its notes are those of the whole generation; others need not wait for it.
                Err(error @ IndexError::Vault { .. }) if !full => {
                    self.report(&error);
                    self.vaults[at].retry();
                }
                looked => outcome = outcome.and(looked),
            }
        }
        let Some(notes) = self.anew.take() else { return outcome };
        outcome?;
        let generation = before.generation + 1;
        self.issue(generation)?;
        self.words_in_doubt = true;
        self.settle_words(&notes, generation)?;
        let arranged = self.meaning.as_mut().map(|meaning| meaning.arrange_all(&notes));
        let vectors = self.vectors(&notes);
        // Earlier states may rest on the same file.
        self.past.forget();
        self.board.notice(format!(
            "{damage}; the index was made again from an earlier generation and the files."
        ));
        let keyword = self.keyword.reader().clone();
        self.show(Snapshot { generation, notes, keyword, vectors });
        // What is written down may be damaged, all of it.
        self.written.lose();
        Ok(arranged.unwrap_or(Ok(()))?)
    }

    /// The notes of the last generation that is whole, where it has the same vaults as `before`; else none.
    fn whole_notes(&self, before: &NoteTable) -> Result<Whole, StoreError> {
        let Some(store) = &self.store else { return Ok((before.emptied(), true)) };
        let checkpoints = store.checkpoints();
        let checkpoint = match checkpoints.newest() {
            Ok(Some(Newest { checkpoint, graph: _, damaged })) => {
                for (damaged, _) in damaged {
                    // What cannot be removed now is met again at the next start.
                    let _ = checkpoints.discard(damaged);
                }
                checkpoint
            }
            Ok(None) => return Ok((before.emptied(), true)),
            Err(error) if error.is_lost() => return Ok((before.emptied(), true)),
            Err(error) => return Err(error),
        };
        if places(&checkpoint.notes).eq(places(before)) {
            Ok((checkpoint.notes, checkpoint.recipe != self.recipe))
        } else {
            Ok((before.emptied(), true))
        }
    }
}

/// The vaults, and where they lie.
fn places(notes: &NoteTable) -> impl Iterator<Item = (VaultId, &str, &str)> {
    notes.vaults().map(|(id, info)| (id, info.name.as_str(), info.root.as_str()))
}
