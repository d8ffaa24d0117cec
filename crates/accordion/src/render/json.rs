//! JSON: one object per line for each note.

use serde::Serialize;
use weft_model::escape;

use super::{Frames, NoteLabel, Shown, WrapperParts};
use crate::Mode;
use crate::note_content::Content;

pub(super) const FRAME: WrapperParts =
    WrapperParts { open: "[\n", between: ",\n", close: "\n]\n", empty: "[]\n" };

/// A note without unknown fields, because every field name costs tokens.
#[derive(Serialize)]
struct NoteObject<'a> {
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
    blocks: Vec<BlockObject<'a>>,
}

#[derive(Serialize)]
struct BlockObject<'a> {
    start: u32,
    end: u32,
    text: &'a str,
}

pub(super) fn note(label: &NoteLabel<'_>, content: &Content<'_>) -> String {
    let blocks = content.excerpts.iter().map(|excerpt| {
        let span = excerpt.span.unwrap_or_default();
        BlockObject { start: span.start, end: span.end, text: excerpt.text }
    });
    let (headings, blocks) = match content.mode {
        Mode::Structural => (Some(content.text()), vec![]),
        Mode::Full | Mode::Snippet => (None, blocks.collect()),
    };
    let note = NoteObject {
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
    one_line_json(&note)
}

/// Writes a note as one line of JSON, without characters that change how the line is shown.
fn one_line_json(note: &impl Serialize) -> String {
    let text = serde_json::to_string(note);
    escape::json(&text.expect("strings, numbers and lists of them are always JSON")).into_owned()
}

/// A note of a context of passages, without unknown fields.
#[derive(Serialize)]
struct PassagesObject<'a> {
    uri: &'a str,
    title: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    headings: Option<String>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    passages: Vec<PassageObject<'a>>,
}

#[derive(Serialize)]
struct PassageObject<'a> {
    #[serde(rename = "in", skip_serializing_if = "String::is_empty")]
    path: String,
    text: &'a str,
}

/// Characters of the object of a note, without title and uri.
const FIXED_CHARS: usize = 47;

/// Renders the passages or the headings of a note.
pub(super) fn passages(label: &NoteLabel<'_>, shown: Shown<'_, '_>, frames: Frames) -> String {
    let (title, origin) = frames.fitted(label, FIXED_CHARS);
    let (headings, passages) = match shown {
        Shown::Outline(content) => (Some(content.text()), vec![]),
        Shown::Runs(runs) => {
            let passage = |run| PassageObject { path: frames.path(run), text: run.text };
            (None, runs.iter().map(passage).collect())
        }
    };
    let note = PassagesObject {
        uri: label.uri,
        title: &title,
        origin: origin.as_deref(),
        headings,
        passages,
    };
    one_line_json(&note)
}
