//! Cross-encoders run by ONNX Runtime through fastembed.

use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Instant;

use fastembed::{OnnxSource, RerankInitOptionsUserDefined, TextRerank, UserDefinedRerankingModel};
use weft_index::reranker::{RerankError, Reranker, RerankerIdentity};

use super::super::model_error::ModelError;
use super::super::model_files::{ModelFiles, ModelWeights};
use super::super::onnx_embedder::{RUNNER, tokenizer_files, unchanged_weights};
use super::super::onnx_runtime::{self, Runtime};
use super::super::worker_pool::WorkerPool;
use super::cross_encoder::relevances_of;
use super::pair_tokenizer::PairTokenizer;

/// Runs a cross-encoder in ONNX Runtime, one pair at a time in each of several single-threaded sessions.
///
/// Sessions are created on demand; each holds a copy of the model's weights.
pub(super) struct OnnxReranker {
    files: ModelFiles,
    identity: RerankerIdentity,
    tokenizer: PairTokenizer,
    runtime: Runtime,
    workers: WorkerPool<TextRerank>,
}

impl OnnxReranker {
    /// Loads the library (see [`onnx_runtime::load`]), creates a session from `files` and judges one pair with it.
    pub(super) fn open(
        files: ModelFiles,
        threads: NonZeroUsize,
        library: Option<&Path>,
    ) -> Result<Self, ModelError> {
        let runtime = onnx_runtime::load(library)?;
        let name = files.name.clone();
        let failed = |reason| ModelError::Model { model: name.clone(), runner: RUNNER, reason };
        let tokenizer =
            PairTokenizer::from_bytes(&files.tokenizer, files.max_tokens).map_err(failed)?;
        let identity = RerankerIdentity { model: files.rerank_name(), runner: RUNNER.to_owned() };
        let workers = WorkerPool::new(threads);
        let opened = Self { files, identity, tokenizer, runtime, workers };
        opened.relevances("probe", &["probe"], None).map_err(|error| failed(error.to_string()))?;
        Ok(opened)
    }

    fn session(&self) -> Result<TextRerank, String> {
        // The session reads external data beside the graph by itself.
        let source = match &self.files.weights {
            ModelWeights::Bundled(graph) => OnnxSource::Memory(graph.to_vec()),
            ModelWeights::File { graph, external_data: _ } => {
                unchanged_weights(&self.files)?;
                OnnxSource::File(graph.clone())
            }
        };
        let model = UserDefinedRerankingModel::new(source, tokenizer_files(&self.files));
        let options = RerankInitOptionsUserDefined::new()
            .with_environment(self.runtime.environment.clone())
            .with_max_length(self.files.max_tokens)
            .with_intra_threads(1);
        let mut session = TextRerank::try_new_from_user_defined(model, options)
            .map_err(|error| error.to_string())?;
        session.tokenizer = self.tokenizer.library();
        Ok(session)
    }
}

impl Reranker for OnnxReranker {
    fn identity(&self) -> &RerankerIdentity {
        &self.identity
    }

    fn relevances(
        &self,
        query: &str,
        texts: &[&str],
        until: Option<Instant>,
    ) -> Result<Vec<f64>, RerankError> {
        let make = || self.session();
        let judge = |session: &mut TextRerank, text: &str| {
            let (query, text) = (self.tokenizer.cut(query)?, self.tokenizer.cut(text)?);
            let judged =
                session.rerank(query, [text], false, Some(1)).map_err(|error| error.to_string())?;
            let judged = judged.first().ok_or("it returned no score")?;
            Ok(judged.score)
        };
        relevances_of(&self.identity.model, &self.workers, texts, until, &make, &judge)
    }
}
