//! Tokenizes a query together with a text, as cross-encoders read them.

use tokenizers::Tokenizer;

use super::super::model_tokenizer::TokenIds;
use super::super::text_tokenizer::TextTokenizer;

/// Tokens of text that a pair contains at least, besides special ones: one of the query and one of the text.
const MIN_TEXT_TOKENS: usize = 2;

/// Tokenizes pairs of texts.
///
/// If a pair is too long, the longer of the two texts is truncated.
pub(super) struct PairTokenizer {
    texts: TextTokenizer,
    truncating: Tokenizer,
    max_tokens: usize,
}

impl PairTokenizer {
    /// Parses a `tokenizer.json`; pairs have at most `max_tokens` tokens, including special ones.
    pub(super) fn from_bytes(json: &[u8], max_tokens: usize) -> Result<Self, String> {
        let texts = TextTokenizer::from_bytes(json)?;
        let max_tokens = max_tokens.max(texts.n_special_of_pair()? + MIN_TEXT_TOKENS);
        let truncating = texts.truncating(max_tokens)?;
        Ok(Self { texts, truncating, max_tokens })
    }

    /// Returns the tokens of a pair.
    pub(super) fn encode(&self, query: &str, text: &str) -> Result<TokenIds, String> {
        let pair = (self.cut(query)?, self.cut(text)?);
        let encoding =
            self.truncating.encode_fast(pair, true).map_err(|error| error.to_string())?;
        TokenIds::of(&encoding)
    }

    /// Returns the start of a text that can fit, to bound the work for a long one.
    pub(super) fn cut<'t>(&self, text: &'t str) -> Result<&'t str, String> {
        self.texts.cut(text, self.max_tokens)
    }

    /// Returns a copy for a runner that tokenizes by itself.
    pub(super) fn library(&self) -> Tokenizer {
        self.truncating.clone()
    }
}
