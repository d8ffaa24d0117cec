//! Notes on their way to the threads that write postings.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tantivy::schema::document::Document;

use super::encoded::{EncodedNote, FieldValue, Values};

/// Bytes that are on their way, beside one note of any size.
const MAX_BYTES: usize = 4 << 20;

/// How long to wait where nothing leaves. One more does no harm then: that writing a segment takes so long is rare, and a thread that has died takes nothing any more, which the library tells when it is handed the next note.
const PATIENCE: Duration = Duration::from_secs(1);

/// Keeps those who make notes ready from running away from those who write them: a few megabytes are on their way, and one note of any size.
///
/// The library's own queue counts documents, 10,000 of them, however long they are.
#[derive(Debug, Default)]
pub(super) struct Queue(Arc<Room>);

#[derive(Debug, Default)]
struct Room {
    /// Bytes on their way.
    n_bytes: Mutex<usize>,
    left: Condvar,
}

impl Room {
    fn n_bytes(&self) -> MutexGuard<'_, usize> {
        self.n_bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    /// Waits until there is room, or [`PATIENCE`] is at its end, and lets a note in.
    pub(super) fn enter(&self, note: EncodedNote) -> QueuedNote {
        let room = Arc::clone(&self.0);
        let is_full = |taken: &mut usize| *taken > MAX_BYTES;
        let waited = self.0.left.wait_timeout_while(self.0.n_bytes(), PATIENCE, is_full);
        let (mut taken, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *taken += note.n_bytes();
        drop(taken);
        QueuedNote { note, room }
    }
}

/// A note that is on its way until it is dropped.
#[derive(Debug)]
pub(super) struct QueuedNote {
    note: EncodedNote,
    room: Arc<Room>,
}

impl Drop for QueuedNote {
    fn drop(&mut self) {
        *self.room.n_bytes() -= self.note.n_bytes();
        self.room.left.notify_one();
    }
}

impl Document for QueuedNote {
    type Value<'a> = FieldValue<'a>;
    type FieldsValuesIter<'a> = Values<'a>;

    fn iter_fields_and_values(&self) -> Values<'_> {
        self.note.values()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;

    use tantivy::schema::Field;

    use super::super::encoded::TermTexts;
    use super::*;

    fn note(n_bytes: usize) -> EncodedNote {
        let field = Field::from_field_id(0);
        EncodedNote::new(&TermTexts::default(), [(field, 0); 3], (field, vec![0; n_bytes]))
    }

    #[test]
    fn what_is_full_is_entered_when_something_leaves() {
        let queue = Queue::default();
        let large = queue.enter(note(10 * MAX_BYTES));
        let (entered, enters) = channel();
        thread::scope(|scope| {
            let queue = &queue;
            scope.spawn(move || {
                let _ = entered.send(queue.enter(note(1)));
            });
            assert!(enters.recv_timeout(Duration::from_millis(50)).is_err(), "there is no room");
            drop(large);
            let small = enters.recv().expect("there is room");
            assert_eq!(*queue.0.n_bytes(), 1);
            drop(small);
            assert_eq!(*queue.0.n_bytes(), 0);
        });
    }

    #[test]
    fn nobody_waits_for_ever_where_nothing_leaves() {
        let queue = Queue::default();
        let _stuck = queue.enter(note(2 * MAX_BYTES));
        let _next = queue.enter(note(1));
        assert_eq!(*queue.0.n_bytes(), 2 * MAX_BYTES + 1);
    }
}
