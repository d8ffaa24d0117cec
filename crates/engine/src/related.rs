//! Related notes: what is most worth reading around one note, within a budget.

use std::num::NonZeroUsize;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weft_accordion::Rendering;
use weft_graph::doughnut::{
    Budget, Doughnut, DoughnutError, Options, Request, View, doughnut, render,
};
use weft_index::Snapshot;
use weft_model::settings::Problems;
use weft_model::{Stop, Tokens};

use crate::resume::{ResumeToken, question};
use crate::{Engine, EngineError, Filter, note_meant};

/// The most tokens of one page; a resume token goes on from there.
pub(crate) const MAX_BUDGET: Tokens = Tokens::new(1_000_000);

/// How related notes are found. `config/default.toml` repeats the defaults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RelatedSettings {
    /// Notes too large for what is left after which a page ends.
    pub max_skips: NonZeroUsize,
    /// Generations kept for runs over several pages, besides the newest; 0 to 64.
    ///
    /// Each keeps in memory what later generations have replaced of notes and words.
    pub held_generations: usize,
}

impl Default for RelatedSettings {
    fn default() -> Self {
        Self { max_skips: Options::default().max_skips, held_generations: 4 }
    }
}

impl RelatedSettings {
    /// What of it cannot be used.
    #[must_use]
    pub fn problems(&self) -> Problems {
        let Self { max_skips: _, held_generations } = *self;
        let mut problems = Problems::default();
        problems.within("held_generations", held_generations, 0..=64);
        problems
    }
}

/// Asks for the notes around one note.
#[derive(Clone, Debug)]
pub struct RelatedRequest {
    /// The note in the middle, by any name a link could use, or a title.
    pub focus: String,
    /// What one page may cost, at most 1,000,000 tokens.
    pub budget: Budget,
    /// How tokens are counted: a name that [`Estimators`](crate::Estimators) know; nothing for their default.
    pub estimator: Option<String>,
    /// Which notes there are; the focus note, its parent, object and path stay.
    pub filter: Filter,
    /// Whether links in bodies make referring notes.
    pub body_links: bool,
    /// Whether other notes with the same object are related.
    pub sibling_of_target: bool,
    /// Where an earlier page left off; empty for the first. All but the budget and the rendering stay as they were then.
    pub resume_token: String,
    /// In which form the answer is written as one text.
    pub rendering: Rendering,
}

/// The focus note and what surrounds it, of one snapshot.
#[derive(Clone)]
pub struct RelatedAnswer {
    /// What was found, in ids of [`snapshot`](Self::snapshot).
    pub found: Doughnut,
    /// The snapshot it was found in: that of the first page.
    pub snapshot: Arc<Snapshot>,
    /// Asks for the next page; nothing on the last.
    pub resume_token: Option<String>,
    /// The answer as one text, if one was asked for.
    pub rendered: Option<String>,
    /// That several notes answer to the name, and parts of the filter that no note has.
    pub degraded: Vec<String>,
}

impl RelatedAnswer {
    /// What was found, with its texts.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        view(&self.found, &self.snapshot)
    }
}

impl Engine {
    /// The state of a note and the notes most worth reading around it, best first, within a budget.
    ///
    /// Deterministic. Pages that follow one another by their tokens are one run over the snapshot of the first.
    ///
    /// Fails on an unknown note, estimator or token, on a token of another question, and on one whose snapshot is gone.
    pub fn related(&self, request: &RelatedRequest) -> Result<RelatedAnswer, EngineError> {
        let RelatedRequest {
            focus: name,
            budget,
            estimator: estimator_name,
            filter,
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
        let mut degraded = Vec::new();
        let focus = note_meant(&snapshot, name, &mut degraded)?;
        let passing = self.passing(&snapshot, filter)?;
        degraded.extend_from_slice(passing.unmet(&snapshot, &self.stop)?);
        let options = Options {
            max_skips: self.related.max_skips,
            body_links: *body_links,
            sibling_of_target: *sibling_of_target,
        };
        let (notes, graph) = (&snapshot.notes, snapshot.notes.graph());
        // The generations of another store are others, though they bear the same numbers.
        let state = notes.total().digest;
        let question = question(&(graph.uri(focus), filter, options, estimator_name, state));
        let stop = || self.stop.check().is_err();
        let run = Request {
            focus,
            budget: *budget,
            filter: &passing.notes,
            options,
            resume: token.as_ref().map(|token| token.of(question)).transpose()?,
            stop: &stop,
        };
        let found = doughnut(graph, notes, estimator, &run)
            .map_err(|error| refused(&error, name, &self.stop))?;
        let generation = snapshot.generation;
        let resume_token = found.resume.clone().map(|resume| {
            self.held.keep(&snapshot);
            ResumeToken::new(generation, question, resume).to_string()
        });
        let rendered = rendered(*rendering, &view(&found, &snapshot));
        Ok(RelatedAnswer { found, snapshot, resume_token, rendered, degraded })
    }

    /// The snapshot of a generation, if it is the newest or held for runs like this.
    fn snapshot_at(&self, asked: u64) -> Result<Arc<Snapshot>, EngineError> {
        let newest = self.snapshot();
        if newest.generation == asked {
            return Ok(newest);
        }
        self.held.at(asked).ok_or(EngineError::Stale { asked, newest: newest.generation })
    }
}

fn view<'s>(found: &Doughnut, snapshot: &'s Snapshot) -> View<'s> {
    View::new(found, snapshot.notes.graph(), &snapshot.notes)
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
        Budget::Window(tokens) => ("window", tokens),
    };
    if tokens <= MAX_BUDGET {
        return Ok(());
    }
    let (tokens, most) = (tokens.get(), MAX_BUDGET.get());
    let reason =
        format!("{tokens} tokens are more than {most}; go on after them with the resume token");
    Err(EngineError::InvalidArgument { field, reason })
}

pub(crate) fn refused(error: &DoughnutError, name: &str, stop: &Stop) -> EngineError {
    match error {
        DoughnutError::UnknownFocus { focus: _ } => {
            EngineError::UnknownNote { name: name.to_owned(), near: Vec::new() }
        }
        DoughnutError::TooManyPages { n_pages: _ } => {
            EngineError::InvalidArgument { field: "resume_token", reason: error.to_string() }
        }
        DoughnutError::Stopped => {
            stop.check().err().map_or(EngineError::DeadlineExceeded, EngineError::from)
        }
    }
}
