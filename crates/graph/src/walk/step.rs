//! One edge as it is met from one of its ends, and the order of such steps.

use std::cmp::Ordering;

use weft_model::{LinkSource, NoteId};

use crate::{KindId, NoteGraph};

/// The type of an edge that only the hierarchy implies.
pub const HIERARCHY_TYPE: &str = "parent";

/// Which edges of a note a walk follows.
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
    /// All of them, in the order of the source text.
    pub const ALL: [Self; 3] = [Self::Out, Self::In, Self::Both];

    /// The name that requests and answers use: `out`, `in` or `both`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Out => "out",
            Self::In => "in",
            Self::Both => "both",
        }
    }

    /// The direction of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|direction| direction.name() == name)
    }

    /// The same edges followed from their other ends.
    #[must_use]
    pub const fn reversed(self) -> Self {
        match self {
            Self::Out => Self::In,
            Self::In => Self::Out,
            Self::Both => Self::Both,
        }
    }

    /// Whether edges met from `side` are followed.
    #[must_use]
    pub const fn follows(self, side: Side) -> bool {
        match (self, side) {
            (Self::Both, _) | (Self::Out, Side::Outgoing) | (Self::In, Side::Incoming) => true,
            (Self::Out, Side::Incoming) | (Self::In, Side::Outgoing) => false,
        }
    }
}

/// From which end an edge is met. The order is that of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// From its origin.
    Outgoing,
    /// From its target.
    Incoming,
}

/// What an edge is, apart from its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Label {
    /// A link that somebody wrote.
    Link {
        /// Its type.
        kind: KindId,
        /// Where it was written.
        source: LinkSource,
    },
    /// The place of a note below its parent, where no link says it. Runs from child to parent.
    Hierarchy,
}

impl Label {
    /// The name of the edge's type.
    #[must_use]
    pub fn kind(self, graph: &NoteGraph) -> &str {
        match self {
            Self::Link { kind, .. } => graph.kind(kind),
            Self::Hierarchy => HIERARCHY_TYPE,
        }
    }

    /// The name of the edge's source: `typed`, `inline`, or `hierarchy`.
    #[must_use]
    pub const fn source(self) -> &'static str {
        match self {
            Self::Link { source, .. } => source.name(),
            Self::Hierarchy => "hierarchy",
        }
    }

    /// Typed before inline before hierarchy.
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

/// An edge as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EdgeRef {
    /// The note that links; the child, for an edge of the hierarchy.
    pub from: NoteId,
    /// The note linked to.
    pub to: NoteId,
    /// Type and source.
    pub label: Label,
}

/// An edge as it is met from one of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// The end it is met from.
    pub at: NoteId,
    /// The end it leads to.
    pub other: NoteId,
    /// Which end `at` is.
    pub side: Side,
    /// Type and source.
    pub label: Label,
}

impl Step {
    /// The edge as it is stored.
    #[must_use]
    pub const fn edge(self) -> EdgeRef {
        let Self { at, other, side, label } = self;
        match side {
            Side::Outgoing => EdgeRef { from: at, to: other, label },
            Side::Incoming => EdgeRef { from: other, to: at, label },
        }
    }

    /// The same edge met from its other end.
    #[must_use]
    pub const fn turned(self) -> Self {
        let side = match self.side {
            Side::Outgoing => Side::Incoming,
            Side::Incoming => Side::Outgoing,
        };
        Self { at: self.other, other: self.at, side, label: self.label }
    }

    /// The order of steps from one note: type, uri of the other end, outgoing before incoming, typed before inline.
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
