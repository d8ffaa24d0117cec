//! Passages: the parts of a body that are scored, and shown, as one.
//!
//! A passage is a paragraph, or several short ones. It never crosses a heading, and begins with the heading of its section if it is the first one there.
//! Link reference definitions, which no reader sees, are passages of their own.
//! Images, tags and HTML without text stay with the text before them; below a heading without text, the passage counts as a heading only.
//! Passages depend on the body alone, not on a model, so that they exist in every index.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

use crate::text::{byte_of_char, sentences};
use crate::{Heading, is_link_definition};

/// Minimum length in bytes; a shorter passage is extended by the next paragraph of its section.
///
/// Bytes rather than characters, because scripts with longer encodings say more in one character.
const MIN_BYTES: usize = 300;

/// Maximum length in bytes; a longer paragraph is split.
const MAX_BYTES: usize = 1200;

/// Length in bytes below which a paragraph is too short to stand alone.
const SHORT_BYTES: usize = 80;

/// Maximum length in bytes of an image, a tag or an address that is passed over.
const MAX_MARKUP_BYTES: usize = 1024;

/// A passage of a body, without surrounding white space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BodyPassage {
    /// Bytes of the body.
    pub bytes: Range<usize>,
    /// The heading at its start, if it has one.
    pub heading: Option<PassageHeading>,
}

/// The heading at the start of a passage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassageHeading {
    /// Level, 1 to 6.
    pub level: u8,
    /// End of the heading in the body, in bytes.
    pub end: usize,
}

impl BodyPassage {
    /// Returns the bytes of the passage below its heading.
    #[must_use]
    pub fn text_bytes(&self) -> Range<usize> {
        let start = self.heading.map_or(self.bytes.start, |heading| heading.end);
        start.min(self.bytes.end)..self.bytes.end
    }

    /// True if the passage consists of a heading and at most images, tags and HTML without text.
    #[must_use]
    pub fn is_bare(&self, body: &str) -> bool {
        self.heading.is_some() && !has_prose(&body[self.text_bytes()])
    }
}

/// Splits a body into passages, in text order. Every character except white space is in one of them. `O(bytes)`.
///
/// `headings` are those of the body, in text order.
#[must_use]
pub fn passages(body: &str, headings: &[Heading]) -> Vec<BodyPassage> {
    let mut found = Vec::new();
    let mut open: Option<BodyPassage> = None;
    let mut close = |open: &mut Option<BodyPassage>| {
        found.extend(open.take().map(|passage| trimmed(body, passage)));
    };
    for section in sections(body, headings) {
        close(&mut open);
        let mut start = section.bytes.start;
        if let Some(heading) = section.heading {
            open = Some(BodyPassage { bytes: start..heading.end, heading: Some(heading) });
            start = heading.end;
        }
        for paragraph in paragraphs(body, start..section.bytes.end) {
            if only_defines_links(&body[paragraph.clone()]) {
                close(&mut open);
                close(&mut Some(BodyPassage { bytes: paragraph, heading: None }));
                continue;
            }
            if let Some(passage) = &mut open {
                let (own, added) = (passage.bytes.len(), paragraph.len());
                let is_short = own < MIN_BYTES
                    || added < SHORT_BYTES
                    || passage.is_bare(body)
                    || !has_prose(&body[paragraph.clone()]);
                if is_short && own + added <= MAX_BYTES {
                    passage.bytes.end = paragraph.end;
                    continue;
                }
            }
            // A heading stays with the beginning of a long paragraph.
            let mut pieces = split(body, paragraph).into_iter();
            if let Some(passage) = open.as_mut().filter(|passage| passage.is_bare(body))
                && let Some(first) = pieces.next()
            {
                passage.bytes.end = first.end;
            }
            for piece in pieces {
                close(&mut open);
                open = Some(BodyPassage { bytes: piece, heading: None });
            }
        }
    }
    close(&mut open);
    found.retain(|passage| !passage.bytes.is_empty());
    found
}

