//! Rules of the tree, one by one.

use weft_graph::NodeSpec;
use weft_graph::walk::{
    Ceiling, Direction, EdgeFilter, TreeLimits, TreeRequest, WalkError, WalkOptions, tree,
};
use weft_model::{LinkSource, NoteId, NoteSet};

use super::text_graph::{TreeWords, Vault, vault};

fn words(vault: &Vault, request: &TreeRequest) -> TreeWords {
    TreeWords::of(&vault.graph, &tree(&vault.graph, request).expect("a sound request"))
}

fn from_a(vault: &Vault) -> TreeRequest {
    TreeRequest::from_roots([vault.id("a")])
}

fn following(vault: &Vault, follow: WalkOptions) -> TreeWords {
    words(vault, &TreeRequest { follow, ..from_a(vault) })
}

fn limited(vault: &Vault, limits: TreeLimits) -> TreeWords {
    words(vault, &TreeRequest { limits, ..from_a(vault) })
}

fn direction(direction: Direction) -> WalkOptions {
    WalkOptions { direction, ..WalkOptions::default() }
}

fn filter(filter: EdgeFilter) -> WalkOptions {
    WalkOptions { edges: filter, ..WalkOptions::default() }
}

fn list(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn neighbors_sort_by_type_then_uri_then_side_then_source() {
    let cases = [
        ("type before uri", "a supports b; a extends z", "a extends z; a supports b"),
        ("types by bytes", "a related b; a Supports c", "a Supports c; a related b"),
        ("uris by bytes", "a ~ é; a ~ z; a ~ Z; a ~ 9", "a ~ 9; a ~ Z; a ~ z; a ~ é"),
        ("the other end of an inbound edge", "z ~ a; y ~ a", "y ~ a; z ~ a"),
        ("both sides in one order", "b ~ a; a ~ c; d ~ a", "b ~ a; a ~ c; d ~ a"),
        ("outgoing before incoming", "b ~ a; a ~ b", "a ~ b; b ~ a"),
        ("side before source", "b related a; a ~ b", "a ~ b; b related a"),
        ("typed before inline", "a ~ b; a related b", "a related b; a ~ b"),
    ];
    for (name, text, expected) in cases {
        assert_eq!(words(&vault(text), &from_a(&vault(text))).edges(), expected, "{name}");
    }
}

#[test]
fn nodes_are_in_discovery_order() {
    let vault = vault("a ~ c; a ~ b; b ~ y; c ~ x; y ~ w");
    let words = words(&vault, &from_a(&vault));
    assert_eq!(words.nodes(), "a0 b1 c1 y2 x2 w3");
    assert_eq!(words.edges(), "a ~ b; a ~ c; b ~ y; c ~ x; y ~ w");
}

#[test]
fn each_stored_edge_is_reported_once_as_stored() {
    let vault = vault("b supports a; b ~ c; c ~ a");
    let both = words(&vault, &from_a(&vault));
    assert_eq!(both.edges(), "c ~ a; b supports a; b ~ c");
    assert_eq!(both.nodes(), "a0 c1 b1");
    // The tree runs from parent to child, against the direction of an inbound edge.
    assert_eq!(both.spanning_tree[0], ("a".into(), "c".into(), 1, 0));
    // `b ~ c` is reached from c, which comes first; the edges back to a are not references.
    assert_eq!(both.seen(), "c>b");
}

#[test]
fn each_direction_follows_its_edges_only() {
    let vault = vault("a ~ b; c ~ a; b ~ d; e ~ b; f ~ c");
    for (way, nodes, edges) in [
        (Direction::Out, "a0 b1 d2", "a ~ b; b ~ d"),
        (Direction::In, "a0 c1 f2", "c ~ a; f ~ c"),
        (Direction::Both, "a0 b1 c1 d2 e2 f2", "a ~ b; c ~ a; b ~ d; e ~ b; f ~ c"),
    ] {
        let words = following(&vault, direction(way));
        assert_eq!((words.nodes().as_str(), words.edges().as_str()), (nodes, edges), "{way:?}");
    }
}

#[test]
fn duplicate_edges_merge_and_parallel_edges_stay() {
    let vault = vault("a ~ b; a ~ b; a related b; a supports b; b ~ a");
    let words = limited(&vault, TreeLimits { max_edges: Some(4), ..TreeLimits::default() });
    assert_eq!(words.edges(), "a related b; a ~ b; b ~ a; a supports b");
    assert_eq!(words.seen(), "a>b a>b a>b", "a note is marked when first reached");
    assert_eq!(words.truncated_by, [""; 0], "duplicates merge before edges are counted");
}

#[test]
fn self_loop_is_one_reference() {
    let vault = vault("a ~ a; a ~ b; b supports b");
    for (way, edges, seen) in [
        (Direction::Both, "a ~ a; a ~ b; b supports b", "a>a b>b"),
        (Direction::Out, "a ~ a; a ~ b; b supports b", "a>a b>b"),
        (Direction::In, "a ~ a", "a>a"),
    ] {
        let words = following(&vault, direction(way));
        assert_eq!((words.edges().as_str(), words.seen().as_str()), (edges, seen), "{way:?}");
        assert!(words.spanning_tree.iter().all(|(from, to, ..)| from != to));
    }
}

#[test]
fn cycle_ends_in_a_reference() {
    let vault = vault("a ~ b; b ~ c; c ~ a");
    let out = following(&vault, direction(Direction::Out));
    assert_eq!((out.nodes().as_str(), out.seen().as_str()), ("a0 b1 c2", "c>a"));
    let both = words(&vault, &from_a(&vault));
    assert_eq!((both.nodes().as_str(), both.seen().as_str()), ("a0 b1 c1", "b>c"));
}

#[test]
fn filters_compare_stored_types_with_case_folded() {
    let vault = vault("a Supports b; a ~ c; a related d; a extends e; f SUPPORTS a");
    let only = |types: &[&str]| EdgeFilter { types: list(types), ..EdgeFilter::default() };
    let cases = [
        ("one type", only(&["supports"]), "f SUPPORTS a; a Supports b"),
        ("inline edges are related", only(&["RELATED"]), "a ~ c; a related d"),
        ("several", only(&["extends", "related"]), "a extends e; a ~ c; a related d"),
        ("no such type", only(&["straße"]), ""),
        (
            "exclude beats include",
            EdgeFilter { exclude_types: list(&["Related"]), ..only(&["related", "extends"]) },
            "a extends e",
        ),
        (
            "exclude alone",
            EdgeFilter { exclude_types: list(&["supports", "extends"]), ..EdgeFilter::default() },
            "a ~ c; a related d",
        ),
        ("typed only", EdgeFilter { typed_only: true, ..only(&["related"]) }, "a related d"),
        ("inline only", EdgeFilter { inline_only: true, ..EdgeFilter::default() }, "a ~ c"),
    ];
    for (name, edges, expected) in cases {
        assert_eq!(following(&vault, filter(edges)).edges(), expected, "{name}");
    }
}

#[test]
fn edge_to_an_excluded_note_is_not_eligible() {
    let vault = vault("a ~ b; a ~ c; b ~ d; c ~ a; d ~ a");
    let notes: NoteSet = vault.ids(["c", "d"]).into_iter().collect();
    let words = following(&vault, WalkOptions { notes, ..direction(Direction::Out) });
    assert_eq!(words.edges(), "a ~ c; c ~ a", "the root is exempt, d is reachable only through b");
    assert_eq!(words.truncated_by, [""; 0]);
}

#[test]
fn filters_apply_before_the_fan_out_limit() {
    let vault = vault("a ~ b; a ~ c; a supports d; a supports e");
    let request = TreeRequest {
        follow: filter(EdgeFilter { types: list(&["supports"]), ..EdgeFilter::default() }),
        limits: TreeLimits { max_fanout: Some(2), ..TreeLimits::default() },
        ..from_a(&vault)
    };
    let words = words(&vault, &request);
    assert_eq!(words.edges(), "a supports d; a supports e");
    assert_eq!(words.truncated_by, [""; 0]);
}

/// Name, vault, limits, and the expected nodes, edges and names of limits.
type Cut =
    (&'static str, &'static str, TreeLimits, &'static str, &'static str, &'static [&'static str]);

