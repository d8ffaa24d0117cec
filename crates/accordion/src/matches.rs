//! Where in a body a query stands.

use std::collections::HashSet;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;
use weft_model::text::CharCounter;
use weft_model::{Span, fold};

use crate::cut::{boundary_after, boundary_before};

/// A query as bodies are searched for it: case and normal form do not matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Query {
    whole: String,
    terms: HashSet<String>,
    /// Neighbouring words of a script that puts nothing between them, where one word is next to nothing.
    pairs: HashSet<(String, String)>,
}

impl Query {
    /// Takes `text` as plain words; nothing where there is no text.
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

    /// The places of the whole query in `body`, else those of its terms; ascending, in whole grapheme clusters.
    pub(crate) fn matches(&self, body: &str) -> Vec<Span> {
        let mut found = self.whole_in(body);
        if found.is_empty() {
            found = self.terms_in(body);
        }
        let mut counter = CharCounter::new(body);
        found
            .into_iter()
            .map(|range| {
                counter.span(boundary_before(body, range.start)..boundary_after(body, range.end))
            })
            .collect()
    }

    fn whole_in(&self, body: &str) -> Vec<Range<usize>> {
        let folded = Folded::new(body);
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

/// The words of `text` by UAX #29, with their bytes.
fn words(text: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
    text.unicode_word_indices().map(|(at, word)| (at..at + word.len(), word))
}

/// A body with case and normal form folded away, and the way back.
struct Folded {
    text: String,
    /// Where each grapheme cluster starts, folded and in the body; nothing for ASCII, where both are one.
    clusters: Vec<(usize, usize)>,
    n_source: usize,
}

impl Folded {
    fn new(body: &str) -> Self {
        let n_source = body.len();
        if body.is_ascii() {
            return Self { text: body.to_ascii_lowercase(), clusters: vec![], n_source };
        }
        let mut text = String::with_capacity(n_source);
        let mut clusters = Vec::with_capacity(n_source);
        for (at, cluster) in body.grapheme_indices(true) {
            clusters.push((text.len(), at));
            if cluster.is_ascii() {
                text.extend(cluster.chars().map(|letter| letter.to_ascii_lowercase()));
            } else {
                text.push_str(&fold(cluster));
            }
        }
        Self { text, clusters, n_source }
    }

    /// The bytes of the body whose clusters share in `folded`.
    fn source(&self, folded: Range<usize>) -> Range<usize> {
        if self.clusters.is_empty() {
            return folded;
        }
        let first = self.clusters.partition_point(|&(start, _)| start <= folded.start) - 1;
        let after = self.clusters.partition_point(|&(start, _)| start < folded.end);
        self.clusters[first].1..self.clusters.get(after).map_or(self.n_source, |&(_, at)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::STOP_WORDS;

    #[test]
    fn a_query_is_found_whole_or_by_its_words() {
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
            let found = Query::new(query, &stop_words).unwrap().matches(body);
            let texts: Vec<&str> = found.iter().map(|span| span.slice(body)).collect();
            assert_eq!(&texts, expected, "{name}");
        }
        assert_eq!(Query::new(" \n", &stop_words), None);
    }
}
