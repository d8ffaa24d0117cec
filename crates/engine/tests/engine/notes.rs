//! Answers with a whole note.

use weft_graph::NoteGraph;
use weft_index::notes::NoteTable;

use weft_engine::{EngineError, NoteRequest};

use crate::vault::{Vault, vault};

fn named(name: &str) -> NoteRequest {
    NoteRequest { name: name.into(), ..NoteRequest::default() }
}

fn linked() -> Vault {
    let mut files = vec![
        ("moss.md".to_owned(), "# Moss\nby the [[stone]]\n".to_owned()),
        ("stone.md".to_owned(), "# Stone\nunder [[moss]]\n".to_owned()),
        ("long.md".to_owned(), format!("# Long\n{}[[fern]]\n", "much text ".repeat(4000))),
        ("fern.md".to_owned(), "# Fern\n".to_owned()),
        ("hub.md".to_owned(), "# Hub\n".to_owned()),
        ("folder/folder.md".to_owned(), "# Folder\n".to_owned()),
        ("index.md".to_owned(), "the [[fern]]\n".repeat(1100)),
        ("listed.md".to_owned(), "# Listed\n".to_owned()),
        ("list.md".to_owned(), format!("{}[[listed]]\n", "the [[hub]]\n".repeat(1100))),
        ("Bog.md".to_owned(), "---\naliases: [mire]\n---\n".to_owned()),
    ];
    let day = |n: usize| format!("---\nup: \"[[d{}]]\"\n---\n", n - 1);
    files.extend((1..70).map(|n| (format!("d{n}.md"), day(n))));
    files.extend((0..70).map(|n| (format!("n{n}.md"), "to the [[hub]]\n".to_owned())));
    files.extend((0..70).map(|n| (format!("folder/c{n}.md"), "below\n".to_owned())));
    vault(&files)
}

#[test]
fn cheap_note_equals_full_note() {
    let engine = linked().engine();
    for (name, is_at_hand) in [
        ("moss", true),
        (" stone.md ", true),
        ("n7", true),
        ("Bog.md", true),
        ("folder/c7", true),
        ("long", false),
        ("fern", false),
        ("hub", false),
        ("folder", false),
        ("d60", true),
        ("d69", false),
        ("index", false),
        ("listed", false),
        // Finding these may require reading other notes.
        ("Stone", false),
        ("mire", false),
        ("nobody", false),
    ] {
        let at_hand = engine.note_if_cheap(&named(name));
        assert_eq!(at_hand.is_some(), is_at_hand, "{name}");
        assert!(at_hand.is_none() || at_hand == engine.note(&named(name)).ok(), "{name}");
    }
}

#[test]
fn stored_note_is_cheap_once_it_and_its_backlinks_were_read() {
    let mut vault = linked();
    let mut written = Vec::new();
    vault.snapshot.notes.write(&mut written).expect("there is room");
    let graph = NoteGraph::from_columns(vault.snapshot.notes.graph().columns());
    let graph = graph.expect("stored data");
    let notes = NoteTable::read(&written.into(), Some(graph));
    vault.snapshot.notes = notes.expect("stored data");
    let engine = vault.engine();
    for name in ["moss", "Moss", "moss|Stone", "[[moss]]"] {
        assert_eq!(engine.note_if_cheap(&named(name)), None, "nothing was read");
    }
    assert_eq!(engine.note_if_cheap(&named("moss")), None, "nor to find it by another name");
    let notes = &engine.snapshot().notes;
    let entry = |name: &str| notes.entry(notes.find(name).note.expect("a note"));
    entry("moss");
    assert_eq!(engine.note_if_cheap(&named("moss")), None, "the linking note was not read");
    entry("stone");
    assert_eq!(engine.note_if_cheap(&named("moss")), engine.note(&named("moss")).ok());
}

#[test]
fn links_of_a_note_are_limited_and_counted() {
    let engine = linked().engine();
    let ask = |name: &str, max_links| engine.note(&NoteRequest { max_links, ..named(name) });
    for (name, children, links, backlinks) in
        [("hub", 0, 0, 1170), ("index", 80, 1100, 0), ("folder", 70, 0, 0), ("stone", 0, 1, 1)]
    {
        let whole = ask(name, NoteRequest::MAX_LINKS).expect("a note");
        assert!(!whole.is_truncated(), "{name}");
        let there = (whole.children.len(), whole.links.len(), whole.backlinks.len());
        assert_eq!(there, (children, links, backlinks), "{name}");
        for (asked, max_links) in [(0, 1000), (1, 1), (70, 70), (1100, 1100)] {
            let answer = ask(name, asked).expect("a note");
            let counted = (answer.n_children, answer.n_links, answer.n_backlinks);
            assert_eq!(counted, there, "{name}, {asked}");
            assert_eq!(answer.children, whole.children[..children.min(max_links)]);
            assert_eq!(answer.links, whole.links[..links.min(max_links)]);
            assert_eq!(answer.backlinks, whole.backlinks[..backlinks.min(max_links)]);
            let is_cut = children.max(links).max(backlinks) > max_links;
            assert_eq!(answer.is_truncated(), is_cut, "{name}, {asked}");
        }
    }
    let error = ask("hub", NoteRequest::MAX_LINKS + 1);
    assert!(matches!(error, Err(EngineError::InvalidArgument { field: "max_links", .. })));
}
