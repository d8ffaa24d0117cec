//! XML: one element for each note, well-formed whatever the notes hold.

use std::fmt::Write as _;

use super::{Frame, Label, joined};
use crate::Mode;
use crate::content::Content;

pub(super) const FRAME: Frame = Frame { open: "<context>\n", between: "", close: "</context>\n" };

pub(super) fn note(label: &Label<'_>, content: &Content<'_>) -> String {
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
            let _ = write!(out, " {name}=\"{}\"", escaped(value, Place::Attribute));
        }
    }
    let _ = writeln!(out, " characters=\"{}\">", label.n_chars);
    match content.mode {
        Mode::Structural => {
            let _ = writeln!(out, "<headings>{}</headings>", escaped(&content.text(), Place::Text));
        }
        Mode::Full | Mode::Snippet => {
            for piece in &content.pieces {
                let span = piece.span.unwrap_or_default();
                let text = escaped(piece.text, Place::Text);
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

/// Where a text stands, which decides what a parser would change in it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Attribute,
    Text,
}

/// `text` so that a parser reads it back; what XML 1.0 cannot hold at all becomes U+FFFD.
fn escaped(text: &str, place: Place) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // Parsers turn a bare one into a line feed.
            '\r' => out.push_str("&#13;"),
            '"' if place == Place::Attribute => out.push_str("&quot;"),
            // Parsers turn these into spaces within attributes.
            '\n' if place == Place::Attribute => out.push_str("&#10;"),
            '\t' if place == Place::Attribute => out.push_str("&#9;"),
            '\n' | '\t' => out.push(letter),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            _ => out.push(letter),
        }
    }
    out
}
