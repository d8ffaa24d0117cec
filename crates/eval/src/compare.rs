//! Comparison of two rankings of the same queries: the difference and its confidence interval.

use serde::Serialize;

use crate::Measures;
use crate::seeded_random::SeededRandom;

/// Number of bootstrap samples.
const N_DRAWS: usize = 2000;

/// Share of the samples outside the interval on each side.
const TAIL: f64 = 0.025;

/// Comparison of one ranking with another by one measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairedComparison {
    /// Mean difference; above 0 if the first ranking is better.
    pub difference: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end of the 95 % interval.
    pub high: f64,
    /// Number of queries for which the first ranking is better.
    pub n_better: usize,
    /// Number of queries for which the first ranking is worse.
    pub n_worse: usize,
}

/// A mean with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Mean {
    /// The mean.
    pub mean: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end of the 95 % interval.
    pub high: f64,
}

impl Mean {
    /// Computes the mean of one value per query; zeros without values.
    ///
    /// The interval is a bootstrap: queries are drawn with replacement.
    /// The samples depend on the number of queries only, so equal inputs give equal intervals. Source: Efron and Tibshirani, 1993; Sakai, 2006.
    #[must_use]
    pub fn of(values: &[f64]) -> Self {
        let n = values.len();
        let mean = |sum: f64| sum / n.max(1) as f64;
        let mut draw = SeededRandom::default();
        let mut shuffled = || mean((0..n).map(|_| values[draw.below(n)]).sum());
        let mut means: Vec<f64> = (0..N_DRAWS).map(|_| shuffled()).collect();
        means.sort_unstable_by(f64::total_cmp);
        Self {
            mean: mean(values.iter().sum()),
            low: quantile(&means, TAIL),
            high: quantile(&means, 1.0 - TAIL),
        }
    }
}

/// Compares measures of the same queries in the same order; zeros without queries.
///
/// The interval is that of [`Mean::of`] the differences, so both rankings of a query are drawn together.
#[must_use]
pub fn compare(one: &[Measures], other: &[Measures], measure: &str) -> PairedComparison {
    let values = |all: &[Measures]| -> Vec<f64> {
        all.iter().map(|measures| measures.value(measure).unwrap_or(0.0)).collect()
    };
    PairedComparison::of(&values(one), &values(other))
}

impl PairedComparison {
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
    reason = "it is at most the length"
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
    fn difference_has_a_direction_and_an_interval() {
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
    fn equal_rankings_do_not_differ() {
        let same = vec![ranked(true); 5];
        let zero =
            PairedComparison { difference: 0.0, low: 0.0, high: 0.0, n_better: 0, n_worse: 0 };
        assert_eq!(compare(&same, &same, "nDCG@10"), zero);
        assert_eq!(compare(&[], &[], "nDCG@10"), zero);
    }
}
