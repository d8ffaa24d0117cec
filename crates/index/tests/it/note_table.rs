//! Tests of the note table: names, links and hierarchy.

mod dotted_names;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use proptest::prelude::*;
use weft_graph::NoteGraph;
use weft_index::notes::{
    Change, FileMetadata, Issue, NoteEntry, NoteTable, Resolution, VaultId, VaultInfo,
};
use weft_model::link::INLINE_TYPE;
use weft_model::{
    Block, Link, LinkSource, Note, NoteId, NotePath, Span, Target, TargetSyntax, Value,
};

pub(crate) const VAULT: VaultId = VaultId(0);

fn table() -> NoteTable {
    NoteTable::new([VaultInfo::new("v", "/v")])
}

pub(crate) fn note(path: &str) -> Note {
    Note::plain(NotePath::new(path), path.into(), String::new())
}

fn link(kind: &str, name: &str, syntax: TargetSyntax) -> Link {
    let source = if kind == INLINE_TYPE { LinkSource::Inline } else { LinkSource::Typed };
    let target = Target { name: name.into(), syntax };
    Link { kind: kind.into(), source, target, fragment: None, display: None, span: None }
}

fn wiki(name: &str) -> Link {
    link(INLINE_TYPE, name, TargetSyntax::Wikilink)
}

fn entry(note: Note) -> Arc<NoteEntry> {
    entry_in(VAULT, note)
}

fn entry_in(vault: VaultId, note: Note) -> Arc<NoteEntry> {
    Arc::new(NoteEntry::new(vault, note, Vec::new(), FileMetadata::default(), 0))
}

pub(crate) fn claiming(path: &str, uri: &str) -> Note {
    Note { claimed_uri: Some(uri.into()), ..note(path) }
}

fn linking(path: &str, links: impl IntoIterator<Item = Link>) -> Note {
    Note { links: links.into_iter().collect(), ..note(path) }
}

fn info(name: &str) -> VaultInfo {
    VaultInfo::new(name, format!("/{name}"))
}

fn upsert(note: Note) -> Change {
    Change::Upsert(entry(note))
}

fn remove(path: &str) -> Change {
    Change::Remove(VAULT, NotePath::new(path))
}

pub(crate) fn built(notes: impl IntoIterator<Item = Note>) -> NoteTable {
    let changes: Vec<Change> = notes.into_iter().map(|note| Change::Upsert(entry(note))).collect();
    table().edited(&changes).0
}

/// Returns the target of each link of the note at `path`: a uri, `?name` for a placeholder, or `-` for none.
fn targets(table: &NoteTable, path: &str) -> Vec<String> {
    targets_of(table, table.at(VAULT, &NotePath::new(path)).expect("the note exists"))
}

fn targets_of(table: &NoteTable, id: NoteId) -> Vec<String> {
    let name = |target: &Option<NoteId>| match target {
        Some(id) if table.entry(*id).is_some() => table.graph().uri(*id).to_string(),
        Some(id) => format!("?{}", table.graph().uri(*id)),
        None => "-".into(),
    };
    table.resolved(id).expect("a note").targets.iter().map(name).collect()
}

/// Returns the uris of the note at `path`, its parent and its object.
fn place<'t>(table: &'t NoteTable, path: &str) -> (&'t str, Option<&'t str>, Option<&'t str>) {
    let graph = table.graph();
    let id = table.at(VAULT, &NotePath::new(path)).expect("the note exists");
    let uri = |id: Option<NoteId>| id.map(|id| graph.uri(id).as_str());
    (graph.uri(id).as_str(), uri(graph.parent(id)), uri(graph.object(id)))
}

/// Returns the sorted uris of all nodes, with `?` before those of placeholders.
fn nodes(table: &NoteTable) -> Vec<String> {
    let graph = table.graph();
    let name = |id| format!("{}{}", if graph.is_placeholder(id) { "?" } else { "" }, graph.uri(id));
    let mut nodes: Vec<String> = graph.ids().map(name).collect();
    nodes.sort();
    nodes
}

