//! Models run by rten: pure Rust, nothing to install, the same bits on every run.

use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};

use rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool};
use rten_tensor::NdTensor;
use rten_tensor::prelude::*;
use tokenizers::Encoding;
use weft_index::embedder::{EmbedError, Embedder, ModelIdentity, Role};

use super::bundled;
use super::error::OpenError;
use super::files::{ModelFiles, Weights};
use super::pooling::{Pooling, unit};
use super::tokens::TextTokenizer;
use super::workers::Workers;

/// The name of this runner in a model's identity.
pub(crate) const RUNNER: &str = "rten";

/// Outputs by preference; one that is alone is taken whatever its name. The order is that of the other runner.
const OUTPUTS: &[&str] =
    &["text_embeds", "last_hidden_state", "sentence_embedding", "token_embeddings"];

/// Runs a model in rten, one text at a time on each of its threads.
///
/// One text per run is as fast as a batch (matrices of a hundred rows fill one core), and a text's vector cannot depend on its neighbours.
/// The bundled model is loaded when the first text comes, once in a process, so commands that need no vectors do not pay for it.
pub struct RtenEmbedder {
    files: ModelFiles,
    identity: ModelIdentity,
    window: OnceLock<usize>,
    source: Source,
    pools: Pools,
}

/// Threads that run the model, by what they are for: a thread keeps the priority of whoever started it, and indexing stands back.
struct Pools {
    documents: Workers<Arc<ThreadPool>>,
    queries: Workers<Arc<ThreadPool>>,
}

impl Pools {
    fn new(threads: NonZeroUsize) -> Self {
        Self { documents: Workers::new(threads), queries: Workers::new(threads) }
    }

    const fn of(&self, role: Role) -> &Workers<Arc<ThreadPool>> {
        match role {
            Role::Document => &self.documents,
            Role::Query => &self.queries,
        }
    }
}

enum Source {
    Bundled,
    Folder { tokenizer: Arc<TextTokenizer>, model: Arc<RtenModel> },
}

impl RtenEmbedder {
    /// The bundled model on `threads` threads. Immediate: nothing is loaded yet.
    #[must_use]
    pub fn bundled(threads: NonZeroUsize) -> Self {
        Self::lazy(bundled::files(usize::MAX), threads)
    }

    pub(crate) fn lazy(bundled: ModelFiles, threads: NonZeroUsize) -> Self {
        let identity = bundled.identity(RUNNER, bundled::DIMENSION);
        let pools = Pools::new(threads);
        Self { files: bundled, identity, window: OnceLock::new(), source: Source::Bundled, pools }
    }

    /// Loads `files` and embeds one text, so that a model which does not run is refused here.
    pub(crate) fn open(files: ModelFiles, threads: NonZeroUsize) -> Result<Self, OpenError> {
        let failed =
            |reason| OpenError::Model { model: files.name.clone(), runner: RUNNER, reason };
        let tokenizer = Arc::new(TextTokenizer::from_bytes(&files.tokenizer).map_err(failed)?);
        let model = Arc::new(RtenModel::load(&files.weights).map_err(failed)?);
        let probe = tokenizer.encode("probe", files.max_tokens).map_err(failed)?;
        let pool = one_thread();
        let dimension = model.run(&probe, files.pooling, &pool).map_err(failed)?.len();
        let identity = files.identity(RUNNER, dimension);
        let source = Source::Folder { tokenizer, model };
        let pools = Pools::new(threads);
        Ok(Self { files, identity, window: OnceLock::new(), source, pools })
    }

    fn tokenizer(&self) -> Arc<TextTokenizer> {
        match &self.source {
            Source::Bundled => bundled::tokenizer(),
            Source::Folder { tokenizer, .. } => Arc::clone(tokenizer),
        }
    }

    fn model(&self) -> Result<Arc<RtenModel>, String> {
        match &self.source {
            Source::Bundled => bundled::model(),
            Source::Folder { model, .. } => Ok(Arc::clone(model)),
        }
    }

