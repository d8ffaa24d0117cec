//! Names and the notes they lead to, in order.

use std::sync::Arc;

use imbl::OrdMap;
use smallvec::SmallVec;
use weft_model::{NoteBits, NoteId};

use super::VaultId;
use crate::columns::{Column, ColumnBuilder};

/// Bytes of a note's number.
const ID: usize = size_of::<u32>();

/// Edits are folded into a new base when there is more than one for this many of its pairs, and a page's worth besides.
const FOLD_ONE_IN: usize = 4;
const FOLD_FROM: usize = 1024;

/// A set of pairs of a name and a note, ordered by the bytes of the name, then by note. Cloning shares it.
///
/// The base holds each name once, in two columns that may lie in a mapped file; what was edited since lies beside it.
#[derive(Clone, Debug, Default)]
pub(super) struct Directory {
    base: Base,
    /// Where it differs from the base: whether the pair is there.
    edits: OrdMap<(Arc<[u8]>, NoteId), bool>,
    n_pairs: usize,
    /// What does not count yet, in the order in which it came.
    staged: Vec<Staged>,
}

/// A pair that is to be there, or not.
#[derive(Clone, Debug)]
struct Staged {
    name: Vec<u8>,
    note: NoteId,
    is_there: bool,
}

impl Staged {
    fn pair(&self) -> (&[u8], NoteId) {
        (&self.name, self.note)
    }
}

/// The notes of one name, ascending.
pub(super) type Notes = SmallVec<[NoteId; 4]>;

impl Directory {
    /// How many pairs there are.
    pub(super) const fn len(&self) -> usize {
        self.n_pairs
    }

    /// Lets `name` lead to `note`.
    pub(super) fn insert(&mut self, name: &[u8], note: NoteId) {
        self.set(name, note, true);
    }

    /// Lets `name` lead to `note` no longer.
    pub(super) fn remove(&mut self, name: &[u8], note: NoteId) {
        self.set(name, note, false);
    }

    /// Lets `name` lead to `note`, or no longer, from the next [`settle`](Self::settle) on, until when nothing may be asked.
    pub(super) fn stage(&mut self, name: Vec<u8>, note: NoteId, is_there: bool) {
        self.staged.push(Staged { name, note, is_there });
    }

    /// Lets everything count that was staged; many changes at once cost far less than each alone.
    pub(super) fn settle(&mut self) {
        let mut staged = std::mem::take(&mut self.staged);
        if !self.is_many(staged.len()) {
            for Staged { name, note, is_there } in staged {
                self.set(&name, note, is_there);
            }
            return;
        }
        // Of several changes of one pair the last counts.
        staged.sort_by(|a, b| a.pair().cmp(&b.pair()));
        staged.dedup_by(|later, kept| {
            let is_same = later.pair() == kept.pair();
            kept.is_there = if is_same { later.is_there } else { kept.is_there };
            is_same
        });
        let edits = staged.iter().map(|staged| (staged.pair(), staged.is_there));
        *self = Self::over(Base::of(edited(self.from(&[]), edits)));
    }

    fn set(&mut self, name: &[u8], note: NoteId, is_there: bool) {
        let in_base = self.base.holds(name, note);
        let pair = (Arc::from(name), note);
        let before = if in_base == is_there {
            self.edits.remove(&pair)
        } else {
            self.edits.insert(pair, is_there)
        };
        match (before.unwrap_or(in_base), is_there) {
            (false, true) => self.n_pairs += 1,
            (true, false) => self.n_pairs -= 1,
            (false, false) | (true, true) => {}
        }
    }

    /// The notes that `name` leads to.
    pub(super) fn at(&self, name: &[u8]) -> Notes {
        debug_assert!(self.staged.is_empty());
        let mut notes = self.base.at(name);
        for ((other, note), is_there) in self.edits_from(name) {
            if **other != *name {
                break;
            }
            match (notes.binary_search(note), *is_there) {
                (Err(at), true) => notes.insert(at, *note),
                (Ok(at), false) => drop(notes.remove(at)),
                (Ok(_), true) | (Err(_), false) => {}
            }
        }
        notes
    }

    /// The first note that `name` leads to.
    pub(super) fn first(&self, name: &[u8]) -> Option<NoteId> {
        self.at(name).first().copied()
    }

