//! Markdown: readable when pasted into a chat, each text in its own fence.

use weft_model::escape::{self, link_destination};

use super::{NoteLabel, WrapperParts, joined};
use crate::Mode;
use crate::note_content::Content;

pub(super) const FRAME: WrapperParts = WrapperParts { open: "", between: "\n", close: "" };

/// Source: Graph RAG design, rendering for a language model.
pub(super) const FRAME_AROUND_FOCUS: WrapperParts = WrapperParts {
    open: "Relations between these notes can be inferred through their links `[title](uri)`.\n\n",
    between: "\n",
    close: "",
};

pub(super) fn note(label: &NoteLabel<'_>, content: &Content<'_>) -> String {
    let mut out = format!("## [{}]({})\n", inline(label.title), link_destination(label.uri));
    out.push_str(&extent(label, content));
    if !label.headings.is_empty() {
        out.push_str("; in ");
        out.push_str(&inline(&joined(label.headings)));
    }
    match label.relation {
        Some(_) if label.is_focus => out.push_str("; the focus"),
        Some(relation) => {
            out.push_str("; ");
            out.push_str(&inline(relation));
        }
        None => {}
    }
    if let Some(via) = label.via {
        out.push_str(if label.relation.is_some() { " via " } else { "; via " });
        out.push_str(&inline(via));
    }
    out.push('\n');
    // One fence for all excerpts, longer than any run of backticks in them.
    let fence = content.excerpts.iter().map(|excerpt| escape::fence(excerpt.text)).max();
    let fence = fence.unwrap_or_else(|| escape::fence(""));
    let mut fenced = |text: &str| {
        let end = if text.ends_with('\n') { "" } else { "\n" };
        for part in [&fence, "\n", text, end, &fence, "\n"] {
            out.push_str(part);
        }
    };
    match content.mode {
        Mode::Structural => fenced(&content.text()),
        Mode::Full | Mode::Snippet => {
            content.excerpts.iter().for_each(|excerpt| fenced(excerpt.text))
        }
    }
    out
}

/// Describes which part of the note follows, such as `characters 12-512, 900-1400 of 3000`.
fn extent(label: &NoteLabel<'_>, content: &Content<'_>) -> String {
    match content.mode {
        Mode::Full if !content.truncated => "whole note".to_owned(),
        Mode::Structural if content.truncated => "headings, cut".to_owned(),
        Mode::Structural => "headings".to_owned(),
        Mode::Full | Mode::Snippet if content.excerpts.is_empty() => "an empty note".to_owned(),
        Mode::Full | Mode::Snippet => {
            let spans = content.spans().into_iter();
            let spans: Vec<String> =
                spans.map(|span| format!("{}-{}", span.start, span.end)).collect();
            format!("characters {} of {}", spans.join(", "), label.n_chars)
        }
    }
}

/// Returns `text` on one line, with Markdown escaped.
fn inline(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' | '[' | ']' | '`' | '<' | '*' | '_' | '&' => out.extend(['\\', letter]),
            _ if escape::is_hidden_control(letter) => out.extend(letter.escape_default()),
            _ => out.push(letter),
        }
    }
    out
}
