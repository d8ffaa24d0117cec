//! From changes to the next generation: words, vectors, snapshot, and what is written down behind.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use weft_index::embedder::Embedder;
use weft_index::keyword::{
    EncodedNote, KeywordEncoder, KeywordError, KeywordReader, KeywordWriter,
};
use weft_index::notes::{Change, Delta, Edit, NoteTable};
use weft_index::{
    Backup, Checkpoint, Checkpoints, Reading, Shelf, ShelfReport, Snapshot, StoreError, Vectors,
};
use weft_model::{NoteBits, NoteId};

use super::meaning::{Meaning, damaged_vectors};
use super::read::document;
use super::{Event, RETRY, Writer};
use crate::board::Board;
use crate::in_order::in_order;
use crate::{IndexError, IndexSettings};

/// How long new vectors may wait to be published while more are coming.
pub(super) const PUBLISH_EVERY: Duration = Duration::from_millis(250);

/// How long the writer must be idle before it writes a checkpoint.
const CHECKPOINT_IDLE: Duration = Duration::from_secs(2);

/// The least time between two checkpoints that nobody asked for, however small they are, and however large.
///
/// A checkpoint writes the whole note table; what a crash takes from it is read again from the few files that changed since.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(60);
const CHECKPOINT_EVERY_LARGE: Duration = Duration::from_secs(3600);

/// Bytes of checkpoints a second on average, so that notes that are edited all day do not wear a disk out: 22 GB a day.
const CHECKPOINT_BYTES_PER_SECOND: u64 = 256 << 10;

/// How often the least time may pass before a checkpoint is written although something else goes on.
const CHECKPOINT_AT_LEAST: u32 = 5;

/// What is written down, and since when there is something newer.
pub(super) struct Written {
    /// Generation of the last checkpoint.
    pub(super) generation: u64,
    at: Option<Instant>,
    /// The least time between it and the next.
    pause: Duration,
    dirty_since: Option<Instant>,
    last_change: Instant,
    /// Why the last attempt failed; nothing once one came about.
    pub(super) trouble: Option<String>,
    /// The state that is being written down.
    under_way: Option<UnderWay>,
}

/// A state that a thread writes down.
struct UnderWay {
    snapshot: Arc<Snapshot>,
    thread: JoinHandle<Result<NoteTable, StoreError>>,
}

/// Tells of the end of a checkpoint, by a defect, too.
struct OnEnd(Sender<Event>);

impl Drop for OnEnd {
    fn drop(&mut self) {
        // A writer that has stopped waits for the thread itself.
        let _ = self.0.send(Event::Written);
    }
}

/// The work of writing a state down; needs nothing of the writer.
struct WriteDown {
    snapshot: Arc<Snapshot>,
    recipe: u64,
    checkpoints: Checkpoints,
    keep: usize,
    board: Board,
}

impl WriteDown {
    /// Writes it down; the notes stay in memory.
    fn write(&self) -> Result<(), StoreError> {
        let (generation, notes) = (self.snapshot.generation, self.snapshot.notes.clone());
        self.checkpoints.write(&Checkpoint { generation, notes, recipe: self.recipe }, self.keep)
    }

    /// Writes it down, and gives the notes back as they rest on what was written, most of them out of memory.
    fn run(&self) -> Result<NoteTable, StoreError> {
        self.write()?;
        let checkpoints = &self.checkpoints;
        let (stored, n_bytes) = (checkpoints.stored()?, checkpoints.store_bytes());
        let status = &mut self.board.lock().status;
        (status.stored_generations, status.store_bytes) = (stored, n_bytes);
        Ok(checkpoints.read(self.snapshot.generation)?.notes)
    }
}

impl Written {
    /// With `newest`, which was published at the start.
    pub(super) fn new(generation: u64, newest: u64) -> Self {
        let now = Instant::now();
        Self {
            generation,
            at: None,
            pause: CHECKPOINT_EVERY,
            dirty_since: (generation != newest).then_some(now),
            last_change: now,
            trouble: None,
            under_way: None,
        }
    }

