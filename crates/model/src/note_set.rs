//! Sets of notes: how a filter travels into every search and walk.

use crate::NoteId;

/// Which notes a search or walk may touch.
///
/// One bit per slot of the snapshot, so membership is a look-up and sets intersect word by word.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum NoteSet {
    /// No restriction.
    #[default]
    All,
    /// These notes only.
    Only(NoteBits),
}

impl NoteSet {
    /// Whether `note` may be touched. `O(1)`.
    #[must_use]
    pub fn contains(&self, note: NoteId) -> bool {
        match self {
            Self::All => true,
            Self::Only(bits) => bits.contains(note),
        }
    }

    /// How many notes it holds; nothing when it is no restriction. `O(1)`.
    #[must_use]
    pub const fn len(&self) -> Option<usize> {
        match self {
            Self::All => None,
            Self::Only(bits) => Some(bits.n_set),
        }
    }

    /// Whether no note may be touched.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        matches!(self, Self::Only(NoteBits { n_set: 0, .. }))
    }

    /// Lets `note` be touched, too.
    pub fn insert(&mut self, note: NoteId) {
        if let Self::Only(bits) = self {
            bits.insert(note);
        }
    }

    /// What both sets allow. `O(slots)`.
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

/// A bit per note slot.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct NoteBits {
    words: Vec<u64>,
    n_set: usize,
}

impl NoteBits {
    /// Adds `note`; returns true when it was not there.
    pub fn insert(&mut self, note: NoteId) -> bool {
        let (word, bit) = (note.index() / 64, 1_u64 << (note.index() % 64));
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        let fresh = self.words[word] & bit == 0;
        self.words[word] |= bit;
        self.n_set += usize::from(fresh);
        fresh
    }

    /// Takes `note` out; returns true when it was there.
    pub fn remove(&mut self, note: NoteId) -> bool {
        let there = self.contains(note);
        if there {
            self.words[note.index() / 64] &= !(1_u64 << (note.index() % 64));
            self.n_set -= 1;
        }
        there
    }

    /// Whether `note` is in the set.
    #[must_use]
    pub fn contains(&self, note: NoteId) -> bool {
        self.words.get(note.index() / 64).is_some_and(|word| word >> (note.index() % 64) & 1 == 1)
    }

    /// How many notes are in the set.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.n_set
    }

    /// Whether none is.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.n_set == 0
    }

    /// The notes, ascending.
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
    fn a_set_answers_as_it_was_filled() {
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
