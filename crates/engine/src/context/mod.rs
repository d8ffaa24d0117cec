//! Contexts: notes from several sources, cut to a budget, with a ledger.

mod candidate_set;
mod messages;

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};
use weft_accordion::{Decision, PackError, PackRequest, Packing, Summary};
use weft_index::Snapshot;
use weft_index::keyword::plain_words;
use weft_model::settings::Problems;
use weft_model::{NoteMap, Span, Tokens};

use candidate_set::CandidateSet;
pub use messages::{
    ContextAnswer, ContextItem, ContextPiece, ContextRequest, ContextSource, ContextSummary,
    FocusSource, LimitOverrides, NamedNote,
};
pub use weft_accordion::{
    Bands, BudgetUnit, ContextBudget, ContextLimits, DefaultScores, Item, Mode, OmissionReason,
    OmittedNote, Order, Rendering,
};

use crate::search::MAX_LIMIT;
use crate::{Engine, EngineError};

/// Settings of contexts. `config/default.toml` repeats the defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ContextSettings {
    /// Default budget in tokens.
    pub budget: u64,
    /// Default maximum number of notes from a query and from a focus note, 1 to 1,000.
    pub candidates: usize,
    /// Default scores of notes without a score of their own.
    pub scores: DefaultScores,
    /// How much of a note is included, by its share of the top score.
    pub limits: ContextLimits,
}

impl Default for ContextSettings {
    fn default() -> Self {
        Self {
            budget: 2000,
            candidates: 50,
            scores: DefaultScores::default(),
            limits: ContextLimits::default(),
        }
    }
}

impl ContextSettings {
    /// Returns the settings that are out of range.
    #[must_use]
    pub fn problems(&self) -> Problems {
        let Self { budget: _, candidates, scores: DefaultScores { by_distance, named }, limits } =
            self;
        let mut problems = Problems::default();
        problems.within("candidates", *candidates, 1..=MAX_LIMIT);
        let by_distance = by_distance.iter().all(|score| score.is_finite());
        problems.check(by_distance, "scores.by_distance", "must be four finite numbers");
        problems.check(named.is_finite(), "scores.named", "must be a finite number");
        for problem in limits.problems() {
            if let PackError::Setting { setting, expected, value: _ } = problem {
                problems.check(false, setting, format_args!("must be {expected}"));
            }
        }
        problems
    }
}

impl Engine {
    /// Packs notes into a context.
    ///
    /// Deterministic: equal requests on one generation give equal answers.
    /// Fails without any source, on an unknown focus note or root, on an unknown estimator, on a score that is not finite, and wherever [`Engine::search`] fails.
    pub fn context(&self, request: &ContextRequest) -> Result<ContextAnswer, EngineError> {
        let (mut items, mut omitted) = (Vec::new(), Vec::new());
        let summary = self.stream_context(request, |piece, _| {
            match piece {
                ContextPiece::Item(item) => items.push(*item),
                ContextPiece::Omitted(candidate) => omitted.push(candidate),
            }
            ControlFlow::Continue(())
        })?;
        Ok(ContextAnswer { items, omitted, summary })
    }

    /// Packs notes into a context and calls `on_piece` with each decision and the snapshot's generation. A break cancels the request.
    pub fn stream_context(
        &self,
        request: &ContextRequest,
        mut on_piece: impl FnMut(ContextPiece, u64) -> ControlFlow<()>,
    ) -> Result<ContextSummary, EngineError> {
        let engine = self.pinned();
        let snapshot = engine.snapshot();
        let ContextRequest { query, budget, estimator, limits, rendering, order, .. } = request;
        let settings = &engine.contexts;
        let limits = limits.over(&settings.limits);
        let meter = engine.estimators.meter(estimator.as_deref())?;
        let CandidateSet { focus, candidates, parts, truncated_by, warnings } =
            engine.candidate_set(&snapshot, request)?;
        let words = plain_words(query);
        let mut packing = Packing::new(PackRequest {
            focus,
            candidates,
            query: Some(&words),
            budget: budget.unwrap_or(ContextBudget::Tokens(Tokens::new(settings.budget))),
            meter,
            limits: &limits,
            rendering: *rendering,
            order: *order,
            stop: &engine.stop,
        })?;
        for decision in &mut packing {
            engine.stop.check()?;
            if on_piece(piece(&snapshot, &parts, decision), snapshot.generation).is_break() {
                return Err(EngineError::Cancelled);
            }
        }
        let Summary { rendered, budget, used, remaining, unit, ledger_unit } = packing.finish();
        Ok(ContextSummary {
            rendered,
            budget,
            used,
            remaining,
            unit,
            ledger_unit,
            estimator: engine.estimators.name(estimator.as_deref()).to_owned(),
            generation: snapshot.generation,
            truncated_by,
            warnings,
        })
    }
}

/// Converts a decision. The ranges of a note of which only a part is included are moved to their place in the body.
fn piece(snapshot: &Snapshot, parts: &NoteMap<Span>, decision: Decision) -> ContextPiece {
    match decision {
        Decision::Taken(mut item) => {
            let id = snapshot.notes.find(item.uri.as_str()).note;
            let start = id.and_then(|id| parts.get(&id)).map_or(0, |part| part.start);
            for block in &mut item.blocks {
                *block = Span::new(block.start + start, block.end + start);
            }
            let entry = id.and_then(|id| snapshot.notes.entry(id));
            let properties = entry.map(|entry| entry.note.properties.clone()).unwrap_or_default();
            ContextPiece::Item(Box::new(ContextItem { item: *item, properties }))
        }
        Decision::Omitted(candidate) => ContextPiece::Omitted(candidate),
    }
}

impl From<PackError> for EngineError {
    fn from(error: PackError) -> Self {
        let (field, reason) = match error {
            PackError::Stopped(stopped) => return stopped.into(),
            PackError::Score { .. } => ("notes.score", error.to_string()),
            PackError::Setting { setting, value, expected } => {
                (setting, format!("{value} is not {expected}"))
            }
        };
        Self::InvalidArgument { field, reason }
    }
}
