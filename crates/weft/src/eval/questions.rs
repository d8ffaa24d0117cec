//! Questions and judgments, from files or from the vault's own links.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use clap::Args;
use weft_eval::{
    EvalQuery, Grades, HiddenLinks, Judgments, LinkSpan, ReadError, decode_column, hide_links,
    read_queries, shuffled,
};
use weft_proto::noteweft::v1::{
    Filter, GetNoteRequest, GetNoteResponse, LinkView, ListNotesRequest, SearchRequest,
    SearchResponse, Span,
};

use crate::client::Client;
use crate::commands::aside;
use crate::failure::Failure;
use crate::print;
use crate::progress::Progress;

/// Number of names that a warning lists.
const SHOWN: usize = 3;

/// Sources of questions and judgments.
#[derive(Clone, Debug, Args)]
pub(crate) struct QuestionArgs {
    /// Questions: one JSON object per line with `id` and `text`, optionally `exclude` with notes to exclude, and for --context `answers` and `passages` with texts to find.
    #[arg(long, value_name = "FILE", required_unless_present = "hide_links")]
    queries: Option<PathBuf>,
    /// Judgments: `question <tab> note <tab> grade` per line, or TREC's four columns. With --context they may be absent if the questions have answers or passages.
    #[arg(long, value_name = "FILE", requires = "queries")]
    qrels: Option<PathBuf>,
    /// Property by which the judgments name notes [default: the uri].
    #[arg(long, value_name = "NAME", conflicts_with = "hide_links")]
    id_property: Option<String>,
    /// Use links of the vault as questions: N lines of notes with their links removed; each must find the linked notes while its own note is excluded.
    #[arg(long, value_name = "N", conflicts_with = "queries", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    hide_links: Option<u32>,
    /// Write these questions and judgments to queries.jsonl and qrels.tsv in this folder.
    #[arg(long, value_name = "DIR", requires = "hide_links")]
    save: Option<PathBuf>,
}

/// Questions with their judgments.
pub(super) struct Questions {
    /// Judged questions by id; one that is not among the queries has no text.
    pub(super) judged: Vec<(String, Option<EvalQuery>, Grades)>,
    /// Number of queries without judgments, which are not run.
    pub(super) n_unjudged: usize,
    /// Names of notes used by the judgments.
    pub(super) names: NoteNames,
    /// Judgments that can never be met, one line per kind.
    pub(super) warnings: Vec<String>,
}

