//! Contexts: notes from several sources, as much of them as a budget holds, and an account of it.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use weft_accordion::{Candidate, Decision, Document, PackError, Packing, Request, State, Summary};
use weft_index::Snapshot;
use weft_index::keyword::plain_words;
use weft_index::notes::NoteEntry;
use weft_model::{Chars, Heading, NoteId, Span, Tokens, Uri, Value};

pub use weft_accordion::{
    Bands, Budget, Item, LeftOut, Limits, Mode, Order, Reason, Rendering, StandIns, Unit,
};

use crate::search::MAX_LIMIT;
use crate::{Engine, EngineError, Filter, SearchMode, SearchRequest};

/// How contexts are made. `config/default.toml` repeats the defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ContextSettings {
    /// Tokens of a context whose caller names no budget.
    pub budget: u64,
    /// Notes that a query brings at most where the caller does not say, 1 to 1,000.
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
    /// Each setting outside its range by its key, with what it must be.
    #[must_use]
    pub fn problems(&self) -> Vec<(String, String)> {
        let Self { budget: _, candidates, scores: StandIns { by_distance, named }, limits } = self;
        let mut problems = Vec::new();
        let mut check = |holds: bool, key: &str, range: &str| {
            if !holds {
                problems.push((key.to_owned(), format!("must be {range}")));
            }
        };
        check((1..=MAX_LIMIT).contains(candidates), "candidates", "1 to 1000");
        let by_distance = by_distance.iter().all(|score| score.is_finite());
        check(by_distance, "scores.by_distance", "four finite numbers");
        check(named.is_finite(), "scores.named", "a finite number");
        for problem in limits.problems() {
            if let PackError::Setting { setting, expected, value: _ } = problem {
                check(false, &format!("limits.{setting}"), expected);
            }
        }
        problems
    }
}

/// Asks for a context.
///
/// A note that several sources bring counts with its highest score, between equal ones with the source that comes first: named notes, query.
#[derive(Clone, Debug)]
pub struct ContextRequest {
    /// What is asked; empty for nothing. It finds notes, unless `notes` are named, and steers the snippets.
    pub query: String,
    /// Notes that the caller names.
    pub notes: Vec<NamedNote>,
    /// Which notes a query may find. A named note that does not pass is left out.
    pub filter: Filter,
    /// How the query is searched.
    pub mode: SearchMode,
    /// Notes that the query brings at most.
    pub limit: Option<usize>,
    /// What the context may cost, wrapper included.
    pub budget: Option<Budget>,
    /// How tokens are counted: a name of [`Estimators`](crate::Estimators).
    pub estimator: Option<String>,
    /// How the context is written down.
    pub rendering: Rendering,
    /// In which order it is shown.
    pub order: Order,
    /// When the caller stops waiting.
    pub deadline: Option<Instant>,
}

/// A note that the caller names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NamedNote {
    /// Anything a link would resolve to.
    pub name: String,
    /// What it is ranked by; finite. Without it, what `distance` is worth, else that of a named note.
    pub score: Option<f64>,
    /// How far it is from where the caller began: hops of a walk, or the level of a related note less one.
    pub distance: Option<usize>,
    /// The relation by which the caller came to it.
    pub relation: Option<String>,
    /// The note or path through which the caller came to it.
    pub via: Option<String>,
}

/// A context with its ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct ContextAnswer {
    /// The notes taken, best first, ties by uri.
    pub items: Vec<ContextItem>,
    /// The notes left out, in the same order.
    pub left_out: Vec<LeftOut>,
    /// Rendering and totals.
    pub summary: ContextSummary,
}

/// One note of a context.
#[derive(Clone, Debug, PartialEq)]
pub struct ContextItem {
    /// What was taken of it, and what that cost.
    pub item: Item,
    /// Its whole frontmatter, which its text leaves out.
    pub properties: BTreeMap<String, Value>,
}

