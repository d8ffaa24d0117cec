//! Trees of random graphs, compared with the oracle.

use std::collections::BTreeSet;

use proptest::prelude::*;
use weft_graph::NoteGraph;
use weft_graph::walk::{Ceiling, TreeLimits, TreeRequest, tree};
use weft_model::NoteId;

use super::oracle::{Oracle, round_tripped};
use super::random_graphs::{
    GraphPlan, N_NAMES, NAMES, OptionsPlan, graph_plans, option_plans, slots,
};
use super::text_graph::TreeWords;

fn limits() -> impl Strategy<Value = TreeLimits> {
    let maybe = |range: std::ops::Range<usize>| prop::option::weighted(0.4, range);
    (prop::option::weighted(0.5, 0..4_u32), maybe(1..8), maybe(0..12), maybe(0..5)).prop_map(
        |(max_hops, max_nodes, max_edges, max_fanout)| TreeLimits {
            max_hops,
            max_nodes,
            max_edges,
            max_fanout,
        },
    )
}

fn roots(plan: &GraphPlan, wanted: &[usize]) -> Vec<usize> {
    wanted.iter().map(|at| if plan.placeholder[*at] { 0 } else { *at }).collect()
}

fn words(
    graph: &NoteGraph,
    options_plan: &OptionsPlan,
    slots: &[u32],
    roots: &[usize],
    limits: TreeLimits,
) -> TreeWords {
    let request = TreeRequest {
        roots: roots.iter().map(|at| NoteId::new(slots[*at])).collect(),
        follow: options_plan.follow(slots),
        limits,
        ceiling: Ceiling::default(),
    };
    TreeWords::of(graph, &tree(graph, &request).expect("a sound request"))
}

/// Returns the limits without those whose names are `lifted`.
fn without(limits: TreeLimits, lifted: impl Fn(&str) -> bool) -> TreeLimits {
    TreeLimits {
        max_hops: limits.max_hops.filter(|_| !lifted("max_hops")),
        max_nodes: limits.max_nodes.filter(|_| !lifted("max_nodes")),
        max_edges: limits.max_edges.filter(|_| !lifted("max_edges")),
        max_fanout: limits.max_fanout.filter(|_| !lifted("max_fanout")),
    }
}

/// Returns the limits with the named ones increased by one.
fn raised(limits: TreeLimits, named: impl Fn(&str) -> bool) -> TreeLimits {
    let up = |name, limit: Option<usize>| limit.map(|limit| limit + usize::from(named(name)));
    TreeLimits {
        max_hops: limits.max_hops.map(|limit| limit + u32::from(named("max_hops"))),
        max_nodes: up("max_nodes", limits.max_nodes),
        max_edges: up("max_edges", limits.max_edges),
        max_fanout: up("max_fanout", limits.max_fanout),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn tree_matches_the_oracle(
        plan in graph_plans(), options_plan in option_plans(), slots in slots(), limits in limits(),
        wanted in prop::collection::vec(0..N_NAMES, 1..4),
    ) {
        let roots = roots(&plan, &wanted);
        let oracle = Oracle::new(&plan, &options_plan, &roots).tree(&roots, &limits);
        prop_assert_eq!(words(&plan.graph(&slots), &options_plan, &slots, &roots, limits), oracle);
    }

    #[test]
    fn truncation_is_reported_exactly(
        plan in graph_plans(), options_plan in option_plans(), slots in slots(), limits in limits(),
        wanted in prop::collection::vec(0..N_NAMES, 1..3),
    ) {
        let roots = roots(&plan, &wanted);
        let graph = plan.graph(&slots);
        let words = |limits| words(&graph, &options_plan, &slots, &roots, limits);
        let cut = words(limits);
        let named = |name: &str| cut.truncated_by.contains(&name);
        let whole = words(TreeLimits::NONE);
        prop_assert_eq!(!cut.truncated_by.is_empty(), cut.content() != whole.content());
        prop_assert_eq!(&words(without(limits, |name| !named(name))), &cut, "unlisted limits have no effect");
        if !cut.truncated_by.is_empty() {
            for more in [words(raised(limits, named)), words(without(limits, named))] {
                prop_assert_ne!(more.content(), cut.content(), "listed limits have an effect");
                if limits.max_fanout.is_none() {
                    let size = |words: &TreeWords| words.nodes.len() + words.edges.len();
                    prop_assert!(size(&more) > size(&cut));
                }
            }
        }
    }

    #[test]
    fn raising_max_nodes_only_appends(
        plan in graph_plans(), options_plan in option_plans(), slots in slots(), max_fanout in prop::option::of(0..5_usize),
        wanted in prop::collection::vec(0..N_NAMES, 1..3),
    ) {
        let roots = roots(&plan, &wanted);
        let all = words(&plan.graph(&slots), &options_plan, &slots, &roots, TreeLimits { max_fanout, ..TreeLimits::NONE });
        for max_nodes in 1..N_NAMES {
            let limits = TreeLimits { max_nodes: Some(max_nodes), max_fanout, ..TreeLimits::NONE };
            let some = words(&plan.graph(&slots), &options_plan, &slots, &roots, limits);
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
    fn hops_are_distances(plan in graph_plans(), options_plan in option_plans(), slots in slots(), max_hops in 0..5_u32) {
        let words = words(&plan.graph(&slots), &options_plan, &slots, &[0], TreeLimits { max_hops: Some(max_hops), ..TreeLimits::NONE });
        let oracle = Oracle::new(&plan, &options_plan, &[0]);
        let mut expected = BTreeSet::new();
        for (at, name) in NAMES.iter().enumerate() {
            let nearest = oracle.paths(0, at).iter().filter_map(|steps| u32::try_from(steps.len()).ok()).min();
            expected.extend(nearest.filter(|hops| *hops <= max_hops).map(|hops| ((*name).to_owned(), hops)));
        }
        let reached: BTreeSet<(String, u32)> = words.nodes.iter().cloned().collect();
        prop_assert_eq!(reached, expected);
    }

    #[test]
    fn tree_is_independent_of_slots(plan in graph_plans(), options_plan in option_plans(), one in slots(), other in slots(), limits in limits()) {
        let roots = roots(&plan, &[0, 3]);
        let expected = words(&plan.graph(&one), &options_plan, &one, &roots, limits);
        let graph = round_tripped(&plan.graph(&other));
        prop_assert_eq!(&words(&graph, &options_plan, &other, &roots, limits), &expected);
        let graph = plan.built_by_edits(&other);
        prop_assert_eq!(&words(&graph, &options_plan, &other, &roots, limits), &expected);
    }
}
