//! Statistics of a vault, maintained by every edit.

use serde::{Deserialize, Serialize};
use weft_model::NoteId;

use super::{NoteEntry, ResolvedNote};

/// Statistics of the notes of a vault. Maintained by every edit, so reading them is free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VaultStats {
    /// Number of notes.
    pub n_notes: usize,
    /// Number of links, duplicates included.
    pub n_links: usize,
    /// Number of links that resolve to a note.
    pub n_resolved: usize,
    /// Number of links that match several notes.
    pub n_ambiguous: usize,
    /// Number of chunks.
    pub n_chunks: usize,
    /// Sum of a hash of each note's uri, path and content: equal sums mean equal notes, regardless of history.
    pub digest: u128,
}

impl VaultStats {
    /// Returns the contribution of one note.
    pub(super) fn of(
        entry: &NoteEntry,
        resolved: &ResolvedNote,
        is_note: impl Fn(NoteId) -> bool,
    ) -> Self {
        let ResolvedNote { uri, targets, ambiguous } = resolved;
        let mut hasher = blake3::Hasher::new();
        for part in [uri.as_str(), entry.note.path.as_str()] {
            hasher.update(part.as_bytes()).update(&[0]);
        }
        hasher.update(&entry.file.hash.0.to_le_bytes());
        let digest = hasher.finalize();
        let (digest, _) = digest.as_bytes().split_at(16);
        Self {
            n_notes: 1,
            n_links: targets.iter().flatten().count(),
            n_resolved: targets.iter().flatten().filter(|target| is_note(**target)).count(),
            n_ambiguous: ambiguous.len(),
            n_chunks: entry.chunks.len(),
            digest: u128::from_le_bytes(digest.try_into().expect("sixteen bytes")),
        }
    }

    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &Self) {
        self.combine(other, usize::wrapping_add, u128::wrapping_add);
    }

    /// Subtracts the counts of `other`, which were added before.
    pub(super) fn take(&mut self, other: &Self) {
        self.combine(other, usize::wrapping_sub, u128::wrapping_sub);
    }

    fn combine(
        &mut self,
        other: &Self,
        count: fn(usize, usize) -> usize,
        sum: fn(u128, u128) -> u128,
    ) {
        let Self { n_notes, n_links, n_resolved, n_ambiguous, n_chunks, digest } = *other;
        self.n_notes = count(self.n_notes, n_notes);
        self.n_links = count(self.n_links, n_links);
        self.n_resolved = count(self.n_resolved, n_resolved);
        self.n_ambiguous = count(self.n_ambiguous, n_ambiguous);
        self.n_chunks = count(self.n_chunks, n_chunks);
        self.digest = sum(self.digest, digest);
    }
}
