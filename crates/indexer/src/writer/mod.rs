//! The single writer: turns changed files into the next snapshot.
//!
//! One thread owns all mutable state and handles one [`Event`] at a time, so every cause of work is visible in one place.
//! Embedding, vector graphs and checkpoints run on their own threads, which report back by events.

mod change_batch;
mod checkpoint;
mod embed_batch;
mod embedding_backlog;
mod event;
mod file_reader;
mod follower;
mod following;
mod graph_following;
mod interrupted_move;
mod keyword_pipeline;
mod migration_state;
mod missing_notes;
mod model_switch;
mod move_preview;
mod note_files;
mod note_writes;
mod persistence;
mod publication;
mod publish;
mod rebuild_notes;
mod rescan;
mod vault_scans;
mod vector_pipeline;
mod vector_state;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use weft_index::embedder::{EmbedError, Embedder};
use weft_index::keyword::KeywordWriter;
use weft_index::notes::VaultId;
use weft_index::{Publisher, Store, VectorLoadGuard};

pub(crate) use self::embed_batch::{ChunkRef, EmbeddedBatch, embed};
pub(crate) use self::event::{Event, GenerationReply};
pub(crate) use self::file_reader::wall_clock_ns;
use self::following::Following;
use self::keyword_pipeline::KeywordPipeline;
pub(crate) use self::keyword_pipeline::{keyword_rebuild_notice, reconcile};
use self::migration_state::MigrationState;
use self::note_files::NoteFiles;
use self::persistence::Persistence;
use self::publication::{PUBLISH_EVERY, Publication};
use self::vault_scans::VaultScans;
pub(crate) use self::vault_scans::WatchedVault;
use self::vector_state::VectorState;
use crate::embed::{AutoModel, ModelOpener};
use crate::index_status::{IndexStatus, Phase};
use crate::past_snapshots::PastSnapshots;
use crate::retry_delay::RETRY;
use crate::shared_status::SharedStatus;
use crate::thread_priority::lower_priority;
use crate::vault_changes::vault_changes;
use crate::vault_files::VaultFiles;
use crate::vault_home::VaultHome;
use crate::{IndexError, IndexSettings, Rescan, VaultSettings};

/// Maximum time that the writer sleeps.
const MAX_SLEEP: Duration = Duration::from_secs(3600);

/// `nice` steps by which the writer lowers its priority below threads that serve requests.
const PRIORITY_STEPS: i32 = 10;

/// Everything that opening an index hands to its writer.
pub(crate) struct WriterParts {
    pub(crate) store: Option<Store>,
    pub(crate) home: Arc<dyn VaultHome>,
    pub(crate) files: Arc<VaultFiles>,
    /// The vaults to begin with.
    pub(crate) vaults: Vec<VaultSettings>,
    pub(crate) keyword: KeywordWriter,
    pub(crate) embedder: Option<Arc<dyn Embedder>>,
    /// Wakes requests that wait for the stored vectors; `None` without a model.
    pub(crate) reading: Option<VectorLoadGuard>,
    pub(crate) publisher: Publisher,
    pub(crate) shared: SharedStatus,
    pub(crate) past: PastSnapshots,
    /// Generation of the last checkpoint.
    pub(crate) checkpointed: u64,
    /// True if the entries were made with other settings.
    pub(crate) outdated: bool,
}

/// The state of the writer thread, split by concern; each part owns its own state.
pub(crate) struct Writer {
    settings: IndexSettings,
    /// Dropped before `persistence`: the store's lock keeps other processes out of the keyword folder while segments merge.
    keyword: KeywordPipeline,
    persistence: Persistence,
    vectors: VectorState,
    migration: MigrationState,
    publication: Publication,
    scans: VaultScans,
    files: NoteFiles,
    following: Following,
    shared: SharedStatus,
    events: Sender<Event>,
    /// An event that arrived while puts were batched, handled next.
    deferred: Option<Event>,
}

