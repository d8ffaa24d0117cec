//! Finds the matches of a query in a body.

use std::collections::HashSet;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;
use weft_model::text::CharCounter;
use weft_model::{Span, fold};

use crate::grapheme_cut::Clusters;

/// A query prepared for matching, regardless of case and Unicode normal form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueryMatcher {
    whole: String,
    terms: HashSet<String>,
    /// Adjacent words of a script without spaces, where a single word means little.
    pairs: HashSet<(String, String)>,
}

impl QueryMatcher {
    /// Prepares `text` as plain words; `None` for an empty text.
    pub(crate) fn new(text: &str, stop_words: &[String]) -> Option<Self> {
        let whole = fold(text.trim());
        if whole.is_empty() {
            return None;
        }
        let stop_words: HashSet<String> = stop_words.iter().map(|word| fold(word)).collect();
        let words: Vec<(Range<usize>, String)> =
            words(text).map(|(range, word)| (range, fold(word))).collect();
        let touch = |left: usize, right: usize| match (words.get(left), words.get(right)) {
            (Some((left, _)), Some((right, _))) => left.end == right.start,
            (None, _) | (_, None) => false,
        };
        let (mut terms, mut pairs) = (HashSet::new(), HashSet::new());
        for (at, (range, word)) in words.iter().enumerate() {
            let after_another = at > 0 && touch(at - 1, at);
            if after_another {
                pairs.insert((words[at - 1].1.clone(), word.clone()));
            }
            let alone = !after_another && !touch(at, at + 1);
            let is_long = text[range.clone()].graphemes(true).nth(1).is_some();
            if (alone || is_long) && !stop_words.contains(word) {
                terms.insert(word.clone());
            }
        }
        Some(Self { whole, terms, pairs })
    }

    /// Returns the occurrences of the whole query in `body`, else those of its terms; ascending, in whole grapheme clusters.
    pub(crate) fn matches(&self, body: &str) -> Vec<Span> {
        let mut found = self.whole_in(body);
        if found.is_empty() {
            found = self.terms_in(body);
        }
        // Starts and ends both ascend, but a match may end after the next one starts.
        let (mut starts, mut ends) = (Clusters::new(body), Clusters::new(body));
        let (mut before_start, mut before_end) = (CharCounter::new(body), CharCounter::new(body));
        let span = |Range { start, end }: Range<usize>| {
            let start = before_start.at(starts.before(start));
            Span::new(start, before_end.at(ends.after(end)))
        };
        found.into_iter().map(span).collect()
    }

    fn whole_in(&self, body: &str) -> Vec<Range<usize>> {
        let folded = FoldedText::new(body);
        folded
            .text
            .match_indices(&self.whole)
            .map(|(at, text)| folded.source(at..at + text.len()))
            .collect()
    }

    fn terms_in(&self, body: &str) -> Vec<Range<usize>> {
        if self.terms.is_empty() && self.pairs.is_empty() {
            return vec![];
        }
        let mut found = vec![];
        let mut before: Option<(Range<usize>, String)> = None;
        for (range, word) in words(body) {
            let word = fold(word);
            if let Some((left, left_word)) = before.take()
                && left.end == range.start
                && self.pairs.contains(&(left_word, word.clone()))
            {
                found.push(left.start..range.end);
            }
            if self.terms.contains(&word) {
                found.push(range.clone());
            }
            before = Some((range, word));
        }
        found
    }
}

/// Returns the words of `text` by UAX #29, with their byte ranges.
fn words(text: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
    text.unicode_word_indices().map(|(at, word)| (at..at + word.len(), word))
}

/// A body with folded case and normal form, and the mapping back.
struct FoldedText {
    text: String,
    parts: Vec<FoldedRun>,
    n_source: usize,
}

/// Start of a run in the folded text and in the body. It ends where the next run starts.
struct FoldedRun {
    folded: usize,
    source: usize,
    /// True if the run is ASCII, which folds byte by byte; otherwise it is one grapheme cluster.
    is_ascii: bool,
}

