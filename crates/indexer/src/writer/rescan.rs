//! Scans: detects what changed in an area of a vault and publishes it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use weft_index::Store;
use weft_index::notes::{Change, FileMetadata, NoteTable, VaultId};

use super::file_reader::{FileOutcome, FileReader};
use super::vault_scans::ScanMode;
use super::{Event, Writer};
use crate::deletion_decision::{DeletionDecision, MissingNotes};
use crate::index_status::{FileState, Phase};
use crate::parallel_map::parallel_map;
use crate::scan::{ScanArea, ScanError, ScanResult, ScannedFile, SkippedEntry};
use crate::shared_status::{UnindexedFile, WatchStatus};
use crate::{IndexError, Rescan};

/// Minimum number of changes that are published before a scan ends.
const CHANGES_PER_BATCH: usize = 8192;

impl Writer {
    /// Scans what is due in all vaults.
    pub(super) fn scan_due_vaults(&mut self) {
        let now = Instant::now();
        if self.follows() {
            return self.follow_if_due(now);
        }
        if self.scans.vaults.iter().any(|vault| vault.is_poll_due(now)) {
            self.check_store();
            self.retry_move();
        }
        for at in 0..self.scans.vaults.len() {
            let debounce = self.settings.watch.debounce();
            let mut area = self.scans.vaults[at].take_due(now, debounce);
            if self.scans.vaults[at].is_poll_due(now) && self.poll_vault(at) {
                area = ScanArea::WHOLE;
            }
            if !area.is_nothing() {
                self.scan_or_retry(at, area);
            }
        }
    }

    /// Follows the log if a failed attempt is to be repeated.
    fn follow_if_due(&mut self, now: Instant) {
        let mut is_due = self.following.retry_at.take_if(|at| *at <= now).is_some();
        for vault in &mut self.scans.vaults {
            is_due |= !vault.take_due(now, self.settings.watch.debounce()).is_nothing();
        }
        if is_due {
            self.follow_reported();
        }
    }

    /// Checks where a vault is; returns true if all its files must be scanned.
    fn poll_vault(&mut self, at: usize) -> bool {
        self.scans.vaults[at].begin_poll();
        let is_other = self.relocate(at);
        self.scans.vaults[at].end_poll(is_other, &self.settings.watch)
    }

    /// Updates a vault's location and watches it there; returns true if its folder is another one than before.
    fn relocate(&mut self, at: usize) -> bool {
        let is_other = self.scans.vaults[at].relocate(&*self.files.home);
        if is_other {
            self.start_watcher(at);
        }
        is_other
    }

    /// Scans all files of vaults whose location changed, so that no write goes to the old location.
    pub(super) fn relocate_all(&mut self) {
        for at in 0..self.scans.vaults.len() {
            if self.relocate(at) {
                self.scan_or_retry(at, ScanArea::WHOLE);
            }
        }
    }

    /// Scans an area; schedules a retry on failure.
    fn scan_or_retry(&mut self, at: usize, area: ScanArea) {
        self.reset_progress();
        let before = self.last_error();
        // Scheduled scans cover the whole vault; a smaller area was reported as changed.
        let mode = ScanMode { reported: !area.is_whole(), ..ScanMode::default() };
        match self.scan_area(at, area, mode) {
            Ok(()) => {
                self.clear_error(before);
                self.finish_recovery();
            }
            Err(error) => {
                self.report_error(&error);
                self.scans.vaults[at].retry();
            }
        }
    }

    /// Returns the last reported error.
    pub(super) fn last_error(&self) -> Option<String> {
        self.shared.lock().status.last_error.clone()
    }

    /// Clears the error that was reported `before`, once every vault could be scanned.
    ///
    /// Errors reported since, for example by the model, remain, and so do those of a failing checkpoint or an unfinished move.
    pub(super) fn clear_error(&mut self, before: Option<String>) {
        if self.scans.none_failed() {
            let failing = self.persistence.checkpoint.error();
            let last = &mut self.shared.lock().status.last_error;
            let since = last.take().filter(|last| Some(last) != before.as_ref());
            let lasting = || failing.cloned().or_else(|| self.files.unfinished_move.clone());
            *last = since.or_else(lasting);
            self.persistence.store_failed = failing.is_some();
        }
    }

