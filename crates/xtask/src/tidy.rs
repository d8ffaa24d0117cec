//! Rules for the files of the repository.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::wording;

/// Maximum number of lines of a Rust file; longer files mix concerns.
const MAX_RUST_LINES: usize = 900;

/// A text file of the repository.
#[derive(Clone, Debug)]
pub(crate) struct File {
    /// Path below the repository, with `/`.
    pub(crate) path: String,
    /// Content.
    pub(crate) text: String,
}

/// A rule that lines must not break.
struct Rule {
    /// Message for a line that breaks it.
    message: &'static str,
    /// Selects files by path.
    applies_to: fn(&str) -> bool,
    /// Returns true if a line breaks the rule.
    finds: fn(&str) -> bool,
}

/// One row per rule.
///
/// Forbidden texts are split in two halves, so that this file does not break its own rules.
const RULES: &[Rule] = &[
    Rule {
        message: "contains a path of a developer's machine",
        applies_to: |_| true,
        finds: names_machine,
    },
    Rule {
        message: "contains the host of a package registry",
        applies_to: |path| path != "Cargo.lock",
        finds: |line| contains_any(line, REGISTRIES),
    },
    Rule {
        message: "contains unfinished work",
        applies_to: is_code,
        finds: |line| contains_any(line, UNFINISHED),
    },
    Rule {
        message: "ends in whitespace",
        applies_to: |path| path.ends_with(".md"),
        finds: |line| line.ends_with([' ', '\t']),
    },
];

const MACHINE_FOLDERS: &[&str] =
    &[concat!("/", "work/"), concat!("/", "tmp/"), concat!("/", "root/")];

const REGISTRIES: &[&str] = &[
    concat!("crates", ".io"),
    concat!("pypi", ".org"),
    concat!("python", "hosted.org"),
    concat!("npm", "js.org"),
    concat!("npm", "js.com"),
    concat!("proxy.", "golang.org"),
];

const UNFINISHED: &[&str] = &[
    concat!("todo", "!("),
    concat!("unimplemented", "!("),
    concat!("FIX", "ME"),
    concat!("#[ign", "ore"),
];

fn contains_any(line: &str, needles: &[&str]) -> bool {
    needles.iter().any(|needle| line.contains(needle))
}

/// Returns true if `line` contains an absolute path into such a folder; the middle of a longer path does not count.
fn names_machine(line: &str) -> bool {
    MACHINE_FOLDERS.iter().flat_map(|folder| line.match_indices(folder)).any(|(at, _)| {
        !line[..at]
            .ends_with(|c: char| c.is_alphanumeric() || ['.', '-', '_', '~', '}', '*'].contains(&c))
    })
}

fn is_code(path: &str) -> bool {
    [".rs", ".toml", ".proto", ".sh", ".py", ".yml"].iter().any(|end| path.ends_with(end))
        || path.starts_with(".ci/")
}

/// Returns the text files tracked by git below `root`, by path.
pub(crate) fn tracked(root: &Path) -> anyhow::Result<Vec<File>> {
    // Listing runs no code of the repository, so a repository owned by another user is safe, as in a container.
    let list = ["-c", "safe.directory=*", "ls-files", "-z"];
    let listed = Command::new("git").args(list).current_dir(root).output();
    let listed = listed.context("cannot start git")?;
    ensure!(listed.status.success(), "git ls-files: {}", String::from_utf8_lossy(&listed.stderr));
    let paths = String::from_utf8(listed.stdout).context("a path is not UTF-8")?;
    let mut files = Vec::new();
    for path in paths.split_terminator('\0') {
        match std::fs::read(root.join(path)) {
            Ok(bytes) => files.extend(
                String::from_utf8(bytes).ok().map(|text| File { path: path.to_owned(), text }),
            ),
            // Deleted, but still in git's index.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).with_context(|| path.to_owned()),
        }
    }
    Ok(files)
}

