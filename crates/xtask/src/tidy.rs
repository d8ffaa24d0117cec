//! Tidiness: what no file of the repository may hold, and what each must.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};

/// Lines that a Rust file stays below: past them it holds more than one concern.
const MAX_RUST_LINES: usize = 900;

/// A text file of the repository.
#[derive(Clone, Debug)]
pub(crate) struct File {
    /// Its path below the repository, with `/`.
    pub(crate) path: String,
    /// What it holds.
    pub(crate) text: String,
}

/// Something no line may hold.
struct Rule {
    /// What is said of a line that holds it.
    says: &'static str,
    /// The files it is about, by their paths.
    concerns: fn(&str) -> bool,
    /// Whether a line breaks it.
    finds: fn(&str) -> bool,
}

/// One row per rule.
///
/// What is looked for is spelt in two halves, so that this file keeps its own rules.
const RULES: &[Rule] = &[
    Rule { says: "names a folder of somebody's machine", concerns: |_| true, finds: names_machine },
    Rule {
        says: "names the host of a package registry",
        concerns: |path| path != "Cargo.lock",
        finds: |line| holds_any(line, REGISTRIES),
    },
    Rule {
        says: "leaves work for later",
        concerns: is_code,
        finds: |line| holds_any(line, UNFINISHED),
    },
    Rule {
        says: "ends in spaces",
        concerns: |path| path.ends_with(".md"),
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

fn holds_any(line: &str, needles: &[&str]) -> bool {
    needles.iter().any(|needle| line.contains(needle))
}

/// Whether `line` holds an absolute path into such a folder; the middle of a longer path is none.
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

/// The text files that git tracks below `root`, by path.
pub(crate) fn tracked(root: &Path) -> anyhow::Result<Vec<File>> {
    // Listing runs nothing of the repository, so it may belong to another user, as in a container.
    let list = ["-c", "safe.directory=*", "ls-files", "-z"];
    let listed = Command::new("git").args(list).current_dir(root).output();
    let listed = listed.context("git cannot be started")?;
    ensure!(listed.status.success(), "git ls-files: {}", String::from_utf8_lossy(&listed.stderr));
    let paths = String::from_utf8(listed.stdout).context("a path is not UTF-8")?;
    let mut files = Vec::new();
    for path in paths.split_terminator('\0') {
        match std::fs::read(root.join(path)) {
            Ok(bytes) => files.extend(
                String::from_utf8(bytes).ok().map(|text| File { path: path.to_owned(), text }),
            ),
            // Deleted, and git does not know yet.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).with_context(|| path.to_owned()),
        }
    }
    Ok(files)
}

/// One line for each breach, by file.
pub(crate) fn breaches(files: &[File]) -> Vec<String> {
    files.iter().flat_map(|file| in_lines(file).chain(in_whole(file))).collect()
}

fn in_lines(file: &File) -> impl Iterator<Item = String> {
    let File { path, text } = file;
    RULES.iter().filter(|rule| (rule.concerns)(path)).flat_map(move |rule| {
        let lines = text.lines().enumerate().filter(|(_, line)| (rule.finds)(line));
        lines.map(move |(at, _)| format!("{path}:{}: {}", at + 1, rule.says))
    })
}

fn in_whole(file: &File) -> impl Iterator<Item = String> {
    let File { path, text } = file;
    let has_line = |wanted: &str| text.lines().any(|line| line == wanted);
    let n_lines = text.lines().count();
    let is_manifest = path.ends_with("/Cargo.toml");
    let is_root = path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs");
    // SIMD kernels and mapped files need `unsafe`; their modules say why they allow it.
    let shuts_out_unsafe = if path.starts_with("crates/index/") {
        "#![deny(unsafe_code)]"
    } else {
        "#![forbid(unsafe_code)]"
    };
    let checks = [
        (
            path.ends_with(".rs") && n_lines >= MAX_RUST_LINES,
            format!("has {n_lines} lines; a file stays below {MAX_RUST_LINES}"),
        ),
        (
            is_manifest
                && !text.contains("[lints]\nworkspace = true")
                && !has_line("lints.workspace = true"),
            "does not take the lints of the workspace".to_owned(),
        ),
        (is_root && !has_line(shuts_out_unsafe), format!("does not say `{shuts_out_unsafe}`")),
    ];
    checks.into_iter().filter(|(broken, _)| *broken).map(move |(_, says)| format!("{path}: {says}"))
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
    fn each_rule_finds_its_breach() {
        let unfinished = format!("    {}); // {}", UNFINISHED[0], UNFINISHED[2]);
        let long = "\n".repeat(MAX_RUST_LINES);
        let machine = MACHINE_FOLDERS[0];
        let cases = [
            (
                "a path of a machine",
                "a.md",
                format!("see `{machine}x`"),
                Some("a.md:1: names a folder"),
            ),
            ("part of a longer path", "a.md", format!("see `home{machine}x`"), None),
            (
                "a registry",
                "a.toml",
                format!("\nurl = \"https://{}\"", REGISTRIES[0]),
                Some("a.toml:2: names the host"),
            ),
            ("a registry in the lock file", "Cargo.lock", REGISTRIES[0].to_owned(), None),
            ("unfinished work", "a.rs", unfinished.clone(), Some("a.rs:1: leaves work")),
            ("unfinished work in a note", "a.md", unfinished, None),
            ("a space at the end", "a.md", "one \ntwo".to_owned(), Some("a.md:1: ends in spaces")),
            ("a long file", "a.rs", long.clone(), Some("a.rs: has 900 lines")),
            ("a long note", "a.md", long, None),
            (
                "a manifest without lints",
                "crates/a/Cargo.toml",
                String::new(),
                Some("crates/a/Cargo.toml: does not take"),
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
                Some("crates/a/src/lib.rs: does not say `#![forbid"),
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
