//! The log: commits and what followers see.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use weft_cluster::{
    ClusterError, Collection, CollectionHome, Commit, CommitError, Database, Dsn, Expected,
    FileChange, NewContent, SharedSetting,
};
use weft_indexer::{IndexSettings, Indexer, VaultHome, hash_of};
use weft_testkit::Postgres;

use crate::{collection, connect, connect_as};

fn put(path: &str, text: &str) -> Commit {
    Commit::of(vec![FileChange::put("notes", path, text.into())])
}

fn text(notes: &Collection, path: &str, at: u64) -> Option<String> {
    notes.read("notes", path, at).unwrap().map(|bytes| String::from_utf8(bytes).unwrap())
}

fn paths(notes: &Collection, at: u64) -> Vec<String> {
    notes.files("notes", at, None).unwrap().into_iter().map(|file| file.path).collect()
}

#[test]
fn schema_is_required_and_created_once() {
    let Some(server) = Postgres::start() else { return };
    let database = connect_as(&server, "postgres");
    let opened = Collection::open(&database, "team");
    assert!(matches!(opened, Err(ClusterError::OldSchema { found: 0, .. })), "{opened:?}");
    std::thread::scope(|scope| {
        (0..4).for_each(|_| drop(scope.spawn(|| database.migrate().unwrap())));
    });
    let opened = Collection::open(&database, "team").unwrap_err().to_string();
    assert!(opened.contains("unknown collection `team`"), "{opened}");
    Collection::create(&database, "team", &["notes"]).unwrap();
    Collection::create(&database, "team", &["notes", "diary"]).unwrap();
    let team = Collection::open(&database, "team").unwrap();
    assert_eq!(team.vaults(1).unwrap(), ["notes"]);
    assert_eq!(team.vaults(team.head().unwrap()).unwrap(), ["diary", "notes"]);
    let unknown = Collection::open(&database, "tea").unwrap_err().to_string();
    assert!(unknown.contains("`tea`") && unknown.contains("`team`"), "{unknown}");
    let invalid = Collection::create(&database, "a/b", &[]);
    assert!(matches!(invalid, Err(ClusterError::Name { .. })), "{invalid:?}");
    team.erase().unwrap();
    assert_eq!(Collection::names(&database).unwrap(), [""; 0]);
}

#[test]
fn each_number_stands_for_one_state() {
    let Some((_server, notes)) = collection() else { return };
    let start = notes.head().unwrap();
    let one = notes.commit(&put("fern.md", "one")).unwrap();
    let two = notes.commit(&put("fern.md", "two")).unwrap();
    assert_eq!((one, two), (start + 1, start + 2));
    assert_eq!(notes.commit(&put("fern.md", "two")).unwrap(), two, "nothing changed");
    let moved = Commit::of(vec![
        FileChange::new(
            "notes",
            "fern.md",
            Expected::Content(Some(hash_of(b"two"))),
            NewContent::Removed,
        ),
        FileChange::new(
            "notes",
            "wood/fern.md",
            Expected::Content(None),
            NewContent::Stored(hash_of(b"two")),
        ),
        FileChange::put("diary", "day.md", b"rain\0".to_vec()),
    ]);
    let three = notes.commit(&moved).unwrap();
    assert_eq!(three, two + 1);
    for (at, expected) in [
        (start, vec![]),
        (one, vec![("fern.md", "one")]),
        (two, vec![("fern.md", "two")]),
        (three, vec![("wood/fern.md", "two")]),
    ] {
        let expected_paths: Vec<&str> = expected.iter().map(|(path, _)| *path).collect();
        assert_eq!(paths(&notes, at), expected_paths, "{at}");
        for (path, content) in expected {
            assert_eq!(text(&notes, path, at).as_deref(), Some(content), "{at} {path}");
        }
    }
    assert_eq!(text(&notes, "fern.md", three), None);
    assert_eq!(notes.vaults(two).unwrap(), ["notes"]);
    assert_eq!(notes.vaults(three).unwrap(), ["diary", "notes"]);
    let changes = notes.changes(two, three).unwrap();
    let expected = [("diary", vec!["day.md"]), ("notes", vec!["fern.md", "wood/fern.md"])];
    let expected: BTreeMap<String, Vec<String>> = expected
        .into_iter()
        .map(|(vault, paths)| (vault.to_owned(), paths.into_iter().map(str::to_owned).collect()))
        .collect();
    assert_eq!(changes, expected);
    let file = &notes.files("diary", three, Some(&["day.md".to_owned()])).unwrap()[0];
    assert_eq!((file.size, file.hash, file.generation), (5, hash_of(b"rain\0"), three));
    assert!(file.modified_ns > 1_600_000_000_000_000_000, "{file:?}");
    assert_eq!(notes.verify().unwrap(), [""; 0]);
    let status = notes.status().unwrap();
    assert_eq!((status.head, status.n_notes, status.n_versions), (three, 2, 5));
}

