//! Model of the Doughnut retrieval, written from its design text without regard to cost.
//!
//! An independent implementation: it shares only the notebook with the retrieval of the graph crate.
//! Every list is complete from the start, every look-up is a linear search.

use std::collections::VecDeque;

use crate::Notebook;

/// Levels with their relations in turn order: relation, the relation it grows from, and the list it fills. The last one fills what the rounds of the others leave.
const LEVELS: [&[(&str, &str, Option<usize>)]; 6] = [
    &[("Parent", "Self", None), ("Object", "Self", None), ("Linked", "Self", None)],
    &[
        ("Child", "Self", Some(CHILDREN)),
        ("PriorSibling", "Self", Some(PRIOR_SIBLINGS)),
        ("YoungerSibling", "Self", Some(YOUNGER_SIBLINGS)),
        ("ReferringNote", "Self", Some(REFERRINGS)),
        ("NoteInContextualPath", "Self", None),
        ("NoteInObjectContextualPath", "Self", None),
        ("LinkedFrom", "Self", None),
    ],
    &[
        ("ReifiedChildObject", "Child", None),
        ("ParentSibling", "Self", None),
        ("ObjectParentSibling", "Self", None),
        ("ReferringSubject", "ReferringNote", None),
        ("SiblingOfTarget", "Self", None),
        ("TopicSibling", "Self", None),
    ],
    &[
        ("ParentSiblingChild", "ParentSibling", None),
        ("ObjectParentSiblingChild", "ObjectParentSibling", None),
        ("NoteInReferringContextualPath", "ReferringNote", None),
        ("ReferringCousin", "ReferringNote", None),
    ],
    &[("Similar", "Self", None)],
    &[
        ("SameFolder", "Self", None),
        ("Linked", "Self", None),
        ("Parent", "Self", None),
        ("NoteInContextualPath", "Self", None),
    ],
];

const CHILDREN: usize = 0;
const REFERRINGS: usize = 1;
const PRIOR_SIBLINGS: usize = 2;
const YOUNGER_SIBLINGS: usize = 3;

/// Inputs of a run besides notebook, focus and budgets.
#[derive(Clone, Debug)]
pub struct ModelOptions {
    /// Notes excluded by the filter.
    pub excluded: Vec<usize>,
    /// Maximum number of skipped notes per page.
    pub max_skips: usize,
    /// True if links in texts make referring notes.
    pub body_links: bool,
    /// True if notes with the same object are related.
    pub sibling_of_target: bool,
    /// Notes around the focus note beyond the design's relations; `None` for those relations alone.
    pub around: Option<ModelSurroundings>,
    /// Returns the tokens of a text of the given number of characters.
    pub price: fn(usize) -> u64,
}

/// Notes around the focus note that the notebook does not determine, by position.
#[derive(Clone, Debug, Default)]
pub struct ModelSurroundings {
    /// Notes it links to.
    pub linked: Vec<usize>,
    /// Notes it links to as many others do, which come after all others.
    pub linked_hubs: Vec<usize>,
    /// Notes before and after it in its folder, if they replace its siblings.
    pub folder: Option<(Vec<usize>, Vec<usize>)>,
    /// True if its parent and the notes above that come after all others, and the siblings of its parent not at all.
    pub has_assumed_parent: bool,
    /// Notes that share a topic, with the topic.
    pub topic_siblings: Vec<(usize, usize)>,
    /// Similar notes with their similarity.
    pub similar: Vec<(usize, f64)>,
    /// Notes near it in its folder.
    pub same_folder: Vec<usize>,
    /// Notes that are neither linked with it nor numbered like it.
    pub unconnected: Vec<usize>,
    /// Notes whose texts are far from its own.
    pub far_by_text: Vec<usize>,
    /// Notes with almost no text.
    pub stubs: Vec<usize>,
}