    /// Ends the recovery after an unclean shutdown once every vault could be scanned, and notifies those who wait for it.
    pub(super) fn finish_recovery(&self) {
        if self.scans.none_failed() && self.shared.lock().status.recovering.take().is_some() {
            self.shared.published(self.publication.generation());
        }
    }

    fn reset_progress(&self) {
        let status = &mut self.shared.lock().status;
        (status.n_files_done, status.n_files_total) = (0, 0);
    }

    /// Scans every file of every vault and publishes the changes, if there are any.
    ///
    /// A vault that cannot be scanned is retried later and does not stop the others; the first error is returned.
    pub(super) fn rescan(&mut self, options: Rescan) -> Result<(), IndexError> {
        self.reset_progress();
        // A caller does not wait for the scheduled retry of the model.
        self.vectors.wake();
        let before = self.last_error();
        let mut outcome = self.load_vectors_now();
        if let Err(error) = &outcome {
            self.report_error(error);
        }
        self.shared.lock().status.phase = Phase::Scanning;
        let Rescan { full, compact, choose_model } = options;
        if full {
            self.check_notes(true)?;
        }
        self.scans.last_full = Some(Instant::now());
        if let Err(error) = self.follow(full) {
            self.report_error(&error);
            outcome = outcome.and(Err(error));
        }
        let n_scans = if self.follows() { 0 } else { self.scans.vaults.len() };
        for at in 0..n_scans {
            let mode = ScanMode { full, ..ScanMode::default() };
            if let Err(error) = self.scan_area(at, ScanArea::WHOLE, mode) {
                self.report_error(&error);
                self.scans.vaults[at].retry();
                outcome = outcome.and(Err(error));
            }
        }
        self.finish_recovery();
        if full {
            self.rebuild_keywords()?;
            self.check_vectors(true)?;
        }
        if choose_model {
            self.choose_model()?;
        }
        if compact {
            self.compact()?;
        }
        if outcome.is_ok() {
            self.clear_error(before);
        } else {
            self.scans.last_full = None;
        }
        outcome
    }

    /// Scans every file of every vault, unless that was done since `moment` and no scan has to be repeated.
    pub(super) fn rescan_since(&mut self, moment: Instant) -> Result<(), IndexError> {
        if !self.follows() && !self.keyword.is_suspect() && self.scans.is_current_since(moment) {
            return Ok(());
        }
        self.rescan(Rescan::default())
    }

    /// Scans an area of a vault and publishes the changes, if there are any; follows the log if its home has one.
    pub(super) fn scan_area(
        &mut self,
        at: usize,
        area: ScanArea,
        mode: ScanMode,
    ) -> Result<(), IndexError> {
        if self.follows() { self.follow(false) } else { self.scan_area_now(at, area, mode) }
    }

    /// Scans an area of a vault and publishes the changes, or collects them for the generation that is being followed.
    pub(super) fn scan_area_now(
        &mut self,
        at: usize,
        area: ScanArea,
        mode: ScanMode,
    ) -> Result<(), IndexError> {
        self.scans.check_interrupted()?;
        self.check_notes(false)?;
        let deleted = if mode.deletes { area.paths() } else { Vec::new() };
        let area = if self.relocate(at) { ScanArea::WHOLE } else { area };
        let vault = &mut self.scans.vaults[at];
        let (id, root) = (vault.id, vault.root.clone());
        let home = Arc::clone(&self.files.home);
        let (area, scanned) = vault.list(&*home, &self.settings.scan, &self.settings.watch, area);
        let scanned = match scanned {
            Ok(scanned) => scanned,
            Err(source) => {
                if home.locate(&root).identity.is_none() {
                    self.all_missing(at, &deleted)?;
                }
                return Err(match source {
                    ScanError::Read { source, .. } if self.follows() => source.into(),
                    source @ (ScanError::Read { .. }
                    | ScanError::Glob { .. }
                    | ScanError::Outside { .. }
                    | ScanError::TooLong { .. }
                    | ScanError::NoFile { .. }) => IndexError::vault(root, &source),
                });
            }
        };
        let vault = &self.scans.vaults[at];
        let (full, reported) = (mode.full || vault.outdated, mode.reported && !area.is_whole());
        let mode = ScanMode { full, reported, ..mode };
        let ScanResult { found, attachments, skipped, has_path_aliases: _, leftover_temp_files } =
            scanned;
        self.scans.last_full.take_if(|_| skipped.iter().any(|skipped| skipped.failed));
        self.files.vaults.remove_stale_temp_files(&leftover_temp_files);
        let notes = self.publication.notes();
        let paths = area.paths();
        self.scans.vaults[at].set_canvases(&paths, attachments);
        let missing = self.missing_from(id, &notes, &paths, &found);
        let missing = MissingNotes::new(missing, &skipped, &self.settings.scan);
        let mut unindexed: BTreeMap<String, UnindexedFile> =
            skipped.into_iter().map(unindexed_of_skipped).collect();
        let changed = self.changed_files(id, &notes, &found, mode, &mut unindexed);
        {
            let mut shared = self.shared.lock();
            let status = &mut shared.status;
            if !changed.is_empty() {
                status.phase = Phase::Indexing;
            }
            status.n_files_total += found.len();
            status.n_files_done += found.len() - changed.len();
        }
        let options = (mode.full, &*deleted);
        self.index_files((id, &root), &notes, &changed, missing, &mut unindexed, options)?;
        self.scans.vaults[at].outdated &= !area.is_whole();
        let (before, after) = {
            let mut shared = self.shared.lock();
            let before = shared.unreadable_folders(id);
            shared.set_unindexed(id, &paths, unindexed);
            shared.count(&self.publication.newest());
            (before, shared.unreadable_folders(id))
        };
        // A folder that was unreadable is not watched, nor is anything below it.
        if before != after {
            self.start_watcher(at);
            // Changes between this scan and the start of the watcher were not reported.
            self.scans.vaults[at].scan_now();
        }
        Ok(())
    }

