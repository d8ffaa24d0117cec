//! A look at files: what changed in an area of a vault, published.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use weft_index::Store;
use weft_index::notes::{Change, FileFacts, NoteTable, VaultId};

use super::missing::{Gone, Verdict};
use super::publish::{self, Batch};
use super::read::{FileReader, Read};
use super::{Event, RETRY, Writer};
use crate::board::{Absent, Watching};
use crate::in_order::in_order;
use crate::scan::{self, Area, Found, Scan, Skipped};
use crate::status::{FileState, Phase, WatchState};
use crate::watch::{self, Watch};
use crate::{IndexError, Rescan, VaultSettings};

/// Changes that are published before a look is over, at least.
const CHANGES_PER_BATCH: usize = 8192;

/// How long after a vault could not be watched that is tried again.
const REWATCH: Duration = Duration::from_secs(60);

/// A burst of changes is read after this many times the quiet that ends one, even if it goes on.
const MAX_BURST: u32 = 4;

/// How long after a folder appeared it is looked at once more.
const SETTLE: Duration = Duration::from_secs(2);

/// Announcements that may wait for the writer, which remembers no more paths than half as many.
const MOST_AHEAD: usize = 8192;

/// How to look at files.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct How {
    /// Reads every file again, also those that seem unchanged.
    pub(super) full: bool,
    /// Compares what files say, also where their times have not changed: their change was announced.
    pub(super) announced: bool,
    /// Lets notes of the area go whose files are gone, however many: somebody said so. Of more that is looked at nothing is said.
    pub(super) lets_go: bool,
}

/// A vault that is looked after.
pub(super) struct Watched {
    pub(super) id: VaultId,
    /// As it was named, to tell whether it changed.
    pub(super) settings: VaultSettings,
    /// Where it really lay when that was last seen; announced paths begin with it.
    pub(super) root: PathBuf,
    pub(super) watch: Watch,
    /// What was announced and not yet looked at, and since when and until when.
    touched: Area,
    burst: Option<(Instant, Instant)>,
    /// Folders to be looked at once more, since files may have come into them before they were watched.
    again: Option<(Instant, Area)>,
    /// Whether its entries may have been made with another recipe, so that every file is to be read again.
    pub(super) outdated: bool,
    /// Whether a change under one path may show under another.
    entangled: bool,
    /// Which folder `root` was; nothing while there is none, or nobody has looked.
    identity: Option<(u64, u64)>,
    /// Whether it may not be watched any more, or not all of it.
    unwatched: bool,
    /// When to try anew to watch it, after that failed.
    rewatch_at: Option<Instant>,
    /// When to see whether it is still there, or to look at all files where nothing is announced.
    poll_at: Option<Instant>,
    /// When to look at all files although changes are announced.
    sweep_at: Option<Instant>,
    /// When to look at the files again, after it failed.
    retry_at: Option<Instant>,
}

impl Watched {
    pub(super) fn new(id: VaultId, settings: VaultSettings, outdated: bool) -> Self {
        Self {
            id,
            root: settings.root.clone(),
            settings,
            watch: Watch::default(),
            touched: Area::NOTHING,
            burst: None,
            again: None,
            outdated,
            entangled: false,
            identity: None,
            unwatched: false,
            rewatch_at: None,
            poll_at: None,
            sweep_at: None,
            retry_at: None,
        }
    }

    /// Sees where it lies now, and says whether that is another folder than before, or is to be watched anew: a link was turned, a disk was taken out or put in.
    fn find(&mut self) -> bool {
        let named = &self.settings.root;
        let root = named.canonicalize().unwrap_or_else(|_| named.clone());
        let identity = watch::identity(&root);
        let is_other = (&root, identity) != (&self.root, self.identity);
        (self.root, self.identity) = (root, identity);
        is_other || std::mem::take(&mut self.unwatched)
    }

    /// Takes in that something changed.
    pub(super) fn touch(&mut self, touched: watch::Touched) {
        match touched {
            watch::Touched::Paths(paths) => {
                // What happens to the folder itself may end its watch; another may have its number.
                self.unwatched |= paths.contains(&self.root);
                paths.iter().for_each(|path| self.touched.touch(&self.root, path));
            }
            watch::Touched::Much => self.touched = Area::WHOLE,
            watch::Touched::Lost => {
                self.touched = Area::WHOLE;
                self.unwatched = true;
            }
        }
        if !self.touched.is_nothing() {
            let now = Instant::now();
            let since = self.burst.map_or(now, |(since, _)| since);
            self.burst = Some((since, now));
        }
    }

