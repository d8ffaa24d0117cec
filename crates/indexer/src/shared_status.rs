//! State that the handle and the writer share besides snapshots.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weft_index::Snapshot;
use weft_index::notes::{FileMetadata, VaultId};
use weft_model::NotePath;

use crate::index_status::{FileState, IndexStatus, VaultStatus, WatchState};

/// A file that exists and is not indexed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct UnindexedFile {
    pub(crate) state: FileState,
    pub(crate) reason: String,
    pub(crate) facts: FileMetadata,
}

/// How changes of a vault's files are detected.
#[derive(Clone, Debug, Default)]
pub(crate) struct WatchStatus {
    pub(crate) state: WatchState,
    /// A notice for users if that differs from the settings.
    pub(crate) notice: Option<String>,
}

/// Callback for each new generation.
type GenerationListener = Box<dyn Fn(u64) + Send>;

/// State that the handle and the writer share besides snapshots. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct SharedStatus {
    inner: Arc<Mutex<StatusInner>>,
    listeners: Arc<Mutex<Vec<GenerationListener>>>,
}

#[derive(Default)]
pub(crate) struct StatusInner {
    pub(crate) status: IndexStatus,
    /// Files that are not indexed, by vault and path; a folder's path ends with `/`.
    pub(crate) unindexed: BTreeMap<VaultId, BTreeMap<String, UnindexedFile>>,
    pub(crate) watch_status: BTreeMap<VaultId, WatchStatus>,
    /// Current metadata of files that were saved again with unchanged content.
    pub(crate) refreshed_facts: HashMap<(VaultId, NotePath), FileMetadata>,
    /// Notes that the mass-deletion guard keeps although their files are missing.
    pub(crate) missing: BTreeMap<VaultId, BTreeSet<NotePath>>,
    /// Why the stored vectors cannot be loaded.
    pub(crate) vectors_unreadable: Option<String>,
    /// True while the model has texts to embed.
    pub(crate) is_embedding: bool,
}

impl SharedStatus {
    pub(crate) fn lock(&self) -> MutexGuard<'_, StatusInner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `listener` for each generation published from now on.
    pub(crate) fn listen(&self, listener: GenerationListener) {
        self.listeners().push(listener);
    }

    /// Notifies all listeners.
    pub(crate) fn published(&self, generation: u64) {
        self.listeners().iter().for_each(|listener| listener(generation));
    }

    fn listeners(&self) -> MutexGuard<'_, Vec<GenerationListener>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a notice for users, unless it is there already.
    pub(crate) fn notice(&self, line: String) {
        let notices = &mut self.lock().status.notices;
        if !notices.contains(&line) {
            notices.push(line);
        }
    }
}

impl StatusInner {
    /// Returns the unindexed files at or below `path`.
    pub(crate) fn unindexed_below(
        &self,
        vault: VaultId,
        path: &str,
    ) -> impl Iterator<Item = (&String, &UnindexedFile)> {
        let below = if path.is_empty() { String::new() } else { format!("{path}/") };
        let files = self.unindexed.get(&vault).into_iter();
        let at_path = files.clone().filter_map(|files| files.get_key_value(path));
        let inside = files.flat_map({
            let below = below.clone();
            move |files| files.range(below.clone()..)
        });
        at_path.chain(inside.take_while(move |(other, _)| other.starts_with(&below)))
    }

    /// Returns the folders of a vault that could not be read, each with the reason.
    pub(crate) fn unreadable_folders(&self, vault: VaultId) -> BTreeMap<String, String> {
        let files = self.unindexed.get(&vault).into_iter().flatten();
        let is_unreadable = |(path, file): &(&String, &UnindexedFile)| {
            file.state == FileState::Failed && path.ends_with('/')
        };
        files
            .filter(is_unreadable)
            .map(|(path, file)| (path.clone(), file.reason.clone()))
            .collect()
    }

    /// Returns notices for users about watching and reading files.
    pub(crate) fn notices(&self, snapshot: &Snapshot) -> Vec<String> {
        let watching = self.watch_status.values().filter_map(|own| own.notice.clone());
        let folders = snapshot.notes.vaults().filter_map(|(id, info)| {
            let folders = self.unreadable_folders(id);
            let (first, reason) = folders.first_key_value()?;
            let others = match folders.len() - 1 {
                0 => String::new(),
                n => format!(" (and {n} more)"),
            };
            let vault = &info.name;
            Some(format!("The folder `{first}` of `{vault}`{others} is not indexed: {reason}."))
        });
        let vectors = self.vectors_unreadable.iter().map(|reason| {
            format!("The vectors cannot be read: {reason}. Search uses words and links only until a retry succeeds.")
        });
        watching.chain(folders).chain(vectors).collect()
    }

    /// Replaces the unindexed files at or below each of `paths` by `files`.
    pub(crate) fn set_unindexed(
        &mut self,
        vault: VaultId,
        paths: &[String],
        files: BTreeMap<String, UnindexedFile>,
    ) {
        let old: Vec<String> = paths
            .iter()
            .flat_map(|path| self.unindexed_below(vault, path).map(|(path, _)| path.clone()))
            .collect();
        let known = self.unindexed.entry(vault).or_default();
        for path in old {
            known.remove(&path);
        }
        known.extend(files);
    }

    /// Updates the counts for a snapshot. `O(vaults + unindexed files)`.
    pub(crate) fn count(&mut self, snapshot: &Snapshot) {
        let notes = &snapshot.notes;
        let mut vaults: Vec<VaultStatus> = notes
            .vaults()
            .map(|(id, info)| {
                let tally = notes.vault_stats(id);
                let unindexed = self.unindexed.get(&id).into_iter().flat_map(BTreeMap::values);
                let n_skipped = unindexed.clone().filter(|file| file.state == FileState::Skipped);
                let n_failed = unindexed.filter(|file| file.state == FileState::Failed);
                VaultStatus {
                    name: info.name.clone(),
                    root: info.root.clone(),
                    n_notes: tally.n_notes,
                    n_links: tally.n_links,
                    n_resolved: tally.n_resolved,
                    n_ambiguous: tally.n_ambiguous,
                    n_skipped: n_skipped.count(),
                    n_failed: n_failed.count(),
                    n_missing: info.n_missing,
                    watch_state: self
                        .watch_status
                        .get(&id)
                        .map_or(WatchState::Off, |own| own.state),
                }
            })
            .collect();
        vaults.sort_by(|a, b| a.name.cmp(&b.name));
        let total = notes.total();
        let status = &mut self.status;
        status.generation = snapshot.generation;
        status.digest = total.digest;
        status.n_notes = total.n_notes;
        status.n_placeholders = notes.graph().n_nodes() - total.n_notes;
        status.n_links = total.n_links;
        status.n_unresolved = total.n_links - total.n_resolved;
        status.n_chunks = total.n_chunks;
        status.vaults = vaults;
    }
}
