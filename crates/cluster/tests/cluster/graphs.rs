//! Vector graphs: one for all nodes, from the same commit on, with the same answers whatever the history of a node.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use weft_cluster::{
    Collection, Commit, CommitError, Expected, FileChange, GraphStatus, NeededVectors, NewContent,
};
use weft_index::embedder::{Embedder, Role};
use weft_index::vector::{GraphParams, VectorParams, VectorSearch as _};
use weft_index::{EmbeddingStore, Reader, SharedGraph, Snapshot};
use weft_indexer::{LoggedGraph, Precondition, Rescan, WriteError, WriteRequest};
use weft_model::{NoteBits, NoteId, NoteSet};
use weft_testkit::{Postgres, Random};

use crate::followers::{TestNode, WORDS, Words, answers as answers_of, sentence};
use crate::{collection, connect};

/// Time within which nodes must reach a state, on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);

/// Few links and short walks, so that searches miss rows.
const SMALL: VectorParams = VectorParams {
    exact_below: 40,
    exact_filter: 3,
    ef: 1,
    graph: GraphParams { m: 4, ef_construction: 8, degree: 8, parallel: false },
};

/// Returns all pairs of words.
fn pairs() -> Vec<String> {
    let of = |first: &'static str| WORDS.map(|second| format!("{first} {second}"));
    WORDS.into_iter().flat_map(of).collect()
}

/// Returns a few of the pairs, to be asked in each state.
fn some_pairs() -> Vec<String> {
    pairs().into_iter().step_by(17).collect()
}

