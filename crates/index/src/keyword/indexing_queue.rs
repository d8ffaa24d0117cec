//! Indexing queue: notes on their way to the threads that write postings.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tantivy::schema::document::Document;

use super::encoded_note::{EncodedNote, FieldValue, Values};

/// Maximum number of queued bytes, in addition to one note of any size.
const MAX_BYTES: usize = 4 << 20;

/// Maximum time to wait for space. Exceeding the limit by one note is harmless: a segment flush rarely takes so long, and if a writing thread has died, tantivy reports it when it receives the next note.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// Backpressure between the threads that encode notes and those that write them: limits the queue to a few megabytes plus one note of any size.
///
/// Tantivy's own queue is limited by the number of documents, 10,000 of any length.
#[derive(Debug, Default)]
pub(super) struct IndexingQueue(Arc<QueueBudget>);

#[derive(Debug, Default)]
struct QueueBudget {
    /// Number of queued bytes.
    n_bytes: Mutex<usize>,
    space_freed: Condvar,
}

impl QueueBudget {
    fn n_bytes(&self) -> MutexGuard<'_, usize> {
        self.n_bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IndexingQueue {
    /// Waits until there is space, or for [`MAX_WAIT`], and adds a note to the queue.
    pub(super) fn push(&self, note: EncodedNote) -> QueuedNote {
        let budget = Arc::clone(&self.0);
        let is_full = |queued: &mut usize| *queued > MAX_BYTES;
        let waited = self.0.space_freed.wait_timeout_while(self.0.n_bytes(), MAX_WAIT, is_full);
        let (mut queued, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *queued += note.n_bytes();
        drop(queued);
        QueuedNote { note, budget }
    }
}

/// Queued note. Leaves the queue when dropped.
#[derive(Debug)]
pub(super) struct QueuedNote {
    note: EncodedNote,
    budget: Arc<QueueBudget>,
}

impl Drop for QueuedNote {
    fn drop(&mut self) {
        *self.budget.n_bytes() -= self.note.n_bytes();
        self.budget.space_freed.notify_one();
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

    use super::super::encoded_note::EncodedTerms;
    use super::*;

    fn note(n_bytes: usize) -> EncodedNote {
        let field = Field::from_field_id(0);
        EncodedNote::new(
            &EncodedTerms::default(),
            [(field, 0); 3].into_iter(),
            (field, vec![0; n_bytes]),
        )
    }

    #[test]
    fn push_waits_until_space_is_freed() {
        let queue = IndexingQueue::default();
        let large = queue.push(note(10 * MAX_BYTES));
        let (pushed, pushes) = channel();
        thread::scope(|scope| {
            let queue = &queue;
            scope.spawn(move || {
                let _ = pushed.send(queue.push(note(1)));
            });
            assert!(pushes.recv_timeout(Duration::from_millis(50)).is_err(), "there is no space");
            drop(large);
            let small = pushes.recv().expect("there is space");
            assert_eq!(*queue.0.n_bytes(), 1);
            drop(small);
            assert_eq!(*queue.0.n_bytes(), 0);
        });
    }

    #[test]
    fn push_gives_up_waiting_if_no_space_is_freed() {
        let queue = IndexingQueue::default();
        let _stuck = queue.push(note(2 * MAX_BYTES));
        let _next = queue.push(note(1));
        assert_eq!(*queue.0.n_bytes(), 2 * MAX_BYTES + 1);
    }
}
