//! Best-first search through a frozen graph, on codes.

use super::frozen_graph::FrozenGraph;
use super::row_block::RowCodes;
use super::shortlist::{rank, row_of};
use super::simd::{self, Lane};

/// Entry points of a walk: the nearest ones, so that it need not cross between clusters.
const N_STARTS: usize = 8;

/// Returns approximately the `ef` rows of `graph` nearest to `query`, as ranks by integer product times row scale, best first.
///
/// The walk passes through deleted rows and returns them too.
/// Deterministic. `O(ef · links)` dot products.
pub(super) fn nearest(
    codes: RowCodes<'_>,
    graph: &FrozenGraph,
    query: &[Lane],
    ef: usize,
) -> Vec<u64> {
    let mut beam = Beam { steps: Vec::with_capacity(ef), ef };
    let mut seen = vec![0_u64; graph.n_rows().div_ceil(64)];
    let mut see = |row: u32| {
        let (word, bit) = (&mut seen[row as usize / 64], 1 << (row % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    };
    let mut batch = Batch::new(codes, query);
    let mut starts = batch.ranks(graph.entries().iter().copied()).collect::<Vec<_>>();
    starts.sort_unstable_by(|left, right| right.cmp(left));
    for &start in starts.iter().take(N_STARTS) {
        see(row_of(start));
        beam.insert(start);
    }
    let mut at = 0;
    while let Some(row) = beam.take(&mut at) {
        // The likely next step, unless this one finds a nearer row.
        if let Some(&next) = beam.steps.get(at + 1) {
            graph.prefetch(row_of(rank_of(next)));
        }
        for rank in batch.ranks(graph.links(row).filter(|&row| see(row))) {
            at = at.min(beam.insert(rank));
        }
    }
    beam.steps.into_iter().map(rank_of).collect()
}

/// The best `ef` rows found so far, best first, each with a flag: whether its links are still to be followed.
struct Beam {
    /// Ranks with the flag as lowest bit.
    steps: Vec<u64>,
    ef: usize,
}

impl Beam {
    /// Inserts a new row and returns its position; `ef` if it is too far away.
    fn insert(&mut self, rank: u64) -> usize {
        let step = step_of(rank);
        if self.steps.len() == self.ef {
            if self.steps.last().is_none_or(|&worst| step < worst) {
                return self.ef;
            }
            self.steps.pop();
        }
        let place = self.steps.partition_point(|&better| better > step);
        self.steps.insert(place, step);
        place
    }

    /// Returns the best row whose links were not followed, searching from position `at`, which advances to it.
    fn take(&mut self, at: &mut usize) -> Option<u32> {
        let is_new = self.steps.get(*at..)?.iter().position(|step| step & 1 == 1)?;
        *at += is_new;
        let step = &mut self.steps[*at];
        *step &= !1;
        Some(row_of(rank_of(*step)))
    }
}

/// Returns a rank with its flag set: rows have 31 bits, so the inverted row's highest bit is always set and makes space for the flag.
const fn step_of(rank: u64) -> u64 {
    rank >> 32 << 32 | (rank << 1 & 0xffff_ffff) | 1
}

/// Returns the rank of [`step_of`], flagged or not.
const fn rank_of(step: u64) -> u64 {
    step >> 32 << 32 | (step & 0xffff_ffff) >> 1 | 1 << 31
}

/// Scores rows in small batches: the memory of all is prefetched before the first is read.
pub(super) struct Batch<'i> {
    codes: RowCodes<'i>,
    query: &'i [Lane],
    rows: Vec<(u32, f32)>,
    lanes: Vec<&'i [Lane]>,
    dots: Vec<i32>,
}

impl<'i> Batch<'i> {
    /// Creates a batch for `query`.
    pub(super) const fn new(codes: RowCodes<'i>, query: &'i [Lane]) -> Self {
        Self { codes, query, rows: Vec::new(), lanes: Vec::new(), dots: Vec::new() }
    }

    /// Returns the rank of each of `rows`, in their order, by integer product times row scale.
    pub(super) fn ranks(&mut self, rows: impl Iterator<Item = u32>) -> impl Iterator<Item = u64> {
        self.rows.clear();
        self.lanes.clear();
        for row in rows {
            let (lanes, scale) = self.codes.row(row);
            simd::prefetch(lanes);
            self.rows.push((row, scale));
            self.lanes.push(lanes);
        }
        self.dots.resize(self.rows.len(), 0);
        self.codes.kernel.dots_of(self.query, &self.lanes, &mut self.dots);
        self.rows.iter().zip(&self.dots).map(|(&(row, scale), &dot)| rank(dot as f32 * scale, row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flag_changes_neither_rank_nor_order() {
        let ranks = [(-1.0, 0), (0.5, u32::MAX >> 1), (0.5, 7), (0.5, 0), (0.75, 1)];
        let ranks = ranks.map(|(score, row)| rank(score, row));
        let steps = ranks.map(step_of);
        assert!(ranks.is_sorted() && steps.is_sorted());
        assert_eq!(steps.map(rank_of), ranks);
        assert_eq!(steps.map(|step| rank_of(step & !1)), ranks);
    }

    #[test]
    fn beam_keeps_the_best_rows_and_returns_each_once() {
        let mut beam = Beam { steps: Vec::new(), ef: 3 };
        let scores = [0.1_f32, 0.9, 0.5, 0.2, 0.7];
        let places: Vec<usize> =
            (0..).zip(scores).map(|(row, score)| beam.insert(rank(score, row))).collect();
        assert_eq!(places, [0, 0, 1, 2, 1]);
        let (mut at, mut taken) = (0, Vec::new());
        while let Some(row) = beam.take(&mut at) {
            taken.push(row);
        }
        assert_eq!(taken, [1, 4, 2]);
    }
}
