//! Breadth-first levels from one note, in no order within a level.

use weft_model::{NoteBits, NoteId, Stopped};

use super::follow::Rules;
use super::step::Direction;

/// Levels reached so far from one end of a path.
pub(super) struct Wave<'r> {
    rules: &'r Rules<'r>,
    direction: Direction,
    /// Notes by hops from the start; the last level is the front.
    pub(super) levels: Vec<Vec<NoteId>>,
    pub(super) seen: NoteBits,
}

impl<'r> Wave<'r> {
    pub(super) fn new(rules: &'r Rules<'r>, start: NoteId, direction: Direction) -> Self {
        let seen = [start].into_iter().collect();
        Self { rules, direction, levels: vec![vec![start]], seen }
    }

    pub(super) fn front(&self) -> &[NoteId] {
        self.levels.last().map_or(&[], Vec::as_slice)
    }

    /// How many edges the next level costs at most.
    pub(super) fn cost(&self) -> usize {
        self.front().iter().map(|note| self.rules.n_edges(*note, self.direction)).sum()
    }

    /// Goes one hop further; false when nothing new is there.
    pub(super) fn advance(&mut self) -> Result<bool, Stopped> {
        let mut next = Vec::new();
        for note in self.levels.last().map_or(&[][..], Vec::as_slice) {
            self.rules.check()?;
            for step in self.rules.steps_unordered(*note, self.direction) {
                let end = step.other;
                if !self.seen.contains(end) && self.rules.note(end) {
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
