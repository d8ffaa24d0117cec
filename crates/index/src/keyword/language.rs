//! Languages: which rules a word is stemmed by, and how a note's language is found.

use rust_stemmers::Algorithm;
use serde::{Deserialize, Serialize};
use weft_model::text::byte_of_char;

use super::alphabet::Alphabet;
use super::stopwords::languages_of;

/// The language whose rules a text is analysed by.
///
/// Words in another alphabet than the language's own follow the usual language of that alphabet, so that English names in a Chinese note are stemmed as English.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Language {
    Arabic,
    Danish,
    Dutch,
    English,
    Finnish,
    French,
    German,
    Greek,
    Hungarian,
    Italian,
    Norwegian,
    Portuguese,
    Romanian,
    Russian,
    Spanish,
    Swedish,
    Tamil,
    Turkish,
    /// A language in Latin letters without stemming rules.
    OtherLatin,
    /// A language in Cyrillic letters without stemming rules.
    OtherCyrillic,
    /// A language in Arabic letters without stemming rules.
    OtherArabic,
    /// A language in any other script.
    Other,
}

impl Language {
    /// Every language, in the order of their codes.
    pub const ALL: [Self; 22] = [
        Self::Arabic,
        Self::Danish,
        Self::Dutch,
        Self::English,
        Self::Finnish,
        Self::French,
        Self::German,
        Self::Greek,
        Self::Hungarian,
        Self::Italian,
        Self::Norwegian,
        Self::Portuguese,
        Self::Romanian,
        Self::Russian,
        Self::Spanish,
        Self::Swedish,
        Self::Tamil,
        Self::Turkish,
        Self::OtherLatin,
        Self::OtherCyrillic,
        Self::OtherArabic,
        Self::Other,
    ];

    /// The number under which an index remembers it.
    pub(super) const fn code(self) -> u64 {
        self as u64
    }

    /// The language of a number that [`Language::code`] gave; [`Language::Other`] for any other number.
    pub(super) fn from_code(code: u64) -> Self {
        usize::try_from(code)
            .ok()
            .and_then(|code| Self::ALL.get(code).copied())
            .unwrap_or(Self::Other)
    }

    /// The alphabet it is written in; nothing for [`Language::Other`].
    pub(super) const fn alphabet(self) -> Option<Alphabet> {
        match self {
            Self::Arabic | Self::OtherArabic => Some(Alphabet::Arabic),
            Self::Danish
            | Self::Dutch
            | Self::English
            | Self::Finnish
            | Self::French
            | Self::German
            | Self::Hungarian
            | Self::Italian
            | Self::Norwegian
            | Self::Portuguese
            | Self::Romanian
            | Self::Spanish
            | Self::Swedish
            | Self::Turkish
            | Self::OtherLatin => Some(Alphabet::Latin),
            Self::Greek => Some(Alphabet::Greek),
            Self::Russian | Self::OtherCyrillic => Some(Alphabet::Cyrillic),
            Self::Tamil => Some(Alphabet::Tamil),
            Self::Other => None,
        }
    }

