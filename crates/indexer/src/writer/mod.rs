//! The one writer: from changed files to the next snapshot.
//!
//! One thread owns everything that changes.
//! It takes one [`Event`] at a time, so every cause of work is seen in one place; embedding, graphs over vectors and checkpoints are made on threads of their own, which tell of it by events.

mod backlog;
mod half_moved;
mod look;
mod meaning;
mod missing;
mod publish;
mod read;
mod remake;
mod succeed;
mod write;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use weft_index::embedder::{EmbedError, Embedder};
use weft_index::keyword::{KeywordEncoder, KeywordWriter};
use weft_index::notes::{NoteTable, VaultId};
use weft_index::vector::FrozenGraph;
use weft_index::{Backup, Publisher, Reading, Store};

pub(crate) use self::backlog::{Embedded, Place, embed};
use self::look::Watched;
use self::meaning::Meaning;
use self::publish::{PUBLISH_EVERY, Written};
pub(crate) use self::publish::{reconcile, words_made_anew};
use crate::board::Board;
use crate::embed::Opener;
use crate::files::Files;
use crate::past::Past;
use crate::priority::stand_back;
use crate::status::{IndexStatus, Phase};
use crate::succession::{Succession, Successor};
use crate::vaults::vault_changes;
use crate::watch::{self, Touched};
use crate::write::{Write, WriteError, Wrote};
use crate::{Confirmed, IndexError, IndexSettings, Rescan, VaultSettings};

/// Where the writer answers with the generation that holds what was asked for.
pub(crate) type Reply = Sender<Result<u64, IndexError>>;

/// Why the writer wakes.
pub(crate) enum Event {
    /// Files of a vault changed, or may have.
    Touched(VaultId, Touched),
    /// Somebody wants every file looked at.
    Rescan(Rescan, Reply),
    /// Somebody wants all changes before a moment indexed.
    Look(Instant, Reply),
    /// The same, and written down.
    Flush(Instant, Reply),
    /// These are the vaults from now on.
    Vaults(Vec<VaultSettings>, Reply),
    /// Somebody wants a copy of what is held.
    Backup(Sender<Result<Backup, IndexError>>),
    /// Somebody says that the missing files of this vault, or of all, are gone for good.
    Confirm(Option<String>, Sender<Result<(Vec<Confirmed>, u64), IndexError>>),
    /// Somebody wants something written into a vault.
    Write(Write, Sender<Result<Wrote, WriteError>>),
    /// A batch came back from a model: its backlog holds it.
    Embedded,
    /// A graph over the vectors of the model with this number was built in the background.
    GraphBuilt(u64, FrozenGraph),
    /// The next model has vectors of all notes.
    Succeeded(Box<Successor>),
    /// A checkpoint was written in the background.
    Written,
    /// Whoever read the words met what may be damage.
    WordsInDoubt,
    /// The end: write down what is held.
    Stop,
}

/// How long a model that cannot be reached, a disk that is full, or a vault that is gone is left alone.
pub(crate) const RETRY: Duration = Duration::from_secs(5);

/// How long the writer sleeps at most.
const LONG: Duration = Duration::from_secs(3600);

/// How far the writer stands back behind threads that answer.
const STEPS: i32 = 10;

/// The parts that a writer is made of.
pub(crate) struct Parts {
    pub(crate) store: Option<Store>,
    pub(crate) keyword: KeywordWriter,
    pub(crate) embedder: Option<Arc<dyn Embedder>>,
    /// Tells those who wait that the vectors are read back; nothing without a model.
    pub(crate) reading: Option<Reading>,
    pub(crate) publisher: Publisher,
    pub(crate) board: Board,
    pub(crate) past: Past,
    /// Generation of the last checkpoint.
    pub(crate) written: u64,
    /// Whether the entries were made with another recipe.
    pub(crate) outdated: bool,
}

