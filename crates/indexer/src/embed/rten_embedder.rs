//! Models run by rten: pure Rust, nothing to install, bit-identical results on every run.

use std::cmp::Reverse;
use std::num::NonZeroUsize;
use std::sync::{Arc, LazyLock, OnceLock};

use rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool};
use rten_tensor::NdTensor;
use rten_tensor::prelude::*;
use tokenizers::Encoding;
use weft_index::embedder::{EmbedError, Embedder, ModelIdentity, Role};

use super::bundled_model;
use super::model_error::ModelError;
use super::model_files::{ModelFiles, ModelWeights};
use super::pooling::{Pooling, unit};
use super::text_tokenizer::TextTokenizer;
use super::worker_pool::WorkerPool;

/// The name of this runner in a model's identity.
pub(crate) const RUNNER: &str = "rten";

/// Outputs by preference, in the same order as the other runner; a single output is used whatever its name.
const OUTPUTS: &[&str] =
    &["text_embeds", "last_hidden_state", "sentence_embedding", "token_embeddings"];

/// Maximum padding per text, in tokens, when texts of different lengths share a run.
///
/// Padding costs as much as text, and a run has a fixed cost of about 13 tokens: measured with texts of 16 to 128 tokens, one to eight at a time, on one core of an Intel Xeon with VNNI.
const MAX_FILL: usize = 12;

/// Runs a model in rten, on each of its threads one text at a time, or several short ones.
///
/// The bundled model rounds each token separately, and padding adds only zeros, so its vectors are bit-identical in any batch.
/// For other models that is unknown, so each text has its own run.
/// A run of several texts has no more tokens than one text of maximum length; longer runs are not faster.
/// The bundled model is loaded once per process for the first text, so commands that need no vectors do not pay for it.
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
    Bundled,
    Folder { tokenizer: Arc<TextTokenizer>, model: Arc<RtenModel> },
}

impl RtenEmbedder {
    /// Returns the bundled model on `threads` threads. Immediate: nothing is loaded yet.
    #[must_use]
    pub fn bundled(threads: NonZeroUsize) -> Self {
        Self::lazy(ModelFiles::bundled(usize::MAX), threads)
    }

    pub(crate) fn lazy(bundled: ModelFiles, threads: NonZeroUsize) -> Self {
        let identity = bundled.identity(RUNNER, bundled_model::DIMENSION);
        let pools = ThreadPools::new(threads);
        Self {
            files: bundled,
            identity,
            window: OnceLock::new(),
            source: ModelSource::Bundled,
            pools,
        }
    }

    /// Loads `files` and embeds one text, so that a model that does not run is rejected here.
    pub(crate) fn open(files: ModelFiles, threads: NonZeroUsize) -> Result<Self, ModelError> {
        let failed =
            |reason| ModelError::Model { model: files.name.clone(), runner: RUNNER, reason };
        let tokenizer = Arc::new(TextTokenizer::from_bytes(&files.tokenizer).map_err(failed)?);
        let model = Arc::new(RtenModel::load(&files.weights).map_err(failed)?);
        let probe = tokenizer.encode("probe", files.max_tokens);
        let probe = probe.and_then(|probe| TokenIds::of(&probe)).map_err(failed)?;
        let pool = one_thread();
        let dimension = model.run(&[&probe], files.pooling, &pool).map_err(failed)?.concat().len();
        let identity = files.identity(RUNNER, dimension);
        let source = ModelSource::Folder { tokenizer, model };
        let pools = ThreadPools::new(threads);
        Ok(Self { files, identity, window: OnceLock::new(), source, pools })
    }

    fn tokenizer(&self) -> Arc<TextTokenizer> {
        match &self.source {
            ModelSource::Bundled => TextTokenizer::bundled(),
            ModelSource::Folder { tokenizer, .. } => Arc::clone(tokenizer),
        }
    }

    fn model(&self) -> Result<Arc<RtenModel>, String> {
        match &self.source {
            ModelSource::Bundled => RtenModel::bundled(),
            ModelSource::Folder { model, .. } => Ok(Arc::clone(model)),
        }
    }

    fn vectors(&self, texts: &[&str], role: Role) -> Result<Vec<Vec<f32>>, String> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let ModelFiles { max_tokens, pooling, prefixes, .. } = &self.files;
        let (tokenizer, model) = (self.tokenizer(), self.model()?);
        let (workers, make) = (self.pools.of(role), || Ok(one_thread()));
        let tokens = workers.map(texts, &make, &|_, text| {
            TokenIds::of(&tokenizer.encode(&prefixes.apply(text, role), *max_tokens)?)
        })?;
        let room = match self.source {
            ModelSource::Bundled => bundled_model::MAX_TOKENS,
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

    fn vocabulary_coverage(&self, text: &str) -> f64 {
        self.tokenizer().vocabulary_coverage(text)
    }

    fn embed(&self, texts: &[&str], role: Role) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.vectors(texts, role)
            .map_err(|reason| EmbedError::Failed { model: self.identity.model.clone(), reason })
    }

    fn batch(&self) -> usize {
        self.pools.documents.batch()
    }
}

