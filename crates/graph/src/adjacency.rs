//! Edges of all nodes in one direction: a compact base with an overlay of edited lists.

use std::sync::Arc;

use weft_model::{LinkSource, NoteId};

/// The type of an edge, as an index into [`NoteGraph::kind`](crate::NoteGraph::kind).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindId(pub(crate) u16);

/// One end of an edge, seen from the other end.
///
/// A list of halves is free of duplicates and sorted by type, then uri of the other end (both by bytes), then typed before inline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Half {
    /// The node at the other end.
    pub other: NoteId,
    /// The edge's type.
    pub kind: KindId,
    /// Where the link was written.
    pub source: LinkSource,
}

/// The halves of every node in one direction.
///
/// The base is one array with offsets; a changed list replaces its base list in the overlay.
#[derive(Clone, Debug, Default)]
pub(crate) struct Adjacency {
    base: Arc<Base>,
    overlay: imbl::HashMap<NoteId, Arc<[Half]>>,
}

#[derive(Debug, Default)]
struct Base {
    /// `n_nodes + 1` positions in `halves`, ascending; empty when there are no nodes.
    offsets: Vec<u32>,
    halves: Vec<Half>,
}

/// The overlay is folded into a new base when it holds more than one list in this many.
const FOLD_ONE_IN: usize = 10;

impl Adjacency {
    /// From lists in the order of slots, each already sorted.
    pub(crate) fn from_lists<L: AsRef<[Half]>>(lists: impl Iterator<Item = L>) -> Self {
        let mut base = Base { offsets: vec![0], halves: Vec::new() };
        for list in lists {
            base.halves.extend_from_slice(list.as_ref());
            base.offsets.push(position(base.halves.len()));
        }
        Self { base: Arc::new(base), overlay: imbl::HashMap::new() }
    }

    /// The halves of `node`; none for a slot it does not know. `O(1)`.
    pub(crate) fn of(&self, node: NoteId) -> &[Half] {
        if let Some(list) = self.overlay.get(&node) {
            return list;
        }
        match self.base.offsets.get(node.index()..node.index() + 2) {
            Some(&[start, end]) => &self.base.halves[start as usize..end as usize],
            _ => &[],
        }
    }

    /// Replaces the halves of `node`.
    pub(crate) fn set(&mut self, node: NoteId, halves: Vec<Half>) {
        self.overlay.insert(node, halves.into());
    }

    /// Folds the overlay into the base when it has grown. `O(edges)` when it does, else `O(1)`.
    pub(crate) fn fold(&mut self, n_nodes: usize) {
        if self.overlay.len() * FOLD_ONE_IN > n_nodes.max(256) {
            let ids = (0..position(n_nodes)).map(NoteId::new);
            *self = Self::from_lists(ids.map(|id| self.of(id)));
        }
    }
}

fn position(len: usize) -> u32 {
    u32::try_from(len).expect("a snapshot holds fewer than 2^32 nodes and edges")
}