/// Returns everything in the table except slot numbers.
fn dump(table: &NoteTable) -> String {
    let mut text = String::new();
    let graph = table.graph();
    let uri = |id: NoteId| graph.uri(id).to_string();
    let uris = |ids: &[NoteId]| ids.iter().map(|id| uri(*id)).collect::<Vec<_>>();
    for (id, entry) in table.by_path() {
        writeln!(
            text,
            "{:?} {} {} -> {:?} parent {:?} object {:?} children {:?} about it {:?} ambiguous {:?} issues {:?}",
            entry.vault,
            entry.note.path,
            uri(id),
            targets_of(table, id),
            graph.parent(id).map(uri),
            graph.object(id).map(uri),
            uris(graph.children(id)),
            uris(graph.referrings(id)),
            table.resolved(id).map(|resolved| resolved.ambiguous.clone()),
            table.issues(id),
        )
        .expect("writing to a string");
    }
    let mut nodes: Vec<_> = graph
        .ids()
        .map(|id| {
            let linked: Vec<_> = graph.outgoing(id).iter().map(|half| uri(half.other)).collect();
            (uri(id), graph.is_placeholder(id), graph.degrees(id), linked)
        })
        .collect();
    nodes.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
    writeln!(text, "{nodes:?} {:?}", table.total()).expect("writing to a string");
    let by_uri = table.by_uri_after(None).map(|(uri, _)| uri.to_string()).collect::<Vec<_>>();
    writeln!(text, "{by_uri:?}").expect("writing to a string");
    for name in NAMES {
        let found = table.find(name);
        writeln!(text, "{name} {:?} {:?}", found.rule, uris(&found.candidates))
            .expect("writing to a string");
    }
    text
}

#[test]
fn links_of_many_notes_resolve_in_parallel() {
    const N_NOTES: usize = 1500;
    let path = |at: usize| format!("{}.md", at % N_NOTES);
    let note = |at| entry(linking(&path(at), [wiki(&((at + 1) % N_NOTES).to_string())]));
    let changes: Vec<Change> = (0..N_NOTES).map(|at| Change::Upsert(note(at))).collect();
    let table = table().edited(&changes).0;
    let id = |at| table.at(VAULT, &NotePath::new(path(at)));
    for at in 0..N_NOTES {
        let resolved = table.resolved(id(at).unwrap()).unwrap();
        assert_eq!(resolved.targets, [id(at + 1)], "note {at}");
    }
}

