//! What is asked and what is right: from files, or from the vault's own links.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use clap::Args;
use weft_eval::{
    Grades, HiddenLinks, Judgements, LinkSpan, Query, ReadError, drawn, hide_links, name_of,
    read_queries,
};
use weft_proto::noteweft::v1::{
    Filter, GetNoteRequest, GetNoteResponse, LinkView, ListNotesRequest, SearchRequest,
    SearchResponse, Span,
};

use crate::asker::Asker;
use crate::commands::aside;
use crate::failure::Failure;
use crate::print;
use crate::progress::Progress;

/// Names that a warning shows.
const SHOWN: usize = 3;

/// Where questions and judgements come from.
#[derive(Clone, Debug, Args)]
pub(crate) struct QuestionArgs {
    /// The questions: one JSON object a line, with `id` and `text`, and perhaps `exclude`, notes that are left out.
    #[arg(long, value_name = "FILE", requires = "qrels", required_unless_present = "hide_links")]
    queries: Option<PathBuf>,
    /// What is right: `question <tab> note <tab> grade` a line, or TREC's four columns.
    #[arg(long, value_name = "FILE", requires = "queries")]
    qrels: Option<PathBuf>,
    /// The property by which the judgements name notes, instead of the uri.
    #[arg(long, value_name = "NAME", conflicts_with = "hide_links")]
    id_property: Option<String>,
    /// Ask for links of the vault itself: N lines of notes without their links, each to find what these led to while its note is left out.
    #[arg(long, value_name = "N", conflicts_with = "queries", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    hide_links: Option<u32>,
    /// Write these questions and judgements into a folder, as queries.jsonl and qrels.tsv.
    #[arg(long, value_name = "DIR", requires = "hide_links")]
    save: Option<PathBuf>,
}

/// Questions, and what is right for each.
pub(super) struct Questions {
    /// The judged ones by id, with what is asked; a judged question that is not among the queries has no text.
    pub(super) judged: Vec<(String, Option<Query>, Grades)>,
    /// Queries without a judgement, which are not asked.
    pub(super) n_unjudged: usize,
    /// The names by which the judgements know notes.
    pub(super) names: Names,
    /// What of the judgements can never be met: a line for each kind.
    pub(super) warnings: Vec<String>,
}

impl Questions {
    /// Reads the files, or makes questions of the vault's links. What cannot be met is told on standard error, too.
    pub(super) async fn get(asker: &Asker, args: QuestionArgs) -> Result<Self, Failure> {
        let QuestionArgs { queries, qrels, id_property, hide_links, save } = args;
        let (queries, judgements) = match (&queries, &qrels, hide_links) {
            (Some(queries), Some(qrels), _) => from_files(queries, qrels)?,
            (_, _, Some(n)) => from_links(asker, n as usize).await?,
            (Some(_), None, None) | (None, _, None) => {
                return Err(Failure::usage("name --queries and --qrels, or --hide-links"));
            }
        };
        if let Some(folder) = &save {
            write(folder, &queries, &judgements)?;
        }
        let names = Names::get(asker, id_property).await?;
        let n_queries = queries.len();
        let judgements = {
            let ids: HashSet<&str> = queries.iter().map(|query| query.id.as_str()).collect();
            let written = |text: &str, is_known: &dyn Fn(&str) -> bool| {
                name_of(text).filter(|name| !is_known(text) && is_known(name))
            };
            judgements.renamed(
                |query| written(query, &|id| ids.contains(id)),
                |document| written(document, &|name| names.has(name)),
            )
        };
        let mut texts: HashMap<String, Query> =
            queries.into_iter().map(|query| (query.id.clone(), query)).collect();
        let judged: Vec<(String, Option<Query>, Grades)> = judgements
            .iter()
            .map(|(id, grades)| (id.to_owned(), texts.remove(id), grades.clone()))
            .collect();
        if judged.is_empty() {
            let nothing = match &qrels {
                Some(qrels) => format!("{}: no question has a right note", qrels.display()),
                None => "no line of the vault links and says enough besides".to_owned(),
            };
            return Err(Failure::usage(nothing));
        }
        let n_asked = judged.iter().filter(|(_, query, _)| query.is_some()).count();
        let warnings = unmet(&judged, &names);
        for warning in &warnings {
            aside(&print::warning(warning));
        }
        Ok(Self { judged, n_unjudged: n_queries - n_asked, names, warnings })
    }
}

/// A line for judged questions that nobody asks, and one for judged documents that no note is.
fn unmet(judged: &[(String, Option<Query>, Grades)], names: &Names) -> Vec<String> {
    let unasked = judged.iter().filter(|(_, query, _)| query.is_none());
    let unasked: BTreeSet<&str> = unasked.map(|(id, ..)| id.as_str()).collect();
    let documents = judged.iter().flat_map(|(_, _, grades)| grades.keys());
    let unknown: BTreeSet<&str> =
        documents.map(String::as_str).filter(|document| !names.has(document)).collect();
    [
        (unasked, "judged but never asked, so they count 0"),
        (unknown, "judged, but no notes, so they are never found"),
    ]
    .into_iter()
    .filter(|(names, _)| !names.is_empty())
    .map(|(names, what)| {
        let first: Vec<&str> = names.iter().copied().take(SHOWN).collect();
        let more = if names.len() > SHOWN { ", …" } else { "" };
        format!("{what}: {} ({}{more})", names.len(), first.join(", "))
    })
    .collect()
}

