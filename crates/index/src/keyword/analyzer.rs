//! The analyzer: text in any script to terms that can be looked up.
//!
//! Segmentation is the same for every language, so analyses of one text in two languages run in step; only stems and function words differ.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use rust_stemmers::Stemmer;
use weft_model::text::byte_of_char;

use super::Language;
use super::alphabet::{Alphabet, Class, continues_syllable};
use super::spelling::{push_folded, push_lower};
use super::stopwords::stop_words;

/// Characters of a word that count; what follows (of a key, a hash, a data URL) is not indexed.
const MAX_TERM_CHARS: usize = 64;

/// Parts of one compound that become terms of their own.
const MAX_PARTS: usize = 16;

/// Terms, and words of one language, that are remembered from text to text.
const MAX_REMEMBERED: usize = 1 << 15;

/// Longest word (in bytes) that is remembered.
const MAX_REMEMBERED_BYTES: usize = 32;

/// What a token stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TokenKind {
    /// A word, or two neighbouring characters of a script without spaces. Only these count towards a text's length.
    Word,
    /// A function word of the language.
    Stop,
    /// A part of the compound that came before it: `http` and `server` of `HTTPServer`.
    Part,
    /// One character of the pair that came before it, in a script without spaces.
    Character,
}

/// One token of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'t> {
    /// The form under which it is indexed.
    pub term: &'t str,
    /// The analyzer's number of the term: terms are equal where their numbers are, until the analyzer [rests](Analyzer::rest).
    pub number: u32,
    /// The first byte in the analysed text.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
    /// Its place for phrases: neighbours differ by one, parts follow their compound.
    pub position: u32,
    /// What it stands for.
    pub kind: TokenKind,
}

/// Turns texts into tokens.
///
/// The result depends on the text and the language alone; what the analyzer keeps are shortcuts.
///
/// - Words of spaced scripts are normalised (compatibility forms, case, Latin and Greek diacritics, Arabic spellings) and stemmed.
/// - Scripts without spaces, and Korean, give pairs of neighbouring characters, and each character besides.
/// - Words end at the border of two scripts.
/// - `foo_bar`, `fooBar` and `FooBar` give `foobar`, then their parts; `v1.2` and `1,000` stay whole; `C++` and `C#` keep their signs.
///
/// It remembers the words it meets until it [rests](Self::rest).
#[derive(Default)]
pub struct Analyzer {
    rules: [Option<Rules>; Language::ALL.len()],
    terms: Terms,
    lower: String,
}

impl std::fmt::Debug for Analyzer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Analyzer")
    }
}

impl Analyzer {
    /// An analyzer that has seen nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets what it knows where that has grown beyond use; terms are numbered anew then. To be called between texts.
    pub fn rest(&mut self) {
        let n_words = self.rules.iter().flatten().map(|rules| rules.known.len()).max();
        if self.terms.texts.len().max(n_words.unwrap_or(0)) > MAX_REMEMBERED {
            self.terms = Terms::default();
            self.rules.iter_mut().flatten().for_each(|rules| rules.known = Known::default());
        }
    }

    /// The term of a number that a token had since the last rest.
    pub(super) fn term(&self, number: u32) -> &str {
        self.terms.text(number)
    }