#[test]
fn targets_resolve_by_the_rules() {
    let with = |path: &str, change: fn(&mut Note)| {
        let mut note = note(path);
        change(&mut note);
        note
    };
    let vault = || {
        vec![
            with("a/claimed.md", |n| n.claimed_uri = Some("Uri-1".into())),
            note("a/x.md"),
            note("b/x.md"),
            note("b/deep/x.md"),
            note("b/Case.md"),
            note("c/case.md"),
            with("z/first alias.md", |n| n.aliases = vec!["Nick".into()]),
            with("z/second alias.md", |n| n.aliases = vec!["Nick".into(), "x".into()]),
            note("v1.2.md"),
            note("files/paper.pdf.md"),
            with("both.md", |n| {
                n.claimed_uri = Some("uri-2".into());
                n.properties = BTreeMap::from([("ID".into(), Value::Text("id-2".into()))]);
            }),
            with("slash.md", |n| n.claimed_uri = Some("/docs/x".into())),
            with("slash alias.md", |n| n.aliases = vec!["/old/place".into()]),
            note("guide/ReadMe.md"),
            note("long/way/guide/index.md"),
            note("b/pots/README.md"),
            note("b/pots/index.md"),
            note("z/Pots/index.md"),
            note("ask?why.md"),
        ]
    };
    let md = |name: &str| link(INLINE_TYPE, name, TargetSyntax::Markdown);
    let tentative = |name: &str| link(INLINE_TYPE, name, TargetSyntax::Tentative);
    let to_file = |name: &str| link(INLINE_TYPE, name, TargetSyntax::MarkdownToFile);
    let cases = [
        ("exact uri", "q.md", wiki("Uri-1"), "Uri-1"),
        ("uri in another case", "q.md", wiki("uri-1"), "Uri-1"),
        ("vault path", "q.md", wiki("b/x"), "b/x"),
        ("leading slash", "q.md", wiki("/b/x"), "b/x"),
        ("file name, own folder first", "b/q.md", wiki("x"), "b/x"),
        ("file name, shortest path, then lowest", "q.md", wiki("x"), "a/x"),
        ("suffix", "q.md", wiki("deep/x"), "b/deep/x"),
        ("a partial segment is not a suffix", "q.md", wiki("eep/x"), "?eep/x"),
        ("exact case wins", "q.md", wiki("case"), "c/case"),
        ("exact case wins the other way", "q.md", wiki("Case"), "b/Case"),
        ("relative before vault path for Markdown", "b/q.md", md("deep/x"), "b/deep/x"),
        ("relative from its folder", "b/q.md", md("../a/x"), "a/x"),
        ("relative only", "q.md", wiki("./case"), "?case"),
        ("relative out of the vault", "q.md", wiki("../x"), "?../x"),
        ("alias, lowest path", "q.md", wiki("nick"), "z/first alias"),
        ("a file name beats an alias", "z/q.md", wiki("x"), "a/x"),
        ("a dotted name", "q.md", wiki("v1.2"), "v1.2"),
        ("nothing", "q.md", wiki("nothing"), "?nothing"),
        ("the id beside a uri", "q.md", wiki("id-2"), "uri-2"),
        ("the id in another case", "q.md", wiki("Id-2"), "uri-2"),
        ("a uri with a slash", "q.md", wiki("/docs/x"), "/docs/x"),
        ("no match without its slash", "q.md", wiki("docs/x"), "?docs/x"),
        ("an alias with a slash", "q.md", wiki("/old/place"), "slash alias"),
        ("an alias after a slash", "q.md", wiki("/nick"), "z/first alias"),
        ("a path from the root that ends a path", "b/q.md", wiki("/deep/x"), "?deep/x"),
        ("a name from the root", "b/q.md", wiki("/Case"), "?Case"),
        ("a name from the root in Markdown", "b/q.md", md("/Case"), "?Case"),
        ("a folder from the root", "b/q.md", wiki("/guide"), "guide/ReadMe"),
        ("a folder elsewhere from the root", "q.md", wiki("/pots"), "?pots"),
        ("a note for a paper", "q.md", tentative("paper.pdf"), "files/paper.pdf"),
        ("its path", "q.md", tentative("files/Paper.PDF"), "files/paper.pdf"),
        ("no note for a paper", "q.md", tentative("other.pdf"), "-"),
        ("a folder's note", "q.md", md("Guide"), "guide/ReadMe"),
        ("a folder note from another folder", "b/q.md", md("../guide"), "guide/ReadMe"),
        ("from the root", "b/q.md", md("/guide"), "guide/ReadMe"),
        ("of its own folder", "guide/q.md", to_file("."), "guide/ReadMe"),
        ("a folder without a note", "q.md", to_file("b/deep"), "-"),
        ("the root without a folder note", "b/q.md", to_file(".."), "-"),
        ("above the root", "q.md", to_file(".."), "-"),
        ("a folder in a wikilink", "q.md", wiki("guide"), "guide/ReadMe"),
        (
            "a folder below the own one first",
            "long/way/q.md",
            wiki("guide"),
            "long/way/guide/index",
        ),
        ("the end of a folder's path", "q.md", wiki("way/guide"), "long/way/guide/index"),
        ("a folder by name, exact case first", "q.md", wiki("Pots"), "z/Pots/index"),
        ("a folder by name, its own note", "q.md", wiki("pots"), "b/pots/index"),
        ("a folder by name in Markdown", "q.md", md("pots"), "?pots"),
        ("a relative folder", "b/q.md", wiki("./pots"), "b/pots/index"),
        ("a folder without a note by name", "q.md", wiki("deep"), "?deep"),
        ("a query", "q.md", md("v1.2.md?plain=1"), "v1.2"),
        ("a query in another folder", "b/q.md", md("../a/x?a=b/c"), "a/x"),
        ("a query of a folder", "b/q.md", md("pots/?tab=1"), "b/pots/index"),
        ("a name with a question mark", "q.md", md("ask?why"), "ask?why"),
        ("a query that is none in a wikilink", "q.md", wiki("v1.2?x"), "?v1.2?x"),
        ("in the vault with this name", "b/q.md", wiki("v:x"), "a/x"),
        ("in an unknown vault", "q.md", wiki("w:a/x"), "?w:a/x"),
        ("a title with a colon", "q.md", wiki("v: x"), "?v: x"),
        ("relative out of the vault and back", "b/q.md", wiki("../../x"), "?../x"),
        (
            "a plain string without a match",
            "q.md",
            link("target", "production", TargetSyntax::Tentative),
            "-",
        ),
        (
            "a plain string that matches a note",
            "q.md",
            link("target", "b/x", TargetSyntax::Tentative),
            "b/x",
        ),
        (
            "a listed string without a match",
            "q.md",
            link("supports", "later", TargetSyntax::Listed),
            "?later",
        ),
    ];
    for (name, from, link, expected) in cases {
        let mut notes = vault();
        notes.push(Note { links: vec![link], ..note(from) });
        assert_eq!(targets(&built(notes), from), [expected], "{name}");
    }
}

#[test]
fn link_to_folder_resolves_to_its_folder_note() {
    let to_file = |name: &str| link(INLINE_TYPE, name, TargetSyntax::MarkdownToFile);
    for (from, link, folder) in [
        ("q.md", to_file("guide"), "guide/README.md"),
        ("guide/q.md", to_file("."), "guide/index.md"),
        ("guide/q.md", to_file(".."), "index.md"),
        ("guide/a/q.md", to_file("../.."), "README.md"),
    ] {
        let from_note = || Note { links: vec![link.clone()], ..note(from) };
        let whole = built([from_note(), note(folder)]);
        let uri = NotePath::new(folder).without_extension().to_owned();
        assert_eq!(targets(&whole, from), [uri], "{from}");
        let gone = whole.edited(&[remove(folder)]).0;
        assert_eq!(dump(&gone), dump(&built([from_note()])), "{from}: removed");
        let back = gone.edited(&[upsert(note(folder))]).0;
        assert_eq!(dump(&back), dump(&whole), "{from}: restored");
    }
}