#[test]
fn conflicting_commit_changes_nothing_and_a_repeated_one_is_found() {
    let Some((_server, notes)) = collection() else { return };
    let one = notes.commit(&put("fern.md", "one")).unwrap();
    let stale = Commit::of(vec![
        FileChange::put("notes", "new.md", b"new".to_vec()),
        FileChange::new(
            "notes",
            "fern.md",
            Expected::Content(None),
            NewContent::Bytes(b"mine".to_vec()),
        ),
    ]);
    match notes.commit(&stale) {
        Err(CommitError::Conflict { path, actual, .. }) => {
            assert_eq!((&*path, actual), ("fern.md", Some(hash_of(b"one"))));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!((notes.head().unwrap(), paths(&notes, one)), (one, vec!["fern.md".to_owned()]));
    let batch = Some([7; 16]);
    let commit = Commit { batch, ..put("moss.md", "green") };
    let two = notes.commit(&commit).unwrap();
    let three = notes.commit(&put("moss.md", "brown")).unwrap();
    assert_eq!(notes.commit(&commit).unwrap(), two, "the first outcome");
    assert_eq!(text(&notes, "moss.md", three).as_deref(), Some("brown"));
    let unknown = Commit::of(vec![FileChange::new(
        "notes",
        "lost.md",
        Expected::Anything,
        NewContent::Stored(hash_of(b"never stored")),
    )]);
    let refused = notes.commit(&unknown);
    assert!(matches!(refused, Err(CommitError::Cluster(ClusterError::Refused { .. }))));
    assert_eq!(notes.head().unwrap(), three);
}

/// Number of commits of overlapping writers; `WEFT_CLUSTER_COMMITS` sets another one.
#[expect(clippy::disallowed_methods, reason = "the full number takes minutes")]
fn n_commits() -> u64 {
    std::env::var("WEFT_CLUSTER_COMMITS").ok().and_then(|n| n.parse().ok()).unwrap_or(480)
}

/// With numbers from a sequence, a follower missed commits that became visible after later ones.
#[test]
fn follower_misses_no_commit_of_overlapping_writers() {
    let Some((server, notes)) = collection() else { return };
    let n_writers = 8;
    let n_each = n_commits() / n_writers;
    let folder = tempfile::tempdir().unwrap();
    let followed_notes = Collection::open(&connect(&server), "team").unwrap();
    let home = CollectionHome::new(followed_notes, Duration::from_millis(5));
    let settings = IndexSettings {
        store: folder.path().join("index"),
        home: Some(Arc::new(home) as Arc<dyn VaultHome>),
        ..IndexSettings::default()
    };
    let index = Indexer::open(settings, None, None).unwrap();
    let is_done = AtomicBool::new(false);
    let start = notes.head().unwrap();
    let mut followed: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut applied = start;
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..n_writers)
            .map(|writer| {
                let notes = Collection::open(&connect(&server), "team").unwrap();
                scope.spawn(move || {
                    for n in 0..n_each {
                        let own = format!("{writer}/{n}.md");
                        let mut commit = put(&own, &format!("{writer} {n}"));
                        let shared = format!("last {writer} {n}").into_bytes();
                        commit.changes.push(FileChange::put("notes", "shared.md", shared));
                        notes.commit(&commit).unwrap();
                    }
                })
            })
            .collect();
        let follower = scope.spawn(|| {
            loop {
                // Read before the head, so that the last round sees everything.
                let last = is_done.load(Ordering::SeqCst);
                let head = notes.head().unwrap();
                let changes = notes.changes(applied, head).unwrap();
                for path in changes.get("notes").into_iter().flatten() {
                    let bytes = notes.read("notes", path, head).unwrap().unwrap();
                    followed.insert(path.clone(), bytes);
                }
                applied = head;
                if last {
                    return;
                }
            }
        });
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        is_done.store(true, Ordering::SeqCst);
        follower.join().unwrap();
    });
    assert_eq!(applied, start + n_writers * n_each);
    let files = notes.files("notes", applied, None).unwrap();
    assert_eq!(files.len() as u64, n_writers * n_each + 1);
    let found: Vec<_> =
        followed.iter().map(|(path, bytes)| (path.as_str(), hash_of(bytes))).collect();
    let expected: Vec<_> = files.iter().map(|file| (file.path.as_str(), file.hash)).collect();
    assert_eq!(found, expected);
    index.flush().unwrap();
    let snapshot = index.reader().snapshot();
    let mut indexed: Vec<_> =
        snapshot.notes.summaries().map(|(_, note)| (note.path, note.file.hash)).collect();
    indexed.sort_unstable_by_key(|(path, _)| *path);
    assert_eq!(indexed, expected, "the index of a node that followed");
    assert_eq!(notes.verify().unwrap(), [""; 0]);
}

