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
use super::args::{Budget, Filter, Name, Note, words};
use crate::bounds::{List, Number, Text};
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
    /// The question. It finds notes, unless `notes` are named, and chooses passages.
    #[serde(default)]
    #[schemars(with = "Text<1000>")]
    query: Option<Text<1000>>,
    /// A note that comes first, whole if it fits, followed by what surrounds it.
    #[serde(default)]
    #[schemars(with = "Name")]
    around: Option<Name>,
    /// Notes to take, instead of those that the query finds.
    #[serde(default)]
    notes: List<Name, 0, 50>,
    /// Tokens that the text may take; it never takes more.
    #[serde(default)]
    budget: Budget,
    /// Only some notes.
    #[serde(default)]
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
    /// How many stayed out, those that answer less well included.
    n_left_out: usize,
    /// Tokens that the text takes.
    used: u64,
    /// Tokens that it might have taken.
    budget: u64,
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
            truncated_by: _,
            degraded,
            ledger_unit: _,
            estimator: _,
        } = answer;
        let taken = items.into_iter().map(|item| Taken {
            mode: words(item.mode().as_str_name(), "CONTEXT_MODE_"),
            cut: item.truncated,
            name: Note::new(item.uri, &item.title),
        });
        // The same note twice is no other note.
        let n_left_out =
            left_out.iter().filter(|left| left.reason() != LeftOutReason::Duplicate).count();
        let left = left_out.into_iter().filter_map(|left: LeftOut| {
            let reason = wanted(left.reason())?.to_owned();
            Some(Left { note: text::line(&left.uri), reason })
        });
        Self {
            text: rendered.unwrap_or_default(),
            notes: taken.collect(),
            left_out: left.take(NAMED).collect(),
            n_left_out,
            used,
            budget,
            degraded,
            generation,
        }
    }
}

/// Why a note that was wanted stayed out; nothing for one that answers too little.
const fn wanted(reason: LeftOutReason) -> Option<&'static str> {
    match reason {
        LeftOutReason::Missing => Some(MISSING),
        LeftOutReason::Budget => Some(NO_ROOM),
        LeftOutReason::Filter => Some("the filter excludes it"),
        LeftOutReason::Unspecified
        | LeftOutReason::BelowThreshold
        | LeftOutReason::StructuralCap
        | LeftOutReason::Duplicate => None,
    }
}

impl Display for Packed {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { text, notes, left_out, n_left_out, used, budget, degraded, generation: _ } =
            self;
        f.write_str(&text::degraded(degraded))?;
        if notes.is_empty() {
            f.write_str("No note went into the text.\n")?;
        }
        f.write_str(text)?;
        if !text.is_empty() && !text.ends_with('\n') {
            writeln!(f)?;
        }
        writeln!(f, "\n{used} of {budget} tokens, {} notes.", notes.len())?;
        for Left { note, reason } in left_out {
            writeln!(f, "Left out: `{note}` ({reason}).")?;
        }
        match n_left_out.saturating_sub(left_out.len()) {
            0 => {}
            others => writeln!(f, "{others} notes that answer less well stayed out, too.")?,
        }
        if left_out.iter().any(|left| left.reason == NO_ROOM) {
            writeln!(f, "A larger `budget` takes in more.")?;
        }
        Ok(())
    }
}
