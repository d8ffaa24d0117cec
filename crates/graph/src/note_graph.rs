//! The graph of one snapshot.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use weft_model::{LinkSource, NoteBits, NoteId, Uri, fold};

use crate::adjacency::{Adjacency, Half, KindId};
use crate::order::natural_cmp;

/// What the graph is told of one node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeSpec {
    /// The node's uri; unique in the graph.
    pub uri: Uri,
    /// Whether only links know of it: no file answers to the name yet.
    pub placeholder: bool,
    /// The note above it. Never a placeholder; loops are harmless.
    pub parent: Option<NoteId>,
    /// The note it is a reification about. Never a placeholder.
    pub object: Option<NoteId>,
    /// Its number among its siblings; numbered notes come first.
    pub order: Option<f64>,
    /// Its name among its siblings where numbers do not decide; compared naturally with case folded.
    pub name: String,
    /// Its outgoing edges: target, type, source. Duplicates merge.
    pub links: Vec<(NoteId, Arc<str>, LinkSource)>,
}

impl NodeSpec {
    /// A note without links or place, named by its uri.
    pub fn note(uri: &str) -> Self {
        Self {
            uri: Uri::new(uri),
            placeholder: false,
            parent: None,
            object: None,
            order: None,
            name: uri.to_owned(),
            links: Vec::new(),
        }
    }

    /// A placeholder: a name that links use and no file answers to.
    pub fn placeholder(uri: &str) -> Self {
        Self { placeholder: true, ..Self::note(uri) }
    }
}

/// How many distinct other nodes a node is linked with. Self loops and parallel edges do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Degrees {
    /// Nodes that link to it.
    pub inbound: u32,
    /// Nodes it links to.
    pub outgoing: u32,
    /// Nodes on either side, each once.
    pub both: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) uri: Uri,
    pub(crate) placeholder: bool,
    pub(crate) parent: Option<NoteId>,
    pub(crate) object: Option<NoteId>,
    pub(crate) order: Option<f64>,
    /// Folded.
    pub(crate) name: Arc<str>,
    pub(crate) degrees: Degrees,
}

/// Lists up to this long are scanned: searching them would cost more.
const SCANNED: usize = 32;

/// Notes and placeholders of one snapshot with their edges and hierarchy.
///
/// Cloning and editing share what does not change; the cost of an edit is that of the lists it touches.
/// Equal content gives equal answers whatever the order of edits that led to it.
#[derive(Clone, Debug, Default)]
pub struct NoteGraph {
    pub(crate) nodes: imbl::Vector<Option<Node>>,
    pub(crate) n_nodes: usize,
    /// No node has more distinct neighbours; before earlier edits one may have had as many.
    pub(crate) max_degree: u32,
    /// Which nodes are placeholders, once more: walks ask this of every edge.
    pub(crate) placeholders: Arc<NoteBits>,
    pub(crate) kinds: Kinds,
    pub(crate) outgoing: Adjacency,
    pub(crate) inbound: Adjacency,
    /// Children in sibling order.
    pub(crate) children: imbl::HashMap<NoteId, Arc<[NoteId]>>,
    /// Notes that have the key as their object, by uri.
    pub(crate) referrings: imbl::HashMap<NoteId, Arc<[NoteId]>>,
}

/// The greatest index of a type: where a graph is written down, one bit tells where its link stands.
const LAST_KIND: u16 = u16::MAX >> 1;

/// Names of edge types; an index, once given, stays.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kinds {
    pub(crate) names: Arc<Vec<Arc<str>>>,
    ids: imbl::HashMap<Arc<str>, KindId>,
}

impl Kinds {
    /// Types by their indices.
    pub(crate) fn new(names: impl IntoIterator<Item = Arc<str>>) -> Self {
        let names: Vec<Arc<str>> = names.into_iter().collect();
        let ids = names.iter().cloned().zip((0..=LAST_KIND).map(KindId)).collect();
        Self { names: Arc::new(names), ids }
    }

    /// Types beyond what an index can name share the last one; no vault of people comes near.
    fn id(&mut self, name: &Arc<str>) -> KindId {
        if let Some(known) = self.ids.get(name) {
            return *known;
        }
        let at = u16::try_from(self.names.len()).unwrap_or(u16::MAX);
        if at > LAST_KIND {
            return KindId(LAST_KIND);
        }
        Arc::make_mut(&mut self.names).push(Arc::clone(name));
        self.ids.insert(Arc::clone(name), KindId(at));
        KindId(at)
    }
}

