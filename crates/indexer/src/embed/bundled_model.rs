//! The bundled model.

use std::sync::{Arc, LazyLock};

use super::model_families::Prefixes;
use super::model_files::{ModelFiles, ModelWeights};
use super::pooling::Pooling;
use super::rten_embedder::RtenModel;
use super::text_tokenizer::TextTokenizer;

/// all-MiniLM-L6-v2 with 7-bit weights; its origin and license are documented beside the file.
static WEIGHTS: &[u8] = include_bytes!("../../models/minilm-q8row.onnx");
static TOKENIZER: &[u8] = include_bytes!("../../models/tokenizer.json");

/// Dimension of the vectors. Source: `hidden_size` in the model's `config.json`.
pub(crate) const DIMENSION: usize = 384;

/// Maximum number of tokens, including the two special ones. Source: `max_seq_length` in the model card of all-MiniLM-L6-v2.
pub(crate) const MAX_TOKENS: usize = 256;

/// Digest of weights and tokenizer, precomputed to avoid reading 23 MB in every process.
const DIGEST: &str = "db841e0bcd0ba4f0758a9e85a465f320e56e1cf620b303017ec8f940aabc48dc";

static PARSED_TOKENIZER: LazyLock<Arc<TextTokenizer>> = LazyLock::new(|| {
    Arc::new(TextTokenizer::from_bytes(TOKENIZER).expect("the bundled tokenizer is valid"))
});

static LOADED: LazyLock<Result<Arc<RtenModel>, String>> =
    LazyLock::new(|| RtenModel::load(&ModelWeights::Bundled(WEIGHTS)).map(Arc::new));

/// Returns the bundled tokenizer, which is parsed once per process on first use.
pub(crate) fn tokenizer() -> Arc<TextTokenizer> {
    Arc::clone(&PARSED_TOKENIZER)
}

/// Returns the bundled model in rten, which is loaded once per process on first use.
pub(crate) fn model() -> Result<Arc<RtenModel>, String> {
    LOADED.clone()
}

/// Returns the bundled files, with the token limit capped to `max_tokens`.
pub(crate) fn files(max_tokens: usize) -> ModelFiles {
    ModelFiles {
        name: "all-MiniLM-L6-v2-q8".to_owned(),
        weights: ModelWeights::Bundled(WEIGHTS),
        tokenizer: TOKENIZER.into(),
        max_tokens: MAX_TOKENS.min(max_tokens),
        pooling: Pooling::Mean,
        prefixes: Prefixes::default(),
        digest: DIGEST.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::model_files::digest;

    #[test]
    fn digest_matches_bundled_files() {
        assert_eq!(digest(&ModelWeights::Bundled(WEIGHTS), TOKENIZER).unwrap(), DIGEST);
    }
}
