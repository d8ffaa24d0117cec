//! What a file says: bytes to an entry of the note table.

use std::path::Path;
use std::sync::Arc;

use weft_index::embedder::Embedder;
use weft_index::keyword::{EncodedNote, KeywordDocument, KeywordEncoder};
use weft_index::notes::{FileFacts, NoteEntry, NoteTable, Spill, VaultId};
use weft_model::{Chunk, Note, NotePath, TextHash};

use crate::board::Absent;
use crate::chunk::{ChunkLimits, chunks};
use crate::hash::{digest_of, hash_of};
use crate::parse::{ParseOptions, is_excluded, parse};
use crate::scan::{self, Found};
use crate::status::FileState;

/// What became of a file that was looked at.
pub(super) enum Read {
    /// The note it is, and its words.
    Note(Arc<NoteEntry>, EncodedNote),
    /// It says what the entry does, though the file system says something else.
    Same(NotePath, FileFacts),
    Absent(NotePath, Absent),
}

impl Read {
    fn absent(file: &Found, state: FileState, reason: String) -> Self {
        Self::Absent(file.path.clone(), Absent { state, reason, facts: file.facts })
    }

    /// What became of a file at which the reader stopped.
    pub(super) fn defect(file: &Found) -> Self {
        let reason = "reading it stopped the reader; this is a defect".to_owned();
        Self::absent(file, FileState::Failed, reason)
    }
}

/// Reads files of one vault.
pub(super) struct FileReader<'a> {
    pub(super) vault: VaultId,
    pub(super) root: &'a Path,
    /// Bytes that a file may have.
    pub(super) max_bytes: u64,
    pub(super) parse: ParseOptions,
    pub(super) chunks: ChunkLimits,
    pub(super) embedder: Option<Arc<dyn Embedder>>,
    /// Where bodies wait until they are written down; nothing where they never are.
    pub(super) spill: Option<Spill>,
    /// What is known.
    pub(super) notes: &'a NoteTable,
    /// Whether a file with the same bytes is parsed all the same.
    pub(super) full: bool,
    /// Whether what is known was made with another recipe, and so is other even where it reads the same.
    pub(super) outdated: bool,
}

impl FileReader<'_> {
    /// Reads and parses a file, and makes its words ready where they are news.
    pub(super) fn read(&self, file: &Found, encoder: &mut KeywordEncoder) -> Read {
        let read_ns = wall_clock_ns();
        let bytes = match scan::read(self.root, &file.file, self.max_bytes) {
            Ok(bytes) => bytes,
            Err(error) => return Read::absent(file, FileState::Failed, error.to_string()),
        };
        let facts = FileFacts { hash: hash_of(&bytes), read_ns, ..file.facts };
        let known = self.notes.at(self.vault, &file.path);
        let hash = known.and_then(|id| self.notes.card(id)).map(|card| card.file.hash);
        if !self.full && hash == Some(facts.hash) {
            return Read::Same(file.path.clone(), facts);
        }
        let (note, diagnostics) = parse(&file.path, &bytes, &self.parse);
        if is_excluded(&note) {
            let reason = "its frontmatter says `indexed: false`".to_owned();
            let absent = Absent { state: FileState::Skipped, reason, facts };
            return Read::Absent(file.path.clone(), absent);
        }
        let chunks = self.cut(&note);
        let version = version(self.vault, &file.path, facts.hash);
        let entry = NoteEntry::new(self.vault, note, chunks, facts, version);
        let entry = NoteEntry { diagnostics, ..entry };
        let old = known.filter(|_| !self.outdated).and_then(|id| self.notes.entry(id));
        if old.is_some_and(|old| old.says_as(&entry)) {
            return Read::Same(file.path.clone(), facts);
        }
        let words = encoder.encode(&document(&entry));
        let entry = match &self.spill {
            Some(spill) => NoteEntry { body: spill.keep(entry.body), ..entry },
            None => entry,
        };
        Read::Note(Arc::new(entry), words)
    }

    /// The chunks of a note; without a model nothing is embedded, and there are none.
    fn cut(&self, note: &Note) -> Vec<Chunk> {
        let Some(embedder) = self.embedder.as_deref() else { return Vec::new() };
        chunks(note, &|text| embedder.n_tokens(text), &self.chunks.for_model(embedder))
    }
}

/// Tells one text of one note from every other, so that the word index can be compared with the notes.
fn version(vault: VaultId, path: &NotePath, hash: TextHash) -> u64 {
    digest_of(&[&vault.0.to_le_bytes(), path.as_str().as_bytes(), &hash.0.to_le_bytes()])
}

/// A note as the word index takes it in.
pub(super) fn document(entry: &NoteEntry) -> KeywordDocument<'_> {
    KeywordDocument {
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
