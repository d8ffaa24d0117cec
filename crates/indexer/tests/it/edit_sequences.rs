//! After any sequence of file changes, the index equals a fresh index of the final files.
//!
//! Each sequence has its own vault and ends with a comparison of everything that can be queried.
//! A quarter of the sequences pause halfway, so that their files are old enough to be skipped by the next scan.
//! A fifth start as Dendron vaults, and vaults change to and from Dendron at random.
//! In a quarter, text and Org files are notes at first, and vaults change that at random.
//! In a third, few missing notes are enough for the mass-deletion guard to keep them until the deletion is confirmed.
//!
//! `WEFT_SEQUENCE` selects the sequence with this number alone; `WEFT_HISTORIES` sets the number of long sequences on disk.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weft_engine::{Engine, EngineSettings, Filter, SearchMode, SearchRequest};
use weft_index::embedder::Embedder;
use weft_index::keyword::KeywordSettings;
use weft_indexer::parse::ParseOptions;
use weft_indexer::scan::ScanOptions;
use weft_indexer::{
    DeletionGuardOptions, IndexSettings, Indexer, Rescan, VaultSettings, VaultStatus, WatchOptions,
    WatchState,
};
use weft_model::NoteKind;

use crate::edit_script::EditScript;
use crate::fixtures::{FakeEmbedder, settle};

/// Number of sequences in a check, and of those among them whose changes are reported by the watcher instead of found by rescans.
const N_SEQUENCES: u64 = 2_000;
const N_WATCHED: u64 = 40;

/// Maximum number of steps of a sequence.
const MAX_STEPS: usize = 40;

/// Number of comparisons of a long sequence, and maximum number of steps between two of them.
const N_COMPARISONS: usize = 100;
const MAX_STEPS_BETWEEN: usize = 8;

/// Kinds of files besides Markdown in some vaults.
const OTHER_FILES: [NoteKind; 2] = [NoteKind::Text, NoteKind::Org];

/// Maximum time for reported changes to be indexed.
const MAX_DELAY: Duration = Duration::from_secs(30);

/// Time after which size and times of an unchanged file detect any later change.
const SETTLE_TIME: Duration = Duration::from_millis(2_100);

/// Returns everything that an index contains, independent of slots, rows and generations.
fn dump(indexer: &Indexer) -> String {
    let mut out = String::new();
    let snapshot = indexer.reader().snapshot();
    let engine = Engine::new(indexer.reader(), EngineSettings::default());
    let graph = engine.export(&Filter::default()).expect("a graph");
    let notes = &snapshot.notes;
    for node in &graph.nodes {
        let _ = writeln!(out, "{node:?}");
    }
    for edge in &graph.edges {
        let _ = writeln!(out, "{edge:?}");
    }
    for (id, entry) in notes.by_path() {
        let uri = |id| notes.graph().uri(id).to_string();
        let uris = |ids: &[weft_model::NoteId]| ids.iter().map(|id| uri(*id)).collect::<Vec<_>>();
        let vectors = snapshot.vectors.as_ref().expect("a model");
        let rows: Vec<Option<&[f32]>> =
            vectors.rows.of(id).iter().map(|row| vectors.index.vector((*row)?)).collect();
        let _ = writeln!(
            out,
            "{} = {} in {:?} about {:?} with {:?} subject of {:?} centrality {:?}\n  {:?} {:?} {:?}",
            entry.note.path,
            uri(id),
            notes.graph().parent(id).map(uri),
            notes.graph().object(id).map(uri),
            uris(notes.graph().children(id)),
            uris(notes.graph().referrings(id)),
            notes.graph().degrees(id),
            entry.note,
            entry.body,
            rows,
        );
    }
    for file in indexer.coverage() {
        let _ = writeln!(out, "{file:?}");
    }
    let ask = |out: &mut String, query: &str, mode: SearchMode| {
        let request =
            SearchRequest { query: query.into(), limit: 50, mode, ..SearchRequest::default() };
        let answer = engine.search(&request).expect("an answer");
        let _ = writeln!(out, "{query} {mode:?} {:?} {:?}", answer.warnings, answer.fanout_limited);
        for hit in answer.hits {
            let _ = writeln!(out, "  {hit:?}");
        }
    };
    for query in ["moss", "growing -shade", "étang \"soft light\"", "quill"] {
        ask(&mut out, query, SearchMode::Keyword);
    }
    ask(&mut out, "green water", SearchMode::Vector);
    ask(&mut out, "fern bog", SearchMode::Hybrid);
    let status = indexer.status();
    let counts: BTreeMap<&str, usize> = [
        ("notes", status.n_notes),
        ("placeholders", status.n_placeholders),
        ("links", status.n_links),
        ("unresolved", status.n_unresolved),
        ("chunks", status.n_chunks),
        ("pending", status.n_vectors_pending),
    ]
    .into();
    let _ = writeln!(out, "{counts:?} {:?} {:x}", status.last_error, status.digest);
    for vault in status.vaults {
        let _ = writeln!(out, "{:?}", VaultStatus { watch_state: WatchState::Off, ..vault });
    }
    out
}

