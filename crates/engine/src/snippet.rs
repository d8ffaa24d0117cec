//! Snippets: the parts of a body that match a query.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::Range;

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation as _};
use weft_index::keyword::{KeywordQuery, Language, TermMatcher};
use weft_index::notes::NoteEntry;
use weft_model::text::{CharCounter, byte_of_char};
use weft_model::{Heading, Span, Stop};

use crate::analyzer_pool::AnalyzerPool;

/// A part of a body, cut between words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// The text, exactly as in the body.
    pub text: String,
    /// Start in the body, in characters.
    pub start: u32,
    /// End in the body, in characters, exclusive.
    pub end: u32,
    /// Matched words of the query, as character ranges of the body.
    pub matches: Vec<(u32, u32)>,
    /// Headings above the snippet, outermost first.
    pub heading_path: Vec<String>,
}

/// Maximum number of bytes searched for matches at once. A longer body is searched in its best chunk, or in consecutive parts up to the first match.
const MAX_SEARCHED_BYTES: usize = 256 << 10;

/// A word of the query in a body.
struct Match {
    start: usize,
    end: usize,
    term: usize,
}

/// Cuts the snippets of one query.
pub(crate) struct Cutter<'q> {
    sought: TermMatcher<'q>,
    /// Weight of each word of the query.
    weights: Vec<f64>,
    analyzers: &'q AnalyzerPool,
    /// Maximum number of snippets per note.
    n: usize,
    /// Maximum number of characters per snippet.
    chars: usize,
    stop: &'q Stop,
}

impl<'q> Cutter<'q> {
    /// Creates a cutter of at most `n` snippets per note with at most `chars` characters each. It stops searching a long note when the deadline of `stop` is near.
    pub(crate) fn new(
        query: &'q KeywordQuery,
        analyzers: &'q AnalyzerPool,
        n: usize,
        chars: usize,
        stop: &'q Stop,
    ) -> Self {
        let weights = query.terms().iter().map(|term| term.idf.max(f64::EPSILON)).collect();
        Self { sought: query.term_matcher(), weights, analyzers, n, chars, stop }
    }

    /// Returns the best parts of a note's body, in text order.
    ///
    /// The weight of a part is the sum of the weights of the distinct query words in it.
    /// Without a match, returns the head of the best chunk, or of the body.
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
        let found = if best_chunk.is_some() && body.len() > MAX_SEARCHED_BYTES {
            self.matches(body, best.clone(), language)
        } else {
            let mut pieces =
                pieces(body).take_while(|at| at.start == 0 || !self.stop.is_past_soft_deadline());
            let first = pieces.find_map(|piece| {
                Some(self.matches(body, piece, language)).filter(|found| !found.is_empty())
            });
            first.unwrap_or_default()
        };
        let windows =
            Windows { body, found: &found, weights: &self.weights, chars: self.chars, best: &best };
        let windows = windows.apart(self.n);
        let windows = if windows.is_empty() {
            let start = best.start + body[best.clone()].len() - body[best].trim_start().len();
            vec![(start, end_after(body, start, self.chars))]
        } else {
            windows
        };
        shown(entry, &found, windows)
    }

    /// Returns the words of the query in `region` of `body`, in text order.
    fn matches(&self, body: &str, region: Range<usize>, language: Language) -> Vec<Match> {
        let mut found: Vec<Match> = Vec::new();
        let find = |term: usize, at: Range<usize>| {
            let (start, end) = (at.start + region.start, at.end + region.start);
            // Bigrams overlap, and parts lie within their compound word: adjoining matches are merged.
            match found.last_mut() {
                Some(last) if start < last.end => last.end = last.end.max(end),
                _ => found.push(Match { start, end, term }),
            }
        };
        let text = &body[region.clone()];
        self.analyzers.with(|analyzer| self.sought.find(analyzer, text, language, find));
        found
    }
}

/// Splits a body into parts of at most [`MAX_SEARCHED_BYTES`], between words if possible.
fn pieces(body: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut start = 0;
    std::iter::from_fn(move || {
        let left = &body[start..];
        let most = left.floor_char_boundary(MAX_SEARCHED_BYTES);
        let between = || left[..most].rfind(char::is_whitespace).filter(|at| *at > 0);
        let len = if most == left.len() { most } else { between().unwrap_or(most) };
        let piece = start..start + len;
        start = piece.end;
        (len > 0).then_some(piece)
    })
}

