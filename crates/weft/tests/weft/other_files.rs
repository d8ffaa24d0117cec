//! Text, Org and PDF files as notes. The text of PDF files comes from this binary as a child process.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;
use weft_testkit::{PdfFile, endless_pdf};

use super::weft;

/// A vault with files of all kinds, and a store.
struct MixedVault(TempDir);

impl MixedVault {
    fn new(files: &[(&str, Vec<u8>)]) -> Self {
        let vault = Self(tempfile::tempdir().expect("a folder"));
        std::fs::create_dir(vault.path("")).expect("a folder");
        for (name, bytes) in files {
            std::fs::write(vault.path(name), bytes).expect("a file");
        }
        vault
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join("notes").join(name)
    }

    /// Runs a command with all kinds of files enabled, and more `flags`; returns its exit code and standard output.
    fn run(&self, args: &[&str], flags: &[&str]) -> (Option<i32>, String) {
        let vault = self.path("");
        let kinds = "scan.other_files=[\"text\", \"org\", \"pdf\"]";
        let own = ["--vault", vault.to_str().expect("UTF-8"), "--set", kinds];
        let output = weft(self.0.path(), &[args, flags, &own].concat());
        (output.status.code(), String::from_utf8(output.stdout).expect("UTF-8"))
    }

    fn json(&self, args: &[&str], flags: &[&str]) -> Value {
        let (code, text) = self.run(&[args, &["--format", "json"]].concat(), flags);
        assert_eq!(code, Some(0), "{args:?}: {text}");
        serde_json::from_str(&text).expect("one JSON object")
    }

    /// Returns what the index contains, without generations and times.
    fn answers(&self) -> [Value; 4] {
        let requests: [&[&str]; 4] = [
            &["coverage", "--all"],
            &["export"],
            &["search", "moss"],
            &["search", "bark fern unroll"],
        ];
        requests.map(|args| without_history(self.json(args, &[])))
    }

    /// Returns the path of each file with the codes of its diagnostics.
    fn diagnostics(&self, flags: &[&str]) -> Vec<(String, String)> {
        let answer = self.json(&["coverage", "--all"], flags);
        let files = answer["files"].as_array().expect("files").iter();
        let codes = |file: &Value| {
            let all = file["diagnostics"].as_array().map(Vec::as_slice).unwrap_or_default();
            let all: Vec<&str> = all.iter().filter_map(|it| it["code"].as_str()).collect();
            (file["path"].as_str().expect("a path").to_owned(), all.join(" "))
        };
        files.map(codes).collect()
    }
}

