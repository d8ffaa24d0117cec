//! Whatever happens to the files, the index comes to what a fresh one of the final files says.
//!
//! A sequence begins with a vault of its own, and ends with a comparison of everything that can be asked.
//! A quarter of them stop half way, and go on with files that lay unchanged for a while and need not be read again.
//! A fifth of them begin as vaults of Dendron, and now and then one becomes or ceases to be such.
//! In a third of them few missing notes are enough for the fuse to keep them, until that is confirmed.
//!
//! `WEFT_SEQUENCE` asks for the sequence with this number alone, `WEFT_HISTORIES` for this many long ones on disk.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weft_engine::{Engine, EngineSettings, Filter, SearchMode, SearchRequest};
use weft_index::embedder::Embedder;
use weft_index::keyword::KeywordSettings;
use weft_indexer::parse::ParseOptions;
use weft_indexer::{
    FuseOptions, IndexSettings, Indexer, Rescan, VaultSettings, VaultStatus, WatchOptions,
    WatchState,
};

use crate::fake::{FakeEmbedder, settle};
use crate::story::Story;

/// Sequences that a check runs, and those of them whose changes are announced and not looked for.
const N_SEQUENCES: u64 = 2_000;
const N_ANNOUNCED: u64 = 40;

/// Steps of a sequence at most.
const MOST_STEPS: usize = 40;

/// Comparisons of a long one, and steps between two of them at most.
const N_STRETCHES: usize = 100;
const STEPS_OF_STRETCH: usize = 8;

/// How long announced changes may take to be in the index.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long a file must lie unchanged so that its size and times tell whether it was changed since.
const REST: Duration = Duration::from_millis(2_100);

/// Everything that an index says, in a form that knows nothing of slots, rows and generations.
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
            "{} = {} in {:?} about {:?} with {:?} told of by {:?} centrality {:?}\n  {:?} {:?} {:?}",
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
        let _ = writeln!(out, "{query} {mode:?} {:?} {:?}", answer.degraded, answer.capped);
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
        let _ = writeln!(out, "{:?}", VaultStatus { watching: WatchState::Off, ..vault });
    }
    out
}

/// A folder whose files are kept in memory, where the system has one.
fn in_memory() -> tempfile::TempDir {
    let shared = Path::new("/dev/shm");
    let made = if shared.is_dir() { tempfile::tempdir_in(shared) } else { tempfile::tempdir() };
    made.expect("a temporary folder")
}

fn on_disk() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// A vault under way, and the index that follows it.
struct Life {
    /// Ends before its folder goes, or it would write itself down there once more.
    indexer: Option<Indexer>,
    story: Story,
    settings: IndexSettings,
    embedder: Arc<FakeEmbedder>,
    folder: tempfile::TempDir,
}

