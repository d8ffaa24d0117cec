//! Whatever happens to the files, the index comes to what a fresh one of the final files says.
//!
//! A history is a long random sequence of writes, edits, renames, deletions and restarts; each stretch of it ends with a comparison, so it counts as many sequences.
//! `WEFT_HISTORIES` asks for more histories than a check has time for, `WEFT_HISTORY` for the one with this number alone.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weft_engine::{Engine, EngineSettings, Filter, SearchMode, SearchRequest};
use weft_index::embedder::Embedder;
use weft_index::keyword::KeywordSettings;
use weft_indexer::{
    Content, Expected, FileCoverage, FuseOptions, IndexSettings, Indexer, Rescan, VaultSettings,
    WatchOptions, Write,
};
use weft_testkit::Random;

use crate::fake::{FakeEmbedder, settle};

/// Sequences that a check runs: histories, and the stretches of each.
const N_HISTORIES: u64 = 20;
const N_STRETCHES: usize = 100;

/// Files of a vault at most; below this many, more are written than go.
const MANY: usize = 24;

/// Where files lie: names that differ in case alone, notes of folders, folders within folders.
const PATHS: &[&str] = &[
    "fern.md",
    "Fern.md",
    "FERN.markdown",
    "index.md",
    "README.md",
    "bog.md",
    "bog/index.md",
    "bog/bog.md",
    "bog/README.md",
    "bog/moss.md",
    "bog/Moss.md",
    "bog/deep/peat.md",
    "bog/deep/index.md",
    "Bog/moss.md",
    "moss.md",
    "moss fern.md",
    "peat#1.md",
    "étang.md",
    "e\u{301}tang.md",
    "fen/fern.md",
    "fen/__index.md",
    "fen/deep/moss.md",
    ".hidden/moss.md",
    "notes.txt",
];

const FOLDERS: &[&str] = &["bog", "bog/deep", "fen", "Bog", "marsh"];

/// What links, ids and aliases call each other.
const NAMES: &[&str] = &[
    "fern",
    "Fern",
    "moss",
    "Moss",
    "bog",
    "bog/moss",
    "./moss",
    "../moss",
    "peat",
    "peat#1",
    "quill",
    "Quill",
    "reed",
    "index",
    "étang",
    "fen/fern",
    "deep/peat",
    "nowhere",
    "vault:moss",
    "/moss",
    "README",
];

const WORDS: &[&str] = &[
    "water", "green", "shade", "stone", "soft", "grows", "growing", "light", "root", "spore",
    "wind", "étang", "moss", "fern", "peat",
];

struct Story {
    random: Random,
    told: String,
}