    /// Lets its files be looked at again after a while.
    pub(super) fn retry(&mut self) {
        self.retry_at = Some(Instant::now() + RETRY);
    }

    /// Lets all its files be looked at as soon as there is time.
    pub(super) fn look_now(&mut self) {
        self.retry_at = Some(Instant::now());
    }

    /// Whether its files were looked at, and are not to be at once.
    pub(super) const fn is_looked_at(&self) -> bool {
        !self.is_new() && self.retry_at.is_none()
    }

    /// Whether nobody has looked at it yet.
    pub(super) const fn is_new(&self) -> bool {
        self.identity.is_none()
    }

    /// When something is due next.
    pub(super) fn due_at(&self, debounce: Duration) -> Option<Instant> {
        let burst = self.burst.map(|burst| burst_ends(burst, debounce));
        let again = self.again.as_ref().map(|(at, _)| *at);
        [burst, again, self.poll_at, self.sweep_at, self.retry_at].into_iter().flatten().min()
    }

    /// Takes out what is to be looked at now.
    fn take_due(&mut self, now: Instant, debounce: Duration) -> Area {
        let mut due = Area::NOTHING;
        let is_due = |at: &mut Instant| *at <= now;
        if self.retry_at.take_if(is_due).or(self.sweep_at.take_if(is_due)).is_some() {
            due = Area::WHOLE;
        }
        if self.burst.take_if(|burst| burst_ends(*burst, debounce) <= now).is_some() {
            let touched = std::mem::take(&mut self.touched);
            let folders = touched.folders(&self.root);
            if !folders.is_nothing() {
                self.again = Some((now + SETTLE, folders));
            }
            due.join(touched);
        }
        if let Some((_, folders)) = self.again.take_if(|(at, _)| *at <= now) {
            due.join(folders);
        }
        due
    }

    fn forget_announced(&mut self) {
        self.touched = Area::NOTHING;
        (self.burst, self.again, self.retry_at) = (None, None, None);
    }
}

/// When a burst of changes, by its first and its last, is to be read.
fn burst_ends((first, last): (Instant, Instant), debounce: Duration) -> Instant {
    (last + debounce).min(first + debounce.saturating_mul(MAX_BURST))
}

impl Writer {
    /// Looks at what is due in the vaults.
    pub(super) fn tend_vaults(&mut self) {
        let now = Instant::now();
        let is_due = |vault: &Watched| vault.poll_at.is_some_and(|due| due <= now);
        if self.vaults.iter().any(is_due) {
            self.tend_store();
            self.tend_move();
        }
        for at in 0..self.vaults.len() {
            let mut area = self.vaults[at].take_due(now, self.settings.watch.debounce());
            if is_due(&self.vaults[at]) && self.poll(at) {
                area = Area::WHOLE;
            }
            if !area.is_nothing() {
                self.look_again(at, area);
            }
        }
    }

    /// Sees whether a vault is where it was; true where all its files are to be looked at.
    fn poll(&mut self, at: usize) -> bool {
        let vault = &mut self.vaults[at];
        vault.unwatched |= vault.rewatch_at.is_some_and(|due| due <= Instant::now());
        let is_other = self.find(at);
        let vault = &mut self.vaults[at];
        vault.poll_at = Some(Instant::now() + self.settings.watch.poll());
        // One that is gone is looked at once now, and again when it is back.
        is_other || vault.watch.state == WatchState::Polled
    }

    /// Sees where a vault lies, watches it there, and says whether that is another folder than before.
    fn find(&mut self, at: usize) -> bool {
        let is_other = self.vaults[at].find();
        if is_other {
            self.watch(at);
        }
        is_other
    }

    /// Looks at every file of the vaults that lie elsewhere now, so that nothing is written where they lay.
    pub(super) fn find_all(&mut self) {
        for at in 0..self.vaults.len() {
            if self.find(at) {
                self.look_again(at, Area::WHOLE);
            }
        }
    }

