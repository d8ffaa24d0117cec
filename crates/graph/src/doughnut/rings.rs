//! Turns: which relation comes next and which note it comes to.

use std::collections::VecDeque;

use weft_model::{NoteId, NoteMap, NoteSet};

use super::relation::{Priority, Relation};
use super::request::Options;
use super::strategies::{FocusList, Members, STRATEGIES, Strategy};
use crate::NoteGraph;

/// A note that a relation comes to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) note: NoteId,
    pub(super) relation: Relation,
    pub(super) fills: Option<FocusList>,
    /// Its place among the members of its relation, from 0.
    pub(super) nth: usize,
}

/// The rings of all levels with their cursors, and the queue of sources that wait for a turn to begin.
///
/// Knows nothing of budgets: [`added`](Self::added) and [`grow`](Self::grow) tell it what became of a member.
pub(super) struct Rings<'g> {
    graph: &'g NoteGraph,
    filter: &'g NoteSet,
    focus: NoteId,
    rows: Vec<&'static Strategy>,
    rings: [Ring<'g>; Priority::ALL.len()],
    /// Sources discovered since a turn last began.
    queue: VecDeque<(&'static Strategy, NoteId)>,
    /// The level whose turn it is.
    level: usize,
    /// Notes added in this turn.
    n_added: usize,
}

#[derive(Default)]
struct Ring<'g> {
    cursors: Vec<Cursor<'g>>,
    /// The slot looked at first; stays from round to round.
    at: usize,
}

struct Cursor<'g> {
    relation: Relation,
    fills: Option<FocusList>,
    /// Sources not begun, first in, first out.
    sources: VecDeque<(&'static Strategy, NoteId)>,
    current: Option<Members<'g>>,
    n_taken: usize,
    /// How often a list that several sources share was begun.
    walks: NoteMap<u8>,
    /// Whether sources were passed over since a member was last asked for.
    passed_over: bool,
}

/// Walks of a shared list after which another meets nothing new: each leaves out its source alone.
const ENOUGH_WALKS: u8 = 2;

impl<'g> Rings<'g> {
    pub(super) fn new(
        graph: &'g NoteGraph,
        filter: &'g NoteSet,
        focus: NoteId,
        options: &Options,
    ) -> Self {
        let rows = STRATEGIES.iter().filter(|row| (row.wanted)(options)).collect();
        let mut rings = Self {
            graph,
            filter,
            focus,
            rows,
            rings: Default::default(),
            queue: VecDeque::new(),
            level: 0,
            n_added: 0,
        };
        for row in &rings.rows {
            let cursors = &mut rings.rings[row.priority as usize].cursors;
            if cursors.iter().all(|cursor| cursor.relation != row.relation) {
                cursors.push(Cursor {
                    relation: row.relation,
                    fills: row.fills,
                    sources: VecDeque::new(),
                    current: None,
                    n_taken: 0,
                    walks: NoteMap::default(),
                    passed_over: false,
                });
            }
        }
        rings.grow(Relation::Focus, focus);
        rings.hand_out_sources();
        rings
    }

    /// The next member in turn; nothing when every relation is exhausted.
    pub(super) fn next(&mut self) -> Option<Member> {
        // What is left of this turn, then a turn of each level, this one's again included.
        for _ in 0..=self.rings.len() {
            if self.n_added < Priority::ALL[self.level].quota() {
                let present = |note| note == self.focus || self.filter.contains(note);
                let found = self.rings[self.level].next(self.graph, present);
                if found.is_some() {
                    return found;
                }
            }
            self.level = (self.level + 1) % self.rings.len();
            self.n_added = 0;
            self.hand_out_sources();
        }
        // A whole round came to nothing; should there be more to do later, a round begins.
        self.level = 0;
        None
    }

    /// Counts a note against the quota of this turn.
    pub(super) fn added(&mut self) {
        self.n_added += 1;
    }

    /// Makes `note`, met by `relation`, a source of all that grows from it.
    pub(super) fn grow(&mut self, relation: Relation, note: NoteId) {
        let rows = self.rows.iter().filter(|row| row.grows_from == relation);
        self.queue.extend(rows.map(|row| (*row, note)));
    }

    fn hand_out_sources(&mut self) {
        while let Some((row, note)) = self.queue.pop_front() {
            let mut cursors = self.rings[row.priority as usize].cursors.iter_mut();
            if let Some(cursor) = cursors.find(|cursor| cursor.relation == row.relation) {
                cursor.sources.push_back((row, note));
            }
        }
    }
}

impl<'g> Ring<'g> {
    /// The next member of the next relation that has one.
    fn next(&mut self, graph: &'g NoteGraph, present: impl Fn(NoteId) -> bool) -> Option<Member> {
        let n_cursors = self.cursors.len();
        (self.at..self.at + n_cursors).map(|slot| slot % n_cursors).find_map(|slot| {
            // Members that nobody gains by give others their turn; where there are no others, they can be left out.
            let is_alone =
                (0..n_cursors).all(|other| other == slot || self.cursors[other].is_spent());
            let cursor = &mut self.cursors[slot];
            let member = cursor.next(graph, &present, is_alone);
            if member.is_some() || cursor.passed_over {
                self.at = slot + 1;
            }
            member
        })
    }
}

impl<'g> Cursor<'g> {
    fn is_spent(&self) -> bool {
        self.current.is_none() && self.sources.is_empty()
    }

    /// The next member; of lists that were walked before only what may be new, where that `is_alone`.
    fn next(
        &mut self,
        graph: &'g NoteGraph,
        present: impl Fn(NoteId) -> bool,
        is_alone: bool,
    ) -> Option<Member> {
        self.passed_over = false;
        loop {
            let found =
                self.current.as_mut().and_then(|members| members.find(|note| present(*note)));
            if let Some(note) = found {
                let nth = self.n_taken;
                self.n_taken += 1;
                return Some(Member { note, relation: self.relation, fills: self.fills, nth });
            }
            self.current = None;
            let (row, source) = self.sources.pop_front()?;
            if let Some(list) = (row.list)(graph, source) {
                let n_walks = self.walks.entry(list).or_default();
                if is_alone && *n_walks >= ENOUGH_WALKS {
                    self.passed_over = true;
                    continue;
                }
                *n_walks = n_walks.saturating_add(1);
            }
            self.current = Some((row.related)(graph, source));
        }
    }
}
