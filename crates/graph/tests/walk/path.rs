//! Paths: the rules, and comparison with every path of random graphs.

use proptest::prelude::*;
use weft_graph::walk::{
    Direction, EdgeCosts, EdgeFilter, EdgeLabel, LinkPath, PathRequest, WalkError, WalkOptions,
    cheapest_path, shortest_path,
};
use weft_model::{LinkSource, NoteId};

use super::oracle::{Key, Oracle, Stored, edge_text, round_tripped};
use super::random_graphs::{N_NAMES, NAMES, graph_plans, option_plans, slots};
use super::text_graph::{Vault, edge, name, path_words, vault};

fn between(vault: &Vault, from: &str, to: &str) -> PathRequest {
    PathRequest::between(vault.id(from), vault.id(to))
}

#[test]
fn least_shortest_path_is_found() {
    let cases = [
        ("same note", "a ~ a; z", "a", ""),
        ("one hop, least edge", "a ~ z; z ~ a; a related z", "a z", "a related z"),
        ("first step decides", "a ~ c; c ~ z; a ~ b; b supports z", "a b z", "a ~ b; b supports z"),
        (
            "type before uri",
            "a supports b; b ~ z; a extends y; y ~ z",
            "a y z",
            "a extends y; y ~ z",
        ),
        (
            "shorter before lower steps",
            "a ~ b; b ~ c; c ~ z; a ~ y; y ~ z",
            "a y z",
            "a ~ y; y ~ z",
        ),
        ("against arrows", "b ~ a; z ~ b", "a b z", "b ~ a; z ~ b"),
        ("no way", "a ~ b; z", "", ""),
        ("not through placeholders", "a ~ ?g; z ~ ?g", "", ""),
    ];
    for (name, text, nodes, edges) in cases {
        let vault = vault(text);
        let request = between(&vault, "a", if name == "same note" { "a" } else { "z" });
        let found = shortest_path(&vault.graph, &request).expect("a sound request");
        assert_eq!(path_words(&vault.graph, &found), (nodes.into(), edges.into()), "{name}");
        assert_eq!((found.found(), found.truncated), (!nodes.is_empty(), false), "{name}");
    }
}

#[test]
fn filters_and_direction_apply_except_to_named_notes() {
    let vault = vault("a ~ b; b ~ z; a supports c; d supports c; d supports z");
    let words = |follow| {
        let request = PathRequest { follow, ..between(&vault, "a", "z") };
        path_words(&vault.graph, &shortest_path(&vault.graph, &request).expect("a sound request")).0
    };
    let typed = EdgeFilter { typed_only: true, ..EdgeFilter::default() };
    assert_eq!(words(WalkOptions { edges: typed.clone(), ..WalkOptions::default() }), "a c d z");
    let out = WalkOptions { direction: Direction::Out, ..WalkOptions::default() };
    assert_eq!(words(WalkOptions { edges: typed, ..out.clone() }), "");
    assert_eq!(words(WalkOptions { direction: Direction::In, ..WalkOptions::default() }), "");
    assert_eq!(
        words(WalkOptions {
            notes: vault.ids(["c", "d"]).into_iter().collect(),
            ..WalkOptions::default()
        }),
        "a c d z"
    );
    assert_eq!(
        words(WalkOptions {
            notes: vault.ids(["c"]).into_iter().collect(),
            ..WalkOptions::default()
        }),
        ""
    );
}

#[test]
fn max_hops_truncates_and_is_reported() {
    let vault = vault("a ~ b; b ~ c; c ~ d; x");
    let ask = |to, max_hops| {
        let request = PathRequest { max_hops, ..between(&vault, "a", to) };
        let found = shortest_path(&vault.graph, &request).expect("a sound request");
        (found.length(), found.found(), found.truncated)
    };
    for (name, to, max_hops, expected) in [
        ("exactly long enough", "d", Some(3), (3, true, false)),
        ("one short", "d", Some(2), (0, false, true)),
        ("no limit", "d", None, (3, true, false)),
        ("zero hops to itself", "a", Some(0), (0, true, false)),
        ("zero hops elsewhere", "b", Some(0), (0, false, true)),
        ("no path at any length", "x", Some(1), (0, false, false)),
    ] {
        assert_eq!(ask(to, max_hops), expected, "{name}");
    }
}

#[test]
fn default_limit_is_ten_hops() {
    let chain: Vec<String> = (0..11).map(|at| format!("n{at:02} ~ n{:02}", at + 1)).collect();
    let vault = vault(&chain.join("; "));
    let found =
        |to| shortest_path(&vault.graph, &between(&vault, "n00", to)).expect("a sound request");
    assert_eq!(found("n10").length(), 10);
    assert!(!found("n11").found() && found("n11").truncated);
}

#[test]
fn both_ends_must_be_notes() {
    let vault = vault("a ~ ?ghost");
    let [a, ghost] = vault.ids(["a", "ghost"]);
    for (from, to, note) in
        [(a, ghost, ghost), (ghost, a, ghost), (a, NoteId::new(9), NoteId::new(9))]
    {
        let request = PathRequest::between(from, to);
        let error = WalkError::UnknownNote { note };
        assert_eq!(shortest_path(&vault.graph, &request), Err(error.clone()));
        assert_eq!(cheapest_path(&vault.graph, &request, |_, _| 1), Err(error));
    }
}

