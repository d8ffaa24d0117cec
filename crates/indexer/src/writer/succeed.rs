//! The next model takes over.

use std::sync::Arc;
use std::time::Instant;

use weft_index::{Snapshot, StoreError};

use super::meaning::Meaning;
use super::{RETRY, Writer};
use crate::IndexError;
use crate::embed::remember;
use crate::succession::{Model, Succession, Successor};

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
    /// Where nothing can be published it is due again later; until then the present model serves.
    pub(super) fn succeed(&mut self) -> Result<(), IndexError> {
        let now = Instant::now();
        let due = self.successor.take_if(|(_, due)| *due <= now);
        let Some((mut successor, _)) = due else { return Ok(()) };
        let before = self.publisher.newest();
        let generation = before.generation + 1;
        if let Err(error) = self.issue(generation) {
            self.successor = Some((successor, now + RETRY));
            if let Some(next) = &mut self.board.lock().status.next {
                next.trouble = Some(error.to_string());
            }
            return Err(error.into());
        }
        let changes = successor.recut(&before.notes, &self.settings.chunks);
        let (notes, _) = before.notes.edited(&changes);
        let Successor { model, shelf, covered: _ } = *successor;
        let embedder = Arc::clone(&model.embedder);
        let number = self.meaning.as_ref().map_or(0, |meaning| meaning.number() + 1);
        let mut meaning = Meaning::start(number, shelf, Arc::clone(&embedder), self.events.clone());
        let arranged = meaning.arrange_all(&notes);
        if arranged.is_err() {
            meaning.backlog_mut().postpone(&[]);
        }
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
        self.remember(&model).and(Ok(arranged?))
    }

    fn remember(&self, model: &Model) -> Result<(), IndexError> {
        let outcome = remember(&self.settings.disk, &self.settings.store, model);
        let path = self.settings.store.clone();
        Ok(outcome.map_err(|source| StoreError::Io { action: "write", path, source })?)
    }
}
