//! Export of the graph as plain lists.

use weft_model::{LinkSource, Uri};

use crate::filter::NOTES_PER_CHECK;
use crate::notes::kind_and_tags;
use crate::{Engine, EngineError, Filter, Warning};

/// The graph of a snapshot: nodes by id, edges by their ends, type and source.
#[derive(Clone, Debug, PartialEq)]
pub struct Export {
    /// Notes that match the filter, and placeholders that they link to, by id.
    pub nodes: Vec<ExportNode>,
    /// Edges among the nodes, by `from`, `to`, `kind`, `source`.
    pub edges: Vec<ExportEdge>,
    /// Filter conditions that no note matches.
    pub warnings: Vec<Warning>,
    /// Generation of the snapshot.
    pub generation: u64,
}

/// A note or placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportNode {
    /// Uri of the node.
    pub id: Uri,
    /// Title of the note; for a placeholder, its name.
    pub title: String,
    /// Path of the note; `None` for a placeholder.
    pub path: Option<String>,
    /// Type of the note.
    pub note_type: Option<String>,
    /// Tags of the note.
    pub tags: Vec<String>,
    /// True if no file has this name.
    pub placeholder: bool,
}

/// A stored edge.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExportEdge {
    /// The linking note.
    pub from: Uri,
    /// The link target.
    pub to: Uri,
    /// Type of the edge.
    pub kind: String,
    /// Part of the note that contains the link.
    pub source: LinkSource,
}

impl Engine {
    /// Returns the whole graph, or the part that matches `filter` with the placeholders it links to.
    pub fn export(&self, filter: &Filter) -> Result<Export, EngineError> {
        let snapshot = self.snapshot();
        let passing = self.filter_matches(&snapshot, filter)?;
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
            // Keeps placeholders that a matching note links to.
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
            let path = notes.summary(id).map(|summary| summary.path.to_owned());
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
        let warnings = passing.warnings(&snapshot, &self.stop)?.to_vec();
        Ok(Export { nodes, edges, warnings, generation: snapshot.generation })
    }
}
