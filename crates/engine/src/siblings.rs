//! Topic siblings: notes that share a topic with one note, beside those it is linked with.

use weft_graph::topics::{DEFAULT_SIBLING_FANOUT, Nearness, Sibling, SiblingRequest, siblings};
use weft_graph::walk::Direction;
use weft_model::Uri;

use crate::search::topics::ontology_around;
use crate::settings::TopicSettings;
use crate::{Engine, EngineError, Filter, NoteRef, note_meant};

/// A question for topic siblings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SiblingsRequest {
    /// The note, by any name a link could use, or a title.
    pub note: String,
    /// Which of its links lead to neighbours and topics.
    pub direction: Direction,
    /// Which notes may be results; topics join their siblings either way.
    pub filter: Filter,
    /// Notes at most, 1 to 1,000.
    pub limit: usize,
}

/// The notes near a note.
#[derive(Clone, Debug, PartialEq)]
pub struct SiblingsAnswer {
    /// The note.
    pub note: NoteRef,
    /// By score, best first, then by uri.
    pub siblings: Vec<SiblingView>,
    /// Whether there are more than asked for.
    pub truncated: bool,
    /// Whose neighbours the fan-out kept back, by uri: the note, topics, or both.
    pub capped: Vec<Uri>,
    /// Names that several notes answer to, and parts of the filter that no note has.
    pub degraded: Vec<String>,
    /// The snapshot's generation.
    pub generation: u64,
}

/// A note near another.
#[derive(Clone, Debug, PartialEq)]
pub struct SiblingView {
    /// Its uri.
    pub uri: Uri,
    /// Its path.
    pub path: String,
    /// Its title.
    pub title: String,
    /// In `0.0..=1.0`.
    pub score: f64,
    /// How it is near.
    pub kind: Nearness,
    /// The topic that both link to, which may be a placeholder; nothing for a neighbour.
    pub via: Option<Uri>,
}

/// Notes of one answer at most.
const MAX_LIMIT: usize = 1000;

impl Engine {
    /// The notes that a note is linked with, and those that share a topic with it.
    ///
    /// Fails on an unknown note, on a limit out of range, and on a filter that cannot be read.
    pub fn siblings(&self, request: &SiblingsRequest) -> Result<SiblingsAnswer, EngineError> {
        let SiblingsRequest { note, direction, filter, limit } = request;
        if !(1..=MAX_LIMIT).contains(limit) {
            let reason = format!("{limit} is not between 1 and {MAX_LIMIT}");
            return Err(EngineError::InvalidArgument { field: "limit", reason });
        }
        let snapshot = self.snapshot();
        let (notes, graph) = (&snapshot.notes, snapshot.notes.graph());
        let mut degraded = Vec::new();
        let seed = note_meant(&snapshot, note, &mut degraded)?;
        let passing = self.passing(&snapshot, filter)?;
        degraded.extend_from_slice(passing.unmet(&snapshot, &self.stop)?);
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
            let card = notes.card(note)?;
            Some(SiblingView {
                uri: graph.uri(note).clone(),
                path: card.path.to_owned(),
                title: card.title.to_owned(),
                score,
                kind,
                via: via.map(|topic| graph.uri(topic).clone()),
            })
        };
        Ok(SiblingsAnswer {
            note: NoteRef { uri: graph.uri(seed).clone(), title: notes.title(seed).to_owned() },
            truncated: found.siblings.len() > *limit,
            siblings: found.siblings.iter().take(*limit).filter_map(view).collect(),
            capped: found.capped.iter().map(|id| graph.uri(*id).clone()).collect(),
            degraded,
            generation: snapshot.generation,
        })
    }
}