fn one_thread() -> Arc<ThreadPool> {
    Arc::new(ThreadPool::with_num_threads(1))
}

/// The tokens of a text, without padding.
struct TokenIds {
    ids: Vec<i32>,
    types: Vec<i32>,
}

impl TokenIds {
    fn of(encoding: &Encoding) -> Result<Self, String> {
        let numbers = |given: &[u32]| {
            let numbers = given.iter().map(|&number| i32::try_from(number));
            numbers.collect::<Result<_, _>>().map_err(|error| error.to_string())
        };
        Ok(Self { ids: numbers(encoding.get_ids())?, types: numbers(encoding.get_type_ids())? })
    }

    const fn len(&self) -> usize {
        self.ids.len()
    }
}

/// A loaded graph, with its inputs and output.
pub(crate) struct RtenModel {
    model: Model,
    inputs: Vec<(NodeId, ModelInput)>,
    output: NodeId,
}

#[derive(Clone, Copy)]
enum ModelInput {
    Ids,
    Mask,
    Types,
}

static BUNDLED_MODEL: LazyLock<Result<Arc<RtenModel>, String>> =
    LazyLock::new(|| RtenModel::load(&ModelWeights::Bundled(bundled_model::WEIGHTS)).map(Arc::new));

impl RtenModel {
    /// Returns the bundled model, which is loaded once per process on first use.
    fn bundled() -> Result<Arc<Self>, String> {
        BUNDLED_MODEL.clone()
    }

    pub(crate) fn load(weights: &ModelWeights) -> Result<Self, String> {
        let options = ModelOptions::with_all_ops().prepack_weights(true).clone();
        let model = match weights {
            ModelWeights::Bundled(graph) => options.load_static_slice(graph),
            ModelWeights::File { graph, .. } => options.load_file(graph),
        };
        let model = model.map_err(|error| error.to_string())?;
        let name =
            |node: NodeId| model.node_info(node).and_then(|info| info.name().map(str::to_owned));
        let inputs = model.input_ids().iter().map(|&node| {
            let name = name(node).unwrap_or_default();
            match name.as_str() {
                "input_ids" => Ok((node, ModelInput::Ids)),
                "attention_mask" => Ok((node, ModelInput::Mask)),
                "token_type_ids" => Ok((node, ModelInput::Types)),
                _ => Err(format!("it has an unsupported input `{name}`")),
            }
        });
        let inputs = inputs.collect::<Result<_, _>>()?;
        let outputs = model.output_ids();
        let preferred = OUTPUTS.iter().find_map(|wanted| {
            outputs.iter().copied().find(|&node| name(node).as_deref() == Some(wanted))
        });
        let output = if let &[only] = outputs { Some(only) } else { preferred };
        let output = output.ok_or_else(|| {
            format!("it has none of the supported outputs {}", OUTPUTS.join(", "))
        })?;
        Ok(Self { model, inputs, output })
    }

    /// Returns the unit vectors of some texts, each padded to the longest with zeros, which the mask excludes.
    fn run(
        &self,
        texts: &[&TokenIds],
        pooling: Pooling,
        pool: &Arc<ThreadPool>,
    ) -> Result<Vec<Vec<f32>>, String> {
        let n_texts = texts.len();
        let longest = texts.iter().map(|text| text.len()).max().unwrap_or_default();
        if longest == 0 {
            return Err("its tokenizer produced no tokens".to_owned());
        }
        let inputs = self.inputs.iter().map(|&(node, input)| {
            let mut values = vec![0; n_texts * longest];
            for (row, text) in values.chunks_exact_mut(longest).zip(texts) {
                let row = &mut row[..text.len()];
                match input {
                    ModelInput::Ids => row.copy_from_slice(&text.ids),
                    ModelInput::Mask => row.fill(1),
                    ModelInput::Types => row.copy_from_slice(&text.types),
                }
            }
            (node, NdTensor::from_data([n_texts, longest], values).into())
        });
        let inputs = inputs.collect();
        let options = RunOptions::default().with_thread_pool(Some(Arc::clone(pool)));
        let [output] = self
            .model
            .run_n(inputs, [self.output], Some(options))
            .map_err(|error| error.to_string())?;
        let output = output.into_tensor::<f32>().ok_or("its output is not a tensor of floats")?;
        let (n_rows, dimension) = match *output.shape() {
            [n, rows, dimension] if n == n_texts && rows * dimension > 0 => (rows, dimension),
            [n, dimension] if n == n_texts && dimension > 0 => (1, dimension),
            ref shape => return Err(format!("its output has the unsupported shape {shape:?}")),
        };
        let values = output.to_vec();
        let vectors = values.chunks_exact(n_rows * dimension).zip(texts).map(|(rows, text)| {
            // One row per token, followed by padding; or a single row that the model pooled.
            let n_own = if n_rows == longest { text.len() } else { n_rows };
            unit(&pooling.pool(&rows[..n_own * dimension], dimension))
                .ok_or_else(|| "it returned a vector that is zero or not finite".to_owned())
        });
        vectors.collect()
    }
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