#[test]
fn block_reference_resolves_to_the_note_that_contains_the_block() {
    let uuid = "634fb3ee-cef0-4081-9085-c002d3be4e75";
    let to = |name: &str| link(INLINE_TYPE, name, TargetSyntax::Tentative);
    let from = || Note { links: vec![to(uuid), to("b1")], ..note("q.md") };
    let block = |id: &str| Block { id: id.to_owned(), span: Span::new(0, 5) };
    let with_block = || Note { blocks: vec![block(uuid), block("b1")], ..note("a.md") };
    let whole = built([from(), with_block()]);
    assert_eq!(targets(&whole, "q.md"), ["a", "-"]);
    let gone = whole.edited(&[upsert(note("a.md"))]).0;
    assert_eq!(dump(&gone), dump(&built([from(), note("a.md")])), "the block is removed");
    let moved = gone.edited(&[upsert(Note { path: NotePath::new("z.md"), ..with_block() })]).0;
    assert_eq!(targets(&moved, "q.md"), ["z", "-"]);
    assert_eq!(moved.find(uuid).rule, Some("block"));
}

#[test]
fn full_name_wins_over_its_shortened_form() {
    let to = |name: &str| link(INLINE_TYPE, name, TargetSyntax::Wikilink);
    for (name, less, whole) in [
        ("C#", "a/C.md", "C#.md"),
        ("202401021200 Title", "202401021200.md", "a/202401021200 title.md"),
        ("20240102120030 On", "20240102120030 Of.md", "20240102120030 On.md"),
    ] {
        let from = || Note { links: vec![to(name)], ..note("q.md") };
        let mut named = note(less);
        named.aliases = vec!["20240102120030".to_owned()];
        let short = built([from(), named.clone()]);
        let uri = |path: &str| NotePath::new(path).without_extension().to_owned();
        assert_eq!(targets(&short, "q.md"), [uri(less)], "{name}");
        let both = short.edited(&[upsert(note(whole))]).0;
        assert_eq!(targets(&both, "q.md"), [uri(whole)], "{name}");
        let gone = both.edited(&[remove(whole)]).0;
        assert_eq!(dump(&gone), dump(&short), "{name}: removed");
        let none = gone.edited(&[remove(less)]).0;
        assert_eq!(dump(&none), dump(&built([from()])), "{name}: both");
    }
    let path = link(INLINE_TYPE, "C#", TargetSyntax::Markdown);
    let path = built([Note { links: vec![path], ..note("q.md") }, note("C.md")]);
    assert_eq!(targets(&path, "q.md"), ["?C#"], "a Markdown link is not shortened");
    // Many notes are named by a date alone.
    let day =
        built([Note { links: vec![to("20240102 Tea")], ..note("q.md") }, note("20240102.md")]);
    assert_eq!(targets(&day, "q.md"), ["?20240102 Tea"]);
}

#[test]
fn lowest_path_gets_a_claimed_uri_and_others_use_their_path() {
    let table = built([
        claiming("b.md", "u"),
        claiming("a.md", "u"),
        claiming("c.md", "a"),
        note("d.md"),
        claiming("0.md", "d"),
    ]);
    let uri = |path: &str| {
        table.graph().uri(table.at(VAULT, &NotePath::new(path)).expect("there")).to_string()
    };
    assert_eq!(["a.md", "b.md", "c.md", "0.md", "d.md"].map(uri), ["u", "b", "a", "d", "d.md"]);
    let issues = |path: &str| table.issues(table.at(VAULT, &NotePath::new(path)).expect("there"));
    let duplicate = |claimed: &str, winner: &str| {
        [Issue::DuplicateUri { claimed: claimed.into(), winner: NotePath::new(winner) }]
    };
    assert_eq!(issues("b.md"), duplicate("u", "a.md"));
    assert_eq!(issues("d.md"), duplicate("d", "0.md"), "also for a note without a claimed uri");
    assert_eq!(issues("a.md"), []);
}

