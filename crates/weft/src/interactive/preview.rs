//! Preview of a note: its text around the best passage.

use weft_model::escape;
use weft_proto::noteweft::v1::{GetNoteResponse, Snippet};

/// Lines shown above the passage.
const LINES_ABOVE: usize = 2;

/// Maximum number of characters of a line that are shown; a longer line is cut.
const MAX_LINE_CHARS: usize = 2000;

/// Spaces for a tab.
const TAB: &str = "    ";

/// Text of a note, with the lines of its best passage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Preview {
    pub(super) uri: String,
    /// Headings above the passage, outermost first.
    pub(super) heading_path: Vec<String>,
    body: String,
    /// Byte at which each line begins.
    line_starts: Vec<usize>,
    /// Lines of the passage.
    passage: std::ops::Range<usize>,
    /// Matched words, in lower case.
    words: Vec<String>,
    /// First line shown.
    pub(super) top: usize,
}

/// A line of a preview as shown: escaped, with its matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PreviewLine {
    /// Parts of the line, and whether each is a match.
    pub(super) parts: Vec<(String, bool)>,
    /// True if the line belongs to the passage.
    pub(super) in_passage: bool,
    /// True if the line is a heading.
    pub(super) is_heading: bool,
}

impl Preview {
    /// Creates a preview of `note` that shows `snippet`, or its beginning.
    pub(super) fn new(note: GetNoteResponse, snippet: Option<&Snippet>) -> Self {
        let GetNoteResponse { uri, body, .. } = note;
        let line_starts: Vec<usize> =
            std::iter::once(0).chain(body.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let line_of = |offset: u32| {
            let at = body.char_indices().nth(offset as usize).map_or(body.len(), |(at, _)| at);
            line_starts.partition_point(|start| *start <= at).saturating_sub(1)
        };
        let passage = snippet.map_or(0..0, |snippet| {
            // The end is exclusive, and a passage that ends with its line has not reached the next one.
            line_of(snippet.start)..line_of(snippet.end.saturating_sub(1)) + 1
        });
        let mut words: Vec<String> = snippet.map(matched_words).unwrap_or_default();
        words.sort_unstable();
        words.dedup();
        let heading_path = snippet.map(|it| it.heading_path.clone()).unwrap_or_default();
        let top = passage.start.saturating_sub(LINES_ABOVE);
        Self { uri, heading_path, body, line_starts, passage, words, top }
    }

    /// Scrolls by a number of lines.
    pub(super) fn scroll(&mut self, by: isize) {
        let last = self.line_starts.len().saturating_sub(1);
        self.top = self.top.saturating_add_signed(by).min(last);
    }

    /// Returns up to `n` lines from the first one shown.
    pub(super) fn lines(&self, n: usize) -> Vec<PreviewLine> {
        let end = self.line_starts.len().min(self.top.saturating_add(n));
        (self.top..end).map(|at| self.line(at)).collect()
    }

    fn line(&self, at: usize) -> PreviewLine {
        let end = self.line_starts.get(at + 1).copied().unwrap_or(self.body.len());
        let line = self.body[self.line_starts[at]..end].trim_end();
        let cut = line.char_indices().nth(MAX_LINE_CHARS).map_or(line.len(), |(at, _)| at);
        let mut shown = escape::one_line(&line[..cut].replace('\t', TAB)).into_owned();
        if cut < line.len() {
            shown.push('…');
        }
        let level = line.bytes().take_while(|byte| *byte == b'#').count();
        PreviewLine {
            parts: marked(&shown, &self.words),
            in_passage: self.passage.contains(&at),
            is_heading: (1..=6).contains(&level) && line[level..].starts_with(' '),
        }
    }
}

/// Returns the matched parts of a snippet, in lower case.
fn matched_words(snippet: &Snippet) -> Vec<String> {
    let words = snippet.matches.iter().map(|span| {
        let length = span.end.saturating_sub(span.start) as usize;
        let word = snippet.text.chars().skip(span.start as usize).take(length);
        word.flat_map(char::to_lowercase).collect::<String>()
    });
    words.filter(|word| !word.trim().is_empty()).collect()
}

/// Splits a line at the words it contains; a word counts only where a word begins.
fn marked(line: &str, words: &[String]) -> Vec<(String, bool)> {
    let mut parts: Vec<(String, bool)> = Vec::new();
    let mut push = |text: &str, is_match: bool| match parts.last_mut() {
        Some((last, known)) if *known == is_match => last.push_str(text),
        _ => parts.push((text.to_owned(), is_match)),
    };
    let (mut rest, mut follows_letter) = (line, false);
    while let Some(c) = rest.chars().next() {
        let longest = words.iter().filter_map(|word| prefix_ignoring_case(rest, word)).max();
        let (length, is_match) = match longest.filter(|_| !follows_letter) {
            Some(length) => (length, true),
            None => (c.len_utf8(), false),
        };
        push(&rest[..length], is_match);
        follows_letter = rest[..length].chars().next_back().is_some_and(char::is_alphanumeric);
        rest = &rest[length..];
    }
    parts
}

/// Returns the length of the beginning of `text` that equals `word`, which is in lower case.
fn prefix_ignoring_case(text: &str, word: &str) -> Option<usize> {
    let mut wanted = word.chars();
    for (at, c) in text.char_indices() {
        if wanted.as_str().is_empty() {
            return Some(at);
        }
        if !c.to_lowercase().all(|c| wanted.next() == Some(c)) {
            return None;
        }
    }
    wanted.as_str().is_empty().then_some(text.len())
}

#[cfg(test)]
mod tests {
    use weft_proto::noteweft::v1::Span;

