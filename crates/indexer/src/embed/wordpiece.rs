//! Counting the tokens of ASCII text as BERT's tokenizer cuts it, without making them.
//!
//! Notes are counted whole before a model reads any of them, and most of them are ASCII: cut at white space and punctuation, lower-cased, and each word taken apart by the longest pieces of the vocabulary.
//! Source: Wu et al., "Google's Neural Machine Translation System", 2016 (wordpieces, greedily from the left), as the `tokenizers` library does it, to which everything else is left.

use std::collections::HashSet;

use foldhash::fast::FixedState;
use tokenizers::{ModelWrapper, NormalizerWrapper, PreTokenizerWrapper, Tokenizer};

type Pieces = HashSet<Box<[u8]>, FixedState>;

/// What the tokenizer makes of ASCII.
pub(super) struct AsciiCounter {
    /// Pieces that begin a word, and those that go on with one, without the mark that says so.
    first: Pieces,
    next: Pieces,
    /// Bytes of the longest piece.
    longest: usize,
    /// A longer word is one token.
    max_word: usize,
    lowercase: bool,
    /// Tokens that are looked for before anything else, such as `[MASK]`.
    added: Vec<Box<[u8]>>,
    class: [Class; 256],
}

/// What a byte is to the tokenizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Word,
    Space,
    /// A token of its own.
    Punctuation,
    /// The same, unless a token that is looked for begins with it.
    MayBegin,
    /// What the library must see.
    Other,
}

impl AsciiCounter {
    /// A counter for `tokenizer`, if it is BERT's: nothing where another answer than the library's is possible.
    pub(super) fn of(tokenizer: &Tokenizer) -> Option<Self> {
        let Some(NormalizerWrapper::BertNormalizer(normalizer)) = tokenizer.get_normalizer() else {
            return None;
        };
        let Some(PreTokenizerWrapper::BertPreTokenizer(_)) = tokenizer.get_pre_tokenizer() else {
            return None;
        };
        let ModelWrapper::WordPiece(model) = tokenizer.get_model() else { return None };
        let vocabulary = tokenizer.get_vocab(false);
        let added: Vec<Box<[u8]>> = tokenizer
            .get_added_tokens_decoder()
            .into_values()
            .map(|token| token.content.into_bytes().into())
            .collect();
        // One that is looked for across words, or among letters, would need every word to be looked at for it.
        let is_marked = |token: &[u8]| {
            token.is_ascii()
                && token.first().is_some_and(u8::is_ascii_punctuation)
                && !token.iter().any(u8::is_ascii_whitespace)
        };
        if !normalizer.clean_text
            || !vocabulary.contains_key(&model.unk_token)
            || !added.iter().all(|token| is_marked(token))
        {
            return None;
        }
        let class = std::array::from_fn(|at| {
            let byte = u8::try_from(at).unwrap_or_default();
            match byte {
                b' ' | b'\n' | b'\t' | b'\r' => Class::Space,
                _ if added.iter().any(|token| token.first() == Some(&byte)) => Class::MayBegin,
                _ if byte.is_ascii_punctuation() => Class::Punctuation,
                _ if byte.is_ascii_alphanumeric() => Class::Word,
                _ => Class::Other,
            }
        });
        let (mut first, mut next, mut longest) = (Pieces::default(), Pieces::default(), 0);
        for piece in vocabulary.keys().filter(|piece| piece.is_ascii()) {
            let (pieces, piece) = match piece.strip_prefix(&model.continuing_subword_prefix) {
                Some(rest) => (&mut next, rest),
                None => (&mut first, piece.as_str()),
            };
            longest = longest.max(piece.len());
            pieces.insert(piece.as_bytes().into());
        }
        let (max_word, lowercase) = (model.max_input_chars_per_word, normalizer.lowercase);
        Some(Self { first, next, longest, max_word, lowercase, added, class })
    }

    /// The tokens of `text`, of which `others` counts what is not plain ASCII, a stretch between white space at a time.
    ///
    /// The first error of `others` is given back. `O(bytes)`: some 100 MB/s.
    pub(super) fn n_tokens<Error>(
        &self,
        text: &str,
        others: impl Fn(&str) -> Result<usize, Error>,
    ) -> Result<usize, Error> {
        let (bytes, mut lower, mut n_tokens) = (text.as_bytes(), Vec::new(), 0);
        // Where a stretch that is not plain begins.
        let (mut at, mut other) = (0, None);
        while at < bytes.len() {
            if self.class_of(bytes[at]) == Class::Space {
                at += 1;
                continue;
            }
            let (end, n_plain) = self.stretch(bytes, at, &mut lower);
            match n_plain {
                Some(n_plain) => {
                    n_tokens += n_plain;
                    if let Some(begin) = other.take() {
                        n_tokens += others(&text[begin..at])?;
                    }
                }
                // With those after it, since each question costs.
                None => other = other.or(Some(at)),
            }
            at = end;
        }
        if let Some(begin) = other {
            n_tokens += others(&text[begin..])?;
        }
        Ok(n_tokens)
    }

    fn class_of(&self, byte: u8) -> Class {
        self.class[usize::from(byte)]
    }