    /// Hands every token of `text` to `sink`, in the order of their positions. `O(text)`.
    pub fn analyze(&mut self, text: &str, language: Language, mut sink: impl FnMut(Token<'_>)) {
        let mut position = 0;
        for word in (Words { text, at: 0 }) {
            position = if word.alphabet.is_some_and(Alphabet::is_unspaced) {
                self.pairs(text, &word, position, &mut sink)
            } else {
                self.word(text, &word, language, position, &mut sink)
            };
        }
    }

    /// The words of `text` in order, function words left out: what names are compared by.
    pub fn words(&mut self, text: &str, language: Language) -> Vec<String> {
        let mut words = Vec::new();
        self.analyze(text, language, |token| {
            if token.kind == TokenKind::Word {
                words.push(token.term.to_owned());
            }
        });
        words
    }

    /// A word of a spaced script, then its parts if it is a compound. Returns the next position.
    fn word(
        &mut self,
        text: &str,
        word: &RawWord,
        language: Language,
        position: u32,
        sink: &mut impl FnMut(Token<'_>),
    ) -> u32 {
        let alphabet = word.alphabet.unwrap_or(Alphabet::Other);
        let language = language.of_word(alphabet);
        let rules = self.rules[language as usize].get_or_insert_with(|| Rules::new(language));
        let raw = cut(&text[word.start..word.end]);
        let (start, end) = (word.start, word.end);
        let (terms, lower) = (&mut self.terms, &mut self.lower);
        if !word.is_compound {
            let Entry { number, is_stop } = rules.entry(raw, alphabet, terms, lower);
            let term = terms.text(number);
            if term.is_empty() {
                return position;
            }
            let kind = if is_stop { TokenKind::Stop } else { TokenKind::Word };
            sink(Token { term, number, start, end, position, kind });
            return position + 1;
        }
        let joined: String = raw.chars().filter(|c| !matches!(c, '_' | ',')).collect();
        let Entry { number, .. } = rules.entry(&joined, alphabet, terms, lower);
        let term = terms.text(number);
        sink(Token { term, number, start, end, position, kind: TokenKind::Word });
        let mut next = position + 1;
        if Parts::new(raw).nth(1).is_none() {
            return next;
        }
        for (part_start, part_end) in Parts::new(raw).take(MAX_PARTS) {
            let part = &raw[part_start..part_end];
            let Entry { number, .. } = rules.entry(part, alphabet, terms, lower);
            // A single letter or digit tells nothing.
            if part.chars().nth(1).is_some() {
                let (start, end) = (start + part_start, start + part_end);
                let term = terms.text(number);
                sink(Token { term, number, start, end, position: next, kind: TokenKind::Part });
            }
            next += 1;
        }
        next
    }

    /// A run of a script without spaces: each pair of neighbours, and each character. Returns the next position.
    fn pairs(
        &mut self,
        text: &str,
        run: &RawWord,
        mut position: u32,
        sink: &mut impl FnMut(Token<'_>),
    ) -> u32 {
        let mut units = Units { text, at: run.start, end: run.end };
        let mut single = TokenKind::Word;
        let mut unit = units.next();
        while let Some((start, end)) = unit {
            let next = units.next();
            let (terms, term) = (&mut self.terms, &mut self.lower);
            term.clear();
            push_lower(&text[start..end], term);
            let n_single = term.len();
            if let Some((next_start, next_end)) = next {
                push_lower(&text[next_start..next_end], term);
                let (number, end, kind) = (terms.number(term), next_end, TokenKind::Word);
                sink(Token { term, number, start, end, position, kind });
                single = TokenKind::Character;
            }
            let term = &term[..n_single];
            if !term.is_empty() {
                let number = terms.number(term);
                sink(Token { term, number, start, end, position, kind: single });
            }
            position += 1;
            unit = next;
        }
        position
    }
}

/// Terms by number, each once.
#[derive(Default)]
struct Terms {
    numbers: HashMap<Box<str>, u32, RandomState>,
    texts: Vec<Box<str>>,
}

impl Terms {
    fn number(&mut self, term: &str) -> u32 {
        if let Some(number) = self.numbers.get(term) {
            return *number;
        }
        let number = u32::try_from(self.texts.len()).expect("a text has fewer than 2^32 terms");
        self.numbers.insert(term.into(), number);
        self.texts.push(term.into());
        number
    }

    fn text(&self, number: u32) -> &str {
        &self.texts[number as usize]
    }
}

/// What one language makes of words, with the answers it gave.
struct Rules {
    stemmer: Option<Stemmer>,
    stop_words: &'static [&'static str],
    known: Known,
}

/// What a word becomes.
#[derive(Clone, Copy)]
struct Entry {
    number: u32,
    is_stop: bool,
}

impl Rules {
    fn new(language: Language) -> Self {
        Self {
            stemmer: language.algorithm().map(Stemmer::create),
            stop_words: stop_words(language),
            known: Known::default(),
        }
    }

    /// What `raw` becomes; `lower` is room to work in.
    fn entry(
        &mut self,
        raw: &str,
        alphabet: Alphabet,
        terms: &mut Terms,
        lower: &mut String,
    ) -> Entry {
        if let Some(entry) = self.known.get(raw) {
            return entry;
        }
        lower.clear();
        push_lower(raw, lower);
        let is_stop = self.stop_words.contains(&lower.as_str());
        let mut term = String::new();
        // Numbers and names such as `c++` have no endings; a function word is looked up as it is.
        let is_stemmed =
            !is_stop && lower.chars().all(|c| c.is_ascii_alphabetic() || !c.is_ascii());
        match self.stemmer.as_ref().filter(|_| is_stemmed) {
            Some(stemmer) => push_folded(&stemmer.stem(lower), alphabet, &mut term),
            None => push_folded(lower, alphabet, &mut term),
        }
        let entry = Entry { number: terms.number(&term), is_stop };
        self.known.insert(raw, entry);
        entry
    }
}

/// What words became, by their bytes. Looked up for every word of every text, so it must be quick.
#[derive(Default)]
struct Known {
    short: HashMap<ShortWord, Entry, RandomState>,
    long: HashMap<Box<str>, Entry, RandomState>,
}

impl Known {
    fn len(&self) -> usize {
        self.short.len() + self.long.len()
    }

    fn get(&self, word: &str) -> Option<Entry> {
        match ShortWord::of(word.as_bytes()) {
            Some(word) => self.short.get(&word).copied(),
            None => self.long.get(word).copied(),
        }
    }

    fn insert(&mut self, word: &str, entry: Entry) {
        match ShortWord::of(word.as_bytes()) {
            Some(word) => self.short.insert(word, entry),
            None if word.len() <= MAX_REMEMBERED_BYTES => self.long.insert(word.into(), entry),
            None => None,
        };
    }
}

/// A word of at most 16 bytes: how many, the first and the last of them. Compared as numbers, where it stands.
#[derive(PartialEq, Eq, Hash)]
struct ShortWord(usize, u64, u64);

impl ShortWord {
    fn of(word: &[u8]) -> Option<Self> {
        let n_bytes = word.len();
        let (first, last) = match n_bytes {
            0..4 => {
                // Three bytes are the first, the middle and the last; of fewer some are the same.
                let byte = |at: usize| u64::from(word.get(at).copied().unwrap_or_default());
                (byte(0), byte(n_bytes / 2) << 8 | byte(n_bytes.saturating_sub(1)))
            }
            4..8 => {
                let (first, last) = (word.first_chunk()?, word.last_chunk()?);
                (u32::from_le_bytes(*first).into(), u32::from_le_bytes(*last).into())
            }
            8..=16 => {
                let (first, last) = (word.first_chunk()?, word.last_chunk()?);
                (u64::from_le_bytes(*first), u64::from_le_bytes(*last))
            }
            _ => return None,
        };
        Some(Self(n_bytes, first, last))
    }
}

/// A stretch of text that is one word, or one run of a script without spaces.
struct RawWord {
    start: usize,
    end: usize,
    /// Nothing for numbers and pictographs.
    alphabet: Option<Alphabet>,
    is_compound: bool,
}

/// Cuts a text into words.
struct Words<'t> {
    text: &'t str,
    at: usize,
}

impl Iterator for Words<'_> {
    type Item = RawWord;

