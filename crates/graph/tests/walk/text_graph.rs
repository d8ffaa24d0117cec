//! Small graphs from one string, and results as text.

use std::collections::{BTreeMap, BTreeSet};

use weft_graph::walk::{EdgeRef, LinkPath, Tree};
use weft_graph::{NodeSpec, NoteGraph};
use weft_model::{LinkSource, NoteId};

/// A graph whose slots are in reverse uri order, so that a result in slot order is detected as wrong.
pub(crate) struct Vault {
    pub(crate) graph: NoteGraph,
    ids: BTreeMap<String, NoteId>,
}

/// Builds a vault from entries separated by `;`: `a supports b` is typed, `a ~ b` inline, `a ^ b` makes `b` the parent of `a`, `a @ b` its object, a single `a` is a note; `?x` is a placeholder.
pub(crate) fn vault(text: &str) -> Vault {
    let entries: Vec<Vec<&str>> =
        text.split(';').map(|entry| entry.split_whitespace().collect()).collect();
    let names: BTreeSet<&str> =
        entries.iter().flat_map(|entry| [entry.first(), entry.get(2)]).flatten().copied().collect();
    let ids: BTreeMap<String, NoteId> =
        names.iter().rev().zip(0..).map(|(name, slot)| (uri(name), NoteId::new(slot))).collect();
    let specs = names.iter().map(|name| {
        let mut spec = if name.starts_with('?') {
            NodeSpec::placeholder(&uri(name))
        } else {
            NodeSpec::note(name)
        };
        for entry in entries.iter().filter(|entry| entry[0] == *name) {
            match entry[..] {
                [_] => {}
                [_, "^", parent] => spec.parent = Some(ids[parent]),
                [_, "@", object] => spec.object = Some(ids[object]),
                [_, "~", to] => {
                    spec.links.push((ids[&uri(to)], "related".into(), LinkSource::Inline));
                }
                [_, kind, to] => spec.links.push((ids[&uri(to)], kind.into(), LinkSource::Typed)),
                _ => panic!("an entry must be `a` or `a kind b`: {entry:?}"),
            }
        }
        (ids[&uri(name)], spec)
    });
    Vault { graph: NoteGraph::build(specs), ids }
}

fn uri(name: &str) -> String {
    name.trim_start_matches('?').to_owned()
}

impl Vault {
    pub(crate) fn id(&self, name: &str) -> NoteId {
        self.ids[name]
    }

    pub(crate) fn ids<const N: usize>(&self, names: [&str; N]) -> [NoteId; N] {
        names.map(|name| self.id(name))
    }
}

pub(crate) fn name(graph: &NoteGraph, id: NoteId) -> String {
    graph.uri(id).to_string()
}

pub(crate) fn names(graph: &NoteGraph, ids: &[NoteId]) -> String {
    ids.iter().map(|id| name(graph, *id)).collect::<Vec<_>>().join(" ")
}

/// Formats a typed edge as `a supports b`, an inline edge as `a ~ b`, an edge of the hierarchy as `a ^ b`.
pub(crate) fn edge(graph: &NoteGraph, edge: EdgeRef) -> String {
    let kind = match edge.label.source() {
        "typed" => edge.label.kind(graph),
        "inline" => {
            assert_eq!(edge.label.kind(graph), "related");
            "~"
        }
        "hierarchy" => {
            assert_eq!(edge.label.kind(graph), "parent");
            "^"
        }
        other => panic!("no such source: {other}"),
    };
    format!("{} {kind} {}", name(graph, edge.from), name(graph, edge.to))
}

pub(crate) fn edges(graph: &NoteGraph, list: &[EdgeRef]) -> String {
    list.iter().map(|one| edge(graph, *one)).collect::<Vec<_>>().join("; ")
}

/// A tree as text, comparable between graphs with different slots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TreeWords {
    pub(crate) nodes: Vec<(String, u32)>,
    pub(crate) edges: Vec<String>,
    /// Parent, child, hop, edge.
    pub(crate) spanning_tree: Vec<(String, String, u32, usize)>,
    /// Expanded note, referenced note, edge.
    pub(crate) references: Vec<(String, String, usize)>,
    pub(crate) truncated_by: Vec<&'static str>,
    pub(crate) unresolved: Vec<(String, String)>,
}

impl TreeWords {
    pub(crate) fn of(graph: &NoteGraph, tree: &Tree) -> Self {
        let name = |id| name(graph, id);
        Self {
            nodes: tree.nodes.iter().map(|visit| (name(visit.note), visit.hop)).collect(),
            edges: tree.edges.iter().map(|one| edge(graph, *one)).collect(),
            spanning_tree: tree
                .spanning_tree
                .iter()
                .map(|built_by_edits| {
                    (
                        name(built_by_edits.from),
                        name(built_by_edits.to),
                        built_by_edits.hop,
                        built_by_edits.edge,
                    )
                })
                .collect(),
            references: tree
                .references
                .iter()
                .map(|seen| (name(seen.at), name(seen.to), seen.edge))
                .collect(),
            truncated_by: tree.truncated_by.iter().map(|limit| limit.name()).collect(),
            unresolved: tree
                .unresolved
                .iter()
                .map(|link| (name(link.from), name(link.target)))
                .collect(),
        }
    }

    /// Returns notes with their hops: `a0 b1 c1`.
    pub(crate) fn nodes(&self) -> String {
        self.nodes.iter().map(|(name, hop)| format!("{name}{hop}")).collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn edges(&self) -> String {
        self.edges.join("; ")
    }

    /// Returns the references: `a>b b>c`.
    pub(crate) fn seen(&self) -> String {
        self.references.iter().map(|(at, to, _)| format!("{at}>{to}")).collect::<Vec<_>>().join(" ")
    }

    /// Returns the same tree without the names of the limits that truncated it.
    pub(crate) fn content(&self) -> Self {
        Self { truncated_by: Vec::new(), ..self.clone() }
    }
}

/// Returns a path as text: notes and edges.
pub(crate) fn path_words(graph: &NoteGraph, path: &LinkPath) -> (String, String) {
    (names(graph, &path.nodes), edges(graph, &path.edges))
}
