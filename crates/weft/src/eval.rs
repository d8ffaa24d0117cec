//! `weft eval`: measures the ranking on the user's own questions, and the effect of each part.

mod context_eval;
mod questions;
mod ranking_variant;
mod tune;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use serde::Serialize;
use weft_eval::{MEASURES, Measures, PairedComparison, compare, run_lines};
use weft_proto::noteweft::v1::{Phase, StatusRequest};

use crate::cli::Format;
use crate::client::Client;
use crate::commands::{aside, render};
use crate::failure::Failure;
use crate::percentile::percentile_ms;
use crate::print;
use crate::progress::Progress;
use context_eval::{CONTEXT_MEASURES, ContextEvalArgs};
pub(crate) use context_eval::{ContextEvaluation, PackingResult};
use questions::{QuestionArgs, Questions, request};
use ranking_variant::{RankingVariant, default_variants};
use tune::TuneArgs;
pub(crate) use tune::{HalfResult, Tuning};

/// Measure by which variants are compared if only one is shown.
const COMPARED: &str = "nDCG@10";

/// Measures by which variants are compared.
const ALL_COMPARED: [&str; 2] = [COMPARED, "recall@5"];

/// Questions, judgments and measures.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct EvalArgs {
    #[command(subcommand)]
    command: Option<EvalCommand>,
    #[command(flatten)]
    questions: QuestionArgs,
    /// Only these variants, compared with the first [default: all].
    #[arg(long, value_enum, value_delimiter = ',')]
    variant: Vec<RankingVariant>,
    /// Number of hits to request.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(10..=1000))]
    depth: u32,
    /// Write the rankings of the first variant to this file, as a TREC run.
    #[arg(long, value_name = "FILE")]
    run: Option<PathBuf>,
    /// Exit with code 1 if a measure of the first variant is below the given value, such as recall@5=0.9, or answered@500=0.9 with --context; repeatable.
    #[arg(long, value_name = "MEASURE=LEAST", value_parser = requirement)]
    require: Vec<Requirement>,
    #[command(flatten)]
    contexts: ContextEvalArgs,
}

#[derive(Debug, Subcommand)]
enum EvalCommand {
    /// Search for weights on one half of the questions and test them on the other.
    Tune(TuneArgs),
}

/// Minimum of a measure of the first variant.
#[derive(Clone, Debug, PartialEq)]
struct Requirement {
    /// Name of the measure; for contexts, with its budget after `@`.
    measure: String,
    least: f64,
}

fn requirement(text: &str) -> Result<Requirement, String> {
    let (measure, least) = text.split_once('=').ok_or("expected MEASURE=MINIMUM")?;
    let of_context = || {
        let (name, budget) = measure.split_once('@')?;
        CONTEXT_MEASURES.contains(&name).then(|| budget.parse::<u64>().ok())?
    };
    if !MEASURES.contains(&measure) && of_context().is_none() {
        let (ranking, context) = (MEASURES.join(", "), CONTEXT_MEASURES.join("@BUDGET, "));
        return Err(format!("the measures are {ranking}, and with --context {context}@BUDGET"));
    }
    let number = least.parse().ok().filter(|number| (0.0..=1.0).contains(number));
    let least = number.ok_or_else(|| format!("`{least}` is not a number from 0 to 1"))?;
    Ok(Requirement { measure: measure.to_owned(), least })
}

/// Result of an evaluation.
#[derive(Debug, Serialize)]
pub(crate) struct Evaluation {
    /// Number of judged queries.
    pub(crate) n_queries: usize,
    /// Number of queries without judgments, which were not run.
    pub(crate) n_unjudged: usize,
    /// Judgments that can never be met.
    pub(crate) warnings: Vec<String>,
    /// Generation that answered.
    pub(crate) generation: u64,
    /// Results by variant; the first is the baseline.
    pub(crate) variants: Vec<VariantResult>,
}

/// Result of one variant.
#[derive(Debug, Serialize)]
pub(crate) struct VariantResult {
    pub(crate) name: String,
    pub(crate) measures: BTreeMap<&'static str, f64>,
    /// Latency in milliseconds: median and 95th percentile.
    pub(crate) latency_ms: Latency,
    /// Differences from the first variant, by nDCG@10 and recall@5; empty for that one.
    pub(crate) comparisons: Vec<VariantDifference>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Latency {
    pub(crate) p50: f64,
    pub(crate) p95: f64,
}

/// Difference of a variant from the first.
#[derive(Debug, Serialize)]
pub(crate) struct VariantDifference {
    pub(crate) measure: String,
    pub(crate) difference: f64,
    /// 95 % confidence interval.
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) n_better: usize,
    pub(crate) n_worse: usize,
}

impl VariantDifference {
    fn of(measure: &str, found: PairedComparison) -> Self {
        let PairedComparison { difference, low, high, n_better, n_worse } = found;
        Self { measure: measure.to_owned(), difference, low, high, n_better, n_worse }
    }
}

/// Fails if the index is incomplete, because measurements of a partial index mislead.
async fn settled(client: &Client) -> Result<(), Failure> {
    let status = client.admin().status(StatusRequest {}).await?.into_inner();
    if status.phase() == Phase::Ready && status.pending_vector_count == 0 {
        return Ok(());
    }
    Err(Failure::other("the index is incomplete, so measurements would mislead")
        .hint("measure again when `weft status` reports ready"))
}

