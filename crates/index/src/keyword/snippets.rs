//! Snippets: the parts of a body that show why it was found.

use std::collections::HashMap;

use unicode_segmentation::GraphemeCursor;
use weft_model::Span;
use weft_model::text::CharCounter;

use super::{Analyzer, Language, QueryTerm};

/// Occurrences that are looked at; a body with more is one where nearly every line matches.
const MAX_OCCURRENCES: usize = 4096;

/// Characters that a snippet gives up at either end rather than cut a word.
const WORD_SLACK: usize = 16;

/// What a further occurrence of a word adds to a snippet's worth, as a share of the first.
const REPEAT_SHARE: f64 = 0.1;

/// How snippets are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnippetOptions {
    /// Snippets at most.
    pub max_snippets: usize,
    /// Characters of a snippet, more or less a word; touching snippets become one.
    pub chars: usize,
    /// Bytes of the body that are looked at.
    pub max_bytes: usize,
}

impl Default for SnippetOptions {
    fn default() -> Self {
        Self { max_snippets: 3, chars: 240, max_bytes: 1 << 20 }
    }
}

/// A part of a body with what matched in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// The part of the body. Begins and ends between graphemes.
    pub span: Span,
    /// The matches inside, ascending and apart, as parts of the body too.
    pub matches: Vec<Span>,
}

/// The parts of `body` in which most of `terms` stand together, in text order; none where nothing matches.
///
/// `language` is the one the note was analysed in. Pure. `O(bytes looked at)`.
#[must_use]
pub fn snippets(
    body: &str,
    language: Language,
    terms: &[QueryTerm],
    options: &SnippetOptions,
) -> Vec<Snippet> {
    let seen = &body[..body.floor_char_boundary(options.max_bytes)];
    let occurrences = occurrences(seen, language, terms);
    let mut left = occurrences.clone();
    let mut windows: Vec<Window> = Vec::new();
    for _ in 0..options.max_snippets {
        let Some((from, to)) = best_run(&left, terms, options.chars) else { break };
        let end = left[from..to].iter().map(|found| found.end).max().unwrap_or(left[from].end);
        windows.push(Window::around(body, left[from].start, end, options.chars));
        left.drain(from..to);
    }
    windows.sort_by_key(|window| window.start);
    windows.dedup_by(|next, kept| {
        let touches = next.start <= kept.end;
        if touches {
            kept.end = kept.end.max(next.end);
        }
        touches
    });
    let mut counter = CharCounter::new(body);
    windows.iter().map(|window| window.snippet(&occurrences, &mut counter)).collect()
}

/// A word of the query in the body.
#[derive(Clone, Copy, Debug)]
struct Occurrence {
    start: usize,
    end: usize,
    /// Characters of the body before it.
    start_char: usize,
    end_char: usize,
    term_idx: usize,
}

fn occurrences(body: &str, language: Language, terms: &[QueryTerm]) -> Vec<Occurrence> {
    let mut term_idxs: HashMap<&str, usize> = HashMap::new();
    for (term_idx, term) in terms.iter().enumerate() {
        for alternative in &term.alternatives {
            term_idxs.entry(alternative).or_insert(term_idx);
        }
    }
    let mut occurrences = Vec::new();
    let mut counter = CharCounter::new(body);
    Analyzer::new().analyze(body, language, |token| {
        if let Some(&term_idx) = term_idxs.get(token.term)
            && occurrences.len() < MAX_OCCURRENCES
        {
            let start_char = counter.at(token.start) as usize;
            let end_char = start_char + body[token.start..token.end].chars().count();
            occurrences.push(Occurrence {
                start: token.start,
                end: token.end,
                start_char,
                end_char,
                term_idx,
            });
        }
    });
    occurrences
}

