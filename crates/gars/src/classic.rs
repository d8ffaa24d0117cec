//! Profile `classic`: the formulas of the Shadow graph guide.

/// The least similarity of a hit that activates others. Source: search design, "Graph signals".
pub const ACTIVATION_FLOOR: f64 = 0.40;

/// The least similarity of a hit from which the pool grows. Source: Shadow graph guide, "Precision controls".
pub const EXPANSION_FLOOR: f64 = 0.40;

/// Gathers what linked hits do for a note: `1 − Π (1 − strength·similarity)`.
///
/// In `0.0..=1.0` for inputs in it; grows with every hit, and with equal ones in any order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoisyOr {
    doubt: f64,
}

impl Default for NoisyOr {
    fn default() -> Self {
        Self { doubt: 1.0 }
    }
}

impl NoisyOr {
    /// Takes in a hit: the strength of the edge to it (its weight over the greatest there is), and its similarity.
    pub fn add(&mut self, strength: f64, similarity: f64) {
        self.doubt *= 1.0 - strength * similarity;
    }

    /// The activation.
    #[must_use]
    pub fn value(self) -> f64 {
        1.0 - self.doubt
    }
}

/// The share of a note's distinct neighbours that are hits; 0 without neighbours.
#[must_use]
pub fn hit_share(n_hits: u32, n_neighbours: u32) -> f64 {
    if n_neighbours == 0 { 0.0 } else { (f64::from(n_hits) / f64::from(n_neighbours)).min(1.0) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn activation_by_hand() {
        let mut activation = NoisyOr::default();
        assert!(activation.value().abs() < f64::EPSILON);
        activation.add(1.0 / 1.5, 0.6);
        assert!((activation.value() - 0.4).abs() < 1e-12);
        activation.add(1.0, 0.5);
        assert!((activation.value() - 0.7).abs() < 1e-12);
        assert!((hit_share(1, 4) - 0.25).abs() < 1e-12);
        assert!(hit_share(0, 0).abs() < f64::EPSILON);
    }

    proptest! {
        #[test]
        fn activation_is_bounded_and_grows(
            hits in proptest::collection::vec((0.0..=1.0_f64, 0.0..=1.0_f64), 0..20),
        ) {
            let mut activation = NoisyOr::default();
            for (strength, similarity) in hits {
                let before = activation.value();
                activation.add(strength, similarity);
                prop_assert!((before..=1.0).contains(&activation.value()));
            }
        }
    }
}
