//! Notes written, deleted and moved on request.

use std::sync::Arc;

use weft_engine::SearchMode;
use weft_index::embedder::Embedder;
use weft_index::notes::VaultId;
use weft_indexer::parse::ParseOptions;
use weft_indexer::{
    IndexSettings, Indexer, Precondition, Rescan, RewrittenLinks, VaultSettings, WriteContent,
    WriteError, WriteOutcome, WriteRequest,
};
use weft_model::{NotePath, TextHash};

use crate::fixtures::{FakeEmbedder, Place, search, settle, uris};

fn put(
    indexer: &Indexer,
    path: &str,
    text: &str,
    expected: Precondition,
) -> Result<WriteOutcome, WriteError> {
    let content = WriteContent::Whole(text.to_owned());
    indexer.write(WriteRequest::Put { vault: None, path: path.to_owned(), content, expected })
}

fn move_to(indexer: &Indexer, name: &str, to: &str) -> Result<WriteOutcome, WriteError> {
    let (name, to) = (name.to_owned(), to.to_owned());
    indexer.write(WriteRequest::Move {
        name,
        to,
        expected: Precondition::Anything,
        rewrite_links: true,
    })
}

#[test]
fn concurrent_puts_share_generations_and_each_caller_gets_its_outcome() {
    let place = Place::new(&[("fern.md", b"# Fern\n")]);
    let indexer = place.open(&FakeEmbedder::new());
    let before = settle(&indexer);
    let (n_callers, n_each) = (8, 10);
    let wrote: Vec<(String, WriteOutcome)> = std::thread::scope(|scope| {
        let indexer = &indexer;
        let callers: Vec<_> = (0..n_callers)
            .map(|caller| {
                scope.spawn(move || {
                    // All callers also write the same file, so that batches contain it several times.
                    let paths = [format!("own{caller}.md"), "shared.md".to_owned()];
                    let puts = (0..n_each).flat_map(|n| paths.clone().map(|path| (n, path)));
                    let put = |(n, path): (usize, String)| {
                        let text = format!("# Note\nword{caller}x{n}\n");
                        let wrote = put(indexer, &path, &text, Precondition::Anything);
                        (text, wrote.expect("written"))
                    };
                    puts.map(put).collect::<Vec<_>>()
                })
            })
            .collect();
        callers.into_iter().flat_map(|caller| caller.join().expect("a caller")).collect()
    });
    for (text, wrote) in &wrote {
        let again = put(&indexer, "same.md", text, Precondition::Anything).expect("written");
        assert_eq!(wrote.hash, again.hash, "{text}");
    }
    let made = wrote.iter().filter(|(_, wrote)| wrote.created && wrote.path == "shared.md");
    assert_eq!(made.count(), 1, "one caller created it");
    let newest = wrote.iter().filter_map(|(_, wrote)| wrote.generation).max().expect("some");
    assert!(newest - before <= (n_callers * n_each * 2) as u64);
    let found = search(&indexer, "word3x9", SearchMode::Keyword);
    assert!(uris(&found).contains(&"own3"), "{:?}", uris(&found));
}

#[test]
fn put_note_is_found_in_the_returned_generation() {
    let place = Place::new(&[("fern.md", b"# Fern\nsee [[moss]]\n")]);
    let embedder = FakeEmbedder::new();
    let indexer = place.open(&embedder);
    settle(&indexer);

    let wrote =
        put(&indexer, "bog/moss.md", "---\ntags: [wet]\n---\nsoft\n", Precondition::Nothing)
            .expect("a new note");
    assert_eq!(wrote.uri.as_ref().map(|uri| uri.as_str()), Some("bog/moss"));
    assert!(wrote.created && Some(indexer.reader().snapshot().generation) >= wrote.generation);
    assert_eq!(uris(&search(&indexer, "soft", SearchMode::Keyword))[0], "bog/moss");
    assert_eq!(indexer.status().n_unresolved, 0);

    // The same put again changes nothing, not even the generation.
    let again =
        put(&indexer, "bog/moss.md", "---\ntags: [wet]\n---\nsoft\n", Precondition::Anything);
    let again = again.expect("the same note");
    assert_eq!((again.created, again.hash), (false, wrote.hash));

    // Only a caller that knows the current content may replace it.
    let hash = wrote.hash.expect("a file");
    let error =
        put(&indexer, "bog/moss.md", "other", Precondition::Nothing).expect_err("it exists");
    assert!(matches!(error, WriteError::AlreadyExists { .. }), "{error}");
    let wrong = Precondition::Hash(TextHash(hash.0 ^ 1));
    let error = put(&indexer, "bog/moss.md", "other", wrong).expect_err("another content");
    assert!(matches!(error, WriteError::Conflict { actual, .. } if actual == Some(hash)));
    let content = WriteContent::Body("wet\n".into());
    let write = WriteRequest::Put {
        vault: Some("vault".into()),
        path: "bog/moss.md".into(),
        content,
        expected: Precondition::Hash(hash),
    };
    indexer.write(write).expect("the body only");
    let text = std::fs::read_to_string(place.vault().join("bog/moss.md")).expect("a file");
    assert_eq!(text, "---\ntags: [wet]\n---\nwet\n");

    // A file excluded by its own frontmatter is written, and the outcome says that it is not indexed.
    let kept_out = "---\nindexed: false\n---\nsecret\n";
    let wrote = put(&indexer, "private.md", kept_out, Precondition::Nothing).expect("a file");
    assert_eq!((wrote.uri, wrote.not_indexed.is_some(), wrote.created), (None, true, true));

    for (path, part) in [("../x.md", ".."), ("x.txt", ".md"), (".x.md", "hidden")] {
        let error = put(&indexer, path, "x", Precondition::Anything).expect_err(path);
        assert!(
            matches!(&error, WriteError::Invalid { field: "path", reason } if reason.contains(part))
        );
    }
    let delete =
        |name: &str, expected| indexer.write(WriteRequest::Delete { name: name.into(), expected });
    let error = delete("moss", Precondition::Hash(hash)).expect_err("the file changed");
    assert!(matches!(error, WriteError::Conflict { .. }), "{error}");
    let deleted = delete("moss", Precondition::Anything).expect("a note by its name");
    assert_eq!((deleted.path.as_str(), deleted.uri, deleted.hash), ("bog/moss.md", None, None));
    assert!(!place.vault().join("bog/moss.md").exists());
    assert!(uris(&search(&indexer, "wet", SearchMode::Keyword)).is_empty());
    assert_eq!(indexer.status().n_unresolved, 1);
    let error = delete("mosss", Precondition::Anything).expect_err("no such note");
    assert!(matches!(error, WriteError::UnknownNote { .. }), "{error}");
}

