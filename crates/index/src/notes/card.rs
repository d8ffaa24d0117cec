//! What is at hand of a note without reading it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weft_model::{Chunk, Note, TextHash, Value};

use super::{FileFacts, NoteEntry, VaultId};

/// What is at hand of a note without reading it.
#[derive(Clone, Copy, Debug)]
pub struct Card<'t> {
    /// The vault it lies in.
    pub vault: VaultId,
    /// Where its file lies in the vault.
    pub path: &'t str,
    /// Its title.
    pub title: &'t str,
    /// The file when it was read.
    pub file: FileFacts,
    /// The generation in which its text last changed.
    pub version: u64,
    pub(super) texts: Texts<'t>,
}

/// What a filter asks of a note.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Facets<'t> {
    /// Its tags, see [`Note::tags`].
    pub tags: Cow<'t, [String]>,
    /// Its type, see [`Note::note_type`].
    pub note_type: Cow<'t, Option<String>>,
    /// The whole frontmatter, by key.
    pub properties: Cow<'t, BTreeMap<String, Value>>,
}

impl<'t> Facets<'t> {
    /// The facets of a note.
    #[must_use]
    pub const fn of(note: &'t Note) -> Self {
        Self {
            tags: Cow::Borrowed(note.tags.as_slice()),
            note_type: Cow::Borrowed(&note.note_type),
            properties: Cow::Borrowed(&note.properties),
        }
    }
}

/// The hashes of a note's chunks, as they are kept.
#[derive(Clone, Copy, Debug)]
pub(super) enum Texts<'t> {
    Chunks(&'t [Chunk]),
    /// Little-endian, back to back.
    Written(&'t [[u8; TEXT]]),
}

/// Bytes of a text's hash.
pub(super) const TEXT: usize = size_of::<u128>();

impl<'t> Card<'t> {
    /// The hashes of its chunks' texts, in order.
    pub fn texts(&self) -> impl Iterator<Item = TextHash> + use<'t> {
        let (chunks, written) = match self.texts {
            Texts::Chunks(chunks) => (chunks, &[][..]),
            Texts::Written(written) => (&[][..], written),
        };
        let written = written.iter().map(|text| TextHash(u128::from_le_bytes(*text)));
        chunks.iter().map(|chunk| chunk.hash).chain(written)
    }

    /// The card of an entry.
    pub(super) fn of(entry: &'t NoteEntry) -> Self {
        Self {
            vault: entry.vault,
            path: entry.note.path.as_str(),
            title: &entry.note.title,
            file: entry.file,
            version: entry.version,
            texts: Texts::Chunks(&entry.chunks),
        }
    }
}
