//! Tests of dotted names, and of links to vaults that may not be served.

use proptest::prelude::*;
use weft_index::notes::Change;
use weft_model::link::INLINE_TYPE;
use weft_model::{Note, NotePath, TargetSyntax};

use super::{
    PATHS, SECOND, built, dump, entry, entry_in, info, link, linking, note, place, remove, targets,
    upsert,
};

fn dotted(path: &str) -> Note {
    Note { dendron: true, ..note(path) }
}

#[test]
fn dotted_names_take_precedence_over_folders() {
    let up = vec![link("up", "lone", TargetSyntax::Wikilink)];
    let table = built([
        dotted("README.md"),
        dotted("x.md"),
        dotted("x/a.md"),
        dotted("x/a.b.c.md"),
        dotted("x/a.b.c.d.md"),
        dotted("x/a.b.up.md"),
        Note { links: up, ..dotted("x/a.written.md") },
        dotted("x/ab.c.md"),
        dotted("x/root.md"),
        dotted("x/root.b.md"),
        dotted("x/index.md"),
        dotted("x/deep/a.b.c.e.md"),
        dotted("y/index.md"),
        dotted("y/a.b.md"),
        dotted("y/..md"),
        dotted("z/lone.md"),
        dotted("v1.2/v1.2.md"),
        dotted("v1.2/v1.md"),
        dotted("v1.2/v2.md"),
        note("n/a.md"),
        note("n/a.b.md"),
        dotted("n/a.c.md"),
        dotted("up/root.md"),
    ]);
    let cases = [
        ("README.md", None),
        ("x.md", Some("README")),
        ("x/a.md", Some("x/root")),
        ("x/a.b.c.md", Some("x/a")),
        ("x/a.b.c.d.md", Some("x/a.b.c")),
        ("x/a.b.up.md", Some("x/a")),
        ("x/a.written.md", Some("z/lone")),
        ("x/ab.c.md", Some("x/root")),
        ("x/root.md", Some("README")),
        ("x/root.b.md", Some("x/root")),
        ("x/index.md", Some("x/root")),
        ("x/deep/a.b.c.e.md", Some("x/index")),
        ("y/index.md", Some("README")),
        ("y/a.b.md", Some("y/index")),
        ("y/..md", Some("y/index")),
        ("z/lone.md", Some("README")),
        // Its folder note is below it.
        ("v1.2/v1.md", Some("README")),
        ("v1.2/v1.2.md", Some("v1.2/v1")),
        ("v1.2/v2.md", Some("v1.2/v1.2")),
        // The other notes do not use dotted names.
        ("n/a.b.md", Some("README")),
        ("n/a.c.md", Some("README")),
        ("up/root.md", Some("README")),
    ];
    for (path, parent) in cases {
        assert_eq!(place(&table, path).1, parent, "{path}");
    }
    let graph = table.graph();
    let n_links: usize = graph.ids().map(|id| graph.outgoing(id).len()).sum();
    assert_eq!(n_links, 1, "a dotted name is not a link");
}

#[test]
fn edits_above_dotted_names_update_the_hierarchy() {
    let others = ["x/a.b.c.md", "x/a.b.d.e.md", "x/ab.c.md", "y/q.md", "x/index.md"];
    for (above, child, parent) in [
        ("x/a.b.md", "x/a.b.c.md", "x/a.b"),
        ("x/A.B.md", "x/a.b.c.md", "x/A.B"),
        ("X/a.markdown", "x/a.b.d.e.md", "X/a"),
        ("x/Root.md", "x/ab.c.md", "x/Root"),
        ("x/root.md", "x/index.md", "x/root"),
    ] {
        let without = built(others.map(dotted));
        let whole = built(others.iter().chain([&above]).map(|path| dotted(path)));
        assert_eq!(place(&whole, child).1, Some(parent), "{above}");
        assert_ne!(place(&without, child).1, Some(parent), "{above}");

        let added = without.edited(&[upsert(dotted(above))]).0;
        assert_eq!(dump(&added), dump(&whole), "{above}: added");
        let gone = added.edited(&[remove(above)]).0;
        assert_eq!(dump(&gone), dump(&without), "{above}: removed");
        let there = |from: &str, to: &str| Change::Move(NotePath::new(from), entry(dotted(to)));
        let moved = added.edited(&[there(above, "w/q.md")]).0;
        let expected = built(others.iter().chain([&"w/q.md"]).map(|path| dotted(path)));
        assert_eq!(dump(&moved), dump(&expected), "{above}: moved away");
        let back = moved.edited(&[there("w/q.md", above)]).0;
        assert_eq!(dump(&back), dump(&whole), "{above}: moved back");
        let plain = added.edited(&[upsert(note(above))]).0;
        let expected = built(others.map(dotted).into_iter().chain([note(above)]));
        assert_eq!(dump(&plain), dump(&expected), "{above}: without dotted names");
    }
}

#[test]
fn vault_link_resolves_locally_if_that_vault_is_not_served() {
    let in_vault = || link(INLINE_TYPE, "w:a.b", TargetSyntax::WikilinkInVault);
    let wiki = || link(INLINE_TYPE, "w:a.b", TargetSyntax::Wikilink);
    let own = built([linking("x.md", [in_vault(), wiki()])]);
    assert_eq!(targets(&own, "x.md"), ["?a.b", "?w:a.b"]);
    let own = own.edited(&[upsert(note("in/a.b.md"))]).0;
    assert_eq!(targets(&own, "x.md"), ["in/a.b", "?w:a.b"]);
    let both = own.edited(&[Change::Vault(SECOND, Some(info("w")))]).0;
    assert_eq!(targets(&both, "x.md"), ["?w:a.b", "?w:a.b"], "the vault exists and is empty");
    let there = Change::Upsert(entry_in(SECOND, note("a.b.md")));
    let both = both.edited(&[there]).0;
    assert_eq!(targets(&both, "x.md"), ["w:a.b", "w:a.b"]);
    let gone = both.edited(&[Change::Vault(SECOND, None)]).0;
    assert_eq!(dump(&gone), dump(&own));
}

proptest! {
    #[test]
    fn names_alone_never_create_a_cycle(
        notes in prop::collection::vec((prop::sample::select(&PATHS[..]), any::<bool>()), 1..20),
    ) {
        let table = built(notes.iter().map(|(path, dendron)| Note { dendron: *dendron, ..note(path) }));
        let graph = table.graph();
        for id in graph.ids() {
            let above = std::iter::successors(graph.parent(id), |above| graph.parent(*above));
            prop_assert!(above.take(PATHS.len()).count() < PATHS.len(), "{}", graph.uri(id));
        }
    }
}