#[test]
fn links_follow_a_moved_note() {
    let place = Place::new(&[
        ("a/moss.md", b"see [stone](../stone.md), [[./peat]] and [[fern]]\n"),
        ("a/peat.md", b"peat\n"),
        ("stone.md", b"see [m](a/moss.md#wet \"m\") and `[[moss]]`\n"),
        ("fern.md", b"---\nup: \"[[a/moss]]\"\n---\n[[moss|the moss]] [[a/moss#x]]\n"),
        ("other/lichen.md", b"nothing of it\n"),
        ("latin.md", b"caf\xe9 [[a/moss]]\n"),
    ]);
    let embedder = FakeEmbedder::new();
    let indexer = place.open(&embedder);
    settle(&indexer);
    let before = indexer.status();
    assert_eq!(before.n_unresolved, 0);

    let moved = move_to(&indexer, "moss", "b c/deep/moss.md").expect("a move");
    assert_eq!(moved.uri.as_ref().map(|uri| uri.as_str()), Some("b c/deep/moss"));
    let links = |path: &str, n_rewritten, n_not_rewritten| RewrittenLinks {
        path: path.into(),
        n_rewritten,
        n_not_rewritten,
    };
    assert_eq!(
        moved.links,
        [
            links("b c/deep/moss.md", 2, 0),
            links("fern.md", 2, 0),
            links("latin.md", 0, 1),
            links("stone.md", 1, 0)
        ]
    );
    let text = |path: &str| std::fs::read_to_string(place.vault().join(path)).expect("a file");
    assert_eq!(
        text("b c/deep/moss.md"),
        "see [stone](../../stone.md), [[../../a/peat]] and [[fern]]\n"
    );
    assert_eq!(text("stone.md"), "see [m](b%20c/deep/moss.md#wet \"m\") and `[[moss]]`\n");
    assert_eq!(
        text("fern.md"),
        "---\nup: \"[[b c/deep/moss]]\"\n---\n[[moss|the moss]] [[b c/deep/moss#x]]\n"
    );
    let after = indexer.status();
    assert_eq!(after.n_unresolved, 1, "the file that is not UTF-8 is unchanged");
    settle(&indexer);
    assert_eq!(indexer.status().digest, after.digest, "a full scan finds no change");

    let error = move_to(&indexer, "fern", "stone.md").expect_err("the path exists");
    assert!(matches!(error, WriteError::AlreadyExists { .. }), "{error}");
    assert_eq!(text("stone.md"), "see [m](b%20c/deep/moss.md#wet \"m\") and `[[moss]]`\n");
}

#[test]
fn move_to_impossible_path_is_refused_and_blocks_no_other() {
    let place = Place::new(&[("fern.md", b"[[moss]]\n"), ("moss.md", b"soft\n")]);
    let indexer = place.open(&FakeEmbedder::new());
    settle(&indexer);
    let long = "x".repeat(300);
    for to in [format!("{long}.md"), format!("new/{long}.md"), "fern.md/moss.md".to_owned()] {
        let error = move_to(&indexer, "moss", &to).expect_err("no file can be at the path");
        assert!(matches!(error, WriteError::Invalid { field: "to", .. }), "{error}");
        let error = put(&indexer, &to, "x", Precondition::Anything).expect_err("nor here");
        assert!(matches!(error, WriteError::Invalid { field: "path", .. }), "{error}");
    }
    assert!(!place.vault().join("new").exists() && place.vault().join("moss.md").exists());
    move_to(&indexer, "moss", "bog/moss.md").expect("a move");
}

