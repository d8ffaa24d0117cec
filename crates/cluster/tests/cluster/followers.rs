//! Nodes that follow one collection: equal snapshots, shared vectors, writes on any node.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use weft_cluster::{Collection, CollectionHome, EmbeddingJob, NodeReport, NodeThreads};
use weft_engine::{Engine, EngineSettings, SearchMode, SearchRequest};
use weft_index::embedder::{Calibration, EmbedError, Embedder, ModelIdentity, Role};
use weft_index::vector::VectorParams;
use weft_index::{Disk, Reader};
use weft_indexer::{
    IndexError, IndexSettings, Indexer, Precondition, VaultHome, VaultSettings, WriteContent,
    WriteError, WriteRequest,
};
use weft_model::TextHash;
use weft_testkit::{FailingDisk, Postgres, Random};

use crate::{collection, connect};

const DIMENSION: usize = 16;

/// Maps each word to a direction; counts the texts of notes.
pub(crate) struct Words {
    identity: ModelIdentity,
    n_texts: Arc<AtomicUsize>,
}

impl Words {
    pub(crate) fn new(n_texts: &Arc<AtomicUsize>) -> Arc<Self> {
        let identity = ModelIdentity { dimension: DIMENSION, ..crate::model("words") };
        Arc::new(Self { identity, n_texts: Arc::clone(n_texts) })
    }
}

impl Embedder for Words {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn window(&self) -> usize {
        32
    }

    fn n_tokens(&self, text: &str) -> usize {
        text.split_whitespace().count()
    }

    fn calibration(&self) -> Option<Calibration> {
        Some(Calibration::REFERENCE)
    }

    fn batch(&self) -> usize {
        4
    }

    fn embed(&self, texts: &[&str], role: Role) -> Result<Vec<Vec<f32>>, EmbedError> {
        if texts.iter().any(|text| text.contains("unreadable")) {
            let (model, reason) = ("words".into(), "the text is odd".into());
            return Err(EmbedError::Failed { model, reason });
        }
        if role == Role::Document {
            self.n_texts.fetch_add(texts.len(), Ordering::SeqCst);
        }
        let vector = |text: &&str| {
            let mut sum = [1e-3_f32; DIMENSION];
            for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
                let place = word.bytes().fold(7_usize, |sum, byte| sum * 31 + usize::from(byte));
                sum[place % DIMENSION] += 1.0;
            }
            let norm = sum.iter().map(|x| x * x).sum::<f32>().sqrt();
            sum.iter().map(|x| x / norm).collect()
        };
        Ok(texts.iter().map(vector).collect())
    }
}

/// Digest of the notes and number of chunks without a vector by generation, as any node published them.
pub(crate) type History = Arc<Mutex<BTreeMap<u64, BTreeSet<(u128, usize)>>>>;

/// Checks that all nodes published the same states.
fn assert_unique(history: &History) {
    for (generation, states) in &*history.lock().unwrap() {
        assert_eq!(states.len(), 1, "generation {generation} stands for {states:?}");
    }
}

/// A node in this process.
pub(crate) struct TestNode {
    pub(crate) indexer: Arc<Indexer>,
    _node: NodeThreads,
}

impl TestNode {
    pub(crate) fn start(
        server: &Postgres,
        id: &str,
        store: &Path,
        n_texts: &Arc<AtomicUsize>,
    ) -> Self {
        Self::start_with(server, id, store, n_texts, VectorParams::default())
    }

    pub(crate) fn start_with(
        server: &Postgres,
        id: &str,
        store: &Path,
        n_texts: &Arc<AtomicUsize>,
        vector: VectorParams,
    ) -> Self {
        let notes = Collection::open(&connect(server), "team").unwrap();
        Self::open(&notes, id, store, n_texts, (Disk::default(), vector))
    }

    /// Starts a node of any collection, whose index is in the folder `id` of `store`.
    pub(crate) fn open(
        notes: &Collection,
        id: &str,
        store: &Path,
        n_texts: &Arc<AtomicUsize>,
        (disk, vector): (Disk, VectorParams),
    ) -> Self {
        let home = CollectionHome::new(notes.clone(), Duration::from_millis(5));
        let settings = IndexSettings {
            store: store.join(id),
            home: Some(Arc::new(home) as Arc<dyn VaultHome>),
            disk,
            vector,
            ..IndexSettings::default()
        };
        let embedder = Words::new(n_texts) as Arc<dyn Embedder>;
        let indexer = Indexer::open(settings, Some(Arc::clone(&embedder)), None).unwrap();
        let indexer = Arc::new(indexer);
        indexer.flush().unwrap();
        let report = NodeReport {
            id: id.to_owned(),
            address: "127.0.0.1:1".to_owned(),
            version: "0.1.0".to_owned(),
            generation: 0,
            digest: 0,
        };
        let node = NodeThreads::start(notes, Some(embedder), report, &indexer).unwrap();
        Self { indexer, _node: node }
    }