#[test]
fn limits_truncate_exactly_and_are_reported() {
    let none = TreeLimits::NONE;
    let hops = |max| TreeLimits { max_hops: Some(max), ..none };
    let nodes = |max| TreeLimits { max_nodes: Some(max), ..none };
    let edges = |max| TreeLimits { max_edges: Some(max), ..none };
    let fanout = |max| TreeLimits { max_fanout: Some(max), ..none };
    let star = "a ~ b; a ~ c; a ~ d";
    let chain = "a ~ b; b ~ c; c ~ d; d ~ e";
    let cases: &[Cut] = &[
        (
            "three hops by default",
            chain,
            TreeLimits::default(),
            "a0 b1 c2 d3",
            "a ~ b; b ~ c; c ~ d",
            &["max_hops"],
        ),
        ("no hops", star, hops(0), "a0", "", &["max_hops"]),
        ("no hops, nothing there", "a; b", hops(0), "a0", "", &[]),
        ("the edge back does not count", star, hops(1), "a0 b1 c1 d1", "a ~ b; a ~ c; a ~ d", &[]),
        (
            "a parallel edge back counts",
            "a ~ b; b supports a",
            hops(1),
            "a0 b1",
            "a ~ b; b supports a",
            &[],
        ),
        (
            "an edge along the frontier",
            "a ~ b; a ~ c; b ~ c",
            hops(1),
            "a0 b1 c1",
            "a ~ b; a ~ c",
            &["max_hops"],
        ),
        ("a loop at the frontier", "a ~ b; b ~ b", hops(1), "a0 b1", "a ~ b", &["max_hops"]),
        (
            "hops reached exactly",
            chain,
            hops(4),
            "a0 b1 c2 d3 e4",
            "a ~ b; b ~ c; c ~ d; d ~ e",
            &[],
        ),
        ("nodes", star, nodes(3), "a0 b1 c1", "a ~ b; a ~ c", &["max_nodes"]),
        ("nodes reached exactly", star, nodes(4), "a0 b1 c1 d1", "a ~ b; a ~ c; a ~ d", &[]),
        (
            "edges among admitted notes still appear",
            "a ~ b; a ~ c; a ~ d; b ~ c; b ~ e; c ~ b",
            nodes(3),
            "a0 b1 c1",
            "a ~ b; a ~ c; b ~ c; c ~ b",
            &["max_nodes"],
        ),
        (
            "also edges after the limit is reached",
            "a ~ b; a ~ x; a supports b",
            nodes(2),
            "a0 b1",
            "a ~ b; a supports b",
            &["max_nodes"],
        ),
        (
            "node limit reached, only references remain",
            "a ~ b; b ~ a; b ~ b",
            nodes(2),
            "a0 b1",
            "a ~ b; b ~ a; b ~ b",
            &[],
        ),
        ("edges", star, edges(2), "a0 b1 c1", "a ~ b; a ~ c", &["max_edges"]),
        ("edges reached exactly", star, edges(3), "a0 b1 c1 d1", "a ~ b; a ~ c; a ~ d", &[]),
        ("references count", "a ~ a; a ~ b", edges(1), "a0", "a ~ a", &["max_edges"]),
        ("no edge, no note", star, edges(0), "a0", "", &["max_edges"]),
        (
            "the walk ends at the first refused edge",
            "a ~ b; a ~ c; b ~ d; c ~ b",
            edges(2),
            "a0 b1 c1",
            "a ~ b; a ~ c",
            &["max_edges"],
        ),
        ("fan-out", star, fanout(2), "a0 b1 c1", "a ~ b; a ~ c", &["max_fanout"]),
        ("fan-out reached exactly", star, fanout(3), "a0 b1 c1 d1", "a ~ b; a ~ c; a ~ d", &[]),
        ("no fan-out", star, fanout(0), "a0", "", &["max_fanout"]),
        (
            "the edge back does not count towards fan-out",
            chain,
            fanout(1),
            "a0 b1 c2 d3 e4",
            "a ~ b; b ~ c; c ~ d; d ~ e",
            &[],
        ),
        (
            "references count towards fan-out",
            "a ~ a; a ~ b",
            fanout(1),
            "a0",
            "a ~ a",
            &["max_fanout"],
        ),
        (
            "an edge cut at one end may be reported from the other",
            "a ~ b; a ~ c; b ~ c",
            fanout(1),
            "a0 b1 c2",
            "a ~ b; b ~ c; a ~ c",
            &["max_fanout"],
        ),
        (
            "refused notes count towards fan-out",
            "a ~ b; a ~ c; a supports a",
            TreeLimits { max_nodes: Some(2), ..fanout(2) },
            "a0 b1",
            "a ~ b",
            &["max_nodes", "max_fanout"],
        ),
        (
            "every limit that refuses an edge is listed",
            chain,
            TreeLimits {
                max_hops: Some(1),
                max_nodes: Some(2),
                max_edges: Some(1),
                max_fanout: Some(1),
            },
            "a0 b1",
            "a ~ b",
            &["max_hops", "max_nodes", "max_edges"],
        ),
        (
            "edges skipped at the node limit count for other limits",
            "a 1 b; a 2 x; b 3 a; a 4 y",
            TreeLimits { max_nodes: Some(2), max_edges: Some(2), ..none },
            "a0 b1",
            "a 1 b; b 3 a",
            &["max_nodes", "max_edges"],
        ),
        (
            "node limit reached before the hop limit",
            "a ~ b; a ~ c; b ~ d",
            TreeLimits { max_hops: Some(1), max_nodes: Some(2), ..none },
            "a0 b1",
            "a ~ b",
            &["max_hops", "max_nodes"],
        ),
        (
            "a limit behind the end of the walk is not listed",
            star,
            TreeLimits { max_hops: Some(0), max_nodes: Some(2), ..none },
            "a0",
            "",
            &["max_hops"],
        ),
    ];
    for (name, text, limits, nodes, edges, truncated_by) in cases {
        let words = limited(&vault(text), *limits);
        assert_eq!(
            (words.nodes().as_str(), words.edges().as_str(), &*words.truncated_by),
            (*nodes, *edges, *truncated_by),
            "{name}"
        );
    }
}

