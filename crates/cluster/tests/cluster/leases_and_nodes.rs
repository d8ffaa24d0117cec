//! Leases and the registry of nodes.

use weft_cluster::{ClusterError, Commit, CommitError, FileChange, Lease, NodeReport};

use crate::collection;

#[test]
fn holder_that_lost_its_lease_cannot_commit() {
    let Some((_server, notes)) = collection() else { return };
    let take = |holder: &str, seconds| notes.take_lease("push:notes", holder, seconds).unwrap();
    let first = take("one", 0).unwrap();
    let second = take("two", 600).unwrap();
    assert_eq!((first.epoch, second.epoch), (1, 2));
    assert_eq!(take("three", 600), Err("two".to_owned()));
    assert!(!notes.renew_lease(&first, 600).unwrap() && notes.renew_lease(&second, 600).unwrap());
    let commit = |lease: &Lease, text: &str| {
        let changes = vec![FileChange::put("notes", "fern.md", text.into())];
        notes.commit(&Commit { lease: Some(lease.clone()), ..Commit::of(changes) })
    };
    assert!(matches!(commit(&first, "one"), Err(CommitError::Fenced { .. })));
    commit(&second, "two").unwrap();
    notes.release_lease(&second).unwrap();
    assert_eq!(take("three", 600).unwrap().epoch, 3);
    assert!(matches!(commit(&second, "three"), Err(CommitError::Fenced { .. })));
}

#[test]
fn disagreeing_nodes_are_reported() {
    let Some((_server, notes)) = collection() else { return };
    let report = |id: &str, generation, digest| {
        let (address, version) = ("127.0.0.1:7700".to_owned(), "0.1.0".to_owned());
        NodeReport { id: id.to_owned(), address, version, generation, digest }
    };
    assert_eq!(notes.report_node(&report("a", 1, 5)).unwrap(), [""; 0]);
    assert_eq!(notes.report_node(&report("b", 1, 5)).unwrap(), [""; 0]);
    assert_eq!(notes.report_node(&report("c", 0, 9)).unwrap(), [""; 0], "at another number");
    assert_eq!(notes.verify().unwrap(), [""; 0]);
    assert_eq!(notes.report_node(&report("c", 1, 9)).unwrap(), ["a", "b"]);
    assert_eq!(notes.verify().unwrap().len(), 2);
    let nodes = notes.nodes().unwrap();
    assert_eq!(nodes.len(), 3);
    assert_eq!((&nodes[2].report, nodes[2].lag), (&report("c", 1, 9), 0));
    notes.take_lease("push:notes", "c", 600).unwrap().unwrap();
    notes.drop_node("c").unwrap();
    assert_eq!(notes.take_lease("push:notes", "d", 600).unwrap().unwrap().epoch, 2);
    assert!(matches!(notes.drop_node("c"), Err(ClusterError::UnknownNode { .. })));
    assert_eq!(notes.nodes().unwrap().len(), 2);
}