    /// The edits of `name` and of those behind it.
    fn edits_from<'d>(
        &'d self,
        name: &[u8],
    ) -> impl Iterator<Item = (&'d (Arc<[u8]>, NoteId), &'d bool)> + use<'d> {
        let first = (!self.edits.is_empty()).then(|| (Arc::from(name), NoteId::new(0)));
        first.into_iter().flat_map(|first| self.edits.range(first..))
    }

    /// The pairs whose names begin with `start`, in order.
    pub(super) fn below<'d>(
        &'d self,
        start: &[u8],
    ) -> impl Iterator<Item = (&'d [u8], NoteId)> + use<'d> {
        let from = self.from(start);
        let start = start.to_vec();
        from.take_while(move |(name, _)| name.starts_with(&start))
    }

    /// All pairs from the name `start` on, in order.
    pub(super) fn from<'d>(
        &'d self,
        start: &[u8],
    ) -> impl Iterator<Item = (&'d [u8], NoteId)> + use<'d> {
        debug_assert!(self.staged.is_empty());
        let edits = self.edits_from(start);
        edited(
            self.base.from(start),
            edits.map(|((name, note), is_there)| ((&**name, *note), *is_there)),
        )
    }

    /// Folds the edits into the base when they have grown. `O(pairs)` when it does, else `O(1)`.
    pub(super) fn fold(&mut self) {
        if self.is_many(self.edits.len()) {
            *self = Self::over(self.folded());
        }
    }

    /// Whether so many edits cost more than a new base.
    const fn is_many(&self, n_edits: usize) -> bool {
        n_edits > self.base.n_pairs() / FOLD_ONE_IN + FOLD_FROM
    }

    /// The directory of these columns, which [`columns`](Self::columns) gave; nothing where they do not fit together or name a slot that is not `known`.
    pub(super) fn of(names: Column, notes: Column, known: &NoteBits) -> Option<Self> {
        let base = Base { names, notes };
        let is_fit = base.names.len() == base.notes.len()
            && base.notes.iter().all(|ids| !ids.is_empty() && ids.len().is_multiple_of(ID))
            && (0..base.names.len()).flat_map(|at| base.ids(at)).all(|id| known.contains(id));
        is_fit.then(|| Self::over(base))
    }

    /// Its names and, for each, its notes.
    pub(super) fn columns(&self) -> [Column; 2] {
        let Base { names, notes } = self.folded();
        [names, notes]
    }

    fn over(base: Base) -> Self {
        Self { n_pairs: base.n_pairs(), base, ..Self::default() }
    }

    /// All pairs as a base.
    fn folded(&self) -> Base {
        if self.edits.is_empty() { self.base.clone() } else { Base::of(self.from(&[])) }
    }
}

/// A pair of a [`Directory`].
type Pair<'d> = (&'d [u8], NoteId);

/// Pairs in order, after edits in order: whether each pair is there.
fn edited<'d>(
    pairs: impl Iterator<Item = Pair<'d>>,
    edits: impl Iterator<Item = (Pair<'d>, bool)>,
) -> impl Iterator<Item = Pair<'d>> {
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
struct Base {
    /// Ascending, each once.
    names: Column,
    /// The notes of each name, ascending: `u32`, little-endian.
    notes: Column,
}

impl Base {
    /// Of these pairs, which are in order.
    fn of<'d>(pairs: impl Iterator<Item = Pair<'d>>) -> Self {
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
        self.notes.n_bytes() / ID
    }

    fn ids(&self, at: usize) -> impl Iterator<Item = NoteId> {
        let (ids, _) = self.notes.get(at).as_chunks::<ID>();
        ids.iter().map(|id| NoteId::new(u32::from_le_bytes(*id)))
    }

    /// The notes of `name`.
    fn at(&self, name: &[u8]) -> Notes {
        let at = self.names.partition_point(|other| other < name);
        if self.names.get(at) == name { self.ids(at).collect() } else { Notes::new() }
    }

    fn holds(&self, name: &[u8], note: NoteId) -> bool {
        let at = self.names.partition_point(|other| other < name);
        let (ids, _) = self.notes.get(at).as_chunks::<ID>();
        let id = |id: &[u8; ID]| NoteId::new(u32::from_le_bytes(*id));
        self.names.get(at) == name && ids.binary_search_by_key(&note, id).is_ok()
    }

    fn from<'d>(&'d self, start: &[u8]) -> impl Iterator<Item = (&'d [u8], NoteId)> + use<'d> {
        let first = self.names.partition_point(|name| name < start);
        let names = first..self.names.len();
        names.flat_map(move |at| self.ids(at).map(move |id| (self.names.get(at), id)))
    }
}

