//! Differences between two generations.

use weft_engine::{Diff, LinkChange, NoteChange};
use weft_indexer::{Indexer, Precondition, Rescan, WriteContent, WriteRequest};

use crate::fixtures::{FakeEmbedder, Place};

/// Returns the changes since `before`, one per line.
fn since(indexer: &Indexer, before: u64) -> Vec<String> {
    let now = indexer.reader().snapshot();
    let then = indexer.at(before).expect("stored");
    assert_eq!(Diff::between(&now, &now).notes, []);
    let Diff { notes, links, from, generation } = Diff::between(&then, &now);
    assert_eq!((from, generation), (before, now.generation));
    let note = |note: &NoteChange| {
        let before =
            note.before.as_ref().map(|before| format!(" was {} {:?}", before.path, before.title));
        format!("{:?} {}{} {:?}", note.kind, note.now.path, before.unwrap_or_default(), note.parts)
    };
    let link = |link: &LinkChange| {
        let before = link.before.as_ref().map(|before| format!(" was {before}"));
        let kind = &link.kind;
        format!("{:?} {} {kind} {}{}", link.change, link.from, link.to, before.unwrap_or_default())
    };
    notes.iter().map(note).chain(links.iter().map(link)).collect()
}

#[test]
fn diff_lists_changes_of_notes_and_links() {
    let place = Place::new(&[
        ("fern.md", b"# Fern\nsee [[moss]], [[liverwort]] and [[stone]]\n"),
        ("moss.md", b"# Moss\nsoft\n"),
        ("stone.md", b"---\nid: rock\ntags: [hard]\n---\ngrey\n"),
        ("yew.md", b"---\ntopics: \"[[moss]]\"\n---\na tree\n"),
    ]);
    let embedder = FakeEmbedder::new();
    let indexer = place.open(&embedder);
    let first = indexer.flush().expect("a generation");

    let rename = |from: &str, to: &str| {
        let to = place.vault().join(to);
        std::fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
        std::fs::rename(place.vault().join(from), to).expect("a rename");
    };
    // Moves are recognized by content, with all inbound links kept, and by the claimed uri, with an edit at the same time.
    rename("moss.md", "bog/moss.md");
    rename("stone.md", "pebble.md");
    place.write("pebble.md", b"---\nid: rock\ntags: [soft]\n---\nsmooth\n");
    place.write("liverwort.md", b"flat\n");
    std::fs::remove_file(place.vault().join("yew.md")).expect("removed");
    let second = indexer.flush().expect("a generation");
    assert_eq!(
        since(&indexer, first),
        [
            "Added liverwort.md {}",
            "Removed yew.md {}",
            "Moved bog/moss.md was moss.md \"Moss\" {Uri}",
            "Moved pebble.md was stone.md \"stone\" {Title, Text, Frontmatter, Tags}",
            "Resolved fern related liverwort was liverwort",
            "Unresolved fern related stone was rock",
            "Removed yew topics moss",
        ]
    );

    // A closer note takes over a link by name, and a folder note becomes the parent of the folder's notes.
    place.write("moss.md", b"another\n");
    place.write("bog/index.md", b"# Bog\n");
    let content = WriteContent::Whole("# Fern\n[[moss]]\n".into());
    let (path, expected) = ("fern.md".to_owned(), Precondition::Anything);
    indexer.write(WriteRequest::Put { vault: None, path, content, expected }).expect("written");
    indexer.rescan(Rescan::default()).expect("a rescan");
    assert_eq!(
        since(&indexer, second),
        [
            "Added bog/index.md {}",
            "Added moss.md {}",
            "Changed bog/moss.md {Parent}",
            "Changed fern.md {Text}",
            "Removed fern related liverwort",
            "Retargeted fern related moss was bog/moss",
            "Removed fern related stone",
        ]
    );
}

#[test]
fn respelled_link_with_same_target_is_unchanged() {
    let place = Place::new(&[
        ("fern.md", b"[[moss]] [[moss]] [[yew]]"),
        ("a/moss.md", b"soft"),
        ("yew.md", b"a tree"),
    ]);
    let indexer = place.open(&FakeEmbedder::new());
    let first = indexer.flush().expect("a generation");
    place.write("fern.md", b"[[a/moss]] [[yew.md|a yew]] [[moss]] [moss](a/moss.md)");
    indexer.flush().expect("a generation");
    assert_eq!(since(&indexer, first), ["Changed fern.md {Text}", "Added fern related a/moss"]);
}