    /// Looks at an area; where that fails, tries again later.
    fn look_again(&mut self, at: usize, area: Area) {
        self.begin_to_count();
        let before = self.last_error();
        // What is due by time is everything; a part of it was announced.
        let how = How { announced: !area.is_whole(), ..How::default() };
        match self.look(at, area, how) {
            Ok(()) => {
                self.forget_error(before);
                self.recovered();
            }
            Err(error) => {
                self.report(&error);
                self.vaults[at].retry();
            }
        }
    }

    /// Lets all files be looked at again after a while.
    pub(super) fn retry(&mut self) {
        self.vaults.iter_mut().for_each(Watched::retry);
    }

    /// The last thing that went wrong.
    pub(super) fn last_error(&self) -> Option<String> {
        self.board.lock().status.last_error.clone()
    }

    /// Takes back what was reported `before`, once every vault could be looked at; what was reported since, as by the model, stays, and so does that nothing can be written down, or a move finished.
    pub(super) fn forget_error(&mut self, before: Option<String>) {
        if self.vaults.iter().all(|vault| vault.retry_at.is_none()) {
            self.store_failed = self.written.trouble.is_some();
            let last = &mut self.board.lock().status.last_error;
            let since = last.take().filter(|last| Some(last) != before.as_ref());
            let lasting = || self.written.trouble.clone().or_else(|| self.half_moved.clone());
            *last = since.or_else(lasting);
        }
    }

    /// Takes it that nothing is missing of what a run before published that ended suddenly, once every vault could be looked at; those who wait are told.
    fn recovered(&self) {
        let is_looked_at = self.vaults.iter().all(|vault| vault.retry_at.is_none());
        if is_looked_at && self.board.lock().status.recovering.take().is_some() {
            self.board.published(self.generation());
        }
    }

    fn begin_to_count(&self) {
        let status = &mut self.board.lock().status;
        (status.n_files_done, status.n_files_total) = (0, 0);
    }

    /// Looks at every file of every vault and publishes what changed, if anything did.
    ///
    /// A vault that cannot be looked at keeps no other from it: it is tried again later, and the first error is given back.
    pub(super) fn rescan(&mut self, options: Rescan) -> Result<(), IndexError> {
        self.begin_to_count();
        // Who asks does not want to wait for another try.
        if let Some(meaning) = &mut self.meaning {
            meaning.backlog_mut().wake();
        }
        let before = self.last_error();
        let mut outcome = self.read_vectors_now();
        if let Err(error) = &outcome {
            self.report(error);
        }
        self.board.lock().status.phase = Phase::Scanning;
        let Rescan { full, compact } = options;
        if full {
            self.check_notes(true)?;
        }
        self.looked = Some(Instant::now());
        for at in 0..self.vaults.len() {
            let how = How { full, ..How::default() };
            if let Err(error) = self.look(at, Area::WHOLE, how) {
                self.report(&error);
                self.vaults[at].retry();
                outcome = outcome.and(Err(error));
            }
        }
        self.recovered();
        if full {
            self.rewrite_words()?;
            self.check_vectors(true)?;
        }
        if compact {
            self.compact()?;
        }
        if outcome.is_ok() {
            self.forget_error(before);
        } else {
            self.looked = None;
        }
        outcome
    }

    /// Looks at every file of every vault, unless that was done since `moment` and nothing is left to be tried again.
    pub(super) fn look_since(&mut self, moment: Instant) -> Result<(), IndexError> {
        let is_whole = !self.words_in_doubt && self.vaults.iter().all(Watched::is_looked_at);
        if is_whole && self.looked.is_some_and(|looked| looked >= moment) {
            return Ok(());
        }
        self.rescan(Rescan::default())
    }