/// Creates a folder whose files are kept in memory, if the system has one.
fn in_memory() -> tempfile::TempDir {
    let shared = Path::new("/dev/shm");
    let made = if shared.is_dir() { tempfile::tempdir_in(shared) } else { tempfile::tempdir() };
    made.expect("a temporary folder")
}

fn on_disk() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// A vault that changes, and the index that follows it.
struct IndexedVault {
    /// Dropped before the folder, or it would persist its state there once more.
    indexer: Option<Indexer>,
    script: EditScript,
    settings: IndexSettings,
    embedder: Arc<FakeEmbedder>,
    folder: tempfile::TempDir,
}

impl IndexedVault {
    fn new(number: u64, folder: tempfile::TempDir) -> Self {
        let root = folder.path().join("vault");
        std::fs::create_dir(&root).expect("a vault");
        let deletion_guard = if number.is_multiple_of(3) {
            DeletionGuardOptions { max_share: 0.3, min_notes: 2 }
        } else {
            DeletionGuardOptions { max_share: 1.0, ..DeletionGuardOptions::default() }
        };
        let settings = IndexSettings {
            store: folder.path().join("store"),
            vaults: vec![VaultSettings { name: "vault".into(), root }],
            watch: WatchOptions { enabled: false, ..WatchOptions::default() },
            keyword: KeywordSettings {
                heap_bytes_per_thread: 15_000_000,
                ..KeywordSettings::default()
            },
            deletion_guard,
            parse: ParseOptions { dendron: number.is_multiple_of(5), ..ParseOptions::default() },
            scan: ScanOptions {
                other_files: if number % 4 == 1 { OTHER_FILES.into() } else { Vec::new() },
                ..ScanOptions::default()
            },
            ..IndexSettings::default()
        };
        let (script, embedder) = (EditScript::new(number), FakeEmbedder::new());
        Self { indexer: None, script, settings, embedder, folder }
    }

    fn open(&self, settings: IndexSettings) -> Indexer {
        let embedder = Arc::clone(&self.embedder) as Arc<dyn Embedder>;
        Indexer::open(settings, Some(embedder), None).expect("an index")
    }

    fn start(&mut self) {
        self.indexer = Some(self.open(self.settings.clone()));
    }

    fn stop(&mut self) {
        self.indexer.take().into_iter().for_each(Indexer::stop);
    }

    /// Changes the files or the index once.
    fn step(&mut self) {
        if self.indexer.is_none() {
            self.start();
        }
        let Self { script, indexer: Some(indexer), settings, .. } = self else { return };
        match script.below(14) {
            0 => {
                script.log(format_args!("restart"));
                let toggles_dendron = script.chance(8);
                self.settings.parse.dendron ^= toggles_dendron;
                if script.chance(8) {
                    let other_files = &mut self.settings.scan.other_files;
                    *other_files =
                        if other_files.is_empty() { OTHER_FILES.into() } else { Vec::new() };
                }
                self.stop();
                self.start();
            }
            1 => {
                let full = Rescan { full: true, compact: script.chance(4), choose_model: false };
                script.log(format_args!("a full rescan"));
                indexer.rescan(full).expect("a rescan");
            }
            2 | 3 if !settings.watch.enabled => {
                script.log(format_args!("a rescan"));
                indexer.rescan(Rescan::default()).expect("a rescan");
            }
            4 => {
                script.log(format_args!("confirm deletions"));
                indexer.confirm_deletions(None).expect("confirmed");
            }
            _ => script.act(&settings.vaults[0].root, indexer),
        }
    }

    /// Returns the dump of a fresh index of the files.
    fn fresh_dump(&self) -> String {
        let store = self.folder.path().join("fresh");
        let watch = WatchOptions { enabled: false, ..self.settings.watch.clone() };
        let fresh =
            self.open(IndexSettings { store: store.clone(), watch, ..self.settings.clone() });
        settle(&fresh);
        let expected = dump(&fresh);
        fresh.stop();
        std::fs::remove_dir_all(store).expect("removed");
        expected
    }

    /// Compares the index with a fresh one, after a scan of every file.
    fn compare(&mut self) -> Result<(), String> {
        if self.indexer.is_none() {
            self.start();
        }
        let indexer = self.indexer.as_ref().expect("an index");
        settle(indexer);
        indexer.confirm_deletions(None).expect("confirmed");
        settle(indexer);
        self.differs(&dump(indexer), &self.fresh_dump())
    }

    /// Returns an error with both dumps if they differ.
    fn differs(&self, now: &str, expected: &str) -> Result<(), String> {
        if now == expected {
            return Ok(());
        }
        let mut lines = now.lines().zip(expected.lines());
        let (now, expected) =
            lines.find(|(a, b)| a != b).unwrap_or(("fewer lines", "more lines, or the reverse"));
        let log = &self.script.log;
        Err(format!("{log}the index contains\n{now}\na fresh index contains\n{expected}"))
    }
}