impl Questions {
    /// Reads the files, or derives questions from the vault's links. Also prints unmet judgments to standard error.
    ///
    /// `with_answers` also returns questions without judgments that have answers or passages.
    pub(super) async fn get(
        client: &Client,
        args: QuestionArgs,
        with_answers: bool,
    ) -> Result<Self, Failure> {
        let QuestionArgs { queries, qrels, id_property, hide_links, save } = args;
        let (queries, judgments) = match (&queries, &qrels, hide_links) {
            (Some(queries), qrels, _) if qrels.is_some() || with_answers => {
                from_files(queries, qrels.as_deref())?
            }
            (_, _, Some(n)) => from_links(client, n as usize).await?,
            (_, _, None) => {
                return Err(Failure::usage("name --queries and --qrels, or --hide-links"));
            }
        };
        if let Some(folder) = &save {
            write(folder, &queries, &judgments)?;
        }
        let names = NoteNames::get(client, id_property).await?;
        let n_queries = queries.len();
        let judgments = {
            let ids: HashSet<&str> = queries.iter().map(|query| query.id.as_str()).collect();
            let written = |text: &str, is_known: &dyn Fn(&str) -> bool| {
                decode_column(text).filter(|name| !is_known(text) && is_known(name))
            };
            judgments.renamed(
                |query| written(query, &|id| ids.contains(id)),
                |document| written(document, &|name| names.has(name)),
            )
        };
        let mut texts: HashMap<String, EvalQuery> =
            queries.into_iter().map(|query| (query.id.clone(), query)).collect();
        let mut judged: Vec<(String, Option<EvalQuery>, Grades)> = judgments
            .iter()
            .map(|(id, grades)| (id.to_owned(), texts.remove(id), grades.clone()))
            .collect();
        if with_answers {
            let answered = texts
                .into_values()
                .filter(|query| !query.answers.is_empty() || !query.passages.is_empty());
            judged.extend(answered.map(|query| (query.id.clone(), Some(query), Grades::default())));
            judged.sort_by(|left, right| left.0.cmp(&right.0));
        }
        if judged.is_empty() {
            let nothing = match &qrels {
                Some(qrels) => format!("{}: no question has a judged note", qrels.display()),
                None => "no line of the vault contains a link and enough other text".to_owned(),
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

/// Returns one line for judged questions without a query, and one for judged documents that are not notes.
fn unmet(judged: &[(String, Option<EvalQuery>, Grades)], names: &NoteNames) -> Vec<String> {
    let unasked = judged.iter().filter(|(_, query, _)| query.is_none());
    let unasked: BTreeSet<&str> = unasked.map(|(id, ..)| id.as_str()).collect();
    let documents = judged.iter().flat_map(|(_, _, grades)| grades.keys());
    let unknown: BTreeSet<&str> =
        documents.map(String::as_str).filter(|document| !names.has(document)).collect();
    [
        (unasked, "judged but without a query, so they count 0"),
        (unknown, "judged, but not notes, so they are never found"),
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

/// Builds the request of a question with the given ranking.
pub(super) fn request(query: &EvalQuery, limit: u32, ranked: SearchRequest) -> SearchRequest {
    let (query, filter) = (query.text.clone(), except(query));
    SearchRequest { query, limit: Some(limit), filter, snippets: Some(0), ..ranked }
}

/// Builds a filter that excludes the notes of `exclude`.
pub(super) fn except(query: &EvalQuery) -> Option<Filter> {
    Some(Filter { excluded: query.exclude.clone(), ..Filter::default() })
}

fn from_files(
    queries: &Path,
    qrels: Option<&Path>,
) -> Result<(Vec<EvalQuery>, Judgments), Failure> {
    let of_file =
        |path: &Path, error: ReadError| Failure::usage(format!("{}: {error}", path.display()));
    let parsed = read_queries(&read(queries)?).map_err(|error| of_file(queries, error))?;
    let judgments = match qrels {
        Some(qrels) => Judgments::read(&read(qrels)?).map_err(|error| of_file(qrels, error))?,
        None => Judgments::default(),
    };
    Ok((parsed, judgments))
}

/// Maximum number of links that a response may contain.
const MAX_LINKS: u32 = 100_000;

/// Returns at most `n` questions, each from another note; the same for the same vault.
async fn from_links(client: &Client, n: usize) -> Result<(Vec<EvalQuery>, Judgments), Failure> {
    let (mut queries, mut judgments) = (Vec::new(), Judgments::default());
    for uri in shuffled(uris(client).await?) {
        if queries.len() == n {
            break;
        }
        let max_links = Some(MAX_LINKS);
        let request = GetNoteRequest { name: uri.clone(), max_links, ..GetNoteRequest::default() };
        let note = client.notes().get_note(request).await?.into_inner();
        let Some(HiddenLinks { text, targets }) = shuffled(hidden(&note)).into_iter().next() else {
            continue;
        };
        for target in targets {
            judgments.judge(&uri, &target, 1);
        }
        let exclude = vec![uri.clone()];
        queries.push(EvalQuery { id: uri, text, exclude, ..EvalQuery::default() });
    }
    Ok((queries, judgments))
}

/// Returns every note, by uri.
async fn uris(client: &Client) -> Result<Vec<String>, Failure> {
    const PAGE: u32 = 1000;
    let (mut uris, mut page_token) = (Vec::new(), String::new());
    loop {
        let request =
            ListNotesRequest { page_size: Some(PAGE), page_token, ..ListNotesRequest::default() };
        let page = client.notes().list_notes(request).await?.into_inner();
        uris.extend(page.notes.into_iter().map(|note| note.uri));
        page_token = page.next_page_token;
        if page_token.is_empty() {
            return Ok(uris);
        }
    }
}

/// Returns the lines of a note whose links lead to other notes.
fn hidden(note: &GetNoteResponse) -> Vec<HiddenLinks> {
    let link = |link: &LinkView| {
        let Span { start, end } = link.span?;
        let target = link.uri.clone().filter(|uri| link.resolved && *uri != note.uri)?;
        Some(LinkSpan { span: start as usize..end as usize, target })
    };
    let links: Vec<LinkSpan> = note.links.iter().filter_map(link).collect();
    hide_links(&note.body, &links)
}

fn write(folder: &Path, queries: &[EvalQuery], judgments: &Judgments) -> Result<(), Failure> {
    let lines = queries.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>();
    let lines = lines.map_err(|error| Failure::other(error.to_string()))?;
    let text = lines.into_iter().map(|line| line + "\n").collect::<String>();
    for (name, text) in [("queries.jsonl", text), ("qrels.tsv", judgments.lines())] {
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

/// Names by which judgments refer to notes.
pub(super) struct NoteNames {
    by_uri: HashMap<String, String>,
    all: HashSet<String>,
}

impl NoteNames {
    /// Returns the names of all notes: their uris, or the value of this property. A note without the property keeps its uri.
    async fn get(client: &Client, property: Option<String>) -> Result<Self, Failure> {
        let (uris, mut by_uri) = (uris(client).await?, HashMap::new());
        if let Some(property) = property {
            let mut progress = Progress::new();
            for (uri, done) in uris.iter().zip(0..) {
                progress.count("reading names", done, uris.len() as u64);
                if let Some(name) = property_of(client, uri, &property).await? {
                    by_uri.insert(uri.clone(), name);
                }
            }
            progress.end();
        }
        let name = |uri: String| by_uri.get(&uri).cloned().unwrap_or(uri);
        Ok(Self { all: uris.into_iter().map(name).collect(), by_uri })
    }

    /// Returns whether a note has this name.
    fn has(&self, name: &str) -> bool {
        self.all.contains(name)
    }

    /// Returns the hits by name, with their scores.
    pub(super) fn ranking(&self, answer: SearchResponse) -> Vec<(String, f64)> {
        answer.hits.into_iter().map(|hit| (self.of(hit.uri), hit.score)).collect()
    }

    /// Returns the uri of the note with this name; `None` if no note has it.
    pub(super) fn uri(&self, name: &str) -> Option<String> {
        let by_name = self.by_uri.iter().find(|(_, known)| *known == name);
        let uri = by_name.map(|(uri, _)| uri.as_str());
        uri.or_else(|| self.all.get(name).map(String::as_str)).map(str::to_owned)
    }

    /// Returns the name of a note.
    pub(super) fn of(&self, uri: String) -> String {
        self.by_uri.get(&uri).cloned().unwrap_or(uri)
    }
}

/// Returns the value of a property if it is text or a number.
async fn property_of(
    client: &Client,
    uri: &str,
    property: &str,
) -> Result<Option<String>, Failure> {
    let max_links = Some(1);
    let request = GetNoteRequest { name: uri.to_owned(), max_links, ..GetNoteRequest::default() };
    let note = client.notes().get_note(request).await?;
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
