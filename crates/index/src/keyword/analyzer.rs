//! Analyzer: turns text in any script into terms.
//!
//! Tokenization is the same for every language, so analyses of one text in two languages yield parallel tokens; only stems and stop words differ.

use std::collections::HashMap;
use std::num::NonZeroU32;

use compact_str::CompactString;
use foldhash::fast::RandomState;
use rust_stemmers::Stemmer;
use weft_model::text::byte_of_char;

use super::language::Language;
use super::script::Script;
use super::stopwords::languages_of;
use super::token_cache::{CachedToken, TokenCache};
use super::word_folding::{push_folded, push_lower};
use super::word_splitter::{AsciiWord, CharacterUnits, CompoundParts, RawWord, WordSplitter};

/// Maximum length of a term in characters; the rest (of a key, a hash, a data URL) is not indexed.
const MAX_TERM_CHARS: usize = 64;

/// Maximum number of parts of one compound that are indexed.
const MAX_PARTS: usize = 16;

/// Maximum number of cached terms, and of cached words of one language, kept across texts.
const MAX_CACHED: usize = 1 << 15;

/// Number of ASCII words that are looked up together.
const RUN: usize = 16;

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TokenKind {
    /// A word, or two adjacent characters of a script without spaces. Only these count towards a text's length.
    Word,
    /// A stop word of the language.
    Stop,
    /// A part of the preceding compound: `http` and `server` of `HTTPServer`.
    Part,
    /// One character of the preceding pair, in a script without spaces.
    Character,
}

/// Token of a text.
#[derive(Clone, Copy)]
pub struct Token<'t> {
    interner: &'t TermInterner,
    /// Number of its term in the analyzer: two terms are equal if their numbers are, until [`Analyzer::shrink_caches`] is called.
    pub number: u32,
    /// Number of an additional term for spellings without the diacritics that the language's endings depend on: `educacion` in addition to `educ`, which is also the stem of `educar`.
    pub folded: Option<u32>,
    /// First byte in the analyzed text.
    pub start: usize,
    /// Byte after the last.
    pub end: usize,
    /// True if it is written in ASCII.
    pub(super) is_ascii: bool,
    /// Position for phrase matching: adjacent words differ by one. Parts are numbered separately, so that the words around a compound are adjacent to it in every spelling.
    pub position: u32,
    /// Kind.
    pub kind: TokenKind,
}

impl std::fmt::Debug for Token<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { start, end, position, kind, .. } = self;
        let terms: Vec<&str> = self.terms().collect();
        f.debug_tuple("Token")
            .field(&terms)
            .field(&(start..end))
            .field(position)
            .field(kind)
            .finish()
    }
}

impl<'t> Token<'t> {
    /// Returns the form under which it is indexed.
    #[must_use]
    pub fn term(&self) -> &'t str {
        self.interner.text(self.number)
    }

    /// Returns its term, then the additional one.
    pub fn terms(&self) -> impl Iterator<Item = &'t str> {
        let interner = self.interner;
        [Some(self.number), self.folded].into_iter().flatten().map(|number| interner.text(number))
    }

    /// Returns the form in which names are compared: without diacritics. `None` for stop words and parts of compounds.
    #[must_use]
    pub fn name_form(&self) -> Option<&'t str> {
        (self.kind == TokenKind::Word).then(|| self.unaccented())
    }

    /// Returns a token that is searched like this one but does not count as a word of the text.
    pub(super) const fn without_word(self) -> Self {
        match self.kind {
            TokenKind::Word => Self { kind: TokenKind::Stop, ..self },
            TokenKind::Stop | TokenKind::Part | TokenKind::Character => self,
        }
    }

    pub(super) fn unaccented(&self) -> &'t str {
        self.interner.text(self.folded.unwrap_or(self.number))
    }
}

