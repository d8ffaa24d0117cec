//! Cross-encoders run by rten: pure Rust, nothing to install, bit-identical results on every run.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

use rten::ThreadPool;
use weft_index::reranker::{RerankError, Reranker, RerankerIdentity};

use super::super::model_error::ModelError;
use super::super::model_files::ModelFiles;
use super::super::rten_embedder::{RUNNER, one_thread};
use super::super::rten_model::{LOGITS, RtenModel};
use super::super::worker_pool::WorkerPool;
use super::cross_encoder::relevances_of;
use super::pair_tokenizer::PairTokenizer;

/// Runs a cross-encoder in rten, on each of its threads one pair at a time.
pub(super) struct RtenReranker {
    identity: RerankerIdentity,
    tokenizer: PairTokenizer,
    model: RtenModel,
    workers: WorkerPool<Arc<ThreadPool>>,
}

impl RtenReranker {
    /// Loads `files` and judges one pair, so that a model that does not run is rejected here.
    pub(super) fn open(files: ModelFiles, threads: NonZeroUsize) -> Result<Self, ModelError> {
        let failed =
            |reason| ModelError::Model { model: files.name.clone(), runner: RUNNER, reason };
        let tokenizer =
            PairTokenizer::from_bytes(&files.tokenizer, files.max_tokens).map_err(failed)?;
        let model = RtenModel::load(&files.weights, LOGITS).map_err(failed)?;
        let pair = tokenizer.encode("probe", "probe").map_err(failed)?;
        model.logit(&pair, &one_thread()).map_err(failed)?;
        let identity = RerankerIdentity { model: files.rerank_name(), runner: RUNNER.to_owned() };
        Ok(Self { identity, tokenizer, model, workers: WorkerPool::new(threads) })
    }
}

impl Reranker for RtenReranker {
    fn identity(&self) -> &RerankerIdentity {
        &self.identity
    }

    fn relevances(
        &self,
        query: &str,
        texts: &[&str],
        until: Option<Instant>,
    ) -> Result<Vec<f64>, RerankError> {
        let make = || Ok(one_thread());
        let judge = |pool: &mut Arc<ThreadPool>, text: &str| {
            self.model.logit(&self.tokenizer.encode(query, text)?, pool)
        };
        relevances_of(&self.identity.model, &self.workers, texts, until, &make, &judge)
    }
}
