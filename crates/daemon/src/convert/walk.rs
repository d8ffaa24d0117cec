//! Messages of GraphService's walks.

use tonic::Status;
use weft_engine as engine;
use weft_engine::walk;
use weft_proto::noteweft::v1 as wire;

use super::notes::{reference, summary};
use super::{all_named, count, filter, named, size};
use crate::status::invalid;

/// Default number of hops of a tree.
///
/// Source: graph traversal text, "Depth and size limits".
const TREE_HOPS: u32 = 3;

/// Default number of hops of a path.
///
/// Source: graph traversal design, "Path".
const PATH_HOPS: u32 = 10;

pub(super) fn direction(number: i32) -> Result<walk::Direction, Status> {
    match wire::Direction::try_from(number) {
        Ok(wire::Direction::Unspecified | wire::Direction::Both) => Ok(walk::Direction::Both),
        Ok(wire::Direction::Out) => Ok(walk::Direction::Out),
        Ok(wire::Direction::In) => Ok(walk::Direction::In),
        Err(_) => Err(invalid("direction", &format!("{number} is not a valid direction"))),
    }
}

fn direction_of(direction: walk::Direction) -> i32 {
    let direction = match direction {
        walk::Direction::Out => wire::Direction::Out,
        walk::Direction::In => wire::Direction::In,
        walk::Direction::Both => wire::Direction::Both,
    };
    direction.into()
}

fn follow(
    way: i32,
    edges: Option<wire::EdgeFilter>,
    restriction: Option<wire::Filter>,
) -> Result<walk::FollowOptions, Status> {
    let wire::EdgeFilter { types, exclude_types, typed_only, inline_only, hierarchy } =
        edges.unwrap_or_default();
    Ok(walk::FollowOptions {
        direction: direction(way)?,
        edges: walk::EdgeFilter {
            types: link_types("edges.types", types)?,
            exclude_types: link_types("edges.exclude_types", exclude_types)?,
            typed_only,
            inline_only,
        },
        hierarchy,
        filter: filter(restriction)?,
    })
}

/// Converts link types, trimming whitespace.
fn link_types(field: &str, types: Vec<String>) -> Result<Vec<String>, Status> {
    let named = |kind: String| match kind.trim() {
        "" => Err(invalid(field, "a link type must not be empty")),
        kind => Ok(kind.to_owned()),
    };
    types.into_iter().map(named).collect()
}

pub(super) fn page_size(asked: Option<u32>) -> Result<usize, Status> {
    match asked {
        Some(0) => Err(invalid("page_size", "must be at least 1")),
        asked => Ok(size(asked.unwrap_or_default())),
    }
}

pub(crate) fn tree_request(request: wire::TreeRequest) -> Result<walk::TreeWalkRequest, Status> {
    let wire::TreeRequest {
        roots,
        direction,
        edges,
        filter,
        max_hops,
        max_nodes,
        max_edges,
        max_fanout,
        inverse_names,
        summaries,
        min_generation: _,
        as_of: _,
    } = request;
    Ok(walk::TreeWalkRequest {
        roots: all_named("roots", roots)?,
        follow: follow(direction, edges, filter)?,
        limits: walk::TreeLimits {
            max_hops: Some(max_hops.unwrap_or(TREE_HOPS)),
            max_nodes: max_nodes.map(size),
            max_edges: max_edges.map(size),
            max_fanout: max_fanout.map(size),
        },
        view: walk::ViewOptions { inverse_names, summaries },
    })
}

pub(crate) fn tree_response(answer: walk::TreeAnswer) -> wire::TreeResponse {
    let walk::TreeAnswer {
        roots,
        direction,
        max_hops,
        truncated_by,
        nodes,
        edges,
        spanning_tree,
        unresolved,
        unresolved_truncated,
        inverse_names,
        warnings,
        generation,
    } = answer;
    let spanning_tree = spanning_tree.into_iter().map(|walk::TreeStep { from, to, hop }| {
        wire::TreeEdge { from: from.to_string(), to: to.to_string(), hop }
    });
    wire::TreeResponse {
        root: roots.first().map(ToString::to_string).unwrap_or_default(),
        roots: roots.iter().map(ToString::to_string).collect(),
        direction: direction_of(direction),
        max_hops,
        truncated: !truncated_by.is_empty(),
        truncated_by: limits(truncated_by),
        nodes: nodes.into_iter().map(node).collect(),
        edges: edges.into_iter().map(edge).collect(),
        spanning_tree: spanning_tree.collect(),
        unresolved: unresolved.into_iter().map(unresolved_link).collect(),
        unresolved_truncated,
        inverse_names,
        generation,
        warnings: super::warnings(warnings),
    }
}

