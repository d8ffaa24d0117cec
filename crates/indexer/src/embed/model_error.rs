//! Errors of opening an embedder or a reranker.

use std::path::PathBuf;

use weft_model::redact_urls;

/// Why an embedder or a reranker could not be opened. Each message names what to change.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// Neither an existing folder nor a known name.
    #[error(
        "`{}` is neither an existing folder nor a known model{}",
        redact_urls(model),
        if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(", ")) }
    )]
    UnknownModel {
        /// The configured name.
        model: String,
        /// Similar known names, the closest first.
        near: Vec<String>,
    },
    /// A bundled model that this build leaves out.
    #[error(
        "this build has no model `{model}`; install one with the feature `multilingual`, or set another model"
    )]
    NotBuiltIn {
        /// The model.
        model: String,
    },
    /// The folder lacks a file that every model needs.
    #[error(
        "{} is not a model folder: it has no {file}",
        redact_urls(&folder.display().to_string())
    )]
    NoModelFolder {
        /// The folder.
        folder: PathBuf,
        /// The missing file, or the alternatives of which one is needed.
        file: String,
    },
    /// A model file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A model file is invalid.
    #[error("cannot parse {}: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Reason why it is invalid.
        reason: String,
    },
    /// The model needs a feature that is not supported; running it would produce wrong vectors.
    #[error("the model `{model}` cannot be used: {reason}")]
    Unsupported {
        /// The model.
        model: String,
        /// The unsupported feature.
        reason: String,
    },
    /// A runner rejects the model, or it fails on its first text.
    #[error("the model `{model}` does not run in {runner}: {reason}")]
    Model {
        /// The model.
        model: String,
        /// The runner.
        runner: &'static str,
        /// The runner's message.
        reason: String,
    },
    /// No folder of the user can hold the files of a named model.
    #[error(
        "the model `{model}` needs a folder for its files: set embedding.cache_dir to an absolute path, XDG_CACHE_HOME, or HOME"
    )]
    NoCache {
        /// The model.
        model: String,
    },
    /// A named model is not in the cache and cannot be downloaded.
    #[error("the model `{model}` is not in {} and cannot be downloaded: {reason}", cache.display())]
    NotFetched {
        /// The model.
        model: String,
        /// The cache folder.
        cache: PathBuf,
        /// The cause, and what to do instead.
        reason: String,
    },
    /// The settings of the endpoint are invalid.
    #[error("the endpoint settings of the model `{model}` are invalid: {reason}")]
    Endpoint {
        /// The model.
        model: String,
        /// Setting to change.
        reason: String,
    },
    /// The endpoint does not respond.
    #[error("the model `{model}` cannot be reached at {address}: {reason}")]
    Unreachable {
        /// The model.
        model: String,
        /// The endpoint's address.
        address: String,
        /// The cause.
        reason: String,
    },
    /// No usable ONNX Runtime library.
    #[error("no usable ONNX Runtime library: {reason}")]
    Library {
        /// Attempts made and requirements.
        reason: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn password_of_an_address_set_as_a_model_is_not_shown() {
        let address = "http://me:hush@localhost:1/v1?key=hush";
        let (model, folder) = (address.to_owned(), PathBuf::from(address));
        let errors = [
            ModelError::UnknownModel { model, near: Vec::new() },
            ModelError::NoModelFolder { folder, file: "model.onnx".to_owned() },
        ];
        for error in errors.map(|error| error.to_string()) {
            assert!(error.contains("localhost:1/v1") && !error.contains("hush"), "{error}");
        }
    }
}
