//! The index and the engine of some vaults, brought up from the settings.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::sync::watch;
use weft_engine::{Engine, EngineError, Estimators};
use weft_index::Disk;
use weft_index::Snapshot;
use weft_index::embedder::Embedder;
use weft_indexer::embed::{self, Models};
use weft_indexer::{IndexError, IndexSettings, IndexStatus, Indexer, VaultSettings, WatchOptions};
use weft_model::tokens::Characters;
use weft_model::{Estimator, Tokens};

use crate::config::{Config, Settings, TokenSettings, Vault};
use crate::paths::Paths;

/// Why vaults cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// None is configured.
    #[error(
        "no vault is named: give the folder of your notes, or put `vaults` into the configuration"
    )]
    NoVault,
    /// There is no place for the index.
    #[error(
        "neither HOME nor XDG_DATA_HOME names a folder for the index: name one with --store DIR, or `store.path` in the settings"
    )]
    NoHome,
    /// A tokenizer cannot be read.
    #[error("{source}; tokens.tokenizers.{name} names it")]
    Tokenizer {
        /// Its name in the settings.
        name: String,
        /// What is wrong with it.
        source: embed::OpenError,
    },
    /// The default way to count tokens is unknown.
    #[error("tokens.{0}")]
    Estimator(EngineError),
    /// The index cannot be opened.
    #[error(transparent)]
    Index(#[from] IndexError),
}

/// Why there is no earlier state to compare one with.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EarlierError {
    /// The one asked for is later.
    #[error("generation {from} comes after {generation}")]
    Later {
        /// The generation asked for.
        from: u64,
        /// The one that it is compared with.
        generation: u64,
    },
    /// None is stored.
    #[error(
        "no generation before {generation} is stored; `store.keep_generations` says how many are kept"
    )]
    None {
        /// The one that it is compared with.
        generation: u64,
    },
    /// It cannot be read back.
    #[error(transparent)]
    Index(#[from] IndexError),
}

/// For how long vaults are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stay<'a> {
    /// For a question: changes of files are not watched for.
    Briefly,
    /// Until further notice: changes are watched for.
    ForGood {
        /// Where processes that find the store locked can ask, if anywhere.
        address: Option<&'a str>,
    },
}

/// A running index with the engine that answers over it. Dropping it lets the writer publish what it holds.
pub struct Vaults {
    indexer: Indexer,
    /// The newest generation.
    generations: watch::Receiver<u64>,
    engine: Engine,
    notices: Vec<String>,
    config: ArcSwap<Config>,
}

impl Vaults {
    /// The folder of the store for these settings.
    ///
    /// Fails where no vault is configured, and where nothing says which folder is the user's.
    pub fn store(config: &Config, paths: &Paths) -> Result<PathBuf, OpenError> {
        let Settings { store, vaults, .. } = &config.settings;
        let roots: Vec<&Path> = vaults.iter().map(|vault| vault.root.as_path()).collect();
        if roots.is_empty() {
            return Err(OpenError::NoVault);
        }
        store.path.clone().or_else(|| paths.store(&roots)).ok_or(OpenError::NoHome)
    }

    /// Opens or creates the store and starts the writer, which looks at every file at once.
    ///
    /// What the store held before can be asked when this returns.
    /// A model that cannot be opened leaves words and links, and a notice in the status; its vectors stay for when it is back.
    /// Takes as long as reading the store; blocks.
    pub fn open(config: &Config, paths: &Paths, stay: Stay<'_>) -> Result<Self, OpenError> {
        let (watched, address) = match stay {
            Stay::Briefly => (false, None),
            Stay::ForGood { address } => (true, address),
        };
        let store = Self::store(config, paths)?;
        let Settings {
            server: _,
            access: _,
            tls: _,
            store: store_settings,
            vaults,
            watch,
            fuse,
            scan,
            parse,
            chunks,
            keyword,
            vector,
            embedding: _,
            search,
            related,
            walk,
            context,
            tokens,
            log: _,
            trace: _,
        } = config.settings.clone();
        let embedding = config.embedding(paths);
        let model = embedding.model.clone();
        let opened = embed::models(&store, &embedding, |earlier| config.keyed(paths, earlier));
        let no_model = opened.as_ref().err().map(ToString::to_string);
        let (models, notices) = opened.unwrap_or_else(|error| {
            let line = format!("{error}. Notes are found by words and links alone.");
            (Models::from(None), vec![line])
        });
        let estimators = estimators(&tokens, &model, models.wanted.as_ref())?;
        let settings = IndexSettings {
            store,
            vaults: vaults.iter().map(vault_settings).collect(),
            scan,
            parse,
            chunks,
            keyword,
            vector,
            watch: WatchOptions { enabled: watch.enabled && watched, ..watch },
            fuse,
            keep_generations: store_settings.keep_generations,
            disk: Disk::default(),
        };
        let indexer = Indexer::open(settings, models, address)?;
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
        let config = ArcSwap::from_pointee(config.clone());
        Ok(Self { indexer, generations, engine, notices, config })
    }