impl FoldedText {
    fn new(body: &str) -> Self {
        let mut text = String::with_capacity(body.len());
        let mut parts = vec![];
        let mut at = 0;
        while at < body.len() {
            let rest = &body[at..];
            let n_ascii = rest.bytes().take_while(u8::is_ascii).count();
            // A non-ASCII character may combine with the character before it.
            let n_alone = if n_ascii == rest.len() { n_ascii } else { n_ascii.saturating_sub(1) };
            parts.push(FoldedRun { folded: text.len(), source: at, is_ascii: n_alone > 0 });
            if n_alone > 0 {
                text.push_str(&rest[..n_alone]);
                at += n_alone;
            } else {
                let cluster = rest.graphemes(true).next().unwrap_or(rest);
                text.push_str(&fold(cluster));
                at += cluster.len();
            }
        }
        text.make_ascii_lowercase();
        Self { text, parts, n_source: body.len() }
    }

    /// Returns the byte range of the body that `folded` comes from, in whole clusters outside ASCII.
    fn source(&self, folded: Range<usize>) -> Range<usize> {
        let first = self.parts.partition_point(|part| part.folded <= folded.start) - 1;
        let after = self.parts.partition_point(|part| part.folded < folded.end);
        let (start, last) = (&self.parts[first], &self.parts[after - 1]);
        let skipped = if start.is_ascii { folded.start - start.folded } else { 0 };
        let end = match self.parts.get(after) {
            _ if last.is_ascii => last.source + (folded.end - last.folded),
            Some(next) => next.source,
            None => self.n_source,
        };
        start.source + skipped..end
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::limits::STOP_WORDS;

    #[test]
    fn query_matches_whole_or_by_its_words() {
        let cases: &[(&str, &str, &str, &[&str])] = &[
            (
                "whole, any case",
                "Cells AGE",
                "why cells age. CELLS AGE!",
                &["cells age", "CELLS AGE"],
            ),
            ("whole, inside words", "cell", "cells", &["cell"]),
            ("whole before terms", "cells age", "age; cells age", &["cells age"]),
            ("terms", "age of cells", "Cells, aged; age", &["Cells", "age"]),
            ("whole words only", "old age", "ageing cold", &[]),
            ("stop words are no terms", "what is age", "what is an Age", &["Age"]),
            ("only stop words", "what is the", "what the", &[]),
            ("sharp s", "STRASSE", "Die Straße", &["Straße"]),
            ("normal form", "cafe\u{301}", "Ein CAFÉ", &["CAFÉ"]),
            ("composed query", "café", "cafe\u{301}s", &["cafe\u{301}"]),
            ("whole, without spaces", "細胞", "老化した細胞は", &["細胞"]),
            ("pairs, without spaces", "細胞の老化", "老化した細胞は", &["老化", "細胞"]),
            ("thai pairs", "แมวดำ", "ดำแมว", &["ดำ", "แม", "มว"]),
            ("clusters stay whole", "x", "x\u{302}y", &["x\u{302}"]),
            ("spaces around", "  age ", "age", &["age"]),
        ];
        let stop_words: Vec<String> = STOP_WORDS.iter().map(|&word| word.into()).collect();
        for (name, query, body, expected) in cases {
            let found = QueryMatcher::new(query, &stop_words).unwrap().matches(body);
            let texts: Vec<&str> = found.iter().map(|span| span.slice(body)).collect();
            assert_eq!(&texts, expected, "{name}");
        }
        assert_eq!(QueryMatcher::new(" \n", &stop_words), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn excerpt_of_a_body_matches_it(
            body in "[abAB éÉßẞ\u{301}漢👩🇩🇪\u{200d}\r\n한\u{11a8}]{1,30}", from in 0_usize..30, n in 1_usize..6
        ) {
            let query: String = body.graphemes(true).skip(from).take(n).collect();
            if let Some(asked) = QueryMatcher::new(&query, &[]) {
                let found = asked.matches(&body);
                prop_assert!(!found.is_empty());
                for span in found {
                    let text = span.slice(&body);
                    prop_assert!(fold(text).contains(&fold(query.trim())), "{text:?}");
                    // A sharp s folds to two characters, and either end may lie inside one.
                    prop_assert!(text.graphemes(true).count() <= 2 * n + 1, "{text:?}");
                }
            }
        }
    }
}
