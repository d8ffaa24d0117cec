//! Errors of opening vaults.

use weft_engine::EngineError;
use weft_indexer::{IndexError, embed};

/// Reason why vaults cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenVaultsError {
    /// No vault is configured.
    #[error(
        "no vault is configured: pass the folder of your notes, or set `vaults` in the settings"
    )]
    NoVault,
    /// No location for the index is known.
    #[error(
        "neither HOME nor XDG_DATA_HOME is set, so the index has no location: pass --store DIR, or set `store.path` in the settings"
    )]
    NoHome,
    /// A tokenizer cannot be loaded.
    #[error("{source}; tokens.tokenizers.{name} names it")]
    Tokenizer {
        /// Name of the tokenizer in the settings.
        name: String,
        /// The cause.
        source: embed::ModelError,
    },
    /// The default token estimator is unknown.
    #[error("tokens.{0}")]
    Estimator(EngineError),
    /// The index cannot be opened.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The collection cannot be opened.
    #[error(transparent)]
    Cluster(#[from] weft_cluster::ClusterError),
    /// Both folders and a collection are to be served.
    #[error(
        "the settings name folders and a collection; remove `vaults` or `cluster.collection`, since a daemon serves one of them"
    )]
    FoldersAndCollection,
    /// The model of a node is not available, so its answers would differ from those of other nodes.
    #[error("the embedding model of this node is not available: {reason}")]
    NodeModel {
        /// Reason why it is not available.
        reason: String,
    },
}