impl Life {
    fn new(number: u64, folder: tempfile::TempDir) -> Self {
        let root = folder.path().join("vault");
        std::fs::create_dir(&root).expect("a vault");
        let fuse = if number.is_multiple_of(3) {
            FuseOptions { max_share: 0.3, min_notes: 2 }
        } else {
            FuseOptions { max_share: 1.0, ..FuseOptions::default() }
        };
        let settings = IndexSettings {
            store: folder.path().join("store"),
            vaults: vec![VaultSettings { name: "vault".into(), root }],
            watch: WatchOptions { enabled: false, ..WatchOptions::default() },
            keyword: KeywordSettings {
                heap_bytes_per_thread: 15_000_000,
                ..KeywordSettings::default()
            },
            fuse,
            parse: ParseOptions { dendron: number.is_multiple_of(5), ..ParseOptions::default() },
            ..IndexSettings::default()
        };
        let (story, embedder) = (Story::new(number), FakeEmbedder::new());
        Self { indexer: None, story, settings, embedder, folder }
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

    /// Does one thing to the files, or to the index.
    fn step(&mut self) {
        if self.indexer.is_none() {
            self.start();
        }
        let Self { story, indexer: Some(indexer), settings, .. } = self else { return };
        match story.below(14) {
            0 => {
                story.tell(format_args!("restart"));
                let turns = story.happens(8);
                self.settings.parse.dendron ^= turns;
                self.stop();
                self.start();
            }
            1 => {
                let full = Rescan { full: true, compact: story.happens(4) };
                story.tell(format_args!("a full look"));
                indexer.rescan(full).expect("a look");
            }
            2 | 3 if !settings.watch.enabled => {
                story.tell(format_args!("a look"));
                indexer.rescan(Rescan::default()).expect("a look");
            }
            4 => {
                story.tell(format_args!("missing notes may go"));
                indexer.confirm(None).expect("confirmed");
            }
            _ => story.act(&settings.vaults[0].root, indexer),
        }
    }

    /// What a fresh index of the files says.
    fn fresh(&self) -> String {
        let store = self.folder.path().join("fresh");
        let watch = WatchOptions { enabled: false, ..self.settings.watch.clone() };
        let fresh =
            self.open(IndexSettings { store: store.clone(), watch, ..self.settings.clone() });
        settle(&fresh);
        let wanted = dump(&fresh);
        fresh.stop();
        std::fs::remove_dir_all(store).expect("removed");
        wanted
    }

    /// Compares the index with a fresh one, after a look at every file.
    fn compare(&mut self) -> Result<(), String> {
        if self.indexer.is_none() {
            self.start();
        }
        let indexer = self.indexer.as_ref().expect("an index");
        settle(indexer);
        indexer.confirm(None).expect("confirmed");
        settle(indexer);
        self.differs(&dump(indexer), &self.fresh())
    }

    /// Where the index says something else than is wanted.
    fn differs(&self, now: &str, wanted: &str) -> Result<(), String> {
        if now == wanted {
            return Ok(());
        }
        let mut lines = now.lines().zip(wanted.lines());
        let (now, wanted) =
            lines.find(|(a, b)| a != b).unwrap_or(("less", "more, or the other way round"));
        let told = &self.story.told;
        Err(format!("{told}the index says\n{now}\na fresh one says\n{wanted}"))
    }
}

/// A sequence whose changes nobody looks for: they are announced, while others are being read.
fn announced(number: u64) {
    let mut life = Life::new(number, in_memory());
    life.settings.watch = WatchOptions { debounce_ms: 5, ..WatchOptions::default() };
    life.settings.fuse.max_share = 1.0;
    life.start();
    for _ in 0..=life.story.below(MOST_STEPS) {
        life.step();
        std::thread::sleep(Duration::from_millis(life.story.below(4) as u64 * 5));
    }
    let (indexer, wanted) = (life.indexer.as_ref().expect("an index"), life.fresh());
    let given_up = Instant::now() + PATIENCE;
    while let Err(why) = life.differs(&dump(indexer), &wanted) {
        assert!(Instant::now() < given_up, "sequence {number}, announced:\n{why}");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(indexer.status().vaults[0].watching, WatchState::Announced);
}

/// A sequence, or the beginning of one.
#[derive(Clone, Copy)]
struct Sequence {
    number: u64,
    /// After how many steps it ends; as many as the number says where that is less.
    most_steps: usize,
}

impl Sequence {
    /// Whether it stops half way, so that files lie unchanged for a while.
    const fn rests(self) -> bool {
        self.number.is_multiple_of(4)
    }

    /// Its first half, where it rests, else nothing of it.
    fn begin(self) -> (Life, usize) {
        let mut life = Life::new(self.number, in_memory());
        // Short ones are many: what fails most often fails soon.
        let most = 1 + life.story.below(MOST_STEPS);
        let n_steps = (1 + life.story.below(most)).min(self.most_steps);
        let n_done = if self.rests() { n_steps / 2 } else { 0 };
        (0..n_done).for_each(|_| life.step());
        if self.rests() {
            life.story.tell(format_args!("a while"));
            life.stop();
        }
        (life, n_steps - n_done)
    }

    fn end(self, (mut life, n_left): (Life, usize)) -> Result<(), String> {
        (0..n_left).for_each(|_| life.step());
        life.compare()
    }

    fn run(self) -> Result<(), String> {
        let begun = self.begin();
        if self.rests() {
            std::thread::sleep(REST);
        }
        self.end(begun)
    }

    /// Tells the shortest beginning of a sequence that ends where a fresh index does not.
    fn fail(self, why: &str) -> ! {
        let Self { number, .. } = self;
        let shorter = (0..MOST_STEPS).map(|most_steps| Self { most_steps, ..self });
        let shortest = shorter.filter_map(|sequence| sequence.run().err()).next();
        let told = shortest.unwrap_or_else(|| format!("only once, and not again:\n{why}"));
        panic!(
            "sequence {number}:\n{told}\nrepeat it with WEFT_SEQUENCE={number} cargo test --workspace --test it any_sequence"
        )
    }
}

/// Runs sequences one after the other; those that rest begin before all others, and end after them.
fn run(numbers: impl Iterator<Item = u64>) {
    let sequences = numbers.map(|number| Sequence { number, most_steps: MOST_STEPS });
    let (resting, others): (Vec<Sequence>, Vec<Sequence>) = sequences.partition(|it| it.rests());
    let begun: Vec<_> = resting.iter().map(|sequence| (*sequence, sequence.begin())).collect();
    let resting_since = Instant::now();
    let others = others.into_iter().map(|sequence| (sequence, sequence.begin()));
    let rested = begun.into_iter().inspect(|_| {
        std::thread::sleep(REST.saturating_sub(resting_since.elapsed()));
    });
    for (sequence, begun) in others.chain(rested) {
        sequence.end(begun).unwrap_or_else(|why| sequence.fail(&why));
    }
}

/// Does work of many numbers on all cores.
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

/// A long sequence on disk, compared again and again.
fn history(number: u64) {
    let mut life = Life::new(number, on_disk());
    for stretch in 0..N_STRETCHES {
        for _ in 0..=life.story.below(STEPS_OF_STRETCH) {
            life.step();
        }
        life.compare().unwrap_or_else(|why| panic!("history {number}, stretch {stretch}:\n{why}"));
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a person asks this test for more than a check does")]
fn any_sequence_leads_to_what_a_fresh_index_says() {
    let asked = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match (asked("WEFT_SEQUENCE"), asked("WEFT_HISTORIES")) {
        (Some(number), _) => run(std::iter::once(number)),
        (None, Some(n)) => share(0..n, |numbers| numbers.for_each(history)),
        (None, None) => share(0..N_SEQUENCES, |numbers| run(numbers)),
    }
}

#[test]
fn announced_changes_lead_to_what_a_fresh_index_says() {
    share(0..N_ANNOUNCED, |numbers| numbers.for_each(announced));
}
