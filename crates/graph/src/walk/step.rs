//! An edge seen from one of its ends, and the order of such steps.

use std::cmp::Ordering;

use weft_model::{LinkSource, NoteId};

use crate::{KindId, NoteGraph};

/// Type of an edge that only the hierarchy implies.
pub const HIERARCHY_TYPE: &str = "parent";

/// Edges of a note that a walk follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// Links of the note.
    Out,
    /// Links to the note.
    In,
    /// Both.
    #[default]
    Both,
}

impl Direction {
    /// All directions, in declaration order.
    pub const ALL: [Self; 3] = [Self::Out, Self::In, Self::Both];

    /// Returns the name used in requests and responses: `out`, `in` or `both`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Out => "out",
            Self::In => "in",
            Self::Both => "both",
        }
    }

    /// Returns the direction with the given name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|direction| direction.name() == name)
    }

    /// Returns the direction that follows the same edges from their other ends.
    #[must_use]
    pub const fn reversed(self) -> Self {
        match self {
            Self::Out => Self::In,
            Self::In => Self::Out,
            Self::Both => Self::Both,
        }
    }

    /// Returns true if edges seen from `side` are followed.
    #[must_use]
    pub const fn follows(self, side: Side) -> bool {
        match (self, side) {
            (Self::Both, _) | (Self::Out, Side::Outgoing) | (Self::In, Side::Incoming) => true,
            (Self::Out, Side::Incoming) | (Self::In, Side::Outgoing) => false,
        }
    }
}

/// End from which an edge is seen. The order is that of responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// Its origin.
    Outgoing,
    /// Its target.
    Incoming,
}

/// An edge without its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EdgeLabel {
    /// A link written in a note.
    Link {
        /// Type of the link.
        kind: KindId,
        /// Source of the link.
        source: LinkSource,
    },
    /// An edge from child to parent that no written link states.
    Hierarchy,
}

impl EdgeLabel {
    /// Returns the name of the edge's type.
    #[must_use]
    pub fn kind(self, graph: &NoteGraph) -> &str {
        match self {
            Self::Link { kind, .. } => graph.kind(kind),
            Self::Hierarchy => HIERARCHY_TYPE,
        }
    }

    /// Returns the name of the edge's source: `typed`, `inline`, or `hierarchy`.
    #[must_use]
    pub const fn source(self) -> &'static str {
        match self {
            Self::Link { source, .. } => source.name(),
            Self::Hierarchy => "hierarchy",
        }
    }

    /// Returns the sort key: typed before inline before hierarchy.
    const fn rank(self) -> u8 {
        match self {
            Self::Link { source: LinkSource::Typed, .. } => 0,
            Self::Link { source: LinkSource::Inline, .. } => 1,
            Self::Hierarchy => 2,
        }
    }

    fn kind_cmp(self, other: Self, graph: &NoteGraph) -> Ordering {
        match (self, other) {
            (Self::Link { kind: left, .. }, Self::Link { kind: right, .. }) if left == right => {
                Ordering::Equal
            }
            (Self::Link { .. } | Self::Hierarchy, Self::Link { .. } | Self::Hierarchy) => {
                self.kind(graph).cmp(other.kind(graph))
            }
        }
    }
}

/// An edge as stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EdgeRef {
    /// Note that links; the child for an edge of the hierarchy.
    pub from: NoteId,
    /// Note that is linked to.
    pub to: NoteId,
    /// Type and source.
    pub label: EdgeLabel,
}

/// An edge seen from one of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// End from which the edge is seen.
    pub at: NoteId,
    /// End that it leads to.
    pub other: NoteId,
    /// Side of the edge that `at` is on.
    pub side: Side,
    /// Type and source.
    pub label: EdgeLabel,
}

impl Step {
    /// Returns the edge as stored.
    #[must_use]
    pub const fn edge(self) -> EdgeRef {
        let Self { at, other, side, label } = self;
        match side {
            Side::Outgoing => EdgeRef { from: at, to: other, label },
            Side::Incoming => EdgeRef { from: other, to: at, label },
        }
    }

    /// Returns the same edge seen from its other end.
    #[must_use]
    pub const fn turned(self) -> Self {
        let side = match self.side {
            Side::Outgoing => Side::Incoming,
            Side::Incoming => Side::Outgoing,
        };
        Self { at: self.other, other: self.at, side, label: self.label }
    }

    /// Compares steps from one note: type, uri of the other end, outgoing before incoming, typed before inline.
    #[must_use]
    pub fn order(&self, other: &Self, graph: &NoteGraph) -> Ordering {
        let by_uri = || {
            if self.other == other.other {
                Ordering::Equal
            } else {
                graph.uri(self.other).cmp(graph.uri(other.other))
            }
        };
        self.label
            .kind_cmp(other.label, graph)
            .then_with(by_uri)
            .then_with(|| self.side.cmp(&other.side))
            .then_with(|| self.label.rank().cmp(&other.label.rank()))
    }
}