#[cfg(unix)]
#[test]
fn target_of_symbolic_link_is_neither_deleted_nor_moved() {
    let place = Place::new(&[("sub/real.md", b"real amber\n"), ("ref.md", b"[[sub/real]]\n")]);
    let at = |path: &str| place.vault().join(path);
    std::os::unix::fs::symlink("sub/real.md", at("alias.md")).expect("a link");
    let indexer = place.open(&FakeEmbedder::new());
    settle(&indexer);
    let error = move_to(&indexer, "alias.md", "moved.md").expect_err("a link");
    assert_eq!(
        error.to_string(),
        "`name`: `alias.md` is a symbolic link to `sub/real.md`; move that note, or the link by hand"
    );
    assert!(at("alias.md").is_symlink() && at("sub/real.md").is_file() && !at("moved.md").exists());
    let (name, expected) = ("alias.md".to_owned(), Precondition::Anything);
    indexer.write(WriteRequest::Delete { name, expected }).expect("deleted");
    assert!(!at("alias.md").is_symlink() && at("sub/real.md").is_file());
    let notes = indexer.reader().snapshot().notes.clone();
    assert!(notes.find("alias.md").note.is_none() && notes.find("sub/real").note.is_some());
}

#[test]
fn notes_are_found_by_file_name() {
    let names = [" lead.md", "trail .md", "back\\slash.md", "plain.md"];
    let place = Place::new(&names.map(|name| (name, &b"text\n"[..])));
    let indexer = place.open(&FakeEmbedder::new());
    settle(&indexer);
    let notes = indexer.reader().snapshot().notes.clone();
    for name in names.into_iter().filter(|name| cfg!(unix) || !name.contains('\\')) {
        let bare = name.trim_end_matches(".md");
        for name in [name, bare] {
            assert!(notes.find(name).note.is_some(), "{name:?}");
        }
    }
    assert!(notes.find(" plain.md ").note.is_some(), "spaces around a name are ignored");
}

#[test]
fn ambiguous_name_is_refused_for_deletes_and_moves() {
    let place = Place::new(&[("a/fern.md", b"one"), ("b/fern.md", b"two"), ("moss.md", b"moss")]);
    let indexer = place.open(&FakeEmbedder::new());
    settle(&indexer);
    let delete = |name: &str| {
        indexer.write(WriteRequest::Delete { name: name.into(), expected: Precondition::Anything })
    };
    for error in [delete("fern"), move_to(&indexer, "fern", "c.md")].map(Result::unwrap_err) {
        let WriteError::Invalid { field: "name", reason } = &error else { panic!("{error}") };
        assert!(reason.ends_with("use one of their paths: a/fern.md, b/fern.md"), "{reason}");
    }
    assert_eq!(delete("b/fern").expect("its uri").path, "b/fern.md");
    assert_eq!(delete("fern").expect("the only one left").path, "a/fern.md");
}

#[test]
fn path_may_have_a_vault_prefix() {
    let (place, other) = (Place::new(&[("fern.md", b"one")]), Place::new(&[("moss.md", b"two")]));
    let mut settings = place.settings();
    settings.vaults.push(VaultSettings { name: "other".into(), root: other.vault() });
    let indexer = Indexer::open(settings, None, None).expect("an index");
    settle(&indexer);
    let error = move_to(&indexer, "fern", "other:fern.md").expect_err("another vault");
    assert!(matches!(error, WriteError::Invalid { field: "to", .. }), "{error}");
    let moved = move_to(&indexer, "other:moss", "other:bog/moss.md").expect("its own vault");
    assert_eq!((moved.vault.as_str(), moved.path.as_str()), ("other", "bog/moss.md"));
    assert_eq!(move_to(&indexer, "fern", "a:b.md").expect("no vault's name").path, "a:b.md");
    let put = |vault: Option<&str>, path: &str| {
        let (vault, path) = (vault.map(str::to_owned), path.to_owned());
        let content = WriteContent::Whole("soft".into());
        indexer.write(WriteRequest::Put { vault, path, content, expected: Precondition::Anything })
    };
    for vault in [None, Some("other")] {
        let put = put(vault, "other:new.md").expect("its own vault");
        assert_eq!((put.vault.as_str(), put.path.as_str()), ("other", "new.md"));
    }
    for (vault, path, wrong) in [
        (Some("vault"), "other:new.md", "path"),
        (None, "new.md", "vault"),
        (None, "a:b.md", "vault"),
    ] {
        let error = put(vault, path).expect_err(path);
        let WriteError::Invalid { field, .. } = &error else { panic!("{error}") };
        assert_eq!(*field, wrong, "{path}");
    }
}

