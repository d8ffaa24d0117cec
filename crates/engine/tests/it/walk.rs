//! Walks by name: what the engine adds to the walks of the graph.

use weft_engine::walk::{
    CyclesRequest, Direction, EdgeFilter, EdgeSource, FollowOptions, LimitKind, NeighborsRequest,
    OrphansRequest, PathCosts, PathWalkRequest, SubgraphRequest, TreeLimits, TreeWalkRequest,
    UnresolvedRequest, ViewOptions, WalkEdge, WalkNode, WalkSettings,
};
use weft_engine::{Engine, EngineError, Filter, ListRequest, NoteRequest, SiblingsRequest};

use super::{Vault, messages};

const GARDEN: &str = "\
=== plants/fern.md
---
type: plant
tags: [green, shade]
topics: [[moss]]
importance: 80
---
# The fern
Grows beside [[moss]] and [[nowhere]].
=== plants/moss.md
---
aliases: [Bryophyta]
supports: [[soil]]
importance: 20
---
Soft. See [[stone]].
=== ground/soil.md
Made of [[stone]].
=== ground/stone.md
Old. [[stone]]
=== lonely.md
Only [[nowhere]] to go, and [[elsewhere]].
=== empty.md
";

/// The engine keeps answering from its snapshot after the files are gone.
fn engine(files: &str) -> Engine {
    Vault::new(files).engine.clone()
}

fn tree(roots: &[&str]) -> TreeWalkRequest {
    let roots = roots.iter().map(|name| (*name).to_owned()).collect();
    TreeWalkRequest { roots, limits: TreeLimits::NONE, ..TreeWalkRequest::default() }
}

fn path(from: &str, to: &str) -> PathWalkRequest {
    PathWalkRequest { from: from.into(), to: to.into(), ..PathWalkRequest::default() }
}

fn ids(nodes: &[WalkNode]) -> Vec<&str> {
    nodes.iter().map(|node| node.id.as_str()).collect()
}

fn edges(edges: &[WalkEdge]) -> Vec<String> {
    edges
        .iter()
        .map(|WalkEdge { from, to, kind, source }| format!("{from} {kind} {to} {source:?}"))
        .collect()
}

fn within(path: &str) -> Filter {
    Filter { paths: vec![path.into()], ..Filter::default() }
}

/// The field of a rejected argument.
fn field<T: std::fmt::Debug>(answer: Result<T, EngineError>) -> &'static str {
    let error = answer.expect_err("it is refused");
    let EngineError::InvalidArgument { field, reason } = error else {
        panic!("another error: {error}")
    };
    assert!(!reason.is_empty());
    field
}

#[test]
fn tree_resolves_and_returns_names() {
    let garden = engine(GARDEN);
    let answer = garden.tree(&tree(&["Bryophyta", "plants/moss.md"])).expect("a known root");
    assert_eq!(answer.roots.len(), 1, "two names of one note are one root");
    assert_eq!(
        (answer.direction, answer.generation),
        (Direction::Both, garden.snapshot().generation)
    );
    assert_eq!(ids(&answer.nodes), ["plants/moss", "ground/stone", "plants/fern", "ground/soil"]);
    assert_eq!(
        edges(&answer.edges),
        [
            "plants/moss related ground/stone Inline",
            "plants/fern related plants/moss Inline",
            "plants/moss supports ground/soil Typed",
            "plants/fern topics plants/moss Typed",
            "ground/soil related ground/stone Inline",
            "ground/stone related ground/stone Inline",
        ]
        .map(str::to_owned)
        .to_vec()
    );
    assert_eq!((answer.truncated_by.len(), answer.unresolved_truncated), (0, false));
    let unresolved: Vec<_> =
        answer.unresolved.iter().map(|link| (link.from.as_str(), link.target.as_str())).collect();
    assert_eq!(unresolved, [("plants/fern", "nowhere")]);
    let fern = &answer.nodes[2];
    assert_eq!(
        (fern.title.as_str(), fern.note_type.as_deref(), fern.path.as_str(), fern.hop),
        ("The fern", Some("plant"), "plants/fern.md", Some(1))
    );
    assert_eq!((fern.tags.join(" "), &fern.summary), ("green shade".to_owned(), &None));
}

