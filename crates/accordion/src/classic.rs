//! Profile `classic`: decides one candidate after the other, best first, by its share of the top score.

use weft_model::{Chars, Span, Stop, Tokens};

use crate::budget::Account;
use crate::note_content::Content;
use crate::pack_request::RankedCandidates;
use crate::query_matches::QueryMatcher;
use crate::render::{NoteLabel, below_title};
use crate::snippet::Anchor;
use crate::{
    Candidate, CandidateState, ContextLimits, Decision, Document, Item, Mode, OmissionReason,
    OmittedNote, Order, PackError, PackRequest, Plan, Rendering, Summary, grapheme_cut, outline,
    snippet,
};

/// A context being packed. Yields the decision about each candidate, focus note first, then best first.
///
/// If the arithmetic runs in characters, candidates are decided one by one.
/// With an estimator and a rendered text, all candidates are decided on creation, because only the whole text shows whether it fits.
pub(crate) struct ClassicPacking<'a, D> {
    ranked: Vec<Candidate<D>>,
    has_focus: bool,
    top: f64,
    query: Option<QueryMatcher>,
    account: Account<'a>,
    limits: &'a ContextLimits,
    rendering: Rendering,
    order: Order,
    state: PackingState,
    /// Decisions made in advance.
    decided: Option<std::vec::IntoIter<Decision>>,
}

/// The state that changes while candidates are decided.
#[derive(Clone)]
struct PackingState {
    plan: Plan,
    n_decided: usize,
    n_structural: usize,
    /// Ranks of the included candidates.
    taken: Vec<usize>,
    notes: Vec<String>,
}

/// How many times the budget is reduced by the excess before it is halved.
const FINE_ATTEMPTS: u32 = 4;

impl<'a, D: Document> ClassicPacking<'a, D> {
    /// Ranks the candidates by score, descending, ties by uri.
    ///
    /// # Errors
    /// A score that is not finite, a setting out of range, or a cancelled request while deciding in advance.
    pub(crate) fn new(request: PackRequest<'a, D>) -> Result<Self, PackError> {
        let PackRequest {
            focus,
            candidates,
            query,
            budget,
            meter,
            limits,
            profile: _,
            evidence: _,
            explain: _,
            rendering,
            order,
            stop,
        } = request;
        limits.problems().next().map_or(Ok(()), Err)?;
        let account = Account::new(budget, meter)?;
        let RankedCandidates { ranked, has_focus, top } = RankedCandidates::new(focus, candidates)?;
        let state = PackingState {
            plan: Plan::new(account.available(), limits),
            n_decided: 0,
            n_structural: 0,
            taken: vec![],
            notes: vec![],
        };
        let query = query.and_then(|text| QueryMatcher::new(text, &limits.stop_words));
        let mut packing = Self {
            ranked,
            has_focus,
            top,
            query,
            account,
            limits,
            rendering,
            order,
            state,
            decided: None,
        };
        if packing.account.estimator().is_some() && rendering != Rendering::None {
            packing.fit_whole_text(stop)?;
        }
        Ok(packing)
    }

    /// Decides the remaining candidates and returns the totals.
    pub(crate) fn finish(mut self) -> Summary {
        if self.decided.is_none() {
            while self.decide().is_some() {}
        }
        let rendered = self.rendered();
        // An estimator may count more tokens in the whole than in its parts.
        let whole = self.measured(rendered.as_deref());
        let used = self.account.spent(self.state.plan.used().max(whole));
        let budget = self.account.budget();
        Summary {
            rendered,
            budget: budget.amount(),
            used,
            remaining: budget.amount() - used,
            unit: budget.unit(),
            ledger_unit: self.account.unit(),
            passages: vec![],
        }
    }

    /// Decides all candidates with a decreasing budget until the whole rendered text fits.
    ///
    /// Parts are measured separately, so each attempt is linear in the text. One attempt is enough unless the whole has more tokens than its parts.
    fn fit_whole_text(&mut self, stop: &Stop) -> Result<(), PackError> {
        let start = self.state.clone();
        let budget = start.plan.budget();
        let (mut spendable, mut n_attempts) = (budget, 0);
        loop {
            self.state = PackingState { plan: start.plan.within(spendable), ..start.clone() };
            let decide = || stop.check().map(|()| self.decide()).transpose();
            let decisions = std::iter::from_fn(decide).collect::<Result<Vec<_>, _>>()?;
            let whole = self.measured(self.rendered().as_deref());
            if whole <= budget {
                self.decided = Some(decisions.into_iter());
                return Ok(());
            }
            // Terminates: with no budget nothing is included, and nothing fits any budget.
            let half = spendable.div_ceil(2);
            spendable -= if n_attempts < FINE_ATTEMPTS { half.min(whole - budget) } else { half };
            n_attempts += 1;
        }
    }

