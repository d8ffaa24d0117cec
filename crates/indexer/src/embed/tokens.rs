//! Texts as a model's tokens: counting them, and cutting a text to the model's window.

use std::path::Path;
use std::sync::Arc;

use tokenizers::{Encoding, ModelWrapper, Tokenizer, TruncationDirection};
use weft_model::{Estimator, Tokens};

use super::bundled;
use super::error::OpenError;
use super::wordpiece::AsciiCounter;

/// Bytes of text looked at for each token of the window before more is tried.
///
/// Eight times what a token of English prose takes (4 bytes), so one look nearly always does; a bound on work, not on meaning.
const BYTES_PER_TOKEN_LOOKED_AT: usize = 32;

/// A tokenizer without the padding and truncation its file may ask for.
pub(crate) struct TextTokenizer {
    inner: Tokenizer,
    ascii: Option<AsciiCounter>,
    n_special: usize,
    /// The token for what has no other.
    unknown: Option<u32>,
}

impl TextTokenizer {
    /// Reads a `tokenizer.json`.
    pub(crate) fn from_bytes(json: &[u8]) -> Result<Self, String> {
        let mut inner = Tokenizer::from_bytes(json).map_err(|error| error.to_string())?;
        inner.with_padding(None);
        inner.with_truncation(None).map_err(|error| error.to_string())?;
        let n_special = inner.encode_fast("", true).map_err(|error| error.to_string())?.len();
        let unknown = match inner.get_model() {
            ModelWrapper::WordPiece(model) => Some(model.unk_token.as_str()),
            ModelWrapper::WordLevel(model) => Some(model.unk_token.as_str()),
            ModelWrapper::BPE(model) => model.unk_token.as_deref(),
            // It keeps the number to itself; the name is that of its trainer.
            ModelWrapper::Unigram(_) => Some("<unk>"),
        };
        let unknown = unknown.and_then(|token| inner.token_to_id(token));
        let ascii = AsciiCounter::of(&inner);
        Ok(Self { inner, ascii, n_special, unknown })
    }

    /// How many tokens the tokenizer adds to every text.
    pub(crate) const fn n_special(&self) -> usize {
        self.n_special
    }

    /// The tokens of `text`, special ones not counted. `O(bytes)`: about 3 MB/s, and 100 of ASCII by the tokenizers of BERT.
    ///
    /// Where the tokenizer has no word for a text at all, each character counts as one.
    pub(crate) fn n_tokens(&self, text: &str) -> usize {
        let library = |text: &str| self.inner.encode_fast(text, false).map(|found| found.len());
        let n_tokens = match &self.ascii {
            Some(ascii) => ascii.n_tokens(text, library),
            None => library(text),
        };
        n_tokens.unwrap_or_else(|_| text.chars().count())
    }

    /// The share of the characters of `text` that the vocabulary expresses, in `0.0..=1.0`; 1 for a text without any.
    ///
    /// Those of an unknown token are not expressed, and of a word that falls into pieces each further piece costs its first: so a word spelled letter by letter counts next to nothing, and one that is a token counts whole.
    /// An ideograph is a word in itself. White space and ASCII punctuation do not count.
    pub(crate) fn expressed(&self, text: &str) -> f64 {
        let Ok(encoding) = self.inner.encode_char_offsets(text, false) else { return 1.0 };
        let chars: Vec<char> = text.chars().collect();
        let mut is_expressed = vec![false; chars.len()];
        let mut word_before = None;
        let tokens = encoding.get_ids().iter().zip(encoding.get_word_ids());
        for ((id, word), (start, end)) in tokens.zip(encoding.get_offsets()) {
            let continues = word.is_some() && *word == word_before;
            word_before = *word;
            if Some(*id) == self.unknown {
                continue;
            }
            for at in *start..(*end).min(chars.len()) {
                is_expressed[at] |= at > *start || !continues || is_ideograph(chars[at]);
            }
        }
        let counted = chars.iter().zip(is_expressed);
        let counted = counted.filter(|(c, _)| !c.is_whitespace() && !c.is_ascii_punctuation());
        let (n, n_expressed) = counted.fold((0_u32, 0_u32), |(n, n_expressed), (_, expressed)| {
            (n + 1, n_expressed + u32::from(expressed))
        });
        if n == 0 { 1.0 } else { f64::from(n_expressed) / f64::from(n) }
    }

    /// The first tokens of `text`, at most `max_tokens` with the special ones.
    ///
    /// Only as much of a long text is read as is needed to fill the window.
    pub(crate) fn encode(&self, text: &str, max_tokens: usize) -> Result<Encoding, String> {
        let (_, mut encoding) = self.front(text, max_tokens)?;
        encoding.truncate(self.room(max_tokens), 0, TruncationDirection::Right);
        self.inner.post_process(encoding, None, true).map_err(|error| error.to_string())
    }