#[test]
fn filter_restricts_a_walk() {
    let follow = FollowOptions { filter: within("ground"), ..FollowOptions::default() };
    let request = TreeWalkRequest { follow: follow.clone(), ..tree(&["plants/moss"]) };
    let answer = engine(GARDEN).tree(&request).expect("a known root");
    assert_eq!(ids(&answer.nodes), ["plants/moss", "ground/stone", "ground/soil"]);
    let request = PathWalkRequest { follow, ..path("plants/fern", "ground/soil") };
    let answer = engine(GARDEN).path(&request).expect("known ends");
    assert!(!answer.found && !answer.truncated, "moss is outside of the filter");
}

#[test]
fn hierarchy_edges_are_optional() {
    let vault = "=== a/index.md\nTop.\n=== a/b.md\nBelow.\n";
    let ask = |hierarchy| {
        let follow = FollowOptions { hierarchy, ..FollowOptions::default() };
        let request = TreeWalkRequest { follow, ..tree(&["a/b"]) };
        edges(&engine(vault).tree(&request).expect("a known root").edges)
    };
    assert!(ask(false).is_empty());
    assert_eq!(ask(true), ["a/b parent a/index Hierarchy"]);
}

#[test]
fn settings_bound_every_walk() {
    let bounded = |max_nodes, max_edges| {
        let settings = WalkSettings { max_nodes, max_edges, ..WalkSettings::default() };
        engine(GARDEN).with_walk(settings)
    };
    let whole = tree(&["plants/moss"]);
    let cut = bounded(2, 100).tree(&whole).expect("a known root");
    assert_eq!((cut.nodes.len(), cut.truncated_by), (2, vec![LimitKind::MaxNodes]));
    let cut = bounded(100, 1).tree(&whole).expect("a known root");
    assert_eq!((cut.edges.len(), cut.truncated_by), (1, vec![LimitKind::MaxEdges]));

    let around = NeighborsRequest { note: "plants/moss".into(), ..NeighborsRequest::default() };
    let cut = bounded(2, 100).neighbors(&around).expect("a known note");
    assert_eq!((cut.nodes.len(), cut.truncated), (2, true));
    let more = NeighborsRequest { max_nodes: Some(9), ..around };
    assert_eq!(bounded(2, 100).neighbors(&more).expect("a known note").nodes.len(), 2);

    let all = SubgraphRequest { filter: within("plants"), ..SubgraphRequest::default() };
    let cut = bounded(1, 100).subgraph(&all).expect("a filter");
    assert_eq!(
        (ids(&cut.nodes), cut.truncated_by),
        (vec!["plants/fern"], vec![LimitKind::MaxNodes])
    );
    let cut = bounded(100, 1).subgraph(&all).expect("a filter");
    assert_eq!((cut.edges.len(), cut.truncated_by), (1, vec![LimitKind::MaxEdges]));

    let looping = WalkSettings { max_cycle_steps: 0, ..WalkSettings::default() };
    let cut = engine(GARDEN).with_walk(looping).cycles(&CyclesRequest::default());
    assert!(cut.expect("a sound request").truncated);
}

#[test]
fn invalid_requests_name_their_field() {
    let garden = engine(GARDEN);
    let both = FollowOptions {
        edges: EdgeFilter { typed_only: true, inline_only: true, ..EdgeFilter::default() },
        ..FollowOptions::default()
    };
    let no_nodes = TreeLimits { max_nodes: Some(0), ..TreeLimits::NONE };
    let empty = |max_nodes| {
        field(garden.tree(&TreeWalkRequest { limits: max_nodes, ..tree(&["plants/fern"]) }))
    };
    assert_eq!(empty(no_nodes), "max_nodes");
    assert_eq!(field(garden.tree(&tree(&[]))), "roots");
    let ask = TreeWalkRequest { follow: both.clone(), ..tree(&["plants/fern"]) };
    assert_eq!(field(garden.tree(&ask)), "edges.typed_only");
    let ask = PathWalkRequest { follow: both.clone(), ..path("plants/fern", "lonely") };
    assert_eq!(field(garden.path(&ask)), "edges.typed_only");
    assert_eq!(field(garden.subgraph(&SubgraphRequest::default())), "notes");
    for (request, expected) in [
        (CyclesRequest { max_length: Some(0), ..CyclesRequest::default() }, "max_length"),
        (CyclesRequest { max_length: Some(101), ..CyclesRequest::default() }, "max_length"),
        (CyclesRequest { max_cycles: Some(1001), ..CyclesRequest::default() }, "max_cycles"),
        (CyclesRequest { follow: both, ..CyclesRequest::default() }, "edges.typed_only"),
    ] {
        assert_eq!(field(garden.cycles(&request)), expected);
    }
    let big = UnresolvedRequest { page_size: 1001, ..UnresolvedRequest::default() };
    assert_eq!(field(garden.unresolved(&big)), "page_size");
    for token in ["x", "99:a", "1:é"] {
        let foreign =
            UnresolvedRequest { page_token: token.into(), ..UnresolvedRequest::default() };
        assert_eq!(field(garden.unresolved(&foreign)), "page_token", "{token}");
    }
}

