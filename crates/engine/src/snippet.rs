//! Snippets: the parts of a body that answer a query.

use std::collections::HashMap;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;
use weft_index::keyword::{KeywordQuery, Language, Token};
use weft_index::notes::NoteEntry;
use weft_model::text::CharCounter;
use weft_model::{Heading, Span};

use crate::analyzers::Analyzers;

/// A part of a body, cut at words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// The text, exactly as it stands in the body.
    pub text: String,
    /// Its first character in the body.
    pub start: u32,
    /// The first character after it.
    pub end: u32,
    /// The words of the query in it, as character ranges of the body.
    pub matches: Vec<(u32, u32)>,
    /// The headings above it, outermost first.
    pub heading_path: Vec<String>,
}

/// Bytes of a body that are searched for matches; of longer ones, those around the best chunk.
const MAX_SEARCHED_BYTES: usize = 256 << 10;

/// A word of the query in the body.
struct Match {
    start: usize,
    end: usize,
    term: usize,
}

/// The forms that answer a query's words, each with the place of its word among them.
struct Wanted<'q> {
    forms: HashMap<&'q str, usize>,
    /// A bit for each outline of a form: nearly every word of a text is told by its outline to be none of them.
    outlines: u64,
}

impl<'q> Wanted<'q> {
    fn new(query: &'q KeywordQuery) -> Self {
        let mut forms = HashMap::new();
        for (term, at) in query.terms().iter().zip(0..) {
            for alternative in &term.alternatives {
                forms.entry(&**alternative).or_insert(at);
            }
        }
        let outlines = forms.keys().fold(0, |outlines, form| outlines | outline(form));
        Self { forms, outlines }
    }

    fn place(&self, form: &str) -> Option<usize> {
        if self.outlines & outline(form) == 0 {
            return None;
        }
        self.forms.get(form).copied()
    }
}

/// One bit of 64 by a form's first and last byte and its length.
fn outline(form: &str) -> u64 {
    let bytes = form.as_bytes();
    let (first, last) = (bytes.first().copied().unwrap_or(0), bytes.last().copied().unwrap_or(0));
    1 << ((usize::from(first) + 5 * usize::from(last) + 11 * bytes.len()) % 64)
}

/// Cuts the snippets of one query.
pub(crate) struct Cutter<'q> {
    query: &'q KeywordQuery,
    wanted: Wanted<'q>,
    analyzers: &'q Analyzers,
    /// Snippets of a note at most.
    n: usize,
    /// Characters of a snippet at most.
    chars: usize,
}

impl<'q> Cutter<'q> {
    /// Cuts at most `n` snippets of a note, of at most `chars` characters each.
    pub(crate) fn new(
        query: &'q KeywordQuery,
        analyzers: &'q Analyzers,
        n: usize,
        chars: usize,
    ) -> Self {
        Self { query, wanted: Wanted::new(query), analyzers, n, chars }
    }

    /// The best parts of a note's body, in text order.
    ///
    /// A part is worth the words of the query it holds, each once, by what they tell.
    /// Without a match it is the head of the best chunk, or of the body.
    pub(crate) fn snippets(
        &self,
        entry: &NoteEntry,
        language: Language,
        best_chunk: Option<Span>,
    ) -> Vec<Snippet> {
        if self.n == 0 {
            return Vec::new();
        }
        let body: &str = &entry.body;
        let best = best_chunk.map_or(0..body.len(), |span| span.bytes(body));
        let region =
            if body.len() <= MAX_SEARCHED_BYTES { 0..body.len() } else { best.start..best.end };
        let found = self.matches(body, region, language);
        let worth = windows_by_worth(body, &found, self.query, self.chars, &best);
        let windows = apart(worth, self.n);
        let windows = if windows.is_empty() {
            let start = best.start + body[best.clone()].len() - body[best].trim_start().len();
            vec![(start, end_after(body, start, self.chars))]
        } else {
            windows
        };
        shown(entry, &found, windows)
    }

    /// The words of the query in `region` of `body`, in text order.
    fn matches(&self, body: &str, region: Range<usize>, language: Language) -> Vec<Match> {
        let mut found: Vec<Match> = Vec::new();
        let offset = region.start;
        let find = |token: Token<'_>| {
            if let Some(term) = self.wanted.place(token.term) {
                let (start, end) = (token.start + offset, token.end + offset);
                // Pairs of characters overlap, and parts lie in their compound; what touches is one match.
                match found.last_mut() {
                    Some(last) if start < last.end => last.end = last.end.max(end),
                    _ => found.push(Match { start, end, term }),
                }
            }
        };
        self.analyzers.with(|analyzer| analyzer.analyze(&body[region], language, find));
        found
    }
}

/// The `n` windows worth most of which none overlaps a better one, in text order.
fn apart(mut worth: Vec<(f64, usize, usize)>, n: usize) -> Vec<(usize, usize)> {
    let mut windows: Vec<(usize, usize)> = Vec::new();
    worth.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    for (_, start, end) in worth {
        if windows.len() == n {
            break;
        }
        if windows.iter().all(|(s, e)| end <= *s || *e <= start) {
            windows.push((start, end));
        }
    }
    windows.sort_unstable();
    windows
}

