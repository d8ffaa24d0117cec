//! Following: the index of a home with a log publishes exactly the states of the log.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use weft_index::embedder::EmbedError;
use weft_index::notes::{Delta, NoteTable};
use weft_model::TextHash;

use super::change_batch::ChangeBatch;
use super::following::{FollowRun, GraphState};
use super::vault_scans::{ScanMode, WatchedVault};
use super::{EmbeddedBatch, RETRY, Writer};
use crate::change_log::{ChangeLog, TextVectors};
use crate::scan::ScanArea;
use crate::vault_changes::vault_changes;
use crate::vault_home::VaultHome;
use crate::{IndexError, VaultSettings};

/// Number of texts whose vectors are read at a time.
pub(super) const VECTORS_AT_ONCE: usize = 1000;

impl Writer {
    /// Returns true if the home has a log, which this index follows.
    pub(super) fn follows(&self) -> bool {
        self.files.home.log().is_some()
    }

    /// Returns the number of the next published snapshot.
    ///
    /// A follower publishes the numbers of the log; repairs of a published state keep its number.
    pub(super) fn next_generation(&self) -> u64 {
        let newest = self.publication.generation();
        match &self.following.run {
            Some(run) => run.generation,
            None if self.follows() => newest,
            None => newest + 1,
        }
    }

    /// Follows the log, and reports the outcome.
    pub(super) fn follow_reported(&mut self) {
        let before = self.last_error();
        match self.follow(false) {
            Ok(()) => {
                self.clear_error(before);
                self.finish_recovery();
            }
            Err(error) => self.report_error(&error),
        }
    }

    /// Publishes the newest state of the log, unless it is published; reads every file again if `full` is set.
    pub(super) fn follow(&mut self, full: bool) -> Result<(), IndexError> {
        let home = Arc::clone(&self.files.home);
        let Some(log) = home.log() else { return Ok(()) };
        let outcome = self.follow_log(&*home, log, full);
        if self.following.run.take().is_some() && outcome.is_err() {
            // The keyword index may contain entries of changes that were not published.
            self.keyword.mark_suspect();
        }
        let outcome = outcome.and_then(|()| self.request_vectors(log));
        match outcome {
            Ok(()) => self.scans.vaults.iter_mut().for_each(WatchedVault::clear_touched),
            Err(_) => self.following.retry_at = Some(Instant::now() + RETRY),
        }
        outcome
    }

    fn follow_log(
        &mut self,
        home: &dyn VaultHome,
        log: &dyn ChangeLog,
        full: bool,
    ) -> Result<(), IndexError> {
        let before = self.publication.generation();
        let mut head = self.head_after(log, before)?;
        let is_whole = full || self.scans.any_outdated();
        let looks_up = self.vectors.pipeline().is_some() && !self.following.has_vectors;
        let keeps_graph = self.vectors.pipeline().is_none()
            || self.following.graph == Some(self.vectors.shared_graph());
        let is_published = head == before && !self.following.has_unpublished_vectors;
        if is_published && !is_whole && !looks_up && keeps_graph {
            return Ok(());
        }
        let GraphState { commit: graph, change } = loop {
            if let Some(found) = self.graph_at(log, head)? {
                break found;
            }
            // The graph was withdrawn by a commit.
            head = self.head_after(log, before)?;
        };
        log.pin(head);
        let run = FollowRun {
            generation: head,
            batch: ChangeBatch::default(),
            texts: HashSet::new(),
            vectors: Vec::new(),
            graph: change,
        };
        self.following.run = Some(run);
        let vaults = log.vaults(head)?.into_iter();
        let vaults = vaults.map(|(name, root)| VaultSettings { name, root }).collect();
        self.follow_vaults(home, vaults)?;
        let changes = if is_whole { None } else { changes_since(log, before, head)? };
        for at in 0..self.scans.vaults.len() {
            let vault = &mut self.scans.vaults[at];
            vault.relocate(home);
            let area = match &changes {
                None => ScanArea::WHOLE,
                Some(changes) => {
                    let paths = changes.get(&vault.settings.name).into_iter().flatten();
                    let mut area = ScanArea::NOTHING;
                    paths.for_each(|path| area.touch(&vault.root, &vault.root.join(path)));
                    area
                }
            };
            if !area.is_nothing() {
                let mode = ScanMode { full, reported: true, deletes: true };
                self.scan_area_now(at, area, mode)?;
            }
        }
        let vectors = self.new_vectors(log, looks_up, (before, head))?;
        if let Some(run) = &mut self.following.run {
            run.vectors = vectors;
        }
        let batch = self.following.take_batch();
        if batch.len() > 0 || self.keyword.is_suspect() {
            self.publish_batch(batch)?;
        } else {
            self.persistence.issue(head)?;
            self.adopt_vectors()?;
            self.publish_current_vectors()?;
        }
        self.following.has_vectors |= looks_up;
        let is_adopted = self.vectors.shared_graph() == graph;
        self.following.graph = (self.vectors.pipeline().is_some() && is_adopted).then_some(graph);
        if self.publication.generation() != head {
            // The notes had to be rebuilt instead.
            self.following.retry_at = Some(Instant::now());
        } else if !self.publication.is_rebuilding() {
            self.following.has_unpublished_vectors = false;
        }
        Ok(())
    }

    /// Returns the newest number of the log; fails if it is less than `before`, which is published.
    fn head_after(&self, log: &dyn ChangeLog, before: u64) -> Result<u64, IndexError> {
        let head = log.head()?;
        if head >= before {
            return Ok(head);
        }
        let store = self.settings.store.display();
        let reason = format!(
            "its newest commit is {head}, and this index is at {before}, so it was restored from an earlier state; delete the index {store} and start again"
        );
        Err(std::io::Error::other(reason).into())
    }

