//! Signals, weights, and the score.

use serde::{Deserialize, Serialize};

/// Signals of one candidate, each in `0.0..=1.0`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Signals {
    /// How well its text and name match the query.
    pub similarity: f64,
    /// How connected it is.
    pub centrality: f64,
    /// How connections to better hits lift it.
    pub activation: f64,
    /// How well a reranker says that its text answers the query; 0 if none was asked about it.
    pub relevance: f64,
}

/// Weight of each signal of GARS. Only their proportions matter: see [`Weights::shares`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weights {
    /// Weight of the similarity; finite and not negative, like the others.
    pub similarity: f64,
    /// Weight of the centrality.
    pub centrality: f64,
    /// Weight of the activation.
    pub activation: f64,
}

/// Reason why weights are invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WeightsError {
    /// One of them is negative or not finite.
    #[error("the weight of {signal} must be finite and not negative")]
    NotAWeight {
        /// Name of the signal.
        signal: &'static str,
    },
    /// All of them are 0.
    #[error("at least one weight must be above 0")]
    Nothing,
}

/// Sums this close to 1 are left unchanged, so that decimal weights stay as written.
const ROUNDING: f64 = 1e-12;

impl Weights {
    /// Similarity only.
    pub const SIMILARITY: Self = Self { similarity: 1.0, centrality: 0.0, activation: 0.0 };

    /// Scales the weights so that they sum to 1, which bounds the score by 1.
    pub fn shares(&self) -> Result<Self, WeightsError> {
        let Self { similarity, centrality, activation } = *self;
        for (signal, weight) in
            [("similarity", similarity), ("centrality", centrality), ("activation", activation)]
        {
            if !weight.is_finite() || weight < 0.0 {
                return Err(WeightsError::NotAWeight { signal });
            }
        }
        let greatest = similarity.max(centrality).max(activation);
        if greatest <= 0.0 {
            return Err(WeightsError::Nothing);
        }
        let mut shares = *self;
        if (self.sum() - 1.0).abs() > ROUNDING {
            // Divides by the greatest first, because the sum of huge weights may be infinite.
            shares = shares.divided_by(greatest);
            shares = shares.divided_by(shares.sum());
        }
        Ok(shares.bounded(0.0))
    }

    /// Scales weights from [`shares`](Self::shares) to leave the share `relevance` of the score, in `0.0..=1.0`, to a reranker.
    #[must_use]
    pub fn beside(&self, relevance: f64) -> ScoreWeights {
        let left = 1.0 - relevance;
        let scaled = Self {
            similarity: self.similarity * left,
            centrality: self.centrality * left,
            activation: self.activation * left,
        };
        ScoreWeights { gars: scaled.bounded(relevance), relevance }
    }

    /// Lowers the greatest weight by rounding errors, so that the sum with `more` does not exceed 1.
    fn bounded(mut self, more: f64) -> Self {
        while self.sum() + more > 1.0 {
            let Self { similarity, centrality, activation } = &mut self;
            let greatest = if *similarity >= *centrality { similarity } else { centrality };
            let greatest = if *greatest >= *activation { greatest } else { activation };
            *greatest = greatest.next_down();
        }
        self
    }

    /// Sums in the same order as scores.
    fn sum(&self) -> f64 {
        self.similarity + self.centrality + self.activation
    }

    fn divided_by(&self, by: f64) -> Self {
        Self {
            similarity: self.similarity / by,
            centrality: self.centrality / by,
            activation: self.activation / by,
        }
    }
}

/// Weight of each part of a score; they sum to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreWeights {
    /// Weights of the signals of GARS.
    pub gars: Weights,
    /// Weight of the relevance; 0 without a reranker.
    pub relevance: f64,
}

/// A score with its parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gars {
    /// Signals before weighting.
    pub signals: Signals,
    /// Signals after weighting.
    pub contributions: Signals,
    /// Sum of the contributions in the order similarity, centrality, activation, relevance; in `0.0..=1.0`.
    pub score: f64,
}