/// The neighbouring occurrences worth most that fit into `chars` characters; the earliest of equals.
fn best_run(
    occurrences: &[Occurrence],
    terms: &[QueryTerm],
    chars: usize,
) -> Option<(usize, usize)> {
    let mut counts = vec![0_usize; terms.len()];
    let worth = |counts: &[usize]| -> f64 {
        let of = |(term, n): (&QueryTerm, &usize)| {
            if *n == 0 { 0.0 } else { term.idf * (1.0 + REPEAT_SHARE * ((n - 1) as f64).min(3.0)) }
        };
        terms.iter().zip(counts).map(of).sum()
    };
    let (mut best, mut to) = (None, 0);
    for from in 0..occurrences.len() {
        while to < occurrences.len()
            && (to == from || occurrences[to].end_char <= occurrences[from].start_char + chars)
        {
            counts[occurrences[to].term_idx] += 1;
            to += 1;
        }
        let worth = worth(&counts);
        if best.is_none_or(|(most, _, _)| worth > most) {
            best = Some((worth, from, to));
        }
        counts[occurrences[from].term_idx] -= 1;
    }
    best.map(|(_, from, to)| (from, to))
}

/// A range of bytes of the body.
struct Window {
    start: usize,
    end: usize,
}

impl Window {
    /// `start..end` with room on both sides, about `chars` characters in all, cut between words where one ends nearby.
    fn around(body: &str, start: usize, end: usize, chars: usize) -> Self {
        let room = chars.saturating_sub(body[start..end].chars().count());
        let (front, n_before) = back(body, start, room / 2);
        let (rear, n_after) = forward(body, end, room - n_before);
        let (front, _) = back(body, front, room - n_before - n_after);
        let front = match body[front..start]
            .char_indices()
            .take(WORD_SLACK)
            .find(|(_, c)| c.is_whitespace())
        {
            Some((n_bytes, c)) if front > 0 && !body[..front].ends_with(char::is_whitespace) => {
                front + n_bytes + c.len_utf8()
            }
            _ => front,
        };
        let rear = match body[end..rear]
            .char_indices()
            .rev()
            .take(WORD_SLACK)
            .find(|(_, c)| c.is_whitespace())
        {
            Some((n_bytes, _))
                if rear < body.len() && !body[rear..].starts_with(char::is_whitespace) =>
            {
                end + n_bytes
            }
            _ => rear,
        };
        Self { start: grapheme_border(body, front, false), end: grapheme_border(body, rear, true) }
    }

    fn snippet(&self, occurrences: &[Occurrence], counter: &mut CharCounter<'_>) -> Snippet {
        let start = counter.at(self.start);
        let mut matches: Vec<Span> = Vec::new();
        for occurrence in
            occurrences.iter().filter(|found| found.start >= self.start && found.end <= self.end)
        {
            let narrow = |chars: usize| u32::try_from(chars).unwrap_or(u32::MAX);
            let span = Span::new(narrow(occurrence.start_char), narrow(occurrence.end_char));
            match matches.last_mut().filter(|last| span.start < last.end) {
                Some(last) => last.end = last.end.max(span.end),
                None => matches.push(span),
            }
        }
        Snippet { span: Span::new(start, counter.at(self.end)), matches }
    }
}

/// `byte` moved back by `n` characters at most, and how many they were.
fn back(text: &str, byte: usize, n: usize) -> (usize, usize) {
    let mut moved = (byte, 0);
    for (at, _) in text[..byte].char_indices().rev().take(n) {
        moved = (at, moved.1 + 1);
    }
    moved
}

/// `byte` moved on by `n` characters at most, and how many they were.
fn forward(text: &str, byte: usize, n: usize) -> (usize, usize) {
    let mut moved = (byte, 0);
    for (at, c) in text[byte..].char_indices().take(n) {
        moved = (byte + at + c.len_utf8(), moved.1 + 1);
    }
    moved
}

/// `byte` if it lies between two graphemes, else the nearest place outwards that does.
fn grapheme_border(text: &str, byte: usize, is_end: bool) -> usize {
    let mut cursor = GraphemeCursor::new(byte, text.len(), true);
    if cursor.is_boundary(text, 0).unwrap_or(true) {
        return byte;
    }
    let border = if is_end { cursor.next_boundary(text, 0) } else { cursor.prev_boundary(text, 0) };
    border.ok().flatten().unwrap_or(byte)
}