pub(crate) struct Writer {
    settings: IndexSettings,
    files: Files,
    /// Goes before the store, whose lock keeps others from its folder as long as words are merged there.
    keyword: KeywordWriter,
    /// What makes the words of single notes ready for it, and remembers those of notes before; nothing while it is in use.
    encoder: Option<KeywordEncoder>,
    store: Option<Store>,
    /// Whether the last error was the store's.
    store_failed: bool,
    /// What keeps a move half done that will be tried again.
    half_moved: Option<String>,
    /// Whether the word index may be damaged, or hold what no snapshot does.
    words_in_doubt: bool,
    /// Notes that are being made anew in place of those that are published; changes are made to them.
    anew: Option<NoteTable>,
    /// Nothing without a model, and until the vectors are read back.
    meaning: Option<Meaning>,
    /// When the vectors are to be read back; nothing once they are.
    unread: Option<Instant>,
    /// Tells those who wait for that.
    reading: Option<Reading>,
    embedder: Option<Arc<dyn Embedder>>,
    /// The model that is to take its place.
    next: Option<Opener>,
    succession: Option<Succession>,
    /// The same once its vectors are there, and when it is to take over.
    successor: Option<(Box<Successor>, Instant)>,
    publisher: Publisher,
    board: Board,
    past: Past,
    vaults: Vec<Watched>,
    /// When the last look at all files began; nothing where some could not be read since.
    looked: Option<Instant>,
    recipe: u64,
    written: Written,
    last_published: Instant,
    events: Sender<Event>,
    /// Set where looks at files are to be broken off.
    interrupted: Arc<AtomicBool>,
    /// An event that came while others were gathered, and is due next.
    held: Option<Event>,
}

impl Writer {
    pub(crate) fn new(
        settings: IndexSettings,
        parts: Parts,
        next: Option<Opener>,
        (events, interrupted): (Sender<Event>, Arc<AtomicBool>),
    ) -> Self {
        let Parts { store, keyword, embedder, reading, publisher, board, past, written, outdated } =
            parts;
        let newest = publisher.newest().generation;
        let doubted = events.clone();
        keyword.when_in_doubt(move || {
            // A writer that has stopped does not mend.
            let _ = doubted.send(Event::WordsInDoubt);
        });
        let mut writer = Self {
            recipe: settings.recipe(embedder.as_deref()),
            files: Files::new(settings.disk.clone(), &settings.store),
            settings,
            store,
            encoder: None,
            keyword,
            store_failed: false,
            half_moved: None,
            words_in_doubt: false,
            anew: None,
            meaning: None,
            unread: embedder.is_some().then(Instant::now),
            reading,
            embedder,
            next,
            succession: None,
            successor: None,
            publisher,
            board,
            past,
            vaults: Vec::new(),
            looked: None,
            written: Written::new(written, newest),
            last_published: Instant::now(),
            events,
            interrupted,
            held: None,
        };
        writer.take_vaults(outdated);
        writer
    }

