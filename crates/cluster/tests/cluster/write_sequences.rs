//! After any sequence of writes on any nodes, every node equals a fresh index of the pulled folders.
//!
//! Each sequence has a collection of two vaults: one that only nodes write, and one that a folder is pushed into as well.
//! Nodes are killed, restarted, lost and added meanwhile; a killed node's disk fails in the middle of its work, and the texts that it was embedding stay taken.
//!
//! `WEFT_CLUSTER_SEQUENCES` sets their numbers, such as `0..2000`; the times at which nodes follow the log differ in each run.

use std::fmt::{self, Write as _};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use tempfile::TempDir;
use weft_cluster::{Collection, Database, NodeReport, PushOptions};
use weft_engine::context::{ContextBudget, ContextRequest, LimitOverrides, Order, Rendering};
use weft_engine::{
    DisabledSignals, Engine, EngineSettings, Filter, ListRequest, SearchMode, SearchRequest,
};
use weft_index::embedder::{Embedder, ModelIdentity};
use weft_index::vector::VectorParams;
use weft_indexer::scan::ScanOptions;
use weft_indexer::{
    DeletionGuardOptions, IndexSettings, Indexer, Precondition, VaultSettings, WriteContent,
    WriteError, WriteRequest,
};
use weft_model::Chars;
use weft_testkit::{FailingDisk, Postgres, Random};

use crate::connect_as;
use crate::followers::{History, TestNode, Words};

/// Number of sequences in a check.
const N_SEQUENCES: u64 = 24;

/// Maximum number of steps of a sequence.
const MAX_STEPS: usize = 40;

/// Maximum number of nodes at a time.
const MAX_NODES: usize = 4;

/// Number of sequences at a time: each waits for its database much of the time.
const N_PARALLEL: usize = 4;

/// Time for which a killed node holds its texts, in seconds: longer than a sequence takes.
const HELD_SECONDS: u32 = 3_600;

/// Maximum number of times that a node is compared with the head of the log.
const MAX_COMPARED: usize = 100;

/// Vault that only nodes write, and the one that a folder is pushed into.
const VAULTS: [&str; 2] = ["hosted", "pushed"];

const WORDS: [&str; 10] =
    ["moss", "fern", "stone", "water", "light", "green", "grows", "beside", "wood", "étang"];

fn word(random: &mut Random) -> &'static str {
    WORDS[random.below(WORDS.len())]
}

/// Returns a path that is likely to be in use.
fn path(random: &mut Random) -> String {
    let folder = ["", "", "wood/", "wood/deep/"][random.below(4)];
    let name = format!("{}{}", word(random), random.below(2));
    if random.below(5) == 0 {
        format!("{folder}{name}/{name}.md")
    } else {
        format!("{folder}{name}.md")
    }
}

fn text(random: &mut Random) -> String {
    let mut text = String::new();
    if random.below(4) == 0 {
        let (alias, tag) = (word(random), word(random));
        let _ = writeln!(
            text,
            "---\naliases: [the {alias}]\ntags: [{tag}]\nparent: \"[[{tag}0]]\"\n---"
        );
    }
    let _ = writeln!(text, "# {}", word(random));
    for _ in 0..random.below(60) {
        text += word(random);
        text += [" ", " ", ", ", "\n\n## part\n"][random.below(4)];
    }
    for _ in 0..random.below(3) {
        let _ = write!(text, "[[{}{}|{}]] ", word(random), random.below(2), word(random));
    }
    text
}

/// A node and the disk of its index.
struct KillableNode {
    id: String,
    node: TestNode,
    disk: Arc<FailingDisk>,
}

/// A collection, its nodes and the folder that is pushed into it.
struct TestCluster<'s> {
    server: &'s Postgres,
    notes: Collection,
    folder: TempDir,
    nodes: Vec<KillableNode>,
    n_started: usize,
    lost: Vec<String>,
    history: History,
    n_texts: Arc<AtomicUsize>,
    random: Random,
    log: String,
}