#[test]
fn server_limits_apply_as_if_the_client_had_sent_them() {
    let vault = vault("a ~ b; a ~ c; a ~ d");
    let with = |max_nodes, max_edges, limits| {
        let ceiling = Ceiling { max_nodes, max_edges };
        words(&vault, &TreeRequest { limits, ceiling, ..from_a(&vault) })
    };
    let sent = TreeLimits { max_nodes: Some(3), ..TreeLimits::default() };
    assert_eq!(with(3, 9, TreeLimits::default()), limited(&vault, sent));
    assert_eq!(with(9, 2, TreeLimits::default()).truncated_by, ["max_edges"]);
    assert_eq!(with(2, 9, sent).nodes(), "a0 b1", "the lower one counts");
    assert_eq!(
        with(9, 9, TreeLimits { max_nodes: Some(2), ..TreeLimits::default() }).nodes(),
        "a0 b1"
    );
    let edges = TreeLimits { max_edges: Some(3), ..TreeLimits::default() };
    assert_eq!(with(9, 2, edges).edges(), "a ~ b; a ~ c", "the lower one counts");
    assert_eq!(with(4, 3, TreeLimits::NONE).truncated_by, [""; 0], "reached exactly");
    assert_eq!(Ceiling::default(), Ceiling { max_nodes: 10_000, max_edges: 50_000 });
}

