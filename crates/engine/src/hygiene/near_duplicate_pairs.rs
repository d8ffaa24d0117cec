//! Pairs of sets that share most of their elements: exact set overlaps, with candidates from an inverted index.
//!
//! Elements in many sets are boilerplate. They produce no candidates, which bounds the cost, but count in the overlap of a pair.
//!
//! Source: Bayardo, Ma and Srikant, "Scaling up all pairs similarity search", 2007; the limit on frequent elements takes the place of their bounds on weights.

use std::collections::HashMap;

use weft_model::Stop;

use super::check_now_and_then;
use crate::EngineError;

/// Number of different sets from which on an element is boilerplate.
const MAX_SETS_OF_ELEMENT: usize = 32;

/// Maximum number of pairs.
const MAX_PAIRS: usize = 100_000;

/// Two sets that share most elements of the smaller one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OverlappingPair {
    /// Position of the first set, less than `b`.
    pub(super) a: usize,
    pub(super) b: usize,
    /// Number of common elements.
    pub(super) n_shared: usize,
}

/// The pairs found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OverlappingPairs {
    pub(super) pairs: Vec<OverlappingPair>,
    /// True if there are more pairs than are returned.
    pub(super) truncated: bool,
}

/// Returns the pairs of which the smaller set shares at least `min_share` of its elements with the other, by position.
///
/// Sets are ascending without repeats; empty ones are ignored. Equal sets form a pair with the first of them, and only the first forms pairs with others.
/// A pair that shares nothing but boilerplate is not found.
pub(super) fn overlapping_pairs(
    sets: &[&[u64]],
    min_share: f64,
    stop: &Stop,
) -> Result<OverlappingPairs, EngineError> {
    let mut found = OverlappingPairs::default();
    let mut first_of: HashMap<&[u64], usize> = HashMap::with_capacity(sets.len());
    let mut different: Vec<usize> = Vec::with_capacity(sets.len());
    for (at, set) in sets.iter().enumerate().filter(|(_, set)| !set.is_empty()) {
        let first = *first_of.entry(set).or_insert(at);
        if first == at {
            different.push(at);
        } else {
            found.add(OverlappingPair { a: first, b: at, n_shared: set.len() });
        }
    }
    stop.check()?;

    let mut postings: Vec<(u64, u32)> = Vec::new();
    for (at, place) in different.iter().zip(0_u32..) {
        postings.extend(sets[*at].iter().map(|element| (*element, place)));
    }
    stop.check()?;
    postings.sort_unstable();
    stop.check()?;
    // Ranges of postings that two or more sets share, by set, and the number of boilerplate elements of each set.
    let mut shared: Vec<Vec<(u32, u32)>> = vec![Vec::new(); different.len()];
    let mut n_common: Vec<usize> = vec![0; different.len()];
    let mut start = 0;
    while start < postings.len() {
        let n_sets = postings[start..]
            .iter()
            .take_while(|(element, _)| *element == postings[start].0)
            .count();
        let run = &postings[start..start + n_sets];
        if n_sets > MAX_SETS_OF_ELEMENT {
            run.iter().for_each(|(_, place)| n_common[*place as usize] += 1);
        } else if n_sets > 1
            && let (Ok(from), Ok(to)) = (u32::try_from(start), u32::try_from(start + n_sets))
        {
            run.iter().for_each(|(_, place)| shared[*place as usize].push((from, to)));
        }
        start += n_sets;
    }

    let mut counts: Vec<usize> = vec![0; different.len()];
    for (place, ranges) in shared.iter().enumerate() {
        check_now_and_then(stop, place)?;
        let mut touched: Vec<usize> = Vec::new();
        for (from, to) in ranges {
            for (_, other) in &postings[*from as usize..*to as usize] {
                let other = *other as usize;
                if other > place {
                    if counts[other] == 0 {
                        touched.push(other);
                    }
                    counts[other] += 1;
                }
            }
        }
        touched.sort_unstable();
        for other in touched {
            let n_counted = std::mem::take(&mut counts[other]);
            let [a, b] = [different[place], different[other]];
            let n_needed = needed(sets[a].len().min(sets[b].len()), min_share);
            let n_common = n_common[place].min(n_common[other]);
            if n_counted + n_common < n_needed {
                continue;
            }
            let n_shared = if n_common == 0 { n_counted } else { n_in_both(sets[a], sets[b]) };
            if n_shared >= n_needed {
                found.add(OverlappingPair { a, b, n_shared });
            }
        }
    }
    found.pairs.sort_unstable_by_key(|pair| (pair.a, pair.b));
    Ok(found)
}