    fn next(&mut self) -> Option<RawWord> {
        self.plain().or_else(|| self.any())
    }
}

impl Words<'_> {
    /// The next word if it is one letter and small ones after it, all without accents, and then something that ends a word of letters: most words of most texts.
    ///
    /// Passes over the ASCII marks and spaces before the next word, whether it is such a one or not.
    fn plain(&mut self) -> Option<RawWord> {
        let is_gap = |byte: &u8| byte.is_ascii() && !byte.is_ascii_alphanumeric();
        let ends = |byte: &u8| is_gap(byte) && !matches!(byte, b'_' | b'+' | b'#');
        let rest = &self.text.as_bytes()[self.at..];
        let n_before = rest.iter().take_while(|byte| is_gap(byte)).count();
        self.at += n_before;
        let (first, rest) = rest[n_before..].split_first()?;
        let n_small = rest.iter().take_while(|byte| byte.is_ascii_lowercase()).count();
        if !first.is_ascii_alphabetic() || !rest.get(n_small).is_none_or(ends) {
            return None;
        }
        let start = self.at;
        self.at += 1 + n_small;
        Some(RawWord { start, end: self.at, alphabet: Some(Alphabet::Latin), is_compound: false })
    }

    /// The next word, whatever it is made of.
    fn any(&mut self) -> Option<RawWord> {
        let (start, first) = loop {
            let start = self.at;
            let c = char_at(self.text, start)?;
            self.at += c.len_utf8();
            match Class::of(c) {
                Class::Letter(_) | Class::Digit | Class::Pictograph => break (start, c),
                Class::Extend | Class::Break => {}
            }
        };
        let (mut alphabet, is_pictograph) = match Class::of(first) {
            Class::Letter(alphabet) => (Some(alphabet), false),
            Class::Digit | Class::Extend | Class::Break => (None, false),
            Class::Pictograph => (None, true),
        };
        let mut previous = first;
        let mut is_compound = false;
        let mut has_inner_capital = false;
        while let Some(c) = char_at(self.text, self.at) {
            let n_bytes = match Class::of(c) {
                Class::Extend => c.len_utf8(),
                _ if is_pictograph => break,
                Class::Letter(own) if fits(alphabet, own) => {
                    alphabet = Some(own);
                    c.len_utf8()
                }
                Class::Digit if !alphabet.is_some_and(Alphabet::is_unspaced) => c.len_utf8(),
                Class::Break => match self.connector(c, previous, alphabet) {
                    Some(n_bytes) => {
                        is_compound = true;
                        n_bytes
                    }
                    None => break,
                },
                Class::Letter(_) | Class::Digit | Class::Pictograph => break,
            };
            has_inner_capital |= c.is_uppercase();
            self.at += n_bytes;
            previous = c;
        }
        // Only a capital after other letters makes the capitals worth a closer look.
        if has_inner_capital && alphabet.is_some_and(Alphabet::is_cased) {
            is_compound |= Parts::new(&self.text[start..self.at]).nth(1).is_some();
        }
        self.at += self.sign(start, alphabet);
        Some(RawWord { start, end: self.at, alphabet, is_compound })
    }

    /// The bytes from `connector` to the next letter or digit, if it holds the word together.
    fn connector(
        &self,
        connector: char,
        previous: char,
        alphabet: Option<Alphabet>,
    ) -> Option<usize> {
        let rest = &self.text[self.at..];
        match connector {
            '_' => {
                let n_bytes = rest.len() - rest.trim_start_matches('_').len();
                let joins = match Class::of(char_at(rest, n_bytes)?) {
                    Class::Letter(own) => fits(alphabet, own),
                    Class::Digit => !alphabet.is_some_and(Alphabet::is_unspaced),
                    Class::Extend | Class::Pictograph | Class::Break => false,
                };
                joins.then_some(n_bytes)
            }
            '.' if previous.is_ascii_digit() => {
                rest[1..].starts_with(|c: char| c.is_ascii_digit()).then_some(1)
            }
            // A comma between thousands; other commas separate.
            ',' if previous.is_ascii_digit() => {
                let n_digits = rest[1..].bytes().take(4).take_while(u8::is_ascii_digit).count();
                (n_digits == 3).then_some(1)
            }
            _ => None,
        }
    }

    /// The bytes of the signs that belong to a name such as `C++` or `F#`.
    fn sign(&self, start: usize, alphabet: Option<Alphabet>) -> usize {
        if alphabet != Some(Alphabet::Latin) || self.at - start > 2 {
            return 0;
        }
        let rest = &self.text[self.at..];
        let n_bytes = if rest.starts_with("++") {
            2
        } else if rest.starts_with('#') {
            1
        } else {
            return 0;
        };
        if rest[n_bytes..].starts_with(char::is_alphanumeric) { 0 } else { n_bytes }
    }
}

