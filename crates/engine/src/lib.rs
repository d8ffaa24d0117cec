//! One function per question, in domain types.
//!
//! An [`Engine`] answers from one snapshot at a time: it takes the newest at the start of a request and keeps it to the end, so text, scores and links of one answer come from the same moment.
//! Everything here is synchronous and pure but for the embedding of the query.
#![forbid(unsafe_code)]

mod analyzers;
mod central;
pub mod context;
mod date;
mod diff;
mod error;
mod estimators;
mod export;
mod filter;
mod held;
mod notes;
mod page;
mod related;
mod resume;
mod search;
mod settings;
mod siblings;
mod snippet;
pub mod walk;

use std::sync::Arc;

use weft_index::notes::Resolution;
use weft_index::{Reader, Snapshot};
use weft_model::{NoteId, Stop};

use analyzers::Analyzers;
use context::ContextSettings;
use held::Held;

use central::Central;
pub use diff::{Diff, LinkChange, LinkChangeKind, NoteChange, NoteChangeKind, NoteName, NotePart};
pub use error::EngineError;
pub use estimators::Estimators;
pub use export::{Export, ExportEdge, ExportNode};
use filter::Passings;
pub use filter::{Comparison, Filter, PropertyMatch};
pub use notes::{
    LinkView, ListAnswer, ListRequest, NoteAnswer, NoteRef, NoteRequest, NoteSummary,
    ResolveAnswer, ResolveRequest,
};
pub use related::{RelatedAnswer, RelatedRequest, RelatedSettings};
pub use search::{
    Connection, ExplainedCandidate, ExplainedSeed, ExplainedWord, Explanation, Hit, Loss,
    MAX_SNIPPETS, Origin, Raw, SearchAnswer, SearchMode, SearchRequest, Via, WhyNotAnswer,
    WhyNotRequest, Without,
};
pub use settings::{
    Activation, BridgeSettings, ClassicSettings, EngineSettings, Profile, TopicSettings,
};
pub use siblings::{SiblingView, SiblingsAnswer, SiblingsRequest};
pub use snippet::Snippet;
pub use walk::WalkSettings;
pub use weft_accordion::Rendering;
pub use weft_gars::{Signals, Weights};
pub use weft_graph::doughnut;
pub use weft_graph::topics::Nearness;

/// Answers questions over the newest snapshot. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    reader: Reader,
    settings: EngineSettings,
    related: RelatedSettings,
    held: Arc<Held>,
    contexts: ContextSettings,
    estimators: Estimators,
    walk: WalkSettings,
    centrality: Arc<Central>,
    passings: Arc<Passings>,
    analyzers: Analyzers,
    /// Why there are no vectors although they are wanted.
    no_model: Option<Arc<str>>,
    stop: Stop,
}

impl Engine {
    /// An engine over what `reader` gives out; where that has no vectors it answers by words and links.
    #[must_use]
    pub fn new(reader: Reader, settings: EngineSettings) -> Self {
        let related = RelatedSettings::default();
        let held = Arc::new(Held::new(related.held_generations));
        let (contexts, estimators) = (ContextSettings::default(), Estimators::default());
        let walk = WalkSettings::default();
        Self {
            reader,
            settings,
            related,
            held,
            contexts,
            estimators,
            walk,
            centrality: Arc::default(),
            passings: Arc::default(),
            analyzers: Analyzers::default(),
            no_model: None,
            stop: Stop::default(),
        }
    }

    /// The same with these settings for related notes.
    #[must_use]
    pub fn with_related(self, related: RelatedSettings) -> Self {
        let held = Arc::new(Held::new(related.held_generations));
        Self { related, held, ..self }
    }

    /// The same with these settings for contexts.
    #[must_use]
    pub fn with_contexts(self, contexts: ContextSettings) -> Self {
        Self { contexts, ..self }
    }

    /// The same with these ways to count tokens.
    #[must_use]
    pub fn with_estimators(self, estimators: Estimators) -> Self {
        Self { estimators, ..self }
    }

    /// The same without the model that vectors were to come from: searches that would use it say `why` not.
    #[must_use]
    pub fn without_model(self, why: &str) -> Self {
        Self { no_model: Some(why.into()), ..self }
    }

    /// The same with these bounds on walks.
    #[must_use]
    pub fn with_walk(self, walk: WalkSettings) -> Self {
        Self { walk, ..self }
    }

    /// The same, whose answers end when `stop` says so: with less in them when the time is near, with an error when it is over.
    #[must_use]
    pub fn until(&self, stop: Stop) -> Self {
        Self { stop, ..self.clone() }
    }

    /// The same over one snapshot alone, whatever is published later. It comes from the index that this engine answers from.
    #[must_use]
    pub fn over(&self, snapshot: Arc<Snapshot>) -> Self {
        Self { reader: Reader::of(snapshot), ..self.clone() }
    }

    /// The same over the newest snapshot alone, so that questions asked on the way to one answer see one moment.
    fn pinned(&self) -> Self {
        self.over(self.reader.snapshot())
    }

    /// The newest snapshot, for questions that belong together.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.reader.snapshot()
    }
}

/// Notes that are named of those that answer to a name and are not meant.
const OTHERS_NAMED: usize = 5;

/// The note that [`note_named`] finds, with a line for `told` where several notes answer to the name.
fn note_meant(
    snapshot: &Snapshot,
    name: &str,
    told: &mut Vec<String>,
) -> Result<NoteId, EngineError> {
    let found = snapshot.notes.find(name);
    told.extend(ambiguity(snapshot, name, &found));
    found.note.ok_or_else(|| unknown(snapshot, name))
}

/// What is said of a name that several notes answer to.
fn ambiguity(snapshot: &Snapshot, name: &str, found: &Resolution) -> Option<String> {
    let (meant, others) = found.candidates.split_first()?;
    let uri = |id: &NoteId| format!("`{}`", snapshot.notes.graph().uri(*id));
    let named: Vec<String> = others.iter().take(OTHERS_NAMED).map(uri).collect();
    let more = match others.len() - named.len() {
        0 if named.is_empty() => return None,
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "name: several notes answer to `{name}`; {} is meant, and not {}{more}",
        uri(meant),
        named.join(", ")
    ))
}

/// The note that `name` means: a uri, `vault:uri`, a path, anything a link would resolve to, or a title.
fn note_named(snapshot: &Snapshot, name: &str) -> Result<NoteId, EngineError> {
    snapshot.notes.find(name).note.ok_or_else(|| unknown(snapshot, name))
}

fn unknown(snapshot: &Snapshot, name: &str) -> EngineError {
    EngineError::UnknownNote { name: name.to_owned(), near: snapshot.notes.near_matches(name) }
}
