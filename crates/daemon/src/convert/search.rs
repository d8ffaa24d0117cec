//! Messages of SearchService.

use std::collections::HashSet;

use tonic::Status;
use weft_engine as engine;
use weft_model::Uri;
use weft_proto::noteweft::v1 as wire;

use super::{filter, kind_of, size};
use crate::status::invalid;

/// Default number of hits.
const LIMIT: u32 = 10;

pub(crate) fn search_request(
    request: wire::SearchRequest,
) -> Result<engine::SearchRequest, Status> {
    // The requested state is read by the services.
    let wire::SearchRequest {
        query,
        limit,
        mode,
        filter: restriction,
        profile,
        weights,
        no_graph,
        disabled_signals,
        typo_tolerance,
        explain,
        snippets,
        prefix_last_word,
        rerank,
        min_generation: _,
        as_of: _,
    } = request;
    if query.trim().is_empty() {
        return Err(invalid("query", "must not be empty"));
    }
    Ok(engine::SearchRequest {
        query,
        limit: size(limit.unwrap_or(LIMIT)),
        mode: search_mode(mode)?,
        profile: own_profile(profile)?,
        filter: filter(restriction)?,
        weights: weights.map(own_weights),
        disabled_signals: own_without(no_graph, disabled_signals.unwrap_or_default()),
        typo_tolerance,
        explain,
        snippets: snippets.map(size),
        prefix_last_word,
        rerank,
    })
}

pub(super) fn own_profile(number: i32) -> Result<Option<engine::Profile>, Status> {
    match wire::Profile::try_from(number) {
        Ok(wire::Profile::Unspecified) => Ok(None),
        Ok(wire::Profile::Bridge) => Ok(Some(engine::Profile::Bridge)),
        Ok(wire::Profile::Classic) => Ok(Some(engine::Profile::Classic)),
        Err(_) => Err(invalid("profile", &format!("{number} is not a valid profile"))),
    }
}

pub(super) fn own_weights(weights: wire::Weights) -> engine::Weights {
    let wire::Weights { similarity, centrality, activation } = weights;
    engine::Weights { similarity, centrality, activation }
}

/// Converts the disabled signals; disabling the graph disables each of its signals.
pub(super) fn own_without(
    no_graph: bool,
    disabled_signals: wire::DisabledSignals,
) -> engine::DisabledSignals {
    let wire::DisabledSignals { names, links, shared_words, similarity, centrality, activation } =
        disabled_signals;
    engine::DisabledSignals {
        graph: no_graph,
        names,
        links,
        shared_words,
        similarity,
        centrality,
        activation,
    }
}

pub(super) fn search_mode(number: i32) -> Result<engine::SearchMode, Status> {
    match wire::SearchMode::try_from(number) {
        Ok(wire::SearchMode::Unspecified | wire::SearchMode::Hybrid) => {
            Ok(engine::SearchMode::Hybrid)
        }
        Ok(wire::SearchMode::Vector) => Ok(engine::SearchMode::Vector),
        Ok(wire::SearchMode::Keyword) => Ok(engine::SearchMode::Keyword),
        Err(_) => Err(invalid("mode", &format!("{number} is not a valid mode"))),
    }
}

pub(crate) fn search_response(answer: engine::SearchAnswer) -> wire::SearchResponse {
    let engine::SearchAnswer { hits, generation, truncated, warnings, fanout_limited, explanation } =
        answer;
    let weights = explanation.as_ref().map(|explanation| explanation.weights);
    wire::SearchResponse {
        hits: hits.into_iter().map(|found| hit(found, weights)).collect(),
        generation,
        truncated,
        warnings: super::warnings(warnings),
        fanout_limited: fanout_limited.iter().map(ToString::to_string).collect(),
        explanation: explanation.map(self::explanation),
    }
}

