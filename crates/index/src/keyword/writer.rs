//! The write side: one writer per folder, changes in batches, a reader per commit.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tantivy::directory::error::OpenReadError;
use tantivy::directory::{Directory, DirectoryLock, Lock, RamDirectory};
use tantivy::indexer::LogMergePolicy;
use tantivy::{
    Index, IndexReader, IndexSettings, IndexWriter, ReloadPolicy, TantivyDocument, Term,
};
use weft_model::NoteId;
use weft_model::note_set::NoteBits;

use super::LanguageChoice;
use super::directory::IndexFolder;
use super::error::{KeywordError, Place};
use super::reader::{KeywordReader, Scoring};
use super::schema::{Encoder, FORMAT, Fields, KeywordDocument, schema, tokenizers};
use crate::disk::Disk;
use crate::store::Held;

/// The file by which a writer keeps others out of its folder.
const LOCK_FILE: &str = ".keyword.lock";

/// The file that says which segments count.
const LIST_FILE: &str = "meta.json";

/// The file that says which files are the index's own.
pub(super) const MANAGED_FILE: &str = ".managed.json";

/// Notes of a segment below which all count as alike in size when it comes to merging.
///
/// Here every save is a commit, and deletes what a small segment holds: such segments are merged at nearly every save, which should cost milliseconds also where notes are long.
const SMALL_SEGMENT_NOTES: u32 = 16;

/// How many times as large as another, as a power of two, a segment may be and still count as alike in size.
///
/// Wide levels are few, and so are segments: from 16 notes to 16,000 there are five.
const LEVEL_LOG_SIZE: f64 = 2.0;

/// Notes per thread that are analysed before they are handed on.
const NOTES_PER_ROUND: usize = 128;

/// Fewer notes than this are analysed on the caller's thread.
const MIN_NOTES_FOR_THREADS: usize = 32;

/// How the word index is built and read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KeywordSettings {
    /// How the language of a note is decided. An index built with another choice is refused.
    pub language: LanguageChoice,
    /// How matches are weighed.
    pub scoring: Scoring,
    /// Threads that write postings, 1 to 8; many notes at once are analysed on all cores before.
    pub threads: usize,
    /// Bytes of postings a writing thread gathers before it writes a segment; at least 15 MB.
    ///
    /// Source: measured by the library's authors; below, indexing slows down.
    pub heap_bytes_per_thread: usize,
    /// Segments of like size that are merged into one, at least 2. Fewer segments make queries quicker, merges more frequent.
    pub merge_factor: usize,
    /// Share of deleted notes above which a segment is written anew, above 0 and at most 1.
    pub max_deleted_share: f32,
}

impl Default for KeywordSettings {
    fn default() -> Self {
        Self {
            language: LanguageChoice::default(),
            scoring: Scoring::default(),
            threads: 1,
            heap_bytes_per_thread: 64 << 20,
            merge_factor: 4,
            max_deleted_share: 0.25,
        }
    }
}

/// One change to the word index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeywordChange<'n> {
    /// Adds a note, or replaces what its slot held.
    Upsert(KeywordDocument<'n>),
    /// Removes a note; an unknown one is no error.
    Delete(NoteId),
}

/// Writes the word index of one folder.
///
/// Changes become visible, and durable, with [`commit`](Self::commit).
pub struct KeywordWriter {
    index: Index,
    source: IndexReader,
    fields: Fields,
    settings: KeywordSettings,
    place: Place,
    reader: KeywordReader,
    /// Made at the first change: it brings threads with it.
    writer: Option<IndexWriter>,
    /// Notes added since the last commit.
    pending: NoteBits,
    /// Whether the last commit may hold more than the reader knows.
    reader_lags: bool,
    encoders: Vec<Encoder>,
    /// Held as long as the writer lives.
    _lock: DirectoryLock,
}

impl std::fmt::Debug for KeywordWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeywordWriter")
            .field("place", &self.place)
            .field("reader", &self.reader)
            .finish_non_exhaustive()
    }
}

