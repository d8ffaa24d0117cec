//! Text by Unicode scalar values: spans, slices, and the case folding used to compare names.

use std::borrow::Cow;
use std::ops::Range;

use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization as _;
use unicode_segmentation::UnicodeSegmentation as _;

/// A half-open range of Unicode scalar values in a body.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Span {
    /// Index of the first character.
    pub start: u32,
    /// Index after the last character.
    pub end: u32,
}

impl Span {
    /// Returns the span `start..end`; `start ≤ end`.
    #[must_use]
    pub const fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// Returns the length in characters.
    #[must_use]
    pub const fn len(self) -> u32 {
        self.end - self.start
    }

    /// True if the span is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Returns the byte range of this span in `text`, clamped to the text. `O(bytes before the end)`.
    #[must_use]
    pub fn bytes(self, text: &str) -> Range<usize> {
        let start = byte_of_char(text, self.start as usize);
        start..start + byte_of_char(&text[start..], self.len() as usize)
    }

    /// Returns the part of `text` that this span covers, clamped to the text. `O(bytes before the end)`.
    #[must_use]
    pub fn slice(self, text: &str) -> &str {
        &text[self.bytes(text)]
    }
}

/// Returns the byte at which character `n` of `text` starts, or the length of `text` if it has no such character.
#[must_use]
pub fn byte_of_char(text: &str, n: usize) -> usize {
    if text.as_bytes().get(..n).is_some_and(<[u8]>::is_ascii) {
        return n;
    }
    text.char_indices().nth(n).map_or(text.len(), |(byte, _)| byte)
}

/// Returns the sentences of a text with their byte offsets; white space belongs to the sentence before it.
///
/// Source: the rules for sentence boundaries of Unicode Standard Annex 29.
pub fn sentences(text: &str) -> impl Iterator<Item = (usize, &str)> {
    // In ASCII, nothing but these ends a sentence. Most lines of lists, tables and code are one.
    let is_end = |byte: u8| matches!(byte, b'.' | b'!' | b'?' | b'\n' | b'\r');
    let line = text.strip_suffix('\n').unwrap_or(text);
    let is_one = !text.is_empty() && line.bytes().all(|byte| byte.is_ascii() && !is_end(byte));
    let several = (!is_one).then(|| text.split_sentence_bound_indices());
    is_one.then_some((0, text)).into_iter().chain(several.into_iter().flatten())
}

/// Returns the number of characters, up to `n`, at which a text that is cut ends best: with the last sentence or line that ends in the last quarter, else with the last such word, else at `n`; without white space at the end.
#[must_use]
pub fn clean_cut(text: &str, n: usize) -> usize {
    /// Number of characters read after `n` to recognize a sentence or word that ends there.
    const LOOKAHEAD: usize = 100;
    let limit = byte_of_char(text, n);
    let read = &text[..byte_of_char(text, n + LOOKAHEAD)];
    let late = limit - limit / 4..=limit;
    // The number of a list item and the rule of a table end no sentence.
    let ends_with_word = |at: &usize| {
        let last = text[..*at].split_whitespace().next_back();
        last.is_some_and(|word| word.contains(char::is_alphabetic))
    };
    let starts = sentences(read).map(|(at, _)| at);
    let sentence = starts.filter(|at| late.contains(at)).filter(ends_with_word).last();
    let words = read.split_word_bound_indices().map(|(at, _)| at);
    let end = sentence.or_else(|| words.rev().find(|at| late.contains(at))).unwrap_or(limit);
    text[..end].trim_end().chars().count()
}

/// Returns the name of a note without the parenthesis at its end, which only distinguishes notes of the same name.
#[must_use]
pub fn without_qualifier(name: &str) -> &str {
    let name = name.trim_end();
    let inner = name.strip_suffix(')').and_then(|open| open.rsplit_once('('));
    match inner {
        Some((bare, inside)) if !inside.contains(')') => bare.trim_end(),
        Some(_) | None => name,
    }
}

/// Converts byte offsets of one text to character offsets.
///
/// Ascending offsets cost `O(bytes)` in total; a smaller offset restarts from the front.
#[derive(Debug)]
pub struct CharCounter<'t> {
    text: &'t str,
    byte: usize,
    chars: usize,
}

impl<'t> CharCounter<'t> {
    /// Creates a counter at the front of `text`.
    #[must_use]
    pub const fn new(text: &'t str) -> Self {
        Self { text, byte: 0, chars: 0 }
    }

    /// Returns the number of characters before `byte`, which must be on a character boundary.
    ///
    /// Saturates at `u32::MAX`; the parser refuses bodies that long.
    pub fn at(&mut self, byte: usize) -> u32 {
        if byte < self.byte {
            (self.byte, self.chars) = (0, 0);
        }
        self.chars += self.text[self.byte..byte].chars().count();
        self.byte = byte;
        u32::try_from(self.chars).unwrap_or(u32::MAX)
    }

    /// Returns the span of `bytes`.
    pub fn span(&mut self, bytes: Range<usize>) -> Span {
        let start = self.at(bytes.start);
        Span::new(start, self.at(bytes.end))
    }
}

/// Returns `text` in NFC.
#[must_use]
pub fn nfc(text: &str) -> String {
    if text.is_ascii() { text.to_owned() } else { text.nfc().collect() }
}