#[test]
fn unknown_note_suggests_similar_ones() {
    let garden = engine(GARDEN);
    let note = "plants/mos".to_owned();
    let around = NeighborsRequest { note: note.clone(), ..NeighborsRequest::default() };
    let among = SubgraphRequest { notes: vec![note.clone()], ..SubgraphRequest::default() };
    for (name, error) in [
        ("tree", garden.tree(&tree(&["plants/fern", &note])).err()),
        ("path from", garden.path(&path(&note, "lonely")).err()),
        ("path to", garden.path(&path("lonely", &note)).err()),
        ("neighbors", garden.neighbors(&around).err()),
        ("subgraph", garden.subgraph(&among).err()),
    ] {
        let Some(EngineError::UnknownNote { name: asked, suggestions }) = error else {
            panic!("{name}: {error:?}")
        };
        assert_eq!(
            (asked.as_str(), suggestions[0].as_str()),
            ("plants/mos", "plants/moss"),
            "{name}"
        );
    }
    let ghost = garden.tree(&tree(&["nowhere"]));
    assert!(matches!(ghost, Err(EngineError::UnknownNote { .. })), "links make no note exist");
}

#[test]
fn path_is_shortest_or_cheapest() {
    let garden = engine(GARDEN);
    let short = garden.path(&path("plants/fern", "ground/soil")).expect("known ends");
    assert_eq!(ids(&short.nodes), ["plants/fern", "plants/moss", "ground/soil"]);
    let hops: Vec<_> = short.nodes.iter().map(|node| node.hop).collect();
    assert_eq!((hops, short.cost), (vec![Some(0), Some(1), Some(2)], None));
    assert_eq!(
        edges(&short.edges),
        ["plants/fern related plants/moss Inline", "plants/moss supports ground/soil Typed"]
    );

    let cheap = |value_property: Option<&str>| {
        let costs =
            PathCosts { value_property: value_property.map(str::to_owned), ..PathCosts::default() };
        let request = PathWalkRequest { costs: Some(costs), ..path("plants/fern", "ground/soil") };
        let answer = garden.path(&request).expect("known ends");
        (edges(&answer.edges), answer.cost)
    };
    let typed = ["plants/fern topics plants/moss Typed", "plants/moss supports ground/soil Typed"];
    assert_eq!(cheap(None), (typed.map(str::to_owned).to_vec(), Some(4)));
    // Moss has the value 20, soil has none.
    assert_eq!(cheap(Some("Importance")).1, Some(4 + 80 + 100));

    let none =
        PathWalkRequest { costs: Some(PathCosts::default()), ..path("plants/fern", "lonely") };
    let none = garden.path(&none).expect("known ends");
    assert_eq!((none.found, none.cost, none.nodes.len()), (false, None, 0));
    let cut = PathWalkRequest { max_hops: Some(1), ..path("plants/fern", "ground/soil") };
    let cut = garden.path(&cut).expect("known ends");
    assert!(!cut.found && cut.truncated);
}

