//! `weft eval --context`: measures whether contexts contain the judged notes, compared with plain packing.

use std::collections::BTreeMap;
use std::time::Instant;

use clap::{Args, ValueEnum as _};
use serde::Serialize;
use weft_eval::{ContextRecall, Mean, PairedComparison};
use weft_proto::noteweft::v1::{
    AssembleRequest, AssembleResponse, ContextBands, ContextLimits, ContextMode, Rendering,
};

use super::questions::{NoteNames, Questions, except};
use super::{Latency, VariantDifference, latency, same_state};
use crate::cli::{Format, TextFormat};
use crate::client::Client;
use crate::commands::render;
use crate::context::own_limits;
use crate::failure::Failure;
use crate::print;
use crate::progress::Progress;

/// Measure by which variants are compared: the share of questions with all judged notes shown.
const COMPARED: &str = "shown";

/// Options for measuring contexts instead of rankings.
#[derive(Debug, Args)]
pub(super) struct ContextEvalArgs {
    /// Measure contexts instead of rankings, compared with plain packing: whole notes in rank order until the budget is spent.
    #[arg(long, conflicts_with_all = ["variant", "depth", "run", "require"], help_heading = "Contexts")]
    pub(super) context: bool,
    /// Budget of each context in tokens [default: the setting context.budget, 2000].
    #[arg(long, value_name = "TOKENS", requires = "context", help_heading = "Contexts")]
    budget: Option<i64>,
    /// How tokens are counted, as for `context`.
    #[arg(long, value_name = "NAME", requires = "context", help_heading = "Contexts")]
    estimator: Option<String>,
    /// Format of the contexts.
    #[arg(long, value_enum, value_name = "FORM", requires = "context", help_heading = "Contexts")]
    rendering: Option<TextFormat>,
    /// Also measure these limits, such as per_note_share=0.2,bands.snippet=0.35; repeatable.
    #[arg(long, value_name = "NAME=VALUE,…", value_parser = variant, requires = "context", help_heading = "Contexts")]
    limits: Vec<PackingVariant>,
}

/// A packing variant.
#[derive(Clone, Debug)]
struct PackingVariant {
    name: String,
    limits: Option<ContextLimits>,
}

fn variant(text: &str) -> Result<PackingVariant, String> {
    Ok(PackingVariant { name: text.to_owned(), limits: Some(own_limits(text)?) })
}

/// Returns the variant that packs whole notes in rank order: each may use everything that is left.
fn plain() -> PackingVariant {
    let bands = ContextBands { full: Some(0.0), snippet: Some(0.0), structural: Some(0.0) };
    let limits =
        ContextLimits { bands: Some(bands), per_note_share: Some(1.0), ..ContextLimits::default() };
    PackingVariant { name: "plain".to_owned(), limits: Some(limits) }
}

/// Result of an evaluation of contexts.
#[derive(Debug, Serialize)]
pub(crate) struct ContextEvaluation {
    /// Number of judged queries.
    pub(crate) n_queries: usize,
    /// Number of queries without judgments, which were not run.
    pub(crate) n_unjudged: usize,
    /// Judgments that can never be met.
    pub(crate) warnings: Vec<String>,
    /// Generation that answered.
    pub(crate) generation: u64,
    /// Budget of each context in tokens.
    pub(crate) budget: u64,
    /// Estimator that counted the tokens.
    pub(crate) estimator: String,
    /// Format of the contexts.
    pub(crate) rendering: String,
    /// Results by variant: plain packing as the baseline, the configured limits, and the limits of --limits.
    pub(crate) variants: Vec<PackingResult>,
}

/// Result of one variant.
#[derive(Debug, Serialize)]
pub(crate) struct PackingResult {
    pub(crate) name: String,
    /// Share of questions whose judged notes are all in the context, in full or as a snippet.
    pub(crate) shown: Mean,
    /// The same share, counting only notes that were not cut.
    pub(crate) uncut: Mean,
    /// Share of judged notes that a context shows.
    pub(crate) recall: Mean,
    /// Number of tokens used.
    pub(crate) used: f64,
    pub(crate) latency_ms: Latency,
    /// Difference from plain packing; absent for that one.
    pub(crate) comparison: Option<VariantDifference>,
}

/// Runs the evaluation and renders the table.
pub(super) async fn run(
    client: &Client,
    args: ContextEvalArgs,
    questions: Questions,
    format: Format,
) -> Result<String, Failure> {
    let ContextEvalArgs { context: _, budget, estimator, rendering, limits } = args;
    let Questions { judged, n_unjudged, names, warnings } = questions;
    let form = rendering.unwrap_or(TextFormat::Markdown);
    let base_request = AssembleRequest {
        budget,
        estimator,
        rendering: Rendering::from(form).into(),
        ..AssembleRequest::default()
    };
    let configured = PackingVariant { name: "configured".to_owned(), limits: None };
    let mut evaluation = ContextEvaluation {
        n_queries: judged.len(),
        n_unjudged,
        warnings,
        generation: 0,
        budget: 0,
        estimator: String::new(),
        rendering: form.to_possible_value().map_or_else(String::new, |form| form.get_name().into()),
        variants: Vec::new(),
    };
    let mut plainly: Vec<f64> = Vec::new();
    let (mut progress, n_total) = (Progress::new(), ((2 + limits.len()) * judged.len()) as u64);
    for PackingVariant { name, limits } in [plain(), configured].into_iter().chain(limits) {
        let (mut all, mut used, mut taken) = (Vec::new(), 0, Vec::new());
        let n_done = (evaluation.variants.len() * judged.len()) as u64;
        for ((_, query, grades), done) in judged.iter().zip(n_done..) {
            progress.count("asking", done, n_total);
            let Some(query) = query else {
                // An empty query finds nothing.
                all.push(ContextRecall::default());
                continue;
            };
            let request = AssembleRequest {
                query: query.text.clone(),
                filter: except(query),
                limits,
                ..base_request.clone()
            };
            let start = Instant::now();
            let answer = client.contexts().assemble(request).await?.into_inner();
            taken.push(start.elapsed());
            used += answer.used;
            all.push(ContextRecall::of(grades, &shown(&names, &answer)));
            same_state(&mut evaluation.generation, answer.generation)?;
            evaluation.budget = answer.budget;
            evaluation.estimator = answer.estimator;
        }
        let values = |of: fn(&ContextRecall) -> f64| -> Vec<f64> { all.iter().map(of).collect() };
        let shown = values(|held| f64::from(held.all));
        if plainly.is_empty() {
            plainly.clone_from(&shown);
        }
        let comparison = (!evaluation.variants.is_empty())
            .then(|| VariantDifference::of(COMPARED, PairedComparison::of(&shown, &plainly)));
        evaluation.variants.push(PackingResult {
            name,
            shown: Mean::of(&shown),
            uncut: Mean::of(&values(|held| f64::from(held.all_uncut))),
            recall: Mean::of(&values(|held| held.share)),
            used: used as f64 / taken.len().max(1) as f64,
            latency_ms: latency(taken),
            comparison,
        });
    }
    progress.end();
    render(format, &evaluation, print::context_evaluation)
}

/// Returns the notes that a context shows in full or as a snippet, each with whether it is uncut.
fn shown(names: &NoteNames, answer: &AssembleResponse) -> BTreeMap<String, bool> {
    let mut shown = BTreeMap::new();
    for item in &answer.items {
        match item.mode() {
            ContextMode::Full | ContextMode::Snippet => {
                shown.insert(names.of(item.uri.clone()), !item.truncated);
            }
            ContextMode::Structural | ContextMode::Unspecified => {}
        }
    }
    shown
}
