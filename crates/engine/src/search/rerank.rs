//! Reranking: a model reads the query together with the best passages of the best candidates, and its relevance becomes part of their scores.

use std::cmp::Ordering;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weft_accordion::CandidatePassage;
use weft_gars::{Gars, ScoreWeights, Signals, Weights};
use weft_index::notes::NoteEntry;
use weft_index::reranker::{RerankError, Reranker, RerankerIdentity};
use weft_model::{BodyDisplay, Heading, NoteId, Stop};

use super::prepared_query::{CandidatePool, PreparedQuery};
use super::{ExplainedReranking, Lifts, Ranked, SearchRequest};
use crate::settings::RerankSettings;
use crate::{Engine, EngineError, Warning, WarningCode};

/// The reranker of an engine, and how it is used.
pub(crate) struct Reranking {
    /// The reranker, or why it cannot be used.
    pub(crate) reranker: Result<Arc<dyn Reranker>, String>,
    pub(crate) settings: RerankSettings,
}

/// The weights of a ranking, and what a reranker contributed.
pub(super) struct RerankOutcome {
    pub(super) weights: ScoreWeights,
    pub(super) explained: Option<ExplainedReranking>,
}

impl RerankOutcome {
    /// Returns the outcome for scores of GARS.
    pub(super) fn none(weights: Weights) -> Self {
        Self { weights: weights.beside(0.0), explained: None }
    }
}

/// The reranker that a request uses.
#[derive(Clone, Copy)]
pub(super) struct RerankStage<'e> {
    reranker: &'e dyn Reranker,
    settings: &'e RerankSettings,
    stop: &'e Stop,
}

impl Engine {
    /// Returns the reranker for a request; `None`, with a warning if the request or the settings ask for one, if none can be used.
    ///
    /// A query that is still being typed is reranked only on request.
    pub(super) fn rerank_stage(
        &self,
        request: &SearchRequest,
        warnings: &mut Vec<Warning>,
    ) -> Option<RerankStage<'_>> {
        if !request.rerank.unwrap_or(!request.prefix_last_word) {
            return None;
        }
        match self.reranking.as_deref() {
            Some(Reranking { reranker: Ok(reranker), settings }) => {
                Some(RerankStage { reranker: &**reranker, settings, stop: &self.stop })
            }
            Some(Reranking { reranker: Err(why), settings: _ }) => {
                warnings.push(skipped(why));
                None
            }
            None => {
                if request.rerank == Some(true) {
                    warnings.push(skipped("no reranker is configured; set `rerank.model`"));
                }
                None
            }
        }
    }
}