/// Whether a letter of `own` continues a word in `alphabet` (nothing: digits so far).
fn fits(alphabet: Option<Alphabet>, own: Alphabet) -> bool {
    alphabet.map_or(!own.is_unspaced(), |alphabet| alphabet == own)
}

fn char_at(text: &str, at: usize) -> Option<char> {
    text[at..].chars().next()
}

/// Cuts a compound at underscores, dots and capitals.
struct Parts<'t> {
    raw: &'t str,
    at: usize,
}

impl<'t> Parts<'t> {
    const fn new(raw: &'t str) -> Self {
        Self { raw, at: 0 }
    }
}

impl Iterator for Parts<'_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        let is_joint = |c: char| c == '_' || c == '.';
        let start = self.at + self.raw[self.at..].find(|c| !is_joint(c))?;
        let mut previous = char_at(self.raw, start)?;
        let mut end = start + previous.len_utf8();
        while let Some(c) = char_at(self.raw, end) {
            // `fooBar`, and the last capital of `HTTPServer`, but not that of `PDFs`.
            let begins_word = c.is_uppercase()
                && (previous.is_lowercase()
                    || previous.is_uppercase()
                        && self.raw[end + c.len_utf8()..]
                            .chars()
                            .take(2)
                            .filter(|c| c.is_lowercase())
                            .count()
                            == 2);
            if is_joint(c) || begins_word {
                break;
            }
            previous = c;
            end += c.len_utf8();
        }
        self.at = end;
        Some((start, end))
    }
}