#[test]
fn hierarchy_comes_from_links_then_from_folders() {
    let typed = |kind: &str, name: &str| link(kind, name, TargetSyntax::Wikilink);
    let with = |path: &str, links: Vec<Link>| Note { links, ..note(path) };
    let table = built([
        note("README.md"),
        note("bio/index.md"),
        note("bio/cell.md"),
        note("bio/old/x.md"),
        note("chem.md"),
        note("chem/redox.md"),
        note("phys/phys.md"),
        note("phys/heat.md"),
        with("bio/up.md", vec![typed("up", "redox")]),
        with("bio/gone.md", vec![typed("parent", "no such note")]),
        with(
            "is a.md",
            vec![typed("source", "cell"), typed("object", "redox"), typed("parent", "heat")],
        ),
        with("plain.md", vec![typed("source", "cell")]),
        with("any case.md", vec![typed("Parent", "cell"), typed("OBJECT", "redox")]),
        with("up.md", vec![typed("Up", "cell")]),
        with("itself.md", vec![typed("parent", "itself"), typed("object", "itself")]),
        with("itself or.md", vec![typed("parent", "itself or"), typed("up", "cell")]),
        with("of itself.md", vec![typed("source", "of itself"), typed("object", "redox")]),
    ]);
    let cases = [
        ("README.md", None, None),
        ("bio/index.md", Some("README"), None),
        ("bio/cell.md", Some("bio/index"), None),
        ("bio/old/x.md", Some("bio/index"), None),
        ("chem.md", Some("README"), None),
        ("chem/redox.md", Some("chem"), None),
        ("phys/phys.md", Some("README"), None),
        ("phys/heat.md", Some("phys/phys"), None),
        ("bio/up.md", Some("chem/redox"), None),
        ("bio/gone.md", Some("bio/index"), None),
        ("is a.md", Some("bio/cell"), Some("chem/redox")),
        ("plain.md", Some("README"), None),
        ("any case.md", Some("bio/cell"), Some("chem/redox")),
        ("up.md", Some("bio/cell"), None),
        ("itself.md", Some("README"), None),
        ("itself or.md", Some("bio/cell"), None),
        ("of itself.md", Some("README"), Some("chem/redox")),
    ];
    for (path, parent, object) in cases {
        let (_, found_parent, found_object) = place(&table, path);
        assert_eq!((found_parent, found_object), (parent, object), "{path}");
    }
}

#[test]
fn folder_notes_are_case_insensitive() {
    let cases = [
        ("beside", ["Bar/x.md", "z.md"], "bar.md", "Bar/x.md", "bar"),
        (
            "inside, in a folder of another case",
            ["D/c.md", "z.md"],
            "d/index.md",
            "D/c.md",
            "d/index",
        ),
        ("the lowest of two", ["a.md", "a/b.md"], "A.md", "a/b.md", "A"),
        ("in the parent folder", ["Bar/y/x.md", "z.md"], "BAR/bar.md", "Bar/y/x.md", "BAR/bar"),
    ];
    for (name, others, folder, below, parent) in cases {
        let whole = built(others.iter().chain([&folder]).map(|path| note(path)));
        assert_eq!(place(&whole, below).1, Some(parent), "{name}");
        let without = built(others.iter().map(|path| note(path)));

        let gone = whole.edited(&[remove(folder)]).0;
        assert_eq!(dump(&gone), dump(&without), "{name}: removed");
        let other = gone.edited(&[upsert(note("other.md"))]).0;
        assert_ne!(place(&other, below).1, Some("other"), "{name}: the slot is reused");
        let back = gone.edited(&[upsert(note(folder))]).0;
        assert_eq!(dump(&back), dump(&whole), "{name}: restored");
    }
}

#[test]
fn uris_are_unique_among_notes_and_placeholders() {
    let md = |name: &str| link(INLINE_TYPE, name, TargetSyntax::Markdown);
    let cases: &[(&str, [Note; 2], &[&str])] = &[
        (
            "missing path with the uri of a note",
            [linking("a/b.md", [md("../x"), wiki("x")]), claiming("n.md", "x")],
            &["?./x", "a/b", "x"],
        ),
        (
            "missing path from the root with the uri of a note",
            [linking("a.md", [wiki("/u")]), claiming("n.md", "u")],
            &["?./u", "a", "u"],
        ),
        (
            "missing note with the uri of a folder note elsewhere",
            [linking("a/m.md", [wiki("../b")]), claiming("c/index.md", "b")],
            &["?./b", "a/m", "b"],
        ),
        (
            "the marked path is a uri too",
            [linking("a.md", [md("./y"), md("../y")]), claiming("n.md", "./y")],
            &["./y", "?../y", "?y", "a"],
        ),
    ];
    for (name, [from, to], expected) in cases {
        let both = [upsert(from.clone()), upsert(to.clone())];
        let at_once = table().edited(&both).0;
        assert_eq!(nodes(&at_once), *expected, "{name}");
        let in_turn = table().edited(&both[..1]).0.edited(&both[1..]).0;
        assert_eq!(dump(&in_turn), dump(&at_once), "{name}: in turn");
        let gone = in_turn.edited(&[remove(to.path.as_str())]).0;
        assert_eq!(dump(&gone), dump(&built([from.clone()])), "{name}: removed");
    }
    let doubled = built([
        claiming("a.md", "u"),
        claiming("b.md.md", "u"),
        claiming("c.md", "b"),
        claiming("d.md", "u"),
        claiming("b.md", "u"),
    ]);
    assert_eq!(nodes(&doubled), ["./b.md", "b", "b.md", "d", "u"]);
}