impl RerankStage<'_> {
    /// Returns the number of candidates that must be ranked to rerank the best of them and return `limit`.
    pub(super) fn n_ranked(&self, limit: usize) -> usize {
        self.settings.top_n.max(limit)
    }

    /// Reranks the best of `ranked`; keeps their order and adds a warning if the reranker fails or cannot finish in time.
    pub(super) fn rerank(
        &self,
        query: &PreparedQuery<'_>,
        (pool, lifts): (&CandidatePool, &Lifts),
        weights: Weights,
        ranked: &mut [Ranked],
        warnings: &mut Vec<Warning>,
    ) -> Result<RerankOutcome, EngineError> {
        let n = ranked.len().min(self.settings.top_n);
        if n == 0 || query.text.trim().is_empty() {
            return Ok(RerankOutcome::none(weights));
        }
        if self.stop.is_past_soft_deadline() {
            warnings.push(skipped("the deadline was too close"));
            return Ok(RerankOutcome::none(weights));
        }
        let texts = self.texts(query, (pool, lifts), &ranked[..n])?;
        let judged = self.judged(&query.text, &texts);
        self.stop.check()?;
        match judged {
            Ok(relevances) => {
                let weights = weights.beside(self.settings.weight);
                merge(ranked, &relevances, &weights, Ranked::order(query.snapshot));
                let RerankerIdentity { model, runner } = self.reranker.identity().clone();
                let explained = Some(ExplainedReranking { model, runner, n_notes: n });
                Ok(RerankOutcome { weights, explained })
            }
            Err(error) => {
                warnings.push(skipped(&error.to_string()));
                Ok(RerankOutcome::none(weights))
            }
        }
    }

    /// Returns the text of each candidate that the reranker reads.
    fn texts(
        &self,
        query: &PreparedQuery<'_>,
        (pool, lifts): (&CandidatePool, &Lifts),
        candidates: &[Ranked],
    ) -> Result<Vec<String>, EngineError> {
        let ids: Vec<NoteId> = candidates.iter().map(|candidate| candidate.id).collect();
        let evidence = query.evidence(&ids, pool, lifts)?;
        let texts = ids.iter().map(|id| {
            let passages = evidence.get(id).map_or(&[][..], Vec::as_slice);
            let entry = query.snapshot.notes.entry(*id);
            entry.map_or_else(String::new, |entry| candidate_text(entry, passages, self.settings))
        });
        Ok(texts.collect())
    }

    fn judged(&self, query: &str, texts: &[String]) -> Result<Vec<f64>, RerankError> {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let timeout = Duration::from_millis(self.settings.timeout_ms);
        let until = Instant::now().checked_add(timeout);
        let until = [until, self.stop.soft_deadline()].into_iter().flatten().min();
        let relevances = self.reranker.relevances(query, &texts, until)?;
        let is_valid = |relevance: &f64| (0.0..=1.0).contains(relevance);
        if relevances.len() == texts.len() && relevances.iter().all(is_valid) {
            return Ok(relevances);
        }
        Err(RerankError::Failed {
            model: self.reranker.identity().model.clone(),
            reason: "it did not return one number from 0 to 1 for each text".to_owned(),
        })
    }
}

/// Gives the first candidates their relevances, and orders all by the scores that result.
fn merge(
    ranked: &mut [Ranked],
    relevances: &[f64],
    weights: &ScoreWeights,
    order: impl Fn(&Ranked, &Ranked) -> Ordering,
) {
    for (at, candidate) in ranked.iter_mut().enumerate() {
        let relevance = relevances.get(at).copied().unwrap_or_default();
        let signals = Signals { relevance, ..candidate.gars.signals };
        candidate.gars = Gars::reranked(signals, weights);
    }
    ranked.sort_unstable_by(order);
}

/// Returns the text of a note for the reranker: its title, and its passages with the most evidence, in order, each below its headings.
fn candidate_text(
    entry: &NoteEntry,
    passages: &[CandidatePassage],
    settings: &RerankSettings,
) -> String {
    let title = entry.note.title.as_str();
    let mut text = title.to_owned();
    let mut headings: Vec<String> = Vec::new();
    let mut display = BodyDisplay::new(&entry.body);
    for (passage, n_chars) in best_passages(passages, settings) {
        let shown = display.text(passage.span.bytes(&entry.body)).into_string();
        let mut above = Heading::path(&entry.note.headings, passage.span.start);
        above.retain(|heading| heading != title);
        // A passage may begin with its own heading, which is already above it.
        let own = above.last().map_or(title, String::as_str);
        let shown = match shown.split_once('\n') {
            Some((first, rest)) if first == own => rest,
            Some(_) | None => shown.as_str(),
        };
        let shown: String = shown.chars().take(n_chars).collect();
        if shown.is_empty() {
            continue;
        }
        if above != headings && !above.is_empty() {
            text.push('\n');
            text.push_str(&above.join(" > "));
        }
        headings = above;
        text.push('\n');
        text.push_str(&shown);
    }
    text
}

