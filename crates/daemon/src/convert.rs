//! Domain types to messages of the contract, and requests back.
//!
//! Every conversion names every field, so a new one asks here for its place on the wire.

use std::collections::BTreeMap;
use std::time::Instant;

use prost_types::value::Kind;
use prost_types::{ListValue, Struct};
use tonic::Status;
use weft_engine as engine;
use weft_index::embedder::ModelIdentity;
use weft_indexer as indexer;
use weft_model::{LinkSource, Severity, Span, Value};
use weft_proto::noteweft::v1 as wire;

use crate::status::invalid;

/// Hits where the request does not say.
const LIMIT: u32 = 10;

pub(crate) fn filter(filter: Option<wire::Filter>) -> Result<engine::Filter, Status> {
    let wire::Filter {
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
    } = filter.unwrap_or_default();
    if let Some(place) = within.iter().find(|place| place.hops == 0) {
        let reason = format!("`{}` needs at least 1 hop", place.note);
        return Err(invalid("filter.within.hops", &reason));
    }
    Ok(engine::Filter {
        vaults,
        paths,
        tags,
        types,
        properties: properties
            .into_iter()
            .map(|wire::PropertyMatch { key, value }| (key, value))
            .collect(),
        after,
        before,
        linked_to,
        linked_from,
        within: within.into_iter().map(|wire::Within { note, hops }| (note, hops)).collect(),
    })
}

pub(crate) fn search_request(
    request: wire::SearchRequest,
    deadline: Instant,
) -> Result<engine::SearchRequest, Status> {
    let mode = match request.mode() {
        wire::SearchMode::Unspecified | wire::SearchMode::Hybrid => engine::SearchMode::Hybrid,
        wire::SearchMode::Vector => engine::SearchMode::Vector,
        wire::SearchMode::Keyword => engine::SearchMode::Keyword,
    };
    let wire::SearchRequest { query, limit, mode: number, filter: restriction } = request;
    if wire::SearchMode::try_from(number).is_err() {
        return Err(invalid("mode", &format!("{number} is no mode")));
    }
    if query.trim().is_empty() {
        return Err(invalid("query", "say what to look for"));
    }
    Ok(engine::SearchRequest {
        query,
        limit: size(limit.unwrap_or(LIMIT)),
        mode,
        filter: filter(restriction)?,
        deadline: Some(deadline),
    })
}

pub(crate) fn search_response(answer: engine::SearchAnswer) -> wire::SearchResponse {
    let engine::SearchAnswer { hits, generation, truncated, degraded } = answer;
    wire::SearchResponse {
        hits: hits.into_iter().map(hit).collect(),
        generation,
        truncated,
        degraded,
    }
}

fn hit(hit: engine::Hit) -> wire::Hit {
    let engine::Hit {
        uri,
        path,
        vault,
        title,
        score,
        vector_score,
        keyword_score,
        origin,
        via,
        fresh,
        signals: own_signals,
        contributions,
        snippets,
    } = hit;
    let origin = match origin {
        engine::Origin::Vector => wire::Origin::Vector,
        engine::Origin::Keyword => wire::Origin::Keyword,
        engine::Origin::Both => wire::Origin::Both,
        engine::Origin::Expanded => wire::Origin::Expanded,
    };
    wire::Hit {
        uri: uri.to_string(),
        path,
        vault,
        title,
        score,
        signals: Some(signals(own_signals)),
        contributions: Some(signals(contributions)),
        vector_score,
        keyword_score,
        origin: origin.into(),
        via,
        fresh,
        snippets: snippets.into_iter().map(snippet).collect(),
    }
}

fn signals(signals: engine::Signals) -> wire::Signals {
    let engine::Signals { similarity, centrality, activation } = signals;
    wire::Signals { similarity, centrality, activation }
}

fn snippet(snippet: engine::Snippet) -> wire::Snippet {
    let engine::Snippet { text, start, end, matches, heading_path } = snippet;
    let matches = matches.into_iter().map(|(start, end)| wire::Span { start, end }).collect();
    wire::Snippet { text, start, end, heading_path, matches }
}

