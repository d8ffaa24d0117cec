//! The index and engine of the configured vaults.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::sync::watch;
use weft_engine::{Engine, Estimators};
use weft_index::Disk;
use weft_index::Snapshot;
use weft_index::embedder::Embedder;
use weft_indexer::embed::{self, ModelSelection, OpenedReranker};
use weft_indexer::{
    IndexError, IndexSettings, IndexStatus, Indexer, Phase, VaultSettings, WatchOptions,
};
use weft_model::tokens::Characters;
use weft_model::{Estimator, Tokens};

use crate::cluster_node::{NodeHealth, ServedCollection, ServingNode};
use crate::config::{Config, Settings, TokenSettings, Vault};
use crate::open_error::OpenVaultsError;
use crate::paths::Paths;

/// Reason why no earlier generation is available for a comparison.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EarlierError {
    /// The requested generation is later than the other one.
    #[error("generation {from} comes after {generation}")]
    Later {
        /// The requested generation.
        from: u64,
        /// The generation to compare with.
        generation: u64,
    },
    /// No earlier generation is stored.
    #[error(
        "no generation before {generation} is stored; raise `store.keep_generations` to keep more"
    )]
    None {
        /// The generation to compare with.
        generation: u64,
    },
    /// The generation cannot be loaded.
    #[error(transparent)]
    Index(#[from] IndexError),
}

/// How long vaults stay open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode<'a> {
    /// For one request: files are not watched.
    OneShot,
    /// Until closed: files are watched.
    Watching {
        /// Address at which processes that find the store locked can reach this one, if any.
        address: Option<&'a str>,
    },
}

/// A running index and the engine over it. Dropping it lets the writer persist its state.
pub struct Vaults {
    /// The background work of a node of a collection; `None` for folders. Dropped before the index.
    node: Option<ServingNode>,
    indexer: Arc<Indexer>,
    /// Newest generation.
    generations: watch::Receiver<u64>,
    engine: Engine,
    notices: Vec<String>,
    config: ArcSwap<Config>,
}

impl Vaults {
    /// Returns the folder of the store for these settings.
    ///
    /// Fails if no vault is configured, or if the user's data folder is unknown.
    pub fn store(config: &Config, paths: &Paths) -> Result<PathBuf, OpenVaultsError> {
        let Settings { store, vaults, .. } = &config.settings;
        let roots: Vec<&Path> = vaults.iter().map(|vault| vault.root.as_path()).collect();
        if roots.is_empty() {
            return Err(OpenVaultsError::NoVault);
        }
        store.path.clone().or_else(|| paths.store(&roots)).ok_or(OpenVaultsError::NoHome)
    }

