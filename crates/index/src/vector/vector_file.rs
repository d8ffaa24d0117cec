//! The vector file: a header followed by rows, append-only and memory-mapped.
//!
//! ```text
//! 0    8   magic `WEFTVECF`            16  4  dimension, u32
//! 8    4   format version, u32         20  40 zeros
//! 12   4   bytes of a row, u32         60  4  crc32 of the 60 bytes before
//! 64   …   rows: f32, little-endian, padded with zeros to a multiple of 64 bytes
//! ```
//!
//! The number of valid rows is not in the file: the publisher knows it, so a torn append is not damage.
//! The file grows by whole extents ahead of its rows; the bytes after the last row are undefined.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file_header::{self, FileHeader, HEADER_BYTES};
use super::{MAX_DIMENSION, VectorError};
use crate::disk::Disk;
use crate::mapped_file::FileMap;
use crate::truncated_maps::TruncationFlag;

const FORMAT: file_header::FileFormat =
    file_header::FileFormat { magic: *b"WEFTVECF", version: 1, name: "vector file" };

/// Alignment of rows in bytes: a cache line.
const ROW_ALIGNMENT: usize = 64;

/// Rows per block, the unit of sharing between versions of an index: 295 kB of codes at 384 dimensions.
pub(in crate::vector) const BLOCK_ROWS: usize = 512;

/// Rows per growth of the file: 12 MB at 384 dimensions, so growing and mapping are rare, and one mapping per extent stays far below kernel limits.
const EXTENT_ROWS: usize = 16 * BLOCK_ROWS;

/// Append-only file of `f32` rows.
///
/// One writer; readers hold mappings, which stay valid and unchanged while rows are appended.
/// No other program may write to the file or shorten it while it is open; a cut is detected where it is read.
#[derive(Debug)]
pub struct VectorFile {
    file: File,
    path: PathBuf,
    disk: Disk,
    dimension: usize,
    n_rows: usize,
    /// Mapped extents, contiguous and in order; each starts at a block.
    extents: Vec<Extent>,
    /// Raised once a missing part of an extent is read.
    truncation: TruncationFlag,
}

#[derive(Debug)]
struct Extent {
    first_row: usize,
    end_row: usize,
    map: Arc<FileMap>,
}

/// Location of the rows of one block.
#[derive(Clone, Debug)]
pub(super) struct MappedRows {
    map: Arc<FileMap>,
    offset: usize,
}

impl MappedRows {
    /// Returns the vector of row `at` of the block, which must be published.
    pub(super) fn row(&self, at: usize, dimension: usize) -> &[f32] {
        self.map.floats(self.offset + at * row_bytes(dimension), dimension)
    }
}

/// Returns the bytes of one row, padding included.
const fn row_bytes(dimension: usize) -> usize {
    (dimension * size_of::<f32>()).next_multiple_of(ROW_ALIGNMENT)
}

impl VectorFile {
    /// Creates an empty file; fails if `path` exists.
    pub fn create(disk: &Disk, path: &Path, dimension: usize) -> Result<Self, VectorError> {
        if !(1..=MAX_DIMENSION).contains(&dimension) {
            return Err(VectorError::UnsupportedDimension { dimension });
        }
        let write = |source| VectorError::Write { path: path.to_owned(), source };
        let mut file = disk.create_new(path).map_err(write)?;
        let fields = [row_bytes(dimension), dimension].map(to_u32);
        let header = FileHeader::new(&FORMAT, &fields).bytes();
        disk.write_all(&mut file, path, &header).map_err(write)?;
        let (path, disk) = (path.to_owned(), disk.clone());
        let (extents, truncation) = (Vec::new(), TruncationFlag::of(&path));
        Ok(Self { file, path, disk, dimension, n_rows: 0, extents, truncation })
    }

    /// Opens a file with `n_rows` valid rows and maps them.
    ///
    /// Fails if the file has another format, a later version, another dimension or fewer rows.
    /// The rows themselves are not read; see [`RowChecksum`](super::RowChecksum).
    pub fn open(
        disk: &Disk,
        path: &Path,
        dimension: usize,
        n_rows: usize,
    ) -> Result<Self, VectorError> {
        let read = |source| VectorError::Read { path: path.to_owned(), source };
        let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(read)?;
        let n_bytes = file.metadata().map_err(read)?.len();
        let mut bytes = [0; HEADER_BYTES];
        if n_bytes < HEADER_BYTES as u64 {
            let expected = HEADER_BYTES as u64;
            return Err(VectorError::Truncated { path: path.to_owned(), expected, got: n_bytes });
        }
        file.read_exact(&mut bytes).map_err(read)?;
        let [stride, found] = FileHeader::parse(&bytes, &FORMAT, path)?.fields();
        if found as usize != dimension {
            return Err(VectorError::Dimension { expected: dimension, got: found as usize });
        }
        if stride as usize != row_bytes(dimension) {
            return Err(VectorError::Damaged { path: path.to_owned(), part: "row length" });
        }
        let (path, disk) = (path.to_owned(), disk.clone());
        let (extents, truncation) = (Vec::new(), TruncationFlag::of(&path));
        let mut opened = Self { file, path, disk, dimension, n_rows, extents, truncation };
        let expected = opened.offset(n_rows);
        if n_bytes < expected {
            return Err(VectorError::Truncated { path: opened.path, expected, got: n_bytes });
        }
        if n_rows > 0 {
            // Whole blocks only, so that the next extent starts at a block.
            opened
                .extend_to(n_rows.next_multiple_of(BLOCK_ROWS))
                .map_err(|source| VectorError::Read { path: opened.path.clone(), source })?;
        }
        Ok(opened)
    }

