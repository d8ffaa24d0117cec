//! Two rankings of the same queries: by how much one is better, and how sure that is.

use serde::Serialize;

use crate::Measures;
use crate::draw::Draw;

/// How often queries are drawn anew.
const N_DRAWS: usize = 2000;

/// The share of draws that an interval leaves out on each side.
const TAIL: f64 = 0.025;

/// One ranking against another, by one measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// The mean difference; above 0 where the one is better than the other.
    pub difference: f64,
    /// The lower end of its 95 % interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Queries for which the one is better.
    pub n_better: usize,
    /// Queries for which it is worse.
    pub n_worse: usize,
}

/// A mean, and how far it may be off.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Mean {
    /// The mean.
    pub mean: f64,
    /// The lower end of its 95 % interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Mean {
    /// The mean of values, one for each query. Zeros for none.
    ///
    /// The interval is a bootstrap: queries are drawn with replacement.
    /// The draws are the same for equal numbers of queries, so equal inputs give equal intervals. Source: Efron and Tibshirani, 1993; Sakai, 2006.
    #[must_use]
    pub fn of(values: &[f64]) -> Self {
        let n = values.len();
        let mean = |sum: f64| sum / n.max(1) as f64;
        let mut draw = Draw::default();
        let mut drawn = || mean((0..n).map(|_| values[draw.below(n)]).sum());
        let mut means: Vec<f64> = (0..N_DRAWS).map(|_| drawn()).collect();
        means.sort_unstable_by(f64::total_cmp);
        Self {
            mean: mean(values.iter().sum()),
            low: quantile(&means, TAIL),
            high: quantile(&means, 1.0 - TAIL),
        }
    }
}

/// Compares measures of the same queries in the same order. Zeros without queries.
///
/// The interval is that of [`Mean::of`] the differences, so both rankings of a query are drawn together.
#[must_use]
pub fn compare(one: &[Measures], other: &[Measures], measure: &str) -> Comparison {
    let values = |all: &[Measures]| -> Vec<f64> {
        all.iter().map(|measures| measures.value(measure).unwrap_or(0.0)).collect()
    };
    Comparison::of(&values(one), &values(other))
}

impl Comparison {
    /// Compares values of the same queries in the same order, as [`compare`] does.
    #[must_use]
    pub fn of(one: &[f64], other: &[f64]) -> Self {
        let differences: Vec<f64> = one.iter().zip(other).map(|(one, other)| one - other).collect();
        let Mean { mean, low, high } = Mean::of(&differences);
        Self {
            difference: mean,
            low,
            high,
            n_better: differences.iter().filter(|difference| **difference > 0.0).count(),
            n_worse: differences.iter().filter(|difference| **difference < 0.0).count(),
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of the length"
)]
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = ((sorted.len() as f64 - 1.0) * share).round() as usize;
    sorted.get(at).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Grades;

    fn ranked(first: bool) -> Measures {
        let ranking = if first { ["a", "b"] } else { ["b", "a"] };
        Measures::of(&Grades::from([("a".into(), 1)]), &ranking.map(str::to_owned))
    }

    #[test]
    fn differences_have_a_direction_and_an_interval() {
        let one: Vec<Measures> = (0..40).map(|at| ranked(at % 4 != 0)).collect();
        let other: Vec<Measures> = (0..40).map(|at| ranked(at % 2 == 0)).collect();
        let found = compare(&one, &other, "MRR");
        // A quarter of the queries is worse by a half, half of them better by a half.
        assert!((found.difference - 0.125).abs() < 1e-12, "{found:?}");
        assert_eq!((found.n_better, found.n_worse), (20, 10));
        assert!(found.low < found.difference && found.difference < found.high);
        assert!((0.1..0.4).contains(&(found.high - found.low)), "{found:?}");
        assert_eq!(found, compare(&one, &other, "MRR"));
    }

    #[test]
    fn equals_do_not_differ() {
        let same = vec![ranked(true); 5];
        let zero = Comparison { difference: 0.0, low: 0.0, high: 0.0, n_better: 0, n_worse: 0 };
        assert_eq!(compare(&same, &same, "nDCG@10"), zero);
        assert_eq!(compare(&[], &[], "nDCG@10"), zero);
    }
}
