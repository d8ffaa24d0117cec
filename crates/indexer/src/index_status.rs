//! The status of a running index.

use std::path::PathBuf;

use weft_index::embedder::ModelIdentity;
use weft_model::{Diagnostic, TextHash};

use crate::embed::ModelChoice;

/// The current activity of the writer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Reading the store.
    #[default]
    Opening,
    /// Scanning for changed files.
    Scanning,
    /// Reading changed files.
    Indexing,
    /// Words and links are indexed; vectors follow.
    Embedding,
    /// Everything is indexed.
    Ready,
}

impl Phase {
    /// Returns the name used in responses.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Opening => "opening",
            Self::Scanning => "scanning",
            Self::Indexing => "indexing",
            Self::Embedding => "embedding",
            Self::Ready => "ready",
        }
    }
}

/// The state of the index at one moment; cheap to request.
#[derive(Clone, Debug, Default)]
pub struct IndexStatus {
    /// The newest published generation.
    pub generation: u64,
    /// Sum of a hash of each note's uri, path and content: equal sums mean equal notes, however they came about.
    pub digest: u128,
    /// Current activity of the writer.
    pub phase: Phase,
    /// The vaults, ordered by name.
    pub vaults: Vec<VaultStatus>,
    /// Number of notes.
    pub n_notes: usize,
    /// Number of placeholders: link targets that are not notes.
    pub n_placeholders: usize,
    /// Number of links in all notes, including repeated ones.
    pub n_links: usize,
    /// Number of links whose target is a placeholder.
    pub n_unresolved: usize,
    /// Number of chunks in all notes.
    pub n_chunks: usize,
    /// Number of chunks that wait for their vector.
    pub n_vectors_pending: usize,
    /// Number of chunks whose vector is computed, but not yet part of a published generation.
    pub n_vectors_unpublished: usize,
    /// Number of chunks whose text the model rejected; keywords and links still find them.
    pub n_vectors_failed: usize,
    /// Chunks embedded per second, over the current backlog; 0 if nothing is being embedded.
    pub vectors_per_second: f64,
    /// Estimated seconds until the backlog is empty; `None` if it is empty or the rate is unknown.
    pub seconds_left: Option<f64>,
    /// Number of files that the current or last scan has processed.
    pub n_files_done: usize,
    /// Number of files in the current or last scan.
    pub n_files_total: usize,
    /// First generation of this run, if the previous run ended uncleanly and not every file was scanned since; until then, content of earlier generations may be missing.
    pub recovering: Option<u64>,
    /// The embedding model; `None` without one, or until it is reached for the first time.
    pub embedder: Option<ModelIdentity>,
    /// The choice between the bundled models, if the settings leave it to the languages of the notes.
    pub model_choice: Option<ModelChoice>,
    /// Error of the model or the store that prevents embedding now.
    pub unavailable: Option<String>,
    /// The model that will replace the present one.
    pub next: Option<NextModel>,
    /// Notices for users about problems that do not stop the index.
    pub notices: Vec<String>,
    /// The last error; the writer continues.
    pub last_error: Option<String>,
    /// Folder of the store.
    pub store: PathBuf,
    /// Stored generations, ascending, which requests can read.
    pub stored_generations: Vec<u64>,
    /// Bytes on disk at the last checkpoint.
    pub store_bytes: u64,
}

impl IndexStatus {
    /// Returns the number of chunks that wait for their vector, or for the generation that contains it.
    #[must_use]
    pub const fn n_vectors_awaited(&self) -> usize {
        self.n_vectors_pending + self.n_vectors_unpublished
    }
}

/// A model that embeds all notes while another one serves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NextModel {
    /// Identity of the model; `None` until it is opened.
    pub identity: Option<ModelIdentity>,
    /// Number of chunks that wait for its vectors, as split for the present model.
    pub n_pending: usize,
    /// Error that blocks the migration.
    pub error: Option<String>,
}

impl NextModel {
    /// Returns a notice for users.
    pub(crate) fn line(&self) -> String {
        let Self { identity, n_pending, error } = self;
        let error = error.as_ref().map_or(String::new(), |error| format!(": {error}"));
        match identity {
            Some(ModelIdentity { model, .. }) => format!(
                "The model {model} is embedding all notes, {n_pending} passages are left; the present model serves until then{error}."
            ),
            None => format!("The configured model is not available yet{error}."),
        }
    }
}

/// Status of one vault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VaultStatus {
    /// Name.
    pub name: String,
    /// Folder.
    pub root: String,
    /// Number of notes.
    pub n_notes: usize,
    /// Number of links, including repeated ones.
    pub n_links: usize,
    /// Number of links whose target is a note.
    pub n_resolved: usize,
    /// Number of links with several possible targets.
    pub n_ambiguous: usize,
    /// Number of files excluded by a rule or by their own frontmatter.
    pub n_skipped: usize,
    /// Number of files that could not be read.
    pub n_failed: usize,
    /// Number of notes kept by the mass-deletion guard although their files are missing.
    pub n_missing: usize,
    /// How changes of its files are detected.
    pub watch_state: WatchState,
}

impl VaultStatus {
    /// Returns a notice for users about missing files and what to do; `None` if no file is missing.
    #[must_use]
    pub fn missing_notice(&self) -> Option<String> {
        let Self { name, root, n_notes, n_missing, .. } = self;
        (*n_missing > 0).then(|| {
            format!(
                "{n_missing} of {n_notes} notes of `{name}` have no file below {root} any more; they are served as they were. \
                 They leave the index with `weft confirm-deletions {name}`, and are taken up again as soon as the files are back."
            )
        })
    }
}

/// How changes of a vault's files are detected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WatchState {
    /// Changes are detected on request only.
    #[default]
    Off,
    /// The operating system reports changes.
    Native,
    /// All files are scanned periodically.
    Polling,
}

/// Index state of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileState {
    /// Indexed with words, links and vectors.
    Indexed,
    /// Indexed with words and links; its vectors follow.
    Pending,
    /// Excluded on purpose.
    Skipped,
    /// Unreadable.
    Failed,
}

impl FileState {
    /// Returns the name used in responses.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Indexed => "indexed",
            Self::Pending => "pending",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
        }
    }
}

/// One line of the coverage report.
#[derive(Clone, Debug, PartialEq)]
pub struct FileCoverage {
    /// Name of the vault.
    pub vault: String,
    /// Path of the file, relative to the vault.
    pub path: String,
    /// Index state.
    pub state: FileState,
    /// Reason, if the file is not fully indexed.
    pub reason: Option<String>,
    /// Uri of the note.
    pub uri: Option<String>,
    /// Hash of the file's bytes.
    pub hash: Option<TextHash>,
    /// Modification time, nanoseconds since 1970.
    pub modified_ns: i64,
    /// Number of chunks.
    pub n_chunks: usize,
    /// Number of links.
    pub n_links: usize,
    /// Link targets that are not notes, in text order.
    pub unresolved: Vec<String>,
    /// Diagnostics from parsing and from resolving links.
    pub diagnostics: Vec<Diagnostic>,
}
