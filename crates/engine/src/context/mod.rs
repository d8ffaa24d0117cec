//! Contexts: notes from several sources, cut to a budget, with a ledger.

mod candidate_set;
mod messages;

use std::collections::HashMap;
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};
use weft_accordion::{Decision, PackError, PackRequest, Packing, Summary};
use weft_index::Snapshot;
use weft_index::keyword::plain_words;
use weft_index::notes::NoteEntry;
use weft_model::settings::Problems;
use weft_model::{NoteMap, Span, Tokens, Uri};

use candidate_set::{CandidateSet, TextPlaces};
pub use messages::{
    ContextAnswer, ContextItem, ContextPiece, ContextRequest, ContextSource, ContextSummary,
    FocusSource, LimitOverrides, NamedNote,
};
pub use weft_accordion::{
    Bands, BudgetUnit, Citations, ContextBudget, ContextLimits, DefaultScores, EvidenceSettings,
    Item, Mode, OmissionReason, OmittedNote, Order, PackingProfile, PassageOutcome, PassageReport,
    Rendering, ShownPassage,
};

use crate::search::MAX_LIMIT;
use crate::{Engine, EngineError, RelationSet};

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
    /// Method of packing of requests that name none.
    pub profile: PackingProfile,
    /// Settings of profile `evidence`.
    pub evidence: EvidenceSettings,
    /// How much of a note is included, by its share of the top score.
    pub limits: ContextLimits,
}

impl Default for ContextSettings {
    fn default() -> Self {
        Self {
            budget: 2000,
            candidates: 50,
            scores: DefaultScores::default(),
            profile: PackingProfile::default(),
            evidence: EvidenceSettings::default(),
            limits: ContextLimits::default(),
        }
    }
}

impl ContextSettings {
    /// Returns the settings that are out of range.
    #[must_use]
    pub fn problems(&self) -> Problems {
        let Self { budget: _, candidates, scores, profile: _, evidence, limits } = self;
        let DefaultScores { by_distance, named } = scores;
        let mut problems = Problems::default();
        problems.within("candidates", *candidates, 1..=MAX_LIMIT);
        let by_distance = by_distance.iter().all(|score| score.is_finite());
        problems.check(by_distance, "scores.by_distance", "must be four finite numbers");
        problems.check(named.is_finite(), "scores.named", "must be a finite number");
        for problem in limits.problems().chain(evidence.problems()) {
            if let PackError::Setting { setting, expected, value: _ } = problem {
                problems.check(false, setting, format_args!("must be {expected}"));
            }
        }
        problems
    }
}

impl Engine {
    /// Returns true if a request may search or relate notes by their vectors, so that loading ones are worth waiting for.
    #[must_use]
    pub fn assembles_by_meaning(&self, request: &ContextRequest) -> bool {
        let relates = |focus: &FocusSource| self.relation_set(focus.relations) == RelationSet::Auto;
        request.searches_by_meaning() || request.focus.as_ref().is_some_and(relates)
    }

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
        let profile = request.packing.unwrap_or(settings.profile);
        let citations = request.citations.unwrap_or(settings.evidence.citations);
        let evidence = EvidenceSettings { citations, ..settings.evidence.clone() };
        let limits = limits.over(&settings.limits);
        let meter = engine.estimators.meter(estimator.as_deref())?;
        let CandidateSet { focus, candidates, parts, truncated_by, relations, warnings } =
            engine.candidate_set(&snapshot, request)?;
        let words = plain_words(query);
        let mut packing = Packing::new(PackRequest {
            focus,
            candidates,
            query: Some(&words),
            budget: budget.unwrap_or(ContextBudget::Tokens(Tokens::new(settings.budget))),
            meter,
            limits: &limits,
            profile,
            evidence: &evidence,
            explain: request.explain,
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
        let Summary { rendered, budget, used, remaining, unit, ledger_unit, passages } =
            packing.finish();
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
            packing: profile,
            passages: moved_reports(&snapshot, &parts, passages),
            relations,
        })
    }
}

/// Moves the places of passages to those in the body, of which a part, or a text without encoded data, was included.
fn moved_reports(
    snapshot: &Snapshot,
    parts: &NoteMap<Span>,
    mut reports: Vec<PassageReport>,
) -> Vec<PassageReport> {
    let mut places: HashMap<Uri, TextPlaces<'_>> = HashMap::new();
    for PassageReport { uri, span, .. } in &mut reports {
        let of_note = || places_of(snapshot, parts, uri);
        let places = places.entry(uri.clone()).or_insert_with(|| of_note().1);
        *span = places.in_body(*span);
    }
    reports
}

/// Returns a note's entry, and the places of its text in a context.
fn places_of<'s>(
    snapshot: &'s Snapshot,
    parts: &NoteMap<Span>,
    uri: &Uri,
) -> (Option<&'s NoteEntry>, TextPlaces<'s>) {
    let id = snapshot.notes.find(uri.as_str()).note;
    let entry = id.and_then(|id| snapshot.notes.entry(id)).map(|entry| &**entry);
    let part = id.and_then(|id| parts.get(&id)).copied();
    (entry, TextPlaces::new(entry.map_or("", |entry| &*entry.body), part))
}

/// Converts a decision. Ranges of the included text are moved to their place in the body.
fn piece(snapshot: &Snapshot, parts: &NoteMap<Span>, decision: Decision) -> ContextPiece {
    match decision {
        Decision::Taken(mut item) => {
            let (entry, places) = places_of(snapshot, parts, &item.uri);
            if !places.is_whole() {
                item.blocks.iter_mut().for_each(|block| *block = places.in_body(*block));
                for passage in &mut item.passages {
                    passage.span = places.in_body(passage.span);
                    (passage.first_line, passage.last_line) = places.lines(passage.span);
                }
            }
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