    /// Returns the number of whole rows that fit in the file at `path`; fails as [`open`](Self::open) does.
    pub(crate) fn row_capacity(path: &Path, dimension: usize) -> Result<usize, VectorError> {
        let opened = Self::open(&Disk::default(), path, dimension, 0)?;
        let read = |source| VectorError::Read { path: path.to_owned(), source };
        let n_bytes = opened.file.metadata().map_err(read)?.len();
        let n_bytes = n_bytes.saturating_sub(HEADER_BYTES as u64);
        Ok(usize::try_from(n_bytes / row_bytes(dimension) as u64).unwrap_or(usize::MAX))
    }

    /// True if the file at `path` ends in a part of a row, which this program never writes: the file grows by whole rows.
    pub(crate) fn has_stray_bytes(path: &Path, dimension: usize) -> bool {
        let n_bytes = std::fs::metadata(path).map_or(0, |facts| facts.len());
        let n_bytes = n_bytes.saturating_sub(HEADER_BYTES as u64);
        !n_bytes.is_multiple_of(row_bytes(dimension) as u64)
    }

    /// Returns the bytes of a file with `n_rows` rows.
    pub(crate) const fn n_bytes(dimension: usize, n_rows: usize) -> u64 {
        HEADER_BYTES as u64 + n_rows as u64 * row_bytes(dimension) as u64
    }

    /// Returns the number of floats per vector.
    #[must_use]
    pub const fn dimension(&self) -> usize {
        self.dimension
    }

    /// Returns the number of valid rows.
    #[must_use]
    pub const fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends `rows`, each of the file's dimension; durable after [`sync`](Self::sync).
    ///
    /// After an error, no row was added, and the next append overwrites the remains.
    pub fn append<'v>(
        &mut self,
        rows: impl IntoIterator<Item = &'v [f32]>,
    ) -> Result<(), VectorError> {
        let mut bytes = Vec::new();
        let mut n_new = 0;
        for row in rows {
            if row.len() != self.dimension {
                return Err(VectorError::Dimension { expected: self.dimension, got: row.len() });
            }
            bytes.extend(row.iter().flat_map(|value| value.to_le_bytes()));
            n_new += 1;
            bytes.resize(n_new * row_bytes(self.dimension), 0);
        }
        self.write(&bytes, n_new)
            .map_err(|source| VectorError::Write { path: self.path.clone(), source })?;
        self.n_rows += n_new;
        Ok(())
    }

    /// Makes every appended row durable.
    pub fn sync(&self) -> Result<(), VectorError> {
        self.disk
            .sync(&self.file, &self.path)
            .map_err(|source| VectorError::Write { path: self.path.clone(), source })
    }

    /// Returns the flag that is raised once a missing part of the truncated file is read.
    pub(super) fn truncation(&self) -> TruncationFlag {
        self.truncation.clone()
    }

    /// Returns the vector of row `row`, which must be valid.
    pub(crate) fn row(&self, row: usize) -> &[f32] {
        let at = self.extents.partition_point(|extent| extent.end_row <= row);
        let Extent { first_row, end_row: _, map } = &self.extents[at];
        map.floats((row - first_row) * row_bytes(self.dimension), self.dimension)
    }

    /// Returns the rows of block `block`, of which at least one must be valid.
    pub(super) fn block(&self, block: usize) -> MappedRows {
        let first = block * BLOCK_ROWS;
        let at = self.extents.partition_point(|extent| extent.end_row <= first);
        let extent = &self.extents[at];
        MappedRows {
            map: Arc::clone(&extent.map),
            offset: (first - extent.first_row) * row_bytes(self.dimension),
        }
    }

    fn write(&mut self, bytes: &[u8], n_new: usize) -> io::Result<()> {
        let end = self.n_rows + n_new;
        if self.extents.last().is_none_or(|extent| extent.end_row < end) {
            self.extend_to(end.next_multiple_of(EXTENT_ROWS))?;
        }
        self.file.seek(SeekFrom::Start(self.offset(self.n_rows)))?;
        self.disk.write_all(&mut self.file, &self.path, bytes)
    }

    /// Maps the rows after the last extent up to `end_row`; grows the file if needed.
    fn extend_to(&mut self, end_row: usize) -> io::Result<()> {
        let first_row = self.extents.last().map_or(0, |extent| extent.end_row);
        let (start, end) = (self.offset(first_row), self.offset(end_row));
        if self.file.metadata()?.len() < end {
            self.disk.set_len(&self.file, &self.path, end)?;
        }
        let map = Arc::new(FileMap::new(
            &self.file,
            start,
            (end_row - first_row) * row_bytes(self.dimension),
            &self.truncation,
        )?);
        self.extents.push(Extent { first_row, end_row, map });
        Ok(())
    }

    /// Returns the byte offset of row `row`.
    const fn offset(&self, row: usize) -> u64 {
        Self::n_bytes(self.dimension, row)
    }
}

