//! Floats and bytes of mapped files.
#![expect(unsafe_code, reason = "a mapped file is memory that the compiler knows nothing of")]

use std::fs::File;
use std::io;
use std::sync::Arc;

use memmap2::{MmapOptions, MmapRaw};

const _: () = assert!(cfg!(target_endian = "little"), "mapped files hold little-endian floats");

/// A read-only mapping of part of a file.
#[derive(Debug)]
pub(crate) struct Map(MmapRaw);

impl Map {
    /// Maps `len` bytes from `offset` on.
    pub(crate) fn new(file: &File, offset: u64, len: usize) -> io::Result<Self> {
        Ok(Self(MmapOptions::new().offset(offset).len(len).map_raw_read_only(file)?))
    }

    /// Bytes of the mapping.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The `n` bytes that start `offset` bytes into the mapping, which nobody may write to any more.
    ///
    /// # Panics
    ///
    /// When they do not lie inside.
    pub(crate) fn bytes(&self, offset: usize, n: usize) -> &[u8] {
        let end = offset.checked_add(n);
        assert!(end.is_some_and(|end| end <= self.0.len()), "bytes inside the mapping");
        // SAFETY: the bytes lie inside the mapping (checked), which lives as long as `self`; every bit pattern is a byte.
        // They do not change: a file of a generation is written before it is named and removed as a whole; of a spill's file, which is never shortened, each byte is written once, before it is asked for.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().wrapping_add(offset), n) }
    }

    /// The `n` floats that start `offset` bytes into the mapping.
    ///
    /// # Panics
    ///
    /// When they do not lie inside, or `offset` is no multiple of four.
    pub(crate) fn floats(&self, offset: usize, n: usize) -> &[f32] {
        let end = n.checked_mul(size_of::<f32>()).and_then(|bytes| bytes.checked_add(offset));
        assert!(end.is_some_and(|end| end <= self.0.len()), "floats inside the mapping");
        let first = self.0.as_ptr().wrapping_add(offset).cast::<f32>();
        assert!(first.is_aligned(), "floats on a multiple of their size");
        // SAFETY: the bytes lie inside the mapping (checked), which lives as long as `self`; the pointer is aligned (checked); every bit pattern is a float.
        // They do not change: callers ask for published rows only, the one writer never writes to those again and never shortens a file.
        unsafe { std::slice::from_raw_parts(first, n) }
    }
}

/// Some bytes of a mapping, to be shared.
#[derive(Debug)]
pub(crate) struct MapPart {
    map: Arc<Map>,
    offset: usize,
    n_bytes: usize,
}

impl MapPart {
    /// The `n_bytes` bytes that start `offset` bytes into `map`, under the conditions of [`Map::bytes`].
    pub(crate) const fn new(map: Arc<Map>, offset: usize, n_bytes: usize) -> Self {
        Self { map, offset, n_bytes }
    }
}

impl AsRef<[u8]> for MapPart {
    fn as_ref(&self) -> &[u8] {
        self.map.bytes(self.offset, self.n_bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn mapped_floats_are_those_written() {
        let mut file = tempfile::tempfile().unwrap();
        let values: Vec<f32> = (0_u8..200).map(f32::from).collect();
        file.write_all(&values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>())
            .unwrap();
        let map = Map::new(&file, 64, 736).unwrap();
        assert_eq!(map.floats(0, 184), &values[16..]);
        assert_eq!(map.floats(8, 3), &values[18..21]);
    }

    #[test]
    fn mapped_bytes_are_those_written() {
        let mut file = tempfile::tempfile().unwrap();
        let bytes: Vec<u8> = (0..10_000_u16).flat_map(u16::to_le_bytes).collect();
        file.write_all(&bytes).unwrap();
        let map = Arc::new(Map::new(&file, 0, bytes.len()).unwrap());
        assert_eq!(MapPart::new(map, 0, bytes.len()).as_ref(), bytes);
        assert_eq!(Map::new(&file, 4_100, 7).unwrap().bytes(2, 5), &bytes[4_102..4_107]);
    }

    #[test]
    #[should_panic(expected = "bytes inside the mapping")]
    fn bytes_behind_the_end_are_refused() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[0; 128]).unwrap();
        Map::new(&file, 0, 128).unwrap().bytes(120, 9);
    }

    #[test]
    #[should_panic(expected = "inside the mapping")]
    fn floats_behind_the_end_are_refused() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[0; 128]).unwrap();
        Map::new(&file, 0, 128).unwrap().floats(64, 17);
    }
}
