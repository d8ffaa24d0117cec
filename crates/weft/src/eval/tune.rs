//! `weft eval tune`: weights that rank best on one half of the questions, tried on the other.

use std::collections::BTreeMap;

use clap::Args;
use serde::Serialize;
use weft_eval::{Candidates, MEASURES, Measures, N_SIGNALS, compare, halves, measured, tuned};
use weft_proto::noteweft::v1::{SearchRequest, SearchResponse, Signals, Weights};

use super::questions::{QuestionArgs, Questions, request};
use super::{Compared, same_state};
use crate::asker::Asker;
use crate::cli::Format;
use crate::commands::render;
use crate::failure::Failure;
use crate::print;
use crate::progress::Progress;
use crate::ranking::RankingArgs;

/// Hits of one search at most: all candidates of nearly every question.
const ALL: u32 = 1000;

/// Which weights to look for.
#[derive(Debug, Args)]
pub(crate) struct TuneArgs {
    #[command(flatten)]
    questions: QuestionArgs,
    /// What the weights should make great.
    #[arg(long, default_value = super::COMPARED, value_parser = MEASURES)]
    measure: String,
    #[command(flatten)]
    ranking: RankingArgs,
}

/// What was found.
#[derive(Debug, Serialize)]
pub(crate) struct Tuning {
    /// What the weights make great.
    pub(crate) measure: String,
    /// The weights in use.
    pub(crate) configured: [f64; N_SIGNALS],
    /// The weights that are best on the first half.
    pub(crate) tuned: [f64; N_SIGNALS],
    /// Where the weights were looked for.
    pub(crate) searched: Half,
    /// Where they were tried.
    pub(crate) held_out: Half,
    /// The tuned against the configured ones, on the half that they were not looked for on.
    pub(crate) comparison: Compared,
}

/// Measures on one half of the questions.
#[derive(Debug, Serialize)]
pub(crate) struct Half {
    pub(crate) n_queries: usize,
    pub(crate) configured: BTreeMap<&'static str, f64>,
    pub(crate) tuned: BTreeMap<&'static str, f64>,
}

/// Looks for weights, and gives what they are worth as text.
pub(super) async fn ask(asker: &Asker, args: TuneArgs, format: Format) -> Result<String, Failure> {
    let TuneArgs { questions, measure, ranking } = args;
    let ranked = SearchRequest { explain: true, ..SearchRequest::from(ranking) };
    let (queries, configured) =
        candidates(asker, Questions::get(asker, questions).await?, &ranked).await?;
    let (searched, held_out) = halves(queries);
    if held_out.is_empty() {
        return Err(Failure::usage("two halves need two questions at least"));
    }
    let tuned = tuned(&searched, &configured, &measure);
    let half = |queries: &[Candidates]| Half {
        n_queries: queries.len(),
        configured: Measures::mean(&measured(queries, &configured)).iter().collect(),
        tuned: Measures::mean(&measured(queries, &tuned)).iter().collect(),
    };
    let found = compare(&measured(&held_out, &tuned), &measured(&held_out, &configured), &measure);
    let tuning = Tuning {
        configured,
        tuned,
        searched: half(&searched),
        held_out: half(&held_out),
        comparison: Compared::of(&measure, found),
        measure,
    };
    render(format, &tuning, print::tuning)
}

/// The candidates of each question, whatever their weights, and the weights in use.
async fn candidates(
    asker: &Asker,
    questions: Questions,
    ranked: &SearchRequest,
) -> Result<(Vec<Candidates>, [f64; N_SIGNALS]), Failure> {
    let Questions { judged, n_unjudged: _, names, warnings: _ } = questions;
    let (mut all, mut used, mut generation) = (Vec::new(), [0.0; N_SIGNALS], 0);
    let (mut progress, n_total) = (Progress::new(), judged.len() as u64);
    for ((_, query, grades), done) in judged.into_iter().zip(0..) {
        progress.count("asking", done, n_total);
        let mut candidates = Candidates { grades, ..Candidates::default() };
        if let Some(query) = query {
            let request = request(&query, ALL, ranked.clone());
            let SearchResponse { mut hits, explanation, generation: answered, .. } =
                asker.search().search(request).await?.into_inner();
            same_state(&mut generation, answered)?;
            if let Some(Weights { similarity, centrality, activation }) =
                explanation.and_then(|explanation| explanation.weights)
            {
                used = [similarity, centrality, activation];
            }
            hits.sort_unstable_by(|a, b| a.uri.cmp(&b.uri));
            for hit in hits {
                let Signals { similarity, centrality, activation } =
                    hit.signals.unwrap_or_default();
                candidates
                    .candidates
                    .push((names.of(hit.uri), [similarity, centrality, activation]));
            }
        }
        all.push(candidates);
    }
    progress.end();
    Ok((all, used))
}