pub(crate) fn list_request(request: wire::ListNotesRequest) -> Result<engine::ListRequest, Status> {
    let wire::ListNotesRequest { filter: restriction, page_size, page_token } = request;
    if page_size == Some(0) {
        return Err(invalid("page_size", "a page has at least 1 note"));
    }
    let page_size = size(page_size.unwrap_or_default());
    Ok(engine::ListRequest { filter: filter(restriction)?, page_size, page_token })
}

pub(crate) fn list_response(answer: engine::ListAnswer) -> wire::ListNotesResponse {
    let engine::ListAnswer { notes, next_page_token, total, generation } = answer;
    let notes = notes.into_iter().map(|note| {
        let engine::NoteSummary { uri, vault, path, title, note_type, tags } = note;
        wire::NoteSummary { uri: uri.to_string(), vault, path, title, r#type: note_type, tags }
    });
    wire::ListNotesResponse {
        notes: notes.collect(),
        next_page_token,
        total: count(total),
        generation,
    }
}

pub(crate) fn resolve_response(answer: engine::ResolveAnswer) -> wire::ResolveLinkResponse {
    let engine::ResolveAnswer { target, uri, path, rule, candidates, near, generation } = answer;
    wire::ResolveLinkResponse {
        target,
        uri: uri.map(|uri| uri.to_string()),
        path,
        rule,
        candidates: candidates.into_iter().map(reference).collect(),
        near: near.iter().map(ToString::to_string).collect(),
        generation,
    }
}

pub(crate) fn note_response(answer: engine::NoteAnswer) -> wire::GetNoteResponse {
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
        headings,
        links,
        backlinks,
        body,
        fresh,
        generation,
    } = answer;
    let headings = headings.into_iter().map(|heading| {
        let weft_model::Heading { level, text, span: Span { start, end } } = heading;
        wire::Heading { level: u32::from(level), text, start, end }
    });
    wire::GetNoteResponse {
        uri: uri.to_string(),
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
        links: links.into_iter().map(link).collect(),
        backlinks: backlinks.into_iter().map(link).collect(),
        body,
        fresh,
        generation,
    }
}

fn reference(note: engine::NoteRef) -> wire::NoteRef {
    let engine::NoteRef { uri, title } = note;
    wire::NoteRef { uri: uri.to_string(), title }
}

fn link(link: engine::LinkView) -> wire::LinkView {
    let engine::LinkView { kind, source: origin, target, uri, resolved, fragment, display, span } =
        link;
    wire::LinkView {
        r#type: kind,
        source: source(origin).into(),
        target,
        uri: uri.map(|uri| uri.to_string()),
        resolved,
        fragment,
        display,
        span: span.map(|Span { start, end }| wire::Span { start, end }),
    }
}

const fn source(source: LinkSource) -> wire::LinkSource {
    match source {
        LinkSource::Typed => wire::LinkSource::Typed,
        LinkSource::Inline => wire::LinkSource::Inline,
    }
}

fn object_of(fields: BTreeMap<String, Value>) -> Struct {
    Struct { fields: fields.into_iter().map(|(key, value)| (key, open(value))).collect() }
}

fn open(value: Value) -> prost_types::Value {
    let kind = match value {
        Value::Null => Kind::NullValue(0),
        Value::Bool(value) => Kind::BoolValue(value),
        Value::Number { text: _, value } => Kind::NumberValue(value),
        Value::Text(text) => Kind::StringValue(text),
        Value::List(items) => {
            Kind::ListValue(ListValue { values: items.into_iter().map(open).collect() })
        }
        Value::Map(fields) => Kind::StructValue(object_of(fields)),
    };
    prost_types::Value { kind: Some(kind) }
}

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

