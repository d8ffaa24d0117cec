//! Encoded data in texts: `data:` addresses and base64. It has no words, so it is neither searched nor shown as text.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem;

use crate::text::{CharCounter, Span};

/// Minimum length in bytes of a line of base64; encoders write 60, 64 or 76.
const MIN_LINE: usize = 60;

/// Maximum length in bytes of base64 that is kept as a word: a line, or a key. Longer data is left out.
const MAX_WORD: usize = 120;

/// Maximum mean length of a run of lowercase letters, uppercase letters or digits in base64. Random data has 1.5, words have more than 4.
const MAX_MEAN_RUN: usize = 3;

/// Maximum length in bytes of the media type of a `data:` address.
const MAX_MEDIA_TYPE: usize = 128;

/// Start of a code block that Excalidraw compresses its drawing into.
const COMPRESSED_BLOCK: &str = "```compressed-json\n";

/// Returns the byte ranges of encoded data in `text`, ascending: `data:` addresses, base64 longer than a line, and the compressed drawings of Excalidraw. `O(bytes)`.
#[must_use]
pub fn encoded_data(text: &str) -> Vec<Range<usize>> {
    let mut found = base64(text);
    found.extend(data_addresses(text));
    found.extend(compressed_blocks(text));
    found.sort_unstable_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
    found.dedup_by(|later, earlier| {
        let overlaps = later.start <= earlier.end;
        if overlaps {
            earlier.end = earlier.end.max(later.end);
        }
        overlaps
    });
    found
}

/// Returns `text` without its encoded data.
#[must_use]
pub fn without_encoded_data(text: &str) -> Cow<'_, str> {
    let ranges = encoded_data(text);
    if ranges.is_empty() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(without(text, &ranges))
}

/// A text without its encoded data, with the places of its parts in the original.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutText {
    text: String,
    /// The cut ranges of the original in characters, ascending.
    cuts: Vec<Span>,
}

impl CutText {
    /// Cuts the encoded data out of a text; returns `None` if it contains none. `O(bytes)`.
    #[must_use]
    pub fn of(original: &str) -> Option<Self> {
        let ranges = encoded_data(original);
        if ranges.is_empty() {
            return None;
        }
        let text = without(original, &ranges);
        let mut counter = CharCounter::new(original);
        let cuts = ranges.into_iter().map(|range| counter.span(range)).collect();
        Some(Self { text, cuts })
    }

    /// Returns the text without encoded data.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the place of a range of the original in the cut text; empty if all of it was cut.
    #[must_use]
    pub fn cut(&self, original: Span) -> Span {
        let at = |place: u32| {
            let before = self.cuts.iter().take_while(|cut| cut.start < place);
            let n_cut: u32 = before.map(|cut| cut.end.min(place) - cut.start).sum();
            place - n_cut
        };
        Span::new(at(original.start), at(original.end))
    }

    /// Returns the smallest range of the original that contains a range of the cut text.
    #[must_use]
    pub fn restore(&self, cut: Span) -> Span {
        let at = |place: u32, is_end: bool| {
            let mut place = place;
            for cut in &self.cuts {
                if cut.start > place || (is_end && cut.start == place) {
                    break;
                }
                place += cut.end - cut.start;
            }
            place
        };
        let start = at(cut.start, false);
        Span::new(start, at(cut.end, cut.end > cut.start).max(start))
    }
}

/// Returns `text` without `ranges`, which are ascending.
fn without(text: &str, ranges: &[Range<usize>]) -> String {
    let mut rest = String::with_capacity(text.len());
    let mut start = 0;
    for range in ranges {
        rest.push_str(&text[start..range.start]);
        start = range.end;
    }
    rest.push_str(&text[start..]);
    rest
}

/// Returns `data:` addresses: a media type or `;base64`, a comma, and everything up to a space, a bracket, or the quotation mark in front of it.
fn data_addresses(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    const SCHEME: &str = "data:";
    static SCHEMES: LazyLock<memmem::Finder<'_>> = LazyLock::new(|| memmem::Finder::new(SCHEME));
    let mut end = 0;
    SCHEMES.find_iter(text.as_bytes()).filter_map(move |start| {
        let rest = &text[start + SCHEME.len()..];
        let quote = text[..start].chars().next_back().filter(|c| matches!(c, '"' | '\''));
        let ends =
            |c: char| c.is_whitespace() || matches!(c, ')' | '>' | '`' | ']') || quote == Some(c);
        let head = &rest[..rest.floor_char_boundary(MAX_MEDIA_TYPE)];
        let comma = head.find(',')?;
        let media_type = &head[..comma];
        let is_media_type = !media_type.contains(ends)
            && (media_type.contains('/') || media_type.ends_with(";base64"));
        if start < end || !is_media_type {
            return None;
        }
        let n_bytes = rest[comma..].find(ends).unwrap_or(rest.len() - comma);
        end = start + SCHEME.len() + comma + n_bytes;
        Some(start..end)
    })
}

