//! The `related` tool.

use std::fmt::{self, Display, Formatter};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tonic::Status;
use weft_model::escape::one_line;
use weft_proto::noteweft::v1::{
    FocusNote, RelatedNote, RelatedRequest, RelatedResponse, Relation, RelationSet, SkippedNote,
};

use super::ToolRequest;
use super::shared_arguments::{NoteArgument, NoteFilter, TitledNote, TokenBudget, words};
use crate::bounded_arguments::{BoundedNumber, BoundedText, object};
use crate::output_text;
use crate::service_clients::Clients;

/// Maximum number of characters shown of the focus note.
const MAX_FOCUS_CHARS: usize = 1000;

/// Maximum number of named notes that exceed the budget; others are counted.
const MAX_NAMED_NOTES: usize = 20;

/// The note to read around.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RelatedTool {
    /// The focus note.
    note: NoteArgument,
    /// Maximum number of tokens of the related notes.
    #[serde(default)]
    budget: TokenBudget,
    /// True if notes that link to the focus note in their text count as referring notes.
    #[serde(default)]
    body_links: bool,
    /// Relations to follow; by default those that the daemon is configured for, usually `auto`.
    #[serde(default)]
    #[schemars(with = "RelationsArgument")]
    relations: Option<RelationsArgument>,
    /// `resume` of the previous result, to continue after it; all other arguments except `budget` must be unchanged.
    #[serde(default)]
    #[schemars(with = "BoundedText<2000>")]
    resume: Option<BoundedText<2000>>,
    /// Restricts the notes.
    #[serde(default, deserialize_with = "object")]
    filter: NoteFilter,
}

/// A set of relations.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum RelationsArgument {
    /// Links, folders, topics and similar texts, and those of `structure`.
    Auto,
    /// Parents, children, siblings and objects.
    Structure,
}

impl From<RelationsArgument> for RelationSet {
    fn from(relations: RelationsArgument) -> Self {
        match relations {
            RelationsArgument::Auto => Self::Auto,
            RelationsArgument::Structure => Self::Structure,
        }
    }
}

/// A note and the notes around it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RelatedOutput {
    #[serde(flatten)]
    name: TitledNote,
    /// The beginning of its text; `get_note` reads the rest.
    text: String,
    /// True if the text is truncated.
    cut: bool,
    /// The notes above it, outermost first.
    above: Vec<TitledNote>,
    /// The object of the relation that it states, if it states one.
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<TitledNote>,
    /// The set of relations that was used: `auto` or `structure`.
    relations: String,
    /// The related notes, best first.
    notes: Vec<SurroundingNote>,
    /// Notes too large for the remaining budget.
    too_large: Vec<String>,
    /// Number of notes too large for the remaining budget.
    too_large_count: usize,
    /// Number of tokens of the related notes.
    used: u64,
    /// Maximum number of tokens of the related notes.
    budget: u64,
    /// Token to get more notes, passed as `resume`; absent if there are no more.
    #[serde(skip_serializing_if = "Option::is_none")]
    resume: Option<String>,
    /// Conditions that make the answer incomplete or possibly not what was meant; empty otherwise.
    warnings: Vec<output_text::OutputWarning>,
    /// The index generation that was used.
    generation: u64,
}

/// A related note.
#[derive(Debug, Serialize, JsonSchema)]
struct SurroundingNote {
    #[serde(flatten)]
    name: TitledNote,
    /// Its relation to the focus note: parent, object, child, prior sibling, younger sibling, referring note, linked, linked from, topic sibling, similar and others.
    relation: String,
    /// The topic that it shares with the focus note, if that is why it is related.
    #[serde(skip_serializing_if = "Option::is_none")]
    topic: Option<TitledNote>,
    /// Similarity of its text, 0 to 1, if that is why it is related.
    #[serde(skip_serializing_if = "Option::is_none")]
    similarity: Option<f64>,
    /// Its text, or the beginning.
    text: String,
    /// True if the text is truncated.
    cut: bool,
}

impl ToolRequest for RelatedTool {
    const NAME: &'static str = "related";
    const TITLE: &'static str = "Read around a note";
    const DESCRIPTION: &'static str = "Reads the notes around one note, best first, within a token budget: parent, children, siblings, linked and linking notes, notes that share a topic, similar ones and more distant ones, each with its relation. \
        Call it to understand a note in its surroundings. `resume` continues the previous result.";
    const RENAMED: &'static [(&'static str, &'static str)] =
        &[("focus", "note"), ("resume_token", "resume")];
    type Output = RelatedOutput;

