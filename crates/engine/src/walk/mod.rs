//! Walks over links, from names to names: trees, paths, neighbours, subgraphs, cycles, orphans, unresolved links.
//!
//! The walks themselves are [`weft_graph::walk`]'s; here requests get their notes, and answers what people know of them.

mod lists;
mod messages;
mod price;
mod telling;
mod types;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
pub use weft_graph::Degrees;
use weft_graph::walk::{self, Ceiling, CycleLimits, EdgeRef, WalkError};
pub use weft_graph::walk::{Direction, EdgeCosts, EdgeFilter, Limit, Limits};
use weft_index::Snapshot;
use weft_model::settings::Problems;
use weft_model::{NoteBits, NoteId};

pub use lists::{OrphansRequest, UnresolvedAnswer, UnresolvedRequest};
pub use messages::{
    Cycle, CyclesAnswer, CyclesRequest, EdgeSource, Neighbor, NeighborsAnswer, NeighborsRequest,
    PathAnswer, PathCosts, PathRequest, SubgraphAnswer, SubgraphRequest, TreeAnswer, TreeEdge,
    TreeRequest, UnresolvedLink, View, WalkEdge, WalkNode,
};
pub use price::MOST_WORTH;

use crate::{Engine, EngineError, Filter, note_meant, notes};
use price::price;
use telling::Telling;

/// Bounds of walks, and how edges read backwards. `config/default.toml` repeats the defaults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WalkSettings {
    /// Notes of one answer at most, at least 1.
    pub max_nodes: usize,
    /// Edges of one answer at most, and as many unresolved links.
    pub max_edges: usize,
    /// Edges that a search for cycles looks at.
    pub max_cycle_steps: u64,
    /// By edge type, how it reads from its target.
    pub inverse_names: BTreeMap<String, String>,
}

impl Default for WalkSettings {
    fn default() -> Self {
        let Ceiling { max_nodes, max_edges } = Ceiling::default();
        let inverse = [
            ("contradicts", "contradicted-by"),
            ("derived-from", "source-of"),
            ("extends", "extended-by"),
            ("part-of", "has-part"),
            ("supports", "supported-by"),
        ];
        Self {
            max_nodes,
            max_edges,
            max_cycle_steps: CycleLimits::default().max_steps,
            inverse_names: inverse.map(|(kind, back)| (kind.to_owned(), back.to_owned())).into(),
        }
    }
}

impl WalkSettings {
    /// What of it cannot be used.
    #[must_use]
    pub fn problems(&self) -> Problems {
        let Self { max_nodes, max_edges: _, max_cycle_steps: _, inverse_names: _ } = self;
        let mut problems = Problems::default();
        problems.at_least("max_nodes", *max_nodes, 1);
        problems
    }
}

/// What a walk follows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Follow {
    /// Which edges of a note.
    pub direction: Direction,
    /// Which of them are eligible.
    pub edges: EdgeFilter,
    /// Whether a note's place below its parent is an edge where no link says so.
    pub hierarchy: bool,
    /// Which notes edges may lead to; those that the request names are exempt.
    pub filter: Filter,
}

impl Follow {
    fn on(&self, snapshot: &Snapshot, engine: &Engine) -> Result<walk::Follow, EngineError> {
        let Self { direction, edges, hierarchy, filter } = self;
        Ok(walk::Follow {
            direction: *direction,
            edges: edges.clone(),
            notes: engine.passing(snapshot, filter)?.notes.clone(),
            hierarchy: *hierarchy,
            stop: engine.stop.clone(),
        })
    }
}

impl Engine {
    /// What of the filter no note has, and which types of links no link.
    fn unmet(
        &self,
        snapshot: &Snapshot,
        filter: &Filter,
        edges: &EdgeFilter,
    ) -> Result<Vec<String>, EngineError> {
        let mut unmet = self.passing(snapshot, filter)?.unmet(snapshot, &self.stop)?.to_vec();
        let inverse_names = &self.walk.inverse_names;
        unmet.extend(types::unmet(snapshot.notes.graph(), edges, inverse_names, &self.stop)?);
        Ok(unmet)
    }
}