/// Waits until `done` returns something.
fn wait<T>(what: &str, mut done: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = done() {
            return found;
        }
        assert!(start.elapsed() < LIMIT, "{what} takes too long");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Returns the nearest notes to `queries`, of all notes and of half of them.
fn nearest(snapshot: &Snapshot, params: VectorParams, queries: &[String]) -> Vec<String> {
    let Some(vectors) = &snapshot.vectors else { return Vec::new() };
    let index = vectors.index.with_params(params);
    let graph = snapshot.notes.graph();
    let by_uri = |a: NoteId, b: NoteId| graph.uri(a).cmp(graph.uri(b));
    let half = graph.ids().filter(|id| {
        snapshot.notes.is_note(*id)
            && graph.uri(*id).as_str().bytes().fold(0, |sum, byte| sum ^ byte) % 2 == 0
    });
    let half = NoteSet::Only(half.collect::<NoteBits>());
    let embedder = Words::new(&Arc::default());
    let mut lines = vec![format!("{} wait", vectors.n_waiting)];
    for query in queries {
        let vector = embedder.embed(&[query.as_str()], Role::Query).unwrap().remove(0);
        for k in [1, 3, 8] {
            for (name, filter) in [("all", &NoteSet::All), ("half", &half)] {
                let hits = index.nearest_by(&vector, k, filter, &by_uri).unwrap();
                let hits = hits
                    .iter()
                    .map(|hit| format!("{} {:08x}", graph.uri(hit.note), hit.score.to_bits()));
                let hits: Vec<String> = hits.collect();
                lines.push(format!("{query} {k} {name}: {}", hits.join(", ")));
            }
        }
    }
    lines
}

/// Returns the first answer that differs between two states, in both.
fn difference(one: &Snapshot, other: &Snapshot) -> Option<(String, String)> {
    let [one, other] = [one, other].map(|snapshot| nearest(snapshot, SMALL, &pairs()));
    one.into_iter().zip(other).find(|(one, other)| one != other)
}

/// The answers that any node gave at each generation.
type Answers = Arc<Mutex<BTreeMap<u64, BTreeSet<Vec<String>>>>>;

fn record(node: &TestNode, answers: &Answers) {
    let (reader, answers) = (node.indexer.reader(), Arc::clone(answers));
    node.indexer.listen(move |_| {
        let snapshot = reader.snapshot();
        let found = nearest(&snapshot, SMALL, &some_pairs());
        answers.lock().unwrap().entry(snapshot.generation).or_default().insert(found);
    });
}

fn assert_unique(answers: &Answers) {
    for (generation, found) in &*answers.lock().unwrap() {
        assert_eq!(found.len(), 1, "generation {generation} has several answers: {found:#?}");
    }
}

/// Waits until all nodes serve the same generation with all vectors, and returns their snapshots.
fn agreed(notes: &Collection, nodes: &[&TestNode]) -> Vec<Arc<Snapshot>> {
    wait("agreement", || {
        let snapshots: Vec<Arc<Snapshot>> =
            nodes.iter().map(|node| node.indexer.reader().snapshot()).collect();
        let head = notes.head().unwrap();
        let is_done = |snapshot: &Arc<Snapshot>| {
            let vectors = snapshot.vectors.as_ref().unwrap();
            snapshot.generation == head && vectors.n_waiting == 0
        };
        snapshots.iter().all(is_done).then_some(snapshots)
    })
}

/// Waits for a graph that is committed after `after`.
fn graph_after(notes: &Collection, after: u64) -> GraphStatus {
    wait("the graph", || notes.newest_graph().unwrap().filter(|graph| graph.generation > after))
}

fn is_exact(snapshot: &Snapshot) -> bool {
    snapshot.vectors.as_ref().unwrap().index.is_exact()
}

/// Changes a random note.
fn edit(node: &TestNode, random: &mut Random, n: usize) {
    let name = format!("{}{}", WORDS[random.below(WORDS.len())], random.below(9));
    let path = format!("{name}.md");
    let expected = Precondition::Anything;
    let outcome = match random.below(8) {
        0 => node.indexer.write(WriteRequest::Delete { name: path, expected }).map(drop),
        1 => {
            let to = format!("moved/{n}.md");
            let moved = WriteRequest::Move { name: path, to, expected, rewrite_links: true };
            node.indexer.write(moved).map(drop)
        }
        // Copies of few texts, more than a search returns.
        2 => node
            .put(&path, ["moss moss", "green", "stone water"][random.below(3)], expected)
            .map(drop),
        _ => node.put(&path, &sentence(random), expected).map(drop),
    };
    assert!(matches!(outcome, Ok(()) | Err(WriteError::UnknownNote { .. })), "{outcome:?}");
}

/// Returns the path of a note of [`fill`].
fn filler(at: usize) -> String {
    format!("filler/{at}.md")
}

/// Writes the first `n` notes with new texts, in one commit.
fn fill(notes: &Collection, random: &mut Random, n: usize) {
    let put = |at| FileChange::put("notes", &filler(at), sentence(random).into_bytes());
    notes.commit(&Commit::of((0..n).map(put).collect())).unwrap();
}

/// Deletes the first `n` notes of [`fill`], in one commit.
fn delete_filler(notes: &Collection, n: usize) {
    let delete = |at| {
        let path = filler(at);
        FileChange::new("notes", &path, Expected::Anything, NewContent::Removed)
    };
    notes.commit(&Commit::of((0..n).map(delete).collect())).unwrap();
}

struct Place {
    server: Postgres,
    folder: tempfile::TempDir,
    n_texts: Arc<AtomicUsize>,
}

impl Place {
    fn start(&self, id: &str) -> TestNode {
        TestNode::start_with(&self.server, id, self.folder.path(), &self.n_texts, SMALL)
    }
}

fn place() -> Option<(Place, Collection)> {
    let (server, notes) = collection()?;
    let folder = tempfile::tempdir().unwrap();
    Some((Place { server, folder, n_texts: Arc::default() }, notes))
}

#[test]
fn nodes_answer_alike_before_and_after_a_graph_whatever_their_history() {
    let mut misses_rows = false;
    for seed in [1, 2, 3] {
        let Some((place, notes)) = place() else { return };
        let answers = Answers::default();
        let start = |id: &str| {
            let node = place.start(id);
            record(&node, &answers);
            node
        };
        let mut random = Random::new(seed);
        let first = start("first");
        let mut other = start("restarted");
        fill(&notes, &mut random, 60);
        for n in 0..80 {
            edit(if n % 3 == 0 { &other } else { &first }, &mut random, n);
        }
        graph_after(&notes, 0);
        for n in 80..120 {
            edit(&first, &mut random, n);
            if n == 100 {
                drop(other);
                other = start("restarted");
            }
        }
        let late = start("late");
        for n in 120..170 {
            edit([&first, &other, &late][random.below(3)], &mut random, n);
            if n == 150 {
                // The nodes have other rows than before, and the same answers.
                late.indexer.rescan(Rescan { compact: true, ..Rescan::default() }).unwrap();
            }
        }
        let snapshots = agreed(&notes, &[&first, &other, &late]);
        assert!(!snapshots.iter().any(|snapshot| is_exact(snapshot)), "seed {seed}");
        assert_eq!(difference(&snapshots[0], &snapshots[1]), None, "seed {seed}, restarted");
        assert_eq!(difference(&snapshots[0], &snapshots[2]), None, "seed {seed}, late");
        let exact = VectorParams { exact_below: usize::MAX, ..SMALL };
        let [walked, exact] = [SMALL, exact].map(|params| nearest(&snapshots[0], params, &pairs()));
        misses_rows |= walked != exact;
        let [first, other, late] = &*snapshots else { panic!("three nodes") };
        let whole = |snapshot: &Arc<Snapshot>| answers_of(Reader::of(Arc::clone(snapshot)));
        assert_eq!(whole(other), whole(first), "seed {seed}, restarted");
        assert_eq!(whole(late), whole(first), "seed {seed}, late");
        assert_unique(&answers);
        assert_eq!(notes.verify().unwrap(), [""; 0]);
    }
    assert!(misses_rows, "searches that miss no row prove nothing about a graph");
}

#[test]
fn a_graph_replaces_the_one_before_when_many_notes_are_deleted() {
    let Some((place, notes)) = place() else { return };
    let answers = Answers::default();
    let node = place.start("a");
    record(&node, &answers);
    let mut random = Random::new(5);
    fill(&notes, &mut random, 140);
    let model = Words::new(&Arc::default()).identity().clone();
    let first = graph_after(&notes, 0);
    assert!(first.built_from < first.generation && first.n_rows > 40 && first.n_bytes > 0);
    delete_filler(&notes, 70);
    graph_after(&notes, first.generation);
    let second = wait("the last graph", || {
        agreed(&notes, &[&node]);
        let needs_graph =
            node.indexer.reader().snapshot().vectors.as_ref().unwrap().index.needs_rebuild();
        notes.newest_graph().unwrap().filter(|_| !needs_graph)
    });
    let old = notes.read_graph(&model, first.generation).unwrap();
    assert!(matches!(old, LoggedGraph::Unusable), "no node needs it");
    assert_eq!(notes.graph(&model, first.generation - 1).unwrap(), None);
    assert_eq!(notes.graph(&model, first.generation).unwrap(), Some(first.generation));
    assert!(notes.graph(&model, second.generation - 1).unwrap() < Some(second.generation));
    assert_eq!(notes.graph(&model, second.generation).unwrap(), Some(second.generation));
    assert_eq!(notes.graph(&crate::model("another"), second.generation).unwrap(), None);
    let late = place.start("late");
    record(&late, &answers);
    let snapshots = agreed(&notes, &[&node, &late]);
    assert_eq!(difference(&snapshots[0], &snapshots[1]), None);
    assert_unique(&answers);
}

/// Removes the vectors that neither the notes of `node` nor the graph need, and returns their number; `None` if that has to wait.
fn sweep(notes: &Collection, node: &TestNode) -> Option<u64> {
    let snapshot = node.indexer.reader().snapshot();
    let generation = snapshot.generation;
    wait("the report of the node", || {
        let nodes = notes.nodes().unwrap();
        nodes.iter().all(|node| node.report.generation == generation).then_some(())
    });
    let model = &Words::new(&Arc::default()).identity().clone();
    let lease = notes.removal_lease("sweep").unwrap().unwrap();
    notes.remove_old_versions(&lease, Duration::ZERO).unwrap();
    let texts = &snapshot.notes.summaries().flat_map(|(_, note)| note.chunk_hashes()).collect();
    let needed = NeededVectors { model, generation, texts };
    let n_removed = notes.remove_unneeded_vectors(&lease, &needed).unwrap();
    notes.release_lease(&lease).unwrap();
    n_removed
}

/// Without their vectors, the node withdrew the graph.
#[test]
fn node_that_joins_after_deletions_adopts_the_graph() {
    let Some((place, notes)) = place() else { return };
    let answers = Answers::default();
    let node = place.start("a");
    record(&node, &answers);
    let model = Words::new(&Arc::default()).identity().clone();
    for at in 0..5 {
        node.put("early.md", &format!("# Early {at}"), Precondition::Anything).unwrap();
        node.settle();
    }
    fill(&notes, &mut Random::new(11), 120);
    let graph = graph_after(&notes, 0);
    delete_filler(&notes, 10);
    agreed(&notes, &[&node]);
    assert_eq!(notes.newest_graph().unwrap(), Some(graph), "few deletions keep the graph");
    let role = Collection::graph_role(&model);
    let building = notes.take_lease(&role, "builder", 600).unwrap().unwrap();
    assert_eq!(sweep(&notes, &node), None, "a graph that is being built may need any vector");
    notes.release_lease(&building).unwrap();
    let n_removed = sweep(&notes, &node);
    assert!(n_removed.is_some_and(|n| n > 0), "earlier texts of a note: {n_removed:?}");
    let late = place.start("late");
    record(&late, &answers);
    let snapshots = agreed(&notes, &[&node, &late]);
    assert_eq!(notes.newest_graph().unwrap(), Some(graph), "the graph stays in use");
    assert!(!is_exact(&snapshots[0]) && !is_exact(&snapshots[1]));
    assert_eq!(difference(&snapshots[0], &snapshots[1]), None);
    assert_unique(&answers);
    assert_eq!(notes.verify().unwrap(), [""; 0]);
}

#[test]
fn a_damaged_graph_is_withdrawn_and_built_again() {
    let Some((place, notes)) = place() else { return };
    let answers = Answers::default();
    let node = place.start("a");
    record(&node, &answers);
    fill(&notes, &mut Random::new(6), 120);
    let graph = graph_after(&notes, 0);
    agreed(&notes, &[&node]);
    place.server.query(
        "update noteweft.graph_chunk set bytes = set_byte(bytes, 900, 255 - get_byte(bytes, 900))",
    );
    let problems = notes.verify().unwrap();
    assert!(problems.len() == 1 && problems[0].contains("vector graph"), "{problems:?}");
    let withdrawn = notes.head().unwrap() + 1;
    let late = place.start("late");
    record(&late, &answers);
    let model = Words::new(&Arc::default()).identity().clone();
    assert_eq!(notes.graph(&model, withdrawn).unwrap(), None, "the late node withdrew it");
    let again = graph_after(&notes, withdrawn);
    let snapshots = agreed(&notes, &[&node, &late]);
    assert!(snapshots[0].generation >= again.generation);
    assert!(!is_exact(&snapshots[0]) && !is_exact(&snapshots[1]));
    assert_eq!(difference(&snapshots[0], &snapshots[1]), None);
    assert_unique(&answers);
    assert_eq!(notes.verify().unwrap(), [""; 0]);
    assert!(!notes.withdraw_graph(&model, graph.generation).unwrap(), "it is not used any more");
}

#[test]
fn node_with_damaged_vectors_takes_them_from_the_database() {
    let Some((place, notes)) = place() else { return };
    let (node, other) = (place.start("a"), place.start("b"));
    let mut random = Random::new(9);
    fill(&notes, &mut random, 120);
    graph_after(&notes, 0);
    agreed(&notes, &[&node, &other]);
    drop(other);
    damage(&place.folder.path().join("b/vectors"));
    fill(&notes, &mut random, 10);
    let other = place.start("b");
    let snapshots = agreed(&notes, &[&node, &other]);
    assert!(!is_exact(&snapshots[1]));
    assert_eq!(difference(&snapshots[0], &snapshots[1]), None);

    damage(&place.folder.path().join("b/vectors"));
    other.indexer.rescan(Rescan { full: true, ..Rescan::default() }).unwrap();
    // Until the vectors are read again, the last state is served.
    wait("the repair", || {
        let snapshots = agreed(&notes, &[&node, &other]);
        (difference(&snapshots[0], &snapshots[1]).is_none() && !is_exact(&snapshots[1]))
            .then_some(())
    });
}

/// Changes the sign and exponent of some numbers in the middle of the rows.
fn damage(folder: &Path) {
    let files = files_below(folder);
    let file = files.iter().find(|path| path.ends_with("vec.f32")).unwrap();
    let file = std::fs::File::options().write(true).open(file).unwrap();
    file.write_all_at(&[0x3c; 200], 64 + 50 * 64 + 3).unwrap();
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

#[test]
fn a_graph_of_a_later_release_is_not_used_and_one_of_an_earlier_release_is_replaced() {
    let Some((place, notes)) = place() else { return };
    let node = place.start("a");
    fill(&notes, &mut Random::new(7), 120);
    graph_after(&notes, 0);
    place.server.query("update noteweft.graph set format = 99");
    let late = place.start("late");
    let snapshots = agreed(&notes, &[&node, &late]);
    assert_eq!([is_exact(&snapshots[0]), is_exact(&snapshots[1])], [false, true]);
    let exact = VectorParams { exact_below: usize::MAX, ..SMALL };
    assert_eq!(nearest(&snapshots[0], exact, &pairs()), nearest(&snapshots[1], SMALL, &pairs()));
    drop(late);
    place.server.query("update noteweft.graph set format = 0");
    let graph = notes.newest_graph().unwrap().unwrap();
    let late = place.start("third");
    graph_after(&notes, graph.generation + 1);
    let snapshots = agreed(&notes, &[&node, &late]);
    assert_eq!([is_exact(&snapshots[0]), is_exact(&snapshots[1])], [false, false]);
    assert_eq!(difference(&snapshots[0], &snapshots[1]), None);
}

/// Builds a graph of vectors that no collection has.
fn some_graph() -> SharedGraph {
    let store = EmbeddingStore::in_memory(Words::new(&Arc::default()), SMALL).unwrap();
    store.shared_graph_source().build().unwrap()
}

#[test]
fn another_node_builds_after_the_builder_died() {
    let Some((place, notes)) = place() else { return };
    let model = Words::new(&Arc::default()).identity().clone();
    let other = Collection::open(&connect(&place.server), "team").unwrap();
    let node = place.start("a");
    let mut random = Random::new(8);
    fill(&notes, &mut random, 20);
    let dead = notes.take_lease(&Collection::graph_role(&model), "dead", 3).unwrap().unwrap();
    fill(&notes, &mut random, 120);
    let graph = graph_after(&notes, 0);
    assert!(graph.n_rows > 40);
    let late = other.commit_graph(&model, 1, &some_graph(), &dead);
    assert!(matches!(late, Err(CommitError::Fenced { .. })), "{late:?}");
    assert_eq!(notes.newest_graph().unwrap(), Some(graph));
    let snapshots = agreed(&notes, &[&node]);
    assert!(!is_exact(&snapshots[0]));
}