    fn rendered(&self) -> Option<String> {
        self.rendering.context(self.has_focus, self.order, &self.state.notes)
    }

    /// Returns the cost of the rendered text; a document without notes costs nothing.
    fn measured(&self, rendered: Option<&str>) -> u64 {
        let rendered = rendered.filter(|_| !self.state.notes.is_empty());
        rendered.map_or(0, |text| self.account.measure(text))
    }

    /// Decides the next candidate.
    fn decide(&mut self) -> Option<Decision> {
        let at = self.state.n_decided;
        let candidate = self.ranked.get(at)?;
        let is_focus = self.has_focus && at == 0;
        let decision = match self.consider(candidate, is_focus) {
            Ok(taken) => Decision::Taken(Box::new(self.state.take(at, taken))),
            Err(reason) => Decision::Omitted(OmittedNote {
                uri: candidate.uri.clone(),
                score: candidate.score,
                tokens: self.omitted_tokens(candidate, is_focus),
                reason,
            }),
        };
        self.state.n_decided += 1;
        Some(decision)
    }

    /// Returns the composed note of a candidate, or the first reason to omit it.
    fn consider(
        &self,
        candidate: &Candidate<D>,
        is_focus: bool,
    ) -> Result<ComposedNote, OmissionReason> {
        let document = candidate.state.document().ok_or(OmissionReason::Missing)?;
        let mode = self.mode(candidate, is_focus).ok_or(OmissionReason::BelowThreshold)?;
        let room = if is_focus { self.state.plan.left() } else { self.state.plan.room() };
        if !self.may_fit(candidate, document, mode, room) {
            return Err(OmissionReason::Budget);
        }
        if mode == Mode::Structural && self.state.n_structural >= self.limits.structural_cap {
            return Err(OmissionReason::StructuralCap);
        }
        match &candidate.state {
            CandidateState::Found(_) if self.is_duplicate(candidate, document) => {
                Err(OmissionReason::Duplicate)
            }
            CandidateState::Found(_) => {
                self.compose(candidate, document, mode, room).ok_or(OmissionReason::Budget)
            }
            CandidateState::Filtered(_) => Err(OmissionReason::Filter),
            CandidateState::Missing => Err(OmissionReason::Missing),
        }
    }

    /// True if the context contains the same note or one with the same text. Omitted notes do not count.
    fn is_duplicate(&self, candidate: &Candidate<D>, document: &D) -> bool {
        self.state.taken.iter().map(|&at| &self.ranked[at]).any(|taken| {
            taken.uri == candidate.uri
                || taken.state.document().is_some_and(|taken| document.copies(taken))
        })
    }

    fn mode(&self, candidate: &Candidate<D>, is_focus: bool) -> Option<Mode> {
        if is_focus { Some(Mode::Full) } else { self.limits.bands.mode(candidate.score, self.top) }
    }

    /// True if `room` may hold the wrapper and the minimum text of `mode`, without reading the body.
    fn may_fit(&self, candidate: &Candidate<D>, document: &D, mode: Mode, room: u64) -> bool {
        let wrapper = self.account.measure(&self.wrapper(candidate, document, mode));
        let least = match mode {
            // Tokens of parts are not a bound for tokens of the whole.
            _ if self.account.estimator().is_some() => Chars(0),
            Mode::Structural => {
                let headings = document.headings();
                outline::first_line(&headings, self.limits.outline_depth, &candidate.title)
            }
            // A line break may cost nothing when rendered, but a note of it alone would be useless.
            Mode::Full | Mode::Snippet => document.length().min(Chars(1)),
        };
        room > 0 && wrapper.saturating_add(least.0) <= room
    }

    /// Returns what a candidate adds to the context besides its text.
    fn wrapper(&self, candidate: &Candidate<D>, document: &D, mode: Mode) -> String {
        let n_chars = document.length();
        let is_empty = n_chars == Chars(0) && mode != Mode::Structural;
        self.render_note(candidate, n_chars, &Content::without_text(mode, is_empty)).1
    }

