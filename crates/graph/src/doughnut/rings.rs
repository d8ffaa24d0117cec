//! Turns: the order of relations and of the notes they find.

use std::collections::VecDeque;

use weft_model::{NoteId, NoteMap, NoteSet};

use super::relation::{Priority, Relation};
use super::request::Request;
use super::strategies::{FocusList, ReasonedMembers, STRATEGIES, Strategy};
use super::surroundings::{Reason, Relations, Surroundings};
use crate::NoteGraph;

/// A note found by a relation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) note: NoteId,
    pub(super) relation: Relation,
    /// Level in whose turn it was found.
    pub(super) level: Priority,
    pub(super) fills: Option<FocusList>,
    /// Position among the notes of its relation, from 0.
    pub(super) nth: usize,
    pub(super) reason: Option<Reason>,
}

/// Rings of all levels with their cursors, and the queue of sources for the next turn.
///
/// Independent of budgets: the caller reports added notes and new sources by [`added`](Self::added) and [`grow`](Self::grow).
pub(super) struct Rings<'g> {
    places: Places<'g>,
    filter: &'g NoteSet,
    focus: NoteId,
    rows: Vec<&'static Strategy>,
    rings: [Ring<'g>; Priority::ALL.len()],
    /// Sources discovered since the last turn began.
    queue: VecDeque<(&'static Strategy, NoteId)>,
    /// Level of the current turn.
    level: usize,
    /// Number of notes added in this turn.
    n_added: usize,
}

/// The places in which relations find notes.
#[derive(Clone, Copy)]
struct Places<'g> {
    graph: &'g NoteGraph,
    surroundings: Option<&'g dyn Surroundings>,
}

#[derive(Default)]
struct Ring<'g> {
    cursors: Vec<Cursor<'g>>,
    /// Cursor to advance first; kept from round to round.
    at: usize,
}

struct Cursor<'g> {
    relation: Relation,
    level: Priority,
    fills: Option<FocusList>,
    /// Unused sources, first in, first out.
    sources: VecDeque<(&'static Strategy, NoteId)>,
    current: Option<ReasonedMembers<'g>>,
    n_taken: usize,
    /// Number of walks per list that several sources share.
    walks: NoteMap<u8>,
    /// True if the last call skipped sources.
    skipped_sources: bool,
}

/// Position of the level that fills what the levels of the rounds leave.
const LAST: usize = Priority::ALL.len() - 1;

/// Number of walks after which a shared list is exhausted: each walk omits only its own source, so further walks find nothing new.
const ENOUGH_WALKS: u8 = 2;

impl<'g> Rings<'g> {
    pub(super) fn new(graph: &'g NoteGraph, request: &Request<'g>) -> Self {
        let Request { focus, filter, relations, .. } = *request;
        let rows = STRATEGIES.iter().filter(|row| (row.wanted)(request)).collect();
        let surroundings = match relations {
            Relations::Structure => None,
            Relations::Auto(surroundings) => Some(surroundings),
        };
        let mut rings = Self {
            places: Places { graph, surroundings },
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
                    level: row.priority,
                    fills: row.fills,
                    sources: VecDeque::new(),
                    current: None,
                    n_taken: 0,
                    walks: NoteMap::default(),
                    skipped_sources: false,
                });
            }
        }
        rings.grow(Relation::Focus, focus);
        rings.distribute_sources();
        rings
    }

    /// Returns the next member in turn; `None` if every relation is exhausted.
    pub(super) fn next(&mut self) -> Option<Member> {
        if self.level == LAST {
            self.begin_turn(0);
        }
        // The rest of this turn, then one turn of each level, this one's included.
        for _ in 0..=LAST {
            if self.n_added < Priority::ALL[self.level].quota() {
                let found = self.next_of(self.level);
                if found.is_some() {
                    return found;
                }
            }
            self.begin_turn((self.level + 1) % LAST);
        }
        // A whole round found nothing. If sources are added later, a new round begins.
        self.begin_turn(LAST);
        self.next_of(LAST)
    }

    fn begin_turn(&mut self, level: usize) {
        self.level = level;
        self.n_added = 0;
        self.distribute_sources();
    }

    fn next_of(&mut self, level: usize) -> Option<Member> {
        let present = |note| note == self.focus || self.filter.contains(note);
        self.rings[level].next(self.places, present)
    }

    /// Counts a note against the quota of this turn.
    pub(super) fn added(&mut self) {
        self.n_added += 1;
    }

    /// Adds `note`, found by `relation`, as a source of all relations that grow from it.
    pub(super) fn grow(&mut self, relation: Relation, note: NoteId) {
        let rows = self.rows.iter().filter(|row| row.grows_from == relation);
        self.queue.extend(rows.map(|row| (*row, note)));
    }

    fn distribute_sources(&mut self) {
        while let Some((row, note)) = self.queue.pop_front() {
            let mut cursors = self.rings[row.priority as usize].cursors.iter_mut();
            if let Some(cursor) = cursors.find(|cursor| cursor.relation == row.relation) {
                cursor.sources.push_back((row, note));
            }
        }
    }
}

impl<'g> Ring<'g> {
    /// Returns the next member of the next relation that has one.
    fn next(&mut self, places: Places<'g>, present: impl Fn(NoteId) -> bool) -> Option<Member> {
        let n_cursors = self.cursors.len();
        (self.at..self.at + n_cursors).map(|slot| slot % n_cursors).find_map(|slot| {
            // Already known members still give the other relations their turn; if this is the only relation left, they can be skipped.
            let is_alone =
                (0..n_cursors).all(|other| other == slot || self.cursors[other].is_spent());
            let cursor = &mut self.cursors[slot];
            let member = cursor.next(places, &present, is_alone);
            if member.is_some() || cursor.skipped_sources {
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

    /// Returns the next member. If `is_alone`, lists that were walked often enough are skipped.
    fn next(
        &mut self,
        places: Places<'g>,
        present: impl Fn(NoteId) -> bool,
        is_alone: bool,
    ) -> Option<Member> {
        self.skipped_sources = false;
        loop {
            let found =
                self.current.as_mut().and_then(|members| members.find(|(note, _)| present(*note)));
            if let Some((note, reason)) = found {
                let Self { relation, level, fills, n_taken: nth, .. } = *self;
                self.n_taken += 1;
                return Some(Member { note, relation, level, fills, nth, reason });
            }
            self.current = None;
            let (row, source) = self.sources.pop_front()?;
            if let Some(list) = (row.list)(places.graph, source) {
                let n_walks = self.walks.entry(list).or_default();
                if is_alone && *n_walks >= ENOUGH_WALKS {
                    self.skipped_sources = true;
                    continue;
                }
                *n_walks = n_walks.saturating_add(1);
            }
            self.current = Some(row.members(places.graph, places.surroundings, source));
        }
    }
}
