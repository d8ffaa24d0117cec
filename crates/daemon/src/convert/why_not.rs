//! Messages of SearchService.WhyNot.

use tonic::Status;
use weft_engine as engine;
use weft_indexer::FileCoverage;
use weft_proto::noteweft::v1 as wire;

use super::search::{hit, search_request};
use crate::status::{invalid, within};

pub(crate) fn why_not_request(
    request: wire::WhyNotRequest,
) -> Result<engine::WhyNotRequest, Status> {
    let wire::WhyNotRequest { note, search } = request;
    if note.trim().is_empty() {
        return Err(invalid("note", "must name the missing note"));
    }
    let search = search_request(search.unwrap_or_default());
    let search = search.map_err(|status| within("search", status))?;
    Ok(engine::WhyNotRequest { note, search })
}

pub(crate) fn why_not_response(answer: engine::WhyNotAnswer) -> wire::WhyNotResponse {
    let reason = reason(&answer);
    let engine::WhyNotAnswer {
        note: engine::NoteRef { uri, title },
        miss_reason,
        failed_filters,
        margin,
        rank,
        hit: own,
        weights,
        warnings,
        generation,
    } = answer;
    wire::WhyNotResponse {
        note: Some(wire::NoteRef { uri: uri.to_string(), title }),
        miss_reason: wire_miss_reason(miss_reason).into(),
        reason,
        failed_filters: failed_filters.into_iter().map(str::to_owned).collect(),
        margin,
        rank: rank.map(|rank| u32::try_from(rank).unwrap_or(u32::MAX)),
        hit: own.map(|own| hit(own, Some(weights))),
        warnings: super::warnings(warnings),
        generation,
    }
}

/// Converts the coverage of a file that exists but is not indexed.
pub(crate) fn not_indexed(file: FileCoverage, generation: u64) -> wire::WhyNotResponse {
    let FileCoverage { path, reason, .. } = file;
    let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
    wire::WhyNotResponse {
        note: Some(wire::NoteRef { uri: path.clone(), title: path }),
        miss_reason: wire::MissReason::NotIndexed.into(),
        reason: format!("the file is not indexed{reason}"),
        generation,
        ..wire::WhyNotResponse::default()
    }
}

fn reason(answer: &engine::WhyNotAnswer) -> String {
    match answer.miss_reason {
        engine::MissReason::None => "the note is a hit".to_owned(),
        engine::MissReason::NotIndexed => "links refer to it, but no file has that name".to_owned(),
        engine::MissReason::Filter => format!("the filter excludes it: {}", answer.failed_filters.join(", ")),
        engine::MissReason::Excluded => {
            "it contains an excluded term of the query, or lacks a required one".to_owned()
        }
        engine::MissReason::VectorPending => {
            "it has no vector yet, and no other retriever finds it".to_owned()
        }
        engine::MissReason::CandidateLimit => {
            "enough other notes rank higher in each retriever (search.candidates_per_retriever)"
                .to_owned()
        }
        engine::MissReason::ExpansionFloor => {
            "the hits connected with it are below the floor (search.classic.expansion_floor)"
                .to_owned()
        }
        engine::MissReason::SeedLimit => {
            "the hits connected with it are not among the best, whose connections are followed (in profile classic, search.classic.expansion_seeds of them)"
                .to_owned()
        }
        engine::MissReason::FanoutLimit => {
            "a hit or topic linked with it exceeds the fan-out limit (search.fanout)"
                .to_owned()
        }
        engine::MissReason::ZeroWeight => {
            "it is a candidate, but its score is 0 with these weights"
                .to_owned()
        }
        engine::MissReason::NoMatch => {
            "neither its terms, its vector nor its connections match the query".to_owned()
        }
        engine::MissReason::Limit => "it ranks below the last requested hit".to_owned(),
    }
}

const fn wire_miss_reason(miss_reason: engine::MissReason) -> wire::MissReason {
    match miss_reason {
        engine::MissReason::None => wire::MissReason::None,
        engine::MissReason::NotIndexed => wire::MissReason::NotIndexed,
        engine::MissReason::Filter => wire::MissReason::Filter,
        engine::MissReason::Excluded => wire::MissReason::Excluded,
        engine::MissReason::VectorPending => wire::MissReason::VectorPending,
        engine::MissReason::CandidateLimit => wire::MissReason::CandidateLimit,
        engine::MissReason::ExpansionFloor => wire::MissReason::ExpansionFloor,
        engine::MissReason::FanoutLimit => wire::MissReason::FanoutLimit,
        engine::MissReason::NoMatch => wire::MissReason::NoMatch,
        engine::MissReason::Limit => wire::MissReason::Limit,
        engine::MissReason::SeedLimit => wire::MissReason::SeedLimit,
        engine::MissReason::ZeroWeight => wire::MissReason::ZeroWeight,
    }
}
