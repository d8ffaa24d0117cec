//! Text and Org files as notes: off by default, followed like Markdown files, and only read.

use std::sync::Arc;

use weft_engine::SearchMode;
use weft_index::embedder::Embedder;
use weft_index::notes::VaultId;
use weft_indexer::scan::ScanOptions;
use weft_indexer::{
    FileState, IndexSettings, Indexer, Precondition, RewrittenLinks, WriteContent, WriteError,
    WriteRequest,
};
use weft_model::{NoteKind, NotePath};

use crate::fixtures::{FakeEmbedder, Place, search, settle, uris};

const FILES: &[(&str, &[u8])] = &[
    ("moss.md", b"# Moss\n[[plan.org#Next steps]] and [log](notes/log.txt), [[log.txt]]\n"),
    (
        "plan.org",
        b"#+title: The plan\n#+filetags: :green:\n* Next steps\n:PROPERTIES:\n:ID: x\n:END:\nShade for [[file:moss.md][the moss]].\n",
    ),
    ("notes/log.txt", b"# Quill #tag [[moss]]\n"),
];

fn open(place: &Place, other_files: &[NoteKind]) -> Indexer {
    let scan = ScanOptions { other_files: other_files.to_vec(), ..ScanOptions::default() };
    let settings = IndexSettings { scan, ..place.settings() };
    let embedder = FakeEmbedder::new() as Arc<dyn Embedder>;
    Indexer::open(settings, Some(embedder), None).expect("an index")
}

/// Returns the targets of a note's links as uris, and whether each exists.
fn links(indexer: &Indexer, path: &str) -> Vec<(String, bool)> {
    let notes = indexer.reader().snapshot().notes.clone();
    let id = notes.at(VaultId(0), &NotePath::new(path)).expect("a note");
    let targets = notes.resolved(id).expect("links").targets.iter().flatten();
    targets.map(|id| (notes.graph().uri(*id).to_string(), notes.is_note(*id))).collect()
}

#[test]
fn other_files_are_no_notes_by_default() {
    let place = Place::new(FILES);
    let indexer = place.open(&FakeEmbedder::new());
    settle(&indexer);
    assert_eq!(uris(&search(&indexer, "shade quill moss", SearchMode::Keyword)), ["moss"]);
    assert_eq!(indexer.coverage().len(), 1, "other files are not listed");
    assert_eq!(links(&indexer, "moss.md"), [("plan.org".to_owned(), false)]);
}

#[test]
fn text_and_org_files_are_notes_if_enabled() {
    let place = Place::new(FILES);
    let indexer = open(&place, &[NoteKind::Text, NoteKind::Org]);
    settle(&indexer);
    let found = |query: &str, mode| {
        uris(&search(&indexer, query, mode)).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(found("shade", SearchMode::Keyword), ["plan.org"]);
    assert_eq!(found("quill", SearchMode::Vector)[0], "notes/log.txt");
    let linked = ["plan.org", "notes/log.txt", "notes/log.txt"];
    assert_eq!(links(&indexer, "moss.md"), linked.map(|uri| (uri.to_owned(), true)));
    assert_eq!(links(&indexer, "plan.org"), [("moss".to_owned(), true)]);
    assert_eq!(links(&indexer, "notes/log.txt"), [], "text has no links");
    let notes = indexer.reader().snapshot().notes.clone();
    let entry = |path: &str| {
        notes.at(VaultId(0), &NotePath::new(path)).and_then(|id| notes.entry(id)).expect("a note")
    };
    let (plan, log) = (entry("plan.org"), entry("notes/log.txt"));
    assert_eq!((&*plan.note.title, &*plan.note.tags), ("The plan", &["green".to_owned()][..]));
    assert_eq!((&*log.note.title, &*log.note.tags), ("log", &[][..]));
    assert_eq!((log.note.headings.len(), plan.note.headings.len()), (0, 1));
    for file in indexer.coverage() {
        assert_eq!((file.state, file.unresolved.len()), (FileState::Indexed, 0), "{file:?}");
        assert!(file.diagnostics.is_empty() && file.n_chunks > 0, "{file:?}");
    }
}

#[test]
fn notes_of_a_kind_go_when_it_is_disabled() {
    let files: Vec<(String, String)> =
        (0..40).map(|n| (format!("{n}.txt"), format!("quill {n}"))).collect();
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_bytes())).collect();
    let place = Place::new(&[&[("fern.md", &b"quill"[..])], &files[..]].concat());
    let n_notes = |kinds: &[NoteKind]| {
        let indexer = open(&place, kinds);
        settle(&indexer);
        let status = indexer.status();
        indexer.stop();
        assert!(status.vaults.iter().all(|vault| vault.missing_notice().is_none()));
        status.n_notes
    };
    assert_eq!([n_notes(&[NoteKind::Text]), n_notes(&[]), n_notes(&[NoteKind::Text])], [41, 1, 41]);
}