/// Converts a number known to be within the limits of rows and dimensions.
pub(super) fn to_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIMENSION: usize = 20;

    fn row(seed: u16) -> Vec<f32> {
        (0..20_u16).map(|at| f32::from(seed * 31 + at)).collect()
    }

    fn vector(file: &VectorFile, row: usize) -> Vec<f32> {
        file.block(row / BLOCK_ROWS).row(row % BLOCK_ROWS, DIMENSION).to_vec()
    }

    #[test]
    fn rows_survive_reopening_and_mappings_survive_appends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vec.f32");
        let mut file = VectorFile::create(&Disk::default(), &path, DIMENSION).unwrap();
        let rows: Vec<_> = (0..1_000).map(row).collect();
        file.append(rows.iter().map(Vec::as_slice)).unwrap();
        let held = file.block(1);
        file.sync().unwrap();
        drop(file);
        let mut file = VectorFile::open(&Disk::default(), &path, DIMENSION, 1_000).unwrap();
        let more: Vec<_> = (1_000..20_000).map(|seed| row(seed % 2_000)).collect();
        file.append(more.iter().map(Vec::as_slice)).unwrap();
        assert_eq!(held.row(87, DIMENSION), row(599));
        for at in [0_u16, 511, 512, 999, 1_000, 1_024, 8_191, 8_192, 19_999] {
            assert_eq!(vector(&file, usize::from(at)), row(at % 2_000), "{at}");
        }
    }

    #[test]
    fn torn_append_is_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vec.f32");
        let mut file = VectorFile::create(&Disk::default(), &path, DIMENSION).unwrap();
        file.append([row(1).as_slice(), &row(2), &row(3)]).unwrap();
        assert!(file.append([row(4).as_slice(), &[1.0]]).is_err());
        assert_eq!(file.n_rows(), 3);
        drop(file);
        // Only two rows were published; the file ends in the middle of a row.
        OpenOptions::new().write(true).open(&path).unwrap().set_len(64 + 2 * 128 + 40).unwrap();
        let mut file = VectorFile::open(&Disk::default(), &path, DIMENSION, 2).unwrap();
        file.append([row(5).as_slice()]).unwrap();
        assert_eq!([vector(&file, 1), vector(&file, 2)], [row(2), row(5)]);
    }

    #[test]
    fn invalid_vector_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vec.f32");
        let mut file = VectorFile::create(&Disk::default(), &path, DIMENSION).unwrap();
        file.append([row(1).as_slice(), &row(2)]).unwrap();
        assert!(matches!(
            VectorFile::create(&Disk::default(), &path, DIMENSION),
            Err(VectorError::Write { .. })
        ));
        let good = std::fs::read(&path).unwrap();
        let resealed = |at: usize, value: u8| {
            let mut bytes = good.clone();
            bytes[at] = value;
            let crc = crc32fast::hash(&bytes[..60]);
            bytes[60..64].copy_from_slice(&crc.to_le_bytes());
            bytes
        };
        let unsealed = |at: usize, value: u8| {
            let mut bytes = good.clone();
            bytes[at] = value;
            bytes
        };
        let mut flipped = good.clone();
        flipped[17] ^= 1;
        let cases = [
            ("empty", Vec::new(), "bytes long"),
            ("half a header", good[..40].to_vec(), "bytes long"),
            ("rows missing", good[..64 + 128].to_vec(), "bytes long"),
            ("other magic", resealed(0, b'X'), "is not a vector file"),
            ("later version", resealed(8, 9), "version 9"),
            ("version flipped", unsealed(8, 9), "damaged"),
            ("bit flipped", flipped, "damaged"),
            ("other row length", resealed(12, 64), "damaged"),
            ("other dimension", resealed(16, 21), "21 dimensions"),
        ];
        for (name, bytes, expected) in cases {
            std::fs::write(&path, bytes).unwrap();
            let error =
                VectorFile::open(&Disk::default(), &path, DIMENSION, 2).unwrap_err().to_string();
            assert!(error.contains(expected), "{name}: {error}");
        }
        assert!(matches!(
            VectorFile::open(&Disk::default(), &folder.path().join("none"), 4, 0),
            Err(VectorError::Read { .. })
        ));
    }
}
