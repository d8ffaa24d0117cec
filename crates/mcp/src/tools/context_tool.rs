//! The `context` tool.

use std::fmt::{self, Display, Formatter};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tonic::Status;
use weft_proto::noteweft::v1::{
    AssembleRequest, AssembleResponse, ContextLimits, ContextNote, FocusSource, OmissionReason,
    OmittedNote, Rendering, ResolveLinkRequest,
};

use super::ToolRequest;
use super::shared_arguments::{
    NoteArgument, NoteFilter, TitledNote, TokenBudget, is_index_empty, words,
};
use crate::bounded_arguments::{BoundedList, BoundedNumber, BoundedText, object};
use crate::output_text;
use crate::service_clients::Clients;

/// Maximum number of omitted notes that are named; others are counted.
const MAX_NAMED_NOTES: usize = 20;

/// Maximum number of unknown names for which similar names are looked up.
const MAX_LOOKUPS: usize = 3;

/// Default share of the budget per note: that of `context.limits.per_note_share`.
const PER_NOTE_SHARE: f64 = 0.1;

const MISSING: &str = "no note has this name";
const NO_ROOM: &str = "no room";

/// Sources of the text: at least one of `query`, `around` and `notes`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ContextTool {
    /// The question. It selects the notes, unless `notes` are given, and their passages.
    #[serde(default)]
    #[schemars(with = "BoundedText<1000>")]
    query: Option<BoundedText<1000>>,
    /// A note that comes first, in full if it fits, followed by the notes that surround it.
    #[serde(default)]
    #[schemars(with = "NoteArgument")]
    around: Option<NoteArgument>,
    /// Notes to include instead of those that the query finds, ordered by uri: in full if there is room, else the passages that answer the query best, or without a query those with which a reader would begin.
    #[serde(default)]
    notes: BoundedList<NoteArgument, 0, 50>,
    /// Maximum number of tokens of the text.
    #[serde(default)]
    budget: TokenBudget,
    /// Restricts the notes.
    #[serde(default, deserialize_with = "object")]
    filter: NoteFilter,
}

/// Notes packed into one text.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ContextOutput {
    /// The text, in Markdown.
    text: String,
    /// The notes in the text, best first.
    notes: Vec<IncludedNote>,
    /// The first requested notes that were omitted, best first: they did not fit, the filter excludes them, or no note has the name.
    omitted: Vec<OmittedEntry>,
    /// The other omitted notes, counted by reason.
    other_omissions: Vec<OmissionCount>,
    /// Number of all omitted notes.
    omitted_count: usize,
    /// The arguments (`around`, `query`) that yield more notes than were considered.
    cut_by: Vec<String>,
    /// Number of tokens of the text.
    used: u64,
    /// Maximum number of tokens of the text.
    budget: u64,
    /// True if the query found nothing.
    #[serde(skip)]
    is_nothing_found: bool,
    /// True if the index holds no notes.
    #[serde(skip)]
    is_vault_empty: bool,
    /// Conditions that make the answer incomplete or possibly not what was meant; empty otherwise.
    warnings: Vec<output_text::OutputWarning>,
    /// The index generation that was used.
    generation: u64,
}

/// A note in the text.
#[derive(Debug, Serialize, JsonSchema)]
struct IncludedNote {
    #[serde(flatten)]
    name: TitledNote,
    /// How much of the note is included: `full` (its text), `snippet` (passages) or `structural` (headings).
    mode: String,
    /// True if more of the note would be included with a larger budget.
    cut: bool,
}

/// An omitted note.
#[derive(Debug, Serialize, JsonSchema)]
struct OmittedEntry {
    /// Its uri, or the requested name if no note has it.
    note: String,
    /// Why it was omitted.
    reason: String,
}

/// Number of notes omitted for one reason.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
struct OmissionCount {
    /// Why they were omitted.
    reason: String,
    /// Number of notes.
    note_count: usize,
}