#[test]
fn edits_are_followed() {
    let place = Place::new(FILES);
    let indexer = open(&place, &[NoteKind::Text, NoteKind::Org]);
    settle(&indexer);
    place.write("notes/log.txt", b"fern");
    place.write("new.org", b"* Fern\n[[file:notes/log.txt]]\n");
    std::fs::remove_file(place.vault().join("plan.org")).expect("removed");
    settle(&indexer);
    let mut found = search(&indexer, "fern", SearchMode::Keyword).hits;
    found.sort_by(|a, b| a.uri.cmp(&b.uri));
    let found: Vec<&str> = found.iter().map(|hit| hit.uri.as_str()).collect();
    assert_eq!(found, ["new.org", "notes/log.txt"]);
    assert_eq!(links(&indexer, "moss.md")[0], ("plan.org".to_owned(), false), "a placeholder");
}

#[test]
fn other_files_are_moved_and_deleted_but_not_written() {
    let place = Place::new(FILES);
    let indexer = open(&place, &[NoteKind::Text, NoteKind::Org]);
    settle(&indexer);
    let put = |path: &str| {
        let content = WriteContent::Whole("x".to_owned());
        let (path, expected) = (path.to_owned(), Precondition::Anything);
        indexer.write(WriteRequest::Put { vault: None, path, content, expected })
    };
    for path in ["plan.org", "notes/log.txt", "new.pdf"] {
        let refused = put(path).expect_err("only Markdown files are written").to_string();
        assert!(refused.contains("are only read"), "{refused}");
    }
    let move_to = |name: &str, to: &str| {
        let (name, to) = (name.to_owned(), to.to_owned());
        let expected = Precondition::Anything;
        indexer.write(WriteRequest::Move { name, to, expected, rewrite_links: true })
    };
    let refused = move_to("plan.org", "plan.md").expect_err("another format");
    assert!(matches!(refused, WriteError::Invalid { field: "to", .. }), "{refused}");
    let refused = move_to("moss", "moss.txt").expect_err("another format");
    assert!(matches!(refused, WriteError::Invalid { field: "to", .. }), "{refused}");

    move_to("notes/log.txt", "log/day.txt").expect("moved");
    let text = std::fs::read_to_string(place.vault().join("moss.md")).expect("a file");
    assert_eq!(text, "# Moss\n[[plan.org#Next steps]] and [log](log/day.txt), [[day.txt]]\n");
    // A link in an Org file is not rewritten.
    let outcome = move_to("moss", "plants/moss.md").expect("moved");
    let kept = RewrittenLinks { path: "plan.org".into(), n_rewritten: 0, n_not_rewritten: 1 };
    assert!(outcome.links.contains(&kept), "{:?}", outcome.links);

    let expected = Precondition::Anything;
    indexer.write(WriteRequest::Delete { name: "plan.org".into(), expected }).expect("deleted");
    assert!(!place.vault().join("plan.org").exists());
}

/// The program of this test does not extract text as a child process, so it gives no valid answer.
#[cfg(target_os = "linux")]
#[test]
fn pdf_file_whose_text_cannot_be_extracted_now_is_read_again() {
    let place = Place::new(&[("fern.md", b"fern [[a.pdf]]"), ("a.pdf", b"%PDF-1.7\n")]);
    let indexer = open(&place, &[NoteKind::Pdf]);
    settle(&indexer);
    let coverage = indexer.coverage();
    let [pdf, _] = &coverage[..] else { panic!("{coverage:?}") };
    assert_eq!((&*pdf.path, pdf.state), ("a.pdf", FileState::Failed));
    assert!(pdf.reason.as_deref().is_some_and(|it| it.contains("no valid answer")), "{pdf:?}");
    assert_eq!(uris(&search(&indexer, "fern", SearchMode::Keyword)), ["fern"]);
}