impl NoteGraph {
    /// Builds the graph of `nodes`, each slot given once; edges to slots not given are dropped.
    ///
    /// `O(edges · log degree)`, and that of sorting the uris.
    #[must_use]
    pub fn build(nodes: impl IntoIterator<Item = (NoteId, NodeSpec)>) -> Self {
        let mut specs: Vec<Option<NodeSpec>> = Vec::new();
        for (id, spec) in nodes {
            if id.index() >= specs.len() {
                specs.resize_with(id.index() + 1, || None);
            }
            specs[id.index()] = Some(spec);
        }
        let n_slots = specs.len();
        let known = || {
            let ids = (0..).map(NoteId::new);
            ids.zip(&specs).filter_map(|(id, spec)| Some((id, spec.as_ref()?)))
        };
        let mut graph = Self { n_nodes: known().count(), ..Self::default() };

        // Sorting by rank compares numbers where sorting by uri would compare texts.
        let mut by_uri: Vec<(&Uri, NoteId)> = known().map(|(id, spec)| (&spec.uri, id)).collect();
        by_uri.sort_unstable();
        let mut rank = vec![u32::MAX; n_slots];
        for ((_, id), at) in by_uri.iter().zip(0..) {
            rank[id.index()] = at;
        }
        let is_known = |to: &NoteId| rank.get(to.index()).is_some_and(|at| *at != u32::MAX);
        let mut outgoing: Vec<Vec<Half>> = vec![Vec::new(); n_slots];
        for (id, spec) in known() {
            let halves = &mut outgoing[id.index()];
            halves.reserve(spec.links.len());
            // Most links of a note are of one type.
            let mut last: Option<(&Arc<str>, KindId)> = None;
            for (to, kind, source) in spec.links.iter().filter(|(to, ..)| is_known(to)) {
                let again = last.filter(|(other, _)| Arc::ptr_eq(other, kind)).map(|(_, id)| id);
                let id = again.unwrap_or_else(|| graph.kinds.id(kind));
                last = Some((kind, id));
                halves.push(Half { other: *to, kind: id, source: *source });
            }
        }
        let mut kind_rank = vec![0_u32; graph.kinds.names.len()];
        let mut by_name: Vec<(&Arc<str>, usize)> = graph.kinds.names.iter().zip(0..).collect();
        by_name.sort_unstable();
        for ((_, kind), at) in by_name.iter().zip(0..) {
            kind_rank[*kind] = at;
        }
        let sort = |halves: &mut Vec<Half>| {
            halves.sort_unstable_by_key(|half| {
                (kind_rank[half.kind.0 as usize], rank[half.other.index()], half.source)
            });
            halves.dedup();
        };
        outgoing.iter_mut().for_each(sort);
        let mut inbound: Vec<Vec<Half>> = vec![Vec::new(); n_slots];
        for (from, halves) in (0..).map(NoteId::new).zip(&outgoing) {
            for half in halves {
                inbound[half.other.index()].push(Half { other: from, ..*half });
            }
        }
        inbound.iter_mut().for_each(sort);
        graph.outgoing = Adjacency::from_lists(outgoing.into_iter());
        graph.inbound = Adjacency::from_lists(inbound.into_iter());

        let mut children: BTreeMap<NoteId, Vec<NoteId>> = BTreeMap::new();
        let mut referrings: BTreeMap<NoteId, Vec<NoteId>> = BTreeMap::new();
        for (id, spec) in known() {
            if let Some(parent) = spec.parent {
                children.entry(parent).or_default().push(id);
            }
            if let Some(object) = spec.object {
                referrings.entry(object).or_default().push(id);
            }
        }
        graph.placeholders =
            Arc::new(known().filter(|(_, spec)| spec.placeholder).map(|(id, _)| id).collect());
        for (id, spec) in (0..).map(NoteId::new).zip(specs) {
            let node = spec.map(|spec| {
                let degrees = graph.counted(id);
                graph.max_degree = graph.max_degree.max(degrees.both);
                Node {
                    uri: spec.uri,
                    placeholder: spec.placeholder,
                    parent: spec.parent,
                    object: spec.object,
                    order: spec.order,
                    name: fold(&spec.name).into(),
                    degrees,
                }
            });
            graph.nodes.push_back(node);
        }
        for (parent, mut list) in children {
            list.sort_unstable_by(|a, b| graph.sibling_cmp(*a, *b));
            graph.children.insert(parent, list.into());
        }
        for (object, mut list) in referrings {
            list.sort_unstable_by_key(|id| rank[id.index()]);
            graph.referrings.insert(object, list.into());
        }
        graph
    }

