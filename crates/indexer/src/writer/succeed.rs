//! The next model takes over.

use std::sync::Arc;

use weft_index::notes::{Change, NoteEntry};
use weft_index::{Snapshot, StoreError};

use super::Writer;
use super::meaning::Meaning;
use crate::IndexError;
use crate::embed::remember;
use crate::succession::{Model, Succession, Successor, cut_anew};

impl Writer {
    /// Lets the next model make its vectors in the background.
    pub(super) fn begin_succession(&mut self) {
        let Some(open) = self.next.take() else { return };
        let (reader, settings) = (self.publisher.reader(), self.settings.clone());
        let (board, events) = (self.board.clone(), self.events.clone());
        self.board.lock().status.next = Some(crate::NextModel::default());
        match Succession::start(open, reader, settings, board, events) {
            Ok(succession) => self.succession = Some(succession),
            Err(error) => self.report(&error.into()),
        }
    }

    /// Publishes the vectors of another model, with the notes cut as it wants them, and makes all further ones by it.
    ///
    /// Words and links stay as they are; the vectors of what changed in the last moment follow.
    pub(super) fn succeed(&mut self, successor: Successor) -> Result<(), IndexError> {
        let Successor { model, shelf } = successor;
        let before = self.publisher.newest();
        let generation = before.generation + 1;
        self.issue(generation)?;
        let embedder = Arc::clone(&model.embedder);
        let cut = before.notes.by_path().filter_map(|(_, entry)| {
            let (chunks, _) = cut_anew(entry, &*embedder, &self.settings.chunks);
            let changed = chunks != entry.chunks;
            changed.then(|| Change::Upsert(Arc::new(NoteEntry { chunks, ..(**entry).clone() })))
        });
        let changes: Vec<Change> = cut.collect();
        let (notes, _) = before.notes.edited(&changes);
        let number = self.meaning.as_ref().map_or(0, |meaning| meaning.number() + 1);
        let mut meaning = Meaning::start(number, shelf, Arc::clone(&embedder), self.events.clone());
        let arranged = meaning.arrange_all(&notes);
        let vectors = Some(meaning.publish());
        self.meaning = Some(meaning);
        self.unread = None;
        self.board.lock().unreadable = None;
        self.recipe = self.settings.recipe(Some(&*embedder));
        let identity = embedder.identity().clone();
        self.embedder = Some(embedder);
        self.show(Snapshot { generation, notes, vectors, ..Snapshot::clone(&before) });
        {
            let status = &mut self.board.lock().status;
            (status.embedder, status.next) = (Some(identity), None);
            (status.unavailable, status.last_error) = (None, None);
        }
        arranged?;
        self.remember(&model)
    }

    fn remember(&self, model: &Model) -> Result<(), IndexError> {
        let outcome = remember(&self.settings.disk, &self.settings.store, model);
        let path = self.settings.store.clone();
        Ok(outcome.map_err(|source| StoreError::Io { action: "write", path, source })?)
    }
}
