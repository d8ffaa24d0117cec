//! Messages of NoteService about writes.

use tonic::Status;
use weft_indexer as indexer;
use weft_indexer::{Precondition, WriteContent, WriteOutcome, WriteRequest};
use weft_model::TextHash;
use weft_proto::noteweft::v1 as wire;

use super::count;
use crate::status::invalid;

pub(crate) fn put_request(request: wire::PutNoteRequest) -> Result<WriteRequest, Status> {
    let wire::PutNoteRequest { vault, path, text, body, expected_hash } = request;
    let content = match (text, body) {
        (Some(text), None) => WriteContent::Whole(text),
        (None, Some(body)) => WriteContent::Body(body),
        (None, None) => {
            return Err(invalid("text", "set the content of the file: `text` or `body`"));
        }
        (Some(_), Some(_)) => {
            return Err(invalid("body", "excludes `text`; set one of them"));
        }
    };
    let expected = match expected_hash.as_deref() {
        None => Precondition::Anything,
        Some("") => Precondition::Nothing,
        Some(hash) => self::hash(hash)?,
    };
    Ok(WriteRequest::Put { vault, path, content, expected })
}

pub(crate) fn delete_request(request: wire::DeleteNoteRequest) -> Result<WriteRequest, Status> {
    let wire::DeleteNoteRequest { name, expected_hash } = request;
    Ok(WriteRequest::Delete { name: named(name)?, expected: expected(expected_hash.as_deref())? })
}

pub(crate) fn move_request(request: wire::MoveNoteRequest) -> Result<WriteRequest, Status> {
    let wire::MoveNoteRequest { name, to, expected_hash, rewrite_links } = request;
    let expected = expected(expected_hash.as_deref())?;
    Ok(WriteRequest::Move { name: named(name)?, to, expected, rewrite_links })
}

fn named(name: String) -> Result<String, Status> {
    if name.trim().is_empty() {
        return Err(invalid("name", "must name a note: a uri, path, name, alias or title"));
    }
    Ok(name)
}

fn expected(hash: Option<&str>) -> Result<Precondition, Status> {
    hash.map_or(Ok(Precondition::Anything), self::hash)
}

fn hash(text: &str) -> Result<Precondition, Status> {
    content_hash(text).map(Precondition::Hash)
}

/// Converts the hash of a file.
pub(super) fn content_hash(text: &str) -> Result<TextHash, Status> {
    let digits = Some(text).filter(|text| text.len() == 32);
    let hash = digits.and_then(|text| u128::from_str_radix(text, 16).ok());
    hash.map(TextHash).ok_or_else(|| {
        let reason = format!(
            "`{text}` is not a hash: must be 32 hexadecimal digits, as GetNote returns them"
        );
        invalid("expected_hash", &reason)
    })
}

pub(crate) fn put_response(wrote: WriteOutcome) -> wire::PutNoteResponse {
    let WriteOutcome {
        generation,
        vault,
        path,
        uri,
        hash,
        created,
        not_indexed,
        index_pending,
        links: _,
    } = wrote;
    wire::PutNoteResponse {
        vault,
        path,
        uri: uri.map(|uri| uri.to_string()),
        hash: hash.map(written),
        created,
        not_indexed,
        generation: generation.unwrap_or(0),
        index_pending,
    }
}

pub(crate) fn delete_response(wrote: WriteOutcome) -> wire::DeleteNoteResponse {
    // A deleted note has no further facts.
    let WriteOutcome {
        generation,
        vault,
        path,
        uri: _,
        hash: _,
        created: _,
        not_indexed: _,
        index_pending,
        links: _,
    } = wrote;
    let generation = generation.unwrap_or(0);
    wire::DeleteNoteResponse { vault, path, generation, index_pending }
}

pub(crate) fn move_response(wrote: WriteOutcome) -> wire::MoveNoteResponse {
    let WriteOutcome {
        generation,
        vault,
        path,
        uri,
        hash,
        created: _,
        not_indexed: _,
        index_pending,
        links,
    } = wrote;
    let links = links.into_iter().map(|file| {
        let indexer::RewrittenLinks { path, n_rewritten, n_not_rewritten } = file;
        wire::RewrittenLinks {
            path,
            links_rewritten: count(n_rewritten),
            links_not_rewritten: count(n_not_rewritten),
        }
    });
    wire::MoveNoteResponse {
        vault,
        path,
        uri: uri.map(|uri| uri.to_string()),
        hash: hash.map(written),
        links: links.collect(),
        generation: generation.unwrap_or(0),
        index_pending,
    }
}

fn written(hash: TextHash) -> String {
    format!("{hash:?}")
}