    /// Returns a rendered note, and the text that it adds to the context.
    fn render_note(
        &self,
        candidate: &Candidate<D>,
        n_chars: Chars,
        content: &Content<'_>,
    ) -> (String, String) {
        let label = NoteLabel {
            uri: candidate.uri.as_str(),
            title: &candidate.title,
            headings: below_title(&candidate.title, &content.heading_path),
            relation: candidate.relation.as_deref(),
            via: candidate.via.as_deref(),
            n_chars: n_chars.0,
            is_focus: self.has_focus && self.state.n_decided == 0,
        };
        let note = self.rendering.note(&label, content);
        let is_first = self.state.notes.is_empty();
        let addition = self.rendering.addition(self.has_focus, is_first, &note);
        (note, addition)
    }

    /// Returns as much of the document as its mode allows and `room` holds; `None` if not even the minimum fits.
    fn compose(
        &self,
        candidate: &Candidate<D>,
        document: &D,
        mode: Mode,
        room: u64,
    ) -> Option<ComposedNote> {
        let (body, headings) = (document.body(), document.headings());
        let n_chars = Chars::of(&body);
        let mut fits = |content: &Content<'_>| {
            self.account.measure(&self.render_note(candidate, n_chars, content).1) <= room
        };
        let content = match mode {
            Mode::Full => {
                let n_chars = usize::try_from(n_chars.0).unwrap_or(usize::MAX);
                let guess = usize::try_from(self.account.likely_chars(room)).unwrap_or(usize::MAX);
                grapheme_cut::full(&body, n_chars, guess, &mut fits)
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
        let (note, addition) = self.render_note(candidate, n_chars, &content);
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
            carry_in: self.state.plan.carry(),
            carry_out: 0,
            truncated: content.truncated,
            blocks: content.spans(),
            heading_path: content.heading_path,
            passages: vec![],
            relation: candidate.relation.clone(),
            via: candidate.via.clone(),
        };
        Some(ComposedNote { item, note })
    }

    /// Returns the anchor of a snippet: the query's matches, else the best chunk, else the beginning.
    fn anchor(&self, body: &str, n_chars: u32, best_chunk: Option<Span>) -> Anchor {
        let matches = self.query.as_ref().map_or_else(Vec::new, |query| query.matches(body));
        if !matches.is_empty() {
            return Anchor::Matches(matches);
        }
        let inside = |chunk: Span| Span::new(chunk.start.min(n_chars), chunk.end.min(n_chars));
        let chunk = best_chunk.map(inside).filter(|chunk| !chunk.is_empty());
        Anchor::Passage(chunk.unwrap_or(Span::new(0, n_chars)))
    }

    /// Returns the cost of an omitted candidate, uncut, from its length alone; for a snippet, of its first block.
    fn omitted_tokens(&self, candidate: &Candidate<D>, is_focus: bool) -> Tokens {
        let Some(document) = candidate.state.document() else {
            return Tokens::ZERO;
        };
        let mode = self.mode(candidate, is_focus).unwrap_or(Mode::Structural);
        let length = match mode {
            Mode::Full => document.length(),
            // The number of matches is unknown without reading the text; there is at least one block.
            Mode::Snippet => document.length().min(Chars(u64::from(self.limits.block_chars))),
            Mode::Structural => {
                let headings = document.headings();
                outline::length(&headings, self.limits.outline_depth, &candidate.title)
            }
        };
        self.account.tokens_unread(&self.wrapper(candidate, document, mode), length)
    }
}

impl<D: Document> Iterator for ClassicPacking<'_, D> {
    type Item = Decision;

    fn next(&mut self) -> Option<Decision> {
        match &mut self.decided {
            Some(decisions) => decisions.next(),
            None => self.decide(),
        }
    }
}

/// A composed note: its ledger entry without the carry, and its rendered text.
struct ComposedNote {
    item: Item,
    note: String,
}

impl PackingState {
    /// Spends the cost of the note ranked `at` and includes it.
    fn take(&mut self, at: usize, ComposedNote { mut item, note }: ComposedNote) -> Item {
        self.taken.push(at);
        self.plan.take(item.cost);
        item.carry_out = self.plan.carry();
        self.n_structural += usize::from(item.mode == Mode::Structural);
        self.notes.push(note);
        item
    }
}