    /// Looks at an area of a vault and publishes what changed in it, if anything did.
    pub(super) fn look(&mut self, at: usize, area: Area, how: How) -> Result<(), IndexError> {
        self.go_on()?;
        self.check_notes(false)?;
        let said = if how.lets_go { area.paths() } else { Vec::new() };
        let mut area = if self.find(at) { Area::WHOLE } else { area };
        let vault = &mut self.vaults[at];
        let (id, root) = (vault.id, vault.root.clone());
        let mut seen = scan::scan(&root, &self.settings.scan, &area);
        if !area.is_whole() && (vault.entangled || seen.as_ref().is_ok_and(|seen| seen.entangled)) {
            area = Area::WHOLE;
            seen = scan::scan(&root, &self.settings.scan, &area);
        }
        if area.is_whole() {
            vault.forget_announced();
            let is_announced = vault.watch.state == WatchState::Announced;
            let sweep = self.settings.watch.sweep().filter(|_| is_announced);
            vault.sweep_at = sweep.map(|sweep| Instant::now() + sweep);
        }
        let (full, announced) = (how.full || vault.outdated, how.announced && !area.is_whole());
        let how = How { full, announced, ..how };
        let seen = match seen {
            Ok(seen) => seen,
            Err(source) => {
                if watch::identity(&root).is_none() {
                    self.miss_all(at, &said)?;
                }
                return Err(IndexError::vault(root, &source));
            }
        };
        if area.is_whole() {
            self.vaults[at].entangled = seen.entangled;
        }
        let Scan { found, skipped, entangled: _, beside } = seen;
        self.looked.take_if(|_| skipped.iter().any(|skipped| skipped.failed));
        self.files.remove_left_over(&beside);
        let notes = self.notes();
        let paths = area.paths();
        let gone = Gone::new(self.gone(id, &notes, &paths, &found), &skipped);
        let mut absent: BTreeMap<String, Absent> = skipped.into_iter().map(kept_out).collect();
        let changed = self.changed(id, &notes, &found, how, &mut absent);
        {
            let mut board = self.board.lock();
            let status = &mut board.status;
            if !changed.is_empty() {
                status.phase = Phase::Indexing;
            }
            status.n_files_total += found.len();
            status.n_files_done += found.len() - changed.len();
        }
        self.take_in((id, &root), &notes, &changed, gone, &mut absent, (how.full, &said))?;
        self.vaults[at].outdated &= !area.is_whole();
        let (before, after) = {
            let mut board = self.board.lock();
            let before = board.closed(id);
            board.set_absent(id, &paths, absent);
            board.count(&self.publisher.newest());
            (before, board.closed(id))
        };
        // A folder that was closed is not watched, nor is all that came with it.
        if before != after {
            self.watch(at);
            // What changed since this look, and before the watch, was announced to nobody.
            self.vaults[at].look_now();
        }
        Ok(())
    }