#[test]
fn put_body_stays_below_the_frontmatter() {
    let place = Place::new(&[]);
    let indexer = place.open(&FakeEmbedder::new());
    settle(&indexer);
    let put_body = |body: &str| {
        let (path, content) = ("fern.md".to_owned(), WriteContent::Body(body.to_owned()));
        indexer.write(WriteRequest::Put {
            vault: None,
            path,
            content,
            expected: Precondition::Anything,
        })
    };
    for (old, body, expected) in [
        ("---\na: 1\n---", "new", "---\na: 1\n---\nnew"),
        ("---\r\na: 1\r\n--- ", "new", "---\r\na: 1\r\n--- \nnew"),
        ("---\na: 1\n...", "new", "---\na: 1\n...\nnew"),
        ("---\na: 1\n---", "", "---\na: 1\n---"),
        ("---\na: 1\n---\n\nold", "\nnew", "---\na: 1\n---\n\nnew"),
        ("---\na: 1\n---\nold", "---\nb: 2\n---\nnew", "---\na: 1\n---\n---\nb: 2\n---\nnew"),
        ("old", "new", "new"),
        ("old", "\n---\nb: 2\n---\nnew", "\n---\nb: 2\n---\nnew"),
    ] {
        place.write("fern.md", old.as_bytes());
        put_body(body).expect(old);
        let written = std::fs::read_to_string(place.vault().join("fern.md")).expect("a file");
        assert_eq!(written, expected, "{old:?}");
    }
    for body in ["---\nb: 2\n---\nnew", "\u{feff}new"] {
        place.write("fern.md", b"old");
        let error = put_body(body).expect_err("it would be parsed as something else");
        assert!(matches!(error, WriteError::Invalid { field: "body", .. }), "{error}");
        assert_eq!(std::fs::read(place.vault().join("fern.md")).expect("a file"), b"old");
    }
}

#[test]
fn links_that_are_not_rewritten_are_counted() {
    let place = Place::new(&[
        ("fern.md", b"[[bog/moss]] [[bog/moss|again]] [[moss]]"),
        ("bog/moss.md", b"[wall](./wall.md)"),
        ("bog/wall.md", b"grey"),
    ]);
    let other = Place::new(&[("yew.md", b"[[vault:bog/moss]]"), ("fern.md", b"[[vault:moss]]")]);
    let mut settings = place.settings();
    settings.vaults.push(VaultSettings { name: "other".into(), root: other.vault() });
    let indexer = Indexer::open(settings, None, None).expect("an index");
    settle(&indexer);
    let move_as = |name: &str, to: &str, rewrite_links| {
        let (name, to, expected) = (name.to_owned(), to.to_owned(), Precondition::Anything);
        let moved = indexer.write(WriteRequest::Move { name, to, expected, rewrite_links });
        let links = moved.expect("moved").links;
        links
            .into_iter()
            .map(|file| (file.path, file.n_rewritten, file.n_not_rewritten))
            .collect::<Vec<_>>()
    };
    let reported = |files: &[(&str, usize, usize)]| -> Vec<(String, usize, usize)> {
        files.iter().map(|(path, done, left)| ((*path).to_owned(), *done, *left)).collect()
    };
    assert_eq!(
        move_as("vault:bog/moss", "moor/moss.md", true),
        reported(&[("fern.md", 2, 0), ("moor/moss.md", 1, 0), ("other:yew.md", 0, 1)])
    );
    let before = std::fs::read_to_string(place.vault().join("fern.md")).expect("a file");
    assert_eq!(before, "[[moor/moss]] [[moor/moss|again]] [[moss]]");
    assert_eq!(
        move_as("vault:moor/moss", "peat.md", false),
        reported(&[("fern.md", 0, 3), ("other:fern.md", 0, 1), ("peat.md", 0, 1)])
    );
    assert_eq!(std::fs::read_to_string(place.vault().join("fern.md")).expect("a file"), before);
    // `[[moss]]` has the other note as its target now, and would have the moved one.
    place.write("bog/moss.md", b"[[wall]]");
    place.write("peat.md", b"![](./x.png)");
    settle(&indexer);
    assert_eq!(
        move_as("vault:peat", "moss.md", false),
        reported(&[("fern.md", 0, 1), ("other:fern.md", 0, 1)])
    );
    assert_eq!(
        move_as("vault:/moss", "moor/moss.md", false),
        reported(&[("fern.md", 0, 1), ("moor/moss.md", 0, 1), ("other:fern.md", 0, 1)])
    );
}

