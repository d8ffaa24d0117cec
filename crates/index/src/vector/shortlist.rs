//! Candidates for the best rows, by approximate scores.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Number of rows scored between prefetching a row and reading it.
const PREFETCH_DISTANCE: usize = 2;

/// Passes `items` through; calls `fetch` for each some items ahead.
pub(super) fn with_prefetch<T>(
    items: impl Iterator<Item = T> + Clone,
    fetch: impl Fn(T),
) -> impl Iterator<Item = T> {
    let mut ahead = items.clone().skip(PREFETCH_DISTANCE);
    items.inspect(move |_| {
        if let Some(item) = ahead.next() {
            fetch(item);
        }
    })
}

/// Collects rows with approximate scores, and drops those that cannot be among the best `k`.
///
/// A row is dropped only if `k` others certainly score higher, so exact scores of the rest give the exact best `k`.
#[derive(Debug)]
pub(super) struct Shortlist {
    k: usize,
    /// Lower bounds, the `k` greatest among them; fewer than twice as many.
    lower: Vec<u32>,
    /// Score that at least `k` rows reach.
    floor: f32,
    candidates: Vec<BoundedRow>,
}

#[derive(Clone, Copy, Debug)]
struct BoundedRow {
    /// Upper bound of the score.
    upper: f32,
    row: u32,
}

impl Shortlist {
    /// Creates an empty list for the best `k` of `n` rows; `k` must be at least one.
    pub(super) fn new(k: usize, n: usize) -> Self {
        // Capacity for most candidates, in any order of rows.
        let (lower, candidates) = (Vec::with_capacity(2 * k), Vec::with_capacity(n.min(8 * k)));
        Self { k, lower, floor: f32::NEG_INFINITY, candidates }
    }

    /// Returns the number of requested rows.
    pub(super) const fn k(&self) -> usize {
        self.k
    }

    /// Returns the score below which rows need not be added.
    pub(super) const fn floor(&self) -> f32 {
        self.floor
    }

    /// Adds `row`, whose score is within `bound` of `score`.
    pub(super) fn add(&mut self, row: u32, score: f32, bound: f32) {
        self.candidates.push(BoundedRow { upper: score + bound, row });
        let lower = score - bound;
        if lower <= self.floor {
            return;
        }
        self.lower.push(ordered(lower));
        // The list grows to twice its size before the lesser half is cut, so that the amortized cost is constant.
        if self.lower.len() == 2 * self.k {
            self.cut();
        }
    }

    /// Drops all lower bounds except the `k` greatest, and raises the floor to the least of these.
    pub(super) fn cut(&mut self) {
        if self.lower.len() >= self.k {
            let by_most = |left: &u32, right: &u32| right.cmp(left);
            let (_, least, _) = self.lower.select_nth_unstable_by(self.k - 1, by_most);
            self.floor = unordered(*least);
            self.lower.truncate(self.k);
        }
    }

    /// Returns the best `k` rows by `score`, best first, ties by `tie` and then by the lower row; calls `fetch` for each row some time before.
    pub(super) fn best(
        mut self,
        fetch: impl Fn(u32),
        score: impl Fn(u32) -> f32,
        tie: impl Fn(u32, u32) -> Ordering,
    ) -> Vec<(u32, f32)> {
        self.cut();
        self.candidates.retain(|candidate| candidate.upper >= self.floor);
        self.candidates.sort_unstable_by(|left, right| {
            right.upper.total_cmp(&left.upper).then(left.row.cmp(&right.row))
        });
        // Min-heap: the lowest score on top, among equals the highest row.
        let mut best: BinaryHeap<Reverse<u64>> = BinaryHeap::with_capacity(self.k + 1);
        // Rows that did not fit but may have the same score as the last one that does.
        let mut tied: Vec<u64> = Vec::new();
        let candidates = self.candidates.iter().copied();
        for BoundedRow { upper, row } in with_prefetch(candidates, |candidate| fetch(candidate.row))
        {
            if best.len() == self.k
                && best.peek().is_some_and(|Reverse(least)| upper < score_of(*least))
            {
                break;
            }
            best.push(Reverse(rank(score(row), row)));
            if best.len() > self.k {
                tied.extend(best.pop().map(|Reverse(least)| least));
            }
        }
        let least = best.peek().map(|Reverse(least)| *least >> 32);
        tied.retain(|rank| Some(*rank >> 32) == least);
        let mut best: Vec<u64> = best.into_iter().map(|Reverse(rank)| rank).chain(tied).collect();
        best.sort_unstable_by(|left, right| {
            let by_score = (*right >> 32).cmp(&(*left >> 32));
            by_score.then_with(|| tie(row_of(*left), row_of(*right))).then_with(|| right.cmp(left))
        });
        best.truncate(self.k);
        best.into_iter().map(|rank| (row_of(rank), score_of(rank))).collect()
    }
}

/// Returns score and row as one number: greater is better; among equal scores, the lower row.
pub(super) fn rank(score: f32, row: u32) -> u64 {
    // −0 and 0 are equal scores.
    u64::from(ordered(score + 0.0)) << 32 | u64::from(!row)
}

/// Returns the row of a [`rank`].
#[expect(clippy::cast_possible_truncation, reason = "the row is the low half")]
pub(super) const fn row_of(rank: u64) -> u32 {
    !(rank as u32)
}

/// Returns the score of a [`rank`].
pub(super) const fn score_of(rank: u64) -> f32 {
    unordered((rank >> 32) as u32)
}

/// Returns the bits of `value` such that they sort as floats do (`total_cmp`).
const fn ordered(value: f32) -> u32 {
    let bits = value.to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

/// Returns the float of [`ordered`].
const fn unordered(bits: u32) -> f32 {
    f32::from_bits(if bits >> 31 == 1 { bits & !(1 << 31) } else { !bits })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ranks_order_by_score_then_row() {
        let ranks = [(-1.0, 0), (-0.5, 9), (-0.0, 3), (0.0, 2), (0.25, 7), (1.0, 4), (1.0, 1)];
        let ranks = ranks.map(|(score, row)| rank(score, row));
        assert!(ranks.is_sorted(), "{ranks:?}");
        assert_eq!(ranks.map(row_of), [0, 9, 3, 2, 7, 4, 1]);
        let scores = [-1.0_f32, -0.5, 0.0, 0.0, 0.25, 1.0, 1.0];
        assert_eq!(ranks.map(score_of).map(f32::to_bits), scores.map(f32::to_bits));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn shortlist_keeps_the_exact_best_rows(
            rows in prop::collection::vec((-20_i8..20, -1.0_f32..1.0), 1..200),
            bound in 0.0_f32..8.0,
            k in 1_usize..20,
            modulus in 1_u32..9,
        ) {
            let scores: Vec<f32> = rows.iter().map(|&(score, _)| f32::from(score)).collect();
            let mut list = Shortlist::new(k, rows.len());
            for (row, (score, error)) in (0..).zip(&rows) {
                let known = f32::from(*score) + error * bound * 0.99;
                if known + bound >= list.floor() {
                    list.add(row, known, bound);
                }
            }
            let tie = |left: u32, right: u32| (left % modulus).cmp(&(right % modulus));
            let mut expected: Vec<(u32, f32)> = (0..).zip(scores.iter().copied()).collect();
            expected.sort_by(|left, right| {
                let by_score = right.1.total_cmp(&left.1);
                by_score.then(tie(left.0, right.0)).then(left.0.cmp(&right.0))
            });
            expected.truncate(k);
            prop_assert_eq!(list.best(|_| {}, |row| scores[row as usize], tie), expected);
        }
    }
}