/// What became of one note.
#[derive(Clone, Debug, PartialEq)]
pub enum ContextPiece {
    /// It is in the context.
    Item(Box<ContextItem>),
    /// It is not.
    LeftOut(LeftOut),
}

/// What can be said of a context when every note was decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextSummary {
    /// The context as one string; nothing where none was asked for.
    pub rendered: Option<String>,
    /// The budget given.
    pub budget: u64,
    /// What was spent of it, wrapper included.
    pub used: u64,
    /// What was not.
    pub remaining: u64,
    /// What the three numbers count.
    pub unit: Unit,
    /// What allowances, costs and carries of items count.
    pub ledger_unit: Unit,
    /// The name of the estimator.
    pub estimator: String,
    /// The snapshot's generation.
    pub generation: u64,
    /// Sources that had more notes than were considered.
    pub truncated_by: Vec<Source>,
    /// Stages of the search that were left out, and why.
    pub degraded: Vec<String>,
}

/// Where notes of a context come from, in the order in which equal scores count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The caller names them.
    Notes,
    /// A search finds them.
    Query,
}

impl Source {
    /// The name that answers use: the field of the request.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Notes => "notes",
            Self::Query => "query",
        }
    }
}

/// Notes that a caller may name.
const MAX_NOTES: usize = 10_000;

/// The notes to choose from, and what was kept from them.
#[derive(Default)]
struct Gathered<'s> {
    candidates: Vec<Candidate<Text<'s>>>,
    truncated_by: Vec<Source>,
    degraded: Vec<String>,
}

/// The text of a note in a snapshot.
#[derive(Clone, Copy)]
struct Text<'s> {
    entry: &'s NoteEntry,
    length: Chars,
    best_chunk: Option<Span>,
}

impl<'s> Text<'s> {
    fn new(entry: &'s NoteEntry, best_chunk: Option<Span>) -> Self {
        Self { entry, length: Chars::of(&entry.body), best_chunk }
    }
}

impl Document for Text<'_> {
    fn length(&self) -> Chars {
        self.length
    }

    fn body(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.entry.body)
    }

    fn headings(&self) -> Cow<'_, [Heading]> {
        Cow::Borrowed(&self.entry.note.headings)
    }

    fn best_chunk(&self) -> Option<Span> {
        self.best_chunk
    }
}

impl Engine {
    /// Packs notes into a context.
    ///
    /// Deterministic: equal questions on one generation give equal answers.
    /// Fails where there is nothing to make a context of, on what [`Engine::search`] fails on, on an unknown estimator, and on a score that is no finite number.
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
        let ContextRequest { query, budget, estimator, rendering, order, deadline, .. } = request;
        let settings = &engine.contexts;
        let meter = engine.estimators.meter(estimator.as_deref())?;
        let Gathered { mut candidates, truncated_by, degraded } =
            engine.gathered(&snapshot, request)?;
        mark_copies(&mut candidates);
        let words = plain_words(query);
        let mut packing = Packing::new(Request {
            focus: None,
            candidates,
            query: Some(&words),
            budget: budget.unwrap_or(Budget::Tokens(Tokens::new(settings.budget))),
            meter,
            limits: &settings.limits,
            rendering: *rendering,
            order: *order,
        })?;
        for decision in &mut packing {
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Err(EngineError::DeadlineExceeded);
            }
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