    /// When a checkpoint is due, if nothing else happens; sooner when the writer `is_idle`.
    pub(super) fn due_at(&self, is_idle: bool) -> Option<Instant> {
        let dirty_since = self.dirty_since.filter(|_| self.under_way.is_none())?;
        let latest = dirty_since + self.pause * CHECKPOINT_AT_LEAST;
        let rested = self.last_change + CHECKPOINT_IDLE;
        let rested = self.at.map_or(rested, |at| rested.max(at + self.pause));
        Some(if is_idle { rested.min(latest) } else { latest })
    }

    /// Takes it that a checkpoint of so many bytes was written just now.
    fn wrote(&mut self, generation: u64, n_bytes: u64) {
        let pause = Duration::from_secs(n_bytes / CHECKPOINT_BYTES_PER_SECOND);
        self.pause = pause.clamp(CHECKPOINT_EVERY, CHECKPOINT_EVERY_LARGE);
        (self.generation, self.at, self.trouble) = (generation, Some(Instant::now()), None);
    }

    /// Takes it that what was written down may be gone.
    pub(super) fn lose(&mut self) {
        if self.generation != 0 {
            (self.generation, self.at) = (0, None);
            self.changed();
        }
    }

    fn changed(&mut self) {
        self.last_change = Instant::now();
        self.dirty_since.get_or_insert(self.last_change);
    }
}

/// Changes on their way into the next generation.
#[derive(Default)]
pub(super) struct Batch {
    edit: Edit,
    n_changes: usize,
    /// Why words of it could not be taken in.
    failed: Option<KeywordError>,
}

impl Batch {
    /// How many changes there are.
    pub(super) const fn len(&self) -> usize {
        self.n_changes
    }
}

impl Writer {
    /// Adds a change to a batch, whose first one begins it; a note that comes or changes brings its words, ready.
    ///
    /// Until the batch is published nobody else may publish. After an error nothing can be done with it.
    pub(super) fn change(
        &mut self,
        batch: &mut Batch,
        change: &Change,
        words: Option<EncodedNote>,
    ) -> Result<(), IndexError> {
        if batch.n_changes == 0 {
            self.begin(batch)?;
        }
        batch.n_changes += 1;
        let note = batch.edit.apply(change);
        // Words of notes that are made anew follow when every file was looked at.
        if let (Some(note), Some(words), None, None) = (note, words, &self.anew, &batch.failed) {
            batch.failed = self.keyword.upsert(note, words).err();
        }
        Ok(())
    }

    /// Begins a batch upon the notes of now, once these and the words are whole.
    fn begin(&mut self, batch: &mut Batch) -> Result<(), IndexError> {
        self.check_notes(false)?;
        batch.edit = Edit::of(&self.notes());
        if self.anew.is_none() {
            let generation = self.generation() + 1;
            self.issue(generation)?;
            self.settle_words(batch.edit.before(), generation)?;
        }
        Ok(())
    }

    /// Publishes `changes`, none of which brings words, as the next generation; nothing when there are none.
    pub(super) fn publish(&mut self, changes: &[Change]) -> Result<(), IndexError> {
        let mut batch = Batch::default();
        changes.iter().try_for_each(|change| self.change(&mut batch, change, None))?;
        self.publish_batch(batch)
    }

    /// Brings every part of the index in line with a batch and publishes the next generation; nothing when nothing changed.
    pub(super) fn publish_batch(&mut self, mut batch: Batch) -> Result<(), IndexError> {
        if batch.n_changes == 0 {
            if self.anew.is_some() || !self.words_in_doubt {
                return Ok(());
            }
            self.begin(&mut batch)?;
        }
        if self.anew.is_some() {
            // Words and vectors follow when every file was looked at.
            self.anew = Some(batch.edit.finish().0);
            return Ok(());
        }
        let generation = self.generation() + 1;
        let (committed, (notes, delta)) = self.commit_words(batch, generation);
        let keyword = match committed {
            Ok(keyword) => keyword,
            Err(error) => self.recover_words(error, &notes, generation)?,
        };
        if let Some(meaning) = &mut self.meaning
            && let Err(error) = meaning.arrange(&notes, &delta)
        {
            // Words and links do not wait for the room that vectors need.
            meaning.backlog_mut().postpone(&[]);
            self.report(&error.into());
        }
        let vectors = self.vectors(&notes);
        self.show(Snapshot { generation, notes, keyword, vectors });
        Ok(())
    }

