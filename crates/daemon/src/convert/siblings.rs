//! Messages of GraphService.TopicSiblings.

use tonic::Status;
use weft_engine as engine;
use weft_proto::noteweft::v1 as wire;

use super::walk::direction;
use super::{filter, named, size};

/// Default number of notes.
const LIMIT: u32 = 100;

pub(crate) fn siblings_request(
    request: wire::TopicSiblingsRequest,
) -> Result<engine::SiblingsRequest, Status> {
    let wire::TopicSiblingsRequest {
        note,
        direction: way,
        filter: restriction,
        limit,
        min_generation: _,
        as_of: _,
    } = request;
    Ok(engine::SiblingsRequest {
        note: named("note", note)?,
        direction: direction(way)?,
        filter: filter(restriction)?,
        limit: size(limit.unwrap_or(LIMIT)),
    })
}

pub(crate) fn siblings_response(answer: engine::SiblingsAnswer) -> wire::TopicSiblingsResponse {
    let engine::SiblingsAnswer {
        note: engine::NoteRef { uri, title },
        siblings,
        truncated,
        fanout_limited,
        warnings,
        generation,
    } = answer;
    wire::TopicSiblingsResponse {
        note: Some(wire::NoteRef { uri: uri.to_string(), title }),
        siblings: siblings.into_iter().map(sibling).collect(),
        truncated,
        fanout_limited: fanout_limited.iter().map(ToString::to_string).collect(),
        generation,
        warnings: super::warnings(warnings),
    }
}

fn sibling(sibling: engine::SiblingView) -> wire::Sibling {
    let engine::SiblingView { uri, path, title, score, kind, via } = sibling;
    let kind = match kind {
        engine::SiblingKind::Direct => wire::SiblingKind::Direct,
        engine::SiblingKind::Sibling => wire::SiblingKind::Sibling,
    };
    wire::Sibling {
        uri: uri.to_string(),
        path,
        title,
        score,
        kind: kind.into(),
        via: via.map(|topic| topic.to_string()),
    }
}