impl KeywordWriter {
    /// Opens the index in `folder`, which is made if need be, and the reader of its last commit.
    ///
    /// Fails with [`KeywordError::Locked`] while another writer holds the folder,
    /// with [`KeywordError::Corrupt`] or [`KeywordError::Incompatible`] where [`recreate`](Self::recreate) would help.
    /// Every file is compared with its checksum, so what opens is whole: `O(bytes)`, at the speed of reading.
    pub fn open_or_create(
        disk: &Disk,
        folder: &Path,
        settings: KeywordSettings,
    ) -> Result<(Self, KeywordReader), KeywordError> {
        let place = Place(Arc::new(folder.to_path_buf()));
        disk.create_folder(folder).map_err(|error| place.io(error))?;
        Self::open(IndexFolder::open(disk, folder, &place)?, settings, place)
    }

    /// The same with an index that lives in memory and is gone with its writer and readers.
    pub fn in_memory(settings: KeywordSettings) -> Result<(Self, KeywordReader), KeywordError> {
        Self::open(RamDirectory::create(), settings, Place(Arc::new(PathBuf::from("memory"))))
    }

    /// Throws away what lies in `folder` and begins an empty index there.
    ///
    /// Only the index's own files are removed; nothing is while another writer holds the folder.
    pub fn recreate(
        disk: &Disk,
        folder: &Path,
        settings: KeywordSettings,
    ) -> Result<(Self, KeywordReader), KeywordError> {
        let place = Place(Arc::new(folder.to_path_buf()));
        if folder.exists() {
            let _lock = lock(&IndexFolder::open(disk, folder, &place)?, &place)?;
            remove_index_files(disk, folder).map_err(|error| place.io(error))?;
        }
        Self::open_or_create(disk, folder, settings)
    }

    fn open(
        directory: impl Directory,
        settings: KeywordSettings,
        place: Place,
    ) -> Result<(Self, KeywordReader), KeywordError> {
        let failed = |error| place.tantivy(error);
        let lock = lock(&directory, &place)?;
        let (schema, fields) = schema();
        let exists = Index::exists(&directory).map_err(|error: OpenReadError| place.read(error))?;
        let mut index = if exists {
            Index::open(directory)
        } else {
            Index::create(directory, schema.clone(), IndexSettings::default())
        }
        .map_err(failed)?;
        index.set_tokenizers(tokenizers());
        let metas = index.load_metas().map_err(failed)?;
        let generation = match &metas.payload {
            Some(payload) => generation_of(payload, settings.language, &place)?,
            None if metas.segments.is_empty() => 0,
            None => return Err(place.corrupt("its last commit does not say what it is")),
        };
        if index.schema() != schema {
            return Err(place.incompatible("another schema", analysis_of(settings.language)));
        }
        verify(&index, &place)?;
        let source = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .doc_store_cache_num_blocks(0);
        let source: IndexReader = source.try_into().map_err(failed)?;
        let reader_settings = (settings.scoring, settings.language.fallback());
        let reader = KeywordReader::open(
            &source.searcher(),
            None,
            generation,
            reader_settings,
            &fields,
            &place,
        )?;
        let writer = Self {
            index,
            source,
            fields,
            settings,
            place,
            reader: reader.clone(),
            writer: None,
            pending: NoteBits::default(),
            reader_lags: false,
            encoders: Vec::new(),
            _lock: lock,
        };
        Ok((writer, reader))
    }

