//! Messages about notes that are written.

use tonic::Status;
use weft_indexer as indexer;
use weft_indexer::{Content, Expected, Write, Wrote};
use weft_model::TextHash;
use weft_proto::noteweft::v1 as wire;

use super::count;
use crate::status::invalid;

pub(crate) fn put_request(request: wire::PutNoteRequest) -> Result<Write, Status> {
    let wire::PutNoteRequest { vault, path, text, body, expected_hash } = request;
    let content = match (text, body) {
        (Some(text), None) => Content::Whole(text),
        (None, Some(body)) => Content::Body(body),
        (None, None) => {
            return Err(invalid("text", "say what the file is to hold: `text` or `body`"));
        }
        (Some(_), Some(_)) => {
            return Err(invalid("body", "it is part of `text`; give one of the two"));
        }
    };
    let expected = match expected_hash.as_deref() {
        None => Expected::Anything,
        Some("") => Expected::Nothing,
        Some(hash) => self::hash(hash)?,
    };
    Ok(Write::Put { vault, path, content, expected })
}

pub(crate) fn delete_request(request: wire::DeleteNoteRequest) -> Result<Write, Status> {
    let wire::DeleteNoteRequest { name, expected_hash } = request;
    Ok(Write::Delete { name: named(name)?, expected: expected(expected_hash.as_deref())? })
}

pub(crate) fn move_request(request: wire::MoveNoteRequest) -> Result<Write, Status> {
    let wire::MoveNoteRequest { name, to, expected_hash, rewrite_links } = request;
    let expected = expected(expected_hash.as_deref())?;
    Ok(Write::Move { name: named(name)?, to, expected, rewrite_links })
}

fn named(name: String) -> Result<String, Status> {
    if name.trim().is_empty() {
        return Err(invalid("name", "say which note: a uri, path, name, alias or title"));
    }
    Ok(name)
}

fn expected(hash: Option<&str>) -> Result<Expected, Status> {
    hash.map_or(Ok(Expected::Anything), self::hash)
}

fn hash(text: &str) -> Result<Expected, Status> {
    let digits = Some(text).filter(|text| text.len() == 32);
    let hash = digits.and_then(|text| u128::from_str_radix(text, 16).ok());
    hash.map(|hash| Expected::Hash(TextHash(hash))).ok_or_else(|| {
        let reason = format!("`{text}` is no hash: 32 hexadecimal digits, as GetNote gives them");
        invalid("expected_hash", &reason)
    })
}

pub(crate) fn put_response(wrote: Wrote) -> wire::PutNoteResponse {
    let Wrote { generation, vault, path, uri, hash, created, not_indexed, links: _ } = wrote;
    wire::PutNoteResponse {
        vault,
        path,
        uri: uri.map(|uri| uri.to_string()),
        hash: hash.map(written),
        created,
        not_indexed,
        generation,
    }
}

pub(crate) fn delete_response(wrote: Wrote) -> wire::DeleteNoteResponse {
    // Of what is gone there is nothing more to say.
    let Wrote { generation, vault, path, uri: _, hash: _, created: _, not_indexed: _, links: _ } =
        wrote;
    wire::DeleteNoteResponse { vault, path, generation }
}

pub(crate) fn move_response(wrote: Wrote) -> wire::MoveNoteResponse {
    let Wrote { generation, vault, path, uri, hash, created: _, not_indexed: _, links } = wrote;
    let links = links.into_iter().map(|file| {
        let indexer::RewrittenLinks { path, n_links, n_left } = file;
        wire::RewrittenLinks { path, n_links: count(n_links), n_left: count(n_left) }
    });
    wire::MoveNoteResponse {
        vault,
        path,
        uri: uri.map(|uri| uri.to_string()),
        hash: hash.map(written),
        links: links.collect(),
        generation,
    }
}

fn written(hash: TextHash) -> String {
    format!("{hash:?}")
}
