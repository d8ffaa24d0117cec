//! Columns of byte strings, on the heap or in a memory-mapped file.
//!
//! ```text
//! per column      all strings back to back, then the end offset of each, u64
//! at the end      per column: number of strings, number of bytes, u64 each
//! ```
//!
//! Numbers are little-endian.

use std::fmt;
use std::io::{self, Write};
use std::ops::Range;

use bytes::Bytes;

/// Bytes of an encoded number.
const NUMBER_BYTES: usize = size_of::<u64>();

/// Byte strings, addressed by index. Cloning shares the data.
#[derive(Clone, Default)]
pub(crate) struct Column {
    bytes: Bytes,
    /// End offset of each string in `bytes`.
    ends: Bytes,
}

impl Column {
    /// Returns the number of strings.
    pub(crate) const fn len(&self) -> usize {
        self.ends.len() / NUMBER_BYTES
    }

    /// Returns the total bytes of all strings.
    pub(crate) const fn n_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Returns string `at`; an empty string if the index is out of range, or if another program overwrote the end offsets in the mapped file.
    pub(crate) fn get(&self, at: usize) -> &[u8] {
        self.bytes.get(self.range(at)).unwrap_or_default()
    }

    /// Returns string `at` as shared bytes, with the same rules as [`get`](Self::get).
    pub(crate) fn share(&self, at: usize) -> Bytes {
        let Range { start, end } = self.range(at);
        if start <= end && end <= self.bytes.len() {
            self.bytes.slice(start..end)
        } else {
            Bytes::new()
        }
    }

    /// Returns all strings, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|at| self.get(at))
    }

    /// Returns the number of strings in the prefix for which `before` holds; the column must be partitioned by it. `O(log strings)`.
    pub(crate) fn partition_point(&self, before: impl Fn(&[u8]) -> bool) -> usize {
        let (mut from, mut to) = (0, self.len());
        while from < to {
            let middle = usize::midpoint(from, to);
            if before(self.get(middle)) {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        from
    }

    fn range(&self, at: usize) -> Range<usize> {
        let (ends, _) = self.ends.as_chunks::<NUMBER_BYTES>();
        let end = |at: usize| ends.get(at).map(|end| position(u64::from_le_bytes(*end)));
        match (at.checked_sub(1), end(at)) {
            (_, None) => 0..0,
            (None, Some(end)) => 0..end,
            (Some(before), Some(last)) => end(before).unwrap_or(last)..last,
        }
    }

    /// True if all end offsets are ascending and within the bytes.
    fn is_whole(&self) -> bool {
        let (ends, rest) = self.ends.as_chunks::<NUMBER_BYTES>();
        let mut ends = ends.iter().map(|end| position(u64::from_le_bytes(*end)));
        rest.is_empty()
            && ends.clone().is_sorted()
            && ends.next_back().unwrap_or_default() == self.bytes.len()
    }
}

impl fmt::Debug for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Column({} strings, {} bytes)", self.len(), self.n_bytes())
    }
}

/// Converts an offset; one that exceeds the address space becomes an offset past the end of everything.
fn position(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Builds a column on the heap.
#[derive(Debug, Default)]
pub(crate) struct ColumnBuilder {
    bytes: Vec<u8>,
    ends: Vec<u8>,
}

impl ColumnBuilder {
    /// Appends to the current string.
    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Ends the current string, which is empty if nothing was appended.
    pub(crate) fn end(&mut self) {
        self.ends.extend((self.bytes.len() as u64).to_le_bytes());
    }

    pub(crate) fn finish(self) -> Column {
        let Self { mut bytes, mut ends } = self;
        bytes.shrink_to_fit();
        ends.shrink_to_fit();
        Column { bytes: bytes.into(), ends: ends.into() }
    }
}

/// Writes columns one after the other, as a stream.
pub(crate) struct ColumnsWriter<W> {
    out: W,
    /// End offset of each string of the current column.
    ends: Vec<u8>,
    n_bytes: u64,
    /// Number of strings and bytes of each finished column.
    sizes: Vec<u8>,
}

impl<W: Write> ColumnsWriter<W> {
    pub(crate) const fn new(out: W) -> Self {
        Self { out, ends: Vec::new(), n_bytes: 0, sizes: Vec::new() }
    }

    /// Appends a string to the current column.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.n_bytes += bytes.len() as u64;
        self.ends.extend(self.n_bytes.to_le_bytes());
        self.out.write_all(bytes)
    }

    /// Ends the current column.
    pub(crate) fn end_column(&mut self) -> io::Result<()> {
        self.out.write_all(&self.ends)?;
        let n_strings = (self.ends.len() / NUMBER_BYTES) as u64;
        self.sizes.extend(n_strings.to_le_bytes());
        self.sizes.extend(self.n_bytes.to_le_bytes());
        self.ends.clear();
        self.n_bytes = 0;
        Ok(())
    }

    /// Writes the footer.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.out.write_all(&self.sizes)
    }
}

