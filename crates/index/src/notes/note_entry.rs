//! The content and metadata of one file, and its resolved links.

use std::fmt;
use std::ops::Deref;

use bytestring::ByteString;
use serde::{Deserialize, Serialize};
use weft_model::fragment::{self, NamedPart};
use weft_model::id::is_folder_note;
use weft_model::text::without_qualifier;
use weft_model::{Chars, Chunk, Diagnostic, Note, NoteId, TextHash, Uri, fold};

/// Identifies a vault of the snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VaultId(pub u16);

/// A vault, as named in results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VaultInfo {
    /// Name: the prefix of the vault's uris if several vaults are served.
    pub name: String,
    /// Configured path of its folder, which may be a symlink; for display only, never opened.
    pub root: String,
    /// Number of notes that are kept although their files are missing, until the files are back or their deletion is confirmed.
    #[serde(default)]
    pub n_missing: usize,
}

impl VaultInfo {
    /// Creates a vault without missing notes.
    pub fn new(name: impl Into<String>, root: impl Into<String>) -> Self {
        Self { name: name.into(), root: root.into(), n_missing: 0 }
    }
}

/// Metadata of a file when it was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMetadata {
    /// Size in bytes.
    pub size: u64,
    /// Modification time, nanoseconds since 1970.
    pub modified_ns: i64,
    /// Time of the last change to the file or its metadata, nanoseconds since 1970; programs cannot set it. 0 if the system does not report it.
    pub changed_ns: i64,
    /// Inode; 0 if the file system has no inodes.
    pub inode: u64,
    /// Hash of the content.
    pub hash: TextHash,
    /// Time of reading, nanoseconds since 1970; 0 if it was not read.
    pub read_ns: i64,
}

/// Two changes within this time may leave a file with the same size and time.
const SAME_TIME_NS: i64 = 2_000_000_000;

impl FileMetadata {
    /// True if a file with the metadata `now` certainly has the content that was read.
    ///
    /// Size, times and inode must be equal, and the file must have been unchanged for two seconds when it was read: the coarsest file system clock has that resolution.
    #[must_use]
    pub fn is_unchanged(&self, now: &Self) -> bool {
        let Self { size, modified_ns, changed_ns, inode, hash: _, read_ns } = *self;
        let same = (size, modified_ns, changed_ns, inode)
            == (now.size, now.modified_ns, now.changed_ns, now.inode);
        same && modified_ns.max(changed_ns).saturating_add(SAME_TIME_NS) < read_ns
    }
}

/// Body of a note, shared by all clones: in memory, in the stored file, or [spilled](super::Spill) until it is stored.
#[derive(Clone, PartialEq, Eq)]
pub struct Body(ByteString);

impl Body {
    /// Creates a body from `text`.
    pub(super) fn new(text: impl Into<ByteString>) -> Self {
        Self(text.into())
    }
}

impl Deref for Body {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Body({} bytes)", self.0.len())
    }
}

/// A note with the content of its file and the data derived from it. Never changed in place.
#[derive(Clone, Debug, PartialEq)]
pub struct NoteEntry {
    /// Vault of the note.
    pub vault: VaultId,
    /// The parsed note; its `body` is empty, see [`NoteEntry::body`].
    pub note: Note,
    /// Body of the note.
    pub body: Body,
    /// Chunks of the body.
    pub chunks: Vec<Chunk>,
    /// Metadata of the file when it was read.
    pub file: FileMetadata,
    /// Findings of the parser.
    pub diagnostics: Vec<Diagnostic>,
    /// Distinguishes this version of the note from all others.
    pub version: u64,
}

impl NoteEntry {
    /// Returns the part of the body that `fragment` names; `None` if there is no such heading or block.
    #[must_use]
    pub fn section(&self, fragment: &str) -> Option<NamedPart> {
        let n_chars = u32::try_from(Chars::of(&self.body).0).unwrap_or(u32::MAX);
        fragment::section(fragment, &self.note.headings, &self.note.blocks, n_chars)
            .or_else(|| fragment::section_with_id(fragment, &self.note.headings, &self.body))
    }

    /// Moves the body out of `note`, so that it is held once, and releases unused capacity of its lists.
    #[must_use]
    pub fn new(
        vault: VaultId,
        mut note: Note,
        chunks: Vec<Chunk>,
        file: FileMetadata,
        version: u64,
    ) -> Self {
        let body = Body::new(std::mem::take(&mut note.body).into_boxed_str());
        note.headings.shrink_to_fit();
        note.links.shrink_to_fit();
        Self { vault, note, body, chunks, file, diagnostics: Vec::new(), version }
    }

