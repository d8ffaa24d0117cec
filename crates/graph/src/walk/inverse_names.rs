//! Names of edges read from their targets.

use std::collections::BTreeMap;

use weft_model::fold;

use super::step::Side;

/// Inverse names of edge types, such as `supported-by` for `supports`. They affect the display only: edges stay as stored.
///
/// Empty by default: every edge then shows its own type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InverseNames(BTreeMap<String, String>);

impl InverseNames {
    /// Builds the table from pairs of a type and its inverse. Types are compared with case folded; the last entry for a type wins.
    pub fn new(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(pairs.into_iter().map(|(kind, inverse)| (fold(&kind), inverse)).collect())
    }

    /// Returns the inverse of `kind` for an edge read from its target; `None` if no inverse is known or the edge is read from its origin.
    #[must_use]
    pub fn of(&self, kind: &str, side: Side) -> Option<&str> {
        match side {
            Side::Outgoing => None,
            Side::Incoming => self.0.get(&fold(kind)).map(String::as_str),
        }
    }
}
