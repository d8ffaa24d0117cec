//! Links as written, before their targets are resolved.

use serde::{Deserialize, Serialize};

use crate::Span;

/// Type of every link in a body.
pub const INLINE_TYPE: &str = "related";

/// Place where a link is written.
///
/// The order is that of results: typed before inline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum LinkSource {
    /// In the frontmatter: the property's name, or the entry's `type`, is the type of the edge.
    Typed,
    /// In the body: the type is [`INLINE_TYPE`].
    Inline,
}

impl LinkSource {
    /// Returns the name used in results: `typed` or `inline`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Typed => "typed",
            Self::Inline => "inline",
        }
    }
}

/// Syntax of a target. It decides where resolution looks first and whether the link may stay unresolved.
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
    /// `[[dendron://vault/target]]`, stored as `vault:target`: resolves in that vault if one of this name is served, otherwise in the linking note's own vault.
    WikilinkInVault,
}

impl TargetSyntax {
    /// True if the target is in a Markdown link, which holds a path.
    #[must_use]
    pub const fn is_markdown(self) -> bool {
        matches!(self, Self::Markdown | Self::MarkdownToFile)
    }

    /// True if an unresolved target means that there is no link.
    #[must_use]
    pub const fn is_tentative(self) -> bool {
        matches!(self, Self::Tentative | Self::WikilinkToFile | Self::MarkdownToFile)
    }
}

/// Target of a link: NFC, `/` as separator, without fragment and without Markdown extension.
///
/// Never empty.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Target {
    /// Name to look up, and the id of the placeholder while no note matches.
    pub name: String,
    /// Syntax in which it was written.
    pub syntax: TargetSyntax,
}

/// One link of one note. Repeated links between two notes are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Type of the edge: the property's name, an entry's `type`, or [`INLINE_TYPE`].
    pub kind: String,
    /// Place where the link is written.
    pub source: LinkSource,
    /// Target of the link.
    pub target: Target,
    /// Heading (`Heading`) or block (`^block`) within the target, without the leading `#`.
    pub fragment: Option<String>,
    /// Text shown instead of the target, if given.
    pub display: Option<String>,
    /// Position in the body; `None` for a typed link.
    pub span: Option<Span>,
}
