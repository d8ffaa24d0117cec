//! Profile `evidence`: the passages that answer best, at any budget.
//!
//! Every candidate note brings its passages, each with its evidence: how well it answers the query, 0 to 1.
//! Passages are chosen one after the other by value for their price, until nothing fits; what is left of the budget goes to sentences of further passages, then to outlines.
//! The mode of a note follows from its passages: all of them (`full`), some (`snippet`), or none, only headings (`structural`).

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashSet};
use std::ops::Range;

use weft_model::text::CharCounter;
use weft_model::{Chars, Heading, Stop, Tokens, longest};

use crate::budget::Account;
use crate::note_content::Content;
use crate::offer::{Offer, place};
use crate::outline;
use crate::pack_request::RankedCandidates;
use crate::passage_texts::PassageTexts;
use crate::query_matches::QueryMatcher;
use crate::render::{Frames, NoteLabel, RenderedNote, Shown};
use crate::sentences::{self, best_unit, units};
use crate::shown_ranges::{LineCounter, covers, runs, with_range};
use crate::{
    Candidate, CandidatePassage, CandidateState, ContextLimits, Document, EvidenceSettings, Item,
    Ledger, Mode, OmissionReason, OmittedNote, PackError, PackRequest, PackingProfile,
    PassageOutcome, PassageReport, ShownPassage, Summary,
};

/// Share of its shingles that are in the context already at which a passage counts as repeated.
const REPEATED_SHARE: f64 = 0.8;

/// Share of the budget that is spent if the candidates have enough text.
const SPENT_SHARE: f64 = 0.95;

/// Characters of a frame, for prices before it is rendered.
const FRAME_CHARS: u64 = 60;

/// Characters below which a cut passage of a further note does not pay for its frame.
const MIN_CUT_CHARS: usize = 80;

/// Number of passages, the most valuable ones, of which sentences may be shown. Later ones say little, and splitting each into sentences would take most of the time of a context.
const MAX_CUT_PASSAGES: usize = 32;

/// Attempts to bring the whole text close to the budget, if only the whole can be measured.
const N_ATTEMPTS: usize = 8;

/// A request with everything that does not depend on the budget.
struct EvidencePacking<'a, D> {
    /// The focus note, then best first.
    ranked: Vec<Candidate<D>>,
    /// Reason to omit a candidate before any choice.
    barred: Vec<Option<OmissionReason>>,
    /// The passages of each candidate; none of a candidate without a text.
    texts: Vec<PassageTexts>,
    top: f64,
    /// Evidence of the best passage of all candidates.
    best_evidence: f64,
    has_focus: bool,
    query: Option<QueryMatcher>,
    account: Account<'a>,
    limits: &'a ContextLimits,
    settings: &'a EvidenceSettings,
    frames: Frames,
    form: Form,
    stop: &'a Stop,
}

/// The form of the answer.
#[derive(Clone, Copy)]
struct Form {
    profile: PackingProfile,
    rendering: crate::Rendering,
    order: crate::Order,
    explain: bool,
}

/// Packs a context by evidence, or plainly in the order of evidence. Equal requests give equal ledgers.
pub(crate) fn pack<D: Document>(request: PackRequest<'_, D>) -> Result<Ledger, PackError> {
    let PackRequest {
        focus,
        candidates,
        query,
        budget,
        meter,
        limits,
        profile,
        evidence,
        explain,
        rendering,
        order,
        stop,
    } = request;
    limits.problems().chain(evidence.problems()).next().map_or(Ok(()), Err)?;
    let account = Account::new(budget, meter)?;
    let RankedCandidates { ranked, has_focus, top } = RankedCandidates::new(focus, candidates)?;
    let mut seen = HashSet::new();
    let barred = ranked.iter().enumerate().map(|(rank, candidate)| {
        let is_focus = has_focus && rank == 0;
        let is_below = !is_focus && (top <= 0.0 || candidate.score < evidence.floor * top);
        match &candidate.state {
            CandidateState::Missing => Some(OmissionReason::Missing),
            _ if is_below => Some(OmissionReason::BelowThreshold),
            CandidateState::Filtered(_) => Some(OmissionReason::Filter),
            CandidateState::Found(_) if !seen.insert(&candidate.uri) => {
                Some(OmissionReason::Duplicate)
            }
            CandidateState::Found(_) => None,
        }
    });
    let barred = barred.collect();
    let of_note = |it: &Candidate<D>| {
        let document = it.state.document();
        document.map_or(0.0, |it| it.passages().iter().map(|it| it.evidence).fold(0.0, f64::max))
    };
    let best_evidence = ranked.iter().map(of_note).fold(0.0, f64::max);
    let texts = ranked.iter().map(|candidate| {
        let passages = candidate.state.document().map(Document::passages);
        PassageTexts::new(&passages.unwrap_or_default())
    });
    let is_small = account.likely_chars(account.available()) < SMALL_BUDGET_CHARS;
    let packing = EvidencePacking {
        barred,
        texts: texts.collect(),
        ranked,
        top,
        best_evidence,
        has_focus,
        query: query.and_then(|text| QueryMatcher::new(text, &limits.stop_words)),
        account,
        limits,
        settings: evidence,
        frames: Frames { citations: evidence.citations, is_small },
        form: Form { profile, rendering, order, explain },
        stop,
    };
    packing.pack()
}

