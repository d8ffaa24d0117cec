//! Characters: their script and their effect on word boundaries.

use unicode_normalization::char::is_combining_mark;

/// Scripts that the analysis distinguishes; all others are treated alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Script {
    Latin,
    Greek,
    Cyrillic,
    Arabic,
    Tamil,
    /// Han, Hiragana, Katakana, Bopomofo: mixed in Japanese text.
    Han,
    Hangul,
    Thai,
    Lao,
    Khmer,
    Myanmar,
    Other,
}

impl Script {
    pub(super) const ALL: [Self; 12] = [
        Self::Latin,
        Self::Greek,
        Self::Cyrillic,
        Self::Arabic,
        Self::Tamil,
        Self::Han,
        Self::Hangul,
        Self::Thai,
        Self::Lao,
        Self::Khmer,
        Self::Myanmar,
        Self::Other,
    ];

    /// Reports whether words are written without spaces, or (Korean) with endings that no boundary marks.
    pub(super) const fn is_unspaced(self) -> bool {
        match self {
            Self::Han | Self::Hangul | Self::Thai | Self::Lao | Self::Khmer | Self::Myanmar => true,
            Self::Latin
            | Self::Greek
            | Self::Cyrillic
            | Self::Arabic
            | Self::Tamil
            | Self::Other => false,
        }
    }

    /// Reports whether it has capital letters, and diacritics that people leave out.
    pub(super) const fn is_cased(self) -> bool {
        match self {
            Self::Latin | Self::Greek | Self::Cyrillic => true,
            Self::Arabic
            | Self::Tamil
            | Self::Han
            | Self::Hangul
            | Self::Thai
            | Self::Lao
            | Self::Khmer
            | Self::Myanmar
            | Self::Other => false,
        }
    }

    /// Returns the script of `c` if it is a letter.
    pub(super) fn of_letter(c: char) -> Option<Self> {
        match CharClass::of(c) {
            CharClass::Letter(script) => Some(script),
            CharClass::Digit | CharClass::Extend | CharClass::Pictograph | CharClass::Break => None,
        }
    }
}

/// Effect of a character on the word that contains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CharClass {
    /// Begins or continues a word.
    Letter(Script),
    /// Begins or continues a word of any spaced script.
    Digit,
    /// Continues a word but never begins one: combining marks, joiners, soft hyphens.
    Extend,
    /// Forms a word by itself.
    Pictograph,
    /// Ends a word.
    Break,
}

impl CharClass {
    #[inline]
    pub(super) fn of(c: char) -> Self {
        match c {
            'a'..='z' | 'A'..='Z' => Self::Letter(Script::Latin),
            '0'..='9' => Self::Digit,
            '\0'..='\u{7f}' => Self::Break,
            _ => Self::of_wide(c),
        }
    }

    fn of_wide(c: char) -> Self {
        if is_invisible(c)
            || matches!(c, '\u{640}' | '\u{ff9e}' | '\u{ff9f}')
            || is_combining_mark(c)
        {
            return Self::Extend;
        }
        if matches!(c, '\u{1f1e6}'..='\u{1f1ff}' | '\u{1f300}'..='\u{1faff}' | '\u{2600}'..='\u{27bf}')
        {
            return Self::Pictograph;
        }
        if !c.is_alphanumeric() {
            return Self::Break;
        }
        let script = script_of(c);
        // Includes numbers of every kind except Chinese numerals, which are letters.
        if c.is_numeric() && script != Script::Han { Self::Digit } else { Self::Letter(script) }
    }
}

/// Reports whether `c` is a format character without meaning for the word. The zero-width space is not included, because it separates words.
pub(super) const fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{200c}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'
            | '\u{2066}'..='\u{2069}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{1f3fb}'..='\u{1f3ff}'
            | '\u{e0100}'..='\u{e01ef}'
    )
}

/// Returns the script of a letter, by the blocks of Unicode 16.
fn script_of(c: char) -> Script {
    match c {
        // The micro and ohm signs are Greek letters.
        '\u{b5}' | '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' | '\u{2126}' => Script::Greek,
        '\u{41}'..='\u{24f}'
        | '\u{250}'..='\u{2af}'
        | '\u{1d00}'..='\u{1d7f}'
        | '\u{1e00}'..='\u{1eff}'
        | '\u{2071}'..='\u{209c}'
        | '\u{212a}'
        | '\u{212b}'
        | '\u{2c60}'..='\u{2c7f}'
        | '\u{a722}'..='\u{a7ff}'
        | '\u{fb00}'..='\u{fb06}'
        | '\u{ff21}'..='\u{ff3a}'
        | '\u{ff41}'..='\u{ff5a}'
        | '\u{1d400}'..='\u{1d6a3}' => Script::Latin,
        '\u{400}'..='\u{52f}'
        | '\u{1c80}'..='\u{1c8f}'
        | '\u{2de0}'..='\u{2dff}'
        | '\u{a640}'..='\u{a69f}' => Script::Cyrillic,
        '\u{600}'..='\u{6ff}'
        | '\u{750}'..='\u{77f}'
        | '\u{870}'..='\u{8ff}'
        | '\u{fb50}'..='\u{fdff}'
        | '\u{fe70}'..='\u{fefc}' => Script::Arabic,
        '\u{b80}'..='\u{bff}' => Script::Tamil,
        '\u{e00}'..='\u{e7f}' => Script::Thai,
        '\u{e80}'..='\u{eff}' => Script::Lao,
        '\u{1000}'..='\u{109f}' | '\u{a9e0}'..='\u{a9ff}' | '\u{aa60}'..='\u{aa7f}' => {
            Script::Myanmar
        }
        '\u{1780}'..='\u{17ff}' => Script::Khmer,
        '\u{1100}'..='\u{11ff}'
        | '\u{3130}'..='\u{318f}'
        | '\u{a960}'..='\u{a97f}'
        | '\u{ac00}'..='\u{d7ff}'
        | '\u{ffa0}'..='\u{ffdc}' => Script::Hangul,
        '\u{2e80}'..='\u{312f}'
        | '\u{31a0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ff9d}'
        | '\u{1aff0}'..='\u{1b16f}'
        | '\u{20000}'..='\u{3ffff}' => Script::Han,
        _ => Script::Other,
    }
}

/// Reports whether `c` continues the Korean syllable that `previous` began, in decomposed spelling.
pub(super) const fn continues_syllable(previous: char, c: char) -> bool {
    let is_lead = matches!(previous, '\u{1100}'..='\u{115f}' | '\u{a960}'..='\u{a97c}');
    let is_vowel = matches!(previous, '\u{1160}'..='\u{11a7}' | '\u{d7b0}'..='\u{d7c6}');
    let is_open = matches!(previous, '\u{ac00}'..='\u{d7a3}');
    match c {
        '\u{1160}'..='\u{11a7}' | '\u{d7b0}'..='\u{d7c6}' => is_lead,
        '\u{11a8}'..='\u{11ff}' | '\u{d7cb}'..='\u{d7fb}' => is_vowel || is_open,
        _ => false,
    }
}
