//! The model that comes with the program.

use std::sync::{Arc, LazyLock};

use super::families::Prefixes;
use super::files::{ModelFiles, Weights};
use super::pooling::Pooling;
use super::rten::RtenModel;
use super::tokens::TextTokenizer;

/// all-MiniLM-L6-v2 with 7-bit weights: how it was made and under which licence stands beside the file.
static WEIGHTS: &[u8] = include_bytes!("../../models/minilm-q8row.onnx");
static TOKENIZER: &[u8] = include_bytes!("../../models/tokenizer.json");

/// Floats per vector. Source: `hidden_size` in the model's `config.json`.
pub(crate) const DIMENSION: usize = 384;

/// Tokens with the two special ones. Source: the model card of all-MiniLM-L6-v2, `max_seq_length`.
pub(crate) const MAX_TOKENS: usize = 256;

/// Of weights and tokenizer, written down so that no run has to read 23 MB to know it.
const DIGEST: &str = "db841e0bcd0ba4f0758a9e85a465f320e56e1cf620b303017ec8f940aabc48dc";

static PARSED_TOKENIZER: LazyLock<Arc<TextTokenizer>> = LazyLock::new(|| {
    Arc::new(
        TextTokenizer::from_bytes(TOKENIZER).expect("the bundled tokenizer is read by every test"),
    )
});

static LOADED: LazyLock<Result<Arc<RtenModel>, String>> =
    LazyLock::new(|| RtenModel::load(&Weights::Bundled(WEIGHTS)).map(Arc::new));

/// The bundled tokenizer: read once in a process, when first asked for.
pub(crate) fn tokenizer() -> Arc<TextTokenizer> {
    Arc::clone(&PARSED_TOKENIZER)
}

/// The bundled model in rten: loaded once in a process, when first asked for.
pub(crate) fn model() -> Result<Arc<RtenModel>, String> {
    LOADED.clone()
}

/// The bundled files, cut to `max_tokens` where the model would read more.
pub(crate) fn files(max_tokens: usize) -> ModelFiles {
    ModelFiles {
        name: "all-MiniLM-L6-v2-q8".to_owned(),
        weights: Weights::Bundled(WEIGHTS),
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
    use crate::embed::files::digest;

    #[test]
    fn the_digest_is_that_of_the_files() {
        assert_eq!(digest(&Weights::Bundled(WEIGHTS), TOKENIZER).unwrap(), DIGEST);
    }
}
