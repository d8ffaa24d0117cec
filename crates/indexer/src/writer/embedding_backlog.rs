//! The embedding backlog: texts that wait for the model or are being embedded.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender};
use weft_index::embedder::Embedder;
use weft_index::notes::{NoteEntry, NoteTable};
use weft_model::{NoteId, NoteMap, TextHash};

use super::embed_batch::{ChunkRef, EmbeddedBatch, embed};
use super::{Event, RETRY};
use crate::char_offsets::CharOffsets;
use crate::chunk::text_of;
use crate::thread_priority::lower_priority;

/// Number of texts prepared at a time, so that a long body is traversed once for many of its chunks.
const READY_TEXTS: usize = 1024;

/// Maximum number of batches in flight: one being embedded, and the next one, which keeps the model busy while the writer stores the last result.
const MAX_BATCHES_IN_FLIGHT: usize = 2;

/// `nice` steps by which the model lowers its priority below the writer, so that keywords of a large vault are indexed first.
const PRIORITY_STEPS: i32 = 5;

/// The channels of the thread that runs the model.
struct EmbedderThread {
    texts: Sender<Vec<(TextHash, String)>>,
    results: Receiver<Vec<EmbeddedBatch>>,
    /// Alive as long as the thread runs.
    alive: Weak<()>,
}

impl EmbedderThread {
    /// Returns true if the thread ended and all its results were received.
    fn has_ended(&self) -> bool {
        self.alive.strong_count() == 0 && self.results.is_empty()
    }
}

/// Wakes the writer after each result, and when the thread ends.
struct EmbeddedNotifier(Sender<Event>);

impl EmbeddedNotifier {
    fn notify(&self) -> bool {
        self.0.send(Event::Embedded).is_ok()
    }
}

impl Drop for EmbeddedNotifier {
    fn drop(&mut self) {
        self.notify();
    }
}

/// Texts that wait for the model, and the chunks that need their vectors.
pub(super) struct Backlog {
    /// Arguments of the model thread, which starts with the first text.
    idle: Option<(Arc<dyn Embedder>, Sender<Event>)>,
    /// `None` before the thread starts and after it ended.
    model: Option<EmbedderThread>,
    /// Number of texts per batch.
    batch_size: usize,
    queue: VecDeque<TextHash>,
    ready: VecDeque<(TextHash, String)>,
    /// The chunks that wait for the vector of each text.
    waiting: HashMap<TextHash, Vec<ChunkRef>>,
    /// The texts that chunks of each note wait for.
    texts_of: NoteMap<HashSet<TextHash>>,
    n_waiting: usize,
    /// Number of batches in flight.
    n_batches: usize,
    /// When to retry a model that was unavailable, or a full disk.
    retry_at: Option<Instant>,
    /// Number of chunks embedded since `since`.
    n_embedded: usize,
    /// Start of the current busy period.
    since: Option<Instant>,
}

impl Backlog {
    /// Creates a backlog for `embedder`, whose thread sends [`Event::Embedded`] for each result to [receive](Self::receive).
    pub(super) fn new(embedder: Arc<dyn Embedder>, events: Sender<Event>) -> Self {
        let batch_size = embedder.batch().max(1);
        Self::with_model(Some((embedder, events)), None, batch_size)
    }

    /// Creates a backlog that sends `batch_size` texts at a time to the model; without one they stay queued.
    fn with_model(
        idle: Option<(Arc<dyn Embedder>, Sender<Event>)>,
        model: Option<EmbedderThread>,
        batch_size: usize,
    ) -> Self {
        Self {
            idle,
            model,
            batch_size,
            queue: VecDeque::new(),
            ready: VecDeque::new(),
            waiting: HashMap::new(),
            texts_of: NoteMap::default(),
            n_waiting: 0,
            n_batches: 0,
            retry_at: None,
            n_embedded: 0,
            since: None,
        }
    }

    /// Number of chunks that wait for their vector.
    pub(super) const fn n_waiting(&self) -> usize {
        self.n_waiting
    }

