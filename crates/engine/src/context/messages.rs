//! What is asked of contexts, and what they answer.

use std::collections::BTreeMap;

use weft_accordion::{Bands, Budget, Item, LeftOut, Limits, Order, Rendering, Unit};
use weft_gars::Weights;
use weft_model::Value;

use crate::settings::Profile;
use crate::walk::TreeRequest;
use crate::{Filter, SearchMode, SearchRequest, Without};

/// Asks for a context from one or several sources: a query, a focus note, a walk, named notes.
///
/// A note that several sources bring counts with its highest score, between equal ones with the source that stands first in [`Source`].
/// A query alone ranks by its own scores; beside another source its best hit counts as a named note if it has 0.4 or more, and the others by their share of it, or of 0.4.
#[derive(Clone, Debug)]
pub struct ContextRequest {
    /// What is asked; empty for nothing. It finds notes, unless `notes` are named, and steers the snippets.
    pub query: String,
    /// How the query is searched.
    pub mode: SearchMode,
    /// What the signals of the search are made of; where it is not given, as the settings say.
    pub profile: Option<Profile>,
    /// What each signal counts; where it is not given, as the profile says.
    pub weights: Option<Weights>,
    /// Parts of the ranking that the search leaves out.
    pub without: Without,
    /// Whether a word that no note holds stands for words one edit away; where it is not given, as the settings say.
    pub typos: Option<bool>,
    /// The note that comes first, and around which related notes are looked for.
    pub focus: Option<FocusSource>,
    /// A walk whose notes are looked at, by their distance from the roots. What is told of it does not count.
    pub walk: Option<TreeRequest>,
    /// Notes that the caller names.
    pub notes: Vec<NamedNote>,
    /// Whether the query finds no notes of its own also where none is named.
    pub notes_only: bool,
    /// Which notes a source may bring. The focus note and the roots of a walk are exempt; a named or walked note that does not pass is left out.
    pub filter: Filter,
    /// Notes that the query, and the focus note, bring at most.
    pub limit: Option<usize>,
    /// What the context may cost, wrapper included.
    pub budget: Option<Budget>,
    /// How tokens are counted: a name of [`Estimators`](crate::Estimators).
    pub estimator: Option<String>,
    /// How much of each note is taken.
    pub limits: OwnLimits,
    /// How the context is written down.
    pub rendering: Rendering,
    /// In which order it is shown.
    pub order: Order,
}

impl ContextRequest {
    /// Whether notes are looked for by the query.
    pub(super) fn searches(&self) -> bool {
        self.notes.is_empty() && !self.notes_only && !self.query.trim().is_empty()
    }

    /// Whether they are also looked for by meaning.
    #[must_use]
    pub fn searches_by_meaning(&self) -> bool {
        self.searches() && self.mode != SearchMode::Keyword
    }

    /// The search for notes that answer the query, `limit` at most.
    pub(super) fn search(&self, limit: usize) -> SearchRequest {
        let Self { query, mode, profile, weights, without, typos, filter, .. } = self;
        SearchRequest {
            query: query.clone(),
            limit,
            mode: *mode,
            filter: filter.clone(),
            profile: *profile,
            weights: *weights,
            without: *without,
            typos: *typos,
            explain: false,
            // What is shown of a note is the accordion's to cut.
            snippets: Some(0),
        }
    }
}

/// A note in the middle of a context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FocusSource {
    /// Anything a link would resolve to.
    pub name: String,
    /// Whether notes whose bodies link to it are related notes, too.
    pub body_links: bool,
    /// Whether other notes with the same object are.
    pub sibling_of_target: bool,
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

/// The [`Limits`] of one question; those not given are as they are set.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OwnLimits {
    /// See [`Bands::full`].
    pub full: Option<f64>,
    /// See [`Bands::snippet`].
    pub snippet: Option<f64>,
    /// See [`Bands::structural`].
    pub structural: Option<f64>,
    /// See [`Limits::soft_ratio`].
    pub soft_ratio: Option<f64>,
    /// See [`Limits::block_chars`].
    pub block_chars: Option<u32>,
    /// See [`Limits::structural_cap`].
    pub structural_cap: Option<usize>,
    /// See [`Limits::outline_depth`].
    pub outline_depth: Option<u8>,
}

impl OwnLimits {
    /// These limits, and those of `set` for the rest.
    pub(super) fn over(self, set: &Limits) -> Limits {
        let Self {
            full,
            snippet,
            structural,
            soft_ratio,
            block_chars,
            structural_cap,
            outline_depth,
        } = self;
        let bands = &set.bands;
        Limits {
            bands: Bands {
                full: full.unwrap_or(bands.full),
                snippet: snippet.unwrap_or(bands.snippet),
                structural: structural.unwrap_or(bands.structural),
            },
            soft_ratio: soft_ratio.unwrap_or(set.soft_ratio),
            block_chars: block_chars.unwrap_or(set.block_chars),
            structural_cap: structural_cap.unwrap_or(set.structural_cap),
            outline_depth: outline_depth.unwrap_or(set.outline_depth),
            stop_words: set.stop_words.clone(),
        }
    }
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
    /// They are related to the focus note.
    Focus,
    /// A walk leads to them.
    Walk,
    /// A search finds them.
    Query,
}

impl Source {
    /// The name that answers use: the field of the request.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Notes => "notes",
            Self::Focus => "focus",
            Self::Walk => "walk",
            Self::Query => "query",
        }
    }
}
