//! The daemon as a node: it serves a collection of PostgreSQL instead of folders.

use std::hash::{BuildHasher as _, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use weft_cluster::{
    Agreement, Collection, CollectionHome, Database, Dsn, LogLag, NodeReport, NodeState,
    NodeThreads, SharedSetting,
};
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

/// Reason why a node does not serve after the database was set back.
const LOST_COMMITS: &str = "PostgreSQL lacks commits that this node has applied, as after a failover to a standby that was behind; stop all nodes, run `weft cluster init --restored`, and start them";

/// A collection to serve, and the place of its index.
pub(crate) struct ServedCollection {
    collection: Collection,
    home: Arc<CollectionHome>,
    /// Folder of the index.
    pub(crate) store: PathBuf,
    settings: ClusterSettings,
}

/// A node that runs. Dropping it releases what it holds.
pub(crate) struct ServingNode {
    threads: NodeThreads,
    home: Arc<CollectionHome>,
    max_lag: Duration,
    /// False until the index has reached the head of the log for the first time.
    is_current: AtomicBool,
}

/// State of a node towards its collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeHealth {
    pub(crate) lag: LogLag,
    pub(crate) max_lag: Duration,
    /// False until the index has reached the head of the log for the first time.
    pub(crate) is_current: bool,
    pub(crate) state: NodeState,
}

impl NodeHealth {
    /// Returns true if a load balancer should send requests to the node.
    pub(crate) fn is_serving(&self) -> bool {
        self.not_serving_reason().is_none()
    }

    /// Returns why the node does not serve, as a part of a sentence; `None` if it does.
    pub(crate) fn not_serving_reason(&self) -> Option<String> {
        let Self { lag, max_lag, is_current, state } = self;
        if !is_current {
            return Some("it has not read the whole collection yet".to_owned());
        }
        if lag.lost_commits {
            return Some(LOST_COMMITS.to_owned());
        }
        let problem = state.agreement.problem().map(str::to_owned);
        problem.or_else(|| self.lag_warning().filter(|_| lag.is_behind(*max_lag)))
    }

    /// Returns what a client should know about answers of this node; `None` if they are recent.
    pub(crate) fn lag_warning(&self) -> Option<String> {
        let LogLag { n_commits, age, .. } = self.lag;
        if age <= self.max_lag {
            return None;
        }
        let seconds = age.as_secs();
        Some(match n_commits {
            0 => format!(
                "this node has not reached PostgreSQL for {seconds} s, so newer commits may be missing"
            ),
            n => format!("this node is {n} commits and {seconds} s behind the newest one it knows"),
        })
    }

    /// Returns sentences for the operator.
    pub(crate) fn notices(&self) -> Vec<String> {
        let lag = self.lag_warning().filter(|_| self.is_current);
        let lag = lag.map(|line| {
            let mut chars = line.chars();
            let first = chars.next().map(|first| first.to_ascii_uppercase());
            first.into_iter().chain(chars).chain(['.']).collect()
        });
        let disagreement = match &self.state.agreement {
            Agreement::Agrees => None,
            Agreement::Disagrees(nodes) => Some(format!(
                "The nodes {} have other notes than this one under the same number; those of this node are the notes of the log.",
                nodes.join(", ")
            )),
            agreement @ (Agreement::Rebuilding | Agreement::Wrong) => {
                agreement.problem().map(|problem| format!("This node does not serve: {problem}."))
            }
        };
        let lost = self.lag.lost_commits;
        let lost = lost.then(|| format!("This node does not serve: {LOST_COMMITS}."));
        lost.into_iter().chain(lag).chain(disagreement).collect()
    }
}

impl ServingNode {
    /// Returns the name of its collection.
    pub(crate) fn collection(&self) -> &str {
        self.threads.collection().name()
    }

    /// Returns its name in the collection.
    pub(crate) fn id(&self) -> &str {
        self.threads.id()
    }

    /// Records that the index has reached the head of the log.
    pub(crate) fn set_current(&self) {
        self.is_current.store(true, Ordering::Release);
    }

    /// Returns true once the index has reached the head of the log.
    pub(crate) fn is_current(&self) -> bool {
        self.is_current.load(Ordering::Acquire)
    }