impl Writer {
    pub(crate) fn new(
        settings: IndexSettings,
        parts: WriterParts,
        (next, auto): (Option<ModelOpener>, Option<AutoModel>),
        (events, interrupted): (Sender<Event>, Arc<AtomicBool>),
    ) -> Self {
        let WriterParts {
            store,
            home,
            files,
            vaults,
            keyword,
            embedder,
            reading,
            publisher,
            shared,
            past,
            checkpointed,
            outdated,
        } = parts;
        let newest = publisher.newest().generation;
        let recipe = settings.recipe(embedder.as_deref());
        let mut writer = Self {
            keyword: KeywordPipeline::new(keyword, past.clone(), shared.clone(), events.clone()),
            persistence: Persistence::new(store, recipe, checkpointed, newest),
            vectors: VectorState::new(embedder, reading, settings.vector, events.clone()),
            migration: MigrationState::new(next, auto),
            publication: Publication::new(publisher, past, shared.clone()),
            scans: VaultScans::new(interrupted),
            files: NoteFiles::new(home, files),
            following: Following::default(),
            settings: IndexSettings { vaults, ..settings },
            shared,
            events,
            deferred: None,
        };
        writer.sync_vaults(outdated);
        writer
    }

    /// Runs until the stop event, then persists the current state.
    pub(crate) fn run(mut self, events: &Receiver<Event>) {
        // Semantic searches wait for the vectors, so they load before the priority drops.
        let loaded = self.load_vectors();
        self.report_outcome(loaded);
        lower_priority(PRIORITY_STEPS);
        self.initial_scan();
        self.start_migration();
        loop {
            self.poll_model();
            self.show_phase();
            match self.next_event(events) {
                Ok(Event::Touched(vault, touched)) => self.scans.touch(vault, touched),
                Ok(Event::Rescan(options, reply)) => {
                    let result = self.rescan(options).map(|()| self.publication.generation());
                    self.show_phase();
                    let _ = reply.send(result);
                }
                Ok(Event::IndexSince(moment, reply)) => {
                    let result = self.rescan_since(moment).map(|()| self.publication.generation());
                    // The caller may wait for vectors next, and sees by then that a model that was unavailable is tried again.
                    self.poll_model();
                    self.show_phase();
                    let _ = reply.send(result);
                }
                Ok(Event::Flush(moment, reply)) => {
                    let scanned = self.rescan_since(moment);
                    let persisted = self.publish_new_vectors().and_then(|()| self.checkpoint());
                    let result = scanned.and(persisted).map(|()| self.publication.generation());
                    self.show_phase();
                    let _ = reply.send(result);
                }
                Ok(Event::SetVaults(vaults, reply)) => {
                    let result = self.set_vaults(vaults).map(|()| self.publication.generation());
                    self.show_phase();
                    let _ = reply.send(result);
                }
                Ok(Event::Backup(reply)) => {
                    let _ = reply.send(self.backup());
                }
                Ok(Event::ConfirmDeletions(vault, reply)) => {
                    let result = self.confirm_deletions(vault.as_deref());
                    self.show_phase();
                    let generation = self.publication.generation();
                    let _ = reply.send(result.map(|confirmed| (confirmed, generation)));
                }
                Ok(Event::Write(write, reply)) => {
                    self.handle_writes(write, reply, events);
                    self.show_phase();
                }
                Ok(Event::LogMoved(mark)) => {
                    drop(mark);
                    self.follow_reported();
                    self.show_phase();
                }
                Ok(Event::Embedded) => self.poll_model(),
                Ok(Event::GraphBuilt(number, graph)) => {
                    let pipeline = self.vectors.pipeline_numbered(number);
                    let outcome = pipeline.map_or(Ok(()), |pipeline| pipeline.attach(graph));
                    self.report_outcome(outcome.map_err(IndexError::from));
                }
                Ok(Event::SharingEnded(number)) => {
                    if let Some(pipeline) = self.vectors.pipeline_numbered(number) {
                        pipeline.end_sharing();
                    }
                }
                Ok(Event::MigrationFinished(migrated)) => self.migration.finished(migrated),
                Ok(Event::CheckpointDone) => self.finish_checkpoint(),
                Ok(Event::KeywordsSuspect) => {
                    let outcome = self.check_keywords(true);
                    self.report_outcome(outcome);
                }
                Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.run_due_tasks();
        }
        self.shut_down();
    }

    /// Returns the next event, after applying all file changes reported before it.
    fn next_event(&mut self, events: &Receiver<Event>) -> Result<Event, RecvTimeoutError> {
        let mut next = match self.deferred.take() {
            Some(event) => Ok(event),
            None => events.recv_timeout(self.time_until_due()),
        };
        while let Ok(Event::Touched(vault, touched)) = next {
            self.scans.touch(vault, touched);
            next = events.recv_timeout(Duration::ZERO);
        }
        next
    }

    fn shut_down(mut self) {
        self.migration.cancel();
        let outcome = self.publish_new_vectors().and_then(|()| self.write_last_checkpoint());
        self.report_outcome(outcome);
        let generation = self.publication.generation();
        // The next run may load vectors that this one could not, and then its answers differ.
        if self.vectors.is_loaded()
            && let Err(error) = self.persistence.settle(generation)
        {
            tracing::warn!(%error, "the store was not marked as shut down cleanly");
        }
    }

    /// Resumes an interrupted move, starts the watchers and scans every file.
    fn initial_scan(&mut self) {
        self.resume_move();
        for at in 0..self.scans.vaults.len() {
            self.start_watcher(at);
        }
        if let Err(error) = self.rescan(Rescan::default()) {
            self.report_error(&error);
        }
    }

    /// Matches the watched vaults to those of the note table.
    fn sync_vaults(&mut self, outdated: bool) {
        let notes = self.publication.newest().notes.clone();
        self.scans.sync(&self.settings.vaults, &notes, outdated);
        let is_served = |id: &VaultId| notes.vault(*id).is_some();
        let mut shared = self.shared.lock();
        shared.refreshed_facts.retain(|(id, _), _| is_served(id));
        shared.unindexed.retain(|id, _| is_served(id));
        shared.watch_status.retain(|id, _| is_served(id));
        shared.missing.retain(|id, _| is_served(id));
    }

    /// Replaces the list of vaults and schedules a scan of the new ones.
    fn set_vaults(&mut self, vaults: Vec<VaultSettings>) -> Result<(), IndexError> {
        let known = |vault: &VaultSettings| self.scans.has(vault);
        if let Some(missing) = vaults
            .iter()
            .find(|vault| !known(vault) && self.files.home.locate(&vault.root).identity.is_none())
        {
            let (root, reason) = (missing.root.clone(), "it is not a folder".to_owned());
            return Err(IndexError::Vault { root, reason });
        }
        let changes = vault_changes(&*self.files.home, &self.publication.newest().notes, &vaults);
        self.publish(&changes)?;
        self.settings.vaults = vaults;
        self.scans.last_full = None;
        self.sync_vaults(false);
        for at in 0..self.scans.vaults.len() {
            if self.scans.vaults[at].is_new() {
                self.start_watcher(at);
                self.scans.vaults[at].scan_now();
            }
        }
        // An interrupted move may have waited for its vault, which is scanned next.
        self.resume_move();
        self.refresh_counts();
        Ok(())
    }

    fn report_error(&mut self, error: &IndexError) {
        if matches!(error, IndexError::Stopped) {
            return;
        }
        self.persistence.store_failed =
            matches!(error, IndexError::Store(_) | IndexError::Keyword(_));
        let last = self.shared.lock().status.last_error.replace(error.to_string());
        // An error that repeats every few seconds is logged once.
        if last != Some(error.to_string()) {
            tracing::error!(%error, "indexing failed; the writer continues");
        }
    }

    fn report_outcome(&mut self, outcome: Result<(), IndexError>) {
        if let Err(error) = outcome {
            self.report_error(&error);
        }
    }

    /// Returns the time until the next scheduled task.
    fn time_until_due(&self) -> Duration {
        let unpublished = self.has_publishable_vectors();
        let due = [
            self.scans.due_at(self.settings.watch.debounce()),
            unpublished.then(|| self.publication.last_published() + PUBLISH_EVERY),
            self.vectors.wakes_at(),
            self.vectors.load_at(),
            self.vectors.shares_graph_at(),
            self.migration.due_at(),
            self.checkpoint_due_at(),
            self.following.retry_at,
        ];
        let now = Instant::now();
        let due = due.into_iter().flatten().map(|at| at.saturating_duration_since(now));
        due.min().unwrap_or(MAX_SLEEP)
    }

    /// Runs every task whose time has come.
    fn run_due_tasks(&mut self) {
        let loaded = self.load_vectors();
        self.report_outcome(loaded);
        let switched = self.switch_model();
        self.report_outcome(switched);
        self.scan_due_vaults();
        if self.vectors.is_complete()
            || self.publication.last_published().elapsed() >= PUBLISH_EVERY
        {
            let outcome = self.publish_new_vectors();
            if outcome.is_err() {
                self.publication.postpone(RETRY);
            }
            self.report_outcome(outcome);
        }
        if self.follows() {
            let generation = self.publication.generation();
            self.vectors.share_graph(&self.files.home, generation);
        } else {
            self.vectors.build_graph();
        }
        self.start_due_checkpoint();
    }

    /// Stores finished embeddings and sends the next texts to the model.
    ///
    /// Never waits for the model, so longer tasks call it in between.
    fn poll_model(&mut self) {
        if self.follows() {
            // The log brings the vectors.
            return self.vectors.wake();
        }
        while let Some(batches) = self.vectors.receive() {
            for batch in batches {
                self.store_embeddings(batch);
            }
            self.show_backlog();
        }
        // While the notes are being rebuilt, the published ones may be damaged.
        if self.publication.is_rebuilding() {
            return;
        }
        if !self.vectors.feed(&self.publication.newest().notes) {
            let line = "the embedding thread ended; searching by words and links only".to_owned();
            self.shared.lock().status.last_error = Some(line.clone());
            self.show_unavailable(Some(line));
        }
        self.shared.lock().is_embedding = self.vectors.is_embedding();
    }

    /// Stores a batch of embeddings and reports whether the model is reachable.
    fn store_embeddings(&mut self, batch: EmbeddedBatch) {
        let Some(outcome) = self.vectors.store(batch) else { return };
        let unavailable = match &outcome {
            Err(
                error @ (IndexError::Embed(EmbedError::Unavailable { .. }) | IndexError::Store(_)),
            ) => Some(error.to_string()),
            Ok(()) | Err(_) => None,
        };
        self.report_outcome(outcome);
        self.show_unavailable(unavailable);
    }

    /// Updates the reason why no vectors are being made; `None` clears it.
    fn show_unavailable(&self, unavailable: Option<String>) {
        let status = &mut self.shared.lock().status;
        if unavailable.is_none() && status.unavailable == status.last_error {
            status.last_error = None;
        }
        status.unavailable = unavailable;
    }

    fn show_phase(&self) {
        let status = &mut self.shared.lock().status;
        self.count_backlog(status);
        status.phase = if status.n_vectors_pending == 0 { Phase::Ready } else { Phase::Embedding };
    }

    fn show_backlog(&self) {
        self.count_backlog(&mut self.shared.lock().status);
    }

    fn count_backlog(&self, status: &mut IndexStatus) {
        self.vectors.count_backlog(&self.publication.newest(), status);
    }
}
