//! Requests and answers of contexts.

use std::collections::BTreeMap;

use weft_accordion::{
    Bands, BudgetUnit, Citations, ContextBudget, ContextLimits, Item, OmittedNote, Order,
    PackingProfile, PassageReport, Rendering,
};
use weft_gars::Weights;
use weft_model::Value;

use crate::related::RelationSet;
use crate::settings::Profile;
use crate::walk::TreeWalkRequest;
use crate::{DisabledSignals, Filter, SearchMode, SearchRequest, Warning};

/// Requests a context from one or several sources: a query, a focus note, a walk, named notes.
///
/// A note from several sources counts with its highest score; of equal scores, the source that comes first in [`ContextSource`] counts.
/// A query alone ranks by its own scores. Beside another source, its best hit scores as a named note if its score is at least 0.4, and the other hits score in proportion to the greater of the best score and 0.4.
#[derive(Clone, Debug)]
pub struct ContextRequest {
    /// Query text; empty for none. It finds notes, unless `notes` are named, and selects the snippets.
    pub query: String,
    /// Retrievers of the query.
    pub mode: SearchMode,
    /// Ranking profile; `None` for the configured one.
    pub profile: Option<Profile>,
    /// Weight of each signal; `None` for those of the profile.
    pub weights: Option<Weights>,
    /// Signals that the search ignores.
    pub disabled_signals: DisabledSignals,
    /// True if a word that no note contains also matches words one edit away; `None` for the configured value.
    pub typo_tolerance: Option<bool>,
    /// True to rerank the best notes that the query finds, false not to; `None` to rerank if a reranker is configured.
    pub rerank: Option<bool>,
    /// The note that comes first, with its related notes.
    pub focus: Option<FocusSource>,
    /// A walk whose notes are candidates, scored by their distance from the roots. Its view options are ignored.
    pub walk: Option<TreeWalkRequest>,
    /// Notes named by the caller.
    pub notes: Vec<NamedNote>,
    /// True if the query finds no notes even if `notes` is empty.
    pub notes_only: bool,
    /// Restricts the notes of all sources. The focus note and the roots of a walk are exempt; a named or walked note that does not match is omitted.
    pub filter: Filter,
    /// Maximum number of notes from the query and from the focus note.
    pub limit: Option<usize>,
    /// Budget of the context, wrapper text included.
    pub budget: Option<ContextBudget>,
    /// Name of an estimator known to [`Estimators`](crate::Estimators); `None` for the default.
    pub estimator: Option<String>,
    /// Method of packing; `None` for the configured one.
    pub packing: Option<PackingProfile>,
    /// How a rendered context names its sources; `None` for the configured form.
    pub citations: Option<Citations>,
    /// True to report every passage that was considered.
    pub explain: bool,
    /// Overrides of the configured limits.
    pub limits: LimitOverrides,
    /// Format of the rendered text.
    pub rendering: Rendering,
    /// Order of the notes in the rendered text.
    pub order: Order,
}

impl ContextRequest {
    /// True if the query searches for notes.
    pub(super) fn searches(&self) -> bool {
        self.notes.is_empty() && !self.notes_only && !self.query.trim().is_empty()
    }

    /// True if the query searches with vectors.
    #[must_use]
    pub fn searches_by_meaning(&self) -> bool {
        self.searches() && self.mode != SearchMode::Keyword
    }

    /// Returns the search of the query, for at most `limit` notes.
    pub(super) fn search(&self, limit: usize) -> SearchRequest {
        let Self {
            query,
            mode,
            profile,
            weights,
            disabled_signals,
            typo_tolerance,
            rerank,
            filter,
            ..
        } = self;
        SearchRequest {
            query: query.clone(),
            limit,
            mode: *mode,
            filter: filter.clone(),
            profile: *profile,
            weights: *weights,
            disabled_signals: *disabled_signals,
            typo_tolerance: *typo_tolerance,
            prefix_last_word: false,
            rerank: *rerank,
            explain: false,
            // The accordion cuts the texts itself.
            snippets: Some(0),
        }
    }
}

/// The focus note of a context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FocusSource {
    /// Anything a link would resolve to.
    pub name: String,
    /// Relations; `None` for those of the settings.
    pub relations: Option<RelationSet>,
    /// True if links in bodies count as references to the focus note.
    pub body_links: bool,
    /// True if notes with the same object are related.
    pub sibling_of_target: bool,
}