/// Records the generation of the first answer, and fails if a later answer has another one: variants are compared on equal terms.
fn same_state(kept: &mut u64, answered: u64) -> Result<(), Failure> {
    if *kept != 0 && *kept != answered {
        let what = format!(
            "the index changed while it was measured, from generation {kept} to {answered}"
        );
        return Err(Failure::other(what).hint("measure again while no note changes"));
    }
    *kept = answered;
    Ok(())
}

/// Runs the evaluation and renders the table.
pub(crate) async fn run(
    client: &Client,
    args: EvalArgs,
    format: Format,
) -> Result<String, Failure> {
    settled(client).await?;
    let EvalArgs { command, questions, variant, depth, run, require, contexts } = args;
    if let Some(EvalCommand::Tune(args)) = command {
        return tune::run(client, args, format).await;
    }
    let questions = Questions::get(client, questions, contexts.context).await?;
    if contexts.context {
        return context_eval::run(client, contexts, questions, &require, format).await;
    }
    let Questions { judged, n_unjudged, names, warnings } = questions;
    let variants = if variant.is_empty() { default_variants(client).await? } else { variant };
    let n_queries = judged.len();
    let mut evaluation =
        Evaluation { n_queries, n_unjudged, warnings, generation: 0, variants: Vec::new() };
    let mut progress = Progress::new();
    let n_total = (variants.len() * n_queries) as u64;
    let mut first: Vec<Measures> = Vec::new();
    let mut lines = String::new();
    for (at, variant) in variants.into_iter().enumerate() {
        let (mut all, mut taken) = (Vec::new(), Vec::new());
        for ((id, query, grades), done) in judged.iter().zip((at * n_queries) as u64..) {
            progress.count("asking", done, n_total);
            let Some(query) = query else {
                // An empty query finds nothing.
                all.push(Measures::default());
                continue;
            };
            let request = request(query, depth, variant.request());
            let start = Instant::now();
            let answer = client.search().search(request).await?.into_inner();
            taken.push(start.elapsed());
            same_state(&mut evaluation.generation, answer.generation)?;
            let ranking = names.ranking(answer);
            if at == 0 && run.is_some() {
                lines.push_str(&run_lines(id, &ranking, &variant.name()));
            }
            let ranking: Vec<String> = ranking.into_iter().map(|(name, _)| name).collect();
            all.push(Measures::of(grades, &ranking));
        }
        let compared = ALL_COMPARED.into_iter().filter(|_| at > 0);
        let comparisons = compared
            .map(|measure| VariantDifference::of(measure, compare(&all, &first, measure)))
            .collect();
        evaluation.variants.push(VariantResult {
            name: variant.name(),
            measures: Measures::mean(&all).iter().collect(),
            latency_ms: latency(taken),
            comparisons,
        });
        if at == 0 {
            first = all;
        }
    }
    progress.end();
    if let Some(path) = &run {
        let written = std::fs::write(path, lines);
        written
            .map_err(|error| Failure::other(format!("cannot write {}: {error}", path.display())))?;
    }
    if let Some(missed) = missed(&evaluation, &require) {
        // Only answers go to standard output, so the table goes to standard error on failure.
        aside(&print::evaluation(&evaluation));
        return Err(missed);
    }
    render(format, &evaluation, print::evaluation)
}

/// Returns the first requirement that the first variant fails.
fn missed(evaluation: &Evaluation, require: &[Requirement]) -> Option<Failure> {
    let measured = evaluation.variants.first()?;
    below(require, |name| measured.measures.get(name).copied())
}

/// Returns the first requirement that the measured values fail; a measure without a value is 0.
fn below(require: &[Requirement], value: impl Fn(&str) -> Option<f64>) -> Option<Failure> {
    let value = |name: &str| value(name).unwrap_or(0.0);
    let missed = require.iter().find(|required| value(&required.measure) < required.least)?;
    let Requirement { measure, least } = missed;
    Some(Failure::other(format!("{measure} is {:.4}, less than {least}", value(measure))))
}

fn latency(mut taken: Vec<Duration>) -> Latency {
    taken.sort_unstable();
    Latency { p50: percentile_ms(&taken, 50), p95: percentile_ms(&taken, 95) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_requirement_names_a_measure() {
        for measure in ["recall@5", "answered@500", "passages@2000"] {
            let expected = Requirement { measure: measure.to_owned(), least: 0.95 };
            assert_eq!(requirement(&format!("{measure}=0.95")), Ok(expected));
        }
        for wrong in [
            "recall@5",
            "recall@7=1",
            "MRR=much",
            "MRR=nan",
            "MRR=inf",
            "MRR=-0.1",
            "MRR=90",
            "answered=1",
            "answered@x=1",
        ] {
            assert!(requirement(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_missed_requirement_fails() {
        let measured = VariantResult {
            name: "configured".into(),
            measures: [("MRR", 0.5)].into(),
            latency_ms: latency(Vec::new()),
            comparisons: Vec::new(),
        };
        let (warnings, variants) = (Vec::new(), vec![measured]);
        let evaluation =
            Evaluation { n_queries: 1, n_unjudged: 0, warnings, generation: 1, variants };
        let mrr = |least| [Requirement { measure: "MRR".to_owned(), least }];
        assert_eq!(missed(&evaluation, &mrr(0.5)), None);
        assert!(missed(&evaluation, &mrr(0.6)).unwrap().message.contains("less than 0.6"));
    }

    #[test]
    fn latencies_are_those_of_the_middle_and_the_slow() {
        let taken = (1..=100).map(Duration::from_millis).collect();
        let Latency { p50, p95 } = latency(taken);
        assert!((p50 - 51.0).abs() < 1e-9 && (p95 - 96.0).abs() < 1e-9, "{p50} {p95}");
    }
}
