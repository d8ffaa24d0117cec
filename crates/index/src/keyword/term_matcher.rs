//! Term matcher: finds the terms of a query in texts.

use std::collections::HashMap;
use std::ops::Range;

use super::analyzer::Analyzer;
use super::language::Language;
use super::said_text::SaidText;
use super::script::Script;

/// Maximum gap in bytes between two candidate words that are analyzed as one stretch.
const MAX_GAP: usize = 32;

/// Finds occurrences of terms in texts. Each term is a form of a word of the query.
#[derive(Debug)]
pub struct TermMatcher<'q> {
    /// Index of the word of each term.
    word_idxs: HashMap<&'q str, usize>,
    /// Bloom filter of the term signatures: rejects nearly every word of a text.
    signatures: u64,
    prefixes: PrefixFilter,
}

impl<'q> TermMatcher<'q> {
    /// Creates a matcher for these terms, each with the index of its word; of equal terms the first one counts.
    pub(super) fn new(terms: impl IntoIterator<Item = (&'q str, usize)>) -> Self {
        let terms: Vec<_> = terms.into_iter().collect();
        let texts = || terms.iter().map(|(term, _)| *term);
        Self {
            signatures: texts().fold(0, |signatures, term| signatures | signature(term)),
            prefixes: PrefixFilter::of(texts()),
            word_idxs: terms.iter().rev().copied().collect(),
        }
    }

    /// Passes each occurrence in what the Markdown `text` says to `sink`, in order of position: the index of its word, and its byte range.
    ///
    /// Occurrences overlap where [tokens](super::analyzer::Token) do. `O(text)`, but most of the text is only scanned for prefixes.
    pub fn find(
        &self,
        analyzer: &mut Analyzer,
        text: &str,
        language: Language,
        mut sink: impl FnMut(usize, Range<usize>),
    ) {
        let said = SaidText::of(text);
        let mut asides = said.asides().to_vec();
        asides.sort_unstable_by_key(|aside| aside.start);
        let mut found_aside: Vec<(usize, Range<usize>)> = Vec::new();
        for aside in asides {
            self.find_in(analyzer, &text[aside.clone()], language, |word_idx, range| {
                found_aside.push((word_idx, range.start + aside.start..range.end + aside.start));
            });
        }
        let mut rest = found_aside.into_iter().peekable();
        let mut places = said.places();
        self.find_in(analyzer, said.text(), language, |word_idx, range| {
            let range = places.of(range);
            while let Some((word_idx, range)) = rest.next_if(|(_, it)| it.start < range.start) {
                sink(word_idx, range);
            }
            sink(word_idx, range);
        });
        rest.for_each(|(word_idx, range)| sink(word_idx, range));
    }

    /// Passes each occurrence in `text` as it is to `sink`.
    fn find_in(
        &self,
        analyzer: &mut Analyzer,
        text: &str,
        language: Language,
        mut sink: impl FnMut(usize, Range<usize>),
    ) {
        let mut analyze = |stretch: Range<usize>| {
            let offset = stretch.start;
            analyzer.analyze(&text[stretch], language, |token| {
                if let Some(word_idx) = token.terms().find_map(|term| self.word_idx(term)) {
                    sink(word_idx, token.start + offset..token.end + offset);
                }
            });
        };
        if language.of_word(Script::Latin).keeps_prefixes() {
            self.prefixes.stretches(text).for_each(analyze);
        } else {
            analyze(0..text.len());
        }
    }

    fn word_idx(&self, term: &str) -> Option<usize> {
        if self.signatures & signature(term) == 0 {
            return None;
        }
        self.word_idxs.get(term).copied()
    }
}

/// Returns one bit of 64, by a term's first and last byte and its length.
fn signature(term: &str) -> u64 {
    let bytes = term.as_bytes();
    let (first, last) = (bytes.first().copied().unwrap_or(0), bytes.last().copied().unwrap_or(0));
    1 << ((usize::from(first) + 5 * usize::from(last) + 11 * bytes.len()) % 64)
}

/// Prefix filter: the first two bytes of words that can yield one of the terms.
///
/// A word that starts with a non-ASCII byte can yield any term.
#[derive(Debug)]
struct PrefixFilter {
    /// By first byte of a word: one bit for each group of terms with that first byte.
    first: [u8; 256],
    /// By second byte of a word: one bit for each group of terms with that second byte.
    second: [u8; 256],
}

impl PrefixFilter {
    /// Group of terms for which the second byte is ignored.
    const ANY: u8 = 1 << 7;