/// Removes what depends on the time and number of changes.
fn without_history(mut answer: Value) -> Value {
    match &mut answer {
        Value::Object(fields) => {
            fields.retain(|name, _| !["generation", "modified_ns", "modified"].contains(&&**name));
            fields.values_mut().for_each(|value| *value = without_history(value.take()));
        }
        Value::Array(values) => {
            values.iter_mut().for_each(|value| *value = without_history(value.take()));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    answer
}

fn two_pages() -> Vec<u8> {
    let mut file = PdfFile::with_pages(&["Moss is soft\nand green.", "Ferns unroll in spring."]);
    file.set_information("Green plants", "Ada");
    file.bytes()
}

#[test]
fn word_on_the_second_page_is_found_and_cited_with_its_page() {
    let vault = MixedVault::new(&[
        ("plants.pdf", two_pages()),
        ("index.md", b"---\nsource: \"[[plants.pdf]]\"\n---\nSee [[plants.pdf#page=2]] and [it](plants.pdf#page=1&zoom=2).\n".to_vec()),
    ]);
    let found = vault.json(&["search", "unroll"], &[]);
    let hit = &found["hits"][0];
    assert_eq!((&hit["uri"], &hit["kind"]), (&"plants.pdf".into(), &"pdf".into()));
    assert_eq!(hit["snippets"][0]["heading_path"], serde_json::json!(["Page 2"]), "{hit}");

    let (_, text) = vault.run(&["get", "plants.pdf#page=2"], &[]);
    assert!(text.contains("unroll") && !text.contains("soft"), "{text}");
    let (_, text) = vault.run(&["context", "when do ferns unroll"], &[]);
    assert!(text.contains("Page 2") && text.contains("plants.pdf"), "{text}");

    let note = vault.json(&["get", "index"], &[]);
    let targets: Vec<(&str, bool)> = note["links"]
        .as_array()
        .expect("links")
        .iter()
        .map(|link| (link["uri"].as_str().unwrap_or_default(), link["resolved"] == true))
        .collect();
    assert_eq!(targets, [("plants.pdf", true); 3], "{note}");
    let clean = |path: &str| (path.to_owned(), String::new());
    assert_eq!(vault.diagnostics(&[]), ["index.md", "plants.pdf"].map(clean));
    let (_, resolved) = vault.run(&["resolve", "plants.pdf#page=2"], &[]);
    assert!(resolved.contains("plants.pdf"), "{resolved}");
}

#[test]
fn kind_selects_notes() {
    let vault = MixedVault::new(&[
        ("a.md", b"moss".to_vec()),
        ("b.txt", b"moss".to_vec()),
        ("c.org", b"* Moss\n".to_vec()),
        ("d.pdf", PdfFile::with_pages(&["moss"]).bytes()),
    ]);
    for (kinds, expected) in [
        (&["--kind", "markdown"][..], &["a"][..]),
        (&["--kind", "text"], &["b.txt"]),
        (&["--kind", "org", "--kind", "pdf"], &["c.org", "d.pdf"]),
        (&[], &["a", "b.txt", "c.org", "d.pdf"]),
    ] {
        let listed = vault.json(&[&["list"], kinds].concat(), &[]);
        let notes = listed["notes"].as_array().expect("notes").iter();
        let uris: Vec<&str> = notes.filter_map(|note| note["uri"].as_str()).collect();
        assert_eq!(uris, expected, "{kinds:?}");
    }
    assert_eq!(vault.run(&["list", "--kind", "word"], &[]).0, Some(2));
    let (_, said) = vault.run(&["put", "b.txt", "--body", "x"], &[]);
    assert_eq!(said, "", "a text file is only read");
}

#[test]
fn unreadable_pdf_files_are_diagnostics_and_stop_nothing() {
    let mut encrypted = PdfFile::with_pages(&["secret"]);
    encrypted.encrypt();
    let mut scanned = PdfFile::new();
    scanned.add_page("0 0 100 100 re f");
    let mut bomb = PdfFile::with_pages(&["moss"]);
    let stream = bomb.add_compressed("", &vec![b' '; 96 << 20]);
    bomb.add_page_of(stream, "");
    let many = PdfFile::with_pages(&["moss"; 300]).bytes();
    let broken = two_pages()[..60].to_vec();
    let vault = MixedVault::new(&[
        ("a.md", b"moss [[broken.pdf]]".to_vec()),
        ("bomb.pdf", bomb.bytes()),
        ("broken.pdf", broken),
        ("encrypted.pdf", encrypted.bytes()),
        ("endless.pdf", endless_pdf()),
        ("large.pdf", [two_pages(), vec![b'\n'; 48 << 20]].concat()),
        ("many.pdf", many),
        ("plants.pdf", two_pages()),
        ("scanned.pdf", scanned.bytes()),
    ]);
    let limits = [
        "--set",
        "pdf.timeout_ms=2000",
        "--set",
        "pdf.max_pages=100",
        "--set",
        "pdf.max_memory_bytes=100000000",
    ];
    let expected = [
        ("a.md", ""),
        ("bomb.pdf", "pdf-pages"),
        ("broken.pdf", "pdf-broken"),
        ("encrypted.pdf", "pdf-encrypted"),
        ("endless.pdf", "pdf-limit"),
        // Its bytes alone exceed the memory, where the system limits it.
        ("large.pdf", if cfg!(target_os = "linux") { "pdf-limit" } else { "" }),
        ("many.pdf", "pdf-truncated"),
        ("plants.pdf", ""),
        ("scanned.pdf", "pdf-without-text"),
    ];
    let expected = expected.map(|(path, codes)| (path.to_owned(), codes.to_owned()));
    assert_eq!(vault.diagnostics(&limits), expected);
    let found = vault.json(&["search", "unroll"], &limits);
    assert_eq!(found["hits"][0]["uri"], "plants.pdf");
    let note = vault.json(&["get", "broken.pdf"], &limits);
    assert_eq!(note["backlinks"][0]["uri"], "a", "a broken file is still a note");
}

#[test]
fn other_files_change_nothing_unless_they_are_enabled() {
    let vault = MixedVault::new(&[
        ("a.md", b"moss [[plants.pdf]]".to_vec()),
        ("plants.pdf", two_pages()),
        ("broken.pdf", b"%PDF".to_vec()),
        ("b.txt", b"moss".to_vec()),
    ]);
    let none = ["--set", "scan.other_files=[]"];
    let path = vault.path("");
    let args = ["coverage", "--all", "--vault", path.to_str().expect("UTF-8")];
    let output = weft(vault.0.path(), &[&args[..], &none].concat());
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(text.contains("a.md") && text.contains("1 file:") && !text.contains("pdf"), "{text}");
}

/// The new content of a file; `None` if it is deleted.
type FileChange = (&'static str, Option<Vec<u8>>);

#[test]
fn index_after_changes_of_other_files_equals_a_fresh_index() {
    let org =
        |text: &str| Some(format!("#+title: Plan\n* Steps\n{text} [[file:a.md]]\n").into_bytes());
    let pdf = |texts: &[&str]| Some(PdfFile::with_pages(texts).bytes());
    let text = |text: &str| Some(text.as_bytes().to_vec());
    let mut encrypted = PdfFile::with_pages(&["secret"]);
    encrypted.encrypt();
    let links = "# A\n[[plants.pdf]], [[plan.org#Steps]], [[log.txt]] and [[scan.pdf]]\n";
    let steps: [(&str, Vec<FileChange>); 8] = [
        ("links without targets", vec![("a.md", text(links))]),
        (
            "added",
            vec![
                ("plants.pdf", Some(two_pages())),
                ("plan.org", org("moss")),
                ("log.txt", text("moss and bark")),
            ],
        ),
        (
            "changed",
            vec![
                ("plants.pdf", pdf(&["bark", "moss unrolls", "fern"])),
                ("plan.org", org("fern")),
                ("log.txt", text("moss")),
            ],
        ),
        (
            "a broken file in place of another, and beside it",
            vec![
                ("plants.pdf", Some(two_pages()[..60].to_vec())),
                ("scan.pdf", Some(b"%PDF-1.7\n".to_vec())),
                ("new.pdf", pdf(&["moss"])),
            ],
        ),
        (
            "repaired, and encrypted",
            vec![("plants.pdf", Some(two_pages())), ("scan.pdf", Some(encrypted.bytes()))],
        ),
        ("replaced by another kind", vec![("new.pdf", None), ("new.txt", text("moss"))]),
        ("a PDF file with the bytes of a text", vec![("plants.pdf", text("moss"))]),
        ("deleted", vec![("plants.pdf", None), ("plan.org", None), ("scan.pdf", None)]),
    ];
    let vault = MixedVault::new(&[]);
    let mut files: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
    for (name, changes) in steps {
        for (path, bytes) in changes {
            match bytes {
                Some(bytes) => {
                    std::fs::write(vault.path(path), &bytes).expect("a file");
                    files.insert(path, bytes);
                }
                None => {
                    std::fs::remove_file(vault.path(path)).expect("a file");
                    files.remove(path);
                }
            }
        }
        let files: Vec<(&str, Vec<u8>)> =
            files.iter().map(|(path, bytes)| (*path, bytes.clone())).collect();
        let [followed, fresh] = [vault.answers(), MixedVault::new(&files).answers()];
        assert_eq!(followed[0]["files"].as_array().map(Vec::len), Some(files.len()), "{name}");
        assert_eq!(followed, fresh, "{name}");
    }
}
