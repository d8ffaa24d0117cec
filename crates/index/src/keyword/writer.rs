//! The write side: one writer per folder, changes in batches, a reader per commit.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tantivy::directory::error::OpenReadError;
use tantivy::directory::{Directory, DirectoryLock, Lock, RamDirectory};
use tantivy::indexer::NoMergePolicy;
use tantivy::{Index, IndexReader, IndexSettings, IndexWriter, ReloadPolicy, Term};
use weft_model::NoteId;
use weft_model::note_set::NoteBits;
use weft_model::settings::Problems;

use super::LanguageChoice;
use super::compared::{Compared, files_of};
use super::directory::IndexFolder;
use super::doubt::Doubt;
use super::encoded::EncodedNote;
use super::error::{KeywordError, Place};
use super::merges::Merges;
use super::queue::{Queue, QueuedNote};
use super::reader::{KeywordReader, Scoring};
use super::schema::{FORMAT, Fields, KeywordEncoder, schema, tokenizers};
use crate::disk::Disk;
use crate::store::Held;

/// The file by which a writer keeps others out of its folder.
const LOCK_FILE: &str = ".keyword.lock";

/// The file that says which segments count.
const LIST_FILE: &str = "meta.json";

/// The file that says which files are the index's own.
pub(super) const MANAGED_FILE: &str = ".managed.json";

/// Bytes of the notes' own lists of terms that are read, at least, to get at one of them; in indexes made before, as many as they were made with.
///
/// A list of a note of 200 words takes 1.5 kB.
const STORE_BLOCK_BYTES: usize = 4096;

/// How the word index is built and read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KeywordSettings {
    /// How the language of a note is decided. An index built with another choice is refused.
    pub language: LanguageChoice,
    /// How matches are weighed.
    pub scoring: Scoring,
    /// Threads that write postings, 1 to 8.
    pub threads: usize,
    /// Bytes of postings a writing thread gathers before it writes a segment; 15 MB to 4 GB.
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

impl KeywordSettings {
    /// What of it cannot be used.
    #[must_use]
    pub fn problems(&self) -> Problems {
        let Self {
            language: _,
            scoring,
            threads,
            heap_bytes_per_thread,
            merge_factor,
            max_deleted_share,
        } = *self;
        let mut problems = Problems::default();
        problems.section("scoring", scoring.problems());
        problems.within("threads", threads, 1..=8);
        let heap = 15_000_000..=4_000_000_000;
        problems.within("heap_bytes_per_thread", heap_bytes_per_thread, heap);
        problems.at_least("merge_factor", merge_factor, 2);
        let is_share = max_deleted_share > 0.0 && max_deleted_share <= 1.0;
        problems.check(is_share, "max_deleted_share", "must be above 0 and at most 1");
        problems
    }
}