/// One page of a result; notes by position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Notes with relation, further relations, and cost, in delivery order.
    pub related: Vec<(usize, &'static str, Vec<&'static str>, u64)>,
    /// Children, referrings, prior and younger siblings.
    pub lists: [Vec<usize>; 4],
    /// Tokens left in the budget.
    pub remaining: u64,
    /// Notes refused so far, with relation and cost.
    pub skipped: Vec<(usize, &'static str, u64)>,
    /// True if the page ended at the maximum number of skipped notes.
    pub skipped_truncated: bool,
    /// True if a next page is offered.
    pub more: bool,
}

/// Returns the pages for `budgets`, as long as a next page is offered.
#[must_use]
pub fn pages(
    notebook: &Notebook,
    focus: usize,
    budgets: &[u64],
    options: &ModelOptions,
) -> Vec<Page> {
    let mut model = Model::new(notebook, focus, options);
    let mut pages = Vec::new();
    for budget in budgets {
        let page = model.page(*budget);
        let more = page.more;
        pages.push(page);
        if !more {
            break;
        }
    }
    pages
}

/// A note found by a relation; `nth` is the position of its list entry.
#[derive(Clone, Copy, Debug)]
struct FoundNote {
    note: usize,
    relation: &'static str,
    nth: usize,
}

#[derive(Clone)]
struct Model<'n> {
    notebook: &'n Notebook,
    focus: usize,
    options: &'n ModelOptions,
    /// Members not taken yet, by level and slot, and the number taken.
    waiting: [Vec<(VecDeque<usize>, usize)>; 6],
    ring: [usize; 6],
    queue: Vec<(&'static str, usize)>,
    level: usize,
    added: u64,
    turn_begun: bool,
    fetched_in_round: bool,
    delivered: Vec<(usize, &'static str, Vec<&'static str>, u64)>,
    listed: Vec<(usize, FoundNote)>,
    refused: Vec<(FoundNote, u64)>,
    remaining: u64,
    skips: usize,
    refused_now: bool,
    /// Notes treated like the focus note, for looking ahead.
    ignored: Vec<usize>,
}

impl<'n> Model<'n> {
    fn new(notebook: &'n Notebook, focus: usize, options: &'n ModelOptions) -> Self {
        Self {
            notebook,
            focus,
            options,
            waiting: LEVELS.map(|level| level.iter().map(|_| (VecDeque::new(), 0)).collect()),
            ring: [0; 6],
            queue: vec![("Self", focus)],
            level: 0,
            added: 0,
            turn_begun: false,
            fetched_in_round: false,
            delivered: Vec::new(),
            listed: Vec::new(),
            refused: Vec::new(),
            remaining: 0,
            skips: 0,
            refused_now: false,
            ignored: vec![focus],
        }
    }