#[test]
fn link_with_leading_slash_resolves_to_later_uri() {
    let from = linking("a.md", [wiki("/docs/x"), wiki("docs/x")]);
    let table = built([from.clone()]).edited(&[upsert(claiming("n.md", "/docs/x"))]).0;
    assert_eq!(targets(&table, "a.md"), ["/docs/x", "?docs/x"]);
    let table = table.edited(&[remove("n.md")]).0;
    assert_eq!(dump(&table), dump(&built([from])));
}

#[test]
fn deleted_note_becomes_placeholder_with_its_inbound_links() {
    let table = built([Note { links: vec![wiki("Moss")], ..note("fern.md") }, note("Moss.md")]);
    let (table, _) = table.edited(&[Change::Remove(VAULT, NotePath::new("Moss.md"))]);
    assert_eq!(targets(&table, "fern.md"), ["?Moss"]);
    let (table, _) = table.edited(&[Change::Upsert(entry(Note {
        aliases: vec!["moss".into()],
        ..note("bryophyte.md")
    }))]);
    assert_eq!(targets(&table, "fern.md"), ["bryophyte"]);
    assert_eq!(table.graph().n_nodes(), 2, "the placeholder is removed");
}

#[test]
fn uris_have_a_vault_prefix_if_there_are_several_vaults() {
    let (one, two) = (VaultId(0), VaultId(1));
    let at = |vault, note| Change::Upsert(entry_in(vault, note));
    let links = ["y", "two:y", "two:Y", "two:gone", "two: y", "three:y", "one:x"].map(wiki);
    let (table, _) = NoteTable::new([info("one"), info("two")]).edited(&[
        at(one, linking("x.md", links)),
        at(two, note("x.md")),
        at(two, linking("deep/y.md", [wiki("one:x"), wiki("one:./x"), wiki("gone")])),
        at(two, note("C#.md")),
    ]);
    let uris: Vec<_> = table.by_uri_after(None).map(|(uri, _)| uri.as_str()).collect();
    assert_eq!(uris, ["one:x", "two:C#", "two:deep/y", "two:x"]);
    assert_eq!(
        targets(&table, "x.md"),
        ["?one:y", "two:deep/y", "two:deep/y", "?two:gone", "?one:two: y", "?one:three:y", "one:x"],
        "links resolve in their own vault unless they name another"
    );
    let y = table.find("two:deep/y").note.expect("there");
    assert_eq!(targets_of(&table, y), ["one:x", "one:x", "?two:gone"]);

    let uris = |found: Resolution| {
        found.candidates.iter().map(|id| table.graph().uri(*id).as_str()).collect::<Vec<_>>()
    };
    let cases: &[(&str, &[&str])] = &[
        ("two:x", &["two:x"]),
        ("two:X.md", &["two:x"]),
        ("two:C#.md", &["two:C#"]),
        ("y", &["two:deep/y"]),
        ("x", &["one:x", "two:x"]),
        ("X", &["one:x", "two:x"]),
        ("three:y", &[]),
        ("x.md", &["one:x", "two:x"]),
        ("one:x.md", &["one:x"]),
        ("/two/deep/y.md", &["two:deep/y"]),
        ("/two//deep/y.md", &["two:deep/y"]),
        ("/one/deep/y.md", &[]),
        ("/two/deep/z.md", &[]),
    ];
    for (text, expected) in cases {
        assert_eq!(uris(table.find(text)), *expected, "{text}");
    }
    let near =
        |text: &str| table.near_matches(text).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(near("deep/yy"), ["two:deep/y"]);
    assert_eq!(near("two:deep/yy"), ["two:deep/y"]);
    assert!(near("one:deep/yy").is_empty(), "the note is in the other vault");
    assert_eq!(uris(table.find_from("one:x", y)), ["one:x"]);
    assert_eq!(uris(table.find_from("x", y)), ["two:x"]);
}

