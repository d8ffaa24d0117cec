//! Identifiers: dense ids inside a snapshot, stable ones on the wire.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::NoteKind;

/// Dense number of one node of a snapshot: a note, or a placeholder for a note that does not exist yet.
///
/// Slots are reused after deletion, so an id has no meaning outside its snapshot and never orders a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NoteId(u32);

impl NoteId {
    /// Returns the id of slot `index`.
    #[must_use]
    pub const fn new(index: u32) -> Self {
        Self(index)
    }

    /// Returns the slot as a number, for columns of `u32`.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Returns the slot as an index into a table.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Map from notes to values, in no particular order.
///
/// Uses a fast hash function: the keys are slots of a snapshot, which no client can choose.
pub type NoteMap<V> = HashMap<NoteId, V, foldhash::fast::RandomState>;

/// Stable name of a note: identifies it on the wire and breaks ties.
///
/// Compared exactly, ordered by bytes.
/// Unique within a snapshot; if a daemon serves several vaults, it has the form `vault:uri`.
/// Cloning shares the text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Uri(Arc<str>);

impl Uri {
    /// Creates a uri from `text`, unchanged.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// Returns the uri as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::borrow::Borrow<str> for Uri {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// Path of a note's file relative to its vault: `/` on every system, NFC, with extension.
///
/// Ordered by bytes. Cloning shares the text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NotePath(Arc<str>);

impl NotePath {
    /// Creates a path from `text`, unchanged: the caller has converted it to `/` and NFC.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// Returns the path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the folder without a trailing `/`; empty for a note at the root.
    #[must_use]
    pub fn folder(&self) -> &str {
        folder_of(&self.0)
    }

    /// Returns the last segment, extension included.
    #[must_use]
    pub fn file_name(&self) -> &str {
        self.0.rsplit_once('/').map_or(&*self.0, |(_, name)| name)
    }

    /// Returns the last segment without a Markdown extension.
    #[must_use]
    pub fn stem(&self) -> &str {
        without_markdown_extension(self.file_name())
    }

    /// Returns the last segment without the extension of its kind.
    #[must_use]
    pub fn bare_name(&self) -> &str {
        let name = self.file_name();
        let bare = NoteKind::of(name).and_then(|_| Some(name.rsplit_once('.')?.0));
        bare.filter(|bare| !bare.is_empty()).unwrap_or(name)
    }

    /// Returns the format of the file; Markdown if the extension is unknown.
    #[must_use]
    pub fn kind(&self) -> NoteKind {
        NoteKind::of(&self.0).unwrap_or_default()
    }

    /// Returns the whole path without a Markdown extension: the uri of a note that claims none.
    #[must_use]
    pub fn without_extension(&self) -> &str {
        without_markdown_extension(&self.0)
    }
}

impl fmt::Display for NotePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::borrow::Borrow<str> for NotePath {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// Returns the folder of the file at `path`, without a trailing `/`; empty at the root.
#[must_use]
pub fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Case-folded stems of files that represent their folder, compared case-insensitively; the first that exists wins.
pub const FOLDER_NOTES: &[&str] = &["index", "readme", "_index", "__index"];

/// Returns true if a file with this stem represents its folder.
#[must_use]
pub fn is_folder_note(stem: &str) -> bool {
    FOLDER_NOTES.iter().any(|name| stem.eq_ignore_ascii_case(name))
}

/// Returns the segments of `name` as seen from `folder`, without `.`.
///
/// `..` remains only at the front, if the path leaves the vault.
#[must_use]
pub fn segments<'a>(folder: &'a str, name: &'a str) -> Vec<&'a str> {
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(name.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|above| *above != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts
}

/// Returns true if `text` is a UUID, which identifies a block in Logseq.
#[must_use]
pub fn is_uuid(text: &str) -> bool {
    const LENGTHS: [usize; 5] = [8, 4, 4, 4, 12];
    let parts = text
        .split('-')
        .map(|part| if part.bytes().all(|byte| byte.is_ascii_hexdigit()) { part.len() } else { 0 });
    parts.eq(LENGTHS)
}

/// Splits the destination of a Markdown link, which is a URL, before the `?` of its query: `("a.md", "?plain=1")`.
///
/// The query is empty if nothing or white space follows the `?`, as in the name of a note (`Why?`, `Why? Because`).
#[must_use]
pub fn split_query(destination: &str) -> (&str, &str) {
    let (path, query) = destination.split_at(destination.find('?').unwrap_or(destination.len()));
    let is_query = !path.is_empty() && query.len() > 1 && !query.contains(char::is_whitespace);
    if is_query { (path, query) } else { (destination, "") }
}

/// Returns `name` without its Markdown extension, if it has one after a non-empty stem.
#[must_use]
pub fn without_markdown_extension(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((stem, extension))
            if !stem.is_empty()
                && !stem.ends_with('/')
                && NoteKind::Markdown
                    .extensions()
                    .iter()
                    .any(|known| extension.eq_ignore_ascii_case(known)) =>
        {
            stem
        }
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_begins_at_first_question_mark() {
        for (destination, path, query) in [
            ("a.md?plain=1", "a.md", "?plain=1"),
            ("a/?x=1?y", "a/", "?x=1?y"),
            ("a.md", "a.md", ""),
            ("Why?", "Why?", ""),
            ("Why? Because", "Why? Because", ""),
            ("?x=1", "?x=1", ""),
        ] {
            assert_eq!(split_query(destination), (path, query), "{destination}");
        }
    }

    #[test]
    fn path_splits_into_folder_name_and_stem() {
        let cases = [
            ("a.md", "", "a.md", "a", "a"),
            ("b/c.Markdown", "b", "c.Markdown", "c", "b/c"),
            ("b/v1.2.md", "b", "v1.2.md", "v1.2", "b/v1.2"),
            ("b/.md", "b", ".md", ".md", "b/.md"),
            ("b/notes.txt", "b", "notes.txt", "notes.txt", "b/notes.txt"),
        ];
        for (path, folder, name, stem, bare) in cases {
            let path = NotePath::new(path);
            assert_eq!(
                (path.folder(), path.file_name(), path.stem(), path.without_extension()),
                (folder, name, stem, bare),
                "{path}"
            );
        }
    }

    #[test]
    fn bare_name_has_no_extension_of_a_note() {
        for (path, expected) in [
            ("a/b.md", "b"),
            ("a/v1.2.pdf", "v1.2"),
            ("c.ORG", "c"),
            (".txt", ".txt"),
            ("a/d.png", "d.png"),
        ] {
            assert_eq!(NotePath::new(path).bare_name(), expected, "{path}");
        }
    }
}