    /// The letters with diacritics that its stemming rules know; they take any other for a consonant.
    ///
    /// Source: the Snowball algorithms' own lists of vowels and endings, <https://snowballstem.org/algorithms/>.
    pub(super) const fn own_letters(self) -> &'static str {
        match self {
            Self::Danish | Self::Norwegian => "æøå",
            Self::Dutch => "äëïöüáéíóúè",
            Self::Finnish => "äö",
            Self::French => "âàëéêèïîôûùç",
            Self::German => "äöüß",
            Self::Hungarian => "áéíóöőúüű",
            Self::Italian => "áéíóúàèìòù",
            Self::Portuguese => "ãõáéíóúâêôç",
            Self::Romanian => "ăâîșțşţ",
            Self::Spanish => "áéíóúüñ",
            Self::Swedish => "äåö",
            Self::Turkish => "çğıöşü",
            Self::Arabic
            | Self::English
            | Self::Greek
            | Self::Russian
            | Self::Tamil
            | Self::OtherLatin
            | Self::OtherCyrillic
            | Self::OtherArabic
            | Self::Other => "",
        }
    }

    /// The language by whose rules a word in `alphabet` is read in a text of this language.
    pub(super) fn of_word(self, alphabet: Alphabet) -> Self {
        if self.alphabet() == Some(alphabet) { self } else { usual(alphabet) }
    }

    /// Whether no rule changes the first two letters of a word of plain Latin letters, but for a second `y` that becomes `i`; what follows the first may be left out.
    ///
    /// Finnish makes `lle` `le`, and Turkish `aba` `ap`. Source: the rules, tried on all words up to three letters and on the endings they know.
    pub(super) const fn keeps_beginnings(self) -> bool {
        !matches!(self, Self::Finnish | Self::Turkish)
    }

    /// Itself in a set of languages: one bit, by its code.
    pub(super) const fn bit(self) -> u32 {
        1 << self as u32
    }

    /// Its stemming rules, where it has any.
    pub(super) const fn algorithm(self) -> Option<Algorithm> {
        match self {
            Self::Arabic => Some(Algorithm::Arabic),
            Self::Danish => Some(Algorithm::Danish),
            Self::Dutch => Some(Algorithm::Dutch),
            Self::English => Some(Algorithm::English),
            Self::Finnish => Some(Algorithm::Finnish),
            Self::French => Some(Algorithm::French),
            Self::German => Some(Algorithm::German),
            Self::Greek => Some(Algorithm::Greek),
            Self::Hungarian => Some(Algorithm::Hungarian),
            Self::Italian => Some(Algorithm::Italian),
            Self::Norwegian => Some(Algorithm::Norwegian),
            Self::Portuguese => Some(Algorithm::Portuguese),
            Self::Romanian => Some(Algorithm::Romanian),
            Self::Russian => Some(Algorithm::Russian),
            Self::Spanish => Some(Algorithm::Spanish),
            Self::Swedish => Some(Algorithm::Swedish),
            Self::Tamil => Some(Algorithm::Tamil),
            Self::Turkish => Some(Algorithm::Turkish),
            Self::OtherLatin | Self::OtherCyrillic | Self::OtherArabic | Self::Other => None,
        }
    }
}

/// The language assumed of words in `alphabet` when nothing else is known.
const fn usual(alphabet: Alphabet) -> Language {
    match alphabet {
        Alphabet::Latin => Language::English,
        Alphabet::Greek => Language::Greek,
        Alphabet::Cyrillic => Language::Russian,
        Alphabet::Arabic => Language::Arabic,
        Alphabet::Tamil => Language::Tamil,
        Alphabet::Han
        | Alphabet::Hangul
        | Alphabet::Thai
        | Alphabet::Lao
        | Alphabet::Khmer
        | Alphabet::Myanmar
        | Alphabet::Other => Language::Other,
    }
}

/// How the language of a note is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LanguageChoice {
    /// Found for each note; `fallback` where its text is too short or too odd to tell.
    ///
    /// The decision rests on the note's own text alone, so an index built anew comes out the same.
    Detect {
        /// The language of texts that do not show one.
        fallback: Language,
    },
    /// The same for every note.
    Fixed(Language),
}

impl Default for LanguageChoice {
    fn default() -> Self {
        Self::Detect { fallback: Language::English }
    }
}

impl LanguageChoice {
    /// The language of a note with this title and body.
    #[must_use]
    pub fn of(self, title: &str, body: &str) -> Language {
        match self {
            Self::Fixed(language) => language,
            Self::Detect { fallback } => detect(title, body, fallback),
        }
    }

    /// The language used where a text shows none.
    pub(super) const fn fallback(self) -> Language {
        match self {
            Self::Fixed(language) | Self::Detect { fallback: language } => language,
        }
    }
}

/// Characters of a note that are looked at to tell its language.
///
/// Half as many serve nearly as well and twice as many no better on Wikipedia paragraphs in English, German and Chinese.
const SAMPLE_CHARS: usize = 600;

/// Letters below which no language is told.
const MIN_LETTERS: usize = 20;

/// Function words of one language below which they settle nothing.
///
/// Three among ten words, say, are no accident, and spare a short note the letter sequences of all languages; two or four do about as well.
const MIN_FUNCTION_WORDS: u32 = 3;

/// Words to a function word, at most, where function words settle the language: prose has one among two or three, notes of names and code fewer.
const WORDS_PER_FUNCTION_WORD: u32 = 8;

/// Function words of one language that are taken for a sign of it where they do not settle it.
const MIN_SIGNS: u32 = 2;

