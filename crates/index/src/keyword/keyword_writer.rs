//! Keyword writer: one writer per folder, batched changes, a reader per commit.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::directory::error::OpenReadError;
use tantivy::directory::{Directory, DirectoryLock, Lock, RamDirectory};
use tantivy::indexer::NoMergePolicy;
use tantivy::{Index, IndexReader, IndexSettings, IndexWriter, ReloadPolicy, Term};
use weft_model::NoteId;
use weft_model::note_set::NoteBits;

use super::checksum_cache::{ChecksumCache, files_of};
use super::corruption_flag::CorruptionFlag;
use super::encoded_note::{EncodedNote, tokenizers};
use super::index_directory::{IndexDirectory, MANAGED_FILE};
use super::index_schema::{FORMAT, SchemaFields, schema};
use super::indexing_queue::{IndexingQueue, QueuedNote};
use super::keyword_encoder::KeywordEncoder;
use super::keyword_error::{IndexLocation, KeywordError};
use super::keyword_reader::KeywordReader;
use super::keyword_settings::KeywordSettings;
use super::language_detection::LanguageChoice;
use super::merge_policy::VerifiedMergePolicy;
use crate::disk::Disk;
use crate::open_file::OpenFile;

/// Lock file of the writer.
const LOCK_FILE: &str = ".keyword.lock";

/// File that lists the segments of the last commit.
const LIST_FILE: &str = "meta.json";

/// Block size of the stored term lists in bytes: the minimum read to load one of them. Existing indexes keep the block size they were created with.
///
/// The term list of a note of 200 words takes 1.5 kB.
const STORE_BLOCK_BYTES: usize = 4096;

/// Writer of the keyword index in one folder.
///
/// Changes become visible and durable with [`commit`](Self::commit).
pub struct KeywordWriter {
    /// `None` for an index in memory.
    disk: Option<Disk>,
    index: Index,
    source: IndexReader,
    fields: SchemaFields,
    settings: KeywordSettings,
    location: IndexLocation,
    corruption: Arc<CorruptionFlag>,
    checksums: ChecksumCache,
    reader: KeywordReader,
    /// Created at the first change, because it starts threads.
    writer: Option<IndexWriter<QueuedNote>>,
    queue: IndexingQueue,
    /// Notes added since the last commit.
    pending: NoteBits,
    /// True if the reader may be older than the last commit.
    reader_lags: bool,
    /// Held for the lifetime of the writer.
    lock: Option<DirectoryLock>,
}

impl std::fmt::Debug for KeywordWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeywordWriter")
            .field("location", &self.location)
            .field("reader", &self.reader)
            .finish_non_exhaustive()
    }
}

impl KeywordWriter {
    /// Opens the index in `folder`, creating it if needed, and returns the writer with the reader of the last commit.
    ///
    /// Fails with [`KeywordError::Locked`] while another writer holds the folder,
    /// and with [`KeywordError::Corrupt`] or [`KeywordError::Incompatible`] if the index must be [recreated](Self::recreate).
    /// Verifies the checksum of every file: `O(bytes)`, at read speed.
    pub fn open_or_create(
        disk: &Disk,
        folder: &Path,
        settings: KeywordSettings,
    ) -> Result<(Self, KeywordReader), KeywordError> {
        Self::open(Some(disk.clone()), IndexLocation::new(folder), settings, false)
    }

    /// Creates an index in memory, which is dropped with its writer and readers.
    pub fn in_memory(settings: KeywordSettings) -> Result<(Self, KeywordReader), KeywordError> {
        Self::open(None, IndexLocation::new(Path::new("memory")), settings, false)
    }

    /// Replaces the index in `folder` with an empty one.
    ///
    /// Deletes only files of the index. Fails without deleting anything while another writer holds the folder.
    pub fn recreate(
        disk: &Disk,
        folder: &Path,
        settings: KeywordSettings,
    ) -> Result<(Self, KeywordReader), KeywordError> {
        Self::open(Some(disk.clone()), IndexLocation::new(folder), settings, true)
    }