/// Writes the word index of one folder.
///
/// Changes become visible, and durable, with [`commit`](Self::commit).
pub struct KeywordWriter {
    /// Nothing in memory.
    disk: Option<Disk>,
    index: Index,
    source: IndexReader,
    fields: Fields,
    settings: KeywordSettings,
    place: Place,
    doubt: Arc<Doubt>,
    compared: Compared,
    reader: KeywordReader,
    /// Made at the first change: it brings threads with it.
    writer: Option<IndexWriter<QueuedNote>>,
    queue: Queue,
    /// Notes added since the last commit.
    pending: NoteBits,
    /// Whether the last commit may hold more than the reader knows.
    reader_lags: bool,
    /// Held as long as the writer lives.
    lock: Option<DirectoryLock>,
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
        Self::open(Some(disk.clone()), Place::new(folder), settings, false)
    }

    /// The same with an index that lives in memory and is gone with its writer and readers.
    pub fn in_memory(settings: KeywordSettings) -> Result<(Self, KeywordReader), KeywordError> {
        Self::open(None, Place::new(Path::new("memory")), settings, false)
    }

    /// Throws away what lies in `folder` and begins an empty index there.
    ///
    /// Only the index's own files are removed; nothing is while another writer holds the folder.
    pub fn recreate(
        disk: &Disk,
        folder: &Path,
        settings: KeywordSettings,
    ) -> Result<(Self, KeywordReader), KeywordError> {
        Self::open(Some(disk.clone()), Place::new(folder), settings, true)
    }

    fn open(
        disk: Option<Disk>,
        place: Place,
        settings: KeywordSettings,
        anew: bool,
    ) -> Result<(Self, KeywordReader), KeywordError> {
        let doubt = Arc::default();
        let (fields, opened) = Opened::new(disk.as_ref(), &place, &settings, &doubt, anew)?;
        let Opened { lock, index, source, compared, reader } = opened;
        let writer = Self {
            disk,
            index,
            source,
            fields,
            settings,
            place,
            doubt,
            compared,
            reader: reader.clone(),
            writer: None,
            queue: Queue::default(),
            pending: NoteBits::default(),
            reader_lags: false,
            lock: Some(lock),
        };
        Ok((writer, reader))
    }

    /// Throws away what lies in the folder, whatever it is, and begins an empty index there; earlier readers stay what they are.
    ///
    /// After an error there may be no index any more: this is to be tried again.
    pub fn begin_anew(&mut self) -> Result<(), KeywordError> {
        self.end();
        (self.pending, self.reader_lags) = (NoteBits::default(), true);
        // Its file may be gone with the folder.
        self.lock = None;
        let (disk, doubt) = (self.disk.as_ref(), &self.doubt);
        let (fields, opened) = Opened::new(disk, &self.place, &self.settings, doubt, true)?;
        let Opened { lock, index, source, compared, reader } = opened;
        (self.index, self.source, self.fields) = (index, source, fields);
        (self.compared, self.reader, self.lock) = (compared, reader, Some(lock));
        self.reader_lags = false;
        Ok(())
    }

    /// Tells `listener`, on whatever thread, when reading or merging meets what may be damage: then the files are to be [examined](Self::examine).
    pub fn when_in_doubt(&self, listener: impl Fn() + Send + Sync + 'static) {
        self.doubt.listen(listener);
    }

    /// Compares the files of the last commit that were touched since they were last compared; otherwise costs a question to the file system for each file.
    ///
    /// Fails as [`examine`](Self::examine) does.
    pub fn examine_touched(&mut self) -> Result<(), KeywordError> {
        self.compared.compare(&self.index, &self.place, false)
    }

    /// Compares every file of the last commit with its checksum. `O(bytes)`, at the speed of reading.
    ///
    /// Fails with [`KeywordError::Corrupt`] where one is not what was written; [`begin_anew`](Self::begin_anew) would help.
    pub fn examine(&mut self) -> Result<(), KeywordError> {
        self.doubt.settle();
        self.compared.compare(&self.index, &self.place, true)
    }

    /// An encoder for notes of this index, to make them ready on another thread.
    #[must_use]
    pub fn encoder(&self) -> KeywordEncoder {
        KeywordEncoder::new(self.settings.language)
    }

    /// Takes a note in that an [encoder](Self::encoder) made ready, in place of what its slot held.
    ///
    /// Nothing is visible before the next commit; later calls override earlier ones.
    /// After an error everything since the last commit is forgotten.
    /// `O(1)`: postings are written behind; waits where megabytes of notes are.
    pub fn upsert(&mut self, note: NoteId, words: EncodedNote) -> Result<(), KeywordError> {
        self.guarded(|writer| writer.change(note, Some(words)))
    }

    /// Takes a note out; an unknown one is no error. Visible and forgotten like [`upsert`](Self::upsert).
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
            let queued = self.queue.enter(encoded.in_slot(&self.fields, note));
            writer.add_document(queued).map_err(|error| self.place.tantivy(error))?;
            self.pending.insert(note);
        }
        Ok(())
    }

    /// Makes everything taken in so far visible and durable as `generation`, and gives the reader that sees it.
    ///
    /// Cost: mostly waiting for the disk.
    /// Fails with [`KeywordError::Corrupt`] where another program changed the files of an earlier commit.
    /// After an error everything since the last commit is forgotten; if the commit itself came about, the next one shows it too.
    pub fn commit(&mut self, generation: u64) -> Result<KeywordReader, KeywordError> {
        self.guarded(|writer| writer.try_commit(generation))
    }

    /// Does something; forgets everything since the last commit where it failed.
    fn guarded<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, KeywordError>,
    ) -> Result<T, KeywordError> {
        let (doubt, place) = (Arc::clone(&self.doubt), self.place.clone());
        let outcome = doubt.guard(&place, || work(self));
        if outcome.is_err() {
            self.end();
            self.pending = NoteBits::default();
            // The last commit may be newer than the reader knows.
            self.reader_lags = true;
        }
        outcome
    }

    fn try_commit(&mut self, generation: u64) -> Result<KeywordReader, KeywordError> {
        // The library reads every segment for deletions, on a thread where a panic over damage ends the process.
        self.examine_touched()?;
        self.start()?;
        let payload = format!("{generation} {}", analysis_of(self.settings.language));
        if let Some(writer) = &mut self.writer {
            let failed = |error| self.place.tantivy(error);
            let mut commit = writer.prepare_commit().map_err(failed)?;
            commit.set_payload(&payload);
            commit.commit().map_err(failed)?;
            self.place.commit();
        }
        self.pending = NoteBits::default();
        self.reload(generation)
    }

    /// Commits as `generation`, merges everything into one segment and removes the files of the past, so that no deleted text is left on disk.
    ///
    /// Waits for merges under way, and compares every file with its checksum before it is copied.
    /// Where files cannot be removed while they are read, the text is gone once all earlier readers are.
    pub fn compact(&mut self, generation: u64) -> Result<KeywordReader, KeywordError> {
        self.guarded(|writer| writer.try_compact(generation))
    }

    fn try_compact(&mut self, generation: u64) -> Result<KeywordReader, KeywordError> {
        self.examine()?;
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
            (&self.place, &self.doubt),
        )?;
        self.reader = reader.clone();
        self.reader_lags = false;
        Ok(reader)
    }

    /// The reader of the last commit, read anew where an error may have left it behind.
    pub fn refresh(&mut self) -> Result<KeywordReader, KeywordError> {
        if self.reader_lags {
            let generation = self.reader.0.generation;
            self.guarded(|writer| writer.reload(generation))?;
        }
        Ok(self.reader.clone())
    }

    /// Lets the library's writer go, once the merges under way are done: one that outlived it would still remove what it believes merged away, under the eyes of the next.
    fn end(&mut self) {
        let Some(writer) = self.writer.take() else { return };
        writer.set_merge_policy(Box::new(NoMergePolicy));
        if let Err(error) = writer.wait_merging_threads() {
            tracing::warn!(%error, "a merge of the word index was not finished");
        }
    }

    fn start(&mut self) -> Result<(), KeywordError> {
        if self.writer.is_some() {
            return Ok(());
        }
        // A commit that was interrupted has left files under names that the next one may give.
        if let Some(disk) = &self.disk {
            let metas = self.index.load_metas().map_err(|error| self.place.tantivy(error))?;
            let named: HashSet<PathBuf> = metas.segments.iter().flat_map(files_of).collect();
            // What cannot be removed is in the way of few, and says so.
            let _ = remove_segments(disk, self.place.path(), |file| named.contains(file));
        }
        let KeywordSettings { threads, heap_bytes_per_thread, .. } = self.settings;
        let threads = threads.max(1);
        let writer = self
            .index
            .writer_with_num_threads(threads, threads * heap_bytes_per_thread)
            .map_err(|error| self.place.tantivy(error))?;
        writer.set_merge_policy(Box::new(Merges::new(&self.settings, &self.index, &self.doubt)));
        self.writer = Some(writer);
        Ok(())
    }
}