    /// Where what begins at `begin` ends at white space, and its tokens if it is plain ASCII.
    fn stretch(&self, bytes: &[u8], begin: usize, lower: &mut Vec<u8>) -> (usize, Option<usize>) {
        let (mut at, mut n_tokens) = (begin, 0);
        loop {
            let Some(&byte) = bytes.get(at) else { return (at, Some(n_tokens)) };
            match self.class_of(byte) {
                Class::Word => {
                    let is_word = |byte: &u8| self.class_of(*byte) == Class::Word;
                    let n_bytes = bytes[at..].iter().take_while(|byte| is_word(byte)).count();
                    n_tokens += self.pieces(&bytes[at..at + n_bytes], lower);
                    at += n_bytes;
                }
                Class::Space => return (at, Some(n_tokens)),
                Class::MayBegin if self.is_added(&bytes[at..]) => break,
                Class::MayBegin | Class::Punctuation => {
                    n_tokens += 1;
                    at += 1;
                }
                Class::Other => break,
            }
        }
        let is_space = |byte: &u8| self.class_of(*byte) == Class::Space;
        let rest = bytes[at..].iter().position(is_space);
        (rest.map_or(bytes.len(), |n_bytes| at + n_bytes), None)
    }

    /// Whether one of the tokens that are looked for stands here, in whatever case.
    fn is_added(&self, bytes: &[u8]) -> bool {
        let begins = |token: &[u8]| {
            bytes.get(..token.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(token))
        };
        self.added.iter().any(|token| begins(token))
    }

    /// The pieces of a word, the longest first from the left; one where it has others than the vocabulary. `lower` is room to write in.
    fn pieces(&self, word: &[u8], lower: &mut Vec<u8>) -> usize {
        if word.len() > self.max_word {
            return 1;
        }
        lower.clear();
        lower.extend_from_slice(word);
        if self.lowercase {
            lower.make_ascii_lowercase();
        }
        let (mut rest, mut n_pieces, mut pieces) = (&lower[..], 0, &self.first);
        while !rest.is_empty() {
            let longest = rest.len().min(self.longest);
            let Some(n_bytes) = (1..=longest).rev().find(|&n| pieces.contains(&rest[..n])) else {
                return 1;
            };
            (rest, n_pieces, pieces) = (&rest[n_bytes..], n_pieces + 1, &self.next);
        }
        n_pieces
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TOKENIZER: &[u8] = include_bytes!("../../models/tokenizer.json");

    /// The bundled tokenizer with one thing changed.
    fn tokenizer(from: &str, to: &str) -> Tokenizer {
        let json = String::from_utf8(TOKENIZER.to_vec()).unwrap();
        assert!(json.contains(from), "{from}");
        let mut tokenizer = Tokenizer::from_bytes(json.replacen(from, to, 1)).unwrap();
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None).unwrap();
        tokenizer
    }

    fn assert_same(tokenizer: &Tokenizer, counter: &AsciiCounter, text: &str) {
        let library = |text: &str| tokenizer.encode_fast(text, false).map(|it| it.len());
        assert_eq!(counter.n_tokens(text, library).unwrap(), library(text).unwrap(), "{text:?}");
    }

    #[test]
    fn a_text_has_as_many_tokens_as_the_library_finds() {
        let tokenizer = tokenizer("", "");
        let counter = AsciiCounter::of(&tokenizer).unwrap();
        let parts = [
            "Why",
            "do",
            "cells",
            "AGE",
            "unbelievably",
            "x9",
            "[MASK]",
            "[mask]",
            "[[",
            "]]",
            "[",
            "[SE",
            "a[SEP]b",
            "_",
            "snake_case",
            "don't",
            "##ing",
            "`",
            "https://a.b/c?d=e",
            " ",
            "  ",
            "\n",
            "\t",
            "\r\n",
            "\u{b}",
            "\u{c}",
            "\0",
            "\u{7f}",
            "\u{a0}",
            "\u{2028}",
            "\u{301}",
            "e\u{301}",
            "é",
            "İ",
            "Σ",
            "ΟΔΟΣ",
            "ß",
            "日本",
            "漢",
            "🌿",
            "\u{200b}",
            "\u{fffd}",
            "слово",
            "ﬁ",
            "¿",
            "…",
            "—",
            "12,345.67",
        ];
        let long = ["q".repeat(100), "q".repeat(101), "ab".repeat(60)];
        let part = prop_oneof![
            8 => prop::sample::select(parts.to_vec()).prop_map(str::to_owned),
            1 => prop::sample::select(long.to_vec()),
            2 => "[ -~]{0,12}",
            1 => "\\PC{0,6}",
        ];
        let texts = prop::collection::vec(part, 0..24).prop_map(|parts| parts.concat());
        proptest!(ProptestConfig::with_cases(2_000), |(text in texts)| {
            assert_same(&tokenizer, &counter, &text);
        });
    }

    #[test]
    fn all_of_the_library_s_pieces_are_known() {
        let tokenizer = tokenizer("", "");
        let counter = AsciiCounter::of(&tokenizer).unwrap();
        let text: Vec<String> = tokenizer.get_vocab(false).into_keys().collect();
        for words in text.chunks(50) {
            assert_same(&tokenizer, &counter, &words.join(" "));
            assert_same(&tokenizer, &counter, &words.join("").replace('#', ""));
        }
    }

    #[test]
    fn others_than_berts_are_left_to_the_library() {
        for (from, to) in [
            (r#""clean_text":true"#, r#""clean_text":false"#),
            (r#"{"type":"BertPreTokenizer"}"#, r#"{"type":"Whitespace"}"#),
            (r#""content":"[MASK]""#, r#""content":"mask""#),
        ] {
            assert!(AsciiCounter::of(&tokenizer(from, to)).is_none(), "{to}");
        }
        let cased = tokenizer(r#""lowercase":true"#, r#""lowercase":false"#);
        assert_same(&cased, &AsciiCounter::of(&cased).unwrap(), "Cells AGE in x9 [MASK] Ways");
    }
}