#[test]
fn adding_and_removing_vaults_updates_uris() {
    let at =
        |vault, path: &str, links: Vec<Link>| Change::Upsert(entry_in(vault, linking(path, links)));
    let (one, two) = (VaultId(0), VaultId(1));
    let first = [at(one, "x.md", vec![wiki("y"), wiki("gone")]), at(one, "y.md", vec![])];
    let second = [at(two, "x.md", vec![wiki("gone")])];
    let alone = NoteTable::new([info("one")]).edited(&first).0;

    let together = alone.edited(&[Change::Vault(two, Some(info("two")))]).0.edited(&second).0;
    let built = NoteTable::new([info("one"), info("two")]);
    let built = built.edited(&first).0.edited(&second).0;
    assert_eq!(dump(&together), dump(&built));
    assert_eq!(targets(&together, "x.md"), ["one:y", "?one:gone"]);

    let (apart, delta) = together.edited(&[Change::Vault(two, None)]);
    assert_eq!(dump(&apart), dump(&alone));
    assert_eq!((delta.removed.len(), delta.upserted.len()), (1, 0));
    assert_eq!((apart.vaults().count(), apart.total()), (1, apart.vault_stats(one)));

    let renamed = together.edited(&[Change::Vault(one, Some(info("uno")))]).0;
    assert_eq!(targets(&renamed, "x.md"), ["uno:y", "?uno:gone"]);
    assert!(renamed.find("uno:x").note.is_some() && renamed.find("one:x").note.is_none());
}

#[test]
fn corrupt_table_file_is_refused_or_readable() {
    let links = ["u", "gone", "b/a"].map(wiki);
    let alias = Note { aliases: vec!["nick".into()], ..claiming("b/a.md", "u") };
    let table = built([linking("a.md", links), alias, note("b/index.md"), note("c.md")]);
    let table = table.edited(&[remove("c.md")]).0;
    let mut good = Vec::new();
    table.write(&mut good).expect("writing to memory");
    let read = |bytes: Vec<u8>| NoteTable::read(&bytes.into(), Some(table.graph().clone()));
    assert_eq!(dump(&read(good.clone()).expect("the written table")), dump(&table));
    for n_bytes in 0..good.len() {
        assert!(read(good[..n_bytes].to_vec()).is_err(), "{n_bytes} bytes");
    }
    let mut n_refused = 0;
    for at in 0..good.len() {
        let mut other = good.clone();
        other[at] ^= 1 << (at % 8);
        match read(other) {
            Ok(table) => drop(dump(&table)),
            Err(_) => n_refused += 1,
        }
    }
    assert!(n_refused > 0);
}

/// Names used by links, uris, ids and aliases in the property tests below.
const NAMES: [&str; 27] = [
    "a", "A", "b", "c", "b/a", "./a", "../a", "../b", "u", "/u", "U", "b/c", "/b/c", "nick",
    "b.md", "a.md", "./b.md", "index", "a/..", "/docs/x", "docs/x", "v:a", "w:b/a", "w:../a",
    "u:/u", "w:u", "D/c",
];

const PATHS: [&str; 28] = [
    "a.md",
    "A.md",
    "b/a.md",
    "b/index.md",
    "b.md",
    "b.md.md",
    "B/a.md",
    "B.md",
    "b/c/a.md",
    "c.md",
    "b/c.md",
    "README.md",
    "a.markdown",
    "D/c.md",
    "d/index.md",
    "D.md",
    "d/d.md",
    "a/b.md",
    "u.md",
    "a.b.md",
    "a.b.c.md",
    "A.b.markdown",
    "root.md",
    "b/root.md",
    "b/a.c.md",
    "b/b.c.md",
    "D.c/D.md",
    "d.c/d.c.md",
];

const KINDS: [&str; 8] =
    [INLINE_TYPE, "parent", "Parent", "UP", "object", "Target", "source", "Source"];

fn any_note() -> impl Strategy<Value = Note> {
    let name = || prop::sample::select(&NAMES[..]);
    let one_link = (name(), prop::sample::select(&KINDS[..]), 0..5_u8);
    let one_link = one_link.prop_map(|(name, kind, syntax)| {
        let syntax = match syntax {
            0 => TargetSyntax::Markdown,
            1 => TargetSyntax::Tentative,
            2 => TargetSyntax::WikilinkInVault,
            _ => TargetSyntax::Wikilink,
        };
        link(kind, name, syntax)
    });
    (
        prop::sample::select(&PATHS[..]),
        prop::option::weighted(0.3, name()),
        prop::option::weighted(0.1, name()),
        prop::collection::vec(name(), 0..2),
        prop::collection::vec(one_link, 0..4),
        prop::bool::weighted(0.8),
    )
        .prop_map(|(path, uri, id, aliases, links, dendron)| Note {
            dendron,
            claimed_uri: uri.or(id).map(str::to_owned),
            properties: id.map(|id| ("id".into(), Value::Text(id.into()))).into_iter().collect(),
            aliases: aliases.into_iter().map(str::to_owned).collect(),
            links,
            ..note(path)
        })
}