#[test]
fn cheapest_path_prefers_valuable_notes() {
    let vault = "\
=== start.md
[[dull]] [[bright]]
=== dull.md
[[end]]
=== bright.md
---
value: 100
---
[[bright/too]]
=== bright/too.md
---
value: 1e9
---
[[end]]
=== end.md
";
    let ask = |costs| {
        let request = PathWalkRequest { costs, ..path("start", "end") };
        let answer = engine(vault).path(&request).expect("known ends");
        (ids(&answer.nodes).join(" "), answer.cost)
    };
    assert_eq!(ask(None).0, "start dull end");
    let value_property = Some("value".to_owned());
    let by_value = PathCosts { value_property, ..PathCosts::default() };
    assert_eq!(ask(Some(by_value)), ("start bright bright/too end".to_owned(), Some(9 + 100)));
}

#[test]
fn neighbors_have_degrees() {
    let request = NeighborsRequest { note: "plants/moss".into(), ..NeighborsRequest::default() };
    let answer = engine(GARDEN).neighbors(&request).expect("a known note");
    assert_eq!((answer.root.uri.as_str(), answer.degrees.both), ("plants/moss", 3));
    let actual: Vec<_> = answer
        .nodes
        .iter()
        .map(|found| (found.note.id.as_str(), found.degrees.both, found.edges.len()))
        .collect();
    assert_eq!(actual, [("ground/stone", 2, 1), ("plants/fern", 2, 2), ("ground/soil", 2, 1)]);
    let inbound = FollowOptions { direction: Direction::In, ..FollowOptions::default() };
    let answer = engine(GARDEN).neighbors(&NeighborsRequest { follow: inbound, ..request });
    assert_eq!(answer.expect("a known note").nodes.len(), 1);
}

#[test]
fn subgraph_combines_named_and_filtered_notes() {
    let garden = engine(GARDEN);
    let ask = |notes: &[&str], filter| {
        let notes = notes.iter().map(|name| (*name).to_owned()).collect();
        let answer =
            garden.subgraph(&SubgraphRequest { notes, filter, ..SubgraphRequest::default() });
        let answer = answer.expect("known notes");
        (ids(&answer.nodes).join(" "), edges(&answer.edges).len())
    };
    assert_eq!(ask(&["lonely", "plants/moss"], Filter::default()).0, "lonely plants/moss");
    let named = ask(&["plants/moss", "ground/soil"], within("ground"));
    assert_eq!(named, ("plants/moss ground/soil ground/stone".to_owned(), 4));
    assert_eq!(ask(&[], within("plants")), ("plants/fern plants/moss".to_owned(), 2));
    assert_eq!(ask(&[], within("no/such")), (String::new(), 0));
}

#[test]
fn cycles_are_returned_by_name() {
    let answer =
        engine("=== b.md\n[[a]]\n=== a.md\n# First\n[[b]]\n").cycles(&CyclesRequest::default());
    let answer = answer.expect("a sound request");
    let actual: Vec<_> = answer.cycles[0]
        .nodes
        .iter()
        .map(|note| (note.uri.as_str(), note.title.as_str()))
        .collect();
    assert_eq!(actual, [("a", "First"), ("b", "b")]);
    assert_eq!(edges(&answer.cycles[0].edges), ["a related b Inline", "b related a Inline"]);
    assert!(!answer.truncated && answer.cycles.len() == 1);
}

#[test]
fn orphans_are_paged() {
    let garden = engine(GARDEN);
    let page = |page_size, page_token: &str| {
        let page_token = page_token.to_owned();
        let answer =
            garden.orphans(&OrphansRequest { page_size, page_token, ..OrphansRequest::default() });
        let answer = answer.expect("a sound request");
        let uris: Vec<String> = answer.notes.iter().map(|note| note.uri.to_string()).collect();
        (uris.join(" "), answer.next_page_token, answer.total)
    };
    assert_eq!(page(0, ""), ("empty lonely".to_owned(), String::new(), 2));
    let (first, next, total) = page(1, "");
    assert_eq!((first.as_str(), total), ("empty", 2));
    assert_eq!(page(1, &next), ("lonely".to_owned(), String::new(), 2));
    let foreign = ListRequest { page_token: next, ..ListRequest::default() };
    assert_eq!(field(garden.list(&foreign)), "page_token", "of another list");
    let filter = within("plants");
    let inbound = OrphansRequest { direction: Direction::In, filter, ..OrphansRequest::default() };
    let answer = garden.orphans(&inbound).expect("a sound request");
    assert_eq!((answer.total, answer.notes[0].uri.as_str()), (1, "plants/fern"));
}