fn detect(title: &str, body: &str, fallback: Language) -> Language {
    let title = &title[..byte_of_char(title, SAMPLE_CHARS)];
    let n_left = SAMPLE_CHARS.saturating_sub(title.chars().count() + 1);
    let sample = [title, &body[..byte_of_char(body, n_left)]];
    let Some((alphabet, n_letters)) = main_alphabet(sample) else {
        return fallback;
    };
    let unsure = fallback.of_word(alphabet);
    match alphabet {
        Alphabet::Latin | Alphabet::Cyrillic | Alphabet::Arabic if n_letters < MIN_LETTERS => {
            unsure
        }
        Alphabet::Latin => in_latin_letters(sample, unsure),
        // One list each is kept for these, whose words their neighbours share.
        Alphabet::Cyrillic | Alphabet::Arabic => match by_sequences(sample, alphabet) {
            (Some(found), true) => found,
            _ => unsure,
        },
        Alphabet::Greek
        | Alphabet::Tamil
        | Alphabet::Han
        | Alphabet::Hangul
        | Alphabet::Thai
        | Alphabet::Lao
        | Alphabet::Khmer
        | Alphabet::Myanmar
        | Alphabet::Other => unsure,
    }
}

/// The language of a text in Latin letters: by function words where they settle it, else by letter sequences where those are sure, else by both.
fn in_latin_letters(sample: [&str; 2], unsure: Language) -> Language {
    let words = FunctionWords::of(sample);
    if let Some(language) = words.settled() {
        return language;
    }
    // A sign of the usual language is believed without asking the sequences where there is no accent.
    // That is seldom wrong, though not never: another language may be written without.
    let is_plain = sample.iter().all(|text| text.is_ascii());
    if is_plain && words.likeliest(unsure, None) == Some(unsure) {
        return unsure;
    }
    match by_sequences(sample, Alphabet::Latin) {
        (Some(found), true) => found,
        (guess, _) => words.likeliest(unsure, guess).unwrap_or(unsure),
    }
}

/// The language that letter sequences show, if it is one of `alphabet`, and whether they are sure of it.
fn by_sequences(sample: [&str; 2], alphabet: Alphabet) -> (Option<Language>, bool) {
    let Some(found) = whatlang::detect(&sample.join(" ")) else { return (None, false) };
    let language = Some(named(found.lang(), alphabet));
    (language.filter(|language| language.alphabet() == Some(alphabet)), found.is_reliable())
}

/// The alphabet of most letters of two texts, and how many they are.
fn main_alphabet(texts: [&str; 2]) -> Option<(Alphabet, usize)> {
    let mut counts = [0_usize; Alphabet::ALL.len()];
    for text in texts {
        if text.is_ascii() {
            let letters = text.bytes().filter(u8::is_ascii_alphabetic);
            counts[Alphabet::Latin as usize] += letters.count();
        } else {
            for alphabet in text.chars().filter_map(Alphabet::of_letter) {
                counts[alphabet as usize] += 1;
            }
        }
    }
    let most = Alphabet::ALL.into_iter().rev().max_by_key(|alphabet| counts[*alphabet as usize])?;
    Some((most, counts[most as usize])).filter(|(_, n_letters)| *n_letters > 0)
}

/// The function words of two texts, counted for each language in Latin letters.
///
/// Counting them is quicker than letter sequences by a factor of twenty, and enough for nearly all prose.
struct FunctionWords {
    /// For each language, by its code.
    counts: [u32; Language::ALL.len()],
    /// Words of all kinds.
    n_words: u32,
}

impl FunctionWords {
    fn of(texts: [&str; 2]) -> Self {
        let latin = |language: &Language| language.alphabet() == Some(Alphabet::Latin);
        let latin = Language::ALL.into_iter().filter(latin).fold(0, |all, one| all | one.bit());
        let mut found = Self { counts: [0; Language::ALL.len()], n_words: 0 };
        // A capital I with a dot leaves a mark when it becomes small, which ends no word.
        let is_between = |c: char| !c.is_alphabetic() && c != '\u{307}';
        let mut count = |word: &str| {
            found.n_words += 1;
            // Single letters are more often list marks and variables than words.
            let is_single = word.chars().nth(1).is_none();
            let mut languages = if is_single { 0 } else { languages_of(word) & latin };
            while languages != 0 {
                found.counts[languages.trailing_zeros() as usize] += 1;
                languages &= languages - 1;
            }
        };
        for text in texts.map(str::to_lowercase) {
            // Most of what stands between words is ASCII, and bytes are quicker to look at than characters.
            let is_between_bytes = |byte: &u8| byte.is_ascii() && !byte.is_ascii_alphabetic();
            for bytes in text.as_bytes().split(is_between_bytes) {
                let words = str::from_utf8(bytes).unwrap_or_default();
                if words.is_ascii() && !words.is_empty() {
                    count(words);
                } else {
                    words.split(is_between).filter(|word| !word.is_empty()).for_each(&mut count);
                }
            }
        }
        found
    }