    /// Opens or creates the store and starts the writer, which scans all files.
    ///
    /// The stored state can be queried when this returns.
    /// If the model cannot be opened, keyword search and links still work, the status carries a notice, and stored vectors are kept.
    /// Blocks while the store is loaded.
    pub fn open(
        config: &Config,
        paths: &Paths,
        stay: OpenMode<'_>,
    ) -> Result<Self, OpenVaultsError> {
        let (watched, address) = match stay {
            OpenMode::OneShot => (false, None),
            OpenMode::Watching { address } => (true, address),
        };
        // Only a daemon is a node; a command answers from folders.
        let served = match address {
            Some(_) => ServedCollection::open(config, paths)?,
            None => None,
        };
        let store = match &served {
            Some(served) => served.store.clone(),
            None => Self::store(config, paths)?,
        };
        let Settings {
            server: _,
            access: _,
            tls: _,
            store: store_settings,
            vaults,
            cluster: _,
            watch,
            deletion_guard,
            scan,
            parse,
            pdf,
            chunks,
            keyword,
            vector,
            embedding: _,
            search,
            rerank,
            related,
            walk,
            context,
            tokens,
            open: _,
            log: _,
            trace: _,
        } = config.settings.clone();
        let settings = IndexSettings {
            store,
            vaults: vaults.iter().map(vault_settings).collect(),
            home: served.as_ref().map(ServedCollection::home),
            scan,
            parse,
            pdf,
            chunks,
            keyword,
            vector,
            watch: WatchOptions { enabled: watch.enabled && watched, ..watch },
            deletion_guard,
            keep_generations: store_settings.keep_generations,
            disk: Disk::default(),
        };
        let embedding = config.embedding(paths);
        let opened = embed::select_models(&settings, &embedding, |earlier| {
            config.with_endpoint_secrets(paths, earlier)
        });
        let no_model = opened.as_ref().err().map(ToString::to_string);
        let (models, mut notices) = opened.unwrap_or_else(|error| {
            let line = format!("{error}. Search uses keywords and links only.");
            (ModelSelection::from(None), vec![line])
        });
        let models = match &served {
            Some(served) => served.models(models, no_model.as_deref(), config)?,
            None => models,
        };
        let embedder = models.configured.clone();
        let estimators = estimators(&tokens, &embedding.model, models.configured.as_ref())?;
        let indexer = Arc::new(Indexer::open(settings, models, address)?);
        let node = served
            .as_ref()
            .map(|served| served.start(embedder, &indexer, address.unwrap_or_default()));
        let node = node.transpose()?;
        let (sender, generations) = watch::channel(indexer.reader().snapshot().generation);
        indexer.listen(move |generation| {
            sender.send_replace(generation);
        });
        let engine = Engine::new(indexer.reader(), search)
            .with_related(related)
            .with_walk(walk)
            .with_contexts(context)
            .with_estimators(estimators);
        let engine = match no_model {
            Some(why) => engine.without_model(&why),
            None => engine,
        };
        let engine = match embed::open_reranker(&config.reranker()) {
            Ok(OpenedReranker { reranker, notes }) => {
                notices.extend(notes);
                match reranker {
                    Some(reranker) => engine.with_reranker(Ok(reranker), rerank.stage()),
                    None => engine,
                }
            }
            Err(error) => {
                notices.push(format!("{error}. Hits are not reranked."));
                engine.with_reranker(Err(error.to_string()), rerank.stage())
            }
        };
        let config = ArcSwap::from_pointee(config.clone());
        Ok(Self { node, indexer, generations, engine, notices, config })
    }

    /// Returns the engine.
    #[must_use]
    pub const fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns the stored generation `from`, or the last one before `generation`.
    pub(crate) fn earlier(
        &self,
        from: Option<u64>,
        generation: u64,
    ) -> Result<Arc<Snapshot>, EarlierError> {
        if let Some(from) = from.filter(|from| *from > generation) {
            return Err(EarlierError::Later { from, generation });
        }
        let stored = self.indexer.status().stored_generations;
        let last = stored.into_iter().rev().find(|stored| *stored < generation);
        let from = from.or(last).ok_or(EarlierError::None { generation })?;
        Ok(self.indexer.at(from)?)
    }

    /// Returns a receiver of the newest generation.
    pub(crate) fn generations(&self) -> watch::Receiver<u64> {
        self.generations.clone()
    }

    /// Returns the indexer.
    #[must_use]
    pub fn indexer(&self) -> &Indexer {
        &self.indexer
    }

    /// Returns the node of a collection that serves; `None` for folders.
    pub(crate) const fn node(&self) -> Option<&ServingNode> {
        self.node.as_ref()
    }

    /// Returns the state towards the collection; `None` for folders.
    pub(crate) fn node_health(&self) -> Option<NodeHealth> {
        Some(self.node.as_ref()?.health(self.indexer.reader().snapshot().generation))
    }

    /// Returns true until a node has reached the head of the log for the first time.
    ///
    /// Its stored state may have vectors of later commits, so nothing is answered from it.
    pub(crate) fn is_catching_up(&self) -> bool {
        self.node.as_ref().is_some_and(|node| !node.is_current())
    }