impl ToolRequest for ContextTool {
    const NAME: &'static str = "context";
    const TITLE: &'static str = "Read notes on a question";
    const DESCRIPTION: &'static str = "Packs the passages that answer a question best into one text within a token budget, each with its note; short notes are included in full, and headings fill what is left. \
        Call it to answer a question from the notes, to read several notes at once, or to read a note with its surroundings. \
        Set at least one of `query`, `around` and `notes`. The result also lists omitted notes with the reason.";
    const RENAMED: &'static [(&'static str, &'static str)] =
        &[("focus.note", "around"), ("focus", "around")];
    type Output = ContextOutput;

    async fn run(self, clients: Clients) -> Result<ContextOutput, Status> {
        let Self { query, around, notes, budget: BoundedNumber(budget), filter } = self;
        if query.is_none() && around.is_none() && notes.0.is_empty() {
            return Err(Status::invalid_argument("give `query`, `around` or `notes`"));
        }
        // A few named notes may use the whole budget.
        let each = 1.0 / f64::from(u32::try_from(notes.0.len()).unwrap_or(u32::MAX));
        let limits = (!notes.0.is_empty() && each > PER_NOTE_SHARE && around.is_none())
            .then(|| ContextLimits { per_note_share: Some(each), ..ContextLimits::default() });
        let named =
            |BoundedText(name): NoteArgument| ContextNote { name, ..ContextNote::default() };
        let focus =
            |BoundedText(note): NoteArgument| FocusSource { note, ..FocusSource::default() };
        let request = AssembleRequest {
            query: query.map(|BoundedText(query)| query).unwrap_or_default(),
            notes: notes.0.into_iter().map(named).collect(),
            filter: Some(filter.into()),
            budget: Some(budget.into()),
            rendering: Rendering::Markdown.into(),
            focus: around.map(focus),
            limits,
            ..AssembleRequest::default()
        };
        let answer = clients.contexts().assemble(request).await?.into_inner();
        let mut output = ContextOutput::from(answer);
        output.is_nothing_found = output.notes.is_empty() && output.omitted_count == 0;
        output.is_vault_empty = output.is_nothing_found && is_index_empty(&clients).await;
        for left in
            output.omitted.iter_mut().filter(|left| left.reason == MISSING).take(MAX_LOOKUPS)
        {
            let request =
                ResolveLinkRequest { target: left.note.clone(), ..ResolveLinkRequest::default() };
            // Without similar names the result stays as it is.
            let Ok(found) = clients.notes().resolve_link(request).await else { continue };
            let near = found.into_inner().suggestions;
            if !near.is_empty() {
                left.reason = format!("{MISSING}; similar names: `{}`", near.join("`, `"));
            }
        }
        Ok(output)
    }
}

impl From<AssembleResponse> for ContextOutput {
    fn from(answer: AssembleResponse) -> Self {
        let AssembleResponse {
            items,
            omitted,
            rendered,
            budget,
            used,
            remaining: _,
            unit: _,
            generation,
            truncated_by,
            warnings,
            ledger_unit: _,
            estimator: _,
            packing: _,
            passages: _,
            relations: _,
        } = answer;
        let included = items.into_iter().map(|item| IncludedNote {
            mode: words(item.mode().as_str_name(), "CONTEXT_MODE_"),
            cut: item.truncated,
            name: TitledNote::new(item.uri, &item.title),
        });
        let (mut left, mut others, mut omitted_count) =
            (Vec::new(), Vec::<OmissionCount>::new(), 0);
        for OmittedNote { uri, reason, .. } in &omitted {
            let Ok(why) = OmissionReason::try_from(*reason) else { continue };
            let Some((reason, is_wanted)) = reason_of(why) else { continue };
            omitted_count += 1;
            if is_wanted && left.len() < MAX_NAMED_NOTES {
                left.push(OmittedEntry { note: output_text::line(uri), reason: reason.to_owned() });
            } else if let Some(same) = others.iter_mut().find(|others| others.reason == reason) {
                same.note_count += 1;
            } else {
                others.push(OmissionCount { reason: reason.to_owned(), note_count: 1 });
            }
        }
        Self {
            text: rendered.unwrap_or_default(),
            notes: included.collect(),
            omitted: left,
            other_omissions: others,
            omitted_count,
            cut_by: truncated_by.into_iter().map(argument).collect(),
            is_nothing_found: false,
            is_vault_empty: false,
            used,
            budget,
            warnings: output_text::OutputWarning::all(warnings),
            generation,
        }
    }
}

