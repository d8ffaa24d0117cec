//! The analyzer: text in any script to terms that can be looked up.
//!
//! Segmentation is the same for every language, so analyses of one text in two languages run in step; only stems and function words differ.

use std::collections::HashMap;
use std::num::NonZeroU32;

use compact_str::CompactString;
use foldhash::fast::RandomState;
use rust_stemmers::Stemmer;
use weft_model::text::byte_of_char;

use super::Language;
use super::alphabet::Alphabet;
use super::known::{Entry, Known};
use super::spelling::{push_folded, push_lower};
use super::stopwords::languages_of;
use super::words::{Parts, PlainWord, RawWord, Units, Words};

/// Characters of a word that count; what follows (of a key, a hash, a data URL) is not indexed.
const MAX_TERM_CHARS: usize = 64;

/// Parts of one compound that become terms of their own.
const MAX_PARTS: usize = 16;

/// Terms, and words of one language, that are remembered from text to text.
const MAX_REMEMBERED: usize = 1 << 15;

/// Plain words that are looked up together.
const RUN: usize = 16;

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
    /// Another form of it, that of those who leave out diacritics which its language's endings depend on: `educacion` beside `educ`, which is also `educar`.
    pub plain: Option<PlainForm<'t>>,
    /// The analyzer's number of the term: terms are equal where their numbers are, until the analyzer [rests](Analyzer::rest).
    pub number: u32,
    /// The first byte in the analysed text.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
    /// Its place for phrases: neighbours differ by one. Parts have places of their own, so that words around a compound are its neighbours however it is written.
    pub position: u32,
    /// What it stands for.
    pub kind: TokenKind,
}

/// The form of a word that was written without its diacritics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainForm<'t> {
    /// The term.
    pub term: &'t str,
    /// Its number, as that of a [token](Token::number).
    pub number: u32,
}

/// Turns texts into tokens.
///
/// The result depends on the text and the language alone; what the analyzer keeps are shortcuts.
///
/// - Words of spaced scripts are normalised (compatibility forms, case, Latin and Greek diacritics, Arabic spellings) and stemmed; without its Latin diacritics a word has a term in common with what it was.
/// - Scripts without spaces, and Korean, give pairs of neighbouring characters, and each character besides.
/// - Words end at the border of two scripts.
/// - `foo_bar`, `fooBar` and `FooBar` give `foobar`, then their parts; `v1.2` and `1,000` stay whole; `C++` and `C#` keep their signs.
///
/// It remembers the words it meets until it [rests](Self::rest).
#[derive(Default)]
pub struct Analyzer {
    rules: [Option<Rules>; Language::ALL.len()],
    terms: Terms,
    /// Room to work in.
    lower: String,
    joined: String,
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

