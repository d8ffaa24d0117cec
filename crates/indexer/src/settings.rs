//! What to index and how.

use std::path::PathBuf;

use weft_index::embedder::{EmbedError, Embedder};
use weft_index::keyword::{KeywordError, KeywordSettings};
use weft_index::vector::VectorParams;
use weft_index::{Disk, StoreError};

use crate::chunk::ChunkLimits;
use crate::fuse::FuseOptions;
use crate::hash::digest_of;
use crate::parse::ParseOptions;
use crate::scan::{ScanError, ScanOptions};
use crate::watch::WatchOptions;

/// A folder of notes to serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VaultSettings {
    /// Its name: the prefix of its uris where several vaults are served.
    pub name: String,
    /// Its folder, or a link to it: where that leads is seen at each look.
    pub root: PathBuf,
}

/// What to index and how.
#[derive(Clone, Debug)]
pub struct IndexSettings {
    /// The store's folder; made if need be.
    pub store: PathBuf,
    /// The vaults, at least one, with different names.
    pub vaults: Vec<VaultSettings>,
    /// Which files are read.
    pub scan: ScanOptions,
    /// Which dialects are read.
    pub parse: ParseOptions,
    /// How notes are cut for the model.
    pub chunks: ChunkLimits,
    /// How words are indexed.
    pub keyword: KeywordSettings,
    /// How vectors are searched.
    pub vector: VectorParams,
    /// How changed files are noticed.
    pub watch: WatchOptions,
    /// When missing notes are kept.
    pub fuse: FuseOptions,
    /// Generations kept on disk, at least 1.
    pub keep_generations: usize,
    /// What the store's files are changed through.
    pub disk: Disk,
}

impl Default for IndexSettings {
    fn default() -> Self {
        Self {
            store: PathBuf::new(),
            vaults: Vec::new(),
            scan: ScanOptions::default(),
            parse: ParseOptions::default(),
            chunks: ChunkLimits::default(),
            keyword: KeywordSettings::default(),
            vector: VectorParams::default(),
            watch: WatchOptions::default(),
            fuse: FuseOptions::default(),
            keep_generations: 2,
            disk: Disk::default(),
        }
    }
}

/// Grows where the same file is read otherwise than before.
const READING: u32 = 1;

impl IndexSettings {
    /// What entries are made with: another recipe means that files must be read again.
    pub(crate) fn recipe(&self, embedder: Option<&dyn Embedder>) -> u64 {
        let Self { parse, chunks, .. } = self;
        let model = embedder.map(|embedder| (embedder.identity(), embedder.window()));
        let version = env!("CARGO_PKG_VERSION");
        digest_of(&[format!("{version}\0{READING}\0{parse:?}\0{chunks:?}\0{model:?}").as_bytes()])
    }
}

/// How thoroughly to look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rescan {
    /// Reads every file again, also those that seem unchanged.
    pub full: bool,
    /// Afterwards takes what was deleted off the disk.
    pub compact: bool,
}

/// Why there is no index, or none newer.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The word index cannot be used.
    #[error(transparent)]
    Keyword(#[from] KeywordError),
    /// The model gave no vectors.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// A vault cannot be read at all.
    #[error("cannot read the vault {}: {reason}", root.display())]
    Vault {
        /// Its folder.
        root: PathBuf,
        /// Why not.
        reason: String,
    },
    /// No vault has this name.
    #[error("`{name}` is no vault; the vaults are {}", known.join(", "))]
    UnknownVault {
        /// The name.
        name: String,
        /// The names that there are, ascending.
        known: Vec<String>,
    },
    /// The state of a generation is not kept, or never was.
    #[error("generation {generation} is not stored{}", listed(stored))]
    UnknownGeneration {
        /// The generation asked for.
        generation: u64,
        /// Those that are stored, ascending.
        stored: Vec<u64>,
    },
    /// The writer is gone.
    #[error("the indexer has stopped")]
    Stopped,
}

impl IndexError {
    /// A vault cannot be looked through; its folder is named once.
    pub(crate) fn vault(root: PathBuf, error: &ScanError) -> Self {
        let reason = match error {
            ScanError::Read { path, source } if *path == root => source.to_string(),
            ScanError::Read { .. }
            | ScanError::Glob { .. }
            | ScanError::Outside { .. }
            | ScanError::TooLong { .. }
            | ScanError::NoFile { .. } => error.to_string(),
        };
        Self::Vault { root, reason }
    }
}

fn listed(stored: &[u64]) -> String {
    let stored: Vec<String> = stored.iter().map(u64::to_string).collect();
    if stored.is_empty() { String::new() } else { format!("; these are: {}", stored.join(", ")) }
}