/// Converts windows of a note's body to snippets with their matches.
fn shown(entry: &NoteEntry, found: &[Match], windows: Vec<(usize, usize)>) -> Vec<Snippet> {
    let body: &str = &entry.body;
    let mut counter = CharCounter::new(body);
    windows
        .into_iter()
        .filter(|(start, end)| start < end)
        .map(|(start, end)| {
            let span = counter.span(start..end);
            // Clips a match that is longer than its snippet.
            let inside = found
                .iter()
                .map(|found| found.start.max(start)..found.end.min(end))
                .filter(|inside| inside.start < inside.end);
            let matches =
                inside.map(|inside| counter.span(inside)).map(|at| (at.start, at.end)).collect();
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

/// Candidate windows of a body: each match has one that starts shortly before it.
struct Windows<'b> {
    body: &'b str,
    /// In text order, without overlaps.
    found: &'b [Match],
    /// Weight of each word.
    weights: &'b [f64],
    /// Maximum number of characters per window.
    chars: usize,
    /// The best chunk.
    best: &'b Range<usize>,
}

impl Windows<'_> {
    /// Returns the `n` windows with the highest weight that do not overlap a better one, in text order; of equal ones, the earlier is better.
    ///
    /// The bounds of a window are computed only if it may be selected.
    fn apart(&self, n: usize) -> Vec<(usize, usize)> {
        let mut apart: Vec<(usize, usize)> = Vec::new();
        let mut candidates: BinaryHeap<WindowCandidate> = self
            .weight_bounds()
            .zip(0..)
            .map(|(worth, first)| WindowCandidate { worth, first, window: None })
            .collect();
        while apart.len() < n
            && let Some(WindowCandidate { first, window, .. }) = candidates.pop()
        {
            let at = self.found[first].start;
            match window {
                // A window contains its match wherever it ends.
                None if apart.iter().any(|(start, end)| (*start..*end).contains(&at)) => {}
                None => candidates.push(self.cut(first)),
                Some((start, end)) if apart.iter().all(|(s, e)| end <= *s || *e <= start) => {
                    apart.push((start, end));
                }
                Some(_) => {}
            }
        }
        apart.sort_unstable();
        apart
    }

    /// Returns the window of the match `first` and its weight.
    fn cut(&self, first: usize) -> WindowCandidate {
        let at = &self.found[first];
        let mut start = start_before(self.body, at.start, self.chars / 4);
        let mut end = end_after(self.body, start, self.chars);
        if end < at.end {
            // Starting at the match leaves more room for it, though perhaps not enough.
            start = at.start;
            end = end_after(self.body, start, self.chars);
        }
        let mut counts = vec![0; self.weights.len()];
        counts[at.term] = 1;
        for inside in self.found[first..].iter().skip(1).take_while(|other| other.end <= end) {
            counts[inside.term] += 1;
        }
        WindowCandidate { worth: self.worth(first, &counts), first, window: Some((start, end)) }
    }

    /// Returns an upper bound for the weight of each match's window, which starts at or before the match.
    fn weight_bounds(&self) -> impl Iterator<Item = f64> {
        let mut counts = vec![0; self.weights.len()];
        let mut next = 0;
        self.found.iter().enumerate().map(move |(first, at)| {
            let end = at.start + byte_of_char(&self.body[at.start..], self.chars);
            while let Some(inside) = self.found.get(next).filter(|next| next.end <= end.max(at.end))
            {
                counts[inside.term] += 1;
                next += 1;
            }
            let worth = self.worth(first, &counts);
            counts[at.term] -= 1;
            worth
        })
    }

    /// Returns the weight of a window of the match `first`, given the number of occurrences of each word.
    fn worth(&self, first: usize, counts: &[usize]) -> f64 {
        /// Factor that prefers windows in the best chunk among equal ones.
        const BEST_CHUNK_FACTOR: f64 = 1.0 + 1e-6;
        let inside = self.weights.iter().zip(counts).filter(|(_, count)| **count > 0);
        let worth: f64 = inside.map(|(worth, _)| worth).sum();
        if self.best.contains(&self.found[first].start) { worth * BEST_CHUNK_FACTOR } else { worth }
    }
}

/// A candidate window.
struct WindowCandidate {
    /// Weight; an upper bound until the window is cut.
    worth: f64,
    /// Index of its first match.
    first: usize,
    /// Bounds; `None` until the window is cut.
    window: Option<(usize, usize)>,
}

impl Ord for WindowCandidate {
    /// Orders by weight, then the earlier window first.
    fn cmp(&self, other: &Self) -> Ordering {
        self.worth.total_cmp(&other.worth).then(other.first.cmp(&self.first))
    }
}

impl PartialOrd for WindowCandidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for WindowCandidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for WindowCandidate {}

/// Returns the start of a word at most `chars` characters before `byte`, in the same paragraph.
fn start_before(body: &str, byte: usize, chars: usize) -> usize {
    let before = &body[..byte];
    let floor = before.char_indices().rev().take(chars).last().map_or(byte, |(at, _)| at);
    // The paragraph starts after the last blank line within reach.
    let mut start = floor;
    let mut at = floor;
    for line in before[floor..].split_inclusive('\n') {
        at += line.len();
        if line.ends_with('\n') && line.trim().is_empty() {
            start = at;
        }
    }
    if start > floor || floor == 0 || body[..floor].ends_with('\n') {
        return start;
    }
    let words = body[floor..byte].split_word_bound_indices().skip(1);
    words
        .filter(|(_, word)| !word.trim().is_empty())
        .map(|(at, _)| floor + at)
        .find(|at| is_between_graphemes(body, *at))
        .unwrap_or(byte)
}

/// True if `byte` is a grapheme boundary; a word boundary may not be one in scripts without spaces.
fn is_between_graphemes(text: &str, byte: usize) -> bool {
    GraphemeCursor::new(byte, text.len(), true).is_boundary(text, 0).unwrap_or(true)
}

/// Returns the last word boundary of `text` at or before `limit`, which is a character boundary; 0 if the start is the only one.
///
/// The scan starts at the last space before an ASCII letter: there is always a word boundary between them, and no later boundary depends on the text before.
fn last_bound(text: &str, limit: usize) -> usize {
    let bytes = text.as_bytes();
    let is_certain =
        |at: &usize| matches!(bytes[at - 1], b' ' | b'\n') && bytes[*at].is_ascii_alphanumeric();
    let start = (1..limit.min(bytes.len())).rev().find(is_certain).unwrap_or(0);
    let ends = text[start..].split_word_bound_indices().map(|(at, word)| start + at + word.len());
    let ends = ends.take_while(|end| *end <= limit);
    ends.filter(|end| is_between_graphemes(text, *end)).last().unwrap_or(start)
}

/// Returns the end of a word at most `chars` characters after `start`.
fn end_after(body: &str, start: usize, chars: usize) -> usize {
    let rest = &body[start..];
    let limit = byte_of_char(rest, chars);
    if limit == rest.len() {
        return start + rest.trim_end().len();
    }
    let mut end = last_bound(rest, limit);
    if end == 0 {
        // A single word fills the window, so it is cut between graphemes.
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
    use std::cmp::Reverse;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn window_starts_within_the_paragraph_of_its_match() {
        for end in ["\n", "\r\n", "\n \t", " \r\n"] {
            let text = format!("one two{end}\n  three four\nfive match");
            let byte = text.find("match").expect("the text contains it");
            let begins = |chars: usize| &text[start_before(&text, byte, chars)..];
            // Within the line of the match, the line before, the start of the paragraph, and each position in between.
            assert_eq!([0, 4, 6, 8].map(begins), ["match", "match", "five match", "five match"]);
            assert_eq!((begins(12), begins(15)), ("four\nfive match", "four\nfive match"));
            for chars in 18..text.len() - "one two match".len() {
                assert_eq!(begins(chars), "  three four\nfive match", "{chars} before in {text:?}");
            }
        }
    }

    #[test]
    fn long_body_is_split_between_words() {
        for body in ["fern moss ".repeat(60_000), "é".repeat(400_000), String::new(), "fern".into()]
        {
            let pieces: Vec<Range<usize>> = pieces(&body).collect();
            let whole: String = pieces.iter().map(|at| &body[at.clone()]).collect();
            assert_eq!(whole, body);
            assert!(pieces.iter().all(|at| at.len() <= MAX_SEARCHED_BYTES));
            let ends = pieces.iter().rev().skip(1).map(|at| &body[at.end..]);
            assert!(ends.clone().all(|rest| rest.starts_with([' ', 'é'])), "no word is cut");
        }
    }

    #[test]
    fn graphemes_stay_whole_in_scripts_without_spaces() {
        let text = "น้ำ".repeat(30);
        let bounds: Vec<usize> = text.grapheme_indices(true).map(|(at, _)| at).collect();
        for chars in 1..20 {
            let start = start_before(&text, bounds[20], chars);
            let end = end_after(&text, bounds[20], chars);
            assert!(bounds.contains(&start) && bounds.contains(&end), "{chars}: {start} {end}");
        }
    }

    proptest! {
        #[test]
        fn selected_windows_equal_exhaustive_search(
            pieces in prop::collection::vec(
                prop::sample::select(vec![
                    "fern ", "fern", "Moss ", "moss", "shade", "shade. ", " and ", "a", "é ", "漢", "\n", "\n\n", ", ",
                    "a stretch that answers nothing, longer than a window is ",
                ]),
                0..60,
            ),
            n in 1..4_usize,
            chars in 1..60_usize,
            best in any::<prop::sample::Index>(),
        ) {
            let body = pieces.concat();
            let lower = body.to_lowercase();
            let mut found: Vec<Match> = ["fern", "moss", "shade"]
                .iter()
                .zip(0..)
                .flat_map(|(word, term)| {
                    let matches = lower.match_indices(word);
                    matches.map(move |(start, _)| Match { start, end: start + word.len(), term })
                })
                .collect();
            found.sort_by_key(|found| found.start);
            let best = 0..best.index(body.len() + 1);
            let windows = Windows { body: &body, found: &found, weights: &[1.0, 1.0, 2.5], chars, best: &best };
            let all: Result<Vec<_>, TestCaseError> = (0..found.len())
                .map(|first| {
                    let (start, end) = windows.cut(first).window.expect("it is cut");
                    prop_assert!(body[start..end].chars().count() <= chars);
                    let own = found[first].start;
                    let inside = |term| found[first..].iter().any(|at| (at.end <= end || at.start == own) && at.term == term);
                    let worth = [1.0, 1.0, 2.5].iter().zip(0..).filter(|(_, term)| inside(*term));
                    let worth: f64 = worth.map(|(worth, _)| worth).sum();
                    let is_best = best.contains(&found[first].start);
                    Ok(((worth, is_best, Reverse(first)), (start, end)))
                })
                .collect();
            let mut all = all?;
            all.sort_by(|left, right| right.partial_cmp(left).expect("all are numbers"));
            let mut expected: Vec<(usize, usize)> = Vec::new();
            for (_, (start, end)) in all {
                if expected.len() < n && expected.iter().all(|(s, e)| end <= *s || *e <= start) {
                    expected.push((start, end));
                }
            }
            expected.sort_unstable();
            prop_assert_eq!(windows.apart(n), expected, "{:?}", body);
        }

        #[test]
        fn last_bound_equals_full_scan(
            pieces in prop::collection::vec(
                prop::sample::select(vec![
                    "a", "B", "1", " ", "  ", "\n", "\r\n", "'", ".", ",", "_", "\u{301}", "\u{200d}",
                    "é", "漢", "🇩", "🇪", "👩", "น้ำ", "\t", "-", "カ", "ש", "\"",
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
                .filter(|end| text.grapheme_indices(true).any(|(at, one)| at + one.len() == *end))
                .take_while(|end| *end <= limit)
                .last();
            prop_assert_eq!(last_bound(&text, limit), scanned.unwrap_or(0), "{:?} {}", text, limit);
        }
    }
}
