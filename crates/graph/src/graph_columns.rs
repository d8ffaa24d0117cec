//! Serialization of the graph as plain columns.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weft_model::{LinkSource, NoteId, Uri};

use crate::adjacency::{Adjacency, HalfEdge, KindId};
use crate::note_graph::{Degrees, KindTable, Node, NoteGraph};

/// Content of a graph as columns: one entry per node, and three packed arrays of edges per direction.
///
/// Numbers are little-endian in byte strings, so a million edges are read by a copy instead of a parse.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraphColumns {
    kinds: Vec<String>,
    nodes: Vec<Option<NodeColumn>>,
    outgoing: EdgeColumns,
    inbound: EdgeColumns,
    children: Vec<(NoteId, Vec<NoteId>)>,
    referrings: Vec<(NoteId, Vec<NoteId>)>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct NodeColumn(Uri, bool, Option<NoteId>, Option<NoteId>, Option<f64>, Arc<str>, [u32; 3]);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct EdgeColumns {
    /// `u32` per node: its number of edges.
    counts: ByteString,
    /// `u32` per edge: the slot of the other end.
    others: ByteString,
    /// `u16` per edge: the type times two, plus one if inline.
    kinds: ByteString,
}

/// Byte string that MessagePack writes as one value.
#[derive(Clone, Debug, PartialEq, Default)]
struct ByteString(Vec<u8>);

impl Serialize for ByteString {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for ByteString {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = ByteString;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a byte string")
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<ByteString, E> {
                Ok(ByteString(bytes.to_vec()))
            }
            fn visit_byte_buf<E>(self, bytes: Vec<u8>) -> Result<ByteString, E> {
                Ok(ByteString(bytes))
            }
        }
        deserializer.deserialize_byte_buf(Visitor)
    }
}

/// Reason why columns do not form a graph.
#[derive(Debug, thiserror::Error)]
pub enum GraphColumnsError {
    /// Lengths or references are inconsistent.
    #[error("the stored graph is inconsistent: {reason}")]
    Inconsistent {
        /// The inconsistency.
        reason: &'static str,
    },
}

impl NoteGraph {
    /// Returns this graph as columns. `O(nodes + edges)`.
    #[must_use]
    pub fn columns(&self) -> GraphColumns {
        let sorted = |map: &imbl::HashMap<NoteId, Arc<[NoteId]>>| {
            let mut lists: Vec<_> = map.iter().map(|(key, list)| (*key, list.to_vec())).collect();
            lists.sort_unstable();
            lists
        };
        GraphColumns {
            kinds: self.kinds.names.iter().map(|name| name.to_string()).collect(),
            nodes: self
                .nodes
                .iter()
                .map(|node| {
                    node.as_ref().map(|node| {
                        let Node { uri, placeholder, parent, object, order, name, degrees } =
                            node.clone();
                        let Degrees { inbound, outgoing, both } = degrees;
                        NodeColumn(
                            uri,
                            placeholder,
                            parent,
                            object,
                            order,
                            name,
                            [inbound, outgoing, both],
                        )
                    })
                })
                .collect(),
            outgoing: EdgeColumns::of(&self.outgoing, self.n_slots()),
            inbound: EdgeColumns::of(&self.inbound, self.n_slots()),
            children: sorted(&self.children),
            referrings: sorted(&self.referrings),
        }
    }

