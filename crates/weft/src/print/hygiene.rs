//! Renders near-duplicates, suggested links, stale notes and broken links.

use std::fmt::Write as _;

use weft_proto::noteweft::v1::{
    BrokenLinksResponse, BrokenPlace, ChangeSource, DuplicatesResponse, FixReason, LinkFix,
    LinkMentionsResponse, NoteRef, StaleNotesResponse, SuggestedLinksResponse,
};

use super::next;
use super::text::{DIM, FAINT_TITLE, STRONG, counted, harmless, paint};
use crate::hint::Hint;

/// Maximum number of places shown of one missing target.
const SHOWN_PLACES: usize = 5;

/// Formats pairs of notes that share text.
pub(crate) fn duplicates(answer: &DuplicatesResponse, hint: &Hint) -> String {
    let mut out = String::new();
    for pair in &answer.pairs {
        let share = if pair.identical {
            "identical".to_owned()
        } else {
            format!(
                "{:.0} % of the shorter, {:.0} % of the longer",
                100.0 * pair.share,
                100.0 * pair.share_of_longer
            )
        };
        let _ = writeln!(
            out,
            "{} {} {}",
            paint(STRONG, &uri(pair.note.as_ref())),
            paint(DIM, "="),
            paint(STRONG, &uri(pair.other.as_ref()))
        );
        let _ = writeln!(out, "    {}", paint(FAINT_TITLE, &share));
        if let Some(example) = &pair.example {
            let place = format!(
                "{} in common, lines {} and {}: ",
                counted(example.words, "word", "words"),
                example.line,
                example.other_line
            );
            let _ = writeln!(out, "    {}{}", paint(DIM, &place), harmless(&example.text));
        }
    }
    if answer.sampling > 1 {
        let _ = writeln!(
            out,
            "{}",
            paint(
                DIM,
                &format!(
                    "Shares are estimates: one in {} runs of words was compared.",
                    answer.sampling
                )
            )
        );
    }
    ended(out, answer.pairs.len(), answer.total, ["pair", "pairs"], &answer.next_page_token, hint)
}

/// Formats mentions that could be links.
pub(crate) fn suggested_links(answer: &SuggestedLinksResponse, hint: &Hint) -> String {
    let mut out = String::new();
    for link in &answer.links {
        let _ = writeln!(
            out,
            "{}{} {}",
            paint(STRONG, &uri(link.note.as_ref())),
            paint(DIM, &format!(":{}", link.line)),
            paint(FAINT_TITLE, &harmless(&link.link))
        );
        let more = match (link.mentions, link.mentioning_notes) {
            (1, 1) => String::new(),
            (mentions, notes) => format!(
                " {}",
                paint(
                    DIM,
                    &format!(
                        "({} here, {})",
                        counted(mentions, "mention", "mentions"),
                        counted(notes, "note mentions it", "notes mention it")
                    )
                )
            ),
        };
        let _ = writeln!(out, "    {}{more}", harmless(&link.excerpt));
    }
    let mut out = ended(
        out,
        answer.links.len(),
        answer.total,
        ["suggested link", "suggested links"],
        &answer.next_page_token,
        hint,
    );
    if let Some(note) = answer.links.first().and_then(|link| link.note.as_ref()) {
        out.push_str(&next(&[&hint.command("suggest-links", &[&note.uri], &["--write"])]));
    }
    out
}

/// Formats the links that were written.
pub(crate) fn written_links(written: &[LinkMentionsResponse]) -> String {
    let mut out = String::new();
    for LinkMentionsResponse { path, links, index_pending, .. } in written {
        let links: Vec<String> = links.iter().map(|link| harmless(link)).collect();
        let _ = writeln!(out, "{}  {}", paint(STRONG, &harmless(path)), links.join(" "));
        if let Some(why) = index_pending {
            let _ =
                writeln!(out, "    {}", paint(DIM, &format!("not indexed yet: {}", harmless(why))));
        }
    }
    if written.is_empty() {
        let _ = writeln!(out, "{}", paint(DIM, "No links to write."));
    }
    out
}