    /// Takes in changes, in order; a later change of a note overrides an earlier one.
    ///
    /// Nothing is visible before the next commit. After an error everything since the last commit is forgotten.
    pub fn apply(&mut self, changes: &[KeywordChange<'_>]) -> Result<(), KeywordError> {
        let outcome = self.try_apply(changes);
        self.forget_unless(outcome)
    }

    fn try_apply(&mut self, changes: &[KeywordChange<'_>]) -> Result<(), KeywordError> {
        if changes.is_empty() {
            return Ok(());
        }
        self.start()?;
        let n_threads = std::thread::available_parallelism().map_or(1, usize::from);
        for round in changes.chunks(NOTES_PER_ROUND * n_threads) {
            let documents = self.documents(round, n_threads);
            for (change, document) in round.iter().zip(documents) {
                self.change(change, document)?;
            }
        }
        Ok(())
    }

    /// Makes everything applied so far visible and durable as `generation`, and gives the reader that sees it.
    ///
    /// Cost: mostly waiting for the disk.
    /// After an error everything since the last commit is forgotten; if the commit itself came about, the next one shows it too.
    pub fn commit(&mut self, generation: u64) -> Result<KeywordReader, KeywordError> {
        let outcome = self.try_commit(generation);
        self.forget_unless(outcome)
    }

    /// Forgets everything since the last commit where something failed.
    fn forget_unless<T>(&mut self, outcome: Result<T, KeywordError>) -> Result<T, KeywordError> {
        if outcome.is_err() {
            self.end();
            self.pending = NoteBits::default();
            // The last commit may be newer than the reader knows.
            self.reader_lags = true;
        }
        outcome
    }

    fn try_commit(&mut self, generation: u64) -> Result<KeywordReader, KeywordError> {
        self.start()?;
        let payload = format!("{generation} {}", analysis_of(self.settings.language));
        if let Some(writer) = &mut self.writer {
            let failed = |error| self.place.tantivy(error);
            let mut commit = writer.prepare_commit().map_err(failed)?;
            commit.set_payload(&payload);
            commit.commit().map_err(failed)?;
        }
        self.pending = NoteBits::default();
        self.reload(generation)
    }

    /// Commits as `generation`, merges everything into one segment and removes the files of the past, so that no deleted text is left on disk.
    ///
    /// Waits for merges under way. Where files cannot be removed while they are read, the text is gone once all earlier readers are.
    pub fn compact(&mut self, generation: u64) -> Result<KeywordReader, KeywordError> {
        let outcome = self.try_compact(generation);
        self.forget_unless(outcome)
    }

    fn try_compact(&mut self, generation: u64) -> Result<KeywordReader, KeywordError> {
        self.try_commit(generation)?;
        let failed = |error| self.place.tantivy(error);
        // A segment that is being merged in the background cannot be merged by us.
        if let Some(writer) = self.writer.take() {
            writer.wait_merging_threads().map_err(failed)?;
        }
        let segments = self.index.searchable_segment_metas().map_err(failed)?;
        let is_compact =
            segments.len() <= 1 && segments.iter().all(|segment| !segment.has_deletes());
        let segments: Vec<_> = segments.iter().map(tantivy::SegmentMeta::id).collect();
        self.start()?;
        if let Some(writer) = self.writer.as_mut().filter(|_| !is_compact) {
            let failed = |error| self.place.tantivy(error);
            writer.merge(&segments).wait().map_err(failed)?;
        }
        let reader = self.reload(generation)?;
        if let Some(writer) = &self.writer {
            writer.garbage_collect_files().wait().map_err(|error| self.place.tantivy(error))?;
        }
        Ok(reader)
    }

    /// The reader of the last commit.
    #[must_use]
    pub const fn reader(&self) -> &KeywordReader {
        &self.reader
    }

    /// The files of the last commit, which lies in `folder`, held open.
    ///
    /// Segments may be merged meanwhile, in the background: then the files of the merged one are taken.
    pub(crate) fn held(&self, folder: &Path) -> std::io::Result<Vec<Held>> {
        let list = || std::fs::read(folder.join(LIST_FILE));
        loop {
            let before = list()?;
            let metas = self.index.load_metas().map_err(std::io::Error::other)?;
            let ids: Vec<String> =
                metas.segments.iter().map(|segment| segment.id().uuid_string()).collect();
            let mut files = Vec::new();
            for entry in std::fs::read_dir(folder)?.flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                let counts = ids.iter().any(|id| name.starts_with(id))
                    || matches!(&*name, LIST_FILE | MANAGED_FILE);
                if !counts {
                    continue;
                }
                match Held::open(entry.path(), None) {
                    // It was merged away; the list is another then.
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                    opened => files.push(opened?),
                }
            }
            if list()? == before {
                return Ok(files);
            }
        }
    }

    fn reload(&mut self, generation: u64) -> Result<KeywordReader, KeywordError> {
        self.source.reload().map_err(|error| self.place.tantivy(error))?;
        let searcher = self.source.searcher();
        let settings = (self.settings.scoring, self.settings.language.fallback());
        let reader = KeywordReader::open(
            &searcher,
            Some(&self.reader),
            generation,
            settings,
            &self.fields,
            &self.place,
        )?;
        self.reader = reader.clone();
        self.reader_lags = false;
        Ok(reader)
    }

    /// The reader of the last commit, read anew where an error may have left it behind.
    pub fn refresh(&mut self) -> Result<KeywordReader, KeywordError> {
        if self.reader_lags {
            self.reload(self.reader.0.generation)?;
        }
        Ok(self.reader.clone())
    }

    /// Lets the library's writer go, once the merges under way are done: one that outlived it would still remove what it believes merged away, under the eyes of the next.
    fn end(&mut self) {
        if let Some(writer) = self.writer.take()
            && let Err(error) = writer.wait_merging_threads()
        {
            tracing::warn!(%error, "a merge of the word index was not finished");
        }
    }

    fn start(&mut self) -> Result<(), KeywordError> {
        if self.writer.is_some() {
            return Ok(());
        }
        let KeywordSettings { threads, heap_bytes_per_thread, .. } = self.settings;
        let threads = threads.max(1);
        let writer = self
            .index
            .writer_with_num_threads(threads, threads * heap_bytes_per_thread)
            .map_err(|error| self.place.tantivy(error))?;
        writer.set_merge_policy(Box::new(merges(&self.settings)));
        self.writer = Some(writer);
        Ok(())
    }

    /// The documents of the upserts among `changes`, analysed on several threads where that pays.
    fn documents(
        &mut self,
        changes: &[KeywordChange<'_>],
        n_threads: usize,
    ) -> Vec<Option<TantivyDocument>> {
        let n_threads = if changes.len() < MIN_NOTES_FOR_THREADS { 1 } else { n_threads };
        self.encoders.resize_with(n_threads.max(self.encoders.len()), Encoder::default);
        let (fields, choice) = (&self.fields, self.settings.language);
        let document = |encoder: &mut Encoder, change: &KeywordChange<'_>| match change {
            KeywordChange::Upsert(note) => Some(encoder.document(fields, note, choice)),
            KeywordChange::Delete(_) => None,
        };
        let n_each = changes.len().div_ceil(n_threads);
        std::thread::scope(|scope| {
            let mut shares = changes.chunks(n_each).zip(&mut self.encoders);
            let first = shares.next();
            let others: Vec<_> = shares
                .map(|(share, encoder)| {
                    scope.spawn(move || {
                        share.iter().map(|change| document(encoder, change)).collect::<Vec<_>>()
                    })
                })
                .collect();
            let mut documents: Vec<_> = first
                .into_iter()
                .flat_map(|(share, encoder)| {
                    share.iter().map(|change| document(encoder, change)).collect::<Vec<_>>()
                })
                .collect();
            for other in others {
                match other.join() {
                    Ok(share) => documents.extend(share),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            documents
        })
    }

    fn change(
        &mut self,
        change: &KeywordChange<'_>,
        document: Option<TantivyDocument>,
    ) -> Result<(), KeywordError> {
        let Some(writer) = &self.writer else { return Ok(()) };
        let note = match change {
            KeywordChange::Upsert(note) => note.note,
            KeywordChange::Delete(note) => *note,
        };
        if self.reader_lags || self.reader.contains(note) || self.pending.contains(note) {
            writer.delete_term(Term::from_field_u64(self.fields.note, u64::from(note.get())));
        }
        if let Some(document) = document {
            writer.add_document(document).map_err(|error| self.place.tantivy(error))?;
            self.pending.insert(note);
        }
        Ok(())
    }
}

impl Drop for KeywordWriter {
    fn drop(&mut self) {
        self.end();
    }
}

/// Which segments are merged: neighbours in size, where they are many or one of them has lost many notes.
fn merges(settings: &KeywordSettings) -> LogMergePolicy {
    let KeywordSettings { merge_factor, max_deleted_share, .. } = settings;
    let mut policy = LogMergePolicy::default();
    policy.set_min_num_segments((*merge_factor).max(2));
    policy.set_del_docs_ratio_before_merge(max_deleted_share.clamp(f32::MIN_POSITIVE, 1.0));
    policy.set_min_layer_size(SMALL_SEGMENT_NOTES);
    policy.set_level_log_size(LEVEL_LOG_SIZE);
    policy
}

/// Reads every file before anything is decoded: damage is found here, and not as a panic or a wrong answer.
fn verify(index: &Index, place: &Place) -> Result<(), KeywordError> {
    let damaged = index.validate_checksum().map_err(|error| place.tantivy(error))?;
    if damaged.is_empty() {
        return Ok(());
    }
    let mut names: Vec<String> = damaged.iter().map(|file| file.display().to_string()).collect();
    names.sort();
    Err(place.corrupt(format!("wrong checksum: {}", names.join(", "))))
}

fn lock(directory: &impl Directory, place: &Place) -> Result<DirectoryLock, KeywordError> {
    let lock = Lock { filepath: PathBuf::from(LOCK_FILE), is_blocking: false };
    directory.acquire_lock(&lock).map_err(|error| place.lock(error))
}

/// What the terms of an index depend on.
fn analysis_of(language: LanguageChoice) -> String {
    match language {
        LanguageChoice::Detect { fallback } => {
            format!("format {FORMAT}, detected languages, else {fallback:?}")
        }
        LanguageChoice::Fixed(language) => format!("format {FORMAT}, {language:?}"),
    }
}

/// The generation that a commit's payload names, if the commit was made with the same analysis.
fn generation_of(
    payload: &str,
    language: LanguageChoice,
    place: &Place,
) -> Result<u64, KeywordError> {
    let parsed = payload
        .split_once(' ')
        .and_then(|(generation, analysis)| Some((generation.parse().ok()?, analysis)));
    let Some((generation, analysis)) = parsed else {
        return Err(place.corrupt(format!("its last commit says `{payload}`")));
    };
    let expected = analysis_of(language);
    if analysis != expected {
        return Err(place.incompatible(analysis, expected));
    }
    Ok(generation)
}

/// Removes what an index leaves in its folder: its two lists of files and the segments, named by 32 hexadecimal digits.
fn remove_index_files(disk: &Disk, folder: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let stem = name.split('.').next().unwrap_or_default();
        let is_segment = stem.len() == 32 && stem.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_segment || matches!(&*name, LIST_FILE | MANAGED_FILE) {
            disk.remove_file(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tantivy::index::SegmentId;
    use tantivy::indexer::MergePolicy as _;

    use super::*;

    #[test]
    fn a_save_rewrites_no_more_than_a_few_notes() {
        let cases: [(&str, &[u32], &[u32]); 7] = [
            ("few saves", &[949, 1, 1, 1], &[]),
            ("many saves beside all notes", &[949, 1, 1, 1, 1], &[1, 1, 1, 1]),
            ("many beside what they were merged to", &[949, 60, 9, 1, 1], &[60, 9, 1, 1]),
            ("few beside what is large by now", &[949, 70, 9, 1, 1], &[]),
            ("what was merged of many", &[949, 70, 70, 70, 70], &[70, 70, 70, 70]),
            ("all of a size", &[949, 300, 300, 300], &[949, 300, 300, 300]),
            ("a large vault", &[20_000, 4_000, 900, 200, 60, 1, 1], &[]),
        ];
        let index = Index::create_in_ram(schema().0);
        for (name, sizes, expected) in cases {
            let metas: Vec<_> = sizes
                .iter()
                .map(|n| index.new_segment_meta(SegmentId::generate_random(), *n))
                .collect();
            let found = merges(&KeywordSettings::default()).compute_merge_candidates(&metas);
            let size =
                |id: &SegmentId| metas.iter().find(|meta| meta.id() == *id).unwrap().max_doc();
            let found: Vec<u32> = found.iter().flat_map(|merge| merge.0.iter().map(size)).collect();
            assert_eq!(found, expected, "{name}");
        }
    }
}
