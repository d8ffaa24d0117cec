//! Scores of notes without a score of their own.

use serde::{Deserialize, Serialize};

/// Scores of notes found by a walk, a relation or a name.
///
/// Source: search design, "Accordion".
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DefaultScores {
    /// Scores by distance, nearest first: hops 0 to 3 of a walk, levels 1 to 4 of related notes. The last one applies to greater distances.
    pub by_distance: [f64; 4],
    /// Score of a note named by the caller.
    pub named: f64,
}

impl Default for DefaultScores {
    fn default() -> Self {
        Self { by_distance: [1.0, 0.8, 0.5, 0.35], named: 1.0 }
    }
}

impl DefaultScores {
    /// Returns the score of a note `hop` steps from the start of a walk.
    #[must_use]
    pub fn at_hop(&self, hop: usize) -> f64 {
        let [near @ .., far] = self.by_distance;
        near.get(hop).copied().unwrap_or(far)
    }

    /// Returns the score of a related note of `level`, counted from 1.
    #[must_use]
    pub fn at_level(&self, level: usize) -> f64 {
        self.at_hop(level.saturating_sub(1))
    }
}