/// The windows of a note's body as they are shown, with what was found in them.
fn shown(entry: &NoteEntry, found: &[Match], windows: Vec<(usize, usize)>) -> Vec<Snippet> {
    let body: &str = &entry.body;
    let mut counter = CharCounter::new(body);
    windows
        .into_iter()
        .filter(|(start, end)| start < end)
        .map(|(start, end)| {
            let span = counter.span(start..end);
            let inside = found.iter().filter(|found| start <= found.start && found.end <= end);
            let matches = inside
                .map(|found| counter.span(found.start..found.end))
                .map(|at| (at.start, at.end))
                .collect();
            Snippet {
                text: body[start..end].to_owned(),
                start: span.start,
                end: span.end,
                matches,
                heading_path: Heading::path(&entry.note.headings, span.start),
            }
        })
        .collect()
}

/// For every match, the part of `chars` characters around those that follow it, and what it is worth.
fn windows_by_worth(
    body: &str,
    found: &[Match],
    query: &KeywordQuery,
    chars: usize,
    best: &Range<usize>,
) -> Vec<(f64, usize, usize)> {
    /// Of two equal parts the one in the best chunk is shown.
    const IN_BEST_CHUNK: f64 = 1.0 + 1e-6;
    let lead = chars / 4;
    found
        .iter()
        .enumerate()
        .map(|(first, at)| {
            let start = start_before(body, at.start, lead);
            let end = end_after(body, start, chars).max(at.end);
            let mut terms: Vec<usize> = found[first..]
                .iter()
                .take_while(|other| other.end <= end)
                .map(|other| other.term)
                .collect();
            terms.sort_unstable();
            terms.dedup();
            let worth: f64 =
                terms.iter().map(|term| query.terms()[*term].idf.max(f64::EPSILON)).sum();
            let bonus = if best.contains(&at.start) { IN_BEST_CHUNK } else { 1.0 };
            (worth * bonus, start, end)
        })
        .collect()
}

/// A word's start at most `chars` characters before `byte`, on the same paragraph.
fn start_before(body: &str, byte: usize, chars: usize) -> usize {
    let before = &body[..byte];
    let floor = before.char_indices().rev().take(chars).last().map_or(byte, |(at, _)| at);
    let floor = before[floor..].rfind("\n\n").map_or(floor, |at| floor + at + 2);
    if floor == 0 || body[..floor].ends_with('\n') {
        return floor;
    }
    let words = body[floor..byte].split_word_bound_indices().skip(1);
    words
        .filter(|(_, word)| !word.trim().is_empty())
        .map(|(at, _)| floor + at)
        .next()
        .unwrap_or(byte)
}

/// The last bound of words in `text` that is at most `limit`, a bound of characters; 0 where there is none but the start.
///
/// Bounds are looked for from the last space before a plain letter on: there is always one between them, and none behind it depends on what stands before.
fn last_bound(text: &str, limit: usize) -> usize {
    let bytes = text.as_bytes();
    let is_certain =
        |at: &usize| matches!(bytes[at - 1], b' ' | b'\n') && bytes[*at].is_ascii_alphanumeric();
    let start = (1..limit.min(bytes.len())).rev().find(is_certain).unwrap_or(0);
    let ends = text[start..].split_word_bound_indices().map(|(at, word)| start + at + word.len());
    ends.take_while(|end| *end <= limit).last().unwrap_or(start)
}

/// A word's end at most `chars` characters after `start`.
fn end_after(body: &str, start: usize, chars: usize) -> usize {
    let rest = &body[start..];
    let Some((limit, _)) = rest.char_indices().nth(chars) else {
        return start + rest.trim_end().len();
    };
    let mut end = last_bound(rest, limit);
    if end == 0 {
        // One word fills it all: cut between graphemes.
        for (at, cluster) in rest.grapheme_indices(true) {
            if at + cluster.len() > limit {
                break;
            }
            end = at + cluster.len();
        }
    }
    start + rest[..end].trim_end().len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_last_bound_is_that_of_a_scan_from_the_start(
            pieces in prop::collection::vec(
                prop::sample::select(vec![
                    "a", "B", "1", " ", "  ", "\n", "\r\n", "'", ".", ",", "_", "\u{301}", "\u{200d}",
                    "é", "漢", "🇩", "🇪", "👩", "\t", "-", "カ", "ש", "\"",
                ]),
                0..40,
            ),
            at in any::<prop::sample::Index>(),
        ) {
            let text = pieces.concat();
            let bounds: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let limit = bounds[at.index(bounds.len())];
            let scanned = text
                .split_word_bound_indices()
                .map(|(at, word)| at + word.len())
                .take_while(|end| *end <= limit)
                .last();
            prop_assert_eq!(last_bound(&text, limit), scanned.unwrap_or(0), "{:?} {}", text, limit);
        }
    }
}