/// True if a text has a letter or digit outside of images, embeds, tags, HTML, the addresses of links and the ids of blocks.
fn has_prose(text: &str) -> bool {
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let after = &rest[first.len_utf8()..];
        let skipped = match first {
            '!' if after.starts_with("[[") => end_of(after, "]]"),
            '!' if after.starts_with('[') => end_of(after, "](").map(|end| end - "](".len()),
            ']' if after.starts_with('(') => end_of(after, ")"),
            '<' if after.starts_with("!--") => end_of(after, "-->"),
            '<' if after.starts_with(|next: char| next == '/' || next.is_ascii_alphabetic()) => {
                end_of(after, ">")
            }
            '#' | '^' => {
                let ends = |c: char| c.is_whitespace() || c == '<';
                Some(1 + after.find(ends).unwrap_or(after.len()))
            }
            _ if first.is_alphanumeric() => return true,
            _ => None,
        };
        rest = &rest[skipped.unwrap_or(first.len_utf8())..];
    }
    false
}

/// Returns the end of the first `closing` in the text that follows a character of one byte, counted from that character; `None` if it is too far away.
fn end_of(after: &str, closing: &str) -> Option<usize> {
    let near = &after[..after.floor_char_boundary(MAX_MARKUP_BYTES)];
    near.find(closing).map(|at| 1 + at + closing.len())
}

/// True if every line of a paragraph is a link reference definition.
fn only_defines_links(paragraph: &str) -> bool {
    paragraph.lines().filter(|line| !line.trim().is_empty()).all(is_link_definition)
}

/// A heading with the text up to the next heading, or the text before the first heading.
struct HeadedSection {
    bytes: Range<usize>,
    heading: Option<PassageHeading>,
}

fn sections(body: &str, headings: &[Heading]) -> Vec<HeadedSection> {
    let mut sections = Vec::with_capacity(headings.len() + 1);
    let (mut byte, mut char) = (0, 0);
    let mut byte_at = |at: u32| {
        if at >= char {
            byte += byte_of_char(&body[byte..], (at - char) as usize);
        } else {
            byte = byte_of_char(body, at as usize);
        }
        char = at;
        byte
    };
    let (mut start, mut heading) = (0, None);
    for next in headings {
        let (from, to) = (byte_at(next.span.start), byte_at(next.span.end));
        // Headings of damaged input could overlap.
        if from < start || to < from {
            continue;
        }
        sections.push(HeadedSection { bytes: start..from, heading });
        (start, heading) = (from, Some(PassageHeading { level: next.level, end: to }));
    }
    sections.push(HeadedSection { bytes: start..body.len(), heading });
    sections
}

/// Splits `bytes` into paragraphs, each with the blank lines after it. Blank lines within a code fence do not end a paragraph.
fn paragraphs(body: &str, bytes: Range<usize>) -> Vec<Range<usize>> {
    let mut paragraphs = Vec::new();
    let (mut start, mut at, mut is_after_blank) = (bytes.start, bytes.start, false);
    let mut fence: Option<&str> = None;
    for line in body[bytes.clone()].split_inclusive('\n') {
        let text = line.trim();
        let is_blank = text.is_empty();
        if is_after_blank && !is_blank && fence.is_none() {
            if !body[start..at].trim().is_empty() {
                paragraphs.push(start..at);
            }
            start = at;
        }
        fence = match fence {
            Some(marker) if text.starts_with(marker) => None,
            None => ["```", "~~~"].into_iter().find(|marker| text.starts_with(marker)),
            open => open,
        };
        is_after_blank = is_blank;
        at += line.len();
    }
    if !body[start..bytes.end].trim().is_empty() {
        paragraphs.push(start..bytes.end);
    }
    paragraphs
}

