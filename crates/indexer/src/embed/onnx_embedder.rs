//! Models run by ONNX Runtime through fastembed.

use std::borrow::Cow;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use fastembed::{InitOptionsUserDefined, TextEmbedding, TokenizerFiles, UserDefinedEmbeddingModel};
use weft_index::embedder::{EmbedError, Embedder, ModelIdentity, Role};

use super::model_error::ModelError;
use super::model_files::{ExternalData, ModelFiles, digest_of};
use super::model_tokenizer::ModelTokenizer;
use super::onnx_runtime::{self, Runtime};
use super::pooling::{Pooling, unit};
use super::text_tokenizer::TextTokenizer;
use super::worker_pool::WorkerPool;

/// The name of this runner in a model's identity.
pub(crate) const RUNNER: &str = "onnxruntime";

/// Runs a model in ONNX Runtime, one text at a time in each of several single-threaded sessions.
///
/// One text per run, because padding and, in dynamically quantized models, rounding would make a vector depend on its batch.
/// Batches of equal length would be safe for most models, but only help short texts: with the bundled file, batches of eight gave 1.8 times the texts per second at 16 tokens, 1.2 times at 64, and 0.75 times at 256.
/// Sessions are created on demand; each holds a copy of the model's weights.
pub struct OnnxEmbedder {
    files: ModelFiles,
    identity: ModelIdentity,
    window: usize,
    tokenizer: Arc<TextTokenizer>,
    runtime: Runtime,
    workers: WorkerPool<TextEmbedding>,
}

impl OnnxEmbedder {
    /// Loads the library (see [`onnx_runtime::load`]), creates a session from `files` and embeds one text with it.
    pub(crate) fn open(
        files: ModelFiles,
        threads: NonZeroUsize,
        library: Option<&Path>,
    ) -> Result<Self, ModelError> {
        let runtime = onnx_runtime::load(library)?;
        let failed =
            |reason| ModelError::Model { model: files.name.clone(), runner: RUNNER, reason };
        let tokenizer = Arc::new(TextTokenizer::from_bytes(&files.tokenizer).map_err(failed)?);
        let workers = WorkerPool::new(threads);
        let make = || session(&files, &tokenizer, &runtime);
        let dimension = workers
            .map(&["probe"], &make, &|session, text| vector(session, text))
            .map_err(failed)?
            .concat()
            .len();
        let (identity, window) = (
            files.identity(RUNNER, dimension),
            files.window(&ModelTokenizer::Library(Arc::clone(&tokenizer))),
        );
        Ok(Self { files, identity, window, tokenizer, runtime, workers })
    }

    /// Returns the path of the loaded library; `None` if it is linked in.
    #[must_use]
    pub fn library(&self) -> Option<&Path> {
        self.runtime.library.as_deref()
    }
}

impl Embedder for OnnxEmbedder {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn window(&self) -> usize {
        self.window
    }

    fn n_tokens(&self, text: &str) -> usize {
        self.tokenizer.n_tokens(text)
    }

    fn vocabulary_coverage(&self, text: &str) -> f64 {
        self.tokenizer.vocabulary_coverage(text)
    }

    fn embed(&self, texts: &[&str], role: Role) -> Result<Vec<Vec<f32>>, EmbedError> {
        let make = || session(&self.files, &self.tokenizer, &self.runtime);
        let work = |session: &mut TextEmbedding, text: &&str| {
            let text = self.files.prefixes.apply(text, role);
            vector(session, self.tokenizer.cut(&text, self.files.max_tokens)?)
        };
        self.workers
            .map(texts, &make, &work)
            .map_err(|reason| EmbedError::Failed { model: self.identity.model.clone(), reason })
    }

    fn batch(&self) -> usize {
        self.workers.batch()
    }
}

fn session(
    files: &ModelFiles,
    tokenizer: &TextTokenizer,
    runtime: &Runtime,
) -> Result<TextEmbedding, String> {
    let (graph, external_data) = unchanged_weights(files)?;
    let pooling = match files.pooling {
        Pooling::Mean => fastembed::Pooling::Mean,
        Pooling::Cls => fastembed::Pooling::Cls,
    };
    let mut model = UserDefinedEmbeddingModel::new(graph.into_owned(), tokenizer_files(files))
        .with_pooling(pooling);
    for (name, bytes) in external_data {
        model = model.with_external_initializer(name, bytes);
    }
    let options = InitOptionsUserDefined::new()
        .with_environment(runtime.environment.clone())
        .with_max_length(files.max_tokens)
        .with_intra_threads(1);
    let mut session = TextEmbedding::try_new_from_user_defined(model, options)
        .map_err(|error| error.to_string())?;
    session.tokenizer = tokenizer.truncating(files.max_tokens)?;
    Ok(session)
}

/// Reads the graph and its external data. Fails if they are not those that were opened.
pub(super) fn unchanged_weights(
    files: &ModelFiles,
) -> Result<(Cow<'static, [u8]>, Vec<ExternalData>), String> {
    let (graph, external_data) = files.weights.read().map_err(|error| error.to_string())?;
    if digest_of(&graph, &external_data, &files.tokenizer) != files.digest {
        return Err("its files changed after it was opened; restart to use the new ones".to_owned());
    }
    Ok((graph, external_data))
}

/// Returns the four files that fastembed requires. Padding never happens here, and the tokenizer is replaced afterwards.
pub(super) fn tokenizer_files(files: &ModelFiles) -> TokenizerFiles {
    let config = serde_json::json!({ "model_max_length": files.max_tokens, "pad_token": "[PAD]", "pad_token_id": 0 });
    TokenizerFiles {
        tokenizer_file: files.tokenizer.to_vec(),
        config_file: config.to_string().into_bytes(),
        special_tokens_map_file: b"{}".to_vec(),
        tokenizer_config_file: config.to_string().into_bytes(),
    }
}

fn vector(session: &mut TextEmbedding, text: &str) -> Result<Vec<f32>, String> {
    let vectors = session.embed([text], None).map_err(|error| error.to_string())?;
    let vector: Vec<f64> = vectors.concat().into_iter().map(f64::from).collect();
    unit(&vector).ok_or_else(|| "it returned a vector that is zero or not finite".to_owned())
}
