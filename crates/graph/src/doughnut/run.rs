//! Run: fetches notes while the budget lasts.

use std::collections::HashSet;

use weft_model::{Estimator, NoteId, NoteMap, Tokens};

use super::answer::{Doughnut, FocusNote, RelatedNote, SkippedNote};
use super::cost::{Costs, TRUNCATE_LENGTH, Texts};
use super::request::{Budget, DoughnutError, Request, Resume};
use super::rings::{Member, Rings};
use super::strategies::FocusList;
use super::surroundings::Reason;
use crate::NoteGraph;

/// Returns the focus note with its lists and the most relevant notes around it, best first, within the budget.
///
/// Every round gives the levels turns of 4, 3, 2 and 1 notes, so low levels are served before high levels are exhausted. The result is in delivery order.
/// A note that does not fit is reported as skipped, and the run continues. With [`Relations::Auto`](super::Relations::Auto), its text is cut to the rest of the budget instead if enough of it remains.
/// Deterministic. Costs the notes considered plus the replayed pages, independent of the size of nearby hubs.
///
/// # Errors
///
/// The focus is not a note of the graph, there are too many earlier pages, or the run was stopped.
pub fn doughnut(
    graph: &NoteGraph,
    texts: &dyn Texts,
    estimator: &dyn Estimator,
    request: &Request<'_>,
) -> Result<Doughnut, DoughnutError> {
    let focus = request.focus;
    if !graph.contains(focus) || graph.is_placeholder(focus) {
        return Err(DoughnutError::UnknownFocus { focus });
    }
    let earlier = request.resume.map_or(&[][..], Resume::budgets);
    if earlier.len() > Resume::MAX_PAGES {
        return Err(DoughnutError::TooManyPages { n_pages: earlier.len() });
    }

    let mut run = DoughnutRun::new(graph, texts, estimator, request);
    for budget in earlier {
        run.page(*budget)?;
    }
    let mut contextual_path: Vec<NoteId> = graph.ancestors(focus).collect();
    contextual_path.reverse();
    run.credit();
    let focus_tokens = run.costs.of_focus(focus, &contextual_path, run.lists.notes());
    let (asked, budget) = match request.budget {
        Budget::Related(tokens) => (tokens, tokens),
        Budget::Total(tokens) => {
            (tokens, Tokens::new(tokens.get().saturating_sub(focus_tokens.get())))
        }
    };
    let n_earlier = run.delivered.len();
    run.page(budget)?;

    let PageState { remaining, n_skips, refused: _ } = run.page;
    let mut answer = Doughnut {
        focus_note: FocusNote {
            note: focus,
            parent: graph.parent(focus),
            object: graph.object(focus),
            contextual_path,
            children: run.lists.children.notes().collect(),
            referrings: run.lists.referrings.notes().collect(),
            prior_siblings: run.lists.prior_siblings.notes().rev().collect(),
            younger_siblings: run.lists.younger_siblings.notes().collect(),
        },
        related_notes: run.delivered[n_earlier..].to_vec(),
        budget,
        used: Tokens::new(budget.get() - remaining.get()),
        remaining,
        focus_tokens,
        skipped: run.skipped(),
        skipped_truncated: false,
        resume: None,
    };
    let more_unseen = run.finds_more_than(&answer.skipped)?;
    answer.skipped_truncated = more_unseen && n_skips >= request.options.max_skips.get();
    // The same budget would fail again: without a next page, a client's loop over pages ends.
    let stuck = asked > Tokens::ZERO && answer.related_notes.is_empty() && n_skips == 0;
    let can_go_on = earlier.len() < Resume::MAX_PAGES;
    if can_go_on && !stuck && (more_unseen || !answer.skipped.is_empty()) {
        let this = (budget > Tokens::ZERO).then_some(budget);
        answer.resume = Some(earlier.iter().copied().chain(this).collect());
    }
    Ok(answer)
}