/// Returns one line per broken rule, by file.
pub(crate) fn breaches(files: &[File]) -> Vec<String> {
    files
        .iter()
        .flat_map(|file| in_lines(file).chain(in_whole(file)).chain(wording::breaches(file)))
        .chain(missing_tests(files))
        .chain(other_versions(files))
        .collect()
}

/// The files that state the version of a release, the workspace first, each with the beginning of that line.
const VERSIONS: [(&str, &str); 3] = [
    ("Cargo.toml", "version = "),
    ("clients/python/pyproject.toml", "version = "),
    ("clients/typescript/package.json", "\"version\": "),
];

/// Returns a line per client library whose version is not that of the workspace.
fn other_versions(files: &[File]) -> impl Iterator<Item = String> {
    let stated = VERSIONS.map(|(path, start)| {
        let file = files.iter().find(|file| file.path == path);
        let line = |file: &File| {
            let version = file.text.lines().find_map(|line| line.trim().strip_prefix(start))?;
            Some(version.trim_matches(['"', ',']).to_owned())
        };
        (path, file.and_then(line))
    });
    let [(_, workspace), clients @ ..] = stated;
    let other = clients.into_iter().filter(move |(_, version)| *version != workspace);
    other.map(|(path, version)| match version {
        Some(version) => format!("{path}: version {version} is not that of the workspace"),
        None => format!("{path}: states no version"),
    })
}

/// Documents that name the tests of their promises.
const PROMISES: &[&str] = &["docs/reliability.md", "docs/security.md"];

/// Returns a line per test that a document names and no file contains.
fn missing_tests(files: &[File]) -> impl Iterator<Item = String> {
    let documents = files.iter().filter(|file| PROMISES.contains(&&*file.path));
    documents.flat_map(move |File { path, text }| {
        let named = text.lines().enumerate().flat_map(|(at, line)| {
            line.split('`').skip(1).step_by(2).map(move |name| (at + 1, name))
        });
        let is_missing = move |name: &str| {
            let function = format!("fn {name}(");
            !files.iter().any(|file| file.path.ends_with(".rs") && file.text.contains(&function))
        };
        let missing = named.filter(move |(_, name)| is_test_name(name) && is_missing(name));
        missing.map(move |(line, name)| format!("{path}:{line}: no test is named `{name}`"))
    })
}

/// True for names of several words that are no metric.
fn is_test_name(name: &str) -> bool {
    name.bytes().filter(|byte| *byte == b'_').count() >= 3
        && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
        && !name.starts_with("weft_")
}

fn in_lines(file: &File) -> impl Iterator<Item = String> {
    let File { path, text } = file;
    RULES.iter().filter(|rule| (rule.applies_to)(path)).flat_map(move |rule| {
        let lines = text.lines().enumerate().filter(|(_, line)| (rule.finds)(line));
        lines.map(move |(at, _)| format!("{path}:{}: {}", at + 1, rule.message))
    })
}

