//! `weft eval --context`: measures whether contexts contain the answers and the judged passages, by packing profile and budget.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use clap::{Args, ValueEnum as _};
use serde::Serialize;
use weft_eval::{ContextRecall, ContextText, Grades, Mean, PairedComparison};
use weft_proto::noteweft::v1::{
    AssembleRequest, AssembleResponse, ContextLimits, ContextMode, GetNoteRequest, PackingProfile,
    Rendering,
};

use super::questions::{NoteNames, Questions, except};
use super::{Latency, Requirement, VariantDifference, below, latency, same_state};
use crate::cli::{Format, TextFormat};
use crate::client::Client;
use crate::commands::{aside, render};
use crate::context::{PackingArg, own_limits};
use crate::failure::Failure;
use crate::print;
use crate::progress::Progress;

/// Measures of contexts, in the order of a table.
pub(super) const CONTEXT_MEASURES: [&str; 4] = ["answered", "passages", "notes", "used"];

/// Options for measuring contexts instead of rankings.
#[derive(Debug, Args)]
pub(super) struct ContextEvalArgs {
    /// Measure contexts instead of rankings: whether they contain an answer, all judged passages, all judged notes.
    #[arg(long, conflicts_with_all = ["variant", "depth", "run"], help_heading = "Contexts")]
    pub(super) context: bool,
    /// Budgets in tokens, such as 500,2000 [default: the setting context.budget, 2000].
    #[arg(
        long,
        value_name = "TOKENS",
        value_delimiter = ',',
        requires = "context",
        help_heading = "Contexts"
    )]
    budget: Vec<i64>,
    /// Packing profiles to compare, the first with each other one [default: evidence,classic,plain].
    #[arg(
        long,
        value_enum,
        value_name = "PROFILE",
        value_delimiter = ',',
        requires = "context",
        help_heading = "Contexts"
    )]
    packing: Vec<PackingArg>,
    /// How tokens are counted, as for `context`.
    #[arg(long, value_name = "NAME", requires = "context", help_heading = "Contexts")]
    estimator: Option<String>,
    /// Format of the contexts.
    #[arg(long, value_enum, value_name = "FORM", requires = "context", help_heading = "Contexts")]
    rendering: Option<TextFormat>,
    /// Also measure the profile classic with these limits, such as per_note_share=0.2,bands.snippet=0.35; repeatable.
    #[arg(long, value_name = "NAME=VALUE,…", value_parser = variant, requires = "context", help_heading = "Contexts")]
    limits: Vec<PackingVariant>,
}

/// A packing variant.
#[derive(Clone, Debug)]
struct PackingVariant {
    name: String,
    packing: PackingProfile,
    limits: Option<ContextLimits>,
}

fn variant(text: &str) -> Result<PackingVariant, String> {
    let limits = Some(own_limits(text)?);
    Ok(PackingVariant { name: text.to_owned(), packing: PackingProfile::Classic, limits })
}

fn profile(packing: PackingArg) -> PackingVariant {
    let name = packing.to_possible_value().map_or_else(String::new, |it| it.get_name().to_owned());
    PackingVariant { name, packing: packing.into(), limits: None }
}

/// Result of an evaluation of contexts.
#[derive(Debug, Serialize)]
pub(crate) struct ContextEvaluation {
    /// Number of judged queries.
    pub(crate) n_queries: usize,
    /// Number of queries without judgments, which were not run.
    pub(crate) n_unjudged: usize,
    /// Number of queries with answers.
    pub(crate) n_with_answers: usize,
    /// Judgments that can never be met.
    pub(crate) warnings: Vec<String>,
    /// Generation that answered.
    pub(crate) generation: u64,
    /// Estimator that counted the tokens.
    pub(crate) estimator: String,
    /// Format of the contexts.
    pub(crate) rendering: String,
    /// Results by budget, then by variant; the first variant is compared with each other one.
    pub(crate) results: Vec<PackingResult>,
}