/// A sequence whose changes are reported by the watcher while others are being read.
fn watched(number: u64) {
    let mut vault = IndexedVault::new(number, in_memory());
    vault.settings.watch = WatchOptions { debounce_ms: 5, ..WatchOptions::default() };
    vault.settings.deletion_guard.max_share = 1.0;
    vault.start();
    for _ in 0..=vault.script.below(MAX_STEPS) {
        vault.step();
        std::thread::sleep(Duration::from_millis(vault.script.below(4) as u64 * 5));
    }
    let (indexer, expected) = (vault.indexer.as_ref().expect("an index"), vault.fresh_dump());
    let deadline = Instant::now() + MAX_DELAY;
    while let Err(why) = vault.differs(&dump(indexer), &expected) {
        assert!(Instant::now() < deadline, "sequence {number}, watched:\n{why}");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(indexer.status().vaults[0].watch_state, WatchState::Native);
}

/// A sequence, or its beginning.
#[derive(Clone, Copy)]
struct Sequence {
    number: u64,
    /// Maximum number of steps; the sequence number may give fewer.
    max_steps: usize,
}

impl Sequence {
    /// Returns true if the sequence pauses halfway, so that its files become old.
    const fn pauses(self) -> bool {
        self.number.is_multiple_of(4)
    }

    /// Runs the first half of a sequence that pauses, else none of it.
    fn begin(self) -> (IndexedVault, usize) {
        let mut vault = IndexedVault::new(self.number, in_memory());
        // Short sequences are frequent: most bugs show early.
        let max_steps = 1 + vault.script.below(MAX_STEPS);
        let n_steps = (1 + vault.script.below(max_steps)).min(self.max_steps);
        let n_done = if self.pauses() { n_steps / 2 } else { 0 };
        (0..n_done).for_each(|_| vault.step());
        if self.pauses() {
            vault.script.log(format_args!("pause"));
            vault.stop();
        }
        (vault, n_steps - n_done)
    }

    fn end(self, (mut vault, n_left): (IndexedVault, usize)) -> Result<(), String> {
        (0..n_left).for_each(|_| vault.step());
        vault.compare()
    }

    fn run(self) -> Result<(), String> {
        let begun = self.begin();
        if self.pauses() {
            std::thread::sleep(SETTLE_TIME);
        }
        self.end(begun)
    }

    /// Panics with the shortest beginning of the sequence that differs from a fresh index.
    fn fail(self, why: &str) -> ! {
        let Self { number, .. } = self;
        let shorter = (0..MAX_STEPS).map(|max_steps| Self { max_steps, ..self });
        let shortest = shorter.filter_map(|sequence| sequence.run().err()).next();
        let log = shortest.unwrap_or_else(|| format!("not reproducible:\n{why}"));
        panic!(
            "sequence {number}:\n{log}\nrepeat it with WEFT_SEQUENCE={number} cargo test --workspace --test it any_sequence"
        )
    }
}

/// Runs sequences one after the other; those that pause begin before all others and end after them.
fn run(numbers: impl Iterator<Item = u64>) {
    let sequences = numbers.map(|number| Sequence { number, max_steps: MAX_STEPS });
    let (pausing, others): (Vec<Sequence>, Vec<Sequence>) = sequences.partition(|it| it.pauses());
    let begun: Vec<_> = pausing.iter().map(|sequence| (*sequence, sequence.begin())).collect();
    let paused_since = Instant::now();
    let others = others.into_iter().map(|sequence| (sequence, sequence.begin()));
    let paused = begun.into_iter().inspect(|_| {
        std::thread::sleep(SETTLE_TIME.saturating_sub(paused_since.elapsed()));
    });
    for (sequence, begun) in others.chain(paused) {
        sequence.end(begun).unwrap_or_else(|why| sequence.fail(&why));
    }
}

/// Splits work over a range of numbers among all cores.
fn share(numbers: std::ops::Range<u64>, work: impl Fn(&mut dyn Iterator<Item = u64>) + Sync) {
    let n_threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for first in 0..n_threads {
            let mut own = numbers.clone().skip(first).step_by(n_threads);
            let work = &work;
            scope.spawn(move || work(&mut own));
        }
    });
}

/// A long sequence on disk, compared repeatedly.
fn history(number: u64) {
    let mut vault = IndexedVault::new(number, on_disk());
    for comparison in 0..N_COMPARISONS {
        for _ in 0..=vault.script.below(MAX_STEPS_BETWEEN) {
            vault.step();
        }
        vault
            .compare()
            .unwrap_or_else(|why| panic!("history {number}, comparison {comparison}:\n{why}"));
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "developers may request more than a check does")]
fn any_sequence_equals_a_fresh_index() {
    let requested = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match (requested("WEFT_SEQUENCE"), requested("WEFT_HISTORIES")) {
        (Some(number), _) => run(std::iter::once(number)),
        (None, Some(n)) => share(0..n, |numbers| numbers.for_each(history)),
        (None, None) => share(0..N_SEQUENCES, |numbers| run(numbers)),
    }
}

#[test]
fn watched_changes_equal_a_fresh_index() {
    share(0..N_WATCHED, |numbers| numbers.for_each(watched));
}