    /// Commits the words of a batch, and meanwhile brings names and links in line with it.
    fn commit_words(
        &mut self,
        batch: Batch,
        generation: u64,
    ) -> (Result<KeywordReader, KeywordError>, (NoteTable, Delta)) {
        let Batch { edit, n_changes: _, failed } = batch;
        let keyword = &mut self.keyword;
        if let Some(error) = failed {
            return (Err(error), edit.finish());
        }
        if !edit.changes_notes() {
            return (Ok(keyword.reader().clone()), edit.finish());
        }
        let removed: Vec<NoteId> = edit.removed().collect();
        let mut commit = || {
            removed.iter().try_for_each(|id| keyword.delete(*id))?;
            keyword.commit(generation)
        };
        let mut committed = None;
        let finished = std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("weft-commit".into());
            // Where the system has no thread to give, it is done afterwards.
            let _ = thread.spawn_scoped(scope, || committed = Some(commit()));
            edit.finish()
        });
        (committed.unwrap_or_else(commit), finished)
    }

    /// The words of `notes` made anew, where something failed because their files are damaged; else the error.
    ///
    /// After an error they may hold what no snapshot does, which is sorted out before the next attempt.
    fn recover_words(
        &mut self,
        error: KeywordError,
        notes: &NoteTable,
        generation: u64,
    ) -> Result<KeywordReader, KeywordError> {
        self.words_in_doubt = true;
        if !self.keyword.examine().is_err_and(|error| error.needs_rebuild()) {
            return Err(error);
        }
        self.settle_words(notes, generation)?;
        Ok(self.keyword.reader().clone())
    }

    /// Makes the word index whole, and hold what `notes` does, where there is doubt about that.
    pub(super) fn settle_words(
        &mut self,
        notes: &NoteTable,
        generation: u64,
    ) -> Result<(), KeywordError> {
        if !self.words_in_doubt {
            return Ok(());
        }
        match self.keyword.examine() {
            Ok(()) => {}
            Err(error) if error.needs_rebuild() => {
                tracing::warn!(%error, "the word index is built anew");
                self.board.notice(words_made_anew(&error));
                self.begin_words()?;
            }
            Err(error) => return Err(error),
        }
        reconcile(&mut self.keyword, notes, generation)?;
        self.words_in_doubt = false;
        Ok(())
    }

    /// Makes the words anew where their files are not what they were; reads those that were touched, or `always` all.
    pub(super) fn check_words(&mut self, always: bool) -> Result<(), IndexError> {
        let keyword = &mut self.keyword;
        let looked = if always { keyword.examine() } else { keyword.examine_touched() };
        if looked.is_ok() {
            return Ok(());
        }
        self.words_in_doubt = true;
        self.publish(&[]).inspect_err(|_| self.retry())
    }

    /// Makes the words anew from the notes, whatever lies there; the answers stay what they are.
    pub(super) fn rewrite_words(&mut self) -> Result<(), IndexError> {
        let before = self.publisher.newest();
        self.words_in_doubt = true;
        self.begin_words()?;
        self.settle_words(&before.notes, before.generation)?;
        let keyword = self.keyword.reader().clone();
        self.publisher.publish(Snapshot { keyword, ..Snapshot::clone(&before) });
        Ok(())
    }

    /// Throws the words' files away; answers come from what is in memory until others are made.
    fn begin_words(&mut self) -> Result<(), KeywordError> {
        // Earlier states would go on reading them.
        self.past.forget();
        self.keyword.begin_anew()
    }

    /// Reads the vectors back, if that is due, makes sure that they are whole, and publishes them; where that fails it is due again later.
    ///
    /// Who asks for them at the first time waits; words and links are answered at once, and the generation stays what it is, as do its answers.
    /// Where they cannot be read, a generation without them is published, and one with them once they can.
    pub(super) fn read_vectors(&mut self) -> Result<(), IndexError> {
        if self.unread.is_none_or(|due| due > Instant::now()) {
            return Ok(());
        }
        let Some(embedder) = self.embedder.clone() else { return Ok(()) };
        let (reading, newest) = (self.reading.take(), self.publisher.newest());
        // Where nobody waits any more they come with a generation of their own.
        let issued = if reading.is_some() { Ok(()) } else { self.issue(newest.generation + 1) };
        let IndexSettings { disk, store, vector, .. } = &self.settings;
        let opened = issued
            .and_then(|()| Shelf::open(disk, store, Arc::clone(&embedder), &newest.notes, *vector));
        let trouble = opened.as_ref().err().map(ToString::to_string);
        let outcome = match opened {
            Ok((shelf, ShelfReport { n_rows: _, n_damaged })) => {
                self.unread = None;
                if n_damaged > 0 {
                    self.board.notice(damaged_vectors(n_damaged));
                }
                self.take_shelf(shelf, embedder, reading);
                Ok(())
            }
            Err(error) => {
                self.unread = Some(Instant::now() + RETRY);
                if reading.is_some() {
                    let shown = self.show_vectors();
                    if shown.is_err() {
                        // There is no number for it; but what has no vectors must not pass for found by them.
                        let vectors = self.vectors(&newest.notes);
                        self.publish_counted(Snapshot { vectors, ..Snapshot::clone(&newest) });
                    }
                    self.note(shown);
                    // Nobody waits for another try.
                    drop(reading);
                }
                Err(error.into())
            }
        };
        self.show_trouble(trouble.clone());
        self.board.lock().unreadable = trouble;
        // Whoever waits for them looks again.
        self.board.published(self.generation());
        outcome
    }

    /// Goes on with the vectors of `shelf`, under the same generation where somebody waits for the end of `reading`.
    fn take_shelf(&mut self, shelf: Shelf, embedder: Arc<dyn Embedder>, reading: Option<Reading>) {
        let newest = self.publisher.newest();
        let mut meaning = Meaning::start(0, shelf, embedder, self.events.clone());
        if let Err(error) = meaning.arrange_all(&newest.notes) {
            meaning.backlog_mut().postpone(&[]);
            self.report(&error.into());
        }
        self.meaning = Some(meaning);
        match (reading, self.vectors(&newest.notes)) {
            (Some(reading), Some(vectors)) => {
                let own = Some(vectors.clone());
                self.publish_counted(Snapshot { vectors: own, ..Snapshot::clone(&newest) });
                reading.done(vectors);
            }
            _ => {
                let shown = self.show_vectors();
                self.note(shown);
            }
        }
    }

    /// Publishes the vectors of now under the next generation.
    fn show_vectors(&mut self) -> Result<(), IndexError> {
        let before = self.publisher.newest();
        let generation = before.generation + 1;
        self.issue(generation)?;
        let vectors = self.vectors(&before.notes);
        self.show(Snapshot { generation, vectors, ..Snapshot::clone(&before) });
        Ok(())
    }

    /// The same at once, where they are not read back yet: who asks does not want to wait for another try.
    pub(super) fn read_vectors_now(&mut self) -> Result<(), IndexError> {
        self.unread = self.unread.map(|_| Instant::now());
        self.read_vectors()
    }

    /// The vectors of now, which count as published; nothing without a model. Where they could not be read back none of `notes` has one.
    pub(super) fn vectors(&mut self, notes: &NoteTable) -> Option<Vectors> {
        if let Some(meaning) = &mut self.meaning {
            return Some(meaning.publish());
        }
        let embedder = self.embedder.clone()?;
        Vectors::none(notes, embedder, self.settings.vector).ok()
    }

    /// Publishes vectors that came.
    pub(super) fn publish_vectors(&mut self) -> Result<(), IndexError> {
        match &mut self.meaning {
            Some(meaning) if meaning.is_unpublished() => meaning.sync()?,
            _ => return Ok(()),
        }
        self.show_vectors()
    }

    /// Lets vectors go that another program changed, tells of it, and lets the model make them anew; looks for them where their file was touched, or `always`.
    pub(super) fn check_vectors(&mut self, always: bool) -> Result<(), IndexError> {
        let notes = self.publisher.newest().notes.clone();
        let meaning = self.meaning.as_mut();
        let found = meaning.map_or(Ok(None), |meaning| meaning.drop_damaged(&notes, always));
        if let Some(line) = found? {
            self.board.notice(line);
            self.count();
        }
        Ok(())
    }

    pub(super) fn issue(&mut self, generation: u64) -> Result<(), StoreError> {
        self.store.as_mut().map_or(Ok(()), |store| store.issue(generation))
    }

    pub(super) fn show(&mut self, snapshot: Snapshot) {
        let generation = snapshot.generation;
        tracing::debug!(generation, digest = %format_args!("{:032x}", snapshot.notes.total().digest), "published");
        self.publish_counted(snapshot);
        self.last_published = Instant::now();
        self.written.changed();
        self.board.published(generation);
    }

    /// Publishes `snapshot` and its numbers together: who has seen an answer of the new state must not be told the numbers of the old one.
    fn publish_counted(&self, snapshot: Snapshot) {
        let mut board = self.board.lock();
        self.publisher.publish(snapshot);
        board.count(&self.publisher.newest());
        self.count_backlog(&mut board.status);
    }

    /// Brings the numbers of the board up to date.
    pub(super) fn count(&self) {
        let mut board = self.board.lock();
        board.count(&self.publisher.newest());
        self.count_backlog(&mut board.status);
    }

    /// When a checkpoint is due.
    pub(super) fn checkpoint_due_at(&self) -> Option<Instant> {
        let is_idle = self.meaning.as_ref().is_none_or(|meaning| meaning.backlog().is_idle());
        self.written.due_at(is_idle)
    }

    /// Writes a checkpoint in the background when one is due.
    pub(super) fn tend_checkpoint(&mut self) {
        if self.checkpoint_due_at().is_none_or(|due| due > Instant::now()) {
            return;
        }
        let started = self.prepare_checkpoint().and_then(|work| {
            let Some(work) = work else { return Ok(()) };
            let (snapshot, events) = (Arc::clone(&work.snapshot), self.events.clone());
            let work = move || {
                let _told = OnEnd(events);
                work.run()
            };
            let thread = std::thread::Builder::new().name("weft-checkpoint".into()).spawn(work);
            let thread = thread.map_err(|source| StoreError::Io {
                action: "start",
                path: "the thread that writes checkpoints".into(),
                source,
            })?;
            self.written.under_way = Some(UnderWay { snapshot, thread });
            Ok(())
        });
        self.note_checkpoint(started);
    }

    /// Takes in that a checkpoint in the background is done.
    pub(super) fn checkpoint_done(&mut self) {
        let Some(UnderWay { snapshot, thread }) = self.written.under_way.take() else { return };
        let outcome = thread.join().unwrap_or_else(|_| {
            Err(StoreError::Damaged {
                path: self.settings.store.clone(),
                reason: "writing it down stopped suddenly; this is a defect".into(),
            })
        });
        let outcome = match outcome {
            Ok(notes) => {
                self.has_written(&snapshot, notes);
                Ok(())
            }
            Err(error @ StoreError::Changed { .. }) => self.remake_notes(&error),
            Err(error) => Err(error.into()),
        };
        self.note_checkpoint(outcome);
    }

    /// Writes down what is published, unless it is, and waits for it.
    pub(super) fn checkpoint(&mut self) -> Result<(), IndexError> {
        let outcome = match self.write_down() {
            Err(IndexError::Store(error @ StoreError::Changed { .. })) => {
                self.remake_notes(&error).and_then(|()| self.write_down())
            }
            outcome => outcome,
        };
        outcome.inspect_err(|error| self.checkpoint_failed(error))
    }

    /// The same; fails where another program changed the file of the notes.
    fn write_down(&mut self) -> Result<(), IndexError> {
        self.checkpoint_done();
        if let Some(work) = self.prepare_checkpoint()? {
            let notes = work.run()?;
            self.has_written(&work.snapshot, notes);
        }
        Ok(())
    }

    /// Writes down what is published, unless it is, as the last thing.
    ///
    /// It is not read back: nobody asks for what the writer's notes rest on any more.
    /// Notes that another program changed are made again at the next start at the latest.
    pub(super) fn write_last(&mut self) -> Result<(), IndexError> {
        self.checkpoint_done();
        if let Some(work) = self.prepare_checkpoint()? {
            work.write()?;
            self.written.generation = work.snapshot.generation;
        }
        Ok(())
    }

    /// The work of writing the newest snapshot down; nothing where it is written down or there is no store.
    fn prepare_checkpoint(&mut self) -> Result<Option<WriteDown>, IndexError> {
        if let Some(meaning) = &mut self.meaning {
            meaning.sync()?;
        }
        let snapshot = self.publisher.newest();
        let is_new = self.written.generation != snapshot.generation;
        let Some(store) = self.store.as_ref().filter(|_| is_new) else {
            self.written.dirty_since = None;
            return Ok(None);
        };
        Ok(Some(WriteDown {
            snapshot,
            // While some entries are of another recipe, the whole is of none.
            recipe: if self.vaults.iter().any(|vault| vault.outdated) { 0 } else { self.recipe },
            checkpoints: store.checkpoints(),
            keep: self.settings.keep_generations,
            board: self.board.clone(),
        }))
    }

    /// The files of the newest generation, which is written down, held open.
    pub(super) fn backup(&mut self) -> Result<Backup, IndexError> {
        // A copy without the vectors that lie there would pass for whole.
        self.read_vectors_now()?;
        self.publish_vectors()?;
        self.checkpoint()?;
        let shelf = self.meaning.as_ref().map(Meaning::shelf);
        let store = self.store.as_ref().ok_or(IndexError::Stopped)?;
        Ok(store.backup(self.written.generation, &self.keyword, shelf)?)
    }

    /// Takes in that `snapshot` is written down, and that `notes` are its notes as they rest on that.
    fn has_written(&mut self, snapshot: &Snapshot, notes: NoteTable) {
        let n_bytes = self
            .store
            .as_ref()
            .map_or(0, |store| store.checkpoints().bytes_of(snapshot.generation));
        self.written.wrote(snapshot.generation, n_bytes);
        let is_newest = snapshot.generation == self.generation();
        self.written.dirty_since = (!is_newest).then(Instant::now);
        if is_newest {
            // The same notes under the same number; the ones in memory go with the last question that reads them.
            let newest = self.publisher.newest();
            self.publisher.publish(Snapshot { notes, ..Snapshot::clone(&newest) });
            self.past.keep(self.publisher.newest());
        } else {
            self.past.keep(Arc::new(Snapshot { notes, ..snapshot.clone() }));
        }
        if self.store_failed {
            self.forget_error(self.last_error());
        }
    }

    fn note_checkpoint(&mut self, outcome: Result<(), IndexError>) {
        if let Err(error) = outcome {
            self.checkpoint_failed(&error);
            // A full disk is not asked again at every turn.
            self.written.at = Some(Instant::now());
            self.written.dirty_since = Some(Instant::now());
        }
    }

    /// Tells of it until one comes about, whatever else goes well meanwhile.
    fn checkpoint_failed(&mut self, error: &IndexError) {
        self.written.trouble = Some(error.to_string());
        self.report(error);
    }

    /// Takes what was deleted off the disk; the answers stay what they are.
    ///
    /// On systems that keep a removed file as long as it is read, its bytes go with the last question that reads it.
    pub(super) fn compact(&mut self) -> Result<(), IndexError> {
        // What is published may not change under its number.
        self.publish_vectors()?;
        // It may find that the notes must be made anew, and publish those.
        self.checkpoint_done();
        let before = self.publisher.newest();
        self.past.forget();
        self.settle_words(&before.notes, before.generation)?;
        let keyword = match self.keyword.compact(before.generation) {
            Ok(keyword) => keyword,
            // What is made anew holds nothing of the past.
            Err(error) => self.recover_words(error, &before.notes, before.generation)?,
        };
        let checked = self.check_vectors(true);
        let outcome = self.meaning.as_mut().map_or(Ok(()), Meaning::compact);
        // Whatever became of the vectors, the words are others now.
        let vectors = self.vectors(&before.notes);
        self.publisher.publish(Snapshot { keyword, vectors, ..Snapshot::clone(&before) });
        checked?;
        outcome?;
        self.checkpoint()?;
        if let Some(store) = &self.store {
            let own = self.embedder.as_ref().map(|embedder| embedder.identity().clone());
            let next = self.board.lock().status.next.clone().and_then(|next| next.identity);
            let models: Vec<_> = own.iter().chain(&next).collect();
            store.compact(self.written.generation, &models)?;
            let checkpoints = store.checkpoints();
            let (stored, n_bytes) = (checkpoints.stored()?, checkpoints.store_bytes());
            let status = &mut self.board.lock().status;
            (status.stored_generations, status.store_bytes) = (stored, n_bytes);
        }
        Ok(())
    }
}