/// Turns texts into tokens.
///
/// The result depends only on the text and the language; the analyzer's state is a cache.
///
/// - Words of spaced scripts are normalized (compatibility forms, case, Latin and Greek diacritics, Arabic spellings) and stemmed. A word written without its Latin diacritics shares a term with the original spelling.
/// - Scripts without spaces, and Korean, yield pairs of adjacent characters, and each single character.
/// - Words end at the boundary between two scripts.
/// - `foo_bar`, `fooBar` and `FooBar` yield `foobar`, then their parts; `v1.2` and `1,000` stay whole; `C++` and `C#` keep their signs.
///
/// Words stay cached until [`shrink_caches`](Self::shrink_caches) is called.
#[derive(Default)]
pub struct Analyzer {
    normalizers: [Option<WordNormalizer>; Language::ALL.len()],
    terms: TermInterner,
    /// Reused buffer.
    lower: String,
    /// Reused buffer.
    joined: String,
}

impl std::fmt::Debug for Analyzer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Analyzer")
    }
}

impl Analyzer {
    /// Creates an analyzer with empty caches.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Clears the caches if they have grown too large, which renumbers the terms. Call it between texts.
    pub fn shrink_caches(&mut self) {
        let n_words =
            self.normalizers.iter().flatten().map(|normalizer| normalizer.cache.len()).max();
        if self.terms.texts.len().max(n_words.unwrap_or(0)) > MAX_CACHED {
            self.terms = TermInterner::default();
            self.normalizers
                .iter_mut()
                .flatten()
                .for_each(|normalizer| normalizer.cache = TokenCache::default());
        }
    }

    /// Returns the term of a number assigned since the caches were last cleared.
    pub(super) fn term(&self, number: u32) -> &str {
        self.terms.text(number)
    }