/// Returns the contents of compressed code blocks.
fn compressed_blocks(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    static BLOCKS: LazyLock<memmem::Finder<'_>> =
        LazyLock::new(|| memmem::Finder::new(COMPRESSED_BLOCK));
    BLOCKS.find_iter(text.as_bytes()).map(|at| {
        let start = at + COMPRESSED_BLOCK.len();
        let n_bytes = text[start..].find("```").unwrap_or(text.len() - start);
        start..start + n_bytes
    })
}

/// Returns base64 that is longer than a line, on one or on several lines.
fn base64(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found: Vec<Range<usize>> = Vec::new();
    // Lines so far: their range, and their number.
    let mut block = (0..0, 0);
    let mut at = 0;
    while at < bytes.len() {
        let run = run_around(bytes, block.0.end, at);
        let follows = block.1 > 0 && bytes[block.0.end..run.start].iter().all(is_between_lines);
        let is_data = run.len() >= MIN_LINE && is_base64(&bytes[run.clone()]);
        if is_data && follows {
            block = (block.0.start..run.end, block.1 + 1);
        } else if is_data {
            found.extend(long_block(bytes, &block));
            block = (run.clone(), 1);
        }
        // Every run of a line's length contains one of the examined positions.
        at = (at + MIN_LINE).max(run.end);
    }
    found.extend(long_block(bytes, &block));
    found
}

/// Returns true for bytes between two lines of base64: white space, and the marks of a quote.
fn is_between_lines(byte: &u8) -> bool {
    byte.is_ascii_whitespace() || *byte == b'>'
}

/// Returns a block of base64 with its shorter last line, if it is longer than a line.
fn long_block(bytes: &[u8], (range, n_lines): &(Range<usize>, usize)) -> Option<Range<usize>> {
    let n_blanks = bytes[range.end..].iter().take_while(|byte| is_between_lines(byte)).count();
    let start = range.end + n_blanks;
    let last = start..start + bytes[start..].iter().take_while(|byte| is_of_base64(**byte)).count();
    let is_alone = bytes.get(last.end).is_none_or(|byte| matches!(byte, b'\n' | b'\r'));
    let is_last = *n_lines > 0
        && n_blanks > 0
        && !last.is_empty()
        && is_alone
        && (is_base64(&bytes[last.clone()]) || bytes[last.end - 1] == b'=');
    let end = if is_last { last.end } else { range.end };
    (*n_lines + usize::from(is_last) > 1 || range.len() > MAX_WORD).then_some(range.start..end)
}

/// Returns the run of base64 letters around `at` that starts at `from` or later; an empty range if `at` is not in such a run.
fn run_around(bytes: &[u8], from: usize, at: usize) -> Range<usize> {
    let at = at.max(from);
    let after = bytes[at..].iter().take_while(|byte| is_of_base64(**byte)).count();
    if after == 0 {
        return at..at;
    }
    let before = bytes[from..at].iter().rev().take_while(|byte| is_of_base64(**byte)).count();
    at - before..at + after
}

/// Returns true for the letters of base64 and its form for addresses, and for the padding.
const fn is_of_base64(byte: u8) -> bool {
    const LETTERS: [bool; 256] = {
        let mut letters = [false; 256];
        let mut byte = 0_u8;
        while byte < 128 {
            let is_sign = matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=');
            letters[byte as usize] = byte.is_ascii_alphanumeric() || is_sign;
            byte += 1;
        }
        letters
    };
    LETTERS[byte as usize]
}

