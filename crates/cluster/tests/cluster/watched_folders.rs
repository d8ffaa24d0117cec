//! Folders that are watched and pushed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use weft_cluster::{
    Collection, Commit, CommitError, FileChange, Lease, PushEvent, PushOptions, TransferError,
};
use weft_indexer::{WatchMode, WatchOptions};

use crate::collection;
use crate::transfers::{files, options};

/// Longest wait for an event; a wait ends as soon as the event arrives.
const LONG: Duration = Duration::from_secs(120);

/// A push that watches a folder, on its own thread.
struct Watching {
    events: Receiver<PushEvent>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<Result<(), TransferError>>>,
}

impl Watching {
    fn start(notes: &Collection, folder: &Path, options: PushOptions) -> Self {
        let watch = WatchOptions { debounce_ms: 200, ..WatchOptions::default() };
        Self::with(notes, folder, (options, watch))
    }

    fn with(
        notes: &Collection,
        folder: &Path,
        (options, watch): (PushOptions, WatchOptions),
    ) -> Self {
        let (notes, folder): (Collection, PathBuf) = (notes.clone(), folder.to_owned());
        let (stop, stopped) = bounded(0);
        let (sender, events) = unbounded();
        let thread = std::thread::spawn(move || {
            let report = |event| sender.send(event).unwrap_or_default();
            notes.push_watched(&folder, "notes", (&options, &watch), &stopped, report)
        });
        Self { events, stop: Some(stop), thread: Some(thread) }
    }

    fn next(&self) -> PushEvent {
        self.events.recv_timeout(LONG).unwrap()
    }

    /// Waits for events until `wanted` accepts one.
    fn until(&self, wanted: impl Fn(&PushEvent) -> bool) -> PushEvent {
        loop {
            let event = self.next();
            if wanted(&event) {
                return event;
            }
        }
    }

    fn stop(mut self) -> Result<(), TransferError> {
        self.stop = None;
        self.thread.take().unwrap().join().unwrap()
    }
}

/// Returns the notes of the vault.
fn stored(notes: &Collection) -> BTreeMap<String, String> {
    let head = notes.head().unwrap();
    let files = notes.files("notes", head, None).unwrap().into_iter();
    let text = |path: &str| notes.read("notes", path, head).unwrap().unwrap();
    files.map(|file| (file.path.clone(), String::from_utf8(text(&file.path)).unwrap())).collect()
}

/// Waits until the vault has the files of the folder.
fn until_equal(watching: &Watching, notes: &Collection, folder: &Path) {
    let end = Instant::now() + LONG;
    while stored(notes) != files(folder) {
        assert!(Instant::now() < end, "the vault has {:?}", stored(notes));
        let _ = watching.events.recv_timeout(Duration::from_millis(20));
    }
}

fn is_pushed(event: &PushEvent) -> bool {
    matches!(event, PushEvent::Pushed(_))
}

#[test]
fn changes_of_a_watched_folder_are_commits() {
    let Some((_server, notes)) = collection() else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    fs::write(at("fern.md"), "# Fern\n").unwrap();
    let watching = Watching::start(&notes, folder.path(), options());
    let PushEvent::Pushed(first) = watching.next() else { panic!("the first event") };
    assert_eq!((first.n_put, first.n_moved, first.n_removed), (1, 0, 0));

    fs::create_dir(at("wood")).unwrap();
    fs::write(at("wood/moss.md"), "# Moss\n").unwrap();
    until_equal(&watching, &notes, folder.path());
    let before = notes.head().unwrap();
    fs::rename(at("fern.md"), at("wood/bracken.md")).unwrap();
    let renamed = watching.until(|event| match event {
        PushEvent::Pushed(pushed) => pushed.n_moved > 0,
        PushEvent::Waiting { .. } | PushEvent::Kept { .. } | PushEvent::Failed(_) => false,
    });
    let PushEvent::Pushed(renamed) = renamed else { panic!("{renamed:?}") };
    assert_eq!((renamed.n_put, renamed.n_moved, renamed.n_removed), (0, 1, 0));
    assert_eq!(renamed.generation, before + 1, "one commit");
    fs::write(at("wood/moss.md"), "# Moss, edited\n").unwrap();
    fs::remove_file(at("wood/bracken.md")).unwrap();
    until_equal(&watching, &notes, folder.path());

    watching.stop().unwrap();
    let lease = notes.take_lease("watch:notes", "another", 60).unwrap();
    assert!(lease.is_ok(), "the lease is free at once: {lease:?}");
}

#[test]
fn watched_folder_wins_against_other_writers() {
    let Some((_server, notes)) = collection() else { return };
    let folder = tempfile::tempdir().unwrap();
    let moss = folder.path().join("moss.md");
    fs::write(&moss, "# Moss\n").unwrap();
    let conflict_on = |watching: &Watching| {
        let event = watching.until(|event| matches!(event, PushEvent::Failed(_)));
        let PushEvent::Failed(TransferError::Commit(CommitError::Conflict { path, .. })) = event
        else {
            panic!("{event:?}")
        };
        path
    };
    let watching = Watching::start(&notes, folder.path(), options());
    watching.until(is_pushed);
    // The next change of the note shows the conflict.
    let other = FileChange::put("notes", "moss.md", b"# Moss, by another\n".to_vec());
    notes.commit(&Commit::of(vec![other])).unwrap();
    fs::write(&moss, "# Moss, by the folder\n").unwrap();
    assert_eq!(conflict_on(&watching), "moss.md");
    until_equal(&watching, &notes, folder.path());
    watching.stop().unwrap();

    // So does a scan of all files.
    let watch = WatchOptions { full_rescan_ms: 1_000, ..WatchOptions::default() };
    let watching = Watching::with(&notes, folder.path(), (options(), watch));
    watching.until(is_pushed);
    let other = FileChange::put("notes", "lichen.md", b"# Lichen\n".to_vec());
    notes.commit(&Commit::of(vec![other])).unwrap();
    assert_eq!(conflict_on(&watching), "lichen.md");
    until_equal(&watching, &notes, folder.path());
    watching.stop().unwrap();
}

