//! Names, links and places of notes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use proptest::prelude::*;
use weft_index::notes::{Change, FileFacts, Issue, NoteEntry, NoteTable, VaultId, VaultInfo};
use weft_model::link::INLINE_TYPE;
use weft_model::{Link, LinkSource, Note, NoteId, NotePath, Target, TargetSyntax};

const VAULT: VaultId = VaultId(0);

fn table() -> NoteTable {
    NoteTable::new([VaultInfo { name: "v".into(), root: "/v".into() }])
}

fn note(path: &str) -> Note {
    Note {
        path: NotePath::new(path),
        claimed_uri: None,
        title: path.into(),
        aliases: Vec::new(),
        tags: Vec::new(),
        note_type: None,
        properties: BTreeMap::new(),
        order: None,
        headings: Vec::new(),
        blocks: Vec::new(),
        links: Vec::new(),
        body: String::new(),
    }
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
    Arc::new(NoteEntry::new(VAULT, note, Vec::new(), FileFacts::default(), 0))
}

fn built(notes: impl IntoIterator<Item = Note>) -> NoteTable {
    let changes: Vec<Change> = notes.into_iter().map(|note| Change::Upsert(entry(note))).collect();
    table().edited(&changes).0
}

/// What each link of the note at `path` means: a uri, or `?name` for a placeholder, or `-`.
fn meanings(table: &NoteTable, path: &str) -> Vec<String> {
    let id = table.at(VAULT, &NotePath::new(path)).expect("the note is there");
    let name = |target: &Option<NoteId>| match target {
        Some(id) if table.entry(*id).is_some() => table.graph().uri(*id).to_string(),
        Some(id) => format!("?{}", table.graph().uri(*id)),
        None => "-".into(),
    };
    table.resolved(id).expect("a note").targets.iter().map(name).collect()
}

/// Everything the table says, slots aside.
fn dump(table: &NoteTable) -> String {
    let mut text = String::new();
    let graph = table.graph();
    let uri = |id: NoteId| graph.uri(id).to_string();
    for (id, entry) in table.by_path() {
        writeln!(
            text,
            "{} {} -> {:?} parent {:?} object {:?} children {:?} ambiguous {:?} issues {:?}",
            entry.note.path,
            uri(id),
            meanings(table, entry.note.path.as_str()),
            graph.parent(id).map(uri),
            graph.object(id).map(uri),
            graph.children(id).iter().map(|id| uri(*id)).collect::<Vec<_>>(),
            table.resolved(id).map(|resolved| resolved.ambiguous.clone()),
            table.issues(id),
        )
        .expect("writing to a string");
    }
    let mut nodes: Vec<_> =
        graph.ids().map(|id| (uri(id), graph.is_placeholder(id), graph.degrees(id))).collect();
    nodes.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
    writeln!(text, "{nodes:?} {:?}", table.total()).expect("writing to a string");
    writeln!(
        text,
        "{:?}",
        table.by_uri_after(None).map(|(uri, _)| uri.to_string()).collect::<Vec<_>>()
    )
    .expect("writing to a string");
    text
}

#[test]
fn a_target_means_the_note_the_rules_choose() {
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
        ]
    };
    let md = |name: &str| link(INLINE_TYPE, name, TargetSyntax::Markdown);
    let cases = [
        ("exact uri", "q.md", wiki("Uri-1"), "Uri-1"),
        ("uri with case folded", "q.md", wiki("uri-1"), "Uri-1"),
        ("vault path", "q.md", wiki("b/x"), "b/x"),
        ("leading slash", "q.md", wiki("/b/x"), "b/x"),
        ("file name, own folder first", "b/q.md", wiki("x"), "b/x"),
        ("file name, shortest path, then lowest", "q.md", wiki("x"), "a/x"),
        ("suffix", "q.md", wiki("deep/x"), "b/deep/x"),
        ("half a segment is no suffix", "q.md", wiki("eep/x"), "?eep/x"),
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
        (
            "a plain string that means nothing",
            "q.md",
            link("target", "production", TargetSyntax::Tentative),
            "-",
        ),
        (
            "a plain string that means a note",
            "q.md",
            link("target", "b/x", TargetSyntax::Tentative),
            "b/x",
        ),
        (
            "a listed string that means nothing",
            "q.md",
            link("supports", "later", TargetSyntax::Listed),
            "?later",
        ),
    ];
    for (name, from, link, expected) in cases {
        let mut notes = vault();
        notes.push(Note { links: vec![link], ..note(from) });
        assert_eq!(meanings(&built(notes), from), [expected], "{name}");
    }
}

