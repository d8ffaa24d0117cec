//! `weft eval --context`: whether the right notes are in a context, beside plain packing.

use std::collections::BTreeMap;
use std::time::Instant;

use clap::{Args, ValueEnum as _};
use serde::Serialize;
use weft_eval::{Comparison, Held, Mean};
use weft_proto::noteweft::v1::{
    AssembleRequest, AssembleResponse, ContextBands, ContextLimits, ContextMode, Rendering,
};

use super::questions::{Names, Questions, except};
use super::{Compared, Latency, latency, same_state};
use crate::asker::Asker;
use crate::cli::{Form, Format};
use crate::commands::render;
use crate::context::own_limits;
use crate::failure::Failure;
use crate::print;
use crate::progress::Progress;

/// What is compared: the share of questions all of whose right notes are shown.
const COMPARED: &str = "shown";

/// Contexts to measure instead of rankings.
#[derive(Debug, Args)]
pub(super) struct ContextEvalArgs {
    /// Measure contexts instead of rankings, beside plain packing: whole notes in order until the budget is spent.
    #[arg(long, conflicts_with_all = ["variant", "depth", "run", "require"], help_heading = "Contexts")]
    pub(super) context: bool,
    /// Tokens of each context; 2000 unless the settings say otherwise.
    #[arg(long, value_name = "TOKENS", requires = "context", help_heading = "Contexts")]
    budget: Option<i64>,
    /// How tokens are counted, as for `context`.
    #[arg(long, value_name = "NAME", requires = "context", help_heading = "Contexts")]
    estimator: Option<String>,
    /// In which form the contexts are written.
    #[arg(long, value_enum, value_name = "FORM", requires = "context", help_heading = "Contexts")]
    rendering: Option<Form>,
    /// Measure these limits as well, such as soft_ratio=0.2,bands.snippet=0.35; may be given several times.
    #[arg(long, value_name = "NAME=VALUE,…", value_parser = variant, requires = "context", help_heading = "Contexts")]
    with: Vec<Variant>,
}

/// A way to pack.
#[derive(Clone, Debug)]
struct Variant {
    name: String,
    limits: Option<ContextLimits>,
}

fn variant(text: &str) -> Result<Variant, String> {
    Ok(Variant { name: text.to_owned(), limits: Some(own_limits(text)?) })
}

/// Whole notes in order: each counts as one of the best and may take all that is left.
fn plain() -> Variant {
    let bands = ContextBands { full: Some(0.0), snippet: Some(0.0), structural: Some(0.0) };
    let limits =
        ContextLimits { bands: Some(bands), soft_ratio: Some(1.0), ..ContextLimits::default() };
    Variant { name: "plain".to_owned(), limits: Some(limits) }
}

/// What was measured of contexts.
#[derive(Debug, Serialize)]
pub(crate) struct ContextEvaluation {
    /// Judged queries.
    pub(crate) n_queries: usize,
    /// Queries without a judgement, which were not asked.
    pub(crate) n_unjudged: usize,
    /// What of the judgements can never be met.
    pub(crate) warnings: Vec<String>,
    /// The generation that answered.
    pub(crate) generation: u64,
    /// Tokens of each context.
    pub(crate) budget: u64,
    /// How they were counted.
    pub(crate) estimator: String,
    /// The form the contexts were written in.
    pub(crate) rendering: String,
    /// Plain packing, with which the others are compared, the settings, and the limits to measure as well.
    pub(crate) variants: Vec<Packed>,
}

/// What was measured of one way to pack.
#[derive(Debug, Serialize)]
pub(crate) struct Packed {
    pub(crate) name: String,
    /// The share of questions all of whose right notes are in the context, in full or as a snippet.
    pub(crate) shown: Mean,
    /// The same where none of them is cut.
    pub(crate) uncut: Mean,
    /// The share of right notes that a context shows.
    pub(crate) recall: Mean,
    /// Tokens used.
    pub(crate) used: f64,
    pub(crate) latency_ms: Latency,
    /// Against plain packing; nothing for that one.
    pub(crate) comparison: Option<Compared>,
}

/// Measures, and gives the table as text.
pub(super) async fn ask(
    asker: &Asker,
    args: ContextEvalArgs,
    questions: Questions,
    format: Format,
) -> Result<String, Failure> {
    let ContextEvalArgs { context: _, budget, estimator, rendering, with } = args;
    let Questions { judged, n_unjudged, names, warnings } = questions;
    let form = rendering.unwrap_or(Form::Markdown);
    let asked = AssembleRequest {
        budget,
        estimator,
        rendering: Rendering::from(form).into(),
        ..AssembleRequest::default()
    };
    let configured = Variant { name: "configured".to_owned(), limits: None };
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
    let (mut progress, n_total) = (Progress::new(), ((2 + with.len()) * judged.len()) as u64);
    for Variant { name, limits } in [plain(), configured].into_iter().chain(with) {
        let (mut all, mut used, mut taken) = (Vec::new(), 0, Vec::new());
        let n_done = (evaluation.variants.len() * judged.len()) as u64;
        for ((_, query, grades), done) in judged.iter().zip(n_done..) {
            progress.count("asking", done, n_total);
            let Some(query) = query else {
                // Nothing is asked, so nothing is found.
                all.push(Held::default());
                continue;
            };
            let request = AssembleRequest {
                query: query.text.clone(),
                filter: except(query),
                limits,
                ..asked.clone()
            };
            let start = Instant::now();
            let answer = asker.contexts().assemble(request).await?.into_inner();
            taken.push(start.elapsed());
            used += answer.used;
            all.push(Held::of(grades, &shown(&names, &answer)));
            same_state(&mut evaluation.generation, answer.generation)?;
            evaluation.budget = answer.budget;
            evaluation.estimator = answer.estimator;
        }
        let values = |of: fn(&Held) -> f64| -> Vec<f64> { all.iter().map(of).collect() };
        let shown = values(|held| f64::from(held.all));
        if plainly.is_empty() {
            plainly.clone_from(&shown);
        }
        let comparison = (!evaluation.variants.is_empty())
            .then(|| Compared::of(COMPARED, Comparison::of(&shown, &plainly)));
        evaluation.variants.push(Packed {
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

/// The notes that a context gives in full or as a snippet, each with whether nothing of that is cut.
fn shown(names: &Names, answer: &AssembleResponse) -> BTreeMap<String, bool> {
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
