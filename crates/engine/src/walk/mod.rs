//! Walks over links by note names: trees, paths, neighbors, subgraphs, cycles, orphans and unresolved links.
//!
//! [`weft_graph::walk`] implements the walks. This module resolves names in requests and adds titles, types and tags to answers.

mod answer_builder;
mod link_types;
mod messages;
mod paged_lists;
mod path_costs;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
pub use weft_graph::Degrees;
use weft_graph::walk::{self, Ceiling, CycleLimits, EdgeRef, WalkError};
pub use weft_graph::walk::{Direction, EdgeCosts, EdgeFilter, LimitKind, TreeLimits};
use weft_index::Snapshot;
use weft_model::settings::Problems;
use weft_model::{NoteBits, NoteId};

pub use messages::{
    CyclesAnswer, CyclesRequest, EdgeSource, LinkCycle, Neighbor, NeighborsAnswer,
    NeighborsRequest, PathAnswer, PathWalkRequest, SubgraphAnswer, SubgraphRequest, TreeAnswer,
    TreeStep, TreeWalkRequest, UnresolvedEdge, ViewOptions, WalkEdge, WalkNode,
};
pub use paged_lists::{OrphansRequest, UnresolvedAnswer, UnresolvedRequest};
pub use path_costs::{MAX_NOTE_VALUE, PathCosts};

use crate::{Engine, EngineError, Filter, Warning, notes, resolve_note};
use answer_builder::AnswerBuilder;
use path_costs::step_costs;

/// Limits of walks and inverse names of edge types. `config/default.toml` repeats the defaults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WalkSettings {
    /// Maximum number of notes per answer, at least 1.
    pub max_nodes: usize,
    /// Maximum number of edges per answer, and of unresolved links.
    pub max_edges: usize,
    /// Maximum number of edges examined in a search for cycles.
    pub max_cycle_steps: u64,
    /// Name of each edge type when read from its target.
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
    /// Returns the settings that are out of range.
    #[must_use]
    pub fn problems(&self) -> Problems {
        let Self { max_nodes, max_edges: _, max_cycle_steps: _, inverse_names: _ } = self;
        let mut problems = Problems::default();
        problems.at_least("max_nodes", *max_nodes, 1);
        problems
    }
}

/// Which edges a walk follows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FollowOptions {
    /// Direction of the edges.
    pub direction: Direction,
    /// Restricts the types and sources of edges.
    pub edges: EdgeFilter,
    /// True if the relation of a note to its parent is an edge, if no link expresses it.
    pub hierarchy: bool,
    /// Restricts the notes that edges lead to. Notes named in the request are exempt.
    pub filter: Filter,
}

impl FollowOptions {
    fn on(&self, snapshot: &Snapshot, engine: &Engine) -> Result<walk::WalkOptions, EngineError> {
        let Self { direction, edges, hierarchy, filter } = self;
        Ok(walk::WalkOptions {
            direction: *direction,
            edges: edges.clone(),
            notes: engine.filter_matches(snapshot, filter)?.notes.clone(),
            hierarchy: *hierarchy,
            stop: engine.stop.clone(),
        })
    }
}

impl Engine {
    /// Returns a warning for each filter condition that no note matches and each type that no link has.
    fn filter_warnings(
        &self,
        snapshot: &Snapshot,
        filter: &Filter,
        edges: &EdgeFilter,
    ) -> Result<Vec<Warning>, EngineError> {
        let mut warnings =
            self.filter_matches(snapshot, filter)?.warnings(snapshot, &self.stop)?.to_vec();
        let inverse_names = &self.walk.inverse_names;
        warnings.extend(link_types::unknown_types(
            snapshot.notes.graph(),
            edges,
            inverse_names,
            &self.stop,
        )?);
        Ok(warnings)
    }
}

/// Maximum length of a cycle that a request can ask for.
const MAX_CYCLE_LENGTH: u32 = 100;

/// Maximum number of cycles per answer.
const MAX_CYCLES: usize = 1000;

impl Engine {
    /// Returns the notes around some roots, breadth first.
    ///
    /// Fails on an unknown root, without a root, on `max_nodes` of 0, and on contradictory filters.
    pub fn tree(&self, request: &TreeWalkRequest) -> Result<TreeAnswer, EngineError> {
        let snapshot = self.snapshot();
        let mut warnings = Vec::new();
        let tree = self.tree_on(&snapshot, request, &mut warnings)?;
        let TreeWalkRequest { roots: _, follow, limits, view } = request;
        let builder = AnswerBuilder { snapshot: &snapshot, view: *view };
        Ok(TreeAnswer {
            roots: tree
                .nodes
                .iter()
                .take_while(|visit| visit.hop == 0)
                .map(|visit| builder.uri(visit.note))
                .collect(),
            direction: follow.direction,
            max_hops: limits.max_hops,
            inverse_names: builder.inverse_names(&self.walk.inverse_names, &tree.edges),
            nodes: tree
                .nodes
                .iter()
                .map(|visit| builder.node(visit.note, Some(visit.hop)))
                .collect(),
            edges: builder.edges(&tree.edges),
            spanning_tree: tree
                .spanning_tree
                .iter()
                .map(|grown| TreeStep {
                    from: builder.uri(grown.from),
                    to: builder.uri(grown.to),
                    hop: grown.hop,
                })
                .collect(),
            unresolved: tree
                .unresolved
                .iter()
                .map(|link| UnresolvedEdge {
                    from: builder.uri(link.from),
                    target: builder.uri(link.target),
                })
                .collect(),
            unresolved_truncated: tree.unresolved_truncated,
            truncated_by: tree.truncated_by,
            warnings,
            generation: snapshot.generation,
        })
    }