#[test]
fn roots_come_first_in_request_order() {
    let vault = vault("a ~ b; c ~ d; b ~ c");
    let request = TreeRequest::from_roots(vault.ids(["c", "a", "c"]));
    let words_of = |limits| words(&vault, &TreeRequest { limits, ..request.clone() });
    let words = words_of(TreeLimits::default());
    assert_eq!(words.nodes(), "c0 a0 b1 d1");
    assert_eq!(words.edges(), "b ~ c; c ~ d; a ~ b");
    assert_eq!(words.seen(), "a>b", "a root is never a child of another root");
    let one = words_of(TreeLimits { max_nodes: Some(1), ..TreeLimits::default() });
    assert_eq!((one.nodes().as_str(), &*one.truncated_by), ("c0", &["max_nodes"][..]));
}

#[test]
fn roots_are_exempt_from_the_note_filter() {
    let vault = vault("a ~ b; b ~ c; b ~ d");
    let request = TreeRequest {
        follow: WalkOptions {
            notes: [vault.id("b")].into_iter().collect(),
            ..WalkOptions::default()
        },
        ..TreeRequest::from_roots(vault.ids(["a", "c"]))
    };
    assert_eq!(words(&vault, &request).edges(), "a ~ b; b ~ c");
}

#[test]
fn invalid_requests_return_the_reason() {
    let vault = vault("a ~ ?ghost");
    let ask = |request| tree(&vault.graph, &request).err();
    let [a, ghost] = vault.ids(["a", "ghost"]);
    let nowhere = NoteId::new(77);
    let both = EdgeFilter { typed_only: true, inline_only: true, ..EdgeFilter::default() };
    let none = TreeLimits { max_nodes: Some(0), ..TreeLimits::default() };
    for (request, expected) in [
        (TreeRequest::from_roots([]), WalkError::NoRoot),
        (TreeRequest::from_roots([a, nowhere]), WalkError::UnknownNote { note: nowhere }),
        (TreeRequest::from_roots([ghost]), WalkError::UnknownNote { note: ghost }),
        (TreeRequest { limits: none, ..from_a(&vault) }, WalkError::NoNodes),
        (TreeRequest { follow: filter(both), ..from_a(&vault) }, WalkError::TypedAndInline),
    ] {
        assert_eq!(ask(request), Some(expected));
    }
}