/// Budget in characters below which frames are kept short: 1,000 tokens.
const SMALL_BUDGET_CHARS: u64 = 3750;

/// The choices of one attempt with a given budget.
struct Attempt {
    spendable: u64,
    used: u64,
    notes: Vec<NoteChoice>,
    /// Shingles of the chosen passages.
    shingles: HashSet<u64>,
    n_structural: usize,
}

/// An attempt with its rendering.
struct RenderedAttempt {
    attempt: Attempt,
    /// The included notes, best first.
    notes: Vec<RenderedNote>,
    /// The whole context.
    rendered: Option<String>,
}

/// The choices within one note.
#[derive(Clone, Default)]
struct NoteChoice {
    outcomes: Vec<PassageOutcome>,
    /// Shown byte ranges of the body, ascending, with white space at most once between two of them.
    shown: Vec<Range<usize>>,
    /// Number of lines of its outline, if that is shown.
    outline: Option<usize>,
    n_chosen: usize,
    /// Cost of the rendered note.
    cost: u64,
    /// Amount that was left when the note was first chosen.
    allowance: u64,
    /// Raised when all priorities of the note change.
    version: u32,
}

impl NoteChoice {
    fn is_included(&self) -> bool {
        !self.shown.is_empty() || self.outline.is_some()
    }
}