    /// Works until it is told to stop, then writes down what it holds.
    pub(crate) fn run(mut self, events: &Receiver<Event>) {
        // Whoever searches by meaning waits for this; nobody waits for what comes after.
        let read = self.read_vectors();
        self.note(read);
        stand_back(STEPS);
        self.first_look();
        self.begin_succession();
        loop {
            self.tend_model();
            self.show_phase();
            match self.next(events) {
                Ok(Event::Touched(vault, touched)) => self.touch(vault, touched),
                Ok(Event::Rescan(options, reply)) => {
                    let result = self.rescan(options).map(|()| self.generation());
                    self.show_phase();
                    let _ = reply.send(result);
                }
                Ok(Event::Look(moment, reply)) => {
                    let result = self.look_since(moment).map(|()| self.generation());
                    self.show_phase();
                    let _ = reply.send(result);
                }
                Ok(Event::Flush(moment, reply)) => {
                    let looked = self.look_since(moment);
                    let written = self.publish_vectors().and_then(|()| self.checkpoint());
                    let result = looked.and(written).map(|()| self.generation());
                    self.show_phase();
                    let _ = reply.send(result);
                }
                Ok(Event::Vaults(vaults, reply)) => {
                    let result = self.set_vaults(vaults).map(|()| self.generation());
                    self.show_phase();
                    let _ = reply.send(result);
                }
                Ok(Event::Backup(reply)) => {
                    let _ = reply.send(self.backup());
                }
                Ok(Event::Confirm(vault, reply)) => {
                    let result = self.confirm(vault.as_deref());
                    self.show_phase();
                    let _ = reply.send(result.map(|confirmed| (confirmed, self.generation())));
                }
                Ok(Event::Write(write, reply)) => {
                    self.write_with(write, reply, events);
                    self.show_phase();
                }
                Ok(Event::Embedded) => self.tend_model(),
                Ok(Event::GraphBuilt(number, graph)) => {
                    let outcome = self.meaning_numbered(number).map(|own| own.attach(graph));
                    self.note(outcome.unwrap_or(Ok(())).map_err(IndexError::from));
                }
                Ok(Event::Succeeded(successor)) => {
                    self.successor = Some((successor, Instant::now()));
                }
                Ok(Event::Written) => self.checkpoint_done(),
                Ok(Event::WordsInDoubt) => {
                    let outcome = self.check_words(true);
                    self.note(outcome);
                }
                Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.tend();
        }
        self.finish();
    }

    /// The next event, with all announced changes before it taken in.
    fn next(&mut self, events: &Receiver<Event>) -> Result<Event, RecvTimeoutError> {
        let mut next = match self.held.take() {
            Some(event) => Ok(event),
            None => events.recv_timeout(self.patience()),
        };
        while let Ok(Event::Touched(vault, touched)) = next {
            self.touch(vault, touched);
            next = events.recv_timeout(Duration::ZERO);
        }
        next
    }

    fn finish(mut self) {
        self.succession = None;
        let outcome = self.publish_vectors().and_then(|()| self.write_last());
        self.note(outcome);
        let generation = self.generation();
        // The next run may read vectors that this one could not: its answers are others.
        if let Some(store) = &mut self.store
            && self.written.generation == generation
            && self.unread.is_none()
            && let Err(error) = store.settle(generation)
        {
            tracing::warn!(%error, "the store was not settled");
        }
    }

    fn touch(&mut self, vault: VaultId, touched: Touched) {
        // A vault that was taken out has nothing to say any more.
        if let Some(vault) = self.vaults.iter_mut().find(|known| known.id == vault) {
            vault.touch(touched);
        }
    }

    /// Begins to watch, and looks at every file.
    fn first_look(&mut self) {
        self.resume_move();
        for at in 0..self.vaults.len() {
            self.watch(at);
        }
        if let Err(error) = self.rescan(Rescan::default()) {
            self.report(&error);
        }
    }

    /// Brings the vaults that are looked after in line with the table's.
    fn take_vaults(&mut self, outdated: bool) {
        let notes = self.publisher.newest().notes.clone();
        let mut old = std::mem::take(&mut self.vaults);
        for vault in &self.settings.vaults {
            let id = notes.vaults().find(|(_, info)| info.name == vault.name).map(|(id, _)| id);
            let Some(id) = id else { continue };
            let known = old.iter().position(|known| known.id == id && known.settings == *vault);
            let known = known.map(|at| old.swap_remove(at));
            self.vaults.push(known.unwrap_or_else(|| Watched::new(id, vault.clone(), outdated)));
        }
        let is_served = |id: &VaultId| notes.vault(*id).is_some();
        let mut board = self.board.lock();
        board.reread.retain(|(id, _), _| is_served(id));
        board.absent.retain(|id, _| is_served(id));
        board.watching.retain(|id, _| is_served(id));
        board.missing.retain(|id, _| is_served(id));
    }

    /// Serves these vaults from now on; the files of new ones are due.
    fn set_vaults(&mut self, vaults: Vec<VaultSettings>) -> Result<(), IndexError> {
        let known =
            |vault: &VaultSettings| self.vaults.iter().any(|known| known.settings == *vault);
        if let Some(missing) =
            vaults.iter().find(|vault| !known(vault) && watch::identity(&vault.root).is_none())
        {
            let (root, reason) = (missing.root.clone(), "it is no folder".to_owned());
            return Err(IndexError::Vault { root, reason });
        }
        let changes = vault_changes(&self.publisher.newest().notes, &vaults);
        self.publish(&changes)?;
        self.settings.vaults = vaults;
        self.looked = None;
        self.take_vaults(false);
        for at in 0..self.vaults.len() {
            if self.vaults[at].is_new() {
                self.watch(at);
                self.vaults[at].look_now();
            }
        }
        // One may have waited for its vault, of which the look comes next.
        self.resume_move();
        self.count();
        Ok(())
    }

    fn generation(&self) -> u64 {
        self.publisher.newest().generation
    }

    /// Fails where looks at files are to be broken off.
    fn go_on(&self) -> Result<(), IndexError> {
        if self.interrupted.load(Ordering::Relaxed) { Err(IndexError::Stopped) } else { Ok(()) }
    }

    fn report(&mut self, error: &IndexError) {
        if matches!(error, IndexError::Stopped) {
            return;
        }
        self.store_failed = matches!(error, IndexError::Store(_) | IndexError::Keyword(_));
        let last = self.board.lock().status.last_error.replace(error.to_string());
        // What is tried every few seconds is not told each time.
        if last != Some(error.to_string()) {
            tracing::error!(%error, "indexing met an error and goes on");
        }
    }

    fn note(&mut self, outcome: Result<(), IndexError>) {
        if let Err(error) = outcome {
            self.report(&error);
        }
    }

    /// How long to wait for the next event before something else is due.
    fn patience(&self) -> Duration {
        let debounce = self.settings.watch.debounce();
        let backlog = self.meaning.as_ref().map(Meaning::backlog);
        let vectors = self.meaning.as_ref().filter(|meaning| meaning.is_unpublished());
        let due = [
            self.vaults.iter().filter_map(|vault| vault.due_at(debounce)).min(),
            vectors.map(|_| self.last_published + PUBLISH_EVERY),
            backlog.and_then(backlog::Backlog::wakes_at),
            self.unread,
            self.successor.as_ref().map(|(_, due)| *due),
            self.checkpoint_due_at(),
        ];
        let now = Instant::now();
        due.into_iter().flatten().map(|at| at.saturating_duration_since(now)).min().unwrap_or(LONG)
    }

    /// Does what is due by time.
    fn tend(&mut self) {
        let read = self.read_vectors();
        self.note(read);
        let succeeded = self.succeed();
        self.note(succeeded);
        self.tend_vaults();
        let all_came = self.meaning.as_ref().is_some_and(|meaning| meaning.backlog().is_idle());
        if all_came || self.last_published.elapsed() >= PUBLISH_EVERY {
            let outcome = self.publish_vectors();
            if outcome.is_err() {
                self.last_published = Instant::now() + RETRY;
            }
            self.note(outcome);
        }
        if let Some(meaning) = &mut self.meaning {
            meaning.build_graph();
        }
        self.tend_checkpoint();
    }

    /// The vectors, where they are still those of the model with this number.
    fn meaning_numbered(&mut self, number: u64) -> Option<&mut Meaning> {
        self.meaning.as_mut().filter(|meaning| meaning.number() == number)
    }

    /// Takes in what came back from the model, and hands it the next texts. Never waits for the model, so that it is done beside longer work, too.
    pub(super) fn tend_model(&mut self) {
        while let Some(meaning) = &mut self.meaning
            && let Some(parts) = meaning.backlog_mut().receive()
        {
            for part in parts {
                self.embedded(part);
            }
            self.show_backlog();
        }
        // Notes that are made anew may be damaged as they are.
        let Some(meaning) = self.meaning.as_mut().filter(|_| self.anew.is_none()) else { return };
        if !meaning.backlog_mut().feed(&self.publisher.newest().notes) {
            let line = "the embedding thread ended; searching by words and links only".to_owned();
            self.board.lock().status.last_error = Some(line.clone());
            self.show_trouble(Some(line));
        }
    }

    /// Takes in what came of some texts, and whether the model can be reached.
    fn embedded(&mut self, part: Embedded) {
        let Some(meaning) = &mut self.meaning else { return };
        let outcome = meaning.embedded(part);
        let unavailable = match &outcome {
            Err(
                error @ (IndexError::Embed(EmbedError::Unavailable { .. }) | IndexError::Store(_)),
            ) => Some(error.to_string()),
            Ok(()) | Err(_) => None,
        };
        self.note(outcome);
        self.show_trouble(unavailable);
    }

    /// Shows why no vectors come, or that they do.
    pub(super) fn show_trouble(&self, unavailable: Option<String>) {
        let status = &mut self.board.lock().status;
        if unavailable.is_none() && status.unavailable == status.last_error {
            status.last_error = None;
        }
        status.unavailable = unavailable;
    }

    fn show_phase(&self) {
        let status = &mut self.board.lock().status;
        self.count_backlog(status);
        status.phase = if status.n_vectors_pending == 0 { Phase::Ready } else { Phase::Embedding };
    }

    fn show_backlog(&self) {
        self.count_backlog(&mut self.board.lock().status);
    }

    fn count_backlog(&self, status: &mut IndexStatus) {
        let Some(meaning) = &self.meaning else {
            let newest = self.publisher.newest();
            status.n_vectors_pending = newest.vectors.as_ref().map_or(0, |own| own.n_waiting);
            return;
        };
        let (rate, seconds_left) = meaning.backlog().rate();
        status.n_vectors_pending = meaning.backlog().n_waiting();
        status.vectors_per_second = rate;
        status.seconds_left = seconds_left;
    }
}