    /// Serves from now on: a node has reached the head of the log.
    pub(crate) fn set_current(&self) {
        if let Some(node) = &self.node {
            node.set_current();
        }
    }

    /// Returns the configured folder of a vault.
    pub(crate) fn root(&self, vault: &str) -> Option<PathBuf> {
        let config = self.config();
        let mut vaults = config.settings.vaults.iter();
        let found = vaults.find(|configured| configured.name() == vault)?;
        Some(vault_settings(found).root)
    }

    /// Returns the settings in force.
    #[must_use]
    pub fn config(&self) -> Arc<Config> {
        self.config.load_full()
    }

    /// Serves the vaults of `next` from now on, and records the other reloadable settings.
    ///
    /// The store stays the same. New vaults are scanned in the background.
    /// Fails without any change if no vault is configured, or if a new vault is not a folder. Blocks until the writer is free.
    pub fn reload(&self, next: &Config) -> Result<(), OpenVaultsError> {
        let config = self.config();
        let (now, configured) = (&config.settings.vaults, &next.settings.vaults);
        if configured.is_empty() && self.node.is_none() {
            return Err(OpenVaultsError::NoVault);
        }
        if now != configured && self.node.is_none() {
            self.indexer.set_vaults(configured.iter().map(vault_settings).collect())?;
        }
        self.config.store(Arc::new(config.reloaded(next)));
        Ok(())
    }

    /// Returns the status of the index, with the notices from opening the model.
    ///
    /// A node is scanning until it answers: the state that it has stored or applied may be an earlier one.
    #[must_use]
    pub fn status(&self) -> IndexStatus {
        let mut status = self.indexer.status();
        if self.is_catching_up() && matches!(status.phase, Phase::Embedding | Phase::Ready) {
            status.phase = Phase::Scanning;
        }
        status.notices.splice(0..0, self.notices.iter().cloned());
        let node = self.node.as_ref().map(|node| node.health(status.generation));
        status.notices.extend(node.iter().flat_map(NodeHealth::notices));
        status
    }
}

/// Counts tokens with the tokenizer of an embedding model.
struct ModelEstimator(Arc<dyn Embedder>);

impl Estimator for ModelEstimator {
    fn estimate(&self, text: &str) -> Tokens {
        Tokens::new(self.0.n_tokens(text).max(1) as u64)
    }
}

/// Builds the token estimators: by length, the bundled tokenizers, that of `model`, which `embedder` runs, and those of the settings.
fn estimators(
    settings: &TokenSettings,
    model: &str,
    embedder: Option<&Arc<dyn Embedder>>,
) -> Result<Estimators, OpenVaultsError> {
    let TokenSettings { estimator, characters_per_token, tokenizers } = settings;
    let mut all = Estimators::by_length(Characters { per_token: *characters_per_token });
    if let Some(embedder) = embedder {
        all = all.with(model, Arc::new(ModelEstimator(Arc::clone(embedder))));
    }
    all = all.with(embed::ENGLISH, Arc::new(embed::TokenizerEstimator::english()));
    #[cfg(feature = "multilingual")]
    {
        let multilingual = embed::TokenizerEstimator::multilingual();
        all = all.with(embed::MULTILINGUAL, Arc::new(multilingual));
    }
    for (name, path) in tokenizers {
        let opened = embed::TokenizerEstimator::open(path)
            .map_err(|source| OpenVaultsError::Tokenizer { name: name.clone(), source })?;
        all = all.with(name, Arc::new(opened));
    }
    all.with_default(estimator).map_err(OpenVaultsError::Estimator)
}

fn vault_settings(vault: &Vault) -> VaultSettings {
    // Symbolic links are kept, so that the index notices when a link is changed to another folder.
    let root = std::path::absolute(&vault.root).unwrap_or_else(|_| vault.root.clone());
    VaultSettings { name: vault.name(), root }
}
