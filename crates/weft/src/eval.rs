//! `weft eval`: what the ranking is worth on one's own questions, and what each part of it.

mod context;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use serde::Serialize;
use weft_eval::{Grades, Judgements, MEASURES, Measures, Query, compare, read_queries, run_lines};
use weft_proto::noteweft::v1::{
    GetNoteRequest, Profile, SearchMode, SearchRequest, SearchResponse, StatusRequest, Without,
};

use self::context::ContextEvalArgs;
pub(crate) use self::context::{ContextEvaluation, Packed};
use crate::asker::Asker;
use crate::cli::Format;
use crate::commands::{aside, render};
use crate::failure::Failure;
use crate::print;

/// The measure by which variants are compared.
const COMPARED: &str = "nDCG@10";

/// What to ask, what is right, and how to count.
#[derive(Debug, Args)]
pub(crate) struct EvalArgs {
    /// The questions: one JSON object a line, with `id` and `text`.
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,
    /// What is right: `question <tab> note <tab> grade` a line, or TREC's four columns.
    #[arg(long, value_name = "FILE")]
    qrels: PathBuf,
    /// The property by which the judgements name notes, instead of the uri.
    #[arg(long, value_name = "NAME")]
    id_property: Option<String>,
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

/// A way to rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Variant {
    /// As the daemon is configured.
    Configured,
    /// Words alone.
    Keyword,
    /// Vectors alone.
    Vector,
    /// Words and vectors, without names and graph.
    Hybrid,
    /// The same with names: all of it without the graph.
    NoGraph,
    /// All of it but vectors.
    WithoutVectors,
    /// All of it but names.
    WithoutNames,
    /// All of it but links.
    WithoutLinks,
    /// All of it but shared words.
    WithoutSharedWords,
    /// The profile `bridge`.
    Bridge,
    /// The profile `classic`.
    Classic,
}

impl Variant {
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    fn request(self) -> SearchRequest {
        let mut request = SearchRequest::default();
        let mut without = Without::default();
        match self {
            Self::Configured => {}
            Self::Keyword => {
                request.mode = SearchMode::Keyword.into();
                (request.no_graph, without.names) = (true, true);
            }
            Self::Vector => {
                request.mode = SearchMode::Vector.into();
                request.no_graph = true;
            }
            Self::Hybrid => (request.no_graph, without.names) = (true, true),
            Self::NoGraph => request.no_graph = true,
            Self::WithoutVectors => request.mode = SearchMode::Keyword.into(),
            Self::WithoutNames => without.names = true,
            Self::WithoutLinks => without.links = true,
            Self::WithoutSharedWords => without.shared_words = true,
            Self::Bridge => request.profile = Profile::Bridge.into(),
            Self::Classic => request.profile = Profile::Classic.into(),
        }
        SearchRequest { without: Some(without), ..request }
    }
}

fn requirement(text: &str) -> Result<(&'static str, f64), String> {
    let (name, least) = text.split_once('=').ok_or("it is not MEASURE=LEAST")?;
    let name = MEASURES.into_iter().find(|known| *known == name);
    let name = name.ok_or_else(|| format!("the measures are {}", MEASURES.join(", ")))?;
    let least = least.parse().map_err(|_| format!("`{least}` is no number"))?;
    Ok((name, least))
}

/// What was measured.
#[derive(Debug, Serialize)]
pub(crate) struct Evaluation {
    /// Judged queries.
    pub(crate) n_queries: usize,
    /// Queries without a judgement, which were not asked.
    pub(crate) n_unjudged: usize,
    /// The generation that answered last.
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
    /// Against the first variant; nothing for that one.
    pub(crate) comparison: Option<Compared>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Latency {
    pub(crate) p50: f64,
    pub(crate) p95: f64,
}

/// By how much a variant differs from the first.
#[derive(Debug, Serialize)]
pub(crate) struct Compared {
    pub(crate) measure: &'static str,
    pub(crate) difference: f64,
    /// The 95 % interval.
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) n_better: usize,
    pub(crate) n_worse: usize,
}

