//! Related notes: the notes most worth reading around a focus note, within a budget.

use std::borrow::Cow;
use std::num::NonZeroUsize;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weft_accordion::Rendering;
use weft_graph::doughnut::{
    Budget, Doughnut, DoughnutError, Options, Relations, Request, Texts, View, doughnut, render,
};
use weft_index::Snapshot;
use weft_model::encoded_data::without_encoded_data;
use weft_model::settings::Problems;
use weft_model::{NoteId, Span, Stop, Tokens};

use crate::focus_surroundings::FocusSurroundings;
use crate::resume_token::{ResumeToken, fingerprint};
use crate::{Engine, EngineError, Filter, Warning, resolve_part};

/// Maximum number of tokens per page. A resume token continues after it.
pub(crate) const MAX_BUDGET: Tokens = Tokens::new(1_000_000);

/// A set of relations by which notes are related to a focus note.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RelationSet {
    /// Those of [`Structure`](Self::Structure), then links in both directions, folders without a note of their own, shared topics, and similar texts.
    #[default]
    Auto,
    /// Those of the Graph RAG design: parents, children, siblings and objects.
    Structure,
}

/// Settings of related notes. `config/default.toml` repeats the defaults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RelatedSettings {
    /// Relations used if a request does not choose.
    pub relations: RelationSet,
    /// Number of notes too large for the remaining budget after which a page ends.
    pub max_skips: NonZeroUsize,
    /// Number of generations pinned for answers over several pages, besides the newest; 0 to 64.
    ///
    /// Each keeps in memory the notes and keyword data that later generations have replaced.
    pub pinned_generations: usize,
}

impl Default for RelatedSettings {
    fn default() -> Self {
        Self {
            relations: RelationSet::default(),
            max_skips: Options::default().max_skips,
            pinned_generations: 4,
        }
    }
}

impl RelatedSettings {
    /// Returns the settings that are out of range.
    #[must_use]
    pub fn problems(&self) -> Problems {
        let Self { relations: _, max_skips: _, pinned_generations } = *self;
        let mut problems = Problems::default();
        problems.within("pinned_generations", pinned_generations, 0..=64);
        problems
    }
}

/// Requests the notes related to a focus note.
#[derive(Clone, Debug)]
pub struct RelatedRequest {
    /// The focus note: any name that a link could use, or a title. Of a name with a fragment, only that part is included.
    pub focus: String,
    /// Budget of one page, at most 1,000,000 tokens.
    pub budget: Budget,
    /// Name of an estimator known to [`Estimators`](crate::Estimators); `None` for the default.
    pub estimator: Option<String>,
    /// Restricts the related notes. The focus note, its parent, object and path are exempt.
    pub filter: Filter,
    /// Relations; `None` for those of the settings.
    pub relations: Option<RelationSet>,
    /// True if links in bodies count as references to the focus note.
    pub body_links: bool,
    /// True if notes with the same object are related.
    pub sibling_of_target: bool,
    /// Token of the previous page; empty for the first page. Only the budget and the rendering may change between pages.
    pub resume_token: String,
    /// Format of the rendered text.
    pub rendering: Rendering,
}

impl RelatedRequest {
    /// Returns the generation that its resume token continues; `None` without a token, and for an invalid one.
    #[must_use]
    pub fn continued_generation(&self) -> Option<u64> {
        ResumeToken::read(&self.resume_token).ok().map(|token| token.generation)
    }
}

/// The focus note and its related notes, from one snapshot.
#[derive(Clone)]
pub struct RelatedAnswer {
    /// The notes, as ids of the snapshot.
    pub found: Doughnut,
    /// Texts of the notes, from the snapshot of the first page.
    pub texts: FocusTexts,
    /// Token of the next page; `None` on the last page.
    pub resume_token: Option<String>,
    /// Relations that were used.
    pub relations: RelationSet,
    /// The answer as text, if requested.
    pub rendered: Option<String>,
    /// Ambiguous names and filter conditions that no note matches.
    pub warnings: Vec<Warning>,
}

impl RelatedAnswer {
    /// Returns the notes with their texts.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        view(&self.found, &self.texts)
    }
}

/// Texts of notes; of the focus note, only a part if its name has a fragment.
#[derive(Clone)]
pub struct FocusTexts {
    /// Snapshot that contains the notes.
    pub snapshot: Arc<Snapshot>,
    focus: NoteId,
    section: Option<Span>,
}

impl Texts for FocusTexts {
    fn title(&self, note: NoteId) -> Cow<'_, str> {
        Texts::title(&self.snapshot.notes, note)
    }

    fn details(&self, note: NoteId) -> Cow<'_, str> {
        let entry = || self.snapshot.notes.entry(note);
        match self
            .section
            .filter(|_| note == self.focus)
            .and_then(|section| Some((section, entry()?)))
        {
            Some((section, entry)) => without_encoded_data(section.slice(&entry.body)),
            None => self.snapshot.notes.details(note),
        }
    }
}