/// The greatest length of a cycle that can be asked for.
const MAX_CYCLE_LENGTH: u32 = 100;

/// Cycles of one answer at most.
const MAX_CYCLES: usize = 1000;

impl Engine {
    /// The notes around some roots, breadth-first.
    ///
    /// Fails on an unknown root, on none at all, on `max_nodes` of 0, and on filters that exclude each other.
    pub fn tree(&self, request: &TreeRequest) -> Result<TreeAnswer, EngineError> {
        let snapshot = self.snapshot();
        let mut degraded = Vec::new();
        let tree = self.tree_on(&snapshot, request, &mut degraded)?;
        let TreeRequest { roots: _, follow, limits, view } = request;
        let telling = Telling { snapshot: &snapshot, view: *view };
        Ok(TreeAnswer {
            roots: tree
                .nodes
                .iter()
                .take_while(|visit| visit.hop == 0)
                .map(|visit| telling.uri(visit.note))
                .collect(),
            direction: follow.direction,
            max_hops: limits.max_hops,
            inverse_names: telling.inverse_names(&self.walk.inverse_names, &tree.edges),
            nodes: tree
                .nodes
                .iter()
                .map(|visit| telling.node(visit.note, Some(visit.hop)))
                .collect(),
            edges: telling.edges(&tree.edges),
            spanning_tree: tree
                .spanning_tree
                .iter()
                .map(|grown| TreeEdge {
                    from: telling.uri(grown.from),
                    to: telling.uri(grown.to),
                    hop: grown.hop,
                })
                .collect(),
            unresolved: tree
                .unresolved
                .iter()
                .map(|link| UnresolvedLink {
                    from: telling.uri(link.from),
                    target: telling.uri(link.target),
                })
                .collect(),
            more_unresolved: tree.more_unresolved,
            truncated_by: tree.truncated_by,
            degraded,
            generation: snapshot.generation,
        })
    }

    /// The same in ids of `snapshot`; what an answer says of itself goes to `degraded`.
    pub(crate) fn tree_on(
        &self,
        snapshot: &Snapshot,
        request: &TreeRequest,
        degraded: &mut Vec<String>,
    ) -> Result<walk::Tree, EngineError> {
        let TreeRequest { roots, follow, limits, view: _ } = request;
        let WalkSettings { max_nodes, max_edges, .. } = self.walk;
        let asked = walk::TreeRequest {
            roots: ids(snapshot, roots, degraded)?,
            follow: follow.on(snapshot, self)?,
            limits: *limits,
            ceiling: Ceiling { max_nodes, max_edges },
        };
        degraded.extend(self.unmet(snapshot, &follow.filter, &follow.edges)?);
        walk::tree(snapshot.notes.graph(), &asked).map_err(|error| refused(snapshot, &error))
    }

    /// The least of the shortest paths between two notes, or of the cheapest ones. That there is none is an answer.
    ///
    /// Fails on an unknown end and on filters that exclude each other.
    pub fn path(&self, request: &PathRequest) -> Result<PathAnswer, EngineError> {
        let snapshot = self.snapshot();
        let graph = snapshot.notes.graph();
        let PathRequest { from, to, follow, max_hops, costs, view } = request;
        let mut degraded = Vec::new();
        let between = walk::PathRequest {
            from: note_meant(&snapshot, from, &mut degraded)?,
            to: note_meant(&snapshot, to, &mut degraded)?,
            follow: follow.on(&snapshot, self)?,
            max_hops: *max_hops,
        };
        degraded.extend(self.unmet(&snapshot, &follow.filter, &follow.edges)?);
        let price = costs.as_ref().map(|costs| price(&snapshot, costs));
        let found = match &price {
            None => walk::path(graph, &between),
            Some(price) => walk::cheapest_path(graph, &between, price),
        };
        let found = found.map_err(|error| refused(&snapshot, &error))?;
        let cost = price.filter(|_| found.found()).map(|price| {
            let steps = found.edges.iter().zip(found.nodes.iter().skip(1));
            steps.map(|(edge, entered)| u64::from(price(*edge, *entered))).sum()
        });
        let telling = Telling { snapshot: &snapshot, view: *view };
        Ok(PathAnswer {
            from: telling.uri(between.from),
            to: telling.uri(between.to),
            direction: follow.direction,
            max_hops: *max_hops,
            found: found.found(),
            cost,
            nodes: found
                .nodes
                .iter()
                .zip(0..)
                .map(|(id, hop)| telling.node(*id, Some(hop)))
                .collect(),
            edges: telling.edges(&found.edges),
            truncated: found.truncated,
            inverse_names: telling.inverse_names(&self.walk.inverse_names, &found.edges),
            degraded,
            generation: snapshot.generation,
        })
    }