/// Converts an answer of a followed query with its changes since the answer before.
pub(crate) fn followed(
    before: Option<&engine::SearchAnswer>,
    answer: engine::SearchAnswer,
) -> wire::WatchQueryResponse {
    let old = before.map_or(&[][..], |before| &before.hits);
    let only_in = |these: &[engine::Hit], those: &[engine::Hit]| {
        let known: HashSet<&Uri> = those.iter().map(|hit| &hit.uri).collect();
        let only = these.iter().filter(|hit| !known.contains(&hit.uri));
        only.map(|hit| hit.uri.to_string()).collect()
    };
    wire::WatchQueryResponse {
        added: only_in(&answer.hits, old),
        removed: only_in(old, &answer.hits),
        answer: Some(search_response(answer)),
    }
}

/// Converts a hit; with its score parts if the weights are given.
pub(super) fn hit(hit: engine::Hit, weights: Option<engine::ScoreWeights>) -> wire::Hit {
    let engine::Hit {
        uri,
        path,
        vault,
        title,
        score,
        vector_score,
        keyword_score,
        name_score,
        name,
        origin: own_origin,
        via,
        embedding_current,
        raw,
        signals: own_signals,
        contributions,
        snippets,
        best_chunk: _,
    } = hit;
    let engine::RawSignals { base, cosine, degree, connection_strength } = raw;
    let remainder = via.as_ref().map_or(0.0, |via| via.remainder);
    let explanation = weights.map(|weights| wire::HitExplanation {
        parts: parts(
            [base, f64::from(degree), connection_strength],
            own_signals,
            weights,
            contributions,
        ),
        connection_strength,
        remainder,
        name,
        cosine,
    });
    let (via, connection) = match via {
        None => (None, wire::Connection::Unspecified),
        Some(engine::Via { uri, connection: own, strength: _, remainder: _ }) => {
            (Some(uri.to_string()), connection(own))
        }
    };
    wire::Hit {
        uri: uri.to_string(),
        kind: kind_of(&path),
        path,
        vault,
        title,
        score,
        signals: Some(signals(own_signals)),
        contributions: Some(signals(contributions)),
        vector_score,
        keyword_score,
        origin: origin(own_origin).into(),
        via,
        embedding_current,
        snippets: snippets.into_iter().map(snippet).collect(),
        name_score,
        connection: connection.into(),
        explanation,
    }
}

/// Converts each signal with its inputs, weight and contribution, in the order they are summed; the relevance only if it has a weight.
fn parts(
    raw: [f64; 3],
    signals: engine::Signals,
    weights: engine::ScoreWeights,
    contributions: engine::Signals,
) -> Vec<wire::ScorePart> {
    let engine::Signals { similarity, centrality, activation, relevance } = signals;
    let raw = raw.into_iter().chain([relevance]);
    let signals = [
        ("similarity", similarity),
        ("centrality", centrality),
        ("activation", activation),
        ("relevance", relevance),
    ];
    let engine::ScoreWeights { gars, relevance: relevance_weight } = weights;
    let engine::Weights { similarity, centrality, activation } = gars;
    let weights = [similarity, centrality, activation, relevance_weight];
    let engine::Signals { similarity, centrality, activation, relevance } = contributions;
    let contributions = [similarity, centrality, activation, relevance];
    let n_parts = if relevance_weight > 0.0 { 4 } else { 3 };
    let rows = signals.into_iter().zip(raw).zip(weights.into_iter().zip(contributions));
    rows.take(n_parts)
        .map(|(((signal, normalized), raw), (weight, contribution))| wire::ScorePart {
            signal: signal.to_owned(),
            raw,
            normalized,
            weight,
            contribution,
        })
        .collect()
}

fn wire_calibration(calibration: engine::Calibration) -> wire::Calibration {
    let engine::Calibration { unrelated, related } = calibration;
    let score = engine::Calibration::REFERENCE;
    wire::Calibration {
        unrelated,
        related,
        unrelated_score: score.unrelated,
        related_score: score.related,
    }
}

