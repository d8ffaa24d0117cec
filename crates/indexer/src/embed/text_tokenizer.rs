//! Counts a model's tokens, and cuts texts to the model's window.

use tokenizers::{Encoding, ModelWrapper, Tokenizer, TruncationDirection};

use super::wordpiece_counter::AsciiCounter;

/// Bytes of text to tokenize per token of the window before trying more.
///
/// Eight times the bytes per token of English prose (4), so one attempt nearly always suffices; it bounds work, not results.
const SCANNED_BYTES_PER_TOKEN: usize = 32;

/// A tokenizer without the padding and truncation that its file may configure.
pub(crate) struct TextTokenizer {
    inner: Tokenizer,
    ascii: Option<AsciiCounter>,
    n_special: usize,
    /// The unknown token.
    unknown: Option<u32>,
}

impl TextTokenizer {
    /// Parses a `tokenizer.json`.
    pub(crate) fn from_bytes(json: &[u8]) -> Result<Self, String> {
        let mut inner = Tokenizer::from_bytes(json).map_err(|error| error.to_string())?;
        inner.with_padding(None);
        inner.with_truncation(None).map_err(|error| error.to_string())?;
        let n_special = inner.encode_fast("", true).map_err(|error| error.to_string())?.len();
        let unknown = match inner.get_model() {
            ModelWrapper::WordPiece(model) => Some(model.unk_token.as_str()),
            ModelWrapper::WordLevel(model) => Some(model.unk_token.as_str()),
            ModelWrapper::BPE(model) => model.unk_token.as_deref(),
            // The unigram model does not expose its unknown token; this is the default name of its trainer.
            ModelWrapper::Unigram(_) => Some("<unk>"),
        };
        let unknown = unknown.and_then(|token| inner.token_to_id(token));
        let ascii = AsciiCounter::of(&inner);
        Ok(Self { inner, ascii, n_special, unknown })
    }

    /// Returns the number of tokens added to every text.
    pub(crate) const fn n_special(&self) -> usize {
        self.n_special
    }

    /// Counts the tokens of `text`, without special ones. `O(bytes)`: about 3 MB/s, or 100 MB/s for ASCII with a BERT tokenizer.
    ///
    /// If the tokenizer fails on a text, each character counts as one token.
    pub(crate) fn n_tokens(&self, text: &str) -> usize {
        let library = |text: &str| self.inner.encode_fast(text, false).map(|found| found.len());
        let n_tokens = match &self.ascii {
            Some(ascii) => ascii.n_tokens(text, library),
            None => library(text),
        };
        n_tokens.unwrap_or_else(|_| text.chars().count())
    }

    /// Returns the share of the characters of `text` that the vocabulary covers, in `0.0..=1.0`; 1 for a text without characters that count.
    ///
    /// Characters of unknown tokens are not covered. In a word that is split into pieces, the first character of each further piece is not covered either: a word spelled letter by letter counts almost nothing, and one that is a single token counts fully.
    /// An ideograph counts as a word of its own. White space and ASCII punctuation do not count.
    pub(crate) fn vocabulary_coverage(&self, text: &str) -> f64 {
        let Ok(encoding) = self.inner.encode_char_offsets(text, false) else { return 1.0 };
        let chars: Vec<char> = text.chars().collect();
        let mut is_covered = vec![false; chars.len()];
        let mut word_before = None;
        let tokens = encoding.get_ids().iter().zip(encoding.get_word_ids());
        for ((id, word), (start, end)) in tokens.zip(encoding.get_offsets()) {
            let continues = word.is_some() && *word == word_before;
            word_before = *word;
            if Some(*id) == self.unknown {
                continue;
            }
            for at in *start..(*end).min(chars.len()) {
                is_covered[at] |= at > *start || !continues || is_ideograph(chars[at]);
            }
        }
        let counted = chars.iter().zip(is_covered);
        let counted = counted.filter(|(c, _)| !c.is_whitespace() && !c.is_ascii_punctuation());
        let (n, n_covered) = counted.fold((0_u32, 0_u32), |(n, n_covered), (_, covered)| {
            (n + 1, n_covered + u32::from(covered))
        });
        if n == 0 { 1.0 } else { f64::from(n_covered) / f64::from(n) }
    }

    /// Tokenizes the start of `text` into at most `max_tokens` tokens, including special ones.
    ///
    /// Reads only as much of a long text as is needed to fill the window.
    pub(crate) fn encode(&self, text: &str, max_tokens: usize) -> Result<Encoding, String> {
        let (_, mut encoding) = self.front(text, max_tokens)?;
        encoding.truncate(self.room(max_tokens), 0, TruncationDirection::Right);
        self.inner.post_process(encoding, None, true).map_err(|error| error.to_string())
    }

