//! Builds the frozen graph.
//!
//! `hnsw_rs` inserts the rows and assigns their levels; a walk through its lowest layer then finds the neighbors of every row again. Links are chosen among them, and back links and entries are added until every row is reachable.
//! `hnsw_rs` alone keeps the nearest links of a full list, which leaves clusters without links to others.
//! Choosing the links again raised recall@10 at `ef` 128 from .986 to .999 and queries per second from 6,900 to 9,400 (100,000 rows of 384 dimensions in 300 clusters), for a tenth of the insertion time; with the following steps, a sixth.
//! In 48 wide clusters the diversity rule leaves more than half of the links unused, and recall was .983; 64 links instead of 40, as many rejected candidates as diverse ones, and a longer walk raised it to .996 (2,000 queries).

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use hnsw_rs::anndists::dist::distances::Distance;
use hnsw_rs::hnsw::Hnsw;

use super::frozen_graph::FrozenGraph;
use super::graph_params::GraphParams;
use super::graph_search::{self, Batch};
use super::shortlist::{row_of, score_of};
use super::vector_file::to_u32;
use super::vector_index::VectorIndex;

/// Maximum number of layers in `hnsw_rs`.
const MAX_LAYERS: usize = 16;

/// Candidate list size of the walk to a row's neighbors; 60 lowered recall by .001.
const NEIGHBORS_EF: usize = 120;

/// Maximum links of a row per diverse link.
///
/// A row with near neighbors in many directions is where distances discriminate little, and a walk needs many ways out; elsewhere more links only cost time.
const LINKS_PER_DIVERSE: usize = 2;

/// Number of first links of a row that get a back link: without them some rows are unreachable.
const BACK_LINKS: usize = 6;

/// Entries per square root of the rows, so that finding the nearest entries stays a small part of a walk.
const ENTRIES_PER_SQRT: usize = 4;

/// Distance between rows, by their codes.
struct RowDistance<'i>(&'i VectorIndex);

impl RowDistance<'_> {
    fn between(&self, left: u32, right: u32) -> f32 {
        let ((left, left_scale), (right, right_scale)) = (self.0.codes(left), self.0.codes(right));
        let mut dot = [0];
        self.0.kernel.dots(left, right, &mut dot);
        distance(dot[0] as f32 * left_scale * right_scale)
    }
}

/// `hnsw_rs` stores row numbers instead of vectors, so a build holds no second copy of the vectors.
impl Distance<u32> for RowDistance<'_> {
    fn eval(&self, left: &[u32], right: &[u32]) -> f32 {
        match (left, right) {
            (&[left], &[right]) => self.between(left, right),
            // Only rows are inserted.
            _ => 0.0,
        }
    }
}

/// Returns the distance of two rows with the dot product `score`; never negative, as `hnsw_rs` asserts.
const fn distance(score: f32) -> f32 {
    (1.0 - score).max(0.0)
}

impl VectorIndex {
    /// Builds a graph of the live rows.
    ///
    /// Pure; takes one core more than a minute for 100,000 rows, so callers run it on its own thread and attach the graph to the then current index.
    /// Deterministic unless [`GraphParams::parallel`] is set.
    #[must_use]
    pub fn build_graph(&self) -> FrozenGraph {
        build(self, &self.params().graph)
    }
}

/// Builds the graph of the live rows of `index`.
fn build(index: &VectorIndex, params: &GraphParams) -> FrozenGraph {
    let degree = params.links_per_row();
    let (rows, copies) = deduplicate(index);
    let (near, levels) = insert(index, &rows, params);
    let entries = entries(&rows, &levels);
    let fingerprint = index.fingerprint(index.n_rows());
    let freeze = |mut lists: Vec<Vec<u32>>, degree, copies: Vec<[u32; 2]>| {
        let mut entries = entries.clone();
        add_back_links(&rows, &mut lists, degree);
        connect_unreached(&rows, &lists, &mut entries);
        FrozenGraph::freeze(&lists, degree, entries, copies, index.n_live(), fingerprint)
    };
    let longest = near.iter().map(Vec::len).max().unwrap_or(0);
    let inserted = freeze(near, longest.max(degree), Vec::new());
    let selection = LinkSelection { index, rows: &rows, n_links: degree - degree / 4 };
    let chosen = selection.with_incoming(&selection.searched_links(&inserted));
    freeze(chosen, degree, copies)
}

