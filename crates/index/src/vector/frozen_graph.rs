//! The frozen graph: links between near rows in one flat array, and its file.
//!
//! ```text
//! 0   64  header: magic `WEFTHNSW`, version, rows, links per row, entries, copies, live rows, fingerprint, crc32 of the body, commit (two numbers, the lower half first)
//! 64  …   entries, copies as (first row, copy), links by row; u32, little-endian, `u32::MAX` for unused links
//! ```

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use super::VectorError;
use super::file_header::{FileFormat, FileHeader, HEADER_BYTES};
use super::simd;
use super::vector_file::to_u32;
use crate::disk::Disk;

const FORMAT: FileFormat = FileFormat { magic: *b"WEFTHNSW", version: 1, name: "graph file" };

/// Marks an unused link.
const NONE: u32 = u32::MAX;

/// Links of every row to near rows, as of the build. It lacks rows added since and still contains rows deleted since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrozenGraph {
    n_rows: usize,
    /// Maximum links per row; at least one.
    degree: usize,
    /// `n_rows × degree`; the links of each row, filled up with [`NONE`].
    links: Vec<u32>,
    /// Rows at which walks start; empty only if no row is linked.
    entries: Vec<u32>,
    /// Rows that no link refers to because an earlier row has the same codes: (that row, copy), ascending.
    copies: Vec<[u32; 2]>,
    /// Number of live rows at build time.
    n_live_at_build: usize,
    /// Fingerprint of the rows' codes.
    fingerprint: u32,
    /// Number of the commit that shares it; 0 for a graph of one index.
    commit: u64,
}

impl FrozenGraph {
    /// Creates a graph from `lists`, one per row, each truncated to `degree` links; `n_live_at_build` is the number of live rows.
    pub(super) fn freeze(
        lists: &[Vec<u32>],
        degree: usize,
        entries: Vec<u32>,
        copies: Vec<[u32; 2]>,
        n_live_at_build: usize,
        fingerprint: u32,
    ) -> Self {
        let mut links = vec![NONE; lists.len() * degree];
        for (row, list) in links.chunks_exact_mut(degree).zip(lists) {
            for (link, &to) in row.iter_mut().zip(list) {
                *link = to;
            }
        }
        let (n_rows, commit) = (lists.len(), 0);
        Self { n_rows, degree, links, entries, copies, n_live_at_build, fingerprint, commit }
    }

    /// Returns this graph with the number of the commit that shares it, from 1.
    #[must_use]
    pub fn shared_by(self, commit: u64) -> Self {
        Self { commit, ..self }
    }

    /// Returns the number of the commit that shares it; `None` for a graph of one index.
    #[must_use]
    pub fn commit(&self) -> Option<u64> {
        Some(self.commit).filter(|commit| *commit > 0)
    }

    /// Returns the number of rows of the index it was built from.
    #[must_use]
    pub const fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Returns the number of rows that were live at build time; only these are linked.
    #[must_use]
    pub const fn n_live_at_build(&self) -> usize {
        self.n_live_at_build
    }

    /// Returns the bytes in memory.
    #[must_use]
    pub const fn n_bytes(&self) -> usize {
        (self.links.len() + self.entries.len() + 2 * self.copies.len()) * size_of::<u32>()
    }

    /// Returns the maximum links per row.
    pub(super) const fn degree(&self) -> usize {
        self.degree
    }

