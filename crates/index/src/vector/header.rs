//! The 64 bytes at the front of each of this module's files.

use std::path::Path;

use super::VectorError;

/// Bytes of a header: rows behind it start on a cache line.
pub(super) const HEADER_BYTES: usize = 64;

/// Where the checksum stands, and so what it covers.
const CRC_AT: usize = 60;

/// Where the fields of a kind of file start.
const FIELDS_AT: usize = 12;

/// A kind of file.
pub(super) struct Kind {
    /// Its first eight bytes.
    pub(super) magic: [u8; 8],
    /// The newest format this code knows, from 1.
    pub(super) version: u32,
    /// What errors call it.
    pub(super) name: &'static str,
}

/// Magic, version, up to twelve numbers, zeros, and a checksum of all that.
pub(super) struct Header([u8; HEADER_BYTES]);

impl Header {
    /// The header of a file of `kind` with `fields`.
    pub(super) fn new(kind: &Kind, fields: &[u32]) -> Self {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&kind.magic);
        bytes[8..FIELDS_AT].copy_from_slice(&kind.version.to_le_bytes());
        for (at, field) in bytes[FIELDS_AT..CRC_AT].chunks_exact_mut(4).zip(fields) {
            at.copy_from_slice(&field.to_le_bytes());
        }
        let crc = crc32fast::hash(&bytes[..CRC_AT]);
        bytes[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        Self(bytes)
    }

    /// Reads a header of `kind`; `path` is for errors.
    ///
    /// Every format keeps its version and the checksum where this one does, so that damage is not taken for a later version.
    pub(super) fn parse(
        bytes: &[u8; HEADER_BYTES],
        kind: &Kind,
        path: &Path,
    ) -> Result<Self, VectorError> {
        let header = Self(*bytes);
        if bytes[..8] != kind.magic {
            return Err(VectorError::Magic { path: path.to_owned(), kind: kind.name });
        }
        let found = header.number(8);
        if header.number(CRC_AT) != crc32fast::hash(&bytes[..CRC_AT]) || found == 0 {
            return Err(VectorError::Damaged { path: path.to_owned(), part: "header" });
        }
        if found > kind.version {
            return Err(VectorError::Version {
                path: path.to_owned(),
                found,
                supported: kind.version,
            });
        }
        Ok(header)
    }

    /// The first `N` fields.
    pub(super) fn fields<const N: usize>(&self) -> [u32; N] {
        std::array::from_fn(|field| self.number(FIELDS_AT + 4 * field))
    }

    /// The header as it is written.
    pub(super) const fn bytes(&self) -> [u8; HEADER_BYTES] {
        self.0
    }

    fn number(&self, at: usize) -> u32 {
        u32::from_le_bytes(std::array::from_fn(|byte| self.0[at + byte]))
    }
}
