//! Texts of notes for the graph's results.

use std::borrow::Cow;

use weft_graph::doughnut::Texts;
use weft_model::NoteId;
use weft_model::encoded_data::without_encoded_data;

use super::NoteTable;

/// Returns titles, and bodies without encoded data as details; a placeholder has no details.
impl Texts for NoteTable {
    fn title(&self, note: NoteId) -> Cow<'_, str> {
        Self::title(self, note).into()
    }

    fn details(&self, note: NoteId) -> Cow<'_, str> {
        self.entry(note).map_or(Cow::Borrowed(""), |entry| without_encoded_data(&entry.body))
    }
}
