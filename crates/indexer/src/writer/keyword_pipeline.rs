//! The keyword index as the writer maintains it: encoders, commits, and rebuilds after corruption.

use crossbeam_channel::Sender;
use weft_index::keyword::{
    EncodedNote, KeywordDocument, KeywordEncoder, KeywordError, KeywordReader, KeywordWriter,
};
use weft_index::notes::{Delta, NoteTable, TableEdit};
use weft_model::{NoteBits, NoteId};

use super::Event;
use crate::parallel_map::parallel_map;
use crate::past_snapshots::PastSnapshots;
use crate::shared_status::SharedStatus;

/// The keyword index and whether it can be trusted.
pub(super) struct KeywordPipeline {
    writer: KeywordWriter,
    /// Encoder whose token cache is kept between scans; `None` while a scan uses it.
    encoder: Option<KeywordEncoder>,
    /// Corruption flag: the index may be damaged, or contain entries that no snapshot has.
    suspect: bool,
    past: PastSnapshots,
    shared: SharedStatus,
}

impl KeywordPipeline {
    pub(super) fn new(
        writer: KeywordWriter,
        past: PastSnapshots,
        shared: SharedStatus,
        events: Sender<Event>,
    ) -> Self {
        writer.on_corruption(move || {
            // The send fails only after the writer stopped, which repairs nothing any more.
            let _ = events.send(Event::KeywordsSuspect);
        });
        Self { writer, encoder: None, suspect: false, past, shared }
    }

    pub(super) const fn writer(&self) -> &KeywordWriter {
        &self.writer
    }

    pub(super) const fn reader(&self) -> &KeywordReader {
        self.writer.reader()
    }

    /// Returns true if the index must be checked before its next commit.
    pub(super) const fn is_suspect(&self) -> bool {
        self.suspect
    }

    pub(super) const fn mark_suspect(&mut self) {
        self.suspect = true;
    }

    /// Returns one encoder per core; the first one is the kept one, if any.
    pub(super) fn take_encoders(&mut self) -> Vec<KeywordEncoder> {
        encoders(&self.writer, self.encoder.take())
    }

    /// Keeps the first encoder for the next scan.
    pub(super) fn keep_encoder(&mut self, encoders: Vec<KeywordEncoder>) {
        self.encoder = encoders.into_iter().next();
    }

    /// Adds or replaces the entry of a note in the next commit.
    pub(super) fn upsert(
        &mut self,
        note: NoteId,
        encoded: EncodedNote,
    ) -> Result<(), KeywordError> {
        self.writer.upsert(note, encoded)
    }