    /// Adds vaults that are new in the log.
    fn follow_vaults(
        &mut self,
        home: &dyn VaultHome,
        vaults: Vec<VaultSettings>,
    ) -> Result<(), IndexError> {
        if vaults == self.settings.vaults {
            return Ok(());
        }
        let notes = self.publication.notes();
        let changes = vault_changes(home, &notes, &vaults);
        let mut batch = self.following.take_batch();
        for change in &changes {
            self.add_change(&mut batch, change, None)?;
        }
        self.following.keep_batch(batch);
        self.scans.sync(&vaults, &notes.edited(&changes).0, false);
        self.settings.vaults = vaults;
        Ok(())
    }

    /// Returns the vectors that the next generation has and this index does not.
    ///
    /// These are vectors of texts of changed notes, and those that were stored since for texts that wait; all that wait if `looks_up` is set.
    fn new_vectors(
        &self,
        log: &dyn ChangeLog,
        looks_up: bool,
        (before, head): (u64, u64),
    ) -> Result<TextVectors, IndexError> {
        let (Some(pipeline), Some(run)) = (self.vectors.pipeline(), &self.following.run) else {
            return Ok(Vec::new());
        };
        let Some(embedder) = self.vectors.embedder() else { return Ok(Vec::new()) };
        let model = embedder.identity();
        let is_missing = |text: &TextHash| !pipeline.embeddings().has_vector(*text);
        let mut texts: Vec<TextHash> = run.texts.iter().copied().filter(is_missing).collect();
        if looks_up {
            texts.extend(pipeline.backlog().waiting());
        } else {
            let stored = log.new_vectors(model, before, head)?;
            texts.extend(stored.into_iter().filter(|text| pipeline.backlog().waits_for(*text)));
        }
        texts.sort_unstable();
        texts.dedup();
        let mut vectors = Vec::with_capacity(texts.len());
        for texts in texts.chunks(VECTORS_AT_ONCE) {
            self.scans.check_interrupted()?;
            vectors.extend(log.vectors(model, texts, head)?);
        }
        Ok(vectors)
    }

    /// Updates the vectors of changed notes.
    ///
    /// An index over folders keeps the words and links of notes whose vectors cannot be stored. A follower fails: the state must not be published, since it has more vectors on other nodes.
    pub(super) fn index_vectors(
        &mut self,
        notes: &NoteTable,
        delta: &Delta,
    ) -> Result<(), IndexError> {
        let is_run = self.following.is_running();
        let outcome = if is_run && self.following.has_unpublished_vectors {
            // Some are of notes that the run before added, and that may be gone.
            self.vectors.index_all(notes)
        } else {
            self.following.has_unpublished_vectors |= is_run;
            self.vectors.index(notes, delta)
        };
        match outcome {
            Err(error) if is_run => {
                self.following.has_vectors = false;
                Err(error.into())
            }
            Err(error) => {
                self.report_error(&error.into());
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Gives the chunks that wait the vectors that the run has read, and changes the graph as the run says.
    ///
    /// Fails if a vector or the graph cannot be stored; the state must then not be published.
    pub(super) fn adopt_vectors(&mut self) -> Result<(), IndexError> {
        let Some(run) = &mut self.following.run else { return Ok(()) };
        self.following.has_unpublished_vectors = true;
        let (vectors, graph) = (std::mem::take(&mut run.vectors), run.graph.take());
        let Some(embedder) = self.vectors.embedder() else { return Ok(()) };
        let model = embedder.identity().clone();
        for (text, vector) in vectors {
            let result = if vector.len() == model.dimension {
                Ok(vec![vector])
            } else {
                let reason = "a node recorded that it rejects a text".to_owned();
                Err(EmbedError::Failed { model: model.model.clone(), reason })
            };
            let stored = self.vectors.store(EmbeddedBatch { texts: vec![text], result });
            match stored {
                Some(Err(error @ IndexError::Store(_))) => {
                    // It is looked up again, with those that follow.
                    self.following.has_vectors = false;
                    return Err(error);
                }
                Some(Err(error)) => self.report_error(&error),
                Some(Ok(())) | None => {}
            }
        }
        graph.map_or(Ok(()), |change| self.change_graph(change))
    }

    /// Requests vectors for the texts that wait and were not requested by this process.
    fn request_vectors(&mut self, log: &dyn ChangeLog) -> Result<(), IndexError> {
        let Some(model) = self.vectors.embedder().map(|embedder| embedder.identity().clone())
        else {
            return Ok(());
        };
        let notes = self.publication.newest().notes.clone();
        loop {
            let texts = self.vectors.take_texts(&notes);
            if texts.is_empty() {
                return Ok(());
            }
            let hashes: Vec<TextHash> = texts.iter().map(|(text, _)| *text).collect();
            log.request_vectors(&model, texts).inspect_err(|_| self.vectors.requeue(&hashes))?;
        }
    }
}

/// Returns the changed paths of each vault; `None` if the log has not all of them any more, so that everything must be compared.
fn changes_since(
    log: &dyn ChangeLog,
    before: u64,
    head: u64,
) -> Result<Option<BTreeMap<String, Vec<String>>>, IndexError> {
    let changes = log.changes(before, head)?;
    // Read afterwards, so that no commit is removed unnoticed in between.
    let floor = log.floor()?;
    if floor <= before {
        return Ok(Some(changes));
    }
    if before > 0 {
        tracing::warn!(
            generation = before,
            floor,
            "the log does not contain the commits after this index any more; comparing all its notes with the newest state"
        );
    }
    Ok(None)
}
