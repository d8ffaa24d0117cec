//! Weights that rank best on one half of the queries, to be tried on the other.

use crate::{Grades, Measures};

/// Signals of a candidate.
pub const N_SIGNALS: usize = 3;

/// Steps from 0 to 1 in which each weight is tried.
const N_STEPS: u32 = 20;

/// The candidates of one query, whatever the weights: each with its name and its signals.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidates {
    /// What is right.
    pub grades: Grades,
    /// In the order in which equal scores stand.
    pub candidates: Vec<(String, [f64; N_SIGNALS])>,
}

impl Candidates {
    /// The measures of the ranking by these weights.
    #[must_use]
    pub fn ranked(&self, weights: &[f64; N_SIGNALS]) -> Measures {
        let score = |signals: &[f64; N_SIGNALS]| -> f64 {
            signals.iter().zip(weights).map(|(signal, weight)| signal * weight).sum()
        };
        let mut order: Vec<(f64, &String)> =
            self.candidates.iter().map(|(name, signals)| (score(signals), name)).collect();
        // Stable, so equal scores stay in their order.
        order.sort_by(|a, b| b.0.total_cmp(&a.0));
        let ranking: Vec<String> = order.into_iter().map(|(_, name)| name.clone()).collect();
        Measures::of(&self.grades, &ranking)
    }
}

/// The queries at even and those at odd places.
#[must_use]
pub fn halves(queries: Vec<Candidates>) -> (Vec<Candidates>, Vec<Candidates>) {
    let (even, odd): (Vec<_>, Vec<_>) =
        (0_usize..).zip(queries).partition(|(at, _)| at.is_multiple_of(2));
    let bare = |half: Vec<(usize, Candidates)>| half.into_iter().map(|(_, query)| query).collect();
    (bare(even), bare(odd))
}

/// The measures of each query by these weights.
#[must_use]
pub fn measured(queries: &[Candidates], weights: &[f64; N_SIGNALS]) -> Vec<Measures> {
    queries.iter().map(|query| query.ranked(weights)).collect()
}

/// The weights, of those in steps of 0.05 that sum to 1 and of `usual`, with the greatest mean of `measure`; of equals those nearest to `usual`.
///
/// Cost: 231 rankings of each query.
#[must_use]
pub fn tuned(queries: &[Candidates], usual: &[f64; N_SIGNALS], measure: &str) -> [f64; N_SIGNALS] {
    let value = |weights: &[f64; N_SIGNALS]| {
        Measures::mean(&measured(queries, weights)).value(measure).unwrap_or(0.0)
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

/// All weights in steps that sum to 1, but for those in which nothing but the second signal, which answers no query, counts.
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
    fn weights_that_put_the_right_first_are_found() {
        let usual = [0.5, 0.0, 0.5];
        // Only the first signal tells them apart, and the third misleads a little.
        let queries = vec![query([0.6, 0.0, 0.0], [0.3, 0.0, 0.4]); 3];
        let weights = tuned(&queries, &usual, "MRR");
        let mean =
            |weights: &[f64; 3]| Measures::mean(&measured(&queries, weights)).value("MRR").unwrap();
        assert!((mean(&usual) - 0.5).abs() < 1e-12 && (mean(&weights) - 1.0).abs() < 1e-12);
        assert!(weights[0] > 0.55 && weights[0] < 0.7, "no farther than need be: {weights:?}");
    }

    #[test]
    fn where_nothing_helps_the_usual_stays() {
        let queries = vec![query([0.6, 0.1, 0.2], [0.3, 0.0, 0.1]); 3];
        let usual = [0.49, 0.02, 0.49];
        assert_eq!(tuned(&queries, &usual, "nDCG@10").map(f64::to_bits), usual.map(f64::to_bits));
        assert_eq!(tuned(&[], &usual, "nDCG@10").map(f64::to_bits), usual.map(f64::to_bits));
    }

    #[test]
    fn halves_share_nothing() {
        let named = |at: usize| Candidates {
            candidates: vec![(at.to_string(), [0.0; 3])],
            ..Candidates::default()
        };
        let (even, odd) = halves((0..5).map(named).collect());
        let names = |half: &[Candidates]| {
            half.iter().map(|query| query.candidates[0].0.clone()).collect::<Vec<_>>()
        };
        assert_eq!(
            (names(&even), names(&odd)),
            (vec!["0".into(), "2".into(), "4".into()], vec!["1".to_owned(), "3".into()])
        );
    }

    #[test]
    fn every_weight_of_the_grid_sums_to_one() {
        assert_eq!(grid().count(), 230);
        assert!(grid().all(|weights| (weights.iter().sum::<f64>() - 1.0).abs() < 1e-12));
    }
}
