//! The driver: ranks the candidates, decides one after the other, renders what was taken.

use std::cmp::Ordering;

use weft_model::{Chars, Span, Stop, Tokens};

use crate::budget::Account;
use crate::content::Content;
use crate::matches::Query;
use crate::render::{Label, beneath};
use crate::snippet::Anchor;
use crate::{
    Candidate, Decision, Document, Item, Ledger, LeftOut, Limits, Mode, Order, PackError, Plan,
    Reason, Rendering, Request, State, Summary, cut, outline, snippet,
};

/// Packs a context and accounts for it. Equal requests give equal ledgers.
///
/// # Errors
/// See [`PackError`].
pub fn pack<D: Document>(request: Request<'_, D>) -> Result<Ledger, PackError> {
    let mut packing = Packing::new(request)?;
    let (mut items, mut left_out) = (vec![], vec![]);
    for decision in &mut packing {
        match decision {
            Decision::Taken(item) => items.push(*item),
            Decision::LeftOut(candidate) => left_out.push(candidate),
        }
    }
    Ok(Ledger { items, left_out, summary: packing.finish() })
}

/// A context in the making: yields each candidate as it is decided, focus note first, then best first.
///
/// Where the arithmetic runs in characters nothing is read ahead.
/// With an estimator that is asked for a rendered string, all is decided on creation: only the whole string can say that it fits.
pub struct Packing<'a, D> {
    ranked: Vec<Candidate<D>>,
    has_focus: bool,
    top: f64,
    query: Option<Query>,
    account: Account<'a>,
    limits: &'a Limits,
    rendering: Rendering,
    order: Order,
    run: Run,
    /// Decisions made ahead of being asked for.
    settled: Option<std::vec::IntoIter<Decision>>,
}

/// What changes while candidates are decided.
#[derive(Clone)]
struct Run {
    plan: Plan,
    n_decided: usize,
    n_structural: usize,
    /// Which of the ranked are in the context.
    taken: Vec<usize>,
    notes: Vec<String>,
}

/// How often the excess is taken off a budget before it is halved instead.
const FINE_ATTEMPTS: u32 = 4;

impl<'a, D: Document> Packing<'a, D> {
    /// Ranks the candidates: score descending, ties by uri.
    ///
    /// # Errors
    /// A score that is not finite, a setting outside its range, or an end asked for while deciding ahead.
    pub fn new(request: Request<'a, D>) -> Result<Self, PackError> {
        let Request { focus, mut candidates, query, budget, meter, limits, rendering, order, stop } =
            request;
        limits.problems().next().map_or(Ok(()), Err)?;
        let account = Account::new(budget, meter)?;
        if let Some(odd) = focus.iter().chain(&candidates).find(|odd| !odd.score.is_finite()) {
            return Err(PackError::Score { uri: odd.uri.clone(), score: odd.score });
        }
        // Finite scores are comparable, and −0 is 0.
        let best_first = |a: f64, b: f64| b.partial_cmp(&a).unwrap_or(Ordering::Equal);
        candidates.sort_by(|a, b| best_first(a.score, b.score).then_with(|| a.uri.cmp(&b.uri)));
        let best = candidates.first().into_iter().chain(&focus).map(|best| best.score);
        let top = best.reduce(f64::max).unwrap_or(0.0);
        let has_focus = focus.is_some();
        let ranked = focus.into_iter().chain(candidates).collect();
        let run = Run {
            plan: Plan::new(account.available(), limits),
            n_decided: 0,
            n_structural: 0,
            taken: vec![],
            notes: vec![],
        };
        let query = query.and_then(|text| Query::new(text, &limits.stop_words));
        let mut packing = Self {
            ranked,
            has_focus,
            top,
            query,
            account,
            limits,
            rendering,
            order,
            run,
            settled: None,
        };
        if packing.account.estimator().is_some() && rendering != Rendering::None {
            packing.settle(stop)?;
        }
        Ok(packing)
    }

    /// What can be said at the end; candidates not yet asked for are decided first.
    #[must_use]
    pub fn finish(mut self) -> Summary {
        if self.settled.is_none() {
            while self.decide().is_some() {}
        }
        let rendered = self.rendered();
        // An estimator may find more in the whole than in the parts.
        let whole = rendered.as_deref().map_or(0, |text| self.account.measure(text));
        let used = self.account.spent(self.run.plan.used().max(whole));
        let budget = self.account.budget();
        Summary {
            rendered,
            budget: budget.amount(),
            used,
            remaining: budget.amount() - used,
            unit: budget.unit(),
            ledger_unit: self.account.unit(),
        }
    }