impl<'s> TestCluster<'s> {
    fn new(server: &'s Postgres, database: &Arc<Database>, number: u64) -> Self {
        let notes = Collection::create(database, &format!("sequence{number}"), &VAULTS);
        let folder = in_memory();
        std::fs::create_dir(folder.path().join("source")).unwrap();
        let mut cluster = Self {
            server,
            notes: notes.unwrap(),
            folder,
            nodes: Vec::new(),
            n_started: 0,
            lost: Vec::new(),
            history: History::default(),
            n_texts: Arc::default(),
            random: Random::new(number),
            log: String::new(),
        };
        for _ in 0..1 + cluster.random.below(3) {
            cluster.add_node();
        }
        cluster
    }

    fn log(&mut self, line: fmt::Arguments<'_>) {
        let _ = writeln!(self.log, "{line}");
    }

    fn start(&mut self, id: String) {
        let notes =
            Collection::open(&connect_as(self.server, "postgres"), self.notes.name()).unwrap();
        let disk = FailingDisk::sound();
        let parts = (disk.disk(), VectorParams::default());
        let node = TestNode::open(&notes, &id, self.folder.path(), &self.n_texts, parts);
        node.record(&self.history);
        self.nodes.push(KillableNode { id, node, disk });
    }

    fn add_node(&mut self) {
        self.n_started += 1;
        let id = format!("node{}", self.n_started);
        self.log(format_args!("start {id}"));
        self.start(id);
    }

    /// Ends a node in the middle of its work and returns its id: its disk fails, its last write may have succeeded or not, and the texts that it was embedding stay taken.
    fn kill(&mut self, at: usize) -> String {
        let n_operations = self.random.below(8) as u64;
        self.nodes[at].disk.die_after(n_operations);
        self.write(at);
        let KillableNode { id, node, .. } = self.nodes.remove(at);
        self.log(format_args!("kill {id} at its disk operation {n_operations} of this write"));
        drop(node);
        // A killed node stays in the list, with its texts.
        let (address, version) = (String::new(), String::new());
        let report = NodeReport { id: id.clone(), address, version, generation: 0, digest: 0 };
        self.notes.report_node(&report).unwrap();
        let n_taken = 1 + u32::try_from(self.random.below(3)).unwrap();
        self.notes.take_jobs(&self.model(), &id, n_taken, HELD_SECONDS).unwrap();
        id
    }

    fn model(&self) -> ModelIdentity {
        Words::new(&self.n_texts).identity().clone()
    }

    /// Changes the cluster or its notes once.
    fn step(&mut self) {
        let at = self.random.below(self.nodes.len());
        match self.random.below(16) {
            0 => {
                let id = self.kill(at);
                self.log(format_args!("restart {id}"));
                self.start(id);
            }
            1 if self.nodes.len() > 1 => {
                let id = self.kill(at);
                self.lost.push(id);
            }
            2 => {
                let KillableNode { id, node, .. } = self.nodes.remove(at);
                self.log(format_args!("stop {id}, start it again"));
                drop(node);
                self.start(id);
            }
            3 if self.nodes.len() < MAX_NODES => self.add_node(),
            4..7 => self.push(),
            _ => self.write(at),
        }
    }

    /// Writes on one node. Names may name no note or several, and paths may be in use; only a killed node may fail otherwise.
    fn write(&mut self, at: usize) {
        let random = &mut self.random;
        let vault = VAULTS[random.below(VAULTS.len())];
        let expected = Precondition::Anything;
        let name = format!("{vault}:{}", path(random).trim_end_matches(".md"));
        let write = match random.below(8) {
            0 | 1 => WriteRequest::Delete { name, expected },
            2 | 3 => {
                let (to, rewrite_links) = (path(random), random.below(4) > 0);
                WriteRequest::Move { name, to, expected, rewrite_links }
            }
            _ => {
                let content = WriteContent::Whole(text(random));
                let path = path(random);
                WriteRequest::Put { vault: Some(vault.to_owned()), path, content, expected }
            }
        };
        let KillableNode { id, node, .. } = &self.nodes[at];
        let outcome = node.indexer.write(write.clone());
        let line = format!("{id}: {write:?}: {:?}", outcome.as_ref().map(|it| it.generation));
        let is_expected = match outcome {
            Ok(outcome) => {
                outcome.generation.is_some_and(|number| number <= self.notes.head().unwrap())
            }
            Err(WriteError::UnknownNote { .. } | WriteError::AlreadyExists { .. }) => true,
            Err(WriteError::Invalid { field: "name", reason }) => {
                reason.contains("names several notes")
            }
            Err(_) => false,
        };
        self.log(format_args!("{line}"));
        let is_dying = self.nodes[at].disk.is_dying();
        assert!(is_expected || is_dying, "{}", self.log);
    }

