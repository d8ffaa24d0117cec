//! Memory-mapped files, read as floats or bytes.
#![expect(unsafe_code, reason = "the compiler cannot track the lifetime of mapped memory")]

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::sync::Arc;

use memmap2::{MmapOptions, MmapRaw};
use stable_deref_trait::StableDeref;

use crate::truncated_maps::{self, MapGuard, TruncationFlag};

const _: () = assert!(cfg!(target_endian = "little"), "mapped files hold little-endian floats");

/// Read-only mapping of part of a file.
#[derive(Debug)]
pub(crate) struct FileMap {
    /// Dropped before the memory is unmapped.
    _guard: MapGuard,
    memory: MmapRaw,
}

impl FileMap {
    /// Maps `len` bytes from `offset`. A later read of a part that another program cut off yields zeros and raises `flag`.
    pub(crate) fn new(
        file: &File,
        offset: u64,
        len: usize,
        flag: &TruncationFlag,
    ) -> io::Result<Self> {
        let memory = MmapOptions::new().offset(offset).len(len).map_raw_read_only(file)?;
        let _guard = truncated_maps::guard(memory.as_ptr(), memory.len(), flag);
        Ok(Self { _guard, memory })
    }

    /// Returns the length of the mapping in bytes.
    pub(crate) fn len(&self) -> usize {
        self.memory.len()
    }

    /// Returns the `n` bytes at `offset` in the mapping, which must not be written any more.
    ///
    /// # Panics
    ///
    /// If the range is not inside the mapping.
    pub(crate) fn bytes(&self, offset: usize, n: usize) -> &[u8] {
        let end = offset.checked_add(n);
        assert!(end.is_some_and(|end| end <= self.memory.len()), "bytes inside the mapping");
        // SAFETY: the bytes are inside the mapping (checked), which lives as long as `self`; every bit pattern is a byte.
        // They do not change: a file of a generation is written before it gets its name and is removed as a whole; a spill file is never shortened, and each of its bytes is written once, before it is read.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().wrapping_add(offset), n) }
    }

    /// Returns the `n` floats at `offset` in the mapping.
    ///
    /// # Panics
    ///
    /// If the range is not inside the mapping, or `offset` is not a multiple of four.
    pub(crate) fn floats(&self, offset: usize, n: usize) -> &[f32] {
        let end = n.checked_mul(size_of::<f32>()).and_then(|bytes| bytes.checked_add(offset));
        assert!(end.is_some_and(|end| end <= self.memory.len()), "floats inside the mapping");
        let first = self.memory.as_ptr().wrapping_add(offset).cast::<f32>();
        assert!(first.is_aligned(), "floats aligned to their size");
        // SAFETY: the bytes are inside the mapping (checked), which lives as long as `self`; the pointer is aligned (checked); every bit pattern is a float.
        // They do not change: callers read published rows only; the single writer never overwrites those and never shortens a file.
        unsafe { std::slice::from_raw_parts(first, n) }
    }
}

/// A shared range of a mapping.
#[derive(Debug)]
pub(crate) struct MappedBytes {
    map: Arc<FileMap>,
    offset: usize,
    n_bytes: usize,
}

impl MappedBytes {
    /// Returns the `n_bytes` bytes at `offset` in `map`, under the conditions of [`FileMap::bytes`].
    pub(crate) const fn new(map: Arc<FileMap>, offset: usize, n_bytes: usize) -> Self {
        Self { map, offset, n_bytes }
    }
}

impl Deref for MappedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.map.bytes(self.offset, self.n_bytes)
    }
}

// SAFETY: the bytes are in mapped memory, which does not move with this value.
unsafe impl StableDeref for MappedBytes {}

