//! Builds the frozen graph.
//!
//! `hnsw_rs` inserts the rows and knows their levels; a walk through its lowest layer then finds the neighbours of every row anew, from which its links are chosen, made to lead back, and made to reach every row.
//! `hnsw_rs` keeps the nearest links of a full list, which leaves clusters without ways out.
//! Choosing anew took recall@10 at `ef` 128 from .986 to .999 and answers per second from 6,900 to 9,400 (100,000 rows of 384 dimensions in 300 clusters), for a tenth of the time that insertion takes; with what follows it is a sixth.
//! In 48 wide clusters diversity leaves more than half of the links free, and .983 were found; 64 links instead of 40, as many of the refused as were chosen among them, and a longer walk took that to .996 (2,000 queries).

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use hnsw_rs::anndists::dist::distances::Distance;
use hnsw_rs::hnsw::Hnsw;
use serde::{Deserialize, Serialize};
use weft_model::settings::Problems;

use super::file::to_u32;
use super::graph::FrozenGraph;
use super::index::VectorIndex;
use super::shortlist::{row_of, score_of};
use super::walk::{self, Batch};

/// How the graph is built.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GraphParams {
    /// Links that insertion keeps per row and upper layer, twice as many in the lowest; 4 to 128.
    pub m: usize,
    /// Rows that insertion keeps in sight; 1 to 10,000.
    pub ef_construction: usize,
    /// Links per row of the frozen graph; 8 to 512.
    pub degree: usize,
    /// Whether to insert on all cores: faster, but two builds of the same rows differ.
    pub parallel: bool,
}

impl Default for GraphParams {
    fn default() -> Self {
        Self { m: 16, ef_construction: 200, degree: 64, parallel: false }
    }
}

impl GraphParams {
    /// What of it cannot be used.
    #[must_use]
    pub fn problems(&self) -> Problems {
        let Self { m, ef_construction, degree, parallel: _ } = *self;
        let mut problems = Problems::default();
        problems.within("m", m, 4..=128);
        problems.within("ef_construction", ef_construction, 1..=10_000);
        problems.within("degree", degree, MIN_DEGREE..=512);
        problems
    }

    /// Links per row of the frozen graph, at most.
    pub(super) fn links_per_row(&self) -> usize {
        self.degree.max(MIN_DEGREE)
    }
}

/// Layers that `hnsw_rs` may use: its own limit.
const MAX_LAYERS: usize = 16;

/// Rows that the walk to a row's neighbours keeps in sight; 60 led to a recall lower by .001.
const NEIGHBOURS_EF: usize = 120;

/// Links of a row for each that diversity chose, at most.
///
/// A row that has near ones in many directions lies where distances tell little, and a walk needs many ways; elsewhere more links only cost time.
const LINKS_PER_CHOSEN: usize = 2;

/// Of the first links of a row this many lead back: without them some rows cannot be reached.
const BACK_LINKS: usize = 6;

/// The fewest links per row that leave room for those that lead back.
const MIN_DEGREE: usize = 8;

/// Entries per square root of rows, so that finding the nearest entries stays a small part of a walk.
const ENTRIES_PER_ROOT: usize = 4;

/// Distances between rows, by their codes.
struct RowDistance<'i>(&'i VectorIndex);

impl RowDistance<'_> {
    fn between(&self, left: u32, right: u32) -> f32 {
        let ((left, left_scale), (right, right_scale)) = (self.0.codes(left), self.0.codes(right));
        let mut dot = [0];
        self.0.kernel.dots(left, right, &mut dot);
        distance(dot[0] as f32 * left_scale * right_scale)
    }
}

/// `hnsw_rs` keeps row numbers instead of vectors, so a build holds no second copy of them.
impl Distance<u32> for RowDistance<'_> {
    fn eval(&self, left: &[u32], right: &[u32]) -> f32 {
        match (left, right) {
            (&[left], &[right]) => self.between(left, right),
            // Only rows are inserted.
            _ => 0.0,
        }
    }
}

/// The distance of two rows whose dot product is `score`; never negative, which `hnsw_rs` asserts.
const fn distance(score: f32) -> f32 {
    (1.0 - score).max(0.0)
}

/// Builds the graph of the living rows of `index`.
pub(super) fn build(index: &VectorIndex, params: &GraphParams) -> FrozenGraph {
    let degree = params.links_per_row();
    let (rows, copies) = distinct(index);
    let (near, levels) = insert(index, &rows, params);
    let entries = entries(&rows, &levels);
    let fingerprint = index.fingerprint(index.n_rows());
    let freeze = |mut lists: Vec<Vec<u32>>, degree, copies: Vec<[u32; 2]>| {
        let mut entries = entries.clone();
        lead_back(&rows, &mut lists, degree);
        reach_all(&rows, &lists, &mut entries);
        FrozenGraph::freeze(&lists, degree, entries, copies, index.n_live(), fingerprint)
    };
    let longest = near.iter().map(Vec::len).max().unwrap_or(0);
    let inserted = freeze(near, longest.max(degree), Vec::new());
    let selection = Selection { index, rows: &rows, n_links: degree - degree / 4 };
    let chosen = selection.with_incoming(&selection.among_found(&inserted));
    freeze(chosen, degree, copies)
}

