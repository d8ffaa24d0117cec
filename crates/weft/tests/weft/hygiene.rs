//! The commands of hygiene, as scripts use them.

use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;

use super::weft;

/// A vault with one entry for each list.
struct Untidy(TempDir);

impl Untidy {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let text: String = (0..60).map(|n| format!("word{n} ")).collect();
        std::fs::create_dir(folder.path().join("notes")).expect("a folder");
        let untidy = Self(folder);
        for (name, text) in [
            ("Water clock", "# Water clock\n\nIt drips.\n".to_owned()),
            (
                "essay",
                format!("---\na: 1\n---\nEvery water clock drips. [[Watr clock]]\r\n\n{text}\n"),
            ),
            ("copy", format!("{text} and more\n")),
            ("old", "---\nupdated: 2001-01-01\n---\nOld.\n".to_owned()),
            ("one", "[[old]]\n".to_owned()),
            ("two", "[[old]]\n".to_owned()),
        ] {
            std::fs::write(untidy.path(name), text).expect("a file");
        }
        untidy
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join("notes").join(format!("{name}.md"))
    }

    /// Runs a command; returns its exit code and standard output.
    fn run(&self, args: &[&str]) -> (Option<i32>, String) {
        let vault = self.0.path().join("notes");
        let vault = ["--vault", vault.to_str().expect("UTF-8")];
        let output = weft(self.0.path(), &[args, &vault].concat());
        (output.status.code(), String::from_utf8(output.stdout).expect("UTF-8"))
    }

    fn json(&self, args: &[&str]) -> Value {
        let (code, text) = self.run(&[args, &["--format", "json"]].concat());
        assert_eq!(code, Some(0), "{args:?}: {text}");
        serde_json::from_str(&text).expect("one JSON object")
    }
}

#[test]
fn each_list_names_its_entry_in_both_formats() {
    let untidy = Untidy::new();
    for (command, at, expected, line) in [
        ("duplicates", "/pairs/0/other/uri", "copy", "essay = copy"),
        ("suggest-links", "/links/0/link", "[[water clock]]", "essay:1 [[water clock]]"),
        ("stale", "/notes/0/note/uri", "old", "old\n"),
        ("broken", "/links/0/fixes/0/note/uri", "Water clock", "→ Water clock similar name"),
    ] {
        let answer = untidy.json(&[command]);
        assert_eq!(answer.pointer(at), Some(&Value::from(expected)), "{command}: {answer}");
        assert_eq!(answer["total"].as_u64(), Some(1), "{command}: {answer}");
        let (code, text) = untidy.run(&[command]);
        assert_eq!(code, Some(0));
        assert!(text.contains(line), "{command}: {text}");
        assert_eq!(untidy.json(&[command, "--path", "one.md"])["total"], 0, "{command}");
    }
}

#[test]
fn links_are_written_only_on_request_and_nothing_else_changes() {
    let untidy = Untidy::new();
    let before = std::fs::read_to_string(untidy.path("essay")).unwrap();
    untidy.json(&["suggest-links", "essay"]);
    assert_eq!(std::fs::read_to_string(untidy.path("essay")).unwrap(), before);
    let written = untidy.json(&["suggest-links", "essay", "--write"]);
    assert_eq!(written[0]["links"], serde_json::json!(["[[water clock]]"]), "{written}");
    let after = std::fs::read_to_string(untidy.path("essay")).unwrap();
    assert_eq!(after, before.replacen("water clock", "[[water clock]]", 1));
    assert_eq!(untidy.json(&["suggest-links", "essay", "--write"]), serde_json::json!([]));
}

#[test]
fn wrong_arguments_have_the_usual_exit_codes() {
    let untidy = Untidy::new();
    for (args, code) in [
        (&["duplicates", "--min-share", "0.1"][..], 2),
        (&["duplicates", "--min-share", "much"], 2),
        (&["duplicates", "--limit", "1001"], 2),
        (&["stale", "--page-token", "x"], 2),
        (&["suggest-links", "esay"], 3),
        (&["suggest-links", "--write"], 2),
        (&["broken", "--format", "dot"], 2),
    ] {
        assert_eq!(untidy.run(args).0, Some(code), "{args:?}");
    }
}
