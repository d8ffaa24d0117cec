//! Identifiers: dense ones for the inside, stable ones for the wire.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A dense number for one node of a snapshot: a note, or a placeholder for a note that does not exist yet.
///
/// Slots are reused after deletion, so an id means nothing outside its snapshot and never orders an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NoteId(u32);

impl NoteId {
    /// The id of slot `index`.
    #[must_use]
    pub const fn new(index: u32) -> Self {
        Self(index)
    }

    /// The slot as a number for columns of `u32`.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The slot as an index into a table.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What is known of some notes.
///
/// Hashed for speed: keys are slots of a snapshot, which nobody outside chooses. In no particular order.
pub type NoteMap<V> = HashMap<NoteId, V, foldhash::fast::RandomState>;

/// The stable name of a note: what goes over the wire and settles ties.
///
/// Compared exactly, ordered by bytes.
/// Unique within a snapshot; where a daemon serves several vaults it reads `vault:uri`.
/// Cloning shares the text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Uri(Arc<str>);

impl Uri {
    /// Takes `text` as it is.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The uri as text.
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

/// The path of a note's file relative to its vault: `/` on every system, NFC, with extension.
///
/// Ordered by bytes. Cloning shares the text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NotePath(Arc<str>);

impl NotePath {
    /// Takes `text` as it is: the caller has brought it to `/` and NFC.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The folder without a trailing `/`; empty for a note at the root.
    #[must_use]
    pub fn folder(&self) -> &str {
        folder_of(&self.0)
    }

    /// The last segment, extension included.
    #[must_use]
    pub fn file_name(&self) -> &str {
        self.0.rsplit_once('/').map_or(&*self.0, |(_, name)| name)
    }

    /// The last segment without a Markdown extension.
    #[must_use]
    pub fn stem(&self) -> &str {
        without_markdown_extension(self.file_name())
    }

    /// The whole path without a Markdown extension: the uri of a note that claims none.
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

/// The folder of the file at `path`, without a trailing `/`; empty at the root.
#[must_use]
pub fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Extensions of files that are read as notes, without the dot, compared with case folded.
pub const MARKDOWN_EXTENSIONS: &[&str] = &["md", "markdown"];

/// Stems of files that stand for their folder, folded and compared with case folded; the first that exists wins.
pub const FOLDER_NOTES: &[&str] = &["index", "readme", "_index", "__index"];

/// The segments of `name` seen from `folder`, without `.`; `..` only at the front, where it leaves the vault.
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

/// `name` without its Markdown extension, if it has one and something stands before it.
#[must_use]
pub fn without_markdown_extension(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((stem, extension))
            if !stem.is_empty()
                && !stem.ends_with('/')
                && MARKDOWN_EXTENSIONS
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
    fn a_path_knows_its_parts() {
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
}