/// State of a run over any number of pages.
struct DoughnutRun<'a> {
    focus: NoteId,
    max_skips: usize,
    stop: &'a dyn Fn() -> bool,
    /// True if a text may be cut to the rest of the budget.
    cuts: bool,
    /// Minimum cost of any note.
    least: Tokens,
    rings: Rings<'a>,
    costs: Costs<'a>,
    delivered: Vec<RelatedNote>,
    /// Position of each note in `delivered`.
    positions: NoteMap<usize>,
    /// Notes that did not fit, in discovery order, each once per relation. Those delivered by a cheaper relation since stay until the next page.
    refused: Vec<PricedMember>,
    lists: FocusLists,
    page: PageState,
}

/// State of the current page.
#[derive(Clone, Copy, Default)]
struct PageState {
    remaining: Tokens,
    /// Number of notes that did not fit for the first time.
    n_skips: usize,
    /// True if any note did not fit, for the first time or again.
    refused: bool,
}

/// A member with its cost.
struct PricedMember {
    member: Member,
    tokens: Tokens,
    truncated: bool,
}

impl<'a> DoughnutRun<'a> {
    fn new(
        graph: &'a NoteGraph,
        texts: &'a dyn Texts,
        estimator: &'a dyn Estimator,
        request: &Request<'a>,
    ) -> Self {
        let costs = Costs::new(graph, texts, estimator);
        Self {
            focus: request.focus,
            max_skips: request.options.max_skips.get(),
            stop: request.stop,
            cuts: request.is_auto(),
            least: costs.least(),
            rings: Rings::new(graph, request),
            costs,
            delivered: Vec::new(),
            positions: NoteMap::default(),
            refused: Vec::new(),
            lists: FocusLists::default(),
            page: PageState::default(),
        }
    }

    /// Resumes at any point within a turn: first the refused members, then further rounds.
    fn page(&mut self, budget: Tokens) -> Result<(), DoughnutError> {
        self.page = PageState { remaining: budget, n_skips: 0, refused: false };
        self.credit();
        for priced in std::mem::take(&mut self.refused) {
            if !self.add_relation(priced.member) && !self.deliver(&priced) {
                self.page.refused = true;
                self.refused.push(priced);
            }
        }
        while !self.is_over()
            && let Some(member) = self.next()?
        {
            self.meet(member);
        }
        Ok(())
    }

    /// Credits refused members that a cheaper relation has delivered since: they count for the more expensive relation too, though not on the page that refused them.
    fn credit(&mut self) {
        for priced in std::mem::take(&mut self.refused) {
            if !self.add_relation(priced.member) {
                self.refused.push(priced);
            }
        }
    }

    /// Returns the next member in turn; fails if the run was stopped.
    fn next(&mut self) -> Result<Option<Member>, DoughnutError> {
        if (self.stop)() { Err(DoughnutError::Stopped) } else { Ok(self.rings.next()) }
    }

    /// A remainder too small for any note ends a page only after a note was refused, so that the response names the notes that did not fit.
    fn is_over(&self) -> bool {
        let PageState { remaining, n_skips, refused } = self.page;
        remaining == Tokens::ZERO
            || n_skips >= self.max_skips
            || (refused && remaining < self.least)
    }

    fn meet(&mut self, member: Member) {
        let Member { note, relation, .. } = member;
        let refused = |priced: &PricedMember| {
            priced.member.note == note && priced.member.relation == relation
        };
        // A refused member is not priced again: the remaining budget has only shrunk.
        if note == self.focus || self.add_relation(member) || self.refused.iter().any(refused) {
            return;
        }
        let (tokens, truncated) = self.costs.of(member);
        let priced = PricedMember { member, tokens, truncated };
        if self.deliver(&priced) {
            self.rings.added();
        } else {
            self.page.refused = true;
            // A note found by several relations counts as one skip; the next page offers it by each.
            let known = self.refused.iter().any(|priced| priced.member.note == note);
            self.page.n_skips += usize::from(!known);
            self.refused.push(priced);
        }
    }