#[test]
fn dendron_move_keeps_labels_and_moves_children() {
    let place = Place::new(&[
        ("a.moss.md", b"see [[its own|a.moss#x]] and [[the fern|b.fern]]\n"),
        ("a.moss.wet.md", b"below\n"),
        (
            "b.fern.md",
            b"[[Moss|a.moss]] ![[a.moss#one,1:#two]] [[far|dendron://elsewhere/a.moss]]\n",
        ),
        ("root.md", b"[[near|dendron://vault/a.moss]]\n"),
    ]);
    let parse = ParseOptions { dendron: true, ..ParseOptions::default() };
    let settings = IndexSettings { parse, ..place.settings() };
    let embedder: Arc<dyn Embedder> = FakeEmbedder::new();
    let indexer = Indexer::open(settings, Some(embedder), None).expect("an index");
    settle(&indexer);
    assert_eq!(indexer.status().n_unresolved, 0);
    let parent = |path: &str| {
        let notes = indexer.reader().snapshot().notes.clone();
        let id = notes.at(VaultId(0), &NotePath::new(path)).expect("a note");
        notes.graph().parent(id).map(|id| notes.graph().uri(id).to_string())
    };
    assert_eq!(parent("a.moss.wet.md").as_deref(), Some("a.moss"));

    let moved = move_to(&indexer, "a.moss", "c.lichen.md").expect("a move");
    let n_links: Vec<_> = moved
        .links
        .iter()
        .map(|file| (&*file.path, file.n_rewritten, file.n_not_rewritten))
        .collect();
    assert_eq!(n_links, [("b.fern.md", 3, 0), ("c.lichen.md", 1, 0), ("root.md", 1, 0)]);
    let text = |path: &str| std::fs::read_to_string(place.vault().join(path)).expect("a file");
    assert_eq!(text("c.lichen.md"), "see [[its own|c.lichen#x]] and [[the fern|b.fern]]\n");
    assert_eq!(
        text("b.fern.md"),
        "[[Moss|c.lichen]] ![[c.lichen#one,1:#two]] [[far|dendron://elsewhere/c.lichen]]\n"
    );
    assert_eq!(text("root.md"), "[[near|dendron://vault/c.lichen]]\n");
    assert_eq!(indexer.status().n_unresolved, 0);
    assert_eq!(parent("a.moss.wet.md").as_deref(), Some("root"));
    move_to(&indexer, "c.lichen", "a.moss.md").expect("a move back");
    assert_eq!(parent("a.moss.wet.md").as_deref(), Some("a.moss"));
}

/// A move of one note: the files before and after, each by its path at that time, and the reported link counts.
struct MoveCase {
    name: &'static str,
    from: &'static str,
    to: &'static str,
    files: &'static [(&'static str, &'static str, &'static str)],
    links: &'static [(&'static str, usize, usize)],
}

