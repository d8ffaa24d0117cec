//! Texts to vectors: the bundled model, any other that runs in rten or ONNX Runtime, and endpoints elsewhere.
//!
//! [`open`] is the door: settings in, an [`Embedder`] out, with a note for a person wherever the next best was taken.
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

mod bundled;
mod error;
mod families;
mod files;
mod hub;
mod models;
mod onnx;
mod pooling;
mod remote;
mod rten;
mod runtime;
#[cfg(test)]
mod tests;
mod tokens;
mod wordpiece;
mod workers;

pub use error::OpenError;
pub use families::Prefixes;
pub use hub::known_models;
pub use models::{Models, Opener, models};
pub(crate) use models::{is_unopened, remember};
pub use onnx::OnnxEmbedder;
pub use remote::{RemoteEmbedder, RemoteSettings, Secret};
pub use rten::RtenEmbedder;
pub use tokens::TokenizerEstimator;

use files::ModelFiles;

/// The name of the model that comes with the program.
pub const BUNDLED: &str = "bundled";

/// The name of no model: search by keyword and graph alone.
pub const NONE: &str = "none";

/// Which model makes the vectors, and how it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EmbeddingSettings {
    /// [`BUNDLED`], [`NONE`], the path of a folder with an ONNX model, or one of [`known_models`]; of an endpoint, the name that it knows.
    pub model: String,
    /// What runs it.
    pub runner: Runner,
    /// Texts embedded at the same time, each on one thread; without it one for each core.
    ///
    /// In ONNX Runtime each holds the model's weights once more.
    pub threads: Option<NonZeroUsize>,
    /// The most tokens of a text that a model is shown, special tokens and prefix included; its own limit holds where that is lower.
    pub max_tokens: NonZeroUsize,
    /// The ONNX Runtime library, or a folder with it; without it the usual places are searched.
    ///
    /// The environment is not read here: a caller that honours `ORT_DYLIB_PATH` puts its value in.
    pub library: Option<PathBuf>,
    /// Where named models are kept, in the layout of the hub's own tools.
    pub cache_dir: PathBuf,
    /// What is put before queries and documents; without it what the model's folder or its family says.
    pub prefixes: Option<Prefixes>,
    /// The endpoint, where one is the runner.
    pub remote: RemoteSettings,
}

/// Tokens shown to a model that would read more.
///
/// Attention costs the square of it, and chunks are short; fastembed has the same default.
const MAX_TOKENS: NonZeroUsize = NonZeroUsize::new(512).expect("a literal that is not zero");

impl Default for EmbeddingSettings {
    fn default() -> Self {
        Self {
            model: BUNDLED.to_owned(),
            runner: Runner::default(),
            threads: None,
            max_tokens: MAX_TOKENS,
            library: None,
            cache_dir: PathBuf::from("models"),
            prefixes: None,
            remote: RemoteSettings::default(),
        }
    }
}

/// What runs a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Runner {
    /// rten for the bundled model, so its vectors are the same wherever the program runs; for others ONNX Runtime, or rten where its library is missing.
    #[default]
    Auto,
    /// rten: pure Rust, nothing to install.
    Rten,
    /// ONNX Runtime through fastembed, or rten where its library is missing.
    Onnx,
    /// An endpoint that speaks OpenAI's way.
    OpenAi,
    /// An endpoint of Ollama.
    Ollama,
}

/// What [`open`] found.
pub struct Opened {
    /// The embedder; nothing where none was asked for or none runs.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// One line for a person for each thing that is not as asked for.
    pub notes: Vec<String>,
}

/// Opens the model that `settings` name.
///
/// A missing ONNX Runtime library is no error: rten runs the same files, or, where it cannot, there is no embedder; the notes say which.
/// Fails on settings that name no model, and on a model that is broken.
/// The bundled model in rten is loaded when the first text comes (about 0.1 s); every other is loaded and tried here.
pub fn open(settings: &EmbeddingSettings) -> Result<Opened, OpenError> {
    open_known(settings, None)
}

/// The same, without asking an endpoint for the length of its vectors where that is known.
fn open_known(settings: &EmbeddingSettings, known: Option<usize>) -> Result<Opened, OpenError> {
    let mut notes = Vec::new();
    match settings.runner {
        Runner::OpenAi | Runner::Ollama if settings.model != NONE => {
            let embedder = RemoteEmbedder::open(settings, known)?;
            notes.extend(embedder.note());
            return Ok(Opened { embedder: Some(Arc::new(embedder)), notes });
        }
        Runner::OpenAi | Runner::Ollama | Runner::Auto | Runner::Rten | Runner::Onnx => {}
    }
    let embedder = match files(settings) {
        Ok(Some(files)) => run(files, settings, &mut notes)?,
        Ok(None) => None,
        Err(OpenError::Library { reason }) => {
            notes.push(format!(
                "The model `{}` cannot be fetched without ONNX Runtime ({reason}); searching by keyword and graph only.",
                settings.model
            ));
            None
        }
        Err(error) => return Err(error),
    };
    Ok(Opened { embedder, notes })
}

/// The files of the model asked for; nothing for [`NONE`].
fn files(settings: &EmbeddingSettings) -> Result<Option<ModelFiles>, OpenError> {
    let EmbeddingSettings { model, max_tokens, library, cache_dir, prefixes, .. } = settings;
    let (folder, max_tokens) = (Path::new(model), max_tokens.get());
    let mut files = if model == NONE {
        return Ok(None);
    } else if model == BUNDLED {
        bundled::files(max_tokens)
    } else if folder.is_dir() {
        ModelFiles::read(folder, max_tokens)?
    } else if let Some(named) = hub::find(model) {
        hub::files(&named, cache_dir, max_tokens, library.as_deref())?
    } else {
        return Err(OpenError::UnknownModel { model: model.clone(), near: hub::near(model) });
    };
    if let Some(prefixes) = prefixes {
        files.prefixes = prefixes.clone();
    }
    Ok(Some(files))
}

fn run(
    files: ModelFiles,
    settings: &EmbeddingSettings,
    notes: &mut Vec<String>,
) -> Result<Option<Arc<dyn Embedder>>, OpenError> {
    let cores = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let threads = settings.threads.unwrap_or_else(cores);
    let in_rten = |files: ModelFiles| -> Result<Arc<dyn Embedder>, OpenError> {
        let bundled = files.is_bundled();
        Ok(Arc::new(if bundled {
            RtenEmbedder::lazy(files, threads)
        } else {
            RtenEmbedder::open(files, threads)?
        }))
    };
    let wants_onnx = match settings.runner {
        Runner::Auto => !files.is_bundled(),
        Runner::Onnx => true,
        // What an endpoint runs is opened before.
        Runner::Rten | Runner::OpenAi | Runner::Ollama => false,
    };
    if !wants_onnx {
        return in_rten(files).map(Some);
    }
    let missing = match OnnxEmbedder::open(files.clone(), threads, settings.library.as_deref()) {
        Ok(embedder) => return Ok(Some(Arc::new(embedder))),
        Err(OpenError::Library { reason }) => reason,
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
            notes.push(format!("ONNX Runtime cannot be used ({missing}), and {error}; searching by keyword and graph only."));
            Ok(None)
        }
    }
}