    /// Commits a batch and, on another thread, finishes its edit of the note table.
    ///
    /// `failed` is the error of an earlier upsert of the batch, which replaces the commit.
    pub(super) fn commit(
        &mut self,
        edit: TableEdit,
        failed: Option<KeywordError>,
        generation: u64,
    ) -> (Result<KeywordReader, KeywordError>, (NoteTable, Delta)) {
        let writer = &mut self.writer;
        if let Some(error) = failed {
            return (Err(error), edit.finish());
        }
        if !edit.changes_notes() {
            return (Ok(writer.reader().clone()), edit.finish());
        }
        let removed: Vec<NoteId> = edit.removed().collect();
        let mut commit = || {
            removed.iter().try_for_each(|id| writer.delete(*id))?;
            writer.commit(generation)
        };
        let mut committed = None;
        let finished = std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("weft-commit".into());
            // If the thread cannot start, the commit runs afterwards.
            let _ = thread.spawn_scoped(scope, || committed = Some(commit()));
            edit.finish()
        });
        (committed.unwrap_or_else(commit), finished)
    }

    /// Rebuilds the index from `notes` after an error, if its files are damaged; otherwise returns the error.
    ///
    /// After an error the index may contain entries that no snapshot has; they are reconciled before the next commit.
    pub(super) fn recover(
        &mut self,
        error: KeywordError,
        notes: &NoteTable,
        generation: u64,
    ) -> Result<KeywordReader, KeywordError> {
        self.suspect = true;
        if !self.writer.verify().is_err_and(|error| error.needs_rebuild()) {
            return Err(error);
        }
        self.settle(notes, generation)?;
        Ok(self.writer.reader().clone())
    }

    /// Makes a suspect index intact and equal to `notes`; does nothing to one that is not suspect.
    pub(super) fn settle(
        &mut self,
        notes: &NoteTable,
        generation: u64,
    ) -> Result<(), KeywordError> {
        if !self.suspect {
            return Ok(());
        }
        match self.writer.verify() {
            Ok(()) => {}
            Err(error) if error.needs_rebuild() => {
                tracing::warn!(%error, "rebuilding the keyword index");
                self.shared.notice(keyword_rebuild_notice(&error));
                self.restart()?;
            }
            Err(error) => return Err(error),
        }
        reconcile(&mut self.writer, notes, generation)?;
        self.suspect = false;
        Ok(())
    }

    /// Returns true if the index files are intact, else marks the index as suspect.
    ///
    /// Reads only files that another program touched, or all of them if `always` is set.
    pub(super) fn is_intact(&mut self, always: bool) -> bool {
        let examined = if always { self.writer.verify() } else { self.writer.verify_modified() };
        self.suspect |= examined.is_err();
        examined.is_ok()
    }

    /// Rebuilds the index from `notes` whatever its files contain.
    pub(super) fn rebuild(
        &mut self,
        notes: &NoteTable,
        generation: u64,
    ) -> Result<KeywordReader, KeywordError> {
        self.suspect = true;
        self.restart()?;
        self.settle(notes, generation)?;
        Ok(self.writer.reader().clone())
    }

    /// Removes deleted entries from disk, and rebuilds the index if its files are damaged.
    pub(super) fn compact(
        &mut self,
        notes: &NoteTable,
        generation: u64,
    ) -> Result<KeywordReader, KeywordError> {
        self.past.forget();
        self.settle(notes, generation)?;
        match self.writer.compact(generation) {
            Ok(reader) => Ok(reader),
            // A rebuilt index contains nothing that was deleted.
            Err(error) => self.recover(error, notes, generation),
        }
    }

    /// Discards the index files; searches use what is in memory until the rebuild.
    fn restart(&mut self) -> Result<(), KeywordError> {
        // Past snapshots would continue to read the discarded files.
        self.past.forget();
        self.writer.reset()
    }
}

/// Returns the notice for users about a keyword index that had to be rebuilt.
pub(crate) fn keyword_rebuild_notice(error: &impl std::fmt::Display) -> String {
    format!("{error}; the keyword index was rebuilt.")
}

/// Makes the keyword index contain exactly the notes of the table; writes only the differences.
pub(crate) fn reconcile(
    keyword: &mut KeywordWriter,
    notes: &NoteTable,
    generation: u64,
) -> Result<KeywordReader, KeywordError> {
    let reader = keyword.refresh()?;
    let mut indexed = NoteBits::default();
    let mut surplus = Vec::new();
    for (id, version) in reader.versions()? {
        if notes.summary(id).is_some_and(|summary| summary.version == version) {
            indexed.insert(id);
        } else {
            surplus.push(id);
        }
    }
    let missing = notes.summaries().map(|(id, _)| id).filter(|id| !indexed.contains(*id));
    let missing: Vec<NoteId> = missing.collect();
    if surplus.is_empty() && missing.is_empty() {
        return Ok(reader);
    }
    surplus.into_iter().try_for_each(|id| keyword.delete(id))?;
    let encode = |encoder: &mut KeywordEncoder, id: &NoteId| {
        notes.entry(*id).map(|entry| encoder.encode(&KeywordDocument::of(entry)))
    };
    let n_bytes = |id: &NoteId| notes.summary(*id).map_or(0, |summary| summary.file.size);
    parallel_map(&missing, &mut encoders(keyword, None), n_bytes, encode, |id, encoded| {
        encoded.flatten().map_or(Ok(()), |encoded| keyword.upsert(*id, encoded))
    })?;
    keyword.commit(generation)
}

/// Returns one encoder per core, with `kept` first.
fn encoders(keyword: &KeywordWriter, kept: Option<KeywordEncoder>) -> Vec<KeywordEncoder> {
    let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
    let more = (usize::from(kept.is_some())..n_cores).map(|_| keyword.encoder());
    kept.into_iter().chain(more).collect()
}
