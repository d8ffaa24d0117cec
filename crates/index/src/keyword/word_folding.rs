//! Word folding: maps different spellings of a word to one form.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::{decompose_canonical, is_combining_mark};

use super::script::{Script, is_invisible};

/// Appends `word` in lower case and compatibility composition (NFKC), as stemmers expect it. Diacritics stay.
///
/// Arabic loses vowel signs and tatweel, Hebrew loses its points, Cyrillic `ё` becomes `е`, and Arabic-Indic digits become `0` to `9`.
pub(super) fn push_lower(word: &str, out: &mut String) {
    if word.is_ascii() {
        out.extend(word.bytes().map(|byte| char::from(byte.to_ascii_lowercase())));
        return;
    }
    for c in word.nfkc().filter(|c| !is_optional(*c) && !c.is_whitespace()) {
        match c {
            // The lower case of `İ` is `i` and a combining dot that people do not type.
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

/// Reports whether `c` is an optional sign: a typesetting mark, an Arabic vowel sign, or a Hebrew point.
const fn is_optional(c: char) -> bool {
    is_invisible(c)
        || matches!(c, '\u{640}' | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{6d6}'..='\u{6ed}' | '\u{591}'..='\u{5c7}')
}

/// Appends `word` (in lower case) with interchangeable spellings unified.
///
/// Latin and Greek lose diacritics (`é` becomes `e`, `ß` becomes `ss`); Arabic letters with several spellings become one.
pub(super) fn push_folded(word: &str, script: Script, out: &mut String) {
    if word.is_ascii() {
        out.push_str(word);
        return;
    }
    match script {
        Script::Latin | Script::Greek => {
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
        Script::Arabic => out.extend(word.chars().map(arabic_letter)),
        Script::Cyrillic
        | Script::Tamil
        | Script::Han
        | Script::Hangul
        | Script::Thai
        | Script::Lao
        | Script::Khmer
        | Script::Myanmar
        | Script::Other => out.push_str(word),
    }
}

/// Returns the ASCII spelling of Latin letters that do not decompose.
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

/// Returns one spelling for letters that Arabic and Persian keyboards and habits interchange.
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
    fn spellings_fold_to_one_form() {
        let cases = [
            (Script::Latin, "Café", "cafe\u{301}", "cafe"),
            (Script::Latin, "STRASSE", "Straße", "strasse"),
            (Script::Latin, "ﬁre", "ＦＩＲＥ", "fire"),
            (Script::Latin, "İstanbul", "ıstanbul", "istanbul"),
            (Script::Latin, "co\u{ad}operate", "cooperate", "cooperate"),
            (Script::Greek, "ΛΌΓΟΣ", "λόγος", "λογοσ"),
            (Script::Cyrillic, "ЁЛКА", "елка", "елка"),
            (Script::Cyrillic, "йод", "и\u{306}од", "йод"),
            (Script::Arabic, "مُحَمَّد", "محمـــد", "محمد"),
            (Script::Arabic, "مكتبة", "مکتبه", "مكتبه"),
            (Script::Arabic, "أحمد", "احمد", "احمد"),
            (Script::Other, "שָׁלוֹם", "שלום", "שלום"),
            (Script::Han, "ｶﾞ", "カ\u{3099}", "ガ"),
            (Script::Hangul, "\u{1112}\u{1161}\u{11ab}", "한", "한"),
        ];
        for (script, left, right, expected) in cases {
            for word in [left, right] {
                let (mut lower, mut folded) = (String::new(), String::new());
                push_lower(word, &mut lower);
                push_folded(&lower, script, &mut folded);
                assert_eq!(folded, expected, "{word}");
            }
        }
    }
}
