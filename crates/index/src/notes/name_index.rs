//! Sorted index from names to notes.

use std::sync::Arc;

use imbl::OrdMap;
use smallvec::SmallVec;
use weft_model::{NoteBits, NoteId};

use super::VaultId;
use crate::byte_columns::{Column, ColumnBuilder};

/// Bytes of an encoded note id.
const ID_BYTES: usize = size_of::<u32>();

/// Edits are merged into a new base once there are more than `n_pairs / MERGE_RATIO + MERGE_MIN_EDITS`.
const MERGE_RATIO: usize = 4;
const MERGE_MIN_EDITS: usize = 1024;

/// A set of (name, note) pairs, ordered by the bytes of the name, then by note. Cloning shares it.
///
/// The base holds each name once, in two columns that may be in a mapped file; later edits are kept beside it.
#[derive(Clone, Debug, Default)]
pub(super) struct NameIndex {
    base: IndexBase,
    /// Differences from the base: whether the pair is present.
    edits: OrdMap<(Arc<[u8]>, NoteId), bool>,
    n_pairs: usize,
    /// Changes not yet applied, in order.
    staged: Vec<StagedPair>,
}

/// A pair to be added or removed.
#[derive(Clone, Debug)]
struct StagedPair {
    name: Vec<u8>,
    note: NoteId,
    is_present: bool,
}

impl StagedPair {
    fn pair(&self) -> (&[u8], NoteId) {
        (&self.name, self.note)
    }
}

/// Notes of one name, ascending.
pub(super) type NoteIds = SmallVec<[NoteId; 4]>;

impl NameIndex {
    /// Returns the number of pairs.
    pub(super) const fn len(&self) -> usize {
        self.n_pairs
    }

    /// Adds the pair of `name` and `note`.
    pub(super) fn insert(&mut self, name: &[u8], note: NoteId) {
        self.set(name, note, true);
    }

    /// Removes the pair of `name` and `note`.
    pub(super) fn remove(&mut self, name: &[u8], note: NoteId) {
        self.set(name, note, false);
    }

    /// Stages adding or removing a pair until the next [`apply_staged`](Self::apply_staged); the index must not be read before that.
    pub(super) fn stage(&mut self, name: Vec<u8>, note: NoteId, is_present: bool) {
        self.staged.push(StagedPair { name, note, is_present });
    }

    /// Applies all staged changes; a large batch costs far less than single changes.
    pub(super) fn apply_staged(&mut self) {
        let mut staged = std::mem::take(&mut self.staged);
        if !self.exceeds_merge_threshold(staged.len()) {
            for StagedPair { name, note, is_present } in staged {
                self.set(&name, note, is_present);
            }
            return;
        }
        // The last change of a pair wins.
        staged.sort_by(|a, b| a.pair().cmp(&b.pair()));
        staged.dedup_by(|later, kept| {
            let is_same = later.pair() == kept.pair();
            kept.is_present = if is_same { later.is_present } else { kept.is_present };
            is_same
        });
        let edits = staged.iter().map(|staged| (staged.pair(), staged.is_present));
        *self = Self::from_base(IndexBase::from_pairs(apply_edits(self.iter_from(&[]), edits)));
    }

    fn set(&mut self, name: &[u8], note: NoteId, is_present: bool) {
        let in_base = self.base.holds(name, note);
        let pair = (Arc::from(name), note);
        let before = if in_base == is_present {
            self.edits.remove(&pair)
        } else {
            self.edits.insert(pair, is_present)
        };
        match (before.unwrap_or(in_base), is_present) {
            (false, true) => self.n_pairs += 1,
            (true, false) => self.n_pairs -= 1,
            (false, false) | (true, true) => {}
        }
    }

    /// Returns the notes named `name`.
    pub(super) fn at(&self, name: &[u8]) -> NoteIds {
        debug_assert!(self.staged.is_empty());
        let mut notes = self.base.at(name);
        for ((other, note), is_present) in self.edits_from(name) {
            if **other != *name {
                break;
            }
            match (notes.binary_search(note), *is_present) {
                (Err(at), true) => notes.insert(at, *note),
                (Ok(at), false) => drop(notes.remove(at)),
                (Ok(_), true) | (Err(_), false) => {}
            }
        }
        notes
    }

    /// Returns the first note named `name`.
    pub(super) fn first(&self, name: &[u8]) -> Option<NoteId> {
        self.at(name).first().copied()
    }

