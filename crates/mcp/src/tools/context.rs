//! The tool `context`.

use std::fmt::{self, Display, Formatter};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tonic::Status;
use weft_proto::noteweft::v1::{
    AssembleRequest, AssembleResponse, ContextLimits, ContextNote, FocusSource, LeftOut,
    LeftOutReason, Rendering, ResolveLinkRequest,
};

use super::Question;
use super::args::{Budget, Filter, Name, Note, are_there_none, words};
use crate::bounds::{List, Number, Text, object};
use crate::clients::Clients;
use crate::text;

/// Wanted notes left out that are named; the others are counted.
const NAMED: usize = 20;

/// Names that no note has for which near ones are looked up.
const ASKED: usize = 3;

/// The share of the budget that each note may take where nothing else is said: the default of `context.limits.soft_ratio`.
const SOFT_RATIO: f64 = 0.1;

const MISSING: &str = "no note has this name";
const NO_ROOM: &str = "no room";

/// What the text should be about: at least one of `query`, `around` and `notes`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Context {
    /// The question. It finds notes, unless `notes` are named, and chooses passages of those that are not taken whole.
    #[serde(default)]
    #[schemars(with = "Text<1000>")]
    query: Option<Text<1000>>,
    /// A note that comes first, whole if it fits, followed by what surrounds it.
    #[serde(default)]
    #[schemars(with = "Name")]
    around: Option<Name>,
    /// Notes to take, instead of those that the query finds: each whole, or from its beginning as far as there is room, in the order of their uris. For passages of a long note, `search` with its path in `filter`.
    #[serde(default)]
    notes: List<Name, 0, 50>,
    /// Tokens that the text may take; it never takes more.
    #[serde(default)]
    budget: Budget,
    /// Only some notes.
    #[serde(default, deserialize_with = "object")]
    filter: Filter,
}

/// Notes as one text.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Packed {
    /// The text, in Markdown.
    text: String,
    /// The notes in it, best first.
    notes: Vec<Taken>,
    /// Notes that were wanted and stayed out, best first, the first of them: for want of room, or because the filter excludes them or no note has the name.
    left_out: Vec<Left>,
    /// The others that stayed out, counted by the reason.
    others_left_out: Vec<Others>,
    /// How many stayed out in all.
    n_left_out: usize,
    /// The arguments that brought more notes than were considered: `around`, `query`. Of those, no more is told.
    cut_by: Vec<String>,
    /// Tokens that the text takes.
    used: u64,
    /// Tokens that it might have taken.
    budget: u64,
    /// Whether nothing was found, so that other words may do.
    #[serde(skip)]
    is_nothing_found: bool,
    /// Whether there is no note at all.
    #[serde(skip)]
    is_vault_empty: bool,
    /// What was left out for want of time, of a model or of vectors; empty for a whole answer.
    degraded: Vec<String>,
    /// The state of the index that answered.
    generation: u64,
}

/// A note of the text.
#[derive(Debug, Serialize, JsonSchema)]
struct Taken {
    #[serde(flatten)]
    name: Note,
    /// How much of it was taken: `full` (its text or the beginning), `snippet` (passages) or `structural` (headings).
    mode: String,
    /// Whether more of it would have been taken, had there been room.
    cut: bool,
}

/// A note that stayed out.
#[derive(Debug, Serialize, JsonSchema)]
struct Left {
    /// Its uri, or the name asked for where no note answers to it.
    note: String,
    /// Why it stayed out.
    reason: String,
}

/// Notes that stayed out for one reason.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
struct Others {
    /// Why they stayed out.
    reason: String,
    /// How many they are.
    n_notes: usize,
}

impl Question for Context {
    const NAME: &'static str = "context";
    const TITLE: &'static str = "Read what notes say on a question";
    const DESCRIPTION: &'static str = "Packs the best notes into one text that never exceeds a budget of tokens: the best whole or by their beginning, the next as passages, the rest as headings. \
        Call it to answer a question from the notes, to read several named notes at once, or to learn about a note with what surrounds it; for the passages of a long note that match, `search`. \
        Give `query`, `around` or `notes`, or several of them. The answer also says which notes stayed out, and why.";
    const RENAMED: &'static [(&'static str, &'static str)] =
        &[("focus.note", "around"), ("focus", "around")];
    type Answer = Packed;

