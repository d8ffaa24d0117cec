//! Contexts: notes from several sources, as much of them as a budget holds, and an account of it.

mod messages;
mod sources;

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};
use weft_accordion::{Decision, PackError, Packing, Request, Summary};
use weft_index::Snapshot;
use weft_index::keyword::plain_words;
use weft_model::Tokens;
use weft_model::settings::Problems;

pub use messages::{
    ContextAnswer, ContextItem, ContextPiece, ContextRequest, ContextSummary, FocusSource,
    NamedNote, OwnLimits, Source,
};
use sources::Gathered;
pub use weft_accordion::{
    Bands, Budget, Item, LeftOut, Limits, Mode, Order, Reason, Rendering, StandIns, Unit,
};

use crate::search::MAX_LIMIT;
use crate::{Engine, EngineError};

/// How contexts are made. `config/default.toml` repeats the defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ContextSettings {
    /// Tokens of a context whose caller names no budget.
    pub budget: u64,
    /// Notes that a query, and a focus note, bring at most where the caller does not say, 1 to 1,000.
    pub candidates: usize,
    /// What notes are ranked by that nobody ranked.
    pub scores: StandIns,
    /// Which share of the top score earns how much of a note.
    pub limits: Limits,
}

impl Default for ContextSettings {
    fn default() -> Self {
        Self {
            budget: 2000,
            candidates: 50,
            scores: StandIns::default(),
            limits: Limits::default(),
        }
    }
}

impl ContextSettings {
    /// What of it cannot be used.
    #[must_use]
    pub fn problems(&self) -> Problems {
        let Self { budget: _, candidates, scores: StandIns { by_distance, named }, limits } = self;
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
    /// Deterministic: equal questions on one generation give equal answers.
    /// Fails where there is nothing to make a context of, on an unknown focus note or root, on what [`Engine::search`] fails on, on an unknown estimator, and on a score that is no finite number.
    pub fn context(&self, request: &ContextRequest) -> Result<ContextAnswer, EngineError> {
        let (mut items, mut left_out) = (Vec::new(), Vec::new());
        let summary = self.context_in_pieces(request, |piece, _| {
            match piece {
                ContextPiece::Item(item) => items.push(*item),
                ContextPiece::LeftOut(candidate) => left_out.push(candidate),
            }
            ControlFlow::Continue(())
        })?;
        Ok(ContextAnswer { items, left_out, summary })
    }

    /// The same, telling `hear` of each note as it is decided, with the snapshot's generation; a break ends the work.
    pub fn context_in_pieces(
        &self,
        request: &ContextRequest,
        mut hear: impl FnMut(ContextPiece, u64) -> ControlFlow<()>,
    ) -> Result<ContextSummary, EngineError> {
        let engine = self.pinned();
        let snapshot = engine.snapshot();
        let ContextRequest { query, budget, estimator, limits, rendering, order, .. } = request;
        let settings = &engine.contexts;
        let limits = limits.over(&settings.limits);
        let meter = engine.estimators.meter(estimator.as_deref())?;
        let Gathered { focus, candidates, truncated_by, degraded } =
            engine.gathered(&snapshot, request)?;
        let words = plain_words(query);
        let mut packing = Packing::new(Request {
            focus,
            candidates,
            query: Some(&words),
            budget: budget.unwrap_or(Budget::Tokens(Tokens::new(settings.budget))),
            meter,
            limits: &limits,
            rendering: *rendering,
            order: *order,
            stop: &engine.stop,
        })?;
        for decision in &mut packing {
            engine.stop.check()?;
            if hear(piece(&snapshot, decision), snapshot.generation).is_break() {
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
            degraded,
        })
    }
}

fn piece(snapshot: &Snapshot, decision: Decision) -> ContextPiece {
    match decision {
        Decision::Taken(item) => {
            let entry = snapshot.notes.find(item.uri.as_str()).note;
            let entry = entry.and_then(|id| snapshot.notes.entry(id));
            let properties = entry.map(|entry| entry.note.properties.clone()).unwrap_or_default();
            ContextPiece::Item(Box::new(ContextItem { item: *item, properties }))
        }
        Decision::LeftOut(candidate) => ContextPiece::LeftOut(candidate),
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
