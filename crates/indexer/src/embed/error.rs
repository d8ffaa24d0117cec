//! Why an embedder could not be opened.

use std::path::PathBuf;

/// Why an embedder could not be opened. Each line names the thing to change.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Neither a folder nor a name that is known.
    #[error(
        "`{model}` is neither an existing folder nor a known model{}",
        if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(", ")) }
    )]
    UnknownModel {
        /// What was asked for.
        model: String,
        /// Known names that look alike, the nearest first.
        near: Vec<String>,
    },
    /// A folder that lacks a file every model needs.
    #[error("{} is no model folder: it has no {file}", folder.display())]
    NoModelFolder {
        /// The folder.
        folder: PathBuf,
        /// The file, or the files of which it needs one.
        file: String,
    },
    /// A file of a model cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file of a model is not what its name says.
    #[error("cannot understand {}: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A model that wants something this program does not do; running it would give wrong vectors.
    #[error("the model `{model}` cannot be used: {reason}")]
    Unsupported {
        /// Which model.
        model: String,
        /// What it wants.
        reason: String,
    },
    /// A model that a runner refuses or that fails on its first text.
    #[error("the model `{model}` does not run in {runner}: {reason}")]
    Model {
        /// Which model.
        model: String,
        /// Which runner.
        runner: &'static str,
        /// What it said.
        reason: String,
    },
    /// A named model that is not on this machine and cannot be fetched.
    #[error("the model `{model}` is not in {} and cannot be fetched: {reason}", cache.display())]
    NotFetched {
        /// Which model.
        model: String,
        /// Where it was looked for.
        cache: PathBuf,
        /// Why, and what to do instead.
        reason: String,
    },
    /// An endpoint that cannot be asked, as the settings have it.
    #[error("the model `{model}` cannot be asked for: {reason}")]
    Endpoint {
        /// Which model.
        model: String,
        /// What to set.
        reason: String,
    },
    /// An endpoint that does not answer now.
    #[error("the model `{model}` cannot be reached at {address}: {reason}")]
    Unreachable {
        /// Which model.
        model: String,
        /// Where it was asked for.
        address: String,
        /// What stood in the way.
        reason: String,
    },
    /// No usable ONNX Runtime library.
    #[error("no usable ONNX Runtime library: {reason}")]
    Library {
        /// What was tried and what is needed.
        reason: String,
    },
}
