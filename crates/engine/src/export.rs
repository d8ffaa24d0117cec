//! The whole graph as plain lists.

use weft_model::{LinkSource, Uri};

use crate::filter::NOTES_PER_CHECK;
use crate::notes::kind_and_tags;
use crate::{Engine, EngineError, Filter};

/// The graph of a snapshot: nodes by id, edges by their ends, type and source.
#[derive(Clone, Debug, PartialEq)]
pub struct Export {
    /// Notes that pass the filter and placeholders that they name, by id.
    pub nodes: Vec<ExportNode>,
    /// Edges among the nodes, by `from`, `to`, `kind`, `source`.
    pub edges: Vec<ExportEdge>,
    /// What no note has of that the filter asks for.
    pub degraded: Vec<String>,
    /// The snapshot's generation.
    pub generation: u64,
}

/// A note or placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportNode {
    /// Its uri.
    pub id: Uri,
    /// Its title; a placeholder's is its name.
    pub title: String,
    /// Its path; nothing for a placeholder.
    pub path: Option<String>,
    /// Its `type`.
    pub note_type: Option<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// Whether no file answers to it.
    pub placeholder: bool,
}

/// A stored edge.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExportEdge {
    /// The linking note.
    pub from: Uri,
    /// What it links to.
    pub to: Uri,
    /// The edge's type.
    pub kind: String,
    /// Where it was written.
    pub source: LinkSource,
}

impl Engine {
    /// The whole graph, or the part of it that `filter` lets through with the placeholders it names.
    pub fn export(&self, filter: &Filter) -> Result<Export, EngineError> {
        let snapshot = self.snapshot();
        let passing = self.passing(&snapshot, filter)?;
        let (notes, graph) = (&snapshot.notes, snapshot.notes.graph());
        let kept = |id| {
            passing.notes.contains(id)
                || graph.is_placeholder(id)
                    && graph.inbound(id).iter().any(|half| passing.notes.contains(half.other))
        };
        let mut ids = Vec::new();
        for (at, id) in graph.ids().enumerate() {
            if at % NOTES_PER_CHECK == 0 {
                self.stop.check()?;
            }
            if kept(id) {
                ids.push(id);
            }
        }
        let mut edges: Vec<ExportEdge> = ids
            .iter()
            .flat_map(|from| graph.outgoing(*from).iter().map(move |half| (*from, half)))
            // A placeholder that a passing note names is kept.
            .filter(|(from, half)| {
                let other = half.other;
                passing.notes.contains(other)
                    || graph.is_placeholder(other) && passing.notes.contains(*from)
            })
            .map(|(from, half)| ExportEdge {
                from: graph.uri(from).clone(),
                to: graph.uri(half.other).clone(),
                kind: graph.kind(half.kind).to_owned(),
                source: half.source,
            })
            .collect();
        self.stop.check()?;
        edges.sort_unstable();
        self.stop.check()?;
        let mut nodes = Vec::with_capacity(ids.len());
        for (at, id) in ids.into_iter().enumerate() {
            if at % NOTES_PER_CHECK == 0 {
                self.stop.check()?;
            }
            let path = notes.card(id).map(|card| card.path.to_owned());
            let (note_type, tags) = kind_and_tags(notes, id);
            let (id, title) = (graph.uri(id).clone(), notes.title(id).to_owned());
            nodes.push(ExportNode {
                id,
                title,
                placeholder: path.is_none(),
                path,
                note_type,
                tags,
            });
        }
        nodes.sort_unstable_by(|a, b| a.id.cmp(&b.id));
        let degraded = passing.unmet(&snapshot, &self.stop)?.to_vec();
        Ok(Export { nodes, edges, degraded, generation: snapshot.generation })
    }
}
