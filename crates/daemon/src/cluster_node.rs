//! The daemon as a node: it serves a collection of PostgreSQL instead of folders.

use std::hash::{BuildHasher as _, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use weft_cluster::{Collection, CollectionHome, Database, Dsn, NodeReport, NodeThreads};
use weft_index::embedder::Embedder;
use weft_index::{BackupSummary, StoreError};
use weft_indexer::embed::{self, ModelSelection};
use weft_indexer::{Indexer, VaultHome};

use crate::config::{ClusterSettings, Config};
use crate::open_error::OpenVaultsError;
use crate::paths::Paths;

/// Settings that answers depend on, besides the model. All nodes must have the same ones.
const SHARED_SETTINGS: [&str; 17] = [
    "parse.",
    "chunks.",
    "keyword.",
    "vector.",
    "search.",
    "related.",
    "walk.",
    "context.",
    "rerank.model",
    "rerank.max_tokens",
    "rerank.top_n",
    "rerank.weight",
    "rerank.passages",
    "rerank.text_chars",
    "scan.max_file_bytes",
    "scan.other_files",
    "pdf.",
];

/// A collection to serve, and the place of its index.
pub(crate) struct ServedCollection {
    collection: Collection,
    /// Folder of the index.
    pub(crate) store: PathBuf,
    poll: Duration,
    node: Option<String>,
}

impl ServedCollection {
    /// Opens the collection that the settings name; `None` if they name folders.
    pub(crate) fn open(config: &Config, paths: &Paths) -> Result<Option<Self>, OpenVaultsError> {
        let settings = &config.settings;
        let ClusterSettings { collection, postgres, node, poll_ms, bootstrap } = &settings.cluster;
        let (Some(name), Some(postgres)) = (collection, postgres) else { return Ok(None) };
        if !settings.vaults.is_empty() {
            return Err(OpenVaultsError::FoldersAndCollection);
        }
        let database = Database::connect(&Dsn::read(postgres)?)?;
        let collection = Collection::open(&database, name)?;
        let base = settings.store.path.clone().or_else(|| paths.collections());
        let store = base.ok_or(OpenVaultsError::NoHome)?.join(collection.uid());
        if let Some(place) = bootstrap.as_ref().filter(|_| is_empty(&store)) {
            restore_checkpoint(&collection, place, &store);
        }
        let (poll, node) = (Duration::from_millis(*poll_ms), node.clone());
        Ok(Some(Self { collection, store, poll, node }))
    }

    /// Returns the home of the collection's vaults.
    pub(crate) fn home(&self) -> Arc<dyn VaultHome> {
        Arc::new(CollectionHome::new(self.collection.clone(), self.poll))
    }

    /// Returns the configured model alone: a node never serves an earlier one, and never chooses.
    ///
    /// Fails if the model is not available, or if another node serves with other settings.
    pub(crate) fn models(
        &self,
        models: ModelSelection,
        unavailable: Option<&str>,
        config: &Config,
    ) -> Result<ModelSelection, OpenVaultsError> {
        let embedder = models.configured;
        let identity = embedder.as_ref().map(|embedder| embedder.identity());
        let pending = identity.is_some_and(embed::is_pending).then_some("it did not respond");
        if let Some(reason) = unavailable.or(pending) {
            return Err(OpenVaultsError::NodeModel { reason: reason.to_owned() });
        }
        let mut lines = vec![format!("model = {identity:?}")];
        let is_shared = |key: &str| SHARED_SETTINGS.iter().any(|shared| key.starts_with(shared));
        let shared = config.entries().into_iter().filter(|(key, ..)| is_shared(key));
        lines.extend(shared.map(|(key, value, _)| format!("{key} = {value}")));
        self.collection.require_settings(&lines.join("\n"))?;
        Ok(ModelSelection::from(embedder))
    }

    /// Starts the background work of the node, once its index is open.
    pub(crate) fn start(
        &self,
        embedder: Option<Arc<dyn Embedder>>,
        indexer: &Indexer,
        address: &str,
    ) -> Result<NodeThreads, OpenVaultsError> {
        let id = match &self.node {
            Some(id) => id.clone(),
            None => kept_id(&self.store.with_extension("node"))?,
        };
        let report = NodeReport {
            id,
            address: address.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            generation: 0,
            digest: 0,
        };
        let reader = indexer.reader();
        let state = move || {
            let snapshot = reader.snapshot();
            (snapshot.generation, snapshot.notes.total().digest)
        };
        let node = NodeThreads::start(&self.collection, embedder, report, state);
        Ok(node.map_err(|source| io("start", Path::new("the threads of the node"), source))?)
    }
}

/// Returns true if a folder is empty or missing.
fn is_empty(folder: &Path) -> bool {
    match std::fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

/// Restores the newest checkpoint below `place`. If that fails, the node reads the whole log instead.
fn restore_checkpoint(collection: &Collection, place: &Path, store: &Path) {
    match collection.restore_checkpoint(place, store) {
        Ok(Some(restored)) => {
            let BackupSummary { generation, n_bytes, .. } = restored;
            tracing::info!(generation, n_bytes, "starting from a checkpoint");
        }
        Ok(None) => {
            let place = place.display();
            tracing::info!(%place, "there is no checkpoint to start from; reading the whole log");
        }
        Err(error) => {
            tracing::warn!(%error, "cannot start from a checkpoint; reading the whole log");
        }
    }
}

/// Returns the id in the file at `path`, which is created with a random one if it does not exist.
fn kept_id(path: &Path) -> Result<String, OpenVaultsError> {
    match std::fs::read_to_string(path) {
        Ok(id) if !id.trim().is_empty() => return Ok(id.trim().to_owned()),
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(io("read", path, error).into());
        }
        Ok(_) | Err(_) => {}
    }
    let id = format!("{:016x}", RandomState::new().hash_one(std::process::id()));
    std::fs::write(path, &id).map_err(|error| io("write", path, error))?;
    Ok(id)
}

fn io(action: &'static str, path: &Path, source: std::io::Error) -> weft_indexer::IndexError {
    StoreError::Io { action, path: path.to_owned(), source }.into()
}