    /// The files that may say something new; those that are known to be absent keep their line.
    fn changed<'f>(
        &self,
        vault: VaultId,
        notes: &NoteTable,
        found: &'f [Found],
        how: How,
        absent: &mut BTreeMap<String, Absent>,
    ) -> Vec<&'f Found> {
        let board = self.board.lock();
        let known_absent = board.absent.get(&vault);
        let mut changed = Vec::new();
        for file in found {
            let place = (vault, file.path.clone());
            let card = notes.at(vault, &file.path).and_then(|id| notes.card(id));
            let before = known_absent.and_then(|files| files.get_key_value(file.path.as_str()));
            let reread = board.reread.get(&place);
            let holds = |facts: &FileFacts| facts.still_hold(&file.facts);
            match (card, before) {
                _ if how.full || how.announced => changed.push(file),
                (Some(card), _) if holds(&card.file) || reread.is_some_and(holds) => {}
                // What failed may succeed now: a file's facts do not tell who may read it.
                (None, Some((path, before)))
                    if before.state != FileState::Failed && holds(&before.facts) =>
                {
                    absent.insert(path.clone(), before.clone());
                }
                _ => changed.push(file),
            }
        }
        changed
    }

    /// Reads changed files and publishes what they say; notes whose files are gone leave with the last, unless they are kept, which those at or below the paths `said` are not.
    ///
    /// Files are read ahead on all cores while what they said is taken in and published, and the model has what was published before.
    /// Links of new notes may touch the whole table, so what is published grows with it: all publications together then cost twice the last one.
    /// A file with the content of one that is gone is that one, moved.
    fn take_in(
        &mut self,
        (vault, root): (VaultId, &Path),
        notes: &NoteTable,
        changed: &[&Found],
        mut gone: Gone,
        absent: &mut BTreeMap<String, Absent>,
        (full, said): (bool, &[String]),
    ) -> Result<(), IndexError> {
        let reader = FileReader {
            vault,
            root,
            max_bytes: self.settings.scan.max_file_bytes,
            parse: self.settings.parse,
            chunks: self.settings.chunks,
            embedder: self.embedder.clone(),
            spill: self.store.as_ref().map(Store::spill),
            notes,
            full,
            // Another recipe is to be written down even where it makes the same of every file.
            outdated: self.vaults.iter().any(|known| known.id == vault && known.outdated),
        };
        let known = self.encoder.take().into_iter().collect();
        let mut encoders = publish::encoders(&self.keyword, known);
        let mut batch = Batch::default();
        let n_bytes = |file: &&Found| file.facts.size;
        let read = |encoder: &mut _, file: &&Found| reader.read(file, encoder);
        let outcome = in_order(changed, &mut encoders, n_bytes, read, |file, read| {
            self.go_on()?;
            // The model goes on with what is published.
            self.tend_model();
            self.board.lock().status.n_files_done += 1;
            match read.unwrap_or_else(|| Read::defect(file)) {
                Read::Note(entry, words) => {
                    self.board.lock().reread.remove(&(vault, entry.note.path.clone()));
                    let is_new = notes.at(vault, &entry.note.path).is_none();
                    let old = is_new.then(|| gone.take_moved(entry.file.hash)).flatten();
                    let change = match old {
                        Some(old) => Change::Move(old, entry),
                        None => Change::Upsert(entry),
                    };
                    self.change(&mut batch, &change, Some(words))?;
                }
                Read::Same(path, facts) => {
                    self.board.lock().reread.insert((vault, path), facts);
                }
                Read::Absent(path, file) => {
                    // It may have another name by now.
                    self.looked.take_if(|_| file.state == FileState::Failed);
                    let is_known = notes.at(vault, &path).is_some();
                    if is_known && file.state == FileState::Failed {
                        gone.unreadable(path, file);
                        return Ok(());
                    }
                    if is_known {
                        self.change(&mut batch, &Change::Remove(vault, path.clone()), None)?;
                    }
                    absent.insert(path.as_str().to_owned(), file);
                }
            }
            if batch.len() >= CHANGES_PER_BATCH.max(self.publisher.newest().notes.n_notes()) {
                self.publish_batch(std::mem::take(&mut batch))?;
            }
            Ok::<(), IndexError>(())
        });
        self.encoder = encoders.into_iter().next();
        if matches!(outcome, Err(IndexError::Stopped)) {
            // What was read need not be read again.
            self.publish_batch(std::mem::take(&mut batch))?;
        }
        outcome?;
        let n_notes = notes.tally(vault).n_notes;
        let Verdict { kept, dropped } =
            gone.judge(said, |n_missing| self.settings.fuse.holds(n_missing, n_notes));
        for (path, file) in dropped {
            absent.extend(file.map(|file| (path.as_str().to_owned(), file)));
            self.board.lock().reread.remove(&(vault, path.clone()));
            self.change(&mut batch, &Change::Remove(vault, path), None)?;
        }
        if let Some(change) = self.missing_now(vault, kept.len()) {
            self.change(&mut batch, &change, None)?;
        }
        self.publish_batch(batch)?;
        self.show_missing(vault, kept);
        Ok(())
    }

    /// Starts watching a vault anew.
    pub(super) fn watch(&mut self, at: usize) {
        let vault = &mut self.vaults[at];
        // What is announced from now on begins with the folder of now.
        vault.find();
        let on_change = announcing(self.events.clone(), vault.id, vault.root.clone());
        // The old one goes first, so that the system does not count its folders twice.
        vault.watch = Watch::default();
        let (watch, notice) = Watch::start(&vault.root, &self.settings.watch, on_change);
        vault.poll_at = match watch.state {
            WatchState::Announced | WatchState::Polled => {
                Some(Instant::now() + self.settings.watch.poll())
            }
            WatchState::Off => None,
        };
        vault.rewatch_at = notice.as_ref().map(|_| Instant::now() + REWATCH);
        let watching = Watching { state: watch.state, notice: notice.clone() };
        let before = self.board.lock().watching.insert(vault.id, watching);
        if let Some(notice) =
            notice.filter(|new| before.is_none_or(|it| it.notice.as_ref() != Some(new)))
        {
            tracing::warn!("{notice}");
        }
        vault.watch = watch;
    }
}