/// The living rows without those that are coded as an earlier one is, ascending, and all others that are coded as one of them, as (that row, copy), ascending.
///
/// A text that stands in hundreds of notes would fill all lists near it with links between its copies, and cut off what lies behind.
/// Copies need not be alive: a note that has the text may own another of them after a restart.
fn distinct(index: &VectorIndex) -> (Vec<u32>, Vec<[u32; 2]>) {
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

/// The links and the level of every row, as `hnsw_rs` sees them.
fn insert(index: &VectorIndex, rows: &[u32], params: &GraphParams) -> (Vec<Vec<u32>>, Vec<u8>) {
    let mut near = vec![Vec::new(); index.n_rows()];
    let mut levels = vec![0; index.n_rows()];
    let Some((first, rest)) = rows.split_first() else { return (near, levels) };
    // Above 256 it ends the process, and a single link divides by zero.
    let m = params.m.clamp(4, 128);
    let hnsw =
        Hnsw::new(m, rows.len(), MAX_LAYERS, params.ef_construction.max(m), RowDistance(index));
    let point = |row| (std::slice::from_ref(row), *row as usize);
    // The first goes in alone: rows inserted before there is an entry point stay without links.
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
struct Selection<'i> {
    index: &'i VectorIndex,
    /// The rows that are linked, ascending.
    rows: &'i [u32],
    /// Links that a row gets, at most.
    n_links: usize,
}

impl Selection<'_> {
    /// Chooses for every row among its links in `graph` and what a walk through it finds nearby.
    fn among_found(&self, graph: &FrozenGraph) -> Vec<Vec<u32>> {
        self.for_each_row(|row| {
            let (lanes, _) = self.index.codes(row);
            let found = walk::nearest(self.index, graph, lanes, NEIGHBOURS_EF);
            found.into_iter().map(row_of).chain(graph.links(row)).collect()
        })
    }

    /// Chooses for every row among its links and the rows that link to it.
    fn with_incoming(&self, lists: &[Vec<u32>]) -> Vec<Vec<u32>> {
        let incoming = self.incoming(lists);
        self.for_each_row(|row| [lists[row as usize].as_slice(), &incoming[row as usize]].concat())
    }

    /// For every row the rows that link to it, ascending.
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
            lists[row as usize] = self.spread(row, candidates(row));
        }
        lists
    }

    /// The nearest of `candidates` to which no chosen one is nearer than `row` is, nearest first; then as many of the nearest others, where there is room.
    fn spread(&self, row: u32, mut candidates: Vec<u32>) -> Vec<u32> {
        candidates.sort_unstable();
        candidates.dedup();
        let candidates = candidates.into_iter().filter(|&other| other != row);
        let (lanes, scale) = self.index.codes(row);
        let mut ranks: Vec<u64> = Batch::new(self.index, lanes).ranks(candidates).collect();
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
        let room = self.n_links.min(LINKS_PER_CHOSEN * chosen.len()) - chosen.len();
        chosen.extend(others.into_iter().take(room));
        chosen
    }
}

/// Makes the first links of every row lead back, as far as `degree` leaves room.
fn lead_back(rows: &[u32], lists: &mut [Vec<u32>], degree: usize) {
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

/// The rows of the lowest level that has few enough of them, ascending; of the highest there is, the first.
fn entries(rows: &[u32], levels: &[u8]) -> Vec<u32> {
    let limit = rows.len().isqrt() * ENTRIES_PER_ROOT;
    let at_least =
        |level: u8| rows.iter().copied().filter(move |&row| levels[row as usize] >= level);
    let highest = rows.iter().map(|&row| levels[row as usize]).max().unwrap_or(0);
    let level = (0..=highest).find(|&level| at_least(level).count() <= limit).unwrap_or(highest);
    at_least(level).take(limit).collect()
}

/// Adds an entry for every part of the graph that no other entry leads to.
fn reach_all(rows: &[u32], lists: &[Vec<u32>], entries: &mut Vec<u32>) {
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
    fn every_row_is_reached_however_the_links_lie() {
        let lists = [vec![1], vec![0], vec![0], vec![4], vec![], vec![5]];
        let mut entries = vec![1];
        reach_all(&[0, 1, 2, 3, 4], &lists, &mut entries);
        assert_eq!(entries, [1, 2, 3]);
    }

    #[test]
    fn the_nearest_refused_follow_those_that_diversity_chose() {
        // Seen from the first row the second stands before the next three; the last lies on the other side.
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
            let selection = Selection { index: &index, rows: &[], n_links };
            assert_eq!(selection.spread(0, vec![4, 3, 0, 5, 1, 2, 1]), expected, "{n_links}");
        }
    }

    #[test]
    fn entries_are_the_fewest_levels_allow() {
        let levels = [0, 2, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let rows: Vec<u32> = (0..25).collect();
        assert_eq!(entries(&rows, &levels), [1, 3, 6]);
        assert_eq!(entries(&rows[..4], &[0; 25]), [0, 1, 2, 3]);
        assert_eq!(entries(&rows, &[0; 25]).len(), 20);
        assert!(entries(&[], &[]).is_empty());
    }
}
