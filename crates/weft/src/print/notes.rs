//! Hits and notes.

use std::fmt::Write as _;

use weft_proto::noteweft::v1::{
    GetNoteResponse, Hit, LinkSource, LinkView, ListNotesResponse, NoteRef, NoteSummary, Origin,
    ResolveLinkResponse, SearchResponse, Signals, Snippet,
};

use super::next;
use super::text::{
    DIM, FAINT_TITLE, NOTICE, STRONG, bar, columns, counted, harmless, padded, paint, wrap,
};
use crate::hint::Hint;

/// Links of one kind that a note shows before the rest is counted.
const SHOWN_LINKS: usize = 12;

/// Ranked hits, each with its passages, and the command that reads the best one.
pub(crate) fn search(query: &str, answer: &SearchResponse, explain: bool, hint: &Hint) -> String {
    let SearchResponse { hits, generation: _, truncated, degraded } = answer;
    let mut out = String::new();
    for what in degraded {
        let _ = writeln!(out, "{} {what}", paint(NOTICE, "degraded:"));
    }
    let Some(best) = hits.first() else {
        let _ = writeln!(out, "Nothing answers to {}.", paint(STRONG, &harmless(query)));
        out.push_str(&next(&[&hint.command(&["list"])]));
        return out;
    };
    for (at, hit) in hits.iter().enumerate() {
        out.push_str(&one_hit(at + 1, hit, best.score, explain));
        out.push('\n');
    }
    if *truncated {
        let more = format!(
            "There are more than {}; --limit shows them.",
            counted(hits.len() as u64, "hit", "hits")
        );
        let _ = writeln!(out, "{}", paint(DIM, &more));
    }
    out.push_str(&next(&[&hint.command(&["get", &best.uri])]));
    out
}

fn one_hit(rank: usize, hit: &Hit, top: f64, explain: bool) -> String {
    let columns = columns();
    let title = harmless(&hit.title);
    let share = if top > 0.0 { hit.score / top } else { 0.0 };
    let score = format!("{} {:.2}", bar(share), hit.score);
    let room = columns.saturating_sub(score.chars().count() + 6);
    let mut out = format!(
        "{} {} {}\n",
        paint(DIM, &format!("{rank:>2}.")),
        paint(STRONG, &padded(&title, room)),
        paint(FAINT_TITLE, &score)
    );
    let mut about = vec![harmless(&hit.uri)];
    match hit.origin() {
        Origin::Vector => about.push("by meaning".to_owned()),
        Origin::Keyword => about.push("by word".to_owned()),
        Origin::Both => about.push("by meaning and word".to_owned()),
        Origin::Expanded => about.push("by link".to_owned()),
        Origin::Unspecified => {}
    }
    if let Some(via) = &hit.via {
        about.push(format!("via {}", harmless(via)));
    }
    if !hit.fresh {
        about.push("vectors pending".to_owned());
    }
    let _ = writeln!(out, "    {}", paint(DIM, &about.join(" · ")));
    if explain {
        out.push_str(&explained(hit));
    }
    // The title stands above already; the same headings need not be said twice.
    let mut said: &[String] = std::slice::from_ref(&hit.title);
    for snippet in &hit.snippets {
        if snippet.heading_path != said && !snippet.heading_path.is_empty() {
            let path: Vec<String> =
                snippet.heading_path.iter().map(|name| harmless(name)).collect();
            let _ = writeln!(out, "    {}", paint(DIM, &path.join(" › ")));
        }
        said = &snippet.heading_path;
        out.push_str(&passage(snippet, columns));
    }
    out
}

/// The parts of a score.
fn explained(hit: &Hit) -> String {
    let Signals { similarity, centrality, activation } = hit.signals.unwrap_or_default();
    let added = hit.contributions.unwrap_or_default();
    let mut out = format!(
        "    {} vector {:.3}, keyword {:.3}\n",
        paint(DIM, "similarity"),
        hit.vector_score,
        hit.keyword_score
    );
    let parts = [
        ("similarity", similarity, added.similarity),
        ("centrality", centrality, added.centrality),
        ("activation", activation, added.activation),
    ];
    let sum: Vec<String> = parts
        .into_iter()
        .map(|(name, signal, added)| format!("{name} {signal:.3} adds {added:.3}"))
        .collect();
    let _ = writeln!(out, "    {} {:.3} = {}", paint(DIM, "score"), hit.score, sum.join(", "));
    out
}

/// A passage with the matched words marked, and dots where it begins inside a text.
fn passage(snippet: &Snippet, columns: usize) -> String {
    let Snippet { text, start, end: _, heading_path: _, matches } = snippet;
    let is_marked = |at: u32| matches.iter().any(|span| (span.start..span.end).contains(&at));
    let dots = (*start > 0).then_some(('…', false));
    let text = (*start..).zip(text.chars()).map(|(at, c)| (c, is_marked(at)));
    let marked: Vec<(char, bool)> = dots.into_iter().chain(text).collect();
    wrap(&marked, columns, "    ")
}

