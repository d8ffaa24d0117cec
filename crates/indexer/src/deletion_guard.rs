//! The mass-deletion guard: notes whose files go missing in large numbers are kept until a user confirms the deletion.
//!
//! An unmounted disk, an emptied folder and a moved root look like the deletion of every note.
//! While the guard holds, these notes are served in their last state, and indexing continues.
//! The guard counts the notes without a file now and keeps no history, so a restart gives the same result.

use serde::{Deserialize, Serialize};
use weft_model::settings::Problems;

/// Options of the mass-deletion guard.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DeletionGuardOptions {
    /// Share of a vault's notes, 0 to 1, above which missing ones are kept; 1 disables the guard.
    pub max_share: f64,
    /// Minimum number of missing notes for the guard to hold, so that small vaults need no confirmation.
    pub min_notes: usize,
}

impl Default for DeletionGuardOptions {
    fn default() -> Self {
        Self { max_share: 0.5, min_notes: 20 }
    }
}

impl DeletionGuardOptions {
    /// Returns the invalid values.
    #[must_use]
    pub fn problems(&self) -> Problems {
        let Self { max_share, min_notes: _ } = *self;
        let mut problems = Problems::default();
        problems.within("max_share", max_share, 0.0..=1.0);
        problems
    }

    /// Returns true if `n_missing` of `n_notes` are too many to delete without confirmation.
    #[must_use]
    pub fn holds(&self, n_missing: usize, n_notes: usize) -> bool {
        let Self { max_share, min_notes } = *self;
        n_missing >= min_notes.max(1) && n_missing as f64 > max_share * n_notes as f64
    }
}

/// The result of confirming the deletion of one vault's missing notes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfirmedDeletions {
    /// Name of the vault.
    pub vault: String,
    /// Number of notes removed from the index.
    pub n_removed: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guard_holds_for_large_number_and_share() {
        let usual = DeletionGuardOptions::default();
        let cases = [
            ("no file is missing", usual, 0, 100, false),
            ("half of the notes", usual, 50, 100, false),
            ("more than half", usual, 51, 100, true),
            ("all of a small vault", usual, 19, 19, false),
            ("all of a vault with the minimum size", usual, 20, 20, true),
            (
                "any single note",
                DeletionGuardOptions { max_share: 0.0, min_notes: 0 },
                1,
                100,
                true,
            ),
            (
                "none, with the strictest options",
                DeletionGuardOptions { max_share: 0.0, min_notes: 0 },
                0,
                0,
                false,
            ),
            (
                "guard disabled",
                DeletionGuardOptions { max_share: 1.0, min_notes: 0 },
                100,
                100,
                false,
            ),
        ];
        for (name, options, n_missing, n_notes, expected) in cases {
            assert_eq!(options.holds(n_missing, n_notes), expected, "{name}");
        }
    }
}
