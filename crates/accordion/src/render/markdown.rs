//! Markdown: readable pasted into a chat, each text in a fence of its own.

use std::fmt::Write as _;

use super::{Frame, Label, joined};
use crate::Mode;
use crate::content::{Content, Piece};

pub(super) const FRAME: Frame = Frame { open: "", between: "\n", close: "" };

/// Source: Graph RAG design, rendering for a language model.
pub(super) const FRAME_AROUND_FOCUS: Frame = Frame {
    open: "Relations between these notes can be inferred through their links `[title](uri)`.\n\n",
    between: "\n",
    close: "",
};

pub(super) fn note(label: &Label<'_>, content: &Content<'_>) -> String {
    let mut out = format!("## [{}]({})\n", inline(label.title), destination(label.uri));
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
    let fence = fence(&content.pieces);
    let mut fenced = |text: &str| {
        let end = if text.ends_with('\n') { "" } else { "\n" };
        for part in [&fence, "\n", text, end, &fence, "\n"] {
            out.push_str(part);
        }
    };
    match content.mode {
        Mode::Structural => fenced(&content.text()),
        Mode::Full | Mode::Snippet => content.pieces.iter().for_each(|piece| fenced(piece.text)),
    }
    out
}

/// How much of the note follows, such as `characters 12-512, 900-1400 of 3000`.
fn extent(label: &Label<'_>, content: &Content<'_>) -> String {
    match content.mode {
        Mode::Full if !content.truncated => "whole note".to_owned(),
        Mode::Structural if content.truncated => "headings, cut".to_owned(),
        Mode::Structural => "headings".to_owned(),
        Mode::Full | Mode::Snippet if content.pieces.is_empty() => "an empty note".to_owned(),
        Mode::Full | Mode::Snippet => {
            let spans = content.spans().into_iter();
            let spans: Vec<String> =
                spans.map(|span| format!("{}-{}", span.start, span.end)).collect();
            format!("characters {} of {}", spans.join(", "), label.n_chars)
        }
    }
}

/// A fence longer than any run of backticks in `pieces`.
fn fence(pieces: &[Piece<'_>]) -> String {
    let longest = pieces
        .iter()
        .flat_map(|piece| piece.text.split(|letter| letter != '`'))
        .map(str::len)
        .max()
        .unwrap_or(0);
    "`".repeat((longest + 1).max(3))
}

/// `text` on one line, without power over the line's Markdown.
fn inline(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' | '[' | ']' | '`' | '<' | '*' | '_' | '&' => out.extend(['\\', letter]),
            _ if letter.is_control() => out.push(' '),
            _ => out.push(letter),
        }
    }
    out
}

/// `uri` as the destination of a link: in angle brackets where it would not stand bare.
fn destination(uri: &str) -> String {
    let bare = !uri.is_empty()
        && !uri.starts_with('<')
        && uri.chars().all(|letter| {
            !letter.is_control()
                && !letter.is_whitespace()
                && !matches!(letter, '(' | ')' | '\\' | '&')
        });
    if bare {
        return uri.to_owned();
    }
    let mut out = String::from("<");
    for letter in uri.chars() {
        match letter {
            '<' | '>' | '\\' | '&' => out.extend(['\\', letter]),
            _ if letter.is_control() => {
                let _ = write!(out, "%{:02X}", u32::from(letter));
            }
            _ => out.push(letter),
        }
    }
    out.push('>');
    out
}
