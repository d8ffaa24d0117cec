//! Ten hostile inputs: each is indexed as far as possible and does not affect the others.

use weft_engine::SearchMode;
use weft_indexer::FileState;

use crate::fixtures::{FakeEmbedder, Place, search, settle, uris};

#[test]
fn ten_hostile_inputs_do_not_affect_other_notes() {
    let long_line = "word ".repeat(5 * 1024 * 1024 / 5);
    let links: String = (0..100_000).map(|n| format!("[[target {n}]] ")).collect();
    let nested = format!("{}deepest heron\n", "> ".repeat(5_000));
    let files: [(&str, &[u8]); 9] = [
        ("good.md", b"# Good\nan ordinary kingfisher, see [[crlf]]\n"),
        ("latin.md", b"# Caf\xe9\nnot UTF-8 but readable bittern\n"),
        ("broken yaml.md", b"---\ntitle: [unclosed\ntags: a\n---\nthe body is a sandpiper\n"),
        ("long.md", long_line.as_bytes()),
        ("links.md", links.as_bytes()),
        ("nested.md", nested.as_bytes()),
        ("crlf.md", b"\xef\xbb\xbf---\r\ntitle: Windows\r\n---\r\nlines of an avocet\r\n"),
        ("nul.md", b"# Nul\nbefore\0after a plover\n"),
        ("name 🦉\nline.md", b"an owl with a newline in its name\n"),
    ];
    let place = Place::new(&files);
    place.write("unreadable.md", b"secret");
    std::fs::write(place.outside().join("outside.md"), "outside the vault: a phoenix")
        .expect("a file");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(
            place.outside().join("outside.md"),
            place.vault().join("link.md"),
        )
        .expect("a link");
        // Root can read any file, so use a link to a missing target as the unreadable file.
        std::fs::remove_file(place.vault().join("unreadable.md")).expect("removed");
        std::os::unix::fs::symlink("/nonexistent/file.md", place.vault().join("unreadable.md"))
            .expect("a link");
    }
    let embedder = FakeEmbedder::new();
    let indexer = place.open(&embedder);
    settle(&indexer);
    let by_word = [
        ("kingfisher", "good"),
        ("bittern", "latin"),
        ("sandpiper", "broken yaml"),
        ("heron", "nested"),
        ("avocet", "crlf"),
        ("plover", "nul"),
        ("owl newline", "name 🦉\nline"),
    ];
    for (word, uri) in by_word {
        assert_eq!(
            uris(&search(&indexer, word, SearchMode::Keyword)).first(),
            Some(&uri),
            "{word}"
        );
    }
    assert!(uris(&search(&indexer, "phoenix", SearchMode::Keyword)).is_empty());
    assert_eq!(indexer.status().n_unresolved, 100_000);
    let coverage = indexer.coverage();
    let of = |path: &str| {
        coverage
            .iter()
            .find(|file| file.path == path)
            .unwrap_or_else(|| panic!("no line for {path}"))
    };
    assert_eq!(of("long.md").state, FileState::Indexed);
    for path in ["latin.md", "broken yaml.md"] {
        assert!(!of(path).diagnostics.is_empty(), "{path}");
    }
    for path in ["link.md", "unreadable.md"] {
        assert_eq!(of(path).state, FileState::Skipped, "{path}");
        assert!(of(path).reason.is_some());
    }
    assert_eq!(indexer.status().last_error, None);
}
