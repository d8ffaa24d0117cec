//! What is at hand of a note without reading it.

use weft_model::{Chunk, TextHash};

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
