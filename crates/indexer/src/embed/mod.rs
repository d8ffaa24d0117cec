//! Embeds texts: with the bundled models, other models in rten or ONNX Runtime, or a remote endpoint.
//!
//! Also opens rerankers ([`open_reranker`]), which share tokenizers, runtimes and requests with them.
//!
//! [`open`] is the entry point: it turns settings into an [`Embedder`], with notes about every fallback it had to take.
//!
//! ```
//! use weft_index::embedder::Role;
//! use weft_indexer::embed::{EmbeddingSettings, open};
//!
//! let embedder = open(&EmbeddingSettings::default()).unwrap().embedder.unwrap();
//! let documents = embedder.embed(&["A cat sat on a mat.", "Revenue fell."], Role::Document).unwrap();
//! let query = embedder.embed(&["a feline resting"], Role::Query).unwrap();
//! let cosine = |document: &[f32]| document.iter().zip(&query[0]).map(|(a, b)| a * b).sum::<f32>();
//! assert!(cosine(&documents[0]) > cosine(&documents[1]));
//! ```

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weft_index::embedder::Embedder;

mod bundled_model;
mod calibrated_embedder;
mod http_endpoint;
#[cfg(feature = "multilingual")]
mod language_directions;
mod model_choice;
mod model_error;
mod model_families;
mod model_files;
mod model_hub;
mod model_selection;
mod model_tokenizer;
mod onnx_embedder;
mod onnx_runtime;
mod pooling;
mod remote;
mod request_backoff;
mod reranking;
mod rten_embedder;
mod rten_model;
#[cfg(test)]
mod tests;
mod text_tokenizer;
mod tokenizer_estimator;
mod unigram_tokenizer;
mod wordpiece_counter;
mod worker_pool;

pub use bundled_model::{ENGLISH, MULTILINGUAL};
pub use http_endpoint::Secret;
pub use model_choice::{MULTILINGUAL_ABOVE, ModelChoice};
pub use model_error::ModelError;
pub use model_families::Prefixes;
pub use model_hub::known_models;
pub use model_selection::is_pending;
pub(crate) use model_selection::record_serving_model;
pub use model_selection::{AutoModel, Model, ModelOpener, ModelSelection, select_models};
pub use onnx_embedder::OnnxEmbedder;
pub use remote::{RemoteEmbedder, RemoteSettings};
pub use reranking::{
    OpenedReranker, RerankEndpoint, RerankRunner, RerankerSettings, open_reranker,
};
pub use rten_embedder::RtenEmbedder;
pub use tokenizer_estimator::TokenizerEstimator;
use weft_index::embedder::Calibration;

use bundled_model::BundledModel;
use calibrated_embedder::CalibratedEmbedder;
use model_files::ModelFiles;

/// The name that chooses between the bundled models by the languages of the notes, once for each index.
pub const AUTO: &str = "auto";

/// The name that disables embeddings: search by keywords and graph only.
pub const NONE: &str = "none";

/// Which model computes the vectors, and how it runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EmbeddingSettings {
    /// [`AUTO`], [`ENGLISH`], [`MULTILINGUAL`], [`NONE`], the path of a folder with an ONNX model, or one of [`known_models`]; for an endpoint, the endpoint's name for the model.
    pub model: String,
    /// Runtime that executes the model.
    pub runner: Runner,
    /// Number of texts embedded in parallel, each on one thread; defaults to one per core.
    ///
    /// In ONNX Runtime, each holds a copy of the model's weights.
    pub threads: Option<NonZeroUsize>,
    /// Maximum number of tokens of a text that the model reads, including special tokens and prefix; capped to the model's own limit.
    pub max_tokens: NonZeroUsize,
    /// The ONNX Runtime library, or a folder that contains it; by default the usual places are searched.
    ///
    /// The environment is not read here: a caller that supports `ORT_DYLIB_PATH` passes its value.
    pub library: Option<PathBuf>,
    /// Cache folder of named models, in the layout of the Hugging Face tools; they need an absolute path.
    pub cache_dir: PathBuf,
    /// Prefixes of queries and documents; by default those of the model's folder or family.
    pub prefixes: Option<Prefixes>,
    /// Mean cosines of unrelated and of related texts, which bring the model's vector scores to the scale of others; by default those of the bundled model, or measured on the vectors of the vaults.
    pub calibration: Option<Calibration>,
    /// The endpoint, if the runner is one.
    pub remote: RemoteSettings,
}

/// Default limit for models that could read more.
///
/// Attention costs the square of it, and chunks are short; fastembed has the same default.
const MAX_TOKENS: NonZeroUsize = NonZeroUsize::new(512).expect("a literal that is not zero");

impl Default for EmbeddingSettings {
    fn default() -> Self {
        Self {
            model: AUTO.to_owned(),
            runner: Runner::default(),
            threads: None,
            max_tokens: MAX_TOKENS,
            library: None,
            cache_dir: PathBuf::from("models"),
            prefixes: None,
            calibration: None,
            remote: RemoteSettings::default(),
        }
    }
}

/// Runtime that executes a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Runner {
    /// rten for a bundled model, so that its vectors are the same everywhere; for other models ONNX Runtime, or rten if its library is missing.
    #[default]
    Auto,
    /// rten: pure Rust, nothing to install.
    Rten,
    /// ONNX Runtime through fastembed, or rten if its library is missing.
    Onnx,
    /// An endpoint with the OpenAI API.
    OpenAi,
    /// An Ollama endpoint.
    Ollama,
}