fn explanation(explanation: engine::Explanation) -> wire::Explanation {
    let engine::Explanation {
        profile,
        weights,
        reranking,
        vector_share,
        readable_share,
        keyword_weight,
        connection_weight,
        calibration,
        words,
        exact_words,
        seeds,
        n_omitted_seeds,
        activation_floor,
        expansion_floor,
        candidates,
        stages,
    } = explanation;
    let profile = match profile {
        engine::Profile::Bridge => wire::Profile::Bridge,
        engine::Profile::Classic => wire::Profile::Classic,
    };
    let engine::ScoreWeights { gars, relevance: relevance_weight } = weights;
    let engine::Weights { similarity, centrality, activation } = gars;
    let reranking = reranking.map(|reranking| {
        let engine::ExplainedReranking { model, runner, n_notes } = reranking;
        let reranker = Some(wire::Reranker { name: model, runner });
        wire::Reranking { reranker, weight: relevance_weight, note_count: few(n_notes) }
    });
    wire::Explanation {
        profile: profile.into(),
        weights: Some(wire::Weights { similarity, centrality, activation }),
        reranking,
        vector_share,
        readable_share,
        keyword_weight,
        connection_weight: Some(connection_weight),
        calibration: Some(wire_calibration(calibration)),
        words: words.into_iter().map(query_word).collect(),
        exact_words: exact_words.into_iter().map(query_word).collect(),
        seeds: seeds.into_iter().map(seed).collect(),
        omitted_seed_count: few(n_omitted_seeds),
        activation_floor,
        expansion_floor,
        candidates: candidates
            .into_iter()
            .map(|engine::ExplainedCandidate { uri, similarity, origin: own }| wire::Candidate {
                uri: uri.to_string(),
                similarity,
                origin: origin(own).into(),
            })
            .collect(),
        stages: stages
            .into_iter()
            .map(|(name, taken)| wire::Stage {
                name: name.to_owned(),
                micros: u64::try_from(taken.as_micros()).unwrap_or(u64::MAX),
            })
            .collect(),
    }
}

fn query_word(word: engine::ExplainedWord) -> wire::QueryWord {
    let engine::ExplainedWord { word, count, n_notes, idf, expansions } = word;
    wire::QueryWord { word, count, note_count: n_notes, idf, expansions }
}

fn seed(seed: engine::ExplainedSeed) -> wire::Seed {
    let engine::ExplainedSeed { uri, similarity, degree, words, n_reached, is_cut } = seed;
    let (uri, reached_count) = (uri.to_string(), few(n_reached));
    wire::Seed { uri, similarity, degree, words, reached_count, fanout_limited: is_cut }
}

const fn origin(origin: engine::Origin) -> wire::Origin {
    match origin {
        engine::Origin::Vector => wire::Origin::Vector,
        engine::Origin::Keyword => wire::Origin::Keyword,
        engine::Origin::Both => wire::Origin::Both,
        engine::Origin::Expanded => wire::Origin::Expanded,
    }
}

const fn connection(connection: engine::Connection) -> wire::Connection {
    match connection {
        engine::Connection::Link => wire::Connection::Link,
        engine::Connection::Backlink => wire::Connection::Backlink,
        engine::Connection::SharedWords => wire::Connection::SharedWords,
        engine::Connection::Topic => wire::Connection::Topic,
    }
}

/// Converts a number that limits keep far below the maximum.
fn few(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn signals(signals: engine::Signals) -> wire::Signals {
    let engine::Signals { similarity, centrality, activation, relevance } = signals;
    wire::Signals { similarity, centrality, activation, relevance }
}

fn snippet(snippet: engine::Snippet) -> wire::Snippet {
    let engine::Snippet { text, start, end, matches, heading_path, starts_inside, ends_inside } =
        snippet;
    let matches = matches.into_iter().map(|(start, end)| wire::Span { start, end }).collect();
    wire::Snippet { text, start, end, heading_path, matches, starts_inside, ends_inside }
}
