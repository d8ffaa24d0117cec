//! What a file says: bytes to an entry of the note table.

use std::path::Path;
use std::sync::Arc;

use weft_index::embedder::Embedder;
use weft_index::keyword::KeywordDocument;
use weft_index::notes::{FileFacts, NoteEntry, VaultId};
use weft_model::{Chunk, Note, NoteId, NotePath, TextHash};

use crate::IndexSettings;
use crate::board::Absent;
use crate::chunk::chunks;
use crate::hash::{digest_of, hash_of};
use crate::parse::{is_excluded, parse};
use crate::scan::{self, Found};
use crate::status::FileState;

/// Files for which another thread is worth its while.
const FILES_PER_THREAD: usize = 8;

/// What became of a file that was looked at.
pub(super) enum Read {
    Note(Arc<NoteEntry>),
    /// Its bytes are those of the entry, though the file system says something else.
    Same(NotePath, FileFacts),
    Absent(NotePath, Absent),
}

impl Read {
    fn absent(file: &Found, state: FileState, reason: String) -> Self {
        Self::Absent(file.path.clone(), Absent { state, reason, facts: file.facts })
    }
}

/// Reads files of one vault.
#[derive(Clone, Copy)]
pub(super) struct FileReader<'a> {
    pub(super) vault: VaultId,
    pub(super) root: &'a Path,
    pub(super) settings: &'a IndexSettings,
    pub(super) embedder: Option<&'a dyn Embedder>,
}

impl FileReader<'_> {
    /// Reads and parses files on all cores; results come in the files' order.
    ///
    /// `known` gives the hash of what a file said, so that one that says the same is not parsed again.
    pub(super) fn read_all(
        self,
        files: &[&Found],
        known: &(impl Fn(&NotePath) -> Option<TextHash> + Sync),
    ) -> Vec<Read> {
        let n_threads = std::thread::available_parallelism()
            .map_or(1, usize::from)
            .min(files.len().div_ceil(FILES_PER_THREAD))
            .max(1);
        let share = files.len().div_ceil(n_threads).max(1);
        let read = |file: &&Found| self.read(file, known(&file.path));
        if n_threads == 1 {
            return files.iter().map(read).collect();
        }
        std::thread::scope(|scope| {
            let workers: Vec<_> = files
                .chunks(share)
                .map(|part| scope.spawn(move || part.iter().map(read).collect::<Vec<_>>()))
                .collect();
            let parts = workers.into_iter().zip(files.chunks(share));
            let parts = parts.flat_map(|(worker, part)| {
                worker.join().unwrap_or_else(|_| part.iter().map(|file| defect(file)).collect())
            });
            parts.collect()
        })
    }

    fn read(self, file: &Found, known: Option<TextHash>) -> Read {
        let read_ns = wall_clock_ns();
        let bytes = match scan::read(self.root, file) {
            Ok(bytes) => bytes,
            Err(error) => return Read::absent(file, FileState::Failed, error.to_string()),
        };
        let facts = FileFacts { hash: TextHash(hash_of(&bytes)), read_ns, ..file.facts };
        if known == Some(facts.hash) {
            return Read::Same(file.path.clone(), facts);
        }
        let (note, diagnostics) = parse(&file.path, &bytes, &self.settings.parse);
        if is_excluded(&note) {
            let reason = "its frontmatter says `indexed: false`".to_owned();
            let absent = Absent { state: FileState::Skipped, reason, facts };
            return Read::Absent(file.path.clone(), absent);
        }
        let chunks = self.cut(&note);
        let version = version(self.vault, &file.path, facts.hash);
        let entry = NoteEntry::new(self.vault, note, chunks, facts, version);
        Read::Note(Arc::new(NoteEntry { diagnostics, ..entry }))
    }

    /// The chunks of a note; without a model nothing is embedded, and there are none.
    fn cut(self, note: &Note) -> Vec<Chunk> {
        let Some(embedder) = self.embedder else { return Vec::new() };
        let limits = self.settings.chunks.for_model(embedder);
        chunks(note, &|text| embedder.n_tokens(text), &limits)
    }
}

fn defect(file: &Found) -> Read {
    let reason = "reading it stopped the reader; this is a defect".to_owned();
    Read::absent(file, FileState::Failed, reason)
}

/// Tells one text of one note from every other, so that the word index can be compared with the notes.
fn version(vault: VaultId, path: &NotePath, hash: TextHash) -> u64 {
    digest_of(&[&vault.0.to_le_bytes(), path.as_str().as_bytes(), &hash.0.to_le_bytes()])
}

/// A note as the word index takes it in.
pub(crate) fn document(note: NoteId, entry: &NoteEntry) -> KeywordDocument<'_> {
    KeywordDocument {
        note,
        version: entry.version,
        title: &entry.note.title,
        aliases: entry.note.aliases.iter().map(String::as_str).collect(),
        headings: entry.note.headings.iter().map(|heading| heading.text.as_str()).collect(),
        tags: entry.note.tags.iter().map(String::as_str).collect(),
        body: &entry.body,
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "compared with the times of files, never part of an answer"
)]
fn wall_clock_ns() -> i64 {
    let since =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
