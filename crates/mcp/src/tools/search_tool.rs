//! The `search` tool.

use std::fmt::{self, Display, Formatter};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tonic::Status;
use weft_model::escape::{self, one_line};
use weft_proto::noteweft::v1::{SearchRequest, SearchResponse, Snippet};

use super::ToolRequest;
use super::shared_arguments::{NoteFilter, TitledNote, TokenBudget, format_name, is_index_empty};
use crate::bounded_arguments::{BoundedNumber, BoundedText, object};
use crate::output_text;
use crate::service_clients::Clients;

/// Maximum number of notes in a result.
const MAX_NOTES: u32 = 50;

/// The query.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchTool {
    /// The query, as a question or keywords. `+term` and `+"a phrase"` are required, `-term` is excluded.
    query: BoundedText<1000>,
    /// Maximum number of notes.
    #[serde(default)]
    limit: BoundedNumber<1, MAX_NOTES, 10>,
    /// Approximate maximum number of tokens of all passages; those of the best notes come first.
    #[serde(default)]
    budget: TokenBudget,
    /// Restricts the notes.
    #[serde(default, deserialize_with = "object")]
    filter: NoteFilter,
}

/// The best notes.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SearchOutput {
    /// The notes, best first.
    notes: Vec<FoundNote>,
    /// True if more notes match than `limit` allows.
    more: bool,
    /// True if `limit` can be increased.
    #[serde(skip)]
    has_larger_limit: bool,
    /// True if the index holds no notes.
    #[serde(skip)]
    is_vault_empty: bool,
    /// Number of passages omitted because of the budget.
    omitted_passage_count: usize,
    /// Conditions that make the answer incomplete or possibly not what was meant; empty otherwise.
    warnings: Vec<output_text::OutputWarning>,
    /// The index generation that was used.
    generation: u64,
}

/// A matching note.
#[derive(Debug, Serialize, JsonSchema)]
struct FoundNote {
    #[serde(flatten)]
    name: TitledNote,
    /// Its path within the folder of notes.
    path: String,
    /// Kind of its file, unless it is Markdown: `text`, `org` or `pdf`.
    #[serde(rename = "kind", skip_serializing_if = "Option::is_none")]
    format: Option<&'static str>,
    /// Its score, 0 to 1.
    score: f64,
    /// The higher-ranked note that led to this one by a link or shared rare terms, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    via: Option<String>,
    /// Its matching passages, in text order.
    passages: Vec<Passage>,
}

/// A passage of a note.
#[derive(Debug, Serialize, JsonSchema)]
struct Passage {
    /// The headings above it, outermost first.
    headings: Vec<String>,
    /// The passage without Markdown syntax.
    text: String,
    /// Start of the passage, in characters of the note's text as written; pass it to `get_note` as `start`.
    start: u32,
}

impl ToolRequest for SearchTool {
    const NAME: &'static str = "search";
    const TITLE: &'static str = "Search notes";
    const DESCRIPTION: &'static str = "Finds notes by meaning, keyword and link. Call it to find notes on a topic, or to look up a note's name. \
        Returns names, titles, paths and matching passages, best note first. \
        To answer a question from the notes, prefer `context`, which returns their text within a token budget.";
    type Output = SearchOutput;

    async fn run(self, clients: Clients) -> Result<SearchOutput, Status> {
        let Self {
            query: BoundedText(query),
            limit: BoundedNumber(limit),
            budget: BoundedNumber(budget),
            filter,
        } = self;
        let request = SearchRequest {
            query,
            limit: Some(limit),
            filter: Some(filter.into()),
            ..SearchRequest::default()
        };
        let answer = clients.search().search(request).await?.into_inner();
        let mut found = SearchOutput::new(answer, output_text::characters(budget));
        found.has_larger_limit = limit < MAX_NOTES;
        found.is_vault_empty = found.notes.is_empty() && is_index_empty(&clients).await;
        Ok(found)
    }
}

impl SearchOutput {
    /// Converts the hits, with as many passages as fit into `room` characters, in order.
    fn new(answer: SearchResponse, mut room: usize) -> Self {
        let SearchResponse {
            hits,
            generation,
            truncated,
            warnings,
            fanout_limited: _,
            explanation: _,
        } = answer;
        let mut omitted_passage_count = 0;
        let notes = hits.into_iter().map(|hit| {
            let mut passages = Vec::new();
            for Snippet { text, start, heading_path, .. } in hit.snippets {
                let cost = text.chars().count();
                if cost > room {
                    omitted_passage_count += 1;
                    continue;
                }
                room -= cost;
                let headings =
                    heading_path.iter().map(|heading| output_text::line(heading)).collect();
                passages.push(Passage { headings, text, start });
            }
            FoundNote {
                name: TitledNote::new(hit.uri, &hit.title),
                path: hit.path,
                format: format_name(hit.kind),
                score: (hit.score * 1000.0).round() / 1000.0,
                via: hit.via,
                passages,
            }
        });
        let notes = notes.collect();
        Self {
            notes,
            more: truncated,
            has_larger_limit: true,
            is_vault_empty: false,
            omitted_passage_count,
            warnings: output_text::OutputWarning::all(warnings),
            generation,
        }
    }
}

impl Display for SearchOutput {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            notes,
            more,
            has_larger_limit,
            is_vault_empty,
            omitted_passage_count,
            warnings,
            generation: _,
        } = self;
        f.write_str(&output_text::warnings(warnings))?;
        if *is_vault_empty {
            return f.write_str(output_text::NO_NOTES);
        }
        if notes.is_empty() {
            return f.write_str(output_text::NOTHING_FOUND);
        }
        for (at, FoundNote { name, path, format: _, score, via, passages }) in (1..).zip(notes) {
            write!(f, "{at}. {name}, {}, score {score:.2}", one_line(path))?;
            match via {
                Some(via) => writeln!(f, ", via `{}`", one_line(via))?,
                None => writeln!(f)?,
            }
            for Passage { headings, text, start } in passages {
                match &**headings {
                    [] => writeln!(f, "   At {start}:")?,
                    headings => writeln!(f, "   At {start}, {}:", headings.join(" > "))?,
                }
                for line in text.lines() {
                    writeln!(f, "   > {}", escape::lines(line))?;
                }
            }
        }
        if *omitted_passage_count > 0 {
            writeln!(
                f,
                "{} did not fit; a larger `budget` shows more.",
                output_text::counted(*omitted_passage_count, "passage")
            )?;
        }
        if *more {
            let larger = if *has_larger_limit { "a larger `limit` or " } else { "" };
            writeln!(f, "There are more notes; use {larger}a `filter` to see others.")?;
        }
        Ok(())
    }
}
