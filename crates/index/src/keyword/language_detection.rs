//! Language detection: the language of a note, by stop words and letter sequences.

use serde::{Deserialize, Serialize};
use weft_model::text::byte_of_char;

use super::language::Language;
use super::script::Script;
use super::stopwords::languages_of;

/// Choice of the language of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LanguageChoice {
    /// Detect it for each note; use `fallback` if its text is too short or inconclusive.
    ///
    /// Detection depends only on the note's own text, so a rebuilt index is identical.
    Detect {
        /// Language of inconclusive texts.
        fallback: Language,
    },
    /// Use this language for every note.
    Fixed(Language),
}

impl Default for LanguageChoice {
    fn default() -> Self {
        Self::Detect { fallback: Language::English }
    }
}

impl LanguageChoice {
    /// Returns the language of a note with this title and body.
    #[must_use]
    pub fn of(self, title: &str, body: &str) -> Language {
        match self {
            Self::Fixed(language) => language,
            Self::Detect { fallback } => detect(title, body, fallback),
        }
    }

    /// Returns the language of inconclusive texts.
    pub(super) const fn fallback(self) -> Language {
        match self {
            Self::Fixed(language) | Self::Detect { fallback: language } => language,
        }
    }
}

/// Returns true unless a text is certainly in another language than English: short texts of names and code pass.
#[must_use]
pub fn is_english(text: &str) -> bool {
    LanguageChoice::default().of("", text) == Language::English
}

/// Number of characters of a note examined to detect its language.
///
/// Half as many work nearly as well, and twice as many no better, on Wikipedia paragraphs in English, German and Chinese.
const SAMPLE_CHARS: usize = 600;

/// Minimum number of letters to detect a language.
const MIN_LETTERS: usize = 20;

/// Minimum number of stop words of one language that decide the language.
///
/// Three among ten words, for example, are not a coincidence, and save a short note the comparison with the letter sequences of all languages; two or four work about as well.
const MIN_STOP_WORDS: u32 = 3;

/// Maximum number of words per stop word for stop words to decide the language: prose has one in two or three words, notes of names and code have fewer.
const WORDS_PER_STOP_WORD: u32 = 8;

/// Minimum number of stop words that count as evidence of a language if they do not decide it.
const MIN_EVIDENCE: u32 = 2;

fn detect(title: &str, body: &str, fallback: Language) -> Language {
    let title = &title[..byte_of_char(title, SAMPLE_CHARS)];
    let n_left = SAMPLE_CHARS.saturating_sub(title.chars().count() + 1);
    let sample = [title, &body[..byte_of_char(body, n_left)]];
    let Some((script, n_letters)) = main_script(sample) else {
        return fallback;
    };
    let inconclusive = fallback.of_word(script);
    match script {
        Script::Latin | Script::Cyrillic | Script::Arabic if n_letters < MIN_LETTERS => {
            inconclusive
        }
        Script::Latin => detect_latin(sample, inconclusive),
        // Only one stop word list exists for each of these scripts, and related languages share its words.
        Script::Cyrillic | Script::Arabic => match by_letter_sequences(sample, script) {
            (Some(found), true) => found,
            _ => inconclusive,
        },
        Script::Greek
        | Script::Tamil
        | Script::Han
        | Script::Hangul
        | Script::Thai
        | Script::Lao
        | Script::Khmer
        | Script::Myanmar
        | Script::Other => inconclusive,
    }
}

/// Detects the language of a text in Latin letters: by stop words if they decide it, else by letter sequences if they are reliable, else by both.
fn detect_latin(sample: [&str; 2], inconclusive: Language) -> Language {
    let words = StopWordCounts::of(sample);
    if let Some(language) = words.decided() {
        return language;
    }
    // Evidence of the default language is accepted without checking letter sequences if the text is ASCII.
    // This is rarely wrong: another language may be written without accents.
    let is_ascii = sample.iter().all(|text| text.is_ascii());
    if is_ascii && words.likeliest(inconclusive, None) == Some(inconclusive) {
        return inconclusive;
    }
    match by_letter_sequences(sample, Script::Latin) {
        (Some(found), true) => found,
        (guess, _) => words.likeliest(inconclusive, guess).unwrap_or(inconclusive),
    }
}