/// The result of [`open`].
pub struct OpenedEmbedder {
    /// The embedder; `None` if none was configured or none runs.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// One line for the user about each deviation from the settings.
    pub notes: Vec<String>,
}

/// Opens the model that `settings` name.
///
/// A missing ONNX Runtime library is not an error: rten runs the same files if it can; otherwise there is no embedder. The notes report which.
/// Fails if the settings name no known model, or if the model is invalid.
/// A bundled model in rten is loaded for the first text (0.1 to 0.5 s); every other model is loaded and tested here.
/// Without a vault to choose by, [`AUTO`] is the English model.
pub fn open(settings: &EmbeddingSettings) -> Result<OpenedEmbedder, ModelError> {
    open_known(settings, None)
}

/// Like [`open`], but does not ask an endpoint for its dimension if it is `known`.
fn open_known(
    settings: &EmbeddingSettings,
    known: Option<usize>,
) -> Result<OpenedEmbedder, ModelError> {
    let opened = open_uncalibrated(settings, known)?;
    let Some(calibration) = settings.calibration else { return Ok(opened) };
    let calibrated = |embedder| -> Arc<dyn Embedder> {
        Arc::new(CalibratedEmbedder::new(embedder, calibration))
    };
    Ok(OpenedEmbedder { embedder: opened.embedder.map(calibrated), notes: opened.notes })
}

fn open_uncalibrated(
    settings: &EmbeddingSettings,
    known: Option<usize>,
) -> Result<OpenedEmbedder, ModelError> {
    let mut notes = Vec::new();
    match settings.runner {
        Runner::OpenAi | Runner::Ollama if settings.model != NONE => {
            let embedder = RemoteEmbedder::open(settings, known)?;
            notes.extend(embedder.note());
            return Ok(OpenedEmbedder { embedder: Some(Arc::new(embedder)), notes });
        }
        Runner::OpenAi | Runner::Ollama | Runner::Auto | Runner::Rten | Runner::Onnx => {}
    }
    let embedder = match files(settings) {
        Ok(Some(files)) => run(files, settings, &mut notes)?,
        Ok(None) => None,
        Err(ModelError::Library { reason }) => {
            notes.push(format!(
                "The model `{}` cannot be downloaded without ONNX Runtime ({reason}); search uses keywords and the graph only.",
                settings.model
            ));
            None
        }
        Err(error) => return Err(error),
    };
    Ok(OpenedEmbedder { embedder, notes })
}

/// Returns the files of the configured model; `None` for [`NONE`].
fn files(settings: &EmbeddingSettings) -> Result<Option<ModelFiles>, ModelError> {
    let EmbeddingSettings { model, max_tokens, library, cache_dir, prefixes, .. } = settings;
    let (folder, max_tokens) = (Path::new(model), max_tokens.get());
    let mut files = if model == NONE {
        return Ok(None);
    } else if let Some(bundled) = bundled(model) {
        bundled.files(max_tokens)
    } else if model == MULTILINGUAL {
        return Err(ModelError::NotBuiltIn { model: model.clone() });
    } else if folder.is_dir() {
        ModelFiles::read(folder, max_tokens)?
    } else if let Some(named) = model_hub::find(model) {
        // In a relative folder, another user could place a different model first.
        if !cache_dir.is_absolute() {
            return Err(ModelError::NoCache { model: model.clone() });
        }
        model_hub::files(&named, cache_dir, max_tokens, library.as_deref())?
    } else {
        return Err(ModelError::UnknownModel {
            model: model.clone(),
            near: model_hub::near(model),
        });
    };
    if let Some(prefixes) = prefixes {
        files.prefixes = prefixes.clone();
    }
    Ok(Some(files))
}

/// Returns the bundled model that `model` names.
fn bundled(model: &str) -> Option<BundledModel> {
    BundledModel::named(if model == AUTO { ENGLISH } else { model })
}

fn run(
    files: ModelFiles,
    settings: &EmbeddingSettings,
    notes: &mut Vec<String>,
) -> Result<Option<Arc<dyn Embedder>>, ModelError> {
    let cores = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let threads = settings.threads.unwrap_or_else(cores);
    let bundled = bundled(&settings.model);
    let in_rten = |files: ModelFiles| -> Result<Arc<dyn Embedder>, ModelError> {
        Ok(Arc::new(match bundled {
            Some(model) => RtenEmbedder::lazy(model, files, threads),
            None => RtenEmbedder::open(files, threads)?,
        }))
    };
    let wants_onnx = match settings.runner {
        Runner::Auto => bundled.is_none(),
        Runner::Onnx if bundled.is_some_and(BundledModel::needs_rten) => {
            notes.push(format!("The model `{}` runs in rten only.", settings.model));
            false
        }
        Runner::Onnx => true,
        // Endpoints were opened before.
        Runner::Rten | Runner::OpenAi | Runner::Ollama => false,
    };
    if !wants_onnx {
        return in_rten(files).map(Some);
    }
    let missing = match OnnxEmbedder::open(files.clone(), threads, settings.library.as_deref()) {
        Ok(embedder) => return Ok(Some(Arc::new(embedder))),
        Err(ModelError::Library { reason }) => reason,
        Err(error) => return Err(error),
    };
    let name = files.name.clone();
    match in_rten(files) {
        Ok(embedder) => {
            notes.push(format!(
                "ONNX Runtime cannot be used ({missing}); the model `{name}` runs in rten instead."
            ));
            Ok(Some(embedder))
        }
        Err(error) => {
            notes.push(format!("ONNX Runtime cannot be used ({missing}), and {error}; search uses keywords and the graph only."));
            Ok(None)
        }
    }
}
