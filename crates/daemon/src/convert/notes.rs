//! Messages of NoteService.

use std::collections::BTreeMap;

use prost_types::value::Kind;
use prost_types::{ListValue, Struct};
use tonic::Status;
use weft_engine as engine;
use weft_indexer::FilePosition;
use weft_model::{Span, Value};
use weft_proto::noteweft::v1 as wire;

use super::{count, filter, kind_of, open_links, size, source};
use crate::config::NoteOpener;
use crate::status::invalid;

/// Reason why a blank name is invalid.
const NO_NAME: &str = "must name a note: a uri, path, name, alias or title";

pub(crate) fn note_request(request: wire::GetNoteRequest) -> Result<engine::NoteRequest, Status> {
    let wire::GetNoteRequest { name, max_links, min_generation: _, as_of: _ } = request;
    if name.trim().is_empty() {
        return Err(invalid("name", NO_NAME));
    }
    if max_links == Some(0) {
        return Err(invalid("max_links", "must be at least 1"));
    }
    Ok(engine::NoteRequest { name, max_links: size(max_links.unwrap_or_default()) })
}

pub(crate) fn place_request(
    request: wire::LocateNoteRequest,
) -> Result<engine::PlaceRequest, Status> {
    let wire::LocateNoteRequest { name, offset, min_generation: _ } = request;
    if name.trim().is_empty() {
        return Err(invalid("name", NO_NAME));
    }
    Ok(engine::PlaceRequest { name, offset })
}

pub(crate) fn list_request(request: wire::ListNotesRequest) -> Result<engine::ListRequest, Status> {
    let wire::ListNotesRequest {
        filter: restriction,
        page_size,
        page_token,
        min_generation: _,
        as_of: _,
    } = request;
    if page_size == Some(0) {
        return Err(invalid("page_size", "must be at least 1"));
    }
    let page_size = size(page_size.unwrap_or_default());
    Ok(engine::ListRequest { filter: filter(restriction)?, page_size, page_token })
}

pub(crate) fn list_response(answer: engine::ListAnswer) -> wire::ListNotesResponse {
    let engine::ListAnswer { notes, next_page_token, total, warnings, generation } = answer;
    wire::ListNotesResponse {
        notes: notes.into_iter().map(summary).collect(),
        next_page_token,
        total: count(total),
        generation,
        warnings: super::warnings(warnings),
    }
}

pub(crate) fn resolve_response(answer: engine::ResolveAnswer) -> wire::ResolveLinkResponse {
    let engine::ResolveAnswer {
        target,
        uri,
        path,
        rule,
        candidates,
        suggestions,
        warnings,
        generation,
    } = answer;
    wire::ResolveLinkResponse {
        target,
        uri: uri.map(|uri| uri.to_string()),
        path,
        rule,
        candidates: candidates.into_iter().map(reference).collect(),
        suggestions: suggestions.iter().map(ToString::to_string).collect(),
        warnings: super::warnings(warnings),
        generation,
    }
}

pub(crate) fn note_response(answer: engine::NoteAnswer) -> wire::GetNoteResponse {
    let truncated = answer.is_truncated();
    let engine::NoteAnswer {
        uri,
        vault,
        path,
        title,
        aliases,
        tags,
        note_type,
        properties,
        order,
        parent,
        object,
        contextual_path,
        children,
        n_children,
        headings,
        blocks,
        links,
        n_links,
        backlinks,
        n_backlinks,
        body,
        embedding_current,
        hash,
        generation,
        same_name,
        section,
        warnings,
    } = answer;
    let headings = headings.into_iter().map(|heading| {
        let weft_model::Heading { level, text, span: Span { start, end } } = heading;
        wire::Heading { level: u32::from(level), text, start, end }
    });
    let blocks = blocks.into_iter().map(|block| {
        let weft_model::Block { id, span: Span { start, end } } = block;
        wire::Block { id, start, end }
    });
    wire::GetNoteResponse {
        uri: uri.to_string(),
        kind: kind_of(&path),
        vault,
        path,
        title,
        aliases,
        tags,
        r#type: note_type,
        properties: Some(object_of(properties)),
        order,
        parent: parent.map(reference),
        object: object.map(reference),
        contextual_path: contextual_path.into_iter().map(reference).collect(),
        children: children.into_iter().map(reference).collect(),
        headings: headings.collect(),
        blocks: blocks.collect(),
        links: links.into_iter().map(link).collect(),
        backlinks: backlinks.into_iter().map(link).collect(),
        body,
        embedding_current,
        hash: format!("{hash:?}"),
        generation,
        same_name: same_name.into_iter().map(reference).collect(),
        child_count: count(n_children),
        link_count: count(n_links),
        backlink_count: count(n_backlinks),
        truncated,
        section: section.map(span),
        warnings: super::warnings(warnings),
    }
}