    fn open(
        disk: Option<Disk>,
        location: IndexLocation,
        settings: KeywordSettings,
        recreate: bool,
    ) -> Result<(Self, KeywordReader), KeywordError> {
        let corruption = Arc::default();
        let (fields, opened) =
            OpenIndex::new(disk.as_ref(), &location, &settings, &corruption, recreate)?;
        let OpenIndex { location, lock, index, source, checksums, reader } = opened;
        let writer = Self {
            disk,
            index,
            source,
            fields,
            settings,
            location,
            corruption,
            checksums,
            reader: reader.clone(),
            writer: None,
            queue: IndexingQueue::default(),
            pending: NoteBits::default(),
            reader_lags: false,
            lock: Some(lock),
        };
        Ok((writer, reader))
    }

    /// Replaces the content of the folder, whatever it is, with an empty index. Earlier readers stay valid.
    ///
    /// After an error there may be no index; call it again.
    pub fn reset(&mut self) -> Result<(), KeywordError> {
        self.stop();
        (self.pending, self.reader_lags) = (NoteBits::default(), true);
        // The lock file may be gone with the folder.
        self.lock = None;
        let (disk, corruption) = (self.disk.as_ref(), &self.corruption);
        let (fields, opened) =
            OpenIndex::new(disk, &self.location, &self.settings, corruption, true)?;
        let OpenIndex { location, lock, index, source, checksums, reader } = opened;
        (self.location, self.index, self.source, self.fields) = (location, index, source, fields);
        (self.checksums, self.reader, self.lock) = (checksums, reader, Some(lock));
        self.reader_lags = false;
        Ok(())
    }

    /// Registers a listener that is called, on any thread, when reading or merging finds signs of damage. The files should then be [verified](Self::verify).
    pub fn on_corruption(&self, listener: impl Fn() + Send + Sync + 'static) {
        self.corruption.listen(listener);
    }

    /// Verifies the checksums of the files of the last commit that were modified since the last verification. Costs a stat call for every other file.
    ///
    /// Fails like [`verify`](Self::verify).
    pub fn verify_modified(&mut self) -> Result<(), KeywordError> {
        self.checksums.verify(&self.index, &self.location, false)
    }

    /// Verifies the checksum of every file of the last commit. `O(bytes)`, at read speed.
    ///
    /// Fails with [`KeywordError::Corrupt`] if a file is damaged; the index must then be [reset](Self::reset).
    pub fn verify(&mut self) -> Result<(), KeywordError> {
        self.corruption.clear();
        self.checksums.verify(&self.index, &self.location, true)
    }

    /// Creates an encoder for notes of this index, for use on any thread.
    #[must_use]
    pub fn encoder(&self) -> KeywordEncoder {
        KeywordEncoder::new(self.settings.language)
    }

    /// Adds a note encoded by an [encoder](Self::encoder), replacing the previous content of its slot.
    ///
    /// Changes become visible with the next commit; later calls override earlier ones.
    /// After an error all changes since the last commit are discarded.
    /// `O(1)`: postings are written in the background. Blocks while megabytes of notes are queued.
    pub fn upsert(&mut self, note: NoteId, encoded: EncodedNote) -> Result<(), KeywordError> {
        self.guarded(|writer| writer.change(note, Some(encoded)))
    }

    /// Deletes a note; an unknown note is ignored. Has the visibility and error behavior of [`upsert`](Self::upsert).
    pub fn delete(&mut self, note: NoteId) -> Result<(), KeywordError> {
        self.guarded(|writer| writer.change(note, None))
    }

    fn change(&mut self, note: NoteId, encoded: Option<EncodedNote>) -> Result<(), KeywordError> {
        self.start()?;
        let Some(writer) = &self.writer else { return Ok(()) };
        if self.reader_lags || self.reader.contains(note) || self.pending.contains(note) {
            writer.delete_term(Term::from_field_u64(self.fields.note, u64::from(note.get())));
        }
        if let Some(encoded) = encoded {
            let queued = self.queue.push(encoded.in_slot(&self.fields, note));
            writer.add_document(queued).map_err(|error| self.location.tantivy(error))?;
            self.pending.insert(note);
        }
        Ok(())
    }