impl<D: Document> EvidencePacking<'_, D> {
    fn pack(&self) -> Result<Ledger, PackError> {
        let budget = self.account.available();
        let mut best: Option<(u64, RenderedAttempt)> = None;
        let mut spendable = budget;
        for _ in 0..N_ATTEMPTS {
            let tried = self.rendered(self.attempt(spendable)?);
            // Lengths add up; only an estimator can count the whole differently from its parts.
            let estimates = self.account.estimator().is_some() && !tried.notes.is_empty();
            let whole = tried.rendered.as_deref().filter(|_| estimates);
            let is_exact = whole.is_none();
            let cost = whole.map_or(tried.attempt.used, |text| self.account.measure(text));
            if cost <= budget && best.as_ref().is_none_or(|(most, _)| cost > *most) {
                best = Some((cost, tried));
            }
            let is_spent = cost as f64 >= SPENT_SHARE * budget as f64;
            if is_exact || cost <= budget && (is_spent || spendable > 2 * budget) {
                break;
            }
            spendable = match cost.checked_sub(budget) {
                Some(excess) if excess > 0 => spendable.saturating_sub(excess + 1),
                _ => spendable + (budget - cost),
            };
        }
        let chosen = match best {
            Some((_, tried)) => tried,
            None => self.rendered(self.attempt(0)?),
        };
        Ok(self.ledger(chosen))
    }

    /// Chooses passages for at most `spendable`.
    fn attempt(&self, spendable: u64) -> Result<Attempt, PackError> {
        let notes = self.ranked.iter().map(|candidate| {
            let passages = candidate.state.document().map_or(0, |it| it.passages().len());
            NoteChoice { outcomes: vec![PassageOutcome::Budget; passages], ..NoteChoice::default() }
        });
        let mut attempt = Attempt {
            spendable,
            used: self.frame_around(),
            notes: notes.collect(),
            shingles: HashSet::new(),
            n_structural: 0,
        };
        if attempt.used > spendable {
            attempt.used = 0;
            return Ok(attempt);
        }
        if self.top > 0.0 || self.has_focus {
            self.choose(&mut attempt)?;
            if self.form.profile != PackingProfile::Plain {
                self.spend_rest(&mut attempt)?;
            }
        }
        if !attempt.notes.iter().any(NoteChoice::is_included) {
            attempt.used = 0;
        }
        Ok(attempt)
    }

    /// Returns the cost of the text around all notes.
    fn frame_around(&self) -> u64 {
        self.account.measure(&self.form.rendering.around(self.has_focus, self.frames))
    }

    fn is_focus(&self, rank: usize) -> bool {
        self.has_focus && rank == 0
    }

    /// Returns the score that the passages of a note share: that of the note, or the top score for the focus note.
    fn score(&self, rank: usize) -> f64 {
        let score = self.ranked[rank].score;
        if self.is_focus(rank) { score.max(self.top).max(f64::MIN_POSITIVE) } else { score }
    }

    /// Returns the value of a passage as the first of its note.
    fn value(&self, rank: usize, passages: &[CandidatePassage], at: usize) -> f64 {
        let best = self.best_evidence;
        let share = if best > 0.0 { passages[at].evidence / best } else { 1.0 };
        let EvidenceSettings { evidence_share, .. } = self.settings;
        self.score(rank) * (1.0 - evidence_share + evidence_share * share)
    }

    fn offer(&self, rank: usize, at: usize, choice: &NoteChoice, left: f64) -> Option<Offer> {
        let document = self.ranked[rank].state.document()?;
        let passages = document.passages();
        let priority = if self.form.profile == PackingProfile::Plain {
            passages[at].evidence
        } else {
            let frame = if choice.is_included() { 0 } else { FRAME_CHARS };
            let price = (u64::from(passages[at].span.len()) + frame).max(1) as f64;
            let n_chosen = i32::try_from(choice.n_chosen).unwrap_or(i32::MAX);
            self.value(rank, &passages, at) * self.settings.further_passages.powi(n_chosen) * left
                / price.powf(self.settings.price_exponent)
        };
        Some(Offer { priority, rank, passage: at, version: choice.version })
    }

    /// Chooses whole passages, best value for the price first, until none fits.
    fn choose(&self, attempt: &mut Attempt) -> Result<(), PackError> {
        let mut offers = BinaryHeap::new();
        for (rank, barred) in self.barred.iter().enumerate() {
            if barred.is_none() {
                self.offer_all(attempt, rank, &mut offers);
            }
        }
        if self.has_focus && self.barred[0].is_none() {
            let of_focus = offers.iter().filter(|offer| offer.rank == 0).max().copied();
            if let Some(first) = of_focus {
                self.take(attempt, first, &mut offers)?;
            }
        }
        let is_plain = self.form.profile == PackingProfile::Plain;
        if let Some(first) = self.most_valuable(&offers).filter(|_| !is_plain) {
            self.take(attempt, first, &mut offers)?;
        }
        while let Some(offer) = offers.pop() {
            self.stop.check()?;
            let choice = &attempt.notes[offer.rank];
            let is_open = choice.outcomes[offer.passage] == PassageOutcome::Budget;
            if offer.version != choice.version || !is_open {
                continue;
            }
            let price = self.account.likely_cost(self.n_chars(offer.rank, offer.passage));
            if attempt.used + price / 2 > attempt.spendable {
                continue;
            }
            if !is_plain {
                let left = 1.0 - self.repeated(attempt, offer.rank, offer.passage);
                if left < 1.0 - REPEATED_SHARE {
                    attempt.notes[offer.rank].outcomes[offer.passage] = PassageOutcome::Duplicate;
                    continue;
                }
                let choice = &attempt.notes[offer.rank];
                let now = self.offer(offer.rank, offer.passage, choice, left);
                if let Some(now) = now.filter(|now| now.priority < offer.priority)
                    && offers.peek().is_some_and(|next| now < *next)
                {
                    offers.push(now);
                    continue;
                }
            }
            self.take(attempt, offer, &mut offers)?;
        }
        Ok(())
    }

    /// Returns the offer of the most valuable passage, whatever its price: an answer that most likely is one must not give way to shorter text.
    fn most_valuable(&self, offers: &BinaryHeap<Offer>) -> Option<Offer> {
        let value = |offer: &Offer| {
            let document = self.ranked[offer.rank].state.document();
            document.map_or(0.0, |it| self.value(offer.rank, &it.passages(), offer.passage))
        };
        let valued = offers.iter().map(|offer| (value(offer), offer));
        let better = |best: (f64, _), next: (f64, _)| match best.0.total_cmp(&next.0) {
            Ordering::Less => next,
            Ordering::Equal if place(best.1) > place(next.1) => next,
            Ordering::Equal | Ordering::Greater => best,
        };
        valued.reduce(better).map(|(_, offer)| *offer)
    }

    fn offer_all(&self, attempt: &Attempt, rank: usize, offers: &mut BinaryHeap<Offer>) {
        let Some(document) = self.ranked[rank].state.document() else { return };
        let choice = &attempt.notes[rank];
        for (at, passage) in document.passages().iter().enumerate() {
            if !passage.is_bare && choice.outcomes[at] == PassageOutcome::Budget {
                offers.extend(self.offer(rank, at, choice, 1.0));
            }
        }
    }

    /// Chooses a passage if it fits, or its whole note if that is affordable.
    fn take(
        &self,
        attempt: &mut Attempt,
        offer: Offer,
        offers: &mut BinaryHeap<Offer>,
    ) -> Result<(), PackError> {
        let Offer { rank, passage, .. } = offer;
        let is_first = attempt.notes[rank].n_chosen == 0;
        if is_first && self.may_be_whole(attempt, rank) {
            let all = 0..attempt.notes[rank].outcomes.len();
            if self.show(attempt, rank, all.clone()) {
                self.chosen(attempt, rank, all);
                return Ok(());
            }
        }
        if self.show(attempt, rank, self.with_headings(rank, passage)) {
            self.chosen(attempt, rank, passage..passage + 1);
            attempt.notes[rank].version += 1;
            self.offer_all(attempt, rank, offers);
        }
        Ok(())
    }

    /// Returns the passage with the bare headings just above it.
    fn with_headings(&self, rank: usize, passage: usize) -> Range<usize> {
        let Some(document) = self.ranked[rank].state.document() else {
            return passage..passage + 1;
        };
        let passages = document.passages();
        let headings = (0..passage).rev().take_while(|at| passages[*at].is_bare).count();
        // The title is in the frame already.
        let repeats = |at: usize| {
            let span = passages[at].span;
            let heading = document.headings().iter().find(|heading| heading.span == span).cloned();
            heading.is_some_and(|heading| heading.text == self.ranked[rank].title)
        };
        let mut first = passage - headings;
        while first < passage && repeats(first) {
            first += 1;
        }
        first..passage + 1
    }

    /// True if the note is among the best and costs no more than its share: the soft limit, or what the best passages of all other notes leave.
    fn may_be_whole(&self, attempt: &Attempt, rank: usize) -> bool {
        if self.form.profile == PackingProfile::Plain {
            return false;
        }
        let candidate = &self.ranked[rank];
        let Some(document) = candidate.state.document() else { return false };
        let is_top = self.limits.bands.mode(candidate.score, self.top) == Some(Mode::Full);
        if !self.is_focus(rank) && !is_top {
            return false;
        }
        let cost = self.account.likely_cost(document.length().0 + FRAME_CHARS);
        let left = attempt.spendable - attempt.used;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of the budget is neither negative nor above it"
        )]
        let soft = (self.limits.per_note_share * attempt.spendable as f64) as u64;
        let focus_share = if self.is_focus(rank) { left / 2 } else { 0 };
        let others =
            self.barred.iter().zip(&attempt.notes).enumerate().filter(|(at, _)| *at != rank);
        let wanted =
            others.filter(|(_, (barred, choice))| barred.is_none() && choice.n_chosen == 0);
        let wanted =
            wanted.map(|(at, _)| self.account.likely_cost(self.texts[at].best_chars + FRAME_CHARS));
        let unclaimed = left.saturating_sub(wanted.sum());
        cost <= soft.max(unclaimed).max(focus_share).min(left)
    }

    fn n_chars(&self, rank: usize, passage: usize) -> u64 {
        let document = self.ranked[rank].state.document();
        document.map_or(0, |document| u64::from(document.passages()[passage].span.len()))
    }

    /// Records that passages were chosen.
    fn chosen(&self, attempt: &mut Attempt, rank: usize, passages: Range<usize>) {
        let Some(document) = self.ranked[rank].state.document() else { return };
        for at in passages {
            let choice = &mut attempt.notes[rank];
            choice.outcomes[at] = PassageOutcome::Included;
            choice.n_chosen += 1;
            attempt.shingles.extend(self.texts[rank].shingles(document, at));
        }
    }

    /// Returns the share of a passage that is in the context already.
    fn repeated(&self, attempt: &Attempt, rank: usize, passage: usize) -> f64 {
        if attempt.shingles.is_empty() {
            return 0.0;
        }
        let Some(document) = self.ranked[rank].state.document() else { return 0.0 };
        let shingles = self.texts[rank].shingles(document, passage);
        let n_known = shingles.iter().filter(|it| attempt.shingles.contains(it)).count();
        n_known as f64 / shingles.len().max(1) as f64
    }

    /// Shows further passages of a note if they fit.
    fn show(&self, attempt: &mut Attempt, rank: usize, passages: Range<usize>) -> bool {
        let Some(document) = self.ranked[rank].state.document() else { return false };
        let bytes = &self.texts[rank].bytes(document)[passages];
        let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else { return false };
        self.show_bytes(attempt, rank, first.start..last.end)
    }

    /// Shows a further part of a note's body if it fits.
    fn show_bytes(&self, attempt: &mut Attempt, rank: usize, bytes: Range<usize>) -> bool {
        let Some(cost) = self.cost_with(attempt, rank, bytes.clone()) else { return false };
        let left = attempt.spendable - attempt.used;
        let choice = &mut attempt.notes[rank];
        if !choice.is_included() {
            choice.allowance = left;
        }
        attempt.used = attempt.used - choice.cost + cost;
        choice.cost = cost;
        if let Some(document) = self.ranked[rank].state.document() {
            choice.shown = with_range(&document.body(), &choice.shown, bytes);
        }
        true
    }

    /// Returns the cost of a note with a further part of its body; `None` if that does not fit.
    fn cost_with(&self, attempt: &Attempt, rank: usize, bytes: Range<usize>) -> Option<u64> {
        let document = self.ranked[rank].state.document()?;
        let choice = &attempt.notes[rank];
        let shown = with_range(&document.body(), &choice.shown, bytes);
        let cost = self.cost(&self.note(rank, document, &shown, None, rank + 1));
        (attempt.used - choice.cost + cost <= attempt.spendable).then_some(cost)
    }

    /// Returns the cost of a note with the text that separates it from the previous one.
    fn cost(&self, note: &RenderedNote) -> u64 {
        let between = self.form.rendering.between();
        self.account.measure(&format!("{between}{}", note.text))
            + self.account.measure(&note.source)
    }

    /// Renders a note with these parts of its body, or with the first `n_lines` of its outline.
    fn note(
        &self,
        rank: usize,
        document: &D,
        shown: &[Range<usize>],
        n_lines: Option<usize>,
        number: usize,
    ) -> RenderedNote {
        let candidate = &self.ranked[rank];
        let label = NoteLabel {
            uri: candidate.uri.as_str(),
            title: &candidate.title,
            headings: &[],
            relation: candidate.relation.as_deref(),
            via: candidate.via.as_deref(),
            n_chars: 0,
            is_focus: self.is_focus(rank),
        };
        let (body, headings) = (document.body(), document.headings());
        if let Some(n_lines) = n_lines {
            let mut fits = |content: &Content<'_>| content.excerpts.len() <= n_lines;
            let (depth, title) = (self.limits.outline_depth, &candidate.title);
            let content = outline::outline(&body, &headings, depth, title, &mut fits);
            let Some(content) = content else { return RenderedNote::default() };
            return self.form.rendering.passages(
                &label,
                Shown::Outline(&content),
                self.frames,
                number,
            );
        }
        let runs = runs(&body, &headings, &candidate.title, shown);
        self.form.rendering.passages(&label, Shown::Runs(&runs), self.frames, number)
    }

    /// Spends what whole passages left: on sentences of further passages, on outlines, then on words.
    fn spend_rest(&self, attempt: &mut Attempt) -> Result<(), PackError> {
        let mut open = self.open_passages(attempt);
        for (rank, passage) in open.iter().take(MAX_CUT_PASSAGES) {
            self.stop.check()?;
            if attempt.spendable.saturating_sub(attempt.used) == 0 {
                return Ok(());
            }
            self.show_sentences(attempt, *rank, *passage);
        }
        if !attempt.notes.iter().any(NoteChoice::is_included)
            && let Some((rank, passage)) = open.first()
        {
            // Some text says more than headings.
            self.show_words(attempt, *rank, *passage);
        }
        self.add_outlines(attempt)?;
        let enough = SPENT_SHARE * attempt.spendable as f64;
        open.retain(|(rank, _)| attempt.notes[*rank].outline.is_none());
        // Notes in the context need no further frame.
        open.sort_by_key(|(rank, _)| !attempt.notes[*rank].is_included());
        for (rank, passage) in open {
            self.stop.check()?;
            if attempt.used as f64 >= enough {
                break;
            }
            self.show_words(attempt, rank, passage);
        }
        Ok(())
    }

    /// Returns the passages that were not chosen, most valuable first.
    fn open_passages(&self, attempt: &Attempt) -> Vec<(usize, usize)> {
        let mut open = Vec::new();
        for (rank, choice) in attempt.notes.iter().enumerate() {
            if self.barred[rank].is_some() {
                continue;
            }
            let Some(document) = self.ranked[rank].state.document() else { continue };
            let passages = document.passages();
            for (at, outcome) in choice.outcomes.iter().enumerate() {
                if *outcome == PassageOutcome::Budget && !passages[at].is_bare {
                    open.push((self.value(rank, &passages, at), rank, at));
                }
            }
        }
        open.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
        open.into_iter().map(|(_, rank, at)| (rank, at)).collect()
    }

    /// Shows the best sentence of a passage, and as many around it as fit.
    fn show_sentences(&self, attempt: &mut Attempt, rank: usize, passage: usize) {
        let left = attempt.spendable.saturating_sub(attempt.used);
        let is_included = attempt.notes[rank].is_included();
        let least = if is_included { 1 } else { MIN_CUT_CHARS as u64 + FRAME_CHARS };
        if self.account.likely_chars(left) < least {
            return;
        }
        let Some(document) = self.ranked[rank].state.document() else { return };
        let body = document.body();
        let range = self.texts[rank].bytes(document)[passage].clone();
        let units = units(&body, range.clone());
        let matches = self.query.as_ref().map(|query| query.matches(&body[range.clone()]));
        let starts = matches.unwrap_or_default();
        let Some(best) = best_unit(&body, &units, range.start, &starts) else { return };
        let fits = |from: usize, to: usize| {
            self.cost_with(attempt, rank, units[from].start..units[to].end).is_some()
        };
        if !fits(best, best) {
            return;
        }
        let (mut from, mut to) = (best, best);
        loop {
            let below = to + 1 < units.len() && fits(from, to + 1);
            to += usize::from(below);
            let above = from > 0 && fits(from - 1, to);
            from -= usize::from(above);
            if !below && !above {
                break;
            }
        }
        let bytes = units[from].start..units[to].end;
        let is_long = body[bytes.clone()].chars().count() >= MIN_CUT_CHARS || bytes == range;
        if (is_included || is_long) && self.show_bytes(attempt, rank, bytes.clone()) {
            let choice = &mut attempt.notes[rank];
            let is_whole = covers(&body, &choice.shown, &range);
            choice.outcomes[passage] =
                if is_whole { PassageOutcome::Included } else { PassageOutcome::Cut };
            choice.n_chosen += 1;
        }
    }

    /// Shows as many words of a passage as fit, from its beginning or from where it was cut.
    fn show_words(&self, attempt: &mut Attempt, rank: usize, passage: usize) {
        let Some(document) = self.ranked[rank].state.document() else { return };
        let body = document.body();
        let range = self.texts[rank].bytes(document)[passage].clone();
        let within = |shown: &&Range<usize>| range.start <= shown.start && shown.end <= range.end;
        let start = attempt.notes[rank].shown.iter().filter(within).map(|shown| shown.end).max();
        let start = start.unwrap_or(range.start);
        let ends = sentences::word_ends(&body, start..range.end);
        let left = attempt.spendable.saturating_sub(attempt.used);
        let guess = usize::try_from(self.account.likely_chars(left) / 6).unwrap_or(usize::MAX);
        let n_words = longest(ends.len(), guess.max(1), |n| {
            self.cost_with(attempt, rank, start..ends[n - 1]).is_some()
        });
        if n_words > 0 && self.show_bytes(attempt, rank, start..ends[n_words - 1]) {
            let choice = &mut attempt.notes[rank];
            let is_whole = n_words == ends.len() && start == range.start;
            choice.outcomes[passage] =
                if is_whole { PassageOutcome::Included } else { PassageOutcome::Cut };
            choice.n_chosen += 1;
        }
    }

    /// Adds the headings of notes of which nothing is shown.
    fn add_outlines(&self, attempt: &mut Attempt) -> Result<(), PackError> {
        for rank in 0..self.ranked.len() {
            self.stop.check()?;
            if attempt.n_structural >= self.limits.structural_cap {
                break;
            }
            let choice = &attempt.notes[rank];
            let has_duplicate = choice.outcomes.contains(&PassageOutcome::Duplicate);
            if self.barred[rank].is_some() || choice.is_included() || has_duplicate {
                continue;
            }
            let Some(document) = self.ranked[rank].state.document() else { continue };
            let headings = document.headings();
            let left = attempt.spendable - attempt.used;
            let depth = self.limits.outline_depth;
            let n_all = headings.iter().filter(|heading| heading.level <= depth).count().max(1);
            let cost = |n: usize| self.cost(&self.note(rank, document, &[], Some(n), rank + 1));
            let n_lines = longest(n_all, n_all, |n| cost(n) <= left);
            if n_lines > 0 {
                let cost = cost(n_lines);
                let choice = &mut attempt.notes[rank];
                (choice.outline, choice.cost, choice.allowance) = (Some(n_lines), cost, left);
                attempt.used += cost;
                attempt.n_structural += 1;
            }
        }
        Ok(())
    }

    /// Renders an attempt.
    fn rendered(&self, attempt: Attempt) -> RenderedAttempt {
        let included = attempt.notes.iter().enumerate().filter(|(_, it)| it.is_included());
        let numbered = included.zip(1..);
        let render = |((rank, choice), number): ((usize, &NoteChoice), usize)| {
            let document = self.ranked[rank].state.document()?;
            Some(self.note(rank, document, &choice.shown, choice.outline, number))
        };
        let notes: Vec<RenderedNote> = numbered.filter_map(render).collect();
        let Form { rendering, order, .. } = self.form;
        let rendered = rendering.context_of_passages(self.has_focus, order, self.frames, &notes);
        RenderedAttempt { attempt, notes, rendered }
    }

    fn ledger(&self, chosen: RenderedAttempt) -> Ledger {
        let RenderedAttempt { attempt, notes, rendered } = chosen;
        let (mut items, mut omitted, mut reports) = (vec![], vec![], vec![]);
        let mut rendered_notes = notes.iter();
        let mut total = 0;
        for (rank, choice) in attempt.notes.iter().enumerate() {
            if self.form.explain {
                self.report(rank, choice, &mut reports);
            }
            if !choice.is_included() {
                omitted.push(self.omitted(rank, choice, &attempt));
                continue;
            }
            let Some(note) = rendered_notes.next() else { continue };
            // The first note pays for the text around all notes, the others for the text before them.
            let beside = if items.is_empty() {
                self.form.rendering.around(self.has_focus, self.frames)
            } else {
                self.form.rendering.between().to_owned()
            };
            let whole = format!("{beside}{}{}", note.text, note.source);
            let cost = self.account.measure(&whole);
            total += cost;
            items.extend(self.item(rank, choice, cost, self.account.tokens(&whole)));
        }
        // An estimator may count fewer or more tokens in the whole than in its parts.
        let measured = |text| if notes.is_empty() { 0 } else { self.account.measure(text) };
        let whole = rendered.as_deref().map(measured);
        let used = self.account.spent(whole.unwrap_or(total));
        let budget = self.account.budget();
        let summary = Summary {
            rendered,
            budget: budget.amount(),
            used,
            remaining: budget.amount().saturating_sub(used),
            unit: budget.unit(),
            ledger_unit: self.account.unit(),
            passages: reports,
        };
        Ledger { items, omitted, summary }
    }

    fn report(&self, rank: usize, choice: &NoteChoice, reports: &mut Vec<PassageReport>) {
        let candidate = &self.ranked[rank];
        let Some(document) = candidate.state.document() else { return };
        if self.barred[rank].is_some() {
            return;
        }
        let (passages, headings) = (document.passages(), document.headings());
        for (at, passage) in passages.iter().enumerate().filter(|(_, passage)| !passage.is_bare) {
            reports.push(PassageReport {
                uri: candidate.uri.clone(),
                span: passage.span,
                heading_path: Heading::path(&headings, passage.span.start),
                evidence: passage.evidence,
                value: self.value(rank, &passages, at),
                tokens: self.account.tokens_unread("", Chars(u64::from(passage.span.len()))),
                outcome: choice.outcomes[at],
            });
        }
    }

    fn item(&self, rank: usize, choice: &NoteChoice, cost: u64, tokens: Tokens) -> Option<Item> {
        let candidate = &self.ranked[rank];
        let document = candidate.state.document()?;
        let (body, headings, passages) =
            (document.body(), document.headings(), document.passages());
        let item = Item {
            uri: candidate.uri.clone(),
            title: candidate.title.clone(),
            score: candidate.score,
            mode: Mode::Structural,
            text: String::new(),
            chars: Chars(0),
            tokens,
            allowance: 0,
            cost,
            carry_in: 0,
            carry_out: 0,
            truncated: false,
            blocks: vec![],
            heading_path: vec![],
            passages: vec![],
            relation: candidate.relation.clone(),
            via: candidate.via.clone(),
        };
        let mut item = if let Some(n_lines) = choice.outline {
            let mut fits = |content: &Content<'_>| content.excerpts.len() <= n_lines;
            let depth = self.limits.outline_depth;
            let content = outline::outline(&body, &headings, depth, &candidate.title, &mut fits)?;
            let (text, blocks) = (content.text(), content.spans());
            Item { text, blocks, truncated: content.truncated, ..item }
        } else {
            let mut counter = CharCounter::new(&body);
            let mut lines = LineCounter::default();
            let shown = choice.shown.iter().map(|bytes| {
                let span = counter.span(bytes.clone());
                let inside = passages.iter().filter(|passage| {
                    passage.span.start < span.end && span.start < passage.span.end
                });
                ShownPassage {
                    span,
                    first_line: lines.line(&body, bytes.start),
                    last_line: lines.line(&body, bytes.end),
                    heading_path: Heading::path(&headings, span.start),
                    evidence: inside.map(|passage| passage.evidence).fold(0.0, f64::max),
                }
            });
            let shown: Vec<ShownPassage> = shown.collect();
            let is_whole = covers(&body, &choice.shown, &(0..body.len()));
            let texts = choice.shown.iter().map(|bytes| &body[bytes.clone()]);
            Item {
                mode: if is_whole { Mode::Full } else { Mode::Snippet },
                text: texts.collect(),
                truncated: choice.outcomes.contains(&PassageOutcome::Cut),
                blocks: shown.iter().map(|passage| passage.span).collect(),
                heading_path: shown.first().map(|it| it.heading_path.clone()).unwrap_or_default(),
                passages: shown,
                ..item
            }
        };
        item.chars = Chars::of(&item.text);
        let wrapper = cost.saturating_sub(self.account.measure(&item.text));
        item.allowance = choice.allowance.saturating_sub(wrapper);
        Some(item)
    }

    fn omitted(&self, rank: usize, choice: &NoteChoice, attempt: &Attempt) -> OmittedNote {
        let candidate = &self.ranked[rank];
        let reason = self.barred[rank].unwrap_or_else(|| {
            let is_capped = attempt.n_structural >= self.limits.structural_cap;
            let is_repeated = choice.outcomes.contains(&PassageOutcome::Duplicate);
            let has_room = attempt.used < attempt.spendable;
            match (is_repeated, is_capped && has_room) {
                (true, _) => OmissionReason::Duplicate,
                (false, true) => OmissionReason::StructuralCap,
                (false, false) => OmissionReason::Budget,
            }
        });
        let is_known = candidate.state.document().is_some();
        let tokens = if is_known {
            self.account.tokens_unread("", Chars(self.texts[rank].best_chars + FRAME_CHARS))
        } else {
            Tokens::ZERO
        };
        OmittedNote { uri: candidate.uri.clone(), score: candidate.score, tokens, reason }
    }
}