/// Splits a paragraph into pieces of about equal length and at most [`MAX_BYTES`]: between lines if possible, else between sentences, else between words.
fn split(body: &str, paragraph: Range<usize>) -> Vec<Range<usize>> {
    if paragraph.len() <= MAX_BYTES {
        return vec![paragraph];
    }
    let text = &body[paragraph.clone()];
    // Sentences do not end where the pieces should, so the pieces need some room.
    let target = text.len() / text.len().div_ceil(MAX_BYTES * 4 / 5);
    let mut pieces: Vec<Range<usize>> = Vec::new();
    let mut push = |unit: Range<usize>| match pieces.last_mut() {
        Some(last) if last.len() < target && last.len() + unit.len() <= MAX_BYTES => {
            last.end = unit.end;
        }
        _ => pieces.push(unit),
    };
    let mut start = paragraph.start;
    for line in text.split_inclusive('\n') {
        let line = start..start + line.len();
        start = line.end;
        if line.len() <= target {
            push(line);
            continue;
        }
        for (at, sentence) in sentences(&body[line.clone()]) {
            let start = line.start + at;
            let mut sentence = start..start + sentence.len();
            while sentence.len() > MAX_BYTES {
                let end = sentence.start + word_end(&body[sentence.clone()], target.max(1));
                push(sentence.start..end);
                sentence.start = end;
            }
            push(sentence);
        }
    }
    pieces
}

/// Returns the last word boundary of `text` at or before `limit`, at least one character.
fn word_end(text: &str, limit: usize) -> usize {
    let limit = text.floor_char_boundary(limit);
    let space = text[..limit].rfind(char::is_whitespace).map(|at| at + 1);
    let space = space.map(|at| text.ceil_char_boundary(at)).filter(|at| *at > limit / 2);
    let first = || text.chars().next().map_or(0, char::len_utf8);
    let bounds = || text[..limit].split_word_bound_indices().map(|(at, _)| at).next_back();
    space.or_else(|| bounds().filter(|at| *at > 0)).unwrap_or_else(|| limit.max(first()))
}

