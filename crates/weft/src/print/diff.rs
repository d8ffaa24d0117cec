//! Renders the changes between two generations.

use std::fmt::Write as _;

use weft_proto::noteweft::v1::{
    DiffResponse, LinkChange, LinkChangeKind, LinkSource, NoteChange, NoteChangeKind, NotePart,
};

use super::next;
use super::text::{BAD, DIM, GOOD, NOTICE, STRONG, counted, harmless, paint};
use crate::hint::Hint;

/// Maximum number of lines of one kind that are listed before the rest is counted.
const SHOWN: usize = 30;

/// Formats the changes: all of them if `all` is set, else the first of each kind.
pub(crate) fn diff(answer: &DiffResponse, all: bool, hint: &Hint) -> String {
    let DiffResponse { notes, links, from_generation, generation } = answer;
    let mut out = String::new();
    let span = format!("generation {from_generation} → {generation}");
    if notes.is_empty() && links.is_empty() {
        return format!("no changes  {}\n", paint(DIM, &span));
    }
    let _ = writeln!(out, "{}", paint(DIM, &span));
    let mut is_cut = false;
    for (kind, what) in [
        (NoteChangeKind::Added, "added"),
        (NoteChangeKind::Removed, "removed"),
        (NoteChangeKind::Moved, "moved"),
        (NoteChangeKind::Changed, "changed"),
    ] {
        let lines: Vec<String> =
            notes.iter().filter(|note| note.kind() == kind).map(note_line).collect();
        is_cut |= section(&mut out, ("note", "notes"), what, &lines, all);
    }
    for (kind, what) in [
        (LinkChangeKind::Unresolved, "now unresolved"),
        (LinkChangeKind::Resolved, "now resolved"),
        (LinkChangeKind::Retargeted, "retargeted"),
        (LinkChangeKind::Added, "added"),
        (LinkChangeKind::Removed, "removed"),
    ] {
        let lines: Vec<String> =
            links.iter().filter(|link| link.kind() == kind).map(link_line).collect();
        is_cut |= section(&mut out, ("link", "links"), what, &lines, all);
    }
    if is_cut {
        out.push_str(&next(&[&hint.command("diff", &[&from_generation.to_string()], &["--all"])]));
    }
    out
}

/// Writes the lines of one kind below their count, and returns whether some were omitted.
fn section(
    out: &mut String,
    (one, several): (&str, &str),
    what: &str,
    lines: &[String],
    all: bool,
) -> bool {
    if lines.is_empty() {
        return false;
    }
    let heading = format!("{} {what}", counted(lines.len() as u64, one, several));
    let _ = writeln!(out, "\n{}", paint(STRONG, &heading));
    let n_shown = if all { lines.len() } else { lines.len().min(SHOWN) };
    lines[..n_shown].iter().for_each(|line| {
        let _ = writeln!(out, "{line}");
    });
    let n_omitted = lines.len() - n_shown;
    if n_omitted > 0 {
        let _ = writeln!(out, "  {}", paint(DIM, &format!("… and {n_omitted} more")));
    }
    n_omitted > 0
}

fn note_line(note: &NoteChange) -> String {
    let NoteChange { kind: _, uri, vault: _, path, title, before, parts } = note;
    let mark = match note.kind() {
        NoteChangeKind::Added => paint(GOOD, "+"),
        NoteChangeKind::Removed => paint(BAD, "-"),
        NoteChangeKind::Moved | NoteChangeKind::Changed | NoteChangeKind::Unspecified => {
            paint(NOTICE, "~")
        }
    };
    let mut line = format!("  {mark} {}", harmless(uri));
    let mut shown = vec![NotePart::Uri];
    match before {
        Some(before) if before.path != *path || before.uri != *uri => {
            let was = if before.uri == *uri { &before.path } else { &before.uri };
            let _ = write!(line, " {}", paint(DIM, &format!("← {}", harmless(was))));
        }
        Some(_) => {}
        // Most titles equal the last segment of the uri and are not repeated.
        None if parts.is_empty() && !uri.ends_with(title.as_str()) => {
            let _ = write!(line, "  {}", paint(DIM, &harmless(title)));
        }
        None => {}
    }
    if let Some(before) = before.as_ref().filter(|before| before.title != *title) {
        shown.push(NotePart::Title);
        let titles = format!("“{}” → “{}”", harmless(&before.title), harmless(title));
        let _ = write!(line, "  {}", paint(DIM, &titles));
    }
    let rest: Vec<&str> =
        note.parts().filter(|part| !shown.contains(part)).filter_map(part_name).collect();
    if !rest.is_empty() {
        let _ = write!(line, "  {}", paint(DIM, &rest.join(", ")));
    }
    line
}