    /// Passes every token of `text` to `sink` in order, parts after their compound. `O(text)`.
    pub fn analyze(&mut self, text: &str, language: Language, mut sink: impl FnMut(Token<'_>)) {
        let (mut position, mut part_position) = (0, 0);
        let mut words = WordSplitter { text, at: 0 };
        let mut run = [AsciiWord::default(); RUN];
        loop {
            let n_ascii = words.ascii_run(&mut run);
            position = self.ascii_words(text, &run[..n_ascii], language, position, &mut sink);
            if n_ascii == RUN {
                continue;
            }
            let Some(word) = words.next_word() else { break };
            position = if word.script.is_some_and(Script::is_unspaced) {
                self.pairs(text, &word, position, &mut sink)
            } else {
                let places = (position, &mut part_position);
                self.word(text, &word, language, places, &mut sink)
            };
        }
    }

    /// Returns the words of `text` in order, without diacritics and without stop words.
    pub fn words(&mut self, text: &str, language: Language) -> Vec<String> {
        let mut words = Vec::new();
        self.analyze(text, language, |token| words.extend(token.name_form().map(str::to_owned)));
        words
    }

    /// Returns the words of `texts` in order, in the form in which names are compared. Stop words are left out unless there are no other words.
    pub(super) fn name_words(&mut self, texts: &[&str], language: Language) -> Vec<String> {
        // Terms contain no spaces.
        self.name_term(texts, language).split_whitespace().map(str::to_owned).collect()
    }

    /// Returns [`name_words`](Self::name_words) joined by spaces.
    pub(super) fn name_term(&mut self, texts: &[&str], language: Language) -> String {
        let mut term = String::new();
        for kinds in [&[TokenKind::Word][..], &[TokenKind::Word, TokenKind::Stop]] {
            for text in texts {
                self.analyze(text, language, |token| {
                    if kinds.contains(&token.kind) {
                        if !term.is_empty() {
                            term.push(' ');
                        }
                        term.push_str(token.unaccented());
                    }
                });
            }
            if !term.is_empty() {
                break;
            }
        }
        term
    }

    /// Emits up to [`RUN`] ASCII words and returns the next position.
    ///
    /// All words are looked up before the first one is emitted, so that their cache misses overlap.
    /// Digits yield the same terms in every language, so the normalizer for Latin letters handles them too.
    fn ascii_words(
        &mut self,
        text: &str,
        run: &[AsciiWord],
        language: Language,
        mut position: u32,
        sink: &mut impl FnMut(Token<'_>),
    ) -> u32 {
        if run.is_empty() {
            return position;
        }
        let language = language.of_word(Script::Latin);
        let normalizer = self.normalizers[language as usize]
            .get_or_insert_with(|| WordNormalizer::new(language));
        let (terms, lower) = (&mut self.terms, &mut self.lower);
        let mut known = [None; RUN];
        for (known, word) in known.iter_mut().zip(run) {
            *known = normalizer.cache.recent(word.short);
        }
        for (known, word) in known.iter().zip(run) {
            let AsciiWord { start, end, short } = *word;
            let entry = known.unwrap_or_else(|| {
                let entry = normalizer.entry(&text[start..end], Script::Latin, terms, lower);
                normalizer.cache.insert_recent(short, entry);
                entry
            });
            position =
                emit_word(entry, terms, TokenPlace { start, end, is_ascii: true }, position, sink);
        }
        position
    }

    /// Emits a word of a spaced script, then its parts if it is a compound. Returns the next position and advances that of parts.
    fn word(
        &mut self,
        text: &str,
        word: &RawWord,
        language: Language,
        (position, part_position): (u32, &mut u32),
        sink: &mut impl FnMut(Token<'_>),
    ) -> u32 {
        let script = word.script.unwrap_or(Script::Other);
        let language = language.of_word(script);
        let normalizer = self.normalizers[language as usize]
            .get_or_insert_with(|| WordNormalizer::new(language));
        let raw = truncate(&text[word.start..word.end]);
        let place = TokenPlace { start: word.start, end: word.end, is_ascii: raw.is_ascii() };
        let (terms, lower) = (&mut self.terms, &mut self.lower);
        if !word.is_compound {
            let entry = normalizer.entry(raw, script, terms, lower);
            return emit_word(entry, terms, place, position, sink);
        }
        let joined = &mut self.joined;
        joined.clear();
        joined.extend(raw.split(['_', ',']));
        let entry = normalizer.entry(joined, script, terms, lower);
        sink(terms.token(entry, place, position, TokenKind::Word));
        let next = position + 1;
        let mut parts = CompoundParts::new(raw);
        let (Some(first), Some(second)) = (parts.next(), parts.next()) else { return next };
        for (part_start, part_end) in [first, second].into_iter().chain(parts).take(MAX_PARTS) {
            let part = &raw[part_start..part_end];
            let entry = normalizer.entry(part, script, terms, lower);
            // A single letter or digit is too unspecific.
            if part.chars().nth(1).is_some() {
                let (start, end) = (word.start + part_start, word.start + part_end);
                let place = TokenPlace { start, end, is_ascii: part.is_ascii() };
                sink(terms.token(entry, place, *part_position, TokenKind::Part));
            }
            *part_position += 1;
        }
        // Parts of two compounds are not adjacent.
        *part_position += 1;
        next
    }

    /// Emits a run of a script without spaces: each pair of adjacent characters, and each character. Returns the next position.
    fn pairs(
        &mut self,
        text: &str,
        run: &RawWord,
        mut position: u32,
        sink: &mut impl FnMut(Token<'_>),
    ) -> u32 {
        let mut units = CharacterUnits { text, at: run.start, end: run.end };
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
                let pair = CachedToken { number: terms.number(term), ..CachedToken::default() };
                let place = TokenPlace { start, end: next_end, is_ascii: false };
                sink(terms.token(pair, place, position, TokenKind::Word));
                single = TokenKind::Character;
            }
            let term = &term[..n_single];
            if !term.is_empty() {
                let character =
                    CachedToken { number: terms.number(term), ..CachedToken::default() };
                let place = TokenPlace { start, end, is_ascii: false };
                sink(terms.token(character, place, position, single));
            }
            position += 1;
            unit = next;
        }
        position
    }
}

/// Place of a token in its text.
#[derive(Clone, Copy)]
struct TokenPlace {
    start: usize,
    end: usize,
    is_ascii: bool,
}

/// Passes a word without parts to `sink` unless it is empty after normalization. Returns the next position.
#[inline]
fn emit_word(
    entry: CachedToken,
    terms: &TermInterner,
    place: TokenPlace,
    position: u32,
    sink: &mut impl FnMut(Token<'_>),
) -> u32 {
    if entry.is_empty {
        return position;
    }
    let kind = if entry.is_stop { TokenKind::Stop } else { TokenKind::Word };
    sink(terms.token(entry, place, position, kind));
    position + 1
}

/// Interned terms: each distinct term has a number.
#[derive(Default)]
struct TermInterner {
    numbers: HashMap<CompactString, u32, RandomState>,
    texts: Vec<CompactString>,
}

impl TermInterner {
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

    /// Builds the token of a cached word at a place.
    fn token(
        &self,
        CachedToken { number, folded, is_stop: _, is_empty: _ }: CachedToken,
        TokenPlace { start, end, is_ascii }: TokenPlace,
        position: u32,
        kind: TokenKind,
    ) -> Token<'_> {
        let folded = folded.map(|above| above.get() - 1);
        Token { interner: self, number, folded, start, end, is_ascii, position, kind }
    }
}

/// Word normalizer of one language, with a cache of its results.
struct WordNormalizer {
    language: Language,
    stemmer: Option<Stemmer>,
    cache: TokenCache,
}

impl WordNormalizer {
    fn new(language: Language) -> Self {
        Self {
            language,
            stemmer: language.algorithm().map(Stemmer::create),
            cache: TokenCache::default(),
        }
    }

    /// Returns the normalized form of `raw`; `lower` is a reused buffer.
    fn entry(
        &mut self,
        raw: &str,
        script: Script,
        terms: &mut TermInterner,
        lower: &mut String,
    ) -> CachedToken {
        if let Some(entry) = self.cache.get(raw) {
            return entry;
        }
        lower.clear();
        push_lower(raw, lower);
        let is_stop = languages_of(lower) & self.language.bit() != 0;
        // Numbers and names such as `c++` have no endings; stop words are looked up unstemmed.
        let is_stemmed =
            !is_stop && lower.chars().all(|c| c.is_ascii_alphabetic() || !c.is_ascii());
        let has_diacritics = script == Script::Latin && !lower.is_ascii();
        let mut term = String::new();
        match self.stemmer.as_ref().filter(|_| is_stemmed) {
            Some(stemmer) => {
                if has_diacritics {
                    fold_foreign(self.language, lower);
                }
                push_folded(&stemmer.stem(lower), script, &mut term);
            }
            None => push_folded(lower, script, &mut term),
        }
        let number = terms.number(&term);
        let mut entry = CachedToken { number, folded: None, is_stop, is_empty: term.is_empty() };
        if has_diacritics {
            term.clear();
            push_folded(lower, script, &mut term);
            if term != *lower {
                let folded = self.entry(&term, script, terms, lower).number;
                let above = (folded != entry.number).then_some(folded + 1);
                entry.folded = above.and_then(NonZeroU32::new);
            }
        }
        self.cache.insert(raw, entry);
        entry
    }
}

/// Removes diacritics that the language does not use: its stemmer would treat the letters as consonants and find no ending in `résumé`.
fn fold_foreign(language: Language, word: &mut String) {
    let own = language.own_letters();
    let mut folded = String::with_capacity(word.len());
    for (at, c) in word.char_indices() {
        if own.contains(c) {
            folded.push(c);
        } else {
            push_folded(&word[at..at + c.len_utf8()], Script::Latin, &mut folded);
        }
    }
    *word = folded;
}

/// Returns the first [`MAX_TERM_CHARS`] characters of `raw`.
fn truncate(raw: &str) -> &str {
    if raw.len() <= MAX_TERM_CHARS {
        return raw;
    }
    &raw[..byte_of_char(raw, MAX_TERM_CHARS)]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Formats the tokens as `term` (word), `term.` (stop word), `+term` (part), `~term` (character).
    fn shown(text: &str, language: Language) -> String {
        let mut shown = Vec::new();
        Analyzer::new().analyze(text, language, |token| {
            shown.push(match token.kind {
                TokenKind::Word => token.term().to_owned(),
                TokenKind::Stop => format!("{}.", token.term()),
                TokenKind::Part => format!("+{}", token.term()),
                TokenKind::Character => format!("~{}", token.term()),
            });
        });
        shown.join(" ")
    }

    #[test]
    fn text_becomes_terms() {
        let cases = [
            (
                "stems and stop words",
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
    fn term_numbers_are_stable_until_the_caches_are_cleared() {
        let mut analyzer = Analyzer::new();
        let mut numbers = |text: &str| {
            let mut numbers = Vec::new();
            analyzer.shrink_caches();
            analyzer.analyze(text, Language::English, |token| numbers.push(token.number));
            assert!(
                numbers.iter().all(|number| !analyzer.term(*number).is_empty()),
                "each has a term"
            );
            numbers
        };
        let ferns = numbers("fern Ferns FERN 蕨蕨蕨 moss");
        assert_eq!(ferns, [0, 0, 0, 1, 2, 1, 2, 2, 3]);
        assert_eq!(numbers("moss fern"), [3, 0], "the words are cached");
        let many: String = (0..=MAX_CACHED).map(|n| format!("x{n} ")).collect();
        numbers(&many);
        assert_eq!(numbers("moss fern"), [0, 1], "a large cache is cleared");
        // One term in many spellings.
        let spelled = |n: usize| -> String {
            (0..16)
                .map(|bit| if n >> bit & 1 == 1 { 'é' } else { 'e' })
                .chain("x ".chars())
                .collect()
        };
        let many: String = (0..=MAX_CACHED).map(spelled).collect();
        assert!(numbers(&many).iter().all(|number| *number == 2));
        assert_eq!(numbers("fern"), [0], "many spellings fill the cache too");
        assert_eq!(numbers("moss"), [1]);
    }

    #[test]
    fn recent_words_yield_the_same_tokens_as_uncached_ones() {
        let letter = |n: usize| char::from(b"abdeginorst"[n % 11]);
        let word =
            |n: usize| -> String { [1, 11, 121, 1331].map(|by| letter(n / by)).iter().collect() };
        let endings = ["ing", "s", "ED", "", "nesses"];
        let text = |words: std::ops::Range<usize>| -> String {
            words
                .map(|n| {
                    format!("{}{} {} The {n} ", word(n), endings[n % 5], word(n).to_uppercase())
                })
                .collect()
        };
        let tokens = |analyzer: &mut Analyzer, text: &str| {
            let mut tokens = Vec::new();
            analyzer.analyze(text, Language::English, |token| {
                tokens.push((
                    token.term().to_owned(),
                    token.kind,
                    text[token.start..token.end].to_owned(),
                ));
            });
            tokens
        };
        // An analyzer that has seen few words keeps no recent ones.
        let expected: Vec<_> = (0..60)
            .flat_map(|at| tokens(&mut Analyzer::new(), &text(at * 100..(at + 1) * 100)))
            .collect();
        let mut analyzer = Analyzer::new();
        for round in ["first", "second", "after many others", "after clearing the caches"] {
            if round == "after clearing the caches" {
                analyzer.shrink_caches();
                assert!(analyzer.terms.texts.is_empty(), "the caches are cleared");
            }
            let found = tokens(&mut analyzer, &text(0..6000));
            assert!(found == expected, "round: {round}");
            if round == "second" {
                tokens(&mut analyzer, &text(6000..14000));
                let others: String = (0..MAX_CACHED).map(|n| format!("{} ", 100_000 + n)).collect();
                tokens(&mut analyzer, &others);
            }
        }
    }

    #[test]
    fn positions_support_phrase_matching() {
        let mut positions = Vec::new();
        Analyzer::new().analyze("see fooBar 植物学 now_or_never", Language::English, |token| {
            positions.push((token.term().to_owned(), token.position));
        });
        let expected = [
            ("see", 0),
            ("foobar", 1),
            ("foo", 0),
            ("bar", 1),
            ("植物", 2),
            ("植", 2),
            ("物学", 3),
            ("物", 3),
            ("学", 4),
            ("nowornev", 5),
            ("now", 3),
            ("or", 4),
            ("never", 5),
        ];
        assert_eq!(positions, expected.map(|(term, position)| (term.to_owned(), position)));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_text_is_analyzed(text in any_text(), language in proptest::sample::select(Language::ALL.to_vec())) {
            let mut analyzer = Analyzer::new();
            let (mut last, mut n_tokens) = ((0, 0), 0);
            let mut first = Vec::new();
            analyzer.analyze(&text, language, |token| {
                assert!(token.start < token.end && text.is_char_boundary(token.start) && text.is_char_boundary(token.end));
                assert!(!token.term().is_empty() && token.term().chars().all(|c| c > ' '), "{:?}", token.term());
                if token.kind != TokenKind::Part {
                    assert!((token.position, token.start) >= last || token.kind != TokenKind::Word);
                    last = last.max((token.position, token.start));
                }
                n_tokens += 1;
                first.push((token.term().to_owned(), token.kind));
            });
            prop_assert!(n_tokens <= 3 * text.chars().count());
            // The cache does not change the result.
            let mut again = Vec::new();
            analyzer.analyze(&text, language, |token| again.push((token.term().to_owned(), token.kind)));
            prop_assert_eq!(first, again);
        }

        #[test]
        fn ascii_fast_path_splits_like_the_general_path(text in any_text()) {
            let parts = |word: RawWord| (word.start, word.end, word.script, word.is_compound);
            let mut words = WordSplitter { text: &text, at: 0 };
            let split: Vec<_> = std::iter::from_fn(|| {
                let ascii = words.next_ascii().map(|word| {
                    let has_letters = text.as_bytes()[word.start].is_ascii_alphabetic();
                    (word.start, word.end, has_letters.then_some(Script::Latin), false)
                });
                ascii.or_else(|| words.next_word().map(parts))
            })
            .collect();
            let mut words = WordSplitter { text: &text, at: 0 };
            let expected: Vec<_> = std::iter::from_fn(|| words.next_word()).map(parts).collect();
            prop_assert_eq!(split, expected);
        }
    }

    /// Letters of many scripts, marks and connectors that form words.
    fn any_text() -> impl Strategy<Value = String> {
        let pieces = [
            "a",
            "B",
            "at",
            "Bo",
            "CD",
            "27",
            " go ",
            " NASA ",
            " 1984 ",
            " supercalifragil ",
            "é",
            "ß",
            "İ",
            "ſ",
            "σ",
            "Σ",
            "ё",
            "й",
            "ا",
            "ة",
            "ـ",
            "\u{64b}",
            "ש",
            "\u{5c1}",
            "न",
            "\u{94d}",
            "த",
            "ி",
            "漢",
            "か",
            "\u{3099}",
            "ｶ",
            "ﾞ",
            "ー",
            "한",
            "\u{1112}",
            "\u{1161}",
            "\u{11ab}",
            "น",
            "ำ",
            "ក",
            "្",
            "မ",
            "ລ",
            "1",
            "٣",
            "½",
            "Ⅷ",
            "_",
            ".",
            ",",
            "+",
            "#",
            "-",
            "'",
            "’",
            " ",
            "\n",
            "\u{200d}",
            "\u{ad}",
            "🌿",
            "\u{fe0f}",
            "ﷺ",
            "ﬁ",
            "㎏",
            "ing",
            "s",
            "ness",
            "keit",
            "en",
            "tion",
        ];
        prop_oneof![
            proptest::collection::vec(proptest::sample::select(pieces.to_vec()), 0..40)
                .prop_map(|parts| parts.concat()),
            proptest::collection::vec(any::<char>(), 0..40)
                .prop_map(|chars| chars.into_iter().collect()),
        ]
    }
}
