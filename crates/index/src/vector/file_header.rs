//! The 64-byte header of the vector and graph files.

use std::path::Path;

use super::VectorError;

/// Bytes of a header, so that rows after it start on a cache line.
pub(super) const HEADER_BYTES: usize = 64;

/// Offset of the checksum, which covers the bytes before it.
const CRC_AT: usize = 60;

/// Offset of the format-specific fields.
const FIELDS_AT: usize = 12;

/// A file format.
pub(super) struct FileFormat {
    /// First eight bytes of the file.
    pub(super) magic: [u8; 8],
    /// Newest supported version, from 1.
    pub(super) version: u32,
    /// Name in error messages.
    pub(super) name: &'static str,
}

/// Magic, version, up to twelve numbers, zeros, and a checksum of all of them.
pub(super) struct FileHeader([u8; HEADER_BYTES]);

impl FileHeader {
    /// Creates the header of a file of `format` with `fields`.
    pub(super) fn new(format: &FileFormat, fields: &[u32]) -> Self {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&format.magic);
        bytes[8..FIELDS_AT].copy_from_slice(&format.version.to_le_bytes());
        for (at, field) in bytes[FIELDS_AT..CRC_AT].chunks_exact_mut(4).zip(fields) {
            at.copy_from_slice(&field.to_le_bytes());
        }
        let crc = crc32fast::hash(&bytes[..CRC_AT]);
        bytes[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        Self(bytes)
    }

    /// Parses a header of `format`; `path` is for errors.
    ///
    /// Every format has version and checksum at the same offsets, so that damage is not mistaken for a later version.
    pub(super) fn parse(
        bytes: &[u8; HEADER_BYTES],
        format: &FileFormat,
        path: &Path,
    ) -> Result<Self, VectorError> {
        let header = Self(*bytes);
        if bytes[..8] != format.magic {
            return Err(VectorError::WrongFormat { path: path.to_owned(), kind: format.name });
        }
        let found = header.number(8);
        if header.number(CRC_AT) != crc32fast::hash(&bytes[..CRC_AT]) || found == 0 {
            return Err(VectorError::Damaged { path: path.to_owned(), part: "header" });
        }
        if found > format.version {
            return Err(VectorError::Version {
                path: path.to_owned(),
                found,
                supported: format.version,
            });
        }
        Ok(header)
    }

    /// Returns the first `N` fields.
    pub(super) fn fields<const N: usize>(&self) -> [u32; N] {
        std::array::from_fn(|field| self.number(FIELDS_AT + 4 * field))
    }

    /// Returns the encoded header.
    pub(super) const fn bytes(&self) -> [u8; HEADER_BYTES] {
        self.0
    }

    fn number(&self, at: usize) -> u32 {
        u32::from_le_bytes(std::array::from_fn(|byte| self.0[at + byte]))
    }
}
