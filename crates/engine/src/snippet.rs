//! Snippets: the parts of a body that match a query, as a reader sees them.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::Range;

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation as _};
use weft_index::keyword::{
    KeywordError, KeywordQuery, KeywordReader, Language, PassageWords, TermMatcher,
};
use weft_index::notes::NoteEntry;
use weft_model::encoded_data::encoded_data;
use weft_model::text::{CharCounter, byte_of_char};
use weft_model::{BodyDisplay, DisplayedText, Heading, NoteId, Span, Stop, is_link_definition};

use crate::analyzer_pool::AnalyzerPool;

/// A part of a body, cut between words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// The [displayed text](fn@weft_model::displayed_text): without Markdown syntax, one line per paragraph, list item or table row.
    pub text: String,
    /// Start in the body, in characters.
    pub start: u32,
    /// End in the body, in characters, exclusive.
    pub end: u32,
    /// Matched words of the query, as character ranges of `text`, ascending. Words that are not displayed, such as those of an address, are missing.
    pub matches: Vec<(u32, u32)>,
    /// Headings above the snippet, outermost first.
    pub heading_path: Vec<String>,
    /// True if the sentence, list item or table row at the start begins before the snippet.
    pub starts_inside: bool,
    /// True if the sentence, list item or table row at the end continues after the snippet.
    pub ends_inside: bool,
}

/// Maximum number of bytes searched for matches at once. A longer body is searched in its best chunk, or in consecutive parts up to the first match.
const MAX_SEARCHED_BYTES: usize = 256 << 10;

/// Maximum number of passages searched for matches per requested snippet. A passage of the greatest weight may have its words too far apart for one snippet.
const PASSAGES_PER_SNIPPET: usize = 3;

/// A word of the query in a body.
struct Match {
    start: usize,
    end: usize,
    term: usize,
}

/// Cuts the snippets of one query.
pub(crate) struct Cutter<'q> {
    query: &'q KeywordQuery,
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
        Self { query, sought: query.term_matcher(), weights, analyzers, n, chars, stop }
    }

    /// Returns the passages of each of `notes` with the words of the query in them; none if no snippets are wanted.
    pub(crate) fn words(
        &self,
        keyword: &KeywordReader,
        notes: &[NoteId],
    ) -> Result<Vec<Vec<PassageWords>>, KeywordError> {
        if self.n == 0 {
            return Ok(vec![Vec::new(); notes.len()]);
        }
        keyword.passage_words(self.query, notes)
    }

    /// Returns the best parts of a note's body, in text order.
    ///
    /// The weight of a part is the sum of the weights of the distinct query words in it.
    /// `words` are the passages of the note with the words of the query in them; only those of the greatest weight are searched, unless none contains a word.
    /// Without a match, returns the head of the best chunk, or of the body.
    pub(crate) fn snippets(
        &self,
        entry: &NoteEntry,
        language: Language,
        best_chunk: Option<Span>,
        words: &[PassageWords],
    ) -> Vec<Snippet> {
        if self.n == 0 {
            return Vec::new();
        }
        let body: &str = &entry.body;
        let best = best_chunk.map_or(0..body.len(), |span| span.bytes(body));
        let regions = self.regions(body, best_chunk, words);
        let found = if !regions.is_empty() {
            regions.into_iter().flat_map(|at| self.matches(body, at, language)).collect()
        } else if best_chunk.is_some() && body.len() > MAX_SEARCHED_BYTES {
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
        let windows =
            if windows.is_empty() { vec![head(body, best.start, self.chars)] } else { windows };
        let windows = windows.into_iter().map(|window| rounded(body, &found, window)).collect();
        shown(entry, &found, windows)
    }

    /// Returns the parts of `body` to search for matches, in text order: the passages of the greatest weight, each with as much of the following text as a snippet may show. Empty if no passage contains a word of the query.
    fn regions(
        &self,
        body: &str,
        best_chunk: Option<Span>,
        words: &[PassageWords],
    ) -> Vec<Range<usize>> {
        let is_best = |at: usize| {
            let Span { start, end } = words[at].span;
            best_chunk.is_some_and(|chunk| chunk.start < end && start < chunk.end)
        };
        let mut chosen: Vec<usize> =
            (0..words.len()).filter(|at| words[*at].weight > 0.0).collect();
        chosen.sort_by(|a, b| {
            let by_weight = words[*b].weight.total_cmp(&words[*a].weight);
            by_weight.then_with(|| is_best(*b).cmp(&is_best(*a)))
        });
        chosen.truncate(PASSAGES_PER_SNIPPET * self.n);
        chosen.sort_unstable();
        let mut regions: Vec<Range<usize>> = Vec::with_capacity(chosen.len());
        let (mut byte, mut char) = (0, 0);
        let mut byte_at = |at: u32| {
            byte += byte_of_char(&body[byte..], at.saturating_sub(char) as usize);
            char = char.max(at);
            byte
        };
        let mut end_char = 0;
        for at in chosen {
            let reach = words[at].span.end as usize + self.chars;
            let n_shown = words[at..].partition_point(|it| (it.span.start as usize) < reach);
            let Some(end) = words[at..][..n_shown].last().map(|last| last.span.end) else {
                continue;
            };
            if let Some(last) = regions.last_mut().filter(|_| words[at].span.start <= end_char) {
                last.end = byte_at(end);
            } else {
                let start = byte_at(words[at].span.start);
                regions.push(start..byte_at(end));
            }
            end_char = end;
        }
        regions
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
        remove_in_definitions(body, &mut found);
        found
    }
}