    /// Returns true if no chunk waits and no batch is in flight.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.n_batches == 0
    }

    /// Returns true if a batch is in flight.
    pub(super) const fn is_embedding(&self) -> bool {
        self.n_batches > 0
    }

    /// Returns when a paused model is tried again.
    pub(super) const fn wakes_at(&self) -> Option<Instant> {
        self.retry_at
    }

    /// Retries a paused model or disk at once.
    pub(super) const fn wake(&mut self) {
        self.retry_at = None;
    }

    /// Returns the chunks embedded per second and, if the rate is known, the estimated seconds for the rest.
    pub(super) fn rate(&self) -> (f64, Option<f64>) {
        let rate = self.since.map_or(0.0, |since| per_second(self.n_embedded, since.elapsed()));
        (rate, seconds_left(self.n_waiting, rate))
    }

    /// Queues a chunk for the vector of its text.
    pub(super) fn enqueue(&mut self, text: TextHash, chunk: ChunkRef) {
        let chunks = self.waiting.entry(text).or_default();
        if chunks.is_empty() {
            self.queue.push_back(text);
        }
        if !chunks.contains(&chunk) {
            chunks.push(chunk);
            self.texts_of.entry(chunk.0).or_default().insert(text);
            self.n_waiting += 1;
        }
    }

    /// Removes all chunks of a note, whose text changed, so that they do not get the vectors of the old text.
    pub(super) fn forget(&mut self, note: NoteId) {
        for text in self.texts_of.remove(&note).unwrap_or_default() {
            let Some(chunks) = self.waiting.get_mut(&text) else { continue };
            let n_before = chunks.len();
            chunks.retain(|(id, _)| *id != note);
            self.n_waiting -= n_before - chunks.len();
            if chunks.is_empty() {
                self.waiting.remove(&text);
            }
        }
    }

    /// Removes and returns the chunks that wait for a text.
    pub(super) fn take(&mut self, text: TextHash) -> Vec<ChunkRef> {
        let chunks = self.waiting.remove(&text).unwrap_or_default();
        self.n_waiting -= chunks.len();
        for (note, _) in &chunks {
            if let Some(texts) = self.texts_of.get_mut(note) {
                texts.remove(&text);
                if texts.is_empty() {
                    self.texts_of.remove(note);
                }
            }
        }
        chunks
    }

    /// Returns the result of one batch without waiting, if there is one.
    pub(super) fn receive(&mut self) -> Option<Vec<EmbeddedBatch>> {
        let results = self.model.as_ref()?.results.try_recv().ok()?;
        self.n_batches -= 1;
        Some(results)
    }

    /// Counts chunks that got their vector from the model.
    pub(super) const fn count_embedded(&mut self, n_chunks: usize) {
        self.n_embedded += n_chunks;
    }

    /// Returns the texts that chunks wait for.
    pub(super) fn waiting(&self) -> impl Iterator<Item = TextHash> {
        self.waiting.keys().copied()
    }

    /// Returns true if chunks wait for a text.
    pub(super) fn waits_for(&self, text: TextHash) -> bool {
        self.waiting.contains_key(&text)
    }

    /// Removes and returns some of the queued texts; none if the queue is empty.
    pub(super) fn take_texts(&mut self, notes: &NoteTable) -> Vec<(TextHash, String)> {
        self.prepare_texts(notes);
        self.ready.drain(..).collect()
    }

    /// Queues texts again whose chunks still wait.
    pub(super) fn requeue(&mut self, texts: &[TextHash]) {
        self.queue.extend(texts.iter().filter(|text| self.waiting.contains_key(*text)));
    }

    /// Queues texts again whose chunks still wait, and pauses the model.
    pub(super) fn postpone(&mut self, texts: &[TextHash]) {
        self.requeue(texts);
        self.retry_at = Some(Instant::now() + RETRY);
    }

    /// Sends the next texts to the model, up to the maximum in flight. Returns false if the model thread ended.
    pub(super) fn feed(&mut self, notes: &NoteTable) -> bool {
        if self.model.as_ref().is_some_and(EmbedderThread::has_ended) {
            (self.n_batches, self.model) = (0, None);
            return false;
        }
        if self.retry_at.is_some_and(|until| Instant::now() < until) {
            return true;
        }
        self.retry_at = None;
        while self.n_batches < MAX_BATCHES_IN_FLIGHT {
            if self.ready.is_empty() {
                self.prepare_texts(notes);
            }
            let n = self.ready.len().min(self.batch_size);
            let batch: Vec<(TextHash, String)> = self.ready.drain(..n).collect();
            if batch.is_empty() {
                self.since = self.since.filter(|_| self.n_batches > 0);
                return true;
            }
            if let Some((embedder, events)) = self.idle.take() {
                self.model = spawn_model(embedder, events);
                if self.model.is_none() {
                    return false;
                }
            }
            let Some(model) = &self.model else { return true };
            self.since.get_or_insert_with(|| {
                self.n_embedded = 0;
                Instant::now()
            });
            if model.texts.send(batch).is_err() {
                (self.n_batches, self.model) = (0, None);
                return false;
            }
            self.n_batches += 1;
        }
        true
    }

    /// Prepares the next texts of the queue; drops texts that no chunk waits for any more.
    fn prepare_texts(&mut self, notes: &NoteTable) {
        let mut last: Option<(NoteId, Arc<NoteEntry>)> = None;
        let mut pending: Vec<(TextHash, usize)> = Vec::new();
        while self.ready.len() + pending.len() < READY_TEXTS
            && let Some(text) = self.queue.pop_front()
        {
            let chunk =
                self.waiting.get(&text).and_then(|chunks| current_chunk(notes, chunks, text));
            let Some((id, at)) = chunk else {
                self.take(text);
                continue;
            };
            if last.as_ref().is_some_and(|(note, _)| *note != id) {
                self.ready.extend(last.iter().flat_map(|(_, entry)| texts_of(entry, &pending)));
                pending.clear();
            }
            last = notes.entry(id).map(|entry| (id, Arc::clone(entry)));
            pending.push((text, at));
        }
        self.ready.extend(last.iter().flat_map(|(_, entry)| texts_of(entry, &pending)));
        // Texts of similar length are adjacent, so that the model reuses its buffers; the longest come first, so that the estimated time is not too short.
        self.ready.make_contiguous().sort_by_key(|(_, text)| Reverse(text.len()));
    }
}

