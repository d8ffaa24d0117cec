//! Links as they are written, before anything is known of their targets.

use serde::{Deserialize, Serialize};

use crate::Span;

/// The type of every link that stands in a body.
pub const INLINE_TYPE: &str = "related";

/// Where a link was written.
///
/// The order is that of answers: typed before inline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum LinkSource {
    /// In the frontmatter: the property's name, or the entry's `type`, is the type of the edge.
    Typed,
    /// In the body: the type is [`INLINE_TYPE`].
    Inline,
}

impl LinkSource {
    /// The name that answers use: `typed` or `inline`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Typed => "typed",
            Self::Inline => "inline",
        }
    }
}

/// How a target was written, which decides where resolution looks first and whether it may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum TargetSyntax {
    /// `[[target]]`.
    Wikilink,
    /// `[text](target)` or a reference link; already percent-decoded, looked up beside the linking note first.
    Markdown,
    /// A plain string of the frontmatter list `links[]`: a uri or a name.
    Listed,
    /// A plain string under `parent`, `up`, `object`, `source` or `target`: a link only if it resolves.
    Tentative,
    /// `[[target]]` that looks like the name of a file: a link only if it resolves.
    WikilinkToFile,
    /// `[text](target)` that looks like the path of a file or folder: a link only if it resolves.
    MarkdownToFile,
    /// `[[dendron://vault/target]]`, kept as `vault:target`: in that vault where one of this name is served, else in the linking note's own.
    WikilinkInVault,
}

impl TargetSyntax {
    /// Whether it stands in a Markdown link, where paths are written.
    #[must_use]
    pub const fn is_markdown(self) -> bool {
        matches!(self, Self::Markdown | Self::MarkdownToFile)
    }

    /// Whether it is no link where it does not resolve.
    #[must_use]
    pub const fn is_tentative(self) -> bool {
        matches!(self, Self::Tentative | Self::WikilinkToFile | Self::MarkdownToFile)
    }
}

/// What a link points at: NFC, `/` as separator, without fragment and without Markdown extension.
///
/// Never empty.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Target {
    /// The name looked up, and the id of the placeholder while nothing answers to it.
    pub name: String,
    /// How it was written.
    pub syntax: TargetSyntax,
}

/// One link of one note. Several links between two notes stay several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The edge's type: the property's name, an entry's `type`, or [`INLINE_TYPE`].
    pub kind: String,
    /// Where it was written.
    pub source: LinkSource,
    /// What it points at.
    pub target: Target,
    /// Heading (`Heading`) or block (`^block`) within the target, without the leading `#`.
    pub fragment: Option<String>,
    /// The text shown instead of the target, if one was given.
    pub display: Option<String>,
    /// Where it stands in the body; nothing for a typed link.
    pub span: Option<Span>,
}
