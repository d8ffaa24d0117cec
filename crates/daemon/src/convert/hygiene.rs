//! Messages of HygieneService, and of the write that links mentions.

use tonic::Status;
use weft_engine::hygiene as engine;
use weft_indexer::WriteOutcome;
use weft_model::{Span, TextHash};
use weft_proto::noteweft::v1 as wire;

use super::context::wire_span;
use super::notes::reference;
use super::walk::page_size;
use super::write::content_hash;
use super::{filter, named, warnings};
use crate::status::invalid;

pub(crate) fn duplicates_request(
    request: wire::DuplicatesRequest,
) -> Result<engine::DuplicatesRequest, Status> {
    let wire::DuplicatesRequest {
        filter: restriction,
        min_share,
        page_size: n,
        page_token,
        min_generation: _,
        as_of: _,
    } = request;
    Ok(engine::DuplicatesRequest {
        filter: filter(restriction)?,
        min_share,
        page_size: page_size(n)?,
        page_token,
    })
}

pub(crate) fn duplicates_response(answer: engine::DuplicatesAnswer) -> wire::DuplicatesResponse {
    let engine::DuplicatesAnswer {
        pairs,
        next_page_token,
        total,
        truncated,
        sampling,
        warnings: found,
        generation,
    } = answer;
    wire::DuplicatesResponse {
        pairs: pairs.into_iter().map(duplicate_pair).collect(),
        next_page_token,
        total: total as u64,
        truncated,
        sampling,
        warnings: warnings(found),
        generation,
    }
}

fn duplicate_pair(pair: engine::DuplicatePair) -> wire::DuplicatePair {
    let engine::DuplicatePair { note, other, share, share_of_longer, identical, example } = pair;
    let passage = |example: engine::SharedPassage| {
        let engine::SharedPassage { text, n_words, span, line, other_span, other_line } = example;
        wire::SharedPassage {
            text,
            words: n_words as u64,
            span: Some(wire_span(span)),
            line,
            other_span: Some(wire_span(other_span)),
            other_line,
        }
    };
    wire::DuplicatePair {
        note: Some(reference(note)),
        other: Some(reference(other)),
        share,
        share_of_longer,
        identical,
        example: example.map(passage),
    }
}

pub(crate) fn suggested_links_request(
    request: wire::SuggestedLinksRequest,
) -> Result<engine::SuggestedLinksRequest, Status> {
    let wire::SuggestedLinksRequest {
        note,
        filter: restriction,
        page_size: n,
        page_token,
        min_generation: _,
        as_of: _,
    } = request;
    Ok(engine::SuggestedLinksRequest {
        note: if note.is_empty() { None } else { Some(named("note", note)?) },
        filter: filter(restriction)?,
        page_size: page_size(n)?,
        page_token,
    })
}

pub(crate) fn suggested_links_response(
    answer: engine::SuggestedLinksAnswer,
) -> wire::SuggestedLinksResponse {
    let engine::SuggestedLinksAnswer { links, next_page_token, total, warnings: found, generation } =
        answer;
    wire::SuggestedLinksResponse {
        links: links.into_iter().map(suggested_link).collect(),
        next_page_token,
        total: total as u64,
        warnings: warnings(found),
        generation,
    }
}

fn suggested_link(link: engine::SuggestedLink) -> wire::SuggestedLink {
    let engine::SuggestedLink {
        note,
        hash,
        target,
        text,
        span,
        line,
        excerpt,
        link,
        n_mentions,
        n_mentioning,
    } = link;
    wire::SuggestedLink {
        note: Some(reference(note)),
        hash: format!("{hash:?}"),
        target: Some(reference(target)),
        text,
        span: Some(wire_span(span)),
        line,
        excerpt,
        link,
        mentions: n_mentions as u64,
        mentioning_notes: n_mentioning as u64,
    }
}

pub(crate) fn stale_notes_request(
    request: wire::StaleNotesRequest,
) -> Result<engine::StaleNotesRequest, Status> {
    let wire::StaleNotesRequest {
        filter: restriction,
        min_age_days,
        min_linking,
        page_size: n,
        page_token,
        min_generation: _,
        as_of: _,
    } = request;
    Ok(engine::StaleNotesRequest {
        filter: filter(restriction)?,
        min_age_days,
        min_linking,
        page_size: page_size(n)?,
        page_token,
    })
}