    /// Commits all changes as `generation`, which makes them visible and durable, and returns the new reader.
    ///
    /// Cost: mostly disk syncs.
    /// Fails with [`KeywordError::Corrupt`] if another program changed the files of an earlier commit.
    /// After an error all changes since the last commit are discarded; if the commit itself completed, the next one includes it.
    pub fn commit(&mut self, generation: u64) -> Result<KeywordReader, KeywordError> {
        self.guarded(|writer| writer.try_commit(generation))
    }

    /// Runs `work` and discards all changes since the last commit if it fails.
    fn guarded<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, KeywordError>,
    ) -> Result<T, KeywordError> {
        let (corruption, location) = (Arc::clone(&self.corruption), self.location.clone());
        let outcome = corruption.guard(&location, || work(self));
        if outcome.is_err() {
            self.stop();
            self.pending = NoteBits::default();
            // The last commit may be newer than the reader.
            self.reader_lags = true;
        }
        outcome
    }

    fn try_commit(&mut self, generation: u64) -> Result<KeywordReader, KeywordError> {
        // To apply deletions, tantivy reads every segment on a thread where a panic over damage aborts the process.
        self.verify_modified()?;
        self.start()?;
        let payload = format!("{generation} {}", analysis_of(self.settings.language));
        if let Some(writer) = &mut self.writer {
            let failed = |error| self.location.tantivy(error);
            let mut commit = writer.prepare_commit().map_err(failed)?;
            commit.set_payload(&payload);
            commit.commit().map_err(failed)?;
            self.location.clear_write_error();
        }
        self.pending = NoteBits::default();
        self.reload(generation)
    }

    /// Commits as `generation`, merges all segments into one and deletes obsolete files, so that no deleted text remains on disk.
    ///
    /// Waits for running merges, and verifies the checksum of every file before it is copied.
    /// If files cannot be deleted while they are read, the text remains until all earlier readers are dropped.
    pub fn compact(&mut self, generation: u64) -> Result<KeywordReader, KeywordError> {
        self.guarded(|writer| writer.try_compact(generation))
    }

    fn try_compact(&mut self, generation: u64) -> Result<KeywordReader, KeywordError> {
        self.verify()?;
        self.try_commit(generation)?;
        let failed = |error| self.location.tantivy(error);
        // Segments in a background merge cannot be merged explicitly.
        if let Some(writer) = self.writer.take() {
            writer.wait_merging_threads().map_err(failed)?;
        }
        let segments = self.index.searchable_segment_metas().map_err(failed)?;
        let is_compact =
            segments.len() <= 1 && segments.iter().all(|segment| !segment.has_deletes());
        let segments: Vec<_> = segments.iter().map(tantivy::SegmentMeta::id).collect();
        self.start()?;
        if let Some(writer) = self.writer.as_mut().filter(|_| !is_compact) {
            let failed = |error| self.location.tantivy(error);
            writer.merge(&segments).wait().map_err(failed)?;
        }
        let reader = self.reload(generation)?;
        if let Some(writer) = &self.writer {
            writer.garbage_collect_files().wait().map_err(|error| self.location.tantivy(error))?;
        }
        Ok(reader)
    }

    /// Returns the reader of the last commit.
    #[must_use]
    pub const fn reader(&self) -> &KeywordReader {
        &self.reader
    }

    /// Opens the files of the last commit in `folder`.
    ///
    /// If a background merge replaces segments meanwhile, the files of the merged segment are opened instead.
    pub(crate) fn open_files(&self, folder: &Path) -> std::io::Result<Vec<OpenFile>> {
        let list = || std::fs::read(folder.join(LIST_FILE));
        loop {
            let before = list()?;
            let metas = self.index.load_metas().map_err(std::io::Error::other)?;
            let ids: Vec<String> =
                metas.segments.iter().map(|segment| segment.id().uuid_string()).collect();
            let mut files = Vec::new();
            for entry in std::fs::read_dir(folder)?.flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                let is_current = ids.iter().any(|id| name.starts_with(id))
                    || matches!(&*name, LIST_FILE | MANAGED_FILE);
                if !is_current {
                    continue;
                }
                match OpenFile::open(entry.path(), None) {
                    // A merge deleted the file; the list has changed then.
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
        self.source.reload().map_err(|error| self.location.tantivy(error))?;
        let searcher = self.source.searcher();
        let settings = (self.settings.scoring, self.settings.language.fallback());
        let reader = KeywordReader::open(
            &searcher,
            Some(&self.reader),
            generation,
            settings,
            &self.fields,
            (&self.location, &self.corruption),
        )?;
        self.reader = reader.clone();
        self.reader_lags = false;
        Ok(reader)
    }

    /// Returns the reader of the last commit, reopened if an error may have left it behind.
    pub fn refresh(&mut self) -> Result<KeywordReader, KeywordError> {
        if self.reader_lags {
            let generation = self.reader.0.generation;
            self.guarded(|writer| writer.reload(generation))?;
        }
        Ok(self.reader.clone())
    }

    /// Stops tantivy's writer after waiting for running merges. A merge that outlived it would delete segments that the next writer still uses.
    fn stop(&mut self) {
        let Some(writer) = self.writer.take() else { return };
        writer.set_merge_policy(Box::new(NoMergePolicy));
        if let Err(error) = writer.wait_merging_threads() {
            tracing::warn!(%error, "a merge of the keyword index did not finish");
        }
    }

    fn start(&mut self) -> Result<(), KeywordError> {
        if self.writer.is_some() {
            return Ok(());
        }
        // An interrupted commit has left files under names that the next commit may reuse.
        if let Some(disk) = &self.disk {
            let metas = self.index.load_metas().map_err(|error| self.location.tantivy(error))?;
            let listed: HashSet<PathBuf> = metas.segments.iter().flat_map(files_of).collect();
            // A file that cannot be deleted rarely conflicts with a new one; if it does, the conflict is reported.
            let _ = remove_segments(disk, self.location.path(), |file| listed.contains(file));
        }
        let KeywordSettings { threads, heap_bytes_per_thread, .. } = self.settings;
        let threads = threads.max(1);
        let writer = self
            .index
            .writer_with_num_threads(threads, threads * heap_bytes_per_thread)
            .map_err(|error| self.location.tantivy(error))?;
        writer.set_merge_policy(Box::new(VerifiedMergePolicy::new(
            &self.settings,
            &self.index,
            &self.corruption,
        )));
        self.writer = Some(writer);
        Ok(())
    }
}

impl Drop for KeywordWriter {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Opened or newly created index.
struct OpenIndex {
    lock: DirectoryLock,
    location: IndexLocation,
    index: Index,
    source: IndexReader,
    checksums: ChecksumCache,
    reader: KeywordReader,
}

impl OpenIndex {
    /// Opens the index at `location`, on `disk` or in memory. Creates an empty one if none exists or if `recreate` is set.
    fn new(
        disk: Option<&Disk>,
        location: &IndexLocation,
        settings: &KeywordSettings,
        corruption: &Arc<CorruptionFlag>,
        recreate: bool,
    ) -> Result<(SchemaFields, Self), KeywordError> {
        let location = &location.reopened();
        let failed = |error| location.tantivy(error);
        let (directory, lock): (Box<dyn Directory>, _) = match disk {
            Some(disk) => {
                let folder = location.path();
                if folder.is_file() && !recreate {
                    return Err(location.corrupt("expected a folder, found a file"));
                }
                let create = || {
                    if folder.is_file() {
                        disk.remove_file(folder)?;
                    }
                    disk.create_folder(folder)
                };
                create().map_err(|error| location.io(error))?;
                let files = IndexDirectory::open(disk, location)?;
                let lock = lock(&files, location)?;
                if recreate {
                    remove_index_files(disk, folder).map_err(|error| location.io(error))?;
                }
                (Box::new(files), lock)
            }
            None => {
                let files = RamDirectory::create();
                let lock = lock(&files, location)?;
                (Box::new(files), lock)
            }
        };
        let (schema, fields) = schema();
        let exists =
            Index::exists(&*directory).map_err(|error: OpenReadError| location.read(error))?;
        let mut index = if exists {
            Index::open(directory)
        } else {
            let settings = IndexSettings {
                docstore_blocksize: STORE_BLOCK_BYTES,
                // Writing a block is a mere copy; passing it to a thread costs more.
                docstore_compress_dedicated_thread: false,
                ..IndexSettings::default()
            };
            Index::create(directory, schema.clone(), settings)
        }
        .map_err(failed)?;
        index.set_tokenizers(tokenizers());
        let metas = index.load_metas().map_err(failed)?;
        let generation = match &metas.payload {
            Some(payload) => generation_of(payload, settings.language, location)?,
            None if metas.segments.is_empty() => 0,
            None => return Err(location.corrupt("the last commit has no payload")),
        };
        if index.schema() != schema {
            return Err(location.incompatible("another schema", analysis_of(settings.language)));
        }
        // Verified before anything is decoded, so that damage does not surface as a panic or a wrong result.
        let mut checksums = ChecksumCache::default();
        checksums.verify(&index, location, true)?;
        let source = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .doc_store_cache_num_blocks(0);
        let source: IndexReader = source.try_into().map_err(failed)?;
        let reader = KeywordReader::open(
            &source.searcher(),
            None,
            generation,
            (settings.scoring, settings.language.fallback()),
            &fields,
            (location, corruption),
        )?;
        let location = location.clone();
        Ok((fields, Self { location, lock, index, source, checksums, reader }))
    }
}

fn lock(
    directory: &impl Directory,
    location: &IndexLocation,
) -> Result<DirectoryLock, KeywordError> {
    let lock = Lock { filepath: PathBuf::from(LOCK_FILE), is_blocking: false };
    directory.acquire_lock(&lock).map_err(|error| location.lock(error))
}

/// Describes the analysis that the terms of an index depend on.
fn analysis_of(language: LanguageChoice) -> String {
    match language {
        LanguageChoice::Detect { fallback } => {
            format!("format {FORMAT}, detected languages, else {fallback:?}")
        }
        LanguageChoice::Fixed(language) => format!("format {FORMAT}, {language:?}"),
    }
}

/// Parses the generation from a commit's payload. Fails if the commit was made with another analysis.
fn generation_of(
    payload: &str,
    language: LanguageChoice,
    location: &IndexLocation,
) -> Result<u64, KeywordError> {
    let parsed = payload
        .split_once(' ')
        .and_then(|(generation, analysis)| Some((generation.parse().ok()?, analysis)));
    let Some((generation, analysis)) = parsed else {
        return Err(
            location.corrupt(format!("the last commit has an invalid payload: `{payload}`"))
        );
    };
    let expected = analysis_of(language);
    if analysis != expected {
        return Err(location.incompatible(analysis, expected));
    }
    Ok(generation)
}

/// Deletes the files of an index: its two file lists and its segments.
fn remove_index_files(disk: &Disk, folder: &Path) -> std::io::Result<()> {
    for list in [LIST_FILE, MANAGED_FILE].map(|list| folder.join(list)) {
        let remove = if list.is_dir() { Disk::remove_folder } else { Disk::remove_file };
        remove(disk, &list)?;
    }
    remove_segments(disk, folder, |_| false)
}

/// Deletes the files of segments, which are named by 32 hexadecimal digits, except those to keep.
fn remove_segments(
    disk: &Disk,
    folder: &Path,
    is_kept: impl Fn(&Path) -> bool,
) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let stem = name.to_string_lossy();
        let stem = stem.split('.').next().unwrap_or_default();
        let is_segment = stem.len() == 32 && stem.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_segment && !is_kept(Path::new(&name)) {
            disk.remove_file(&entry.path())?;
        }
    }
    Ok(())
}