/// What a person is told of a word index that is not as it had been made.
pub(crate) fn words_made_anew(error: &impl std::fmt::Display) -> String {
    format!("{error}; the word index was built anew.")
}

/// Makes the word index hold exactly the notes of the table; touches only what differs.
pub(crate) fn reconcile(
    keyword: &mut KeywordWriter,
    notes: &NoteTable,
    generation: u64,
) -> Result<KeywordReader, KeywordError> {
    let reader = keyword.refresh()?;
    let mut held = NoteBits::default();
    let mut surplus = Vec::new();
    for (id, version) in reader.versions()? {
        if notes.card(id).is_some_and(|card| card.version == version) {
            held.insert(id);
        } else {
            surplus.push(id);
        }
    }
    let missing = notes.cards().map(|(id, _)| id).filter(|id| !held.contains(*id));
    let missing: Vec<NoteId> = missing.collect();
    if surplus.is_empty() && missing.is_empty() {
        return Ok(reader);
    }
    surplus.into_iter().try_for_each(|id| keyword.delete(id))?;
    let encode = |encoder: &mut KeywordEncoder, id: &NoteId| {
        notes.entry(*id).map(|entry| encoder.encode(&document(entry)))
    };
    let n_bytes = |id: &NoteId| notes.card(*id).map_or(0, |card| card.file.size);
    in_order(&missing, &mut encoders(keyword, Vec::new()), n_bytes, encode, |id, words| {
        words.flatten().map_or(Ok(()), |words| keyword.upsert(*id, words))
    })?;
    keyword.commit(generation)
}

/// An encoder for each core, some of which are `there`.
pub(super) fn encoders(keyword: &KeywordWriter, there: Vec<KeywordEncoder>) -> Vec<KeywordEncoder> {
    let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
    let more = (there.len()..n_cores).map(|_| keyword.encoder());
    there.into_iter().chain(more).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_checkpoints_are_written_less_often() {
        let second = Duration::from_secs(1);
        for (name, n_bytes, pause) in [
            ("a small vault", 4 << 20, 60),
            ("20,000 notes of 4 kB", 80 << 20, 320),
            ("as large as any", u64::MAX, 3600),
        ] {
            let mut written = Written::new(1, 1);
            assert_eq!(written.due_at(true), None, "{name}: nothing is newer");
            written.wrote(2, n_bytes);
            written.changed();
            let (at, changed) = (written.at.unwrap_or_else(Instant::now), written.last_change);
            assert_eq!(written.due_at(true), Some(at + pause * second), "{name}: it rests");
            assert_eq!(written.due_at(false), Some(changed + 5 * pause * second), "{name}");
            // Who edits on without rest gets one all the same.
            written.last_change = changed + 10 * pause * second;
            assert_eq!(written.due_at(true), Some(changed + 5 * pause * second), "{name}");
        }
    }
}
