//! The bundled models: their files and constants.

use std::sync::{Arc, LazyLock};

use weft_index::embedder::{Calibration, ReadableText};

#[cfg(feature = "multilingual")]
use super::language_directions::LanguageDirections;
use super::model_families::Prefixes;
use super::model_files::{ModelFiles, ModelWeights};
use super::model_tokenizer::ModelTokenizer;
use super::pooling::Pooling;
use super::rten_model::{RtenModel, VECTORS};
use super::text_tokenizer::TextTokenizer;
#[cfg(feature = "multilingual")]
use super::unigram_tokenizer::UnigramTokenizer;

/// The name of the bundled English model: half the size and twice as fast as the multilingual one.
pub const ENGLISH: &str = "bundled-english";

/// The name of the bundled multilingual model.
pub const MULTILINGUAL: &str = "bundled-multilingual";

/// A model that is compiled into the program; its origin and license are documented beside its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BundledModel {
    /// all-MiniLM-L6-v2 with 7-bit weights.
    English,
    /// multilingual-e5-small with 4-bit weights and 180,000 pieces.
    #[cfg(feature = "multilingual")]
    Multilingual,
}

/// The files of a bundled model.
struct BundledFiles {
    weights: &'static [u8],
    tokenizer: &'static [u8],
    /// Digest of weights and tokenizer, precomputed to avoid reading them in every process.
    digest: &'static str,
}

static ENGLISH_FILES: BundledFiles = BundledFiles {
    weights: include_bytes!("../../models/minilm-q8row.onnx"),
    tokenizer: include_bytes!("../../models/tokenizer.json"),
    digest: "db841e0bcd0ba4f0758a9e85a465f320e56e1cf620b303017ec8f940aabc48dc",
};

#[cfg(feature = "multilingual")]
static MULTILINGUAL_FILES: BundledFiles = BundledFiles {
    weights: include_bytes!("../../models/multilingual/e5-small-180k.onnx"),
    tokenizer: include_bytes!("../../models/multilingual/e5-small-180k.unigram"),
    digest: "756c625f47a9c16f6cc708105a5bae7561ed5423c8b51855a5ba5d95bbcfaf84",
};

/// The directions of languages in the multilingual model; `measure_language_directions.py` beside it measured them.
#[cfg(feature = "multilingual")]
pub(crate) const LANGUAGE_DIRECTIONS: LanguageDirections =
    LanguageDirections(include_bytes!("../../models/multilingual/language-directions.f32"));

/// Cosines of the multilingual model.
///
/// Measured on questions of XQuAD, without the directions of languages, with their passages: 0.73 and 0.85 in English, 0.74 and 0.85 in German, 0.77 and 0.86 in Chinese.
#[cfg(feature = "multilingual")]
const MULTILINGUAL_CALIBRATION: Calibration = Calibration { unrelated: 0.75, related: 0.85 };

/// Dimension of the vectors of every bundled model. Source: `hidden_size` in the models' `config.json`.
pub(crate) const DIMENSION: usize = 384;

/// Maximum number of tokens, including the two special ones.
///
/// Source: `max_seq_length` in the model card of all-MiniLM-L6-v2. The multilingual model could read 512, which cost time and found nothing more on XQuAD, HotpotQA and MuSiQue.
pub(crate) const MAX_TOKENS: usize = 256;

static ENGLISH_TOKENIZER: LazyLock<Arc<TextTokenizer>> = LazyLock::new(|| {
    let parsed = TextTokenizer::from_bytes(ENGLISH_FILES.tokenizer);
    Arc::new(parsed.expect("the bundled tokenizer is valid"))
});

static ENGLISH_GRAPH: LazyLock<Result<Arc<RtenModel>, String>> =
    LazyLock::new(|| RtenModel::load(&BundledModel::English.weights(), VECTORS).map(Arc::new));

#[cfg(feature = "multilingual")]
static MULTILINGUAL_TOKENIZER: LazyLock<Arc<UnigramTokenizer>> = LazyLock::new(|| {
    let table = UnigramTokenizer::new(MULTILINGUAL_FILES.tokenizer);
    Arc::new(table.expect("the bundled table is valid"))
});