#[test]
fn the_lowest_path_wins_a_uri_and_the_loser_takes_its_path() {
    let claim = |path: &str, uri: &str| Note { claimed_uri: Some(uri.into()), ..note(path) };
    let table = built([
        claim("b.md", "u"),
        claim("a.md", "u"),
        claim("c.md", "a"),
        note("d.md"),
        claim("0.md", "d"),
    ]);
    let uri = |path: &str| {
        table.graph().uri(table.at(VAULT, &NotePath::new(path)).expect("there")).to_string()
    };
    assert_eq!(["a.md", "b.md", "c.md", "0.md", "d.md"].map(uri), ["u", "b", "a", "d", "d.md"]);
    let loser = table.at(VAULT, &NotePath::new("b.md")).expect("there");
    assert_eq!(
        table.issues(loser),
        [Issue::DuplicateUri { claimed: "u".into(), winner: NotePath::new("a.md") }]
    );
}

#[test]
fn a_place_comes_from_links_then_from_folders() {
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
    ];
    for (path, parent, object) in cases {
        let id = table.at(VAULT, &NotePath::new(path)).expect("there");
        let uri = |id: Option<NoteId>| id.map(|id| table.graph().uri(id).as_str());
        assert_eq!(
            (uri(table.graph().parent(id)), uri(table.graph().object(id))),
            (parent, object),
            "{path}"
        );
    }
}

#[test]
fn a_deleted_note_leaves_a_placeholder_that_keeps_its_inbound_links() {
    let table = built([Note { links: vec![wiki("Moss")], ..note("fern.md") }, note("Moss.md")]);
    let (table, _) = table.edited(&[Change::Remove(VAULT, NotePath::new("Moss.md"))]);
    assert_eq!(meanings(&table, "fern.md"), ["?Moss"]);
    let (table, _) = table.edited(&[Change::Upsert(entry(Note {
        aliases: vec!["moss".into()],
        ..note("bryophyte.md")
    }))]);
    assert_eq!(meanings(&table, "fern.md"), ["bryophyte"]);
    assert_eq!(table.graph().n_nodes(), 2, "no ghost is left");
}

#[test]
fn uris_carry_their_vault_where_there_are_several() {
    let vault = |name: &str| VaultInfo { name: name.into(), root: format!("/{name}") };
    let at = |vault, path: &str, links| {
        let note = Note { links, ..note(path) };
        Change::Upsert(Arc::new(NoteEntry::new(
            VaultId(vault),
            note,
            Vec::new(),
            FileFacts::default(),
            0,
        )))
    };
    let (table, _) = NoteTable::new([vault("one"), vault("two")]).edited(&[
        at(0, "x.md", vec![wiki("y")]),
        at(1, "x.md", vec![]),
        at(1, "y.md", vec![]),
    ]);
    let uris: Vec<_> = table.by_uri_after(None).map(|(uri, _)| uri.as_str()).collect();
    assert_eq!(uris, ["one:x", "two:x", "two:y"]);
    assert_eq!(meanings(&table, "x.md"), ["?one:y"], "links stay in their vault");
    let found = |text: &str| table.find(text).note.map(|id| table.graph().uri(id).to_string());
    assert_eq!(found("two:x").as_deref(), Some("two:x"));
    assert_eq!(found("two:X.md").as_deref(), Some("two:x"));
    assert_eq!(found("y").as_deref(), Some("two:y"));
    assert_eq!(found("three:y"), None);
}