/// Returns the reason of an omission, and whether the note was requested and should be named; `None` for duplicates.
const fn reason_of(reason: OmissionReason) -> Option<(&'static str, bool)> {
    match reason {
        OmissionReason::Missing => Some((MISSING, true)),
        OmissionReason::Budget => Some((NO_ROOM, true)),
        OmissionReason::Filter => Some(("the filter excludes it", true)),
        OmissionReason::BelowThreshold => Some(("ranks too far below the best", false)),
        OmissionReason::StructuralCap => Some(("limit of notes shown by headings reached", false)),
        OmissionReason::Unspecified | OmissionReason::Duplicate => None,
    }
}

/// Returns the argument for a source of a context.
fn argument(source: String) -> String {
    if source == "focus" { "around".to_owned() } else { source }
}

impl Display for ContextOutput {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            text,
            notes,
            omitted,
            other_omissions,
            omitted_count: _,
            cut_by,
            is_nothing_found,
            is_vault_empty,
            used,
            budget,
            warnings,
            generation: _,
        } = self;
        f.write_str(&output_text::warnings(warnings))?;
        if *is_vault_empty {
            return f.write_str(output_text::NO_NOTES);
        }
        if *is_nothing_found {
            return f.write_str(output_text::NOTHING_FOUND);
        }
        if notes.is_empty() {
            f.write_str("The text contains no notes.\n")?;
        }
        f.write_str(text)?;
        if !text.is_empty() && !text.ends_with('\n') {
            writeln!(f)?;
        }
        writeln!(f, "\n{used} of {budget} tokens, {}.", output_text::counted(notes.len(), "note"))?;
        for OmittedEntry { note, reason } in omitted {
            writeln!(f, "Omitted: `{note}` ({reason}).")?;
        }
        for OmissionCount { reason, note_count } in other_omissions {
            let label = if omitted.is_empty() { "Omitted" } else { "Also omitted" };
            writeln!(f, "{label}: {} ({reason}).", output_text::counted(*note_count, "note"))?;
        }
        if !cut_by.is_empty() {
            writeln!(
                f,
                "Not all notes of `{}` were considered; use a `filter` or `notes` to select others.",
                cut_by.join("` and `")
            )?;
        }
        let reasons = omitted.iter().map(|left| &left.reason);
        let others = other_omissions.iter().map(|others| &others.reason);
        let is_cut = notes.iter().any(|note| note.cut);
        if is_cut || reasons.chain(others).any(|reason| reason == NO_ROOM) {
            writeln!(f, "A larger `budget` includes more.")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn omissions_are_counted_by_reason_and_truncated_sources_are_named() {
        let left = |n: usize, reason: OmissionReason| {
            (0..n).map(move |at| OmittedNote {
                uri: format!("{reason:?}-{at}"),
                reason: reason.into(),
                ..OmittedNote::default()
            })
        };
        let omitted = left(MAX_NAMED_NOTES + 1, OmissionReason::Budget)
            .chain(left(3, OmissionReason::StructuralCap))
            .chain(left(1, OmissionReason::BelowThreshold))
            .chain(left(5, OmissionReason::Duplicate));
        let output = ContextOutput::from(AssembleResponse {
            omitted: omitted.collect(),
            truncated_by: vec!["focus".into(), "query".into()],
            ..AssembleResponse::default()
        });
        assert_eq!(
            (output.omitted.len(), output.omitted_count),
            (MAX_NAMED_NOTES, MAX_NAMED_NOTES + 5)
        );
        let counts: Vec<usize> = output.other_omissions.iter().map(|it| it.note_count).collect();
        assert_eq!(counts, [1, 3, 1]);
        assert_eq!(output.cut_by, ["around", "query"]);
        let said = output.to_string();
        for part in [
            "Also omitted: 1 note (no room).",
            "Also omitted: 3 notes (limit of notes shown by headings reached).",
            "Also omitted: 1 note (ranks too far below the best).",
            "Not all notes of `around` and `query` were considered",
            "A larger `budget`",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        let whole = ContextOutput::from(AssembleResponse::default()).to_string();
        assert!(!whole.contains("mitted") && !whole.contains("Not all"), "{whole}");
    }
}
