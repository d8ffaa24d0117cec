//! Which rows can still be among the best, known from their codes alone.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Rows that are scored between asking for the memory of one and reading it.
const AHEAD: usize = 2;

/// `items` as they are; `fetch` is told of each some time before it comes.
pub(super) fn fetched<T>(
    items: impl Iterator<Item = T> + Clone,
    fetch: impl Fn(T),
) -> impl Iterator<Item = T> {
    let mut ahead = items.clone().skip(AHEAD);
    items.inspect(move |_| {
        if let Some(item) = ahead.next() {
            fetch(item);
        }
    })
}

/// Collects rows whose score is known up to a bound, and forgets those that cannot be among the best `k`.
///
/// A row goes only when `k` others are certain to score higher, so scoring the rest exactly gives the exact best `k`.
#[derive(Debug)]
pub(super) struct Shortlist {
    k: usize,
    /// Lower bounds, the `k` greatest among them; fewer than twice as many.
    lower: Vec<u32>,
    /// What `k` rows reach at least.
    floor: f32,
    candidates: Vec<Candidate>,
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    /// What its score is at most.
    upper: f32,
    row: u32,
}

impl Shortlist {
    /// An empty list for the best `k` of `n` rows; `k` is at least one.
    pub(super) fn new(k: usize, n: usize) -> Self {
        // Room for most that come in, however rows are looked at.
        let (lower, candidates) = (Vec::with_capacity(2 * k), Vec::with_capacity(n.min(8 * k)));
        Self { k, lower, floor: f32::NEG_INFINITY, candidates }
    }

    /// How many rows are wanted.
    pub(super) const fn k(&self) -> usize {
        self.k
    }

    /// Rows whose upper bound is below this need not be offered.
    pub(super) const fn floor(&self) -> f32 {
        self.floor
    }

    /// Takes note of `row`, whose score lies within `bound` of `score`.
    pub(super) fn offer(&mut self, row: u32, score: f32, bound: f32) {
        self.candidates.push(Candidate { upper: score + bound, row });
        let lower = score - bound;
        if lower <= self.floor {
            return;
        }
        self.lower.push(ordered(lower));
        // Twice as many are let in before the lesser half is cut, so that each costs a constant on average.
        if self.lower.len() == 2 * self.k {
            self.cut();
        }
    }

    /// Forgets all lower bounds but the `k` greatest, and raises the floor to the least of these.
    pub(super) fn cut(&mut self) {
        if self.lower.len() >= self.k {
            let by_most = |left: &u32, right: &u32| right.cmp(left);
            let (_, least, _) = self.lower.select_nth_unstable_by(self.k - 1, by_most);
            self.floor = unordered(*least);
            self.lower.truncate(self.k);
        }
    }

    /// The best `k` rows by `score`, best first, ties by the lower row; `fetch` is told of a row some time before.
    pub(super) fn best(
        mut self,
        fetch: impl Fn(u32),
        score: impl Fn(u32) -> f32,
    ) -> Vec<(u32, f32)> {
        self.cut();
        self.candidates.retain(|candidate| candidate.upper >= self.floor);
        self.candidates.sort_unstable_by(|left, right| {
            right.upper.total_cmp(&left.upper).then(left.row.cmp(&right.row))
        });
        // Least on top: the lowest score, among equals the highest row.
        let mut best: BinaryHeap<Reverse<u64>> = BinaryHeap::with_capacity(self.k + 1);
        let candidates = self.candidates.iter().copied();
        for Candidate { upper, row } in fetched(candidates, |candidate| fetch(candidate.row)) {
            if best.len() == self.k
                && best.peek().is_some_and(|Reverse(least)| upper < score_of(*least))
            {
                break;
            }
            best.push(Reverse(rank(score(row), row)));
            if best.len() > self.k {
                best.pop();
            }
        }
        best.into_sorted_vec()
            .into_iter()
            .map(|Reverse(key)| (row_of(key), score_of(key)))
            .collect()
    }
}

/// Score and row as one number: greater is better, among equal scores the lower row.
pub(super) fn rank(score: f32, row: u32) -> u64 {
    // −0 and 0 are one score.
    u64::from(ordered(score + 0.0)) << 32 | u64::from(!row)
}

/// The row of a [`rank`].
#[expect(clippy::cast_possible_truncation, reason = "the row is the low half")]
pub(super) const fn row_of(rank: u64) -> u32 {
    !(rank as u32)
}

/// The score of a [`rank`].
pub(super) const fn score_of(rank: u64) -> f32 {
    unordered((rank >> 32) as u32)
}

/// The bits of `value` such that numbers order as floats do (`total_cmp`).
const fn ordered(value: f32) -> u32 {
    let bits = value.to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

/// The float of [`ordered`].
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
        fn nothing_that_belongs_to_the_best_is_lost(
            rows in prop::collection::vec((-20_i8..20, -1.0_f32..1.0), 1..200),
            bound in 0.0_f32..8.0,
            k in 1_usize..20,
        ) {
            let scores: Vec<f32> = rows.iter().map(|&(score, _)| f32::from(score)).collect();
            let mut list = Shortlist::new(k, rows.len());
            for (row, (score, error)) in (0..).zip(&rows) {
                let known = f32::from(*score) + error * bound * 0.99;
                if known + bound >= list.floor() {
                    list.offer(row, known, bound);
                }
            }
            let mut expected: Vec<(u32, f32)> = (0..).zip(scores.iter().copied()).collect();
            expected.sort_by(|left, right| right.1.total_cmp(&left.1).then(left.0.cmp(&right.0)));
            expected.truncate(k);
            prop_assert_eq!(list.best(|_| {}, |row| scores[row as usize]), expected);
        }
    }
}