/// Returns true if letters of base64 are mixed as in encoded data, unlike in words, paths and hashes.
fn is_base64(run: &[u8]) -> bool {
    let (mut n_letters, mut n_runs, mut last) = (0, 1, None);
    let mut has = [false; 3];
    for byte in run {
        let kind = match byte {
            b'a'..=b'z' => Some(0),
            b'A'..=b'Z' => Some(1),
            b'0'..=b'9' => Some(2),
            _ => None,
        };
        n_runs += usize::from(last.is_some() && last != kind);
        if let Some(kind) = kind {
            has[kind] = true;
            n_letters += 1;
        }
        last = kind;
    }
    has == [true; 3] && n_letters <= MAX_MEAN_RUN * n_runs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns `n` letters of base64 of random bytes.
    fn data(n: usize) -> String {
        let letters: Vec<char> =
            ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['+', '/']).collect();
        let mut state = 1_u64;
        let next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            letters[(state >> 58) as usize]
        };
        std::iter::repeat_with(next).take(n).collect()
    }

    #[test]
    fn encoded_data_is_left_out() {
        let line = data(76);
        let cases = [
            (
                "a data address",
                format!("a ![x](data:image/png;base64,{}) b", data(5000)),
                "a ![x]() b",
            ),
            (
                "base64 in a quote",
                format!("> a\n> {}\n> {}==\n> b", data(76), data(30)),
                "> a\n> \n> b",
            ),
            ("a short one", "a data:,x data:;base64,QQ== b".to_owned(), "a data:,x  b"),
            (
                "text in an address",
                "<img src=\"data:image/svg+xml,%3Csvg%3E\">".to_owned(),
                "<img src=\"\">",
            ),
            (
                "quotation marks in an address",
                "a data:image/svg+xml,%3Csvg%20width='1' b 'data:text/plain,x' c".to_owned(),
                "a  b '' c",
            ),
            ("a long word", format!("a {} b", data(500)), "a  b"),
            ("lines", format!("a\n{line}\n{line}\nQUJD=\nb"), "a\n\nb"),
            ("lines with gaps", format!("a\n{line}\n\n  {line}\r\n{}\nb", data(30)), "a\n\nb"),
            (
                "a drawing",
                format!("a\n```compressed-json\nN4Ig\n\n{line}\n\nx\n```\nb"),
                "a\n```compressed-json\n```\nb",
            ),
            ("a line and a word", format!("{line}\nword"), &format!("{line}\nword")),
            ("one line", format!("key {line} end"), &format!("key {line} end")),
        ];
        for (name, text, expected) in cases {
            assert_eq!(without_encoded_data(&text), *expected, "{name}");
        }
    }

    #[test]
    fn places_move_between_a_text_and_its_cut_form() {
        let (one, two) = (data(200), data(150));
        let original = format!("é moss {one} fern {two}\n{two} end ü");
        let cut = CutText::of(&original).unwrap();
        assert_eq!(cut.as_str(), "é moss  fern  end ü");
        assert_eq!(CutText::of("é moss"), None);
        let find = |text: &str, part: &str| {
            let start = text[..text.find(part).unwrap()].chars().count();
            let end = start + part.chars().count();
            Span::new(u32::try_from(start).unwrap(), u32::try_from(end).unwrap())
        };
        for part in ["é moss", "fern", "end ü", "ü", " fern "] {
            assert_eq!(cut.cut(find(&original, part)), find(cut.as_str(), part), "{part}");
            assert_eq!(cut.restore(find(cut.as_str(), part)), find(&original, part), "{part}");
        }
        let whole = |text: &str| Span::new(0, u32::try_from(text.chars().count()).unwrap());
        assert_eq!(cut.cut(whole(&original)), whole(cut.as_str()));
        assert_eq!(cut.restore(whole(cut.as_str())), whole(&original));
        let inside = find(&original, &one);
        assert_eq!(cut.cut(inside), Span::new(7, 7));
        assert_eq!(cut.restore(Span::new(3, 12)).slice(&original), format!("oss {one} fern"));
    }

    #[test]
    fn words_paths_and_hashes_are_kept() {
        for text in [
            "",
            "metadata: a/b, c; data: soon, and data:later",
            &"word ".repeat(100),
            &"Donaudampfschifffahrtsgesellschaftskapitän".repeat(10),
            &format!("https://example.org/{}/2024/Index", "some-long-path-of-words/".repeat(20)),
            &format!("{}1F", "a_name_of_many_words_and_more_than_a_line_".repeat(5)),
            &"0123456789abcdef".repeat(20),
            &"=".repeat(300),
            &"-_-".repeat(300),
            &"é漢🌿".repeat(200),
        ] {
            assert_eq!(encoded_data(text), [], "{text}");
        }
    }

    #[test]
    fn ranges_are_cut_out_of_any_place() {
        let data = data(400);
        for n_before in 0..100 {
            let (before, after) = ("é ".repeat(n_before), " ü".repeat(100 - n_before));
            let text = format!("{before}{data}{after}");
            assert_eq!(without_encoded_data(&text), format!("{before}{after}"), "{n_before}");
        }
    }
}
