//! The file that backs a table.

use std::fmt;
use std::path::PathBuf;

use bytes::Bytes;

use crate::disk::FileStamp;

/// The file that backs a table, with its checksum; empty for a table in memory.
#[derive(Clone, Default)]
pub(super) struct BackingFile {
    pub(super) path: PathBuf,
    /// Stamp of the file before it was last read.
    pub(super) stamp: Option<FileStamp>,
    pub(super) bytes: Bytes,
    pub(super) crc32: u32,
}

impl fmt::Debug for BackingFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BackingFile({}, {} bytes)", self.path.display(), self.bytes.len())
    }
}
