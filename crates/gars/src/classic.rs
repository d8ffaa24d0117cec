//! Profile `classic`: the formulas of the Shadow graph guide.

/// Minimum similarity of a hit that activates others. Source: search design, "Graph signals".
pub const ACTIVATION_FLOOR: f64 = 0.40;

/// Minimum similarity of a hit whose neighbors become candidates. Source: Shadow graph guide, "Precision controls".
pub const EXPANSION_FLOOR: f64 = 0.40;

/// Combines the effects of linked hits on a note: `1 − Π (1 − strength·similarity)`.
///
/// In `0.0..=1.0` for inputs in that range. Grows with every hit, independent of their order.
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
    /// Adds a hit: the strength of the edge to it (its weight relative to the maximum), and its similarity.
    pub fn add(&mut self, strength: f64, similarity: f64) {
        self.doubt *= 1.0 - strength * similarity;
    }

    /// Returns the activation.
    #[must_use]
    pub fn value(self) -> f64 {
        1.0 - self.doubt
    }
}

/// Returns the share of a note's distinct neighbors that are hits; 0 without neighbors.
#[must_use]
pub fn hit_share(n_hits: u32, n_neighbors: u32) -> f64 {
    if n_neighbors == 0 { 0.0 } else { (f64::from(n_hits) / f64::from(n_neighbors)).min(1.0) }
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
