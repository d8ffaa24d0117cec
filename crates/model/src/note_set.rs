//! Sets of notes: filters for searches and walks.

use crate::NoteId;

/// Notes that a search or walk may return or visit.
///
/// One bit per slot of the snapshot, so membership is a lookup and sets intersect word by word.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum NoteSet {
    /// No restriction.
    #[default]
    All,
    /// These notes only.
    Only(NoteBits),
}

impl NoteSet {
    /// True if `note` is in the set. `O(1)`.
    #[must_use]
    pub fn contains(&self, note: NoteId) -> bool {
        match self {
            Self::All => true,
            Self::Only(bits) => bits.contains(note),
        }
    }

    /// Returns the number of notes; `None` if there is no restriction. `O(1)`.
    #[must_use]
    pub const fn len(&self) -> Option<usize> {
        match self {
            Self::All => None,
            Self::Only(bits) => Some(bits.n_set),
        }
    }

    /// True if the set contains no notes.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        matches!(self, Self::Only(NoteBits { n_set: 0, .. }))
    }

    /// Adds `note` to the set.
    pub fn insert(&mut self, note: NoteId) {
        if let Self::Only(bits) = self {
            bits.insert(note);
        }
    }

    /// Returns the intersection of both sets. `O(slots)`.
    #[must_use]
    pub fn intersection(self, other: Self) -> Self {
        match (self, other) {
            (Self::All, set) | (set, Self::All) => set,
            (Self::Only(left), Self::Only(right)) => {
                Self::Only(left.iter().filter(|note| right.contains(*note)).collect())
            }
        }
    }
}

impl FromIterator<NoteId> for NoteSet {
    fn from_iter<I: IntoIterator<Item = NoteId>>(notes: I) -> Self {
        Self::Only(notes.into_iter().collect())
    }
}

/// Bit set with one bit per note slot.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct NoteBits {
    words: Vec<u64>,
    n_set: usize,
}

impl NoteBits {
    /// Adds `note`; returns true if it was not in the set.
    pub fn insert(&mut self, note: NoteId) -> bool {
        let (word, bit) = (note.index() / 64, 1_u64 << (note.index() % 64));
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        let is_new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        self.n_set += usize::from(is_new);
        is_new
    }

    /// Removes `note`; returns true if it was in the set.
    pub fn remove(&mut self, note: NoteId) -> bool {
        let was_present = self.contains(note);
        if was_present {
            self.words[note.index() / 64] &= !(1_u64 << (note.index() % 64));
            self.n_set -= 1;
        }
        was_present
    }

    /// True if `note` is in the set.
    #[must_use]
    pub fn contains(&self, note: NoteId) -> bool {
        self.words.get(note.index() / 64).is_some_and(|word| word >> (note.index() % 64) & 1 == 1)
    }

    /// Returns the number of notes in the set.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.n_set
    }

    /// True if the set is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.n_set == 0
    }

    /// Returns the notes in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = NoteId> + '_ {
        self.words.iter().zip(0_u32..).flat_map(|(&word, at)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros())?;
                rest &= rest - 1;
                Some(NoteId::new(at * 64 + bit))
            })
        })
    }
}

impl FromIterator<NoteId> for NoteBits {
    fn from_iter<I: IntoIterator<Item = NoteId>>(notes: I) -> Self {
        let mut bits = Self::default();
        for note in notes {
            bits.insert(note);
        }
        bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_contains_inserted_notes() {
        let ids = [0, 63, 64, 200, 63].map(NoteId::new);
        let bits: NoteBits = ids.into_iter().collect();
        assert_eq!(bits.len(), 4);
        assert_eq!(bits.iter().map(NoteId::get).collect::<Vec<_>>(), [0, 63, 64, 200]);
        assert!(bits.contains(NoteId::new(64)) && !bits.contains(NoteId::new(65)));
        let mut fewer = bits.clone();
        assert!(fewer.remove(NoteId::new(200)) && !fewer.remove(NoteId::new(200)));
        assert_eq!(fewer.len(), 3);
        let both =
            NoteSet::Only(bits).intersection([63, 65].map(NoteId::new).into_iter().collect());
        assert_eq!(both.len(), Some(1));
        let (mut more, mut all) = (both, NoteSet::All);
        more.insert(NoteId::new(9));
        all.insert(NoteId::new(9));
        assert_eq!((more.len(), all.len()), (Some(2), None));
        assert!(NoteSet::All.contains(NoteId::new(9)) && NoteSet::All.len().is_none());
    }
}
