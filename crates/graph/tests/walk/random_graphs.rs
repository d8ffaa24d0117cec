//! Random multigraphs with self loops, parallel edges, placeholders and a hierarchy.

use std::collections::BTreeMap;

use proptest::prelude::*;
use weft_graph::walk::{Direction, EdgeFilter, WalkOptions};
use weft_graph::{NodeSpec, NoteGraph};
use weft_model::{LinkSource, NoteId, NoteSet, Stop};

pub(crate) const N_NAMES: usize = 8;

/// Uris whose byte order differs from that of any locale and from slot order.
pub(crate) const NAMES: [&str; N_NAMES] = ["e", "B", "é", "a", "Z", "a b", "aa", "10"];

const KINDS: [&str; 4] = ["related", "Supports", "parent", "up"];

/// Description of a graph, independent of slots.
#[derive(Clone, Debug)]
pub(crate) struct GraphPlan {
    /// From, to, type, source.
    pub(crate) links: Vec<(usize, usize, &'static str, LinkSource)>,
    pub(crate) parents: BTreeMap<usize, usize>,
    pub(crate) placeholder: [bool; N_NAMES],
}

pub(crate) fn graph_plans() -> impl Strategy<Value = GraphPlan> {
    let link = (0..N_NAMES, 0..N_NAMES, 0..KINDS.len(), any::<bool>()).prop_map(
        |(from, to, kind, inline)| {
            let source = if inline { LinkSource::Inline } else { LinkSource::Typed };
            (from, to, if inline { "related" } else { KINDS[kind] }, source)
        },
    );
    let placeholders = prop::collection::vec(prop::bool::weighted(0.12), N_NAMES);
    (
        prop::collection::vec(link, 0..22),
        prop::collection::btree_map(0..N_NAMES, 0..N_NAMES, 0..4),
        placeholders,
    )
        .prop_map(|(mut links, mut parents, placeholder)| {
            let placeholder: [bool; N_NAMES] = std::array::from_fn(|at| at != 0 && placeholder[at]);
            links.retain(|(from, ..)| !placeholder[*from]);
            parents.retain(|child, parent| !placeholder[*child] && !placeholder[*parent]);
            GraphPlan { links, parents, placeholder }
        })
}

/// Returns a strategy for slot assignments: permutations of slots.
pub(crate) fn slots() -> impl Strategy<Value = Vec<u32>> {
    Just((0..8).collect::<Vec<u32>>()).prop_shuffle()
}

impl GraphPlan {
    pub(crate) fn graph(&self, slots: &[u32]) -> NoteGraph {
        NoteGraph::build(self.specs(slots))
    }

    /// Builds the same graph by edits: in reverse, first the notes, then their links.
    pub(crate) fn built_by_edits(&self, slots: &[u32]) -> NoteGraph {
        let mut specs: Vec<(NoteId, NodeSpec)> = self.specs(slots).collect();
        specs.reverse();
        let bare = specs.iter().map(|(id, spec)| (*id, Some(NodeSpec::note(spec.uri.as_str()))));
        let mut graph = NoteGraph::default().edited(bare);
        for (id, spec) in specs {
            graph = graph.edited([(id, Some(spec))]);
        }
        graph
    }

    fn specs(&self, slots: &[u32]) -> impl Iterator<Item = (NoteId, NodeSpec)> {
        let id = |at: usize| NoteId::new(slots[at]);
        (0..N_NAMES).map(move |at| {
            let links = self.links.iter().filter(|(from, ..)| *from == at);
            let spec = NodeSpec {
                placeholder: self.placeholder[at],
                parent: self.parents.get(&at).map(|parent| id(*parent)),
                links: links
                    .map(|(_, to, kind, source)| (id(*to), (*kind).into(), *source))
                    .collect(),
                ..NodeSpec::note(NAMES[at])
            };
            (id(at), spec)
        })
    }
}

/// Description of [`WalkOptions`], independent of slots.
#[derive(Clone, Debug)]
pub(crate) struct OptionsPlan {
    pub(crate) direction: Direction,
    pub(crate) edges: EdgeFilter,
    /// Admitted notes by name; `None` for all.
    pub(crate) notes: Option<Vec<usize>>,
    pub(crate) hierarchy: bool,
}

pub(crate) fn option_plans() -> impl Strategy<Value = OptionsPlan> {
    let kinds = || {
        prop_oneof![
            3 => Just(Vec::new()),
            1 => prop::sample::subsequence(vec!["RELATED", "supports", "Parent", "no such"], 1..3),
        ]
        .prop_map(|names| names.into_iter().map(str::to_owned).collect::<Vec<String>>())
    };
    let edges = (kinds(), kinds(), 0..8_u8).prop_map(|(types, exclude_types, only)| EdgeFilter {
        types,
        exclude_types,
        typed_only: only == 0,
        inline_only: only == 1,
    });
    let direction = prop_oneof![
        1 => Just(Direction::Out),
        1 => Just(Direction::In),
        2 => Just(Direction::Both),
    ];
    let notes = prop_oneof![
        3 => Just(None),
        1 => prop::sample::subsequence((0..N_NAMES).collect::<Vec<_>>(), 3..N_NAMES).prop_map(Some),
    ];
    (direction, edges, notes, prop::bool::weighted(0.3)).prop_map(
        |(direction, edges, notes, hierarchy)| OptionsPlan { direction, edges, notes, hierarchy },
    )
}

impl OptionsPlan {
    pub(crate) fn follow(&self, slots: &[u32]) -> WalkOptions {
        let Self { direction, edges, notes, hierarchy } = self.clone();
        let notes = notes.map_or(NoteSet::All, |notes| {
            notes.into_iter().map(|at| NoteId::new(slots[at])).collect()
        });
        WalkOptions { direction, edges, notes, hierarchy, stop: Stop::default() }
    }
}
