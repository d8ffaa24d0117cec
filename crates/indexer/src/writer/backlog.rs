//! Texts on their way to the model.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender};
use weft_index::embedder::{EmbedError, Embedder, Role};
use weft_index::notes::{NoteEntry, NoteTable};
use weft_model::{NoteId, NoteMap, TextHash};

use super::{Event, RETRY};
use crate::chunk::text_of;
use crate::offsets::Offsets;
use crate::priority::stand_back;

/// Texts made ready for the model at a time, so that a long body is gone through once for many of its chunks.
const READY_TEXTS: usize = 1024;

/// Batches on their way to the model: the one it reads, and the one it goes on with while the writer takes in what came of the last.
const BATCHES: usize = 2;

/// How much further the model stands back than the writer: where a large vault is read, its words come first.
const STEPS: i32 = 5;

/// Where texts go in, and what came of them comes out.
struct Model {
    texts: Sender<Vec<(TextHash, String)>>,
    answers: Receiver<Vec<Embedded>>,
    /// Held by the thread as long as it lives.
    lives: Weak<()>,
}

impl Model {
    /// Whether its thread is gone and every answer of it was received.
    fn has_ended(&self) -> bool {
        self.lives.strong_count() == 0 && self.answers.is_empty()
    }
}

/// Rings whenever something came of the model, its end included.
struct Bell(Sender<Event>);

impl Bell {
    fn ring(&self) -> bool {
        self.0.send(Event::Embedded).is_ok()
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        self.ring();
    }
}

/// A chunk of a note, by position.
pub(crate) type Place = (NoteId, usize);

/// Texts on their way to the model, and the chunks that wait for them.
pub(super) struct Backlog {
    /// What the model's thread is started with, once there is a text for it.
    idle: Option<(Arc<dyn Embedder>, Sender<Event>)>,
    /// Nothing before that, and without a thread.
    model: Option<Model>,
    /// Texts handed to the model at a time.
    batch: usize,
    queue: VecDeque<TextHash>,
    ready: VecDeque<(TextHash, String)>,
    waiting: HashMap<TextHash, Vec<Place>>,
    /// The texts under which chunks of a note wait.
    texts_of: NoteMap<HashSet<TextHash>>,
    n_waiting: usize,
    /// Batches that the model has not answered.
    n_batches: usize,
    /// Until when the model, or the disk, is left alone.
    rests_until: Option<Instant>,
    /// Chunks that got their vector since.
    n_embedded: usize,
    since: Option<Instant>,
}

impl Backlog {
    /// Texts for `embedder`, whose thread rings with [`Event::Embedded`] when an answer is there to be [received](Self::receive).
    pub(super) fn new(embedder: Arc<dyn Embedder>, events: Sender<Event>) -> Self {
        let batch = embedder.batch().max(1);
        Self::feeding(Some((embedder, events)), None, batch)
    }

    /// Hands `batch` texts at a time to the model; without one they only queue.
    fn feeding(
        idle: Option<(Arc<dyn Embedder>, Sender<Event>)>,
        model: Option<Model>,
        batch: usize,
    ) -> Self {
        Self {
            idle,
            model,
            batch,
            queue: VecDeque::new(),
            ready: VecDeque::new(),
            waiting: HashMap::new(),
            texts_of: NoteMap::default(),
            n_waiting: 0,
            n_batches: 0,
            rests_until: None,
            n_embedded: 0,
            since: None,
        }
    }

    /// Chunks that wait.
    pub(super) const fn n_waiting(&self) -> usize {
        self.n_waiting
    }