    /// Returns the files whose content may have changed; known unindexed files keep their entry.
    fn changed_files<'f>(
        &self,
        vault: VaultId,
        notes: &NoteTable,
        found: &'f [ScannedFile],
        mode: ScanMode,
        unindexed: &mut BTreeMap<String, UnindexedFile>,
    ) -> Vec<&'f ScannedFile> {
        let shared = self.shared.lock();
        let known_unindexed = shared.unindexed.get(&vault);
        let mut changed = Vec::new();
        for file in found {
            let key = (vault, file.path.clone());
            let summary = notes.at(vault, &file.path).and_then(|id| notes.summary(id));
            let before = known_unindexed.and_then(|files| files.get_key_value(file.path.as_str()));
            let refreshed = shared.refreshed_facts.get(&key);
            let holds = |facts: &FileMetadata| facts.is_unchanged(&file.facts);
            match (summary, before) {
                _ if mode.full || mode.reported => changed.push(file),
                (Some(summary), _) if holds(&summary.file) || refreshed.is_some_and(holds) => {}
                // A failed read may succeed now: file facts do not include who may read it.
                (None, Some((path, before)))
                    if before.state != FileState::Failed && holds(&before.facts) =>
                {
                    unindexed.insert(path.clone(), before.clone());
                }
                _ => changed.push(file),
            }
        }
        changed
    }

    /// Reads changed files and publishes their content; the last publication deletes the notes of missing files, unless the deletion guard keeps them.
    ///
    /// The guard does not keep notes at or below the `deleted` paths.
    /// All cores read files ahead while the writer indexes and publishes, and the model embeds what was published before.
    /// Links of new notes may touch the whole table, so the cost of a publication grows with it: batches are sized so that all publications together cost twice the last one.
    /// A file with the content of a missing one is treated as that file, moved.
    fn index_files(
        &mut self,
        (vault, root): (VaultId, &Path),
        notes: &NoteTable,
        changed: &[&ScannedFile],
        mut missing: MissingNotes<UnindexedFile>,
        unindexed: &mut BTreeMap<String, UnindexedFile>,
        (full, deleted): (bool, &[String]),
    ) -> Result<(), IndexError> {
        let home = Arc::clone(&self.files.home);
        let reader = FileReader {
            home: &*home,
            vault,
            root,
            max_bytes: self.settings.scan.max_file_bytes,
            parse: self.settings.parse.clone(),
            pdf: self.settings.pdf,
            chunks: self.settings.chunks,
            embedder: self.vectors.embedder().cloned(),
            spill: self.persistence.store().map(Store::spill),
            notes,
            full,
            // Entries of other settings must be persisted again even if they are equal.
            outdated: self.scans.is_outdated(vault),
        };
        let mut encoders = self.keyword.take_encoders();
        let mut batch = self.following.take_batch();
        let n_bytes = |file: &&ScannedFile| file.facts.size;
        let read = |encoder: &mut _, file: &&ScannedFile| reader.read(file, encoder);
        let outcome = parallel_map(changed, &mut encoders, n_bytes, read, |file, read| {
            self.scans.check_interrupted()?;
            // The model continues with what is published.
            self.poll_model();
            self.shared.lock().status.n_files_done += 1;
            match read.unwrap_or_else(|| FileOutcome::panicked(file)) {
                FileOutcome::Note(entry, encoded) => {
                    self.following.add_texts(entry.chunks.iter().map(|chunk| chunk.hash));
                    let key = (vault, entry.note.path.clone());
                    self.shared.lock().refreshed_facts.remove(&key);
                    let is_new = notes.at(vault, &entry.note.path).is_none();
                    let old = is_new.then(|| missing.take_moved(entry.file.hash)).flatten();
                    let change = match old {
                        Some(old) => Change::Move(old, entry),
                        None => Change::Upsert(entry),
                    };
                    self.add_change(&mut batch, &change, Some(encoded))?;
                }
                // The state of the log is not complete without the file.
                FileOutcome::Unreachable(source) => return Err(source.into()),
                FileOutcome::Unchanged(path, facts) => {
                    self.shared.lock().refreshed_facts.insert((vault, path), facts);
                }
                FileOutcome::NotIndexed(path, file) => {
                    // The file may have been renamed since the scan.
                    self.scans.last_full.take_if(|_| file.state == FileState::Failed);
                    let is_known = notes.at(vault, &path).is_some();
                    if is_known && file.state == FileState::Failed {
                        missing.unreadable(path, file);
                        return Ok(());
                    }
                    if is_known {
                        self.add_change(&mut batch, &Change::Remove(vault, path.clone()), None)?;
                    }
                    unindexed.insert(path.as_str().to_owned(), file);
                }
            }
            let is_large =
                batch.len() >= CHANGES_PER_BATCH.max(self.publication.newest().notes.n_notes());
            if is_large && !self.following.is_running() {
                self.publish_batch(std::mem::take(&mut batch))?;
            }
            Ok::<(), IndexError>(())
        });
        self.keyword.keep_encoder(encoders);
        if matches!(outcome, Err(IndexError::Stopped)) && !self.following.is_running() {
            // Files that were read need not be read again after the restart.
            self.publish_batch(std::mem::take(&mut batch))?;
        }
        outcome?;
        let n_notes = notes.vault_stats(vault).n_notes;
        let guard = self.settings.deletion_guard;
        let DeletionDecision { kept, dropped } =
            missing.decide(deleted, |n_missing| guard.holds(n_missing, n_notes));
        for (path, file) in dropped {
            unindexed.extend(file.map(|file| (path.as_str().to_owned(), file)));
            self.shared.lock().refreshed_facts.remove(&(vault, path.clone()));
            self.add_change(&mut batch, &Change::Remove(vault, path), None)?;
        }
        if let Some(change) = self.missing_count_change(vault, kept.len()) {
            self.add_change(&mut batch, &change, None)?;
        }
        if let Some(batch) = self.following.keep_batch(batch) {
            self.publish_batch(batch)?;
        }
        self.set_missing(vault, kept);
        Ok(())
    }

    /// Starts the watcher of a vault, in place of the old one.
    pub(super) fn start_watcher(&mut self, at: usize) {
        let vault = &mut self.scans.vaults[at];
        let (home, id) = (&self.files.home, vault.id);
        let event = move |touched| Event::Touched(id, touched);
        let notice = vault.watch(&**home, &self.settings.watch, &self.events, event);
        let status = WatchStatus { state: vault.watcher.state, notice: notice.clone() };
        let before = self.shared.lock().watch_status.insert(vault.id, status);
        if let Some(notice) =
            notice.filter(|new| before.is_none_or(|it| it.notice.as_ref() != Some(new)))
        {
            tracing::warn!("{notice}");
        }
    }
}

fn unindexed_of_skipped(file: SkippedEntry) -> (String, UnindexedFile) {
    let SkippedEntry { path, reason, failed } = file;
    let state = if failed { FileState::Failed } else { FileState::Skipped };
    (path, UnindexedFile { state, reason, facts: FileMetadata::default() })
}