#[test]
fn links_keep_their_targets_after_a_move() {
    let cases = [
        MoveCase {
            name: "paths that also match a name",
            from: "Old.md",
            to: "dir/Old.md",
            files: &[
                (
                    "s.md",
                    "[x](Old.md) [y](Old.md#h) [z][1]\n\n[1]: Old.md\n",
                    "[x](dir/Old.md) [y](dir/Old.md#h) [z][1]\n\n[1]: dir/Old.md\n",
                ),
                ("dir/Old.md", "[b](b.md) [me](Old.md)", "[b](../b.md) [me](Old.md)"),
                ("b.md", "[[Old]] [o](/Old.md)", "[[Old]] [o](/dir/Old.md)"),
                ("a/root.md", "[o](Old.md) [[Old]]", "[o](dir/Old.md) [[Old]]"),
                ("a/up.md", "[o](../Old.md \"t\")", "[o](../dir/Old.md \"t\")"),
            ],
            links: &[
                ("a/root.md", 1, 0),
                ("a/up.md", 1, 0),
                ("b.md", 1, 0),
                ("dir/Old.md", 1, 0),
                ("s.md", 3, 0),
            ],
        },
        MoveCase {
            name: "links without a target that would get a note of that name",
            from: "d1/note.md",
            to: "Dir/sub/note.md",
            files: &[
                (
                    "Dir/sub/note.md",
                    "[later](../Dir/sub/index.md) [[../Dir/sub/index]]",
                    "[later](./index.md) [[./index]]",
                ),
                ("index.md", "", ""),
            ],
            links: &[("Dir/sub/note.md", 2, 0)],
        },
        MoveCase {
            name: "names that would resolve to the moved note",
            from: "in/idea.md",
            to: "moss.md",
            files: &[
                ("s.md", "[[moss]] [[idea]]", "[[notes/moss]] [[moss]]"),
                (
                    "notes/t.md",
                    "---\nup: moss\n---\n[[moss|m]]",
                    "---\nup: notes/moss\n---\n[[notes/moss|m]]",
                ),
                ("notes/moss.md", "[m](moss.md) [[idea#x]]", "[m](moss.md) [[moss#x]]"),
                ("moss.md", "[[moss]]", "[[notes/moss]]"),
            ],
            links: &[
                ("moss.md", 1, 0),
                ("notes/moss.md", 1, 0),
                ("notes/t.md", 2, 0),
                ("s.md", 2, 0),
            ],
        },
        MoveCase {
            name: "relative paths from the moved note to files that are not notes",
            from: "a/n.md",
            to: "b/c/n.md",
            files: &[
                (
                    "b/c/n.md",
                    "![](img/x.png) [d](./d.pdf \"t\") ![z][1] [l](LICENSE) [p](private.md#h)\n\n\
                     [1]: img/z.png\n",
                    "![](../../a/img/x.png) [d](../../a/d.pdf \"t\") ![z][1] [l](../../a/LICENSE) \
                     [p](../../a/private.md#h)\n\n[1]: ../../a/img/z.png\n",
                ),
                ("a/img/x.png", "x", "x"),
                ("a/img/z.png", "z", "z"),
                ("a/LICENSE", "free", "free"),
                ("a/private.md", "---\nindexed: false\n---\n", "---\nindexed: false\n---\n"),
            ],
            links: &[("b/c/n.md", 5, 0)],
        },
        MoveCase {
            name: "links to files found in other ways, or not at all, are unchanged",
            from: "a/n.md",
            to: "b/n.md",
            files: &[
                (
                    "b/n.md",
                    "![[x.png]] ![[./x.png]] ![](/a/x.png) ![](https://e.org/x.png) ![](y.png) \
                     ![](z.png?raw=1) `![](x.png)` [t](todo.md) ![](../c.png) [![](x.png)](x.png)",
                    "![[x.png]] ![[../a/x.png]] ![](/a/x.png) ![](https://e.org/x.png) ![](y.png) \
                     ![](z.png?raw=1) `![](x.png)` [t](todo.md) ![](../c.png) \
                     [![](../a/x.png)](../a/x.png)",
                ),
                ("a/x.png", "x", "x"),
                ("y.png", "y", "y"),
            ],
            links: &[("b/n.md", 3, 0)],
        },
        MoveCase {
            name: "queries",
            from: "a/n.md",
            to: "b/N.md",
            files: &[
                ("s.md", "[n](a/n.md?plain=1#L3) [n](a/n?x)", "[n](b/N.md?plain=1#L3) [n](b/N?x)"),
                ("b/N.md", "![](x.png?raw=1) [w](Why?.md)", "![](../a/x.png?raw=1) [w](Why?.md)"),
                ("a/x.png", "x", "x"),
                ("b/Why?.md", "[n](../a/n.md)", "[n](./N.md)"),
            ],
            links: &[("b/N.md", 1, 0), ("b/Why?.md", 1, 0), ("s.md", 2, 0)],
        },
        MoveCase {
            name: "a case that differs",
            from: "Dir/Note.md",
            to: "Dir/note.md",
            files: &[
                (
                    "s.md",
                    "[n](Dir/Note.md) [[Note]] [[dir/note]] [n](dir/NOTE.md) [[Also]]",
                    "[n](Dir/note.md) [[note]] [[dir/note]] [n](dir/NOTE.md) [[Also]]",
                ),
                ("Dir/note.md", "---\naliases: [Also]\n---\n", "---\naliases: [Also]\n---\n"),
                ("Dir/t.md", "[n](Note.md#x)", "[n](note.md#x)"),
            ],
            links: &[("Dir/t.md", 1, 0), ("s.md", 2, 0)],
        },
        MoveCase {
            name: "links to a folder",
            from: "pots/index.md",
            to: "store/jars/index.md",
            files: &[
                (
                    "s.md",
                    "[[pots]] [p](pots/) [p](pots)",
                    "[[jars]] [p](store/jars/) [p](store/jars)",
                ),
                ("store/jars/index.md", "", ""),
                ("index.md", "", ""),
            ],
            links: &[("s.md", 3, 0)],
        },
        MoveCase {
            name: "brackets",
            from: "a [b].md",
            to: "b [x].md",
            files: &[
                (
                    "s.md",
                    "---\nup: [[a [b]]]\n---\n[[a [b]]] [[a [b]|[c]]] [n](a%20[b].md)",
                    "---\nup: [[b [x]]]\n---\n[[b [x]]] [[b [x]|[c]]] [n](b%20[x].md)",
                ),
                ("b [x].md", "", ""),
            ],
            links: &[("s.md", 4, 0)],
        },
        MoveCase {
            name: "a Markdown link by name only",
            from: "a/Old.md",
            to: "b/Old.md",
            files: &[("s.md", "[x](Old.md)", "[x](Old.md)"), ("b/Old.md", "", "")],
            links: &[],
        },
        MoveCase {
            name: "the linking note moves below the other",
            from: "s.md",
            to: "sub/s.md",
            files: &[("sub/s.md", "[x](Old.md)", "[x](../Old.md)"), ("Old.md", "", "")],
            links: &[("sub/s.md", 1, 0)],
        },
    ];
    for MoveCase { name, from, to, files, links } in cases {
        let place = Place::new(&[]);
        for (path, before, _) in files {
            place.write(if *path == to { from } else { path }, before.as_bytes());
        }
        let indexer = place.open(&FakeEmbedder::new());
        settle(&indexer);
        let moved = move_to(&indexer, from, to).expect(name);
        for (path, _, after) in files {
            let text = std::fs::read_to_string(place.vault().join(path)).expect(path);
            assert_eq!(text, *after, "{name}: {path}");
        }
        let reported: Vec<_> = moved
            .links
            .iter()
            .map(|file| (&*file.path, file.n_rewritten, file.n_not_rewritten))
            .collect();
        assert_eq!(reported, links, "{name}");
    }
}

