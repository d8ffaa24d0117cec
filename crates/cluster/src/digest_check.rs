//! Which of two nodes with different notes is wrong: the one whose notes are not those of the log.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Weak;
use std::time::{Duration, Instant};

use weft_indexer::{IndexError, Indexer, Rescan};
use weft_model::{NoteKind, TextHash};

use crate::{ClusterError, Collection};

/// Time between two comparisons with the log, which read the list of all notes.
const COMPARE_EVERY: Duration = Duration::from_secs(60);

/// Number of rebuilds after which a node that is wrong again stays out.
const MAX_REBUILDS: u32 = 1;

/// Agreement of the notes of a node with those of the log and of the other nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Agreement {
    /// No serving node has other notes under the same number.
    #[default]
    Agrees,
    /// The nodes with these ids have other notes under the same number; those of this node are the notes of the log.
    Disagrees(Vec<String>),
    /// The notes of this node are not those of the log, and are being rebuilt.
    Rebuilding,
    /// They were not those of the log after the rebuild, either, or could not be rebuilt.
    Wrong,
}

impl Agreement {
    /// Returns why the node does not serve; `None` if it does.
    #[must_use]
    pub const fn problem(&self) -> Option<&'static str> {
        match self {
            Self::Agrees | Self::Disagrees(_) => None,
            Self::Rebuilding => {
                Some("its notes differed from the log, and it is rebuilding its index")
            }
            Self::Wrong => Some(
                "its notes differed from the log again after its index was rebuilt; run `weft cluster verify`, then stop this node, delete its index and start it",
            ),
        }
    }
}

/// The check of a node against others and the log.
pub(crate) struct DigestCheck {
    collection: Collection,
    indexer: Weak<Indexer>,
    pub(crate) agreement: Agreement,
    compared_at: Option<Instant>,
    n_rebuilds: u32,
}

impl DigestCheck {
    pub(crate) const fn new(collection: Collection, indexer: Weak<Indexer>) -> Self {
        let agreement = Agreement::Agrees;
        Self { collection, indexer, agreement, compared_at: None, n_rebuilds: 0 }
    }

    /// Compares the notes of this node with the log if `others` have different ones; returns true if the node must rebuild them.
    pub(crate) fn differs(&mut self, others: Vec<String>) -> Result<bool, ClusterError> {
        match self.agreement {
            Agreement::Wrong => return Ok(false),
            // The rebuilt notes could not be compared yet.
            Agreement::Rebuilding => {
                self.end_rebuild();
                return Ok(false);
            }
            Agreement::Agrees | Agreement::Disagrees(_) => {}
        }
        if others.is_empty() {
            self.agreement = Agreement::Agrees;
            return Ok(false);
        }
        if self.compared_at.is_some_and(|at| at.elapsed() < COMPARE_EVERY) {
            return Ok(false);
        }
        let Some(differing) = self.differing_notes()? else { return Ok(false) };
        self.compared_at = Some(Instant::now());
        let nodes = others.join(", ");
        if differing.is_empty() {
            tracing::error!(
                nodes,
                "other nodes have different notes under the same number; those of this node are the notes of the log"
            );
            self.agreement = Agreement::Disagrees(others);
            return Ok(false);
        }
        let (n_notes, first) = (differing.len(), differing.first().cloned().unwrap_or_default());
        let is_wrong_again = self.n_rebuilds >= MAX_REBUILDS;
        self.agreement = if is_wrong_again { Agreement::Wrong } else { Agreement::Rebuilding };
        let problem = self.agreement.problem().unwrap_or_default();
        tracing::error!(nodes, n_notes, first, "this node leaves the service: {problem}");
        Ok(!is_wrong_again)
    }

    /// Rebuilds the notes from the log, and compares them again.
    pub(crate) fn rebuild(&mut self) {
        self.n_rebuilds += 1;
        let options = Rescan { full: true, ..Rescan::default() };
        let Some(indexer) = self.indexer.upgrade() else { return };
        let rebuilt = indexer.rescan(options);
        drop(indexer);
        match rebuilt {
            Ok(_) => self.end_rebuild(),
            Err(IndexError::Stopped) => {}
            Err(error) => {
                self.agreement = Agreement::Wrong;
                tracing::error!(%error, "the index could not be rebuilt; this node does not serve");
            }
        }
    }

    /// Judges the notes of the rebuilt index. A node that could not be compared stays out, and its next report compares it.
    fn end_rebuild(&mut self) {
        self.agreement = match self.differing_notes() {
            Ok(None) | Err(_) => return,
            Ok(Some(differing)) if differing.is_empty() => Agreement::Agrees,
            Ok(Some(_)) => Agreement::Wrong,
        };
        self.compared_at = None;
        match self.agreement.problem() {
            None => tracing::warn!("this node rebuilt its index from the log and serves again"),
            Some(problem) => tracing::error!("this node does not serve: {problem}"),
        }
    }

    /// Returns the notes of this node that are not those of the log at its number, as `vault/path`; `None` if that cannot be told, because another number was published meanwhile.
    fn differing_notes(&self) -> Result<Option<BTreeSet<String>>, ClusterError> {
        let Some(indexer) = self.indexer.upgrade() else { return Ok(None) };
        let snapshot = indexer.reader().snapshot();
        let mut logged: BTreeMap<(String, String), TextHash> = BTreeMap::new();
        for vault in self.collection.vaults(snapshot.generation)? {
            let files = self.collection.files(&vault, snapshot.generation, None)?;
            logged.extend(files.into_iter().map(|file| ((vault.clone(), file.path), file.hash)));
        }
        let mut differing = BTreeSet::new();
        for (_, note) in snapshot.notes.summaries() {
            let vault = snapshot.notes.vault(note.vault).map(|info| info.name.clone());
            let place = (vault.unwrap_or_default(), note.path.to_owned());
            if logged.remove(&place) != Some(note.file.hash) {
                differing.insert(format!("{}/{}", place.0, place.1));
            }
        }
        // Files that are excluded on purpose are listed, and those of other kinds may not be read at all.
        logged.retain(|(_, path), _| NoteKind::of(path) == Some(NoteKind::Markdown));
        if logged.is_empty() {
            return Ok(Some(differing));
        }
        // Files that are not indexed are known as they are now.
        for file in indexer.coverage() {
            logged.remove(&(file.vault, file.path));
        }
        differing.extend(logged.into_keys().map(|(vault, path)| format!("{vault}/{path}")));
        let is_same = indexer.reader().snapshot().generation == snapshot.generation;
        Ok(is_same.then_some(differing))
    }
}