pub(crate) fn path_request(request: wire::PathRequest) -> Result<walk::PathWalkRequest, Status> {
    let wire::PathRequest {
        from,
        to,
        direction,
        edges,
        filter,
        max_hops,
        costs,
        inverse_names,
        summaries,
        min_generation: _,
        as_of: _,
    } = request;
    Ok(walk::PathWalkRequest {
        from: named("from", from)?,
        to: named("to", to)?,
        follow: follow(direction, edges, filter)?,
        max_hops: Some(max_hops.unwrap_or(PATH_HOPS)),
        costs: costs.map(path_costs),
        view: walk::ViewOptions { inverse_names, summaries },
    })
}

fn path_costs(costs: wire::PathCosts) -> walk::PathCosts {
    let wire::PathCosts { typed, inline, hierarchy, value_property } = costs;
    let defaults = walk::EdgeCosts::default();
    let edges = walk::EdgeCosts {
        typed: typed.unwrap_or(defaults.typed),
        inline: inline.unwrap_or(defaults.inline),
        hierarchy: hierarchy.unwrap_or(defaults.hierarchy),
    };
    walk::PathCosts { edges, value_property }
}

pub(crate) fn path_response(answer: walk::PathAnswer) -> wire::PathResponse {
    let walk::PathAnswer {
        from,
        to,
        direction,
        max_hops,
        found,
        cost,
        nodes,
        edges,
        truncated,
        inverse_names,
        warnings,
        generation,
    } = answer;
    wire::PathResponse {
        from: from.to_string(),
        to: to.to_string(),
        direction: direction_of(direction),
        max_hops,
        found,
        length: u32::try_from(edges.len()).unwrap_or(u32::MAX),
        cost,
        nodes: nodes.into_iter().map(node).collect(),
        edges: edges.into_iter().map(edge).collect(),
        truncated,
        inverse_names,
        generation,
        warnings: super::warnings(warnings),
    }
}

pub(crate) fn neighbors_request(
    request: wire::NeighborsRequest,
) -> Result<walk::NeighborsRequest, Status> {
    let wire::NeighborsRequest {
        note,
        direction,
        edges,
        filter,
        max_nodes,
        inverse_names,
        min_generation: _,
        as_of: _,
    } = request;
    Ok(walk::NeighborsRequest {
        note: named("note", note)?,
        follow: follow(direction, edges, filter)?,
        max_nodes: max_nodes.map(size),
        view: walk::ViewOptions { inverse_names, summaries: false },
    })
}

pub(crate) fn neighbors_response(answer: walk::NeighborsAnswer) -> wire::NeighborsResponse {
    let walk::NeighborsAnswer {
        root: engine::NoteRef { uri, title },
        direction,
        degrees: own,
        nodes,
        truncated,
        inverse_names,
        warnings,
        generation,
    } = answer;
    let nodes = nodes.into_iter().map(|walk::Neighbor { note, degrees: own, edges }| {
        let walk::WalkNode { id, title, note_type, tags, path, hop: _, summary: _ } = note;
        wire::Neighbor {
            id: id.to_string(),
            title,
            r#type: note_type,
            tags,
            path,
            degrees: Some(degrees(own)),
            edges: edges.into_iter().map(edge).collect(),
        }
    });
    wire::NeighborsResponse {
        root: uri.to_string(),
        title,
        direction: direction_of(direction),
        degrees: Some(degrees(own)),
        nodes: nodes.collect(),
        truncated,
        inverse_names,
        generation,
        warnings: super::warnings(warnings),
    }
}

pub(crate) fn subgraph_request(
    request: wire::SubgraphRequest,
) -> Result<walk::SubgraphRequest, Status> {
    let wire::SubgraphRequest {
        notes,
        filter,
        edges,
        max_nodes,
        max_edges,
        min_generation: _,
        as_of: _,
    } = request;
    let walk::FollowOptions { direction: _, edges, hierarchy, filter } =
        follow(wire::Direction::Both.into(), edges, filter)?;
    Ok(walk::SubgraphRequest {
        notes: all_named("notes", notes)?,
        filter,
        edges,
        hierarchy,
        max_nodes: max_nodes.map(size),
        max_edges: max_edges.map(size),
    })
}

pub(crate) fn subgraph_response(answer: walk::SubgraphAnswer) -> wire::SubgraphResponse {
    let walk::SubgraphAnswer { nodes, edges, truncated_by, warnings, generation } = answer;
    wire::SubgraphResponse {
        nodes: nodes.into_iter().map(node).collect(),
        edges: edges.into_iter().map(edge).collect(),
        truncated: !truncated_by.is_empty(),
        truncated_by: limits(truncated_by),
        generation,
        warnings: super::warnings(warnings),
    }
}

