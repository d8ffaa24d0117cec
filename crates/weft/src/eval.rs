//! `weft eval`: what the ranking is worth on one's own questions, and what each part of it.

mod context;
mod questions;
mod tune;
mod variant;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use serde::Serialize;
use weft_eval::{Comparison, MEASURES, Measures, compare, run_lines};
use weft_proto::noteweft::v1::{Phase, StatusRequest};

use crate::asker::Asker;
use crate::cli::Format;
use crate::commands::{aside, render};
use crate::failure::Failure;
use crate::percentile::percentile_ms;
use crate::print;
use crate::progress::Progress;
use context::ContextEvalArgs;
pub(crate) use context::{ContextEvaluation, Packed};
use questions::{QuestionArgs, Questions, request};
use tune::TuneArgs;
pub(crate) use tune::{Half, Tuning};
use variant::{Variant, usual};

/// The measure by which variants are compared where one is shown.
const COMPARED: &str = "nDCG@10";

/// The measures by which they are compared.
const ALL_COMPARED: [&str; 2] = [COMPARED, "recall@5"];

/// What to ask, what is right, and how to count.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct EvalArgs {
    #[command(subcommand)]
    command: Option<EvalCommand>,
    #[command(flatten)]
    questions: QuestionArgs,
    /// Only these variants, the first to compare with; all where none is named.
    #[arg(long, value_enum, value_delimiter = ',')]
    variant: Vec<Variant>,
    /// Hits that are asked for.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(10..=1000))]
    depth: u32,
    /// Write the first variant's rankings here, as TREC run lines.
    #[arg(long, value_name = "FILE")]
    run: Option<PathBuf>,
    /// Fail with exit code 1 where the first variant has less, such as recall@5=0.9; may be given several times.
    #[arg(long, value_name = "MEASURE=LEAST", value_parser = requirement)]
    require: Vec<(&'static str, f64)>,
    #[command(flatten)]
    contexts: ContextEvalArgs,
}

#[derive(Debug, Subcommand)]
enum EvalCommand {
    /// Look for weights on one half of the questions, and try them on the other.
    Tune(TuneArgs),
}

fn requirement(text: &str) -> Result<(&'static str, f64), String> {
    let (name, least) = text.split_once('=').ok_or("it is not MEASURE=LEAST")?;
    let name = MEASURES.into_iter().find(|known| *known == name);
    let name = name.ok_or_else(|| format!("the measures are {}", MEASURES.join(", ")))?;
    let number = least.parse().ok().filter(|number| (0.0..=1.0).contains(number));
    Ok((name, number.ok_or_else(|| format!("`{least}` is no number from 0 to 1"))?))
}

/// What was measured.
#[derive(Debug, Serialize)]
pub(crate) struct Evaluation {
    /// Judged queries.
    pub(crate) n_queries: usize,
    /// Queries without a judgement, which were not asked.
    pub(crate) n_unjudged: usize,
    /// What of the judgements can never be met.
    pub(crate) warnings: Vec<String>,
    /// The generation that answered.
    pub(crate) generation: u64,
    /// The variants, the first is the one compared with.
    pub(crate) variants: Vec<Measured>,
}

/// What was measured of one variant.
#[derive(Debug, Serialize)]
pub(crate) struct Measured {
    pub(crate) name: String,
    pub(crate) measures: BTreeMap<&'static str, f64>,
    /// Milliseconds of an answer, in the middle and of the slowest twentieth.
    pub(crate) latency_ms: Latency,
    /// Against the first variant, by nDCG@10 and by recall@5; nothing for that one.
    pub(crate) comparisons: Vec<Compared>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Latency {
    pub(crate) p50: f64,
    pub(crate) p95: f64,
}

/// By how much a variant differs from the first.
#[derive(Debug, Serialize)]
pub(crate) struct Compared {
    pub(crate) measure: String,
    pub(crate) difference: f64,
    /// The 95 % interval.
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) n_better: usize,
    pub(crate) n_worse: usize,
}