    /// Records what the node publishes.
    pub(crate) fn record(&self, history: &History) {
        let (reader, history) = (self.indexer.reader(), Arc::clone(history));
        self.indexer.listen(move |generation| {
            let snapshot = reader.snapshot();
            let n_waiting = snapshot.vectors.as_ref().map_or(0, |vectors| vectors.n_waiting);
            let state = (snapshot.notes.total().digest, n_waiting);
            history.lock().unwrap().entry(generation).or_default().insert(state);
        });
    }

    pub(crate) fn put(
        &self,
        path: &str,
        text: &str,
        expected: Precondition,
    ) -> Result<u64, WriteError> {
        let content = WriteContent::Whole(text.to_owned());
        let vault = Some("notes".to_owned());
        let put = WriteRequest::Put { vault, path: path.to_owned(), content, expected };
        self.indexer.write(put).map(|outcome| outcome.generation.expect("the log is there"))
    }

    /// Waits until every text has a vector, and returns the generation.
    pub(crate) fn settle(&self) -> u64 {
        self.indexer.wait_vectors(&AtomicBool::new(false), &mut |_| {}).unwrap()
    }

    pub(crate) fn answers(&self) -> Vec<String> {
        answers(self.indexer.reader())
    }
}

/// Returns the hits of some queries with their scores.
pub(crate) fn answers(reader: Reader) -> Vec<String> {
    let engine = Engine::new(reader, EngineSettings::default());
    let mut lines = Vec::new();
    for query in ["moss green", "fern", "stone water light", "grows beside"] {
        for mode in [SearchMode::Hybrid, SearchMode::Vector, SearchMode::Keyword] {
            let request =
                SearchRequest { query: query.into(), limit: 10, mode, ..SearchRequest::default() };
            let hits = engine.search(&request).unwrap().hits;
            lines.extend(
                hits.iter().map(|hit| {
                    format!("{query} {mode:?} {} {:016x}", hit.uri, hit.score.to_bits())
                }),
            );
        }
    }
    lines
}

pub(crate) const WORDS: [&str; 10] =
    ["moss", "fern", "stone", "water", "light", "green", "grows", "beside", "wood", "peat"];

pub(crate) fn sentence(random: &mut Random) -> String {
    let word = |random: &mut Random| WORDS[random.below(WORDS.len())];
    let mut text = format!("# {}\n", word(random));
    for _ in 0..random.below(12) {
        text += word(random);
        text.push(' ');
    }
    for _ in 0..random.below(3) {
        text += &format!("[[{}]] ", word(random));
    }
    text
}

/// Writes the newest state of the collection into a folder.
fn pull(notes: &Collection, folder: &Path) {
    let head = notes.head().unwrap();
    for file in notes.files("notes", head, None).unwrap() {
        let target = folder.join(&file.path);
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::write(target, notes.read("notes", &file.path, head).unwrap().unwrap()).unwrap();
    }
}