    /// Decides everything, with ever less to spend until the estimator agrees that the whole string fits.
    ///
    /// Parts are measured alone, so each attempt is linear in the text, and tokens that are no more in the whole than in the parts need one.
    fn settle(&mut self, stop: &Stop) -> Result<(), PackError> {
        let start = self.run.clone();
        let budget = start.plan.budget();
        let (mut spendable, mut n_attempts) = (budget, 0);
        loop {
            self.run = Run { plan: start.plan.within(spendable), ..start.clone() };
            let decide = || stop.check().map(|()| self.decide()).transpose();
            let decisions = std::iter::from_fn(decide).collect::<Result<Vec<_>, _>>()?;
            let whole = self.rendered().map_or(0, |text| self.account.measure(&text));
            if whole <= budget {
                self.settled = Some(decisions.into_iter());
                return Ok(());
            }
            // With nothing to spend nothing is taken, and nothing fits any budget.
            let half = spendable.div_ceil(2);
            spendable -= if n_attempts < FINE_ATTEMPTS { half.min(whole - budget) } else { half };
            n_attempts += 1;
        }
    }

    fn rendered(&self) -> Option<String> {
        self.rendering.context(self.has_focus, self.order, &self.run.notes)
    }

    /// Decides the next candidate.
    fn decide(&mut self) -> Option<Decision> {
        let at = self.run.n_decided;
        let candidate = self.ranked.get(at)?;
        let is_focus = self.has_focus && at == 0;
        let decision = match self.consider(candidate, is_focus) {
            Ok(taken) => Decision::Taken(Box::new(self.run.take(at, taken))),
            Err(reason) => Decision::LeftOut(LeftOut {
                uri: candidate.uri.clone(),
                score: candidate.score,
                tokens: self.would_be_tokens(candidate, is_focus),
                reason,
            }),
        };
        self.run.n_decided += 1;
        Some(decision)
    }

    /// What would be taken of a candidate, or the first reason to leave it out.
    fn consider(&self, candidate: &Candidate<D>, is_focus: bool) -> Result<Taken, Reason> {
        let document = candidate.state.document().ok_or(Reason::Missing)?;
        let mode = self.mode(candidate, is_focus).ok_or(Reason::BelowThreshold)?;
        let room = if is_focus { self.run.plan.left() } else { self.run.plan.room() };
        if !self.may_fit(candidate, document, mode, room) {
            return Err(Reason::Budget);
        }
        if mode == Mode::Structural && self.run.n_structural >= self.limits.structural_cap {
            return Err(Reason::StructuralCap);
        }
        match &candidate.state {
            State::Found(_) if self.is_there(candidate, document) => Err(Reason::Duplicate),
            State::Found(_) => self.compose(candidate, document, mode, room).ok_or(Reason::Budget),
            State::Filtered(_) => Err(Reason::Filter),
            State::Missing => Err(Reason::Missing),
        }
    }

    /// Whether the same note, or one with the same text, is in the context: what was left out stands in nobody's way.
    fn is_there(&self, candidate: &Candidate<D>, document: &D) -> bool {
        self.run.taken.iter().map(|&at| &self.ranked[at]).any(|taken| {
            taken.uri == candidate.uri
                || taken.state.document().is_some_and(|taken| document.copies(taken))
        })
    }

    fn mode(&self, candidate: &Candidate<D>, is_focus: bool) -> Option<Mode> {
        if is_focus { Some(Mode::Full) } else { self.limits.bands.mode(candidate.score, self.top) }
    }

    /// Whether `room` holds the wrapper and the least text of `mode`, judged without the body.
    fn may_fit(&self, candidate: &Candidate<D>, document: &D, mode: Mode, room: u64) -> bool {
        let wrapper = self.account.measure(&self.hollow(candidate, document, mode));
        let least = match mode {
            // Tokens of parts say nothing certain about those of the whole.
            _ if self.account.estimator().is_some() => Chars(0),
            Mode::Structural => {
                let headings = document.headings();
                outline::first_line(&headings, self.limits.outline_depth, &candidate.title)
            }
            // A line break may be rendered for nothing; alone it would not be worth a note.
            Mode::Full | Mode::Snippet => document.length().min(Chars(1)),
        };
        room > 0 && wrapper.saturating_add(least.0) <= room
    }

    /// What a candidate adds to the context beside its text.
    fn hollow(&self, candidate: &Candidate<D>, document: &D, mode: Mode) -> String {
        let n_chars = document.length();
        let is_empty = n_chars == Chars(0) && mode != Mode::Structural;
        self.dressed(candidate, n_chars, &Content::hollow(mode, is_empty)).1
    }