impl Compared {
    fn of(measure: &str, found: Comparison) -> Self {
        let Comparison { difference, low, high, n_better, n_worse } = found;
        Self { measure: measure.to_owned(), difference, low, high, n_better, n_worse }
    }
}

/// Fails where an index is not settled: what is measured of half of it says nothing.
async fn settled(asker: &Asker) -> Result<(), Failure> {
    let status = asker.admin().status(StatusRequest {}).await?.into_inner();
    if status.phase() == Phase::Ready && status.n_vectors_pending == 0 {
        return Ok(());
    }
    Err(Failure::other("the index is not complete yet, and what is measured now would mislead")
        .hint("measure when `weft status` says that it is ready"))
}

/// Keeps the generation that answers, and fails where another one does: variants are compared on equal terms.
fn same_state(kept: &mut u64, answered: u64) -> Result<(), Failure> {
    if *kept != 0 && *kept != answered {
        let what = format!(
            "the index changed while it was measured, from generation {kept} to {answered}"
        );
        return Err(Failure::other(what).hint("measure again while nobody writes"));
    }
    *kept = answered;
    Ok(())
}

/// Measures, and gives the table as text.
pub(crate) async fn ask(asker: &Asker, args: EvalArgs, format: Format) -> Result<String, Failure> {
    settled(asker).await?;
    let EvalArgs { command, questions, variant, depth, run, require, contexts } = args;
    if let Some(EvalCommand::Tune(args)) = command {
        return tune::ask(asker, args, format).await;
    }
    let questions = Questions::get(asker, questions).await?;
    if contexts.context {
        return context::ask(asker, contexts, questions, format).await;
    }
    let Questions { judged, n_unjudged, names, warnings } = questions;
    let variants = if variant.is_empty() { usual(asker).await? } else { variant };
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
                // Nothing is asked, so nothing is found.
                all.push(Measures::default());
                continue;
            };
            let request = request(query, depth, variant.request());
            let start = Instant::now();
            let answer = asker.search().search(request).await?.into_inner();
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
        let comparisons =
            compared.map(|measure| Compared::of(measure, compare(&all, &first, measure))).collect();
        evaluation.variants.push(Measured {
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
        // What was measured tells why, but standard output is for answers.
        aside(&print::evaluation(&evaluation));
        return Err(missed);
    }
    render(format, &evaluation, print::evaluation)
}

/// The requirement that the first variant does not meet.
fn missed(evaluation: &Evaluation, require: &[(&'static str, f64)]) -> Option<Failure> {
    let measured = evaluation.variants.first()?;
    let value = |name| measured.measures.get(name).copied().unwrap_or(0.0);
    let (name, least) = require.iter().find(|(name, least)| value(name) < *least)?;
    Some(Failure::other(format!("{name} is {:.4}, less than {least}", value(name))))
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
        assert_eq!(requirement("recall@5=0.95"), Ok(("recall@5", 0.95)));
        for wrong in
            ["recall@5", "recall@7=1", "MRR=much", "MRR=nan", "MRR=inf", "MRR=-0.1", "MRR=90"]
        {
            assert!(requirement(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_missed_requirement_fails() {
        let measured = Measured {
            name: "configured".into(),
            measures: [("MRR", 0.5)].into(),
            latency_ms: latency(Vec::new()),
            comparisons: Vec::new(),
        };
        let (warnings, variants) = (Vec::new(), vec![measured]);
        let evaluation =
            Evaluation { n_queries: 1, n_unjudged: 0, warnings, generation: 1, variants };
        assert_eq!(missed(&evaluation, &[("MRR", 0.5)]), None);
        assert!(missed(&evaluation, &[("MRR", 0.6)]).unwrap().message.contains("less than 0.6"));
    }

    #[test]
    fn latencies_are_those_of_the_middle_and_the_slow() {
        let taken = (1..=100).map(Duration::from_millis).collect();
        let Latency { p50, p95 } = latency(taken);
        assert!((p50 - 51.0).abs() < 1e-9 && (p95 - 96.0).abs() < 1e-9, "{p50} {p95}");
    }
}
