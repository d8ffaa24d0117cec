//! Outlines: the heading lines of a note.

use weft_model::{Chars, Heading, Span, longest};

use crate::Mode;
use crate::grapheme_cut;
use crate::note_content::{Content, Excerpt, lines_length};

/// Returns the headings of an outline, in text order.
fn shown(headings: &[Heading], depth: u8) -> impl Iterator<Item = Span> + '_ {
    headings.iter().filter(move |heading| heading.level <= depth).map(|heading| heading.span)
}

/// Returns the length of a whole outline without reading the body; without headings, the length of the title.
pub(crate) fn length(headings: &[Heading], depth: u8, title: &str) -> Chars {
    match shown(headings, depth).count() {
        0 => Chars::of(title),
        n_lines => {
            lines_length(n_lines, shown(headings, depth).map(|span| u64::from(span.len())).sum())
        }
    }
}

/// Returns the length of the first line of an outline without reading the body.
pub(crate) fn first_line(headings: &[Heading], depth: u8, title: &str) -> Chars {
    shown(headings, depth)
        .next()
        .map_or_else(|| Chars::of(title), |span| Chars(u64::from(span.len())))
}

/// Returns as many heading lines as fit, as written; the title without headings. `None` if not even the first line fits.
pub(crate) fn outline<'b>(
    body: &'b str,
    headings: &[Heading],
    depth: u8,
    title: &'b str,
    fits: &mut dyn FnMut(&Content<'b>) -> bool,
) -> Option<Content<'b>> {
    let spans: Vec<Span> = shown(headings, depth).collect();
    let mut lines = grapheme_cut::excerpts(body, &spans);
    if lines.is_empty() {
        lines.push(Excerpt { span: None, text: title });
    }
    let content = |n_lines: usize| Content {
        mode: Mode::Structural,
        excerpts: lines[..n_lines].to_vec(),
        truncated: n_lines < lines.len(),
        heading_path: vec![],
    };
    match longest(lines.len(), lines.len(), |n| fits(&content(n))) {
        0 => None,
        n_lines => Some(content(n_lines)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heading(level: u8, span: Span) -> Heading {
        Heading { level, text: String::new(), span }
    }

    #[test]
    fn lines_are_whole_and_within_the_depth() {
        let body = "# One\ntext\nTwo\n===\n#### Deep\n### Three #\n";
        let headings = [(1, 0, 5), (1, 11, 18), (4, 19, 28), (3, 29, 40)]
            .map(|(level, start, end)| heading(level, Span::new(start, end)));
        let cases = [
            ("all", 40, Some("# One\nTwo\n===\n### Three #")),
            ("exactly", 25, Some("# One\nTwo\n===\n### Three #")),
            ("the newline counts", 24, Some("# One\nTwo\n===")),
            ("one line", 12, Some("# One")),
            ("no line", 4, None),
        ];
        for (name, room, expected) in cases {
            let mut fits = |content: &Content<'_>| content.text().chars().count() <= room;
            let found = outline(body, &headings, 3, "Title", &mut fits);
            assert_eq!(found.as_ref().map(Content::text).as_deref(), expected, "{name}");
            assert_eq!(
                found.is_some_and(|found| found.truncated),
                expected.is_some() && room < 25,
                "{name}"
            );
        }
        assert_eq!(length(&headings, 3, "Title"), Chars(25));
        assert_eq!(first_line(&headings, 3, "Title"), Chars(5));
    }

    #[test]
    fn note_without_headings_shows_its_title() {
        let mut fits = |content: &Content<'_>| content.text().chars().count() <= 5;
        let found = outline("text", &[heading(4, Span::new(0, 4))], 3, "Title", &mut fits);
        assert_eq!(
            found.map(|found| (found.text(), found.spans())),
            Some(("Title".into(), vec![]))
        );
        assert_eq!(length(&[], 3, "Title"), Chars(5));
    }
}