/// Formats notes that have not changed for long.
pub(crate) fn stale_notes(answer: &StaleNotesResponse, hint: &Hint) -> String {
    let mut out = String::new();
    for note in &answer.notes {
        let source = match note.source() {
            ChangeSource::File => ", by its file",
            ChangeSource::Property | ChangeSource::Unspecified => "",
        };
        let facts = format!(
            "score {:.2} · unchanged since {}{source} ({}) · {}",
            note.score,
            note.changed,
            counted(note.age_days.into(), "day", "days"),
            counted(note.linking_notes.into(), "note links to it", "notes link to it"),
        );
        let _ = writeln!(
            out,
            "{}\n    {}",
            paint(STRONG, &uri(note.note.as_ref())),
            paint(DIM, &facts)
        );
    }
    let explained = if answer.newest.is_empty() {
        "No note has a date.".to_owned()
    } else {
        format!(
            "Score: years × ln(1 + linking notes); ages count from {}, the latest change of any note.",
            answer.newest
        )
    };
    let _ = writeln!(out, "{}", paint(DIM, &explained));
    if answer.total == 0 && !answer.newest.is_empty() {
        let fewer = "--min-age DAYS and --min-linking NOTES set what counts as stale.";
        let _ = writeln!(out, "{}", paint(DIM, fewer));
    }
    ended(
        out,
        answer.notes.len(),
        answer.total,
        ["stale note", "stale notes"],
        &answer.next_page_token,
        hint,
    )
}

/// Formats links without a target.
pub(crate) fn broken_links(answer: &BrokenLinksResponse, hint: &Hint) -> String {
    let mut out = String::new();
    for link in &answer.links {
        let _ = writeln!(out, "{}", paint(STRONG, &harmless(&link.target)));
        for LinkFix { note, reason, similarity } in &link.fixes {
            let why = match FixReason::try_from(*reason) {
                Ok(FixReason::SameName) => "same name".to_owned(),
                Ok(FixReason::SimilarName | FixReason::Unspecified) | Err(_) => {
                    format!("similar name, {similarity:.2}")
                }
            };
            let _ = writeln!(
                out,
                "  {} {} {}",
                paint(FAINT_TITLE, "→"),
                uri(note.as_ref()),
                paint(DIM, &why)
            );
        }
        for BrokenPlace { note, line, span: _ } in link.places.iter().take(SHOWN_PLACES) {
            let line = line.map_or_else(|| " (frontmatter)".to_owned(), |line| format!(":{line}"));
            let _ =
                writeln!(out, "  {} {}{}", paint(DIM, "←"), uri(note.as_ref()), paint(DIM, &line));
        }
        if link.places.len() > SHOWN_PLACES {
            let notes = counted(link.linking_notes, "note links to it", "notes link to it");
            let _ = writeln!(out, "  {}", paint(DIM, &format!("… {notes}")));
        }
    }
    ended(
        out,
        answer.links.len(),
        answer.total,
        ["missing target", "missing targets"],
        &answer.next_page_token,
        hint,
    )
}

fn uri(note: Option<&NoteRef>) -> String {
    note.map(|note| harmless(&note.uri)).unwrap_or_default()
}

/// Adds the number of entries and the command for the next page.
fn ended(
    mut out: String,
    n_shown: usize,
    total: u64,
    names: [&str; 2],
    token: &str,
    hint: &Hint,
) -> String {
    let shown = n_shown as u64;
    let part = if shown == total { String::new() } else { format!("{shown} of ") };
    let summary = format!("{part}{}", counted(total, names[0], names[1]));
    let _ = writeln!(out, "{}", paint(DIM, &summary));
    if !token.is_empty() {
        out.push_str(&next(&[&hint.again("--page-token", token)]));
    }
    out
}
