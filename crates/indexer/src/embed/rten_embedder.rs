//! Models run by rten: pure Rust, nothing to install, bit-identical results on every run.

use std::cmp::Reverse;
use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};

use rten::ThreadPool;
use weft_index::embedder::{Calibration, EmbedError, Embedder, ModelIdentity, ReadableText, Role};

use super::bundled_model::{self, BundledModel};
use super::model_error::ModelError;
use super::model_files::ModelFiles;
use super::model_tokenizer::{ModelTokenizer, TokenIds};
use super::rten_model::{RtenModel, VECTORS};
use super::text_tokenizer::TextTokenizer;
use super::worker_pool::WorkerPool;

/// The name of this runner in a model's identity.
pub(crate) const RUNNER: &str = "rten";

/// Maximum padding per text, in tokens, when texts of different lengths share a run.
///
/// Padding costs as much as text, and a run has a fixed cost of about 13 tokens: measured with texts of 16 to 128 tokens, one to eight at a time, on one core of an Intel Xeon with VNNI.
const MAX_FILL: usize = 12;

/// Runs a model in rten, on each of its threads one text at a time, or several short ones.
///
/// The bundled models round each token separately, and padding adds only zeros, so their vectors are bit-identical in any batch.
/// For other models that is unknown, so each text has its own run.
/// A run of several texts has no more tokens than one text of maximum length; longer runs are not faster.
/// A bundled model is loaded once per process for the first text, so commands that need no vectors do not pay for it.
pub struct RtenEmbedder {
    files: ModelFiles,
    identity: ModelIdentity,
    window: OnceLock<usize>,
    source: ModelSource,
    pools: ThreadPools,
}

/// Threads that run the model, separate for documents and queries: a thread inherits the priority of its creator, and indexing runs at lower priority.
struct ThreadPools {
    documents: WorkerPool<Arc<ThreadPool>>,
    queries: WorkerPool<Arc<ThreadPool>>,
}

impl ThreadPools {
    fn new(threads: NonZeroUsize) -> Self {
        Self { documents: WorkerPool::new(threads), queries: WorkerPool::new(threads) }
    }

    const fn of(&self, role: Role) -> &WorkerPool<Arc<ThreadPool>> {
        match role {
            Role::Document => &self.documents,
            Role::Query => &self.queries,
        }
    }
}

enum ModelSource {
    Bundled(BundledModel),
    Folder { tokenizer: ModelTokenizer, model: Arc<RtenModel> },
}

impl RtenEmbedder {
    /// Returns the bundled English model on `threads` threads. Immediate: nothing is loaded yet.
    #[must_use]
    pub fn english(threads: NonZeroUsize) -> Self {
        let model = BundledModel::English;
        Self::lazy(model, model.files(usize::MAX), threads)
    }

    /// Returns the bundled multilingual model on `threads` threads. Immediate: nothing is loaded yet.
    #[cfg(feature = "multilingual")]
    #[must_use]
    pub fn multilingual(threads: NonZeroUsize) -> Self {
        let model = BundledModel::Multilingual;
        Self::lazy(model, model.files(usize::MAX), threads)
    }

    /// Returns a bundled model, with the prefixes and the token limit of `files`.
    pub(crate) fn lazy(bundled: BundledModel, files: ModelFiles, threads: NonZeroUsize) -> Self {
        let identity = files.identity(RUNNER, bundled_model::DIMENSION);
        let source = ModelSource::Bundled(bundled);
        let pools = ThreadPools::new(threads);
        Self { files, identity, window: OnceLock::new(), source, pools }
    }

    /// Loads `files` and embeds one text, so that a model that does not run is rejected here.
    pub(crate) fn open(files: ModelFiles, threads: NonZeroUsize) -> Result<Self, ModelError> {
        let failed =
            |reason| ModelError::Model { model: files.name.clone(), runner: RUNNER, reason };
        let tokenizer = TextTokenizer::from_bytes(&files.tokenizer).map_err(failed)?;
        let tokenizer = ModelTokenizer::Library(Arc::new(tokenizer));
        let model = Arc::new(RtenModel::load(&files.weights, VECTORS).map_err(failed)?);
        let probe = tokenizer.encode("probe", files.max_tokens).map_err(failed)?;
        let pool = one_thread();
        let dimension = model.run(&[&probe], files.pooling, &pool).map_err(failed)?.concat().len();
        let identity = files.identity(RUNNER, dimension);
        let source = ModelSource::Folder { tokenizer, model };
        let pools = ThreadPools::new(threads);
        Ok(Self { files, identity, window: OnceLock::new(), source, pools })
    }

    fn tokenizer(&self) -> ModelTokenizer {
        match &self.source {
            ModelSource::Bundled(model) => model.tokenizer(),
            ModelSource::Folder { tokenizer, .. } => tokenizer.clone(),
        }
    }

    fn model(&self) -> Result<Arc<RtenModel>, String> {
        match &self.source {
            ModelSource::Bundled(model) => model.model(),
            ModelSource::Folder { model, .. } => Ok(Arc::clone(model)),
        }
    }

