//! The bundled model: its files and their constants.

/// all-MiniLM-L6-v2 with 7-bit weights; its origin and license are documented beside the file.
pub(crate) static WEIGHTS: &[u8] = include_bytes!("../../models/minilm-q8row.onnx");

/// The model's `tokenizer.json`.
pub(crate) static TOKENIZER: &[u8] = include_bytes!("../../models/tokenizer.json");

/// Dimension of the vectors. Source: `hidden_size` in the model's `config.json`.
pub(crate) const DIMENSION: usize = 384;

/// Maximum number of tokens, including the two special ones. Source: `max_seq_length` in the model card of all-MiniLM-L6-v2.
pub(crate) const MAX_TOKENS: usize = 256;

/// Digest of weights and tokenizer, precomputed to avoid reading 23 MB in every process.
pub(crate) const DIGEST: &str = "db841e0bcd0ba4f0758a9e85a465f320e56e1cf620b303017ec8f940aabc48dc";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::model_files::{ModelWeights, digest};

    #[test]
    fn digest_matches_bundled_files() {
        assert_eq!(digest(&ModelWeights::Bundled(WEIGHTS), TOKENIZER).unwrap(), DIGEST);
    }
}