/// Removes the white space around a passage.
fn trimmed(body: &str, passage: BodyPassage) -> BodyPassage {
    let BodyPassage { bytes, heading } = passage;
    let text = &body[bytes.clone()];
    let start = bytes.end - text.trim_start().len();
    let end = bytes.start + text.trim_end().len();
    BodyPassage { bytes: start.min(end)..end, heading }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;

    /// Finds headings written as `#` lines.
    fn headings(body: &str) -> Vec<Heading> {
        let mut found = Vec::new();
        let mut at = 0;
        for line in body.split_inclusive('\n') {
            let text = line.trim_end();
            let n_chars = |bytes: usize| u32::try_from(body[..bytes].chars().count()).unwrap();
            let level = text.bytes().take_while(|byte| *byte == b'#').count();
            if (1..=6).contains(&level) && text[level..].starts_with(' ') {
                found.push(Heading {
                    level: u8::try_from(level).unwrap(),
                    text: text[level + 1..].to_owned(),
                    span: Span::new(n_chars(at), n_chars(at + text.len())),
                });
            }
            at += line.len();
        }
        found
    }

    fn texts(body: &str) -> Vec<(Option<u8>, &str)> {
        let found = passages(body, &headings(body));
        let level = |passage: &BodyPassage| passage.heading.map(|heading| heading.level);
        found.iter().map(|passage| (level(passage), &body[passage.bytes.clone()])).collect()
    }

    #[test]
    fn passages_follow_paragraphs_and_sections() {
        let long = "A sentence about ferns. ".repeat(14);
        let long = long.trim_end();
        for (body, expected) in [
            ("", vec![]),
            (" \n\n", vec![]),
            ("one\n\ntwo\n", vec![(None, "one\n\ntwo")]),
            (
                "lead\n\n# é Title\n\n## Part\n\ntext\n\n\n## Next\nmore",
                vec![
                    (None, "lead"),
                    (Some(1), "# é Title"),
                    (Some(2), "## Part\n\ntext"),
                    (Some(2), "## Next\nmore"),
                ],
            ),
            (
                &format!("{long}\n\n{long}\n\nshort\n"),
                vec![(None, long), (None, &format!("{long}\n\nshort"))],
            ),
            ("```\none\n\ntwo\n```\n", vec![(None, "```\none\n\ntwo\n```")]),
            (
                "# Title\n\none\n\n[a]: a.md\n[b]: b.md\n\ntwo\n",
                vec![(Some(1), "# Title\n\none"), (None, "[a]: a.md\n[b]: b.md"), (None, "two")],
            ),
        ] {
            assert_eq!(texts(body), expected, "{body:?}");
        }
    }

    #[test]
    fn long_paragraphs_are_split_between_sentences_and_words() {
        let sentences = "Ferns like shade, and so does moss. ".repeat(100);
        let found = texts(&sentences);
        assert_eq!(found.len(), 4);
        assert!(found.iter().all(|(_, text)| text.starts_with("Ferns") && text.ends_with("moss.")));
        for long in ["fern ".repeat(1000), "蕨".repeat(2000), "x".repeat(5000)] {
            let found = texts(&long);
            assert!(found.len() > 3 && found.iter().all(|(_, text)| text.len() <= MAX_BYTES));
            let joined: String = found.iter().map(|(_, text)| text.replace(' ', "")).collect();
            assert_eq!(joined, long.replace(' ', ""));
        }
        let headed = format!("# Ferns\n\n{sentences}");
        assert!(texts(&headed)[0].1.starts_with("# Ferns\n\nFerns like"));
    }

    #[test]
    fn images_and_tags_are_no_passage_of_their_own() {
        for text in [
            "<span class=\"related-pages\">#feature/dates</span>",
            "![Tasks grouped](../images/tasks-1.png)",
            "[![a badge](https://example.org/badge.svg)](https://example.org)",
            "![[diagram.png|300]] ^b15695",
            "<!-- a comment -->\n---\n<br/>",
            "#one #two/three",
            "",
        ] {
            assert!(!has_prose(text), "{text:?}");
            let body = format!("# Dates\n\n{text}\n\n## Due\n\nBefore noon.");
            let found = passages(&body, &headings(&body));
            assert!(found[0].is_bare(&body) && !found[1].is_bare(&body), "{text:?}");
        }
        for text in ["a", "[a link](a.md)", "1 < 2", "- [ ] x", "蕨", "![", "<b>bold</b>"] {
            assert_eq!(has_prose(text), text.chars().any(char::is_alphanumeric), "{text:?}");
        }
        let sentences = "Ferns like shade. ".repeat(20);
        let image = format!("![a fern]({}.png)", "fern".repeat(30));
        let body = format!("{sentences}\n\n{image}\n\n{sentences}");
        let found = texts(&body);
        assert_eq!(found.len(), 2, "an image stays with the text before it");
        assert!(found[0].1.ends_with(&image));
        // Markup that never ends takes linear time.
        assert!(!has_prose(&"![[<![".repeat(20_000)));
    }

    #[test]
    fn every_character_is_in_one_passage() {
        let pieces =
            ["# Head\n", "word ", "\n\n", "Sentence one. ", "- item\n", "漢字。", "```\n", " "];
        let mut state = 7_usize;
        for _ in 0..300 {
            let mut body = String::new();
            for _ in 0..60 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                body.push_str(&pieces[(state >> 33) % pieces.len()].repeat(1 + (state >> 50) % 40));
            }
            let squeezed = |text: &str| text.split_whitespace().collect::<String>();
            let found = passages(&body, &headings(&body));
            let joined: String =
                found.iter().map(|passage| squeezed(&body[passage.bytes.clone()])).collect();
            assert_eq!(joined, squeezed(&body));
            assert!(found.is_sorted_by(|left, right| left.bytes.end <= right.bytes.start));
        }
    }
}
