//! The graph as a value: building, editing, serialization.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use proptest::prelude::*;
use weft_graph::{Degrees, HalfEdge, NodeSpec, NoteGraph};
use weft_model::{LinkSource, NoteId};

/// Returns the whole content of the graph as text.
fn dump(graph: &NoteGraph) -> String {
    let mut text = String::new();
    let mut ids: Vec<NoteId> = graph.ids().collect();
    ids.sort_by_key(|id| graph.uri(*id).clone());
    let names =
        |list: &[NoteId]| list.iter().map(|id| graph.uri(*id).to_string()).collect::<Vec<_>>();
    for id in ids {
        let halves = |list: &[HalfEdge]| {
            list.iter()
                .map(|half| {
                    format!(
                        "{} {} {}",
                        graph.kind(half.kind),
                        graph.uri(half.other),
                        half.source.name()
                    )
                })
                .collect::<Vec<_>>()
        };
        writeln!(
            text,
            "{} {} parent {:?} object {:?} children {:?} referrings {:?} {:?} out {:?} in {:?} siblings {:?}",
            graph.uri(id),
            graph.is_placeholder(id),
            graph.parent(id).map(|id| graph.uri(id)),
            graph.object(id).map(|id| graph.uri(id)),
            names(graph.children(id)),
            names(graph.referrings(id)),
            graph.degrees(id),
            halves(graph.outgoing(id)),
            halves(graph.inbound(id)),
            graph.siblings(id).map(|(all, at)| (names(all), at)),
        )
        .expect("writing to a string");
    }
    text
}

fn specs() -> impl Strategy<Value = BTreeMap<u32, NodeSpec>> {
    prop::collection::vec(spec(12), 1..12).prop_map(|specs| specs.into_iter().collect())
}

fn spec(n: u32) -> impl Strategy<Value = (u32, NodeSpec)> {
    let link = (0..n, prop::sample::select(vec!["related", "supports", "topics"]), any::<bool>());
    let place = (
        prop::option::of(0..n),
        prop::option::of(0..n),
        prop::option::of(0..3_u8),
        0..4_u8,
        0..3_u8,
    );
    (0..n, place, prop::collection::vec(link, 0..6)).prop_map(
        |(id, (parent, object, order, name, uri), links)| {
            let spec = NodeSpec {
                parent: parent.map(NoteId::new),
                object: object.map(NoteId::new),
                order: order.map(f64::from),
                name: format!("Name {name}"),
                links: links
                    .into_iter()
                    .map(|(to, kind, typed)| {
                        (
                            NoteId::new(to),
                            kind.into(),
                            if typed { LinkSource::Typed } else { LinkSource::Inline },
                        )
                    })
                    .collect(),
                ..NodeSpec::note(&format!("{uri}-{id}"))
            };
            (id, spec)
        },
    )
}

/// Drops parents and objects that do not exist, as the caller of the graph does.
fn closed(specs: &BTreeMap<u32, NodeSpec>) -> BTreeMap<u32, NodeSpec> {
    let known = |id: &NoteId| specs.contains_key(&id.get());
    specs
        .iter()
        .map(|(id, spec)| {
            let mut spec = spec.clone();
            spec.parent = spec.parent.filter(known);
            spec.object = spec.object.filter(known);
            spec.links.retain(|(to, ..)| known(to));
            (*id, spec)
        })
        .collect()
}

fn built(specs: &BTreeMap<u32, NodeSpec>) -> NoteGraph {
    NoteGraph::build(specs.iter().map(|(id, spec)| (NoteId::new(*id), spec.clone())))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn edits_equal_a_fresh_build(
        start in specs(),
        edits in prop::collection::vec(prop::collection::vec((spec(12), any::<bool>()), 1..4), 1..8),
    ) {
        let mut wanted = start;
        let mut now = closed(&wanted);
        let mut graph = built(&now);
        for edit in edits {
            for ((id, spec), keep) in edit {
                if keep { wanted.insert(id, spec); } else { wanted.remove(&id); }
            }
            let next = closed(&wanted);
            let ids: std::collections::BTreeSet<u32> = now.keys().chain(next.keys()).copied().collect();
            let changes: Vec<_> = ids
                .into_iter()
                .filter(|id| now.get(id) != next.get(id))
                .map(|id| (NoteId::new(id), next.get(&id).cloned()))
                .collect();
            graph = graph.edited(changes);
            now = next;
            prop_assert_eq!(dump(&graph), dump(&built(&now)));
        }
        let reread = NoteGraph::from_columns(graph.columns()).expect("columns of a graph");
        prop_assert_eq!(dump(&reread), dump(&graph));
        prop_assert_eq!(reread.n_nodes(), graph.n_nodes());
    }
}