    /// This graph with some nodes replaced, added (`Some`) or removed (`None`).
    ///
    /// The caller also changes every node whose own links, parent or object change by it: a removed node that is still linked to must come back as a placeholder.
    /// Cost: the lists of the changed nodes and of the nodes they are or were linked with, whatever the size of the graph.
    #[must_use]
    pub fn edited(&self, changes: impl IntoIterator<Item = (NoteId, Option<NodeSpec>)>) -> Self {
        let changes: BTreeMap<NoteId, Option<NodeSpec>> = changes.into_iter().collect();
        let mut graph = self.clone();
        let mut edit = Edit::default();

        // First the nodes themselves, so that every list is sorted by the new uris and places.
        for (id, spec) in &changes {
            let old = self.node(*id);
            if old.map(|node| &node.uri) != spec.as_ref().map(|spec| &spec.uri) {
                edit.renamed(self, *id);
            }
            if let Some(node) = old {
                edit.children.extend(node.parent);
                edit.referrings.extend(node.object);
            }
            let node = spec.as_ref().map(|spec| {
                edit.children.extend(spec.parent);
                edit.referrings.extend(spec.object);
                Node {
                    uri: spec.uri.clone(),
                    placeholder: spec.placeholder,
                    parent: spec.parent,
                    object: spec.object,
                    order: spec.order,
                    name: fold(&spec.name).into(),
                    degrees: Degrees::default(),
                }
            });
            let is_placeholder = spec.as_ref().is_some_and(|spec| spec.placeholder);
            if is_placeholder != self.is_placeholder(*id) {
                let placeholders = Arc::make_mut(&mut graph.placeholders);
                let _ = if is_placeholder {
                    placeholders.insert(*id)
                } else {
                    placeholders.remove(*id)
                };
            }
            while graph.nodes.len() <= id.index() {
                graph.nodes.push_back(None);
            }
            graph.n_nodes =
                graph.n_nodes + usize::from(node.is_some()) - usize::from(old.is_some());
            graph.nodes.set(id.index(), node);
        }

        // Then the outgoing lists, and with them what must be taken from or given to inbound ones.
        let mut taken: HashSet<(NoteId, NoteId)> = HashSet::new();
        let mut given: BTreeMap<NoteId, Vec<Half>> = BTreeMap::new();
        for (id, spec) in &changes {
            for half in self.outgoing.of(*id) {
                taken.insert((half.other, *id));
                edit.inbound.insert(half.other);
            }
            let mut halves = Vec::new();
            for (to, kind, source) in spec.iter().flat_map(|spec| &spec.links) {
                if graph.node(*to).is_some() {
                    let kind = graph.kinds.id(kind);
                    halves.push(Half { other: *to, kind, source: *source });
                    given.entry(*to).or_default().push(Half { other: *id, kind, source: *source });
                    edit.inbound.insert(*to);
                }
            }
            edit.outgoing.remove(id);
            edit.degrees.insert(*id);
            graph.sort(&mut halves);
            graph.outgoing.set(*id, halves);
        }
        for id in &edit.inbound {
            let kept =
                self.inbound.of(*id).iter().filter(|half| !taken.contains(&(*id, half.other)));
            let mut halves: Vec<Half> =
                kept.copied().chain(given.remove(id).unwrap_or_default()).collect();
            graph.sort(&mut halves);
            graph.inbound.set(*id, halves);
            edit.degrees.insert(*id);
        }
        for id in &edit.outgoing {
            let mut halves = self.outgoing.of(*id).to_vec();
            halves.retain(|half| graph.node(half.other).is_some());
            graph.sort(&mut halves);
            graph.outgoing.set(*id, halves);
            edit.degrees.insert(*id);
        }

        // Last what is derived from both.
        for id in edit.degrees {
            let degrees = graph.counted(id);
            graph.max_degree = graph.max_degree.max(degrees.both);
            if let Some(Some(node)) = graph.nodes.get_mut(id.index()) {
                node.degrees = degrees;
            }
        }
        let moved: HashSet<NoteId> = changes.keys().copied().collect();
        for parent in edit.children {
            let list = graph.regrouped(self.children(parent), &moved, parent, |node| node.parent);
            put(&mut graph.children, parent, list, |a, b| self_cmp(&graph.nodes, *a, *b));
        }
        for object in edit.referrings {
            let list = graph.regrouped(self.referrings(object), &moved, object, |node| node.object);
            put(&mut graph.referrings, object, list, |a, b| {
                uri_of(&graph.nodes, *a).cmp(&uri_of(&graph.nodes, *b))
            });
        }
        graph.outgoing.fold(graph.nodes.len());
        graph.inbound.fold(graph.nodes.len());
        graph
    }