    async fn ask(self, clients: Clients) -> Result<Packed, Status> {
        let Self { query, around, notes, budget: Number(budget), filter } = self;
        if query.is_none() && around.is_none() && notes.0.is_empty() {
            return Err(Status::invalid_argument("give `query`, `around` or `notes`"));
        }
        // Who names a few notes wants to read them, and has the whole budget for them.
        let each = 1.0 / f64::from(u32::try_from(notes.0.len()).unwrap_or(u32::MAX));
        let limits = (!notes.0.is_empty() && each > SOFT_RATIO && around.is_none())
            .then(|| ContextLimits { soft_ratio: Some(each), ..ContextLimits::default() });
        let named = |Text(name): Name| ContextNote { name, ..ContextNote::default() };
        let focus = |Text(note): Name| FocusSource { note, ..FocusSource::default() };
        let request = AssembleRequest {
            query: query.map(|Text(query)| query).unwrap_or_default(),
            notes: notes.0.into_iter().map(named).collect(),
            filter: Some(filter.into()),
            budget: Some(budget.into()),
            rendering: Rendering::Markdown.into(),
            focus: around.map(focus),
            limits,
            ..AssembleRequest::default()
        };
        let answer = clients.contexts().assemble(request).await?.into_inner();
        let mut packed = Packed::from(answer);
        packed.is_nothing_found = packed.notes.is_empty() && packed.n_left_out == 0;
        packed.is_vault_empty = packed.is_nothing_found && are_there_none(&clients).await;
        for left in packed.left_out.iter_mut().filter(|left| left.reason == MISSING).take(ASKED) {
            let request =
                ResolveLinkRequest { target: left.note.clone(), ..ResolveLinkRequest::default() };
            // Without near names the answer stands.
            let Ok(found) = clients.notes().resolve_link(request).await else { continue };
            let near = found.into_inner().near;
            if !near.is_empty() {
                left.reason = format!("{MISSING}; near it are `{}`", near.join("`, `"));
            }
        }
        Ok(packed)
    }
}

impl From<AssembleResponse> for Packed {
    fn from(answer: AssembleResponse) -> Self {
        let AssembleResponse {
            items,
            left_out,
            rendered,
            budget,
            used,
            remaining: _,
            unit: _,
            generation,
            truncated_by,
            degraded,
            ledger_unit: _,
            estimator: _,
        } = answer;
        let taken = items.into_iter().map(|item| Taken {
            mode: words(item.mode().as_str_name(), "CONTEXT_MODE_"),
            cut: item.truncated,
            name: Note::new(item.uri, &item.title),
        });
        let (mut left, mut others, mut n_left_out) = (Vec::new(), Vec::<Others>::new(), 0);
        for LeftOut { uri, reason, .. } in &left_out {
            let Ok(why) = LeftOutReason::try_from(*reason) else { continue };
            let Some((reason, is_wanted)) = reason_of(why) else { continue };
            n_left_out += 1;
            if is_wanted && left.len() < NAMED {
                left.push(Left { note: text::line(uri), reason: reason.to_owned() });
            } else if let Some(same) = others.iter_mut().find(|others| others.reason == reason) {
                same.n_notes += 1;
            } else {
                others.push(Others { reason: reason.to_owned(), n_notes: 1 });
            }
        }
        Self {
            text: rendered.unwrap_or_default(),
            notes: taken.collect(),
            left_out: left,
            others_left_out: others,
            n_left_out,
            cut_by: truncated_by.into_iter().map(argument).collect(),
            is_nothing_found: false,
            is_vault_empty: false,
            used,
            budget,
            degraded,
            generation,
        }
    }
}

