//! The file that backs a table.

use std::fmt;
use std::path::PathBuf;

use bytes::Bytes;

use crate::disk::FileStamp;
use crate::truncated_maps::TruncationFlag;

/// The file that backs a table, with its checksum; empty for a table in memory.
#[derive(Clone, Default)]
pub(crate) struct BackingFile {
    pub(crate) path: PathBuf,
    /// Stamp of the file before it was last read.
    pub(crate) stamp: Option<FileStamp>,
    /// The mapped file.
    pub(crate) bytes: Bytes,
    pub(crate) crc32: u32,
    /// Raised once a missing part of the file is read.
    pub(crate) truncation: TruncationFlag,
}

impl fmt::Debug for BackingFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BackingFile({}, {} bytes)", self.path.display(), self.bytes.len())
    }
}