/// Returns a chunk whose current text is `text`.
fn current_chunk(notes: &NoteTable, chunks: &[ChunkRef], text: TextHash) -> Option<ChunkRef> {
    let is_current = |(id, at): &ChunkRef| {
        notes
            .entry(*id)
            .and_then(|entry| entry.chunks.get(*at))
            .is_some_and(|chunk| chunk.hash == text)
    };
    chunks.iter().copied().find(is_current)
}

/// Returns the texts to embed for some chunks of a note. `O(body)`.
fn texts_of(entry: &NoteEntry, chunks: &[(TextHash, usize)]) -> Vec<(TextHash, String)> {
    let offsets = CharOffsets::new(&entry.body);
    let text = |(hash, at): &(TextHash, usize)| {
        let chunk = &entry.chunks[*at];
        let passage = &entry.body[offsets.bytes(chunk.span)];
        (*hash, text_of(&entry.note, &chunk.heading_path, passage))
    };
    chunks.iter().map(text).collect()
}

/// Starts the model thread; returns `None` if the system cannot start one.
fn spawn_model(embedder: Arc<dyn Embedder>, events: Sender<Event>) -> Option<EmbedderThread> {
    let (texts, batches) =
        crossbeam_channel::bounded::<Vec<(TextHash, String)>>(MAX_BATCHES_IN_FLIGHT);
    let (sender, results) = crossbeam_channel::bounded(MAX_BATCHES_IN_FLIGHT);
    let token = Arc::new(());
    let alive = Arc::downgrade(&token);
    let work = move || {
        // The token is dropped before the notifier, even by a panic, so that the writer sees the end when it wakes.
        let notifier = EmbeddedNotifier(events);
        let _token = token;
        lower_priority(PRIORITY_STEPS);
        for batch in batches {
            let mut results = Vec::new();
            embed(&*embedder, &batch, &mut results);
            // A dropped backlog or a stopped writer needs no result.
            if sender.send(results).is_err() || !notifier.notify() {
                break;
            }
        }
    };
    match std::thread::Builder::new().name("weft-embed".into()).spawn(work) {
        Ok(_) => Some(EmbedderThread { texts, results, alive }),
        Err(error) => {
            tracing::error!(%error, "cannot start the embedding thread");
            None
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of texts are far below 2^52")]
fn per_second(n: usize, elapsed: Duration) -> f64 {
    let seconds = elapsed.as_secs_f64();
    if seconds > 0.0 { n as f64 / seconds } else { 0.0 }
}

#[expect(clippy::cast_precision_loss, reason = "counts of texts are far below 2^52")]
fn seconds_left(n_pending: usize, rate: f64) -> Option<f64> {
    (n_pending > 0 && rate > 0.0).then(|| n_pending as f64 / rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A note that was edited while its text was being embedded kept the vector of the old text.
    #[test]
    fn edited_note_waits_for_its_new_text() {
        let (one, other) = (NoteId::new(0), NoteId::new(1));
        let mut backlog = Backlog::with_model(None, None, 1);
        let text = |n: u128| TextHash(n);
        backlog.enqueue(text(1), (one, 0));
        backlog.enqueue(text(2), (one, 1));
        backlog.enqueue(text(1), (other, 0));
        backlog.forget(one);
        backlog.enqueue(text(3), (one, 0));
        assert_eq!(backlog.n_waiting(), 2);
        assert_eq!(backlog.take(text(1)), [(other, 0)]);
        assert_eq!(backlog.take(text(2)), []);
        assert_eq!(backlog.take(text(3)), [(one, 0)]);
        assert!(backlog.is_idle() && backlog.n_waiting() == 0 && backlog.texts_of.is_empty());
    }

    /// The model waited for the writer after every batch, and while the writer read files.
    #[test]
    fn next_batch_is_queued_before_the_first_ends() {
        let (texts, batches) = crossbeam_channel::bounded(MAX_BATCHES_IN_FLIGHT);
        let (result, results) = crossbeam_channel::bounded(MAX_BATCHES_IN_FLIGHT);
        let token = Arc::new(());
        let model = EmbedderThread { texts, results, alive: Arc::downgrade(&token) };
        let mut backlog = Backlog::with_model(None, Some(model), 2);
        let text = |n: u128| (TextHash(n), n.to_string());
        backlog.ready.extend((0..7).map(text));
        let notes = NoteTable::default();
        assert!(backlog.feed(&notes) && backlog.feed(&notes), "the thread runs");
        assert_eq!(
            batches.try_iter().collect::<Vec<_>>(),
            [[text(0), text(1)], [text(2), text(3)]]
        );
        assert!(backlog.receive().is_none(), "no result yet");
        let part = EmbeddedBatch { texts: vec![TextHash(0), TextHash(1)], result: Ok(Vec::new()) };
        assert!(result.send(vec![part]).is_ok());
        assert_eq!(backlog.receive().map(|parts| parts[0].texts.len()), Some(2));
        assert!(backlog.feed(&notes) && backlog.feed(&notes), "the thread runs");
        assert_eq!(batches.try_iter().collect::<Vec<_>>(), [[text(4), text(5)]]);
        assert!(!backlog.is_idle(), "two are in flight");
        // The thread panics after one of them.
        assert!(result.send(Vec::new()).is_ok());
        drop((token, batches));
        assert!(backlog.feed(&notes), "its last result is received first");
        assert!(backlog.receive().is_some());
        assert!(!backlog.feed(&notes), "the end is reported");
        assert!(backlog.is_idle() && backlog.feed(&notes), "once");
    }
}
