//! The handle on a running index.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Sender, bounded, unbounded};
use weft_index::{Backup, Reader, Snapshot, StoreError};

use crate::board::Board;
use crate::embed::Models;
use crate::past::Past;
use crate::status::{FileCoverage, IndexStatus, NextModel, VaultStatus};
use crate::write::{Write, WriteError, Wrote};
use crate::writer::{Event, Reply, Writer};
use crate::{Confirmed, IndexError, IndexSettings, Rescan, VaultSettings, coverage, open};

/// The longest time between two looks at how far the vectors are.
const PAUSE: Duration = Duration::from_millis(50);

/// A running index: one writer thread behind a handle. Dropping it stops the writer.
pub struct Indexer {
    events: Sender<Event>,
    reader: Reader,
    board: Board,
    past: Past,
    /// Before the writer looked at any file.
    opened: Instant,
    /// Set where looks at files are to be broken off.
    interrupted: Arc<AtomicBool>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl Indexer {
    /// Opens or creates the store, which is locked meanwhile, and starts the writer, which looks at every file at once.
    ///
    /// What the store holds can be asked as soon as this returns; searches by meaning wait until its vectors are read back.
    /// `address` tells processes that find the store locked where to ask.
    pub fn open(
        settings: IndexSettings,
        models: impl Into<Models>,
        address: Option<&str>,
    ) -> Result<Self, IndexError> {
        let Models { now, next, wanted: _ } = models.into();
        let parts = open::parts(&settings, now, next.is_some(), address)?;
        let reader = parts.publisher.reader();
        let (board, past) = (parts.board.clone(), parts.past.clone());
        let (events, received) = unbounded();
        let (sender, interrupted) = (events.clone(), Arc::new(AtomicBool::new(false)));
        let (told, opened) = (Arc::clone(&interrupted), Instant::now());
        let writer = std::thread::Builder::new()
            .name("weft-writer".into())
            .spawn(move || Writer::new(settings, parts, next, (sender, told)).run(&received))
            .map_err(|source| StoreError::Io {
                action: "start",
                path: "the writer thread".into(),
                source,
            })?;
        let writer = Mutex::new(Some(writer));
        Ok(Self { events, reader, board, past, opened, interrupted, writer })
    }

    /// When this was opened: whoever did that, and wants what was there by then, waits for changes [before](Self::flush_since) it.
    #[must_use]
    pub const fn opened(&self) -> Instant {
        self.opened
    }

    /// Gives out snapshots.
    #[must_use]
    pub fn reader(&self) -> Reader {
        self.reader.clone()
    }

    /// The state of a stored generation; of the newest, too.
    ///
    /// Words and vectors are only there while it is in memory: for a few that this run wrote down.
    /// Fails with [`IndexError::UnknownGeneration`] where it is not kept. `O(notes)` the first time it is read back.
    pub fn at(&self, generation: u64) -> Result<Arc<Snapshot>, IndexError> {
        let newest = self.reader.snapshot();
        if newest.generation == generation { Ok(newest) } else { self.past.at(generation) }
    }

    /// Tells `listener` of each generation that is published from now on, on the writer's thread: it should be quick.
    pub fn listen(&self, listener: impl Fn(u64) + Send + 'static) {
        self.board.listen(Box::new(listener));
    }

    /// Whether it is certain that the newest state holds what `generation` did: after a run that ended suddenly only once the files were looked at again.
    ///
    /// Whoever listens is told when that changes.
    #[must_use]
    pub fn holds(&self, generation: u64) -> bool {
        let recovering = self.board.lock().status.recovering;
        generation <= self.reader.snapshot().generation
            && recovering.is_none_or(|first| generation >= first)
    }

    /// Whether answers of now may be older than those of the run before, which ended suddenly or left another store: until the files were looked at.
    #[must_use]
    pub fn is_recovering(&self) -> bool {
        self.board.lock().status.recovering.is_some()
    }

    /// Where the index stands.
    #[must_use]
    pub fn status(&self) -> IndexStatus {
        let snapshot = self.reader.snapshot();
        let mut status = {
            let board = self.board.lock();
            let mut status = board.status.clone();
            status.notices.extend(board.notices(&snapshot));
            status
        };
        if self.has_ended() && !self.interrupted.load(Ordering::Relaxed) {
            let line = "the writer ended by a defect; nothing new is indexed until the next start";
            status.last_error = Some(line.to_owned());
        }
        status.notices.extend(status.next.as_ref().map(NextModel::line));
        let missing: Vec<String> =
            status.vaults.iter().filter_map(VaultStatus::missing_notice).collect();
        status.notices.splice(0..0, missing);
        status
    }

    /// Looks at every file and waits until words and links are in; returns the generation that holds them.
    pub fn rescan(&self, options: Rescan) -> Result<u64, IndexError> {
        self.ask(|reply| Event::Rescan(options, reply))
    }

    /// Waits until all earlier changes are indexed by word and link and written down; returns the generation that holds them.
    pub fn flush(&self) -> Result<u64, IndexError> {
        self.flush_since(Instant::now())
    }

    /// The same for changes before `moment`: files that were looked at since are not looked at again.
    pub fn flush_since(&self, moment: Instant) -> Result<u64, IndexError> {
        self.ask(|reply| Event::Flush(moment, reply))
    }

    /// Serves these vaults from now on; those that are not among them go, with their notes. Returns the generation that knows them.
    ///
    /// The files of new ones are looked at next: [`flush`](Self::flush) waits for them, and one that cannot be read keeps no other from it.
    /// A vault is known by its name; a folder that holds the files of a vault that is not named any more is that vault, moved.
    /// Fails, and changes nothing, when a new one is no folder.
    pub fn set_vaults(&self, vaults: Vec<VaultSettings>) -> Result<u64, IndexError> {
        self.ask(|reply| Event::Vaults(vaults, reply))
    }

    /// Takes it that the missing files of `vault`, or of every vault, are gone for good, and lets their notes go.
    ///
    /// Gives what left each vault that the fuse held for, by name, and the generation that holds it; none where it held for none.
    /// Fails where no vault has that name.
    pub fn confirm(&self, vault: Option<&str>) -> Result<(Vec<Confirmed>, u64), IndexError> {
        let (reply, answer) = bounded(1);
        let event = Event::Confirm(vault.map(str::to_owned), reply);
        self.events.send(event).map_err(|_| IndexError::Stopped)?;
        answer.recv().map_err(|_| IndexError::Stopped)?
    }

    /// Writes into a vault and waits until words and links of it are in.
    ///
    /// Files are replaced whole, inside their vault; nothing is overwritten that the request does not name.
    /// Between reading what is there and replacing it another program may save the file; `expected` narrows that to an instant and cannot close it.
    pub fn write(&self, write: Write) -> Result<Wrote, WriteError> {
        let (reply, answer) = bounded(1);
        self.events.send(Event::Write(write, reply)).map_err(|_| IndexError::Stopped)?;
        answer.recv().map_err(|_| IndexError::Stopped)?
    }

    /// The newest generation as files that stay what they are while the index goes on; writes it down first.
    pub fn backup(&self) -> Result<Backup, IndexError> {
        let (reply, answer) = bounded(1);
        self.events.send(Event::Backup(reply)).map_err(|_| IndexError::Stopped)?;
        answer.recv().map_err(|_| IndexError::Stopped)?
    }

    /// Waits until no chunk waits for its vector, the model cannot be reached, or `stop` is set, and says how it goes; returns the newest generation.
    ///
    /// Where another model is to take the present one's place, its vectors are waited for as well.
    pub fn wait_vectors(
        &self,
        stop: &AtomicBool,
        on_progress: &mut dyn FnMut(&IndexStatus),
    ) -> Result<u64, IndexError> {
        self.wait_vectors_since(Instant::now(), stop, on_progress)
    }

    /// The same for chunks of files as they were at `moment`, see [`flush_since`](Self::flush_since).
    pub fn wait_vectors_since(
        &self,
        moment: Instant,
        stop: &AtomicBool,
        on_progress: &mut dyn FnMut(&IndexStatus),
    ) -> Result<u64, IndexError> {
        // First everything that was there by then must have entered the backlog.
        self.ask(|reply| Event::Look(moment, reply))?;
        let mut pause = Duration::from_millis(1);
        loop {
            let status = self.status();
            on_progress(&status);
            let next = status.next.as_ref();
            let trouble =
                status.unavailable.is_some() || next.is_some_and(|next| next.trouble.is_some());
            let all_came = status.n_vectors_pending == 0 && next.is_none();
            if all_came || trouble || stop.load(Ordering::Relaxed) {
                break;
            }
            if self.has_ended() {
                return Err(IndexError::Stopped);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(PAUSE);
        }
        self.flush_since(moment)
    }

    /// One line per file, by vault and path.
    #[must_use]
    pub fn coverage(&self) -> Vec<FileCoverage> {
        let snapshot = self.reader.snapshot();
        let ids = snapshot.notes.cards().map(|(id, _)| id);
        let (missing, reread) = {
            let board = self.board.lock();
            (board.missing.clone(), board.reread.clone())
        };
        let mut lines: Vec<FileCoverage> =
            ids.filter_map(|id| coverage::of_note(&snapshot, id, &missing, &reread)).collect();
        for (vault, files) in &self.board.lock().absent {
            let files = files.iter();
            lines.extend(
                files.map(|(path, file)| coverage::of_absent(&snapshot, *vault, path, file)),
            );
        }
        lines.sort_by(|a, b| (&a.vault, &a.path).cmp(&(&b.vault, &b.path)));
        lines
    }

    /// The line of a file that is known and not in the index: named by its path or file name, with or without extension and vault, or lying in a folder that is kept out.
    #[must_use]
    pub fn absent(&self, name: &str) -> Option<FileCoverage> {
        let snapshot = self.reader.snapshot();
        let lines = self.board.lock();
        let files = lines.absent.iter().flat_map(|(vault, files)| {
            files.iter().map(|(path, file)| coverage::of_absent(&snapshot, *vault, path, file))
        });
        let by_path = |file: &FileCoverage| coverage::is_at(file, name);
        files
            .clone()
            .find(by_path)
            .or_else(|| files.clone().find(|file| coverage::is_called(file, name)))
    }

    /// Lets the writer publish and write down what it holds, and waits for it.
    ///
    /// A look at files that was begun, or asked for, comes first; see [`interrupt`](Self::interrupt).
    pub fn stop(self) {
        self.end();
    }

    /// The same, but that looks at files are broken off: what was read is kept, and the next start reads the rest.
    ///
    /// Whoever waits for the writer is told that it has stopped, or what it had by then.
    pub fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Relaxed);
        self.end();
    }

    fn end(&self) {
        let _ = self.events.send(Event::Stop);
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if writer.is_some_and(|writer| writer.join().is_err()) {
            tracing::error!("the writer ended in a panic");
        }
    }

    /// Whether no writer is there any more.
    fn has_ended(&self) -> bool {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        writer.as_ref().is_none_or(JoinHandle::is_finished)
    }

    fn ask(&self, event: impl FnOnce(Reply) -> Event) -> Result<u64, IndexError> {
        let (reply, answer) = bounded(1);
        self.events.send(event(reply)).map_err(|_| IndexError::Stopped)?;
        answer.recv().map_err(|_| IndexError::Stopped)?
    }
}

impl Drop for Indexer {
    fn drop(&mut self) {
        self.end();
    }
}
