//! `weft eval tune`: searches for the best weights on one half of the questions and tests them on the other.

use std::collections::BTreeMap;

use clap::Args;
use serde::Serialize;
use weft_eval::{
    Candidates, MEASURES, Measures, N_SIGNALS, compare, measure_all, split_halves, tuned,
};
use weft_proto::noteweft::v1::{SearchRequest, SearchResponse, Signals, Weights};

use super::questions::{QuestionArgs, Questions, request};
use super::{VariantDifference, same_state};
use crate::cli::Format;
use crate::client::Client;
use crate::commands::render;
use crate::failure::Failure;
use crate::print;
use crate::progress::Progress;
use crate::ranking::RankingArgs;

/// Maximum number of hits per search, which includes all candidates of nearly every question.
const MAX_HITS: u32 = 1000;

/// Options of the search for weights.
#[derive(Debug, Args)]
pub(crate) struct TuneArgs {
    #[command(flatten)]
    questions: QuestionArgs,
    /// Measure to maximize.
    #[arg(long, default_value = super::COMPARED, value_parser = MEASURES)]
    measure: String,
    #[command(flatten)]
    ranking: RankingArgs,
}

/// Result of the search for weights.
#[derive(Debug, Serialize)]
pub(crate) struct Tuning {
    /// Measure that was maximized.
    pub(crate) measure: String,
    /// Configured weights.
    pub(crate) configured: [f64; N_SIGNALS],
    /// Best weights on the first half.
    pub(crate) tuned: [f64; N_SIGNALS],
    /// Measures on the half that was searched.
    pub(crate) searched: HalfResult,
    /// Measures on the held-out half.
    pub(crate) held_out: HalfResult,
    /// Difference of the tuned from the configured weights on the held-out half.
    pub(crate) comparison: VariantDifference,
}

/// Measures on one half of the questions.
#[derive(Debug, Serialize)]
pub(crate) struct HalfResult {
    pub(crate) n_queries: usize,
    pub(crate) configured: BTreeMap<&'static str, f64>,
    pub(crate) tuned: BTreeMap<&'static str, f64>,
}

/// Searches for weights and renders their measures.
pub(super) async fn run(
    client: &Client,
    args: TuneArgs,
    format: Format,
) -> Result<String, Failure> {
    let TuneArgs { questions, measure, ranking } = args;
    if ranking.rerank {
        return Err(Failure::usage("tuning searches the weights of the signals without reranking")
            .hint("leave out --rerank"));
    }
    let ranked =
        SearchRequest { explain: true, rerank: Some(false), ..SearchRequest::from(ranking) };
    let (queries, configured) =
        candidates(client, Questions::get(client, questions, false).await?, &ranked).await?;
    let (searched, held_out) = split_halves(queries);
    if held_out.is_empty() {
        return Err(Failure::usage("tuning needs at least two judged questions"));
    }
    let tuned = tuned(&searched, &configured, &measure);
    let half = |queries: &[Candidates]| HalfResult {
        n_queries: queries.len(),
        configured: Measures::mean(&measure_all(queries, &configured)).iter().collect(),
        tuned: Measures::mean(&measure_all(queries, &tuned)).iter().collect(),
    };
    let found =
        compare(&measure_all(&held_out, &tuned), &measure_all(&held_out, &configured), &measure);
    let tuning = Tuning {
        configured,
        tuned,
        searched: half(&searched),
        held_out: half(&held_out),
        comparison: VariantDifference::of(&measure, found),
        measure,
    };
    render(format, &tuning, print::tuning)
}

/// Returns the candidates of each question with their signals, and the configured weights.
async fn candidates(
    client: &Client,
    questions: Questions,
    ranked: &SearchRequest,
) -> Result<(Vec<Candidates>, [f64; N_SIGNALS]), Failure> {
    let Questions { judged, n_unjudged: _, names, warnings: _ } = questions;
    let (mut all, mut configured, mut generation) = (Vec::new(), [0.0; N_SIGNALS], 0);
    let (mut progress, n_total) = (Progress::new(), judged.len() as u64);
    for ((_, query, grades), done) in judged.into_iter().zip(0..) {
        progress.count("running queries", done, n_total);
        let mut candidates = Candidates { grades, ..Candidates::default() };
        if let Some(query) = query {
            let request = request(&query, MAX_HITS, ranked.clone());
            let SearchResponse { mut hits, explanation, generation: answered, .. } =
                client.search().search(request).await?.into_inner();
            same_state(&mut generation, answered)?;
            if let Some(Weights { similarity, centrality, activation }) =
                explanation.and_then(|explanation| explanation.weights)
            {
                configured = [similarity, centrality, activation];
            }
            hits.sort_unstable_by(|a, b| a.uri.cmp(&b.uri));
            for hit in hits {
                let Signals { similarity, centrality, activation, relevance: _ } =
                    hit.signals.unwrap_or_default();
                candidates
                    .candidates
                    .push((names.of(hit.uri), [similarity, centrality, activation]));
            }
        }
        all.push(candidates);
    }
    progress.end();
    Ok((all, configured))
}
