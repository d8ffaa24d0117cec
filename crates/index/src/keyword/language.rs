//! Languages: which rules a word is stemmed by, and how a note's language is found.

use std::collections::HashMap;
use std::sync::OnceLock;

use foldhash::fast::RandomState;
use rust_stemmers::Algorithm;
use serde::{Deserialize, Serialize};
use weft_model::text::byte_of_char;

use super::alphabet::Alphabet;
use super::stopwords::stop_words;

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

    /// The language by whose rules a word in `alphabet` is read in a text of this language.
    pub(super) fn of_word(self, alphabet: Alphabet) -> Self {
        if self.alphabet() == Some(alphabet) { self } else { usual(alphabet) }
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

/// Function words of one language that settle it, unless another language has more than half as many.
const DECISIVE_WORDS: u32 = 6;

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
        Alphabet::Latin | Alphabet::Cyrillic | Alphabet::Arabic => by_function_words(sample)
            .or_else(|| {
                let found =
                    whatlang::detect(&sample.join(" ")).filter(whatlang::Info::is_reliable)?;
                Some(named(found.lang(), alphabet))
                    .filter(|language| language.alphabet() == Some(alphabet))
            })
            .unwrap_or(unsure),
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

/// The alphabet of most letters of two texts, and how many they are.
fn main_alphabet(texts: [&str; 2]) -> Option<(Alphabet, usize)> {
    let mut counts = [0_usize; Alphabet::ALL.len()];
    let chars = texts.into_iter().flat_map(str::chars);
    for alphabet in chars.filter_map(Alphabet::of_letter) {
        counts[alphabet as usize] += 1;
    }
    let most = Alphabet::ALL.into_iter().rev().max_by_key(|alphabet| counts[*alphabet as usize])?;
    Some((most, counts[most as usize])).filter(|(_, n_letters)| *n_letters > 0)
}

/// The language whose function words stand out in two texts, if one does.
///
/// Quicker than counting letter sequences by a factor of twenty, and enough for nearly all prose of some length.
fn by_function_words(texts: [&str; 2]) -> Option<Language> {
    static LANGUAGES_OF: OnceLock<HashMap<&'static str, u32, RandomState>> = OnceLock::new();
    let languages_of = LANGUAGES_OF.get_or_init(|| {
        let mut map = HashMap::default();
        for language in Language::ALL {
            // Single letters are more often list marks and variables than words.
            for word in stop_words(language).iter().filter(|word| word.chars().nth(1).is_some()) {
                *map.entry(*word).or_insert(0) |= 1_u32 << language as u32;
            }
        }
        map
    });
    let mut counts = [0_u32; Language::ALL.len()];
    let mut lower = String::new();
    let words = texts.into_iter().flat_map(|text| text.split(|c: char| !c.is_alphabetic()));
    for word in words.filter(|word| !word.is_empty()) {
        lower.clear();
        if word.is_ascii() {
            lower.push_str(word);
            lower.make_ascii_lowercase();
        } else {
            lower.extend(word.chars().flat_map(char::to_lowercase));
        }
        let mut languages = languages_of.get(lower.as_str()).copied().unwrap_or(0);
        while languages != 0 {
            counts[languages.trailing_zeros() as usize] += 1;
            languages &= languages - 1;
        }
    }
    let best = (0..counts.len()).rev().max_by_key(|at| counts[*at])?;
    let rival = (0..counts.len()).filter(|at| *at != best).map(|at| counts[at]).max()?;
    (counts[best] >= DECISIVE_WORDS && counts[best] > 2 * rival).then(|| Language::ALL[best])
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
    use super::*;

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
