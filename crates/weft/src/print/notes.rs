//! Renders notes, lists of notes and resolved links.

use std::fmt::Write as _;

use weft_model::Span as ModelSpan;
use weft_proto::noteweft::v1::{
    GetNoteResponse, LinkSource, LinkView, ListNotesResponse, LocateNoteResponse, NoteRef,
    NoteSummary, ResolveLinkResponse, Span,
};

use super::next;
use super::text::{DIM, FAINT_TITLE, NOTICE, STRONG, counted, harmless, harmless_lines, paint};
use crate::hint::Hint;

/// Maximum number of links of one kind that are listed before the rest is counted.
const SHOWN_LINKS: usize = 12;

/// Formats a note: its place in the hierarchy, its text and its links.
pub(crate) fn note(note: &GetNoteResponse, hint: &Hint) -> String {
    let mut out = format!("{}\n", paint(STRONG, &harmless(&note.title)));
    let mut about = vec![harmless(&note.uri)];
    about.extend(note.r#type.iter().map(|kind| harmless(kind)));
    about.extend(note.tags.iter().map(|tag| format!("#{}", harmless(tag))));
    if !note.embedding_current {
        about.push("vectors pending".to_owned());
    }
    let _ = writeln!(out, "{}", paint(DIM, &about.join(" · ")));
    if !note.contextual_path.is_empty() {
        let path: Vec<String> =
            note.contextual_path.iter().map(|above| harmless(&above.title)).collect();
        let _ = writeln!(out, "{}", paint(DIM, &format!("in {}", path.join(" › "))));
    }
    if !note.aliases.is_empty() {
        let aliases = harmless(&note.aliases.join(", "));
        let _ = writeln!(out, "{}", paint(DIM, &format!("also {aliases}")));
    }
    if !note.same_name.is_empty() {
        let others = note.same_name.iter().take(SHOWN_LINKS).map(|other| harmless(&other.uri));
        let mut others: Vec<String> = others.collect();
        others.extend(match note.same_name.len() - others.len() {
            0 => None,
            more => Some(format!("{more} more")),
        });
        let line = format!("other notes with this name: {}", others.join(", "));
        let _ = writeln!(out, "{}", paint(NOTICE, &line));
    }
    if let Some(NoteRef { title, .. }) = &note.object {
        let _ = writeln!(out, "{}", paint(DIM, &format!("object {}", harmless(title))));
    }
    let text = match &note.section {
        Some(Span { start, end }) => ModelSpan::new(*start, *end).slice(&note.body),
        None => &note.body,
    };
    let _ = write!(out, "\n{}", harmless_lines(text));
    if !text.ends_with('\n') {
        out.push('\n');
    }
    if !note.children.is_empty() {
        let children = note.children.iter().map(|child| harmless(&child.title));
        section(
            &mut out,
            "Children",
            children.collect(),
            n_missing(note.child_count, note.children.len()),
        );
    }
    let blocks = note.blocks.iter().map(|block| harmless(&format!("{}#^{}", note.uri, block.id)));
    section(&mut out, "Blocks", blocks.collect(), 0);
    let links = note.links.iter().map(|link| shown(link, "→"));
    section(&mut out, "Links", links.collect(), n_missing(note.link_count, note.links.len()));
    let backlinks = note.backlinks.iter().map(|link| shown(link, "←"));
    section(
        &mut out,
        "Backlinks",
        backlinks.collect(),
        n_missing(note.backlink_count, note.backlinks.len()),
    );
    let neighbor = note.backlinks.iter().chain(&note.links).find(|link| link.resolved);
    if let Some(uri) = neighbor.and_then(|link| link.uri.as_deref()) {
        let _ = write!(out, "\n{}", next(&[&hint.command("get", &[uri], &[])]));
    }
    out
}

fn shown(link: &LinkView, arrow: &str) -> String {
    let end = harmless(link.uri.as_deref().unwrap_or(&link.target));
    let fragment =
        link.fragment.as_ref().map(|name| format!("#{}", harmless(name))).unwrap_or_default();
    let kind = match link.source() {
        LinkSource::Typed => format!("  {}", paint(DIM, &harmless(&link.r#type))),
        LinkSource::Inline | LinkSource::Unspecified => String::new(),
    };
    let missing =
        if link.resolved { String::new() } else { format!("  {}", paint(NOTICE, "unresolved")) };
    format!("{arrow} {end}{fragment}{kind}{missing}")
}

/// Returns how many of `n` the response does not contain.
fn n_missing(n: u64, n_received: usize) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX).saturating_sub(n_received)
}

/// Writes a heading with lines below it; duplicate lines are written once, and `n_missing` more were not received.
fn section(out: &mut String, heading: &str, mut lines: Vec<String>, n_missing: usize) {
    let mut seen = std::collections::HashSet::new();
    lines.retain(|line| seen.insert(line.clone()));
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{}", paint(FAINT_TITLE, heading));
    for line in lines.iter().take(SHOWN_LINKS) {
        let _ = writeln!(out, "  {line}");
    }
    if let more @ 1.. = lines.len().saturating_sub(SHOWN_LINKS) + n_missing {
        let _ = writeln!(out, "  {}", paint(DIM, &format!("and {more} more")));
    }
}

/// Formats a page of notes.
pub(crate) fn list(answer: &ListNotesResponse, hint: &Hint) -> String {
    let ListNotesResponse { notes, next_page_token, total, generation: _, warnings: _ } = answer;
    page(notes, *total, next_page_token, hint)
}

/// Formats some notes of `total`, and the command for the next page.
pub(super) fn page(
    notes: &[NoteSummary],
    total: u64,
    next_page_token: &str,
    hint: &Hint,
) -> String {
    let mut out = String::new();
    for note in notes {
        let (uri, title) = (harmless(&note.uri), harmless(&note.title));
        let mut more = Vec::new();
        // Most titles equal the last segment of the uri and are not repeated.
        if uri.rsplit('/').next() != Some(title.as_str()) {
            more.push(title);
        }
        more.extend(note.r#type.iter().map(|kind| harmless(kind)));
        more.extend(note.tags.iter().map(|tag| format!("#{}", harmless(tag))));
        let _ = writeln!(out, "{uri}  {}", paint(DIM, &more.join(" · ")));
    }
    let shown = notes.len() as u64;
    let summary = if shown == total {
        counted(total, "note", "notes")
    } else {
        format!("{shown} of {}", counted(total, "note", "notes"))
    };
    let _ = writeln!(out, "{}", paint(DIM, &summary));
    if !next_page_token.is_empty() {
        out.push_str(&next(&[&hint.again("--page-token", next_page_token)]));
    }
    out
}

/// Formats the place of a note as editors and compilers write it.
pub(crate) fn place(place: &LocateNoteResponse) -> String {
    let LocateNoteResponse { file, line, column, .. } = place;
    format!("{}:{line}:{column}\n", harmless(file))
}

/// Formats the resolution of a link target.
pub(crate) fn resolved(answer: &ResolveLinkResponse) -> String {
    let ResolveLinkResponse {
        target,
        uri,
        path,
        rule,
        candidates,
        suggestions,
        generation: _,
        warnings: _,
    } = answer;
    let target = harmless(target);
    let mut out = match uri {
        Some(uri) => format!(
            "{target} resolves to {} {}\n",
            paint(STRONG, &harmless(uri)),
            paint(
                DIM,
                &format!(
                    "({}, by {})",
                    harmless(path.as_deref().unwrap_or_default()),
                    rule.as_deref().unwrap_or("no rule")
                )
            )
        ),
        None => format!("{target} {}\n", paint(NOTICE, "does not resolve to a note")),
    };
    if candidates.len() > 1 {
        let _ = writeln!(out, "Other matches:");
        for other in &candidates[1..] {
            let _ = writeln!(out, "  {}", harmless(&other.uri));
        }
    }
    if uri.is_none() && !suggestions.is_empty() {
        let _ = writeln!(out, "Similar names:");
        for uri in suggestions {
            let _ = writeln!(out, "  {}", harmless(uri));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_notes_with_same_name_are_listed() {
        let other = |n: usize| NoteRef { uri: format!("dup{n}"), title: "Dup".into() };
        let shown = |n: usize| {
            let same_name = (0..n).map(other).collect();
            let answer = GetNoteResponse { same_name, ..GetNoteResponse::default() };
            anstream::adapter::strip_str(&note(&answer, &Hint::daemon(None))).to_string()
        };
        assert!(!shown(0).contains("with this name"));
        assert!(shown(2).contains("other notes with this name: dup0, dup1\n"), "{}", shown(2));
        assert!(shown(SHOWN_LINKS + 3).contains("dup11, 3 more\n"), "{}", shown(SHOWN_LINKS + 3));
    }
}
