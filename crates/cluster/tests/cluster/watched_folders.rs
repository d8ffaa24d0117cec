//! Folders that are watched and pushed, and receive what other writers change.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use weft_cluster::{
    Collection, Commit, CommitError, Expected, FileChange, FolderConflict, Lease, NewContent,
    PushEvent, PushOptions, ReceivedReport, TransferError,
};
use weft_indexer::{WatchMode, WatchOptions, hash_of};
use weft_testkit::Random;

use crate::collection;
use crate::transfers::{MACHINE, files, options};

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
        PushEvent::Received(_)
        | PushEvent::Waiting { .. }
        | PushEvent::Kept { .. }
        | PushEvent::Failed(_) => false,
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

/// Commits a text of another writer, or the removal of a note.
fn commit(notes: &Collection, path: &str, text: Option<&str>) {
    let removed = || FileChange::new("notes", path, Expected::Anything, NewContent::Removed);
    let put = |text: &str| FileChange::put("notes", path, text.as_bytes().to_vec());
    notes.commit(&Commit::of(vec![text.map_or_else(removed, put)])).unwrap();
}

fn received(event: PushEvent) -> ReceivedReport {
    let PushEvent::Received(received) = event else { panic!("{event:?}") };
    received
}

#[test]
fn watched_folder_receives_changes_of_other_writers() {
    let Some((_server, notes)) = collection() else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    fs::write(at("moss.md"), "# Moss\n").unwrap();
    fs::write(at("fern.md"), "# Fern\n").unwrap();
    let watching = Watching::start(&notes, folder.path(), options());
    watching.until(is_pushed);
    let received_next = || received(watching.until(|it| matches!(it, PushEvent::Received(_))));
    commit(&notes, "moss.md", Some("# Moss, by another\n"));
    let report = received_next();
    assert_eq!((report.n_written, report.n_removed), (1, 0), "{report:?}");
    assert_eq!(fs::read_to_string(at("moss.md")).unwrap(), "# Moss, by another\n");
    commit(&notes, "wood/deep/lichen.md", Some("# Lichen\n"));
    received_next();
    assert_eq!(fs::read_to_string(at("wood/deep/lichen.md")).unwrap(), "# Lichen\n");
    // A move is one commit.
    let hash = hash_of(b"# Fern\n");
    let from = FileChange::new("notes", "fern.md", Expected::Anything, NewContent::Removed);
    let to = FileChange::new("notes", "bracken.md", Expected::Anything, NewContent::Stored(hash));
    let moved = notes.commit(&Commit::of(vec![from, to])).unwrap();
    let report = received_next();
    assert_eq!((report.n_written, report.n_removed, report.generation), (1, 1, moved));
    assert!(at("bracken.md").exists() && !at("fern.md").exists());
    assert_eq!(stored(&notes), files(folder.path()));
    assert_eq!(notes.head().unwrap(), moved, "what was received is not sent back");

    // A note that the folder would not send, or that would be outside, has no place there.
    fs::write(at(".ignore"), "private\n").unwrap();
    for path in ["private/moss.md", "../outside.md"] {
        commit(&notes, path, Some("# Elsewhere\n"));
        let report = received_next();
        assert_eq!((report.n_written, report.refused.len()), (0, 1), "{report:?}");
        assert!(!at(path).exists());
    }
    watching.stop().unwrap();
    // The vault keeps it, also when all files are scanned again.
    let watching = Watching::start(&notes, folder.path(), options());
    let report = received(watching.until(|it| matches!(it, PushEvent::Received(_))));
    assert_eq!(report.refused.len(), 2, "{report:?}");
    watching.until(is_pushed);
    watching.stop().unwrap();
    assert_eq!(stored(&notes)["private/moss.md"], "# Elsewhere\n");
}

