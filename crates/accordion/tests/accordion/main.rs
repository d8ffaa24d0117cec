//! Tests of the public interface: arithmetic, renderings, properties.
#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

mod arithmetic;
mod evidence;
mod properties;
mod rendering;

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::LazyLock;

use weft_accordion::{
    Candidate, CandidateState, ContextBudget, ContextLimits, Document, EvidenceSettings, Ledger,
    Meter, Order, PackRequest, PackingProfile, Rendering, pack,
};
use weft_model::text::CharCounter;
use weft_model::{Chars, Heading, Span, Stop, Uri};

/// Never stops.
pub(crate) static FOREVER: LazyLock<Stop> = LazyLock::new(Stop::default);

/// A note from a string that counts how often its body is read.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    body: String,
    headings: Vec<Heading>,
    best_chunk: Option<Span>,
    /// Pages with the same text id are copies of each other; a page without one copies none.
    text: Option<u32>,
    n_reads: Cell<usize>,
}

impl Page {
    /// Lines that start with `#` are headings; the tests put none into fences.
    pub(crate) fn new(body: impl Into<String>) -> Self {
        let body = body.into();
        let mut counter = CharCounter::new(&body);
        let mut headings = vec![];
        let mut at = 0;
        for line in body.split_inclusive('\n') {
            let written = line.trim_end_matches(['\n', '\r']);
            let level = written.bytes().take_while(|&byte| byte == b'#').count();
            if (1..=6).contains(&level) && written.as_bytes().get(level) == Some(&b' ') {
                headings.push(Heading {
                    level: u8::try_from(level).unwrap(),
                    text: written[level..].trim().to_owned(),
                    span: counter.span(at..at + written.len()),
                });
            }
            at += line.len();
        }
        Self { body, headings, best_chunk: None, text: None, n_reads: Cell::new(0) }
    }

    pub(crate) fn with_chunk(self, start: u32, end: u32) -> Self {
        Self { best_chunk: Some(Span::new(start, end)), ..self }
    }

    pub(crate) fn with_text(self, text: u32) -> Self {
        Self { text: Some(text), ..self }
    }
}

impl Document for Page {
    fn length(&self) -> Chars {
        Chars::of(&self.body)
    }

    fn body(&self) -> Cow<'_, str> {
        self.n_reads.set(self.n_reads.get() + 1);
        Cow::Borrowed(&self.body)
    }

    fn headings(&self) -> Cow<'_, [Heading]> {
        Cow::Borrowed(&self.headings)
    }

    fn best_chunk(&self) -> Option<Span> {
        self.best_chunk
    }

    fn copies(&self, other: &Self) -> bool {
        self.text.is_some() && self.text == other.text
    }
}

pub(crate) fn candidate<D>(uri: &str, score: f64, state: CandidateState<D>) -> Candidate<D> {
    Candidate { uri: Uri::new(uri), title: uri.to_owned(), score, relation: None, via: None, state }
}

/// Returns a found note named `uri`.
pub(crate) fn found(uri: &str, score: f64, body: impl Into<String>) -> Candidate<Page> {
    candidate(uri, score, CandidateState::Found(Page::new(body)))
}

/// Returns a request in characters without wrapper, query and focus.
pub(crate) fn request(
    budget_chars: u64,
    limits: &ContextLimits,
    candidates: Vec<Candidate<Page>>,
) -> PackRequest<'_, Page> {
    PackRequest {
        focus: None,
        candidates,
        query: None,
        budget: ContextBudget::Characters(Chars(budget_chars)),
        meter: Meter::default(),
        limits,
        profile: PackingProfile::Classic,
        evidence: &EvidenceSettings::DEFAULT,
        explain: false,
        rendering: Rendering::None,
        order: Order::BestFirst,
        stop: &FOREVER,
    }
}

/// Packs candidates in characters, without wrapper.
pub(crate) fn packed(budget_chars: u64, candidates: Vec<Candidate<Page>>) -> Ledger {
    pack(request(budget_chars, &ContextLimits::default(), candidates)).unwrap()
}

/// Included notes as `uri mode chars`.
pub(crate) fn taken(ledger: &Ledger) -> Vec<String> {
    ledger
        .items
        .iter()
        .map(|item| format!("{} {} {}", item.uri, item.mode.name(), item.chars.0))
        .collect()
}

/// Omitted notes as `uri reason`.
pub(crate) fn omitted(ledger: &Ledger) -> Vec<String> {
    ledger.omitted.iter().map(|out| format!("{} {}", out.uri, out.reason.name())).collect()
}
