//! Offers: passages that may be chosen next, ordered by priority.

use std::cmp::Ordering;

/// A passage that may be chosen next.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Offer {
    /// Value for its price.
    pub(crate) priority: f64,
    /// Rank of its note.
    pub(crate) rank: usize,
    /// Index among the passages of the note.
    pub(crate) passage: usize,
    /// Version of the note's priorities.
    pub(crate) version: u32,
}

impl Eq for Offer {}

impl Ord for Offer {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_priority = self.priority.total_cmp(&other.priority);
        by_priority.then_with(|| (other.rank, other.passage).cmp(&(self.rank, self.passage)))
    }
}

impl PartialOrd for Offer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Returns the place of an offered passage in the order of notes.
pub(crate) const fn place(offer: &Offer) -> (usize, usize) {
    (offer.rank, offer.passage)
}
