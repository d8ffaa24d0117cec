//! Messages of GraphService.

use weft_engine as engine;
use weft_proto::noteweft::v1 as wire;

use super::source;

pub(crate) fn export_node(node: engine::ExportNode) -> wire::ExportNode {
    let engine::ExportNode { id, title, path, note_type, tags, placeholder } = node;
    wire::ExportNode { id: id.to_string(), title, path, r#type: note_type, tags, placeholder }
}

pub(crate) fn export_edge(edge: engine::ExportEdge) -> wire::ExportEdge {
    let engine::ExportEdge { from, to, kind, source: origin } = edge;
    wire::ExportEdge {
        from: from.to_string(),
        to: to.to_string(),
        r#type: kind,
        source: source(origin).into(),
    }
}
