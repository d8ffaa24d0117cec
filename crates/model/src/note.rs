//! A note as its file says, understood but not yet connected.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Link, NotePath, Span};

/// What one file says. Links are unresolved, so this needs nothing but the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// Where the file lies in its vault.
    pub path: NotePath,
    /// The frontmatter's `uri`, else its `id` or `note_id`, as written; without one the path serves.
    pub claimed_uri: Option<String>,
    /// Frontmatter `title`, else the `relation` of a `type: Relationship`, else the first H1, else the file's (or, for a folder note, the folder's) name, of a dotted one the last segment.
    pub title: String,
    /// Other names by which links find the note, in the order written, without repeats.
    pub aliases: Vec<String>,
    /// Tags without `#`, in the order first met, without repeats; nested ones keep their `/`.
    pub tags: Vec<String>,
    /// Frontmatter `type`.
    pub note_type: Option<String>,
    /// The whole frontmatter, by key.
    pub properties: BTreeMap<String, Value>,
    /// Frontmatter `order`, `nav_order`, `weight` or `position`, the first that is a finite number.
    pub order: Option<f64>,
    /// Headings in text order.
    pub headings: Vec<Heading>,
    /// Blocks named by `^id`, in text order.
    pub blocks: Vec<Block>,
    /// Whether it is kept as Dendron keeps notes: the dots in its file's name say its place, and its wikilinks give the label before the target.
    pub dendron: bool,
    /// Typed links in frontmatter order, then inline links in text order.
    pub links: Vec<Link>,
    /// The details: everything after the newline that ends the closing `---`, byte for byte.
    pub body: String,
}

/// A heading of a body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heading {
    /// 1 to 6.
    pub level: u8,
    /// Its text without marks.
    pub text: String,
    /// The source lines it takes, without the final newline.
    pub span: Span,
}

impl Heading {
    /// The texts of those above character `at`, outermost first; one that starts there counts. `headings` stand in text order.
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

/// A block that links can name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// The name without `^`.
    pub id: String,
    /// The lines of the block, its mark included.
    pub span: Span,
}

/// A value of the frontmatter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Value {
    /// `null`, `~` or nothing.
    Null,
    /// A truth value, with the text it was written as: `TRUE` may name something too.
    Bool {
        /// As written: `true`, `True`, `TRUE`, or the same of `false`.
        text: String,
        /// What it says.
        value: bool,
    },
    /// A number, with the text it was written as: `1.10` is no `1.1` where it names something.
    Number {
        /// As written.
        text: String,
        /// Its value; finite.
        value: f64,
    },
    /// Anything else that is one scalar, dates included.
    Text(String),
    /// A sequence.
    List(Vec<Value>),
    /// A mapping; keys that are no strings are taken as written.
    Map(BTreeMap<String, Value>),
}

impl Value {
    /// The scalar as written; nothing for `Null`, lists and maps.
    #[must_use]
    pub fn as_written(&self) -> Option<&str> {
        match self {
            Self::Bool { text, .. } | Self::Number { text, .. } | Self::Text(text) => Some(text),
            Self::Null | Self::List(_) | Self::Map(_) => None,
        }
    }

    /// The value as a list: its items, itself alone if it is a scalar or map, nothing for `Null`.
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

/// How much a diagnostic takes away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Severity {
    /// Everything was read; something about it is odd.
    Notice,
    /// Part of the file could not be understood and is missing from the index.
    Warning,
}

/// Something about a file that its owner may want to know. Never the end of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// How much it takes away.
    pub severity: Severity,
    /// A stable short name, such as `broken-frontmatter`.
    pub code: String,
    /// One sentence for a person: what was found and what was done.
    pub message: String,
    /// The line of the file, from 1, where one is known.
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
    fn a_path_holds_one_heading_of_each_level_above() {
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
