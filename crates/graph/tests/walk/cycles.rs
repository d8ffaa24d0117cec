//! Cycles: the rules, and all cycles of small random graphs.

use std::collections::BTreeSet;

use proptest::prelude::*;
use weft_graph::walk::{CycleLimits, Direction, EdgeFilter, WalkOptions, cycles};

use super::oracle::Oracle;
use super::random_graphs::{N_NAMES, NAMES, graph_plans, option_plans, slots};
use super::text_graph::{Vault, edges, name, names, vault};

const ALL: CycleLimits = CycleLimits { max_length: 9, max_cycles: 1000, max_steps: u64::MAX };

/// Returns the notes of each cycle, separated by `; `, and true if the search was truncated.
fn found(vault: &Vault, follow: &WalkOptions, limits: CycleLimits) -> (String, bool) {
    let answer = cycles(&vault.graph, follow, &limits).expect("a sound request");
    let summary: Vec<String> =
        answer.cycles.iter().map(|cycle| names(&vault.graph, &cycle.nodes)).collect();
    (summary.join("; "), answer.truncated)
}

#[test]
fn each_cycle_is_reported_once_from_its_lowest_note() {
    for (name, text, expected) in [
        ("none", "a ~ b; b ~ c", ""),
        ("along links only", "a ~ b; a ~ c; b ~ c", ""),
        ("a loop", "a ~ a", "a"),
        ("the start is the least uri", "c ~ a; b ~ c; a ~ b", "a b c"),
        ("there and back", "b ~ a; a ~ b; a supports b", "a b"),
        ("two through one note", "a ~ b; b ~ a; b ~ c; c ~ b", "a b; b c"),
        ("in neighbor order", "a ~ c; a extends b; b ~ a; c ~ a", "a b; a c"),
        (
            "both ways round",
            "a ~ b; b ~ c; c ~ a; c ~ b; b ~ a; a ~ c",
            "a b; a b c; a c; a c b; b c",
        ),
        ("not through placeholders", "a ~ ?g; b ~ a", ""),
    ] {
        let expected = (expected.to_owned(), false);
        assert_eq!(found(&vault(text), &WalkOptions::default(), ALL), expected, "{name}");
    }
}

#[test]
fn a_cycle_shows_its_least_edges() {
    let vault = vault("a supports b; a ~ b; b ~ a");
    let answer = cycles(&vault.graph, &WalkOptions::default(), &ALL).expect("a sound request");
    assert_eq!(edges(&vault.graph, &answer.cycles[0].edges), "a ~ b; b ~ a");
}

#[test]
fn limits_truncate_and_are_reported() {
    let vault = vault("a ~ b; b ~ a; b ~ c; c ~ a; d ~ d");
    let with = |limits| found(&vault, &WalkOptions::default(), limits);
    for (name, limits, expected, truncated) in [
        ("all", ALL, "a b; a b c; d", false),
        ("reached exactly", CycleLimits { max_cycles: 3, ..ALL }, "a b; a b c; d", false),
        ("too many", CycleLimits { max_cycles: 2, ..ALL }, "a b; a b c", true),
        ("zero cycles", CycleLimits { max_cycles: 0, ..ALL }, "", true),
        ("length is part of the request", CycleLimits { max_length: 2, ..ALL }, "a b; d", false),
        ("loops alone", CycleLimits { max_length: 1, ..ALL }, "d", false),
        ("no length", CycleLimits { max_length: 0, ..ALL }, "", false),
        ("no steps", CycleLimits { max_steps: 0, ..ALL }, "", true),
    ] {
        assert_eq!(with(limits), (expected.to_owned(), truncated), "{name}");
    }
    let few = CycleLimits { max_steps: 7, ..ALL };
    let (summary, truncated) = with(few);
    assert!(
        truncated && "a b; a b c; d".starts_with(&summary),
        "steps cut from the end: {summary}"
    );
}

#[test]
fn filters_apply() {
    let vault = vault("a ~ b; b supports a; b ~ c; c ~ b");
    let inline = EdgeFilter { inline_only: true, ..EdgeFilter::default() };
    assert_eq!(
        found(&vault, &WalkOptions { edges: inline, ..WalkOptions::default() }, ALL).0,
        "b c"
    );
    let notes = vault.ids(["a", "b"]).into_iter().collect();
    assert_eq!(found(&vault, &WalkOptions { notes, ..WalkOptions::default() }, ALL).0, "a b");
    let against = WalkOptions { direction: Direction::In, ..WalkOptions::default() };
    assert_eq!(found(&vault, &against, ALL).0, "a b; b c", "a cycle has no direction to choose");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn cycles_match_the_oracle(plan in graph_plans(), options_plan in option_plans(), slots in slots(), max_length in 0..7_u32) {
        let graph = plan.graph(&slots);
        let limits = CycleLimits { max_length, ..ALL };
        let answer = cycles(&graph, &options_plan.follow(&slots), &limits).expect("a sound request");
        let summary: Vec<Vec<String>> = answer
            .cycles
            .iter()
            .map(|cycle| cycle.nodes.iter().map(|id| name(&graph, *id)).collect())
            .collect();

        let mut out = options_plan.clone();
        out.direction = Direction::Out;
        let oracle = Oracle::new(&plan, &out, &[]);
        let inside = |at: &usize| {
            !plan.placeholder[*at] && options_plan.notes.as_ref().is_none_or(|notes| notes.contains(at))
        };
        let mut expected = BTreeSet::new();
        for start in (0..N_NAMES).filter(inside) {
            for last in (0..N_NAMES).filter(inside) {
                if oracle.steps(last).iter().any(|((.., other), _)| *other == start) {
                    for steps in oracle.paths(start, last) {
                        let nodes: Vec<String> = [start]
                            .into_iter()
                            .chain(steps.iter().map(|((.., other), _)| *other))
                            .map(|at| NAMES[at].to_owned())
                            .collect();
                        if nodes.len() <= max_length as usize && nodes.iter().min() == nodes.first() {
                            expected.insert(nodes);
                        }
                    }
                }
            }
        }
        prop_assert_eq!(summary.len(), expected.len());
        prop_assert_eq!(summary.into_iter().collect::<BTreeSet<_>>(), expected);
        prop_assert!(!answer.truncated);
    }
}
