//! Topic siblings: notes that share a topic with a note, and the notes it is linked with.

use weft_graph::topics::{DEFAULT_SIBLING_FANOUT, Sibling, SiblingKind, SiblingRequest, siblings};
use weft_graph::walk::Direction;
use weft_model::Uri;

use crate::search::topics::ontology_around;
use crate::settings::TopicSettings;
use crate::{Engine, EngineError, Filter, NoteRef, Warning, resolve_note};

/// Requests topic siblings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SiblingsRequest {
    /// Any name that a link could use, or a title.
    pub note: String,
    /// Direction of the links to neighbors and topics.
    pub direction: Direction,
    /// Restricts the results. Topics that do not match still connect their siblings.
    pub filter: Filter,
    /// Maximum number of notes, 1 to 1,000.
    pub limit: usize,
}

/// Neighbors and topic siblings of a note.
#[derive(Clone, Debug, PartialEq)]
pub struct SiblingsAnswer {
    /// The note.
    pub note: NoteRef,
    /// By score, best first, then by uri.
    pub siblings: Vec<SiblingView>,
    /// True if there are more than requested.
    pub truncated: bool,
    /// The note and topics whose links were followed only up to the fan-out limit, by uri.
    pub fanout_limited: Vec<Uri>,
    /// Ambiguous names and filter conditions that no note matches.
    pub warnings: Vec<Warning>,
    /// Generation of the snapshot.
    pub generation: u64,
}

/// A neighbor or topic sibling.
#[derive(Clone, Debug, PartialEq)]
pub struct SiblingView {
    /// Uri of the note.
    pub uri: Uri,
    /// Path of the note.
    pub path: String,
    /// Title of the note.
    pub title: String,
    /// Score in `0.0..=1.0`.
    pub score: f64,
    /// Neighbor or sibling.
    pub kind: SiblingKind,
    /// The shared topic, which may be a placeholder; `None` for a neighbor.
    pub via: Option<Uri>,
}

/// Maximum number of notes per answer.
const MAX_LIMIT: usize = 1000;

impl Engine {
    /// Returns the notes linked with a note and those that share a topic with it.
    ///
    /// Fails on an unknown note, on a limit out of range, and on an invalid filter.
    pub fn siblings(&self, request: &SiblingsRequest) -> Result<SiblingsAnswer, EngineError> {
        let SiblingsRequest { note, direction, filter, limit } = request;
        if !(1..=MAX_LIMIT).contains(limit) {
            let reason = format!("{limit} is not between 1 and {MAX_LIMIT}");
            return Err(EngineError::InvalidArgument { field: "limit", reason });
        }
        let snapshot = self.snapshot();
        let (notes, graph) = (&snapshot.notes, snapshot.notes.graph());
        let mut warnings = Vec::new();
        let seed = resolve_note(&snapshot, note, &mut warnings)?;
        let passing = self.filter_matches(&snapshot, filter)?;
        warnings.extend_from_slice(passing.warnings(&snapshot, &self.stop)?);
        let TopicSettings { ontology_path, hub_min_degree, sibling_score, siblings_activate: _ } =
            &self.settings.topics;
        self.stop.check()?;
        let ontology = ontology_around(&snapshot, seed, ontology_path);
        let found = siblings(
            graph,
            &SiblingRequest {
                seed,
                direction: *direction,
                ontology: &ontology,
                hub_min_degree: *hub_min_degree,
                sibling_score: *sibling_score,
                notes: &passing.notes,
                max_fanout: DEFAULT_SIBLING_FANOUT,
            },
        );
        let view = |found: &Sibling| {
            let Sibling { note, score, kind, via } = *found;
            let summary = notes.summary(note)?;
            Some(SiblingView {
                uri: graph.uri(note).clone(),
                path: summary.path.to_owned(),
                title: summary.title.to_owned(),
                score,
                kind,
                via: via.map(|topic| graph.uri(topic).clone()),
            })
        };
        Ok(SiblingsAnswer {
            note: NoteRef { uri: graph.uri(seed).clone(), title: notes.title(seed).to_owned() },
            truncated: found.siblings.len() > *limit,
            siblings: found.siblings.iter().take(*limit).filter_map(view).collect(),
            fanout_limited: found.fanout_limited.iter().map(|id| graph.uri(*id).clone()).collect(),
            warnings,
            generation: snapshot.generation,
        })
    }
}
