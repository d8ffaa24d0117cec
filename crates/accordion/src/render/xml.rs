//! XML: one element for each note, well-formed whatever the notes contain.

use std::fmt::Write as _;

use weft_model::escape::{self, is_special_in_xml_attribute};

use super::{Frames, NoteLabel, Shown, WrapperParts, joined};
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
            let _ = write!(out, " {name}=\"{}\"", escape::xml(value, is_special_in_xml_attribute));
        }
    }
    let _ = writeln!(out, " characters=\"{}\">", label.n_chars);
    match content.mode {
        Mode::Structural => {
            let _ =
                writeln!(out, "<headings>{}</headings>", escape::xml(&content.text(), |_| false));
        }
        Mode::Full | Mode::Snippet => {
            for excerpt in &content.excerpts {
                let span = excerpt.span.unwrap_or_default();
                let text = escape::xml(excerpt.text, |_| false);
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

/// Characters of the elements of a note, without title and uri.
const FIXED_CHARS: usize = 45;

/// Renders the passages or the headings of a note.
pub(super) fn passages(label: &NoteLabel<'_>, shown: Shown<'_, '_>, frames: Frames) -> String {
    let (title, origin) = frames.fitted(label, FIXED_CHARS);
    let attributes =
        [("uri", Some(label.uri)), ("title", Some(&*title)), ("origin", origin.as_deref())];
    let mut out = String::from("<note");
    for (name, value) in attributes {
        if let Some(value) = value {
            let _ = write!(out, " {name}=\"{}\"", escape::xml(value, is_special_in_xml_attribute));
        }
    }
    out.push_str(">\n");
    match shown {
        Shown::Outline(content) => {
            let _ =
                writeln!(out, "<headings>{}</headings>", escape::xml(&content.text(), |_| false));
        }
        Shown::Runs(runs) => {
            for run in runs {
                let path = frames.path(run);
                let text = escape::xml(run.text, |_| false);
                let _ = if path.is_empty() {
                    writeln!(out, "<text>{text}</text>")
                } else {
                    let path = escape::xml(&path, is_special_in_xml_attribute);
                    writeln!(out, "<text in=\"{path}\">{text}</text>")
                };
            }
        }
    }
    out.push_str("</note>\n");
    out
}