#[test]
fn acknowledged_commits_survive_a_crash_and_clients_reconnect() {
    let Some((mut server, notes)) = collection() else { return };
    let one = notes.commit(&put("fern.md", "one")).unwrap();
    server.kill();
    let error = notes.commit(&put("fern.md", "two")).unwrap_err();
    let is_unavailable = matches!(error, CommitError::Cluster(ClusterError::Unavailable { .. }));
    assert!(is_unavailable, "{error}");
    server.resume();
    assert_eq!(
        (notes.head().unwrap(), text(&notes, "fern.md", one).as_deref()),
        (one, Some("one"))
    );
    assert_eq!(notes.commit(&put("fern.md", "two")).unwrap(), one + 1);
}

#[test]
fn unreachable_server_is_named_without_secrets() {
    let dsn = Dsn::parse("host=127.0.0.1 port=1 user=node password=moss dbname=notes").unwrap();
    let error = Database::connect(&dsn).unwrap_err();
    let lines = format!("{error} {error:?}");
    assert!(lines.contains("127.0.0.1/notes") && !lines.contains("moss"), "{lines}");
}

#[test]
fn nodes_with_other_settings_are_refused() {
    let Some((_server, notes)) = collection() else { return };
    let setting = |key: &str, value: &str, default: Option<&str>| SharedSetting {
        key: key.to_owned(),
        value: value.to_owned(),
        default: default.map(str::to_owned),
    };
    let model = |value: &str| setting("model", value, None);
    let window = setting("window", "256", Some("512"));
    let refusal =
        |settings: &[SharedSetting]| notes.require_settings(settings).unwrap_err().to_string();
    notes.require_settings(&[model("a"), window.clone()]).unwrap();
    notes.require_settings(&[model("a"), window.clone()]).unwrap();
    let error = refusal(&[model("b"), window.clone()]);
    assert!(error.contains("`model = b` here, `model = a` in the collection"), "{error}");
    // A later release knows a setting that the recorded ones lack.
    let depth = |value: &str| setting("depth", value, Some("3"));
    notes.require_settings(&[model("a"), depth("3"), window.clone()]).unwrap();
    let error = refusal(&[model("a"), depth("4"), window]);
    assert!(error.contains("`depth = 4` here, its default in the collection"), "{error}");
    notes.clear_settings().unwrap();
    notes.require_settings(&[model("b")]).unwrap();
}