impl Gars {
    /// Computes sim·W_sim + cent·W_cent + act·W_act, for weights from [`Weights::shares`]. Source: Shadow graph guide, stage 3.
    #[must_use]
    pub fn new(signals: Signals, weights: &Weights) -> Self {
        Self::reranked(signals, &ScoreWeights { gars: *weights, relevance: 0.0 })
    }

    /// Adds the relevance times its weight to the signals of GARS times theirs, for weights from [`Weights::beside`].
    ///
    /// All candidates lose the same part of their score of GARS, so one without relevance never overtakes one that was before it.
    #[must_use]
    pub fn reranked(signals: Signals, weights: &ScoreWeights) -> Self {
        let Signals { similarity, centrality, activation, relevance } = signals;
        let contributions = Signals {
            similarity: similarity * weights.gars.similarity,
            centrality: centrality * weights.gars.centrality,
            activation: activation * weights.gars.activation,
            relevance: relevance * weights.relevance,
        };
        let score = contributions.similarity
            + contributions.centrality
            + contributions.activation
            + contributions.relevance;
        Self { signals, contributions, score }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn weights(similarity: f64, centrality: f64, activation: f64) -> Weights {
        Weights { similarity, centrality, activation }
    }

    #[test]
    fn weights_become_shares() {
        let cases = [
            ("written as shares", weights(0.49, 0.02, 0.49), Ok(weights(0.49, 0.02, 0.49))),
            ("proportions", weights(3.0, 1.0, 0.0), Ok(weights(0.75, 0.25, 0.0))),
            ("one alone", weights(0.0, 0.0, 1e300), Ok(weights(0.0, 0.0, 1.0))),
            ("a sum beyond f64", weights(f64::MAX, 0.0, f64::MAX), Ok(weights(0.5, 0.0, 0.5))),
            ("none", weights(0.0, 0.0, 0.0), Err(WeightsError::Nothing)),
            (
                "negative",
                weights(1.0, -0.1, 0.0),
                Err(WeightsError::NotAWeight { signal: "centrality" }),
            ),
            (
                "no number",
                weights(1.0, 0.0, f64::NAN),
                Err(WeightsError::NotAWeight { signal: "activation" }),
            ),
        ];
        for (name, given, expected) in cases {
            assert_eq!(given.shares(), expected, "{name}");
        }
    }

    #[test]
    fn reranked_score_mixes_gars_and_relevance() {
        let signals =
            Signals { similarity: 0.5, activation: 0.25, relevance: 0.8, ..Signals::default() };
        let shares = weights(0.5, 0.0, 0.5);
        let half = Gars::reranked(signals, &shares.beside(0.5));
        let expected = 0.5 * Gars::new(signals, &shares).score + 0.4;
        assert!((half.score - expected).abs() < 1e-12, "{half:?}");
        assert_eq!(Gars::reranked(signals, &shares.beside(0.0)), Gars::new(signals, &shares));
    }

    proptest! {
        #[test]
        fn scores_are_bounded_and_equal_the_sum_of_their_parts(
            given in [0.0..10.0_f64, 0.0..10.0, 0.01..10.0],
            signals in [0.0..=1.0_f64, 0.0..=1.0, 0.0..=1.0, 0.0..=1.0],
            relevance_weight in 0.0..=1.0_f64,
        ) {
            let shares = weights(given[0], given[1], given[2]).shares().unwrap();
            let all = Signals { similarity: 1.0, centrality: 1.0, activation: 1.0, relevance: 1.0 };
            prop_assert!(Gars::new(all, &shares).score <= 1.0);
            let mixed = shares.beside(relevance_weight);
            prop_assert!(Gars::reranked(all, &mixed).score <= 1.0);
            let [similarity, centrality, activation, relevance] = signals;
            let signals = Signals { similarity, centrality, activation, relevance };
            for gars in [Gars::new(signals, &shares), Gars::reranked(signals, &mixed)] {
                let Signals { similarity, centrality, activation, relevance } = gars.contributions;
                let sum = similarity + centrality + activation + relevance;
                prop_assert_eq!(sum.to_bits(), gars.score.to_bits());
                prop_assert!((0.0..=1.0).contains(&gars.score));
            }
        }
    }
}