#[test]
fn canvases_follow_a_moved_note() {
    let board = |path: &str| {
        format!(
            "{{\n\t\"nodes\":[\n\t\t{{\"id\":\"1\",\"type\":\"file\",\"file\":\"{path}\",\"subpath\":\"#A\"}},\n\t\t{{\"id\":\"2\",\"type\":\"text\",\"text\":\"a/moss.md\"}}\n\t],\n\t\"edges\":[]\n}}"
        )
    };
    let place = Place::new(&[
        ("a/moss.md", b"soft"),
        ("x/board.canvas", board("a/moss.md").as_bytes()),
        ("other.canvas", board("fern.md").as_bytes()),
        ("broken.canvas", b"{ a/moss.md"),
        (".trash/old.canvas", board("a/moss.md").as_bytes()),
        ("kept/out.canvas", board("a/moss.md").as_bytes()),
        (".weftignore", b"kept/\n"),
    ]);
    let indexer = place.open(&FakeEmbedder::new());
    settle(&indexer);
    let text = |path: &str| std::fs::read_to_string(place.vault().join(path)).expect("a file");
    let moved = move_to(&indexer, "moss", "b/fen.md").expect("moved");
    let links = |n_rewritten, n_not_rewritten| {
        [RewrittenLinks { path: "x/board.canvas".into(), n_rewritten, n_not_rewritten }]
    };
    assert_eq!(moved.links, links(1, 0));
    assert_eq!(text("x/board.canvas"), board("b/fen.md"));
    assert_eq!(text("other.canvas"), board("fern.md"));
    assert_eq!(text(".trash/old.canvas"), board("a/moss.md"));
    let (name, to, expected) = ("fen".into(), "c.md".into(), Precondition::Anything);
    let write = WriteRequest::Move { name, to, expected, rewrite_links: false };
    assert_eq!(indexer.write(write).expect("moved").links, links(0, 1));
    assert_eq!(text("x/board.canvas"), board("b/fen.md"));
    assert_eq!(text("kept/out.canvas"), board("a/moss.md"));
    // Documents come and go between scans.
    place.write("x/board.canvas", board("c.md").as_bytes());
    place.write("y/late.canvas", board("c.md").as_bytes());
    std::fs::remove_file(place.vault().join("other.canvas")).expect("removed");
    indexer.rescan(Rescan::default()).expect("scanned");
    std::fs::remove_file(place.vault().join("x/board.canvas")).expect("removed");
    let moved = move_to(&indexer, "c", "d.md").expect("moved");
    let late = RewrittenLinks { path: "y/late.canvas".into(), n_rewritten: 1, n_not_rewritten: 0 };
    assert_eq!(moved.links, [late]);
    assert_eq!(text("y/late.canvas"), board("d.md"));
}

#[test]
fn links_in_texts_of_canvases_follow_a_moved_note() {
    let board = |texts: [&str; 4]| {
        let node = |text: &&str| serde_json::json!({ "type": "text", "text": text }).to_string();
        let nodes: Vec<String> = texts.iter().map(node).collect();
        format!("{{\"nodes\": [{}], \"edges\": []}}", nodes.join(",\n "))
    };
    let old = board([
        "[[moss]] and [moss](../a/moss.md#Soft) \"and\" `[[moss]]`",
        "[[stone]], [web](https://moss.example)",
        "![[a/moss|soft]]\n\n[m]: ../a/moss.md\n[m]",
        "moss",
    ]);
    let new = board([
        "[[fen]] and [moss](../b/fen.md#Soft) \"and\" `[[moss]]`",
        "[[stone]], [web](https://moss.example)",
        "![[b/fen|soft]]\n\n[m]: ../b/fen.md\n[m]",
        "moss",
    ]);
    let place = Place::new(&[
        ("a/moss.md", b"# Soft\n"),
        ("stone.md", b"hard"),
        ("x/board.canvas", old.as_bytes()),
    ]);
    let indexer = place.open(&FakeEmbedder::new());
    settle(&indexer);
    let text = || std::fs::read_to_string(place.vault().join("x/board.canvas")).expect("a file");
    let links = |n_rewritten, n_not_rewritten| {
        [RewrittenLinks { path: "x/board.canvas".into(), n_rewritten, n_not_rewritten }]
    };
    let (name, to, expected) = ("moss".into(), "b/fen.md".into(), Precondition::Anything);
    let moved = move_to(&indexer, "moss", "b/fen.md").expect("moved");
    assert_eq!((text(), &*moved.links), (new.clone(), &links(4, 0)[..]));
    // Without the flag, the links are counted.
    move_to(&indexer, "fen", "a/moss.md").expect("moved back");
    assert_eq!(text(), old);
    let write = WriteRequest::Move { name, to, expected, rewrite_links: false };
    assert_eq!(indexer.write(write).expect("moved").links, links(0, 4));
    assert_eq!(text(), old);
}