    /// Returns the edits of `name` and of later names.
    fn edits_from<'d>(
        &'d self,
        name: &[u8],
    ) -> impl Iterator<Item = (&'d (Arc<[u8]>, NoteId), &'d bool)> + use<'d> {
        let first = (!self.edits.is_empty()).then(|| (Arc::from(name), NoteId::new(0)));
        first.into_iter().flat_map(|first| self.edits.range(first..))
    }

    /// Returns the pairs whose names start with `start`, in order.
    pub(super) fn with_prefix<'d>(
        &'d self,
        start: &[u8],
    ) -> impl Iterator<Item = (&'d [u8], NoteId)> + use<'d> {
        let from = self.iter_from(start);
        let start = start.to_vec();
        from.take_while(move |(name, _)| name.starts_with(&start))
    }

    /// Returns all pairs from the name `start` on, in order.
    pub(super) fn iter_from<'d>(
        &'d self,
        start: &[u8],
    ) -> impl Iterator<Item = (&'d [u8], NoteId)> + use<'d> {
        debug_assert!(self.staged.is_empty());
        let edits = self.edits_from(start);
        apply_edits(
            self.base.iter_from(start),
            edits.map(|((name, note), is_present)| ((&**name, *note), *is_present)),
        )
    }

    /// Merges the edits into the base if there are many. `O(pairs)` if so, else `O(1)`.
    pub(super) fn merge_if_large(&mut self) {
        if self.exceeds_merge_threshold(self.edits.len()) {
            *self = Self::from_base(self.merged());
        }
    }

    /// True if this many edits cost more than a new base.
    const fn exceeds_merge_threshold(&self, n_edits: usize) -> bool {
        n_edits > self.base.n_pairs() / MERGE_RATIO + MERGE_MIN_EDITS
    }

    /// Creates an index from [`columns`](Self::columns); `None` if they are inconsistent or refer to a slot that is not `known`.
    pub(super) fn from_columns(names: Column, notes: Column, known: &NoteBits) -> Option<Self> {
        let base = IndexBase { names, notes };
        let is_fit = base.names.len() == base.notes.len()
            && base.notes.iter().all(|ids| !ids.is_empty() && ids.len().is_multiple_of(ID_BYTES))
            && (0..base.names.len()).flat_map(|at| base.ids(at)).all(|id| known.contains(id));
        is_fit.then(|| Self::from_base(base))
    }

    /// Returns the column of names and the column of the notes of each.
    pub(super) fn columns(&self) -> [Column; 2] {
        let IndexBase { names, notes } = self.merged();
        [names, notes]
    }

    fn from_base(base: IndexBase) -> Self {
        Self { n_pairs: base.n_pairs(), base, ..Self::default() }
    }

    /// Returns all pairs as a base.
    fn merged(&self) -> IndexBase {
        if self.edits.is_empty() {
            self.base.clone()
        } else {
            IndexBase::from_pairs(self.iter_from(&[]))
        }
    }
}

/// A pair of a [`NameIndex`].
type NamePair<'d> = (&'d [u8], NoteId);

/// Applies ordered edits, which say whether each pair is present, to ordered pairs.
fn apply_edits<'d>(
    pairs: impl Iterator<Item = NamePair<'d>>,
    edits: impl Iterator<Item = (NamePair<'d>, bool)>,
) -> impl Iterator<Item = NamePair<'d>> {
    let (mut pairs, mut edits) = (pairs.peekable(), edits.peekable());
    std::iter::from_fn(move || {
        loop {
            let edit = edits.peek().map(|(pair, _)| *pair);
            match (pairs.peek().copied(), edit) {
                (None, None) => return None,
                (Some(pair), edit) if edit.is_none_or(|edit| pair < edit) => {
                    return pairs.next();
                }
                (pair, edit) => {
                    pairs.next_if(|_| pair == edit);
                    if let Some((pair, true)) = edits.next() {
                        return Some(pair);
                    }
                }
            }
        }
    })
}

#[derive(Clone, Debug, Default)]
struct IndexBase {
    /// Ascending, without duplicates.
    names: Column,
    /// Notes of each name, ascending: `u32`, little-endian.
    notes: Column,
}

impl IndexBase {
    /// Builds a base from ordered pairs.
    fn from_pairs<'d>(pairs: impl Iterator<Item = NamePair<'d>>) -> Self {
        let (mut names, mut notes) = (ColumnBuilder::default(), ColumnBuilder::default());
        let mut pairs = pairs.peekable();
        while let Some((name, note)) = pairs.next() {
            notes.extend(&note.get().to_le_bytes());
            if pairs.peek().is_none_or(|(next, _)| *next != name) {
                names.extend(name);
                names.end();
                notes.end();
            }
        }
        Self { names: names.finish(), notes: notes.finish() }
    }

    const fn n_pairs(&self) -> usize {
        self.notes.n_bytes() / ID_BYTES
    }

    fn ids(&self, at: usize) -> impl Iterator<Item = NoteId> {
        let (ids, _) = self.notes.get(at).as_chunks::<ID_BYTES>();
        ids.iter().map(|id| NoteId::new(u32::from_le_bytes(*id)))
    }

    /// Returns the notes named `name`.
    fn at(&self, name: &[u8]) -> NoteIds {
        let at = self.names.partition_point(|other| other < name);
        if self.names.get(at) == name { self.ids(at).collect() } else { NoteIds::new() }
    }

    fn holds(&self, name: &[u8], note: NoteId) -> bool {
        let at = self.names.partition_point(|other| other < name);
        let (ids, _) = self.notes.get(at).as_chunks::<ID_BYTES>();
        let id = |id: &[u8; ID_BYTES]| NoteId::new(u32::from_le_bytes(*id));
        self.names.get(at) == name && ids.binary_search_by_key(&note, id).is_ok()
    }

    fn iter_from<'d>(&'d self, start: &[u8]) -> impl Iterator<Item = (&'d [u8], NoteId)> + use<'d> {
        let first = self.names.partition_point(|name| name < start);
        let names = first..self.names.len();
        names.flat_map(move |at| self.ids(at).map(move |id| (self.names.get(at), id)))
    }
}