    /// Changes some files of the folder and pushes them as one batch.
    fn push(&mut self) {
        let source = self.folder.path().join("source");
        for _ in 0..1 + self.random.below(8) {
            let file = source.join(path(&mut self.random));
            if self.random.below(4) == 0 {
                let _ = std::fs::remove_file(&file);
            } else {
                std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                std::fs::write(&file, text(&mut self.random)).unwrap();
            }
        }
        let options = PushOptions {
            scan: ScanOptions::default(),
            deletion_guard: DeletionGuardOptions::default(),
            removes_any: true,
            holder: "the folder".to_owned(),
            machine: "the machine".to_owned(),
        };
        let pushed = self.notes.push(&source, VAULTS[1], &options).unwrap();
        self.log(format_args!("{pushed:?}"));
    }

    /// Compares every node with a fresh index of the pulled folders, and the log with its checksums.
    fn compare(&mut self) -> Result<(), String> {
        for id in &self.lost {
            self.notes.drop_node(id).unwrap();
        }
        // The first round makes the vectors that the second one waits for.
        for _ in 0..2 {
            self.nodes.iter().for_each(|it| assert!(it.node.settle() > 0));
        }
        let expected = self.fresh_dump();
        for KillableNode { id, node, .. } in &self.nodes {
            // A vector graph that has just been built is one more commit.
            let mut state = (0, 0);
            let is_current = (0..MAX_COMPARED).any(|_| {
                state = (node.settle(), self.notes.head().unwrap());
                state.0 == state.1
            });
            if !is_current {
                let (generation, head) = state;
                return Err(format!("{id} serves {generation}, and the head is {head}"));
            }
            let dump = dump(&node.indexer);
            if dump != expected {
                let mut lines = dump.lines().zip(expected.lines());
                let (ours, theirs) = lines.find(|(a, b)| a != b).unwrap_or(("a part", "another"));
                return Err(format!("{id} has\n{ours}\na fresh index has\n{theirs}"));
            }
        }
        for (generation, states) in &*self.history.lock().unwrap() {
            if states.len() > 1 {
                return Err(format!("generation {generation} stands for {states:?}"));
            }
        }
        let problems = self.notes.verify().unwrap();
        if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
    }

    /// Returns the dump of a new index of folders that the vaults are pulled into.
    fn fresh_dump(&self) -> String {
        let pulled = |vault: &str| self.folder.path().join("pulled").join(vault);
        let vault = |name: &&str| {
            self.notes.pull(name, &pulled(name), "the machine").unwrap();
            VaultSettings { name: (*name).to_owned(), root: pulled(name) }
        };
        let settings = IndexSettings {
            store: self.folder.path().join("fresh"),
            vaults: VAULTS.iter().map(vault).collect(),
            ..IndexSettings::default()
        };
        let embedder = Words::new(&Arc::default()) as Arc<dyn Embedder>;
        let fresh = Indexer::open(settings, Some(embedder), None).unwrap();
        fresh.wait_vectors(&AtomicBool::new(false), &mut |_| {}).unwrap();
        dump(&fresh)
    }
}

