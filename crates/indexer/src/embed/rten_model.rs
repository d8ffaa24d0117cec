//! A loaded graph in rten.

use std::sync::Arc;

use rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool};
use rten_tensor::prelude::*;
use rten_tensor::{NdTensor, Tensor};

use super::model_files::ModelWeights;
use super::model_tokenizer::TokenIds;
use super::pooling::{Pooling, unit};

/// Outputs of an embedding model by preference, in the same order as the other runner; a single output is used whatever its name.
pub(crate) const VECTORS: &[&str] =
    &["text_embeds", "last_hidden_state", "sentence_embedding", "token_embeddings"];

/// Output of a cross-encoder, as in the other runner.
pub(crate) const LOGITS: &[&str] = &["logits"];

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

impl RtenModel {
    /// Loads a graph; of several outputs, the first of `wanted` is used.
    pub(crate) fn load(weights: &ModelWeights, wanted: &[&str]) -> Result<Self, String> {
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
        let preferred = wanted.iter().find_map(|wanted| {
            outputs.iter().copied().find(|&node| name(node).as_deref() == Some(wanted))
        });
        let output = if let &[only] = outputs { Some(only) } else { preferred };
        let output = output
            .ok_or_else(|| format!("it has none of the supported outputs {}", wanted.join(", ")))?;
        Ok(Self { model, inputs, output })
    }

    /// Returns the unit vectors of some texts, each padded to the longest with zeros, which the mask excludes.
    pub(crate) fn run(
        &self,
        texts: &[&TokenIds],
        pooling: Pooling,
        pool: &Arc<ThreadPool>,
    ) -> Result<Vec<Vec<f32>>, String> {
        let n_texts = texts.len();
        let longest = longest(texts);
        let output = self.output(texts, pool)?;
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

    /// Returns the only number that a cross-encoder returns for a pair of texts.
    pub(crate) fn logit(&self, pair: &TokenIds, pool: &Arc<ThreadPool>) -> Result<f32, String> {
        let output = self.output(&[pair], pool)?;
        match output.to_vec()[..] {
            [logit] => Ok(logit),
            _ => Err(format!(
                "its output has the shape {:?}, but a cross-encoder returns one number for a pair of texts",
                output.shape()
            )),
        }
    }

    /// Runs the graph on some texts, each padded to the longest with zeros, which the mask excludes.
    fn output(&self, texts: &[&TokenIds], pool: &Arc<ThreadPool>) -> Result<Tensor<f32>, String> {
        let (n_texts, longest) = (texts.len(), longest(texts));
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
        output.into_tensor::<f32>().ok_or_else(|| "its output is not a tensor of floats".to_owned())
    }
}

fn longest(texts: &[&TokenIds]) -> usize {
    texts.iter().map(|text| text.len()).max().unwrap_or_default()
}
