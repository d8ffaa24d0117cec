//! A parsed note whose links are not yet resolved.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Link, NotePath, Span};

/// Content of one file of any [kind](crate::NoteKind). Links are unresolved, so parsing needs only the file itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// Path of the file in its vault.
    pub path: NotePath,
    /// The frontmatter's `uri`, else its `id` or `note_id`, as written. If `None`, the path is the uri.
    pub claimed_uri: Option<String>,
    /// Title: frontmatter `title`, else the `relation` of a `type: Relationship`, else the H1 that opens the body (except in a note that a program writes), else the file's name (for a folder note, the folder's; for a dotted name, the last segment).
    pub title: String,
    /// Other names under which links find the note, in the order written, without duplicates.
    pub aliases: Vec<String>,
    /// Tags without `#`, in order of first occurrence, without duplicates; nested tags keep their `/`.
    pub tags: Vec<String>,
    /// Frontmatter `type`.
    pub note_type: Option<String>,
    /// The whole frontmatter, by key.
    pub properties: BTreeMap<String, Value>,
    /// Texts of the frontmatter that are searched with a low weight: values of properties that no other field contains, and lines of invalid YAML that belong to no property.
    pub searched_texts: Vec<String>,
    /// The first of frontmatter `order`, `nav_order`, `weight` and `position` that is a finite number.
    pub order: Option<f64>,
    /// Headings in text order.
    pub headings: Vec<Heading>,
    /// Blocks named by `^id`, in text order.
    pub blocks: Vec<Block>,
    /// True if the note follows Dendron's conventions: the dots in its file name define its place in the hierarchy, and its wikilinks put the label before the target.
    pub dendron: bool,
    /// Typed links in frontmatter order, then inline links in text order.
    pub links: Vec<Link>,
    /// Body: everything after the newline that ends the closing `---`, byte for byte. For a file in Org mode or PDF, its text in Markdown.
    pub body: String,
}

impl Note {
    /// Returns a note without links, names or properties.
    #[must_use]
    pub const fn plain(path: NotePath, title: String, body: String) -> Self {
        Self {
            path,
            claimed_uri: None,
            title,
            aliases: Vec::new(),
            tags: Vec::new(),
            note_type: None,
            properties: BTreeMap::new(),
            searched_texts: Vec::new(),
            order: None,
            headings: Vec::new(),
            blocks: Vec::new(),
            dendron: false,
            links: Vec::new(),
            body,
        }
    }
}

/// A heading of a body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heading {
    /// 1 to 6.
    pub level: u8,
    /// Text without markup.
    pub text: String,
    /// Source lines of the heading, without the final newline.
    pub span: Span,
}

impl Heading {
    /// Returns the texts of the headings above character `at`, outermost first, including one that starts at `at`. `headings` must be in text order.
    #[must_use]
    pub fn path(headings: &[Self], at: u32) -> Vec<String> {
        let mut path: Vec<&Self> = vec![];
        for heading in headings.iter().take_while(|heading| heading.span.start <= at) {
            path.retain(|above| above.level < heading.level);
            path.push(heading);
        }
        path.into_iter().map(|heading| heading.text.clone()).collect()
    }
}

/// A block that links can refer to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Name without `^`.
    pub id: String,
    /// Lines of the block, including its marker.
    pub span: Span,
}

/// A frontmatter value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Value {
    /// `null`, `~` or nothing.
    Null,
    /// A boolean, with the text as written: `TRUE` may also be a name.
    Bool {
        /// As written: `true`, `True`, `TRUE`, or the same forms of `false`.
        text: String,
        /// The boolean value.
        value: bool,
    },
    /// A number, with the text as written: as a name, `1.10` differs from `1.1`.
    Number {
        /// As written.
        text: String,
        /// The numeric value; finite.
        value: f64,
    },
    /// Any other scalar, dates included.
    Text(String),
    /// A sequence.
    List(Vec<Value>),
    /// A mapping; keys that are not strings are kept as written.
    Map(BTreeMap<String, Value>),
}

impl Value {
    /// Returns the scalar as written; `None` for `Null`, lists and maps.
    #[must_use]
    pub fn as_written(&self) -> Option<&str> {
        match self {
            Self::Bool { text, .. } | Self::Number { text, .. } | Self::Text(text) => Some(text),
            Self::Null | Self::List(_) | Self::Map(_) => None,
        }
    }

    /// Returns the value as a list: its items, a single element for a scalar or map, nothing for `Null`.
    #[must_use]
    pub fn items(&self) -> &[Self] {
        match self {
            Self::Null => &[],
            Self::List(items) => items,
            Self::Bool { .. } | Self::Number { .. } | Self::Text(_) | Self::Map(_) => {
                std::slice::from_ref(self)
            }
        }
    }
}

/// Severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Severity {
    /// Everything was read, but something is unusual.
    Notice,
    /// Part of the file could not be parsed and is missing from the index.
    Warning,
}

/// A finding about a file for its owner. It never aborts a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// Severity of the finding.
    pub severity: Severity,
    /// Stable short name, such as `broken-frontmatter`.
    pub code: String,
    /// One sentence for a person: what was found and what was done.
    pub message: String,
    /// Line of the file, from 1, if known.
    pub line: Option<u32>,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{} (line {line}) [{}]", self.message, self.code),
            None => write!(f, "{} [{}]", self.message, self.code),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heading_path_has_one_heading_per_level() {
        let headings: Vec<Heading> =
            [(1, "One", 0), (2, "Two", 10), (3, "Deep", 20), (2, "Three", 30), (1, "Four", 40)]
                .map(|(level, text, start)| Heading {
                    level,
                    text: text.into(),
                    span: Span::new(start, start + 5),
                })
                .into();
        let cases: &[(u32, &[&str])] = &[
            (0, &["One"]),
            (19, &["One", "Two"]),
            (25, &["One", "Two", "Deep"]),
            (30, &["One", "Three"]),
            (99, &["Four"]),
        ];
        for (at, expected) in cases {
            assert_eq!(Heading::path(&headings, *at), *expected, "{at}");
        }
        assert!(Heading::path(&headings[1..], 5).is_empty(), "before the first heading");
    }
}
