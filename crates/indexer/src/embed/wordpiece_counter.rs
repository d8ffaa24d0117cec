//! Counts the tokens of ASCII text as BERT's tokenizer would, without creating them.
//!
//! Notes are counted as a whole before a model reads them, and most are ASCII: the text is split at white space and punctuation, lower-cased, and each word is split into the longest pieces in the vocabulary.
//! Source: Wu et al., "Google's Neural Machine Translation System", 2016 (wordpieces, greedy from the left), as implemented in the `tokenizers` library, which handles everything else.

use std::collections::HashSet;

use foldhash::fast::FixedState;
use tokenizers::{ModelWrapper, NormalizerWrapper, PreTokenizerWrapper, Tokenizer};

type PieceSet = HashSet<Box<[u8]>, FixedState>;

/// A token counter for ASCII text.
pub(super) struct AsciiCounter {
    /// Pieces that begin a word, and pieces that continue one (without the `##` prefix).
    first: PieceSet,
    next: PieceSet,
    /// Length of the longest piece, in bytes.
    longest: usize,
    /// A longer word is one token.
    max_word: usize,
    lowercase: bool,
    /// Tokens that are matched before anything else, such as `[MASK]`.
    added: Vec<Box<[u8]>>,
    class: [ByteClass; 256],
}

/// The tokenizer's classification of a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ByteClass {
    Word,
    Space,
    /// A token of its own.
    Punctuation,
    /// Punctuation that may begin an added token.
    MayBegin,
    /// Left to the library.
    Other,
}

impl AsciiCounter {
    /// Builds a counter for `tokenizer`; `None` if it is not a BERT tokenizer, or the count could differ from the library's.
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
        // An added token that spans words or consists of letters would have to be searched in every word.
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
                b' ' | b'\n' | b'\t' | b'\r' => ByteClass::Space,
                _ if added.iter().any(|token| token.first() == Some(&byte)) => ByteClass::MayBegin,
                _ if byte.is_ascii_punctuation() => ByteClass::Punctuation,
                _ if byte.is_ascii_alphanumeric() => ByteClass::Word,
                _ => ByteClass::Other,
            }
        });
        let (mut first, mut next, mut longest) = (PieceSet::default(), PieceSet::default(), 0);
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

    /// Counts the tokens of `text`; `others` counts the stretches between white space that are not plain ASCII.
    ///
    /// Returns the first error of `others`. `O(bytes)`: about 100 MB/s.
    pub(super) fn n_tokens<Error>(
        &self,
        text: &str,
        others: impl Fn(&str) -> Result<usize, Error>,
    ) -> Result<usize, Error> {
        let (bytes, mut lower, mut n_tokens) = (text.as_bytes(), Vec::new(), 0);
        // Start of a stretch that is not plain ASCII.
        let (mut at, mut other) = (0, None);
        while at < bytes.len() {
            if self.class_of(bytes[at]) == ByteClass::Space {
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
                // Join it with those that follow, since each call of the library is expensive.
                None => other = other.or(Some(at)),
            }
            at = end;
        }
        if let Some(begin) = other {
            n_tokens += others(&text[begin..])?;
        }
        Ok(n_tokens)
    }

    fn class_of(&self, byte: u8) -> ByteClass {
        self.class[usize::from(byte)]
    }

    /// Returns the end of the stretch that begins at `begin` and ends at white space, and its tokens if it is plain ASCII.
    fn stretch(&self, bytes: &[u8], begin: usize, lower: &mut Vec<u8>) -> (usize, Option<usize>) {
        let (mut at, mut n_tokens) = (begin, 0);
        loop {
            let Some(&byte) = bytes.get(at) else { return (at, Some(n_tokens)) };
            match self.class_of(byte) {
                ByteClass::Word => {
                    let is_word = |byte: &u8| self.class_of(*byte) == ByteClass::Word;
                    let n_bytes = bytes[at..].iter().take_while(|byte| is_word(byte)).count();
                    n_tokens += self.pieces(&bytes[at..at + n_bytes], lower);
                    at += n_bytes;
                }
                ByteClass::Space => return (at, Some(n_tokens)),
                ByteClass::MayBegin if self.is_added(&bytes[at..]) => break,
                ByteClass::MayBegin | ByteClass::Punctuation => {
                    n_tokens += 1;
                    at += 1;
                }
                ByteClass::Other => break,
            }
        }
        let is_space = |byte: &u8| self.class_of(*byte) == ByteClass::Space;
        let rest = bytes[at..].iter().position(is_space);
        (rest.map_or(bytes.len(), |n_bytes| at + n_bytes), None)
    }

    /// Returns true if `bytes` begin with an added token, in any case.
    fn is_added(&self, bytes: &[u8]) -> bool {
        let begins = |token: &[u8]| {
            bytes.get(..token.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(token))
        };
        self.added.iter().any(|token| begins(token))
    }

    /// Splits a word into the longest pieces from the left and counts them; 1 if the vocabulary does not cover the word. `lower` is scratch space.
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
    fn count_equals_library_count() {
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
    fn every_vocabulary_piece_is_counted() {
        let tokenizer = tokenizer("", "");
        let counter = AsciiCounter::of(&tokenizer).unwrap();
        let text: Vec<String> = tokenizer.get_vocab(false).into_keys().collect();
        for words in text.chunks(50) {
            assert_same(&tokenizer, &counter, &words.join(" "));
            assert_same(&tokenizer, &counter, &words.join("").replace('#', ""));
        }
    }

    #[test]
    fn other_tokenizers_are_left_to_the_library() {
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
