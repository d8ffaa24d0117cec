//! What the handle and the writer share besides snapshots.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weft_index::Snapshot;
use weft_index::notes::{FileFacts, VaultId};
use weft_model::NotePath;

use crate::status::{FileState, IndexStatus, VaultStatus, WatchState};

/// A file that is known and not in the index.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Absent {
    pub(crate) state: FileState,
    pub(crate) reason: String,
    pub(crate) facts: FileFacts,
}

/// How changes of a vault's files are noticed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watching {
    pub(crate) state: WatchState,
    /// A line for a person, where that is not as asked for.
    pub(crate) notice: Option<String>,
}

/// Is told of each new generation.
type Listener = Box<dyn Fn(u64) + Send>;

/// What the handle and the writer share besides snapshots. Cloning shares it.
#[derive(Clone, Default)]
pub(crate) struct Board {
    lines: Arc<Mutex<Lines>>,
    listeners: Arc<Mutex<Vec<Listener>>>,
}

#[derive(Default)]
pub(crate) struct Lines {
    pub(crate) status: IndexStatus,
    /// Files that are not in the index, by vault and path; a folder's path ends with `/`.
    pub(crate) absent: BTreeMap<VaultId, BTreeMap<String, Absent>>,
    pub(crate) watching: BTreeMap<VaultId, Watching>,
    /// Facts of files that were saved since, and say what they said.
    pub(crate) reread: HashMap<(VaultId, NotePath), FileFacts>,
    /// Notes that are kept although their files are missing.
    pub(crate) missing: BTreeMap<VaultId, BTreeSet<NotePath>>,
    /// Why the stored vectors cannot be read back.
    pub(crate) unreadable: Option<String>,
}

impl Board {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells `listener` of each generation that is published from now on.
    pub(crate) fn listen(&self, listener: Listener) {
        self.listeners().push(listener);
    }

    /// Tells everyone who listens.
    pub(crate) fn published(&self, generation: u64) {
        self.listeners().iter().for_each(|listener| listener(generation));
    }

    fn listeners(&self) -> MutexGuard<'_, Vec<Listener>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line for a person, unless it is there.
    pub(crate) fn notice(&self, line: String) {
        let notices = &mut self.lock().status.notices;
        if !notices.contains(&line) {
            notices.push(line);
        }
    }
}

impl Lines {
    /// The absent files at or below `path`.
    pub(crate) fn absent_below(
        &self,
        vault: VaultId,
        path: &str,
    ) -> impl Iterator<Item = (&String, &Absent)> {
        let below = if path.is_empty() { String::new() } else { format!("{path}/") };
        let files = self.absent.get(&vault).into_iter();
        let itself = files.clone().filter_map(|files| files.get_key_value(path));
        let inside = files.flat_map({
            let below = below.clone();
            move |files| files.range(below.clone()..)
        });
        itself.chain(inside.take_while(move |(other, _)| other.starts_with(&below)))
    }

    /// Folders of a vault that should have been looked into and could not, each with the reason.
    pub(crate) fn closed(&self, vault: VaultId) -> BTreeMap<String, String> {
        let files = self.absent.get(&vault).into_iter().flatten();
        let is_closed = |(path, file): &(&String, &Absent)| {
            file.state == FileState::Failed && path.ends_with('/')
        };
        files.filter(is_closed).map(|(path, file)| (path.clone(), file.reason.clone())).collect()
    }

    /// What a person should know of how files are noticed and read.
    pub(crate) fn notices(&self, snapshot: &Snapshot) -> Vec<String> {
        let watching = self.watching.values().filter_map(|own| own.notice.clone());
        let closed = snapshot.notes.vaults().filter_map(|(id, info)| {
            let closed = self.closed(id);
            let (first, reason) = closed.first_key_value()?;
            let others = match closed.len() - 1 {
                0 => String::new(),
                n => format!(" (and {n} more)"),
            };
            let vault = &info.name;
            Some(format!("The folder `{first}` of `{vault}`{others} is left out: {reason}."))
        });
        let unreadable = self.unreadable.iter().map(|reason| {
            format!("The vectors cannot be read: {reason}. Notes are found by words and links; it is tried again.")
        });
        watching.chain(closed).chain(unreadable).collect()
    }

    /// Replaces the absent files at or below each of `paths` by `files`.
    pub(crate) fn set_absent(
        &mut self,
        vault: VaultId,
        paths: &[String],
        files: BTreeMap<String, Absent>,
    ) {
        let old: Vec<String> = paths
            .iter()
            .flat_map(|path| self.absent_below(vault, path).map(|(path, _)| path.clone()))
            .collect();
        let known = self.absent.entry(vault).or_default();
        for path in old {
            known.remove(&path);
        }
        known.extend(files);
    }

    /// Brings the numbers in line with a snapshot. `O(vaults + absent files)`.
    pub(crate) fn count(&mut self, snapshot: &Snapshot) {
        let notes = &snapshot.notes;
        let mut vaults: Vec<VaultStatus> = notes
            .vaults()
            .map(|(id, info)| {
                let tally = notes.tally(id);
                let absent = self.absent.get(&id).into_iter().flat_map(BTreeMap::values);
                let n_skipped = absent.clone().filter(|file| file.state == FileState::Skipped);
                let n_failed = absent.filter(|file| file.state == FileState::Failed);
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
                    watching: self.watching.get(&id).map_or(WatchState::Off, |own| own.state),
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