    /// Returns a prefix of `text` with the same first `max_tokens` tokens, for a runner that tokenizes by itself.
    pub(crate) fn cut<'t>(&self, text: &'t str, max_tokens: usize) -> Result<&'t str, String> {
        if text.len() <= self.room(max_tokens).saturating_mul(SCANNED_BYTES_PER_TOKEN) {
            return Ok(text);
        }
        self.front(text, max_tokens).map(|(front, _)| front)
    }

    fn front<'t>(&self, text: &'t str, max_tokens: usize) -> Result<(&'t str, Encoding), String> {
        let room = self.room(max_tokens);
        let mut n_bytes = room.saturating_mul(SCANNED_BYTES_PER_TOKEN);
        loop {
            let front = front(text, n_bytes);
            let encoding =
                self.inner.encode_fast(front, false).map_err(|error| error.to_string())?;
            // There are more tokens than fit, so cutting the text cannot have changed those that do.
            if encoding.len() > room || front.len() == text.len() {
                return Ok((front, encoding));
            }
            n_bytes = n_bytes.saturating_mul(4);
        }
    }

    fn room(&self, max_tokens: usize) -> usize {
        max_tokens.saturating_sub(self.n_special).max(1)
    }

    /// Returns the number of tokens added to every pair of texts.
    pub(crate) fn n_special_of_pair(&self) -> Result<usize, String> {
        let pair = self.inner.encode_fast(("", ""), true).map_err(|error| error.to_string())?;
        Ok(pair.len())
    }

    /// Returns a copy for a runner that tokenizes by itself, truncating to `max_tokens` without padding.
    pub(crate) fn truncating(&self, max_tokens: usize) -> Result<Tokenizer, String> {
        let mut copy = self.inner.clone();
        let truncation =
            tokenizers::TruncationParams { max_length: max_tokens, ..Default::default() };
        copy.with_truncation(Some(truncation)).map_err(|error| error.to_string())?;
        Ok(copy)
    }
}

/// Returns true for Chinese ideographs, each of which is a word or a part of one. Source: Unicode, blocks "CJK Unified Ideographs" and its extensions.
const fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}

/// Returns a prefix of `text` of at most `n_bytes`, ending at white space if possible, else at a character boundary.
fn front(text: &str, n_bytes: usize) -> &str {
    if text.len() <= n_bytes {
        return text;
    }
    let front = &text[..text.floor_char_boundary(n_bytes)];
    front.rfind(char::is_whitespace).map_or(front, |end| &front[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundled_tokenizer() -> TextTokenizer {
        TextTokenizer::from_bytes(include_bytes!("../../models/tokenizer.json")).unwrap()
    }

    #[test]
    fn cutting_text_first_keeps_its_tokens() {
        let tokenizer = bundled_tokenizer();
        let texts = [
            String::new(),
            "short".to_owned(),
            "word after word ".repeat(2_000),
            "x".repeat(100_000),
            "漢字🌿".repeat(20_000),
            format!("{}end", " ".repeat(100_000)),
            format!("{} tail of words", "y".repeat(30_000)),
        ];
        for text in &texts {
            let whole = tokenizer.inner.encode_fast(text.as_str(), true).unwrap();
            let cut = tokenizer.encode(text, 16).unwrap();
            let expected: Vec<u32> = match whole.len() {
                0..=16 => whole.get_ids().to_vec(),
                len => [&whole.get_ids()[..15], &whole.get_ids()[len - 1..]].concat(),
            };
            assert_eq!(cut.get_ids(), expected, "{} bytes", text.len());
            assert_eq!(tokenizer.n_tokens(text) + 2, whole.len());
            let front = tokenizer
                .truncating(16)
                .unwrap()
                .encode_fast(tokenizer.cut(text, 16).unwrap(), true)
                .unwrap();
            assert_eq!(front.get_ids(), expected, "{} bytes", text.len());
        }
    }

    #[test]
    fn vocabulary_coverage_of_texts() {
        let tokenizer = bundled_tokenizer();
        for (text, least, most) in [
            ("", 1.0, 1.0),
            ("?!", 1.0, 1.0),
            ("Why do cells age?", 1.0, 1.0),
            // Pieces: "zur", "##verse", "##zung".
            ("Zurverszung", 0.7, 0.95),
            ("Почему стареют клетки", 0.0, 0.25),
            ("黑豹队的防守丢了多少分", 0.0, 0.5),
            ("日", 1.0, 1.0),
            ("🌿🌿", 0.0, 0.0),
        ] {
            let share = tokenizer.vocabulary_coverage(text);
            assert!((least..=most).contains(&share), "{text}: {share}");
        }
    }
}
