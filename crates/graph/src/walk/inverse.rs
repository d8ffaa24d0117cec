//! Names for edges met from their targets.

use std::collections::BTreeMap;

use weft_model::fold;

use super::step::Side;

/// How edge types read backwards, such as `supported-by` for `supports`. A matter of view: edges stay as stored.
///
/// Empty by default: every edge then reads by its own type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InverseNames(BTreeMap<String, String>);

impl InverseNames {
    /// From pairs of a type and its inverse; types are compared with case folded, and the last entry for one stands.
    pub fn new(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(pairs.into_iter().map(|(kind, inverse)| (fold(&kind), inverse)).collect())
    }

    /// The inverse of `kind` for an edge met from its target; nothing where there is none or it is met from its origin.
    #[must_use]
    pub fn of(&self, kind: &str, side: Side) -> Option<&str> {
        match side {
            Side::Outgoing => None,
            Side::Incoming => self.0.get(&fold(kind)).map(String::as_str),
        }
    }
}