/// Returns the language indicated by letter sequences, if it is written in `script`, and whether the result is reliable.
fn by_letter_sequences(sample: [&str; 2], script: Script) -> (Option<Language>, bool) {
    let Some(found) = whatlang::detect(&sample.join(" ")) else { return (None, false) };
    let language = Some(from_detected(found.lang(), script));
    (language.filter(|language| language.script() == Some(script)), found.is_reliable())
}

/// Returns the script of most letters of two texts, and the number of these letters.
fn main_script(texts: [&str; 2]) -> Option<(Script, usize)> {
    let mut counts = [0_usize; Script::ALL.len()];
    for text in texts {
        if text.is_ascii() {
            let letters = text.bytes().filter(u8::is_ascii_alphabetic);
            counts[Script::Latin as usize] += letters.count();
        } else {
            for script in text.chars().filter_map(Script::of_letter) {
                counts[script as usize] += 1;
            }
        }
    }
    let most = Script::ALL.into_iter().rev().max_by_key(|script| counts[*script as usize])?;
    Some((most, counts[most as usize])).filter(|(_, n_letters)| *n_letters > 0)
}

/// Numbers of stop words in two texts, for each language in Latin letters.
///
/// Counting them is twenty times faster than comparing letter sequences, and sufficient for nearly all prose.
struct StopWordCounts {
    /// Count of each language, by its code.
    counts: [u32; Language::ALL.len()],
    /// Number of all words.
    n_words: u32,
}

