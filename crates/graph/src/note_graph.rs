//! The graph of one snapshot.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use weft_model::{LinkSource, NoteBits, NoteId, Uri, fold};

use crate::adjacency::{Adjacency, HalfEdge, KindId};
use crate::natural_order::{are_numbered_alike, begins_with_number, natural_cmp};

/// Description of one node, from which the graph is built.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeSpec {
    /// Uri of the node, unique in the graph.
    pub uri: Uri,
    /// True if no file has this name yet and only links refer to it.
    pub placeholder: bool,
    /// Parent note, never a placeholder. Cycles are harmless.
    pub parent: Option<NoteId>,
    /// Note that this reification is about, never a placeholder.
    pub object: Option<NoteId>,
    /// Number among its siblings. Numbered notes sort first.
    pub order: Option<f64>,
    /// Name among its siblings, compared in natural order with case folded if numbers do not decide.
    pub name: String,
    /// Outgoing edges: target, type, source. Duplicates are merged.
    pub links: Vec<(NoteId, Arc<str>, LinkSource)>,
}

impl NodeSpec {
    /// Returns a note without links or hierarchy, named by its uri.
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

    /// Returns a placeholder: a name that links refer to but no file has.
    pub fn placeholder(uri: &str) -> Self {
        Self { placeholder: true, ..Self::note(uri) }
    }
}

/// Numbers of distinct neighbors of a node. Self loops and parallel edges do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Degrees {
    /// Number of nodes that link to it.
    pub inbound: u32,
    /// Number of nodes it links to.
    pub outgoing: u32,
    /// Number of nodes on either side, each counted once.
    pub both: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) uri: Uri,
    pub(crate) placeholder: bool,
    pub(crate) parent: Option<NoteId>,
    pub(crate) object: Option<NoteId>,
    pub(crate) order: Option<f64>,
    /// Case-folded.
    pub(crate) name: Arc<str>,
    pub(crate) degrees: Degrees,
}

/// Maximum length of a list that is scanned linearly; binary search would cost more.
const MAX_SCANNED: usize = 32;

/// Notes and placeholders of one snapshot with their edges and hierarchy.
///
/// Clones and edited graphs share unchanged parts; an edit costs as much as the lists it touches.
/// Equal content gives equal results, independent of edit history.
#[derive(Clone, Debug, Default)]
pub struct NoteGraph {
    pub(crate) nodes: imbl::Vector<Option<Node>>,
    pub(crate) n_nodes: usize,
    /// Upper bound of the number of distinct neighbors; a node may have reached it before earlier edits.
    pub(crate) max_degree: u32,
    /// Placeholders as a bit set: walks test this for every edge.
    pub(crate) placeholders: Arc<NoteBits>,
    pub(crate) kinds: KindTable,
    pub(crate) outgoing: Adjacency,
    pub(crate) inbound: Adjacency,
    /// Children in sibling order.
    pub(crate) children: imbl::HashMap<NoteId, Arc<[NoteId]>>,
    /// Notes that have the key as their object, by uri.
    pub(crate) referrings: imbl::HashMap<NoteId, Arc<[NoteId]>>,
}

/// Highest index of a type. A stored graph uses one bit for the source of the link.
const LAST_KIND: u16 = u16::MAX >> 1;

/// Names of edge types. An index never changes once assigned.
#[derive(Clone, Debug, Default)]
pub(crate) struct KindTable {
    pub(crate) names: Arc<Vec<Arc<str>>>,
    ids: imbl::HashMap<Arc<str>, KindId>,
}

impl KindTable {
    /// Builds the table from names in index order.
    pub(crate) fn new(names: impl IntoIterator<Item = Arc<str>>) -> Self {
        let names: Vec<Arc<str>> = names.into_iter().collect();
        let ids = names.iter().cloned().zip((0..=LAST_KIND).map(KindId)).collect();
        Self { names: Arc::new(names), ids }
    }

    /// Returns the index of `name`, assigning one if needed. Types beyond the last index share it; no realistic vault has as many.
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
    /// Builds the graph of `nodes`, each slot added once. Edges to unknown slots are dropped.
    ///
    /// `O(edges · log degree)`, plus the cost of sorting the uris.
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