    /// Returns the state of the node while it serves `generation`.
    pub(crate) fn health(&self, generation: u64) -> NodeHealth {
        NodeHealth {
            lag: self.home.lag(generation),
            max_lag: self.max_lag,
            is_current: self.is_current(),
            state: self.threads.state(),
        }
    }
}

impl ServedCollection {
    /// Opens the collection that the settings name; `None` if they name folders.
    pub(crate) fn open(config: &Config, paths: &Paths) -> Result<Option<Self>, OpenVaultsError> {
        let settings = &config.settings;
        let ClusterSettings { collection, postgres, poll_ms, bootstrap, .. } = &settings.cluster;
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
        let home = CollectionHome::new(collection.clone(), Duration::from_millis(*poll_ms));
        let (home, settings) = (Arc::new(home), settings.cluster.clone());
        Ok(Some(Self { collection, home, store, settings }))
    }

    /// Returns the home of the collection's vaults.
    pub(crate) fn home(&self) -> Arc<dyn VaultHome> {
        Arc::clone(&self.home) as Arc<dyn VaultHome>
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
        let model = ("model".to_owned(), format!("{identity:?}"), None);
        let defaults = Config::defaults();
        let is_shared = |key: &str| SHARED_SETTINGS.iter().any(|shared| key.starts_with(shared));
        let shared = config.entries().into_iter().filter(|(key, ..)| is_shared(key));
        let shared = shared.map(|(key, value, _)| {
            let default = defaults.get(&key).map(ToString::to_string);
            (key, value.to_string(), default)
        });
        let shared: Vec<SharedSetting> = std::iter::once(model)
            .chain(shared)
            .map(|(key, value, default)| SharedSetting { key, value, default })
            .collect();
        self.collection.require_settings(&shared)?;
        Ok(ModelSelection::from(embedder))
    }

    /// Starts the background work of the node, once its index is open.
    pub(crate) fn start(
        &self,
        embedder: Option<Arc<dyn Embedder>>,
        indexer: &Arc<Indexer>,
        address: &str,
    ) -> Result<ServingNode, OpenVaultsError> {
        let ClusterSettings { node, max_lag_ms, keep_versions_hours, .. } = &self.settings;
        let id = match node {
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
        let started = NodeThreads::start(&self.collection, embedder, report, indexer);
        let started = started.and_then(|mut threads| {
            threads.remove_old_versions(Duration::from_secs(keep_versions_hours * 3600))?;
            Ok(threads)
        });
        let failed = |source| io("start", Path::new("the threads of the node"), source);
        Ok(ServingNode {
            threads: started.map_err(failed)?,
            home: Arc::clone(&self.home),
            max_lag: Duration::from_millis(*max_lag_ms),
            is_current: AtomicBool::new(false),
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_serves_until_it_lags_or_differs() {
        let (agrees, wrong) = (Agreement::Agrees, Agreement::Wrong);
        let others = Agreement::Disagrees(vec!["b".to_owned()]);
        let cases = [
            ("current", (0, 20), true, &agrees, (true, false), 0),
            ("not read yet", (0, 20), false, &agrees, (false, false), 0),
            ("a little behind", (3, 900), true, &agrees, (true, false), 0),
            ("too far behind", (3, 1100), true, &agrees, (false, true), 1),
            ("without the database", (0, 90_000), true, &agrees, (true, true), 1),
            ("others are wrong", (0, 20), true, &others, (true, false), 1),
            ("wrong", (0, 20), true, &wrong, (false, false), 1),
            ("commits were lost", (0, 20), true, &agrees, (false, false), 1),
        ];
        for (name, (n_commits, age), is_current, agreement, expected, n_notices) in cases {
            let (age, lost_commits) = (Duration::from_millis(age), name.contains("lost"));
            let health = NodeHealth {
                lag: LogLag { log_seq: 9, n_commits, age, lost_commits },
                max_lag: Duration::from_secs(1),
                is_current,
                state: NodeState { n_jobs: 0, agreement: agreement.clone() },
            };
            let found = (health.is_serving(), health.lag_warning().is_some());
            assert_eq!(found, expected, "{name}");
            assert_eq!(health.not_serving_reason().is_none(), expected.0, "{name}");
            let notices = health.notices();
            assert_eq!(notices.len(), n_notices, "{name}: {notices:?}");
            assert!(notices.iter().all(|line| line.ends_with('.')), "{name}: {notices:?}");
        }
    }
}