impl AsRef<[u8]> for MappedBytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn mapped_floats_match_the_file() {
        let mut file = tempfile::tempfile().unwrap();
        let values: Vec<f32> = (0_u8..200).map(f32::from).collect();
        file.write_all(&values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>())
            .unwrap();
        let map = FileMap::new(&file, 64, 736, &TruncationFlag::default()).unwrap();
        assert_eq!(map.floats(0, 184), &values[16..]);
        assert_eq!(map.floats(8, 3), &values[18..21]);
    }

    #[test]
    fn mapped_bytes_match_the_file() {
        let mut file = tempfile::tempfile().unwrap();
        let bytes: Vec<u8> = (0..10_000_u16).flat_map(u16::to_le_bytes).collect();
        file.write_all(&bytes).unwrap();
        let map =
            Arc::new(FileMap::new(&file, 0, bytes.len(), &TruncationFlag::default()).unwrap());
        assert_eq!(MappedBytes::new(map, 0, bytes.len()).as_ref(), bytes);
        assert_eq!(
            FileMap::new(&file, 4_100, 7, &TruncationFlag::default()).unwrap().bytes(2, 5),
            &bytes[4_102..4_107]
        );
    }

    #[test]
    #[should_panic(expected = "bytes inside the mapping")]
    fn bytes_past_the_end_panic() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[0; 128]).unwrap();
        FileMap::new(&file, 0, 128, &TruncationFlag::default()).unwrap().bytes(120, 9);
    }

    #[test]
    #[should_panic(expected = "inside the mapping")]
    fn floats_past_the_end_panic() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[0; 128]).unwrap();
        FileMap::new(&file, 0, 128, &TruncationFlag::default()).unwrap().floats(64, 17);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod truncation_tests {
    use std::io::Write as _;
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::Command;

    use super::*;

    const N_BYTES: usize = 1 << 16;

    fn file() -> File {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(&[7; N_BYTES]).expect("written");
        file
    }

    #[test]
    fn missing_pages_read_as_zeros_and_raise_the_flag() {
        let (file, flag, other) = (file(), TruncationFlag::default(), TruncationFlag::default());
        let map = FileMap::new(&file, 64, N_BYTES - 64, &flag).unwrap();
        let second = FileMap::new(&file, 0, N_BYTES, &other).unwrap();
        file.set_len(5_000).unwrap();
        assert_eq!(map.bytes(0, 100), [7; 100]);
        assert!(!flag.is_raised(), "nothing missing was read");
        assert_eq!(map.bytes(20_000, 100), [0; 100]);
        assert!(flag.is_raised() && !other.is_raised());
        assert_eq!((map.bytes(0, 4_000), map.bytes(N_BYTES - 65, 1)), (&[7; 4_000][..], &[0][..]));
        drop(map);
        assert_eq!(second.floats(N_BYTES - 4, 1), [0.0]);
        assert!(other.is_raised());
    }

    #[test]
    fn many_threads_may_read_a_truncated_file() {
        let file = file();
        for _ in 0..100 {
            file.set_len(N_BYTES as u64).unwrap();
            let flag = TruncationFlag::default();
            let map = Arc::new(FileMap::new(&file, 0, N_BYTES, &flag).unwrap());
            std::thread::scope(|scope| {
                for thread in 0..4 {
                    let map = &map;
                    scope.spawn(move || {
                        for at in (thread..N_BYTES).step_by(997) {
                            assert!(matches!(map.bytes(at, 1), [0 | 7]));
                        }
                    });
                }
                file.set_len(0).unwrap();
            });
            assert_eq!(map.bytes(N_BYTES - 1, 1), [0]);
            assert!(flag.is_raised());
        }
    }

    #[test]
    fn registrations_are_reused_and_grow() {
        let (file, flag) = (file(), TruncationFlag::default());
        for _ in 0..3 {
            let maps: Vec<_> =
                (0..300).map(|_| FileMap::new(&file, 0, 100, &flag).unwrap()).collect();
            assert!(maps.iter().all(|map| map.bytes(99, 1) == [7]));
        }
        assert!(!flag.is_raised());
    }

    /// Set in the process that ends.
    const ENDS: &str = "WEFT_TEST_BUS_ERROR";

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "tells the process that ends from the one that waits"
    )]
    fn other_bus_errors_keep_their_effect() {
        if std::env::var_os(ENDS).is_some() {
            read_other_memory();
        }
        let name = "mapped_file::truncation_tests::other_bus_errors_keep_their_effect";
        let mut command = Command::new(std::env::current_exe().unwrap());
        let status = command.args(["--exact", name]).env(ENDS, "1").output().unwrap().status;
        assert_eq!(status.signal(), Some(libc::SIGBUS));
    }

    /// Reads a missing page of a mapping that is not guarded.
    fn read_other_memory() {
        let file = file();
        let _guarded = FileMap::new(&file, 0, N_BYTES, &TruncationFlag::default()).expect("mapped");
        let other = MmapOptions::new().len(N_BYTES).map_raw_read_only(&file).expect("mapped");
        file.set_len(0).expect("mapped");
        // SAFETY: the address is mapped; its page is missing.
        assert_eq!(unsafe { other.as_ptr().read_volatile() }, 0);
    }
}
