//! JSON: one object on a line for each note.

use serde::Serialize;

use super::{Frame, Label};
use crate::Mode;
use crate::content::Content;

pub(super) const FRAME: Frame = Frame { open: "[\n", between: ",\n", close: "\n]\n" };

/// A note without what is not known of it: every name costs.
#[derive(Serialize)]
struct Note<'a> {
    uri: &'a str,
    title: &'a str,
    mode: Mode,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    heading_path: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    relation: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    via: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    characters: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    headings: Option<String>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    blocks: Vec<Block<'a>>,
}

#[derive(Serialize)]
struct Block<'a> {
    start: u32,
    end: u32,
    text: &'a str,
}

pub(super) fn note(label: &Label<'_>, content: &Content<'_>) -> String {
    let blocks = content.pieces.iter().map(|piece| {
        let span = piece.span.unwrap_or_default();
        Block { start: span.start, end: span.end, text: piece.text }
    });
    let (headings, blocks) = match content.mode {
        Mode::Structural => (Some(content.text()), vec![]),
        Mode::Full | Mode::Snippet => (None, blocks.collect()),
    };
    let note = Note {
        uri: label.uri,
        title: label.title,
        mode: content.mode,
        heading_path: label.headings,
        relation: label.relation,
        via: label.via,
        truncated: content.shows_cut(),
        characters: label.n_chars,
        headings,
        blocks,
    };
    serde_json::to_string(&note).expect("strings, numbers and lists of them are always JSON")
}
