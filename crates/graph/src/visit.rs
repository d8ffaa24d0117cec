//! petgraph's view of the graph, so that its algorithms run on it as it is.

use petgraph::Direction;
use petgraph::visit::{
    GraphBase, GraphProp, IntoNeighbors, IntoNeighborsDirected, IntoNodeIdentifiers, NodeCount,
    NodeIndexable, VisitMap, Visitable,
};
use weft_model::{NoteBits, NoteId};

use crate::{Half, NoteGraph};

impl GraphBase for NoteGraph {
    type NodeId = NoteId;
    type EdgeId = (NoteId, Half);
}

impl GraphProp for NoteGraph {
    type EdgeType = petgraph::Directed;
}

impl NodeCount for NoteGraph {
    fn node_count(&self) -> usize {
        self.n_nodes()
    }
}

impl NodeIndexable for NoteGraph {
    fn node_bound(&self) -> usize {
        self.n_slots()
    }

    fn to_index(&self, id: NoteId) -> usize {
        id.index()
    }

    fn from_index(&self, index: usize) -> NoteId {
        NoteId::new(u32::try_from(index).expect("an index below the node bound"))
    }
}

/// The other ends of a list of halves, parallel edges and self loops included.
pub struct Neighbours<'g>(std::slice::Iter<'g, Half>);

impl Iterator for Neighbours<'_> {
    type Item = NoteId;

    fn next(&mut self) -> Option<NoteId> {
        self.0.next().map(|half| half.other)
    }
}

impl<'g> IntoNeighbors for &'g NoteGraph {
    type Neighbors = Neighbours<'g>;

    fn neighbors(self, id: NoteId) -> Neighbours<'g> {
        Neighbours(self.outgoing(id).iter())
    }
}

impl<'g> IntoNeighborsDirected for &'g NoteGraph {
    type NeighborsDirected = Neighbours<'g>;

    fn neighbors_directed(self, id: NoteId, direction: Direction) -> Neighbours<'g> {
        Neighbours(match direction {
            Direction::Outgoing => self.outgoing(id).iter(),
            Direction::Incoming => self.inbound(id).iter(),
        })
    }
}

impl IntoNodeIdentifiers for &NoteGraph {
    type NodeIdentifiers = std::vec::IntoIter<NoteId>;

    fn node_identifiers(self) -> Self::NodeIdentifiers {
        self.ids().collect::<Vec<_>>().into_iter()
    }
}

/// The visited notes of a petgraph algorithm.
#[derive(Clone, Debug, Default)]
pub struct Visited(NoteBits);

impl VisitMap<NoteId> for Visited {
    fn visit(&mut self, id: NoteId) -> bool {
        self.0.insert(id)
    }

    fn is_visited(&self, id: &NoteId) -> bool {
        self.0.contains(*id)
    }

    fn unvisit(&mut self, id: NoteId) -> bool {
        self.0.remove(id)
    }
}

impl Visitable for NoteGraph {
    type Map = Visited;

    fn visit_map(&self) -> Visited {
        Visited::default()
    }

    fn reset_map(&self, map: &mut Visited) {
        *map = Visited::default();
    }
}