/// Result of one variant with one budget.
#[derive(Debug, Serialize)]
pub(crate) struct PackingResult {
    pub(crate) name: String,
    /// Budget of each context in tokens.
    pub(crate) budget: u64,
    /// Share of the questions with answers whose context contains one; absent without any.
    pub(crate) answered: Option<Mean>,
    /// Share of questions whose judged passages are all in the context, at least half of each; without passages, the bodies of the judged notes count.
    pub(crate) passages: Mean,
    /// Share of questions whose judged notes are all in the context, in full or in part.
    pub(crate) notes: Mean,
    /// Share of judged notes that a context shows.
    pub(crate) recall: Mean,
    /// Share of the budget that is used.
    pub(crate) used: f64,
    /// Mean number of tokens up to the end of the first answer, over contexts that contain one; absent if none does.
    pub(crate) tokens_to_answer: Option<f64>,
    pub(crate) latency_ms: Latency,
    /// Difference of the first variant from this one; absent for the first.
    pub(crate) comparison: Option<VariantDifference>,
}

/// The values of one context.
struct Measured {
    answered: Option<bool>,
    passages: bool,
    notes: ContextRecall,
    used: f64,
    tokens_to_answer: Option<f64>,
}

/// Runs the evaluation and renders the table.
pub(super) async fn run(
    client: &Client,
    args: ContextEvalArgs,
    questions: Questions,
    require: &[Requirement],
    format: Format,
) -> Result<String, Failure> {
    let ContextEvalArgs { context: _, budget, packing, estimator, rendering, limits } = args;
    let Questions { judged, n_unjudged, names, warnings } = questions;
    let form = rendering.unwrap_or(TextFormat::Markdown);
    let base_request = AssembleRequest {
        estimator,
        rendering: Rendering::from(form).into(),
        ..AssembleRequest::default()
    };
    let all = [PackingArg::Evidence, PackingArg::Classic, PackingArg::Plain];
    let packing = if packing.is_empty() { all.to_vec() } else { packing };
    let variants: Vec<PackingVariant> = packing.into_iter().map(profile).chain(limits).collect();
    let budgets: Vec<Option<i64>> =
        if budget.is_empty() { vec![None] } else { budget.into_iter().map(Some).collect() };
    let passages = judged_passages(client, &judged, &names).await?;
    let has_answers = |query: &Option<_>| {
        query.as_ref().is_some_and(|query: &weft_eval::EvalQuery| !query.answers.is_empty())
    };
    let mut evaluation = ContextEvaluation {
        n_queries: judged.len(),
        n_unjudged,
        n_with_answers: judged.iter().filter(|(_, query, _)| has_answers(query)).count(),
        warnings,
        generation: 0,
        estimator: String::new(),
        rendering: form.to_possible_value().map_or_else(String::new, |form| form.get_name().into()),
        results: Vec::new(),
    };
    let n_total = (variants.len() * budgets.len() * judged.len()) as u64;
    let (mut progress, mut n_done) = (Progress::new(), 0);
    for budget in budgets {
        let mut first: Vec<Measured> = Vec::new();
        for (variant_idx, variant) in variants.iter().enumerate() {
            let (mut all, mut taken, mut spent) = (Vec::new(), Vec::new(), 0);
            for ((_, query, grades), passages) in judged.iter().zip(&passages) {
                progress.count("asking", n_done, n_total);
                n_done += 1;
                // An empty query finds nothing.
                let Some(query) = query else { continue };
                let request = AssembleRequest {
                    query: query.text.clone(),
                    filter: except(query),
                    budget,
                    packing: variant.packing.into(),
                    limits: variant.limits,
                    ..base_request.clone()
                };
                let start = Instant::now();
                let answer = client.contexts().assemble(request).await?.into_inner();
                taken.push(start.elapsed());
                same_state(&mut evaluation.generation, answer.generation)?;
                spent = answer.budget;
                evaluation.estimator.clone_from(&answer.estimator);
                all.push(measured(&names, &answer, &query.answers, passages, grades));
            }
            let result = result(variant, spent, &all, latency(taken));
            let comparison = (variant_idx > 0).then(|| difference(&first, &all));
            evaluation.results.push(PackingResult { comparison, ..result });
            if variant_idx == 0 {
                first = all;
            }
        }
    }
    progress.end();
    let first = evaluation.results.first().map(|first| first.name.clone());
    let value = |required: &str| {
        let (name, budget) = required.split_once('@')?;
        let budget: u64 = budget.parse().ok()?;
        let of_first = evaluation.results.iter().filter(|it| Some(&it.name) == first.as_ref());
        let result = of_first.into_iter().find(|result| result.budget == budget)?;
        result.value(name)
    };
    if let Some(missed) = below(require, value) {
        aside(&print::context_evaluation(&evaluation));
        return Err(missed);
    }
    render(format, &evaluation, print::context_evaluation)
}

