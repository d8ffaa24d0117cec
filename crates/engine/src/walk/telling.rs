//! Ids into words.

use std::collections::BTreeMap;

use weft_graph::walk::{EdgeRef, InverseNames, Side};
use weft_index::Snapshot;
use weft_index::notes::NoteEntry;
use weft_model::text::byte_of_char;
use weft_model::{NoteId, Uri};

use super::{View, WalkEdge, WalkNode};
use crate::notes::kind_and_tags;

/// Puts ids into words.
pub(super) struct Telling<'s> {
    pub(super) snapshot: &'s Snapshot,
    pub(super) view: View,
}

impl Telling<'_> {
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
            path: notes.card(id).map(|card| card.path.to_owned()).unwrap_or_default(),
            hop,
            summary: entry.and_then(|entry| summary(entry)),
        }
    }

    pub(super) fn edges(&self, edges: &[EdgeRef]) -> Vec<WalkEdge> {
        let told = edges.iter().map(|EdgeRef { from, to, label }| WalkEdge {
            from: self.uri(*from),
            to: self.uri(*to),
            kind: label.kind(self.snapshot.notes.graph()).to_owned(),
            source: (*label).into(),
        });
        told.collect()
    }

    /// How the types of `edges` read backwards, where `table` says and the request asks.
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

/// Properties in which a note says itself what it is about, the first that is there.
const SUMMARY_PROPERTIES: [&str; 2] = ["summary", "description"];

/// Characters of a summary that is taken from the text, at most.
const SUMMARY_CHARS: usize = 200;

/// What a note says it is about, else the beginning of its first paragraph; nothing for a note without words.
fn summary(entry: &NoteEntry) -> Option<String> {
    let said = SUMMARY_PROPERTIES
        .iter()
        .find_map(|name| entry.note.properties.get(*name)?.as_written())
        .map(str::trim)
        .filter(|text| !text.is_empty());
    if let Some(said) = said {
        return Some(said.to_owned());
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
