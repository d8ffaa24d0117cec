//! The run: what is fetched while the budget lasts, and what becomes of it.

use std::collections::HashSet;

use weft_model::{Estimator, NoteId, NoteMap, Tokens};

use super::answer::{Doughnut, FocusNote, RelatedNote, SkippedNote};
use super::cost::{Costs, Texts};
use super::request::{Budget, DoughnutError, Request, Resume};
use super::rings::{Member, Rings};
use super::strategies::FocusList;
use crate::NoteGraph;

/// The focus note's state and the notes most worth reading around it, best first, within the budget.
///
/// Levels have turns of 4, 3, 2 and 1 notes in every round, so no level is drained before a lower one is heard; the order of the answer is that of delivery.
/// A note that does not fit is named among the skipped and the run goes on.
/// Deterministic; costs what it considers, whatever the size of the hubs around, plus the pages before it.
///
/// # Errors
///
/// When the focus is no note of the graph, when too many pages came before, or when it was stopped.
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

    let mut run = Run::new(graph, texts, estimator, request);
    for budget in earlier {
        run.page(*budget)?;
    }
    let mut contextual_path: Vec<NoteId> = graph.ancestors(focus).collect();
    contextual_path.reverse();
    run.credit();
    let focus_tokens = run.costs.of_focus(focus, &contextual_path, run.lists.notes());
    let (asked, budget) = match request.budget {
        Budget::Related(tokens) => (tokens, tokens),
        Budget::Window(tokens) => {
            (tokens, Tokens::new(tokens.get().saturating_sub(focus_tokens.get())))
        }
    };
    let n_earlier = run.delivered.len();
    run.page(budget)?;

    let Page { remaining, n_skips, refused: _ } = run.page;
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
        skipped_more: false,
        resume: None,
    };
    let more_unseen = run.comes_to_others_than(&answer.skipped)?;
    answer.skipped_more = more_unseen && n_skips >= request.options.max_skips.get();
    // The same budget would get nowhere again: without a next page, a loop over pages ends.
    let stuck = asked > Tokens::ZERO && answer.related_notes.is_empty() && n_skips == 0;
    let can_go_on = earlier.len() < Resume::MAX_PAGES;
    if can_go_on && !stuck && (more_unseen || !answer.skipped.is_empty()) {
        let this = (budget > Tokens::ZERO).then_some(budget);
        answer.resume = Some(earlier.iter().copied().chain(this).collect());
    }
    Ok(answer)
}

/// A run over any number of pages.
struct Run<'a> {
    focus: NoteId,
    max_skips: usize,
    stop: &'a dyn Fn() -> bool,
    /// Below it no note fits.
    least: Tokens,
    rings: Rings<'a>,
    costs: Costs<'a>,
    delivered: Vec<RelatedNote>,
    /// Where a note stands in `delivered`.
    positions: NoteMap<usize>,
    /// What did not fit so far, in the order met, no note twice by one relation; those that a cheaper relation brought since stay until the next page.
    refused: Vec<Offer>,
    lists: Lists,
    page: Page,
}

/// What changes from page to page.
#[derive(Clone, Copy, Default)]
struct Page {
    remaining: Tokens,
    /// Notes that did not fit for the first time.
    n_skips: usize,
    /// Whether any note did not fit, for the first time or again.
    refused: bool,
}

/// A member with its price.
struct Offer {
    member: Member,
    tokens: Tokens,
    truncated: bool,
}

