//! Rerankers: cross-encoders in rten or ONNX Runtime, or a remote endpoint.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use weft_index::reranker::Reranker;

mod cross_encoder;
mod onnx_reranker;
mod pair_tokenizer;
mod remote_reranker;
mod reranker_settings;
mod rten_reranker;
#[cfg(test)]
pub(super) mod tests;

use self::onnx_reranker::OnnxReranker;
use self::remote_reranker::RemoteReranker;
pub use self::reranker_settings::{RerankEndpoint, RerankRunner, RerankerSettings};
use self::rten_reranker::RtenReranker;
use super::model_error::ModelError;
use super::model_files::ModelFiles;

/// The result of [`open_reranker`].
pub struct OpenedReranker {
    /// The reranker; `None` if none was configured.
    pub reranker: Option<Arc<dyn Reranker>>,
    /// One line for the user about each deviation from the settings.
    pub notes: Vec<String>,
}

/// Opens the reranker that `settings` name.
///
/// A missing ONNX Runtime library is not an error if rten runs the same files; a note reports it.
/// Fails if the model is not a folder with a cross-encoder, or if the settings of an endpoint are invalid. An endpoint is not contacted.
pub fn open_reranker(settings: &RerankerSettings) -> Result<OpenedReranker, ModelError> {
    let RerankerSettings { model, runner, threads, max_tokens, library, endpoint: _ } = settings;
    let mut notes = Vec::new();
    if model == super::NONE {
        return Ok(OpenedReranker { reranker: None, notes });
    }
    if *runner == RerankRunner::Endpoint {
        let reranker = RemoteReranker::open(settings)?;
        notes.extend(reranker.note());
        return Ok(OpenedReranker { reranker: Some(Arc::new(reranker)), notes });
    }
    let cores = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let threads = threads.unwrap_or_else(cores);
    let files = ModelFiles::read(Path::new(model), max_tokens.get())?;
    let in_rten = |files| RtenReranker::open(files, threads);
    if *runner == RerankRunner::Rten {
        let reranker = Some(Arc::new(in_rten(files)?) as Arc<dyn Reranker>);
        return Ok(OpenedReranker { reranker, notes });
    }
    let reranker: Arc<dyn Reranker> = match OnnxReranker::open(
        files.clone(),
        threads,
        library.as_deref(),
    ) {
        Ok(reranker) => Arc::new(reranker),
        Err(ModelError::Library { reason }) => {
            let name = files.name.clone();
            let reranker = in_rten(files)?;
            notes.push(format!(
                    "ONNX Runtime cannot be used ({reason}); the reranker `{name}` runs in rten instead."
                ));
            Arc::new(reranker)
        }
        Err(error) => return Err(error),
    };
    Ok(OpenedReranker { reranker: Some(reranker), notes })
}