/// One step of a history over two vaults, of which the second is added, removed and renamed.
#[derive(Clone, Debug)]
enum Action {
    Write(VaultId, Note),
    /// Removes the `n`th file.
    Remove(usize),
    /// Moves the `n`th file here.
    Move(usize, Note),
    Second(Option<&'static str>),
}

fn any_action() -> impl Strategy<Value = Action> {
    let second = prop_oneof![Just(None), Just(Some("w")), Just(Some("u"))];
    prop_oneof![
        6 => (0..2_u16, any_note()).prop_map(|(vault, note)| Action::Write(VaultId(vault), note)),
        2 => (0..12_usize).prop_map(Action::Remove),
        2 => (0..12_usize, any_note()).prop_map(|(nth, note)| Action::Move(nth, note)),
        1 => second.prop_map(Action::Second),
    ]
}

/// The files of both vaults, and the name of the second.
#[derive(Clone, Debug, Default)]
struct Files {
    notes: BTreeMap<(VaultId, NotePath), Note>,
    second: Option<&'static str>,
}

const SECOND: VaultId = VaultId(1);

impl Files {
    /// Applies an action and returns its change; `None` if it has no effect.
    fn apply(&mut self, action: Action) -> Option<Change> {
        let nth = |nth: usize| self.notes.keys().nth(nth).cloned();
        match action {
            Action::Write(SECOND, _) if self.second.is_none() => None,
            Action::Write(vault, note) => {
                self.notes.insert((vault, note.path.clone()), note.clone());
                Some(Change::Upsert(entry_in(vault, note)))
            }
            Action::Remove(at) => {
                let (vault, path) = nth(at)?;
                self.notes.remove(&(vault, path.clone()));
                Some(Change::Remove(vault, path))
            }
            Action::Move(at, note) => {
                let (vault, from) = nth(at).filter(|(_, from)| *from != note.path)?;
                self.notes.remove(&(vault, from.clone()));
                self.notes.insert((vault, note.path.clone()), note.clone());
                Some(Change::Move(from, entry_in(vault, note)))
            }
            Action::Second(name) => {
                self.second = name;
                if name.is_none() {
                    self.notes.retain(|(vault, _), _| *vault != SECOND);
                }
                Some(Change::Vault(SECOND, name.map(info)))
            }
        }
    }

    /// Returns the table built at once.
    fn built(&self) -> NoteTable {
        let vaults = [Some("v"), self.second].into_iter().flatten().map(info);
        let notes = self.notes.iter();
        let changes =
            notes.map(|((vault, _), note)| Change::Upsert(entry_in(*vault, note.clone())));
        NoteTable::new(vaults).edited(&changes.collect::<Vec<_>>()).0
    }
}

/// Checks invariants of every table.
fn check_invariants(table: &NoteTable) -> Result<(), TestCaseError> {
    let graph = table.graph();
    let uris: BTreeSet<&str> = graph.ids().map(|id| graph.uri(id).as_str()).collect();
    prop_assert_eq!(uris.len(), graph.n_nodes(), "a uri names one node: {:?}", nodes(table));
    for (id, entry) in table.by_path() {
        let targets = &table.resolved(id).expect("a note").targets;
        for (link, target) in entry.note.links.iter().zip(targets) {
            let note = target.filter(|target| table.entry(*target).is_some());
            prop_assert_eq!(
                table.target_from(&link.target, id).note,
                note,
                "a single link resolves alike"
            );
        }
        let above = graph.parent(id).into_iter().chain(graph.object(id));
        for above in above {
            prop_assert!(above != id && table.entry(above).is_some());
        }
        prop_assert_eq!(table.find(graph.uri(id).as_str()).note, Some(id));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_edits_give_the_same_table_as_a_fresh_build(
        batches in prop::collection::vec(prop::collection::vec(any_action(), 1..5), 1..6),
    ) {
        let mut files = Files { second: Some("w"), ..Files::default() };
        let mut now = files.built();
        for batch in batches {
            let changes: Vec<Change> = batch.into_iter().filter_map(|action| files.apply(action)).collect();
            now = now.edited(&changes).0;
            prop_assert_eq!(dump(&now), dump(&files.built()));
            check_invariants(&now)?;
            let mut written = Vec::new();
            now.write(&mut written).expect("writing to memory");
            let graph = NoteGraph::from_columns(now.graph().columns()).expect("the stored graph");
            let written = written.into();
            let reopened = NoteTable::read(&written, Some(graph)).expect("the stored table");
            prop_assert_eq!(dump(&reopened), dump(&now));
            let rebuilt = NoteTable::read(&written, None).expect("the stored table");
            prop_assert_eq!(dump(&rebuilt), dump(&now));
            if files.notes.len().is_multiple_of(2) {
                now = reopened;
            }
        }
    }
}