/// Separates the parts of a compound name; UTF-8 text never contains this byte.
const SEPARATOR: u8 = 0xff;

/// Returns the key of `text` in a vault: the keys of a vault are contiguous, ordered by text.
pub(super) fn vault_key(vault: VaultId, text: &str) -> Vec<u8> {
    [&vault.0.to_be_bytes(), text.as_bytes()].concat()
}

/// Returns the text of a [`vault_key`].
pub(super) fn key_text(name: &[u8]) -> &str {
    let text = name.get(size_of::<VaultId>()..).unwrap_or_default();
    std::str::from_utf8(text).unwrap_or_default()
}

/// Appends the part `text` to the key `before`: keys with the same first part are contiguous, ordered by text.
pub(super) fn compound_key(mut before: Vec<u8>, text: &str) -> Vec<u8> {
    before.push(SEPARATOR);
    before.extend_from_slice(text.as_bytes());
    before
}

/// Returns the last part of a compound key.
pub(super) fn last_part(name: &[u8]) -> &str {
    let last = name.rsplit(|byte| *byte == SEPARATOR).next().unwrap_or_default();
    std::str::from_utf8(last).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn names() -> impl Strategy<Value = &'static str> {
        prop::sample::select(&["", "a", "ab", "abc", "b", "ba", "ö"][..])
    }

    proptest! {
        #[test]
        fn name_index_equals_an_ordered_set_after_any_edits_and_merges(
            edits in prop::collection::vec((names(), 0..4_u32, any::<bool>(), any::<bool>(), any::<bool>()), 0..60),
        ) {
            let (mut index, mut set) = (NameIndex::default(), BTreeSet::new());
            for (name, note, is_present, is_merged, is_staged) in edits {
                let (name, note) = (name.as_bytes(), NoteId::new(note));
                if is_staged {
                    index.stage(name.to_vec(), note, !is_present);
                    index.stage(name.to_vec(), note, is_present);
                    index.apply_staged();
                } else {
                    index.set(name, note, is_present);
                }
                let _ = if is_present { set.insert((name, note)) } else { set.remove(&(name, note)) };
                if is_merged {
                    index = NameIndex::from_base(index.merged());
                }
                prop_assert_eq!(index.len(), set.len());
                let all: Vec<_> = index.iter_from(&[]).collect();
                prop_assert_eq!(all, set.iter().copied().collect::<Vec<_>>());
                for start in ["", "a", "ab", "b", "c", "ö"].map(str::as_bytes) {
                    let own = set.iter().filter(|(name, _)| *name == start).map(|(_, note)| *note);
                    let own: Vec<NoteId> = own.collect();
                    prop_assert_eq!(index.first(start), own.first().copied());
                    prop_assert_eq!(index.at(start).to_vec(), own);
                    let below = set.iter().copied().filter(|(name, _)| name.starts_with(start));
                    prop_assert_eq!(index.with_prefix(start).collect::<Vec<_>>(), below.collect::<Vec<_>>());
                }
            }
        }
    }

    #[test]
    fn only_large_batches_are_merged_into_the_base() {
        let mut index = NameIndex::default();
        for note in 0..5_000 {
            index.insert(b"a", NoteId::new(note));
            index.merge_if_large();
        }
        assert!(index.base.n_pairs() > 3_000 && index.edits.len() < 2_000);
        assert_eq!(index.len(), 5_000);

        // The same in one batch: each pair is added, every other one is removed again, and some removed pairs never existed.
        let mut index = NameIndex::default();
        index.insert(b"b", NoteId::new(7));
        for note in (0..5_000).map(NoteId::new) {
            index.stage(b"a".to_vec(), note, true);
            index.stage(b"c".to_vec(), note, false);
        }
        (0..5_000).step_by(2).for_each(|note| {
            index.stage(b"a".to_vec(), NoteId::new(note), false);
        });
        index.apply_staged();
        let odd =
            (0..5_000).filter(|note| note % 2 == 1).map(|note| (&b"a"[..], NoteId::new(note)));
        let expected: Vec<_> = odd.chain([(&b"b"[..], NoteId::new(7))]).collect();
        assert_eq!(index.iter_from(&[]).collect::<Vec<_>>(), expected);
        assert_eq!((index.len(), index.edits.len()), (2_501, 0));
    }
}