    /// Returns the rows linked from `row`.
    pub(super) fn links(&self, row: u32) -> impl Iterator<Item = u32> + '_ {
        self.places(row).iter().copied().take_while(|&link| link != NONE)
    }

    /// Prefetches the links of `row`.
    pub(super) fn prefetch(&self, row: u32) {
        simd::prefetch(self.places(row));
    }

    /// Returns the link slots of `row`, unused ones last.
    fn places(&self, row: u32) -> &[u32] {
        let first = row as usize * self.degree;
        &self.links[first..first + self.degree]
    }

    /// Returns `row` and its copies, which links do not refer to, ascending.
    pub(super) fn with_copies(&self, row: u32) -> impl Iterator<Item = u32> + '_ {
        let first = self.copies.partition_point(|[of, _]| *of < row);
        let copies = self.copies[first..].iter().take_while(move |[of, _]| *of == row);
        std::iter::once(row).chain(copies.map(|[_, copy]| *copy))
    }

    /// Returns the rows reachable without links: copies and entries.
    pub(super) fn unlinked(&self) -> HashSet<u32> {
        self.copies.iter().map(|[_, copy]| *copy).chain(self.entries.iter().copied()).collect()
    }

    /// Returns the rows at which walks start.
    pub(super) fn entries(&self) -> &[u32] {
        &self.entries
    }

    /// Returns the fingerprint of the rows' codes.
    pub(super) const fn fingerprint(&self) -> u32 {
        self.fingerprint
    }

    /// Returns the bytes of the file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let ids = self.entries.iter().chain(self.copies.as_flattened()).chain(&self.links);
        let body: Vec<u8> = ids.flat_map(|id| id.to_le_bytes()).collect();
        let counts =
            [self.n_rows, self.degree, self.entries.len(), self.copies.len(), self.n_live_at_build];
        let [low, high] = [self.commit & u64::from(u32::MAX), self.commit >> 32]
            .map(|half| u32::try_from(half).unwrap_or(u32::MAX));
        let fields: Vec<u32> = counts
            .map(to_u32)
            .into_iter()
            .chain([self.fingerprint, crc32fast::hash(&body), low, high])
            .collect();
        [FileHeader::new(&FORMAT, &fields).bytes().as_slice(), &body].concat()
    }

    /// Writes the graph to `path`, durably, replacing an older one.
    pub fn save(&self, disk: &Disk, path: &Path) -> Result<(), VectorError> {
        disk.replace(path, &self.to_bytes())
            .map_err(|source| VectorError::Write { path: path.to_owned(), source })
    }

    /// Reads a graph from `path` and validates every link.
    pub fn load(path: &Path) -> Result<Self, VectorError> {
        let bytes =
            fs::read(path).map_err(|source| VectorError::Read { path: path.to_owned(), source })?;
        Self::from_bytes(&bytes, path)
    }

    /// Parses the bytes of a file and validates every link; `path` is for errors.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self, VectorError> {
        let short = |expected: usize| VectorError::Truncated {
            path: path.to_owned(),
            expected: expected as u64,
            got: bytes.len() as u64,
        };
        let damaged = |part| VectorError::Damaged { path: path.to_owned(), part };
        let (header, body) = bytes.split_first_chunk().ok_or_else(|| short(HEADER_BYTES))?;
        let [counts @ .., fingerprint, crc, low, high] =
            FileHeader::parse(header, &FORMAT, path)?.fields::<9>();
        let [n_rows, degree, n_entries, n_copies, n_live_at_build] =
            counts.map(|count| count as usize);
        let n_links = n_rows.checked_mul(degree);
        let n_ids =
            n_links.and_then(|n| n.checked_add(n_entries)?.checked_add(n_copies.checked_mul(2)?));
        let n_body =
            n_ids.and_then(|n| n.checked_mul(size_of::<u32>())).ok_or_else(|| damaged("counts"))?;
        if body.len() < n_body {
            return Err(short(HEADER_BYTES + n_body));
        }
        if body.len() > n_body || degree == 0 {
            return Err(damaged("length"));
        }
        if crc32fast::hash(body) != crc {
            return Err(damaged("checksum"));
        }
        let mut ids = body.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes));
        let entries: Vec<u32> = ids.by_ref().take(n_entries).collect();
        let copies: Vec<u32> = ids.by_ref().take(2 * n_copies).collect();
        let links: Vec<u32> = ids.collect();
        let known = |id: &u32| (*id as usize) < n_rows;
        let sound = entries.iter().chain(&copies).all(known)
            && links.iter().all(|id| *id == NONE || known(id))
            && copies.as_chunks::<2>().0.is_sorted();
        if !sound {
            return Err(damaged("links"));
        }
        let copies = copies.as_chunks().0.to_vec();
        let commit = u64::from(high) << 32 | u64::from(low);
        Ok(Self { n_rows, degree, links, entries, copies, n_live_at_build, fingerprint, commit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graph_round_trips_and_damage_is_detected() {
        let lists = [vec![1, 2], vec![0], vec![], vec![2, 1, 0]];
        let graph = FrozenGraph::freeze(&lists, 3, vec![3, 0], vec![[0, 2], [3, 1]], 4, 77);
        assert_eq!(graph.commit(), None);
        let graph = graph.shared_by(7 << 40 | 9);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hnsw.u32");
        graph.save(&Disk::default(), &path).unwrap();
        let loaded = FrozenGraph::load(&path).unwrap();
        assert_eq!(loaded, graph);
        assert_eq!(loaded.commit(), Some(7 << 40 | 9));
        let back: Vec<Vec<u32>> = (0..4).map(|row| loaded.links(row).collect()).collect();
        assert_eq!(back, lists);
        let copies: Vec<Vec<u32>> = (0..4).map(|row| loaded.with_copies(row).collect()).collect();
        assert_eq!(copies, [vec![0, 2], vec![1], vec![2], vec![3, 1]]);

        let good = fs::read(&path).unwrap();
        let changed = |at: usize, to: u8| {
            let mut bytes = good.clone();
            bytes[at] = to;
            bytes
        };
        // A link to a missing row, with a correct checksum.
        let foreign = {
            let mut bytes = changed(64, 9);
            let crc = crc32fast::hash(&bytes[64..]);
            bytes[36..40].copy_from_slice(&crc.to_le_bytes());
            let crc = crc32fast::hash(&bytes[..60]);
            bytes[60..64].copy_from_slice(&crc.to_le_bytes());
            bytes
        };
        let later = {
            let mut bytes = changed(8, 2);
            let crc = crc32fast::hash(&bytes[..60]);
            bytes[60..64].copy_from_slice(&crc.to_le_bytes());
            bytes
        };
        let cases = [
            ("empty", Vec::new(), "bytes long"),
            ("cut", good[..good.len() - 1].to_vec(), "bytes long"),
            ("too long", [good.as_slice(), &[0]].concat(), "length"),
            ("magic", changed(3, 0), "not a graph file"),
            ("version", later, "version 2"),
            ("version flipped", changed(8, 2), "header"),
            ("count", changed(12, 200), "header"),
            ("link", changed(80, 1), "checksum"),
            ("link to nowhere", foreign, "links"),
        ];
        for (name, bytes, expected) in cases {
            fs::write(&path, bytes).unwrap();
            let error = FrozenGraph::load(&path).unwrap_err().to_string();
            assert!(error.contains(expected), "{name}: {error}");
        }
        assert!(matches!(FrozenGraph::load(folder.path()), Err(VectorError::Read { .. })));
    }
}