/// Returns the passages with the most evidence, in the order of the note, each with the number of its characters that fit. Of equal ones, the earlier is better.
fn best_passages<'p>(
    passages: &'p [CandidatePassage],
    settings: &RerankSettings,
) -> Vec<(&'p CandidatePassage, usize)> {
    let mut best: Vec<&CandidatePassage> = passages.iter().filter(|it| !it.is_bare).collect();
    best.sort_by(|a, b| b.evidence.total_cmp(&a.evidence));
    let mut n_left = settings.text_chars;
    let fitting = best.into_iter().take(settings.passages).map(|passage| {
        let n_chars = n_left.min(passage.span.len() as usize);
        n_left -= n_chars;
        (passage, n_chars)
    });
    let mut fitting: Vec<_> = fitting.filter(|(_, n_chars)| *n_chars > 0).collect();
    fitting.sort_by_key(|(passage, _)| passage.span.start);
    fitting
}

fn skipped(why: &str) -> Warning {
    Warning::new(WarningCode::RerankSkipped, format!("the hits were not reranked: {why}"))
}

#[cfg(test)]
mod tests {
    use weft_model::Span;

    use super::super::prepared_query::CandidateScores;
    use super::*;

    const WEIGHTS: Weights = Weights { similarity: 0.5, centrality: 0.0, activation: 0.5 };

    fn candidates(similarities: &[f64]) -> Vec<Ranked> {
        let candidate = |(id, similarity): (u32, &f64)| {
            let signals = Signals { similarity: *similarity, ..Signals::default() };
            Ranked {
                id: NoteId::new(id),
                found: CandidateScores::default(),
                gars: Gars::new(signals, &WEIGHTS),
            }
        };
        (0..).zip(similarities).map(candidate).collect()
    }

    fn merged(similarities: &[f64], relevances: &[f64], weight: f64) -> Vec<u32> {
        let mut ranked = candidates(similarities);
        let order =
            |a: &Ranked, b: &Ranked| b.gars.score.total_cmp(&a.gars.score).then(a.id.cmp(&b.id));
        merge(&mut ranked, relevances, &WEIGHTS.beside(weight), order);
        ranked.iter().map(|ranked| ranked.id.get()).collect()
    }

    #[test]
    fn relevance_decides_by_its_weight() {
        let scores = [0.9, 0.8, 0.7, 0.6];
        for (name, relevances, weight, expected) in [
            ("no weight keeps the order", &[0.0, 0.1, 1.0][..], 0.0, [0, 1, 2, 3]),
            ("equal relevances keep the order", &[0.5, 0.5, 0.5], 0.5, [0, 1, 2, 3]),
            ("the most relevant is first", &[0.1, 0.2, 0.9], 0.5, [2, 1, 0, 3]),
            ("a small weight settles near-ties", &[0.1, 0.9, 0.2], 0.1, [1, 0, 2, 3]),
            ("what was not judged stays behind", &[0.0, 0.0, 0.0], 0.9, [0, 1, 2, 3]),
        ] {
            assert_eq!(merged(&scores, relevances, weight), expected, "{name}");
        }
        assert_eq!(merged(&[0.4, 0.4], &[0.3, 0.3], 0.5), [0, 1], "ties");
    }

    #[test]
    fn passages_with_most_evidence_are_read_in_order() {
        let passage = |start, evidence, is_bare| CandidatePassage {
            span: Span::new(start, start + 10),
            evidence,
            is_bare,
        };
        let passages = [
            passage(0, 0.2, false),
            passage(10, 0.9, true),
            passage(20, 0.5, false),
            passage(30, 0.2, false),
            passage(40, 0.8, false),
        ];
        for (name, n, chars, expected) in [
            ("all", 9, 100, &[(0, 10), (20, 10), (30, 10), (40, 10)][..]),
            ("two", 2, 100, &[(20, 10), (40, 10)]),
            ("the earlier of equal ones", 3, 100, &[(0, 10), (20, 10), (40, 10)]),
            ("the best is cut last", 9, 15, &[(20, 5), (40, 10)]),
            ("the only one is cut", 9, 5, &[(40, 5)]),
        ] {
            let settings =
                RerankSettings { passages: n, text_chars: chars, ..RerankSettings::default() };
            let found = best_passages(&passages, &settings);
            let found: Vec<(u32, usize)> =
                found.iter().map(|(passage, n_chars)| (passage.span.start, *n_chars)).collect();
            assert_eq!(found, expected, "{name}");
        }
    }
}
