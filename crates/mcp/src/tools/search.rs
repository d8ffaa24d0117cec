//! The tool `search`.

use std::fmt::{self, Display, Formatter};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tonic::Status;
use weft_proto::noteweft::v1::{SearchRequest, SearchResponse, Snippet};

use super::Question;
use super::args::{Budget, Filter, Note, are_there_none};
use crate::bounds::{Number, Text, object};
use crate::clients::Clients;
use crate::text;

/// Notes of an answer at most.
const MAX_NOTES: u32 = 50;

/// What to look for.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Search {
    /// What to look for, as a question or as words. `+must`, `+"a phrase"` and `-not` narrow.
    query: Text<1000>,
    /// Notes at most.
    #[serde(default)]
    limit: Number<1, MAX_NOTES, 10>,
    /// Tokens that passages may take together, about; the best notes show theirs first.
    #[serde(default)]
    budget: Budget,
    /// Only some notes.
    #[serde(default, deserialize_with = "object")]
    filter: Filter,
}

/// The best notes.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Found {
    /// Best first.
    notes: Vec<Hit>,
    /// Whether more notes were found than `limit` lets through.
    more: bool,
    /// Whether a larger `limit` would show some of them.
    #[serde(skip)]
    has_larger_limit: bool,
    /// Whether there is no note at all.
    #[serde(skip)]
    is_vault_empty: bool,
    /// Passages that the budget left out.
    n_passages_left_out: usize,
    /// What was left out for want of time, of a model or of vectors; empty for a whole answer.
    degraded: Vec<String>,
    /// The state of the index that answered.
    generation: u64,
}

/// A found note.
#[derive(Debug, Serialize, JsonSchema)]
struct Hit {
    #[serde(flatten)]
    name: Note,
    /// Its path in the folder of notes.
    path: String,
    /// How well it answers, 0 to 1.
    score: f64,
    /// The better hit whose link or rare words brought it up, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    via: Option<String>,
    /// What it says on the matter, in the order of its text.
    passages: Vec<Passage>,
}

/// A passage of a note.
#[derive(Debug, Serialize, JsonSchema)]
struct Passage {
    /// The headings above it, outermost first.
    headings: Vec<String>,
    /// The passage as written.
    text: String,
    /// Where it starts, in characters of the note's text: `get_note` reads on from there.
    start: u32,
}

impl Question for Search {
    const NAME: &'static str = "search";
    const TITLE: &'static str = "Search notes";
    const DESCRIPTION: &'static str = "Finds notes by meaning, by word and by link. Call it to see which notes there are on a matter, or to find a note's name. \
        Returns names, titles, paths and the passages that match, the best note first. \
        To answer a question from the notes, `context` is better: it returns their text, packed into a budget.";
    type Answer = Found;

    async fn ask(self, clients: Clients) -> Result<Found, Status> {
        let Self { query: Text(query), limit: Number(limit), budget: Number(budget), filter } =
            self;
        let request = SearchRequest {
            query,
            limit: Some(limit),
            filter: Some(filter.into()),
            ..SearchRequest::default()
        };
        let answer = clients.search().search(request).await?.into_inner();
        let mut found = Found::new(answer, text::characters(budget));
        found.has_larger_limit = limit < MAX_NOTES;
        found.is_vault_empty = found.notes.is_empty() && are_there_none(&clients).await;
        Ok(found)
    }
}

impl Found {
    /// The hits with as many passages as `room` characters hold, taken in order.
    fn new(answer: SearchResponse, mut room: usize) -> Self {
        let SearchResponse { hits, generation, truncated, degraded, capped: _, explanation: _ } =
            answer;
        let mut n_passages_left_out = 0;
        let notes = hits.into_iter().map(|hit| {
            let mut passages = Vec::new();
            for Snippet { text, start, end: _, heading_path, matches: _ } in hit.snippets {
                let cost = text.chars().count();
                if cost > room {
                    n_passages_left_out += 1;
                    continue;
                }
                room -= cost;
                let headings = heading_path.iter().map(|heading| text::line(heading)).collect();
                passages.push(Passage { headings, text, start });
            }
            Hit {
                name: Note::new(hit.uri, &hit.title),
                path: hit.path,
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
            n_passages_left_out,
            degraded,
            generation,
        }
    }
}

impl Display for Found {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            notes,
            more,
            has_larger_limit,
            is_vault_empty,
            n_passages_left_out,
            degraded,
            generation: _,
        } = self;
        f.write_str(&text::degraded(degraded))?;
        if *is_vault_empty {
            return f.write_str(text::NO_NOTES);
        }
        if notes.is_empty() {
            return f.write_str(text::NOTHING_FOUND);
        }
        for (at, Hit { name, path, score, via, passages }) in (1..).zip(notes) {
            write!(f, "{at}. {name}, {path}, score {score:.2}")?;
            match via {
                Some(via) => writeln!(f, ", by way of `{via}`")?,
                None => writeln!(f)?,
            }
            for Passage { headings, text, start } in passages {
                match &**headings {
                    [] => writeln!(f, "   At {start}:")?,
                    headings => writeln!(f, "   At {start}, {}:", headings.join(" > "))?,
                }
                for line in text.lines() {
                    writeln!(f, "   > {line}")?;
                }
            }
        }
        if *n_passages_left_out > 0 {
            writeln!(
                f,
                "{} did not fit; a larger `budget` shows more.",
                text::counted(*n_passages_left_out, "passage")
            )?;
        }
        if *more {
            let larger = if *has_larger_limit { "a larger `limit` or " } else { "" };
            writeln!(f, "There are more notes; {larger}a `filter` shows others.")?;
        }
        Ok(())
    }
}
