//! What the table keeps of one file.

use std::fmt;
use std::ops::Deref;

use bytestring::ByteString;
use serde::{Deserialize, Serialize};
use weft_model::{Chunk, Diagnostic, Note, TextHash};

/// Which vault of the snapshot a note belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VaultId(pub u16);

/// A vault as answers name it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VaultInfo {
    /// Its name: the prefix of its uris where several vaults are served.
    pub name: String,
    /// The path of its folder as it is named, which may be a link; for people, never opened through this.
    pub root: String,
    /// Notes of it that are kept although their files are missing, until they are back or somebody says that they are gone for good.
    #[serde(default)]
    pub n_missing: usize,
}

impl VaultInfo {
    /// A vault of which nothing is missing.
    pub fn new(name: impl Into<String>, root: impl Into<String>) -> Self {
        Self { name: name.into(), root: root.into(), n_missing: 0 }
    }
}

/// What the file system said of a file when it was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFacts {
    /// Bytes.
    pub size: u64,
    /// Modification time, nanoseconds since 1970.
    pub modified_ns: i64,
    /// When anything of it was last changed, nanoseconds since 1970; nobody can set it. 0 where the system does not tell.
    pub changed_ns: i64,
    /// Inode, or 0 where there is none.
    pub inode: u64,
    /// Hash of the bytes.
    pub hash: TextHash,
    /// When it was read, nanoseconds since 1970; 0 while it was not.
    pub read_ns: i64,
}

/// A change within this time of another may leave a file with the same size and time.
const SAME_TIME_NS: i64 = 2_000_000_000;

impl FileFacts {
    /// Whether a file of which the file system now says `now` certainly holds what was read.
    ///
    /// Size, times and inode must be the same, and the file must have been at rest when it was read: two seconds is the coarsest clock of a file system.
    #[must_use]
    pub fn still_hold(&self, now: &Self) -> bool {
        let Self { size, modified_ns, changed_ns, inode, hash: _, read_ns } = *self;
        let same = (size, modified_ns, changed_ns, inode)
            == (now.size, now.modified_ns, now.changed_ns, now.inode);
        same && modified_ns.max(changed_ns).saturating_add(SAME_TIME_NS) < read_ns
    }
}

/// A body, shared by all who hold it: in memory, in the file it was written down in, or [spilled](super::Spill) until it is.
#[derive(Clone, PartialEq, Eq)]
pub struct Body(ByteString);

impl Body {
    /// Keeps `text`.
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

/// One note as its file says, with what was made of it. Never changed in place.
#[derive(Clone, Debug, PartialEq)]
pub struct NoteEntry {
    /// The vault it lies in.
    pub vault: VaultId,
    /// The note; its `body` is empty, see [`NoteEntry::body`].
    pub note: Note,
    /// The note's body.
    pub body: Body,
    /// The chunks of the body.
    pub chunks: Vec<Chunk>,
    /// The file when it was read.
    pub file: FileFacts,
    /// What reading it brought up.
    pub diagnostics: Vec<Diagnostic>,
    /// Tells this text of this note from every other.
    pub version: u64,
}

impl NoteEntry {
    /// Takes the body out of `note`, so that it is kept once, and gives back room that its lists do not need.
    #[must_use]
    pub fn new(
        vault: VaultId,
        mut note: Note,
        chunks: Vec<Chunk>,
        file: FileFacts,
        version: u64,
    ) -> Self {
        let body = Body::new(std::mem::take(&mut note.body).into_boxed_str());
        note.headings.shrink_to_fit();
        note.links.shrink_to_fit();
        Self { vault, note, body, chunks, file, diagnostics: Vec::new(), version }
    }

    /// Whether both say the same at the same place, whatever the file system says of their files.
    #[must_use]
    pub fn says_as(&self, other: &Self) -> bool {
        let Self { vault, note, body, chunks, file: _, diagnostics, version } = self;
        (vault, version, diagnostics) == (&other.vault, &other.version, &other.diagnostics)
            && (body, chunks, note) == (&other.body, &other.chunks, &other.note)
    }

    /// The frontmatter's `id` as written: it names the note also where `uri` gives it another uri.
    #[must_use]
    pub fn written_id(&self) -> Option<&str> {
        let properties = &self.note.properties;
        let any_case = || properties.iter().find(|(key, _)| key.eq_ignore_ascii_case("id"));
        let id = properties.get("id").or_else(|| any_case().map(|(_, value)| value))?;
        id.as_written().map(str::trim).filter(|id| !id.is_empty())
    }
}
