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
        return Err(invalid("note", "name the note that is missing"));
    }
    let search = search_request(search.unwrap_or_default());
    let search = search.map_err(|status| within("search", status))?;
    Ok(engine::WhyNotRequest { note, search })
}

pub(crate) fn why_not_response(answer: engine::WhyNotAnswer) -> wire::WhyNotResponse {
    let reason = reason(&answer);
    let engine::WhyNotAnswer {
        note: engine::NoteRef { uri, title },
        loss,
        failed,
        margin,
        rank,
        hit: own,
        weights,
        degraded,
        generation,
    } = answer;
    wire::WhyNotResponse {
        note: Some(wire::NoteRef { uri: uri.to_string(), title }),
        loss: wire_loss(loss).into(),
        reason,
        failed: failed.into_iter().map(str::to_owned).collect(),
        margin,
        rank: rank.map(|rank| u32::try_from(rank).unwrap_or(u32::MAX)),
        hit: own.map(|own| hit(own, Some(weights))),
        degraded,
        generation,
    }
}

/// What is said of a file that is there and not indexed.
pub(crate) fn not_indexed(file: FileCoverage, generation: u64) -> wire::WhyNotResponse {
    let FileCoverage { path, reason, .. } = file;
    let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
    wire::WhyNotResponse {
        note: Some(wire::NoteRef { uri: path.clone(), title: path }),
        loss: wire::Loss::NotIndexed.into(),
        reason: format!("the file is not indexed{reason}"),
        generation,
        ..wire::WhyNotResponse::default()
    }
}

fn reason(answer: &engine::WhyNotAnswer) -> String {
    match answer.loss {
        engine::Loss::None => "it is a hit".to_owned(),
        engine::Loss::NotIndexed => "links name it, but no file answers to the name".to_owned(),
        engine::Loss::Filter => format!("the filter keeps it out: {}", answer.failed.join(", ")),
        engine::Loss::Excluded => {
            "the query excludes a word that it holds, or asks for one that it lacks".to_owned()
        }
        engine::Loss::VectorPending => {
            "its vector is not there yet, and nothing else brings it in".to_owned()
        }
        engine::Loss::Candidates => {
            "enough other notes answer better by word and by meaning (search.candidates_per_leg)"
                .to_owned()
        }
        engine::Loss::Floor => {
            "the hits it is connected with are below the floor (search.classic.expansion_floor)"
                .to_owned()
        }
        engine::Loss::Seeds => {
            "the hits it is connected with are not among the best, around which connections are followed (in profile classic, search.classic.expansion_seeds of them)"
                .to_owned()
        }
        engine::Loss::Fanout => {
            "a hit or a topic it is linked with has too many links to follow them all (search.fanout)"
                .to_owned()
        }
        engine::Loss::Weights => {
            "it is a candidate, but its score is 0: what answers of it counts nothing by these weights"
                .to_owned()
        }
        engine::Loss::NoAnswer => {
            "none of its words, its meaning and its connections answers".to_owned()
        }
        engine::Loss::Limit => "it comes after the last hit that was asked for".to_owned(),
    }
}

const fn wire_loss(loss: engine::Loss) -> wire::Loss {
    match loss {
        engine::Loss::None => wire::Loss::None,
        engine::Loss::NotIndexed => wire::Loss::NotIndexed,
        engine::Loss::Filter => wire::Loss::Filter,
        engine::Loss::Excluded => wire::Loss::Excluded,
        engine::Loss::VectorPending => wire::Loss::VectorPending,
        engine::Loss::Candidates => wire::Loss::Candidates,
        engine::Loss::Floor => wire::Loss::Floor,
        engine::Loss::Fanout => wire::Loss::Fanout,
        engine::Loss::NoAnswer => wire::Loss::NoAnswer,
        engine::Loss::Limit => wire::Loss::Limit,
        engine::Loss::Seeds => wire::Loss::Seeds,
        engine::Loss::Weights => wire::Loss::Weights,
    }
}
