//! Tuning of weights on one half of the queries, for evaluation on the other half.

use crate::{Grades, Measures};

/// Number of signals of a candidate.
pub const N_SIGNALS: usize = 3;

/// Number of steps between 0 and 1 for each weight.
const N_STEPS: u32 = 20;

/// The candidates of one query, independent of the weights: each with its name and signals.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidates {
    /// Grades of the documents.
    pub grades: Grades,
    /// Candidates in the order of ties.
    pub candidates: Vec<(String, [f64; N_SIGNALS])>,
}

impl Candidates {
    /// Returns the measures of the ranking by these weights.
    #[must_use]
    pub fn ranked(&self, weights: &[f64; N_SIGNALS]) -> Measures {
        let score = |signals: &[f64; N_SIGNALS]| -> f64 {
            signals.iter().zip(weights).map(|(signal, weight)| signal * weight).sum()
        };
        let mut order: Vec<(f64, &String)> =
            self.candidates.iter().map(|(name, signals)| (score(signals), name)).collect();
        // Stable, so ties keep their order.
        order.sort_by(|a, b| b.0.total_cmp(&a.0));
        let ranking: Vec<String> = order.into_iter().map(|(_, name)| name.clone()).collect();
        Measures::of(&self.grades, &ranking)
    }
}

/// Splits queries into those at even and those at odd positions.
#[must_use]
pub fn split_halves(queries: Vec<Candidates>) -> (Vec<Candidates>, Vec<Candidates>) {
    let (even, odd): (Vec<_>, Vec<_>) =
        (0_usize..).zip(queries).partition(|(at, _)| at.is_multiple_of(2));
    let bare = |half: Vec<(usize, Candidates)>| half.into_iter().map(|(_, query)| query).collect();
    (bare(even), bare(odd))
}

/// Returns the measures of each query with these weights.
#[must_use]
pub fn measure_all(queries: &[Candidates], weights: &[f64; N_SIGNALS]) -> Vec<Measures> {
    queries.iter().map(|query| query.ranked(weights)).collect()
}

/// Returns the weights with the greatest mean of `measure`, among `usual` and all weights in steps of 0.05 that sum to 1; of equals, those closest to `usual`.
///
/// Cost: 231 rankings of each query.
#[must_use]
pub fn tuned(queries: &[Candidates], usual: &[f64; N_SIGNALS], measure: &str) -> [f64; N_SIGNALS] {
    let value = |weights: &[f64; N_SIGNALS]| {
        Measures::mean(&measure_all(queries, weights)).value(measure).unwrap_or(0.0)
    };
    let distance = |weights: &[f64; N_SIGNALS]| -> f64 {
        weights.iter().zip(usual).map(|(a, b)| (a - b).abs()).sum()
    };
    let mut best = (value(usual), 0.0, *usual);
    for weights in grid() {
        let (value, distance) = (value(&weights), distance(&weights));
        if value > best.0 || value >= best.0 && distance < best.1 {
            best = (value, distance, weights);
        }
    }
    best.2
}

/// Returns all weights in steps that sum to 1, except those with weight on the second signal only, which depends on no query.
fn grid() -> impl Iterator<Item = [f64; N_SIGNALS]> {
    let share = |n: u32| f64::from(n) / f64::from(N_STEPS);
    (0..=N_STEPS)
        .flat_map(move |a| {
            (0..=N_STEPS - a).map(move |b| [share(a), share(b), share(N_STEPS - a - b)])
        })
        .filter(|[similarity, _, activation]| similarity + activation > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(right: [f64; 3], wrong: [f64; 3]) -> Candidates {
        let grades = Grades::from([("right".to_owned(), 1)]);
        Candidates { grades, candidates: vec![("wrong".into(), wrong), ("right".into(), right)] }
    }

    #[test]
    fn tuning_finds_weights_that_rank_the_relevant_first() {
        let usual = [0.5, 0.0, 0.5];
        // Only the first signal separates them, and the third is slightly misleading.
        let queries = vec![query([0.6, 0.0, 0.0], [0.3, 0.0, 0.4]); 3];
        let weights = tuned(&queries, &usual, "MRR");
        let mean = |weights: &[f64; 3]| {
            Measures::mean(&measure_all(&queries, weights)).value("MRR").unwrap()
        };
        assert!((mean(&usual) - 0.5).abs() < 1e-12 && (mean(&weights) - 1.0).abs() < 1e-12);
        assert!(
            weights[0] > 0.55 && weights[0] < 0.7,
            "as close to the usual weights as possible: {weights:?}"
        );
    }

    #[test]
    fn usual_weights_stay_if_nothing_improves() {
        let queries = vec![query([0.6, 0.1, 0.2], [0.3, 0.0, 0.1]); 3];
        let usual = [0.49, 0.02, 0.49];
        assert_eq!(tuned(&queries, &usual, "nDCG@10").map(f64::to_bits), usual.map(f64::to_bits));
        assert_eq!(tuned(&[], &usual, "nDCG@10").map(f64::to_bits), usual.map(f64::to_bits));
    }

    #[test]
    fn halves_are_disjoint() {
        let named = |at: usize| Candidates {
            candidates: vec![(at.to_string(), [0.0; 3])],
            ..Candidates::default()
        };
        let (even, odd) = split_halves((0..5).map(named).collect());
        let names = |half: &[Candidates]| {
            half.iter().map(|query| query.candidates[0].0.clone()).collect::<Vec<_>>()
        };
        assert_eq!(
            (names(&even), names(&odd)),
            (vec!["0".into(), "2".into(), "4".into()], vec!["1".to_owned(), "3".into()])
        );
    }

    #[test]
    fn grid_weights_sum_to_one() {
        assert_eq!(grid().count(), 230);
        assert!(grid().all(|weights| (weights.iter().sum::<f64>() - 1.0).abs() < 1e-12));
    }
}