/// Returns `text` in the form used to compare names: NFC with full case folding.
#[must_use]
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    caseless::default_case_fold_str(&nfc(text)).nfc().collect()
}

/// True if [`fold`] of `text` equals `folded`, which must be folded. Does not allocate if `text` is ASCII.
#[must_use]
pub fn folds_to(text: &str, folded: &str) -> bool {
    if text.is_ascii() { text.eq_ignore_ascii_case(folded) } else { fold(text) == folded }
}

/// Decodes percent-encoding; leaves text alone whose bytes would not be UTF-8.
#[must_use]
pub fn percent_decoded(text: &str) -> Cow<'_, str> {
    percent_decode_str(text).decode_utf8().unwrap_or(Cow::Borrowed(text))
}

/// Returns the name of the block of Org mode or Logseq whose first or last line this is: `#+begin_name` or `#+end_name`, by `edge`, in any case.
#[must_use]
pub fn org_block_edge<'l>(line: &'l str, edge: &str) -> Option<&'l str> {
    let rest = line.strip_prefix("#+")?;
    let (word, _) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let (found, name) = word.split_once('_')?;
    (found.eq_ignore_ascii_case(edge) && !name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_those_of_unicode() {
        let pieces = ["a", "B", "1", " ", ".", "!", ",", "\n", "\r", "é"];
        let mut texts = vec![String::new()];
        for _ in 0..5 {
            let longer =
                texts.iter().flat_map(|text| pieces.iter().map(move |it| format!("{text}{it}")));
            texts = longer.collect();
            for text in &texts {
                assert!(sentences(text).eq(text.split_sentence_bound_indices()), "{text:?}");
            }
        }
        assert_eq!(sentences("").count(), 0);
    }

    #[test]
    fn span_counts_characters_not_bytes() {
        let text = "aé漢🌿z";
        for (span, expected) in [
            (Span::new(0, 1), "a"),
            (Span::new(1, 4), "é漢🌿"),
            (Span::new(4, 9), "z"),
            (Span::new(9, 9), ""),
        ] {
            assert_eq!(span.slice(text), expected);
        }
    }

    #[test]
    fn cut_text_ends_with_a_sentence_or_word() {
        let cases = [
            ("sentence", "One fern. Two ferns grow. Three ferns", 30, "One fern. Two ferns grow."),
            ("sentence at the limit", "One fern. Two ferns. Three", 21, "One fern. Two ferns."),
            ("line", "One fern grows\nby a stream", 17, "One fern grows"),
            (
                "number of an item",
                "Old ferns of the valley grow.\n- 5. Ferns",
                36,
                "Old ferns of the valley grow.",
            ),
            ("early sentence", "One. Two ferns grow by a stream", 23, "One. Two ferns grow by"),
            ("word at the limit", "One fern grows", 8, "One fern"),
            ("long word", "fernfernfernfern", 9, "fernfernf"),
            ("Han", "蕨类植物喜欢潮湿的地方", 8, "蕨类植物喜欢潮湿"),
            ("whole text", "One fern", 20, "One fern"),
            ("nothing", "", 5, ""),
        ];
        for (name, text, n, expected) in cases {
            let cut: String = text.chars().take(clean_cut(text, n)).collect();
            assert_eq!(cut, expected, "{name}");
        }
    }

    #[test]
    fn trailing_parenthesis_is_not_part_of_a_name() {
        for (title, expected) in [
            ("Mercury (planet)", "Mercury"),
            ("Mercury (planet) ", "Mercury"),
            ("Mercury", "Mercury"),
            ("(planet)", ""),
            ("f(x) of x", "f(x) of x"),
            ("a (b (c))", "a (b (c))"),
            ("closed)", "closed)"),
        ] {
            assert_eq!(without_qualifier(title), expected, "{title}");
        }
    }

    #[test]
    fn byte_of_char_finds_each_character() {
        for (text, n, byte) in
            [("", 0, 0), ("", 1, 0), ("abc", 2, 2), ("abc", 3, 3), ("abc", 4, 3), ("abé漢z", 4, 7)]
        {
            assert_eq!(byte_of_char(text, n), byte, "{text} {n}");
        }
    }

    #[test]
    fn char_counter_accepts_offsets_in_any_order() {
        let text = "aé漢🌿z";
        let mut counter = CharCounter::new(text);
        assert_eq!([counter.at(3), counter.at(text.len()), counter.at(1)], [2, 5, 1]);
        assert_eq!(counter.span(1..6), Span::new(1, 3));
    }

    #[test]
    fn fold_equates_case_and_normalization_variants() {
        for (left, right) in [("STRASSE", "straße"), ("e\u{301}", "É"), ("ΣΊΣΥΦΟΣ", "σίσυφος")]
        {
            assert_eq!(fold(left), fold(right));
        }
    }

    #[test]
    fn folds_to_agrees_with_fold() {
        let texts = [
            "", "Fern", "fern", "FERN", "fern ", "ferns", "k", "K", "\u{212a}", "É", "e\u{301}",
            "ss", "ß",
        ];
        for (text, other) in texts.iter().flat_map(|text| texts.map(|other| (text, other))) {
            assert_eq!(folds_to(text, &fold(other)), fold(text) == fold(other), "{text} {other}");
        }
    }
}