    /// Builds the graph from `columns`.
    ///
    /// Fails if lengths or ids are inconsistent. The content itself is trusted: the store verifies checksums.
    pub fn from_columns(columns: GraphColumns) -> Result<Self, GraphColumnsError> {
        let GraphColumns { kinds, nodes, outgoing, inbound, children, referrings } = columns;
        let n_slots = nodes.len();
        let placeholders = (0..)
            .zip(&nodes)
            .filter(|(_, node)| {
                node.as_ref().is_some_and(|NodeColumn(_, placeholder, ..)| *placeholder)
            })
            .map(|(slot, _)| NoteId::new(slot))
            .collect();
        let lists = |lists: Vec<(NoteId, Vec<NoteId>)>| {
            let known = |id: &NoteId| id.index() < n_slots;
            if !lists.iter().all(|(key, list)| known(key) && list.iter().all(known)) {
                return Err(GraphColumnsError::Inconsistent {
                    reason: "a hierarchy list names an unknown node",
                });
            }
            Ok(lists.into_iter().map(|(key, list)| (key, list.into())).collect())
        };
        Ok(Self {
            n_nodes: nodes.iter().flatten().count(),
            max_degree: nodes.iter().flatten().map(|node| node.6[2]).max().unwrap_or(0),
            placeholders: Arc::new(placeholders),
            outgoing: outgoing.adjacency(n_slots, kinds.len())?,
            inbound: inbound.adjacency(n_slots, kinds.len())?,
            children: lists(children)?,
            referrings: lists(referrings)?,
            kinds: KindTable::new(kinds.into_iter().map(Arc::from)),
            nodes: nodes
                .into_iter()
                .map(|node| {
                    node.map(
                        |NodeColumn(uri, placeholder, parent, object, order, name, degrees)| Node {
                            uri,
                            placeholder,
                            parent,
                            object,
                            order,
                            name,
                            degrees: Degrees {
                                inbound: degrees[0],
                                outgoing: degrees[1],
                                both: degrees[2],
                            },
                        },
                    )
                })
                .collect(),
        })
    }
}

impl EdgeColumns {
    fn of(adjacency: &Adjacency, n_slots: usize) -> Self {
        let mut columns = Self {
            counts: ByteString::default(),
            others: ByteString::default(),
            kinds: ByteString::default(),
        };
        for slot in (0_u32..).take(n_slots) {
            let halves = adjacency.of(NoteId::new(slot));
            let count =
                u32::try_from(halves.len()).expect("a snapshot holds fewer than 2^32 edges");
            columns.counts.0.extend(count.to_le_bytes());
            for half in halves {
                columns.others.0.extend(half.other.get().to_le_bytes());
                let inline = u16::from(half.source == LinkSource::Inline);
                columns.kinds.0.extend((half.kind.0 << 1 | inline).to_le_bytes());
            }
        }
        columns
    }

    fn adjacency(&self, n_slots: usize, n_kinds: usize) -> Result<Adjacency, GraphColumnsError> {
        let inconsistent = |reason| Err(GraphColumnsError::Inconsistent { reason });
        let (counts, []) = self.counts.0.as_chunks::<4>() else {
            return inconsistent("a column is truncated");
        };
        let (others, []) = self.others.0.as_chunks::<4>() else {
            return inconsistent("a column is truncated");
        };
        let (kinds, []) = self.kinds.0.as_chunks::<2>() else {
            return inconsistent("a column is truncated");
        };
        let total: u64 = counts.iter().map(|count| u64::from(u32::from_le_bytes(*count))).sum();
        if counts.len() != n_slots || others.len() != kinds.len() || total != others.len() as u64 {
            return inconsistent("edge columns differ in length");
        }
        let halves: Vec<HalfEdge> = others
            .iter()
            .zip(kinds)
            .map(|(other, kind)| {
                let packed = u16::from_le_bytes(*kind);
                HalfEdge {
                    other: NoteId::new(u32::from_le_bytes(*other)),
                    kind: KindId(packed >> 1),
                    source: if packed & 1 == 1 { LinkSource::Inline } else { LinkSource::Typed },
                }
            })
            .collect();
        if halves
            .iter()
            .any(|half| half.other.index() >= n_slots || half.kind.0 as usize >= n_kinds)
        {
            return inconsistent("an edge names an unknown node or type");
        }
        let mut rest = halves.as_slice();
        Ok(Adjacency::from_lists(counts.iter().map(|count| {
            let (own, others) = rest.split_at(u32::from_le_bytes(*count) as usize);
            rest = others;
            own
        })))
    }
}
