//! petgraph's view of the graph, so that its algorithms run on it as it is.
//!
//! Ids are slots, and deleted notes leave some of them empty. The algorithms that count on none (`connected_components`, `floyd_warshall`) run on [`Dense`].

use petgraph::Direction;
use petgraph::visit::{
    Data, EdgeRef, GraphBase, GraphProp, IntoEdgeReferences, IntoEdges, IntoNeighbors,
    IntoNeighborsDirected, IntoNodeIdentifiers, IntoNodeReferences, NodeCompactIndexable,
    NodeCount, NodeIndexable, VisitMap, Visitable,
};
use weft_model::{NoteBits, NoteId, Uri};

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

/// A note weighs what it is called, an edge what it is.
impl Data for NoteGraph {
    type NodeWeight = Uri;
    type EdgeWeight = Half;
}

impl<'g> IntoNodeReferences for &'g NoteGraph {
    type NodeRef = (NoteId, &'g Uri);
    type NodeReferences = std::vec::IntoIter<Self::NodeRef>;

    fn node_references(self) -> Self::NodeReferences {
        self.ids().map(|id| (id, self.uri(id))).collect::<Vec<_>>().into_iter()
    }
}

/// An edge, seen from the note that links.
#[derive(Clone, Copy, Debug)]
pub struct Edge<'g> {
    source: NoteId,
    half: &'g Half,
}

impl EdgeRef for Edge<'_> {
    type NodeId = NoteId;
    type EdgeId = (NoteId, Half);
    type Weight = Half;

    fn source(&self) -> NoteId {
        self.source
    }

    fn target(&self) -> NoteId {
        self.half.other
    }

    fn weight(&self) -> &Half {
        self.half
    }

    fn id(&self) -> (NoteId, Half) {
        (self.source, *self.half)
    }
}

/// The edges that some notes have, note by note.
pub struct Edges<'g> {
    graph: &'g NoteGraph,
    sources: std::vec::IntoIter<NoteId>,
    source: NoteId,
    halves: std::slice::Iter<'g, Half>,
}

impl<'g> Iterator for Edges<'g> {
    type Item = Edge<'g>;

    fn next(&mut self) -> Option<Edge<'g>> {
        loop {
            if let Some(half) = self.halves.next() {
                return Some(Edge { source: self.source, half });
            }
            self.source = self.sources.next()?;
            self.halves = self.graph.outgoing(self.source).iter();
        }
    }
}

impl<'g> IntoEdgeReferences for &'g NoteGraph {
    type EdgeRef = Edge<'g>;
    type EdgeReferences = Edges<'g>;

    fn edge_references(self) -> Edges<'g> {
        let source = NoteId::new(0);
        Edges { graph: self, sources: self.node_identifiers(), source, halves: [].iter() }
    }
}

impl<'g> IntoEdges for &'g NoteGraph {
    type Edges = Edges<'g>;

    fn edges(self, source: NoteId) -> Edges<'g> {
        let halves = self.outgoing(source).iter();
        Edges { graph: self, sources: Vec::new().into_iter(), source, halves }
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

/// A graph whose notes have indices without gaps, in the order of their ids.
///
/// ```
/// use petgraph::algo::connected_components;
/// use weft_graph::visit::Dense;
/// use weft_graph::{NodeSpec, NoteGraph};
/// use weft_model::NoteId;
///
/// let graph = NoteGraph::build([2, 5].map(|slot| (NoteId::new(slot), NodeSpec::note("fern"))));
/// assert_eq!(connected_components(&Dense::new(&graph)), 2);
/// ```
#[derive(Clone, Debug)]
pub struct Dense<'g> {
    graph: &'g NoteGraph,
    /// By index.
    ids: Vec<NoteId>,
}

impl<'g> Dense<'g> {
    /// Numbers the notes of `graph`. `O(slots)`.
    #[must_use]
    pub fn new(graph: &'g NoteGraph) -> Self {
        Self { graph, ids: graph.ids().collect() }
    }
}

impl GraphBase for Dense<'_> {
    type NodeId = NoteId;
    type EdgeId = (NoteId, Half);
}

impl GraphProp for Dense<'_> {
    type EdgeType = petgraph::Directed;
}

impl NodeCount for Dense<'_> {
    fn node_count(&self) -> usize {
        self.ids.len()
    }
}

impl NodeIndexable for Dense<'_> {
    fn node_bound(&self) -> usize {
        self.ids.len()
    }

    fn to_index(&self, id: NoteId) -> usize {
        self.ids.binary_search(&id).expect("a note of the graph")
    }

    fn from_index(&self, index: usize) -> NoteId {
        self.ids[index]
    }
}

impl NodeCompactIndexable for Dense<'_> {}

impl Data for Dense<'_> {
    type NodeWeight = Uri;
    type EdgeWeight = Half;
}

impl IntoNodeIdentifiers for &Dense<'_> {
    type NodeIdentifiers = std::vec::IntoIter<NoteId>;

    fn node_identifiers(self) -> Self::NodeIdentifiers {
        self.ids.clone().into_iter()
    }
}

impl<'g> IntoEdgeReferences for &Dense<'g> {
    type EdgeRef = Edge<'g>;
    type EdgeReferences = Edges<'g>;

    fn edge_references(self) -> Edges<'g> {
        self.graph.edge_references()
    }
}

impl<'g> IntoNeighbors for &Dense<'g> {
    type Neighbors = Neighbours<'g>;

    fn neighbors(self, id: NoteId) -> Neighbours<'g> {
        self.graph.neighbors(id)
    }
}

impl<'g> IntoNeighborsDirected for &Dense<'g> {
    type NeighborsDirected = Neighbours<'g>;

    fn neighbors_directed(self, id: NoteId, direction: Direction) -> Neighbours<'g> {
        self.graph.neighbors_directed(id, direction)
    }
}

impl<'g> IntoEdges for &Dense<'g> {
    type Edges = Edges<'g>;

    fn edges(self, source: NoteId) -> Edges<'g> {
        IntoEdges::edges(self.graph, source)
    }
}
