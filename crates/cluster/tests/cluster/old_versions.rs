//! Removal of old versions and of vectors that no text needs.

use std::collections::HashSet;
use std::time::Duration;

use weft_cluster::{
    Collection, Commit, CommitError, FileChange, NeededVectors, NewContent, NodeReport,
    RemovedVersions,
};
use weft_indexer::hash_of;
use weft_model::TextHash;

use crate::followers::TestNode;
use crate::{collection, model};

fn put(notes: &Collection, path: &str, text: &str) -> u64 {
    notes.commit(&Commit::of(vec![FileChange::put("notes", path, text.into())])).unwrap()
}

fn remove(notes: &Collection, path: &str) -> u64 {
    let content = NewContent::Removed;
    let change = FileChange { content, ..FileChange::put("notes", path, Vec::new()) };
    notes.commit(&Commit::of(vec![change])).unwrap()
}

/// Paths and texts at a number of the log.
fn state(notes: &Collection, at: u64) -> Vec<(String, Vec<u8>)> {
    let files = notes.files("notes", at, None).unwrap();
    let text = |path: &str| notes.read("notes", path, at).unwrap().unwrap();
    files.into_iter().map(|file| (file.path.clone(), text(&file.path))).collect()
}

fn report(id: &str, generation: u64) -> NodeReport {
    let (address, version) = ("127.0.0.1:7700".to_owned(), "0.1.0".to_owned());
    NodeReport { id: id.to_owned(), address, version, generation, digest: 1 }
}

#[test]
fn states_from_the_floor_on_stay_and_earlier_versions_go() {
    let Some((_server, notes)) = collection() else { return };
    put(&notes, "fern.md", "one");
    put(&notes, "moss.md", "green");
    remove(&notes, "moss.md");
    let floor = put(&notes, "fern.md", "two");
    put(&notes, "moss.md", "brown");
    let head = put(&notes, "fern.md", "three");
    let states = || (floor..=head).map(|at| state(&notes, at)).collect::<Vec<_>>();
    let before = states();
    let remove_all = |keep: Duration| {
        let lease = notes.removal_lease("a").unwrap().unwrap();
        assert_eq!(notes.removal_lease("b").unwrap(), None, "one process at a time");
        let removed = notes.remove_old_versions(&lease, keep).unwrap();
        notes.release_lease(&lease).unwrap();
        removed
    };
    let kept = remove_all(Duration::from_secs(3600));
    assert_eq!(kept, RemovedVersions { floor: 0, n_versions: 0 }, "no commit is old enough");
    // A running node has applied nothing after this number.
    notes.report_node(&report("slow", floor)).unwrap();
    let removed = remove_all(Duration::ZERO);
    assert_eq!(removed, RemovedVersions { floor, n_versions: 3 });
    assert_eq!(states(), before);
    assert_eq!(notes.blobs(&[hash_of(b"one"), hash_of(b"green")]).unwrap(), []);
    assert_eq!(notes.verify().unwrap(), [""; 0]);
    assert_eq!(remove_all(Duration::ZERO), RemovedVersions { floor, n_versions: 0 });
    let status = notes.status().unwrap();
    assert_eq!((status.floor, status.n_removed_versions, status.n_versions), (floor, 3, 3));

    notes.drop_node("slow").unwrap();
    assert_eq!(remove_all(Duration::ZERO), RemovedVersions { floor: head, n_versions: 1 });
    assert_eq!(state(&notes, head), before[before.len() - 1]);
    assert_eq!(notes.verify().unwrap(), [""; 0]);
    // A text that was removed can come back.
    let next = put(&notes, "fern.md", "one");
    assert_eq!(notes.read("notes", "fern.md", next).unwrap().unwrap(), b"one");

    let lost = notes.removal_lease("a").unwrap().unwrap();
    notes.release_lease(&lost).unwrap();
    notes.removal_lease("b").unwrap().unwrap();
    let fenced = notes.remove_old_versions(&lost, Duration::ZERO);
    assert!(matches!(fenced, Err(CommitError::Fenced { .. })), "{fenced:?}");
}

#[test]
fn vectors_that_the_newest_state_does_not_need_go_once_all_nodes_have_applied_it() {
    let Some((_server, notes)) = collection() else { return };
    let (model, other) = (model("a"), model("b"));
    let vector = |n: u128| (TextHash(n), vec![0.6, 0.8]);
    notes.store_vectors(&model, &[vector(1), vector(2), vector(3)]).unwrap();
    notes.store_vectors(&other, &[vector(1)]).unwrap();
    let head = put(&notes, "fern.md", "one");
    let lease = notes.removal_lease("a").unwrap().unwrap();
    notes.remove_old_versions(&lease, Duration::ZERO).unwrap();
    notes.store_vectors(&model, &[vector(4)]).unwrap();
    let texts = HashSet::from([TextHash(2)]);
    let sweep = |generation| {
        let needed = NeededVectors { model: &model, generation, texts: &texts };
        notes.remove_unneeded_vectors(&lease, &needed).unwrap()
    };
    assert_eq!(sweep(head), None, "there is a later state");
    notes.report_node(&report("slow", head)).unwrap();
    assert_eq!(sweep(head + 1), None, "a node has not applied the newest state");
    notes.report_node(&report("slow", head + 1)).unwrap();
    assert_eq!(sweep(head + 1), Some(3));
    let texts: Vec<TextHash> = (1..=4).map(TextHash).collect();
    let mut kept = notes.vectors(&model, &texts, head + 1).unwrap();
    kept.sort_by_key(|(text, _)| *text);
    assert_eq!(kept, [vector(2), vector(4)], "that of a commit after the floor stays");
    assert_eq!(notes.vectors(&other, &texts, head + 1).unwrap(), []);
    assert_eq!(notes.status().unwrap().n_removed_vectors, 3);
}

/// Without the floor, a node that was away while a note and its removal were removed from the log kept the note.
#[test]
fn node_below_the_floor_compares_everything() {
    let Some((server, notes)) = collection() else { return };
    let (folder, n_texts) = (tempfile::tempdir().unwrap(), Default::default());
    put(&notes, "fern.md", "# Fern");
    put(&notes, "moss.md", "# Moss");
    let node = TestNode::start(&server, "a", folder.path(), &n_texts);
    node.settle();
    drop(node);
    assert_eq!(notes.nodes().unwrap(), [], "a node that stops leaves");
    remove(&notes, "moss.md");
    put(&notes, "fern.md", "# Fern\nfrond");
    let lease = notes.removal_lease("b").unwrap().unwrap();
    let removed = notes.remove_old_versions(&lease, Duration::ZERO).unwrap();
    assert_eq!(removed, RemovedVersions { floor: notes.head().unwrap(), n_versions: 3 });
    let node = TestNode::start(&server, "a", folder.path(), &n_texts);
    let new = TestNode::start(&server, "new", folder.path(), &n_texts);
    for node in [&node, &new] {
        node.settle();
        let snapshot = node.indexer.reader().snapshot();
        let notes: Vec<&str> = snapshot.notes.summaries().map(|(_, note)| note.path).collect();
        assert_eq!(notes, ["fern.md"]);
    }
    assert_eq!(node.answers(), new.answers());
}