/// Converts the place of a note whose part is at `position` in its file.
pub(crate) fn place_response(
    answer: engine::PlaceAnswer,
    position: FilePosition,
    opener: &NoteOpener,
) -> wire::LocateNoteResponse {
    let engine::PlaceAnswer {
        uri,
        vault,
        path,
        fragment,
        offset: _,
        hash,
        same_name,
        warnings,
        generation,
    } = answer;
    let FilePosition { file, line, column, hash: current } = position;
    let file = file.to_string_lossy().into_owned();
    let open_with = match opener {
        NoteOpener::Editor | NoteOpener::Command(_) => wire::OpenWith::Editor,
        NoteOpener::VsCode => wire::OpenWith::Vscode,
        NoteOpener::Obsidian => wire::OpenWith::Obsidian,
    };
    wire::LocateNoteResponse {
        uri: uri.to_string(),
        vault,
        path,
        vscode_url: open_links::vscode(&file, line, column),
        obsidian_url: open_links::obsidian(&file, fragment.as_deref()),
        file,
        line,
        column,
        open_with: open_with.into(),
        changed: hash != current,
        same_name: same_name.into_iter().map(reference).collect(),
        warnings: super::warnings(warnings),
        generation,
    }
}

pub(super) fn summary(note: engine::ListedNote) -> wire::NoteSummary {
    let engine::ListedNote { uri, vault, path, title, note_type, tags } = note;
    wire::NoteSummary {
        uri: uri.to_string(),
        kind: kind_of(&path),
        vault,
        path,
        title,
        r#type: note_type,
        tags,
    }
}

pub(super) fn reference(note: engine::NoteRef) -> wire::NoteRef {
    let engine::NoteRef { uri, title } = note;
    wire::NoteRef { uri: uri.to_string(), title }
}

fn link(link: engine::NoteLink) -> wire::LinkView {
    let engine::NoteLink { kind, source: origin, target, uri, resolved, fragment, display, span } =
        link;
    wire::LinkView {
        r#type: kind,
        source: source(origin).into(),
        target,
        uri: uri.map(|uri| uri.to_string()),
        resolved,
        fragment,
        display,
        span: span.map(self::span),
    }
}

const fn span(Span { start, end }: Span) -> wire::Span {
    wire::Span { start, end }
}

pub(super) fn object_of(fields: BTreeMap<String, Value>) -> Struct {
    Struct { fields: fields.into_iter().map(|(key, value)| (key, open(value))).collect() }
}

fn open(value: Value) -> prost_types::Value {
    let kind = match value {
        Value::Null => Kind::NullValue(0),
        Value::Bool { text: _, value } => Kind::BoolValue(value),
        Value::Number { text: _, value } => Kind::NumberValue(value),
        Value::Text(text) => Kind::StringValue(text),
        Value::List(items) => {
            Kind::ListValue(ListValue { values: items.into_iter().map(open).collect() })
        }
        Value::Map(fields) => Kind::StructValue(object_of(fields)),
    };
    prost_types::Value { kind: Some(kind) }
}
