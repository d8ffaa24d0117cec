//! Neighbours, subgraphs, orphans, unresolved links.

use weft_graph::walk::{
    Direction, EdgeFilter, Follow, WalkError, neighbours, orphans, subgraph, unresolved,
};
use weft_model::NoteSet;

use super::vault::{edges, name, names, vault};

#[test]
fn neighbours_come_with_their_edges_and_degrees() {
    let vault = vault("a ~ c; a supports b; b ~ a; a ~ a; a ~ ?g; c ~ d; c ~ e; c ~ ?g");
    let ask = |follow: Follow, max_nodes| {
        let answer = neighbours(&vault.graph, vault.id("a"), &follow, max_nodes);
        let answer = answer.expect("a sound request");
        let told: Vec<String> = answer
            .neighbours
            .iter()
            .map(|found| {
                let (name, both) = (name(&vault.graph, found.note), found.degrees.both);
                format!("{name} {both} [{}]", edges(&vault.graph, &found.edges))
            })
            .collect();
        assert_eq!(answer.degrees.both, 3, "its own degrees are whole whatever was asked for");
        (told.join(", "), answer.truncated)
    };
    let all = "b 1 [b ~ a; a supports b], c 4 [a ~ c]";
    assert_eq!(ask(Follow::default(), None), (all.into(), false));
    assert_eq!(ask(Follow::default(), Some(2)), (all.into(), false), "met exactly");
    let one = "b 1 [b ~ a; a supports b]";
    assert_eq!(
        ask(Follow::default(), Some(1)),
        (one.into(), true),
        "all edges of the admitted one"
    );
    assert_eq!(ask(Follow::default(), Some(0)), (String::new(), true));
    let out = Follow { direction: Direction::Out, ..Follow::default() };
    assert_eq!(ask(out, None).0, "c 4 [a ~ c], b 1 [a supports b]");
    let typed = EdgeFilter { typed_only: true, ..EdgeFilter::default() };
    assert_eq!(ask(Follow { edges: typed, ..Follow::default() }, None).0, "b 1 [a supports b]");
    let notes = [vault.id("c")].into_iter().collect();
    assert_eq!(ask(Follow { notes, ..Follow::default() }, None).0, "c 4 [a ~ c]");
    let ghost = vault.id("g");
    assert_eq!(
        neighbours(&vault.graph, ghost, &Follow::default(), None),
        Err(WalkError::UnknownNote { note: ghost })
    );
}

#[test]
fn a_subgraph_has_every_edge_among_its_notes() {
    let vault = vault("a ~ b; b supports a; b ~ c; c ~ a; a ~ a; c ~ d; a ~ ?g");
    let ask = |follow: Follow, max_edges| {
        let notes = vault.ids(["c", "a", "b", "a"]);
        let answer = subgraph(&vault.graph, &notes, &follow, max_edges).expect("known notes");
        (names(&vault.graph, &answer.nodes), edges(&vault.graph, &answer.edges), answer.truncated)
    };
    let all = "c ~ a; a ~ a; a ~ b; b ~ c; b supports a";
    assert_eq!(ask(Follow::default(), None), ("c a b".into(), all.into(), false));
    assert!(!ask(Follow::default(), Some(5)).2, "met exactly");
    assert_eq!(ask(Follow::default(), Some(1)), ("c a b".into(), "c ~ a".into(), true));
    let against = Follow { direction: Direction::In, ..Follow::default() };
    assert_eq!(ask(against, None).1, all, "an edge among them has no direction to miss");
    let typed = EdgeFilter { typed_only: true, ..EdgeFilter::default() };
    assert_eq!(ask(Follow { edges: typed, ..Follow::default() }, None).1, "b supports a");
    let ghost = vault.id("g");
    assert_eq!(
        subgraph(&vault.graph, &[ghost], &Follow::default(), None),
        Err(WalkError::UnknownNote { note: ghost })
    );
}

#[test]
fn orphans_are_connected_with_nothing() {
    let vault = vault("z; a; b ~ c; d ~ d; e ~ ?g; c ~ f");
    let ask =
        |direction, notes: &NoteSet| names(&vault.graph, &orphans(&vault.graph, direction, notes));
    assert_eq!(ask(Direction::Both, &NoteSet::All), "a d e z");
    assert_eq!(ask(Direction::In, &NoteSet::All), "a b d e z");
    assert_eq!(ask(Direction::Out, &NoteSet::All), "a d e f z");
    assert_eq!(ask(Direction::Both, &vault.ids(["z", "b", "d"]).into_iter().collect()), "d z");
}

#[test]
fn unresolved_targets_tell_who_asks() {
    let vault = vault("b ~ ?moss; a supports ?moss; b supports ?moss; c ~ ?fern; c ~ a");
    let ask = |notes: &NoteSet| {
        let told: Vec<String> = unresolved(&vault.graph, notes)
            .iter()
            .map(|found| {
                format!(
                    "{}: {}",
                    name(&vault.graph, found.target),
                    names(&vault.graph, &found.from)
                )
            })
            .collect();
        told.join(", ")
    };
    assert_eq!(ask(&NoteSet::All), "fern: c, moss: a b");
    assert_eq!(ask(&vault.ids(["a"]).into_iter().collect()), "moss: a");
}
