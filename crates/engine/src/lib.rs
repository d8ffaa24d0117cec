//! The query engine: one method per kind of request, in domain types.
//!
//! An [`Engine`] answers each request from one snapshot: it takes the newest one at the start and keeps it to the end, so the text, scores and links of an answer belong to the same generation.
//! The crate is synchronous and pure, except for embedding the query and reranking.
#![forbid(unsafe_code)]

mod analyzer_pool;
mod best_first;
pub mod context;
mod diff;
mod error;
mod estimators;
mod export;
mod facet_counts;
mod filter;
mod focus_surroundings;
mod generation_cache;
pub mod hygiene;
mod nearest_by_words;
mod note_place;
mod notes;
mod page_token;
mod pinned_snapshots;
mod related;
mod resume_token;
mod search;
mod settings;
mod siblings;
mod snippet;
mod snippet_bounds;
pub mod walk;
mod warning;

use std::sync::Arc;

use weft_graph::centrality::Centrality;
use weft_index::notes::{NoteEntry, Resolution};
use weft_index::reranker::{Reranker, RerankerIdentity};
use weft_index::{Reader, Snapshot};
use weft_model::fragment::{self, NamedPart};
use weft_model::{Note, NoteId, Span, Stop};

use analyzer_pool::AnalyzerPool;
use context::ContextSettings;
use generation_cache::GenerationCache;
use hygiene::HygieneCache;
use pinned_snapshots::PinnedSnapshots;
use search::Reranking;

pub use diff::{Diff, LinkChange, LinkChangeKind, NoteChange, NoteChangeKind, NoteName, NotePart};
pub use error::EngineError;
pub use estimators::Estimators;
pub use export::{Export, ExportEdge, ExportNode};
pub use facet_counts::{FacetCount, FacetsAnswer, FacetsRequest};
pub use filter::{Comparison, Filter, PropertyMatch};
use filter::{FilterCache, filter_cache};
pub use note_place::{PlaceAnswer, PlaceRequest};
pub use notes::{
    ListAnswer, ListRequest, ListedNote, NoteAnswer, NoteLink, NoteRef, NoteRequest, ResolveAnswer,
    ResolveRequest,
};
pub use related::{FocusTexts, RelatedAnswer, RelatedRequest, RelatedSettings, RelationSet};
pub use search::{
    Calibration, Connection, DisabledSignals, ExplainedCandidate, ExplainedReranking,
    ExplainedSeed, ExplainedWord, Explanation, Hit, MissReason, Origin, RawSignals, SearchAnswer,
    SearchMode, SearchRequest, Via, WhyNotAnswer, WhyNotRequest,
};
pub use settings::{
    Activation, BridgeSettings, ClassicSettings, EngineSettings, MAX_SNIPPETS, Profile,
    RerankSettings, TopicSettings,
};
pub use siblings::{SiblingView, SiblingsAnswer, SiblingsRequest};
pub use snippet::Snippet;
pub use walk::WalkSettings;
pub use warning::{Warning, WarningCode};
pub use weft_accordion::Rendering;
pub use weft_gars::{ScoreWeights, Signals, Weights};
pub use weft_graph::doughnut;
pub use weft_graph::topics::SiblingKind;

/// Answers requests over the newest snapshot. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    reader: Reader,
    settings: EngineSettings,
    related: RelatedSettings,
    pinned: Arc<PinnedSnapshots>,
    contexts: ContextSettings,
    estimators: Estimators,
    walk: WalkSettings,
    centrality: Arc<GenerationCache<(), Centrality>>,
    filter_cache: Arc<FilterCache>,
    hygiene: HygieneCache,
    analyzers: AnalyzerPool,
    /// Why vectors are unavailable although they are configured.
    no_model: Option<Arc<str>>,
    reranking: Option<Arc<Reranking>>,
    stop: Stop,
}