    /// The notes one hop away.
    ///
    /// Fails on an unknown note and on filters that exclude each other.
    pub fn neighbors(&self, request: &NeighborsRequest) -> Result<NeighborsAnswer, EngineError> {
        let snapshot = self.snapshot();
        let NeighborsRequest { note, follow, max_nodes, view } = request;
        let mut degraded = Vec::new();
        let middle = note_meant(&snapshot, note, &mut degraded)?;
        degraded.extend(self.unmet(&snapshot, &follow.filter, &follow.edges)?);
        let max_nodes =
            max_nodes.map_or(self.walk.max_nodes, |limit| limit.min(self.walk.max_nodes));
        let found = walk::neighbours(
            snapshot.notes.graph(),
            middle,
            &follow.on(&snapshot, self)?,
            Some(max_nodes),
        );
        let walk::Neighbours { degrees, neighbours, truncated } =
            found.map_err(|error| refused(&snapshot, &error))?;
        let telling = Telling { snapshot: &snapshot, view: View { summaries: false, ..*view } };
        let edges: Vec<EdgeRef> =
            neighbours.iter().flat_map(|neighbour| neighbour.edges.iter().copied()).collect();
        Ok(NeighborsAnswer {
            root: notes::reference(&snapshot, middle),
            direction: follow.direction,
            degrees,
            inverse_names: telling.inverse_names(&self.walk.inverse_names, &edges),
            nodes: neighbours
                .into_iter()
                .map(|walk::Neighbour { note, degrees, edges }| Neighbor {
                    note: telling.node(note, Some(1)),
                    degrees,
                    edges: telling.edges(&edges),
                })
                .collect(),
            truncated,
            degraded,
            generation: snapshot.generation,
        })
    }

    /// The edges among notes.
    ///
    /// Fails where no note is asked for, on an unknown one, and on filters that exclude each other.
    pub fn subgraph(&self, request: &SubgraphRequest) -> Result<SubgraphAnswer, EngineError> {
        let snapshot = self.snapshot();
        let SubgraphRequest { notes, filter, edges, hierarchy, max_nodes, max_edges } = request;
        if notes.is_empty() && filter.is_empty() {
            let reason = "name at least one note, or say by `filter` which".to_owned();
            return Err(EngineError::InvalidArgument { field: "notes", reason });
        }
        let mut degraded = Vec::new();
        let mut wanted = ids(&snapshot, notes, &mut degraded)?;
        if !filter.is_empty() {
            let passing = self.passing(&snapshot, filter)?;
            let by_uri = snapshot.notes.by_uri_after(None).map(|(_, id)| id);
            wanted.extend(by_uri.filter(|id| passing.notes.contains(*id)));
        }
        dedup(&mut wanted);
        let most = |asked: Option<usize>, ceiling: usize| asked.map_or(ceiling, |n| n.min(ceiling));
        let max_nodes = most(*max_nodes, self.walk.max_nodes);
        let mut truncated_by = Vec::new();
        if wanted.len() > max_nodes {
            truncated_by.push(Limit::MaxNodes);
            wanted.truncate(max_nodes);
        }
        degraded.extend(self.unmet(&snapshot, filter, edges)?);
        let follow = walk::Follow {
            edges: edges.clone(),
            hierarchy: *hierarchy,
            stop: self.stop.clone(),
            ..walk::Follow::default()
        };
        let max_edges = most(*max_edges, self.walk.max_edges);
        let found = walk::subgraph(snapshot.notes.graph(), &wanted, &follow, Some(max_edges));
        let walk::Subgraph { nodes, edges, truncated } =
            found.map_err(|error| refused(&snapshot, &error))?;
        truncated_by.extend(truncated.then_some(Limit::MaxEdges));
        let telling = Telling { snapshot: &snapshot, view: View::default() };
        Ok(SubgraphAnswer {
            nodes: nodes.into_iter().map(|id| telling.node(id, None)).collect(),
            edges: telling.edges(&edges),
            truncated_by,
            degraded,
            generation: snapshot.generation,
        })
    }