const fn part_name(part: NotePart) -> Option<&'static str> {
    Some(match part {
        NotePart::Unspecified => return None,
        NotePart::Uri => "uri",
        NotePart::Title => "title",
        NotePart::Text => "text",
        NotePart::Frontmatter => "frontmatter",
        NotePart::Aliases => "aliases",
        NotePart::Tags => "tags",
        NotePart::Type => "type",
        NotePart::Parent => "parent",
        NotePart::Object => "object",
    })
}

fn link_line(link: &LinkChange) -> String {
    let LinkChange { from, to, r#type, source: _, kind: _, before } = link;
    let mark = match link.kind() {
        LinkChangeKind::Added | LinkChangeKind::Resolved => paint(GOOD, "+"),
        LinkChangeKind::Removed | LinkChangeKind::Unresolved => paint(BAD, "-"),
        LinkChangeKind::Retargeted | LinkChangeKind::Unspecified => paint(NOTICE, "~"),
    };
    let mut line = format!("  {mark} {} → {}", harmless(from), harmless(to));
    if link.source() == LinkSource::Typed {
        let _ = write!(line, "  {}", paint(DIM, &harmless(r#type)));
    }
    if let Some(before) = before.as_ref().filter(|before| *before != to) {
        let _ = write!(line, "  {}", paint(DIM, &format!("before: {}", harmless(before))));
    }
    line
}

#[cfg(test)]
mod tests {
    use weft_proto::noteweft::v1::NoteName;

    use super::*;

    #[test]
    fn changes_are_grouped_by_kind() {
        let note = |kind: NoteChangeKind, uri: &str| NoteChange {
            kind: kind.into(),
            uri: uri.into(),
            path: format!("{uri}.md"),
            title: uri.into(),
            ..NoteChange::default()
        };
        let named = |uri: &str| NoteName {
            uri: uri.into(),
            path: format!("{uri}.md"),
            title: uri.into(),
            ..NoteName::default()
        };
        let link = |kind: LinkChangeKind, to: &str, before: Option<&str>| LinkChange {
            from: "fern".into(),
            to: to.into(),
            kind: kind.into(),
            before: before.map(str::to_owned),
            ..LinkChange::default()
        };
        let text = NotePart::Text.into();
        let answer = DiffResponse {
            notes: vec![
                NoteChange { title: "Wet moss".into(), ..note(NoteChangeKind::Added, "peat") },
                NoteChange {
                    before: Some(named("moss")),
                    parts: vec![NotePart::Uri.into(), NotePart::Title.into()],
                    ..note(NoteChangeKind::Moved, "bog/moss")
                },
                NoteChange { parts: vec![text], ..note(NoteChangeKind::Changed, "fern") },
            ],
            links: vec![
                link(LinkChangeKind::Unresolved, "moss", Some("moss")),
                link(LinkChangeKind::Retargeted, "b", Some("a")),
            ],
            from_generation: 3,
            generation: 5,
        };
        let shown = diff(&answer, false, &Hint::daemon(None));
        assert_eq!(
            anstream::adapter::strip_str(&shown).to_string(),
            "generation 3 → 5

1 note added
  + peat  Wet moss

1 note moved
  ~ bog/moss ← moss  “moss” → “bog/moss”

1 note changed
  ~ fern  text

1 link now unresolved
  - fern → moss

1 link retargeted
  ~ fern → b  before: a
"
        );
        let many = DiffResponse {
            notes: vec![note(NoteChangeKind::Added, "x"); SHOWN + 2],
            links: Vec::new(),
            ..answer
        };
        let shown = diff(&many, false, &Hint::daemon(None));
        assert!(shown.contains("… and 2 more") && shown.contains("diff 3 --all"), "{shown}");
        let nothing = DiffResponse { notes: Vec::new(), ..many };
        assert!(diff(&nothing, true, &Hint::daemon(None)).starts_with("no changes"));
    }
}
