//! The graph as GraphML or DOT: rebuilds a graph from the lists of the response and writes it.

use std::collections::HashMap;
use std::sync::Arc;

use weft_graph::walk::export::{ExportFormat, NoteFields, write};
use weft_graph::{NodeSpec, NoteGraph};
use weft_model::{LinkSource, NoteId};
use weft_proto::noteweft::v1::{ExportEdge, ExportNode, ExportResponse, LinkSource as WireSource};

/// Formats `answer` as `format`.
pub(crate) fn to_text(answer: &ExportResponse, format: ExportFormat) -> String {
    let ExportResponse { nodes, edges, generation, warnings: _ } = answer;
    let at: HashMap<&str, NoteId> =
        nodes.iter().map(|node| node.id.as_str()).zip((0..).map(NoteId::new)).collect();
    let mut links: HashMap<&str, Vec<_>> = HashMap::new();
    for edge in edges {
        let source = match edge.source() {
            WireSource::Typed => LinkSource::Typed,
            WireSource::Inline | WireSource::Unspecified => LinkSource::Inline,
        };
        let ExportEdge { from, to, r#type, source: _ } = edge;
        if let Some(to) = at.get(to.as_str()) {
            links.entry(from).or_default().push((*to, Arc::<str>::from(r#type.as_str()), source));
        }
    }
    let graph = NoteGraph::build((0..).map(NoteId::new).zip(nodes).map(|(id, node)| {
        let ExportNode { id: uri, placeholder, .. } = node;
        let links = links.remove(uri.as_str()).unwrap_or_default();
        let spec = NodeSpec { links, placeholder: *placeholder, ..NodeSpec::note(uri) };
        (id, spec)
    }));
    let fields = |id: NoteId| {
        nodes.get(id.index()).map_or_else(NoteFields::default, |node| NoteFields {
            title: Some(&node.title),
            path: node.path.as_deref(),
            note_type: node.r#type.as_deref(),
            tags: &node.tags,
        })
    };
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write(&graph, format, *generation, fields, &mut text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_and_edges_are_kept() {
        let node = |id: &str, placeholder| ExportNode {
            id: id.into(),
            title: id.to_uppercase(),
            placeholder,
            ..ExportNode::default()
        };
        let edge = ExportEdge {
            from: "a".into(),
            to: "b".into(),
            r#type: "topics".into(),
            source: WireSource::Typed.into(),
        };
        let answer = ExportResponse {
            nodes: vec![node("a", false), node("b", true)],
            edges: vec![edge],
            generation: 3,
            warnings: Vec::new(),
        };
        let dot = to_text(&answer, ExportFormat::Dot);
        assert!(
            dot.contains(r#""a" [label="A"];"#) && dot.contains(r#""a" -> "b" [label="topics"];"#),
            "{dot}"
        );
        let xml = to_text(&answer, ExportFormat::GraphMl);
        assert!(xml.contains(r#"<data key="placeholder">true</data>"#), "{xml}");
    }
}
