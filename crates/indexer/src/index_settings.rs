//! Settings of an index.

use std::path::PathBuf;
use std::sync::Arc;

use weft_index::embedder::{EmbedError, Embedder};
use weft_index::keyword::{KeywordError, KeywordSettings};
use weft_index::vector::VectorParams;
use weft_index::{Disk, StoreError};
use weft_model::NoteKind;

use crate::chunk::ChunkLimits;
use crate::content_hash::digest_of;
use crate::deletion_guard::DeletionGuardOptions;
use crate::file_watcher::WatchOptions;
use crate::parse::ParseOptions;
use crate::pdf::PdfSettings;
use crate::scan::{ScanError, ScanOptions};
use crate::vault_home::VaultHome;

/// A folder of notes to serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VaultSettings {
    /// Name; the prefix of its uris if several vaults are served.
    pub name: String,
    /// Folder, or a symbolic link to it, which is resolved at each scan.
    pub root: PathBuf,
}

/// Settings of an index.
#[derive(Clone, Debug)]
pub struct IndexSettings {
    /// The store's folder; created if missing.
    pub store: PathBuf,
    /// The vaults, at least one, with distinct names. A home with a log lists its own instead.
    pub vaults: Vec<VaultSettings>,
    /// The home of the vaults; `None` for folders.
    pub home: Option<Arc<dyn VaultHome>>,
    /// Which files to read.
    pub scan: ScanOptions,
    /// Which dialects to parse.
    pub parse: ParseOptions,
    /// Limits of the extraction of text from PDF files.
    pub pdf: PdfSettings,
    /// How to cut notes into chunks.
    pub chunks: ChunkLimits,
    /// How to index words.
    pub keyword: KeywordSettings,
    /// How to search vectors.
    pub vector: VectorParams,
    /// How to detect changed files.
    pub watch: WatchOptions,
    /// When to keep notes whose files are missing.
    pub deletion_guard: DeletionGuardOptions,
    /// Number of generations kept on disk, at least 1.
    pub keep_generations: usize,
    /// The disk through which the store's files are changed.
    pub disk: Disk,
}

impl Default for IndexSettings {
    fn default() -> Self {
        Self {
            store: PathBuf::new(),
            vaults: Vec::new(),
            home: None,
            scan: ScanOptions::default(),
            parse: ParseOptions::default(),
            pdf: PdfSettings::default(),
            chunks: ChunkLimits::default(),
            keyword: KeywordSettings::default(),
            vector: VectorParams::default(),
            watch: WatchOptions::default(),
            deletion_guard: DeletionGuardOptions::default(),
            keep_generations: 2,
            disk: Disk::default(),
        }
    }
}

/// Version of the parser; incremented when it interprets the same file differently than before.
const PARSER_VERSION: u32 = 3;

impl IndexSettings {
    /// Returns a digest of everything a note's index entry depends on besides its file. If it changes, files must be read again.
    pub(crate) fn recipe(&self, embedder: Option<&dyn Embedder>) -> u64 {
        let Self { parse, chunks, scan, pdf, .. } = self;
        let pdf = scan.reads(NoteKind::Pdf).then_some(pdf);
        let model = embedder.map(|embedder| (embedder.identity(), embedder.window()));
        let version = env!("CARGO_PKG_VERSION");
        digest_of(&[format!(
            "{version}\0{PARSER_VERSION}\0{parse:?}\0{pdf:?}\0{chunks:?}\0{model:?}"
        )
        .as_bytes()])
    }

    /// Completes the settings whose values follow from others.
    pub(crate) fn completed(mut self) -> Self {
        self.parse.pdf_links = self.scan.reads(NoteKind::Pdf);
        self
    }
}

/// Options for a rescan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rescan {
    /// Read every file again, even if it seems unchanged.
    pub full: bool,
    /// Afterwards remove deleted data from the disk.
    pub compact: bool,
    /// Choose between the bundled models again, by the languages of the present notes.
    pub choose_model: bool,
}

/// Why the index cannot be opened or updated.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The keyword index cannot be used.
    #[error(transparent)]
    Keyword(#[from] KeywordError),
    /// The model returned no vectors.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// A vault cannot be read at all.
    #[error("cannot read the vault {}: {reason}", root.display())]
    Vault {
        /// Its folder.
        root: PathBuf,
        /// The cause.
        reason: String,
    },
    /// No vault has this name.
    #[error("unknown vault `{name}`; the vaults are {}", known.join(", "))]
    UnknownVault {
        /// The name.
        name: String,
        /// The existing names, ascending.
        known: Vec<String>,
    },
    /// A generation is not stored, or does not exist yet.
    #[error("generation {generation} is not stored{}", listed(stored))]
    UnknownGeneration {
        /// The requested generation.
        generation: u64,
        /// The stored generations, ascending.
        stored: Vec<u64>,
    },
    /// The log of the home cannot be followed.
    #[error("cannot follow the log of the collection: {source}")]
    Log {
        /// The cause.
        #[from]
        source: std::io::Error,
    },
    /// The settings name a model, so none is chosen.
    #[error(
        "the settings name the model, so none is chosen by the languages of the notes; set `embedding.model` to \"auto\""
    )]
    ModelIsSet,
    /// The writer has stopped.
    #[error("the indexer has stopped")]
    Stopped,
}

impl IndexError {
    /// Converts an error of a vault's scan; names the vault's folder once.
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
    if stored.is_empty() {
        String::new()
    } else {
        format!("; the stored generations are {}", stored.join(", "))
    }
}
