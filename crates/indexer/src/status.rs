//! What the indexer says of itself.

use std::path::PathBuf;

use weft_index::embedder::ModelIdentity;
use weft_model::{Diagnostic, TextHash};

/// What the writer is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Reading the store.
    #[default]
    Opening,
    /// Looking for changed files.
    Scanning,
    /// Reading changed files.
    Indexing,
    /// Words and links are in; vectors follow.
    Embedding,
    /// Everything is in.
    Ready,
}

impl Phase {
    /// The name that answers use.
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

/// Where the index stands. A copy of one moment; cheap to ask for.
#[derive(Clone, Debug, Default)]
pub struct IndexStatus {
    /// The newest published generation.
    pub generation: u64,
    /// The sum of a hash of each note's uri, path and content: equal sums mean equal notes, whatever led to them.
    pub digest: u128,
    /// What the writer is doing.
    pub phase: Phase,
    /// The vaults, by name.
    pub vaults: Vec<VaultStatus>,
    /// Notes.
    pub n_notes: usize,
    /// Names that links use and no note answers to.
    pub n_placeholders: usize,
    /// Links of all notes, repeats included.
    pub n_links: usize,
    /// Links whose target is a placeholder.
    pub n_unresolved: usize,
    /// Chunks of all notes.
    pub n_chunks: usize,
    /// Chunks that wait for their vector.
    pub n_vectors_pending: usize,
    /// Chunks embedded per second, over the current backlog; 0 when nothing is being embedded.
    pub vectors_per_second: f64,
    /// How long the backlog will take; nothing while no rate is known or nothing waits.
    pub seconds_left: Option<f64>,
    /// Files of the current or last scan that have been looked at.
    pub n_files_done: usize,
    /// Files of the current or last scan.
    pub n_files_total: usize,
    /// The first generation of this run, where the run before ended suddenly and not every file was looked at since: what earlier generations held may be missing until then.
    pub recovering: Option<u64>,
    /// What makes the vectors; nothing without a model, or before it could be reached for the first time.
    pub embedder: Option<ModelIdentity>,
    /// Why no vectors come now, from the model or the store; nothing while they do.
    pub unavailable: Option<String>,
    /// The model that will take the present one's place, where one will.
    pub next: Option<NextModel>,
    /// Lines for a person about what is not as asked for.
    pub notices: Vec<String>,
    /// The last thing that went wrong; the writer goes on.
    pub last_error: Option<String>,
    /// The store's folder.
    pub store: PathBuf,
    /// The generations that are stored, ascending: earlier states that can be asked.
    pub stored_generations: Vec<u64>,
    /// Bytes on disk at the last checkpoint.
    pub store_bytes: u64,
}

/// A model whose vectors are made while those of another serve.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NextModel {
    /// What it is, once it could be opened.
    pub identity: Option<ModelIdentity>,
    /// Chunks that wait for its vectors, as the present model cuts them.
    pub n_pending: usize,
    /// Why it does not go on.
    pub trouble: Option<String>,
}

impl NextModel {
    /// A line for a person.
    pub(crate) fn line(&self) -> String {
        let Self { identity, n_pending, trouble } = self;
        let trouble = trouble.as_ref().map_or(String::new(), |trouble| format!(": {trouble}"));
        match identity {
            Some(ModelIdentity { model, .. }) => format!(
                "The vectors of {model} are being made, {n_pending} passages are left; until then the present ones serve{trouble}."
            ),
            None => format!("The model that is asked for is not there yet{trouble}."),
        }
    }
}

/// One vault's share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VaultStatus {
    /// Its name.
    pub name: String,
    /// Its folder.
    pub root: String,
    /// Notes.
    pub n_notes: usize,
    /// Links, repeats included.
    pub n_links: usize,
    /// Links that mean a note.
    pub n_resolved: usize,
    /// Links that could mean several.
    pub n_ambiguous: usize,
    /// Files kept out, by rule or by their own wish.
    pub n_skipped: usize,
    /// Files that could not be read.
    pub n_failed: usize,
    /// Notes that are kept although their files are missing; above 0 while the fuse holds.
    pub n_missing: usize,
    /// How changes of its files are noticed.
    pub watching: WatchState,
}

impl VaultStatus {
    /// What a person should know of its missing files, and what to do about it; nothing where none is missing.
    #[must_use]
    pub fn missing_notice(&self) -> Option<String> {
        let Self { name, root, n_notes, n_missing, .. } = self;
        (*n_missing > 0).then(|| {
            format!(
                "{n_missing} of {n_notes} notes of `{name}` have no file below {root} any more; they are served as they were. \
                 They leave the index with `weft confirm {name}`, and are taken up again as soon as the files are back."
            )
        })
    }
}

/// How changes of a vault's files are noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WatchState {
    /// Not by themselves.
    #[default]
    Off,
    /// The system announces them.
    Announced,
    /// All files are looked at from time to time.
    Polled,
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileState {
    /// Found by word, link and meaning.
    Indexed,
    /// Found by word and link; its vectors follow.
    Pending,
    /// Kept out on purpose.
    Skipped,
    /// Could not be read.
    Failed,
}

impl FileState {
    /// The name that answers use.
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

/// One line of the coverage ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct FileCoverage {
    /// The vault's name.
    pub vault: String,
    /// The file, relative to the vault.
    pub path: String,
    /// What became of it.
    pub state: FileState,
    /// Why, where it is not in.
    pub reason: Option<String>,
    /// The note's uri.
    pub uri: Option<String>,
    /// Hash of the file's bytes.
    pub hash: Option<TextHash>,
    /// Modification time, nanoseconds since 1970.
    pub modified_ns: i64,
    /// Chunks of the note.
    pub n_chunks: usize,
    /// Links of the note.
    pub n_links: usize,
    /// Targets that mean no note, in text order.
    pub unresolved: Vec<String>,
    /// What reading and linking it brought up.
    pub diagnostics: Vec<Diagnostic>,
}
