//! Languages: scripts and stemming rules.

use rust_stemmers::Algorithm;
use serde::{Deserialize, Serialize};

use super::script::Script;

/// Language whose rules are used to analyze a text.
///
/// Words in a script other than the language's own use the default language of that script, so that English names in a Chinese note are stemmed as English.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
#[expect(missing_docs, reason = "the names are self-explanatory")]
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

    /// Returns the number that represents the language in an index.
    pub(super) const fn code(self) -> u64 {
        self as u64
    }

    /// Returns the language with this [code](Language::code), or [`Language::Other`] for an unknown code.
    pub(super) fn from_code(code: u64) -> Self {
        usize::try_from(code)
            .ok()
            .and_then(|code| Self::ALL.get(code).copied())
            .unwrap_or(Self::Other)
    }

    /// Returns the script of the language; `None` for [`Language::Other`].
    pub(super) const fn script(self) -> Option<Script> {
        match self {
            Self::Arabic | Self::OtherArabic => Some(Script::Arabic),
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
            | Self::OtherLatin => Some(Script::Latin),
            Self::Greek => Some(Script::Greek),
            Self::Russian | Self::OtherCyrillic => Some(Script::Cyrillic),
            Self::Tamil => Some(Script::Tamil),
            Self::Other => None,
        }
    }

    /// Returns the letters with diacritics that the stemming rules of the language know; they treat any other as a consonant.
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

    /// Returns the language used to analyze a word in `script` in a text of this language.
    pub(super) fn of_word(self, script: Script) -> Self {
        if self.script() == Some(script) { self } else { default_language(script) }
    }

    /// Reports whether stemming keeps the first two letters of every ASCII word, except that a second letter `y` may become `i`, and that the letters after the first may be removed.
    ///
    /// Finnish stems `lle` to `le`, and Turkish `aba` to `ap`. Source: the rules, tested on all words of up to three letters and on the endings they know.
    pub(super) const fn keeps_prefixes(self) -> bool {
        !matches!(self, Self::Finnish | Self::Turkish)
    }

    /// Returns the bit of the language in a set of languages.
    pub(super) const fn bit(self) -> u32 {
        1 << self as u32
    }

    /// Returns the stemming algorithm of the language, if it has one.
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

/// Returns the default language of words in `script`.
const fn default_language(script: Script) -> Language {
    match script {
        Script::Latin => Language::English,
        Script::Greek => Language::Greek,
        Script::Cyrillic => Language::Russian,
        Script::Arabic => Language::Arabic,
        Script::Tamil => Language::Tamil,
        Script::Han
        | Script::Hangul
        | Script::Thai
        | Script::Lao
        | Script::Khmer
        | Script::Myanmar
        | Script::Other => Language::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_round_trip() {
        for language in Language::ALL {
            assert_eq!(Language::from_code(language.code()), language);
        }
        assert_eq!(Language::from_code(u64::MAX), Language::Other);
    }

    #[test]
    fn words_in_another_script_use_its_default_language() {
        assert_eq!(Language::German.of_word(Script::Latin), Language::German);
        assert_eq!(Language::German.of_word(Script::Cyrillic), Language::Russian);
        assert_eq!(Language::Other.of_word(Script::Latin), Language::English);
        assert_eq!(Language::OtherCyrillic.of_word(Script::Cyrillic), Language::OtherCyrillic);
        assert_eq!(Language::English.of_word(Script::Han), Language::Other);
    }
}
