//! Random changes to the files of a vault.

use std::fmt::Write as _;
use std::path::Path;

use weft_indexer::{Indexer, Precondition, WriteContent, WriteRequest};
use weft_testkit::Random;

/// Maximum number of files in a vault; below it, more files are written than removed.
const MAX_FILES: usize = 24;

/// Paths of files: names that differ only in case, folder notes, nested folders.
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
    "root.md",
    "fern.moss.md",
    "bog/root.md",
    "bog/moss.fern.md",
    "bog/Moss.fern.peat.md",
    "bog/plan.org",
    "Plan.org",
];

const FOLDERS: &[&str] = &["bog", "bog/deep", "fen", "Bog", "marsh"];

/// Names used in links, ids and aliases.
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
    "moss.fern",
    "plan.org",
    "notes.txt",
];

const WORDS: &[&str] = &[
    "water", "green", "shade", "stone", "soft", "grows", "growing", "light", "root", "spore",
    "wind", "étang", "moss", "fern", "peat",
];

/// A random script of changes to a vault, determined by a number and logged.
pub(crate) struct EditScript {
    random: Random,
    /// Log of the changes so far, one per line.
    pub(crate) log: String,
}

impl EditScript {
    /// Creates the script with this number; equal numbers give equal scripts.
    pub(crate) fn new(number: u64) -> Self {
        Self { random: Random::new(number), log: String::new() }
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.random.below(end)
    }

    fn one<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.random.below(of.len())]
    }

    pub(crate) fn chance(&mut self, one_in: usize) -> bool {
        self.random.below(one_in) == 0
    }

    pub(crate) fn log(&mut self, what: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.log, "  {what}");
    }

    /// Returns the text of a note: names, tags, properties, links of every kind, and some words.
    fn text(&mut self) -> String {
        let mut text = String::new();
        if self.chance(2) {
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
                if !self.chance(one_in) {
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
            if self.chance(3) {
                let _ = writeln!(text, "aliases: [{}, {}]", self.one(NAMES), self.one(NAMES));
            }
            if self.chance(4) {
                let _ = writeln!(text, "links: [{{type: supports, id: {}}}]", self.one(NAMES));
            }
            if self.chance(12) {
                text.push_str("indexed: false\n");
            }
            if self.chance(20) {
                text.push_str("broken: [\n");
            }
            text.push_str("---\n");
        }
        if self.chance(2) {
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

    /// Changes the files once, directly or through the index.
    pub(crate) fn act(&mut self, root: &Path, indexer: &Indexer) {
        let files = files(root);
        let some = |script: &mut Self| files[script.random.below(files.len())].clone();
        let what = if files.is_empty() { 0 } else { self.random.below(24) };
        match what {
            0..=4 if files.len() < MAX_FILES => {
                let (path, text) = (self.one(PATHS), self.text());
                self.log(format_args!("write {path:?} {text:?}"));
                write(&root.join(path), &text);
            }
            5..=7 => {
                let (path, text) = (some(self), self.text());
                self.log(format_args!("edit {path:?} {text:?}"));
                write(&root.join(path), &text);
            }
            8 => {
                let (path, word) = (some(self), self.one(WORDS));
                self.log(format_args!("append {path:?} {word}"));
                let text = std::fs::read_to_string(root.join(&path)).expect("a file");
                write(&root.join(path), &format!("{text}{word}\n"));
            }
            9 | 10 => {
                let (from, to) = (some(self), self.one(PATHS));
                self.log(format_args!("rename {from:?} {to:?}"));
                rename(root, &from, to);
            }
            11 => {
                let from = some(self);
                let to = if self.chance(2) { from.to_uppercase() } else { from.to_lowercase() };
                let to = to.replace(".MD", ".md").replace(".TXT", ".txt");
                self.log(format_args!("rename {from:?} {to:?}"));
                rename(root, &from, &to);
            }
            12 => {
                let (from, to) = (self.one(FOLDERS), self.one(FOLDERS));
                self.log(format_args!("rename folder {from:?} {to:?}"));
                // A move into itself, onto another file, or of a missing file: no change.
                let _ = std::fs::rename(root.join(from), root.join(to));
            }
            13 => {
                let folder = self.one(FOLDERS);
                self.log(format_args!("remove folder {folder:?}"));
                let _ = std::fs::remove_dir_all(root.join(folder));
            }
            14 => {
                let (one, other) = (some(self), some(self));
                self.log(format_args!("swap {one:?} {other:?}"));
                let text = |path: &str| std::fs::read_to_string(root.join(path)).expect("a file");
                let (first, second) = (text(&one), text(&other));
                write(&root.join(one), &second);
                write(&root.join(other), &first);
            }
            15 => {
                let rule = self.one(&["bog\n", "*oss.md\n", "", "fen/deep\n!fern.md\n"]);
                self.log(format_args!("rules {rule:?}"));
                write(&root.join(".weftignore"), rule);
            }
            16 => {
                let (path, text) = (self.one(PATHS), self.text());
                self.log(format_args!("put {path:?} {text:?}"));
                let (path, content) = (path.to_owned(), WriteContent::Whole(text));
                let expected = Precondition::Anything;
                // The index rejects content that cannot be written there.
                let _ = indexer.write(WriteRequest::Put { vault: None, path, content, expected });
            }
            17 => {
                let name = self.one(NAMES).to_owned();
                self.log(format_args!("delete {name:?}"));
                let _ =
                    indexer.write(WriteRequest::Delete { name, expected: Precondition::Anything });
            }
            18 => {
                let (name, to) = (self.one(NAMES).to_owned(), self.one(PATHS).to_owned());
                self.log(format_args!("move {name:?} {to:?}"));
                let expected = Precondition::Anything;
                let _ =
                    indexer.write(WriteRequest::Move { name, to, expected, rewrite_links: true });
            }
            19 => {
                let (path, name, other) = (some(self), self.one(NAMES), self.one(NAMES));
                self.log(format_args!("aliases of {path:?} {name} {other}"));
                let text = std::fs::read_to_string(root.join(&path)).expect("a file");
                let body = text.rsplit("---\n").next().unwrap_or_default();
                write(&root.join(path), &format!("---\naliases: [{name}, {other}]\n---\n{body}"));
            }
            20 => {
                let path = some(self);
                self.log(format_args!("save {path:?} unchanged"));
                let text = std::fs::read_to_string(root.join(&path)).expect("a file");
                write(&root.join(path), &text);
            }
            21 => {
                let path = some(self);
                self.log(format_args!("reverse {path:?}, keeping its time"));
                let path = root.join(path);
                let modified = path.metadata().and_then(|facts| facts.modified());
                let text = std::fs::read_to_string(&path).expect("a file");
                write(&path, &text.chars().rev().collect::<String>());
                let file = std::fs::File::options().write(true).open(&path).expect("a file");
                file.set_modified(modified.expect("a time")).expect("its time");
            }
            _ => {
                let path = some(self);
                self.log(format_args!("remove {path:?}"));
                std::fs::remove_file(root.join(path)).expect("removed");
            }
        }
    }
}

fn write(path: &Path, text: &str) {
    // A file may be at the path of a parent folder, or a folder at the path of the file.
    let _ = std::fs::create_dir_all(path.parent().expect("a folder"));
    let _ = std::fs::write(path, text);
}

fn rename(root: &Path, from: &str, to: &str) {
    let to = root.join(to);
    let _ = std::fs::create_dir_all(to.parent().expect("a folder"));
    let _ = std::fs::rename(root.join(from), to);
}

/// Returns the files of the vault, sorted, without rule files.
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