/// Why a note stayed out, and whether it is one that was wanted and is named; nothing for one that is no other note.
const fn reason_of(reason: LeftOutReason) -> Option<(&'static str, bool)> {
    match reason {
        LeftOutReason::Missing => Some((MISSING, true)),
        LeftOutReason::Budget => Some((NO_ROOM, true)),
        LeftOutReason::Filter => Some(("the filter excludes it", true)),
        LeftOutReason::BelowThreshold => Some(("too low a rank beside the best", false)),
        LeftOutReason::StructuralCap => {
            Some(("enough notes are given by their headings already", false))
        }
        LeftOutReason::Unspecified | LeftOutReason::Duplicate => None,
    }
}

/// The argument that is this source of a context.
fn argument(source: String) -> String {
    if source == "focus" { "around".to_owned() } else { source }
}

impl Display for Packed {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            text,
            notes,
            left_out,
            others_left_out,
            n_left_out: _,
            cut_by,
            is_nothing_found,
            is_vault_empty,
            used,
            budget,
            degraded,
            generation: _,
        } = self;
        f.write_str(&text::degraded(degraded))?;
        if *is_vault_empty {
            return f.write_str(text::NO_NOTES);
        }
        if *is_nothing_found {
            return f.write_str(text::NOTHING_FOUND);
        }
        if notes.is_empty() {
            f.write_str("No note went into the text.\n")?;
        }
        f.write_str(text)?;
        if !text.is_empty() && !text.ends_with('\n') {
            writeln!(f)?;
        }
        writeln!(f, "\n{used} of {budget} tokens, {}.", text::counted(notes.len(), "note"))?;
        for Left { note, reason } in left_out {
            writeln!(f, "Left out: `{note}` ({reason}).")?;
        }
        for Others { reason, n_notes } in others_left_out {
            let besides = if left_out.is_empty() { "" } else { " besides" };
            writeln!(f, "Left out{besides}: {} ({reason}).", text::counted(*n_notes, "note"))?;
        }
        if !cut_by.is_empty() {
            writeln!(
                f,
                "Not all notes of `{}` were considered; a `filter`, or `notes`, brings in others.",
                cut_by.join("` and `")
            )?;
        }
        let mut reasons = left_out.iter().map(|left| &left.reason);
        let mut others = others_left_out.iter().map(|others| &others.reason);
        if reasons.any(|reason| reason == NO_ROOM) || others.any(|reason| reason == NO_ROOM) {
            writeln!(f, "A larger `budget` takes in more.")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stayed_out_is_counted_by_its_reason_and_sources_that_were_cut_are_named() {
        let left = |n: usize, reason: LeftOutReason| {
            (0..n).map(move |at| LeftOut {
                uri: format!("{reason:?}-{at}"),
                reason: reason.into(),
                ..LeftOut::default()
            })
        };
        let left_out = left(NAMED + 1, LeftOutReason::Budget)
            .chain(left(3, LeftOutReason::StructuralCap))
            .chain(left(1, LeftOutReason::BelowThreshold))
            .chain(left(5, LeftOutReason::Duplicate));
        let packed = Packed::from(AssembleResponse {
            left_out: left_out.collect(),
            truncated_by: vec!["focus".into(), "query".into()],
            ..AssembleResponse::default()
        });
        assert_eq!((packed.left_out.len(), packed.n_left_out), (NAMED, NAMED + 5));
        let counts: Vec<usize> = packed.others_left_out.iter().map(|it| it.n_notes).collect();
        assert_eq!(counts, [1, 3, 1]);
        assert_eq!(packed.cut_by, ["around", "query"]);
        let said = packed.to_string();
        for part in [
            "Left out besides: 1 note (no room).",
            "Left out besides: 3 notes (enough notes are given by their headings already).",
            "Left out besides: 1 note (too low a rank beside the best).",
            "Not all notes of `around` and `query` were considered",
            "A larger `budget`",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        let whole = Packed::from(AssembleResponse::default()).to_string();
        assert!(!whole.contains("Left out") && !whole.contains("Not all"), "{whole}");
    }
}
