//! A slow and simple implementation of the rules.

use std::collections::{BTreeMap, BTreeSet};

use weft_graph::NoteGraph;
use weft_graph::walk::{Direction, TreeLimits};
use weft_model::{LinkSource, fold};

use super::random_graphs::{GraphPlan, NAMES, OptionsPlan};
use super::text_graph::TreeWords;

/// Sort key of a step: type, uri of the other end, true if incoming, source, and the other end. Its order is the neighbor order.
pub(crate) type Key = (String, String, bool, u8, usize);

/// A stored edge: from, to, type, source.
pub(crate) type Stored = (usize, usize, String, u8);

pub(crate) struct Oracle<'p> {
    plan: &'p GraphPlan,
    options_plan: &'p OptionsPlan,
    named: Vec<usize>,
    stored: BTreeSet<Stored>,
}

impl<'p> Oracle<'p> {
    pub(crate) fn new(plan: &'p GraphPlan, options_plan: &'p OptionsPlan, named: &[usize]) -> Self {
        let mut stored: BTreeSet<Stored> = plan
            .links
            .iter()
            .map(|(from, to, kind, source)| (*from, *to, (*kind).to_owned(), *source as u8))
            .collect();
        if options_plan.hierarchy {
            for (child, parent) in &plan.parents {
                let says_so = |(from, to, kind, source): &Stored| {
                    (from, to, *source) == (child, parent, LinkSource::Typed as u8)
                        && ["parent", "up"].contains(&kind.as_str())
                };
                if child != parent && !stored.iter().any(says_so) {
                    stored.insert((*child, *parent, "parent".into(), 2));
                }
            }
        }
        stored.retain(|(_, _, kind, source)| {
            let names = |list: &[String]| list.iter().any(|name| fold(name) == fold(kind));
            let filter = &options_plan.edges;
            (filter.types.is_empty() || names(&filter.types))
                && !names(&filter.exclude_types)
                && !(filter.typed_only && *source == 1)
                && !(filter.inline_only && *source != 1)
        });
        Self { plan, options_plan, named: named.to_vec(), stored }
    }

    /// Returns true if a walk may visit a note.
    fn admits(&self, at: usize) -> bool {
        let in_filter = self.options_plan.notes.as_ref().is_none_or(|notes| notes.contains(&at));
        !self.plan.placeholder[at] && (in_filter || self.named.contains(&at))
    }

    /// Returns the eligible edges of a note in neighbor order, each with its stored form.
    pub(crate) fn steps(&self, at: usize) -> Vec<(Key, Stored)> {
        let mut steps = Vec::new();
        for stored in &self.stored {
            let (from, to, kind, source) = stored.clone();
            let mut add = |other: usize, incoming| {
                if self.admits(other) {
                    let key = (kind.clone(), NAMES[other].to_owned(), incoming, source, other);
                    steps.push((key, stored.clone()));
                }
            };
            if from == at && self.options_plan.direction != Direction::In {
                add(to, false);
            }
            let again = from == to && self.options_plan.direction == Direction::Both;
            if to == at && self.options_plan.direction != Direction::Out && !again {
                add(from, true);
            }
        }
        steps.sort();
        steps
    }