    /// Returns the model's own vectors.
    pub(super) fn vectors(&self, texts: &[&str], role: Role) -> Result<Vec<Vec<f32>>, String> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let ModelFiles { max_tokens, pooling, prefixes, .. } = &self.files;
        let (tokenizer, model) = (self.tokenizer(), self.model()?);
        let (workers, make) = (self.pools.of(role), || Ok(one_thread()));
        let tokens = workers.map(texts, &make, &|_, text| {
            tokenizer.encode(&prefixes.apply(text, role), *max_tokens)
        })?;
        let room = match self.source {
            ModelSource::Bundled(_) => bundled_model::MAX_TOKENS,
            ModelSource::Folder { .. } => 0,
        };
        let runs = runs(&tokens, room, workers.limit());
        let found = workers.map(&runs, &make, &|pool, run| {
            let tokens: Vec<&TokenIds> = run.iter().map(|&at| &tokens[at]).collect();
            model.run(&tokens, *pooling, pool)
        })?;
        let mut vectors = vec![Vec::new(); texts.len()];
        for (run, found) in runs.iter().zip(found) {
            for (&at, vector) in run.iter().zip(found) {
                vectors[at] = vector;
            }
        }
        Ok(vectors)
    }
}

/// Groups texts into runs: sorted by descending length, each text joins the current run if the lengths are similar and `room` suffices.
///
/// Runs are kept small enough that each of `n_threads` gets one.
fn runs(texts: &[TokenIds], room: usize, n_threads: NonZeroUsize) -> Vec<Vec<usize>> {
    let length = |at: usize| texts[at].len();
    let mut order: Vec<usize> = (0..texts.len()).collect();
    order.sort_by_key(|&at| Reverse(length(at)));
    let n_tokens: usize = order.iter().map(|&at| length(at)).sum();
    let room = n_tokens.div_ceil(n_threads.get()).min(room);
    let mut runs: Vec<Vec<usize>> = Vec::new();
    for at in order {
        let fits = |run: &&mut Vec<usize>| {
            let longest = length(run[0]);
            (run.len() + 1) * longest <= room && longest - length(at) <= MAX_FILL
        };
        match runs.last_mut().filter(fits) {
            Some(run) => run.push(at),
            None => runs.push(vec![at]),
        }
    }
    runs
}

impl Embedder for RtenEmbedder {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn window(&self) -> usize {
        *self.window.get_or_init(|| self.files.window(&self.tokenizer()))
    }

    fn n_tokens(&self, text: &str) -> usize {
        self.tokenizer().n_tokens(text)
    }

    fn calibration(&self) -> Option<Calibration> {
        match &self.source {
            ModelSource::Bundled(model) => Some(model.calibration()),
            ModelSource::Folder { .. } => None,
        }
    }

    fn readable_text(&self) -> ReadableText {
        match &self.source {
            ModelSource::Bundled(model) => model.readable_text(),
            ModelSource::Folder { .. } => ReadableText::Unknown,
        }
    }

    fn vocabulary_coverage(&self, text: &str) -> f64 {
        match &self.source {
            ModelSource::Folder { tokenizer: ModelTokenizer::Library(tokenizer), .. } => {
                tokenizer.vocabulary_coverage(text)
            }
            ModelSource::Bundled(_) | ModelSource::Folder { .. } => 1.0,
        }
    }

    fn embed(&self, texts: &[&str], role: Role) -> Result<Vec<Vec<f32>>, EmbedError> {
        let vectors = self
            .vectors(texts, role)
            .map_err(|reason| EmbedError::Failed { model: self.identity.model.clone(), reason })?;
        Ok(match (&self.source, role) {
            (ModelSource::Bundled(model), Role::Query) => {
                vectors.into_iter().map(|vector| model.query_vector(vector)).collect()
            }
            (ModelSource::Bundled(_) | ModelSource::Folder { .. }, _) => vectors,
        })
    }

    fn batch(&self) -> usize {
        self.pools.documents.batch()
    }
}

pub(super) fn one_thread() -> Arc<ThreadPool> {
    Arc::new(ThreadPool::with_num_threads(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_texts_of_similar_length_share_a_run_unless_threads_would_idle() {
        let runs = |lengths: &[usize], n_threads| {
            let text = |&length| TokenIds { ids: vec![0; length], types: vec![0; length] };
            let texts: Vec<TokenIds> = lengths.iter().map(text).collect();
            runs(&texts, 256, NonZeroUsize::new(n_threads).unwrap())
        };
        assert_eq!(runs(&[], 1), Vec::<Vec<usize>>::new());
        assert_eq!(runs(&[128, 256, 128, 129], 1), [vec![1], vec![3], vec![0, 2]]);
        assert_eq!(runs(&[20, 8, 7, 21], 1), [vec![3, 0], vec![1, 2]]);
        let sizes = |n_threads| runs(&[2; 300], n_threads).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(sizes(1), [128, 128, 44]);
        assert_eq!(sizes(4), [75; 4]);
        assert_eq!(sizes(300), [1; 300]);
        assert_eq!(sizes(1000), [1; 300]);
        let texts =
            [3, 5, 5].map(|length| TokenIds { ids: vec![0; length], types: vec![0; length] });
        assert_eq!(super::runs(&texts, 0, NonZeroUsize::MIN), [vec![1], vec![2], vec![0]]);
    }
}