/// A note: where it stands, what it says, what it is linked with.
pub(crate) fn note(note: &GetNoteResponse, hint: &Hint) -> String {
    let mut out = format!("{}\n", paint(STRONG, &harmless(&note.title)));
    let mut about = vec![harmless(&note.uri)];
    about.extend(note.r#type.iter().map(|kind| harmless(kind)));
    about.extend(note.tags.iter().map(|tag| format!("#{}", harmless(tag))));
    if !note.fresh {
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
    if let Some(NoteRef { title, .. }) = &note.object {
        let _ = writeln!(out, "{}", paint(DIM, &format!("about {}", harmless(title))));
    }
    let _ = write!(out, "\n{}", harmless(&note.body));
    if !note.body.ends_with('\n') {
        out.push('\n');
    }
    if !note.children.is_empty() {
        let children = note.children.iter().map(|child| harmless(&child.title));
        section(&mut out, "Below it", children.collect());
    }
    let blocks = note.blocks.iter().map(|block| harmless(&format!("{}#^{}", note.uri, block.id)));
    section(&mut out, "Blocks that links can name", blocks.collect());
    section(&mut out, "Links", note.links.iter().map(|link| shown(link, "→")).collect());
    section(&mut out, "Linked from", note.backlinks.iter().map(|link| shown(link, "←")).collect());
    let neighbour = note.backlinks.iter().chain(&note.links).find(|link| link.resolved);
    if let Some(uri) = neighbour.and_then(|link| link.uri.as_deref()) {
        let _ = write!(out, "\n{}", next(&[&hint.command(&["get", uri])]));
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
    let missing = if link.resolved {
        String::new()
    } else {
        format!("  {}", paint(NOTICE, "does not exist"))
    };
    format!("{arrow} {end}{fragment}{kind}{missing}")
}

/// A heading with lines below it; repeated lines are counted once.
fn section(out: &mut String, heading: &str, mut lines: Vec<String>) {
    let mut seen = std::collections::HashSet::new();
    lines.retain(|line| seen.insert(line.clone()));
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{}", paint(FAINT_TITLE, heading));
    for line in lines.iter().take(SHOWN_LINKS) {
        let _ = writeln!(out, "  {line}");
    }
    if let Some(more @ 1..) = lines.len().checked_sub(SHOWN_LINKS) {
        let _ = writeln!(out, "  {}", paint(DIM, &format!("and {more} more")));
    }
}

/// A page of notes.
pub(crate) fn list(answer: &ListNotesResponse, hint: &Hint) -> String {
    let ListNotesResponse { notes, next_page_token, total, generation: _ } = answer;
    page(notes, *total, next_page_token, hint)
}

/// Some notes of `total`, and how to see the next ones.
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
        // Most titles are the last part of the uri; saying it twice helps nobody.
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

/// What a link would find.
pub(crate) fn resolved(answer: &ResolveLinkResponse) -> String {
    let ResolveLinkResponse { target, uri, path, rule, candidates, near, generation: _ } = answer;
    let target = harmless(target);
    let mut out = match uri {
        Some(uri) => format!(
            "{target} is {} {}\n",
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
        None => format!("{target} {}\n", paint(NOTICE, "does not exist")),
    };
    if candidates.len() > 1 {
        let _ = writeln!(out, "It could also mean:");
        for other in &candidates[1..] {
            let _ = writeln!(out, "  {}", harmless(&other.uri));
        }
    }
    if uri.is_none() && !near.is_empty() {
        let _ = writeln!(out, "Near it are:");
        for uri in near {
            let _ = writeln!(out, "  {}", harmless(uri));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use weft_proto::noteweft::v1::Span;

    use super::*;

    #[test]
    fn a_hit_marks_the_words_that_match() {
        let snippet = Snippet {
            text: "soft moss".into(),
            start: 10,
            end: 19,
            heading_path: vec!["Ground".into()],
            matches: vec![Span { start: 15, end: 19 }],
        };
        let hit = Hit {
            uri: "plants/moss".into(),
            title: "Moss".into(),
            score: 0.5,
            origin: Origin::Both.into(),
            fresh: true,
            snippets: vec![snippet],
            ..Hit::default()
        };
        let answer = SearchResponse { hits: vec![hit], ..SearchResponse::default() };
        let text = search("moss", &answer, false, &Hint::daemon(None));
        let plain = anstream::adapter::strip_str(&text).to_string();
        let lines: Vec<&str> = plain.lines().collect();
        assert!(
            lines[0].starts_with(" 1. Moss") && lines[0].ends_with("██████████ 0.50"),
            "{plain}"
        );
        assert_eq!(lines[1], "    plants/moss · by meaning and word");
        assert_eq!(lines[2..4], ["    Ground", "    …soft moss"]);
        assert!(lines.last().unwrap().ends_with("get plants/moss"), "{plain}");
        assert!(text.contains(&paint(super::super::text::MATCH, "moss")));
    }

    #[test]
    fn no_hit_is_an_answer() {
        let text = search("x", &SearchResponse::default(), false, &Hint::daemon(None));
        assert!(text.contains("Nothing answers"));
    }
}