impl Story {
    fn one<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.random.below(of.len())]
    }

    fn happens(&mut self, one_in: usize) -> bool {
        self.random.below(one_in) == 0
    }

    fn tell(&mut self, what: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.told, "  {what}");
    }

    /// A note's text: names, tags, properties, links of every kind, and some words.
    fn text(&mut self) -> String {
        let mut text = String::new();
        if self.happens(2) {
            text.push_str("---\n");
            for (key, one_in) in [
                ("uri", 8),
                ("id", 8),
                ("title", 4),
                ("type", 4),
                ("parent", 5),
                ("up", 8),
                ("object", 6),
                ("source", 8),
                ("topics", 4),
                ("order", 5),
                ("tags", 3),
            ] {
                if !self.happens(one_in) {
                    continue;
                }
                let (name, word) = (self.one(NAMES), self.one(WORDS));
                let _ = match key {
                    "uri" | "id" => writeln!(text, "{key}: {name}"),
                    "title" | "type" => writeln!(text, "{key}: {word}"),
                    "order" => writeln!(text, "order: {}", self.random.below(4)),
                    "tags" => writeln!(text, "tags: [{word}, {word}/sub]"),
                    _ => writeln!(text, "{key}: \"[[{name}]]\""),
                };
            }
            if self.happens(3) {
                let _ = writeln!(text, "aliases: [{}, {}]", self.one(NAMES), self.one(NAMES));
            }
            if self.happens(4) {
                let _ = writeln!(text, "links: [{{type: supports, id: {}}}]", self.one(NAMES));
            }
            if self.happens(12) {
                text.push_str("indexed: false\n");
            }
            if self.happens(20) {
                text.push_str("broken: [\n");
            }
            text.push_str("---\n");
        }
        if self.happens(2) {
            let _ = writeln!(text, "# {} {}", self.one(WORDS), self.one(WORDS));
        }
        for _ in 0..self.random.below(4) {
            let (name, word) = (self.one(NAMES), self.one(WORDS));
            let _ = match self.random.below(6) {
                0 => writeln!(text, "{word} [[{name}]] {}", self.one(WORDS)),
                1 => writeln!(text, "{word} [{word}](<{name}.md>)"),
                2 => writeln!(text, "![[{name}#Part]] #{word}"),
                3 => writeln!(text, "## {word}\n{word} [[{name}|{word}]]"),
                _ => writeln!(text, "{word} {} {}", self.one(WORDS), self.one(WORDS)),
            };
        }
        text
    }

    /// Does one thing to the files, or through the index.
    fn act(&mut self, root: &Path, indexer: &Indexer) {
        let files = files(root);
        let some = |story: &mut Self| files[story.random.below(files.len())].clone();
        let what = if files.is_empty() { 0 } else { self.random.below(20) };
        match what {
            0..=4 if files.len() < MANY => {
                let (path, text) = (self.one(PATHS), self.text());
                self.tell(format_args!("write {path:?} {text:?}"));
                write(&root.join(path), &text);
            }
            5..=7 => {
                let (path, text) = (some(self), self.text());
                self.tell(format_args!("edit {path:?} {text:?}"));
                write(&root.join(path), &text);
            }
            8 => {
                let (path, word) = (some(self), self.one(WORDS));
                self.tell(format_args!("append {path:?} {word}"));
                let text = std::fs::read_to_string(root.join(&path)).expect("a file");
                write(&root.join(path), &format!("{text}{word}\n"));
            }
            9 | 10 => {
                let (from, to) = (some(self), self.one(PATHS));
                self.tell(format_args!("rename {from:?} {to:?}"));
                rename(root, &from, to);
            }
            11 => {
                let from = some(self);
                let to = if self.happens(2) { from.to_uppercase() } else { from.to_lowercase() };
                let to = to.replace(".MD", ".md").replace(".TXT", ".txt");
                self.tell(format_args!("rename {from:?} {to:?}"));
                rename(root, &from, &to);
            }
            12 => {
                let (from, to) = (self.one(FOLDERS), self.one(FOLDERS));
                self.tell(format_args!("rename folder {from:?} {to:?}"));
                // Into itself, onto another, or from nowhere: then nothing happens.
                let _ = std::fs::rename(root.join(from), root.join(to));
            }
            13 => {
                let folder = self.one(FOLDERS);
                self.tell(format_args!("remove folder {folder:?}"));
                let _ = std::fs::remove_dir_all(root.join(folder));
            }
            14 => {
                let (one, other) = (some(self), some(self));
                self.tell(format_args!("swap {one:?} {other:?}"));
                let text = |path: &str| std::fs::read_to_string(root.join(path)).expect("a file");
                let (first, second) = (text(&one), text(&other));
                write(&root.join(one), &second);
                write(&root.join(other), &first);
            }
            15 => {
                let rule = self.one(&["bog\n", "*oss.md\n", "", "fen/deep\n!fern.md\n"]);
                self.tell(format_args!("rules {rule:?}"));
                write(&root.join(".weftignore"), rule);
            }
            16 => {
                let (path, text) = (self.one(PATHS), self.text());
                self.tell(format_args!("put {path:?} {text:?}"));
                let (path, content) = (path.to_owned(), Content::Whole(text));
                let expected = Expected::Anything;
                // What cannot be written there is refused.
                let _ = indexer.write(Write::Put { vault: None, path, content, expected });
            }
            17 => {
                let name = self.one(NAMES).to_owned();
                self.tell(format_args!("delete {name:?}"));
                let _ = indexer.write(Write::Delete { name, expected: Expected::Anything });
            }
            18 => {
                let (name, to) = (self.one(NAMES).to_owned(), self.one(PATHS).to_owned());
                self.tell(format_args!("move {name:?} {to:?}"));
                let expected = Expected::Anything;
                let _ = indexer.write(Write::Move { name, to, expected, rewrite_links: true });
            }
            _ => {
                let path = some(self);
                self.tell(format_args!("remove {path:?}"));
                std::fs::remove_file(root.join(path)).expect("removed");
            }
        }
    }
}

fn write(path: &Path, text: &str) {
    // A file may stand where a folder would have to be, or the other way round.
    let _ = std::fs::create_dir_all(path.parent().expect("a folder"));
    let _ = std::fs::write(path, text);
}

fn rename(root: &Path, from: &str, to: &str) {
    let to = root.join(to);
    let _ = std::fs::create_dir_all(to.parent().expect("a folder"));
    let _ = std::fs::rename(root.join(from), to);
}