/// Removes the matches in link reference definitions, which are not displayed.
fn remove_in_definitions(body: &str, found: &mut Vec<Match>) {
    let (mut line_end, mut defines) = (0, false);
    found.retain(|found| {
        if found.start >= line_end {
            let above = &body[line_end..found.start];
            let start = above.rfind('\n').map_or(line_end, |newline| line_end + newline + 1);
            let rest = &body[found.start..];
            line_end = found.start + rest.find('\n').map_or(rest.len(), |newline| newline + 1);
            defines = is_link_definition(&body[start..line_end]);
        }
        !defines
    });
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

/// Returns the first window after `at` that displays something, among a few; otherwise the first.
fn head(body: &str, at: usize, chars: usize) -> (usize, usize) {
    /// Number of windows tried, so that a page of markup at the start of a note is skipped.
    const MAX_TRIED: usize = 8;
    let window = |at: usize| {
        let start = body.len() - body[at..].trim_start().len();
        (start, end_after(body, start, chars))
    };
    let mut display = BodyDisplay::new(body);
    let mut displays = |(start, end): (usize, usize)| !display.text(start..end).is_empty();
    let first = window(at);
    if displays(first) {
        return first;
    }
    let encoded = encoded_data(body);
    let after_data = |at: usize| {
        let data = encoded.iter().find(|data| data.contains(&at));
        window(data.map_or(at, |data| data.end))
    };
    std::iter::successors(Some(after_data(at)), |(_, end)| Some(after_data(*end)))
        .take(MAX_TRIED)
        .take_while(|(start, end)| start < end)
        .find(|window| displays(*window))
        .unwrap_or_else(|| after_data(at))
}

/// Converts windows of a note's body to snippets with their matches.
fn shown(entry: &NoteEntry, found: &[Match], windows: Vec<(usize, usize)>) -> Vec<Snippet> {
    let body: &str = &entry.body;
    let mut counter = CharCounter::new(body);
    let mut display = BodyDisplay::new(body);
    windows
        .into_iter()
        .filter(|(start, end)| start < end)
        .map(|(start, end)| {
            let span = counter.span(start..end);
            let mut text = display.text(start..end);
            if text.is_empty() {
                // The query matches only what a reader does not see, such as a comment.
                text = DisplayedText::as_written(body, start..end);
            }
            // Clips a match that is longer than its snippet.
            let inside = found
                .iter()
                .map(|found| found.start.max(start)..found.end.min(end))
                .filter(|inside| inside.start < inside.end);
            let matches = text.spans(inside).into_iter().map(|at| (at.start, at.end)).collect();
            Snippet {
                text: text.into_string(),
                start: span.start,
                end: span.end,
                matches,
                heading_path: Heading::path(&entry.note.headings, span.start),
                starts_inside: !begins_unit(body, start),
                ends_inside: !ends_unit(body, end),
            }
        })
        .collect()
}

/// Moves the end of a window to the end of a sentence, list item or table row, if one is after its last match and in its second half, and before the next heading. Otherwise moves it out of words with signs, such as `EIP-4844`.
///
/// Punctuation at the start that belongs to the text before is dropped.
fn rounded(body: &str, found: &[Match], (start, end): (usize, usize)) -> (usize, usize) {
    let inside = found.iter().skip_while(|at| at.start < start).take_while(|at| at.end <= end);
    let (first, last) = (inside.clone().next(), inside.last());
    let first = first.map_or(end, |first| first.start);
    let stray = body[start..first].trim_start_matches(|c: char| {
        c.is_whitespace() || matches!(c, ',' | ';' | ':' | '.' | ')' | ']' | '}' | '!' | '?')
    });
    let is_whole = begins_unit(body, start) || stray.is_empty();
    let start = if is_whole { start } else { first - stray.len() };
    let least = last.map_or(start, |last| last.end);
    let end = section_end(body, least, end);
    if start >= end || ends_unit(body, end) {
        return (start, end);
    }
    let middle = body.ceil_char_boundary(start + (end - start) / 2);
    let unit = last_unit_end(body, least.max(middle), end);
    (start, unit.unwrap_or_else(|| outside_words(body, least.max(middle), end)))
}

/// Returns the end of the text before the next heading in `from..to`; `to` without one.
fn section_end(body: &str, from: usize, to: usize) -> usize {
    let mut lines = body[from..to].match_indices('\n').map(|(at, _)| from + at + 1);
    let heading = lines.find(|at| heading_marks(&body[*at..]).is_some());
    heading.map_or(to, |at| from + body[from..at].trim_end().len())
}

/// True if a sentence, list item, table row, heading or paragraph begins at `byte`.
fn begins_unit(body: &str, byte: usize) -> bool {
    byte == 0
        || block_start(body, byte, byte).is_some()
        || sentence_start(body, byte, byte).is_some()
}

/// True if a sentence, list item, table row, heading or paragraph ends at `byte`.
fn ends_unit(body: &str, byte: usize) -> bool {
    let rest = &body[byte..];
    let next = byte + rest.len() - rest.trim_start().len();
    let is_last_line = rest.trim_start_matches([' ', '\t', '\r']).starts_with('\n');
    next == body.len()
        || is_last_line && {
            let line = byte + body[byte..next].rfind('\n').map_or(0, |newline| newline + 1);
            follows_block(&body[..line]) || begins_block(&body[line..])
        }
        || next > byte && sentence_start(body, next, next).is_some()
}

/// Returns the last end of a sentence, list item, table row, heading or paragraph in `from..=to`.
fn last_unit_end(body: &str, from: usize, to: usize) -> Option<usize> {
    let mut ends = body[from..to].rmatch_indices(char::is_whitespace).map(|(at, _)| from + at);
    ends.find(|at| ends_unit(body, *at) && !body[..*at].ends_with(char::is_whitespace))
}

/// Returns the last end of a word in `from..=to` that white space follows, unless words have no spaces; not that of a list marker or an opening bracket.
fn outside_words(body: &str, from: usize, to: usize) -> usize {
    let is_joined = |at: usize| {
        let (before, after) = (body[..at].chars().next_back(), body[at..].chars().next());
        let is_ascii = |c: Option<char>| c.is_some_and(|c| c.is_ascii() && !c.is_whitespace());
        is_ascii(before) && after.is_some_and(|c| !c.is_whitespace())
            || is_ascii(after) && before.is_some_and(|c| !c.is_whitespace())
    };
    let is_marker = |at: usize| {
        let line = body[from..at].rsplit('\n').next().unwrap_or_default();
        let is_sign =
            |c: char| c.is_whitespace() || c.is_ascii_digit() || "-*+•#>|`.()[]{}".contains(c);
        line.len() < at - from && line.chars().all(is_sign)
    };
    let spaces = body[from..to].rmatch_indices(char::is_whitespace).map(|(at, _)| from + at);
    let mut ends =
        std::iter::once(to).chain(spaces).map(|at| from + body[from..at].trim_end().len());
    ends.find(|at| !is_joined(*at) && !is_marker(*at)).unwrap_or(to)
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

/// Returns the start of the window of a match at `byte`, at most `chars` characters before it, unless the match is in a link that begins earlier.
///
/// The window starts with the list item, table row or sentence of the match, or else at a word of its paragraph.
fn start_before(body: &str, byte: usize, chars: usize) -> usize {
    let before = &body[..byte];
    let floor = before.char_indices().rev().take(chars).last().map_or(byte, |(at, _)| at);
    let block = block_start(body, floor, byte);
    sentence_start(body, floor.max(block.unwrap_or_default()), byte)
        .or(block)
        .unwrap_or_else(|| outside_syntax(body, word_start(body, floor, byte), byte))
}

/// Returns the last start of a paragraph, list item, heading or table row in `floor..=byte`.
fn block_start(body: &str, floor: usize, byte: usize) -> Option<usize> {
    let ends = body[floor..byte].rmatch_indices('\n').map(|(at, _)| floor + at + 1);
    let first = (floor == 0 || body[..floor].ends_with('\n')).then_some(floor);
    ends.chain(first).find(|at| follows_block(&body[..*at]) || begins_block(&body[*at..]))
}

/// True if the text before a line ends with a blank line, a heading or a code fence.
fn follows_block(before: &str) -> bool {
    /// Maximum number of bytes of a heading or fence.
    const LINE_BYTES: usize = 200;
    let before = before.strip_suffix('\n').unwrap_or(before);
    let before = before.trim_end_matches([' ', '\t', '\r', '>']);
    let end = &before[before.ceil_char_boundary(before.len().saturating_sub(LINE_BYTES))..];
    let line = end.rsplit('\n').next().unwrap_or_default();
    let is_whole = line.len() < end.len() || end.len() == before.len();
    let line = line.trim_start_matches([' ', '\t', '>']);
    is_whole && (line.is_empty() || line.starts_with("```") || heading_marks(line).is_some())
}

/// Returns the number of `#` of a heading.
fn heading_marks(text: &str) -> Option<usize> {
    let after = text.trim_start_matches('#');
    let n = text.len() - after.len();
    (n > 0 && after.starts_with([' ', '\t'])).then_some(n)
}

/// True if a list item, a heading or a table row begins `text`.
fn begins_block(text: &str) -> bool {
    let text = text.trim_start_matches([' ', '\t', '>']);
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let marker = if digits > 0 {
        text[digits..].strip_prefix(['.', ')'])
    } else {
        text.strip_prefix(['-', '*', '+', '•'])
    };
    let is_item = marker.is_some_and(|after| after.starts_with([' ', '\t']));
    is_item || text.starts_with('|') || heading_marks(text).is_some()
}

/// Returns the last start of a sentence in `floor..=byte`.
fn sentence_start(body: &str, floor: usize, byte: usize) -> Option<usize> {
    /// Characters read before `floor` to recognize a sentence that starts there.
    const CONTEXT_CHARS: usize = 24;
    let context = body[..floor].char_indices().rev().take(CONTEXT_CHARS).last();
    let from = context.map_or(floor, |(at, _)| at);
    // The rest of the first word after the match shows whether its sentence begins with it.
    let to = byte + body[byte..].split_whitespace().next().map_or(0, str::len);
    let to = body.floor_char_boundary(to.min(byte + 64).max(byte));
    // A line break does not end a sentence.
    let text = body[from..to].replace(['\n', '\r'], " ");
    let starts = text.split_sentence_bound_indices().map(|(at, _)| at);
    let starts = starts.filter(|at| *at > 0 && !ends_in_abbreviation(&text[..*at]));
    let starts = starts.map(|at| from + at).filter(|at| (floor..=byte).contains(at));
    starts.filter(|at| outside_syntax(body, *at, byte) == *at).last()
}

/// True if `text` ends in a point after an abbreviation or a number, such as `Dr.`, `e.g.`, `J.` or `1.`.
fn ends_in_abbreviation(text: &str) -> bool {
    let Some(text) = text.trim_end().strip_suffix('.') else { return false };
    let word = text.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default();
    let n_chars = word.chars().take(3).count();
    word.contains('.')
        || word.chars().all(|c| c.is_ascii_digit()) && n_chars < 3
        || n_chars < 3 && word.starts_with(char::is_uppercase)
}

/// Returns the first start of a word in `floor..=byte` that is in the paragraph of `byte`.
fn word_start(body: &str, floor: usize, byte: usize) -> usize {
    if floor == 0 || body[..floor].ends_with('\n') {
        return floor;
    }
    let words = body[floor..byte].split_word_bound_indices().skip(1);
    words
        .filter(|(_, word)| !word.trim().is_empty())
        .map(|(at, _)| floor + at)
        .find(|at| is_between_graphemes(body, *at))
        .unwrap_or(byte)
}

/// Moves `at` out of a wikilink, an address or a tag: behind it, or before it if it contains `byte`.
fn outside_syntax(body: &str, at: usize, byte: usize) -> usize {
    let Some(syntax) = syntax_around(body, at) else { return at };
    if syntax.end > byte {
        return syntax.start;
    }
    let rest = &body[syntax.end..byte];
    syntax.end + rest.len() - rest.trim_start().len()
}

/// Returns the wikilink, link with its address, bare address, tag or HTML tag that contains the byte before and the byte at `at`.
fn syntax_around(body: &str, at: usize) -> Option<Range<usize>> {
    /// Maximum length of syntax in bytes, on either side.
    const REACH: usize = 1000;
    let floor = body.ceil_char_boundary(at.saturating_sub(REACH));
    let ceiling = body.floor_char_boundary(at.saturating_add(REACH));
    let before = &body[floor..at];
    let before = &before[before.rfind('\n').map_or(0, |end| end + 1)..];
    let after = body[at..ceiling].split('\n').next().unwrap_or_default();
    let line = at - before.len();
    let opened = |open: &str, close: &str| {
        before.rfind(open).filter(|start| !before[*start + open.len()..].contains(close))
    };
    if before.ends_with(']') && after.starts_with(']') {
        return Some(at - 1..at + 1);
    }
    // The first bracket may be before `at` and the second behind.
    let is_between = before.ends_with('[') && after.starts_with('[');
    if let Some(start) = opened("[[", "]]").or_else(|| is_between.then(|| before.len() - 1))
        && let Some(end) = after.find("]]")
        && !after[..end].contains("[[")
    {
        let is_embed = before[..start].ends_with('!');
        return Some(line + start - usize::from(is_embed)..at + end + 2);
    }
    let is_before = after.starts_with("](") && before.contains('[');
    let is_between = before.ends_with(']') && after.starts_with('(');
    let middle = opened("](", ")").or_else(|| is_before.then_some(before.len()));
    if let Some(middle) = middle.or_else(|| is_between.then(|| before.len() - 1))
        && let Some(end) = after.find(')')
    {
        let start = before[..middle].rfind('[').unwrap_or(middle);
        let is_image = before[..start].ends_with('!');
        return Some(line + start - usize::from(is_image)..at + end + 1);
    }
    if let Some(start) = opened("<", ">")
        && body[line + start + 1..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && let Some(end) = after.find('>')
    {
        return Some(line + start..at + end + 1);
    }
    let is_end = |c: char| c.is_whitespace() || "<>()[]\"".contains(c);
    let word = before.rsplit(is_end).next().unwrap_or_default();
    let start = at - word.len();
    let end = at + after.find(is_end).unwrap_or(after.len());
    let is_scheme = |scheme: &str| scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let address = body[start..end].split_once("://");
    if start < at && at < end && address.is_some_and(|(scheme, _)| is_scheme(scheme)) {
        return Some(start..end);
    }
    let is_tag_char = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/');
    let start = before.trim_end_matches(is_tag_char).strip_suffix('#')?.len();
    let length = after.find(|c| !is_tag_char(c)).unwrap_or(after.len());
    (length > 0).then(|| line + start..at + length)
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

    /// Returns the displayed text of the window of the first `sought` in `body`.
    fn begins(body: &str, sought: &str, chars: usize) -> String {
        let byte = body.find(sought).expect("the text contains it");
        let start = start_before(body, byte, chars / 4);
        weft_model::displayed_text(body, start..end_after(body, start, chars)).into_string()
    }

    /// Returns the displayed text of the rounded window around the first `sought`, and whether it starts and ends inside.
    fn rounded_text(body: &str, sought: &str, chars: usize) -> (String, bool, bool) {
        let start = body.find(sought).expect("the text contains it");
        let found = [Match { start, end: start + sought.len(), term: 0 }];
        let from = start_before(body, start, chars / 4);
        let (from, to) = rounded(body, &found, (from, end_after(body, from, chars)));
        let text = weft_model::displayed_text(body, from..to).into_string();
        (text, !begins_unit(body, from), !ends_unit(body, to))
    }

    #[test]
    fn window_ends_with_a_sentence_or_outside_words_with_signs() {
        for (name, body, expected) in [
            ("sentence", "Some moss. They grow old. They are green.", "Some moss. They grow old."),
            ("item", "- moss grows here\n- then some other ferns", "• moss grows here"),
            ("heading", "Some moss.\n\n## Ferns\n\nThey grow old.", "Some moss."),
            ("bullet", "- moss is a soft plant\n- f", "• moss is a soft plant\n• f"),
            (
                "number",
                "1. moss is a soft plant and so\n2. ferns",
                "1. moss is a soft plant and so",
            ),
            ("body", "Some moss", "Some moss"),
        ] {
            let expected = (expected.to_owned(), false, false);
            assert_eq!(rounded_text(body, "moss", 34), expected, "{name}");
        }
        for (name, body, expected) in [
            (
                "joined word",
                "The moss solves the issue of EIP-4844 well",
                "The moss solves the issue of",
            ),
            (
                "bracket",
                "The moss solves all the issues [of](a.md) it",
                "The moss solves all the issues",
            ),
        ] {
            let expected = (expected.to_owned(), false, true);
            assert_eq!(rounded_text(body, "moss", 32), expected, "{name}");
        }
        let stray = rounded_text(&format!("{}, using moss. So", "fern".repeat(9)), "moss", 36);
        assert_eq!(stray, ("using moss. So".to_owned(), true, false));
        let dots = "fern ".to_owned() + &".".repeat(60);
        assert_eq!(rounded(&dots, &[], (20, 30)), (20, 30), "a text of punctuation alone stays");
    }

    #[test]
    fn window_starts_at_a_sentence_or_list_item() {
        for (name, body, expected) in [
            ("sentence", "Ferns are old. They like wet moss. So", "They like wet moss. So"),
            ("match at the start", "Ferns are old.\nmoss is too.", "Ferns are old. moss is too."),
            ("wrapped line", "Ferns are old. They\nlike wet\nmoss.", "They like wet moss."),
            (
                "abbreviations",
                "So it is. With Dr. Fern, e.g. Mr. Moss, moss.",
                "With Dr. Fern, e.g. Mr. Moss, moss.",
            ),
            ("Han sentence", "蕨类植物。它们喜欢 moss。", "它们喜欢 moss。"),
            ("item", "- ferns\n- wet moss\n- stone", "• wet moss\n• stone"),
            ("numbered item", "1. ferns\n2. wet moss", "2. wet moss"),
            ("sentence of an item", "- Ferns grow. Then moss.", "Then moss."),
            ("quote", "> ferns\n>\n> wet moss", "wet moss"),
            ("row", "| a | b |\n|---|---|\n| c | d |\n| wet | moss |\n", "wet · moss"),
            ("below a heading", "# Ferns\nwet moss", "wet moss"),
            ("in a heading", "Old.\n# Wet moss\nso", "Wet moss\nso"),
            ("code", "So.\n```rust\nlet moss = 1;\n```", "let moss = 1;"),
            (
                "no start within reach",
                "a sentence about many old ferns that grow beside the streams of a long valley with moss",
                "grow beside the streams of a long valley with moss",
            ),
        ] {
            assert_eq!(begins(body, "moss", 200), expected, "{name}");
        }
    }

    #[test]
    fn definitions_of_links_match_nothing() {
        let body =
            "[moss]: a.md\n\nSee [moss][moss], moss.\n\n[fern]: moss.md 'Moss'\n[moss]: b.md";
        let places = body.match_indices("moss").chain(body.match_indices("Moss"));
        let match_at =
            |(start, text): (usize, &str)| Match { start, end: start + text.len(), term: 0 };
        let mut found: Vec<Match> = places.map(match_at).collect();
        found.sort_by_key(|found| found.start);
        remove_in_definitions(body, &mut found);
        let starts: Vec<usize> = found.iter().map(|found| found.start).collect();
        assert_eq!(starts, [19, 25, 32]);
    }

    #[test]
    fn window_starts_outside_links_and_tags() {
        let long = "and so on and on for a while ";
        for (name, part, expected) in [
            ("wikilink", "[[the old valley of ferns|ferns]] and moss", "moss"),
            ("match in a wikilink", "[[the old valley of ferns|the moss]]", "the moss"),
            ("address", "https://a.example/ferns/of/the/valley moss", "moss"),
            ("link", "[ferns](https://a.example/ferns/of) moss", "moss"),
            ("HTML tag", "<span class=\"a fern of the valley\">moss</span>", "moss"),
            ("tag", "#ferns/of/the/old/valley/and/more moss", "moss"),
        ] {
            let body = format!("{long}{part}");
            for chars in 20..(part.len() * 4) {
                let byte = body.rfind("moss").expect("the text contains it");
                let start = start_before(&body, byte, chars / 4);
                let shown = weft_model::displayed_text(&body, start..body.len()).into_string();
                assert!(syntax_around(&body, start).is_none(), "{name}: {shown}");
                assert!(shown.ends_with(expected), "{name}: {shown}");
            }
        }
    }

    proptest! {
        #[test]
        fn displayed_text_is_total_and_monotone(
            pieces in prop::collection::vec(
                prop::sample::select(vec![
                    "fern", "Moss", " ", "\n", "\n\n", "[[", "]]", "[", "](", ")", "|", "*", "**", "_", "`",
                    "```", "~~", "==", "<b>", "</b>", "<!--", "-->", "%%", "$", "$$", "> ", "- ", "# ", "&amp;",
                    "\\", "é", "漢", "\r\n", "    ", "\t", "|-|-|", "![[", "[!a]", "[^a]", " ^abc", "https://a.b/_c",
                ]),
                0..50,
            ),
            from in any::<prop::sample::Index>(),
            to in any::<prop::sample::Index>(),
        ) {
            let body = pieces.concat();
            let range = from.index(body.len() + 1)..to.index(body.len() + 1);
            let text = weft_model::displayed_text(&body, range.clone());
            let clamped = body.floor_char_boundary(range.start)..body.floor_char_boundary(range.end);
            let source = body.get(clamped).unwrap_or_default();
            prop_assert!(text.as_str().unicode_words().count() <= source.unicode_words().count());
            prop_assert_eq!(text.as_str().trim(), text.as_str());
            let chars = body.char_indices().map(|(at, c)| at..at + c.len_utf8());
            let shown: Vec<Range<usize>> = chars.filter_map(|at| text.shown(&at)).collect();
            prop_assert!(shown.is_sorted_by(|a, b| a.start <= b.start && a.end <= b.end), "{:?}", shown);
            prop_assert!(shown.iter().all(|at| text.as_str().get(at.clone()).is_some()));
            let whole = weft_model::displayed_text(&body, 0..body.len());
            prop_assert!(whole.as_str().lines().all(|line| !line.trim().is_empty()));
        }

        #[test]
        fn plain_prose_is_displayed_unchanged(
            words in prop::collection::vec(
                prop::sample::select(vec![
                    "fern", "Moss.", "3 * 4", "a_b_c", "x < y", "(so)", "it's", "漢字", "é,", "[sic]", "#tag", "50%", "$5",
                    "a*b*c", "R&D", "https://a.b/c_d_e", "C:\\dir", "f(x)[1]", "10:30", "a/b", "~5", "== 3", "λ→μ", "∑_i", "—",
                ]),
                0..40,
            ),
        ) {
            let body = format!("So {}", words.join(" "));
            let body = body.trim_end();
            let text = weft_model::displayed_text(body, 0..body.len());
            prop_assert_eq!(text.as_str(), body);
            prop_assert_eq!(text.shown(&(0..body.len())), Some(0..body.len()));
        }

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
