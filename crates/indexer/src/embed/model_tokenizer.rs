//! The tokenizer of a model: the library's, or the compact one of the bundled multilingual model.

use std::sync::Arc;

use tokenizers::Encoding;

use super::text_tokenizer::TextTokenizer;
use super::unigram_tokenizer::UnigramTokenizer;

/// A tokenizer that is shared by all users of a model.
#[derive(Clone)]
pub(crate) enum ModelTokenizer {
    /// The `tokenizers` library.
    Library(Arc<TextTokenizer>),
    /// A unigram tokenizer over a compact table.
    Unigram(Arc<UnigramTokenizer>),
}

/// The tokens of a text, without padding.
pub(crate) struct TokenIds {
    pub(crate) ids: Vec<i32>,
    pub(crate) types: Vec<i32>,
}

impl TokenIds {
    pub(super) fn of(encoding: &Encoding) -> Result<Self, String> {
        Ok(Self { ids: signed(encoding.get_ids())?, types: signed(encoding.get_type_ids())? })
    }

    pub(crate) const fn len(&self) -> usize {
        self.ids.len()
    }
}

/// Converts token numbers to the type that models take.
fn signed(numbers: &[u32]) -> Result<Vec<i32>, String> {
    let numbers = numbers.iter().map(|&number| i32::try_from(number));
    numbers.collect::<Result<_, _>>().map_err(|error| error.to_string())
}

impl ModelTokenizer {
    /// Returns the number of tokens added to every text.
    pub(crate) fn n_special(&self) -> usize {
        match self {
            Self::Library(tokenizer) => tokenizer.n_special(),
            Self::Unigram(_) => UnigramTokenizer::n_special(),
        }
    }

    /// Counts the tokens of `text`, without special ones.
    pub(crate) fn n_tokens(&self, text: &str) -> usize {
        match self {
            Self::Library(tokenizer) => tokenizer.n_tokens(text),
            Self::Unigram(tokenizer) => tokenizer.n_tokens(text),
        }
    }

    /// Returns the tokens of the start of `text`, at most `max_tokens` including special ones.
    pub(crate) fn encode(&self, text: &str, max_tokens: usize) -> Result<TokenIds, String> {
        match self {
            Self::Library(tokenizer) => TokenIds::of(&tokenizer.encode(text, max_tokens)?),
            Self::Unigram(tokenizer) => {
                let ids = signed(&tokenizer.encode(text, max_tokens))?;
                Ok(TokenIds { types: vec![0; ids.len()], ids })
            }
        }
    }
}