        // Sorting by rank compares numbers instead of strings.
        let mut by_uri: Vec<(&Uri, NoteId)> = known().map(|(id, spec)| (&spec.uri, id)).collect();
        by_uri.sort_unstable();
        let mut rank = vec![u32::MAX; n_slots];
        for ((_, id), at) in by_uri.iter().zip(0..) {
            rank[id.index()] = at;
        }
        let is_known = |to: &NoteId| rank.get(to.index()).is_some_and(|at| *at != u32::MAX);
        let mut outgoing: Vec<Vec<HalfEdge>> = vec![Vec::new(); n_slots];
        for (id, spec) in known() {
            let halves = &mut outgoing[id.index()];
            halves.reserve(spec.links.len());
            // Most links of a note have the same type.
            let mut last: Option<(&Arc<str>, KindId)> = None;
            for (to, kind, source) in spec.links.iter().filter(|(to, ..)| is_known(to)) {
                let again = last.filter(|(other, _)| Arc::ptr_eq(other, kind)).map(|(_, id)| id);
                let id = again.unwrap_or_else(|| graph.kinds.id(kind));
                last = Some((kind, id));
                halves.push(HalfEdge { other: *to, kind: id, source: *source });
            }
        }
        let mut kind_rank = vec![0_u32; graph.kinds.names.len()];
        let mut by_name: Vec<(&Arc<str>, usize)> = graph.kinds.names.iter().zip(0..).collect();
        by_name.sort_unstable();
        for ((_, kind), at) in by_name.iter().zip(0..) {
            kind_rank[*kind] = at;
        }
        let sort = |halves: &mut Vec<HalfEdge>| {
            halves.sort_unstable_by_key(|half| {
                (kind_rank[half.kind.0 as usize], rank[half.other.index()], half.source)
            });
            halves.dedup();
        };
        outgoing.iter_mut().for_each(sort);
        let mut inbound: Vec<Vec<HalfEdge>> = vec![Vec::new(); n_slots];
        for (from, halves) in (0..).map(NoteId::new).zip(&outgoing) {
            for half in halves {
                inbound[half.other.index()].push(HalfEdge { other: from, ..*half });
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
                let degrees = graph.count_degrees(id);
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

    /// Returns this graph with some nodes replaced or added (`Some`) or removed (`None`).
    ///
    /// The caller must also change every node whose own links, parent or object are affected: a removed node that still has inbound links must return as a placeholder.
    /// Cost: the lists of the changed nodes and of their old and new neighbors, independent of the size of the graph.
    #[must_use]
    pub fn edited(&self, changes: impl IntoIterator<Item = (NoteId, Option<NodeSpec>)>) -> Self {
        let changes: BTreeMap<NoteId, Option<NodeSpec>> = changes.into_iter().collect();
        let mut graph = self.clone();
        let mut edit = AffectedLists::default();

        // The nodes come first, so that every list is sorted by the new uris and positions.
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

        // Then the outgoing lists, and the half-edges to remove from and add to inbound lists.
        let mut removed: HashSet<(NoteId, NoteId)> = HashSet::new();
        let mut added: BTreeMap<NoteId, Vec<HalfEdge>> = BTreeMap::new();
        for (id, spec) in &changes {
            for half in self.outgoing.of(*id) {
                removed.insert((half.other, *id));
                edit.inbound.insert(half.other);
            }
            let mut halves = Vec::new();
            for (to, kind, source) in spec.iter().flat_map(|spec| &spec.links) {
                if graph.node(*to).is_some() {
                    let kind = graph.kinds.id(kind);
                    halves.push(HalfEdge { other: *to, kind, source: *source });
                    added.entry(*to).or_default().push(HalfEdge {
                        other: *id,
                        kind,
                        source: *source,
                    });
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
                self.inbound.of(*id).iter().filter(|half| !removed.contains(&(*id, half.other)));
            let mut halves: Vec<HalfEdge> =
                kept.copied().chain(added.remove(id).unwrap_or_default()).collect();
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

        // Degrees and hierarchy are derived from both.
        for id in edit.degrees {
            let degrees = graph.count_degrees(id);
            graph.max_degree = graph.max_degree.max(degrees.both);
            if let Some(Some(node)) = graph.nodes.get_mut(id.index()) {
                node.degrees = degrees;
            }
        }
        let moved: HashSet<NoteId> = changes.keys().copied().collect();
        for parent in edit.children {
            let list = graph.regroup(self.children(parent), &moved, parent, |node| node.parent);
            insert_sorted(&mut graph.children, parent, list, |a, b| {
                compare_siblings(&graph.nodes, *a, *b)
            });
        }
        for object in edit.referrings {
            let list = graph.regroup(self.referrings(object), &moved, object, |node| node.object);
            insert_sorted(&mut graph.referrings, object, list, |a, b| {
                uri_of(&graph.nodes, *a).cmp(&uri_of(&graph.nodes, *b))
            });
        }
        graph.outgoing.fold(graph.nodes.len());
        graph.inbound.fold(graph.nodes.len());
        graph
    }

    /// Returns the number of nodes, placeholders included.
    #[must_use]
    pub const fn n_nodes(&self) -> usize {
        self.n_nodes
    }

    /// Returns the number of slots. Every id is below it.
    #[must_use]
    pub fn n_slots(&self) -> usize {
        self.nodes.len()
    }

    /// Returns all nodes in slot order, which is not a response order.
    pub fn ids(&self) -> impl Iterator<Item = NoteId> + '_ {
        self.nodes
            .iter()
            .zip(0..)
            .filter(|(node, _)| node.is_some())
            .map(|(_, slot)| NoteId::new(slot))
    }

    /// Returns true if the slot holds a node.
    #[must_use]
    pub fn contains(&self, id: NoteId) -> bool {
        self.node(id).is_some()
    }

    /// Returns the uri of the node.
    ///
    /// # Panics
    ///
    /// Panics if the slot holds no node: ids must come from this graph.
    #[must_use]
    pub fn uri(&self, id: NoteId) -> &Uri {
        uri_of(&self.nodes, id).expect("ids come from this graph")
    }

    /// Returns true if the node is a placeholder. `O(1)`.
    #[must_use]
    pub fn is_placeholder(&self, id: NoteId) -> bool {
        self.placeholders.contains(id)
    }

    /// Returns the name of an edge type.
    #[must_use]
    pub fn kind(&self, kind: KindId) -> &str {
        &self.kinds.names[kind.0 as usize]
    }

    /// Returns all edge types ever used, for filters that fold each name once.
    pub fn kinds(&self) -> impl Iterator<Item = (KindId, &str)> {
        self.kinds.names.iter().zip(0..).map(|(name, at)| (KindId(at), &**name))
    }

    /// Returns the edges from `id`, sorted by type, then uri of the target, then typed before inline. Self loops are included.
    #[must_use]
    pub fn outgoing(&self, id: NoteId) -> &[HalfEdge] {
        self.outgoing.of(id)
    }

    /// Returns the edges to `id`, sorted by type, then uri of the origin, then typed before inline. Self loops are included.
    #[must_use]
    pub fn inbound(&self, id: NoteId) -> &[HalfEdge] {
        self.inbound.of(id)
    }

    /// Returns the edges from one node to another, by type, then typed before inline. `O(types · log degree)` of the node with the smaller list.
    #[must_use]
    pub fn edges(&self, from: NoteId, to: NoteId) -> Vec<HalfEdge> {
        let (outgoing, inbound) = (self.outgoing(from), self.inbound(to));
        let (mut rest, other) =
            if outgoing.len() <= inbound.len() { (outgoing, to) } else { (inbound, from) };
        let mut found = Vec::new();
        if rest.len() <= MAX_SCANNED {
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
        found.into_iter().map(|half: &HalfEdge| HalfEdge { other: to, ..*half }).collect()
    }

    /// Returns true if an edge connects the two nodes in either direction. Costs as much as [`edges`](Self::edges).
    #[must_use]
    pub fn are_linked(&self, one: NoteId, other: NoteId) -> bool {
        !self.edges(one, other).is_empty() || !self.edges(other, one).is_empty()
    }

    /// Returns the numbers of distinct neighbors of `id`. `O(1)`.
    #[must_use]
    pub fn degrees(&self, id: NoteId) -> Degrees {
        self.node(id).map_or_else(Degrees::default, |node| node.degrees)
    }

    /// Returns the parent of `id`.
    #[must_use]
    pub fn parent(&self, id: NoteId) -> Option<NoteId> {
        self.node(id)?.parent
    }

    /// Returns the object of `id`: the note that a reification is about.
    #[must_use]
    pub fn object(&self, id: NoteId) -> Option<NoteId> {
        self.node(id)?.object
    }

    /// Returns the ancestors of `id`, nearest first, up to a root or to where a cycle would close.
    pub fn ancestors(&self, id: NoteId) -> impl Iterator<Item = NoteId> + '_ {
        let mut seen = HashSet::from([id]);
        std::iter::successors(self.parent(id), |above| self.parent(*above))
            .take_while(move |above| seen.insert(*above))
    }

    /// Returns the children of `id` in sibling order: numbered first, ascending, then by natural order of names, ties by uri.
    #[must_use]
    pub fn children(&self, id: NoteId) -> &[NoteId] {
        self.children.get(&id).map_or(&[], |list| list)
    }

    /// Returns the notes whose object is `id`, by uri.
    #[must_use]
    pub fn referrings(&self, id: NoteId) -> &[NoteId] {
        self.referrings.get(&id).map_or(&[], |list| list)
    }

    /// Returns the children of `id`'s parent, `id` included, and its position among them; `None` for a root. `O(log siblings)`.
    #[must_use]
    pub fn siblings(&self, id: NoteId) -> Option<(&[NoteId], usize)> {
        let siblings = self.children(self.parent(id)?);
        let at = siblings.binary_search_by(|other| self.sibling_cmp(*other, id)).ok()?;
        Some((siblings, at))
    }

    /// Returns true if two notes are numbered: both by their order, by names that begin with a number of up to three digits, or by names that are equal apart from their digits.
    #[must_use]
    pub fn are_numbered(&self, a: NoteId, b: NoteId) -> bool {
        let (Some(a), Some(b)) = (self.node(a), self.node(b)) else { return false };
        (a.order.is_some() && b.order.is_some())
            || (begins_with_number(&a.name) && begins_with_number(&b.name))
            || are_numbered_alike(&a.name, &b.name)
    }

    /// Compares children of one parent: numbered first, ascending, then by natural order of names, ties by uri.
    #[must_use]
    pub fn sibling_cmp(&self, a: NoteId, b: NoteId) -> Ordering {
        compare_siblings(&self.nodes, a, b)
    }

    pub(crate) fn node(&self, id: NoteId) -> Option<&Node> {
        self.nodes.get(id.index())?.as_ref()
    }

    fn sort(&self, halves: &mut Vec<HalfEdge>) {
        halves.sort_unstable_by(|a, b| {
            (self.kind(a.kind), uri_of(&self.nodes, a.other), a.source).cmp(&(
                self.kind(b.kind),
                uri_of(&self.nodes, b.other),
                b.source,
            ))
        });
        halves.dedup();
    }

    fn count_degrees(&self, id: NoteId) -> Degrees {
        let distinct = |lists: [&[HalfEdge]; 2]| {
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

    /// Returns the members of a group after an edit: old members that did not move, and moved nodes that now belong to it.
    fn regroup(
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

/// Lists that an edit touches.
#[derive(Default)]
struct AffectedLists {
    inbound: BTreeSet<NoteId>,
    outgoing: BTreeSet<NoteId>,
    degrees: BTreeSet<NoteId>,
    children: BTreeSet<NoteId>,
    referrings: BTreeSet<NoteId>,
}

impl AffectedLists {
    /// Marks every list that contains the node: a new uri changes its order.
    fn renamed(&mut self, old: &NoteGraph, id: NoteId) {
        self.inbound.extend(old.outgoing.of(id).iter().map(|half| half.other));
        self.outgoing.extend(old.inbound.of(id).iter().map(|half| half.other));
        self.children.extend(old.parent(id));
        self.referrings.extend(old.object(id));
    }
}

fn insert_sorted(
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

fn compare_siblings(nodes: &imbl::Vector<Option<Node>>, a: NoteId, b: NoteId) -> Ordering {
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