/// Covers more types than an index can name: those beyond share the last index, also when serialized.
#[test]
fn edge_types_beyond_the_last_index_survive_serialization() {
    let [a, b] = [0, 1].map(NoteId::new);
    let kind = |n: usize| (b, format!("t{n}").as_str().into(), LinkSource::Typed);
    let links = (0..40_000).map(kind).collect();
    let graph = NoteGraph::build([
        (a, NodeSpec { links, ..NodeSpec::note("a") }),
        (b, NodeSpec::note("b")),
    ]);
    assert_eq!(graph.kinds().count(), 1 << 15);
    let reread = NoteGraph::from_columns(graph.columns()).expect("columns of a graph");
    assert_eq!(dump(&reread), dump(&graph));
    let edit = NodeSpec { links: vec![kind(3)], ..NodeSpec::note("a") };
    let edited = reread.edited([(a, Some(edit))]);
    assert_eq!(edited.kind(edited.outgoing(a)[0].kind), "t3");
}

#[test]
fn build_keeps_nodes_edges_and_types() {
    let ids @ [gap, a, b, beyond] = [0, 1, 2, 9].map(NoteId::new);
    let [up, down]: [Arc<str>; 2] = ["up", "down"].map(Arc::from);
    let link = |to, kind: &Arc<str>| (to, Arc::clone(kind), LinkSource::Typed);
    // Types in the order of links, and one equal to another by its text alone.
    let mut links: Vec<_> = ids.iter().flat_map(|to| [link(*to, &up), link(*to, &down)]).collect();
    links.extend([link(b, &up), link(b, &Arc::from("up"))]);
    let graph = NoteGraph::build([
        (b, NodeSpec::note("first b")),
        (a, NodeSpec { links, ..NodeSpec::note("a") }),
        (b, NodeSpec::note("b")),
    ]);
    assert_eq!((graph.n_nodes(), graph.n_slots(), graph.uri(b).as_str()), (2, 3, "b"));
    assert!(!graph.contains(gap) && !graph.contains(beyond));
    let halves = |list: &[HalfEdge]| -> Vec<(String, NoteId)> {
        list.iter().map(|half| (graph.kind(half.kind).to_owned(), half.other)).collect()
    };
    let own = |kind: &str, id| (kind.to_owned(), id);
    let outgoing = [own("down", a), own("down", b), own("up", a), own("up", b)];
    assert_eq!(halves(graph.outgoing(a)), outgoing);
    assert_eq!(halves(graph.inbound(b)), [own("down", a), own("up", a)]);
    assert_eq!(graph.inbound(gap), []);
}

#[test]
fn parallel_edges_and_self_loops_do_not_count_as_neighbors() {
    let [a, b] = [0, 1].map(NoteId::new);
    let links = vec![
        (b, "related".into(), LinkSource::Inline),
        (b, "related".into(), LinkSource::Inline),
        (b, "supports".into(), LinkSource::Typed),
        (a, "related".into(), LinkSource::Inline),
    ];
    let graph = NoteGraph::build([
        (a, NodeSpec { links, ..NodeSpec::note("a") }),
        (b, NodeSpec::note("b")),
    ]);
    assert_eq!(graph.degrees(a), Degrees { inbound: 0, outgoing: 1, both: 1 });
    assert_eq!(graph.degrees(b), Degrees { inbound: 1, outgoing: 0, both: 1 });
    assert_eq!(graph.outgoing(a).len(), 3, "exact duplicates merge, a self loop stays an edge");
}

#[test]
fn children_are_in_sibling_order() {
    let root = NoteId::new(0);
    let child = |id: u32, uri: &str, order: Option<f64>, name: &str| {
        (
            NoteId::new(id),
            NodeSpec { parent: Some(root), order, name: name.into(), ..NodeSpec::note(uri) },
        )
    };
    let graph = NoteGraph::build([
        (root, NodeSpec::note("root")),
        child(1, "ten", None, "note 10"),
        child(2, "two", None, "Note 2"),
        child(3, "last number", Some(2.0), "a"),
        child(4, "first number", Some(-1.5), "z"),
        child(5, "same b", None, "same"),
        child(6, "same a", None, "SAME"),
        child(7, "second b", Some(0.0), "a 2"),
        child(8, "second a", Some(0.0), "b 10"),
    ]);
    let order: Vec<_> = graph.children(root).iter().map(|id| graph.uri(*id).as_str()).collect();
    let numbered = ["first number", "second a", "second b", "last number"];
    assert_eq!(order, [&numbered[..], &["two", "ten", "same a", "same b"]].concat());
    assert_eq!(graph.siblings(NoteId::new(2)).map(|(_, at)| at), Some(4));
    assert_eq!(graph.siblings(root), None);
}

#[test]
fn ancestors_end_before_a_cycle() {
    let ids = [0, 1, 2].map(NoteId::new);
    let graph = NoteGraph::build(ids.map(|id| {
        (
            id,
            NodeSpec {
                parent: Some(ids[(id.index() + 1) % 3]),
                ..NodeSpec::note(&id.get().to_string())
            },
        )
    }));
    assert_eq!(graph.ancestors(ids[0]).collect::<Vec<_>>(), [ids[1], ids[2]]);
}
