//! Messages of SearchService.

use std::time::Instant;

use tonic::Status;
use weft_engine as engine;
use weft_proto::noteweft::v1 as wire;

use super::{filter, size};
use crate::status::invalid;

/// Hits where the request does not say.
const LIMIT: u32 = 10;

pub(crate) fn search_request(
    request: wire::SearchRequest,
    deadline: Instant,
) -> Result<engine::SearchRequest, Status> {
    let wire::SearchRequest { query, limit, mode, filter: restriction } = request;
    let mode = search_mode(mode)?;
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

pub(super) fn search_mode(number: i32) -> Result<engine::SearchMode, Status> {
    match wire::SearchMode::try_from(number) {
        Ok(wire::SearchMode::Unspecified | wire::SearchMode::Hybrid) => {
            Ok(engine::SearchMode::Hybrid)
        }
        Ok(wire::SearchMode::Vector) => Ok(engine::SearchMode::Vector),
        Ok(wire::SearchMode::Keyword) => Ok(engine::SearchMode::Keyword),
        Err(_) => Err(invalid("mode", &format!("{number} is no mode"))),
    }
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
        best_chunk: _,
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