/// Returns everything that an index answers, without its generation: export, table with vectors, list, hits and contexts.
fn dump(indexer: &Indexer) -> String {
    let engine = Engine::new(indexer.reader(), EngineSettings::default());
    let snapshot = indexer.reader().snapshot();
    let mut out = String::new();
    let graph = engine.export(&Filter::default()).unwrap();
    let _ = writeln!(out, "{:#?}\n{:#?}", graph.nodes, graph.edges);
    let vectors = snapshot.vectors.as_ref().unwrap();
    for (id, entry) in snapshot.notes.by_path() {
        let rows: Vec<Option<&[f32]>> =
            vectors.rows.of(id).iter().map(|row| vectors.index.vector((*row)?)).collect();
        let _ = writeln!(out, "{:?} {:?} {rows:?}", entry.note, entry.body);
    }
    let list = ListRequest { page_size: 1_000, ..ListRequest::default() };
    let _ = writeln!(out, "{:?}", engine.list(&list).unwrap().notes);
    for query in ["moss green", "étang \"beside light\"", "the stone", "wood0"] {
        for mode in [SearchMode::Hybrid, SearchMode::Vector, SearchMode::Keyword] {
            let (query, limit) = (query.to_owned(), 20);
            let request = SearchRequest { query, limit, mode, ..SearchRequest::default() };
            let answer = engine.search(&request).unwrap();
            let _ = writeln!(out, "{} {mode:?} {:?}", request.query, answer.warnings);
            let _ = writeln!(out, "{:#?}", answer.hits);
        }
        let context = engine.context(&context(query)).unwrap();
        let _ = writeln!(out, "{:?} {:?}", context.items, context.omitted);
        let _ = writeln!(out, "{:?} {:?}", context.summary.rendered, context.summary.used);
    }
    let total = snapshot.notes.total();
    let _ = writeln!(out, "{:x}", total.digest);
    out
}

fn context(query: &str) -> ContextRequest {
    ContextRequest {
        query: query.to_owned(),
        focus: None,
        walk: None,
        notes: vec![],
        notes_only: false,
        filter: Filter::default(),
        mode: SearchMode::Hybrid,
        profile: None,
        weights: None,
        disabled_signals: DisabledSignals::default(),
        typo_tolerance: None,
        rerank: None,
        limit: None,
        budget: Some(ContextBudget::Characters(Chars(3_000))),
        estimator: None,
        packing: None,
        citations: None,
        explain: false,
        limits: LimitOverrides::default(),
        rendering: Rendering::Markdown,
        order: Order::BestFirst,
    }
}

/// Creates a folder whose files are kept in memory, if the system has one.
fn in_memory() -> TempDir {
    let shared = Path::new("/dev/shm");
    let made = if shared.is_dir() { tempfile::tempdir_in(shared) } else { tempfile::tempdir() };
    made.unwrap()
}

/// Runs one sequence and removes its collection.
fn run(server: &Postgres, database: &Arc<Database>, number: u64) {
    let mut cluster = TestCluster::new(server, database, number);
    // Short sequences are frequent: most bugs show early.
    let max_steps = 1 + cluster.random.below(MAX_STEPS);
    for _ in 0..=cluster.random.below(max_steps) {
        cluster.step();
    }
    let compared = cluster.compare();
    compared.unwrap_or_else(|why| {
        panic!(
            "sequence {number}:\n{}{why}\nrepeat it with WEFT_CLUSTER_SEQUENCES={number}..{} cargo test --workspace --test cluster any_sequence",
            cluster.log,
            number + 1
        )
    });
    cluster.nodes.clear();
    cluster.notes.erase().unwrap();
}

/// Parses numbers of sequences, such as `0..2000`.
fn range(text: &str) -> Range<u64> {
    let (start, end) = text.split_once("..").expect("numbers such as 0..2000");
    start.parse().unwrap()..end.parse().unwrap()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "developers may request more than a check does")]
fn any_sequence_of_writes_on_any_nodes_equals_a_fresh_index() {
    let Some(server) = Postgres::start() else { return };
    let database = connect_as(&server, "postgres");
    database.migrate().unwrap();
    let requested = std::env::var("WEFT_CLUSTER_SEQUENCES").ok();
    let numbers = requested.map_or(0..N_SEQUENCES, |text| range(&text));
    let next = AtomicU64::new(numbers.start);
    std::thread::scope(|scope| {
        for _ in 0..N_PARALLEL {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::SeqCst);
                    if number >= numbers.end {
                        return;
                    }
                    run(&server, &database, number);
                }
            });
        }
    });
}
