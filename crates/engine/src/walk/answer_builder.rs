//! Conversion of ids to uris, titles and edges.

use std::collections::BTreeMap;

use weft_graph::walk::{EdgeRef, InverseNames, Side};
use weft_index::Snapshot;
use weft_index::notes::NoteEntry;
use weft_model::text::byte_of_char;
use weft_model::{NoteId, Uri};

use super::{ViewOptions, WalkEdge, WalkNode};
use crate::notes::kind_and_tags;

/// Converts ids of a snapshot to parts of an answer.
pub(super) struct AnswerBuilder<'s> {
    pub(super) snapshot: &'s Snapshot,
    pub(super) view: ViewOptions,
}

impl AnswerBuilder<'_> {
    pub(super) fn uri(&self, id: NoteId) -> Uri {
        self.snapshot.notes.graph().uri(id).clone()
    }

    pub(super) fn node(&self, id: NoteId, hop: Option<u32>) -> WalkNode {
        let notes = &self.snapshot.notes;
        let (note_type, tags) = kind_and_tags(notes, id);
        let entry = if self.view.summaries { notes.entry(id) } else { None };
        WalkNode {
            id: self.uri(id),
            title: notes.title(id).to_owned(),
            note_type,
            tags,
            path: notes.summary(id).map(|summary| summary.path.to_owned()).unwrap_or_default(),
            hop,
            summary: entry.and_then(|entry| summary(entry)),
        }
    }

    pub(super) fn edges(&self, edges: &[EdgeRef]) -> Vec<WalkEdge> {
        let edges = edges.iter().map(|EdgeRef { from, to, label }| WalkEdge {
            from: self.uri(*from),
            to: self.uri(*to),
            kind: label.kind(self.snapshot.notes.graph()).to_owned(),
            source: (*label).into(),
        });
        edges.collect()
    }

    /// Returns the inverse names of the types of `edges` that `table` contains, if requested.
    pub(super) fn inverse_names(
        &self,
        table: &BTreeMap<String, String>,
        edges: &[EdgeRef],
    ) -> BTreeMap<String, String> {
        if !self.view.inverse_names {
            return BTreeMap::new();
        }
        let table = InverseNames::new(table.clone());
        let kinds = edges.iter().map(|edge| edge.label.kind(self.snapshot.notes.graph()));
        kinds
            .filter_map(|kind| {
                let back = table.of(kind, Side::Incoming)?;
                Some((kind.to_owned(), back.to_owned()))
            })
            .collect()
    }
}

/// Properties with the summary of a note; the first present one counts.
const SUMMARY_PROPERTIES: [&str; 2] = ["summary", "description"];

/// Maximum number of characters of a summary taken from the text.
const SUMMARY_CHARS: usize = 200;

/// Returns the summary property of a note, else the start of its first paragraph; `None` for a note without words.
fn summary(entry: &NoteEntry) -> Option<String> {
    let property = SUMMARY_PROPERTIES
        .iter()
        .find_map(|name| entry.note.properties.get(*name)?.as_written())
        .map(str::trim)
        .filter(|text| !text.is_empty());
    if let Some(property) = property {
        return Some(property.to_owned());
    }
    let body: &str = &entry.body;
    let mut start = 0;
    for heading in &entry.note.headings {
        let heading = heading.span.bytes(body);
        if !body[start..heading.start.max(start)].trim().is_empty() {
            break;
        }
        start = heading.end;
    }
    let lines = body[start..].lines().map(str::trim).skip_while(|line| line.is_empty());
    let paragraph: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    let text = paragraph.join(" ");
    match byte_of_char(&text, SUMMARY_CHARS) {
        0 => None,
        end if end == text.len() => Some(text),
        end => Some(format!("{}…", text[..end].trim_end())),
    }
}