impl Drop for KeywordWriter {
    fn drop(&mut self) {
        self.end();
    }
}

/// An index as it was found, or begun.
struct Opened {
    lock: DirectoryLock,
    index: Index,
    source: IndexReader,
    compared: Compared,
    reader: KeywordReader,
}

impl Opened {
    /// Opens what lies in `place`, on `disk` or in memory, or begins an empty index where nothing does; `anew`, whatever does.
    fn new(
        disk: Option<&Disk>,
        place: &Place,
        settings: &KeywordSettings,
        doubt: &Arc<Doubt>,
        anew: bool,
    ) -> Result<(Fields, Self), KeywordError> {
        let failed = |error| place.tantivy(error);
        let (directory, lock): (Box<dyn Directory>, _) = match disk {
            Some(disk) => {
                let folder = place.path();
                if folder.is_file() && !anew {
                    return Err(place.corrupt("a file lies in its place"));
                }
                let begin = || {
                    if folder.is_file() {
                        disk.remove_file(folder)?;
                    }
                    disk.create_folder(folder)
                };
                begin().map_err(|error| place.io(error))?;
                let files = IndexFolder::open(disk, place)?;
                let lock = lock(&files, place)?;
                if anew {
                    remove_index_files(disk, folder).map_err(|error| place.io(error))?;
                }
                (Box::new(files), lock)
            }
            None => {
                let files = RamDirectory::create();
                let lock = lock(&files, place)?;
                (Box::new(files), lock)
            }
        };
        let (schema, fields) = schema();
        let exists =
            Index::exists(&*directory).map_err(|error: OpenReadError| place.read(error))?;
        let mut index = if exists {
            Index::open(directory)
        } else {
            let settings = IndexSettings {
                docstore_blocksize: STORE_BLOCK_BYTES,
                // A block is only copied on its way: handing it to a thread costs more.
                docstore_compress_dedicated_thread: false,
                ..IndexSettings::default()
            };
            Index::create(directory, schema.clone(), settings)
        }
        .map_err(failed)?;
        index.set_tokenizers(tokenizers());
        let metas = index.load_metas().map_err(failed)?;
        let generation = match &metas.payload {
            Some(payload) => generation_of(payload, settings.language, place)?,
            None if metas.segments.is_empty() => 0,
            None => return Err(place.corrupt("its last commit does not say what it is")),
        };
        if index.schema() != schema {
            return Err(place.incompatible("another schema", analysis_of(settings.language)));
        }
        // Before anything is decoded: damage is found here, and not as a panic or a wrong answer.
        let mut compared = Compared::default();
        compared.compare(&index, place, true)?;
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
            (place, doubt),
        )?;
        Ok((fields, Self { lock, index, source, compared, reader }))
    }
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

/// Removes what an index leaves in its folder: its two lists of files, and the segments.
fn remove_index_files(disk: &Disk, folder: &Path) -> std::io::Result<()> {
    for list in [LIST_FILE, MANAGED_FILE].map(|list| folder.join(list)) {
        let remove = if list.is_dir() { Disk::remove_folder } else { Disk::remove_file };
        remove(disk, &list)?;
    }
    remove_segments(disk, folder, |_| false)
}

/// Removes the files of segments, named by 32 hexadecimal digits, but for those that are to be kept.
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
