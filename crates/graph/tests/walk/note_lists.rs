//! Neighbors, subgraphs, orphans, unresolved links.

use weft_graph::walk::{
    Direction, EdgeFilter, WalkError, WalkOptions, neighbors, orphans, subgraph, unresolved,
};
use weft_model::NoteSet;

use super::text_graph::{edges, name, names, vault};

#[test]
fn neighbors_have_edges_and_degrees() {
    let vault = vault("a ~ c; a supports b; b ~ a; a ~ a; a ~ ?g; c ~ d; c ~ e; c ~ ?g");
    let ask = |follow: WalkOptions, max_nodes| {
        let answer = neighbors(&vault.graph, vault.id("a"), &follow, max_nodes);
        let answer = answer.expect("a sound request");
        let summary: Vec<String> = answer
            .neighbors
            .iter()
            .map(|found| {
                let (name, both) = (name(&vault.graph, found.note), found.degrees.both);
                format!("{name} {both} [{}]", edges(&vault.graph, &found.edges))
            })
            .collect();
        assert_eq!(answer.degrees.both, 3, "the degrees of the note itself ignore the filters");
        (summary.join(", "), answer.truncated)
    };
    let all = "b 1 [b ~ a; a supports b], c 4 [a ~ c]";
    assert_eq!(ask(WalkOptions::default(), None), (all.into(), false));
    assert_eq!(ask(WalkOptions::default(), Some(2)), (all.into(), false), "reached exactly");
    let one = "b 1 [b ~ a; a supports b]";
    assert_eq!(
        ask(WalkOptions::default(), Some(1)),
        (one.into(), true),
        "all edges of the admitted one"
    );
    assert_eq!(ask(WalkOptions::default(), Some(0)), (String::new(), true));
    let out = WalkOptions { direction: Direction::Out, ..WalkOptions::default() };
    assert_eq!(ask(out, None).0, "c 4 [a ~ c], b 1 [a supports b]");
    let typed = EdgeFilter { typed_only: true, ..EdgeFilter::default() };
    assert_eq!(
        ask(WalkOptions { edges: typed, ..WalkOptions::default() }, None).0,
        "b 1 [a supports b]"
    );
    let notes = [vault.id("c")].into_iter().collect();
    assert_eq!(ask(WalkOptions { notes, ..WalkOptions::default() }, None).0, "c 4 [a ~ c]");
    let ghost = vault.id("g");
    assert_eq!(
        neighbors(&vault.graph, ghost, &WalkOptions::default(), None),
        Err(WalkError::UnknownNote { note: ghost })
    );
}

#[test]
fn subgraph_has_every_edge_among_its_notes() {
    let vault = vault("a ~ b; b supports a; b ~ c; c ~ a; a ~ a; c ~ d; a ~ ?g");
    let ask = |follow: WalkOptions, max_edges| {
        let notes = vault.ids(["c", "a", "b", "a"]);
        let answer = subgraph(&vault.graph, &notes, &follow, max_edges).expect("known notes");
        (names(&vault.graph, &answer.nodes), edges(&vault.graph, &answer.edges), answer.truncated)
    };
    let all = "c ~ a; a ~ a; a ~ b; b ~ c; b supports a";
    assert_eq!(ask(WalkOptions::default(), None), ("c a b".into(), all.into(), false));
    assert!(!ask(WalkOptions::default(), Some(5)).2, "reached exactly");
    assert_eq!(ask(WalkOptions::default(), Some(1)), ("c a b".into(), "c ~ a".into(), true));
    let against = WalkOptions { direction: Direction::In, ..WalkOptions::default() };
    assert_eq!(ask(against, None).1, all, "a subgraph ignores the direction");
    let typed = EdgeFilter { typed_only: true, ..EdgeFilter::default() };
    assert_eq!(ask(WalkOptions { edges: typed, ..WalkOptions::default() }, None).1, "b supports a");
    let ghost = vault.id("g");
    assert_eq!(
        subgraph(&vault.graph, &[ghost], &WalkOptions::default(), None),
        Err(WalkError::UnknownNote { note: ghost })
    );
}

#[test]
fn orphans_have_no_links_to_other_notes() {
    let vault = vault("z; a; b ~ c; d ~ d; e ~ ?g; c ~ f");
    let ask =
        |direction, notes: &NoteSet| names(&vault.graph, &orphans(&vault.graph, direction, notes));
    assert_eq!(ask(Direction::Both, &NoteSet::All), "a d e z");
    assert_eq!(ask(Direction::In, &NoteSet::All), "a b d e z");
    assert_eq!(ask(Direction::Out, &NoteSet::All), "a d e f z");
    assert_eq!(ask(Direction::Both, &vault.ids(["z", "b", "d"]).into_iter().collect()), "d z");
}

#[test]
fn unresolved_targets_list_linking_notes() {
    let vault = vault("b ~ ?moss; a supports ?moss; b supports ?moss; c ~ ?fern; c ~ a");
    let ask = |notes: &NoteSet| {
        let summary: Vec<String> = unresolved(&vault.graph, notes)
            .iter()
            .map(|found| {
                format!(
                    "{}: {}",
                    name(&vault.graph, found.target),
                    names(&vault.graph, &found.from)
                )
            })
            .collect();
        summary.join(", ")
    };
    assert_eq!(ask(&NoteSet::All), "fern: c, moss: a b");
    assert_eq!(ask(&vault.ids(["a"]).into_iter().collect()), "moss: a");
}
