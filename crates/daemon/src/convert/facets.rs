//! Messages of facets.

use tonic::Status;
use weft_engine as engine;
use weft_proto::noteweft::v1 as wire;

use super::{count, filter, size};
use crate::status::invalid;

pub(crate) fn facets_request(
    request: wire::FacetsRequest,
) -> Result<engine::FacetsRequest, Status> {
    let wire::FacetsRequest {
        query,
        filter: restriction,
        max_values,
        typo_tolerance,
        prefix_last_word,
        min_generation: _,
        as_of: _,
    } = request;
    if max_values == Some(0) {
        return Err(invalid("max_values", "must be at least 1"));
    }
    Ok(engine::FacetsRequest {
        query,
        filter: filter(restriction)?,
        max_values: size(max_values.unwrap_or_default()),
        typo_tolerance,
        prefix_last_word,
    })
}

pub(crate) fn facets_response(answer: engine::FacetsAnswer) -> wire::FacetsResponse {
    let engine::FacetsAnswer { n_notes, folders, tags, types, truncated, warnings, generation } =
        answer;
    let values = |counts: Vec<engine::FacetCount>| {
        let counts = counts.into_iter();
        let value = |engine::FacetCount { value, n_notes }| wire::FacetValue {
            value,
            note_count: count(n_notes),
        };
        counts.map(value).collect()
    };
    wire::FacetsResponse {
        note_count: count(n_notes),
        folders: values(folders),
        tags: values(tags),
        types: values(types),
        truncated,
        warnings: super::warnings(warnings),
        generation,
    }
}
