//! Breadth-first search from one note, unordered within a level.

use weft_model::{NoteBits, NoteId, Stopped};

use super::step::Direction;
use super::traversal::Traversal;

/// Levels reached so far from one end of a path.
pub(super) struct BfsFrontier<'r> {
    traversal: &'r Traversal<'r>,
    direction: Direction,
    /// Notes by hops from the start; the last level is the frontier.
    pub(super) levels: Vec<Vec<NoteId>>,
    pub(super) seen: NoteBits,
}

impl<'r> BfsFrontier<'r> {
    pub(super) fn new(traversal: &'r Traversal<'r>, start: NoteId, direction: Direction) -> Self {
        let seen = [start].into_iter().collect();
        Self { traversal, direction, levels: vec![vec![start]], seen }
    }

    pub(super) fn frontier(&self) -> &[NoteId] {
        self.levels.last().map_or(&[], Vec::as_slice)
    }

    /// Returns the maximum number of edges that the next level costs.
    pub(super) fn cost(&self) -> usize {
        self.frontier().iter().map(|note| self.traversal.n_edges(*note, self.direction)).sum()
    }

    /// Expands the next level; returns false if it has no new notes.
    pub(super) fn advance(&mut self) -> Result<bool, Stopped> {
        let mut next = Vec::new();
        for note in self.levels.last().map_or(&[][..], Vec::as_slice) {
            self.traversal.check()?;
            for step in self.traversal.steps_unordered(*note, self.direction) {
                let end = step.other;
                if !self.seen.contains(end) && self.traversal.admits_note(end) {
                    self.seen.insert(end);
                    next.push(end);
                }
            }
        }
        let found = !next.is_empty();
        if found {
            self.levels.push(next);
        }
        Ok(found)
    }
}