/// Returns the live rows with distinct codes, ascending, and all further rows with the same codes as pairs (row, copy), ascending.
///
/// A text repeated in hundreds of notes would fill all lists near it with links between its copies, and disconnect the rows beyond.
/// Copies may be deleted rows: after a restart, a note with the text may own another of them.
fn deduplicate(index: &VectorIndex) -> (Vec<u32>, Vec<[u32; 2]>) {
    let (mut rows, mut copies, mut first) = (Vec::new(), Vec::new(), HashMap::new());
    let (living, dead): (Vec<_>, Vec<_>) =
        (0..).zip(index.owners()).partition(|(_, owner)| owner.is_some());
    for (row, owner) in living.into_iter().chain(dead) {
        let (lanes, scale) = index.codes(row);
        match first.entry((scale.to_bits(), lanes)) {
            Entry::Vacant(place) if owner.is_some() => {
                place.insert(row);
                rows.push(row);
            }
            Entry::Vacant(_) => {}
            Entry::Occupied(place) => copies.push([*place.get(), row]),
        }
    }
    copies.sort_unstable();
    (rows, copies)
}

/// Returns the links and the level of every row from `hnsw_rs`.
fn insert(index: &VectorIndex, rows: &[u32], params: &GraphParams) -> (Vec<Vec<u32>>, Vec<u8>) {
    let mut near = vec![Vec::new(); index.n_rows()];
    let mut levels = vec![0; index.n_rows()];
    let Some((first, rest)) = rows.split_first() else { return (near, levels) };
    // `hnsw_rs` aborts above 256 and divides by zero for one link.
    let m = params.m.clamp(4, 128);
    let hnsw =
        Hnsw::new(m, rows.len(), MAX_LAYERS, params.ef_construction.max(m), RowDistance(index));
    let point = |row| (std::slice::from_ref(row), *row as usize);
    // The first row is inserted alone: rows inserted before there is an entry point get no links.
    hnsw.insert_slice(point(first));
    if params.parallel {
        hnsw.parallel_insert_slice(&rest.iter().map(point).collect());
    } else {
        rest.iter().for_each(|row| hnsw.insert_slice(point(row)));
    }
    for point in hnsw.get_point_indexation() {
        let row = point.get_origin_id();
        levels[row] = point.get_point_id().0;
        near[row] = point
            .get_neighborhood_id()
            .first()
            .map(|layer| {
                layer
                    .iter()
                    .map(|near| to_u32(near.d_id))
                    .filter(|&near| near as usize != row)
                    .collect()
            })
            .unwrap_or_default();
    }
    (near, levels)
}

/// Chooses links; lists are indexed by row.
struct LinkSelection<'i> {
    index: &'i VectorIndex,
    /// The rows to link, ascending.
    rows: &'i [u32],
    /// Maximum links per row.
    n_links: usize,
}

impl LinkSelection<'_> {
    /// Chooses the links of every row among its links in `graph` and the results of a walk through it.
    fn searched_links(&self, graph: &FrozenGraph) -> Vec<Vec<u32>> {
        self.for_each_row(|row| {
            let (lanes, _) = self.index.codes(row);
            let found = graph_search::nearest(self.index.row_codes(), graph, lanes, NEIGHBORS_EF);
            found.into_iter().map(row_of).chain(graph.links(row)).collect()
        })
    }

    /// Chooses the links of every row among its links and its incoming ones.
    fn with_incoming(&self, lists: &[Vec<u32>]) -> Vec<Vec<u32>> {
        let incoming = self.incoming(lists);
        self.for_each_row(|row| [lists[row as usize].as_slice(), &incoming[row as usize]].concat())
    }

    /// Returns the rows that link to each row, ascending.
    fn incoming(&self, lists: &[Vec<u32>]) -> Vec<Vec<u32>> {
        let mut incoming = vec![Vec::new(); lists.len()];
        for &row in self.rows {
            for &to in &lists[row as usize] {
                incoming[to as usize].push(row);
            }
        }
        incoming
    }

    fn for_each_row(&self, mut candidates: impl FnMut(u32) -> Vec<u32>) -> Vec<Vec<u32>> {
        let mut lists = vec![Vec::new(); self.index.n_rows()];
        for &row in self.rows {
            lists[row as usize] = self.diversify(row, candidates(row));
        }
        lists
    }

    /// Returns the nearest `candidates` that are nearer to `row` than to any chosen one, nearest first; then as many of the nearest others, if there is space.
    fn diversify(&self, row: u32, mut candidates: Vec<u32>) -> Vec<u32> {
        candidates.sort_unstable();
        candidates.dedup();
        let candidates = candidates.into_iter().filter(|&other| other != row);
        let (lanes, scale) = self.index.codes(row);
        let mut ranks: Vec<u64> =
            Batch::new(self.index.row_codes(), lanes).ranks(candidates).collect();
        ranks.sort_unstable_by(|left, right| right.cmp(left));
        let between = RowDistance(self.index);
        let mut chosen: Vec<u32> = Vec::with_capacity(self.n_links);
        let mut others = Vec::new();
        for rank in ranks {
            let (candidate, far) = (row_of(rank), distance(score_of(rank) * scale));
            if chosen.iter().all(|&near| between.between(near, candidate) > far) {
                chosen.push(candidate);
                if chosen.len() == self.n_links {
                    break;
                }
            } else {
                others.push(candidate);
            }
        }
        let room = self.n_links.min(LINKS_PER_DIVERSE * chosen.len()) - chosen.len();
        chosen.extend(others.into_iter().take(room));
        chosen
    }
}

