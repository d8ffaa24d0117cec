//! Exact forms: words with the accents, signs and capitals that analysis folds away, so that a query ranks what was typed above other spellings.

use std::collections::HashMap;

use compact_str::CompactString;
use foldhash::fast::RandomState;
use unicode_normalization::UnicodeNormalization as _;

use super::analyzer::{Token, TokenKind};
use super::encoded_note::EncodedTerms;
use super::script::{Script, is_invisible};
use super::word_folding::{push_folded, push_lower};

/// Maximum length of a word in bytes that has exact forms.
const MAX_BYTES: usize = 64;

/// Returns true for signs that begin a name: `.NET`, `$HOME`, `@home`. A `#` begins a tag, which has a field of its own.
const fn is_sign(byte: u8) -> bool {
    matches!(byte, b'.' | b'$' | b'@' | b'%' | b'&' | b'^' | b'~')
}

/// Characters before a sign that begins a name, apart from spaces.
const BEFORE_SIGNS: &[char] =
    &['(', '[', '{', '"', '\'', '“', '‘', '«', '`', '*', ',', ';', ':', '='];

/// Passes each form in which a word of `text` differs from the term it is indexed as to `sink`.
///
/// - With its accents, in lower case: `thé`.
/// - With the sign before it, in lower case: `.net`.
/// - With its capitals, if one follows the first letter: `NET`. A capital at the start says little, because sentences begin with one.
#[inline]
pub(super) fn exact_forms(text: &str, token: &Token<'_>, mut sink: impl FnMut(&str)) {
    let word = token.start..token.end;
    if !matches!(token.kind, TokenKind::Word | TokenKind::Stop) || word.len() > MAX_BYTES {
        return;
    }
    let bytes = text.as_bytes();
    if token.start > 0 && is_sign(bytes[token.start - 1]) {
        signed_form(text, token, &mut sink);
    }
    if !token.is_ascii {
        forms_with_accents(&text[word], &mut sink);
    } else if word.len() > 1 && bytes[token.start + 1].is_ascii_uppercase() {
        sink(&text[word]);
    }
}

/// Exact forms of a note, each with its frequency.
#[derive(Default)]
pub(super) struct ExactForms {
    /// Index in `frequencies` of each form.
    index: HashMap<CompactString, usize, RandomState>,
    /// In order of first occurrence.
    frequencies: Vec<usize>,
}

impl ExactForms {
    pub(super) fn add(&mut self, form: &str) {
        if let Some(at) = self.index.get(form) {
            self.frequencies[*at] += 1;
        } else {
            self.index.insert(form.into(), self.frequencies.len());
            self.frequencies.push(1);
        }
    }

    /// Appends the forms to a field without positions, in order of first occurrence.
    pub(super) fn append_to(self, terms: &mut EncodedTerms) {
        let Self { index, frequencies } = self;
        let mut forms: Vec<(usize, CompactString)> =
            index.into_iter().map(|(form, at)| (at, form)).collect();
        forms.sort_unstable_by_key(|(at, _)| *at);
        let no_positions = vec![0; frequencies.iter().copied().max().unwrap_or(0)];
        for (at, form) in forms {
            terms.push(&form, &no_positions[..frequencies[at]]);
        }
    }
}

fn signed_form(text: &str, token: &Token<'_>, sink: &mut impl FnMut(&str)) {
    let (before, word) = (&text[..token.start - 1], &text[token.start..token.end]);
    let begins = |c: char| c.is_whitespace() || BEFORE_SIGNS.contains(&c);
    if before.chars().next_back().is_none_or(begins) && word.starts_with(char::is_alphabetic) {
        let mut form = text[token.start - 1..token.start].to_owned();
        push_lower(word, &mut form);
        sink(&form);
    }
}

fn forms_with_accents(word: &str, sink: &mut impl FnMut(&str)) {
    let script = word.chars().next().and_then(Script::of_letter);
    let Some(script) = script.filter(|script| !script.is_unspaced()) else { return };
    let written: String = word.nfc().filter(|c| !is_invisible(*c)).collect();
    let (mut lower, mut folded) = (String::new(), String::new());
    push_lower(word, &mut lower);
    push_folded(&lower, script, &mut folded);
    let accented = written.to_lowercase();
    if accented != folded {
        sink(&accented);
    }
    if written.chars().nth(1).is_some_and(char::is_uppercase) {
        sink(&written);
    }
}

#[cfg(test)]
mod tests {
    use super::super::analyzer::Analyzer;
    use super::super::language::Language;
    use super::*;

    #[test]
    fn forms_keep_accents_signs_and_capitals() {
        for (text, expected) in [
            ("the fern Fern 42", ""),
            ("thé Thé THÉ the\u{301}", "thé thé thé THÉ thé"),
            ("año ano Straße", "año straße"),
            ("NET net Net iPhone US", "NET iPhone US"),
            (".NET $HOME @home (.net)", ".net NET $home HOME @home .net"),
            ("a.net b$c 5$ $5 end. x", ""),
            ("ёж еж مكتبة", "ёж مكتبة"),
            ("漢字 한국어 🌿", ""),
            (&"É".repeat(40), ""),
        ] {
            let mut forms = Vec::new();
            Analyzer::new().analyze(text, Language::English, |token| {
                exact_forms(text, &token, |form| forms.push(form.to_owned()));
            });
            assert_eq!(forms.join(" "), expected, "{text}");
        }
    }
}
