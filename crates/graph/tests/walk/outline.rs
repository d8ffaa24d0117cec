//! Outlines of trees.

use proptest::prelude::*;
use weft_graph::walk::outline::{Guides, Line, branches, lines, write};
use weft_graph::walk::{Direction, InverseNames, Side, TreeLimits, TreeRequest, tree};
use weft_model::NoteId;

use super::random_graphs::{graph_plans, option_plans, slots};
use super::text_graph::{name, vault};

#[test]
fn outline_shows_tree_edges_and_references() {
    let vault = vault("a ~ b; a ~ c; b ~ d; c ~ b; d supports d; e supports c; f ~ f");
    let request = TreeRequest::from_roots(vault.ids(["a", "f"]));
    let tree = tree(&vault.graph, &request).expect("a sound request");
    let inverse = InverseNames::new([("Supports".into(), "supported-by".into())]);
    let label = |line: &Line| {
        let node = tree.nodes[line.node].note;
        let name = name(&vault.graph, node);
        let Some(branch) = line.branch else { return name };
        let edge = tree.edges[branch.edge];
        let side =
            if edge.from == tree.nodes[branch.at].note { Side::Outgoing } else { Side::Incoming };
        let kind = edge.label.kind(&vault.graph);
        match (side, inverse.of(kind, side)) {
            (Side::Outgoing, _) => format!("{kind} → {name}"),
            (Side::Incoming, Some(inverse)) => format!("{inverse} → {name}"),
            (Side::Incoming, None) => format!("{kind} ← {name}"),
        }
    };
    let mut text = String::new();
    write(&lines(tree.nodes.len(), &tree.branches()), label, &mut text).expect("a string");
    let expected = "\
a
├── related → b
│   ├── related ← c (seen)
│   └── related → d
│       └── supports → d (seen)
└── related → c
    └── supported-by → e
f
└── related → f (seen)
";
    assert_eq!(text, expected);
}

#[test]
fn further_text_of_a_note_is_aligned_with_its_guides() {
    let vault = vault("a ~ b; a ~ c; b ~ d");
    let request = TreeRequest::from_roots([vault.id("a")]);
    let tree = tree(&vault.graph, &request).expect("a sound request");
    let drawn = lines(tree.nodes.len(), &tree.branches());
    let mut guides = Guides::default();
    for (line, below) in drawn.iter().zip(["│   ", "│   │   ", "│           ", "        "])
    {
        guides.before(line);
        let deeper = ["a", "b"].contains(&&*name(&vault.graph, tree.nodes[line.node].note));
        assert_eq!(guides.below(deeper), below);
    }
    assert_eq!(drawn.len(), 4);
}

#[test]
fn inverse_names_are_off_by_default_and_fold_case() {
    let inverse = InverseNames::new([("Supports".into(), "supported-by".into())]);
    assert_eq!(inverse.of("SUPPORTS", Side::Incoming), Some("supported-by"));
    assert_eq!(inverse.of("supports", Side::Outgoing), None);
    assert_eq!(inverse.of("extends", Side::Incoming), None);
    assert_eq!(InverseNames::default().of("supports", Side::Incoming), None);
}

#[test]
fn long_chain_does_not_recurse() {
    let chain: Vec<(usize, usize)> = (0..2_000).map(|at| (at, at + 1)).collect();
    let lines = lines(2_001, &branches(Direction::Out, &chain, &chain));
    assert_eq!(lines.last().map(|line| (line.node, line.depth)), Some((2_000, 2_000)));
}

#[test]
fn outline_of_a_chain_grows_linearly() {
    let below = |depth| Line { node: depth, branch: None, depth, last: true };
    let mut guides = Guides::default();
    let drawn: Vec<String> = (0..2_000).map(|depth| guides.before(&below(depth))).collect();
    let deepest = Guides::LEVELS;
    assert_eq!(drawn[deepest], format!("{}└── ", "    ".repeat(deepest - 1)));
    assert_eq!(drawn[deepest + 1], format!("{deepest} ⋯ └── "));
    assert_eq!(drawn[deepest + 2], format!("{deepest} ⋯     └── "));
    assert_eq!(drawn[2 * deepest + 1], format!("{} ⋯ └── ", 2 * deepest));
    assert!(drawn.iter().all(|before| before.chars().count() <= 4 * deepest + 7));

    let second = Line { last: false, ..below(deepest + 2) };
    guides.before(&second);
    assert_eq!(guides.before(&below(deepest + 3)), format!("{deepest} ⋯     │   └── "));
    assert_eq!(guides.below(true), "         │       │   ", "as wide as the mark and the levels");
    assert_eq!(guides.before(&below(0)), "");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn outline_from_a_response_equals_the_outline_of_the_tree(plan in graph_plans(), options_plan in option_plans(), slots in slots(), max_nodes in 1..8_usize) {
        let graph = plan.graph(&slots);
        let request = TreeRequest {
            follow: options_plan.follow(&slots),
            limits: TreeLimits { max_nodes: Some(max_nodes), ..TreeLimits::NONE },
            ..TreeRequest::from_roots([NoteId::new(slots[0])])
        };
        let tree = tree(&graph, &request).expect("a sound request");
        let at = |id| tree.nodes.iter().position(|visit| visit.note == id).expect("a note of the tree");
        let edges: Vec<_> = tree.edges.iter().map(|edge| (at(edge.from), at(edge.to))).collect();
        let built_by_edits: Vec<_> = tree.spanning_tree.iter().map(|edge| (at(edge.from), at(edge.to))).collect();
        let exact = tree.branches();
        prop_assert_eq!(branches(options_plan.direction, &edges, &built_by_edits), exact.clone());
        let drawn = lines(tree.nodes.len(), &exact);
        prop_assert_eq!(drawn.len(), 1 + tree.edges.len(), "the root, and each edge once");
    }
}
