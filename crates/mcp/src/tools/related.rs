//! The tool `related`.

use std::fmt::{self, Display, Formatter};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tonic::Status;
use weft_proto::noteweft::v1::{
    FocusNote, RelatedNote, RelatedRequest, RelatedResponse, SkippedNote,
};

use super::Question;
use super::args::{Budget, Filter, Name, Note, words};
use crate::bounds::{Number, Text, object};
use crate::clients::Clients;
use crate::text;

/// Characters of the note in the middle that are shown.
const FOCUS: usize = 1000;

/// Notes too large for the budget that are named; the others are counted.
const NAMED: usize = 20;

/// Around which note to read.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Related {
    /// The note in the middle.
    note: Name,
    /// Tokens that the notes around it may take.
    #[serde(default)]
    budget: Budget,
    /// Count notes that link to the note in their text as notes that refer to it.
    #[serde(default)]
    body_links: bool,
    /// The `resume` of the answer before, to go on where it ended; all else but the budget stays the same.
    #[serde(default)]
    #[schemars(with = "Text<2000>")]
    resume: Option<Text<2000>>,
    /// Only some notes.
    #[serde(default, deserialize_with = "object")]
    filter: Filter,
}

/// A note and what surrounds it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Surroundings {
    #[serde(flatten)]
    name: Note,
    /// The beginning of its text; `get_note` reads all of it.
    text: String,
    /// Whether its text goes on.
    cut: bool,
    /// The notes above it, the outermost first.
    above: Vec<Note>,
    /// What it points at, if it states a relation.
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<Note>,
    /// The notes most worth reading around it, best first.
    notes: Vec<Near>,
    /// Notes too large for what was left of the budget.
    too_large: Vec<String>,
    /// How many there were.
    n_too_large: usize,
    /// Tokens that the notes around it take.
    used: u64,
    /// Tokens that they might have taken.
    budget: u64,
    /// Give it as `resume` to get the next notes; absent where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    resume: Option<String>,
    /// What of the filter no note has, and that other notes answer to the name as well.
    degraded: Vec<String>,
    /// The state of the index that answered.
    generation: u64,
}

/// A note near another.
#[derive(Debug, Serialize, JsonSchema)]
struct Near {
    #[serde(flatten)]
    name: Note,
    /// How it stands to the note in the middle: parent, object, child, prior sibling, younger sibling, referring note and further off.
    relation: String,
    /// Its text, or the beginning.
    text: String,
    /// Whether its text goes on.
    cut: bool,
}

impl Question for Related {
    const NAME: &'static str = "related";
    const TITLE: &'static str = "Read around a note";
    const DESCRIPTION: &'static str = "Reads what surrounds one note, best first, within a budget of tokens: parent, children, siblings, notes that refer to it, and what is further off, each with its relation. \
        Call it to understand a note in its place. With `resume` it goes on where the last answer ended.";
    const RENAMED: &'static [(&'static str, &'static str)] =
        &[("focus", "note"), ("resume_token", "resume")];
    type Answer = Surroundings;

    async fn ask(self, clients: Clients) -> Result<Surroundings, Status> {
        let Self { note: Text(focus), budget: Number(budget), body_links, resume, filter } = self;
        let request = RelatedRequest {
            focus,
            budget: Some(budget.into()),
            filter: Some(filter.into()),
            body_links,
            resume_token: resume.map(|Text(token)| token).unwrap_or_default(),
            ..RelatedRequest::default()
        };
        Ok(clients.graph().related(request).await?.into_inner().into())
    }
}

impl From<RelatedResponse> for Surroundings {
    fn from(answer: RelatedResponse) -> Self {
        let RelatedResponse {
            focus_note,
            related_notes,
            budget,
            used,
            remaining: _,
            focus_tokens: _,
            skipped,
            skipped_more: _,
            resume_token,
            generation,
            rendered: _,
            degraded,
        } = answer;
        let FocusNote { uri, title, details, object, contextual_path, .. } =
            focus_note.unwrap_or_default();
        let text = text::head(&details, FOCUS).to_owned();
        let near = |note: RelatedNote| Near {
            relation: words(note.relation().as_str_name(), "RELATION_"),
            name: Note::new(note.uri, &note.title),
            text: note.details,
            cut: note.truncated,
        };
        Self {
            name: Note::new(uri, &title),
            cut: text.len() < details.len(),
            text,
            above: contextual_path.into_iter().map(Note::from).collect(),
            object: object.map(Note::from),
            notes: related_notes.into_iter().map(near).collect(),
            n_too_large: skipped.len(),
            too_large: skipped.into_iter().take(NAMED).map(|SkippedNote { uri, .. }| uri).collect(),
            used,
            budget,
            resume: resume_token,
            degraded,
            generation,
        }
    }
}

impl Display for Surroundings {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            text,
            cut,
            above,
            object,
            notes,
            too_large,
            n_too_large,
            used,
            budget,
            resume,
            degraded,
            generation: _,
        } = self;
        f.write_str(&text::degraded(degraded))?;
        writeln!(f, "# {name}")?;
        if !above.is_empty() {
            let above: Vec<String> = above.iter().map(Note::to_string).collect();
            writeln!(f, "Below {}", above.join(" > "))?;
        }
        if let Some(object) = object {
            writeln!(f, "About {object}")?;
        }
        passage(f, text, *cut, name)?;
        for Near { name, relation, text, cut } in notes {
            writeln!(f, "\n## {name}: {relation}")?;
            passage(f, text, *cut, name)?;
        }
        writeln!(
            f,
            "\n{used} of {budget} tokens, {} around it.",
            text::counted(notes.len(), "note")
        )?;
        if notes.is_empty() && *n_too_large == 0 {
            f.write_str("No note that the filter lets through stands above, below or beside it, nor states something about it. `body_links` counts notes that link to it in their text, and `tree` walks all links.\n")?;
        }
        if *n_too_large > 0 {
            let named: Vec<String> = too_large.iter().map(|uri| format!("`{uri}`")).collect();
            let others = n_too_large - too_large.len();
            let others = if others > 0 { format!(" and {others} more") } else { String::new() };
            writeln!(f, "Too large for what was left: {}{others}.", named.join(", "))?;
        }
        match resume {
            Some(token) => writeln!(f, "There is more: call again with `resume` = `{token}`."),
            None => Ok(()),
        }
    }
}

fn passage(f: &mut Formatter<'_>, text: &str, cut: bool, name: &Note) -> fmt::Result {
    if !text.is_empty() {
        f.write_str(&text::fenced(text))?;
    }
    if cut {
        writeln!(f, "It goes on: `get_note` with `{}`.", name.note)?;
    }
    Ok(())
}