    fn of<'t>(terms: impl Iterator<Item = &'t str>) -> Self {
        let mut first = [0; 256];
        first[128..].fill(Self::ANY);
        // These bytes are dropped inside a word: `f_oo` becomes `foo`, and `1,000` becomes `1000`.
        let mut second = [Self::ANY; 256];
        second[usize::from(b'_')] = u8::MAX;
        second[usize::from(b',')] = u8::MAX;
        let allow = |byte: u8, group: u8, groups: &mut [u8; 256]| {
            groups[usize::from(byte.to_ascii_lowercase())] |= group;
            groups[usize::from(byte.to_ascii_uppercase())] |= group;
        };
        for (term, at) in terms.zip((0..7).cycle()) {
            match term.as_bytes() {
                [own, next, ..] if next.is_ascii() => {
                    allow(*own, 1 << at, &mut first);
                    allow(*next, 1 << at, &mut second);
                    // English stems `dying` to `die`.
                    if *next == b'i' {
                        allow(b'y', 1 << at, &mut second);
                    }
                }
                [own, ..] => allow(*own, Self::ANY, &mut first),
                [] => {}
            }
        }
        Self { first, second }
    }

    /// Returns stretches of `text` that together contain every word that can yield one of the terms, in order. Each starts and ends at a possible word boundary.
    ///
    /// Words never span ASCII white space, and their terms do not depend on the text beyond it.
    fn stretches<'t>(&'t self, text: &'t str) -> impl Iterator<Item = Range<usize>> {
        let bytes = text.as_bytes();
        let is_space = |byte: &u8| byte.is_ascii_whitespace();
        let rest =
            move |at: usize| at + bytes[at..].iter().position(is_space).unwrap_or(bytes.len() - at);
        let mut at = 0;
        std::iter::from_fn(move || {
            let found = self.next(bytes, at..bytes.len())?;
            let start = bytes[at..found].iter().rposition(is_space).map_or(at, |n| at + n + 1);
            at = rest(found);
            while let Some(found) = self.next(bytes, at..bytes.len().min(at + MAX_GAP)) {
                at = rest(found);
            }
            Some(start..at)
        })
    }

    /// Returns the first position in `range` where a word, or a part of one, can start with a matching prefix.
    fn next(&self, bytes: &[u8], mut range: Range<usize>) -> Option<usize> {
        range.find(|at| {
            let (own, next) = (bytes[*at], bytes.get(at + 1).copied().unwrap_or(0));
            self.first[usize::from(own)] & self.second[usize::from(next)] != 0
                && (!own.is_ascii_lowercase() && !own.is_ascii_digit()
                    || *at == 0
                    || !bytes[at - 1].is_ascii_alphanumeric())
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn prefix_filter_accepts_every_word_of_a_term() {
        let letters = || (b'a'..=b'z').map(char::from);
        let endings = [
            "", "s", "es", "ies", "ied", "ing", "ying", "ly", "ness", "heit", "en", "ern", "ment",
            "aux", "eux", "issons", "amos", "ando", "zione", "ului", "ende", "ssa", "iden", "nak",
            "ler", "leri", "ov", "y",
        ];
        let mut analyzer = Analyzer::new();
        let pairs = || letters().flat_map(|first| letters().map(move |second| [first, second]));
        let ended = pairs().flat_map(|pair| endings.map(|ending| String::from_iter(pair) + ending));
        let short = pairs().flat_map(|pair| {
            letters().map(move |third| String::from_iter(pair.into_iter().chain([third])))
        });
        let words: Vec<String> = ended.chain(short).collect();
        for language in Language::ALL.into_iter().filter(|language| language.keeps_prefixes()) {
            for word in &words {
                analyzer.analyze(word, language, |token| {
                    let prefixes = PrefixFilter::of([token.term()].into_iter());
                    let found = prefixes.next(word.as_bytes(), 0..1);
                    assert_eq!(found, Some(0), "{word} becomes {} in {language:?}", token.term());
                });
            }
        }
    }

    #[test]
    fn text_without_matching_prefixes_is_skipped() {
        let matcher = TermMatcher::new([("fern", 0), ("植物", 1)]);
        let stretches = |text: &str| -> Vec<String> {
            matcher.prefixes.stretches(text).map(|stretch| text[stretch].to_owned()).collect()
        };
        let far = "so much that is of no use at all ".repeat(2);
        assert_eq!(
            stretches(&format!("a fern\n{far}(Ferns), {far} 植物学")),
            ["fern".to_owned(), "(Ferns),".to_owned(), "植物学".to_owned(),]
        );
        assert_eq!(stretches("a fern or two ferns"), ["fern or two ferns"], "close to each other");
        assert_eq!(stretches(&far), [""; 0]);
        assert_eq!(stretches("lantern f"), [""; 0], "inside a word, and at the end of the text");
        assert_eq!(stretches("treeFern f_ern"), ["treeFern f_ern"]);
    }

    proptest! {
        #[test]
        fn find_agrees_with_a_full_analysis(
            pieces in prop::collection::vec(
                prop::sample::select(vec![
                    "fern", "Ferns", "FERN", "fe", "rn", "ferning", "dying", "die", "lied", "c++",
                    "C#", "f", "F", "é", "Été", "ß", "İ", "漢", "字", "か", "ｶ", "한", "ش", "ё",
                    "HTTPServer", "snake_fern", "treeFern.moss", "v1.2.fern",
                    "fern_of_more_letters_than_count_for_a_word_which_goes_on_and_on_for_a_while",
                    "1", "1,000", "1000", "2nd", "_", "__", ".", ",", "+", "#", "-", "'", "’",
                    " ", " ", "\n", "\t", "\u{a0}", "\u{200d}", "\u{ad}", "\u{301}", "🌿", "\u{b}",
                    "some words that stand between and are not asked for",
                ]),
                0..40,
            ),
            chosen in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
            language in prop::sample::select(Language::ALL.to_vec()),
        ) {
            let text = pieces.concat();
            let mut analyzer = Analyzer::new();
            let mut tokens = Vec::new();
            analyzer.analyze(&text, language, |token| {
                let folded = token.terms().nth(1).map(str::to_owned);
                tokens.push((token.term().to_owned(), folded, token.start..token.end));
            });
            let chosen = chosen.iter().filter(|_| !tokens.is_empty());
            let terms: Vec<&str> = chosen.map(|at| &*at.get(&tokens).0).collect();
            let matcher = TermMatcher::new(terms.iter().copied().zip(0..));
            let word_idx = |term: &str| terms.iter().position(|own| *own == term);
            let expected: Vec<_> = tokens
                .iter()
                .filter_map(|(term, folded, bytes)| {
                    let word_idx = word_idx(term).or_else(|| word_idx(folded.as_deref()?))?;
                    Some((word_idx, bytes.clone()))
                })
                .collect();
            let mut found = Vec::new();
            matcher.find(&mut analyzer, &text, language, |idx, bytes| found.push((idx, bytes)));
            prop_assert_eq!(found, expected, "{:?} in {:?}", terms, text);
        }
    }
}
