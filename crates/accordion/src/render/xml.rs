//! XML: one element for each note, well-formed whatever the notes contain.

use std::fmt::Write as _;

use weft_model::escape::{self, XML_ATTRIBUTE};

use super::{NoteLabel, WrapperParts, joined};
use crate::Mode;
use crate::note_content::Content;

pub(super) const FRAME: WrapperParts =
    WrapperParts { open: "<context>\n", between: "", close: "</context>\n", empty: "<context/>\n" };

pub(super) fn note(label: &NoteLabel<'_>, content: &Content<'_>) -> String {
    let path = joined(label.headings);
    let attributes = [
        ("uri", Some(label.uri)),
        ("title", Some(label.title)),
        ("mode", Some(content.mode.name())),
        ("headings", (!path.is_empty()).then_some(path.as_str())),
        ("relation", label.relation),
        ("via", label.via),
        ("truncated", content.shows_cut().then_some("true")),
    ];
    let mut out = String::from("<note");
    for (name, value) in attributes {
        if let Some(value) = value {
            // Writing to a string cannot fail.
            let _ = write!(out, " {name}=\"{}\"", escape::xml(value, XML_ATTRIBUTE));
        }
    }
    let _ = writeln!(out, " characters=\"{}\">", label.n_chars);
    match content.mode {
        Mode::Structural => {
            let _ = writeln!(out, "<headings>{}</headings>", escape::xml(&content.text(), &[]));
        }
        Mode::Full | Mode::Snippet => {
            for excerpt in &content.excerpts {
                let span = excerpt.span.unwrap_or_default();
                let text = escape::xml(excerpt.text, &[]);
                let _ = writeln!(
                    out,
                    "<text start=\"{}\" end=\"{}\">{text}</text>",
                    span.start, span.end
                );
            }
        }
    }
    out.push_str("</note>\n");
    out
}