#[test]
fn folder_without_its_files_receives_nothing() {
    let Some((_server, notes)) = collection() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (mounted, unmounted) = (folder.path().join("notes"), folder.path().join("elsewhere"));
    fs::create_dir(&mounted).unwrap();
    for n in 0..24 {
        fs::write(mounted.join(format!("{n}.md")), format!("# Note {n}\n")).unwrap();
    }
    notes.push(&mounted, "notes", &options()).unwrap();
    fs::rename(&mounted, &unmounted).unwrap();
    fs::create_dir(&mounted).unwrap();
    commit(&notes, "7.md", Some("# Note 7, by another\n"));
    let watching = Watching::start(&notes, &mounted, options());
    let event = watching.next();
    assert!(
        matches!(&event, PushEvent::Failed(TransferError::EmptyFolder { n_notes: 24, .. })),
        "{event:?}"
    );
    assert!(files(&mounted).is_empty());
    fs::remove_dir(&mounted).unwrap();
    fs::rename(&unmounted, &mounted).unwrap();
    let report = received(watching.until(|it| matches!(it, PushEvent::Received(_))));
    assert_eq!(report.n_written, 1, "{report:?}");
    until_equal(&watching, &notes, &mounted);
    assert_eq!(stored(&notes)["7.md"], "# Note 7, by another\n");
    watching.stop().unwrap();
}

#[test]
fn folders_are_merged_by_what_each_has_seen() {
    let Some((_server, notes)) = collection() else { return };
    let folder = tempfile::tempdir().unwrap();
    let [own, other, pulled] = ["own", "other", "pulled"].map(|name| folder.path().join(name));
    fs::create_dir(&own).unwrap();
    fs::write(own.join("moss.md"), "# Moss\n").unwrap();
    notes.push(&own, "notes", &options()).unwrap();
    // Another folder replaces the vault, and the first one receives that.
    fs::create_dir(&other).unwrap();
    fs::write(other.join("fern.md"), "# Fern\n").unwrap();
    notes.push(&other, "notes", &options()).unwrap();
    let watching = Watching::start(&notes, &own, options());
    let report = received(watching.until(|it| matches!(it, PushEvent::Received(_))));
    assert_eq!((report.n_written, report.n_removed), (1, 1), "{report:?}");
    watching.until(is_pushed);
    watching.stop().unwrap();
    assert_eq!(files(&own), files(&other));

    // A pulled folder is merged by the state that was pulled.
    notes.pull("notes", &pulled, MACHINE).unwrap();
    fs::write(pulled.join("stone.md"), "# Stone\n").unwrap();
    commit(&notes, "fern.md", Some("# Fern, by another\n"));
    let watching = Watching::start(&notes, &pulled, options());
    watching.until(is_pushed);
    watching.stop().unwrap();
    let expected = [("fern.md", "# Fern, by another\n"), ("stone.md", "# Stone\n")];
    let expected = expected.map(|(path, text)| (path.to_owned(), text.to_owned()));
    assert_eq!(stored(&notes), BTreeMap::from(expected));
    assert_eq!(files(&pulled), stored(&notes));
}

#[test]
fn nothing_is_lost_without_the_last_common_state() {
    let Some((_server, notes)) = collection() else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    for name in ["moss", "fern", "stone"] {
        fs::write(at(&format!("{name}.md")), format!("# {name}\n")).unwrap();
    }
    notes.push(folder.path(), "notes", &options()).unwrap();
    fs::write(at("moss.md"), "# moss, by the folder\n").unwrap();
    fs::remove_file(at("stone.md")).unwrap();
    commit(&notes, "fern.md", Some("# fern, by another\n"));
    commit(&notes, "tree.md", Some("# tree\n"));
    let lease = notes.removal_lease("the test").unwrap().unwrap();
    let removed = notes.remove_old_versions(&lease, Duration::ZERO).unwrap();
    assert_eq!(removed.floor, notes.head().unwrap());
    let watching = Watching::start(&notes, folder.path(), options());
    watching.until(is_pushed);
    watching.stop().unwrap();
    let merged = stored(&notes);
    assert_eq!(files(folder.path()), merged);
    for text in [
        "# moss\n",
        "# moss, by the folder\n",
        "# fern\n",
        "# fern, by another\n",
        "# stone\n",
        "# tree\n",
    ] {
        assert!(merged.values().any(|it| it == text), "{text} of {merged:#?}");
    }
    assert_eq!(merged["moss.md"], "# moss, by the folder\n");
}