    /// The notes that the sources of `request` bring, in the order of the sources.
    fn gathered<'s>(
        &self,
        snapshot: &'s Snapshot,
        request: &ContextRequest,
    ) -> Result<Gathered<'s>, EngineError> {
        let ContextRequest { query, notes, filter, mode, limit, deadline, .. } = request;
        let mut gathered = Gathered::default();
        if !notes.is_empty() {
            gathered.candidates = self.named(snapshot, notes, filter)?;
        } else if !query.trim().is_empty() {
            let asked = SearchRequest {
                query: query.clone(),
                limit: limit.unwrap_or(self.contexts.candidates),
                mode: *mode,
                filter: filter.clone(),
                deadline: *deadline,
                ..SearchRequest::default()
            };
            let found = self.search_in(snapshot, &asked)?;
            let hits = found.hits.into_iter().map(|hit| {
                let id = snapshot.notes.find(hit.uri.as_str()).note;
                let via = hit.via.map(|via| via.uri.to_string());
                Candidate { via, ..candidate(snapshot, hit.uri, id, hit.score, hit.best_chunk) }
            });
            gathered.candidates.extend(hits);
            gathered.truncated_by.extend(found.truncated.then_some(Source::Query));
            gathered.degraded = found.degraded;
        } else {
            let reason = "say what the context is about: a query, or notes".to_owned();
            return Err(EngineError::InvalidArgument { field: "query", reason });
        }
        Ok(gathered)
    }

    fn named<'s>(
        &self,
        snapshot: &'s Snapshot,
        notes: &[NamedNote],
        filter: &Filter,
    ) -> Result<Vec<Candidate<Text<'s>>>, EngineError> {
        if notes.len() > MAX_NOTES {
            let reason = format!("{} are more than {MAX_NOTES} notes", notes.len());
            return Err(EngineError::InvalidArgument { field: "notes", reason });
        }
        let passing = filter.notes(snapshot)?;
        let scores = &self.contexts.scores;
        let candidates = notes.iter().map(|note| {
            let NamedNote { name, score, distance, relation, via } = note;
            let by_distance = || distance.map_or(scores.named, |distance| scores.at_hop(distance));
            let score = score.unwrap_or_else(by_distance);
            let id = snapshot.notes.find(name).note;
            let uri = id.map_or_else(
                || Uri::new(name.as_str()),
                |id| snapshot.notes.graph().uri(id).clone(),
            );
            let mut candidate = candidate(snapshot, uri, id, score, None);
            if let State::Found(text) = candidate.state
                && id.is_some_and(|id| !passing.contains(id))
            {
                candidate.state = State::Filtered(text);
            }
            Candidate { relation: relation.clone(), via: via.clone(), ..candidate }
        });
        Ok(candidates.collect())
    }
}

/// The note in a slot as something to pack; missing where the slot holds none.
fn candidate(
    snapshot: &Snapshot,
    uri: Uri,
    id: Option<NoteId>,
    score: f64,
    best_chunk: Option<Span>,
) -> Candidate<Text<'_>> {
    let entry = id.and_then(|id| snapshot.notes.entry(id));
    Candidate {
        title: entry.map_or_else(|| uri.to_string(), |entry| entry.note.title.clone()),
        uri,
        score,
        relation: None,
        via: None,
        state: entry.map_or(State::Missing, |entry| State::Found(Text::new(entry, best_chunk))),
    }
}

/// Makes duplicates of those whose text a note of higher rank has, too; a note without text copies nobody.
fn mark_copies(candidates: &mut [Candidate<Text<'_>>]) {
    candidates.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.uri.cmp(&b.uri)));
    // Texts of different length differ, so few are ever compared.
    let mut by_length: HashMap<Chars, Vec<&NoteEntry>> = HashMap::new();
    for candidate in candidates {
        let State::Found(text) = candidate.state else { continue };
        let same_length = by_length.entry(text.length).or_default();
        let is_copy = |other: &&NoteEntry| {
            !std::ptr::eq(*other, text.entry) && *other.body == *text.entry.body
        };
        if !text.entry.body.trim().is_empty() && same_length.iter().any(is_copy) {
            candidate.state = State::Duplicate(text);
        } else {
            same_length.push(text.entry);
        }
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
        let field = match error {
            PackError::Score { .. } => "notes.score",
            PackError::Setting { setting, .. } => setting,
        };
        Self::InvalidArgument { field, reason: error.to_string() }
    }
}