/// Adds back links for the first links of every row, up to `degree` links per list.
fn add_back_links(rows: &[u32], lists: &mut [Vec<u32>], degree: usize) {
    for &row in rows {
        let first: Vec<u32> = lists[row as usize].iter().take(BACK_LINKS).copied().collect();
        for to in first {
            let list = &mut lists[to as usize];
            if list.len() < degree && !list.contains(&row) {
                list.push(row);
            }
        }
    }
}

/// Returns the rows of the lowest level with few enough of them, ascending; if no level has, the first rows of the highest.
fn entries(rows: &[u32], levels: &[u8]) -> Vec<u32> {
    let limit = rows.len().isqrt() * ENTRIES_PER_SQRT;
    let at_least =
        |level: u8| rows.iter().copied().filter(move |&row| levels[row as usize] >= level);
    let highest = rows.iter().map(|&row| levels[row as usize]).max().unwrap_or(0);
    let level = (0..=highest).find(|&level| at_least(level).count() <= limit).unwrap_or(highest);
    at_least(level).take(limit).collect()
}

/// Adds an entry for every part of the graph that is unreachable from the others.
fn connect_unreached(rows: &[u32], lists: &[Vec<u32>], entries: &mut Vec<u32>) {
    let mut reached = vec![false; lists.len()];
    let mut todo = Vec::new();
    let mut visit = |start: u32, reached: &mut Vec<bool>| {
        reached[start as usize] = true;
        todo.push(start);
        while let Some(row) = todo.pop() {
            for &to in &lists[row as usize] {
                if !std::mem::replace(&mut reached[to as usize], true) {
                    todo.push(to);
                }
            }
        }
    };
    for &entry in entries.iter() {
        visit(entry, &mut reached);
    }
    for &row in rows {
        if !reached[row as usize] {
            entries.push(row);
            visit(row, &mut reached);
        }
    }
}

#[cfg(test)]
mod tests {
    use weft_model::NoteId;

    use super::*;
    use crate::vector::{VectorParams, VectorWriter};

    #[test]
    fn every_row_is_reachable_from_an_entry() {
        let lists = [vec![1], vec![0], vec![0], vec![4], vec![], vec![5]];
        let mut entries = vec![1];
        connect_unreached(&[0, 1, 2, 3, 4], &lists, &mut entries);
        assert_eq!(entries, [1, 2, 3]);
    }

    #[test]
    fn nearest_rejected_rows_follow_diverse_ones() {
        // From the first row, the second hides the next three; the last is on the other side.
        let angles = [0.0_f32, 20.0, 40.0, 60.0, 80.0, -50.0].map(f32::to_radians);
        let vectors = angles.map(|angle| [angle.cos(), angle.sin()]);
        let mut writer = VectorWriter::in_memory(2, VectorParams::default()).unwrap();
        writer
            .append(&vectors.each_ref().map(|vector| (NoteId::new(0), vector.as_slice())))
            .unwrap();
        let index = writer.publish();
        for (n_links, expected) in
            [(1, vec![1]), (2, vec![1, 5]), (3, vec![1, 5, 2]), (6, vec![1, 5, 2, 3])]
        {
            let selection = LinkSelection { index: &index, rows: &[], n_links };
            assert_eq!(selection.diversify(0, vec![4, 3, 0, 5, 1, 2, 1]), expected, "{n_links}");
        }
    }

    #[test]
    fn entries_come_from_the_lowest_small_level() {
        let levels = [0, 2, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let rows: Vec<u32> = (0..25).collect();
        assert_eq!(entries(&rows, &levels), [1, 3, 6]);
        assert_eq!(entries(&rows[..4], &[0; 25]), [0, 1, 2, 3]);
        assert_eq!(entries(&rows, &[0; 25]).len(), 20);
        assert!(entries(&[], &[]).is_empty());
    }
}