#[test]
fn texts_of_two_writers_at_once_are_both_kept() {
    let Some((_server, notes)) = collection() else { return };
    let folder = tempfile::tempdir().unwrap();
    let moss = folder.path().join("moss.md");
    fs::write(&moss, "# Moss\n").unwrap();
    let watch = WatchOptions { debounce_ms: 1_000, ..WatchOptions::default() };
    let watching = Watching::with(&notes, folder.path(), (options(), watch));
    watching.until(is_pushed);
    // The change of the file is not due before the other one is received.
    fs::write(&moss, "# Moss, by the folder\n").unwrap();
    commit(&notes, "moss.md", Some("# Moss, by another\n"));
    let report = received(watching.until(|it| matches!(it, PushEvent::Received(_))));
    assert_eq!(report.conflicts.len(), 1, "{report:?}");
    let FolderConflict { path, copy } = &report.conflicts[0];
    assert_eq!(path, "moss.md");
    let expected = BTreeMap::from([
        (path.clone(), "# Moss, by the folder\n".to_owned()),
        (copy.clone(), "# Moss, by another\n".to_owned()),
    ]);
    let end = Instant::now() + LONG;
    while stored(&notes) != expected {
        assert!(Instant::now() < end, "the vault has {:?}", stored(&notes));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(files(folder.path()), expected);
    watching.stop().unwrap();
}

/// Random change of a note on one side.
#[derive(Clone, Debug)]
enum Edit {
    Keep,
    Write(String),
    Remove,
}

/// Both sides change notes while no process pushes; then the folder and the vault agree, and have the texts of both.
#[test]
fn changes_of_both_sides_since_the_last_push_are_merged() {
    const ROUNDS: usize = 12;
    let Some((_server, notes)) = collection() else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    fs::create_dir(at("wood")).unwrap();
    let paths = ["moss.md", "fern.md", "wood/moss.md", "wood/stone.md", "wood/tree.md"];
    let mut random = Random::new(47);
    let mut expected: BTreeMap<String, String> = BTreeMap::new();
    // The first push makes the vault equal to the folder.
    notes.push(folder.path(), "notes", &options()).unwrap();
    for round in 0..ROUNDS {
        let mut edit = |side: &str, path: &str| match random.below(5) {
            0 | 1 => Edit::Keep,
            2 => Edit::Remove,
            // Both sides may write the same text.
            3 => Edit::Write(format!("# Round {round} {path}\n")),
            _ => Edit::Write(format!("# Round {round} {path} {side}\n")),
        };
        let mut log = Vec::new();
        for path in paths {
            let (ours, theirs) = (edit("folder", path), edit("nodes", path));
            match &ours {
                Edit::Keep => {}
                Edit::Write(text) => fs::write(at(path), text).unwrap(),
                Edit::Remove => {
                    let _ = fs::remove_file(at(path));
                }
            }
            match &theirs {
                Edit::Keep => {}
                Edit::Write(text) => commit(&notes, path, Some(text)),
                Edit::Remove => commit(&notes, path, None),
            }
            log.push((path, ours.clone(), theirs.clone()));
            let before = expected.remove(path);
            let merged = match (ours, theirs) {
                (Edit::Keep, Edit::Keep) => before,
                (Edit::Write(text), Edit::Keep | Edit::Remove)
                | (Edit::Keep | Edit::Remove, Edit::Write(text)) => Some(text),
                (Edit::Remove, Edit::Keep | Edit::Remove) | (Edit::Keep, Edit::Remove) => None,
                (Edit::Write(ours), Edit::Write(theirs)) => {
                    if ours != theirs {
                        let hash = format!("{:?}", hash_of(theirs.as_bytes()));
                        let stem = path.trim_end_matches(".md");
                        expected.insert(format!("{stem} (conflict {}).md", &hash[..8]), theirs);
                    }
                    Some(ours)
                }
            };
            expected.extend(merged.map(|text| (path.to_owned(), text)));
        }
        let watching = Watching::start(&notes, folder.path(), options());
        watching.until(is_pushed);
        watching.stop().unwrap();
        assert_eq!(files(folder.path()), expected, "the folder after {log:#?}");
        assert_eq!(stored(&notes), expected, "the vault after {log:#?}");
    }
    assert!(expected.keys().any(|path| path.contains("conflict")), "{expected:?}");
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