    /// Whether nothing waits and nothing is on its way.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.n_batches == 0
    }

    /// When the model is asked again, if it rests.
    pub(super) const fn wakes_at(&self) -> Option<Instant> {
        self.rests_until
    }

    /// Lets the model, or the disk, be tried at once.
    pub(super) const fn wake(&mut self) {
        self.rests_until = None;
    }

    /// Chunks embedded per second, and the seconds that the rest will take, where a rate is known.
    pub(super) fn rate(&self) -> (f64, Option<f64>) {
        let rate = self.since.map_or(0.0, |since| per_second(self.n_embedded, since.elapsed()));
        (rate, seconds_left(self.n_waiting, rate))
    }

    /// Lets a chunk wait for the vector of its text.
    pub(super) fn wait(&mut self, text: TextHash, place: Place) {
        let places = self.waiting.entry(text).or_default();
        if places.is_empty() {
            self.queue.push_back(text);
        }
        if !places.contains(&place) {
            places.push(place);
            self.texts_of.entry(place.0).or_default().insert(text);
            self.n_waiting += 1;
        }
    }

    /// Lets no chunk of a note wait any more: it says something else now, and must not be given the vector of what it said.
    pub(super) fn forget(&mut self, note: NoteId) {
        for text in self.texts_of.remove(&note).unwrap_or_default() {
            let Some(places) = self.waiting.get_mut(&text) else { continue };
            let n_before = places.len();
            places.retain(|(id, _)| *id != note);
            self.n_waiting -= n_before - places.len();
            if places.is_empty() {
                self.waiting.remove(&text);
            }
        }
    }

    /// Takes out the chunks that wait for a text.
    pub(super) fn take(&mut self, text: TextHash) -> Vec<Place> {
        let places = self.waiting.remove(&text).unwrap_or_default();
        self.n_waiting -= places.len();
        for (note, _) in &places {
            if let Some(texts) = self.texts_of.get_mut(note) {
                texts.remove(&text);
                if texts.is_empty() {
                    self.texts_of.remove(note);
                }
            }
        }
        places
    }

    /// What came back from the model, one batch of it; never waits.
    pub(super) fn receive(&mut self) -> Option<Vec<Embedded>> {
        let parts = self.model.as_ref()?.answers.try_recv().ok()?;
        self.n_batches -= 1;
        Some(parts)
    }

    /// Notes that this many chunks got their vector from the model.
    pub(super) const fn embedded(&mut self, n_chunks: usize) {
        self.n_embedded += n_chunks;
    }

    /// Queues texts again, whose chunks still wait, and lets the model rest.
    pub(super) fn postpone(&mut self, texts: &[TextHash]) {
        self.queue.extend(texts.iter().filter(|text| self.waiting.contains_key(*text)));
        self.rests_until = Some(Instant::now() + RETRY);
    }

    /// Hands the next texts to the model, as far as it has room for them. False when the model's thread has ended.
    pub(super) fn feed(&mut self, notes: &NoteTable) -> bool {
        if self.model.as_ref().is_some_and(Model::has_ended) {
            (self.n_batches, self.model) = (0, None);
            return false;
        }
        if self.rests_until.is_some_and(|until| Instant::now() < until) {
            return true;
        }
        self.rests_until = None;
        while self.n_batches < BATCHES {
            if self.ready.is_empty() {
                self.make_ready(notes);
            }
            let n = self.ready.len().min(self.batch);
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

    /// Makes the next texts of the queue; those that nobody waits for any more are dropped.
    fn make_ready(&mut self, notes: &NoteTable) {
        let mut last: Option<(NoteId, Arc<NoteEntry>)> = None;
        let mut pending: Vec<(TextHash, usize)> = Vec::new();
        while self.ready.len() + pending.len() < READY_TEXTS
            && let Some(text) = self.queue.pop_front()
        {
            let place = self.waiting.get(&text).and_then(|places| place_of(notes, places, text));
            let Some((id, at)) = place else {
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
        // Texts of a length follow each other, so that the model asks for the same room again; the long ones come first, and nobody is promised too much.
        self.ready.make_contiguous().sort_by_key(|(_, text)| Reverse(text.len()));
    }
}

/// A chunk that still waits under `text`.
fn place_of(notes: &NoteTable, places: &[Place], text: TextHash) -> Option<Place> {
    let waits = |(id, at): &Place| {
        notes
            .entry(*id)
            .and_then(|entry| entry.chunks.get(*at))
            .is_some_and(|chunk| chunk.hash == text)
    };
    places.iter().copied().find(waits)
}

/// The texts that the model sees for some chunks of a note. `O(body)`.
fn texts_of(entry: &NoteEntry, chunks: &[(TextHash, usize)]) -> Vec<(TextHash, String)> {
    let offsets = Offsets::new(&entry.body);
    let text = |(hash, at): &(TextHash, usize)| {
        let chunk = &entry.chunks[*at];
        let passage = &entry.body[offsets.bytes(chunk.span)];
        (*hash, text_of(&entry.note, &chunk.heading_path, passage))
    };
    chunks.iter().map(text).collect()
}

/// The model's thread; nothing where the system gives none.
fn spawn_model(embedder: Arc<dyn Embedder>, events: Sender<Event>) -> Option<Model> {
    let (texts, batches) = crossbeam_channel::bounded::<Vec<(TextHash, String)>>(BATCHES);
    let (sender, answers) = crossbeam_channel::bounded(BATCHES);
    let alive = Arc::new(());
    let lives = Arc::downgrade(&alive);
    let work = move || {
        // Of these the last is dropped first, also by a defect: the end is there before it is told.
        let bell = Bell(events);
        let _alive = alive;
        stand_back(STEPS);
        for batch in batches {
            let mut parts = Vec::new();
            embed(&*embedder, &batch, &mut parts);
            // A backlog that is gone, or a writer that has stopped, needs no answer.
            if sender.send(parts).is_err() || !bell.ring() {
                break;
            }
        }
    };
    match std::thread::Builder::new().name("weft-embed".into()).spawn(work) {
        Ok(_) => Some(Model { texts, answers, lives }),
        Err(error) => {
            tracing::error!(%error, "no thread for embedding");
            None
        }
    }
}

/// What came of some texts.
pub(crate) struct Embedded {
    pub(crate) texts: Vec<TextHash>,
    pub(crate) result: Result<Vec<Vec<f32>>, EmbedError>,
}

/// Embeds a batch; where the model fails on it, its halves, so that one bad text costs no other its vector.
pub(crate) fn embed(
    embedder: &dyn Embedder,
    batch: &[(TextHash, String)],
    parts: &mut Vec<Embedded>,
) {
    let texts: Vec<&str> = batch.iter().map(|(_, text)| text.as_str()).collect();
    let result = embedder.embed(&texts, Role::Document);
    if let Err(EmbedError::Failed { .. }) = &result
        && batch.len() > 1
    {
        let (front, back) = batch.split_at(batch.len() / 2);
        embed(embedder, front, parts);
        embed(embedder, back, parts);
        return;
    }
    parts.push(Embedded { texts: batch.iter().map(|(hash, _)| *hash).collect(), result });
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

    /// A note that was edited while its text was with the model kept the vector of what it had said.
    #[test]
    fn a_note_that_is_edited_waits_for_what_it_says_now() {
        let (one, other) = (NoteId::new(0), NoteId::new(1));
        let mut backlog = Backlog::feeding(None, None, 1);
        let text = |n: u128| TextHash(n);
        backlog.wait(text(1), (one, 0));
        backlog.wait(text(2), (one, 1));
        backlog.wait(text(1), (other, 0));
        backlog.forget(one);
        backlog.wait(text(3), (one, 0));
        assert_eq!(backlog.n_waiting(), 2);
        assert_eq!(backlog.take(text(1)), [(other, 0)]);
        assert_eq!(backlog.take(text(2)), []);
        assert_eq!(backlog.take(text(3)), [(one, 0)]);
        assert!(backlog.is_idle() && backlog.n_waiting() == 0 && backlog.texts_of.is_empty());
    }

    /// The model waited for the writer after every batch, and while the writer read files.
    #[test]
    fn the_model_has_the_next_batch_before_it_ends_the_first() {
        let (texts, batches) = crossbeam_channel::bounded(BATCHES);
        let (answer, answers) = crossbeam_channel::bounded(BATCHES);
        let alive = Arc::new(());
        let model = Model { texts, answers, lives: Arc::downgrade(&alive) };
        let mut backlog = Backlog::feeding(None, Some(model), 2);
        let text = |n: u128| (TextHash(n), n.to_string());
        backlog.ready.extend((0..7).map(text));
        let notes = NoteTable::default();
        assert!(backlog.feed(&notes) && backlog.feed(&notes), "the thread lives");
        assert_eq!(
            batches.try_iter().collect::<Vec<_>>(),
            [[text(0), text(1)], [text(2), text(3)]]
        );
        assert!(backlog.receive().is_none(), "nothing came yet");
        let part = Embedded { texts: vec![TextHash(0), TextHash(1)], result: Ok(Vec::new()) };
        assert!(answer.send(vec![part]).is_ok());
        assert_eq!(backlog.receive().map(|parts| parts[0].texts.len()), Some(2));
        assert!(backlog.feed(&notes) && backlog.feed(&notes), "the thread lives");
        assert_eq!(batches.try_iter().collect::<Vec<_>>(), [[text(4), text(5)]]);
        assert!(!backlog.is_idle(), "two are on their way");
        // The thread ends in a panic after one of them.
        assert!(answer.send(Vec::new()).is_ok());
        drop((alive, batches));
        assert!(backlog.feed(&notes), "its last answer is taken first");
        assert!(backlog.receive().is_some());
        assert!(!backlog.feed(&notes), "it is told");
        assert!(backlog.is_idle() && backlog.feed(&notes), "once");
    }
}