/// Cuts a run of a script without spaces into characters with their marks.
struct Units<'t> {
    text: &'t str,
    at: usize,
    end: usize,
}

impl Iterator for Units<'_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        let start = self.at;
        let run = &self.text[..self.end];
        let mut previous = char_at(run, start)?;
        self.at += previous.len_utf8();
        while let Some(c) = char_at(run, self.at) {
            if Class::of(c) != Class::Extend && !continues_syllable(previous, c) {
                break;
            }
            self.at += c.len_utf8();
            previous = c;
        }
        Some((start, self.at))
    }
}

/// The first [`MAX_TERM_CHARS`] characters of `raw`.
fn cut(raw: &str) -> &str {
    if raw.len() <= MAX_TERM_CHARS {
        return raw;
    }
    &raw[..byte_of_char(raw, MAX_TERM_CHARS)]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The tokens as `term` (word), `term.` (stop), `+term` (part), `~term` (character).
    fn shown(text: &str, language: Language) -> String {
        let mut shown = Vec::new();
        Analyzer::new().analyze(text, language, |token| {
            shown.push(match token.kind {
                TokenKind::Word => token.term.to_owned(),
                TokenKind::Stop => format!("{}.", token.term),
                TokenKind::Part => format!("+{}", token.term),
                TokenKind::Character => format!("~{}", token.term),
            });
        });
        shown.join(" ")
    }

    #[test]
    fn text_becomes_terms() {
        let cases = [
            (
                "stems and function words",
                Language::English,
                "The ferns were growing",
                "the. fern were. grow",
            ),
            ("apostrophes", Language::English, "John's don't", "john s. don t."),
            ("typographic apostrophe", Language::French, "l’été", "l. ete"),
            ("German", Language::German, "Die Häuser der Straße", "die. haus der. strass"),
            ("French", Language::French, "Les fougères vertes", "les. fouger vert"),
            ("Russian", Language::Russian, "зелёные папоротники", "зелен папоротник"),
            (
                "Cyrillic in an English text",
                Language::English,
                "word папоротники",
                "word папоротник",
            ),
            ("Greek", Language::English, "ΛΌΓΟΣ λόγος", "λογ λογ"),
            ("Turkish capitals", Language::Turkish, "İSTANBUL", "istanbul"),
            ("Arabic", Language::Arabic, "المكتبات مكتبة", "مكتب مكتب"),
            ("Persian letters", Language::OtherArabic, "کتاب", "كتاب"),
            ("Hebrew", Language::Other, "שָׁלוֹם עולם", "שלום עולם"),
            ("Hindi keeps its vowels", Language::Other, "हिन्दी भाषा", "हिन्दी भाषा"),
            ("Chinese", Language::Other, "蕨类植物", "蕨类 ~蕨 类植 ~类 植物 ~植 ~物"),
            ("one character", Language::Other, "水", "水"),
            ("Chinese with English", Language::Other, "用Rust语言", "用 rust 语言 ~语 ~言"),
            ("Japanese", Language::Other, "食べる", "食べ ~食 べる ~べ ~る"),
            ("half-width kana", Language::Other, "ｶﾞｽ", "ガス ~ガ ~ス"),
            ("number before Han", Language::Other, "3月", "3 月"),
            ("Korean", Language::Other, "한국어", "한국 ~한 국어 ~국 ~어"),
            (
                "decomposed Korean",
                Language::Other,
                "\u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}\u{11a8}",
                "한국 ~한 ~국",
            ),
            (
                "Thai keeps marks with their letter",
                Language::Other,
                "น้ำ",
                "น\u{e49}\u{e4d}า ~น\u{e49} ~\u{e4d}า",
            ),
            (
                "snake case",
                Language::English,
                "foo_bar __init__ _emph_",
                "foobar +foo +bar init emph",
            ),
            (
                "camel case",
                Language::English,
                "HTTPServer2 fooBar",
                "httpserver2 +http +server2 foobar +foo +bar",
            ),
            ("plurals of acronyms", Language::English, "PDFs IDs NASA", "pdfs id nasa"),
            (
                "signs",
                Language::English,
                "C++, C# and F#! c++17 a#b i++j",
                "c++ c# and. f# c 17 a. b i. j",
            ),
            (
                "versions",
                Language::English,
                "v1.2 3.14. 12.03.2024",
                "v1.2 +v1 3.14 +14 12.03.2024 +12 +03 +2024",
            ),
            ("thousands", Language::English, "1,000,000 1,2,3 12,3456", "1000000 1 2 3 12 3456"),
            ("hyphens separate", Language::English, "EIP-1193 e-mail", "eip 1193 e mail"),
            ("full width", Language::English, "ＡＢＣ１２", "abc12"),
            (
                "soft hyphen and joiner",
                Language::English,
                "co\u{ad}op zero\u{200c}width",
                "coop zerowidth",
            ),
            ("pictographs", Language::English, "a🌿🌿️b", "a. 🌿 🌿 b"),
            ("punctuation only", Language::English, "--- *** ...", ""),
            ("long words are cut", Language::Other, &"x".repeat(500), &"x".repeat(64)),
        ];
        let wrong: Vec<_> = cases
            .into_iter()
            .filter(|(_, language, text, expected)| shown(text, *language) != *expected)
            .map(|(name, language, text, _)| (name, shown(text, language)))
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn equal_terms_have_one_number_until_the_analyzer_rests() {
        let mut analyzer = Analyzer::new();
        let mut numbers = |text: &str| {
            let mut numbers = Vec::new();
            analyzer.rest();
            analyzer.analyze(text, Language::English, |token| numbers.push(token.number));
            assert!(
                numbers.iter().all(|number| !analyzer.term(*number).is_empty()),
                "each has a term"
            );
            numbers
        };
        let ferns = numbers("fern Ferns FERN 蕨蕨蕨 moss");
        assert_eq!(ferns, [0, 0, 0, 1, 2, 1, 2, 2, 3]);
        assert_eq!(numbers("moss fern"), [3, 0], "it remembers");
        let many: String = (0..=MAX_REMEMBERED).map(|n| format!("x{n} ")).collect();
        numbers(&many);
        assert_eq!(numbers("moss fern"), [0, 1], "not for ever");
        // One term, written in many ways.
        let spelled = |n: usize| -> String {
            (0..16)
                .map(|bit| if n >> bit & 1 == 1 { 'é' } else { 'e' })
                .chain("x ".chars())
                .collect()
        };
        let many: String = (0..=MAX_REMEMBERED).map(spelled).collect();
        assert!(numbers(&many).iter().all(|number| *number == 2));
        assert_eq!(numbers("fern"), [0], "nor for many spellings");
        assert_eq!(numbers("moss"), [1]);
    }

    #[test]
    fn short_words_are_told_apart() {
        let letters = ["a", "b", "ab"];
        let mut words: Vec<String> = letters.map(String::from).to_vec();
        while words.last().is_some_and(|word| word.len() < 18) {
            let longer: Vec<String> =
                letters.map(|end| words[words.len() - 1].clone() + end).to_vec();
            words.extend(longer);
            words.push("a".repeat(words.len() % 20));
        }
        words.sort();
        words.dedup();
        for one in &words {
            for other in &words {
                let (short, short_other) =
                    (ShortWord::of(one.as_bytes()), ShortWord::of(other.as_bytes()));
                assert_eq!(short.is_some(), one.len() <= 16);
                assert!(
                    short.is_none() || (short == short_other) == (one == other),
                    "{one} {other}"
                );
            }
        }
    }

    #[test]
    fn positions_let_phrases_match() {
        let mut positions = Vec::new();
        Analyzer::new().analyze("see fooBar 植物学 now", Language::English, |token| {
            positions.push((token.term.to_owned(), token.position));
        });
        let expected = [
            ("see", 0),
            ("foobar", 1),
            ("foo", 2),
            ("bar", 3),
            ("植物", 4),
            ("植", 4),
            ("物学", 5),
            ("物", 5),
            ("学", 6),
            ("now", 7),
        ];
        assert_eq!(positions, expected.map(|(term, position)| (term.to_owned(), position)));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_text_is_taken(text in any_text(), language in proptest::sample::select(Language::ALL.to_vec())) {
            let mut analyzer = Analyzer::new();
            let (mut last, mut n_tokens) = ((0, 0), 0);
            let mut first = Vec::new();
            analyzer.analyze(&text, language, |token| {
                assert!(token.start < token.end && text.is_char_boundary(token.start) && text.is_char_boundary(token.end));
                assert!(!token.term.is_empty() && token.term.chars().all(|c| c > ' '), "{:?}", token.term);
                assert!((token.position, token.start) >= last || token.kind != TokenKind::Word);
                last = last.max((token.position, token.start));
                n_tokens += 1;
                first.push((token.term.to_owned(), token.kind));
            });
            prop_assert!(n_tokens <= 3 * text.chars().count());
            // What was remembered changes nothing.
            let mut again = Vec::new();
            analyzer.analyze(&text, language, |token| again.push((token.term.to_owned(), token.kind)));
            prop_assert_eq!(first, again);
        }

        #[test]
        fn plain_words_are_cut_as_any_are(text in any_text()) {
            let parts = |word: RawWord| (word.start, word.end, word.alphabet, word.is_compound);
            let cut: Vec<_> = Words { text: &text, at: 0 }.map(parts).collect();
            let mut words = Words { text: &text, at: 0 };
            let slowly: Vec<_> = std::iter::from_fn(|| words.any()).map(parts).collect();
            prop_assert_eq!(cut, slowly);
        }
    }

    /// Letters of many scripts, marks and connectors, so that words come about.
    fn any_text() -> impl Strategy<Value = String> {
        let pieces = [
            "a", "B", "at", "Bo", " go ", "é", "ß", "İ", "ſ", "σ", "Σ", "ё", "й", "ا", "ة", "ـ",
            "\u{64b}", "ש", "\u{5c1}", "न", "\u{94d}", "த", "ி", "漢", "か", "\u{3099}", "ｶ", "ﾞ",
            "ー", "한", "\u{1112}", "\u{1161}", "\u{11ab}", "น", "ำ", "ក", "្", "မ", "ລ", "1", "٣",
            "½", "Ⅷ", "_", ".", ",", "+", "#", "-", "'", "’", " ", "\n", "\u{200d}", "\u{ad}",
            "🌿", "\u{fe0f}", "ﷺ", "ﬁ", "㎏", "ing", "s", "ness", "keit", "en", "tion",
        ];
        prop_oneof![
            proptest::collection::vec(proptest::sample::select(pieces.to_vec()), 0..40)
                .prop_map(|parts| parts.concat()),
            proptest::collection::vec(any::<char>(), 0..40)
                .prop_map(|chars| chars.into_iter().collect()),
        ]
    }
}
