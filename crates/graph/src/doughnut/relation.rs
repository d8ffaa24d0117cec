//! Relations of notes to the focus note.

use std::fmt;

/// Relation of a note to the focus note.
///
/// A *reification* is a note with an object: its parent is the subject, its title the predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    /// The focus note itself; `Self` in responses.
    Focus,
    /// Its parent.
    Parent,
    /// Its object.
    Object,
    /// A child, reified or not.
    Child,
    /// A sibling before it.
    PriorSibling,
    /// A sibling after it.
    YoungerSibling,
    /// A note whose object is the focus note.
    ReferringNote,
    /// An ancestor.
    NoteInContextualPath,
    /// An ancestor of its object.
    NoteInObjectContextualPath,
    /// The object of a reified child.
    ReifiedChildObject,
    /// A sibling of its parent.
    ParentSibling,
    /// A sibling of its object's parent.
    ObjectParentSibling,
    /// The parent of a referring note.
    ReferringSubject,
    /// Another note with the same object. Off by default.
    SiblingOfTarget,
    /// A child of a parent's sibling.
    ParentSiblingChild,
    /// A child of a sibling of the object's parent.
    ObjectParentSiblingChild,
    /// An ancestor of a referring note.
    NoteInReferringContextualPath,
    /// Another child of a referring note's parent.
    ReferringCousin,
    /// A note that it links to. Only [`Relations::Auto`](super::Relations::Auto), like all below.
    Linked,
    /// A note that links to it.
    LinkedFrom,
    /// A note that shares a topic with it.
    TopicSibling,
    /// A note with a similar text.
    Similar,
    /// A note near it in its folder, if no similar notes are known.
    SameFolder,
}

impl Relation {
    /// Returns the name used in responses, which counts towards the budget.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Focus => "Self",
            Self::Parent => "Parent",
            Self::Object => "Object",
            Self::Child => "Child",
            Self::PriorSibling => "PriorSibling",
            Self::YoungerSibling => "YoungerSibling",
            Self::ReferringNote => "ReferringNote",
            Self::NoteInContextualPath => "NoteInContextualPath",
            Self::NoteInObjectContextualPath => "NoteInObjectContextualPath",
            Self::ReifiedChildObject => "ReifiedChildObject",
            Self::ParentSibling => "ParentSibling",
            Self::ObjectParentSibling => "ObjectParentSibling",
            Self::ReferringSubject => "ReferringSubject",
            Self::SiblingOfTarget => "SiblingOfTarget",
            Self::ParentSiblingChild => "ParentSiblingChild",
            Self::ObjectParentSiblingChild => "ObjectParentSiblingChild",
            Self::NoteInReferringContextualPath => "NoteInReferringContextualPath",
            Self::ReferringCousin => "ReferringCousin",
            Self::Linked => "Linked",
            Self::LinkedFrom => "LinkedFrom",
            Self::TopicSibling => "TopicSibling",
            Self::Similar => "Similar",
            Self::SameFolder => "SameFolder",
        }
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Priority level of a relation. The focus note itself precedes all levels.
///
/// Source: Graph RAG design, "Priorities".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Notes that the focus note names itself: parent, object, and links.
    P1,
    /// One step away.
    P2,
    /// Two steps away.
    P3,
    /// Three steps away.
    P4,
    /// Not connected, only similar. Used by no relation of the design text, like the next.
    P5,
    /// Fills what the others leave: its turn comes when none of them finds a note.
    P6,
}

impl Priority {
    /// All levels in the order of their turns. The last one has its turn only after a round in which the others found nothing.
    pub const ALL: [Self; 6] = [Self::P1, Self::P2, Self::P3, Self::P4, Self::P5, Self::P6];

    /// Returns the number of notes that the level may add per turn: 5 minus its number, at least 1.
    #[must_use]
    pub const fn quota(self) -> usize {
        match self {
            Self::P1 => 4,
            Self::P2 => 3,
            Self::P3 => 2,
            Self::P4 | Self::P5 | Self::P6 => 1,
        }
    }
}
