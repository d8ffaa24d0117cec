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

pub(crate) fn note_change(change: engine::NoteChange) -> wire::NoteChange {
    let engine::NoteChange { kind, now, before, parts } = change;
    let engine::NoteName { uri, vault, path, title } = now;
    wire::NoteChange {
        kind: match kind {
            engine::NoteChangeKind::Added => wire::NoteChangeKind::Added,
            engine::NoteChangeKind::Removed => wire::NoteChangeKind::Removed,
            engine::NoteChangeKind::Moved => wire::NoteChangeKind::Moved,
            engine::NoteChangeKind::Changed => wire::NoteChangeKind::Changed,
        }
        .into(),
        uri: uri.to_string(),
        vault,
        path,
        title,
        before: before.map(|before| {
            let engine::NoteName { uri, vault, path, title } = before;
            wire::NoteName { uri: uri.to_string(), vault, path, title }
        }),
        parts: parts.into_iter().map(|part| note_part(part).into()).collect(),
    }
}

const fn note_part(part: engine::NotePart) -> wire::NotePart {
    match part {
        engine::NotePart::Uri => wire::NotePart::Uri,
        engine::NotePart::Title => wire::NotePart::Title,
        engine::NotePart::Text => wire::NotePart::Text,
        engine::NotePart::Frontmatter => wire::NotePart::Frontmatter,
        engine::NotePart::Aliases => wire::NotePart::Aliases,
        engine::NotePart::Tags => wire::NotePart::Tags,
        engine::NotePart::Type => wire::NotePart::Type,
        engine::NotePart::Parent => wire::NotePart::Parent,
        engine::NotePart::Object => wire::NotePart::Object,
    }
}

pub(crate) fn link_change(change: engine::LinkChange) -> wire::LinkChange {
    let engine::LinkChange { from, to, kind, source: origin, change, before } = change;
    wire::LinkChange {
        from: from.to_string(),
        to: to.to_string(),
        r#type: kind,
        source: source(origin).into(),
        kind: match change {
            engine::LinkChangeKind::Added => wire::LinkChangeKind::Added,
            engine::LinkChangeKind::Removed => wire::LinkChangeKind::Removed,
            engine::LinkChangeKind::Resolved => wire::LinkChangeKind::Resolved,
            engine::LinkChangeKind::Unresolved => wire::LinkChangeKind::Unresolved,
            engine::LinkChangeKind::Retargeted => wire::LinkChangeKind::Retargeted,
        }
        .into(),
        before: before.map(|before| before.to_string()),
    }
}