    pub(crate) fn tree(&self, roots: &[usize], limits: &TreeLimits) -> TreeWords {
        let mut words = TreeWords::default();
        let mut truncated = BTreeSet::new();
        let mut hops: BTreeMap<usize, u32> = BTreeMap::new();
        let mut queue: Vec<usize> = Vec::new();
        let mut reported: BTreeSet<Stored> = BTreeSet::new();
        for root in roots {
            if hops.contains_key(root) {
                continue;
            }
            if limits.max_nodes.is_some_and(|limit| queue.len() >= limit) {
                truncated.insert("1 max_nodes");
                continue;
            }
            hops.insert(*root, 0);
            queue.push(*root);
        }
        let mut next = 0;
        'walk: while next < queue.len() {
            let at = queue[next];
            next += 1;
            let open: Vec<_> = self
                .steps(at)
                .into_iter()
                .filter(|(_, stored)| !reported.contains(stored))
                .collect();
            for (n_met, ((.., other), stored)) in open.into_iter().enumerate() {
                let is_new = !hops.contains_key(&other);
                let mut holds = Vec::new();
                if limits.max_hops.is_some_and(|limit| hops[&at] >= limit) {
                    holds.push("0 max_hops");
                }
                if is_new && limits.max_nodes.is_some_and(|limit| queue.len() >= limit) {
                    holds.push("1 max_nodes");
                }
                if limits.max_edges.is_some_and(|limit| reported.len() >= limit) {
                    holds.push("2 max_edges");
                }
                if limits.max_fanout.is_some_and(|limit| n_met >= limit) {
                    holds.push("3 max_fanout");
                }
                truncated.extend(holds.iter().copied());
                if holds.contains(&"0 max_hops") || holds.contains(&"2 max_edges") {
                    break 'walk;
                }
                if holds.contains(&"3 max_fanout") {
                    break;
                }
                if !holds.is_empty() {
                    continue;
                }
                let edge = words.edges.len();
                words.edges.push(edge_text(&stored));
                reported.insert(stored);
                if is_new {
                    let hop = hops[&at] + 1;
                    hops.insert(other, hop);
                    queue.push(other);
                    words.spanning_tree.push((NAMES[at].into(), NAMES[other].into(), hop, edge));
                } else {
                    words.references.push((NAMES[at].into(), NAMES[other].into(), edge));
                }
            }
        }
        words.nodes = queue.iter().map(|at| (NAMES[*at].to_owned(), hops[at])).collect();
        words.truncated_by = truncated.into_iter().map(|name| &name[2..]).collect();
        if self.options_plan.direction != Direction::In {
            for from in &queue {
                let mut targets: Vec<_> = self
                    .stored
                    .iter()
                    .filter(|(at, to, _, source)| {
                        at == from && self.plan.placeholder[*to] && *source < 2
                    })
                    .map(|(_, to, kind, source)| (kind, NAMES[*to], source))
                    .collect();
                targets.sort();
                for (_, target, _) in targets {
                    let link = (NAMES[*from].to_owned(), target.to_owned());
                    if !words.unresolved.contains(&link) {
                        words.unresolved.push(link);
                    }
                }
            }
        }
        words
    }

    /// Returns every path without repeated notes from one note to another, as its steps.
    pub(crate) fn paths(&self, from: usize, to: usize) -> Vec<Vec<(Key, Stored)>> {
        let mut found = Vec::new();
        let mut walk = Vec::new();
        self.extend(from, to, &mut vec![from], &mut walk, &mut found);
        found
    }

    fn extend(
        &self,
        at: usize,
        to: usize,
        on_walk: &mut Vec<usize>,
        walk: &mut Vec<(Key, Stored)>,
        found: &mut Vec<Vec<(Key, Stored)>>,
    ) {
        if at == to {
            found.push(walk.clone());
            return;
        }
        for step in self.steps(at) {
            let other = step.0.4;
            if !on_walk.contains(&other) {
                on_walk.push(other);
                walk.push(step);
                self.extend(other, to, on_walk, walk, found);
                walk.pop();
                on_walk.pop();
            }
        }
    }
}

/// Formats an edge as [`text_graph::edge`](super::text_graph::edge) does.
pub(crate) fn edge_text((from, to, kind, source): &Stored) -> String {
    let kind = ["", "~", "^"][usize::from(*source)].to_owned()
        + if *source == 0 { kind.as_str() } else { "" };
    format!("{} {kind} {}", NAMES[*from], NAMES[*to])
}

/// Returns the same graph after serialization.
pub(crate) fn round_tripped(graph: &NoteGraph) -> NoteGraph {
    NoteGraph::from_columns(graph.columns()).expect("columns of a graph")
}