#[test]
fn unresolved_links_are_listed_separately() {
    let vault = vault("a ~ b; a ~ ?ghost; a supports ?ghost; b supports ?echo; c ~ ?echo");
    let pairs = |words: TreeWords| {
        let pairs: Vec<String> =
            words.unresolved.iter().map(|(from, target)| format!("{from}>{target}")).collect();
        pairs.join(" ")
    };
    let words_with =
        |limits, follow| words(&vault, &TreeRequest { limits, follow, ..from_a(&vault) });
    let all = words_with(TreeLimits::default(), WalkOptions::default());
    assert_eq!((all.nodes().as_str(), all.edges().as_str()), ("a0 b1", "a ~ b"));
    assert_eq!(all.truncated_by, [""; 0], "c is not reached through a placeholder");
    assert_eq!(pairs(all), "a>ghost b>echo");
    let no_hop = TreeLimits { max_hops: Some(0), ..TreeLimits::default() };
    assert_eq!(pairs(words_with(no_hop, WalkOptions::default())), "a>ghost");
    let inline = EdgeFilter { inline_only: true, ..EdgeFilter::default() };
    assert_eq!(pairs(words_with(TreeLimits::default(), filter(inline))), "a>ghost");
    assert_eq!(pairs(words_with(TreeLimits::default(), direction(Direction::In))), "");

    let ceiling = |max_edges| Ceiling { max_edges, ..Ceiling::default() };
    let cut = |max_edges| {
        let request = TreeRequest { ceiling: ceiling(max_edges), ..from_a(&vault) };
        let tree = tree(&vault.graph, &request).expect("a sound request");
        (tree.unresolved.len(), tree.unresolved_truncated, tree.truncated())
    };
    assert_eq!(cut(2), (2, false, false));
    assert_eq!(cut(1), (1, true, false));
}

#[test]
fn hierarchy_edges_are_opt_in() {
    let text = "a ^ top; b ^ top; b parent top; c ^ top; c up top; d ^ a; d ~ a; top supports a";
    let vault = vault(text);
    assert_eq!(
        words(&vault, &from_a(&vault)).edges(),
        "d ~ a; top supports a; b parent top; c up top"
    );
    let hierarchy =
        |follow: WalkOptions| following(&vault, WalkOptions { hierarchy: true, ..follow }).edges();
    assert_eq!(
        hierarchy(WalkOptions::default()),
        "d ^ a; a ^ top; d ~ a; top supports a; b parent top; c up top",
        "a written `parent` or `up` link replaces the implied edge",
    );
    let only = |types: &[&str]| EdgeFilter { types: list(types), ..EdgeFilter::default() };
    assert_eq!(hierarchy(filter(only(&["PARENT"]))), "d ^ a; a ^ top; b parent top");
    assert_eq!(hierarchy(direction(Direction::Out)), "a ^ top; top supports a");
    let inline = EdgeFilter { inline_only: true, ..EdgeFilter::default() };
    assert_eq!(hierarchy(filter(inline)), "d ~ a");
    let typed = EdgeFilter { typed_only: true, types: list(&["parent"]), ..EdgeFilter::default() };
    assert_eq!(hierarchy(filter(typed)), "d ^ a; a ^ top; b parent top");
    let vault = self::vault("b ^ a; b source a; c ^ a; c source a; c @ d");
    let follow = WalkOptions { hierarchy: true, ..WalkOptions::default() };
    assert_eq!(
        following(&vault, follow).edges(),
        "b ^ a; b source a; c source a",
        "a `source` link replaces it only if the note has an object"
    );
}

#[test]
fn deleting_a_target_drops_the_edge_and_restoring_it_restores_the_edge() {
    let mut vault = vault("a ~ b; b ~ c");
    let before = words(&vault, &from_a(&vault));
    let [b, c] = vault.ids(["b", "c"]);
    let whole = vault.graph.clone();
    vault.graph = whole.edited([(b, Some(NodeSpec::placeholder("b")))]);
    let without = words(&vault, &from_a(&vault));
    assert_eq!((without.nodes().as_str(), without.edges().as_str()), ("a0", ""));
    assert_eq!(without.unresolved, [("a".to_owned(), "b".to_owned())]);
    let links = vec![(c, "related".into(), LinkSource::Inline)];
    vault.graph = vault.graph.edited([(b, Some(NodeSpec { links, ..NodeSpec::note("b") }))]);
    assert_eq!(words(&vault, &from_a(&vault)), before);
}
