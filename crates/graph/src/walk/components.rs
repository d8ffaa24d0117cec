//! Strongly connected components of the links, computed by petgraph.

use petgraph::Direction;
use petgraph::algo::kosaraju_scc;
use petgraph::visit::{
    GraphBase, GraphRef, IntoNeighbors, IntoNeighborsDirected, IntoNodeIdentifiers, VisitMap,
    Visitable,
};
use weft_model::{NoteBits, NoteId};

use crate::{HalfEdge, NoteGraph};

/// Returns the strongly connected components of the links of `graph`, placeholders included. `O(nodes + edges)`.
pub(super) fn strongly_connected_components(graph: &NoteGraph) -> Vec<Vec<NoteId>> {
    kosaraju_scc(LinkGraph(graph))
}

/// The links of a graph as the traits of petgraph that [`kosaraju_scc`] needs.
#[derive(Clone, Copy)]
struct LinkGraph<'g>(&'g NoteGraph);

impl GraphBase for LinkGraph<'_> {
    type NodeId = NoteId;
    type EdgeId = (NoteId, HalfEdge);
}

impl GraphRef for LinkGraph<'_> {}

/// The other ends of a list of half-edges, parallel edges and self loops included.
struct Ends<'g>(std::slice::Iter<'g, HalfEdge>);

impl Iterator for Ends<'_> {
    type Item = NoteId;

    fn next(&mut self) -> Option<NoteId> {
        self.0.next().map(|half| half.other)
    }
}

impl<'g> IntoNeighbors for LinkGraph<'g> {
    type Neighbors = Ends<'g>;

    fn neighbors(self, id: NoteId) -> Ends<'g> {
        Ends(self.0.outgoing(id).iter())
    }
}

impl<'g> IntoNeighborsDirected for LinkGraph<'g> {
    type NeighborsDirected = Ends<'g>;

    fn neighbors_directed(self, id: NoteId, direction: Direction) -> Ends<'g> {
        Ends(match direction {
            Direction::Outgoing => self.0.outgoing(id).iter(),
            Direction::Incoming => self.0.inbound(id).iter(),
        })
    }
}

impl IntoNodeIdentifiers for LinkGraph<'_> {
    type NodeIdentifiers = std::vec::IntoIter<NoteId>;

    fn node_identifiers(self) -> Self::NodeIdentifiers {
        self.0.ids().collect::<Vec<_>>().into_iter()
    }
}

/// The notes that petgraph has visited.
#[derive(Default)]
struct Visited(NoteBits);

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

impl Visitable for LinkGraph<'_> {
    type Map = Visited;

    fn visit_map(&self) -> Visited {
        Visited::default()
    }

    fn reset_map(&self, map: &mut Visited) {
        *map = Visited::default();
    }
}

#[cfg(test)]
mod tests {
    use weft_model::LinkSource;

    use super::*;
    use crate::NodeSpec;

    #[test]
    fn components_skip_empty_slots() {
        let ids = [1, 4, 9, 12].map(NoteId::new);
        let to = |id: NoteId| vec![(id, "related".into(), LinkSource::Inline)];
        let graph = NoteGraph::build([
            (ids[0], NodeSpec { links: to(ids[1]), ..NodeSpec::note("a") }),
            (ids[1], NodeSpec { links: to(ids[0]), ..NodeSpec::note("b") }),
            (ids[2], NodeSpec::note("c")),
            (ids[3], NodeSpec { links: to(ids[2]), ..NodeSpec::note("d") }),
        ]);
        let mut components = strongly_connected_components(&graph);
        components.iter_mut().for_each(|component| component.sort_unstable());
        components.sort_unstable();
        assert_eq!(components, [vec![ids[0], ids[1]], vec![ids[2]], vec![ids[3]]]);
    }
}