impl Engine {
    /// Creates an engine over the snapshots of `reader`. Without vectors it answers from the keyword index and links.
    #[must_use]
    pub fn new(reader: Reader, settings: EngineSettings) -> Self {
        let related = RelatedSettings::default();
        let pinned = Arc::new(PinnedSnapshots::new(related.pinned_generations));
        let (contexts, estimators) = (ContextSettings::default(), Estimators::default());
        let walk = WalkSettings::default();
        Self {
            reader,
            settings,
            related,
            pinned,
            contexts,
            estimators,
            walk,
            centrality: Arc::new(GenerationCache::new(1)),
            filter_cache: Arc::new(filter_cache()),
            hygiene: HygieneCache::default(),
            analyzers: AnalyzerPool::default(),
            no_model: None,
            reranking: None,
            stop: Stop::default(),
        }
    }

    /// Replaces the settings for related notes.
    #[must_use]
    pub fn with_related(self, related: RelatedSettings) -> Self {
        let pinned = Arc::new(PinnedSnapshots::new(related.pinned_generations));
        Self { related, pinned, ..self }
    }

    /// Replaces the settings for contexts.
    #[must_use]
    pub fn with_contexts(self, contexts: ContextSettings) -> Self {
        Self { contexts, ..self }
    }

    /// Replaces the token estimators.
    #[must_use]
    pub fn with_estimators(self, estimators: Estimators) -> Self {
        Self { estimators, ..self }
    }

    /// Marks the configured embedding model as unavailable: searches that would use it warn with the reason `why`.
    #[must_use]
    pub fn without_model(self, why: &str) -> Self {
        Self { no_model: Some(why.into()), ..self }
    }

    /// Reranks the best candidates of searches with `reranker`; if it is the reason why a configured one cannot be used, searches warn with it.
    #[must_use]
    pub fn with_reranker(
        self,
        reranker: Result<Arc<dyn Reranker>, String>,
        settings: RerankSettings,
    ) -> Self {
        Self { reranking: Some(Arc::new(Reranking { reranker, settings })), ..self }
    }

    /// Returns the reranker; `None` without one.
    #[must_use]
    pub fn reranker(&self) -> Option<&RerankerIdentity> {
        Some(self.reranking.as_ref()?.reranker.as_ref().ok()?.identity())
    }

    /// Replaces the limits of walks.
    #[must_use]
    pub fn with_walk(self, walk: WalkSettings) -> Self {
        Self { walk, ..self }
    }

    /// Returns an engine that respects `stop`: it skips stages when the deadline is near, and fails when it has passed.
    #[must_use]
    pub fn until(&self, stop: Stop) -> Self {
        Self { stop, ..self.clone() }
    }

    /// Returns an engine over one fixed `snapshot`, which must belong to the index of this engine.
    #[must_use]
    pub fn over(&self, snapshot: Arc<Snapshot>) -> Self {
        Self { reader: Reader::of(snapshot), ..self.clone() }
    }

    /// Returns an engine over the newest snapshot only, so that all parts of an answer see one generation.
    fn pinned(&self) -> Self {
        self.over(self.reader.snapshot())
    }

    /// Returns the newest snapshot, for requests that must see the same generation.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.reader.snapshot()
    }
}

/// Maximum number of other matches that an ambiguity warning names.
const MAX_NAMED_MATCHES: usize = 5;

/// Resolves `name` as [`note_by_name`] does, and adds a warning if the name is ambiguous or names a part that does not exist.
fn resolve_note(
    snapshot: &Snapshot,
    name: &str,
    warnings: &mut Vec<Warning>,
) -> Result<NoteId, EngineError> {
    resolve_part(snapshot, name, warnings).map(|(note, _)| note)
}