/// Measures, and gives the table as text.
pub(crate) async fn ask(asker: &Asker, args: EvalArgs, format: Format) -> Result<String, Failure> {
    let EvalArgs { queries, qrels, id_property, variant, depth, run, require, contexts } = args;
    let of_file = |path: &Path, error: weft_eval::ReadError| {
        Failure::usage(format!("{}: {error}", path.display()))
    };
    let asked = read_queries(&read(&queries)?).map_err(|error| of_file(&queries, error))?;
    let judgements = Judgements::read(&read(&qrels)?).map_err(|error| of_file(&qrels, error))?;
    let judged: Vec<(&str, &Grades)> = judgements.iter().collect();
    if judged.is_empty() {
        let file = qrels.display();
        return Err(Failure::usage(format!("{file}: no question has a right note")));
    }
    let texts: HashMap<&str, &Query> =
        asked.iter().map(|query| (query.id.as_str(), query)).collect();
    let n_unjudged =
        asked.iter().filter(|query| !judged.iter().any(|(id, _)| *id == query.id)).count();
    let mut names = Names { property: id_property, known: HashMap::new() };
    if contexts.context {
        return context::ask(asker, contexts, &judged, &texts, n_unjudged, names, format).await;
    }
    let variants = if variant.is_empty() { usual(asker).await? } else { variant };
    let mut evaluation =
        Evaluation { n_queries: judged.len(), n_unjudged, generation: 0, variants: Vec::new() };
    let mut first: Vec<Measures> = Vec::new();
    let mut lines = String::new();
    for (at, variant) in variants.into_iter().enumerate() {
        let (mut all, mut taken) = (Vec::new(), Vec::new());
        for (id, grades) in &judged {
            // A judged question that is not among the queries is one without an answer.
            let Some(query) = texts.get(id) else {
                all.push(Measures::default());
                continue;
            };
            let request = SearchRequest {
                query: query.text.clone(),
                limit: Some(depth),
                ..variant.request()
            };
            let start = Instant::now();
            let answer = asker.search().search(request).await?.into_inner();
            taken.push(start.elapsed());
            evaluation.generation = answer.generation;
            let ranking = names.ranking(asker, answer).await?;
            if at == 0 && run.is_some() {
                lines.push_str(&run_lines(id, &ranking, &variant.name()));
            }
            let ranking: Vec<String> = ranking.into_iter().map(|(name, _)| name).collect();
            all.push(Measures::of(grades, &ranking));
        }
        let comparison = (at > 0).then(|| {
            let found = compare(&all, &first, COMPARED);
            let weft_eval::Comparison { difference, low, high, n_better, n_worse } = found;
            Compared { measure: COMPARED, difference, low, high, n_better, n_worse }
        });
        evaluation.variants.push(Measured {
            name: variant.name(),
            measures: Measures::mean(&all).iter().collect(),
            latency_ms: latency(taken),
            comparison,
        });
        if at == 0 {
            first = all;
        }
    }
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

/// All variants; without a model those that vectors do not make another of.
async fn usual(asker: &Asker) -> Result<Vec<Variant>, Failure> {
    let mut variants = Variant::value_variants().to_vec();
    if asker.admin().status(StatusRequest {}).await?.into_inner().model.is_none() {
        let needs_vectors = [Variant::Vector, Variant::Hybrid, Variant::WithoutVectors];
        variants.retain(|variant| !needs_vectors.contains(variant));
    }
    Ok(variants)
}

/// The requirement that the first variant does not meet.
fn missed(evaluation: &Evaluation, require: &[(&'static str, f64)]) -> Option<Failure> {
    let measured = evaluation.variants.first()?;
    let value = |name| measured.measures.get(name).copied().unwrap_or(0.0);
    let (name, least) = require.iter().find(|(name, least)| value(name) < *least)?;
    Some(Failure::other(format!("{name} is {:.4}, less than {least}", value(name))))
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))
}

fn latency(mut taken: Vec<Duration>) -> Latency {
    taken.sort_unstable();
    let at = |percent: usize| {
        let found = taken.get((taken.len() * percent / 100).min(taken.len().saturating_sub(1)));
        found.map_or(0.0, |taken| taken.as_secs_f64() * 1e3)
    };
    Latency { p50: at(50), p95: at(95) }
}

/// The names by which judgements know notes.
struct Names {
    property: Option<String>,
    known: HashMap<String, Option<String>>,
}

impl Names {
    /// The hits with their scores; those without the property are not judged and keep their uri, which no judgement names.
    async fn ranking(
        &mut self,
        asker: &Asker,
        answer: SearchResponse,
    ) -> Result<Vec<(String, f64)>, Failure> {
        let mut ranking = Vec::with_capacity(answer.hits.len());
        for hit in answer.hits {
            ranking.push((self.name(asker, &hit.uri).await?, hit.score));
        }
        Ok(ranking)
    }

    /// The name of one note.
    async fn name(&mut self, asker: &Asker, uri: &str) -> Result<String, Failure> {
        let name = match self.property.clone() {
            None => None,
            Some(property) => self.of(asker, uri, &property).await?,
        };
        Ok(name.unwrap_or_else(|| uri.to_owned()))
    }

    async fn of(
        &mut self,
        asker: &Asker,
        uri: &str,
        property: &str,
    ) -> Result<Option<String>, Failure> {
        if let Some(known) = self.known.get(uri) {
            return Ok(known.clone());
        }
        let note = asker
            .notes()
            .get_note(GetNoteRequest { name: uri.to_owned(), ..GetNoteRequest::default() })
            .await?;
        let note = serde_json::to_value(note.into_inner());
        let note = note.map_err(|error| Failure::other(error.to_string()))?;
        let name = match &note["properties"][property] {
            serde_json::Value::String(text) => Some(text.clone()),
            serde_json::Value::Number(number) => Some(number.to_string()),
            serde_json::Value::Null
            | serde_json::Value::Bool(_)
            | serde_json::Value::Array(_)
            | serde_json::Value::Object(_) => None,
        };
        self.known.insert(uri.to_owned(), name.clone());
        Ok(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_requirement_names_a_measure() {
        assert_eq!(requirement("recall@5=0.95"), Ok(("recall@5", 0.95)));
        for wrong in ["recall@5", "recall@7=1", "MRR=much"] {
            assert!(requirement(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_missed_requirement_fails() {
        let measured = Measured {
            name: "configured".into(),
            measures: [("MRR", 0.5)].into(),
            latency_ms: latency(Vec::new()),
            comparison: None,
        };
        let evaluation =
            Evaluation { n_queries: 1, n_unjudged: 0, generation: 1, variants: vec![measured] };
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