    fn vectors(&self, texts: &[&str], role: Role) -> Result<Vec<Vec<f32>>, String> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let ModelFiles { max_tokens, pooling, prefixes, .. } = &self.files;
        let (tokenizer, model) = (self.tokenizer(), self.model()?);
        self.pools.of(role).map(texts, &|| Ok(one_thread()), &|pool, text| {
            let tokens = tokenizer.encode(&prefixes.apply(text, role), *max_tokens)?;
            model.run(&tokens, *pooling, pool)
        })
    }
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

    fn expressed(&self, text: &str) -> f64 {
        self.tokenizer().expressed(text)
    }

    fn embed(&self, texts: &[&str], role: Role) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.vectors(texts, role)
            .map_err(|reason| EmbedError::Failed { model: self.identity.model.clone(), reason })
    }
}

fn one_thread() -> Arc<ThreadPool> {
    Arc::new(ThreadPool::with_num_threads(1))
}

/// A loaded graph and where its inputs and its output are.
pub(crate) struct RtenModel {
    model: Model,
    inputs: Vec<(NodeId, Input)>,
    output: NodeId,
}

#[derive(Clone, Copy)]
enum Input {
    Ids,
    Mask,
    Types,
}

impl RtenModel {
    pub(crate) fn load(weights: &Weights) -> Result<Self, String> {
        let options = ModelOptions::with_all_ops().prepack_weights(true).clone();
        let model = match weights {
            Weights::Bundled(graph) => options.load_static_slice(graph),
            Weights::File { graph, .. } => options.load_file(graph),
        };
        let model = model.map_err(|error| error.to_string())?;
        let name =
            |node: NodeId| model.node_info(node).and_then(|info| info.name().map(str::to_owned));
        let inputs = model.input_ids().iter().map(|&node| {
            let name = name(node).unwrap_or_default();
            match name.as_str() {
                "input_ids" => Ok((node, Input::Ids)),
                "attention_mask" => Ok((node, Input::Mask)),
                "token_type_ids" => Ok((node, Input::Types)),
                _ => Err(format!("it has an input `{name}`, which no text fills")),
            }
        });
        let inputs = inputs.collect::<Result<_, _>>()?;
        let outputs = model.output_ids();
        let preferred = OUTPUTS.iter().find_map(|wanted| {
            outputs.iter().copied().find(|&node| name(node).as_deref() == Some(wanted))
        });
        let output = if let &[only] = outputs { Some(only) } else { preferred };
        let output =
            output.ok_or_else(|| format!("it has none of the outputs {}", OUTPUTS.join(", ")))?;
        Ok(Self { model, inputs, output })
    }

    /// The unit vector of one text.
    fn run(
        &self,
        tokens: &Encoding,
        pooling: Pooling,
        pool: &Arc<ThreadPool>,
    ) -> Result<Vec<f32>, String> {
        let inputs = self.inputs.iter().map(|&(node, input)| {
            let values = match input {
                Input::Ids => tokens.get_ids(),
                Input::Mask => tokens.get_attention_mask(),
                Input::Types => tokens.get_type_ids(),
            };
            let values =
                values.iter().map(|&value| i32::try_from(value).map_err(|error| error.to_string()));
            let values = values.collect::<Result<Vec<i32>, String>>()?;
            Ok((node, NdTensor::from_data([1, values.len()], values).into()))
        });
        let inputs = inputs.collect::<Result<_, String>>()?;
        let options = RunOptions::default().with_thread_pool(Some(Arc::clone(pool)));
        let [output] = self
            .model
            .run_n(inputs, [self.output], Some(options))
            .map_err(|error| error.to_string())?;
        let rows = output.into_tensor::<f32>().ok_or("its output is not made of floats")?;
        let dimension = match *rows.shape() {
            [1, _, dimension] | [1, dimension] if dimension > 0 => dimension,
            ref shape => return Err(format!("its output has the shape {shape:?}")),
        };
        unit(&pooling.pool(&rows.to_vec(), dimension))
            .ok_or_else(|| "its vector has no direction".to_owned())
    }
}