    /// The number of nodes, placeholders included.
    #[must_use]
    pub const fn n_nodes(&self) -> usize {
        self.n_nodes
    }

    /// The number of slots: every id is below it.
    #[must_use]
    pub fn n_slots(&self) -> usize {
        self.nodes.len()
    }

    /// All nodes, in the order of slots (not one for answers).
    pub fn ids(&self) -> impl Iterator<Item = NoteId> + '_ {
        self.nodes
            .iter()
            .zip(0..)
            .filter(|(node, _)| node.is_some())
            .map(|(_, slot)| NoteId::new(slot))
    }

    /// Whether the slot holds a node.
    #[must_use]
    pub fn contains(&self, id: NoteId) -> bool {
        self.node(id).is_some()
    }

    /// The node's uri.
    ///
    /// # Panics
    ///
    /// If the slot holds no node: ids come from this graph.
    #[must_use]
    pub fn uri(&self, id: NoteId) -> &Uri {
        uri_of(&self.nodes, id).expect("ids come from this graph")
    }

    /// Whether only links know of the node. `O(1)`, a look at one bit.
    #[must_use]
    pub fn is_placeholder(&self, id: NoteId) -> bool {
        self.placeholders.contains(id)
    }

    /// The name of an edge type.
    #[must_use]
    pub fn kind(&self, kind: KindId) -> &str {
        &self.kinds.names[kind.0 as usize]
    }

    /// All edge types ever used, for filters that fold each name once.
    pub fn kinds(&self) -> impl Iterator<Item = (KindId, &str)> {
        self.kinds.names.iter().zip(0..).map(|(name, at)| (KindId(at), &**name))
    }

    /// Edges from `id`, sorted by type, uri of the target, typed before inline; self loops included.
    #[must_use]
    pub fn outgoing(&self, id: NoteId) -> &[Half] {
        self.outgoing.of(id)
    }

    /// Edges to `id`, sorted by type, uri of the origin, typed before inline; self loops included.
    #[must_use]
    pub fn inbound(&self, id: NoteId) -> &[Half] {
        self.inbound.of(id)
    }

    /// The edges from one node to another, by type, typed before inline. `O(types · log degree)`, whichever of the two is a hub.
    #[must_use]
    pub fn edges(&self, from: NoteId, to: NoteId) -> Vec<Half> {
        let (outgoing, inbound) = (self.outgoing(from), self.inbound(to));
        let (mut rest, other) =
            if outgoing.len() <= inbound.len() { (outgoing, to) } else { (inbound, from) };
        let mut found = Vec::new();
        if rest.len() <= SCANNED {
            found.extend(rest.iter().filter(|half| half.other == other));
        } else {
            let uri = self.uri(other);
            while let Some(first) = rest.first() {
                let (run, others) =
                    rest.split_at(rest.partition_point(|half| half.kind == first.kind));
                let start = run.partition_point(|half| self.uri(half.other) < uri);
                found.extend(run[start..].iter().take_while(|half| half.other == other));
                rest = others;
            }
        }
        found.into_iter().map(|half: &Half| Half { other: to, ..*half }).collect()
    }

    /// Whether an edge leads from one of two nodes to the other. The cost is that of [`edges`](Self::edges).
    #[must_use]
    pub fn are_linked(&self, one: NoteId, other: NoteId) -> bool {
        !self.edges(one, other).is_empty() || !self.edges(other, one).is_empty()
    }

    /// Distinct neighbours of `id`. `O(1)`.
    #[must_use]
    pub fn degrees(&self, id: NoteId) -> Degrees {
        self.node(id).map_or_else(Degrees::default, |node| node.degrees)
    }

    /// The note above `id`.
    #[must_use]
    pub fn parent(&self, id: NoteId) -> Option<NoteId> {
        self.node(id)?.parent
    }

    /// The note `id` is a reification about.
    #[must_use]
    pub fn object(&self, id: NoteId) -> Option<NoteId> {
        self.node(id)?.object
    }

    /// The notes above `id`, nearest first; ends at a root or where a loop would close.
    pub fn ancestors(&self, id: NoteId) -> impl Iterator<Item = NoteId> + '_ {
        let mut seen = HashSet::from([id]);
        std::iter::successors(self.parent(id), |above| self.parent(*above))
            .take_while(move |above| seen.insert(*above))
    }

    /// The notes below `id`, in sibling order: numbered first, ascending, then by name naturally, ties by uri.
    #[must_use]
    pub fn children(&self, id: NoteId) -> &[NoteId] {
        self.children.get(&id).map_or(&[], |list| list)
    }

    /// The notes whose object is `id`, by uri.
    #[must_use]
    pub fn referrings(&self, id: NoteId) -> &[NoteId] {
        self.referrings.get(&id).map_or(&[], |list| list)
    }

    /// The children of `id`'s parent, `id` among them, and its position there; nothing for a root. `O(log siblings)`.
    #[must_use]
    pub fn siblings(&self, id: NoteId) -> Option<(&[NoteId], usize)> {
        let siblings = self.children(self.parent(id)?);
        let at = siblings.binary_search_by(|other| self.sibling_cmp(*other, id)).ok()?;
        Some((siblings, at))
    }

    /// The order of children of one parent: numbered first, ascending, then by name naturally, ties by uri.
    #[must_use]
    pub fn sibling_cmp(&self, a: NoteId, b: NoteId) -> Ordering {
        self_cmp(&self.nodes, a, b)
    }

    pub(crate) fn node(&self, id: NoteId) -> Option<&Node> {
        self.nodes.get(id.index())?.as_ref()
    }

    fn sort(&self, halves: &mut Vec<Half>) {
        halves.sort_unstable_by(|a, b| {
            (self.kind(a.kind), uri_of(&self.nodes, a.other), a.source).cmp(&(
                self.kind(b.kind),
                uri_of(&self.nodes, b.other),
                b.source,
            ))
        });
        halves.dedup();
    }

    fn counted(&self, id: NoteId) -> Degrees {
        let distinct = |lists: [&[Half]; 2]| {
            let mut others: Vec<NoteId> = lists
                .iter()
                .flat_map(|list| list.iter().map(|half| half.other))
                .filter(|other| *other != id)
                .collect();
            others.sort_unstable();
            others.dedup();
            u32::try_from(others.len()).expect("a snapshot holds fewer than 2^32 nodes")
        };
        let (inbound, outgoing) = (self.inbound.of(id), self.outgoing.of(id));
        Degrees {
            inbound: distinct([inbound, &[]]),
            outgoing: distinct([outgoing, &[]]),
            both: distinct([inbound, outgoing]),
        }
    }

    /// The members of a group after an edit: the old ones that did not move, and the moved ones that are here now.
    fn regrouped(
        &self,
        old: &[NoteId],
        moved: &HashSet<NoteId>,
        group: NoteId,
        of: impl Fn(&Node) -> Option<NoteId>,
    ) -> Vec<NoteId> {
        let here = |id: &&NoteId| self.node(**id).is_some_and(|node| of(node) == Some(group));
        old.iter()
            .filter(|id| !moved.contains(id))
            .chain(moved.iter().filter(here))
            .copied()
            .collect()
    }
}

