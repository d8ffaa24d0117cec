//! Edges of all nodes in one direction: compressed sparse rows with an overlay of edited lists.

use std::sync::Arc;

use weft_model::{LinkSource, NoteId};

/// Type of an edge: an index into [`NoteGraph::kind`](crate::NoteGraph::kind).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindId(pub(crate) u16);

/// One end of an edge, seen from the other end.
///
/// A list of half-edges has no duplicates and is sorted by type, then by uri of the other end (both by bytes), then typed before inline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HalfEdge {
    /// Node at the other end.
    pub other: NoteId,
    /// Type of the edge.
    pub kind: KindId,
    /// Source of the link: typed or inline.
    pub source: LinkSource,
}

/// Half-edges of every node in one direction.
///
/// The base is one array with offsets; the overlay holds the lists that replace lists of the base.
#[derive(Clone, Debug, Default)]
pub(crate) struct Adjacency {
    base: Arc<Csr>,
    overlay: imbl::HashMap<NoteId, Arc<[HalfEdge]>>,
}

#[derive(Debug, Default)]
struct Csr {
    /// Start positions in `halves`, ascending, `n_nodes + 1` of them; empty if there are no nodes.
    offsets: Vec<u32>,
    halves: Vec<HalfEdge>,
}

/// The overlay is merged into a new base when it holds more than one list in `FOLD_ONE_IN`.
const FOLD_ONE_IN: usize = 10;

impl Adjacency {
    /// Builds the base from lists in slot order, each already sorted.
    pub(crate) fn from_lists<L: AsRef<[HalfEdge]>>(lists: impl Iterator<Item = L>) -> Self {
        let mut base = Csr { offsets: vec![0], halves: Vec::new() };
        for list in lists {
            base.halves.extend_from_slice(list.as_ref());
            base.offsets.push(position(base.halves.len()));
        }
        Self { base: Arc::new(base), overlay: imbl::HashMap::new() }
    }

    /// Returns the half-edges of `node`; empty for an unknown slot. `O(1)`.
    pub(crate) fn of(&self, node: NoteId) -> &[HalfEdge] {
        if let Some(list) = self.overlay.get(&node) {
            return list;
        }
        match self.base.offsets.get(node.index()..node.index() + 2) {
            Some(&[start, end]) => &self.base.halves[start as usize..end as usize],
            _ => &[],
        }
    }

    /// Replaces the half-edges of `node`.
    pub(crate) fn set(&mut self, node: NoteId, halves: Vec<HalfEdge>) {
        self.overlay.insert(node, halves.into());
    }

    /// Merges the overlay into the base if it has grown too large. `O(edges)` then, otherwise `O(1)`.
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
