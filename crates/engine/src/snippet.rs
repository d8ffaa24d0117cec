//! Snippets: the parts of a body that match a query, as a reader sees them.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::Range;

use weft_index::keyword::{
    KeywordError, KeywordQuery, KeywordReader, Language, PassageWords, TermMatcher,
};
use weft_index::notes::NoteEntry;
use weft_model::encoded_data::encoded_data;
use weft_model::text::{CharCounter, byte_of_char};
use weft_model::{BodyDisplay, DisplayedText, Heading, NoteId, Span, Stop, is_link_definition};

use crate::analyzer_pool::AnalyzerPool;
use crate::snippet_bounds::{
    begins_unit, end_after, ends_unit, last_unit_end, outside_words, section_end, start_before,
};

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

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;

    use proptest::prelude::*;
    use unicode_segmentation::UnicodeSegmentation as _;

    use super::*;
    use crate::snippet_bounds::{last_bound, syntax_around};

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