/// A note named by the caller.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NamedNote {
    /// Anything a link would resolve to. A fragment restricts the text to that part; of several parts of one note, everything from the first to the last is included.
    pub name: String,
    /// Score, which must be finite. `None` for the score of `distance`, or else of a named note.
    pub score: Option<f64>,
    /// Distance from the start of the caller's walk: hops, or the level of a related note less one.
    pub distance: Option<usize>,
    /// Relation by which the caller found the note.
    pub relation: Option<String>,
    /// Note or path through which the caller found the note.
    pub via: Option<String>,
}

/// Overrides of [`ContextLimits`] for one request.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LimitOverrides {
    /// See [`Bands::full`].
    pub full: Option<f64>,
    /// See [`Bands::snippet`].
    pub snippet: Option<f64>,
    /// See [`Bands::structural`].
    pub structural: Option<f64>,
    /// See [`ContextLimits::per_note_share`].
    pub per_note_share: Option<f64>,
    /// See [`ContextLimits::block_chars`].
    pub block_chars: Option<u32>,
    /// See [`ContextLimits::structural_cap`].
    pub structural_cap: Option<usize>,
    /// See [`ContextLimits::outline_depth`].
    pub outline_depth: Option<u8>,
}

impl LimitOverrides {
    /// Returns the limits with these overrides of `set`.
    pub(super) fn over(self, set: &ContextLimits) -> ContextLimits {
        let Self {
            full,
            snippet,
            structural,
            per_note_share,
            block_chars,
            structural_cap,
            outline_depth,
        } = self;
        let bands = &set.bands;
        ContextLimits {
            bands: Bands {
                full: full.unwrap_or(bands.full),
                snippet: snippet.unwrap_or(bands.snippet),
                structural: structural.unwrap_or(bands.structural),
            },
            per_note_share: per_note_share.unwrap_or(set.per_note_share),
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
    /// The included notes, best first, ties by uri.
    pub items: Vec<ContextItem>,
    /// The omitted notes, in the same order.
    pub omitted: Vec<OmittedNote>,
    /// Rendered text and totals.
    pub summary: ContextSummary,
}

/// A note of a context.
#[derive(Clone, Debug, PartialEq)]
pub struct ContextItem {
    /// The included text and its cost.
    pub item: Item,
    /// The whole frontmatter, which is not part of the text.
    pub properties: BTreeMap<String, Value>,
}

/// The decision about one note.
#[derive(Clone, Debug, PartialEq)]
pub enum ContextPiece {
    /// The note is in the context.
    Item(Box<ContextItem>),
    /// The note is omitted.
    Omitted(OmittedNote),
}

/// Rendered text and totals of a context.
#[derive(Clone, Debug, PartialEq)]
pub struct ContextSummary {
    /// The context as one text; `None` unless requested.
    pub rendered: Option<String>,
    /// The given budget.
    pub budget: u64,
    /// The used part of the budget, wrapper text included.
    pub used: u64,
    /// The unused part of the budget.
    pub remaining: u64,
    /// Unit of the three numbers.
    pub unit: BudgetUnit,
    /// Unit of allowances, costs and carries of items.
    pub ledger_unit: BudgetUnit,
    /// Name of the estimator.
    pub estimator: String,
    /// Generation of the snapshot.
    pub generation: u64,
    /// Sources that had more notes than were considered.
    pub truncated_by: Vec<ContextSource>,
    /// Conditions that make the answer incomplete.
    pub warnings: Vec<Warning>,
    /// Method of packing that was used.
    pub packing: PackingProfile,
    /// Every passage that was considered, note by note; empty unless requested.
    pub passages: Vec<PassageReport>,
    /// Relations used around the focus note; `None` without one.
    pub relations: Option<RelationSet>,
}

/// Sources of a context's notes, in the order in which equal scores count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ContextSource {
    /// Named by the caller.
    Notes,
    /// Related to the focus note.
    Focus,
    /// Reached by a walk.
    Walk,
    /// Found by a search.
    Query,
}

impl ContextSource {
    /// Returns the name used in answers: the field of the request.
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