pub(crate) fn stale_notes_response(answer: engine::StaleNotesAnswer) -> wire::StaleNotesResponse {
    let engine::StaleNotesAnswer {
        notes,
        newest,
        next_page_token,
        total,
        warnings: found,
        generation,
    } = answer;
    wire::StaleNotesResponse {
        notes: notes.into_iter().map(stale_note).collect(),
        newest,
        next_page_token,
        total: total as u64,
        warnings: warnings(found),
        generation,
    }
}

fn stale_note(note: engine::StaleNote) -> wire::StaleNote {
    let engine::StaleNote { note, changed, source, age_days, n_linking, score } = note;
    let source = match source {
        engine::ChangeSource::Property => wire::ChangeSource::Property,
        engine::ChangeSource::File => wire::ChangeSource::File,
    };
    wire::StaleNote {
        note: Some(reference(note)),
        changed,
        source: source.into(),
        age_days,
        linking_notes: n_linking,
        score,
    }
}

pub(crate) fn broken_links_request(
    request: wire::BrokenLinksRequest,
) -> Result<engine::BrokenLinksRequest, Status> {
    let wire::BrokenLinksRequest {
        filter: restriction,
        page_size: n,
        page_token,
        min_generation: _,
        as_of: _,
    } = request;
    Ok(engine::BrokenLinksRequest {
        filter: filter(restriction)?,
        page_size: page_size(n)?,
        page_token,
    })
}

pub(crate) fn broken_links_response(
    answer: engine::BrokenLinksAnswer,
) -> wire::BrokenLinksResponse {
    let engine::BrokenLinksAnswer { links, next_page_token, total, warnings: found, generation } =
        answer;
    wire::BrokenLinksResponse {
        links: links.into_iter().map(broken_link).collect(),
        next_page_token,
        total: total as u64,
        warnings: warnings(found),
        generation,
    }
}

fn broken_link(link: engine::BrokenLink) -> wire::BrokenLink {
    let engine::BrokenLink { target, places, n_notes, fixes } = link;
    let place = |place: engine::BrokenPlace| {
        let engine::BrokenPlace { note, span, line } = place;
        wire::BrokenPlace { note: Some(reference(note)), span: span.map(wire_span), line }
    };
    let fix = |fix: engine::LinkFix| {
        let engine::LinkFix { note, reason, similarity } = fix;
        let reason = match reason {
            engine::FixReason::SameName => wire::FixReason::SameName,
            engine::FixReason::SimilarName => wire::FixReason::SimilarName,
        };
        wire::LinkFix { note: Some(reference(note)), reason: reason.into(), similarity }
    };
    wire::BrokenLink {
        target: target.to_string(),
        places: places.into_iter().map(place).collect(),
        linking_notes: n_notes as u64,
        fixes: fixes.into_iter().map(fix).collect(),
    }
}

/// Converts a request to link mentions: the note, its expected hash, and the mentions.
pub(crate) fn link_mentions_request(
    request: wire::LinkMentionsRequest,
) -> Result<(String, TextHash, Vec<engine::MentionToLink>), Status> {
    let wire::LinkMentionsRequest { note, expected_hash, mentions } = request;
    let mention = |mention: wire::MentionToLink| {
        let wire::MentionToLink { span, target } = mention;
        let Some(wire::Span { start, end }) = span.filter(|span| span.start <= span.end) else {
            return Err(invalid("mentions.span", "set a range that ends after its start"));
        };
        let target = named("mentions.target", target)?;
        Ok(engine::MentionToLink { span: Span::new(start, end), target })
    };
    Ok((
        named("note", note)?,
        content_hash(&expected_hash)?,
        mentions.into_iter().map(mention).collect::<Result<_, _>>()?,
    ))
}

pub(crate) fn link_mentions_response(
    outcome: WriteOutcome,
    links: Vec<String>,
) -> wire::LinkMentionsResponse {
    let WriteOutcome { generation, vault, path, hash, index_pending, .. } = outcome;
    let hash = hash.map(|hash| format!("{hash:?}")).unwrap_or_default();
    let generation = generation.unwrap_or(0);
    wire::LinkMentionsResponse { vault, path, hash, links, generation, index_pending }
}