#[test]
fn three_nodes_answer_as_one_index_of_the_pulled_folder() {
    let Some((server, notes)) = collection() else { return };
    let folder = tempfile::tempdir().unwrap();
    let n_texts = Arc::new(AtomicUsize::new(0));
    let history = History::default();
    let start = |id: &str| {
        let node = TestNode::start(&server, id, folder.path(), &n_texts);
        node.record(&history);
        node
    };
    let mut nodes = vec![start("a"), start("b"), start("c")];
    let mut random = Random::new(7);
    for n in 0..120 {
        if n % 40 == 20 {
            // A node stops and continues with its store.
            let id = ["a", "b", "c"][n / 40];
            drop(nodes.remove(0));
            nodes.push(start(id));
        }
        let node = &nodes[random.below(3)];
        let name = format!("{}{}", WORDS[random.below(WORDS.len())], random.below(3));
        let path =
            if random.below(2) == 0 { format!("{name}.md") } else { format!("wood/{name}.md") };
        let expected = Precondition::Anything;
        match random.below(5) {
            0 => {
                let deleted = node.indexer.write(WriteRequest::Delete { name: path, expected });
                let is_expected = matches!(deleted, Ok(_) | Err(WriteError::UnknownNote { .. }));
                assert!(is_expected, "{deleted:?}");
            }
            1 => {
                let to = format!("moved/{n}.md");
                let moved = WriteRequest::Move { name: path, to, expected, rewrite_links: true };
                let moved = node.indexer.write(moved);
                let is_expected = matches!(moved, Ok(_) | Err(WriteError::UnknownNote { .. }));
                assert!(is_expected, "{moved:?}");
            }
            _ => {
                let text = sentence(&mut random);
                node.put(&path, &text, expected).unwrap();
            }
        }
    }
    nodes[0].put("odd.md", "# Odd\nunreadable moss", Precondition::Nothing).unwrap();
    for _ in 0..2 {
        nodes.iter().for_each(|node| assert!(node.settle() > 0));
    }
    let settled: BTreeSet<u64> = nodes.iter().map(TestNode::settle).collect();
    assert_eq!(settled, BTreeSet::from([notes.head().unwrap()]));

    let pulled = folder.path().join("pulled");
    pull(&notes, &pulled);
    let settings = IndexSettings {
        store: folder.path().join("fresh"),
        vaults: vec![VaultSettings { name: "notes".into(), root: pulled }],
        ..IndexSettings::default()
    };
    let n_again = Arc::new(AtomicUsize::new(0));
    let embedder = Words::new(&n_again) as Arc<dyn Embedder>;
    let fresh = Indexer::open(settings, Some(embedder), None).unwrap();
    fresh.wait_vectors(&AtomicBool::new(false), &mut |_| {}).unwrap();
    let expected = answers(fresh.reader());
    assert!(expected.len() > 60, "{expected:?}");
    for node in &nodes {
        let digest = |indexer: &Indexer| indexer.reader().snapshot().notes.total().digest;
        assert_eq!(digest(&node.indexer), digest(&fresh));
        assert_eq!(node.answers(), expected);
    }
    assert_unique(&history);
    let status = notes.status().unwrap();
    assert_eq!(n_texts.load(Ordering::SeqCst) as u64, status.n_vectors, "each text once");
    assert_eq!((status.n_jobs, status.n_rejected), (0, 1));
    assert_eq!(notes.verify().unwrap(), [""; 0]);
}

#[test]
fn node_that_joins_takes_texts_of_the_queue() {
    const N_TEXTS: u128 = 4_000;
    let Some((server, notes)) = collection() else { return };
    let folder = tempfile::tempdir().unwrap();
    let counts: [Arc<AtomicUsize>; 2] = Default::default();
    let model = Words::new(&counts[0]).identity().clone();
    let job = |n: u128| EmbeddingJob { hash: TextHash(n + 1), text: format!("moss {n}") };
    notes.add_jobs(&model, &(0..N_TEXTS).map(job).collect::<Vec<_>>()).unwrap();
    // The second one starts while the first one embeds.
    let _nodes: Vec<TestNode> = ["a", "b"]
        .iter()
        .zip(&counts)
        .map(|(id, count)| TestNode::start(&server, id, folder.path(), count))
        .collect();
    while notes.n_jobs().unwrap() > 0 {
        std::thread::sleep(Duration::from_millis(20));
    }
    let embedded = counts.each_ref().map(|count| count.load(Ordering::SeqCst));
    assert!(embedded[1] > 0, "{embedded:?}");
    assert_eq!(embedded.iter().sum::<usize>() as u128, N_TEXTS, "each text once: {embedded:?}");
}

#[test]
fn concurrent_writers_on_three_nodes_lose_nothing() {
    let Some((server, notes)) = collection() else { return };
    let folder = tempfile::tempdir().unwrap();
    let n_texts = Arc::new(AtomicUsize::new(0));
    let nodes = ["a", "b", "c"].map(|id| TestNode::start(&server, id, folder.path(), &n_texts));
    let n_each = 15;
    std::thread::scope(|scope| {
        for (at, node) in nodes.iter().enumerate() {
            scope.spawn(move || {
                for n in 0..n_each {
                    let own = format!("own{at}/{n}.md");
                    let generation = node.put(
                        &own,
                        &format!("# Note {at} {n}\n[[shared]]"),
                        Precondition::Nothing,
                    );
                    assert!(generation.unwrap() <= node.indexer.reader().snapshot().generation);
                    node.put("shared.md", &format!("# Last {at} {n}\n"), Precondition::Anything)
                        .unwrap();
                }
            });
        }
    });
    let taken = nodes[0].put("shared.md", "# Mine\n", Precondition::Nothing);
    assert!(matches!(taken, Err(WriteError::AlreadyExists { .. })), "{taken:?}");
    let digests: BTreeSet<u128> = nodes
        .iter()
        .map(|node| {
            node.settle();
            let snapshot = node.indexer.reader().snapshot();
            assert_eq!(snapshot.notes.n_notes(), 3 * n_each + 1);
            snapshot.notes.total().digest
        })
        .collect();
    assert_eq!(digests.len(), 1);
    assert_eq!(notes.status().unwrap().n_notes, 3 * n_each as u64 + 1);
}