    async fn run(self, clients: Clients) -> Result<RelatedOutput, Status> {
        let Self {
            note: BoundedText(focus),
            budget: BoundedNumber(budget),
            body_links,
            relations,
            resume,
            filter,
        } = self;
        let request = RelatedRequest {
            focus,
            budget: Some(budget.into()),
            filter: Some(filter.into()),
            body_links,
            relations: relations.map(RelationSet::from).unwrap_or_default().into(),
            resume_token: resume.map(|BoundedText(token)| token).unwrap_or_default(),
            ..RelatedRequest::default()
        };
        Ok(clients.graph().related(request).await?.into_inner().into())
    }
}

impl From<RelatedResponse> for RelatedOutput {
    fn from(answer: RelatedResponse) -> Self {
        let RelatedResponse {
            focus_note,
            related_notes,
            budget,
            used,
            remaining: _,
            focus_tokens: _,
            skipped,
            skipped_truncated: _,
            resume_token,
            generation,
            rendered: _,
            warnings,
            relations,
        } = answer;
        let relations = RelationSet::try_from(relations).unwrap_or_default();
        let FocusNote { uri, title, details, object, contextual_path, .. } =
            focus_note.unwrap_or_default();
        let text = output_text::head(&details, MAX_FOCUS_CHARS).to_owned();
        let near = |note: RelatedNote| {
            let relation = note.relation();
            SurroundingNote {
                relation: words(relation.as_str_name(), "RELATION_"),
                name: TitledNote::new(note.uri, &note.title),
                topic: note
                    .topic
                    .filter(|_| relation == Relation::TopicSibling)
                    .map(TitledNote::from),
                similarity: note.similarity,
                text: note.details,
                cut: note.truncated,
            }
        };
        Self {
            name: TitledNote::new(uri, &title),
            cut: text.len() < details.len(),
            text,
            above: contextual_path.into_iter().map(TitledNote::from).collect(),
            object: object.map(TitledNote::from),
            relations: words(relations.as_str_name(), "RELATION_SET_"),
            notes: related_notes.into_iter().map(near).collect(),
            too_large_count: skipped.len(),
            too_large: skipped
                .into_iter()
                .take(MAX_NAMED_NOTES)
                .map(|SkippedNote { uri, .. }| uri)
                .collect(),
            used,
            budget,
            resume: resume_token,
            warnings: output_text::OutputWarning::all(warnings),
            generation,
        }
    }
}

impl Display for RelatedOutput {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            text,
            cut,
            above,
            object,
            relations,
            notes,
            too_large,
            too_large_count,
            used,
            budget,
            resume,
            warnings,
            generation: _,
        } = self;
        f.write_str(&output_text::warnings(warnings))?;
        writeln!(f, "# {name}")?;
        if !above.is_empty() {
            let above: Vec<String> = above.iter().map(TitledNote::to_string).collect();
            writeln!(f, "Below {}", above.join(" > "))?;
        }
        if let Some(object) = object {
            writeln!(f, "About {object}")?;
        }
        passage(f, text, *cut, name)?;
        for SurroundingNote { name, relation, topic, similarity, text, cut } in notes {
            write!(f, "\n## {name}: {relation}")?;
            match (topic, similarity) {
                (Some(topic), _) => writeln!(f, " through {topic}")?,
                (None, Some(similarity)) => writeln!(f, " {similarity:.2}")?,
                (None, None) => writeln!(f)?,
            }
            passage(f, text, *cut, name)?;
        }
        writeln!(
            f,
            "\n{used} of {budget} tokens, {} around it.",
            output_text::counted(notes.len(), "note")
        )?;
        if notes.is_empty() && *too_large_count == 0 {
            f.write_str(if relations == "structure" {
                "No note that matches the filter is its parent, child, sibling or referring note. Set `relations` to `auto` to follow links, folders, topics and similar texts too.\n"
            } else {
                "No note that matches the filter is linked with it, shares its folder or a topic, or is known to be similar.\n"
            })?;
        }
        if *too_large_count > 0 {
            let named: Vec<String> =
                too_large.iter().map(|uri| format!("`{}`", one_line(uri))).collect();
            let others = too_large_count - too_large.len();
            let others = if others > 0 { format!(" and {others} more") } else { String::new() };
            writeln!(f, "Too large for the remaining budget: {}{others}.", named.join(", "))?;
        }
        match resume {
            Some(token) => {
                writeln!(f, "There are more notes: call again with `resume` = `{token}`.")
            }
            None => Ok(()),
        }
    }
}

fn passage(f: &mut Formatter<'_>, text: &str, cut: bool, name: &TitledNote) -> fmt::Result {
    if !text.is_empty() {
        f.write_str(&output_text::fenced(text))?;
    }
    if cut {
        writeln!(f, "Truncated: call `get_note` with `{}` for the rest.", one_line(&name.note))?;
    }
    Ok(())
}
