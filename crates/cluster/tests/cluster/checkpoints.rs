//! Checkpoints of nodes, and new nodes that start from them.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use weft_cluster::{
    CheckpointWriter, Collection, CollectionHome, Commit, FileChange, TransferError,
};
use weft_index::BackupWriter;
use weft_index::embedder::Embedder;
use weft_indexer::{IndexSettings, Indexer, VaultHome};

use crate::followers::{Words, answers};
use crate::{collection, connect_as};

fn follower(notes: &Collection, store: &Path) -> Indexer {
    let home = CollectionHome::new(notes.clone(), Duration::from_millis(5));
    let settings = IndexSettings {
        store: store.to_owned(),
        home: Some(Arc::new(home) as Arc<dyn VaultHome>),
        ..IndexSettings::default()
    };
    let embedder = Words::new(&Arc::new(AtomicUsize::new(0))) as Arc<dyn Embedder>;
    let indexer = Indexer::open(settings, Some(embedder), None).unwrap();
    indexer.flush().unwrap();
    indexer
}

fn put(notes: &Collection, path: &str, text: &str) -> u64 {
    let put = FileChange::put("notes", path, text.as_bytes().to_vec());
    notes.commit(&Commit::of(vec![put])).unwrap()
}

/// Writes a checkpoint of a node, and returns its generation.
fn checkpoint(notes: &Collection, node: &Indexer, place: &Path) -> u64 {
    let writer = CheckpointWriter::begin(notes, place, "test").unwrap();
    let backup = node.backup().unwrap();
    let generation = backup.generation();
    let mut copied = BackupWriter::create(writer.folder()).unwrap();
    backup.read(|part| copied.take(part)).unwrap();
    assert_eq!(copied.finish(generation).unwrap().generation, generation);
    let folder = writer.end(generation).unwrap();
    assert!(folder.join("backup.rmp").exists());
    generation
}

#[test]
fn new_node_starts_from_the_newest_intact_checkpoint() {
    let Some((server, notes)) = collection() else { return };
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let place = at("place");
    assert_eq!(notes.restore_checkpoint(&place, &at("none")).unwrap(), None);

    put(&notes, "fern.md", "# Fern\ngrows beside water\n");
    put(&notes, "old.md", "# Old\nstone\n");
    let node = follower(&notes, &at("first"));
    let first = checkpoint(&notes, &node, &place);
    let removed = FileChange {
        content: weft_cluster::NewContent::Removed,
        ..FileChange::put("notes", "old.md", Vec::new())
    };
    notes.commit(&Commit::of(vec![removed])).unwrap();
    node.flush().unwrap();
    let second = checkpoint(&notes, &node, &place);
    assert!(second > first && second == notes.head().unwrap());
    // Another one of the same generation replaces it.
    assert_eq!(checkpoint(&notes, &node, &place), second);
    put(&notes, "moss.md", "# Moss\nlight, see [[fern]]\n");
    node.flush().unwrap();

    let restored = notes.restore_checkpoint(&place, &at("second")).unwrap().unwrap();
    assert_eq!(restored.generation, second);
    let joined = follower(&notes, &at("second"));
    let fresh = follower(&notes, &at("third"));
    let digest = |node: &Indexer| {
        let snapshot = node.reader().snapshot();
        (snapshot.generation, snapshot.notes.total().digest)
    };
    assert_eq!(digest(&joined), digest(&node));
    assert_eq!(digest(&fresh), digest(&node));
    assert_eq!(
        (answers(joined.reader()), answers(fresh.reader())),
        (answers(node.reader()), answers(node.reader()))
    );

    // A damaged one is passed over.
    let base = place.join(notes.uid());
    let damaged = base.join(second.to_string()).join("backup.rmp");
    let mut bytes = fs::read(&damaged).unwrap();
    bytes[5] ^= 1;
    fs::write(&damaged, bytes).unwrap();
    let restored = notes.restore_checkpoint(&place, &at("fourth")).unwrap().unwrap();
    assert_eq!(restored.generation, first);
    let joined = follower(&notes, &at("fourth"));
    assert_eq!(
        (digest(&joined), answers(joined.reader())),
        (digest(&node), answers(node.reader()))
    );

    // The two newest remain, and those of another collection are another's.
    let third = checkpoint(&notes, &node, &place);
    let mut names: Vec<String> = fs::read_dir(&base)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, [second.to_string(), third.to_string()]);
    let other = Collection::create(&connect_as(&server, "postgres"), "other", &["notes"]).unwrap();
    assert_eq!(other.restore_checkpoint(&place, &at("fifth")).unwrap(), None);
}

#[test]
fn one_process_writes_a_checkpoint() {
    let Some((_server, notes)) = collection() else { return };
    let home = tempfile::tempdir().unwrap();
    let writer = CheckpointWriter::begin(&notes, home.path(), "one").unwrap();
    let busy = CheckpointWriter::begin(&notes, home.path(), "two").unwrap_err();
    assert!(matches!(&busy, TransferError::CheckpointBusy { holder } if holder == "one"), "{busy}");
    // The remains of an interrupted one are removed by the next.
    let partial = writer.folder().to_owned();
    fs::create_dir_all(partial.join("keyword")).unwrap();
    std::mem::forget(writer);
    notes.release_lease(&weft_cluster::Lease { role: "checkpoint".into(), epoch: 1 }).unwrap();
    let writer = CheckpointWriter::begin(&notes, home.path(), "two").unwrap();
    assert!(!partial.exists());
    fs::create_dir_all(writer.folder()).unwrap();
    let (folder, lost) = (writer.folder().to_owned(), notes.clone());
    lost.release_lease(&weft_cluster::Lease { role: "checkpoint".into(), epoch: 2 }).unwrap();
    lost.take_lease("checkpoint", "three", 600).unwrap().unwrap();
    let fenced = writer.end(7).unwrap_err();
    assert!(matches!(fenced, TransferError::Commit(_)), "{fenced}");
    assert!(!folder.exists() && !home.path().join(notes.uid()).join("7").exists());
    let lease = notes.take_lease("checkpoint", "four", 600).unwrap();
    assert_eq!(lease, Err("three".to_owned()), "another's lease is not released");
}
