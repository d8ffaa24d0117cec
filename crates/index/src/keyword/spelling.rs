//! Spelling: the forms under which two writings of a word are one.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::{decompose_canonical, is_combining_mark};

use super::alphabet::{Alphabet, is_invisible};

/// Appends `word` in lower case and compatibility composition, as stemmers expect it: diacritics stay.
///
/// Arabic loses vowel signs and tatweel, Hebrew its points, Cyrillic `ё` becomes `е`; Arabic-Indic digits become `0` to `9`.
pub(super) fn push_lower(word: &str, out: &mut String) {
    if word.is_ascii() {
        out.extend(word.bytes().map(|byte| char::from(byte.to_ascii_lowercase())));
        return;
    }
    for c in word.nfkc().filter(|c| !is_silent(*c) && !c.is_whitespace()) {
        match c {
            // Lower case of `İ` is `i` and a dot that nobody types.
            'İ' => out.push('i'),
            'ς' => out.push('σ'),
            'ё' | 'Ё' => out.push('е'),
            '\u{660}'..='\u{669}' => push_digit(c, '\u{660}', out),
            '\u{6f0}'..='\u{6f9}' => push_digit(c, '\u{6f0}', out),
            _ => out.extend(c.to_lowercase()),
        }
    }
}

fn push_digit(c: char, zero: char, out: &mut String) {
    out.extend(char::from_digit(u32::from(c) - u32::from(zero), 10));
}

/// Signs that readers of a script take or leave: typesetting marks, Arabic vowel signs, Hebrew points.
const fn is_silent(c: char) -> bool {
    is_invisible(c)
        || matches!(c, '\u{640}' | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{6d6}'..='\u{6ed}' | '\u{591}'..='\u{5c7}')
}

/// Appends `word` (in lower case) without what writers leave out or interchange.
///
/// Latin and Greek lose diacritics (`é` is `e`, `ß` is `ss`); Arabic letters with several spellings take one.
pub(super) fn push_folded(word: &str, alphabet: Alphabet, out: &mut String) {
    if word.is_ascii() {
        out.push_str(word);
        return;
    }
    match alphabet {
        Alphabet::Latin | Alphabet::Greek => {
            for c in word.chars() {
                match latin_letters(c) {
                    Some(letters) => out.push_str(letters),
                    None => decompose_canonical(c, |part| {
                        if !is_combining_mark(part) {
                            out.push(part);
                        }
                    }),
                }
            }
        }
        Alphabet::Arabic => out.extend(word.chars().map(arabic_letter)),
        Alphabet::Cyrillic
        | Alphabet::Tamil
        | Alphabet::Han
        | Alphabet::Hangul
        | Alphabet::Thai
        | Alphabet::Lao
        | Alphabet::Khmer
        | Alphabet::Myanmar
        | Alphabet::Other => out.push_str(word),
    }
}

/// Latin letters that do not decompose, as those who lack them write them.
const fn latin_letters(c: char) -> Option<&'static str> {
    Some(match c {
        'ß' => "ss",
        'æ' => "ae",
        'œ' => "oe",
        'ø' => "o",
        'đ' | 'ð' => "d",
        'þ' => "th",
        'ł' => "l",
        'ħ' => "h",
        'ı' => "i",
        'ŋ' => "n",
        'ŧ' => "t",
        _ => return None,
    })
}

/// One spelling for letters that Arabic (and Persian) keyboards and habits interchange.
const fn arabic_letter(c: char) -> char {
    match c {
        'آ' | 'أ' | 'إ' | 'ٱ' => 'ا',
        'ى' | 'ی' => 'ي',
        'ة' => 'ه',
        'ک' => 'ك',
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_meet() {
        let cases = [
            (Alphabet::Latin, "Café", "cafe\u{301}", "cafe"),
            (Alphabet::Latin, "STRASSE", "Straße", "strasse"),
            (Alphabet::Latin, "ﬁre", "ＦＩＲＥ", "fire"),
            (Alphabet::Latin, "İstanbul", "ıstanbul", "istanbul"),
            (Alphabet::Latin, "co\u{ad}operate", "cooperate", "cooperate"),
            (Alphabet::Greek, "ΛΌΓΟΣ", "λόγος", "λογοσ"),
            (Alphabet::Cyrillic, "ЁЛКА", "елка", "елка"),
            (Alphabet::Cyrillic, "йод", "и\u{306}од", "йод"),
            (Alphabet::Arabic, "مُحَمَّد", "محمـــد", "محمد"),
            (Alphabet::Arabic, "مكتبة", "مکتبه", "مكتبه"),
            (Alphabet::Arabic, "أحمد", "احمد", "احمد"),
            (Alphabet::Other, "שָׁלוֹם", "שלום", "שלום"),
            (Alphabet::Han, "ｶﾞ", "カ\u{3099}", "ガ"),
            (Alphabet::Hangul, "\u{1112}\u{1161}\u{11ab}", "한", "한"),
        ];
        for (alphabet, left, right, expected) in cases {
            for word in [left, right] {
                let (mut lower, mut folded) = (String::new(), String::new());
                push_lower(word, &mut lower);
                push_folded(&lower, alphabet, &mut folded);
                assert_eq!(folded, expected, "{word}");
            }
        }
    }
}
