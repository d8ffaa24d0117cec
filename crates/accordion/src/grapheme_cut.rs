//! Cuts at grapheme boundaries.

use std::ops::Range;

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation as _};
use weft_model::text::{CharCounter, byte_of_char};
use weft_model::{Span, longest};

use crate::Mode;
use crate::note_content::{Content, Excerpt};

/// Returns the last grapheme boundary of `text` at or before `byte`, which must be a character boundary.
pub(crate) fn boundary_before(text: &str, byte: usize) -> usize {
    let starts = text[..byte].char_indices().rev().map(|(start, _)| start);
    std::iter::once(byte).chain(starts).find(|&at| is_boundary(text, at)).unwrap_or(0)
}

/// Returns the first grapheme boundary of `text` at or after `byte`, which must be a character boundary.
pub(crate) fn boundary_after(text: &str, byte: usize) -> usize {
    let starts = text[byte..].char_indices().map(|(start, _)| byte + start);
    starts.chain([text.len()]).find(|&at| is_boundary(text, at)).unwrap_or(text.len())
}

/// Finds the grapheme clusters around ascending byte positions. `O(text)` in total, while each position alone may require scanning far back, as for flags.
pub(crate) struct Clusters<'t> {
    text: &'t str,
    /// The last cluster found.
    last: Range<usize>,
}

impl<'t> Clusters<'t> {
    pub(crate) const fn new(text: &'t str) -> Self {
        Self { text, last: 0..0 }
    }

    /// Returns the last boundary at or before `byte`, a character boundary not before the previous `byte`.
    pub(crate) fn before(&mut self, byte: usize) -> usize {
        self.around(byte).start
    }

    /// Returns the first boundary at or after `byte`, a character boundary not before the previous `byte`.
    pub(crate) fn after(&mut self, byte: usize) -> usize {
        let Range { start, end } = self.around(byte);
        if start == byte { start } else { end }
    }

    /// Returns the cluster that contains `byte`; an empty one at the end of the text.
    fn around(&mut self, byte: usize) -> Range<usize> {
        if byte >= self.last.end {
            // There is a boundary between two ASCII characters, except between `\r` and `
            // `.
            let bytes = self.text.as_bytes();
            let is_parted = |at: &usize| match bytes.get(at - 1..=*at) {
                Some([b'\r', b'\n']) | None => false,
                Some(pair) => pair.is_ascii(),
            };
            let from = (self.last.end + 1..=byte).rev().find(is_parted).unwrap_or(self.last.end);
            let mut clusters = self.text[from..].grapheme_indices(true);
            let holds = |(at, cluster): &(usize, &str)| from + at + cluster.len() > byte;
            self.last = clusters
                .find(holds)
                .map_or(byte..byte, |(at, cluster)| from + at..from + at + cluster.len());
        }
        self.last.clone()
    }
}

fn is_boundary(text: &str, byte: usize) -> bool {
    GraphemeCursor::new(byte, text.len(), true).is_boundary(text, 0) == Ok(true)
}

/// Returns the longest prefix of `text` of whole grapheme clusters and at most `n_chars` characters.
pub(crate) fn head(text: &str, n_chars: usize) -> &str {
    &text[..boundary_before(text, byte_of_char(text, n_chars))]
}

/// Returns the parts of `body` covered by `spans`, each reduced to whole grapheme clusters; empty parts are dropped.
///
/// `O(body)` for ascending spans.
pub(crate) fn excerpts<'b>(body: &'b str, spans: &[Span]) -> Vec<Excerpt<'b>> {
    let mut counter = CharCounter::new(body);
    let mut cut = |bytes: Range<usize>| {
        let start = boundary_after(body, bytes.start);
        let end = boundary_before(body, bytes.end);
        (start < end)
            .then(|| Excerpt { span: Some(counter.span(start..end)), text: &body[start..end] })
    };
    byte_ranges(body, spans).into_iter().filter_map(&mut cut).collect()
}

/// Returns the bytes of each of the ascending `spans` of `body`, clamped to the body. `O(body)`.
pub(crate) fn byte_ranges(body: &str, spans: &[Span]) -> Vec<Range<usize>> {
    let (mut byte, mut char) = (0, 0);
    let mut byte_at = |n: u32| {
        if n < char {
            (byte, char) = (0, 0);
        }
        byte += byte_of_char(&body[byte..], (n - char) as usize);
        char = n;
        byte
    };
    spans.iter().map(|span| byte_at(span.start)..byte_at(span.end)).collect()
}

/// Returns the longest prefix of `body` that fits; `None` if not even its first cluster does.
pub(crate) fn full<'b>(
    body: &'b str,
    n_chars: usize,
    guess: usize,
    fits: &mut dyn FnMut(&Content<'b>) -> bool,
) -> Option<Content<'b>> {
    let content = |n_kept: usize| {
        let text = head(body, n_kept);
        let span = CharCounter::new(text).span(0..text.len());
        let excerpts =
            if text.is_empty() { vec![] } else { vec![Excerpt { span: Some(span), text }] };
        Content {
            mode: Mode::Full,
            excerpts,
            truncated: text.len() < body.len(),
            heading_path: vec![],
        }
    };
    let kept = content(longest(n_chars, guess, |n| fits(&content(n))));
    (!kept.excerpts.is_empty() || body.is_empty() && fits(&kept)).then_some(kept)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn head_keeps_clusters_whole() {
        let cases = [
            ("letters", "abc", 2, "ab"),
            ("a mark", "ae\u{301}", 2, "a"),
            ("a line end", "a\r\nb", 2, "a"),
            ("a family", "a👩\u{200d}👩\u{200d}👧b", 4, "a"),
            ("flags", "🇩🇪🇫🇷", 3, "🇩🇪"),
            ("all", "abc", 9, "abc"),
            ("nothing", "abc", 0, ""),
        ];
        for (name, text, n, expected) in cases {
            assert_eq!(head(text, n), expected, "{name}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn clusters_equal_those_of_each_byte_alone(
            text in "[ab \u{301}🇩🇪👩\u{200d}\r\n한\u{11a8}\u{600}]{0,40}", picked in proptest::collection::vec(any::<prop::sample::Index>(), 0..8)
        ) {
            let bytes: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let mut asked: Vec<usize> = picked.iter().map(|index| *index.get(&bytes)).collect();
            asked.sort_unstable();
            let (mut before, mut after) = (Clusters::new(&text), Clusters::new(&text));
            for byte in asked {
                prop_assert_eq!(before.before(byte), boundary_before(&text, byte));
                prop_assert_eq!(after.after(byte), boundary_after(&text, byte));
            }
        }

        #[test]
        fn boundaries_equal_those_of_the_segmenter(
            text in "[a\\r\\n\u{301}\u{200d}👩🇩🇪क\u{94d}त한\u{1161}]{0,24}"
        ) {
            let known: Vec<usize> =
                text.grapheme_indices(true).map(|(at, _)| at).chain([text.len()]).collect();
            for (at, _) in text.char_indices() {
                let before = known.iter().rev().find(|&&b| b <= at);
                let after = known.iter().find(|&&b| b >= at);
                prop_assert_eq!(Some(&boundary_before(&text, at)), before);
                prop_assert_eq!(Some(&boundary_after(&text, at)), after);
            }
        }
    }
}