    /// The language of most of them, the first of those that have as many; its number, and the most that any other has.
    fn best(&self) -> (Language, u32, u32) {
        let (mut best, mut most, mut rival) = (Language::ALL[0], 0, 0);
        for language in Language::ALL {
            let n = self.counts[language as usize];
            if n > most {
                (best, most, rival) = (language, n, most);
            } else {
                rival = rival.max(n);
            }
        }
        (best, most, rival)
    }

    /// The language that they settle: enough of them, dense enough, and more than twice as many as any other language has.
    fn settled(&self) -> Option<Language> {
        let (best, n, rival) = self.best();
        let is_dense = n * WORDS_PER_FUNCTION_WORD >= self.n_words;
        (n >= MIN_FUNCTION_WORDS && is_dense && n > 2 * rival).then_some(best)
    }

    /// The language they are a sign of: that of most of them. Of several with as many, `usual` before `guess`.
    ///
    /// None where they are fewer than [`MIN_SIGNS`], or several languages have as many and neither of the two is among them.
    fn likeliest(&self, usual: Language, guess: Option<Language>) -> Option<Language> {
        let (best, n, rival) = self.best();
        let has_most = |language: &Language| self.counts[*language as usize] == n;
        if n < MIN_SIGNS {
            None
        } else if n > rival {
            Some(best)
        } else {
            Some(usual).filter(has_most).or(guess.filter(has_most))
        }
    }
}