    fn page(&mut self, budget: u64) -> Page {
        let before = self.delivered.len();
        self.remaining = budget;
        self.skips = 0;
        self.refused_now = false;
        self.offer_again();
        self.rounds();

        let mut skipped: Vec<(usize, &'static str, u64)> = Vec::new();
        for (found, cost) in &self.refused {
            let known = skipped.iter().any(|(note, ..)| *note == found.note);
            if !known && self.delivery(found.note).is_none() {
                skipped.push((found.note, found.relation, *cost));
            }
        }
        let mut ahead = self.clone();
        ahead.ignored.extend(skipped.iter().map(|(note, ..)| *note));
        ahead.refused.retain(|(found, _)| self.delivery(found.note).is_some());
        ahead.remaining = u64::MAX;
        ahead.skips = 0;
        ahead.refused_now = false;
        ahead.offer_again();
        ahead.rounds();
        let unseen = ahead.delivered.len() > self.delivered.len();

        let stuck = budget > 0 && self.delivered.len() == before && self.skips == 0;
        Page {
            related: self.delivered[before..].to_vec(),
            lists: [CHILDREN, REFERRINGS, PRIOR_SIBLINGS, YOUNGER_SIBLINGS].map(|list| {
                let mut notes: Vec<(usize, usize)> = self
                    .listed
                    .iter()
                    .filter(|(of, _)| *of == list)
                    .map(|(_, found)| (found.nth, found.note))
                    .collect();
                notes.sort_unstable();
                if list == PRIOR_SIBLINGS {
                    notes.reverse();
                }
                notes.into_iter().map(|(_, note)| note).collect()
            }),
            remaining: self.remaining,
            skipped_truncated: unseen && self.skips >= self.options.max_skips,
            more: (unseen || !skipped.is_empty()) && !stuck,
            skipped,
        }
    }

    fn offer_again(&mut self) {
        for (found, cost) in std::mem::take(&mut self.refused) {
            if self.delivery(found.note).is_some() {
                self.found_again(found);
            } else if let Some(cost) = self.affordable(found, cost) {
                self.deliver(found, cost);
            } else {
                self.refused_now = true;
                self.refused.push((found, cost));
            }
        }
    }

    fn rounds(&mut self) {
        loop {
            while self.level < 5 {
                if !self.turn_begun {
                    // Sources that the next page finds first belong to this turn.
                    if self.page_is_over() {
                        return;
                    }
                    self.turn_begun = true;
                    self.added = 0;
                    self.empty_queue();
                }
                while self.added < [4, 3, 2, 1, 1][self.level] {
                    if self.page_is_over() {
                        return;
                    }
                    let Some(found) = self.take() else { break };
                    self.fetched_in_round = true;
                    self.meet(found);
                }
                self.level += 1;
                self.turn_begun = false;
            }
            let idle = !self.fetched_in_round && self.queue.is_empty();
            self.level = 0;
            self.fetched_in_round = false;
            if idle {
                break;
            }
        }
        self.level = 5;
        while !self.page_is_over()
            && let Some(found) = self.take()
        {
            self.meet(found);
        }
        self.level = 0;
        self.added = 0;
    }

    fn page_is_over(&self) -> bool {
        let least = (self.options.price)("[]()Parent".len());
        self.remaining == 0
            || self.skips >= self.options.max_skips
            || (self.refused_now && self.remaining < least)
    }

    fn empty_queue(&mut self) {
        for (relation, source) in std::mem::take(&mut self.queue) {
            for (level, rows) in LEVELS.iter().enumerate() {
                for (slot, (name, grows_from, _)) in rows.iter().enumerate() {
                    let is_last = level + 1 == LEVELS.len();
                    let is_above = ["Parent", "NoteInContextualPath"].contains(name);
                    let is_beside = *name == "ParentSibling" && self.is_assumed();
                    let is_turn = !is_beside && (!is_above || is_last == self.is_assumed());
                    if *grows_from == relation && is_turn {
                        let relation =
                            if is_last && *name == "Linked" { "LinkedHub" } else { name };
                        let members = self.members(relation, source);
                        self.waiting[level][slot].0.extend(members);
                    }
                }
            }
        }
    }

    /// True if the parent of the focus note is only assumed.
    fn is_assumed(&self) -> bool {
        self.options.around.as_ref().is_some_and(|around| around.has_assumed_parent)
    }

    fn take(&mut self) -> Option<FoundNote> {
        let rows = LEVELS[self.level];
        for step in 0..rows.len() {
            let slot = (self.ring[self.level] + step) % rows.len();
            let (members, taken) = &mut self.waiting[self.level][slot];
            if let Some(note) = members.pop_front() {
                let nth = *taken;
                *taken += 1;
                self.ring[self.level] = (slot + 1) % rows.len();
                return Some(FoundNote { note, relation: rows[slot].0, nth });
            }
        }
        None
    }

    fn meet(&mut self, found: FoundNote) {
        if self.ignored.contains(&found.note) {
            return;
        }
        if self.delivery(found.note).is_some() {
            self.found_again(found);
            return;
        }
        let cost = self.cost(found);
        if let Some(cost) = self.affordable(found, cost) {
            // Relations that refused the note on this page are offered it again on the next one.
            self.deliver(found, cost);
            self.added += 1;
            return;
        }
        self.refused_now = true;
        let same_note = self.refused.iter().filter(|(other, _)| other.note == found.note);
        let relations: Vec<&str> = same_note.map(|(other, _)| other.relation).collect();
        if relations.is_empty() {
            self.skips += 1;
        }
        if !relations.contains(&found.relation) {
            self.refused.push((found, cost));
        }
    }

    fn deliver(&mut self, found: FoundNote, cost: u64) {
        self.remaining -= cost;
        self.delivered.push((found.note, found.relation, Vec::new(), cost));
        self.fetched(found);
    }

    fn found_again(&mut self, found: FoundNote) {
        let Some(at) = self.delivery(found.note) else { return };
        let (_, relation, also, _) = &mut self.delivered[at];
        if *relation != found.relation && !also.contains(&found.relation) {
            also.push(found.relation);
            self.fetched(found);
        }
    }

    fn fetched(&mut self, found: FoundNote) {
        if let Some(list) = fills(found.relation) {
            self.listed.push((list, found));
        }
        self.queue.push((found.relation, found.note));
    }

    fn delivery(&self, note: usize) -> Option<usize> {
        self.delivered.iter().position(|(other, ..)| *other == note)
    }

    /// Returns the cost of a note that fits, or that of as much of its text as fits. The texts are of one word, so they may be cut anywhere.
    fn affordable(&self, found: FoundNote, cost: u64) -> Option<u64> {
        if cost <= self.remaining {
            return Some(cost);
        }
        let n_chars = self.notebook.notes[found.note].details.chars().count().min(1000);
        let lengths = (200..n_chars).rev().filter(|_| self.options.around.is_some());
        lengths.map(|length| self.cost_cut_to(found, length)).find(|cost| *cost <= self.remaining)
    }

    fn cost(&self, found: FoundNote) -> u64 {
        self.cost_cut_to(found, 1000)
    }

    fn cost_cut_to(&self, found: FoundNote, length: usize) -> u64 {
        let note = &self.notebook.notes[found.note];
        let link = |at: usize| {
            let note = &self.notebook.notes[at];
            format!("[{}]({})", note.title, note.uri)
        };
        let mut parts = vec![link(found.note), found.relation.to_owned()];
        parts.push(if note.details.chars().count() > length {
            note.details.chars().take(length).chain("...".chars()).collect()
        } else {
            note.details.clone()
        });
        parts.extend(note.parent.map(link));
        parts.extend(note.object.map(link));
        if fills(found.relation).is_some() {
            parts.push(link(found.note));
        }
        if let Some(around) = &self.options.around {
            if found.relation == "TopicSibling" {
                let of_note = around.topic_siblings.iter().find(|(note, _)| *note == found.note);
                parts.extend(of_note.map(|(_, topic)| link(*topic)));
            }
            if found.relation == "Similar" {
                parts.push("0.00".to_owned());
            }
        }
        (self.options.price)(parts.concat().chars().count())
    }

    fn members(&self, relation: &str, source: usize) -> Vec<usize> {
        let notes = &self.notebook.notes;
        let around = self.options.around.as_ref();
        let folder = around.and_then(|around| around.folder.clone());
        let mut found = match relation {
            "Parent" | "ReferringSubject" => notes[source].parent.into_iter().collect(),
            "Object" | "ReifiedChildObject" => notes[source].object.into_iter().collect(),
            "Child" | "ParentSiblingChild" | "ObjectParentSiblingChild" => self.children(source),
            "PriorSibling" => {
                let mut before = folder.unwrap_or_else(|| self.siblings(source)).0;
                before.reverse();
                before
            }
            "YoungerSibling" => folder.unwrap_or_else(|| self.siblings(source)).1,
            "ReferringCousin" => {
                let (before, after) = self.siblings(source);
                [before, after].concat()
            }
            "ReferringNote" => {
                let mut found = self.by_uri(|at| notes[at].object == Some(source));
                if self.options.body_links {
                    found.extend(self.by_uri(|at| notes[at].links.contains(&source)));
                }
                found
            }
            "NoteInContextualPath" | "NoteInReferringContextualPath" => self.above(source),
            "NoteInObjectContextualPath" => {
                notes[source].object.map_or_else(Vec::new, |object| self.above(object))
            }
            "ParentSibling" => self.around_parent(Some(source)),
            "ObjectParentSibling" => self.around_parent(notes[source].object),
            "SiblingOfTarget" => {
                let object = notes[source].object;
                let wanted = self.options.sibling_of_target && object.is_some();
                self.by_uri(|at| wanted && at != source && notes[at].object == object)
            }
            "LinkedFrom" if around.is_some() => {
                let links = |at: usize| {
                    let mut links = notes[at].links.clone();
                    links.sort_unstable();
                    links.dedup();
                    links.iter().filter(|to| **to != at).count()
                };
                let mut found = self.by_uri(|at| at != source && notes[at].links.contains(&source));
                found.sort_by_key(|at| links(*at));
                found
            }
            "Linked" => around.map_or_else(Vec::new, |around| around.linked.clone()),
            "LinkedHub" => around.map_or_else(Vec::new, |around| around.linked_hubs.clone()),
            "TopicSibling" => around.map_or_else(Vec::new, |around| {
                around.topic_siblings.iter().map(|(note, _)| *note).collect()
            }),
            "Similar" => around.map_or_else(Vec::new, |around| {
                around.similar.iter().map(|(note, _)| *note).collect()
            }),
            "SameFolder" => around.map_or_else(Vec::new, |around| around.same_folder.clone()),
            "LinkedFrom" => Vec::new(),
            other => panic!("unknown relation `{other}`"),
        };
        let by_text = ["PriorSibling", "YoungerSibling", "TopicSibling"].contains(&relation);
        let has_similar = around.is_some_and(|around| !around.similar.is_empty());
        let by_links = relation == "ParentSibling" || (relation == "SameFolder" && has_similar);
        if let Some(around) = around.filter(|_| by_text || by_links) {
            found.retain(|note| {
                !around.unconnected.contains(note)
                    || (by_text && !around.far_by_text.contains(note))
            });
        }
        let stubs_last =
            ["Linked", "LinkedHub", "LinkedFrom", "TopicSibling", "Similar", "SameFolder"];
        if let Some(around) = around.filter(|_| stubs_last.contains(&relation)) {
            found.sort_by_key(|note| around.stubs.contains(note));
        }
        let present = |note: &usize| *note == self.focus || !self.options.excluded.contains(note);
        found.into_iter().filter(present).collect()
    }

    fn by_uri(&self, wanted: impl Fn(usize) -> bool) -> Vec<usize> {
        let notes = &self.notebook.notes;
        let mut found: Vec<usize> = (0..notes.len()).filter(|at| wanted(*at)).collect();
        found.sort_by_key(|at| &notes[*at].uri);
        found
    }

    fn children(&self, of: usize) -> Vec<usize> {
        let notes = &self.notebook.notes;
        let mut found = self.by_uri(|at| notes[at].parent == Some(of));
        let number = |at: usize| notes[at].order.unwrap_or(f64::INFINITY);
        found.sort_by(|a, b| number(*a).total_cmp(&number(*b)));
        found
    }

    fn siblings(&self, of: usize) -> (Vec<usize>, Vec<usize>) {
        let all =
            self.notebook.notes[of].parent.map_or_else(Vec::new, |above| self.children(above));
        match all.iter().position(|note| *note == of) {
            Some(at) => (all[..at].to_vec(), all[at + 1..].to_vec()),
            None => (Vec::new(), Vec::new()),
        }
    }

    fn above(&self, note: usize) -> Vec<usize> {
        let mut path = vec![note];
        while let Some(above) = self.notebook.notes[path[path.len() - 1]].parent
            && !path.contains(&above)
        {
            path.push(above);
        }
        path.split_off(1)
    }

    fn around_parent(&self, note: Option<usize>) -> Vec<usize> {
        let Some(parent) = note.and_then(|note| self.notebook.notes[note].parent) else {
            return Vec::new();
        };
        let (before, after) = self.siblings(parent);
        let mut found = Vec::new();
        for distance in 0..before.len().max(after.len()) {
            found.extend(before.iter().rev().nth(distance));
            found.extend(after.get(distance));
        }
        found
    }
}

fn fills(relation: &str) -> Option<usize> {
    let rows = LEVELS.iter().copied().flatten();
    rows.filter(|(name, ..)| *name == relation).find_map(|(.., list)| *list)
}
