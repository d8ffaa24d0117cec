//! Bounds of snippets: the starts and ends of sentences, list items, table rows and words in a body.

use std::ops::Range;

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation as _};
use weft_model::text::{byte_of_char, sentences};

/// Returns the end of the text before the next heading in `from..to`; `to` without one.
pub(crate) fn section_end(body: &str, from: usize, to: usize) -> usize {
    let mut lines = body[from..to].match_indices('\n').map(|(at, _)| from + at + 1);
    let heading = lines.find(|at| heading_marks(&body[*at..]).is_some());
    heading.map_or(to, |at| from + body[from..at].trim_end().len())
}

/// True if a sentence, list item, table row, heading or paragraph begins at `byte`.
pub(crate) fn begins_unit(body: &str, byte: usize) -> bool {
    byte == 0 || block_start(body, byte, byte).is_some() || begins_sentence(body, byte)
}

/// True if a sentence, list item, table row, heading or paragraph ends at `byte`.
pub(crate) fn ends_unit(body: &str, byte: usize) -> bool {
    let rest = &body[byte..];
    let next = byte + rest.len() - rest.trim_start().len();
    let is_last_line = rest.trim_start_matches([' ', '\t', '\r']).starts_with('\n');
    next == body.len()
        || is_last_line && {
            let line = byte + body[byte..next].rfind('\n').map_or(0, |newline| newline + 1);
            follows_block(&body[..line]) || begins_block(&body[line..])
        }
        || next > byte && begins_sentence(body, next)
}

/// Returns the last end of a sentence, list item, table row, heading or paragraph in `from..=to`.
pub(crate) fn last_unit_end(body: &str, from: usize, to: usize) -> Option<usize> {
    let mut ends = body[from..to].rmatch_indices(char::is_whitespace).map(|(at, _)| from + at);
    ends.find(|at| ends_unit(body, *at) && !body[..*at].ends_with(char::is_whitespace))
}

/// Returns the last end of a word in `from..=to` that white space follows, unless words have no spaces; not that of a list marker or an opening bracket.
pub(crate) fn outside_words(body: &str, from: usize, to: usize) -> usize {
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

/// Returns the start of the window of a match at `byte`, at most `chars` characters before it, unless the match is in a link that begins earlier.
///
/// The window starts with the list item, table row or sentence of the match, or else at a word of its paragraph.
pub(crate) fn start_before(body: &str, byte: usize, chars: usize) -> usize {
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

/// True if a sentence begins at `byte`.
fn begins_sentence(body: &str, byte: usize) -> bool {
    // In ASCII, only these end a sentence, with quotation marks, brackets and spaces behind them.
    let before = body[..byte].trim_end_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
    let may_end = |c: char| !c.is_ascii() || ".!?\"'()[]{}".contains(c);
    before.chars().next_back().is_none_or(may_end) && sentence_start(body, byte, byte).is_some()
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
    let starts = sentences(&text).map(|(at, _)| at);
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
pub(crate) fn syntax_around(body: &str, at: usize) -> Option<Range<usize>> {
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
pub(crate) fn last_bound(text: &str, limit: usize) -> usize {
    let bytes = text.as_bytes();
    let is_certain =
        |at: &usize| matches!(bytes[at - 1], b' ' | b'\n') && bytes[*at].is_ascii_alphanumeric();
    let start = (1..limit.min(bytes.len())).rev().find(is_certain).unwrap_or(0);
    let ends = text[start..].split_word_bound_indices().map(|(at, word)| start + at + word.len());
    let ends = ends.take_while(|end| *end <= limit);
    ends.filter(|end| is_between_graphemes(text, *end)).last().unwrap_or(start)
}

/// Returns the end of a word at most `chars` characters after `start`.
pub(crate) fn end_after(body: &str, start: usize, chars: usize) -> usize {
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
    use super::*;

    #[test]
    fn sentences_begin_only_behind_ends_of_sentences() {
        let pieces = ["a", "B", "1", " ", ".", "!", ",", "\"", ")", "\n", "é", "。"];
        let mut texts = vec![String::new()];
        for _ in 0..4 {
            let longer =
                texts.iter().flat_map(|text| pieces.iter().map(move |it| format!("{text}{it}")));
            texts = longer.collect();
            for text in &texts {
                for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
                    let expected = sentence_start(text, at, at).is_some();
                    assert_eq!(begins_sentence(text, at), expected, "{text:?} at {at}");
                }
            }
        }
    }
}