    /// Hands every token of `text` to `sink`, as they stand, parts behind their compound. `O(text)`.
    pub fn analyze(&mut self, text: &str, language: Language, mut sink: impl FnMut(Token<'_>)) {
        let (mut position, mut part_position) = (0, 0);
        let mut words = Words { text, at: 0 };
        let mut run = [PlainWord::default(); RUN];
        loop {
            let n_plain = words.plain_run(&mut run);
            position = self.plain_words(text, &run[..n_plain], language, position, &mut sink);
            if n_plain == RUN {
                continue;
            }
            let Some(word) = words.any() else { break };
            position = if word.alphabet.is_some_and(Alphabet::is_unspaced) {
                self.pairs(text, &word, position, &mut sink)
            } else {
                let places = (position, &mut part_position);
                self.word(text, &word, language, places, &mut sink)
            };
        }
    }

    /// The words of `text` in order, as they are without diacritics; function words are left out.
    pub fn words(&mut self, text: &str, language: Language) -> Vec<String> {
        self.terms_of(text, language, |kind| kind == TokenKind::Word)
    }

    /// The words of `texts` in order: what names are compared by. Function words are left out, unless there is nothing else.
    pub(super) fn name_words(&mut self, texts: &[&str], language: Language) -> Vec<String> {
        let words: Vec<String> = texts.iter().flat_map(|text| self.words(text, language)).collect();
        if !words.is_empty() {
            return words;
        }
        let is_whole = |kind| matches!(kind, TokenKind::Word | TokenKind::Stop);
        texts.iter().flat_map(|text| self.terms_of(text, language, is_whole)).collect()
    }

    fn terms_of(
        &mut self,
        text: &str,
        language: Language,
        is_wanted: impl Fn(TokenKind) -> bool,
    ) -> Vec<String> {
        let mut terms = Vec::new();
        self.analyze(text, language, |token| {
            if is_wanted(token.kind) {
                let term = token.plain.map_or(token.term, |plain| plain.term);
                terms.push(term.to_owned());
            }
        });
        terms
    }

    /// Plain words, at most [`RUN`]. Returns the next position.
    ///
    /// All are looked up before the first is handed on, so that memory is waited for once.
    /// Digits become the same in every language, so those of Latin letters may answer for them.
    fn plain_words(
        &mut self,
        text: &str,
        run: &[PlainWord],
        language: Language,
        mut position: u32,
        sink: &mut impl FnMut(Token<'_>),
    ) -> u32 {
        if run.is_empty() {
            return position;
        }
        let language = language.of_word(Alphabet::Latin);
        let rules = self.rules[language as usize].get_or_insert_with(|| Rules::new(language));
        let (terms, lower) = (&mut self.terms, &mut self.lower);
        let mut known = [None; RUN];
        for (known, word) in known.iter_mut().zip(run) {
            *known = rules.known.recent(word.short);
        }
        for (known, word) in known.iter().zip(run) {
            let PlainWord { start, end, short } = *word;
            let entry = known.unwrap_or_else(|| {
                let entry = rules.entry(&text[start..end], Alphabet::Latin, terms, lower);
                rules.known.keep_at_hand(short, entry);
                entry
            });
            position = whole(entry, terms, (start, end), position, sink);
        }
        position
    }

    /// A word of a spaced script, then its parts if it is a compound. Returns the next position; that of parts is moved on.
    fn word(
        &mut self,
        text: &str,
        word: &RawWord,
        language: Language,
        (position, part_position): (u32, &mut u32),
        sink: &mut impl FnMut(Token<'_>),
    ) -> u32 {
        let alphabet = word.alphabet.unwrap_or(Alphabet::Other);
        let language = language.of_word(alphabet);
        let rules = self.rules[language as usize].get_or_insert_with(|| Rules::new(language));
        let raw = cut(&text[word.start..word.end]);
        let (start, end) = (word.start, word.end);
        let (terms, lower) = (&mut self.terms, &mut self.lower);
        if !word.is_compound {
            let entry = rules.entry(raw, alphabet, terms, lower);
            return whole(entry, terms, (start, end), position, sink);
        }
        let joined = &mut self.joined;
        joined.clear();
        joined.extend(raw.split(['_', ',']));
        let entry = rules.entry(joined, alphabet, terms, lower);
        sink(terms.token(entry, (start, end), position, TokenKind::Word));
        let next = position + 1;
        let mut parts = Parts::new(raw);
        let (Some(first), Some(second)) = (parts.next(), parts.next()) else { return next };
        for (part_start, part_end) in [first, second].into_iter().chain(parts).take(MAX_PARTS) {
            let part = &raw[part_start..part_end];
            let entry = rules.entry(part, alphabet, terms, lower);
            // A single letter or digit tells nothing.
            if part.chars().nth(1).is_some() {
                let place = (start + part_start, start + part_end);
                sink(terms.token(entry, place, *part_position, TokenKind::Part));
            }
            *part_position += 1;
        }
        // Parts of two compounds are no neighbours.
        *part_position += 1;
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
                sink(Token { term, plain: None, number, start, end, position, kind });
                single = TokenKind::Character;
            }
            let term = &term[..n_single];
            if !term.is_empty() {
                let number = terms.number(term);
                sink(Token { term, plain: None, number, start, end, position, kind: single });
            }
            position += 1;
            unit = next;
        }
        position
    }
}

/// Hands a word without parts to `sink`, unless nothing is left of it. Returns the next position.
fn whole(
    entry: Entry,
    terms: &Terms,
    place: (usize, usize),
    position: u32,
    sink: &mut impl FnMut(Token<'_>),
) -> u32 {
    if entry.is_nothing {
        return position;
    }
    let kind = if entry.is_stop { TokenKind::Stop } else { TokenKind::Word };
    sink(terms.token(entry, place, position, kind));
    position + 1
}

/// Terms by number, each once.
#[derive(Default)]
struct Terms {
    numbers: HashMap<CompactString, u32, RandomState>,
    texts: Vec<CompactString>,
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

    /// What a word became, where it stands.
    fn token(
        &self,
        Entry { number, plain, is_stop: _, is_nothing: _ }: Entry,
        (start, end): (usize, usize),
        position: u32,
        kind: TokenKind,
    ) -> Token<'_> {
        let form = |number: u32| PlainForm { term: self.text(number), number };
        let plain = plain.map(|above| form(above.get() - 1));
        Token { term: self.text(number), plain, number, start, end, position, kind }
    }
}

/// What one language makes of words, with the answers it gave.
struct Rules {
    language: Language,
    stemmer: Option<Stemmer>,
    known: Known,
}

impl Rules {
    fn new(language: Language) -> Self {
        Self {
            language,
            stemmer: language.algorithm().map(Stemmer::create),
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
        let is_stop = languages_of(lower) & self.language.bit() != 0;
        // Numbers and names such as `c++` have no endings; a function word is looked up as it is.
        let is_stemmed =
            !is_stop && lower.chars().all(|c| c.is_ascii_alphabetic() || !c.is_ascii());
        let is_marked = alphabet == Alphabet::Latin && !lower.is_ascii();
        let mut term = String::new();
        match self.stemmer.as_ref().filter(|_| is_stemmed) {
            Some(stemmer) => {
                if is_marked {
                    fold_foreign(self.language, lower);
                }
                push_folded(&stemmer.stem(lower), alphabet, &mut term);
            }
            None => push_folded(lower, alphabet, &mut term),
        }
        let number = terms.number(&term);
        let mut entry = Entry { number, plain: None, is_stop, is_nothing: term.is_empty() };
        if is_marked {
            term.clear();
            push_folded(lower, alphabet, &mut term);
            if term != *lower {
                let plain = self.entry(&term, alphabet, terms, lower).number;
                let above = (plain != entry.number).then_some(plain + 1);
                entry.plain = above.and_then(NonZeroU32::new);
            }
        }
        self.known.insert(raw, entry);
        entry
    }
}

/// Takes the diacritics off letters that are none of the language: its stemmer would take them for consonants, and see no ending in `résumé`.
fn fold_foreign(language: Language, word: &mut String) {
    let own = language.own_letters();
    let mut known = String::with_capacity(word.len());
    for (at, c) in word.char_indices() {
        if own.contains(c) {
            known.push(c);
        } else {
            push_folded(&word[at..at + c.len_utf8()], Alphabet::Latin, &mut known);
        }
    }
    *word = known;
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
    fn words_that_are_at_hand_become_what_they_would() {
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
                    token.term.to_owned(),
                    token.kind,
                    text[token.start..token.end].to_owned(),
                ));
            });
            tokens
        };
        // One that has seen few words keeps none at hand.
        let expected: Vec<_> = (0..60)
            .flat_map(|at| tokens(&mut Analyzer::new(), &text(at * 100..(at + 1) * 100)))
            .collect();
        let mut analyzer = Analyzer::new();
        for round in ["first", "second", "after many others", "after a rest"] {
            if round == "after a rest" {
                analyzer.rest();
                assert!(analyzer.terms.texts.is_empty(), "it has rested");
            }
            let found = tokens(&mut analyzer, &text(0..6000));
            assert!(found == expected, "the {round} time");
            if round == "second" {
                tokens(&mut analyzer, &text(6000..14000));
                let others: String =
                    (0..MAX_REMEMBERED).map(|n| format!("{} ", 100_000 + n)).collect();
                tokens(&mut analyzer, &others);
            }
        }
    }

    #[test]
    fn positions_let_phrases_match() {
        let mut positions = Vec::new();
        Analyzer::new().analyze("see fooBar 植物学 now_or_never", Language::English, |token| {
            positions.push((token.term.to_owned(), token.position));
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
        fn any_text_is_taken(text in any_text(), language in proptest::sample::select(Language::ALL.to_vec())) {
            let mut analyzer = Analyzer::new();
            let (mut last, mut n_tokens) = ((0, 0), 0);
            let mut first = Vec::new();
            analyzer.analyze(&text, language, |token| {
                assert!(token.start < token.end && text.is_char_boundary(token.start) && text.is_char_boundary(token.end));
                assert!(!token.term.is_empty() && token.term.chars().all(|c| c > ' '), "{:?}", token.term);
                if token.kind != TokenKind::Part {
                    assert!((token.position, token.start) >= last || token.kind != TokenKind::Word);
                    last = last.max((token.position, token.start));
                }
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
            let mut words = Words { text: &text, at: 0 };
            let cut: Vec<_> = std::iter::from_fn(|| {
                let plain = words.plain().map(|word| {
                    let has_letters = text.as_bytes()[word.start].is_ascii_alphabetic();
                    (word.start, word.end, has_letters.then_some(Alphabet::Latin), false)
                });
                plain.or_else(|| words.any().map(parts))
            })
            .collect();
            let mut words = Words { text: &text, at: 0 };
            let slowly: Vec<_> = std::iter::from_fn(|| words.any()).map(parts).collect();
            prop_assert_eq!(cut, slowly);
        }
    }

    /// Letters of many scripts, marks and connectors, so that words come about.
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