impl StopWordCounts {
    fn of(texts: [&str; 2]) -> Self {
        let latin = |language: &Language| language.script() == Some(Script::Latin);
        let latin = Language::ALL.into_iter().filter(latin).fold(0, |all, one| all | one.bit());
        let mut found = Self { counts: [0; Language::ALL.len()], n_words: 0 };
        // The lower case of a capital I with dot contains a combining dot, which does not end a word.
        let is_between = |c: char| !c.is_alphabetic() && c != '\u{307}';
        let mut count = |word: &str| {
            found.n_words += 1;
            // Single letters are more often list markers and variables than words.
            let is_single = word.chars().nth(1).is_none();
            let mut languages = if is_single { 0 } else { languages_of(word) & latin };
            while languages != 0 {
                found.counts[languages.trailing_zeros() as usize] += 1;
                languages &= languages - 1;
            }
        };
        for text in texts.map(str::to_lowercase) {
            // Most separators are ASCII, and bytes are faster to examine than characters.
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

    /// Returns the language with the highest count (the first one on ties), its count, and the highest count of any other language.
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

    /// Returns the language that the counts decide: enough stop words, dense enough, and more than twice as many as of any other language.
    fn decided(&self) -> Option<Language> {
        let (best, n, rival) = self.best();
        let is_dense = n * WORDS_PER_STOP_WORD >= self.n_words;
        (n >= MIN_STOP_WORDS && is_dense && n > 2 * rival).then_some(best)
    }

    /// Returns the language with the highest count. On ties it prefers `default`, then `guess`.
    ///
    /// Returns `None` if the count is below [`MIN_EVIDENCE`], or if several languages tie and neither of the two is among them.
    fn likeliest(&self, default: Language, guess: Option<Language>) -> Option<Language> {
        let (best, n, rival) = self.best();
        let has_most = |language: &Language| self.counts[*language as usize] == n;
        if n < MIN_EVIDENCE {
            None
        } else if n > rival {
            Some(best)
        } else {
            Some(default).filter(has_most).or(guess.filter(has_most))
        }
    }
}

/// Maps a language of the detector to a [`Language`].
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "every language without stemming rules maps to an `Other` variant"
)]
const fn from_detected(found: whatlang::Lang, script: Script) -> Language {
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
        _ => match script {
            Script::Latin => Language::OtherLatin,
            Script::Cyrillic => Language::OtherCyrillic,
            Script::Arabic => Language::OtherArabic,
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
        fn stop_words_are_counted_between_non_letters(
            texts in [r"(the|und|I|é|İ|\u{307}|x|漢|5| |'|-|\n|È){0,30}", "\\PC{0,40}"],
        ) {
            let [one, other] = texts.each_ref().map(String::as_str);
            let found = StopWordCounts::of([one, other]);
            let mut n_words = 0;
            let mut counts = [0; Language::ALL.len()];
            for text in [one, other].map(str::to_lowercase) {
                let words = text.split(|c: char| !c.is_alphabetic() && c != '\u{307}');
                for word in words.filter(|word| !word.is_empty()) {
                    n_words += 1;
                    let is_counted = |language: &Language| {
                        language.script() == Some(Script::Latin)
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
    fn language_of_a_note_is_detected() {
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
                "Bulgarian, which shares stop words with Russian",
                "",
                "Папратите, които растат в сянката на стената, бяха там преди да дойдем в тази къща.",
                Language::OtherCyrillic,
            ),
            (
                "words in both scripts, mostly Latin",
                "",
                "authentication middleware не работает для configuration serialization что это и как",
                Language::English,
            ),
            ("a short note in Dutch", "", "Nog doen: de varens water geven", Language::Dutch),
            (
                "Danish by stop words that are Norwegian too, and by letter sequences",
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
    fn short_queries_count_as_english_unless_another_language_is_certain() {
        for query in [
            "",
            "fern",
            "Why do cells age?",
            "Zurverszung",
            "Donald Knuth TeX",
            "rust async executor",
            "Which insects stay under the ground for seventeen years?",
            "Who was the director of Amores perros?",
            "Beyoncé and Jay-Z",
        ] {
            assert!(is_english(query), "{query}");
        }
        for query in [
            "Wo sucht man bei einem Erdbeben Schutz?",
            "Comment obtenir de grosses tomates sur le balcon ?",
            "Чем питаются пчёлы зимой?",
            "报税的材料要保存多少年?",
            "黑豹队的防守丢了多少分",
            "어디에 있나요",
            "สวัสดีชาวโลก",
        ] {
            assert!(!is_english(query), "{query}");
        }
    }

    /// Measures on the data for development, which is not part of the project, if it is there.
    #[test]
    fn questions_of_shared_sets_have_their_language() {
        let sets =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/sets");
        for (set, english) in [
            ("xquad-en", true),
            ("hotpot-train100", true),
            ("musique-train100", true),
            ("xquad-de", false),
            ("xquad-zh", false),
        ] {
            let Ok(lines) = std::fs::read_to_string(sets.join(set).join("queries.jsonl")) else {
                println!("skipped: no shared data");
                continue;
            };
            let queries = lines.lines().filter_map(|line| line.split("\"text\": \"").nth(1));
            let queries: Vec<&str> = queries.filter_map(|rest| rest.split('"').next()).collect();
            let n_right = queries.iter().filter(|query| is_english(query) == english).count();
            let share = n_right as f64 / queries.len() as f64;
            println!("{set}: {share:.4} of {} questions", queries.len());
            assert!(share >= if english { 0.99 } else { 0.9 }, "{set}: {share}");
        }
    }

    #[test]
    fn stop_words_decide_a_language_or_are_evidence_of_it() {
        use Language::{Danish, Dutch, English, Norwegian};
        let rest = |n: usize| " fern".repeat(n);
        let cases = [
            ("three", "the of and".to_owned(), Some(English), Some(English)),
            ("two", "the of".to_owned(), None, Some(English)),
            ("one", "the".to_owned(), None, None),
            ("dense", format!("the of and{}", rest(21)), Some(English), Some(English)),
            ("not dense", format!("the of and{}", rest(22)), None, Some(English)),
            // `in` and `of` are Dutch too.
            ("a rival with half as many", "the and in of".to_owned(), None, Some(English)),
            ("less than half", "the and with in of".to_owned(), Some(English), Some(English)),
            ("tie: the default", "in of".to_owned(), None, Some(English)),
            ("tie: the guess", "og jeg det".to_owned(), None, Some(Norwegian)),
            ("tie: the default again", "het the een and".to_owned(), None, Some(English)),
            ("a mark in the word", "İLE İLE İLE".to_owned(), None, None),
            ("other letters", "не на что это и как".to_owned(), None, None),
        ];
        for (name, text, decided, likeliest) in cases {
            let words = StopWordCounts::of([&text, ""]);
            assert_eq!(words.decided(), decided, "{name}");
            assert_eq!(words.likeliest(English, Some(Norwegian)), likeliest, "{name}");
        }
        let both = StopWordCounts::of(["og jeg", "det"]);
        assert_eq!(both.likeliest(English, Some(Danish)), Some(Danish));
        assert_eq!(both.likeliest(English, Some(Dutch)), None);
        assert_eq!(both.likeliest(English, None), None);
    }
}
