//! Scores for notes that nobody ranked.

use serde::{Deserialize, Serialize};

/// What a note counts that came by a walk, by a relation or by name, without a score of its own.
///
/// Source: search design, "Accordion".
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StandIns {
    /// By distance, nearest first: hops 0 to 3 of a walk, levels 1 to 4 of related notes. What is further counts as the last.
    pub by_distance: [f64; 4],
    /// For a note the caller names.
    pub named: f64,
}

impl Default for StandIns {
    fn default() -> Self {
        Self { by_distance: [1.0, 0.8, 0.5, 0.35], named: 1.0 }
    }
}

impl StandIns {
    /// The score of a note `hop` steps from where a walk began.
    #[must_use]
    pub fn at_hop(&self, hop: usize) -> f64 {
        let [near @ .., far] = self.by_distance;
        near.get(hop).copied().unwrap_or(far)
    }

    /// The score of a related note of `level`, counted from 1.
    #[must_use]
    pub fn at_level(&self, level: usize) -> f64 {
        self.at_hop(level.saturating_sub(1))
    }
}