fn in_whole(file: &File) -> impl Iterator<Item = String> {
    let File { path, text } = file;
    let has_line = |wanted: &str| text.lines().any(|line| line == wanted);
    let n_lines = text.lines().count();
    let is_manifest = path.ends_with("/Cargo.toml");
    let is_root = path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs");
    // SIMD kernels, mapped files and their signal handler need `unsafe`; their modules give the reasons.
    let unsafe_attribute = if path.starts_with("crates/index/") {
        "#![deny(unsafe_code)]"
    } else {
        "#![forbid(unsafe_code)]"
    };
    let checks = [
        (
            path.ends_with(".rs") && n_lines >= MAX_RUST_LINES,
            format!("has {n_lines} lines; the limit is {MAX_RUST_LINES}"),
        ),
        (
            is_manifest
                && !text.contains("[lints]\nworkspace = true")
                && !has_line("lints.workspace = true"),
            "does not inherit the lints of the workspace".to_owned(),
        ),
        (is_root && !has_line(unsafe_attribute), format!("lacks `{unsafe_attribute}`")),
    ];
    checks
        .into_iter()
        .filter(|(is_broken, _)| *is_broken)
        .map(move |(_, message)| format!("{path}: {message}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        let files = tracked(crate::root()).unwrap();
        assert!(files.iter().any(|file| file.path == "Cargo.toml"), "git lists the files");
        assert_eq!(breaches(&files), [""; 0]);
    }

    #[test]
    fn promises_name_existing_tests() {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        let files = [
            file("docs/security.md", "| promise | `a_note_is_read`,\n`no_note_is_lost` `as_of` |"),
            file("docs/other.md", "`no_note_is_lost`"),
            file("tests/a.rs", "#[test]\nfn a_note_is_read() {}\n"),
        ];
        let found: Vec<String> = missing_tests(&files).collect();
        assert_eq!(found, ["docs/security.md:2: no test is named `no_note_is_lost`"]);
    }

    #[test]
    fn clients_have_the_version_of_the_workspace() {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        let files = [
            file("Cargo.toml", "[workspace.package]\nversion = \"0.2.0\"\n"),
            file("clients/python/pyproject.toml", "[project]\nversion = \"0.2.0\"\n"),
            file("clients/typescript/package.json", "{\n  \"version\": \"0.1.0\",\n"),
        ];
        let found: Vec<String> = other_versions(&files).collect();
        let expected =
            "clients/typescript/package.json: version 0.1.0 is not that of the workspace";
        assert_eq!(found, [expected]);
    }

    #[test]
    fn each_rule_finds_its_breach() {
        let unfinished = format!("    {}); // {}", UNFINISHED[0], UNFINISHED[2]);
        let long = "\n".repeat(MAX_RUST_LINES);
        let machine = MACHINE_FOLDERS[0];
        let cases = [
            (
                "a path of a developer's machine",
                "a.md",
                format!("see `{machine}x`"),
                Some("a.md:1: contains a path"),
            ),
            ("part of a longer path", "a.md", format!("see `home{machine}x`"), None),
            (
                "a registry",
                "a.toml",
                format!("\nurl = \"https://{}\"", REGISTRIES[0]),
                Some("a.toml:2: contains the host"),
            ),
            ("a registry in the lock file", "Cargo.lock", REGISTRIES[0].to_owned(), None),
            ("unfinished work", "a.rs", unfinished.clone(), Some("a.rs:1: contains unfinished")),
            ("unfinished work in a note", "a.md", unfinished, None),
            (
                "a space at the end",
                "a.md",
                "one \ntwo".to_owned(),
                Some("a.md:1: ends in whitespace"),
            ),
            ("a long file", "a.rs", long.clone(), Some("a.rs: has 900 lines")),
            ("a long note", "a.md", long, None),
            (
                "a manifest without lints",
                "crates/a/Cargo.toml",
                String::new(),
                Some("crates/a/Cargo.toml: does not inherit"),
            ),
            (
                "a manifest with lints",
                "crates/a/Cargo.toml",
                "[lints]\nworkspace = true\n".to_owned(),
                None,
            ),
            (
                "the root of a crate",
                "crates/a/src/lib.rs",
                "//! A.".to_owned(),
                Some("crates/a/src/lib.rs: lacks `#![forbid"),
            ),
            (
                "the root that may deny",
                "crates/index/src/lib.rs",
                "#![deny(unsafe_code)]".to_owned(),
                None,
            ),
        ];
        for (name, path, text, expected) in cases {
            let found = breaches(&[File { path: path.to_owned(), text }]);
            match expected {
                Some(start) => assert!(
                    matches!(found.as_slice(), [only] if only.starts_with(start)),
                    "{name}: {found:?}"
                ),
                None => assert_eq!(found, [""; 0], "{name}"),
            }
        }
    }
}