impl PackingResult {
    fn value(&self, measure: &str) -> Option<f64> {
        match measure {
            "answered" => self.answered.map(|answered| answered.mean),
            "passages" => Some(self.passages.mean),
            "notes" => Some(self.notes.mean),
            "used" => Some(self.used),
            _ => None,
        }
    }
}

/// Returns the passages that a context of each question should contain.
async fn judged_passages(
    client: &Client,
    judged: &[(String, Option<weft_eval::EvalQuery>, Grades)],
    names: &NoteNames,
) -> Result<Vec<Vec<String>>, Failure> {
    let mut bodies: BTreeMap<String, String> = BTreeMap::new();
    let mut all = Vec::with_capacity(judged.len());
    for (_, query, grades) in judged {
        let own = query.as_ref().map(|query| query.passages.clone()).unwrap_or_default();
        if !own.is_empty() {
            all.push(own);
            continue;
        }
        let mut passages = Vec::new();
        for (name, _) in grades.iter().filter(|(_, grade)| **grade > 0) {
            if !bodies.contains_key(name) {
                let Some(uri) = names.uri(name) else { continue };
                let request =
                    GetNoteRequest { name: uri, max_links: Some(1), ..GetNoteRequest::default() };
                let note = client.notes().get_note(request).await?.into_inner();
                bodies.insert(name.clone(), note.body);
            }
            passages.extend(bodies.get(name).cloned());
        }
        all.push(passages);
    }
    Ok(all)
}

fn measured(
    names: &NoteNames,
    answer: &AssembleResponse,
    answers: &[String],
    passages: &[String],
    grades: &Grades,
) -> Measured {
    let parts =
        || answer.items.iter().map(|item| item.text.as_str()).collect::<Vec<_>>().join("\n");
    let text = ContextText::new(&answer.rendered.clone().unwrap_or_else(parts));
    let until = text.until_answer(answers);
    Measured {
        answered: (!answers.is_empty()).then_some(until.is_some()),
        passages: !passages.is_empty() && passages.iter().all(|passage| text.contains(passage)),
        notes: ContextRecall::of(grades, &shown(names, answer)),
        used: answer.used as f64 / answer.budget.max(1) as f64,
        tokens_to_answer: until.map(|share| share * answer.used as f64),
    }
}

fn result(
    variant: &PackingVariant,
    budget: u64,
    all: &[Measured],
    latency_ms: Latency,
) -> PackingResult {
    let values = |of: fn(&Measured) -> Option<f64>| all.iter().filter_map(of).collect::<Vec<_>>();
    let answered = values(|one| one.answered.map(f64::from));
    let until = values(|one| one.tokens_to_answer);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    PackingResult {
        name: variant.name.clone(),
        budget,
        answered: (!answered.is_empty()).then(|| Mean::of(&answered)),
        passages: Mean::of(&values(|one| Some(f64::from(one.passages)))),
        notes: Mean::of(&values(|one| Some(f64::from(one.notes.all)))),
        recall: Mean::of(&values(|one| Some(one.notes.share))),
        used: mean(&values(|one| Some(one.used))),
        tokens_to_answer: (!until.is_empty()).then(|| mean(&until)),
        latency_ms,
        comparison: None,
    }
}

/// Compares the first variant with another one: by answers if the questions have any, else by passages.
fn difference(first: &[Measured], other: &[Measured]) -> VariantDifference {
    let has_answers = first.iter().any(|one| one.answered.is_some());
    let value = |one: &Measured| {
        f64::from(if has_answers { one.answered.unwrap_or(false) } else { one.passages })
    };
    let values = |all: &[Measured]| all.iter().map(value).collect::<Vec<_>>();
    let measure = CONTEXT_MEASURES[usize::from(!has_answers)];
    VariantDifference::of(measure, PairedComparison::of(&values(first), &values(other)))
}

/// Returns the notes that a context shows in full or in part.
fn shown(names: &NoteNames, answer: &AssembleResponse) -> BTreeSet<String> {
    let with_text = answer.items.iter().filter(|item| match item.mode() {
        ContextMode::Full | ContextMode::Snippet => true,
        ContextMode::Structural | ContextMode::Unspecified => false,
    });
    with_text.map(|item| names.of(item.uri.clone())).collect()
}