    /// Walks a tree in ids of `snapshot` and adds warnings to `warnings`.
    pub(crate) fn tree_on(
        &self,
        snapshot: &Snapshot,
        request: &TreeWalkRequest,
        warnings: &mut Vec<Warning>,
    ) -> Result<walk::Tree, EngineError> {
        let TreeWalkRequest { roots, follow, limits, view: _ } = request;
        let WalkSettings { max_nodes, max_edges, .. } = self.walk;
        let requested = walk::TreeRequest {
            roots: ids(snapshot, roots, warnings)?,
            follow: follow.on(snapshot, self)?,
            limits: *limits,
            ceiling: Ceiling { max_nodes, max_edges },
        };
        warnings.extend(self.filter_warnings(snapshot, &follow.filter, &follow.edges)?);
        walk::tree(snapshot.notes.graph(), &requested).map_err(|error| refused(snapshot, &error))
    }

    /// Returns the first of the shortest or cheapest paths between two notes. The absence of a path is an answer.
    ///
    /// Fails on an unknown end and on contradictory filters.
    pub fn path(&self, request: &PathWalkRequest) -> Result<PathAnswer, EngineError> {
        let snapshot = self.snapshot();
        let graph = snapshot.notes.graph();
        let PathWalkRequest { from, to, follow, max_hops, costs, view } = request;
        let mut warnings = Vec::new();
        let between = walk::PathRequest {
            from: resolve_note(&snapshot, from, &mut warnings)?,
            to: resolve_note(&snapshot, to, &mut warnings)?,
            follow: follow.on(&snapshot, self)?,
            max_hops: *max_hops,
        };
        warnings.extend(self.filter_warnings(&snapshot, &follow.filter, &follow.edges)?);
        let price = costs.as_ref().map(|costs| step_costs(&snapshot, costs));
        let found = match &price {
            None => walk::shortest_path(graph, &between),
            Some(price) => walk::cheapest_path(graph, &between, price),
        };
        let found = found.map_err(|error| refused(&snapshot, &error))?;
        let cost = price.filter(|_| found.found()).map(|price| {
            let steps = found.edges.iter().zip(found.nodes.iter().skip(1));
            steps.map(|(edge, entered)| u64::from(price(*edge, *entered))).sum()
        });
        let builder = AnswerBuilder { snapshot: &snapshot, view: *view };
        Ok(PathAnswer {
            from: builder.uri(between.from),
            to: builder.uri(between.to),
            direction: follow.direction,
            max_hops: *max_hops,
            found: found.found(),
            cost,
            nodes: found
                .nodes
                .iter()
                .zip(0..)
                .map(|(id, hop)| builder.node(*id, Some(hop)))
                .collect(),
            edges: builder.edges(&found.edges),
            truncated: found.truncated,
            inverse_names: builder.inverse_names(&self.walk.inverse_names, &found.edges),
            warnings,
            generation: snapshot.generation,
        })
    }

    /// Returns the notes one hop away.
    ///
    /// Fails on an unknown note and on contradictory filters.
    pub fn neighbors(&self, request: &NeighborsRequest) -> Result<NeighborsAnswer, EngineError> {
        let snapshot = self.snapshot();
        let NeighborsRequest { note, follow, max_nodes, view } = request;
        let mut warnings = Vec::new();
        let middle = resolve_note(&snapshot, note, &mut warnings)?;
        warnings.extend(self.filter_warnings(&snapshot, &follow.filter, &follow.edges)?);
        let max_nodes =
            max_nodes.map_or(self.walk.max_nodes, |limit| limit.min(self.walk.max_nodes));
        let found = walk::neighbors(
            snapshot.notes.graph(),
            middle,
            &follow.on(&snapshot, self)?,
            Some(max_nodes),
        );
        let walk::Neighborhood { degrees, neighbors, truncated } =
            found.map_err(|error| refused(&snapshot, &error))?;
        let builder =
            AnswerBuilder { snapshot: &snapshot, view: ViewOptions { summaries: false, ..*view } };
        let edges: Vec<EdgeRef> =
            neighbors.iter().flat_map(|neighbour| neighbour.edges.iter().copied()).collect();
        Ok(NeighborsAnswer {
            root: notes::reference(&snapshot, middle),
            direction: follow.direction,
            degrees,
            inverse_names: builder.inverse_names(&self.walk.inverse_names, &edges),
            nodes: neighbors
                .into_iter()
                .map(|walk::NeighborNode { note, degrees, edges }| Neighbor {
                    note: builder.node(note, Some(1)),
                    degrees,
                    edges: builder.edges(&edges),
                })
                .collect(),
            truncated,
            warnings,
            generation: snapshot.generation,
        })
    }