#[test]
fn second_watcher_waits_and_takes_over() {
    let Some((_server, notes)) = collection() else { return };
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(first.path().join("fern.md"), "# Fern\n").unwrap();
    fs::write(second.path().join("moss.md"), "# Moss\n").unwrap();
    let named = |holder: &str| PushOptions { holder: holder.to_owned(), ..options() };
    let watching = Watching::start(&notes, first.path(), named("first"));
    watching.until(is_pushed);
    let waiting = Watching::start(&notes, second.path(), named("second"));
    let event = waiting.next();
    assert!(matches!(&event, PushEvent::Waiting { holder } if holder == "first"), "{event:?}");
    let busy = notes.push(second.path(), "notes", &named("third")).unwrap_err();
    assert!(matches!(&busy, TransferError::Busy { holder, .. } if holder == "first"), "{busy}");
    assert_eq!(stored(&notes), files(first.path()), "nothing is overwritten meanwhile");
    watching.stop().unwrap();
    waiting.until(is_pushed);
    assert_eq!(stored(&notes), files(second.path()));

    // A holder whose lease was taken, as after a long pause, writes nothing more.
    let lease = Lease { role: "watch:notes".to_owned(), epoch: 2 };
    notes.release_lease(&lease).unwrap();
    let other = notes.take_lease("watch:notes", "another", 600).unwrap().unwrap();
    assert_eq!(other.epoch, 3);
    fs::write(second.path().join("lichen.md"), "# Lichen\n").unwrap();
    let fenced = waiting.next();
    assert!(
        matches!(&fenced, PushEvent::Failed(TransferError::Commit(CommitError::Fenced { .. }))),
        "{fenced:?}"
    );
    let event = waiting.next();
    assert!(matches!(&event, PushEvent::Waiting { holder } if holder == "another"), "{event:?}");
    assert!(!stored(&notes).contains_key("lichen.md"));
    notes.release_lease(&other).unwrap();
    until_equal(&waiting, &notes, second.path());
    waiting.stop().unwrap();
}

#[test]
fn lost_database_loses_no_change_of_a_watched_folder() {
    let Some((mut server, notes)) = collection() else { return };
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("fern.md"), "# Fern\n").unwrap();
    let watching = Watching::start(&notes, folder.path(), options());
    watching.until(is_pushed);
    server.kill();
    fs::write(folder.path().join("moss.md"), "# Moss\n").unwrap();
    let event = watching.next();
    assert!(matches!(event, PushEvent::Failed(_)), "{event:?}");
    fs::rename(folder.path().join("fern.md"), folder.path().join("bracken.md")).unwrap();
    server.resume();
    watching.until(is_pushed);
    until_equal(&watching, &notes, folder.path());
    // It ends without the database as well.
    server.kill();
    watching.stop().unwrap();
}

#[test]
fn deletion_guard_keeps_notes_of_a_watched_folder() {
    let Some((_server, notes)) = collection() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = |n: usize| folder.path().join(format!("{n}.md"));
    let write = |n: usize| fs::write(path(n), format!("# Note {n}\n")).unwrap();
    (0..4).for_each(write);
    let watching = Watching::start(&notes, folder.path(), options());
    watching.until(is_pushed);
    (0..4).for_each(|n| fs::remove_file(path(n)).unwrap());
    let kept = |wanted: usize| move |event: &PushEvent| matches!(event, PushEvent::Kept { n_missing, .. } if *n_missing == wanted);
    // One or two that are seen alone are too few for the guard.
    let is_kept =
        |event: &PushEvent| matches!(event, PushEvent::Kept { n_missing, .. } if *n_missing >= 3);
    watching.until(is_kept);
    assert!(stored(&notes).len() >= 3);
    (0..4).for_each(write);
    watching.until(kept(0));
    until_equal(&watching, &notes, folder.path());
    watching.stop().unwrap();

    (0..4).for_each(|n| fs::remove_file(path(n)).unwrap());
    let confirmed = PushOptions { removes_any: true, ..options() };
    let watching = Watching::start(&notes, folder.path(), confirmed);
    let PushEvent::Pushed(pushed) = watching.until(is_pushed) else { panic!("no push") };
    assert_eq!(pushed.n_removed, 4);
    assert!(stored(&notes).is_empty());
    watching.stop().unwrap();
}

#[test]
fn missing_folder_is_not_watched() {
    let Some((_server, notes)) = collection() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (_stop, stopped) = bounded(0);
    let watch = WatchOptions { mode: WatchMode::Poll, ..WatchOptions::default() };
    let missing = folder.path().join("missing");
    let refused = notes.push_watched(&missing, "notes", (&options(), &watch), &stopped, |event| {
        panic!("{event:?}")
    });
    assert!(matches!(refused, Err(TransferError::Scan(_))), "{refused:?}");
}
