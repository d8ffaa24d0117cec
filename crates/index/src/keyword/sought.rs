//! The words of a query, looked for in texts.

use std::collections::HashMap;
use std::ops::Range;

use super::alphabet::Alphabet;
use super::analyzer::Analyzer;
use super::language::Language;

/// A gap of at most so many bytes between two words that may be sought is analysed too.
const NEAR: usize = 32;

/// What is looked for in texts: terms, each the form of a word.
#[derive(Debug)]
pub struct Sought<'q> {
    /// Each term, and the place of its word.
    places: HashMap<&'q str, usize>,
    /// A bit for each outline of a term: nearly every word of a text is told by its outline to be none of them.
    outlines: u64,
    starts: Starts,
}

impl<'q> Sought<'q> {
    /// Looks for these terms, of which each stands for the word of that place; the first of two equal ones counts.
    pub(super) fn new(terms: impl IntoIterator<Item = (&'q str, usize)>) -> Self {
        let terms: Vec<_> = terms.into_iter().collect();
        let texts = || terms.iter().map(|(term, _)| *term);
        Self {
            outlines: texts().fold(0, |outlines, term| outlines | outline(term)),
            starts: Starts::of(texts()),
            places: terms.iter().rev().copied().collect(),
        }
    }

    /// Hands each occurrence in `text` to `sink`, in the order of their positions: the place of its word, and the bytes it takes.
    ///
    /// Occurrences overlap where those of [tokens](super::Token) do. `O(text)`, though most of it is only passed over.
    pub fn find(
        &self,
        analyzer: &mut Analyzer,
        text: &str,
        language: Language,
        mut sink: impl FnMut(usize, Range<usize>),
    ) {
        let mut analyze = |stretch: Range<usize>| {
            let offset = stretch.start;
            analyzer.analyze(&text[stretch], language, |token| {
                let place = self.place(token.term);
                if let Some(place) = place.or_else(|| self.place(token.plain?.term)) {
                    sink(place, token.start + offset..token.end + offset);
                }
            });
        };
        if language.of_word(Alphabet::Latin).keeps_beginnings() {
            self.starts.stretches(text).for_each(analyze);
        } else {
            analyze(0..text.len());
        }
    }

    fn place(&self, term: &str) -> Option<usize> {
        if self.outlines & outline(term) == 0 {
            return None;
        }
        self.places.get(term).copied()
    }
}

/// One bit of 64 by a term's first and last byte and its length.
fn outline(term: &str) -> u64 {
    let bytes = term.as_bytes();
    let (first, last) = (bytes.first().copied().unwrap_or(0), bytes.last().copied().unwrap_or(0));
    1 << ((usize::from(first) + 5 * usize::from(last) + 11 * bytes.len()) % 64)
}

/// How the words begin that become one of some terms: by their first two bytes.
///
/// What is not ASCII may become anything, and so may begin any term.
#[derive(Debug)]
struct Starts {
    /// By the first byte of a word, a bit for each group of terms that begin so.
    first: [u8; 256],
    /// By the byte after it, a bit for each group of terms that go on so.
    second: [u8; 256],
}

impl Starts {
    /// The group of which the second byte tells nothing.
    const ANY: u8 = 1 << 7;

    fn of<'t>(terms: impl Iterator<Item = &'t str>) -> Self {
        let mut first = [0; 256];
        first[128..].fill(Self::ANY);
        // A word is joined across these: `f_oo` becomes `foo`, and `1,000` a thousand.
        let mut second = [Self::ANY; 256];
        second[usize::from(b'_')] = u8::MAX;
        second[usize::from(b',')] = u8::MAX;
        let begins = |byte: u8, group: u8, places: &mut [u8; 256]| {
            places[usize::from(byte.to_ascii_lowercase())] |= group;
            places[usize::from(byte.to_ascii_uppercase())] |= group;
        };
        for (term, at) in terms.zip((0..7).cycle()) {
            match term.as_bytes() {
                [own, next, ..] if next.is_ascii() => {
                    begins(*own, 1 << at, &mut first);
                    begins(*next, 1 << at, &mut second);
                    // English makes `dying` `die`.
                    if *next == b'i' {
                        begins(b'y', 1 << at, &mut second);
                    }
                }
                [own, ..] => begins(*own, Self::ANY, &mut first),
                [] => {}
            }
        }
        Self { first, second }
    }

    /// Stretches of `text` that hold every word that may become one of the terms, in order; each begins and ends where a word may.
    ///
    /// Words never reach across ASCII white space, nor does what they become depend on what stands beyond.
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
            while let Some(found) = self.next(bytes, at..bytes.len().min(at + NEAR)) {
                at = rest(found);
            }
            Some(start..at)
        })
    }

    /// The first place in `range` where a word, or a part of one, may begin so.
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
    fn a_word_becomes_a_term_that_begins_as_it_does() {
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
        for language in Language::ALL.into_iter().filter(|language| language.keeps_beginnings()) {
            for word in &words {
                analyzer.analyze(word, language, |token| {
                    let starts = Starts::of([token.term].into_iter());
                    let found = starts.next(word.as_bytes(), 0..1);
                    assert_eq!(found, Some(0), "{word} becomes {} in {language:?}", token.term);
                });
            }
        }
    }

    #[test]
    fn what_cannot_begin_a_term_is_passed_over() {
        let sought = Sought::new([("fern", 0), ("植物", 1)]);
        let stretches = |text: &str| -> Vec<String> {
            sought.starts.stretches(text).map(|stretch| text[stretch].to_owned()).collect()
        };
        let far = "so much that is of no use at all ".repeat(2);
        assert_eq!(
            stretches(&format!("a fern\n{far}(Ferns), {far} 植物学")),
            ["fern".to_owned(), "(Ferns),".to_owned(), "植物学".to_owned(),]
        );
        assert_eq!(stretches("a fern or two ferns"), ["fern or two ferns"], "near each other");
        assert_eq!(stretches(&far), [""; 0]);
        assert_eq!(stretches("lantern f"), [""; 0], "within a word, and where nothing follows");
        assert_eq!(stretches("treeFern f_ern"), ["treeFern f_ern"]);
    }

    proptest! {
        #[test]
        fn what_is_found_is_what_an_analysis_of_all_finds(
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
                let plain = token.plain.map(|plain| plain.term.to_owned());
                tokens.push((token.term.to_owned(), plain, token.start..token.end));
            });
            let chosen = chosen.iter().filter(|_| !tokens.is_empty());
            let terms: Vec<&str> = chosen.map(|at| &*at.get(&tokens).0).collect();
            let sought = Sought::new(terms.iter().copied().zip(0..));
            let place = |term: &str| terms.iter().position(|sought| *sought == term);
            let expected: Vec<_> = tokens
                .iter()
                .filter_map(|(term, plain, bytes)| {
                    let place = place(term).or_else(|| place(plain.as_deref()?))?;
                    Some((place, bytes.clone()))
                })
                .collect();
            let mut found = Vec::new();
            sought.find(&mut analyzer, &text, language, |place, bytes| found.push((place, bytes)));
            prop_assert_eq!(found, expected, "{:?} in {:?}", terms, text);
        }
    }
}