/// Another process swaps a folder of the vault and a link to a folder outside while notes are put, moved and deleted.
#[cfg(target_os = "linux")]
#[test]
fn no_request_writes_outside_while_folder_and_link_are_swapped() {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use rustix::fs::{CWD, RenameFlags, renameat_with};

    const N_ROUNDS: usize = 300;
    let place = Place::new(&[("d/moss.md", b"moss"), ("fern.md", b"fern")]);
    let outside = place.outside().join("outside");
    std::fs::create_dir_all(&outside).expect("a folder");
    std::fs::write(outside.join("secret.md"), "secret").expect("a file");
    let (folder, link) = (place.vault().join("d"), place.vault().join(".link"));
    std::os::unix::fs::symlink(&outside, &link).expect("a link");
    let indexer = place.open(&FakeEmbedder::new());
    settle(&indexer);
    let is_over = AtomicBool::new(false);
    let (mut n_done, mut n_refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE).expect("swapped");
                // A request takes about as long, so that some finish between two swaps and some do not.
                std::thread::sleep(Duration::from_micros(500));
            }
        });
        for n in 0..N_ROUNDS {
            let path = format!("d/race-{n}.md");
            let moved = format!("d/deep/moved-{n}.md");
            let expected = Precondition::Anything;
            for done in [
                put(&indexer, &path, "race", expected).is_ok(),
                put(&indexer, &path, "again", expected).is_ok(),
                move_to(&indexer, &format!("race-{n}"), &moved).is_ok(),
                indexer.write(WriteRequest::Delete { name: moved, expected }).is_ok(),
            ] {
                *if done { &mut n_done } else { &mut n_refused } += 1;
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let left: Vec<_> = std::fs::read_dir(&outside).expect("a folder").collect();
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(std::fs::read(outside.join("secret.md")).expect("a file"), b"secret");
    assert!(
        n_done > N_ROUNDS / 4 && n_refused > N_ROUNDS / 4,
        "{n_done} done, {n_refused} refused"
    );
}

#[test]
fn write_succeeds_and_waits_while_another_daemon_has_the_store() {
    let place = Place::new(&[("moss.md", b"moss"), ("fern.md", b"fern")]);
    let indexer = place.open(&FakeEmbedder::new());
    settle(&indexer);
    std::fs::rename(place.store(), place.outside().join("away")).expect("taken away");
    let other = place.open(&FakeEmbedder::new());
    settle(&other);
    for _ in 0..2 {
        // The second time is a retry with the same expectation.
        let wrote = put(&indexer, "new/pool.md", "pool", Precondition::Nothing).expect("written");
        let pending = wrote.index_pending.as_deref();
        assert!(pending.is_some_and(|reason| reason.contains("is in use")), "{pending:?}");
        assert!(wrote.hash.is_some());
        let (name, expected) = ("fern.md".to_owned(), Precondition::Anything);
        let deleted = indexer.write(WriteRequest::Delete { name, expected }).expect("deleted");
        assert!(deleted.index_pending.is_some(), "{deleted:?}");
    }
    other.rescan(Rescan::default()).expect("scanned");
    let snapshot = other.reader().snapshot();
    let paths: Vec<&str> = snapshot.notes.summaries().map(|(_, it)| it.path).collect();
    assert_eq!(paths, ["moss.md", "new/pool.md"]);
}

#[test]
fn logseq_links_use_page_names_after_a_move() {
    let place = Place::new(&[
        ("pages/Project___Apollo.md", b"- up\n"),
        ("x.md", b"- [[Project/Apollo]] [ap]([[project/apollo]]) #[[Project/Apollo]] [[Apollo]]\n"),
        ("y.md", b"type:: [[Project/Apollo]]\n"),
        ("journals/2024_03_03.md", b"- today\n"),
        ("z.md", b"- [[Mar 3rd, 2024]] [[2024-03-03]] [[2024_03_03]]\n"),
    ]);
    let parse = ParseOptions { logseq: true, ..ParseOptions::default() };
    let settings = IndexSettings { parse, ..place.settings() };
    let indexer = Indexer::open(settings, None, None).expect("an index");
    settle(&indexer);
    let text = |path: &str| std::fs::read_to_string(place.vault().join(path)).expect("a file");
    move_to(&indexer, "Project/Apollo", "pages/Project___Artemis.md").expect("moved");
    let expected =
        "- [[Project/Artemis]] [ap]([[Project/Artemis]]) #[[Project/Artemis]] [[Apollo]]\n";
    assert_eq!(
        (text("x.md").as_str(), text("y.md").as_str()),
        (expected, "type:: [[Project/Artemis]]\n")
    );
    move_to(&indexer, "2024-03-03", "journals/2024_03_04.md").expect("moved");
    assert_eq!(text("z.md"), "- [[Mar 4th, 2024]] [[2024-03-04]] [[2024_03_04]]\n");
}

#[cfg(unix)]
#[test]
fn note_is_not_moved_onto_itself_through_a_symbolic_link() {
    let place = Place::new(&[("real/moss.md", b"soft"), ("fern.md", b"[[moss]]")]);
    std::os::unix::fs::symlink("real", place.vault().join("link")).expect("a link");
    let indexer = place.open(&FakeEmbedder::new());
    settle(&indexer);
    let error = move_to(&indexer, "real/moss", "link/moss.md").expect_err("the same file");
    assert!(matches!(error, WriteError::AlreadyExists { .. }), "{error}");
    assert!(place.vault().join("real/moss.md").is_file());
    assert!(!place.store().join("INTENDED").exists(), "no intent is left");
}