#[test]
fn unresolved_links_are_paged() {
    let garden = engine(GARDEN);
    let mut actual = Vec::new();
    let mut page_token = String::new();
    loop {
        let request =
            UnresolvedRequest { page_size: 1, page_token, ..UnresolvedRequest::default() };
        let page = garden.unresolved(&request).expect("a sound request");
        assert_eq!((page.total, page.n_targets, page.unresolved.len()), (3, 2, 1));
        actual
            .extend(page.unresolved.iter().map(|link| format!("{} <- {}", link.target, link.from)));
        page_token = page.next_page_token;
        if page_token.is_empty() {
            break;
        }
    }
    let whole = ["elsewhere <- lonely", "nowhere <- lonely", "nowhere <- plants/fern"];
    assert_eq!(actual, whole);
    let filter = within("plants");
    let some = garden.unresolved(&UnresolvedRequest { filter, ..UnresolvedRequest::default() });
    assert_eq!(some.expect("a sound request").total, 1);
}

#[test]
fn inverse_names_are_optional() {
    let garden = engine(GARDEN);
    let ask = |inverse_names| {
        let view = ViewOptions { inverse_names, ..ViewOptions::default() };
        let answer = garden.tree(&TreeWalkRequest { view, ..tree(&["ground/soil"]) });
        answer.expect("a known root").inverse_names
    };
    assert!(ask(false).is_empty());
    let actual: Vec<_> = ask(true).into_iter().collect();
    assert_eq!(actual, [("supports".to_owned(), "supported-by".to_owned())], "`topics` has none");
}

#[test]
fn summary_is_a_property_or_the_first_paragraph() {
    let long = "word ".repeat(60);
    let cases = [
        ("its own", "---\nsummary: In short.\n---\nAt length.", Some("In short.".to_owned())),
        ("described", "---\ndescription: In short.\n---\nAt length.", Some("In short.".to_owned())),
        ("empty is none", "---\nsummary: ' '\n---\nAt length.", Some("At length.".to_owned())),
        (
            "a paragraph",
            "# Title\n\n## Part\n\nOne\r\n  two.\r\n\r\nNext.",
            Some("One two.".to_owned()),
        ),
        ("before a heading", "One.\n# Title\nTwo.", Some("One. # Title Two.".to_owned())),
        ("underlined", "Title\n=====\nOne.", Some("One.".to_owned())),
        ("headings alone", "# Title\n", None),
        ("nothing", "", None),
        ("long", &long, Some(format!("{}…", long[..200].trim_end()))),
        ("wide", &"é".repeat(201), Some(format!("{}…", "é".repeat(200)))),
        ("just fits", &"é".repeat(200), Some("é".repeat(200))),
    ];
    let files: String =
        (0..).zip(&cases).map(|(at, (_, text, _))| format!("=== {at}.md\n{text}\n")).collect();
    let vault = engine(&files);
    for (at, (name, _, expected)) in cases.iter().enumerate() {
        let view = ViewOptions { summaries: true, ..ViewOptions::default() };
        let request = TreeWalkRequest { view, ..tree(&[&at.to_string()]) };
        let answer = vault.tree(&request).expect("a known root");
        assert_eq!(answer.nodes[0].summary, *expected, "{name}");
    }
}

#[test]
fn edges_name_their_source() {
    let vault = "=== top.md\n=== a.md\n---\nparent: [[top]]\nof: [[b]]\n---\n[[b]]\n=== b.md\n";
    let follow = FollowOptions { hierarchy: true, ..FollowOptions::default() };
    let answer =
        engine(vault).tree(&TreeWalkRequest { follow, ..tree(&["a"]) }).expect("a known root");
    let sources: Vec<_> = answer.edges.iter().map(|edge| edge.source).collect();
    assert_eq!(sources, [EdgeSource::Typed, EdgeSource::Typed, EdgeSource::Inline]);
}