/// The lists that an edit touches.
#[derive(Default)]
struct Edit {
    inbound: BTreeSet<NoteId>,
    outgoing: BTreeSet<NoteId>,
    degrees: BTreeSet<NoteId>,
    children: BTreeSet<NoteId>,
    referrings: BTreeSet<NoteId>,
}

impl Edit {
    /// A new uri changes the order of every list that the node stands in.
    fn renamed(&mut self, old: &NoteGraph, id: NoteId) {
        self.inbound.extend(old.outgoing.of(id).iter().map(|half| half.other));
        self.outgoing.extend(old.inbound.of(id).iter().map(|half| half.other));
        self.children.extend(old.parent(id));
        self.referrings.extend(old.object(id));
    }
}

fn put(
    map: &mut imbl::HashMap<NoteId, Arc<[NoteId]>>,
    key: NoteId,
    mut list: Vec<NoteId>,
    order: impl Fn(&NoteId, &NoteId) -> Ordering,
) {
    if list.is_empty() {
        map.remove(&key);
    } else {
        list.sort_unstable_by(order);
        map.insert(key, list.into());
    }
}

fn uri_of(nodes: &imbl::Vector<Option<Node>>, id: NoteId) -> Option<&Uri> {
    nodes.get(id.index())?.as_ref().map(|node| &node.uri)
}

fn self_cmp(nodes: &imbl::Vector<Option<Node>>, a: NoteId, b: NoteId) -> Ordering {
    let node = |id: NoteId| nodes.get(id.index()).and_then(Option::as_ref);
    let (Some(a), Some(b)) = (node(a), node(b)) else { return a.cmp(&b) };
    let first = match (a.order, b.order) {
        (Some(x), Some(y)) => x.total_cmp(&y),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => natural_cmp(&a.name, &b.name),
    };
    first.then_with(|| a.uri.cmp(&b.uri))
}
