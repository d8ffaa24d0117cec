//! Centrality by every measure.

use proptest::prelude::*;
use weft_graph::centrality::{Centrality, Measure};
use weft_graph::{NodeSpec, NoteGraph};
use weft_model::NoteId;

use super::oracle::round_tripped;
use super::random_graphs::{NAMES, graph_plans, slots};
use super::text_graph::vault;

fn close(left: f64, right: f64) -> bool {
    (left - right).abs() < 1e-5
}

#[test]
fn degrees_count_distinct_neighbors_on_both_sides() {
    // Four notes and a placeholder. Two links connect a and b, and b also links to itself.
    let vault = vault("a ~ b; b supports a; b ~ b; b ~ c; d ~ ?g");
    let ln = f64::ln;
    for (measure, name, expected) in [
        (Measure::Plain, "a", 1.0 / 4.0),
        (Measure::Plain, "b", 2.0 / 4.0),
        (Measure::Plain, "d", 1.0 / 4.0),
        (Measure::Plain, "g", 1.0 / 4.0),
        (Measure::MaxDegree, "a", 0.5),
        (Measure::MaxDegree, "b", 1.0),
        (Measure::Log, "a", ln(2.0) / ln(3.0)),
        (Measure::Log, "b", 1.0),
    ] {
        let centrality = Centrality::new(&vault.graph, measure).of(&vault.graph, vault.id(name));
        assert!(close(centrality, expected), "{measure:?} of {name}: {centrality}");
    }
}

#[test]
fn page_rank_solves_its_equation() {
    // r = (1 - d)/n + d · pulled, each rank divided by the highest; computed by hand for this graph.
    let vault = vault("b ~ a; c ~ a; a ~ a; d ~ c; e ~ c; e ~ d");
    let (b, e) = (1.0, 1.0);
    let d = 1.0 + 0.85 * e / 2.0;
    let c = 1.0 + 0.85 * (d + e / 2.0);
    let a = 1.0 + 0.85 * (b + c);
    let centrality = Centrality::new(&vault.graph, Measure::PageRank);
    for (name, expected) in [("a", 1.0), ("b", b / a), ("c", c / a), ("d", d / a), ("e", e / a)] {
        let rank = centrality.of(&vault.graph, vault.id(name));
        assert!(close(rank, expected), "{name}: {rank} for {expected}");
    }
}

#[test]
fn graphs_of_at_most_one_node_have_centrality_zero() {
    for measure in Measure::ALL {
        let lonely = vault("a ~ a");
        let centrality = Centrality::new(&lonely.graph, measure).of(&lonely.graph, lonely.id("a"));
        let expected = if measure == Measure::PageRank { 1.0 } else { 0.0 };
        assert!(close(centrality, expected), "{measure:?}");
        let empty = NoteGraph::default();
        assert!(close(Centrality::new(&empty, measure).of(&empty, NoteId::new(0)), 0.0));
        assert_eq!(Measure::from_name(measure.name()), Some(measure));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn centrality_is_a_share_independent_of_slots(plan in graph_plans(), one in slots(), other in slots()) {
        let (here, there) = (plan.graph(&one), round_tripped(&plan.graph(&other)));
        let built_by_edits = plan.built_by_edits(&one);
        let shrunk = built_by_edits.edited([(NoteId::new(one[0]), Some(NodeSpec::note(NAMES[0])))]);
        for measure in Measure::ALL {
            for graph in [&built_by_edits, &shrunk] {
                let centrality = Centrality::new(graph, measure);
                for id in graph.ids() {
                    prop_assert!(centrality.of(graph, id) <= centrality.upper_bound(graph), "{measure:?}");
                }
            }
            let (left, right) = (Centrality::new(&here, measure), Centrality::new(&there, measure));
            for at in 0..NAMES.len() {
                let value = left.of(&here, NoteId::new(one[at]));
                prop_assert!((0.0..=1.0).contains(&value), "{:?} is {}", measure, value);
                prop_assert!(value <= left.upper_bound(&here).min(right.upper_bound(&there)), "{measure:?}");
                let again = right.of(&there, NoteId::new(other[at]));
                prop_assert_eq!(value.to_bits(), again.to_bits(), "{:?}", measure);
            }
        }
    }
}