impl<'a> Run<'a> {
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
            least: costs.least(),
            rings: Rings::new(graph, request.filter, request.focus, &request.options),
            costs,
            delivered: Vec::new(),
            positions: NoteMap::default(),
            refused: Vec::new(),
            lists: Lists::default(),
            page: Page::default(),
        }
    }

    /// Goes on where the last page stopped, at any point within a turn: first with what was refused, then in rounds.
    fn page(&mut self, budget: Tokens) -> Result<(), DoughnutError> {
        self.page = Page { remaining: budget, n_skips: 0, refused: false };
        self.credit();
        for offer in std::mem::take(&mut self.refused) {
            if !self.met_again(offer.member) && !self.deliver(&offer) {
                self.page.refused = true;
                self.refused.push(offer);
            }
        }
        while !self.is_over()
            && let Some(member) = self.next()?
        {
            self.meet(member);
        }
        Ok(())
    }

    /// Notes what was refused and came by a cheaper relation since: it is here by the dearer one, too, though not on the page that refused it.
    fn credit(&mut self) {
        for offer in std::mem::take(&mut self.refused) {
            if !self.met_again(offer.member) {
                self.refused.push(offer);
            }
        }
    }

    /// The next member in turn, unless the run is to stop.
    fn next(&mut self) -> Result<Option<Member>, DoughnutError> {
        if (self.stop)() { Err(DoughnutError::Stopped) } else { Ok(self.rings.next()) }
    }

    /// Too little for any note ends a page only after one was refused, so that the answer names what was too large.
    fn is_over(&self) -> bool {
        let Page { remaining, n_skips, refused } = self.page;
        remaining == Tokens::ZERO
            || n_skips >= self.max_skips
            || (refused && remaining < self.least)
    }

    fn meet(&mut self, member: Member) {
        let Member { note, relation, .. } = member;
        let refused =
            |offer: &Offer| offer.member.note == note && offer.member.relation == relation;
        // What was refused is not priced again: less is left than it was then.
        if note == self.focus || self.met_again(member) || self.refused.iter().any(refused) {
            return;
        }
        let (tokens, truncated) = self.costs.of(member);
        let offer = Offer { member, tokens, truncated };
        if self.deliver(&offer) {
            self.rings.added();
        } else {
            self.page.refused = true;
            // A note met by several relations is one skip; the next page offers it by each.
            let known = self.refused.iter().any(|offer| offer.member.note == note);
            self.page.n_skips += usize::from(!known);
            self.refused.push(offer);
        }
    }

    /// Notes a further relation of a delivered note, free of charge; false when it was not delivered.
    fn met_again(&mut self, member: Member) -> bool {
        let Some(&at) = self.positions.get(&member.note) else { return false };
        let RelatedNote { relation, also_relations, .. } = &mut self.delivered[at];
        if *relation != member.relation && !also_relations.contains(&member.relation) {
            also_relations.push(member.relation);
            self.fetched(member);
        }
        true
    }

    /// Notes refused and not delivered, each once, in the order met.
    fn skipped(&self) -> Vec<SkippedNote> {
        let mut seen = HashSet::new();
        self.refused
            .iter()
            .map(|Offer { member, tokens, truncated: _ }| SkippedNote {
                note: member.note,
                relation: member.relation,
                tokens: *tokens,
            })
            .filter(|skipped| {
                !self.positions.contains_key(&skipped.note) && seen.insert(skipped.note)
            })
            .collect()
    }

    /// Whether notes would be met that are neither delivered nor `skipped`. Ends the run.
    fn comes_to_others_than(mut self, skipped: &[SkippedNote]) -> Result<bool, DoughnutError> {
        let known: HashSet<NoteId> =
            skipped.iter().map(|skipped| skipped.note).chain([self.focus]).collect();
        self.credit();
        while let Some(member) = self.next()? {
            if !known.contains(&member.note) && !self.met_again(member) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Pays for a note and adds it; returns false and changes nothing when too little is left.
    fn deliver(&mut self, offer: &Offer) -> bool {
        let Offer { member, tokens, truncated } = *offer;
        if !self.page.remaining.try_spend(tokens) {
            return false;
        }
        self.positions.insert(member.note, self.delivered.len());
        self.delivered.push(RelatedNote {
            note: member.note,
            relation: member.relation,
            also_relations: Vec::new(),
            tokens,
            truncated,
        });
        self.fetched(member);
        true
    }

    /// What follows from having a note by a relation: its place in the focus note's list, and new sources.
    fn fetched(&mut self, member: Member) {
        if let Some(list) = member.fills {
            self.lists.of(list).insert(member);
        }
        self.rings.grow(member.relation, member.note);
    }
}

/// The focus note's lists as far as they were fetched.
#[derive(Default)]
struct Lists {
    children: List,
    referrings: List,
    prior_siblings: List,
    younger_siblings: List,
}

impl Lists {
    const fn of(&mut self, list: FocusList) -> &mut List {
        match list {
            FocusList::Children => &mut self.children,
            FocusList::Referrings => &mut self.referrings,
            FocusList::PriorSiblings => &mut self.prior_siblings,
            FocusList::YoungerSiblings => &mut self.younger_siblings,
        }
    }

    fn notes(&self) -> impl Iterator<Item = NoteId> + '_ {
        let Self { children, referrings, prior_siblings, younger_siblings } = self;
        [children, referrings, prior_siblings, younger_siblings].into_iter().flat_map(List::notes)
    }
}

/// Members of one relation by their place in it, which a note delivered late takes too.
#[derive(Default)]
struct List(Vec<(usize, NoteId)>);

impl List {
    fn insert(&mut self, member: Member) {
        let at = self.0.partition_point(|(nth, _)| *nth < member.nth);
        self.0.insert(at, (member.nth, member.note));
    }

    fn notes(&self) -> impl DoubleEndedIterator<Item = NoteId> + '_ {
        self.0.iter().map(|(_, note)| *note)
    }
}