/// A question as a request; how it is ranked is the rest of it.
pub(super) fn request(query: &Query, limit: u32, ranked: SearchRequest) -> SearchRequest {
    let (query, filter) = (query.text.clone(), except(query));
    SearchRequest { query, limit: Some(limit), filter, snippets: Some(0), ..ranked }
}

/// A filter that leaves out what the question does.
pub(super) fn except(query: &Query) -> Option<Filter> {
    Some(Filter { excluded: query.exclude.clone(), ..Filter::default() })
}

fn from_files(queries: &Path, qrels: &Path) -> Result<(Vec<Query>, Judgements), Failure> {
    let of_file =
        |path: &Path, error: ReadError| Failure::usage(format!("{}: {error}", path.display()));
    let asked = read_queries(&read(queries)?).map_err(|error| of_file(queries, error))?;
    let judgements = Judgements::read(&read(qrels)?).map_err(|error| of_file(qrels, error))?;
    Ok((asked, judgements))
}

/// As many links of a note as an answer may have.
const MAX_LINKS: u32 = 100_000;

/// At most `n` questions, each of another note; the same for the same vault.
async fn from_links(asker: &Asker, n: usize) -> Result<(Vec<Query>, Judgements), Failure> {
    let (mut queries, mut judgements) = (Vec::new(), Judgements::default());
    for uri in drawn(uris(asker).await?) {
        if queries.len() == n {
            break;
        }
        let max_links = Some(MAX_LINKS);
        let request = GetNoteRequest { name: uri.clone(), max_links, ..GetNoteRequest::default() };
        let note = asker.notes().get_note(request).await?.into_inner();
        let Some(HiddenLinks { text, targets }) = drawn(hidden(&note)).into_iter().next() else {
            continue;
        };
        for target in targets {
            judgements.judge(&uri, &target, 1);
        }
        queries.push(Query { id: uri.clone(), text, exclude: vec![uri] });
    }
    Ok((queries, judgements))
}

/// Every note, by uri.
async fn uris(asker: &Asker) -> Result<Vec<String>, Failure> {
    const PAGE: u32 = 1000;
    let (mut uris, mut page_token) = (Vec::new(), String::new());
    loop {
        let request =
            ListNotesRequest { page_size: Some(PAGE), page_token, ..ListNotesRequest::default() };
        let page = asker.notes().list_notes(request).await?.into_inner();
        uris.extend(page.notes.into_iter().map(|note| note.uri));
        page_token = page.next_page_token;
        if page_token.is_empty() {
            return Ok(uris);
        }
    }
}

/// The lines of a note whose links lead to other notes.
fn hidden(note: &GetNoteResponse) -> Vec<HiddenLinks> {
    let link = |link: &LinkView| {
        let Span { start, end } = link.span?;
        let target = link.uri.clone().filter(|uri| link.resolved && *uri != note.uri)?;
        Some(LinkSpan { span: start as usize..end as usize, target })
    };
    let links: Vec<LinkSpan> = note.links.iter().filter_map(link).collect();
    hide_links(&note.body, &links)
}

fn write(folder: &Path, queries: &[Query], judgements: &Judgements) -> Result<(), Failure> {
    let lines = queries.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>();
    let lines = lines.map_err(|error| Failure::other(error.to_string()))?;
    let text = lines.into_iter().map(|line| line + "\n").collect::<String>();
    for (name, text) in [("queries.jsonl", text), ("qrels.tsv", judgements.lines())] {
        let path = folder.join(name);
        let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text));
        written
            .map_err(|error| Failure::other(format!("cannot write {}: {error}", path.display())))?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))
}

/// The names by which judgements know notes.
pub(super) struct Names {
    by_uri: HashMap<String, String>,
    all: HashSet<String>,
}

impl Names {
    /// The names of all notes: their uris, or what this property says. A note without it keeps its uri.
    async fn get(asker: &Asker, property: Option<String>) -> Result<Self, Failure> {
        let (uris, mut by_uri) = (uris(asker).await?, HashMap::new());
        if let Some(property) = property {
            let mut progress = Progress::new();
            for (uri, done) in uris.iter().zip(0..) {
                progress.count("reading names", done, uris.len() as u64);
                if let Some(name) = property_of(asker, uri, &property).await? {
                    by_uri.insert(uri.clone(), name);
                }
            }
            progress.end();
        }
        let name = |uri: String| by_uri.get(&uri).cloned().unwrap_or(uri);
        Ok(Self { all: uris.into_iter().map(name).collect(), by_uri })
    }

    /// Whether a note has this name.
    fn has(&self, name: &str) -> bool {
        self.all.contains(name)
    }

    /// The hits by name, with their scores.
    pub(super) fn ranking(&self, answer: SearchResponse) -> Vec<(String, f64)> {
        answer.hits.into_iter().map(|hit| (self.of(hit.uri), hit.score)).collect()
    }

    /// The name of a note.
    pub(super) fn of(&self, uri: String) -> String {
        self.by_uri.get(&uri).cloned().unwrap_or(uri)
    }
}

/// What a property of a note says, if it is a text or a number.
async fn property_of(asker: &Asker, uri: &str, property: &str) -> Result<Option<String>, Failure> {
    let max_links = Some(1);
    let request = GetNoteRequest { name: uri.to_owned(), max_links, ..GetNoteRequest::default() };
    let note = asker.notes().get_note(request).await?;
    let note = serde_json::to_value(note.into_inner());
    let note = note.map_err(|error| Failure::other(error.to_string()))?;
    Ok(match &note["properties"][property] {
        serde_json::Value::String(text) => Some(text.clone()),
        serde_json::Value::Number(number) => Some(number.to_string()),
        serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Array(_)
        | serde_json::Value::Object(_) => None,
    })
}