/// The language that a detector's finding stands for.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "every language without rules of its own is an other one"
)]
const fn named(found: whatlang::Lang, alphabet: Alphabet) -> Language {
    use whatlang::Lang;
    match found {
        Lang::Ara => Language::Arabic,
        Lang::Dan => Language::Danish,
        Lang::Nld => Language::Dutch,
        Lang::Eng => Language::English,
        Lang::Fin => Language::Finnish,
        Lang::Fra => Language::French,
        Lang::Deu => Language::German,
        Lang::Ell => Language::Greek,
        Lang::Hun => Language::Hungarian,
        Lang::Ita => Language::Italian,
        Lang::Nob => Language::Norwegian,
        Lang::Por => Language::Portuguese,
        Lang::Ron => Language::Romanian,
        Lang::Rus => Language::Russian,
        Lang::Spa => Language::Spanish,
        Lang::Swe => Language::Swedish,
        Lang::Tam => Language::Tamil,
        Lang::Tur => Language::Turkish,
        _ => match alphabet {
            Alphabet::Latin => Language::OtherLatin,
            Alphabet::Cyrillic => Language::OtherCyrillic,
            Alphabet::Arabic => Language::OtherArabic,
            _ => Language::Other,
        },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn function_words_are_those_between_what_is_no_letter(
            texts in [r"(the|und|I|é|İ|\u{307}|x|漢|5| |'|-|\n|È){0,30}", "\\PC{0,40}"],
        ) {
            let [one, other] = texts.each_ref().map(String::as_str);
            let found = FunctionWords::of([one, other]);
            let mut n_words = 0;
            let mut counts = [0; Language::ALL.len()];
            for text in [one, other].map(str::to_lowercase) {
                let words = text.split(|c: char| !c.is_alphabetic() && c != '\u{307}');
                for word in words.filter(|word| !word.is_empty()) {
                    n_words += 1;
                    let is_counted = |language: &Language| {
                        language.alphabet() == Some(Alphabet::Latin)
                            && word.chars().count() > 1
                            && languages_of(word) & language.bit() != 0
                    };
                    for language in Language::ALL.iter().filter(|language| is_counted(language)) {
                        counts[*language as usize] += 1;
                    }
                }
            }
            prop_assert_eq!((found.n_words, found.counts), (n_words, counts));
        }
    }

    #[test]
    fn a_note_shows_its_language() {
        let cases = [
            (
                "prose",
                "",
                "The ferns that grow in the shade of the wall were there before we came to this house.",
                Language::English,
            ),
            (
                "German",
                "Farne",
                "Die Farne, die im Schatten der Mauer wachsen, waren schon da, bevor wir in dieses Haus kamen.",
                Language::German,
            ),
            (
                "French",
                "",
                "Les fougères qui poussent à l'ombre du mur étaient là avant que nous venions dans cette maison.",
                Language::French,
            ),
            (
                "Russian",
                "",
                "Папоротники, которые растут в тени стены, были там до того, как мы пришли в этот дом.",
                Language::Russian,
            ),
            (
                "Ukrainian",
                "",
                "Папороті, що ростуть у затінку стіни, були там ще до того, як ми прийшли до цього будинку.",
                Language::OtherCyrillic,
            ),
            (
                "Polish",
                "",
                "Paprocie rosnące w cieniu muru były tam, zanim przyszliśmy do tego domu, i rosną nadal.",
                Language::OtherLatin,
            ),
            (
                "Bulgarian, whose function words Russian has, too",
                "",
                "Папратите, които растат в сянката на стената, бяха там преди да дойдем в тази къща.",
                Language::OtherCyrillic,
            ),
            (
                "words of both letters, most of them Latin",
                "",
                "authentication middleware не работает для configuration serialization что это и как",
                Language::English,
            ),
            ("a short note in Dutch", "", "Nog doen: de varens water geven", Language::Dutch),
            (
                "Danish by its words and letters together, which are Norwegian words, too",
                "",
                "Bregnerne, der vokser i skyggen af muren, var der, før vi kom til dette hus.",
                Language::Danish,
            ),
            (
                "a stub in English",
                "",
                "This note was moved to https://example.org/ferns/fern-831.md",
                Language::English,
            ),
            (
                "names and marks",
                "Fern",
                "type:: [[Plant]], [[Shade]] #Woodwardia",
                Language::English,
            ),
            (
                "Arabic",
                "",
                "كانت السراخس التي تنمو في ظل الجدار هناك قبل أن نأتي إلى هذا المنزل.",
                Language::Arabic,
            ),
            ("Greek by its letters", "", "φτέρη", Language::Greek),
            (
                "Chinese",
                "fern",
                "在墙的阴影下生长的蕨类植物在我们来到这座房子之前就在那里了",
                Language::Other,
            ),
            ("too short", "fern", "moss", Language::English),
            ("nothing at all", "", "", Language::English),
            ("code", "", "let x = foo(bar); if (y) { baz(); } 0x1234", Language::English),
        ];
        let choice = LanguageChoice::default();
        for (name, title, body, expected) in cases {
            assert_eq!(choice.of(title, body), expected, "{name}");
        }
        assert_eq!(
            LanguageChoice::Fixed(Language::German).of("the", "the and of to in with for"),
            Language::German
        );
    }

    #[test]
    fn function_words_settle_a_language_or_are_a_sign_of_it() {
        use Language::{Danish, Dutch, English, Norwegian};
        let rest = |n: usize| " fern".repeat(n);
        let cases = [
            ("three", "the of and".to_owned(), Some(English), Some(English)),
            ("two", "the of".to_owned(), None, Some(English)),
            ("one", "the".to_owned(), None, None),
            ("dense", format!("the of and{}", rest(21)), Some(English), Some(English)),
            ("not dense", format!("the of and{}", rest(22)), None, Some(English)),
            // `in` and `of` are Dutch, too.
            ("a rival with half as many", "the and in of".to_owned(), None, Some(English)),
            ("less than half", "the and with in of".to_owned(), Some(English), Some(English)),
            ("as many: the usual one", "in of".to_owned(), None, Some(English)),
            ("as many: the guess", "og jeg det".to_owned(), None, Some(Norwegian)),
            ("as many: the usual one again", "het the een and".to_owned(), None, Some(English)),
            ("a mark in the word", "İLE İLE İLE".to_owned(), None, None),
            ("other letters", "не на что это и как".to_owned(), None, None),
        ];
        for (name, text, settled, likeliest) in cases {
            let words = FunctionWords::of([&text, ""]);
            assert_eq!(words.settled(), settled, "{name}");
            assert_eq!(words.likeliest(English, Some(Norwegian)), likeliest, "{name}");
        }
        let both = FunctionWords::of(["og jeg", "det"]);
        assert_eq!(both.likeliest(English, Some(Danish)), Some(Danish));
        assert_eq!(both.likeliest(English, Some(Dutch)), None);
        assert_eq!(both.likeliest(English, None), None);
    }

    #[test]
    fn codes_lead_back() {
        for language in Language::ALL {
            assert_eq!(Language::from_code(language.code()), language);
        }
        assert_eq!(Language::from_code(u64::MAX), Language::Other);
    }

    #[test]
    fn words_in_foreign_letters_follow_their_usual_language() {
        assert_eq!(Language::German.of_word(Alphabet::Latin), Language::German);
        assert_eq!(Language::German.of_word(Alphabet::Cyrillic), Language::Russian);
        assert_eq!(Language::Other.of_word(Alphabet::Latin), Language::English);
        assert_eq!(Language::OtherCyrillic.of_word(Alphabet::Cyrillic), Language::OtherCyrillic);
        assert_eq!(Language::English.of_word(Alphabet::Han), Language::Other);
    }
}