/// The files of the vault, sorted, rules aside.
fn files(root: &Path) -> Vec<String> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with(".weftignore") {
                let path = path.strip_prefix(root).expect("below the root");
                files.push(path.to_str().expect("Unicode").to_owned());
            }
        }
    }
    files.sort();
    files
}

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
            vectors.rows_of(id).map(|row| vectors.index.vector(row?)).collect();
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
    // A file that was saved without a change keeps the time of the last one.
    for file in indexer.coverage() {
        let _ = writeln!(out, "{:?}", FileCoverage { modified_ns: 0, ..file });
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
    let _ =
        writeln!(out, "{counts:?} {:?} {:?} {:x}", status.vaults, status.last_error, status.digest);
    out
}

/// A folder whose files are kept in memory, where the system has one.
fn in_memory() -> tempfile::TempDir {
    let shared = Path::new("/dev/shm");
    let made = if shared.is_dir() { tempfile::tempdir_in(shared) } else { tempfile::tempdir() };
    made.expect("a temporary folder")
}

fn settings(root: &Path, store: PathBuf) -> IndexSettings {
    IndexSettings {
        store,
        vaults: vec![VaultSettings { name: "vault".into(), root: root.to_owned() }],
        watch: WatchOptions { enabled: false, ..WatchOptions::default() },
        keyword: KeywordSettings {
            heap_bytes_per_thread: 15_000_000,
            ..KeywordSettings::default()
        },
        fuse: FuseOptions { max_share: 1.0, ..FuseOptions::default() },
        ..IndexSettings::default()
    }
}

fn open(root: &Path, store: PathBuf, embedder: &Arc<FakeEmbedder>) -> Indexer {
    let embedder = Arc::clone(embedder) as Arc<dyn Embedder>;
    Indexer::open(settings(root, store), Some(embedder), None).expect("an index")
}

/// Runs the history with this number.
fn run(number: u64, folder: &Path) {
    let (root, embedder) = (folder.join("vault"), FakeEmbedder::new());
    std::fs::create_dir(&root).expect("a vault");
    let mut story = Story { random: Random::new(number), told: String::new() };
    let mut indexer = open(&root, folder.join("store"), &embedder);
    for stretch in 0..N_STRETCHES {
        for _ in 0..=story.random.below(2) {
            for _ in 0..=story.random.below(3) {
                story.act(&root, &indexer);
            }
            match story.random.below(8) {
                0 => {
                    story.tell(format_args!("restart"));
                    indexer.stop();
                    indexer = open(&root, folder.join("store"), &embedder);
                }
                1 => {
                    story.tell(format_args!("a full look"));
                    let full = Rescan { full: true, compact: story.happens(4) };
                    indexer.rescan(full).expect("a look");
                }
                2 | 3 => {
                    story.tell(format_args!("a look"));
                    indexer.rescan(Rescan::default()).expect("a look");
                }
                _ => {}
            }
        }
        settle(&indexer);
        let fresh = open(&root, folder.join("fresh"), &embedder);
        settle(&fresh);
        let (now, wanted) = (dump(&indexer), dump(&fresh));
        if let Some((now, wanted)) = now.lines().zip(wanted.lines()).find(|(a, b)| a != b) {
            panic!(
                "history {number}, stretch {stretch}:\n{}\nthe index says\n{now}\na fresh one says\n{wanted}",
                story.told
            );
        }
        assert_eq!(now.len(), wanted.len(), "history {number}, stretch {stretch}:\n{}", story.told);
        fresh.stop();
        std::fs::remove_dir_all(folder.join("fresh")).expect("removed");
    }
    indexer.stop();
}

/// Runs histories on all cores.
fn run_all(numbers: std::ops::Range<u64>, place: fn() -> tempfile::TempDir) {
    let n_threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for first in 0..n_threads {
            let numbers = numbers.clone().skip(first).step_by(n_threads);
            scope.spawn(move || numbers.for_each(|number| run(number, place().path())));
        }
    });
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a person asks this test for more than a check does")]
fn any_sequence_leads_to_what_a_fresh_index_says() {
    let asked = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match (asked("WEFT_HISTORY"), asked("WEFT_HISTORIES")) {
        (Some(number), _) => run(number, in_memory().path()),
        (None, Some(n_more)) => {
            run_all(0..n_more, || tempfile::tempdir().expect("a temporary folder"))
        }
        (None, None) => run_all(0..N_HISTORIES, in_memory),
    }
}
