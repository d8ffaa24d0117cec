//! Trees and paths as line records: header fields of a request, and records of its answer.

use weft_graph::walk::records::{EdgeRecord, Field, NoteRecord, RecordHeader, records};
use weft_model::Chars;
use weft_proto::noteweft::v1::{
    Direction, EdgeFilter, EdgeSource, Filter, NoteKind, PathCosts, PathRequest, PathResponse,
    TreeRequest, TreeResponse, WalkEdge, WalkNode, Within,
};

/// Fields of a header, named like the flags.
type Fields = Vec<(&'static str, Field)>;

/// Returns the header fields of a tree request that its response does not repeat.
pub(crate) fn tree_fields(request: &TreeRequest) -> Fields {
    let TreeRequest {
        roots: _,
        direction: _,
        edges,
        filter,
        max_hops: _,
        max_nodes,
        max_edges,
        max_fanout,
        inverse_names: _,
        summaries: _,
        min_generation: _,
        as_of: _,
    } = request;
    let limits = [("max_nodes", max_nodes), ("max_edges", max_edges), ("max_fanout", max_fanout)];
    let mut fields = Fields::new();
    fields.extend(limits.into_iter().filter_map(|(name, limit)| number(name, *limit)));
    fields.extend(edges.iter().flat_map(edge_fields));
    fields.extend(filter.iter().flat_map(filter_fields));
    fields
}

/// Returns the header fields of a path request that its response does not repeat.
pub(crate) fn path_fields(request: &PathRequest) -> Fields {
    let PathRequest {
        from: _,
        to: _,
        direction: _,
        edges,
        filter,
        max_hops: _,
        costs,
        inverse_names: _,
        summaries: _,
        min_generation: _,
        as_of: _,
    } = request;
    let mut fields = Fields::new();
    if let Some(PathCosts { typed, inline, hierarchy, value_property }) = costs {
        fields.extend(flag("cheapest", true));
        let costs = [("typed_cost", typed), ("inline_cost", inline), ("hierarchy_cost", hierarchy)];
        fields.extend(costs.into_iter().filter_map(|(name, cost)| number(name, *cost)));
        fields.extend(value_property.iter().map(|key| text("value_property", key)));
    }
    fields.extend(edges.iter().flat_map(edge_fields));
    fields.extend(filter.iter().flat_map(filter_fields));
    fields
}

fn edge_fields(edges: &EdgeFilter) -> Fields {
    let EdgeFilter { types, exclude_types, typed_only, inline_only, hierarchy } = edges;
    let mut fields = texts("type", types);
    fields.extend(texts("exclude_type", exclude_types));
    fields.extend(flag("typed_only", *typed_only));
    fields.extend(flag("inline_only", *inline_only));
    fields.extend(flag("hierarchy", *hierarchy));
    fields
}

fn filter_fields(filter: &Filter) -> Fields {
    let Filter {
        vaults,
        paths,
        tags,
        types,
        properties,
        after,
        before,
        linked_to,
        linked_from,
        within,
        excluded,
        kinds: _,
    } = filter;
    let mut fields = texts("vault", vaults);
    fields.extend(texts("path", paths));
    fields.extend(texts("tag", tags));
    fields.extend(texts("note_type", types));
    fields.extend(filter.kinds().map(|kind| ("kind", Field::Word(kind_name(kind)))));
    fields.extend(properties.iter().map(|wanted| text("where", &wanted.to_string())));
    fields.extend(after.iter().map(|date| text("after", date)));
    fields.extend(before.iter().map(|date| text("before", date)));
    fields.extend(texts("linked_to", linked_to));
    fields.extend(texts("linked_from", linked_from));
    let near = |Within { note, hops }: &Within| text("within", &format!("{note}:{hops}"));
    fields.extend(within.iter().map(near));
    fields.extend(texts("exclude", excluded));
    fields
}

fn kind_name(kind: NoteKind) -> String {
    kind.as_str_name().trim_start_matches("NOTE_KIND_").to_lowercase()
}

fn texts(name: &'static str, values: &[String]) -> Fields {
    values.iter().map(|value| text(name, value)).collect()
}

fn text(name: &'static str, value: &str) -> (&'static str, Field) {
    (name, Field::Text(value.to_owned()))
}

fn number(name: &'static str, value: Option<u32>) -> Option<(&'static str, Field)> {
    Some((name, Field::Word(value?.to_string())))
}

fn flag(name: &'static str, is_set: bool) -> Option<(&'static str, Field)> {
    is_set.then(|| (name, Field::Word(is_set.to_string())))
}

/// Formats a tree as records, with a header that includes the fields of the request in `requested`.
pub(crate) fn tree_records(
    requested: Fields,
    answer: &TreeResponse,
    max_chars: Option<Chars>,
) -> String {
    let mut fields = texts("root", &answer.roots);
    fields.push(("direction", direction(answer.direction())));
    fields.extend(number("max_hops", answer.max_hops));
    fields.extend(requested);
    let header = RecordHeader { mode: "tree".to_owned(), fields, truncated: answer.truncated };
    to_records(&header, &answer.nodes, &answer.edges, max_chars)
}

/// Formats a path as records, with a header that includes the fields of the request in `requested`.
pub(crate) fn path_records(
    requested: Fields,
    answer: &PathResponse,
    max_chars: Option<Chars>,
) -> String {
    let mut fields = vec![text("from", &answer.from), text("to", &answer.to)];
    fields.push(("direction", direction(answer.direction())));
    fields.extend(number("max_hops", answer.max_hops));
    fields.extend(requested);
    fields.push(("found", Field::Word(answer.found.to_string())));
    fields.push(("length", Field::Word(answer.length.to_string())));
    let header = RecordHeader { mode: "path".to_owned(), fields, truncated: answer.truncated };
    to_records(&header, &answer.nodes, &answer.edges, max_chars)
}

fn direction(direction: Direction) -> Field {
    let name = match direction {
        Direction::Out => "out",
        Direction::In => "in",
        Direction::Both | Direction::Unspecified => "both",
    };
    Field::Word(name.to_owned())
}

fn to_records(
    header: &RecordHeader,
    nodes: &[WalkNode],
    edges: &[WalkEdge],
    max_chars: Option<Chars>,
) -> String {
    let nodes = nodes.iter().map(|node| NoteRecord {
        id: &node.id,
        note_type: node.r#type.as_deref(),
        title: &node.title,
        tags: &node.tags,
        summary: node.summary.as_deref(),
    });
    let edges = edges.iter().map(|edge| EdgeRecord {
        from: &edge.from,
        kind: &edge.r#type,
        to: &edge.to,
        source: match edge.source() {
            EdgeSource::Typed => "typed",
            EdgeSource::Inline => "inline",
            EdgeSource::Hierarchy => "hierarchy",
            EdgeSource::Unspecified => "unknown",
        },
    });
    records(header, nodes, edges, max_chars)
}