    /// True if both have the same content at the same path, regardless of file metadata.
    #[must_use]
    pub fn same_content(&self, other: &Self) -> bool {
        let Self { vault, note, body, chunks, file: _, diagnostics, version } = self;
        (vault, version, diagnostics) == (&other.vault, &other.version, &other.diagnostics)
            && (body, chunks, note) == (&other.body, &other.chunks, &other.note)
    }

    /// Returns the names by which links find the note besides its title and its aliases: the name of its file, for a folder note that of its folder, and its uri and `id` as written.
    ///
    /// A name with the same letters and digits as an earlier name is left out, and so is one that only adds a parenthesis at the end, such as the number of a copy.
    #[must_use]
    pub fn other_names(&self) -> Vec<&str> {
        let Note { path, title, aliases, claimed_uri, .. } = &self.note;
        let is_folder_note = is_folder_note(path.stem()) && !path.folder().is_empty();
        let folder = path.folder().rsplit('/').next().filter(|_| is_folder_note);
        let derived = [Some(path.stem()), folder, claimed_uri.as_deref(), self.frontmatter_id()];
        let mut known: Vec<String> =
            aliases.iter().chain([title]).map(|name| letters(name)).collect();
        let is_new = |name: &&str| {
            let letters = letters(name);
            let is_new = !known.contains(&letters);
            known.push(letters);
            is_new
        };
        derived.into_iter().flatten().filter(is_new).collect()
    }

    /// Returns the frontmatter's `id` as written: it names the note even if `uri` sets another uri.
    #[must_use]
    pub fn frontmatter_id(&self) -> Option<&str> {
        let properties = &self.note.properties;
        let any_case = || properties.iter().find(|(key, _)| key.eq_ignore_ascii_case("id"));
        let id = properties.get("id").or_else(|| any_case().map(|(_, value)| value))?;
        id.as_written().map(str::trim).filter(|id| !id.is_empty())
    }
}

/// Returns the letters and digits of a name without its qualifier, in one case; the whole name if it has neither.
fn letters(name: &str) -> String {
    let name = without_qualifier(name);
    let letters: String = name.chars().filter(|c| c.is_alphanumeric()).collect();
    fold(if letters.is_empty() { name } else { &letters })
}

/// Data of a note that depends on the other notes of the vault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolvedNote {
    /// Uri on the wire.
    pub uri: Uri,
    /// Target of each link: a note or a placeholder; `None` for a plain string that is not a link.
    pub targets: Vec<Option<NoteId>>,
    /// Indexes of the links for which several notes match equally well.
    pub ambiguous: Vec<u32>,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use weft_model::{NotePath, Value};

    use super::*;

    type Names = &'static [&'static str];

    #[test]
    fn other_names_are_those_of_links() {
        let cases: [(&str, &str, Names, Option<&str>, Names); 8] = [
            ("the file's name", "a/RFC2119.md", &[], None, &["RFC2119"]),
            ("the title in another form", "a/key-words_for USE.md", &[], None, &[]),
            ("a copy", "a/Key words for use (2).md", &[], None, &[]),
            ("an alias", "a/the b.md", &["The B", "B"], None, &[]),
            ("a uri", "a/b.md", &["B"], Some("x:1"), &["x:1"]),
            ("a folder note", "a/pots/README.md", &[], None, &["README", "pots"]),
            ("no folder", "index.md", &[], None, &["index"]),
            ("names of signs", "a/🌿.md", &["🌱"], None, &["🌿"]),
        ];
        for (name, path, aliases, uri, expected) in cases {
            let note = Note {
                claimed_uri: uri.map(str::to_owned),
                aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
                ..Note::plain(NotePath::new(path), "Key words for use".to_owned(), String::new())
            };
            let entry = NoteEntry::new(VaultId(0), note, Vec::new(), FileMetadata::default(), 1);
            assert_eq!(entry.other_names(), expected, "{name}");
            let properties = BTreeMap::from([("ID".to_owned(), Value::Text("42".to_owned()))]);
            let note = Note { properties, ..entry.note.clone() };
            let with_id = NoteEntry { note, ..entry.clone() };
            assert_eq!(with_id.other_names(), [expected, &["42"]].concat(), "{name} and an id");
        }
    }
}