/// Reads the `N` columns of a file; `None` if `bytes` is not such a file.
pub(crate) fn read<const N: usize>(bytes: &Bytes) -> Option<[Column; N]> {
    let end = bytes.len().checked_sub(2 * NUMBER_BYTES * N)?;
    let (sizes, _) = bytes[end..].as_chunks::<NUMBER_BYTES>();
    let mut sizes = sizes.iter().map(|size| position(u64::from_le_bytes(*size)));
    let mut at = 0_usize;
    let mut part = |n_bytes: usize| {
        let from = at;
        at = from.checked_add(n_bytes).filter(|to| *to <= end)?;
        Some(bytes.slice(from..at))
    };
    let mut columns = Vec::with_capacity(N);
    for _ in 0..N {
        let (n_strings, n_bytes) = (sizes.next()?, sizes.next()?);
        let (bytes, ends) = (part(n_bytes)?, part(n_strings.checked_mul(NUMBER_BYTES)?)?);
        columns.push(Some(Column { bytes, ends }).filter(Column::is_whole)?);
    }
    if at == end { columns.try_into().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [&[&str]; 3] = [&["a", "", "bcd"], &[], &["", "", "xyz", ""]];

    fn encoded() -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = ColumnsWriter::new(&mut bytes);
        for column in COLUMNS {
            for item in column {
                writer.push(item.as_bytes()).unwrap();
            }
            writer.end_column().unwrap();
        }
        writer.finish().unwrap();
        bytes
    }

    fn strings(column: &Column) -> Vec<&str> {
        column.iter().map(|item| std::str::from_utf8(item).unwrap()).collect()
    }

    #[test]
    fn columns_round_trip() {
        let columns = read::<3>(&encoded().into()).expect("columns");
        for (column, expected) in columns.iter().zip(COLUMNS) {
            assert_eq!(strings(column), expected);
            assert!(column.get(expected.len()).is_empty() && column.share(99).is_empty());
        }
        // Another program overwrote the file after it was read.
        for ends in [[7, 9], [u64::MAX, 2]] {
            let ends = Bytes::from(ends.map(u64::to_le_bytes).concat());
            let column = Column { bytes: Bytes::from_static(b"fern"), ends };
            assert!((0..2).all(|at| column.get(at).is_empty() && column.share(at).is_empty()));
        }
        let mut builder = ColumnBuilder::default();
        for item in COLUMNS[0] {
            item.bytes().for_each(|byte| builder.extend(&[byte]));
            builder.end();
        }
        assert_eq!(strings(&builder.finish()), COLUMNS[0]);
    }

    #[test]
    fn malformed_column_file_is_refused() {
        let good = encoded();
        for n_bytes in 0..good.len() {
            let cut = Bytes::copy_from_slice(&good[..n_bytes]);
            assert!(read::<3>(&cut).is_none(), "{n_bytes} bytes");
        }
        assert!(
            read::<2>(&good.clone().into()).is_none() && read::<4>(&good.clone().into()).is_none()
        );
        for at in 0..good.len() {
            let mut other = good.clone();
            other[at] ^= 0x80;
            if let Some(columns) = read::<3>(&other.into()) {
                let n_bytes: usize = columns.iter().flat_map(Column::iter).map(<[u8]>::len).sum();
                assert_eq!(n_bytes, 7, "byte {at}: the offsets are still consistent");
            }
        }
    }
}