/// Tells the writer what changed in a vault that lies at `root`; that anything may have, once for all, while it has more to hear than it would remember.
///
/// What may end a watch is said even then.
fn announcing(
    events: Sender<Event>,
    vault: VaultId,
    root: PathBuf,
) -> impl Fn(watch::Touched) + Send + 'static {
    let (is_much, is_lost) = (AtomicBool::new(false), AtomicBool::new(false));
    move |touched| {
        let has_room = events.len() < MOST_AHEAD;
        let touched = if has_room {
            is_much.store(false, Ordering::Relaxed);
            is_lost.store(false, Ordering::Relaxed);
            touched
        } else {
            let may_end = match &touched {
                watch::Touched::Paths(paths) => paths.contains(&root),
                watch::Touched::Much => false,
                watch::Touched::Lost => true,
            };
            let (was_said, said) = if may_end {
                (&is_lost, watch::Touched::Lost)
            } else {
                (&is_much, watch::Touched::Much)
            };
            if was_said.swap(true, Ordering::Relaxed) {
                return;
            }
            said
        };
        // A writer that has stopped need not know.
        let _ = events.send(Event::Touched(vault, touched));
    }
}

fn kept_out(file: Skipped) -> (String, Absent) {
    let Skipped { path, reason, failed } = file;
    let state = if failed { FileState::Failed } else { FileState::Skipped };
    (path, Absent { state, reason, facts: FileFacts::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_announced_during_a_long_look_does_not_pile_up() {
        let (events, received) = crossbeam_channel::unbounded();
        let announce = announcing(events, VaultId(0), "/vault".into());
        let touch = || announce(watch::Touched::Paths(vec!["/vault/note.md".into()]));
        for _ in 0..2 {
            (0..3 * MOST_AHEAD).for_each(|_| touch());
            for _ in 0..2 {
                announce(watch::Touched::Paths(vec!["/vault".into()]));
                announce(watch::Touched::Lost);
            }
            let all: Vec<Event> = received.try_iter().collect();
            assert_eq!(all.len(), MOST_AHEAD + 2);
            let [.., much, lost] = &all[..] else { panic!("{}", all.len()) };
            assert!(matches!(much, Event::Touched(_, watch::Touched::Much)));
            assert!(matches!(lost, Event::Touched(_, watch::Touched::Lost)));
        }
        touch();
        let next = received.try_recv();
        assert!(matches!(next, Ok(Event::Touched(_, watch::Touched::Paths(_)))));
    }

    #[test]
    fn a_folder_that_may_not_be_watched_any_more_is_watched_anew() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        let settings = VaultSettings { name: "vault".into(), root: root.clone() };
        let mut vault = Watched::new(VaultId(0), settings, false);
        assert!(vault.find() && !vault.find(), "once seen it is the same");
        for (touched, expected) in [
            (watch::Touched::Paths(vec![root.join("note.md")]), false),
            (watch::Touched::Much, false),
            (watch::Touched::Paths(vec![root.join("note.md"), root.clone()]), true),
            (watch::Touched::Lost, true),
        ] {
            let name = format!("{touched:?}");
            vault.touch(touched);
            assert_eq!(vault.find(), expected, "{name}");
            assert!(!vault.find(), "{name}");
        }
    }

    #[test]
    fn a_burst_is_one_look_and_lost_announcements_are_a_look_at_everything() {
        let root = Path::new("/vault");
        let settings = VaultSettings { name: "vault".into(), root: root.to_owned() };
        let debounce = Duration::from_secs(60);
        let touch = |vault: &mut Watched, path: &str| {
            vault.touch(watch::Touched::Paths(vec![root.join(path)]));
        };
        let mut vault = Watched::new(VaultId(0), settings, false);
        for n in 0..100 {
            touch(&mut vault, &format!("note{n}.md"));
        }
        let now = Instant::now();
        assert!(vault.take_due(now, debounce).is_nothing(), "the burst may go on");
        let due = vault.take_due(now + debounce, debounce);
        assert_eq!((due.is_whole(), due.paths().len()), (false, 100));
        assert!(vault.take_due(now + debounce, debounce).is_nothing(), "looked at once");
        assert_eq!(vault.due_at(debounce), None);

        touch(&mut vault, "note1.md");
        vault.touch(watch::Touched::Lost);
        touch(&mut vault, "note2.md");
        assert!(vault.take_due(Instant::now() + debounce, debounce).is_whole());

        // One that never ends is read all the same.
        touch(&mut vault, "note1.md");
        let (since, _) = vault.burst.expect("a burst");
        vault.burst = Some((since, since + debounce * MAX_BURST));
        let due = vault.take_due(since + debounce * MAX_BURST, debounce);
        assert_eq!(due.paths(), ["note1.md"]);
    }
}