pub(crate) fn status_response(status: indexer::IndexStatus) -> wire::StatusResponse {
    let indexer::IndexStatus {
        generation,
        phase: at,
        vaults,
        n_notes,
        n_placeholders,
        n_links,
        n_unresolved,
        n_chunks,
        n_vectors_pending,
        vectors_per_second,
        seconds_left,
        n_files_done,
        n_files_total,
        embedder,
        notices,
        last_error,
        store,
        store_bytes,
    } = status;
    let vaults = vaults.into_iter().map(|vault| {
        let indexer::VaultStatus {
            name,
            root,
            n_notes,
            n_links,
            n_resolved,
            n_ambiguous,
            n_skipped,
            n_failed,
        } = vault;
        wire::VaultStatus {
            name,
            root,
            n_notes: count(n_notes),
            n_links: count(n_links),
            n_resolved: count(n_resolved),
            n_ambiguous: count(n_ambiguous),
            n_skipped: count(n_skipped),
            n_failed: count(n_failed),
        }
    });
    wire::StatusResponse {
        generation,
        phase: phase(at).into(),
        vaults: vaults.collect(),
        n_notes: count(n_notes),
        n_placeholders: count(n_placeholders),
        n_links: count(n_links),
        n_unresolved: count(n_unresolved),
        n_chunks: count(n_chunks),
        n_vectors_pending: count(n_vectors_pending),
        vectors_per_second,
        seconds_left,
        n_files_done: count(n_files_done),
        n_files_total: count(n_files_total),
        model: embedder.map(|identity| {
            let ModelIdentity { model, dimension, runner, pooling } = identity;
            let dimension = u32::try_from(dimension).unwrap_or(u32::MAX);
            wire::Model { name: model, dimension, runner, pooling }
        }),
        notices,
        last_error,
        store: store.display().to_string(),
        store_bytes,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

const fn phase(phase: indexer::Phase) -> wire::Phase {
    match phase {
        indexer::Phase::Opening => wire::Phase::Opening,
        indexer::Phase::Scanning => wire::Phase::Scanning,
        indexer::Phase::Indexing => wire::Phase::Indexing,
        indexer::Phase::Embedding => wire::Phase::Embedding,
        indexer::Phase::Ready => wire::Phase::Ready,
    }
}

pub(crate) fn progress(status: &indexer::IndexStatus, done: bool) -> wire::ReindexResponse {
    wire::ReindexResponse {
        phase: phase(status.phase).into(),
        n_files_done: count(status.n_files_done),
        n_files_total: count(status.n_files_total),
        n_vectors_pending: count(status.n_vectors_pending),
        done,
        generation: status.generation,
    }
}

pub(crate) fn file_coverage(file: indexer::FileCoverage) -> wire::FileCoverage {
    let indexer::FileCoverage {
        vault,
        path,
        state,
        reason,
        uri,
        hash,
        modified_ns,
        n_chunks,
        n_links,
        unresolved,
        diagnostics,
    } = file;
    let state = match state {
        indexer::FileState::Indexed => wire::FileState::Indexed,
        indexer::FileState::Pending => wire::FileState::Pending,
        indexer::FileState::Skipped => wire::FileState::Skipped,
        indexer::FileState::Failed => wire::FileState::Failed,
    };
    let diagnostics = diagnostics.into_iter().map(|diagnostic| {
        let weft_model::Diagnostic { severity, code, message, line } = diagnostic;
        let severity = match severity {
            Severity::Notice => wire::Severity::Notice,
            Severity::Warning => wire::Severity::Warning,
        };
        wire::Diagnostic { severity: severity.into(), code, message, line }
    });
    wire::FileCoverage {
        vault,
        path,
        state: state.into(),
        reason,
        uri,
        hash: hash.map(|hash| format!("{hash:?}")),
        modified_ns,
        n_chunks: count(n_chunks),
        n_links: count(n_links),
        unresolved,
        diagnostics: diagnostics.collect(),
    }
}

const fn count(n: usize) -> u64 {
    n as u64
}

fn size(n: u32) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}
