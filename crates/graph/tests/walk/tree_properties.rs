//! Trees of random graphs against the plain telling of the rules.

use std::collections::BTreeSet;

use proptest::prelude::*;
use weft_graph::NoteGraph;
use weft_graph::walk::{Ceiling, Limits, TreeRequest, tree};
use weft_model::NoteId;

use super::oracle::{Oracle, reopened};
use super::random::{N_NAMES, NAMES, Plan, Wish, plans, slots, wishes};
use super::vault::TreeWords;

fn limits() -> impl Strategy<Value = Limits> {
    let maybe = |range: std::ops::Range<usize>| prop::option::weighted(0.4, range);
    (prop::option::weighted(0.5, 0..4_u32), maybe(1..8), maybe(0..12), maybe(0..5)).prop_map(
        |(max_hops, max_nodes, max_edges, max_fanout)| Limits {
            max_hops,
            max_nodes,
            max_edges,
            max_fanout,
        },
    )
}

fn roots(plan: &Plan, wanted: &[usize]) -> Vec<usize> {
    wanted.iter().map(|at| if plan.placeholder[*at] { 0 } else { *at }).collect()
}

fn words(
    graph: &NoteGraph,
    wish: &Wish,
    slots: &[u32],
    roots: &[usize],
    limits: Limits,
) -> TreeWords {
    let request = TreeRequest {
        roots: roots.iter().map(|at| NoteId::new(slots[*at])).collect(),
        follow: wish.follow(slots),
        limits,
        ceiling: Ceiling::default(),
    };
    TreeWords::of(graph, &tree(graph, &request).expect("a sound request"))
}

/// The limits without some of them.
fn without(limits: Limits, lifted: impl Fn(&str) -> bool) -> Limits {
    Limits {
        max_hops: limits.max_hops.filter(|_| !lifted("max_hops")),
        max_nodes: limits.max_nodes.filter(|_| !lifted("max_nodes")),
        max_edges: limits.max_edges.filter(|_| !lifted("max_edges")),
        max_fanout: limits.max_fanout.filter(|_| !lifted("max_fanout")),
    }
}

/// The limits with some of them one higher.
fn raised(limits: Limits, named: impl Fn(&str) -> bool) -> Limits {
    let up = |name, limit: Option<usize>| limit.map(|limit| limit + usize::from(named(name)));
    Limits {
        max_hops: limits.max_hops.map(|limit| limit + u32::from(named("max_hops"))),
        max_nodes: up("max_nodes", limits.max_nodes),
        max_edges: up("max_edges", limits.max_edges),
        max_fanout: up("max_fanout", limits.max_fanout),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_tree_is_what_the_rules_say(
        plan in plans(), wish in wishes(), slots in slots(), limits in limits(),
        wanted in prop::collection::vec(0..N_NAMES, 1..4),
    ) {
        let roots = roots(&plan, &wanted);
        let oracle = Oracle::new(&plan, &wish, &roots).tree(&roots, &limits);
        prop_assert_eq!(words(&plan.graph(&slots), &wish, &slots, &roots, limits), oracle);
    }

    #[test]
    fn truncation_is_reported_exactly(
        plan in plans(), wish in wishes(), slots in slots(), limits in limits(),
        wanted in prop::collection::vec(0..N_NAMES, 1..3),
    ) {
        let roots = roots(&plan, &wanted);
        let graph = plan.graph(&slots);
        let words = |limits| words(&graph, &wish, &slots, &roots, limits);
        let cut = words(limits);
        let named = |name: &str| cut.truncated_by.contains(&name);
        let whole = words(Limits::NONE);
        prop_assert_eq!(!cut.truncated_by.is_empty(), cut.content() != whole.content());
        prop_assert_eq!(&words(without(limits, |name| !named(name))), &cut, "limits that are not named do nothing");
        if !cut.truncated_by.is_empty() {
            for more in [words(raised(limits, named)), words(without(limits, named))] {
                prop_assert_ne!(more.content(), cut.content(), "limits that are named do");
                if limits.max_fanout.is_none() {
                    let size = |words: &TreeWords| words.nodes.len() + words.edges.len();
                    prop_assert!(size(&more) > size(&cut));
                }
            }
        }
    }

    #[test]
    fn more_nodes_only_append(
        plan in plans(), wish in wishes(), slots in slots(), max_fanout in prop::option::of(0..5_usize),
        wanted in prop::collection::vec(0..N_NAMES, 1..3),
    ) {
        let roots = roots(&plan, &wanted);
        let all = words(&plan.graph(&slots), &wish, &slots, &roots, Limits { max_fanout, ..Limits::NONE });
        for max_nodes in 1..N_NAMES {
            let limits = Limits { max_nodes: Some(max_nodes), max_fanout, ..Limits::NONE };
            let some = words(&plan.graph(&slots), &wish, &slots, &roots, limits);
            prop_assert_eq!(&some.nodes[..], &all.nodes[..all.nodes.len().min(max_nodes)]);
            let admitted: BTreeSet<&str> = some.nodes.iter().map(|(name, _)| &**name).collect();
            for edge in &some.edges {
                prop_assert!(all.edges.contains(edge));
            }
            for (from, to, _) in &some.references {
                prop_assert!(admitted.contains(&**from) && admitted.contains(&**to));
            }
        }
    }

    #[test]
    fn hops_are_distances(plan in plans(), wish in wishes(), slots in slots(), max_hops in 0..5_u32) {
        let words = words(&plan.graph(&slots), &wish, &slots, &[0], Limits { max_hops: Some(max_hops), ..Limits::NONE });
        let oracle = Oracle::new(&plan, &wish, &[0]);
        let mut expected = BTreeSet::new();
        for (at, name) in NAMES.iter().enumerate() {
            let nearest = oracle.paths(0, at).iter().filter_map(|steps| u32::try_from(steps.len()).ok()).min();
            expected.extend(nearest.filter(|hops| *hops <= max_hops).map(|hops| ((*name).to_owned(), hops)));
        }
        let reached: BTreeSet<(String, u32)> = words.nodes.iter().cloned().collect();
        prop_assert_eq!(reached, expected);
    }

    #[test]
    fn slots_do_not_show(plan in plans(), wish in wishes(), one in slots(), other in slots(), limits in limits()) {
        let roots = roots(&plan, &[0, 3]);
        let expected = words(&plan.graph(&one), &wish, &one, &roots, limits);
        let graph = reopened(&plan.graph(&other));
        prop_assert_eq!(&words(&graph, &wish, &other, &roots, limits), &expected);
        let graph = plan.grown(&other);
        prop_assert_eq!(&words(&graph, &wish, &other, &roots, limits), &expected);
    }
}
