//! Estimates tokens with the tokenizer of a model.

use std::path::Path;
use std::sync::Arc;

use weft_model::{Estimator, Tokens};

use super::bundled_model::BundledModel;
use super::model_error::ModelError;
use super::text_tokenizer::TextTokenizer;

/// Estimates tokens with a real tokenizer, so that a budget means what the reading model counts.
///
/// Special tokens are not counted: a caller's template adds its own.
#[derive(Clone)]
pub struct TokenizerEstimator(TokenizerSource);

#[derive(Clone)]
enum TokenizerSource {
    /// The tokenizer of a bundled model, loaded on first use.
    Bundled(BundledModel),
    File(Arc<TextTokenizer>),
}

impl TokenizerEstimator {
    /// Reads the `tokenizer.json` at `path`, or in the folder `path`.
    pub fn open(path: &Path) -> Result<Self, ModelError> {
        let path = if path.is_dir() { path.join("tokenizer.json") } else { path.to_owned() };
        let json = std::fs::read(&path)
            .map_err(|source| ModelError::Read { path: path.clone(), source })?;
        let tokenizer = TextTokenizer::from_bytes(&json)
            .map_err(|reason| ModelError::Malformed { path, reason })?;
        Ok(Self(TokenizerSource::File(Arc::new(tokenizer))))
    }

    /// Returns the tokenizer of the bundled English model: made for English prose, ignores case. Loaded on first use.
    #[must_use]
    pub const fn english() -> Self {
        Self(TokenizerSource::Bundled(BundledModel::English))
    }

    /// Returns the tokenizer of the bundled multilingual model, with 180,000 pieces of words in a hundred languages. Read in place.
    #[cfg(feature = "multilingual")]
    #[must_use]
    pub const fn multilingual() -> Self {
        Self(TokenizerSource::Bundled(BundledModel::Multilingual))
    }
}

impl Estimator for TokenizerEstimator {
    fn estimate(&self, text: &str) -> Tokens {
        let n_tokens = match &self.0 {
            TokenizerSource::Bundled(model) => model.tokenizer().n_tokens(text),
            TokenizerSource::File(tokenizer) => tokenizer.n_tokens(text),
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
    fn estimator_counts_at_least_one_token() {
        let estimator = TokenizerEstimator::english();
        for (text, expected) in [("", 1), ("snow", 1), ("The cat sat on the mat.", 7)] {
            assert_eq!(estimator.estimate(text).get(), expected, "{text}");
        }
    }

    #[test]
    fn path_without_tokenizer_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let missing = TokenizerEstimator::open(folder.path()).unwrap_err();
        assert!(missing.to_string().contains("tokenizer.json"), "{missing}");
        std::fs::write(folder.path().join("tokenizer.json"), "{}").unwrap();
        let malformed = TokenizerEstimator::open(folder.path()).unwrap_err();
        assert!(matches!(malformed, ModelError::Malformed { .. }), "{malformed}");
    }
}
