//! What the notes of a vault come to, kept by every edit.

use serde::{Deserialize, Serialize};
use weft_model::NoteId;

use super::slots::Slot;
use super::{NoteEntry, NoteTable, Resolved, VaultId};

/// What the notes of a vault come to. Kept by every edit, so asking for it costs nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Notes.
    pub n_notes: usize,
    /// Links, repeats included.
    pub n_links: usize,
    /// Links that mean a note.
    pub n_resolved: usize,
    /// Links that could mean several.
    pub n_ambiguous: usize,
    /// Chunks.
    pub n_chunks: usize,
    /// The sum of a hash of each note's uri, path and content: equal sums mean equal notes, whatever led to them.
    pub digest: u128,
}

impl Tally {
    fn of(entry: &NoteEntry, resolved: &Resolved, is_note: impl Fn(NoteId) -> bool) -> Self {
        let Resolved { uri, targets, ambiguous } = resolved;
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

    /// Adds what `other` counts.
    pub fn add(&mut self, other: &Self) {
        self.combine(other, usize::wrapping_add, u128::wrapping_add);
    }

    /// Takes away what `other` counts, which was added before.
    fn take(&mut self, other: &Self) {
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

impl NoteTable {
    /// What the notes of a vault come to. `O(1)`.
    #[must_use]
    pub fn tally(&self, vault: VaultId) -> Tally {
        self.tallies.get(usize::from(vault.0)).copied().unwrap_or_default()
    }

    /// What all notes come to. `O(vaults)`.
    #[must_use]
    pub fn total(&self) -> Tally {
        let mut total = Tally::default();
        self.tallies.iter().for_each(|tally| total.add(tally));
        total
    }

    /// Counts the note in a slot, if it holds one, as it was `before` and as it is now.
    pub(super) fn count(&mut self, id: NoteId, before: Option<&Self>) {
        if let Some((vault, old)) = before.and_then(|before| before.share(id)) {
            self.tally_mut(vault).take(&old);
        }
        if let Some((vault, new)) = self.share(id) {
            self.tally_mut(vault).add(&new);
        }
    }

    /// What one note adds to its vault's tally.
    fn share(&self, id: NoteId) -> Option<(VaultId, Tally)> {
        match self.slots.get(id.index())? {
            Slot::Note(entry, resolved) => {
                let is_note = |target: NoteId| self.is_note(target);
                Some((entry.vault, Tally::of(entry, resolved, is_note)))
            }
            Slot::Free | Slot::Placeholder(_) => None,
        }
    }

    fn tally_mut(&mut self, vault: VaultId) -> &mut Tally {
        let at = usize::from(vault.0);
        while self.tallies.len() <= at {
            self.tallies.push_back(Tally::default());
        }
        &mut self.tallies[at]
    }
}
