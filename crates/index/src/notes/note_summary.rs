//! Data of a note that is available without loading it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weft_model::{Chunk, Note, TextHash, Value};

use super::{FileMetadata, NoteEntry, VaultId};

/// Data of a note that is available without loading it.
#[derive(Clone, Copy, Debug)]
pub struct NoteSummary<'t> {
    /// Vault of the note.
    pub vault: VaultId,
    /// Path of the file in the vault.
    pub path: &'t str,
    /// Title.
    pub title: &'t str,
    /// Metadata of the file when it was read.
    pub file: FileMetadata,
    /// Generation in which the text last changed.
    pub version: u64,
    pub(super) hashes: ChunkHashes<'t>,
}

/// Properties of a note that filters test.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Facets<'t> {
    /// Tags, see [`Note::tags`].
    pub tags: Cow<'t, [String]>,
    /// Type, see [`Note::note_type`].
    pub note_type: Cow<'t, Option<String>>,
    /// The whole frontmatter, by key.
    pub properties: Cow<'t, BTreeMap<String, Value>>,
}

impl<'t> Facets<'t> {
    /// Returns the facets of a note.
    #[must_use]
    pub const fn of(note: &'t Note) -> Self {
        Self {
            tags: Cow::Borrowed(note.tags.as_slice()),
            note_type: Cow::Borrowed(&note.note_type),
            properties: Cow::Borrowed(&note.properties),
        }
    }
}

/// Hashes of a note's chunks, in memory or stored.
#[derive(Clone, Copy, Debug)]
pub(super) enum ChunkHashes<'t> {
    Chunks(&'t [Chunk]),
    /// Little-endian, back to back.
    Stored(&'t [[u8; HASH_BYTES]]),
}

/// Bytes of a hash.
pub(super) const HASH_BYTES: usize = size_of::<u128>();

impl<'t> NoteSummary<'t> {
    /// Returns the hashes of the chunks' texts, in order.
    pub fn chunk_hashes(&self) -> impl Iterator<Item = TextHash> + use<'t> {
        let (chunks, stored) = match self.hashes {
            ChunkHashes::Chunks(chunks) => (chunks, &[][..]),
            ChunkHashes::Stored(stored) => (&[][..], stored),
        };
        let stored = stored.iter().map(|hash| TextHash(u128::from_le_bytes(*hash)));
        chunks.iter().map(|chunk| chunk.hash).chain(stored)
    }

    /// Returns the summary of an entry.
    pub(super) fn of(entry: &'t NoteEntry) -> Self {
        Self {
            vault: entry.vault,
            path: entry.note.path.as_str(),
            title: &entry.note.title,
            file: entry.file,
            version: entry.version,
            hashes: ChunkHashes::Chunks(&entry.chunks),
        }
    }
}