#[test]
fn vaults_come_and_go_and_uris_follow() {
    let info = |name: &str| VaultInfo { name: name.into(), root: format!("/{name}") };
    let at = |vault, path: &str, links| {
        let note = Note { links, ..note(path) };
        let file = FileFacts::default();
        Change::Upsert(Arc::new(NoteEntry::new(vault, note, Vec::new(), file, 0)))
    };
    let (one, two) = (VaultId(0), VaultId(1));
    let first = [at(one, "x.md", vec![wiki("y"), wiki("gone")]), at(one, "y.md", vec![])];
    let second = [at(two, "x.md", vec![wiki("gone")])];
    let alone = NoteTable::new([info("one")]).edited(&first).0;
    assert_eq!(alone.next_vault(), two);

    let together = alone.edited(&[Change::Vault(two, Some(info("two")))]).0.edited(&second).0;
    let built = NoteTable::new([info("one"), info("two")]);
    let built = built.edited(&first).0.edited(&second).0;
    assert_eq!(dump(&together), dump(&built));
    assert_eq!(meanings(&together, "x.md"), ["one:y", "?one:gone"]);

    let (apart, delta) = together.edited(&[Change::Vault(two, None)]);
    assert_eq!(dump(&apart), dump(&alone));
    assert_eq!((delta.removed.len(), delta.upserted.len()), (1, 0));
    assert_eq!((apart.next_vault(), apart.total()), (two, apart.tally(one)));

    let renamed = together.edited(&[Change::Vault(one, Some(info("uno")))]).0;
    assert_eq!(meanings(&renamed, "x.md"), ["uno:y", "?uno:gone"]);
    assert!(renamed.find("uno:x").note.is_some() && renamed.find("one:x").note.is_none());
}

fn any_note() -> impl Strategy<Value = Note> {
    let paths = vec![
        "a.md",
        "A.md",
        "b/a.md",
        "b/index.md",
        "b.md",
        "b/c/a.md",
        "c.md",
        "b/c.md",
        "README.md",
        "a.markdown",
    ];
    let names = vec!["a", "A", "b", "c", "b/a", "./a", "../a", "u", "b/c", "nick", "b.md", "index"];
    let one_link = (
        prop::sample::select(names.clone()),
        prop::sample::select(vec![INLINE_TYPE, "parent", "object", "source"]),
        0..4_u8,
    )
        .prop_map(|(name, kind, syntax)| {
            let syntax = match syntax {
                0 => TargetSyntax::Markdown,
                1 => TargetSyntax::Tentative,
                _ => TargetSyntax::Wikilink,
            };
            link(kind, name, syntax)
        });
    (
        prop::sample::select(paths),
        prop::option::weighted(0.3, prop::sample::select(names.clone())),
        prop::collection::vec(prop::sample::select(names), 0..2),
        prop::collection::vec(one_link, 0..4),
    )
        .prop_map(|(path, uri, aliases, links)| Note {
            claimed_uri: uri.map(str::to_owned),
            aliases: aliases.into_iter().map(str::to_owned).collect(),
            links,
            ..note(path)
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn any_sequence_of_edits_leads_to_the_table_built_at_once(
        batches in prop::collection::vec(prop::collection::vec((any_note(), 0..4_u8, 0..10_usize), 1..5), 1..6),
    ) {
        let mut files: BTreeMap<NotePath, Note> = BTreeMap::new();
        let mut now = table();
        for batch in batches {
            let mut changes = Vec::new();
            for (note, act, which) in batch {
                let other = files.keys().nth(which).cloned();
                match (act, other) {
                    (0, Some(path)) => {
                        files.remove(&path);
                        changes.push(Change::Remove(VAULT, path));
                    }
                    (1, Some(from)) if from != note.path => {
                        files.remove(&from);
                        files.insert(note.path.clone(), note.clone());
                        changes.push(Change::Move(from, entry(note)));
                    }
                    _ => {
                        files.insert(note.path.clone(), note.clone());
                        changes.push(Change::Upsert(entry(note)));
                    }
                }
            }
            now = now.edited(&changes).0;
            prop_assert_eq!(dump(&now), dump(&built(files.values().cloned())));
            let (stored, graph) = now.stored();
            let reopened = NoteTable::restored(stored, graph).expect("what was stored");
            prop_assert_eq!(dump(&reopened), dump(&now));
            if files.len().is_multiple_of(2) {
                now = reopened;
            }
        }
    }
}
