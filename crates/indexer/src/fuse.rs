//! The mass-delete fuse: notes that go missing in large numbers are kept until somebody says that they are gone.
//!
//! An unmounted disk, an emptied folder and a moved root look like the deletion of every note.
//! While the fuse holds, the notes are served as they last were, and everything else goes on.
//! It asks nothing of the past: what counts is how many of the notes have no file now, so a restart comes to the same.

use serde::{Deserialize, Serialize};
use weft_model::settings::Problems;

/// When missing notes are kept.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FuseOptions {
    /// The share of a vault's notes, 0 to 1, above which missing ones are kept; 1 lets all go.
    pub max_share: f64,
    /// Missing notes below which none is kept, so that small vaults need no confirmation.
    pub min_notes: usize,
}

impl Default for FuseOptions {
    fn default() -> Self {
        Self { max_share: 0.5, min_notes: 20 }
    }
}

impl FuseOptions {
    /// What of it cannot be used.
    #[must_use]
    pub fn problems(&self) -> Problems {
        let Self { max_share, min_notes: _ } = *self;
        let mut problems = Problems::default();
        problems.within("max_share", max_share, 0.0..=1.0);
        problems
    }

    /// Whether `n_missing` of `n_notes` are too many to go by themselves.
    pub(crate) fn holds(&self, n_missing: usize, n_notes: usize) -> bool {
        let Self { max_share, min_notes } = *self;
        n_missing >= min_notes.max(1) && n_missing as f64 > max_share * n_notes as f64
    }
}

/// What became of the missing notes of one vault when somebody confirmed that they are gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confirmed {
    /// The vault's name.
    pub vault: String,
    /// Notes that left the index.
    pub n_removed: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_and_most_is_too_many() {
        let usual = FuseOptions::default();
        let cases = [
            ("nothing is missing", usual, 0, 100, false),
            ("half of them", usual, 50, 100, false),
            ("more than half", usual, 51, 100, true),
            ("all of a small vault", usual, 19, 19, false),
            ("all of a vault that is large enough", usual, 20, 20, true),
            ("any one", FuseOptions { max_share: 0.0, min_notes: 0 }, 1, 100, true),
            (
                "none, where any one counts",
                FuseOptions { max_share: 0.0, min_notes: 0 },
                0,
                0,
                false,
            ),
            ("never", FuseOptions { max_share: 1.0, min_notes: 0 }, 100, 100, false),
        ];
        for (name, options, n_missing, n_notes, expected) in cases {
            assert_eq!(options.holds(n_missing, n_notes), expected, "{name}");
        }
    }
}