    /// The engine.
    #[must_use]
    pub const fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The engine over the state of a stored generation.
    pub(crate) fn engine_at(&self, generation: u64) -> Result<Engine, IndexError> {
        Ok(self.engine.over(self.indexer.at(generation)?))
    }

    /// The state of the stored generation `from`, or of the last one before `generation`.
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

    /// The newest generation, and each that follows.
    pub(crate) fn generations(&self) -> watch::Receiver<u64> {
        self.generations.clone()
    }

    /// The index's writer.
    #[must_use]
    pub const fn indexer(&self) -> &Indexer {
        &self.indexer
    }

    /// The settings in force.
    #[must_use]
    pub fn config(&self) -> Arc<Config> {
        self.config.load_full()
    }

    /// Serves the vaults of `next` from now on, and takes note of what else a running daemon takes over.
    ///
    /// The store stays the one it was opened with. Their files are looked at in the background.
    /// Fails, and changes nothing, where there is no vault, or a new one is no folder. Blocks until the writer has time.
    pub fn reload(&self, next: &Config) -> Result<(), OpenError> {
        let config = self.config();
        let (now, wanted) = (&config.settings.vaults, &next.settings.vaults);
        if wanted.is_empty() {
            return Err(OpenError::NoVault);
        }
        if now != wanted {
            self.indexer.set_vaults(wanted.iter().map(vault_settings).collect())?;
        }
        self.config.store(Arc::new(config.reloaded(next)));
        Ok(())
    }

    /// How the index is, with what opening the model brought up.
    #[must_use]
    pub fn status(&self) -> IndexStatus {
        let mut status = self.indexer.status();
        status.notices.splice(0..0, self.notices.iter().cloned());
        status
    }
}

/// Counts the tokens of a model that makes vectors.
struct OfModel(Arc<dyn Embedder>);

impl Estimator for OfModel {
    fn estimate(&self, text: &str) -> Tokens {
        Tokens::new(self.0.n_tokens(text).max(1) as u64)
    }
}

/// The ways to count tokens: by length, with the bundled tokenizer, with that of `model`, which `embedder` runs, and with those of the settings.
fn estimators(
    settings: &TokenSettings,
    model: &str,
    embedder: Option<&Arc<dyn Embedder>>,
) -> Result<Estimators, OpenError> {
    let TokenSettings { estimator, characters_per_token, tokenizers } = settings;
    let mut all = Estimators::by_length(Characters { per_token: *characters_per_token });
    if let Some(embedder) = embedder {
        all = all.with(model, Arc::new(OfModel(Arc::clone(embedder))));
    }
    all = all.with(embed::BUNDLED, Arc::new(embed::TokenizerEstimator::bundled()));
    for (name, path) in tokenizers {
        let opened = embed::TokenizerEstimator::open(path)
            .map_err(|source| OpenError::Tokenizer { name: name.clone(), source })?;
        all = all.with(name, Arc::new(opened));
    }
    all.with_default(estimator).map_err(OpenError::Estimator)
}

fn vault_settings(vault: &Vault) -> VaultSettings {
    // A link stays one: the index sees when it is turned to another folder.
    let root = std::path::absolute(&vault.root).unwrap_or_else(|_| vault.root.clone());
    VaultSettings { name: vault.name(), root }
}