/// Stands between the parts of a name; no text holds this byte.
const BETWEEN: u8 = 0xff;

/// The name of `text` in a vault: those of a vault stand together, in the order of their texts.
pub(super) fn within(vault: VaultId, text: &str) -> Vec<u8> {
    [&vault.0.to_be_bytes(), text.as_bytes()].concat()
}

/// The text of a name that is [`within`] a vault.
pub(super) fn text_of(name: &[u8]) -> &str {
    let text = name.get(size_of::<VaultId>()..).unwrap_or_default();
    std::str::from_utf8(text).unwrap_or_default()
}

/// A name whose last part is `text`, behind another part of it: those with that part stand together, in the order of their texts.
pub(super) fn joined(mut before: Vec<u8>, text: &str) -> Vec<u8> {
    before.push(BETWEEN);
    before.extend_from_slice(text.as_bytes());
    before
}

/// The last part of a name.
pub(super) fn last_part(name: &[u8]) -> &str {
    let last = name.rsplit(|byte| *byte == BETWEEN).next().unwrap_or_default();
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
        fn a_directory_is_an_ordered_set_however_often_it_is_folded(
            edits in prop::collection::vec((names(), 0..4_u32, any::<bool>(), any::<bool>(), any::<bool>()), 0..60),
        ) {
            let (mut directory, mut set) = (Directory::default(), BTreeSet::new());
            for (name, note, is_there, is_folded, is_staged) in edits {
                let (name, note) = (name.as_bytes(), NoteId::new(note));
                if is_staged {
                    directory.stage(name.to_vec(), note, !is_there);
                    directory.stage(name.to_vec(), note, is_there);
                    directory.settle();
                } else {
                    directory.set(name, note, is_there);
                }
                let _ = if is_there { set.insert((name, note)) } else { set.remove(&(name, note)) };
                if is_folded {
                    directory = Directory::over(directory.folded());
                }
                prop_assert_eq!(directory.len(), set.len());
                let all: Vec<_> = directory.from(&[]).collect();
                prop_assert_eq!(all, set.iter().copied().collect::<Vec<_>>());
                for start in ["", "a", "ab", "b", "c", "ö"].map(str::as_bytes) {
                    let own = set.iter().filter(|(name, _)| *name == start).map(|(_, note)| *note);
                    let own: Vec<NoteId> = own.collect();
                    prop_assert_eq!(directory.first(start), own.first().copied());
                    prop_assert_eq!(directory.at(start).to_vec(), own);
                    let below = set.iter().copied().filter(|(name, _)| name.starts_with(start));
                    prop_assert_eq!(directory.below(start).collect::<Vec<_>>(), below.collect::<Vec<_>>());
                }
            }
        }
    }

    #[test]
    fn many_edits_are_folded_and_few_are_not() {
        let mut directory = Directory::default();
        for note in 0..5_000 {
            directory.insert(b"a", NoteId::new(note));
            directory.fold();
        }
        assert!(directory.base.n_pairs() > 3_000 && directory.edits.len() < 2_000);
        assert_eq!(directory.len(), 5_000);

        // The same, all at once: each comes, every other one goes again, and some were never there.
        let mut directory = Directory::default();
        directory.insert(b"b", NoteId::new(7));
        for note in (0..5_000).map(NoteId::new) {
            directory.stage(b"a".to_vec(), note, true);
            directory.stage(b"c".to_vec(), note, false);
        }
        (0..5_000).step_by(2).for_each(|note| {
            directory.stage(b"a".to_vec(), NoteId::new(note), false);
        });
        directory.settle();
        let odd =
            (0..5_000).filter(|note| note % 2 == 1).map(|note| (&b"a"[..], NoteId::new(note)));
        let expected: Vec<_> = odd.chain([(&b"b"[..], NoteId::new(7))]).collect();
        assert_eq!(directory.from(&[]).collect::<Vec<_>>(), expected);
        assert_eq!((directory.len(), directory.edits.len()), (2_501, 0));
    }
}
