//! Reads files: bytes become entries of the note table.

use std::path::Path;
use std::sync::Arc;

use weft_index::embedder::Embedder;
use weft_index::keyword::{EncodedNote, KeywordDocument, KeywordEncoder};
use weft_index::notes::{FileMetadata, NoteEntry, NoteTable, Spill, VaultId};
use weft_model::{Chunk, Diagnostic, Note, NoteKind, NotePath, TextHash};

use crate::chunk::{ChunkLimits, chunks};
use crate::content_hash::{digest_of, hash_of};
use crate::index_status::FileState;
use crate::parse::{ParseOptions, is_excluded, parse};
use crate::pdf::{self, PdfSettings};
use crate::scan::{ScanError, ScannedFile};
use crate::shared_status::UnindexedFile;
use crate::vault_home::VaultHome;

/// The result of reading one file.
pub(super) enum FileOutcome {
    /// A new or changed note and its encoded keywords.
    Note(Arc<NoteEntry>, EncodedNote),
    /// The note is unchanged, although the file system reported a change.
    Unchanged(NotePath, FileMetadata),
    /// The home of the file cannot be reached, and it has a log.
    Unreachable(std::io::Error),
    /// The file is not indexed.
    NotIndexed(NotePath, UnindexedFile),
}

impl FileOutcome {
    fn not_indexed(file: &ScannedFile, state: FileState, reason: String) -> Self {
        let facts = file.facts;
        Self::NotIndexed(file.path.clone(), UnindexedFile { state, reason, facts })
    }

    /// Returns the outcome for a file on which the reader panicked.
    pub(super) fn panicked(file: &ScannedFile) -> Self {
        let reason = "the parser panicked on it; this is a bug".to_owned();
        Self::not_indexed(file, FileState::Failed, reason)
    }
}

/// Reads files of one vault.
pub(super) struct FileReader<'a> {
    pub(super) home: &'a dyn VaultHome,
    pub(super) vault: VaultId,
    pub(super) root: &'a Path,
    /// Maximum size of a file in bytes.
    pub(super) max_bytes: u64,
    pub(super) parse: ParseOptions,
    pub(super) pdf: PdfSettings,
    pub(super) chunks: ChunkLimits,
    pub(super) embedder: Option<Arc<dyn Embedder>>,
    /// File that holds note bodies until the next checkpoint; `None` without a store.
    pub(super) spill: Option<Spill>,
    /// The notes before the scan.
    pub(super) notes: &'a NoteTable,
    /// True if files with unchanged bytes are parsed again.
    pub(super) full: bool,
    /// True if the entries were made with other settings, so that even equal ones count as changed.
    pub(super) outdated: bool,
}

impl FileReader<'_> {
    /// Reads and parses a file, and encodes its keywords if the note changed.
    pub(super) fn read(&self, file: &ScannedFile, encoder: &mut KeywordEncoder) -> FileOutcome {
        let read_ns = wall_clock_ns();
        let bytes = match self.home.read(self.root, &file.file, self.max_bytes) {
            Ok(bytes) => bytes,
            Err(ScanError::Read { source, .. }) if self.home.log().is_some() => {
                return FileOutcome::Unreachable(source);
            }
            Err(error) => {
                return FileOutcome::not_indexed(file, FileState::Failed, error.to_string());
            }
        };
        let facts = FileMetadata { hash: hash_of(&bytes), read_ns, ..file.facts };
        let known = self.notes.at(self.vault, &file.path);
        let hash = known.and_then(|id| self.notes.summary(id)).map(|summary| summary.file.hash);
        if !self.full && hash == Some(facts.hash) {
            return FileOutcome::Unchanged(file.path.clone(), facts);
        }
        let (note, diagnostics) = match self.parse(&file.path, &bytes) {
            Ok(parsed) => parsed,
            Err(reason) => {
                let unindexed = UnindexedFile { state: FileState::Failed, reason, facts };
                return FileOutcome::NotIndexed(file.path.clone(), unindexed);
            }
        };
        if is_excluded(&note) {
            let reason = "its frontmatter says `indexed: false`".to_owned();
            let unindexed = UnindexedFile { state: FileState::Skipped, reason, facts };
            return FileOutcome::NotIndexed(file.path.clone(), unindexed);
        }
        let chunks = self.chunk(&note);
        let version = version(self.vault, &file.path, facts.hash);
        let entry = NoteEntry::new(self.vault, note, chunks, facts, version);
        let entry = NoteEntry { diagnostics, ..entry };
        let old = known.filter(|_| !self.outdated).and_then(|id| self.notes.entry(id));
        if old.is_some_and(|old| old.same_content(&entry)) {
            return FileOutcome::Unchanged(file.path.clone(), facts);
        }
        let encoded = encoder.encode(&KeywordDocument::of(&entry));
        let entry = match &self.spill {
            Some(spill) => NoteEntry { body: spill.keep(entry.body), ..entry },
            None => entry,
        };
        FileOutcome::Note(Arc::new(entry), encoded)
    }

    /// Parses a file; fails if the text of a PDF file cannot be extracted now.
    fn parse(&self, path: &NotePath, bytes: &[u8]) -> Result<(Note, Vec<Diagnostic>), String> {
        match path.kind() {
            NoteKind::Pdf => pdf::read(path, bytes, &self.pdf),
            NoteKind::Markdown | NoteKind::Text | NoteKind::Org => {
                Ok(parse(path, bytes, &self.parse))
            }
        }
    }

    /// Splits a note into chunks; returns none without a model, since nothing is embedded then.
    fn chunk(&self, note: &Note) -> Vec<Chunk> {
        let Some(embedder) = self.embedder.as_deref() else { return Vec::new() };
        chunks(note, &|text| embedder.n_tokens(text), &self.chunks.for_model(embedder))
    }
}

/// Returns a hash that identifies one text of one note, by which the keyword index is compared with the notes.
fn version(vault: VaultId, path: &NotePath, hash: TextHash) -> u64 {
    digest_of(&[&vault.0.to_le_bytes(), path.as_str().as_bytes(), &hash.0.to_le_bytes()])
}

#[expect(
    clippy::disallowed_methods,
    reason = "compared with the times of files, never part of an answer"
)]
pub(crate) fn wall_clock_ns() -> i64 {
    let since =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
