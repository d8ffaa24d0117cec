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