    use super::*;

    fn preview(body: &str, passage: &str, word: &str) -> Preview {
        let chars = |text: &str| u32::try_from(text.chars().count()).unwrap();
        let at = body.find(passage).unwrap();
        let start = chars(&body[..at]);
        let matched = chars(&passage[..passage.find(word).unwrap()]);
        let snippet = Snippet {
            text: passage.to_owned(),
            start,
            end: start + chars(passage),
            matches: vec![Span { start: matched, end: matched + chars(word) }],
            ..Snippet::default()
        };
        let note = GetNoteResponse { body: body.to_owned(), ..GetNoteResponse::default() };
        Preview::new(note, Some(&snippet))
    }

    #[test]
    fn passage_is_shown_with_lines_above_it() {
        let body = "# Moss\n\none\ntwo\nthree soft ß\nfour\n";
        let preview = preview(body, "three soft ß\n", "soft");
        assert_eq!(preview.top, 2);
        let lines = preview.lines(9);
        assert_eq!(lines.len(), 5, "the last line is empty");
        let in_passage: Vec<bool> = lines.iter().map(|line| line.in_passage).collect();
        assert_eq!(in_passage, [false, false, true, false, false]);
        let three = [("three ", false), ("soft", true), (" ß", false)];
        assert_eq!(lines[2].parts, three.map(|(text, is_match)| (text.to_owned(), is_match)));
    }

    #[test]
    fn scrolling_stops_at_both_ends() {
        let mut preview = preview("# A\nb\nc", "b", "b");
        assert!(preview.lines(1)[0].is_heading);
        preview.scroll(-5);
        assert_eq!(preview.top, 0);
        preview.scroll(50);
        assert_eq!((preview.top, preview.lines(9).len()), (2, 1));
    }

    #[test]
    fn lines_are_escaped_and_bounded() {
        let long = "x".repeat(3 * MAX_LINE_CHARS);
        let preview = preview(&format!("a\u{1b}[31m\tb\u{202e}c\r\n{long}"), "a", "a");
        let lines = preview.lines(2);
        let text: String = lines[0].parts.iter().map(|(text, _)| text.as_str()).collect();
        assert_eq!(text, "a\\u{1b}[31m    b\\u{202e}c");
        let text: String = lines[1].parts.iter().map(|(text, _)| text.as_str()).collect();
        assert_eq!(text.chars().count(), MAX_LINE_CHARS + 1);
    }

    #[test]
    fn words_match_where_a_word_begins() {
        let words = ["leap".to_owned(), "leap second".to_owned(), "straße".to_owned()];
        for (line, expected) in [
            ("Leap seconds", "[Leap second]s"),
            ("a leap, leapt", "a [leap], [leap]t"),
            ("overleap", "overleap"),
            ("STRASSE Straße", "STRASSE [Straße]"),
            ("", ""),
        ] {
            let parts = marked(line, &words).into_iter();
            let shown: String = parts
                .map(|(text, is_match)| if is_match { format!("[{text}]") } else { text })
                .collect();
            assert_eq!(shown, expected);
        }
    }
}