impl OverlappingPairs {
    fn add(&mut self, pair: OverlappingPair) {
        if self.pairs.len() < MAX_PAIRS {
            self.pairs.push(pair);
        } else {
            self.truncated = true;
        }
    }
}

/// Returns the least number of elements that is at least `share` of `n`, and at least 1.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share of a length is a length"
)]
fn needed(n: usize, share: f64) -> usize {
    ((n as f64 * share - 1e-9).ceil() as usize).max(1)
}

/// Returns the number of elements in both of two ascending sets.
fn n_in_both(a: &[u64], b: &[u64]) -> usize {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    let mut n = 0;
    while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
        match x.cmp(y) {
            std::cmp::Ordering::Less => drop(a.next()),
            std::cmp::Ordering::Greater => drop(b.next()),
            std::cmp::Ordering::Equal => {
                n += 1;
                a.next();
                b.next();
            }
        }
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(sets: &[Vec<u64>], min_share: f64) -> Vec<(usize, usize, usize)> {
        let sets: Vec<&[u64]> = sets.iter().map(Vec::as_slice).collect();
        let found = overlapping_pairs(&sets, min_share, &Stop::default()).expect("not stopped");
        found.pairs.iter().map(|pair| (pair.a, pair.b, pair.n_shared)).collect()
    }

    #[test]
    fn overlap_counts_against_the_smaller_set() {
        let large: Vec<u64> = (0..100).collect();
        let part: Vec<u64> = (40..60).collect();
        let half: Vec<u64> = (90..110).collect();
        let sets = [large.clone(), part, half, (200..220).collect(), vec![], large];
        assert_eq!(pairs(&sets, 0.6), [(0, 1, 20), (0, 5, 100)]);
        assert_eq!(pairs(&sets, 0.5), [(0, 1, 20), (0, 2, 10), (0, 5, 100)]);
        assert_eq!(pairs(&sets, 1.0), [(0, 1, 20), (0, 5, 100)]);
    }

    #[test]
    fn boilerplate_alone_finds_no_pairs_but_counts_in_them() {
        let boilerplate = 0..10_u64;
        let mut sets: Vec<Vec<u64>> = (0..50_u64)
            .map(|n| boilerplate.clone().chain(1000 * (n + 1)..1000 * (n + 1) + 10).collect())
            .collect();
        assert_eq!(pairs(&sets, 0.5), []);
        let copied: Vec<u64> = boilerplate.chain(1000..1006).chain(90_000..90_004).collect();
        sets.push(copied);
        assert_eq!(pairs(&sets, 0.8), [(0, 50, 16)]);
        assert_eq!(pairs(&sets, 0.81), []);
    }

    #[test]
    fn pairs_equal_a_comparison_of_all() {
        let mut random = 1_u64;
        let mut next = |most: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) % most
        };
        for _ in 0..200 {
            let sets: Vec<Vec<u64>> = (0..12)
                .map(|_| {
                    let n = next(15);
                    let mut set: Vec<u64> = (0..n).map(|_| next(25)).collect();
                    set.sort_unstable();
                    set.dedup();
                    set
                })
                .collect();
            let mut expected = Vec::new();
            for (a, x) in sets.iter().enumerate() {
                for (b, y) in sets.iter().enumerate().skip(a + 1) {
                    let first = |set: &Vec<u64>| sets.iter().position(|other| other == set);
                    let is_first = first(x) == Some(a) && (x == y || first(y) == Some(b));
                    let n_shared = x.iter().filter(|element| y.contains(element)).count();
                    let n_least = x.len().min(y.len());
                    if is_first && n_least > 0 && n_shared * 10 >= n_least * 7 {
                        expected.push((a, b, n_shared));
                    }
                }
            }
            assert_eq!(pairs(&sets, 0.7), expected, "{sets:?}");
        }
    }
}