    /// Adds a further relation to a delivered note, free of charge; returns false if the note was not delivered.
    fn add_relation(&mut self, member: Member) -> bool {
        let Some(&at) = self.positions.get(&member.note) else { return false };
        let RelatedNote { relation, also_relations, also_topic, .. } = &mut self.delivered[at];
        if *relation != member.relation && !also_relations.contains(&member.relation) {
            also_relations.push(member.relation);
            if let Some(Reason::Topic(topic)) = member.reason {
                *also_topic = Some(topic);
            }
            self.record_fetched(member);
        }
        true
    }

    /// Returns the refused notes that were not delivered, each once, in discovery order.
    fn skipped(&self) -> Vec<SkippedNote> {
        let mut seen = HashSet::new();
        self.refused
            .iter()
            .map(|PricedMember { member, tokens, truncated: _ }| SkippedNote {
                note: member.note,
                relation: member.relation,
                tokens: *tokens,
            })
            .filter(|skipped| {
                !self.positions.contains_key(&skipped.note) && seen.insert(skipped.note)
            })
            .collect()
    }

    /// Returns true if the run would find notes that are neither delivered nor `skipped`. Consumes the run.
    fn finds_more_than(mut self, skipped: &[SkippedNote]) -> Result<bool, DoughnutError> {
        let known: HashSet<NoteId> =
            skipped.iter().map(|skipped| skipped.note).chain([self.focus]).collect();
        self.credit();
        while let Some(member) = self.next()? {
            if !known.contains(&member.note) && !self.add_relation(member) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Pays for a note, cut to the remaining budget if it may be, and adds it; returns false and changes nothing if the budget is too small.
    fn deliver(&mut self, priced: &PricedMember) -> bool {
        let PricedMember { member, tokens, truncated } = *priced;
        let (max_chars, tokens, truncated) = if tokens <= self.page.remaining {
            (TRUNCATE_LENGTH, tokens, truncated)
        } else if self.cuts
            && let Some((max_chars, tokens)) = self.costs.cut(member, self.page.remaining)
        {
            (max_chars, tokens, true)
        } else {
            return false;
        };
        if !self.page.remaining.try_spend(tokens) {
            return false;
        }
        self.positions.insert(member.note, self.delivered.len());
        self.delivered.push(RelatedNote {
            note: member.note,
            relation: member.relation,
            level: member.level,
            also_relations: Vec::new(),
            reason: member.reason,
            also_topic: None,
            max_chars,
            tokens,
            truncated,
        });
        self.record_fetched(member);
        true
    }

    /// Adds a fetched member to the focus note's list and as a new source.
    fn record_fetched(&mut self, member: Member) {
        if let Some(list) = member.fills {
            self.lists.of(list).insert(member);
        }
        self.rings.grow(member.relation, member.note);
    }
}

/// Lists of the focus note, as far as they were fetched.
#[derive(Default)]
struct FocusLists {
    children: FetchedList,
    referrings: FetchedList,
    prior_siblings: FetchedList,
    younger_siblings: FetchedList,
}

impl FocusLists {
    const fn of(&mut self, list: FocusList) -> &mut FetchedList {
        match list {
            FocusList::Children => &mut self.children,
            FocusList::Referrings => &mut self.referrings,
            FocusList::PriorSiblings => &mut self.prior_siblings,
            FocusList::YoungerSiblings => &mut self.younger_siblings,
        }
    }

    fn notes(&self) -> impl Iterator<Item = NoteId> + '_ {
        let Self { children, referrings, prior_siblings, younger_siblings } = self;
        [children, referrings, prior_siblings, younger_siblings]
            .into_iter()
            .flat_map(FetchedList::notes)
    }
}

/// Members of one relation by their position in it; a note delivered late takes its true position too.
#[derive(Default)]
struct FetchedList(Vec<(usize, NoteId)>);

impl FetchedList {
    fn insert(&mut self, member: Member) {
        let at = self.0.partition_point(|(nth, _)| *nth < member.nth);
        self.0.insert(at, (member.nth, member.note));
    }

    fn notes(&self) -> impl DoubleEndedIterator<Item = NoteId> + '_ {
        self.0.iter().map(|(_, note)| *note)
    }
}
