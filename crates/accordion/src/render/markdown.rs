//! Markdown: readable when pasted into a chat, each text in its own fence.

use weft_model::escape::{self, link_destination};

use super::{Frames, NoteLabel, RenderedNote, Run, Shown, WrapperParts, joined};
use crate::note_content::Content;
use crate::{Citations, Mode};

pub(super) const FRAME: WrapperParts =
    WrapperParts { open: "", between: "\n", close: "", empty: "" };

/// Source: Graph RAG design, rendering for a language model.
pub(super) const FRAME_AROUND_FOCUS: WrapperParts = WrapperParts {
    open: "Relations between these notes can be inferred through their links `[title](uri)`.\n\n",
    between: "\n",
    close: "",
    empty: "",
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

/// Characters of a heading line and a fence, without title and uri.
const FIXED_CHARS: usize = 17;

/// Renders the passages of a note: a line for the note, a line for each section unless its text begins with its heading, and the text in fences.
pub(super) fn passages(
    label: &NoteLabel<'_>,
    shown: Shown<'_, '_>,
    frames: Frames,
    number: usize,
) -> RenderedNote {
    let (title, origin) = frames.fitted(label, FIXED_CHARS);
    let uri = link_destination(label.uri);
    let (mut text, source) = match frames.citations {
        // A uri with escapes in it could not be copied.
        Citations::Inline if label.is_named_by_uri() && inline(label.uri) == label.uri => {
            (format!("## {}", label.uri), String::new())
        }
        Citations::Inline => (format!("## [{}]({uri})", inline(&title)), String::new()),
        Citations::List => {
            let source = format!("[{number}]: [{}]({uri})\n", inline(label.title));
            (format!("## [{number}] {}", inline(&title)), source)
        }
    };
    if let Some(origin) = origin {
        text.push_str(", ");
        text.push_str(&inline(&origin));
    }
    text.push('\n');
    match shown {
        Shown::Outline(content) => {
            let headings = content.text();
            let fence = escape::fence(&headings);
            fenced(&mut text, &fence, "headings:\n", &headings);
        }
        Shown::Runs(runs) => {
            let longest = runs.iter().map(|run| escape::fence(run.text)).max();
            let fence = longest.unwrap_or_else(|| escape::fence(""));
            for section in runs.chunk_by(|left, right| left.path == right.path) {
                let [first, ..] = section else { continue };
                let path = frames.path(first);
                let above = if path.is_empty() { String::new() } else { inline(&path) + ":\n" };
                let texts: Vec<&str> = section.iter().map(|run: &Run<'_>| run.text).collect();
                fenced(&mut text, &fence, &above, &texts.join("\n…\n"));
            }
        }
    }
    RenderedNote { text, source }
}

/// Appends `text` in fences, after a line.
fn fenced(out: &mut String, fence: &str, above: &str, text: &str) {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    for part in [above, fence, "\n", text, end, fence, "\n"] {
        out.push_str(part);
    }
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