#[cfg(feature = "multilingual")]
static MULTILINGUAL_GRAPH: LazyLock<Result<Arc<RtenModel>, String>> =
    LazyLock::new(|| RtenModel::load(&BundledModel::Multilingual.weights(), VECTORS).map(Arc::new));

/// Returns the tokenizer of the English model, which is parsed once per process on first use.
///
/// It also counts the tokens of models whose own tokenizer is unknown.
pub(crate) fn english_tokenizer() -> Arc<TextTokenizer> {
    Arc::clone(&ENGLISH_TOKENIZER)
}

impl BundledModel {
    /// Returns the bundled model with this name; `None` for other names, and for a model that this build lacks.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            ENGLISH => Some(Self::English),
            #[cfg(feature = "multilingual")]
            MULTILINGUAL => Some(Self::Multilingual),
            _ => None,
        }
    }

    const fn stored(self) -> &'static BundledFiles {
        match self {
            Self::English => &ENGLISH_FILES,
            #[cfg(feature = "multilingual")]
            Self::Multilingual => &MULTILINGUAL_FILES,
        }
    }

    const fn weights(self) -> ModelWeights {
        ModelWeights::Bundled(self.stored().weights)
    }

    /// Returns the tokenizer, which is loaded once per process on first use.
    pub(crate) fn tokenizer(self) -> ModelTokenizer {
        match self {
            Self::English => ModelTokenizer::Library(english_tokenizer()),
            #[cfg(feature = "multilingual")]
            Self::Multilingual => ModelTokenizer::Unigram(Arc::clone(&MULTILINGUAL_TOKENIZER)),
        }
    }

    /// Returns the model in rten, which is loaded once per process on first use.
    pub(crate) fn model(self) -> Result<Arc<RtenModel>, String> {
        match self {
            Self::English => ENGLISH_GRAPH.clone(),
            #[cfg(feature = "multilingual")]
            Self::Multilingual => MULTILINGUAL_GRAPH.clone(),
        }
    }

    /// Returns true if only rten runs the model: no other runner reads the compact tokenizer.
    pub(crate) const fn needs_rten(self) -> bool {
        match self {
            Self::English => false,
            #[cfg(feature = "multilingual")]
            Self::Multilingual => true,
        }
    }

    /// Returns the cosines of unrelated and of related texts.
    pub(crate) const fn calibration(self) -> Calibration {
        match self {
            Self::English => Calibration::REFERENCE,
            #[cfg(feature = "multilingual")]
            Self::Multilingual => MULTILINGUAL_CALIBRATION,
        }
    }

    /// Returns the vector by which notes are searched for a query with the given vector.
    pub(crate) fn query_vector(self, vector: Vec<f32>) -> Vec<f32> {
        match self {
            Self::English => vector,
            #[cfg(feature = "multilingual")]
            Self::Multilingual => LANGUAGE_DIRECTIONS.removed(&vector),
        }
    }

    /// Returns the texts that the model understands.
    pub(crate) const fn readable_text(self) -> ReadableText {
        match self {
            Self::English => ReadableText::English,
            #[cfg(feature = "multilingual")]
            Self::Multilingual => ReadableText::EveryLanguage,
        }
    }

    /// Returns the bundled files, with the token limit capped to `max_tokens`.
    pub(crate) fn files(self, max_tokens: usize) -> ModelFiles {
        let (name, prefixes) = match self {
            Self::English => ("all-MiniLM-L6-v2-q8", Prefixes::default()),
            #[cfg(feature = "multilingual")]
            Self::Multilingual => (
                "multilingual-e5-small-180k-q4",
                Prefixes { query: "query: ".to_owned(), document: "passage: ".to_owned() },
            ),
        };
        ModelFiles {
            name: name.to_owned(),
            weights: self.weights(),
            tokenizer: self.stored().tokenizer.into(),
            max_tokens: MAX_TOKENS.min(max_tokens),
            pooling: Pooling::Mean,
            prefixes,
            digest: self.stored().digest.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::model_files::digest;

    #[test]
    fn digest_matches_bundled_files() {
        for model in [
            BundledModel::English,
            #[cfg(feature = "multilingual")]
            BundledModel::Multilingual,
        ] {
            let stored = model.stored();
            assert_eq!(digest(&model.weights(), stored.tokenizer).unwrap(), stored.digest);
        }
    }
}