    /// Closed walks along links.
    ///
    /// Fails on bounds out of range and on filters that exclude each other.
    pub fn cycles(&self, request: &CyclesRequest) -> Result<CyclesAnswer, EngineError> {
        let CyclesRequest { follow, max_length, max_cycles } = request;
        let defaults = CycleLimits::default();
        let limits = CycleLimits {
            max_length: max_length.unwrap_or(defaults.max_length),
            max_cycles: max_cycles.unwrap_or(defaults.max_cycles),
            max_steps: self.walk.max_cycle_steps,
        };
        if !(1..=MAX_CYCLE_LENGTH).contains(&limits.max_length) {
            let reason = format!("{} is not between 1 and {MAX_CYCLE_LENGTH}", limits.max_length);
            return Err(EngineError::InvalidArgument { field: "max_length", reason });
        }
        if limits.max_cycles > MAX_CYCLES {
            let reason = format!("{} is more than {MAX_CYCLES}", limits.max_cycles);
            return Err(EngineError::InvalidArgument { field: "max_cycles", reason });
        }
        let snapshot = self.snapshot();
        let found = walk::cycles(snapshot.notes.graph(), &follow.on(&snapshot, self)?, &limits);
        let walk::Cycles { cycles, truncated } =
            found.map_err(|error| refused(&snapshot, &error))?;
        let telling = Telling { snapshot: &snapshot, view: View::default() };
        let cycles = cycles.into_iter().map(|walk::Cycle { nodes, edges }| Cycle {
            nodes: nodes.into_iter().map(|id| notes::reference(&snapshot, id)).collect(),
            edges: telling.edges(&edges),
        });
        Ok(CyclesAnswer {
            cycles: cycles.collect(),
            truncated,
            degraded: self.unmet(&snapshot, &follow.filter, &follow.edges)?,
            generation: snapshot.generation,
        })
    }
}

/// The notes of these names, in the same order; what is to be said of a name goes to `told`.
fn ids(
    snapshot: &Snapshot,
    names: &[String],
    told: &mut Vec<String>,
) -> Result<Vec<NoteId>, EngineError> {
    names.iter().map(|name| note_meant(snapshot, name, told)).collect()
}

/// Drops all but the first of each.
fn dedup(ids: &mut Vec<NoteId>) {
    let mut seen = NoteBits::default();
    ids.retain(|id| seen.insert(*id));
}

/// Why a walk cannot begin, by the field of the request.
fn refused(snapshot: &Snapshot, error: &WalkError) -> EngineError {
    let (field, reason) = match error {
        WalkError::UnknownNote { note } => {
            let graph = snapshot.notes.graph();
            let name =
                if graph.contains(*note) { graph.uri(*note).to_string() } else { String::new() };
            return EngineError::UnknownNote { name, near: Vec::new() };
        }
        WalkError::Stopped(stopped) => return (*stopped).into(),
        WalkError::NoRoot => ("roots", "name at least one note to start from"),
        WalkError::NoNodes => ("max_nodes", "0 leaves no room even for a root; it is at least 1"),
        WalkError::TypedAndInline => {
            ("edges.typed_only", "together with `inline_only` no edge is left; choose one of both")
        }
    };
    EngineError::InvalidArgument { field, reason: reason.to_owned() }
}