    /// A part of the front of `text` that gives the same first `max_tokens` tokens, for a runner that tokenizes by itself.
    pub(crate) fn cut<'t>(&self, text: &'t str, max_tokens: usize) -> Result<&'t str, String> {
        if text.len() <= self.room(max_tokens).saturating_mul(BYTES_PER_TOKEN_LOOKED_AT) {
            return Ok(text);
        }
        self.front(text, max_tokens).map(|(front, _)| front)
    }

    fn front<'t>(&self, text: &'t str, max_tokens: usize) -> Result<(&'t str, Encoding), String> {
        let room = self.room(max_tokens);
        let mut n_bytes = room.saturating_mul(BYTES_PER_TOKEN_LOOKED_AT);
        loop {
            let front = front(text, n_bytes);
            let encoding =
                self.inner.encode_fast(front, false).map_err(|error| error.to_string())?;
            // More tokens than fit, so cutting the text cannot have changed those that do.
            if encoding.len() > room || front.len() == text.len() {
                return Ok((front, encoding));
            }
            n_bytes = n_bytes.saturating_mul(4);
        }
    }

    fn room(&self, max_tokens: usize) -> usize {
        max_tokens.saturating_sub(self.n_special).max(1)
    }

    /// A copy for a runner that tokenizes by itself: it cuts to `max_tokens` and pads nothing.
    pub(crate) fn truncating(&self, max_tokens: usize) -> Result<Tokenizer, String> {
        let mut copy = self.inner.clone();
        let truncation =
            tokenizers::TruncationParams { max_length: max_tokens, ..Default::default() };
        copy.with_truncation(Some(truncation)).map_err(|error| error.to_string())?;
        Ok(copy)
    }
}

/// Whether a character of Chinese writing stands for a word or a part of one. Source: Unicode, blocks "CJK Unified Ideographs" and its extensions.
const fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}

/// At most `n_bytes` of the front of `text`, ended at white space where there is some, else at a character.
fn front(text: &str, n_bytes: usize) -> &str {
    if text.len() <= n_bytes {
        return text;
    }
    let front = &text[..text.floor_char_boundary(n_bytes)];
    front.rfind(char::is_whitespace).map_or(front, |end| &front[..end])
}

/// Counts the tokens of a real tokenizer, so a budget means what the reading model counts.
///
/// Special tokens are not counted: a caller's template adds its own.
#[derive(Clone)]
pub struct TokenizerEstimator(Source);

#[derive(Clone)]
enum Source {
    /// The bundled one, which is read when it is first used.
    Bundled,
    Opened(Arc<TextTokenizer>),
}

impl TokenizerEstimator {
    /// Reads the `tokenizer.json` at `path`, or the one in the folder `path`.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let path = if path.is_dir() { path.join("tokenizer.json") } else { path.to_owned() };
        let json = std::fs::read(&path)
            .map_err(|source| OpenError::Read { path: path.clone(), source })?;
        let tokenizer = TextTokenizer::from_bytes(&json)
            .map_err(|reason| OpenError::Malformed { path, reason })?;
        Ok(Self(Source::Opened(Arc::new(tokenizer))))
    }

    /// The bundled model's tokenizer: made for English prose, without case. Read when it is first used.
    #[must_use]
    pub const fn bundled() -> Self {
        Self(Source::Bundled)
    }
}

impl Estimator for TokenizerEstimator {
    fn estimate(&self, text: &str) -> Tokens {
        let n_tokens = match &self.0 {
            Source::Bundled => bundled::tokenizer().n_tokens(text),
            Source::Opened(tokenizer) => tokenizer.n_tokens(text),
        };
        Tokens::new(n_tokens.max(1) as u64)
    }
}

impl std::fmt::Debug for TokenizerEstimator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenizerEstimator").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cutting_first_gives_the_tokens_that_cutting_last_gives() {
        let tokenizer = bundled::tokenizer();
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
    fn what_the_vocabulary_expresses() {
        let tokenizer = bundled::tokenizer();
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
            let share = tokenizer.expressed(text);
            assert!((least..=most).contains(&share), "{text}: {share}");
        }
    }

    #[test]
    fn the_estimator_counts_tokens_and_never_nothing() {
        let estimator = TokenizerEstimator::bundled();
        for (text, expected) in [("", 1), ("snow", 1), ("The cat sat on the mat.", 7)] {
            assert_eq!(estimator.estimate(text).get(), expected, "{text}");
        }
    }

    #[test]
    fn a_path_without_a_tokenizer_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let missing = TokenizerEstimator::open(folder.path()).unwrap_err();
        assert!(missing.to_string().contains("tokenizer.json"), "{missing}");
        std::fs::write(folder.path().join("tokenizer.json"), "{}").unwrap();
        let malformed = TokenizerEstimator::open(folder.path()).unwrap_err();
        assert!(matches!(malformed, OpenError::Malformed { .. }), "{malformed}");
    }
}
