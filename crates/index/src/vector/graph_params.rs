//! Parameters of the frozen graph.

use serde::{Deserialize, Serialize};
use weft_model::settings::Problems;

/// Minimum links per row that leaves space for back links.
const MIN_DEGREE: usize = 8;

/// Parameters of the graph build.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GraphParams {
    /// Links per row and upper layer during insertion, twice as many in the lowest; 4 to 128.
    pub m: usize,
    /// Candidate list size during insertion; 1 to 10,000.
    pub ef_construction: usize,
    /// Links per row of the frozen graph; 8 to 512.
    pub degree: usize,
    /// True to insert on all cores: faster, but not deterministic.
    pub parallel: bool,
}

impl Default for GraphParams {
    fn default() -> Self {
        Self { m: 16, ef_construction: 200, degree: 64, parallel: false }
    }
}

impl GraphParams {
    /// Returns the parameters that are out of range.
    #[must_use]
    pub fn problems(&self) -> Problems {
        let Self { m, ef_construction, degree, parallel: _ } = *self;
        let mut problems = Problems::default();
        problems.within("m", m, 4..=128);
        problems.within("ef_construction", ef_construction, 1..=10_000);
        problems.within("degree", degree, MIN_DEGREE..=512);
        problems
    }

    /// Returns the maximum number of links per row of the frozen graph.
    pub(super) fn links_per_row(&self) -> usize {
        self.degree.max(MIN_DEGREE)
    }
}