#[test]
fn restarted_node_embeds_the_texts_that_it_had_taken() {
    let Some((server, notes)) = collection() else { return };
    let folder = tempfile::tempdir().unwrap();
    let n_texts = Arc::new(AtomicUsize::new(0));
    let model = Words::new(&n_texts).identity().clone();
    let job = EmbeddingJob { hash: TextHash(1), text: "green moss".to_owned() };
    notes.add_jobs(&model, &[job]).unwrap();
    assert_eq!(notes.take_jobs(&model, "a", 1, 3_600).unwrap().len(), 1);
    let _node = TestNode::start(&server, "a", folder.path(), &n_texts);
    let end = Instant::now() + Duration::from_secs(60);
    while notes.status().unwrap().n_jobs > 0 {
        assert!(Instant::now() < end, "the text stays taken");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(n_texts.load(Ordering::SeqCst), 1);
}

#[test]
fn node_without_its_database_serves_and_continues_afterwards() {
    let Some((mut server, notes)) = collection() else { return };
    let folder = tempfile::tempdir().unwrap();
    let n_texts = Arc::new(AtomicUsize::new(0));
    let node = TestNode::start(&server, "a", folder.path(), &n_texts);
    node.put("moss.md", "# Moss\ngreen", Precondition::Nothing).unwrap();
    node.settle();
    let before = node.answers();
    server.kill();
    let refused = node.put("moss.md", "# Moss\nbrown", Precondition::Anything);
    assert!(matches!(refused, Err(WriteError::Index(IndexError::Log { .. }))), "{refused:?}");
    assert_eq!(node.answers(), before);
    server.resume();
    let generation = node.put("moss.md", "# Moss\nbrown", Precondition::Anything).unwrap();
    node.settle();
    assert!(generation <= notes.head().unwrap());
    assert_ne!(node.answers(), before);
    assert_eq!(node.indexer.status().last_error, None);
}

/// It published states with more waiting texts than other nodes had under the same number.
#[test]
fn node_that_cannot_store_vectors_keeps_its_last_state() {
    let Some((server, notes)) = collection() else { return };
    let (folder, n_texts) = (tempfile::tempdir().unwrap(), Arc::new(AtomicUsize::new(0)));
    let history = History::default();
    let sound = TestNode::start(&server, "sound", folder.path(), &n_texts);
    let disk = FailingDisk::sound();
    let parts = (disk.disk(), VectorParams::default());
    let full = TestNode::open(&notes, "full", folder.path(), &n_texts, parts);
    sound.record(&history);
    full.record(&history);
    let text = "# Moss\ngreen and soft";
    sound.put("moss.md", text, Precondition::Nothing).unwrap();
    sound.settle();
    let before = notes.head().unwrap();
    full.settle();
    assert_eq!(full.indexer.reader().snapshot().generation, before);
    let answers = full.answers();
    disk.set_full_at("vec.f32");
    let expect_full = || {
        let refused = full.indexer.flush();
        assert!(matches!(refused, Err(IndexError::Store(_))), "{refused:?}");
        assert!(full.indexer.status().last_error.is_some());
        full.indexer.reader().snapshot().generation
    };
    // Its vector is known, and needs a row.
    sound.put("copy.md", text, Precondition::Nothing).unwrap();
    sound.settle();
    assert_eq!(expect_full(), before);
    assert_eq!(full.answers(), answers);
    // The note that was not published is gone by now, and another one may have its place.
    let (name, expected) = ("copy.md".to_owned(), Precondition::Anything);
    sound.indexer.write(WriteRequest::Delete { name, expected }).unwrap();
    sound.put("fern.md", "# Fern\nbeside water", Precondition::Nothing).unwrap();
    let head = sound.settle();
    assert!(expect_full() < head, "a text waits that has a vector");
    disk.set_full(false);
    full.indexer.flush().unwrap();
    sound.put("stone.md", "# Stone\n[[fern]]", Precondition::Nothing).unwrap();
    assert_eq!(sound.settle(), full.settle());
    assert_eq!(full.answers(), sound.answers());
    assert_eq!(full.indexer.status().last_error, None);
    assert_unique(&history);
}
