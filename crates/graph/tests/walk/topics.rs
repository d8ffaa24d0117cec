//! Topic siblings.

use proptest::prelude::*;
use weft_graph::topics::{SiblingRequest, siblings};
use weft_graph::walk::Direction;
use weft_model::{NoteId, NoteSet};

use super::oracle::round_tripped;
use super::random_graphs::{graph_plans, slots};
use super::text_graph::{Vault, name, names, vault};

/// Returns an ontology of the given notes.
fn ontology<const N: usize>(vault: &Vault, topics: [&str; N]) -> NoteSet {
    vault.ids(topics).into_iter().collect()
}

/// Returns `note kind score via` for each sibling, scores to three decimal places.
fn summary(vault: &Vault, request: &SiblingRequest<'_>) -> String {
    let answer = siblings(&vault.graph, request);
    let summary: Vec<String> = answer
        .siblings
        .iter()
        .map(|found| {
            let via = found
                .via
                .map_or_else(String::new, |via| format!(" via {}", name(&vault.graph, via)));
            format!(
                "{} {} {:.3}{via}",
                name(&vault.graph, found.note),
                found.kind.name(),
                found.score
            )
        })
        .collect();
    summary.join(", ")
}

#[test]
fn hub_is_a_topic_if_its_in_degree_exceeds_the_threshold() {
    let five = "s ~ t; a ~ t; b ~ t; c ~ t; d ~ t; t ~ t; d supports t";
    let none = NoteSet::from_iter([]);
    let with = |text: &str| {
        let vault = vault(text);
        summary(&vault, &SiblingRequest::of(vault.id("s"), &none))
    };
    assert_eq!(with(five), "t direct 0.667", "parallel edges and loops are no degree");
    let six = format!("{five}; e ~ t");
    let penalty = 0.25 / 7.0_f64.ln();
    let siblings: Vec<String> = ["a", "b", "c", "d", "e"]
        .iter()
        .map(|name| format!("{name} sibling {penalty:.3} via t"))
        .collect();
    assert_eq!(with(&six), format!("t direct 0.667, {}", siblings.join(", ")));
}

#[test]
fn ontology_notes_are_topics_of_any_degree() {
    // One note links to t: ln(2) is below 1 and has no effect. Two notes link to u.
    let vault = vault("t ~ s; a ~ t; s topics u; b ~ u");
    let topics = ontology(&vault, ["t", "u"]);
    let request = SiblingRequest::of(vault.id("s"), &topics);
    assert_eq!(
        summary(&vault, &request),
        "u direct 1.000, t direct 0.667, a sibling 0.250 via t, b sibling 0.228 via u"
    );
    let out = SiblingRequest { direction: Direction::Out, ..request.clone() };
    assert_eq!(summary(&vault, &out), "u direct 1.000, b sibling 0.228 via u");
    let doubled = SiblingRequest { sibling_score: 0.5, ..request };
    assert!(summary(&vault, &doubled).contains("a sibling 0.500 via t"));
}

#[test]
fn best_score_wins_and_ties_take_the_lower_topic() {
    let vault = vault(
        "s ~ t; s ~ u; s ~ w; a ~ t; a ~ u; b ~ w; b ~ u; c ~ w; d ~ w; s ~ d; d topics s; s ~ s",
    );
    let topics = ontology(&vault, ["t", "u", "w"]);
    assert_eq!(
        summary(&vault, &SiblingRequest::of(vault.id("s"), &topics)),
        "d direct 1.000, t direct 0.667, u direct 0.667, w direct 0.667, \
         a sibling 0.228 via t, b sibling 0.180 via u, c sibling 0.155 via w",
        "a direct neighbor is not a sibling, and its strongest edge in either direction counts",
    );
}

#[test]
fn equal_scores_take_the_lower_topic() {
    let vault = vault("s topics u; s ~ t; a ~ u; a ~ t");
    let topics = ontology(&vault, ["t", "u"]);
    let request = SiblingRequest::of(vault.id("s"), &topics);
    assert!(
        summary(&vault, &request).ends_with("a sibling 0.228 via t"),
        "although u is found first"
    );
}

#[test]
fn placeholder_topic_connects_siblings_but_is_not_a_result() {
    let vault = vault("s topics ?t; a topics ?t; s ~ ?u");
    let topics = ontology(&vault, ["t"]);
    let request = SiblingRequest::of(vault.id("s"), &topics);
    assert_eq!(summary(&vault, &request), "a sibling 0.228 via t");
}

#[test]
fn filter_restricts_results_but_not_topics() {
    let vault = vault("s topics t; a ~ t; b ~ t; s ~ c");
    let topics = ontology(&vault, ["t"]);
    let notes = ontology(&vault, ["b", "c"]);
    let request = SiblingRequest { notes: &notes, ..SiblingRequest::of(vault.id("s"), &topics) };
    assert_eq!(summary(&vault, &request), "c direct 0.667, b sibling 0.180 via t");
}

#[test]
fn fan_out_limit_is_reported_exactly() {
    let vault = vault("s topics t; s ~ u; a ~ t; b ~ t; b supports t; c ~ u");
    let topics = ontology(&vault, ["t", "u"]);
    let with = |max_fanout| {
        let request = SiblingRequest { max_fanout, ..SiblingRequest::of(vault.id("s"), &topics) };
        (
            summary(&vault, &request),
            names(&vault.graph, &siblings(&vault.graph, &request).fanout_limited),
        )
    };
    assert_eq!(with(2).1, "", "reached exactly: the seed and parallel edges do not count");
    let (one, fanout_limited) = with(1);
    assert_eq!(one, "t direct 1.000, a sibling 0.180 via t");
    assert_eq!(fanout_limited, "s t", "the strongest neighbor and topic stay");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn siblings_are_ranked_independent_of_slots(
        plan in graph_plans(), one in slots(), other in slots(), max_fanout in 0..4_usize, hub_min_degree in 0..4_u32,
    ) {
        let words = |graph: &weft_graph::NoteGraph, slots: &[u32]| {
            let topics: NoteSet = [NoteId::new(slots[1])].into_iter().collect();
            let request = SiblingRequest { max_fanout, hub_min_degree, ..SiblingRequest::of(NoteId::new(slots[0]), &topics) };
            let answer = siblings(graph, &request);
            let words: Vec<_> = answer.siblings.iter().map(|found| {
                (found.score.to_bits(), name(graph, found.note), found.kind, found.via.map(|via| name(graph, via)))
            }).collect();
            (words, names(graph, &answer.fanout_limited))
        };
        let (here, fanout_limited) = words(&plan.graph(&one), &one);
        prop_assert_eq!((here.clone(), fanout_limited), words(&round_tripped(&plan.graph(&other)), &other));
        for pair in here.windows(2) {
            // The bits of positive numbers sort like the numbers.
            prop_assert!((u64::MAX - pair[0].0, &pair[0].1) < (u64::MAX - pair[1].0, &pair[1].1));
        }
        for (score, note, ..) in &here {
            prop_assert!((0.0..=1.0).contains(&f64::from_bits(*score)));
            prop_assert!(note != "e", "the seed is not a result");
        }
    }
}