#[test]
fn unknown_link_type_is_reported_by_every_walk() {
    let garden = Vault::new(GARDEN);
    let reported = |types: &[&str]| {
        let types: Vec<String> = types.iter().map(|kind| (*kind).to_owned()).collect();
        let edges = EdgeFilter { types, ..EdgeFilter::default() };
        let follow = FollowOptions { edges: edges.clone(), ..FollowOptions::default() };
        let engine = garden.new_engine();
        let tree = TreeWalkRequest { follow: follow.clone(), ..tree(&["moss"]) };
        let path = PathWalkRequest { follow: follow.clone(), ..path("moss", "fern") };
        let note = "moss".to_owned();
        let near = NeighborsRequest { note, follow: follow.clone(), ..NeighborsRequest::default() };
        let notes = vec!["moss".to_owned()];
        let among = SubgraphRequest { notes, edges, ..SubgraphRequest::default() };
        let cycles = CyclesRequest { follow, ..CyclesRequest::default() };
        let all = [
            engine.tree(&tree).unwrap().warnings,
            engine.path(&path).unwrap().warnings,
            engine.neighbors(&near).unwrap().warnings,
            engine.subgraph(&among).unwrap().warnings,
            engine.cycles(&cycles).unwrap().warnings,
        ];
        assert!(all.iter().all(|reported| *reported == all[0]), "{all:?}");
        all[0].iter().map(|it| it.message.clone()).collect::<Vec<_>>()
    };
    assert_eq!(reported(&["nosuch"]), ["no link has the type `nosuch`"]);
    assert_eq!(
        reported(&["Suports"]),
        ["no link has the type `Suports`; similar types: `supports`"]
    );
    // Case does not matter. Types of text links and of the hierarchy are known, as are configured types and their inverses.
    for kind in ["SUPPORTS", "related", "parent", "part-of", "has-part"] {
        assert_eq!(reported(&[kind]), [""; 0], "{kind}");
    }
    // The graph remembers a type that links once had, but a rebuilt index does not.
    garden.put("plants/moss.md", "Soft.\n");
    assert_eq!(reported(&["supports", "extends"]), [""; 0], "the settings know both");
    garden.put("plants/moss.md", "---\nfed by: [[soil]]\n---\n");
    assert_eq!(reported(&["fed by"]), [""; 0]);
    assert_eq!(reported(&["fed_by"]), ["no link has the type `fed_by`; similar types: `fed by`"]);
    garden.put("plants/moss.md", "Soft.\n");
    assert_eq!(reported(&["fed by"]), ["no link has the type `fed by`"]);
}

#[test]
fn ambiguous_name_is_reported() {
    let titled = |n: usize| format!("=== dup{n}.md\n# Dup\n[[moss]]\n");
    let files: String = (1..=2).map(titled).collect();
    let vault = Vault::new(&format!("{files}=== moss.md\n=== a/same.md\n=== b/same.md\n"));
    let engine = &vault.engine;
    let line = "`Dup` is ambiguous: `dup1` was used, not `dup2`";
    let files = "`same` is ambiguous: `a/same` was used, not `b/same`";
    assert_eq!(
        messages(&engine.tree(&tree(&["Dup", "moss", "same"])).unwrap().warnings),
        [line, files]
    );
    assert_eq!(messages(&engine.path(&path("moss", "Dup")).unwrap().warnings), [line]);
    let near = NeighborsRequest { note: "Dup".into(), ..NeighborsRequest::default() };
    assert_eq!(messages(&engine.neighbors(&near).unwrap().warnings), [line]);
    let among = SubgraphRequest { notes: vec!["Dup".into()], ..SubgraphRequest::default() };
    assert_eq!(messages(&engine.subgraph(&among).unwrap().warnings), [line]);
    let siblings = SiblingsRequest { note: "Dup".into(), limit: 1, ..SiblingsRequest::default() };
    assert_eq!(messages(&engine.siblings(&siblings).unwrap().warnings), [line]);
    let note = |name: &str| NoteRequest { name: name.into(), ..NoteRequest::default() };
    for (name, expected) in [("Dup", &["dup2"][..]), ("same", &["b/same"]), ("dup1", &[])] {
        let answer = engine.note(&note(name)).unwrap();
        let others: Vec<&str> = answer.same_name.iter().map(|other| other.uri.as_str()).collect();
        assert_eq!(others, expected, "{name}");
    }
    let many = (1..=9).map(titled).collect::<String>();
    let reported = Vault::new(&many).engine.tree(&tree(&["Dup"])).unwrap().warnings;
    assert!(reported[0].message.ends_with("`dup6` and 3 more"), "{reported:?}");
}