#[test]
fn cheapest_path_may_have_more_hops() {
    let vault = vault("a ~ b; b ~ z; a supports c; c supports d; d supports z; a ~ e; e ~ z");
    let costs = EdgeCosts::default();
    let words = |request: &PathRequest, cost: &dyn Fn(EdgeLabel, NoteId) -> u32| {
        let found = cheapest_path(&vault.graph, request, |edge, note| cost(edge.label, note));
        let found = found.expect("a sound request");
        (path_words(&vault.graph, &found).0, found.truncated)
    };
    let request = between(&vault, "a", "z");
    let by_source = |label, _| costs.of(label);
    assert_eq!(words(&request, &by_source), ("a b z".into(), false), "equal cost: fewer hops");
    let cheap = |label, _| EdgeCosts { typed: 1, ..costs }.of(label);
    assert_eq!(words(&request, &cheap), ("a c d z".into(), false));
    let short = PathRequest { max_hops: Some(2), ..request.clone() };
    assert_eq!(words(&short, &cheap), ("a b z".into(), true), "a cheaper one is too long");
    assert_eq!(
        words(&PathRequest { max_hops: Some(1), ..request.clone() }, &cheap),
        (String::new(), true)
    );
    let b = vault.id("b");
    let by_note = |_, note| if note == b { 5 } else { 1 };
    assert_eq!(words(&request, &by_note), ("a e z".into(), false), "a note has its price");
}

/// Cost of an edge in the tests, from names alone: typed edges cost 0 to 2 by the length of the type, inline edges 2, plus the position of the entered note in `NAMES` modulo 3.
fn price(kind: &str, source: u8, to: usize) -> u32 {
    let by_source = if source == LinkSource::Typed as u8 { kind.len() % 3 } else { 2 };
    u32::try_from(by_source + to % 3).expect("a small number")
}

type Steps = Vec<(Key, Stored)>;

fn keys(steps: &Steps) -> Vec<Key> {
    steps.iter().map(|(key, _)| key.clone()).collect()
}

fn total(steps: &Steps) -> u32 {
    steps.iter().map(|((.., other), (_, _, kind, source))| price(kind, *source, *other)).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn path_is_the_least_of_all_shortest_paths(
        plan in graph_plans(), options_plan in option_plans(), slots in slots(), to in 0..N_NAMES,
        max_hops in prop::option::of(0..5_u32),
    ) {
        prop_assume!(!plan.placeholder[to]);
        let graph = plan.graph(&slots);
        let paths = Oracle::new(&plan, &options_plan, &[0, to]).paths(0, to);
        let best = paths.iter().min_by_key(|steps| (steps.len(), keys(steps)));
        let fits = |steps: &&Steps| max_hops.is_none_or(|limit| steps.len() <= limit as usize);
        let request = PathRequest {
            follow: options_plan.follow(&slots),
            max_hops,
            ..PathRequest::between(NoteId::new(slots[0]), NoteId::new(slots[to]))
        };
        let found = shortest_path(&graph, &request).expect("a sound request");
        check(&graph, &found, best.filter(fits))?;
        prop_assert_eq!(found.truncated, best.is_some_and(|best| !fits(&best)));
        let round_tripped = round_tripped(&graph);
        prop_assert_eq!(shortest_path(&round_tripped, &request), Ok(found));
    }

    #[test]
    fn cheapest_path_is_the_least_of_all_cheapest_paths(
        plan in graph_plans(), options_plan in option_plans(), slots in slots(), to in 0..N_NAMES,
        max_hops in prop::option::of(0..5_u32),
    ) {
        prop_assume!(!plan.placeholder[to]);
        let graph = plan.graph(&slots);
        let paths = Oracle::new(&plan, &options_plan, &[0, to]).paths(0, to);
        let rank = |steps: &&Steps| (total(steps), steps.len(), keys(steps));
        let fits = |steps: &&Steps| max_hops.is_none_or(|limit| steps.len() <= limit as usize);
        let request = PathRequest {
            follow: options_plan.follow(&slots),
            max_hops,
            ..PathRequest::between(NoteId::new(slots[0]), NoteId::new(slots[to]))
        };
        let found = cheapest_path(&graph, &request, |edge, entered| {
            let source = match edge.label.source() { "typed" => 0, "inline" => 1, _ => 2 };
            let at = slots.iter().position(|slot| *slot == entered.get()).expect("a slot");
            price(edge.label.kind(&graph), source, at)
        }).expect("a sound request");
        check(&graph, &found, paths.iter().filter(fits).min_by_key(rank))?;
        prop_assert_eq!(found.truncated, paths.iter().min_by_key(rank).is_some_and(|best| !fits(&best)));
    }
}

fn check(
    graph: &weft_graph::NoteGraph,
    found: &LinkPath,
    expected: Option<&Steps>,
) -> Result<(), TestCaseError> {
    prop_assert_eq!(found.found(), expected.is_some());
    if let Some(steps) = expected {
        let nodes: Vec<&str> = [NAMES[0]]
            .into_iter()
            .chain(steps.iter().map(|((.., other), _)| NAMES[*other]))
            .collect();
        prop_assert_eq!(found.nodes.iter().map(|id| name(graph, *id)).collect::<Vec<_>>(), nodes);
        let edges: Vec<String> = steps.iter().map(|(_, stored)| edge_text(stored)).collect();
        prop_assert_eq!(found.edges.iter().map(|one| edge(graph, *one)).collect::<Vec<_>>(), edges);
    }
    Ok(())
}