    /// A note as it is rendered, and what it so adds to the context.
    fn dressed(
        &self,
        candidate: &Candidate<D>,
        n_chars: Chars,
        content: &Content<'_>,
    ) -> (String, String) {
        let label = Label {
            uri: candidate.uri.as_str(),
            title: &candidate.title,
            headings: beneath(&candidate.title, &content.heading_path),
            relation: candidate.relation.as_deref(),
            via: candidate.via.as_deref(),
            n_chars: n_chars.0,
            is_focus: self.has_focus && self.run.n_decided == 0,
        };
        let note = self.rendering.note(&label, content);
        let is_first = self.run.notes.is_empty();
        let addition = self.rendering.addition(self.has_focus, is_first, &note);
        (note, addition)
    }

    /// As much of the document as its mode gives and `room` holds; nothing where not even the least does.
    fn compose(
        &self,
        candidate: &Candidate<D>,
        document: &D,
        mode: Mode,
        room: u64,
    ) -> Option<Taken> {
        let (body, headings) = (document.body(), document.headings());
        let n_chars = Chars::of(&body);
        let mut fits = |content: &Content<'_>| {
            self.account.measure(&self.dressed(candidate, n_chars, content).1) <= room
        };
        let content = match mode {
            Mode::Full => {
                let n_chars = usize::try_from(n_chars.0).unwrap_or(usize::MAX);
                let guess = usize::try_from(self.account.likely_chars(room)).unwrap_or(usize::MAX);
                cut::full(&body, n_chars, guess, &mut fits)
            }
            Mode::Snippet => {
                let n_chars = u32::try_from(n_chars.0).unwrap_or(u32::MAX);
                let anchor = self.anchor(&body, n_chars, document.best_chunk());
                let size = self.limits.block_chars;
                snippet::snippet(&body, n_chars, &headings, anchor, size, &mut fits)
            }
            Mode::Structural => {
                let depth = self.limits.outline_depth;
                outline::outline(&body, &headings, depth, &candidate.title, &mut fits)
            }
        }?;
        let (note, addition) = self.dressed(candidate, n_chars, &content);
        let cost = self.account.measure(&addition);
        let text = content.text();
        let wrapper = cost.saturating_sub(self.account.measure(&text));
        let item = Item {
            uri: candidate.uri.clone(),
            title: candidate.title.clone(),
            score: candidate.score,
            mode,
            chars: Chars::of(&text),
            text,
            tokens: self.account.tokens(&addition),
            allowance: room.saturating_sub(wrapper),
            cost,
            carry_in: self.run.plan.carry(),
            carry_out: 0,
            truncated: content.truncated,
            blocks: content.spans(),
            heading_path: content.heading_path,
            relation: candidate.relation.clone(),
            via: candidate.via.clone(),
        };
        Some(Taken { item, note })
    }

    /// What a snippet of `body` shows: the query's matches, else the best chunk, else the head.
    fn anchor(&self, body: &str, n_chars: u32, best_chunk: Option<Span>) -> Anchor {
        let matches = self.query.as_ref().map_or_else(Vec::new, |query| query.matches(body));
        if !matches.is_empty() {
            return Anchor::Matches(matches);
        }
        let inside = |chunk: Span| Span::new(chunk.start.min(n_chars), chunk.end.min(n_chars));
        let chunk = best_chunk.map(inside).filter(|chunk| !chunk.is_empty());
        Anchor::Passage(chunk.unwrap_or(Span::new(0, n_chars)))
    }

    /// What a candidate left out would have cost, uncut, from its length alone; of a snippet, its first block.
    fn would_be_tokens(&self, candidate: &Candidate<D>, is_focus: bool) -> Tokens {
        let Some(document) = candidate.state.document() else {
            return Tokens::ZERO;
        };
        let mode = self.mode(candidate, is_focus).unwrap_or(Mode::Structural);
        let length = match mode {
            Mode::Full => document.length(),
            // How many matches a text has is known only to its readers; it has one block at least.
            Mode::Snippet => document.length().min(Chars(u64::from(self.limits.block_chars))),
            Mode::Structural => {
                let headings = document.headings();
                outline::length(&headings, self.limits.outline_depth, &candidate.title)
            }
        };
        self.account.tokens_unread(&self.hollow(candidate, document, mode), length)
    }
}

impl<D: Document> Iterator for Packing<'_, D> {
    type Item = Decision;

    fn next(&mut self) -> Option<Decision> {
        match &mut self.settled {
            Some(decisions) => decisions.next(),
            None => self.decide(),
        }
    }
}

/// A note about to be taken: what the ledger says of it, but for what it leaves, and how it reads.
struct Taken {
    item: Item,
    note: String,
}

impl Run {
    /// Pays for the note ranked `at` and keeps it.
    fn take(&mut self, at: usize, Taken { mut item, note }: Taken) -> Item {
        self.taken.push(at);
        self.plan.take(item.cost);
        item.carry_out = self.plan.carry();
        self.n_structural += usize::from(item.mode == Mode::Structural);
        self.notes.push(note);
        item
    }
}