pub(crate) fn cycles_request(request: wire::CyclesRequest) -> Result<walk::CyclesRequest, Status> {
    let wire::CyclesRequest { edges, filter, max_length, max_cycles, min_generation: _, as_of: _ } =
        request;
    Ok(walk::CyclesRequest {
        follow: follow(wire::Direction::Out.into(), edges, filter)?,
        max_length,
        max_cycles: max_cycles.map(size),
    })
}

pub(crate) fn cycles_response(answer: walk::CyclesAnswer) -> wire::CyclesResponse {
    let walk::CyclesAnswer { cycles, truncated, warnings, generation } = answer;
    let cycles = cycles.into_iter().map(|walk::LinkCycle { nodes, edges }| wire::Cycle {
        nodes: nodes.into_iter().map(reference).collect(),
        edges: edges.into_iter().map(edge).collect(),
    });
    wire::CyclesResponse {
        cycles: cycles.collect(),
        truncated,
        generation,
        warnings: super::warnings(warnings),
    }
}

pub(crate) fn orphans_request(
    request: wire::OrphansRequest,
) -> Result<walk::OrphansRequest, Status> {
    let wire::OrphansRequest {
        direction: way,
        filter: restriction,
        page_size: n,
        page_token,
        min_generation: _,
        as_of: _,
    } = request;
    Ok(walk::OrphansRequest {
        direction: direction(way)?,
        filter: filter(restriction)?,
        page_size: page_size(n)?,
        page_token,
    })
}

pub(crate) fn orphans_response(answer: engine::ListAnswer) -> wire::OrphansResponse {
    let engine::ListAnswer { notes, next_page_token, total, warnings, generation } = answer;
    wire::OrphansResponse {
        notes: notes.into_iter().map(summary).collect(),
        next_page_token,
        total: count(total),
        generation,
        warnings: super::warnings(warnings),
    }
}

pub(crate) fn unresolved_request(
    request: wire::UnresolvedRequest,
) -> Result<walk::UnresolvedRequest, Status> {
    let wire::UnresolvedRequest {
        filter: restriction,
        page_size: n,
        page_token,
        min_generation: _,
        as_of: _,
    } = request;
    Ok(walk::UnresolvedRequest {
        filter: filter(restriction)?,
        page_size: page_size(n)?,
        page_token,
    })
}

pub(crate) fn unresolved_response(answer: walk::UnresolvedAnswer) -> wire::UnresolvedResponse {
    let walk::UnresolvedAnswer {
        unresolved,
        next_page_token,
        total,
        n_targets,
        warnings,
        generation,
    } = answer;
    wire::UnresolvedResponse {
        unresolved: unresolved.into_iter().map(unresolved_link).collect(),
        next_page_token,
        total: count(total),
        target_count: count(n_targets),
        generation,
        warnings: super::warnings(warnings),
    }
}

fn limits(limits: Vec<walk::LimitKind>) -> Vec<i32> {
    let limits = limits.into_iter().map(|limit| match limit {
        walk::LimitKind::MaxHops => wire::Limit::MaxHops,
        walk::LimitKind::MaxNodes => wire::Limit::MaxNodes,
        walk::LimitKind::MaxEdges => wire::Limit::MaxEdges,
        walk::LimitKind::MaxFanout => wire::Limit::MaxFanout,
    });
    limits.map(Into::into).collect()
}

fn node(node: walk::WalkNode) -> wire::WalkNode {
    let walk::WalkNode { id, title, note_type, tags, path, hop, summary } = node;
    wire::WalkNode { id: id.to_string(), title, r#type: note_type, tags, path, hop, summary }
}

fn edge(edge: walk::WalkEdge) -> wire::WalkEdge {
    let walk::WalkEdge { from, to, kind, source } = edge;
    let source = match source {
        walk::EdgeSource::Typed => wire::EdgeSource::Typed,
        walk::EdgeSource::Inline => wire::EdgeSource::Inline,
        walk::EdgeSource::Hierarchy => wire::EdgeSource::Hierarchy,
    };
    wire::WalkEdge {
        from: from.to_string(),
        to: to.to_string(),
        r#type: kind,
        source: source.into(),
    }
}

fn unresolved_link(link: walk::UnresolvedEdge) -> wire::UnresolvedLink {
    let walk::UnresolvedEdge { from, target } = link;
    wire::UnresolvedLink { from: from.to_string(), target: target.to_string() }
}

const fn degrees(degrees: walk::Degrees) -> wire::Degrees {
    let walk::Degrees { inbound, outgoing, both } = degrees;
    wire::Degrees { r#in: inbound, out: outgoing, both }
}