    /// Returns the edges among notes.
    ///
    /// Fails without a note, on an unknown note, and on contradictory filters.
    pub fn subgraph(&self, request: &SubgraphRequest) -> Result<SubgraphAnswer, EngineError> {
        let snapshot = self.snapshot();
        let SubgraphRequest { notes, filter, edges, hierarchy, max_nodes, max_edges } = request;
        if notes.is_empty() && filter.is_empty() {
            let reason = "name at least one note, or give a filter".to_owned();
            return Err(EngineError::InvalidArgument { field: "notes", reason });
        }
        let mut warnings = Vec::new();
        let mut selected = ids(&snapshot, notes, &mut warnings)?;
        if !filter.is_empty() {
            let passing = self.filter_matches(&snapshot, filter)?;
            let by_uri = snapshot.notes.by_uri_after(None).map(|(_, id)| id);
            selected.extend(by_uri.filter(|id| passing.notes.contains(*id)));
        }
        dedup(&mut selected);
        let most = |requested: Option<usize>, ceiling: usize| {
            requested.map_or(ceiling, |n| n.min(ceiling))
        };
        let max_nodes = most(*max_nodes, self.walk.max_nodes);
        let mut truncated_by = Vec::new();
        if selected.len() > max_nodes {
            truncated_by.push(LimitKind::MaxNodes);
            selected.truncate(max_nodes);
        }
        warnings.extend(self.filter_warnings(&snapshot, filter, edges)?);
        let follow = walk::WalkOptions {
            edges: edges.clone(),
            hierarchy: *hierarchy,
            stop: self.stop.clone(),
            ..walk::WalkOptions::default()
        };
        let max_edges = most(*max_edges, self.walk.max_edges);
        let found = walk::subgraph(snapshot.notes.graph(), &selected, &follow, Some(max_edges));
        let walk::Subgraph { nodes, edges, truncated } =
            found.map_err(|error| refused(&snapshot, &error))?;
        truncated_by.extend(truncated.then_some(LimitKind::MaxEdges));
        let builder = AnswerBuilder { snapshot: &snapshot, view: ViewOptions::default() };
        Ok(SubgraphAnswer {
            nodes: nodes.into_iter().map(|id| builder.node(id, None)).collect(),
            edges: builder.edges(&edges),
            truncated_by,
            warnings,
            generation: snapshot.generation,
        })
    }

    /// Returns cycles of links.
    ///
    /// Fails on limits out of range and on contradictory filters.
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
            let reason = format!("{} exceeds the maximum of {MAX_CYCLES}", limits.max_cycles);
            return Err(EngineError::InvalidArgument { field: "max_cycles", reason });
        }
        let snapshot = self.snapshot();
        let found = walk::cycles(snapshot.notes.graph(), &follow.on(&snapshot, self)?, &limits);
        let walk::Cycles { cycles, truncated } =
            found.map_err(|error| refused(&snapshot, &error))?;
        let builder = AnswerBuilder { snapshot: &snapshot, view: ViewOptions::default() };
        let cycles = cycles.into_iter().map(|walk::Cycle { nodes, edges }| LinkCycle {
            nodes: nodes.into_iter().map(|id| notes::reference(&snapshot, id)).collect(),
            edges: builder.edges(&edges),
        });
        Ok(CyclesAnswer {
            cycles: cycles.collect(),
            truncated,
            warnings: self.filter_warnings(&snapshot, &follow.filter, &follow.edges)?,
            generation: snapshot.generation,
        })
    }
}

/// Resolves names to notes, in the same order, and adds ambiguous names to `warnings`.
fn ids(
    snapshot: &Snapshot,
    names: &[String],
    warnings: &mut Vec<Warning>,
) -> Result<Vec<NoteId>, EngineError> {
    names.iter().map(|name| resolve_note(snapshot, name, warnings)).collect()
}

/// Removes repeated ids.
fn dedup(ids: &mut Vec<NoteId>) {
    let mut seen = NoteBits::default();
    ids.retain(|id| seen.insert(*id));
}

/// Converts an error of a walk, by the field of the request.
fn refused(snapshot: &Snapshot, error: &WalkError) -> EngineError {
    let (field, reason) = match error {
        WalkError::UnknownNote { note } => {
            let graph = snapshot.notes.graph();
            let name =
                if graph.contains(*note) { graph.uri(*note).to_string() } else { String::new() };
            return EngineError::UnknownNote { name, suggestions: Vec::new() };
        }
        WalkError::Stopped(stopped) => return (*stopped).into(),
        WalkError::NoRoot => ("roots", "name at least one note to start from"),
        WalkError::NoNodes => ("max_nodes", "must be at least 1, to hold a root"),
        WalkError::TypedAndInline => (
            "edges.typed_only",
            "excludes every edge together with `inline_only`; set only one of them",
        ),
    };
    EngineError::InvalidArgument { field, reason: reason.to_owned() }
}