impl Engine {
    /// Returns the focus note and the notes most worth reading around it, best first, within a budget.
    ///
    /// Deterministic. Pages connected by resume tokens form one walk over the snapshot of the first page.
    ///
    /// Fails on an unknown note, estimator or token, on a token of another request, and on one whose snapshot or vectors are no longer available.
    pub fn related(&self, request: &RelatedRequest) -> Result<RelatedAnswer, EngineError> {
        let RelatedRequest {
            focus: name,
            budget,
            estimator: estimator_name,
            filter,
            relations: requested_relations,
            body_links,
            sibling_of_target,
            resume_token,
            rendering,
        } = request;
        within_bounds(*budget)?;
        let (snapshot, token) = match resume_token.as_str() {
            "" => (self.snapshot(), None),
            text => {
                let token = ResumeToken::read(text)?;
                (self.snapshot_at(token.generation)?, Some(token))
            }
        };
        let estimator_name = self.estimators.name(estimator_name.as_deref());
        let estimator = self.estimators.find(Some(estimator_name))?;
        let mut warnings = Vec::new();
        let (focus, section) = resolve_part(&snapshot, name, &mut warnings)?;
        let passing = self.filter_matches(&snapshot, filter)?;
        warnings.extend_from_slice(passing.warnings(&snapshot, &self.stop)?);
        let options = Options {
            max_skips: self.related.max_skips,
            body_links: *body_links,
            sibling_of_target: *sibling_of_target,
        };
        let graph = snapshot.notes.graph();
        let texts = FocusTexts { snapshot: Arc::clone(&snapshot), focus, section };
        // Another store may have the same generation numbers, so the digest of the notes is included.
        let state = snapshot.notes.total().digest;
        let focus_part = (graph.uri(focus), section);
        let relations = self.relation_set(*requested_relations);
        let topics = &self.settings.topics;
        let tools = (&self.analyzers, &self.stop);
        let around = (relations == RelationSet::Auto)
            .then(|| FocusSurroundings::new(&snapshot, focus, &passing.notes, topics, tools));
        let text_basis = around.as_ref().map_or(0, FocusSurroundings::text_basis);
        let fingerprint =
            fingerprint(&(focus_part, filter, options, relations, estimator_name, state));
        let resume = token.as_ref().map(|token| token.of(fingerprint)).transpose()?;
        // Vectors loaded between two pages, or words dropped, would change the notes of the first one.
        if token.as_ref().is_some_and(|token| token.text_basis != text_basis) {
            return Err(self.stale(snapshot.generation));
        }
        let stop = || self.stop.check().is_err();
        let run = Request {
            focus,
            budget: *budget,
            filter: &passing.notes,
            relations: around.as_ref().map_or(Relations::Structure, |it| Relations::Auto(it)),
            options,
            resume,
            stop: &stop,
        };
        let found = doughnut(graph, &texts, estimator, &run)
            .map_err(|error| refused(&error, name, &self.stop))?;
        around.as_ref().map_or(Ok(()), FocusSurroundings::failure)?;
        let generation = snapshot.generation;
        let resume_token = found.resume.clone().map(|resume| {
            self.pinned.pin(&snapshot);
            ResumeToken::new(generation, text_basis, fingerprint, resume).to_string()
        });
        let rendered = rendered(*rendering, &view(&found, &texts));
        // It may be an earlier snapshot than that of the engine.
        texts.snapshot.check_truncation()?;
        Ok(RelatedAnswer { found, texts, resume_token, relations, rendered, warnings })
    }

    /// Returns true if a request may relate notes by their vectors, so that loading ones are worth waiting for.
    #[must_use]
    pub fn relates_by_meaning(&self, request: &RelatedRequest) -> bool {
        self.relation_set(request.relations) == RelationSet::Auto
    }

    /// Returns the relations that a request follows: the requested ones, else those of the settings.
    pub(crate) fn relation_set(&self, requested: Option<RelationSet>) -> RelationSet {
        requested.unwrap_or(self.related.relations)
    }

    /// Returns the snapshot of a generation, if it is the newest or pinned.
    fn snapshot_at(&self, requested: u64) -> Result<Arc<Snapshot>, EngineError> {
        let newest = self.snapshot();
        if newest.generation == requested {
            return Ok(newest);
        }
        self.pinned.get(requested).ok_or_else(|| self.stale(requested))
    }

    /// Returns the error of a token that belongs to generation `requested`.
    fn stale(&self, requested: u64) -> EngineError {
        EngineError::Stale { requested, newest: self.snapshot().generation }
    }
}

fn view<'s>(found: &Doughnut, texts: &'s FocusTexts) -> View<'s> {
    View::new(found, texts.snapshot.notes.graph(), texts)
}

fn rendered(rendering: Rendering, view: &View<'_>) -> Option<String> {
    match rendering {
        Rendering::None => None,
        Rendering::Markdown => Some(render::markdown(view)),
        Rendering::Xml => Some(render::xml(view)),
        Rendering::Json => Some(render::json(view)),
    }
}

fn within_bounds(budget: Budget) -> Result<(), EngineError> {
    let (field, tokens) = match budget {
        Budget::Related(tokens) => ("budget", tokens),
        Budget::Total(tokens) => ("total_budget", tokens),
    };
    if tokens <= MAX_BUDGET {
        return Ok(());
    }
    let (tokens, most) = (tokens.get(), MAX_BUDGET.get());
    let reason =
        format!("{tokens} tokens exceed the maximum of {most}; request more with the resume token");
    Err(EngineError::InvalidArgument { field, reason })
}

pub(crate) fn refused(error: &DoughnutError, name: &str, stop: &Stop) -> EngineError {
    match error {
        DoughnutError::UnknownFocus { focus: _ } => {
            EngineError::UnknownNote { name: name.to_owned(), suggestions: Vec::new() }
        }
        DoughnutError::TooManyPages { n_pages: _ } => {
            EngineError::InvalidArgument { field: "resume_token", reason: error.to_string() }
        }
        DoughnutError::Stopped => {
            stop.check().err().map_or(EngineError::DeadlineExceeded, EngineError::from)
        }
    }
}