/// Resolves `name` to a note and the part of its body that a fragment names; `None` for the whole body.
fn resolve_part(
    snapshot: &Snapshot,
    name: &str,
    warnings: &mut Vec<Warning>,
) -> Result<(NoteId, Option<Span>), EngineError> {
    let (found, fragment) = snapshot.notes.find_part(name);
    warnings.extend(ambiguity(snapshot, name, &found));
    let note = found.note.ok_or_else(|| unknown(snapshot, name))?;
    Ok((note, named_part(snapshot, note, fragment.as_deref(), warnings)))
}

/// Returns the part of a note that `fragment` names; `None`, with a warning, if the note has no such part.
fn named_part(
    snapshot: &Snapshot,
    note: NoteId,
    fragment: Option<&str>,
    warnings: &mut Vec<Warning>,
) -> Option<Span> {
    match section(snapshot, note, fragment?, warnings) {
        Ok(span) => Some(span),
        Err(error) => {
            let message = format!("{error}; the whole note was used");
            warnings.push(Warning::new(WarningCode::UnknownFragment, message));
            None
        }
    }
}

/// Returns the first parts of a note that could have been named by `fragment`: its blocks or its headings.
fn known_parts(entry: &NoteEntry, fragment: &str) -> Vec<String> {
    let Note { headings, blocks, .. } = &entry.note;
    if fragment::names_block(fragment) {
        let blocks = blocks.iter().take(MAX_NAMED_MATCHES);
        blocks.map(|block| format!("^{}", block.id)).collect()
    } else {
        let headings = headings.iter().take(MAX_NAMED_MATCHES);
        headings.map(|heading| heading.text.clone()).collect()
    }
}

/// Returns the part of a note that `fragment` names, and adds a warning if several headings match.
fn section(
    snapshot: &Snapshot,
    note: NoteId,
    fragment: &str,
    warnings: &mut Vec<Warning>,
) -> Result<Span, EngineError> {
    let entry = snapshot.notes.entry(note);
    let uri = snapshot.notes.graph().uri(note);
    let Some(NamedPart { span, others }) = entry.and_then(|entry| entry.section(fragment)) else {
        let parts = entry.map_or_else(Vec::new, |entry| known_parts(entry, fragment));
        let (uri, fragment) = (uri.clone(), fragment.to_owned());
        return Err(EngineError::UnknownFragment { uri, fragment, parts });
    };
    if !others.is_empty() {
        let named = others.iter().take(MAX_NAMED_MATCHES);
        let named: Vec<String> = named.map(|anchor| format!("`{uri}#{anchor}`")).collect();
        let message = format!(
            "`{fragment}` is the text of {} headings of `{uri}`: the first was used, not {}",
            others.len() + 1,
            named.join(", ")
        );
        warnings.push(Warning::new(WarningCode::AmbiguousName, message));
    }
    Ok(span)
}

/// Returns a warning if several notes match `name`.
fn ambiguity(snapshot: &Snapshot, name: &str, found: &Resolution) -> Option<Warning> {
    let (chosen, others) = found.candidates.split_first()?;
    let uri = |id: &NoteId| format!("`{}`", snapshot.notes.graph().uri(*id));
    let named: Vec<String> = others.iter().take(MAX_NAMED_MATCHES).map(uri).collect();
    let more = match others.len() - named.len() {
        0 if named.is_empty() => return None,
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let message =
        format!("`{name}` is ambiguous: {} was used, not {}{more}", uri(chosen), named.join(", "));
    Some(Warning::new(WarningCode::AmbiguousName, message))
}

/// Resolves `name` to a note: a uri, `vault:uri`, a path, anything a link would resolve to, or a title.
fn note_by_name(snapshot: &Snapshot, name: &str) -> Result<NoteId, EngineError> {
    snapshot.notes.find(name).note.ok_or_else(|| unknown(snapshot, name))
}

fn unknown(snapshot: &Snapshot, name: &str) -> EngineError {
    EngineError::UnknownNote {
        name: name.to_owned(),
        suggestions: snapshot.notes.near_matches(name),
    }
}
