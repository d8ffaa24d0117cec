//! Measures of one ranking against the judgments of one query.

use std::collections::HashSet;

use crate::Grades;

/// Cutoffs of recall.
const CUTS: [usize; 3] = [2, 5, 10];

/// Cutoff of nDCG.
const NDCG_CUT: usize = 10;

/// Names of the measures, in the order of [`Measures::iter`].
///
/// - `recall@k`: share of the relevant documents among the first k.
/// - `all@k`: 1 if all relevant documents are among the first k.
/// - `nDCG@10`: gain 2^grade − 1, discounted by log₂ of the rank plus 1, against the best possible order. Source: Järvelin and Kekäläinen, 2002; Burges et al., 2005.
/// - `MRR`: 1 / rank of the first relevant document.
pub const MEASURES: [&str; 8] =
    ["recall@2", "recall@5", "recall@10", "all@2", "all@5", "all@10", "nDCG@10", "MRR"];

/// Measures of one ranking, or means over several; each 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measures([f64; MEASURES.len()]);

impl Measures {
    /// Measures a ranking, best first. A repeated document counts at its first rank.
    #[must_use]
    pub fn of(grades: &Grades, ranking: &[String]) -> Self {
        let mut seen = HashSet::new();
        let found: Vec<u32> = ranking
            .iter()
            .filter(|document| seen.insert(document.as_str()))
            .map(|document| grades.get(document).copied().unwrap_or(0))
            .collect();
        let n_right = grades.values().filter(|grade| **grade > 0).count();
        let mut measures = Self::default();
        if n_right == 0 {
            return measures;
        }
        let (recalls, rest) = measures.0.split_at_mut(CUTS.len());
        for (at, cut) in CUTS.into_iter().enumerate() {
            let n_found = found.iter().take(cut).filter(|grade| **grade > 0).count();
            recalls[at] = n_found as f64 / n_right as f64;
            rest[at] = if n_found == n_right { 1.0 } else { 0.0 };
        }
        let mut best: Vec<u32> = grades.values().copied().collect();
        best.sort_unstable_by(|a, b| b.cmp(a));
        rest[CUTS.len()] = gain(&found) / gain(&best);
        let first = found.iter().position(|grade| *grade > 0);
        rest[CUTS.len() + 1] = first.map_or(0.0, |rank| 1.0 / (rank + 1) as f64);
        measures
    }

    /// Returns the means of measures; zeros without any.
    #[must_use]
    pub fn mean(all: &[Self]) -> Self {
        let mut mean = Self::default();
        for (at, value) in mean.0.iter_mut().enumerate() {
            *value = all.iter().map(|one| one.0[at]).sum::<f64>() / (all.len().max(1)) as f64;
        }
        mean
    }

    /// Returns the measure of that name.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<f64> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Returns each measure with its name, in the order of [`MEASURES`].
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, f64)> {
        MEASURES.into_iter().zip(self.0)
    }
}

fn gain(grades: &[u32]) -> f64 {
    let gains = grades.iter().take(NDCG_CUT).zip(2_u32..);
    let gain =
        |(grade, rank): (&u32, u32)| (f64::from(*grade).exp2() - 1.0) / f64::from(rank).log2();
    // Not `sum`, which returns -0 for an empty list.
    gains.map(gain).fold(0.0, |sum, gain| sum + gain)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ranking(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn measures_by_hand() {
        let grades = Grades::from([("a".into(), 1), ("b".into(), 1), ("c".into(), 0)]);
        let one = 1.0 + 1.0 / 3.0_f64.log2();
        let cases = [
            ("both first", "a b", [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]),
            (
                "one late",
                "a c x b",
                [0.5, 1.0, 1.0, 0.0, 1.0, 1.0, (1.0 + 1.0 / 5.0_f64.log2()) / one, 1.0],
            ),
            (
                "repeats count once",
                "c c a a b",
                [0.5, 1.0, 1.0, 0.0, 1.0, 1.0, (1.0 / 3.0_f64.log2() + 0.5) / one, 0.5],
            ),
            ("nothing", "", [0.0; 8]),
        ];
        for (name, text, expected) in cases {
            let measures = Measures::of(&grades, &ranking(text));
            for ((measure, value), expected) in measures.iter().zip(expected) {
                assert!(
                    (value - expected).abs() < 1e-12,
                    "{name} {measure}: {value}, not {expected}"
                );
            }
        }
    }

    #[test]
    fn higher_grades_gain_more() {
        let grades = Grades::from([("a".into(), 2), ("b".into(), 1)]);
        let value = Measures::of(&grades, &ranking("b a")).value("nDCG@10").unwrap();
        let (low, high) = (1.0 / 3.0_f64.log2(), 3.0 / 3.0_f64.log2());
        assert!((value - (1.0 + high) / (3.0 + low)).abs() < 1e-12, "{value}");
    }

    proptest! {
        #[test]
        fn measures_are_bounded(
            grades in proptest::collection::btree_map("[a-f]", 0..4_u32, 0..6),
            ranking in proptest::collection::vec("[a-h]", 0..20),
        ) {
            let measures = Measures::of(&grades, &ranking);
            for (name, value) in measures.iter() {
                prop_assert!((0.0..=1.0 + 1e-12).contains(&value), "{name} {value}");
            }
            prop_assert_eq!(Measures::mean(&[measures, measures]), measures);
        }
    }
}
